//! Which row holds what, and how rows become values and back.
//!
//! **Invariant:** a row is addressed by kind, epoch and ordinal alone; its bytes are one rkyv archive, equal for equal values.

use rkyv::util::AlignedVec;

use super::entry::{Page, Sequence};
use super::header::Header;

/// Kinds of row; the numbers are frozen with the layout fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum RowKind {
    /// The [`Header`].
    Header = 1,
    /// A page of the timeline.
    Timeline = 2,
    /// A page of the shelf.
    Shelf = 3,
    /// A page of diagnostics.
    Diagnostics = 4,
    /// Ids of the timeline that share 64 bits of their digest.
    Ids = 5,
    /// A sealed piece of text of a timeline entry.
    Text = 6,
    /// A sealed piece of text of a shelf entry.
    ShelfText = 7,
    /// Ids of the shelf.
    ShelfIds = 8,
}

impl RowKind {
    /// The row kind of a sequence's pages.
    pub fn of(sequence: Sequence) -> Self {
        match sequence {
            Sequence::Timeline => Self::Timeline,
            Sequence::Shelf => Self::Shelf,
            Sequence::Diagnostics => Self::Diagnostics,
        }
    }
}

/// The place of a row within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowRef {
    /// Kind.
    pub kind: RowKind,
    /// Epoch of the timeline, or 0 for what no epoch replaces.
    pub epoch: u32,
    /// Page, digest or piece number.
    pub ordinal: i64,
}

impl RowRef {
    /// The row of a session's header.
    pub const HEADER: Self = Self { kind: RowKind::Header, epoch: 0, ordinal: 0 };
}

/// Ids that share a row: digest and ordinal, in the order of the digests. All share their first eight bytes, which are the row's place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdRow {
    /// Digest and ordinal.
    pub ids: Vec<([u8; 16], i64)>,
}

/// A stored id: the last eight bytes of its digest, and the ordinal.
const ID_BYTES: usize = 16;

impl IdRow {
    /// The row's bytes. There is one such row for nearly every message, so it is no archive but sixteen bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.ids.iter().flat_map(|(digest, ordinal)| digest.iter().skip(8).copied().chain(ordinal.to_le_bytes())).collect()
    }

    pub(crate) fn from_bytes(row: RowRef, bytes: &[u8]) -> Result<Self, BadRow> {
        let (entries, []) = bytes.as_chunks::<ID_BYTES>() else { return Err(BadRow::new(row, "cut short")) };
        let read = |entry: &[u8; ID_BYTES]| {
            let (rest, ordinal) = entry.split_at(8);
            let mut digest = [0; 16];
            let bytes = row.ordinal.to_be_bytes().into_iter().chain(rest.iter().copied());
            digest.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
            (digest, i64::from_le_bytes(ordinal.first_chunk::<8>().copied().unwrap_or_default()))
        };
        Ok(Self { ids: entries.iter().map(read).collect() })
    }
}

/// A row does not hold what its place promises. Treated as a cache miss: the session is folded again from the log.
#[derive(Debug, thiserror::Error)]
#[error("{kind:?} row {ordinal} does not read: {what}")]
pub struct BadRow {
    pub(crate) kind: RowKind,
    pub(crate) ordinal: i64,
    pub(crate) what: String,
}

impl BadRow {
    pub(crate) fn new(row: RowRef, what: impl std::fmt::Display) -> Self {
        Self { kind: row.kind, ordinal: row.ordinal, what: what.to_string() }
    }
}

/// Where a piece of text belongs within its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field(pub u8);

impl Field {
    /// Text of a part.
    pub const TEXT: Self = Self(0);
    /// Arguments of a call.
    pub const ARGS: Self = Self(1);
    /// Streamed output of a call.
    pub const OUTPUT: Self = Self(2);
    /// Base of a document.
    pub const BASE: Self = Self(3);
    /// Patches of a document.
    pub const PATCHES: Self = Self(4);
}

/// Ordinal of a piece: 36 bits of entry, 8 of field, 20 of index.
pub fn piece_ordinal(entry: i64, field: Field, index: u32) -> i64 {
    (entry << 28) | (i64::from(field.0) << 20) | i64::from(index & 0xF_FFFF)
}

macro_rules! archives {
    ($($write:ident $read:ident $type:ty),*) => { $(
        pub(crate) fn $write(value: &$type) -> AlignedVec {
            // Serializing plain values into a growing buffer has no way to fail.
            rkyv::to_bytes::<rkyv::rancor::Error>(value).unwrap_or_default()
        }
        pub(crate) fn $read(row: RowRef, bytes: &[u8]) -> Result<$type, BadRow> {
            let mut aligned = AlignedVec::<16>::with_capacity(bytes.len());
            aligned.extend_from_slice(bytes);
            rkyv::from_bytes::<$type, rkyv::rancor::Error>(&aligned).map_err(|e| BadRow::new(row, e))
        }
    )* };
}

archives! { write_page read_page Page, write_header read_header Header }
