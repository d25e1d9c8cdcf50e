//! A wire protocol, as somebody sees it who knows none in particular.
//!
//! **Invariant:** what holds for one protocol's decoder and `encode` holds through here; nothing is added.

use super::check::Code;
use super::piece::{Piece, Unencodable};
use super::source::Raw;
use crate::error::Error;
use crate::event::{Protocol, Stated};
use crate::fact::Json;
use crate::{Page, View};

/// Decodes the events of one stream, in order.
pub trait Decode {
    /// Appends the facts that one event states, at least one. Never fails: what does not decode is a diagnostic that holds the text.
    fn decode_raw<'a>(&mut self, raw: Raw<'a>, out: &mut Vec<Stated<'a>>);

    /// As [`Decode::decode_raw`], of JSON text.
    fn decode<'a>(&mut self, json: &'a str, out: &mut Vec<Stated<'a>>) {
        self.decode_raw(Raw { line: 0, text: json, name: None, id: None }, out);
    }
}

/// Writes a page of a session in a protocol's own shape.
pub(super) type Export = fn(&View, &Page) -> Result<Json<'static>, Error>;

/// A session as events of a protocol, as JSON text, one after the other. An error is the last thing it yields.
pub type Hydration = Box<dyn Iterator<Item = Result<String, Error>>>;

/// Begins a hydration.
pub(super) type Hydrate = fn(&View, &str) -> Result<Hydration, Error>;

/// A wire protocol.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Its name on a command line, such as `agent-ui`.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// Its number in the log.
    pub protocol: Protocol,
    /// Codes that only its decoder notes, and those that mean something else in it.
    pub codes: &'static [Code],
    pub(super) decoder: fn() -> Box<dyn Decode>,
    pub(super) encode: fn(&[Piece<'_>]) -> Result<String, Unencodable>,
    pub(super) session_of: fn(&str) -> Option<String>,
    pub(super) export: Option<Export>,
    pub(super) hydrate: Option<Hydrate>,
}

impl Wire {
    /// The protocol of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        super::WIRES.iter().find(|wire| wire.name == name)
    }

    /// The protocol of this number; `None` for facts of the host's own, and for protocols of newer builds.
    pub fn of(protocol: Protocol) -> Option<&'static Self> {
        super::WIRES.iter().find(|wire| wire.protocol == protocol)
    }

    /// A decoder that begins a stream.
    pub fn decoder(&self) -> Box<dyn Decode> {
        (self.decoder)()
    }

    /// The source event that gave these facts, all of them and in their order, equal by value.
    ///
    /// # Errors
    /// The facts are not those of one event of this protocol.
    pub fn encode(&self, facts: &[Piece<'_>]) -> Result<String, Unencodable> {
        (self.encode)(facts)
    }

    /// As [`Wire::encode`], of stated facts.
    ///
    /// # Errors
    /// The facts are not those of one event of this protocol.
    pub fn encode_stated(&self, facts: &[Stated<'_>]) -> Result<String, Unencodable> {
        self.encode(&facts.iter().map(Piece::of).collect::<Vec<_>>())
    }

    /// The session that one event, given as JSON text, says it is of; the first event of a stream that says so decides.
    pub fn session_of(&self, json: &str) -> Option<String> {
        (self.session_of)(json).filter(|session| !session.is_empty())
    }

    /// A page of a session in the protocol's own shape; `None` when it has none. Cost: the page, whole.
    ///
    /// # Errors
    /// Those of [`View::payload`] and [`View::document`].
    pub fn export(&self, view: &View, page: &Page) -> Option<Result<Json<'static>, Error>> {
        self.export.map(|export| export(view, page))
    }

    /// A session, of whatever protocol it came in, as the events by which a client of this one comes to know it; `None` when the protocol
    /// has none: what it wrote itself is given back by [`super::source_events`].
    ///
    /// # Errors
    /// [`Error::NoSession`], and those of reading pages.
    pub fn hydrate(&self, view: &View, session: &str) -> Option<Result<Hydration, Error>> {
        self.hydrate.map(|hydrate| hydrate(view, session))
    }
}

#[cfg(test)]
mod tests {
    use super::super::WIRES;
    use super::*;

    #[test]
    fn every_protocol_has_a_name_and_a_number_of_its_own() {
        for wire in WIRES {
            assert_eq!(Wire::named(wire.name).map(|found| found.protocol), Some(wire.protocol), "{}", wire.name);
            assert_eq!(Wire::of(wire.protocol).map(|found| found.name), Some(wire.name));
            assert!(!wire.about.is_empty());
        }
        assert!(Wire::of(Protocol::HOST).is_none());
    }

    #[test]
    fn what_no_protocol_knows_comes_back_as_it_went_in() {
        for wire in WIRES {
            for text in [r#"{"type":"no.such.event","deep":{"a":[1,null]}}"#, "{oops", "7", ""] {
                let mut facts = Vec::new();
                wire.decoder().decode(text, &mut facts);
                assert!(!facts.is_empty(), "{} {text}", wire.name);
                assert!(facts.iter().all(|stated| stated.source.protocol == wire.protocol), "{} {text}", wire.name);
                assert_eq!(wire.encode_stated(&facts).unwrap(), text, "{}", wire.name);
            }
        }
    }

    #[test]
    fn a_stream_names_its_session_in_the_words_of_its_protocol() {
        for (name, line, session) in [
            ("aiui", r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#, Some("t")),
            ("aiui", r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#, None),
            ("aseity", r#"{"type":"turn_start","turn_id":"t1","session_id":"s"}"#, Some("s")),
            ("aseity", r#"{"type":"turn_start","turn_id":"t1"}"#, None),
            ("agent-ui", r#"{"type":"run.started","runId":"r","payload":{"sessionId":"s"}}"#, Some("s")),
            ("agent-ui", r#"{"type":"run.started","runId":"r","threadId":"t"}"#, Some("t")),
            ("agent-ui", r#"{"type":"run.started","runId":"r","sessionId":""}"#, None),
            ("claude-code", r#"{"type":"user","sessionId":"s","isSidechain":true,"agentId":"a"}"#, Some("s/agent-a")),
            ("codex", r#"{"type":"session_meta","payload":{"id":"s"}}"#, Some("s")),
            ("codex", "[]", None),
        ] {
            assert_eq!(Wire::named(name).unwrap().session_of(line).as_deref(), session, "{name} {line}");
        }
    }
}
