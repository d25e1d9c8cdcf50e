//! Fields that have more than one name: what each may be called, and how an event spelled them.
//!
//! **Invariant:** a field is read under the first of its names that the event has, and written under the same.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::adapter::fields::{Fields, text_of, write_object, write_str};
use crate::adapter::residue::Value;
use crate::fact::Text;

/// A field by its names, the usual one first.
#[derive(Debug)]
pub(super) struct Slot {
    key: &'static str,
    names: &'static [&'static str],
}

macro_rules! slots {
    ($($(#[$doc:meta])* $slot:ident $key:literal: $($name:literal)+;)*) => {
        $($(#[$doc])* pub(super) const $slot: Slot = Slot { key: $key, names: &[$($name),+] };)*
        const ALL: &[Slot] = &[$($slot),*];
    };
}

slots! {
    TURN "turn": "turn_id" "turnId";
    STATUS "status": "status" "stop_status" "stopStatus" "stop_reason" "stopReason" "reason";
    CURRENT "current": "current_turn" "currentTurn";
    PART "part": "part_id" "partId" "id";
    MESSAGE "message": "message_id" "messageId";
    TEXT "text": "delta" "text" "content" "text_delta" "textDelta" "input_delta" "inputDelta" "partial_json" "args_delta";
    /// The final text of a part, in the part or beside it.
    FINAL "final": "part" "text" "content";
    TOOL "tool": "tool_call_id" "toolCallId" "tool_id" "toolId" "call_id" "callId" "tool_use_id" "toolUseId" "part_id" "partId" "id";
    TOOL_NAME "tool_name": "tool_name" "toolName" "name" "tool";
    INPUT "input": "input" "args" "arguments";
    OUTPUT "output": "output" "result" "content";
    IS_ERROR "is_error": "is_error" "isError";
    INTERACTION "interaction": "interaction_id" "interactionId" "request_id" "requestId" "id";
    DATA "data": "data" "request";
    TURNS "turns": "turns" "turn_summaries" "turnSummaries";
    OLDER "older": "olderCursor" "older_cursor" "nextCursor" "next_cursor" "cursor";
    REQUESTED "requested": "requested_at_seq" "requestedAtSeq";
    OF_MESSAGE "of_message": "id" "message_id" "messageId";
    MESSAGE_TURN "message_turn": "turnId" "turn_id";
    MESSAGE_TEXT "message_text": "text" "content";
    MESSAGE_PARTS "message_parts": "parts" "content";
    MESSAGE_CALL "message_call": "toolCallId" "tool_call_id";
    OF_TURN "of_turn": "turnId" "turn_id" "id";
    OF_CURRENT "of_current": "turnId" "turn_id";
    PENDING "pending": "pendingInteractions" "pending_interactions";
    ASKED "asked": "interactionId" "interaction_id" "id";
}

/// How an event spells its fields, where not in the usual way.
#[derive(Debug, Default)]
pub(super) struct Spelling {
    unusual: Vec<(&'static str, &'static str)>,
}

impl Spelling {
    /// Of a residue's note.
    pub(super) fn parse(raw: Option<&RawValue>) -> Self {
        let fields = raw.and_then(|raw| Fields::parse(raw.get()).ok()).unwrap_or_default();
        let known = fields.iter().filter_map(|(key, raw)| {
            let slot = ALL.iter().find(|slot| slot.key == key)?;
            let spelled = text_of(raw)?;
            Some((slot.key, *slot.names.iter().find(|name| **name == spelled)?))
        });
        Self { unusual: known.collect() }
    }

    /// The note for a residue; `None` when everything is spelled in the usual way.
    pub(super) fn json(&self) -> Option<String> {
        let texts: Vec<_> = self.unusual.iter().map(|(key, spelled)| (*key, quoted(spelled))).collect();
        (!texts.is_empty()).then(|| write_object(texts.iter().map(|(key, spelled)| (*key, spelled.as_str()))))
    }

    /// The name of a field in this event.
    pub(super) fn name(&self, slot: &Slot) -> &'static str {
        let unusual = self.unusual.iter().find(|(key, _)| *key == slot.key).map(|(_, spelled)| *spelled);
        unusual.or(slot.names.first().copied()).unwrap_or_default()
    }

    /// Remembers the name of a field; the first counts where several objects of an event have it.
    pub(super) fn note(&mut self, slot: &Slot, spelled: &'static str) {
        let known = self.unusual.iter().any(|(key, _)| *key == slot.key);
        if !known && slot.names.first() != Some(&spelled) {
            self.unusual.push((slot.key, spelled));
        }
    }

    /// A field that is there, is not null, and is what `read` takes.
    pub(super) fn find<'a, T>(
        &mut self,
        fields: &Fields<'a>,
        slot: &Slot,
        read: impl Fn(&'a RawValue) -> Option<T>,
    ) -> Option<(&'static str, T)> {
        let found = slot.names.iter().find_map(|name| Some((*name, read(fields.some(name)?)?)))?;
        self.note(slot, found.0);
        Some(found)
    }

    /// A field that is a string.
    pub(super) fn text<'a>(&mut self, fields: &Fields<'a>, slot: &Slot) -> Option<Text<'a>> {
        self.find(fields, slot, text_of).map(|(_, text)| text)
    }

    /// A field that is there and not null.
    pub(super) fn some<'a>(&mut self, fields: &Fields<'a>, slot: &Slot) -> Option<&'a RawValue> {
        self.find(fields, slot, Some).map(|(_, raw)| raw)
    }
}

impl Slot {
    /// The usual name.
    pub(super) fn usual(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

/// Text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_str(&mut out, text);
    out
}

/// A value for a field of an object that is written.
pub(super) fn field<'f>(key: &'static str, json: impl Into<Cow<'f, str>>) -> (Cow<'f, str>, Value<'f>) {
    (Cow::Borrowed(key), Value::Json(json.into()))
}
