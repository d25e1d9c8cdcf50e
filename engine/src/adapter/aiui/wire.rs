//! What this protocol is to somebody who knows none in particular.

use super::{Decoder, code, encode, join};
use crate::adapter::check::{Code, error, note, warning};
use crate::adapter::fields::{Fields, text_of};
use crate::adapter::source::Raw;
use crate::adapter::wire::{Decode, Wire};
use crate::event::{Protocol, Stated};

/// AIUI among the protocols.
pub const WIRE: Wire = Wire {
    name: "aiui",
    about: "AIUI, the AG-UI compatible event set: JSON lines, a JSON array, or server-sent events",
    protocol: Protocol::AIUI,
    codes: CODES,
    decoder: || Box::new(Decoder::new()),
    encode,
    session_of: |json| Some(text_of(Fields::parse(json).ok()?.some("threadId")?)?.into_owned()),
    export: None,
    hydrate: Some(|view, session| Ok(Box::new(join(view, session)?.into_iter().map(Ok)))),
};

impl Decode for Decoder {
    fn decode_raw<'a>(&mut self, raw: Raw<'a>, out: &mut Vec<Stated<'a>>) {
        Self::decode_raw(self, raw, out);
    }
}

const CODES: &[Code] = &[
    error(code::RUN_NOT_STARTED, "The first event is neither the start nor the error of a run.", "Send RUN_STARTED before anything else."),
    error(code::RUN_ACTIVE, "A run starts while another one is active.", "Send RUN_FINISHED or RUN_ERROR before the next RUN_STARTED."),
    error(
        code::RUN_ENDED,
        "An event of a run comes after the run's end; clients refuse the stream here.",
        "Send it before RUN_FINISHED or RUN_ERROR, or start another run.",
    ),
    warning(
        code::RUN_MISMATCH,
        "A run ends under another id than it started with; clients let it pass.",
        "Repeat the threadId and runId of RUN_STARTED.",
    ),
    error(
        code::MALFORMED_FIELD,
        "An optional field has the wrong type; it counts as absent here, and clients refuse the stream.",
        "Send the field in the type that the detail names, or leave it out.",
    ),
    error(
        code::OPEN_AT_FINISH,
        "A run finishes while messages, calls, steps or subagents are open.",
        "Send the END event of each before RUN_FINISHED.",
    ),
    error(code::ALREADY_OPEN, "Something is opened that is open.", "Close it first, or give the new one an id of its own."),
    error(code::NOT_OPEN, "Something is continued or closed that is not open.", "Send its START event first, under the same id."),
    error(
        code::OWNER_MISMATCH,
        "A continuation names another subagent than its opening.",
        "Send the same subagentRunId with every event of a message or call, or none.",
    ),
    error(
        code::SUBAGENT_MISUSED,
        "A subagent id is used again within a run, or names a parent that never started.",
        "Give every subagent run its own id, and start the parent first.",
    ),
    error(
        code::CHUNK_UNBOUND,
        "A chunk cannot be tied to a message or call, or contradicts the one it continues; it had no effect.",
        "Send messageId (or toolCallId and toolCallName) with the first chunk.",
    ),
    warning(
        code::MESSAGE_IS_ACTIVITY,
        "A text or reasoning event names a message that is an activity; it had no effect.",
        "Give text and activities ids of their own.",
    ),
    error(
        code::INTERRUPT_UNANSWERED,
        "A run starts while an interrupt waits that its resume does not answer.",
        "Answer every open interrupt in `resume`.",
    ),
    error(
        code::INTERRUPT_EXPIRED,
        "An answer comes to an interrupt that has expired.",
        "Ask again with a new interrupt; do not resume an expired one.",
    ),
    // What came out of order is noted by its order; these say that it had no effect, which clients pass over.
    warning(
        "delta_for_unknown_part",
        "Text came for a message that is not known, or no longer; it was dropped.",
        "Send the START event first, and keep a message in MESSAGES_SNAPSHOT while it streams.",
    ),
    warning(
        "final_for_unknown_part",
        "An END or an encrypted value came for a message that is not known, or no longer; it had no effect.",
        "Send the START event first, and keep a message in MESSAGES_SNAPSHOT while it streams.",
    ),
    warning(
        "tool_event_for_unknown_call",
        "An event came for a call that is not known, or no longer; it had no effect.",
        "Send TOOL_CALL_START first, and keep the call in MESSAGES_SNAPSHOT while it streams.",
    ),
    warning("turn_end_without_turn", "A run ends that never started.", "Send RUN_STARTED first, so that clients know which run failed."),
    note(
        "resolution_for_unknown_request",
        "A decision came without its request; the recording may begin behind it.",
        "Nothing, when the request is in an earlier recording; else send the request first.",
    ),
    note(
        "result_for_unknown_call",
        "A result came without its call; the recording may begin behind it.",
        "Nothing, when the call is in an earlier recording; else send TOOL_CALL_START first.",
    ),
];
