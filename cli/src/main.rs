//! The turnstore command.
fn main() {}
