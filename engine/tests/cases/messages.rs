//! What belongs to a message and what does not: final texts, calls after thinking, failures that a snapshot is silent about.

use crate::host::*;
use turnstore::fact::*;
use turnstore::{Engine, ItemKind, View, Window};

fn words(text: &str) -> Text<'static> {
    Text::from(text.to_owned())
}

fn opened(part: &str, message: &str, kind: PartKind) -> Fact<'static> {
    let role = if kind == PartKind::Text { "assistant" } else { "reasoning" };
    Fact::PartOpened(PartOpened {
        part: words(part),
        message: words(message),
        kind,
        role: words(role),
        name: None,
        turn: None,
        agent: None,
        subtype: None,
        content: None,
        metadata: None,
    })
}

fn said(part: &str, kind: PartKind, text: &str) -> [Fact<'static>; 2] {
    [opened(part, "m", kind), Fact::PartDelta(PartDelta { part: words(part), kind, text: words(text), metadata: None })]
}

fn final_of(message: &str, text: &str) -> Fact<'static> {
    let (target, change) = (PartTarget::Message(words(message)), PartChange::Text(words(text)));
    Fact::PartFinal(PartFinal { target, change, metadata: None })
}

fn on(tool: &str, op: ToolOp<'static>) -> Fact<'static> {
    Fact::ToolChanged(ToolChanged { tool: words(tool), op, metadata: None })
}

fn called_by(tool: &str, message: &str) -> Fact<'static> {
    on(tool, ToolOp::Started { name: "grep".into(), message: Some(words(message)), turn: None, agent: None, detail: None })
}

fn result_of(tool: &str, status: Option<&str>, error: Option<&str>) -> Fact<'static> {
    let (status, error) = (status.map(words), error.map(words));
    on(tool, ToolOp::Result { message: None, content: None, status, reference: None, error, agent: None, detail: None })
}

/// Parts as `id mark: text`, calls as `id status of message`.
fn shown(view: &View) -> Vec<String> {
    let page = view.window("s", Window::default()).unwrap();
    let items = page.items().filter_map(|item| match item.kind() {
        ItemKind::Text(part) | ItemKind::Reasoning(part) => {
            Some(format!("{} {:?}: {}", part.id(), part.mark(), part.text().map_or_else(String::new, |text| text.joined().into_owned())))
        }
        ItemKind::Tool(tool) => Some(format!("{} {} of {}", tool.id(), tool.status(), tool.message())),
        _ => None,
    });
    items.collect()
}

/// What is shown after the facts, live, after a kill and after a close; with the diagnostics.
#[track_caller]
fn check(facts: Vec<Fact<'static>>, expected: &[&str], codes: &[&str]) {
    let place = Place::new();
    let engine = place.open();
    for fact in facts {
        engine.append("s", [fact]).unwrap();
        engine.checkpoint().unwrap();
    }
    always(engine, &place, |engine: &Engine| {
        assert_eq!(shown(&engine.view()), expected);
        assert_eq!(diagnostics(&engine.view(), "s"), codes);
    });
}

/// Thinking, text, a call and text again, all of one message, and its final texts.
#[track_caller]
fn check_finals(finals: &[&str], first: &str, last: &str, codes: &[&str]) {
    let mut facts = vec![turn("t")];
    facts.extend(said("p0", PartKind::Reasoning, "thinking"));
    facts.extend(said("p1", PartKind::Text, "one "));
    facts.push(called_by("c", "m"));
    facts.extend(said("p2", PartKind::Text, "two"));
    facts.extend(finals.iter().map(|text| final_of("m", text)));
    check(facts, &["p0 Open: thinking", first, "c running of m", last], codes);
}

#[test]
fn the_final_text_of_a_message_is_compared_with_all_its_text_parts() {
    check_finals(&["one two"], "p1 Match: one ", "p2 Match: two", &[]);
    check_finals(&["one two three"], "p1 Match: one ", "p2 Extended: two three", &[]);
    check_finals(&["one two", "one two"], "p1 Match: one ", "p2 Match: two", &[]);
    let mismatch = "final_text_mismatch";
    check_finals(&["another"], "p1 Superseded: one ", "p2 Replaced: another", &[mismatch]);
    check_finals(&["two"], "p1 Superseded: one ", "p2 Replaced: two", &[mismatch]);
    check_finals(&[""], "p1 Superseded: one ", "p2 Replaced: ", &[mismatch]);
    check_finals(&["another", "yet another"], "p1 Superseded: one ", "p2 Replaced: yet another", &[mismatch; 2]);
}

#[test]
fn the_final_text_of_a_message_without_text_is_its_text() {
    let mut facts = vec![turn("t")];
    facts.extend(said("p0", PartKind::Reasoning, "thinking"));
    facts.push(final_of("m", "answer"));
    check(facts, &["p0 Open: thinking", "m FinalOnly: answer"], &[]);
    check(vec![called_by("c", "m"), final_of("m", "answer")], &["c running of m", "m FinalOnly: answer"], &[]);
    check(vec![turn("t"), final_of("m", "answer")], &[], &["final_for_unknown_part"]);
}

#[test]
fn a_message_that_begins_with_thinking_owns_its_calls() {
    let mut facts = said("p0", PartKind::Reasoning, "thinking").to_vec();
    facts.extend([called_by("c1", "m"), called_by("c2", "m")]);
    check(facts, &["p0 Open: thinking", "c1 running of m", "c2 running of m"], &[]);
    // Reasoning that is a message of its own has none.
    check(vec![opened("m", "m", PartKind::Reasoning), called_by("c", "m")], &["m Open: ", "c running of c"], &[]);
}

#[test]
fn only_words_of_success_make_a_call_succeed() {
    for (status, error, shown) in [
        (None, None, "succeeded"),
        (Some("ok"), None, "succeeded"),
        (Some("completed"), None, "succeeded"),
        (Some("success"), Some("no"), "failed"),
        (None, Some("no"), "failed"),
        (Some("failed"), None, "failed"),
        (Some("error"), None, "failed"),
        (Some("unknown"), None, "unknown"),
        (Some("cancelled"), Some("by the user"), "cancelled"),
        (Some("timed out"), None, "timed out"),
    ] {
        check(vec![called_by("c", "m"), result_of("c", status, error)], &[&format!("c {shown} of m")], &[]);
    }
}

fn snapshot(mode: HistoryMode, messages: Vec<HistoryMessage<'static>>) -> Fact<'static> {
    let (turns, older) = (Vec::new(), None);
    Fact::HistoryImported(HistoryImported { mode, messages, turns, older, requested_at: None, authoritative_activities: None })
}

fn calls(message: &str, ids: &[&str]) -> HistoryMessage<'static> {
    let call = |id: &&str| HistoryTool { id: words(id), name: "grep".into(), args: "{}".into(), sealed: None, metadata: None };
    HistoryMessage { id: words(message), role: "assistant".into(), tools: ids.iter().map(call).collect(), ..HistoryMessage::default() }
}

fn result_message(id: &str, tool: &str) -> HistoryMessage<'static> {
    let content = Some(Content::Text("no such file".into()));
    HistoryMessage { id: words(id), role: "tool".into(), tool_call: Some(words(tool)), content, ..HistoryMessage::default() }
}

fn other() -> HistoryMessage<'static> {
    HistoryMessage { id: "u".into(), role: "user".into(), content: Some(Content::Text("go".into())), ..HistoryMessage::default() }
}

#[test]
fn a_snapshot_does_not_erase_a_failed_call() {
    let failed = on("c", ToolOp::Failed { error: Some(json("\"down\"")) });
    for failure in [failed, result_of("c", Some("failed"), Some("down"))] {
        let before = vec![turn("t"), user("u", "go"), called_by("c", "m"), called_by("d", "m"), failure];
        let after = |messages: Vec<HistoryMessage<'static>>| {
            let mut facts = before.clone();
            facts.push(snapshot(HistoryMode::Merge, messages));
            facts
        };
        check(after(vec![other()]), &["u Open: go", "c failed of m"], &[]);
        check(after(vec![other(), calls("m", &["c", "d"])]), &["u Open: go", "c failed of m", "d running of m"], &[]);
        let answered = vec![other(), calls("m", &["c", "d"]), result_message("x", "c"), result_message("y", "d")];
        check(after(answered), &["u Open: go", "c failed of m", "d succeeded of m"], &[]);
        let mut appended = before.clone();
        appended.push(snapshot(HistoryMode::Append, vec![result_message("x", "c")]));
        check(appended, &["u Open: go", "c failed of m", "d running of m"], &[]);
        let mut replaced = before.clone();
        replaced.push(snapshot(HistoryMode::Replace, vec![other()]));
        check(replaced, &["u Open: go"], &[]);
    }
}
