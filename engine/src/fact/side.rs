//! Facts beside the timeline: session, queue, documents, surfaces, workspace, evidence, writes, diagnostics.

use bincode::{BorrowDecode, Encode};

use super::{Json, Text};

/// Title, status or flags of the session; absent fields say nothing.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct SessionChanged<'a> {
    /// Title.
    pub title: Option<Text<'a>>,
    /// Status word of the source.
    pub status: Option<Text<'a>>,
    /// An object merged key by key into the session's fields.
    pub fields: Option<Json<'a>>,
}

/// The whole queue, replacing what was there.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct QueueSet<'a> {
    /// Items in list order.
    pub items: Vec<QueueItem<'a>>,
}

/// One waiting input.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct QueueItem<'a> {
    /// Item id.
    pub id: Text<'a>,
    /// Stated position, when there is one.
    pub position: Option<u64>,
    /// The item, verbatim.
    pub fields: Json<'a>,
}

/// One steering input; it never becomes a message.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct SteerChanged<'a> {
    /// Steer id.
    pub steer: Text<'a>,
    /// Turn it aims at.
    pub target: Option<Text<'a>>,
    /// pending, accepted, rejected, cancelled.
    pub state: Text<'a>,
    /// Text; absent keeps what is known.
    pub text: Option<Text<'a>>,
    /// Why it was rejected.
    pub reason: Option<Text<'a>>,
}

/// One evidence record.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct EvidenceChanged<'a> {
    /// Evidence id.
    pub evidence: Text<'a>,
    /// Turn id; `None` means the current turn.
    pub turn: Option<Text<'a>>,
    /// The fields that the source gave, as a JSON object; merged key by key.
    pub fields: Json<'a>,
}

/// A document, whole. Clears its stale mark.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct DocumentSet<'a> {
    /// Document name: `state`, or `activity:<message>`.
    pub document: Text<'a>,
    /// The value.
    pub value: Json<'a>,
    /// `false` leaves an existing document alone.
    pub replace: bool,
}

/// RFC 6902 operations, applied whole or not at all. Source: `protocols.md`, section 3.4.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct DocumentPatched<'a> {
    /// Document name.
    pub document: Text<'a>,
    /// The array of operations.
    pub patch: Json<'a>,
}

/// A sequenced surface changed.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct SurfaceChanged<'a> {
    /// Surface id.
    pub surface: Text<'a>,
    /// What happened.
    pub op: SurfaceOp,
    /// Place in the surface's own sequence.
    pub sequence: Option<u64>,
    /// Create: the whole definition; patch: the operations; close: null.
    pub body: Json<'a>,
}

/// What happened to a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, BorrowDecode)]
pub enum SurfaceOp {
    /// Created or reset.
    Create,
    /// Patched.
    Patch,
    /// Closed.
    Close,
}

/// The workspace changed.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct WorkspaceChanged<'a> {
    /// What happened.
    pub op: WorkspaceOp,
    /// Intent id, for intents and results.
    pub intent: Option<Text<'a>>,
    /// The statement, verbatim.
    pub body: Json<'a>,
}

/// What happened to the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, BorrowDecode)]
pub enum WorkspaceOp {
    /// The host's capabilities.
    Capabilities,
    /// An agent's request.
    Intent,
    /// The host's answer.
    IntentResult,
    /// A snapshot of the shell.
    State,
}

/// A controlled write was attempted or settled.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct WriteChanged<'a> {
    /// Write id.
    pub write: Text<'a>,
    /// Attempt or outcome.
    pub op: WriteOp<'a>,
}

/// The two steps of a write.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub enum WriteOp<'a> {
    /// The host is about to write.
    Attempted {
        /// send, queue, steer, respond, export..
        action: Text<'a>,
        /// What it aims at.
        target: Option<Text<'a>>,
        /// The write's idempotency key.
        key: Option<Text<'a>>,
        /// Anything more.
        detail: Option<Json<'a>>,
    },
    /// The owner answered, or did not.
    Settled {
        /// confirmed, failed, unknown.
        outcome: Text<'a>,
        /// Anything more.
        detail: Option<Json<'a>>,
    },
}

/// A compaction of the agent's context.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct CompactionMarked<'a> {
    /// started or completed.
    pub phase: Text<'a>,
    /// Anything more.
    pub detail: Option<Json<'a>>,
}

/// Rejected input, kept as data so that replay shows the same diagnostic.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct DiagnosticNoted<'a> {
    /// Stable code.
    pub code: Text<'a>,
    /// What was wrong, for people.
    pub detail: Option<Text<'a>>,
    /// The rejected input, as it came.
    pub raw: Option<Text<'a>>,
}

/// A source event that no other kind models; kept, counted, nothing else.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct Opaque<'a> {
    /// The event's name as received.
    pub name: Text<'a>,
    /// The event as received.
    pub payload: Text<'a>,
}
