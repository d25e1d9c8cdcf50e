//! Events through the reducer: what was decoded means there what the protocol says.

use serde_json::Value;
use turnstore_storage::{Position, Seq, Stream};

use super::*;
use crate::adapter::aiui::project;
use crate::event::{Body, Event};
use crate::state::Session;

/// The texts of the messages by id, and the codes of all diagnostics.
fn folded(lines: &[&str]) -> (Vec<(String, String)>, Vec<String>) {
    let mut session = Session::empty();
    let mut seq = Seq::FIRST;
    for stated in decoded(lines).into_iter().flatten() {
        let body = Body::Fact(stated.fact);
        let (position, source) = (Position::FIRST, stated.source);
        session.reduce(&Event { position, session: Stream::FIRST, seq, recorded_at: 0, source, owner: stated.owner, body, ext: None });
        seq = seq.next();
    }
    let projection = project(&session.state, &());
    let list = |key: &str| projection[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let messages = list("messages").iter().map(|message| (text(message, "id"), text(message, "content"))).collect();
    (messages, list("diagnostics").iter().map(|noted| text(noted, "code")).collect())
}

fn contents<'m>(messages: &'m [(String, String)], id: &str) -> Option<&'m str> {
    messages.iter().find(|(known, _)| known == id).map(|(_, content)| content.as_str())
}

#[test]
fn final_texts_meet_what_was_streamed() {
    let lines = [
        r#"{"type":"run.started","runId":"r"}"#,
        r#"{"type":"text.delta","runId":"r","messageId":"a","delta":"equal"}"#,
        r#"{"type":"text.final","runId":"r","messageId":"a","text":"equal"}"#,
        r#"{"type":"text.delta","runId":"r","messageId":"b","delta":"be"}"#,
        r#"{"type":"text.final","runId":"r","messageId":"b","text":"begun"}"#,
        r#"{"type":"text.delta","runId":"r","messageId":"c","delta":"left"}"#,
        r#"{"type":"text.final","runId":"r","messageId":"c","text":"right"}"#,
        r#"{"type":"text.final","runId":"r","messageId":"d","text":"alone"}"#,
        r#"{"type":"text.delta","runId":"r","messageId":"a","delta":" late"}"#,
    ];
    let (messages, codes) = folded(&lines);
    for (id, content) in [("a", "equal"), ("b", "begun"), ("c", "right"), ("d", "alone")] {
        assert_eq!(contents(&messages, id), Some(content), "{messages:?}");
    }
    assert_eq!(codes, ["final_text_mismatch", "delta_after_final"]);
}

#[test]
fn reasoning_plans_tools_and_status_never_stand_in_an_answer() {
    let lines = [
        r#"{"type":"turn.started","turnId":"t"}"#,
        r#"{"type":"runtime.status","turnId":"t","stage":"preparing"}"#,
        r#"{"type":"reasoning.delta","turnId":"t","partId":"p","messageId":"m","delta":"hidden "}"#,
        r#"{"type":"reasoning.summary","turnId":"t","partId":"p","messageId":"m","text":"hidden"}"#,
        r#"{"type":"plan.delta","turnId":"t","delta":"hidden"}"#,
        r#"{"type":"tool.started","turnId":"t","toolCallId":"c","name":"grep"}"#,
        r#"{"type":"tool.output.delta","toolCallId":"c","delta":"hidden"}"#,
        r#"{"type":"tool.completed","toolCallId":"c","status":"ok","output":"hidden"}"#,
        r#"{"type":"text.delta","turnId":"t","messageId":"m","delta":"shown"}"#,
        r#"{"type":"turn.completed","turnId":"t","outcome":"success"}"#,
    ];
    let (messages, codes) = folded(&lines);
    assert!(messages.iter().any(|(_, content)| content == "shown"), "{messages:?}");
    assert!(messages.iter().all(|(_, content)| !(content.contains("hidden") && content.contains("shown"))), "{messages:?}");
    assert_eq!(codes, Vec::<String>::new());
}

#[test]
fn a_status_after_the_end_is_a_diagnostic_and_nothing_else() {
    let lines = [
        r#"{"type":"run.started","runId":"r"}"#,
        r#"{"type":"action.required","runId":"r","actionId":"a"}"#,
        r#"{"type":"run.failed","runId":"r","error":"down","retryable":true}"#,
        r#"{"type":"run.status","runId":"r","stage":"streaming"}"#,
    ];
    assert_eq!(folded(&lines).1, ["status_after_end"]);
}

#[test]
fn a_decision_that_is_stated_twice_without_an_id_is_a_repeat() {
    let required = r#"{"type":"action.required","actionId":"a"}"#;
    let resolved = r#"{"type":"action.resolved","actionId":"a","decision":"approved"}"#;
    let other = r#"{"type":"action.resolved","actionId":"a","decision":"rejected"}"#;
    assert_eq!(folded(&[required, resolved, resolved]).1, Vec::<String>::new());
    assert_eq!(folded(&[required, resolved, other]).1, ["decision_conflict"]);
}

#[test]
fn deltas_go_on_in_a_message_that_a_snapshot_stated() {
    let lines = [
        r#"{"type":"run.started","runId":"r"}"#,
        r#"{"type":"text.delta","runId":"r","messageId":"m","delta":"a"}"#,
        r#"{"type":"messages.snapshot","messages":[{"id":"m","role":"assistant","content":"ab"}]}"#,
        r#"{"type":"text.delta","runId":"r","messageId":"m","delta":"c"}"#,
        r#"{"type":"text.final","runId":"r","messageId":"m","text":"abc"}"#,
    ];
    let (messages, codes) = folded(&lines);
    assert_eq!((contents(&messages, "m"), codes), (Some("abc"), Vec::new()), "{messages:?}");
}
