//! Reading: one consistent, immutable look at the whole store.
//!
//! **Invariant:** a view holds a head and no transaction; every call opens a short reader of its own, when it needs one at all. What a
//! session's header counts is read, or the session is folded again from the log, or the call fails: never a shorter history.
//!
//! | part | answers |
//! |---|---|
//! | `found` | where a session's header, pages and text are: in memory, in the cache, in rows, in the log |
//! | `window`, `page`, `item`, `turn`, `text`, `leaves` | windows and pages of a timeline |
//! | `sessions`, `pending` | lists over the whole store |
//! | `by_id` | one interaction, one turn, the current turn |
//! | `shelf`, `beside` | what a session has beside its turns: lists, documents, artifacts, queue, surfaces, writes.. |
//! | `log`, `events`, `payload`, `hash` | the log behind a session, one large value, the canonical hash |

/// Accessors of archived text: those that are always there, then those that may be absent.
macro_rules! verbatim {
    ($of:ident : $($(#[$doc:meta])* $name:ident = $field:ident),* ; $($(#[$odoc:meta])* $oname:ident = $ofield:ident),* $(,)?) => {
        $(
            $(#[$doc])*
            pub fn $name(&self) -> &'p str {
                &self.$of.$field
            }
        )*
        $(
            $(#[$odoc])*
            pub fn $oname(&self) -> Option<&'p str> {
                self.$of.$ofield.as_ref().map(|text| text.as_str())
            }
        )*
    };
}

/// Accessors of archived values that may be absent, and may stay in the log.
macro_rules! values {
    ($of:ident : $($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $(
            $(#[$doc])*
            pub fn $name(&self) -> Option<LongText<'p>> {
                value(self.leaves, &self.$of.$name)
            }
        )*
    };
}

mod beside;
mod by_id;
mod cache;
mod events;
mod fallback;
mod found;
mod hash;
mod item;
mod leaves;
mod log;
mod page;
mod payload;
mod pending;
mod sessions;
mod shelf;
mod tasks;
mod text;
mod turn;
mod verify;
mod window;

use std::sync::Arc;

pub use beside::{SurfaceSummary, SurfaceValue};
pub(crate) use cache::PageCache;
pub use events::Events;
pub use fallback::Fallback;
pub(crate) use found::Look;
pub use hash::StateHash;
#[cfg(test)]
pub(crate) use hash::hash_of_state;
pub use item::{DecisionItem, Expiry, InteractionItem, Item, ItemKind, PartItem, ResultItem, ToolItem};
pub use log::OwnedEvent;
pub(crate) use log::Walk;
pub use page::{Page, PageTurn};
pub use payload::{Payload, PayloadChunks};
pub use pending::{Pending, PendingInteraction, PendingPage};
pub use sessions::{SessionFilter, SessionHead, SessionSummary, SessionsPage};
pub use shelf::{DocumentSummary, DocumentValue, Listed};
pub use tasks::{Task, TaskKind, TaskState, TasksPage};
pub use text::{LongText, PayloadRef};
pub use turn::TurnRef;
pub use verify::{Difference, Verified};
pub use window::Window;

use turnstore_storage::{Position, Stream};

use crate::error::Error;
use crate::head::Head;
use crate::limits::Limits;
use crate::shared::Shared;

/// An immutable read of the store at one position. Cheap to take and to clone, `Send` and `Sync`, and it never blocks the writer.
///
/// A view that is held for long keeps the sessions that were in memory when it was taken, and nothing on disk.
#[derive(Clone)]
pub struct View {
    shared: Arc<Shared>,
    head: Arc<Head>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("position", &self.head.position).finish_non_exhaustive()
    }
}

impl View {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let head = shared.head();
        Self { shared, head }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// The position that it reads at; `None` is the empty log.
    pub fn position(&self) -> Option<Position> {
        self.head.position
    }

    /// The number of a session, when the store has it.
    pub(crate) fn stream(&self, session: &str) -> Result<Option<Stream>, Error> {
        self.look().stream_of(session)
    }

    /// The checkpoint below it; what is above is in memory.
    pub fn checkpoint(&self) -> Option<Position> {
        self.head.checkpoint
    }
}

#[cfg(test)]
mod tests;
