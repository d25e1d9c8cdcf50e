//! History stated by its owner.

use bincode::{BorrowDecode, Encode};

use super::{ArtifactReference, Content, Json, Text};

/// How imported messages meet what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, BorrowDecode)]
pub enum HistoryMode {
    /// An older page: goes before what is there; known messages stay.
    Page,
    /// The whole history: what is there goes.
    Replace,
    /// An edit merge: known ids replaced in place, new ones appended, omitted ones dropped; local reasoning and activity
    /// messages stay when the list has none of that role.
    Merge,
    /// Unknown ids are appended, known ones stay.
    Append,
}

/// Messages and turns as their owner keeps them.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct HistoryImported<'a> {
    /// How they meet what is there.
    pub mode: HistoryMode,
    /// Messages, oldest first.
    pub messages: Vec<HistoryMessage<'a>>,
    /// Turn summaries, oldest first.
    pub turns: Vec<HistoryTurn<'a>>,
    /// The owner's cursor to what is older; `None` with mode `Page` means complete.
    pub older: Option<Text<'a>>,
    /// Seq of the session when the page was asked for; facts after it win.
    pub requested_at: Option<u64>,
    /// Activity types whose absence from a merge drops them, when the source says so.
    pub authoritative_activities: Option<Vec<Text<'a>>>,
}

/// One message of a history.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct HistoryMessage<'a> {
    /// Message id.
    pub id: Text<'a>,
    /// Role, verbatim; `tool` binds to `tool_call`.
    pub role: Text<'a>,
    /// Turn id.
    pub turn: Option<Text<'a>>,
    /// Author name.
    pub name: Option<Text<'a>>,
    /// Content; an activity's content is its JSON.
    pub content: Option<Content<'a>>,
    /// Tool calls of an assistant message.
    pub tools: Vec<HistoryTool<'a>>,
    /// Call that a tool message answers.
    pub tool_call: Option<Text<'a>>,
    /// Activity type.
    pub subtype: Option<Text<'a>>,
    /// Error, verbatim.
    pub error: Option<Json<'a>>,
    /// Encrypted value.
    pub sealed: Option<Text<'a>>,
    /// Subagent run.
    pub agent: Option<Text<'a>>,
    /// Metadata object.
    pub metadata: Option<Json<'a>>,
    /// Artifacts stated by the message.
    pub artifacts: Option<Vec<ArtifactReference<'a>>>,
}

/// A tool call inside a history message.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct HistoryTool<'a> {
    /// Tool call id.
    pub id: Text<'a>,
    /// Tool name.
    pub name: Text<'a>,
    /// Argument text.
    pub args: Text<'a>,
    /// Encrypted value.
    pub sealed: Option<Text<'a>>,
    /// Metadata object.
    pub metadata: Option<Json<'a>>,
}

/// A turn of a history.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct HistoryTurn<'a> {
    /// Turn id.
    pub turn: Text<'a>,
    /// Status, verbatim.
    pub status: Option<Text<'a>>,
    /// Error, verbatim.
    pub error: Option<Json<'a>>,
    /// Artifacts; absent says nothing.
    pub artifacts: Option<Vec<ArtifactReference<'a>>>,
}
