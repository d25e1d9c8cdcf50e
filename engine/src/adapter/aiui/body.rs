//! What the facts of an event say of it, as the event's own fields.
//!
//! **Absent:** what the facts do not say; that is residue, see [`crate::adapter::residue`].

use std::borrow::Cow;

use super::name::Name;
use crate::adapter::fields::Fields;
use crate::adapter::residue::{self, Body, Value, content, json, maybe, once, spread, text, write};
use crate::fact::{
    Fact, HistoryMessage, HistoryMode, Json, PartChange, PartFinal, PartKind, PartTarget, SurfaceOp, ToolOp, TurnEnded, WorkspaceOp,
};

/// The event name that needs no saying, given the facts of an event.
pub(super) fn canonical(facts: &[&Fact<'_>]) -> Option<Name> {
    Some(match facts.first()? {
        Fact::TurnStarted(_) => Name::RunStarted,
        Fact::TurnEnded(_) => Name::RunFinished,
        Fact::TurnStatus(status) if status.phase.as_deref() == Some("finished") => Name::StepFinished,
        Fact::TurnStatus(_) => Name::StepStarted,
        Fact::PartOpened(opened) => match opened.kind {
            PartKind::Text => Name::TextStart,
            PartKind::Reasoning => Name::ReasoningMessageStart,
            PartKind::Activity => Name::ActivitySnapshot,
        },
        Fact::PartDelta(delta) if delta.kind == PartKind::Text => Name::TextContent,
        Fact::PartDelta(_) => Name::ReasoningMessageContent,
        Fact::PartFinal(last) => match (&last.target, &last.change) {
            (_, PartChange::Sealed(_)) => Name::ReasoningEncryptedValue,
            (PartTarget::Part(PartKind::Text, _), _) => Name::TextEnd,
            _ => Name::ReasoningMessageEnd,
        },
        Fact::ToolChanged(changed) => match changed.op {
            ToolOp::Started { .. } => Name::ToolStart,
            ToolOp::ArgsDelta { .. } => Name::ToolArgs,
            ToolOp::ArgsEnd => Name::ToolEnd,
            ToolOp::Result { .. } => Name::ToolResult,
            ToolOp::Sealed { .. } => Name::ReasoningEncryptedValue,
            _ => return None,
        },
        Fact::DocumentSet(set) if set.document == "state" => Name::StateSnapshot,
        Fact::DocumentPatched(patched) if patched.document == "state" => Name::StateDelta,
        Fact::DocumentPatched(_) => Name::ActivityDelta,
        Fact::HistoryImported(history) if history.mode == HistoryMode::Merge => Name::MessagesSnapshot,
        Fact::InteractionRequested(asked) if asked.interrupt.is_some() => Name::RunFinished,
        Fact::InteractionRequested(_) => Name::HumanInputRequested,
        Fact::InteractionResolved(_) => Name::HumanInputResolved,
        Fact::WorkspaceChanged(_) | Fact::SurfaceChanged(_) => Name::Custom,
        _ => return None,
    })
}

/// The fields of an event of this name, as far as its facts say them.
pub(super) fn body<'f>(spelled: &'f str, facts: &[&'f Fact<'_>]) -> Body<'f> {
    let mut body: Body<'f> = vec![text("type", spelled)];
    let thinks = Name::of(spelled).is_some_and(|name| name.as_str().starts_with("THINKING_"));
    let dotted = super::decode::is_dotted(spelled);
    for (index, fact) in facts.iter().enumerate() {
        match fact {
            Fact::InteractionRequested(asked) if Name::of(spelled) == Some(Name::Interruption) => {
                body.extend(asked.request.as_ref().into_iter().flat_map(spread));
            }
            Fact::InteractionRequested(asked) if asked.interrupt.is_none() => {
                body.extend(asked.request.as_ref().map(|request| json("request", request)))
            }
            // Part of the outcome, or of the input.
            Fact::InteractionRequested(_) => {}
            Fact::InteractionResolved(_) if index > 0 => {}
            Fact::TurnEnded(ended) if Name::of(spelled) == Some(Name::RunError) => run_error(ended, &mut body),
            Fact::TurnEnded(ended) => run_finished(ended, facts, &mut body),
            fact => say(fact, thinks, dotted, &mut body),
        }
    }
    once(body)
}

/// The fields that one fact says.
fn say<'f>(fact: &'f Fact<'_>, thinks: bool, dotted: bool, body: &mut Body<'f>) {
    match fact {
        Fact::TurnStarted(started) => {
            body.extend(maybe("threadId", &started.thread));
            body.push(text("runId", started.run.as_deref().unwrap_or(&started.turn)));
            body.extend(started.run.as_ref().map(|_| text("turnId", &started.turn)));
            body.extend(maybe("parentRunId", &started.parent));
        }
        Fact::TurnStatus(status) => body.push(text("stepName", &status.stage)),
        Fact::PartOpened(opened) => {
            if !thinks {
                body.push(text("messageId", &opened.message));
            }
            match opened.kind {
                PartKind::Activity => body.extend(maybe("activityType", &opened.subtype)),
                _ if thinks => {}
                _ => body.push(text("role", &opened.role)),
            }
            body.extend(maybe("name", &opened.name));
            body.extend(maybe("subagentRunId", &opened.agent));
            body.extend(opened.metadata.as_ref().map(|metadata| json("metadata", metadata)));
        }
        Fact::PartDelta(delta) => {
            if !thinks {
                body.push(text("messageId", &delta.part));
            }
            body.push(text("delta", &delta.text));
            body.extend(delta.metadata.as_ref().map(|metadata| json("metadata", metadata)));
        }
        Fact::PartFinal(last) => part_final(last, thinks, body),
        Fact::ToolChanged(changed) => {
            tool(&changed.tool, &changed.op, body);
            body.extend(changed.metadata.as_ref().map(|metadata| json("metadata", metadata)));
        }
        _ => say_more(fact, dotted, body),
    }
}

fn say_more<'f>(fact: &'f Fact<'_>, dotted: bool, body: &mut Body<'f>) {
    match fact {
        Fact::DocumentSet(set) => match set.document.strip_prefix("activity:") {
            Some(_) => {
                body.push(json("content", &set.value));
                if !set.replace {
                    body.push((Cow::Borrowed("replace"), Value::Json(Cow::Borrowed("false"))));
                }
            }
            None => body.push(json("snapshot", &set.value)),
        },
        Fact::DocumentPatched(patched) => match patched.document.strip_prefix("activity:") {
            Some(id) => {
                body.push(text("messageId", id));
                body.push(json("patch", &patched.patch));
            }
            None => body.push(json("delta", &patched.patch)),
        },
        Fact::HistoryImported(history) if history.mode == HistoryMode::Merge => {
            body.push((Cow::Borrowed("messages"), Value::Json(Cow::Owned(write_messages(&history.messages)))));
        }
        Fact::InteractionResolved(resolved) => {
            body.push(text("requestId", &resolved.interaction));
            body.extend(maybe("decisionId", &resolved.decision));
            body.extend(resolved.receipt.as_ref().map(|receipt| json("receipt", receipt)));
            body.extend(resolved.payload.as_ref().into_iter().flat_map(spread));
        }
        Fact::WorkspaceChanged(changed) => named(workspace_name(changed.op), &changed.body, dotted, body),
        Fact::SurfaceChanged(changed) => named(surface_name(changed.op), &changed.body, dotted, body),
        _ => {}
    }
}

fn part_final<'f>(last: &'f PartFinal<'_>, thinks: bool, body: &mut Body<'f>) {
    let (PartTarget::Part(_, id) | PartTarget::Message(id)) = &last.target;
    match &last.change {
        PartChange::Sealed(value) => body.extend([text("subtype", "message"), text("entityId", id), text("encryptedValue", value)]),
        _ if thinks => {}
        _ => body.push(text("messageId", id)),
    }
    body.extend(last.metadata.as_ref().map(|metadata| json("metadata", metadata)));
}

fn tool<'f>(id: &'f str, op: &'f ToolOp<'_>, body: &mut Body<'f>) {
    if let ToolOp::Sealed { value } = op {
        return body.extend([text("subtype", "tool-call"), text("entityId", id), text("encryptedValue", value)]);
    }
    body.push(text("toolCallId", id));
    match op {
        ToolOp::Started { name, message, agent, .. } => {
            body.push(text("toolCallName", name));
            body.extend(maybe("parentMessageId", message));
            body.extend(maybe("subagentRunId", agent));
        }
        ToolOp::ArgsDelta { text: delta } => body.push(text("delta", delta)),
        ToolOp::Result { message, content: stated, agent, .. } => {
            body.extend(maybe("messageId", message));
            body.extend(stated.as_ref().map(|stated| (Cow::Borrowed("content"), content(stated))));
            body.extend(maybe("subagentRunId", agent));
        }
        _ => {}
    }
}

fn run_error<'f>(ended: &'f TurnEnded<'_>, body: &mut Body<'f>) {
    body.extend(ended.error.as_ref().into_iter().flat_map(spread));
    body.extend(ended.usage.as_ref().map(|usage| json("usage", usage)));
}

fn run_finished<'f>(ended: &'f TurnEnded<'_>, facts: &[&'f Fact<'_>], body: &mut Body<'f>) {
    body.extend(maybe("runId", &ended.turn));
    body.extend(ended.result.as_ref().map(|result| json("result", result)));
    body.extend(ended.usage.as_ref().map(|usage| json("usage", usage)));
    let outcome = match ended.status.as_ref() {
        "interrupt" => {
            let asked =
                facts.iter().filter_map(|fact| if let Fact::InteractionRequested(asked) = fact { asked.interrupt.as_ref() } else { None });
            let list: Vec<&str> = asked.map(Json::as_str).collect();
            format!("{{\"type\":\"interrupt\",\"interrupts\":[{}]}}", list.join(","))
        }
        "cancelled" => "{\"type\":\"cancelled\"}".to_owned(),
        _ if ended.pending_tools.is_empty() => return,
        _ => {
            let ids = serde_json::to_string(&ended.pending_tools).unwrap_or_default();
            format!("{{\"type\":\"success\",\"pendingToolCallIds\":{ids}}}")
        }
    };
    body.push((Cow::Borrowed("outcome"), Value::Json(Cow::Owned(outcome))));
}

fn named<'f>(name: &'static str, value: &'f Json<'_>, dotted: bool, body: &mut Body<'f>) {
    if dotted {
        body.extend(spread(value));
    } else {
        body.extend([text("name", name), json("value", value)]);
    }
}

fn workspace_name(op: WorkspaceOp) -> &'static str {
    match op {
        WorkspaceOp::Capabilities => "aiui.workspace.capabilities",
        WorkspaceOp::Intent => "aiui.workspace.intent",
        WorkspaceOp::IntentResult => "aiui.workspace.intent.result",
        WorkspaceOp::State => "aiui.workspace.state",
    }
}

fn surface_name(op: SurfaceOp) -> &'static str {
    match op {
        SurfaceOp::Create => "surface.create",
        SurfaceOp::Patch => "surface.patch",
        SurfaceOp::Close => "surface.close",
    }
}

fn write_messages(messages: &[HistoryMessage<'_>]) -> String {
    let list: Vec<String> = messages.iter().map(write_message).collect();
    format!("[{}]", list.join(","))
}

fn write_message(message: &HistoryMessage<'_>) -> String {
    let mut fields: Body<'_> = vec![text("id", &message.id), text("role", &message.role)];
    fields.extend(maybe("name", &message.name));
    fields.extend(message.content.as_ref().map(|stated| (Cow::Borrowed("content"), content(stated))));
    if !message.tools.is_empty() {
        let calls: Vec<String> = message.tools.iter().map(write_call).collect();
        fields.push((Cow::Borrowed("toolCalls"), Value::Json(Cow::Owned(format!("[{}]", calls.join(","))))));
    }
    fields.extend(maybe("toolCallId", &message.tool_call));
    fields.extend(maybe("activityType", &message.subtype));
    fields.extend(message.error.as_ref().map(|error| json("error", error)));
    fields.extend(maybe("encryptedValue", &message.sealed));
    fields.extend(maybe("subagentRunId", &message.agent));
    fields.extend(message.metadata.as_ref().map(|metadata| json("metadata", metadata)));
    write(&fields)
}

fn write_call(call: &crate::fact::HistoryTool<'_>) -> String {
    let function = write(&[text("name", &call.name), text("arguments", &call.args)]);
    let mut fields: Body<'_> =
        vec![text("id", &call.id), text("type", "function"), (Cow::Borrowed("function"), Value::Json(Cow::Owned(function)))];
    fields.extend(maybe("encryptedValue", &call.sealed));
    fields.extend(call.metadata.as_ref().map(|metadata| json("metadata", metadata)));
    write(&fields)
}

/// What the facts do not say of the event. Cost: proportional to the event.
pub(super) fn residue<'a>(fields: &Fields<'a>, whole: &'a str, facts: &[&Fact<'a>], spelled: Option<&str>) -> Option<Json<'a>> {
    let name = spelled.or_else(|| canonical(facts).map(Name::as_str)).unwrap_or_default();
    residue::difference(fields, whole, &body(name, facts))
}
