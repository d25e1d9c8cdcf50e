//! What to show of something whose facts are missing, late or in conflict. Source: `protocols.md`, section 8.
//!
//! **Invariant:** derived when it is asked for and stored nowhere; of several the first counts, in the order in which they are declared.

use super::beside::SurfaceSummary;
use super::item::{InteractionItem, ToolItem};
use super::sessions::SessionSummary;
use super::shelf::DocumentSummary;
use super::turn::TurnRef;
use crate::state::{Artifact, Evidence, InteractionStatus};

/// Something else than a value, to be shown as what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fallback {
    /// Its owner said that it failed.
    Failed,
    /// Decisions, receipts or verdicts contradict each other.
    Disputed,
    /// Something of it waits for a person.
    NeedsInput,
    /// It waits for another fact, such as the end of a turn that runs.
    Blocked,
    /// It may not be what its owner has.
    Stale,
    /// It was asked for and has not come. Only who asks knows: nothing here derives it.
    Loading,
    /// Its producer does not provide it, or it is deleted.
    Unavailable,
    /// It is known, and nothing was said of it.
    Unknown,
}

impl Fallback {
    /// The word for it: failed, disputed, needs-input, blocked, stale, loading, unavailable, unknown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Disputed => "disputed",
            Self::NeedsInput => "needs-input",
            Self::Blocked => "blocked",
            Self::Stale => "stale",
            Self::Loading => "loading",
            Self::Unavailable => "unavailable",
            Self::Unknown => "unknown",
        }
    }

    /// The one to show of several; `None` when there is none: show the value.
    pub fn first(of: impl IntoIterator<Item = Self>) -> Option<Self> {
        of.into_iter().min()
    }

    fn when<const N: usize>(all: [(bool, Self); N]) -> Option<Self> {
        Self::first(all.into_iter().filter_map(|(holds, fallback)| holds.then_some(fallback)))
    }
}

impl TurnRef<'_> {
    /// What to show instead of its status. What waits within it is the interactions' to say.
    pub fn fallback(&self) -> Option<Fallback> {
        let status = self.stated_status();
        Fallback::when([
            (status == "failed", Fallback::Failed),
            (self.unobserved(), Fallback::Stale),
            (status == "unknown", Fallback::Unknown),
        ])
    }
}

impl ToolItem<'_> {
    /// What to show instead of its result.
    pub fn fallback(&self) -> Option<Fallback> {
        Fallback::when([(self.status() == "failed", Fallback::Failed), (self.status() == "unknown", Fallback::Unknown)])
    }
}

impl InteractionItem<'_> {
    /// What to show instead of its decision.
    pub fn fallback(&self) -> Option<Fallback> {
        Fallback::when([
            (self.conflicts_count() > 0, Fallback::Disputed),
            (self.status() == InteractionStatus::Pending, Fallback::NeedsInput),
            (self.request().is_none() && self.interrupt().is_none(), Fallback::Unavailable),
        ])
    }
}

impl Artifact {
    /// What to show instead of its content.
    pub fn fallback(&self) -> Option<Fallback> {
        let status = self.status.as_str();
        Fallback::when([
            (status == "failed", Fallback::Failed),
            (status == "stale", Fallback::Stale),
            (status == "deleted", Fallback::Unavailable),
            // One that is stated by its path has no status, and lacks none.
            (self.id.is_some() && status == "unknown", Fallback::Unknown),
        ])
    }
}

impl Evidence {
    /// What to show instead of its verdict.
    pub fn fallback(&self) -> Option<Fallback> {
        Fallback::when([
            (self.status.as_deref() == Some("failed"), Fallback::Failed),
            (self.verdict_changes > 0, Fallback::Disputed),
            (self.verdict.is_none() && self.status.is_none(), Fallback::Unknown),
        ])
    }
}

impl SurfaceSummary {
    /// What to show instead of it. Whether its catalogs are there is [`crate::catalog::Catalogs::check_surface`]'s to say.
    pub fn fallback(&self) -> Option<Fallback> {
        Fallback::when([(self.stale, Fallback::Stale), (self.closed, Fallback::Unavailable)])
    }
}

impl DocumentSummary {
    /// What to say of its value.
    pub fn fallback(&self) -> Option<Fallback> {
        Fallback::when([(self.stale, Fallback::Stale)])
    }
}

impl SessionSummary {
    /// What a list shows of it instead of its status.
    pub fn fallback(&self) -> Option<Fallback> {
        Fallback::when([
            (self.failed, Fallback::Failed),
            (self.pending > 0, Fallback::NeedsInput),
            (self.queued > 0 && self.running, Fallback::Blocked),
            (self.unobserved, Fallback::Stale),
        ])
    }
}
