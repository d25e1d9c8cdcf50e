//! Wire protocols, in and out: the only place that knows their JSON.
//!
//! **Invariant:** what a source event says beyond the facts it gives travels as residue, so that every source event can be written
//! again, equal by value.
//! **Absent:** folding, storage, time.

pub mod agent_ui;
pub mod aiui;
pub mod aseity;
pub mod claude_code;
pub mod codex;
mod cut;
mod fields;
#[cfg(test)]
mod folded;
mod line;
mod piece;
mod residue;
pub mod source;
mod surrogate;
