//! The open main file, the frames above it, and the failure that stops writing.
//!
//! **Invariant:** after a commit failed no write begins on main or tail; after close no read does.

use crate::Error;
use crate::database::{Opened, contained};
use crate::frame::Frame;
use crate::ids::Position;
use crate::live::Live;
use parking_lot::{Mutex, RwLock};
use redb::{CommitError, ReadTransaction, WriteTransaction};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub(crate) struct Files {
    main: RwLock<Option<Opened>>,
    live: Mutex<Live>,
    poisoned: AtomicBool,
}

impl Files {
    pub(crate) fn new(main: Opened) -> Self {
        Self { main: RwLock::new(Some(main)), live: Mutex::new(Live::default()), poisoned: AtomicBool::new(false) }
    }

    pub(crate) fn read_main(&self) -> Result<ReadTransaction, Error> {
        self.main.read().as_ref().ok_or(Error::Poisoned)?.begin_read()
    }

    /// The frames above the checkpoint as they are now; none in a handle that only reads.
    pub(crate) fn live(&self) -> Live {
        self.live.lock().clone()
    }

    /// Makes an appended frame visible.
    pub(crate) fn publish(&self, frame: Frame) {
        self.live.lock().push(frame);
    }

    /// Lets go of what main holds now.
    pub(crate) fn forget(&self, checkpoint: Option<Position>) {
        let held = self.live.lock().forget(checkpoint);
        // Freed only here, where no append waits for it.
        drop(held);
    }

    /// A transaction on main whose commit survives a crash without a walk of the file.
    pub(crate) fn write_main(&self) -> Result<WriteTransaction, Error> {
        self.check()?;
        let mut transaction = self.main.read().as_ref().ok_or(Error::Poisoned)?.begin_write()?;
        transaction.set_two_phase_commit(true);
        transaction.set_quick_repair(true);
        Ok(transaction)
    }

    /// Commits; a failure may have become durable all the same, so it stops the handle. So does damage that shows only now.
    pub(crate) fn commit(&self, transaction: WriteTransaction) -> Result<(), Error> {
        let committed = self.watch(contained("main file", || Ok(transaction.commit())))?;
        committed.map_err(|error| {
            self.poison();
            match error {
                CommitError::Storage(redb::StorageError::PreviousIo) => Error::Poisoned,
                error => Error::OutcomeUnknown(Box::new(error)),
            }
        })
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.poisoned.load(Ordering::Acquire) { Err(Error::Poisoned) } else { Ok(()) }
    }

    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
    }

    /// Passes the result on, and stops the handle when it failed for the file system's sake.
    pub(crate) fn watch<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Io(_) | Error::Full(_) | Error::Corrupt(_)) = &result {
            self.poison();
        }
        result
    }

    pub(crate) fn take_main(&self) -> Option<Opened> {
        self.main.write().take()
    }
}
