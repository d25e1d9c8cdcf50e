//! Stable codes of the diagnostics that the adapter notes.
//!
//! **Invariant:** a code, once released, keeps its meaning.

/// The event has no name that is known; it is kept as it came.
pub const UNKNOWN_EVENT: &str = "unknown_event";
/// A known event lacks a field or has one of the wrong type; it is kept as it came and has no other effect.
pub const MALFORMED_EVENT: &str = "malformed_event";
/// A known event has an optional field of the wrong type; the field counts as absent, the event has its effect.
pub const MALFORMED_FIELD: &str = "malformed_field";
/// A reference has an `id` and no `entryPath`: the form before 0.7. The whole event is rejected, with any validation.
pub const LEGACY_ARTIFACT_REFERENCE: &str = "legacy_artifact_reference";
/// A reference has an empty `entryPath`; the whole event is rejected.
pub const EMPTY_ENTRY_PATH: &str = "empty_entry_path";
/// A reference has an `artifactType` that is none of the five; the whole event is rejected.
pub const INVALID_ARTIFACT_TYPE: &str = "invalid_artifact_type";
/// A reference is no object with an `entryPath`; the whole event is rejected.
pub const INVALID_ARTIFACT_REFERENCE: &str = "invalid_artifact_reference";
/// A page was kept in the form of a protocol before 0.7; it is rejected whole, with any validation.
pub const OLD_FORMAT_SNAPSHOT: &str = "old_format_snapshot";
/// A message and the summary of its turn state different artifacts; the summary stands.
pub const ARTIFACT_SOURCE_CONFLICT: &str = "artifact_source_conflict";
/// A path is absolute or leads out of the workspace; it is kept intact.
pub const PATH_OUTSIDE_WORKSPACE: &str = "path_outside_workspace";
/// A turn has a status that hosts keep to themselves; it counts as running.
pub const HOST_STATUS_ON_WIRE: &str = "host_status_on_wire";
/// The session reports an error of its own.
pub const SESSION_ERROR: &str = "session_error";
