//! `project`: a recording in the protocol's own message shape, without a store.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use turnstore::adapter::aiui::{Folder, Start};
use turnstore::adapter::source::{Item, Reader, Reason};

use crate::args::{Project, Protocol};
use crate::failure::{Failure, Outcome};
use crate::out::Out;

pub(crate) fn run(args: &Project, out: &mut Out) -> Result<Outcome, Failure> {
    let Protocol::Aiui = args.protocol;
    let unread = |path: &Path| {
        let path = path.to_owned();
        move |source| Failure::Read { path, source }
    };
    let start = args.input.as_ref().map_or(Ok(Start::default()), start)?;
    let file = File::open(&args.file).map_err(unread(&args.file))?;
    let mut reader = Reader::new(BufReader::with_capacity(256 << 10, file)).map_err(unread(&args.file))?;
    let mut folder = Folder::new(&start, SystemTime::now());
    while let Some(item) = reader.read().map_err(unread(&args.file))? {
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

fn start(path: &PathBuf) -> Result<Start, Failure> {
    let text = fs::read_to_string(path).map_err(|source| Failure::Read { path: path.clone(), source })?;
    Start::parse(&text).map_err(|source| Failure::Start { path: path.clone(), source: Box::new(source) })
}
