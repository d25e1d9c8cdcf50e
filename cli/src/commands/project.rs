//! `project`: a recording as one JSON object, without a store: in the protocol's own message shape where it has one, else as a window.

use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::Path;
use std::time::SystemTime;

use indicatif::ProgressBar;
use turnstore::adapter::aiui::{Folder, Start};
use turnstore::adapter::source::{Item, Reader, Reason};
use turnstore::event::Protocol;
use turnstore::{Limits, Window};

use crate::args::Project;
use crate::failure::{Failure, Outcome};
use crate::import::bring;
use crate::out::Out;
use crate::render::json_page;

use super::scratch;

pub(crate) fn run(args: &Project, out: &mut Out) -> Result<Outcome, Failure> {
    let wire = args.protocol;
    if wire.protocol == Protocol::AIUI {
        return whole(args, out);
    }
    if args.input.is_some() {
        return Err(Failure::NoStart { protocol: wire.name });
    }
    let scratch = scratch()?;
    let brought = bring(&scratch.engine, &args.file, wire, None, &ProgressBar::hidden(), &mut |_, _| Ok(()));
    let tally = brought.map_err(|source| Failure::Import { path: args.file.clone(), source })?;
    if tally.events == 0 {
        out.json(&serde_json::json!({}))?;
        return Ok(Outcome::Done);
    }
    let view = scratch.engine.view();
    let page = view.window(&tally.session, Window::items(Limits::default().window_items_max))?;
    match wire.export(&view, &page).transpose()? {
        Some(shape) => writeln!(out, "{}", shape.as_str())?,
        None => out.json(&json_page::window(&page))?,
    }
    Ok(Outcome::Done)
}

/// The whole of an AIUI recording, from a starting point.
fn whole(args: &Project, out: &mut Out) -> Result<Outcome, Failure> {
    let start = args.input.as_deref().map_or(Ok(Start::default()), start)?;
    let unread = |source: io::Error| Failure::Read { path: args.file.clone(), source };
    let file = File::open(&args.file).map_err(unread)?;
    let mut reader = Reader::new(BufReader::with_capacity(256 << 10, file)).map_err(unread)?;
    let mut folder = Folder::new(&start, SystemTime::now());
    while let Some(item) = reader.read().map_err(unread)? {
        match item {
            Item::Event(raw) => folder.event(raw),
            // An empty recording folds to the start.
            Item::Problem(problem) if problem.reason == Reason::Empty => {}
            Item::Problem(problem) => folder.problem(problem),
        }
    }
    out.json(&folder.finish())?;
    Ok(Outcome::Done)
}

fn start(path: &Path) -> Result<Start, Failure> {
    let text = fs::read_to_string(path).map_err(|source| Failure::Read { path: path.to_owned(), source })?;
    Start::parse(&text).map_err(|source| Failure::Start { path: path.to_owned(), source: Box::new(source) })
}
