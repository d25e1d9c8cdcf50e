use proptest::prelude::*;
use serde_json::{Map, Value, json};
use turnstore_storage::{Position, Seq, Stream};

use super::super::{Piece, encode, encode_stated};
use super::*;
use crate::event;
use crate::fact::{CurrentTurn, HistoryMode, PartChange, PartKind, PartTarget, ToolOp};

fn decoded<'a>(lines: &[&'a str]) -> Vec<Vec<Stated<'a>>> {
    decoded_with(Validation::Strict, lines)
}

fn decoded_with<'a>(validation: Validation, lines: &[&'a str]) -> Vec<Vec<Stated<'a>>> {
    let mut decoder = Decoder::with_validation(validation);
    lines
        .iter()
        .map(|line| {
            let mut out = Vec::new();
            decoder.decode(line, &mut out);
            out
        })
        .collect()
}

#[track_caller]
fn only<'a>(line: &'a str) -> Stated<'a> {
    let mut facts = decoded(&[line]).remove(0);
    assert_eq!(facts.len(), 1, "{facts:?}");
    facts.remove(0)
}

fn codes(facts: &[Stated<'_>]) -> Vec<String> {
    let codes =
        facts.iter().filter_map(|stated| if let Fact::DiagnosticNoted(noted) = &stated.fact { Some(noted.code.to_string()) } else { None });
    codes.collect()
}

/// Every event of the protocol in its usual form, and the kinds of fact that it gives.
const TABLE: [(&str, &[&str]); 17] = [
    (r#"{"type":"turn_start","turn_id":"t1"}"#, &["TurnStarted"]),
    (
        r#"{"type":"turn_end","turn_id":"t1","status":"failed","error":{"code":"max_attempts","message":"","max_attempts":3}}"#,
        &["TurnEnded"],
    ),
    (r#"{"type":"turn_artifacts","turn_id":"t1","artifacts":[{"entryPath":"a.md","artifactType":"document"}]}"#, &["TurnArtifactsSet"]),
    (r#"{"type":"session_event","title":"x","theme":1,"current_turn":null}"#, &["SessionChanged", "CurrentTurnAsserted"]),
    (
        r#"{"type":"session_event","current_turn":{"turnId":"t1","status":"running","pendingInteractions":[{"interactionId":"i","data":{"k":1}}]}}"#,
        &["CurrentTurnAsserted"],
    ),
    (r#"{"type":"part_add","turn_id":"t1","part":{"id":"p1","type":"text","text":"He"}}"#, &["PartOpened"]),
    (r#"{"type":"part_add","turn_id":"t1","part":{"id":"p2","type":"tool","toolCallId":"c1","toolName":"grep"}}"#, &["ToolChanged"]),
    (r#"{"type":"part_add","turn_id":"t1","part":{"id":"p3","type":"chart","points":[1,2]}}"#, &["PartOpened", "DocumentSet"]),
    (r#"{"type":"part_update","part_id":"p1","delta":"llo"}"#, &["PartDelta"]),
    (r#"{"type":"part_complete","part_id":"p1","part":{"id":"p1","type":"text","text":"Hello"}}"#, &["PartFinal"]),
    (r#"{"type":"part_complete","part_id":"p1"}"#, &["PartFinal"]),
    (r#"{"type":"tool_input_delta","tool_call_id":"c1","delta":"{\"q\":"}"#, &["ToolChanged"]),
    (r#"{"type":"tool_input_complete","tool_call_id":"c1","input":{"q":1}}"#, &["ToolChanged", "ToolChanged"]),
    (r#"{"type":"tool_result","tool_call_id":"c1","output":"no","is_error":true}"#, &["ToolChanged"]),
    (r#"{"type":"compact_start","tokens":9}"#, &["CompactionMarked"]),
    (r#"{"type":"interaction_request","interaction_id":"i","turn_id":"t1","data":{"type":"approval"}}"#, &["InteractionRequested"]),
    (
        r#"{"type":"SessionMessages","messages":[{"id":"m1","role":"assistant","turnId":"t1","text":"old","artifacts":[],"error":{"code":"x","message":""},"createdAt":5}],"turns":[{"turnId":"t1","status":"interrupted","artifacts":[]}],"olderCursor":"c","requested_at_seq":7}"#,
        &["HistoryImported"],
    ),
];

#[test]
fn events_in_their_usual_form_give_facts_without_residue() {
    for (line, kinds) in TABLE {
        let facts = decoded(&[line]).remove(0);
        let found: Vec<_> = facts.iter().filter_map(|stated| stated.fact.kind().name()).collect();
        assert_eq!(found, kinds, "{line}");
        for stated in &facts {
            assert_eq!((&stated.ext, &stated.source.name), (&None, &None), "{line}");
            assert_eq!(stated.source.protocol, Protocol::ASEITY);
            assert_ne!(stated.owner, Owner::UNKNOWN, "{line}");
        }
        let back: Value = serde_json::from_str(&encode_stated(&facts).unwrap()).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(line).unwrap());
    }
}

#[test]
fn streamed_text_is_borrowed() {
    let stated = only(r#"{"type":"part_update","part_id":"p","delta":"hi"}"#);
    assert!(
        matches!(&stated.fact, Fact::PartDelta(delta) if matches!((&delta.part, &delta.text), (Text::Borrowed("p"), Text::Borrowed("hi"))))
    );
}

#[test]
fn synonyms_mean_the_same_and_are_written_as_they_came() {
    let same = [
        r#"{"type":"part_update","part_id":"p","delta":"hi"}"#,
        r#"{"type":"part_update","partId":"p","text":"hi"}"#,
        r#"{"type":"part_update","id":"p","content":"hi"}"#,
        r#"{"type":"part_update","part":{"id":"p"},"delta":"hi"}"#,
        r#"{"type":"part_update","part_id":"p","delta":{"type":"text_delta","text":"hi"}}"#,
    ];
    let first = only(same[0]);
    for line in same {
        let stated = only(line);
        assert_eq!(stated.fact, first.fact, "{line}");
        let back: Value = serde_json::from_str(&encode_stated(&[stated]).unwrap()).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(line).unwrap());
    }
    let renamed = only(same[2]).ext.unwrap();
    assert!(!renamed.as_str().contains("hi"), "text is kept once: {renamed:?}");
}

#[test]
fn a_part_keeps_what_it_was_added_as() {
    let facts = decoded(&[
        r#"{"type":"part_add","turn_id":"t","part":{"id":"r","type":"thinking"}}"#,
        r#"{"type":"part_update","part_id":"r","delta":"hm"}"#,
        r#"{"type":"part_complete","part_id":"r"}"#,
        r#"{"type":"part_add","turn_id":"t","part":{"id":"p","type":"tool-search","toolCallId":"c","input":{}}}"#,
        r#"{"type":"tool_input_delta","part_id":"p","delta":"{}"}"#,
        r#"{"type":"tool_result","part_id":"p","output":{"n":1}}"#,
        r#"{"type":"part_complete","part":{"id":"p","type":"tool-search","output":{"n":1}}}"#,
    ]);
    assert!(matches!(&facts[1][0].fact, Fact::PartDelta(delta) if delta.kind == PartKind::Reasoning));
    assert!(matches!(&facts[2][0].fact, Fact::PartFinal(last) if last.target == PartTarget::Part(PartKind::Reasoning, "r".into())));
    assert!(
        matches!(&facts[3][..], [Stated { fact: Fact::ToolChanged(changed), .. }] if matches!(&changed.op, ToolOp::Started { name, .. } if name == "search"))
    );
    for facts in &facts[3..] {
        assert!(matches!(&facts[0].fact, Fact::ToolChanged(changed) if changed.tool == "c"), "{facts:?}");
    }
    assert_eq!(facts[6].len(), 1, "a result that a part repeats is no second result");
}

#[test]
fn a_part_stated_whole_replaces_what_was_streamed() {
    let facts = decoded(&[r#"{"type":"part_update","part":{"id":"p","type":"text","text":"all of it"}}"#]).remove(0);
    assert!(matches!(&facts[0].fact, Fact::PartFinal(last) if last.change == PartChange::Text("all of it".into())));
}

#[test]
fn a_tool_that_no_part_announced_is_started_by_its_name_once() {
    let facts = decoded(&[
        r#"{"type":"tool_input_delta","tool_call_id":"c","tool_name":"grep","turn_id":"t","delta":"{"}"#,
        r#"{"type":"tool_input_delta","tool_call_id":"c","tool_name":"grep","turn_id":"t","delta":"}"}"#,
    ]);
    assert_eq!(facts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    assert!(
        matches!(&facts[0][0].fact, Fact::ToolChanged(changed) if matches!(&changed.op, ToolOp::Started { name, .. } if name == "grep"))
    );
}

#[test]
fn one_bad_reference_rejects_the_whole_event() {
    let cases = [
        (r#"{"id":"art_1"}"#, code::LEGACY_ARTIFACT_REFERENCE),
        (r#"{"id":"art_1","entryPath":null,"artifactType":"image"}"#, code::LEGACY_ARTIFACT_REFERENCE),
        (r#"{"entryPath":"","artifactType":"document"}"#, code::EMPTY_ENTRY_PATH),
        (r#"{"entryPath":"a","artifactType":"video"}"#, code::INVALID_ARTIFACT_TYPE),
        (r#"{"entryPath":"a"}"#, code::INVALID_ARTIFACT_TYPE),
        (r#"{"entryPath":5,"artifactType":"image"}"#, code::INVALID_ARTIFACT_REFERENCE),
        (r#"{}"#, code::INVALID_ARTIFACT_REFERENCE),
        (r#""a.md""#, code::INVALID_ARTIFACT_REFERENCE),
        ("null", code::INVALID_ARTIFACT_REFERENCE),
    ];
    for (reference, code) in cases {
        let list = format!(r#"[{{"entryPath":"ok.md","artifactType":"document"}},{reference}]"#);
        let lines = [
            format!(r#"{{"type":"turn_artifacts","turn_id":"t","artifacts":{list}}}"#),
            format!(r#"{{"type":"SessionMessages","messages":[],"turns":[{{"turnId":"t","status":"completed","artifacts":{list}}}]}}"#),
            format!(r#"{{"type":"SessionMessages","messages":[{{"id":"m","role":"assistant","turnId":"t","artifacts":{list}}}]}}"#),
        ];
        for line in &lines {
            let stated = only(line);
            let Fact::DiagnosticNoted(noted) = &stated.fact else { panic!("{line}: {stated:?}") };
            assert_eq!((noted.code.as_ref(), noted.raw.as_deref()), (code, Some(line.as_str())), "{line}");
            assert_eq!(encode_stated(&[stated]).unwrap(), *line);
        }
    }
}

#[test]
fn references_of_the_old_form_are_rejected_without_validation_too() {
    let lines = [
        r#"{"type":"turn_artifacts","turn_id":"t","artifacts":[{"entryPath":"","artifactType":"video"}]}"#,
        r#"{"type":"turn_artifacts","turn_id":"t","artifacts":[{"id":"x"}]}"#,
        r#"{"type":"SessionMessages","messages":[],"turns":[{"turnId":"t","artifacts":[{"id":"x"}]}]}"#,
        r#"{"type":"SessionMessages","messages":[],"protocolVersion":"0.6.3"}"#,
        r#"{"type":"SessionMessages","messages":[],"protocolVersion":"0.7.0"}"#,
    ];
    let facts = decoded_with(Validation::Off, &lines);
    assert!(matches!(&facts[0][0].fact, Fact::TurnArtifactsSet(set) if set.references[0].artifact_type == "video"));
    let codes: Vec<_> = facts[1..].iter().map(|facts| codes(facts)).collect();
    assert_eq!(
        codes,
        [vec![code::LEGACY_ARTIFACT_REFERENCE], vec![code::LEGACY_ARTIFACT_REFERENCE], vec![code::OLD_FORMAT_SNAPSHOT], vec![]]
    );
}

#[test]
fn a_reference_may_say_more_and_paths_stay_as_they_are() {
    let line = r#"{"type":"turn_artifacts","turn_id":"t","artifacts":[{"id":"x","entryPath":"../ a//\u00e9.md ","artifactType":"document","size":1}]}"#;
    let facts = decoded(&[line]).remove(0);
    assert!(matches!(&facts[0].fact, Fact::TurnArtifactsSet(set) if set.references[0].path == "../ a//é.md "));
    assert_eq!(codes(&facts), [code::PATH_OUTSIDE_WORKSPACE]);
    let back: Value = serde_json::from_str(&encode_stated(&facts).unwrap()).unwrap();
    assert_eq!(back, serde_json::from_str::<Value>(line).unwrap());
}

#[test]
fn an_open_turn_is_asserted_whole_or_not_at_all() {
    let whole = r#"{"type":"session_event","current_turn":{"turnId":"t","status":"stopping","pendingInteractions":[]}}"#;
    let facts = decoded(&[whole]).remove(0);
    let Fact::CurrentTurnAsserted(asserted) = &facts[0].fact else { panic!("{facts:?}") };
    assert_eq!(asserted.current, Some(CurrentTurn { turn: "t".into(), status: "running".into(), pending: Vec::new() }));
    assert_eq!(codes(&facts), [code::HOST_STATUS_ON_WIRE]);
    let halves = [
        r#"{"turnId":"t","status":"running"}"#,
        r#"{"status":"running","pendingInteractions":[]}"#,
        r#"{"turnId":"t","pendingInteractions":[]}"#,
        r#"{"turnId":"t","status":"running","pendingInteractions":[{"data":{}}]}"#,
        r#"{"turnId":"t","status":"running","pendingInteractions":{}}"#,
        r#""t""#,
        "false",
    ];
    for half in halves {
        let line = format!(r#"{{"type":"session_event","title":"x","current_turn":{half}}}"#);
        let facts = decoded(&[&line]).remove(0);
        assert!(!facts.iter().any(|stated| matches!(stated.fact, Fact::CurrentTurnAsserted(_))), "{half}");
        assert!(matches!(&facts[0].fact, Fact::SessionChanged(changed) if changed.title.as_deref() == Some("x")), "{half}");
        assert_eq!(codes(&facts), [code::MALFORMED_FIELD], "{half}");
        let back: Value = serde_json::from_str(&encode_stated(&facts).unwrap()).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(&line).unwrap());
    }
}

#[test]
fn an_error_with_an_empty_message_stays_and_none_is_made_up() {
    let facts = decoded(&[
        r#"{"type":"turn_end","turn_id":"t","status":"failed","error":{"code":"x","message":""}}"#,
        r#"{"type":"turn_end","turn_id":"t","status":"failed"}"#,
        r#"{"type":"turn_end","turn_id":"t"}"#,
    ]);
    let ends = facts.iter().map(|facts| match &facts[0].fact {
        Fact::TurnEnded(ended) => (ended.status.as_ref(), ended.error.as_ref().map(Json::as_str)),
        other => panic!("{other:?}"),
    });
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends, [("failed", Some(r#"{"code":"x","message":""}"#)), ("failed", None), ("unknown", None)]);
}

#[test]
fn a_session_error_is_a_diagnostic_that_holds_the_event() {
    let line = r#"{"type":"session_error","error":{"code":"auth","message":""}}"#;
    let stated = only(line);
    let Fact::DiagnosticNoted(noted) = &stated.fact else { panic!("{stated:?}") };
    assert_eq!((noted.code.as_ref(), noted.detail.as_deref()), (code::SESSION_ERROR, Some("auth")));
    assert_eq!(encode_stated(&[stated]).unwrap(), line);
}

fn page(line: &str) -> (crate::fact::HistoryImported<'_>, Vec<String>) {
    let mut facts = decoded(&[line]).remove(0);
    let codes = codes(&facts);
    match facts.remove(0).fact {
        Fact::HistoryImported(history) => (history, codes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_keep_what_the_model_has_no_place_for() {
    let line = r#"{"messages":[{"id":"m","role":"user","turn_id":"t","parts":[{"type":"text","text":"q"}],"attachments":[{"id":"f"}],"metadata":null}],"older_cursor":"c"}"#;
    let facts = decoded(&[line]).remove(0);
    let (history, _) = page(line);
    assert_eq!((history.mode, history.older.as_deref()), (HistoryMode::Page, Some("c")));
    let message = &history.messages[0];
    assert_eq!(message.content, Some(crate::fact::Content::Json(Json::new(r#"[{"type":"text","text":"q"}]"#).unwrap())));
    assert_eq!(message.metadata.as_ref().map(Json::as_str), Some(r#"{"attachments":[{"id":"f"}],"metadata":null}"#));
    assert!(!facts[0].ext.as_ref().unwrap().as_str().contains("attachments"), "said once: {:?}", facts[0].ext);
    let back: Value = serde_json::from_str(&encode_stated(&facts).unwrap()).unwrap();
    assert_eq!(back, serde_json::from_str::<Value>(line).unwrap());
}

#[test]
fn the_summary_of_a_turn_stands_before_its_messages() {
    let reference = |path: &str| json!([{"entryPath": path, "artifactType": "document"}]);
    let message = |id: &str, turn: &str, path: &str| json!({"id": id, "role": "assistant", "turnId": turn, "artifacts": reference(path)});
    let line = json!({"type": "SessionMessages",
        "messages": [message("m1", "t1", "a"), message("m2", "t2", "b"), message("m3", "t3", "c"), message("m4", "t4", "d")],
        "turns": [{"turnId": "t1", "artifacts": reference("a")}, {"turnId": "silent"}, {"turnId": "t3", "artifacts": reference("other")}, {"turnId": "t4"}]})
    .to_string();
    let (history, codes) = page(&line);
    assert_eq!(codes, [code::ARTIFACT_SOURCE_CONFLICT]);
    let turns: Vec<_> =
        history.turns.iter().map(|turn| (turn.turn.as_ref(), turn.artifacts.as_ref().map(|list| list[0].path.as_ref()))).collect();
    assert_eq!(turns, [("t1", Some("a")), ("t2", Some("b")), ("silent", None), ("t3", Some("other")), ("t4", Some("d"))]);
    let back = encode_stated(&decoded(&[&line])[0]).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), serde_json::from_str::<Value>(&line).unwrap());
}

#[test]
fn the_host_says_when_a_page_was_asked_for_unless_the_page_does() {
    let seq = |line: &str, at: Option<u64>| {
        let mut facts = Vec::new();
        Decoder::new().decode_page(line, at.and_then(Seq::new), &mut facts);
        let back: Value = serde_json::from_str(&encode_stated(&facts).unwrap()).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(line).unwrap());
        match &facts[0].fact {
            Fact::HistoryImported(history) => history.requested_at,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(seq(r#"{"messages":[]}"#, Some(9)), Some(9));
    assert_eq!(seq(r#"{"messages":[]}"#, None), Some(0));
    assert_eq!(seq(r#"{"messages":[],"requested_at_seq":3}"#, Some(9)), Some(3));
}

#[test]
fn what_is_no_event_of_the_protocol_is_kept_as_it_came() {
    for line in ["{oops", "[]", "3", "", r#"{"type":"interaction_response","x":1.50}"#, r#"{"no":"type"}"#, r#"{"type":7}"#] {
        let facts = decoded(&[line]).remove(0);
        assert!(matches!(&facts[0].fact, Fact::Opaque(_)), "{line}");
        assert_eq!(codes(&facts), [code::UNKNOWN_EVENT], "{line}");
        assert_eq!(encode_stated(&facts).unwrap(), line);
    }
    for line in [r#"{"type":"turn_start"}"#, r#"{"type":"turn_end","turn_id":null,"status":"x"}"#, r#"{"type":"part_update","delta":"x"}"#]
    {
        assert_eq!(codes(&decoded(&[line])[0]), [code::MALFORMED_EVENT], "{line}");
    }
}

#[test]
fn a_character_cut_in_two_deltas_is_put_together() {
    let lines = [r#"{"type":"part_update","part_id":"p","delta":"a\ud83d"}"#, r#"{"type":"part_update","part_id":"p","delta":"\ude00b"}"#];
    let facts = decoded(&lines);
    let text = facts.iter().map(|facts| match &facts[0].fact {
        Fact::PartDelta(delta) => delta.text.to_string(),
        other => panic!("{other:?}"),
    });
    assert_eq!(text.collect::<String>(), "a😀b");
    for (facts, line) in facts.iter().zip(lines) {
        assert!(encode_stated(facts).unwrap().contains(&line[42..48]), "{line}");
    }
}

#[test]
fn hostile_input_is_data() {
    let deep = format!(r#"{{"type":"part_add","part":{{"id":"p","type":"x","deep":{}1{}}}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    let nested = format!(r#"{{"type":"session_event","current_turn":{}null{}}}"#, r#"{"turnId":"#.repeat(5_000), "}".repeat(5_000));
    let lines = [
        deep.as_str(),
        nested.as_str(),
        r#"{"type":"SessionMessages","messages":[],"requested_at_seq":123456789012345678901234567890}"#,
        r#"{"type":"SessionMessages","messages":[],"requested_at_seq":-1.5e300}"#,
        r#"{"type":"turn_start","turn_id":"a","turn_id":"b"}"#,
        r#"{"type":"turn_start","turn_id":"\ud800"}"#,
        r#"{"type":"turn_start","turn_id":"t","~":{"turn":"turnId"},"-":["turn_id"],"=":1}"#,
        r#"{"type":"compact_end","~":1}"#,
    ];
    for line in lines {
        let facts = decoded(&[line]).remove(0);
        assert!(!facts.is_empty());
        let back = encode_stated(&facts).unwrap();
        match (serde_json::from_str::<Value>(line), serde_json::from_str::<Value>(&back)) {
            (Ok(line), Ok(back)) => assert_eq!(line, back),
            _ => assert!(back.contains(r#"\ud800"#) || back.len() >= 5_000, "{back}"),
        }
    }
}

const NAMES: [&str; 17] = [
    "turn_start",
    "turn_end",
    "turn_artifacts",
    "session_event",
    "part_add",
    "part_update",
    "part_complete",
    "tool_input_delta",
    "tool_input_complete",
    "tool_result",
    "session_error",
    "compact_start",
    "compact_end",
    "interaction_request",
    "SessionMessages",
    "session_messages",
    "vendor_thing",
];

const TEXTS: [&str; 24] = [
    "turn_id",
    "turnId",
    "part_id",
    "partId",
    "id",
    "message_id",
    "delta",
    "text",
    "content",
    "tool_call_id",
    "toolCallId",
    "tool_name",
    "name",
    "output",
    "input",
    "status",
    "title",
    "interaction_id",
    "request_id",
    "older_cursor",
    "cursor",
    "role",
    "error",
    "stop_reason",
];

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "", "é\"\n\u{1F600}", "running", "waiting", "{}", "{\"a\":1}", "[1"]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        5 => word().prop_map(Value::String),
        1 => prop::sample::select(vec![json!(null), json!(true), json!(7), json!(1.5), json!([1, {"a": null}]), json!({"text": "x", "k": [1]})]),
    ]
}

fn artifacts() -> impl Strategy<Value = Value> {
    let reference = prop_oneof![
        6 => (prop::sample::select(vec!["a", "b/i.html", "./a", "../x", "/y", ""]), prop::sample::select(vec!["document", "webpage", "image"]))
            .prop_map(|(path, kind)| json!({"entryPath": path, "artifactType": kind})),
        1 => prop::sample::select(vec![json!({"id": "x"}), json!({"id": "x", "entryPath": "a", "artifactType": "image"}), json!(1), json!({"entryPath": "a", "artifactType": "video"})]),
    ];
    prop_oneof![8 => prop::collection::vec(reference, 0..4).prop_map(Value::Array), 1 => value()]
}

fn object(keys: &'static [&'static str], artifacts_weight: f64) -> impl Strategy<Value = Value> {
    let texts = prop::collection::vec(prop::option::weighted(0.5, value()), keys.len());
    (texts, prop::option::weighted(artifacts_weight, artifacts())).prop_map(|(texts, artifacts)| {
        let mut map: Map<String, Value> = keys.iter().zip(texts).filter_map(|(key, value)| Some(((*key).to_owned(), value?))).collect();
        map.extend(artifacts.map(|artifacts| ("artifacts".to_owned(), artifacts)));
        Value::Object(map)
    })
}

fn part() -> impl Strategy<Value = Value> {
    let kinds = vec!["text", "reasoning", "thinking", "tool", "tool-x", "chart", "tool_result", ""];
    (
        object(&["id", "text", "content", "role", "input", "output", "toolCallId", "toolName", "status"], 0.02),
        prop::option::of(prop::sample::select(kinds)),
    )
        .prop_map(|(mut part, kind)| {
            if let (Some(kind), Some(part)) = (kind, part.as_object_mut()) {
                part.insert("type".to_owned(), json!(kind));
            }
            part
        })
}

fn current() -> impl Strategy<Value = Value> {
    let asked = prop::collection::vec(object(&["interactionId", "data", "id"], 0.02), 0..3);
    let whole =
        (object(&["turnId", "turn_id", "status", "more"], 0.02), prop::option::weighted(0.8, asked)).prop_map(|(mut turn, asked)| {
            if let (Some(asked), Some(turn)) = (asked, turn.as_object_mut()) {
                turn.insert("pendingInteractions".to_owned(), Value::Array(asked));
            }
            turn
        });
    prop_oneof![4 => whole, 1 => Just(Value::Null), 1 => value()]
}

fn event() -> impl Strategy<Value = Map<String, Value>> {
    let texts = prop::collection::vec(prop::option::weighted(0.45, value()), TEXTS.len());
    let message = object(&["id", "role", "turnId", "turn_id", "text", "content", "parts", "error", "name", "createdAt", "toolCallId"], 0.4);
    let messages = prop_oneof![6 => prop::collection::vec(message, 0..4).prop_map(Value::Array), 1 => value()];
    let turns = prop_oneof![6 => prop::collection::vec(object(&["turnId", "id", "status", "error", "more"], 0.5), 0..4).prop_map(Value::Array), 1 => value()];
    let rare = prop::sample::select(vec![
        ("-", json!(["turn_id"])),
        ("=", json!({"type": "x"})),
        ("~", json!({"turn": "turnId"})),
        ("future", json!({"deep": [1]})),
    ]);
    (
        texts,
        prop::option::weighted(0.7, part()),
        prop::option::weighted(0.7, current()),
        prop::option::weighted(0.8, artifacts()),
        prop::option::weighted(0.8, messages),
        prop::option::weighted(0.6, turns),
        prop::option::weighted(0.5, value()),
        prop::option::weighted(0.1, rare),
        prop::option::weighted(0.3, prop::sample::select(vec![json!(3), json!(-1), json!("x")])),
    )
        .prop_map(|(texts, part, current, artifacts, messages, turns, data, rare, at)| {
            let texts = TEXTS.iter().zip(texts).filter_map(|(key, value)| Some((*key, value?)));
            let rest = [
                ("part", part),
                ("current_turn", current),
                ("artifacts", artifacts),
                ("messages", messages),
                ("turns", turns),
                ("data", data),
                ("requested_at_seq", at),
            ];
            let rest = rest.into_iter().filter_map(|(key, value)| Some((key, value?)));
            texts.chain(rest).chain(rare).map(|(key, value)| (key.to_owned(), value)).collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_event_comes_back_equal_by_value(off in any::<bool>(), events in prop::collection::vec((prop::sample::select(NAMES.to_vec()), event()), 1..20)) {
        let mut decoder = Decoder::with_validation(if off { Validation::Off } else { Validation::Strict });
        for (name, mut fields) in events {
            fields.insert("type".to_owned(), json!(name));
            let value = Value::Object(fields);
            let text = value.to_string();
            let mut facts = Vec::new();
            decoder.decode(&text, &mut facts);
            prop_assert!(!facts.is_empty());
            let back = encode_stated(&facts).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), value.clone(), "{:?}", facts);

            let stored: Vec<Vec<u8>> = facts.iter().map(|stated| {
                let mut bytes = Vec::new();
                event::encode(stated, &mut bytes).unwrap();
                bytes
            }).collect();
            let events: Vec<_> = stored.iter().map(|bytes| event::decode(Position::FIRST, Stream::FIRST, Seq::FIRST, bytes).unwrap()).collect();
            let pieces: Vec<_> = events.iter().map(|event| Piece::of_event(event).unwrap()).collect();
            prop_assert_eq!(encode(&pieces).unwrap(), back);
        }
    }

    #[test]
    fn no_text_stops_the_decoder(texts in prop::collection::vec("\\PC{0,40}", 1..8)) {
        let mut decoder = Decoder::new();
        for text in &texts {
            let mut facts = Vec::new();
            decoder.decode(text, &mut facts);
            prop_assert_eq!(&encode_stated(&facts).unwrap(), text);
        }
    }
}
