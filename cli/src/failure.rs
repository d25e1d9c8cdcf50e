//! What can stop a command, and the exit codes.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::import::lane::Stop;

/// How a command ended that was not stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All of it was done.
    Done,
    /// It was done, but for input that was refused and named.
    Refused,
    /// Verify found a difference and named it.
    Differs,
    /// Check found that a stream breaks its protocol.
    Violates,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Done => 0,
            Outcome::Refused => 3,
            Outcome::Differs => 4,
            Outcome::Violates => 5,
        })
    }
}

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The store could not be opened.
    #[error("cannot open the store {}", path.display())]
    Open { path: PathBuf, source: turnstore::Error },
    /// There is no store to read.
    #[error("there is no store at {}; `turnstore import` makes one", path.display())]
    NoStore { path: PathBuf },
    /// Reading the store, or writing to it, failed.
    #[error(transparent)]
    Store(#[from] turnstore::Error),
    /// The session is not in the store.
    #[error("there is no session {session:?} in this store; `turnstore sessions` lists what is there")]
    NoSession { session: String },
    /// A protocol has no form for a session.
    #[error("{protocol} has no form in which a client joins; `turnstore events S --raw` gives back what came in")]
    NoExport { protocol: &'static str },
    /// The position is not one at which the session can be shown.
    #[error("position {asked} is not between the first event of the session, at {first}, and the newest of the store, at {head}")]
    NoPosition { asked: u64, first: u64, head: u64 },
    /// A file of the user could not be read.
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A recording went no further.
    #[error("{}", path.display())]
    Import { path: PathBuf, source: Stop },
    /// The starting point of a projection does not fit.
    #[error("{} is no starting point", path.display())]
    Start { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    /// A projection of this protocol has no starting point.
    #[error("--input is for the protocol aiui; {protocol} has no starting point")]
    NoStart { protocol: &'static str },
    /// There is no place for a store that is thrown away.
    #[error("cannot make a temporary folder")]
    Scratch(#[source] io::Error),
    /// The output could not be written.
    #[error("cannot write the output")]
    Output(#[from] io::Error),
    /// A value could not be written as JSON.
    #[error("cannot write the output as JSON")]
    Json(#[from] serde_json::Error),
}

impl Failure {
    /// Whether whoever read the output has gone away: nobody is left to tell.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Output(error) | Self::Import { source: Stop::Io(error), .. } => error.kind() == io::ErrorKind::BrokenPipe,
            Self::Json(error) => error.io_error_kind() == Some(io::ErrorKind::BrokenPipe),
            _ => false,
        }
    }

    /// Whether the store itself failed, so that nothing more can be done with it.
    pub(crate) fn is_of_store(&self) -> bool {
        use turnstore::Error::{Closed, Stopped, Storage};
        matches!(self, Self::Import { source: Stop::Store(Storage(_) | Closed | Stopped { .. }), .. })
    }
}

/// An error and its sources, on one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.ends_with(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    crate::render::text::one_line(&text)
}
