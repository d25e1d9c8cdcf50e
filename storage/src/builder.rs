//! A frame that is being filled with the events of one commit.
//!
//! **Invariant:** positions follow the head, seqs follow each stream's last one, and the chain is
//! extended at every batch end; so a frame that was begun before another was appended is refused.

use crate::body::Body;
use crate::catalog::{Catalog, Known};
use crate::frame::{BODY_BYTES_MAX, CODEC_PLAIN, Declared, Frame, HEADER_BYTES, Header};
use crate::ids::{BatchDigest, BatchKey, Position, Seq, StoreId, Stream};
use crate::link::{Chain, DigestKey, Link};
use crate::{Error, StreamSpan};
use std::collections::HashMap;
use std::sync::Arc;

/// The events of one commit, not yet stored. Dropping it forgets them.
#[derive(Debug)]
pub struct FrameBuilder {
    pub(crate) store: StoreId,
    pub(crate) first: Position,
    pub(crate) before: Link,
    pub(crate) next_stream: Stream,
    pub(crate) known: HashMap<Stream, Known>,
    catalog: Arc<Catalog>,
    chain: Chain,
    body: Body,
    append_bytes_max: usize,
    name_bytes_max: usize,
}

impl FrameBuilder {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        store: StoreId,
        first: Position,
        before: Link,
        next_stream: Stream,
        limits: (usize, usize),
    ) -> Self {
        Self {
            store,
            first,
            before,
            next_stream,
            known: HashMap::new(),
            catalog,
            chain: Chain::from(before),
            body: Body::default(),
            append_bytes_max: limits.0.min(BODY_BYTES_MAX),
            name_bytes_max: limits.1,
        }
    }

    /// States the name of a stream that is used for the first time. The name travels in the frame,
    /// with a fresh key for the digests of the stream's events.
    ///
    /// `stream` must be the first unused number: [`crate::Storage::next_stream`], then its successors.
    /// Names must not repeat; the caller keeps that.
    pub fn declare(&mut self, stream: Stream, name: &str) -> Result<(), Error> {
        if stream != self.next_stream {
            return Err(Error::StreamTaken(stream));
        }
        if name.len() > self.name_bytes_max {
            return Err(Error::TooLarge { bytes: name.len() as u64, bytes_max: self.name_bytes_max as u64, limit: "name_bytes_max" });
        }
        let key = DigestKey::draw()?;
        self.body.declare(&Declared { stream, name, key });
        self.known.insert(stream, Known { key, last: None });
        self.next_stream = stream.next();
        Ok(())
    }

    /// Adds an event and returns its position. `seq` must follow the stream's last.
    ///
    /// Cost: a copy and a keyed digest of the bytes; one short read for a stream not used since
    /// the store was opened.
    pub fn push(&mut self, stream: Stream, seq: Seq, bytes: &[u8]) -> Result<Position, Error> {
        let total = self.body.bytes().saturating_add(bytes.len());
        if total > self.append_bytes_max {
            return Err(Error::TooLarge { bytes: total as u64, bytes_max: self.append_bytes_max as u64, limit: "append_bytes_max" });
        }
        let known = match self.known.entry(stream) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(self.catalog.known(stream)?.ok_or(Error::UnknownStream(stream))?)
            }
        };
        let expected = Seq::after(known.last);
        if seq != expected {
            return Err(Error::SeqGap { stream, expected, found: seq });
        }
        known.last = Some(seq);
        self.chain.event(&known.key, bytes);
        self.body.push(stream, seq, bytes);
        Ok(self.first.plus(u64::from(self.body.count()) - 1))
    }

    /// Ends the batch that holds everything pushed since the last end. Without events it does nothing.
    ///
    /// A key is remembered for the stream of the batch's last event.
    pub fn end_batch(&mut self, key: Option<(BatchKey, BatchDigest)>) {
        if self.body.is_open() {
            self.body.end(key);
            self.chain.end();
        }
    }

    /// Bytes of the frame so far, to within a few.
    pub fn bytes(&self) -> usize {
        self.body.bytes() + HEADER_BYTES
    }

    /// How many events it holds.
    pub fn count(&self) -> u32 {
        self.body.count()
    }

    /// Whether it holds no event.
    pub fn is_empty(&self) -> bool {
        self.body.count() == 0
    }

    /// The position that the next event pushed will have.
    pub fn next_position(&self) -> Position {
        self.first.plus(u64::from(self.body.count()))
    }

    /// Which streams it holds events of.
    pub fn streams(&self) -> &[StreamSpan] {
        self.body.spans()
    }

    pub(crate) fn has_open_batch(&self) -> bool {
        self.body.is_open()
    }

    pub(crate) fn after(&self) -> Link {
        self.chain.link()
    }

    /// The frame with everything pushed.
    pub(crate) fn frame(&self) -> Result<Frame, Error> {
        let body = self.body.finish();
        let header = Header {
            codec: CODEC_PLAIN,
            flags: 0,
            store: self.store,
            first: self.first,
            count: self.body.count(),
            body_bytes: body.len() as u32,
            stored_bytes: body.len() as u32,
            before: self.before,
            after: self.after(),
        };
        Frame::of_body(header, body)
    }
}

/// Header, stored body and checksum as one value.
pub(crate) fn seal(header: &Header, stored: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + stored.len() + 4);
    header.put(&mut out);
    out.extend_from_slice(stored);
    let checksum = crc32c::crc32c(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    out
}
