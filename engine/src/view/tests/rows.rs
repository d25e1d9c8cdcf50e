//! Rows are disposable: whatever of them is lost, the same is read.

use super::*;
use crate::shared::Floor;
use crate::state::{RowKind, State};
use crate::view::hash_of_state;
use crate::{Store, View, Window};
use turnstore_storage::{Direction, RowKey, Stream};

fn everything(view: &View) -> (Vec<String>, String, usize) {
    let page = view.window("s", Window::items(500)).unwrap();
    let texts: String = page
        .items()
        .map(|item| match item.kind() {
            ItemKind::Text(part) => part.text().unwrap().joined().into_owned(),
            _ => String::new(),
        })
        .collect();
    (ids(&page), texts, view.pending("s").unwrap().count())
}

fn filled() -> Fixture {
    let fixture = Fixture::new();
    fixture.append("s", conversation(10, 5));
    fixture.append("s", text("long", &"long text ".repeat(2000)));
    fixture.append("s", vec![asked("open")]);
    fixture.engine.checkpoint().unwrap();
    fixture
}

/// Deletes every row of the kind, in every version.
fn lose(fixture: &Fixture, kind: RowKind) -> usize {
    lose_rows(fixture, kind as u8)
}

pub(super) fn lose_rows(fixture: &Fixture, kind: u8) -> usize {
    let shared = fixture.engine.shared().clone();
    let guard = shared.floor.read();
    let Some(Floor::Writing(storage)) = &*guard else { panic!("not writing") };
    let mut checkpoint = storage.begin_checkpoint(storage.checkpoint().unwrap()).unwrap();
    let reader = storage.reader().unwrap();
    let mut lost = 0;
    for row in reader.rows(Stream::FIRST, 0, kind, i64::MIN..=i64::MAX, None, Direction::Forward).unwrap() {
        let (ordinal, row) = row.unwrap();
        checkpoint.delete_row(&RowKey { stream: Stream::FIRST, epoch: 0, kind, ordinal }, row.version);
        lost += 1;
    }
    drop(reader);
    checkpoint.commit().unwrap();
    lost
}

#[test]
fn a_lost_row_of_any_kind_changes_no_answer() {
    let expected = everything(&filled().engine.view());
    for kind in [RowKind::Header, RowKind::Timeline, RowKind::Text, RowKind::Ids] {
        let fixture = filled().reopened();
        assert!(lose(&fixture, kind) > 0);
        assert_eq!(everything(&fixture.engine.view()), expected, "{kind:?}");
        assert_eq!(everything(&fixture.engine.view()), expected, "{kind:?} again");
    }
}

#[test]
fn the_hash_is_the_same_live_saved_reopened_and_folded_again() {
    let fixture = filled();
    let live = fixture.engine.view().hash("s").unwrap();
    let fixture = fixture.reopened();
    assert_eq!(fixture.engine.view().hash("s").unwrap(), live);
    let fixture = fixture.reopened();
    lose(&fixture, RowKind::Timeline);
    assert_eq!(fixture.engine.view().hash("s").unwrap(), live);
    let state: std::sync::Arc<State> = fixture
        .engine
        .shared()
        .cache
        .refolded(Stream::FIRST, fixture.engine.view().session("s").unwrap().unwrap().header.last_seq)
        .unwrap();
    assert_eq!(hash_of_state(&state), Some(live));
}

#[test]
fn a_store_at_rest_reads_without_a_writer_and_beside_one_sees_the_checkpoint() {
    let fixture = filled();
    let path = fixture.folder.path().join("store");
    let beside = Store::read(&path).unwrap();
    let expected = everything(&fixture.engine.view());
    assert_eq!(everything(&beside.view()), expected);
    fixture.append("s", text("more", "x"));
    assert_eq!(everything(&beside.view()), expected);
    fixture.engine.checkpoint().unwrap();
    let now = everything(&fixture.engine.view());
    assert_eq!(everything(&beside.view()), now);
    drop(beside);
    fixture.engine.close().unwrap();
    let store = Store::read(&path).unwrap();
    assert_eq!(everything(&store.view()), now);
    let page = store.view().sessions(10, None).unwrap();
    assert_eq!((page.sessions.len(), page.sessions[0].running), (1, false));
}

#[test]
fn a_cold_window_and_a_deep_page_read_as_many_rows_however_long_the_session_is() {
    // Two events an item. Every fifth text has a piece that is sealed, in a row of its own.
    let counts = [100, 1_000, 10_000, 100_000].map(|events| {
        let fixture = Fixture::new();
        let texts = |of: usize| text(&format!("m{of}"), &"long ".repeat(if of.is_multiple_of(5) { 1000 } else { 2 }));
        for from in (0..events / 2).step_by(50) {
            fixture.append("s", (from..from + 50).flat_map(texts).collect());
        }
        let fixture = fixture.reopened();
        let view = fixture.engine.view();
        let cost = |below: Option<i64>| {
            let look = crate::view::Look::new(&view);
            let found = look.find("s").unwrap().unwrap();
            let budget = Window::items(20).check(&fixture.engine.shared().limits).unwrap();
            let below = below.unwrap_or(found.outline.next);
            crate::view::window::read(&found, crate::cursor::Way::Older, below, budget, None).unwrap();
            let count = look.reader().unwrap().read_count();
            (count.seeks, count.rows, count.frames)
        };
        (cost(None), cost(Some(40)))
    });
    // At 100 events the deep page is one that the newest window has read.
    let (cold, deep) = counts[1];
    assert!(cold.0 > 0 && cold.0 <= 12 && cold.1 <= 12 && deep.0 <= cold.0 && deep.1 <= cold.1, "{counts:?}");
    assert_eq!((cold.2, deep.2), (0, 0), "frames were decoded");
    assert!(counts.iter().all(|count| count.0 == cold), "{counts:?}");
    assert!(counts[0].1 <= deep && counts.iter().skip(1).all(|count| count.1 == deep), "{counts:?}");
}

#[test]
fn reading_a_warm_window_opens_no_reader() {
    let fixture = filled();
    let view = fixture.engine.view();
    everything(&view);
    let look = crate::view::Look::new(&view);
    let found = look.find("s").unwrap().unwrap();
    for page in found.outline.pages(crate::state::Sequence::Timeline) {
        assert!(found.page(crate::state::Sequence::Timeline, page).is_ok());
    }
    assert!(!look.opened());
}
