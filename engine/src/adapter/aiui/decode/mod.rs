//! One source event into the facts it states.
//!
//! **Invariant:** every event gives at least one fact; all facts of one event carry its place among them; residue holds exactly what
//! [`super::body`] would not write back.
//!
//! The facts of an event come in this order: chunk lanes that it closes, what it states, what is to be noted about it.

mod chunk;
mod document;
mod history;
mod hot;
mod human;
mod run;
mod text;
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::body;
use super::code;
use super::lanes::{Lane, Lanes};
use super::name::Name;
use super::order::{Note, Order, Span};
use crate::adapter::fields::{Bad, Fields, text_of};
use crate::adapter::source::Raw;
use crate::adapter::surrogate::Waiting;
use crate::event::{Owner, Protocol, Source, Stated};
use crate::fact::{DiagnosticNoted, Fact, Json, Opaque, PartChange, PartFinal, PartKind, PartTarget, Text, ToolChanged, ToolOp};

pub(super) use history::start_message;
pub(super) use human::is_dotted;
pub(super) use run::{interrupt, resumed};

/// Decodes the events of one stream, in order. Memory: what is open in the stream, and eight bytes for each message.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    order: Order,
    lanes: Lanes,
    thinking: text::Thinking,
    waiting: Waiting,
    /// Activities and their types.
    activities: BTreeMap<String, String>,
    /// Digests of the ids of other messages.
    messages: BTreeSet<u64>,
    run: Option<String>,
}

/// An event on its way to facts.
struct Incoming<'e, 'a> {
    name: Name,
    spelled: Text<'a>,
    fields: &'e Fields<'a>,
    text: &'a str,
}

/// What an event states, and what is to be noted about it.
#[derive(Default)]
struct Own<'a> {
    closings: Vec<Fact<'a>>,
    facts: Vec<(Fact<'a>, Owner)>,
    notes: Vec<Note>,
}

impl<'a> Own<'a> {
    fn fact(&mut self, fact: Fact<'a>, owner: Owner) {
        self.facts.push((fact, owner));
    }

    fn note(&mut self, note: Option<Note>) {
        self.notes.extend(note);
    }
}

impl<'a> Incoming<'_, 'a> {
    /// An optional string: absent, null or (noted) of another type count as absent.
    fn text_or_none(&self, key: &str, own: &mut Own<'a>) -> Option<Text<'a>> {
        let raw = self.fields.get(key)?;
        let text = text_of(raw);
        if text.is_none() {
            own.note(Some(self.bad_field(key, "a string")));
        }
        text
    }

    fn bad_field(&self, key: &str, expected: &str) -> Note {
        Note::new(code::MALFORMED_FIELD, format!("{}.{key}: expected {expected}", self.spelled))
    }

    fn agent(&self, own: &mut Own<'a>) -> Option<Text<'a>> {
        self.text_or_none("subagentRunId", own)
    }

    fn metadata(&self, own: &mut Own<'a>) -> Option<Json<'a>> {
        match self.fields.object_if("metadata") {
            Ok(metadata) => metadata,
            Err(_) => {
                own.note(Some(self.bad_field("metadata", "an object")));
                None
            }
        }
    }
}

impl Decoder {
    /// Decodes a stream from its beginning; violations of the order of events are noted.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`Decoder::new`], for excerpts: the order of events is not looked at.
    pub fn without_order() -> Self {
        Self { order: Order::unchecked(), ..Self::default() }
    }

    /// Appends the facts that one event states, given as JSON text. Never fails: what does not decode is a diagnostic that holds the
    /// text. Cost: one pass over the text; for streamed text and arguments no allocation but for escapes and a timestamp.
    pub fn decode<'a>(&mut self, json: &'a str, out: &mut Vec<Stated<'a>>) {
        self.decode_raw(Raw { line: 0, text: json, name: None, id: None }, out);
    }

    /// As [`Decoder::decode`], with the name and id that the transport gave.
    pub fn decode_raw<'a>(&mut self, raw: Raw<'a>, out: &mut Vec<Stated<'a>>) {
        let from = out.len();
        let done = self.waiting.is_empty() && self.hot(raw.text, out);
        if !done {
            self.cold(raw, out);
        }
        let own = out.get_mut(from..).unwrap_or_default();
        let of = u16::try_from(own.len()).unwrap_or(u16::MAX);
        for (part, stated) in (0..of).zip(own) {
            stated.source.part = (of > 1).then_some((part, of));
            stated.source.event_id = raw.id.map(Text::Borrowed);
        }
    }

    /// The chunk lanes that are open.
    pub(super) fn open_lanes(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.all()
    }

    /// Halves of characters that wait for the next delta.
    pub(super) fn open_halves(&self) -> impl Iterator<Item = (Span, String, u16)> {
        let spans = [Span::Text, Span::Tool, Span::Reasoning, Span::Thought];
        let of = move |space: u8| spans.into_iter().find(|span| *span as u8 == space);
        self.waiting.all().filter_map(move |(space, id, unit)| Some((of(space)?, id.to_owned(), unit)))
    }

    fn cold<'a>(&mut self, raw: Raw<'a>, out: &mut Vec<Stated<'a>>) {
        let fields = match Fields::parse(raw.text) {
            Ok(fields) => fields,
            Err(error) => return unknown("", raw.text, format!("not a JSON object: {error}"), out),
        };
        let spelled = fields.get("type").and_then(text_of).or(raw.name.map(Text::Borrowed));
        let Some(spelled) = spelled else { return unknown("", raw.text, "no type".to_owned(), out) };
        let mut own = Own::default();
        match Name::of(&spelled) {
            Some(name) => {
                let event = Incoming { name, spelled, fields: &fields, text: raw.text };
                match self.known(&event, &mut own) {
                    Ok(()) => {
                        self.finish(&event, own, out);
                    }
                    Err(bad) => malformed(&event, &bad, out),
                }
            }
            None => {
                if let Some(fact) = human::dotted(&spelled, &fields) {
                    let owner = human::owner_of(&fact);
                    own.fact(fact, owner);
                    let event = Incoming { name: Name::Custom, spelled, fields: &fields, text: raw.text };
                    self.finish(&event, own, out);
                } else {
                    let detail = spelled.to_string();
                    unknown(&spelled, raw.text, detail, out);
                }
            }
        }
    }

    fn known<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        if event.fields.get("timestamp").is_some_and(|raw| !hot::is_timestamp(raw)) {
            own.note(Some(event.bad_field("timestamp", "an integer")));
        }
        match event.name {
            Name::RunStarted | Name::RunFinished | Name::RunError | Name::StepStarted | Name::StepFinished => self.run_event(event, own),
            Name::TextStart | Name::TextContent | Name::TextEnd => self.text(event, own),
            Name::TextChunk | Name::ToolChunk | Name::ReasoningMessageChunk => self.chunk(event, own),
            Name::ToolStart | Name::ToolArgs | Name::ToolEnd | Name::ToolResult => self.tool(event, own),
            Name::ReasoningStart | Name::ReasoningEnd => self.reasoning_span(event, own),
            Name::ReasoningMessageStart | Name::ReasoningMessageContent | Name::ReasoningMessageEnd => self.reasoning(event, own),
            Name::ReasoningEncryptedValue => self.encrypted_value(event, own),
            Name::ThinkingStart | Name::ThinkingEnd | Name::ThinkingTextStart | Name::ThinkingTextContent | Name::ThinkingTextEnd => {
                self.thinking(event, own)
            }
            Name::StateSnapshot | Name::StateDelta | Name::ActivitySnapshot | Name::ActivityDelta => self.document(event, own),
            Name::MessagesSnapshot => self.messages_snapshot(event, own),
            Name::Raw | Name::Custom => self.custom(event, own),
            Name::SubagentStarted | Name::SubagentFinished | Name::SubagentError => self.subagent(event, own),
            Name::HumanInputRequested | Name::HumanInputResolved | Name::Interruption => human::human_input(event, own),
            Name::UiBlock => Ok(()),
        }
    }

    /// Writes out what an event gives: lanes it closes, its facts with residue, its notes.
    fn finish<'a>(&mut self, event: &Incoming<'_, 'a>, own: Own<'a>, out: &mut Vec<Stated<'a>>) {
        let Own { closings, mut facts, notes } = own;
        out.extend(closings.into_iter().map(stated));
        if facts.is_empty() {
            let opaque = Opaque { name: event.spelled.clone(), payload: Text::Borrowed(event.text) };
            out.push(stated(Fact::Opaque(opaque)));
        } else {
            let own: Vec<_> = facts.iter().map(|(fact, _)| fact).collect();
            let canonical = body::canonical(&own).map(Name::as_str);
            let name = (canonical != Some(&event.spelled)).then(|| event.spelled.clone());
            let mut residue = body::residue(event.fields, event.text, &own, name.as_deref());
            for (fact, owner) in facts.drain(..) {
                let source = Source { protocol: Protocol::AIUI, name: name.clone(), ..Source::default() };
                out.push(Stated { fact, source, owner, ext: residue.take() });
            }
        }
        out.extend(notes.into_iter().map(noted));
    }

    /// Closes the lane of an owner before an event of that owner.
    fn close_lane(&mut self, agent: Option<&str>, out: &mut Own<'_>) {
        if let Some(lane) = self.lanes.close(agent) {
            self.closed(lane, out);
        }
    }

    fn close_all_lanes(&mut self, out: &mut Own<'_>) {
        for lane in self.lanes.close_all() {
            self.closed(lane, out);
        }
    }

    fn closed(&mut self, lane: Lane, out: &mut Own<'_>) {
        out.note(self.order.closes(lane.span, &lane.id, lane.agent.as_deref()));
        let part = |kind, id| {
            Fact::PartFinal(PartFinal { target: PartTarget::Part(kind, Text::Owned(id)), change: PartChange::Closed, metadata: None })
        };
        let fact = match lane.span {
            Span::Tool => Fact::ToolChanged(ToolChanged { tool: Text::Owned(lane.id), op: ToolOp::ArgsEnd, metadata: None }),
            Span::Text => part(PartKind::Text, lane.id),
            Span::Reasoning | Span::Thought => part(PartKind::Reasoning, lane.id),
        };
        out.closings.push(fact);
    }

    fn know_message(&mut self, id: &str) {
        self.messages.insert(digest(id));
    }

    fn knows_message(&self, id: &str) -> bool {
        self.messages.contains(&digest(id))
    }

    /// Whether a message id is taken by an activity; then the event has no effect.
    fn is_activity(&self, id: &str, own: &mut Own<'_>) -> bool {
        let taken = self.activities.contains_key(id);
        if taken {
            own.note(Some(Note::new(code::MESSAGE_IS_ACTIVITY, id)));
        }
        taken
    }
}

fn digest(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

fn noted<'a>(note: Note) -> Stated<'a> {
    let fact =
        Fact::DiagnosticNoted(DiagnosticNoted { code: Text::Borrowed(note.code), detail: Some(Text::Owned(note.detail)), raw: None });
    stated(fact)
}

fn stated(fact: Fact<'_>) -> Stated<'_> {
    Stated { fact, source: Source { protocol: Protocol::AIUI, ..Source::default() }, owner: Owner::UNKNOWN, ext: None }
}

fn unknown<'a>(name: &str, text: &'a str, detail: String, out: &mut Vec<Stated<'a>>) {
    out.push(stated(Fact::Opaque(Opaque { name: Text::Owned(name.to_owned()), payload: Text::Borrowed(text) })));
    out.push(noted(Note::new(code::UNKNOWN_EVENT, detail)));
}

fn malformed<'a>(event: &Incoming<'_, 'a>, bad: &Bad, out: &mut Vec<Stated<'a>>) {
    let detail = format!("{}.{}", event.spelled, bad.0);
    let fact = DiagnosticNoted {
        code: Text::Borrowed(code::MALFORMED_EVENT),
        detail: Some(Text::Owned(detail)),
        raw: Some(Text::Borrowed(event.text)),
    };
    out.push(stated(Fact::DiagnosticNoted(fact)));
}

#[cfg(test)]
mod tests;
