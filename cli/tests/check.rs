//! The conformance report: which event, which code, how bad.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "a test fails by panicking")]

mod common;

use std::path::{Path, PathBuf};

use common::{Ended, Place, long, recordings};
use serde_json::Value;

#[track_caller]
fn checked(place: &Place, file: &Path, protocol: &str, more: &[&str]) -> Ended {
    place.run(&[&["check", file.to_str().unwrap(), "--protocol", protocol], more].concat())
}

/// What a hand-written stream is found to do: event, severity and code.
#[track_caller]
fn found(protocol: &str, lines: &[&str]) -> Vec<(u64, String, String)> {
    let place = Place::new();
    let file = place.file("a.jsonl", lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    let ended = checked(&place, &file, protocol, &["--json"]);
    let report = ended.json();
    assert_eq!(ended.code == Some(5), report["errors"] != 0, "{report}");
    assert!(!place.store().exists(), "a check makes no store");
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| {
            assert_eq!(finding["event"], finding["line"], "one event a line");
            let text = |key: &str| finding[key].as_str().unwrap().to_owned();
            (finding["event"].as_u64().unwrap(), text("severity"), text("code"))
        })
        .collect()
}

#[track_caller]
fn check(protocol: &str, lines: &[&str], expected: &[(u64, &str, &str)]) {
    let found = found(protocol, lines);
    let found: Vec<(u64, &str, &str)> = found.iter().map(|(event, severity, code)| (*event, severity.as_str(), code.as_str())).collect();
    assert_eq!(found, expected);
}

fn shared(part: &str) -> Option<PathBuf> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let path = std::env::var_os("TURNSTORE_SHARED").map_or(usual, PathBuf::from).join(part);
    if !path.is_dir() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn recordings_of_the_project_keep_to_their_protocol() {
    let place = Place::new();
    for (folder, protocol) in [("", "aiui"), ("aseity", "aseity"), ("agent-ui", "agent-ui"), ("claude-code", "claude-code")] {
        let files: Vec<_> = files(&recordings().join(folder)).into_iter().filter(|path| path.is_file()).collect();
        assert!(!files.is_empty());
        for file in files {
            let ended = checked(&place, &file, protocol, &["--strict"]).done();
            assert!(ended.out.contains("clean: 0 errors, 0 warnings"), "{}", ended.out);
        }
    }
    let broken = checked(&place, &recordings().join("broken/aiui.jsonl"), "aiui", &["--json"]).code(5).json();
    let codes: Vec<&str> = broken["codes"].as_array().unwrap().iter().map(|code| code["code"].as_str().unwrap()).collect();
    for code in ["not_open", "open_at_finish", "run_ended", "state_patch_failed", "unanswered_request", "unknown_event"] {
        assert!(codes.contains(&code), "{code} is not in {codes:?}");
    }
}

#[test]
fn aiui_violations_are_named_at_their_events() {
    check(
        "aiui",
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m0"}"#,
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"q"}"#,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
            r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":7,"delta":"x"}"#,
            r#"{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a","value":1}]}"#,
            r#"{"type":"GAUGE","value":1}"#,
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"q"}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        ],
        &[
            (1, "error", "run_not_started"),
            (1, "warning", "open_part"),
            (2, "warning", "open_turn"),
            (3, "error", "run_active"),
            (5, "error", "already_open"),
            (6, "error", "not_open"),
            (6, "warning", "tool_event_for_unknown_call"),
            (7, "error", "malformed_event"),
            (8, "error", "state_patch_failed"),
            (9, "note", "unknown_event"),
            (10, "error", "open_at_finish"),
            (11, "error", "not_open"),
            (11, "error", "run_ended"),
            (11, "warning", "stale_document"),
        ],
    );
}

#[test]
fn aseity_violations_are_named_at_their_events() {
    check(
        "aseity",
        &[
            r#"{"type":"turn_start","turn_id":"t1"}"#,
            r#"{"type":"turn_artifacts","turn_id":"t1","artifacts":[{"id":"old"}]}"#,
            r#"{"type":"turn_artifacts","turn_id":"t1","artifacts":[{"entryPath":"","artifactType":"document"}]}"#,
            r#"{"type":"turn_artifacts","turn_id":"t1","artifacts":[{"entryPath":"a","artifactType":"film"}]}"#,
            r#"{"type":"turn_artifacts","turn_id":"t1","artifacts":7}"#,
            r#"{"type":"part_update","part_id":"nobody","delta":"x"}"#,
            r#"{"type":"interaction_request","interaction_id":"i","turn_id":"t1","data":{}}"#,
            r#"{"type":"turn_end","turn_id":"t1","status":"completed"}"#,
            r#"{"type":"turn_start"}"#,
            r#"{"type":"turn_start","turn_id":"t2"}"#,
        ],
        &[
            (2, "error", "legacy_artifact_reference"),
            (3, "error", "empty_entry_path"),
            (4, "error", "invalid_artifact_type"),
            (5, "error", "invalid_artifact_reference"),
            (6, "error", "delta_for_unknown_part"),
            (7, "note", "unanswered_request"),
            (9, "error", "malformed_event"),
            (10, "warning", "open_turn"),
        ],
    );
}

#[test]
fn agent_ui_violations_are_named_at_their_events() {
    check(
        "agent-ui",
        &[
            r#"{"type":"run.started","runId":"r","sequence":1}"#,
            r#"{"type":"text.delta","runId":"r","messageId":"m","delta":"Hel","sequence":2}"#,
            r#"{"type":"text.delta","runId":"r","messageId":"m","delta":"Hel","sequence":2}"#,
            r#"{"type":"text.final","runId":"r","messageId":"m","text":"Bye","sequence":3}"#,
            r#"{"type":"text.delta","runId":"r","messageId":"m","delta":"!","sequence":4}"#,
            r#"{"type":"tool.result","runId":"r","toolCallId":"c","status":"ok","owner":"artifact"}"#,
            r#"{"type":"action.required","runId":"r"}"#,
            r#"{"type":"action.required","runId":"r","actionId":"a"}"#,
            r#"{"type":"run.finished","runId":"r","outcome":"success"}"#,
            r#"{"type":"run.status","runId":"r","stage":"streaming"}"#,
            r#"{"type":"action.required","runId":"r","actionId":"b"}"#,
        ],
        &[
            (3, "warning", "repeated_delivery"),
            (4, "warning", "final_text_mismatch"),
            (5, "error", "delta_after_final"),
            (6, "error", "fact_wrong_owner"),
            (6, "warning", "result_for_unknown_call"),
            (7, "error", "missing_field"),
            (8, "error", "unanswered_request"),
            (10, "error", "status_after_end"),
            (11, "error", "lost_request"),
        ],
    );
}

#[test]
fn a_report_for_people_says_what_it_means_and_what_to_do() {
    let place = Place::new();
    let mut text = long("t", 2);
    text.push_str(&"{\"type\":\"TOOL_CALL_END\",\"toolCallId\":\"nobody\"}\n".repeat(1200));
    let file = place.file("a.jsonl", text);
    let report = checked(&place, &file, "aiui", &["--each", "2"]).code(5).out;
    let says = |part: &str| assert!(report.contains(part), "{part:?} is not in\n{report}");
    says("1,258 events of aiui, session t");
    says("   59    59  error     not_open                     tool call nobody is not open\n   59    59  error     run_ended ");
    says("error run_ended  1,200 times, 2 shown");
    says("-> Send it before RUN_FINISHED");
    assert!(report.ends_with("2,400 errors, 1,200 warnings, 0 notes\n"), "{report}");
    assert!(report.lines().all(|line| line.chars().count() <= 130), "{report}");
}

#[test]
fn warnings_count_when_they_are_asked_to() {
    let place = Place::new();
    let file = place.file("a.jsonl", r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#);
    checked(&place, &file, "aiui", &[]).code(0);
    checked(&place, &file, "aiui", &["--strict"]).code(5);
}

#[test]
fn what_cannot_be_read_is_named_by_its_line() {
    let place = Place::new();
    let mut bytes = long("t", 1).into_bytes();
    bytes.extend_from_slice(b"\n\n{\"type\":\"RAW\",\"event\":\"\xff\"}\n{\"type\":\"RAW\",\"ev");
    let file = place.file("a.jsonl", bytes);
    let report = checked(&place, &file, "aiui", &["--json"]).code(5).json();
    let lines: Vec<(&Value, &Value, &str)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (&finding["event"], &finding["line"], finding["code"].as_str().unwrap()))
        .collect();
    assert_eq!(lines, [(&Value::from(30), &Value::from(32), "source_unreadable"), (&Value::Null, &Value::from(33), "left_out")]);
    let empty = place.file("empty.jsonl", "");
    assert!(checked(&place, &empty, "aiui", &[]).done().out.contains("left_out"));
    checked(&place, &place.path("gone.jsonl"), "aiui", &[]).code(1).says("gone.jsonl");
}

#[test]
fn a_stream_is_checked_whatever_it_calls_its_session() {
    let place = Place::new();
    let file = place.file("a.jsonl", long(&"y".repeat(300), 1));
    checked(&place, &file, "aiui", &["--strict"]).done();
}

#[test]
fn streams_that_the_official_client_completes_have_no_error_and_those_that_it_refuses_have_one() {
    // A patch that does not apply is passed over by the client, which then shows an old state.
    const PASSED_OVER: [&str; 1] = ["state_patch_failed"];
    // An outcome of a kind that does not exist is taken for none.
    const TOLERATED: [&str; 1] = ["conf-unknown-outcome-stripped"];
    let Some(folder) = shared("agui/vectors") else { return };
    let place = Place::new();
    let mut wrong = Vec::new();
    for file in files(&folder).into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "jsonl")) {
        let expected: Value = serde_json::from_slice(&std::fs::read(file.with_extension("expected.json")).unwrap()).unwrap();
        let report = checked(&place, &file, "aiui", &["--json"]).json();
        let codes = report["codes"].as_array().unwrap().iter().filter(|code| code["severity"] == "error");
        let codes: Vec<&str> = codes.filter_map(|code| code["code"].as_str()).filter(|code| !PASSED_OVER.contains(code)).collect();
        // Refused for the interrupts that the client had before the stream began: the stream cannot know them.
        let from_before = expected["client"]["error"].as_str().is_some_and(|error| error.to_lowercase().contains("interrupt"));
        let tolerated = TOLERATED.iter().any(|name| file.file_stem().is_some_and(|stem| stem == *name));
        if !from_before && !tolerated && (expected["client"]["outcome"] == "completed") != codes.is_empty() {
            wrong.push(format!("{}: {codes:?} {}", file.display(), expected["client"]["error"]));
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn transcripts_of_real_agents_have_no_errors() {
    let place = Place::new();
    for (folder, protocol) in [("corpus/claude_code", "claude-code"), ("corpus/codex", "codex")] {
        let Some(folder) = shared(folder) else { return };
        // One of them was made to hold broken lines.
        for file in files(&folder).iter().filter(|file| !file.to_string_lossy().contains("edge-cases")) {
            checked(&place, file, protocol, &["--json"]).done();
        }
    }
}

#[test]
fn scenarios_of_the_protocols_come_in_whole() {
    let Some(folder) = shared("seeds").map(|seeds| seeds.join("..")) else { return };
    let place = Place::new();
    for line in std::fs::read_to_string(folder.join("scenarios.jsonl")).unwrap().lines() {
        let scenario: Value = serde_json::from_str(line).unwrap();
        let protocol = if scenario["protocol"] == "agentui" { "agent-ui" } else { scenario["protocol"].as_str().unwrap() };
        let Some(events) = scenario["events"].as_array() else { continue };
        let file = place.file("a.jsonl", events.iter().map(|event| format!("{event}\n")).collect::<String>());
        let report = checked(&place, &file, protocol, &["--json"]).json();
        assert_eq!(report["events"], events.len(), "{scenario}");
        let unlisted = report["codes"].as_array().unwrap().iter().any(|code| code["code"] == "unlisted");
        assert!(!unlisted, "{report}");
    }
}
