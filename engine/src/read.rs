//! A store that is only read: at rest, a backup, on read-only media, or beside the process that writes it.
//!
//! **Invariant:** it changes nothing, and never passes off a shorter history for the whole of one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use parking_lot::{Mutex, RwLock};
use turnstore_storage::{Position, ReadStorage, Reader, Stats};

use crate::checkpointer::{LAYOUT, SEMANTICS};
use crate::engine::Engine;
use crate::error::Error;
use crate::head::Head;
use crate::options::Options;
use crate::shared::{Durable, Floor, Shared};
use crate::state::{LAYOUT_FINGERPRINT, SEMANTICS_FINGERPRINT};
use crate::subscribe::{From, Subscription};
use crate::view::{PageCache, View};

/// A store open for reading only. `Clone`, `Send`, `Sync`.
///
/// Beside a live writer it sees that writer's last checkpoint, which is about a second old while events come. The writer does not know of
/// readers in other processes; so such a view reads at the newest checkpoint that is there when the call is made, each call consistent in
/// itself.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

impl Store {
    /// Opens the store at `path` for reading.
    ///
    /// Rows that another build folded differently are served, see [`Store::is_stale`].
    ///
    /// Errors: storage `NeedsRecovery` when a writer died, or when the rows are of another layout: use [`Store::recover`]; `Absent` when
    /// there is none.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::read_with(path, &Options::default())
    }

    /// The same with options.
    pub fn read_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        let storage = ReadStorage::open(path.as_ref(), &options.storage)?;
        let reader = storage.reader()?;
        let layout = reader.meta(LAYOUT)?;
        if reader.checkpoint().is_some() && layout.as_deref() != Some(&LAYOUT_FINGERPRINT.to_le_bytes()) {
            return Err(turnstore_storage::Error::NeedsRecovery.into());
        }
        let (id, open_epoch, head) = (reader.id(), reader.open_epoch(), head_of(&reader));
        let durable = Durable::default();
        durable.advance(head.position);
        let shared = Shared {
            floor: RwLock::new(Some(Floor::Reading(storage))),
            id,
            open_epoch,
            opened_at: Position::new(u64::MAX),
            limits: options.limits.clone(),
            cache: PageCache::new(options.limits.page_cache_bytes_max),
            head: Mutex::new(Arc::new(head)),
            durable,
            commits: AtomicU64::new(0),
            putting_ui: Mutex::new(()),
            abandoned: AtomicBool::new(false),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Opens the store for reading; when a writer died, finishes its work first with one short opening for writing.
    pub fn recover(path: impl AsRef<Path>) -> Result<Self, Error> {
        match Self::read(path.as_ref()) {
            Err(Error::Storage(turnstore_storage::Error::NeedsRecovery)) => {
                Engine::open(path.as_ref())?.close()?;
                Self::read(path)
            }
            opened => opened,
        }
    }

    /// The store at its newest checkpoint.
    pub fn view(&self) -> View {
        // A view reads at the newest checkpoint anyway; a failing refresh shows in its reads.
        let _ = self.refresh();
        View::new(self.shared.clone())
    }

    /// Looks for a newer checkpoint and wakes subscriptions; returns the position that is now readable.
    pub fn refresh(&self) -> Result<Option<Position>, Error> {
        let head = head_of(&self.shared.reader()?);
        let position = head.position;
        let mut guard = self.shared.head.lock();
        if guard.position < position {
            *guard = Arc::new(head);
        }
        drop(guard);
        self.shared.durable.advance(position);
        Ok(position)
    }

    /// Whether what is shown was folded by a build that folds the same events differently. It is served as it is; opening the store for
    /// writing, or `turnstore rebuild`, folds it again. Cost: one small read.
    pub fn is_stale(&self) -> Result<bool, Error> {
        let semantics = self.shared.reader()?.meta(SEMANTICS)?;
        Ok(semantics.is_some_and(|semantics| semantics != SEMANTICS_FINGERPRINT.to_le_bytes()))
    }

    /// Events from a place in the log on, and then those that [`Store::refresh`] finds.
    pub fn subscribe(&self, from: From) -> Result<Subscription, Error> {
        Subscription::new(self.shared.clone(), from, None)
    }

    /// Counts and sizes.
    pub fn stats(&self) -> Result<Stats, Error> {
        match &*self.shared.floor.read() {
            Some(Floor::Reading(storage)) => Ok(storage.stats()?),
            _ => Err(Error::Closed),
        }
    }
}

fn head_of(reader: &Reader) -> Head {
    Head { position: reader.checkpoint(), checkpoint: reader.checkpoint(), ..Head::default() }
}
