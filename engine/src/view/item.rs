//! Items of a timeline, read in place.

use turnstore_storage::Seq;

use super::leaves::{Leaves, value};
use super::text::LongText;
use super::turn::TurnRef;
use crate::state::{
    ArchivedBody, ArchivedDecision, ArchivedEntry, ArchivedInteraction, ArchivedInteractionStatus, ArchivedMark, ArchivedPart,
    ArchivedTool, ArchivedToolResult, Field, InteractionStatus, Mark,
};
use crate::time::UnixMillis;

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
        detail: Option<LongText<'p>>,
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
            ArchivedBody::Result(lone) => ItemKind::Result(ResultItem { leaves, tool: &lone.tool, result: &lone.result }),
            ArchivedBody::Interaction(asked) => ItemKind::Interaction(InteractionItem { leaves, asked }),
            ArchivedBody::ArtifactRef(id) => ItemKind::ArtifactRef(id),
            ArchivedBody::EvidenceRef(id) => ItemKind::EvidenceRef(id),
            ArchivedBody::Compaction(marked) => ItemKind::Compaction { phase: &marked.phase, detail: value(leaves, &marked.detail) },
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
        self.leaves.cut(self.ordinal, self.entry)
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
        /// Metadata, a JSON object.
        metadata = metadata,
    }

    values! { part:
        /// Encrypted value.
        sealed,
        /// Error of the message, JSON.
        error,
    }

    /// Its text; `None` when none was stated.
    pub fn text(&self) -> Option<LongText<'p>> {
        let content = self.part.content.as_ref()?;
        Some(LongText::of_content(self.leaves, self.ordinal, Field::TEXT, content))
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
        /// Metadata of the call, a JSON object.
        metadata = metadata,
        /// Metadata of the message that the call made for itself, a JSON object.
        message_metadata = message_metadata,
    }

    values! { tool:
        /// Progress, JSON.
        progress,
        /// Error, JSON.
        error,
        /// Kind, summary, risk, JSON.
        detail,
        /// Encrypted value.
        sealed,
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
        let Self { leaves, tool, .. } = *self;
        tool.results.iter().map(move |result| ResultItem { leaves, tool: &tool.id, result })
    }
}

/// One result of a tool call.
#[derive(Clone, Copy, Debug)]
pub struct ResultItem<'p> {
    leaves: &'p Leaves,
    tool: &'p str,
    result: &'p ArchivedToolResult,
}

impl<'p> ResultItem<'p> {
    verbatim! { result: ;
        /// Id of the message that carried it.
        message = message,
        /// Reference to output kept elsewhere.
        reference = reference,
        /// Subagent run.
        agent = agent,
    }

    values! { result:
        /// Error text, or a JSON string.
        error,
        /// Preview, duration and the like, JSON.
        detail,
        /// Encrypted value.
        sealed,
        /// Metadata, a JSON object.
        metadata,
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
        self.result.content.as_ref().map(|content| LongText::of_value(self.leaves, content))
    }
}

/// When an interaction expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Nothing was stated.
    Never,
    /// At this time, which counts as past.
    At(UnixMillis),
    /// Something was stated that is no time: see [`InteractionItem::expires_at`].
    Unreadable,
}

impl Expiry {
    pub(super) fn of(stated: Option<&str>) -> Self {
        stated.map_or(Self::Never, |text| UnixMillis::parse(text).map_or(Self::Unreadable, Self::At))
    }

    /// Whether it lies at `now` or before.
    pub fn is_past(self, now: UnixMillis) -> bool {
        matches!(self, Self::At(at) if at <= now)
    }
}

/// A question and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct InteractionItem<'p> {
    leaves: &'p Leaves,
    asked: &'p ArchivedInteraction,
}

impl<'p> InteractionItem<'p> {
    verbatim! { asked:
        /// Interaction id.
        id = id,
        /// approval, interrupt, elicitation.. verbatim.
        kind = kind;
        /// Turn that asked.
        turn = turn,
        /// Tool call that waits.
        tool = tool,
        /// When it expires, verbatim.
        expires_at = expires_at,
    }

    values! { asked:
        /// The request, JSON; `None` for a decision that came without one.
        request,
        /// The interrupt that asked for it, JSON.
        interrupt,
    }

    /// Where it stands.
    pub fn status(&self) -> InteractionStatus {
        match self.asked.status {
            ArchivedInteractionStatus::Pending => InteractionStatus::Pending,
            ArchivedInteractionStatus::Resolved => InteractionStatus::Resolved,
            ArchivedInteractionStatus::Withdrawn => InteractionStatus::Withdrawn,
        }
    }

    /// When it expires, read. Never judged here: an expired one is pending until its owner says otherwise.
    pub fn expiry(&self) -> Expiry {
        Expiry::of(self.expires_at())
    }

    /// Whether it expired at `now` or before. One that never expires, or whose expiry cannot be read, did not.
    pub fn is_expired(&self, now: UnixMillis) -> bool {
        self.expiry().is_past(now)
    }

    /// How often the request was replaced.
    pub fn revision(&self) -> u32 {
        self.asked.revision.to_native()
    }

    /// The decision that stands.
    pub fn decision(&self) -> Option<DecisionItem<'p>> {
        self.asked.decision.as_ref().map(|decision| DecisionItem { leaves: self.leaves, decision })
    }

    /// Decisions that came after it: the first of them, up to [`crate::limits::CONFLICTS_MAX`].
    pub fn conflicts(&self) -> impl Iterator<Item = DecisionItem<'p>> + use<'p> {
        let Self { leaves, asked } = *self;
        asked.conflicts.iter().map(move |decision| DecisionItem { leaves, decision })
    }

    /// How many came after it in all.
    pub fn conflicts_count(&self) -> u64 {
        self.asked.conflicts_count.to_native()
    }
}

/// A decision on an interaction.
#[derive(Clone, Copy, Debug)]
pub struct DecisionItem<'p> {
    leaves: &'p Leaves,
    decision: &'p ArchivedDecision,
}

impl<'p> DecisionItem<'p> {
    verbatim! { decision:
        /// resolved, cancelled or expired.
        resolution = resolution;
        /// Decision id.
        id = id,
    }

    values! { decision:
        /// Everything it said, JSON.
        payload,
        /// Backend receipt, JSON.
        receipt,
    }
}
