//! Rows made anew from the log.
//!
//! **Invariant:** the new rows are a generation of their own until one commit switches to them: a crash at any moment keeps the old ones.
//! Memory is bounded by what was folded since the last flush, in events and in bytes, not by the store.
//!
//! ```text
//! frames, read and unpacked --> folded --> frozen sessions, archived, packed and written      (a thread each)
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use rkyv::util::AlignedVec;
use turnstore_storage::{Frame, Position, Reader, Rebuild, RowKey, Storage, Stream};

use crate::checkpointer::{Done, Job, LAYOUT, SEMANTICS, Sink, write_session};
use crate::error::Error;
use crate::event;
use crate::gate::{Gate, Passage};
use crate::limits::Limits;
use crate::options::Options;
use crate::state::{LAYOUT_FINGERPRINT, SEMANTICS_FINGERPRINT};
use crate::writer::desk::{Desk, Source};

/// Frames that wait between the thread that reads them and the one that folds; and their bytes.
const FRAMES_AHEAD: usize = 16;
const FRAMES_AHEAD_BYTES_MAX: usize = 8 << 20;

/// What a rebuild did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Events folded.
    pub events: u64,
    /// Sessions whose rows were written.
    pub sessions: u64,
}

/// Folds everything again when the rows were written by a build with another layout or another reducer.
pub(crate) fn when_rows_are_of_another_build(storage: &Storage, limits: &Limits) -> Result<(), Error> {
    let same = |name: &str, own: u64| -> Result<bool, Error> { Ok(storage.meta(name)?.is_none_or(|bytes| bytes == own.to_le_bytes())) };
    if same(LAYOUT, LAYOUT_FINGERPRINT)? && same(SEMANTICS, SEMANTICS_FINGERPRINT)? {
        return Ok(());
    }
    rebuild(storage, limits, &mut |_| {}).map(|_| ())
}

/// Makes every row of the store at `path` anew from its log. The store must not be open elsewhere.
///
/// Cost: a read and a fold of the whole log, bounded memory. A crash at any moment keeps the old rows. `progress` hears the number of
/// events folded so far. Errors: those of opening; `Event` where the log itself is damaged.
pub fn rebuild_at(path: &Path, options: Options, progress: &mut dyn FnMut(u64)) -> Result<Rebuilt, Error> {
    options.clone().open(path)?.close()?;
    let opened = Storage::open(path, &options.storage)?;
    let rebuilt = rebuild(&opened.storage, &options.limits, progress)?;
    opened.storage.close()?;
    Ok(rebuilt)
}

/// Folds every session from position 1 up to the checkpoint, writes its rows as a new generation, and switches to it. `progress` hears
/// the number of events folded so far.
pub(crate) fn rebuild(storage: &Storage, limits: &Limits, progress: &mut dyn FnMut(u64)) -> Result<Rebuilt, Error> {
    let mut generation = storage.begin_rebuild()?;
    let Some(target) = generation.target() else { return Ok(Rebuilt::default()) };
    let names = storage.reader()?.streams()?.into_iter().map(|(stream, name, _)| (stream, Arc::from(name))).collect();
    let shared = Mutex::new(&mut generation);
    let rebuilt = std::thread::scope(|scope| {
        let (frames, ahead) = bounded(FRAMES_AHEAD);
        let (jobs, frozen) = bounded(1);
        let (outcomes, written) = bounded(1);
        let reader = storage.reader()?;
        scope.spawn(move || send_frames(&reader, target, &frames));
        let rows = &shared;
        scope.spawn(move || write_jobs(rows, limits, &frozen, &outcomes));
        let mut folding = Folding {
            generation: &shared,
            limits,
            names,
            desks: BTreeMap::new(),
            jobs,
            written,
            writing: false,
            unsaved: 0,
            unsaved_bytes: 0,
            rebuilt: Rebuilt::default(),
            at: None,
        };
        for ahead in ahead {
            let (frame, _passage) = ahead?;
            folding.frame(&frame)?;
            progress(folding.rebuilt.events);
        }
        folding.flush()?;
        folding.settle()?;
        Ok::<_, Error>(folding.rebuilt)
    })?;
    generation.put_meta(LAYOUT, &LAYOUT_FINGERPRINT.to_le_bytes());
    generation.put_meta(SEMANTICS, &SEMANTICS_FINGERPRINT.to_le_bytes());
    generation.finish(Some(target))?;
    Ok(rebuilt)
}

fn send_frames(reader: &Reader, target: Position, frames: &Sender<Result<(Frame, Passage), Error>>) {
    let gate = Gate::new(FRAMES_AHEAD_BYTES_MAX);
    let all = match reader.frames(Position::FIRST) {
        Ok(all) => all,
        Err(error) => {
            // A receiver that is gone has its own error already.
            let _ = frames.send(Err(error.into()));
            return;
        }
    };
    for frame in all {
        let frame = frame.map_err(Error::from);
        let last = frame.as_ref().map_or(true, |frame| frame.last() >= target);
        let ahead = frame.map(|frame| {
            let passage = gate.pass(frame.body_bytes());
            (frame, passage)
        });
        if frames.send(ahead).is_err() || last {
            return;
        }
    }
}

/// Writes what was frozen, while more is folded.
fn write_jobs(rows: &Rows<'_, '_>, limits: &Limits, jobs: &Receiver<Job>, outcomes: &Sender<Result<Done, Error>>) {
    for job in jobs {
        let outcome = write_job(rows, limits, &job);
        if outcomes.send(outcome).is_err() {
            return;
        }
    }
}

fn write_job(rows: &Rows<'_, '_>, limits: &Limits, job: &Job) -> Result<Done, Error> {
    let mut sessions = Vec::with_capacity(job.sessions.len());
    for frozen in &job.sessions {
        let placed = write_session(&mut Locked(rows), frozen, job.up_to, limits, 0)?;
        sessions.push((frozen.stream, placed, frozen.state.header().last_seq));
    }
    let mut generation = rows.lock();
    if generation.buffered_bytes() > limits.commit_bytes_soft_max {
        generation.flush()?;
    }
    Ok(Done { up_to: job.up_to, sessions })
}

/// The new generation, which one thread writes and another reads.
type Rows<'g, 's> = Mutex<&'g mut Rebuild<'s>>;

struct Folding<'r, 'g, 's> {
    generation: &'r Rows<'g, 's>,
    limits: &'r Limits,
    names: BTreeMap<Stream, Arc<str>>,
    desks: BTreeMap<Stream, Desk>,
    jobs: Sender<Job>,
    written: Receiver<Result<Done, Error>>,
    /// A job is under way.
    writing: bool,
    unsaved: u64,
    /// Their bytes.
    unsaved_bytes: u64,
    rebuilt: Rebuilt,
    /// The last batch end.
    at: Option<Position>,
}

impl Folding<'_, '_, '_> {
    fn frame(&mut self, frame: &Frame) -> Result<(), Error> {
        for entry in frame.entries() {
            let entry = entry?;
            let event = event::decode(entry.position, entry.stream, entry.seq, entry.bytes)
                .map_err(|source| Error::Event { position: entry.position, source })?;
            self.bring(entry.stream, entry.seq.get())?;
            let Some(desk) = self.desks.get_mut(&entry.stream) else { continue };
            desk.fold(&mut Locked(self.generation), &event)?.map_err(|source| Error::Row { session: desk.name.to_string(), source })?;
            desk.sources.remember(&event, 0);
            self.rebuilt.events += 1;
            self.unsaved += 1;
            self.unsaved_bytes += entry.bytes.len() as u64;
            if entry.batch_end.is_some() {
                self.at = Some(entry.position);
                if self.unsaved >= self.limits.checkpoint_events_max || self.unsaved_bytes >= self.limits.tail_bytes_hard_max {
                    self.flush()?;
                }
            }
        }
        Ok(())
    }

    /// Brings a session to memory: new at its first event, else as it was last flushed.
    fn bring(&mut self, stream: Stream, seq: u64) -> Result<(), Error> {
        if self.desks.contains_key(&stream) {
            return Ok(());
        }
        let name = self.names.get(&stream).cloned().unwrap_or_else(|| Arc::from(""));
        let desk = if seq == 1 {
            self.rebuilt.sessions += 1;
            Desk::new(name, stream)
        } else {
            let lost = || crate::state::BadRow::new(crate::state::RowRef::HEADER, "missing");
            Desk::load(&mut Locked(self.generation), name.clone(), stream, seq - 1, 0)?
                .ok_or_else(|| Error::Row { session: name.to_string(), source: lost() })?
        };
        self.desks.insert(stream, desk);
        Ok(())
    }

    /// Hands every session that changed to the writing thread, as it is at the last batch end.
    fn flush(&mut self) -> Result<(), Error> {
        let Some(up_to) = self.at else { return Ok(()) };
        self.settle()?;
        (self.unsaved, self.unsaved_bytes) = (0, 0);
        // What the last job wrote and nothing touched since leaves memory.
        self.desks.retain(|_, desk| desk.session.state.header().last_seq > desk.session.state.saved());
        let sessions = self.desks.values_mut().filter_map(|desk| Some(desk.freeze(desk.last_position?, true))).collect();
        self.writing = true;
        self.jobs.send(Job { up_to, sessions }).map_err(|_| Error::Stopped { reason: "the rows are not written any more".to_owned() })
    }

    /// Waits for the job under way.
    fn settle(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.writing) {
            return Ok(());
        }
        let done = self.written.recv().map_err(|_| Error::Stopped { reason: "the rows are not written any more".to_owned() })??;
        for (stream, placed, saved) in done.sessions {
            if let Some(desk) = self.desks.get_mut(&stream) {
                desk.placed = placed;
                desk.session.written(saved);
            }
        }
        Ok(())
    }
}

/// Takes the generation for one call at a time.
struct Locked<'r, 'g, 's>(&'r Rows<'g, 's>);

impl Sink for Locked<'_, '_, '_> {
    fn put_row(&mut self, key: &RowKey, version: Position, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.0.lock().put_row(key, version, bytes)?)
    }
    fn delete_row(&mut self, key: &RowKey, version: Position) -> Result<(), Error> {
        self.0.lock().delete_row(key, version);
        Ok(())
    }
    fn row(&mut self, key: &RowKey) -> Result<Option<AlignedVec>, Error> {
        Ok(self.0.lock().row(key, None)?.map(|row| row.bytes))
    }
    fn put_index(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        Ok(self.0.lock().put_index(key, value)?)
    }
    fn delete_index(&mut self, key: &[u8]) {
        self.0.lock().delete_index(key);
    }
}

impl Source for Locked<'_, '_, '_> {
    fn row(&mut self, key: &RowKey) -> Result<Option<AlignedVec>, Error> {
        Ok(self.0.lock().row(key, None)?.map(|row| row.bytes))
    }
}
