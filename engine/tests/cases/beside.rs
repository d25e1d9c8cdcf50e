//! What a session has beside its turns, and what a page of history says of what came live: scenarios S01 to S08, S19, S24.

use crate::host::*;
use turnstore::fact::*;
use turnstore::limits::*;
use turnstore::{Engine, ItemKind, PayloadRef, Seq, View, Window};

fn artifact(id: &str, op: ArtifactOp, fields: &str) -> Fact<'static> {
    Fact::ArtifactChanged(ArtifactChanged { artifact: id.to_owned().into(), op, turn: None, fields: json(fields) })
}

fn evidence(id: &str, turn: Option<&str>, fields: &str) -> Fact<'static> {
    let turn = turn.map(|turn| turn.to_owned().into());
    Fact::EvidenceChanged(EvidenceChanged { evidence: id.to_owned().into(), turn, fields: json(fields) })
}

fn surface(op: SurfaceOp, sequence: Option<u64>, body: &str) -> Fact<'static> {
    Fact::SurfaceChanged(SurfaceChanged { surface: "u".into(), op, sequence, body: json(body) })
}

fn push(sequence: u64, value: u64) -> Fact<'static> {
    surface(SurfaceOp::Patch, Some(sequence), &format!(r#"{{"patch":[{{"op":"add","path":"/v/-","value":{value}}}]}}"#))
}

fn workspace(op: WorkspaceOp, intent: Option<&str>, body: &str) -> Fact<'static> {
    let intent = intent.map(|intent| intent.to_owned().into());
    Fact::WorkspaceChanged(WorkspaceChanged { op, intent, body: json(body) })
}

fn write(id: &str, op: WriteOp<'static>) -> Fact<'static> {
    Fact::WriteChanged(WriteChanged { write: id.to_owned().into(), op })
}

fn settled(outcome: &'static str) -> WriteOp<'static> {
    WriteOp::Settled { outcome: outcome.into(), detail: None }
}

fn codes(view: &View) -> Vec<String> {
    view.diagnostics("s").unwrap().map(|noted| noted.unwrap().code).collect()
}

fn items(view: &View) -> Vec<String> {
    let page = view.window("s", Window::items(500)).unwrap();
    page.items()
        .map(|item| match item.kind() {
            ItemKind::Text(part) => format!("{} {}", part.id(), part.text().unwrap().joined()),
            ItemKind::ArtifactRef(id) => format!("artifact {id} of {}", item.turn().unwrap().id()),
            ItemKind::EvidenceRef(id) => format!("evidence {id} of {}", item.turn().unwrap().id()),
            other => format!("{other:?}"),
        })
        .collect()
}

/// Appends one by one, a checkpoint after some, so that what is folded next is found in rows.
fn appended(place: &Place, facts: impl IntoIterator<Item = Fact<'static>>) -> Engine {
    let mut engine = place.open();
    for (index, fact) in facts.into_iter().enumerate() {
        engine.append("s", [fact]).unwrap();
        if index % 3 == 1 {
            engine = killed(engine, place);
        }
        if index % 4 == 2 {
            engine.close().unwrap();
            engine = place.open();
        }
    }
    engine
}

#[test]
fn a_write_moves_its_own_record_alone() {
    let place = Place::new();
    let attempt = || WriteOp::Attempted { action: "respond".into(), target: Some("a1".into()), key: Some("k".into()), detail: None };
    let engine = appended(
        &place,
        [
            turn("r1"),
            asked("a1"),
            write("w1", attempt()),
            write("w1", settled("failed")),
            write("w2", attempt()),
            write("w2", settled("confirmed")),
        ],
    );
    always(engine, &place, |engine| {
        let view = engine.view();
        let statuses: Vec<_> = view.writes("s").unwrap().map(|write| write.unwrap().status).collect();
        assert_eq!(statuses, ["failed", "confirmed"]);
        let first = view.write("s", "w1").unwrap().unwrap();
        assert_eq!((first.action.as_deref(), first.target.as_deref(), first.attempts), (Some("respond"), Some("a1"), 1));
        assert_eq!(view.pending("s").unwrap().count(), 1);
        assert_eq!(view.write("s", "w3").unwrap(), None);
        assert!(codes(&view).is_empty());
    });
}

#[test]
fn an_outcome_stands_until_the_next_attempt() {
    let place = Place::new();
    let attempt = || WriteOp::Attempted { action: "send".into(), target: None, key: None, detail: None };
    let all = [attempt(), settled("unknown"), settled("confirmed"), settled("failed"), attempt(), settled("failed")];
    let engine = appended(&place, all.into_iter().map(|op| write("w", op)).chain([write("z", settled("confirmed"))]));
    let view = engine.view();
    let write = view.write("s", "w").unwrap().unwrap();
    assert_eq!((write.status.as_str(), write.attempts), ("failed", 2));
    assert_eq!(view.write("s", "z").unwrap().unwrap().action, None);
    assert_eq!(codes(&view), ["write_outcome_conflict", "write_settled_before_attempt"]);
}

#[test]
fn the_queue_is_what_was_stated_last_and_a_rejected_steer_keeps_its_text() {
    let place = Place::new();
    let item = |id: &str, position| QueueItem { id: id.to_owned().into(), position, fields: json(&format!("{{\"preview\":\"{id}\"}}")) };
    let queue = |items| Fact::QueueSet(QueueSet { items });
    let steer = |state: &'static str, text: Option<&'static str>, reason: Option<&'static str>| {
        let (text, reason) = (text.map(Text::from), reason.map(Text::from));
        Fact::SteerChanged(SteerChanged { steer: "st1".into(), target: Some("r1".into()), state: state.into(), text, reason })
    };
    let engine = appended(
        &place,
        [
            turn("r1"),
            queue(vec![item("q3", None), item("q2", Some(1)), item("q1", Some(0))]),
            steer("pending", Some("use tabs"), None),
            steer("rejected", None, Some("not_steerable")),
        ],
    );
    always(engine, &place, |engine| {
        let view = engine.view();
        let queue = view.queue("s").unwrap();
        assert_eq!(queue.items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["q1", "q2", "q3"]);
        assert_eq!(queue.items[0].fields.shown(), r#"{"preview":"q1"}"#);
        let steer = view.steer("s", "st1").unwrap().unwrap();
        assert_eq!(
            (steer.state.as_str(), steer.text.unwrap().shown(), steer.reason.unwrap().shown()),
            ("rejected", "use tabs", "not_steerable")
        );
        assert_eq!(view.steers("s").unwrap().count(), 1);
        assert!(items(&view).is_empty(), "neither makes a message");
        assert_eq!(view.session("s").unwrap().unwrap().header.queued, 3);
    });
    let engine = place.open();
    engine.append("s", [queue(vec![])]).unwrap();
    assert!(engine.view().queue("s").unwrap().items.is_empty());
}

#[test]
fn an_artifact_goes_through_its_life() {
    use ArtifactOp::*;
    let place = Place::new();
    let large = format!("{{\"artifactPreview\":\"{}\"}}", "p".repeat(100_000));
    let engine = appended(
        &place,
        [
            turn("r1"),
            artifact("A", Created, r#"{"artifactStatus":"creating"}"#),
            artifact("A", PreviewReady, &large),
            artifact("A", PreviewReady, r#"{"artifactPreview":{"rows":2},"artifactStatus":"ready"}"#),
            artifact("B", PreviewReady, &large),
            artifact("A", VersionCreated, r#"{"artifactVersionId":"v1","artifactStatus":"ready","artifactKind":"report"}"#),
            artifact("A", VersionCreated, r#"{"artifactVersionId":"v2"}"#),
            artifact("A", VersionCreated, r#"{"artifactVersionId":"v2"}"#),
            artifact("A", DiffReady, r#"{"artifactDiffRef":"diff://1-2","size":3}"#),
            artifact("A", ExportStarted, r#"{"artifactExportId":"x1"}"#),
            artifact("A", ExportCompleted, r#"{"artifactExportId":"x1","artifactExportRef":"file://x"}"#),
            artifact("A", Failed, r#"{"artifactExportId":"x2","error":"no room"}"#),
        ],
    );
    let live = engine.view().artifact("s", "A").unwrap().unwrap();
    assert_eq!((live.status.as_str(), live.kind.as_str(), live.version.as_deref()), ("ready", "report", Some("v2")));
    engine.append("s", [artifact("A", Failed, r#"{"artifactVersionId":"v3","error":"disk full"}"#)]).unwrap();
    always(engine, &place, |engine| {
        let view = engine.view();
        let failed = view.artifact("s", "A").unwrap().unwrap();
        assert_eq!((failed.status.as_str(), failed.versions.as_slice()), ("failed", ["v1".to_owned(), "v2".to_owned()].as_slice()));
        assert_eq!((failed.version.as_deref(), failed.diff_ref.as_deref()), (Some("v2"), Some("diff://1-2")));
        let exports: Vec<_> = failed.exports.iter().map(|job| (job.id.as_str(), job.state.as_str(), job.reference.as_deref())).collect();
        assert_eq!(exports, [("x1", "completed", Some("file://x")), ("x2", "failed", None)]);
        assert_eq!((failed.preview.unwrap().shown(), failed.error.unwrap().shown()), (r#"{"rows":2}"#, "\"disk full\""));
        assert_eq!(failed.fields.as_deref(), Some(r#"{"size":3}"#));
        assert_eq!(items(&view), ["artifact A of r1", "artifact B of r1"]);
        let stub = view.artifact("s", "B").unwrap().unwrap();
        assert_eq!((stub.status.as_str(), stub.kind.as_str()), ("unknown", "unknown"));
        let preview = stub.preview.unwrap();
        assert!(preview.truncated() && preview.bytes() == 100_002);
        assert_eq!(view.payload(&PayloadRef::of("s", &preview).unwrap()).unwrap().as_str().len(), 100_002);
        assert_eq!(view.artifacts_by_id("s").unwrap().count(), 2);
        assert_eq!(codes(&view), ["artifact_event_before_create"]);
    });
}

#[test]
fn a_deleted_artifact_hears_nothing_but_its_creation() {
    use ArtifactOp::*;
    let all = [Updated, PreviewReady, VersionCreated, DiffReady, ExportStarted, ExportCompleted, Failed, Deleted, Changed];
    let stated = r#"{"artifactStatus":"ready","artifactVersionId":"v9","artifactExportId":"x","artifactPreview":1}"#;
    for op in all {
        let place = Place::new();
        let before =
            [turn("r1"), artifact("A", Created, r#"{"artifactStatus":"ready","artifactVersionId":"v1"}"#), artifact("A", Deleted, "{}")];
        let engine = appended(&place, before.into_iter().chain([turn("r2"), artifact("A", op, stated)]));
        let gone = engine.view().artifact("s", "A").unwrap().unwrap();
        assert_eq!(
            (gone.status.as_str(), gone.versions.as_slice(), gone.turns.as_slice()),
            ("deleted", ["v1".to_owned()].as_slice(), ["r1".to_owned()].as_slice()),
            "{op:?}"
        );
        assert_eq!(codes(&engine.view()), ["artifact_event_after_delete"], "{op:?}");
        engine.append("s", [artifact("A", Created, r#"{"artifactStatus":"creating"}"#)]).unwrap();
        let again = engine.view().artifact("s", "A").unwrap().unwrap();
        assert_eq!((again.status.as_str(), again.incarnation, again.versions.len()), ("creating", 1, 0), "{op:?}");
        assert_eq!(items(&engine.view()), ["artifact A of r1", "artifact A of r2"]);
    }
    for op in all.into_iter().filter(|op| *op != Changed) {
        let place = Place::new();
        let engine = appended(&place, [artifact("A", op, stated)]);
        assert_eq!(engine.view().artifact("s", "A").unwrap().unwrap().status, "unknown", "{op:?}");
        assert_eq!(codes(&engine.view()), ["artifact_event_before_create"], "{op:?}");
        assert!(items(&engine.view()).is_empty(), "no turn, no reference");
    }
}

#[test]
fn evidence_stays_with_its_turn() {
    let place = Place::new();
    let engine = appended(
        &place,
        [
            turn("r1"),
            evidence("E", Some("r1"), r#"{"status":"exporting"}"#),
            turn("r2"),
            evidence("E", None, r#"{"status":"exported","evidencePackRef":"ev://1","replayRef":"rp://1"}"#),
            evidence("F", None, r#"{"verdict":{"ok":true}}"#),
            evidence("F", Some("r1"), r#"{"verdict":{ "ok": true }}"#),
            evidence("F", None, r#"{"verdict":null}"#),
        ],
    );
    always(engine, &place, |engine| {
        let view = engine.view();
        let record = view.evidence("s", "E").unwrap().unwrap();
        assert_eq!((record.status.as_deref(), record.turn.as_deref(), record.verdict), (Some("exported"), Some("r1"), None));
        assert_eq!(record.fields.as_deref(), Some(r#"{"evidencePackRef":"ev://1","replayRef":"rp://1"}"#));
        let other = view.evidence("s", "F").unwrap().unwrap();
        assert_eq!((other.turn.as_deref(), other.verdict_changes, other.status), (Some("r1"), 0, None));
        assert_eq!(items(&view), ["evidence E of r1", "evidence F of r2", "evidence F of r1"]);
        assert!(codes(&view).is_empty());
    });
    let engine = place.open();
    engine.append("s", [evidence("F", None, r#"{"verdict":"no"}"#)]).unwrap();
    assert_eq!(engine.view().evidence("s", "F").unwrap().unwrap().verdict_changes, 1);
}

#[test]
fn a_surface_takes_its_patches_in_order_and_each_once() {
    let place = Place::new();
    let create = surface(SurfaceOp::Create, Some(0), r#"{"surfaceId":"u","sequence":0,"state":{"v":[]}}"#);
    let engine = appended(&place, [create, push(2, 2), push(1, 1), push(1, 99), push(5, 5)]);
    always(engine, &place, |engine| {
        let view = engine.view();
        let value = view.surface("s", "u").unwrap().unwrap();
        assert_eq!(value.state, serde_json::json!({"v": [1, 2]}));
        assert_eq!((value.summary.sequence, value.summary.stale, value.summary.buffered.as_slice()), (Some(2), true, [5].as_slice()));
        assert_eq!(view.surfaces("s").unwrap().map(|listed| listed.unwrap()).collect::<Vec<_>>(), [value.summary]);
        assert_eq!(codes(&view), ["surface_duplicate_sequence"]);
        assert_eq!(view.documents("s").unwrap().count(), 0);
    });
    let engine = place.open();
    engine.append("s", [push(4, 4), push(3, 3)]).unwrap();
    let value = engine.view().surface("s", "u").unwrap().unwrap();
    assert_eq!(value.state, serde_json::json!({"v": [1, 2, 3, 4, 5]}));
    assert!(!value.summary.stale && value.summary.buffered.is_empty());
}

#[test]
fn a_patch_that_fails_is_behind_the_surface_and_leaves_it_stale_until_it_is_created_again() {
    let place = Place::new();
    let create = || surface(SurfaceOp::Create, Some(3), r#"{"state":{"v":[]}}"#);
    let failing = surface(SurfaceOp::Patch, Some(4), r#"[{"op":"add","path":"/v/-","value":7},{"op":"remove","path":"/none"}]"#);
    let engine = appended(&place, [push(5, 5), create(), failing, push(4, 4)]);
    let view = engine.view();
    let value = view.surface("s", "u").unwrap().unwrap();
    assert_eq!((value.state, value.summary.sequence, value.summary.stale), (serde_json::json!({"v": [5]}), Some(5), true));
    assert_eq!(codes(&view), ["surface_event_before_create", "surface_patch_failed", "surface_duplicate_sequence"]);
    engine.append("s", [create()]).unwrap();
    let value = engine.view().surface("s", "u").unwrap().unwrap();
    assert_eq!((value.state, value.summary.sequence, value.summary.stale), (serde_json::json!({"v": []}), Some(3), false));
    engine.append("s", [surface(SurfaceOp::Close, None, "null"), push(4, 4)]).unwrap();
    assert!(engine.view().surface("s", "u").unwrap().unwrap().summary.closed);
    assert_eq!(codes(&engine.view()).last().unwrap(), "surface_event_after_close");
}

#[test]
fn more_than_a_buffer_holds_needs_a_new_creation() {
    let create = |sequence| surface(SurfaceOp::Create, Some(sequence), r#"{"state":{"v":[]}}"#);
    let large = format!(r#"[{{"op":"add","path":"/v/-","value":"{}"}}]"#, "x".repeat(SURFACE_BUFFER_BYTES_MAX));
    let many = (2..).take(SURFACE_BUFFER_MAX).map(|sequence| push(sequence, sequence)).collect::<Vec<_>>();
    for over in [push(90, 90), surface(SurfaceOp::Patch, Some(90), &large)] {
        let place = Place::new();
        let engine = place.open();
        engine.append("s", [create(0)].into_iter().chain(many.clone()).collect::<Vec<_>>()).unwrap();
        assert_eq!(engine.view().surface("s", "u").unwrap().unwrap().summary.buffered.len(), SURFACE_BUFFER_MAX);
        engine.append("s", [over, push(1, 1)]).unwrap();
        let summary = engine.view().surface("s", "u").unwrap().unwrap().summary;
        assert!(summary.lost && summary.stale && summary.buffered.is_empty());
        assert_eq!(codes(&engine.view()), ["surface_buffer_overflow", "surface_needs_create"]);
        engine.append("s", [create(90), push(91, 1)]).unwrap();
        let value = engine.view().surface("s", "u").unwrap().unwrap();
        assert_eq!((value.state, value.summary.stale), (serde_json::json!({"v": [1]}), false));
    }
}

#[test]
fn faults_in_the_nodes_of_a_surface_are_noted_and_it_stands_as_stated() {
    let place = Place::new();
    let body = r#"{"root":"a","components":[{"id":"a","children":["b","z"]},{"id":"b","children":["b"]},{"id":"a"},{"id":"c"}]}"#;
    let engine = appended(&place, [surface(SurfaceOp::Create, None, body)]);
    let value = engine.view().surface("s", "u").unwrap().unwrap();
    assert_eq!(value.definition.unwrap().shown(), body);
    let expected = ["surface_duplicate_node", "surface_missing_child", "surface_cycle", "surface_unreachable_node"];
    assert_eq!(codes(&engine.view()), expected);
}

#[test]
fn an_intent_changes_its_own_record_and_its_end_is_final() {
    use WorkspaceOp::*;
    let place = Place::new();
    let result = |id, status: &str| workspace(IntentResult, Some(id), &format!(r#"{{"status":"{status}"}}"#));
    let engine = appended(
        &place,
        [
            workspace(Capabilities, None, r#"{"maxOpenSurfaces":4}"#),
            workspace(Capabilities, None, r#"{"maxOpenSurfaces":8}"#),
            workspace(Intent, Some("n1"), r#"{"type":"workspace.resource.open"}"#),
            workspace(Intent, Some("n1"), r#"{ "type": "workspace.resource.open" }"#),
            result("n1", "accepted"),
            result("n1", "completed"),
            result("n1", "failed"),
            result("zz", "completed"),
            workspace(State, None, r#"{"snapshot":{"at":2},"revision":2}"#),
            workspace(State, None, r#"{"snapshot":{"at":1},"revision":1}"#),
        ],
    );
    always(engine, &place, |engine| {
        let view = engine.view();
        assert_eq!(view.intent("s", "n1").unwrap().unwrap().status, "completed");
        assert_eq!(view.intent("s", "zz").unwrap(), None);
        assert_eq!(view.intents("s").unwrap().count(), 1);
        let workspace = view.workspace("s").unwrap().unwrap();
        assert_eq!(workspace.capabilities.unwrap().shown(), r#"{"maxOpenSurfaces":8}"#);
        assert_eq!((workspace.state.unwrap().shown(), workspace.revision), (r#"{"snapshot":{"at":2},"revision":2}"#, Some(2)));
        assert_eq!(codes(&view), ["intent_result_after_terminal", "intent_result_uncorrelated"]);
    });
}

#[test]
fn a_flood_beside_the_timeline_stays_small_in_rows() {
    let place = Place::new();
    let engine = place.open();
    let long = |n: usize| format!("{n}-{}", "i".repeat(2_000));
    let version = |n| artifact("A", ArtifactOp::VersionCreated, &format!(r#"{{"artifactVersionId":"{}"}}"#, long(n)));
    let export = |n| artifact("A", ArtifactOp::ExportStarted, &format!(r#"{{"artifactExportId":"{}"}}"#, long(n)));
    let items = (0..2_000).map(|n| QueueItem { id: long(n).into(), position: None, fields: json("{}") }).collect();
    let facts = (0..300).flat_map(|n| [version(n), export(n), turn(&long(n)), artifact("A", ArtifactOp::Updated, "{}")]);
    engine.append("s", facts.chain([Fact::QueueSet(QueueSet { items })]).collect::<Vec<_>>()).unwrap();
    always(engine, &place, |engine| {
        let view = engine.view();
        let artifact = view.artifact("s", "A").unwrap().unwrap();
        assert_eq!((artifact.versions_count, artifact.exports_count, artifact.turns_count), (300, 300, 300));
        for list in [artifact.versions.len(), artifact.exports.len(), artifact.turns.len()] {
            assert!((20..=40).contains(&list), "{list}");
        }
        assert_eq!(artifact.version, Some(long(299)));
        assert_eq!(artifact.versions.last(), artifact.version.as_ref());
        let queue = view.queue("s").unwrap();
        assert!(queue.count == 2_000 && queue.items.len() < 600, "{}", queue.items.len());
        assert!(codes(&view).contains(&"queue_cut".to_owned()));
    });
}

fn page(messages: &[(&str, &str, &str)], turns: Vec<HistoryTurn<'static>>, older: Option<&str>, at: u64) -> Fact<'static> {
    let messages = messages.iter().map(|(id, turn, text)| HistoryMessage {
        id: (*id).to_owned().into(),
        role: "assistant".into(),
        turn: Some((*turn).to_owned().into()),
        content: Some(Content::Text((*text).to_owned().into())),
        ..HistoryMessage::default()
    });
    let (messages, older) = (messages.collect(), older.map(|older| older.to_owned().into()));
    Fact::HistoryImported(HistoryImported {
        mode: HistoryMode::Page,
        messages,
        turns,
        older,
        requested_at: Some(at),
        authoritative_activities: None,
    })
}

fn summary(turn: &str, status: Option<&str>, error: Option<&str>) -> HistoryTurn<'static> {
    let (status, error) = (status.map(|status| status.to_owned().into()), error.map(json));
    HistoryTurn { turn: turn.to_owned().into(), status, error, artifacts: None }
}

/// Status, whether it ended, and the error of a turn, after these facts and this page.
fn told(facts: &[Fact<'static>], turn: &str, page: Fact<'static>) -> (String, bool, Option<String>) {
    let place = Place::new();
    let engine = appended(&place, facts.iter().cloned().chain([page]));
    let read = |view: &View| {
        let page = view.window("s", Window::items(500)).unwrap();
        let turn = page.turns().filter_map(|of| of.turn()).find(|of| of.id() == turn).unwrap();
        (turn.stated_status().to_owned(), turn.ended(), turn.error().map(|error| error.joined().into_owned()))
    };
    let live = read(&engine.view());
    always(engine, &place, |engine| assert_eq!(read(&engine.view()), live));
    live
}

#[test]
fn a_page_that_was_asked_for_after_the_last_word_on_a_turn_is_believed() {
    let running = [turn("t"), user("u", "x")];
    let of = |status, error, at| page(&[], vec![summary("t", status, error)], None, at);
    let as_told = |facts: &[Fact<'static>], page| told(facts, "t", page);
    assert_eq!(as_told(&running, of(Some("failed"), Some("{}"), 2)), ("failed".into(), true, Some("{}".into())));
    assert_eq!(as_told(&running, of(Some("completed"), None, 1)), ("completed".into(), true, None));
    // Asked for before the turn began again, it says nothing of that.
    assert_eq!(as_told(&running, of(Some("completed"), Some("{}"), 0)), ("running".into(), false, None));
    for open in ["waiting", "stopping"] {
        assert_eq!(as_told(&running, of(Some(open), None, 2)), (open.into(), false, None));
        assert_eq!(as_told(&[user("u", "x")], of(Some(open), None, 0)), (open.into(), false, None));
    }
    assert_eq!(as_told(&running, of(Some("unknown"), None, 2)), ("running".into(), false, None));
    assert_eq!(as_told(&[user("u", "x")], of(Some("unknown"), None, 0)), ("unknown".into(), false, None));
    // An end that was heard stands, and the page adds what it was silent about.
    let over = [turn("t"), ended("failed")];
    assert_eq!(as_told(&over, of(Some("completed"), Some("{}"), 2)), ("failed".into(), true, Some("{}".into())));
    assert_eq!(as_told(&over, of(None, Some("{}"), 2)), ("failed".into(), true, Some("{}".into())));
    assert_eq!(as_told(&over, of(None, Some("{}"), 1)), ("failed".into(), true, None));
    assert_eq!(as_told(&[user("u", "x")], of(None, Some("{}"), 0)), ("unknown".into(), false, Some("{}".into())));
}

#[test]
fn a_turn_that_ended_in_a_page_asks_no_longer_what_was_asked_before_it() {
    for (at, waiting) in [(2, 0), (1, 1)] {
        let place = Place::new();
        let engine = appended(&place, [turn("t"), asked("q"), page(&[], vec![summary("t", Some("completed"), None)], None, at)]);
        assert_eq!(engine.view().pending("s").unwrap().count(), waiting);
        let head = engine.view().session("s").unwrap().unwrap();
        assert!(!head.header.running);
    }
}

#[test]
fn what_came_live_is_not_doubled_by_a_page_under_another_id() {
    let place = Place::new();
    let live = [turn("t"), assistant("t"), delta("t", "answer"), ended("completed")];
    let known = [("m0", "t0", "old"), ("m1", "t", "answer")];
    let engine = appended(&place, live.iter().cloned().chain([page(&known, vec![], None, 4)]));
    assert_eq!(items(&engine.view()), ["m0 old", "t answer"]);
    // Asked for before anything was said live, the message is something else that was said in the turn.
    let place = Place::new();
    let engine = appended(&place, live.into_iter().chain([page(&known, vec![], None, 1)]));
    assert_eq!(items(&engine.view()), ["m0 old", "m1 answer", "t answer"]);
}

#[test]
fn asking_for_the_newest_page_again_forgets_nothing_of_what_is_older() {
    let place = Place::new();
    let newest = || page(&[("m9", "t9", "new")], vec![summary("t9", Some("completed"), None)], Some("c1"), 0);
    let middle = page(&[("m5", "t5", "mid")], vec![], Some("c2"), 1);
    let oldest = page(&[("m1", "t1", "old")], vec![summary("t1", Some("completed"), None)], None, 2);
    let state = |engine: &Engine| {
        let header = engine.view().session("s").unwrap().unwrap().header;
        (header.history_complete, header.older)
    };
    let engine = appended(&place, [newest(), middle, newest()]);
    assert_eq!(state(&engine), (Some(false), Some("c2".to_owned())));
    engine.append("s", [oldest, newest()]).unwrap();
    always(engine, &place, |engine| {
        assert_eq!(state(engine), (Some(true), None));
        assert_eq!(items(&engine.view()), ["m1 old", "m5 mid", "m9 new"]);
        assert_eq!(engine.view().window("s", Window::default()).unwrap().as_of_seq(), Seq::new(5));
    });
}
