//! The tail file, open for appending.
//!
//! **Invariant:** a frame is one write at the end, over bytes that the file has already; until the
//! next generation's header is durable nothing that is needed of this one is overwritten.
//!
//! A small commit costs one overwrite and one sync, with no metadata of the file system to flush:
//! the file grows ahead in steps of real zeros. When it is used up to `tail_rotate_bytes_max`, what
//! main does not hold yet is copied to the front under the next generation, the copy is synced, and
//! only then the other header slot names the new generation.

use crate::Error;
use crate::database::name;
use crate::frame::Frame;
use crate::ids::{Position, StoreId};
use crate::medium::Which;
use crate::state::TailId;
use crate::tail_record::{FRONT, HEAD_BYTES, SLOT_BYTES, Seed, Stamp, TailHeader, put_record, record_bytes};
use redb::{BackendError, StorageBackend};
use std::collections::VecDeque;
use std::ops::Bound;

/// A larger write buffer is not kept between appends.
const BUFFER_BYTES_MAX: usize = 1 << 20;
const GROWTH_BYTES_MAX: u64 = 1 << 20;

/// Where a frame is whose last position is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) last: Position,
    pub(crate) at: u64,
}

#[derive(Debug)]
pub(crate) struct TailFile {
    pub(crate) backend: Box<dyn StorageBackend>,
    pub(crate) header: TailHeader,
    /// Which slot holds `header`.
    pub(crate) slot: u64,
    /// Frames that main may not hold yet, contiguous up to `end`.
    pub(crate) marks: VecDeque<Mark>,
    pub(crate) end: u64,
    /// The length of the file.
    pub(crate) length: u64,
    rotate_bytes_max: u64,
    buffer: Vec<u8>,
}

impl Drop for TailFile {
    fn drop(&mut self) {
        // Gives back the lock; the bytes are where they are.
        let _ = self.backend.close();
    }
}

/// Takes the file for writing. The lock of main decides; this one tells those who only read that
/// the tail is in use.
pub(crate) fn lock(backend: &dyn StorageBackend) -> Result<(), Error> {
    match backend.try_lock_range(Bound::Unbounded, Bound::Unbounded) {
        Ok(true) | Err(BackendError::Unsupported) => Ok(()),
        Ok(false) => Err(Error::Locked),
        Err(error) => Err(Error::Io(std::io::Error::from(error))),
    }
}

/// In what steps a file grows that rotates at this size.
fn growth(rotate_bytes_max: u64) -> u64 {
    (rotate_bytes_max / 4).clamp(SLOT_BYTES, GROWTH_BYTES_MAX)
}

impl TailFile {
    /// The file as it was found.
    pub(crate) fn found(backend: Box<dyn StorageBackend>, header: TailHeader, slot: u64, rotate_bytes_max: u64) -> Result<Self, Error> {
        let length = backend.len()?;
        Ok(Self { backend, header, slot, marks: VecDeque::new(), end: FRONT, length, rotate_bytes_max, buffer: Vec::new() })
    }

    /// Makes a new, empty file durable. Its directory entry is the caller's to sync.
    pub(crate) fn create(backend: Box<dyn StorageBackend>, store: StoreId, id: TailId, rotate_bytes_max: u64) -> Result<Self, Error> {
        let header = TailHeader { store, id, generation: 1 };
        let mut first = header.stored();
        first.resize((FRONT + growth(rotate_bytes_max) / 4) as usize, 0);
        backend.set_len(first.len() as u64)?;
        backend.write(0, &first)?;
        backend.sync_data()?;
        Self::found(backend, header, 0, rotate_bytes_max)
    }

    /// Appends the frame in one write. Nothing is durable before [`TailFile::sync`].
    ///
    /// An error may have left part of the record, or all of it.
    pub(crate) fn append(&mut self, frame: &Frame, synced: Option<Position>) -> std::io::Result<()> {
        let stamp = Stamp { generation: self.header.generation, synced };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        put_record(&mut buffer, Seed::of(self.header.id), stamp, frame);
        self.backend.write(self.end, &buffer)?;
        self.marks.push_back(Mark { last: frame.last(), at: self.end });
        self.end += buffer.len() as u64;
        if buffer.capacity() <= BUFFER_BYTES_MAX {
            self.buffer = buffer;
        }
        Ok(())
    }

    pub(crate) fn sync(&self) -> std::io::Result<()> {
        self.backend.sync_data()
    }

    /// Grows the file so that the frame has a place.
    pub(crate) fn reserve(&mut self, frame: &Frame) -> Result<(), Error> {
        let wanted = self.end + record_bytes(frame);
        if wanted > self.length {
            self.grow(wanted.next_multiple_of(growth(self.rotate_bytes_max)))?;
        }
        Ok(())
    }

    /// Writes zeros up to `length`: bytes that the disk has set aside, which a commit then only
    /// overwrites. So a full disk shows here, before anything of the frame is written.
    fn grow(&mut self, length: u64) -> Result<(), Error> {
        let step = growth(self.rotate_bytes_max);
        let zeros = vec![0; step.min(length.saturating_sub(self.length)) as usize];
        self.backend.set_len(length)?;
        while self.length < length {
            let bytes = step.min(length - self.length);
            self.backend.write(self.length, zeros.get(..bytes as usize).unwrap_or(&zeros))?;
            self.length += bytes;
        }
        Ok(())
    }

    /// Whether it is time to begin again at the front, and there is room for what is needed.
    pub(crate) fn wants_rotation(&mut self, checkpoint: Option<Position>) -> bool {
        if self.end < self.rotate_bytes_max {
            return false;
        }
        while self.marks.front().is_some_and(|mark| Some(mark.last) <= checkpoint) {
            self.marks.pop_front();
        }
        let oldest = self.marks.front().map_or(self.end, |mark| mark.at);
        let needed = self.end - oldest;
        // Cheap when little is needed, as just after a checkpoint; waiting for that ends somewhere.
        let now = needed <= self.rotate_bytes_max / 4 || self.end >= self.rotate_bytes_max * 2;
        now && FRONT + needed <= oldest
    }

    /// Begins the next generation at the front with these frames, which are all that is needed and
    /// are durable already. Whenever it ends half-way, one of the two generations is whole.
    pub(crate) fn rotate<'f>(&mut self, frames: impl Iterator<Item = &'f Frame>, synced: Option<Position>) -> Result<(), Error> {
        let header = TailHeader { generation: self.header.generation + 1, ..self.header };
        let stamp = Stamp { generation: header.generation, synced };
        let (mut copy, mut marks) = (Vec::new(), VecDeque::new());
        for frame in frames {
            marks.push_back(Mark { last: frame.last(), at: FRONT + copy.len() as u64 });
            put_record(&mut copy, Seed::of(header.id), stamp, frame);
        }
        let end = FRONT + copy.len() as u64;
        if end > self.marks.front().map_or(self.end, |mark| mark.at) {
            return Err(Error::corrupt(name(Which::Tail), "", "the frames needed are more than were written"));
        }
        if !copy.is_empty() {
            self.backend.write(FRONT, &copy)?;
            self.sync()?;
        }
        let slot = 1 - self.slot;
        self.backend.write(slot * SLOT_BYTES, &header.stored())?;
        self.sync()?;
        (self.header, self.slot, self.marks, self.end) = (header, slot, marks, end);
        self.shrink()
    }

    /// Gives back what a burst took.
    fn shrink(&mut self) -> Result<(), Error> {
        let length = self.end.max(self.rotate_bytes_max).next_multiple_of(growth(self.rotate_bytes_max));
        if self.length > length.saturating_mul(4) {
            self.backend.set_len(length)?;
            self.length = length;
        }
        Ok(())
    }

    /// Makes durable that the log ends at `end`: writes the header and everything from `from` on once
    /// more, the same bytes, wipes out the remnants, and syncs.
    ///
    /// After a sync that failed, what can be read need not be on the disk, and only a write puts it
    /// there. A remnant that stayed could one day follow a frame written anew with the same bytes.
    pub(crate) fn settle(&mut self, from: u64, remnants: &[u64]) -> Result<(), Error> {
        let mut at = from;
        while at < self.end {
            let mut bytes = vec![0; (self.end - at).min(BUFFER_BYTES_MAX as u64) as usize];
            self.backend.read(at, &mut bytes)?;
            self.backend.write(at, &bytes)?;
            at += bytes.len() as u64;
        }
        for remnant in remnants {
            self.backend.write(*remnant, &[0; HEAD_BYTES])?;
        }
        self.backend.write(self.slot * SLOT_BYTES, &self.header.stored())?;
        self.sync()?;
        Ok(())
    }
}
