//! What was read of a session's sources: the mark of each numbered source, and the ids of events that came without a number.
//!
//! **Invariant:** what counts as a repeat depends on the session's log alone: not on how its facts were batched, and not on restarts.
//!
//! | a fact has | it is a repeat when |
//! |---|---|
//! | a source and a number | the source's mark covers it: see [`Mark`] |
//! | an event id only | one of the session's last `event_ids_retained_max` events has that id, and the same part or no parts |
//! | neither | never |

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use turnstore_storage::{Position, Reader, RowKey, Seq, Stream};

use crate::error::Error;
use crate::event::{self, Event};
use crate::index::{self, Mark, Marks};

/// Opens a reader when one is needed.
pub(crate) type Open<'f> = &'f mut dyn FnMut() -> Result<Reader, Error>;

/// Ids of the last events, each with its seq and which part of its source event it is.
#[derive(Debug)]
pub(crate) struct EventIds<K> {
    order: VecDeque<(u64, K)>,
    known: BTreeMap<K, Vec<(Option<u16>, u64)>>,
}

impl<K> Default for EventIds<K> {
    fn default() -> Self {
        Self { order: VecDeque::new(), known: BTreeMap::new() }
    }
}

impl<K: Ord + Clone + Borrow<str>> EventIds<K> {
    /// Remembers the id of the event at `seq`, and lets go of those that its successor does not ask for.
    pub(crate) fn insert(&mut self, id: K, part: Option<u16>, seq: u64, retained_max: usize) {
        self.known.entry(id.clone()).or_default().push((part, seq));
        self.order.push_back((seq, id));
        while self.order.front().is_some_and(|(oldest, _)| oldest.saturating_add(retained_max as u64) <= seq) {
            if let Some((oldest, id)) = self.order.pop_front() {
                self.forget(id.borrow(), oldest);
            }
        }
    }

    fn forget(&mut self, id: &str, seq: u64) {
        if let Some(parts) = self.known.get_mut(id) {
            parts.retain(|(_, known)| *known != seq);
            if parts.is_empty() {
                self.known.remove(id);
            }
        }
    }

    /// Whether a fact that would stand at `next` repeats one of the events before it. An event that came without parts is whole.
    pub(crate) fn knows(&self, id: &str, part: Option<u16>, next: u64, retained_max: usize) -> bool {
        self.known.get(id).is_some_and(|parts| {
            parts.iter().any(|(known, seq)| {
                let same = *known == part || known.is_none() || part.is_none();
                same && seq.saturating_add(retained_max as u64) >= next
            })
        })
    }
}

/// What was read of a session's sources.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Of each source that was asked for; `None` where nothing was read.
    marks: BTreeMap<String, Option<Mark>>,
    fresh: BTreeSet<String>,
    /// `None` until somebody asks: then the session's last events are read.
    ids: Option<EventIds<Arc<str>>>,
}

impl Sources {
    /// Of a session without events.
    pub(crate) fn none() -> Self {
        Self { ids: Some(EventIds::default()), ..Self::default() }
    }

    /// Takes in what an event of the log says about its source.
    pub(crate) fn remember(&mut self, event: &Event<'_>, retained_max: usize) {
        let part = event.source.part.map(|(part, _)| part);
        match (&event.source.stream, &event.source.event_id) {
            (Some((source, seq)), _) => self.raise(source, Mark { seq: *seq, part }),
            (None, Some(id)) => self.admit_event(id, part, event.seq.get(), retained_max),
            (None, None) => {}
        }
    }

    /// How far a source was read.
    pub(crate) fn mark(&mut self, open: Open<'_>, stream: Stream, source: &str) -> Result<Option<Mark>, Error> {
        if let Some(mark) = self.marks.get(source) {
            return Ok(*mark);
        }
        let reader = open()?;
        let key = index::marks_row(stream, source);
        let marks = match usable(reader.row(&key, reader.checkpoint()).map(|row| row.map(|row| row.bytes)).map_err(Error::from))? {
            Some(marks) => marks,
            None => marks_in_log(&reader, &key, None)?,
        };
        let mark = marks.of(source);
        self.marks.insert(source.to_owned(), mark);
        Ok(mark)
    }

    /// Raises a source's mark.
    pub(crate) fn raise(&mut self, source: &str, to: Mark) {
        match self.marks.get_mut(source) {
            Some(Some(mark)) if mark.covers(to) => return,
            Some(mark) => *mark = Some(to),
            None => {
                self.marks.insert(source.to_owned(), Some(to));
            }
        }
        if !self.fresh.contains(source) {
            self.fresh.insert(source.to_owned());
        }
    }

    /// Marks that rose since the last call.
    pub(crate) fn take_marks(&mut self) -> Vec<(String, Mark)> {
        let fresh = std::mem::take(&mut self.fresh);
        fresh.into_iter().filter_map(|source| Some((source.clone(), (*self.marks.get(&source)?)?))).collect()
    }

    /// Ids of the events up to seq `last`. The first question about a session reads its last events.
    pub(crate) fn event_ids(&mut self, open: Open<'_>, stream: Stream, last: u64, max: usize) -> Result<&EventIds<Arc<str>>, Error> {
        match &mut self.ids {
            Some(ids) => Ok(ids),
            none => Ok(none.insert(ids_in_log(&open()?, stream, last, max)?)),
        }
    }

    /// Remembers the id of an admitted event.
    pub(crate) fn admit_event(&mut self, id: &str, part: Option<u16>, seq: u64, retained_max: usize) {
        if let Some(ids) = self.ids.as_mut().filter(|_| retained_max > 0) {
            ids.insert(Arc::from(id), part, seq, retained_max);
        }
    }
}

fn ids_in_log(reader: &Reader, stream: Stream, last: u64, retained_max: usize) -> Result<EventIds<Arc<str>>, Error> {
    let mut ids = EventIds::default();
    let from = Seq::new(last.saturating_sub(retained_max as u64) + 1).unwrap_or(Seq::FIRST);
    events(reader, stream, from, &mut |event| {
        if let (Some(id), None) = (&event.source.event_id, &event.source.stream) {
            ids.insert(Arc::from(id.as_ref()), event.source.part.map(|(part, _)| part), event.seq.get(), retained_max);
        }
    })?;
    Ok(ids)
}

/// The marks in a row that was read: none where there is no row, and no answer where the row is damaged.
pub(crate) fn usable<B: AsRef<[u8]>>(row: Result<Option<B>, Error>) -> Result<Option<Marks>, Error> {
    match row {
        Ok(Some(bytes)) => Ok(Marks::from_bytes(bytes.as_ref()).ok()),
        Ok(None) => Ok(Some(Marks::default())),
        Err(Error::Storage(turnstore_storage::Error::Corrupt(_))) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What a row of marks has to say, by the session's log up to `up_to`. Cost: the whole log of the session: this is the rare way, when the
/// row is damaged.
pub(crate) fn marks_in_log(reader: &Reader, key: &RowKey, up_to: Option<Position>) -> Result<Marks, Error> {
    let mut sources = Sources::default();
    events(reader, key.stream, Seq::FIRST, &mut |event| {
        if up_to.is_none_or(|up_to| event.position <= up_to) {
            sources.remember(event, 0);
        }
    })?;
    let marks = sources.take_marks().into_iter().filter(|(source, _)| index::marks_row(key.stream, source) == *key).collect();
    Ok(Marks { marks })
}

/// Shows every event of a session from `from` on.
fn events(reader: &Reader, stream: Stream, from: Seq, see: &mut dyn FnMut(&Event<'_>)) -> Result<(), Error> {
    for frame in reader.frames_of(stream, from)? {
        for entry in frame?.entries() {
            let entry = entry?;
            if entry.stream == stream && entry.seq >= from {
                let event = event::decode(entry.position, entry.stream, entry.seq, entry.bytes)
                    .map_err(|source| Error::Event { position: entry.position, source })?;
                see(&event);
            }
        }
    }
    Ok(())
}
