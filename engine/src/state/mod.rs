//! The folded state of one session, and the pure reducer that folds it.
//!
//! **Invariant:** `reduce` is total and pure: no clock, no hash order, no input but the state and the event. What it needs and does not
//! hold in memory it names first ([`Session::missing`]), the shell reads those rows ([`Session::supply`]), and only then folds; so the
//! core does no I/O and still needs memory for what is touched only.
//! **Absent:** positions, threads, files, time.
//!
//! | part | holds | who reads it |
//! |---|---|---|
//! | [`State`] | header, pages, sealed text, documents | views, the checkpointer, the reducer |
//! | [`Lookup`] | which entry an id means | the reducer alone |

mod archive;
mod chunked;
mod entry;
mod header;
mod lookup;
mod patch;
mod reduce;
mod rows;
mod session;
mod shelf;
mod wants;

pub use archive::{HeaderArchive, PageArchive};
pub use chunked::{ArchivedChunked, CHUNK_BYTES_MAX, Chunked, Relation};
pub(crate) use chunked::{link, short};
pub use entry::*;
pub use header::{ArchivedHeader, Header};
pub use lookup::Lookup;
pub use lookup::Space;
pub(crate) use lookup::{QUEUE, WORKSPACE, row_of_digest, row_of_id};
pub use patch::BadPointer;
pub(crate) use patch::{check_pointer, is_pointer};
pub use reduce::value_of;
pub(crate) use rows::IdRow;
pub use rows::{BadRow, Field, RowKind, RowRef, piece_ordinal};
pub use session::{Need, Session, State};
pub use shelf::*;

/// Changes whenever an archived type changes its shape: rows of another layout are folded again.
pub const LAYOUT_FINGERPRINT: u64 = 5;
/// Changes whenever the reducer would fold the same events differently.
pub const SEMANTICS_FINGERPRINT: u64 = 5;
