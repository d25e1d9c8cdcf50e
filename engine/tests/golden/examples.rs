//! One fact of every kind and of every variant in it, by name. Frozen: a line is added, never changed.

use turnstore::event::{Owner, Protocol, Source, Stated};
use turnstore::fact::*;

type Named = (String, Stated<'static>);

fn json(text: &'static str) -> Json<'static> {
    Json::new(text).unwrap()
}

fn plain(name: impl Into<String>, fact: Fact<'static>) -> Named {
    (name.into(), fact.into())
}

fn lower(variant: &impl std::fmt::Debug) -> String {
    format!("{variant:?}").to_lowercase()
}

pub fn examples() -> Vec<Named> {
    [metas(), session(), turns(), parts(), tools(), interactions(), queue(), artifacts(), documents(), history(), side()].concat()
}

/// Everything that can stand around a fact.
fn metas() -> Vec<Named> {
    let fact = || Fact::Opaque(Opaque { name: "X".into(), payload: "{}".into() });
    let of = |source, owner, ext| Stated { fact: fact(), source, owner, ext };
    let host = Source::default();
    let named = Source { protocol: Protocol::AIUI, name: Some("TEXT_MESSAGE_CHUNK".into()), ..Source::default() };
    let identified = Source { protocol: Protocol::CODEX, event_id: Some("e-1".into()), ..Source::default() };
    let streamed = Source { stream: Some(("file:a.jsonl".into(), u64::MAX - 1)), part: Some((0, 2)), ..Source::default() };
    vec![
        ("meta.bare".into(), of(host.clone(), Owner::UNKNOWN, None)),
        ("meta.named".into(), of(named, Owner::RUNTIME, None)),
        ("meta.event_id".into(), of(identified, Owner::MODEL, None)),
        ("meta.stream".into(), of(streamed, Owner::HOST, None)),
        ("meta.residue".into(), of(host, Owner::ACTION, Some(json("{\"extra\":\"é\"}")))),
    ]
}

fn session() -> Vec<Named> {
    let whole = SessionChanged { title: Some("Título".into()), status: Some("active".into()), fields: Some(json("{\"a\":1}")) };
    vec![
        plain("session_changed", Fact::SessionChanged(whole)),
        plain("session_changed.nothing", Fact::SessionChanged(SessionChanged::default())),
    ]
}

fn turns() -> Vec<Named> {
    let started = TurnStarted {
        turn: "t1".into(),
        run: Some("r1".into()),
        thread: Some("th".into()),
        parent: Some("p".into()),
        resumes: Some("t0".into()),
    };
    let status = TurnStatus { turn: Some("t1".into()), stage: "plan".into(), phase: Some("started".into()), detail: Some(json("{}")) };
    let ended = TurnEnded {
        turn: Some("t1".into()),
        status: "failed".into(),
        error: Some(json("{\"message\":\"no\"}")),
        retryable: Some(false),
        result: Some(json("[1]")),
        usage: Some(json("{\"tokens\":7}")),
        pending_tools: vec!["c1".into(), "c2".into()],
    };
    let current = CurrentTurn { turn: "t1".into(), status: "running".into(), pending: vec![("i1".into(), json("{}"))] };
    vec![
        plain("turn_started", Fact::TurnStarted(started)),
        plain("turn_status", Fact::TurnStatus(status)),
        plain("turn_ended", Fact::TurnEnded(ended)),
        plain("turn_ended.bare", Fact::TurnEnded(TurnEnded { status: "completed".into(), ..TurnEnded::default() })),
        plain("current_turn_asserted", Fact::CurrentTurnAsserted(CurrentTurnAsserted { current: Some(current) })),
        plain("current_turn_asserted.idle", Fact::CurrentTurnAsserted(CurrentTurnAsserted::default())),
    ]
}

const KINDS: [PartKind; 3] = [PartKind::Text, PartKind::Reasoning, PartKind::Activity];

fn parts() -> Vec<Named> {
    let mut all = Vec::new();
    for kind in KINDS {
        let content = match kind {
            PartKind::Text => Some(Content::Text("hello".into())),
            PartKind::Reasoning => None,
            PartKind::Activity => Some(Content::Json(json("{\"step\":1}"))),
        };
        let opened = PartOpened {
            part: "p1".into(),
            message: "m1".into(),
            kind,
            role: "assistant".into(),
            name: Some("bot".into()),
            turn: Some("t1".into()),
            agent: Some("a1".into()),
            subtype: Some("plan".into()),
            content,
            metadata: Some(json("{\"k\":null}")),
        };
        all.push(plain(format!("part_opened.{}", lower(&kind)), Fact::PartOpened(opened)));
        let delta = PartDelta { part: "p1".into(), kind, text: "wörd".into(), metadata: None };
        all.push(plain(format!("part_delta.{}", lower(&kind)), Fact::PartDelta(delta)));
        let closed = PartFinal { target: PartTarget::Part(kind, "p1".into()), change: PartChange::Closed, metadata: None };
        all.push(plain(format!("part_final.{}", lower(&kind)), Fact::PartFinal(closed)));
    }
    let changes = [("text", PartChange::Text("whole".into())), ("sealed", PartChange::Sealed("c2VhbA==".into()))];
    for (name, change) in changes {
        let last = PartFinal { target: PartTarget::Message("m1".into()), change, metadata: Some(json("{}")) };
        all.push(plain(format!("part_final.message.{name}"), Fact::PartFinal(last)));
    }
    all
}

fn tools() -> Vec<Named> {
    let started = ToolOp::Started {
        name: "grep".into(),
        message: Some("m1".into()),
        turn: Some("t1".into()),
        agent: Some("a1".into()),
        detail: Some(json("{\"risk\":\"low\"}")),
    };
    let result = ToolOp::Result {
        message: Some("m2".into()),
        content: Some(Content::Text("found".into())),
        status: Some("ok".into()),
        reference: Some("blob:1".into()),
        error: Some("none".into()),
        agent: Some("a1".into()),
        detail: Some(json("{\"ms\":3}")),
    };
    let bare = ToolOp::Result { message: None, content: None, status: None, reference: None, error: None, agent: None, detail: None };
    let ops = [
        ("started", started),
        ("args_delta", ToolOp::ArgsDelta { text: "{\"q\":".into() }),
        ("args_set", ToolOp::ArgsSet { text: "{}".into() }),
        ("args_end", ToolOp::ArgsEnd),
        ("progress", ToolOp::Progress { value: json("0.5") }),
        ("output_delta", ToolOp::OutputDelta { text: "line\n".into() }),
        ("result", result),
        ("result.bare", bare),
        ("failed", ToolOp::Failed { error: Some(json("\"boom\"")) }),
        ("sealed", ToolOp::Sealed { value: "x".into() }),
    ];
    let of = |op| Fact::ToolChanged(ToolChanged { tool: "c1".into(), op, metadata: Some(json("{\"m\":true}")) });
    ops.into_iter().map(|(name, op)| plain(format!("tool_changed.{name}"), of(op))).collect()
}

fn interactions() -> Vec<Named> {
    let asked = InteractionRequested {
        interaction: "i1".into(),
        kind: "approval".into(),
        request: Some(json("{\"say\":\"yes?\"}")),
        interrupt: Some(json("{\"id\":\"i1\"}")),
        turn: Some("t1".into()),
        tool: Some("c1".into()),
        expires_at: Some("2030-01-01T00:00:00Z".into()),
    };
    let of = |resolution| InteractionResolved {
        interaction: "i1".into(),
        decision: Some("d1".into()),
        resolution,
        payload: Some(json("{\"approved\":true}")),
        receipt: Some(json("{\"n\":1}")),
    };
    let resolutions = [Resolution::Resolved, Resolution::Cancelled, Resolution::Expired];
    let resolved = resolutions.map(|how| plain(format!("interaction_resolved.{}", lower(&how)), Fact::InteractionResolved(of(how))));
    std::iter::once(plain("interaction_requested", Fact::InteractionRequested(asked))).chain(resolved).collect()
}

fn queue() -> Vec<Named> {
    let items = vec![
        QueueItem { id: "q1".into(), position: Some(0), fields: json("{\"text\":\"next\"}") },
        QueueItem { id: "q2".into(), position: None, fields: json("{}") },
    ];
    let steer = SteerChanged {
        steer: "st1".into(),
        target: Some("t1".into()),
        state: "rejected".into(),
        text: Some("left".into()),
        reason: Some("late".into()),
    };
    vec![plain("queue_set", Fact::QueueSet(QueueSet { items })), plain("steer_changed", Fact::SteerChanged(steer))]
}

fn artifacts() -> Vec<Named> {
    let references = vec![
        ArtifactReference { path: "out/a.md".into(), artifact_type: "document".into() },
        ArtifactReference { path: "b.png".into(), artifact_type: "image".into() },
    ];
    let ops = [
        ArtifactOp::Created,
        ArtifactOp::Updated,
        ArtifactOp::PreviewReady,
        ArtifactOp::VersionCreated,
        ArtifactOp::DiffReady,
        ArtifactOp::ExportStarted,
        ArtifactOp::ExportCompleted,
        ArtifactOp::Failed,
        ArtifactOp::Deleted,
        ArtifactOp::Changed,
    ];
    let of = |op| Fact::ArtifactChanged(ArtifactChanged { artifact: "a1".into(), op, turn: Some("t1".into()), fields: json("{\"v\":2}") });
    let changed = ops.map(|op| plain(format!("artifact_changed.{}", lower(&op)), of(op)));
    let set = Fact::TurnArtifactsSet(TurnArtifactsSet { turn: "t1".into(), references });
    std::iter::once(plain("turn_artifacts_set", set)).chain(changed).collect()
}

fn documents() -> Vec<Named> {
    let patch = json("[{\"op\":\"add\",\"path\":\"/a\",\"value\":1}]");
    let set = |replace| Fact::DocumentSet(DocumentSet { document: "state".into(), value: json("{\"a\":0}"), replace });
    let evidence = EvidenceChanged { evidence: "ev1".into(), turn: None, fields: json("{\"url\":\"x\"}") };
    vec![
        plain("evidence_changed", Fact::EvidenceChanged(evidence)),
        plain("document_set.replace", set(true)),
        plain("document_set.keep", set(false)),
        plain("document_patched", Fact::DocumentPatched(DocumentPatched { document: "state".into(), patch })),
    ]
}

fn history() -> Vec<Named> {
    let modes = [HistoryMode::Page, HistoryMode::Replace, HistoryMode::Merge, HistoryMode::Append];
    let reference = || ArtifactReference { path: "a".into(), artifact_type: "image".into() };
    let tool = HistoryTool {
        id: "c1".into(),
        name: "grep".into(),
        args: "{}".into(),
        sealed: Some("s".into()),
        metadata: Some(json("{\"m\":1}")),
    };
    let message = HistoryMessage {
        id: "m1".into(),
        role: "assistant".into(),
        turn: Some("t1".into()),
        name: Some("bot".into()),
        content: Some(Content::Json(json("[{\"type\":\"text\"}]"))),
        tools: vec![tool],
        tool_call: Some("c0".into()),
        subtype: Some("plan".into()),
        error: Some(json("\"e\"")),
        sealed: Some("s".into()),
        agent: Some("a1".into()),
        metadata: Some(json("{}")),
        artifacts: Some(vec![reference()]),
    };
    let turn =
        HistoryTurn { turn: "t1".into(), status: Some("completed".into()), error: Some(json("null")), artifacts: Some(vec![reference()]) };
    let of = |mode| HistoryImported {
        mode,
        messages: vec![message.clone(), HistoryMessage { id: "m2".into(), role: "user".into(), ..HistoryMessage::default() }],
        turns: vec![turn.clone()],
        older: Some("cursor".into()),
        requested_at: Some(9),
        authoritative_activities: Some(vec!["plan".into()]),
    };
    modes.map(|mode| plain(format!("history_imported.{}", lower(&mode)), Fact::HistoryImported(of(mode)))).to_vec()
}

fn side() -> Vec<Named> {
    let mut all = Vec::new();
    for op in [SurfaceOp::Create, SurfaceOp::Patch, SurfaceOp::Close] {
        let changed = SurfaceChanged { surface: "s1".into(), op, sequence: Some(4), body: json("{\"x\":[]}") };
        all.push(plain(format!("surface_changed.{}", lower(&op)), Fact::SurfaceChanged(changed)));
    }
    for op in [WorkspaceOp::Capabilities, WorkspaceOp::Intent, WorkspaceOp::IntentResult, WorkspaceOp::State] {
        let changed = WorkspaceChanged { op, intent: Some("w1".into()), body: json("{}") };
        all.push(plain(format!("workspace_changed.{}", lower(&op)), Fact::WorkspaceChanged(changed)));
    }
    let attempted =
        WriteOp::Attempted { action: "send".into(), target: Some("t1".into()), key: Some("k1".into()), detail: Some(json("{}")) };
    let settled = WriteOp::Settled { outcome: "unknown".into(), detail: None };
    for (name, op) in [("attempted", attempted), ("settled", settled)] {
        all.push(plain(format!("write_changed.{name}"), Fact::WriteChanged(WriteChanged { write: "w1".into(), op })));
    }
    let marked = CompactionMarked { phase: "started".into(), detail: Some(json("{\"n\":3}")) };
    let noted = DiagnosticNoted { code: "odd".into(), detail: Some("why".into()), raw: Some("{".into()) };
    all.push(plain("compaction_marked", Fact::CompactionMarked(marked)));
    all.push(plain("diagnostic_noted", Fact::DiagnosticNoted(noted)));
    all.push(plain("opaque", Fact::Opaque(Opaque { name: "NEW_EVENT".into(), payload: "{\"type\":\"NEW_EVENT\"}".into() })));
    all
}
