//! Text that grows without being rewritten: sealed pieces of about 4 KiB and an open tail.
//!
//! **Invariant:** the places where a text is cut depend on the text alone, never on how it arrived, so that equal texts have equal
//! chains whatever their deltas were. A sealed piece never changes.

use rkyv::{Archive, Deserialize, Serialize};

use crate::limits::TEXT_BYTES_MAX;

/// A piece is sealed when the tail holds more than this; the piece ends at the last character boundary at or below it.
pub const CHUNK_BYTES_MAX: usize = 4096;

/// Growing text: what is sealed is counted and digested here and stored in rows of its own, the tail is inline.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub struct Chunked {
    /// Sealed pieces so far.
    pub sealed: u32,
    /// Bytes in them.
    pub sealed_bytes: u64,
    /// Digest over them, in order.
    pub chain: [u8; 16],
    /// What is not sealed yet.
    pub tail: String,
}

/// A piece that has just been sealed: its index within its text, and the text.
pub(super) type Sealed = (u32, String);

impl Chunked {
    /// A text given at once; sealed pieces go to `sealed`.
    pub fn of(text: &str, sealed: &mut Vec<Sealed>) -> Self {
        let mut chunked = Self::default();
        chunked.push(text, sealed);
        chunked
    }

    /// Appends `text`. Cost: proportional to `text`.
    pub fn push(&mut self, text: &str, sealed: &mut Vec<Sealed>) {
        self.tail.push_str(text);
        if self.tail.len() > CHUNK_BYTES_MAX {
            self.seal(sealed);
        }
    }

    fn seal(&mut self, sealed: &mut Vec<Sealed>) {
        let mut rest = std::mem::take(&mut self.tail);
        let mut from = 0;
        while rest.len() - from > CHUNK_BYTES_MAX {
            let piece = rest
                .get(from..)
                .map(|text| text.get(..text.floor_char_boundary(CHUNK_BYTES_MAX)).unwrap_or(text))
                .unwrap_or_default()
                .to_owned();
            from += piece.len();
            self.chain = link(&self.chain, &piece);
            self.sealed_bytes += piece.len() as u64;
            sealed.push((self.sealed, piece));
            self.sealed += 1;
        }
        self.tail = rest.split_off(from);
    }

    /// Whether `text` can be appended.
    pub fn has_room(&self, text: &str) -> bool {
        self.bytes().saturating_add(text.len() as u64) <= TEXT_BYTES_MAX
    }

    /// Whole length in bytes.
    pub fn bytes(&self) -> u64 {
        self.sealed_bytes + self.tail.len() as u64
    }

    /// How `other` relates to this text, without reading what is sealed.
    pub fn compare(&self, other: &str) -> Relation {
        if self.bytes() == 0 {
            return if other.is_empty() { Relation::Equal } else { Relation::Extended { from: 0 } };
        }
        let own = usize::try_from(self.bytes()).unwrap_or(usize::MAX);
        let Some((front, rest)) = other.split_at_checked(own) else { return Relation::Different };
        let same = Self::of(front, &mut Vec::new());
        if same.chain != self.chain || same.tail != self.tail || same.sealed != self.sealed {
            Relation::Different
        } else if rest.is_empty() {
            Relation::Equal
        } else {
            Relation::Extended { from: own }
        }
    }
}

/// What a stated text is to a streamed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same text.
    Equal,
    /// The streamed text is a prefix; the rest begins at this byte.
    Extended {
        /// First byte of the rest.
        from: usize,
    },
    /// Neither.
    Different,
}

/// The digest over pieces, with one more.
pub(crate) fn link(before: &[u8; 16], piece: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before);
    hasher.update(piece.as_bytes());
    short(&hasher.finalize())
}

/// The first 16 bytes of a digest.
pub(crate) fn short(hash: &blake3::Hash) -> [u8; 16] {
    hash.as_bytes().first_chunk::<16>().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_is_full_still_numbers_its_pieces() {
        let pieces = TEXT_BYTES_MAX / (CHUNK_BYTES_MAX as u64 - 3);
        assert!(pieces < 1 << 20, "an index above 20 bits would stand for another piece");
        let full = Chunked { sealed: 970_000, sealed_bytes: TEXT_BYTES_MAX - 5, ..Chunked::default() };
        assert!(full.has_room("12345") && !full.has_room("123456"));
    }

    proptest! {
        #[test]
        fn pieces_depend_on_the_text_alone(parts in proptest::collection::vec("[a-zé€\u{1F600}]{0,3000}", 0..8)) {
            let (mut one, mut two) = (Vec::new(), Vec::new());
            let mut grown = Chunked::default();
            for part in &parts {
                grown.push(part, &mut one);
            }
            let whole: String = parts.concat();
            let given = Chunked::of(&whole, &mut two);
            prop_assert_eq!(&grown, &given);
            prop_assert_eq!(&one, &two);
            let joined: String = one.iter().map(|(_, piece)| piece.as_str()).chain([grown.tail.as_str()]).collect();
            prop_assert_eq!(&joined, &whole);
            prop_assert!(one.iter().all(|(_, piece)| piece.len() <= CHUNK_BYTES_MAX && piece.len() > CHUNK_BYTES_MAX - 4));
            prop_assert_eq!(grown.compare(&whole), Relation::Equal);
            prop_assert_eq!(grown.compare(&format!("{whole}x")), Relation::Extended { from: whole.len() });
        }
    }
}
