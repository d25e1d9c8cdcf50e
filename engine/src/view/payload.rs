//! One large value by its reference: whole, or chunk by chunk.
//!
//! **Invariant:** a reference names one value for ever; what cannot be read as it was named is an error, never another value.

use std::borrow::Cow;
use std::sync::Arc;

use turnstore_storage::{Position, Seq, Stream};

use super::View;
use super::found::{Found, Look, Trouble};
use super::leaves::{Leaves, text_at};
use super::log::Walk;
use super::text::{Named, Part, PayloadRef, Place};
use crate::error::Error;
use crate::event::Body;
use crate::fact::Fact;
use crate::state::{CHUNK_BYTES_MAX, RowKind, link, piece_ordinal, short};

/// A large value, in memory whole.
#[derive(Clone, Debug)]
pub struct Payload {
    text: String,
    json: bool,
}

impl Payload {
    /// The value.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The value, owned.
    pub fn into_string(self) -> String {
        self.text
    }

    /// Whether it is JSON rather than text.
    pub fn is_json(&self) -> bool {
        self.json
    }
}

/// A large value chunk by chunk: each is at most `payload_chunk_bytes`, cut between characters; joined they are the value.
///
/// Memory: a text that came in pieces (deltas of a message, of a call's arguments or output) is read a chunk at a time, however long it
/// is. A value that one fact stated is held whole while its chunks are taken, at most `fact_bytes_max`: the log compresses and checks it
/// whole. An error is the last thing that comes.
#[derive(Debug)]
pub struct PayloadChunks {
    chunk_bytes_max: usize,
    left: Left,
}

#[derive(Debug)]
enum Left {
    Value { text: String, from: usize },
    Pieces { view: View, session: Arc<str>, part: Part, text: Text },
    Nothing,
}

/// What is read of a growing text, and what is to come.
#[derive(Debug)]
struct Text {
    next: u32,
    sealed: u32,
    /// Digest over the pieces so far, and over all.
    so_far: [u8; 16],
    chain: [u8; 16],
    tail: String,
}

impl PayloadChunks {
    fn pieces(&mut self) -> Result<Option<String>, Error> {
        let at_once = u32::try_from(self.chunk_bytes_max / CHUNK_BYTES_MAX).unwrap_or(u32::MAX).max(1);
        let Left::Pieces { view, session, part, text } = &mut self.left else { return Ok(None) };
        if text.next < text.sealed {
            let to = text.sealed.min(text.next.saturating_add(at_once));
            let pieces = view.read(session, |found| {
                part.check(found)?;
                (text.next..to).map(|index| found.piece(RowKind::Text, piece_ordinal(part.ordinal, part.field, index))).collect()
            });
            let pieces: Vec<Arc<str>> = pieces?;
            text.next = to;
            text.so_far = pieces.iter().fold(text.so_far, |chain, piece| link(&chain, piece));
            if to == text.sealed && text.so_far != text.chain {
                return Err(unnamed("the text was replaced while it was read"));
            }
            return Ok(Some(pieces.concat()));
        }
        let tail = std::mem::take(&mut text.tail);
        self.left = Left::Nothing;
        Ok(Some(tail).filter(|tail| !tail.is_empty()))
    }
}

impl Iterator for PayloadChunks {
    type Item = Result<String, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = match &mut self.left {
            Left::Value { text, from } => {
                let rest = text.get(*from..)?;
                let chunk = rest.get(..rest.floor_char_boundary(self.chunk_bytes_max.max(4)))?;
                *from += chunk.len();
                Ok(Some(chunk.to_owned()).filter(|chunk| !chunk.is_empty()))
            }
            Left::Pieces { .. } => self.pieces(),
            Left::Nothing => Ok(None),
        };
        if !matches!(chunk, Ok(Some(_))) {
            self.left = Left::Nothing;
        }
        chunk.transpose()
    }
}

impl Part {
    /// Its timeline is still the one that the reference speaks of.
    fn check(&self, found: &Found<'_>) -> Result<(), Trouble> {
        if found.outline.epoch == self.epoch { Ok(()) } else { Err(unnamed("the history was stated anew since").into()) }
    }

    fn open(&self, found: &Found<'_>) -> Result<Text, Trouble> {
        self.check(found)?;
        let mut leaves = Leaves::new(found);
        let entry = leaves.need(found, self.ordinal)?;
        let text = text_at(entry, self.field).ok_or_else(|| unnamed("no text of the session is there"))?;
        let (sealed, chain) = (text.sealed.to_native(), text.chain);
        Ok(Text { next: 0, sealed, so_far: [0; 16], chain, tail: text.tail.to_string() })
    }
}

fn unnamed(what: &str) -> Error {
    Error::Payload { what: what.to_owned() }
}

/// The value of a fact that has this digest. Whatever ids its facts share, another value is never taken for it.
fn value_of<'f>(fact: &'f Fact<'_>, named: &Named) -> Option<&'f str> {
    let mut found = None;
    fact.values(&mut |value| {
        if found.is_none() && value.len() as u64 == named.bytes && short(&blake3::hash(value.as_bytes())) == named.digest {
            found = Some(value);
        }
    });
    found
}

impl View {
    /// The value that a page refers to ([`crate::LongText::payload`]), whole.
    ///
    /// Cost: the frame that holds it, or for a text that came in pieces all of them; memory for the value, which for such a text has no
    /// limit: [`View::payload_chunks`] does without. Errors: [`Error::NoSession`]; [`Error::Payload`]: read the window again.
    pub fn payload(&self, reference: &PayloadRef) -> Result<Payload, Error> {
        let chunks = self.payload_chunks(reference)?;
        let text = match chunks.left {
            Left::Value { text, .. } => text,
            _ => chunks.collect::<Result<String, Error>>()?,
        };
        Ok(Payload { text, json: reference.json })
    }

    /// A text or a value whole: as it is here, or read where it is. Cost and errors: none, or those of [`View::payload`].
    pub fn whole<'p>(&self, text: &super::LongText<'p>) -> Result<Cow<'p, str>, Error> {
        match text.payload().filter(|_| text.truncated()) {
            Some(reference) => Ok(Cow::Owned(self.payload(&reference)?.into_string())),
            None => Ok(text.joined()),
        }
    }

    /// The value that a page refers to, chunk by chunk. A text that is still growing is read as this view has it.
    ///
    /// Cost: a read for each chunk. Errors: as [`View::payload`], here or from a chunk.
    pub fn payload_chunks(&self, reference: &PayloadRef) -> Result<PayloadChunks, Error> {
        let left = match &reference.place {
            Place::Event { seq, named } => {
                let look = self.look();
                let session = reference.session();
                let stream = look.stream_of(session)?.ok_or_else(|| Error::NoSession { session: session.to_owned() })?;
                let seq = Seq::new(*seq).ok_or_else(|| unnamed("a seq of zero"))?;
                let text = look.value_at(stream, seq, named)?.ok_or_else(|| unnamed("no event of the session holds it"))?;
                Left::Value { text, from: 0 }
            }
            Place::Text(part) => {
                let text = self.read(reference.session(), |found| part.open(found))?;
                Left::Pieces { view: self.clone(), session: reference.session.clone(), part: *part, text }
            }
        };
        Ok(PayloadChunks { chunk_bytes_max: self.shared.limits.payload_chunk_bytes, left })
    }
}

impl Look<'_> {
    /// A value that an event of a session states. Cost: the frame that holds it.
    pub(crate) fn value_at(&self, stream: Stream, seq: Seq, named: &Named) -> Result<Option<String>, Error> {
        let Some(up_to) = self.position()? else { return Ok(None) };
        let event = Walk::of_session(stream, seq, Position::FIRST).next(&self.view.shared, up_to)?;
        let Some(event) = event.filter(|event| event.seq() == seq) else { return Ok(None) };
        let Body::Fact(fact) = event.event()?.body else { return Ok(None) };
        Ok(value_of(&fact, named).map(str::to_owned))
    }
}
