//! Walking the log in short steps: no transaction outlives a step, and no step reads more than a bounded burst.
//!
//! **Invariant:** every event up to the limit comes once, in order.

use std::collections::VecDeque;

use turnstore_storage::{Frame, Position, Seq, Stream};

use crate::error::Error;
use crate::event::{self, Event};
use crate::shared::Shared;

/// Frames that one step reads at most.
const STEP_FRAMES_MAX: usize = 512;
/// Bytes of frames after which a step ends; one frame can be larger.
const STEP_BYTES_SOFT_MAX: usize = 256 << 10;

/// An event that owns its bytes.
#[derive(Clone, Debug)]
pub struct OwnedEvent {
    position: Position,
    stream: Stream,
    seq: Seq,
    bytes: Box<[u8]>,
}

impl OwnedEvent {
    /// Its place in the whole log.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Its session, by number; [`crate::View::session_name`] has the id.
    pub fn session(&self) -> Stream {
        self.stream
    }

    /// Its place within the session.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Its stored bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it says, borrowed. Errors: [`Error::Event`]: the bytes are not those of an event; other events stay readable.
    pub fn event(&self) -> Result<Event<'_>, Error> {
        let decoded = event::decode(self.position, self.stream, self.seq, &self.bytes);
        decoded.map_err(|source| Error::Event { position: self.position, source })
    }
}

/// A place in the log that moves on.
#[derive(Debug)]
pub(crate) struct Walk {
    /// Only this session's events.
    stream: Option<Stream>,
    next: Position,
    next_seq: Seq,
    /// Frames that were read and are not used up; the first one from entry `skip` on.
    frames: VecDeque<Frame>,
    ready: VecDeque<OwnedEvent>,
}

impl Walk {
    /// From a position on, of every session.
    pub(crate) fn of_log(from: Position) -> Self {
        Self { stream: None, next: from, next_seq: Seq::FIRST, frames: VecDeque::new(), ready: VecDeque::new() }
    }

    /// From a seq and a position on, of one session.
    pub(crate) fn of_session(stream: Stream, from: Seq, position: Position) -> Self {
        Self { stream: Some(stream), next: position, next_seq: from, frames: VecDeque::new(), ready: VecDeque::new() }
    }

    /// The next event at or below `up_to`; `None` when there is none (yet). What was read beyond is kept, within a burst.
    pub(crate) fn next(&mut self, shared: &Shared, up_to: Position) -> Result<Option<OwnedEvent>, Error> {
        loop {
            if let Some(event) = self.ready.front() {
                return Ok(if event.position <= up_to { self.ready.pop_front() } else { None });
            }
            if self.frames.is_empty() {
                if self.next > up_to {
                    return Ok(None);
                }
                self.step(shared, up_to)?;
                if self.frames.is_empty() {
                    return Ok(None);
                }
            }
            self.open()?;
        }
    }

    /// Takes the first frame apart.
    fn open(&mut self) -> Result<(), Error> {
        let Some(frame) = self.frames.pop_front() else { return Ok(()) };
        for entry in frame.entries() {
            let entry = entry?;
            let wanted = match self.stream {
                Some(stream) => entry.stream == stream && entry.seq >= self.next_seq,
                None => true,
            };
            if wanted && entry.position >= self.next {
                self.ready.push_back(OwnedEvent {
                    position: entry.position,
                    stream: entry.stream,
                    seq: entry.seq,
                    bytes: entry.bytes.into(),
                });
                self.next_seq = if self.stream.is_some() { entry.seq.next() } else { self.next_seq };
            }
        }
        self.next = self.next.max(frame.last().next());
        Ok(())
    }

    fn step(&mut self, shared: &Shared, up_to: Position) -> Result<(), Error> {
        let reader = shared.reader()?;
        match self.stream {
            Some(stream) if Some(self.next) <= reader.checkpoint() => self.take(reader.frames_of(stream, self.next_seq)?, up_to),
            _ => self.take(reader.frames(self.next)?, up_to),
        }
    }

    fn take(&mut self, frames: turnstore_storage::Frames<'_>, up_to: Position) -> Result<(), Error> {
        let mut bytes = 0;
        let mut last = None;
        for frame in frames {
            let frame = frame?;
            if frame.first() > up_to {
                break;
            }
            last = Some(frame.last());
            let wanted = self.stream.is_none_or(|stream| frame.streams().iter().any(|span| span.stream == stream));
            if wanted && frame.last() >= self.next {
                bytes += frame.body_bytes();
                self.frames.push_back(frame);
            }
            if self.frames.len() >= STEP_FRAMES_MAX || bytes >= STEP_BYTES_SOFT_MAX {
                return Ok(());
            }
        }
        if self.frames.is_empty() {
            // Nothing of the session up to here: the next step begins behind.
            self.next = last.map_or(up_to, |last| last.max(up_to)).next().max(self.next);
        }
        Ok(())
    }
}
