//! Recordings come in once, whatever happens.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "a test fails by panicking")]

mod common;

use common::{Place, long, recordings};
use serde_json::Value;

#[track_caller]
fn hash(place: &Place, session: &str) -> String {
    place.run(&["hash", session]).done().out
}

#[track_caller]
fn last_seq(place: &Place, session: &str) -> u64 {
    let listed = place.run(&["sessions", "--json"]).done().json();
    let sessions = listed["sessions"].as_array().unwrap();
    sessions.iter().find(|entry| entry["id"] == session).unwrap()["seq"].as_u64().unwrap()
}

#[test]
fn recordings_of_the_project_come_in_and_show_their_newest_window() {
    let place = Place::new();
    let first = place.import(&recordings(), &[]).done();
    assert!(first.out.contains("session parcel-outbox-flaky"), "{}", first.out);
    assert!(first.out.contains("real clock"), "the newest window shows text: {}", first.out);
    assert!(first.out.contains("unknown_event"), "what is unknown is named: {}", first.out);
    assert!(first.out.contains("events/s"), "{}", first.out);
    let sessions = place.run(&["sessions", "--json"]).done().json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 8);
    let pending = place.run(&["pending", "--json"]).done().json();
    let ids: Vec<_> = pending["pending"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, ["approve-refund-4821", "approve-letter-4821"]);
    assert_eq!(place.names(), ["agent.db"], "at rest a store is one file");
}

#[test]
fn the_same_recording_again_adds_nothing() {
    let place = Place::new();
    place.import(&recordings(), &[]).done();
    let stats = |place: &Place| place.run(&["stats", "--json"]).done().json()["head"].clone();
    let (head, state) = (stats(&place), hash(&place, "river-report"));
    let again = place.import(&recordings(), &["--json"]).done();
    let total = again.json_lines().pop().unwrap();
    assert_eq!(total["events"], 0);
    assert!(total["known"].as_u64().unwrap() > 1500, "{total}");
    assert_eq!((stats(&place), hash(&place, "river-report")), (head, state));
}

#[test]
fn a_longer_recording_continues_where_the_shorter_one_ended() {
    let (place, whole) = (Place::new(), Place::new());
    place.import(&place.file("a.jsonl", long("t", 7)), &[]).done();
    let seq = last_seq(&place, "t");
    let grown = place.import(&place.file("renamed.jsonl", long("t", 120)), &["--json"]).done();
    assert_eq!(grown.json_lines().pop().unwrap()["known"].as_u64().unwrap(), 7 * 29);
    assert!(last_seq(&place, "t") > seq);
    whole.import(&whole.file("a.jsonl", long("t", 120)), &[]).done();
    assert_eq!(hash(&place, "t"), hash(&whole, "t"));
    place.import(&place.file("short.jsonl", long("t", 3)), &[]).done();
    assert_eq!(hash(&place, "t"), hash(&whole, "t"), "a shorter one takes nothing away");
}

#[test]
fn an_event_cut_short_comes_whole_when_the_file_has_grown() {
    let place = Place::new();
    let text = long("t", 3);
    let cut = text.get(..text.len() - 9).unwrap();
    place.import(&place.file("a.jsonl", cut), &[]).code(3).says("ends inside an event");
    place.import(&place.file("a.jsonl", &text), &[]).done();
    let whole = Place::new();
    whole.import(&whole.file("a.jsonl", &text), &[]).done();
    assert_eq!(hash(&place, "t"), hash(&whole, "t"));
}

#[test]
fn a_recording_whose_beginning_was_changed_is_refused_by_line() {
    let place = Place::new();
    place.import(&place.file("a.jsonl", long("t", 3)), &[]).done();
    let before = hash(&place, "t");
    let changed = long("t", 5).replacen("word 4 of 1.", "WORD 4 of 1.", 1);
    place.import(&place.file("a.jsonl", changed), &[]).code(3).says("a.jsonl: line 36: event 36 is not the one that was imported before");
    assert_eq!(hash(&place, "t"), before);
}

#[test]
fn a_session_is_named_by_flag_then_thread_then_file() {
    let place = Place::new();
    let text = long("its-thread", 1);
    let nameless: String = text.lines().filter(|line| !line.contains("threadId")).map(|line| format!("{line}\n")).collect();
    place.import(&place.file("one.jsonl", &text), &["--session", "given"]).done();
    place.import(&place.file("two.jsonl", &text), &[]).done();
    place.import(&place.file("three.jsonl", nameless), &[]).done();
    let listed = place.run(&["sessions", "--json"]).done().json();
    let ids: Vec<&str> = listed["sessions"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["three", "its-thread", "given"]);
}

#[test]
fn every_form_of_a_recording_gives_the_same_state() {
    let text = long("t", 4);
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sse: String = text.lines().map(|line| format!("data: {line}\n\n")).collect();
    let forms = [("a.jsonl", text.clone()), ("a.json", serde_json::to_string_pretty(&events).unwrap()), ("a.sse", sse)];
    let projected: Vec<Value> = forms
        .iter()
        .map(|(name, form)| {
            let place = Place::new();
            let file = place.file(name, form);
            place.run(&["project", file.to_str().unwrap(), "--protocol", "aiui"]).done().json()
        })
        .collect();
    assert_eq!(projected[0], projected[1]);
    assert_eq!(projected[0], projected[2]);
    assert_eq!(projected[0]["messages"].as_array().unwrap().len(), 8);
}

#[test]
fn questions_beyond_what_may_wait_are_refused_one_by_one_and_the_rest_comes_in() {
    let place = Place::new();
    let mut text = "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n".to_owned();
    for n in 0..10_003 {
        text += &format!(
            "{{\"type\":\"HUMAN_INPUT_REQUESTED\",\"threadId\":\"t\",\"runId\":\"r\",\"request\":{{\"requestId\":\"q{n}\",\"kind\":\"approval\"}}}}\n"
        );
    }
    text += "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\"}\n{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"goes on\"}\n";
    let file = place.file("a.jsonl", &text);
    let first = place.import(&file, &["--json"]);
    let told = first.json_lines().into_iter().find(|line| line.get("file").is_some()).unwrap();
    assert_eq!((told["events"].as_u64(), told["refused"]["count"].as_u64()), (Some(10_006), Some(3)), "{}", told["refused"]);
    let again = place.import(&file, &["--json"]).json_lines().pop().unwrap();
    assert_eq!((again["events"].as_u64(), again["known"].as_u64()), (Some(0), Some(10_006)), "{again}");
    assert!(place.run(&["show", "t"]).done().out.contains("goes on"));
}
