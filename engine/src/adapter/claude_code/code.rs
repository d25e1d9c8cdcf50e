//! Stable codes of the diagnostics that the adapter notes.
//!
//! **Invariant:** a code, once released, keeps its meaning.

pub use crate::adapter::aiui::code::{MALFORMED_EVENT, SOURCE_UNREADABLE, UNKNOWN_EVENT};
pub use crate::adapter::line::LINE_TOO_RICH;

/// The line came before, byte for byte and under the same uuid; it is kept and says nothing again.
pub const LINE_REPEATED: &str = "line_repeated";
/// A line has the uuid of an earlier one and another content; it counts as a line of its own.
pub const ID_REUSED: &str = "id_reused";
