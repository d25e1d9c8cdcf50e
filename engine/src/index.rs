//! Keys and values of the index, and of the rows that the shell itself owns: what the checkpointer writes and readers look up.
//!
//! **Invariant:** keys sort as their fields do; the index speaks of the last checkpoint alone, what is newer is in the head, and what a
//! session was before is in its rows.
//!
//! ```text
//! recency     = 1 | !last position 8                 -> Summary          newest first
//! pending     = 2 | stream 8 | ordinal, flipped 8    -> Waiting          one for each pending interaction
//! checkpoint  = 3 | stream 8 | position 8            -> last seq then    one for each retained checkpoint of a session
//! //! row 16      = source marks by 64 bits of their name's digest -> Marks  (epoch 0)
//! row 17      = what the index holds of a session, so that it can be replaced, and how a view of that time lists it -> Placed
//! ```
//! All numbers in keys are big endian.

use std::ops::Bound;

use bincode::{BorrowDecode, Encode};
use turnstore_storage::{Position, RowKey, Stream};

use crate::fact;
use crate::state::Header;

const RECENCY: u8 = 1;
const PENDING: u8 = 2;
const CHECKPOINT: u8 = 3;

/// Row kind of source marks; kinds below 16 belong to [`crate::state`].
pub(crate) const MARKS_ROW: u8 = 16;
/// Row kind of [`Placed`].
pub(crate) const PLACED_ROW: u8 = 17;

/// Bounds of a scan.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// An index value or engine row that does not decode. Treated as a cache miss: the index is disposable.
#[derive(Debug, thiserror::Error)]
#[error("an index value does not decode: {what}")]
pub(crate) struct BadIndex {
    pub(crate) what: String,
}

/// A session at the checkpoint, as the list of sessions shows it.
#[derive(Encode, BorrowDecode, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) stream: u64,
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) last_seq: u64,
    /// Milliseconds since 1970 of the last event.
    pub(crate) recorded_at: i64,
    pub(crate) turns: u64,
    pub(crate) items: u64,
    pub(crate) diagnostics: u64,
    pub(crate) pending: u64,
    pub(crate) queued: u64,
    pub(crate) running: bool,
    pub(crate) failed: bool,
    /// Seq of the last event that touched the open turn.
    pub(crate) touched: u64,
}

impl Summary {
    /// What a header says of its session.
    pub(crate) fn of(stream: Stream, name: &str, header: &Header, recorded_at: i64) -> Self {
        Self {
            stream: stream.get(),
            name: name.to_owned(),
            title: header.title.clone(),
            status: header.status.clone(),
            last_seq: header.last_seq,
            recorded_at,
            turns: header.turns,
            items: header.items,
            diagnostics: u64::try_from(header.diagnostics).unwrap_or(0),
            pending: header.pending.len() as u64,
            queued: header.queued,
            running: header.running,
            failed: header.failed,
            touched: header.touched,
        }
    }
}

/// A pending interaction at the checkpoint.
#[derive(Encode, BorrowDecode, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) id: String,
    pub(crate) kind: String,
    /// Seq at which it was asked first.
    pub(crate) seq: u64,
    /// When it expires, verbatim.
    pub(crate) expires_at: Option<String>,
}

/// What the index holds of a session. A row, so that it is known of past checkpoints too.
#[derive(Encode, BorrowDecode, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Position in its recency key: that of its last event.
    pub(crate) last_position: u64,
    /// Milliseconds since 1970 of that event.
    pub(crate) recorded_at: i64,
    /// The open epoch that wrote this.
    pub(crate) open_epoch: u64,
    /// The session's last seq when that epoch began: what is at or below it was last touched by an earlier process.
    pub(crate) opened_seq: u64,
    /// Ordinals of its pending keys, in the order of asking.
    pub(crate) pending: Vec<i64>,
    /// Retained checkpoints, the newest two, oldest first: positions and the last seq then.
    pub(crate) checkpoints: Vec<(u64, u64)>,
}

/// How far a source was read: a number, and which part of that event when it gave several facts.
#[derive(Encode, BorrowDecode, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) seq: u64,
    pub(crate) part: Option<u16>,
}

impl Mark {
    /// Whether a fact in that place was read. The facts of one source event share its number and come in the order of their parts; an
    /// event without parts is whole.
    pub(crate) fn covers(self, place: Self) -> bool {
        match (self.part, place.part) {
            (Some(read), Some(part)) => (place.seq, part) <= (self.seq, read),
            _ => place.seq <= self.seq,
        }
    }
}

/// Marks of the source streams whose names share 64 bits of their digest, by name.
#[derive(Encode, BorrowDecode, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) marks: Vec<(String, Mark)>,
}

impl Marks {
    /// The mark of a source; `None` when nothing was read from it.
    pub(crate) fn of(&self, source: &str) -> Option<Mark> {
        self.marks.iter().find(|(name, _)| name == source).map(|(_, mark)| *mark)
    }
}

macro_rules! values {
    ($($type:ident),*) => { $(
        impl $type {
            /// The stored bytes. Writing plain values into memory has no way to fail.
            pub(crate) fn to_bytes(&self) -> Vec<u8> {
                let mut out = Vec::new();
                let written = fact::encode(self, &mut out);
                debug_assert!(written.is_ok());
                out
            }

            /// The value of stored bytes.
            pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, BadIndex> {
                fact::decode(bytes).map_err(|error| BadIndex { what: error.to_string() })
            }
        }
    )* };
}

values! { Summary, Waiting, Placed, Marks }

fn key<const N: usize>(prefix: u8, fields: [u64; N]) -> Vec<u8> {
    let mut key = vec![prefix];
    key.extend(fields.iter().flat_map(|field| field.to_be_bytes()));
    key
}

fn fields<const N: usize>(prefix: u8, key: &[u8]) -> Option<[u64; N]> {
    let rest = key.strip_prefix(&[prefix])?;
    let (chunks, []) = rest.as_chunks::<8>() else { return None };
    let numbers: Vec<u64> = chunks.iter().map(|chunk| u64::from_be_bytes(*chunk)).collect();
    numbers.try_into().ok()
}

fn flipped(ordinal: i64) -> u64 {
    ordinal.cast_unsigned() ^ (1 << 63)
}

fn unflipped(number: u64) -> i64 {
    (number ^ (1 << 63)).cast_signed()
}

/// The recency key of a session whose last event is at `last`.
pub(crate) fn recency_key(last: Position) -> Vec<u8> {
    key(RECENCY, [!last.get()])
}

/// The last position in a recency key.
pub(crate) fn recency_position(recency: &[u8]) -> Option<Position> {
    let [inverse] = fields(RECENCY, recency)?;
    Position::new(!inverse)
}

/// Sessions by recency, newest first; those whose last event is below `below`.
pub(crate) fn recency_bounds(below: Option<Position>) -> Bounds {
    let low = below.map_or_else(|| Bound::Included(vec![RECENCY]), |below| Bound::Excluded(recency_key(below)));
    (low, Bound::Excluded(vec![RECENCY + 1]))
}

/// The key of a pending interaction.
pub(crate) fn pending_key(stream: Stream, ordinal: i64) -> Vec<u8> {
    key(PENDING, [stream.get(), flipped(ordinal)])
}

/// Session and ordinal in a pending key.
pub(crate) fn pending_place(pending: &[u8]) -> Option<(Stream, i64)> {
    let [stream, ordinal] = fields(PENDING, pending)?;
    Some((Stream::new(stream)?, unflipped(ordinal)))
}

/// Everything pending, by session; what comes after `after`.
pub(crate) fn pending_bounds(after: Option<(Stream, i64)>) -> Bounds {
    let low = after.map_or_else(|| Bound::Included(vec![PENDING]), |(stream, ordinal)| Bound::Excluded(pending_key(stream, ordinal)));
    (low, Bound::Excluded(vec![PENDING + 1]))
}

/// The key of a retained checkpoint of a session.
pub(crate) fn checkpoint_key(stream: Stream, checkpoint: Position) -> Vec<u8> {
    key(CHECKPOINT, [stream.get(), checkpoint.get()])
}

/// The value of a checkpoint key: the session's last seq then.
pub(crate) fn checkpoint_value(last_seq: u64) -> Vec<u8> {
    last_seq.to_be_bytes().to_vec()
}

/// Checkpoint and last seq of an entry of the checkpoint index.
pub(crate) fn checkpoint_of(entry: &(Vec<u8>, Vec<u8>)) -> Option<(Position, u64)> {
    let [_, checkpoint] = fields(CHECKPOINT, &entry.0)?;
    let seq = u64::from_be_bytes(*entry.1.first_chunk::<8>()?);
    Some((Position::new(checkpoint)?, seq))
}

/// A session's retained checkpoints at or below `at`; read backward for the newest.
pub(crate) fn checkpoint_bounds(stream: Stream, at: Option<Position>) -> Bounds {
    let high = at.map_or(u64::MAX, Position::get);
    (Bound::Included(key(CHECKPOINT, [stream.get(), 0])), Bound::Included(key(CHECKPOINT, [stream.get(), high])))
}

/// The row of a session's [`Placed`].
pub(crate) fn placed_row(stream: Stream) -> RowKey {
    RowKey { stream, epoch: 0, kind: PLACED_ROW, ordinal: 0 }
}

/// The row of a source stream's mark.
pub(crate) fn marks_row(stream: Stream, source: &str) -> RowKey {
    let digest = blake3::hash(source.as_bytes());
    let ordinal = i64::from_be_bytes(digest.as_bytes().first_chunk::<8>().copied().unwrap_or_default());
    RowKey { stream, epoch: 0, kind: MARKS_ROW, ordinal }
}

/// What waits in one session.
pub(crate) fn pending_bounds_of(stream: Stream) -> Bounds {
    (Bound::Included(pending_key(stream, i64::MIN)), Bound::Included(pending_key(stream, i64::MAX)))
}

/// The position in a checkpoint key.
pub(crate) fn checkpoint_position(checkpoint: &[u8]) -> Option<Position> {
    let [_, position] = fields(CHECKPOINT, checkpoint)?;
    Position::new(position)
}

/// Whose an index entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Belongs {
    /// That of this session.
    To(Stream),
    /// That of the session whose last event is here.
    At(Position),
}

/// Whose an index entry is; `None` for a key of no family.
pub(crate) fn belongs(key: &[u8]) -> Option<Belongs> {
    match *key.first()? {
        RECENCY => recency_position(key).map(Belongs::At),
        PENDING => pending_place(key).map(|(stream, _)| Belongs::To(stream)),
        CHECKPOINT => fields(CHECKPOINT, key).and_then(|[stream, _]| Stream::new(stream)).map(Belongs::To),
        _ => None,
    }
}

/// The family and place of an index key, in words.
pub(crate) fn place(key: &[u8]) -> String {
    let place = match key.first() {
        Some(&RECENCY) => recency_position(key).map(|last| format!("recency {last}")),
        Some(&PENDING) => pending_place(key).map(|(_, ordinal)| format!("pending {ordinal}")),
        Some(&CHECKPOINT) => checkpoint_position(key).map(|position| format!("checkpoint {position}")),
        _ => None,
    };
    place.unwrap_or_else(|| format!("index key {key:02x?}"))
}

/// What an index entry says, in words.
pub(crate) fn shown(key: &[u8], value: &[u8]) -> String {
    let shown = match key.first() {
        Some(&RECENCY) => Summary::from_bytes(value).ok().map(|summary| format!("{summary:?}")),
        Some(&PENDING) => Waiting::from_bytes(value).ok().map(|waiting| format!("{waiting:?}")),
        Some(&CHECKPOINT) => value.first_chunk::<8>().map(|seq| format!("seq {}", u64::from_be_bytes(*seq))),
        _ => None,
    };
    shown.unwrap_or_else(|| format!("{} bytes that do not read", value.len()))
}

/// Bounds as the storage takes them.
pub(crate) fn borrowed(bounds: &Bounds) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (bounds.0.as_ref().map(Vec::as_slice), bounds.1.as_ref().map(Vec::as_slice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(number: u64) -> Stream {
        Stream::new(number).unwrap()
    }

    fn position(number: u64) -> Position {
        Position::new(number).unwrap()
    }

    proptest! {
        #[test]
        fn recency_keys_sort_newest_first(one in 1_u64.., two in 1_u64..) {
            prop_assert_eq!(recency_key(position(one)).cmp(&recency_key(position(two))), two.cmp(&one));
            prop_assert_eq!(recency_position(&recency_key(position(one))), Position::new(one));
        }

        #[test]
        fn pending_keys_sort_by_session_then_ordinal(one in (1_u64.., any::<i64>()), two in (1_u64.., any::<i64>())) {
            let of = |(number, ordinal): (u64, i64)| pending_key(stream(number), ordinal);
            prop_assert_eq!(of(one).cmp(&of(two)), one.cmp(&two));
            prop_assert_eq!(pending_place(&of(one)), Some((stream(one.0), one.1)));
        }

        #[test]
        fn keys_of_one_family_are_not_read_as_another(number in 1_u64..) {
            prop_assert_eq!(pending_place(&recency_key(position(number))), None);
            prop_assert_eq!(recency_position(&checkpoint_key(stream(number), position(number))), None);
        }
    }

    #[test]
    fn values_round_trip_and_a_cut_one_is_an_error() {
        let summary = Summary { stream: 3, name: "s".into(), title: Some("t".into()), last_seq: 9, running: true, ..Summary::default() };
        let bytes = summary.to_bytes();
        assert_eq!(Summary::from_bytes(&bytes).unwrap(), summary);
        assert!(Summary::from_bytes(bytes.get(..bytes.len() - 1).unwrap()).is_err());
        let placed = Placed { last_position: 7, pending: vec![-3, 4], checkpoints: vec![(5, 2)], ..Placed::default() };
        assert_eq!(Placed::from_bytes(&placed.to_bytes()).unwrap(), placed);
        let entry = (checkpoint_key(stream(2), position(8)), checkpoint_value(5));
        assert_eq!(checkpoint_of(&entry), Some((position(8), 5)));
    }
}
