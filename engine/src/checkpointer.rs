//! The thread that writes what the writer froze: rows, indexes, marks, in one transaction on main, while appends go on.
//!
//! **Invariant:** one checkpoint is one position: everything that a session changed up to it is written at that version, or nothing is.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use rkyv::util::AlignedVec;
use turnstore_storage::{Checkpoint, Position, Reader, RowKey, Storage, Stream};

use crate::error::Error;
use crate::index::{self, Mark, Marks, Placed, Summary, Waiting};
use crate::limits::Limits;
use crate::shared::Shared;
use crate::state::{Body, LAYOUT_FINGERPRINT, RowRef, SEMANTICS_FINGERPRINT, Sequence, State};
use crate::writer::Command;
use crate::writer::sources::{marks_in_log, usable};

/// A checkpoint to write.
pub(crate) struct Job {
    pub(crate) up_to: Position,
    pub(crate) sessions: Vec<Frozen>,
}

/// A session as it was frozen.
pub(crate) struct Frozen {
    pub(crate) stream: Stream,
    pub(crate) name: Arc<str>,
    pub(crate) state: Arc<State>,
    pub(crate) ids: Vec<(RowRef, Vec<u8>)>,
    pub(crate) marks: Vec<(String, Mark)>,
    pub(crate) placed: Placed,
    pub(crate) last_position: Position,
    pub(crate) recorded_at: i64,
    pub(crate) opened_seq: u64,
    /// No view is alive that needs superseded versions.
    pub(crate) thin: bool,
}

/// A checkpoint that is in main: what the index now holds of each session, and its last seq then.
pub(crate) struct Done {
    pub(crate) up_to: Position,
    pub(crate) sessions: Vec<(Stream, Placed, u64)>,
}

/// Name of the layout fingerprint among the store's small values.
pub(crate) const LAYOUT: &str = "layout";
/// Name of the semantics fingerprint.
pub(crate) const SEMANTICS: &str = "semantics";

/// Where the rows and index entries of a session go: a checkpoint, or a new generation of rows.
pub(crate) trait Sink {
    /// Writes a row at this version.
    fn put_row(&mut self, key: &RowKey, version: Position, bytes: &[u8]) -> Result<(), Error>;
    /// Drops one version of a row.
    fn delete_row(&mut self, key: &RowKey, version: Position) -> Result<(), Error>;
    /// The newest version of a row.
    fn row(&mut self, key: &RowKey) -> Result<Option<AlignedVec>, Error>;
    /// Writes an index entry.
    fn put_index(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error>;
    /// Drops an index entry.
    fn delete_index(&mut self, key: &[u8]);
    /// The log, which says what a damaged row held; `None` where all rows are new.
    fn log(&self) -> Option<&Reader> {
        None
    }
}

impl Sink for Checkpoint<'_> {
    fn put_row(&mut self, key: &RowKey, _version: Position, bytes: &[u8]) -> Result<(), Error> {
        Ok(Checkpoint::put_row(self, key, bytes)?)
    }
    fn delete_row(&mut self, key: &RowKey, version: Position) -> Result<(), Error> {
        Checkpoint::delete_row(self, key, version);
        Ok(())
    }
    fn row(&mut self, key: &RowKey) -> Result<Option<AlignedVec>, Error> {
        Ok(self.reader().row(key, None)?.map(|row| row.bytes))
    }
    fn put_index(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        Ok(Checkpoint::put_index(self, key, value)?)
    }
    fn delete_index(&mut self, key: &[u8]) {
        Checkpoint::delete_index(self, key);
    }
    fn log(&self) -> Option<&Reader> {
        Some(self.reader())
    }
}

/// The thread's life: ends when the writer drops its end.
pub(crate) fn run(
    shared: &Shared,
    storage: &Storage,
    jobs: &Receiver<Job>,
    outcomes: &Sender<Result<Done, Error>>,
    wake: &Sender<Command>,
) {
    for job in jobs {
        let outcome = write(storage, job, &shared.limits, shared.open_epoch.get());
        if outcomes.send(outcome).is_err() {
            break;
        }
        // A full queue needs no wake-up: the writer looks for outcomes at every turn.
        let _ = wake.try_send(Command::Wake);
    }
}

fn write(storage: &Storage, job: Job, limits: &Limits, open_epoch: u64) -> Result<Done, Error> {
    let mut checkpoint = storage.begin_checkpoint(job.up_to)?;
    checkpoint.put_meta(LAYOUT, &LAYOUT_FINGERPRINT.to_le_bytes());
    checkpoint.put_meta(SEMANTICS, &SEMANTICS_FINGERPRINT.to_le_bytes());
    let mut sessions = Vec::with_capacity(job.sessions.len());
    for frozen in &job.sessions {
        let placed = write_session(&mut checkpoint, frozen, job.up_to, limits, open_epoch)?;
        sessions.push((frozen.stream, placed, frozen.state.header().last_seq));
    }
    checkpoint.commit()?;
    Ok(Done { up_to: job.up_to, sessions })
}

/// Writes what changed of a session, at version `up_to`; answers what the index now holds of it.
pub(crate) fn write_session(
    sink: &mut impl Sink,
    frozen: &Frozen,
    up_to: Position,
    limits: &Limits,
    open_epoch: u64,
) -> Result<Placed, Error> {
    let (checkpoints, superseded) = retained(frozen, up_to, limits);
    let rows = frozen.state.changed_rows().map_err(|source| Error::Row { session: frozen.name.to_string(), source })?;
    let ids = frozen.ids.iter().map(|(row, bytes)| (row, bytes.as_slice()));
    for (row, bytes) in rows.iter().map(|(row, bytes)| (row, bytes.as_slice())).chain(ids) {
        let key = RowKey { stream: frozen.stream, epoch: row.epoch, kind: row.kind as u8, ordinal: row.ordinal };
        sink.put_row(&key, up_to, bytes)?;
        if let Some(version) = superseded {
            sink.delete_row(&key, version)?;
        }
    }
    if let Some(version) = superseded {
        sink.delete_index(&index::checkpoint_key(frozen.stream, version));
    }
    sink.put_index(&index::checkpoint_key(frozen.stream, up_to), &index::checkpoint_value(frozen.state.header().last_seq))?;
    write_marks(sink, frozen, up_to, superseded)?;
    let placed = Placed {
        last_position: frozen.last_position.get(),
        recorded_at: frozen.recorded_at,
        open_epoch,
        opened_seq: frozen.opened_seq,
        pending: frozen.state.header().pending.clone(),
        checkpoints,
    };
    let row = index::placed_row(frozen.stream);
    sink.put_row(&row, up_to, &placed.to_bytes())?;
    if let Some(version) = superseded {
        sink.delete_row(&row, version)?;
    }
    write_lists(sink, frozen, &placed)?;
    Ok(placed)
}

/// The checkpoints of the session that stay, the newest two; and the one that the new one supersedes.
///
/// A version is worth keeping when it shortens the fold to a past position: two that are closer than
/// `events_between_checkpoints_max` are one too many, so versions stay few however often a session is checkpointed.
fn retained(frozen: &Frozen, up_to: Position, limits: &Limits) -> (Vec<(u64, u64)>, Option<Position>) {
    let new = (up_to.get(), frozen.state.header().last_seq);
    let mut kept = frozen.placed.checkpoints.clone();
    let newest = kept.last().copied();
    let before = kept.len().checked_sub(2).and_then(|place| kept.get(place)).copied().unwrap_or((0, 0));
    let superseded = newest.filter(|_| frozen.thin && new.1 - before.1 <= limits.events_between_checkpoints_max);
    if superseded.is_some() {
        kept.pop();
    }
    kept.push(new);
    let keep = kept.split_off(kept.len().saturating_sub(2));
    (keep, superseded.and_then(|(position, _)| Position::new(position)))
}

fn write_marks(sink: &mut impl Sink, frozen: &Frozen, up_to: Position, superseded: Option<Position>) -> Result<(), Error> {
    let mut written = std::collections::BTreeMap::<i64, (RowKey, Marks)>::new();
    for (source, mark) in &frozen.marks {
        let key = index::marks_row(frozen.stream, source);
        let entry = match written.entry(key.ordinal) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let marks = stored_marks(sink, &key, up_to)?;
                place.insert((key, marks))
            }
        };
        entry.1.marks.retain(|(name, _)| name != source);
        entry.1.marks.push((source.clone(), *mark));
    }
    for (key, marks) in written.values() {
        sink.put_row(key, up_to, &marks.to_bytes())?;
        if let Some(version) = superseded {
            sink.delete_row(key, version)?;
        }
    }
    Ok(())
}

/// The marks that stand in a row. One that is damaged concerns its session alone: it is made anew from the log.
fn stored_marks(sink: &mut impl Sink, key: &RowKey, up_to: Position) -> Result<Marks, Error> {
    let row = sink.row(key);
    match (sink.log(), usable(row)?) {
        (_, Some(marks)) => Ok(marks),
        (Some(log), None) => marks_in_log(log, key, Some(up_to)),
        (None, None) => Ok(Marks::default()),
    }
}

/// Recency and pending lists: what the session had there goes, what it has now comes.
fn write_lists(sink: &mut impl Sink, frozen: &Frozen, placed: &Placed) -> Result<(), Error> {
    if let Some(old) = Position::new(frozen.placed.last_position).filter(|old| *old != frozen.last_position) {
        sink.delete_index(&index::recency_key(old));
    }
    let summary = Summary::of(frozen.stream, &frozen.name, frozen.state.header(), frozen.recorded_at);
    sink.put_index(&index::recency_key(frozen.last_position), &summary.to_bytes())?;
    let waits: std::collections::BTreeSet<i64> = placed.pending.iter().copied().collect();
    for gone in frozen.placed.pending.iter().filter(|ordinal| !waits.contains(ordinal)) {
        sink.delete_index(&index::pending_key(frozen.stream, *gone));
    }
    for ordinal in &placed.pending {
        if let Some(waiting) = waiting(&frozen.state, *ordinal) {
            sink.put_index(&index::pending_key(frozen.stream, *ordinal), &waiting.to_bytes())?;
        }
    }
    Ok(())
}

/// What waits, when its page is in memory; otherwise its entry in the list is from an earlier checkpoint and stands.
fn waiting(state: &State, ordinal: i64) -> Option<Waiting> {
    let entry = state.entry(Sequence::Timeline, ordinal)?;
    match &entry.body {
        Body::Interaction(interaction) => {
            let expires_at = interaction.expires_at.clone();
            Some(Waiting { id: interaction.id.clone(), kind: interaction.kind.clone(), seq: entry.first_seq, expires_at })
        }
        _ => None,
    }
}
