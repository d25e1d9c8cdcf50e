//! A store open for writing.
//!
//! **Invariant:** an append is one write of the tail, and one sync when it is durable; what it
//! acknowledged as durable is in the tail or in main from then on; after a write failed nothing more
//! is written.

use crate::catalog::Catalog;
use crate::checkpoint::Checkpoint;
use crate::database::contained;
use crate::files::Files;
use crate::frame::Frame;
use crate::ids::{OpenEpoch, Position, StoreId, Stream};
use crate::log::{Log, TailFrame};
use crate::medium::{Medium, Which};
use crate::reader::Reader;
use crate::rebuild::Rebuild;
use crate::stats::Stats;
use crate::stats::file_bytes;
use crate::tables::{ASIDE, META, STATE};
use crate::tail::TailFile;
use crate::tail_record::record_bytes;
use crate::{Error, FrameBuilder, Options, opening};
use parking_lot::{Mutex, MutexGuard};
use redb::WriteTransaction;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What an append survives once it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process and of the machine's power.
    Durable,
    /// Neither, until the next durable append, [`Storage::sync`] or checkpoint above it.
    Buffered,
}

/// A store just opened.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub storage: Storage,
    /// The frames above the checkpoint, in order, their chain checked.
    pub tail: Vec<Frame>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    /// Length of the main file when it was opened: what it grew since is worth compacting at close.
    pub(crate) opened_bytes: u64,
    /// The checkpoint when it was opened.
    pub(crate) opened_checkpoint: Option<Position>,
    pub(crate) options: Options,
    pub(crate) medium: Arc<dyn Medium>,
    pub(crate) files: Arc<Files>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) log: Mutex<Log>,
    /// Held for the whole of an append, so that appends follow each other. `None` once closed.
    pub(crate) tail: Mutex<Option<TailFile>>,
    /// Held for the whole of a transaction on main.
    pub(crate) writing_main: Mutex<()>,
    pub(crate) rebuilding: AtomicBool,
}

/// A store open for writing: appends from one thread, checkpoints from another, readers from any.
///
/// Dropping it without [`Storage::close`] leaves a tail file that the next open reads.
#[derive(Debug)]
pub struct Storage {
    shared: Shared,
}

impl Storage {
    /// Opens the store at `path`, or creates it when nothing is there.
    ///
    /// Cost: milliseconds; after a crash, in proportion to the tail. Errors: [`Error::Locked`],
    /// [`Error::NotAStore`], [`Error::TailMissing`] and the other typed refusals; it never makes an
    /// empty store out of something unreadable.
    pub fn open(path: &Path, options: &Options) -> Result<Opened, Error> {
        opening::open(path, options)
    }

    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared }
    }

    /// The store's identity.
    pub fn id(&self) -> StoreId {
        self.shared.log.lock().state.store
    }

    /// How often the store has been opened for writing, this time included.
    pub fn open_epoch(&self) -> OpenEpoch {
        self.shared.log.lock().state.epoch
    }

    /// The last checkpoint.
    pub fn checkpoint(&self) -> Option<Position> {
        self.shared.log.lock().state.checkpoint
    }

    /// The last position appended; `None` is the empty log.
    pub fn head(&self) -> Option<Position> {
        self.shared.log.lock().head
    }

    /// The last position that survives a crash.
    pub fn durable(&self) -> Option<Position> {
        self.shared.log.lock().durable
    }

    /// The first unused stream number.
    pub fn next_stream(&self) -> Stream {
        self.shared.log.lock().next_stream
    }

    /// Stored bytes of the frames above the checkpoint.
    pub fn tail_bytes(&self) -> u64 {
        self.shared.log.lock().above_bytes
    }

    /// Whether the tail is above `tail_bytes_soft_max`.
    pub fn wants_checkpoint(&self) -> bool {
        self.tail_bytes() > self.shared.options.tail_bytes_soft_max
    }

    /// A frame for the next commit. Only one can be appended: the other then no longer follows.
    pub fn begin_frame(&self) -> FrameBuilder {
        let log = self.shared.log.lock();
        let options = &self.shared.options;
        FrameBuilder::new(
            self.shared.catalog.clone(),
            log.state.store,
            Position::after(log.head),
            log.link,
            log.next_stream,
            (options.append_bytes_max, options.name_bytes_max),
        )
    }

    /// Appends the frame in one write.
    ///
    /// Cost: one sync when durable. Now and then the tail file grows by a step or begins again at its
    /// front, which costs a sync or two more. Errors before the write left nothing:
    /// [`Error::OutOfOrder`], [`Error::TailFull`], [`Error::Full`], [`Error::Io`],
    /// [`Error::Poisoned`]. An [`Error::OutcomeUnknown`] stops the handle: open again and repeat with
    /// the same batch key.
    pub fn append(&self, frame: FrameBuilder, durability: Durability) -> Result<(), Error> {
        let mut guard = self.shared.tail.lock();
        let tail = self.writable(&mut guard)?;
        let synced = self.admit(&frame)?;
        let stored = frame.frame()?;
        let synced = self.shared.files.watch(self.make_room(tail, &stored, synced))?;
        self.wrote(tail.append(&stored, synced))?;
        let durable = match durability {
            Durability::Durable => {
                self.wrote(tail.sync())?;
                Some(stored.last())
            }
            Durability::Buffered => synced,
        };
        self.appended(frame, stored, durable);
        Ok(())
    }

    fn writable<'t>(&self, tail: &'t mut MutexGuard<'_, Option<TailFile>>) -> Result<&'t mut TailFile, Error> {
        self.shared.files.check()?;
        tail.as_mut().ok_or(Error::Poisoned)
    }

    /// Passes on the result of a write that may have got through although it failed.
    fn wrote(&self, result: std::io::Result<()>) -> Result<(), Error> {
        result.map_err(|error| {
            self.shared.files.poison();
            Error::OutcomeUnknown(Box::new(error))
        })
    }

    /// Checks that the frame follows the log, and says up to where the log is durable.
    fn admit(&self, frame: &FrameBuilder) -> Result<Option<Position>, Error> {
        let log = self.shared.log.lock();
        let options = &self.shared.options;
        if frame.is_empty() {
            return Err(Error::OutOfOrder("an empty frame"));
        }
        if frame.has_open_batch() {
            return Err(Error::OutOfOrder("the frame's last batch was not ended"));
        }
        if frame.store != log.state.store || frame.first != Position::after(log.head) || frame.before != log.link {
            return Err(Error::OutOfOrder("the frame was begun before another was appended"));
        }
        if log.above_bytes > options.tail_bytes_hard_max {
            return Err(Error::TailFull { bytes: log.above_bytes, bytes_max: options.tail_bytes_hard_max });
        }
        Ok(log.durable)
    }

    /// Gives the frame a place in the tail file, and says up to where the log is durable then.
    fn make_room(&self, tail: &mut TailFile, frame: &Frame, mut synced: Option<Position>) -> Result<Option<Position>, Error> {
        let checkpoint = self.checkpoint();
        if tail.wants_rotation(checkpoint) {
            let head = self.head();
            if synced != head {
                tail.sync()?;
                synced = head;
            }
            let live = self.shared.files.live();
            tail.rotate(live.from(Position::after(checkpoint)), synced)?;
        }
        tail.reserve(frame)?;
        Ok(synced)
    }

    /// Counts the frame in, and everything up to `durable` as durable.
    fn appended(&self, builder: FrameBuilder, frame: Frame, durable: Option<Position>) {
        let mut log = self.shared.log.lock();
        log.link = builder.after();
        log.next_stream = builder.next_stream;
        log.append(TailFrame { last: frame.last(), bytes: record_bytes(&frame) });
        log.durable = log.durable.max(durable);
        // Under the log's lock, so that neither a reader nor a builder begins between.
        self.shared.files.publish(frame);
        self.shared.catalog.update(builder.known.into_iter());
    }

    /// Makes everything appended so far durable. One sync, none when nothing is buffered.
    pub fn sync(&self) -> Result<(), Error> {
        let mut guard = self.shared.tail.lock();
        let tail = self.writable(&mut guard)?;
        let head = {
            let log = self.shared.log.lock();
            if log.durable == log.head {
                return Ok(());
            }
            log.head
        };
        self.wrote(tail.sync())?;
        let mut log = self.shared.log.lock();
        log.durable = log.durable.max(head);
        Ok(())
    }

    /// A consistent read of the whole store as it is now.
    pub fn reader(&self) -> Result<Reader, Error> {
        Reader::open(&self.shared.files)
    }

    /// Begins a checkpoint up to `up_to`, the last position of some frame: reads and merges the
    /// frames up to there. Nothing is written before [`Checkpoint::commit`].
    ///
    /// Waits while another checkpoint or a flush of a rebuild writes main.
    pub fn begin_checkpoint(&self, up_to: Position) -> Result<Checkpoint<'_>, Error> {
        self.shared.files.check()?;
        Checkpoint::begin(&self.shared, up_to)
    }

    /// Begins writing rows and index anew, beside the ones in use. One at a time.
    pub fn begin_rebuild(&self) -> Result<Rebuild<'_>, Error> {
        self.shared.files.check()?;
        Rebuild::begin(&self.shared)
    }

    /// A small value that a checkpoint put under this name.
    pub fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.reader()?.meta(name)
    }

    /// Sizes of everything. Cost: a walk of every table's pages.
    pub fn stats(&self) -> Result<Stats, Error> {
        Stats::of(&self.reader()?, self.shared.medium.as_ref())
    }

    /// Puts small values that belong to no event, or removes them (`None`): all of them or none, durable when this returns. No frame, row,
    /// position or rebuild knows of them.
    ///
    /// Cost: a commit of main, two syncs; waits for a checkpoint that is being written. Errors: as of a checkpoint.
    pub fn put_aside<'v>(&self, values: impl IntoIterator<Item = (&'v [u8], Option<&'v [u8]>)>) -> Result<(), Error> {
        let _writing = self.shared.writing_main.lock();
        let files = &self.shared.files;
        let values: Vec<_> = values.into_iter().collect();
        let write = || {
            let transaction = files.write_main()?;
            let mut table = transaction.open_table(ASIDE)?;
            for (key, value) in &values {
                match value {
                    Some(value) => drop(table.insert(*key, *value)?),
                    None => drop(table.remove(*key)?),
                }
            }
            drop(table);
            Ok(transaction)
        };
        files.commit(files.watch(contained("main file", write))?)
    }

    /// Closes the store, so that it is one file: needs the last checkpoint to be at the head.
    ///
    /// A main file that grew is compacted, up to `compact_bytes_max`: redb doubles a file that is full and uses it all over. Cost: a few
    /// milliseconds; with a compaction, a walk of the file. A crash during it costs the next open such a walk, and no data.
    ///
    /// On an error the store is whole, with its tail file; open it again.
    pub fn close(self) -> Result<(), Error> {
        let shared = &self.shared;
        shared.files.check()?;
        let state = {
            let log = shared.log.lock();
            if log.head != log.state.checkpoint {
                return Err(Error::OutOfOrder("closing needs a checkpoint at the head first"));
            }
            let mut state = log.state;
            state.tail = None;
            state
        };
        let transaction = shared.files.watch(write_state(&shared.files, &state.stored()))?;
        shared.files.commit(transaction)?;
        // From here on main needs no tail: a failure below leaves a file that the next open removes.
        drop(shared.tail.lock().take());
        shared.medium.remove(Which::Tail)?;
        shared.medium.sync_dir()?;
        let bytes = file_bytes(shared.medium.as_ref(), Which::Main)?;
        let grown = bytes > shared.opened_bytes && state.checkpoint > shared.opened_checkpoint;
        match shared.files.take_main() {
            Some(main) if grown && bytes <= shared.options.compact_bytes_max => main.compact_and_close(),
            Some(main) => main.close(),
            None => Ok(()),
        }
    }
}

/// A transaction on main that replaces the state row.
pub(crate) fn write_state(files: &Files, stored: &[u8]) -> Result<WriteTransaction, Error> {
    contained("main file", || {
        let transaction = files.write_main()?;
        transaction.open_table(META)?.insert(STATE, stored)?;
        Ok(transaction)
    })
}
