//! Chunk lanes: the message or call that chunks of one owner are going on with.
//!
//! **Invariant:** at most one lane is open for each owner.

use std::collections::BTreeMap;

use super::order::Span;

/// An open lane.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) span: Span,
    pub(super) id: String,
    pub(super) agent: Option<String>,
    /// What the opening chunk said: role and name of a message, name and parent of a call.
    pub(super) said: [Option<String>; 2],
}

/// What a chunk goes on with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Goes {
    /// The open lane of this owner.
    On(Option<String>),
    /// A new lane of this owner.
    New(Option<String>),
    /// The chunk names another owner than the lane that holds its id; it goes on there.
    Astray(Option<String>),
    /// Several lanes could be meant.
    Ambiguous,
}

/// The open lanes by owner.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    open: BTreeMap<Option<String>, Lane>,
}

impl Lanes {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Lane> {
        self.open.values()
    }

    pub(super) fn close(&mut self, owner: Option<&str>) -> Option<Lane> {
        self.open.remove(&owner.map(str::to_owned))
    }

    pub(super) fn close_all(&mut self) -> impl Iterator<Item = Lane> + use<> {
        std::mem::take(&mut self.open).into_values()
    }

    pub(super) fn put(&mut self, owner: Option<String>, lane: Lane) {
        self.open.insert(owner, lane);
    }

    pub(super) fn get(&self, owner: &Option<String>) -> Option<&Lane> {
        self.open.get(owner)
    }

    /// Finds the lane of a chunk by its id, its owner, or the only lane of its kind.
    pub(super) fn find(&self, span: Span, id: Option<&str>, agent: Option<&str>) -> Goes {
        let of_kind = |lane: &Lane| lane.span == span;
        let tagged = agent.map(str::to_owned);
        let goes = |owner: Option<String>| match self.open.get(&owner) {
            Some(lane) if of_kind(lane) && id.is_none_or(|id| id == lane.id) => Goes::On(owner),
            _ => Goes::New(owner),
        };
        if let Some(id) = id {
            return match self.open.iter().find(|(_, lane)| of_kind(lane) && lane.id == id) {
                Some((owner, _)) if tagged.is_some() && tagged != *owner => Goes::Astray(owner.clone()),
                Some((owner, _)) => Goes::On(owner.clone()),
                None => goes(tagged),
            };
        }
        if tagged.is_some() || self.open.get(&None).is_some_and(of_kind) {
            return goes(tagged);
        }
        let mut candidates = self.open.iter().filter(|(_, lane)| of_kind(lane)).map(|(owner, _)| owner.clone());
        match (candidates.next(), candidates.next()) {
            (Some(owner), None) => Goes::On(owner),
            (Some(_), Some(_)) => Goes::Ambiguous,
            (None, _) => Goes::New(None),
        }
    }
}
