//! Recorded rollouts, whole and damaged, against another reading of them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Decoder, encode};
use crate::adapter::folded::{Dice, Folded, comes_back, damaged, read, recorded};

/// What a rollout says, read in another way: from its response items alone, whose texts win.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    texts: Vec<(String, String)>,
    thoughts: Vec<String>,
    calls: usize,
    results: Vec<(String, String)>,
    turns: usize,
}

fn heard(bytes: &[u8]) -> Heard {
    let mut heard = Heard::default();
    read(bytes, |raw| {
        let Ok(line) = serde_json::from_str::<Value>(raw.text) else { return };
        let payload = &line["payload"];
        let field = |key: &str| payload[key].as_str().unwrap_or_default().to_owned();
        match (line["type"].as_str().unwrap_or_default(), payload["type"].as_str().unwrap_or_default()) {
            ("response_item", "message") => {
                let blocks = payload["content"].as_array().unwrap();
                let text = |block: &Value| block["text"].as_str().map_or_else(|| block.to_string(), str::to_owned);
                heard.texts.extend(blocks.iter().map(|block| (field("role"), text(block))));
            }
            ("response_item", "reasoning") => {
                let summary = payload["summary"].as_array().unwrap();
                heard.thoughts.extend(summary.iter().map(|block| block["text"].as_str().unwrap().to_owned()));
            }
            ("response_item", kind) if kind.ends_with("_output") => heard.results.push((field("call_id"), field("output"))),
            ("response_item", kind) if kind.ends_with("_call") => heard.calls += 1,
            ("event_msg", "agent_reasoning_raw_content") => heard.thoughts.push(field("text")),
            ("event_msg", "task_started") => heard.turns += 1,
            ("compacted", _) if !field("message").is_empty() => heard.texts.push(("system".to_owned(), field("message"))),
            _ => {}
        }
    });
    heard.results.sort();
    heard
}

/// JSON in one spelling.
fn plain(text: String) -> String {
    let value = text.starts_with('{').then(|| serde_json::from_str::<Value>(&text).ok()).flatten();
    value.map_or(text, |value| value.to_string())
}

fn shown(bytes: &[u8]) -> (Heard, Folded) {
    let mut decoder = Decoder::new();
    let mut folded = Folded::new();
    read(bytes, |raw| {
        let mut facts = Vec::new();
        decoder.decode_raw(raw, &mut facts);
        comes_back(raw.text, &facts, encode);
        facts.iter().for_each(|stated| folded.fold(stated));
    });
    let tools = folded.tools();
    let mut results = folded.lone_results();
    let outputs = |(tool, _, contents): &(crate::state::Tool, String, Vec<String>)| {
        let given = tool.results.iter().zip(contents).filter(|(result, _)| result.content.is_some());
        given.map(|(_, text)| (tool.id.clone(), text.clone())).collect::<Vec<_>>()
    };
    results.extend(tools.iter().flat_map(outputs));
    results.sort();
    let heard = Heard {
        texts: folded.texts().into_iter().map(|(role, text)| (role, plain(text))).collect(),
        thoughts: folded.reasoning().into_iter().map(|(_, text)| text).filter(|text| !text.is_empty()).collect(),
        calls: tools.len(),
        results,
        turns: folded.turns().len(),
    };
    (heard, folded)
}

#[test]
fn recorded_rollouts_are_shown_whole_once_and_in_order() {
    for (path, bytes) in recorded("codex") {
        let (shown, folded) = shown(&bytes);
        assert_eq!(shown, heard(&bytes), "{}", path.display());
        let count = |status: &str| folded.turns().iter().filter(|turn| turn.status == status).count();
        println!(
            "{}: {} texts, {} calls, {} turns: {} completed, {} unknown, {} running; {:?}",
            path.file_name().unwrap().display(),
            shown.texts.len(),
            shown.calls,
            shown.turns,
            count("completed"),
            count("unknown"),
            count("running"),
            folded.codes
        );
    }
}

#[test]
fn damaged_rollouts_are_read_on_and_keep_what_is_whole() {
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    for (path, bytes) in recorded("codex").into_iter().filter(|(_, bytes)| bytes.len() < 400_000) {
        let before = heard(&bytes);
        for round in 0..2 {
            for (damaged, whole) in damaged(&bytes, &mut dice) {
                let (shown, _) = shown(&damaged);
                let all: BTreeSet<_> = shown.texts.iter().collect();
                let left = heard(&damaged);
                assert!(left.texts.iter().all(|text| all.contains(text)), "{} {round}", path.display());
                if whole {
                    assert!(before.texts.iter().all(|text| all.contains(text)), "{} {round}", path.display());
                    assert_eq!(shown.turns, before.turns, "{} {round}", path.display());
                }
            }
        }
    }
}
