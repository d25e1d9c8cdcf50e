//! Transcripts of Claude Code, in and out: one JSON object a line. Source: `protocols.md`, section 5, and recorded transcripts.
//!
//! **Invariant:** every line gives its facts in the order of the file, whatever its times and parents say, and [`encode`] gives the line
//! back, equal by value. Nothing is left out: siblings, orphans and cycles are lines like others; the parent of each stands in the
//! metadata of its parts (`uuid`, `parentUuid`), from which a tree can be shown.
//!
//! | line | gives |
//! |---|---|
//! | prompt | the turn before it ends, a turn begins; parts of role `user` |
//! | `assistant` | one part or call for each block; lines with one message id are parts of one message |
//! | tool result | the result of its call, which an earlier line made |
//! | an interruption, an API error, `end_turn` | the turn ends, as the line says |
//! | `system` | text of role `system`, or a compaction |
//! | summaries and titles | the title, when they are of this session |
//! | anything else | kept as it came |
//!
//! A turn that is followed by the next prompt without having said how it ended has ended as `unknown`; the last one goes on running.
//! A line that comes again byte for byte is kept as a diagnostic and says nothing twice.

pub mod code;
mod content;
mod decode;
mod identity;
mod meta;
#[cfg(test)]
mod recorded;
mod seen;
#[cfg(test)]
mod tests;
mod turn;
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
/// The facts are not those of one line of a transcript.
pub fn encode(facts: &[Piece<'_>]) -> Result<String, Unencodable> {
    super::cut::encode(facts)
}

/// As [`encode`], of stated facts.
///
/// # Errors
/// The facts are not those of one line of a transcript.
pub fn encode_stated(facts: &[Stated<'_>]) -> Result<String, Unencodable> {
    encode(&facts.iter().map(Piece::of).collect::<Vec<_>>())
}
