//! What a session has beside its turns, page by page and by id; its documents and diagnostics.
//!
//! **Invariant:** lists are read page by page, so that memory is bounded whatever the session holds.

use std::collections::VecDeque;

use serde_json::Value;

use super::View;
use super::found::{Found, Trouble};
use super::window::find_id;
use crate::error::Error;
use crate::state::{
    ArchivedBody, ArchivedChunked, ArchivedDocument, ArchivedEntry, BadRow, Diagnostic, Field, IdRow, PAGE_ENTRIES, PathArtifact, QUEUE,
    RowKind, RowRef, Sequence, Space, WORKSPACE, piece_ordinal, row_of_id, value_of,
};

/// A document of a session, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentSummary {
    /// Name.
    pub name: String,
    /// A patch failed and no whole value came since.
    pub stale: bool,
}

/// A document's value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DocumentValue {
    /// The value.
    pub value: Value,
    /// A patch failed and no whole value came since: the value is that before the failed patch.
    pub stale: bool,
}

/// Owned values of one kind, read from a session page by page. An error is the last thing it yields.
pub struct Listed<T> {
    view: View,
    session: String,
    sequence: Sequence,
    pick: fn(&ArchivedEntry) -> Result<Option<T>, rkyv::rancor::Error>,
    /// The page that is read next; `None` before the first.
    page: Option<i64>,
    ready: VecDeque<T>,
    done: bool,
}

impl<T> std::fmt::Debug for Listed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listed").field("session", &self.session).field("page", &self.page).finish_non_exhaustive()
    }
}

impl<T> Listed<T> {
    fn read(&mut self) -> Result<(), Error> {
        let (sequence, at, pick) = (self.sequence, self.page, self.pick);
        let (values, next) = self.view.read(&self.session, |found| {
            let pages = found.outline.pages(sequence);
            let page = at.unwrap_or(pages.start);
            if !pages.contains(&page) {
                return Ok((Vec::new(), None));
            }
            let archive = found.page(sequence, page)?;
            let entries = archive.get().entries.iter().filter_map(|entry| entry.as_ref());
            let row = RowRef { kind: RowKind::of(sequence), epoch: 0, ordinal: page };
            let values = entries.filter_map(|entry| pick(entry).transpose()).collect::<Result<Vec<T>, _>>();
            Ok((values.map_err(|error| BadRow::new(row, error))?, Some(page + 1)))
        })?;
        self.ready.extend(values);
        self.page = next;
        self.done = next.is_none();
        Ok(())
    }
}

impl<T> Iterator for Listed<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(value) = self.ready.pop_front() {
                return Some(Ok(value));
            }
            if self.done {
                return None;
            }
            if let Err(error) = self.read() {
                self.done = true;
                return Some(Err(error));
            }
        }
    }
}

impl View {
    pub(super) fn listed<T>(
        &self,
        session: &str,
        sequence: Sequence,
        pick: fn(&ArchivedEntry) -> Result<Option<T>, rkyv::rancor::Error>,
    ) -> Result<Listed<T>, Error> {
        self.read(session, |_| Ok(()))?;
        Ok(Listed { view: self.clone(), session: session.to_owned(), sequence, pick, page: None, ready: VecDeque::new(), done: false })
    }

    /// The artifacts of one turn, in the order stated; `None` for a turn that is not known or of which nothing was stated.
    ///
    /// Cost: two rows. Errors: [`Error::NoSession`].
    pub fn turn_artifacts(&self, session: &str, turn: &str) -> Result<Option<Vec<PathArtifact>>, Error> {
        self.read(session, |found| {
            let Some(ordinal) = find_id(found, Space::Turn, turn)? else { return Ok(None) };
            let archive = found.page(Sequence::Timeline, ordinal.div_euclid(PAGE_ENTRIES))?;
            let entry = usize::try_from(ordinal.rem_euclid(PAGE_ENTRIES)).ok().and_then(|place| archive.get().entries.get(place)?.as_ref());
            let Some(ArchivedBody::Turn(turn)) = entry.map(|entry| &entry.body) else { return Ok(None) };
            let list = turn.artifacts.as_ref().map(|list| {
                let owned = list.iter().map(|of| PathArtifact { path: of.path.to_string(), artifact_type: of.artifact_type.to_string() });
                owned.collect::<Vec<_>>()
            });
            Ok(list)
        })
    }

    /// The documents of a session by name, in the order in which they were first stated. Errors: [`Error::NoSession`].
    pub fn documents(&self, session: &str) -> Result<Listed<DocumentSummary>, Error> {
        self.listed(session, Sequence::Shelf, |entry| match &entry.body {
            ArchivedBody::Document(document) => Ok(Some(DocumentSummary { name: document.name.to_string(), stale: document.stale })),
            _ => Ok(None),
        })
    }

    /// The diagnostics of a session, in order. Errors: [`Error::NoSession`].
    pub fn diagnostics(&self, session: &str) -> Result<Listed<Diagnostic>, Error> {
        self.listed(session, Sequence::Diagnostics, |entry| match &entry.body {
            ArchivedBody::Diagnostic(diagnostic) => rkyv::deserialize(diagnostic).map(Some),
            _ => Ok(None),
        })
    }

    /// A document's value; `None` when the session has no such document.
    ///
    /// Cost: its text and its patches since it was last written whole. Errors: [`Error::NoSession`].
    pub fn document(&self, session: &str, name: &str) -> Result<Option<DocumentValue>, Error> {
        self.read(session, |found| {
            let Some(ordinal) = shelf_ordinal(found, Space::Document, name)? else { return Ok(None) };
            let value = on_shelf(found, ordinal, |body| match body {
                ArchivedBody::Document(document) => Some(value_at(found, ordinal, document)),
                _ => None,
            })?;
            value.map(Some)
        })
    }
}

/// The value of a document or a surface at this place.
pub(super) fn value_at(found: &Found<'_>, ordinal: i64, document: &ArchivedDocument) -> Result<DocumentValue, Trouble> {
    let stale = document.stale;
    if let Some(value) = found.state().and_then(|state| state.value_at(ordinal)) {
        return Ok(DocumentValue { value: Value::clone(value), stale });
    }
    let base = joined(found, ordinal, Field::BASE, &document.base)?;
    let patches = joined(found, ordinal, Field::PATCHES, &document.patches)?;
    let row = RowRef { kind: RowKind::Shelf, epoch: 0, ordinal: ordinal.div_euclid(PAGE_ENTRIES) };
    let value = value_of(&base, &patches).ok_or_else(|| BadRow::new(row, format!("the value at {ordinal} does not read")))?;
    Ok(DocumentValue { value, stale })
}

/// What `take` makes of the entry at a place of the shelf; trouble when it is another kind of entry.
pub(super) fn on_shelf<T>(found: &Found<'_>, ordinal: i64, take: impl FnOnce(&ArchivedBody) -> Option<T>) -> Result<T, Trouble> {
    let page = ordinal.div_euclid(PAGE_ENTRIES);
    let archive = found.page(Sequence::Shelf, page)?;
    let entry = usize::try_from(ordinal.rem_euclid(PAGE_ENTRIES)).ok().and_then(|place| archive.get().entries.get(place)?.as_ref());
    let row = RowRef { kind: RowKind::Shelf, epoch: 0, ordinal: page };
    let taken = entry.and_then(|entry| take(&entry.body));
    taken.ok_or_else(|| BadRow::new(row, format!("has no such entry at {ordinal}")).into())
}

fn joined(found: &Found<'_>, ordinal: i64, field: Field, text: &ArchivedChunked) -> Result<String, Trouble> {
    let mut joined = String::new();
    for index in 0..text.sealed.to_native() {
        joined.push_str(&found.piece(RowKind::ShelfText, piece_ordinal(ordinal, field, index))?);
    }
    joined.push_str(&text.tail);
    Ok(joined)
}

/// The name by which an entry of the shelf is found.
fn name_of(body: &ArchivedBody) -> Option<(Space, &str)> {
    Some(match body {
        ArchivedBody::Document(document) => (Space::Document, &document.name),
        ArchivedBody::Artifact(artifact) => match (artifact.path.as_ref(), artifact.id.as_ref()) {
            (Some(path), _) => (Space::Path, path),
            (None, id) => (Space::Artifact, id?),
        },
        ArchivedBody::Evidence(evidence) => (Space::Evidence, &evidence.id),
        ArchivedBody::Surface(surface) => (Space::Surface, &surface.id),
        ArchivedBody::Intent(intent) => (Space::Intent, &intent.id),
        ArchivedBody::Steer(steer) => (Space::Steer, &steer.id),
        ArchivedBody::Write(write) => (Space::Write, &write.id),
        ArchivedBody::Queue(_) => (Space::Single, QUEUE),
        ArchivedBody::Workspace(_) => (Space::Single, WORKSPACE),
        _ => return None,
    })
}

/// Where an entry is on the shelf: in memory, else as its row of ids says.
pub(super) fn shelf_ordinal(found: &Found<'_>, space: Space, id: &str) -> Result<Option<i64>, Trouble> {
    if let Some(state) = found.state() {
        for page in state.pages_in_memory(Sequence::Shelf) {
            let Some(archive) = state.page_archive(Sequence::Shelf, page) else { continue };
            let named = |entry: &ArchivedEntry| name_of(&entry.body) == Some((space, id));
            let place = archive.get().entries.iter().position(|entry| entry.as_ref().is_some_and(named));
            if let Some(place) = place.and_then(|place| i64::try_from(place).ok()) {
                return Ok(Some(page * PAGE_ENTRIES + place));
            }
        }
    }
    let (digest, row) = row_of_id(space, id, 0);
    let Some(bytes) = found.optional(row)? else { return Ok(None) };
    let ids = IdRow::from_bytes(row, &bytes)?;
    Ok(ids.ids.iter().find(|(known, _)| *known == digest).map(|(_, ordinal)| *ordinal))
}
