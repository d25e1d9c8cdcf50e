//! What is in memory of a session, and how rows come in and go out.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rkyv::util::AlignedVec;
use serde_json::Value;

use super::archive::PageArchive;
use super::entry::{Entry, PAGE_ENTRIES, Page, Sequence};
use super::header::Header;
use super::lookup::{Lookup, Space};
use super::rows::{BadRow, IdRow, RowKind, RowRef, read_header, read_page, write_header};
use crate::limits::MESSAGE_ENTRIES_MAX;

/// A page in memory, with the seq of its last change and its archive once somebody asked for it.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) page: Arc<Page>,
    pub(crate) changed: u64,
    archive: OnceLock<PageArchive>,
}

/// A sealed piece of text in memory.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) text: Arc<str>,
    pub(crate) changed: u64,
}

/// The value of a document or a surface in memory.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// `None` of what is no document.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) value: Arc<Value>,
    /// Its measure.
    pub(crate) bytes: usize,
    pub(crate) changed: u64,
}

/// The readable state of a session: its header, and every page, piece and document that is in memory. What is not in memory is in
/// rows, unchanged. Cloning shares pages; a clone costs what is in memory, not what the session holds.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub(crate) header: Header,
    pub(crate) pages: BTreeMap<(Sequence, i64), Slot>,
    pub(crate) pieces: BTreeMap<(RowKind, i64), Piece>,
    pub(crate) documents: BTreeMap<i64, Held>,
    /// Seq up to which everything is in rows.
    pub(crate) saved: u64,
    /// The last page of every sequence is in memory.
    pub(crate) tails: bool,
}

/// A session that is being folded.
#[derive(Clone, Debug)]
pub struct Session {
    /// What readers see.
    pub state: Arc<State>,
    /// What only the reducer needs.
    pub lookup: Lookup,
}

impl Session {
    /// A session without events.
    pub fn empty() -> Self {
        Self { state: Arc::new(State { tails: true, ..State::default() }), lookup: Lookup::empty() }
    }

    /// A session as its header row tells; everything else is read when an event needs it.
    pub fn of_row(bytes: &[u8]) -> Result<Self, BadRow> {
        let row = RowRef { kind: RowKind::Header, epoch: 0, ordinal: 0 };
        let header = read_header(row, bytes)?;
        let saved = header.last_seq;
        Ok(Self { state: Arc::new(State { header, saved, ..State::default() }), lookup: Lookup::of_rows() })
    }
}

impl State {
    /// The session's head.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Seq up to which everything is in rows.
    pub fn saved(&self) -> u64 {
        self.saved
    }

    /// The row of a page.
    pub fn page_row(&self, sequence: Sequence, page: i64) -> RowRef {
        let epoch = if sequence == Sequence::Timeline { self.header.epoch } else { 0 };
        RowRef { kind: RowKind::of(sequence), epoch, ordinal: page }
    }

    /// A page that is in memory, archived; `None` when it is in rows only. Cost: one archiving after each change of the page.
    pub fn page_archive(&self, sequence: Sequence, page: i64) -> Option<PageArchive> {
        let slot = self.pages.get(&(sequence, page))?;
        if let Some(archive) = slot.archive.get() {
            return Some(archive.clone());
        }
        let archive = PageArchive::of(self.page_row(sequence, page), &slot.page).ok()?;
        Some(slot.archive.get_or_init(|| archive).clone())
    }

    /// Pages of a sequence that are in memory, in order.
    pub(crate) fn pages_in_memory(&self, sequence: Sequence) -> impl Iterator<Item = i64> {
        self.pages.range((sequence, i64::MIN)..=(sequence, i64::MAX)).map(|((_, page), _)| *page)
    }

    /// Pieces of text that are in memory.
    pub(crate) fn pieces_in_memory(&self) -> impl Iterator<Item = (RowKind, i64)> {
        self.pieces.keys().copied()
    }

    /// A sealed piece that is in memory.
    pub fn piece(&self, kind: RowKind, ordinal: i64) -> Option<&str> {
        self.pieces.get(&(kind, ordinal)).map(|piece| &*piece.text)
    }

    /// The same, shared rather than borrowed.
    pub(crate) fn shared_piece(&self, kind: RowKind, ordinal: i64) -> Option<Arc<str>> {
        self.pieces.get(&(kind, ordinal)).map(|piece| piece.text.clone())
    }

    /// A document that is in memory, by name.
    pub fn document(&self, name: &str) -> Option<&Arc<Value>> {
        self.documents.values().find(|held| held.name.as_deref() == Some(name)).map(|held| &held.value)
    }

    /// The value of a document or a surface that is in memory, by its place on the shelf.
    pub(crate) fn value_at(&self, ordinal: i64) -> Option<&Arc<Value>> {
        self.documents.get(&ordinal).map(|held| &held.value)
    }

    pub(crate) fn entry(&self, sequence: Sequence, ordinal: i64) -> Option<&Entry> {
        let slot = self.pages.get(&(sequence, ordinal.div_euclid(PAGE_ENTRIES)))?;
        slot.page.entries.get(usize::try_from(ordinal.rem_euclid(PAGE_ENTRIES)).ok()?)?.as_ref()
    }

    /// The entry for changing; marks its page as changed by `seq`, and the open turn when it is of it.
    pub(crate) fn entry_mut(&mut self, sequence: Sequence, ordinal: i64, seq: u64) -> Option<&mut Entry> {
        let slot = self.pages.get_mut(&(sequence, ordinal.div_euclid(PAGE_ENTRIES)))?;
        slot.changed = seq;
        slot.archive.take();
        let page = Arc::make_mut(&mut slot.page);
        let entry = page.entries.get_mut(usize::try_from(ordinal.rem_euclid(PAGE_ENTRIES)).ok()?)?.as_mut()?;
        if sequence == Sequence::Timeline {
            self.header.touch(ordinal, entry.turn, seq);
        }
        Some(entry)
    }

    /// Puts an entry at an ordinal; the page must be in memory or new.
    pub(crate) fn put_entry(&mut self, sequence: Sequence, ordinal: i64, entry: Entry, seq: u64) {
        let slot = self.pages.entry((sequence, ordinal.div_euclid(PAGE_ENTRIES))).or_insert_with(|| Slot {
            page: Arc::new(Page::default()),
            changed: seq,
            archive: OnceLock::new(),
        });
        slot.changed = seq;
        slot.archive.take();
        let page = Arc::make_mut(&mut slot.page);
        let place = usize::try_from(ordinal.rem_euclid(PAGE_ENTRIES)).unwrap_or(0);
        if page.entries.len() <= place {
            page.entries.resize(place + 1, None);
        }
        if let Some(free) = page.entries.get_mut(place) {
            *free = Some(entry);
        }
    }

    /// Ordinals among which the entries of a message are looked for, from its first on.
    pub(crate) fn of_message(&self, first: i64) -> std::ops::Range<i64> {
        first..first.saturating_add(MESSAGE_ENTRIES_MAX).min(self.header.next)
    }

    pub(crate) fn has_page(&self, sequence: Sequence, ordinal: i64) -> bool {
        self.pages.contains_key(&(sequence, ordinal.div_euclid(PAGE_ENTRIES)))
    }

    /// Ordinals of a sequence: the lowest used, and the next above.
    pub(crate) fn extent(&self, sequence: Sequence) -> (i64, i64) {
        match sequence {
            Sequence::Timeline => (self.header.first, self.header.next),
            Sequence::Shelf => (0, self.header.shelf_next),
            Sequence::Diagnostics => (0, self.header.diagnostics),
        }
    }

    /// Every row that changed since the last [`State::written`], but the ids'. Cost: proportional to what changed.
    pub fn changed_rows(&self) -> Result<Vec<(RowRef, AlignedVec)>, BadRow> {
        let mut rows = vec![(RowRef { kind: RowKind::Header, epoch: 0, ordinal: 0 }, write_header(&self.header))];
        for ((sequence, page), slot) in &self.pages {
            if slot.changed > self.saved {
                let archive =
                    self.page_archive(*sequence, *page).ok_or_else(|| BadRow::new(self.page_row(*sequence, *page), "does not archive"))?;
                let mut bytes = AlignedVec::with_capacity(archive.bytes().len());
                bytes.extend_from_slice(archive.bytes());
                rows.push((self.page_row(*sequence, *page), bytes));
                debug_assert!(!slot.page.entries.is_empty());
            }
        }
        for ((kind, ordinal), piece) in &self.pieces {
            if piece.changed > self.saved {
                let epoch = if *kind == RowKind::Text { self.header.epoch } else { 0 };
                let mut bytes = AlignedVec::with_capacity(piece.text.len());
                bytes.extend_from_slice(piece.text.as_bytes());
                rows.push((RowRef { kind: *kind, epoch, ordinal: *ordinal }, bytes));
            }
        }
        Ok(rows)
    }

    /// Says that everything up to `saved` is in rows, and drops what is not worth its memory: the last pages stay.
    pub fn written(&mut self, saved: u64) {
        self.saved = saved;
        let lasts = [Sequence::Timeline, Sequence::Shelf, Sequence::Diagnostics]
            .map(|sequence| (sequence, (self.extent(sequence).1 - 1).div_euclid(PAGE_ENTRIES)));
        self.pages.retain(|key, slot| slot.changed > saved || lasts.contains(key));
        self.pieces.retain(|_, piece| piece.changed > saved);
        self.documents.retain(|_, held| held.changed > saved);
    }
}

impl Session {
    /// Rows of ids that changed since the last call. Cost: proportional to them.
    pub fn take_changed_ids(&mut self) -> Vec<(RowRef, Vec<u8>)> {
        let rows = self.lookup.take_changed(self.state.header.epoch);
        rows.into_iter().map(|(row, ids)| (row, ids.to_bytes())).collect()
    }

    /// Says that everything up to `saved` is in rows. Names of pages that left memory are found through their rows again.
    pub fn written(&mut self, saved: u64) {
        Arc::make_mut(&mut self.state).written(saved);
        self.lookup.evict(saved);
    }

    /// Takes in a row that [`Session::missing`] named; `None` when the store has no such row.
    pub fn supply(&mut self, need: &Need, bytes: Option<&[u8]>) -> Result<(), BadRow> {
        let row = need.row;
        match row.kind {
            RowKind::Ids | RowKind::ShelfIds => {
                let ids = bytes.map(|bytes| IdRow::from_bytes(row, bytes)).transpose()?.unwrap_or_default();
                if let Some((space, id)) = &need.id {
                    self.lookup.supply(row, &ids, (*space, id));
                }
                Ok(())
            }
            RowKind::Text | RowKind::ShelfText => {
                let bytes = bytes.ok_or_else(|| BadRow::new(row, "missing"))?;
                let text = std::str::from_utf8(bytes).map_err(|e| BadRow::new(row, e))?;
                let piece = Piece { text: Arc::from(text), changed: 0 };
                Arc::make_mut(&mut self.state).pieces.insert((row.kind, row.ordinal), piece);
                Ok(())
            }
            RowKind::Header => Err(BadRow::new(row, "not asked for")),
            RowKind::Timeline | RowKind::Shelf | RowKind::Diagnostics => self.supply_page(row, bytes),
        }
    }

    fn supply_page(&mut self, row: RowRef, bytes: Option<&[u8]>) -> Result<(), BadRow> {
        let page = read_page(row, bytes.ok_or_else(|| BadRow::new(row, "missing"))?)?;
        let sequence = match row.kind {
            RowKind::Shelf => Sequence::Shelf,
            RowKind::Diagnostics => Sequence::Diagnostics,
            _ => Sequence::Timeline,
        };
        let slot = Slot { page: Arc::new(page), changed: 0, archive: OnceLock::new() };
        Arc::make_mut(&mut self.state).pages.entry((sequence, row.ordinal)).or_insert(slot);
        Ok(())
    }
}

/// A row that an event needs before it can be folded.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// The row.
    pub row: RowRef,
    /// The id that is looked for, when it is a row of ids.
    pub(crate) id: Option<(Space, String)>,
}
