//! Reading a tail file that a writer left.
//!
//! **Invariant:** the log ends at the first record that does not continue it, unless something in
//! the file proves that more was acknowledged: then it is damage, never a shorter history.
//!
//! A record continues the log when it is whole and of the header's generation, and positions and
//! links join. So neither half a record, nor zeros, nor what an earlier generation left at that
//! place is taken for the log. Two things prove that more was there: a later record that calls the
//! missing position synced, and a record of a generation whose header is gone. Whole records past
//! the end that prove nothing are remnants of what was never acknowledged; opening wipes them out.

use crate::Error;
use crate::frame::{Frame, Header};
use crate::ids::Position;
use crate::link::Link;
use crate::state::State;
use crate::tail::Mark;
use crate::tail_record::{ALIGNMENT, FRONT, HEAD_BYTES, Head, RECORD_MAGIC, SLOT_BYTES, Seed, TailHeader};
use redb::StorageBackend;
use std::collections::VecDeque;

const WINDOW_BYTES: u64 = 1 << 20;

/// The newest header and its slot; `None` when no slot holds one.
pub(crate) fn newest_header(backend: &dyn StorageBackend) -> Result<Option<(TailHeader, u64)>, Error> {
    let length = backend.len()?;
    let mut newest: Option<(TailHeader, u64)> = None;
    for slot in 0..2 {
        let mut stored = [0; 64];
        if slot * SLOT_BYTES + stored.len() as u64 > length {
            break;
        }
        backend.read(slot * SLOT_BYTES, &mut stored)?;
        if let Some(header) = TailHeader::parse(&stored)?
            && newest.is_none_or(|(newest, _)| newest.generation < header.generation)
        {
            newest = Some((header, slot));
        }
    }
    Ok(newest)
}

/// A whole record.
#[derive(Clone, Copy, Debug)]
struct Record {
    at: u64,
    head: Head,
    frame: Header,
}

impl Record {
    fn end(&self) -> u64 {
        self.at + self.head.record_bytes()
    }
}

/// A view of a file that moves over it.
struct Window<'b> {
    backend: &'b dyn StorageBackend,
    length: u64,
    seed: Seed,
    at: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// Everything in view from `at` on, at least `count` bytes; `None` past the end of the file.
    fn view(&mut self, at: u64, count: u64) -> Result<Option<&[u8]>, Error> {
        if at.checked_add(count).is_none_or(|end| end > self.length) {
            return Ok(None);
        }
        let inside = at >= self.at && at + count <= self.at + self.bytes.len() as u64;
        if !inside {
            let wanted = count.max(WINDOW_BYTES.min(self.length - at));
            self.bytes.clear();
            self.bytes.resize(wanted as usize, 0);
            self.at = at;
            self.backend.read(at, &mut self.bytes)?;
        }
        Ok(self.bytes.get((at - self.at) as usize..))
    }

    fn record(&mut self, at: u64) -> Result<Option<Record>, Error> {
        let seed = self.seed;
        let Some(head) = self.view(at, HEAD_BYTES as u64)?.and_then(|bytes| Head::parse(bytes, seed)) else { return Ok(None) };
        let whole = HEAD_BYTES as u64 + u64::from(head.frame_bytes);
        let frame = self.view(at, whole)?.and_then(|bytes| head.frame_header(bytes));
        Ok(frame.map(|frame| Record { at, head, frame }))
    }

    /// The frame of a record, decoded.
    fn frame(&mut self, record: &Record, header: &TailHeader) -> Result<Frame, Error> {
        let sealed = u64::from(record.head.frame_bytes);
        let bytes = self.view(record.at + HEAD_BYTES as u64, sealed)?.and_then(|bytes| bytes.get(..sealed as usize));
        Frame::decode(header.store, record.frame.first, bytes.unwrap_or_default())
    }

    /// The first place at or after `at` where a record may begin.
    fn candidate(&mut self, mut at: u64) -> Result<Option<u64>, Error> {
        while let Some(bytes) = self.view(at, HEAD_BYTES as u64)? {
            let places = bytes.chunks_exact(ALIGNMENT);
            let looked = places.len() as u64;
            match places.into_iter().position(|place| place.starts_with(&RECORD_MAGIC)) {
                Some(place) => return Ok(Some(at + (place * ALIGNMENT) as u64)),
                None => at += looked * ALIGNMENT as u64,
            }
        }
        Ok(None)
    }

    /// The first whole record from `at` on that is `wanted`.
    fn find(&mut self, mut at: u64, wanted: impl Fn(&Record) -> bool) -> Result<Option<Record>, Error> {
        while let Some(place) = self.candidate(at)? {
            at = match self.record(place)? {
                Some(record) if wanted(&record) => return Ok(Some(record)),
                Some(record) => record.end(),
                None => place + ALIGNMENT as u64,
            };
        }
        Ok(None)
    }
}

/// A walk along the records of one generation.
struct Walk<'b> {
    window: Window<'b>,
    header: TailHeader,
    at: u64,
    /// What the next record must continue; `None` at the start.
    joint: Option<(Position, Link)>,
    /// Whether it passed over something that is no record of this generation.
    jumped: bool,
}

impl<'b> Walk<'b> {
    fn new(backend: &'b dyn StorageBackend, header: TailHeader) -> Result<Self, Error> {
        let window = Window { backend, length: backend.len()?, seed: Seed::of(header.id), at: 0, bytes: Vec::new() };
        Ok(Self { window, header, at: FRONT, joint: None, jumped: false })
    }

    fn continues(&self, record: &Record) -> bool {
        let joins = self.joint.is_none_or(|(next, link)| record.frame.first == next && record.frame.before == link);
        record.head.stamp.generation == self.header.generation && joins
    }

    fn step(&mut self) -> Result<Option<Record>, Error> {
        let record = self.window.record(self.at)?.filter(|record| self.continues(record));
        if let Some(record) = &record {
            self.take(record);
        }
        Ok(record)
    }

    fn take(&mut self, record: &Record) {
        self.at = record.end();
        self.joint = Some((record.frame.last().next(), record.frame.after));
    }

    /// Past damage to what main holds anyway: on to the record that continues main, if there is one.
    fn resume(&mut self, state: &State) -> Result<Option<Record>, Error> {
        let needed = Position::after(state.checkpoint);
        if self.joint.is_some_and(|(next, _)| next >= needed) {
            return Ok(None);
        }
        let generation = self.header.generation;
        let continues_main = |record: &Record| {
            record.head.stamp.generation == generation && record.frame.first == needed && record.frame.before == state.link
        };
        let record = self.window.find(self.at, continues_main)?;
        if let Some(record) = &record {
            self.jumped = true;
            self.take(record);
        }
        Ok(record)
    }

    /// Where whole records of this generation are past the end of the walk, none of which may prove
    /// that the log went on to `next`: `None` when something does.
    fn remnants(&mut self, next: Position) -> Result<Option<Vec<u64>>, Error> {
        let (ours, end) = (self.header.generation, self.at);
        let mut remnants = Vec::new();
        let mut at = if self.jumped { FRONT } else { end };
        while let Some(record) = self.window.find(at, |_| true)? {
            let stamp = &record.head.stamp;
            let synced = stamp.generation == ours && stamp.synced >= Some(next);
            if synced || (stamp.generation > ours && record.frame.first >= next) {
                return Ok(None);
            }
            if stamp.generation == ours && record.at >= end {
                remnants.push(record.at);
            }
            at = record.end();
        }
        Ok(Some(remnants))
    }
}

/// Whether the file holds anything above the checkpoint, or says that there was something.
pub(crate) fn goes_beyond(backend: &dyn StorageBackend, header: TailHeader, checkpoint: Option<Position>) -> Result<bool, Error> {
    let mut walk = Walk::new(backend, header)?;
    while walk.step()?.is_some() {}
    let last = walk.joint.and_then(|(next, _)| next.previous());
    Ok(last > checkpoint || walk.window.find(FRONT, |record| record.head.stamp.synced > checkpoint)?.is_some())
}

/// What a tail file holds.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The frames above the checkpoint, in order.
    pub(crate) frames: Vec<Frame>,
    pub(crate) marks: VecDeque<Mark>,
    /// Where the next record goes.
    pub(crate) end: u64,
    /// From where on nothing says that it was synced.
    pub(crate) unsynced_at: u64,
    /// Whole records past the end, which were never acknowledged.
    pub(crate) remnants: Vec<u64>,
}

/// Reads everything above the checkpoint.
pub(crate) fn scan(backend: &dyn StorageBackend, header: TailHeader, state: &State) -> Result<Scan, Error> {
    let mut walk = Walk::new(backend, header)?;
    let mut next = Position::after(state.checkpoint);
    let mut scan = Scan { frames: Vec::new(), marks: VecDeque::new(), end: 0, unsynced_at: 0, remnants: Vec::new() };
    let mut synced = None;
    loop {
        let step = walk.step()?;
        let Some(record) = (match step {
            Some(record) => Some(record),
            None => walk.resume(state)?,
        }) else {
            break;
        };
        synced = synced.max(record.head.stamp.synced);
        if Some(record.frame.last()) <= state.checkpoint {
            continue;
        }
        let broken = |what| Error::TailBroken { checkpoint: state.checkpoint, at: next, what };
        if record.frame.first != next {
            return Err(broken("positions do not join"));
        }
        if scan.frames.is_empty() && record.frame.before != state.link {
            return Err(broken("links do not join"));
        }
        scan.frames.push(walk.window.frame(&record, &header)?);
        scan.marks.push_back(Mark { last: record.frame.last(), at: record.at });
        next = record.frame.last().next();
    }
    let what = "events that were acknowledged are damaged";
    scan.remnants = walk.remnants(next)?.ok_or(Error::TailBroken { checkpoint: state.checkpoint, at: next, what })?;
    scan.end = walk.at;
    let unsynced = scan.marks.iter().find(|mark| Some(mark.last) > synced);
    scan.unsynced_at = unsynced.map_or(scan.end, |mark| mark.at);
    Ok(scan)
}
