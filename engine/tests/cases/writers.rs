//! Two that write at once, and numbers minted twice: 14, 15, 17, 24, 59.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::host::*;
use turnstore::event::{Source, Stated};
use turnstore::{Batch, Durability, Engine, Error, Seq, Stream};
use turnstore_storage::Storage;

/// 14
#[test]
fn of_two_answers_to_the_same_message_the_second_is_a_conflict_and_not_a_hidden_branch() {
    let place = Place::new();
    let engine = place.open();
    let seen = engine.append("s", [user("u1", "hello")]).unwrap().seq;
    let first = engine.append("s", Batch::of([user("a1", "one")]).expect(seen)).unwrap();
    let second = engine.append("s", Batch::of([user("a2", "two")]).expect(seen));
    assert!(matches!(second, Err(Error::Conflict { expected: 1, actual: 2, .. })), "{second:?}");
    always(engine, &place, |engine| {
        assert_eq!(timeline(&engine.view(), "s"), ["user u1: hello", "user a1: one"]);
    });
    let again = place.open().append("s", Batch::of([user("a2", "two")]).expect(first.seq)).unwrap();
    assert_eq!(again.seq, 3);
}

/// 15
#[test]
fn threads_that_append_to_one_session_never_get_the_same_seq() {
    let place = Place::new();
    let engine = place.open();
    let mut seqs: Vec<u64> = std::thread::scope(|scope| {
        let write = |thread: usize| {
            let engine = engine.clone();
            scope
                .spawn(move || (0..50).map(|n| engine.append("s", [user(&format!("m{thread}-{n}"), "x")]).unwrap().seq).collect::<Vec<_>>())
        };
        (0..8).map(write).collect::<Vec<_>>().into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=400).collect::<Vec<_>>());
    let engine = killed(engine, &place);
    let stored: Vec<u64> = engine.view().events("s", Seq::FIRST).unwrap().map(|event| event.unwrap().seq().get()).collect();
    assert_eq!(stored, seqs);
    assert_eq!(timeline(&engine.view(), "s").len(), 400);
    assert_eq!(engine.view().verify(&mut |_| {}).unwrap().difference, None);
}

/// 15, 17: a second event of one seq cannot come into a log.
#[test]
fn a_seq_that_is_taken_is_refused_when_it_is_written() {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", [user("u1", "hello"), user("u2", "again")]).unwrap();
    engine.close().unwrap();
    let storage = Storage::open(&place.path(), &turnstore_storage::Options::default()).unwrap().storage;
    for taken in [1, 2, 4] {
        let mut frame = storage.begin_frame();
        let pushed = frame.push(Stream::FIRST, Seq::new(taken).unwrap(), b"x");
        assert!(matches!(pushed, Err(turnstore_storage::Error::SeqGap { .. })), "{pushed:?}");
    }
    storage.close().unwrap();
    assert_eq!(timeline(&place.open().view(), "s"), ["user u1: hello", "user u2: again"]);
}

fn from_source(seq: u64, fact: turnstore::fact::Fact<'static>) -> Stated<'static> {
    Stated { source: Source { stream: Some(("rollout".into(), seq)), ..Source::default() }, ..Stated::from(fact) }
}

/// 17: a source that numbers two events alike loses the second, visibly, and nothing after it.
#[test]
fn a_number_that_a_source_gives_twice_counts_once_and_the_projection_goes_on() {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", vec![from_source(1, user("u1", "one")), from_source(2, user("u2", "two"))]).unwrap();
    let twice = engine.append("s", vec![from_source(2, user("u2b", "two again"))]).unwrap();
    assert_eq!((twice.appended, twice.dropped, twice.first, twice.seq), (0, 1, None, 2));
    let mixed = engine.append("s", vec![from_source(2, user("u2c", "and again")), from_source(3, user("u3", "three"))]).unwrap();
    assert_eq!((mixed.appended, mixed.dropped, mixed.seq), (1, 1, 3));
    let engine = killed(engine, &place);
    assert_eq!(engine.append("s", vec![from_source(3, user("u3b", "x"))]).unwrap().dropped, 1);
    assert_eq!(timeline(&engine.view(), "s"), ["user u1: one", "user u2: two", "user u3: three"]);
    assert_eq!(engine.view().verify(&mut |_| {}).unwrap().difference, None);
}

/// 17: batching makes no difference to what counts as a repeat.
#[test]
fn a_number_that_falls_back_within_a_batch_is_dropped_as_it_is_between_batches() {
    let facts = || [from_source(5, user("a", "a")), from_source(3, user("b", "b")), from_source(6, user("c", "c"))];
    let (one, many) = (Place::new(), Place::new());
    let (one, many) = (one.open(), many.open());
    let whole = one.append("s", facts().to_vec()).unwrap();
    let dropped: usize = facts().into_iter().map(|fact| many.append("s", vec![fact]).unwrap().dropped).sum();
    assert_eq!(timeline(&many.view(), "s"), ["user a: a", "user c: c"]);
    assert_eq!((timeline(&one.view(), "s"), whole.dropped), (timeline(&many.view(), "s"), dropped));
}

/// 24
#[test]
fn a_session_that_is_there_is_not_created_again() {
    let place = Place::new();
    let engine = place.open();
    let create = |title: &str| Batch::of([user("u", title)]).expect(0);
    engine.append("2026-01-01T00:00:00", create("first")).unwrap();
    always(engine, &place, |engine| {
        let second = engine.append("2026-01-01T00:00:00", create("second"));
        assert!(matches!(second, Err(Error::Conflict { expected: 0, actual: 1, .. })), "{second:?}");
        assert_eq!(timeline(&engine.view(), "2026-01-01T00:00:00"), ["user u: first"]);
        assert_eq!(engine.view().sessions(10, None).unwrap().sessions.len(), 1);
    });
}

const CHILD: &str = "TURNSTORE_CASES_HOLDER";

/// Holds the store until it is killed.
fn hold(path: &Path) -> ! {
    let engine = Engine::open(path).unwrap();
    engine.append("s", [user("u", "of the holder")]).unwrap();
    println!("\nholding");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    panic!("nobody killed it");
}

fn holder(path: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writers::a_second_writer_is_refused_in_bounded_time_and_the_lock_of_a_dead_one_is_free", "--nocapture"])
        .env(CHILD, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok).any(|line| line == "holding");
    assert!(said, "the child does not hold the store");
    child
}

/// 59
#[test]
fn a_second_writer_is_refused_in_bounded_time_and_the_lock_of_a_dead_one_is_free() {
    if let Some(path) = std::env::var_os(CHILD) {
        hold(Path::new(&path));
    }
    let place = Place::new();
    let mut child = holder(&place.path());
    let path = place.path();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let open = || scope.spawn(|| Engine::options().lock_wait_ms_max(50).open(&path).map(|_| ()));
        (0..8).map(|_| open()).collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for outcome in outcomes {
        assert!(matches!(outcome, Err(Error::Storage(turnstore_storage::Error::Locked))), "{outcome:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let engine = place.open();
    assert_eq!(engine.append("s", [user("u2", "of the next")]).unwrap().durability, Durability::Durable);
    assert_eq!(timeline(&engine.view(), "s"), ["user u: of the holder", "user u2: of the next"]);
}
