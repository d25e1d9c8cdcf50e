//! Values larger than a window, and larger than a fact may be: in chunks, in and out.

use crate::host::*;
use turnstore::event::Stated;
use turnstore::fact::*;
use turnstore::{Durability, Engine, ItemKind, PayloadRef, View, Window};

const MIB: usize = 1 << 20;

/// The `n`th MiB of a text that repeats nowhere.
fn mib(n: usize) -> String {
    (0..MIB / 16).map(|line| format!("{:15x}\n", (n << 16 | line).wrapping_mul(0x9E37_79B9) & 0xFFF_FFFF_FFFF)).collect()
}

fn on_tool(op: ToolOp<'static>) -> Fact<'static> {
    Fact::ToolChanged(ToolChanged { tool: "c".into(), op, metadata: None })
}

#[track_caller]
fn check_chunks(view: &View, reference: &PayloadRef, mibs: usize) {
    let mut chunks = view.payload_chunks(reference).unwrap().map(Result::unwrap);
    let mut read = String::new();
    for n in 0..mibs {
        while read.len() < MIB {
            let chunk = chunks.next().unwrap();
            assert!(chunk.len() <= MIB);
            read.push_str(&chunk);
        }
        assert!(read.drain(..MIB).eq(mib(n).chars()), "MiB {n}");
    }
    assert!(chunks.next().is_none() && read.is_empty());
}

/// A value above the limit of one fact comes in as deltas: that is the way in, and chunks are the way out.
#[test]
fn an_output_of_100_mib_comes_in_as_deltas_and_is_read_in_chunks() {
    let place = Place::new();
    let engine = Engine::options().durability(Durability::Buffered).open(place.path()).unwrap();
    engine.append("s", [called("c")]).unwrap();
    for n in 0..100 {
        engine.append("s", [on_tool(ToolOp::OutputDelta { text: mib(n).into() })]).unwrap();
    }
    let done = ToolOp::Result { message: None, content: None, status: None, reference: None, error: None, agent: None, detail: None };
    engine.append("s", [on_tool(done), user("u", "next")]).unwrap();
    always(engine, &place, |engine| {
        let view = engine.view();
        let page = view.window("s", Window::items(2)).unwrap();
        let page = view.older("s", &page.cursor().unwrap()).unwrap_or(page);
        let Some(ItemKind::Tool(call)) = page.items().next().map(|item| item.kind()) else { panic!("no call") };
        assert!(call.output().truncated() && call.output().bytes() == 100 * MIB as u64);
        assert!(call.output().pieces().map(str::len).sum::<usize>() <= 8 * MIB);
        check_chunks(&view, &call.output().payload().unwrap(), 100);
    });
}

#[test]
fn a_text_that_grows_is_read_as_its_view_has_it() {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", [assistant("a"), delta("a", &mib(0))]).unwrap();
    let before = engine.view();
    let reference = {
        let page = before.window("s", Window::default()).unwrap();
        let Some(ItemKind::Text(part)) = page.items().next().map(|item| item.kind()) else { panic!("no text") };
        part.text().unwrap().payload().unwrap()
    };
    engine.append("s", [delta("a", &mib(1))]).unwrap();
    check_chunks(&before, &reference, 1);
    check_chunks(&engine.view(), &reference, 2);
    engine.append("s", [finally("a", &mib(2))]).unwrap();
    assert_eq!(engine.view().payload(&reference).unwrap().as_str(), mib(2));
    check_chunks(&before, &reference, 1);
}

/// A reference is to a value, not to an id: messages that share one are never mistaken for each other.
#[test]
fn of_two_messages_with_one_id_each_reference_reads_its_own_content() {
    let place = Place::new();
    let engine = place.open();
    let message = |text: &str| HistoryMessage {
        id: "m".into(),
        role: "user".into(),
        content: Some(Content::Json(json(&format!("\"{}\"", text.repeat(20_000))))),
        ..HistoryMessage::default()
    };
    let history = |messages: Vec<HistoryMessage<'static>>| {
        let (mode, turns, older) = (HistoryMode::Merge, Vec::new(), None);
        Stated::from(Fact::HistoryImported(HistoryImported {
            mode,
            messages,
            turns,
            older,
            requested_at: None,
            authoritative_activities: None,
        }))
    };
    engine.append("s", vec![history(vec![message("first "), message("last ")])]).unwrap();
    always(engine, &place, |engine| {
        let view = engine.view();
        let page = view.window("s", Window::default()).unwrap();
        let Some(ItemKind::Text(part)) = page.items().next().map(|item| item.kind()) else { panic!("no text") };
        let text = part.text().unwrap();
        assert!(text.joined().starts_with("\"last ") && text.bytes() == text.payload().unwrap().bytes());
        assert_eq!(view.payload(&text.payload().unwrap()).unwrap().as_str(), format!("\"{}\"", "last ".repeat(20_000)));
    });
}
