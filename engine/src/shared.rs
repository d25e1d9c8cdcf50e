//! What every handle and view of one open store shares.

use std::sync::Arc;

use parking_lot::Mutex;
use turnstore_storage::{OpenEpoch, ReadStorage, Reader, Storage, StoreId};

use crate::error::Error;
use crate::head::Head;
use crate::limits::Limits;
use crate::view::PageCache;

/// The storage underneath: written by this process, or only read.
#[derive(Debug)]
pub(crate) enum Floor {
    /// This process writes.
    Writing(Storage),
    /// This process only reads.
    Reading(ReadStorage),
}

impl Floor {
    pub(crate) fn reader(&self) -> Result<Reader, Error> {
        Ok(match self {
            Self::Writing(storage) => storage.reader()?,
            Self::Reading(storage) => storage.reader()?,
        })
    }
}

/// Shared by the engine's handles, its threads and its views.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) floor: Floor,
    pub(crate) id: StoreId,
    pub(crate) open_epoch: OpenEpoch,
    pub(crate) limits: Limits,
    pub(crate) cache: PageCache,
    pub(crate) head: Mutex<Arc<Head>>,
}

impl Shared {
    pub(crate) fn head(&self) -> Arc<Head> {
        self.head.lock().clone()
    }
}
