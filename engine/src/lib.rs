//! turnstore: an embedded, event-sourced session store for agent hosts.

pub mod adapter;
mod batch;
pub mod catalog;
mod checkpointer;
pub mod control;
mod cursor;
mod engine;
mod error;
pub mod event;
pub mod fact;
mod gate;
mod head;
mod index;
pub mod limits;
mod options;
mod read;
mod rebuild;
mod receipt;
mod refold;
mod shared;
pub mod state;
mod subscribe;
mod time;
mod ui;
mod view;
mod writer;

pub use batch::Batch;
pub use cursor::{Cursor, CursorError, PendingCursor, SessionsCursor};
pub use engine::Engine;
pub use error::Error;
pub use limits::Limits;
pub use options::Options;
pub use read::Store;
pub use rebuild::{Rebuilt, rebuild_at as rebuild};
pub use receipt::{Receipt, Ticket};
pub use subscribe::{From, Next, Subscription};
pub use time::UnixMillis;
pub use ui::{PINNED, READ};
pub use view::{
    DecisionItem, Difference, DocumentSummary, DocumentValue, Events, Expiry, Fallback, InteractionItem, Item, ItemKind, Listed, LongText,
    OwnedEvent, Page, PageTurn, PartItem, Payload, PayloadChunks, PayloadRef, Pending, PendingInteraction, PendingPage, ResultItem,
    SessionFilter, SessionHead, SessionSummary, SessionsPage, StateHash, SurfaceSummary, SurfaceValue, Task, TaskKind, TaskState,
    TasksPage, ToolItem, TurnRef, Verified, View, Window,
};

pub use state::{InteractionStatus, Mark};
pub use turnstore_storage::{Durability, OpenEpoch, Position, Seq, Sharing, Stats, StoreId, Stream, TableStats};
