//! The canonical hash of a session.
//!
//! **Invariant:** equal histories hash equally, however they were batched, checkpointed, cached or folded again. Sealed text is covered by
//! the digests that its entries hold.

use std::fmt;

use super::View;
use super::found::{Found, Trouble};
use crate::error::Error;
use crate::state::Sequence;

/// The canonical hash of a session's state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateHash([u8; 32]);

impl StateHash {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateHash({self})")
    }
}

const SEQUENCES: [Sequence; 3] = [Sequence::Timeline, Sequence::Shelf, Sequence::Diagnostics];

fn part(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// The hash of a session that is wholly in memory, as one that was just folded from its first event is.
#[cfg(test)]
pub(crate) fn hash_of_state(state: &crate::state::State) -> Option<StateHash> {
    use crate::state::{HeaderArchive, RowKind, RowRef};
    let mut hasher = blake3::Hasher::new();
    let row = RowRef { kind: RowKind::Header, epoch: 0, ordinal: 0 };
    part(&mut hasher, HeaderArchive::of(row, state.header()).ok()?.bytes());
    for sequence in SEQUENCES {
        for page in state.pages_in_memory(sequence) {
            part(&mut hasher, state.page_archive(sequence, page)?.bytes());
        }
    }
    Some(StateHash(*hasher.finalize().as_bytes()))
}

fn hash(found: &Found<'_>) -> Result<StateHash, Trouble> {
    let mut hasher = blake3::Hasher::new();
    part(&mut hasher, found.header_archive()?.bytes());
    for sequence in SEQUENCES {
        for page in found.outline.pages(sequence) {
            part(&mut hasher, found.page(sequence, page)?.bytes());
        }
    }
    Ok(StateHash(*hasher.finalize().as_bytes()))
}

impl View {
    /// The canonical hash of a session. Cost: its whole state. Errors: [`Error::NoSession`].
    pub fn hash(&self, session: &str) -> Result<StateHash, Error> {
        self.read(session, hash)
    }
}
