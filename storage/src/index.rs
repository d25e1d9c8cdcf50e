//! Reading the engine's index: plain keys and values in order.
//!
//! **Invariant:** what is read is what the last checkpoint of the generation wrote.

use crate::Error;
use crate::database::contained;
use crate::rows::Direction;
use crate::tables::Bytes;
use redb::{Range, ReadOnlyTable};
use std::ops::Bound;

pub(crate) type IndexTable = ReadOnlyTable<Bytes, Bytes>;

/// Index entries in key order, or against it.
pub struct IndexEntries {
    range: Option<Range<'static, Bytes, Bytes>>,
    direction: Direction,
}

impl std::fmt::Debug for IndexEntries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexEntries").field("direction", &self.direction).finish()
    }
}

impl IndexEntries {
    pub(crate) fn new(table: Option<&IndexTable>, bounds: (Bound<&[u8]>, Bound<&[u8]>), direction: Direction) -> Result<Self, Error> {
        let range = match table {
            Some(table) if !empty(bounds) => Some(contained("index", || Ok(table.range::<&[u8]>(bounds)?))?),
            _ => None,
        };
        Ok(Self { range, direction })
    }
}

/// Whether nothing lies within the bounds; redb would take some such bounds for a fault.
fn empty(bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    match bounds {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => low >= high,
        _ => false,
    }
}

impl Iterator for IndexEntries {
    type Item = Result<(Vec<u8>, Vec<u8>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let range = self.range.as_mut()?;
        let next = contained("index", || {
            let next = match self.direction {
                Direction::Forward => range.next(),
                Direction::Backward => range.next_back(),
            };
            let Some((key, value)) = next.transpose()? else { return Ok(None) };
            Ok(Some((key.value().to_vec(), value.value().to_vec())))
        });
        if next.is_err() {
            self.range = None;
        }
        next.transpose()
    }
}
