//! What this protocol is to somebody who knows none in particular.

use super::hydrate::hydrate;
use super::placed::Placed;
use super::{Decoder, code, encode};
use crate::adapter::check::{Code, error};
use crate::adapter::source::Raw;
use crate::adapter::wire::{Decode, Wire};
use crate::event::{Protocol, Stated};

/// Agent UI among the protocols.
pub const WIRE: Wire = Wire {
    name: "agent-ui",
    about: "Agent UI v0.2: JSON lines, a JSON array, or server-sent events",
    protocol: Protocol::AGENT_UI,
    codes: CODES,
    decoder: || Box::new(Decoder::new()),
    encode,
    session_of: |json| {
        let placed = Placed::parse(json).ok()?;
        let stated = ["sessionId", "threadId"].into_iter().filter_map(|key| placed.text(key));
        stated.map(|id| id.into_owned()).find(|id| !id.is_empty())
    },
    export: None,
    hydrate: Some(hydrate),
};

impl Decode for Decoder {
    fn decode_raw<'a>(&mut self, raw: Raw<'a>, out: &mut Vec<Stated<'a>>) {
        Self::decode_raw(self, raw, out);
    }
}

const CODES: &[Code] = &[
    error(
        code::MISSING_FIELD,
        "An event lacks a field that its class needs: without an id it had no effect, without a value the value is unknown.",
        "Send the minimum fields of the class; the detail names the one that is missing.",
    ),
    error(
        code::FACT_WRONG_OWNER,
        "An event names an owner that may not state its class; the fact was kept and flagged.",
        "Let the owner of the class state it, or leave `owner` out.",
    ),
    error(
        code::PART_ID_REUSED,
        "A part id was used in another message before; the texts were kept apart.",
        "Give every part an id of its own within the session.",
    ),
];
