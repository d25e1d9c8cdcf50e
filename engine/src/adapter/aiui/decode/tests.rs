use proptest::prelude::*;
use serde_json::{Map, Value, json};
use turnstore_storage::{Position, Seq, Stream};

use super::super::encode::{encode, encode_stated};
use super::*;
use crate::adapter::piece::Piece;
use crate::event;
use crate::fact::{Content, HistoryMode, PartOpened};

fn decoded<'a>(lines: &[&'a str]) -> Vec<Vec<Stated<'a>>> {
    let mut decoder = Decoder::new();
    lines
        .iter()
        .map(|line| {
            let mut out = Vec::new();
            decoder.decode(line, &mut out);
            out
        })
        .collect()
}

fn codes(lines: &[&str]) -> Vec<String> {
    let facts = decoded(lines).into_iter().flatten();
    facts.filter_map(|stated| if let Fact::DiagnosticNoted(noted) = stated.fact { Some(noted.code.into_owned()) } else { None }).collect()
}

const START: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;

#[test]
fn text_that_streams_is_borrowed_and_has_no_residue() {
    let lines = [
        START,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"hi"}"#,
    ];
    let facts = decoded(&lines);
    let [stated] = facts[2].as_slice() else { panic!("{facts:?}") };
    let Fact::PartDelta(delta) = &stated.fact else { panic!("{stated:?}") };
    assert!(matches!((&delta.part, &delta.text), (Text::Borrowed("m"), Text::Borrowed("hi"))));
    assert_eq!((&stated.ext, &stated.source.name, &stated.source.part), (&None, &None, &None));
}

#[test]
fn legacy_spellings_are_kept_as_the_name_of_their_source() {
    let facts = decoded(&[START, r#"{"type":"TextMessageStart","messageId":"m"}"#]);
    assert_eq!(facts[1][0].source.name.as_deref(), Some("TextMessageStart"));
    assert!(matches!(&facts[1][0].fact, Fact::PartOpened(PartOpened { role, .. }) if role == "assistant"));
}

#[test]
fn an_interrupt_gives_its_requests_and_the_end_of_the_turn_as_parts_of_one_event() {
    let end = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"a","reason":"x"},{"id":"b","reason":"y"}]}}"#;
    let facts = decoded(&[START, end]);
    let parts: Vec<_> = facts[1].iter().map(|stated| stated.source.part).collect();
    assert_eq!(parts, [Some((0, 3)), Some((1, 3)), Some((2, 3))]);
    assert!(matches!(&facts[1][2].fact, Fact::TurnEnded(ended) if ended.status == "interrupt" && ended.turn.as_deref() == Some("r")));
}

#[test]
fn the_input_of_a_run_brings_messages_and_answers() {
    let start = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"q"}],"resume":[{"interruptId":"i","status":"resolved","payload":1}]}}"#;
    let facts = decoded(&[start]);
    assert!(
        matches!(&facts[0][1].fact, Fact::HistoryImported(history) if history.mode == HistoryMode::Append && history.messages[0].content == Some(Content::Text("q".into())))
    );
    assert!(matches!(&facts[0][2].fact, Fact::InteractionResolved(resolved) if resolved.interaction == "i"));
}

#[test]
fn chunks_close_the_lane_before_them() {
    let facts = decoded(&[
        START,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"b"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"n","delta":"c"}"#,
    ]);
    assert!(matches!((&facts[1][0].fact, &facts[1][1].fact), (Fact::PartOpened(_), Fact::PartDelta(_))));
    assert!(matches!(&facts[2][0].fact, Fact::PartDelta(delta) if delta.part == "m"));
    assert!(matches!((&facts[3][0].fact, &facts[3][1].fact), (Fact::PartFinal(_), Fact::PartOpened(opened)) if opened.part == "n"));
}

#[test]
fn what_is_wrong_with_an_event_has_a_code() {
    let cases = [
        (vec![r#"{"type":"STATE_SNAPSHOT","snapshot":1}"#], code::RUN_NOT_STARTED),
        (vec![START, START], code::RUN_ACTIVE),
        (vec![START, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}"#], code::NOT_OPEN),
        (vec![START, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":1}"#], code::MALFORMED_EVENT),
        (vec![START, r#"{"type":"STEP_STARTED","stepName":"s","timestamp":"noon"}"#], code::MALFORMED_FIELD),
        (vec![START, r#"{"type":"TOOL_CALL_CHUNK","delta":"x"}"#], code::CHUNK_UNBOUND),
        (vec![START, r#"{"type":"VENDOR_NEW_THING"}"#], code::UNKNOWN_EVENT),
        (vec![START, "{oops"], code::UNKNOWN_EVENT),
        (
            vec![START, r#"{"type":"STEP_STARTED","stepName":"s"}"#, r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#],
            code::OPEN_AT_FINISH,
        ),
        (vec![START, r#"{"type":"RUN_FINISHED","threadId":"t","runId":"other"}"#], code::RUN_MISMATCH),
    ];
    for (lines, code) in cases {
        assert_eq!(codes(&lines), [code], "{lines:?}");
    }
}

#[test]
fn questions_may_be_answered_after_the_run() {
    let lines = [
        START,
        r#"{"type":"HUMAN_INPUT_REQUESTED","request":{"requestId":"q","kind":"approval","status":"pending","turnId":"r"}}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"approval"}]}}"#,
        r#"{"type":"HUMAN_INPUT_RESOLVED","requestId":"q","decisionId":"d","actionId":"approve","receipt":{"id":1}}"#,
    ];
    assert_eq!(codes(&lines), Vec::<String>::new());
    let facts = decoded(&lines);
    let Fact::InteractionResolved(resolved) = &facts[3][0].fact else { panic!("{facts:?}") };
    assert_eq!(resolved.payload.as_ref().map(|payload| payload.as_str()), Some(r#"{"actionId":"approve"}"#));
    assert_eq!(resolved.receipt.as_ref().map(|receipt| receipt.as_str()), Some(r#"{"id":1}"#));
}

#[test]
fn workspace_events_come_under_custom_or_under_their_own_name() {
    let facts = decoded(&[
        r#"{"type":"CUSTOM","name":"aiui.workspace.intent","value":{"intentId":"n"}}"#,
        r#"{"type":"aiui.workspace.intent","intentId":"n"}"#,
    ]);
    for group in &facts {
        assert!(matches!(&group[0].fact, Fact::WorkspaceChanged(changed) if changed.intent.as_deref() == Some("n")), "{group:?}");
    }
}

#[test]
fn unknown_events_come_back_byte_for_byte() {
    let line = r#"{ "type" : "VENDOR_NEW_THING", "x":1.50 }"#;
    assert_eq!(encode_stated(&decoded(&[line])[0]).unwrap(), line);
}

#[test]
fn large_numbers_come_back_digit_for_digit() {
    let line = r#"{"type":"CUSTOM","name":"surface.create","value":{"surfaceId":"s","n":123456789012345678901234567890}}"#;
    assert!(encode_stated(&decoded(&[line])[0]).unwrap().contains("123456789012345678901234567890"));
}

/// One of each event that this protocol has beside the AG-UI set, with every field that is known of it.
const OF_ITS_OWN: &[(&str, &[&str])] = &[
    (
        r#"{"type":"HUMAN_INPUT_REQUESTED","timestamp":1700000000000,"request":{"requestId":"approval-1","runId":"r","threadId":"t","turnId":"turn-1","parentMessageId":"a","kind":"approval","status":"pending","title":"Review","description":"d","subject":{"type":"com.example.effect","referenceId":"e","revision":"1","data":{"preview":"x"}},"responseSchema":{"type":"object"},"actions":[{"id":"approve","label":"Approve","intent":"approve"}],"policy":{"mode":"ask","requiresExplicitResponse":true},"createdAt":"2026-01-01T00:00:00Z","expiresAt":"2026-01-02T00:00:00Z","toolCallId":"c","metadata":{"k":1}}}"#,
        &[
            "InteractionRequested",
            r#"interaction: "approval-1""#,
            r#"kind: "approval""#,
            r#"turn: Some("r")"#,
            r#"tool: Some("c")"#,
            r#"expires_at: Some("2026-01-02T00:00:00Z")"#,
            "Owner(1)",
        ],
    ),
    (
        r#"{"type":"HUMAN_INPUT_REQUESTED","requestId":"q","kind":"input","status":"pending","turnId":"u","expiresAt":1700000000000}"#,
        &["InteractionRequested", r#"turn: Some("u")"#, r#"expires_at: Some("1700000000000")"#],
    ),
    (
        r#"{"type":"HUMAN_INPUT_RESOLVED","requestId":"q","decisionId":"d","actionId":"approve","response":{"a":1},"status":"resolved","resolvedAt":"2026-01-01T00:00:00Z","receipt":{"id":"rc"},"metadata":{"k":1},"timestamp":1}"#,
        &["InteractionResolved", r#"decision: Some("d")"#, "Resolved", r#"\"actionId\":\"approve\""#, r#"\"id\":\"rc\""#, "Owner(4)"],
    ),
    (
        r#"{"type":"HUMAN_INPUT_RESOLVED","requestId":"q","decisionId":"d","status":"cancelled","receipt":null}"#,
        &["Cancelled", "receipt: None"],
    ),
    (r#"{"type":"HumanInputResolved","requestId":"q","status":"expired"}"#, &["Expired", "decision: None", "HumanInputResolved"]),
    (
        r#"{"type":"INTERRUPTION","id":"i","reason":"tool_approval","toolCallId":"c","runId":"r","responseSchema":{"type":"object"},"metadata":{"k":1}}"#,
        &["InteractionRequested", r#"interaction: "i""#, r#"kind: "tool_approval""#, r#"turn: Some("r")"#, r#"tool: Some("c")"#],
    ),
    (r#"{"type":"INTERRUPTION","reason":"paused"}"#, &["Opaque"]),
    (r#"{"type":"UI_BLOCK","block":{"kind":"approval-card","id":"b"}}"#, &["Opaque", "UI_BLOCK"]),
    (
        r#"{"type":"CUSTOM","name":"aiui.workspace.capabilities","value":{"protocolVersions":["v1"],"viewKinds":["aiui.resource"],"regions":["sidePanel"],"modes":["tab"],"features":["tabs"],"maxOpenSurfaces":8}}"#,
        &["WorkspaceChanged", "Capabilities", "maxOpenSurfaces", "Owner(8)"],
    ),
    (
        r#"{"type":"aiui.workspace.intent","timestamp":1,"metadata":{"k":1},"intentId":"n","resource":{"resourceId":"artifact-1","type":"aiui.document"},"viewKind":"aiui.resource","reuseKey":"artifact:1","presentation":{"region":"sidePanel","mode":"tab","focus":"request"}}"#,
        &["WorkspaceChanged", "Intent", r#"intent: Some("n")"#, "reuseKey", "Owner(1)"],
    ),
    (
        r#"{"type":"CUSTOM","name":"aiui.workspace.intent","value":{"intentId":"n","type":"workspace.resource.open"}}"#,
        &["WorkspaceChanged", "Intent", "workspace.resource.open"],
    ),
    (
        r#"{"type":"aiui.workspace.intent.result","intentId":"n","status":"rejected","reason":"policy","surfaceId":"s"}"#,
        &["WorkspaceChanged", "IntentResult", r#"intent: Some("n")"#, "policy", "Owner(8)"],
    ),
    (r#"{"type":"CUSTOM","name":"aiui.workspace.state","value":{"revision":3,"surfaces":[]}}"#, &["WorkspaceChanged", "State", "Owner(8)"]),
    (
        r#"{"type":"surface.create","surfaceId":"s","catalog":{"id":"basic","version":"1.0.0"},"root":"n","components":[{"id":"n"}],"state":{"v":1},"display":"card","sequence":0}"#,
        &["SurfaceChanged", "Create", "sequence: Some(0)", r#"surface: "s""#, "1.0.0"],
    ),
    (
        r#"{"type":"CUSTOM","name":"surface.patch","value":{"surfaceId":"s","sequence":1,"patch":[{"op":"add","path":"/v","value":2}]}}"#,
        &["SurfaceChanged", "Patch", "sequence: Some(1)"],
    ),
    (r#"{"type":"CUSTOM","name":"surface.close","value":{"surfaceId":"s"}}"#, &["SurfaceChanged", "Close", "sequence: None"]),
    (r#"{"type":"CUSTOM","name":"surface.rotate","value":{"surfaceId":"s"}}"#, &["Opaque"]),
    (r#"{"type":"CUSTOM","name":"surface.patch","value":{"sequence":1}}"#, &["Opaque"]),
    (r#"{"type":"aiui.workspace.intent","type2":"no id"}"#, &["Opaque"]),
    (r#"{"type":"aiui.catalog.published","catalog":{"id":"kit","version":"2.0.0"}}"#, &["Opaque", "2.0.0"]),
    (r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":"c","encryptedValue":"x=="}"#, &["Sealed", r#"value: "x==""#]),
    (r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","usage":[{"inputTokens":1,"model":"m"}]}"#, &["TurnEnded", "inputTokens"]),
    (r#"{"type":"SUBAGENT_STARTED","subagentRunId":"g","name":"n"}"#, &["Opaque", "SUBAGENT_STARTED"]),
];

#[test]
fn every_event_of_its_own_states_its_facts_and_comes_back() {
    for (line, says) in OF_ITS_OWN {
        let facts = decoded(&[START, line]);
        let shown = format!("{:?}", facts[1]);
        for word in *says {
            assert!(shown.contains(word), "{word} of {line}: {shown}");
        }
        let back: Value = serde_json::from_str(&encode_stated(&facts[1]).unwrap()).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(line).unwrap(), "{shown}");
    }
}

const NAMES: [&str; 46] = [
    "RUN_STARTED",
    "RUN_FINISHED",
    "RUN_ERROR",
    "STEP_STARTED",
    "STEP_FINISHED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TEXT_MESSAGE_CHUNK",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_CHUNK",
    "TOOL_CALL_RESULT",
    "REASONING_START",
    "REASONING_END",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_MESSAGE_CHUNK",
    "REASONING_ENCRYPTED_VALUE",
    "THINKING_START",
    "THINKING_END",
    "THINKING_TEXT_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END",
    "STATE_SNAPSHOT",
    "STATE_DELTA",
    "MESSAGES_SNAPSHOT",
    "ACTIVITY_SNAPSHOT",
    "ACTIVITY_DELTA",
    "RAW",
    "CUSTOM",
    "SUBAGENT_STARTED",
    "SUBAGENT_FINISHED",
    "SUBAGENT_ERROR",
    "HUMAN_INPUT_REQUESTED",
    "HUMAN_INPUT_RESOLVED",
    "UI_BLOCK",
    "INTERRUPTION",
    "TextMessageStart",
    "TextMessageContent",
    "RunFinished",
    "ToolCallResult",
    "aiui.workspace.intent",
    "VENDOR_THING",
];

const TEXTS: [&str; 12] = [
    "messageId",
    "toolCallId",
    "toolCallName",
    "parentMessageId",
    "delta",
    "threadId",
    "runId",
    "stepName",
    "subagentRunId",
    "entityId",
    "encryptedValue",
    "requestId",
];

fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "m", "", "é\"\n\u{1F600}", "assistant", "tool-call", "message"]).prop_map(str::to_owned)
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => words().prop_map(Value::String),
        1 => prop::sample::select(vec![json!(null), json!(true), json!(7), json!(1.5), json!([1, {"a": null}]), json!({"k": [1]}), json!("/x")])
    ]
}

/// Fields of every event at once, mostly of the right type.
fn fields() -> impl Strategy<Value = Map<String, Value>> {
    let texts = prop::collection::vec(prop::option::weighted(0.8, any_value()), TEXTS.len());
    let messages = json!([{"id": "u", "role": "user", "content": "q"}, {"id": "a", "role": "assistant", "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}]);
    let rest: Vec<(&str, Vec<Value>)> = vec![
        ("role", vec![json!("assistant"), json!("user"), json!("reasoning"), json!("tool")]),
        ("content", vec![json!("text"), json!({"a": 1}), json!([{"type": "text", "text": "x", "new": 1}]), json!([{"type": "new"}])]),
        ("snapshot", vec![json!({"a": 1}), json!(null)]),
        ("patch", vec![json!([{"op": "add", "path": "/a", "value": 1}]), json!([{"op": "odd"}])]),
        (
            "messages",
            vec![messages.clone(), json!([{"id": "x", "role": "new"}]), json!([{"id": "x", "role": "user", "content": [], "extra": 1}])],
        ),
        (
            "outcome",
            vec![
                json!(null),
                json!({"type": "success"}),
                json!({"type": "success", "pendingToolCallIds": ["c"]}),
                json!({"type": "cancelled"}),
                json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "r", "new": 1}]}),
                json!({"type": "new"}),
            ],
        ),
        (
            "input",
            vec![
                json!({"threadId": "t", "runId": "r", "messages": messages, "resume": [{"interruptId": "i", "status": "resolved"}]}),
                json!(3),
            ],
        ),
        ("metadata", vec![json!({"k": 1}), json!(null)]),
        ("name", vec![json!("n"), json!("aiui.workspace.state"), json!("surface.patch")]),
        ("value", vec![json!({"surfaceId": "s", "sequence": 1, "patch": []}), json!(1)]),
        ("request", vec![json!({"requestId": "q", "kind": "approval", "turnId": "r"})]),
        ("subtype", vec![json!("tool-call"), json!("message")]),
        ("activityType", vec![json!("P"), json!("Q")]),
        ("replace", vec![json!(true), json!(false)]),
        ("message", vec![json!("boom")]),
        ("event", vec![json!({"data": 1})]),
        ("timestamp", vec![json!(1_700_000_000_000_i64), json!("noon")]),
        ("intentId", vec![json!("n")]),
        ("id", vec![json!("i"), json!(1)]),
        ("expiresAt", vec![json!("2026-01-01T00:00:00Z"), json!(1_700_000_000_000_i64), json!({"at": 1})]),
        ("-", vec![json!(["role"])]),
        ("=", vec![json!({"type": "X"})]),
        ("futureField", vec![json!({"deep": [1]})]),
    ];
    let chosen: Vec<_> = rest
        .into_iter()
        .map(|(key, values)| {
            let weight = if matches!(key, "-" | "=" | "futureField" | "timestamp") { 0.1 } else { 0.7 };
            prop::option::weighted(weight, prop::sample::select(values)).prop_map(move |value| value.map(|value| (key.to_owned(), value)))
        })
        .collect();
    (texts, chosen).prop_map(|(texts, chosen)| {
        let texts = TEXTS.iter().zip(texts).filter_map(|(key, value)| Some(((*key).to_owned(), value?)));
        texts.chain(chosen.into_iter().flatten()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_event_comes_back_equal_by_value(events in prop::collection::vec((prop::sample::select(NAMES.to_vec()), fields()), 1..20)) {
        let mut decoder = Decoder::new();
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
    fn the_hot_way_gives_what_the_general_way_gives(name in prop::sample::select(vec!["TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "REASONING_MESSAGE_CONTENT"]), id in words(), delta in words(), time in prop::option::of(0_i64..1 << 50)) {
        let key = if name == "TOOL_CALL_ARGS" { "toolCallId" } else { "messageId" };
        let mut event = json!({"type": name, key: id, "delta": delta});
        if let Some(time) = time {
            event["timestamp"] = json!(time);
        }
        let text = event.to_string();
        let (mut hot, mut cold) = (Vec::new(), Vec::new());
        let mut decoder = Decoder::new();
        prop_assert!(decoder.clone().hot(&text, &mut hot));
        decoder.cold(Raw { line: 1, text: &text, name: None, id: None }, &mut cold);
        prop_assert_eq!(hot.first(), cold.first());
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
