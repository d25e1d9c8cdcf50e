//! One line into the facts it states.
//!
//! The facts of a line come in this order: what it says of the session, the turn that it ends and the one that it begins, its parts,
//! calls and results, what is to be noted about it.

use std::collections::BTreeMap;

use super::super::fields::{Fields, text_of, write_str};
use super::super::line::{Line, fit, sound, unread};
use super::turn::Turns;
use super::twins::{Half, Lane, Twins};
use super::{code, identity};
use crate::adapter::source::Raw;
use crate::event::{Owner, Protocol, Stated};
use crate::fact::{CompactionMarked, Fact, Json, PartKind, Text};

const PROTOCOL: Protocol = Protocol::CODEX;
/// Fields that speak of the session, and how the session calls them.
const PLACE: [(&str, &str); 12] = [
    ("id", "session_id"),
    ("cwd", "cwd"),
    ("originator", "originator"),
    ("cli_version", "version"),
    ("model_provider", "model_provider"),
    ("model", "model"),
    ("effort", "effort"),
    ("approval_policy", "approval_policy"),
    ("git", "git"),
    ("thread_source", "thread_source"),
    ("agent_nickname", "agent"),
    ("agent_role", "agent_role"),
];

/// Decodes the lines of one rollout, in order. Memory: what is open in it.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    pub(super) number: u64,
    pub(super) turns: Turns,
    pub(super) twins: Twins,
    session: Option<String>,
    told: BTreeMap<&'static str, String>,
    parent: Vec<(&'static str, String)>,
}

/// A line's own part, inside its envelope.
pub(super) struct Told<'e, 'a> {
    pub(super) kind: &'e str,
    pub(super) fields: &'e Fields<'a>,
    /// The payload as it stands in the line; `None` without an envelope.
    pub(super) payload: Option<&'a serde_json::value::RawValue>,
}

impl<'a> Told<'_, 'a> {
    pub(super) fn text(&self, key: &str) -> Option<Text<'a>> {
        self.fields.get(key).and_then(text_of)
    }

    /// A field that holds a string.
    pub(super) fn string(&self, key: &str) -> Option<&'a serde_json::value::RawValue> {
        self.fields.get(key).filter(|raw| raw.get().starts_with('"'))
    }
}

impl Decoder {
    /// Decodes a rollout from its beginning.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`Decoder::new`], of a subagent that this call of this session started.
    pub fn with_parent(session: &str, tool: Option<&str>) -> Self {
        let mut parent = vec![("parent_session", quoted(session))];
        parent.extend(tool.map(|tool| ("parent_tool", quoted(tool))));
        Self { parent, ..Self::default() }
    }

    /// Appends the facts that one line states, given as JSON text. Never fails: what does not decode is kept with a diagnostic. Cost:
    /// a few passes over the text.
    pub fn decode<'a>(&mut self, json: &'a str, out: &mut Vec<Stated<'a>>) {
        self.decode_raw(Raw { line: 0, text: json, name: None, id: None }, out);
    }

    /// As [`Decoder::decode`], of a line as its source gave it.
    pub fn decode_raw<'a>(&mut self, raw: Raw<'a>, out: &mut Vec<Stated<'a>>) {
        self.number += 1;
        let fields = match Fields::parse(raw.text) {
            Ok(fields) => fields,
            Err(error) => return unread(PROTOCOL, code::UNKNOWN_EVENT, raw.text, format!("not a JSON object: {error}"), out),
        };
        let kind = fields.get("type").and_then(text_of);
        if kind.is_none() && !is_old_meta(&fields) && fields.get("record_type").is_none() {
            return unread(PROTOCOL, code::UNKNOWN_EVENT, raw.text, "no type".to_owned(), out);
        }
        let kind = kind.unwrap_or_default();
        let mut line = Line::new(format!("line:{}", self.number), raw.text);
        line.about("timestamp", fields.get("timestamp"));
        line.author.message = Text::Owned(line.id.clone());
        match fields.get("payload").map(|payload| (payload, Fields::parse(payload.get()))) {
            Some((payload, Ok(inner))) => self.enveloped(&kind, &Told { kind: "", fields: &inner, payload: Some(payload) }, &mut line),
            Some((_, Err(_))) => line.note(code::MALFORMED_EVENT, "payload: expected an object"),
            None if is_old_meta(&fields) => self.session_meta(&fields, &mut line),
            None => {
                if !self.item(&Told { kind: &kind, fields: &fields, payload: None }, &mut line) && fields.get("record_type").is_none() {
                    line.note(code::UNKNOWN_EVENT, short(&kind));
                }
            }
        }
        line.finish(PROTOCOL, &kind, out);
    }

    fn enveloped<'a>(&mut self, kind: &str, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        let inner = told.text("type").unwrap_or_default();
        let told = &Told { kind: &inner, ..*told };
        let known = match kind {
            "session_meta" => {
                self.session_meta(told.fields, line);
                true
            }
            "turn_context" => {
                self.place(told.fields, &PLACE[5..8], line);
                true
            }
            "response_item" => self.item(told, line),
            "event_msg" => self.event(told, line),
            "compacted" => {
                self.compacted(told, line);
                true
            }
            _ => false,
        };
        if !known {
            let name = if inner.is_empty() { short(kind) } else { format!("{}.{}", short(kind), short(&inner)) };
            line.note(code::UNKNOWN_EVENT, name);
        }
    }

    /// The first says whose rollout this is; another session's, which a forked rollout holds too, says nothing of this one.
    fn session_meta<'a>(&mut self, meta: &Fields<'a>, line: &mut Line<'a>) {
        let id = fit(meta.get("id").and_then(text_of)).unwrap_or_default().into_owned();
        if *self.session.get_or_insert_with(|| id.clone()) == id {
            if self.parent.is_empty() {
                self.parent = identity::parent(meta).map(|parent| ("parent_session", quoted(&parent))).into_iter().collect();
            }
            self.place(meta, &PLACE, line);
        }
    }

    /// States what the line says of the session that was not said before.
    fn place<'a>(&mut self, fields: &Fields<'a>, keys: &[(&str, &'static str)], line: &mut Line<'a>) {
        let own = keys.iter().filter_map(|(key, name)| Some((*name, sound(fields.get(key)?)?.to_owned())));
        let new: Vec<_> = own.chain(self.parent.iter().cloned()).filter(|(name, json)| self.told.get(name) != Some(json)).collect();
        if !new.is_empty() {
            line.session(None, &new.iter().map(|(name, json)| (*name, json.as_str())).collect::<Vec<_>>());
            self.told.extend(new);
        }
    }

    /// The model that is speaking.
    pub(super) fn model(&self) -> Option<&str> {
        self.told.get("model").map(String::as_str)
    }

    /// The history that replaces what went before is made of messages that stand in the rollout already: they are not said again.
    fn compacted<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        if self.twins.take(Lane::Compaction, Half::Item, "", self.number, 2).is_none() {
            self.twins.wait(Lane::Compaction, Half::Item, "", self.number, String::new());
            compaction(line);
        }
        line.author.role = Text::Borrowed("system");
        if let Some(message) = told.string("message").filter(|raw| raw.get().len() > 2) {
            line.part(PartKind::Text, Some(message));
        }
    }
}

pub(super) fn compaction(line: &mut Line<'_>) {
    let detail = Some(Json::built(format!("{{\"summary\":{}}}", quoted(&line.id))));
    line.fact(Fact::CompactionMarked(CompactionMarked { phase: Text::Borrowed("completed"), detail }), Owner::RUNTIME);
}

/// The first line of a rollout without envelopes.
fn is_old_meta(fields: &Fields<'_>) -> bool {
    fields.get("type").is_none() && fields.get("id").is_some() && fields.get("timestamp").is_some()
}

/// A name that is told to people.
pub(super) fn short(name: &str) -> String {
    name.chars().take(64).collect()
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_str(&mut out, text);
    out
}
