//! What an event needs in memory before it can be folded.
//!
//! **Invariant:** when [`Session::missing`] says `None`, `reduce` reads nothing that is not in memory. The two walk the same ids.

use std::collections::BTreeSet;

use super::entry::{Body, Content, PAGE_ENTRIES, PartRole, Sequence};
use super::lookup::{Found, QUEUE, Space, WORKSPACE};
use super::rows::{Field, RowKind, RowRef, piece_ordinal};
use super::session::{Need, Session, State};
use crate::fact::{Fact, HistoryMode, HistoryTurn, PartChange, PartKind, PartTarget, SurfaceOp, ToolOp, WorkspaceOp};

impl From<PartKind> for PartRole {
    fn from(kind: PartKind) -> Self {
        match kind {
            PartKind::Text => Self::Text,
            PartKind::Reasoning => Self::Reasoning,
            PartKind::Activity => Self::Activity,
        }
    }
}

type Wanted = Result<(), Need>;

impl Session {
    /// The next row that `fact` needs and that is not in memory. The caller reads it, gives it to [`Session::supply`] and asks again.
    /// Cost when nothing is missing: the look-ups that folding makes too.
    pub fn missing(&mut self, fact: &Fact<'_>) -> Option<Need> {
        self.wants(fact).err()
    }

    fn wants(&mut self, fact: &Fact<'_>) -> Wanted {
        if !self.state.tails {
            self.tails()?;
        }
        match fact {
            Fact::PartDelta(delta) => {
                let space = Space::of(delta.kind.into());
                let Some(ordinal) = self.page_of(space, &delta.part)? else {
                    // Text for a message that a call made opens its part, in the current turn.
                    self.turn_or_current(None)?;
                    self.page_of(Space::Activity, &delta.part)?;
                    return self.message(&delta.part);
                };
                self.lookup.recall(space, &delta.part, ordinal);
                Ok(())
            }
            Fact::PartOpened(opened) => {
                self.turn_or_current(opened.turn.as_deref())?;
                self.message(&opened.message)?;
                self.page_of(Space::Activity, &opened.message)?;
                self.page_of(Space::of(opened.kind.into()), &opened.part).map(|_| ())
            }
            Fact::PartFinal(last) => match &last.target {
                PartTarget::Part(kind, part) => self.page_of(Space::of((*kind).into()), part).map(|_| ()),
                PartTarget::Message(message) => {
                    self.turn_or_current(None)?;
                    self.page_of(Space::Reasoning, message)?;
                    self.page_of(Space::Activity, message)?;
                    self.message(message)?;
                    if matches!(last.change, PartChange::Text(_)) { self.texts_of(message) } else { Ok(()) }
                }
            },
            Fact::ToolChanged(changed) => self.tool(&changed.tool, &changed.op),
            Fact::TurnStarted(started) => {
                self.turn(started.run.as_deref())?;
                self.turn(Some(&started.turn))
            }
            Fact::TurnStatus(status) => self.turn_or_current(status.turn.as_deref()),
            Fact::TurnEnded(ended) => {
                self.turn_or_current(ended.turn.as_deref())?;
                self.pending()
            }
            Fact::CurrentTurnAsserted(asserted) => {
                self.turn_or_current(asserted.current.as_ref().map(|current| current.turn.as_ref()))?;
                self.turn_or_current(None)?;
                self.pending()?;
                let asked = asserted.current.iter().flat_map(|current| &current.pending);
                asked.into_iter().try_for_each(|(id, _)| self.page_of(Space::Interaction, id).map(|_| ()))
            }
            Fact::InteractionRequested(asked) => {
                self.turn(asked.turn.as_deref())?;
                self.turn_or_current(None)?;
                self.page_of(Space::Interaction, &asked.interaction).map(|_| ())
            }
            Fact::InteractionResolved(resolved) => {
                self.turn_or_current(None)?;
                self.page_of(Space::Interaction, &resolved.interaction).map(|_| ())
            }
            Fact::TurnArtifactsSet(set) => self.artifacts(&set.turn, set.references.iter().map(|reference| reference.path.as_ref())),
            Fact::DocumentSet(set) => self.page_of(Space::Document, &set.document).map(|_| ()),
            Fact::DocumentPatched(patched) => self.document(Space::Document, &patched.document),
            Fact::QueueSet(_) => self.page_of(Space::Single, QUEUE).map(|_| ()),
            Fact::SteerChanged(changed) => self.page_of(Space::Steer, &changed.steer).map(|_| ()),
            Fact::ArtifactChanged(changed) => {
                self.turn_or_current(changed.turn.as_deref())?;
                self.page_of(Space::Artifact, &changed.artifact).map(|_| ())
            }
            Fact::EvidenceChanged(changed) => {
                self.turn_or_current(changed.turn.as_deref())?;
                self.page_of(Space::Evidence, &changed.evidence).map(|_| ())
            }
            Fact::SurfaceChanged(changed) if changed.op == SurfaceOp::Patch => self.document(Space::Surface, &changed.surface),
            Fact::SurfaceChanged(changed) => self.page_of(Space::Surface, &changed.surface).map(|_| ()),
            Fact::WorkspaceChanged(changed) => match (changed.op, &changed.intent) {
                (WorkspaceOp::Intent | WorkspaceOp::IntentResult, Some(intent)) => self.page_of(Space::Intent, intent).map(|_| ()),
                (WorkspaceOp::Intent | WorkspaceOp::IntentResult, None) => Ok(()),
                (WorkspaceOp::Capabilities | WorkspaceOp::State, _) => self.page_of(Space::Single, WORKSPACE).map(|_| ()),
            },
            Fact::WriteChanged(changed) => self.page_of(Space::Write, &changed.write).map(|_| ()),
            Fact::HistoryImported(history) => {
                self.turn_or_current(None)?;
                self.turn(self.state.current_turn())?;
                if !history.turns.is_empty() {
                    self.pending()?;
                }
                if matches!(history.mode, HistoryMode::Merge | HistoryMode::Replace) {
                    self.whole_timeline()?;
                    self.summarized(&history.turns)?;
                } else if history.mode == HistoryMode::Page && self.state.header.next > self.state.header.first {
                    self.page(Sequence::Timeline, self.state.header.first)?;
                }
                for turn in &history.turns {
                    self.artifacts(&turn.turn, turn.artifacts.iter().flatten().map(|reference| reference.path.as_ref()))?;
                }
                history.messages.iter().try_for_each(|message| {
                    self.turn(message.turn.as_deref())?;
                    self.message(&message.id)?;
                    self.page_of(Space::Reasoning, &message.id)?;
                    self.page_of(Space::Activity, &message.id)?;
                    self.page_of(Space::Document, &format!("activity:{}", message.id))?;
                    message
                        .tool_call
                        .iter()
                        .map(AsRef::as_ref)
                        .chain(message.tools.iter().map(|tool| tool.id.as_ref()))
                        .try_for_each(|tool| self.page_of(Space::Tool, tool).map(|_| ()))
                })
            }
            Fact::SessionChanged(_) | Fact::CompactionMarked(_) | Fact::DiagnosticNoted(_) | Fact::Opaque(_) => Ok(()),
        }
    }

    fn tool(&mut self, id: &str, op: &ToolOp<'_>) -> Wanted {
        match op {
            ToolOp::Started { message, turn, .. } => {
                self.turn_or_current(turn.as_deref())?;
                self.message(message.as_deref().unwrap_or(id))?;
                self.message(id)?;
            }
            ToolOp::Result { message, .. } => {
                message.as_deref().map_or(Ok(()), |message| self.message(message))?;
                self.pending()?;
            }
            _ => {}
        }
        self.page_of(Space::Tool, id).map(|_| ())
    }

    /// The last page of every sequence: any fact may append to one.
    fn tails(&mut self) -> Wanted {
        for sequence in [Sequence::Timeline, Sequence::Shelf, Sequence::Diagnostics] {
            let (_, next) = self.state.extent(sequence);
            if next.rem_euclid(PAGE_ENTRIES) != 0 {
                self.page(sequence, next - 1)?;
            }
        }
        std::sync::Arc::make_mut(&mut self.state).tails = true;
        Ok(())
    }

    fn page(&self, sequence: Sequence, ordinal: i64) -> Wanted {
        if self.state.has_page(sequence, ordinal) {
            return Ok(());
        }
        Err(Need { row: self.state.page_row(sequence, ordinal.div_euclid(PAGE_ENTRIES)), id: None })
    }

    fn page_of(&self, space: Space, id: &str) -> Result<Option<i64>, Need> {
        match self.lookup.find(space, id, self.state.header.epoch) {
            Found::Ask(row) => Err(Need { row, id: Some((space, id.to_owned())) }),
            Found::Absent => Ok(None),
            Found::At(ordinal) => {
                let sequence = if space >= Space::Path { Sequence::Shelf } else { Sequence::Timeline };
                self.page(sequence, ordinal)?;
                Ok(Some(ordinal))
            }
        }
    }

    fn message(&self, id: &str) -> Wanted {
        self.page_of(Space::Text, id)?;
        self.page_of(Space::Message, id).map(|_| ())
    }

    /// Pages on which the text parts of a message are.
    fn texts_of(&self, message: &str) -> Wanted {
        let [one, other] = [self.page_of(Space::Text, message)?, self.page_of(Space::Message, message)?];
        let Some(first) = [one, other].into_iter().flatten().min() else { return Ok(()) };
        let span = self.state.of_message(first);
        (span.start.div_euclid(PAGE_ENTRIES)..=(span.end - 1).div_euclid(PAGE_ENTRIES))
            .try_for_each(|page| self.page(Sequence::Timeline, page * PAGE_ENTRIES))
    }

    fn turn(&self, id: Option<&str>) -> Wanted {
        id.map_or(Ok(()), |id| self.page_of(Space::Turn, id).map(|_| ()))
    }

    fn turn_or_current(&self, id: Option<&str>) -> Wanted {
        match (id, self.state.header.current) {
            (Some(id), _) => self.turn(Some(id)),
            (None, Some(ordinal)) => self.page(Sequence::Timeline, ordinal),
            (None, None) => Ok(()),
        }
    }

    fn pending(&self) -> Wanted {
        self.state.header.pending.iter().try_for_each(|ordinal| self.page(Sequence::Timeline, *ordinal))
    }

    fn artifacts<'a>(&self, turn: &str, mut paths: impl Iterator<Item = &'a str>) -> Wanted {
        let ordinal = self.page_of(Space::Turn, turn)?;
        paths.try_for_each(|path| self.page_of(Space::Path, path).map(|_| ()))?;
        let known = ordinal.and_then(|ordinal| match &self.state.entry(Sequence::Timeline, ordinal)?.body {
            Body::Turn(turn) => turn.artifacts.as_ref(),
            _ => None,
        });
        known.into_iter().flatten().try_for_each(|artifact| self.page_of(Space::Path, &artifact.path).map(|_| ()))
    }

    /// Paths of every turn that a summary may mean once the timeline was laid anew: then a name that was a turn's former run, or is one
    /// turn's id and another's run, can mean another turn than before. The timeline is in memory.
    fn summarized(&self, summaries: &[HistoryTurn<'_>]) -> Wanted {
        let names: BTreeSet<&str> = summaries.iter().map(|summary| summary.turn.as_ref()).collect();
        let (first, next) = self.state.extent(Sequence::Timeline);
        for ordinal in (first..next).filter(|_| !names.is_empty()) {
            let Some(Body::Turn(turn)) = self.state.entry(Sequence::Timeline, ordinal).map(|entry| &entry.body) else { continue };
            if names.contains(turn.id.as_str()) || turn.run.as_deref().is_some_and(|run| names.contains(run)) {
                let mut paths = turn.artifacts.iter().flatten();
                paths.try_for_each(|artifact| self.page_of(Space::Path, &artifact.path).map(|_| ()))?;
            }
        }
        Ok(())
    }

    fn document(&self, space: Space, name: &str) -> Wanted {
        let Some(ordinal) = self.page_of(space, name)? else { return Ok(()) };
        if self.state.documents.contains_key(&ordinal) {
            return Ok(());
        }
        let Some(document) = self.state.entry(Sequence::Shelf, ordinal).and_then(|entry| entry.body.document()) else { return Ok(()) };
        self.pieces(RowKind::ShelfText, ordinal, Field::BASE, document.base.sealed)?;
        self.pieces(RowKind::ShelfText, ordinal, Field::PATCHES, document.patches.sealed)
    }

    fn pieces(&self, kind: RowKind, entry: i64, field: Field, sealed: u32) -> Wanted {
        let epoch = if kind == RowKind::Text { self.state.header.epoch } else { 0 };
        let absent = (0..sealed).map(|index| piece_ordinal(entry, field, index)).find(|ordinal| self.state.piece(kind, *ordinal).is_none());
        absent.map_or(Ok(()), |ordinal| Err(Need { row: RowRef { kind, epoch, ordinal }, id: None }))
    }

    /// Every page and every sealed piece: what a statement of the whole history is compared with. Cost: the history, as the
    /// statement itself.
    fn whole_timeline(&self) -> Wanted {
        let (first, next) = self.state.extent(Sequence::Timeline);
        for page in first.div_euclid(PAGE_ENTRIES)..=(next - 1).div_euclid(PAGE_ENTRIES) {
            if next > first {
                self.page(Sequence::Timeline, page * PAGE_ENTRIES)?;
            }
        }
        (first..next).try_for_each(|ordinal| {
            self.state.texts(ordinal).into_iter().try_for_each(|(field, sealed)| self.pieces(RowKind::Text, ordinal, field, sealed))
        })
    }
}

impl State {
    /// Id of the open or last turn, when its page is in memory.
    fn current_turn(&self) -> Option<&str> {
        match &self.entry(Sequence::Timeline, self.header.current?)?.body {
            Body::Turn(turn) => Some(&turn.id),
            _ => None,
        }
    }

    /// Fields of a timeline entry that have sealed pieces, with their number.
    pub(crate) fn texts(&self, ordinal: i64) -> Vec<(Field, u32)> {
        let content = |content: &Option<Content>| match content {
            Some(Content::Text(text) | Content::Json(text)) => text.sealed,
            _ => 0,
        };
        let mut texts = Vec::new();
        match self.entry(Sequence::Timeline, ordinal).map(|entry| &entry.body) {
            Some(Body::Part(part)) => texts.push((Field::TEXT, content(&part.content))),
            Some(Body::Tool(tool)) => {
                texts.push((Field::ARGS, tool.args.sealed));
                texts.push((Field::OUTPUT, tool.output.sealed));
            }
            _ => {}
        }
        texts.retain(|(_, sealed)| *sealed > 0);
        texts
    }
}
