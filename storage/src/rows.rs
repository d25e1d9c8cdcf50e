//! Reading versioned rows: the newest version at or below a position.
//!
//! **Invariant:** the work for one ordinal is bounded: a few steps, then a seek past its versions.

use crate::Error;
use crate::database::contained;
use crate::ids::Position;
use crate::reader::Counts;
use crate::row::{Row, RowKey};
use crate::row_parts::{RowTable, located};
use crate::tables::{Bytes, StoredRowKey};
use redb::{AccessGuard, Range};
use std::ops::RangeInclusive;

/// Versions of one ordinal that are stepped over before seeking is cheaper.
const STEPS_MAX: u32 = 3;

/// Which end of a range comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the lowest.
    Forward,
    /// From the highest.
    Backward,
}

type Item = (AccessGuard<'static, &'static StoredRowKey>, AccessGuard<'static, Bytes>);

/// The newest version of `key` at or below `at`.
pub(crate) fn newest(table: &RowTable, key: &RowKey, at: u64, counts: &Counts) -> Result<Option<Row>, Error> {
    contained("rows", || {
        counts.seek();
        let mut range = table.rows.range::<&StoredRowKey>(&key.stored(0)..=&key.stored(at))?;
        let Some(found) = range.next_back() else { return Ok(None) };
        counts.step();
        let (key, value) = found?;
        table.decode(key.value(), value.value()).map(Some)
    })
}

/// Rows of one kind over a range of ordinals, each in its newest version at or below a position.
///
/// An error is the last thing it yields.
pub struct Rows<'r> {
    table: Option<&'r RowTable>,
    counts: &'r Counts,
    key: RowKey,
    at: u64,
    direction: Direction,
    /// What is left of the ordinals; `None` when nothing is.
    left: Option<(i64, i64)>,
    range: Option<Range<'static, &'static StoredRowKey, Bytes>>,
    peeked: Option<Item>,
}

impl std::fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("key", &self.key).field("left", &self.left).finish()
    }
}

impl<'r> Rows<'r> {
    pub(crate) fn new(
        table: Option<&'r RowTable>,
        counts: &'r Counts,
        key: RowKey,
        ordinals: &RangeInclusive<i64>,
        at: Option<Position>,
        direction: Direction,
    ) -> Self {
        let (low, high) = (*ordinals.start(), *ordinals.end());
        Self {
            table,
            counts,
            key,
            at: at.map_or(u64::MAX, Position::get),
            direction,
            left: (low <= high).then_some((low, high)),
            range: None,
            peeked: None,
        }
    }

    /// The next stored row in the direction, of whatever ordinal and version.
    fn step(&mut self) -> Result<Option<Item>, Error> {
        if let Some(item) = self.peeked.take() {
            return Ok(Some(item));
        }
        let (Some(table), Some((low, high))) = (self.table, self.left) else { return Ok(None) };
        if self.range.is_none() {
            self.counts.seek();
            let low = self.key.with_ordinal(low).stored(0);
            let high = self.key.with_ordinal(high).stored(u64::MAX);
            self.range = Some(table.rows.range::<&StoredRowKey>(&low..=&high)?);
        }
        self.counts.step();
        let next = match (&mut self.range, self.direction) {
            (Some(range), Direction::Forward) => range.next(),
            (Some(range), Direction::Backward) => range.next_back(),
            (None, _) => None,
        };
        Ok(next.transpose()?)
    }

    /// Nothing at `ordinal` or before it (in the direction) is looked at again.
    fn leave(&mut self, ordinal: i64) {
        self.left = self.left.and_then(|(low, high)| match self.direction {
            Direction::Forward => ordinal.checked_add(1).filter(|low| *low <= high).map(|low| (low, high)),
            Direction::Backward => ordinal.checked_sub(1).filter(|high| low <= *high).map(|high| (low, high)),
        });
    }

    /// The newest version of the ordinal that `item` is the first stored row of.
    fn settle(&mut self, item: Item) -> Result<(i64, Option<Item>), Error> {
        let (ordinal, version) = located(item.0.value())?;
        let mut best = (version.get() <= self.at).then_some(item);
        let mut decided = self.direction == Direction::Backward && best.is_some();
        let mut steps = 0;
        loop {
            if steps == STEPS_MAX {
                self.range = None;
                break;
            }
            steps += 1;
            let Some(next) = self.step()? else {
                decided = true;
                break;
            };
            let (other, version) = located(next.0.value())?;
            if other != ordinal {
                self.peeked = Some(next);
                decided = true;
                break;
            }
            let visible = version.get() <= self.at;
            match self.direction {
                Direction::Forward if visible => best = Some(next),
                Direction::Forward => decided = true,
                Direction::Backward if visible && !decided => {
                    best = Some(next);
                    decided = true;
                }
                Direction::Backward => {}
            }
        }
        if !decided {
            best = self.seek(ordinal)?;
        }
        Ok((ordinal, best))
    }

    fn seek(&self, ordinal: i64) -> Result<Option<Item>, Error> {
        let Some(table) = self.table else { return Ok(None) };
        let key = self.key.with_ordinal(ordinal);
        self.counts.seek();
        self.counts.step();
        let mut range = table.rows.range::<&StoredRowKey>(&key.stored(0)..=&key.stored(self.at))?;
        Ok(range.next_back().transpose()?)
    }

    fn advance(&mut self) -> Result<Option<(i64, Row)>, Error> {
        while let Some(item) = self.step()? {
            let (ordinal, best) = self.settle(item)?;
            self.leave(ordinal);
            if let (Some((key, value)), Some(table)) = (best, self.table) {
                return Ok(Some((ordinal, table.decode(key.value(), value.value())?)));
            }
        }
        Ok(None)
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<(i64, Row), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = contained("rows", || self.advance());
        if next.is_err() {
            self.left = None;
            self.range = None;
            self.peeked = None;
            self.table = None;
        }
        next.transpose()
    }
}
