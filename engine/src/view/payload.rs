//! One large value, read from the log by its reference.

use turnstore_storage::{Position, Seq, Stream};

use super::View;
use super::found::Look;
use super::log::Walk;
use super::text::PayloadRef;
use crate::error::Error;
use crate::event::Body;
use crate::fact::{Content, Fact, ToolOp};

/// A value that stays in the log. It is in memory whole: at most `fact_bytes_max`.
#[derive(Clone, Debug)]
pub struct Payload {
    text: String,
    json: bool,
    piece_bytes_max: usize,
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

    /// The value in pieces of at most `payload_chunk_bytes`, cut between characters.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.text.as_str();
        let piece_bytes_max = self.piece_bytes_max.max(4);
        std::iter::from_fn(move || {
            let (piece, after) = rest.split_at_checked(rest.floor_char_boundary(piece_bytes_max))?;
            rest = after;
            (!piece.is_empty()).then_some(piece)
        })
    }
}

fn content_of<'f, 'a>(fact: &'f Fact<'a>, message: Option<&str>) -> Option<&'f Content<'a>> {
    match fact {
        Fact::PartOpened(opened) => opened.content.as_ref(),
        Fact::ToolChanged(changed) => match &changed.op {
            ToolOp::Result { content, .. } => content.as_ref(),
            _ => None,
        },
        Fact::HistoryImported(history) => history.messages.iter().find(|stated| Some(stated.id.as_ref()) == message)?.content.as_ref(),
        _ => None,
    }
}

impl View {
    /// The value that a page refers to ([`crate::LongText::payload`]).
    ///
    /// Cost: the frame that holds it. Errors: [`Error::NoSession`]; [`Error::Payload`]: read the window again.
    pub fn payload(&self, reference: &PayloadRef) -> Result<Payload, Error> {
        let unnamed = |what: &str| Error::Payload { what: what.to_owned() };
        let look = self.look();
        let stream = look.stream_of(reference.session())?.ok_or_else(|| Error::NoSession { session: reference.session().to_owned() })?;
        let from = reference.seq().ok_or_else(|| unnamed("a seq of zero"))?;
        let found = look.content_at(stream, from, reference.message.as_deref())?;
        let (text, json) = found.ok_or_else(|| unnamed("no event of the session holds it"))?;
        Ok(Payload { text, json, piece_bytes_max: self.shared.limits.payload_chunk_bytes })
    }
}

impl Look<'_> {
    /// The content that an event of a session states, and whether it is JSON. Cost: the frame that holds it.
    pub(crate) fn content_at(&self, stream: Stream, seq: Seq, message: Option<&str>) -> Result<Option<(String, bool)>, Error> {
        let Some(up_to) = self.position()? else { return Ok(None) };
        let event = Walk::of_session(stream, seq, Position::FIRST).next(&self.view.shared, up_to)?;
        let Some(event) = event.filter(|event| event.seq() == seq) else { return Ok(None) };
        let Body::Fact(fact) = event.event()?.body else { return Ok(None) };
        Ok(content_of(&fact, message).map(|content| match content {
            Content::Text(text) => (text.to_string(), false),
            Content::Json(json) => (json.as_str().to_owned(), true),
        }))
    }
}
