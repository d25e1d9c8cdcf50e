//! Events, payloads and subscriptions.

use super::*;
use crate::{From, Next, Position, Seq, Window};
use std::time::Duration;

#[test]
fn the_events_of_a_session_come_once_in_order_from_main_and_tail() {
    let fixture = Fixture::new();
    for round in 0..20 {
        fixture.append("s", conversation(2, 2));
        fixture.append("other", conversation(1, 3));
        if round % 7 == 6 {
            fixture.engine.checkpoint().unwrap();
        }
    }
    let view = fixture.engine.view();
    let seqs: Vec<u64> = view.events("s", Seq::FIRST).unwrap().map(|event| event.unwrap().seq().get()).collect();
    assert_eq!(seqs, (1..=20 * 12).collect::<Vec<_>>());
    let from: Vec<u64> = view.events("s", Seq::new(200).unwrap()).unwrap().map(|event| event.unwrap().seq().get()).collect();
    assert_eq!(from, (200..=240).collect::<Vec<_>>());
    let positions: Vec<u64> = view.log(Position::FIRST).unwrap().map(|event| event.unwrap().position().get()).collect();
    assert_eq!(positions, (1..=20 * 20).collect::<Vec<_>>());
    fixture.append("s", conversation(1, 1));
    assert_eq!(view.events("s", Seq::FIRST).unwrap().count(), 240);
    let event = view.events("s", Seq::FIRST).unwrap().next().unwrap().unwrap();
    assert!(matches!(event.event().unwrap().body, crate::event::Body::Fact(Fact::TurnStarted(_))));
}

#[test]
fn a_large_result_is_read_by_reference() {
    let fixture = Fixture::new();
    let large = "é large ".repeat(400_000);
    fixture.append("s", called("c", large.clone()));
    for _ in 0..2 {
        let view = fixture.engine.view();
        let page = view.window("s", Window::items(5)).unwrap();
        let Some(ItemKind::Tool(tool)) = page.items().next().map(|item| item.kind()) else { panic!("no call") };
        let content = tool.results().next().unwrap().content().unwrap();
        assert!(content.truncated() && large.starts_with(content.joined().as_ref()));
        let payload = view.payload(&content.payload().unwrap()).unwrap();
        assert_eq!(payload.as_str(), large);
        let chunks: Vec<String> = view.payload_chunks(&content.payload().unwrap()).unwrap().map(Result::unwrap).collect();
        assert!(chunks.len() > 2 && chunks.iter().all(|chunk| chunk.len() <= 1 << 20));
        assert_eq!(chunks.concat(), large);
        fixture.engine.checkpoint().unwrap();
    }
}

fn taken(subscription: &mut crate::Subscription, count: usize) -> Vec<u64> {
    (0..count).map(|_| subscription.next().unwrap().unwrap().position().get()).collect()
}

#[test]
fn a_subscription_catches_up_then_follows_and_ends_with_the_store() {
    let fixture = Fixture::new();
    fixture.append("s", conversation(3, 3));
    fixture.engine.checkpoint().unwrap();
    fixture.append("other", conversation(1, 1));
    let head = fixture.engine.view().position().unwrap();
    let mut all = fixture.engine.subscribe(From::Start).unwrap();
    let mut now = fixture.engine.subscribe(From::Now).unwrap();
    let mut middle = fixture.engine.subscribe(From::Position(Position::new(20).unwrap())).unwrap();
    let mut later = fixture.engine.subscribe_session("later", From::Start).unwrap();
    let last = head.get();
    assert_eq!(taken(&mut all, last as usize), (1..=last).collect::<Vec<_>>());
    assert_eq!(taken(&mut middle, last as usize - 19), (20..=last).collect::<Vec<_>>());
    assert!(matches!(now.next_within(Duration::ZERO).unwrap(), Next::Idle));
    assert!(matches!(later.next_within(Duration::ZERO).unwrap(), Next::Idle));
    fixture.append("later", text("m", "x"));
    for subscription in [&mut all, &mut now, &mut middle, &mut later] {
        assert_eq!(taken(subscription, 2), [last + 1, last + 2]);
    }
    assert!(fixture.engine.subscribe(From::Position(Position::new(last + 4).unwrap())).is_err());
    let follower = std::thread::spawn(move || now.count());
    fixture.append("s", text("n", "x"));
    fixture.engine.clone().close().unwrap();
    assert!(follower.join().unwrap() <= 2);
    assert!(matches!(all.next_within(Duration::ZERO), Ok(Next::Closed | Next::Event(_))));
}

#[test]
fn a_subscription_to_one_session_begins_at_any_position() {
    let fixture = Fixture::new();
    for round in 0..12 {
        fixture.append("s", conversation(1, 2));
        fixture.append("other", conversation(1, 2));
        if round % 4 == 3 {
            fixture.engine.checkpoint().unwrap();
        }
    }
    let view = fixture.engine.view();
    let positions: Vec<u64> = view.events("s", Seq::FIRST).unwrap().map(|event| event.unwrap().position().get()).collect();
    for from in (1..=view.position().unwrap().get()).step_by(7) {
        let expected: Vec<u64> = positions.iter().copied().filter(|position| *position >= from).collect();
        let mut subscription = fixture.engine.subscribe_session("s", From::Position(Position::new(from).unwrap())).unwrap();
        assert_eq!(taken(&mut subscription, expected.len()), expected);
        assert!(matches!(subscription.next_within(Duration::ZERO).unwrap(), Next::Idle));
    }
}
