//! Messages that a rollout has twice: as a response item and as an event.
//!
//! **Invariant:** of each pair one states the text. Memory: the last few messages.

use std::collections::VecDeque;

/// Lines between the two of a pair.
const TWIN_LINES_MAX: u64 = 16;
/// Messages that wait for their other half.
const WAITING_MAX: usize = 64;

/// What is said: only messages of one kind are a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    User,
    Assistant,
    Reasoning,
    RawReasoning,
    Compaction,
}

/// Which half of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Item,
    Event,
}

#[derive(Clone, Debug)]
struct Waiting {
    lane: Lane,
    half: Half,
    line: u64,
    digest: [u8; 32],
    /// The part that has the text.
    part: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Twins(VecDeque<Waiting>);

fn digest(text: &str) -> [u8; 32] {
    *blake3::hash(text.as_bytes()).as_bytes()
}

impl Twins {
    /// The part of the other half, which waits no longer: one of the same text, else the oldest of the last `near` lines.
    pub(super) fn take(&mut self, lane: Lane, half: Half, text: &str, line: u64, near: u64) -> Option<String> {
        let digest = digest(text);
        let other =
            |waiting: &Waiting, lines: u64| waiting.lane == lane && waiting.half != half && waiting.line.saturating_add(lines) >= line;
        let same = self.0.iter().rposition(|waiting| waiting.digest == digest && other(waiting, TWIN_LINES_MAX));
        let found = same.or_else(|| self.0.iter().position(|waiting| other(waiting, near)))?;
        self.0.remove(found).map(|waiting| waiting.part)
    }

    /// A half whose other half may come.
    pub(super) fn wait(&mut self, lane: Lane, half: Half, text: &str, line: u64, part: String) {
        while self.0.front().is_some_and(|old| old.line.saturating_add(TWIN_LINES_MAX) < line) || self.0.len() >= WAITING_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Waiting { lane, half, line, digest: digest(text), part });
    }
}
