//! Open an old session without its host. Run: `cargo run --release -p turnstore-examples --bin hydrate_offline`.
//!
//! A client that opens a session wants its newest window at once, what waits for an answer, and older pages on demand. All of that costs
//! the same for a session of a hundred turns and of ten thousand.
#![expect(clippy::print_stdout, reason = "an example shows what it reads")]

use std::path::Path;
use std::time::Instant;

use turnstore::adapter::aiui::Decoder;
use turnstore::{Engine, Page, Store, Window};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const TURNS: usize = 2000;

/// The host's part, long ago: a session of many turns, and one approval that nobody answered.
fn record(store: &Path) -> Outcome {
    let engine = Engine::open(store)?;
    let mut decoder = Decoder::new();
    for turn in 0..TURNS {
        let outcome = if turn + 1 == TURNS {
            r#","outcome":{"type":"interrupt","interrupts":[{"id":"deploy?","reason":"approval","message":"Deploy to production?"}]}"#
        } else {
            ""
        };
        let events = [
            format!(r#"{{"type":"RUN_STARTED","threadId":"old","runId":"r{turn}"}}"#),
            format!(
                r#"{{"type":"TEXT_MESSAGE_CHUNK","messageId":"m{turn}","role":"assistant","delta":"Turn {turn}: I look at the build."}}"#
            ),
            format!(r#"{{"type":"TOOL_CALL_CHUNK","toolCallId":"c{turn}","toolCallName":"build","delta":"{{\"step\":{turn}}}"}}"#),
            format!(
                r#"{{"type":"TOOL_CALL_RESULT","messageId":"t{turn}","toolCallId":"c{turn}","content":"{}"}}"#,
                "all green; ".repeat(40)
            ),
            format!(r#"{{"type":"RUN_FINISHED","threadId":"old","runId":"r{turn}"{outcome}}}"#),
        ];
        let mut facts = Vec::new();
        events.iter().for_each(|event| decoder.decode(event, &mut facts));
        engine.submit("old", facts)?;
    }
    engine.close()?;
    Ok(())
}

fn told(what: &str, page: &Page, begun: Instant) {
    let turns: Vec<&str> = page.turns().filter_map(|slice| slice.turn()).map(|turn| turn.id()).collect();
    let (first, last) = (turns.first().copied().unwrap_or("-"), turns.last().copied().unwrap_or("-"));
    println!("{what:<16} {:>3} items, turns {first} to {last}, in {:?}", page.items().count(), begun.elapsed());
}

fn main() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("agent.turnstore");
    record(&path)?;
    println!("recorded {TURNS} turns, {} kB at rest", std::fs::metadata(&path)?.len() / 1000);

    // No writer, no lock: reading a store at rest, or beside its host.
    let begun = Instant::now();
    let view = Store::read(&path)?.view();
    println!("opened in {:?}", begun.elapsed());

    let begun = Instant::now();
    let mut page = view.window("old", Window::items(50))?;
    told("newest window", &page, begun);
    for waiting in view.pending("old")?.interactions() {
        println!("waiting          {} {}", waiting.id(), waiting.interrupt().map(|interrupt| interrupt.joined()).unwrap_or_default());
    }

    // A cursor is text: a client keeps it and comes back with it.
    for number in 1..=3 {
        let Some(cursor) = page.cursor().map(|cursor| cursor.to_string()) else { break };
        let begun = Instant::now();
        page = view.page("old", &cursor.parse()?, Window::items(50))?;
        told(&format!("older page {number}"), &page, begun);
    }
    let begun = Instant::now();
    told("from the start", &view.oldest("old", Window::items(50))?, begun);
    Ok(())
}
