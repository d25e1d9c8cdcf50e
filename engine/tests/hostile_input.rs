//! Input that is made to hurt, in every protocol: it has a stated outcome, is kept, comes back, and what follows is read.
//!
//! | input | outcome |
//! |---|---|
//! | integers beyond 2^53 | kept to the last digit |
//! | half a surrogate pair | the event comes back as it was; its text shows U+FFFD unless the other half follows |
//! | a key twice | the last one counts, as in JavaScript; the event comes back equal by value |
//! | nesting that no reader of JSON follows | kept byte for byte; a diagnostic where the protocol would read into it |
//! | a key of a megabyte | kept |
//! | bytes that are no UTF-8 | named by their line, and the next event is read |

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::Value;
use turnstore::adapter::source::{Format, Item, Reader, Reason};
use turnstore::adapter::{WIRES, Wire, source_events};
use turnstore::fact::Fact;
use turnstore::{Batch, Engine, Seq};

/// An event of a protocol that holds a string and some more fields.
fn event(wire: &Wire, text: &str, more: &str) -> String {
    match wire.name {
        "aiui" => format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":{text}{more}}}"#),
        "aseity" => format!(r#"{{"type":"part_update","turn_id":"t","part_id":"p","delta":{text}{more}}}"#),
        "agent-ui" => format!(r#"{{"type":"text.delta","runId":"r","messageId":"m","delta":{text}{more}}}"#),
        "claude-code" => format!(
            r#"{{"type":"assistant","uuid":"u","sessionId":"s","message":{{"role":"assistant","content":[{{"type":"text","text":{text}}}]}}{more}}}"#
        ),
        "codex" => format!(
            r#"{{"type":"response_item","payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{text}}}]}}{more}}}"#
        ),
        other => panic!("{other}: say what an event of it looks like"),
    }
}

fn hostile(wire: &Wire) -> Vec<(&'static str, String)> {
    let deep = format!(r#","x":{}1{}"#, "[".repeat(1_000), "]".repeat(1_000));
    let key = "k".repeat(1 << 20);
    vec![
        ("large integer", event(wire, r#""a""#, r#","n":9007199254740993,"big":{"n":-9007199254740993}"#)),
        ("high half", event(wire, r#""a\ud83d""#, "")),
        ("low half", event(wire, r#""\ude00b""#, "")),
        ("half elsewhere", event(wire, r#""a""#, r#","x":"\udead","y":{"\ud800":1}"#)),
        ("key twice", event(wire, r#""a""#, r#","x":1,"x":{"y":2,"y":3}"#)),
        ("deep", event(wire, r#""a""#, &deep)),
        ("long key", event(wire, r#""a""#, &format!(r#","{key}":1"#))),
        ("no object", "[[[]]]".to_owned()),
        ("cut", event(wire, r#""a""#, "").split_at(20).0.to_owned()),
    ]
}

/// The value of a text, or the text when it has none. Halves of characters and deep nesting, which are nothing to a strict reader, count as
/// words.
fn value(text: &str) -> Result<Value, &str> {
    let readable = ["d83d", "de00", "dead", "d800"].iter().fold(text.to_owned(), |text, half| text.replace(&format!("\\u{half}"), half));
    let readable = readable.replace(&format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000)), "\"deep\"");
    serde_json::from_str(&readable).map_err(|_| text)
}

#[test]
fn hostile_events_come_back_and_what_follows_is_read() {
    for wire in WIRES {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(folder.path().join("store")).unwrap();
        let mut decoder = wire.decoder();
        let mut sent = Vec::new();
        for (what, text) in hostile(wire) {
            let mut facts = Vec::new();
            decoder.decode(&text, &mut facts);
            assert!(!facts.is_empty(), "{} {what}", wire.name);
            let back = wire.encode_stated(&facts).unwrap_or_else(|error| panic!("{} {what}: {error}", wire.name));
            assert_eq!(value(&back), value(&text), "{} {what}", wire.name);
            // What is no object with a type is kept and noted, but was no event.
            let accepted = !facts.iter().any(|stated| matches!(&stated.fact, Fact::Opaque(opaque) if opaque.name.is_empty()));
            assert!(what == "deep" || accepted != ["no object", "cut"].contains(&what), "{} {what}", wire.name);
            engine.append("s", Batch::of(facts)).unwrap();
            sent.extend(accepted.then_some(text));
        }
        let last = event(wire, r#""what follows""#, "");
        let mut facts = Vec::new();
        decoder.decode(&last, &mut facts);
        engine.append("s", Batch::of(facts)).unwrap();
        sent.push(last);
        let stored: Vec<String> = source_events(engine.view().events("s", Seq::FIRST).unwrap()).map(|event| event.unwrap().text).collect();
        assert_eq!(stored.len(), sent.len(), "{}", wire.name);
        for (stored, sent) in stored.iter().zip(&sent) {
            assert_eq!(value(stored), value(sent), "{}", wire.name);
        }
        let noted: Vec<String> = engine.view().diagnostics("s").unwrap().map(|noted| noted.unwrap().code).collect();
        assert!(noted.iter().filter(|code| *code == "unknown_event").count() >= 2, "{}: {noted:?}", wire.name);
        let hash = engine.view().hash("s").unwrap();
        drop(engine);
        let engine = Engine::open(folder.path().join("store")).unwrap();
        assert_eq!(engine.view().hash("s").unwrap(), hash, "{}", wire.name);
        engine.close().unwrap();
    }
}

#[test]
fn bytes_that_are_no_text_are_named_and_the_next_event_is_read() {
    let sse = b"data: {\"type\":\"a\"}\n\ndata: {\"type\":\"\xff\"}\n\ndata: {\"type\":\"b\"}\n\n";
    let lines = b"{\"type\":\"a\"}\n{\"type\":\"\xff\"}\n{\"type\":\"b\"}\n";
    for (format, bytes, at) in [(Format::Sse, sse.as_slice(), 3), (Format::JsonLines, lines.as_slice(), 2)] {
        let mut reader = Reader::of_format(bytes, format, 1 << 20);
        let (mut events, mut problems) = (Vec::new(), Vec::new());
        while let Some(item) = reader.read().unwrap() {
            match item {
                Item::Event(raw) => events.push(raw.text.to_owned()),
                Item::Problem(problem) => problems.push((problem.line, problem.reason)),
            }
        }
        assert_eq!(events, [r#"{"type":"a"}"#, r#"{"type":"b"}"#], "{format:?}");
        assert!(matches!(problems.as_slice(), [(line, Reason::NotUtf8)] if *line == at), "{format:?}: {problems:?}");
    }
}
