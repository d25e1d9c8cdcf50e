//! A fact in one line.

use turnstore::fact::{Content, Fact, HistoryMode, PartChange, PartTarget, Resolution, ToolOp};

use super::number;
use super::text::{front, one_line};

/// What a fact says, in a few words.
pub(crate) fn summary(fact: &Fact<'_>) -> String {
    one_line(&said(fact))
}

fn said(fact: &Fact<'_>) -> String {
    match fact {
        Fact::SessionChanged(changed) => {
            [changed.title.as_deref(), changed.status.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        Fact::TurnStarted(started) => started.turn.to_string(),
        Fact::TurnStatus(status) => format!("{} {}", status.stage, status.phase.as_deref().unwrap_or_default()),
        Fact::TurnEnded(ended) => format!("{} {}", ended.turn.as_deref().unwrap_or_default(), ended.status),
        Fact::CurrentTurnAsserted(asserted) => {
            asserted.current.as_ref().map_or("idle".to_owned(), |turn| format!("{} {}", turn.turn, turn.status))
        }
        Fact::PartOpened(opened) => format!("{} {}{}", opened.part, opened.role, opened.content.as_ref().map(content).unwrap_or_default()),
        Fact::PartDelta(delta) => format!("{} + {:?}", delta.part, front(&delta.text)),
        Fact::PartFinal(last) => format!("{} {}", target(&last.target), change(&last.change)),
        Fact::ToolChanged(changed) => format!("{} {}", changed.tool, tool(&changed.op)),
        Fact::InteractionRequested(asked) => format!("{} {}", asked.interaction, asked.kind),
        Fact::InteractionResolved(resolved) => format!("{} {}", resolved.interaction, resolution(resolved.resolution)),
        Fact::QueueSet(queue) => number::of(number::wide(queue.items.len()), "item"),
        Fact::SteerChanged(steer) => format!("{} {}", steer.steer, steer.state),
        Fact::TurnArtifactsSet(set) => format!("{} {}", set.turn, number::of(number::wide(set.references.len()), "artifact")),
        Fact::ArtifactChanged(changed) => changed.artifact.to_string(),
        Fact::EvidenceChanged(changed) => changed.evidence.to_string(),
        Fact::DocumentSet(set) => format!("{} = {}", set.document, front(set.value.as_str())),
        Fact::DocumentPatched(patched) => format!("{} ~ {}", patched.document, front(patched.patch.as_str())),
        Fact::HistoryImported(history) => format!("{} {}", mode(history.mode), number::of(number::wide(history.messages.len()), "message")),
        Fact::SurfaceChanged(changed) => changed.surface.to_string(),
        Fact::WorkspaceChanged(changed) => changed.intent.as_deref().unwrap_or_default().to_owned(),
        Fact::WriteChanged(changed) => changed.write.to_string(),
        Fact::CompactionMarked(marked) => marked.phase.to_string(),
        Fact::DiagnosticNoted(noted) => format!("{} {}", noted.code, noted.detail.as_deref().unwrap_or_default()),
        Fact::Opaque(opaque) => front(&opaque.payload).to_owned(),
    }
}

fn content(content: &Content<'_>) -> String {
    match content {
        Content::Text(text) => format!(" {:?}", front(text)),
        Content::Json(json) => format!(" {}", front(json.as_str())),
    }
}

fn target(target: &PartTarget<'_>) -> String {
    match target {
        PartTarget::Part(_, id) | PartTarget::Message(id) => id.to_string(),
    }
}

fn change(change: &PartChange<'_>) -> String {
    match change {
        PartChange::Closed => "closed".to_owned(),
        PartChange::Text(text) => format!("= {:?}", front(text)),
        PartChange::Sealed(value) => format!("sealed value of {}", number::bytes(number::wide(value.len()))),
    }
}

fn tool(op: &ToolOp<'_>) -> String {
    match op {
        ToolOp::Started { name, .. } => format!("calls {name}"),
        ToolOp::ArgsDelta { text } => format!("args + {:?}", front(text)),
        ToolOp::ArgsSet { text } => format!("args = {:?}", front(text)),
        ToolOp::ArgsEnd => "args end".to_owned(),
        ToolOp::Progress { value } => format!("progress {}", front(value.as_str())),
        ToolOp::OutputDelta { text } => format!("output + {:?}", front(text)),
        ToolOp::Result { content: said, status, .. } => {
            format!("{}{}", status.as_deref().unwrap_or("result"), said.as_ref().map(content).unwrap_or_default())
        }
        ToolOp::Failed { error } => format!("failed {}", error.as_ref().map(|error| front(error.as_str())).unwrap_or_default()),
        ToolOp::Sealed { value } => format!("sealed value of {}", number::bytes(number::wide(value.len()))),
    }
}

fn resolution(resolution: Resolution) -> &'static str {
    match resolution {
        Resolution::Resolved => "resolved",
        Resolution::Cancelled => "cancelled",
        Resolution::Expired => "expired",
    }
}

fn mode(mode: HistoryMode) -> &'static str {
    match mode {
        HistoryMode::Page => "page of",
        HistoryMode::Replace => "replaced by",
        HistoryMode::Merge => "merged with",
        HistoryMode::Append => "extended by",
    }
}
