//! What this protocol is to somebody who knows none in particular.

use super::export::hydrate;
use super::{Decoder, code, encode, session_messages};
use crate::adapter::check::{Code, UNANSWERED_REQUEST, error, note, warning};
use crate::adapter::fields::{Fields, text_of};
use crate::adapter::source::Raw;
use crate::adapter::wire::{Decode, Wire};
use crate::event::{Protocol, Stated};

/// Aseity among the protocols.
pub const WIRE: Wire = Wire {
    name: "aseity",
    about: "Aseity: events and pages of SessionMessages, of one session",
    protocol: Protocol::ASEITY,
    codes: CODES,
    decoder: || Box::new(Decoder::new()),
    encode,
    session_of: |json| {
        let fields = Fields::parse(json).ok()?;
        Some(["session_id", "sessionId"].iter().find_map(|key| text_of(fields.some(key)?))?.into_owned())
    },
    export: Some(session_messages),
    hydrate: Some(hydrate),
};

impl Decode for Decoder {
    fn decode_raw<'a>(&mut self, raw: Raw<'a>, out: &mut Vec<Stated<'a>>) {
        Self::decode_raw(self, raw, out);
    }
}

const CODES: &[Code] = &[
    error(
        code::LEGACY_ARTIFACT_REFERENCE,
        "A reference has an `id` and no `entryPath`, the form before 0.7; the whole event was rejected.",
        "Send { entryPath, artifactType }; old references are not migrated.",
    ),
    error(
        code::EMPTY_ENTRY_PATH,
        "A reference has an empty `entryPath`; the whole event was rejected.",
        "Send the full relative path, or leave the reference out.",
    ),
    error(
        code::INVALID_ARTIFACT_TYPE,
        "A reference has an `artifactType` that is none of the five; the whole event was rejected.",
        "Send document, webpage, presentation, spreadsheet or image.",
    ),
    error(
        code::INVALID_ARTIFACT_REFERENCE,
        "A reference is no object with an `entryPath`; the whole event was rejected.",
        "Send a list of { entryPath, artifactType }.",
    ),
    error(
        code::OLD_FORMAT_SNAPSHOT,
        "A page was kept in the form of a protocol before 0.7; it was rejected whole.",
        "Drop the cached page and ask the session for it again.",
    ),
    warning(
        code::ARTIFACT_SOURCE_CONFLICT,
        "A message and the summary of its turn state different artifacts; the summary stands.",
        "State a turn's artifacts in one place, or the same in both.",
    ),
    warning(
        code::PATH_OUTSIDE_WORKSPACE,
        "A path is absolute or leads out of the workspace; it was kept intact.",
        "Send paths relative to the workspace.",
    ),
    warning(
        code::HOST_STATUS_ON_WIRE,
        "A turn has a status that hosts keep to themselves; it counts as running.",
        "Write `waiting` and `stopping` as `running`.",
    ),
    note(code::SESSION_ERROR, "The session reports an error of its own.", "Nothing about the stream: it says what went wrong."),
    note(
        UNANSWERED_REQUEST,
        "A turn ended while a request of it waited; the request was withdrawn. Answers travel beside this protocol's events.",
        "Nothing, when it was answered on the transport.",
    ),
];
