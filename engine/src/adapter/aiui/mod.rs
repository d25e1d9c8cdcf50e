//! AIUI: the AG-UI compatible event set, in and out. Source: `protocols.md`, section 3.
//!
//! **Invariant:** decoding depends on the events before it and on nothing else; [`encode`] gives every source event back, equal by
//! value. Malformed, misplaced and unknown events are data, never an end of the stream.
//!
//! | part | does |
//! |---|---|
//! | [`Decoder`] | one source event into the facts it states |
//! | [`encode`] | those facts into the source event |
//! | [`project`] | a folded session into the protocol's messages, state and pending interrupts |
//! | [`join`](fn@join) | a stored session into the events by which a client joins it |
//! | `fold` | source events into that projection, without a store |

mod body;
pub mod code;
mod decode;
mod encode;
mod fold;
mod join;
mod lanes;
mod name;
mod order;
mod project;
mod wire;

pub use super::piece::{Piece, Unencodable};
pub use decode::Decoder;
pub use encode::{encode, encode_stated};
pub use fold::{BadStart, Folder, Start};
pub use join::join;
pub use project::{Payloads, project};
pub use wire::WIRE;
