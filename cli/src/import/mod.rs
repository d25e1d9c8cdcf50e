//! Recordings into sessions.
//!
//! **Invariant:** every source event has one number in its recording and is appended under it, whole or not at all; what is stored
//! already is compared and not appended again. Memory is bounded by a few chunks of lines.
//!
//! | part | does |
//! |---|---|
//! | [`recording`] | a file as chunks of numbered lines, and the session that it names |
//! | [`repeats`] | deliveries that come again within a recording |
//! | [`prefix`] | what the store holds of a recording, compared with what the recording says |
//! | [`lane`] | one recording on its way into one session |
//! | [`noted`] | what folding noted about it |
//! | [`tally`] | what came of it |

pub(crate) mod lane;
pub(crate) mod noted;
pub(crate) mod prefix;
pub(crate) mod recording;
pub(crate) mod repeats;
pub(crate) mod tally;

use std::io;
use std::path::Path;
use std::time::Instant;

use indicatif::ProgressBar;
use turnstore::adapter::Wire;
use turnstore::{Engine, Error, View};

use lane::{Acknowledged, Lane, Stop};
use noted::Before;
use recording::Recording;
use tally::Tally;

/// Is told of each append that was acknowledged.
pub(crate) type Told<'t> = &'t mut dyn FnMut(&Tally, Acknowledged) -> io::Result<()>;

/// Brings one recording into its session: the given one, else the one that its events name, else one named like the file.
pub(crate) fn bring(
    engine: &Engine,
    file: &Path,
    wire: &'static Wire,
    session: Option<&str>,
    bar: &ProgressBar,
    told: Told<'_>,
) -> Result<Tally, Stop> {
    let begun = Instant::now();
    let mut recording = Recording::open(file, bar)?;
    let mut next = recording.chunk()?;
    let mut tally = Tally { file: file.to_owned(), ..Tally::default() };
    if let Some(first) = &next {
        let stem = || file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        tally.session = session.map(str::to_owned).or_else(|| first.session(wire)).unwrap_or_else(stem);
        let before = Before::of(&engine.view(), &tally.session)?;
        let mut lane = Lane::new(engine, wire, first.stream_name(), tally)?;
        let mut ended = Ok(());
        while let (Some(chunk), Ok(())) = (&next, &ended) {
            ended = lane.take(chunk, told);
            next = recording.chunk()?;
        }
        let finished = lane.finish(told);
        ended.and(finished)?;
        tally = lane.tally;
        let stated = tally.diagnostics.count + tally.refused.count;
        let view = engine.view();
        noted::add(&view, before, stated, file, &mut tally)?;
        tally.parent = parent(&view, &tally.session)?;
    }
    tally.left_out = recording.left_out;
    for problem in &tally.left_out {
        tally.refused.add(problem.line, turnstore::adapter::check::LEFT_OUT, problem.reason.to_string());
    }
    tally.took = begun.elapsed();
    Ok(tally)
}

/// The session that a session says it was started by.
fn parent(view: &View, session: &str) -> Result<Option<String>, Error> {
    let fields = view.session(session)?.and_then(|head| head.header.fields);
    let fields: Option<serde_json::Value> = fields.and_then(|fields| serde_json::from_str(&fields).ok());
    Ok(fields.and_then(|fields| Some(fields.get("parent_session")?.as_str()?.to_owned())))
}
