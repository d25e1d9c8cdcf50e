//! The list of sessions, most recently changed first, and one session's head.
//!
//! **Invariant:** a session is listed once: as it is in memory, else as the index has it.
//! **Absent:** time travel: the list answers at the head, from an index of the last checkpoint and what is in memory above it.

use std::collections::BTreeSet;

use turnstore_storage::{Direction, Position, Seq, Stream};

use super::View;
use super::found::{Found, Look, Trouble};
use crate::cursor::{SessionsCursor, store_digest};
use crate::error::Error;
use crate::head::Shown;
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

fn of_shown(shown: &Shown) -> SessionSummary {
    let header = shown.state.header();
    let observed = header.last_seq > shown.opened_seq;
    SessionSummary {
        id: shown.name.to_string(),
        title: header.title.clone(),
        status: header.status.clone(),
        last_position: shown.last_position,
        last_seq: header.last_seq,
        recorded_at: shown.recorded_at,
        turns: header.turns,
        items: header.items,
        diagnostics: u64::try_from(header.diagnostics).unwrap_or(0),
        pending: header.pending.len() as u64,
        queued: header.queue.len() as u64,
        running: header.running && observed,
        unobserved: header.running && !observed,
    }
}

fn of_index(last_position: Position, summary: Summary, observed: bool) -> SessionSummary {
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
    }
}

impl View {
    /// Sessions by recency, up to `sessions_max` of them (at most `window_items_max`), after `cursor` when there is one.
    ///
    /// A session that changes while the list is being paged moves to its front, before the cursor. Cost: proportional to what is listed
    /// and to the sessions in memory. Errors: [`Error::Window`], [`Error::Cursor`].
    pub fn sessions(&self, sessions_max: usize, cursor: Option<&SessionsCursor>) -> Result<SessionsPage, Error> {
        let limit = self.list_limit(sessions_max)?;
        cursor.map_or(Ok(()), |cursor| cursor.check(self.shared.id))?;
        let below = cursor.map(|cursor| cursor.below);
        let look = self.look();
        let mut shown: Vec<(Position, Stream)> = self.head.sessions.iter().map(|(stream, shown)| (shown.last_position, *stream)).collect();
        let in_memory: BTreeSet<Stream> = shown.iter().map(|(_, stream)| *stream).collect();
        shown.retain(|(position, _)| below.is_none_or(|below| *position < below));
        shown.sort_unstable_by(|one, two| two.cmp(one));
        let mut shown = shown.into_iter().peekable();
        let mut indexed = Indexed::open(&look, below, in_memory)?;
        let mut sessions = Vec::new();
        while sessions.len() <= limit {
            let from_memory = shown.peek().map(|(position, _)| *position);
            let from_index = indexed.peek()?.map(|(position, _)| position);
            if from_memory.is_none() && from_index.is_none() {
                break;
            }
            if from_memory >= from_index {
                let stream = shown.next().map(|(_, stream)| stream);
                sessions.extend(stream.and_then(|stream| self.head.sessions.get(&stream)).map(of_shown));
            } else if let Some((position, summary)) = indexed.next.take() {
                let observed = indexed.observed(&summary)?;
                sessions.push(of_index(position, summary, observed));
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
    let unobserved = header.running && header.last_seq <= found.opened_seq()?;
    Ok(SessionHead { id: found.name.to_string(), last_seq: Seq::new(header.last_seq), header, unobserved })
}

/// Sessions of the index that are not in memory, newest first.
struct Indexed<'l> {
    look: &'l Look<'l>,
    entries: Option<turnstore_storage::IndexEntries>,
    in_memory: BTreeSet<Stream>,
    next: Option<(Position, Summary)>,
}

impl<'l> Indexed<'l> {
    fn open(look: &'l Look<'l>, below: Option<Position>, in_memory: BTreeSet<Stream>) -> Result<Self, Error> {
        let entries = match look.checkpoint()? {
            Some(_) => Some(look.reader()?.index(index::borrowed(&index::recency_bounds(below)), Direction::Forward)?),
            None => None,
        };
        Ok(Self { look, entries, in_memory, next: None })
    }

    fn peek(&mut self) -> Result<Option<(Position, &Summary)>, Error> {
        while self.next.is_none() {
            let Some(entry) = self.entries.as_mut().and_then(Iterator::next) else { break };
            let (key, value) = entry?;
            let Some(position) = index::recency_position(&key) else { continue };
            let Ok(summary) = Summary::from_bytes(&value) else { continue };
            let known = Stream::new(summary.stream).is_none_or(|stream| self.in_memory.contains(&stream));
            self.next = (!known).then_some((position, summary));
        }
        Ok(self.next.as_ref().map(|(position, summary)| (*position, summary)))
    }

    /// Whether the process that heard the session's last event still writes the store.
    fn observed(&self, summary: &Summary) -> Result<bool, Error> {
        let (true, Some(stream)) = (summary.running, Stream::new(summary.stream)) else { return Ok(false) };
        let Some(found) = self.look.find_in_rows(stream, summary.name.as_str().into())? else { return Ok(false) };
        super::found::read_found(&found, |found| Ok(summary.last_seq > found.opened_seq()?))
    }
}
