//! How things look to people.
//!
//! **Invariant:** whatever a session says, no control character of it reaches the terminal.

pub(crate) mod fact;
pub(crate) mod number;
pub(crate) mod paint;
pub(crate) mod table;
pub(crate) mod text;
