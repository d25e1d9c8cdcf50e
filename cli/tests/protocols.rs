//! Every protocol comes in by the same door: under the session it names, once, and goes out as it came.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{Ended, Place, recordings};
use serde_json::Value;

/// A recording in each protocol, of `turns` turns, each a prefix of the next.
fn recording(protocol: &str, turns: usize) -> String {
    let mut text = String::new();
    if protocol == "codex" {
        text.push_str("{\"type\":\"session_meta\",\"payload\":{\"id\":\"s\",\"source\":{\"subagent\":{\"thread_spawn\":{\"parent_thread_id\":\"main\"}}}}}\n");
    }
    for turn in 0..turns {
        let mut line = |body: String| writeln!(text, "{{{body}}}").unwrap();
        match protocol {
            "aiui" => {
                line(format!(r#""type":"RUN_STARTED","threadId":"s","runId":"r{turn}""#));
                line(format!(r#""type":"TEXT_MESSAGE_START","messageId":"m{turn}""#));
                line(format!(r#""type":"TEXT_MESSAGE_CONTENT","messageId":"m{turn}","delta":"answer {turn}""#));
                line(format!(r#""type":"TEXT_MESSAGE_END","messageId":"m{turn}""#));
                line(format!(r#""type":"RUN_FINISHED","threadId":"s","runId":"r{turn}""#));
            }
            "aseity" => {
                line(format!(r#""type":"turn_start","turn_id":"t{turn}","session_id":"s""#));
                line(format!(r#""type":"part_add","turn_id":"t{turn}","part":{{"id":"p{turn}","type":"text","text":"answer "}}"#));
                line(format!(r#""type":"part_update","part_id":"p{turn}","delta":"{turn}""#));
                line(format!(r#""type":"part_complete","part_id":"p{turn}""#));
                line(format!(r#""type":"turn_end","turn_id":"t{turn}","status":"completed""#));
            }
            "agent-ui" => {
                line(format!(r#""type":"run.started","sessionId":"s","runId":"r{turn}","sequence":1"#));
                line(format!(r#""type":"text.delta","runId":"r{turn}","messageId":"m{turn}","delta":"answer ","sequence":2"#));
                line(format!(r#""type":"text.delta","runId":"r{turn}","messageId":"m{turn}","delta":"{turn}","sequence":3"#));
                line(format!(r#""type":"text.final","runId":"r{turn}","messageId":"m{turn}","text":"answer {turn}","sequence":4"#));
                line(format!(r#""type":"run.finished","runId":"r{turn}","outcome":"success","sequence":5"#));
            }
            "claude-code" => {
                line(format!(
                    r#""type":"user","uuid":"u{turn}","sessionId":"s","isSidechain":true,"agentId":"a","message":{{"role":"user","content":"ask {turn}"}}"#
                ));
                line(format!(
                    r#""type":"assistant","uuid":"v{turn}","sessionId":"s","isSidechain":true,"agentId":"a","message":{{"id":"m{turn}","role":"assistant","content":[{{"type":"text","text":"answer {turn}"}}]}}"#
                ));
            }
            _ => {
                line(format!(r#""type":"event_msg","payload":{{"type":"task_started","turn_id":"t{turn}"}}"#));
                line(format!(
                    r#""type":"response_item","payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"answer {turn}"}}]}}"#
                ));
                line(r#""type":"event_msg","payload":{"type":"task_complete"}"#.to_owned());
            }
        }
    }
    text
}

const PROTOCOLS: [&str; 5] = ["aiui", "aseity", "agent-ui", "claude-code", "codex"];

fn session(protocol: &str) -> &'static str {
    if protocol == "claude-code" { "s/agent-a" } else { "s" }
}

#[track_caller]
fn import(place: &Place, file: &Path, protocol: &str, more: &[&str]) -> Ended {
    place.run(&[&["import", file.to_str().unwrap(), "--protocol", protocol, "--json"], more].concat())
}

fn total(ended: &Ended) -> Value {
    ended.json_lines().pop().unwrap()
}

#[test]
fn every_protocol_comes_in_under_the_session_that_it_names() {
    for protocol in PROTOCOLS {
        let place = Place::new();
        import(&place, &place.file("a.jsonl", recording(protocol, 3)), protocol, &[]).done();
        let shown = place.run(&["show", session(protocol), "--json"]).done();
        for turn in 0..3 {
            assert!(shown.out.contains(&format!("answer {turn}")), "{protocol}: {}", shown.out);
        }
        import(&place, &place.file("b.jsonl", recording(protocol, 1)), protocol, &["--session", "given"]).done();
        place.run(&["show", "given"]).done();
        place.run(&["verify"]).done();
    }
}

#[test]
fn a_recording_that_names_no_session_is_named_like_its_file() {
    for (protocol, line) in [
        ("aseity", r#"{"type":"turn_start","turn_id":"t"}"#),
        ("agent-ui", r#"{"type":"run.started","runId":"r"}"#),
        ("claude-code", r#"{"type":"summary","summary":"x","leafUuid":"y"}"#),
        ("codex", r#"{"type":"event_msg","payload":{"type":"task_started"}}"#),
    ] {
        let place = Place::new();
        import(&place, &place.file("my-talk.jsonl", line), protocol, &[]).done();
        place.run(&["hash", "my-talk"]).done();
    }
}

#[test]
fn the_same_or_a_longer_recording_doubles_nothing_in_any_protocol() {
    for protocol in PROTOCOLS {
        let (place, whole) = (Place::new(), Place::new());
        let (short, long) = (recording(protocol, 2), recording(protocol, 5));
        let cut = long.get(..long.len() - 7).unwrap();
        import(&place, &place.file("a.jsonl", &short), protocol, &[]).done();
        assert_eq!(total(&import(&place, &place.file("a.jsonl", &short), protocol, &[]).done())["events"], 0, "{protocol}");
        import(&place, &place.file("a.jsonl", cut), protocol, &[]).code(3).says("ends inside an event");
        let grown = total(&import(&place, &place.file("b.jsonl", &long), protocol, &[]).done());
        assert_eq!(grown["events"], 1, "{protocol}: {grown}");
        import(&whole, &whole.file("a.jsonl", &long), protocol, &[]).done();
        let hash = |place: &Place| place.run(&["hash", session(protocol)]).done().out;
        assert_eq!(hash(&place), hash(&whole), "{protocol}");
    }
}

#[test]
fn raw_events_go_out_as_they_came_in_every_protocol() {
    for protocol in PROTOCOLS {
        let place = Place::new();
        let text = recording(protocol, 2);
        import(&place, &place.file("a.jsonl", &text), protocol, &[]).done();
        let value = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        let raw: Vec<_> = place.run(&["events", session(protocol), "--raw"]).done().out.lines().map(value).collect();
        assert_eq!(raw, text.lines().map(value).collect::<Vec<_>>(), "{protocol}");
    }
}

#[test]
fn a_transcript_of_a_subagent_names_its_parent_session() {
    for (protocol, parent) in [("claude-code", "s"), ("codex", "main")] {
        let place = Place::new();
        let file = place.file("a.jsonl", recording(protocol, 1));
        let told = import(&place, &file, protocol, &[]).done().json_lines();
        assert_eq!(told[told.len() - 2]["parent"], parent, "{protocol}: {told:?}");
        let again = place.run(&["import", file.to_str().unwrap(), "--protocol", protocol]).done();
        assert!(again.out.contains(&format!("session {}  of session {parent}", session(protocol))), "{}", again.out);
    }
}

#[test]
fn an_event_that_the_recording_holds_twice_counts_once_and_goes_out_twice() {
    let place = Place::new();
    let text = recording("agent-ui", 2);
    let again: String = text.lines().skip(1).take(2).map(|line| format!("{line}\n")).collect();
    let with_repeats = format!("{text}{again}");
    import(&place, &place.file("a.jsonl", &with_repeats), "agent-ui", &[]).done();
    let shown = place.run(&["show", "s", "--json"]).done();
    assert_eq!(shown.out.matches("answer 0").count(), 1, "{}", shown.out);
    assert!(!shown.out.contains("answer 0answer"), "{}", shown.out);
    let raw = place.run(&["events", "s", "--raw"]).done().out;
    assert_eq!(raw.lines().count(), with_repeats.lines().count());
    assert_eq!(total(&import(&place, &place.file("a.jsonl", &with_repeats), "agent-ui", &[]).done())["events"], 0);
}

#[test]
fn recordings_of_the_project_come_in_by_their_protocol() {
    let place = Place::new();
    for protocol in ["aseity", "agent-ui", "claude-code"] {
        import(&place, &recordings().join(protocol), protocol, &[]).done();
    }
    let listed = place.run(&["sessions", "--json"]).done().json();
    let ids: Vec<&str> = listed["sessions"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["5f0e-lamp-firmware", "5f0e-lamp-firmware/agent-7c21", "garden-plan", "harbour-report"]);
    assert!(place.run(&["pending", "--json"]).done().json()["pending"].as_array().unwrap().is_empty());
}

#[test]
fn a_recording_is_projected_in_the_shape_of_its_protocol() {
    let place = Place::new();
    let projected = |protocol: &str| {
        let file = place.file("a.jsonl", recording(protocol, 2));
        place.run(&["project", file.to_str().unwrap(), "--protocol", protocol]).done().json()
    };
    assert_eq!(projected("aiui")["messages"][1]["content"], "answer 1");
    let aseity = projected("aseity");
    assert_eq!(aseity["type"], "SessionMessages");
    assert_eq!(aseity["turns"][1]["status"], "completed");
    assert!(aseity["messages"][1].to_string().contains("answer 1"), "{aseity}");
    for protocol in ["agent-ui", "claude-code", "codex"] {
        let window = projected(protocol);
        assert_eq!(window["session"], session(protocol), "{window}");
        assert!(window["turns"].to_string().contains("answer 1"), "{window}");
    }
    assert_eq!(place.names(), ["a.jsonl"], "no store is made");
    let file = place.path("a.jsonl");
    let ended = place.run(&["project", file.to_str().unwrap(), "--protocol", "codex", "--input", file.to_str().unwrap()]);
    ended.code(1).says("--input is for the protocol aiui");
}

#[test]
fn a_protocol_that_is_not_known_is_refused_with_those_that_are() {
    let place = Place::new();
    let ended = place.run(&["import", "a.jsonl", "--protocol", "smoke-signals"]).code(2);
    for protocol in PROTOCOLS {
        assert!(ended.err.contains(protocol), "{}", ended.err);
    }
}
