//! Merging frames: many small ones in, few large compressed ones out.
//!
//! **Invariant:** entries, batch ends, positions and known links are kept; only where frames are
//! cut changes.

use crate::Error;
use crate::body::Body;
use crate::builder::seal;
use crate::frame::{CODEC_PLAIN, CODEC_ZSTD, FLAG_AFTER_UNKNOWN, FLAG_BEFORE_UNKNOWN, Frame, Header, StreamSpan};
use crate::ids::{Position, StoreId};
use crate::link::Link;

/// A frame as main will store it.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) first: Position,
    pub(crate) sealed: Vec<u8>,
    pub(crate) spans: Vec<StreamSpan>,
}

pub(crate) struct Merger {
    store: StoreId,
    compressor: zstd::bulk::Compressor<'static>,
    body_bytes_max: usize,
    out: Vec<Merged>,
    open: Option<Open>,
    /// The link after the last frame pushed, when it is known.
    end: Option<Link>,
}

/// The frame that is being filled.
struct Open {
    first: Position,
    before: Option<Link>,
    body: Body,
}

impl Merger {
    pub(crate) fn new(store: StoreId, level: i32, body_bytes_max: usize) -> Result<Self, Error> {
        let compressor = zstd::bulk::Compressor::new(level)?;
        Ok(Self { store, compressor, body_bytes_max, out: Vec::new(), open: None, end: None })
    }

    /// Adds a frame that follows what was added before.
    pub(crate) fn push(&mut self, frame: &Frame) -> Result<(), Error> {
        let header = *frame.header();
        let before = (header.flags & FLAG_BEFORE_UNKNOWN == 0).then_some(header.before);
        let after = (header.flags & FLAG_AFTER_UNKNOWN == 0).then_some(header.after);
        let fresh = |first, before| Open { first, before, body: Body::default() };
        let open = self.open.get_or_insert_with(|| fresh(header.first, before));
        for declared in frame.declarations() {
            open.body.declare(&declared);
        }
        for entry in frame.entries() {
            let entry = entry?;
            let open = self.open.get_or_insert_with(|| fresh(entry.position, None));
            open.body.push_ended(entry.stream, entry.seq, entry.bytes, entry.batch_end);
            if open.body.bytes() >= self.body_bytes_max {
                let last = entry.position == header.last();
                self.cut(if last { after } else { None })?;
            }
        }
        if let Some(open) = &self.open
            && open.body.bytes() >= self.body_bytes_max / 8 * 7
        {
            // A little early, where the link is known.
            self.cut(after)?;
        }
        self.end = after;
        Ok(())
    }

    fn cut(&mut self, after: Option<Link>) -> Result<(), Error> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let body = open.body.finish();
        let packed = self.compressor.compress(&body)?;
        let (codec, stored) = if packed.len() < body.len() { (CODEC_ZSTD, &packed) } else { (CODEC_PLAIN, &body) };
        let header = Header {
            codec,
            flags: if open.before.is_none() { FLAG_BEFORE_UNKNOWN } else { 0 } | if after.is_none() { FLAG_AFTER_UNKNOWN } else { 0 },
            store: self.store,
            first: open.first,
            count: open.body.count(),
            body_bytes: body.len() as u32,
            stored_bytes: stored.len() as u32,
            before: open.before.unwrap_or_default(),
            after: after.unwrap_or_default(),
        };
        self.out.push(Merged { first: open.first, sealed: seal(&header, stored), spans: open.body.spans().to_vec() });
        Ok(())
    }

    /// The merged frames.
    pub(crate) fn finish(mut self) -> Result<Vec<Merged>, Error> {
        let end = self.end;
        self.cut(end)?;
        Ok(self.out)
    }
}
