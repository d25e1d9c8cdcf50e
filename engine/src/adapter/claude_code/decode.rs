//! One line into the facts it states.
//!
//! The facts of a line come in this order: what it says of the session, the turn that it ends and the one that it begins, its parts,
//! calls and results, the end of its turn, a title, what is to be noted about it.

use super::super::fields::{Fields, text_of, write_object};
use super::super::line::{Line, fit, sound, unread};
use super::code;
use super::content::Blocks;
use super::meta::{Meta, quoted};
use super::seen::{Claim, Seen};
use super::turn::{COMPLETED, FAILED, INTERRUPTED, Turns};
use crate::adapter::source::Raw;
use crate::event::{Owner, Protocol, Source, Stated};
use crate::fact::{CompactionMarked, DiagnosticNoted, Fact, Json, Text};

const PROTOCOL: Protocol = Protocol::CLAUDE_CODE;
/// How the line begins that tells of an interruption by the person.
const INTERRUPTION: &str = "[Request interrupted by user";
/// How lines begin that the host writes under the name of the person.
const HOST_OUTPUT: [&str; 4] = ["<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>"];
/// Lines that are known and hold nothing for the timeline.
const QUIET: [&str; 14] = [
    "agent-color",
    "agent-name",
    "agent-setting",
    "attachment",
    "attribution-snapshot",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "tag",
    "worktree-state",
];

/// Decodes the lines of one transcript, in order. Memory: about 100 bytes for each line.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    number: u64,
    seen: Seen,
    meta: Meta,
    turns: Turns,
    /// The transcript has lines that are not of a subagent.
    main: bool,
    /// The compaction whose summary has not come.
    boundary: Option<String>,
    /// The usage that was told last, with its message.
    usage: Option<(String, String)>,
    parent: Vec<(&'static str, String)>,
}

/// A line and its fields.
struct Told<'e, 'a> {
    kind: &'e str,
    fields: &'e Fields<'a>,
}

impl<'a> Told<'_, 'a> {
    fn is(&self, key: &str) -> bool {
        self.fields.get(key).is_some_and(|raw| raw.get() == "true")
    }

    fn text(&self, key: &str) -> Option<Text<'a>> {
        self.fields.get(key).and_then(text_of)
    }
}

impl Decoder {
    /// Decodes a transcript from its beginning.
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
        let Some(kind) = fields.get("type").and_then(text_of) else {
            return unread(PROTOCOL, code::UNKNOWN_EVENT, raw.text, "no type".to_owned(), out);
        };
        let told = Told { kind: &kind, fields: &fields };
        let uuid = fit(told.text("uuid"));
        let mut line = match &uuid {
            None => Line::new(format!("line:{}", self.number), raw.text),
            Some(uuid) => match self.seen.claim(uuid, raw.text) {
                Claim::Repeat(id) => return out.push(repeated(id, raw.text)),
                Claim::Own { id, reused } => {
                    let mut line = Line::new(id.clone(), raw.text);
                    line.event_id = Some(id);
                    if reused {
                        line.note(code::ID_REUSED, uuid.to_string());
                    }
                    line
                }
            },
        };
        self.known(&told, &mut line);
        if let Some(uuid) = &uuid {
            self.meta.came(uuid, &mut line);
        }
        line.finish(PROTOCOL, &kind, out);
    }

    fn known<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        match told.kind {
            "user" | "assistant" => self.message(told, line),
            "system" => self.system(told, line),
            "summary" => self.meta.summary(told.fields, &self.seen, line),
            "attachment" => self.attachment(told, line),
            kind => {
                if !self.meta.titles(kind, told.fields, line) && !QUIET.contains(&kind) {
                    line.note(code::UNKNOWN_EVENT, kind.chars().take(64).collect::<String>());
                }
            }
        }
    }

    /// Whether the line is of the transcript itself, and not of a subagent whose lines stand among its own.
    fn is_own(&mut self, told: &Told<'_, '_>) -> bool {
        let side = told.is("isSidechain");
        self.main |= !side;
        !side || !self.main
    }

    fn open<'a>(&mut self, told: &Told<'_, 'a>, own: bool, line: &mut Line<'a>) {
        for key in ["uuid", "parentUuid", "logicalParentUuid", "timestamp", "subtype", "level", "sourceToolUseID"] {
            line.about(key, told.fields.get(key));
        }
        for key in ["isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage"] {
            line.about(key, told.fields.get(key).filter(|raw| raw.get() == "true"));
        }
        let mut more = self.parent.clone();
        if own && told.is("isSidechain") {
            more.extend(told.fields.get("agentId").and_then(sound).map(|id| ("agent", id.to_owned())));
            if self.parent.is_empty() {
                more.extend(told.fields.get("sessionId").and_then(sound).map(|id| ("parent_session", id.to_owned())));
            }
        }
        if own {
            self.meta.place(told.fields, &more, line);
        }
        line.author.message = Text::Owned(line.id.clone());
        let agent = (!own).then(|| fit(told.text("agentId")).unwrap_or(Text::Borrowed("sidechain")));
        line.author.agent = agent;
    }

    fn message<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        let own = self.is_own(told);
        let message = told.fields.get("message");
        let body = message.and_then(|raw| Fields::parse(raw.get()).ok());
        let content = match &body {
            Some(body) => body.get("content"),
            None => message,
        };
        let Some(blocks) = content.and_then(Blocks::of) else {
            return line.note(code::MALFORMED_EVENT, format!("{}.message.content: expected a text or a list", told.kind));
        };
        let body = body.unwrap_or_default();
        self.open(told, own, line);
        let role = body.get("role").and_then(text_of).filter(|role| !role.is_empty() && role.len() <= 64);
        line.author.role = role.unwrap_or_else(|| Text::Owned(told.kind.to_owned()));
        if told.kind == "assistant" {
            self.answer(told, &body, blocks, own, line);
        } else {
            self.input(told, blocks, own, line);
        }
    }

    fn input<'a>(&mut self, told: &Told<'_, 'a>, blocks: Blocks<'a>, own: bool, line: &mut Line<'a>) {
        let speaks = blocks.speaks();
        let first = blocks.first_text();
        let interrupts = speaks && first.starts_with(INTERRUPTION);
        let summary = told.is("isCompactSummary");
        let unsaid = summary || told.is("isMeta") || told.is("isVisibleInTranscriptOnly");
        if own && speaks && !interrupts && !unsaid && !HOST_OUTPUT.iter().any(|mark| first.starts_with(mark)) {
            self.turns.begin(line);
        }
        if summary {
            self.summarized(told, line);
        }
        let ran = told.fields.get("toolUseResult").filter(|_| blocks.results() == 1).and_then(|raw| Fields::parse(raw.get()).ok());
        blocks.state(ran.as_ref(), line);
        if own && interrupts {
            self.turns.end(INTERRUPTED, None, line);
        }
    }

    fn answer<'a>(&mut self, told: &Told<'_, 'a>, body: &Fields<'a>, blocks: Blocks<'a>, own: bool, line: &mut Line<'a>) {
        if let Some(message) = fit(body.get("id").and_then(text_of)) {
            line.author.message = message;
        }
        let message = line.author.message.to_string();
        let made_up = body.get("model").and_then(text_of).as_deref() == Some("<synthetic>");
        line.about("model", body.get("model"));
        line.about("stop_reason", body.get("stop_reason"));
        if own && !made_up {
            self.turns.go_on(&message, line);
        }
        if let Some(usage) = body.some("usage").filter(|_| !made_up) {
            let told = Some((message.clone(), usage.get().to_owned()));
            if self.usage != told {
                line.about_once("usage", usage);
                self.usage = told;
            }
            if own {
                self.turns.used(&message, &Fields::parse(usage.get()).unwrap_or_default());
            }
        }
        blocks.state(None, line);
        if !own {
            return;
        }
        let reason = body.get("stop_reason").and_then(text_of);
        if told.is("isApiErrorMessage") {
            let keys = ["error", "apiErrorStatus", "requestId"];
            let said = keys.iter().filter_map(|key| Some((*key, sound(told.fields.get(key)?)?)));
            let error = Json::built(write_object(said.chain([("isApiErrorMessage", "true")])));
            self.turns.end(FAILED, Some(error), line);
        } else if !made_up {
            match reason.as_deref() {
                Some("end_turn" | "stop_sequence") => self.turns.end(COMPLETED, None, line),
                Some("tool_use" | "pause_turn") | None => {}
                Some(other) => self.turns.stopped(other),
            }
        }
    }

    fn system<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        let own = self.is_own(told);
        let subtype = told.text("subtype").unwrap_or_default();
        self.open(told, own, line);
        line.author.role = Text::Borrowed("system");
        if subtype.ends_with("compact_boundary") {
            self.boundary = told.text("uuid").map(Text::into_owned);
            let keys = ["uuid", "content", "compactMetadata", "microcompactMetadata", "logicalParentUuid", "timestamp"];
            let detail: Vec<_> = keys.iter().filter_map(|key| Some((*key, sound(told.fields.get(key)?)?))).collect();
            compacted(Json::built(write_object(detail)), line);
        } else if let Some(content) = told.fields.get("content").filter(|raw| raw.get().starts_with('"')) {
            line.part(crate::fact::PartKind::Text, Some(content));
        }
        if own && subtype == "turn_duration" {
            self.turns.end(COMPLETED, None, line);
        }
    }

    /// The summary of a compaction; of one that no line marked, it is the mark too.
    fn summarized<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        let boundary = self.boundary.take();
        let marked = boundary.is_some() && (told.text("parentUuid").as_deref() == boundary.as_deref() || told.text("parentUuid").is_none());
        if !marked {
            compacted(Json::built(write_object([("summary", quoted(&line.id).as_str())])), line);
        }
    }

    /// A prompt that was queued while a turn ran comes as an attachment; others hold nothing that was said.
    fn attachment<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        let Some(attached) = told.fields.get("attachment").and_then(|raw| Fields::parse(raw.get()).ok()) else { return };
        let queued = attached.get("type").and_then(text_of).as_deref() == Some("queued_command");
        let Some(blocks) = attached.get("prompt").filter(|_| queued).and_then(Blocks::of) else { return };
        let own = self.is_own(told);
        self.open(told, own, line);
        line.author.role = Text::Borrowed("user");
        blocks.state(None, line);
    }
}

fn compacted<'a>(detail: Json<'a>, line: &mut Line<'a>) {
    line.fact(Fact::CompactionMarked(CompactionMarked { phase: Text::Borrowed("completed"), detail: Some(detail) }), Owner::RUNTIME);
}

/// A line that came before: under the id and as the first part of the line that it repeats, so that it counts as the same.
fn repeated(id: String, text: &str) -> Stated<'_> {
    let noted = DiagnosticNoted {
        code: Text::Borrowed(code::LINE_REPEATED),
        detail: Some(Text::Owned(id.clone())),
        raw: Some(Text::Borrowed(text)),
    };
    let source = Source { protocol: PROTOCOL, event_id: Some(Text::Owned(id)), part: Some((0, 1)), ..Source::default() };
    Stated { source, ..Stated::from(Fact::DiagnosticNoted(noted)) }
}
