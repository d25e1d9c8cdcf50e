//! Tool calls.

use serde_json::value::RawValue;

use super::super::class::Class;
use super::{Decoder, Incoming, Own, Refused};
use crate::adapter::fields::text_of;
use crate::fact::{Content, Fact, Json, Text, ToolChanged, ToolOp};

/// Waiting halves of characters: arguments and output of a call are not those of a part.
const ARGS: u8 = 16;
const OUTPUT: u8 = 17;

impl Decoder {
    pub(super) fn tool<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
        let tool = event.id("toolCallId")?;
        let mut metadata = None;
        let op = match event.class {
            Class::ToolStarted => started(event, own),
            Class::ToolArgs => self.args(event, &tool)?,
            Class::ToolProgress => {
                let progress = event.placed.some("progress");
                let rest = event.rest(&["toolCallId", "progress"]);
                match progress {
                    Some(value) => {
                        metadata = rest;
                        ToolOp::Progress { value: Json::raw(value) }
                    }
                    None => ToolOp::Progress { value: rest.unwrap_or_else(|| Json::built("null".to_owned())) },
                }
            }
            Class::ToolOutputDelta => ToolOp::OutputDelta { text: self.delta(event, OUTPUT, &tool)? },
            Class::ToolResult => result(event, own),
            _ => {
                let error = event.placed.some("error").map(Json::raw);
                if error.is_none() {
                    own.missing(event, "error");
                }
                metadata = event.rest(&["toolCallId", "error"]);
                ToolOp::Failed { error }
            }
        };
        own.fact(Fact::ToolChanged(ToolChanged { tool, op, metadata }));
        Ok(())
    }

    fn args<'a>(&mut self, event: &Incoming<'_, 'a>, tool: &str) -> Result<ToolOp<'a>, Refused> {
        if event.placed.some("delta").is_some() {
            return Ok(ToolOp::ArgsDelta { text: self.delta(event, ARGS, tool)? });
        }
        let raw = event.value("args")?;
        Ok(ToolOp::ArgsSet { text: text_of(raw).unwrap_or(Text::Borrowed(raw.get())) })
    }
}

fn started<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> ToolOp<'a> {
    let name = event.text_of_first(&["name", "toolName"], own);
    if name.is_none() {
        own.missing(event, "name");
    }
    ToolOp::Started {
        name: name.unwrap_or(Text::Borrowed("unknown")),
        message: event.text_if("messageId", own),
        turn: event.turn(own),
        agent: event.agent(own),
        detail: event.rest(&["toolCallId", "name", "toolName", "messageId"]),
    }
}

fn result<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> ToolOp<'a> {
    let status = event.text_if("status", own);
    if status.is_none() {
        own.missing(event, "status");
    }
    let content = event.placed.some("output").map(|raw| match text_of(raw) {
        Some(text) => Content::Text(text),
        None => Content::Json(Json::raw(raw)),
    });
    ToolOp::Result {
        message: event.text_if("messageId", own),
        content,
        // A result without a status is no success.
        status: Some(status.unwrap_or(Text::Borrowed("unknown"))),
        reference: event.text_if("outputRef", own),
        error: event.placed.some("error").map(error_text),
        agent: event.agent(own),
        detail: event.rest(&["toolCallId", "status", "output", "outputRef", "error", "messageId"]),
    }
}

/// An error as a text: itself, its message, or its JSON.
fn error_text(raw: &RawValue) -> Text<'_> {
    let message = || crate::adapter::fields::Fields::parse(raw.get()).ok()?.get("message").and_then(text_of);
    text_of(raw).or_else(message).unwrap_or(Text::Borrowed(raw.get()))
}
