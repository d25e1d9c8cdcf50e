//! Facts about tool calls.

use bincode::{BorrowDecode, Encode};

use super::{Json, Text};

/// Content of a message or a result: plain text, or structured parts as JSON.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub enum Content<'a> {
    /// Plain text.
    Text(Text<'a>),
    /// Any JSON, kept verbatim.
    Json(Json<'a>),
}

/// Something happened to a tool call.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct ToolChanged<'a> {
    /// Tool call id.
    pub tool: Text<'a>,
    /// What happened.
    pub op: ToolOp<'a>,
    /// Merged into the call's metadata (a result's: into the result's).
    pub metadata: Option<Json<'a>>,
}

/// The steps of a tool call's life.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub enum ToolOp<'a> {
    /// The call exists. A known call is renamed in place and keeps its arguments.
    Started {
        /// Tool name.
        name: Text<'a>,
        /// Message that the call belongs to.
        message: Option<Text<'a>>,
        /// Turn id; `None` means the current turn.
        turn: Option<Text<'a>>,
        /// Subagent run that made it.
        agent: Option<Text<'a>>,
        /// Kind, input summary, risk: whatever the source says, verbatim.
        detail: Option<Json<'a>>,
    },
    /// Argument text to append; never parsed.
    ArgsDelta {
        /// Text.
        text: Text<'a>,
    },
    /// The whole argument text.
    ArgsSet {
        /// Text.
        text: Text<'a>,
    },
    /// No more arguments will come.
    ArgsEnd,
    /// Progress, verbatim.
    Progress {
        /// Number, object, anything.
        value: Json<'a>,
    },
    /// Output text to append. An output of any length comes in so, also one that is too large for a fact: in pieces of at most
    /// `fact_bytes_max`, best of about 1 MiB, and a result without content at the end. [`crate::View::payload_chunks`] reads it back.
    OutputDelta {
        /// Text.
        text: Text<'a>,
    },
    /// A result; binds by call id, in whatever turn it arrives.
    Result {
        /// Id of the message that carries it.
        message: Option<Text<'a>>,
        /// Content.
        content: Option<Content<'a>>,
        /// Status word of the source: ok, success, succeeded, completed and `None` mean succeeded, failed and error mean failed, any
        /// other stands as it is.
        status: Option<Text<'a>>,
        /// Reference to output that is kept elsewhere.
        reference: Option<Text<'a>>,
        /// Error text of the result message.
        error: Option<Text<'a>>,
        /// Subagent run that produced it.
        agent: Option<Text<'a>>,
        /// Preview, duration and the like, verbatim.
        detail: Option<Json<'a>>,
    },
    /// The call failed.
    Failed {
        /// The source's error, verbatim.
        error: Option<Json<'a>>,
    },
    /// An encrypted value beside the call.
    Sealed {
        /// The value.
        value: Text<'a>,
    },
}
