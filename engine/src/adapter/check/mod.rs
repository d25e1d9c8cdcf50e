//! What a stream does that its protocol does not allow, for the author of the host that wrote it.
//!
//! **Invariant:** a finding is a diagnostic that decoding or folding left in the session, or something that stands open at its end;
//! nothing is looked at twice in two ways. Every code has one entry that says how bad it is, what it means and what to do.
//!
//! | part | does |
//! |---|---|
//! | [`Code`] | one code, with its severity, meaning and advice |
//! | [`about`] | the entry of a code in a protocol |
//! | [`findings`] | everything that is found in a session |
//! | `end` | what stands open at the end |
//! | `table` | the codes that are not of one protocol |

mod end;
mod table;
#[cfg(test)]
mod tests;

use turnstore_storage::Seq;

use super::wire::Wire;
use crate::View;
use crate::error::Error;

pub use super::aiui::code::SOURCE_UNREADABLE;
pub(super) use table::{AFTER_END, OPEN_TURN};
pub use table::{LEFT_OUT, REPEATED_DELIVERY, UNANSWERED_REQUEST, UNLISTED};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The stream breaks the protocol: something was lost, refused, or clients differ about it.
    Error,
    /// The stream can be read, but says less or other than its producer likely meant.
    Warning,
    /// Worth knowing, and nothing to mend by itself.
    Note,
}

impl Severity {
    /// One word, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A stable code of a diagnostic. Once released it keeps its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The code, in snake case.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it means, and what became of the event: one sentence.
    pub meaning: &'static str,
    /// What the producer of the stream can do: one sentence.
    pub advice: &'static str,
}

pub(super) const fn error(code: &'static str, meaning: &'static str, advice: &'static str) -> Code {
    Code { code, severity: Severity::Error, meaning, advice }
}

pub(super) const fn warning(code: &'static str, meaning: &'static str, advice: &'static str) -> Code {
    Code { code, severity: Severity::Warning, meaning, advice }
}

pub(super) const fn note(code: &'static str, meaning: &'static str, advice: &'static str) -> Code {
    Code { code, severity: Severity::Note, meaning, advice }
}

/// The entry of a code: the protocol's own, else the common one. A code that has none, such as a host's own, gives [`UNLISTED`].
pub fn about(wire: &Wire, code: &str) -> &'static Code {
    let entries = wire.codes.iter().chain(table::COMMON);
    entries.into_iter().find(|entry| entry.code == code).unwrap_or(&UNLISTED)
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The code: that of `about`, unless it is unlisted.
    pub code: String,
    /// Its entry.
    pub about: &'static Code,
    /// What exactly, for people.
    pub detail: Option<String>,
    /// The event of the session that it is about: the one that does not fit, or the one that opened what stands open.
    pub seq: Seq,
}

/// Tells of everything that is found in a session of this protocol: the diagnostics in the order of their events, then what stands open
/// at the end. Cost: the diagnostics and the timeline, a page at a time; memory does not grow with the session.
///
/// # Errors
/// [`Error::NoSession`], or the store could not be read.
pub fn findings(view: &View, session: &str, wire: &Wire, tell: &mut dyn FnMut(Finding)) -> Result<(), Error> {
    for diagnostic in view.diagnostics(session)? {
        let diagnostic = diagnostic?;
        let about = about(wire, &diagnostic.code);
        let seq = Seq::new(diagnostic.seq).unwrap_or(Seq::FIRST);
        tell(Finding { code: diagnostic.code, about, detail: diagnostic.detail, seq });
    }
    end::findings(view, session, &mut |code: &str, seq, detail| {
        tell(Finding { code: code.to_owned(), about: about(wire, code), detail: Some(detail), seq });
    })
}
