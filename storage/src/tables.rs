//! The tables of the main file and the keys within them.
//!
//! **Invariant:** keys and values are plain bytes and fixed integers; nothing is decoded inside redb.
//!
//! | table | key | value |
//! |---|---|---|
//! | meta | name | [`crate::state::State`] |
//! | named | name | the engine's small values |
//! | aside | the engine's | small values that belong to no event |
//! | frames | first position 8, part 1 | a part of a frame |
//! | streams | stream | digest key 32, last seq 8, name |
//! | names | name | stream |
//! | spans | stream 8, first seq 8 | first position of the frame |
//! | keys | stream 8, batch key 16 | first 8, last 8, digest 16 |
//! | rows.g | stream 8, epoch 4, kind 1, ordinal 8, version 8 | a row, or the end of one |
//! | parts.g | row key 29, part 1 | a part of a row |
//! | index.g | the engine's | the engine's |

use redb::TableDefinition;

pub(crate) type Bytes = &'static [u8];
pub(crate) type FrameKey = [u8; 9];
pub(crate) type SpanKey = [u8; 16];
pub(crate) type KeyKey = [u8; 24];
pub(crate) type StoredRowKey = [u8; 29];
pub(crate) type PartKey = [u8; 30];

pub(crate) const META: TableDefinition<'static, &'static str, Bytes> = TableDefinition::new("meta");
pub(crate) const NAMED: TableDefinition<'static, &'static str, Bytes> = TableDefinition::new("named");
pub(crate) const ASIDE: TableDefinition<'static, Bytes, Bytes> = TableDefinition::new("aside");
pub(crate) const FRAMES: TableDefinition<'static, &'static FrameKey, Bytes> = TableDefinition::new("frames");
pub(crate) const STREAMS: TableDefinition<'static, u64, Bytes> = TableDefinition::new("streams");
pub(crate) const NAMES: TableDefinition<'static, &'static str, u64> = TableDefinition::new("names");
pub(crate) const SPANS: TableDefinition<'static, &'static SpanKey, u64> = TableDefinition::new("spans");
pub(crate) const KEYS: TableDefinition<'static, &'static KeyKey, Bytes> = TableDefinition::new("keys");
pub(crate) const STATE: &str = "state";

/// The names of a generation's tables.
#[derive(Clone, Debug)]
pub(crate) struct Generation {
    rows: String,
    parts: String,
    index: String,
}

impl Generation {
    pub(crate) fn new(number: u32) -> Self {
        Self { rows: format!("rows.{number}"), parts: format!("parts.{number}"), index: format!("index.{number}") }
    }

    pub(crate) fn rows(&self) -> TableDefinition<'_, &'static StoredRowKey, Bytes> {
        TableDefinition::new(&self.rows)
    }

    pub(crate) fn parts(&self) -> TableDefinition<'_, &'static PartKey, Bytes> {
        TableDefinition::new(&self.parts)
    }

    pub(crate) fn index(&self) -> TableDefinition<'_, Bytes, Bytes> {
        TableDefinition::new(&self.index)
    }
}

pub(crate) fn part_key(row: &StoredRowKey, part: u8) -> PartKey {
    joined(&[row, &[part]])
}

pub(crate) fn frame_key(first: u64, part: u8) -> FrameKey {
    joined(&[&first.to_be_bytes(), &[part]])
}

pub(crate) fn span_key(stream: u64, seq: u64) -> SpanKey {
    joined(&[&stream.to_be_bytes(), &seq.to_be_bytes()])
}

pub(crate) fn key_key(stream: u64, key: &[u8; 16]) -> KeyKey {
    joined(&[&stream.to_be_bytes(), key])
}

/// The parts, one after the other; what is missing is zero.
pub(crate) fn joined<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut out = [0; N];
    for (place, byte) in out.iter_mut().zip(parts.iter().copied().flatten()) {
        *place = *byte;
    }
    out
}
