//! What this protocol is to somebody who knows none in particular.

use super::{Decoder, code, encode, identity};
use crate::adapter::check::{AFTER_END, Code, note, warning};
use crate::adapter::source::Raw;
use crate::adapter::wire::{Decode, Wire};
use crate::event::{Protocol, Stated};

/// Rollouts of Codex among the protocols.
pub const WIRE: Wire = Wire {
    name: "codex",
    about: "rollouts of Codex; one of a subagent names its parent session",
    protocol: Protocol::CODEX,
    codes: CODES,
    decoder: || Box::new(Decoder::new()),
    encode,
    session_of: |json| identity(json).map(|identity| identity.session),
    export: None,
    hydrate: None,
};

impl Decode for Decoder {
    fn decode_raw<'a>(&mut self, raw: Raw<'a>, out: &mut Vec<Stated<'a>>) {
        Self::decode_raw(self, raw, out);
    }
}

const CODES: &[Code] = &[
    note(AFTER_END, "The host wrote something behind the end of a turn, as it does between turns.", "Nothing: it stands where it came."),
    note(
        "final_text_mismatch",
        "A message came as an event and as an item in different words; the item stands.",
        "Nothing: exports hide texts, and what the model saw counts.",
    ),
    warning(
        code::LINE_TOO_RICH,
        "A line gives more facts than can be numbered; it was kept as it came and had no other effect.",
        "Split the message into several lines.",
    ),
];
