//! A session folded again from the log, because its rows are lost.
//!
//! **Invariant:** what it folds to is what the rows held: the log alone decides. Memory grows with the session: this is the rare way.

use turnstore_storage::{Position, Reader, Seq, Stream};

use crate::error::Error;
use crate::event;
use crate::state::Session;

/// A session as the log has it.
#[derive(Debug)]
pub(crate) struct Refolded {
    pub(crate) session: Session,
    /// Position of the last event folded; `None` when there was none.
    pub(crate) last_position: Option<Position>,
    /// Milliseconds since 1970 of that event.
    pub(crate) recorded_at: i64,
}

/// Folds a session from its first event on, for as long as `wanted` says so of a place. Cost: its events, as far as they are wanted.
pub(crate) fn refold(reader: &Reader, stream: Stream, wanted: impl Fn(Position, Seq) -> bool) -> Result<Refolded, Error> {
    let mut folded = Refolded { session: Session::empty(), last_position: None, recorded_at: 0 };
    for frame in reader.frames_of(stream, Seq::FIRST)? {
        for entry in frame?.entries() {
            let entry = entry?;
            if entry.stream != stream {
                continue;
            }
            if !wanted(entry.position, entry.seq) {
                return Ok(folded);
            }
            let event = event::decode(entry.position, stream, entry.seq, entry.bytes)
                .map_err(|source| Error::Event { position: entry.position, source })?;
            folded.session.reduce(&event);
            folded.last_position = Some(entry.position);
            folded.recorded_at = event.recorded_at;
        }
    }
    Ok(folded)
}
