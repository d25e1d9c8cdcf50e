//! Writing rows and index anew, beside the ones in use, and switching to them in one commit.
//!
//! **Invariant:** until the switch nothing that readers see changes; a rebuild that died leaves
//! tables that the next one removes.

use crate::Error;
use crate::checkpoint::{Changes, check_index_key, check_row, write_index, write_named, write_rows};
use crate::database::contained;
use crate::ids::{Position, Stream};
use crate::index::IndexTable;
use crate::reader::{Counts, open_table};
use crate::row::{self, Row, RowKey};
use crate::row_parts::{RowTable, remove_generation};
use crate::rows::{self, Direction, Rows};
use crate::storage::Shared;
use crate::tables::{Generation, META, STATE, StoredRowKey};
use redb::WriteTransaction;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

/// A rebuild in the making. Dropping it leaves the rows in use as they are.
///
/// Appends and checkpoints go on meanwhile; [`Rebuild::finish`] says when it has to catch up.
#[derive(Debug)]
pub struct Rebuild<'s> {
    shared: &'s Shared,
    number: u32,
    generation: Generation,
    rows: Changes<StoredRowKey>,
    index: Changes<Vec<u8>>,
    named: Changes<String>,
    buffered_bytes: usize,
    begun: bool,
    finished: bool,
    written: Option<Written>,
    counts: Counts,
}

/// The tables of the new generation as they were flushed.
struct Written {
    rows: Option<RowTable>,
    index: Option<IndexTable>,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Written")
    }
}

impl<'s> Rebuild<'s> {
    pub(crate) fn begin(shared: &'s Shared) -> Result<Self, Error> {
        if shared.rebuilding.swap(true, Ordering::AcqRel) {
            return Err(Error::OutOfOrder("a rebuild is going on already"));
        }
        let number = shared.log.lock().state.generation.wrapping_add(1);
        Ok(Self {
            shared,
            number,
            generation: Generation::new(number),
            rows: BTreeMap::new(),
            index: BTreeMap::new(),
            named: BTreeMap::new(),
            buffered_bytes: 0,
            begun: false,
            finished: false,
            written: None,
            counts: Counts::default(),
        })
    }

    /// The checkpoint that the rebuild must cover to be finished now.
    pub fn target(&self) -> Option<Position> {
        self.shared.log.lock().state.checkpoint
    }

    /// Puts a version of a row.
    pub fn put_row(&mut self, key: &RowKey, version: Position, bytes: &[u8]) -> Result<(), Error> {
        check_row(bytes, &self.shared.options)?;
        let key = key.stored(version.get());
        let value = row::encode(&key, bytes);
        self.buffered_bytes += value.len() + key.len();
        self.rows.insert(key, Some(value));
        Ok(())
    }

    /// Drops one version of a row. A version that does not exist is no error.
    pub fn delete_row(&mut self, key: &RowKey, version: Position) {
        let stored = key.stored(version.get());
        if self.begun {
            self.rows.insert(stored, None);
        } else {
            self.rows.remove(&stored);
        }
    }

    /// Puts an index entry.
    pub fn put_index(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        check_index_key(key, &self.shared.options)?;
        self.buffered_bytes += key.len() + value.len();
        self.index.insert(key.to_vec(), Some(value.to_vec()));
        Ok(())
    }

    /// Deletes an index entry; none is fine.
    pub fn delete_index(&mut self, key: &[u8]) {
        self.buffered_bytes += key.len();
        self.index.insert(key.to_vec(), None);
    }

    /// The index entry as the rebuild has it so far.
    pub fn get_index(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if let Some(changed) = self.index.get(key) {
            return Ok(changed.clone());
        }
        let written = self.written()?;
        let Some(table) = &written.index else { return Ok(None) };
        Ok(table.get(key)?.map(|value| value.value().to_vec()))
    }

    /// Puts a small named value, with the switch.
    pub fn put_meta(&mut self, name: &str, value: &[u8]) {
        self.named.insert(name.to_owned(), Some(value.to_vec()));
    }

    /// Bytes held in memory since the last flush.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered_bytes
    }

    fn written(&mut self) -> Result<&Written, Error> {
        if self.written.is_none() {
            let mut fresh = Written { rows: None, index: None };
            if self.begun {
                let transaction = self.shared.files.read_main()?;
                fresh.rows = RowTable::open(&transaction, &self.generation)?;
                fresh.index = open_table(&transaction, self.generation.index())?;
            }
            self.written = Some(fresh);
        }
        self.written.as_ref().ok_or(Error::Poisoned)
    }

    /// The row's newest version at or below `at`, as the rebuild has it so far.
    pub fn row(&mut self, key: &RowKey, at: Option<Position>) -> Result<Option<Row>, Error> {
        let at = at.map_or(u64::MAX, Position::get);
        let buffered = match self.rows.range(key.stored(0)..=key.stored(at)).next_back() {
            Some((key, Some(value))) => Some(row::decode(key, value)?),
            _ => None,
        };
        self.written()?;
        let written = match self.written.as_ref().and_then(|written| written.rows.as_ref()) {
            Some(table) => rows::newest(table, key, at, &self.counts)?,
            None => None,
        };
        Ok(newer(buffered, written))
    }

    /// The rows of a kind with these ordinals, each in its newest version at or below `at`, as the
    /// rebuild has them so far.
    pub fn rows(
        &mut self,
        stream: Stream,
        epoch: u32,
        kind: u8,
        ordinals: RangeInclusive<i64>,
        at: Option<Position>,
        direction: Direction,
    ) -> Result<Vec<(i64, Row)>, Error> {
        let key = RowKey { stream, epoch, kind, ordinal: 0 };
        self.written()?;
        let table = self.written.as_ref().and_then(|written| written.rows.as_ref());
        let mut found: BTreeMap<i64, Row> =
            Rows::new(table, &self.counts, key, &ordinals, at, Direction::Forward).collect::<Result<_, _>>()?;
        if ordinals.start() <= ordinals.end() {
            let low = key.with_ordinal(*ordinals.start()).stored(0);
            let high = key.with_ordinal(*ordinals.end()).stored(u64::MAX);
            for (key, value) in self.rows.range(low..=high) {
                let (Some((ordinal, version)), Some(value)) = (row::place(key), value) else {
                    continue;
                };
                let newest = found.get(&ordinal).is_none_or(|row| row.version <= version);
                if newest && at.is_none_or(|at| version <= at) {
                    found.insert(ordinal, row::decode(key, value)?);
                }
            }
        }
        let mut rows: Vec<_> = found.into_iter().collect();
        if direction == Direction::Backward {
            rows.reverse();
        }
        Ok(rows)
    }

    /// Writes what is in memory to the tables of the new generation, without switching to them.
    pub fn flush(&mut self) -> Result<(), Error> {
        let _writing = self.shared.writing_main.lock();
        let files = &self.shared.files;
        let transaction = files.watch(contained("main file", || self.write()))?;
        files.commit(transaction)?;
        self.wrote();
        Ok(())
    }

    fn write(&self) -> Result<WriteTransaction, Error> {
        let transaction = self.shared.files.write_main()?;
        if !self.begun {
            // What a rebuild left that died.
            remove_generation(&transaction, &self.generation)?;
            transaction.delete_table(self.generation.index())?;
        }
        write_rows(&transaction, &self.generation, &self.rows)?;
        write_index(&transaction, &self.generation, &self.index)?;
        Ok(transaction)
    }

    fn wrote(&mut self) {
        self.begun = true;
        self.written = None;
        self.rows.clear();
        self.index.clear();
        self.buffered_bytes = 0;
    }

    /// Switches to the new rows and index, which speak for positions up to `covered`, and removes
    /// the old ones, in one commit.
    ///
    /// [`Error::RebuildBehind`] when the checkpoint is not at `covered`: fold on, put, and call
    /// again. After success only dropping is left.
    pub fn finish(&mut self, covered: Option<Position>) -> Result<(), Error> {
        if self.finished {
            return Err(Error::OutOfOrder("the rebuild is finished"));
        }
        let _writing = self.shared.writing_main.lock();
        let mut state = self.shared.log.lock().state;
        if covered != state.checkpoint {
            return Err(Error::RebuildBehind { covered, checkpoint: state.checkpoint });
        }
        let old = Generation::new(state.generation);
        state.generation = self.number;
        let files = &self.shared.files;
        let write = || {
            let transaction = self.write()?;
            write_named(&transaction, &self.named)?;
            remove_generation(&transaction, &old)?;
            transaction.delete_table(old.index())?;
            transaction.open_table(META)?.insert(STATE, state.stored().as_slice())?;
            Ok(transaction)
        };
        let transaction = files.watch(contained("main file", write))?;
        files.commit(transaction)?;
        self.shared.log.lock().checkpointed(state);
        self.finished = true;
        self.wrote();
        Ok(())
    }
}

fn newer(one: Option<Row>, other: Option<Row>) -> Option<Row> {
    match (one, other) {
        (Some(one), Some(other)) if one.version < other.version => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    }
}

impl Drop for Rebuild<'_> {
    fn drop(&mut self) {
        self.shared.rebuilding.store(false, Ordering::Release);
    }
}
