//! One returned slice of a timeline.
//!
//! **Invariant:** a page is complete and frozen: it holds what it hands out, and no view, no transaction.

use turnstore_storage::{OpenEpoch, Position, Seq, StoreId};

use super::found::Found;
use super::item::Item;
use super::leaves::Leaves;
use super::turn::TurnRef;
use super::window::digest_of;
use crate::cursor::{Cursor, Way, session_digest, store_digest};
use crate::state::{ArchivedBody, ArchivedEntry};

/// Where a page stands in its timeline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Lowest ordinal of the page.
    pub(crate) low: i64,
    /// The ordinal after its highest.
    pub(crate) high: i64,
    pub(crate) first: i64,
    pub(crate) next: i64,
    /// Last seq of the session when paging began.
    pub(crate) since: Option<u64>,
    pub(crate) way: Way,
}

/// A slice of a session's timeline: turns with their items, in order, and the cursors to what is before and after.
#[derive(Clone, Debug)]
pub struct Page {
    leaves: Leaves,
    place: Place,
    store: StoreId,
    open_epoch: OpenEpoch,
    position: Option<Position>,
}

impl Page {
    pub(crate) fn new(found: &Found<'_>, leaves: Leaves, place: Place) -> Self {
        let view = found.look.view;
        Self { leaves, place, store: view.shared.id, open_epoch: view.shared.open_epoch, position: found.look.position().ok().flatten() }
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        &self.leaves.session
    }

    /// The session's last seq when this was read; `None` for a session without events.
    pub fn as_of_seq(&self) -> Option<Seq> {
        Seq::new(self.leaves.seq)
    }

    /// The position of the view that this was read with.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// Items in order.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = Item<'_>> {
        items(&self.leaves, self.place.low, self.place.high)
    }

    /// Turns in order, each with its items here. A turn whose items are not neighbours comes once for each run of them.
    pub fn turns(&self) -> impl Iterator<Item = PageTurn<'_>> {
        let mut from = self.place.low;
        std::iter::from_fn(move || {
            let first = self.leaves.entry(from).filter(|_| from < self.place.high)?;
            let turn = turn_at(first, from);
            let run = |ordinal: &i64| self.leaves.entry(*ordinal).is_some_and(|entry| turn_at(entry, *ordinal) == turn);
            let low = from;
            from = (low + 1..self.place.high).find(|ordinal| !run(ordinal)).unwrap_or(self.place.high);
            Some(PageTurn { page: self, turn, low, high: from })
        })
    }

    /// Whether there is something older.
    pub fn has_older(&self) -> bool {
        self.place.low > self.place.first
    }

    /// Whether there was something newer when this was read.
    pub fn has_newer(&self) -> bool {
        self.place.high < self.place.next
    }

    /// The cursor to what is older; `None` at the beginning. History that is imported before it later is found with a new window.
    pub fn cursor(&self) -> Option<Cursor> {
        self.has_older().then(|| self.make(Way::Older, self.place.low, self.place.low))
    }

    /// The cursor to what is newer, now or later: following it from the newest page gives what was appended since.
    pub fn newer_cursor(&self) -> Cursor {
        self.make(Way::Newer, self.place.high, self.place.high - 1)
    }

    fn make(&self, way: Way, ordinal: i64, anchor: i64) -> Cursor {
        let since = self.place.since.filter(|_| self.place.way == way && way == Way::Older);
        Cursor {
            store: store_digest(self.store),
            session: session_digest(&self.leaves.session),
            way,
            epoch: self.leaves.epoch,
            ordinal,
            anchor: self.leaves.entry(anchor).map_or([0; 16], digest_of),
            position: self.position.map_or(0, Position::get),
            seq: since.unwrap_or(self.leaves.seq),
            open_epoch: self.open_epoch,
        }
    }

    /// The turns here of which something here changed after the paging that led to this page began, in order. None for a first window.
    pub fn changed(&self) -> impl Iterator<Item = TurnRef<'_>> {
        self.changed_since(self.place.since.unwrap_or(u64::MAX))
    }

    /// The turns here of which something here changed after this seq of the session, in order.
    pub fn changed_after(&self, seq: Seq) -> impl Iterator<Item = TurnRef<'_>> {
        self.changed_since(seq.get())
    }

    fn changed_since(&self, seq: u64) -> impl Iterator<Item = TurnRef<'_>> {
        let mut changed: Vec<i64> = (self.place.low..self.place.high)
            .filter_map(|ordinal| {
                let entry = self.leaves.entry(ordinal)?;
                turn_at(entry, ordinal).filter(|_| entry.last_seq.to_native() > seq)
            })
            .collect();
        changed.sort_unstable();
        changed.dedup();
        changed.into_iter().filter_map(|turn| TurnRef::at(&self.leaves, turn))
    }

    /// Whether some text of an item here is cut.
    pub fn truncated(&self) -> bool {
        self.items().any(|item| item.truncated())
    }
}

fn turn_at(entry: &ArchivedEntry, ordinal: i64) -> Option<i64> {
    match &entry.body {
        ArchivedBody::Turn(_) => Some(ordinal),
        _ => entry.turn.as_ref().map(|turn| turn.to_native()),
    }
}

fn items(leaves: &Leaves, low: i64, high: i64) -> impl DoubleEndedIterator<Item = Item<'_>> {
    (low..high).filter_map(move |ordinal| {
        let entry = leaves.entry(ordinal)?;
        (!matches!(entry.body, ArchivedBody::Turn(_))).then_some(Item { leaves, ordinal, entry })
    })
}

/// A turn in a page, with those of its items that are in the page.
#[derive(Clone, Copy, Debug)]
pub struct PageTurn<'p> {
    page: &'p Page,
    turn: Option<i64>,
    low: i64,
    high: i64,
}

impl<'p> PageTurn<'p> {
    /// The turn; `None` for items outside any. It is known even when the page begins inside it.
    pub fn turn(&self) -> Option<TurnRef<'p>> {
        TurnRef::at(&self.page.leaves, self.turn?)
    }

    /// Its items here, in order.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = Item<'p>> + use<'p> {
        items(&self.page.leaves, self.low, self.high)
    }

    /// Whether the turn began before this page or goes on after it.
    pub fn truncated(&self) -> bool {
        let Some(turn) = self.turn else { return false };
        let before = turn < self.page.place.low;
        let next = self.page.leaves.entry(self.high).filter(|_| self.high == self.page.place.high && self.page.has_newer());
        before || next.is_some_and(|entry| turn_at(entry, self.high) == Some(turn))
    }
}
