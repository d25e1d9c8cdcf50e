//! A session under the writer's hand: its state, and what checks an append against it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use turnstore_storage::{BatchKey, KeyRecord, Position, Reader, RowKey, Seq, Stream};

use crate::error::Error;
use crate::event::{self, Body, Event};
use crate::index::{self, Marks, Placed};
use crate::state::{Need, RowKind, Session};

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
    marks: BTreeMap<String, u64>,
    fresh_marks: BTreeSet<String>,
    event_ids: Option<EventIds>,
}

/// The ids of the last events that came without a sequence.
#[derive(Debug, Default)]
struct EventIds {
    order: VecDeque<String>,
    known: BTreeSet<String>,
}

impl EventIds {
    fn insert(&mut self, id: &str, retained_max: usize) {
        if self.known.insert(id.to_owned()) {
            self.order.push_back(id.to_owned());
        }
        while self.order.len() > retained_max {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }
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
            marks: BTreeMap::new(),
            fresh_marks: BTreeSet::new(),
            event_ids: Some(EventIds::default()),
        }
    }

    /// A session as the checkpoint left it. Rows that do not agree with the log are not used: the session is folded again.
    pub(crate) fn load(reader: &Reader, name: Arc<str>, stream: Stream, last: Option<Seq>, open_epoch: u64) -> Result<Self, Error> {
        let mut desk = Self::new(name, stream);
        let Some(last) = last else { return Ok(desk) };
        let header = reader.row(&key(stream, RowKind::Header as u8, 0, 0), reader.checkpoint())?;
        let session = header.and_then(|row| Session::of_row(&row.bytes).ok()).filter(|session| session.state.header().last_seq == last.get());
        desk.session = match session {
            Some(session) => session,
            None => refold(reader, stream, last.get())?,
        };
        desk.admitted = last.get();
        desk.event_ids = None;
        let placed = reader.index_get(&index::placed_key(stream))?;
        desk.placed = placed.and_then(|bytes| Placed::from_bytes(&bytes).ok()).unwrap_or_default();
        desk.opened_seq = if desk.placed.open_epoch == open_epoch { desk.placed.opened_seq } else { last.get() };
        desk.last_position = Position::new(desk.placed.last_position);
        Ok(desk)
    }

    /// Folds one event; reads the rows that it needs.
    pub(crate) fn fold(&mut self, rows: &mut Rows<'_>, event: &Event<'_>) -> Result<(), Error> {
        if let Body::Fact(fact) = &event.body {
            while let Some(need) = self.session.missing(fact) {
                if let Err(error) = rows.supply(&mut self.session, self.stream, &need)? {
                    // The row is lost or damaged: the log is the truth.
                    let last = event.seq.get() - 1;
                    self.session = refold(&rows.reader()?, self.stream, last)
                        .map_err(|_| Error::Row { session: self.name.to_string(), source: error })?;
                }
            }
        }
        self.session.reduce(event);
        self.admitted = self.admitted.max(event.seq.get());
        self.last_position = Some(event.position);
        self.recorded_at = event.recorded_at;
        Ok(())
    }

    /// Takes in what an event in the tail says about its source.
    pub(crate) fn remember(&mut self, event: &Event<'_>, retained_max: usize) {
        if let Some((source, seq)) = &event.source.stream {
            self.raise(source, *seq);
        } else if let (Some(id), Some(ids)) = (&event.source.event_id, &mut self.event_ids) {
            ids.insert(id, retained_max);
        }
    }

    /// The highest sequence number read from a source, 0 for none.
    pub(crate) fn mark(&mut self, reader: &mut dyn FnMut() -> Result<Reader, Error>, source: &str) -> Result<u64, Error> {
        if let Some(mark) = self.marks.get(source) {
            return Ok(*mark);
        }
        let reader = reader()?;
        let row = reader.row(&index::marks_row(self.stream, source), reader.checkpoint())?;
        let marks = row.and_then(|row| Marks::from_bytes(&row.bytes).ok()).unwrap_or_default();
        let mark = marks.marks.iter().find(|(name, _)| name == source).map_or(0, |(_, seq)| *seq);
        self.marks.insert(source.to_owned(), mark);
        Ok(mark)
    }

    /// Raises a source's mark.
    pub(crate) fn raise(&mut self, source: &str, seq: u64) {
        match self.marks.get_mut(source) {
            Some(mark) if *mark >= seq => return,
            Some(mark) => *mark = seq,
            None => {
                self.marks.insert(source.to_owned(), seq);
            }
        }
        if !self.fresh_marks.contains(source) {
            self.fresh_marks.insert(source.to_owned());
        }
    }

    /// Marks that rose since the last call.
    pub(crate) fn take_marks(&mut self) -> Vec<(String, u64)> {
        let fresh = std::mem::take(&mut self.fresh_marks);
        fresh.into_iter().filter_map(|source| Some((source.clone(), *self.marks.get(&source)?))).collect()
    }

    /// Whether an event id is among those remembered. The first question about a session reads its last events.
    pub(crate) fn knows_event(&mut self, reader: &mut dyn FnMut() -> Result<Reader, Error>, id: &str, retained_max: usize) -> Result<bool, Error> {
        if self.event_ids.is_none() {
            let mut ids = EventIds::default();
            let reader = reader()?;
            let from = Seq::new(self.admitted.saturating_sub(retained_max as u64) + 1).unwrap_or(Seq::FIRST);
            for frame in reader.frames_of(self.stream, from)? {
                for entry in frame?.entries() {
                    let entry = entry?;
                    if entry.stream != self.stream || entry.seq < from {
                        continue;
                    }
                    let event = event::decode(entry.position, entry.stream, entry.seq, entry.bytes)
                        .map_err(|source| Error::Event { position: entry.position, source })?;
                    if let (Some(id), None) = (&event.source.event_id, &event.source.stream) {
                        ids.insert(id, retained_max);
                    }
                }
            }
            self.event_ids = Some(ids);
        }
        Ok(self.event_ids.as_ref().is_some_and(|ids| ids.known.contains(id)))
    }

    /// Remembers the id of an admitted event.
    pub(crate) fn admit_event(&mut self, id: &str, retained_max: usize) {
        if let Some(ids) = &mut self.event_ids {
            ids.insert(id, retained_max);
        }
    }
}

/// Rows at the checkpoint, opened when the first one is needed.
pub(crate) struct Rows<'f> {
    open: &'f dyn Fn() -> Result<Reader, Error>,
    reader: Option<Reader>,
}

impl<'f> Rows<'f> {
    pub(crate) fn new(open: &'f dyn Fn() -> Result<Reader, Error>) -> Self {
        Self { open, reader: None }
    }

    fn reader(&self) -> Result<Reader, Error> {
        (self.open)()
    }

    /// Gives a session the row it needs; the inner error says that the row does not read.
    fn supply(&mut self, session: &mut Session, stream: Stream, need: &Need) -> Result<Result<(), crate::state::BadRow>, Error> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert((self.open)()?),
        };
        let row = reader.row(&key(stream, need.row.kind as u8, need.row.epoch, need.row.ordinal), reader.checkpoint());
        let row = match row {
            Ok(row) => row,
            Err(turnstore_storage::Error::Corrupt(_)) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(session.supply(need, row.as_ref().map(|row| row.bytes.as_slice())))
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
