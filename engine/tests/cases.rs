//! What has gone wrong for users of other hosts, from their public bug reports, each as an input and the right outcome.
//!
//! | case | what went wrong there | here |
//! |---|---|---|
//! | 1 to 12 | damaged, torn and full files | `storage/tests/{crash,store,tail,threads}.rs`, `cli/tests/files.rs` |
//! | 14, 15, 17, 24, 59 | two writers, numbers minted twice, a lock of the dead | [`writers`] |
//! | 32 | values and lists without measure | [`floods`], [`large`] |
//! | 18, 30, 57 | rows that are not those of the log, unreadable shown as empty, a half upgrade | [`rows`] |
//! | 20, 21, 22, 25, 27, 53 | order by time or id, pages that skip or end early, siblings | [`order`] |
//! | 29 | opening walks the history | `engine/tests/bounded.rs` |
//! | 32, 55, 61, 62 | what is written and cannot be read, unknown events, hostile names, names for identity | [`input`], [`ids`] |
//! | 34, 35, 37, 50 | replays, finals after deltas, repeats, retries | [`repeats`] |
//! | 39, 40, 42, 44, 45, 47 | calls and turns left open, questions lost or undead | [`restarts`] |
//! | 51, 54 | forks and rewinds | not of this version |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test fails by panicking, its helpers too"
)]

mod host;

#[path = "cases/beside.rs"]
mod beside;
#[path = "cases/floods.rs"]
mod floods;
#[path = "cases/ids.rs"]
mod ids;
#[path = "cases/input.rs"]
mod input;
#[path = "cases/large.rs"]
mod large;
#[path = "cases/messages.rs"]
mod messages;
#[path = "cases/order.rs"]
mod order;
#[path = "cases/repeats.rs"]
mod repeats;
#[path = "cases/restarts.rs"]
mod restarts;
#[path = "cases/rows.rs"]
mod rows;
#[path = "cases/writers.rs"]
mod writers;
