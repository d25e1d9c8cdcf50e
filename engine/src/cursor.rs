//! Cursors: opaque text that says where paging goes on.
//!
//! **Invariant:** a token that was changed in any bit, that is of another store or of another session is an error, never a first page.
//!
//! ```text
//! token    = base64url( kind 1 | version 1 | store 8 | fields | checksum 8 )        no padding bits: lengths divide by 3
//! timeline = session 8 | direction 1 | epoch 4 | ordinal 8 | anchor 16 | position 8 | seq 8 | open epoch 8 | spare 2
//! sessions = last position 8 | spare 1
//! pending  = stream 8 | ordinal 8 | spare 2
//! ```

use std::fmt;
use std::str::FromStr;

use turnstore_storage::{OpenEpoch, Position, StoreId, Stream};

const VERSION: u8 = 1;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A cursor that is of no use. Start again from a window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CursorError {
    /// Not a token, or a damaged one.
    #[error("the cursor is malformed: {what}")]
    Malformed {
        /// Why.
        what: &'static str,
    },
    /// Of another store, session or list.
    #[error("the cursor belongs to another {what}")]
    Foreign {
        /// `store`, `session` or `list`.
        what: &'static str,
    },
    /// The place it names no longer exists: its history was replaced, or the events it saw were lost before their sync.
    #[error("the cursor has expired; cursors made at position {oldest} or later read")]
    Expired {
        /// Cursors made from here on are good.
        oldest: Position,
    },
}

/// Which way a cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Towards the beginning: what is below the ordinal.
    Older,
    /// Towards the end: what is at or above the ordinal.
    Newer,
}

/// A place in a session's timeline and a direction. Its text form is opaque, and good for as long as the store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub(crate) store: [u8; 8],
    pub(crate) session: [u8; 8],
    pub(crate) way: Way,
    pub(crate) epoch: u32,
    pub(crate) ordinal: i64,
    /// Identifies the entry next to the place, on the side that was read: zero when it has no id.
    pub(crate) anchor: [u8; 16],
    /// Position of the view that made it, 0 for none.
    pub(crate) position: u64,
    /// Last seq of the session in that view.
    pub(crate) seq: u64,
    pub(crate) open_epoch: OpenEpoch,
}

/// A place in the list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionsCursor {
    pub(crate) store: [u8; 8],
    /// Sessions whose last event is below it come next.
    pub(crate) below: Position,
}

/// A place in the list of everything pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingCursor {
    pub(crate) store: [u8; 8],
    /// What comes after it is next.
    pub(crate) after: (Stream, i64),
}

/// What a token keeps of the store's identity.
pub(crate) fn store_digest(id: StoreId) -> [u8; 8] {
    id.to_bytes().first_chunk::<8>().copied().unwrap_or_default()
}

/// What a token keeps of a session's id.
pub(crate) fn session_digest(name: &str) -> [u8; 8] {
    blake3::hash(name.as_bytes()).as_bytes().first_chunk::<8>().copied().unwrap_or_default()
}

impl Cursor {
    /// Checks that it is of this store and session.
    pub(crate) fn check(&self, store: StoreId, session: &str) -> Result<(), CursorError> {
        check_store(self.store, store)?;
        if self.session == session_digest(session) { Ok(()) } else { Err(CursorError::Foreign { what: "session" }) }
    }
}

impl SessionsCursor {
    pub(crate) fn check(&self, store: StoreId) -> Result<(), CursorError> {
        check_store(self.store, store)
    }
}

impl PendingCursor {
    pub(crate) fn check(&self, store: StoreId) -> Result<(), CursorError> {
        check_store(self.store, store)
    }
}

fn check_store(found: [u8; 8], store: StoreId) -> Result<(), CursorError> {
    if found == store_digest(store) { Ok(()) } else { Err(CursorError::Foreign { what: "store" }) }
}

const TIMELINE: u8 = 1;
const SESSIONS: u8 = 2;
const PENDING: u8 = 3;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = [u8::from(self.way == Way::Newer)];
        let fields: [&[u8]; 9] = [
            &self.session,
            &way,
            &self.epoch.to_be_bytes(),
            &self.ordinal.to_be_bytes(),
            &self.anchor,
            &self.position.to_be_bytes(),
            &self.seq.to_be_bytes(),
            &self.open_epoch.get().to_be_bytes(),
            &[0, 0],
        ];
        seal(f, TIMELINE, self.store, &fields)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(token: &str) -> Result<Self, CursorError> {
        let mut fields = unseal(TIMELINE, token)?;
        let cursor = Self {
            store: fields.take()?,
            session: fields.take()?,
            way: match fields.take()? {
                [0] => Way::Older,
                [1] => Way::Newer,
                _ => return Err(CursorError::Malformed { what: "an unknown direction" }),
            },
            epoch: u32::from_be_bytes(fields.take()?),
            ordinal: i64::from_be_bytes(fields.take()?),
            anchor: fields.take()?,
            position: fields.number()?,
            seq: fields.number()?,
            open_epoch: OpenEpoch::new(fields.number()?),
        };
        fields.end(2)?;
        Ok(cursor)
    }
}

impl fmt::Display for SessionsCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        seal(f, SESSIONS, self.store, &[&self.below.get().to_be_bytes(), &[0]])
    }
}

impl FromStr for SessionsCursor {
    type Err = CursorError;

    fn from_str(token: &str) -> Result<Self, CursorError> {
        let mut fields = unseal(SESSIONS, token)?;
        let store = fields.take()?;
        let below = Position::new(fields.number()?).ok_or(CursorError::Malformed { what: "a position of zero" })?;
        fields.end(1)?;
        Ok(Self { store, below })
    }
}

impl fmt::Display for PendingCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        seal(f, PENDING, self.store, &[&self.after.0.get().to_be_bytes(), &self.after.1.to_be_bytes(), &[0, 0]])
    }
}

impl FromStr for PendingCursor {
    type Err = CursorError;

    fn from_str(token: &str) -> Result<Self, CursorError> {
        let mut fields = unseal(PENDING, token)?;
        let store = fields.take()?;
        let stream = Stream::new(fields.number()?).ok_or(CursorError::Malformed { what: "a session of zero" })?;
        let ordinal = i64::from_be_bytes(fields.take()?);
        fields.end(2)?;
        Ok(Self { store, after: (stream, ordinal) })
    }
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"turnstore cursor");
    hasher.update(bytes);
    hasher.finalize().as_bytes().first_chunk::<8>().copied().unwrap_or_default()
}

fn seal(f: &mut fmt::Formatter<'_>, kind: u8, store: [u8; 8], fields: &[&[u8]]) -> fmt::Result {
    let mut bytes = vec![kind, VERSION];
    bytes.extend_from_slice(&store);
    fields.iter().for_each(|field| bytes.extend_from_slice(field));
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    debug_assert!(bytes.len() % 3 == 0, "a token has no padding bits");
    let (groups, _) = bytes.as_chunks::<3>();
    for [one, two, three] in groups {
        let bits = u32::from(*one) << 16 | u32::from(*two) << 8 | u32::from(*three);
        for shift in [18, 12, 6, 0] {
            let letter = ALPHABET.get((bits >> shift & 63) as usize).copied().unwrap_or(b'A');
            fmt::Write::write_char(f, char::from(letter))?;
        }
    }
    Ok(())
}

fn unseal(kind: u8, token: &str) -> Result<Fields, CursorError> {
    let malformed = |what| CursorError::Malformed { what };
    if token.len() > 256 {
        return Err(malformed("too long"));
    }
    let (groups, []) = token.as_bytes().as_chunks::<4>() else { return Err(malformed("the length does not fit")) };
    let mut bytes = Vec::with_capacity(groups.len() * 3);
    for group in groups {
        let mut bits = 0_u32;
        for letter in group {
            let value = ALPHABET.iter().position(|known| known == letter).ok_or(malformed("not base64url"))?;
            bits = bits << 6 | u32::try_from(value).unwrap_or(0);
        }
        bytes.extend_from_slice(bits.to_be_bytes().get(1..).unwrap_or_default());
    }
    let (sealed, sum) = bytes.split_last_chunk::<8>().ok_or(malformed("too short"))?;
    if checksum(sealed) != *sum {
        return Err(malformed("the checksum does not match"));
    }
    match sealed {
        [_, version, ..] if *version != VERSION => Err(malformed("a version that this build does not read")),
        [found, _, ..] if *found != kind => Err(CursorError::Foreign { what: "list" }),
        [_, _, rest @ ..] => Ok(Fields { bytes: rest.to_vec(), at: 0 }),
        _ => Err(malformed("too short")),
    }
}

struct Fields {
    bytes: Vec<u8>,
    at: usize,
}

impl Fields {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], CursorError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let field = rest.first_chunk::<N>().copied().ok_or(CursorError::Malformed { what: "too short" })?;
        self.at += N;
        Ok(field)
    }

    fn number(&mut self) -> Result<u64, CursorError> {
        self.take().map(u64::from_be_bytes)
    }

    fn end(&self, spare: usize) -> Result<(), CursorError> {
        if self.bytes.len() == self.at + spare { Ok(()) } else { Err(CursorError::Malformed { what: "the length does not fit" }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cursors() -> impl Strategy<Value = Cursor> {
        let place = (any::<bool>(), any::<u32>(), any::<i64>(), any::<[u8; 16]>());
        (any::<[u8; 16]>(), any::<String>(), place, any::<[u64; 3]>()).prop_map(
            |(store, session, (older, epoch, ordinal, anchor), [position, seq, open])| Cursor {
                store: store_digest(StoreId::from_bytes(store)),
                session: session_digest(&session),
                way: if older { Way::Older } else { Way::Newer },
                epoch,
                ordinal,
                anchor,
                position,
                seq,
                open_epoch: OpenEpoch::new(open),
            },
        )
    }

    proptest! {
        #[test]
        fn a_token_reads_back_as_the_cursor_it_was(cursor in cursors()) {
            let token = cursor.to_string();
            prop_assert!(token.bytes().all(|byte| ALPHABET.contains(&byte)));
            prop_assert_eq!(token.parse::<Cursor>(), Ok(cursor));
        }

        #[test]
        fn every_flipped_bit_of_a_token_is_malformed(cursor in cursors(), at: proptest::sample::Index, bit in 0_u8..8) {
            let mut bytes = cursor.to_string().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Ok(token) = String::from_utf8(bytes) {
                prop_assert!(matches!(token.parse::<Cursor>(), Err(CursorError::Malformed { .. })), "{token}");
            }
        }

        #[test]
        fn any_text_parses_or_is_malformed_and_never_panics(text: String) {
            prop_assert!(text.parse::<Cursor>().is_err());
        }

        #[test]
        fn a_shortened_or_longer_token_is_malformed(cursor in cursors(), cut in 1_usize..60) {
            let token = cursor.to_string();
            prop_assert!(token[..token.len() - cut].parse::<Cursor>().is_err());
            let longer = format!("{token}AAAA");
            prop_assert!(longer.parse::<Cursor>().is_err());
        }

        #[test]
        fn list_cursors_read_back_and_are_not_taken_for_one_another(number in 1_u64.., ordinal: i64) {
            let sessions = SessionsCursor { store: [1; 8], below: Position::new(number).unwrap() };
            let pending = PendingCursor { store: [1; 8], after: (Stream::new(number).unwrap(), ordinal) };
            prop_assert_eq!(pending.to_string().parse::<SessionsCursor>(), Err(CursorError::Foreign { what: "list" }));
            prop_assert_eq!(sessions.to_string().parse::<Cursor>(), Err(CursorError::Foreign { what: "list" }));
            prop_assert_eq!(sessions.to_string().parse::<SessionsCursor>(), Ok(sessions));
            prop_assert_eq!(pending.to_string().parse::<PendingCursor>(), Ok(pending));
        }
    }

    #[test]
    fn a_cursor_of_another_session_or_store_is_foreign() {
        let store = StoreId::from_bytes([7; 16]);
        let cursor = Cursor {
            store: store_digest(store),
            session: session_digest("mine"),
            way: Way::Older,
            epoch: 0,
            ordinal: 5,
            anchor: [0; 16],
            position: 1,
            seq: 1,
            open_epoch: OpenEpoch::new(1),
        };
        assert_eq!(cursor.check(store, "mine"), Ok(()));
        assert_eq!(cursor.check(store, "other"), Err(CursorError::Foreign { what: "session" }));
        assert_eq!(cursor.check(StoreId::from_bytes([8; 16]), "mine"), Err(CursorError::Foreign { what: "store" }));
    }
}
