//! What is known of a session without reading its sequences.

use rkyv::{Archive, Deserialize, Serialize};

/// The head of a session: counters, the open turn, what waits. One row, rewritten at each checkpoint of the session.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Title: the beginning, up to [`crate::limits::TITLE_BYTES_MAX`]; the event that stated a longer one holds it.
    pub title: Option<String>,
    /// Status word of the source.
    pub status: Option<String>,
    /// Other stated fields, a JSON object of at most [`crate::limits::MERGED_BYTES_MAX`].
    pub fields: Option<String>,
    /// Raised when a statement replaces the history.
    pub epoch: u32,
    /// Seq of the last event folded.
    pub last_seq: u64,
    /// Ordinals of the timeline: the lowest used, and the next above.
    pub first: i64,
    /// Next ordinal of the timeline.
    pub next: i64,
    /// Next ordinal of the shelf.
    pub shelf_next: i64,
    /// Next ordinal of the diagnostics, which is their number.
    pub diagnostics: i64,
    /// Turns in the timeline.
    pub turns: u64,
    /// Items in the timeline.
    pub items: u64,
    /// Opaque events.
    pub opaque: u64,
    /// Ordinal of the open or last turn.
    pub current: Option<i64>,
    /// Whether that turn is running.
    pub running: bool,
    /// Whether that turn failed, as its owner said.
    pub failed: bool,
    /// Seq of the last event that stated or changed that turn or an item of it.
    pub touched: u64,
    /// Ordinals of the pending interactions, in the order of asking. [`crate::limits::PENDING_MAX`] bounds them where they come in.
    pub pending: Vec<i64>,
    /// Inputs in the queue.
    pub queued: u64,
    /// Whether the owner's history is known to its beginning; `None` when no page was imported.
    pub history_complete: Option<bool>,
    /// The owner's cursor to older history.
    pub older: Option<String>,
}

impl Header {
    /// Takes in that entry `ordinal` of the timeline, an item of `turn`, was changed by `seq`.
    pub(crate) fn touch(&mut self, ordinal: i64, turn: Option<i64>, seq: u64) {
        if self.current.is_some() && (self.current == Some(ordinal) || self.current == turn) {
            self.touched = self.touched.max(seq);
        }
    }
}
