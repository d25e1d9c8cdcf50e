//! One source event into the facts it states.
//!
//! **Invariant:** every event gives at least one fact; all facts of one event carry its place among them and its mark; residue holds
//! exactly what [`super::body`] would not write back. Facts come first, what is to be noted about the event last.

mod action;
mod artifact;
mod history;
mod part;
mod part_names;
mod run;
mod side;
mod state;
mod tool;

use serde_json::value::RawValue;

pub(super) use action::unnamed;
pub(super) use part::{PLAN, PROCESS};
pub(super) use run::BESIDE_ERROR;
pub(super) use state::{STATE, TASK};

use super::class::{Class, Word, is_later};
use super::placed::{Placed, difference};
use super::{body, code};
use crate::adapter::fields::text_of;
use crate::adapter::source::Raw;
use crate::adapter::surrogate::Waiting;
use crate::event::{Owner, Protocol, Source, Stated};
use crate::fact::{DiagnosticNoted, Fact, Json, Opaque, Text};

/// Decodes the events of one session, in order. Memory: about a hundred bytes for each part and message; without what it remembers (a
/// new decoder) parts are opened again, which changes nothing.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    parts: part_names::PartNames,
    waiting: Waiting,
    /// The run that started last.
    run: Option<String>,
}

/// An event on its way to facts.
struct Incoming<'e, 'a> {
    class: Class,
    spelled: &'e str,
    placed: &'e Placed<'a>,
}

/// Something that is to be noted about an event.
struct Note {
    code: &'static str,
    detail: String,
}

/// What an event states, and what is to be noted about it.
#[derive(Default)]
struct Own<'a> {
    facts: Vec<Fact<'a>>,
    notes: Vec<Note>,
}

/// Why an event states nothing: it cannot be said of what, or with what.
struct Refused(Note);

impl Refused {
    fn missing(what: impl Into<String>) -> Self {
        Self(Note { code: code::MISSING_FIELD, detail: what.into() })
    }

    fn malformed(what: impl Into<String>) -> Self {
        Self(Note { code: code::MALFORMED_EVENT, detail: what.into() })
    }
}

impl<'a> Own<'a> {
    fn fact(&mut self, fact: Fact<'a>) {
        self.facts.push(fact);
    }

    fn missing(&mut self, event: &Incoming<'_, 'a>, what: &str) {
        self.notes.push(Note { code: code::MISSING_FIELD, detail: format!("{}.{what}", event.spelled) });
    }

    fn malformed(&mut self, event: &Incoming<'_, 'a>, key: &str, expected: &str) {
        let detail = format!("{}.{key}: expected {expected}", event.spelled);
        // A field may be asked for twice.
        if !self.notes.iter().any(|note| note.detail == detail) {
            self.notes.push(Note { code: code::MALFORMED_FIELD, detail });
        }
    }
}

impl<'a> Incoming<'_, 'a> {
    /// A string that must be there and not empty.
    fn id(&self, key: &str) -> Result<Text<'a>, Refused> {
        let raw = self.value(key)?;
        let text = text_of(raw).ok_or_else(|| Refused::malformed(format!("{key}: expected a string")))?;
        if text.is_empty() { Err(Refused::missing(key)) } else { Ok(text) }
    }

    /// A field that must be there and not null.
    fn value(&self, key: &str) -> Result<&'a RawValue, Refused> {
        self.placed.some(key).ok_or_else(|| Refused::missing(key))
    }

    /// The first of these fields that is there and not null.
    fn first(&self, keys: &[&str]) -> Option<&'a RawValue> {
        keys.iter().find_map(|key| self.placed.some(key))
    }

    /// An optional string: absent, null, empty or (noted) of another type count as absent.
    fn text_if(&self, key: &str, own: &mut Own<'a>) -> Option<Text<'a>> {
        let text = text_of(self.placed.some(key)?);
        if text.is_none() {
            own.malformed(self, key, "a string");
        }
        text.filter(|text| !text.is_empty())
    }

    /// The first of these that is an optional string.
    fn text_of_first(&self, keys: &[&str], own: &mut Own<'a>) -> Option<Text<'a>> {
        keys.iter().find_map(|key| self.text_if(key, own))
    }

    /// The field that names the turn.
    fn turn_key(&self) -> &'static str {
        if self.placed.some("turnId").is_some() { "turnId" } else { "runId" }
    }

    /// The turn by its own id, else by its run's.
    fn turn(&self, own: &mut Own<'a>) -> Option<Text<'a>> {
        self.text_of_first(&["turnId", "runId"], own)
    }

    /// As [`Incoming::turn`], for events that mean nothing without one.
    fn turn_required(&self, own: &mut Own<'a>) -> Result<Text<'a>, Refused> {
        match self.turn(own) {
            Some(turn) => Ok(turn),
            None if self.placed.some("turnId").or_else(|| self.placed.some("runId")).is_some() => self.id(self.turn_key()),
            None => Err(Refused::missing("runId")),
        }
    }

    fn agent(&self, own: &mut Own<'a>) -> Option<Text<'a>> {
        self.text_of_first(&["agentId", "subagentId"], own)
    }

    /// Everything that the event states beyond `but` and its turn.
    fn rest(&self, but: &[&str]) -> Option<Json<'static>> {
        let but: Vec<&str> = but.iter().copied().chain([self.turn_key()]).collect();
        self.placed.rest_object(&but)
    }
}

impl Decoder {
    /// Decodes a session from its beginning, or from anywhere in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the facts that one event states, given as JSON text. Never fails: what does not decode is a diagnostic that holds the
    /// text. Cost: proportional to the text.
    pub fn decode<'a>(&mut self, json: &'a str, out: &mut Vec<Stated<'a>>) {
        self.decode_raw(Raw { line: 0, text: json, name: None, id: None }, out);
    }

    /// As [`Decoder::decode`], with the name and id that the transport gave. The event's own `eventId` counts before the transport's.
    pub fn decode_raw<'a>(&mut self, raw: Raw<'a>, out: &mut Vec<Stated<'a>>) {
        let from = out.len();
        let (id, stream) = match Placed::parse(raw.text) {
            Ok(placed) => {
                self.event(raw, &placed, out);
                (placed.text("eventId").filter(|id| !id.is_empty()), mark(&placed))
            }
            Err(error) => {
                unknown("", raw.text, format!("not a JSON object: {error}"), out);
                (None, None)
            }
        };
        let id = id.or(raw.id.map(Text::Borrowed));
        let own = out.get_mut(from..).unwrap_or_default();
        let of = u16::try_from(own.len()).unwrap_or(u16::MAX);
        for (part, stated) in (0..of).zip(own) {
            stated.source.part = (of > 1).then_some((part, of));
            stated.source.event_id.clone_from(&id);
            stated.source.stream.clone_from(&stream);
        }
    }

    fn event<'a>(&mut self, raw: Raw<'a>, placed: &Placed<'a>, out: &mut Vec<Stated<'a>>) {
        let spelled = placed.flat.get("type").and_then(text_of).or(raw.name.map(Text::Borrowed));
        let Some(spelled) = spelled else { return unknown("", raw.text, "no type".to_owned(), out) };
        let Some(class) = Class::of(&spelled) else {
            if is_later(&spelled) {
                return out.push(stated(Fact::Opaque(Opaque { name: spelled, payload: Text::Borrowed(raw.text) })));
            }
            let detail = spelled.to_string();
            return unknown(&spelled, raw.text, detail, out);
        };
        let event = Incoming { class, spelled: &spelled, placed };
        let mut own = Own::default();
        match self.known(&event, &mut own) {
            Ok(()) if !own.facts.is_empty() => finish(&event, own, raw.text, out),
            Ok(()) => out.push(stated(Fact::Opaque(Opaque { name: spelled.clone(), payload: Text::Borrowed(raw.text) }))),
            Err(Refused(note)) => {
                let detail = Some(Text::Owned(format!("{spelled}.{}", note.detail)));
                let noted = DiagnosticNoted { code: Text::Borrowed(note.code), detail, raw: Some(Text::Borrowed(raw.text)) };
                out.push(stated(Fact::DiagnosticNoted(noted)));
            }
        }
    }

    fn known<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
        match event.class {
            Class::RunStarted | Class::RunStatus | Class::RunFinished | Class::RunFailed => self.run(event, own),
            Class::TextDelta | Class::TextFinal => self.text(event, own),
            Class::ReasoningDelta | Class::ReasoningSummary | Class::PlanDelta | Class::PlanFinal => self.process(event, own),
            Class::ToolStarted | Class::ToolArgs | Class::ToolProgress | Class::ToolOutputDelta | Class::ToolResult | Class::ToolFailed => {
                self.tool(event, own)
            }
            Class::ActionRequired | Class::ActionResolved => action::action(event, own),
            Class::QueueChanged => side::queue(event, own),
            Class::EvidenceChanged => side::evidence(event, own),
            Class::StateSnapshot | Class::StateDelta | Class::TaskChanged => state::state(event, own),
            Class::MessagesSnapshot => self.messages(event, own),
            Class::HostWrite | Class::HostWriteSettled => side::write(event, own),
            Class::SessionOpened | Class::SessionHydrated | Class::SessionUpdated | Class::SessionClosed => side::session(event, own),
            Class::CompactionStarted | Class::CompactionCompleted => side::compaction(event, own),
            Class::ArtifactCreated
            | Class::ArtifactUpdated
            | Class::ArtifactPreviewReady
            | Class::ArtifactVersionCreated
            | Class::ArtifactDiffReady
            | Class::ArtifactExportStarted
            | Class::ArtifactExportCompleted
            | Class::ArtifactFailed
            | Class::ArtifactDeleted
            | Class::ArtifactChanged => artifact::artifact(event, own),
        }
    }

    /// Text that goes on; a character that was cut in two between deltas is put together.
    fn delta<'a>(&mut self, event: &Incoming<'_, 'a>, space: u8, id: &str) -> Result<Text<'a>, Refused> {
        let raw = event.value("delta")?;
        let bad = || Refused::malformed("delta: expected a string");
        if !raw.get().starts_with('"') {
            return Err(bad());
        }
        match serde_json::from_str::<crate::adapter::fields::Str<'a>>(raw.get()) {
            Ok(text) if self.waiting.is_empty() => Ok(text.0),
            _ => self.waiting.join(space, id, raw.get()).map(Text::Owned).ok_or_else(bad),
        }
    }
}

/// Writes out what an event gives: its facts with residue, its notes.
fn finish<'a>(event: &Incoming<'_, 'a>, own: Own<'a>, whole: &'a str, out: &mut Vec<Stated<'a>>) {
    let Own { facts, mut notes } = own;
    let owner = owner(event, &mut notes);
    let refs: Vec<&Fact<'_>> = facts.iter().collect();
    let name = (body::canonical(&refs) != Some(event.spelled)).then(|| event.spelled.to_owned());
    let mut residue = difference(event.placed, whole, &body::body(event.spelled, &refs));
    for fact in facts {
        let source = Source { protocol: Protocol::AGENT_UI, name: name.clone().map(Text::Owned), ..Source::default() };
        out.push(Stated { fact, source, owner, ext: residue.take() });
    }
    out.extend(notes.into_iter().map(noted));
}

/// Who states the event. One who may not is noted; inside a payload the field may mean another owner, so only known words count there.
fn owner(event: &Incoming<'_, '_>, notes: &mut Vec<Note>) -> Owner {
    let usual = event.class.owners().first().map_or(Owner::UNKNOWN, |word| word.owner());
    let inside = || event.placed.inside()?.get("owner").filter(|raw| text_of(raw).is_some_and(|text| Word::of(&text) != Some(Word::Other)));
    let Some(raw) = event.placed.flat.get("owner").or_else(inside) else { return usual };
    let Some(text) = text_of(raw) else {
        if raw.get() != "null" {
            notes.push(Note { code: code::MALFORMED_FIELD, detail: format!("{}.owner: expected a string", event.spelled) });
        }
        return usual;
    };
    let Some(word) = Word::of(&text) else { return Owner::UNKNOWN };
    if !event.class.owners().contains(&word) {
        notes.push(Note { code: code::FACT_WRONG_OWNER, detail: format!("{} stated by {text}", event.spelled) });
    }
    word.owner()
}

/// Ids of a mark longer than this are digested.
const MARK_BYTES_MAX: usize = 512;

/// The event's place in its stream. A sequence counts within a run, thread, task or agent: all of those that the event names make the
/// stream, since a part of a monotonic sequence is monotonic, and a mark that is too wide would drop what is new.
fn mark(placed: &Placed<'_>) -> Option<(Text<'static>, u64)> {
    let sequence = placed.flat.get("sequence")?.get().parse().ok()?;
    let ids: Vec<Option<Text<'_>>> = ["threadId", "turnId", "runId", "taskId", "agentId"].iter().map(|key| placed.text(key)).collect();
    let mut name = format!("agent_ui{}", serde_json::to_string(&ids).unwrap_or_default());
    if name.len() > MARK_BYTES_MAX {
        name = format!("agent_ui#{}", blake3::hash(name.as_bytes()).to_hex());
    }
    Some((Text::Owned(name), sequence))
}

fn noted<'a>(note: Note) -> Stated<'a> {
    let detail = Some(Text::Owned(note.detail));
    stated(Fact::DiagnosticNoted(DiagnosticNoted { code: Text::Borrowed(note.code), detail, raw: None }))
}

fn stated(fact: Fact<'_>) -> Stated<'_> {
    Stated { fact, source: Source { protocol: Protocol::AGENT_UI, ..Source::default() }, owner: Owner::UNKNOWN, ext: None }
}

fn unknown<'a>(name: &str, text: &'a str, detail: String, out: &mut Vec<Stated<'a>>) {
    out.push(stated(Fact::Opaque(Opaque { name: Text::Owned(name.to_owned()), payload: Text::Borrowed(text) })));
    out.push(noted(Note { code: code::UNKNOWN_EVENT, detail }));
}

#[cfg(test)]
mod tests;
