//! Micro benches of the main path, one step each: decode, encode, append and fold, window, page.
#![expect(clippy::expect_used, reason = "a bench that cannot set itself up has nothing to measure")]

use std::sync::Arc;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use turnstore::adapter::aiui::Decoder;
use turnstore::{Batch, Durability, Engine, Window};

use turnstore_benches::step::lines;
use turnstore_benches::trace::Trace;
use turnstore_benches::turnstore::facts;

/// Events that one iteration handles.
const EVENTS: usize = 1_000;

/// Events of the session that windows are read from.
const HISTORY_EVENTS: usize = 20_000;

const SESSION: &str = "bench";

fn main() {
    divan::main();
}

fn trace_lines(count: usize) -> String {
    let steps: Vec<_> = Trace::seeded(1).take(count).collect();
    String::from_utf8(lines(&steps)).expect("lines are text")
}

fn engine(dir: &tempfile::TempDir) -> Engine {
    Engine::options().durability(Durability::Buffered).open(dir.path().join("bench.turnstore")).expect("a new store opens")
}

#[divan::bench]
fn decode_lines(bencher: Bencher<'_, '_>) {
    let text = trace_lines(EVENTS);
    bencher.counter(ItemsCount::new(EVENTS)).bench(|| {
        let mut decoder = Decoder::new();
        let mut facts = Vec::with_capacity(EVENTS);
        text.lines().for_each(|line| decoder.decode(black_box(line), &mut facts));
        facts.len()
    });
}

#[divan::bench]
fn encode_batch(bencher: Bencher<'_, '_>) {
    let steps: Vec<_> = Trace::seeded(1).take(EVENTS).collect();
    let facts = facts(&steps).expect("the trace is made of facts");
    bencher.counter(ItemsCount::new(EVENTS)).bench(|| Batch::of(black_box(facts.clone())).len());
}

#[divan::bench(args = [1, 16, 1_000])]
fn append_buffered(bencher: Bencher<'_, '_>, facts_an_append: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = engine(&dir);
    let mut trace = Trace::seeded(2);
    let steps = || trace.by_ref().take(facts_an_append).collect::<Arc<[_]>>();
    bencher.counter(ItemsCount::new(facts_an_append)).with_inputs(steps).bench_local_values(|steps| {
        let facts = facts(&steps).expect("the trace is made of facts");
        engine.append(SESSION, facts).expect("the append is acknowledged").appended
    });
}

/// A store at its head with one session of [`HISTORY_EVENTS`].
fn filled(dir: &tempfile::TempDir) -> Engine {
    let engine = engine(dir);
    let steps: Vec<_> = Trace::seeded(3).take(HISTORY_EVENTS).collect();
    for part in steps.chunks(EVENTS) {
        engine.append(SESSION, facts(part).expect("the trace is made of facts")).expect("the append is acknowledged");
    }
    engine.checkpoint().expect("the checkpoint is written");
    engine
}

#[divan::bench(args = [10, 50, 200])]
fn newest_window_warm(bencher: Bencher<'_, '_>, items: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = filled(&dir);
    bencher.bench(|| engine.view().window(SESSION, Window::items(items)).expect("the session is there").items().count());
}

#[divan::bench]
fn older_page_warm(bencher: Bencher<'_, '_>) {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = filled(&dir);
    let view = engine.view();
    let newest = view.window(SESSION, Window::items(50)).expect("the session is there");
    let cursor = newest.cursor().expect("there is more");
    bencher.bench(|| view.page(SESSION, &cursor, Window::items(50)).expect("the page is there").items().count());
}
