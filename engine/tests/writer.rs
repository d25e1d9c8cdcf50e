//! The writer under its callers: sources, keys and checkpoints that meet in one turn.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, Ordering};

use turnstore::event::{Owner, Protocol, Source, Stated};
use turnstore::fact::{Fact, SessionChanged};
use turnstore::{Batch, Engine, Seq};

fn titled(title: &str) -> Fact<'static> {
    Fact::SessionChanged(SessionChanged { title: Some(title.to_owned().into()), ..SessionChanged::default() })
}

fn sourced(seq: u64) -> Stated<'static> {
    let source = Source { protocol: Protocol::HOST, stream: Some(("source".into(), seq)), ..Source::default() };
    Stated { fact: titled(&format!("title {seq}")), source, owner: Owner::HOST, ext: None }
}

fn engine() -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("agent.turnstore")).unwrap();
    (dir, engine)
}

#[test]
fn a_source_that_numbers_from_zero_loses_nothing_and_doubles_nothing() {
    let (dir, engine) = engine();
    let first = engine.append("s", Batch::of([sourced(0), sourced(1)])).unwrap();
    assert_eq!((first.appended, first.dropped), (2, 0));
    engine.close().unwrap();
    let engine = Engine::open(dir.path().join("agent.turnstore")).unwrap();
    let again = engine.append("s", Batch::of([sourced(0), sourced(1), sourced(2)])).unwrap();
    assert_eq!((again.appended, again.dropped, again.seq), (1, 2, 3));
}

#[test]
fn one_key_submitted_many_times_at_once_is_appended_once_and_answered_alike() {
    let (_dir, engine) = engine();
    let tickets: Vec<_> = (0..64).map(|_| engine.submit("s", Batch::of([titled("t"), titled("u")]).key("k")).unwrap()).collect();
    let receipts: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().unwrap()).collect();
    assert_eq!(receipts.iter().filter(|receipt| !receipt.duplicate).count(), 1);
    for receipt in &receipts {
        assert_eq!((receipt.first, receipt.last, receipt.seq), (receipts[0].first, receipts[0].last, 2));
    }
    assert_eq!(engine.view().events("s", Seq::FIRST).unwrap().count(), 2);
}

#[test]
fn an_append_that_is_refused_leaves_no_session_behind() {
    let (_dir, engine) = engine();
    assert!(engine.append("refused", Batch::of([titled("t")]).expect(3)).is_err());
    engine.append("other", titled("o")).unwrap();
    engine.append("refused", titled("r")).unwrap();
    let view = engine.view();
    for (session, title) in [("other", "o"), ("refused", "r")] {
        assert_eq!(view.events(session, Seq::FIRST).unwrap().count(), 1);
        assert_eq!(view.session(session).unwrap().unwrap().header.title.as_deref(), Some(title));
    }
}

#[test]
fn a_checkpoint_returns_while_appends_go_on() {
    let (_dir, engine) = engine();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                engine.append("busy", titled("t")).unwrap();
            }
        });
        let before = engine.append("s", titled("t")).unwrap();
        let reached = engine.checkpoint().unwrap();
        stop.store(true, Ordering::Relaxed);
        assert!(reached >= before.last);
        assert!(engine.view().checkpoint() >= before.last);
    });
}
