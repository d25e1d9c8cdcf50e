//! Archived rows that readers share.
//!
//! **Invariant:** a row in the cache is the newest one at every clock in its range, so that a hit needs no look at the files. The clock of
//! a header is the checkpoint; that of everything else is the seq up to which its session is in rows, which moves only when rows of the
//! session are written.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use turnstore_storage::{Position, RowKey, Stream};

use super::text::Named;
use crate::state::{HeaderArchive, PageArchive, State};

/// Names in the cache beyond this are forgotten; they are found again in the files.
const NAMES_MAX: usize = 4096;
/// What a row costs beside its bytes.
const ROW_BYTES: usize = 160;

/// A row as readers use it.
#[derive(Clone, Debug)]
pub(crate) enum Cached {
    Header(HeaderArchive),
    Page(PageArchive),
    Piece(Arc<str>),
    /// A value of the log.
    Payload(Named, Arc<str>),
    /// Last seq of a session that an earlier process wrote.
    Opened(u64),
}

impl Cached {
    fn bytes(&self) -> usize {
        ROW_BYTES
            + match self {
                Self::Header(header) => header.bytes().len(),
                Self::Page(page) => page.bytes().len(),
                Self::Piece(text) | Self::Payload(_, text) => text.len(),
                Self::Opened(_) => 0,
            }
    }
}

#[derive(Debug)]
struct Slot {
    key: RowKey,
    row: Cached,
    version: Position,
    /// Clocks at which this is the newest version.
    from: u64,
    to: u64,
    /// Asked for since the hand passed by.
    used: bool,
}

#[derive(Debug, Default)]
struct Slots {
    /// Where in the ring a row is. Nothing depends on the order of this map: the ring has its own.
    places: HashMap<RowKey, usize>,
    ring: Vec<Slot>,
    /// The place in the ring that is looked at next when something has to go.
    hand: usize,
    bytes: usize,
    names: BTreeMap<Arc<str>, Stream>,
    refolded: Option<(Stream, u64, Arc<State>)>,
}

/// Archived rows in memory, bounded by bytes; what was not asked for lately goes first.
#[derive(Debug)]
pub(crate) struct PageCache {
    bytes_max: usize,
    slots: Mutex<Slots>,
}

impl PageCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, slots: Mutex::default() }
    }

    /// The row as it is at `clock`, when the cache knows.
    pub(crate) fn get(&self, key: &RowKey, clock: u64) -> Option<Cached> {
        let mut slots = self.slots.lock();
        let slot = slots.slot(key).filter(|slot| (slot.from..=slot.to).contains(&clock))?;
        slot.used = true;
        Some(slot.row.clone())
    }

    /// Takes in a row that was read at `clock`.
    pub(crate) fn put(&self, key: RowKey, version: Position, clock: u64, row: Cached) {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.slot(&key) {
            if slot.version == version {
                slot.from = slot.from.min(clock);
                slot.to = slot.to.max(clock);
                return;
            }
            if slot.version > version {
                return;
            }
        }
        if row.bytes() > self.bytes_max / 4 {
            return;
        }
        slots.insert(Slot { key, row, version, from: clock, to: clock, used: false });
        while slots.bytes > self.bytes_max {
            slots.evict();
        }
    }

    pub(crate) fn stream(&self, name: &str) -> Option<Stream> {
        self.slots.lock().names.get(name).copied()
    }

    pub(crate) fn put_stream(&self, name: Arc<str>, stream: Stream) {
        let names = &mut self.slots.lock().names;
        if names.len() >= NAMES_MAX {
            names.clear();
        }
        names.insert(name, stream);
    }

    /// A session that was folded again because a row was lost, at this seq.
    pub(crate) fn refolded(&self, stream: Stream, seq: u64) -> Option<Arc<State>> {
        let slots = self.slots.lock();
        let (of, at, state) = slots.refolded.as_ref()?;
        (*of == stream && *at == seq).then(|| state.clone())
    }

    /// Keeps the last session that was folded again; the one before it is forgotten.
    pub(crate) fn put_refolded(&self, stream: Stream, seq: u64, state: Arc<State>) {
        self.slots.lock().refolded = Some((stream, seq, state));
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.slots.lock().bytes
    }
}

impl Slots {
    fn slot(&mut self, key: &RowKey) -> Option<&mut Slot> {
        self.ring.get_mut(*self.places.get(key)?)
    }

    fn insert(&mut self, slot: Slot) {
        self.bytes += slot.row.bytes();
        match self.slot(&slot.key) {
            Some(old) => {
                let gone = std::mem::replace(old, slot);
                self.bytes -= gone.row.bytes();
            }
            None => {
                self.places.insert(slot.key, self.ring.len());
                self.ring.push(slot);
            }
        }
    }

    /// Drops one row: the first at or behind the hand that nobody asked for since the hand was there.
    fn evict(&mut self) {
        loop {
            if self.hand >= self.ring.len() {
                self.hand = 0;
            }
            let Some(slot) = self.ring.get_mut(self.hand) else { return self.bytes = 0 };
            if !std::mem::take(&mut slot.used) {
                break;
            }
            self.hand += 1;
        }
        let gone = self.ring.swap_remove(self.hand);
        self.bytes -= gone.row.bytes();
        self.places.remove(&gone.key);
        if let Some(moved) = self.ring.get(self.hand) {
            self.places.insert(moved.key, self.hand);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(ordinal: i64) -> RowKey {
        RowKey { stream: Stream::FIRST, epoch: 0, kind: 6, ordinal }
    }

    fn position(number: u64) -> Position {
        Position::new(number).unwrap()
    }

    fn piece(text: &str) -> Cached {
        Cached::Piece(Arc::from(text))
    }

    fn text(cached: Option<Cached>) -> Option<String> {
        match cached? {
            Cached::Piece(text) => Some(text.to_string()),
            _ => None,
        }
    }

    #[test]
    fn a_row_is_found_at_the_clocks_it_was_seen_at_and_between_them() {
        let cache = PageCache::new(1 << 20);
        cache.put(key(1), position(5), 10, piece("a"));
        assert_eq!(text(cache.get(&key(1), 11)), None);
        cache.put(key(1), position(5), 14, piece("a"));
        assert_eq!(text(cache.get(&key(1), 12)).as_deref(), Some("a"));
        cache.put(key(1), position(9), 20, piece("b"));
        assert_eq!(text(cache.get(&key(1), 12)), None);
        cache.put(key(1), position(5), 12, piece("a"));
        assert_eq!(text(cache.get(&key(1), 20)).as_deref(), Some("b"));
    }

    #[test]
    fn the_cache_stays_below_its_bytes_and_keeps_what_is_asked_for() {
        let cache = PageCache::new(20_000);
        for ordinal in 0..1000 {
            cache.put(key(ordinal), position(1), 1, piece(&"x".repeat(1000)));
            cache.get(&key(0), 1);
            assert!(cache.bytes() <= 20_000);
        }
        assert!(cache.get(&key(0), 1).is_some());
        assert!(cache.get(&key(1), 1).is_none());
    }
}
