//! What can go wrong, and what the caller does next.

use turnstore_storage::Position;

use crate::cursor::CursorError;
use crate::state::BadRow;

/// An operation that failed. Nothing was half done: what an error names was refused whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The files. Each variant of the inner error says what to do.
    #[error(transparent)]
    Storage(#[from] turnstore_storage::Error),
    /// The session has moved on. Re-read it and retry.
    #[error("session {session:?} is at seq {actual}, not at {expected}; nothing was appended")]
    Conflict {
        /// Session.
        session: String,
        /// Seq that the batch expected to be the last one; 0 is an empty session.
        expected: u64,
        /// Seq that is the last one.
        actual: u64,
    },
    /// The same key came with other facts. Fix the caller.
    #[error("key {key:?} was used at position {first} for other facts; nothing was appended")]
    KeyReused {
        /// The key.
        key: String,
        /// Position of the batch that used it.
        first: Position,
    },
    /// A fact is not acceptable. Fix the fact named; nothing was written.
    #[error("fact {index} is refused: {reason}; nothing was appended")]
    Rejected {
        /// Index in the batch.
        index: usize,
        /// Why.
        reason: String,
    },
    /// The session id is not acceptable. Use another one.
    #[error("session id {id:?} is refused: {reason}")]
    SessionId {
        /// The id, shortened.
        id: String,
        /// Why.
        reason: &'static str,
    },
    /// Larger than a limit. Split it.
    #[error("{what} of {bytes} is above {limit} = {bytes_max}; nothing was appended")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// Name of the limit.
        limit: &'static str,
        /// The limit.
        bytes_max: u64,
    },
    /// A key of UI-only state is empty or has a control character. Use another; nothing was written.
    #[error("a key of UI state is empty or has a control character: {key:?}")]
    UiKey {
        /// The key, or its beginning.
        key: String,
    },
    /// The store has no session of this id. Use one that the list of sessions names.
    #[error("the store has no session {session:?}")]
    NoSession {
        /// The id.
        session: String,
    },
    /// More was asked for at once than a limit allows. Ask for less and follow the cursor.
    #[error("a window of {asked} is above {limit} = {asked_max}; ask for less and follow its cursor")]
    Window {
        /// What was asked for.
        asked: usize,
        /// Name of the limit.
        limit: &'static str,
        /// The limit.
        asked_max: usize,
    },
    /// The engine was closed. Open it again.
    #[error("the store is closed")]
    Closed,
    /// The handle only reads. Open it for writing.
    #[error("the store was opened for reading only")]
    ReadOnly,
    /// A cursor is of no use here. Start again from a window.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The position is not in the log. Ask within it.
    #[error("position {asked} is beyond the head {head}")]
    Position {
        /// Asked for.
        asked: u64,
        /// Last position, 0 when the log is empty.
        head: u64,
    },
    /// The reference names nothing that can be read. Read the window again.
    #[error("the payload reference does not name a payload: {what}")]
    Payload {
        /// Why.
        what: String,
    },
    /// An event in the log does not decode. Other sessions stay readable; restore the store from a backup.
    #[error("event at position {position} does not decode")]
    Event {
        /// Where.
        position: Position,
        /// Why.
        source: crate::event::Undecodable,
    },
    /// A saved row is not usable. The next open folds the session again from the log.
    #[error("a saved row of session {session:?} is not usable")]
    Row {
        /// Session.
        session: String,
        /// Which.
        source: BadRow,
    },
    /// An internal thread ended. Open the store again; everything acknowledged is there.
    #[error("the writer has stopped: {reason}")]
    Stopped {
        /// Why.
        reason: String,
    },
}
