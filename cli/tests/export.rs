//! `export`: a session in the protocols of its clients.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;

use common::Place;
use serde_json::Value;

const LINES: [&str; 8] = [
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"r1"}"#,
    r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello "}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"there."}"#,
    r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
    r#"{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}"#,
    r#"{"type":"HUMAN_INPUT_REQUESTED","request":{"requestId":"q","kind":"approval","status":"pending"}}"#,
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r1","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"approval"}]}}"#,
];

fn filled() -> Place {
    let place = Place::new();
    let file = place.file("t.jsonl", LINES.join("\n"));
    place.import(&file, &[]).done();
    place
}

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["type"].as_str().unwrap()).collect()
}

#[test]
fn what_is_exported_projects_to_what_was_imported() {
    let place = filled();
    let exported = place.run(&["export", "t", "--protocol", "aiui"]).done().out;
    let (copy, own) = (place.file("copy.jsonl", &exported), place.file("own.jsonl", LINES.join("\n")));
    let project = |file: &std::path::Path| place.run(&["project", file.to_str().unwrap(), "--protocol", "aiui"]).done().json();
    let (copy, own) = (project(&copy), project(&own));
    for part in ["messages", "state", "pendingInterrupts"] {
        assert_eq!(copy[part], own[part], "{exported}");
    }
    assert_eq!(own["pendingInterrupts"][0]["id"], "q");
}

#[test]
fn a_past_position_is_exported_as_it_was() {
    let place = filled();
    let lines = place.run(&["export", "t", "--protocol", "aiui", "--at", "3"]).done().json_lines();
    assert_eq!(kinds(&lines), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START"]);
    assert_eq!(lines[1]["messages"][0]["content"], "Hello ");
    for beyond in ["0", "999"] {
        let refused = place.run(&["export", "t", "--protocol", "aiui", "--at", beyond]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.err.contains("position") && refused.out.is_empty(), "{refused:?}");
    }
}

#[test]
fn a_session_is_shown_in_every_protocol_that_has_a_form_for_it() {
    let place = filled();
    let aseity = place.run(&["export", "t", "--protocol", "aseity"]).done().json_lines();
    assert_eq!(kinds(&aseity), ["SessionMessages", "session_event"]);
    assert_eq!(aseity[0]["messages"][0]["id"], "m");
    assert_eq!(aseity[1]["current_turn"]["pendingInteractions"][0]["interactionId"], "q");
    let levels = place.run(&["export", "t", "--protocol", "agent-ui"]).done().json_lines();
    assert_eq!(kinds(&levels), ["session.hydrated", "messages.snapshot", "action.required"]);
    assert_eq!(levels[0]["counts"]["pending"], 1);
    assert_eq!(levels[1]["messages"][0]["parts"][0]["text"], "Hello there.");
    assert_eq!(levels[1]["turns"][0]["status"], "interrupt");
    assert_eq!(levels[2]["actionId"], "q");
}

#[test]
fn what_cannot_be_exported_says_why() {
    let place = filled();
    let nobody = place.run(&["export", "nobody", "--protocol", "aiui"]);
    assert!(nobody.code == Some(1) && nobody.err.contains("no session"), "{nobody:?}");
    let codex = place.run(&["export", "t", "--protocol", "codex"]);
    assert!(codex.code == Some(1) && codex.err.contains("codex has no form"), "{codex:?}");
}
