//! What is shown in which order, and whether paging shows all of it: 20, 21, 22, 25, 27, 53.

use crate::host::*;
use turnstore::adapter::aiui::Decoder;
use turnstore::event::Stated;
use turnstore::fact::{Fact, TurnStarted};
use turnstore::{Engine, From, Next, Position, SessionsCursor, Window};

/// A call, its result and texts whose events carry these times.
fn timed(times: [&str; 6]) -> Vec<String> {
    let bodies = [
        r#""type":"RUN_STARTED","threadId":"s","runId":"r""#,
        r#""type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"grep""#,
        r#""type":"TOOL_CALL_END","toolCallId":"c""#,
        r#""type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"found""#,
        r#""type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant""#,
        r#""type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"after all""#,
    ];
    bodies.iter().zip(times).map(|(body, time)| format!("{{{body},\"timestamp\":{time}}}")).collect()
}

fn shown(events: &[String]) -> Vec<String> {
    let place = Place::new();
    let engine = place.open();
    let mut decoder = Decoder::new();
    for event in events {
        let mut facts: Vec<Stated<'_>> = Vec::new();
        decoder.decode(event, &mut facts);
        engine.append("s", facts).unwrap();
    }
    let live = timeline(&engine.view(), "s");
    assert_eq!(timeline_from_oldest(&engine.view(), "s", 1), live);
    engine.close().unwrap();
    assert_eq!(timeline_by(&place.open().view(), "s", 1), live);
    live
}

/// 20, 21
#[test]
fn what_came_first_stands_first_whatever_time_it_names() {
    let expected = ["call c: found", "assistant a: after all"];
    assert_eq!(shown(&timed(["1", "2", "3", "4", "5", "6"])), expected);
    assert_eq!(shown(&timed(["6", "5", "4", "3", "2", "1"])), expected);
    // Milliseconds and seconds mixed, none, and nonsense.
    assert_eq!(shown(&timed(["1.7e12", "1700000000", "1700000000000", "0", "-1", "1.7e9"])), expected);
    assert_eq!(shown(&timed(["7", "7", "7", "7", "7", "7"])), expected);
}

/// 22
#[test]
fn ids_never_sort() {
    let place = Place::new();
    let engine = place.open();
    let ids: Vec<String> = (0..200).map(|n| format!("msg_{:04}", 9999 - n * 7)).collect();
    for id in &ids {
        engine.append("s", [turn(&format!("turn_{id}")), user(id, "x")]).unwrap();
    }
    let expected: Vec<String> = ids.iter().map(|id| format!("user {id}: x")).collect();
    assert_eq!(timeline_by(&engine.view(), "s", 7), expected);
    engine.close().unwrap();
    let engine = place.open();
    assert_eq!(timeline_by(&engine.view(), "s", 7), expected);
    assert_eq!(timeline_from_oldest(&engine.view(), "s", 7), expected);
}

/// 25
#[test]
fn items_of_one_moment_are_paged_once_each_in_both_directions_at_every_page_size() {
    let place = Place::new();
    let engine = place.open();
    // One append: one stamp for all of them.
    engine.append("s", (0..7).map(|n| user(&format!("m{n}"), "x")).collect::<Vec<_>>()).unwrap();
    let expected: Vec<String> = (0..7).map(|n| format!("user m{n}: x")).collect();
    always(engine, &place, |engine| {
        for size in 1..=8 {
            assert_eq!(timeline_by(&engine.view(), "s", size), expected, "{size}");
            assert_eq!(timeline_from_oldest(&engine.view(), "s", size), expected, "{size}");
        }
    });
}

/// 25: sessions that change in one commit.
#[test]
fn sessions_of_one_moment_are_listed_once_each_at_every_page_size() {
    let place = Place::new();
    let engine = place.open();
    let tickets: Vec<_> = (0..9).map(|n| engine.submit(&format!("s{n}"), [user("u", "x")]).unwrap()).collect();
    tickets.into_iter().for_each(|ticket| assert!(ticket.wait().is_ok()));
    let listed = |engine: &Engine, size: usize| {
        let (mut ids, mut cursor) = (Vec::new(), None::<SessionsCursor>);
        loop {
            let page = engine.view().sessions(size, cursor.as_ref()).unwrap();
            ids.extend(page.sessions.into_iter().map(|session| session.id));
            cursor = page.cursor;
            if cursor.is_none() {
                return ids;
            }
        }
    };
    let expected: Vec<String> = (0..9).rev().map(|n| format!("s{n}")).collect();
    always(engine, &place, |engine| {
        for size in 1..=10 {
            assert_eq!(listed(engine, size), expected);
        }
    });
}

/// 27
#[test]
fn a_page_without_items_is_not_taken_for_the_end() {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", [user("first", "x")]).unwrap();
    // Turns without items: nothing in a page of them to show.
    engine.append("s", (0..10_001).map(|n| turn(&format!("t{n}"))).collect::<Vec<_>>()).unwrap();
    always(engine, &place, |engine| {
        let view = engine.view();
        let mut page = view.window("s", Window::items(500)).unwrap();
        let mut pages = 1;
        let mut found = lines(&page);
        while let Some(cursor) = page.cursor() {
            page = view.page("s", &cursor, Window::items(500)).unwrap();
            found.extend(lines(&page));
            pages += 1;
        }
        assert_eq!(found, ["user first: x"]);
        assert!(pages <= 22 && !page.has_older(), "{pages}");
    });
}

/// 27: lists and followers that look for one among very many.
#[test]
fn the_one_that_matches_among_ten_thousand_is_found() {
    let place = Place::new();
    let engine = place.open();
    let tickets: Vec<_> = (0..2000).map(|n| engine.submit(&format!("idle{n}"), conversation(1)).unwrap()).collect();
    tickets.into_iter().for_each(|ticket| assert!(ticket.wait().is_ok()));
    engine.append("last", [asked("q")]).unwrap();
    always(engine, &place, |engine| {
        let page = engine.view().pending_everywhere(1, None).unwrap();
        assert_eq!((page.pending.len(), page.pending[0].session.as_str(), page.cursor), (1, "last", None));
        let mut follower = engine.subscribe_session("last", From::Start).unwrap();
        assert!(matches!(follower.next_within(std::time::Duration::ZERO).unwrap(), Next::Event(_)));
        let from = Position::new(10_000).unwrap();
        let mut follower = engine.subscribe_session("last", From::Position(from)).unwrap();
        assert!(matches!(follower.next_within(std::time::Duration::ZERO).unwrap(), Next::Event(_)));
    });
}

fn started(id: &str, parent: &str) -> Fact<'static> {
    Fact::TurnStarted(TurnStarted { turn: id.to_owned().into(), parent: Some(parent.to_owned().into()), ..TurnStarted::default() })
}

/// 53
#[test]
fn siblings_dangling_parents_and_cycles_hide_nothing() {
    let place = Place::new();
    let engine = place.open();
    let facts = vec![
        started("reply", "p"),
        user("a", "the delivered reply"),
        ended("completed"),
        // A sibling, a child of the sibling, a parent that nobody knows, and two that name one another.
        started("system", "p"),
        user("sys", "note"),
        started("child", "system"),
        user("u", "goes on"),
        started("orphan", "never-written"),
        user("o", "orphan"),
        started("one", "two"),
        user("1", "one"),
        started("two", "one"),
        user("2", "two"),
        started("self", "self"),
        user("3", "self"),
        ended("completed"),
    ];
    engine.append("s", facts).unwrap();
    let expected = [
        "user a: the delivered reply",
        "user sys: note",
        "user u: goes on",
        "user o: orphan",
        "user 1: one",
        "user 2: two",
        "user 3: self",
    ];
    always(engine, &place, |engine| {
        for size in [1, 2, 50] {
            assert_eq!(timeline_by(&engine.view(), "s", size), expected);
        }
        assert_eq!(engine.view().verify(&mut |_| {}).unwrap().difference, None);
    });
}
