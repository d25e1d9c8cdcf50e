//! A random workload on a crashing disk, compared with the model after every crash.

use super::Dice;
use super::disk::{Crash, Disk, Kind, Lie};
use super::model::{Event, Kept, Model};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use turnstore_storage::*;

/// What the workload was at when the power went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Create,
    Open,
    Append,
    Sync,
    Checkpoint,
    RebuildFlush,
    RebuildSwitch,
    Close,
    Drop,
}

pub type Crossed = BTreeMap<(Step, Kind, Option<Which>), u64>;

pub struct Sim {
    pub disk: Disk,
    pub dice: Dice,
    pub model: Model,
    pub crossed: Crossed,
    pub crashes: u64,
    options: Options,
    step: Step,
    marker: u64,
    /// No event is shorter.
    least: u64,
}

/// Why a run stopped: the power went, or the store broke its promise.
pub enum Stop {
    Crash,
    Broken(String),
}

impl Sim {
    pub fn new(seed: u64, lie: Lie) -> Self {
        let disk = Disk::new(lie);
        let options = Options {
            medium: Some(Arc::new(disk.clone())),
            main_cache_bytes_max: 1 << 20,
            frame_bytes_max: 4096,
            tail_rotate_bytes_max: 14 << 10,
            compression_level: 1,
            ..Options::default()
        };
        Self {
            disk,
            dice: Dice::new(seed),
            model: Model::default(),
            crossed: Crossed::new(),
            crashes: 0,
            options,
            step: Step::Create,
            marker: 0,
            least: 0,
        }
    }

    pub fn options(&self) -> Options {
        self.options.clone()
    }

    /// An error is fine when the power is gone, and a broken promise otherwise.
    fn done<T>(&self, result: Result<T, Error>) -> Result<T, Stop> {
        result.map_err(|error| match self.disk.crashed() {
            Some(_) => Stop::Crash,
            None => Stop::Broken(format!("{:?} failed: {error:?}", self.step)),
        })
    }

    pub fn open(&mut self) -> Result<Storage, Stop> {
        let there = self.disk.exists(Which::Main).unwrap_or(false);
        self.step = if there { Step::Open } else { Step::Create };
        let opened = self.done(Storage::open(Path::new("simulated"), &self.options))?;
        self.model.settle(&opened).map_err(Stop::Broken)?;
        self.marker = self.model.kept.marker;
        Ok(opened.storage)
    }

    /// Notes where the power went, and brings it back.
    fn reboot(&mut self) {
        self.crashes += 1;
        let Crash { kind, which } = self.disk.crashed().unwrap();
        *self.crossed.entry((self.step, kind, which)).or_default() += 1;
        self.disk.reboot(&mut self.dice);
    }

    /// A short fixed life with everything in it, whose n-th change is the last; then a reboot, and
    /// the store must go on. False when the life has fewer changes.
    pub fn cut_at(&mut self, n: u64) -> Result<bool, String> {
        self.disk.crash_in(n);
        match self.short_life() {
            Ok(()) => return Ok(false),
            Err(Stop::Broken(what)) => return Err(what),
            Err(Stop::Crash) => self.reboot(),
        }
        let after = self.open().and_then(|storage| {
            self.append(&storage, Durability::Durable)?;
            self.close(storage)?;
            self.open()
        });
        match after {
            Ok(_) => Ok(true),
            Err(Stop::Broken(what)) => Err(what),
            Err(Stop::Crash) => Err("a crash without one".into()),
        }
    }

    fn short_life(&mut self) -> Result<(), Stop> {
        let storage = self.open()?;
        self.append(&storage, Durability::Durable)?;
        self.append(&storage, Durability::Buffered)?;
        self.sync(&storage)?;
        self.checkpoint(&storage)?;
        self.append(&storage, Durability::Durable)?;
        self.rebuild(&storage)?;
        self.rebuild(&storage)?;
        self.rotate(&storage)?;
        self.close(storage)?;
        let storage = self.open()?;
        self.append(&storage, Durability::Durable)?;
        self.step = Step::Drop;
        drop(storage);
        if self.disk.crashed().is_some() {
            return Err(Stop::Crash);
        }
        let storage = self.open()?;
        self.close(storage)
    }

    /// Appends so much that the tail goes back to its front, with something to take along.
    pub fn rotate(&mut self, storage: &Storage) -> Result<(), Stop> {
        self.least = 6000;
        self.append(storage, Durability::Durable)?;
        self.least = 0;
        self.checkpoint(storage)?;
        self.append(storage, Durability::Durable)?;
        self.append(storage, Durability::Buffered)?;
        self.append(storage, Durability::Durable)
    }

    /// A life in which the power goes at some step of the tail's way back to its front.
    pub fn cut_rotation(&mut self, kind: Kind) -> Result<(), String> {
        let stop = match self.rotation_until(kind) {
            Ok(_) => return Err(format!("no {kind:?}")),
            Err(stop) => stop,
        };
        if let Stop::Broken(what) = stop {
            return Err(what);
        }
        self.reboot();
        let after = self.open().and_then(|storage| {
            self.append(&storage, Durability::Durable)?;
            drop(storage);
            let storage = self.open()?;
            self.rotate(&storage)?;
            drop(storage);
            self.open()
        });
        match after {
            Ok(_) => Ok(()),
            Err(Stop::Broken(what)) => Err(what),
            Err(Stop::Crash) => Err("a crash without one".into()),
        }
    }

    fn rotation_until(&mut self, kind: Kind) -> Result<(), Stop> {
        let storage = self.open()?;
        for _ in 0..self.dice.below(4) {
            self.append(&storage, Durability::Durable)?;
        }
        if self.dice.one_in(2) {
            self.rotate(&storage)?;
        }
        self.disk.crash_on(kind);
        for _ in 0..20 {
            self.rotate(&storage)?;
        }
        Ok(())
    }

    /// One life of a store with so many crashes.
    pub fn live(&mut self, crashes: u64) -> Result<(), String> {
        while self.crashes < crashes {
            // One crash in three may come while the store is opened, the others at work.
            let opening = self.dice.one_in(3).then(|| self.dice.skewed(80));
            match self.run(opening) {
                Ok(()) => {}
                Err(Stop::Broken(what)) => return Err(what),
                Err(Stop::Crash) => self.reboot(),
            }
        }
        self.disk.crash_never();
        match self.open() {
            Ok(_) => Ok(()),
            Err(Stop::Broken(what)) => Err(what),
            Err(Stop::Crash) => Err("a crash without one".into()),
        }
    }

    /// Opens and works until the power goes, or some steps are done.
    fn run(&mut self, opening: Option<u64>) -> Result<(), Stop> {
        self.disk.crash_never();
        if let Some(ticks) = opening {
            self.disk.crash_in(ticks);
        }
        let mut storage = self.open()?;
        if opening.is_none() {
            let ticks = self.dice.skewed(300);
            self.disk.crash_in(ticks);
        }
        for _ in 0..40 {
            match self.dice.below(20) {
                0..=8 => self.append(&storage, Durability::Durable)?,
                9..=11 => self.append(&storage, Durability::Buffered)?,
                12 => self.sync(&storage)?,
                13..=16 => self.checkpoint(&storage)?,
                17 => self.rebuild(&storage)?,
                18 => {
                    self.close(storage)?;
                    storage = self.open()?;
                }
                _ => {
                    self.step = Step::Drop;
                    drop(storage);
                    if self.disk.crashed().is_some() {
                        return Err(Stop::Crash);
                    }
                    storage = self.open()?;
                }
            }
        }
        self.step = Step::Drop;
        drop(storage);
        if self.disk.crashed().is_some() { Err(Stop::Crash) } else { Ok(()) }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let most = if self.dice.one_in(12) { 20_000 } else { 600 };
        let length = self.dice.skewed(most).max(self.least);
        let seed = self.dice.draw().to_le_bytes();
        (0..length as usize).map(|at| seed[at % 8] ^ (at / 64) as u8).collect()
    }

    pub fn append(&mut self, storage: &Storage, durability: Durability) -> Result<(), Stop> {
        self.step = Step::Append;
        // What an earlier append without an answer left does not exist for this handle.
        let model = &mut self.model;
        model.events.truncate(model.acknowledged as usize);
        let mut frame = storage.begin_frame();
        for _ in 0..self.dice.skewed(3) {
            let count = self.dice.skewed(4);
            for number in 0..count {
                let streams = self.model.names.len() as u64;
                let stream = if streams == 0 || (streams < 6 && self.dice.one_in(6)) {
                    let name = format!("session {}", streams + 1);
                    let declared = Stream::new(streams + 1).unwrap();
                    let result = frame.declare(declared, &name);
                    self.done(result)?;
                    self.model.names.push((name, self.model.events.len() as u64 + 1));
                    streams + 1
                } else {
                    self.dice.below(streams) + 1
                };
                let seq = self.model.last_seq(stream, self.model.events.len() as u64) + 1;
                let bytes = self.bytes();
                let number_of = (Stream::new(stream).unwrap(), Seq::new(seq).unwrap());
                let pushed = frame.push(number_of.0, number_of.1, &bytes);
                self.done(pushed)?;
                let last = number + 1 == count;
                let end = last.then(|| {
                    self.dice.one_in(2).then(|| {
                        let mut key = [0; 16];
                        key[..8].copy_from_slice(&self.dice.draw().to_le_bytes());
                        (key, [self.dice.below(250) as u8; 16])
                    })
                });
                self.model.events.push(Event { stream, seq, bytes, end });
            }
            let key = self.model.events.last().unwrap().end.unwrap();
            frame.end_batch(key.map(|(key, digest)| (BatchKey(key), BatchDigest(digest))));
        }
        let result = storage.append(frame, durability);
        self.done(result)?;
        self.model.acknowledged = self.model.events.len() as u64;
        if durability == Durability::Durable {
            self.model.durable = self.model.acknowledged;
        }
        Ok(())
    }

    fn sync(&mut self, storage: &Storage) -> Result<(), Stop> {
        self.step = Step::Sync;
        self.done(storage.sync())?;
        self.model.durable = self.model.acknowledged;
        Ok(())
    }

    fn attempt(&mut self, up_to: u64) -> Kept {
        self.marker += 1;
        let mut kept = self.model.kept.clone();
        kept.checkpoint = up_to;
        kept.marker = self.marker;
        kept
    }

    fn attempted(&mut self, kept: Kept, result: Result<(), Error>) -> Result<(), Stop> {
        self.model.attempted = Some(kept);
        self.done(result)?;
        self.model.kept = self.model.attempted.take().unwrap();
        self.model.durable = self.model.durable.max(self.model.kept.checkpoint);
        Ok(())
    }

    pub fn checkpoint(&mut self, storage: &Storage) -> Result<(), Stop> {
        self.step = Step::Checkpoint;
        let Some(head) = storage.head() else { return Ok(()) };
        let begun = storage.begin_checkpoint(head);
        let mut checkpoint = self.done(begun)?;
        let mut kept = self.attempt(head.get());
        checkpoint.put_meta("marker", &self.marker.to_le_bytes());
        for _ in 0..self.dice.below(6) {
            let (row, bytes) = (self.row(head), self.bytes());
            checkpoint.put_row(&row, &bytes).unwrap();
            kept.rows.insert((row.stream.get(), row.kind, row.ordinal, head.get()), bytes);
        }
        if self.dice.one_in(4)
            && let Some((key, _)) = kept.rows.pop_first()
        {
            let stream = Stream::new(key.0).unwrap();
            let row = RowKey { stream, epoch: 0, kind: key.1, ordinal: key.2 };
            checkpoint.delete_row(&row, Position::new(key.3).unwrap());
        }
        for _ in 0..self.dice.below(4) {
            let key = vec![self.dice.below(9) as u8; self.dice.below(5) as usize];
            if self.dice.one_in(3) {
                checkpoint.delete_index(&key);
                kept.index.remove(&key);
            } else {
                let value = self.bytes();
                checkpoint.put_index(&key, &value).unwrap();
                kept.index.insert(key, value);
            }
        }
        if self.dice.one_in(3) {
            // Appends go on while a checkpoint is made.
            self.append(storage, Durability::Durable)?;
            self.step = Step::Checkpoint;
        }
        let result = checkpoint.commit();
        self.attempted(kept, result)?;
        Ok(())
    }

    /// Some row of a stream that was declared at or below `up_to`.
    fn row(&mut self, up_to: Position) -> RowKey {
        let declared = |(_, at): &&(String, u64)| *at <= up_to.get();
        let streams = self.model.names.iter().filter(declared).count() as u64;
        RowKey {
            stream: Stream::new(self.dice.below(streams) + 1).unwrap(),
            epoch: 0,
            kind: self.dice.below(2) as u8,
            ordinal: self.dice.below(9) as i64 - 4,
        }
    }

    fn rebuild(&mut self, storage: &Storage) -> Result<(), Stop> {
        let Some(covered) = storage.checkpoint() else { return Ok(()) };
        self.step = Step::RebuildFlush;
        let begun = storage.begin_rebuild();
        let mut rebuild = self.done(begun)?;
        let mut kept = self.attempt(covered.get());
        kept.rows.clear();
        kept.index.clear();
        for _ in 0..self.dice.below(8) {
            let (row, bytes) = (self.row(covered), self.bytes());
            let version = self.dice.below(covered.get()) + 1;
            rebuild.put_row(&row, Position::new(version).unwrap(), &bytes).unwrap();
            kept.rows.insert((row.stream.get(), row.kind, row.ordinal, version), bytes);
            if self.dice.one_in(3) {
                let flushed = rebuild.flush();
                self.done(flushed)?;
            }
        }
        if self.dice.one_in(4) {
            // Given up: what was flushed must stay unseen.
            self.marker -= 1;
            return Ok(());
        }
        rebuild.put_index(b"rebuilt", &self.marker.to_le_bytes()).unwrap();
        kept.index.insert(b"rebuilt".to_vec(), self.marker.to_le_bytes().to_vec());
        rebuild.put_meta("marker", &self.marker.to_le_bytes());
        self.step = Step::RebuildSwitch;
        let result = rebuild.finish(Some(covered));
        self.attempted(kept, result)
    }

    fn close(&mut self, storage: Storage) -> Result<(), Stop> {
        while storage.head() != storage.checkpoint() {
            self.checkpoint(&storage)?;
        }
        self.step = Step::Close;
        let result = storage.close();
        self.done(result)?;
        if self.disk.exists(Which::Tail).unwrap_or(false) {
            return Err(Stop::Broken("a closed store has a tail".into()));
        }
        Ok(())
    }
}
