//! Examples of using turnstore; each file in this folder is a program: `cargo run -p turnstore-examples --bin quickstart`.
//!
//! | program | shows |
//! |---|---|
//! | `quickstart` | append a turn, read it back, answer a question once |
//! | `hydrate_offline` | open an old session without its host: newest window first, older pages on demand |
//! | `follow_live` | read events and windows while another thread appends |
//!
//! `recordings` holds sessions to import: `cargo run -p turnstore-cli -- import examples/recordings --protocol aiui`.

/// The README's code compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
