//! Aseity: `@aseity/agent-ui-protocol` 0.7, in and out. Source: `protocols.md`, section 2.
//!
//! **Invariant:** [`encode`] gives every source event back, equal by value. Rejected, malformed and unknown events are data, never an
//! end of the stream; an event is taken whole or not at all.
//! **Absent:** what a reference refers to: no path is opened, resolved or cleaned.
//!
//! Of most events only the names are documented. How their fields are spelled is known here alone, and synonyms are taken.
//!
//! | part | does |
//! |---|---|
//! | [`Decoder`] | one source event, or one page of history, into the facts it states |
//! | [`encode`] | those facts into the source event |
//! | [`session_messages`] | a page of a session as a page of history |
//! | [`session_event`] | a session as the event that states its open turn |

mod body;
pub mod code;
mod decode;
mod encode;
mod export;
mod name;
mod reference;
mod spelling;
mod wire;

pub use super::piece::{Piece, Unencodable};
pub use decode::{Decoder, Validation};
pub use encode::{encode, encode_stated};
pub use export::{session_event, session_messages};
pub use wire::WIRE;

#[cfg(test)]
mod tests;
