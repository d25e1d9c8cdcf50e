//! Windows, pages and cursors.

use super::*;
use crate::cursor::CursorError;
use crate::{Error, Window};
use proptest::prelude::*;

fn all_items_by_paging(fixture: &Fixture, size: usize, mut between: impl FnMut(usize)) -> Vec<String> {
    let mut page = fixture.engine.view().window("s", Window::items(size)).unwrap();
    let mut seen = ids(&page);
    let mut step = 0;
    while let Some(cursor) = page.cursor() {
        between(step);
        step += 1;
        page = fixture.engine.view().page("s", &cursor, Window::items(size)).unwrap();
        seen = ids(&page).into_iter().chain(seen).collect();
    }
    seen
}

#[test]
fn paging_visits_every_item_once_while_appends_and_checkpoints_go_on() {
    let fixture = Fixture::new();
    fixture.append("s", conversation(12, 7));
    let before: Vec<String> = (0..12).flat_map(|turn| (0..7).map(move |item| format!("t{turn}i{item}"))).collect();
    let seen = all_items_by_paging(&fixture, 5, |step| {
        fixture.append("s", text(&format!("late{step}"), "more"));
        if step % 3 == 0 {
            fixture.engine.checkpoint().unwrap();
        }
    });
    assert_eq!(seen, before);
}

#[test]
fn history_that_is_imported_while_paging_is_reached_once() {
    let fixture = Fixture::new();
    fixture.append("s", conversation(4, 5));
    let imported: Vec<String> = (0..40).map(|old| format!("old{old}")).collect();
    let seen = all_items_by_paging(&fixture, 6, |step| {
        if step == 1 {
            fixture.append("s", vec![history(HistoryMode::Page, &imported)]);
            fixture.engine.checkpoint().unwrap();
        }
    });
    let before = (0..4).flat_map(|turn| (0..5).map(move |item| format!("t{turn}i{item}")));
    assert_eq!(seen, imported.into_iter().chain(before).collect::<Vec<_>>());
}

#[test]
fn a_newer_cursor_gives_what_was_appended_since_and_no_more() {
    let fixture = Fixture::new();
    fixture.append("s", conversation(3, 3));
    let page = fixture.engine.view().window("s", Window::items(50)).unwrap();
    let cursor = page.newer_cursor();
    assert!(ids(&fixture.engine.view().page("s", &cursor, Window::items(50)).unwrap()).is_empty());
    fixture.append("s", conversation(4, 2).split_off(3 * 6));
    fixture.engine.checkpoint().unwrap();
    let next = fixture.engine.view().page("s", &cursor, Window::items(50)).unwrap();
    assert_eq!(ids(&next), ["t3i0", "t3i1"]);
    assert!(!next.has_newer());
}

#[test]
fn paging_down_and_up_again_gives_the_same_items() {
    let fixture = Fixture::new();
    fixture.append("s", conversation(9, 4));
    let view = fixture.engine.view();
    let mut down = vec![];
    let mut page = view.window("s", Window::items(7)).unwrap();
    while let Some(cursor) = page.cursor() {
        down = ids(&page).into_iter().chain(down).collect();
        page = view.page("s", &cursor, Window::items(7)).unwrap();
    }
    down = ids(&page).into_iter().chain(down).collect();
    let mut up = ids(&page);
    while page.has_newer() {
        page = view.page("s", &page.newer_cursor(), Window::items(5)).unwrap();
        up.extend(ids(&page));
    }
    assert_eq!(up, down);
    assert_eq!(ids(&view.oldest("s", Window::items(3)).unwrap()), ["t0i0", "t0i1", "t0i2"]);
}

#[test]
fn a_turn_longer_than_the_page_is_cut_and_says_so() {
    let fixture = Fixture::new();
    fixture.append("s", conversation(2, 40));
    let page = fixture.engine.view().window("s", Window::items(10)).unwrap();
    let turns: Vec<_> = page.turns().collect();
    assert_eq!(turns.len(), 1);
    assert!(turns[0].truncated());
    assert_eq!(turns[0].turn().unwrap().id(), "t1");
    assert_eq!(turns[0].turn().unwrap().status(), "completed");
    let whole = fixture.engine.view().window("s", Window::items(100)).unwrap();
    let turns: Vec<_> = whole.turns().map(|turn| (turn.turn().unwrap().id().to_owned(), turn.items().count(), turn.truncated())).collect();
    assert_eq!(turns, [("t0".to_owned(), 40, false), ("t1".to_owned(), 40, false)]);
}

#[test]
fn long_text_reads_whole_and_is_a_prefix_when_it_does_not_fit() {
    let fixture = Fixture::new();
    let long: String = (0..5000).map(|line| format!("line {line} é\n")).collect();
    fixture.append("s", text("long", &long));
    for _ in 0..2 {
        let view = fixture.engine.view();
        let page = view.window("s", Window::items(10)).unwrap();
        let Some(ItemKind::Text(part)) = page.items().next().map(|item| item.kind()) else { panic!("no text") };
        assert_eq!(part.text().unwrap().joined(), long);
        assert!(!page.truncated());
        let small = view.window("s", Window::items(10).bytes(20_000)).unwrap();
        let Some(ItemKind::Text(part)) = small.items().next().map(|item| item.kind()) else { panic!("no text") };
        let cut = part.text().unwrap();
        assert!(cut.truncated() && small.truncated());
        assert!(long.starts_with(cut.joined().as_ref()) && cut.joined().len() > 10_000);
        assert_eq!(cut.bytes(), long.len() as u64);
        fixture.engine.checkpoint().unwrap();
    }
}

#[test]
fn a_window_is_bounded_by_bytes_too() {
    let fixture = Fixture::new();
    for item in 0..40 {
        fixture.append("s", text(&format!("m{item}"), &"x".repeat(3000)));
    }
    let page = fixture.engine.view().window("s", Window::items(50).bytes(16_000)).unwrap();
    assert_eq!(ids(&page).len(), 5);
    assert!(!page.truncated());
    assert!(page.has_older());
}

#[test]
fn a_view_keeps_its_position_whatever_is_appended_and_checkpointed_after_it() {
    let fixture = Fixture::new();
    fixture.append("s", conversation(6, 6));
    fixture.engine.checkpoint().unwrap();
    let view = fixture.engine.view();
    let hash = view.hash("s").unwrap();
    let shown = ids(&view.window("s", Window::items(500)).unwrap());
    for more in 0..5 {
        fixture.append("s", text(&format!("more{more}"), "x"));
        fixture.append("s", vec![delta("t5i5".to_owned(), "changed".to_owned())]);
        fixture.engine.checkpoint().unwrap();
    }
    assert_eq!(view.hash("s").unwrap(), hash);
    assert_eq!(ids(&view.window("s", Window::items(500)).unwrap()), shown);
    assert_ne!(fixture.engine.view().hash("s").unwrap(), hash);
}

#[test]
fn turns_that_changed_since_paging_began_are_listed() {
    let fixture = Fixture::new();
    fixture.append("s", conversation(6, 3));
    let page = fixture.engine.view().window("s", Window::items(6)).unwrap();
    assert_eq!(page.changed().count(), 0);
    fixture.append("s", vec![delta("t2i1".to_owned(), " again".to_owned())]);
    let older = fixture.engine.view().page("s", &page.cursor().unwrap(), Window::items(6)).unwrap();
    assert_eq!(older.changed().map(|turn| turn.id().to_owned()).collect::<Vec<_>>(), ["t2"]);
}

#[test]
fn a_cursor_goes_on_after_the_history_was_stated_anew() {
    let fixture = Fixture::new();
    let messages: Vec<String> = (0..20).map(|id| format!("m{id}")).collect();
    fixture.append("s", vec![history(HistoryMode::Append, &messages)]);
    let page = fixture.engine.view().window("s", Window::items(5)).unwrap();
    assert_eq!(ids(&page), messages[15..]);
    let mut stated = messages.clone();
    stated.remove(3);
    stated.push("new".to_owned());
    fixture.append("s", vec![history(HistoryMode::Replace, &stated)]);
    for _ in 0..2 {
        let older = fixture.engine.view().page("s", &page.cursor().unwrap(), Window::items(5)).unwrap();
        assert_eq!(ids(&older), messages[10..15]);
        let newer = fixture.engine.view().page("s", &page.newer_cursor(), Window::items(5)).unwrap();
        assert_eq!(ids(&newer), ["new"]);
        fixture.engine.checkpoint().unwrap();
    }
    stated.retain(|id| id != "m15");
    fixture.append("s", vec![history(HistoryMode::Replace, &stated)]);
    let gone = fixture.engine.view().page("s", &page.cursor().unwrap(), Window::items(5));
    assert!(matches!(gone, Err(Error::Cursor(CursorError::Expired { .. }))), "{gone:?}");
}

#[test]
fn what_cannot_be_answered_is_a_typed_error() {
    let fixture = Fixture::new();
    fixture.append("s", conversation(2, 9));
    fixture.append("other", conversation(2, 9));
    let view = fixture.engine.view();
    assert!(matches!(view.window("nobody", Window::items(5)), Err(Error::NoSession { .. })));
    assert!(matches!(view.window("s", Window::items(501)), Err(Error::Window { limit: "window_items_max", .. })));
    assert!(matches!(view.window("s", Window::items(5).bytes(1 << 40)), Err(Error::Window { limit: "window_bytes_max", .. })));
    let cursor = view.window("s", Window::items(5)).unwrap().cursor().unwrap();
    assert!(matches!(view.older("other", &cursor), Err(Error::Cursor(CursorError::Foreign { what: "session" }))));
    let elsewhere = Fixture::new();
    elsewhere.append("s", conversation(2, 9));
    assert!(matches!(elsewhere.engine.view().older("s", &cursor), Err(Error::Cursor(CursorError::Foreign { what: "store" }))));
    let token = cursor.to_string();
    assert_eq!(ids(&view.older("s", &token.parse().unwrap()).unwrap()).len(), 13);
    assert!(view.session("nobody").unwrap().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_page_sizes_and_any_interleaving_visit_every_item_once(
        sizes in proptest::collection::vec(1_usize..20, 1..6),
        turns in proptest::collection::vec((0_usize..6, 0_usize..2), 1..12),
        late in proptest::collection::vec(0_u8..4, 0..20),
    ) {
        let fixture = Fixture::new();
        let mut expected = Vec::new();
        for (of, (items, calls)) in turns.iter().enumerate() {
            fixture.append("s", vec![turn(format!("t{of}"))]);
            for item in 0..*items {
                fixture.append("s", text(&format!("t{of}i{item}"), "x"));
                expected.push(format!("t{of}i{item}"));
            }
            for call in 0..*calls {
                fixture.append("s", called(&format!("t{of}c{call}"), "y".repeat(200)));
                expected.push(format!("t{of}c{call}"));
            }
        }
        let mut sizes = sizes.iter().cycle();
        let mut late = late.iter();
        let mut page = fixture.engine.view().window("s", Window::items(*sizes.next().unwrap())).unwrap();
        let mut seen = ids(&page);
        while let Some(cursor) = page.cursor() {
            match late.next() {
                Some(0) => fixture.append("s", text(&format!("late{}", seen.len()), "z")),
                Some(1) => { fixture.engine.checkpoint().unwrap(); }
                Some(2) => fixture.append("s", vec![turn(format!("late{}", seen.len()))]),
                _ => {}
            }
            page = fixture.engine.view().page("s", &cursor, Window::items(*sizes.next().unwrap())).unwrap();
            seen = ids(&page).into_iter().chain(seen).collect();
        }
        prop_assert_eq!(seen, expected);
    }
}
