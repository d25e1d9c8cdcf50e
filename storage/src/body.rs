//! Writing the body of a frame: declarations, streams and entries.
//!
//! **Invariant:** what it writes, [`crate::frame`] reads back; a stream's events are gapless.

use crate::bytes::put_varint;
use crate::frame::{Declared, ENTRY_END, ENTRY_FLAG_BITS, ENTRY_KEYED, StreamSpan};
use crate::ids::{BatchDigest, BatchEnd, BatchKey, Seq, Stream};
use std::collections::HashMap;

/// A body under construction.
#[derive(Debug, Default)]
pub(crate) struct Body {
    declared: u64,
    declarations: Vec<u8>,
    spans: Vec<StreamSpan>,
    places: HashMap<Stream, usize>,
    latest: Option<(Stream, usize)>,
    entries: Vec<u8>,
    count: u32,
    open: Option<OpenEntry>,
}

/// The last entry, kept back because only its successor, or the end of a batch, settles its tag.
#[derive(Debug)]
struct OpenEntry {
    at: usize,
    place: usize,
}

impl Body {
    pub(crate) fn declare(&mut self, declared: &Declared<'_>) {
        self.declared += 1;
        put_varint(&mut self.declarations, declared.stream.get());
        put_varint(&mut self.declarations, declared.name.len() as u64);
        self.declarations.extend_from_slice(declared.name.as_bytes());
        self.declarations.extend_from_slice(&declared.key.0);
    }

    /// Where the stream is in the list of streams; it joins the list with `seq` when it is new.
    fn place(&mut self, stream: Stream, seq: Seq) -> usize {
        if let Some((latest, place)) = self.latest
            && latest == stream
        {
            return place;
        }
        let next = self.spans.len();
        let place = *self.places.entry(stream).or_insert(next);
        if place == next {
            self.spans.push(StreamSpan { stream, first: seq, count: 0 });
        }
        self.latest = Some((stream, place));
        place
    }

    /// Adds an event that ends no batch so far.
    pub(crate) fn push(&mut self, stream: Stream, seq: Seq, bytes: &[u8]) {
        let place = self.place(stream, seq);
        if let Some(span) = self.spans.get_mut(place) {
            span.count += 1;
        }
        self.count += 1;
        self.open = Some(OpenEntry { at: self.entries.len(), place });
        put_varint(&mut self.entries, (place as u64) << ENTRY_FLAG_BITS);
        put_varint(&mut self.entries, bytes.len() as u64);
        self.entries.extend_from_slice(bytes);
    }

    /// Adds an event with the end that it is known to have.
    pub(crate) fn push_ended(&mut self, stream: Stream, seq: Seq, bytes: &[u8], end: Option<BatchEnd>) {
        let place = self.place(stream, seq);
        if let Some(span) = self.spans.get_mut(place) {
            span.count += 1;
        }
        self.count += 1;
        self.open = None;
        let key = end.and_then(|end| end.key);
        let ended = if end.is_some() { ENTRY_END } else { 0 };
        let keyed = if key.is_some() { ENTRY_KEYED } else { 0 };
        put_varint(&mut self.entries, ((place as u64) << ENTRY_FLAG_BITS) | ended | keyed);
        if let Some((BatchKey(key), BatchDigest(digest))) = key {
            self.entries.extend_from_slice(&key);
            self.entries.extend_from_slice(&digest);
        }
        put_varint(&mut self.entries, bytes.len() as u64);
        self.entries.extend_from_slice(bytes);
    }

    /// Makes the last event the end of its batch.
    pub(crate) fn end(&mut self, key: Option<(BatchKey, BatchDigest)>) {
        let Some(open) = self.open.take() else { return };
        if let Some(first) = self.entries.get_mut(open.at) {
            // The flags are the lowest bits of the tag's first byte, whatever its length.
            *first |= ENTRY_END as u8 | if key.is_some() { ENTRY_KEYED as u8 } else { 0 };
        }
        if let Some((BatchKey(key), BatchDigest(digest))) = key {
            let mut tag = Vec::with_capacity(4);
            put_varint(&mut tag, (open.place as u64) << ENTRY_FLAG_BITS);
            let at = open.at + tag.len();
            self.entries.splice(at..at, key.into_iter().chain(digest));
        }
    }

    /// Whether the last event ends no batch.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Bytes of the body so far, to within a few.
    pub(crate) fn bytes(&self) -> usize {
        self.declarations.len() + self.entries.len() + 8 * self.spans.len() + 4
    }

    pub(crate) fn spans(&self) -> &[StreamSpan] {
        &self.spans
    }

    /// The finished body.
    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes() + 24 * self.spans.len());
        put_varint(&mut out, self.declared);
        out.extend_from_slice(&self.declarations);
        put_varint(&mut out, self.spans.len() as u64);
        for span in &self.spans {
            put_varint(&mut out, span.stream.get());
            put_varint(&mut out, span.first.get());
            put_varint(&mut out, u64::from(span.count));
        }
        out.extend_from_slice(&self.entries);
        out
    }
}
