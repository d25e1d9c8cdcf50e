//! The two open files, and the failure that stops writing to them.
//!
//! **Invariant:** after a commit failed no write begins on either file; after close no read does.

use crate::Error;
use crate::database::Opened;
use parking_lot::RwLock;
use redb::{CommitError, ReadTransaction, WriteTransaction};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub(crate) struct Files {
    main: RwLock<Option<Opened>>,
    tail: RwLock<Option<Opened>>,
    poisoned: AtomicBool,
}

impl Files {
    pub(crate) fn new(main: Opened, tail: Option<Opened>) -> Self {
        Self { main: RwLock::new(Some(main)), tail: RwLock::new(tail), poisoned: AtomicBool::new(false) }
    }

    pub(crate) fn read_main(&self) -> Result<ReadTransaction, Error> {
        self.main.read().as_ref().ok_or(Error::Poisoned)?.begin_read()
    }

    /// `None` when the handle has no tail, as a reader's has not.
    pub(crate) fn read_tail(&self) -> Result<Option<ReadTransaction>, Error> {
        self.tail.read().as_ref().map(Opened::begin_read).transpose()
    }

    /// A transaction on main whose commit survives a crash without a walk of the file.
    pub(crate) fn write_main(&self) -> Result<WriteTransaction, Error> {
        self.check()?;
        let mut transaction = self.main.read().as_ref().ok_or(Error::Poisoned)?.begin_write()?;
        transaction.set_two_phase_commit(true);
        transaction.set_quick_repair(true);
        Ok(transaction)
    }

    pub(crate) fn write_tail(&self) -> Result<WriteTransaction, Error> {
        self.check()?;
        self.tail.read().as_ref().ok_or(Error::Poisoned)?.begin_write()
    }

    /// Commits; a failure may have become durable all the same, so it stops the handle.
    pub(crate) fn commit(&self, transaction: WriteTransaction) -> Result<(), Error> {
        transaction.commit().map_err(|error| {
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

    pub(crate) fn take_tail(&self) -> Option<Opened> {
        self.tail.write().take()
    }
}
