//! The archived pages and pieces of text that an answer holds, so that what it hands out borrows from them.
//!
//! **Invariant:** every page and piece that an entry of the answer needs is here, or the text says that it is cut.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::found::{Found, Trouble};
use crate::state::{
    ArchivedBody, ArchivedChunked, ArchivedContent, ArchivedEntry, BadRow, Field, PAGE_ENTRIES, PageArchive, RowKind, RowRef, Sequence,
    piece_ordinal,
};

/// Pages and pieces of one session's timeline.
#[derive(Clone, Debug)]
pub(crate) struct Leaves {
    pub(crate) session: Arc<str>,
    pub(crate) epoch: u32,
    /// The session's last seq when this was read.
    pub(crate) seq: u64,
    /// What is at or below it was last touched by a process that is gone.
    pub(crate) opened_seq: u64,
    /// The open turn, when something of it was touched in this opening that need not be in the answer.
    pub(crate) alive: Option<i64>,
    pages: BTreeMap<i64, PageArchive>,
    pieces: BTreeMap<i64, Arc<str>>,
    /// Contents that stay in the log, under the place of their first piece.
    payloads: BTreeMap<i64, Arc<str>>,
}

impl Leaves {
    pub(crate) fn new(found: &Found<'_>) -> Self {
        Self {
            session: found.name.clone(),
            epoch: found.outline.epoch,
            seq: found.outline.last_seq,
            opened_seq: 0,
            alive: None,
            pages: BTreeMap::new(),
            pieces: BTreeMap::new(),
            payloads: BTreeMap::new(),
        }
    }

    /// Takes in the page that holds an entry.
    pub(crate) fn load(&mut self, found: &Found<'_>, ordinal: i64) -> Result<(), Trouble> {
        if let Entry::Vacant(place) = self.pages.entry(ordinal.div_euclid(PAGE_ENTRIES)) {
            let page = *place.key();
            place.insert(found.page(Sequence::Timeline, page)?);
        }
        Ok(())
    }

    /// An entry; trouble when the page that must hold it does not.
    pub(crate) fn need(&mut self, found: &Found<'_>, ordinal: i64) -> Result<&ArchivedEntry, Trouble> {
        self.load(found, ordinal)?;
        let page = ordinal.div_euclid(PAGE_ENTRIES);
        let row = RowRef { kind: RowKind::Timeline, epoch: self.epoch, ordinal: page };
        self.entry(ordinal).ok_or_else(|| BadRow::new(row, format!("has no entry {ordinal}")).into())
    }

    pub(crate) fn entry(&self, ordinal: i64) -> Option<&ArchivedEntry> {
        let page = self.pages.get(&ordinal.div_euclid(PAGE_ENTRIES))?;
        let place = usize::try_from(ordinal.rem_euclid(PAGE_ENTRIES)).ok()?;
        page.get().entries.get(place)?.as_ref()
    }

    /// Whether anything here of a turn was touched by the process that writes the store now.
    pub(crate) fn touched(&self, turn: i64) -> bool {
        let of_turn = |entry: &ArchivedEntry| {
            entry.turn.as_ref().is_some_and(|of| of.to_native() == turn) && entry.last_seq.to_native() > self.opened_seq
        };
        self.pages.values().flat_map(|page| page.get().entries.iter()).filter_map(|entry| entry.as_ref()).any(of_turn)
    }

    pub(crate) fn piece(&self, ordinal: i64, field: Field, index: u32) -> Option<&str> {
        self.pieces.get(&piece_ordinal(ordinal, field, index)).map(AsRef::as_ref)
    }

    /// A content of the log that was small enough for the answer.
    pub(crate) fn payload(&self, ordinal: i64, field: Field) -> Option<&str> {
        self.payloads.get(&piece_ordinal(ordinal, field, 0)).map(AsRef::as_ref)
    }

    /// Takes in the pieces of an entry's text, and its contents that stay in the log, until `bytes_max` is used up.
    pub(crate) fn load_text(&mut self, found: &Found<'_>, ordinal: i64, bytes_max: u64) -> Result<(), Trouble> {
        let mut wanted = Vec::new();
        let mut logged = Vec::new();
        if let Some(entry) = self.entry(ordinal) {
            texts(entry, |field, text| {
                if text.sealed > 0 {
                    wanted.push((field, text.sealed.to_native()));
                }
            });
            payloads(entry, |field, bytes, seq, message| logged.push((field, bytes, seq, message.map(str::to_owned))));
        }
        if wanted.is_empty() && logged.is_empty() {
            return Ok(());
        }
        let mut left = bytes_max;
        for (field, bytes, seq, message) in logged {
            if bytes > PAYLOAD_BYTES_MAX || bytes > left {
                continue;
            }
            if let Some(text) = found.payload(seq, message.as_deref())? {
                left -= bytes;
                self.payloads.insert(piece_ordinal(ordinal, field, 0), text);
            }
        }
        for (field, sealed) in wanted {
            for index in 0..sealed {
                let place = piece_ordinal(ordinal, field, index);
                let piece = found.piece(RowKind::Text, place)?;
                let Some(rest) = left.checked_sub(piece.len() as u64) else { return Ok(()) };
                left = rest;
                self.pieces.insert(place, piece);
            }
        }
        Ok(())
    }

    /// Finds out whether turns that have not ended are still observed. Cost: one page, and one index entry for a session not in memory.
    pub(crate) fn observe(&mut self, found: &Found<'_>) -> Result<(), Trouble> {
        let open = |entry: &Option<&ArchivedEntry>| matches!(entry.map(|entry| &entry.body), Some(ArchivedBody::Turn(turn)) if !turn.ended);
        let any = self.pages.values().any(|page| page.get().entries.iter().any(|entry| open(&entry.as_ref())));
        if !any {
            return Ok(());
        }
        self.opened_seq = found.opened_seq()?;
        let Some(current) = found.outline.current.filter(|_| found.outline.last_seq > self.opened_seq) else { return Ok(()) };
        let last = found.page(Sequence::Timeline, (found.outline.next - 1).div_euclid(PAGE_ENTRIES))?;
        let touched = |entry: &ArchivedEntry| {
            entry.turn.as_ref().is_some_and(|turn| turn.to_native() == current) && entry.last_seq.to_native() > self.opened_seq
        };
        if last.get().entries.iter().filter_map(|entry| entry.as_ref()).any(touched) {
            self.alive = Some(current);
        }
        Ok(())
    }
}

/// Contents of the log up to this size stand whole in a window; larger ones are a preview and a reference.
const PAYLOAD_BYTES_MAX: u64 = 64 << 10;

/// Every content of an entry that stays in the log: field, bytes, seq and message.
fn payloads<'e>(entry: &'e ArchivedEntry, mut each: impl FnMut(Field, u64, u64, Option<&'e str>)) {
    let mut content = |field, content: &'e rkyv::option::ArchivedOption<ArchivedContent>, message| {
        if let Some(ArchivedContent::Payload(logged)) = content.as_ref() {
            each(field, logged.bytes.to_native(), logged.seq.to_native(), message);
        }
    };
    match &entry.body {
        ArchivedBody::Part(part) => content(Field::TEXT, &part.content, Some(part.message.as_str())),
        ArchivedBody::Tool(tool) => {
            for (index, result) in tool.results.iter().enumerate() {
                content(Field::result(index), &result.content, result.message.as_ref().map(|message| message.as_str()));
            }
        }
        ArchivedBody::Result(lone) => {
            content(Field::result(0), &lone.result.content, lone.result.message.as_ref().map(|message| message.as_str()))
        }
        _ => {}
    }
}

fn text_of(content: &ArchivedContent) -> Option<&ArchivedChunked> {
    match content {
        ArchivedContent::Text(text) | ArchivedContent::Json(text) => Some(text),
        ArchivedContent::Payload(_) => None,
    }
}

/// Every growing text of an entry.
pub(crate) fn texts<'e>(entry: &'e ArchivedEntry, mut each: impl FnMut(Field, &'e ArchivedChunked)) {
    match &entry.body {
        ArchivedBody::Part(part) => {
            if let Some(text) = part.content.as_ref().and_then(text_of) {
                each(Field::TEXT, text);
            }
        }
        ArchivedBody::Tool(tool) => {
            each(Field::ARGS, &tool.args);
            each(Field::OUTPUT, &tool.output);
            for (index, result) in tool.results.iter().enumerate() {
                if let Some(text) = result.content.as_ref().and_then(text_of) {
                    each(Field::result(index), text);
                }
            }
        }
        ArchivedBody::Result(lone) => {
            if let Some(text) = lone.result.content.as_ref().and_then(text_of) {
                each(Field::result(0), text);
            }
        }
        _ => {}
    }
}

/// Bytes that an entry adds to an answer: its texts whole, and a share of its page for the rest.
pub(crate) fn weight(entry: &ArchivedEntry) -> u64 {
    let mut bytes = 0;
    texts(entry, |_, text| bytes += text.sealed_bytes.to_native() + text.tail.len() as u64);
    payloads(entry, |_, logged, _, _| bytes += if logged <= PAYLOAD_BYTES_MAX { logged } else { 0 });
    bytes + beside(entry)
}

fn beside(entry: &ArchivedEntry) -> u64 {
    let length = |text: &rkyv::option::ArchivedOption<rkyv::string::ArchivedString>| text.as_ref().map_or(0, |text| text.len() as u64);
    128 + match &entry.body {
        ArchivedBody::Turn(turn) => {
            length(&turn.error) + length(&turn.result) + 64 * turn.artifacts.as_ref().map_or(0, |list| list.len() as u64)
        }
        ArchivedBody::Part(part) => length(&part.sealed) + length(&part.metadata) + length(&part.error),
        ArchivedBody::Tool(tool) => {
            length(&tool.detail) + length(&tool.progress) + length(&tool.metadata) + 1024 * tool.results.len() as u64
        }
        ArchivedBody::Interaction(asked) => {
            let decided = asked.decision.as_ref().map_or(0, |decision| length(&decision.payload) + length(&decision.receipt));
            length(&asked.request) + length(&asked.interrupt) + decided
        }
        ArchivedBody::Compaction(marked) => length(&marked.detail),
        _ => 0,
    }
}
