//! Iterating frames: main's, then the tail's.
//!
//! **Invariant:** positions join: a frame of the tail at or below the checkpoint is not seen, and a
//! missing frame is damage, never an end.

use crate::Error;
use crate::database::contained;
use crate::frame::Frame;
use crate::ids::{Position, Seq, StoreId, Stream};
use crate::live::LiveFrames;
use crate::main_frames::{FrameTable, MainFrames};
use crate::reader::Counts;
use crate::tables::SpanKey;
use redb::Range;

pub(crate) enum Source<'r> {
    /// Every frame of main from a place on.
    Every(MainFrames),
    /// The frames of main that hold events of a stream.
    Spans(&'r FrameTable, Range<'static, &'static SpanKey, u64>),
    /// Main has none, or none left.
    Done,
}

/// Frames in order of position. An error is the last thing it yields.
pub struct Frames<'r> {
    pub(crate) store: StoreId,
    pub(crate) counts: &'r Counts,
    pub(crate) main: Source<'r>,
    pub(crate) tail: LiveFrames<'r>,
    pub(crate) checkpoint: Option<Position>,
    /// Frames that end before it are passed over.
    pub(crate) from: Position,
    /// Only frames with events of this stream, at or above this seq.
    pub(crate) of: Option<(Stream, Seq)>,
}

impl std::fmt::Debug for Frames<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frames").field("from", &self.from).field("of", &self.of).finish()
    }
}

impl Frames<'_> {
    fn next_of_main(&mut self) -> Result<Option<Frame>, Error> {
        match &mut self.main {
            Source::Every(frames) => frames.next(),
            Source::Spans(table, spans) => match spans.next().transpose()? {
                Some((_, first)) => MainFrames::at(table, self.store, first.value()).map(Some),
                None => Ok(None),
            },
            Source::Done => Ok(None),
        }
    }

    fn wanted(&self, frame: &Frame) -> bool {
        frame.last() >= self.from
            && self.of.is_none_or(|(stream, seq)| frame.streams().iter().any(|span| span.stream == stream && span.last() >= seq))
    }

    fn advance(&mut self) -> Result<Option<Frame>, Error> {
        while let Some(frame) = self.next_of_main()? {
            self.counts.frame();
            if self.wanted(&frame) {
                return Ok(Some(frame));
            }
        }
        self.main = Source::Done;
        while let Some(frame) = self.tail.next() {
            self.counts.frame();
            if Some(frame.first()) > self.checkpoint && self.wanted(frame) {
                return Ok(Some(frame.clone()));
            }
        }
        Ok(None)
    }
}

impl Iterator for Frames<'_> {
    type Item = Result<Frame, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = contained("frames", || self.advance());
        if next.is_err() {
            self.main = Source::Done;
            self.tail = LiveFrames::default();
        }
        next.transpose()
    }
}
