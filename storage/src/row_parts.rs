//! Rows as main stores them: what does not share a page well goes to parts that fill pages of their own.
//!
//! **Invariant:** a row's stored value begins with the number of its parts; the parts in order, then the rest of the value, are the row
//! as [`crate::row`] encodes it. Parts come and go with the value.
//!
//! redb splits a full page in halves, so that values of half a page leave pages half empty. A row of 5 KiB is one full page and a rest of
//! 1 KiB that shares another.

use crate::Error;
use crate::ids::Position;
use crate::row::{self, Row};
use crate::tables::{Bytes, Generation, PartKey, StoredRowKey, part_key};
use redb::{ReadOnlyTable, ReadTransaction, Table, TableError, WriteTransaction};

/// A value up to this size shares a page with others.
const SHARED_BYTES_MAX: usize = 1800;
/// What a leaf page with one part holds: the page less its own head, one offset and the key.
const PART_BYTES: usize = 4096 - 4 - 4 - size_of::<PartKey>();
/// Parts that a value may have; what is left beyond stays in the value.
const PARTS_MAX: usize = u8::MAX as usize;

/// The rows of a generation, for reading.
pub(crate) struct RowTable {
    pub(crate) rows: ReadOnlyTable<&'static StoredRowKey, Bytes>,
    parts: Option<ReadOnlyTable<&'static PartKey, Bytes>>,
}

impl RowTable {
    /// `None` when the generation has no rows yet.
    pub(crate) fn open(transaction: &ReadTransaction, generation: &Generation) -> Result<Option<Self>, Error> {
        let rows = match transaction.open_table(generation.rows()) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let parts = match transaction.open_table(generation.parts()) {
            Ok(parts) => Some(parts),
            Err(TableError::TableDoesNotExist(_)) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Some(Self { rows, parts }))
    }

    /// The row whose stored value this is.
    pub(crate) fn decode(&self, key: &StoredRowKey, value: &[u8]) -> Result<Row, Error> {
        let damaged = || Error::corrupt("rows", row::Hex(key), "a part is missing");
        let (parts, rest) = value.split_first().ok_or_else(damaged)?;
        if *parts == 0 {
            return row::decode(key, rest);
        }
        let table = self.parts.as_ref().ok_or_else(damaged)?;
        let mut joined = Vec::with_capacity(usize::from(*parts) * PART_BYTES + rest.len());
        for part in 0..*parts {
            let found = table.get(&part_key(key, part))?.ok_or_else(damaged)?;
            joined.extend_from_slice(found.value());
        }
        joined.extend_from_slice(rest);
        row::decode(key, &joined)
    }
}

/// The rows of a generation, for writing.
pub(crate) struct RowTables<'t> {
    rows: Table<'t, &'static StoredRowKey, Bytes>,
    parts: Table<'t, &'static PartKey, Bytes>,
}

impl<'t> RowTables<'t> {
    pub(crate) fn open(transaction: &'t WriteTransaction, generation: &Generation) -> Result<Self, Error> {
        Ok(Self { rows: transaction.open_table(generation.rows())?, parts: transaction.open_table(generation.parts())? })
    }

    /// Writes an encoded row.
    pub(crate) fn insert(&mut self, key: &StoredRowKey, encoded: &[u8]) -> Result<(), Error> {
        let mut rest = encoded;
        let mut parts = 0_u8;
        while rest.len() > SHARED_BYTES_MAX && usize::from(parts) < PARTS_MAX {
            let Some((part, left)) = rest.split_at_checked(PART_BYTES) else { break };
            self.parts.insert(&part_key(key, parts), part)?;
            parts += 1;
            rest = left;
        }
        let mut value = Vec::with_capacity(1 + rest.len());
        value.push(parts);
        value.extend_from_slice(rest);
        let before = self.rows.insert(key, value.as_slice())?.and_then(|before| before.value().first().copied());
        self.remove_parts(key, parts, before)
    }

    /// Removes a row; none is fine.
    pub(crate) fn remove(&mut self, key: &StoredRowKey) -> Result<(), Error> {
        let before = self.rows.remove(key)?.and_then(|before| before.value().first().copied());
        self.remove_parts(key, 0, before)
    }

    fn remove_parts(&mut self, key: &StoredRowKey, from: u8, before: Option<u8>) -> Result<(), Error> {
        for part in from..before.unwrap_or(0) {
            self.parts.remove(&part_key(key, part))?;
        }
        Ok(())
    }
}

/// Removes a generation.
pub(crate) fn remove_generation(transaction: &WriteTransaction, generation: &Generation) -> Result<(), Error> {
    transaction.delete_table(generation.rows())?;
    transaction.delete_table(generation.parts())?;
    Ok(())
}

/// The position that a stored row is a version of; kept here so that readers of values name one module.
pub(crate) fn located(key: &StoredRowKey) -> Result<(i64, Position), Error> {
    row::place(key).ok_or_else(|| Error::corrupt("rows", row::Hex(key), "a version of zero"))
}
