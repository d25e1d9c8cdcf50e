//! What comes twice: 34, 35, 37, 50.

use crate::host::*;
use turnstore::event::{Source, Stated};
use turnstore::fact::*;
use turnstore::{Batch, Engine, InteractionStatus, ItemKind, Limits, Mark, Window};

fn named(id: &str, fact: Fact<'static>) -> Stated<'static> {
    Stated { source: Source { event_id: Some(id.to_owned().into()), ..Source::default() }, ..Stated::from(fact) }
}

fn numbered(seq: u64, fact: Fact<'static>) -> Stated<'static> {
    Stated { source: Source { stream: Some(("sse".into(), seq)), ..Source::default() }, ..Stated::from(fact) }
}

/// 34
#[test]
fn a_replay_after_a_reconnect_shows_every_message_once_under_its_own_id() {
    let place = Place::new();
    let mut engine = place.open();
    let facts = [turn("t1"), assistant("m1"), finally("m1", "done"), ended("completed"), turn("t2"), assistant("m2"), delta("m2", "wor")];
    let events =
        |up_to: usize| facts.iter().take(up_to).enumerate().map(|(n, fact)| numbered(n as u64 + 1, fact.clone())).collect::<Vec<_>>();
    engine.append("s", events(facts.len())).unwrap();
    for from_disk in [false, true] {
        if from_disk {
            engine = killed(engine, &place);
        }
        let again = engine.append("s", events(facts.len())).unwrap();
        assert_eq!((again.appended, again.dropped), (0, facts.len()));
        assert_eq!(timeline(&engine.view(), "s"), ["assistant m1: done", "assistant m2: wor"]);
    }
    // The client starts its message over: the same id, never that of the last finished one.
    engine.append("s", vec![numbered(8, assistant("m2")), numbered(9, delta("m2", "ld"))]).unwrap();
    assert_eq!(timeline(&engine.view(), "s"), ["assistant m1: done", "assistant m2: world"]);
}

/// 35
#[test]
fn a_final_text_stands_once_wherever_it_comes_among_its_deltas() {
    let (he, llo, whole) = (delta("m", "He"), delta("m", "llo"), finally("m", "Hello"));
    let orders: [(&[&Fact<'static>], Mark); 7] = [
        (&[&he, &llo, &whole], Mark::Match),
        (&[&he, &llo, &whole, &whole], Mark::Match),
        (&[&he, &whole, &llo], Mark::Extended),
        (&[&whole, &he, &llo], Mark::FinalOnly),
        (&[&whole], Mark::FinalOnly),
        (&[&he, &whole], Mark::Extended),
        (&[&llo, &he, &whole], Mark::Replaced),
    ];
    for (facts, mark) in orders {
        let place = Place::new();
        let engine = place.open();
        engine.append("s", [assistant("m")]).unwrap();
        facts.iter().for_each(|fact| assert!(engine.append("s", [(*fact).clone()]).is_ok()));
        let engine = killed(engine, &place);
        assert_eq!(timeline(&engine.view(), "s"), ["assistant m: Hello"], "{facts:?}");
        let page = engine.view().window("s", Window::default()).unwrap();
        let marks: Vec<Mark> =
            page.items().filter_map(|item| if let ItemKind::Text(part) = item.kind() { Some(part.mark()) } else { None }).collect();
        assert_eq!(marks, [mark], "{facts:?}");
    }
}

/// 37
#[test]
fn text_that_repeats_itself_is_kept_and_an_event_that_repeats_is_not() {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", [assistant("m")]).unwrap();
    for text in ["na", " na", " na"] {
        engine.append("s", [delta("m", text)]).unwrap();
    }
    assert_eq!(timeline(&engine.view(), "s"), ["assistant m: na na na"]);
    for (id, text) in [("e1", " na"), ("e2", " na"), ("e1", " na"), ("e2", " na")] {
        engine.append("s", vec![named(id, delta("m", text))]).unwrap();
    }
    let engine = killed(engine, &place);
    assert_eq!(engine.append("s", vec![named("e2", delta("m", " na"))]).unwrap().dropped, 1);
    assert_eq!(timeline(&engine.view(), "s"), ["assistant m: na na na na na"]);
    engine.append("s", [delta("m", " na"), delta("m", " na")]).unwrap();
    assert_eq!(timeline(&engine.view(), "s"), ["assistant m: na na na na na na na"]);
}

/// 37: batching makes no difference to what counts as a repeat.
#[test]
fn an_event_that_comes_twice_within_a_batch_counts_once() {
    let place = Place::new();
    let engine = place.open();
    let receipt =
        engine.append("s", vec![named("e1", assistant("m")), named("e2", delta("m", "na")), named("e2", delta("m", "na"))]).unwrap();
    assert_eq!((timeline(&engine.view(), "s"), receipt.dropped), (vec!["assistant m: na".to_owned()], 1));
}

/// The facts of one source event share its id: they are parts, not repeats.
#[test]
fn the_parts_of_one_event_are_all_kept() {
    let place = Place::new();
    let engine = place.open();
    let of = |n: u16, fact| Stated {
        source: Source { event_id: Some("e".into()), part: Some((n, 3)), ..Source::default() },
        ..Stated::from(fact)
    };
    let batch = || vec![of(0, assistant("m")), of(1, delta("m", "a")), of(2, delta("m", "b"))];
    assert_eq!(engine.append("s", batch()).unwrap().appended, 3);
    assert_eq!(engine.append("s", batch()).unwrap().dropped, 3);
    assert_eq!(timeline(&engine.view(), "s"), ["assistant m: ab"]);
}

fn decision_of(engine: &Engine) -> (InteractionStatus, Option<String>, usize, u32) {
    let page = engine.view().window("s", Window::default()).unwrap();
    let mut found = page.items().filter_map(|item| if let ItemKind::Interaction(asked) = item.kind() { Some(asked) } else { None });
    let asked = found.next().unwrap();
    assert!(found.next().is_none(), "the question is there twice");
    let decision = asked.decision().and_then(|decision| decision.payload().map(|payload| payload.joined().into_owned()));
    (asked.status(), decision, asked.conflicts().count(), asked.revision())
}

/// 50
#[test]
fn a_question_asked_twice_is_one_and_of_two_answers_the_first_stands_and_the_other_shows() {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", [turn("t"), asked("q"), asked("q")]).unwrap();
    assert_eq!(waiting(&engine.view(), "s"), ["q"]);
    engine.append("s", [decided("q", "d1", "{\"approved\":true}"), decided("q", "d2", "{\"approved\":false}")]).unwrap();
    // The first answer again is a repeat; so is the question.
    engine.append("s", [decided("q", "d1", "{\"approved\": true}"), asked("q")]).unwrap();
    let engine = killed(engine, &place);
    assert_eq!(decision_of(&engine), (InteractionStatus::Resolved, Some("{\"approved\":true}".to_owned()), 1, 0));
    assert!(waiting(&engine.view(), "s").is_empty());
    assert!(diagnostics(&engine.view(), "s").contains(&"decision_conflict".to_owned()));
}

/// 50: a host that retries executes once.
#[test]
fn an_append_that_is_retried_under_its_key_happens_once() {
    let place = Place::new();
    let engine = place.open();
    let batch = || Batch::of([called("c"), answered("c", "executed")]).key("call-1");
    let first = engine.append("s", batch()).unwrap();
    always(engine, &place, |engine| {
        let again = engine.append("s", batch()).unwrap();
        assert!(again.duplicate && (again.first, again.last, again.seq) == (first.first, first.last, first.seq));
        assert_eq!(timeline(&engine.view(), "s"), ["call c: executed"]);
    });
}

fn restated(mode: HistoryMode, turns: Vec<HistoryTurn<'static>>) -> Fact<'static> {
    let tool = HistoryTool { id: "c".into(), name: "grep".into(), args: "{}".into(), ..HistoryTool::default() };
    let messages = ["m1", "m2"].map(|id| HistoryMessage {
        id: id.into(),
        role: "assistant".into(),
        content: Some(Content::Text("said".into())),
        tools: if id == "m1" { vec![tool.clone()] } else { Vec::new() },
        ..HistoryMessage::default()
    });
    Fact::HistoryImported(HistoryImported {
        mode,
        messages: messages.to_vec(),
        turns,
        older: None,
        requested_at: Some(1_000),
        authoritative_activities: None,
    })
}

/// 34: a history that comes again after a reconnect says nothing of streamed output.
#[test]
fn long_streamed_output_of_a_call_survives_a_history_that_is_stated_again() {
    for mode in [HistoryMode::Replace, HistoryMode::Merge] {
        let place = Place::new();
        let engine = place.open();
        let output = "a line of output\n".repeat(2_000);
        let streamed =
            Fact::ToolChanged(ToolChanged { tool: "c".into(), op: ToolOp::OutputDelta { text: output.clone().into() }, metadata: None });
        let op = ToolOp::Started { name: "grep".into(), message: Some("m1".into()), turn: None, agent: None, detail: None };
        let call = Fact::ToolChanged(ToolChanged { tool: "c".into(), op, metadata: None });
        engine.append("s", [turn("t"), assistant("m1"), call, streamed]).unwrap();
        let engine = killed(engine, &place);
        engine.append("s", [restated(mode, Vec::new())]).unwrap();
        always(engine, &place, |engine| {
            let page = engine.view().window("s", Window::default()).unwrap();
            let calls = page
                .items()
                .filter_map(|item| if let ItemKind::Tool(call) = item.kind() { Some(call.output().joined().into_owned()) } else { None });
            assert_eq!(calls.collect::<Vec<_>>(), [output.as_str()]);
            assert_eq!(engine.view().verify(&mut |_| {}).unwrap().difference, None);
        });
    }
}

/// 42: what was in memory makes no difference, also where one turn's run is another turn's id.
#[test]
fn a_run_that_is_named_like_another_turn_folds_the_same_from_memory_and_from_rows() {
    let limits = Limits { idle_sessions_max: 0, ..Limits::default() };
    let (place, kept) = (Place::new(), Place::new());
    let (forgets, keeps) = (Engine::options().limits(limits).open(place.path()).unwrap(), kept.open());
    let reference = |path: &'static str| ArtifactReference { path: path.into(), artifact_type: "image".into() };
    let started = |run: &'static str| Fact::TurnStarted(TurnStarted { turn: "t3".into(), run: Some(run.into()), ..TurnStarted::default() });
    let summary = HistoryTurn { turn: "t4".into(), artifacts: Some(vec![reference("c")]), ..HistoryTurn::default() };
    let set = Fact::TurnArtifactsSet(TurnArtifactsSet { turn: "t4".into(), references: vec![reference("a"), reference("b")] });
    for fact in [started("t5"), set, started("t4"), restated(HistoryMode::Replace, vec![summary])] {
        keeps.append("s", [fact.clone()]).unwrap();
        forgets.append("s", [fact]).unwrap();
        forgets.checkpoint().unwrap();
        forgets.append("other", [user("u", "x")]).unwrap();
        forgets.checkpoint().unwrap();
    }
    let artifacts = |engine: &Engine| engine.view().artifacts("s").unwrap().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(artifacts(&forgets), artifacts(&keeps));
    assert_eq!(forgets.view().hash("s").unwrap(), keeps.view().hash("s").unwrap());
    assert_eq!(forgets.view().verify(&mut |_| {}).unwrap().difference, None);
}
