//! `reduce`: State x Event -> State.
//!
//! **Invariant:** total and pure. What does not fit becomes a diagnostic and changes nothing else; no status is invented.

mod artifact;
mod document;
mod evidence;
mod history;
mod interaction;
mod part;
mod queue;
mod shelf_artifact;
mod structure;
mod surface;
mod tool;
mod turn;
mod value;
mod workspace;
mod write;

use std::sync::Arc;

pub use document::value_of;

use super::chunked::Sealed;
use super::entry::{Body, Compaction, Diagnostic, Entry, Sequence};
use super::lookup::{Found, Lookup, Space};
use super::rows::{Field, RowKind, piece_ordinal};
use super::session::{Piece, Session, State};
use crate::event::{self, Event};
use crate::fact::{self, Fact};
use crate::limits::{INLINE_BYTES_MAX, TITLE_BYTES_MAX};

impl Session {
    /// Folds one event. Everything that [`Session::missing`] asked for is in memory. Cost: proportional to the event, whatever the
    /// session holds; a statement of the whole history costs the history.
    pub fn reduce(&mut self, event: &Event<'_>) {
        let mut fold = Fold { state: Arc::make_mut(&mut self.state), lookup: &mut self.lookup, seq: event.seq.get() };
        match &event.body {
            event::Body::Fact(fact) => fold.fact(fact),
            event::Body::Unknown { .. } => fold.state.header.opaque += 1,
        }
        fold.state.header.last_seq = event.seq.get();
    }
}

/// One event on its way into the state.
struct Fold<'s> {
    state: &'s mut State,
    lookup: &'s mut Lookup,
    seq: u64,
}

impl Fold<'_> {
    fn fact(&mut self, fact: &Fact<'_>) {
        match fact {
            Fact::PartDelta(delta) => self.part_delta(delta),
            Fact::ToolChanged(changed) => self.tool_changed(changed),
            Fact::PartOpened(opened) => self.part_opened(opened),
            Fact::PartFinal(last) => self.part_final(last),
            Fact::SessionChanged(changed) => self.session_changed(changed),
            Fact::TurnStarted(started) => self.turn_started(started),
            Fact::TurnStatus(status) => self.turn_status(status),
            Fact::TurnEnded(ended) => self.turn_ended(ended),
            Fact::CurrentTurnAsserted(asserted) => self.current_turn_asserted(asserted),
            Fact::InteractionRequested(asked) => self.interaction_requested(asked),
            Fact::InteractionResolved(resolved) => self.interaction_resolved(resolved),
            Fact::TurnArtifactsSet(set) => self.turn_artifacts_set(set),
            Fact::DocumentSet(set) => self.document_set(set),
            Fact::DocumentPatched(patched) => self.document_patched(patched),
            Fact::HistoryImported(history) => self.history_imported(history),
            Fact::CompactionMarked(marked) => {
                let body = Body::Compaction(Compaction { phase: marked.phase.to_string(), detail: self.json_if(&marked.detail) });
                let turn = self.state.header.current;
                self.append(turn, body);
            }
            Fact::DiagnosticNoted(noted) => self.diagnose(&noted.code, owned(&noted.detail)),
            Fact::Opaque(_) => self.state.header.opaque += 1,
            Fact::QueueSet(set) => self.queue_set(set),
            Fact::SteerChanged(changed) => self.steer_changed(changed),
            Fact::ArtifactChanged(changed) => self.artifact_changed(changed),
            Fact::EvidenceChanged(changed) => self.evidence_changed(changed),
            Fact::SurfaceChanged(changed) => self.surface_changed(changed),
            Fact::WorkspaceChanged(changed) => self.workspace_changed(changed),
            Fact::WriteChanged(changed) => self.write_changed(changed),
        }
    }

    /// The entry that an id means.
    fn find(&self, space: Space, id: &str) -> Option<i64> {
        match self.lookup.find(space, id, self.state.header.epoch) {
            Found::At(ordinal) => Some(ordinal),
            Found::Absent | Found::Ask(_) => None,
        }
    }

    fn name(&mut self, space: Space, id: &str, ordinal: i64) {
        self.lookup.put(space, id, ordinal, self.seq);
    }

    fn body(&self, sequence: Sequence, ordinal: i64) -> Option<&Body> {
        self.state.entry(sequence, ordinal).map(|entry| &entry.body)
    }

    /// The body for changing; stamps the entry with this event.
    fn body_mut(&mut self, sequence: Sequence, ordinal: i64) -> Option<&mut Body> {
        let seq = self.seq;
        self.state.entry_mut(sequence, ordinal, seq).map(|entry| {
            entry.last_seq = seq;
            &mut entry.body
        })
    }

    /// Appends an entry to the timeline and counts it.
    fn append(&mut self, turn: Option<i64>, body: Body) -> i64 {
        let ordinal = self.state.header.next;
        self.state.header.next += 1;
        self.put(ordinal, turn, body);
        ordinal
    }

    fn put(&mut self, ordinal: i64, turn: Option<i64>, body: Body) {
        match body {
            Body::Turn(_) => self.state.header.turns += 1,
            _ => self.state.header.items += 1,
        }
        self.state.header.touch(ordinal, turn, self.seq);
        let entry = Entry { turn, first_seq: self.seq, last_seq: self.seq, body };
        self.state.put_entry(Sequence::Timeline, ordinal, entry, self.seq);
    }

    /// Appends an entry to the shelf.
    fn shelve(&mut self, body: Body) -> i64 {
        let ordinal = self.state.header.shelf_next;
        self.state.header.shelf_next += 1;
        let entry = Entry { turn: None, first_seq: self.seq, last_seq: self.seq, body };
        self.state.put_entry(Sequence::Shelf, ordinal, entry, self.seq);
        ordinal
    }

    fn diagnose(&mut self, code: &str, mut detail: Option<String>) {
        if let Some(detail) = detail.as_mut().filter(|detail| detail.len() > INLINE_BYTES_MAX) {
            detail.truncate(detail.floor_char_boundary(INLINE_BYTES_MAX));
            detail.shrink_to_fit();
        }
        let ordinal = self.state.header.diagnostics;
        self.state.header.diagnostics += 1;
        let body = Body::Diagnostic(Diagnostic { code: code.to_owned(), detail, seq: self.seq });
        let entry = Entry { turn: self.state.header.current, first_seq: self.seq, last_seq: self.seq, body };
        self.state.put_entry(Sequence::Diagnostics, ordinal, entry, self.seq);
    }

    fn session_changed(&mut self, changed: &fact::SessionChanged<'_>) {
        let header = &mut self.state.header;
        if let Some(title) = &changed.title {
            header.title = Some(value::front(title, TITLE_BYTES_MAX).to_owned());
        }
        if let Some(status) = &changed.status {
            header.status = Some(status.to_string());
        }
        let dropped = value::merge(&mut header.fields, changed.fields.as_ref());
        self.note(dropped);
        if changed.title.as_ref().is_some_and(|title| title.len() > TITLE_BYTES_MAX) {
            self.diagnose("title_cut", None);
        }
    }

    /// Stores pieces of text that have just been sealed.
    fn keep(&mut self, kind: RowKind, ordinal: i64, field: Field, sealed: Vec<Sealed>) {
        for (index, text) in sealed {
            let piece = Piece { text: Arc::from(text), changed: self.seq };
            self.state.pieces.insert((kind, piece_ordinal(ordinal, field, index)), piece);
        }
    }
}

fn owned(text: &Option<fact::Text<'_>>) -> Option<String> {
    text.as_deref().map(str::to_owned)
}
