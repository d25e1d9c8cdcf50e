//! Every id, name, path and word of a fact: the short texts that stand in memory, in indexes and in rows.
//!
//! **Invariant:** the match names every kind and every field of that sort, so that a new kind says what it has before it compiles.

use super::{ArtifactReference, Fact, HistoryMessage, PartTarget, Text, ToolOp, WriteOp};

/// Takes what an id is, in a word for people, and the id.
type Each<'e> = &'e mut dyn FnMut(&'static str, &str);

fn maybe(each: Each<'_>, what: &'static str, id: &Option<Text<'_>>) {
    if let Some(id) = id {
        each(what, id);
    }
}

fn references(each: Each<'_>, references: &[ArtifactReference<'_>]) {
    for reference in references {
        each("path", &reference.path);
        each("artifact type", &reference.artifact_type);
    }
}

fn message(each: Each<'_>, message: &HistoryMessage<'_>) {
    each("message", &message.id);
    each("role", &message.role);
    maybe(each, "turn", &message.turn);
    maybe(each, "author", &message.name);
    maybe(each, "tool", &message.tool_call);
    maybe(each, "activity type", &message.subtype);
    maybe(each, "agent", &message.agent);
    for tool in &message.tools {
        each("tool", &tool.id);
        each("tool name", &tool.name);
    }
    references(each, message.artifacts.as_deref().unwrap_or_default());
}

fn tool_op(each: Each<'_>, op: &ToolOp<'_>) {
    match op {
        ToolOp::Started { name, message, turn, agent, detail: _ } => {
            each("tool name", name);
            maybe(each, "message", message);
            maybe(each, "turn", turn);
            maybe(each, "agent", agent);
        }
        ToolOp::Result { message, content: _, status, reference, error: _, agent, detail: _ } => {
            maybe(each, "message", message);
            maybe(each, "status", status);
            maybe(each, "reference", reference);
            maybe(each, "agent", agent);
        }
        ToolOp::ArgsDelta { text: _ }
        | ToolOp::ArgsSet { text: _ }
        | ToolOp::ArgsEnd
        | ToolOp::Progress { value: _ }
        | ToolOp::OutputDelta { text: _ }
        | ToolOp::Failed { error: _ }
        | ToolOp::Sealed { value: _ } => {}
    }
}

impl Fact<'_> {
    /// Visits every id of the fact. Cost: proportional to their number.
    pub(crate) fn ids(&self, each: Each<'_>) {
        match self {
            Fact::SessionChanged(changed) => maybe(each, "status", &changed.status),
            Fact::TurnStarted(started) => {
                each("turn", &started.turn);
                maybe(each, "run", &started.run);
                maybe(each, "thread", &started.thread);
                maybe(each, "parent", &started.parent);
                maybe(each, "resumed turn", &started.resumes);
            }
            Fact::TurnStatus(status) => {
                maybe(each, "turn", &status.turn);
                each("stage", &status.stage);
                maybe(each, "phase", &status.phase);
            }
            Fact::TurnEnded(ended) => {
                maybe(each, "turn", &ended.turn);
                each("status", &ended.status);
                ended.pending_tools.iter().for_each(|tool| each("tool", tool));
            }
            Fact::CurrentTurnAsserted(asserted) => {
                if let Some(current) = &asserted.current {
                    each("turn", &current.turn);
                    each("status", &current.status);
                    current.pending.iter().for_each(|(id, _)| each("interaction", id));
                }
            }
            Fact::PartOpened(opened) => {
                each("part", &opened.part);
                each("message", &opened.message);
                each("role", &opened.role);
                maybe(each, "author", &opened.name);
                maybe(each, "turn", &opened.turn);
                maybe(each, "agent", &opened.agent);
                maybe(each, "activity type", &opened.subtype);
            }
            Fact::PartDelta(delta) => each("part", &delta.part),
            Fact::PartFinal(last) => match &last.target {
                PartTarget::Part(_, part) => each("part", part),
                PartTarget::Message(message) => each("message", message),
            },
            Fact::ToolChanged(changed) => {
                each("tool", &changed.tool);
                tool_op(each, &changed.op);
            }
            Fact::InteractionRequested(asked) => {
                each("interaction", &asked.interaction);
                each("kind", &asked.kind);
                maybe(each, "turn", &asked.turn);
                maybe(each, "tool", &asked.tool);
                maybe(each, "expiry", &asked.expires_at);
            }
            Fact::InteractionResolved(resolved) => {
                each("interaction", &resolved.interaction);
                maybe(each, "decision", &resolved.decision);
            }
            Fact::QueueSet(set) => set.items.iter().for_each(|item| each("queue item", &item.id)),
            Fact::SteerChanged(steer) => {
                each("steer", &steer.steer);
                maybe(each, "turn", &steer.target);
                each("state", &steer.state);
            }
            Fact::TurnArtifactsSet(set) => {
                each("turn", &set.turn);
                references(each, &set.references);
            }
            Fact::ArtifactChanged(changed) => {
                each("artifact", &changed.artifact);
                maybe(each, "turn", &changed.turn);
            }
            Fact::EvidenceChanged(changed) => {
                each("evidence", &changed.evidence);
                maybe(each, "turn", &changed.turn);
            }
            Fact::DocumentSet(set) => each("document", &set.document),
            Fact::DocumentPatched(patched) => each("document", &patched.document),
            Fact::HistoryImported(history) => {
                maybe(each, "cursor", &history.older);
                history.authoritative_activities.iter().flatten().for_each(|subtype| each("activity type", subtype));
                history.messages.iter().for_each(|one| message(each, one));
                for turn in &history.turns {
                    each("turn", &turn.turn);
                    maybe(each, "status", &turn.status);
                    references(each, turn.artifacts.as_deref().unwrap_or_default());
                }
            }
            Fact::SurfaceChanged(changed) => each("surface", &changed.surface),
            Fact::WorkspaceChanged(changed) => maybe(each, "intent", &changed.intent),
            Fact::WriteChanged(changed) => {
                each("write", &changed.write);
                match &changed.op {
                    WriteOp::Attempted { action, target, key, detail: _ } => {
                        each("action", action);
                        maybe(each, "target", target);
                        maybe(each, "key", key);
                    }
                    WriteOp::Settled { outcome, detail: _ } => each("outcome", outcome),
                }
            }
            Fact::CompactionMarked(marked) => each("phase", &marked.phase),
            Fact::DiagnosticNoted(noted) => each("code", &noted.code),
            Fact::Opaque(opaque) => each("name", &opaque.name),
        }
    }

    /// Visits every list of a turn's artifacts that the fact states.
    pub(crate) fn artifact_lists(&self, each: &mut dyn FnMut(&[ArtifactReference<'_>])) {
        match self {
            Fact::TurnArtifactsSet(set) => each(&set.references),
            Fact::HistoryImported(history) => {
                let of_messages = history.messages.iter().filter_map(|message| message.artifacts.as_deref());
                let of_turns = history.turns.iter().filter_map(|turn| turn.artifacts.as_deref());
                of_messages.chain(of_turns).for_each(each);
            }
            _ => {}
        }
    }
}
