//! One source event into the facts it states.
//!
//! **Invariant:** every event gives at least one fact; all facts of one event carry its place among them. What is to be noted about an
//! event comes behind what it states.

mod history;
mod part;
mod turn;

use std::collections::BTreeMap;

use turnstore_storage::Seq;

use super::name::Name;
use super::reference::Rejected;
use super::spelling::{Slot, Spelling};
use super::{body, code};
use crate::adapter::fields::{Bad, Fields, list_of, text_of, write_object};
use crate::adapter::source::Raw;
use crate::adapter::surrogate::Waiting;
use crate::event::{Owner, Protocol, Source, Stated};
use crate::fact::{DiagnosticNoted, Fact, Json, Opaque, Text};

pub(super) use turn::running;

/// How much of a reference to an artifact is checked. References by `{ id }` and pages of an older form are rejected with either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// Paths are not empty and types are known ones.
    #[default]
    Strict,
    /// The host has checked them itself.
    Off,
}

/// Decodes the events of one session, in order. Memory: the ids of its parts that are no text. A session that another decoder began is
/// gone on with after [`Decoder::learn`].
///
/// ```
/// use turnstore::adapter::aseity::{Decoder, encode_stated};
///
/// let line = r#"{"type":"turn_artifacts","turn_id":"t1","artifacts":[{"entryPath":"a.md","artifactType":"document"}]}"#;
/// let mut facts = Vec::new();
/// Decoder::new().decode(line, &mut facts);
/// assert_eq!(facts.len(), 1);
/// assert_eq!(encode_stated(&facts)?, line);
/// # Ok::<(), turnstore::adapter::aseity::Unencodable>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    validation: Validation,
    /// Parts that are no text, by id: later events do not say what they are.
    parts: BTreeMap<String, part::Known>,
    waiting: Waiting,
}

/// An event on its way to facts.
struct Incoming<'e, 'a> {
    name: Name,
    spelled: &'e str,
    fields: &'e Fields<'a>,
    spelling: Spelling,
    /// Seq of the session when a page was asked for, by the host.
    requested_at: Option<u64>,
}

/// What an event states, and what is to be noted about it.
#[derive(Default)]
struct Own<'a> {
    facts: Vec<(Fact<'a>, Owner)>,
    notes: Vec<(&'static str, String)>,
}

impl<'a> Own<'a> {
    fn fact(&mut self, fact: Fact<'a>, owner: Owner) {
        self.facts.push((fact, owner));
    }

    fn note(&mut self, code: &'static str, detail: impl Into<String>) {
        self.notes.push((code, detail.into()));
    }
}

/// Why an event is kept as it came and has no other effect.
struct Refused {
    code: &'static str,
    detail: String,
}

impl From<Bad> for Refused {
    fn from(bad: Bad) -> Self {
        Self { code: code::MALFORMED_EVENT, detail: bad.0 }
    }
}

impl From<Rejected> for Refused {
    fn from(rejected: Rejected) -> Self {
        Self { code: rejected.code, detail: rejected.detail }
    }
}

impl<'a> Incoming<'_, 'a> {
    fn text(&mut self, slot: &Slot) -> Option<Text<'a>> {
        self.spelling.text(self.fields, slot)
    }

    fn required(&mut self, slot: &Slot) -> Result<Text<'a>, Bad> {
        self.text(slot).ok_or_else(|| Bad::new(slot.usual(), "a string"))
    }

    /// The object under a key.
    fn object(&self, key: &str) -> Option<(Fields<'a>, Json<'a>)> {
        let raw = self.fields.some(key)?;
        Some((Fields::parse(raw.get()).ok()?, Json::raw(raw)))
    }
}

impl Decoder {
    /// Decodes a session's events from their beginning, with strict validation.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`Decoder::new`], with another validation.
    pub fn with_validation(validation: Validation) -> Self {
        Self { validation, ..Self::default() }
    }

    /// Appends the facts that one event states, given as JSON text. Never fails: what does not decode is a diagnostic that holds the
    /// text. Cost: one pass over the text.
    pub fn decode<'a>(&mut self, json: &'a str, out: &mut Vec<Stated<'a>>) {
        self.decode_raw(Raw { line: 0, text: json, name: None, id: None }, out);
    }

    /// As [`Decoder::decode`], with the name and id that the transport gave.
    pub fn decode_raw<'a>(&mut self, raw: Raw<'a>, out: &mut Vec<Stated<'a>>) {
        self.numbered(raw, None, out);
    }

    /// As [`Decoder::decode`], of a page of history that was asked for when the session's last seq was `requested_at` (`None`: when it
    /// had no events). What was stated after it is not overridden. A page that says itself when it was asked for is believed.
    pub fn decode_page<'a>(&mut self, json: &'a str, requested_at: Option<Seq>, out: &mut Vec<Stated<'a>>) {
        let at = requested_at.map_or(0, Seq::get);
        self.numbered(Raw { line: 0, text: json, name: Some(Name::SessionMessages.as_str()), id: None }, Some(at), out);
    }

    fn numbered<'a>(&mut self, raw: Raw<'a>, requested_at: Option<u64>, out: &mut Vec<Stated<'a>>) {
        let from = out.len();
        self.event(raw, requested_at, out);
        let own = out.get_mut(from..).unwrap_or_default();
        let of = u16::try_from(own.len()).unwrap_or(u16::MAX);
        for (part, stated) in (0..of).zip(own) {
            stated.source.part = (of > 1).then_some((part, of));
            stated.source.event_id = raw.id.map(Text::Borrowed);
        }
    }

    fn event<'a>(&mut self, raw: Raw<'a>, requested_at: Option<u64>, out: &mut Vec<Stated<'a>>) {
        let fields = match Fields::parse(raw.text) {
            Ok(fields) => fields,
            Err(error) => return unknown("", raw.text, format!("not a JSON object: {error}"), out),
        };
        let stated = fields.get("type").and_then(text_of).or(raw.name.map(Text::Borrowed));
        let spelled = stated.or_else(|| is_page(&fields).then_some(Text::Borrowed(Name::SessionMessages.as_str())));
        let Some(spelled) = spelled else { return unknown("", raw.text, "no type".to_owned(), out) };
        let Some(name) = Name::of(&spelled) else { return unknown(&spelled, raw.text, spelled.to_string(), out) };
        let mut event = Incoming { name, spelled: &spelled, fields: &fields, spelling: Spelling::default(), requested_at };
        let mut own = Own::default();
        match self.known(&mut event, &mut own, raw.text) {
            Ok(()) => finish(&event, own, raw.text, out),
            Err(refused) => out.push(rejected(refused.code, format!("{spelled}.{}", refused.detail), raw.text)),
        }
    }

    fn known<'a>(&mut self, event: &mut Incoming<'_, 'a>, own: &mut Own<'a>, whole: &'a str) -> Result<(), Refused> {
        match event.name {
            Name::TurnStart => turn::started(event, own)?,
            Name::TurnEnd => turn::ended(event, own)?,
            Name::TurnArtifacts => turn::artifacts(event, own, self.validation)?,
            Name::SessionEvent => turn::session(event, own),
            Name::SessionError => own.fact(turn::session_error(event, whole), Owner::RUNTIME),
            Name::CompactStart | Name::CompactEnd => turn::compaction(event, own),
            Name::InteractionRequest => turn::interaction(event, own)?,
            Name::PartAdd => self.part_add(event, own)?,
            Name::PartUpdate => self.part_update(event, own)?,
            Name::PartComplete => self.part_complete(event, own)?,
            Name::ToolInputDelta | Name::ToolInputComplete | Name::ToolResult => self.tool(event, own)?,
            Name::SessionMessages => history::page(event, own, self.validation)?,
        }
        Ok(())
    }
}

/// Whether an object without a name is a page of history.
fn is_page(fields: &Fields<'_>) -> bool {
    fields.get("type").is_none() && fields.get("messages").and_then(list_of).is_some()
}

/// The fields but these, as an object; `None` when there are none.
fn rest(fields: &Fields<'_>, but: impl Fn(&str) -> bool) -> Option<Json<'static>> {
    let rest: Vec<_> = fields.iter().filter(|(key, _)| !but(key)).map(|(key, raw)| (key, raw.get())).collect();
    (!rest.is_empty()).then(|| Json::built(write_object(rest)))
}

/// Writes out what an event gives: its facts, the first with residue, and its notes.
fn finish<'a>(event: &Incoming<'_, 'a>, own: Own<'a>, whole: &'a str, out: &mut Vec<Stated<'a>>) {
    if own.facts.is_empty() {
        let opaque = Opaque { name: Text::Owned(event.spelled.to_owned()), payload: Text::Borrowed(whole) };
        out.push(stated(Fact::Opaque(opaque), Owner::UNKNOWN));
    }
    let bare: Vec<_> = own.facts.iter().map(|(fact, _)| fact).collect();
    let canonical = body::canonical(&bare).map(Name::as_str);
    let name = (canonical != Some(event.spelled)).then(|| event.spelled.to_owned());
    let mut residue = body::residue(event.fields, whole, &bare, event.spelled, &event.spelling);
    let raw = bare.iter().any(|fact| matches!(fact, Fact::DiagnosticNoted(_)));
    for (fact, owner) in own.facts {
        let mut stated = stated(fact, owner);
        if !raw {
            stated.source.name = name.clone().map(Text::Owned);
            stated.ext = residue.take();
        }
        out.push(stated);
    }
    out.extend(own.notes.into_iter().map(|(code, detail)| noted(code, detail)));
}

fn stated(fact: Fact<'_>, owner: Owner) -> Stated<'_> {
    Stated { fact, source: Source { protocol: Protocol::ASEITY, ..Source::default() }, owner, ext: None }
}

fn noted<'a>(code: &'static str, detail: String) -> Stated<'a> {
    let noted = DiagnosticNoted { code: Text::Borrowed(code), detail: Some(Text::Owned(detail)), raw: None };
    stated(Fact::DiagnosticNoted(noted), Owner::UNKNOWN)
}

fn rejected<'a>(code: &'static str, detail: String, whole: &'a str) -> Stated<'a> {
    let noted = DiagnosticNoted { code: Text::Borrowed(code), detail: Some(Text::Owned(detail)), raw: Some(Text::Borrowed(whole)) };
    stated(Fact::DiagnosticNoted(noted), Owner::UNKNOWN)
}

fn unknown<'a>(name: &str, text: &'a str, detail: String, out: &mut Vec<Stated<'a>>) {
    let opaque = Opaque { name: Text::Owned(name.to_owned()), payload: Text::Borrowed(text) };
    out.push(stated(Fact::Opaque(opaque), Owner::UNKNOWN));
    out.push(noted(code::UNKNOWN_EVENT, detail));
}

#[cfg(test)]
mod tests;
