//! What comes in: at the limits, of unknown kinds, under hostile names: 32, 55, 61, 62.

use crate::host::*;
use turnstore::event::Body;
use turnstore::fact::{Fact, Opaque, TurnEnded};
use turnstore::{Batch, Durability, Engine, Error, ItemKind, Limits, Position, Seq, Stream, Window};
use turnstore_storage::Storage;

fn content(bytes: usize) -> String {
    let words = "a long text that goes on. ";
    words.repeat(bytes / words.len() + 1)[..bytes].to_owned()
}

/// 32
#[test]
fn a_fact_of_the_largest_size_is_read_back_and_one_byte_more_is_refused_when_it_is_written() {
    let place = Place::new();
    let limits = || Limits { fact_bytes_max: 1 << 20, ..Limits::default() };
    let engine = Engine::options().limits(limits()).open(place.path()).unwrap();
    let frame = match engine.append("s", [user("probe", "")]) {
        Ok(_) => engine.view().events("s", Seq::FIRST).unwrap().next().unwrap().unwrap().bytes().len(),
        Err(error) => panic!("{error}"),
    };
    let largest = content((1 << 20) - frame);
    engine.append("s", [user("whole", &largest)]).unwrap();
    let refused = engine.append("s", [user("small", "x"), user("extra", &content((1 << 20) - frame + 1))]);
    assert!(matches!(refused, Err(Error::TooLarge { limit: "fact_bytes_max", .. })), "{refused:?}");
    always(engine, &place, |engine| {
        let shown = timeline(&engine.view(), "s");
        assert_eq!((shown.len(), &shown[1]), (2, &format!("user whole: {largest}")));
    });
}

/// 32: what does not fit a window is still there whole, at the default limits.
#[test]
fn a_text_far_larger_than_a_window_is_accepted_and_read_back_whole() {
    let place = Place::new();
    let engine = place.open();
    let text = content(40 << 20);
    engine.append("s", [called("c"), answered("c", &text)]).unwrap();
    engine.append("s", [assistant("a"), delta("a", &text)]).unwrap();
    always(engine, &place, |engine| {
        let view = engine.view();
        // Each is alone above the bytes of a window: it comes cut, and the other one on the next page.
        let page = view.window("s", Window::default()).unwrap();
        let ItemKind::Text(part) = page.items().next().unwrap().kind() else { panic!("no text") };
        let part = part.text().unwrap();
        assert!(part.truncated() && part.bytes() == text.len() as u64 && text.starts_with(part.joined().as_ref()));
        let page = view.older("s", &page.cursor().unwrap()).unwrap();
        let ItemKind::Tool(call) = page.items().next().unwrap().kind() else { panic!("no call") };
        let result = call.results().next().unwrap().content().unwrap();
        assert!(result.truncated() && result.bytes() == text.len() as u64);
        assert_eq!(view.payload(&result.payload().unwrap()).unwrap().as_str(), text);
        assert_eq!(view.verify(&mut |_| {}).unwrap().difference, None);
    });
}

/// 32: large values in any field are accepted only if they can be checkpointed and read.
#[test]
fn large_values_in_the_fields_of_a_turn_are_read_back_or_refused() {
    let place = Place::new();
    let engine = place.open();
    let result = format!("\"{}\"", content(30 << 20));
    for id in ["t1", "t2", "t3"] {
        let ended = TurnEnded { turn: Some(id.into()), status: "completed".into(), result: Some(json(&result)), ..TurnEnded::default() };
        let appended = engine.append("s", [turn(id), user(id, "x"), Fact::TurnEnded(ended)]);
        assert!(matches!(appended, Ok(_) | Err(Error::TooLarge { .. } | Error::Rejected { .. })), "{appended:?}");
    }
    let shown = timeline(&engine.view(), "s");
    engine.checkpoint().unwrap();
    assert_eq!(timeline(&engine.view(), "s"), shown);
    engine.close().unwrap();
    assert_eq!(timeline(&place.open().view(), "s"), shown);
}

/// Appends an event of a kind that this build does not know, as a newer one would.
fn append_of_a_newer_build(place: &Place, seq: u64, bytes: &[u8]) {
    let storage = Storage::open(&place.path(), &turnstore_storage::Options::default()).unwrap().storage;
    let mut frame = storage.begin_frame();
    frame.push(Stream::FIRST, Seq::new(seq).unwrap(), bytes).unwrap();
    frame.end_batch(None);
    storage.append(frame, Durability::Durable).unwrap();
}

/// 55
#[test]
fn an_event_of_an_unknown_kind_or_version_is_carried_byte_for_byte_and_hides_nothing() {
    let place = Place::new();
    let engine = place.open();
    let opaque = Fact::Opaque(Opaque { name: "PLUGIN".into(), payload: "{\"type\":\"PLUGIN\",\"x\":1e400}".into() });
    engine.append("s", [user("e1", "before"), opaque]).unwrap();
    let known = engine.view().events("s", Seq::FIRST).unwrap().nth(1).unwrap().unwrap().bytes().to_vec();
    engine.close().unwrap();
    let mut unknown = [known.clone(), known];
    (unknown[0][8], unknown[1][9]) = (200, 9);
    for (n, bytes) in unknown.iter().enumerate() {
        append_of_a_newer_build(&place, 3 + n as u64, bytes);
    }
    let engine = place.open();
    engine.append("s", [user("e2", "after")]).unwrap();
    always(engine, &place, |engine| {
        let view = engine.view();
        assert_eq!(timeline(&view, "s"), ["user e1: before", "user e2: after"]);
        let events: Vec<_> = view.events("s", Seq::FIRST).unwrap().map(Result::unwrap).collect();
        assert_eq!(events.len(), 5);
        assert_eq!((events[2].bytes(), events[3].bytes()), (unknown[0].as_slice(), unknown[1].as_slice()));
        assert!(matches!(events[2].event().unwrap().body, Body::Unknown { kind, version: 1, .. } if kind.0 == 200));
        assert!(matches!(events[3].event().unwrap().body, Body::Unknown { kind, version: 9, .. } if kind.0 == 25));
        assert_eq!(view.session("s").unwrap().unwrap().header.opaque, 3);
        assert_eq!(view.verify(&mut |_| {}).unwrap().difference, None);
    });
    turnstore::rebuild(&place.path(), Engine::options(), &mut |_| {}).unwrap();
    assert_eq!(timeline(&place.read().view(), "s"), ["user e1: before", "user e2: after"]);
}

/// 61
#[test]
fn a_hostile_session_id_is_only_a_name_or_is_refused() {
    let place = Place::new();
    let engine = place.open();
    let long = "x".repeat(300);
    for refused in ["", "a\0b", "a\nb", "\u{1b}[2J", "\u{85}", long.as_str()] {
        let outcome = engine.append(refused, [user("u", "x")]);
        assert!(matches!(outcome, Err(Error::SessionId { .. })), "{refused:?}: {outcome:?}");
    }
    let widest = "é".repeat(128);
    let names =
        ["../../x", "/etc/passwd", ".", "..", "CON", "con", "C:\\x", "a/b", "%00", "🦀", "-", " ", "agent.turnstore-tail", widest.as_str()];
    for name in names {
        engine.append(name, [user("u", name)]).unwrap();
    }
    always(engine, &place, |engine| {
        assert_eq!(place.names(), ["agent.turnstore", "agent.turnstore-tail"]);
        for name in names {
            assert_eq!(timeline(&engine.view(), name), [format!("user u: {name}")]);
        }
        assert_eq!(engine.view().sessions(100, None).unwrap().sessions.len(), names.len());
        assert!(matches!(engine.view().window("Con", Window::default()), Err(Error::NoSession { .. })));
    });
}

/// 61: names inside facts.
#[test]
fn hostile_ids_inside_facts_are_only_names_or_are_refused() {
    let place = Place::new();
    let engine = place.open();
    let long = "x".repeat(5000);
    for facts in [vec![turn(&long)], vec![user(&long, "x")], vec![called(&long)], vec![asked(&long)], vec![answered(&long, "x")]] {
        let outcome = engine.append("s", Batch::of(facts));
        assert!(matches!(outcome, Err(Error::Rejected { .. } | Error::TooLarge { .. })), "{outcome:?}");
    }
    let ids = ["../../x", "a\0b", "", "\u{202e}", "__proto__"];
    engine.append("s", ids.map(|id| user(id, "x"))).unwrap();
    always(engine, &place, |engine| {
        assert_eq!(timeline(&engine.view(), "s"), ids.map(|id| format!("user {id}: x")));
        assert_eq!(place.names().len(), 2);
    });
}

/// 62
#[test]
fn a_store_and_its_sessions_keep_their_identity_whatever_the_file_is_called() {
    let place = Place::new();
    let engine = place.open();
    engine.append("S9", conversation(30)).unwrap();
    engine.append("S1", conversation(8)).unwrap();
    let (id, hash) = (engine.stats().unwrap().id, engine.view().hash("S9").unwrap());
    let cursor = engine.view().window("S9", Window::items(5)).unwrap().cursor().unwrap();
    let next = lines(&engine.view().older("S9", &cursor).unwrap());
    engine.close().unwrap();
    let renamed = place.path().with_file_name("S1");
    std::fs::rename(place.path(), &renamed).unwrap();
    let engine = Engine::open(&renamed).unwrap();
    assert_eq!((engine.stats().unwrap().id, engine.view().hash("S9").unwrap()), (id, hash));
    assert_eq!((timeline(&engine.view(), "S9").len(), timeline(&engine.view(), "S1").len()), (90, 24));
    assert_eq!(lines(&engine.view().older("S9", &cursor).unwrap()), next);
    assert_eq!(engine.view().position(), Position::new(38 * 9));
}
