//! Rollouts of Codex, in and out: one JSON object a line. Source: `protocols.md`, section 5, and recorded rollouts.
//!
//! **Invariant:** every line gives its facts in the order of the file, and [`encode`] gives the line back, equal by value.
//!
//! | line | gives |
//! |---|---|
//! | `response_item` | parts of messages and reasoning, calls and their results |
//! | `event_msg` | turns begin and end; text that no response item has |
//! | `session_meta`, `turn_context` | what is known of the session; the model of what follows |
//! | `compacted` | a compaction, and its summary as text of role `system` |
//! | anything else | kept as it came |
//!
//! **Text that comes twice.** A rollout has most messages as a response item, which the model saw, and as an event, which the person
//! saw. The response item wins: an event behind its item says nothing again, an event before it states the text early and the item then
//! states it whole. The two are matched by text within a few lines, and as neighbours even when their texts differ (exports hide texts
//! in different words). An event whose item never comes keeps its text.
//!
//! Old rollouts without envelopes, whose lines are the items themselves, are read as well. Where no line tells of turns, a message of
//! the person begins one; a turn that is followed by the next without having said how it ended has ended as `unknown`.

pub mod code;
mod decode;
mod event;
mod identity;
mod item;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
mod turn;
mod twins;
mod wire;

pub use super::piece::{Piece, Unencodable};
pub use decode::Decoder;
pub use identity::{Identity, identity};
pub use wire::WIRE;

use crate::event::Stated;

/// The line that gave these facts, all of them and in their order: equal by value to what was decoded, and byte for byte when nothing
/// is known of it. Cost: proportional to the line.
///
/// # Errors
/// The facts are not those of one line of a rollout.
pub fn encode(facts: &[Piece<'_>]) -> Result<String, Unencodable> {
    super::cut::encode(facts)
}

/// As [`encode`], of stated facts.
///
/// # Errors
/// The facts are not those of one line of a rollout.
pub fn encode_stated(facts: &[Stated<'_>]) -> Result<String, Unencodable> {
    encode(&facts.iter().map(Piece::of).collect::<Vec<_>>())
}
