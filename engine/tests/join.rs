//! Joining an AIUI session in the middle: its prelude and what comes after it fold to what the whole stream folds to.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests fail as tests do, and say why they skip")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};
use turnstore::adapter::aiui::{Decoder, Folder, Start, join};
use turnstore::adapter::source::{Item, Raw, Reader};
use turnstore::{Batch, Durability, Engine};

const PARTS: [&str; 3] = ["messages", "state", "pendingInterrupts"];

fn projected<'l>(lines: impl Iterator<Item = &'l str>) -> Value {
    let mut folder = Folder::new(&Start::default(), UNIX_EPOCH);
    for (line, text) in (1..).zip(lines) {
        folder.event(Raw { line, text, name: None, id: None });
    }
    let whole = folder.finish();
    PARTS.iter().map(|part| whole.get(part).cloned().unwrap()).collect()
}

/// Joins after every event; what differed, and in how many places it was joined.
fn joined_everywhere(lines: &[String]) -> (Vec<String>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::options().durability(Durability::Buffered).open(folder.path().join("store")).unwrap();
    let whole = projected(lines.iter().map(String::as_str));
    let (mut decoder, mut wrong) = (Decoder::new(), Vec::new());
    for (index, line) in lines.iter().enumerate() {
        let mut facts = Vec::new();
        decoder.decode(line, &mut facts);
        engine.append("s", Batch::of(facts)).unwrap();
        let prelude = join(&engine.view(), "s").unwrap();
        let (before, after) = lines.split_at(index + 1);
        let here = projected(prelude.iter().map(String::as_str));
        let there = projected(before.iter().map(String::as_str));
        if here != there {
            wrong.push(format!("after {line}\n  prelude {prelude:?}\n  is   {here}\n  want {there}"));
        }
        let on = projected(prelude.iter().chain(after).map(String::as_str));
        if on != whole {
            wrong.push(format!("going on after {line}\n  prelude {prelude:?}\n  is   {on}\n  want {whole}"));
        }
    }
    (wrong, lines.len())
}

fn texts(events: &[Value]) -> Vec<String> {
    events.iter().map(Value::to_string).collect()
}

#[test]
fn a_client_that_joins_anywhere_has_what_one_has_that_was_there_from_the_beginning() {
    let run = |name: &str, run: &str| json!({"type": name, "threadId": "t", "runId": run});
    let request = json!({"requestId": "q", "kind": "approval", "status": "pending", "title": "May I?"});
    let interrupt = json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "input_required", "message": "which?"}]});
    let streams = [
        vec![
            run("RUN_STARTED", "r1"),
            json!({"type": "STEP_STARTED", "stepName": "plan"}),
            json!({"type": "REASONING_START", "messageId": "z"}),
            json!({"type": "REASONING_MESSAGE_START", "messageId": "z", "role": "reasoning"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "z", "delta": "hm "}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "z", "delta": "well"}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": "z"}),
            json!({"type": "REASONING_END", "messageId": "z"}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Let me "}),
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "grep", "parentMessageId": "m"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{\"q\":"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "look."}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "1}"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
            json!({"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}),
            json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/n", "value": 2}]}),
            json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "PLAN", "content": {"steps": ["a"]}}),
            json!({"type": "ACTIVITY_DELTA", "messageId": "p", "activityType": "PLAN", "patch": [{"op": "add", "path": "/steps/-", "value": "b"}]}),
            json!({"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c", "content": "r".repeat(5_000)}),
            json!({"type": "STEP_FINISHED", "stepName": "plan"}),
            run("RUN_FINISHED", "r1"),
        ],
        vec![
            run("RUN_STARTED", "r1"),
            json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "role": "assistant", "delta": "one "}),
            json!({"type": "TEXT_MESSAGE_CHUNK", "delta": "two"}),
            json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "delta": "{"}),
            json!({"type": "TOOL_CALL_CHUNK", "delta": "}"}),
            json!({"type": "REASONING_MESSAGE_CHUNK", "messageId": "z", "delta": "hm"}),
            json!({"type": "REASONING_MESSAGE_CHUNK", "delta": " hm"}),
            run("RUN_FINISHED", "r1"),
        ],
        vec![
            run("RUN_STARTED", "r1"),
            json!({"type": "HUMAN_INPUT_REQUESTED", "request": request}),
            json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "helper"}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "s"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "sub", "subagentRunId": "s"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m", "subagentRunId": "s"}),
            json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}),
            json!({"type": "HUMAN_INPUT_RESOLVED", "requestId": "q", "decisionId": "d", "actionId": "ok"}),
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r1", "outcome": interrupt}),
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r2", "input": {
                "threadId": "t", "runId": "r2", "state": {}, "messages": [{"id": "u", "role": "user", "content": "the first"}], "tools": [],
                "context": [], "forwardedProps": {}, "resume": [{"interruptId": "i", "status": "resolved", "payload": {"ok": true}}]}}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "n"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "n", "delta": "thanks"}),
            json!({"type": "RUN_ERROR", "message": "provider down"}),
            run("RUN_STARTED", "r3"),
            run("RUN_FINISHED", "r3"),
        ],
    ];
    for stream in &streams {
        let (wrong, places) = joined_everywhere(&texts(stream));
        assert!(wrong.is_empty(), "{} of {places}:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[test]
fn what_an_earlier_run_asked_goes_on_waiting_for_whoever_joins() {
    let run = |name: &str, run: &str| json!({"type": name, "threadId": "t", "runId": run});
    let asks = |run: &str, id: &str| {
        let outcome = json!({"type": "interrupt", "interrupts": [{"id": id, "reason": "input_required"}]});
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": run, "outcome": outcome})
    };
    let child = |run: &str, parent: &str| json!({"type": "RUN_STARTED", "threadId": "t", "runId": run, "parentRunId": parent});
    let request = json!({"requestId": "q", "kind": "approval", "status": "pending", "title": "May I?"});
    let requested = json!({"type": "HUMAN_INPUT_REQUESTED", "request": request});
    let failed = json!({"type": "RUN_ERROR", "message": "down", "code": "E"});
    let streams = [
        vec![run("RUN_STARTED", "r1"), requested, asks("r1", "i"), run("RUN_STARTED", "r2"), run("RUN_FINISHED", "r2")],
        vec![run("RUN_STARTED", "r1"), asks("r1", "i"), run("RUN_STARTED", "r2"), failed, run("RUN_STARTED", "r3")],
        vec![run("RUN_STARTED", "r1"), asks("r1", "i"), child("r2", "r1"), asks("r2", "j"), child("r3", "r2"), run("RUN_FINISHED", "r3")],
    ];
    for stream in &streams {
        let (wrong, places) = joined_everywhere(&texts(stream));
        assert!(wrong.is_empty(), "{} of {places}:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[test]
fn a_session_of_another_protocol_is_joined_as_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path().join("store")).unwrap();
    let mut decoder = turnstore::adapter::aseity::Decoder::new();
    let mut facts = Vec::new();
    for event in [
        json!({"type": "turn_start", "turn_id": "t1"}),
        json!({"type": "part_add", "turn_id": "t1", "part": {"id": "p", "type": "text", "text": "Hello"}}),
    ] {
        decoder.decode(Box::leak(event.to_string().into_boxed_str()), &mut facts);
    }
    engine.append("s", Batch::of(facts)).unwrap();
    let prelude = join(&engine.view(), "s").unwrap();
    let got = projected(prelude.iter().map(String::as_str));
    assert_eq!(got.pointer("/0/0/content"), Some(&json!("Hello")), "{prelude:?}");
    assert!(!prelude.iter().any(|line| line.contains("RUN_FINISHED")), "the turn goes on: {prelude:?}");
    assert!(join(&engine.view(), "nobody").is_err());
}

fn vectors() -> Option<PathBuf> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/agui/vectors");
    let path = std::env::var_os("AGUI_VECTORS").map_or(usual, PathBuf::from);
    if !path.is_dir() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// Streams in which two messages have one id. A statement of messages means one message by an id, so that the second stands for both; the
/// official client, which compares nothing within a statement, shows both.
const TWO_OF_ONE_ID: [&str; 3] =
    ["edge-empty-string-ids", "edge-tool-result-duplicate-same-message-id", "edge-tool-start-no-parent-id-equals-existing-message"];

#[test]
fn every_stream_that_the_official_client_completes_can_be_joined_anywhere() {
    let Some(folder) = vectors() else { return };
    let (mut streams, mut places, mut wrong) = (0, 0, Vec::new());
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".jsonl") else { continue };
        let expected: Value = serde_json::from_str(&fs::read_to_string(folder.join(format!("{name}.expected.json"))).unwrap()).unwrap();
        // What a client brings along of its own is not in the stream.
        if TWO_OF_ONE_ID.contains(&name)
            || expected.pointer("/client/outcome") != Some(&json!("completed"))
            || folder.join(format!("{name}.input.json")).exists()
        {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        let mut lines = Vec::new();
        while let Some(item) = reader.read().unwrap() {
            if let Item::Event(raw) = item {
                lines.push(raw.text.to_owned());
            }
        }
        let (differs, joined) = joined_everywhere(&lines);
        streams += 1;
        places += joined;
        wrong.extend(differs.into_iter().map(|what| format!("{name} {what}")));
    }
    println!("{streams} streams joined in {places} places");
    assert!(streams > 250);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
