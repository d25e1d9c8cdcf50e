//! Tool calls.

use super::super::name::Name;
use super::super::order::{Owned, Span};
use super::history::content_parts;
use super::hot::delta_fact;
use super::{Decoder, Incoming, Own};
use crate::adapter::fields::{Bad, Fields, text_of};
use crate::event::Owner;
use crate::fact::{Content, Fact, Json, Text, ToolChanged, ToolOp};

impl Decoder {
    pub(super) fn tool<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let id = event.fields.text("toolCallId")?;
        match event.name {
            Name::ToolStart => self.tool_starts(event, id, own),
            Name::ToolResult => self.tool_result(event, id, own),
            Name::ToolArgs => {
                let text = self.delta(event, Span::Tool, &id)?;
                let agent = self.before(event, own);
                own.note(self.order.continues(Span::Tool, &id, agent.as_deref()));
                let (fact, owner) = delta_fact(Span::Tool, id, text, event.metadata(own));
                own.fact(fact, owner);
                Ok(())
            }
            _ => {
                let agent = self.before(event, own);
                own.note(self.order.closes(Span::Tool, &id, agent.as_deref()));
                let metadata = event.metadata(own);
                own.fact(Fact::ToolChanged(ToolChanged { tool: id, op: ToolOp::ArgsEnd, metadata }), Owner::MODEL);
                Ok(())
            }
        }
    }

    /// What every event of a lane does first.
    pub(super) fn before<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Option<Text<'a>> {
        let agent = event.agent(own);
        self.close_lane(agent.as_deref(), own);
        own.note(self.order.gate(event.name));
        agent
    }

    fn tool_starts<'a>(&mut self, event: &Incoming<'_, 'a>, id: Text<'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let name = event.fields.text("toolCallName")?;
        let message = event.text_if_some("parentMessageId", own).filter(|id| !id.is_empty());
        let agent = self.before(event, own);
        own.note(self.order.opens_tool(&id, message.as_deref(), agent.as_deref()));
        self.know_message(message.as_deref().unwrap_or(&id));
        let metadata = event.metadata(own);
        own.fact(started(id, name, message, agent, metadata), Owner::MODEL);
        Ok(())
    }

    fn tool_result<'a>(&mut self, event: &Incoming<'_, 'a>, id: Text<'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let message = event.fields.text("messageId")?;
        let raw = event.fields.required("content")?;
        let content = match text_of(raw) {
            Some(text) => Content::Text(text),
            None => content_parts("content", raw)?,
        };
        if event.text_or_none("role", own).is_some_and(|role| role != "tool") {
            own.note(Some(event.bad_field("role", "tool")));
        }
        let agent = self.before(event, own);
        self.order.own_anew(Owned::Message, &message, agent.as_deref());
        self.know_message(&message);
        let op = ToolOp::Result {
            message: Some(message),
            content: Some(content),
            status: None,
            reference: None,
            error: None,
            agent,
            detail: None,
        };
        let metadata = event.metadata(own);
        own.fact(Fact::ToolChanged(ToolChanged { tool: id, op, metadata }), Owner::TOOL);
        Ok(())
    }
}

impl<'a> Incoming<'_, 'a> {
    /// An optional string for which null is the same as absent.
    pub(super) fn text_if_some(&self, key: &str, own: &mut Own<'a>) -> Option<Text<'a>> {
        self.fields.some(key)?;
        self.text_or_none(key, own)
    }
}

pub(super) fn started<'a>(
    tool: Text<'a>,
    name: Text<'a>,
    message: Option<Text<'a>>,
    agent: Option<Text<'a>>,
    metadata: Option<Json<'a>>,
) -> Fact<'a> {
    Fact::ToolChanged(ToolChanged { tool, op: ToolOp::Started { name, message, turn: None, agent, detail: None }, metadata })
}

/// The calls of an assistant message.
pub(super) fn calls<'a>(list: &[&'a serde_json::value::RawValue]) -> Result<Vec<crate::fact::HistoryTool<'a>>, Bad> {
    list.iter()
        .enumerate()
        .map(|(index, raw)| {
            let path = format!("toolCalls[{index}]");
            let call = Fields::of(&path, raw)?;
            let inner = |bad: Bad| bad.under(&path);
            let function = Fields::of("function", call.required("function").map_err(inner)?).map_err(inner)?;
            if call.text("type").map_err(inner)? != "function" {
                return Err(Bad::new("type", "function").under(&path));
            }
            Ok(crate::fact::HistoryTool {
                id: call.text("id").map_err(inner)?,
                name: function.text("name").map_err(inner)?,
                args: function.text("arguments").map_err(inner)?,
                sealed: call.text_if("encryptedValue").map_err(inner)?,
                metadata: call.object_if("metadata").map_err(inner)?,
            })
        })
        .collect()
}
