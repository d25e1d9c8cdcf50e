//! Moving the log from the tail into main, together with the rows that say what it came to.
//!
//! **Invariant:** frames, rows, index, keys and the checkpoint's position become durable in one
//! commit, or none of them does.

use crate::catalog::StreamRow;
use crate::database::contained;
use crate::frame::Frame;
use crate::ids::{BatchDigest, BatchKey, Position, Seq, Stream};
use crate::link::{DigestKey, Link};
use crate::main_frames::{self, MainFrames};
use crate::merge::{Merged, Merger};
use crate::reader::Reader;
use crate::row::{self, RowKey};
use crate::row_parts::RowTables;
use crate::storage::Shared;
use crate::tables::{FRAMES, Generation, KEYS, KeyKey, META, NAMED, NAMES, SPANS, STATE, STREAMS, StoredRowKey, key_key, span_key};
use crate::{Error, Options};
use parking_lot::MutexGuard;
use redb::{ReadableTable, WriteTransaction};
use std::collections::BTreeMap;

/// Values to put (`Some`) or to delete (`None`), in key order.
pub(crate) type Changes<K> = BTreeMap<K, Option<Vec<u8>>>;

/// A checkpoint in the making. Dropping it writes nothing.
#[derive(Debug)]
pub struct Checkpoint<'s> {
    shared: &'s Shared,
    _writing: MutexGuard<'s, ()>,
    reader: Reader,
    up_to: Position,
    link: Link,
    log: LogChanges,
    rows: Changes<StoredRowKey>,
    index: Changes<Vec<u8>>,
    named: Changes<String>,
}

/// What the frames of the tail change in main.
#[derive(Debug, Default)]
struct LogChanges {
    merged: Vec<Merged>,
    absorbed: Vec<Frame>,
    keys: Vec<(KeyKey, [u8; 32])>,
    declared: BTreeMap<Stream, (String, DigestKey)>,
    last: BTreeMap<Stream, Seq>,
}

impl<'s> Checkpoint<'s> {
    pub(crate) fn begin(shared: &'s Shared, up_to: Position) -> Result<Self, Error> {
        let writing = shared.writing_main.lock();
        let reader = Reader::open(&shared.files)?;
        let checkpoint = reader.checkpoint();
        if Some(up_to) < checkpoint {
            return Err(Error::OutOfOrder("a checkpoint before the last one"));
        }
        let mut frames = Vec::new();
        for frame in reader.frames(Position::after(checkpoint))? {
            let frame = frame?;
            if frame.first() > up_to {
                break;
            }
            frames.push(frame);
        }
        if frames.last().map(Frame::last).or(checkpoint) != Some(up_to) {
            return Err(Error::OutOfOrder("a checkpoint must end where a frame ends"));
        }
        let link = frames.last().map_or(reader.state().link, |frame| frame.header().after);
        let log = LogChanges::of(&frames, &reader, &shared.options)?;
        Ok(Self {
            shared,
            _writing: writing,
            reader,
            up_to,
            link,
            log,
            rows: BTreeMap::new(),
            index: BTreeMap::new(),
            named: BTreeMap::new(),
        })
    }

    /// The position that becomes the checkpoint, and the version of the rows put.
    pub fn up_to(&self) -> Position {
        self.up_to
    }

    /// Puts a version of a row. Cost: compression now, the write at the commit.
    pub fn put_row(&mut self, key: &RowKey, bytes: &[u8]) -> Result<(), Error> {
        check_row(bytes, &self.shared.options)?;
        let key = key.stored(self.up_to.get());
        let value = row::encode(&key, bytes);
        self.rows.insert(key, Some(value));
        Ok(())
    }

    /// Deletes one version of a row; none is fine.
    pub fn delete_row(&mut self, key: &RowKey, version: Position) {
        self.rows.insert(key.stored(version.get()), None);
    }

    /// Puts an index entry.
    pub fn put_index(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        check_index_key(key, &self.shared.options)?;
        self.index.insert(key.to_vec(), Some(value.to_vec()));
        Ok(())
    }

    /// Deletes an index entry; none is fine.
    pub fn delete_index(&mut self, key: &[u8]) {
        self.index.insert(key.to_vec(), None);
    }

    /// The index entry as this checkpoint will leave it.
    pub fn get_index(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.index.get(key) {
            Some(changed) => Ok(changed.clone()),
            None => self.reader.index_get(key),
        }
    }

    /// Puts a small named value.
    pub fn put_meta(&mut self, name: &str, value: &[u8]) {
        self.named.insert(name.to_owned(), Some(value.to_vec()));
    }

    /// The store as it is before this checkpoint.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Writes everything in one transaction. Cost: two syncs, and the pages written.
    ///
    /// An [`Error::OutcomeUnknown`] or [`Error::Io`] stops the handle; nothing of the log is lost.
    pub fn commit(self) -> Result<(), Error> {
        let mut state = *self.reader.state();
        state.checkpoint = Some(self.up_to);
        state.link = self.link;
        if let Some(last) = self.log.declared.keys().next_back() {
            state.next_stream = state.next_stream.max(last.next());
        }
        let files = &self.shared.files;
        let write = || {
            let transaction = files.write_main()?;
            self.log.write(&transaction)?;
            let generation = Generation::new(state.generation);
            write_rows(&transaction, &generation, &self.rows)?;
            write_index(&transaction, &generation, &self.index)?;
            write_named(&transaction, &self.named)?;
            transaction.open_table(META)?.insert(STATE, state.stored().as_slice())?;
            Ok(transaction)
        };
        let transaction = files.watch(contained("main file", write))?;
        files.commit(transaction)?;
        self.shared.log.lock().checkpointed(state);
        files.forget(state.checkpoint);
        Ok(())
    }
}

pub(crate) fn check_row(bytes: &[u8], options: &Options) -> Result<(), Error> {
    check_size(bytes.len(), options.row_bytes_max, "row_bytes_max")
}

pub(crate) fn check_index_key(key: &[u8], options: &Options) -> Result<(), Error> {
    check_size(key.len(), options.index_key_bytes_max, "index_key_bytes_max")
}

fn check_size(bytes: usize, bytes_max: usize, limit: &'static str) -> Result<(), Error> {
    if bytes > bytes_max {
        return Err(Error::TooLarge { bytes: bytes as u64, bytes_max: bytes_max as u64, limit });
    }
    Ok(())
}

impl LogChanges {
    fn of(frames: &[Frame], reader: &Reader, options: &Options) -> Result<Self, Error> {
        let mut changes = Self::default();
        if frames.is_empty() {
            return Ok(changes);
        }
        changes.absorbed = absorbed(frames, reader, options.frame_bytes_max)?;
        let mut merger = Merger::new(reader.id(), options.compression_level, options.frame_bytes_max)?;
        for frame in changes.absorbed.iter().chain(frames) {
            merger.push(frame)?;
        }
        changes.merged = merger.finish()?;
        for frame in frames {
            changes.note(frame)?;
        }
        Ok(changes)
    }

    /// Notes the streams and the keys of a frame that main does not hold yet.
    fn note(&mut self, frame: &Frame) -> Result<(), Error> {
        for declared in frame.declarations() {
            self.declared.insert(declared.stream, (declared.name.to_owned(), declared.key));
        }
        for span in frame.streams() {
            self.last.insert(span.stream, span.last());
        }
        let mut first = frame.first();
        for entry in frame.entries() {
            let entry = entry?;
            let Some(end) = entry.batch_end else { continue };
            if let Some((BatchKey(key), BatchDigest(digest))) = end.key {
                let value = crate::tables::joined(&[&first.get().to_le_bytes(), &entry.position.get().to_le_bytes(), &digest]);
                self.keys.push((key_key(entry.stream.get(), &key), value));
            }
            first = entry.position.next();
        }
        Ok(())
    }

    fn write(&self, transaction: &WriteTransaction) -> Result<(), Error> {
        let mut frames = transaction.open_table(FRAMES)?;
        let mut spans = transaction.open_table(SPANS)?;
        for frame in &self.absorbed {
            main_frames::remove(&mut frames, frame.first())?;
            for span in frame.streams() {
                spans.remove(&span_key(span.stream.get(), span.first.get()))?;
            }
        }
        for frame in &self.merged {
            main_frames::append(&mut frames, frame.first, &frame.sealed)?;
            for span in &frame.spans {
                spans.insert(&span_key(span.stream.get(), span.first.get()), frame.first.get())?;
            }
        }
        if !self.keys.is_empty() {
            let mut keys = transaction.open_table(KEYS)?;
            for (key, value) in &self.keys {
                keys.insert(key, value.as_slice())?;
            }
        }
        self.write_streams(transaction)
    }

    fn write_streams(&self, transaction: &WriteTransaction) -> Result<(), Error> {
        let mut streams = transaction.open_table(STREAMS)?;
        let mut names = transaction.open_table(NAMES)?;
        for (stream, (name, key)) in &self.declared {
            let row = StreamRow { key: *key, last: None, name };
            streams.insert(stream.get(), row.stored().as_slice())?;
            if names.insert(name.as_str(), stream.get())?.is_some() {
                return Err(Error::StreamTaken(*stream));
            }
        }
        for (stream, last) in &self.last {
            let stored = match streams.get(stream.get())? {
                Some(stored) => {
                    let mut row = StreamRow::parse(stream.get(), stored.value())?;
                    row.last = Some(*last);
                    row.stored()
                }
                None => return Err(Error::corrupt("streams", stream, "the stream is missing")),
            };
            streams.insert(stream.get(), stored.as_slice())?;
        }
        Ok(())
    }
}

/// The last frames of main that are worth merging again with what comes.
///
/// A frame is taken when it is not full and at most twice what is gathered so far, so that an event
/// is merged a number of times that grows with the logarithm of the frame size, not with it.
fn absorbed(frames: &[Frame], reader: &Reader, frame_bytes_max: usize) -> Result<Vec<Frame>, Error> {
    let mut absorbed = Vec::new();
    let Some(table) = reader.frame_table()? else { return Ok(absorbed) };
    let mut gathered: usize = frames.iter().map(Frame::body_bytes).sum();
    let mut last = MainFrames::last(table, reader.id())?;
    while let Some(frame) = last {
        let full = frame.body_bytes() >= frame_bytes_max / 4 * 3;
        if full || frame.body_bytes() > gathered.saturating_mul(2) {
            break;
        }
        gathered += frame.body_bytes();
        last = MainFrames::previous(table, reader.id(), frame.first())?;
        absorbed.push(frame);
    }
    absorbed.reverse();
    Ok(absorbed)
}

pub(crate) fn write_rows(transaction: &WriteTransaction, generation: &Generation, rows: &Changes<StoredRowKey>) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut tables = RowTables::open(transaction, generation)?;
    for (key, value) in rows {
        match value {
            Some(value) => tables.insert(key, value)?,
            None => tables.remove(key)?,
        }
    }
    Ok(())
}

pub(crate) fn write_index(transaction: &WriteTransaction, generation: &Generation, index: &Changes<Vec<u8>>) -> Result<(), Error> {
    if index.is_empty() {
        return Ok(());
    }
    let mut table = transaction.open_table(generation.index())?;
    for (key, value) in index {
        match value {
            Some(value) => drop(table.insert(key.as_slice(), value.as_slice())?),
            None => drop(table.remove(key.as_slice())?),
        }
    }
    Ok(())
}

pub(crate) fn write_named(transaction: &WriteTransaction, named: &Changes<String>) -> Result<(), Error> {
    if named.is_empty() {
        return Ok(());
    }
    let mut table = transaction.open_table(NAMED)?;
    for (name, value) in named {
        match value {
            Some(value) => drop(table.insert(name.as_str(), value.as_slice())?),
            None => drop(table.remove(name.as_str())?),
        }
    }
    Ok(())
}
