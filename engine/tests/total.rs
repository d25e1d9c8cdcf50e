//! L10: the reducer accepts every fact of every kind, in any order, whatever it holds; what does not fit is a diagnostic.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test fails by panicking, its helpers too"
)]

mod host;
mod support;

use std::collections::{BTreeMap, BTreeSet};

use host::{Place, killed};
use proptest::prelude::*;
use support::hostile::{hostile, of_kind};
use support::{Desk, Made};
use turnstore::fact::{Fact, Kind};
use turnstore::state::RowKind;
use turnstore::{Batch, Engine, Error, Seq, View, Window};

/// Rows of a fold, but texts: of those that were replaced some stay behind.
fn rows(desk: &mut Desk) -> BTreeMap<turnstore::state::RowRef, Vec<u8>> {
    desk.canonical().into_iter().filter(|(row, _)| !matches!(row.kind, RowKind::Text | RowKind::ShelfText)).collect()
}

/// Words for the status of a turn that the facts state, and those that there are for what was not stated: of the reducer, and of a view of a dead process.
fn stated(facts: &[Made]) -> BTreeSet<String> {
    let mut words = BTreeSet::from(["running", "unknown", "unobserved"].map(str::to_owned));
    for fact in facts {
        match fact {
            Fact::TurnEnded(ended) => words.extend([ended.status.to_string()]),
            Fact::CurrentTurnAsserted(asserted) => words.extend(asserted.current.as_ref().map(|current| current.status.to_string())),
            Fact::HistoryImported(history) => {
                words.extend(history.turns.iter().filter_map(|turn| turn.status.as_deref().map(str::to_owned)))
            }
            _ => {}
        }
    }
    words
}

/// Reads all there is to read; every read must succeed. Answers the statuses of the turns.
fn read_all(view: &View) -> BTreeSet<String> {
    let mut statuses = BTreeSet::new();
    let mut page = view.window("s", Window::items(7)).unwrap();
    loop {
        for item in page.items() {
            assert!(!host::line(&item).is_empty());
        }
        statuses.extend(page.turns().filter_map(|turn| turn.turn()).map(|turn| turn.status().to_owned()));
        match page.cursor() {
            Some(cursor) => page = view.page("s", &cursor, Window::items(7)).unwrap(),
            None => break,
        }
    }
    view.pending("s").unwrap().interactions().for_each(|asked| assert!(asked.id().len() < 1 << 20));
    view.artifacts("s").unwrap().for_each(|listed| assert!(listed.is_ok()));
    view.diagnostics("s").unwrap().for_each(|listed| assert!(listed.is_ok()));
    for document in view.documents("s").unwrap() {
        let name = document.unwrap().name;
        assert!(view.document("s", &name).is_ok(), "{name}");
    }
    statuses
}

/// What the engine takes: the rest is refused with a reason, and leaves nothing.
fn accepted(engine: &Engine, facts: &[Made]) -> Vec<Made> {
    let take = |fact: &&Made| match engine.append("s", Batch::of([(*fact).clone()])) {
        Ok(_) => true,
        Err(Error::Rejected { .. } | Error::TooLarge { .. }) => false,
        Err(error) => panic!("{error}: {fact:?}"),
    };
    facts.iter().filter(take).cloned().collect()
}

#[test]
fn every_kind_is_generated() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    assert_eq!(Kind::ALL.len(), 25);
    for kind in Kind::ALL {
        for _ in 0..20 {
            let fact = of_kind(kind.0).new_tree(&mut runner).unwrap();
            assert_eq!(proptest::strategy::ValueTree::current(&fact).kind(), *kind);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_fact_is_folded_and_eviction_changes_nothing_of_it(steps in proptest::collection::vec((hostile(), 0_u8..8), 1..80)) {
        let (mut straight, mut cut) = (Desk::new(), Desk::new());
        for (seq, (fact, what)) in (1..).zip(&steps) {
            straight.fold(fact);
            cut.fold(fact);
            prop_assert_eq!(straight.session.state.header().last_seq, seq);
            match what {
                0 => cut.evict(),
                1 | 2 => cut.checkpoint(),
                _ => {}
            }
        }
        prop_assert_eq!(rows(&mut straight), rows(&mut cut));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn what_was_taken_is_read_back_whole_and_no_status_is_invented(facts in proptest::collection::vec(hostile(), 1..60)) {
        let place = Place::new();
        let engine = place.open();
        let taken = accepted(&engine, &facts);
        prop_assume!(!taken.is_empty());
        let words = stated(&taken);
        let engine = killed(engine, &place);
        for engine in [engine.clone(), engine] {
            let view = engine.view();
            let statuses = read_all(&view);
            prop_assert!(statuses.is_subset(&words), "{:?} of {:?}", statuses, words);
            let kinds: Vec<Kind> = view.events("s", Seq::FIRST).unwrap().map(|event| match event.unwrap().event().unwrap().body {
                turnstore::event::Body::Fact(fact) => fact.kind(),
                turnstore::event::Body::Unknown { kind, .. } => kind,
            }).collect();
            prop_assert_eq!(kinds, taken.iter().map(Fact::kind).collect::<Vec<_>>());
            prop_assert_eq!(view.verify(&mut |_| {}).unwrap().difference, None);
            engine.checkpoint().unwrap();
        }
    }
}
