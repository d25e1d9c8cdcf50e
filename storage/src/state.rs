//! The one row that says what a main file is and how far it goes.
//!
//! **Invariant:** it is written in the same transaction as whatever it counts.
//!
//! ```text
//! format 4 | store id 16 | open epoch 8 | checkpoint 8 (0 none) | link 32 | next stream 8
//! | generation 4 | tail present 1 | tail id 16 | crc32c 4          (little endian)
//! ```

use crate::bytes::Fields;
use crate::ids::{OpenEpoch, Position, StoreId, Stream};
use crate::link::Link;
use crate::{Error, FORMAT};

/// Which tail file a main file expects beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TailId(pub(crate) [u8; 16]);

/// What a main file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) store: StoreId,
    pub(crate) epoch: OpenEpoch,
    pub(crate) checkpoint: Option<Position>,
    pub(crate) link: Link,
    pub(crate) next_stream: Stream,
    pub(crate) generation: u32,
    pub(crate) tail: Option<TailId>,
}

impl State {
    pub(crate) fn new(store: StoreId) -> Self {
        Self {
            store,
            epoch: OpenEpoch::default(),
            checkpoint: None,
            link: Link::default(),
            next_stream: Stream::FIRST,
            generation: 1,
            tail: None,
        }
    }

    pub(crate) fn stored(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&self.store.to_bytes());
        out.extend_from_slice(&self.epoch.get().to_le_bytes());
        out.extend_from_slice(&self.checkpoint.map_or(0, Position::get).to_le_bytes());
        out.extend_from_slice(&self.link.0);
        out.extend_from_slice(&self.next_stream.get().to_le_bytes());
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.push(u8::from(self.tail.is_some()));
        out.extend_from_slice(&self.tail.map_or([0; 16], |tail| tail.0));
        let checksum = crc32c::crc32c(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    pub(crate) fn parse(stored: &[u8]) -> Result<Self, Error> {
        let damaged = |what: &str| Error::corrupt("meta", "state", what);
        let found = Fields(stored).u32().ok_or_else(|| damaged("cut short"))?;
        if found != FORMAT {
            return Err(Error::Format { found, supported: FORMAT });
        }
        let (sealed, checksum) = stored.split_last_chunk::<4>().ok_or_else(|| damaged("cut short"))?;
        if crc32c::crc32c(sealed) != u32::from_le_bytes(*checksum) {
            return Err(damaged("the checksum does not match"));
        }
        Self::fields(sealed).ok_or_else(|| damaged("cut short"))
    }

    fn fields(sealed: &[u8]) -> Option<Self> {
        let mut fields = Fields(sealed);
        fields.u32()?;
        let mut state = Self::new(StoreId::from_bytes(fields.array()?));
        state.epoch = OpenEpoch::new(fields.u64()?);
        state.checkpoint = Position::new(fields.u64()?);
        state.link = Link(fields.array()?);
        state.next_stream = Stream::new(fields.u64()?)?;
        state.generation = fields.u32()?;
        let present = fields.u8()? != 0;
        let tail = TailId(fields.array()?);
        state.tail = present.then_some(tail);
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_round_trips_and_damage_is_seen() {
        let mut state = State::new(StoreId::from_bytes([7; 16]));
        state.checkpoint = Position::new(99);
        state.tail = Some(TailId([3; 16]));
        let mut stored = state.stored();
        assert_eq!(State::parse(&stored).unwrap(), state);
        for at in 4..stored.len() {
            stored[at] ^= 1;
            assert!(matches!(State::parse(&stored), Err(Error::Corrupt(_))), "byte {at}");
            stored[at] ^= 1;
        }
        stored[0] = 9;
        assert!(matches!(State::parse(&stored), Err(Error::Format { found: 9, .. })));
    }
}
