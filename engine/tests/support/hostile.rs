//! Facts of every kind as nobody means them: empty and endless names, JSON that no parser takes whole, numbers beyond every range.

use proptest::prelude::*;
use proptest::strategy::Union;
use turnstore::fact::*;

use super::Made;

/// Few names, so that they meet; those of other families, of objects' insides, and with bytes that end a string elsewhere.
fn name() -> impl Strategy<Value = Text<'static>> {
    let plain = (0..3).prop_map(|n| format!("n{n}"));
    let odd = prop_oneof![
        Just(String::new()),
        Just("\0".to_owned()),
        Just("n0\0n1".to_owned()),
        Just("__proto__".to_owned()),
        Just("activity:n0".to_owned()),
        Just("state".to_owned()),
        Just("../..//".to_owned()),
        Just("\u{202E}\u{FEFF}\u{1F468}\u{200D}\u{1F469}".to_owned()),
        Just("running".to_owned()),
        Just("long ".repeat(1_200)),
    ];
    prop_oneof![3 => plain, 2 => odd].prop_map(Text::from)
}

fn word() -> impl Strategy<Value = Text<'static>> {
    let known =
        ["user", "assistant", "tool", "reasoning", "activity", "running", "completed", "interrupt", "finished", "rejected", "unknown"];
    prop_oneof![3 => proptest::sample::select(known.to_vec()).prop_map(Text::from), 1 => name()]
}

fn text() -> impl Strategy<Value = Text<'static>> {
    prop_oneof![
        Just(String::new()),
        "\\PC{0,9}",
        Just("\u{1F600}".repeat(3_000)),
        Just("x".repeat(5_000)),
        Just("{\"a\":".to_owned()),
        Just("\r\n\0".to_owned()),
    ]
    .prop_map(Text::from)
}

fn json_text() -> impl Strategy<Value = String> {
    let plain = [
        "null",
        "true",
        "\"\"",
        "[]",
        "{}",
        "{\"a\":1}",
        "{\"a\":1,\"a\":{\"a\":[]},\"\":null}",
        "-0",
        "-0.0e-0",
        "1e308",
        "1e999999999999",
        "-1E-999999999999",
        "18446744073709551616",
        "[18446744073709551615,-9223372036854775809]",
        "{\"__proto__\":{\"a\":1},\"constructor\":null,\"length\":-1}",
        "\"\\ud800\"",
        "\"\\u0000\"",
        "{\"path\":\"\",\"version\":1e400,\"artifact_type\":[[]]}",
        "{\"position\":-1,\"id\":null,\"id\":\"x\"}",
        "[{\"op\":\"add\",\"path\":\"/a\",\"value\":1}]",
        "[{\"op\":\"move\",\"from\":\"\",\"path\":\"/a/b\"}]",
        "[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/a\"},{\"op\":\"copy\",\"from\":\"\",\"path\":\"/b\"},{\"op\":\"copy\",\"from\":\"\",\"path\":\"/c\"}]",
        "[{\"op\":\"remove\",\"path\":\"\"}]",
        "[{\"op\":\"replace\",\"path\":\"/-\",\"value\":{}}]",
        "[{\"op\":\"add\",\"path\":\"/99999999999999999999\",\"value\":0}]",
        "[{\"op\":\"add\",\"path\":\"/~2~\",\"value\":0}]",
        "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]",
        "[{\"op\":1},null,[]]",
    ];
    let deep = (1_usize..20_000, any::<bool>()).prop_map(|(depth, object)| {
        let (open, close) = if object { ("{\"a\":", "}") } else { ("[", "]") };
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    });
    let wide = (1_usize..400).prop_map(|n| format!("{{{}}}", (0..n).map(|n| format!("\"k{n}\":{n}")).collect::<Vec<_>>().join(",")));
    let digits = (1_usize..3_000).prop_map(|n| "9".repeat(n));
    prop_oneof![12 => proptest::sample::select(plain.to_vec()).prop_map(str::to_owned), 1 => deep, 1 => wide, 1 => digits]
}

fn json() -> impl Strategy<Value = Json<'static>> {
    json_text().prop_map(|text| Json::new(text).unwrap_or_else(|_| Json::new("null").unwrap()))
}

fn opt<S: Strategy>(strategy: S) -> impl Strategy<Value = Option<S::Value>> {
    proptest::option::of(strategy)
}

fn many<S: Strategy>(strategy: S) -> impl Strategy<Value = Vec<S::Value>> {
    proptest::collection::vec(strategy, 0..4)
}

fn content() -> impl Strategy<Value = Content<'static>> {
    prop_oneof![text().prop_map(Content::Text), json().prop_map(Content::Json)]
}

fn kind() -> impl Strategy<Value = PartKind> {
    prop_oneof![Just(PartKind::Text), Just(PartKind::Reasoning), Just(PartKind::Activity)]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()]
}

fn reference() -> impl Strategy<Value = ArtifactReference<'static>> {
    (name(), word()).prop_map(|(path, artifact_type)| ArtifactReference { path, artifact_type })
}

fn tool_op() -> impl Strategy<Value = ToolOp<'static>> {
    prop_oneof![
        (name(), opt(name()), opt(name()), opt(name()), opt(json())).prop_map(|(name, message, turn, agent, detail)| ToolOp::Started {
            name,
            message,
            turn,
            agent,
            detail
        }),
        text().prop_map(|text| ToolOp::ArgsDelta { text }),
        text().prop_map(|text| ToolOp::ArgsSet { text }),
        Just(ToolOp::ArgsEnd),
        json().prop_map(|value| ToolOp::Progress { value }),
        text().prop_map(|text| ToolOp::OutputDelta { text }),
        (opt(name()), opt(content()), opt(word()), opt(name()), opt(text()), opt(name()), opt(json())).prop_map(
            |(message, content, status, reference, error, agent, detail)| ToolOp::Result {
                message,
                content,
                status,
                reference,
                error,
                agent,
                detail
            }
        ),
        opt(json()).prop_map(|error| ToolOp::Failed { error }),
        text().prop_map(|value| ToolOp::Sealed { value }),
    ]
}

fn message() -> impl Strategy<Value = HistoryMessage<'static>> {
    let tool =
        (name(), name(), text(), opt(json())).prop_map(|(id, name, args, metadata)| HistoryTool { id, name, args, sealed: None, metadata });
    let about = (opt(name()), opt(json()), opt(text()), opt(name()), opt(json()), opt(many(reference())));
    (name(), word(), opt(name()), opt(content()), many(tool), opt(name()), about).prop_map(
        |(id, role, turn, content, tools, tool_call, (subtype, error, sealed, agent, metadata, artifacts))| HistoryMessage {
            id,
            role,
            turn,
            name: None,
            content,
            tools,
            tool_call,
            subtype,
            error,
            sealed,
            agent,
            metadata,
            artifacts,
        },
    )
}

fn history() -> impl Strategy<Value = Made> {
    let mode = prop_oneof![Just(HistoryMode::Page), Just(HistoryMode::Replace), Just(HistoryMode::Merge), Just(HistoryMode::Append)];
    let turn = (name(), opt(word()), opt(json()), opt(many(reference()))).prop_map(|(turn, status, error, artifacts)| HistoryTurn {
        turn,
        status,
        error,
        artifacts,
    });
    (mode, many(message()), many(turn), opt(name()), opt(number()), opt(many(name()))).prop_map(
        |(mode, messages, turns, older, requested_at, authoritative_activities)| {
            Fact::HistoryImported(HistoryImported { mode, messages, turns, older, requested_at, authoritative_activities })
        },
    )
}

fn artifact_op() -> impl Strategy<Value = ArtifactOp> {
    proptest::sample::select(vec![
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
    ])
}

fn write_op() -> impl Strategy<Value = WriteOp<'static>> {
    prop_oneof![
        (word(), opt(name()), opt(name()), opt(json())).prop_map(|(action, target, key, detail)| WriteOp::Attempted {
            action,
            target,
            key,
            detail
        }),
        (word(), opt(json())).prop_map(|(outcome, detail)| WriteOp::Settled { outcome, detail }),
    ]
}

/// Facts of one kind, by its number.
pub(crate) fn of_kind(kind_number: u8) -> BoxedStrategy<Made> {
    match kind_number {
        1 => (opt(text()), opt(word()), opt(json()))
            .prop_map(|(title, status, fields)| Fact::SessionChanged(SessionChanged { title, status, fields }))
            .boxed(),
        2 => (name(), opt(name()), opt(name()), opt(name()), opt(name()))
            .prop_map(|(turn, run, thread, parent, resumes)| Fact::TurnStarted(TurnStarted { turn, run, thread, parent, resumes }))
            .boxed(),
        3 => (opt(name()), word(), opt(word()), opt(json()))
            .prop_map(|(turn, stage, phase, detail)| Fact::TurnStatus(TurnStatus { turn, stage, phase, detail }))
            .boxed(),
        4 => (opt(name()), word(), opt(json()), opt(any::<bool>()), opt(json()), opt(json()), many(name()))
            .prop_map(|(turn, status, error, retryable, result, usage, pending_tools)| {
                Fact::TurnEnded(TurnEnded { turn, status, error, retryable, result, usage, pending_tools })
            })
            .boxed(),
        5 => opt((name(), word(), many((name(), json()))))
            .prop_map(|current| {
                let current = current.map(|(turn, status, pending)| CurrentTurn { turn, status, pending });
                Fact::CurrentTurnAsserted(CurrentTurnAsserted { current })
            })
            .boxed(),
        6 => ((name(), name(), kind(), word(), opt(name())), (opt(name()), opt(name()), opt(name()), opt(content()), opt(json())))
            .prop_map(|((part, message, kind, role, name), (turn, agent, subtype, content, metadata))| {
                Fact::PartOpened(PartOpened { part, message, kind, role, name, turn, agent, subtype, content, metadata })
            })
            .boxed(),
        7 => (name(), kind(), text(), opt(json()))
            .prop_map(|(part, kind, text, metadata)| Fact::PartDelta(PartDelta { part, kind, text, metadata }))
            .boxed(),
        8 => {
            let target =
                prop_oneof![(kind(), name()).prop_map(|(kind, id)| PartTarget::Part(kind, id)), name().prop_map(PartTarget::Message)];
            let change = prop_oneof![Just(PartChange::Closed), text().prop_map(PartChange::Text), text().prop_map(PartChange::Sealed)];
            (target, change, opt(json()))
                .prop_map(|(target, change, metadata)| Fact::PartFinal(PartFinal { target, change, metadata }))
                .boxed()
        }
        9 => {
            (name(), tool_op(), opt(json())).prop_map(|(tool, op, metadata)| Fact::ToolChanged(ToolChanged { tool, op, metadata })).boxed()
        }
        10 => (name(), word(), opt(json()), opt(json()), opt(name()), opt(name()), opt(text()))
            .prop_map(|(interaction, kind, request, interrupt, turn, tool, expires_at)| {
                Fact::InteractionRequested(InteractionRequested { interaction, kind, request, interrupt, turn, tool, expires_at })
            })
            .boxed(),
        11 => {
            let resolution = prop_oneof![Just(Resolution::Resolved), Just(Resolution::Cancelled), Just(Resolution::Expired)];
            (name(), opt(name()), resolution, opt(json()), opt(json()))
                .prop_map(|(interaction, decision, resolution, payload, receipt)| {
                    Fact::InteractionResolved(InteractionResolved { interaction, decision, resolution, payload, receipt })
                })
                .boxed()
        }
        12 => many((name(), opt(number()), json()).prop_map(|(id, position, fields)| QueueItem { id, position, fields }))
            .prop_map(|items| Fact::QueueSet(QueueSet { items }))
            .boxed(),
        13 => (name(), opt(name()), word(), opt(text()), opt(text()))
            .prop_map(|(steer, target, state, text, reason)| Fact::SteerChanged(SteerChanged { steer, target, state, text, reason }))
            .boxed(),
        14 => {
            (name(), many(reference())).prop_map(|(turn, references)| Fact::TurnArtifactsSet(TurnArtifactsSet { turn, references })).boxed()
        }
        15 => (name(), artifact_op(), opt(name()), json())
            .prop_map(|(artifact, op, turn, fields)| Fact::ArtifactChanged(ArtifactChanged { artifact, op, turn, fields }))
            .boxed(),
        16 => (name(), opt(name()), json())
            .prop_map(|(evidence, turn, fields)| Fact::EvidenceChanged(EvidenceChanged { evidence, turn, fields }))
            .boxed(),
        17 => (name(), json(), any::<bool>())
            .prop_map(|(document, value, replace)| Fact::DocumentSet(DocumentSet { document, value, replace }))
            .boxed(),
        18 => (name(), json()).prop_map(|(document, patch)| Fact::DocumentPatched(DocumentPatched { document, patch })).boxed(),
        19 => history().boxed(),
        20 => {
            let op = prop_oneof![Just(SurfaceOp::Create), Just(SurfaceOp::Patch), Just(SurfaceOp::Close)];
            (name(), op, opt(number()), json())
                .prop_map(|(surface, op, sequence, body)| Fact::SurfaceChanged(SurfaceChanged { surface, op, sequence, body }))
                .boxed()
        }
        21 => {
            let ops = vec![WorkspaceOp::Capabilities, WorkspaceOp::Intent, WorkspaceOp::IntentResult, WorkspaceOp::State];
            (proptest::sample::select(ops), opt(name()), json())
                .prop_map(|(op, intent, body)| Fact::WorkspaceChanged(WorkspaceChanged { op, intent, body }))
                .boxed()
        }
        22 => (name(), write_op()).prop_map(|(write, op)| Fact::WriteChanged(WriteChanged { write, op })).boxed(),
        23 => (word(), opt(json())).prop_map(|(phase, detail)| Fact::CompactionMarked(CompactionMarked { phase, detail })).boxed(),
        24 => (word(), opt(text()), opt(text()))
            .prop_map(|(code, detail, raw)| Fact::DiagnosticNoted(DiagnosticNoted { code, detail, raw }))
            .boxed(),
        _ => (name(), text()).prop_map(|(name, payload)| Fact::Opaque(Opaque { name, payload })).boxed(),
    }
}

/// A fact of any kind.
pub(crate) fn hostile() -> impl Strategy<Value = Made> {
    Union::new(Kind::ALL.iter().map(|kind| of_kind(kind.0)))
}
