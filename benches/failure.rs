//! What can go wrong in a run of `compare`, with the thing that failed.

/// The error of this package; a run that meets one stops and says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A file of a contender could not be read or written; free space or choose another `--dir`.
    #[error("a file of the run could not be read or written")]
    Io(#[from] std::io::Error),
    /// SQLite refused; the run stops.
    #[error("sqlite refused")]
    Sqlite(#[from] rusqlite::Error),
    /// salamander-db refused; the run stops.
    #[error("salamander-db refused")]
    Salamander(#[from] salamander::SalamanderError),
    /// turnstore refused; the run stops.
    #[error("turnstore refused")]
    Turnstore(#[from] ::turnstore::Error),
    /// turnstore gave a cursor that it does not read; the run stops.
    #[error("a cursor of turnstore's own was refused")]
    Cursor(#[from] ::turnstore::CursorError),
    /// A request of the trace is not JSON; the run stops.
    #[error("the trace holds what is not json")]
    NotJson(#[from] ::turnstore::fact::NotJson),
    /// JSON that a contender stored did not parse; the run stops.
    #[error("stored json did not parse")]
    Json(#[from] serde_json::Error),
    /// The writer of a contender ended before it answered; the first failure was: `reason`.
    #[error("the writer ended early: {reason}")]
    Ended {
        /// What the writer met first.
        reason: String,
    },
    /// A child process of the run failed.
    #[error("the child process `{role}` failed: {reason}")]
    Child {
        /// What the child was asked to do.
        role: String,
        /// How it ended.
        reason: String,
    },
    /// Two contenders that should hold the same text do not; the comparison would not be fair.
    #[error("{what}: {left} against {right}, so the row compares unlike things")]
    Unlike {
        /// What was compared.
        what: String,
        /// The one side.
        left: u64,
        /// The other side.
        right: u64,
    },
}

/// A result of this package.
pub type Outcome<T> = Result<T, Failure>;
