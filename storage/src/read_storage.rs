//! A store open for reading: at rest, or followed while another process writes it.
//!
//! **Invariant:** it changes nothing, and it never passes off a shorter log for the whole of one.

use crate::database::{self, Opened};
use crate::files::Files;
use crate::medium::{Access, Medium, Which};
use crate::reader::Reader;
use crate::state::State;
use crate::stats::Stats;
use crate::{Error, Options};
use redb::BackendError;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

/// A store open for reading only.
#[derive(Debug)]
pub struct ReadStorage {
    files: Files,
    medium: Arc<dyn Medium>,
}

impl ReadStorage {
    /// Opens the store at `path` without writing to it.
    ///
    /// Beside a live writer its readers see the last checkpoint, and each new reader sees the newest.
    /// [`Error::NeedsRecovery`] when a writer died: open with [`crate::Storage::open`] and close.
    pub fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let medium = options.medium_at(path);
        let main = database::open(medium.as_ref(), Which::Main, Access::Read, options)?;
        if state(&main)?.tail.is_some() {
            match tail_use(medium.as_ref())? {
                TailUse::Writer => {}
                TailUse::Left => return Err(Error::NeedsRecovery),
                TailUse::Gone => {
                    // A writer that closes says so in main before it removes the tail.
                    let state = state(&main)?;
                    if state.tail.is_some() {
                        return Err(Error::TailMissing { checkpoint: state.checkpoint });
                    }
                }
            }
        }
        Ok(Self { files: Files::new(main), medium })
    }

    /// A consistent read of the newest checkpoint.
    pub fn reader(&self) -> Result<Reader, Error> {
        Reader::open(&self.files)
    }

    /// A small value that a checkpoint put under this name.
    pub fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.reader()?.meta(name)
    }

    /// Sizes of everything. Cost: a walk of every table's pages.
    pub fn stats(&self) -> Result<Stats, Error> {
        Stats::of(&self.reader()?, self.medium.as_ref())
    }
}

fn state(main: &Opened) -> Result<State, Error> {
    crate::reader::read_state(&main.begin_read()?)
}

enum TailUse {
    /// A writer has it open.
    Writer,
    /// Nobody has it open.
    Left,
    /// It is not there.
    Gone,
}

fn tail_use(medium: &dyn Medium) -> Result<TailUse, Error> {
    if !medium.exists(Which::Tail)? {
        return Ok(TailUse::Gone);
    }
    let backend = match medium.open(Which::Tail, Access::Read) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(TailUse::Gone),
        backend => backend?,
    };
    match backend.query_lock_range(Bound::Unbounded, Bound::Unbounded) {
        Ok(true) => Ok(TailUse::Writer),
        Ok(false) | Err(BackendError::Unsupported) => Ok(TailUse::Left),
        Err(error) => Err(Error::Io(std::io::Error::from(error))),
    }
}
