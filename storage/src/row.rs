//! Keys of rows and how a row's bytes are stored.
//!
//! **Invariant:** stored keys sort as `(stream, epoch, kind, ordinal, version)`; the checksum of a
//! row covers its key, so a row found in another place is damage.
//!
//! ```text
//! key   = stream 8 | epoch 4 | kind 1 | ordinal 8, sign flipped | version 8      (big endian)
//! value = codec 1 | crc32c 4 | raw length 4 | payload                            (little endian)
//! ```

use crate::Error;
use crate::bytes::Fields;
use crate::ids::{Position, Stream};
use crate::tables::{StoredRowKey, joined};
use rkyv::util::AlignedVec;
use std::cell::RefCell;
use zstd::bulk::{Compressor, Decompressor};

const CODEC_PLAIN: u8 = 0;
const CODEC_ZSTD: u8 = 2;
/// Effort of compression of rows: they are written often and read at once.
const ZSTD_LEVEL: i32 = 1;
/// Shorter rows are stored as they are: compression would save less than it costs.
const PACKED_BYTES_MIN: usize = 96;
const HEAD_BYTES: usize = 9;
/// No stored length is trusted beyond this.
const ROW_BYTES_READ_MAX: usize = 1 << 30;

/// What a row is of. Its versions are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// The stream.
    pub stream: Stream,
    /// Which history of the stream.
    pub epoch: u32,
    /// What kind of row, as the engine numbers them.
    pub kind: u8,
    /// Its place among the rows of that kind, with gaps and below zero as the engine likes.
    pub ordinal: i64,
}

impl RowKey {
    pub(crate) fn stored(&self, version: u64) -> StoredRowKey {
        joined(&[
            &self.stream.get().to_be_bytes(),
            &self.epoch.to_be_bytes(),
            &[self.kind],
            &flipped(self.ordinal).to_be_bytes(),
            &version.to_be_bytes(),
        ])
    }

    pub(crate) fn with_ordinal(self, ordinal: i64) -> Self {
        Self { ordinal, ..self }
    }
}

fn flipped(ordinal: i64) -> u64 {
    (ordinal as u64) ^ (1 << 63)
}

/// The ordinal and the version in a stored key.
pub(crate) fn place(key: &StoredRowKey) -> Option<(i64, Position)> {
    let mut fields = Fields(key.get(13..)?);
    let ordinal = u64::from_be_bytes(fields.array()?) ^ (1 << 63);
    Some((ordinal as i64, Position::new(u64::from_be_bytes(fields.array()?))?))
}

/// A row as it was put, in memory aligned for reading it in place.
#[derive(Debug, Clone)]
pub struct Row {
    /// The checkpoint that wrote it.
    pub version: Position,
    /// Its bytes, checked.
    pub bytes: AlignedVec,
}

/// The stored value of `raw` under `key`; compressed when an eighth is saved.
pub(crate) fn encode(key: &StoredRowKey, raw: &[u8]) -> Vec<u8> {
    // A row that does not compress, for whatever reason, is stored as it is.
    let packed = if raw.len() < PACKED_BYTES_MIN { None } else { packed(raw) };
    let packed = packed.filter(|packed| packed.len() + raw.len() / 8 < raw.len());
    let (codec, payload) = packed.as_deref().map_or((CODEC_PLAIN, raw), |packed| (CODEC_ZSTD, packed));
    let length = (raw.len() as u32).to_le_bytes();
    let mut out = Vec::with_capacity(HEAD_BYTES + payload.len());
    out.push(codec);
    out.extend_from_slice(&checksum(key, codec, length, payload).to_le_bytes());
    out.extend_from_slice(&length);
    out.extend_from_slice(payload);
    out
}

thread_local! {
    // A context is far larger than a row: making one for each would cost more than the work itself.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn packed(raw: &[u8]) -> Option<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = Compressor::new(ZSTD_LEVEL).ok();
        }
        slot.as_mut()?.compress(raw).ok()
    })
}

fn unpacked(payload: &[u8], out: &mut AlignedVec) -> std::io::Result<usize> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new()?),
        };
        decompressor.decompress_to_buffer(payload, out.as_mut_slice())
    })
}

fn checksum(key: &StoredRowKey, codec: u8, length: [u8; 4], payload: &[u8]) -> u32 {
    let seed = crc32c::crc32c(key);
    let head = crc32c::crc32c_append(seed, &[codec]);
    crc32c::crc32c_append(crc32c::crc32c_append(head, &length), payload)
}

/// The row stored under `key`.
pub(crate) fn decode(key: &StoredRowKey, stored: &[u8]) -> Result<Row, Error> {
    let damaged = |what: &str| Error::corrupt("rows", Hex(key), what);
    let mut fields = Fields(stored);
    let mut head = || Some((fields.u8()?, fields.u32()?, fields.array::<4>()?, fields.0));
    let (codec, expected, length, payload) = head().ok_or_else(|| damaged("cut short"))?;
    if checksum(key, codec, length, payload) != expected {
        return Err(damaged("the checksum does not match"));
    }
    let (_, version) = place(key).ok_or_else(|| damaged("a version of zero"))?;
    let length = u32::from_le_bytes(length) as usize;
    if length > ROW_BYTES_READ_MAX {
        return Err(damaged("a length beyond every limit"));
    }
    let mut bytes = AlignedVec::with_capacity(length);
    match codec {
        CODEC_PLAIN => bytes.extend_from_slice(payload),
        CODEC_ZSTD => {
            bytes.resize(length, 0);
            let written = unpacked(payload, &mut bytes).map_err(|error| damaged(&error.to_string()))?;
            bytes.resize(written, 0);
        }
        _ => return Err(damaged("an unknown codec")),
    }
    if bytes.len() != length {
        return Err(damaged("the length does not match"));
    }
    Ok(Row { version, bytes })
}

/// A stored key as text, for reports of damage.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(ordinal: i64) -> RowKey {
        RowKey { stream: Stream::FIRST, epoch: 1, kind: 2, ordinal }
    }

    proptest! {
        #[test]
        fn stored_keys_sort_as_ordinal_then_version(a: i64, b: i64, v in 1_u64.., w in 1_u64..) {
            let order = (a, v).cmp(&(b, w));
            prop_assert_eq!(key(a).stored(v).cmp(&key(b).stored(w)), order);
            prop_assert_eq!(place(&key(a).stored(v)), Position::new(v).map(|v| (a, v)));
        }

        #[test]
        fn rows_round_trip_and_any_flipped_bit_is_damage(
            raw in proptest::collection::vec(0_u8..4, 0..300), bit in 0_usize..2000,
        ) {
            let key = key(5).stored(9);
            let mut stored = encode(&key, &raw);
            let row = decode(&key, &stored).unwrap();
            prop_assert_eq!(row.bytes.as_slice(), raw.as_slice());
            let bit = bit % (stored.len() * 8);
            stored[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(matches!(decode(&key, &stored), Err(Error::Corrupt(_))));
        }
    }

    #[test]
    fn a_row_moved_to_another_key_is_damage() {
        let stored = encode(&key(5).stored(9), b"some row");
        assert!(matches!(decode(&key(6).stored(9), &stored), Err(Error::Corrupt(_))));
    }
}
