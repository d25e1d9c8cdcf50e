//! A text of an item: in pieces, joined, or by reference.
//!
//! **Invariant:** what is not whole says so; a cut text is a prefix.

use std::borrow::Cow;
use std::sync::Arc;

use turnstore_storage::Seq;

use super::leaves::Leaves;
use crate::state::{ArchivedChunked, ArchivedContent, ArchivedLogged, Field};

/// A value that stays in the log because it is too large for a window: what [`crate::View::payload`] takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadRef {
    pub(crate) session: Arc<str>,
    pub(crate) seq: u64,
    pub(crate) message: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) json: bool,
}

impl PayloadRef {
    /// The session that holds it.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The event that holds it.
    pub fn seq(&self) -> Option<Seq> {
        Seq::new(self.seq)
    }

    /// Its whole length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is JSON rather than text.
    pub fn is_json(&self) -> bool {
        self.json
    }
}

/// A text that may be long. Borrowed from the page that it was read with.
#[derive(Clone, Debug)]
pub struct LongText<'p> {
    leaves: &'p Leaves,
    ordinal: i64,
    field: Field,
    source: Source<'p>,
    json: bool,
}

#[derive(Clone, Debug)]
enum Source<'p> {
    Pieces(&'p ArchivedChunked),
    Payload { logged: &'p ArchivedLogged, message: Option<&'p str> },
}

impl<'p> LongText<'p> {
    pub(crate) fn of(leaves: &'p Leaves, ordinal: i64, field: Field, text: &'p ArchivedChunked) -> Self {
        Self { leaves, ordinal, field, source: Source::Pieces(text), json: false }
    }

    pub(crate) fn of_content(
        leaves: &'p Leaves,
        ordinal: i64,
        field: Field,
        content: &'p ArchivedContent,
        message: Option<&'p str>,
    ) -> Self {
        let (source, json) = match content {
            ArchivedContent::Text(text) => (Source::Pieces(text), false),
            ArchivedContent::Json(text) => (Source::Pieces(text), true),
            ArchivedContent::Payload(logged) => (Source::Payload { logged, message }, logged.json),
        };
        Self { leaves, ordinal, field, source, json }
    }

    /// Its whole length in bytes, whatever of it is here.
    pub fn bytes(&self) -> u64 {
        match &self.source {
            Source::Pieces(text) => text.sealed_bytes.to_native() + text.tail.len() as u64,
            Source::Payload { logged, .. } => logged.bytes.to_native(),
        }
    }

    /// Whether it is JSON, verbatim, rather than text.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether only a beginning of it is here. The rest: [`LongText::payload`], or a window with more bytes.
    pub fn truncated(&self) -> bool {
        match &self.source {
            Source::Pieces(text) => self.sealed().count() < text.sealed.to_native() as usize,
            Source::Payload { .. } => self.logged().is_none(),
        }
    }

    /// A content of the log that is here whole.
    fn logged(&self) -> Option<&'p str> {
        self.leaves.payload(self.ordinal, self.field)
    }

    /// The reference under which the whole is read, when it stays in the log.
    pub fn payload(&self) -> Option<PayloadRef> {
        let Source::Payload { logged, message } = &self.source else { return None };
        Some(PayloadRef {
            session: self.leaves.session.clone(),
            seq: logged.seq.to_native(),
            message: message.map(str::to_owned),
            bytes: logged.bytes.to_native(),
            json: logged.json,
        })
    }

    fn sealed(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        let (leaves, ordinal, field) = (self.leaves, self.ordinal, self.field);
        let sealed = match &self.source {
            Source::Pieces(text) => text.sealed.to_native(),
            Source::Payload { .. } => 0,
        };
        (0..sealed).map_while(move |index| leaves.piece(ordinal, field, index))
    }

    /// What is here of it, in pieces of about 4 KiB, in order. Copies nothing.
    pub fn pieces(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        let last = match &self.source {
            Source::Pieces(text) => (!self.truncated()).then(|| text.tail.as_str()),
            Source::Payload { logged, .. } => Some(self.logged().unwrap_or(&logged.preview)),
        };
        self.sealed().chain(last).filter(|piece| !piece.is_empty())
    }

    /// What is here of it, joined. Copies only a text of more than one piece.
    pub fn joined(&self) -> Cow<'p, str> {
        let mut pieces = self.pieces();
        let Some(first) = pieces.next() else { return Cow::Borrowed("") };
        let Some(second) = pieces.next() else { return Cow::Borrowed(first) };
        let mut joined = String::with_capacity(usize::try_from(self.bytes()).unwrap_or(0));
        [first, second].into_iter().chain(pieces).for_each(|piece| joined.push_str(piece));
        Cow::Owned(joined)
    }
}
