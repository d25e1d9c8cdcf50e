//! Proof that what is shown is what the log says: every session folded aside and compared.
//!
//! **Invariant:** nothing is changed; the first difference is named. Memory is bounded by the sessions of one pass, not by the store: a
//! pass folds sessions of about a million events together, or one larger session alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use turnstore_storage::{Position, Stream};

use super::View;
use super::found::{Found, Look, Trouble};
use crate::error::Error;
use crate::event;
use crate::state::{BadRow, Entry, HeaderArchive, PAGE_ENTRIES, RowRef, Sequence, Session, State};

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
    /// Checks the log (checksums, positions, chain), folds every session again and compares it with what is saved. `progress` hears the
    /// number of events folded so far. Cost: the whole log, once for every million events.
    ///
    /// Errors: damage of the log itself; a difference of the saved state is an answer.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<Verified, Error> {
        let look = self.look();
        let mut verified = Verified::default();
        let Some(up_to) = look.position()? else { return Ok(verified) };
        look.reader()?.verify()?;
        for pass in passes(&self.sessions_in_log(&look, up_to)?) {
            let folded = fold_aside(&look, &pass, up_to, &mut verified.events, progress)?;
            for (stream, session) in folded {
                verified.sessions += 1;
                let name = self.session_name(stream)?.unwrap_or_default();
                verified.difference = compare(&look, &name, stream, &session.state)?;
                if verified.difference.is_some() {
                    return Ok(verified);
                }
            }
        }
        Ok(verified)
    }

    /// Every session and how many events it has.
    fn sessions_in_log(&self, look: &Look<'_>, up_to: Position) -> Result<Vec<(Stream, u64)>, Error> {
        let mut sessions = BTreeMap::new();
        for (stream, _, last) in look.reader()?.streams()? {
            sessions.insert(stream, last.map_or(0, |last| last.get()));
        }
        for (stream, shown) in self.head.sessions.iter().filter(|(_, shown)| shown.last_position <= up_to) {
            sessions.insert(*stream, shown.state.header().last_seq);
        }
        Ok(sessions.into_iter().collect())
    }
}

/// Groups sessions so that a pass stays within its bound.
fn passes(sessions: &[(Stream, u64)]) -> Vec<BTreeSet<Stream>> {
    let mut passes = vec![BTreeSet::new()];
    let mut events = 0;
    for (stream, count) in sessions {
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

fn fold_aside(
    look: &Look<'_>,
    pass: &BTreeSet<Stream>,
    up_to: Position,
    events: &mut u64,
    progress: &mut dyn FnMut(u64),
) -> Result<BTreeMap<Stream, Session>, Error> {
    let mut folded = BTreeMap::<Stream, Session>::new();
    for frame in look.reader()?.frames(Position::FIRST)? {
        let frame = frame?;
        for entry in frame.entries() {
            let entry = entry?;
            if entry.position > up_to || !pass.contains(&entry.stream) {
                continue;
            }
            let event = event::decode(entry.position, entry.stream, entry.seq, entry.bytes)
                .map_err(|source| Error::Event { position: entry.position, source })?;
            folded.entry(entry.stream).or_insert_with(Session::empty).reduce(&event);
            *events += 1;
        }
        progress(*events);
    }
    Ok(folded)
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
