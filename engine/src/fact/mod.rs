//! What a host states: the 25 kinds of fact, as types that are also their frozen bytes.
//!
//! **Invariant:** the structs below are version 1 of their kind. A body that must change becomes a new version with an upcast;
//! the golden bytes in the tests keep this one readable for ever.
//! **Absent:** wire protocols (see [`crate::adapter`]), folding (see [`crate::state`]), time.
//!
//! Text is borrowed where it can be: decoding an event allocates nothing.

mod artifact;
mod history;
mod ids;
mod interaction;
mod json;
mod part;
mod side;
mod tool;
mod turn;
mod values;

use std::borrow::Cow;

use bincode::{BorrowDecode, Encode};

pub use artifact::{ArtifactChanged, ArtifactOp, ArtifactReference, TurnArtifactsSet};
pub use history::{HistoryImported, HistoryMessage, HistoryMode, HistoryTool, HistoryTurn};
pub use interaction::{InteractionRequested, InteractionResolved, Resolution};
pub use json::{Json, NotJson};
pub use part::{PartChange, PartDelta, PartFinal, PartKind, PartOpened, PartTarget};
pub use side::{
    CompactionMarked, DiagnosticNoted, DocumentPatched, DocumentSet, EvidenceChanged, Opaque, QueueItem, QueueSet, SessionChanged,
    SteerChanged, SurfaceChanged, SurfaceOp, WorkspaceChanged, WorkspaceOp, WriteChanged, WriteOp,
};
pub use tool::{Content, ToolChanged, ToolOp};
pub use turn::{CurrentTurn, CurrentTurnAsserted, TurnEnded, TurnStarted, TurnStatus};

/// Text of a fact: borrowed from the caller or from the stored bytes.
pub type Text<'a> = Cow<'a, str>;

/// One thing that a host states about a session. Source: `protocols.md`, section 5.2.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact<'a> {
    /// Title, status or flags of the session.
    SessionChanged(SessionChanged<'a>),
    /// A turn began.
    TurnStarted(TurnStarted<'a>),
    /// A stage or step of a turn.
    TurnStatus(TurnStatus<'a>),
    /// A turn ended, with its status and error verbatim.
    TurnEnded(TurnEnded<'a>),
    /// The owner's full statement about the open turn and its pending interactions.
    CurrentTurnAsserted(CurrentTurnAsserted<'a>),
    /// A text, reasoning or activity part exists.
    PartOpened(PartOpened<'a>),
    /// Text to append to a part.
    PartDelta(PartDelta<'a>),
    /// A part is closed, stated in full, or sealed.
    PartFinal(PartFinal<'a>),
    /// Everything that happens to a tool call.
    ToolChanged(ToolChanged<'a>),
    /// Somebody must answer.
    InteractionRequested(InteractionRequested<'a>),
    /// The owner's decision on a request.
    InteractionResolved(InteractionResolved<'a>),
    /// The whole queue of waiting inputs.
    QueueSet(QueueSet<'a>),
    /// One steering input.
    SteerChanged(SteerChanged<'a>),
    /// The artifacts of one turn, replacing what was there.
    TurnArtifactsSet(TurnArtifactsSet<'a>),
    /// One artifact by id.
    ArtifactChanged(ArtifactChanged<'a>),
    /// One evidence record.
    EvidenceChanged(EvidenceChanged<'a>),
    /// A JSON document, whole.
    DocumentSet(DocumentSet<'a>),
    /// An RFC 6902 patch of a document.
    DocumentPatched(DocumentPatched<'a>),
    /// History stated by its owner: a page, a replacement or a merge.
    HistoryImported(HistoryImported<'a>),
    /// A surface was created, patched or closed.
    SurfaceChanged(SurfaceChanged<'a>),
    /// Workspace capabilities, intents, results or state.
    WorkspaceChanged(WorkspaceChanged<'a>),
    /// A controlled write was attempted or settled.
    WriteChanged(WriteChanged<'a>),
    /// A compaction of the agent's context began or ended.
    CompactionMarked(CompactionMarked<'a>),
    /// Something an adapter could not turn into another fact.
    DiagnosticNoted(DiagnosticNoted<'a>),
    /// Kept, counted, and nothing else.
    Opaque(Opaque<'a>),
}

/// The number of a kind on disk; frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(pub u8);

macro_rules! kinds {
    ($($number:literal $variant:ident),* $(,)?) => {
        impl Kind {
            /// The kind's name, or `None` for one that a newer build wrote.
            pub fn name(self) -> Option<&'static str> {
                match self.0 { $($number => Some(stringify!($variant)),)* _ => None }
            }
            /// Every kind this build knows, in order.
            pub const ALL: &'static [Kind] = &[$(Kind($number)),*];
        }
        impl Fact<'_> {
            /// The number under which this fact is stored.
            pub fn kind(&self) -> Kind {
                match self { $(Fact::$variant(_) => Kind($number),)* }
            }
            /// Appends the frozen body bytes to `out`.
            pub(crate) fn encode_body(&self, out: &mut Vec<u8>) -> Result<(), bincode::error::EncodeError> {
                match self { $(Fact::$variant(body) => encode(body, out),)* }
            }
        }
        impl<'a> Fact<'a> {
            /// Decodes a body of version 1; `Ok(None)` for a kind this build does not know.
            pub(crate) fn decode_body(kind: Kind, bytes: &'a [u8]) -> Result<Option<Self>, bincode::error::DecodeError> {
                Ok(Some(match kind.0 { $($number => Fact::$variant(decode(bytes)?),)* _ => return Ok(None) }))
            }
        }
    };
}

kinds! {
    1 SessionChanged, 2 TurnStarted, 3 TurnStatus, 4 TurnEnded, 5 CurrentTurnAsserted, 6 PartOpened, 7 PartDelta, 8 PartFinal,
    9 ToolChanged, 10 InteractionRequested, 11 InteractionResolved, 12 QueueSet, 13 SteerChanged, 14 TurnArtifactsSet,
    15 ArtifactChanged, 16 EvidenceChanged, 17 DocumentSet, 18 DocumentPatched, 19 HistoryImported, 20 SurfaceChanged,
    21 WorkspaceChanged, 22 WriteChanged, 23 CompactionMarked, 24 DiagnosticNoted, 25 Opaque,
}

/// No decoded body may ask for more than this; the limit on appended facts is far below it.
const DECODE_BYTES_MAX: usize = 256 * 1024 * 1024;

type Legacy =
    bincode::config::Configuration<bincode::config::LittleEndian, bincode::config::Fixint, bincode::config::Limit<DECODE_BYTES_MAX>>;

fn legacy() -> Legacy {
    bincode::config::legacy().with_limit::<DECODE_BYTES_MAX>()
}

/// Appends `value` in the frozen codec.
pub(crate) fn encode<T: Encode>(value: &T, out: &mut Vec<u8>) -> Result<(), bincode::error::EncodeError> {
    bincode::encode_into_std_write(value, out, legacy()).map(|_| ())
}

/// Decodes one value that must fill `bytes`.
pub(crate) fn decode<'a, T: BorrowDecode<'a, ()>>(bytes: &'a [u8]) -> Result<T, bincode::error::DecodeError> {
    let (value, used) = bincode::borrow_decode_from_slice(bytes, legacy())?;
    if used == bytes.len() { Ok(value) } else { Err(bincode::error::DecodeError::Other("bytes behind the body")) }
}

/// Decodes one value from the front of `bytes`, with what is left.
pub(crate) fn decode_front<'a, T: BorrowDecode<'a, ()>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), bincode::error::DecodeError> {
    let (value, used) = bincode::borrow_decode_from_slice(bytes, legacy())?;
    Ok((value, bytes.get(used..).unwrap_or_default()))
}
