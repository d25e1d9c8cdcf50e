//! `rebuild`: every projection dropped and folded again.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use turnstore::Options;

use crate::args::Whole;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::render::number;

use super::{events_bar, open_reading, rate};

pub(crate) fn run(store: &Path, args: &Whole, out: &mut Out) -> Result<Outcome, Failure> {
    // Also the check that it is a store, before anything is written.
    let head = open_reading(store)?.view.position();
    let bar = events_bar(head, "folded");
    let begun = Instant::now();
    let rebuilt = turnstore::rebuild(store, Options::default(), &mut |events| bar.set_position(events))?;
    bar.finish_and_clear();
    let took = begun.elapsed();
    let rate = rate(rebuilt.events, took);
    if args.json {
        out.json_pretty(&json!({
            "sessions": rebuilt.sessions,
            "events": rebuilt.events,
            "seconds": took.as_secs_f64(),
            "eventsPerSecond": rate,
        }))?;
    } else {
        writeln!(
            out,
            "{} of {} folded again in {:.2} s, {} events/s",
            number::of(rebuilt.events, "event"),
            number::of(rebuilt.sessions, "session"),
            took.as_secs_f64(),
            number::count(rate)
        )?;
    }
    Ok(Outcome::Done)
}
