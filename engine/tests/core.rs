//! Laws of the pure core: folding is total, and equal however it was cut, evicted and hydrated.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use proptest::prelude::*;
use support::{Desk, fact, facts};
use turnstore::state::RowKind;

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    /// L2: a fold that is checkpointed, evicted and hydrated at any moments equals the straight one, row by row.
    #[test]
    fn replay_equals_live_whatever_was_evicted(steps in proptest::collection::vec((fact(), 0_u8..8), 1..120)) {
        let mut straight = Desk::new();
        let mut cut = Desk::new();
        for (fact, what) in &steps {
            straight.fold(fact);
            cut.fold(fact);
            match what {
                0 => cut.evict(),
                1 | 2 => cut.checkpoint(),
                _ => {}
            }
        }
        let (straight, cut) = (straight.canonical(), cut.canonical());
        for (row, bytes) in &straight {
            // A base or patch piece that no document counts any more is garbage in either.
            if matches!(row.kind, RowKind::ShelfText | RowKind::Text) {
                continue;
            }
            let other = cut.get(row).map(Vec::as_slice).unwrap_or_default();
            let place = bytes.iter().zip(other).position(|(one, two)| one != two);
            prop_assert!(place.is_none() && bytes.len() == other.len(), "{:?} differs at byte {:?} of {} and {}", row, place, bytes.len(), other.len());
        }
        prop_assert_eq!(straight.keys().filter(|row| row.kind == RowKind::Timeline).count(), cut.keys().filter(|row| row.kind == RowKind::Timeline).count());
    }

    /// L8: what is pending is exactly what was asked and neither resolved nor withdrawn, and eviction changes nothing of it.
    #[test]
    fn pending_survives_eviction(facts in facts(80)) {
        let mut kept = Desk::new();
        let mut evicted = Desk::new();
        for fact in &facts {
            kept.fold(fact);
            evicted.fold(fact);
            evicted.evict();
            prop_assert_eq!(&kept.session.state.header().pending, &evicted.session.state.header().pending);
        }
    }
}

/// Bytes written for a stream of n events are O(n), and rows read do not grow with it.
#[test]
fn work_for_an_event_does_not_grow_with_the_session() {
    use turnstore::fact::*;
    let mut costs = Vec::new();
    for events in [1_000_u64, 10_000, 100_000] {
        let mut desk = Desk::new();
        for n in 0..events {
            let message = Text::from(format!("message-{}", n / 25));
            let fact = match n % 25 {
                0 => Fact::PartOpened(PartOpened {
                    part: message.clone(),
                    message,
                    kind: PartKind::Text,
                    role: "assistant".into(),
                    name: None,
                    turn: None,
                    agent: None,
                    subtype: None,
                    content: None,
                    metadata: None,
                }),
                24 => Fact::DocumentPatched(DocumentPatched {
                    document: "state".into(),
                    patch: Json::new(format!("[{{\"op\":\"add\",\"path\":\"/k{}\",\"value\":{n}}}]", n % 50)).unwrap(),
                }),
                _ => Fact::PartDelta(PartDelta { part: message, kind: PartKind::Text, text: "some words of text ".into(), metadata: None }),
            };
            desk.fold(&fact);
            if n % 100 == 99 {
                desk.evict();
            }
        }
        costs.push((desk.bytes_written / events, desk.rows_read * 1000 / events));
    }
    let (first, last) = (costs[0], costs[2]);
    assert!(last.0 <= first.0 * 5 / 4, "bytes written an event grow: {costs:?}");
    assert!(last.1 <= first.1 * 5 / 4, "rows read an event grow: {costs:?}");
}

/// One text that grows for ever rewrites its tail only.
#[test]
fn a_growing_text_is_not_rewritten() {
    use turnstore::fact::*;
    let mut costs = Vec::new();
    for events in [1_000_u64, 10_000, 100_000] {
        let mut desk = Desk::new();
        desk.fold(&Fact::PartOpened(PartOpened {
            part: "m".into(),
            message: "m".into(),
            kind: PartKind::Text,
            role: "assistant".into(),
            name: None,
            turn: None,
            agent: None,
            subtype: None,
            content: None,
            metadata: None,
        }));
        for n in 0..events {
            desk.fold(&Fact::PartDelta(PartDelta {
                part: "m".into(),
                kind: PartKind::Text,
                text: "some words of text that go on ".into(),
                metadata: None,
            }));
            if n % 50 == 49 {
                desk.checkpoint();
            }
        }
        costs.push(desk.bytes_written / events);
    }
    assert!(costs[2] <= costs[0] * 5 / 4, "bytes written an event grow: {costs:?}");
}
