//! Turns of a timeline, read in place.

use turnstore_storage::Seq;

use super::leaves::{Leaves, value};
use super::text::LongText;
use crate::state::{ArchivedBody, ArchivedEntry, ArchivedTurn};

/// A turn. Borrowed from its page.
#[derive(Clone, Copy, Debug)]
pub struct TurnRef<'p> {
    leaves: &'p Leaves,
    pub(super) ordinal: i64,
    entry: &'p ArchivedEntry,
    turn: &'p ArchivedTurn,
}

impl<'p> TurnRef<'p> {
    pub(super) fn at(leaves: &'p Leaves, ordinal: i64) -> Option<Self> {
        let entry = leaves.entry(ordinal)?;
        match &entry.body {
            ArchivedBody::Turn(turn) => Some(Self { leaves, ordinal, entry, turn }),
            _ => None,
        }
    }

    verbatim! { turn:
        /// Turn id.
        id = id,
        /// The status as it was stated: unknown, running, completed, failed, cancelled, stopped, interrupted, interrupt, or the source's
        /// own word.
        stated_status = status;
        /// Run id, when it differs.
        run = run,
        /// Thread that the source named.
        thread = thread,
        /// Parent turn or run.
        parent = parent,
        /// Turn that this one resumes.
        resumes = resumes,
        /// Last stage or open step.
        stage = stage,
    }

    values! { turn:
        /// Error, verbatim JSON.
        error,
        /// Result, JSON.
        result,
        /// Usage, JSON.
        usage,
    }

    /// The status to show: the stated one, or `unobserved` for a turn that a process left open which is gone.
    pub fn status(&self) -> &'p str {
        if self.unobserved() { "unobserved" } else { self.stated_status() }
    }

    /// Whether it has not ended, and was last touched by a process that no longer writes the store. Derived, never stored: what the host
    /// appends next decides. A turn of which nobody said that it runs stays `unknown`.
    ///
    /// What counts as touching it: whatever changed the turn or an item of it. Of a turn that is not the session's open one, items in
    /// other pages are not looked for.
    pub fn unobserved(&self) -> bool {
        !self.turn.ended && self.turn.status != *"unknown" && !self.leaves.observed(self.ordinal)
    }

    /// Whether a terminal status was stated.
    pub fn ended(&self) -> bool {
        self.turn.ended
    }

    /// Whether the owner says a retry can help.
    pub fn retryable(&self) -> Option<bool> {
        self.turn.retryable.as_ref().copied()
    }

    /// Tool calls left to the client: the first of them, up to [`crate::limits::LIST_BYTES_MAX`].
    pub fn pending_tools(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        self.turn.pending_tools.iter().map(|tool| tool.as_str())
    }

    /// How many are left to the client in all.
    pub fn pending_tools_count(&self) -> u64 {
        self.turn.pending_tools_count.to_native()
    }

    /// Paths and types of its artifacts; `None` when nothing was stated.
    pub fn artifacts(&self) -> Option<impl Iterator<Item = (&'p str, &'p str)> + use<'p>> {
        let artifacts = self.turn.artifacts.as_ref()?;
        Some(artifacts.iter().map(|artifact| (artifact.path.as_str(), artifact.artifact_type.as_str())))
    }

    /// How often it was started again after its end.
    pub fn reopened(&self) -> u32 {
        self.turn.reopened.to_native()
    }

    /// Seq of the event that created it.
    pub fn first_seq(&self) -> Option<Seq> {
        Seq::new(self.entry.first_seq.to_native())
    }

    /// Seq of the last event that changed the turn itself; its items have their own.
    pub fn last_seq(&self) -> Option<Seq> {
        Seq::new(self.entry.last_seq.to_native())
    }
}
