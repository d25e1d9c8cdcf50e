//! Where a session's header, pages and text are: in memory, in the cache, in rows, or folded again from the log.
//!
//! **Invariant:** what the header counts is found, or it is trouble with a row; trouble with a row means the log is asked, and only when
//! the log does not answer either does the call fail.

use std::cell::OnceCell;
use std::sync::Arc;

use rkyv::util::AlignedVec;
use turnstore_storage::{Position, Reader, RowKey, Seq, Stream};

use super::View;
use super::cache::Cached;
use super::text::Named;
use crate::error::Error;
use crate::index::{self, Placed};
use crate::refold::{Refolded, refold};
use crate::state::{BadRow, Header, HeaderArchive, PAGE_ENTRIES, PageArchive, RowKind, RowRef, Sequence, State};

/// Kind under which the cache keeps contents of the log; no row has it.
const PAYLOAD_KIND: u8 = u8::MAX;
/// Kind under which the cache keeps what an earlier process wrote of a session; no row has it.
const OPENED_KIND: u8 = u8::MAX - 1;

/// Why a read did not succeed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The call fails.
    Error(Error),
    /// A row is missing or does not read: the session is folded again.
    Row(BadRow),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<BadRow> for Trouble {
    fn from(bad: BadRow) -> Self {
        Self::Row(bad)
    }
}

impl From<turnstore_storage::Error> for Trouble {
    fn from(error: turnstore_storage::Error) -> Self {
        Self::Error(error.into())
    }
}

impl Trouble {
    fn into_error(self, session: &str) -> Error {
        match self {
            Self::Error(error) => error,
            Self::Row(source) => Error::Row { session: session.to_owned(), source },
        }
    }
}

/// One call's look at the files. The reader is opened when it is first needed and ends with the call.
pub(crate) struct Look<'v> {
    pub(crate) view: &'v View,
    follows: bool,
    closed: bool,
    reader: OnceCell<Reader>,
}

impl<'v> Look<'v> {
    pub(crate) fn new(view: &'v View) -> Self {
        let only_reads = view.shared.only_reads();
        Self { view, follows: only_reads == Some(true), closed: only_reads.is_none(), reader: OnceCell::new() }
    }

    #[cfg(test)]
    pub(crate) fn opened(&self) -> bool {
        self.reader.get().is_some()
    }

    pub(crate) fn reader(&self) -> Result<&Reader, Error> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader);
        }
        let reader = self.view.shared.reader()?;
        Ok(self.reader.get_or_init(|| reader))
    }

    /// A view of a store that is closed answers nothing, not even what is in memory.
    fn open(&self) -> Result<(), Error> {
        if self.closed { Err(Error::Closed) } else { Ok(()) }
    }

    /// Up to where rows are read. Beside another process's writer it is the newest checkpoint: that writer does not know of this view.
    pub(crate) fn checkpoint(&self) -> Result<Option<Position>, Error> {
        self.open()?;
        if self.follows { Ok(self.reader()?.checkpoint()) } else { Ok(self.view.head.checkpoint) }
    }

    /// Up to where the log is read.
    pub(crate) fn position(&self) -> Result<Option<Position>, Error> {
        self.open()?;
        if self.follows { self.checkpoint() } else { Ok(self.view.head.position) }
    }

    /// A row's newest version that this look sees; damage counts as absence.
    fn row(&self, key: &RowKey) -> Result<Option<(Position, AlignedVec)>, Error> {
        let Some(checkpoint) = self.checkpoint()? else { return Ok(None) };
        match self.reader()?.row(key, Some(checkpoint)) {
            Ok(row) => Ok(row.map(|row| (row.version, row.bytes))),
            Err(turnstore_storage::Error::Corrupt(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The session of this id; `None` when the store has none.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Found<'_>>, Error> {
        self.open()?;
        let head = &self.view.head;
        let named = head.names.get_key_value(name);
        if let Some((name, stream, shown)) = named.and_then(|(name, stream)| Some((name, *stream, head.sessions.get(stream)?))) {
            return Ok(Some(Found::of_state(self, stream, name.clone(), shown.state.clone(), Some(shown.opened_seq))));
        }
        match self.stream(name)? {
            Some(stream) => self.find_in_rows(stream, Arc::from(name)),
            None => Ok(None),
        }
    }

    /// The number of a session that is not in memory.
    pub(crate) fn stream(&self, name: &str) -> Result<Option<Stream>, Error> {
        let cache = &self.view.shared.cache;
        if let Some(stream) = cache.stream(name) {
            return Ok(Some(stream).filter(|stream| !self.is_later(*stream)));
        }
        if self.checkpoint()?.is_none() {
            return Ok(None);
        }
        let Some((stream, _)) = self.reader()?.stream(name)? else { return Ok(None) };
        cache.put_stream(Arc::from(name), stream);
        Ok(Some(stream).filter(|stream| !self.is_later(*stream)))
    }

    /// The session with this number, whose id the caller knows.
    pub(crate) fn find_in_rows(&self, stream: Stream, name: Arc<str>) -> Result<Option<Found<'_>>, Error> {
        let Some(checkpoint) = self.checkpoint()? else { return Ok(None) };
        let row = RowRef { kind: RowKind::Header, epoch: 0, ordinal: 0 };
        let key = key(stream, row);
        let cache = &self.view.shared.cache;
        if let Some(Cached::Header(header)) = cache.get(&key, checkpoint.get()) {
            return Ok(Some(Found::of_header(self, stream, name, header)));
        }
        let read = self.row(&key)?.and_then(|(version, bytes)| Some((version, HeaderArchive::new(row, bytes).ok()?)));
        let expected = self.last_seq(&name, checkpoint)?;
        let fits = |header: &HeaderArchive| expected.is_none_or(|expected| header.get().last_seq == expected);
        if let Some((version, header)) = read.filter(|(_, header)| fits(header)) {
            cache.put(key, version, checkpoint.get(), Cached::Header(header.clone()));
            return Ok(Some(Found::of_header(self, stream, name, header)));
        }
        let state = self.refold(stream, None)?;
        Ok((state.header().last_seq > 0).then(|| Found { whole: true, ..Found::of_state(self, stream, name, state, None) }))
    }

    /// The last seq that the log has of a session, when this look sees all that main has: a header that says otherwise is not its own.
    fn last_seq(&self, name: &str, checkpoint: Position) -> Result<Option<u64>, Error> {
        let reader = self.reader()?;
        if reader.checkpoint() != Some(checkpoint) {
            return Ok(None);
        }
        let last = reader.stream(name)?.and_then(|(_, last)| last);
        Ok(Some(last.map_or(0, Seq::get)))
    }

    /// Folds a session from its first event up to `last`, or to this look's position: the rare way, taken when a row is lost.
    fn refold(&self, stream: Stream, last: Option<u64>) -> Result<Arc<State>, Error> {
        let cache = &self.view.shared.cache;
        if let Some(state) = last.and_then(|last| cache.refolded(stream, last)) {
            return Ok(state);
        }
        let state = self.refolded(stream, last)?.session.state;
        cache.put_refolded(stream, state.header().last_seq, state.clone());
        Ok(state)
    }

    fn refolded(&self, stream: Stream, last: Option<u64>) -> Result<Refolded, Error> {
        let position = self.position()?;
        refold(self.reader()?, stream, |at, seq| Some(at) <= position && last.is_none_or(|last| seq.get() <= last))
    }

    /// Whether a session came to be after this look's position.
    pub(crate) fn is_later(&self, stream: Stream) -> bool {
        self.view.head.next_stream.is_some_and(|next| stream >= next)
    }

    /// Where a session that is not in memory was placed at this look's checkpoint; `None` when that row is lost.
    fn placed(&self, stream: Stream) -> Result<Option<Placed>, Error> {
        Ok(self.row(&index::placed_row(stream))?.and_then(|(_, bytes)| Placed::from_bytes(&bytes).ok()))
    }

    /// Position and time of the last event that a session in rows had at this look's position; `None` when it had none.
    pub(crate) fn last_event(&self, stream: Stream) -> Result<Option<(Position, i64)>, Error> {
        let known = self.placed(stream)?.and_then(|placed| Some((Position::new(placed.last_position)?, placed.recorded_at)));
        match known {
            Some(last) => Ok(Some(last)),
            None => self.refolded(stream, None).map(|folded| Some((folded.last_position?, folded.recorded_at))),
        }
    }

    /// Last seq of a session in rows, which is at `last_seq`, when the process that writes the store opened it: what is older was written
    /// by a process that is gone.
    pub(crate) fn opened_seq(&self, stream: Stream, last_seq: u64) -> Result<u64, Error> {
        let cache = &self.view.shared.cache;
        let key = RowKey { stream, epoch: 0, kind: OPENED_KIND, ordinal: 0 };
        // Another process's writer can go at any moment, without a new checkpoint.
        let clock = self.view.head.checkpoint.filter(|_| !self.follows);
        if let Some(Cached::Opened(seq)) = clock.and_then(|clock| cache.get(&key, clock.get())) {
            return Ok(seq);
        }
        let reader = self.reader()?;
        let (epoch, lives) = (reader.open_epoch().get(), !reader.at_rest());
        let placed = self.placed(stream)?.filter(|placed| placed.open_epoch == epoch && lives);
        let seq = placed.map_or(last_seq, |placed| placed.opened_seq);
        if let Some(clock) = clock {
            cache.put(key, clock, clock.get(), Cached::Opened(seq));
        }
        Ok(seq)
    }
}

/// The numbers of a session's header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outline {
    pub(crate) epoch: u32,
    pub(crate) last_seq: u64,
    pub(crate) first: i64,
    pub(crate) next: i64,
    pub(crate) shelf_next: i64,
    pub(crate) diagnostics: i64,
    pub(crate) current: Option<i64>,
    pub(crate) touched: u64,
}

impl Outline {
    /// Ordinals of a sequence: the lowest used, and the next above.
    pub(crate) fn extent(&self, sequence: Sequence) -> (i64, i64) {
        match sequence {
            Sequence::Timeline => (self.first, self.next),
            Sequence::Shelf => (0, self.shelf_next),
            Sequence::Diagnostics => (0, self.diagnostics),
        }
    }

    /// Pages of a sequence, in order.
    pub(crate) fn pages(&self, sequence: Sequence) -> std::ops::Range<i64> {
        let (first, next) = self.extent(sequence);
        if next <= first { 0..0 } else { first.div_euclid(PAGE_ENTRIES)..(next - 1).div_euclid(PAGE_ENTRIES) + 1 }
    }
}

enum Top {
    Memory(Arc<State>),
    Row(HeaderArchive),
}

/// One session as a view sees it.
pub(crate) struct Found<'l> {
    pub(crate) look: &'l Look<'l>,
    pub(crate) stream: Stream,
    pub(crate) name: Arc<str>,
    pub(crate) outline: Outline,
    top: Top,
    /// Clock of its rows: the seq up to which it is in them.
    saved: u64,
    opened_seq: Option<u64>,
    /// Everything is in memory, and what is not does not exist.
    whole: bool,
}

fn key(stream: Stream, row: RowRef) -> RowKey {
    RowKey { stream, epoch: row.epoch, kind: row.kind as u8, ordinal: row.ordinal }
}

impl<'l> Found<'l> {
    fn of_state(look: &'l Look<'l>, stream: Stream, name: Arc<str>, state: Arc<State>, opened_seq: Option<u64>) -> Self {
        let header = state.header();
        let outline = Outline {
            epoch: header.epoch,
            last_seq: header.last_seq,
            first: header.first,
            next: header.next,
            shelf_next: header.shelf_next,
            diagnostics: header.diagnostics,
            current: header.current,
            touched: header.touched,
        };
        let saved = state.saved();
        Self { look, stream, name, outline, top: Top::Memory(state), saved, opened_seq, whole: false }
    }

    fn of_header(look: &'l Look<'l>, stream: Stream, name: Arc<str>, header: HeaderArchive) -> Self {
        let archived = header.get();
        let outline = Outline {
            epoch: archived.epoch.to_native(),
            last_seq: archived.last_seq.to_native(),
            first: archived.first.to_native(),
            next: archived.next.to_native(),
            shelf_next: archived.shelf_next.to_native(),
            diagnostics: archived.diagnostics.to_native(),
            current: archived.current.as_ref().map(|current| current.to_native()),
            touched: archived.touched.to_native(),
        };
        let saved = outline.last_seq;
        Self { look, stream, name, outline, top: Top::Row(header), saved, opened_seq: None, whole: false }
    }

    /// The same session, folded again from the log.
    fn refolded(&self) -> Result<Self, Error> {
        let state = self.look.refold(self.stream, Some(self.outline.last_seq))?;
        if state.header().last_seq != self.outline.last_seq {
            let row = RowRef { kind: RowKind::Header, epoch: 0, ordinal: 0 };
            let what = format!("the log has {} events of the session, not {}", state.header().last_seq, self.outline.last_seq);
            return Err(Error::Row { session: self.name.to_string(), source: BadRow::new(row, what) });
        }
        let opened = self.opened_seq;
        Ok(Self { whole: true, ..Self::of_state(self.look, self.stream, self.name.clone(), state, opened) })
    }

    /// The state, for what is only in memory.
    pub(crate) fn state(&self) -> Option<&State> {
        match &self.top {
            Top::Memory(state) => Some(state),
            Top::Row(_) => None,
        }
    }

    /// Whether its rows were lost, so that it was folded again from the log.
    pub(crate) fn is_refolded(&self) -> bool {
        self.whole
    }

    /// The whole header. Cost: one copy of it.
    pub(crate) fn header(&self) -> Result<Header, Trouble> {
        match &self.top {
            Top::Memory(state) => Ok(state.header().clone()),
            Top::Row(header) => {
                let row = RowRef { kind: RowKind::Header, epoch: 0, ordinal: 0 };
                rkyv::deserialize::<Header, rkyv::rancor::Error>(header.get()).map_err(|error| BadRow::new(row, error).into())
            }
        }
    }

    /// The bytes of the header's archive.
    pub(crate) fn header_archive(&self) -> Result<HeaderArchive, Trouble> {
        let row = RowRef { kind: RowKind::Header, epoch: 0, ordinal: 0 };
        match &self.top {
            Top::Memory(state) => Ok(HeaderArchive::of(row, state.header())?),
            Top::Row(header) => Ok(header.clone()),
        }
    }

    /// Ordinals of what waits, in the order of asking.
    pub(crate) fn pending(&self) -> Vec<i64> {
        match &self.top {
            Top::Memory(state) => state.header().pending.clone(),
            Top::Row(header) => header.get().pending.iter().map(|ordinal| ordinal.to_native()).collect(),
        }
    }

    fn row_ref(&self, sequence: Sequence, page: i64) -> RowRef {
        let epoch = if sequence == Sequence::Timeline { self.outline.epoch } else { 0 };
        RowRef { kind: RowKind::of(sequence), epoch, ordinal: page }
    }

    /// A page that the header counts.
    pub(crate) fn page(&self, sequence: Sequence, page: i64) -> Result<PageArchive, Trouble> {
        if let Some(archive) = self.state().and_then(|state| state.page_archive(sequence, page)) {
            return Ok(archive);
        }
        let row = self.row_ref(sequence, page);
        let key = key(self.stream, row);
        let cache = &self.look.view.shared.cache;
        if let (false, Some(Cached::Page(archive))) = (self.whole, cache.get(&key, self.saved)) {
            return Ok(archive);
        }
        let (version, bytes) = self.read(&key, row)?;
        let archive = PageArchive::new(row, bytes)?;
        cache.put(key, version, self.saved, Cached::Page(archive.clone()));
        Ok(archive)
    }

    /// A sealed piece of text that an entry counts.
    pub(crate) fn piece(&self, kind: RowKind, ordinal: i64) -> Result<Arc<str>, Trouble> {
        if let Some(text) = self.state().and_then(|state| state.shared_piece(kind, ordinal)) {
            return Ok(text);
        }
        let row = RowRef { kind, epoch: if kind == RowKind::Text { self.outline.epoch } else { 0 }, ordinal };
        let key = key(self.stream, row);
        let cache = &self.look.view.shared.cache;
        if let (false, Some(Cached::Piece(text))) = (self.whole, cache.get(&key, self.saved)) {
            return Ok(text);
        }
        let (version, bytes) = self.read(&key, row)?;
        let text: Arc<str> = std::str::from_utf8(&bytes).map(Arc::from).map_err(|error| BadRow::new(row, error))?;
        cache.put(key, version, self.saved, Cached::Piece(text.clone()));
        Ok(text)
    }

    /// A content that stays in the log, as a window shows it.
    pub(crate) fn payload(&self, seq: u64, named: &Named) -> Result<Option<Arc<str>>, Trouble> {
        let Some(at) = Seq::new(seq) else { return Ok(None) };
        let ordinal = i64::from_le_bytes(named.digest.first_chunk::<8>().copied().unwrap_or_default());
        let key = RowKey { stream: self.stream, epoch: 0, kind: PAYLOAD_KIND, ordinal };
        let cache = &self.look.view.shared.cache;
        // The key is a part of the digest: only the whole of it says that this is the value.
        if let Some(Cached::Payload(known, text)) = cache.get(&key, 0)
            && known == *named
        {
            return Ok(Some(text));
        }
        let Some(text) = self.look.value_at(self.stream, at, named)? else { return Ok(None) };
        let text = Arc::<str>::from(text);
        // What the log says never changes: it is the newest at every clock.
        cache.put(key, Position::FIRST, 0, Cached::Payload(*named, text.clone()));
        Ok(Some(text))
    }

    fn read(&self, key: &RowKey, row: RowRef) -> Result<(Position, AlignedVec), Trouble> {
        if self.whole {
            return Err(BadRow::new(row, "not in the log either").into());
        }
        self.look.row(key)?.ok_or_else(|| BadRow::new(row, "missing").into())
    }

    /// The bytes of a row that may be absent.
    pub(crate) fn optional(&self, row: RowRef) -> Result<Option<AlignedVec>, Trouble> {
        if self.whole {
            return Ok(None);
        }
        let Some(checkpoint) = self.look.checkpoint()? else { return Ok(None) };
        match self.look.reader()?.row(&key(self.stream, row), Some(checkpoint)) {
            Ok(found) => Ok(found.map(|found| found.bytes)),
            // Damage is not absence: what the row held is found by folding again.
            Err(turnstore_storage::Error::Corrupt(damage)) => Err(BadRow::new(row, damage).into()),
            Err(error) => Err(Error::from(error).into()),
        }
    }

    /// Last seq of the session when the process that writes the store opened it: what is older was written by a process that is gone.
    pub(crate) fn opened_seq(&self) -> Result<u64, Trouble> {
        match self.opened_seq {
            Some(opened) => Ok(opened),
            None => Ok(self.look.opened_seq(self.stream, self.outline.last_seq)?),
        }
    }
}

impl View {
    /// Reads a session; on a row that is lost or damaged, folds the session again from the log and reads that.
    pub(crate) fn read<T>(&self, session: &str, read: impl Fn(&Found<'_>) -> Result<T, Trouble>) -> Result<T, Error> {
        self.told(|look| {
            let found = look.find(session)?.ok_or_else(|| Error::NoSession { session: session.to_owned() })?;
            read_found(&found, read)
        })
    }

    /// One look, whose failure is told as what it is once the store is closed.
    pub(crate) fn told<T>(&self, read: impl FnOnce(&Look<'_>) -> Result<T, Error>) -> Result<T, Error> {
        read(&self.look()).map_err(|error| self.shared.told(error))
    }
}

/// [`View::read`] of a session that was found.
pub(crate) fn read_found<T>(found: &Found<'_>, read: impl Fn(&Found<'_>) -> Result<T, Trouble>) -> Result<T, Error> {
    match read(found) {
        Err(Trouble::Row(_)) if !found.whole => {
            let whole = found.refolded()?;
            read(&whole).map_err(|trouble| trouble.into_error(&found.name))
        }
        outcome => outcome.map_err(|trouble| trouble.into_error(&found.name)),
    }
}
