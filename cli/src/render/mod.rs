//! How things look to people.
//!
//! **Invariant:** whatever a session says, no control character of it reaches the terminal.

pub(crate) mod fact;
pub(crate) mod json_page;
pub(crate) mod number;
pub(crate) mod page;
pub(crate) mod paint;
pub(crate) mod table;
pub(crate) mod text;
