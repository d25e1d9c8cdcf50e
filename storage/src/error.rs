//! What can go wrong with a store, and what the caller does next.

use crate::ids::{Position, Seq, StoreId, Stream};

/// Where damage was found, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The table or file that holds it.
    pub table: &'static str,
    /// The key within the table, as text; empty for a file.
    pub key: String,
    /// What is wrong.
    pub what: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.key.is_empty() {
            write!(f, "{}: {}", self.table, self.what)
        } else {
            write!(f, "{} at {}: {}", self.table, self.key, self.what)
        }
    }
}

/// An operating failure of the storage. Every variant says what the caller does.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process (or handle) has the store open for writing.
    ///
    /// *Handling:* wait, or read with [`crate::ReadStorage`].
    #[error("the store is open for writing elsewhere")]
    Locked,
    /// The operating system refused a read or write; nothing was appended by this call.
    ///
    /// *Handling:* drop the handle and open again.
    #[error("input or output failed: {0}")]
    Io(#[source] std::io::Error),
    /// An earlier failure left this handle unusable for writing.
    ///
    /// *Handling:* drop the handle and open again.
    #[error("an earlier failure stopped this handle; open the store again")]
    Poisoned,
    /// The disk is full; nothing was appended by this call, and nothing is lost.
    ///
    /// *Handling:* free space, then open again.
    #[error("no space left on the disk: {0}")]
    Full(#[source] std::io::Error),
    /// A commit failed in a way that may still have made it durable.
    ///
    /// *Handling:* open again and repeat the append with the same idempotency key.
    #[error("the commit failed and may or may not be durable: {0}")]
    OutcomeUnknown(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Stored bytes are not what was written.
    ///
    /// *Handling:* restore a backup, or salvage; streams not named by the damage stay readable.
    #[error("damaged: {0}")]
    Corrupt(Damage),
    /// The file was written by a newer or older format than this build reads.
    ///
    /// *Handling:* use a build that knows the format.
    #[error("format {found} is not one this build reads (it reads {supported})")]
    Format {
        /// The format found.
        found: u32,
        /// The format this build writes and reads.
        supported: u32,
    },
    /// The file is not a store: empty, a directory, or something else's file.
    ///
    /// *Handling:* give another path; the file was not changed.
    #[error("not a store: {what}")]
    NotAStore {
        /// What was found there.
        what: &'static str,
    },
    /// No store exists at the path.
    ///
    /// *Handling:* create it with [`crate::Storage::open`], or give another path.
    #[error("no store exists at this path")]
    Absent,
    /// The main file was not closed, and the tail file that holds what was acknowledged since is gone.
    ///
    /// *Handling:* put the tail file back beside the main file, or restore a backup.
    #[error("the tail file is missing: events after position {} were acknowledged and are not here", shown(.checkpoint))]
    TailMissing {
        /// The last position that the main file holds.
        checkpoint: Option<Position>,
    },
    /// The tail file belongs to another store, or to another life of this one.
    ///
    /// *Handling:* put the right tail file beside the main file.
    #[error("the tail file belongs to {found}, not to {expected}")]
    TailForeign {
        /// The store that main is.
        expected: StoreId,
        /// The store that the tail names.
        found: StoreId,
    },
    /// The tail does not continue the main file: positions or links do not join, or events that
    /// were acknowledged are damaged.
    ///
    /// *Handling:* the two files are not of one moment, or the disk lost what it had promised;
    /// restore both from one backup. The files were not changed.
    #[error("the tail breaks the log at position {at} (the checkpoint is {}): {what}", shown(.checkpoint))]
    TailBroken {
        /// The last position that the main file holds.
        checkpoint: Option<Position>,
        /// The position that should have been found.
        at: Position,
        /// What does not join.
        what: &'static str,
    },
    /// A writer died and left work behind that only a writer may finish.
    ///
    /// *Handling:* open once with [`crate::Storage::open`] and close; then read again.
    #[error("a writer left the store unfinished; it needs one recovering open")]
    NeedsRecovery,
    /// More bytes than a named limit allows; nothing was written.
    ///
    /// *Handling:* make it smaller, or raise the limit.
    #[error("{bytes} bytes are above {limit} ({bytes_max}); nothing was written")]
    TooLarge {
        /// The size asked for.
        bytes: u64,
        /// The limit's value.
        bytes_max: u64,
        /// The limit's name.
        limit: &'static str,
    },
    /// The tail holds more than `tail_bytes_hard_max`; nothing was written.
    ///
    /// *Handling:* checkpoint, then append again.
    #[error("the tail holds {bytes} bytes, above tail_bytes_hard_max ({bytes_max}); checkpoint first")]
    TailFull {
        /// Bytes above the checkpoint.
        bytes: u64,
        /// The limit's value.
        bytes_max: u64,
    },
    /// An event's seq does not follow the stream's last one; nothing was written.
    ///
    /// *Handling:* a fault of the caller; use the seq expected.
    #[error("stream {stream} expects seq {expected}, not {found}; nothing was written")]
    SeqGap {
        /// The stream.
        stream: Stream,
        /// The seq that comes next.
        expected: Seq,
        /// The seq given.
        found: Seq,
    },
    /// An event names a stream that was never declared; nothing was written.
    ///
    /// *Handling:* a fault of the caller; declare the stream first.
    #[error("stream {0} was never declared; nothing was written")]
    UnknownStream(Stream),
    /// A declaration's stream number is taken, or its name is.
    ///
    /// *Handling:* a fault of the caller; take [`crate::Storage::next_stream`].
    #[error("stream {0} is declared already; nothing was written")]
    StreamTaken(Stream),
    /// A call that does not fit the store's state: a frame begun before another was appended, a
    /// checkpoint inside a frame, a close before the last checkpoint.
    ///
    /// *Handling:* a fault of the caller; the message says what was expected.
    #[error("out of order: {0}")]
    OutOfOrder(&'static str),
    /// The checkpoint moved on while a rebuild was made, which so does not cover it yet.
    ///
    /// *Handling:* fold on from `covered` to `checkpoint`, then finish again.
    #[error("the rebuild covers up to {}, the checkpoint is {}", shown(.covered), shown(.checkpoint))]
    RebuildBehind {
        /// What the rebuild covers.
        covered: Option<Position>,
        /// The checkpoint to reach.
        checkpoint: Option<Position>,
    },
}

fn shown(position: &Option<Position>) -> u64 {
    position.map_or(0, Position::get)
}

impl Error {
    /// Damage in `table` at `key`.
    pub(crate) fn corrupt(table: &'static str, key: impl std::fmt::Display, what: impl Into<String>) -> Self {
        Self::Corrupt(Damage { table, key: key.to_string(), what: what.into() })
    }

    pub(crate) fn from_io(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::StorageFull || error.kind() == std::io::ErrorKind::QuotaExceeded {
            Self::Full(error)
        } else {
            Self::Io(error)
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::from_io(error)
    }
}

impl From<redb::StorageError> for Error {
    fn from(error: redb::StorageError) -> Self {
        match error {
            redb::StorageError::Io(error) => Self::from_io(error),
            redb::StorageError::Corrupted(what) => Self::corrupt("pages", "", what),
            redb::StorageError::ValueTooLarge(bytes) => {
                Self::TooLarge { bytes: bytes as u64, bytes_max: 3 << 30, limit: "value_bytes_max" }
            }
            redb::StorageError::PreviousIo | redb::StorageError::LockPoisoned(_) => Self::Poisoned,
            other => Self::Io(std::io::Error::other(other)),
        }
    }
}

impl From<redb::TransactionError> for Error {
    fn from(error: redb::TransactionError) -> Self {
        match error {
            redb::TransactionError::Storage(error) => error.into(),
            other => Self::Io(std::io::Error::other(other)),
        }
    }
}

impl From<redb::TableError> for Error {
    fn from(error: redb::TableError) -> Self {
        match error {
            redb::TableError::Storage(error) => error.into(),
            other => Self::corrupt("tables", "", other.to_string()),
        }
    }
}

impl From<redb::DatabaseError> for Error {
    fn from(error: redb::DatabaseError) -> Self {
        match error {
            redb::DatabaseError::DatabaseAlreadyOpen => Self::Locked,
            redb::DatabaseError::RepairAborted => Self::NeedsRecovery,
            redb::DatabaseError::UpgradeRequired(found) => Self::Format { found: u32::from(found), supported: crate::FORMAT },
            redb::DatabaseError::Storage(error) => error.into(),
            other => Self::Io(std::io::Error::other(other)),
        }
    }
}

impl From<redb::SetDurabilityError> for Error {
    fn from(error: redb::SetDurabilityError) -> Self {
        Self::Io(std::io::Error::other(error))
    }
}
