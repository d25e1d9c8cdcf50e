//! Stable codes of the diagnostics that the adapter notes.
//!
//! **Invariant:** a code, once released, keeps its meaning.

/// The event has no name that is known; it is kept as it came.
pub const UNKNOWN_EVENT: &str = "unknown_event";
/// A known event lacks a field or has one of the wrong type; it is kept as it came and has no other effect.
pub const MALFORMED_EVENT: &str = "malformed_event";
/// A known event has an optional field of the wrong type; the field counts as absent, the event has its effect.
pub const MALFORMED_FIELD: &str = "malformed_field";
/// The first event is neither the start nor the error of a run.
pub const RUN_NOT_STARTED: &str = "run_not_started";
/// A run starts while another is active.
pub const RUN_ACTIVE: &str = "run_active";
/// An event of a run comes after the run's end.
pub const RUN_ENDED: &str = "run_ended";
/// A run ends under another id than it started with.
pub const RUN_MISMATCH: &str = "run_mismatch";
/// A run finishes while messages, calls, steps or subagents are open.
pub const OPEN_AT_FINISH: &str = "open_at_finish";
/// Something is opened that is open.
pub const ALREADY_OPEN: &str = "already_open";
/// Something is continued or closed that is not open.
pub const NOT_OPEN: &str = "not_open";
/// A continuation names another subagent than its opening.
pub const OWNER_MISMATCH: &str = "owner_mismatch";
/// A subagent id is used again within a run, or names a parent that never started.
pub const SUBAGENT_MISUSED: &str = "subagent_misused";
/// A chunk cannot be tied to a message or call, or contradicts the one it continues; it is kept and has no other effect.
pub const CHUNK_UNBOUND: &str = "chunk_unbound";
/// A text or reasoning event names a message that is an activity; it is kept and has no other effect.
pub const MESSAGE_IS_ACTIVITY: &str = "message_is_activity";
/// A run starts while an interrupt waits that its resume does not answer.
pub const INTERRUPT_UNANSWERED: &str = "interrupt_unanswered";
/// An answer comes to an interrupt that has expired.
pub const INTERRUPT_EXPIRED: &str = "interrupt_expired";
/// An event of the source could not be read as text or JSON.
pub const SOURCE_UNREADABLE: &str = "source_unreadable";
