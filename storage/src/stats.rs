//! Sizes of what a store holds.
//!
//! **Invariant:** figures are of one reader; nothing is estimated.

use crate::Error;
use crate::database::contained;
use crate::ids::{OpenEpoch, Position, StoreId};
use crate::medium::{Access, Medium, Which};
use crate::reader::Reader;
use redb::ReadableTableMetadata;

/// The size of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStats {
    /// Its name.
    pub name: String,
    /// How many entries it holds.
    pub entries: u64,
    /// Bytes of keys and values.
    pub stored_bytes: u64,
    /// Bytes of the tree around them.
    pub tree_bytes: u64,
    /// Bytes allocated and not used.
    pub unused_bytes: u64,
}

/// The size of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Its identity.
    pub id: StoreId,
    /// The open epoch.
    pub open_epoch: OpenEpoch,
    /// The last checkpoint.
    pub checkpoint: Option<Position>,
    /// The last position.
    pub head: Option<Position>,
    /// Which generation of rows and index is in use.
    pub generation: u32,
    /// Bytes of the main file.
    pub main_file_bytes: u64,
    /// Bytes of the tail file, 0 when there is none.
    pub tail_file_bytes: u64,
    /// The tables of the main file.
    pub tables: Vec<TableStats>,
}

impl Stats {
    pub(crate) fn of(reader: &Reader, medium: &dyn Medium) -> Result<Self, Error> {
        contained("tables", || Self::walk(reader, medium))
    }

    fn walk(reader: &Reader, medium: &dyn Medium) -> Result<Self, Error> {
        let mut tables = Vec::new();
        for handle in reader.main().list_tables()? {
            let name = redb::TableHandle::name(&handle).to_owned();
            let table = reader.main().open_untyped_table(handle)?;
            let stats = table.stats()?;
            tables.push(TableStats {
                name,
                entries: table.len()?,
                stored_bytes: stats.stored_bytes(),
                tree_bytes: stats.metadata_bytes(),
                unused_bytes: stats.fragmented_bytes(),
            });
        }
        Ok(Self {
            id: reader.id(),
            open_epoch: reader.open_epoch(),
            checkpoint: reader.checkpoint(),
            head: reader.head()?,
            generation: reader.state().generation,
            main_file_bytes: file_bytes(medium, Which::Main)?,
            tail_file_bytes: file_bytes(medium, Which::Tail)?,
            tables,
        })
    }
}

/// Length of a file, 0 when it is not there.
pub(crate) fn file_bytes(medium: &dyn Medium, which: Which) -> Result<u64, Error> {
    if !medium.exists(which)? {
        return Ok(0);
    }
    Ok(medium.open(which, Access::Read)?.len()?)
}
