//! Rows that are not those of the log, and files that do not answer: 18, 30, 57.

use std::sync::Arc;

use crate::host::medium::Watched;
use crate::host::*;
use turnstore::{Engine, Error, Limits, Options, Store, View, Window};
use turnstore_storage::{Direction, RowKey, Storage, Stream};

fn storage(place: &Place) -> Storage {
    Storage::open(&place.path(), &turnstore_storage::Options::default()).unwrap().storage
}

const KINDS: std::ops::RangeInclusive<u8> = 1..=8;

/// The newest version of every row of a session.
fn rows_of(storage: &Storage, stream: Stream) -> Vec<(RowKey, turnstore_storage::Row)> {
    let reader = storage.reader().unwrap();
    let of_kind = |kind: u8| {
        let rows = reader.rows(stream, 0, kind, i64::MIN..=i64::MAX, None, Direction::Forward).unwrap();
        rows.map(move |row| row.map(|(ordinal, row)| (RowKey { stream, epoch: 0, kind, ordinal }, row)).unwrap())
    };
    KINDS.flat_map(of_kind).collect()
}

/// A store with a long session, which was checkpointed early and late, and a short one. The early rows are kept.
fn long_and_short() -> Place {
    let place = Place::new();
    let limits = || Limits { events_between_checkpoints_max: 4, ..Limits::default() };
    let open = || Engine::options().limits(limits()).open(place.path()).unwrap();
    let engine = open();
    engine.append("long", conversation(1)).unwrap();
    engine.append("short", [user("u", "short")]).unwrap();
    engine.close().unwrap();
    let engine = open();
    engine.append("long", conversation(100)[9..].to_vec()).unwrap();
    engine.close().unwrap();
    place
}

fn everything(view: &View) -> Vec<Vec<String>> {
    ["long", "short"].map(|session| timeline(view, session)).to_vec()
}

/// What a fold of the log says, whatever the rows say.
fn replayed() -> Vec<Vec<String>> {
    let place = Place::new();
    let engine = place.open();
    engine.append("long", conversation(100)).unwrap();
    engine.append("short", [user("u", "short")]).unwrap();
    everything(&engine.view())
}

/// Reads with and without a writer, and after an append.
#[track_caller]
fn check(place: &Place, what: &str) {
    let expected = replayed();
    assert_eq!(everything(&place.read().view()), expected, "{what}, read at rest");
    let engine = place.open();
    assert_eq!(everything(&engine.view()), expected, "{what}, read by its writer");
    engine.append("long", [user("new", "more")]).unwrap();
    engine.append("short", [user("new", "more")]).unwrap();
    let more: Vec<Vec<String>> = expected.into_iter().map(|lines| [lines, vec!["user new: more".to_owned()]].concat()).collect();
    assert_eq!(everything(&engine.view()), more, "{what}, and appended to");
    engine.close().unwrap();
    assert_eq!(everything(&place.open().view()), more, "{what}, appended to and closed");
}

const LONG: Stream = Stream::FIRST;

/// 18
#[test]
fn rows_that_are_behind_the_log_are_not_shown_for_the_whole() {
    let place = long_and_short();
    let storage = storage(&place);
    let mut checkpoint = storage.begin_checkpoint(storage.checkpoint().unwrap()).unwrap();
    let newest = rows_of(&storage, LONG);
    let head = storage.checkpoint().unwrap();
    let gone = newest.iter().filter(|(_, row)| row.version == head);
    assert!(gone.map(|(key, row)| checkpoint.delete_row(key, row.version)).count() > 3);
    checkpoint.commit().unwrap();
    assert!(rows_of(&storage, LONG).iter().any(|(key, row)| key.kind == 1 && row.version < head), "no early header to mistake");
    storage.close().unwrap();
    check(&place, "rows of an earlier checkpoint");
}

/// 18
#[test]
fn rows_that_are_ahead_of_the_log_are_not_shown_for_the_whole() {
    let place = long_and_short();
    let storage = storage(&place);
    let mut checkpoint = storage.begin_checkpoint(storage.checkpoint().unwrap()).unwrap();
    // All rows of the long session stand under the short one too.
    for (key, row) in rows_of(&storage, LONG) {
        checkpoint.put_row(&RowKey { stream: LONG.next(), ..key }, &row.bytes).unwrap();
    }
    checkpoint.commit().unwrap();
    storage.close().unwrap();
    check(&place, "rows of another session");
}

/// 18
#[test]
fn rows_that_are_garbage_are_folded_again() {
    for kind in KINDS {
        let place = long_and_short();
        let storage = storage(&place);
        let mut checkpoint = storage.begin_checkpoint(storage.checkpoint().unwrap()).unwrap();
        for (key, row) in rows_of(&storage, LONG).into_iter().filter(|(key, _)| key.kind == kind) {
            let reversed: Vec<u8> = row.bytes.iter().rev().copied().collect();
            checkpoint.put_row(&key, &reversed).unwrap();
        }
        checkpoint.commit().unwrap();
        storage.close().unwrap();
        check(&place, &format!("garbage in rows of kind {kind}"));
    }
}

/// What a reader gets when the disk fails: an error, or all of it.
fn answers(view: &View) -> [Result<usize, Error>; 6] {
    [
        view.window("long", Window::items(500)).map(|page| page.items().count()),
        view.oldest("short", Window::items(500)).map(|page| page.items().count()),
        view.sessions(10, None).map(|page| page.sessions.len()),
        view.pending_everywhere(10, None).map(|page| page.pending.len()),
        view.session("short").map(|session| usize::from(session.is_some())),
        view.events("long", turnstore::Seq::FIRST)
            .and_then(|events| events.map(|event| event.map(|_| ())).collect::<Result<Vec<_>, _>>())
            .map(|all| all.len()),
    ]
}

/// 30
#[test]
fn a_disk_that_fails_is_an_error_and_never_an_empty_session() {
    let place = long_and_short();
    let engine = place.open();
    engine.append("short", [asked("q")]).unwrap();
    engine.close().unwrap();
    let whole = answers(&place.read().view()).map(Result::unwrap);
    assert_eq!(whole, [300, 2, 2, 1, 1, 900]);
    let mut failed = 0;
    for reads in 0..150 {
        let watched = Watched::new(&place.path());
        let options = Engine::options().medium(Arc::new(watched.clone())).cache_bytes_max(0);
        let Ok(store) = Store::read_with(place.path(), &options) else { panic!("it opened a moment ago") };
        watched.fail_reads_after(reads);
        for (answer, expected) in answers(&store.view()).into_iter().zip(whole) {
            match answer {
                Ok(count) => assert_eq!(count, expected, "after {reads} reads"),
                Err(_) => failed += 1,
            }
        }
    }
    assert!(failed > 100, "{failed}");
}

/// 30: the same while it is opened.
#[test]
fn a_disk_that_fails_while_a_store_is_opened_never_makes_a_new_one() {
    let place = long_and_short();
    let expected = replayed();
    let mut failed = 0;
    for reads in 0..60 {
        let watched = Watched::new(&place.path());
        watched.fail_reads_after(reads);
        match Engine::options().medium(Arc::new(watched.clone())).open(place.path()) {
            Err(_) => failed += 1,
            Ok(engine) => {
                watched.heal();
                assert_eq!(everything(&engine.view()), expected, "after {reads} reads");
            }
        }
    }
    assert!(failed > 3, "{failed}");
    assert_eq!(everything(&place.open().view()), expected);
}

/// 30
#[test]
fn a_session_of_hundreds_of_megabytes_opens_and_shows_its_newest_window() {
    let place = Place::new();
    let engine = Engine::options().durability(turnstore::Durability::Buffered).open(place.path()).unwrap();
    let mut state = 1_u64;
    let mut noise = || {
        let mut text = String::with_capacity(1 << 20);
        while text.len() < 1 << 20 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(&format!("{state:016x}"));
        }
        text
    };
    for n in 0..192 {
        engine.append("s", [called(&format!("c{n}")), answered(&format!("c{n}"), &noise())]).unwrap();
    }
    engine.append("s", [user("last", "here")]).unwrap();
    engine.close().unwrap();
    assert!(std::fs::metadata(place.path()).unwrap().len() > 96 << 20);
    let watched = Watched::new(&place.path());
    let engine = Engine::options().medium(Arc::new(watched.clone())).cache_bytes_max(0).open(place.path()).unwrap();
    watched.read_since();
    let page = engine.view().window("s", Window::items(2)).unwrap();
    let shown = lines(&page);
    assert!(shown[0].starts_with("call c191: ") && shown[1] == "user last: here", "{}", shown.len());
    let read = watched.read_since().bytes;
    assert!(read < 8 << 20, "{read} bytes were read for two items");
}

/// Marks the rows of a store as those of another build.
fn of_another_build(place: &Place) {
    with_other(place, &["layout", "semantics"]);
}

fn with_other(place: &Place, names: &[&str]) {
    let storage = storage(place);
    let mut checkpoint = storage.begin_checkpoint(storage.checkpoint().unwrap()).unwrap();
    for name in names {
        assert!(storage.meta(name).unwrap().is_some());
        checkpoint.put_meta(name, &u64::MAX.to_le_bytes());
    }
    checkpoint.commit().unwrap();
    storage.close().unwrap();
}

/// 57
#[test]
fn an_upgrade_of_the_rows_that_is_cut_at_any_write_loses_nothing_and_is_done_again() {
    let expected = replayed();
    let mut cut = 0;
    for writes in (0..200).step_by(3) {
        let place = long_and_short();
        of_another_build(&place);
        assert!(matches!(Store::read(place.path()), Err(Error::Storage(turnstore_storage::Error::NeedsRecovery))));
        let watched = Watched::new(&place.path());
        watched.fail_writes_after(writes);
        let opened = Engine::options().medium(Arc::new(watched)).open(place.path());
        cut += usize::from(opened.is_err());
        drop(opened);
        let engine = place.open();
        assert_eq!(everything(&engine.view()), expected, "cut after {writes} writes");
        assert_eq!(engine.view().verify(&mut |_| {}).unwrap().difference, None);
    }
    assert!(cut > 3, "{cut}");
}

/// 57: what an older build folded is shown and marked; the next writer folds it again.
#[test]
fn rows_that_another_build_folded_differently_are_served_marked_until_a_writer_comes() {
    let place = long_and_short();
    assert!(!place.read().is_stale().unwrap());
    with_other(&place, &["semantics"]);
    let store = place.read();
    assert!(store.is_stale().unwrap());
    assert_eq!(everything(&store.view()), replayed());
    drop(store);
    place.open().close().unwrap();
    assert!(!place.read().is_stale().unwrap());
}

/// 57
#[test]
fn a_rebuild_that_is_cut_at_any_write_keeps_the_old_rows() {
    let expected = replayed();
    let place = long_and_short();
    let mut cut = 0;
    for writes in (0..300).step_by(7) {
        let watched = Watched::new(&place.path());
        watched.fail_writes_after(writes);
        let options: Options = Engine::options().medium(Arc::new(watched));
        cut += usize::from(turnstore::rebuild(&place.path(), options, &mut |_| {}).is_err());
        let engine = place.open();
        assert_eq!(everything(&engine.view()), expected, "cut after {writes} writes");
        engine.close().unwrap();
    }
    assert!(cut > 3, "{cut}");
}

/// 57: a creation that was cut leaves nothing that stands in the way.
#[test]
fn a_creation_that_is_cut_at_any_write_is_done_again() {
    let mut cut = 0;
    for writes in 0..60 {
        let place = Place::new();
        let watched = Watched::new(&place.path());
        watched.fail_writes_after(writes);
        let opened = Engine::options().medium(Arc::new(watched)).open(place.path());
        cut += usize::from(opened.is_err());
        drop(opened);
        let engine = place.open();
        engine.append("s", [user("u", "x")]).unwrap();
        assert_eq!(timeline(&engine.view(), "s"), ["user u: x"], "cut after {writes} writes");
    }
    assert!(cut > 3, "{cut}");
}
