//! Source events into the protocol's projection, without a store.
//!
//! **Invariant:** the same reducer folds here and in a store; only the log is missing.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::Value;
use serde_json::value::RawValue;
use turnstore_storage::{Position, Seq, Stream};

use super::code;
use super::decode::{Decoder, interrupt, resumed, start_message};
use super::project::{Payloads, UNNAMED, project};
use crate::adapter::fields::{Fields, list_of};
use crate::adapter::source::{Problem, Raw};
use crate::event::{Body, Event, Protocol, Source};
use crate::fact::{DiagnosticNoted, DocumentSet, Fact, HistoryImported, HistoryMode, InteractionResolved, Json, Resolution, Text};
use crate::limits::INLINE_BYTES_MAX;
use crate::state::{Logged, Session, short};
use crate::time::UnixMillis;

/// What a fold starts from: `{"messages":[..],"state":..,"pendingInterrupts":[..],"resume":[..]}`, each optional.
#[derive(Clone, Debug, Default)]
pub struct Start {
    text: String,
}

/// The start is not such an object. The caller mends it.
#[derive(Debug, thiserror::Error)]
#[error("the start of a fold does not read: {0}")]
pub struct BadStart(String);

impl Start {
    /// Reads the start.
    ///
    /// # Errors
    /// The text is no JSON object, or a list in it is no list.
    pub fn parse(text: &str) -> Result<Self, BadStart> {
        let fields = Fields::parse(text).map_err(|e| BadStart(e.to_string()))?;
        for key in ["messages", "pendingInterrupts", "resume"] {
            fields.list_if(key).map_err(|bad| BadStart(bad.0))?;
        }
        Ok(Self { text: text.to_owned() })
    }
}

/// Folds the events of one stream.
pub struct Folder {
    session: Session,
    decoder: Decoder,
    seq: Seq,
    line: u64,
    /// Of every fact, in order.
    lines: Vec<u64>,
    payloads: Kept,
    /// Answers that the first run takes along.
    resume: Vec<InteractionResolved<'static>>,
    waiting: Vec<(String, Option<String>)>,
    now: UnixMillis,
}

#[derive(Default)]
struct Kept(BTreeMap<[u8; 16], String>);

impl Payloads for Kept {
    fn payload(&self, logged: &Logged) -> Option<String> {
        self.0.get(&logged.digest).cloned()
    }
}

impl Folder {
    /// Starts a fold; `now` judges whether an interrupt of the start has expired.
    pub fn new(start: &Start, now: SystemTime) -> Self {
        let mut folder = Self {
            session: Session::empty(),
            decoder: Decoder::new(),
            seq: Seq::FIRST,
            line: 0,
            lines: Vec::new(),
            payloads: Kept::default(),
            resume: Vec::new(),
            waiting: Vec::new(),
            now: now.into(),
        };
        let fields = Fields::parse(&start.text).unwrap_or_default();
        folder.begin(&fields);
        folder
    }

    fn begin(&mut self, fields: &Fields<'_>) {
        if let Some(state) = fields.get("state") {
            self.fact(Fact::DocumentSet(DocumentSet { document: Text::Borrowed("state"), value: Json::raw(state), replace: true }));
        }
        let list = |key: &str| -> Vec<&RawValue> { fields.get(key).and_then(list_of).unwrap_or_default() };
        let mut messages = Vec::new();
        for (index, raw) in list("messages").into_iter().enumerate() {
            if let Ok(fields) = Fields::of("message", raw) {
                messages.push(start_message(&fields, format!("{UNNAMED}{index}")));
            }
        }
        messages.iter().for_each(|message| self.decoder.learn(message, false));
        if !messages.is_empty() {
            let history = HistoryImported {
                mode: HistoryMode::Append,
                messages,
                turns: Vec::new(),
                older: None,
                requested_at: None,
                authoritative_activities: None,
            };
            self.fact(Fact::HistoryImported(history));
        }
        for raw in list("pendingInterrupts") {
            if let Some(asked) = interrupt(raw, None) {
                self.waiting.push((asked.interaction.to_string(), asked.expires_at.as_deref().map(str::to_owned)));
                self.fact(Fact::InteractionRequested(asked));
            }
        }
        self.resume = list("resume").into_iter().filter_map(resumed).map(owned).collect();
    }

    /// Folds one event.
    pub fn event(&mut self, raw: Raw<'_>) {
        self.line = raw.line;
        // Most events state one fact.
        let mut facts = Vec::with_capacity(1);
        self.decoder.decode_raw(raw, &mut facts);
        for stated in facts {
            let starts = matches!(stated.fact, Fact::TurnStarted(_));
            self.fact(stated.fact);
            if starts {
                self.take_resume();
            }
        }
    }

    /// Answers to interrupts that the caller gives to the first run.
    fn take_resume(&mut self) {
        let resume = std::mem::take(&mut self.resume);
        for (id, expires_at) in std::mem::take(&mut self.waiting) {
            let answer = resume.iter().find(|answer| answer.interaction == id.as_str());
            let expired = expires_at.as_deref().and_then(UnixMillis::rfc3339).is_some_and(|at| at <= self.now);
            match answer {
                None => self.note(code::INTERRUPT_UNANSWERED, id),
                Some(answer) if expired && answer.resolution != Resolution::Cancelled => self.note(code::INTERRUPT_EXPIRED, id),
                Some(answer) => self.fact(Fact::InteractionResolved(answer.clone())),
            }
        }
    }

    /// Notes a part of the source that gave no event.
    pub fn problem(&mut self, problem: Problem) {
        self.line = problem.line;
        self.note(code::SOURCE_UNREADABLE, problem.reason.to_string());
    }

    fn note(&mut self, code: &'static str, detail: String) {
        self.fact(Fact::DiagnosticNoted(DiagnosticNoted { code: Text::Borrowed(code), detail: Some(Text::Owned(detail)), raw: None }));
    }

    fn fact(&mut self, fact: Fact<'_>) {
        self.lines.push(self.line);
        self.keep_large(&fact);
        let event = Event {
            position: Position::FIRST,
            session: Stream::FIRST,
            seq: self.seq,
            recorded_at: 0,
            source: Source { protocol: Protocol::AIUI, ..Source::default() },
            owner: crate::event::Owner::UNKNOWN,
            body: Body::Fact(fact),
            ext: None,
        };
        self.session.reduce(&event);
        self.seq = self.seq.next();
    }

    /// Keeps values that the state may only refer to.
    fn keep_large(&mut self, fact: &Fact<'_>) {
        let kept = &mut self.payloads.0;
        fact.values(&mut |value| {
            if value.len() > INLINE_BYTES_MAX {
                kept.insert(short(&blake3::hash(value.as_bytes())), value.to_owned());
            }
        });
    }

    /// The projection; each diagnostic names the line of its event (0 before the first). Cost: the session.
    pub fn finish(self) -> Value {
        let mut projection = project(&self.session.state, &self.payloads);
        let line_of = |seq: u64| self.lines.get(usize::try_from(seq.checked_sub(Seq::FIRST.get())?).ok()?).copied();
        for noted in projection.get_mut("diagnostics").and_then(Value::as_array_mut).into_iter().flatten() {
            let line = noted.get("seq").and_then(Value::as_u64).and_then(line_of);
            if let Some(noted) = noted.as_object_mut() {
                noted.remove("seq");
                noted.insert("line".to_owned(), Value::from(line.unwrap_or(0)));
            }
        }
        projection
    }
}

fn owned(answer: InteractionResolved<'_>) -> InteractionResolved<'static> {
    InteractionResolved {
        interaction: Text::Owned(answer.interaction.into_owned()),
        decision: None,
        resolution: answer.resolution,
        payload: answer.payload.map(|payload| Json::built(payload.as_str().to_owned())),
        receipt: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(lines: &[String]) -> Value {
        let mut folder = Folder::new(&Start::parse("{}").unwrap(), SystemTime::UNIX_EPOCH);
        for (line, text) in (1..).zip(lines) {
            folder.event(Raw { line, text, name: None, id: None });
        }
        folder.finish()
    }

    #[test]
    fn text_and_results_of_any_length_are_projected_whole() {
        let long = "é".repeat(100_000);
        let projection = folded(&[
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#.to_owned(),
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#.to_owned(),
            format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"{long}"}}"#),
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#.to_owned(),
            format!(r#"{{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":"{long}"}}"#),
        ]);
        assert_eq!(projection["messages"][0]["content"], *long);
        assert_eq!(projection["messages"][1]["content"], *long);
    }

    #[test]
    fn a_diagnostic_names_the_line_of_its_event() {
        let projection = folded(&[r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#.to_owned(), "{oops".to_owned()]);
        assert_eq!(projection["diagnostics"][0]["line"], 2);
        assert_eq!(projection["diagnostics"][0]["code"], code::UNKNOWN_EVENT);
    }
}
