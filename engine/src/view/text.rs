//! A text of an item: in pieces, joined, or by reference.
//!
//! **Invariant:** what is not whole says so; a cut text is a prefix.

use std::borrow::Cow;
use std::sync::Arc;

use turnstore_storage::Seq;

use super::leaves::Leaves;
use crate::state::{ArchivedChunked, ArchivedContent, ArchivedLogged, Content, Field};

/// A value that is too large for a window: what [`crate::View::payload`] and [`crate::View::payload_chunks`] take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadRef {
    pub(crate) session: Arc<str>,
    pub(crate) place: Place,
    pub(crate) bytes: u64,
    pub(crate) json: bool,
}

/// Where a large value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In an event.
    Event { seq: u64, named: Named },
    /// In pieces beside the timeline.
    Text(Part),
}

/// A growing text of an entry, in one timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) epoch: u32,
    pub(crate) ordinal: i64,
    pub(crate) field: Field,
}

/// What tells a value from every other one of its event: its digest and its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Named {
    pub(crate) digest: [u8; 16],
    pub(crate) bytes: u64,
}

impl Named {
    pub(crate) fn of(logged: &ArchivedLogged) -> Self {
        Self { digest: logged.digest, bytes: logged.bytes.to_native() }
    }
}

impl PayloadRef {
    /// The reference to a value of a session that an answer holds by its beginning; `None` for one that is there whole.
    pub fn of(session: &str, value: &Content) -> Option<Self> {
        let Content::Payload(logged) = value else { return None };
        let named = Named { digest: logged.digest, bytes: logged.bytes };
        let place = Place::Event { seq: logged.seq, named };
        Some(Self { session: Arc::from(session), place, bytes: logged.bytes, json: logged.json })
    }

    /// The session that holds it.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The event that holds it; `None` for a text that many of them brought.
    pub fn seq(&self) -> Option<Seq> {
        match &self.place {
            Place::Event { seq, .. } => Seq::new(*seq),
            Place::Text(_) => None,
        }
    }

    /// Its whole length in bytes, when the page was read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is JSON rather than text.
    pub fn is_json(&self) -> bool {
        self.json
    }
}

/// A text that may be long. Borrowed from the page that it was read with.
#[derive(Clone, Copy, Debug)]
pub struct LongText<'p> {
    leaves: &'p Leaves,
    ordinal: i64,
    field: Field,
    source: Source<'p>,
    json: bool,
}

#[derive(Clone, Copy, Debug)]
enum Source<'p> {
    Pieces(&'p ArchivedChunked),
    Payload(&'p ArchivedLogged),
}

impl<'p> LongText<'p> {
    pub(crate) fn of(leaves: &'p Leaves, ordinal: i64, field: Field, text: &'p ArchivedChunked) -> Self {
        Self { leaves, ordinal, field, source: Source::Pieces(text), json: false }
    }

    pub(crate) fn of_content(leaves: &'p Leaves, ordinal: i64, field: Field, content: &'p ArchivedContent) -> Self {
        let (source, json) = match content {
            ArchivedContent::Text(text) => (Source::Pieces(text), false),
            ArchivedContent::Json(text) => (Source::Pieces(text), true),
            ArchivedContent::Payload(logged) => (Source::Payload(logged), logged.json),
        };
        Self { leaves, ordinal, field, source, json }
    }

    /// A value that does not grow: it has no pieces of its own.
    pub(crate) fn of_value(leaves: &'p Leaves, value: &'p ArchivedContent) -> Self {
        Self::of_content(leaves, 0, Field::TEXT, value)
    }

    /// Its whole length in bytes, whatever of it is here.
    pub fn bytes(&self) -> u64 {
        match &self.source {
            Source::Pieces(text) => text.sealed_bytes.to_native() + text.tail.len() as u64,
            Source::Payload(logged) => logged.bytes.to_native(),
        }
    }

    /// Whether it is JSON, verbatim, rather than text.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether only a beginning of it is here. The whole: [`LongText::payload`].
    pub fn truncated(&self) -> bool {
        match &self.source {
            Source::Pieces(text) => self.sealed().count() < text.sealed.to_native() as usize,
            Source::Payload(logged) => self.logged(logged).is_none(),
        }
    }

    /// A content of the log that is here whole.
    fn logged(&self, logged: &ArchivedLogged) -> Option<&'p str> {
        self.leaves.payload(&Named::of(logged))
    }

    /// The reference under which the whole is read; `None` for a text so short that it is always here.
    pub fn payload(&self) -> Option<PayloadRef> {
        let place = match &self.source {
            Source::Payload(logged) => Place::Event { seq: logged.seq.to_native(), named: Named::of(logged) },
            Source::Pieces(text) if text.sealed == 0 => return None,
            Source::Pieces(_) => Place::Text(Part { epoch: self.leaves.epoch, ordinal: self.ordinal, field: self.field }),
        };
        Some(PayloadRef { session: self.leaves.session.clone(), place, bytes: self.bytes(), json: self.json })
    }

    fn sealed(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        let (leaves, ordinal, field) = (self.leaves, self.ordinal, self.field);
        let sealed = match &self.source {
            Source::Pieces(text) => text.sealed.to_native(),
            Source::Payload(_) => 0,
        };
        (0..sealed).map_while(move |index| leaves.piece(ordinal, field, index))
    }

    /// What is here of it, in pieces of about 4 KiB, in order. Copies nothing.
    pub fn pieces(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        let last = match &self.source {
            Source::Pieces(text) => (!self.truncated()).then(|| text.tail.as_str()),
            Source::Payload(logged) => Some(self.logged(logged).unwrap_or(&logged.preview)),
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
