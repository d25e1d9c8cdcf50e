//! Verify names whatever main holds that is not what the log says, and a rebuild mends it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test fails by panicking, its helpers too"
)]

mod host;

use std::ops::Bound;

use host::harm::{Harm, harm_rows, storage};
use host::*;
use turnstore::event::{Source, Stated};
use turnstore::fact::*;
use turnstore::{Difference, Options, Store, Stream};
use turnstore_storage::{Checkpoint, Direction, RowKey};

/// Kinds of row by their numbers, with how verify begins to name their places.
const KINDS: [(u8, &[&str]); 10] = [
    (1, &["header"]),
    (2, &["timeline page", "Timeline entry"]),
    (3, &["shelf page", "Shelf entry"]),
    (4, &["diagnostics page", "Diagnostics entry"]),
    (5, &["ids"]),
    (6, &["text piece"]),
    (7, &["shelf text piece"]),
    (8, &["shelf ids"]),
    (16, &["source marks"]),
    (17, &["placed"]),
];
/// Families of index entries by the first byte of their keys.
const FAMILIES: [(u8, &str); 3] = [(1, "recency"), (2, "pending"), (3, "checkpoint")];
/// The session that is harmed.
const HARMED: &str = "harmed";

/// A store with rows and index entries of every kind in a session, beside another.
fn filled() -> Place {
    let place = Place::new();
    let engine = place.open();
    engine.append(HARMED, conversation(20)).unwrap();
    engine.append("other", [user("u", "hello"), asked("q")]).unwrap();
    engine.append(HARMED, [assistant("long"), delta("long", &"many words ".repeat(2_000))]).unwrap();
    let document = format!("{{\"a\":\"{}\"}}", "value ".repeat(3_000));
    let shelf = vec![
        Fact::DocumentSet(DocumentSet { document: "state".into(), value: json(&document), replace: true }),
        Fact::TurnArtifactsSet(TurnArtifactsSet {
            turn: "t3".into(),
            references: vec![ArtifactReference { path: "a/b".into(), artifact_type: "document".into() }],
        }),
        Fact::DiagnosticNoted(DiagnosticNoted { code: "odd".into(), detail: Some("seen".into()), raw: None }),
        asked("open"),
        asked("answered"),
        decided("answered", "yes", "1"),
    ];
    engine.append(HARMED, shelf).unwrap();
    let numbered = |seq| Source { stream: Some(("file".into(), seq)), ..Source::default() };
    let read = (1..4).map(|seq| Stated { source: numbered(seq), ..Stated::from(delta("long", "more ")) });
    engine.append(HARMED, read.collect::<Vec<_>>()).unwrap();
    engine.close().unwrap();
    assert_eq!(found(&place), None);
    place
}

fn found(place: &Place) -> Option<Difference> {
    place.read().view().verify(&mut |_| {}).unwrap().difference
}

fn answers(store: &Store) -> Vec<Vec<String>> {
    let view = store.view();
    let listed = view.sessions(10, None).unwrap().sessions.into_iter().map(|session| format!("{session:?}")).collect();
    let waits = view.pending_everywhere(10, None).unwrap().pending.into_iter().map(|asked| format!("{asked:?}")).collect();
    vec![timeline(&view, HARMED), timeline(&view, "other"), waiting(&view, HARMED), diagnostics(&view, HARMED), listed, waits]
}

/// Verify names this place of the harmed session, and after a rebuild there is nothing to name.
#[track_caller]
fn named_and_mended(place: &Place, expected: &Vec<Vec<String>>, places: &[&str], what: &str) {
    let difference = found(place).unwrap_or_else(|| panic!("{what}: nothing was found"));
    assert_eq!(difference.session, HARMED, "{what}: {difference:?}");
    assert!(places.iter().any(|named| difference.place.starts_with(named)), "{what}: {difference:?}");
    assert_ne!(difference.saved, difference.folded, "{what}");
    turnstore::rebuild(&place.path(), Options::default(), &mut |_| {}).unwrap();
    assert_eq!(found(place), None, "{what}");
    assert_eq!(&answers(&place.read()), expected, "{what}");
}

/// A copy of a store, so that each case harms its own.
fn copied(place: &Place) -> Place {
    let copy = Place::new();
    std::fs::copy(place.path(), copy.path()).unwrap();
    copy
}

/// Changes main as a checkpoint does.
fn change(place: &Place, change: impl FnOnce(&mut Checkpoint<'_>)) {
    let storage = storage(&place.path());
    let mut checkpoint = storage.begin_checkpoint(storage.checkpoint().unwrap()).unwrap();
    change(&mut checkpoint);
    checkpoint.commit().unwrap();
    storage.close().unwrap();
}

#[test]
fn a_row_of_any_kind_that_is_damaged_changed_or_lost_is_named_and_mended() {
    let place = filled();
    let expected = answers(&place.read());
    for (kind, places) in KINDS {
        for harm in [Harm::Checksum, Harm::Content, Harm::Lost] {
            let place = copied(&place);
            assert!(harm_rows(&place.path(), Stream::FIRST, kind, harm) > 0, "no row of kind {kind}");
            named_and_mended(&place, &expected, places, &format!("{harm:?} of kind {kind}"));
        }
    }
}

#[test]
fn a_row_that_the_log_does_not_give_is_named_and_mended() {
    let place = filled();
    let expected = answers(&place.read());
    // A text that no entry counts is never read, and one that was replaced stays behind: it is no difference.
    for (kind, places) in KINDS.into_iter().filter(|(kind, _)| ![6, 7].contains(kind)) {
        let place = copied(&place);
        change(&place, |checkpoint| {
            let key = RowKey { stream: Stream::FIRST, epoch: 0, kind, ordinal: 1 << 40 };
            checkpoint.put_row(&key, &[7; 32]).unwrap();
        });
        let places = if kind == 1 { &["header"] } else { places };
        named_and_mended(&place, &expected, places, &format!("beside those of kind {kind}"));
    }
}

type Entry = (Vec<u8>, Vec<u8>);
type Harming<'h> = dyn Fn(&mut Checkpoint<'_>) + 'h;

/// The index entries of a family that are the harmed session's.
fn entries(checkpoint: &Checkpoint<'_>, family: u8) -> Vec<Entry> {
    let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(&[family]), Bound::Excluded(&[family + 1]));
    let entries = checkpoint.reader().index(bounds, Direction::Forward).unwrap().map(|entry| entry.unwrap());
    let own = |entry: &Entry| if family == 1 { named(entry, HARMED) } else { entry.0[1..9] == Stream::FIRST.get().to_be_bytes() };
    entries.filter(own).collect()
}

/// Whether an entry of the list of sessions holds this id.
fn named(entry: &Entry, session: &str) -> bool {
    entry.1.windows(session.len()).any(|bytes| bytes == session.as_bytes())
}

#[test]
fn an_index_entry_of_any_family_that_is_changed_lost_or_added_is_named_and_mended() {
    let place = filled();
    let expected = answers(&place.read());
    for (family, name) in FAMILIES {
        let changed = |checkpoint: &mut Checkpoint<'_>| {
            for (key, mut value) in entries(checkpoint, family) {
                *value.last_mut().unwrap() ^= 1;
                checkpoint.put_index(&key, &value).unwrap();
            }
        };
        let garbage = |checkpoint: &mut Checkpoint<'_>| {
            for (key, _) in entries(checkpoint, family) {
                checkpoint.put_index(&key, &[0xFF; 5]).unwrap();
            }
        };
        let lost = |checkpoint: &mut Checkpoint<'_>| {
            let entries = entries(checkpoint, family);
            assert!(!entries.is_empty(), "no {name}");
            entries.iter().for_each(|(key, _)| checkpoint.delete_index(key));
        };
        let added = |checkpoint: &mut Checkpoint<'_>| {
            let (mut key, value) = entries(checkpoint, family).remove(0);
            // Of recency: another position. Of what waits or was checkpointed: another of the same session.
            *key.last_mut().unwrap() ^= 0x80;
            checkpoint.put_index(&key, &value).unwrap();
        };
        let harms: [(&str, &Harming); 4] = [("changed", &changed), ("garbage", &garbage), ("lost", &lost), ("added", &added)];
        for (what, harm) in harms {
            let place = copied(&place);
            change(&place, |checkpoint| harm(checkpoint));
            named_and_mended(&place, &expected, &[name], &format!("{name} {what}"));
        }
    }
}

#[test]
fn an_index_entry_of_no_session_or_no_family_is_named() {
    let place = filled();
    for (key, named) in [([vec![2], vec![0x70; 16]].concat(), "pending"), (vec![9, 9], "index key"), (vec![1, 2, 3], "index key")] {
        let place = copied(&place);
        change(&place, |checkpoint| checkpoint.put_index(&key, b"x").unwrap());
        let difference = found(&place).unwrap();
        assert!(difference.place.starts_with(named), "{difference:?}");
        turnstore::rebuild(&place.path(), Options::default(), &mut |_| {}).unwrap();
        assert_eq!(found(&place), None);
    }
}

#[test]
fn verify_beside_a_writer_finds_nothing_in_a_whole_store_whatever_was_checkpointed_when() {
    let place = filled();
    let engine = place.open();
    for n in 0..40 {
        let facts = vec![assistant(&format!("n{n}")), delta(&format!("n{}", n / 2), "late "), asked(&format!("q{n}"))];
        engine.append(if n % 3 == 0 { "other" } else { HARMED }, facts).unwrap();
        engine.append(HARMED, [decided(&format!("q{}", n / 2), "d", "1")]).unwrap();
        let before = engine.view();
        if n % 4 == 1 {
            engine.checkpoint().unwrap();
        }
        for view in [before, engine.view()] {
            assert_eq!(view.verify(&mut |_| {}).unwrap().difference, None, "after {n}");
        }
    }
    engine.close().unwrap();
    assert_eq!(found(&place), None);
}
