//! Where the log stands: its end, what is durable, how much is above the checkpoint.
//!
//! **Invariant:** it changes only after the write that it describes.

use crate::ids::{Position, Stream};
use crate::link::Link;
use crate::state::State;
use std::collections::VecDeque;

/// A frame in the tail file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailFrame {
    pub(crate) last: Position,
    pub(crate) bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) state: State,
    pub(crate) head: Option<Position>,
    pub(crate) link: Link,
    pub(crate) durable: Option<Position>,
    pub(crate) next_stream: Stream,
    /// Frames that main does not hold yet.
    pub(crate) above: VecDeque<TailFrame>,
    pub(crate) above_bytes: u64,
}

impl Log {
    pub(crate) fn new(state: State) -> Self {
        Self {
            state,
            head: state.checkpoint,
            link: state.link,
            durable: state.checkpoint,
            next_stream: state.next_stream,
            above: VecDeque::new(),
            above_bytes: 0,
        }
    }

    pub(crate) fn append(&mut self, frame: TailFrame) {
        self.head = Some(frame.last);
        self.above_bytes += frame.bytes;
        self.above.push_back(frame);
    }

    /// Main now says `state`.
    pub(crate) fn checkpointed(&mut self, state: State) {
        self.state = state;
        self.durable = self.durable.max(state.checkpoint);
        while let Some(frame) = self.above.front().copied()
            && Some(frame.last) <= state.checkpoint
        {
            self.above.pop_front();
            self.above_bytes = self.above_bytes.saturating_sub(frame.bytes);
        }
    }
}
