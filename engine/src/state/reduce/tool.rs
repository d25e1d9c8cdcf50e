//! Tool calls and their results.

use super::super::chunked::Chunked;
use super::super::entry::{Body, LoneResult, PartRole, Sequence, Tool, ToolResult};
use super::super::lookup::Space;
use super::super::rows::{Field, RowKind};
use super::value::merge;
use super::{Fold, owned};
use crate::fact::{Json, Text, ToolChanged, ToolOp};
use crate::limits::TOOL_RESULTS_MAX;

impl Fold<'_> {
    pub(super) fn tool_changed(&mut self, changed: &ToolChanged<'_>) {
        match &changed.op {
            ToolOp::Started { name, message, turn, agent, detail } => {
                self.tool_started(changed, name, message.as_deref(), turn.as_deref(), agent, detail.as_ref())
            }
            ToolOp::Result { .. } => self.tool_result(changed),
            op => match self.find(Space::Tool, &changed.tool) {
                Some(ordinal) => self.tool_step(ordinal, &changed.tool, op, changed.metadata.as_ref()),
                None => self.diagnose("tool_event_for_unknown_call", Some(changed.tool.to_string())),
            },
        }
    }

    fn tool_mut(&mut self, ordinal: i64) -> Option<&mut Tool> {
        match self.body_mut(Sequence::Timeline, ordinal)? {
            Body::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    fn tool_started(
        &mut self,
        changed: &ToolChanged<'_>,
        name: &str,
        message: Option<&str>,
        turn: Option<&str>,
        agent: &Option<Text<'_>>,
        detail: Option<&Json<'_>>,
    ) {
        if let Some(ordinal) = self.find(Space::Tool, &changed.tool) {
            if let Some(tool) = self.tool_mut(ordinal) {
                name.clone_into(&mut tool.name);
                let dropped = merge(&mut tool.metadata, changed.metadata.as_ref());
                self.note(dropped);
            }
            return;
        }
        let turn = self.turn_of(turn);
        let message = self.owning_message(message, &changed.tool);
        let mut tool = new_tool(&changed.tool, name, &message);
        tool.agent = owned(agent);
        tool.detail = detail.and_then(|detail| self.json(detail));
        let dropped = merge(&mut tool.metadata, changed.metadata.as_ref());
        self.note(dropped);
        let ordinal = self.append(turn, Body::Tool(tool));
        self.name(Space::Tool, &changed.tool, ordinal);
        self.name_message(&message, ordinal);
        self.said(turn);
    }

    /// The message a call belongs to: the stated one if it is an assistant's or new, else one of the call's own.
    fn owning_message(&self, stated: Option<&str>, tool: &str) -> String {
        let Some(stated) = stated else { return tool.to_owned() };
        let fits = match self.message(stated).and_then(|ordinal| self.body(Sequence::Timeline, ordinal)) {
            None => true,
            Some(Body::Part(part)) => match part.kind {
                PartRole::Text => part.role == "assistant",
                // A message that began with thinking. Reasoning that is a message of its own has no calls.
                PartRole::Reasoning => part.id != part.message,
                PartRole::Activity => false,
            },
            Some(Body::Tool(owner)) => owner.message == stated,
            Some(_) => false,
        };
        if fits { stated.to_owned() } else { tool.to_owned() }
    }

    fn tool_step(&mut self, ordinal: i64, id: &str, op: &ToolOp<'_>, metadata: Option<&Json<'_>>) {
        let value = match op {
            ToolOp::Progress { value } => self.json(value),
            ToolOp::Failed { error } => self.json_if(error),
            ToolOp::Sealed { value } => self.text(value),
            _ => None,
        };
        let Some(tool) = self.tool_mut(ordinal) else { return };
        let dropped = merge(&mut tool.metadata, metadata);
        let mut sealed = Vec::new();
        let mut field = Field::ARGS;
        let full = match op {
            ToolOp::ArgsDelta { text } => !tool.args.has_room(text),
            ToolOp::OutputDelta { text } => !tool.output.has_room(text),
            _ => false,
        };
        match op {
            ToolOp::ArgsDelta { .. } | ToolOp::OutputDelta { .. } if full => {}
            ToolOp::ArgsDelta { text } => tool.args.push(text, &mut sealed),
            ToolOp::ArgsSet { text } => tool.args = Chunked::of(text, &mut sealed),
            ToolOp::OutputDelta { text } => {
                field = Field::OUTPUT;
                tool.output.push(text, &mut sealed);
            }
            ToolOp::ArgsEnd => tool.args_ended = true,
            ToolOp::Progress { .. } => tool.progress = value,
            ToolOp::Failed { .. } => {
                "failed".clone_into(&mut tool.status);
                tool.error = value;
            }
            ToolOp::Sealed { .. } => tool.sealed = value,
            ToolOp::Started { .. } | ToolOp::Result { .. } => {}
        }
        if !sealed.is_empty() {
            self.keep(RowKind::Text, ordinal, field, sealed);
        }
        self.note(dropped);
        if full {
            self.diagnose("text_full", Some(id.to_owned()));
        }
    }

    fn tool_result(&mut self, changed: &ToolChanged<'_>) {
        let ToolOp::Result { message, content, status, reference, error, agent, detail } = &changed.op else { return };
        let result = ToolResult {
            seq: self.seq,
            message: owned(message),
            content: content.as_ref().map(|content| self.content(content)),
            reference: owned(reference),
            error: self.text_if(error),
            agent: owned(agent),
            detail: self.json_if(detail),
            sealed: None,
            metadata: changed
                .metadata
                .as_ref()
                .filter(|object| object.as_str().trim_start().starts_with('{'))
                .and_then(|object| self.json(object)),
        };
        let known = self.find(Space::Tool, &changed.tool);
        let ordinal = match known.and_then(|ordinal| Some((ordinal, self.tool_mut(ordinal)?))) {
            Some((ordinal, tool)) if tool.results.len() < TOOL_RESULTS_MAX => {
                settled(status.as_deref(), error.is_some()).clone_into(&mut tool.status);
                tool.results.push(result);
                ordinal
            }
            _ => {
                if known.is_none() {
                    self.diagnose("result_for_unknown_call", Some(changed.tool.to_string()));
                }
                let turn = self.state.header.current;
                self.append(turn, Body::Result(LoneResult { tool: changed.tool.to_string(), result }))
            }
        };
        if let Some(message) = message {
            self.name_message(message, ordinal);
        }
        self.result_settles(&changed.tool);
    }
}

/// The status of a call with a result: what is neither success nor failure stands as it was stated.
fn settled(stated: Option<&str>, error: bool) -> &str {
    match stated {
        None | Some("ok" | "success" | "succeeded" | "completed") if !error => "succeeded",
        None | Some("ok" | "success" | "succeeded" | "completed" | "failed" | "error") => "failed",
        Some(word) => word,
    }
}

/// A call that has just begun.
pub(super) fn new_tool(id: &str, name: &str, message: &str) -> Tool {
    Tool {
        id: id.to_owned(),
        name: name.to_owned(),
        message: message.to_owned(),
        agent: None,
        args: Chunked::default(),
        output: Chunked::default(),
        status: "running".to_owned(),
        args_ended: false,
        progress: None,
        error: None,
        detail: None,
        sealed: None,
        metadata: None,
        message_metadata: None,
        message_sealed: None,
        results: Vec::new(),
    }
}
