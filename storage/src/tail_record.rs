//! The bytes of the tail file: two header slots, then records.
//!
//! **Invariant:** every checksum is seeded with the file's own random id, so that nothing that an
//! event contains reads as a record, nor anything of another tail file.
//!
//! ```text
//! file   = slot, padded to a page | slot, padded to a page | records, zeros and remnants
//! slot   = magic 4 | format 4 | store id 16 | tail id 16 | generation 8 | crc32c 4
//! record = head (HEAD_BYTES) | frame as sealed | zeros up to a multiple of 8
//! head   = magic 4 | frame bytes 4 | generation 8 | synced through 8
//!        | crc32c of the frame 4 | crc32c of the head 4                     (little endian)
//! ```
//!
//! `synced through` is the last position known to survive a crash when the record was written. A
//! record that says so of a position which is not there any more proves damage.

use crate::bytes::Fields;
use crate::frame::{Frame, Header};
use crate::ids::{Position, StoreId};
use crate::state::TailId;
use crate::{Error, FORMAT};

pub(crate) const SLOT_BYTES: u64 = 4096;
/// Where the records of every generation begin.
pub(crate) const FRONT: u64 = 2 * SLOT_BYTES;
pub(crate) const HEAD_BYTES: usize = 32;
/// Records begin at multiples of it, so that looking for one need not try every byte.
pub(crate) const ALIGNMENT: usize = 8;
pub(crate) const RECORD_MAGIC: [u8; 4] = *b"tsRC";
const SLOT_MAGIC: [u8; 4] = *b"tsTL";
const SLOT_SEALED: usize = 48;

/// What a header slot says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TailHeader {
    pub(crate) store: StoreId,
    pub(crate) id: TailId,
    /// Rises with every rotation; records of another generation are remnants.
    pub(crate) generation: u64,
}

impl TailHeader {
    pub(crate) fn stored(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SLOT_SEALED + 4);
        out.extend_from_slice(&SLOT_MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&self.store.to_bytes());
        out.extend_from_slice(&self.id.0);
        out.extend_from_slice(&self.generation.to_le_bytes());
        let checksum = crc32c::crc32c(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// `None` is a slot that was never written, or whose bytes are damaged.
    pub(crate) fn parse(stored: &[u8]) -> Result<Option<Self>, Error> {
        let Some((sealed, rest)) = stored.split_at_checked(SLOT_SEALED) else { return Ok(None) };
        let mut fields = Fields(sealed);
        let whole = fields.array() == Some(SLOT_MAGIC) && Fields(rest).u32() == Some(crc32c::crc32c(sealed));
        if !whole {
            return Ok(None);
        }
        match fields.u32() {
            Some(FORMAT) => Ok(Self::fields(&mut fields)),
            found => Err(Error::Format { found: found.unwrap_or_default(), supported: FORMAT }),
        }
    }

    fn fields(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self { store: StoreId::from_bytes(fields.array()?), id: TailId(fields.array()?), generation: fields.u64()? })
    }
}

/// What a record says beside its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) generation: u64,
    pub(crate) synced: Option<Position>,
}

/// The head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) stamp: Stamp,
    pub(crate) frame_bytes: u32,
    pub(crate) frame_checksum: u32,
}

/// Where the checksums of a file's records begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed(u32);

impl Seed {
    pub(crate) fn of(id: TailId) -> Self {
        Self(crc32c::crc32c(&id.0))
    }
}

impl Head {
    fn stored(&self, seed: Seed) -> [u8; HEAD_BYTES] {
        let mut head = crate::tables::joined::<HEAD_BYTES>(&[
            &RECORD_MAGIC,
            &self.frame_bytes.to_le_bytes(),
            &self.stamp.generation.to_le_bytes(),
            &self.stamp.synced.map_or(0, Position::get).to_le_bytes(),
            &self.frame_checksum.to_le_bytes(),
        ]);
        if let Some((sealed, checksum)) = head.split_last_chunk_mut::<4>() {
            *checksum = crc32c::crc32c_append(seed.0, sealed).to_le_bytes();
        }
        head
    }

    /// `None` is anything but a whole head of this file.
    pub(crate) fn parse(stored: &[u8], seed: Seed) -> Option<Self> {
        let (sealed, checksum) = stored.get(..HEAD_BYTES)?.split_last_chunk::<4>()?;
        let mut fields = Fields(sealed);
        if fields.array()? != RECORD_MAGIC || crc32c::crc32c_append(seed.0, sealed) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let frame_bytes = fields.u32()?;
        let stamp = Stamp { generation: fields.u64()?, synced: Position::new(fields.u64()?) };
        Some(Self { stamp, frame_bytes, frame_checksum: fields.u32()? })
    }

    /// How many bytes the whole record takes.
    pub(crate) fn record_bytes(&self) -> u64 {
        padded(HEAD_BYTES + self.frame_bytes as usize) as u64
    }

    /// The header of the frame that follows the head in `record`, when the record is whole.
    pub(crate) fn frame_header(&self, record: &[u8]) -> Option<Header> {
        let sealed = record.get(HEAD_BYTES..)?.get(..self.frame_bytes as usize)?;
        let (covered, checksum) = sealed.split_last_chunk::<4>()?;
        let stated = u32::from_le_bytes(*checksum);
        if stated != self.frame_checksum || crc32c::crc32c(covered) != stated {
            return None;
        }
        Frame::header_of(sealed)
    }
}

fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}

/// How many bytes the record of this frame takes.
pub(crate) fn record_bytes(frame: &Frame) -> u64 {
    padded(HEAD_BYTES + frame.sealed_len()) as u64
}

/// Appends the record of a frame.
pub(crate) fn put_record(out: &mut Vec<u8>, seed: Seed, stamp: Stamp, frame: &Frame) {
    let at = out.len();
    out.resize(at + HEAD_BYTES, 0);
    let frame_checksum = frame.seal_into(out);
    let head = Head { stamp, frame_bytes: frame.sealed_len() as u32, frame_checksum };
    if let Some(place) = out.get_mut(at..).and_then(|record| record.first_chunk_mut()) {
        *place = head.stored(seed);
    }
    out.resize(at + padded(out.len() - at), 0);
}
