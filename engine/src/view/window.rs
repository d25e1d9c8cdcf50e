//! How much of a timeline is read at once, and the walk that reads it.
//!
//! **Invariant:** a walk takes consecutive ordinals, so that the next one goes on exactly where it stopped. Its cost depends on what it
//! takes, never on what the session holds.

use super::found::{Found, Trouble};
use super::leaves::{Leaves, weight};
use super::page::{Page, Place};
use super::{Look, View};
use crate::cursor::{Cursor, CursorError, Way};
use crate::error::Error;
use crate::limits::Limits;
use crate::state::{
    ArchivedBody, ArchivedEntry, ArchivedPartRole, IdRow, PAGE_ENTRIES, PartRole, RowKind, Sequence, Space, row_of_digest, row_of_id,
};

/// How much is asked for: items and bytes, whichever is reached first.
///
/// An entry that is no turn is an item; a turn without items counts as one. A turn too long for the window is cut, and the cursor goes on
/// inside it. An item that alone is above the bytes comes cut, and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    items: usize,
    bytes: Option<u64>,
}

impl Window {
    /// At most this many items, at least 1; as many bytes as `window_bytes_max` allows.
    pub fn items(items: usize) -> Self {
        Self { items, bytes: None }
    }

    /// At most about this many bytes of text.
    #[must_use]
    pub fn bytes(self, bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    pub(crate) fn check(&self, limits: &Limits) -> Result<Budget, Error> {
        let bytes_max = limits.window_bytes_max as u64;
        if self.items > limits.window_items_max {
            return Err(Error::Window { asked: self.items, limit: "window_items_max", asked_max: limits.window_items_max });
        }
        if let Some(bytes) = self.bytes.filter(|bytes| *bytes > bytes_max) {
            let asked = usize::try_from(bytes).unwrap_or(usize::MAX);
            return Err(Error::Window { asked, limit: "window_bytes_max", asked_max: limits.window_bytes_max });
        }
        Ok(Budget { items: self.items.max(1), bytes: self.bytes.unwrap_or(bytes_max) })
    }
}

impl Default for Window {
    /// 50 items.
    fn default() -> Self {
        Self::items(50)
    }
}

/// What is left of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) items: usize,
    pub(crate) bytes: u64,
}

impl Budget {
    /// Takes an entry in, unless it does not fit any more; the first one always does.
    fn take(&mut self, entry: &ArchivedEntry, counts: usize, first: bool) -> bool {
        let weight = weight(entry);
        if !first && (self.items < counts || self.bytes < weight) {
            return false;
        }
        self.items = self.items.saturating_sub(counts);
        self.bytes = self.bytes.saturating_sub(weight);
        true
    }
}

/// Takes entries below `high`, newest first; returns the lowest ordinal taken.
fn walk_older(found: &Found<'_>, leaves: &mut Leaves, high: i64, left: &mut Budget) -> Result<i64, Trouble> {
    let mut low = high;
    let mut turn_of_last = None;
    while low > found.outline.first {
        let entry = leaves.need(found, low - 1)?;
        let is_turn = matches!(entry.body, ArchivedBody::Turn(_));
        // The turn of the items just taken comes with them.
        let counts = usize::from(!(is_turn && turn_of_last == Some(low - 1)));
        if !left.take(entry, counts, low == high) {
            break;
        }
        turn_of_last = if is_turn { None } else { entry.turn.as_ref().map(|turn| turn.to_native()) };
        low -= 1;
    }
    Ok(low)
}

/// Takes entries from `low` on, oldest first; returns the ordinal after the last one taken.
fn walk_newer(found: &Found<'_>, leaves: &mut Leaves, low: i64, left: &mut Budget) -> Result<i64, Trouble> {
    let mut high = low;
    let mut after_turn = false;
    while high < found.outline.next {
        let entry = leaves.need(found, high)?;
        let is_turn = matches!(entry.body, ArchivedBody::Turn(_));
        // A turn counts when another one follows it; else its items do.
        let counts = if is_turn { usize::from(after_turn) } else { 1 };
        if !left.take(entry, counts, high == low) {
            break;
        }
        after_turn = is_turn;
        high += 1;
    }
    Ok(high)
}

/// A part of the timeline, with every text and turn that belongs to it.
pub(super) fn read(found: &Found<'_>, way: Way, from: i64, budget: Budget, since: Option<u64>) -> Result<Page, Trouble> {
    let mut leaves = Leaves::new(found);
    let mut left = budget;
    let (low, high) = match way {
        Way::Older => (walk_older(found, &mut leaves, from, &mut left)?, from),
        Way::Newer => (from, walk_newer(found, &mut leaves, from, &mut left)?),
    };
    // Only a first entry that is larger than the whole window leaves nothing.
    let cut = left.bytes == 0;
    let mut bytes = if cut { budget.bytes } else { u64::MAX };
    for ordinal in low..high {
        let turn = leaves.entry(ordinal).and_then(|entry| entry.turn.as_ref().map(|turn| turn.to_native()));
        if let Some(turn) = turn.filter(|turn| !(low..high).contains(turn)) {
            leaves.need(found, turn)?;
        }
        leaves.load_text(found, ordinal, bytes)?;
        if cut {
            bytes = bytes.saturating_sub(leaves.entry(ordinal).map_or(0, weight));
        }
    }
    if high < found.outline.next {
        leaves.need(found, high)?;
    }
    leaves.observe(found)?;
    let place = Place { low, high, first: found.outline.first, next: found.outline.next, since, way };
    Ok(Page::new(found, leaves, place))
}

impl View {
    /// The newest part of a session's timeline.
    ///
    /// Cost: proportional to the window. Errors: [`Error::NoSession`], [`Error::Window`].
    pub fn window(&self, session: &str, window: Window) -> Result<Page, Error> {
        let budget = window.check(&self.shared.limits)?;
        self.read(session, |found| read(found, Way::Older, found.outline.next, budget, None))
    }

    /// The oldest part of a session's timeline.
    pub fn oldest(&self, session: &str, window: Window) -> Result<Page, Error> {
        let budget = window.check(&self.shared.limits)?;
        self.read(session, |found| read(found, Way::Newer, found.outline.first, budget, None))
    }

    /// The page that a cursor of this session points at, as large as `window` allows. Cost: as [`View::window`], at any depth.
    ///
    /// Errors: [`Error::Cursor`]: start again from a window.
    pub fn page(&self, session: &str, cursor: &Cursor, window: Window) -> Result<Page, Error> {
        let budget = window.check(&self.shared.limits)?;
        cursor.check(self.shared.id, session)?;
        self.read(session, |found| {
            let from = place_of(found, cursor)?;
            read(found, cursor.way, from, budget, Some(cursor.seq))
        })
    }

    /// The page before the one that gave `cursor`, with 50 items.
    pub fn older(&self, session: &str, cursor: &Cursor) -> Result<Page, Error> {
        self.page(session, cursor, Window::default())
    }
}

/// The ordinal at which a cursor goes on.
fn place_of(found: &Found<'_>, cursor: &Cursor) -> Result<i64, Trouble> {
    let outline = &found.outline;
    let shared = &found.look.view.shared;
    let opened_at = shared.opened_at.map_or(0, |position| position.get());
    let lost = cursor.open_epoch < shared.open_epoch && cursor.position > opened_at;
    if lost || cursor.seq > outline.last_seq || cursor.position > found.look.position()?.map_or(0, |position| position.get()) {
        return Err(expired(found)?);
    }
    if cursor.epoch == outline.epoch {
        return Ok(cursor.ordinal.clamp(outline.first, outline.next));
    }
    let anchor = find_digest(found, &cursor.anchor)?;
    match (anchor, cursor.way) {
        (Some(ordinal), Way::Older) => Ok(ordinal),
        (Some(ordinal), Way::Newer) => Ok(ordinal + 1),
        (None, _) => Err(expired(found)?),
    }
}

fn expired(found: &Found<'_>) -> Result<Trouble, Trouble> {
    let oldest = found.look.position()?.unwrap_or(turnstore_storage::Position::FIRST);
    Ok(Error::Cursor(CursorError::Expired { oldest }).into())
}

/// Space and id under which an entry is found after its timeline was laid anew.
fn name_of(entry: &ArchivedEntry) -> Option<(Space, &str)> {
    match &entry.body {
        ArchivedBody::Turn(turn) => Some((Space::Turn, &turn.id)),
        ArchivedBody::Part(part) => Some((Space::of(part_role(&part.kind)), &part.id)),
        ArchivedBody::Tool(tool) => Some((Space::Tool, &tool.id)),
        ArchivedBody::Interaction(asked) => Some((Space::Interaction, &asked.id)),
        _ => None,
    }
}

fn part_role(kind: &ArchivedPartRole) -> PartRole {
    match kind {
        ArchivedPartRole::Text => PartRole::Text,
        ArchivedPartRole::Reasoning => PartRole::Reasoning,
        ArchivedPartRole::Activity => PartRole::Activity,
    }
}

/// The digest that identifies an entry, zero when it has no id.
pub(crate) fn digest_of(entry: &ArchivedEntry) -> [u8; 16] {
    name_of(entry).map_or([0; 16], |(space, id)| row_of_id(space, id, 0).0)
}

/// The entry with this digest, in the present timeline. Cost: one row, and what is in memory of the session.
fn find_digest(found: &Found<'_>, digest: &[u8; 16]) -> Result<Option<i64>, Trouble> {
    if *digest == [0; 16] {
        return Ok(None);
    }
    let matches = |entry: &ArchivedEntry| digest_of(entry) == *digest;
    if let Some(state) = found.state() {
        for page in state.pages_in_memory(Sequence::Timeline) {
            let Some(archive) = state.page_archive(Sequence::Timeline, page) else { continue };
            let place = archive.get().entries.iter().position(|entry| entry.as_ref().is_some_and(matches));
            if let Some(place) = place.and_then(|place| i64::try_from(place).ok()) {
                return Ok(Some(page * PAGE_ENTRIES + place));
            }
        }
    }
    let row = row_of_digest(digest, found.outline.epoch);
    debug_assert!(row.kind == RowKind::Ids);
    let Some(bytes) = found.optional(row)? else { return Ok(None) };
    let ids = IdRow::from_bytes(row, &bytes)?;
    Ok(ids.ids.iter().find(|(known, _)| known == digest).map(|(_, ordinal)| *ordinal))
}

/// Finds an entry of the timeline by its id.
pub(crate) fn find_id(found: &Found<'_>, space: Space, id: &str) -> Result<Option<i64>, Trouble> {
    find_digest(found, &row_of_id(space, id, 0).0)
}

impl View {
    /// A look at the files for one call.
    pub(crate) fn look(&self) -> Look<'_> {
        Look::new(self)
    }
}
