//! Facts about questions that somebody must answer.

use bincode::{BorrowDecode, Encode};

use super::{Json, Text};

/// A request, or an interrupt; both make one record by id. Source: `protocols.md`, section 3.6.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct InteractionRequested<'a> {
    /// Interaction, request, interrupt or action id.
    pub interaction: Text<'a>,
    /// approval, permission, elicitation, interrupt.. verbatim.
    pub kind: Text<'a>,
    /// The request object, verbatim.
    pub request: Option<Json<'a>>,
    /// The interrupt object that ended a run, verbatim; kept beside the request.
    pub interrupt: Option<Json<'a>>,
    /// Turn id; `None` means the current turn.
    pub turn: Option<Text<'a>>,
    /// Tool call that waits for it.
    pub tool: Option<Text<'a>>,
    /// When it expires, verbatim; judged only at read, with the caller's time.
    pub expires_at: Option<Text<'a>>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, BorrowDecode)]
pub enum Resolution {
    /// Answered.
    #[default]
    Resolved,
    /// Cancelled by its owner or by the person.
    Cancelled,
    /// Declared expired by its owner.
    Expired,
}

/// The owner's decision. The first wins; others are recorded as conflicts.
#[derive(Clone, Debug, Default, PartialEq, Encode, BorrowDecode)]
pub struct InteractionResolved<'a> {
    /// Interaction id.
    pub interaction: Text<'a>,
    /// Decision id; the same id with the same payload is a repeat. `None`: identified by its payload.
    pub decision: Option<Text<'a>>,
    /// How it ended.
    pub resolution: Resolution,
    /// Everything the decision says, verbatim, without its receipt.
    pub payload: Option<Json<'a>>,
    /// Backend receipt; a missing one may be filled once.
    pub receipt: Option<Json<'a>>,
}
