//! Events and what they state.

use super::*;
use crate::fact::{ArtifactOp, Content, HistoryMode, PartChange, PartKind, PartOpened, PartTarget, Resolution, ToolOp, WriteOp};

fn json(text: &str) -> Json<'_> {
    Json::new(text).unwrap()
}

/// Every class with its minimum and more: the debug form of the first fact holds what is expected, and nothing is noted.
#[test]
fn every_class_states_its_fact() {
    let cases: &[(&str, &[&str])] = &[
        (
            r#"{"type":"run.started","sessionId":"s","runId":"r","parentRunId":"p"}"#,
            &["TurnStarted", r#"turn: "r""#, r#"parent: Some("p")"#],
        ),
        (r#"{"type":"run.started","turnId":"t","runId":"r"}"#, &[r#"turn: "t""#, r#"run: Some("r")"#]),
        (r#"{"type":"run.status","runId":"r","stage":"routing","elapsed":3}"#, &["TurnStatus", "routing", "elapsed"]),
        (r#"{"type":"text.delta","messageId":"m","delta":"x"}"#, &["PartOpened", r#"part: "m#text""#, r#"role: "assistant""#]),
        (r#"{"type":"text.final","messageId":"m","text":"x"}"#, &["PartOpened", r#"part: "m#text""#]),
        (
            r#"{"type":"reasoning.delta","runId":"r","partId":"p","delta":"x"}"#,
            &["PartOpened", "Reasoning", r#"message: "r/process""#, r#"role: "process""#],
        ),
        (r#"{"type":"reasoning.summary","runId":"r","partId":"p","text":"x"}"#, &["PartOpened", "Reasoning"]),
        (r#"{"type":"tool.started","toolCallId":"c","name":"grep","risk":"low"}"#, &["ToolChanged", r#"name: "grep""#, "risk"]),
        (r#"{"type":"tool.args","toolCallId":"c","args":{"a":1}}"#, &["ArgsSet", r#"{\"a\":1}"#]),
        (r#"{"type":"tool.args","toolCallId":"c","delta":"{"}"#, &["ArgsDelta"]),
        (r#"{"type":"tool.progress","toolCallId":"c","progress":50}"#, &["Progress", "50"]),
        (
            r#"{"type":"tool.result","toolCallId":"c","status":"ok","outputRef":"out://1","duration":3}"#,
            &["Result", r#"status: Some("ok")"#, "out://1", "duration"],
        ),
        (r#"{"type":"tool.failed","toolCallId":"c","error":"boom"}"#, &["Failed", "boom"]),
        (r#"{"type":"tool.output.delta","toolCallId":"c","delta":"x"}"#, &["OutputDelta"]),
        (
            r#"{"type":"action.required","actionId":"a","actionType":"approval","severity":"high"}"#,
            &["InteractionRequested", r#"kind: "approval""#, "severity"],
        ),
        (
            r#"{"type":"action.resolved","actionId":"a","response":{"ok":true}}"#,
            &["InteractionResolved", r#"decision: Some("fact:a")"#, "response"],
        ),
        (
            r#"{"type":"queue.changed","sessionId":"s","queued":[{"id":"q","position":1}]}"#,
            &["QueueSet", r#"id: "q""#, "position: Some(1)"],
        ),
        (r#"{"type":"artifact.created","artifactId":"A","artifactStatus":"creating"}"#, &["Created", "artifactStatus"]),
        (r#"{"type":"artifact.updated","artifactId":"A","artifactVersionId":"v"}"#, &["Updated", "artifactVersionId"]),
        (r#"{"type":"artifact.preview.ready","artifactId":"A","artifactPreview":null}"#, &["PreviewReady", "artifactPreview"]),
        (r#"{"type":"artifact.version.created","artifactId":"A","artifactVersionId":"v"}"#, &["VersionCreated"]),
        (r#"{"type":"artifact.diff.ready","artifactId":"A","artifactDiffRef":"d"}"#, &["DiffReady"]),
        (r#"{"type":"artifact.export.started","artifactId":"A","artifactExportId":"x"}"#, &["ExportStarted"]),
        (r#"{"type":"artifact.export.completed","artifactId":"A","artifactExportId":"x"}"#, &["ExportCompleted"]),
        (r#"{"type":"artifact.failed","artifactId":"A","error":"disk full"}"#, &["Failed", "disk full"]),
        (r#"{"type":"artifact.deleted","artifactId":"A"}"#, &["Deleted"]),
        (r#"{"type":"artifact.changed","artifactId":"A"}"#, &["Changed"]),
        (
            r#"{"type":"evidence.changed","runId":"r","evidenceId":"E","status":"exported","evidencePackRef":"ev"}"#,
            &["EvidenceChanged", r#"turn: Some("r")"#, "evidencePackRef"],
        ),
        (r#"{"type":"state.snapshot","value":null}"#, &["DocumentSet", r#"document: "state""#, "null"]),
        (r#"{"type":"state.delta","document":"d","patch":[]}"#, &["DocumentPatched", r#"document: "d""#]),
        (r#"{"type":"messages.snapshot","messages":[]}"#, &["HistoryImported", "Merge"]),
        (r#"{"type":"run.finished","runId":"r","outcome":"success"}"#, &["TurnEnded", r#"status: "completed""#]),
        (r#"{"type":"run.finished","runId":"r","outcome":"cancelled"}"#, &[r#"status: "cancelled""#]),
        (r#"{"type":"run.finished","runId":"r","outcome":"interrupt"}"#, &[r#"status: "interrupt""#]),
        (
            r#"{"type":"run.failed","runId":"r","error":"down","retryable":true}"#,
            &[r#"status: "failed""#, "message", "down", "retryable: Some(true)"],
        ),
        (r#"{"type":"host.write","writeId":"w","action":"send","target":"s"}"#, &["WriteChanged", "Attempted", r#"action: "send""#]),
        (r#"{"type":"host.write.settled","writeId":"w","status":"confirmed"}"#, &["Settled", r#"outcome: "confirmed""#]),
        (r#"{"type":"session.opened","sessionId":"s","title":"T"}"#, &["SessionChanged", r#"title: Some("T")"#, "opened"]),
        (r#"{"type":"session.hydrated","sessionId":"s"}"#, &["SessionChanged", "hydrated"]),
        (r#"{"type":"session.updated","status":"pinned"}"#, &["SessionChanged", r#"status: Some("pinned")"#]),
        (r#"{"type":"session.closed","sessionId":"s"}"#, &["SessionChanged", "closed"]),
        (r#"{"type":"context.compaction.started","reason":"full"}"#, &["CompactionMarked", r#"phase: "started""#, "full"]),
        (r#"{"type":"context.compaction.completed"}"#, &["CompactionMarked", r#"phase: "completed""#]),
        (r#"{"type":"plan.delta","runId":"r","delta":"1."}"#, &["PartOpened", "Reasoning", r#"subtype: Some("plan")"#]),
        (r#"{"type":"plan.final","planId":"p","plan":{"steps":[]}}"#, &["DocumentSet", r#"document: "plan:p""#]),
        (r#"{"type":"task.changed","taskId":"t","status":"queued"}"#, &["DocumentPatched", r#"document: "task:t""#, "status"]),
    ];
    for (line, holds) in cases {
        let all = facts(line);
        let shown = format!("{:?}", all.first());
        for part in *holds {
            assert!(shown.contains(part), "{line}\n{part}\n{shown}");
        }
        assert_eq!(codes(&[line]), Vec::<String>::new(), "{line}");
        comes_back(&[line]);
    }
    for class in Class::ALL {
        let name = format!("\"type\":\"{}\"", class.as_str());
        assert!(cases.iter().any(|(line, _)| line.contains(&name)), "{name} has no case");
    }
}

#[test]
fn aliases_state_what_their_classes_state_and_keep_their_spelling() {
    let cases = [
        ("turn.started", "run.started", r#""turnId":"t""#),
        ("runtime.status", "run.status", r#""turnId":"t","stage":"queued""#),
        ("tool.completed", "tool.result", r#""toolCallId":"c","status":"ok""#),
        ("turn.completed", "run.finished", r#""turnId":"t","outcome":"success""#),
        ("turn.failed", "run.failed", r#""turnId":"t","error":"x""#),
    ];
    for (alias, name, fields) in cases {
        let (one, two) = (format!(r#"{{"type":"{alias}",{fields}}}"#), format!(r#"{{"type":"{name}",{fields}}}"#));
        assert_eq!(facts(&one), facts(&two));
        assert_eq!(decoded(&[&one])[0][0].source.name.as_deref(), Some(alias));
        assert_eq!(decoded(&[&two])[0][0].source.name, None);
        comes_back(&[&one]);
    }
}

#[test]
fn fields_inside_the_payload_count_and_come_back_in_their_place() {
    let flat = r#"{"type":"text.delta","runId":"r","messageId":"m","delta":"x"}"#;
    let inside = r#"{"type":"text.delta","timestamp":"t","payload":{"runId":"r","messageId":"m","delta":"x","more":1}}"#;
    assert_eq!(facts(flat), facts(inside));
    let both = r#"{"type":"tool.result","status":"ok","payload":{"toolCallId":"c","status":"failed","preview":{"rows":2}}}"#;
    assert!(
        matches!(&facts(both)[0], Fact::ToolChanged(changed) if matches!(&changed.op, ToolOp::Result { status: Some(status), .. } if status == "ok"))
    );
    let odd = r#"{"type":"artifact.deleted","artifactId":"A","payload":"gone"}"#;
    let empty = r#"{"type":"artifact.deleted","artifactId":"A","payload":{}}"#;
    let nested = r#"{"type":"artifact.changed","payload":{"artifactId":"A","payload":{"payload":1},"~":2,"-":["type"],"type":"x"}}"#;
    comes_back(&[flat, inside, both, odd, empty, nested]);
}

#[test]
fn a_request_may_have_a_type_and_a_scope_of_its_own_inside_the_payload() {
    let line = r#"{"type":"action.required","eventId":"e","sequence":7,"turnId":"t","actionId":"a","payload":{"type":"permission","toolCallId":"c","scope":{"path":"x"},"expiresAt":"soon"}}"#;
    let all = decoded(&[line]);
    let Fact::InteractionRequested(asked) = &all[0][0].fact else { panic!("{all:?}") };
    assert_eq!((asked.kind.as_ref(), asked.tool.as_deref(), asked.expires_at.as_deref()), ("permission", Some("c"), Some("soon")));
    assert!(asked.request.as_ref().unwrap().as_str().contains(r#""scope":{"path":"x"}"#));
    assert_eq!(all[0][0].source.event_id.as_deref(), Some("e"));
    comes_back(&[line]);
}

#[test]
fn a_missing_minimum_is_noted_and_never_guessed() {
    // Without an id the event says nothing: it is kept as it came.
    let nothing = [
        r#"{"type":"run.started"}"#,
        r#"{"type":"run.status","stage":"x"}"#,
        r#"{"type":"run.status","runId":"r"}"#,
        r#"{"type":"run.finished","outcome":"success"}"#,
        r#"{"type":"run.failed","error":"x"}"#,
        r#"{"type":"text.delta","delta":"x"}"#,
        r#"{"type":"text.delta","messageId":"m"}"#,
        r#"{"type":"text.delta","messageId":"","delta":"x"}"#,
        r#"{"type":"text.final","text":"x"}"#,
        r#"{"type":"reasoning.delta","delta":"x","messageId":"m"}"#,
        r#"{"type":"reasoning.summary","partId":"p"}"#,
        r#"{"type":"tool.started","name":"x"}"#,
        r#"{"type":"tool.args","toolCallId":"c"}"#,
        r#"{"type":"tool.progress","progress":1}"#,
        r#"{"type":"tool.result","status":"ok"}"#,
        r#"{"type":"action.required"}"#,
        r#"{"type":"action.resolved","decision":"x"}"#,
        r#"{"type":"queue.changed","queued":[]}"#,
        r#"{"type":"queue.changed","sessionId":"s"}"#,
        r#"{"type":"artifact.created","artifactStatus":"ready"}"#,
        r#"{"type":"evidence.changed","status":"x"}"#,
        r#"{"type":"state.snapshot"}"#,
        r#"{"type":"state.delta"}"#,
        r#"{"type":"messages.snapshot"}"#,
        r#"{"type":"messages.snapshot","messages":[{"role":"user"}]}"#,
        r#"{"type":"host.write","action":"send"}"#,
        r#"{"type":"task.changed","status":"x"}"#,
    ];
    for line in nothing {
        let all = decoded(&[line]).remove(0);
        let [stated] = all.as_slice() else { panic!("{line}: {all:?}") };
        let Fact::DiagnosticNoted(noted) = &stated.fact else { panic!("{line}: {stated:?}") };
        assert_eq!((noted.code.as_ref(), noted.raw.as_deref()), (code::MISSING_FIELD, Some(line)));
        comes_back(&[line]);
    }
    // Without a value it is stated with what is known.
    let unknown = [
        (r#"{"type":"run.finished","runId":"r"}"#, r#"status: "unknown""#),
        (r#"{"type":"run.failed","runId":"r"}"#, "error: None"),
        (r#"{"type":"text.final","messageId":"m"}"#, "Closed"),
        (r#"{"type":"tool.started","toolCallId":"c"}"#, r#"name: "unknown""#),
        (r#"{"type":"tool.result","toolCallId":"c"}"#, r#"status: Some("unknown")"#),
        (r#"{"type":"tool.failed","toolCallId":"c"}"#, "error: None"),
        (r#"{"type":"artifact.created","artifactId":"A","preview":"looks ready"}"#, "artifactPreview"),
        (r#"{"type":"artifact.updated","artifactId":"A"}"#, "Updated"),
        (r#"{"type":"artifact.preview.ready","artifactId":"A"}"#, "PreviewReady"),
        (r#"{"type":"artifact.version.created","artifactId":"A"}"#, "VersionCreated"),
        (r#"{"type":"artifact.diff.ready","artifactId":"A"}"#, "DiffReady"),
        (r#"{"type":"artifact.export.started","artifactId":"A"}"#, "ExportStarted"),
        (r#"{"type":"artifact.export.completed","artifactId":"A"}"#, "ExportCompleted"),
        (r#"{"type":"artifact.failed","artifactId":"A"}"#, "Failed"),
        (r#"{"type":"host.write.settled","writeId":"w"}"#, r#"outcome: "unknown""#),
    ];
    for (line, holds) in unknown {
        let shown = format!("{:?}", facts(line));
        assert!(shown.contains(holds), "{line}: {shown}");
        assert!(!shown.contains("ready\\\"") || line.contains("looks ready"), "{shown}");
        assert_eq!(codes(&[line]), [code::MISSING_FIELD], "{line}");
        comes_back(&[line]);
    }
}

#[test]
fn fields_of_the_wrong_type_are_noted() {
    let cases = [
        (r#"{"type":"text.delta","messageId":1,"delta":"x"}"#, code::MALFORMED_EVENT),
        (r#"{"type":"text.delta","messageId":"m","delta":{}}"#, code::MALFORMED_EVENT),
        (r#"{"type":"text.final","messageId":"m","text":7}"#, code::MALFORMED_EVENT),
        (r#"{"type":"run.failed","runId":"r","error":"x","retryable":"maybe"}"#, code::MALFORMED_FIELD),
        (r#"{"type":"queue.changed","sessionId":"s","queued":[{"id":"q","position":-1}]}"#, code::MALFORMED_FIELD),
        (r#"{"type":"queue.changed","sessionId":"s","queued":[{"preview":"?"}]}"#, code::MALFORMED_EVENT),
        (r#"{"type":"queue.changed","sessionId":"s","queued":{}}"#, code::MALFORMED_EVENT),
        (r#"{"type":"state.delta","patch":{"a":1}}"#, code::MALFORMED_EVENT),
        (r#"{"type":"artifact.changed","artifactId":"A","artifactStatus":3}"#, code::MALFORMED_FIELD),
        (r#"{"type":"artifact.deleted","artifactId":"A","turnId":3}"#, code::MALFORMED_FIELD),
        (r#"{"type":"messages.snapshot","messages":[3]}"#, code::MALFORMED_EVENT),
        (r#"{"type":"vendor.thing","x":1}"#, code::UNKNOWN_EVENT),
        (r#"{"x":1}"#, code::UNKNOWN_EVENT),
        (r#"{"type":"artifact.deleted","artifactId":"A","owner":["artifact"]}"#, code::MALFORMED_FIELD),
    ];
    for (line, code) in cases {
        assert_eq!(codes(&[line]), [code], "{line}");
        comes_back(&[line]);
    }
}

#[test]
fn classes_of_later_versions_are_kept_without_a_diagnostic() {
    for name in ["team.changed", "review.completed", "agent.handoff", "permission.changed", "metric.changed"] {
        let line = format!(r#"{{ "type":"{name}", "teamId":"t", "n":1.50 }}"#);
        let all = decoded(&[&line]);
        assert!(matches!(&all[0][0].fact, Fact::Opaque(opaque) if opaque.name == name && opaque.payload == line), "{all:?}");
        assert_eq!(all[0].len(), 1);
        assert_eq!(encode_stated(&all[0]).unwrap(), line);
    }
}

#[test]
fn a_fact_from_an_owner_that_may_not_state_it_is_kept_and_flagged() {
    let wrong = [
        r#"{"type":"artifact.created","artifactId":"A","artifactStatus":"ready","owner":"ui_projection"}"#,
        r#"{"type":"artifact.created","artifactId":"A","artifactStatus":"ready","payload":{"owner":"model"}}"#,
        r#"{"type":"action.resolved","actionId":"a","owner":"ui_projection"}"#,
        r#"{"type":"evidence.changed","evidenceId":"E","verdict":"pass","owner":"model"}"#,
        r#"{"type":"run.finished","runId":"r","outcome":"success","owner":"somebody new"}"#,
        r#"{"type":"text.final","messageId":"m","text":"x","owner":"tool"}"#,
    ];
    for line in wrong {
        assert!(!facts(line).is_empty());
        assert_eq!(codes(&[line]), [code::FACT_WRONG_OWNER], "{line}");
        comes_back(&[line]);
    }
    let right = [
        (r#"{"type":"artifact.deleted","artifactId":"A"}"#, Owner::ARTIFACT),
        (r#"{"type":"artifact.deleted","artifactId":"A","owner":"artifact"}"#, Owner::ARTIFACT),
        (r#"{"type":"artifact.deleted","artifactId":"A","owner":"unknown"}"#, Owner::UNKNOWN),
        (r#"{"type":"artifact.deleted","artifactId":"A","payload":{"owner":"alice"}}"#, Owner::ARTIFACT),
        (r#"{"type":"action.required","actionId":"a","owner":"runtime"}"#, Owner::RUNTIME),
        (r#"{"type":"tool.result","toolCallId":"c","status":"ok","owner":"tool"}"#, Owner::TOOL),
        (r#"{"type":"host.write","writeId":"w","action":"send"}"#, Owner::HOST),
    ];
    for (line, owner) in right {
        assert_eq!(decoded(&[line])[0][0].owner, owner, "{line}");
        assert_eq!(codes(&[line]), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn text_streams_into_one_part_that_is_opened_once() {
    let lines = [
        r#"{"type":"text.delta","messageId":"m1","delta":"Hel"}"#,
        r#"{"type":"text.delta","messageId":"m1","delta":"lo"}"#,
        r#"{"type":"text.final","messageId":"m1","text":"Hello"}"#,
    ];
    let all = decoded(&lines);
    assert!(matches!((&all[0][0].fact, &all[0][1].fact), (Fact::PartOpened(_), Fact::PartDelta(_))));
    assert_eq!(all[0][1].source.part, Some((1, 2)));
    assert!(matches!(&all[1][0].fact, Fact::PartDelta(delta) if delta.part == "m1#text" && delta.text == "lo"));
    assert_eq!((all[1].len(), &all[1][0].ext), (1, &None));
    let target = PartTarget::Part(PartKind::Text, Text::Borrowed("m1#text"));
    assert!(matches!(&all[2][0].fact, Fact::PartFinal(last) if last.target == target && last.change == PartChange::Text("Hello".into())));
    comes_back(&lines);
}

#[test]
fn a_final_text_without_a_part_id_speaks_of_the_only_part_or_of_the_whole_message() {
    let one = r#"{"type":"text.delta","messageId":"m","partId":"p1","delta":"a"}"#;
    let two = r#"{"type":"text.delta","messageId":"m","partId":"p2","delta":"b"}"#;
    let last = r#"{"type":"text.final","messageId":"m","text":"ab"}"#;
    let target = |lines: &[&str]| match &decoded(lines).pop().unwrap()[0].fact {
        Fact::PartFinal(last) => format!("{:?}", last.target),
        other => panic!("{other:?}"),
    };
    assert_eq!(target(&[one, last]), r#"Part(Text, "p1")"#);
    assert_eq!(target(&[one, two, last]), r#"Message("m")"#);
    comes_back(&[one, two, last]);
}

#[test]
fn part_ids_that_messages_share_do_not_mix_their_texts() {
    let lines = [
        r#"{"type":"text.delta","messageId":"m1","partId":"0","delta":"a"}"#,
        r#"{"type":"text.delta","messageId":"m2","partId":"0","delta":"b"}"#,
        r#"{"type":"text.delta","messageId":"m1","partId":"0","delta":"c"}"#,
        r#"{"type":"text.delta","messageId":"m2","partId":"0","delta":"d"}"#,
    ];
    let parts: Vec<_> = decoded(&lines)
        .iter()
        .flatten()
        .filter_map(|stated| if let Fact::PartDelta(delta) = &stated.fact { Some(delta.part.to_string()) } else { None })
        .collect();
    assert_eq!(parts, ["0", "m2#0", "0", "m2#0"]);
    assert_eq!(codes(&lines), [code::PART_ID_REUSED]);
    comes_back(&lines);
}

#[test]
fn a_message_that_a_history_stated_goes_on_in_its_own_part() {
    let lines = [
        r#"{"type":"text.delta","messageId":"m1","delta":"a"}"#,
        r#"{"type":"messages.snapshot","messages":[{"id":"m1","role":"assistant","content":"ab"}]}"#,
        r#"{"type":"text.delta","messageId":"m1","delta":"c"}"#,
        r#"{"type":"text.delta","messageId":"m2","delta":"d"}"#,
    ];
    let all = decoded(&lines);
    assert!(matches!(&all[2][0].fact, Fact::PartDelta(delta) if delta.part == "m1"), "{all:?}");
    assert!(matches!(&all[3][0].fact, Fact::PartOpened(PartOpened { part, .. }) if part == "m2#text"));
    comes_back(&lines);
}

#[test]
fn a_summary_stands_beside_the_reasoning_and_not_in_its_place() {
    let all = facts(r#"{"type":"reasoning.summary","runId":"r","partId":"p","text":"short"}"#);
    let Fact::PartFinal(last) = &all[1] else { panic!("{all:?}") };
    assert_eq!((&last.change, last.metadata.as_ref()), (&PartChange::Closed, Some(&json(r#"{"summary":"short"}"#))));
}

#[test]
fn the_queue_is_replaced_whole_and_steers_are_records_of_their_own() {
    let line = r#"{"type":"queue.changed","sessionId":"s1","queued":[{"id":"q2","position":1},"q1"],"steer":{"id":"st","target":"r1","state":"rejected","text":"use tabs","reason":"late"}}"#;
    let all = facts(line);
    let (Fact::QueueSet(set), Fact::SteerChanged(steer)) = (&all[0], &all[1]) else { panic!("{all:?}") };
    assert_eq!(set.items.iter().map(|item| (item.id.as_ref(), item.position)).collect::<Vec<_>>(), [("q2", Some(1)), ("q1", None)]);
    assert_eq!((steer.state.as_ref(), steer.text.as_deref(), steer.reason.as_deref()), ("rejected", Some("use tabs"), Some("late")));
    let patch = r#"{"type":"queue.changed","sessionId":"s","queued":[],"steer":[{"id":"a","state":"pending","patch":{"k":1}},{"id":"b"}]}"#;
    assert!(matches!(&facts(patch)[1], Fact::SteerChanged(steer) if steer.text.as_deref() == Some(r#"{"k":1}"#)));
    comes_back(&[line, patch]);
}

#[test]
fn artifact_fields_go_by_the_names_of_the_standard_and_a_null_is_kept_for_previews() {
    let line = r#"{"type":"artifact.changed","runId":"r","artifactId":"A","kind":"report","status":"ready","versionId":"v1","preview":null,"sourceRefs":["x"],"title":"T"}"#;
    let all = facts(line);
    let Fact::ArtifactChanged(changed) = &all[0] else { panic!("{all:?}") };
    assert_eq!(changed.op, ArtifactOp::Changed);
    let expected = serde_json::json!({"artifactKind": "report", "artifactStatus": "ready", "artifactVersionId": "v1", "artifactPreview": null, "sourceRefs": ["x"], "title": "T"});
    assert_eq!(changed.fields.value().unwrap(), expected);
    comes_back(&[line]);
}

#[test]
fn an_error_that_is_a_text_becomes_the_message_of_one() {
    let error = |line: &str| match facts(line).remove(0) {
        Fact::TurnEnded(ended) => ended.error.unwrap().value().unwrap(),
        other => panic!("{other:?}"),
    };
    let text = r#"{"type":"run.failed","runId":"r","error":"down","code":"E1","retryable":false}"#;
    let object = r#"{"type":"run.failed","runId":"r","error":{"message":"","code":"E1","max_attempts":3}}"#;
    assert_eq!(error(text), serde_json::json!({"message": "down", "code": "E1"}));
    assert_eq!(error(object), serde_json::json!({"message": "", "code": "E1", "max_attempts": 3}));
    comes_back(&[text, object, r#"{"type":"run.failed","runId":"r","error":{"message":"m"}}"#]);
}

#[test]
fn decisions_of_the_same_request_without_an_id_are_the_same_decision() {
    let line = r#"{"type":"action.resolved","actionId":"a","decision":"rejected","receipt":{"id":1}}"#;
    let cancelled = r#"{"type":"action.resolved","actionId":"a","decisionId":"d","status":"cancelled"}"#;
    let all = facts(line);
    let Fact::InteractionResolved(resolved) = &all[0] else { panic!("{all:?}") };
    assert_eq!((resolved.decision.as_deref(), resolved.resolution), (Some("fact:a"), Resolution::Resolved));
    assert_eq!((&resolved.payload, &resolved.receipt), (&Some(json(r#"{"decision":"rejected"}"#)), &Some(json(r#"{"id":1}"#))));
    assert!(matches!(&facts(cancelled)[0], Fact::InteractionResolved(resolved) if resolved.resolution == Resolution::Cancelled));
    comes_back(&[line, cancelled]);
}

#[test]
fn snapshots_are_pages_with_a_cursor_and_edits_without() {
    let history = |fields: &str| {
        let line = format!(r#"{{"type":"messages.snapshot","messages":[]{fields}}}"#);
        comes_back(&[&line]);
        match facts(&line).remove(0) {
            Fact::HistoryImported(history) => (history.mode, history.older.map(|older| older.to_string())),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(history(""), (HistoryMode::Merge, None));
    assert_eq!(history(r#","cursor":"c1""#), (HistoryMode::Page, Some("c1".to_owned())));
    assert_eq!(history(r#","cursor":null,"window":{"limit":50}"#), (HistoryMode::Page, None));
    assert_eq!(history(r#","window":{"limit":50}"#), (HistoryMode::Append, None));
}

#[test]
fn only_text_parts_of_a_message_become_its_text() {
    let line = r#"{"type":"messages.snapshot","messages":[{"id":"m","role":"assistant","runId":"r","parts":[{"type":"reasoning_detail","id":"p","text":"hmm"},{"type":"assistant_text","text":"A"},{"type":"tool_call","toolCallId":"c","name":"grep","args":{"q":1}},{"type":"tool_result","toolCallId":"c","output":"log"},{"type":"runtime_status","text":"busy"},{"type":"assistant_text","text":"B"}]}],"turns":[{"turnId":"r","status":"completed"}]}"#;
    let all = facts(line);
    let Fact::HistoryImported(history) = &all[0] else { panic!("{all:?}") };
    let shown: Vec<_> = history.messages.iter().map(|message| (message.id.as_ref(), message.role.as_ref(), &message.content)).collect();
    let text = |text: &'static str| Some(Content::Text(text.into()));
    assert_eq!(shown, [("p", "reasoning", &text("hmm")), ("m", "assistant", &text("AB")), ("m#result3", "tool", &text("log"))]);
    assert_eq!((history.messages[1].tools[0].id.as_ref(), history.messages[1].tools[0].args.as_ref()), ("c", r#"{"q":1}"#));
    assert_eq!(history.turns[0].status.as_deref(), Some("completed"));
    comes_back(&[line]);
}

#[test]
fn a_task_keeps_what_an_event_does_not_say() {
    let line = r#"{"type":"task.changed","taskId":"t","status":"running","a/b~c":1,"__proto__":{}}"#;
    let all = facts(line);
    let Fact::DocumentPatched(patched) = &all[0] else { panic!("{all:?}") };
    let operations = patched.patch.value().unwrap();
    assert_eq!(operations[0], serde_json::json!({"op": "add", "path": "/status", "value": "running"}));
    assert_eq!((operations[1]["path"].as_str(), operations.as_array().map(Vec::len)), (Some("/a~1b~0c"), Some(2)));
    comes_back(&[line]);
}

#[test]
fn writes_of_the_host_are_attempts_and_outcomes() {
    let write = r#"{"type":"host.write","writeId":"w1","action":"respond","target":"a1","idempotencyKey":"k","draft":{"ok":true}}"#;
    let settled = r#"{"type":"host.write.settled","writeId":"w1","status":"failed","reason":"offline"}"#;
    assert!(
        matches!(&facts(write)[0], Fact::WriteChanged(changed) if matches!(&changed.op, WriteOp::Attempted { key: Some(key), detail: Some(_), .. } if key == "k"))
    );
    assert!(
        matches!(&facts(settled)[0], Fact::WriteChanged(changed) if matches!(&changed.op, WriteOp::Settled { outcome, detail: Some(_) } if outcome == "failed"))
    );
    comes_back(&[write, settled]);
}

#[test]
fn a_sequence_counts_within_all_that_the_event_names() {
    let mark = |line: &str| decoded(&[line])[0][0].source.stream.as_ref().map(|(name, seq)| (name.to_string(), *seq));
    let one = mark(r#"{"type":"text.delta","runId":"r","agentId":"a","sequence":3,"messageId":"m","delta":"x"}"#).unwrap();
    let two = mark(r#"{"type":"text.delta","runId":"r","agentId":"b","sequence":3,"messageId":"m","delta":"x"}"#).unwrap();
    let again = mark(r#"{"type":"run.status","agentId":"a","runId":"r","stage":"x","sequence":4}"#).unwrap();
    assert_ne!(one.0, two.0);
    assert_eq!((again.0.as_str(), again.1), (one.0.as_str(), 4));
    assert_eq!(mark(r#"{"type":"artifact.deleted","artifactId":"A","sequence":-1}"#), None);
    assert_eq!(mark(r#"{"type":"artifact.deleted","artifactId":"A","sequence":0}"#).map(|(_, seq)| seq), Some(0));
    let refused = mark(r#"{"type":"text.delta","runId":"r","agentId":"a","sequence":5}"#);
    assert_eq!(refused.map(|(name, _)| name), Some(one.0), "what states nothing has its place too");
    let long = format!(r#"{{"type":"artifact.deleted","artifactId":"A","runId":"{}","sequence":1}}"#, "r".repeat(5000));
    assert!(mark(&long).unwrap().0.len() < 100);
}
