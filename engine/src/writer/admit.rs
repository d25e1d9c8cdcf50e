//! Checks before anything is written: expected seq, idempotency key, source marks, event ids.

use std::collections::{BTreeMap, BTreeSet};

use turnstore_storage::{BatchDigest, BatchKey, FrameBuilder, KeyRecord, Position, Reader, Seq};

use super::desk::Desk;
use crate::batch::{Batch, Span};
use crate::error::Error;
use crate::event;
use crate::limits::Limits;

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

type Open<'f> = &'f mut dyn FnMut() -> Result<Reader, Error>;

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
        raise(desk, batch, &admitted.kept, limits);
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

/// Facts that the session does not have yet: above their source's mark, or with an event id that is not remembered; and each once, so
/// that it makes no difference how facts are batched.
fn fresh(desk: &mut Desk, batch: &Batch, limits: &Limits, reader: Open<'_>) -> Result<Vec<usize>, Error> {
    let marks = batch.streams.iter().map(|source| desk.mark(reader, source)).collect::<Result<Vec<_>, _>>()?;
    let mut kept = Vec::with_capacity(batch.len());
    let mut here = Here::default();
    for (index, span) in batch.spans.iter().enumerate() {
        let known = match (&span.mark, &span.event_id) {
            (Some((source, seq)), _) => marks.get(*source).is_some_and(|mark| Some(*seq) <= *mark),
            (None, Some(id)) => desk.knows_event(reader, id, limits.event_ids_retained_max)?,
            (None, None) => false,
        };
        if !known && here.admits(span) {
            kept.push(index);
        }
    }
    Ok(kept)
}

/// What a batch itself has stated so far. The facts of one source event share its number or id, and differ in their part.
#[derive(Default)]
struct Here<'b> {
    /// The highest number of each source, with the part that came last.
    highest: BTreeMap<usize, (u64, Option<u16>)>,
    ids: BTreeSet<(&'b str, Option<u16>)>,
}

impl<'b> Here<'b> {
    fn admits(&mut self, span: &'b Span) -> bool {
        match (&span.mark, &span.event_id) {
            (Some((source, seq)), _) => {
                let admits = self.highest.get(source).is_none_or(|highest| *highest < (*seq, span.part));
                if admits {
                    self.highest.insert(*source, (*seq, span.part));
                }
                admits
            }
            (None, Some(id)) => self.ids.insert((id, span.part)),
            (None, None) => true,
        }
    }
}

fn raise(desk: &mut Desk, batch: &Batch, kept: &[usize], limits: &Limits) {
    for span in kept.iter().filter_map(|index| batch.spans.get(*index)) {
        match (&span.mark, &span.event_id) {
            (Some((source, seq)), _) => {
                if let Some(source) = batch.streams.get(*source) {
                    desk.raise(source, *seq);
                }
            }
            (None, Some(id)) => desk.admit_event(id, limits.event_ids_retained_max),
            (None, None) => {}
        }
    }
}
