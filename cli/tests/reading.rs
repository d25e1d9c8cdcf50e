//! Looking at a store, for people and for programs.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "a test fails by panicking")]

mod common;

use std::process::Stdio;

use common::{Place, long, recordings};
use serde_json::Value;

fn filled() -> Place {
    let place = Place::new();
    place.import(&recordings(), &[]).done();
    place
}

#[test]
fn raw_events_are_the_source_events() {
    let place = filled();
    let source = std::fs::read_to_string(recordings().join("coding-flaky-test.jsonl")).unwrap();
    let raw = place.run(&["events", "parcel-outbox-flaky", "--raw"]).done();
    let value = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let (source, raw): (Vec<_>, Vec<_>) = (source.lines().map(value).collect(), raw.out.lines().map(value).collect());
    assert_eq!(raw, source);
}

#[test]
fn raw_events_of_one_store_make_the_same_state_in_another() {
    let (one, other) = (filled(), Place::new());
    let raw = one.run(&["events", "river-report", "--raw"]).done().out;
    other.import(&other.file("copy.jsonl", raw), &[]).done();
    let projected = |place: &Place, name: &str| place.run(&["hash", name]).done().out;
    assert_eq!(projected(&one, "river-report"), projected(&other, "river-report"));
}

#[test]
fn a_hash_stands_alone_on_its_line() {
    let place = filled();
    let hash = place.run(&["hash", "river-report"]).done().out;
    assert_eq!(hash.lines().count(), 1);
    assert!(hash.trim_end().len() == 64 && hash.trim_end().bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
}

#[test]
fn pages_lead_from_the_newest_item_to_the_first() {
    let place = Place::new();
    place.import(&place.file("a.jsonl", long("t", 40)), &[]).done();
    let whole = place.run(&["show", "t", "--all", "--json"]).done().json();
    let ids = |page: &Value| -> Vec<String> {
        let turns = page["turns"].as_array().unwrap();
        turns.iter().flat_map(|turn| turn["items"].as_array().unwrap()).map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    let mut page = place.run(&["show", "t", "--last", "7", "--json"]).done().json();
    let mut paged = ids(&page);
    while let Some(cursor) = page["older"].as_str() {
        page = place.run(&["show", "t", "--last", "7", "--cursor", cursor, "--json"]).done().json();
        paged.splice(0..0, ids(&page));
    }
    assert_eq!(paged, ids(&whole));
    assert_eq!(paged.len(), 80);
}

#[test]
fn stats_of_an_empty_store_name_head_zero() {
    let place = Place::new();
    place.import(&place.file("empty.jsonl", ""), &[]).code(3);
    let stats = place.run(&["stats", "--json"]).done().json();
    assert_eq!(stats["head"], 0);
    assert!(place.run(&["stats"]).done().out.lines().any(|line| line.starts_with("head") && line.ends_with(" 0")));
}

#[test]
fn stats_count_what_is_there() {
    let place = filled();
    let stats = place.run(&["stats", "--json"]).done().json();
    assert!(stats["head"].as_u64().unwrap() > 1500);
    let sessions = place.run(&["sessions", "--json"]).done().json();
    let listed = sessions["sessions"].as_array().unwrap().len();
    assert!(listed > 3 && stats["sessions"] == listed && stats["stale"] == false, "{stats}");
    assert_eq!(stats["checkpoint"], stats["head"], "at rest everything is checkpointed");
    assert!(stats["tables"].as_array().unwrap().iter().all(|table| table["bytes"].is_u64()));
}

#[test]
fn rebuilding_changes_no_hash() {
    let place = filled();
    let hashes = |place: &Place| ["parcel-outbox-flaky", "river-report", "desk-ticket-4821"].map(|id| place.run(&["hash", id]).done().out);
    let before = hashes(&place);
    place.run(&["rebuild"]).done();
    assert_eq!(hashes(&place), before);
    place.run(&["verify"]).done();
}

#[test]
fn the_pending_approval_stands_after_a_reopen_and_the_answered_one_does_not() {
    let place = filled();
    let open = place.run(&["pending", "desk-ticket-4821", "--json"]).done().json();
    assert_eq!(open["pending"].as_array().unwrap().len(), 2);
    let answered = place.run(&["pending", "trip-lisbon-offsite", "--json"]).done().json();
    assert!(answered["pending"].as_array().unwrap().is_empty());
}

#[test]
fn text_for_people_holds_no_control_characters() {
    let place = Place::new();
    let events = concat!(
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
        "\n",
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a\u001b[2Jb\u009bc"}"#,
        "\n"
    );
    let shown = place.import(&place.file("a.jsonl", events), &[]).done().out
        + &place.run(&["show", "t"]).done().out
        + &place.run(&["events", "t"]).done().out;
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    place.import(&place.file("a.jsonl", long("t", 300)), &[]).done();
    let mut child = place.command().args(["events", "t"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_projection_starts_from_the_given_messages_and_state() {
    let place = Place::new();
    let start = place.file("start.json", r#"{"messages":[{"id":"u1","role":"user","content":"hello"}],"state":{"n":1}}"#);
    let events = concat!(
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
        "\n",
        r#"{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}"#,
        "\n",
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
        "\n"
    );
    let file = place.file("a.jsonl", events);
    let projected = place.run(&["project", file.to_str().unwrap(), "--protocol", "aiui", "--input", start.to_str().unwrap()]).done().json();
    assert_eq!(projected["state"], serde_json::json!({ "n": 2 }));
    assert_eq!(projected["messages"], serde_json::json!([{ "id": "u1", "role": "user", "content": "hello" }]));
    assert!(projected["pendingInterrupts"].as_array().unwrap().is_empty() && projected["diagnostics"].as_array().unwrap().is_empty());
    assert!(place.names().iter().all(|name| !name.starts_with("agent.db") && !name.starts_with("turnstore.db")), "it makes no store");
}
