//! What is known of each stream in use: its digest key and its last seq.
//!
//! **Invariant:** a stream with events above the checkpoint is always in memory; the others are
//! read from main when they are used.

use crate::files::Files;
use crate::ids::{Seq, Stream};
use crate::link::DigestKey;
use crate::tables::STREAMS;
use crate::{Error, bytes::Fields};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// What a writer must know of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) key: DigestKey,
    pub(crate) last: Option<Seq>,
}

/// A stream as main stores it.
#[derive(Clone, Debug)]
pub(crate) struct StreamRow<'a> {
    pub(crate) key: DigestKey,
    pub(crate) last: Option<Seq>,
    pub(crate) name: &'a str,
}

impl<'a> StreamRow<'a> {
    pub(crate) fn stored(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(40 + self.name.len());
        out.extend_from_slice(&self.key.0);
        out.extend_from_slice(&self.last.map_or(0, Seq::get).to_le_bytes());
        out.extend_from_slice(self.name.as_bytes());
        out
    }

    pub(crate) fn parse(stream: u64, stored: &'a [u8]) -> Result<Self, Error> {
        let mut fields = Fields(stored);
        let mut read = || {
            let key = DigestKey(fields.array()?);
            let last = Seq::new(fields.u64()?);
            Some(Self { key, last, name: std::str::from_utf8(fields.0).ok()? })
        };
        read().ok_or_else(|| Error::corrupt("streams", stream, "a broken stream"))
    }
}

#[derive(Debug)]
pub(crate) struct Catalog {
    files: Arc<Files>,
    known: Mutex<HashMap<Stream, Known>>,
}

impl Catalog {
    pub(crate) fn new(files: Arc<Files>) -> Self {
        Self { files, known: Mutex::new(HashMap::new()) }
    }

    /// The stream, from memory or from main. `None` was never declared.
    pub(crate) fn known(&self, stream: Stream) -> Result<Option<Known>, Error> {
        if let Some(known) = self.known.lock().get(&stream) {
            return Ok(Some(*known));
        }
        let transaction = self.files.read_main()?;
        let table = match transaction.open_table(STREAMS) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            table => table?,
        };
        let Some(stored) = table.get(stream.get())? else { return Ok(None) };
        let row = StreamRow::parse(stream.get(), stored.value())?;
        let known = Known { key: row.key, last: row.last };
        // Another thread cannot have appended to it meanwhile: only an append makes it newer, and
        // appends come from one thread.
        self.known.lock().insert(stream, known);
        Ok(Some(known))
    }

    pub(crate) fn update(&self, streams: impl Iterator<Item = (Stream, Known)>) {
        self.known.lock().extend(streams);
    }
}
