//! The history that stores of a row begin with, and the store of a million events that several rows read.
//!
//! **Invariant:** the same fixture holds the same events for every contender.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::child::{self, Imported};
use crate::contender::{Contender, Steps};
use crate::failure::Outcome;
use crate::setting::Setting;
use crate::step::Step;
use crate::trace::Trace;

/// Events in one append of an import.
const APPEND_EVENTS: usize = 512;

/// Events of the short session beside the long one.
pub const SHORT_EVENTS: usize = 1_000;

const LONG_SEED: u64 = 1;
const SHORT_SEED: u64 = 2;

/// The two sessions of a fixture, as appends: the short one first, then the long one.
pub fn batches(events: usize) -> impl Iterator<Item = (String, Steps)> {
    let of = |seed: u64, events: usize| {
        let trace = Trace::seeded(seed);
        let session = trace.session().to_owned();
        let mut steps = trace.take(events);
        std::iter::from_fn(move || {
            let batch: Steps = steps.by_ref().take(APPEND_EVENTS).collect();
            (!batch.is_empty()).then(|| (session.clone(), batch))
        })
    };
    of(SHORT_SEED, SHORT_EVENTS).chain(of(LONG_SEED, events))
}

/// The beginning of the long session, as appends.
#[must_use]
pub fn steps(events: usize) -> Vec<Steps> {
    let mut steps = Trace::seeded(LONG_SEED).take(events);
    let batch = |_| steps.by_ref().take(APPEND_EVENTS).collect();
    (0..events.div_ceil(APPEND_EVENTS)).map(batch).collect()
}

/// The short session.
#[must_use]
pub fn short_steps() -> Vec<Step> {
    Trace::seeded(SHORT_SEED).take(SHORT_EVENTS).collect()
}

/// Name of the long session.
#[must_use]
pub fn long() -> String {
    Trace::seeded(LONG_SEED).session().to_owned()
}

/// Name of the short session.
#[must_use]
pub fn short() -> String {
    Trace::seeded(SHORT_SEED).session().to_owned()
}

/// Fixtures of a run: each made once, by a child process whose peak memory is kept.
#[derive(Debug, Default)]
pub struct Fixtures {
    made: HashMap<&'static str, Fixture>,
}

/// A closed store with the fixture's events.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Where it is.
    pub dir: PathBuf,
    /// How the import went.
    pub imported: Imported,
}

impl Fixtures {
    /// The fixture of one contender.
    pub fn of(&mut self, setting: &Setting<'_>, contender: &dyn Contender) -> Outcome<Fixture> {
        if let Some(made) = self.made.get(contender.name()) {
            return Ok(made.clone());
        }
        let dir = setting.place("fixture", contender.name())?;
        let imported = child::import(contender.name(), &dir, setting.scale.events)?;
        let fixture = Fixture { dir, imported };
        self.made.insert(contender.name(), fixture.clone());
        Ok(fixture)
    }
}

/// Copies a closed store.
pub fn copy(from: &Path, to: &Path) -> Outcome<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.metadata()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
