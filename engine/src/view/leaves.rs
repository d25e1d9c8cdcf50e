//! The archived pages and pieces of text that an answer holds, so that what it hands out borrows from them.
//!
//! **Invariant:** every page and piece that an entry of the answer needs is here, or the text says that it is cut.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::found::{Found, Trouble};
use super::text::{LongText, Named};
use crate::state::{
    ArchivedBody, ArchivedChunked, ArchivedContent, ArchivedEntry, BadRow, Field, PAGE_ENTRIES, PageArchive, RowKind, RowRef, Sequence,
    piece_ordinal,
};

/// A value that may be absent.
pub(crate) type ArchivedValue = rkyv::option::ArchivedOption<rkyv::boxed::ArchivedBox<ArchivedContent>>;

/// Pages and pieces of one session's timeline.
#[derive(Clone, Debug)]
pub(crate) struct Leaves {
    pub(crate) session: Arc<str>,
    pub(crate) epoch: u32,
    /// The session's last seq when this was read.
    pub(crate) seq: u64,
    /// What is at or below it was last touched by a process that is gone.
    pub(crate) opened_seq: u64,
    /// The open or last turn, and the seq that touched it last: what the header says, wherever its items are.
    pub(crate) current: Option<(i64, u64)>,
    pages: BTreeMap<i64, PageArchive>,
    pieces: BTreeMap<i64, Arc<str>>,
    /// Contents that stay in the log.
    payloads: BTreeMap<Named, Arc<str>>,
}

impl Leaves {
    pub(crate) fn new(found: &Found<'_>) -> Self {
        Self {
            session: found.name.clone(),
            epoch: found.outline.epoch,
            seq: found.outline.last_seq,
            opened_seq: 0,
            current: found.outline.current.map(|current| (current, found.outline.touched)),
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

    /// Whether a turn was touched by the process that writes the store now: of the session's open turn the header knows, of another one
    /// its own entry and the items of it that are here.
    pub(crate) fn observed(&self, turn: i64) -> bool {
        if let Some((_, touched)) = self.current.filter(|(current, _)| *current == turn) {
            return observed(touched, self.opened_seq);
        }
        if !observed(self.seq, self.opened_seq) {
            return false;
        }
        let of_turn = |ordinal: i64, entry: &ArchivedEntry| {
            let is = ordinal == turn || entry.turn.as_ref().is_some_and(|of| of.to_native() == turn);
            is && observed(entry.last_seq.to_native(), self.opened_seq)
        };
        let entries = |(page, archive): (&i64, &PageArchive)| {
            let first = page * PAGE_ENTRIES;
            (first..).zip(archive.get().entries.iter()).any(|(ordinal, entry)| entry.as_ref().is_some_and(|entry| of_turn(ordinal, entry)))
        };
        self.pages.iter().any(entries)
    }

    pub(crate) fn piece(&self, ordinal: i64, field: Field, index: u32) -> Option<&str> {
        self.pieces.get(&piece_ordinal(ordinal, field, index)).map(AsRef::as_ref)
    }

    /// Whether something of an entry is not here.
    pub(crate) fn cut(&self, ordinal: i64, entry: &ArchivedEntry) -> bool {
        let mut cut = false;
        texts(entry, |field, text| cut |= text.sealed > 0 && self.piece(ordinal, field, text.sealed.to_native() - 1).is_none());
        contents(entry, |content| {
            if let ArchivedContent::Payload(logged) = content {
                cut |= self.payload(&Named::of(logged)).is_none();
            }
        });
        cut
    }

    /// A content of the log that was small enough for the answer.
    pub(crate) fn payload(&self, named: &Named) -> Option<&str> {
        self.payloads.get(named).map(AsRef::as_ref)
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
            contents(entry, |content| {
                if let ArchivedContent::Payload(one) = content {
                    logged.push((Named::of(one), one.seq.to_native()));
                }
            });
        }
        if wanted.is_empty() && logged.is_empty() {
            return Ok(());
        }
        let mut left = bytes_max;
        for (named, seq) in logged {
            if named.bytes > PAYLOAD_BYTES_MAX || named.bytes > left {
                continue;
            }
            if let Some(text) = found.payload(seq, &named)? {
                left -= named.bytes;
                self.payloads.insert(named, text);
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

    /// Finds out which process saw the turns last that have not ended. Cost: nothing, or one row for a session not in memory.
    pub(crate) fn observe(&mut self, found: &Found<'_>) -> Result<(), Trouble> {
        let open = |entry: &ArchivedEntry| matches!(&entry.body, ArchivedBody::Turn(turn) if !turn.ended);
        if self.pages.values().any(|page| page.get().entries.iter().filter_map(|entry| entry.as_ref()).any(open)) {
            self.opened_seq = found.opened_seq()?;
        }
        Ok(())
    }
}

/// Whether what was last touched by `seq` was touched by the process that writes the store now, which found the session at `opened_seq`.
pub(crate) fn observed(seq: u64, opened_seq: u64) -> bool {
    seq > opened_seq
}

/// Contents of the log up to this size stand whole in a window; larger ones are a preview and a reference.
const PAYLOAD_BYTES_MAX: u64 = 64 << 10;

/// A growing text of an entry, by its field.
pub(crate) fn text_at(entry: &ArchivedEntry, field: Field) -> Option<&ArchivedChunked> {
    let mut found = None;
    texts(entry, |of, text| {
        if of == field {
            found = Some(text);
        }
    });
    found
}

/// A value of an entry, as it is handed out.
pub(crate) fn value<'p>(leaves: &'p Leaves, value: &'p ArchivedValue) -> Option<LongText<'p>> {
    value.as_ref().map(|value| LongText::of_value(leaves, value))
}

/// Every value of an entry that does not grow.
fn values<'e>(entry: &'e ArchivedEntry, mut each: impl FnMut(&'e ArchivedContent)) {
    let mut some = |values: &[&'e ArchivedValue]| values.iter().filter_map(|value| value.as_ref()).for_each(|value| each(value));
    match &entry.body {
        ArchivedBody::Turn(turn) => some(&[&turn.error, &turn.result, &turn.usage]),
        ArchivedBody::Part(part) => some(&[&part.sealed, &part.error]),
        ArchivedBody::Tool(tool) => {
            some(&[&tool.progress, &tool.error, &tool.detail, &tool.sealed, &tool.message_sealed]);
            for result in tool.results.iter() {
                some(&[&result.error, &result.detail, &result.sealed, &result.metadata]);
            }
        }
        ArchivedBody::Result(lone) => some(&[&lone.result.error, &lone.result.detail, &lone.result.sealed, &lone.result.metadata]),
        ArchivedBody::Interaction(asked) => {
            some(&[&asked.request, &asked.interrupt]);
            for decision in asked.decision.iter().chain(asked.conflicts.iter()) {
                some(&[&decision.payload, &decision.receipt]);
            }
        }
        ArchivedBody::Compaction(marked) => some(&[&marked.detail]),
        _ => {}
    }
}

/// Every content of an entry: values, and those that may be a growing text too.
fn contents<'e>(entry: &'e ArchivedEntry, mut each: impl FnMut(&'e ArchivedContent)) {
    values(entry, &mut each);
    match &entry.body {
        ArchivedBody::Part(part) => part.content.iter().for_each(&mut each),
        ArchivedBody::Tool(tool) => tool.results.iter().filter_map(|result| result.content.as_ref()).for_each(&mut each),
        ArchivedBody::Result(lone) => lone.result.content.iter().for_each(&mut each),
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
fn texts<'e>(entry: &'e ArchivedEntry, mut each: impl FnMut(Field, &'e ArchivedChunked)) {
    match &entry.body {
        ArchivedBody::Part(part) => {
            if let Some(text) = part.content.as_ref().and_then(text_of) {
                each(Field::TEXT, text);
            }
        }
        ArchivedBody::Tool(tool) => {
            each(Field::ARGS, &tool.args);
            each(Field::OUTPUT, &tool.output);
        }
        _ => {}
    }
}

/// Bytes that an entry adds to an answer: its texts and values whole, and a share of its page for the rest.
pub(crate) fn weight(entry: &ArchivedEntry) -> u64 {
    let mut bytes = 128;
    texts(entry, |_, text| bytes += text.sealed_bytes.to_native());
    contents(entry, |content| {
        bytes += match content {
            ArchivedContent::Text(text) | ArchivedContent::Json(text) => text.tail.len() as u64,
            ArchivedContent::Payload(logged) => Some(logged.bytes.to_native()).filter(|bytes| *bytes <= PAYLOAD_BYTES_MAX).unwrap_or(0),
        }
    });
    bytes + beside(entry)
}

fn beside(entry: &ArchivedEntry) -> u64 {
    let length = |text: &rkyv::option::ArchivedOption<rkyv::string::ArchivedString>| text.as_ref().map_or(0, |text| text.len() as u64);
    match &entry.body {
        ArchivedBody::Turn(turn) => 64 * turn.artifacts.as_ref().map_or(0, |list| list.len() as u64) + 32 * turn.pending_tools.len() as u64,
        ArchivedBody::Part(part) => length(&part.metadata),
        ArchivedBody::Tool(tool) => {
            let texts = tool.args.tail.len() + tool.output.tail.len();
            texts as u64 + length(&tool.metadata) + length(&tool.message_metadata) + 256 * tool.results.len() as u64
        }
        _ => 0,
    }
}
