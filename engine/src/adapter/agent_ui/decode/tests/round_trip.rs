//! Generated events come back equal by value, from facts and from stored events.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use turnstore_storage::{Position, Seq, Stream};

use super::super::super::encode::encode;
use super::*;
use crate::adapter::piece::Piece;
use crate::event;

const ODD_NAMES: [&str; 7] =
    ["turn.started", "runtime.status", "tool.completed", "turn.completed", "turn.failed", "team.changed", "vendor.x"];

const TEXTS: [&str; 30] = [
    "sessionId",
    "runId",
    "turnId",
    "threadId",
    "taskId",
    "agentId",
    "messageId",
    "partId",
    "planId",
    "toolCallId",
    "actionId",
    "artifactId",
    "evidenceId",
    "writeId",
    "delta",
    "text",
    "name",
    "stage",
    "status",
    "outcome",
    "artifactStatus",
    "artifactKind",
    "artifactVersionId",
    "artifactExportId",
    "artifactDiffRef",
    "outputRef",
    "action",
    "target",
    "decisionId",
    "role",
];

fn words() -> impl Strategy<Value = String> {
    let words = ["a", "b", "m", "m#text", "fact:a", "", "é\"\n\u{1F600}", "assistant", "success", "failed", "unknown", "process"];
    prop::sample::select(words.to_vec()).prop_map(str::to_owned)
}

fn any_value() -> impl Strategy<Value = Value> {
    let odd = vec![json!(null), json!(true), json!(7), json!(-1.5), json!([1, {"a": null}]), json!({"k": [1]}), json!({})];
    prop_oneof![6 => words().prop_map(Value::String), 1 => prop::sample::select(odd)]
}

/// Fields of every class at once, mostly of the right type.
fn fields() -> impl Strategy<Value = Map<String, Value>> {
    let texts = prop::collection::vec(prop::option::weighted(0.6, any_value()), TEXTS.len());
    let rest: Vec<(&str, Vec<Value>)> = vec![
        ("queued", vec![json!([{"id": "q", "position": 1}, "x"]), json!([]), json!([{"no": 1}]), json!(1)]),
        (
            "steer",
            vec![
                json!({"id": "s", "state": "pending", "text": "t"}),
                json!([{"id": "a"}, {"id": "b", "patch": [1]}]),
                json!({}),
                json!([]),
            ],
        ),
        (
            "messages",
            vec![
                json!([{"id": "u", "role": "user", "content": "q"}]),
                json!([{"id": "a", "role": "assistant", "turnId": "t", "parts": [{"type": "text", "text": "x"}, {"type": "reasoning", "text": "y"}, {"type": "image"}]}]),
                json!([{"messageId": "a", "text": "x", "error": {"message": ""}}]),
                json!([1]),
            ],
        ),
        ("turns", vec![json!([{"turnId": "t", "status": "failed"}, {}]), json!(1)]),
        ("cursor", vec![json!("c"), json!(null), json!(3)]),
        ("window", vec![json!({"limit": 1})]),
        ("error", vec![json!("x"), json!({"message": "m"}), json!({"message": "m", "code": "c", "more": 1}), json!(3)]),
        ("code", vec![json!("E"), json!(4)]),
        ("retryable", vec![json!(true), json!(false), json!("x")]),
        ("value", vec![json!({"a": 1}), json!(null)]),
        ("patch", vec![json!([{"op": "add", "path": "/a", "value": 1}]), json!({})]),
        ("args", vec![json!({"q": 1}), json!("{\"q\":1}"), json!("x")]),
        ("output", vec![json!("log"), json!({"rows": [1]})]),
        ("progress", vec![json!(50), json!({"of": 3})]),
        ("artifactPreview", vec![json!(null), json!({"rows": 2}), json!("text")]),
        ("preview", vec![json!("short")]),
        ("kind", vec![json!("report"), json!(2)]),
        ("plan", vec![json!({"steps": []})]),
        ("scope", vec![json!("run"), json!({"path": "x"})]),
        ("expiresAt", vec![json!("soon")]),
        ("receipt", vec![json!({"id": 1}), json!(null)]),
        ("owner", vec![json!("runtime"), json!("artifact"), json!("ui_projection"), json!(1), json!("alice")]),
        ("sequence", vec![json!(0), json!(7), json!(-1), json!(1.5), json!("3")]),
        ("timestamp", vec![json!("2026-01-01T00:00:00Z"), json!(1)]),
        ("eventId", vec![json!("e"), json!(1)]),
        ("lifecycle", vec![json!("closed")]),
        ("type", vec![json!("permission")]),
        ("payload", vec![json!({"deep": 1}), json!("text")]),
        ("-", vec![json!(["runId"])]),
        ("=", vec![json!({"type": "x"})]),
        ("~", vec![json!(["delta"])]),
        ("__proto__", vec![json!({"x": 1})]),
        ("a/b~1", vec![json!(1)]),
    ];
    let chosen: Vec<_> = rest
        .into_iter()
        .map(|(key, values)| {
            let weight = if matches!(key, "-" | "=" | "~" | "payload" | "__proto__") { 0.05 } else { 0.35 };
            prop::option::weighted(weight, prop::sample::select(values)).prop_map(move |value| value.map(|value| (key.to_owned(), value)))
        })
        .collect();
    (texts, chosen).prop_map(|(texts, chosen)| {
        let texts = TEXTS.iter().zip(texts).filter_map(|(key, value)| Some(((*key).to_owned(), value?)));
        texts.chain(chosen.into_iter().flatten()).collect()
    })
}

fn names() -> impl Strategy<Value = &'static str> {
    let names: Vec<&str> = Class::ALL.iter().map(|class| class.as_str()).chain(ODD_NAMES).collect();
    prop::sample::select(names)
}

/// An event whose fields stand flat, inside, or in both.
fn any_event() -> impl Strategy<Value = Value> {
    (names(), fields(), prop::option::of(fields())).prop_map(|(name, mut flat, inside)| {
        flat.insert("type".to_owned(), json!(name));
        if let Some(inside) = inside {
            // Half of what the event could say flat it says inside alone.
            let moved: Vec<String> = flat.keys().filter(|key| key.len() % 2 == 0 && *key != "type").cloned().collect();
            moved.iter().for_each(|key| {
                flat.remove(key);
            });
            flat.insert("payload".to_owned(), Value::Object(inside));
        }
        Value::Object(flat)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_event_comes_back_equal_by_value(events in prop::collection::vec(any_event(), 1..20)) {
        let mut decoder = Decoder::new();
        for value in events {
            let text = value.to_string();
            let mut facts = Vec::new();
            decoder.decode(&text, &mut facts);
            prop_assert!(!facts.is_empty());
            let back = encode_stated(&facts).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), value.clone(), "{:?}", facts);

            let stored: Vec<Vec<u8>> = facts.iter().map(|stated| {
                let mut bytes = Vec::new();
                event::encode(stated, &mut bytes).unwrap();
                bytes
            }).collect();
            let events: Vec<_> = stored.iter().map(|bytes| event::decode(Position::FIRST, Stream::FIRST, Seq::FIRST, bytes).unwrap()).collect();
            let pieces: Vec<_> = events.iter().map(|event| Piece::of_event(event).unwrap()).collect();
            prop_assert_eq!(encode(&pieces).unwrap(), back);
        }
    }

    #[test]
    fn where_a_field_stands_makes_no_difference_to_the_facts(name in names(), fields in fields()) {
        let mut flat = fields.clone();
        // What belongs to the envelope means something else inside.
        for key in ["scope", "owner", "sequence", "timestamp", "eventId", "sessionId", "payload", "type", "-", "=", "~"] {
            flat.remove(key);
        }
        let inside = json!({"type": name, "sessionId": "s", "payload": flat.clone()}).to_string();
        flat.insert("type".to_owned(), json!(name));
        flat.insert("sessionId".to_owned(), json!("s"));
        let flat = Value::Object(flat).to_string();
        let (one, two) = (decoded(&[&flat]).remove(0), decoded(&[&inside]).remove(0));
        prop_assert_eq!(one.len(), two.len());
        for (one, two) in one.iter().zip(&two) {
            let raw = |stated: &Stated<'_>| matches!(&stated.fact, Fact::Opaque(_)) || matches!(&stated.fact, Fact::DiagnosticNoted(noted) if noted.raw.is_some());
            prop_assert!(one.fact == two.fact || (raw(one) && raw(two)), "{:?}\n{:?}", one.fact, two.fact);
        }
    }

    #[test]
    fn no_text_stops_the_decoder(texts in prop::collection::vec("\\PC{0,40}", 1..8)) {
        let mut decoder = Decoder::new();
        for text in &texts {
            let mut facts = Vec::new();
            decoder.decode(text, &mut facts);
            prop_assert_eq!(&encode_stated(&facts).unwrap(), text);
        }
    }
}
