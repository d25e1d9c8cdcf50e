//! Facts on their way in: encoded and measured on the caller's thread.
//!
//! **Invariant:** a batch is appended whole or not at all; its digest is over the facts alone, so that the same facts under the same
//! key are recognized after a restart.

use std::collections::BTreeMap;
use std::ops::Range;

use turnstore_storage::{BatchDigest, BatchKey};

use crate::error::Error;
use crate::event::{self, Stated};
use crate::fact::Fact;
use crate::limits::Limits;

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
    refused: Option<(usize, String)>,
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
        if let Some(reason) = unfit(&stated.fact) {
            self.refused.get_or_insert((self.spans.len(), reason));
        }
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
        if let Some(name) = self.streams.iter().find(|name| name.len() > limits.id_bytes_max) {
            return too_large("the name of a source stream", name.len(), "id_bytes_max", limits.id_bytes_max);
        }
        Ok(())
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

/// Ids, names and paths in a fact may be this long; they stand in memory and in indexes.
const ID_BYTES_MAX: usize = 4096;
/// References in one statement of a turn's artifacts; they stand in the turn's own entry.
const TURN_ARTIFACTS_MAX: usize = 10_000;

/// Why a fact is not acceptable, whatever the session holds.
fn unfit(fact: &Fact<'_>) -> Option<String> {
    let mut ids: Vec<(&str, &str)> = Vec::new();
    match fact {
        Fact::PartDelta(delta) => ids.push(("part", &delta.part)),
        Fact::PartOpened(opened) => {
            ids.extend([("part", opened.part.as_ref()), ("message", &opened.message), ("role", &opened.role)]);
            ids.extend(opened.turn.as_deref().map(|turn| ("turn", turn)));
        }
        Fact::ToolChanged(changed) => ids.push(("tool", &changed.tool)),
        Fact::TurnStarted(started) => ids.push(("turn", &started.turn)),
        Fact::TurnEnded(ended) => ids.extend(ended.turn.as_deref().map(|turn| ("turn", turn))),
        Fact::InteractionRequested(asked) => ids.push(("interaction", &asked.interaction)),
        Fact::InteractionResolved(resolved) => ids.push(("interaction", &resolved.interaction)),
        Fact::DocumentSet(set) => ids.push(("document", &set.document)),
        Fact::DocumentPatched(patched) => ids.push(("document", &patched.document)),
        Fact::TurnArtifactsSet(set) => {
            if set.references.len() > TURN_ARTIFACTS_MAX {
                return Some(format!("{} artifacts are above turn_artifacts_max = {TURN_ARTIFACTS_MAX}", set.references.len()));
            }
            ids.push(("turn", &set.turn));
            ids.extend(set.references.iter().map(|reference| ("path", reference.path.as_ref())));
            if ids.iter().any(|(what, id)| *what == "path" && id.is_empty()) {
                return Some("an artifact's path is empty".to_owned());
            }
        }
        _ => {}
    }
    let long = ids.iter().find(|(_, id)| id.len() > ID_BYTES_MAX)?;
    Some(format!("{} id of {} bytes is above id_bytes_max = {ID_BYTES_MAX}", long.0, long.1.len()))
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
