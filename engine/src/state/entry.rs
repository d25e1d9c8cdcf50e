//! Entries of a session's sequences, as they are folded and as they are archived.
//!
//! **Invariant:** everything here is ordered and plain, so that equal states archive to equal bytes.

use rkyv::{Archive, Deserialize, Serialize};

use super::chunked::Chunked;
use super::shelf::{Artifact, Evidence, Intent, Queue, Steer, Surface, Workspace, Write};

/// The numbered sequences of a session. Each is stored in pages of [`PAGE_ENTRIES`].
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[rkyv(derive(Debug))]
pub enum Sequence {
    /// Turns and their items, in arrival order; imported history goes below zero.
    Timeline,
    /// Artifacts, documents, evidence, surfaces, intents, steers, writes; the queue and the workspace.
    Shelf,
    /// Diagnostics.
    Diagnostics,
}

/// Entries in a page: large enough to compress, small enough that rewriting the last page at each checkpoint stays cheap.
pub const PAGE_ENTRIES: i64 = 32;

/// Neighbours of one sequence, and the unit in which they are archived.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Page {
    /// Entry `i` has ordinal `page * PAGE_ENTRIES + i`; `None` where nothing is (yet).
    pub entries: Vec<Option<Entry>>,
}

/// One place in a sequence.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Entry {
    /// Ordinal of its turn's entry; `None` outside any turn.
    pub turn: Option<i64>,
    /// Seq of the event that created it.
    pub first_seq: u64,
    /// Seq of the last event that changed it.
    pub last_seq: u64,
    /// What it is.
    pub body: Body,
}

/// What an entry is.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub enum Body {
    /// A turn; its items are the timeline entries that name it.
    Turn(Turn),
    /// Text, reasoning, or an activity.
    Part(Part),
    /// A tool call with its results.
    Tool(Tool),
    /// A tool result that stands apart from its call, or whose call is unknown.
    Result(LoneResult),
    /// A question and what became of it.
    Interaction(Interaction),
    /// An artifact was stated in the timeline, by id.
    ArtifactRef(String),
    /// Evidence was stated in the timeline, by id.
    EvidenceRef(String),
    /// A compaction of the agent's context.
    Compaction(Compaction),
    /// An artifact (shelf).
    Artifact(Artifact),
    /// A document (shelf).
    Document(Document),
    /// The queue (shelf).
    Queue(Queue),
    /// A steering input (shelf).
    Steer(Steer),
    /// An evidence record (shelf).
    Evidence(Evidence),
    /// A surface (shelf).
    Surface(Surface),
    /// The workspace (shelf).
    Workspace(Workspace),
    /// An intent (shelf).
    Intent(Intent),
    /// A write (shelf).
    Write(Write),
    /// A diagnostic.
    Diagnostic(Diagnostic),
}

/// A turn.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Turn {
    /// Turn id.
    pub id: String,
    /// Run id, when it differs.
    pub run: Option<String>,
    /// Thread that the source named.
    pub thread: Option<String>,
    /// Parent turn or run.
    pub parent: Option<String>,
    /// Turn that this one resumes.
    pub resumes: Option<String>,
    /// unknown, running, completed, failed, cancelled, stopped, interrupted, interrupt, or the source's own word.
    pub status: String,
    /// Whether a terminal status was stated.
    pub ended: bool,
    /// Last stage or open step.
    pub stage: Option<String>,
    /// Error, verbatim JSON.
    pub error: Option<Box<Content>>,
    /// Whether the owner says a retry can help.
    pub retryable: Option<bool>,
    /// Result, JSON.
    pub result: Option<Box<Content>>,
    /// Usage, JSON.
    pub usage: Option<Box<Content>>,
    /// Tool calls left to the client: the first of them, up to [`crate::limits::LIST_BYTES_MAX`].
    pub pending_tools: Vec<String>,
    /// How many there are in all.
    pub pending_tools_count: u64,
    /// Artifacts by path; `None` when nothing was stated.
    pub artifacts: Option<Vec<PathArtifact>>,
    /// Seq of the event that stated the artifacts.
    pub artifacts_seq: u64,
    /// How often it was started again after its end.
    pub reopened: u32,
    /// Seq of the event that stated its status last; 0 when only a history did.
    pub told_seq: u64,
    /// Seq of the first event that brought what an assistant said in it; `None` when only a history did.
    pub said_seq: Option<u64>,
}

/// An artifact by path.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub struct PathArtifact {
    /// Full relative path, untouched.
    pub path: String,
    /// document, webpage, presentation, spreadsheet, image.
    pub artifact_type: String,
}

/// What a part holds.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[rkyv(derive(Debug))]
pub enum PartRole {
    /// Text.
    Text,
    /// Reasoning.
    Reasoning,
    /// Activity.
    Activity,
}

/// How a part's text came to stand. Source: `protocols.md`, section 6.2.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub enum Mark {
    /// More may come.
    #[default]
    Open,
    /// Closed without a final text.
    Closed,
    /// The final text equals what was streamed.
    Match,
    /// There was a final text only.
    FinalOnly,
    /// The final text went on where the streamed one stopped.
    Extended,
    /// The final text differed and replaced the streamed one.
    Replaced,
    /// The message's final text stands elsewhere.
    Superseded,
}

impl Mark {
    /// Whether an owner stated the whole text.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Open | Self::Closed)
    }
}

/// Content of a part or a result, or any other value that was stated: what is above [`crate::limits::INLINE_BYTES_MAX`] stays in the log,
/// but for text that grows.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub enum Content {
    /// Text.
    Text(Chunked),
    /// JSON, verbatim.
    Json(Chunked),
    /// Too large to keep here: it stays in the log and is fetched by reference.
    Payload(Logged),
}

/// A content that stays in the log.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Logged {
    /// How it begins.
    pub preview: String,
    /// Its whole length.
    pub bytes: u64,
    /// Digest of the whole of it.
    pub digest: [u8; 16],
    /// Seq of the event that holds it.
    pub seq: u64,
    /// Whether it is JSON rather than text.
    pub json: bool,
}

/// A compaction of the agent's context.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Compaction {
    /// started or completed.
    pub phase: String,
    /// JSON.
    pub detail: Option<Box<Content>>,
}

/// A text, reasoning or activity part.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Part {
    /// Part id.
    pub id: String,
    /// Message id.
    pub message: String,
    /// What it holds.
    pub kind: PartRole,
    /// Role, verbatim.
    pub role: String,
    /// Author name.
    pub name: Option<String>,
    /// Subagent run.
    pub agent: Option<String>,
    /// Activity type.
    pub subtype: Option<String>,
    /// Content; `None` when none was stated. An activity's content is its document.
    pub content: Option<Content>,
    /// How the text stands.
    pub mark: Mark,
    /// Encrypted value.
    pub sealed: Option<Box<Content>>,
    /// Error of the message, JSON.
    pub error: Option<Box<Content>>,
    /// Metadata, a JSON object of at most [`crate::limits::MERGED_BYTES_MAX`].
    pub metadata: Option<String>,
}

/// A tool call.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Tool {
    /// Tool call id.
    pub id: String,
    /// Tool name.
    pub name: String,
    /// Message that the call belongs to.
    pub message: String,
    /// Subagent run.
    pub agent: Option<String>,
    /// Argument text.
    pub args: Chunked,
    /// Streamed output.
    pub output: Chunked,
    /// running, succeeded, failed, or the source's own word.
    pub status: String,
    /// Whether the arguments are complete.
    pub args_ended: bool,
    /// Progress, JSON.
    pub progress: Option<Box<Content>>,
    /// Error, JSON.
    pub error: Option<Box<Content>>,
    /// Kind, summary, risk, JSON.
    pub detail: Option<Box<Content>>,
    /// Encrypted value.
    pub sealed: Option<Box<Content>>,
    /// Metadata of the call, a JSON object of at most [`crate::limits::MERGED_BYTES_MAX`].
    pub metadata: Option<String>,
    /// Metadata of the message that the call made for itself, likewise.
    pub message_metadata: Option<String>,
    /// Encrypted value of that message.
    pub message_sealed: Option<Box<Content>>,
    /// Results, in arrival order, up to [`crate::limits::TOOL_RESULTS_MAX`]; later ones stand alone.
    pub results: Vec<ToolResult>,
}

/// One result of a tool call.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct ToolResult {
    /// Seq at which it arrived: the order among results of one message.
    pub seq: u64,
    /// Id of the message that carried it.
    pub message: Option<String>,
    /// Content.
    pub content: Option<Content>,
    /// Reference to output kept elsewhere.
    pub reference: Option<String>,
    /// Error text, or a JSON string.
    pub error: Option<Box<Content>>,
    /// Subagent run.
    pub agent: Option<String>,
    /// Preview, duration and the like, JSON.
    pub detail: Option<Box<Content>>,
    /// Encrypted value.
    pub sealed: Option<Box<Content>>,
    /// Metadata, a JSON object.
    pub metadata: Option<Box<Content>>,
}

/// A result with a place of its own in the timeline.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct LoneResult {
    /// Tool call id that it names.
    pub tool: String,
    /// The result.
    pub result: ToolResult,
}

/// Where an interaction stands. Source: `protocols.md`, section 3.6.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub enum InteractionStatus {
    /// Waits for an answer.
    Pending,
    /// Answered, cancelled or expired by its owner.
    Resolved,
    /// No longer asked, without a decision.
    Withdrawn,
}

/// A question and what became of it.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Interaction {
    /// Interaction id.
    pub id: String,
    /// approval, interrupt, elicitation.. verbatim.
    pub kind: String,
    /// Where it stands.
    pub status: InteractionStatus,
    /// The request, JSON; `None` for a decision that came without one.
    pub request: Option<Box<Content>>,
    /// How often the request was replaced.
    pub revision: u32,
    /// The interrupt that asked for it, JSON.
    pub interrupt: Option<Box<Content>>,
    /// Turn that asked.
    pub turn: Option<String>,
    /// Tool call that waits.
    pub tool: Option<String>,
    /// When it expires, verbatim.
    pub expires_at: Option<String>,
    /// The decision that stands.
    pub decision: Option<Decision>,
    /// Decisions that came after it: the first of them, up to [`crate::limits::CONFLICTS_MAX`].
    pub conflicts: Vec<Decision>,
    /// How many there are in all.
    pub conflicts_count: u64,
}

/// A decision on an interaction.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Decision {
    /// Decision id.
    pub id: Option<String>,
    /// resolved, cancelled or expired.
    pub resolution: String,
    /// Everything it said, JSON.
    pub payload: Option<Box<Content>>,
    /// Digest of what the payload means: equal for equal values, however they are written.
    pub payload_meaning: [u8; 16],
    /// Backend receipt, JSON.
    pub receipt: Option<Box<Content>>,
    /// Digest of what the receipt means.
    pub receipt_meaning: [u8; 16],
}

/// A JSON document: a base and the patches since, both as growing text.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Document {
    /// Name.
    pub name: String,
    /// The value when it was last written whole, JSON.
    pub base: Chunked,
    /// Patches since, one JSON array a line.
    pub patches: Chunked,
    /// A patch failed and no whole value came since.
    pub stale: bool,
}

/// Something that did not fit.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct Diagnostic {
    /// Stable code.
    pub code: String,
    /// For people: the beginning, up to [`crate::limits::INLINE_BYTES_MAX`]. The event at `seq` says the rest.
    pub detail: Option<String>,
    /// Position in the session of the event that caused it.
    pub seq: u64,
}

impl Content {
    /// What of it is in the entry itself: all of a small value, the preview of a large one, the open end of a growing text.
    pub fn here(&self) -> &str {
        match self {
            Self::Text(text) | Self::Json(text) => &text.tail,
            Self::Payload(logged) => &logged.preview,
        }
    }

    /// Whether it says the same, whichever event said it.
    pub(crate) fn says(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Payload(one), Self::Payload(two)) => one.digest == two.digest && one.bytes == two.bytes && one.json == two.json,
            (one, two) => one == two,
        }
    }
}

impl Body {
    /// The value that patches change, of a document or a surface.
    pub(crate) fn document(&self) -> Option<&Document> {
        match self {
            Self::Document(document) => Some(document),
            Self::Surface(surface) => Some(&surface.state),
            _ => None,
        }
    }

    /// Every content of a timeline's entry.
    pub(crate) fn contents_mut(&mut self, each: &mut dyn FnMut(&mut Content)) {
        let mut values = |values: &mut [&mut Option<Box<Content>>]| {
            values.iter_mut().filter_map(|value| value.as_deref_mut()).for_each(&mut *each);
        };
        match self {
            Self::Turn(turn) => values(&mut [&mut turn.error, &mut turn.result, &mut turn.usage]),
            Self::Part(part) => {
                values(&mut [&mut part.sealed, &mut part.error]);
                part.content.iter_mut().for_each(each);
            }
            Self::Tool(tool) => {
                values(&mut [&mut tool.progress, &mut tool.error, &mut tool.detail, &mut tool.sealed, &mut tool.message_sealed]);
                tool.results.iter_mut().for_each(|result| result.contents_mut(each));
            }
            Self::Result(lone) => lone.result.contents_mut(each),
            Self::Interaction(asked) => {
                values(&mut [&mut asked.request, &mut asked.interrupt]);
                for decision in asked.decision.iter_mut().chain(&mut asked.conflicts) {
                    values(&mut [&mut decision.payload, &mut decision.receipt]);
                }
            }
            Self::Compaction(marked) => values(&mut [&mut marked.detail]),
            // What is on the shelf is never compared with a statement of the history.
            _ => {}
        }
    }
}

impl ToolResult {
    fn contents_mut(&mut self, each: &mut dyn FnMut(&mut Content)) {
        let values = [&mut self.error, &mut self.detail, &mut self.sealed, &mut self.metadata];
        values.into_iter().filter_map(|value| value.as_deref_mut()).chain(&mut self.content).for_each(each);
    }
}
