//! Reading a store at one moment.
//!
//! **Invariant:** the tail's frames are taken before main's transaction is opened, so that no frame
//! falls between; what main holds is not read from the tail.

use crate::Error;
use crate::bytes::Fields;
use crate::catalog::StreamRow;
use crate::database::contained;
use crate::files::Files;
use crate::frame::Frame;
use crate::frames::{Frames, Source};
use crate::ids::{BatchDigest, BatchKey, KeyRecord, OpenEpoch, Position, Seq, StoreId, Stream};
use crate::index::{IndexEntries, IndexTable};
use crate::link::DigestKey;
use crate::live::{Live, LiveFrames};
use crate::main_frames::{FrameTable, MainFrames};
use crate::row::{Row, RowKey};
use crate::row_parts::RowTable;
use crate::rows::{self, Direction, Rows};
use crate::state::State;
use crate::tables::{ASIDE, FRAMES, Generation, KEYS, META, NAMED, NAMES, SPANS, STATE, STREAMS, SpanKey, key_key, span_key};
use redb::{Key, ReadOnlyTable, ReadTransaction, TableDefinition, TableError, Value};
use std::collections::HashMap;
use std::ops::{Bound, RangeInclusive};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much a reader has done so far, for tests of bounded work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCount {
    /// Descents of a B-tree for rows.
    pub seeks: u64,
    /// Stored rows looked at.
    pub rows: u64,
    /// Frames decoded.
    pub frames: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    seeks: AtomicU64,
    rows: AtomicU64,
    frames: AtomicU64,
}

impl Counts {
    pub(crate) fn seek(&self) {
        self.seeks.fetch_add(1, Ordering::Relaxed);
    }
    pub(crate) fn step(&self) {
        self.rows.fetch_add(1, Ordering::Relaxed);
    }
    pub(crate) fn frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }
}

/// A consistent read of both files. Keep it short: it pins pages of the files.
///
/// Cost to open: one transaction and one row, some microseconds. It never blocks the writer.
pub struct Reader {
    tail: Live,
    main: ReadTransaction,
    state: State,
    counts: Counts,
    rows: OnceLock<Option<RowTable>>,
    index: OnceLock<Option<IndexTable>>,
    frames: OnceLock<Option<FrameTable>>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Opens a table; one that was never written to is `None`.
pub(crate) fn open_table<K: Key + 'static, V: Value + 'static>(
    transaction: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
) -> Result<Option<ReadOnlyTable<K, V>>, Error> {
    contained("tables", || match transaction.open_table(table) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    })
}

fn once<T>(cell: &OnceLock<Option<T>>, open: impl FnOnce() -> Result<Option<T>, Error>) -> Result<Option<&T>, Error> {
    if let Some(table) = cell.get() {
        return Ok(table.as_ref());
    }
    let table = open()?;
    Ok(cell.get_or_init(|| table).as_ref())
}

pub(crate) fn read_state(main: &ReadTransaction) -> Result<State, Error> {
    let other = Error::NotAStore { what: "a redb file of something else" };
    let table = match main.open_table(META) {
        Ok(table) => table,
        Err(TableError::Storage(error)) => return Err(error.into()),
        Err(_) => return Err(other),
    };
    let stored = table.get(STATE)?.ok_or(other)?;
    State::parse(stored.value())
}

/// A key and its value.
pub type Aside = (Vec<u8>, Vec<u8>);

impl Reader {
    pub(crate) fn open(files: &Files) -> Result<Self, Error> {
        contained("tables", || {
            let tail = files.live();
            let main = files.read_main()?;
            let state = read_state(&main)?;
            Ok(Self {
                tail,
                main,
                state,
                counts: Counts::default(),
                rows: OnceLock::new(),
                index: OnceLock::new(),
                frames: OnceLock::new(),
            })
        })
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn main(&self) -> &ReadTransaction {
        &self.main
    }

    /// The store's identity.
    pub fn id(&self) -> StoreId {
        self.state.store
    }

    /// The open epoch that main knows of.
    pub fn open_epoch(&self) -> OpenEpoch {
        self.state.epoch
    }

    /// Whether the store was closed: no writer has it open, and none died with it open.
    pub fn at_rest(&self) -> bool {
        self.state.tail.is_none()
    }

    /// Up to where rows and index speak. `None` before the first checkpoint.
    pub fn checkpoint(&self) -> Option<Position> {
        self.state.checkpoint
    }

    /// The last position that this reader sees. `None` is the empty log.
    pub fn head(&self) -> Result<Option<Position>, Error> {
        Ok(self.tail.last().map(Frame::last).max(self.state.checkpoint))
    }

    /// What this reader has done so far.
    pub fn read_count(&self) -> ReadCount {
        ReadCount {
            seeks: self.counts.seeks.load(Ordering::Relaxed),
            rows: self.counts.rows.load(Ordering::Relaxed),
            frames: self.counts.frames.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn frame_table(&self) -> Result<Option<&FrameTable>, Error> {
        once(&self.frames, || open_table(&self.main, FRAMES))
    }

    fn row_table(&self) -> Result<Option<&RowTable>, Error> {
        once(&self.rows, || RowTable::open(&self.main, &Generation::new(self.state.generation)))
    }

    fn index_table(&self) -> Result<Option<&IndexTable>, Error> {
        once(&self.index, || open_table(&self.main, Generation::new(self.state.generation).index()))
    }

    /// The stream with this name and its last seq at the checkpoint (`None` when all its events
    /// are above it). A stream declared above the checkpoint is not found here.
    pub fn stream(&self, name: &str) -> Result<Option<(Stream, Option<Seq>)>, Error> {
        contained("names", || {
            let Some(names) = open_table(&self.main, NAMES)? else { return Ok(None) };
            let Some(number) = names.get(name)? else { return Ok(None) };
            let stream = Stream::new(number.value()).ok_or_else(|| Error::corrupt("names", name, "a stream of zero"))?;
            let last = self.stream_row(stream, |row| row.last)?;
            Ok(Some((stream, last.flatten())))
        })
    }

    fn stream_row<T>(&self, stream: Stream, take: impl FnOnce(&StreamRow<'_>) -> T) -> Result<Option<T>, Error> {
        contained("streams", || {
            let Some(table) = open_table(&self.main, STREAMS)? else { return Ok(None) };
            let Some(stored) = table.get(stream.get())? else { return Ok(None) };
            Ok(Some(take(&StreamRow::parse(stream.get(), stored.value())?)))
        })
    }

    /// The stream's name, when it was declared at or below the checkpoint.
    pub fn stream_name(&self, stream: Stream) -> Result<Option<String>, Error> {
        self.stream_row(stream, |row| row.name.to_owned())
    }

    /// Every stream declared at or below the checkpoint, by number, with its name and last seq.
    /// Cost: proportional to their number.
    pub fn streams(&self) -> Result<Vec<(Stream, String, Option<Seq>)>, Error> {
        contained("streams", || {
            let Some(table) = open_table(&self.main, STREAMS)? else { return Ok(Vec::new()) };
            let mut streams = Vec::new();
            for item in table.range(0..=u64::MAX)? {
                let (number, stored) = item?;
                let row = StreamRow::parse(number.value(), stored.value())?;
                let stream = Stream::new(number.value()).ok_or_else(|| Error::corrupt("streams", 0, "a stream of zero"))?;
                streams.push((stream, row.name.to_owned(), row.last));
            }
            Ok(streams)
        })
    }

    /// The row's newest version at or below `at`; `None` asks for the newest. One seek.
    pub fn row(&self, key: &RowKey, at: Option<Position>) -> Result<Option<Row>, Error> {
        let Some(table) = self.row_table()? else { return Ok(None) };
        rows::newest(table, key, at.map_or(u64::MAX, Position::get), &self.counts)
    }

    /// The rows of a kind with these ordinals, each in its newest version at or below `at`.
    ///
    /// Cost: bounded for each ordinal present, however many versions it has.
    pub fn rows(
        &self,
        stream: Stream,
        epoch: u32,
        kind: u8,
        ordinals: RangeInclusive<i64>,
        at: Option<Position>,
        direction: Direction,
    ) -> Result<Rows<'_>, Error> {
        let key = RowKey { stream, epoch, kind, ordinal: 0 };
        Ok(Rows::new(self.row_table()?, &self.counts, key, &ordinals, at, direction))
    }

    /// The index entries within the bounds.
    pub fn index(&self, bounds: (Bound<&[u8]>, Bound<&[u8]>), direction: Direction) -> Result<IndexEntries, Error> {
        IndexEntries::new(self.index_table()?, bounds, direction)
    }

    /// The value of one index key.
    pub fn index_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        contained("index", || {
            let Some(table) = self.index_table()? else { return Ok(None) };
            Ok(table.get(key)?.map(|value| value.value().to_vec()))
        })
    }

    /// A small value that a checkpoint put under this name.
    pub fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        contained("named", || {
            let Some(table) = open_table(&self.main, NAMED)? else { return Ok(None) };
            Ok(table.get(name)?.map(|value| value.value().to_vec()))
        })
    }

    /// A value that [`crate::Storage::put_aside`] put under this key, as it was when the reader was made.
    pub fn aside(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        contained("aside", || {
            let Some(table) = open_table(&self.main, ASIDE)? else { return Ok(None) };
            Ok(table.get(key)?.map(|value| value.value().to_vec()))
        })
    }

    /// The values whose keys begin so, by key; at most `count` of them. Cost: proportional to them.
    pub fn asides(&self, prefix: &[u8], count: usize) -> Result<Vec<Aside>, Error> {
        contained("aside", || {
            let Some(table) = open_table(&self.main, ASIDE)? else { return Ok(Vec::new()) };
            let mut found = Vec::new();
            for entry in table.range(prefix..)? {
                let (key, value) = entry?;
                if found.len() == count || !key.value().starts_with(prefix) {
                    break;
                }
                found.push((key.value().to_vec(), value.value().to_vec()));
            }
            Ok(found)
        })
    }

    fn tail_from(&self, from: Position) -> LiveFrames<'_> {
        // What main holds too is passed over by seeking.
        self.tail.from(from.max(Position::after(self.state.checkpoint)))
    }

    /// The frames from the one that holds `from` up to the head: main's, then the tail's.
    pub fn frames(&self, from: Position) -> Result<Frames<'_>, Error> {
        contained("frames", || {
            let main = match self.frame_table()? {
                Some(table) if Some(from) <= self.state.checkpoint => Source::Every(MainFrames::from(table, self.state.store, from)?),
                _ => Source::Done,
            };
            Ok(self.frames_by(main, from, self.tail_from(from), None))
        })
    }

    /// The frames that hold events of the stream from this seq on.
    ///
    /// Cost: one read for each such frame in main, and a walk of the tail.
    pub fn frames_of(&self, stream: Stream, from: Seq) -> Result<Frames<'_>, Error> {
        contained("spans", || {
            let main = match (self.frame_table()?, open_table(&self.main, SPANS)?) {
                (Some(frames), Some(spans)) => Source::Spans(frames, spans_from(&spans, stream, from)?),
                _ => Source::Done,
            };
            let tail = self.tail_from(Position::FIRST);
            Ok(self.frames_by(main, Position::FIRST, tail, Some((stream, from))))
        })
    }

    fn frames_by<'r>(&'r self, main: Source<'r>, from: Position, tail: LiveFrames<'r>, of: Option<(Stream, Seq)>) -> Frames<'r> {
        Frames { store: self.state.store, counts: &self.counts, main, tail, checkpoint: self.state.checkpoint, from, of }
    }

    /// Walks the whole log and checks every checksum, every position and the chain over batches.
    /// Returns how many events it holds. Cost: a read of the log and a digest of every event.
    pub fn verify(&self) -> Result<u64, Error> {
        contained("frames", || crate::verify::log(self))
    }

    pub(crate) fn digest_keys(&self) -> Result<HashMap<Stream, DigestKey>, Error> {
        let mut keys = HashMap::new();
        let Some(table) = open_table(&self.main, STREAMS)? else { return Ok(keys) };
        for item in table.range(0..=u64::MAX)? {
            let (number, stored) = item?;
            let row = StreamRow::parse(number.value(), stored.value())?;
            keys.extend(Stream::new(number.value()).map(|stream| (stream, row.key)));
        }
        Ok(keys)
    }

    /// What the log remembers of a stream's batch with this key, at or below the checkpoint.
    pub fn key(&self, stream: Stream, key: &BatchKey) -> Result<Option<KeyRecord>, Error> {
        contained("keys", || {
            let Some(table) = open_table(&self.main, KEYS)? else { return Ok(None) };
            let Some(stored) = table.get(&key_key(stream.get(), &key.0))? else { return Ok(None) };
            let mut fields = Fields(stored.value());
            let mut read = || {
                Some(KeyRecord {
                    first: Position::new(fields.u64()?)?,
                    last: Position::new(fields.u64()?)?,
                    digest: BatchDigest(fields.array()?),
                })
            };
            read().map(Some).ok_or_else(|| Error::corrupt("keys", stream, "a broken key"))
        })
    }
}

fn spans_from(
    spans: &ReadOnlyTable<&'static SpanKey, u64>,
    stream: Stream,
    from: Seq,
) -> Result<redb::Range<'static, &'static SpanKey, u64>, Error> {
    let lowest = span_key(stream.get(), 0);
    let mut before = spans.range::<&SpanKey>(&lowest..=&span_key(stream.get(), from.get()))?;
    let start = before.next_back().transpose()?.map_or(lowest, |(key, _)| *key.value());
    Ok(spans.range::<&SpanKey>(&start..=&span_key(stream.get(), u64::MAX))?)
}
