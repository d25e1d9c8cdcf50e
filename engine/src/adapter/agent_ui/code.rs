//! Stable codes of the diagnostics that the adapter notes.
//!
//! **Invariant:** a code, once released, keeps its meaning.

/// The event has no class that is known; it is kept as it came.
pub const UNKNOWN_EVENT: &str = "unknown_event";
/// An event lacks a field that its class needs. Without an id it is kept as it came and has no other effect; without a value it is
/// stated with what is known, and the value is unknown.
pub const MISSING_FIELD: &str = "missing_field";
/// A field that the event cannot do without has the wrong type; the event is kept as it came and has no other effect.
pub const MALFORMED_EVENT: &str = "malformed_event";
/// A field has the wrong type; it counts as absent, the event has its effect.
pub const MALFORMED_FIELD: &str = "malformed_field";
/// The event names an owner that may not state its class; the fact is kept.
pub const FACT_WRONG_OWNER: &str = "fact_wrong_owner";
/// A part id was used in another message before; the part is named by message and id, so that the texts stay apart.
pub const PART_ID_REUSED: &str = "part_id_reused";
