//! Wire protocols, in and out: the only place that knows their JSON.
//!
//! **Invariant:** what a source event says beyond the facts it gives travels as residue, so that every source event can be written
//! again, equal by value.
//! **Absent:** folding, storage, time.
//!
//! A protocol is one module with a `WIRE`, and one line in [`WIRES`]: then it can be imported, written back, projected and checked.
//!
//! ```
//! use turnstore::adapter::{WIRES, Wire};
//!
//! let wire = Wire::named("agent-ui").ok_or("no such protocol")?;
//! let line = r#"{"type":"run.started","sessionId":"s1","runId":"r1"}"#;
//! let mut facts = Vec::new();
//! wire.decoder().decode(line, &mut facts);
//! assert_eq!(wire.session_of(line).as_deref(), Some("s1"));
//! let value = |text: &str| serde_json::from_str::<serde_json::Value>(text);
//! assert_eq!(value(&wire.encode_stated(&facts)?)?, value(line)?);
//! assert_eq!(WIRES.len(), 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod agent_ui;
pub mod aiui;
pub mod aseity;
pub mod check;
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
mod sourced;
mod surrogate;
mod wire;

pub use piece::{Piece, Unencodable};
pub use sourced::{SourceEvent, SourceEvents, source_events};
pub use wire::{Decode, Hydration, Wire};

/// Every protocol that is known.
pub const WIRES: &[Wire] = &[aiui::WIRE, aseity::WIRE, agent_ui::WIRE, claude_code::WIRE, codex::WIRE];
