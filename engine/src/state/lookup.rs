//! From names to places: which entry a message, call, turn or document id means.
//!
//! **Invariant:** ids are found by a 128-bit digest and never order anything; what is not in memory is asked from the rows, so memory
//! is bounded and an absence is known, not assumed.
//! **Absent:** anything that a reader of the state needs.

use std::collections::{BTreeMap, BTreeSet};

use super::chunked::short;
use super::entry::PartRole;
use super::rows::{IdRow, RowKind, RowRef};

/// A family of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Space {
    /// Turns, and runs that name a turn.
    Turn = 1,
    /// Text parts.
    Text = 2,
    /// Reasoning parts.
    Reasoning = 3,
    /// Activities.
    Activity = 4,
    /// Messages whose first entry is not a text part of the same id.
    Message = 5,
    /// Tool calls.
    Tool = 6,
    /// Interactions.
    Interaction = 7,
    /// Artifacts by path.
    Path = 16,
    /// Artifacts by id.
    Artifact = 17,
    /// Documents.
    Document = 18,
    /// What a session has one of: the queue, the workspace.
    Single = 19,
    /// Evidence.
    Evidence = 20,
    /// Surfaces.
    Surface = 21,
    /// Intents.
    Intent = 22,
    /// Steering inputs.
    Steer = 23,
    /// Writes.
    Write = 24,
}

impl Space {
    /// The space of a part kind.
    pub fn of(kind: PartRole) -> Self {
        match kind {
            PartRole::Text => Self::Text,
            PartRole::Reasoning => Self::Reasoning,
            PartRole::Activity => Self::Activity,
        }
    }

    fn on_shelf(self) -> bool {
        self >= Self::Path
    }
}

/// The queue's name in [`Space::Single`].
pub(crate) const QUEUE: &str = "queue";
/// The workspace's name in [`Space::Single`].
pub(crate) const WORKSPACE: &str = "workspace";

type Digest = [u8; 16];

/// What is known of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its entry's ordinal.
    At(i64),
    /// No entry has it.
    Absent,
    /// This row knows.
    Ask(RowRef),
}

#[derive(Clone, Copy, Debug)]
struct Known {
    ordinal: Option<i64>,
    changed: u64,
}

/// Ids in memory beyond this are dropped once their rows are written.
const IDS_IN_MEMORY_MAX: usize = 16_384;
/// Ids of which a part of the digest is remembered; a longer session asks its rows about every new id.
const IDS_MARKED_MAX: usize = 262_144;

/// The names of a session that are in memory.
#[derive(Clone, Debug)]
pub struct Lookup {
    ids: BTreeMap<(bool, Digest), Known>,
    fresh: BTreeSet<(bool, Digest)>,
    hot: [BTreeMap<String, i64>; 4],
    /// What was found last: deltas of one part follow each other.
    recent: Option<(Space, String, i64)>,
    /// Nothing was dropped since the session was empty: what is not here does not exist.
    whole: bool,
    /// Of a session that was empty when it came to memory: a part of every digest ever put, so that a new id is known to be new.
    put: Option<BTreeSet<u32>>,
}

impl Lookup {
    /// Of a session that is empty.
    pub fn empty() -> Self {
        Self {
            ids: BTreeMap::new(),
            fresh: BTreeSet::new(),
            hot: Default::default(),
            recent: None,
            whole: true,
            put: Some(BTreeSet::new()),
        }
    }

    /// Of a session whose names are in rows.
    pub fn of_rows() -> Self {
        Self { whole: false, put: None, ..Self::empty() }
    }

    fn hot_of(space: Space) -> Option<usize> {
        match space {
            Space::Text => Some(0),
            Space::Reasoning => Some(1),
            Space::Activity => Some(2),
            Space::Tool => Some(3),
            _ => None,
        }
    }

    /// Finds an id. Cost: one search by string for what is streaming, else one digest.
    pub fn find(&self, space: Space, id: &str, epoch: u32) -> Found {
        if let Some((_, _, ordinal)) = self.recent.as_ref().filter(|(of, known, _)| *of == space && known == id) {
            return Found::At(*ordinal);
        }
        if let Some(ordinal) = Self::hot_of(space).and_then(|hot| self.hot.get(hot)?.get(id)) {
            return Found::At(*ordinal);
        }
        let key = (space.on_shelf(), digest(space, id));
        match self.ids.get(&key) {
            Some(Known { ordinal: Some(ordinal), .. }) => Found::At(*ordinal),
            Some(Known { ordinal: None, .. }) => Found::Absent,
            None if self.whole || self.put.as_ref().is_some_and(|put| !put.contains(&mark(&key.1))) => Found::Absent,
            None => Found::Ask(row_of(key.0, &key.1, epoch)),
        }
    }

    /// Remembers where an id's entry is.
    pub fn put(&mut self, space: Space, id: &str, ordinal: i64, seq: u64) {
        let key = (space.on_shelf(), digest(space, id));
        self.ids.insert(key, Known { ordinal: Some(ordinal), changed: seq });
        self.fresh.insert(key);
        self.put = self.put.take().filter(|put| put.len() < IDS_MARKED_MAX);
        if let Some(put) = &mut self.put {
            put.insert(mark(&key.1));
        }
        self.heat(space, id, ordinal);
    }

    /// Makes an id that is streaming cheap to find.
    pub fn heat(&mut self, space: Space, id: &str, ordinal: i64) {
        self.recall(space, id, ordinal);
        if let Some(hot) = Self::hot_of(space).and_then(|hot| self.hot.get_mut(hot)) {
            if hot.len() >= 64 {
                hot.clear();
            }
            hot.insert(id.to_owned(), ordinal);
        }
    }

    /// Notes what was found, for the next search.
    pub fn recall(&mut self, space: Space, id: &str, ordinal: i64) {
        match &mut self.recent {
            Some((of, known, at)) if *of == space && known == id => *at = ordinal,
            recent => *recent = Some((space, id.to_owned(), ordinal)),
        }
    }

    /// Forgets every name of the timeline: its epoch ended and the new one's names follow.
    pub fn end_epoch(&mut self) {
        self.ids.retain(|(shelf, _), _| *shelf);
        self.fresh.retain(|(shelf, _)| *shelf);
        self.hot.iter_mut().for_each(BTreeMap::clear);
        self.recent = None;
    }

    /// Takes in the row that `Found::Ask` named.
    pub fn supply(&mut self, row: RowRef, ids: &IdRow, asked: (Space, &str)) {
        let shelf = row.kind == RowKind::ShelfIds;
        for (digest, ordinal) in &ids.ids {
            self.ids.entry((shelf, *digest)).or_insert(Known { ordinal: Some(*ordinal), changed: 0 });
        }
        self.ids.entry((shelf, digest(asked.0, asked.1))).or_insert(Known { ordinal: None, changed: 0 });
    }

    /// Rows of the ids that were put since the last call. Cost: proportional to them.
    pub fn take_changed(&mut self, epoch: u32) -> Vec<(RowRef, IdRow)> {
        let mut rows = BTreeMap::<RowRef, IdRow>::new();
        for (shelf, digest) in std::mem::take(&mut self.fresh) {
            let row = row_of(shelf, &digest, epoch);
            rows.entry(row).or_insert_with(|| IdRow { ids: self.neighbours(shelf, &digest) });
        }
        rows.into_iter().collect()
    }

    fn neighbours(&self, shelf: bool, digest: &Digest) -> Vec<(Digest, i64)> {
        let (mut low, mut high) = (*digest, *digest);
        low.iter_mut().skip(8).for_each(|byte| *byte = 0);
        high.iter_mut().skip(8).for_each(|byte| *byte = u8::MAX);
        self.ids.range((shelf, low)..=(shelf, high)).filter_map(|((_, digest), known)| Some((*digest, known.ordinal?))).collect()
    }

    /// Drops ids that the rows hold, when there are many. An id stays while a neighbour in its row is not written yet.
    pub fn evict(&mut self, saved: u64) {
        if self.ids.len() > IDS_IN_MEMORY_MAX {
            let row = |digest: &Digest| digest.first_chunk::<8>().copied().unwrap_or_default();
            let kept: BTreeSet<_> =
                self.ids.iter().filter(|(_, known)| known.changed > saved).map(|((shelf, digest), _)| (*shelf, row(digest))).collect();
            self.ids.retain(|(shelf, digest), _| kept.contains(&(*shelf, row(digest))));
            self.whole = false;
        }
    }
}

/// The digest under which an id is found, and its row.
pub(crate) fn row_of_id(space: Space, id: &str, epoch: u32) -> (Digest, RowRef) {
    let digest = digest(space, id);
    (digest, row_of(space.on_shelf(), &digest, epoch))
}

/// The row of a timeline id whose digest is known.
pub(crate) fn row_of_digest(digest: &Digest, epoch: u32) -> RowRef {
    row_of(false, digest, epoch)
}

fn digest(space: Space, id: &str) -> Digest {
    // One block at once costs a third of one that is fed in two steps; nearly every id fits.
    let mut block = [0; 64];
    let (head, tail) = block.split_at_mut(1);
    head.fill(space as u8);
    match tail.get_mut(..id.len()) {
        Some(place) => {
            place.copy_from_slice(id.as_bytes());
            short(&blake3::hash(block.get(..=id.len()).unwrap_or_default()))
        }
        None => {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&[space as u8]);
            hasher.update(id.as_bytes());
            short(&hasher.finalize())
        }
    }
}

fn mark(digest: &Digest) -> u32 {
    u32::from_le_bytes(digest.last_chunk::<4>().copied().unwrap_or_default())
}

fn row_of(shelf: bool, digest: &Digest, epoch: u32) -> RowRef {
    let ordinal = i64::from_be_bytes(digest.first_chunk::<8>().copied().unwrap_or_default());
    if shelf { RowRef { kind: RowKind::ShelfIds, epoch: 0, ordinal } } else { RowRef { kind: RowKind::Ids, epoch, ordinal } }
}
