//! What every handle and view of one open store shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use parking_lot::{Condvar, Mutex, RwLock};
use turnstore_storage::{OpenEpoch, Position, ReadStorage, Reader, Storage, StoreId};

use crate::error::Error;
use crate::head::Head;
use crate::limits::Limits;
use crate::view::PageCache;

/// The storage underneath: written by this process, or only read.
#[derive(Debug)]
pub(crate) enum Floor {
    /// This process writes.
    Writing(Arc<Storage>),
    /// This process only reads.
    Reading(ReadStorage),
}

/// How far events are durable, for those who wait for them.
#[derive(Debug, Default)]
pub(crate) struct Durable {
    state: Mutex<(Option<Position>, bool)>,
    changed: Condvar,
}

impl Durable {
    /// Everything at or below `position` is durable.
    pub(crate) fn advance(&self, position: Option<Position>) {
        let mut state = self.state.lock();
        if position > state.0 {
            state.0 = position;
            self.changed.notify_all();
        }
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.state.lock().1 = true;
        self.changed.notify_all();
    }

    /// The durable position, and whether more can come.
    pub(crate) fn now(&self) -> (Option<Position>, bool) {
        *self.state.lock()
    }

    /// Waits until something after `seen` is durable, the store closes, or the deadline passes.
    pub(crate) fn wait(&self, seen: Option<Position>, deadline: Option<std::time::Instant>) -> (Option<Position>, bool) {
        let mut state = self.state.lock();
        while state.0 <= seen && !state.1 {
            match deadline {
                Some(deadline) => {
                    if self.changed.wait_until(&mut state, deadline).timed_out() {
                        break;
                    }
                }
                None => self.changed.wait(&mut state),
            }
        }
        *state
    }
}

/// Shared by the engine's handles, its threads and its views.
#[derive(Debug)]
pub(crate) struct Shared {
    /// `None` once the store is closed.
    pub(crate) floor: RwLock<Option<Floor>>,
    pub(crate) id: StoreId,
    pub(crate) open_epoch: OpenEpoch,
    /// The head when this process opened the store for writing: later positions of an earlier opening were lost before their sync.
    pub(crate) opened_at: Option<Position>,
    pub(crate) limits: Limits,
    pub(crate) cache: PageCache,
    pub(crate) head: Mutex<Arc<Head>>,
    pub(crate) durable: Durable,
    /// Commits of appends since the store was opened.
    pub(crate) commits: AtomicU64,
    /// Held while UI-only state is put.
    pub(crate) putting_ui: Mutex<()>,
    /// The last handle is gone.
    pub(crate) abandoned: AtomicBool,
}

impl Shared {
    pub(crate) fn head(&self) -> Arc<Head> {
        self.head.lock().clone()
    }

    /// Whether another process may be writing, which then does not know of this one's views; `None` once the store is closed.
    pub(crate) fn only_reads(&self) -> Option<bool> {
        self.floor.read().as_ref().map(|floor| matches!(floor, Floor::Reading(_)))
    }

    /// What a read that failed tells its caller: whatever it met when the files were closed under it, that is what it is.
    pub(crate) fn told(&self, error: Error) -> Error {
        match error {
            Error::Storage(_) if self.floor.read().is_none() => Error::Closed,
            error => error,
        }
    }

    /// A short look at the files. Drop it before handing control back to a caller.
    pub(crate) fn reader(&self) -> Result<Reader, Error> {
        match &*self.floor.read() {
            Some(Floor::Writing(storage)) => Ok(storage.reader()?),
            Some(Floor::Reading(storage)) => Ok(storage.reader()?),
            None => Err(Error::Closed),
        }
    }
}
