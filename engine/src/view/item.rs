//! Items of a timeline, read in place.

use turnstore_storage::Seq;

use super::leaves::Leaves;
use super::text::LongText;
use super::turn::TurnRef;
use crate::state::{
    ArchivedBody, ArchivedDecision, ArchivedEntry, ArchivedInteraction, ArchivedInteractionStatus, ArchivedMark, ArchivedPart,
    ArchivedTool, ArchivedToolResult, Field, InteractionStatus, Mark,
};

/// One entry of a timeline that is no turn. Borrowed from its page; reading it decodes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Item<'p> {
    pub(super) leaves: &'p Leaves,
    pub(super) ordinal: i64,
    pub(super) entry: &'p ArchivedEntry,
}

/// What an item is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ItemKind<'p> {
    /// Text of a message.
    Text(PartItem<'p>),
    /// Reasoning.
    Reasoning(PartItem<'p>),
    /// An activity; its content is a document when [`PartItem::text`] is `None`.
    Activity(PartItem<'p>),
    /// A tool call with its results.
    Tool(ToolItem<'p>),
    /// A tool result that stands apart from its call, or whose call is unknown.
    Result(ResultItem<'p>),
    /// A question and what became of it.
    Interaction(InteractionItem<'p>),
    /// An artifact was stated here, by id.
    ArtifactRef(&'p str),
    /// Evidence was stated here, by id.
    EvidenceRef(&'p str),
    /// A compaction of the agent's context.
    Compaction {
        /// started or completed.
        phase: &'p str,
        /// JSON.
        detail: Option<&'p str>,
    },
    /// Something that a timeline of this version does not hold.
    Other,
}

impl<'p> Item<'p> {
    /// What it is.
    pub fn kind(&self) -> ItemKind<'p> {
        let Self { leaves, ordinal, entry } = *self;
        match &entry.body {
            ArchivedBody::Part(part) => {
                let item = PartItem { leaves, ordinal, part };
                match part.kind {
                    crate::state::ArchivedPartRole::Text => ItemKind::Text(item),
                    crate::state::ArchivedPartRole::Reasoning => ItemKind::Reasoning(item),
                    crate::state::ArchivedPartRole::Activity => ItemKind::Activity(item),
                }
            }
            ArchivedBody::Tool(tool) => ItemKind::Tool(ToolItem { leaves, ordinal, tool }),
            ArchivedBody::Result(lone) => {
                ItemKind::Result(ResultItem { leaves, ordinal, tool: &lone.tool, index: 0, result: &lone.result })
            }
            ArchivedBody::Interaction(asked) => ItemKind::Interaction(InteractionItem { asked }),
            ArchivedBody::ArtifactRef(id) => ItemKind::ArtifactRef(id),
            ArchivedBody::EvidenceRef(id) => ItemKind::EvidenceRef(id),
            ArchivedBody::Compaction(marked) => {
                ItemKind::Compaction { phase: &marked.phase, detail: marked.detail.as_ref().map(|detail| detail.as_str()) }
            }
            _ => ItemKind::Other,
        }
    }

    /// Seq of the event that created it.
    pub fn first_seq(&self) -> Option<Seq> {
        Seq::new(self.entry.first_seq.to_native())
    }

    /// Seq of the last event that changed it.
    pub fn last_seq(&self) -> Option<Seq> {
        Seq::new(self.entry.last_seq.to_native())
    }

    /// Its turn; `None` outside any.
    pub fn turn(&self) -> Option<TurnRef<'p>> {
        TurnRef::at(self.leaves, self.entry.turn.as_ref()?.to_native())
    }

    /// Whether some of its text is not here: it did not fit the bytes of the window, or stays in the log.
    pub fn truncated(&self) -> bool {
        match self.kind() {
            ItemKind::Text(part) | ItemKind::Reasoning(part) | ItemKind::Activity(part) => part.text().is_some_and(|text| text.truncated()),
            ItemKind::Tool(tool) => {
                let results = tool.results().any(|result| result.content().is_some_and(|text| text.truncated()));
                results || tool.args().truncated() || tool.output().truncated()
            }
            ItemKind::Result(result) => result.content().is_some_and(|text| text.truncated()),
            _ => false,
        }
    }
}

/// A text, reasoning or activity part.
#[derive(Clone, Copy, Debug)]
pub struct PartItem<'p> {
    leaves: &'p Leaves,
    ordinal: i64,
    part: &'p ArchivedPart,
}

impl<'p> PartItem<'p> {
    verbatim! { part:
        /// Part id.
        id = id,
        /// Message id.
        message = message,
        /// Role, verbatim.
        role = role;
        /// Author name.
        name = name,
        /// Subagent run.
        agent = agent,
        /// Activity type.
        subtype = subtype,
        /// Encrypted value.
        sealed = sealed,
        /// Error of the message, JSON.
        error = error,
        /// Metadata, a JSON object.
        metadata = metadata,
    }

    /// Its text; `None` when none was stated.
    pub fn text(&self) -> Option<LongText<'p>> {
        let content = self.part.content.as_ref()?;
        Some(LongText::of_content(self.leaves, self.ordinal, Field::TEXT, content, Some(self.part.message.as_str())))
    }

    /// How its text came to stand.
    pub fn mark(&self) -> Mark {
        match self.part.mark {
            ArchivedMark::Open => Mark::Open,
            ArchivedMark::Closed => Mark::Closed,
            ArchivedMark::Match => Mark::Match,
            ArchivedMark::FinalOnly => Mark::FinalOnly,
            ArchivedMark::Extended => Mark::Extended,
            ArchivedMark::Replaced => Mark::Replaced,
            ArchivedMark::Superseded => Mark::Superseded,
        }
    }

    /// Name of the document that holds an activity's content, for [`crate::View::document`].
    pub fn document(&self) -> String {
        format!("activity:{}", self.message())
    }
}

/// A tool call.
#[derive(Clone, Copy, Debug)]
pub struct ToolItem<'p> {
    leaves: &'p Leaves,
    ordinal: i64,
    tool: &'p ArchivedTool,
}

impl<'p> ToolItem<'p> {
    verbatim! { tool:
        /// Tool call id.
        id = id,
        /// Tool name.
        name = name,
        /// Message that the call belongs to.
        message = message,
        /// running, succeeded, failed, or the source's own word.
        status = status;
        /// Subagent run.
        agent = agent,
        /// Progress, JSON.
        progress = progress,
        /// Error, JSON.
        error = error,
        /// Kind, summary, risk, JSON.
        detail = detail,
        /// Encrypted value.
        sealed = sealed,
        /// Metadata of the call, a JSON object.
        metadata = metadata,
        /// Metadata of the message that the call made for itself, a JSON object.
        message_metadata = message_metadata,
    }

    /// Argument text.
    pub fn args(&self) -> LongText<'p> {
        LongText::of(self.leaves, self.ordinal, Field::ARGS, &self.tool.args)
    }

    /// Whether the arguments are complete.
    pub fn args_ended(&self) -> bool {
        self.tool.args_ended
    }

    /// Streamed output.
    pub fn output(&self) -> LongText<'p> {
        LongText::of(self.leaves, self.ordinal, Field::OUTPUT, &self.tool.output)
    }

    /// Results, in arrival order.
    pub fn results(&self) -> impl Iterator<Item = ResultItem<'p>> + use<'p> {
        let Self { leaves, ordinal, tool } = *self;
        tool.results.iter().enumerate().map(move |(index, result)| ResultItem { leaves, ordinal, tool: &tool.id, index, result })
    }
}

/// One result of a tool call.
#[derive(Clone, Copy, Debug)]
pub struct ResultItem<'p> {
    leaves: &'p Leaves,
    ordinal: i64,
    tool: &'p str,
    index: usize,
    result: &'p ArchivedToolResult,
}

impl<'p> ResultItem<'p> {
    verbatim! { result: ;
        /// Id of the message that carried it.
        message = message,
        /// Reference to output kept elsewhere.
        reference = reference,
        /// Error text.
        error = error,
        /// Subagent run.
        agent = agent,
        /// Preview, duration and the like, JSON.
        detail = detail,
        /// Encrypted value.
        sealed = sealed,
        /// Metadata, a JSON object.
        metadata = metadata,
    }

    /// Tool call id.
    pub fn tool(&self) -> &'p str {
        self.tool
    }

    /// Seq at which it arrived: the order among results of one message.
    pub fn seq(&self) -> Option<Seq> {
        Seq::new(self.result.seq.to_native())
    }

    /// Its content; `None` when none was stated.
    pub fn content(&self) -> Option<LongText<'p>> {
        let content = self.result.content.as_ref()?;
        Some(LongText::of_content(self.leaves, self.ordinal, Field::result(self.index), content, self.message()))
    }
}

/// A question and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct InteractionItem<'p> {
    asked: &'p ArchivedInteraction,
}

impl<'p> InteractionItem<'p> {
    verbatim! { asked:
        /// Interaction id.
        id = id,
        /// approval, interrupt, elicitation.. verbatim.
        kind = kind;
        /// The request, JSON; `None` for a decision that came without one.
        request = request,
        /// The interrupt that asked for it, JSON.
        interrupt = interrupt,
        /// Turn that asked.
        turn = turn,
        /// Tool call that waits.
        tool = tool,
        /// When it expires, verbatim.
        expires_at = expires_at,
    }

    /// Where it stands.
    pub fn status(&self) -> InteractionStatus {
        match self.asked.status {
            ArchivedInteractionStatus::Pending => InteractionStatus::Pending,
            ArchivedInteractionStatus::Resolved => InteractionStatus::Resolved,
            ArchivedInteractionStatus::Withdrawn => InteractionStatus::Withdrawn,
        }
    }

    /// How often the request was replaced.
    pub fn revision(&self) -> u32 {
        self.asked.revision.to_native()
    }

    /// The decision that stands.
    pub fn decision(&self) -> Option<DecisionItem<'p>> {
        self.asked.decision.as_ref().map(|decision| DecisionItem { decision })
    }

    /// Decisions that came after it.
    pub fn conflicts(&self) -> impl Iterator<Item = DecisionItem<'p>> + use<'p> {
        self.asked.conflicts.iter().map(|decision| DecisionItem { decision })
    }
}

/// A decision on an interaction.
#[derive(Clone, Copy, Debug)]
pub struct DecisionItem<'p> {
    decision: &'p ArchivedDecision,
}

impl<'p> DecisionItem<'p> {
    verbatim! { decision:
        /// resolved, cancelled or expired.
        resolution = resolution;
        /// Decision id.
        id = id,
        /// Everything it said, JSON.
        payload = payload,
        /// Backend receipt, JSON.
        receipt = receipt,
    }
}
