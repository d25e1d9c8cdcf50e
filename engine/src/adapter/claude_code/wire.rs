//! What this protocol is to somebody who knows none in particular.

use super::{Decoder, code, encode, identity};
use crate::adapter::check::{AFTER_END, Code, OPEN_TURN, note, warning};
use crate::adapter::source::Raw;
use crate::adapter::wire::{Decode, Wire};
use crate::event::{Protocol, Stated};

/// Transcripts of Claude Code among the protocols.
pub const WIRE: Wire = Wire {
    name: "claude-code",
    about: "transcripts of Claude Code; one of a subagent names its parent session",
    protocol: Protocol::CLAUDE_CODE,
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
    note(code::LINE_REPEATED, "The line came before, byte for byte; it says nothing again.", "Nothing: it was kept and not counted twice."),
    warning(
        code::ID_REUSED,
        "A line has the uuid of an earlier one and another content; it counts as a line of its own.",
        "Give every line a uuid of its own.",
    ),
    note(OPEN_TURN, "The last turn does not say that it ended; transcripts often do not.", "Nothing: it may still be running."),
    warning(
        code::LINE_TOO_RICH,
        "A line gives more facts than can be numbered; it was kept as it came and had no other effect.",
        "Split the message into several lines.",
    ),
];
