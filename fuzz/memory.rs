//! The files of a store, in memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnstore_storage::{Access, Medium, StorageBackend, Which};

type Bytes = Arc<Mutex<Vec<u8>>>;

/// Files by name. A clone is the same files; [`Files::copied`] is others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files(Arc<Mutex<BTreeMap<Which, Bytes>>>);

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    pub(crate) fn copied(&self) -> Self {
        let files = held(&self.0).iter().map(|(which, bytes)| (*which, Arc::new(Mutex::new(held(bytes).clone())))).collect();
        Self(Arc::new(Mutex::new(files)))
    }

    /// Changes the bytes of a file that is there.
    pub(crate) fn change(&self, which: Which, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(bytes) = held(&self.0).get(&which) {
            change(&mut held(bytes));
        }
    }

    pub(crate) fn options(&self) -> turnstore_storage::Options {
        turnstore_storage::Options { medium: Some(Arc::new(self.clone())), ..turnstore_storage::Options::default() }
    }
}

impl Medium for Files {
    fn exists(&self, which: Which) -> io::Result<bool> {
        Ok(held(&self.0).contains_key(&which))
    }

    fn open(&self, which: Which, access: Access) -> io::Result<Box<dyn StorageBackend>> {
        let mut files = held(&self.0);
        let bytes = match (files.get(&which), access) {
            (Some(bytes), _) => bytes.clone(),
            (None, Access::Create) => files.entry(which).or_default().clone(),
            (None, _) => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(Box::new(File(bytes)))
    }

    fn remove(&self, which: Which) -> io::Result<()> {
        held(&self.0).remove(&which);
        Ok(())
    }

    fn publish(&self) -> io::Result<()> {
        let mut files = held(&self.0);
        if files.contains_key(&Which::Main) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let draft = files.remove(&Which::Draft).ok_or(io::ErrorKind::NotFound)?;
        files.insert(Which::Main, draft);
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct File(Bytes);

fn range(offset: u64, length: usize, total: usize) -> io::Result<std::ops::Range<usize>> {
    let start = usize::try_from(offset).map_err(io::Error::other)?;
    let end = start.checked_add(length).filter(|end| *end <= total).ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(start..end)
}

impl StorageBackend for File {
    fn len(&self) -> io::Result<u64> {
        Ok(held(&self.0).len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = held(&self.0);
        out.copy_from_slice(&bytes[range(offset, out.len(), bytes.len())?]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        held(&self.0).resize(usize::try_from(len).map_err(io::Error::other)?, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut bytes = held(&self.0);
        let end = usize::try_from(offset).map_err(io::Error::other)? + data.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[end - data.len()..end].copy_from_slice(data);
        Ok(())
    }

    fn try_lock_range(&self, _: std::ops::Bound<u64>, _: std::ops::Bound<u64>) -> Result<bool, turnstore_storage::BackendError> {
        Ok(true)
    }

    fn try_lock_shared_range(&self, _: std::ops::Bound<u64>, _: std::ops::Bound<u64>) -> Result<bool, turnstore_storage::BackendError> {
        Ok(true)
    }

    fn lock_range(&self, _: std::ops::Bound<u64>, _: std::ops::Bound<u64>) -> Result<(), turnstore_storage::BackendError> {
        Ok(())
    }

    fn lock_shared_range(&self, _: std::ops::Bound<u64>, _: std::ops::Bound<u64>) -> Result<(), turnstore_storage::BackendError> {
        Ok(())
    }

    fn unlock_range(&self, _: std::ops::Bound<u64>, _: std::ops::Bound<u64>) -> Result<(), turnstore_storage::BackendError> {
        Ok(())
    }

    fn query_lock_range(&self, _: std::ops::Bound<u64>, _: std::ops::Bound<u64>) -> Result<bool, turnstore_storage::BackendError> {
        Ok(false)
    }
}
