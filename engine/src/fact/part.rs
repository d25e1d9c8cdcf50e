//! Facts about text, reasoning and activity parts.

use bincode::{BorrowDecode, Encode};

use super::{Content, Json, Text};

/// What a part holds. Parts of different kinds never share text, even under one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, BorrowDecode)]
pub enum PartKind {
    /// Answer or input text.
    Text,
    /// Reasoning text.
    Reasoning,
    /// A structured activity; its content is the document `activity:<message>`.
    Activity,
}

/// A part exists. Opening a known part changes nothing but its metadata.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct PartOpened<'a> {
    /// Part id, unique within its kind; hosts with one part a message give the message id.
    pub part: Text<'a>,
    /// Message that the part belongs to.
    pub message: Text<'a>,
    /// What it holds.
    pub kind: PartKind,
    /// Author role, verbatim: user, assistant, system, developer, reasoning, activity..
    pub role: Text<'a>,
    /// Author name.
    pub name: Option<Text<'a>>,
    /// Turn id; `None` means the current turn.
    pub turn: Option<Text<'a>>,
    /// Subagent run that produced it.
    pub agent: Option<Text<'a>>,
    /// Activity type, for activities.
    pub subtype: Option<Text<'a>>,
    /// Content known at once (a user message); deltas append to a text.
    pub content: Option<Content<'a>>,
    /// Object merged key by key into the part's metadata, last write wins.
    pub metadata: Option<Json<'a>>,
}

/// Text to append; a text of any length comes in so, in pieces of at most `fact_bytes_max`. Unknown part: a diagnostic. After the final text: dropped with a diagnostic.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct PartDelta<'a> {
    /// Part id.
    pub part: Text<'a>,
    /// Kind of the part.
    pub kind: PartKind,
    /// Text, appended as it is; may be empty.
    pub text: Text<'a>,
    /// Merged into the part's metadata.
    pub metadata: Option<Json<'a>>,
}

/// Which part or message a [`PartFinal`] speaks of.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub enum PartTarget<'a> {
    /// One part.
    Part(PartKind, Text<'a>),
    /// A whole message.
    Message(Text<'a>),
}

/// What becomes of the part.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub enum PartChange<'a> {
    /// Nothing more will come; the streamed text stands.
    Closed,
    /// The owner's full text; it wins over what was streamed.
    Text(Text<'a>),
    /// An encrypted value beside the text; the part stays as it is otherwise.
    Sealed(Text<'a>),
}

/// A part is closed, stated in full, or given its encrypted value. Source: `protocols.md`, section 6.2.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct PartFinal<'a> {
    /// Part or message.
    pub target: PartTarget<'a>,
    /// The change.
    pub change: PartChange<'a>,
    /// Merged into the part's metadata.
    pub metadata: Option<Json<'a>>,
}
