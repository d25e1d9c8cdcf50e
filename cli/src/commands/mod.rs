//! One module for each command.

pub(crate) mod artifacts;
pub(crate) mod check;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod hash;
pub(crate) mod import;
pub(crate) mod pending;
pub(crate) mod project;
pub(crate) mod rebuild;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod tasks;
pub(crate) mod ui;
pub(crate) mod verify;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use turnstore::{Durability, Engine, Error, Options, Position, Store, View};

use crate::failure::Failure;

/// Opens a store for writing, and makes it when there is none.
fn open_writing(store: &Path) -> Result<Engine, Failure> {
    Engine::open(store).map_err(|source| Failure::Open { path: store.to_owned(), source })
}

/// A store that lives as long as a command: what is folded needs no more memory than an import.
struct Scratch {
    engine: Engine,
    /// Removed with everything in it.
    _folder: tempfile::TempDir,
}

fn scratch() -> Result<Scratch, Failure> {
    let folder = tempfile::Builder::new().prefix("turnstore-").tempdir().map_err(Failure::Scratch)?;
    let path = folder.path().join("scratch.turnstore");
    let opened = Options::default().durability(Durability::Buffered).open(&path);
    Ok(Scratch { engine: opened.map_err(|source| Failure::Open { path, source })?, _folder: folder })
}

/// A store that is not there is not made by looking at it.
fn must_exist(store: &Path) -> Result<(), Failure> {
    if store.exists() { Ok(()) } else { Err(Failure::NoStore { path: store.to_owned() }) }
}

/// Says of an error about a session what the person can do.
fn at_session(failure: Failure, session: &str) -> Failure {
    match failure {
        Failure::Store(Error::NoSession { .. }) => Failure::NoSession { session: session.to_owned() },
        other => other,
    }
}

/// A store opened to look at it: at rest, or beside the process that writes it.
struct Reading {
    store: Store,
    view: View,
    /// It was folded by a version that folds differently.
    stale: bool,
}

/// Opens a store to look at it. When its last writer died, its work is finished first.
fn open_reading(store: &Path) -> Result<Reading, Failure> {
    must_exist(store)?;
    let store = Store::recover(store).map_err(|source| Failure::Open { path: store.to_owned(), source })?;
    let stale = store.is_stale()?;
    if stale {
        // A warning that nobody can read stops nothing.
        drop(writeln!(io::stderr(), "turnstore: what is shown was folded by another version; `turnstore rebuild` folds it again"));
    }
    Ok(Reading { view: store.view(), store, stale })
}

/// A progress bar of events up to the head.
fn events_bar(head: Option<Position>, done: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(head.map_or(0, Position::get));
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {human_pos}/{human_len} events {msg}, {per_sec}") {
        bar.set_style(style);
    }
    bar.with_message(done)
}

/// A progress bar of the bytes of files.
fn progress(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Events in a second.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a rate that is shown")]
fn rate(events: u64, took: Duration) -> u64 {
    (events as f64 / took.as_secs_f64().max(1e-6)) as u64
}
