//! How large a run is, where its stores live, and who takes part.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::contender::Contender;
use crate::failure::Outcome;
use crate::plain::Plain;
use crate::salamander::Salamander;
use crate::sqlite::Sqlite;
use crate::subject::Subject;

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Rounds that are interleaved over the contenders.
    pub rounds: usize,
    /// Appends of each producer in a round of one event an append.
    pub appends_of_1: usize,
    /// Appends of each producer in a round of 16 events an append.
    pub appends_of_16: usize,
    /// A contender's round ends here even when appends are left.
    pub round_max: Duration,
    /// Samples of one append alone.
    pub alone_samples: usize,
    /// Bytes that the main file behind it has at least.
    pub alone_bytes: u64,
    /// Windows read of each kind.
    pub windows: usize,
    /// Cold reads of each page.
    pub cold_reads: usize,
    /// Rebuilds and refolds.
    pub rebuilds: usize,
    /// Opens of a clean store.
    pub opens: usize,
    /// Opens after kill -9.
    pub crashes: usize,
    /// Opens of a peer's store, clean, and as many after kill -9: salamander-db takes seconds for each.
    pub peer_opens: usize,
    /// Events of the long session.
    pub events: usize,
    /// Events of a recording that is imported.
    pub imported_events: usize,
    /// Projections of a short recording.
    pub projects: usize,
    /// Folds of it by the official client; the first one warms it up.
    pub folds: usize,
}

/// One gibibyte.
const GIBIBYTE: u64 = 1 << 30;

impl Scale {
    /// Minutes: the figures to publish.
    #[must_use]
    pub fn full() -> Self {
        Self {
            rounds: 7,
            appends_of_1: 4_000,
            appends_of_16: 500,
            round_max: Duration::from_secs(10),
            alone_samples: 10_000,
            alone_bytes: GIBIBYTE,
            windows: 5_000,
            cold_reads: 15,
            rebuilds: 5,
            opens: 15,
            crashes: 9,
            peer_opens: 5,
            events: 1_000_000,
            imported_events: 200_000,
            projects: 301,
            folds: 10,
        }
    }

    /// Within two minutes on two cores.
    #[must_use]
    pub fn quick() -> Self {
        Self {
            rounds: 3,
            appends_of_1: 1_200,
            appends_of_16: 100,
            round_max: Duration::from_millis(2_000),
            alone_samples: 3_000,
            windows: 1_000,
            cold_reads: 5,
            rebuilds: 2,
            opens: 5,
            crashes: 3,
            peer_opens: 1,
            projects: 101,
            folds: 6,
            ..Self::full()
        }
    }
}

/// One run.
pub struct Setting<'r> {
    /// Sizes.
    pub scale: Scale,
    /// Directory of the run, empty at its start.
    pub dir: &'r Path,
    /// turnstore, when the build holds it.
    pub subject: Option<&'r dyn Subject>,
    /// Where the official AG-UI client is installed.
    pub client: Option<&'r Path>,
}

impl Setting<'_> {
    /// Everyone who takes part, turnstore first.
    #[must_use]
    pub fn contenders(&self) -> Vec<&dyn Contender> {
        let mut all: Vec<&dyn Contender> = Vec::new();
        if let Some(subject) = self.subject {
            all.push(subject);
        }
        all.extend([&Plain as &dyn Contender, &Sqlite, &Salamander]);
        all
    }

    /// A new directory for one store of a row.
    pub fn place(&self, row: &str, contender: &str) -> Outcome<PathBuf> {
        let dir = self.dir.join(format!("{row}-{}", contender.replace(' ', "-")));
        std::fs::create_dir_all(&dir)?;
        Ok(dir)
    }
}

/// Bytes of all files below `dir`.
pub fn bytes_below(dir: &Path) -> Outcome<u64> {
    let mut total = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        total += if kind.is_dir() { bytes_below(&entry.path())? } else { kind.len() };
    }
    Ok(total)
}
