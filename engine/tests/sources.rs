//! What counts as a repeat: it depends on the session's log alone, whatever was restarted, batched, or damaged beside it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test fails by panicking, its helpers too"
)]

mod host;

use host::harm::{Harm, harm_rows};
use host::*;
use proptest::prelude::*;
use turnstore::event::{Body, Source, Stated};
use turnstore::fact::{Fact, SessionChanged};
use turnstore::{Batch, Engine, Limits, Seq, Store, Stream};
use turnstore_storage::RowKey;

/// The kind of the rows that hold the marks of a session's sources.
const MARKS: u8 = 16;

fn titled(title: usize) -> Fact<'static> {
    Fact::SessionChanged(SessionChanged { title: Some(title.to_string().into()), ..SessionChanged::default() })
}

/// A fact that a source numbers, or names, or neither; `title` tells which it was.
fn stated(title: usize, from: &From) -> Stated<'static> {
    let source = match from {
        From::Numbered { source, seq, part } => {
            Source { stream: Some((format!("source {source}").into(), *seq)), part: *part, ..Source::default() }
        }
        From::Named { id, part } => Source { event_id: Some(format!("event {id}").into()), part: *part, ..Source::default() },
        From::Host => Source::default(),
    };
    Stated { source, ..Stated::from(titled(title)) }
}

/// Where a fact comes from.
#[derive(Clone, Debug)]
enum From {
    Numbered { source: u8, seq: u64, part: Option<(u16, u16)> },
    Named { id: u8, part: Option<(u16, u16)> },
    Host,
}

fn numbered(seq: u64, part: Option<(u16, u16)>) -> From {
    From::Numbered { source: 0, seq, part }
}

/// The titles that the log holds: which facts were kept.
fn kept(engine: &Engine, session: &str) -> Vec<usize> {
    let title = |event: turnstore::OwnedEvent| match event.event().unwrap().body {
        Body::Fact(Fact::SessionChanged(changed)) => changed.title.unwrap().parse().unwrap(),
        other => panic!("{other:?}"),
    };
    match engine.view().events(session, Seq::FIRST) {
        Ok(events) => events.map(|event| title(event.unwrap())).collect(),
        Err(turnstore::Error::NoSession { .. }) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

/// What happens between two appends.
#[derive(Clone, Copy, Debug)]
enum Between {
    Nothing,
    Checkpoint,
    Kill,
    Close,
}

fn between() -> impl Strategy<Value = Between> {
    prop_oneof![4 => Just(Between::Nothing), 1 => Just(Between::Checkpoint), 1 => Just(Between::Kill), 1 => Just(Between::Close)]
}

fn from() -> impl Strategy<Value = From> {
    let part = || proptest::option::of((0_u16..3).prop_map(|part| (part, 3)));
    prop_oneof![
        3 => (0_u8..2, 0_u64..6, part()).prop_map(|(source, seq, part)| From::Numbered { source, seq, part }),
        6 => (0_u8..5, part()).prop_map(|(id, part)| From::Named { id, part }),
        1 => Just(From::Host),
    ]
}

const RETAINED: usize = 6;

fn open(place: &Place) -> Engine {
    let limits = Limits { event_ids_retained_max: RETAINED, idle_sessions_max: 0, ..Limits::default() };
    Engine::options().limits(limits).open(place.path()).unwrap()
}

/// The rule itself, over the log alone.
fn expected(facts: &[From]) -> Vec<usize> {
    let mut log: Vec<(usize, &From)> = Vec::new();
    let meets = |one: Option<(u16, u16)>, two: Option<(u16, u16)>| one.is_none() || two.is_none() || one == two;
    for (title, fact) in facts.iter().enumerate() {
        let repeat = match fact {
            From::Host => false,
            From::Numbered { source, seq, part } => log.iter().any(|(_, read)| match read {
                From::Numbered { source: of, seq: known, part: before } => {
                    let later = matches!((before, part), (Some(before), Some(part)) if part > before);
                    of == source && (known > seq || known == seq && !later)
                }
                _ => false,
            }),
            From::Named { id, part } => log.iter().rev().take(RETAINED).any(|(_, read)| match read {
                From::Named { id: known, part: before } => known == id && meets(*before, *part),
                _ => false,
            }),
        };
        if !repeat {
            log.push((title, fact));
        }
    }
    log.into_iter().map(|(title, _)| title).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn neither_restarts_nor_batching_change_which_facts_are_repeats(
        appends in proptest::collection::vec((proptest::collection::vec(from(), 1..8), between()), 1..14),
    ) {
        let facts: Vec<From> = appends.iter().flat_map(|(facts, _)| facts.clone()).collect();
        let place = Place::new();
        let mut engine = open(&place);
        let mut title = 0;
        for (facts, between) in &appends {
            let batch: Vec<_> = facts.iter().map(|fact| { title += 1; stated(title - 1, fact) }).collect();
            let receipt = engine.append("s", batch).unwrap();
            prop_assert_eq!(receipt.appended + receipt.dropped, facts.len());
            match between {
                Between::Nothing => {}
                Between::Checkpoint => { engine.checkpoint().unwrap(); }
                Between::Kill => { drop(engine); engine = open(&place); }
                Between::Close => { engine.close().unwrap(); engine = open(&place); }
            }
        }
        prop_assert_eq!(kept(&engine, "s"), expected(&facts));
        prop_assert_eq!(engine.view().verify(&mut |_| {}).unwrap().difference, None);
    }
}

#[test]
fn the_parts_of_one_event_may_come_in_several_appends() {
    let parts: [fn(u16) -> From; 2] = [|n| numbered(7, Some((n, 4))), |n| From::Named { id: 7, part: Some((n, 4)) }];
    for part in parts {
        let place = Place::new();
        let mut engine = place.open();
        for n in 0..4 {
            let before_and_this = (0..=n).map(|n| stated(n.into(), &part(n))).collect::<Vec<_>>();
            let receipt = engine.append("s", before_and_this).unwrap();
            assert_eq!((receipt.appended, receipt.dropped), (1, usize::from(n)), "{:?}", part(n));
            engine = if n % 2 == 0 { killed(engine, &place) } else { engine.close().map(|()| place.open()).unwrap() };
        }
        assert_eq!(kept(&engine, "s"), [0, 1, 2, 3]);
        // The event is whole now, also for a source that does not cut it.
        let whole = match part(0) {
            From::Numbered { seq, .. } => numbered(seq, None),
            _ => From::Named { id: 7, part: None },
        };
        assert_eq!(engine.append("s", vec![stated(9, &whole)]).unwrap().dropped, 1);
    }
}

#[test]
fn an_id_is_forgotten_after_as_many_events_whether_or_not_they_have_ids() {
    for restart in [false, true] {
        let place = Place::new();
        let mut engine = open(&place);
        let named = From::Named { id: 1, part: None };
        engine.append("s", vec![stated(0, &named)]).unwrap();
        for n in 1..RETAINED {
            engine.append("s", vec![stated(n, &From::Host)]).unwrap();
            assert_eq!(engine.append("s", vec![stated(99, &named)]).unwrap().dropped, 1, "after {n} events");
        }
        engine.append("s", vec![stated(RETAINED, &From::Host)]).unwrap();
        if restart {
            engine.close().unwrap();
            engine = open(&place);
        }
        assert_eq!(engine.append("s", vec![stated(100, &named)]).unwrap().appended, 1);
    }
}

/// Two sessions, of which each has read its source up to 5.
fn read_up_to_5() -> Place {
    let place = Place::new();
    let engine = place.open();
    for session in ["harmed", "other"] {
        engine.append(session, (0..6).map(|seq| stated(seq as usize, &numbered(seq, None))).collect::<Vec<_>>()).unwrap();
    }
    engine.close().unwrap();
    place
}

/// Both sessions go on as if nothing had happened, after a restart too, and main becomes whole again.
fn goes_on(place: &Place, what: &str) {
    let mut engine = place.open();
    for (at, restart) in [(6_u64, false), (7, true), (8, false)] {
        for session in ["harmed", "other"] {
            let again = (0..=at).map(|seq| stated(seq as usize, &numbered(seq, None)));
            let receipt = engine.append(session, Batch::of(again)).unwrap();
            assert_eq!((receipt.appended, receipt.dropped), (1, at as usize), "{what}, {session} at {at}");
        }
        engine.checkpoint().unwrap();
        if restart {
            engine.close().unwrap();
            engine = place.open();
        }
    }
    assert_eq!(kept(&engine, "harmed"), (0..9).collect::<Vec<_>>());
    assert_eq!(engine.view().verify(&mut |_| {}).unwrap().difference, None, "{what}");
}

#[test]
fn marks_that_are_damaged_are_read_from_the_log_and_concern_no_other_session() {
    for harm in [Harm::Checksum, Harm::Content] {
        let place = read_up_to_5();
        assert_eq!(harm_rows(&place.path(), Stream::FIRST, MARKS, harm), 1);
        let found = Store::read(place.path()).unwrap().view().verify(&mut |_| {}).unwrap().difference.unwrap();
        assert_eq!(found.session, "harmed");
        assert!(found.place.starts_with("source marks"), "{found:?}");
        goes_on(&place, &format!("{harm:?}"));
    }
}

#[test]
fn marks_that_are_damaged_while_the_tail_has_more_stop_no_checkpoint() {
    for harm in [Harm::Checksum, Harm::Content] {
        let place = read_up_to_5();
        let engine = place.open();
        // A source that the session read before and whose mark nobody asks for again: the checkpoint alone meets its row.
        let other = From::Numbered { source: 1, seq: 3, part: None };
        engine.append("harmed", vec![stated(50, &other)]).unwrap();
        engine.close().unwrap();
        let engine = place.open();
        engine.append("harmed", vec![stated(51, &From::Numbered { source: 1, seq: 4, part: None })]).unwrap();
        drop(engine);
        assert_eq!(harm_rows(&place.path(), Stream::FIRST, MARKS, harm), 2);
        let engine = place.open();
        engine.append("other", vec![stated(60, &From::Host)]).unwrap();
        engine.checkpoint().unwrap();
        let again = |source, seq| engine.append("harmed", vec![stated(70, &From::Numbered { source, seq, part: None })]).unwrap().dropped;
        assert_eq!((again(0, 5), again(1, 4), again(0, 0)), (1, 1, 1), "{harm:?}");
        engine.close().unwrap();
        let engine = place.open();
        assert_eq!(engine.append("harmed", vec![stated(70, &From::Numbered { source: 1, seq: 4, part: None })]).unwrap().dropped, 1);
    }
}

/// A row key is what the storage crate says it is; a change there must change [`harm_rows`] too.
#[test]
fn rows_are_harmed_where_they_stand() {
    let place = read_up_to_5();
    let storage = turnstore_storage::Storage::open(&place.path(), &turnstore_storage::Options::default()).unwrap().storage;
    let reader = storage.reader().unwrap();
    let rows = |kind| reader.rows(Stream::FIRST, 0, kind, i64::MIN..=i64::MAX, None, turnstore_storage::Direction::Forward).unwrap();
    let keys: Vec<RowKey> =
        rows(MARKS).map(|row| RowKey { stream: Stream::FIRST, epoch: 0, kind: MARKS, ordinal: row.unwrap().0 }).collect();
    assert_eq!(keys.len(), 1);
    drop(reader);
    storage.close().unwrap();
    assert_eq!(harm_rows(&place.path(), Stream::FIRST, MARKS, Harm::Checksum), 1);
    let storage = turnstore_storage::Storage::open(&place.path(), &turnstore_storage::Options::default()).unwrap().storage;
    let read = storage.reader().unwrap().row(&keys[0], None);
    assert!(matches!(read, Err(turnstore_storage::Error::Corrupt(_))), "{read:?}");
}
