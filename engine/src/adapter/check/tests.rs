//! Every code has its entry, and what a stream does is found at its event.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::adapter::WIRES;
use crate::{Engine, Seq};

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found
}

fn is_code(text: &str) -> bool {
    text.contains('_') && text.split('_').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// String literals of a source text that look like a code.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .filter(|one| is_code(one))
}

#[test]
fn every_code_of_the_reducer_has_an_entry() {
    let mut codes = BTreeSet::new();
    for file in sources("state/reduce") {
        let text = fs::read_to_string(&file).unwrap();
        // Words with an underscore are used for nothing else there.
        codes.extend(literals(&text).map(str::to_owned));
    }
    assert!(codes.contains("delta_after_final") && codes.contains("decision_conflict") && codes.len() > 15, "{codes:?}");
    for code in codes {
        assert!(table::COMMON.iter().any(|entry| entry.code == code), "the reducer notes {code}, which has no entry");
    }
}

#[test]
fn every_code_of_every_decoder_has_an_entry() {
    for wire in WIRES {
        let module = wire.name.replace('-', "_");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/adapter").join(&module).join("code.rs");
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines().filter(|line| line.starts_with("pub const ")) {
            let code = line.split('"').nth(1).unwrap();
            assert_ne!(*about(wire, code), UNLISTED, "{module} notes {code}, which has no entry");
        }
        // A decoder names its codes in that file and nowhere else.
        for file in sources(&format!("adapter/{module}")) {
            let text = fs::read_to_string(&file).unwrap();
            assert!(!text.contains("code: Text::Borrowed(\""), "{}", file.display());
        }
    }
}

#[test]
fn every_entry_says_in_a_sentence_what_it_means_and_what_to_do() {
    for codes in WIRES.iter().map(|wire| wire.codes).chain([table::COMMON, &[UNLISTED]]) {
        let mut seen = BTreeSet::new();
        for entry in codes {
            assert!(seen.insert(entry.code), "{} has two entries", entry.code);
            for text in [entry.meaning, entry.advice] {
                assert!(text.ends_with('.') && text.starts_with(char::is_uppercase), "{}: {text}", entry.code);
            }
        }
    }
}

/// Codes of everything that is found in a stream, each with the seq of its event.
#[track_caller]
fn found(protocol: &str, lines: &[&str]) -> Vec<(String, u64)> {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path().join("s")).unwrap();
    let wire = Wire::named(protocol).unwrap();
    let mut decoder = wire.decoder();
    for line in lines {
        let mut facts = Vec::new();
        decoder.decode(line, &mut facts);
        engine.append("s", facts).unwrap();
    }
    let mut found = Vec::new();
    findings(&engine.view(), "s", wire, &mut |finding| {
        assert_eq!(finding.code, finding.about.code, "every code has an entry");
        found.push((finding.code, finding.seq.get()));
    })
    .unwrap();
    assert!(found.iter().all(|(_, seq)| *seq >= Seq::FIRST.get()));
    found
}

#[track_caller]
fn check(protocol: &str, lines: &[&str], codes: &[(&str, u64)]) {
    let found = found(protocol, lines);
    let found: Vec<(&str, u64)> = found.iter().map(|(code, seq)| (code.as_str(), *seq)).collect();
    assert_eq!(found, codes);
}

const RUN: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
const DONE: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;

#[test]
fn a_whole_run_has_no_findings() {
    let lines = [
        RUN,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        DONE,
    ];
    check("aiui", &lines, &[]);
}

#[test]
fn what_stands_open_is_found_at_the_event_that_opened_it() {
    let lines = [
        RUN,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#,
        r#"{"type":"TOOL_CALL_START","toolCallId":"d","toolCallName":"f"}"#,
        r#"{"type":"TOOL_CALL_END","toolCallId":"d"}"#,
    ];
    check("aiui", &lines, &[("open_turn", 1), ("open_part", 2), ("unfinished_call", 3), ("unanswered_call", 4)]);
}

#[test]
fn a_request_that_its_turn_leaves_unanswered_is_found() {
    let asked = r#"{"type":"HUMAN_INPUT_REQUESTED","requestId":"q","kind":"approval","status":"pending","runId":"r"}"#;
    check("aiui", &[RUN, asked, DONE], &[("unanswered_request", 2)]);
    let kept = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"approval"}]}}"#;
    check("aiui", &[RUN, asked, kept], &[("waiting_request", 2)]);
    let answered = r#"{"type":"HUMAN_INPUT_RESOLVED","requestId":"q","decisionId":"d"}"#;
    check("aiui", &[RUN, asked, answered, DONE], &[]);
    let late = r#"{"type":"action.required","actionId":"q","runId":"r"}"#;
    let ended = r#"{"type":"run.finished","runId":"r","outcome":"success"}"#;
    check("agent-ui", &[r#"{"type":"run.started","runId":"r"}"#, ended, late], &[("lost_request", 3)]);
}

#[test]
fn what_a_failed_run_leaves_open_is_no_finding() {
    let lines = [
        RUN,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#,
        r#"{"type":"HUMAN_INPUT_REQUESTED","requestId":"q","kind":"approval","status":"pending","runId":"r"}"#,
        r#"{"type":"RUN_ERROR","message":"out of memory"}"#,
    ];
    check("aiui", &lines, &[]);
}

#[test]
fn what_comes_after_the_end_of_its_turn_is_found() {
    let lines = [
        r#"{"type":"turn_start","turn_id":"t"}"#,
        r#"{"type":"turn_end","turn_id":"t","status":"completed"}"#,
        r#"{"type":"part_add","turn_id":"t","part":{"id":"p","type":"text","text":"late"}}"#,
        r#"{"type":"part_complete","part_id":"p"}"#,
    ];
    check("aseity", &lines, &[("after_end", 3)]);
    let again = [lines[0], lines[1], lines[0], lines[2], lines[3], lines[1]];
    check("aseity", &again, &[("reopened_turn", 1)]);
}

#[test]
fn a_patch_that_fails_leaves_its_document_stale() {
    let patch = r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/no/such"}]}"#;
    check("aiui", &[RUN, patch, DONE], &[("state_patch_failed", 2), ("stale_document", 3)]);
    let whole = r#"{"type":"STATE_SNAPSHOT","snapshot":{}}"#;
    check("aiui", &[RUN, patch, whole, DONE], &[("state_patch_failed", 2)]);
}

#[test]
fn findings_of_a_long_session_are_all_told_once() {
    let lines: Vec<String> = (0..700).map(|n| format!(r#"{{"type":"text.delta","runId":"r","messageId":"m{n}","delta":"x"}}"#)).collect();
    let lines: Vec<&str> = std::iter::once(r#"{"type":"run.started","runId":"r"}"#).chain(lines.iter().map(String::as_str)).collect();
    let found = found("agent-ui", &lines);
    assert_eq!(found.iter().filter(|(code, _)| code == "open_part").count(), 700);
    assert_eq!(found.iter().filter(|(code, _)| code == "open_turn").count(), 1);
    assert!(found.iter().map(|(_, seq)| seq).collect::<BTreeSet<_>>().len() >= 700);
}
