//! Recorded transcripts, whole and damaged, against another reading of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Decoder, encode};
use crate::adapter::folded::{Dice, Folded, comes_back, damaged, read, recorded};

/// What a transcript says, read in another way: texts with their roles, thoughts, arguments of calls and contents of results.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    texts: Vec<(String, String)>,
    thoughts: Vec<String>,
    args: BTreeMap<String, Value>,
    results: Vec<(String, String)>,
}

fn heard(bytes: &[u8]) -> Heard {
    let mut heard = Heard::default();
    let mut lines = BTreeSet::new();
    read(bytes, |raw| {
        let Ok(line) = serde_json::from_str::<Value>(raw.text) else { return };
        if line["uuid"].is_string() && !lines.insert(raw.text.to_owned()) {
            return;
        }
        let kind = line["type"].as_str().unwrap_or_default().to_owned();
        if kind == "system" && line["content"].is_string() {
            heard.texts.push((kind, line["content"].as_str().unwrap().to_owned()));
        } else if kind == "user" || kind == "assistant" {
            let said = if line["message"].is_object() { &line["message"]["content"] } else { &line["message"] };
            let blocks = if said.is_string() { vec![said.clone()] } else { said.as_array().cloned().unwrap_or_default() };
            blocks.iter().for_each(|block| heard.block(&kind, block));
        }
    });
    heard.results.sort();
    heard
}

fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(list) if list.len() == 1 && list[0]["type"] == "text" => list[0]["text"].as_str().unwrap().to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

impl Heard {
    fn block(&mut self, role: &str, block: &Value) {
        let field = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("text") => self.texts.push((role.to_owned(), field("text"))),
            Some("thinking") => self.thoughts.push(field("thinking")),
            Some("tool_use") => drop(self.args.insert(field("id"), block["input"].clone())),
            Some("tool_result") => self.results.push((field("tool_use_id"), flat(&block["content"]))),
            _ => self.texts.push((role.to_owned(), if block.is_string() { block.as_str().unwrap().to_owned() } else { block.to_string() })),
        }
    }
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
    let value = |text: &str| serde_json::from_str::<Value>(text).map_or_else(|_| text.to_owned(), |value| value.to_string());
    let plain = |text: String| if text.starts_with(['{', '[']) { value(&text) } else { text };
    let tools = folded.tools();
    let mut results: Vec<_> = folded.lone_results().into_iter().map(|(tool, text)| (tool, plain(text))).collect();
    results.extend(tools.iter().flat_map(|(tool, _, contents)| contents.iter().map(|text| (tool.id.clone(), plain(text.clone())))));
    results.sort();
    let heard = Heard {
        texts: folded.texts().into_iter().map(|(role, text)| (role, plain(text))).collect(),
        thoughts: folded.reasoning().into_iter().map(|(_, text)| text).collect(),
        args: tools.iter().map(|(tool, args, _)| (tool.id.clone(), serde_json::from_str(args).unwrap_or_default())).collect(),
        results,
    };
    (heard, folded)
}

fn plain(mut heard: Heard) -> Heard {
    let value = |text: &mut String| {
        if text.starts_with(['{', '[']) {
            *text = serde_json::from_str::<Value>(text).map_or_else(|_| text.clone(), |value| value.to_string());
        }
    };
    heard.texts.iter_mut().for_each(|(_, text)| value(text));
    heard.results.iter_mut().for_each(|(_, text)| value(text));
    heard.results.sort();
    heard
}

#[test]
fn recorded_transcripts_are_shown_whole_once_and_in_order() {
    for (path, bytes) in recorded("claude_code") {
        let (shown, folded) = shown(&bytes);
        let heard = plain(heard(&bytes));
        assert_eq!(shown.texts.len(), heard.texts.len(), "{}", path.display());
        assert_eq!(shown, heard, "{}", path.display());
        println!(
            "{}: {} texts, {} calls, turns {:?}, {:?}",
            path.file_name().unwrap().display(),
            shown.texts.len(),
            shown.args.len(),
            folded.turns().iter().map(|turn| turn.status.as_str()).collect::<Vec<_>>(),
            folded.codes
        );
    }
}

#[test]
fn damaged_transcripts_lose_what_is_damaged_and_no_more() {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for (path, bytes) in recorded("claude_code").into_iter().filter(|(_, bytes)| bytes.len() < 400_000) {
        let before = plain(heard(&bytes));
        for round in 0..2 {
            for (damaged, whole) in damaged(&bytes, &mut dice) {
                let (shown, _) = shown(&damaged);
                assert_eq!(shown, plain(heard(&damaged)), "{} {round}", path.display());
                if whole {
                    // Of lines without an id nobody can tell whether they are meant twice.
                    let all: BTreeSet<_> = shown.texts.iter().collect();
                    assert!(before.texts.iter().all(|text| all.contains(text)), "{} {round}", path.display());
                }
            }
        }
    }
}
