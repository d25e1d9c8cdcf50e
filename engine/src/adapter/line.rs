//! One line of a transcript on its way to facts.
//!
//! **Invariant:** every value that a fact takes from the line is cut out of its residue; a line that gives no fact is kept as it came.
//! **Absent:** the fields of any transcript.

use serde_json::value::RawValue;

use super::cut::Cut;
use super::fields::{text_of, write_object};
use crate::event::{Owner, Protocol, Source, Stated};
use crate::fact::{
    Content, DiagnosticNoted, Fact, Json, Opaque, PartChange, PartFinal, PartKind, PartOpened, PartTarget, SessionChanged, Text,
    ToolChanged, ToolOp,
};

/// Longer ids of a source are not taken as ids; the line says them still. Below the engine's own limit, for what is put behind them.
const ID_BYTES_MAX: usize = 1024;
/// Facts of one line. A line with more is kept as it came: the parts of an event are numbered with 16 bits.
const LINE_FACTS_MAX: usize = 32_768;
/// Longest field that is repeated in the metadata of a part.
const ABOUT_BYTES_MAX: usize = 4096;

/// Who speaks on a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Author<'a> {
    pub(super) message: Text<'a>,
    pub(super) role: Text<'a>,
    pub(super) agent: Option<Text<'a>>,
}

/// A result as a line states it.
#[derive(Default)]
pub(super) struct Outcome<'a> {
    pub(super) content: Option<&'a RawValue>,
    pub(super) status: Option<Text<'a>>,
    pub(super) agent: Option<Text<'a>>,
    pub(super) detail: Option<Json<'a>>,
}

/// A line and what it has given so far.
pub(super) struct Line<'a> {
    /// Names the line within its transcript; part ids begin with it.
    pub(super) id: String,
    /// The line's own id, by which a repeat is known.
    pub(super) event_id: Option<String>,
    pub(super) author: Author<'a>,
    text: &'a str,
    cut: Cut<'a>,
    facts: Vec<(Fact<'a>, Owner)>,
    notes: Vec<(&'static str, String)>,
    about: Vec<(&'static str, String)>,
    once: Vec<(&'static str, String)>,
    parts: usize,
}

impl<'a> Line<'a> {
    pub(super) fn new(id: String, text: &'a str) -> Self {
        Self {
            id,
            event_id: None,
            author: Author::default(),
            text,
            cut: Cut::new(text),
            facts: Vec::new(),
            notes: Vec::new(),
            about: Vec::new(),
            once: Vec::new(),
            parts: 0,
        }
    }

    pub(super) fn fact(&mut self, fact: Fact<'a>, owner: Owner) {
        self.facts.push((fact, owner));
    }

    pub(super) fn note(&mut self, code: &'static str, detail: impl Into<String>) {
        self.notes.push((code, detail.into()));
    }

    /// Repeats a field in the metadata of every part and call of the line.
    pub(super) fn about(&mut self, key: &'static str, raw: Option<&RawValue>) {
        self.about.extend(raw.and_then(sound).map(|json| (key, json.to_owned())));
    }

    /// As [`Line::about`], in the metadata of the next part or call alone.
    pub(super) fn about_once(&mut self, key: &'static str, raw: &RawValue) {
        self.once.extend(sound(raw).map(|json| (key, json.to_owned())));
    }

    fn metadata(&mut self) -> Option<Json<'a>> {
        let once = std::mem::take(&mut self.once);
        let fields: Vec<_> = self.about.iter().chain(&once).map(|(key, json)| (*key, json.as_str())).collect();
        (!fields.is_empty()).then(|| Json::built(write_object(fields)))
    }

    fn owner(&self) -> Owner {
        match self.author.role.as_ref() {
            "assistant" => Owner::MODEL,
            "user" => Owner::HOST,
            _ => Owner::RUNTIME,
        }
    }

    fn content(&mut self, raw: &'a RawValue) -> Content<'a> {
        let index = self.facts.len();
        match text_of(raw) {
            Some(text) => {
                self.cut.text(raw, index);
                Content::Text(text)
            }
            None => {
                self.cut.json(raw, index);
                Content::Json(Json::raw(raw))
            }
        }
    }

    /// An id that nothing else in the transcript has.
    fn next_id(&mut self) -> String {
        let id = format!("{}#{}", self.id, self.parts);
        self.parts += 1;
        id
    }

    /// A part that the line states whole; its id.
    pub(super) fn part(&mut self, kind: PartKind, content: Option<&'a RawValue>) -> String {
        let id = self.next_id();
        let content = content.map(|raw| self.content(raw));
        let metadata = self.metadata();
        let Author { message, role, agent } = self.author.clone();
        let part = Text::Owned(id.clone());
        let opened = PartOpened { part, message, kind, role, name: None, turn: None, agent, subtype: None, content, metadata };
        let owner = self.owner();
        self.fact(Fact::PartOpened(opened), owner);
        self.change(kind, id.clone(), PartChange::Closed);
        id
    }

    /// The encrypted value of a part.
    pub(super) fn seal(&mut self, kind: PartKind, id: &str, value: &'a RawValue) {
        if let Some(text) = text_of(value) {
            self.cut.text(value, self.facts.len());
            self.change(kind, id.to_owned(), PartChange::Sealed(text));
        }
    }

    /// The whole text of a part that an earlier line stated too; `from` is the string that holds it, where there is one.
    pub(super) fn restate(&mut self, kind: PartKind, id: String, text: Text<'a>, from: Option<&'a RawValue>) {
        if let Some(raw) = from {
            self.cut.text(raw, self.facts.len());
        }
        self.change(kind, id, PartChange::Text(text));
        let metadata = self.metadata();
        if let Some((Fact::PartFinal(last), _)) = self.facts.last_mut() {
            last.metadata = metadata;
        }
    }

    fn change(&mut self, kind: PartKind, id: String, change: PartChange<'a>) {
        let owner = self.owner();
        self.fact(Fact::PartFinal(PartFinal { target: PartTarget::Part(kind, Text::Owned(id)), change, metadata: None }), owner);
    }

    /// A tool call with its arguments; its id, which is one of our own when the line has none that will do.
    pub(super) fn call(&mut self, id: Option<Text<'a>>, name: Text<'a>, args: Option<&'a RawValue>) -> Text<'a> {
        let own = Text::Owned(self.next_id());
        let tool = fit(id).unwrap_or(own);
        let metadata = self.metadata();
        let Author { message, agent, .. } = self.author.clone();
        let started = ToolOp::Started { name, message: Some(message), turn: None, agent, detail: None };
        self.tool(&tool, started, metadata, Owner::MODEL);
        if let Some(args) = args {
            let text = match self.content(args) {
                Content::Text(text) => text,
                Content::Json(_) => Text::Borrowed(args.get()),
            };
            self.tool(&tool, ToolOp::ArgsSet { text }, None, Owner::MODEL);
        }
        self.tool(&tool, ToolOp::ArgsEnd, None, Owner::MODEL);
        tool
    }

    /// The result of a call.
    pub(super) fn result(&mut self, id: Option<Text<'a>>, outcome: Outcome<'a>) {
        let own = Text::Owned(self.next_id());
        let tool = fit(id).unwrap_or(own);
        let content = outcome.content.map(|raw| self.content(raw));
        let message = Some(Text::Owned(self.id.clone()));
        let Outcome { status, agent, detail, .. } = outcome;
        let metadata = self.metadata();
        let op = ToolOp::Result { message, content, status, reference: None, error: None, agent, detail };
        self.tool(&tool, op, metadata, Owner::TOOL);
    }

    fn tool(&mut self, tool: &Text<'a>, op: ToolOp<'a>, metadata: Option<Json<'a>>, owner: Owner) {
        self.fact(Fact::ToolChanged(ToolChanged { tool: tool.clone(), op, metadata }), owner);
    }

    /// What the line says of its session.
    pub(super) fn session(&mut self, title: Option<Text<'a>>, fields: &[(&str, &str)]) {
        let fields = (!fields.is_empty()).then(|| Json::built(write_object(fields.iter().copied())));
        self.fact(Fact::SessionChanged(SessionChanged { title, status: None, fields }), Owner::SESSION);
    }

    /// Writes out what the line gave; a line that gave nothing is kept as it came, under `name`.
    pub(super) fn finish(self, protocol: Protocol, name: &str, out: &mut Vec<Stated<'a>>) {
        let Self { event_id, text, cut, mut facts, mut notes, .. } = self;
        if facts.len() > LINE_FACTS_MAX {
            notes.push((LINE_TOO_RICH, format!("{} facts are above the limit of {LINE_FACTS_MAX}, kept as it came", facts.len())));
            facts.clear();
        }
        let mut residue = (!facts.is_empty()).then(|| cut.residue());
        if facts.is_empty() {
            facts.push((Fact::Opaque(Opaque { name: Text::Owned(name.to_owned()), payload: Text::Borrowed(text) }), Owner::UNKNOWN));
        }
        facts.extend(notes.into_iter().map(|(code, detail)| {
            let noted = DiagnosticNoted { code: Text::Borrowed(code), detail: Some(Text::Owned(detail)), raw: None };
            (Fact::DiagnosticNoted(noted), Owner::UNKNOWN)
        }));
        let of = u16::try_from(facts.len()).unwrap_or(u16::MAX);
        for (part, (fact, owner)) in (0..).zip(facts) {
            // A repeat is known by its id and part: a line with an id always says the part.
            let part = (of > 1 || event_id.is_some()).then_some((part, of));
            let source = Source { protocol, event_id: event_id.clone().map(Text::Owned), part, ..Source::default() };
            out.push(Stated { fact, source, owner, ext: residue.take() });
        }
    }
}

/// A line gives more facts than can be numbered; it is kept as it came and has no other effect.
pub const LINE_TOO_RICH: &str = "line_too_rich";

/// An id that will do.
pub(super) fn fit(id: Option<Text<'_>>) -> Option<Text<'_>> {
    id.filter(|id| !id.is_empty() && id.len() <= ID_BYTES_MAX)
}

/// JSON that can be read and merged: not too deep, not too long, no half characters; null says nothing.
pub(super) fn sound(raw: &RawValue) -> Option<&str> {
    let json = raw.get();
    let reads = json != "null" && json.len() <= ABOUT_BYTES_MAX && serde_json::from_str::<serde_json::Value>(json).is_ok();
    reads.then_some(json)
}

/// A line that is not read: not an object, or without a type.
pub(super) fn unread<'a>(protocol: Protocol, code: &'static str, text: &'a str, detail: String, out: &mut Vec<Stated<'a>>) {
    let mut line = Line::new(String::new(), text);
    line.note(code, detail);
    line.finish(protocol, "", out);
}
