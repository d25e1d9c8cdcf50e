use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::adapter::folded::{Folded, comes_back, kept};
use crate::adapter::source::Raw;
use crate::state::Mark;

fn folded(lines: &[Value]) -> Folded {
    let texts: Vec<String> = lines.iter().map(Value::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut decoder = Decoder::new();
    Folded::of(&texts, &mut |raw: Raw<'_>| {
        let mut facts = Vec::new();
        decoder.decode_raw(raw, &mut facts);
        comes_back(raw.text, &facts, encode);
        kept(facts)
    })
}

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2025-10-01T00:00:00.000Z", "type": kind, "payload": payload})
}

fn item(payload: Value) -> Value {
    line("response_item", payload)
}

fn event(payload: Value) -> Value {
    line("event_msg", payload)
}

fn asked(text: &str) -> Value {
    item(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}))
}

fn answered(text: &str) -> Value {
    item(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], "phase": "final_answer"}))
}

fn started(turn: &str) -> Value {
    event(json!({"type": "task_started", "turn_id": turn, "model_context_window": 9}))
}

fn ended(turn: &str) -> Value {
    event(json!({"type": "task_complete", "turn_id": turn, "last_agent_message": "all done and well"}))
}

fn texts(folded: &Folded) -> Vec<String> {
    folded.texts().into_iter().map(|(role, text)| format!("{role}: {text}")).collect()
}

#[test]
fn text_that_comes_as_item_and_as_event_is_shown_once_in_either_order() {
    let saw = |text: &str| event(json!({"type": "user_message", "message": text, "images": []}));
    let said = |text: &str| event(json!({"type": "agent_message", "message": text}));
    let item_first =
        folded(&[started("t"), asked("go on then"), saw("go on then"), answered("it is done"), said("it is done"), ended("t")]);
    let event_first =
        folded(&[started("t"), saw("go on then"), asked("go on then"), said("it is done"), answered("it is done"), ended("t")]);
    for folded in [&item_first, &event_first] {
        assert_eq!(texts(folded), ["user: go on then", "assistant: it is done"]);
        assert_eq!(folded.statuses(), ["t:completed"]);
        assert!(folded.codes.is_empty());
    }
    assert_eq!(event_first.parts()[1].0.mark, Mark::Match);
    assert_eq!(event_first.header().diagnostics, 0);
}

#[test]
fn a_text_that_is_said_twice_is_shown_twice() {
    let said = |text: &str| event(json!({"type": "agent_message", "message": text}));
    let folded = folded(&[said("working"), answered("working"), said("working"), answered("working"), asked("na"), asked("na")]);
    assert_eq!(texts(&folded), ["assistant: working", "assistant: working", "user: na", "user: na"]);
}

#[test]
fn an_event_whose_item_never_comes_keeps_its_text_and_the_item_wins_where_both_differ() {
    let said = |text: &str| event(json!({"type": "agent_message", "message": text}));
    let alone = folded(&[said("only the person saw this"), event(json!({"type": "token_count", "info": null})), answered("another text")]);
    assert_eq!(texts(&alone), ["assistant: only the person saw this", "assistant: another text"]);
    let differs = folded(&[said("[hidden message]"), answered("[hidden text]")]);
    assert_eq!(texts(&differs), ["assistant: [hidden text]"]);
    assert_eq!(differs.parts()[0].0.mark, Mark::Replaced);
}

#[test]
fn reasoning_is_bound_to_its_events_and_keeps_its_encrypted_value() {
    let thought = |text: &str| event(json!({"type": "agent_reasoning", "text": text}));
    let reasoning = |summary: &[&str], content: Value| {
        let summary: Vec<_> = summary.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
        item(json!({"type": "reasoning", "summary": summary, "content": content, "encrypted_content": "Z0FBQUFB of some length"}))
    };
    let folded = folded(&[
        started("t"),
        thought("first I look"),
        thought("then I think"),
        reasoning(&["first I look", "then I think"], Value::Null),
        reasoning(&["only in the item"], json!([{"type": "reasoning_text", "text": "raw thought"}])),
        event(json!({"type": "agent_reasoning_raw_content", "text": "raw thought"})),
        reasoning(&[], Value::Null),
        event(json!({"type": "agent_reasoning_raw_content", "text": "only in the event"})),
    ]);
    let shown: Vec<_> = folded.reasoning().into_iter().map(|(part, text)| (text, part.sealed.is_some())).collect();
    let shown: Vec<_> = shown.iter().map(|(text, sealed)| (text.as_str(), *sealed)).collect();
    let whole = [
        ("first I look", false),
        ("then I think", true),
        ("only in the item", false),
        ("raw thought", true),
        ("", true),
        ("only in the event", false),
    ];
    assert_eq!(shown, whole);
}

#[test]
fn calls_of_every_kind_are_bound_to_their_outputs() {
    let folded = folded(&[
        started("t"),
        item(json!({"type": "function_call", "name": "shell", "arguments": "{\"cmd\":\"ls -la\"}", "call_id": "c1"})),
        item(
            json!({"type": "custom_tool_call", "status": "completed", "name": "apply_patch", "input": "*** Begin Patch", "call_id": "c2"}),
        ),
        item(json!({"type": "local_shell_call", "status": "completed", "call_id": "c3", "action": {"type": "exec", "command": ["ls"]}})),
        item(json!({"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "rust"}})),
        item(json!({"type": "function_call", "name": "lost", "arguments": "{}", "call_id": "c4"})),
        answered("meanwhile"),
        item(json!({"type": "custom_tool_call_output", "call_id": "c2", "output": {"content": "does not apply", "success": false}})),
        item(json!({"type": "function_call_output", "call_id": "c1", "output": "a.txt and some more"})),
        item(json!({"type": "function_call_output", "call_id": "c3", "output": [{"type": "input_text", "text": "listing"}]})),
        item(json!({"type": "function_call_output", "call_id": "nobody", "output": "of an unknown call"})),
    ]);
    let shown: Vec<_> =
        folded.tools().into_iter().map(|(tool, args, results)| format!("{} {} {args} {results:?}", tool.name, tool.status)).collect();
    assert_eq!(
        shown,
        [
            r#"shell succeeded {"cmd":"ls -la"} ["a.txt and some more"]"#,
            r#"apply_patch failed *** Begin Patch ["does not apply"]"#,
            r#"local_shell succeeded {"command":["ls"],"type":"exec"} ["[{\"text\":\"listing\",\"type\":\"input_text\"}]"]"#,
            r#"web_search succeeded {"query":"rust","type":"search"} [""]"#,
            r#"lost running {} []"#,
        ]
    );
    assert_eq!(folded.lone_results(), [("nobody".to_owned(), "of an unknown call".to_owned())]);
}

#[test]
fn turns_end_as_the_rollout_says_and_in_no_other_way() {
    let usage = event(json!({"type": "token_count", "info": {"total_token_usage": {"total_tokens": 7}}}));
    let folded = folded(&[
        started("done"),
        usage,
        ended("done"),
        started("stopped"),
        event(json!({"type": "turn_aborted", "turn_id": "stopped", "reason": "interrupted"})),
        asked("<turn_aborted>\nThe person stopped it.</turn_aborted>"),
        started("wordless"),
        event(json!({"type": "turn_aborted"})),
        started("broken"),
        event(json!({"type": "error", "message": "stream lost"})),
        ended("broken"),
        started("cut"),
        started("last"),
        answered("half of an"),
    ]);
    assert_eq!(
        folded.statuses(),
        ["done:completed", "stopped:interrupted", "wordless:interrupted", "broken:failed", "cut:unknown", "last:running"]
    );
    assert_eq!(folded.turns()[0].usage.as_deref().map(crate::state::Content::here), Some(r#"{"total_token_usage":{"total_tokens":7}}"#));
    assert!(folded.turns()[3].error.as_deref().map(crate::state::Content::here).unwrap().contains("stream lost"));
}

#[test]
fn where_no_line_tells_of_turns_the_messages_of_the_person_begin_them() {
    let old = folded(&[
        json!({"id": "s1", "timestamp": "2025-05-01T00:00:00Z", "instructions": null}),
        json!({"record_type": "state"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>here</environment_context>"}]}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first question"}]}),
        json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"}),
        json!({"type": "function_call_output", "call_id": "c", "output": "fine"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "second question"}]}),
    ]);
    assert_eq!(old.statuses(), ["line:3:unknown", "line:7:running"]);
    assert_eq!((old.texts().len(), &old.fields()["session_id"]), (3, &json!("s1")));
    assert!(old.codes.is_empty(), "{:?}", old.codes);

    let told =
        folded(&[asked("rules of the house"), asked("and the place"), started("t1"), asked("now a question"), ended("t1"), started("t2")]);
    let turns = told.turns();
    assert_eq!((turns.len(), turns[0].run.as_deref(), turns[0].status.as_str()), (2, Some("t1"), "completed"));
}

#[test]
fn a_compaction_is_marked_once_and_says_nothing_again() {
    let history = json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}]);
    let marked = folded(&[
        asked("go"),
        line("compacted", json!({"message": "what was done so far", "replacement_history": history})),
        event(json!({"type": "context_compacted"})),
    ]);
    assert_eq!((marked.compactions(), texts(&marked)), (1, vec!["user: go".to_owned(), "system: what was done so far".to_owned()]));
    let by_event = folded(&[event(json!({"type": "context_compacted"})), line("compacted", json!({"message": ""}))]);
    assert_eq!((by_event.compactions(), by_event.texts().len()), (1, 0));
}

#[test]
fn the_rollout_of_a_subagent_knows_its_parent_whatever_else_it_holds() {
    let own = line(
        "session_meta",
        json!({"id": "child", "cwd": "/w", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "mother", "depth": 1}}}, "agent_role": "explorer"}),
    );
    let other = line("session_meta", json!({"id": "mother", "cwd": "/other"}));
    let folded = folded(&[own.clone(), other, line("turn_context", json!({"cwd": "/w2", "model": "gpt-x"})), answered("hello there")]);
    let fields = folded.fields();
    assert_eq!(
        (&fields["session_id"], &fields["parent_session"], &fields["agent_role"]),
        (&json!("child"), &json!("mother"), &json!("explorer"))
    );
    assert_eq!(fields["model"], "gpt-x");
    assert!(folded.parts()[0].0.metadata.as_deref().unwrap().contains(r#""model":"gpt-x""#));
    assert_eq!(identity(&own.to_string()), Some(Identity { session: "child".into(), parent: Some("mother".into()) }));
    assert_eq!(identity(&answered("x").to_string()), None);
}

#[test]
fn hostile_lines_are_kept_and_stop_nothing() {
    let deep =
        format!(r#"{{"type":"response_item","payload":{{"type":"message","content":[{}1{}]}}}}"#, "[".repeat(5000), "]".repeat(5000));
    let lines = [
        "",
        "null",
        "[1]",
        r#"{"type":"response_item""#,
        r#"{"type":"response_item","payload":7}"#,
        r#"{"type":"response_item","payload":{}}"#,
        r#"{"type":"response_item","payload":{"type":"new_item","text":"x"}}"#,
        r#"{"type":"event_msg","payload":{"type":"new_event"}}"#,
        r#"{"type":"new_kind","payload":{"type":"x"}}"#,
        r#"{"type":"session_meta","payload":{"id":7,"cwd":1e999}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":"a bare text as the content"}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"half \ud83d of a character"}]}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","name":"f","arguments":"half \ud83d of a character","call_id":"h"}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{\"=\":\"0\"} of some length","call_id":"k"}}"#,
        r#"{"type":"response_item","payload":{"type":"message","=":1,"role":"user","content":[{"type":"input_text","text":"a key like ours and text"}]}}"#,
        deep.as_str(),
    ];
    let mut decoder = Decoder::new();
    let mut all = Folded::new();
    for line in lines {
        let mut facts = Vec::new();
        decoder.decode(line, &mut facts);
        comes_back(line, &facts, encode);
        facts.iter().for_each(|stated| all.fold(stated));
    }
    for text in ["a bare text as the content", "half \u{FFFD} of a character", "a key like ours and text"] {
        assert!(all.texts().iter().any(|(_, shown)| shown == text), "{text}");
    }
    assert_eq!(all.codes.iter().filter(|known| *known == code::UNKNOWN_EVENT).count(), 8, "{:?}", all.codes);
}

fn any_payload() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(vec!["", "a", "a longer text of words", "é\"\n\u{1F600} and more of it", "<turn_aborted> and more"]);
    let names = vec![
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "web_search_call",
        "task_started",
        "task_complete",
        "turn_aborted",
        "error",
        "token_count",
        "user_message",
        "agent_message",
        "agent_reasoning",
        "context_compacted",
        "thread_name_updated",
        "compaction",
        "new",
    ];
    let block = (prop::sample::select(vec!["input_text", "output_text", "summary_text", "input_image", "refusal"]), word())
        .prop_map(|(kind, word)| json!({"type": kind, "text": word, "refusal": word}));
    let odd = prop::sample::select(vec![
        json!(null),
        json!("t1"),
        json!(7),
        json!({"content": "of some length", "success": false}),
        json!([1.5]),
    ]);
    let role = prop::sample::select(vec!["user", "assistant", "developer", ""]);
    (prop::sample::select(names), prop::collection::vec(block, 0..3), word(), role, prop::collection::vec(odd, 6)).prop_map(
        |(name, blocks, word, role, odd)| {
            json!({
                "type": name, "role": role, "content": blocks, "summary": blocks, "message": word, "text": word, "thread_name": word,
                "arguments": word, "name": odd[0], "call_id": odd[1], "output": odd[2], "turn_id": odd[3], "reason": odd[4], "id": odd[5],
                "encrypted_content": "a sealed value of some length", "status": "completed", "info": odd[2], "=": null
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_line_comes_back_equal_by_value(
        lines in prop::collection::vec((prop::sample::select(vec!["response_item", "event_msg", "compacted", "session_meta", "turn_context", "new"]), any_payload(), any::<bool>(), any::<bool>()), 1..24)
    ) {
        let lines: Vec<Value> = lines
            .into_iter()
            .map(|(kind, mut payload, bare, cut)| {
                if cut {
                    payload.as_object_mut().unwrap().remove("=");
                }
                if bare { payload } else { line(kind, payload) }
            })
            .collect();
        folded(&lines);
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
