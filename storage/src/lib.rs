//! Ordered bytes that survive: log frames in a plain file, and a redb file with frames and versioned rows.
//!
//! This crate knows streams (numbers with names), positions, frames, rows, index entries and small
//! named values. **Absent:** what an event means, what a row holds, who reads it.
//!
//! ```text
//! append --> tail   a plain file: one write and one sync a frame, the acknowledgement
//!                   (and the frame in memory, for readers, until main holds it)
//! checkpoint: tail frames, merged and compressed, + rows + index --> main, one redb transaction
//! ```
//!
//! | start at | for |
//! |---|---|
//! | [`Storage`] | opening, appending, checkpoints, closing |
//! | [`Reader`] | rows, index, frames and keys at one moment |
//! | [`ReadStorage`] | a store at rest, or one that another process writes |
//! | [`Medium`] | putting the files somewhere else, as tests do |

mod body;
mod builder;
mod bytes;
mod catalog;
mod checkpoint;
mod database;
mod error;
mod files;
mod frame;
#[cfg(test)]
mod frame_tests;
mod frames;
mod ids;
mod index;
mod link;
mod live;
mod log;
mod main_frames;
mod medium;
mod merge;
mod opening;
mod options;
mod read_storage;
mod reader;
mod rebuild;
mod row;
mod row_parts;
mod rows;
mod state;
mod stats;
mod storage;
mod tables;
mod tail;
mod tail_record;
mod tail_scan;
#[cfg(test)]
mod tail_tests;
mod verify;

pub use builder::FrameBuilder;
pub use checkpoint::Checkpoint;
pub use error::{Damage, Error};
pub use frame::{Entries, Entry, Frame, StreamSpan};
pub use frames::Frames;
pub use ids::{BatchDigest, BatchEnd, BatchKey, KeyRecord, OpenEpoch, Position, Seq, StoreId, Stream};
pub use index::IndexEntries;
pub use medium::{Access, FileMedium, Medium, Which};
pub use options::{Options, Sharing};
pub use read_storage::ReadStorage;
pub use reader::{Aside, ReadCount, Reader};
pub use rebuild::Rebuild;
pub use row::{Row, RowKey};
pub use rows::{Direction, Rows};
pub use stats::{Stats, TableStats};
pub use storage::{Durability, Opened, Storage};

/// What a [`Medium`] hands out, and its errors.
pub use redb::{BackendError, StorageBackend};

/// The format of the files that this build writes.
pub const FORMAT: u32 = 1;
