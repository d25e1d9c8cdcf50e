//! Values as rows keep them: whole while they are small, else by reference to the event that stated them.
//!
//! **Invariant:** no fact makes an entry larger than the bounds in [`crate::limits`], whatever it carries and however often it comes.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::super::chunked::{Chunked, short};
use super::super::entry::{Content, Logged};
use super::super::patch::{self, Dropped};
use super::Fold;
use crate::fact::{self, Json, Text};
use crate::limits::{ID_BYTES_MAX, INLINE_BYTES_MAX, LIST_BYTES_MAX, MERGED_BYTES_MAX, PREVIEW_BYTES_MAX};

/// Any value but growing text, as the event `seq` states it.
fn kept(text: &str, json: bool, seq: u64) -> Content {
    if text.len() > INLINE_BYTES_MAX {
        let digest = short(&blake3::hash(text.as_bytes()));
        return Content::Payload(Logged {
            preview: front(text, PREVIEW_BYTES_MAX).to_owned(),
            bytes: text.len() as u64,
            digest,
            seq,
            json,
        });
    }
    let chunked = Chunked { tail: text.to_owned(), ..Chunked::default() };
    if json { Content::Json(chunked) } else { Content::Text(chunked) }
}

/// The beginning of a text, cut between characters.
pub(super) fn front(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}

/// The first ids of a list, as far as they fit.
pub(super) fn first_ids(ids: &[Text<'_>]) -> Vec<String> {
    let mut bytes = 0_usize;
    let fits = ids.iter().take_while(|id| {
        bytes += id_bytes(id);
        bytes <= LIST_BYTES_MAX
    });
    fits.map(ToString::to_string).collect()
}

/// Merges metadata, when there is some.
pub(super) fn merge(into: &mut Option<String>, object: Option<&Json<'_>>) -> Dropped {
    object.map_or_else(Dropped::default, |object| patch::merge(into, object.as_str()))
}

/// What an id takes in a list.
pub(super) fn id_bytes(id: &str) -> usize {
    id.len() + 16
}

/// Digest of a JSON value, equal for equal values.
pub(super) fn meaning(json: Option<&Json<'_>>) -> [u8; 16] {
    let Some(json) = json else { return [0; 16] };
    // A map of values is ordered by its keys, so that equal values are written alike.
    let written = json.value().map_or_else(|_| json.as_str().to_owned(), |value| value.to_string());
    short(&blake3::hash(written.as_bytes()))
}

impl Fold<'_> {
    /// Content given at once.
    pub(super) fn content(&self, content: &fact::Content<'_>) -> Content {
        match content {
            fact::Content::Text(text) => kept(text, false, self.seq),
            fact::Content::Json(json) => kept(json.as_str(), true, self.seq),
        }
    }

    /// A text that does not grow.
    pub(super) fn text(&self, text: &str) -> Option<Box<Content>> {
        Some(Box::new(kept(text, false, self.seq)))
    }

    /// A JSON value.
    pub(super) fn json(&self, json: &Json<'_>) -> Option<Box<Content>> {
        Some(Box::new(kept(json.as_str(), true, self.seq)))
    }

    pub(super) fn text_if(&self, text: &Option<Text<'_>>) -> Option<Box<Content>> {
        text.as_deref().and_then(|text| self.text(text))
    }

    pub(super) fn json_if(&self, json: &Option<Json<'_>>) -> Option<Box<Content>> {
        json.as_ref().and_then(|json| self.json(json))
    }

    /// An object that is stated whole, where others may be merged into it later.
    pub(super) fn object(&mut self, object: &Option<Json<'_>>) -> Option<String> {
        let object = object.as_ref()?.as_str();
        if object.len() <= MERGED_BYTES_MAX {
            return Some(object.to_owned());
        }
        let mut merged = None;
        let dropped = patch::merge(&mut merged, object);
        self.note(dropped);
        merged
    }

    /// Says which keys of a merge did not fit.
    pub(super) fn note(&mut self, dropped: Dropped) {
        if let Some(first) = dropped.first {
            let detail = format!("{} of its keys did not fit, first {:?}", dropped.count, front(&first, PREVIEW_BYTES_MAX));
            self.diagnose("merge_too_large", Some(detail));
        }
    }
}

/// Appends to a list that keeps its newest, up to [`LIST_BYTES_MAX`]; one that alone is larger stays alone.
pub(super) fn push_newest<T>(list: &mut Vec<T>, item: T, bytes_of: impl Fn(&T) -> usize) {
    list.push(item);
    let mut bytes = list.iter().map(&bytes_of).sum::<usize>();
    let last = list.len().saturating_sub(1);
    let beyond = list.iter().take(last).take_while(|item| {
        let above = bytes > LIST_BYTES_MAX;
        bytes -= bytes_of(item);
        above
    });
    let beyond = beyond.count();
    list.drain(..beyond);
}

/// The members of an object, each as it is written; of equal keys the last.
#[derive(Debug, Default)]
pub(super) struct Members<'f>(BTreeMap<String, &'f RawValue>);

impl<'f> Members<'f> {
    /// `None` for what is no object.
    pub(super) fn of(object: &'f Json<'_>) -> Option<Self> {
        serde_json::from_str(object.as_str()).ok().map(Self)
    }

    /// A short text, which is then no longer among the rest. One that is too long to stand in rows stays there.
    pub(super) fn word(&mut self, key: &str) -> Option<String> {
        let word = serde_json::from_str::<String>(self.0.get(key)?.get()).ok().filter(|word| word.len() <= ID_BYTES_MAX)?;
        self.0.remove(key);
        Some(word)
    }

    /// A value as it is written, but null, which says nothing.
    pub(super) fn take(&mut self, key: &str) -> Option<Json<'f>> {
        self.0.remove(key).filter(|raw| raw.get() != "null").map(Json::raw)
    }

    pub(super) fn is_null(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|raw| raw.get() == "null")
    }

    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.0.get(key)?.get().parse().ok()
    }

    /// Merges what is left.
    pub(super) fn merge(&self, into: &mut Option<String>) -> Dropped {
        if self.0.is_empty() {
            return Dropped::default();
        }
        let object = serde_json::to_string(&self.0).unwrap_or_default();
        patch::merge(into, &object)
    }

    /// Merges what is left but nulls.
    pub(super) fn merge_stated(&mut self, into: &mut Option<String>) -> Dropped {
        self.0.retain(|_, raw| raw.get() != "null");
        self.merge(into)
    }
}
