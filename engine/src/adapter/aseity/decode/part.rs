//! Parts of a message: text, reasoning, tool calls, and everything else as an activity.

use serde_json::value::RawValue;

use super::super::name::Name;
use super::super::spelling::{self as slot, Spelling};
use super::{Decoder, Incoming, Own};
use crate::adapter::fields::{Bad, Fields, Str, text_of};
use crate::event::Owner;
use crate::fact::{
    Content, DocumentSet, Fact, Json, PartChange, PartDelta, PartFinal, PartKind, PartOpened, PartTarget, Text, ToolChanged, ToolOp,
};
use crate::{ItemKind, Page};

/// What a part is that is no text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Known {
    Reasoning,
    Activity,
    Tool(Call),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    id: String,
    /// Whether its result came: a part that repeats it is no second one.
    answered: bool,
}

fn call(id: &str) -> Known {
    Known::Tool(Call { id: id.to_owned(), answered: false })
}

/// What a part of this type is; `None` is text.
fn known(kind: &str, id: &str, part: &Fields<'_>) -> Option<Known> {
    match kind {
        "" | "text" | "assistant_text" | "output_text" => None,
        "reasoning" | "thinking" | "reasoning_summary" => Some(Known::Reasoning),
        "tool" | "tool_call" | "tool-call" | "tool_use" | "dynamic-tool" | "function_call" => Some(call(&tool_id(part, id))),
        // The result of a call has no name of its own.
        "tool_result" | "tool-result" => Some(Known::Activity),
        kind if kind.starts_with("tool-") => Some(call(&tool_id(part, id))),
        _ => Some(Known::Activity),
    }
}

fn tool_id<'a>(part: &Fields<'a>, id: &'a str) -> Text<'a> {
    let keys = ["tool_call_id", "toolCallId", "tool_id", "toolId", "call_id", "callId", "tool_use_id", "toolUseId"];
    keys.iter().find_map(|key| part.some(key).and_then(text_of)).unwrap_or(Text::Borrowed(id))
}

fn tool_name<'a>(part: &Fields<'a>, kind: &str) -> Text<'a> {
    let stated = Spelling::default().text(part, &slot::TOOL_NAME);
    stated.unwrap_or_else(|| Text::Owned(kind.strip_prefix("tool-").filter(|name| *name != "call").unwrap_or_default().to_owned()))
}

fn string(raw: &RawValue) -> Option<&RawValue> {
    raw.get().starts_with('"').then_some(raw)
}

/// Text that a part states whole.
fn whole_text<'a>(part: &Fields<'a>) -> Option<Text<'a>> {
    ["text", "content"].iter().find_map(|key| part.some(key).and_then(text_of))
}

/// Id of the part that an event is about: named beside the part or in it.
fn part_id<'a>(event: &mut Incoming<'_, 'a>, part: Option<&Fields<'a>>) -> Result<Text<'a>, Bad> {
    let beside = ["part_id", "partId"].iter().any(|key| event.fields.some(key).and_then(text_of).is_some());
    let inside = part.filter(|_| !beside).and_then(|part| part.some("id").or_else(|| part.some("part_id")).and_then(text_of));
    inside.map_or_else(|| event.required(&slot::PART), Ok)
}

fn on_tool<'a>(tool: &str, op: ToolOp<'a>) -> Fact<'a> {
    Fact::ToolChanged(ToolChanged { tool: Text::Owned(tool.to_owned()), op, metadata: None })
}

fn document<'a>(id: &str, value: Json<'a>) -> Fact<'a> {
    Fact::DocumentSet(DocumentSet { document: Text::Owned(format!("activity:{id}")), value, replace: true })
}

fn last<'a>(kind: PartKind, id: Text<'a>, change: PartChange<'a>) -> Fact<'a> {
    Fact::PartFinal(PartFinal { target: PartTarget::Part(kind, id), change, metadata: None })
}

impl Decoder {
    /// Learns what the parts of a page are, so that decoding goes on in a session that another decoder began: later events do not say
    /// it. The newest page of the session is enough for the parts that are in it. Cost: the page.
    pub fn learn(&mut self, page: &Page) {
        for item in page.items() {
            match item.kind() {
                ItemKind::Reasoning(part) => self.parts.insert(part.id().to_owned(), Known::Reasoning),
                ItemKind::Activity(part) => self.parts.insert(part.id().to_owned(), Known::Activity),
                ItemKind::Tool(tool) => {
                    let known = Known::Tool(Call { id: tool.id().to_owned(), answered: tool.results().next().is_some() });
                    let part = tool.detail().map(|part| part.joined());
                    let part = part.as_deref().and_then(|part| Fields::parse(part).ok());
                    let part = part.and_then(|part| part.some("id").and_then(text_of));
                    self.parts.extend(part.map(|part| (part.into_owned(), known.clone())));
                    self.parts.insert(tool.id().to_owned(), known)
                }
                _ => None,
            };
        }
    }

    /// What an event's part is: as it says, else as it was added.
    fn what(&mut self, id: &str, part: Option<&Fields<'_>>) -> Option<Known> {
        let stated = part.and_then(|part| Some((part.some("type").and_then(text_of)?, part)));
        if let (None, Some((kind, part))) = (self.parts.get(id), stated)
            && let Some(known) = known(&kind, id, part)
        {
            self.parts.insert(id.to_owned(), known);
        }
        self.parts.get(id).cloned()
    }

    pub(super) fn part_add<'a>(&mut self, event: &mut Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let (part, raw) = event.object("part").ok_or_else(|| Bad::new("part", "an object"))?;
        let id = part_id(event, Some(&part))?;
        let turn = event.text(&slot::TURN);
        let message = event.text(&slot::MESSAGE).or_else(|| turn.clone());
        let kind = part.some("type").and_then(text_of).unwrap_or_default();
        self.parts.remove(id.as_ref());
        let opened = PartOpened {
            part: id.clone(),
            message: message.clone().unwrap_or_else(|| id.clone()),
            kind: PartKind::Text,
            role: part.some("role").or_else(|| event.fields.some("role")).and_then(text_of).unwrap_or(Text::Borrowed("assistant")),
            name: None,
            turn: turn.clone(),
            agent: None,
            subtype: None,
            content: whole_text(&part).map(Content::Text),
            metadata: None,
        };
        match self.what(&id, Some(&part)) {
            None => own.fact(Fact::PartOpened(opened), Owner::MODEL),
            Some(Known::Reasoning) => {
                let opened = PartOpened { kind: PartKind::Reasoning, role: Text::Borrowed("reasoning"), ..opened };
                own.fact(Fact::PartOpened(opened), Owner::MODEL);
            }
            Some(Known::Activity) => {
                let role = Text::Borrowed("activity");
                let opened =
                    PartOpened { kind: PartKind::Activity, message: id.clone(), role, subtype: Some(kind), content: None, ..opened };
                own.fact(Fact::PartOpened(opened), Owner::RUNTIME);
                own.fact(document(&id, raw), Owner::RUNTIME);
            }
            Some(Known::Tool(call)) => {
                let name = tool_name(&part, &kind);
                own.fact(on_tool(&call.id, ToolOp::Started { name, message, turn, agent: None, detail: Some(raw) }), Owner::MODEL);
                self.tool_of_part(&id, &call, &part, own);
            }
        }
        Ok(())
    }

    /// Input and output that a part states whole.
    fn tool_of_part<'a>(&mut self, id: &str, call: &Call, part: &Fields<'a>, own: &mut Own<'a>) {
        let mut plain = Spelling::default();
        if let Some(input) = plain.some(part, &slot::INPUT).filter(|raw| !is_empty(raw)) {
            own.fact(on_tool(&call.id, ToolOp::ArgsSet { text: input_text(input) }), Owner::MODEL);
        }
        let output = part.some("output").or_else(|| part.some("result"));
        if let Some(output) = output.filter(|_| !call.answered) {
            let status = part.some("status").and_then(text_of).filter(|status| matches!(status.as_ref(), "error" | "failed"));
            let failed = status.is_some() || is_true(plain.some(part, &slot::IS_ERROR));
            own.fact(on_tool(&call.id, result(Some(output), failed.then_some(Text::Borrowed("error")), None)), Owner::TOOL);
            self.parts.insert(id.to_owned(), Known::Tool(Call { answered: true, ..call.clone() }));
        }
    }

    pub(super) fn part_update<'a>(&mut self, event: &mut Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let part = event.object("part");
        let id = part_id(event, part.as_ref().map(|(part, _)| part))?;
        let known = self.what(&id, part.as_ref().map(|(part, _)| part));
        if let Some(raw) = delta(event) {
            let text = |decoder: &mut Self, space| decoder.text(space, &id, raw).ok_or_else(|| Bad::new("delta", "a string"));
            let fact = match &known {
                None => part_delta(&id, PartKind::Text, text(self, 0)?),
                Some(Known::Reasoning) => part_delta(&id, PartKind::Reasoning, text(self, 1)?),
                Some(Known::Activity) => part_delta(&id, PartKind::Activity, text(self, 2)?),
                Some(Known::Tool(call)) => on_tool(&call.id, ToolOp::OutputDelta { text: text(self, 3)? }),
            };
            let owner = if matches!(known, Some(Known::Tool(_))) { Owner::TOOL } else { Owner::MODEL };
            own.fact(fact, owner);
            return Ok(());
        }
        let (part, raw) = part.ok_or_else(|| Bad::new("delta", "a string, or a part"))?;
        match known {
            Some(Known::Activity) => own.fact(document(&id, raw), Owner::RUNTIME),
            Some(Known::Tool(call)) => own.fact(on_tool(&call.id, ToolOp::Progress { value: raw }), Owner::TOOL),
            known => {
                let kind = if known.is_some() { PartKind::Reasoning } else { PartKind::Text };
                own.facts.extend(whole_text(&part).map(|text| (last(kind, id, PartChange::Text(text)), Owner::MODEL)));
            }
        }
        Ok(())
    }

    pub(super) fn part_complete<'a>(&mut self, event: &mut Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let part = event.object("part");
        let id = part_id(event, part.as_ref().map(|(part, _)| part))?;
        match self.what(&id, part.as_ref().map(|(part, _)| part)) {
            Some(Known::Activity) => {
                own.facts.extend(part.map(|(_, raw)| (document(&id, raw), Owner::RUNTIME)));
                own.fact(last(PartKind::Activity, id, PartChange::Closed), Owner::RUNTIME);
            }
            Some(Known::Tool(call)) => {
                own.fact(on_tool(&call.id, ToolOp::ArgsEnd), Owner::MODEL);
                if let Some((part, _)) = &part {
                    self.tool_of_part(&id, &call, part, own);
                }
            }
            known => {
                let kind = if known.is_some() { PartKind::Reasoning } else { PartKind::Text };
                let inside = part.as_ref().and_then(|(part, _)| whole_text(part));
                let text = inside.or_else(|| {
                    let beside = ["text", "content"].into_iter().find_map(|key| Some((key, event.fields.some(key).and_then(text_of)?)))?;
                    event.spelling.note(&slot::FINAL, beside.0);
                    Some(beside.1)
                });
                own.fact(last(kind, id, text.map_or(PartChange::Closed, PartChange::Text)), Owner::MODEL);
            }
        }
        Ok(())
    }

    pub(super) fn tool<'a>(&mut self, event: &mut Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let inside = event.object("part").and_then(|(part, _)| part.some("id").and_then(text_of));
        let id = event.text(&slot::TOOL).or(inside).ok_or_else(|| Bad::new(slot::TOOL.usual(), "a string"))?;
        let tool = match self.parts.get(id.as_ref()) {
            Some(Known::Tool(call)) => call.id.clone(),
            _ => id.to_string(),
        };
        let unheard = !self.parts.values().any(|known| matches!(known, Known::Tool(call) if call.id == tool));
        if unheard && let Some(name) = event.text(&slot::TOOL_NAME) {
            let turn = event.text(&slot::TURN);
            own.fact(on_tool(&tool, ToolOp::Started { name, message: turn.clone(), turn, agent: None, detail: None }), Owner::MODEL);
            self.parts.insert(tool.clone(), call(&tool));
        }
        match event.name {
            Name::ToolInputDelta => {
                let raw = delta(event).ok_or_else(|| Bad::new("delta", "a string"))?;
                let text = self.text(4, &tool, raw).ok_or_else(|| Bad::new("delta", "a string"))?;
                own.fact(on_tool(&tool, ToolOp::ArgsDelta { text }), Owner::MODEL);
            }
            Name::ToolInputComplete => {
                let input = event.spelling.some(event.fields, &slot::INPUT);
                own.facts.extend(input.map(|raw| (on_tool(&tool, ToolOp::ArgsSet { text: input_text(raw) }), Owner::MODEL)));
                own.fact(on_tool(&tool, ToolOp::ArgsEnd), Owner::MODEL);
            }
            _ => {
                let output = event.spelling.some(event.fields, &slot::OUTPUT);
                let failed = is_true(event.spelling.some(event.fields, &slot::IS_ERROR)).then_some(Text::Borrowed("error"));
                let status = event.fields.some("status").and_then(text_of).or(failed);
                let error = event.fields.some("error").map(|raw| text_of(raw).unwrap_or(Text::Borrowed(raw.get())));
                own.fact(on_tool(&tool, result(output, status, error)), Owner::TOOL);
                for known in self.parts.values_mut() {
                    if let Known::Tool(call) = known
                        && call.id == tool
                    {
                        call.answered = true;
                    }
                }
            }
        }
        Ok(())
    }

    /// The text of a delta; halves of characters that were cut in two are put together again.
    fn text<'a>(&mut self, space: u8, id: &str, raw: &'a RawValue) -> Option<Text<'a>> {
        if self.waiting.is_empty()
            && let Ok(text) = serde_json::from_str::<Str<'_>>(raw.get())
        {
            return Some(text.0);
        }
        self.waiting.join(space, id, raw.get()).map(Text::Owned)
    }
}

/// The string that an event adds to something: a field, or inside its delta.
fn delta<'a>(event: &mut Incoming<'_, 'a>) -> Option<&'a RawValue> {
    let inside = |fields: Fields<'a>| ["text", "content", "delta", "partial_json"].iter().find_map(|key| string(fields.some(key)?));
    match event.object("delta") {
        Some((fields, _)) => inside(fields),
        None => event.spelling.find(event.fields, &slot::TEXT, string).map(|(_, raw)| raw),
    }
}

fn part_delta<'a>(id: &Text<'a>, kind: PartKind, text: Text<'a>) -> Fact<'a> {
    Fact::PartDelta(PartDelta { part: id.clone(), kind, text, metadata: None })
}

/// Arguments are text, whatever JSON they are.
fn input_text(raw: &RawValue) -> Text<'_> {
    text_of(raw).unwrap_or(Text::Borrowed(raw.get()))
}

fn result<'a>(output: Option<&'a RawValue>, status: Option<Text<'a>>, error: Option<Text<'a>>) -> ToolOp<'a> {
    let content = output.map(|raw| text_of(raw).map_or_else(|| Content::Json(Json::raw(raw)), Content::Text));
    ToolOp::Result { message: None, content, status, reference: None, error, agent: None, detail: None }
}

fn is_true(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// A placeholder for input that streams later.
fn is_empty(raw: &RawValue) -> bool {
    raw.get() == "\"\"" || Fields::parse(raw.get()).is_ok_and(|fields| fields.iter().next().is_none())
}
