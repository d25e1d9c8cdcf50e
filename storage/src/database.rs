//! Opening the redb file that is main, or becomes it, and what may go wrong with it.
//!
//! **Invariant:** a damaged or foreign file becomes an error; redb's panics over damage end here.

use crate::Error;
use crate::medium::{Access, Medium, Which};
use crate::options::{Options, Sharing};
use redb::{
    BackendError, Builder, ConcurrencyMode, Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, StorageBackend, WriteTransaction,
};
use std::io;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};

const REDB_MAGIC: [u8; 9] = [b'r', b'e', b'd', b'b', 0x1A, 0x0A, 0xA9, 0x0D, 0x0A];

/// A backend behind a pointer, which redb does not take as such.
#[derive(Debug)]
struct Boxed(Box<dyn StorageBackend>);

impl StorageBackend for Boxed {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_range(start, end)
    }
    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_shared_range(start, end)
    }
    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_range(start, end)
    }
    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_shared_range(start, end)
    }
    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.unlock_range(start, end)
    }
    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.query_lock_range(start, end)
    }
}

/// A file open for writing or for reading.
pub(crate) enum Opened {
    Write(Database),
    Read(ReadOnlyDatabase),
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Write(_) => "Opened::Write",
            Self::Read(_) => "Opened::Read",
        })
    }
}

impl Opened {
    pub(crate) fn begin_read(&self) -> Result<ReadTransaction, Error> {
        match self {
            Self::Write(database) => Ok(database.begin_read()?),
            Self::Read(database) => Ok(database.begin_read()?),
        }
    }

    pub(crate) fn begin_write(&self) -> Result<WriteTransaction, Error> {
        match self {
            Self::Write(database) => Ok(database.begin_write()?),
            Self::Read(_) => Err(Error::Poisoned),
        }
    }

    /// Closes after moving everything to the front of the file; a follower that is reading keeps the file as large as it is.
    pub(crate) fn compact_and_close(mut self) -> Result<(), Error> {
        if let Self::Write(database) = &mut self {
            match database.compact() {
                Ok(_) | Err(redb::CompactionError::TransactionInProgress) => {}
                Err(redb::CompactionError::Storage(error)) => return Err(error.into()),
                Err(error) => return Err(Error::corrupt("main file", "", error.to_string())),
            }
        }
        self.close()
    }

    pub(crate) fn close(self) -> Result<(), Error> {
        contained("main file", || match self {
            Self::Write(database) => Ok(database.close()?),
            Self::Read(database) => Ok(database.close()?),
        })
    }
}

fn builder(options: &Options) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(options.main_cache_bytes_max);
    builder.set_concurrency_mode(match options.sharing {
        Sharing::Followers => ConcurrencyMode::SingleWriter,
        Sharing::Exclusive => ConcurrencyMode::ExclusiveWriter,
    });
    builder
}

/// Opens the file, which must be there unless `access` is `Create`.
pub(crate) fn open(medium: &dyn Medium, which: Which, access: Access, options: &Options) -> Result<Opened, Error> {
    let backend = medium.open(which, access).map_err(opening)?;
    if access != Access::Create {
        probe(backend.as_ref())?;
    }
    let builder = builder(options);
    let opening = || match access {
        Access::Read => builder.open_read_only_with_backend(Boxed(backend)).map(Opened::Read),
        _ => builder.create_with_backend(Boxed(backend)).map(Opened::Write),
    };
    contained(name(which), || Ok(opening()?))
}

/// Runs what reads pages. redb trusts its pages, and panics over some kinds of damage; a host must
/// not die of a damaged file, so the panic becomes an error here.
pub(crate) fn contained<T>(table: &'static str, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(Error::corrupt(table, "", "the pages contradict each other")))
}

pub(crate) fn name(which: Which) -> &'static str {
    match which {
        Which::Main => "main file",
        Which::Tail => "tail file",
        Which::Draft => "draft file",
    }
}

fn opening(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::Absent,
        io::ErrorKind::IsADirectory => Error::NotAStore { what: "a directory" },
        _ => Error::from_io(error),
    }
}

/// Refuses what redb would take for a new file or could only misread.
fn probe(backend: &dyn StorageBackend) -> Result<(), Error> {
    let length = backend.len()?;
    if length == 0 {
        return Err(Error::NotAStore { what: "an empty file" });
    }
    let mut magic = [0; REDB_MAGIC.len()];
    if length < magic.len() as u64 {
        return Err(Error::NotAStore { what: "a few bytes of something else" });
    }
    backend.read(0, &mut magic)?;
    if magic != REDB_MAGIC {
        return Err(Error::NotAStore { what: "a file of another kind" });
    }
    Ok(())
}
