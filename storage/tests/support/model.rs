//! What a store must hold: the log as it was appended, and the rows of each state main may be in.

use std::collections::BTreeMap;
use turnstore_storage::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub stream: u64,
    pub seq: u64,
    pub bytes: Vec<u8>,
    pub end: Option<Option<([u8; 16], [u8; 16])>>,
}

/// Rows by (stream, kind, ordinal, version), index, and how far they go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub checkpoint: u64,
    pub marker: u64,
    pub rows: BTreeMap<(u64, u8, i64, u64), Vec<u8>>,
    pub index: BTreeMap<Vec<u8>, Vec<u8>>,
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The log; positions are places in it, from 1.
    pub events: Vec<Event>,
    /// Names of the streams, by number from 1, with the position that declared each.
    pub names: Vec<(String, u64)>,
    /// How many events were acknowledged as durable.
    pub durable: u64,
    /// How many events were acknowledged; the ones above are of an append without an answer.
    pub acknowledged: u64,
    /// What main holds for sure.
    pub kept: Kept,
    /// What main holds instead, if a commit without an answer got through.
    pub attempted: Option<Kept>,
}

pub type Check = Result<(), String>;

fn fail<T>(what: impl Into<String>) -> Result<T, String> {
    Err(what.into())
}

fn shown<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| format!("{error} ({error:?})"))
}

impl Model {
    pub fn last_seq(&self, stream: u64, up_to: u64) -> u64 {
        let events = &self.events[..up_to as usize];
        events.iter().rev().find(|event| event.stream == stream).map_or(0, |event| event.seq)
    }

    /// Compares a store just opened after a crash, and takes what survived as the truth from now on.
    pub fn settle(&mut self, opened: &Opened) -> Check {
        let reader = shown(opened.storage.reader())?;
        let head = self.settle_log(&reader)?;
        if opened.storage.head().map_or(0, Position::get) != head {
            return fail("the handle's head is not the log's");
        }
        if opened.storage.durable() != opened.storage.head() {
            return fail("what was read back is not counted durable");
        }
        self.settle_rows(&reader)?;
        let above: u64 = opened.tail.iter().map(|frame| u64::from(frame.count())).sum();
        if above != head - self.kept.checkpoint {
            return fail("the frames handed back are not those above the checkpoint");
        }
        self.names.retain(|(_, declared)| *declared <= head);
        let next = self.names.len() as u64 + 1;
        if opened.storage.next_stream().get() != next {
            return fail("the next stream's number is wrong");
        }
        self.check_keys(&reader)?;
        self.check_streams(&reader)?;
        let verified = shown(reader.verify())?;
        if verified != head {
            return fail("the chain is shorter than the log");
        }
        Ok(())
    }

    fn settle_log(&mut self, reader: &Reader) -> Result<u64, String> {
        let mut found = 0_usize;
        let mut ended = true;
        for frame in shown(reader.frames(Position::FIRST))? {
            for entry in shown(frame)?.entries() {
                let entry = shown(entry)?;
                let Some(event) = self.events.get(found) else {
                    return fail("an event that was never appended");
                };
                let end = entry.batch_end.map(|end| end.key.map(|(k, d)| (k.0, d.0)));
                let same = entry.position.get() == found as u64 + 1
                    && entry.stream.get() == event.stream
                    && entry.seq.get() == event.seq
                    && entry.bytes == event.bytes
                    && end == event.end;
                if !same {
                    return fail(format!("position {} holds another event", found + 1));
                }
                ended = event.end.is_some();
                found += 1;
            }
        }
        let found = found as u64;
        if found < self.durable {
            return fail(format!("{} durable events, {found} found", self.durable));
        }
        if !ended {
            return fail("the log ends inside a batch");
        }
        self.events.truncate(found as usize);
        (self.durable, self.acknowledged) = (found, found);
        Ok(found)
    }

    fn settle_rows(&mut self, reader: &Reader) -> Check {
        let marker = shown(reader.meta("marker"))?.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        if let Some(attempted) = self.attempted.take()
            && attempted.marker == marker
        {
            self.kept = attempted;
        }
        if self.kept.marker != marker {
            return fail(format!("main says {marker}, {} was kept", self.kept.marker));
        }
        self.check_rows(reader)
    }

    /// Rows and index are those of the checkpoint, all and no others.
    pub fn check_rows(&self, reader: &Reader) -> Check {
        let kept = &self.kept;
        if reader.checkpoint().map_or(0, Position::get) != kept.checkpoint {
            return fail("the checkpoint is not the one that the rows belong to");
        }
        let mut newest: BTreeMap<(u64, u8, i64), (u64, &Vec<u8>)> = BTreeMap::new();
        for ((stream, kind, ordinal, version), bytes) in &kept.rows {
            newest.insert((*stream, *kind, *ordinal), (*version, bytes));
        }
        let mut found = BTreeMap::new();
        for stream in 1..=self.names.len() as u64 {
            for kind in 0..2 {
                let number = Stream::new(stream).unwrap();
                let all = i64::MIN..=i64::MAX;
                let rows = reader.rows(number, 0, kind, all, None, Direction::Forward);
                for row in shown(rows)? {
                    let (ordinal, row) = shown(row)?;
                    found.insert((stream, kind, ordinal), (row.version.get(), row.bytes.to_vec()));
                }
            }
        }
        let wanted: BTreeMap<_, _> = newest.into_iter().map(|(key, (at, bytes))| (key, (at, bytes.clone()))).collect();
        if found != wanted {
            return fail(format!("{} rows, {} wanted, or other bytes", found.len(), wanted.len()));
        }
        for ((stream, kind, ordinal, version), bytes) in &kept.rows {
            let stream = Stream::new(*stream).unwrap();
            let key = RowKey { stream, epoch: 0, kind: *kind, ordinal: *ordinal };
            let row = shown(reader.row(&key, Position::new(*version)))?;
            if row.is_none_or(|row| row.bytes.as_slice() != bytes.as_slice()) {
                return fail("a past version of a row is gone");
            }
        }
        let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let index = shown(reader.index(all, Direction::Forward))?;
        let index: Result<BTreeMap<_, _>, _> = index.collect();
        if shown(index)? != kept.index {
            return fail("the index is not the checkpoint's");
        }
        Ok(())
    }

    fn check_keys(&self, reader: &Reader) -> Check {
        let mut first = 1;
        for (at, event) in self.events.iter().enumerate() {
            let last = at as u64 + 1;
            let Some(end) = &event.end else { continue };
            if let Some((key, digest)) = end {
                let stream = Stream::new(event.stream).unwrap();
                let found = shown(reader.key(stream, &BatchKey(*key)))?;
                let wanted =
                    KeyRecord { first: Position::new(first).unwrap(), last: Position::new(last).unwrap(), digest: BatchDigest(*digest) };
                // Above the checkpoint the key travels in the tail, which was compared already.
                if last <= self.kept.checkpoint && found != Some(wanted) {
                    return fail("an idempotency key does not answer");
                }
                if last > self.kept.checkpoint && found.is_some() {
                    return fail("an idempotency key answers for what main does not hold");
                }
            }
            first = last + 1;
        }
        Ok(())
    }

    fn check_streams(&self, reader: &Reader) -> Check {
        for (place, (name, declared)) in self.names.iter().enumerate() {
            let number = place as u64 + 1;
            let stream = Stream::new(number).unwrap();
            let held = *declared <= self.kept.checkpoint;
            let last = Seq::new(self.last_seq(number, self.kept.checkpoint));
            let wanted = held.then_some((stream, last));
            if shown(reader.stream(name))? != wanted {
                return fail(format!("stream {name} is not as it was at the checkpoint"));
            }
            let mut seqs = 0;
            for frame in shown(reader.frames_of(stream, Seq::FIRST))? {
                let frame = shown(frame)?;
                seqs += frame.streams().iter().filter(|span| span.stream == stream).map(|s| s.count).sum::<u32>();
            }
            if u64::from(seqs) != self.last_seq(number, self.events.len() as u64) {
                return fail(format!("the frames of stream {name} are not all found"));
            }
        }
        Ok(())
    }
}
