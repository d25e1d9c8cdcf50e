//! What is left open when a process dies: 39, 40, 42, 44, 45, 47.

use crate::host::medium::Watched;
use crate::host::*;
use std::sync::Arc;
use turnstore::fact::{CurrentTurnAsserted, Fact};
use turnstore::{Engine, InteractionStatus, ItemKind, Position, View, Window};

/// A turn that calls a tool and asks; every prefix of it is where a process can die.
fn life() -> Vec<Fact<'static>> {
    vec![
        turn("t"),
        user("u", "do it"),
        called("c"),
        asked("q"),
        decided("q", "d", "true"),
        answered("c", "done"),
        assistant("a"),
        delta("a", "It is "),
        finally("a", "It is done"),
        ended("completed"),
    ]
}

fn log(view: &View) -> Vec<Vec<u8>> {
    view.log(Position::FIRST).unwrap().map(|event| event.unwrap().bytes().to_vec()).collect()
}

/// 39, 40, 42
#[test]
fn a_turn_that_a_kill_cut_at_any_event_is_unobserved_at_once_and_stays_as_it_is_however_often_it_is_opened() {
    for cut in 1..=life().len() {
        let place = Place::new();
        let mut engine = place.open();
        for fact in life().into_iter().take(cut) {
            engine.append("s", [fact]).unwrap();
        }
        let (written, hash, shown) = (log(&engine.view()), engine.view().hash("s").unwrap(), timeline(&engine.view(), "s"));
        let status = if cut == life().len() { "completed" } else { "unobserved" };
        for _ in 0..3 {
            engine = killed(engine, &place);
            let view = engine.view();
            assert_eq!(statuses(&view, "s"), [("t".to_owned(), status.to_owned())], "after {cut} events");
            assert_eq!(timeline(&view, "s"), shown);
            assert_eq!((log(&view), view.hash("s").unwrap()), (written.clone(), hash), "opening wrote something");
            let listed = view.sessions(1, None).unwrap().sessions.remove(0);
            assert_eq!((listed.running, listed.unobserved), (false, status == "unobserved"));
        }
        engine.close().unwrap();
        assert_eq!(log(&place.read().view()), written);
        assert_eq!(statuses(&place.read().view(), "s"), [("t".to_owned(), status.to_owned())]);
    }
}

/// 39
#[test]
fn a_call_without_a_result_is_shown_once_and_a_late_result_finds_it() {
    let place = Place::new();
    let mut engine = place.open();
    engine.append("s", [turn("t"), called("c")]).unwrap();
    for _ in 0..2 {
        engine = killed(engine, &place);
        let page = engine.view().window("s", Window::default()).unwrap();
        let item = page.items().next().unwrap();
        let ItemKind::Tool(call) = item.kind() else { panic!("no call") };
        // Nobody said that it failed; its turn says that nobody saw it end.
        assert_eq!((call.status(), call.results().count(), item.turn().unwrap().status()), ("running", 0, "unobserved"));
        assert_eq!(page.items().count(), 1);
    }
    engine.append("s", [turn("t2"), user("u", "go on"), answered("c", "late")]).unwrap();
    assert_eq!(timeline(&engine.view(), "s"), ["call c: late", "user u: go on"]);
}

/// 40: the owner says that nothing runs, once or twice.
#[test]
fn the_host_ends_a_dead_turn_by_saying_that_nothing_runs() {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", [turn("t"), user("u", "x"), asked("q")]).unwrap();
    let engine = killed(engine, &place);
    let idle = || Fact::CurrentTurnAsserted(CurrentTurnAsserted::default());
    engine.append("s", [idle(), idle()]).unwrap();
    always(engine, &place, |engine| {
        let session = engine.view().session("s").unwrap().unwrap();
        assert!(!session.header.running && !session.unobserved);
        assert!(waiting(&engine.view(), "s").is_empty());
        assert_eq!(diagnostics(&engine.view(), "s"), ["turn_ended_unobserved"]);
    });
}

fn everywhere(engine: &Engine) -> Vec<String> {
    engine.view().pending_everywhere(100, None).unwrap().pending.into_iter().map(|waiting| waiting.id).collect()
}

/// 44, 45
#[test]
fn a_question_is_pending_after_every_kill_until_it_is_answered_and_never_again() {
    let place = Place::new();
    let mut engine = place.open();
    engine.append("s", [turn("t")]).unwrap();
    for (fact, expected) in [
        (asked("q1"), vec!["q1"]),
        (asked("q2"), vec!["q1", "q2"]),
        (user("u", "meanwhile"), vec!["q1", "q2"]),
        (decided("q1", "d", "true"), vec!["q2"]),
        (asked("q1"), vec!["q2"]),
        (decided("q2", "d", "true"), vec![]),
        (user("u2", "later"), vec![]),
    ] {
        engine.append("s", [fact]).unwrap();
        for _ in 0..2 {
            assert_eq!(
                (waiting(&engine.view(), "s"), everywhere(&engine)),
                (expected.iter().map(|id| (*id).to_owned()).collect(), expected.iter().map(|id| (*id).to_owned()).collect())
            );
            engine = killed(engine, &place);
        }
        engine.close().unwrap();
        engine = place.open();
    }
}

/// 45
#[test]
fn a_question_that_was_listed_before_a_restart_is_answered_once_after_it() {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", [turn("t"), asked("q")]).unwrap();
    let engine = killed(engine, &place);
    assert_eq!(waiting(&engine.view(), "s"), ["q"]);
    engine.append("s", [decided("q", "d", "true")]).unwrap();
    engine.append("s", [decided("q", "d", "true")]).unwrap();
    always(engine, &place, |engine| {
        assert!(waiting(&engine.view(), "s").is_empty() && everywhere(engine).is_empty());
        assert_eq!(timeline(&engine.view(), "s"), ["ask q: Resolved"]);
        assert!(diagnostics(&engine.view(), "s").is_empty());
    });
}

/// 47
#[test]
fn the_end_of_its_turn_closes_a_question_and_no_other_one() {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", [turn("t1"), asked("orphan"), ended("cancelled"), turn("t2"), asked("open")]).unwrap();
    always(engine, &place, |engine| {
        assert_eq!(waiting(&engine.view(), "s"), ["open"]);
        let page = engine.view().window("s", Window::default()).unwrap();
        let statuses =
            page.items().filter_map(|item| if let ItemKind::Interaction(asked) = item.kind() { Some(asked.status()) } else { None });
        assert_eq!(statuses.collect::<Vec<_>>(), [InteractionStatus::Withdrawn, InteractionStatus::Pending]);
    });
}

/// What reading the pending questions of a session costs with so many messages behind them.
fn cost_of_pending(messages: usize) -> (u64, u64) {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", [turn("t"), asked("q")]).unwrap();
    for from in (0..messages).step_by(1000) {
        engine.append("s", (from..from + 1000).map(|n| user(&format!("m{n}"), "some words")).collect::<Vec<_>>()).unwrap();
    }
    engine.close().unwrap();
    let watched = Watched::new(&place.path());
    let engine = Engine::options().medium(Arc::new(watched.clone())).cache_bytes_max(0).open(place.path()).unwrap();
    watched.read_since();
    assert_eq!(waiting(&engine.view(), "s"), ["q"]);
    let one = watched.read_since();
    assert_eq!(everywhere(&engine), ["q"]);
    (one.bytes, one.bytes + watched.read_since().bytes)
}

/// 47
#[test]
fn a_question_is_found_at_the_same_cost_however_many_messages_came_after_it() {
    let (few, many) = (cost_of_pending(1000), cost_of_pending(60_000));
    assert!(few.0 > 0 && many.0 <= few.0 * 2 && many.1 <= few.1 * 2, "bytes read: {few:?} behind 1,000 messages, {many:?} behind 60,000");
}
