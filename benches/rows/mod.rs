//! The rows of the comparison, in the order they run.

pub mod append;
