use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::adapter::folded::{Folded, comes_back, kept};
use crate::adapter::source::Raw;
use crate::fact::{Fact, ToolOp};
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

fn user(uuid: &str, parent: Option<&str>, content: Value) -> Value {
    json!({"type": "user", "uuid": uuid, "parentUuid": parent, "isSidechain": false, "sessionId": "s", "cwd": "/w", "timestamp": "2025-01-01T00:00:00Z", "message": {"role": "user", "content": content}})
}

fn assistant(uuid: &str, message: &str, block: Value, stop: Option<&str>) -> Value {
    json!({"type": "assistant", "uuid": uuid, "parentUuid": "p", "isSidechain": false, "sessionId": "s", "cwd": "/w", "message": {"id": message, "role": "assistant", "model": "m-1", "content": [block], "stop_reason": stop, "usage": {"input_tokens": 3, "output_tokens": 4}}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn texts(folded: &Folded) -> Vec<String> {
    folded.texts().into_iter().map(|(role, text)| format!("{role}: {text}")).collect()
}

#[test]
fn lines_of_one_message_are_its_parts_in_the_order_of_the_file() {
    let folded = folded(&[
        user("u", None, json!("find the bug please")),
        assistant("a", "msg", json!({"type": "thinking", "thinking": "where could it be", "signature": "c2lnbmF0dXJlIG9mIGl0"}), None),
        assistant("b", "msg", text("I look into the file first"), None),
        assistant("c", "msg", json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "/src/lib.rs"}}), None),
        user("d", Some("c"), json!([{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "fn main() {}"}]}])),
        assistant("e", "msg2", text("It is the third line."), Some("end_turn")),
    ]);
    assert_eq!(texts(&folded), ["user: find the bug please", "assistant: I look into the file first", "assistant: It is the third line."]);
    let reasoning = folded.reasoning();
    assert_eq!(
        (reasoning[0].1.as_str(), reasoning[0].0.sealed.as_deref().map(crate::state::Content::here)),
        ("where could it be", Some("c2lnbmF0dXJlIG9mIGl0"))
    );
    assert_eq!((reasoning[0].0.message.as_str(), folded.parts()[1].0.message.as_str()), ("msg", "msg"));
    let (tool, args, results) = folded.tools().remove(0);
    assert_eq!((tool.name.as_str(), tool.status.as_str(), args.as_str()), ("Read", "succeeded", r#"{"path":"/src/lib.rs"}"#));
    assert_eq!(results, ["fn main() {}"]);
    assert_eq!(folded.statuses(), ["u:completed"]);
    let usage: Value = serde_json::from_str(folded.turns()[0].usage.as_deref().map(crate::state::Content::here).unwrap()).unwrap();
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(6), &json!(8)), "once for each message");
    assert!(folded.parts().iter().all(|(part, _)| part.mark == Mark::Closed));
    assert!(folded.codes.is_empty(), "{:?}", folded.codes);
}

#[test]
fn siblings_orphans_and_cycles_lose_nothing_and_keep_the_order_of_the_file() {
    let mut late = user("late", Some("x"), json!("written first, dated last"));
    late["timestamp"] = json!("2030-01-01T00:00:00Z");
    let folded = folded(&[
        late,
        user("one", None, json!("the first try")),
        assistant("a1", "m1", text("delivered answer"), None),
        user("two", None, json!("the same question, edited")),
        user("orphan", Some("gone"), json!("my parent is not here")),
        user("x", Some("y"), json!("round")),
        user("y", Some("x"), json!("and round")),
        user("self", Some("self"), json!("my own parent")),
    ]);
    assert_eq!(folded.texts().len(), 8);
    assert_eq!(folded.texts()[0].1, "written first, dated last");
    let parents: Vec<Value> = folded
        .parts()
        .iter()
        .map(|(part, _)| serde_json::from_str::<Value>(part.metadata.as_deref().unwrap()).unwrap()["parentUuid"].clone())
        .collect();
    assert_eq!(parents, [json!("x"), Value::Null, json!("p"), Value::Null, json!("gone"), json!("y"), json!("x"), json!("self")]);
}

#[test]
fn a_turn_ends_as_its_lines_say_and_in_no_other_way() {
    let mut failed = assistant("f", "m5", text("API Error: overloaded"), Some("stop_sequence"));
    failed["isApiErrorMessage"] = json!(true);
    failed["error"] = json!("server_error");
    let folded = folded(&[
        user("cut", None, json!("no word of an end")),
        assistant("a", "m1", text("an answer that may go on"), None),
        user("stopped", None, json!("run it")),
        assistant("b", "m2", json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}}), Some("tool_use")),
        user("i", None, json!([text("[Request interrupted by user for tool use]")])),
        user("broken", None, json!("again")),
        failed,
        user("full", None, json!("write a book")),
        assistant("g", "m6", text("Once upon"), Some("max_tokens")),
        user("last", None, json!("short please")),
        assistant("h", "m7", text("first"), Some("end_turn")),
        assistant("k", "m8", text("a hook wants more"), None),
    ]);
    assert_eq!(
        folded.statuses(),
        ["cut:unknown", "stopped:interrupted", "broken:failed", "full:max_tokens", "last:running"],
        "the last turn went on after its end and stops in the middle"
    );
    let error: Value = serde_json::from_str(folded.turns()[2].error.as_deref().map(crate::state::Content::here).unwrap()).unwrap();
    assert_eq!(error["error"], "server_error");
    assert_eq!(folded.turns()[4].reopened, 1);
}

#[test]
fn a_line_that_comes_again_says_nothing_twice_and_another_under_its_uuid_says_its_own() {
    let line = user("u", None, json!("say it once"));
    let other = user("u", None, json!("another thing"));
    let folded = folded(&[line.clone(), line.clone(), other.clone(), other, line]);
    assert_eq!(texts(&folded), ["user: say it once", "user: another thing"]);
    assert_eq!(folded.codes, [code::LINE_REPEATED, code::ID_REUSED, code::LINE_REPEATED, code::LINE_REPEATED]);
    assert_eq!(folded.statuses(), ["u:unknown", "u~2:running"]);
}

#[test]
fn the_store_drops_a_repeated_line_by_its_id_however_it_is_batched() {
    let line = user("u", None, json!([text("one"), text("two")])).to_string();
    let decode = |lines: &[&str]| {
        let mut decoder = Decoder::new();
        let mut facts = Vec::new();
        lines.iter().for_each(|line| decoder.decode(line, &mut facts));
        kept(facts)
    };
    let once = decode(&[&line]);
    let twice = decode(&[&line, &line]);
    let folder = tempfile::tempdir().unwrap();
    let engine = crate::Engine::open(folder.path().join("s.turnstore")).unwrap();
    let receipt = engine.append("whole", twice.clone()).unwrap();
    assert_eq!(receipt.appended, once.len());
    engine.append("parted", once.clone()).unwrap();
    assert_eq!(engine.append("parted", twice[once.len()..].to_vec()).unwrap().appended, 0);
    assert_eq!(engine.append("parted", once).unwrap().appended, 0, "the same file again");
}

#[test]
fn titles_come_from_people_before_models_and_from_summaries_of_this_session_alone() {
    let foreign = json!({"type": "summary", "summary": "Another session", "leafUuid": "elsewhere"});
    let early = json!({"type": "summary", "summary": "This one", "leafUuid": "u"});
    let title = |lines: &[Value]| folded(lines).header().title.clone();
    assert_eq!(title(&[foreign.clone(), user("u", None, json!("hi there"))]), None);
    assert_eq!(title(&[early.clone(), foreign.clone(), user("u", None, json!("hi there"))]).as_deref(), Some("This one"));
    assert_eq!(title(&[user("u", None, json!("hi there")), early.clone()]).as_deref(), Some("This one"));
    let custom = json!({"type": "custom-title", "customTitle": "Mine", "sessionId": "s"});
    let model = json!({"type": "ai-title", "aiTitle": "Guess", "sessionId": "s"});
    assert_eq!(title(&[user("u", None, json!("hi")), custom, model, early]).as_deref(), Some("Mine"));
}

#[test]
fn a_compaction_is_marked_once_and_its_summary_is_a_text_that_asks_nothing() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": null, "logicalParentUuid": "a", "content": "Conversation compacted", "compactMetadata": {"trigger": "auto", "preTokens": 9}, "sessionId": "s"});
    let mut summary = user("c", Some("b"), json!("This session goes on from an earlier one."));
    summary["isCompactSummary"] = json!(true);
    let marked = folded(&[user("u", None, json!("go")), boundary, summary.clone()]);
    assert_eq!((marked.compactions(), marked.turns().len(), marked.texts().len()), (1, 1, 2));
    let unmarked = folded(&[user("u", None, json!("go")), summary]);
    assert_eq!((unmarked.compactions(), unmarked.turns().len(), unmarked.texts().len()), (1, 1, 2));
}

#[test]
fn the_transcript_of_a_subagent_knows_its_parent_and_its_lines_among_others_stay_marked() {
    let mut side = user("u", None, json!("look around"));
    side["isSidechain"] = json!(true);
    side["agentId"] = json!("abc123");
    let alone = folded(&[side.clone()]);
    assert_eq!(alone.statuses(), ["u:running"]);
    assert_eq!((&alone.fields()["parent_session"], &alone.fields()["agent"]), (&json!("s"), &json!("abc123")));
    assert_eq!(
        identity(&side.to_string()),
        Some(Identity { session: "s/agent-abc123".into(), parent: Some("s".into()), agent: Some("abc123".into()) })
    );

    side["uuid"] = json!("v");
    let among = folded(&[user("m", None, json!("main question")), side.clone()]);
    assert_eq!(among.statuses(), ["m:running"]);
    assert_eq!(among.parts()[1].0.agent.as_deref(), Some("abc123"));
    assert!(among.fields().get("parent_session").is_none());

    let mut decoder = Decoder::with_parent("p", Some("toolu_1"));
    let line = side.to_string();
    let mut facts = Vec::new();
    decoder.decode(&line, &mut facts);
    let Fact::SessionChanged(changed) = &facts[0].fact else { panic!("{facts:?}") };
    let fields: Value = changed.fields.as_ref().unwrap().value().unwrap();
    assert_eq!((&fields["parent_session"], &fields["parent_tool"]), (&json!("p"), &json!("toolu_1")));
}

#[test]
fn the_result_of_a_subagents_call_names_the_subagent() {
    let call = assistant("a", "m", json!({"type": "tool_use", "id": "t", "name": "Task", "input": {"prompt": "look"}}), Some("tool_use"));
    let mut result =
        user("r", Some("a"), json!([{"type": "tool_result", "tool_use_id": "t", "content": "found it, all of it", "is_error": true}]));
    result["toolUseResult"] = json!({"agentId": "abc", "totalTokens": 9, "content": [text("found it, all of it")]});
    let folded = folded(&[user("u", None, json!("go")), call, result]);
    let (tool, _, contents) = folded.tools().remove(0);
    assert_eq!((tool.status.as_str(), tool.results[0].agent.as_deref()), ("failed", Some("abc")));
    assert_eq!(contents, ["found it, all of it"]);
    assert_eq!(tool.results[0].detail.as_deref().map(crate::state::Content::here), Some(r#"{"agentId":"abc","totalTokens":9}"#));
}

#[test]
fn what_the_host_writes_under_the_name_of_the_person_begins_no_turn() {
    let mut meta = user("m", None, json!("Caveat: the following was made by the host"));
    meta["isMeta"] = json!(true);
    let queued = json!({"type": "attachment", "uuid": "q", "attachment": {"type": "queued_command", "prompt": "and also the tests"}});
    let folded = folded(&[meta, user("c", None, json!("<local-command-stdout>ok</local-command-stdout>")), queued]);
    assert_eq!((folded.turns().len(), folded.texts().len()), (0, 3));
    assert_eq!(folded.texts()[2], ("user".to_owned(), "and also the tests".to_owned()));
}

#[test]
fn every_kind_of_block_is_shown() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(4000)}});
    let folded = folded(&[user("u", None, json!([text("see"), image, {"type": "new_block", "x": 1}, "bare", 7])), {
        let blocks = json!([
            {"type": "redacted_thinking", "data": "b3BhcXVlIHRvIHVz"},
            {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "rust"}},
            {"type": "web_search_tool_result", "tool_use_id": "w", "content": [{"type": "web_search_result", "url": "https://example.org"}]}
        ]);
        json!({"type": "assistant", "uuid": "a", "sessionId": "s", "message": {"id": "m", "role": "assistant", "content": blocks}})
    }]);
    let shown: Vec<String> = folded.texts().into_iter().map(|(_, text)| text).collect();
    assert_eq!(
        (shown[0].as_str(), shown[2].as_str(), shown[3].as_str(), shown[4].as_str()),
        ("see", r#"{"type":"new_block","x":1}"#, "bare", "7")
    );
    assert_eq!(serde_json::from_str::<Value>(&shown[1]).unwrap()["type"], "image");
    assert_eq!(folded.reasoning()[0].0.sealed.as_deref().map(crate::state::Content::here), Some("b3BhcXVlIHRvIHVz"));
    assert_eq!(folded.tools()[0].0.status, "succeeded");
}

#[test]
fn hostile_lines_are_kept_and_stop_nothing() {
    let deep = format!(r#"{{"type":"user","uuid":"d","message":{{"content":[{}1{}]}}}}"#, "[".repeat(5000), "]".repeat(5000));
    let many = format!(r#"{{"type":"user","uuid":"n","message":{{"content":[{}"x"]}}}}"#, r#""y","#.repeat(40_000));
    let long = format!(r#"{{"type":"user","uuid":"{}","message":{{"content":"a text of some length"}}}}"#, "u".repeat(9000));
    let lines = [
        "",
        "null",
        "42",
        "[1]",
        r#""massive error""#,
        r#"{"type":"user""#,
        r#"{"silly":"this"}"#,
        r#"{"type":7}"#,
        r#"{"type":"user"}"#,
        r#"{"type":"user","message":"a bare text as the message"}"#,
        r#"{"type":"user","message":{"contenst":[1]},"uuid":"x"}"#,
        r#"{"type":"assistant","message":{"content":"half \ud83d of a character"},"uuid":"h"}"#,
        r#"{"type":"user","message":{"content":"{\"=\":0} as a text of the person"},"uuid":"e"}"#,
        r#"{"type":"user","=":{"=":0},"message":{"content":"a key like ours, and text"},"uuid":"f"}"#,
        r#"{"type":"user","\u003d":1,"message":{"content":"the same key in other letters"},"uuid":"g"}"#,
        r#"{"type":"user","message":{"content":"the first content of two","content":"the second content of two"},"uuid":"k"}"#,
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","input":{"n":1e999}}],"usage":{"input_tokens":1e999}},"uuid":"b"}"#,
        r#"{"type":"user","uuid":"a","message":{"content":["one of the texts here","two of the texts here"]}}"#,
        r#"{"type":"user","uuid":"a#1","message":{"content":"named like a part of another"}}"#,
        r#"{"type":"user","uuid":"z~2","message":{"content":"named like a second use"}}"#,
        r#"{"type":"user","uuid":"z","message":{"content":"the first use of an id"}}"#,
        r#"{"type":"user","uuid":"z","message":{"content":"the second use of an id"}}"#,
        r#"{"type":"VENDOR_NEW_THING","payload":[1]}"#,
        deep.as_str(),
        many.as_str(),
        long.as_str(),
    ];
    let mut decoder = Decoder::new();
    let mut all = Folded::new();
    for line in lines {
        let mut facts = Vec::new();
        decoder.decode(line, &mut facts);
        if line.contains("1e999") {
            let back = encode_stated(&facts).unwrap();
            assert_eq!(back, line);
        } else {
            comes_back(line, &facts, encode);
        }
        facts.iter().for_each(|stated| all.fold(stated));
    }
    let shown: BTreeSet<String> = all.texts().into_iter().map(|(_, text)| text).collect();
    for text in [
        "a bare text as the message",
        "half \u{FFFD} of a character",
        "{\"=\":0} as a text of the person",
        "a key like ours, and text",
        "the same key in other letters",
        "the second content of two",
        "two of the texts here",
        "named like a part of another",
        "the first use of an id",
        "the second use of an id",
        "named like a second use",
        "a text of some length",
    ] {
        assert!(shown.contains(text), "{text}: {shown:?}");
    }
    assert!(all.codes.contains(&code::LINE_TOO_RICH.to_owned()));
}

fn any_block() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "",
        "a",
        "a longer text of some words",
        "é\"\n\u{1F600} and more of it",
        "[Request interrupted by user]",
    ]);
    (prop::sample::select(vec!["text", "thinking", "tool_use", "tool_result", "image", "new"]), words, 0_u8..4).prop_map(|(kind, word, n)| {
        match kind {
            "text" => json!({"type": "text", "text": word, "citations": null}),
            "thinking" => json!({"type": "thinking", "thinking": word, "signature": format!("signature of some length {n}")}),
            "tool_use" => json!({"type": "tool_use", "id": format!("t{n}"), "name": "f", "input": {"word": word, "n": [n]}}),
            "tool_result" => json!({"type": "tool_result", "tool_use_id": format!("t{n}"), "content": if n == 0 { json!([{"type": "text", "text": word}]) } else { json!(word) }, "is_error": n == 1}),
            "image" => json!({"type": "image", "source": {"data": word}}),
            _ => json!({"type": word, "=": n}),
        }
    })
}

fn any_line() -> impl Strategy<Value = Value> {
    let content = prop_oneof![3 => prop::collection::vec(any_block(), 0..4).prop_map(Value::Array), 1 => Just(json!("a plain text of the person")), 1 => Just(json!(7))];
    let kind = prop::sample::select(vec!["user", "user", "assistant", "assistant", "system", "summary", "attachment", "progress", "later"]);
    let odd = prop::sample::select(vec![json!(true), json!(false), json!(null), json!("x"), json!({"agentId": "a"}), json!([1.5])]);
    (kind, content, 0_u8..6, prop::collection::vec(odd, 7)).prop_map(|(kind, content, n, odd)| {
        let mut odd = odd.into_iter();
        let mut next = || odd.next().unwrap_or_default();
        json!({
            "type": kind, "uuid": format!("u{n}"), "parentUuid": next(), "isSidechain": next(), "isMeta": next(), "isCompactSummary": next(),
            "toolUseResult": next(), "sessionId": "s", "isApiErrorMessage": next(), "content": next(), "leafUuid": "u1", "summary": "of it",
            "subtype": if n == 0 { "compact_boundary" } else { "turn_duration" },
            "message": {"id": format!("m{}", n % 2), "content": content, "stop_reason": if n < 3 { json!("end_turn") } else { json!(null) }},
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_line_comes_back_equal_by_value(lines in prop::collection::vec(any_line(), 1..24)) {
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

#[test]
fn arguments_are_kept_as_they_were_written() {
    let line = r#"{"type":"assistant","uuid":"a","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"f","input":{"z": 1.0,  "a":"x\u0041"}}]}}"#;
    let mut facts = Vec::new();
    Decoder::new().decode(line, &mut facts);
    let args = facts.iter().find_map(|stated| match &stated.fact {
        Fact::ToolChanged(changed) => {
            if let ToolOp::ArgsSet { text } = &changed.op {
                Some(text.to_string())
            } else {
                None
            }
        }
        _ => None,
    });
    assert_eq!(args.as_deref(), Some(r#"{"z": 1.0,  "a":"x\u0041"}"#));
    assert_eq!(encode_stated(&facts).unwrap(), line);
    assert!(!facts[0].ext.as_ref().unwrap().as_str().contains("1.0"), "the fact holds it");
}
