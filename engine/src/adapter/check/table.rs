//! The codes that are not of one protocol: of the reducer, of reading a source, of what stands open at the end, and those that several
//! decoders share.

use super::{Code, error, note, warning};
use crate::adapter::aiui::code;

/// A delivery of an event that came before; it was kept and had no effect.
pub const REPEATED_DELIVERY: &str = "repeated_delivery";
/// The source ends inside an event, or holds none.
pub const LEFT_OUT: &str = "left_out";
/// A request was withdrawn by the end of its turn.
pub const UNANSWERED_REQUEST: &str = "unanswered_request";
/// A request waits though its turn has ended otherwise than by asking.
pub(super) const LOST_REQUEST: &str = "lost_request";
/// A request waits at the end.
pub(super) const WAITING_REQUEST: &str = "waiting_request";
/// A turn has not ended.
pub(in crate::adapter) const OPEN_TURN: &str = "open_turn";
/// A part or call was opened in a turn that had ended.
pub(in crate::adapter) const AFTER_END: &str = "after_end";
/// A turn was started again after its end.
pub(super) const REOPENED_TURN: &str = "reopened_turn";
/// A part was not closed.
pub(super) const OPEN_PART: &str = "open_part";
/// A call whose arguments were not ended, without a result.
pub(super) const UNFINISHED_CALL: &str = "unfinished_call";
/// A call without a result.
pub(super) const UNANSWERED_CALL: &str = "unanswered_call";
/// A document is behind its owner's.
pub(super) const STALE_DOCUMENT: &str = "stale_document";

/// The entry of a code that has none.
pub const UNLISTED: Code = warning("unlisted", "The code is not one of this build's.", "Ask whoever noted it: a host, or a newer build.");

pub(super) const COMMON: &[Code] = &[
    // Reading and decoding.
    error(
        code::SOURCE_UNREADABLE,
        "A part of the source could not be read as an event, or was refused; the stream goes on behind it.",
        "Write one JSON object an event, UTF-8, within the limits.",
    ),
    warning(LEFT_OUT, "The source holds no event, or ends inside one.", "Let the producer write its last event whole."),
    note(code::UNKNOWN_EVENT, "The event has no name that is known; it was kept as it came.", "Nothing; check the spelling of the name."),
    error(
        code::MALFORMED_EVENT,
        "A known event lacks a field or has one of the wrong type; it was kept and had no effect.",
        "Send the field that the detail names, in that type.",
    ),
    warning(
        code::MALFORMED_FIELD,
        "An optional field has the wrong type; it counts as absent.",
        "Send the field in the type that the detail names, or leave it out.",
    ),
    warning(
        REPEATED_DELIVERY,
        "The event was delivered before, or its sequence is not above the last one; it was kept and had no effect.",
        "After a reconnect resume behind the last sequence; give new events new ids.",
    ),
    // Folding.
    error(
        "delta_after_final",
        "Text came for a part whose owner had stated the whole text; it was dropped.",
        "State the whole text last, or give what follows a part id of its own.",
    ),
    error("delta_for_unknown_part", "Text came for a part that nothing opened; it was dropped.", "Open the part first, under the same id."),
    error("final_for_unknown_part", "A part is closed that nothing opened.", "Open the part first, under the same id."),
    warning(
        "final_text_mismatch",
        "The whole text of a part differs from what was streamed; the whole text stands.",
        "Let the whole text begin with what was streamed, or stream nothing.",
    ),
    error(
        "message_is_an_activity",
        "A part names a message that is an activity; it had no effect.",
        "Give text and activities ids of their own.",
    ),
    error(
        "tool_event_for_unknown_call",
        "An event continues a call that nothing started; it had no effect.",
        "Start the call first, under the same id.",
    ),
    warning("result_for_unknown_call", "A result came without its call; it stands by itself.", "Start the call first, under the same id."),
    error("status_without_turn", "A status came while no turn was known.", "Start the turn first, or name it."),
    error("status_after_end", "A status came after its turn had ended; it was ignored.", "Send it before the end, or start another turn."),
    error("turn_end_without_turn", "A turn ends while none was known.", "Start the turn first, or name the one that ends."),
    warning(
        "turn_ended_unobserved",
        "A running turn is no longer spoken of; nobody saw how it ended.",
        "State the end of every turn before asserting that another is open, or none.",
    ),
    warning("request_after_resolution", "A request came again after its decision; it was not opened again.", "Ask anew under another id."),
    warning(
        "resolution_for_unknown_request",
        "A decision came without its request; the request stays unknown.",
        "Send the request first, under the same id.",
    ),
    error(
        "decision_conflict",
        "Another decision came for a request that was decided; the first stands.",
        "Decide a request once; repeat a decision under its own id and with the same payload.",
    ),
    error("receipt_conflict", "Another receipt came for the same decision; the first stands.", "Send a decision's receipt once."),
    error(
        "state_patch_failed",
        "A patch does not apply; the document is unchanged and stale until it is stated whole.",
        "Patch only paths that exist, or send the whole value again.",
    ),
    warning(
        "patch_for_unknown_activity",
        "A patch came for an activity that was never stated; it had no effect.",
        "State the activity whole first.",
    ),
    error("document_not_json", "A document's value is no JSON; it was not taken.", "Send a JSON value."),
    warning(
        "merge_too_large",
        "Stated fields would grow an object beyond its measure; they stay in the log and do not show.",
        "State less, or keep large values outside and refer to them.",
    ),
    warning("text_full", "A text has reached its measure; what comes after stays in the log and does not show.", "Begin another part."),
    warning("title_cut", "A title is longer than is shown; the log has all of it.", "Send a shorter title."),
    // Beside the timeline.
    warning(
        "artifact_event_before_create",
        "An event came for an artifact that nothing created; it stands with the status unknown.",
        "Create the artifact first, under the same id.",
    ),
    error(
        "artifact_event_after_delete",
        "An event came for an artifact that was deleted; it was ignored.",
        "Send it before the deletion, or create the artifact again.",
    ),
    error("artifact_not_an_object", "What is said of an artifact is no object; the event alone counts.", "Send the fields as an object."),
    error("evidence_not_an_object", "What is said of an evidence record is no object.", "Send the fields as an object."),
    warning("queue_cut", "A queue is longer than is kept; the rest is counted, and in the log.", "Queue less, or shorter items."),
    error(
        "surface_event_before_create",
        "An event came for a surface that nothing created.",
        "Create the surface first, under the same id.",
    ),
    error("surface_event_after_close", "A patch came for a surface that was closed; it was dropped.", "Create the surface again."),
    warning(
        "surface_duplicate_sequence",
        "A patch has a sequence that was taken; it was dropped.",
        "Number the patches of a surface one by one.",
    ),
    error(
        "surface_patch_failed",
        "A patch does not apply; the surface is unchanged and stale until it is created again.",
        "Patch only paths that exist, or create the surface again.",
    ),
    error(
        "surface_buffer_overflow",
        "Too many patches wait for one before them; all were dropped, and the surface is stale.",
        "Send every patch, in order; create the surface again after a gap.",
    ),
    error("surface_needs_create", "A patch came for a surface whose buffer overflowed; it was dropped.", "Create the surface again."),
    error("surface_not_json", "A surface's definition is no JSON; it was not taken.", "Send a JSON object."),
    error("surface_not_an_object", "A surface's definition is no object; it was not taken.", "Send a JSON object."),
    error("surface_duplicate_node", "Nodes of a surface share an id.", "Give every node an id of its own."),
    error("surface_missing_child", "A node of a surface names a child that is not there.", "Define every node that is named."),
    error("surface_cycle", "Nodes of a surface are below themselves.", "Let the nodes form a tree."),
    warning("surface_unreachable_node", "Nodes of a surface are not below its root.", "Leave them out, or name them as children."),
    error("intent_without_id", "An intent has no id; it was not taken.", "Give every intent an id."),
    error("intent_id_reused", "Another intent came under the same id; the first stands.", "Give every intent an id of its own."),
    error("intent_result_uncorrelated", "A result came without its intent; it had no effect.", "Answer the intent's own id."),
    error("intent_result_after_terminal", "A result came for an intent that had ended; it was ignored.", "End an intent once."),
    error("intent_result_out_of_order", "An intent that was accepted is rejected; it was ignored.", "Say that it failed."),
    error(
        "intent_result_unknown_status",
        "A result has no status that is known; it was ignored.",
        "Say accepted, rejected, completed or failed.",
    ),
    error(
        "write_outcome_conflict",
        "Another outcome came for a write that was settled; the first stands.",
        "Settle a write once; attempt it again before another outcome.",
    ),
    warning("write_settled_before_attempt", "A write was settled that nothing attempted.", "Record the attempt first, under the same id."),
    // At the end.
    warning(
        OPEN_TURN,
        "A turn has not ended when the stream does.",
        "End every turn, also when it fails or is cancelled; if the recording was cut, record on.",
    ),
    warning(
        AFTER_END,
        "A part or call was opened in a turn that had ended; it stands there.",
        "Send it before the end of its turn, or start another turn.",
    ),
    note(REOPENED_TURN, "A turn was started again after its end.", "Nothing, when it goes on; else give the new turn an id of its own."),
    warning(OPEN_PART, "A part was never closed.", "Close every part before its turn ends, or state its whole text."),
    warning(
        UNFINISHED_CALL,
        "A call was never finished: its arguments were not ended and it has no result.",
        "Send the end of the arguments and a result, also for a call that failed.",
    ),
    note(
        UNANSWERED_CALL,
        "A call has no result.",
        "Nothing, when the client runs the tool; else send a result, also for a call that failed.",
    ),
    error(
        LOST_REQUEST,
        "A request waits, but its turn has ended: nothing resolved or withdrew it, and the outcome does not keep it.",
        "Resolve it, or end the turn with the outcome that keeps it open.",
    ),
    error(
        UNANSWERED_REQUEST,
        "A turn ended while a request of it waited, and its outcome does not keep it; the request was withdrawn without a decision.",
        "Resolve it before the turn ends, or end the turn with the outcome that keeps it open.",
    ),
    note(WAITING_REQUEST, "A request waits for an answer when the stream ends.", "Nothing: it stays open until somebody answers."),
    warning(
        STALE_DOCUMENT,
        "A document is behind its owner's: a patch failed and no whole value came since.",
        "Send the whole value again.",
    ),
];
