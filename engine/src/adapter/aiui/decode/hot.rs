//! The three events of which streams are made: text, reasoning and arguments.
//!
//! **Invariant:** gives what the general way gives; anything unusual is left to it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::order::Span;
use super::{Decoder, noted};
use crate::adapter::fields::Str;
use crate::event::{Owner, Protocol, Source, Stated};
use crate::fact::{Fact, Json, PartDelta, PartKind, Text, ToolChanged, ToolOp};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delta<'a> {
    #[serde(rename = "type", borrow)]
    name: Str<'a>,
    #[serde(borrow)]
    message_id: Option<Str<'a>>,
    #[serde(borrow)]
    tool_call_id: Option<Str<'a>>,
    #[serde(borrow)]
    delta: Str<'a>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
}

/// What the events of a name append to.
fn span_of(name: &str) -> Option<Span> {
    match name {
        "TEXT_MESSAGE_CONTENT" => Some(Span::Text),
        "TOOL_CALL_ARGS" => Some(Span::Tool),
        "REASONING_MESSAGE_CONTENT" => Some(Span::Reasoning),
        _ => None,
    }
}

/// Whether a value is an integer that every protocol side can hold.
pub(super) fn is_timestamp(raw: &RawValue) -> bool {
    raw.get().parse::<i64>().is_ok_and(|time| time.unsigned_abs() < 1 << 53)
}

impl Decoder {
    /// Decodes a delta of the usual form; `false` leaves the event to the general way.
    pub(super) fn hot<'a>(&mut self, text: &'a str, out: &mut Vec<Stated<'a>>) -> bool {
        if let Some(rest) = text.strip_prefix("{\"type\":\"") {
            let name = rest.split_once('"').map(|(name, _)| name);
            if name.and_then(span_of).is_none() {
                return false;
            }
        }
        if !self.lanes.is_empty() {
            return false;
        }
        let Ok(delta) = serde_json::from_str::<Delta<'a>>(text) else { return false };
        let Some(span) = span_of(&delta.name.0) else { return false };
        let id = match (span, delta.message_id, delta.tool_call_id) {
            (Span::Tool, None, Some(id)) => id.0,
            (Span::Text | Span::Reasoning, Some(id), None) => id.0,
            _ => return false,
        };
        let Some(ext) = residue(delta.timestamp) else { return false };
        if span != Span::Tool && !self.activities.is_empty() && self.activities.contains_key(id.as_ref()) {
            return false;
        }
        let note = self.order.streams(span, &id);
        let (fact, owner) = delta_fact(span, id, delta.delta.0, None);
        out.push(Stated { fact, source: Source { protocol: Protocol::AIUI, ..Source::default() }, owner, ext });
        out.extend(note.map(noted));
        true
    }
}

/// Text appended to what `span` names.
pub(super) fn delta_fact<'a>(span: Span, id: Text<'a>, text: Text<'a>, metadata: Option<Json<'a>>) -> (Fact<'a>, Owner) {
    let part = |kind, part, text, metadata| Fact::PartDelta(PartDelta { part, kind, text, metadata });
    let fact = match span {
        Span::Tool => Fact::ToolChanged(ToolChanged { tool: id, op: ToolOp::ArgsDelta { text }, metadata }),
        Span::Text => part(PartKind::Text, id, text, metadata),
        Span::Reasoning | Span::Thought => part(PartKind::Reasoning, id, text, metadata),
    };
    (fact, Owner::MODEL)
}

/// The timestamp as residue; `None` when it is none.
fn residue(timestamp: Option<&RawValue>) -> Option<Option<Json<'static>>> {
    let Some(raw) = timestamp else { return Some(None) };
    if !is_timestamp(raw) {
        return None;
    }
    let mut text = String::with_capacity(32);
    text.push_str("{\"timestamp\":");
    text.push_str(raw.get());
    text.push('}');
    Some(Some(Json::built(text)))
}
