//! Files on disk that count what is read and written, and fail from a moment on.

use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use turnstore_storage::{Access, BackendError, FileMedium, Medium, StorageBackend, Which};

#[derive(Debug, Default)]
struct Gauge {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    /// Reads, then writes, that still succeed.
    reads_left: AtomicU64,
    writes_left: AtomicU64,
}

/// The files of one store, watched.
#[derive(Clone, Debug)]
pub struct Watched {
    files: FileMedium,
    gauge: Arc<Gauge>,
}

/// What was read since the last question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub reads: u64,
    pub bytes: u64,
}

fn take(left: &AtomicU64) -> io::Result<()> {
    let spent =
        left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| if left == u64::MAX { Some(left) } else { left.checked_sub(1) });
    spent.map(|_| ()).map_err(|_| io::Error::other("the disk is gone"))
}

impl Watched {
    pub fn new(path: &Path) -> Self {
        let gauge = Gauge { reads_left: u64::MAX.into(), writes_left: u64::MAX.into(), ..Gauge::default() };
        Self { files: FileMedium::new(path), gauge: Arc::new(gauge) }
    }

    pub fn read_since(&self) -> Cost {
        Cost { reads: self.gauge.reads.swap(0, Ordering::SeqCst), bytes: self.gauge.read_bytes.swap(0, Ordering::SeqCst) }
    }

    pub fn written_since(&self) -> u64 {
        self.gauge.written_bytes.swap(0, Ordering::SeqCst)
    }

    /// After so many reads, every read fails.
    pub fn fail_reads_after(&self, reads: u64) {
        self.gauge.reads_left.store(reads, Ordering::SeqCst);
    }

    /// After so many changes of the files, every change fails.
    pub fn fail_writes_after(&self, writes: u64) {
        self.gauge.writes_left.store(writes, Ordering::SeqCst);
    }

    pub fn heal(&self) {
        self.fail_reads_after(u64::MAX);
        self.fail_writes_after(u64::MAX);
    }

    fn change(&self) -> io::Result<()> {
        take(&self.gauge.writes_left)
    }
}

impl Medium for Watched {
    fn exists(&self, which: Which) -> io::Result<bool> {
        self.files.exists(which)
    }

    fn open(&self, which: Which, access: Access) -> io::Result<Box<dyn StorageBackend>> {
        if access == Access::Create {
            self.change()?;
        }
        Ok(Box::new(File { inner: self.files.open(which, access)?, watched: self.clone() }))
    }

    fn remove(&self, which: Which) -> io::Result<()> {
        self.change()?;
        self.files.remove(which)
    }

    fn publish(&self) -> io::Result<()> {
        self.change()?;
        self.files.publish()
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.change()?;
        self.files.sync_dir()
    }
}

#[derive(Debug)]
struct File {
    inner: Box<dyn StorageBackend>,
    watched: Watched,
}

impl StorageBackend for File {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let gauge = &self.watched.gauge;
        take(&gauge.reads_left)?;
        gauge.reads.fetch_add(1, Ordering::SeqCst);
        gauge.read_bytes.fetch_add(out.len() as u64, Ordering::SeqCst);
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.watched.change()?;
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.watched.change()?;
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.watched.change()?;
        self.watched.gauge.written_bytes.fetch_add(data.len() as u64, Ordering::SeqCst);
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
