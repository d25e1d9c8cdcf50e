//! Facts beside the timeline: queue, steers, artifacts by id, evidence, surfaces, workspace, writes.

use proptest::prelude::*;
use turnstore::fact::*;

use super::{Made, id, json, opt, patch, some_text};

fn built(text: String) -> Json<'static> {
    Json::new(text).unwrap()
}

/// Objects with the names that the reducer knows, in every mixture.
fn fields() -> impl Strategy<Value = Json<'static>> {
    let member = prop_oneof![
        prop::sample::select(vec!["creating", "ready", "failed", "deleted"]).prop_map(|status| format!("\"artifactStatus\":\"{status}\"")),
        (0..5).prop_map(|n| format!("\"artifactVersionId\":\"v{n}\"")),
        (0..3).prop_map(|n| format!("\"artifactExportId\":\"x{n}\"")),
        (0..3).prop_map(|n| format!("\"verdict\":{{\"score\":{n}}}")),
        prop::sample::select(vec![
            "\"artifactPreview\":null",
            "\"artifactKind\":\"report\"",
            "\"error\":\"full\"",
            "\"status\":\"exported\""
        ])
        .prop_map(str::to_owned),
        (0_usize..400).prop_map(|n| format!("\"artifactPreview\":\"{}\"", "p".repeat(n * 10))),
        (0..9, 0_usize..300).prop_map(|(key, n)| format!("\"k{key}\":\"{}\"", "v".repeat(n))),
    ];
    prop_oneof![
        9 => proptest::collection::btree_set(member, 0..4).prop_map(|members| {
            let mut keys = std::collections::BTreeSet::new();
            let kept: Vec<_> = members.into_iter().filter(|member| keys.insert(member.split(':').next().unwrap().to_owned())).collect();
            built(format!("{{{}}}", kept.join(",")))
        }),
        1 => json(),
    ]
}

fn artifact() -> impl Strategy<Value = Made> {
    let ops = vec![
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
    (id("A", 4), prop::sample::select(ops), opt(id("t", 5)), fields())
        .prop_map(|(artifact, op, turn, fields)| Fact::ArtifactChanged(ArtifactChanged { artifact, op, turn, fields }))
}

fn surface() -> impl Strategy<Value = Made> {
    let create = prop_oneof![
        Just("{\"state\":{\"a\":[]}}".to_owned()),
        Just("{\"root\":\"r\",\"components\":[{\"id\":\"r\",\"children\":[\"z\"]},{\"id\":\"r\"}]}".to_owned()),
        (1_usize..300).prop_map(|n| format!("{{\"state\":{{\"a\":\"{}\"}}}}", "s".repeat(n * 40))),
        Just("[]".to_owned()),
    ];
    let operations = (patch(), any::<bool>()).prop_map(|(patch, inside)| {
        let text = patch.as_str().to_owned();
        built(if inside { format!("{{\"surfaceId\":\"u\",\"patch\":{text}}}") } else { text })
    });
    prop_oneof![
        2 => (id("u", 3), opt(0_u64..3), create).prop_map(|(surface, sequence, body)| {
            Fact::SurfaceChanged(SurfaceChanged { surface, op: SurfaceOp::Create, sequence, body: built(body) })
        }),
        6 => (id("u", 3), opt(0_u64..9), operations).prop_map(|(surface, sequence, body)| {
            Fact::SurfaceChanged(SurfaceChanged { surface, op: SurfaceOp::Patch, sequence, body })
        }),
        1 => id("u", 3).prop_map(|surface| {
            Fact::SurfaceChanged(SurfaceChanged { surface, op: SurfaceOp::Close, sequence: None, body: built("null".to_owned()) })
        }),
    ]
}

fn workspace() -> impl Strategy<Value = Made> {
    let changed = |op, intent, body| Fact::WorkspaceChanged(WorkspaceChanged { op, intent, body: built(body) });
    let status = prop::sample::select(vec!["accepted", "completed", "rejected", "failed", "odd"]);
    prop_oneof![
        (0_usize..300).prop_map(move |n| changed(WorkspaceOp::Capabilities, None, format!("{{\"modes\":\"{}\"}}", "m".repeat(n * 10)))),
        (0..4).prop_map(move |n| changed(WorkspaceOp::State, None, format!("{{\"revision\":{n}}}"))),
        (opt(id("n", 4)), 0..2).prop_map(move |(intent, n)| changed(WorkspaceOp::Intent, intent, format!("{{\"type\":{n}}}"))),
        (opt(id("n", 4)), status).prop_map(move |(intent, status)| changed(
            WorkspaceOp::IntentResult,
            intent,
            format!("{{\"status\":\"{status}\"}}")
        )),
    ]
}

fn write() -> impl Strategy<Value = Made> {
    let op = prop_oneof![
        (opt(id("s", 2)), opt(json())).prop_map(|(target, detail)| WriteOp::Attempted { action: "send".into(), target, key: None, detail }),
        (prop::sample::select(vec!["confirmed", "failed", "unknown"]), opt(json()))
            .prop_map(|(outcome, detail)| WriteOp::Settled { outcome: outcome.into(), detail }),
    ];
    (id("w", 4), op).prop_map(|(write, op)| Fact::WriteChanged(WriteChanged { write, op }))
}

/// Facts that change something beside the timeline.
pub(super) fn side_fact() -> impl Strategy<Value = Made> {
    let item = (id("q", 5), opt(0_u64..4), fields()).prop_map(|(id, position, fields)| QueueItem { id, position, fields });
    let state = prop::sample::select(vec!["pending", "accepted", "rejected"]);
    prop_oneof![
        5 => artifact(),
        5 => surface(),
        2 => workspace(),
        2 => write(),
        2 => (id("E", 3), opt(id("t", 5)), fields())
            .prop_map(|(evidence, turn, fields)| Fact::EvidenceChanged(EvidenceChanged { evidence, turn, fields })),
        1 => proptest::collection::vec(item, 0..4).prop_map(|items| Fact::QueueSet(QueueSet { items })),
        1 => (id("st", 3), opt(id("t", 5)), state, opt(some_text()), opt(some_text())).prop_map(|(steer, target, state, text, reason)| {
            Fact::SteerChanged(SteerChanged { steer, target, state: state.into(), text, reason })
        }),
    ]
}
