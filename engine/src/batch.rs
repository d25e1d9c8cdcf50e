//! Facts on their way in: encoded and measured on the caller's thread.
//!
//! **Invariant:** a batch is appended whole or not at all; its digest is over the facts alone, so that the same facts under the same
//! key are recognized after a restart.

use std::collections::BTreeMap;
use std::ops::Range;

use turnstore_storage::{BatchDigest, BatchKey};

use crate::control::approval;
use crate::error::Error;
use crate::event::{self, Stated};
use crate::fact::{ArtifactReference, Fact};
use crate::limits::{ID_BYTES_MAX, Limits, TURN_ARTIFACTS_BYTES_MAX, TURN_ARTIFACTS_MAX};

/// One encoded fact.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) range: Range<usize>,
    /// Place in `Batch::streams`, and the sequence number there.
    pub(crate) mark: Option<(usize, u64)>,
    /// The event's own id, when it has no sequence.
    pub(crate) event_id: Option<String>,
    /// Which part of its source event it is, when that gave several.
    pub(crate) part: Option<u16>,
}

/// Facts that are appended together, all or nothing, to one session.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) spans: Vec<Span>,
    pub(crate) streams: Vec<String>,
    pub(crate) expected: Option<u64>,
    pub(crate) key: Option<String>,
    pub(crate) asks: Asks,
    refused: Option<(usize, String)>,
    largest: Largest,
}

impl Batch {
    /// Encodes facts, in order. What is wrong with one of them is told by the append. Cost: one copy of the facts.
    pub fn of<'a, F: Into<Stated<'a>>>(facts: impl IntoIterator<Item = F>) -> Self {
        let mut batch = Self::default();
        let mut known = BTreeMap::new();
        for fact in facts {
            batch.push(&fact.into(), &mut known);
        }
        batch
    }

    fn push(&mut self, stated: &Stated<'_>, known: &mut BTreeMap<String, usize>) {
        let start = self.bytes.len();
        if let Err(error) = event::encode(stated, &mut self.bytes) {
            self.refused.get_or_insert((self.spans.len(), error.to_string()));
        }
        if matches!(&stated.fact, Fact::TurnArtifactsSet(set) if set.references.iter().any(|reference| reference.path.is_empty())) {
            self.refused.get_or_insert((self.spans.len(), "an artifact's path is empty".to_owned()));
        }
        if approval::is_missing(stated) {
            self.refused.get_or_insert((self.spans.len(), "an action that nobody can take back names no approval".to_owned()));
        }
        self.largest.take(self.spans.len(), stated);
        self.asks.take(&stated.fact);
        let mark = stated.source.stream.as_ref().map(|(name, seq)| {
            let place = known.get(name.as_ref()).copied().unwrap_or_else(|| {
                self.streams.push(name.to_string());
                known.insert(name.to_string(), self.streams.len() - 1);
                self.streams.len() - 1
            });
            (place, *seq)
        });
        let event_id = stated.source.event_id.as_deref().filter(|_| mark.is_none()).map(str::to_owned);
        let part = stated.source.part.map(|(part, _)| part);
        self.spans.push(Span { range: start..self.bytes.len(), mark, event_id, part });
    }

    /// Appends only if the session's last seq is `seq`; 0 is an empty session.
    #[must_use]
    pub fn expect(mut self, seq: u64) -> Self {
        self.expected = Some(seq);
        self
    }

    /// Makes the append happen once: the same key with the same facts gives the first receipt again, for as long as the log lives.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// How many facts it holds.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(crate) fn stored_key(&self) -> Option<(BatchKey, BatchDigest)> {
        let short = |bytes: &[u8]| blake3::hash(bytes).as_bytes().first_chunk::<16>().copied().unwrap_or_default();
        self.key.as_ref().map(|key| (BatchKey(short(key.as_bytes())), BatchDigest(short(&self.bytes))))
    }

    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Error> {
        if let Some((index, reason)) = &self.refused {
            return Err(Error::Rejected { index: *index, reason: reason.clone() });
        }
        let too_large =
            |what, bytes: usize, limit, max: usize| Err(Error::TooLarge { what, bytes: bytes as u64, limit, bytes_max: max as u64 });
        if self.spans.len() > limits.batch_facts_max {
            return too_large("a batch", self.spans.len(), "batch_facts_max", limits.batch_facts_max);
        }
        if self.bytes.len() > limits.batch_bytes_max {
            return too_large("a batch", self.bytes.len(), "batch_bytes_max", limits.batch_bytes_max);
        }
        if let Some(span) = self.spans.iter().find(|span| span.range.len() > limits.fact_bytes_max) {
            return too_large("a fact", span.range.len(), "fact_bytes_max", limits.fact_bytes_max);
        }
        self.largest.check(limits)
    }
}

impl<'a> From<Fact<'a>> for Batch {
    fn from(fact: Fact<'a>) -> Self {
        Self::of([fact])
    }
}

impl<'a> From<Vec<Fact<'a>>> for Batch {
    fn from(facts: Vec<Fact<'a>>) -> Self {
        Self::of(facts)
    }
}

impl<'a> From<Vec<Stated<'a>>> for Batch {
    fn from(facts: Vec<Stated<'a>>) -> Self {
        Self::of(facts)
    }
}

impl<'a, const N: usize> From<[Fact<'a>; N]> for Batch {
    fn from(facts: [Fact<'a>; N]) -> Self {
        Self::of(facts)
    }
}

/// How many interactions may wait after a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asks {
    /// The owner's whole list is stated: what waited before does not count.
    whole: bool,
    count: usize,
}

impl Asks {
    fn take(&mut self, fact: &Fact<'_>) {
        match fact {
            Fact::InteractionRequested(_) => self.count += 1,
            Fact::CurrentTurnAsserted(asserted) => {
                *self = Self { whole: true, count: asserted.current.as_ref().map_or(0, |current| current.pending.len()) };
            }
            _ => {}
        }
    }

    /// The most that can wait when so many wait before.
    pub(crate) fn after(self, before: usize) -> usize {
        if self.whole { self.count } else { before.saturating_add(self.count) }
    }

    /// Whether the batch asks nothing.
    pub(crate) fn is_none(self) -> bool {
        self.count == 0
    }
}

/// The largest of what a batch's facts hold, each with the index of its fact: what the append compares with its limits.
#[derive(Clone, Debug, Default)]
struct Largest {
    id: Option<(usize, &'static str, usize)>,
    artifacts: Option<(usize, usize)>,
    artifacts_bytes: Option<(usize, usize)>,
}

impl Largest {
    fn take(&mut self, index: usize, stated: &Stated<'_>) {
        let mut longest = |what, id: &str| {
            if self.id.is_none_or(|(_, _, bytes)| bytes < id.len()) {
                self.id = Some((index, what, id.len()));
            }
        };
        stated.fact.ids(&mut longest);
        let source = &stated.source;
        source.name.iter().for_each(|name| longest("event name", name));
        source.event_id.iter().for_each(|id| longest("event id", id));
        source.stream.iter().for_each(|(name, _)| longest("source stream", name));
        stated.fact.artifact_lists(&mut |list| {
            let bytes = list.iter().map(artifact_bytes).sum();
            if self.artifacts.is_none_or(|(_, known)| known < list.len()) {
                self.artifacts = Some((index, list.len()));
            }
            if self.artifacts_bytes.is_none_or(|(_, known)| known < bytes) {
                self.artifacts_bytes = Some((index, bytes));
            }
        });
    }

    fn check(&self, limits: &Limits) -> Result<(), Error> {
        let refuse = |index, reason| Err(Error::Rejected { index, reason });
        // A limit may be lowered; what the rows are made for is the highest that it can be.
        let id_bytes_max = limits.id_bytes_max.min(ID_BYTES_MAX);
        if let Some((index, what, bytes)) = self.id.filter(|(_, _, bytes)| *bytes > id_bytes_max) {
            return refuse(index, format!("{what} of {bytes} bytes is above id_bytes_max = {id_bytes_max}"));
        }
        let artifacts_max = limits.turn_artifacts_max.min(TURN_ARTIFACTS_MAX);
        if let Some((index, count)) = self.artifacts.filter(|(_, count)| *count > artifacts_max) {
            return refuse(index, format!("{count} artifacts of one turn are above turn_artifacts_max = {artifacts_max}"));
        }
        match self.artifacts_bytes.filter(|(_, bytes)| *bytes > TURN_ARTIFACTS_BYTES_MAX) {
            Some((index, bytes)) => {
                let reason =
                    format!("artifacts of one turn of {bytes} bytes are above turn_artifacts_bytes_max = {TURN_ARTIFACTS_BYTES_MAX}");
                refuse(index, reason)
            }
            None => Ok(()),
        }
    }
}

/// What a reference takes in its turn's entry.
fn artifact_bytes(reference: &ArtifactReference<'_>) -> usize {
    reference.path.len() + reference.artifact_type.len() + 16
}

/// Checks a session id.
pub(crate) fn check_session(id: &str, limits: &Limits) -> Result<(), Error> {
    let reason = if id.is_empty() {
        "it is empty"
    } else if id.len() > limits.session_id_bytes_max {
        "it is longer than session_id_bytes_max"
    } else if id.chars().any(char::is_control) {
        "it has a control character"
    } else {
        return Ok(());
    };
    let id = id.chars().take(40).collect();
    Err(Error::SessionId { id, reason })
}
