//! What the rows ask of turnstore beyond appends, so that the engine is met in one file.

use std::path::Path;
use std::time::Duration;

use crate::contender::{Contender, Steps};
use crate::failure::Outcome;

/// The store that the bars are about.
pub trait Subject: Contender {
    /// Opens the closed store in `dir` for reading windows and pages.
    fn reader(&self, dir: &Path) -> Outcome<Box<dyn Reader>>;

    /// Reads in the process that has the store open for writing, as a host does.
    fn host(&self, dir: &Path) -> Outcome<Box<dyn Reader>>;

    /// Drops every projection of the closed store in `dir` and folds it again, rows written.
    fn rebuild(&self, dir: &Path) -> Outcome<Rebuilt>;

    /// Folds AG-UI JSON lines without a store; how many messages they give.
    fn project(&self, lines: &[u8]) -> Outcome<u64>;

    /// Imports AG-UI JSON lines, a batch at a time, into a new store in `dir`; until the last of them is durable.
    fn import_lines(&self, dir: &Path, session: &str, batches: &[Vec<u8>]) -> Outcome<Duration>;

    /// Appends the same as typed facts.
    fn append_facts(&self, dir: &Path, session: &str, batches: &[Steps]) -> Outcome<Duration>;
}

/// Reads whole items: their full text, no previews.
pub trait Reader {
    /// Leaves the store as it was found.
    fn finish(self: Box<Self>) -> Outcome<()>;

    /// The newest items of a session.
    fn window(&mut self, session: &str, items: usize) -> Outcome<Slice>;

    /// The items before a cursor.
    fn older(&mut self, session: &str, cursor: &str, items: usize) -> Outcome<Slice>;
}

/// What a window or page held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Items in it.
    pub items: u64,
    /// Bytes of text, arguments and results read from it.
    pub text_bytes: u64,
    /// The cursor to the page before, when there is one.
    pub older: Option<String>,
}

/// How long a rebuild took.
#[derive(Clone, Copy, Debug)]
pub struct Rebuilt {
    /// Events folded.
    pub events: u64,
    /// From the call to the store closed again: opening, every row written and synced.
    pub elapsed: Duration,
}
