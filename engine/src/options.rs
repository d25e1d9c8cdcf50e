//! How an engine is opened.

use std::path::Path;
use std::sync::Arc;

use turnstore_storage::{Durability, Medium, Sharing};

use crate::engine::Engine;
use crate::error::Error;
use crate::limits::{Limits, ROW_BYTES_MAX};

/// Settings of an engine; each has a default that suits a desktop host.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) durability: Durability,
    pub(crate) limits: Limits,
    pub(crate) storage: turnstore_storage::Options,
    pub(crate) lock_wait_ms_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        let storage = turnstore_storage::Options {
            append_bytes_max: 256 << 20,
            row_bytes_max: ROW_BYTES_MAX,
            ..turnstore_storage::Options::default()
        };
        Self { durability: Durability::Durable, limits: Limits::default(), storage, lock_wait_ms_max: 1000 }
    }
}

impl Options {
    /// What an acknowledged append survives. Default: [`Durability::Durable`], power loss. `Buffered` acknowledges before the sync, which
    /// follows within `buffered_delay_ms_max`.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Other limits than the defaults.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether other processes may follow the store. Default: they may.
    #[must_use]
    pub fn sharing(mut self, sharing: Sharing) -> Self {
        self.storage.sharing = sharing;
        self
    }

    /// Memory for pages of the main file, in bytes. Default: 16 MiB.
    #[must_use]
    pub fn cache_bytes_max(mut self, bytes: usize) -> Self {
        self.storage.main_cache_bytes_max = bytes;
        self
    }

    /// How long to wait, in milliseconds, for another writer to let go. Default: 1,000; then `Locked`.
    #[must_use]
    pub fn lock_wait_ms_max(mut self, ms: u64) -> Self {
        self.lock_wait_ms_max = ms;
        self
    }

    /// Another place for the files than the file system, as tests use.
    #[must_use]
    pub fn medium(mut self, medium: Arc<dyn Medium>) -> Self {
        self.storage.medium = Some(medium);
        self
    }

    /// Opens or creates a store. Cost: a few milliseconds, whatever it holds; after a crash, what the tail holds is folded.
    ///
    /// The first opening by a build that lays out or folds sessions differently folds the whole log again before it returns, in bounded
    /// memory: about a second for some hundred thousand events. A crash meanwhile keeps what was there, and the next opening begins anew.
    /// [`crate::Store::is_stale`] tells beforehand.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Engine, Error> {
        Engine::open_with(path.as_ref(), self)
    }
}
