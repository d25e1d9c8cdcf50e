//! One frame as it is stored, and reading it.
//!
//! **Invariant:** the checksum covers header and stored body; the events' positions are
//! consecutive, and each stream's seqs within a frame are.
//!
//! ```text
//! frame  = header (HEADER_BYTES, little endian) | stored body | crc32c over both
//! header = magic 4 | format 1 | codec 1 | flags 2 | store id 16 | first position 8 | count 4
//!        | body bytes 4 | stored bytes 4 | link before 32 | link after 32
//! body   = declarations | streams | entries                      (numbers are varints)
//! declaration = stream | name length | name | digest key 32
//! stream = number | first seq | count
//! entry  = place in streams << 3 | flags ; key 16, digest 16 if keyed ; length ; bytes
//! ```

use crate::Error;
use crate::bytes::Fields;
use crate::ids::{BatchDigest, BatchEnd, BatchKey, Position, Seq, StoreId, Stream};
use crate::link::{DigestKey, Link};
use std::sync::Arc;

pub(crate) const MAGIC: [u8; 4] = *b"tsFR";
pub(crate) const FRAME_FORMAT: u8 = 1;
pub(crate) const HEADER_BYTES: usize = 108;
const STORED_BYTES_AT: usize = 40;
pub(crate) const CODEC_PLAIN: u8 = 0;
pub(crate) const CODEC_ZSTD: u8 = 1;
/// The frame starts inside what was one commit: `link before` is unknown (zeros).
pub(crate) const FLAG_BEFORE_UNKNOWN: u16 = 1;
/// The frame ends inside what was one commit: `link after` is unknown (zeros).
pub(crate) const FLAG_AFTER_UNKNOWN: u16 = 2;
pub(crate) const ENTRY_END: u64 = 1;
pub(crate) const ENTRY_KEYED: u64 = 2;
pub(crate) const ENTRY_FLAG_BITS: u32 = 3;
/// No body is larger; a header that says so is damaged.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 30;

/// The fixed fields at the start of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) codec: u8,
    pub(crate) flags: u16,
    pub(crate) store: StoreId,
    pub(crate) first: Position,
    pub(crate) count: u32,
    pub(crate) body_bytes: u32,
    pub(crate) stored_bytes: u32,
    pub(crate) before: Link,
    pub(crate) after: Link,
}

impl Header {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.push(FRAME_FORMAT);
        out.push(self.codec);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&self.store.to_bytes());
        out.extend_from_slice(&self.first.get().to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.body_bytes.to_le_bytes());
        out.extend_from_slice(&self.stored_bytes.to_le_bytes());
        out.extend_from_slice(&self.before.0);
        out.extend_from_slice(&self.after.0);
    }

    pub(crate) fn last(&self) -> Position {
        Position::new(self.first.get().saturating_add(u64::from(self.count)).saturating_sub(1)).unwrap_or(self.first)
    }

    fn parse(fields: &mut Fields<'_>, key: u64) -> Result<Self, Error> {
        let damaged = |what: &str| Error::corrupt("frames", key, what);
        let short = || damaged("the header is cut short");
        if fields.array::<4>().ok_or_else(short)? != MAGIC {
            return Err(damaged("not a frame"));
        }
        let format = fields.u8().ok_or_else(short)?;
        if format != FRAME_FORMAT {
            return Err(Error::Format { found: format.into(), supported: FRAME_FORMAT.into() });
        }
        let header = Self {
            codec: fields.u8().ok_or_else(short)?,
            flags: fields.u16().ok_or_else(short)?,
            store: StoreId::from_bytes(fields.array().ok_or_else(short)?),
            first: Position::new(fields.u64().ok_or_else(short)?).ok_or_else(|| damaged("a position of zero"))?,
            count: fields.u32().ok_or_else(short)?,
            body_bytes: fields.u32().ok_or_else(short)?,
            stored_bytes: fields.u32().ok_or_else(short)?,
            before: Link(fields.array().ok_or_else(short)?),
            after: Link(fields.array().ok_or_else(short)?),
        };
        if header.count == 0 {
            return Err(damaged("a frame without events"));
        }
        if header.body_bytes as usize > BODY_BYTES_MAX {
            return Err(damaged("the body claims to be above 1 GiB"));
        }
        Ok(header)
    }
}

/// What a frame holds of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSpan {
    /// The stream.
    pub stream: Stream,
    /// Its first seq in the frame.
    pub first: Seq,
    /// How many of its events the frame holds, at least 1.
    pub count: u32,
}

impl StreamSpan {
    /// Its last seq in the frame.
    pub fn last(&self) -> Seq {
        self.first.plus(u64::from(self.count).saturating_sub(1))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared<'a> {
    pub(crate) stream: Stream,
    pub(crate) name: &'a str,
    pub(crate) key: DigestKey,
}

#[derive(Debug)]
struct Content {
    header: Header,
    body: Vec<u8>,
    declarations: usize,
    declarations_at: usize,
    entries_at: usize,
    spans: Vec<StreamSpan>,
}

/// One decoded frame: checked against its checksum and decompressed. Cloning costs a counter.
#[derive(Clone, Debug)]
pub struct Frame(Arc<Content>);

impl Frame {
    /// Decodes a stored frame. Cost: one pass for the checksum, one to decompress.
    pub(crate) fn decode(store: StoreId, key: Position, stored: &[u8]) -> Result<Self, Error> {
        let damaged = |what: &str| Error::corrupt("frames", key, what);
        let (sealed, checksum) = stored.split_last_chunk::<4>().ok_or_else(|| damaged("cut short"))?;
        let mut fields = Fields(sealed);
        let header = Header::parse(&mut fields, key.get())?;
        if crc32c::crc32c(sealed) != u32::from_le_bytes(*checksum) {
            return Err(damaged("the checksum does not match"));
        }
        if header.store != store || header.first != key {
            return Err(damaged("the frame is from another place"));
        }
        if header.stored_bytes as usize != fields.0.len() {
            return Err(damaged("the stored length does not match"));
        }
        let body = expand(header.codec, fields.0, header.body_bytes as usize).ok_or_else(|| damaged("the body does not decompress"))?;
        Self::of_body(header, body)
    }

    /// The frame with this body, which is not compressed.
    pub(crate) fn of_body(header: Header, body: Vec<u8>) -> Result<Self, Error> {
        let damaged = |what: &str| Error::corrupt("frames", header.first, what);
        let total = body.len();
        let mut fields = Fields(&body);
        let declarations = fields.varint().ok_or_else(|| damaged("no declarations"))? as usize;
        let declarations_at = total - fields.0.len();
        for _ in 0..declarations {
            declaration(&mut fields).ok_or_else(|| damaged("a broken declaration"))?;
        }
        let spans = spans(&mut fields, header.count).ok_or_else(|| damaged("broken streams"))?;
        let entries_at = total - fields.0.len();
        Ok(Self(Arc::new(Content { header, body, declarations, declarations_at, entries_at, spans })))
    }

    /// How long the sealed frame is whose beginning this is.
    pub(crate) fn sealed_bytes(beginning: &[u8]) -> Option<usize> {
        let mut fields = Fields(beginning.get(STORED_BYTES_AT..)?);
        Some(HEADER_BYTES + fields.u32()? as usize + 4)
    }

    /// The header of the sealed frame whose beginning this is.
    pub(crate) fn header_of(beginning: &[u8]) -> Option<Header> {
        Header::parse(&mut Fields(beginning), 0).ok()
    }

    /// How long the frame is when it is sealed without compression.
    pub(crate) fn sealed_len(&self) -> usize {
        HEADER_BYTES + self.0.body.len() + 4
    }

    /// Appends the frame, sealed without compression, and returns its checksum.
    pub(crate) fn seal_into(&self, out: &mut Vec<u8>) -> u32 {
        let at = out.len();
        let stored_bytes = self.0.header.body_bytes;
        Header { codec: CODEC_PLAIN, stored_bytes, ..self.0.header }.put(out);
        out.extend_from_slice(&self.0.body);
        let checksum = crc32c::crc32c(out.get(at..).unwrap_or_default());
        out.extend_from_slice(&checksum.to_le_bytes());
        checksum
    }

    pub(crate) fn header(&self) -> &Header {
        &self.0.header
    }

    /// The position of its first event.
    pub fn first(&self) -> Position {
        self.0.header.first
    }

    /// The position of its last event.
    pub fn last(&self) -> Position {
        self.0.header.last()
    }

    /// How many events it holds, at least 1.
    pub fn count(&self) -> u32 {
        self.0.header.count
    }

    /// Bytes of the decompressed body.
    pub fn body_bytes(&self) -> usize {
        self.0.body.len()
    }

    /// Which streams it holds events of, in the order of their first event here.
    pub fn streams(&self) -> &[StreamSpan] {
        &self.0.spans
    }

    /// Its events in order. Cost: one small allocation, then a few nanoseconds an event.
    ///
    /// An error is damage, and the last thing the iterator yields.
    pub fn entries(&self) -> Entries<'_> {
        Entries {
            fields: Fields(self.0.body.get(self.0.entries_at..).unwrap_or_default()),
            position: self.0.header.first.get(),
            left: self.0.header.count,
            next: self.0.spans.iter().map(|span| (span.stream, span.first)).collect(),
        }
    }

    /// The streams that it declares, with their names.
    pub fn declared(&self) -> impl Iterator<Item = (Stream, &str)> {
        self.declarations().map(|declared| (declared.stream, declared.name))
    }

    pub(crate) fn declarations(&self) -> impl Iterator<Item = Declared<'_>> {
        let mut fields = Fields(self.0.body.get(self.0.declarations_at..).unwrap_or_default());
        (0..self.0.declarations).map_while(move |_| declaration(&mut fields))
    }
}

fn declaration<'a>(fields: &mut Fields<'a>) -> Option<Declared<'a>> {
    let stream = Stream::new(fields.varint()?)?;
    let length = usize::try_from(fields.varint()?).ok()?;
    let name = std::str::from_utf8(fields.bytes(length)?).ok()?;
    Some(Declared { stream, name, key: DigestKey(fields.array()?) })
}

fn spans(fields: &mut Fields<'_>, count: u32) -> Option<Vec<StreamSpan>> {
    let streams = usize::try_from(fields.varint()?).ok()?;
    let mut spans = Vec::with_capacity(streams.min(count as usize));
    let mut total = 0_u64;
    for _ in 0..streams {
        let span = StreamSpan {
            stream: Stream::new(fields.varint()?)?,
            first: Seq::new(fields.varint()?)?,
            count: u32::try_from(fields.varint()?).ok().filter(|count| *count > 0)?,
        };
        total += u64::from(span.count);
        spans.push(span);
    }
    (total == u64::from(count)).then_some(spans)
}

fn expand(codec: u8, stored: &[u8], body_bytes: usize) -> Option<Vec<u8>> {
    let body = match codec {
        CODEC_PLAIN => stored.to_vec(),
        CODEC_ZSTD => zstd::bulk::decompress(stored, body_bytes).ok()?,
        _ => return None,
    };
    (body.len() == body_bytes).then_some(body)
}

/// One event as the log holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its place in the whole log.
    pub position: Position,
    /// Its stream.
    pub stream: Stream,
    /// Its place in the stream.
    pub seq: Seq,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Set when a batch ends with it.
    pub batch_end: Option<BatchEnd>,
}

/// The events of a frame, in order.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    fields: Fields<'a>,
    position: u64,
    left: u32,
    next: Vec<(Stream, Seq)>,
}

impl<'a> Entries<'a> {
    #[inline]
    fn decode(&mut self) -> Option<Entry<'a>> {
        let tag = self.fields.varint()?;
        let place = usize::try_from(tag >> ENTRY_FLAG_BITS).ok()?;
        let (stream, next) = self.next.get_mut(place)?;
        let (stream, seq) = (*stream, *next);
        *next = seq.next();
        let key = if tag & ENTRY_KEYED == 0 { None } else { Some((BatchKey(self.fields.array()?), BatchDigest(self.fields.array()?))) };
        let length = usize::try_from(self.fields.varint()?).ok()?;
        let bytes = self.fields.bytes(length)?;
        let position = Position::new(self.position)?;
        let batch_end = (tag & ENTRY_END != 0).then_some(BatchEnd { key });
        Some(Entry { position, stream, seq, bytes, batch_end })
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        if let Some(entry) = self.decode() {
            self.position += 1;
            return Some(Ok(entry));
        }
        self.left = 0;
        Some(Err(Error::corrupt("frames", self.position, "a broken entry")))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left as usize))
    }
}
