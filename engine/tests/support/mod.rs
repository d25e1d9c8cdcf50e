//! Generated facts, and a session whose rows are a map: shared by the law tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

pub(crate) mod hostile;
mod side;

use std::collections::BTreeMap;

use proptest::prelude::*;
use turnstore::event::{self, Event, Source};
use turnstore::fact::*;
use turnstore::state::{RowKind, RowRef, Session};
use turnstore::{Position, Seq, Stream};

/// A fact as its parts, so that a failing case prints small and shrinks well.
pub(crate) type Made = Fact<'static>;

fn id(prefix: &'static str, many: u8) -> impl Strategy<Value = Text<'static>> {
    (0..many).prop_map(move |n| Text::from(format!("{prefix}{n}")))
}

fn some_text() -> impl Strategy<Value = Text<'static>> {
    prop_oneof![
        6 => "[a-z ]{0,30}".prop_map(Text::from),
        1 => "[a-zé€\u{1F600}]{0,12}".prop_map(Text::from),
        1 => (1_usize..12_000).prop_map(|n| Text::from("0123456789abcdef ".repeat(n / 17 + 1))),
    ]
}

fn json() -> impl Strategy<Value = Json<'static>> {
    prop_oneof![
        Just("null"),
        Just("1"),
        Just("\"x\""),
        Just("{}"),
        Just("{\"a\":1,\"b\":[1,2]}"),
        Just("{\"k\":\"v\"}"),
        Just("[{\"a\":2}]"),
    ]
    .prop_map(|text| Json::new(text).unwrap())
}

fn patch() -> impl Strategy<Value = Json<'static>> {
    prop_oneof![
        3 => Just("[{\"op\":\"add\",\"path\":\"/a\",\"value\":[1]}]".to_owned()),
        3 => (0..9).prop_map(|n| format!("[{{\"op\":\"add\",\"path\":\"/a/-\",\"value\":{n}}}]")),
        1 => Just("[{\"op\":\"remove\",\"path\":\"/zz\"}]".to_owned()),
        1 => Just("[{\"op\":\"add\",\"path\":\"/__proto__\",\"value\":1}]".to_owned()),
        1 => Just("{\"not\":\"a patch\"}".to_owned()),
        1 => (1_usize..300).prop_map(|n| format!("[{{\"op\":\"add\",\"path\":\"/b{n}\",\"value\":\"{}\"}}]", "v".repeat(n * 20))),
    ]
    .prop_map(|text| Json::new(text).unwrap())
}

fn kind() -> impl Strategy<Value = PartKind> {
    prop_oneof![5 => Just(PartKind::Text), 2 => Just(PartKind::Reasoning), 1 => Just(PartKind::Activity)]
}

fn content() -> impl Strategy<Value = Content<'static>> {
    prop_oneof![
        6 => some_text().prop_map(Content::Text),
        1 => json().prop_map(Content::Json),
        1 => Just(Content::Text("large ".repeat(14_000).into())),
    ]
}

fn opt<S: Strategy>(strategy: S) -> impl Strategy<Value = Option<S::Value>> {
    proptest::option::of(strategy)
}

fn turn_fact() -> impl Strategy<Value = Made> {
    let status = prop_oneof![Just("completed"), Just("failed"), Just("interrupt"), Just("interrupted"), Just("weird")];
    let pending = proptest::collection::vec((id("i", 6), json()), 0..3);
    prop_oneof![
        4 => (id("t", 5), opt(id("r", 3))).prop_map(|(turn, run)| Fact::TurnStarted(TurnStarted { turn, run, ..TurnStarted::default() })),
        2 => (opt(id("t", 5)), id("stage", 3)).prop_map(|(turn, stage)| Fact::TurnStatus(TurnStatus { turn, stage, ..TurnStatus::default() })),
        3 => (opt(id("t", 5)), status).prop_map(|(turn, status)| Fact::TurnEnded(TurnEnded { turn, status: status.into(), ..TurnEnded::default() })),
        1 => opt((id("t", 5), pending)).prop_map(|current| Fact::CurrentTurnAsserted(CurrentTurnAsserted {
            current: current.map(|(turn, pending)| CurrentTurn { turn, status: "running".into(), pending }),
        })),
    ]
}

fn part_fact() -> impl Strategy<Value = Made> {
    prop_oneof![
        3 => (opt(id("m", 9)), id("m", 9), kind(), opt(id("t", 5)), opt(content()), opt(json())).prop_map(|(part, message, kind, turn, content, metadata)| {
            let role = match kind { PartKind::Text => "assistant", PartKind::Reasoning => "reasoning", PartKind::Activity => "activity" };
            Fact::PartOpened(PartOpened {
                part: part.unwrap_or_else(|| message.clone()), message, kind, role: role.into(), name: None, turn, agent: None, subtype: None,
                content: content.filter(|_| kind != PartKind::Activity), metadata,
            })
        }),
        8 => (id("m", 9), kind(), some_text()).prop_map(|(part, kind, text)| Fact::PartDelta(PartDelta { part, kind, text, metadata: None })),
        2 => (id("m", 9), kind(), opt(some_text())).prop_map(|(part, kind, text)| Fact::PartFinal(PartFinal {
            target: PartTarget::Part(kind, part),
            change: text.map_or(PartChange::Closed, PartChange::Text),
            metadata: None,
        })),
        2 => (id("m", 9), some_text(), any::<bool>()).prop_map(|(message, value, sealed)| Fact::PartFinal(PartFinal {
            target: PartTarget::Message(message),
            change: if sealed { PartChange::Sealed(value) } else { PartChange::Text(value) },
            metadata: None,
        })),
    ]
}

fn tool_fact() -> impl Strategy<Value = Made> {
    let op = prop_oneof![
        3 => (opt(id("m", 9)), opt(id("t", 5))).prop_map(|(message, turn)| ToolOp::Started { name: "grep".into(), message, turn, agent: None, detail: None }),
        4 => some_text().prop_map(|text| ToolOp::ArgsDelta { text }),
        1 => some_text().prop_map(|text| ToolOp::ArgsSet { text }),
        1 => Just(ToolOp::ArgsEnd),
        1 => some_text().prop_map(|text| ToolOp::OutputDelta { text }),
        3 => (opt(id("x", 9)), opt(content())).prop_map(|(message, content)| ToolOp::Result {
            message, content, status: None, reference: None, error: None, agent: None, detail: None,
        }),
        1 => opt(json()).prop_map(|error| ToolOp::Failed { error }),
    ];
    (id("c", 9), op, opt(json())).prop_map(|(tool, op, metadata)| Fact::ToolChanged(ToolChanged { tool, op, metadata }))
}

fn interaction_fact() -> impl Strategy<Value = Made> {
    prop_oneof![
        (id("i", 6), opt(json()), opt(id("t", 5))).prop_map(|(interaction, request, turn)| Fact::InteractionRequested(
            InteractionRequested { interaction, kind: "approval".into(), request, turn, ..InteractionRequested::default() }
        )),
        (id("i", 6), opt(id("d", 3)), opt(json()), opt(json())).prop_map(|(interaction, decision, payload, receipt)| {
            Fact::InteractionResolved(InteractionResolved { interaction, decision, resolution: Resolution::Resolved, payload, receipt })
        }),
    ]
}

fn document_fact() -> impl Strategy<Value = Made> {
    let name = prop_oneof![3 => Just(Text::from("state")), 1 => id("activity:m", 9)];
    prop_oneof![
        1 => (name.clone(), json(), any::<bool>()).prop_map(|(document, value, replace)| Fact::DocumentSet(DocumentSet { document, value, replace })),
        2 => (name, patch()).prop_map(|(document, patch)| Fact::DocumentPatched(DocumentPatched { document, patch })),
    ]
}

fn reference() -> impl Strategy<Value = ArtifactReference<'static>> {
    (id("p/", 6), prop_oneof![Just("document"), Just("image")])
        .prop_map(|(path, artifact_type)| ArtifactReference { path, artifact_type: artifact_type.into() })
}

fn message() -> impl Strategy<Value = HistoryMessage<'static>> {
    let role = prop_oneof![3 => Just("assistant"), 2 => Just("user"), 1 => Just("reasoning"), 1 => Just("tool")];
    let tool = (id("c", 9), some_text()).prop_map(|(id, args)| HistoryTool { id, name: "grep".into(), args, ..HistoryTool::default() });
    (id("m", 12), role, opt(id("t", 5)), opt(some_text()), proptest::collection::vec(tool, 0..2), id("c", 9)).prop_map(
        |(id, role, turn, content, tools, call)| HistoryMessage {
            id,
            role: role.into(),
            turn,
            content: content.map(Content::Text),
            tools: if role == "assistant" { tools } else { Vec::new() },
            tool_call: (role == "tool").then_some(call),
            ..HistoryMessage::default()
        },
    )
}

fn history_fact() -> impl Strategy<Value = Made> {
    let mode = prop_oneof![3 => Just(HistoryMode::Merge), 1 => Just(HistoryMode::Replace), 2 => Just(HistoryMode::Page), 2 => Just(HistoryMode::Append)];
    let status = prop_oneof![3 => Just("completed"), 1 => Just("running"), 1 => Just("waiting"), 1 => Just("unknown")];
    let turn = (id("t", 8), opt(status), opt(json()), opt(proptest::collection::vec(reference(), 0..3)))
        .prop_map(|(turn, status, error, artifacts)| HistoryTurn { turn, status: status.map(Text::from), error, artifacts });
    (mode, proptest::collection::vec(message(), 0..6), proptest::collection::vec(turn, 0..3), opt(id("c", 2)), opt(0_u64..90)).prop_map(
        |(mode, messages, turns, older, requested_at)| {
            Fact::HistoryImported(HistoryImported { mode, messages, turns, older, requested_at, authoritative_activities: None })
        },
    )
}

/// Any fact that the reducer folds, over small families of ids, so that they meet.
pub(crate) fn fact() -> impl Strategy<Value = Made> {
    prop_oneof![
        10 => part_fact(),
        6 => tool_fact(),
        4 => turn_fact(),
        3 => interaction_fact(),
        2 => document_fact(),
        1 => history_fact(),
        6 => side::side_fact(),
        1 => (id("t", 5), proptest::collection::vec(reference(), 0..4)).prop_map(|(turn, references)| Fact::TurnArtifactsSet(TurnArtifactsSet { turn, references })),
        1 => opt(some_text()).prop_map(|title| Fact::SessionChanged(SessionChanged { title, ..SessionChanged::default() })),
        1 => Just(Fact::Opaque(Opaque { name: "NEW".into(), payload: "{}".into() })),
        1 => Just(Fact::DiagnosticNoted(DiagnosticNoted { code: "odd".into(), detail: None, raw: None })),
        1 => Just(Fact::CompactionMarked(CompactionMarked { phase: "started".into(), detail: None })),
    ]
}

/// Up to `many` facts of one session.
pub(crate) fn facts(many: usize) -> impl Strategy<Value = Vec<Made>> {
    proptest::collection::vec(fact(), 1..many)
}

/// A fact in its place.
pub(crate) fn event<'a>(seq: u64, fact: &Fact<'a>) -> Event<'a> {
    Event {
        position: Position::new(seq).unwrap(),
        session: Stream::FIRST,
        seq: Seq::new(seq).unwrap(),
        recorded_at: 0,
        source: Source::default(),
        owner: event::Owner::UNKNOWN,
        body: event::Body::Fact(fact.clone()),
        ext: None,
    }
}

/// A session whose rows are a map: what a store does, without one.
pub(crate) struct Desk {
    pub(crate) session: Session,
    pub(crate) rows: BTreeMap<RowRef, Vec<u8>>,
    pub(crate) seq: u64,
    pub(crate) rows_read: u64,
    pub(crate) bytes_written: u64,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { session: Session::empty(), rows: BTreeMap::new(), seq: 0, rows_read: 0, bytes_written: 0 }
    }

    pub(crate) fn fold(&mut self, fact: &Fact<'_>) {
        while let Some(need) = self.session.missing(fact) {
            self.rows_read += 1;
            let row = self.rows.get(&need.row).map(Vec::as_slice);
            self.session.supply(&need, row).unwrap();
        }
        self.seq += 1;
        self.session.reduce(&event(self.seq, fact));
    }

    pub(crate) fn checkpoint(&mut self) {
        let rows = self.session.state.changed_rows().unwrap();
        let ids = self.session.take_changed_ids();
        for (row, bytes) in rows.into_iter().map(|(row, bytes)| (row, bytes.to_vec())).chain(ids) {
            self.bytes_written += bytes.len() as u64;
            self.rows.insert(row, bytes);
        }
        self.session.written(self.seq);
    }

    /// Forgets everything in memory.
    pub(crate) fn evict(&mut self) {
        self.checkpoint();
        let header = RowRef { kind: RowKind::Header, epoch: 0, ordinal: 0 };
        if let Some(row) = self.rows.get(&header).filter(|_| self.seq > 0) {
            self.session = Session::of_row(row).unwrap();
        }
    }

    /// Every row of the state's present epoch, as bytes.
    pub(crate) fn canonical(&mut self) -> BTreeMap<RowRef, Vec<u8>> {
        self.checkpoint();
        let epoch = self.session.state.header().epoch;
        self.rows
            .iter()
            .filter(|(row, _)| {
                row.epoch == 0 && epoch == 0
                    || row.epoch == epoch
                    || matches!(row.kind, RowKind::Header | RowKind::Shelf | RowKind::Diagnostics | RowKind::ShelfIds)
            })
            .map(|(row, bytes)| (*row, bytes.clone()))
            .collect()
    }
}
