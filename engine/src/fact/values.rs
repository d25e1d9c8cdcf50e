//! Every value of a fact that may be large and does not grow: what rows refer to when it is.
//!
//! **Invariant:** the match names every kind, so that a value which a row refers to is found again in its event.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Content, Fact, HistoryMessage, Json, PartChange, Text, ToolOp, WriteOp};

/// Takes a value as it is written.
type Each<'e, 'f> = &'e mut dyn FnMut(&'f str);

fn json<'f>(each: Each<'_, 'f>, values: &[&'f Option<Json<'_>>]) {
    values.iter().filter_map(|value| value.as_ref()).for_each(|value| each(value.as_str()));
}

fn text<'f>(each: Each<'_, 'f>, text: &'f Option<Text<'_>>) {
    text.iter().for_each(|text| each(text));
}

fn content<'f>(each: Each<'_, 'f>, content: &'f Option<Content<'_>>) {
    match content {
        Some(Content::Text(text)) => each(text),
        Some(Content::Json(json)) => each(json.as_str()),
        None => {}
    }
}

/// The values inside an object that rows keep apart, as they are written.
fn members<'f>(each: Each<'_, 'f>, object: &'f Json<'_>) {
    each(object.as_str());
    if let Ok(members) = serde_json::from_str::<BTreeMap<String, &'f RawValue>>(object.as_str()) {
        members.values().for_each(|raw| each(raw.get()));
    }
}

fn message<'f>(each: Each<'_, 'f>, message: &'f HistoryMessage<'_>) {
    content(each, &message.content);
    text(each, &message.sealed);
    json(each, &[&message.error, &message.metadata]);
    for tool in &message.tools {
        text(each, &tool.sealed);
        json(each, &[&tool.metadata]);
    }
}

fn tool_op<'f>(each: Each<'_, 'f>, op: &'f ToolOp<'_>) {
    match op {
        ToolOp::Started { detail, .. } => json(each, &[detail]),
        ToolOp::Progress { value } => each(value.as_str()),
        ToolOp::Result { content: of, error, detail, .. } => {
            content(each, of);
            text(each, error);
            json(each, &[detail]);
        }
        ToolOp::Failed { error } => json(each, &[error]),
        ToolOp::Sealed { value } => each(value),
        ToolOp::ArgsDelta { .. } | ToolOp::ArgsSet { .. } | ToolOp::ArgsEnd | ToolOp::OutputDelta { .. } => {}
    }
}

impl<'a> Fact<'a> {
    /// Visits every such value. Cost: proportional to their number.
    pub(crate) fn values<'f>(&'f self, each: Each<'_, 'f>) {
        match self {
            Fact::SessionChanged(changed) => json(each, &[&changed.fields]),
            Fact::TurnStatus(status) => json(each, &[&status.detail]),
            Fact::TurnEnded(ended) => json(each, &[&ended.error, &ended.result, &ended.usage]),
            Fact::CurrentTurnAsserted(asserted) => {
                asserted.current.iter().flat_map(|current| &current.pending).for_each(|(_, request)| each(request.as_str()));
            }
            Fact::PartOpened(opened) => {
                content(each, &opened.content);
                json(each, &[&opened.metadata]);
            }
            Fact::PartDelta(delta) => json(each, &[&delta.metadata]),
            Fact::PartFinal(last) => {
                if let PartChange::Sealed(value) = &last.change {
                    each(value);
                }
                json(each, &[&last.metadata]);
            }
            Fact::ToolChanged(changed) => {
                tool_op(each, &changed.op);
                json(each, &[&changed.metadata]);
            }
            Fact::InteractionRequested(asked) => json(each, &[&asked.request, &asked.interrupt]),
            Fact::InteractionResolved(resolved) => json(each, &[&resolved.payload, &resolved.receipt]),
            Fact::QueueSet(set) => set.items.iter().for_each(|item| each(item.fields.as_str())),
            Fact::SteerChanged(steer) => {
                text(each, &steer.text);
                text(each, &steer.reason);
            }
            Fact::ArtifactChanged(changed) => members(each, &changed.fields),
            Fact::EvidenceChanged(changed) => members(each, &changed.fields),
            Fact::DocumentSet(set) => each(set.value.as_str()),
            Fact::DocumentPatched(patched) => each(patched.patch.as_str()),
            Fact::HistoryImported(history) => {
                history.messages.iter().for_each(|one| message(each, one));
                history.turns.iter().for_each(|turn| json(each, &[&turn.error]));
            }
            Fact::SurfaceChanged(changed) => each(changed.body.as_str()),
            Fact::WorkspaceChanged(changed) => each(changed.body.as_str()),
            Fact::WriteChanged(changed) => match &changed.op {
                WriteOp::Attempted { detail, .. } | WriteOp::Settled { detail, .. } => json(each, &[detail]),
            },
            Fact::CompactionMarked(marked) => json(each, &[&marked.detail]),
            Fact::DiagnosticNoted(noted) => {
                text(each, &noted.detail);
                text(each, &noted.raw);
            }
            Fact::Opaque(opaque) => each(&opaque.payload),
            Fact::TurnStarted(_) | Fact::TurnArtifactsSet(_) => {}
        }
    }
}
