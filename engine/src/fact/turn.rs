//! Facts about turns.

use bincode::{BorrowDecode, Encode};

use super::{Json, Text};

/// A turn began. Known turn: counted as reopened when it had ended, else no change.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct TurnStarted<'a> {
    /// Turn id; hosts without one give their run id.
    pub turn: Text<'a>,
    /// Run inside the turn, when it has an id of its own.
    pub run: Option<Text<'a>>,
    /// Thread or conversation that the source names.
    pub thread: Option<Text<'a>>,
    /// Turn or run that started this one.
    pub parent: Option<Text<'a>>,
    /// Earlier turn that this one resumes.
    pub resumes: Option<Text<'a>>,
}

/// A stage or step of a turn. After the turn's end: a diagnostic, no change.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct TurnStatus<'a> {
    /// Turn id; `None` means the current turn.
    pub turn: Option<Text<'a>>,
    /// Stage or step name, verbatim.
    pub stage: Text<'a>,
    /// `started` or `finished` for steps.
    pub phase: Option<Text<'a>>,
    /// Anything more.
    pub detail: Option<Json<'a>>,
}

/// A turn ended. A second end replaces the first.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct TurnEnded<'a> {
    /// Turn id; `None` means the current turn.
    pub turn: Option<Text<'a>>,
    /// completed, failed, cancelled, stopped, interrupted, interrupt, or the source's own word.
    pub status: Text<'a>,
    /// The source's error object, verbatim; absent stays absent.
    pub error: Option<Json<'a>>,
    /// Whether the owner says a retry can help.
    pub retryable: Option<bool>,
    /// The turn's result.
    pub result: Option<Json<'a>>,
    /// Usage records.
    pub usage: Option<Json<'a>>,
    /// Tool calls that the client still has to run.
    pub pending_tools: Vec<Text<'a>>,
}

/// The owner's full statement about the open turn; `current: None` means idle.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct CurrentTurnAsserted<'a> {
    /// The open turn, or `None` for idle.
    pub current: Option<CurrentTurn<'a>>,
}

/// The open turn with its complete pending list.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct CurrentTurn<'a> {
    /// Turn id.
    pub turn: Text<'a>,
    /// running or a stop status.
    pub status: Text<'a>,
    /// Every pending interaction: id and request.
    pub pending: Vec<(Text<'a>, Json<'a>)>,
}
