//! What anything costs does not grow with the session or the log: counted in bytes and reads, never in time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test fails by panicking, its helpers too"
)]

mod host;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use host::medium::{Cost, Watched};
use host::*;
use turnstore::fact::Fact;
use turnstore::{Durability, Engine, From, Next, PayloadRef, Position, Seq, View, Window};

/// Events in one append here.
const BATCH: usize = 90;

fn buffered(place: &Place, watched: &Watched) -> Engine {
    Engine::options().durability(Durability::Buffered).medium(Arc::new(watched.clone())).open(place.path()).unwrap()
}

/// `count` events of a conversation from turn `from` on; nine events a turn.
fn events(from: usize, count: usize) -> Vec<Fact<'static>> {
    (from..from + count / 9).flat_map(conversation_turn).collect()
}

/// Fills a session with about `count` events, a checkpoint every `every` of them.
fn fill(engine: &Engine, session: &str, count: usize, every: usize) -> usize {
    let mut written = 0;
    while written < count {
        engine.append(session, events(written / 9, BATCH)).unwrap();
        written += BATCH;
        if written % every < BATCH {
            engine.checkpoint().unwrap();
        }
    }
    written
}

fn lengths() -> [usize; 4] {
    [100, 1_000, 10_000, 100_000]
}

/// L3: the reads of every question, at a length.
fn costs_at(length: usize) -> Vec<(&'static str, Cost)> {
    let place = Place::new();
    let watched = Watched::new(&place.path());
    let engine = buffered(&place, &watched);
    engine.append("s", [turn("begin"), asked("q")]).unwrap();
    fill(&engine, "s", length, 2_000);
    engine.append("s", [called("large"), answered("large", &"x".repeat(50_000))]).unwrap();
    engine.close().unwrap();
    // No page of the file is kept in memory, and no page of a session: every question goes to the files.
    let limits = turnstore::Limits { page_cache_bytes_max: 0, ..turnstore::Limits::default() };
    let options = Engine::options().medium(Arc::new(watched.clone())).cache_bytes_max(0).limits(limits);
    let engine = options.open(place.path()).unwrap();
    let view = engine.view();
    let cost = |ask: &dyn Fn(&View)| {
        watched.read_since();
        ask(&view);
        watched.read_since()
    };
    let deep = deep_cursor(&view, length / 40);
    let payload = payload_of(&view);
    let middle = Seq::new(length as u64 / 2).unwrap();
    vec![
        ("window", cost(&|view| assert_eq!(view.window("s", Window::items(20)).unwrap().items().count(), 20))),
        ("oldest", cost(&|view| assert_eq!(view.oldest("s", Window::items(20)).unwrap().items().count(), 20))),
        ("page", cost(&|view| assert!(view.page("s", &deep, Window::items(20)).unwrap().items().count() > 5))),
        ("pending", cost(&|view| assert_eq!(waiting(view, "s"), ["q"]))),
        ("pending everywhere", cost(&|view| assert_eq!(view.pending_everywhere(10, None).unwrap().pending.len(), 1))),
        ("session", cost(&|view| assert!(view.session("s").unwrap().is_some()))),
        ("sessions", cost(&|view| assert_eq!(view.sessions(10, None).unwrap().sessions.len(), 1))),
        ("payload", cost(&|view| assert_eq!(view.payload(&payload).unwrap().as_str().len(), 50_000))),
        ("one event", cost(&|view| assert_eq!(view.events("s", middle).unwrap().next().unwrap().unwrap().seq(), middle))),
        ("log", cost(&|view| assert!(view.log(Position::new(middle.get()).unwrap()).unwrap().next().unwrap().is_ok()))),
    ]
}

/// A cursor about the middle of the timeline.
fn deep_cursor(view: &View, pages: usize) -> turnstore::Cursor {
    let mut page = view.window("s", Window::items(10)).unwrap();
    for _ in 0..pages.min(40) {
        match page.cursor() {
            Some(cursor) if page.has_older() => page = view.page("s", &cursor, Window::items(10)).unwrap(),
            _ => break,
        }
    }
    page.newer_cursor()
}

fn payload_of(view: &View) -> PayloadRef {
    let page = view.window("s", Window::items(1)).unwrap();
    let Some(turnstore::ItemKind::Tool(call)) = page.items().next().map(|item| item.kind()) else { panic!("no call") };
    call.results().next().unwrap().content().unwrap().payload().unwrap()
}

#[test]
fn every_question_reads_as_much_however_long_the_session_is() {
    let costs = lengths().map(costs_at);
    for (length, at) in lengths().into_iter().zip(&costs) {
        for (what, cost) in at {
            let few = cost.reads > 0 && cost.reads <= 32 && cost.bytes <= 128 << 10;
            assert!(few, "{what} at {length} events: {cost:?}");
        }
    }
    // Ten times the events: a tree that is a level higher costs one more page for each place that is looked up, until 10,000 also a frame
    // of the log that is not full.
    for (tenth, (reads, bytes)) in [(1, (8, 40 << 10)), (2, (4, 24 << 10))] {
        for ((what, before), (_, cost)) in costs[tenth].iter().zip(&costs[tenth + 1]) {
            let flat = cost.reads <= before.reads + reads && cost.bytes <= before.bytes + bytes;
            assert!(flat, "{what} at {} events: {before:?}, at ten times as many: {cost:?}", lengths()[tenth]);
        }
    }
}

#[test]
fn lists_read_as_much_however_many_sessions_there_are() {
    let at = |sessions: usize| {
        let place = Place::new();
        let watched = Watched::new(&place.path());
        let engine = buffered(&place, &watched);
        let tickets: Vec<_> = (0..sessions).map(|n| engine.submit(&format!("s{n}"), [user("u", "hello"), asked("q")]).unwrap()).collect();
        tickets.into_iter().for_each(|ticket| assert!(ticket.wait().is_ok()));
        engine.close().unwrap();
        let engine = Engine::options().medium(Arc::new(watched.clone())).cache_bytes_max(0).open(place.path()).unwrap();
        watched.read_since();
        assert_eq!(engine.view().sessions(20, None).unwrap().sessions.len(), 20);
        let sessions = watched.read_since();
        assert_eq!(engine.view().pending_everywhere(20, None).unwrap().pending.len(), 20);
        (sessions, watched.read_since())
    };
    let (few, many) = (at(100), at(5_000));
    for (few, many) in [(few.0, many.0), (few.1, many.1)] {
        assert!(few.reads > 0 && many.reads <= few.reads * 2 && many.bytes <= few.bytes * 2, "{few:?} of 100 sessions, {many:?} of 5,000");
    }
}

/// Bytes an event: in the tables, in the closed file, and written on the way there.
fn growth_at(length: usize) -> [u64; 3] {
    let place = Place::new();
    let watched = Watched::new(&place.path());
    let engine = buffered(&place, &watched);
    watched.written_since();
    let count = fill(&engine, "s", length, 1_000) as u64;
    engine.checkpoint().unwrap();
    let written = watched.written_since();
    let stored: u64 = engine.stats().unwrap().tables.iter().map(|table| table.stored_bytes).sum();
    engine.close().unwrap();
    let file = std::fs::metadata(place.path()).unwrap().len();
    [stored / count, file / count, written / count]
}

#[test]
fn a_store_grows_with_its_events_and_writes_in_proportion() {
    let growth = lengths().map(growth_at);
    for (length, [stored, file, written]) in lengths().into_iter().zip(growth).skip(2) {
        assert!(stored * 4 <= growth[1][0] * 5, "bytes stored an event, at {length} events: {growth:?}");
        assert!(file * 4 <= growth[1][1] * 5, "bytes in the file an event, at {length} events: {growth:?}");
        // Ids lie in the tree by their digests: in a large store each new one changes a page of its own, and no more than that.
        assert!(written <= 4096, "bytes written an event, at {length} events: {growth:?}");
    }
}

/// Bytes of the tables and of the closed file after many checkpoints, with or without a view held all the time.
fn with_a_view(held: bool) -> (u64, u64) {
    let place = Place::new();
    let engine = Engine::options().durability(Durability::Buffered).open(place.path()).unwrap();
    fill(&engine, "s", 3_000, 1_000);
    engine.append("quiet", [user("u", "hello"), asked("q")]).unwrap();
    let view = held.then(|| engine.view());
    let before = view.as_ref().map(|view| (timeline(view, "s"), waiting(view, "quiet"), view.hash("s").unwrap(), view.position()));
    for n in 0..200 {
        engine.append("s", events(1_000 + n * 5, 45)).unwrap();
        engine.append(&format!("s{}", n % 20), [user(&format!("m{n}"), "words")]).unwrap();
        let checkpointed = engine.checkpoint().unwrap();
        assert_eq!(checkpointed, engine.view().position());
    }
    if let (Some(view), Some((lines, pending, hash, position))) = (&view, before) {
        assert_eq!((timeline(view, "s"), waiting(view, "quiet")), (lines, pending));
        assert_eq!((view.hash("s").unwrap(), view.position()), (hash, position));
        assert!(matches!(view.window("s0", Window::default()), Err(turnstore::Error::NoSession { .. })));
    }
    let stored = engine.stats().unwrap().tables.iter().map(|table| table.stored_bytes).sum();
    engine.close().unwrap();
    (stored, std::fs::metadata(place.path()).unwrap().len())
}

#[test]
fn a_view_that_is_held_for_long_pins_nothing_and_answers_as_before() {
    let (without, with) = (with_a_view(false), with_a_view(true));
    assert!(with.0 * 10 <= without.0 * 11 && with.1 * 10 <= without.1 * 11, "{with:?} bytes with a view, {without:?} without");
}

/// What a view answers of a session that grows and changes.
fn remembered(view: &View) -> (Vec<String>, Vec<String>, turnstore::StateHash) {
    (timeline_by(view, "s", 50), waiting(view, "s"), view.hash("s").unwrap())
}

/// Ends the other thread, also when this one fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn views_of_many_checkpoints_all_answer_as_they_did_while_checkpoints_go_on() {
    let place = Place::new();
    let limits = turnstore::Limits {
        page_cache_bytes_max: 0,
        events_between_checkpoints_max: 50,
        idle_sessions_max: 0,
        ..turnstore::Limits::default()
    };
    let engine = Engine::options().durability(Durability::Buffered).limits(limits).open(place.path()).unwrap();
    engine.append("s", [user("first", "x")]).unwrap();
    let appended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let checkpoints = scope.spawn(|| {
            while !appended.load(Ordering::Acquire) {
                engine.checkpoint().unwrap();
            }
        });
        let ends = Ends(&appended);
        let mut held = Vec::new();
        for n in 0..150 {
            // An old message goes on, so that pages far back change too.
            let facts = vec![
                assistant(&format!("m{n}")),
                delta(&format!("m{}", n / 2), " more"),
                asked(&format!("q{n}")),
                decided(&format!("q{}", n / 2), "d", "1"),
            ];
            engine.append("s", facts).unwrap();
            if n % 2 == 0 {
                // Nothing of it is in memory for this view.
                engine.checkpoint().unwrap();
            }
            let view = engine.view();
            if n % 3 == 0 {
                held.push((remembered(&view), view));
            }
            if n % 7 == 0 {
                held.swap_remove(0);
            }
        }
        drop(ends);
        checkpoints.join().unwrap();
        assert!(held.len() > 20);
        for (before, view) in &held {
            assert_eq!(&remembered(view), before, "at {:?}", view.position());
        }
    });
    assert_eq!(engine.view().verify(&mut |_| {}).unwrap().difference, None);
}

#[test]
fn a_queue_that_is_bounded_by_bytes_takes_every_append_in_its_order() {
    let place = Place::new();
    let limits = turnstore::Limits { queue_bytes_max: 1_000, ..turnstore::Limits::default() };
    let engine = Engine::options().durability(Durability::Buffered).limits(limits).open(place.path()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                let (session, mut tickets) = (format!("s{thread}"), Vec::new());
                for n in 0..100 {
                    let text = "x".repeat(if n % 20 == 0 { 5_000 } else { 300 });
                    tickets.push(engine.submit(&session, [user(&format!("m{n}"), &text)]).unwrap());
                }
                let seqs: Vec<u64> = tickets.into_iter().map(|ticket| ticket.wait().unwrap().seq).collect();
                assert_eq!(seqs, (1..=100).collect::<Vec<_>>());
            });
        }
    });
}

/// How many checkpoints a rebuild makes of a session, each a flush of what it holds in memory.
fn flushes(limits: turnstore::Limits) -> usize {
    let place = Place::new();
    let engine = place.open();
    for n in 0..40 {
        engine.append("s", [called(&format!("c{n}")), answered(&format!("c{n}"), &"found ".repeat(2_000))]).unwrap();
    }
    let expected = timeline(&engine.view(), "s");
    engine.close().unwrap();
    // No checkpoint is too near to another to be kept.
    let limits = turnstore::Limits { events_between_checkpoints_max: 0, ..limits };
    turnstore::rebuild(&place.path(), Engine::options().limits(limits), &mut |_| {}).unwrap();
    let view = place.read().view();
    assert_eq!((timeline(&view, "s"), view.verify(&mut |_| {}).unwrap().difference), (expected, None));
    let storage = host::harm::storage(&place.path());
    let bounds = (std::ops::Bound::Included(&[3][..]), std::ops::Bound::Excluded(&[4][..]));
    let listed = storage.reader().unwrap().index(bounds, turnstore_storage::Direction::Forward).unwrap().count();
    storage.close().unwrap();
    listed
}

#[test]
fn a_rebuild_writes_what_it_holds_after_so_many_bytes_too() {
    assert_eq!(flushes(turnstore::Limits::default()), 1);
    let few_bytes = turnstore::Limits { tail_bytes_hard_max: 100_000, ..turnstore::Limits::default() };
    let listed = flushes(few_bytes);
    assert!((4..=6).contains(&listed), "480 kB in {listed} flushes");
}

const CHILD: &str = "TURNSTORE_BOUNDED_CHILD";
const PAUSED: &str = "a_paused_subscriber_holds_no_memory_after_a_million_events";

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

fn many(engine: &Engine, from: usize, to: usize) {
    for first in (from..to).step_by(1_000) {
        let text = |n: usize| if n == first { assistant(&format!("m{first}")) } else { delta(&format!("m{first}"), "some words of text ") };
        engine.append("s", (first..first + 1_000).map(text).collect::<Vec<_>>()).unwrap();
    }
}

/// A process of its own, so that its memory is its own: prints by how much it grew.
fn pause(path: &Path) {
    let engine = Engine::options().durability(Durability::Buffered).open(path).unwrap();
    many(&engine, 0, 100_000);
    let mut all = engine.subscribe(From::Start).unwrap();
    let mut one = engine.subscribe_session("s", From::Start).unwrap();
    for paused in [&mut all, &mut one] {
        assert!(matches!(paused.next_within(std::time::Duration::ZERO).unwrap(), Next::Event(event) if event.seq() == Seq::FIRST));
    }
    let before = resident_bytes().unwrap();
    many(&engine, 100_000, 1_100_000);
    let after = resident_bytes().unwrap();
    println!("\ngrew {}", after.saturating_sub(before));
    // They go on where they stopped, to the end.
    for paused in [&mut all, &mut one] {
        for expected in 2..=1_100_000 {
            let Next::Event(event) = paused.next_within(std::time::Duration::ZERO).unwrap() else { panic!("nothing at {expected}") };
            assert_eq!(event.seq().get(), expected);
        }
    }
    println!("\nfollowed {}", resident_bytes().unwrap().saturating_sub(before));
}

#[test]
fn a_paused_subscriber_holds_no_memory_after_a_million_events() {
    if let Some(path) = std::env::var_os(CHILD) {
        return pause(Path::new(&path));
    }
    if resident_bytes().is_none() {
        println!("skipped: this system does not tell a process its memory");
        return;
    }
    let place = Place::new();
    let child =
        Command::new(std::env::current_exe().unwrap()).args(["--exact", PAUSED, "--nocapture"]).env(CHILD, place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}{}", String::from_utf8_lossy(&child.stderr));
    for what in ["grew ", "followed "] {
        let bytes: u64 = said.lines().find_map(|line| line.strip_prefix(what)).unwrap().parse().unwrap();
        assert!(bytes < 64 << 20, "{what}{} MiB", bytes >> 20);
    }
}
