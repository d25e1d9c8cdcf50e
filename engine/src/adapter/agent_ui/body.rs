//! What the facts of an event say of it, as the event's own fields.
//!
//! **Absent:** what the facts do not say, and where a field stands; that is residue, see [`super::placed`].

use std::borrow::Cow;

use super::class::Class;
use super::decode::{BESIDE_ERROR, PLAN, PROCESS, STATE, TASK, unnamed};
use crate::adapter::fields::{Fields, text_of};
use crate::adapter::residue::{Body, Value, content, json, maybe, once, spread, text, write};
use crate::fact::{
    ArtifactOp, Content, DocumentPatched, Fact, HistoryMessage, HistoryMode, Json, PartChange, PartFinal, PartKind, PartOpened, PartTarget,
    SteerChanged, ToolChanged, ToolOp, TurnEnded, WriteOp,
};

/// The spelling that needs no saying, given the facts of an event.
pub(super) fn canonical(facts: &[&Fact<'_>]) -> Option<&'static str> {
    let telling = facts.iter().find(|fact| !matches!(fact, Fact::PartOpened(_)))?;
    Some(class(telling)?.as_str())
}

fn class(fact: &Fact<'_>) -> Option<Class> {
    Some(match fact {
        Fact::TurnStarted(_) => Class::RunStarted,
        Fact::TurnStatus(_) => Class::RunStatus,
        Fact::TurnEnded(ended) if ended.status == "failed" => Class::RunFailed,
        Fact::TurnEnded(_) => Class::RunFinished,
        Fact::PartDelta(delta) if delta.kind == PartKind::Text => Class::TextDelta,
        Fact::PartDelta(_) => Class::ReasoningDelta,
        Fact::PartFinal(last) => match last.target {
            PartTarget::Part(PartKind::Reasoning, _) => Class::ReasoningSummary,
            _ => Class::TextFinal,
        },
        Fact::ToolChanged(changed) => match changed.op {
            ToolOp::Started { .. } => Class::ToolStarted,
            ToolOp::ArgsDelta { .. } | ToolOp::ArgsSet { .. } => Class::ToolArgs,
            ToolOp::Progress { .. } => Class::ToolProgress,
            ToolOp::OutputDelta { .. } => Class::ToolOutputDelta,
            ToolOp::Result { .. } => Class::ToolResult,
            ToolOp::Failed { .. } => Class::ToolFailed,
            ToolOp::ArgsEnd | ToolOp::Sealed { .. } => return None,
        },
        Fact::InteractionRequested(_) => Class::ActionRequired,
        Fact::InteractionResolved(_) => Class::ActionResolved,
        Fact::QueueSet(_) | Fact::SteerChanged(_) => Class::QueueChanged,
        Fact::ArtifactChanged(changed) => artifact(changed.op),
        Fact::EvidenceChanged(_) => Class::EvidenceChanged,
        Fact::DocumentSet(_) => Class::StateSnapshot,
        Fact::DocumentPatched(_) => Class::StateDelta,
        Fact::HistoryImported(_) => Class::MessagesSnapshot,
        Fact::SessionChanged(_) => Class::SessionUpdated,
        Fact::CompactionMarked(marked) if marked.phase == "started" => Class::CompactionStarted,
        Fact::CompactionMarked(_) => Class::CompactionCompleted,
        Fact::WriteChanged(changed) => match changed.op {
            WriteOp::Attempted { .. } => Class::HostWrite,
            WriteOp::Settled { .. } => Class::HostWriteSettled,
        },
        _ => return None,
    })
}

fn artifact(op: ArtifactOp) -> Class {
    match op {
        ArtifactOp::Created => Class::ArtifactCreated,
        ArtifactOp::Updated => Class::ArtifactUpdated,
        ArtifactOp::PreviewReady => Class::ArtifactPreviewReady,
        ArtifactOp::VersionCreated => Class::ArtifactVersionCreated,
        ArtifactOp::DiffReady => Class::ArtifactDiffReady,
        ArtifactOp::ExportStarted => Class::ArtifactExportStarted,
        ArtifactOp::ExportCompleted => Class::ArtifactExportCompleted,
        ArtifactOp::Failed => Class::ArtifactFailed,
        ArtifactOp::Deleted => Class::ArtifactDeleted,
        ArtifactOp::Changed => Class::ArtifactChanged,
    }
}

/// The fields of an event of this spelling, as far as its facts say them.
pub(super) fn body<'f>(spelled: &'f str, facts: &[&'f Fact<'_>]) -> Body<'f> {
    let mut body: Body<'f> = vec![text("type", spelled)];
    let class = Class::of(spelled);
    for fact in facts {
        match fact {
            Fact::PartOpened(opened) => part_opened(opened, &mut body),
            Fact::PartDelta(delta) => {
                part(delta.kind, &delta.part, &mut body);
                body.push(text("delta", &delta.text));
            }
            Fact::PartFinal(last) => part_final(last, &mut body),
            Fact::ToolChanged(changed) => tool(changed, &mut body),
            Fact::TurnEnded(ended) => turn_ended(ended, class == Some(Class::RunFailed), &mut body),
            Fact::DocumentPatched(patched) if class == Some(Class::TaskChanged) => task(patched, &mut body),
            Fact::SteerChanged(_) => {}
            fact => say(fact, &mut body),
        }
    }
    let steers: Vec<_> = facts.iter().filter_map(|fact| if let Fact::SteerChanged(steer) = fact { Some(steer) } else { None }).collect();
    body.extend(written_steers(&steers));
    once(body)
}

/// The fields that one fact says.
fn say<'f>(fact: &'f Fact<'_>, body: &mut Body<'f>) {
    match fact {
        Fact::TurnStarted(started) => {
            body.push(text("runId", started.run.as_deref().unwrap_or(&started.turn)));
            body.extend(started.run.as_ref().map(|_| text("turnId", &started.turn)));
            body.extend(maybe("threadId", &started.thread));
            body.extend(maybe("parentRunId", &started.parent));
            body.extend(maybe("resumes", &started.resumes));
        }
        Fact::TurnStatus(status) => {
            body.extend(maybe("runId", &status.turn));
            body.push(text("stage", &status.stage));
            body.extend(spread_if(&status.detail));
        }
        Fact::InteractionRequested(asked) => {
            body.push(text("actionId", &asked.interaction));
            body.extend(maybe("runId", &asked.turn));
            body.extend(spread_if(&asked.request));
        }
        Fact::InteractionResolved(resolved) => {
            body.push(text("actionId", &resolved.interaction));
            let named = resolved.decision.as_deref().filter(|decision| *decision != unnamed(&resolved.interaction));
            body.extend(named.map(|decision| text("decisionId", decision)));
            body.extend(resolved.receipt.as_ref().map(|receipt| json("receipt", receipt)));
            body.extend(spread_if(&resolved.payload));
        }
        Fact::QueueSet(set) => {
            let items: Vec<&str> = set.items.iter().map(|item| item.fields.as_str()).collect();
            body.push((Cow::Borrowed("queued"), Value::Json(Cow::Owned(format!("[{}]", items.join(","))))));
        }
        Fact::ArtifactChanged(changed) => {
            body.push(text("artifactId", &changed.artifact));
            body.extend(maybe("runId", &changed.turn));
            body.extend(spread(&changed.fields));
        }
        Fact::EvidenceChanged(changed) => {
            body.push(text("evidenceId", &changed.evidence));
            body.extend(maybe("runId", &changed.turn));
            body.extend(spread(&changed.fields));
        }
        _ => say_more(fact, body),
    }
}

fn say_more<'f>(fact: &'f Fact<'_>, body: &mut Body<'f>) {
    match fact {
        Fact::DocumentSet(set) => match set.document.strip_prefix(PLAN).and_then(|rest| rest.strip_prefix(':')) {
            Some(part) => body.extend([text("partId", part), json("plan", &set.value)]),
            None => {
                body.extend(document(&set.document));
                body.push(json("value", &set.value));
            }
        },
        Fact::DocumentPatched(patched) => {
            body.extend(document(&patched.document));
            body.push(json("patch", &patched.patch));
        }
        Fact::HistoryImported(history) => {
            let messages: Vec<String> = history.messages.iter().map(message).collect();
            body.push((Cow::Borrowed("messages"), Value::Json(Cow::Owned(format!("[{}]", messages.join(","))))));
            if history.mode == HistoryMode::Page {
                let null = || (Cow::Borrowed("cursor"), Value::Json(Cow::Borrowed("null")));
                body.push(history.older.as_deref().map_or_else(null, |older| text("cursor", older)));
            }
        }
        Fact::SessionChanged(changed) => {
            body.extend(maybe("title", &changed.title));
            body.extend(maybe("status", &changed.status));
            body.extend(spread_if(&changed.fields));
        }
        Fact::CompactionMarked(marked) => body.extend(spread_if(&marked.detail)),
        Fact::WriteChanged(changed) => {
            body.push(text("writeId", &changed.write));
            match &changed.op {
                WriteOp::Attempted { action, target, key, detail } => {
                    body.push(text("action", action));
                    body.extend(maybe("target", target));
                    body.extend(maybe("idempotencyKey", key));
                    body.extend(spread_if(detail));
                }
                WriteOp::Settled { outcome, detail } => {
                    body.push(text("status", outcome));
                    body.extend(spread_if(detail));
                }
            }
        }
        _ => {}
    }
}

fn spread_if<'f>(object: &'f Option<Json<'_>>) -> Body<'f> {
    object.as_ref().map(spread).unwrap_or_default()
}

fn document<'f>(name: &'f str) -> Option<(Cow<'f, str>, Value<'f>)> {
    (name != STATE).then(|| text("document", name))
}

/// The part as an event names it: by its message, when it has no id of its own.
fn part<'f>(kind: PartKind, name: &'f str, body: &mut Body<'f>) {
    match name.strip_suffix("#text").filter(|_| kind == PartKind::Text) {
        Some(message) => body.push(text("messageId", message)),
        None => body.push(text("partId", name)),
    }
}

fn part_opened<'f>(opened: &'f PartOpened<'_>, body: &mut Body<'f>) {
    if opened.role != PROCESS {
        body.push(text("messageId", &opened.message));
    }
    body.extend(maybe("runId", &opened.turn));
    body.extend(maybe("agentId", &opened.agent));
    if opened.role != PROCESS && opened.role != "assistant" {
        body.push(text("role", &opened.role));
    }
}

fn part_final<'f>(last: &'f PartFinal<'_>, body: &mut Body<'f>) {
    match &last.target {
        PartTarget::Part(kind, name) => part(*kind, name, body),
        PartTarget::Message(message) => body.push(text("messageId", message)),
    }
    if let PartChange::Text(full) = &last.change {
        body.push(text("text", full));
    }
    let summary = last.metadata.iter().flat_map(spread).find(|(key, _)| key == "summary");
    body.extend(summary.map(|(_, value)| (Cow::Borrowed("text"), value)));
}

fn turn_ended<'f>(ended: &'f TurnEnded<'_>, failed: bool, body: &mut Body<'f>) {
    body.extend(maybe("runId", &ended.turn));
    if !failed {
        body.push(text("outcome", if ended.status == "completed" { "success" } else { &ended.status }));
    }
    if let Some(error) = &ended.error {
        let fields = spread(error);
        let beside = fields.iter().skip(1).all(|(key, _)| BESIDE_ERROR.contains(&key.as_ref()));
        match fields.first() {
            // A text, with what stood beside it.
            Some((key, _)) if key == "message" && beside => {
                body.extend(fields.into_iter().map(|(key, value)| (if key == "message" { Cow::Borrowed("error") } else { key }, value)));
            }
            _ => body.push(json("error", error)),
        }
    }
    if let Some(retryable) = ended.retryable {
        body.push((Cow::Borrowed("retryable"), Value::Json(Cow::Borrowed(if retryable { "true" } else { "false" }))));
    }
    body.extend(ended.result.as_ref().map(|result| json("result", result)));
    body.extend(ended.usage.as_ref().map(|usage| json("usage", usage)));
}

fn tool<'f>(changed: &'f ToolChanged<'_>, body: &mut Body<'f>) {
    body.push(text("toolCallId", &changed.tool));
    match &changed.op {
        ToolOp::Started { name, message, turn, agent, detail } => {
            body.push(text("name", name));
            body.extend(maybe("messageId", message));
            body.extend(maybe("runId", turn));
            body.extend(maybe("agentId", agent));
            body.extend(spread_if(detail));
        }
        ToolOp::ArgsDelta { text: delta } | ToolOp::OutputDelta { text: delta } => body.push(text("delta", delta)),
        ToolOp::ArgsSet { text: args } => {
            let is_json = args.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(args).is_ok();
            body.push((Cow::Borrowed("args"), if is_json { Value::Json(Cow::Borrowed(args)) } else { Value::Text(Cow::Borrowed(args)) }));
        }
        ToolOp::Progress { value } => body.push(json("progress", value)),
        ToolOp::Result { message, content: stated, status, reference, error, agent, detail } => {
            body.extend(maybe("status", status));
            body.extend(stated.as_ref().map(|stated| (Cow::Borrowed("output"), content(stated))));
            body.extend(maybe("outputRef", reference));
            body.extend(maybe("messageId", message));
            body.extend(maybe("error", error));
            body.extend(maybe("agentId", agent));
            body.extend(spread_if(detail));
        }
        ToolOp::Failed { error } => body.extend(error.as_ref().map(|error| json("error", error))),
        ToolOp::ArgsEnd | ToolOp::Sealed { .. } => {}
    }
    body.extend(spread_if(&changed.metadata));
}

/// The fields that a task's document takes over.
fn task<'f>(patched: &'f DocumentPatched<'_>, body: &mut Body<'f>) {
    body.extend(patched.document.strip_prefix(TASK).map(|task| text("taskId", task)));
    let operations: Vec<Fields<'f>> = serde_json::from_str(patched.patch.as_str()).unwrap_or_default();
    for operation in &operations {
        let path = operation.get("path").and_then(text_of);
        let key = path.as_deref().and_then(|path| path.strip_prefix('/')).map(|key| key.replace("~1", "/").replace("~0", "~"));
        body.extend(key.zip(operation.get("value")).map(|(key, raw)| (Cow::Owned(key), Value::Json(Cow::Borrowed(raw.get())))));
    }
}

fn written_steers<'f>(steers: &[&SteerChanged<'_>]) -> Option<(Cow<'f, str>, Value<'f>)> {
    let one = |steer: &SteerChanged<'_>| {
        let mut fields: Body<'_> = vec![text("id", &steer.steer)];
        fields.extend(maybe("target", &steer.target));
        fields.push(text("state", &steer.state));
        fields.extend(maybe("text", &steer.text));
        fields.extend(maybe("reason", &steer.reason));
        write(&fields)
    };
    let written = match steers {
        [] => return None,
        [steer] => one(steer),
        steers => format!("[{}]", steers.iter().map(|steer| one(steer)).collect::<Vec<_>>().join(",")),
    };
    Some((Cow::Borrowed("steer"), Value::Json(Cow::Owned(written))))
}

/// A message whose content is a text; of others the residue holds the list.
fn message(message: &HistoryMessage<'_>) -> String {
    let mut fields: Body<'_> = vec![text("id", &message.id), text("role", &message.role)];
    fields.extend(maybe("turnId", &message.turn));
    fields.extend(maybe("name", &message.name));
    if let Some(Content::Text(stated)) = &message.content {
        fields.push(text("content", stated));
    }
    fields.extend(message.error.as_ref().map(|error| json("error", error)));
    write(&fields)
}
