//! Every id, name, word and path that a fact can carry, at its limit and beyond: 61.

use std::cell::Cell;

use crate::host::*;
use turnstore::event::{Source, Stated};
use turnstore::fact::*;
use turnstore::limits::ID_BYTES_MAX;
use turnstore::{Batch, Engine, Error, Limits};

/// Gives ids; the one whose turn it is has the length asked for.
struct Ids {
    given: Cell<usize>,
    odd: usize,
    bytes: usize,
}

impl Ids {
    fn next(&self) -> Text<'static> {
        let n = self.given.replace(self.given.get() + 1);
        let id = format!("id {n} ");
        Text::from(if n == self.odd { format!("{id:x<bytes$}", bytes = self.bytes) } else { id })
    }

    fn some(&self) -> Option<Text<'static>> {
        Some(self.next())
    }

    fn artifacts(&self) -> Vec<ArtifactReference<'static>> {
        vec![ArtifactReference { path: self.next(), artifact_type: self.next() }]
    }

    fn message(&self) -> HistoryMessage<'static> {
        HistoryMessage {
            id: self.next(),
            role: self.next(),
            turn: self.some(),
            name: self.some(),
            tools: vec![HistoryTool { id: self.next(), name: self.next(), ..HistoryTool::default() }],
            tool_call: self.some(),
            subtype: self.some(),
            agent: self.some(),
            artifacts: Some(self.artifacts()),
            ..HistoryMessage::default()
        }
    }

    fn tools(&self) -> Vec<Fact<'static>> {
        let null = || json("null");
        let result = ToolOp::Result {
            message: self.some(),
            content: None,
            status: self.some(),
            reference: self.some(),
            error: None,
            agent: self.some(),
            detail: None,
        };
        let started =
            ToolOp::Started { name: self.next(), message: self.some(), turn: self.some(), agent: self.some(), detail: Some(null()) };
        let ops = [started, result, ToolOp::ArgsEnd, ToolOp::Progress { value: null() }, ToolOp::Failed { error: None }];
        ops.map(|op| Fact::ToolChanged(ToolChanged { tool: self.next(), op, metadata: None })).into()
    }

    fn turns(&self) -> Vec<Fact<'static>> {
        let (turn, status) = (self.next(), self.next());
        let current = Some(CurrentTurn { turn, status, pending: vec![(self.next(), json("1"))] });
        vec![
            Fact::TurnStarted(TurnStarted {
                turn: self.next(),
                run: self.some(),
                thread: self.some(),
                parent: self.some(),
                resumes: self.some(),
            }),
            Fact::TurnStatus(TurnStatus { turn: self.some(), stage: self.next(), phase: self.some(), detail: None }),
            Fact::TurnEnded(TurnEnded {
                turn: self.some(),
                status: self.next(),
                pending_tools: vec![self.next(), self.next()],
                ..TurnEnded::default()
            }),
            Fact::CurrentTurnAsserted(CurrentTurnAsserted { current }),
            Fact::TurnArtifactsSet(TurnArtifactsSet { turn: self.next(), references: self.artifacts() }),
        ]
    }

    fn parts(&self) -> Vec<Fact<'static>> {
        let (part, message, role) = (self.next(), self.next(), self.next());
        let (name, turn, agent, subtype) = (self.some(), self.some(), self.some(), self.some());
        let last = |target| Fact::PartFinal(PartFinal { target, change: PartChange::Closed, metadata: None });
        let kind = PartKind::Text;
        vec![
            Fact::PartOpened(PartOpened { part, message, kind, role, name, turn, agent, subtype, content: None, metadata: None }),
            Fact::PartDelta(PartDelta { part: self.next(), kind, text: "x".into(), metadata: None }),
            last(PartTarget::Part(kind, self.next())),
            last(PartTarget::Message(self.next())),
        ]
    }

    fn beside(&self) -> Vec<Fact<'static>> {
        let object = || json("{}");
        let write = |op| Fact::WriteChanged(WriteChanged { write: self.next(), op });
        vec![
            Fact::SessionChanged(SessionChanged { title: None, status: self.some(), fields: None }),
            Fact::InteractionRequested(InteractionRequested {
                interaction: self.next(),
                kind: self.next(),
                turn: self.some(),
                tool: self.some(),
                expires_at: self.some(),
                ..InteractionRequested::default()
            }),
            Fact::InteractionResolved(InteractionResolved {
                interaction: self.next(),
                decision: self.some(),
                ..InteractionResolved::default()
            }),
            Fact::QueueSet(QueueSet { items: vec![QueueItem { id: self.next(), position: None, fields: object() }] }),
            Fact::SteerChanged(SteerChanged { steer: self.next(), target: self.some(), state: self.next(), text: None, reason: None }),
            Fact::ArtifactChanged(ArtifactChanged { artifact: self.next(), op: ArtifactOp::Created, turn: self.some(), fields: object() }),
            Fact::EvidenceChanged(EvidenceChanged { evidence: self.next(), turn: self.some(), fields: object() }),
            Fact::DocumentSet(DocumentSet { document: self.next(), value: object(), replace: true }),
            Fact::DocumentPatched(DocumentPatched { document: self.next(), patch: json("[]") }),
            Fact::SurfaceChanged(SurfaceChanged { surface: self.next(), op: SurfaceOp::Create, sequence: None, body: object() }),
            Fact::WorkspaceChanged(WorkspaceChanged { op: WorkspaceOp::Intent, intent: self.some(), body: object() }),
            write(WriteOp::Attempted { action: self.next(), target: self.some(), key: self.some(), detail: None }),
            write(WriteOp::Settled { outcome: self.next(), detail: None }),
            Fact::CompactionMarked(CompactionMarked { phase: self.next(), detail: None }),
            Fact::DiagnosticNoted(DiagnosticNoted { code: self.next(), detail: None, raw: None }),
            Fact::Opaque(Opaque { name: self.next(), payload: "x".into() }),
        ]
    }

    fn history(&self) -> Fact<'static> {
        let turn = HistoryTurn { turn: self.next(), status: self.some(), error: None, artifacts: Some(self.artifacts()) };
        Fact::HistoryImported(HistoryImported {
            mode: HistoryMode::Page,
            messages: vec![self.message(), self.message()],
            turns: vec![turn],
            older: self.some(),
            requested_at: None,
            authoritative_activities: Some(vec![self.next()]),
        })
    }

    /// Facts of all kinds, and sources with names of their own.
    fn all(&self) -> Vec<Stated<'static>> {
        let facts = [self.turns(), self.parts(), self.tools(), self.beside(), vec![self.history()]].concat();
        let mut all: Vec<Stated<'static>> = facts.into_iter().map(Stated::from).collect();
        let kinds: std::collections::BTreeSet<Kind> = all.iter().map(|stated| stated.fact.kind()).collect();
        assert_eq!(kinds.len(), Kind::ALL.len());
        let (name, event_id, stream) = (self.some(), self.some(), Some((self.next(), 1)));
        let named = Source { name, ..Source::default() };
        let identified = Source { event_id, ..Source::default() };
        let numbered = Source { stream, ..Source::default() };
        all.extend([named, identified, numbered].map(|source| Stated { source, ..Stated::from(user("u", "x")) }));
        all
    }
}

fn stated(odd: usize, bytes: usize) -> (Vec<Stated<'static>>, usize) {
    let ids = Ids { given: Cell::new(0), odd, bytes };
    (ids.all(), ids.given.get())
}

#[test]
fn an_id_of_any_kind_is_accepted_at_the_limit_and_refused_beyond_it() {
    let place = Place::new();
    let engine = place.open();
    let (all, count) = stated(usize::MAX, 0);
    engine.append("plain", Batch::of(all)).unwrap();
    assert!(count > 85, "{count}");
    for odd in 0..count {
        let refused = engine.append("s", Batch::of(stated(odd, ID_BYTES_MAX + 1).0));
        assert!(matches!(&refused, Err(Error::Rejected { reason, .. }) if reason.contains("id_bytes_max")), "id {odd}: {refused:?}");
    }
    assert!(engine.view().session("s").unwrap().is_none());
    for odd in 0..count {
        engine.append(&format!("s{odd}"), Batch::of(stated(odd, ID_BYTES_MAX).0)).unwrap();
    }
    engine.close().unwrap();
    assert_eq!(place.open().view().verify(&mut |_| {}).unwrap().difference, None);
}

#[test]
fn the_limit_of_ids_is_that_of_the_engine_and_is_never_above_what_rows_are_made_for() {
    for (asked, holds) in [(100, 100), (1 << 30, ID_BYTES_MAX)] {
        let place = Place::new();
        let engine = Engine::options().limits(Limits { id_bytes_max: asked, ..Limits::default() }).open(place.path()).unwrap();
        engine.append("s", [user(&"x".repeat(holds), "x")]).unwrap();
        let refused = engine.append("s", [user("u", "x"), user(&"x".repeat(holds + 1), "x")]);
        let named = format!("id_bytes_max = {holds}");
        assert!(matches!(&refused, Err(Error::Rejected { index: 1, reason }) if reason.contains(&named)), "{refused:?}");
    }
}
