//! Checks before anything is written: expected seq, idempotency key, source marks, event ids.

use turnstore_storage::{BatchDigest, BatchKey, FrameBuilder, KeyRecord, Position, Seq};

use super::desk::Desk;
use super::sources::{EventIds, Open};
use crate::batch::Batch;
use crate::error::Error;
use crate::event;
use crate::index::Mark;
use crate::limits::{Limits, PENDING_MAX};

/// A batch that stands in the frame and waits for the commit.
pub(crate) struct Admitted {
    pub(crate) first: Option<Position>,
    pub(crate) last: Option<Position>,
    pub(crate) first_seq: u64,
    pub(crate) seq: u64,
    pub(crate) dropped: usize,
    /// The batch stands in the frame already, under its key.
    pub(crate) duplicate: bool,
    /// Which facts of the batch were appended, by index.
    pub(crate) kept: Vec<usize>,
}

/// What a check found.
pub(crate) enum Verdict {
    /// Goes into the frame.
    Admitted(Admitted),
    /// The key was used for the same facts before.
    Repeat(KeyRecord),
}

/// Checks a batch against its session and puts what is new into the frame, stamped.
pub(crate) fn admit(
    desk: &mut Desk,
    batch: &mut Batch,
    frame: &mut FrameBuilder,
    now: i64,
    limits: &Limits,
    reader: Open<'_>,
) -> Result<Verdict, Error> {
    let key = batch.stored_key();
    if let Some((key, digest)) = key
        && let Some(record) = known_key(desk, &key, reader)?
    {
        return repeat(batch, record, digest);
    }
    if let Some(expected) = batch.expected.filter(|expected| *expected != desk.admitted) {
        return Err(Error::Conflict { session: desk.name.to_string(), expected, actual: desk.admitted });
    }
    let waiting = batch.asks.after(desk.may_wait());
    if waiting > PENDING_MAX && !batch.asks.is_none() {
        let (what, bytes, bytes_max) = ("what may wait for an answer", waiting as u64, PENDING_MAX as u64);
        return Err(Error::TooLarge { what, bytes, limit: "pending_max", bytes_max });
    }
    let kept = fresh(desk, batch, limits, reader)?;
    let mut admitted = Admitted {
        first: None,
        last: None,
        first_seq: desk.admitted + 1,
        seq: desk.admitted,
        dropped: batch.len() - kept.len(),
        duplicate: false,
        kept: Vec::new(),
    };
    for index in &kept {
        let Some(bytes) = batch.spans.get(*index).and_then(|span| batch.bytes.get_mut(span.range.clone())) else { continue };
        event::stamp(bytes, now);
        let seq = Seq::new(desk.admitted + 1).unwrap_or(Seq::FIRST);
        let position = frame.push(desk.stream, seq, bytes)?;
        admitted.first = admitted.first.or(Some(position));
        admitted.last = Some(position);
        desk.admitted = seq.get();
    }
    admitted.kept = kept;
    admitted.seq = desk.admitted;
    if let (Some(first), Some(last)) = (admitted.first, admitted.last) {
        frame.end_batch(key);
        if let Some((key, digest)) = key {
            desk.keys.insert(key, KeyRecord { first, last, digest });
        }
        remember(desk, batch, admitted.first_seq, &admitted.kept, limits);
        desk.asked(waiting);
    }
    Ok(Verdict::Admitted(admitted))
}

fn known_key(desk: &Desk, key: &BatchKey, reader: Open<'_>) -> Result<Option<KeyRecord>, Error> {
    if let Some(record) = desk.keys.get(key) {
        return Ok(Some(*record));
    }
    if desk.admitted == 0 {
        return Ok(None);
    }
    Ok(reader()?.key(desk.stream, key)?)
}

fn repeat(batch: &Batch, record: KeyRecord, digest: BatchDigest) -> Result<Verdict, Error> {
    if record.digest == digest {
        Ok(Verdict::Repeat(record))
    } else {
        Err(Error::KeyReused { key: batch.key.clone().unwrap_or_default(), first: record.first })
    }
}

/// Facts that the session does not have yet: beyond their source's mark, or with an event id that is not remembered; and each once, so
/// that it makes no difference how facts are batched.
fn fresh(desk: &mut Desk, batch: &Batch, limits: &Limits, reader: Open<'_>) -> Result<Vec<usize>, Error> {
    let mut marks = Vec::with_capacity(batch.streams.len());
    for source in &batch.streams {
        marks.push(desk.sources.mark(reader, desk.stream, source)?);
    }
    let mut kept = Vec::with_capacity(batch.len());
    let mut ids = EventIds::<&str>::default();
    let retained_max = limits.event_ids_retained_max;
    for (index, span) in batch.spans.iter().enumerate() {
        let next = desk.admitted + kept.len() as u64 + 1;
        let fresh = match (&span.mark, &span.event_id) {
            (Some((source, seq)), _) => marks.get_mut(*source).is_none_or(|mark| {
                let place = Mark { seq: *seq, part: span.part };
                let fresh = mark.is_none_or(|mark| !mark.covers(place));
                if fresh {
                    *mark = Some(place);
                }
                fresh
            }),
            (None, Some(id)) => {
                let before = desk.sources.event_ids(reader, desk.stream, desk.admitted, retained_max)?;
                let fresh = !before.knows(id, span.part, next, retained_max) && !ids.knows(id, span.part, next, retained_max);
                if fresh {
                    ids.insert(id, span.part, next, retained_max);
                }
                fresh
            }
            (None, None) => true,
        };
        if fresh {
            kept.push(index);
        }
    }
    Ok(kept)
}

/// Remembers the sources of what was admitted, from `first_seq` on.
fn remember(desk: &mut Desk, batch: &Batch, first_seq: u64, kept: &[usize], limits: &Limits) {
    for (seq, span) in (first_seq..).zip(kept.iter().filter_map(|index| batch.spans.get(*index))) {
        match (&span.mark, &span.event_id) {
            (Some((source, number)), _) => {
                if let Some(source) = batch.streams.get(*source) {
                    desk.sources.raise(source, Mark { seq: *number, part: span.part });
                }
            }
            (None, Some(id)) => desk.sources.admit_event(id, span.part, seq, limits.event_ids_retained_max),
            (None, None) => {}
        }
    }
}
