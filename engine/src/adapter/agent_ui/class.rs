//! The event classes, their aliases, and who may state them.
//!
//! **Invariant:** a spelling means one class or none; the spelling itself is kept by the caller.

use crate::event::Owner;

macro_rules! classes {
    ($($variant:ident $text:literal $(| $alias:literal)* : $($owner:ident)+;)*) => {
        /// An event class. Its first owner states it when the event names none.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Class { $($variant,)* }

        impl Class {
            /// The class that a spelling means.
            pub(super) fn of(text: &str) -> Option<Self> {
                match text { $($text $(| $alias)* => Some(Self::$variant),)* _ => None }
            }

            /// The spelling of the standard.
            pub(super) fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Who may state it.
            pub(super) fn owners(self) -> &'static [Word] {
                match self { $(Self::$variant => &[$(Word::$owner),+],)* }
            }

            #[cfg(test)]
            pub(super) const ALL: &'static [Self] = &[$(Self::$variant),*];
        }
    };
}

classes! {
    RunStarted "run.started" | "turn.started": Runtime;
    RunStatus "run.status" | "runtime.status": Runtime;
    TextDelta "text.delta": Model Runtime Agent;
    TextFinal "text.final": Model Runtime Agent;
    ReasoningDelta "reasoning.delta": Model Runtime Agent;
    ReasoningSummary "reasoning.summary": Model Runtime Agent;
    ToolStarted "tool.started": Tool Runtime Model Agent;
    ToolArgs "tool.args": Tool Runtime Model Agent;
    ToolProgress "tool.progress": Tool Runtime;
    ToolResult "tool.result" | "tool.completed": Tool Runtime;
    ActionRequired "action.required": Action Runtime Policy;
    ActionResolved "action.resolved": Action Runtime Policy;
    QueueChanged "queue.changed": Runtime Session Task;
    ArtifactCreated "artifact.created": Artifact;
    ArtifactUpdated "artifact.updated": Artifact;
    ArtifactPreviewReady "artifact.preview.ready": Artifact;
    ArtifactVersionCreated "artifact.version.created": Artifact;
    ArtifactDiffReady "artifact.diff.ready": Artifact;
    ArtifactExportStarted "artifact.export.started": Artifact;
    ArtifactExportCompleted "artifact.export.completed": Artifact;
    ArtifactFailed "artifact.failed": Artifact;
    ArtifactDeleted "artifact.deleted": Artifact;
    ArtifactChanged "artifact.changed": Artifact;
    EvidenceChanged "evidence.changed": Evidence;
    StateSnapshot "state.snapshot": Runtime Session Context Agent;
    StateDelta "state.delta": Runtime Session Context Agent;
    MessagesSnapshot "messages.snapshot": Session Runtime;
    RunFinished "run.finished" | "turn.completed": Runtime;
    RunFailed "run.failed" | "turn.failed": Runtime;
    HostWrite "host.write": Host;
    HostWriteSettled "host.write.settled": Host;
    ToolFailed "tool.failed": Tool Runtime;
    ToolOutputDelta "tool.output.delta": Tool Runtime;
    SessionOpened "session.opened": Session Runtime;
    SessionHydrated "session.hydrated": Session Runtime;
    SessionUpdated "session.updated": Session Runtime;
    SessionClosed "session.closed": Session Runtime;
    CompactionStarted "context.compaction.started": Runtime Context;
    CompactionCompleted "context.compaction.completed": Runtime Context;
    PlanDelta "plan.delta": Model Runtime Task Agent;
    PlanFinal "plan.final": Model Runtime Task Agent;
    TaskChanged "task.changed": Runtime Task Agent;
}

/// Whether a class belongs to the standard without saying anything that facts model: kept as it came, nothing is noted.
pub(super) fn is_later(text: &str) -> bool {
    matches!(
        text,
        "agent.changed"
            | "context.changed"
            | "permission.changed"
            | "diagnostic.changed"
            | "metric.changed"
            | "agent.spawned"
            | "agent.completed"
            | "agent.handoff"
            | "team.changed"
            | "worker.notification"
            | "review.requested"
            | "review.completed"
    )
}

/// An owner as the wire spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Runtime,
    Model,
    Tool,
    Action,
    Artifact,
    Evidence,
    Session,
    Host,
    Context,
    Policy,
    Task,
    Agent,
    /// Owners that state none of the classes that are decoded.
    Other,
}

impl Word {
    /// What a spelling means; `None` says that the owner is not known.
    pub(super) fn of(text: &str) -> Option<Self> {
        Some(match text {
            "unknown" => return None,
            "runtime" => Self::Runtime,
            "model" => Self::Model,
            "tool" => Self::Tool,
            "action" => Self::Action,
            "artifact" => Self::Artifact,
            "evidence" => Self::Evidence,
            "session" => Self::Session,
            "host" => Self::Host,
            "context" => Self::Context,
            "policy" => Self::Policy,
            "task" => Self::Task,
            "agent" => Self::Agent,
            _ => Self::Other,
        })
    }

    /// The owner of the fact. What the runtime keeps (context, policy, tasks, agents) is the runtime's.
    pub(super) fn owner(self) -> Owner {
        match self {
            Self::Runtime | Self::Context | Self::Policy | Self::Task | Self::Agent => Owner::RUNTIME,
            Self::Model => Owner::MODEL,
            Self::Tool => Owner::TOOL,
            Self::Action => Owner::ACTION,
            Self::Artifact => Owner::ARTIFACT,
            Self::Evidence => Owner::EVIDENCE,
            Self::Session => Owner::SESSION,
            Self::Host => Owner::HOST,
            Self::Other => Owner::UNKNOWN,
        }
    }
}
