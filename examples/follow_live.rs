//! Follow a session while it is written. Run: `cargo run --release -p turnstore-examples --bin follow_live`.
//!
//! A subscription catches up from any position and then follows; it reads the log again when it is slow, so it never slows the writer and
//! holds no memory while it is paused.
#![expect(clippy::print_stdout, reason = "an example shows what it reads")]

use std::ops::Range;
use std::thread;

use turnstore::event::Body;
use turnstore::fact::{Fact, PartDelta, PartKind, PartOpened, TurnEnded, TurnStarted};
use turnstore::{Engine, Error, From, Position, Window};

const WORDS: &[&str] =
    &["Events ", "arrive ", "one ", "by ", "one, ", "and ", "whoever ", "follows ", "sees ", "each ", "of ", "them ", "once."];

fn opened(turn: &str) -> Fact<'_> {
    Fact::PartOpened(PartOpened {
        part: turn.into(),
        message: turn.into(),
        kind: PartKind::Text,
        role: "assistant".into(),
        name: None,
        turn: None,
        agent: None,
        subtype: None,
        content: None,
        metadata: None,
    })
}

/// What a host does while its model speaks: one durable append for each piece of text.
fn speak(engine: &Engine, turns: Range<usize>) -> Result<(), Error> {
    for turn in turns {
        let id = format!("t{turn}");
        engine.append("live", [Fact::TurnStarted(TurnStarted { turn: id.as_str().into(), ..TurnStarted::default() }), opened(&id)])?;
        for word in WORDS {
            engine.append(
                "live",
                Fact::PartDelta(PartDelta { part: id.as_str().into(), kind: PartKind::Text, text: (*word).into(), metadata: None }),
            )?;
        }
        engine.append("live", Fact::TurnEnded(TurnEnded { status: "completed".into(), ..TurnEnded::default() }))?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let engine = Engine::open(folder.path().join("agent.turnstore"))?;
    // Something was there before the follower came: it catches up.
    speak(&engine, 0..1)?;
    let events = engine.subscribe_session("live", From::Position(Position::FIRST))?;
    let writer = thread::spawn({
        let engine = engine.clone();
        move || speak(&engine, 1..3)
    });

    let (mut seen, mut ended) = (0, 0);
    let mut line = String::new();
    for event in events {
        let event = event?;
        seen += 1;
        match event.event()?.body {
            Body::Fact(Fact::PartDelta(delta)) => line.push_str(&delta.text),
            Body::Fact(Fact::TurnEnded(_)) => {
                println!("at position {:>2}: {line}", event.position().get());
                line.clear();
                ended += 1;
            }
            _ => {}
        }
        if ended == 3 {
            break;
        }
    }
    writer.join().map_err(|_| "the writing thread panicked")??;
    println!("{seen} events followed");

    // A view taken now stays as it is, whatever is appended behind it.
    let view = engine.view();
    speak(&engine, 3..4)?;
    let count = |page: &turnstore::Page| page.items().count();
    println!(
        "a view from before shows {} messages, one from now {}",
        count(&view.window("live", Window::items(50))?),
        count(&engine.view().window("live", Window::items(50))?)
    );
    engine.close()?;
    Ok(())
}
