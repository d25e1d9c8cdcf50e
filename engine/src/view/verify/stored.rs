//! What main holds of a session, against what the code that writes it makes of a fresh fold.
//!
//! **Invariant:** every row and index entry that a checkpoint of the fresh fold would write is compared byte for byte, and what stands
//! beside them is named. What the log does not say is checked to be possible: which process wrote last, and how far another had come.
//! **Absent:** rows in versions before the newest, and texts that no entry counts any more.

use std::collections::{BTreeSet, VecDeque};

use rkyv::util::AlignedVec;
use turnstore_storage::{Direction, Position, Reader, RowKey, Stream};

use super::{Difference, difference, first_entry, shortened};
use crate::checkpointer::{Sink, write_session};
use crate::error::Error;
use crate::index::{self, MARKS_ROW, Marks, PLACED_ROW, Placed};
use crate::limits::Limits;
use crate::state::{HeaderArchive, IdRow, PageArchive, RowKind, RowRef, Sequence};
use crate::writer::desk::Desk;

/// Kinds of row that a session has one set of. Texts are looked up one by one: one that was replaced stays behind.
const LISTED: [RowKind; 6] = [RowKind::Header, RowKind::Timeline, RowKind::Shelf, RowKind::Diagnostics, RowKind::Ids, RowKind::ShelfIds];

/// The checkpoints that the index lists of a session, each with the seq it states; compared while the session is folded.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    left: VecDeque<(Position, u64)>,
    wrong: Option<(Position, u64, u64)>,
}

impl Checkpoints {
    pub(super) fn of(reader: &Reader, stream: Stream) -> Result<Self, Error> {
        let bounds = index::checkpoint_bounds(stream, None);
        let mut left = VecDeque::new();
        for entry in reader.index(index::borrowed(&bounds), Direction::Forward)? {
            // One that does not read has no seq that a session can have.
            let entry = entry?;
            let read = index::checkpoint_of(&entry);
            left.extend(read.or_else(|| index::checkpoint_position(&entry.0).map(|position| (position, u64::MAX))));
        }
        Ok(Self { left, wrong: None })
    }

    /// The session was folded to seq `seq`, and nothing of it comes before `next`.
    pub(super) fn pass(&mut self, next: Position, seq: u64) {
        while self.left.front().is_some_and(|(position, _)| *position < next) {
            if let Some((position, stated)) = self.left.pop_front().filter(|(_, stated)| *stated != seq) {
                self.wrong.get_or_insert((position, stated, seq));
            }
        }
    }
}

/// Compares what main holds of a session with its fold up to main's checkpoint.
pub(super) fn compare(
    reader: &Reader,
    desk: &mut Desk,
    checkpoints: &mut Checkpoints,
    limits: &Limits,
) -> Result<Option<Difference>, Error> {
    let (Some(last), Some(checkpoint)) = (desk.last_position, reader.checkpoint()) else { return Ok(None) };
    let seq = desk.session.state.header().last_seq;
    let header = RowKey { stream: desk.stream, epoch: 0, kind: RowKind::Header as u8, ordinal: 0 };
    let version = match reader.row(&header, Some(checkpoint)) {
        Ok(row) => row.map_or(checkpoint, |row| row.version),
        // It is named below, like any other row.
        Err(turnstore_storage::Error::Corrupt(_)) => checkpoint,
        Err(error) => return Err(error.into()),
    };
    let placed = match reader.row(&index::placed_row(desk.stream), Some(checkpoint)) {
        Ok(row) => row.and_then(|row| Placed::from_bytes(&row.bytes).ok()).unwrap_or_default(),
        Err(turnstore_storage::Error::Corrupt(_)) => Placed::default(),
        Err(error) => return Err(error.into()),
    };
    let mut frozen = desk.freeze(last, false);
    frozen.placed.checkpoints.clone_from(&placed.checkpoints);
    frozen.placed.checkpoints.pop();
    let possible = placed.open_epoch <= reader.open_epoch().get() && placed.opened_seq <= seq;
    frozen.opened_seq = if possible { placed.opened_seq } else { seq };
    let epoch = if possible { placed.open_epoch } else { reader.open_epoch().get() };
    let mut saved = Saved { reader, checkpoint, name: &desk.name, rows: BTreeSet::new(), index: BTreeSet::new(), difference: None };
    write_session(&mut saved, &frozen, version, limits, epoch)?;
    saved.rows_beside(desk.stream, frozen.state.header().epoch)?;
    saved.pending_beside(desk.stream)?;
    saved.checkpoints(desk.stream, checkpoints, &placed, checkpoint.next(), seq)?;
    Ok(saved.difference)
}

/// Takes in what a checkpoint would write, and compares it with what is there.
struct Saved<'r> {
    reader: &'r Reader,
    checkpoint: Position,
    name: &'r str,
    rows: BTreeSet<RowKey>,
    index: BTreeSet<Vec<u8>>,
    difference: Option<Difference>,
}

impl Sink for Saved<'_> {
    fn put_row(&mut self, key: &RowKey, _version: Position, folded: &[u8]) -> Result<(), Error> {
        self.rows.insert(*key);
        if self.difference.is_some() {
            return Ok(());
        }
        let name = self.name;
        self.difference = match self.reader.row(key, Some(self.checkpoint)) {
            Ok(Some(row)) if row.bytes.as_slice() == folded => None,
            Ok(Some(row)) => Some(differing(name, key, &row.bytes, folded)),
            Ok(None) => Some(difference(name, place(key), "nothing".to_owned(), shown(key, folded))),
            Err(turnstore_storage::Error::Corrupt(damage)) => Some(difference(name, place(key), damage.to_string(), shown(key, folded))),
            Err(error) => return Err(error.into()),
        };
        Ok(())
    }

    fn delete_row(&mut self, _key: &RowKey, _version: Position) -> Result<(), Error> {
        Ok(())
    }

    fn row(&mut self, _key: &RowKey) -> Result<Option<AlignedVec>, Error> {
        Ok(None)
    }

    fn put_index(&mut self, key: &[u8], folded: &[u8]) -> Result<(), Error> {
        self.index.insert(key.to_vec());
        if self.difference.is_none() {
            let saved = self.reader.index_get(key)?;
            if saved.as_deref() != Some(folded) {
                let saved = saved.map_or_else(|| "nothing".to_owned(), |saved| index::shown(key, &saved));
                self.difference = Some(difference(self.name, index::place(key), shortened(&saved), shortened(&index::shown(key, folded))));
            }
        }
        Ok(())
    }

    fn delete_index(&mut self, _key: &[u8]) {}
}

impl Saved<'_> {
    /// Rows that the fold has not.
    fn rows_beside(&mut self, stream: Stream, epoch: u32) -> Result<(), Error> {
        let listed = LISTED.map(|kind| (kind as u8, if matches!(kind, RowKind::Timeline | RowKind::Ids) { epoch } else { 0 }));
        for (kind, epoch) in listed.into_iter().chain([(MARKS_ROW, 0), (PLACED_ROW, 0)]) {
            if self.difference.is_some() {
                return Ok(());
            }
            let rows = self.reader.rows(stream, epoch, kind, i64::MIN..=i64::MAX, Some(self.checkpoint), Direction::Forward)?;
            for row in rows {
                let (key, saved) = match row {
                    Ok((ordinal, row)) => (RowKey { stream, epoch, kind, ordinal }, shown_of(kind, ordinal, &row.bytes)),
                    // A row that the fold has was read before; so this one is beside them.
                    Err(turnstore_storage::Error::Corrupt(damage)) => (RowKey { stream, epoch, kind, ordinal: 0 }, damage.to_string()),
                    Err(error) => return Err(error.into()),
                };
                if !self.rows.contains(&key) {
                    self.difference = Some(difference(self.name, place(&key), saved, "nothing".to_owned()));
                    break;
                }
            }
        }
        Ok(())
    }

    fn pending_beside(&mut self, stream: Stream) -> Result<(), Error> {
        let bounds = index::pending_bounds_of(stream);
        for entry in self.reader.index(index::borrowed(&bounds), Direction::Forward)? {
            let (key, value) = entry?;
            if self.difference.is_none() && !self.index.contains(&key) {
                let saved = shortened(&index::shown(&key, &value));
                self.difference = Some(difference(self.name, index::place(&key), saved, "nothing".to_owned()));
            }
        }
        Ok(())
    }

    /// Checkpoints that the index lists are places of the fold, and those that are retained are listed.
    fn checkpoints(&mut self, stream: Stream, listed: &mut Checkpoints, placed: &Placed, after: Position, seq: u64) -> Result<(), Error> {
        listed.pass(after, seq);
        let beyond = listed.left.front().map(|(position, stated)| (*position, *stated, seq));
        if let Some((position, stated, folded)) = listed.wrong.or(beyond).filter(|_| self.difference.is_none()) {
            let place = index::place(&index::checkpoint_key(stream, position));
            self.difference = Some(difference(self.name, place, format!("seq {stated}"), format!("seq {folded}")));
        }
        for (position, seq) in &placed.checkpoints {
            let key = Position::new(*position).map(|position| index::checkpoint_key(stream, position)).unwrap_or_default();
            if self.difference.is_none() && self.reader.index_get(&key)?.as_deref() != Some(&index::checkpoint_value(*seq)) {
                let place = format!("checkpoint {position}");
                self.difference = Some(difference(self.name, place, "nothing".to_owned(), format!("seq {seq}")));
            }
        }
        Ok(())
    }
}

fn kind_of(kind: u8) -> Option<RowKind> {
    let texts = [RowKind::Text, RowKind::ShelfText];
    LISTED.into_iter().chain(texts).find(|known| *known as u8 == kind)
}

/// A row's kind and place, in words.
fn place(key: &RowKey) -> String {
    let what = match kind_of(key.kind) {
        Some(RowKind::Header) => return "header".to_owned(),
        Some(RowKind::Timeline) => "timeline page",
        Some(RowKind::Shelf) => "shelf page",
        Some(RowKind::Diagnostics) => "diagnostics page",
        Some(RowKind::Ids) => "ids",
        Some(RowKind::ShelfIds) => "shelf ids",
        Some(RowKind::Text) => "text piece",
        Some(RowKind::ShelfText) => "shelf text piece",
        None if key.kind == MARKS_ROW => "source marks",
        None if key.kind == PLACED_ROW => "placed",
        None => return format!("row {} of kind {}", key.ordinal, key.kind),
    };
    format!("{what} {}", key.ordinal)
}

fn row_ref(kind: RowKind, ordinal: i64) -> RowRef {
    RowRef { kind, epoch: 0, ordinal }
}

fn shown(key: &RowKey, bytes: &[u8]) -> String {
    shown_of(key.kind, key.ordinal, bytes)
}

/// What a row says, shortened.
fn shown_of(kind: u8, ordinal: i64, bytes: &[u8]) -> String {
    let text = match kind_of(kind) {
        Some(RowKind::Header) => header(bytes),
        Some(kind @ (RowKind::Timeline | RowKind::Shelf | RowKind::Diagnostics)) => {
            page(kind, ordinal, bytes).map(|entries| format!("{} entries", entries.len()))
        }
        Some(kind @ (RowKind::Ids | RowKind::ShelfIds)) => {
            let ids = IdRow::from_bytes(row_ref(kind, ordinal), bytes).ok();
            ids.map(|ids| format!("entries {:?}", ids.ids.iter().map(|(_, ordinal)| ordinal).collect::<Vec<_>>()))
        }
        Some(RowKind::Text | RowKind::ShelfText) => std::str::from_utf8(bytes).ok().map(str::to_owned),
        None if kind == PLACED_ROW => Placed::from_bytes(bytes).ok().map(|placed| format!("{placed:?}")),
        None => Marks::from_bytes(bytes).ok().map(|marks| format!("{:?}", marks.marks)),
    };
    shortened(&text.unwrap_or_else(|| format!("{} bytes that do not read", bytes.len())))
}

fn header(bytes: &[u8]) -> Option<String> {
    let archive = HeaderArchive::new(RowRef::HEADER, aligned(bytes)).ok()?;
    let header = rkyv::deserialize::<crate::state::Header, rkyv::rancor::Error>(archive.get()).ok()?;
    Some(format!("{header:?}"))
}

fn page(kind: RowKind, ordinal: i64, bytes: &[u8]) -> Option<Vec<Option<crate::state::Entry>>> {
    PageArchive::new(row_ref(kind, ordinal), aligned(bytes)).ok()?.entries().ok()
}

fn aligned(bytes: &[u8]) -> AlignedVec {
    let mut aligned = AlignedVec::with_capacity(bytes.len());
    aligned.extend_from_slice(bytes);
    aligned
}

/// Two rows that differ; of pages, the first entry that does.
fn differing(name: &str, key: &RowKey, saved: &[u8], folded: &[u8]) -> Difference {
    let sequence = match kind_of(key.kind) {
        Some(RowKind::Timeline) => Some((RowKind::Timeline, Sequence::Timeline)),
        Some(RowKind::Shelf) => Some((RowKind::Shelf, Sequence::Shelf)),
        Some(RowKind::Diagnostics) => Some((RowKind::Diagnostics, Sequence::Diagnostics)),
        _ => None,
    };
    let both = sequence.and_then(|(kind, sequence)| Some((sequence, page(kind, key.ordinal, saved)?, page(kind, key.ordinal, folded)?)));
    match both {
        Some((sequence, saved, folded)) => first_entry(name, sequence, key.ordinal, &saved, &folded),
        None => difference(name, place(key), shown(key, saved), shown(key, folded)),
    }
}
