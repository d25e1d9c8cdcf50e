//! Input that nobody should send.

use super::*;
use crate::fact::PartDelta;

#[test]
fn deep_json_is_kept_or_refused_and_the_next_event_is_read() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let lines = [
        format!(r#"{{"type":"state.snapshot","value":{deep}}}"#),
        format!(r#"{{"type":"artifact.changed","artifactId":"A","payload":{{"x":{deep}}}}}"#),
        deep,
        r#"{"type":"artifact.deleted","artifactId":"A"}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let all = decoded(&lines);
    assert!(all.iter().all(|facts| !facts.is_empty()));
    for (line, facts) in lines.iter().zip(&all).take(3) {
        assert_eq!(encode_stated(facts).unwrap().len(), line.len(), "kept whole");
    }
    assert!(matches!(&all[3][0].fact, Fact::ArtifactChanged(_)));
}

#[test]
fn numbers_of_any_size_come_back_digit_for_digit() {
    let line = r#"{"type":"state.snapshot","value":123456789012345678901234567890,"sequence":99999999999999999999}"#;
    let all = decoded(&[line]);
    let back = encode_stated(&all[0]).unwrap();
    assert!(back.contains("123456789012345678901234567890") && back.contains("99999999999999999999"), "{back}");
    assert_eq!(all[0][0].source.stream, None, "no place that a number can hold");
}

#[test]
fn of_equal_keys_the_last_one_counts() {
    let line = r#"{"type":"artifact.created","artifactId":"A","artifactStatus":"failed","artifactStatus":"ready","payload":{"artifactKind":"code","artifactKind":"report"}}"#;
    let all = facts(line);
    let Fact::ArtifactChanged(changed) = &all[0] else { panic!("{all:?}") };
    assert_eq!(changed.fields.value().unwrap(), serde_json::json!({"artifactStatus": "ready", "artifactKind": "report"}));
    comes_back(&[line]);
}

#[test]
fn a_character_that_was_cut_in_two_between_deltas_is_put_together() {
    let (one, two) =
        (r#"{"type":"text.delta","messageId":"m","delta":"a\ud83d"}"#, r#"{"type":"text.delta","messageId":"m","delta":"\ude00b"}"#);
    let all = decoded(&[one, two]);
    let text: String = all
        .iter()
        .flatten()
        .filter_map(|stated| if let Fact::PartDelta(PartDelta { text, .. }) = &stated.fact { Some(text.as_ref()) } else { None })
        .collect();
    assert_eq!(text, "a\u{1F600}b");
    assert!(encode_stated(&all[0]).unwrap().contains(r#""a\ud83d""#) && encode_stated(&all[1]).unwrap().contains(r#""\ude00b""#));
}

#[test]
fn halves_of_characters_in_ids_and_payloads_come_back_as_they_were() {
    for line in [
        r#"{"type":"artifact.deleted","artifactId":"\ud83d"}"#,
        r#"{"type":"tool.result","payload":{"toolCallId":"c","status":"\ude00","output":"\ud83d"}}"#,
        r#"{"type":"text.final","messageId":"m","text":"\ud83d"}"#,
    ] {
        let back = encode_stated(&decoded(&[line])[0]).unwrap();
        for half in [r"\ud83d", r"\ude00"] {
            assert_eq!(back.matches(half).count(), line.matches(half).count(), "{line}\n{back}");
        }
    }
}

#[test]
fn what_is_no_object_is_kept_as_it_came() {
    for line in ["", "null", "[]", "3", "\"x\"", "{", "{\"type\":}", "{\"type\":\"run.started\"", "{\"type\":null}", "{\"type\":[\"x\"]}"] {
        let all = decoded(&[line]);
        assert_eq!(encode_stated(&all[0]).unwrap(), line);
        assert_eq!(codes(&[line]), [code::UNKNOWN_EVENT], "{line}");
    }
}

#[test]
fn a_name_from_the_transport_counts_when_the_event_has_none() {
    let mut out = Vec::new();
    Decoder::new().decode_raw(Raw { line: 1, text: r#"{"artifactId":"A"}"#, name: Some("artifact.deleted"), id: Some("7") }, &mut out);
    assert!(matches!(&out[0].fact, Fact::ArtifactChanged(_)));
    assert_eq!(out[0].source.event_id.as_deref(), Some("7"));
    assert_eq!(encode_stated(&out).unwrap(), r#"{"artifactId":"A"}"#);
}
