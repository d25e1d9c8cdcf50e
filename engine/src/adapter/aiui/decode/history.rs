//! Messages as their owner keeps them: snapshots and inputs of runs.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::super::code;
use super::super::order::Note;
use super::run::imported;
use super::tool::calls;
use super::{Decoder, Incoming, Own, digest};
use crate::adapter::fields::{Bad, Fields, list_of, text_of, write_object, write_str};
use crate::event::Owner;
use crate::fact::{Content, Fact, HistoryImported, HistoryMessage, HistoryMode, Json, Text};

impl Decoder {
    pub(super) fn messages_snapshot<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let messages = messages("messages", event.fields.required("messages")?, own)?;
        self.close_all_lanes(own);
        own.note(self.order.gate(event.name));
        let authority = authority(event.metadata(own).as_ref());
        let states_activities = messages.iter().any(|message| message.role == "activity");
        let authoritative = match authority {
            Authority::Unsaid => None,
            Authority::Types(types) => Some(types.into_iter().map(Text::Owned).collect::<Vec<_>>()),
            Authority::All => Some(self.activities.values().cloned().map(Text::Owned).collect()),
        };
        self.activities.retain(|_, subtype| match &authoritative {
            Some(types) => !types.iter().any(|known| known == subtype),
            None => !states_activities,
        });
        self.messages.clear();
        for message in &messages {
            self.learn(message, true);
        }
        let history = HistoryImported { authoritative_activities: authoritative, ..imported(HistoryMode::Merge, messages) };
        own.fact(Fact::HistoryImported(history), Owner::SESSION);
        Ok(())
    }

    /// Remembers a message of a history.
    pub(in crate::adapter::aiui) fn learn(&mut self, message: &HistoryMessage<'_>, anew: bool) {
        let tools = message.tools.iter().map(|tool| tool.id.as_ref());
        self.order.seed(&message.role, &message.id, message.agent.as_deref(), tools, anew);
        let known = self.messages.contains(&digest(&message.id)) || self.activities.contains_key(message.id.as_ref());
        if known && !anew {
            return;
        }
        if message.role == "activity" {
            self.activities.insert(message.id.to_string(), message.subtype.as_deref().unwrap_or_default().to_owned());
        } else {
            self.activities.remove(message.id.as_ref());
            self.messages.insert(digest(&message.id));
        }
    }
}

/// Which omitted activities a snapshot drops.
enum Authority {
    /// Not said: none, unless it holds activities.
    Unsaid,
    /// Those of these types.
    Types(Vec<String>),
    /// All.
    All,
}

const CLIENT_METADATA: &str = "@ag-ui/client";

fn authority(metadata: Option<&Json<'_>>) -> Authority {
    let Some(metadata) = metadata.and_then(|metadata| metadata.value().ok()) else { return Authority::Unsaid };
    let Some(client) = metadata.get(CLIENT_METADATA) else { return Authority::Unsaid };
    let Some(client) = client.as_object() else { return Authority::Types(Vec::new()) };
    match client.get("authoritativeActivityTypes") {
        None => Authority::Unsaid,
        Some(serde_json::Value::Null) => Authority::All,
        Some(serde_json::Value::Array(types)) => {
            let all: Option<BTreeSet<String>> = types.iter().map(|kind| kind.as_str().map(str::to_owned)).collect();
            Authority::Types(all.unwrap_or_default().into_iter().collect())
        }
        Some(_) => Authority::Types(Vec::new()),
    }
}

/// The messages of a list; those of unknown roles are left out and noted.
pub(super) fn messages<'a>(path: &str, raw: &'a RawValue, own: &mut Own<'a>) -> Result<Vec<HistoryMessage<'a>>, Bad> {
    let list = list_of(raw).ok_or_else(|| Bad::new(path, "an array"))?;
    let mut messages = Vec::with_capacity(list.len());
    for (index, raw) in list.into_iter().enumerate() {
        let at = format!("{path}[{index}]");
        let fields = Fields::of(&at, raw)?;
        match message(&fields).map_err(|bad| bad.under(&at))? {
            Some(message) => messages.push(message),
            None => own.note(Some(Note::new(code::MALFORMED_FIELD, format!("{at}.role: unknown, the message is left out")))),
        }
    }
    Ok(messages)
}

/// A message as the protocol wants it; `None` when its role is unknown.
pub(in crate::adapter::aiui) fn message<'a>(fields: &Fields<'a>) -> Result<Option<HistoryMessage<'a>>, Bad> {
    let role = fields.text("role")?;
    let mut message = HistoryMessage { id: fields.text("id")?, metadata: fields.object_if("metadata")?, ..HistoryMessage::default() };
    message.agent = fields.some("subagentRunId").map(|_| fields.text("subagentRunId")).transpose()?;
    if role != "activity" {
        message.sealed = fields.text_if("encryptedValue")?;
    }
    match role.as_ref() {
        "developer" | "system" => {
            message.name = fields.text_if("name")?;
            message.content = Some(Content::Text(fields.text("content")?));
        }
        "reasoning" => message.content = Some(Content::Text(fields.text("content")?)),
        "assistant" => {
            message.name = fields.text_if("name")?;
            message.content = fields.some("content").map(|_| fields.text("content").map(Content::Text)).transpose()?;
            message.tools = calls(&fields.list_if("toolCalls")?.unwrap_or_default())?;
        }
        "user" => {
            message.name = fields.text_if("name")?;
            message.content = Some(content("content", fields.required("content")?)?);
        }
        "tool" => {
            message.content = Some(content("content", fields.required("content")?)?);
            message.tool_call = Some(fields.text("toolCallId")?);
            message.error = fields.text_if("error")?.and_then(|_| fields.get("error")).map(Json::raw);
        }
        "activity" => {
            message.subtype = Some(fields.text("activityType")?);
            message.content = Some(Content::Json(fields.object_if("content")?.ok_or_else(|| Bad::new("content", "an object"))?));
        }
        _ => return Ok(None),
    }
    message.role = role;
    Ok(Some(message))
}

/// A message that a caller starts with: taken as it is, as far as it can be.
pub(in crate::adapter::aiui) fn start_message<'a>(fields: &Fields<'a>, unnamed: String) -> HistoryMessage<'a> {
    let text = |key: &str| fields.get(key).and_then(text_of);
    let object = |key: &str| fields.object_if(key).ok().flatten();
    let content = fields.some("content").map(|raw| text_of(raw).map_or_else(|| Content::Json(Json::raw(raw)), Content::Text));
    HistoryMessage {
        id: text("id").unwrap_or(Text::Owned(unnamed)),
        role: text("role").unwrap_or_default(),
        name: text("name"),
        content,
        tools: fields.list_if("toolCalls").ok().flatten().and_then(|list| calls(&list).ok()).unwrap_or_default(),
        tool_call: text("toolCallId"),
        subtype: text("activityType"),
        error: fields.some("error").map(Json::raw),
        sealed: text("encryptedValue"),
        agent: text("subagentRunId"),
        metadata: object("metadata"),
        ..HistoryMessage::default()
    }
}

/// Text, or a list of parts.
fn content<'a>(path: &str, raw: &'a RawValue) -> Result<Content<'a>, Bad> {
    text_of(raw).map_or_else(|| content_parts(path, raw), |text| Ok(Content::Text(text)))
}

/// Content parts in their present form: older binary parts are rewritten, unknown parts and fields are left out.
pub(super) fn content_parts<'a>(path: &str, raw: &'a RawValue) -> Result<Content<'a>, Bad> {
    let list = list_of(raw).ok_or_else(|| Bad::new(path, "text or a list of parts"))?;
    let mut parts = Vec::with_capacity(list.len());
    for (index, raw) in list.into_iter().enumerate() {
        let at = format!("{path}[{index}]");
        let fields = Fields::of(&at, raw)?;
        let is_legacy = fields.get("type").and_then(text_of).as_deref() == Some("binary");
        let part = part(&fields).map_err(|bad| bad.under(&at))?;
        parts.extend(part.filter(|part| !(is_legacy && parts.contains(part))));
    }
    Ok(Content::Json(Json::built(format!("[{}]", parts.join(",")))))
}

fn part(fields: &Fields<'_>) -> Result<Option<String>, Bad> {
    let kind = fields.text("type")?;
    fields.text_if("id")?;
    let kept: &[&str] = match kind.as_ref() {
        "text" => {
            fields.text("text")?;
            &["type", "id", "text", "metadata"]
        }
        "image" | "audio" | "video" | "document" => {
            let Some(source) = source(fields)? else { return Ok(None) };
            let rest = ["type", "id", "metadata"].into_iter().filter_map(|key| Some((key, fields.some(key)?.get())));
            return Ok(Some(write_object(rest.chain([("source", source.as_str())]))));
        }
        "binary" => return binary(fields).map(Some),
        _ => return Ok(None),
    };
    Ok(Some(write_object(kept.iter().filter_map(|key| Some((*key, fields.some(key)?.get()))))))
}

fn source(fields: &Fields<'_>) -> Result<Option<String>, Bad> {
    let source = Fields::of("source", fields.required("source")?)?;
    let known: &[&str] = match source.get("type").and_then(text_of).as_deref() {
        Some("data") => {
            source.text("mimeType")?;
            &["type", "value", "mimeType"]
        }
        Some("url") => &["type", "value", "mimeType"],
        Some("file") => &["type", "value", "provider", "mimeType"],
        _ => return Ok(None),
    };
    source.text("value")?;
    Ok(Some(write_object(known.iter().filter_map(|key| Some((*key, source.get(key)?.get()))))))
}

/// An older binary part as a part of its media kind.
fn binary(fields: &Fields<'_>) -> Result<String, Bad> {
    let mime = fields.text("mimeType")?;
    let kind = ["image", "audio", "video"]
        .into_iter()
        .find(|kind| mime.strip_prefix(kind).is_some_and(|rest| rest.starts_with('/')))
        .unwrap_or("document");
    let filled = |key: &str| fields.text_if(key).map(|text| text.filter(|text| !text.is_empty()));
    let (how, value) = match (filled("data")?, filled("url")?) {
        (Some(data), _) => ("data", data),
        (None, Some(url)) => ("url", url),
        (None, None) => return Err(Bad::new("data", "data or a url")),
    };
    let mut out = format!("{{\"type\":\"{kind}\",\"source\":{{\"type\":\"{how}\",\"value\":");
    write_str(&mut out, &value);
    out.push_str(",\"mimeType\":");
    write_str(&mut out, &mime);
    out.push('}');
    if let Some(name) = filled("filename")? {
        out.push_str(",\"metadata\":{\"filename\":");
        write_str(&mut out, &name);
        out.push('}');
    }
    out.push('}');
    Ok(out)
}
