//! Stable codes of the diagnostics that the adapter notes.
//!
//! **Invariant:** a code, once released, keeps its meaning.

pub use crate::adapter::aiui::code::{MALFORMED_EVENT, SOURCE_UNREADABLE, UNKNOWN_EVENT};
pub use crate::adapter::line::LINE_TOO_RICH;
