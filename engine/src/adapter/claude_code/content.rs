//! The blocks of a message.

use serde_json::value::RawValue;

use super::super::fields::{Fields, list_of, text_of, write_object};
use super::super::line::{Line, Outcome, fit, sound};
use crate::fact::{Json, PartKind, Text};

/// What a message holds.
pub(super) enum Blocks<'a> {
    /// Plain text.
    Text(&'a RawValue),
    /// Blocks, each with its fields.
    List(Vec<(&'a RawValue, Fields<'a>)>),
}

impl<'a> Blocks<'a> {
    /// `None`: it is neither text nor a list.
    pub(super) fn of(content: &'a RawValue) -> Option<Self> {
        if content.get().starts_with('"') {
            return Some(Self::Text(content));
        }
        let list = list_of(content)?;
        Some(Self::List(list.into_iter().map(|raw| (raw, Fields::parse(raw.get()).unwrap_or_default())).collect()))
    }

    /// Whether somebody says something: there is a block that is no result of a call.
    pub(super) fn speaks(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::List(list) => list.iter().any(|(_, fields)| !is_result(fields)),
        }
    }

    /// The first text.
    pub(super) fn first_text(&self) -> Text<'a> {
        match self {
            Self::Text(raw) => text_of(raw),
            Self::List(list) => list.iter().find_map(|(_, fields)| fields.get("text").and_then(text_of)),
        }
        .unwrap_or_default()
    }

    /// How many results it brings.
    pub(super) fn results(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::List(list) => list.iter().filter(|(_, fields)| is_result(fields)).count(),
        }
    }

    /// States every block, in order; `ran` is what the host says of the only result.
    pub(super) fn state(self, ran: Option<&Fields<'a>>, line: &mut Line<'a>) {
        match self {
            Self::Text(raw) => drop(line.part(PartKind::Text, Some(raw))),
            Self::List(list) => list.into_iter().for_each(|(raw, fields)| block(raw, &fields, ran, line)),
        }
    }
}

fn kind<'a>(fields: &Fields<'a>) -> Text<'a> {
    fields.get("type").and_then(text_of).unwrap_or_default()
}

fn is_result(fields: &Fields<'_>) -> bool {
    kind(fields).ends_with("tool_result")
}

fn string<'a>(fields: &Fields<'a>, key: &str) -> Option<&'a RawValue> {
    fields.get(key).filter(|raw| raw.get().starts_with('"'))
}

fn block<'a>(raw: &'a RawValue, fields: &Fields<'a>, ran: Option<&Fields<'a>>, line: &mut Line<'a>) {
    let id = |key: &str| fields.get(key).and_then(text_of);
    match kind(fields).as_ref() {
        "text" => drop(line.part(PartKind::Text, Some(string(fields, "text").unwrap_or(raw)))),
        "thinking" | "redacted_thinking" => {
            let part = line.part(PartKind::Reasoning, string(fields, "thinking"));
            if let Some(sealed) = string(fields, "signature").or_else(|| string(fields, "data")) {
                line.seal(PartKind::Reasoning, &part, sealed);
            }
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            drop(line.call(id("id"), id("name").unwrap_or_default(), fields.get("input")));
        }
        kind if kind.ends_with("tool_result") => result(fields, ran, line),
        _ => drop(line.part(PartKind::Text, Some(raw))),
    }
}

fn result<'a>(fields: &Fields<'a>, ran: Option<&Fields<'a>>, line: &mut Line<'a>) {
    let failed = fields.get("is_error").is_some_and(|raw| raw.get() == "true");
    let outcome = Outcome {
        content: fields.get("content").map(|content| only_text(content).unwrap_or(content)),
        status: failed.then_some(Text::Borrowed("error")),
        agent: ran.and_then(|ran| fit(ran.get("agentId").and_then(text_of))),
        detail: ran.and_then(scalars),
    };
    line.result(fields.get("tool_use_id").and_then(text_of), outcome);
}

/// The text of a list with one block of text.
fn only_text(content: &RawValue) -> Option<&RawValue> {
    let list = list_of(content).filter(|list| list.len() == 1)?;
    let fields = Fields::parse(list.first()?.get()).ok().filter(|fields| kind(fields) == "text")?;
    string(&fields, "text")
}

/// Longest text that is repeated in the detail of a result.
const SCALAR_BYTES_MAX: usize = 256;

/// The short fields of what the host says of a call; the long ones repeat its content, and stay on the line.
fn scalars(ran: &Fields<'_>) -> Option<Json<'static>> {
    let short = |raw: &RawValue| raw.get().len() <= SCALAR_BYTES_MAX && !raw.get().starts_with(['{', '[']);
    let fields: Vec<_> =
        ran.iter().filter(|(key, raw)| key.len() <= 64 && short(raw)).filter_map(|(key, raw)| Some((key, sound(raw)?))).collect();
    (!fields.is_empty()).then(|| Json::built(write_object(fields)))
}
