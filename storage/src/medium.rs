//! Where the files of a store live.
//!
//! **Invariant:** nothing above this module touches a path or a file.
//!
//! | file | holds | exists |
//! |---|---|---|
//! | main | everything checkpointed | as long as the store |
//! | tail | the log since the last checkpoint | while a writer has the store open, or died |
//! | draft | a main file being made | during the creation of a store |

use redb::StorageBackend;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// One of the files of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Which {
    /// The main file.
    Main,
    /// The tail file.
    Tail,
    /// The main file of a store that is being created.
    Draft,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Made when it is not there; read and written.
    Create,
    /// Must be there; read and written.
    Write,
    /// Must be there; read only.
    Read,
}

/// A place for the files of one store.
///
/// Creation, removal and publishing are durable only after [`Medium::sync_dir`]; bytes only after
/// the backend's own sync. A fault-injecting medium may drop or reorder anything before that.
pub trait Medium: Send + Sync + std::fmt::Debug {
    /// Whether the file is there.
    fn exists(&self, which: Which) -> io::Result<bool>;
    /// Opens the file. Cost: one system call or two.
    fn open(&self, which: Which, access: Access) -> io::Result<Box<dyn StorageBackend>>;
    /// Removes the file; absent is fine.
    fn remove(&self, which: Which) -> io::Result<()>;
    /// Renames the draft to main, in one step. Fails with `AlreadyExists` when main is there.
    fn publish(&self) -> io::Result<()>;
    /// Makes creations, removals and the publishing so far durable.
    fn sync_dir(&self) -> io::Result<()>;
}

/// Files beside each other in one directory: `x`, `x-tail`, `x-new`.
#[derive(Debug, Clone)]
pub struct FileMedium {
    main: PathBuf,
}

impl FileMedium {
    /// The store whose main file is at `path`.
    pub fn new(path: &Path) -> Self {
        Self { main: path.to_path_buf() }
    }

    /// Where a file of the store is.
    pub fn path(&self, which: Which) -> PathBuf {
        let suffix = match which {
            Which::Main => return self.main.clone(),
            Which::Tail => "-tail",
            Which::Draft => "-new",
        };
        let mut path = OsString::from(self.main.as_os_str());
        path.push(suffix);
        PathBuf::from(path)
    }

    fn directory(&self) -> &Path {
        match self.main.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }
}

impl Medium for FileMedium {
    fn exists(&self, which: Which) -> io::Result<bool> {
        self.path(which).try_exists()
    }

    fn open(&self, which: Which, access: Access) -> io::Result<Box<dyn StorageBackend>> {
        let path = self.path(which);
        if path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let file =
            OpenOptions::new().read(true).write(access != Access::Read).create(access == Access::Create).truncate(false).open(path)?;
        let backend = redb::backends::FileBackend::new(file).map_err(io::Error::other)?;
        Ok(Box::new(backend))
    }

    fn remove(&self, which: Which) -> io::Result<()> {
        match std::fs::remove_file(self.path(which)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    fn publish(&self) -> io::Result<()> {
        if self.exists(Which::Main)? {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists));
        }
        std::fs::rename(self.path(Which::Draft), self.path(Which::Main))
    }

    #[cfg(unix)]
    fn sync_dir(&self) -> io::Result<()> {
        File::open(self.directory())?.sync_all()
    }

    #[cfg(not(unix))]
    fn sync_dir(&self) -> io::Result<()> {
        // Elsewhere a directory cannot be opened as a file; the file system orders its own metadata.
        let _ = (self.directory(), File::open);
        Ok(())
    }
}
