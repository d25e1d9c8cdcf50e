//! Bad input gets a clear answer; the rest goes on; nothing panics.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "a test fails by panicking")]

mod common;

use std::io::Write;

use common::{Place, long};

/// Lines of a good recording with `bad` after the fourth.
fn with_bad_line(bad: &[u8]) -> Vec<u8> {
    let text = long("t", 2);
    let mut bytes = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if index == 4 {
            bytes.extend_from_slice(bad);
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// Imports a recording with a bad fifth line: it is named, everything else is in, and a second import is the same and adds nothing.
#[track_caller]
fn check_line(bad: &[u8], said: &str) {
    let place = Place::new();
    let file = place.file("bad.jsonl", with_bad_line(bad));
    place.import(&file, &[]).code(3).says("bad.jsonl: line 5: ").says(said);
    let page = place.run(&["show", "t", "--json"]).done();
    assert!(page.out.contains("word 19 of 1."), "{}", page.out);
    let again = place.import(&file, &["--json"]);
    assert_eq!(again.json_lines().pop().unwrap()["events"], 0);
    place.run(&["verify"]).done();
}

#[test]
fn a_line_that_is_no_json_is_named_and_passed_over() {
    check_line(b"{\"type\":\"TEXT_MESSAGE_CONT", "not a JSON object");
}

#[test]
fn an_event_with_a_wrong_type_is_named_and_passed_over() {
    check_line(br#"{"type":"TEXT_MESSAGE_CONTENT","messageId":7,"delta":"x"}"#, "malformed_event");
}

#[test]
fn nul_bytes_are_named_and_passed_over() {
    check_line(b"{\"type\":\"RAW\",\"event\":\"a\0b\"}", "NUL");
}

#[test]
fn bytes_that_are_no_text_are_named_and_passed_over() {
    check_line(b"{\"type\":\"RAW\",\"event\":\"\xff\xfe\"}", "not UTF-8");
}

#[test]
fn an_id_beyond_its_limit_is_named_and_passed_over() {
    let id = "x".repeat(5000);
    check_line(format!(r#"{{"type":"TEXT_MESSAGE_START","messageId":"{id}"}}"#).as_bytes(), "id_bytes_max");
}

#[test]
fn a_line_beyond_its_limit_is_named_and_passed_over() {
    let place = Place::new();
    let path = place.path("bad.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let text = long("t", 1);
    let (first, rest) = text.split_once('\n').unwrap();
    writeln!(file, "{first}").unwrap();
    file.write_all(br#"{"type":"RAW","event":""#).unwrap();
    for _ in 0..65 {
        file.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    writeln!(file, "\"}}\n{rest}").unwrap();
    file.into_inner().unwrap();
    place.import(&path, &[]).code(3).says("bad.jsonl: line 2: ").says("above the limit of 67108864");
    assert!(place.run(&["show", "t", "--json"]).done().out.contains("word 19 of 0."));
}

#[test]
fn an_empty_file_is_named_and_the_others_come_in() {
    let place = Place::new();
    let (empty, good) = (place.file("empty.jsonl", ""), place.file("good.jsonl", long("t", 1)));
    let output = place.command().arg("import").args([&empty, &good]).args(["--protocol", "aiui"]).output().unwrap();
    common::Ended::of(output).code(3).says("empty.jsonl: line 1: ").says("empty");
    place.run(&["show", "t"]).done();
}

#[test]
fn a_file_that_is_not_there_is_named_and_the_others_come_in() {
    let place = Place::new();
    let (gone, good) = (place.path("gone.jsonl"), place.file("good.jsonl", long("t", 1)));
    let output = place.command().arg("import").args([&gone, &good]).args(["--protocol", "aiui"]).output().unwrap();
    common::Ended::of(output).code(3).says("cannot read").says("gone.jsonl");
    place.run(&["show", "t"]).done();
}

#[track_caller]
fn check_session_is_refused(id: &str, said: &str) {
    let place = Place::new();
    let file = place.file("a.jsonl", long("t", 1));
    place.import(&file, &["--session", id]).code(3).says("a.jsonl").says(said);
    let listed = place.run(&["sessions", "--json"]).done().json();
    assert!(listed["sessions"].as_array().unwrap().is_empty(), "{listed}");
}

#[test]
fn a_session_id_beyond_its_limit_is_refused() {
    check_session_is_refused(&"x".repeat(300), "session_id_bytes_max");
}

#[test]
fn a_session_id_with_a_control_character_is_refused() {
    check_session_is_refused("a\u{1b}[2Jb", "control character");
}

#[test]
fn an_empty_session_id_is_refused() {
    check_session_is_refused("", "empty");
}

#[test]
fn a_session_id_like_a_path_is_only_a_name() {
    let place = Place::new();
    place.import(&place.file("a.jsonl", long("t", 1)), &["--session", "../../x"]).done();
    place.run(&["show", "../../x"]).done();
    assert_eq!(place.names(), ["a.jsonl", "agent.db"]);
}

#[test]
fn a_thread_id_that_is_no_session_id_refuses_that_file_alone() {
    let place = Place::new();
    let (bad, good) = (place.file("a.jsonl", long(&"y".repeat(300), 1)), place.file("b.jsonl", long("t", 1)));
    let output = place.command().arg("import").args([&bad, &good]).args(["--protocol", "aiui"]).output().unwrap();
    common::Ended::of(output).code(3).says("a.jsonl").says("session_id_bytes_max");
    place.run(&["show", "t"]).done();
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    let place = Place::new();
    std::fs::write(place.store(), "these are my notes, not a store").unwrap();
    for args in [["sessions"].as_slice(), &["stats"], &["show", "t"], &["verify"], &["rebuild"]] {
        place.run(args).code(1).says("agent.db");
    }
    place.import(&place.file("a.jsonl", long("t", 1)), &[]).code(1).says("agent.db");
    assert_eq!(std::fs::read(place.store()).unwrap(), b"these are my notes, not a store");
}

#[test]
fn looking_at_a_store_that_is_not_there_makes_none() {
    let place = Place::new();
    for args in
        [["sessions"].as_slice(), &["stats"], &["show", "t"], &["events", "t"], &["pending"], &["hash", "t"], &["verify"], &["rebuild"]]
    {
        place.run(args).code(1).says("no store");
    }
    assert!(place.names().is_empty());
}

#[test]
fn a_session_that_is_not_there_is_not_an_empty_one() {
    let place = Place::new();
    place.import(&place.file("a.jsonl", long("t", 1)), &[]).done();
    for command in ["show", "events", "pending", "artifacts", "hash"] {
        place.run(&[command, "nobody"]).code(1).says("no session \"nobody\"");
    }
}

#[test]
fn a_cursor_that_is_damaged_or_of_another_session_is_refused() {
    let place = Place::new();
    place.import(&place.file("a.jsonl", long("t", 30)), &[]).done();
    place.import(&place.file("b.jsonl", long("u", 30)), &[]).done();
    let page = place.run(&["show", "t", "--last", "3", "--json"]).done().json();
    let cursor = page["older"].as_str().unwrap();
    place.run(&["show", "t", "--cursor", cursor]).done();
    place.run(&["show", "u", "--cursor", cursor]).code(1).says("another session");
    place.run(&["show", "t", "--cursor", "nonsense"]).code(1).says("malformed");
    for at in 0..cursor.len() {
        let mut bytes = cursor.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let flipped = String::from_utf8(bytes).unwrap();
        place.run(&["show", "t", &format!("--cursor={flipped}")]).code(1).says("cursor");
    }
}

#[test]
fn a_wrong_command_line_is_told_from_a_failure() {
    let place = Place::new();
    assert_eq!(place.run(&["import", "x.jsonl"]).code, Some(2));
    assert_eq!(place.run(&["frobnicate"]).code, Some(2));
    assert_eq!(place.run(&["show", "t", "--last", "many"]).code, Some(2));
    let beyond = place.import(&place.file("a.jsonl", long("t", 3)), &["--last", "501"]);
    assert!(beyond.code == Some(2) && beyond.err.contains("window_items_max = 500"), "{beyond:?}");
    assert!(!place.store().exists(), "something was appended before it was refused");
    let help = place.run(&["--help"]).done();
    assert!(help.out.contains("Exit codes:") && help.out.contains("Examples:"), "{}", help.out);
}
