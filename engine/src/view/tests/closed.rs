//! Closing: once, by whoever comes first, and whatever is still held.

use super::*;
use crate::{Error, Position, Seq, Sharing, View, Window};
use std::sync::Barrier;

fn filled(sharing: Sharing) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::options().sharing(sharing).open(folder.path().join("store")).unwrap();
    let fixture = Fixture { folder, engine };
    fixture.append("s", conversation(3, 3));
    fixture.append("s", vec![asked("q")]);
    fixture.engine.checkpoint().unwrap();
    fixture.append("other", conversation(1, 1));
    fixture
}

/// Every kind of read; the error of those that fail.
fn answers(view: &View) -> Vec<Result<(), Error>> {
    vec![
        view.window("s", Window::default()).map(|_| ()),
        view.window("other", Window::default()).map(|_| ()),
        view.session("s").map(|_| ()),
        view.sessions(10, None).map(|_| ()),
        view.pending("s").map(|_| ()),
        view.pending_everywhere(10, None).map(|_| ()),
        view.hash("s").map(|_| ()),
        view.events("s", Seq::FIRST).and_then(|mut events| events.try_for_each(|event| event.map(|_| ()))),
        view.log(Position::FIRST).and_then(|mut events| events.try_for_each(|event| event.map(|_| ()))),
        view.documents("s").map(|_| ()),
        view.diagnostics("s").map(|_| ()),
        view.verify(&mut |_| {}).map(|_| ()),
    ]
}

#[test]
fn of_clones_that_close_at_once_one_closes_and_the_others_are_told_when_it_is_closed() {
    for _ in 0..10 {
        let Fixture { folder, engine } = filled(Sharing::Followers);
        let start = Barrier::new(4);
        let outcomes: Vec<Result<(), Error>> = std::thread::scope(|scope| {
            let close = |engine: Engine| {
                let (start, path) = (&start, folder.path().join("store"));
                scope.spawn(move || {
                    start.wait();
                    let outcome = engine.close();
                    // Told means done: there is no tail any more.
                    assert!(!path.with_file_name("store-tail").exists());
                    outcome
                })
            };
            let closing: Vec<_> = (0..3).map(|_| close(engine.clone())).collect();
            start.wait();
            // Until it is told otherwise, an append is acknowledged.
            let mut acknowledged = 0;
            let refused = loop {
                match engine.append("more", Batch::of(text(&format!("m{acknowledged}"), "x"))) {
                    Ok(_) => acknowledged += 1,
                    Err(error) => break error,
                }
            };
            assert!(matches!(refused, Error::Closed), "{refused:?}");
            let outcomes = closing.into_iter().map(|closed| closed.join().unwrap()).collect();
            let again = Engine::open(folder.path().join("store")).unwrap();
            let there = again.view().session("more").unwrap().map_or(0, |session| session.header.items);
            assert_eq!(there, acknowledged);
            outcomes
        });
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
        assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::Closed))).count(), 2, "{outcomes:?}");
        assert!(matches!(engine.close(), Err(Error::Closed)));
    }
}

#[test]
fn what_outlives_an_engine_locks_no_file_and_answers_closed() {
    for sharing in [Sharing::Followers, Sharing::Exclusive] {
        for closed in [true, false] {
            let Fixture { folder, engine } = filled(sharing);
            let path = folder.path().join("store");
            let view = engine.view();
            let page = view.window("s", Window::items(5)).unwrap();
            let (shown, mut documents, mut events) = (ids(&page), view.documents("s").unwrap(), view.events("s", Seq::FIRST).unwrap());
            let mut subscription = engine.subscribe(crate::From::Start).unwrap();
            if closed {
                engine.close().unwrap();
            } else {
                drop(engine);
            }
            let engine = Engine::options().sharing(sharing).open(&path).unwrap();
            engine.append("s", Batch::of(text("m", "x"))).unwrap();
            for (read, answer) in answers(&view).into_iter().enumerate() {
                assert!(matches!(answer, Err(Error::Closed)), "read {read} of a view whose engine is gone: {answer:?}");
            }
            assert!(matches!(events.next(), Some(Err(Error::Closed))) && events.next().is_none());
            assert!(documents.next().is_none_or(|document| matches!(document, Err(Error::Closed))));
            assert!(subscription.next().is_none());
            assert_eq!(ids(&page), shown);
            engine.close().unwrap();
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
}

#[test]
fn a_read_that_is_under_way_while_the_store_closes_is_whole_or_closed() {
    for round in 0..12 {
        let Fixture { folder: _folder, engine } = filled(Sharing::Followers);
        let view = engine.view();
        let start = Barrier::new(3);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    start.wait();
                    loop {
                        let answers = answers(&view);
                        let failed = answers.iter().find(|answer| !matches!(answer, Ok(()) | Err(Error::Closed)));
                        assert!(failed.is_none(), "{failed:?}");
                        if answers.iter().all(Result::is_err) {
                            return;
                        }
                    }
                });
            }
            start.wait();
            std::thread::yield_now();
            if round % 2 == 0 { engine.close().unwrap() } else { drop(engine) }
        });
    }
}
