//! One module for each command.

pub(crate) mod artifacts;
pub(crate) mod events;
pub(crate) mod hash;
pub(crate) mod import;
pub(crate) mod pending;
pub(crate) mod project;
pub(crate) mod rebuild;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod verify;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use turnstore::{Engine, Error, Position, Store, View};

use crate::failure::Failure;

/// Opens a store for writing, and makes it when there is none.
fn open_writing(store: &Path) -> Result<Engine, Failure> {
    Engine::open(store).map_err(|source| Failure::Open { path: store.to_owned(), source })
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

/// Events in a second.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a rate that is shown")]
fn rate(events: u64, took: Duration) -> u64 {
    (events as f64 / took.as_secs_f64().max(1e-6)) as u64
}
