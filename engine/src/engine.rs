//! The engine: one store, open for writing.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded, unbounded};
use parking_lot::{Mutex, RwLock};
use turnstore_storage::{Opened, Position, Stats, Storage};

use crate::batch::{Batch, check_session};
use crate::checkpointer;
use crate::error::Error;
use crate::gate::Gate;
use crate::head::Head;
use crate::options::Options;
use crate::rebuild;
use crate::receipt::{Receipt, Ticket, ticket};
use crate::shared::{Durable, Floor, Shared};
use crate::view::{PageCache, View};
use crate::writer::{Channels, Command, Writer};

/// One store, open for writing. Clone it, share it between threads; the last clone that goes leaves a tail that the next open folds, and
/// views that outlive it answer [`Error::Closed`].
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    queue: Sender<Command>,
    /// Before the queue.
    gate: Gate,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("id", &self.inner.shared.id).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A view that is still held answers `Closed`; the files are let go of when the threads end, whoever holds one.
        drop(self.shared.floor.write().take());
        self.shared.abandoned.store(true, Ordering::Release);
        // A full queue is being drained; the writer sees the flag behind it.
        let _ = self.queue.try_send(Command::Abandon);
    }
}

impl Engine {
    /// Opens or creates a store with the default options. Cost and errors: those of [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::options().open(path)
    }

    /// Options to open with.
    pub fn options() -> Options {
        Options::default()
    }

    pub(crate) fn open_with(path: &Path, options: Options) -> Result<Self, Error> {
        let Opened { storage, tail } = open_storage(path, &options)?;
        rebuild::when_rows_are_of_another_build(&storage, &options.limits)?;
        let storage = Arc::new(storage);
        let (checkpoint, next_stream) = (storage.checkpoint(), Some(storage.next_stream()));
        let shared = Arc::new(Shared {
            id: storage.id(),
            open_epoch: storage.open_epoch(),
            opened_at: storage.head(),
            floor: RwLock::new(Some(Floor::Writing(storage.clone()))),
            cache: PageCache::new(options.limits.page_cache_bytes_max),
            head: Mutex::new(Arc::new(Head { position: checkpoint, checkpoint, next_stream, ..Head::default() })),
            durable: Durable::default(),
            commits: AtomicU64::new(0),
            putting_ui: Mutex::new(()),
            abandoned: AtomicBool::new(false),
            limits: options.limits,
        });
        let (queue, commands) = bounded(shared.limits.queue_appends_max);
        let (jobs, frozen) = unbounded();
        let (outcomes, done) = unbounded();
        let mut writer =
            Writer::new(shared.clone(), storage.clone(), Channels { queue: commands, jobs, outcomes: done }, options.durability);
        writer.recover(&tail)?;
        drop(tail);
        let wake = queue.clone();
        let floor = storage;
        let owner = shared.clone();
        let threads = vec![
            spawn("turnstore-writer", move || writer.run())?,
            spawn("turnstore-checkpointer", move || checkpointer::run(&owner, &floor, &frozen, &outcomes, &wake))?,
        ];
        let gate = Gate::new(shared.limits.queue_bytes_max);
        Ok(Self { inner: Arc::new(Inner { shared, queue, gate, threads: Mutex::new(threads) }) })
    }

    /// Appends facts to a session and waits until they are acknowledged: durable, unless the engine was opened as buffered.
    ///
    /// Errors: `Conflict`, `KeyReused`, `Rejected`, `TooLarge`, `SessionId` wrote nothing; `Storage(OutcomeUnknown)`: open again and
    /// repeat with the same key.
    pub fn append(&self, session: &str, batch: impl Into<Batch>) -> Result<Receipt, Error> {
        self.submit(session, batch)?.wait()
    }

    /// Appends facts without waiting for the acknowledgement. Blocks only while the queue is full. Appends of one thread to one session
    /// keep their order.
    pub fn submit(&self, session: &str, batch: impl Into<Batch>) -> Result<Ticket, Error> {
        let batch = batch.into();
        check_session(session, &self.inner.shared.limits)?;
        batch.check(&self.inner.shared.limits)?;
        let (ticket, reply) = ticket();
        let passage = self.inner.gate.pass(batch.bytes.len());
        self.send(Command::Append { session: session.to_owned(), batch, reply, passage })?;
        Ok(ticket)
    }

    fn send(&self, command: Command) -> Result<(), Error> {
        self.inner.queue.send(command).map_err(|_| Error::Closed)
    }

    /// The store at its head. Cost: one lock and one pointer.
    pub fn view(&self) -> View {
        View::new(self.inner.shared.clone())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    /// Writes everything acknowledged so far into the main file and waits for it.
    pub fn checkpoint(&self) -> Result<Option<Position>, Error> {
        let (ticket, reply) = ticket();
        self.send(Command::Checkpoint(reply))?;
        Ok(ticket.wait()?.last)
    }

    /// Commits since this opening; one serves every append that waits, so appends divided by it is how well they share.
    pub fn commits(&self) -> u64 {
        self.inner.shared.commits.load(Ordering::Relaxed)
    }

    /// Counts and sizes.
    pub fn stats(&self) -> Result<Stats, Error> {
        match &*self.inner.shared.floor.read() {
            Some(Floor::Writing(storage)) => Ok(storage.stats()?),
            _ => Err(Error::Closed),
        }
    }

    /// Takes no more appends, checkpoints everything, and leaves one file. Other clones and views answer [`Error::Closed`] from then on; what
    /// they have read stays.
    ///
    /// Errors: [`Error::Closed`] when another clone closed it, told once that is done; [`Error::Stopped`] and storage errors: open it again,
    /// nothing acknowledged is lost.
    pub fn close(self) -> Result<(), Error> {
        // Held to the end: a second close waits for the first.
        let mut threads = self.inner.threads.lock();
        if threads.is_empty() {
            return Err(Error::Closed);
        }
        let (ticket, reply) = ticket();
        let answer = self.send(Command::Close(reply)).and_then(|()| ticket.wait());
        let floor = self.inner.shared.floor.write().take();
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                return Err(Error::Stopped { reason: "a thread panicked".to_owned() });
            }
        }
        answer?;
        let Some(Floor::Writing(storage)) = floor else { return Err(Error::Closed) };
        match Arc::into_inner(storage) {
            Some(storage) => Ok(storage.close()?),
            None => Err(Error::Stopped { reason: "the storage is still in use".to_owned() }),
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(|error| Error::Stopped { reason: error.to_string() })
}

/// Opens the files; waits a little for a writer that is just going.
fn open_storage(path: &Path, options: &Options) -> Result<Opened, Error> {
    let deadline = Instant::now() + Duration::from_millis(options.lock_wait_ms_max);
    loop {
        match Storage::open(path, &options.storage) {
            Err(turnstore_storage::Error::Locked) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            opened => return Ok(opened?),
        }
    }
}
