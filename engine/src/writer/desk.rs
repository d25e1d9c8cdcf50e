//! A session under the writer's hand: its state, and what checks an append against it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rkyv::util::AlignedVec;
use turnstore_storage::{BatchKey, KeyRecord, Position, Reader, RowKey, Seq, Stream};

use super::sources::Sources;
use crate::checkpointer::Frozen;
use crate::error::Error;
use crate::event::{self, Body, Event};
use crate::index::{self, Placed};
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
        let header = match rows.row(&key(stream, RowKind::Header as u8, 0, 0)) {
            Err(Error::Storage(turnstore_storage::Error::Corrupt(_))) => None,
            header => header?,
        };
        let session = header.and_then(|bytes| Session::of_row(&bytes).ok()).filter(|session| session.state.header().last_seq == last);
        let Some(session) = session else { return Ok(None) };
        let mut desk = Self { session, sources: Sources::default(), ..Self::new(name, stream) };
        desk.place(rows, last, open_epoch)?;
        Ok(Some(desk))
    }

    /// A session folded again from the log up to seq `last`, because its rows are lost.
    pub(crate) fn refolded(reader: &Reader, name: Arc<str>, stream: Stream, last: u64, open_epoch: u64) -> Result<Self, Error> {
        let session = refold(reader, stream, last)?;
        let mut desk = Self { session, sources: Sources::default(), ..Self::new(name, stream) };
        desk.place(&mut AtCheckpoint(reader), last, open_epoch)?;
        Ok(desk)
    }

    fn place(&mut self, rows: &mut dyn Source, last: u64, open_epoch: u64) -> Result<(), Error> {
        let placed = rows.index(&index::placed_key(self.stream))?;
        self.placed = placed.and_then(|bytes| Placed::from_bytes(&bytes).ok()).unwrap_or_default();
        self.opened_seq = if self.placed.open_epoch == open_epoch { self.placed.opened_seq } else { last };
        self.last_position = Position::new(self.placed.last_position);
        self.admitted = last;
        Ok(())
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
        self.session = refold(&rows.fresh()?, self.stream, event.seq.get() - 1)?;
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
    /// An index entry.
    fn index(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error>;
}

/// Rows at the checkpoint.
pub(crate) struct AtCheckpoint<'r>(pub(crate) &'r Reader);

impl Source for AtCheckpoint<'_> {
    fn row(&mut self, key: &RowKey) -> Result<Option<AlignedVec>, Error> {
        Ok(self.0.row(key, self.0.checkpoint())?.map(|row| row.bytes))
    }
    fn index(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.0.index_get(key)?)
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
    fn index(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        AtCheckpoint(self.reader()?).index(key)
    }
}

fn key(stream: Stream, kind: u8, epoch: u32, ordinal: i64) -> RowKey {
    RowKey { stream, epoch, kind, ordinal }
}

/// Folds a session from its first event to seq `last`. Memory grows with the session: this is the rare way, when rows are lost.
pub(crate) fn refold(reader: &Reader, stream: Stream, last: u64) -> Result<Session, Error> {
    let mut session = Session::empty();
    for frame in reader.frames_of(stream, Seq::FIRST)? {
        for entry in frame?.entries() {
            let entry = entry?;
            if entry.stream != stream || entry.seq.get() > last {
                continue;
            }
            let event = event::decode(entry.position, entry.stream, entry.seq, entry.bytes)
                .map_err(|source| Error::Event { position: entry.position, source })?;
            session.reduce(&event);
        }
    }
    Ok(session)
}
