//! What readers see: one immutable head at a time.
//!
//! **Invariant:** a head is complete: what `sessions` does not hold is in rows at or below `checkpoint`. The writer changes the head in
//! place while nobody holds it and copies what is shared when somebody does, so a view costs its own sharing and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use turnstore_storage::{Position, Stream};

use crate::state::State;

/// A session in memory, as readers see it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// The session's id.
    pub(crate) name: Arc<str>,
    /// Its folded state.
    pub(crate) state: Arc<State>,
    /// Position of its last event.
    pub(crate) last_position: Position,
    /// Milliseconds since 1970 of its last event.
    pub(crate) recorded_at: i64,
    /// Its last seq when this process opened the store: what is older was written by an earlier process.
    pub(crate) opened_seq: u64,
}

/// One consistent state of the whole store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    /// Position of the last event.
    pub(crate) position: Option<Position>,
    /// Rows hold everything at or below this position.
    pub(crate) checkpoint: Option<Position>,
    /// The first number that no session had; `None` beside another process's writer, where every read is of the newest checkpoint.
    pub(crate) next_stream: Option<Stream>,
    /// Sessions that are in memory: every one that changed after the checkpoint, and some that did not.
    pub(crate) sessions: BTreeMap<Stream, Shown>,
    /// Their ids.
    pub(crate) names: BTreeMap<Arc<str>, Stream>,
    /// Alive while a head of this checkpoint is: thinning asks it.
    pub(crate) pin: Arc<()>,
}
