//! What came of a recording.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use turnstore::adapter::source::Problem;

/// Lines that are named one by one; the others are counted.
const NAMED_MAX: usize = 10;

/// Something about a line of the recording.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Remark {
    pub(crate) line: u64,
    pub(crate) code: String,
    pub(crate) reason: String,
}

/// Remarks, of which the first few are kept.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Remarks {
    pub(crate) count: u64,
    pub(crate) named: Vec<Remark>,
}

impl Remarks {
    pub(crate) fn add(&mut self, line: u64, code: &str, reason: impl Into<String>) {
        self.count += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(Remark { line, code: code.to_owned(), reason: reason.into() });
        }
    }

    /// How many are not named.
    pub(crate) fn unnamed(&self) -> u64 {
        self.count.saturating_sub(u64::try_from(self.named.len()).unwrap_or(u64::MAX))
    }
}

/// What came of one recording.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Tally {
    pub(crate) file: PathBuf,
    pub(crate) session: String,
    /// The session that started this one, when it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    /// Source events that the recording holds.
    pub(crate) events: u64,
    /// Of these, the ones that were in the store before.
    pub(crate) known: u64,
    /// Facts that the new ones gave.
    pub(crate) facts: u64,
    /// The session's last seq.
    pub(crate) seq: u64,
    /// What could not be fitted, and is kept as data.
    pub(crate) diagnostics: Remarks,
    /// What was not taken in.
    pub(crate) refused: Remarks,
    /// Parts of the file that gave nothing to store.
    #[serde(skip)]
    pub(crate) left_out: Vec<Problem>,
    #[serde(skip)]
    pub(crate) took: Duration,
}

impl Tally {
    pub(crate) fn fresh(&self) -> u64 {
        self.events.saturating_sub(self.known)
    }
}
