//! The list of sessions, most recently changed first, and one session's head.
//!
//! **Invariant:** a session is listed once, as it was at the view's position: as it is in the view's memory, else as the index has it,
//! else, when it has changed since, as the rows of the view's checkpoint have it.

use std::collections::BTreeMap;
use std::sync::Arc;

use turnstore_storage::{Direction, Frame, IndexEntries, Position, Seq, Stream};

use super::View;
use super::found::{Found, Look, Trouble, read_found};
use super::leaves::observed;
use crate::cursor::{SessionsCursor, store_digest};
use crate::error::Error;
use crate::index::{self, Summary};
use crate::state::Header;

/// A session in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Id.
    pub id: String,
    /// Title.
    pub title: Option<String>,
    /// Status word of the source.
    pub status: Option<String>,
    /// Place of its last event in the log.
    pub last_position: Position,
    /// Its last seq, which is its number of events.
    pub last_seq: u64,
    /// Milliseconds since 1970 of its last event.
    pub recorded_at: i64,
    /// Turns.
    pub turns: u64,
    /// Items.
    pub items: u64,
    /// Diagnostics.
    pub diagnostics: u64,
    /// Interactions that wait for an answer.
    pub pending: u64,
    /// Inputs in the queue.
    pub queued: u64,
    /// Whether its last turn is stated to run, and the process that heard so still writes the store.
    pub running: bool,
    /// Whether its last turn is stated to run, by a process that is gone.
    pub unobserved: bool,
    /// Whether its last turn failed, as its owner said.
    pub failed: bool,
    /// Events since it was read last: UI-only state, see [`crate::Engine::mark_read`].
    pub unread: u64,
    /// Whether it is pinned: UI-only state, see [`crate::Engine::pin`].
    pub pinned: bool,
}

/// Which sessions a list shows: those of which everything that is set is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Its last turn runs.
    pub running: bool,
    /// Something of it waits for an answer.
    pub needs_input: bool,
    /// It has events that were not read.
    pub unread: bool,
    /// It is pinned.
    pub pinned: bool,
    /// Its last turn is stated to run, by a process that is gone.
    pub stale: bool,
}

impl SessionFilter {
    fn shows(self, of: &SessionSummary) -> bool {
        (!self.running || of.running)
            && (!self.needs_input || of.pending > 0)
            && (!self.unread || of.unread > 0)
            && (!self.pinned || of.pinned)
            && (!self.stale || of.unobserved)
    }
}

/// A part of the list of sessions.
#[derive(Clone, Debug)]
pub struct SessionsPage {
    /// The sessions, most recently changed first.
    pub sessions: Vec<SessionSummary>,
    /// The cursor to the rest; `None` at the end.
    pub cursor: Option<SessionsCursor>,
}

/// What is known of a session before its timeline is read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionHead {
    /// Id.
    pub id: String,
    /// Its last seq, which is its number of events.
    pub last_seq: Option<Seq>,
    /// Everything stated and counted: title, status, counts, queue, state of its history.
    pub header: Header,
    /// Whether its last turn is stated to run, by a process that is gone.
    pub unobserved: bool,
}

fn listed(last_position: Position, summary: Summary, opened_seq: u64) -> SessionSummary {
    let observed = observed(summary.touched, opened_seq);
    SessionSummary {
        id: summary.name,
        title: summary.title,
        status: summary.status,
        last_position,
        last_seq: summary.last_seq,
        recorded_at: summary.recorded_at,
        turns: summary.turns,
        items: summary.items,
        diagnostics: summary.diagnostics,
        pending: summary.pending,
        queued: summary.queued,
        running: summary.running && observed,
        unobserved: summary.running && !observed,
        failed: summary.failed,
        unread: 0,
        pinned: false,
    }
}

impl View {
    /// Sessions by recency, up to `sessions_max` of them (at most `window_items_max`), after `cursor` when there is one.
    ///
    /// A session that changes while the list is being paged with newer views moves to its front, before the cursor. Cost: proportional to
    /// what is listed, to the sessions in memory and to those that changed since the view was taken. Errors: [`Error::Window`],
    /// [`Error::Cursor`].
    pub fn sessions(&self, sessions_max: usize, cursor: Option<&SessionsCursor>) -> Result<SessionsPage, Error> {
        self.sessions_where(SessionFilter::default(), sessions_max, cursor)
    }

    /// As [`View::sessions`], those that a filter shows. Cost: also an entry of the index for each session that is passed over; no
    /// session is read for it.
    pub fn sessions_where(
        &self,
        filter: SessionFilter,
        sessions_max: usize,
        cursor: Option<&SessionsCursor>,
    ) -> Result<SessionsPage, Error> {
        self.picked(sessions_max, cursor, |session| filter.shows(session))
    }

    /// The newest sessions that `shows` picks.
    pub(super) fn picked(
        &self,
        sessions_max: usize,
        cursor: Option<&SessionsCursor>,
        shows: impl Fn(&SessionSummary) -> bool,
    ) -> Result<SessionsPage, Error> {
        let limit = self.list_limit(sessions_max)?;
        cursor.map_or(Ok(()), |cursor| cursor.check(self.shared.id))?;
        let mut below = cursor.map(|cursor| cursor.below);
        let mut sessions = Vec::new();
        while sessions.len() <= limit {
            let found = self.told(|look| {
                let mut found = newest(look, below, limit + 1)?;
                for session in &mut found {
                    let (read, pinned) = look.marked(&session.id)?;
                    (session.unread, session.pinned) = (session.last_seq.saturating_sub(read), pinned);
                }
                Ok(found)
            })?;
            let all = found.len() <= limit;
            below = found.last().map(|last| last.last_position);
            sessions.extend(found.into_iter().filter(&shows));
            if all {
                break;
            }
        }
        let more = sessions.len() > limit;
        sessions.truncate(limit);
        let last = sessions.last().filter(|_| more);
        let cursor = last.map(|last| SessionsCursor { store: store_digest(self.shared.id), below: last.last_position });
        Ok(SessionsPage { sessions, cursor })
    }

    /// What is known of a session before its timeline is read; `None` when the store has no such session.
    pub fn session(&self, session: &str) -> Result<Option<SessionHead>, Error> {
        match self.read(session, head_of) {
            Ok(head) => Ok(Some(head)),
            Err(Error::NoSession { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn list_limit(&self, asked: usize) -> Result<usize, Error> {
        let asked_max = self.shared.limits.window_items_max;
        if asked > asked_max {
            return Err(Error::Window { asked, limit: "window_items_max", asked_max });
        }
        Ok(asked.max(1))
    }
}

fn head_of(found: &Found<'_>) -> Result<SessionHead, Trouble> {
    let header = found.header()?;
    let unobserved = header.running && !observed(header.touched, found.opened_seq()?);
    Ok(SessionHead { id: found.name.to_string(), last_seq: Seq::new(header.last_seq), header, unobserved })
}

/// Up to `count` sessions, newest first.
fn newest(look: &Look<'_>, below: Option<Position>, count: usize) -> Result<Vec<SessionSummary>, Error> {
    let mut apart = apart(look, below)?.into_iter().peekable();
    let mut indexed = Indexed::open(look, below)?;
    let mut sessions = Vec::new();
    while sessions.len() < count {
        let next_apart = apart.peek().map(|(position, _)| *position);
        let next_indexed = indexed.peek()?;
        sessions.push(match (next_apart, next_indexed) {
            (None, None) => break,
            (of_apart, of_indexed) if of_apart >= of_indexed => match apart.next() {
                Some((position, place)) => place.summary(look, position)?,
                None => break,
            },
            _ => match indexed.take()? {
                Some(session) => session,
                None => break,
            },
        });
    }
    Ok(sessions)
}

/// A session of which the index does not say what it was at the view's position.
enum Apart {
    /// In the view's memory.
    Shown(Stream),
    /// Changed after the view's position.
    Moved { stream: Stream, name: Arc<str>, recorded_at: i64 },
}

/// Sessions in memory, and those that have changed since, newest first.
fn apart(look: &Look<'_>, below: Option<Position>) -> Result<Vec<(Position, Apart)>, Error> {
    let shown = look.view.head.sessions.iter().map(|(stream, shown)| (shown.last_position, Apart::Shown(*stream)));
    let mut apart: Vec<(Position, Apart)> = shown.collect();
    for (stream, name) in look.moved()? {
        let last = look.last_event(stream)?;
        apart.extend(last.map(|(position, recorded_at)| (position, Apart::Moved { stream, name, recorded_at })));
    }
    apart.retain(|(position, _)| below.is_none_or(|below| *position < below));
    apart.sort_unstable_by_key(|(position, _)| std::cmp::Reverse(*position));
    Ok(apart)
}

impl Apart {
    fn summary(self, look: &Look<'_>, position: Position) -> Result<SessionSummary, Error> {
        match self {
            Self::Shown(stream) => {
                let shown = look.view.head.sessions.get(&stream).ok_or_else(|| lost(stream))?;
                let summary = Summary::of(stream, &shown.name, shown.state.header(), shown.recorded_at);
                Ok(listed(position, summary, shown.opened_seq))
            }
            Self::Moved { stream, name, recorded_at } => {
                let (summary, opened_seq) = in_rows(look, stream, name, recorded_at)?;
                Ok(listed(position, summary, opened_seq))
            }
        }
    }
}

fn lost(stream: Stream) -> Error {
    Error::NoSession { session: format!("number {stream}") }
}

/// What the rows of the look's checkpoint say of a session.
fn in_rows(look: &Look<'_>, stream: Stream, name: Arc<str>, recorded_at: i64) -> Result<(Summary, u64), Error> {
    let found = look.find_in_rows(stream, name)?.ok_or_else(|| lost(stream))?;
    read_found(&found, |found| Ok((Summary::of(stream, &found.name, &found.header()?, recorded_at), found.opened_seq()?)))
}

impl Look<'_> {
    /// Sessions that are not in memory and changed after this look's position, with their ids: the index has them as they are now. None
    /// in a view that was just taken. Cost: proportional to them.
    pub(super) fn moved(&self) -> Result<BTreeMap<Stream, Arc<str>>, Error> {
        let mut moved = BTreeMap::new();
        let (Some(_), Some(at)) = (self.checkpoint()?, self.position()?) else { return Ok(moved) };
        for entry in self.reader()?.index(index::borrowed(&index::recency_bounds(None)), Direction::Forward)? {
            let (key, value) = entry?;
            let Some(position) = index::recency_position(&key) else { continue };
            if position <= at {
                break;
            }
            let (stream, name) = match Summary::from_bytes(&value) {
                Ok(Summary { stream, name, .. }) => (Stream::new(stream), name),
                Err(_) => self.at_position(position)?,
            };
            let stream = stream.filter(|stream| !self.is_later(*stream) && !self.view.head.sessions.contains_key(stream));
            moved.extend(stream.map(|stream| (stream, Arc::from(name))));
        }
        Ok(moved)
    }

    /// The session of an event, with its id.
    fn at_position(&self, position: Position) -> Result<(Option<Stream>, String), Error> {
        let frame = self.reader()?.frames(position)?.next().transpose()?;
        let entries = frame.iter().flat_map(Frame::entries);
        let stream = entries.filter_map(Result::ok).find(|entry| entry.position == position).map(|entry| entry.stream);
        let name = match stream {
            Some(stream) => self.reader()?.stream_name(stream)?,
            None => None,
        };
        Ok((stream, name.unwrap_or_default()))
    }
}

/// Sessions of the index that are not in memory, newest first: those that did not change after the view's position.
struct Indexed<'l> {
    look: &'l Look<'l>,
    entries: Option<IndexEntries>,
    next: Option<(Position, Result<Summary, Stream>)>,
}

impl<'l> Indexed<'l> {
    fn open(look: &'l Look<'l>, below: Option<Position>) -> Result<Self, Error> {
        let entries = match (look.checkpoint()?, look.position()?) {
            (Some(_), Some(at)) => {
                let below = below.map_or(at.next(), |below| below.min(at.next()));
                Some(look.reader()?.index(index::borrowed(&index::recency_bounds(Some(below))), Direction::Forward)?)
            }
            _ => None,
        };
        Ok(Self { look, entries, next: None })
    }

    /// The place of the next one in the list.
    fn peek(&mut self) -> Result<Option<Position>, Error> {
        while self.next.is_none() {
            let Some(entry) = self.entries.as_mut().and_then(Iterator::next) else { break };
            let (key, value) = entry?;
            let Some(position) = index::recency_position(&key) else { continue };
            // The list is disposable too: which session an entry is of, the log knows.
            let (stream, summary) = match Summary::from_bytes(&value) {
                Ok(summary) => (Stream::new(summary.stream), Some(summary)),
                Err(_) => (self.look.at_position(position)?.0, None),
            };
            let stream = stream.filter(|stream| !self.look.view.head.sessions.contains_key(stream));
            self.next = stream.map(|stream| (position, summary.ok_or(stream)));
        }
        Ok(self.next.as_ref().map(|(position, _)| *position))
    }

    fn take(&mut self) -> Result<Option<SessionSummary>, Error> {
        let Some((position, summary)) = self.next.take() else { return Ok(None) };
        let (summary, opened_seq) = match summary {
            Ok(summary) => {
                let stream = Stream::new(summary.stream).filter(|_| summary.running);
                let opened_seq = stream.map_or(Ok(0), |stream| self.look.opened_seq(stream, summary.last_seq))?;
                (summary, opened_seq)
            }
            Err(stream) => {
                let name = self.look.reader()?.stream_name(stream)?.unwrap_or_default();
                let recorded_at = self.look.last_event(stream)?.map_or(0, |(_, recorded_at)| recorded_at);
                in_rows(self.look, stream, Arc::from(name), recorded_at)?
            }
        };
        Ok(Some(listed(position, summary, opened_seq)))
    }
}
