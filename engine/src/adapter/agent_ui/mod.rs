//! Agent UI v0.2, in and out: 29 event classes, the host's own writes, and the later classes that say something about a session.
//! Source: `protocols.md`, sections 1 and 4.
//!
//! **Invariant:** a minimum field that is missing gives a diagnostic and the honest fallback, never a guess; a fact from an owner that
//! may not state it is kept and flagged; [`encode`] gives every source event back, equal by value.
//!
//! | part | does |
//! |---|---|
//! | [`Decoder`] | one source event into the facts it states |
//! | [`encode`] | those facts into the source event |
//! | `class` | the classes, their aliases and who may state them |
//! | `placed` | fields that stand in the event itself or in its `payload` |

mod body;
mod class;
pub mod code;
mod decode;
mod encode;
mod hydrate;
mod placed;
mod wire;

pub use decode::Decoder;
pub use encode::{encode, encode_stated};

pub use super::piece::{Piece, Unencodable};
pub use wire::WIRE;
