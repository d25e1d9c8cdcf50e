//! The rows of the comparison.

pub mod adapter;
pub mod alone;
pub mod append;
pub mod depth;
pub mod memory;
pub mod open;
pub mod rebuild;
pub mod size;
pub mod window;
