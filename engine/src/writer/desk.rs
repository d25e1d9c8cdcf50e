//! A session under the writer's hand: its state, and what checks an append against it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rkyv::util::AlignedVec;
use turnstore_storage::{BatchKey, KeyRecord, Position, Reader, RowKey, Stream};

use super::sources::Sources;
use crate::checkpointer::Frozen;
use crate::error::Error;
use crate::event::{Body, Event};
use crate::index::{self, Placed};
use crate::refold::{Refolded, refold};
use crate::state::{BadRow, RowKind, Session};

/// Everything that the writer knows of a session.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) name: Arc<str>,
    pub(crate) stream: Stream,
    pub(crate) session: Session,
    /// Last seq that was admitted; the state may be behind until the commit is durable.
    pub(crate) admitted: u64,
    pub(crate) last_position: Option<Position>,
    pub(crate) recorded_at: i64,
    pub(crate) opened_seq: u64,
    pub(crate) placed: Placed,
    pub(crate) keys: BTreeMap<BatchKey, KeyRecord>,
    /// The most interactions that can wait once what is admitted has been folded, and the seq that this is known at.
    asked: (u64, usize),
    pub(crate) sources: Sources,
}

impl Desk {
    /// A session without events.
    pub(crate) fn new(name: Arc<str>, stream: Stream) -> Self {
        Self {
            name,
            stream,
            session: Session::empty(),
            admitted: 0,
            last_position: None,
            recorded_at: 0,
            opened_seq: 0,
            placed: Placed::default(),
            keys: BTreeMap::new(),
            asked: (0, 0),
            sources: Sources::none(),
        }
    }

    /// A session whose rows end at seq `last`; `None` when they do not, or do not read. `opened_seq` is what an earlier process wrote.
    pub(crate) fn load(rows: &mut dyn Source, name: Arc<str>, stream: Stream, last: u64, open_epoch: u64) -> Result<Option<Self>, Error> {
        let header = readable(rows, &key(stream, RowKind::Header as u8, 0, 0))?;
        let session = header.and_then(|bytes| Session::of_row(&bytes).ok()).filter(|session| session.state.header().last_seq == last);
        let (Some(session), Some(placed)) = (session, placed(rows, stream)?) else { return Ok(None) };
        let desk = Self { session, sources: Sources::default(), ..Self::new(name, stream) };
        Ok(Some(desk.placed(placed, last, open_epoch)))
    }

    /// A session folded again from the log up to seq `last`, because its rows are lost.
    pub(crate) fn refolded(reader: &Reader, name: Arc<str>, stream: Stream, last: u64, open_epoch: u64) -> Result<Self, Error> {
        let Refolded { session, last_position, recorded_at } = refold(reader, stream, |_, seq| seq.get() <= last)?;
        // What the index still holds of it is what its last checkpoint put there.
        let of_log = || Placed {
            last_position: last_position.map_or(0, Position::get),
            recorded_at,
            pending: session.state.header().pending.clone(),
            ..Placed::default()
        };
        let placed = placed(&mut AtCheckpoint(reader), stream)?.unwrap_or_else(of_log);
        Ok(Self { session, sources: Sources::default(), ..Self::new(name, stream) }.placed(placed, last, open_epoch))
    }

    fn placed(self, placed: Placed, last: u64, open_epoch: u64) -> Self {
        Self {
            opened_seq: if placed.open_epoch == open_epoch { placed.opened_seq } else { last },
            last_position: Position::new(placed.last_position),
            recorded_at: placed.recorded_at,
            admitted: last,
            placed,
            ..self
        }
    }

    /// Folds one event; reads the rows that it needs. The inner error is a row that does not read: nothing was folded then.
    pub(crate) fn fold(&mut self, rows: &mut dyn Source, event: &Event<'_>) -> Result<Result<(), BadRow>, Error> {
        if let Body::Fact(fact) = &event.body {
            while let Some(need) = self.session.missing(fact) {
                let bytes = match rows.row(&key(self.stream, need.row.kind as u8, need.row.epoch, need.row.ordinal)) {
                    Ok(bytes) => bytes,
                    Err(Error::Storage(turnstore_storage::Error::Corrupt(damage))) => return Ok(Err(BadRow::new(need.row, damage))),
                    Err(error) => return Err(error),
                };
                if let Err(bad) = self.session.supply(&need, bytes.as_deref()) {
                    return Ok(Err(bad));
                }
            }
        }
        self.session.reduce(event);
        self.admitted = self.admitted.max(event.seq.get());
        self.last_position = Some(event.position);
        self.recorded_at = event.recorded_at;
        Ok(Ok(()))
    }

    /// Folds one event; where rows are lost or damaged, the session is folded again from the log first.
    pub(crate) fn fold_or_refold(&mut self, rows: &mut Rows<'_>, event: &Event<'_>) -> Result<(), Error> {
        if self.fold(rows, event)?.is_ok() {
            return Ok(());
        }
        self.session = refold(&rows.fresh()?, self.stream, |_, seq| seq < event.seq)?.session;
        self.fold(rows, event)?.map_err(|source| Error::Row { session: self.name.to_string(), source })
    }

    /// The most interactions that can wait when everything admitted has been folded: what the state says, once it has been.
    pub(crate) fn may_wait(&self) -> usize {
        let header = self.session.state.header();
        let (seq, count) = self.asked;
        if seq > header.last_seq { count } else { header.pending.len() }
    }

    /// Notes what can wait at most after the batch that was admitted last.
    pub(crate) fn asked(&mut self, waiting: usize) {
        self.asked = (self.admitted, waiting);
    }

    /// What the checkpointer needs of the session: everything that changed since it was last written.
    pub(crate) fn freeze(&mut self, last_position: Position, thin: bool) -> Frozen {
        Frozen {
            stream: self.stream,
            name: self.name.clone(),
            ids: self.session.take_changed_ids(),
            state: self.session.state.clone(),
            marks: self.sources.take_marks(),
            placed: self.placed.clone(),
            last_position,
            recorded_at: self.recorded_at,
            opened_seq: self.opened_seq,
            thin,
        }
    }
}

/// Where a session's rows are read.
pub(crate) trait Source {
    /// The row's newest version that counts. Damage is an error, never absence.
    fn row(&mut self, key: &RowKey) -> Result<Option<AlignedVec>, Error>;
}

/// Rows at the checkpoint.
pub(crate) struct AtCheckpoint<'r>(pub(crate) &'r Reader);

impl Source for AtCheckpoint<'_> {
    fn row(&mut self, key: &RowKey) -> Result<Option<AlignedVec>, Error> {
        Ok(self.0.row(key, self.0.checkpoint())?.map(|row| row.bytes))
    }
}

/// Rows at the checkpoint, through a reader that is opened when the first one is needed.
pub(crate) struct Rows<'f> {
    open: &'f dyn Fn() -> Result<Reader, Error>,
    reader: Option<Reader>,
}

impl<'f> Rows<'f> {
    pub(crate) fn new(open: &'f dyn Fn() -> Result<Reader, Error>) -> Self {
        Self { open, reader: None }
    }

    fn fresh(&self) -> Result<Reader, Error> {
        (self.open)()
    }

    fn reader(&mut self) -> Result<&Reader, Error> {
        match &mut self.reader {
            Some(reader) => Ok(reader),
            none => Ok(none.insert((self.open)()?)),
        }
    }
}

impl Source for Rows<'_> {
    fn row(&mut self, key: &RowKey) -> Result<Option<AlignedVec>, Error> {
        AtCheckpoint(self.reader()?).row(key)
    }
}

/// A row; one that is damaged is lost.
fn readable(rows: &mut dyn Source, key: &RowKey) -> Result<Option<AlignedVec>, Error> {
    match rows.row(key) {
        Err(Error::Storage(turnstore_storage::Error::Corrupt(_))) => Ok(None),
        row => row,
    }
}

fn placed(rows: &mut dyn Source, stream: Stream) -> Result<Option<Placed>, Error> {
    Ok(readable(rows, &index::placed_row(stream))?.and_then(|bytes| Placed::from_bytes(&bytes).ok()))
}

fn key(stream: Stream, kind: u8, epoch: u32, ordinal: i64) -> RowKey {
    RowKey { stream, epoch, kind, ordinal }
}
