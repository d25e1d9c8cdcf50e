//! Proof that what is shown is what the log says: every session folded aside and compared.
//!
//! **Invariant:** nothing is changed; the first difference is named. Memory is bounded by the sessions of one pass, not by the store: a
//! pass folds sessions of about a million events together, or one larger session alone.

mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use rkyv::util::AlignedVec;
use turnstore_storage::{Direction, Position, Reader, RowKey, Stream};

use self::stored::Checkpoints;
use super::View;
use super::found::{Found, Look, Trouble};
use crate::error::Error;
use crate::event;
use crate::index::{self, Belongs, Summary};
use crate::state::{BadRow, Entry, HeaderArchive, PAGE_ENTRIES, RowRef, Sequence, State};
use crate::writer::desk::{Desk, Source};

/// Events that one pass over the log folds aside.
const PASS_EVENTS_MAX: u64 = 1_000_000;

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Sessions that were folded again and compared.
    pub sessions: u64,
    /// Events that were checked and folded.
    pub events: u64,
    /// The first difference, when there is one.
    pub difference: Option<Difference>,
}

/// A place where the saved state is not what the log says. `turnstore rebuild` makes the saved state anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Session.
    pub session: String,
    /// Which part of it.
    pub place: String,
    /// What is saved there.
    pub saved: String,
    /// What the log folds to.
    pub folded: String,
}

const SEQUENCES: [Sequence; 3] = [Sequence::Timeline, Sequence::Shelf, Sequence::Diagnostics];

impl View {
    /// Checks the log (checksums, positions, chain), folds every session again and compares it with what is saved: the rows and index
    /// entries in main, in their newest version, and what this view shows. `progress` hears the number of events folded so far. Cost: the
    /// whole log, once for every million events.
    ///
    /// Errors: damage of the log itself; a difference of the saved state is an answer.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<Verified, Error> {
        self.told(|look| self.verify_in(look, progress))
    }

    fn verify_in(&self, look: &Look<'_>, progress: &mut dyn FnMut(u64)) -> Result<Verified, Error> {
        let mut verified = Verified::default();
        let reader = look.reader()?;
        let (shown, saved) = (look.position()?, reader.checkpoint());
        if shown.max(saved).is_none() {
            return Ok(verified);
        }
        reader.verify()?;
        let sessions = self.sessions_in_log(look, shown)?;
        // The last event of each session at main's checkpoint.
        let mut lasts = BTreeMap::new();
        for pass in passes(&sessions) {
            let mut folding = Folding::new(look, &sessions, pass)?;
            for stop in BTreeSet::from([shown, saved]).into_iter().flatten() {
                folding.fold_to(stop, &mut verified.events, progress)?;
                for desk in folding.desks.values_mut() {
                    if Some(stop) == saved {
                        lasts.extend(desk.last_position.map(|last| (last, desk.stream)));
                        let checkpoints = folding.checkpoints.entry(desk.stream).or_default();
                        verified.difference = stored::compare(reader, desk, checkpoints, &self.shared.limits)?;
                    }
                    if Some(stop) == shown && verified.difference.is_none() {
                        verified.difference = compare(look, &desk.name, desk.stream, &desk.session.state)?;
                    }
                    if verified.difference.is_some() {
                        return Ok(verified);
                    }
                }
            }
            verified.sessions += folding.desks.len() as u64;
        }
        verified.difference = stray(reader, &sessions, &lasts)?;
        Ok(verified)
    }

    /// Every session with its id and how many events it has.
    fn sessions_in_log(&self, look: &Look<'_>, up_to: Option<Position>) -> Result<BTreeMap<Stream, (Arc<str>, u64)>, Error> {
        let mut sessions = BTreeMap::new();
        for (stream, name, last) in look.reader()?.streams()? {
            sessions.insert(stream, (Arc::from(name), last.map_or(0, |last| last.get())));
        }
        for (stream, shown) in self.head.sessions.iter().filter(|(_, shown)| Some(shown.last_position) <= up_to) {
            sessions.insert(*stream, (shown.name.clone(), shown.state.header().last_seq));
        }
        Ok(sessions)
    }
}

/// An index entry that is nobody's.
fn stray(
    reader: &Reader,
    sessions: &BTreeMap<Stream, (Arc<str>, u64)>,
    lasts: &BTreeMap<Position, Stream>,
) -> Result<Option<Difference>, Error> {
    for entry in reader.index((Bound::Unbounded, Bound::Unbounded), Direction::Forward)? {
        let (key, value) = entry?;
        let known = match index::belongs(&key) {
            Some(Belongs::To(stream)) => sessions.contains_key(&stream),
            Some(Belongs::At(last)) => lasts.contains_key(&last),
            None => false,
        };
        if !known {
            let name = Summary::from_bytes(&value).ok().filter(|_| matches!(index::belongs(&key), Some(Belongs::At(_))));
            let name = name.map_or_else(String::new, |summary| summary.name);
            return Ok(Some(difference(&name, index::place(&key), shortened(&index::shown(&key, &value)), "nothing".to_owned())));
        }
    }
    Ok(None)
}

/// No rows: a session that is folded from its first event on needs none.
struct NoRows;

impl Source for NoRows {
    fn row(&mut self, _key: &RowKey) -> Result<Option<AlignedVec>, Error> {
        Ok(None)
    }
}

/// Sessions on their way through the log.
struct Folding<'l> {
    look: &'l Look<'l>,
    sessions: BTreeMap<Stream, Arc<str>>,
    checkpoints: BTreeMap<Stream, Checkpoints>,
    desks: BTreeMap<Stream, Desk>,
    at: Option<Position>,
}

impl<'l> Folding<'l> {
    fn new(look: &'l Look<'l>, sessions: &BTreeMap<Stream, (Arc<str>, u64)>, pass: BTreeSet<Stream>) -> Result<Self, Error> {
        let named = |stream: Stream| (stream, sessions.get(&stream).map_or_else(|| Arc::from(""), |(name, _)| name.clone()));
        let sessions: BTreeMap<_, _> = pass.into_iter().map(named).collect();
        let reader = look.reader()?;
        let checkpoints = sessions.keys().map(|stream| Ok((*stream, Checkpoints::of(reader, *stream)?)));
        let checkpoints = checkpoints.collect::<Result<_, Error>>()?;
        Ok(Self { look, sessions, checkpoints, desks: BTreeMap::new(), at: None })
    }

    /// Folds on to `to`, which is where an append ended.
    fn fold_to(&mut self, to: Position, events: &mut u64, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let from = self.at.map_or(Position::FIRST, Position::next);
        self.at = self.at.max(Some(to));
        if from > to {
            return Ok(());
        }
        for frame in self.look.reader()?.frames(from)? {
            let frame = frame?;
            if frame.first() > to {
                break;
            }
            for entry in frame.entries() {
                let entry = entry?;
                let Some(name) = self.sessions.get(&entry.stream).filter(|_| entry.position >= from && entry.position <= to) else {
                    continue;
                };
                let event = event::decode(entry.position, entry.stream, entry.seq, entry.bytes)
                    .map_err(|source| Error::Event { position: entry.position, source })?;
                let desk = self.desks.entry(entry.stream).or_insert_with(|| Desk::new(name.clone(), entry.stream));
                if let Some(checkpoints) = self.checkpoints.get_mut(&entry.stream) {
                    checkpoints.pass(entry.position, desk.admitted);
                }
                desk.fold(&mut NoRows, &event)?.map_err(|source| Error::Row { session: name.to_string(), source })?;
                desk.sources.remember(&event, 0);
                *events += 1;
            }
            progress(*events);
        }
        Ok(())
    }
}

/// Groups sessions so that a pass stays within its bound.
fn passes(sessions: &BTreeMap<Stream, (Arc<str>, u64)>) -> Vec<BTreeSet<Stream>> {
    let mut passes = vec![BTreeSet::new()];
    let mut events = 0;
    for (stream, (_, count)) in sessions {
        if events > 0 && events + count > PASS_EVENTS_MAX {
            passes.push(BTreeSet::new());
            events = 0;
        }
        events += count;
        if let Some(pass) = passes.last_mut() {
            pass.insert(*stream);
        }
    }
    passes
}

fn compare(look: &Look<'_>, name: &str, stream: Stream, folded: &State) -> Result<Option<Difference>, Error> {
    let found = match look.find(name)? {
        Some(found) if found.stream == stream => found,
        _ => return Ok(Some(difference(name, "session".to_owned(), "nothing".to_owned(), format!("{} events", folded.header().last_seq)))),
    };
    match compare_found(&found, name, folded) {
        Ok(difference) => Ok(difference),
        Err(Trouble::Row(bad)) => Ok(Some(difference(name, "saved rows".to_owned(), bad.to_string(), "a row that reads".to_owned()))),
        Err(Trouble::Error(error)) => Err(error),
    }
}

fn difference(session: &str, place: String, saved: String, folded: String) -> Difference {
    Difference { session: session.to_owned(), place, saved, folded }
}

fn compare_found(found: &Found<'_>, name: &str, folded: &State) -> Result<Option<Difference>, Trouble> {
    if found.is_refolded() {
        return Err(BadRow::new(RowRef::HEADER, "the header's row is lost").into());
    }
    if found.header_archive()?.bytes() != HeaderArchive::of(RowRef::HEADER, folded.header())?.bytes() {
        let saved = found.header()?;
        return Ok(Some(difference(name, "header".to_owned(), format!("{saved:?}"), format!("{:?}", folded.header()))));
    }
    for sequence in SEQUENCES {
        for page in found.outline.pages(sequence) {
            let saved = found.page(sequence, page)?;
            let own =
                folded.page_archive(sequence, page).ok_or_else(|| BadRow::new(folded.page_row(sequence, page), "folds to nothing"))?;
            if saved.bytes() != own.bytes() {
                return Ok(Some(first_entry(name, sequence, page, &saved.entries()?, &own.entries()?)));
            }
        }
    }
    for (kind, ordinal) in folded.pieces_in_memory() {
        let saved = found.piece(kind, ordinal)?;
        if Some(&*saved) != folded.piece(kind, ordinal) {
            let own = Arc::<str>::from(folded.piece(kind, ordinal).unwrap_or_default());
            return Ok(Some(difference(name, format!("text piece {ordinal}"), shortened(&saved), shortened(&own))));
        }
    }
    Ok(None)
}

fn first_entry(name: &str, sequence: Sequence, page: i64, saved: &[Option<Entry>], folded: &[Option<Entry>]) -> Difference {
    let many = saved.len().max(folded.len());
    let place = (0..many).find(|place| saved.get(*place) != folded.get(*place)).unwrap_or(0);
    let shown = |entries: &[Option<Entry>]| shortened(&format!("{:?}", entries.get(place).cloned().flatten()));
    let ordinal = page * PAGE_ENTRIES + i64::try_from(place).unwrap_or(0);
    difference(name, format!("{sequence:?} entry {ordinal}"), shown(saved), shown(folded))
}

fn shortened(text: &str) -> String {
    text.chars().take(400).collect()
}
