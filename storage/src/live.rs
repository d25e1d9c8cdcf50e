//! The frames above the checkpoint, in memory.
//!
//! **Invariant:** frames are in order of position and gapless; a snapshot never changes. Frames that
//! main holds by now may still be there: whoever reads passes over them.

use crate::frame::Frame;
use crate::ids::Position;
use std::sync::Arc;

/// Few enough that an append beside a living snapshot copies little, enough that a snapshot is small.
const CHUNK_FRAMES: usize = 64;

type Chunk = Arc<Vec<Frame>>;

/// Frames in order. A clone is a snapshot and costs a counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live(Arc<Vec<Chunk>>);

impl Live {
    /// Adds a frame. Cost: nothing much, or a copy of some hundred counters beside a living snapshot.
    pub(crate) fn push(&mut self, frame: Frame) {
        let chunks = Arc::make_mut(&mut self.0);
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK_FRAMES => Arc::make_mut(chunk).push(frame),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK_FRAMES);
                chunk.push(frame);
                chunks.push(Arc::new(chunk));
            }
        }
    }

    /// Lets go of frames at or below `checkpoint`, whole chunks at a time. What is returned is for
    /// the caller to drop where nobody waits for it.
    pub(crate) fn forget(&mut self, checkpoint: Option<Position>) -> Vec<Chunk> {
        let held = self.0.partition_point(|chunk| chunk.last().map(Frame::last) <= checkpoint);
        if held == 0 {
            return Vec::new();
        }
        Arc::make_mut(&mut self.0).drain(..held).collect()
    }

    /// The last frame.
    pub(crate) fn last(&self) -> Option<&Frame> {
        self.0.last()?.last()
    }

    /// The frames from the one that holds `position` on.
    pub(crate) fn from(&self, position: Position) -> LiveFrames<'_> {
        let passed = self.0.partition_point(|chunk| chunk.last().is_some_and(|frame| frame.last() < position));
        let mut chunks = self.0.get(passed..).unwrap_or_default().iter();
        let first = chunks.next().map_or(&[][..], |chunk| chunk.as_slice());
        let passed = first.partition_point(|frame| frame.last() < position);
        LiveFrames { frames: first.get(passed..).unwrap_or_default().iter(), chunks }
    }
}

/// Frames of a snapshot, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveFrames<'l> {
    frames: std::slice::Iter<'l, Frame>,
    chunks: std::slice::Iter<'l, Chunk>,
}

impl<'l> Iterator for LiveFrames<'l> {
    type Item = &'l Frame;

    fn next(&mut self) -> Option<&'l Frame> {
        loop {
            if let Some(frame) = self.frames.next() {
                return Some(frame);
            }
            self.frames = self.chunks.next()?.iter();
        }
    }
}
