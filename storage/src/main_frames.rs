//! Frames as main stores them: in parts that fill whole runs of pages.
//!
//! **Invariant:** the parts of a frame are numbered from 0 and joined are the frame.
//!
//! redb gives a value above a page a run of a power of two of pages. A frame of 35 KiB as one value
//! would take 64 KiB; as parts of 32, 2 and 1 it takes about 36.

use crate::Error;
use crate::frame::{Frame, HEADER_BYTES};
use crate::ids::{Position, StoreId};
use crate::tables::{Bytes, FrameKey, frame_key};
use redb::{AccessGuard, Range, ReadOnlyTable, Table};

const PAGE_BYTES: usize = 4096;
/// What a leaf page with one entry of a fixed-width key needs beside the value.
const LEAF_BYTES: usize = 4 + 4 + size_of::<FrameKey>();
/// No part is larger, so that one read does not bring in much more than asked for.
const PART_BYTES_MAX: usize = 256 << 10;

pub(crate) type FrameTable = ReadOnlyTable<&'static FrameKey, Bytes>;
type Item = (AccessGuard<'static, &'static FrameKey>, AccessGuard<'static, Bytes>);

/// The size of the first part of so many bytes.
pub(crate) fn part_bytes(left: usize) -> usize {
    if left + LEAF_BYTES <= PAGE_BYTES {
        return left;
    }
    let mut run = PAGE_BYTES;
    while run * 2 <= left + LEAF_BYTES && run < PART_BYTES_MAX {
        run *= 2;
    }
    // Just short of the next run, one value wastes less than two do.
    if left + LEAF_BYTES > run * 2 - run / 8 && run < PART_BYTES_MAX {
        return left;
    }
    run - LEAF_BYTES
}

/// Appends a frame at the right edge.
pub(crate) fn append(table: &mut Table<'_, &'static FrameKey, Bytes>, first: Position, sealed: &[u8]) -> Result<(), Error> {
    let mut left = sealed;
    let mut part = 0_u8;
    while !left.is_empty() {
        // The last part number takes whatever is left.
        let bytes = if part == u8::MAX { left.len() } else { part_bytes(left.len()) };
        let (taken, rest) = left.split_at_checked(bytes).unwrap_or((left, &[]));
        table.insert(&frame_key(first.get(), part), taken)?;
        left = rest;
        part = part.saturating_add(1);
    }
    Ok(())
}

/// Removes a frame.
pub(crate) fn remove(table: &mut Table<'_, &'static FrameKey, Bytes>, first: Position) -> Result<(), Error> {
    for part in 0..=u8::MAX {
        if table.remove(&frame_key(first.get(), part))?.is_none() {
            break;
        }
    }
    Ok(())
}

/// Where the frame begins that holds `position`, or the first one after it.
fn start(table: &FrameTable, position: Position) -> Result<u64, Error> {
    let mut before = table.range::<&FrameKey>(&frame_key(0, 0)..=&frame_key(position.get(), u8::MAX))?;
    match before.next_back().transpose()? {
        Some((key, _)) => Ok(first_of(key.value())),
        None => Ok(position.get()),
    }
}

fn first_of(key: &FrameKey) -> u64 {
    key.split_first_chunk().map_or(0, |(first, _)| u64::from_be_bytes(*first))
}

/// The frames from some position on.
pub(crate) struct MainFrames {
    store: StoreId,
    range: Range<'static, &'static FrameKey, Bytes>,
}

impl MainFrames {
    pub(crate) fn from(table: &FrameTable, store: StoreId, position: Position) -> Result<Self, Error> {
        let start = start(table, position)?;
        let range = table.range::<&FrameKey>(&frame_key(start, 0)..=&frame_key(u64::MAX, u8::MAX))?;
        Ok(Self { store, range })
    }

    /// The frame at exactly `first`.
    pub(crate) fn at(table: &FrameTable, store: StoreId, first: u64) -> Result<Frame, Error> {
        let range = table.range::<&FrameKey>(&frame_key(first, 0)..=&frame_key(first, u8::MAX))?;
        Self { store, range }.next()?.ok_or_else(|| Error::corrupt("frames", first, "the frame is missing"))
    }

    /// The last frame.
    pub(crate) fn last(table: &FrameTable, store: StoreId) -> Result<Option<Frame>, Error> {
        let range = table.range::<&FrameKey>(&frame_key(0, 0)..=&frame_key(u64::MAX, u8::MAX))?;
        Self::before(range, table, store)
    }

    /// The frame before the one that begins at `first`.
    pub(crate) fn previous(table: &FrameTable, store: StoreId, first: Position) -> Result<Option<Frame>, Error> {
        let range = table.range::<&FrameKey>(&frame_key(0, 0)..&frame_key(first.get(), 0))?;
        Self::before(range, table, store)
    }

    fn before(mut range: Range<'static, &'static FrameKey, Bytes>, table: &FrameTable, store: StoreId) -> Result<Option<Frame>, Error> {
        let Some((key, _)) = range.next_back().transpose()? else { return Ok(None) };
        Self::at(table, store, first_of(key.value())).map(Some)
    }

    fn item(&mut self) -> Result<Option<Item>, Error> {
        Ok(self.range.next().transpose()?)
    }

    /// The next frame; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, Error> {
        let Some((key, head)) = self.item()? else { return Ok(None) };
        let first = first_of(key.value());
        let damaged = |what: &str| Error::corrupt("frames", first, what);
        let position = Position::new(first).ok_or_else(|| damaged("a position of zero"))?;
        let total = Frame::sealed_bytes(head.value()).ok_or_else(|| damaged("cut short"))?;
        if head.value().len() == total {
            return Frame::decode(self.store, position, head.value()).map(Some);
        }
        let mut sealed = Vec::with_capacity(total.min(1 << 20));
        sealed.extend_from_slice(head.value());
        while sealed.len() < total {
            let (key, part) = self.item()?.ok_or_else(|| damaged("a part is missing"))?;
            if first_of(key.value()) != first {
                return Err(damaged("a part is missing"));
            }
            sealed.extend_from_slice(part.value());
        }
        Frame::decode(self.store, position, &sealed).map(Some)
    }
}

const _: () = assert!(HEADER_BYTES + LEAF_BYTES < PAGE_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_waste_little_of_their_runs() {
        for total in (8000..2_000_000).step_by(777) {
            let (mut left, mut pages) = (total, 0);
            while left > 0 {
                let part = part_bytes(left);
                assert!(part > 0 && part <= left);
                pages += (part + LEAF_BYTES).next_power_of_two().max(PAGE_BYTES);
                left -= part;
            }
            let wasted = pages as f64 / total as f64;
            assert!(wasted < 1.5 && (total < 64_000 || wasted < 1.13), "{total}: {wasted}");
        }
    }
}
