//! What a session has beside its turns, as it is folded and as it is archived.
//!
//! **Invariant:** every list and object here has a measure (see [`crate::limits`]), so that an entry stays well below a row's bound.

use rkyv::{Archive, Deserialize, Serialize};

use super::chunked::Chunked;
use super::entry::{Content, Document};

/// An artifact, by path or by id. Source: `protocols.md`, sections 2.3 and 6.3.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Artifact {
    /// Path, for artifacts of turns.
    pub path: Option<String>,
    /// Id, for artifacts of an artifact service.
    pub id: Option<String>,
    /// Kind or type; `unknown` when not stated.
    pub kind: String,
    /// creating, ready, updating, failed, stale, superseded, deleted, unknown, or the source's own word.
    pub status: String,
    /// Ids of the turns that reference it, in the order of reference: the newest, up to [`crate::limits::LIST_BYTES_MAX`].
    pub turns: Vec<String>,
    /// How many reference it in all.
    pub turns_count: u64,
    /// Versions in order: the newest, up to [`crate::limits::LIST_BYTES_MAX`].
    pub versions: Vec<String>,
    /// How many there are in all.
    pub versions_count: u64,
    /// Current version.
    pub version: Option<String>,
    /// Export jobs in the order of their beginning: the newest, up to [`crate::limits::LIST_BYTES_MAX`].
    pub exports: Vec<Export>,
    /// How many there are in all.
    pub exports_count: u64,
    /// Preview, JSON.
    pub preview: Option<Box<Content>>,
    /// Where its content is read.
    pub read_ref: Option<String>,
    /// Where its newest difference is read.
    pub diff_ref: Option<String>,
    /// Why it failed, JSON; gone with the next status.
    pub error: Option<Box<Content>>,
    /// Incarnation, raised when a deleted one is created again.
    pub incarnation: u32,
    /// Everything else that was stated, a JSON object of at most [`crate::limits::MERGED_BYTES_MAX`].
    pub fields: Option<String>,
}

/// An export job of an artifact.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub struct Export {
    /// Export id.
    pub id: String,
    /// started, completed, failed.
    pub state: String,
    /// Where the export is read.
    pub reference: Option<String>,
}

/// The inputs that wait, as they were stated last. Source: `protocols.md`, section 6.4.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Queue {
    /// By position, then as listed: the first, up to [`crate::limits::QUEUE_BYTES_MAX`].
    pub items: Vec<Queued>,
    /// How many wait in all.
    pub count: u64,
}

/// One input that waits.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Queued {
    /// Item id.
    pub id: String,
    /// Stated position.
    pub position: Option<u64>,
    /// The item, JSON.
    pub fields: Content,
}

/// One steering input; it never becomes a message. Source: `protocols.md`, section 6.4.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Steer {
    /// Steer id.
    pub id: String,
    /// Turn that it aims at.
    pub target: Option<String>,
    /// pending, accepted, rejected, cancelled, or the source's own word.
    pub state: String,
    /// Its text; a rejected one keeps it.
    pub text: Option<Box<Content>>,
    /// Why it was rejected.
    pub reason: Option<Box<Content>>,
}

/// An evidence record.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Evidence {
    /// Evidence id.
    pub id: String,
    /// Turn that it belongs to.
    pub turn: Option<String>,
    /// Status, verbatim; `None` when not stated.
    pub status: Option<String>,
    /// Verdict, JSON: the one stated last.
    pub verdict: Option<Box<Content>>,
    /// Digest of what the verdict means.
    pub verdict_meaning: [u8; 16],
    /// How often another verdict was stated than the one before: above zero it is disputed.
    pub verdict_changes: u32,
    /// Everything else that was stated, its references among it: a JSON object of at most [`crate::limits::MERGED_BYTES_MAX`].
    pub fields: Option<String>,
}

/// A sequenced surface. Source: `protocols.md`, section 3.8.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Surface {
    /// Surface id.
    pub id: String,
    /// What created it, JSON; `None` before its creation was seen.
    pub definition: Option<Box<Content>>,
    /// Its state, which patches change. Stale since a patch failed.
    pub state: Document,
    /// Sequence of the last step that was taken.
    pub sequence: Option<u64>,
    /// Patches that wait for one before them, by sequence: sequence and JSON. Bounded by [`crate::limits::SURFACE_BUFFER_MAX`] and
    /// [`crate::limits::SURFACE_BUFFER_BYTES_MAX`].
    pub buffered: Vec<(u64, String)>,
    /// The buffer overflowed: nothing but a new creation mends it.
    pub lost: bool,
    /// Closed.
    pub closed: bool,
}

/// The workspace of a session. Source: `protocols.md`, section 3.7.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Workspace {
    /// The host's capabilities, JSON.
    pub capabilities: Option<Box<Content>>,
    /// The newest snapshot as it was stated, JSON.
    pub state: Option<Box<Content>>,
    /// Highest revision that was stated.
    pub revision: Option<u64>,
}

/// What an agent asked of the workspace, and what the host made of it.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Intent {
    /// Intent id, which is an idempotency key.
    pub id: String,
    /// requested, accepted, rejected, completed, failed.
    pub status: String,
    /// The intent, JSON.
    pub body: Option<Box<Content>>,
    /// Digest of what it means.
    pub meaning: [u8; 16],
    /// The result that stands, JSON.
    pub result: Option<Box<Content>>,
}

/// A controlled write. Source: `protocols.md`, section 9.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Write {
    /// Write id.
    pub id: String,
    /// send, queue, steer, respond, export.. verbatim; `None` when its attempt was not seen.
    pub action: Option<String>,
    /// What it aims at.
    pub target: Option<String>,
    /// Its idempotency key.
    pub key: Option<String>,
    /// attempted, then confirmed, failed or unknown.
    pub status: String,
    /// How often it was attempted.
    pub attempts: u32,
    /// What the attempt said beside, JSON.
    pub attempt: Option<Box<Content>>,
    /// What the outcome said beside, JSON.
    pub outcome: Option<Box<Content>>,
}

impl Content {
    /// What is here of it: the whole, or its beginning.
    pub fn shown(&self) -> &str {
        match self {
            Self::Text(Chunked { tail, .. }) | Self::Json(Chunked { tail, .. }) => tail,
            Self::Payload(logged) => &logged.preview,
        }
    }

    /// Its whole length in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) | Self::Json(text) => text.bytes(),
            Self::Payload(logged) => logged.bytes,
        }
    }

    /// Whether it is JSON, verbatim, rather than text.
    pub fn is_json(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Json(_) => true,
            Self::Payload(logged) => logged.json,
        }
    }

    /// Whether only its beginning is here. The whole: [`crate::PayloadRef::of`].
    pub fn truncated(&self) -> bool {
        matches!(self, Self::Payload(_))
    }
}
