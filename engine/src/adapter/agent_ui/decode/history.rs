//! Messages as their owner keeps them: a page of history, or the whole of it.
//!
//! **Invariant:** of a message's parts only those that are text become its text; reasoning and results become messages of their own,
//! in their order, and everything else stays in the residue.

use serde_json::value::RawValue;

use super::{Decoder, Incoming, Own, Refused};
use crate::adapter::fields::{Fields, list_of, text_of};
use crate::fact::{Content, Fact, HistoryImported, HistoryMessage, HistoryMode, HistoryTool, HistoryTurn, Json, Text};

impl Decoder {
    /// With a cursor: a page, and what is older than it. With a window alone: the newest of an unknown whole, so nothing is dropped.
    /// With neither: the whole history.
    pub(super) fn messages<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
        let list = list_of(event.value("messages")?).ok_or_else(|| Refused::malformed("messages: expected an array"))?;
        let cursor = event.placed.get("cursor").filter(|raw| raw.get() == "null" || text_of(raw).is_some());
        if cursor.is_none() && event.placed.get("cursor").is_some() {
            own.malformed(event, "cursor", "a string or null");
        }
        let mode = match (cursor, event.first(&["cursor", "window"])) {
            (Some(_), _) => HistoryMode::Page,
            (None, Some(_)) => HistoryMode::Append,
            (None, None) => HistoryMode::Merge,
        };
        let mut messages = Vec::with_capacity(list.len());
        for (index, raw) in list.into_iter().enumerate() {
            message(event, &format!("messages[{index}]"), raw, own, &mut messages)?;
        }
        let turns = turns(event, own);
        let whole = mode == HistoryMode::Merge;
        if whole {
            self.parts = Default::default();
        }
        for message in messages.iter().filter(|message| message.role != REASONING && message.role != TOOL) {
            self.parts.history(&message.id, whole);
        }
        let older = cursor.and_then(text_of);
        let history = HistoryImported { mode, messages, turns, older, requested_at: None, authoritative_activities: None };
        own.fact(Fact::HistoryImported(history));
        Ok(())
    }
}

const REASONING: &str = "reasoning";
const TOOL: &str = "tool";

/// A message, with those that its parts make.
fn message<'a>(
    event: &Incoming<'_, 'a>,
    at: &str,
    raw: &'a RawValue,
    own: &mut Own<'a>,
    out: &mut Vec<HistoryMessage<'a>>,
) -> Result<(), Refused> {
    let fields = Fields::parse(raw.get()).map_err(|_| Refused::malformed(format!("{at}: expected an object")))?;
    let text = |keys: &[&str]| keys.iter().find_map(|key| fields.some(key).and_then(text_of)).filter(|text| !text.is_empty());
    let id = text(&["id", "messageId"]).ok_or_else(|| Refused::missing(format!("{at}.id")))?;
    let role = text(&["role"]);
    if role.is_none() {
        own.missing(event, &format!("{at}.role"));
    }
    let mut message = HistoryMessage {
        id,
        role: role.unwrap_or(Text::Borrowed("unknown")),
        turn: text(&["turnId", "runId"]),
        name: text(&["name"]),
        agent: text(&["agentId", "subagentId"]),
        tool_call: text(&["toolCallId"]),
        error: fields.some("error").map(Json::raw),
        metadata: fields.object_if("metadata").ok().flatten(),
        ..HistoryMessage::default()
    };
    let content = ["parts", "content", "text"].iter().find_map(|key| fields.some(key));
    let Some(list) = content.and_then(list_of) else {
        message.content = content.map(stated);
        out.push(message);
        return Ok(());
    };
    let mut sorted = Sorted::default();
    for (index, part) in list.into_iter().enumerate() {
        sorted.part(&message, index, part);
    }
    if sorted.left_out > 0 {
        own.malformed(event, &format!("{at}.parts"), "an id of every tool part");
    }
    message.content = sorted.content();
    message.tools = std::mem::take(&mut sorted.tools);
    out.append(&mut sorted.before);
    out.push(message);
    out.append(&mut sorted.after);
    Ok(())
}

fn stated(raw: &RawValue) -> Content<'_> {
    text_of(raw).map_or_else(|| Content::Json(Json::raw(raw)), Content::Text)
}

/// The parts of a message by what becomes of them.
#[derive(Default)]
struct Sorted<'a> {
    text: Option<String>,
    /// Text parts and parts of kinds that the standard does not have, as they came.
    content: Vec<&'a str>,
    foreign: bool,
    tools: Vec<HistoryTool<'a>>,
    before: Vec<HistoryMessage<'a>>,
    after: Vec<HistoryMessage<'a>>,
    /// Tool parts that name no call.
    left_out: usize,
}

impl<'a> Sorted<'a> {
    fn part(&mut self, message: &HistoryMessage<'a>, index: usize, raw: &'a RawValue) {
        if let Some(text) = text_of(raw) {
            return self.push_text(raw, &text);
        }
        let fields = Fields::parse(raw.get()).unwrap_or_default();
        let text = |keys: &[&str]| keys.iter().find_map(|key| fields.some(key).and_then(text_of));
        let first = |keys: &[&str]| keys.iter().find_map(|key| fields.some(key));
        let own_id = |kind: &str| text(&["id", "partId"]).unwrap_or_else(|| Text::Owned(format!("{}#{kind}{index}", message.id)));
        let beside = |id, role: &'static str| HistoryMessage {
            id,
            role: Text::Borrowed(role),
            turn: message.turn.clone(),
            agent: message.agent.clone(),
            ..HistoryMessage::default()
        };
        match text(&["type"]).as_deref() {
            Some("text" | "user_text" | "assistant_text") => self.push_text(raw, &text(&["text", "content"]).unwrap_or_default()),
            Some("reasoning" | "reasoning_summary" | "reasoning_detail") => {
                let content = first(&["text", "content", "summary"]).map(stated);
                self.push(HistoryMessage { content, ..beside(own_id(REASONING), REASONING) });
            }
            Some("tool_call") => match text(&["toolCallId", "id"]) {
                Some(id) => {
                    let args = first(&["args", "input"]).map(|raw| text_of(raw).unwrap_or(Text::Borrowed(raw.get())));
                    let name = text(&["name", "toolName"]).unwrap_or(Text::Borrowed("unknown"));
                    self.tools.push(HistoryTool { id, name, args: args.unwrap_or_default(), ..HistoryTool::default() });
                }
                None => self.left_out += 1,
            },
            Some("tool_result") => match text(&["toolCallId"]) {
                Some(call) => {
                    let content = first(&["output", "preview", "text", "content", "outputRef"]).map(stated);
                    let error = fields.some("error").map(Json::raw);
                    self.after.push(HistoryMessage { content, error, tool_call: Some(call), ..beside(own_id("result"), TOOL) });
                }
                None => self.left_out += 1,
            },
            Some("runtime_status" | "action_required" | "artifact_ref" | "evidence_ref" | "error") => {}
            _ => {
                self.foreign = true;
                self.content.push(raw.get());
            }
        }
    }

    fn push_text(&mut self, raw: &'a RawValue, text: &str) {
        self.text.get_or_insert_default().push_str(text);
        self.content.push(raw.get());
    }

    /// Reasoning stands where it came: before the text or after it.
    fn push(&mut self, reasoning: HistoryMessage<'a>) {
        let begun = self.text.is_some() || !self.tools.is_empty() || self.foreign;
        if begun { self.after.push(reasoning) } else { self.before.push(reasoning) }
    }

    fn content(&mut self) -> Option<Content<'a>> {
        if self.foreign {
            return Some(Content::Json(Json::built(format!("[{}]", self.content.join(",")))));
        }
        self.text.take().map(|text| Content::Text(Text::Owned(text)))
    }
}

fn turns<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Vec<HistoryTurn<'a>> {
    let list = event.placed.some("turns").and_then(list_of).unwrap_or_default();
    let mut turns = Vec::with_capacity(list.len());
    for raw in list {
        let fields = Fields::parse(raw.get()).unwrap_or_default();
        let text = |keys: &[&str]| keys.iter().find_map(|key| fields.some(key).and_then(text_of)).filter(|text| !text.is_empty());
        match text(&["turnId", "runId", "id"]) {
            Some(turn) => {
                turns.push(HistoryTurn { turn, status: text(&["status"]), error: fields.some("error").map(Json::raw), artifacts: None })
            }
            None => own.malformed(event, "turns", "objects with an id"),
        }
    }
    turns
}
