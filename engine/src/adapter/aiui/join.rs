//! A session as the events by which a client joins it.
//!
//! **Invariant:** a client that folds these events, and then those that come after, has what a client has that folded all of them.
//!
//! The order: the start of the run; what a run before it left asking; every message at once; the state; what the run has open, each by the
//! event that opened it; what was asked in it; then its end, when it has ended.

use std::cell::RefCell;

use serde_json::{Map, Value, json};

use super::Decoder;
use super::lanes::Lane;
use super::name::Name;
use super::order::Span;
use super::project::{Payloads, project};
use crate::adapter::fields::{Fields, text_of};
use crate::adapter::sourced::source_events;
use crate::error::Error;
use crate::event::{Body, Protocol};
use crate::fact::Fact;
use crate::state::{Content, InteractionStatus, Logged, Sequence, Session};
use crate::{PayloadRef, Seq, View};

/// The events, as JSON text, from which an unmodified client has the messages, the state and the pending interrupts of a session, and goes
/// on with what follows in its stream. A session that came in another protocol is shown so too.
///
/// What the client does not fold (steps, spans of reasoning, subagents) is stated of the run that has not ended. Artifacts, diagnostics
/// and earlier runs are not shown.
/// Cost: the log of the session, and the session in memory. Errors: [`Error::NoSession`], and those of [`View::payload`].
pub fn join(view: &View, session: &str) -> Result<Vec<String>, Error> {
    let (folded, begun) = fold(view, session)?;
    let run = Run::read(view, session, begun)?;
    let log = FromLog { view, session, failed: RefCell::new(None) };
    let projection = project(&folded.state, &log);
    let asked = live_requests(&folded, &log, &run);
    log.failed.into_inner().map_or(Ok(()), Err)?;
    let has_state = folded.state.document("state").is_some();
    Ok(written(&projection, has_state, asked, &run, session, &folded))
}

/// The whole session in memory, and where its last run begins.
fn fold(view: &View, session: &str) -> Result<(Session, Option<Seq>), Error> {
    let (mut folded, mut begun) = (Session::empty(), None);
    for owned in view.events(session, Seq::FIRST)? {
        let owned = owned?;
        let event = owned.event()?;
        if event.source.protocol == Protocol::AIUI && matches!(&event.body, Body::Fact(Fact::TurnStarted(_))) {
            let before = event.source.part.map_or(0, |(part, _)| u64::from(part));
            begun = Seq::new(event.seq.get().saturating_sub(before));
        }
        folded.reduce(&event);
    }
    Ok((folded, begun))
}

/// Large values, read where they are.
struct FromLog<'v> {
    view: &'v View,
    session: &'v str,
    failed: RefCell<Option<Error>>,
}

impl Payloads for FromLog<'_> {
    fn payload(&self, logged: &Logged) -> Option<String> {
        let reference = PayloadRef::of(self.session, &Content::Payload(logged.clone()))?;
        match self.view.payload(&reference) {
            Ok(payload) => Some(payload.into_string()),
            Err(error) => {
                *self.failed.borrow_mut() = Some(error);
                None
            }
        }
    }
}

/// The last run, as far as its events say more than the folded session.
#[derive(Default)]
struct Run {
    started: Option<Value>,
    ended: Option<Value>,
    /// What opened what is open, in order.
    open: Vec<(Opening, Value)>,
    /// Everything about its subagents: one that has finished is known still.
    agents: Vec<Value>,
    lanes: Vec<Lane>,
    /// Halves of characters whose other half has not come.
    halves: Vec<(Span, String, u16)>,
}

/// What an event opens or closes: what it is, its id, and its owner when owners keep ids of their own.
type Opening = (&'static str, Option<String>, Option<String>);

impl Run {
    fn read(view: &View, session: &str, begun: Option<Seq>) -> Result<Self, Error> {
        let Some(begun) = begun else { return Ok(Self::default()) };
        let (mut run, mut decoder) = (Self::default(), Decoder::new());
        for source in source_events(view.events(session, begun)?) {
            let source = source?;
            if source.protocol == Protocol::AIUI {
                decoder.decode(&source.text, &mut Vec::new());
                run.take(&source.text);
            }
        }
        run.lanes = decoder.open_lanes().cloned().collect();
        run.halves = decoder.open_halves().collect();
        Ok(run)
    }

    fn take(&mut self, text: &str) {
        let Ok(fields) = Fields::parse(text) else { return };
        let said = |key: &str| fields.get(key).and_then(text_of).map(|text| text.into_owned());
        let Some(name) = said("type").as_deref().and_then(Name::of) else { return };
        let event = || serde_json::from_str::<Value>(text).unwrap_or_default();
        if let Some((opening, opens)) = opening(name, &said) {
            self.open.retain(|(known, _)| *known != opening);
            if opens {
                let mut event = event();
                // What was stated of it since stands in the message.
                event.as_object_mut().and_then(|event| event.remove("metadata"));
                self.open.push((opening, event));
            }
            return;
        }
        match name {
            Name::RunStarted => *self = Self { started: Some(event()), ..Self::default() },
            Name::RunFinished | Name::RunError => {
                self.open.clear();
                self.ended = Some(event());
            }
            Name::SubagentStarted | Name::SubagentFinished | Name::SubagentError => self.agents.push(event()),
            _ => {}
        }
    }
}

fn opening(name: Name, said: &dyn Fn(&str) -> Option<String>) -> Option<(Opening, bool)> {
    let (what, id, opens) = match name {
        Name::TextStart => ("text", "messageId", true),
        Name::TextEnd => ("text", "messageId", false),
        Name::ToolStart => ("tool", "toolCallId", true),
        Name::ToolEnd => ("tool", "toolCallId", false),
        Name::ReasoningStart => ("span", "messageId", true),
        Name::ReasoningEnd => ("span", "messageId", false),
        Name::ReasoningMessageStart => ("reasoning", "messageId", true),
        Name::ReasoningMessageEnd => ("reasoning", "messageId", false),
        Name::ThinkingStart => ("thinking", "", true),
        Name::ThinkingEnd => ("thinking", "", false),
        Name::ThinkingTextStart => ("thought", "", true),
        Name::ThinkingTextEnd => ("thought", "", false),
        Name::StepStarted => return Some((("step", said("stepName"), said("subagentRunId")), true)),
        Name::StepFinished => return Some((("step", said("stepName"), said("subagentRunId")), false)),
        _ => return None,
    };
    Some(((what, said(id), None), opens))
}

/// Requests of the active run that wait and that no interrupt asked for: they are stated in it, so that its end withdraws them. Those of an
/// earlier run outlive it, as interrupts do.
fn live_requests(folded: &Session, log: &FromLog<'_>, run: &Run) -> Vec<Value> {
    if run.started.is_none() || run.ended.is_some() {
        return Vec::new();
    }
    let state = &folded.state;
    let current = state.header().current;
    let of_run = |ordinal: &i64| state.entry(Sequence::Timeline, *ordinal).filter(|entry| entry.turn == current);
    let waiting = state.header().pending.iter().filter_map(|ordinal| match &of_run(ordinal)?.body {
        crate::state::Body::Interaction(asked) if asked.status == InteractionStatus::Pending && asked.interrupt.is_none() => Some(asked),
        _ => None,
    });
    let stated = waiting.map(|asked| {
        let request = asked.request.as_deref().and_then(|request| match request {
            Content::Payload(logged) => log.payload(logged),
            here => Some(here.here().to_owned()),
        });
        let mut event: Map<String, Value> = request.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        event.insert("type".to_owned(), json!(Name::HumanInputRequested.as_str()));
        event.insert("requestId".to_owned(), json!(asked.id));
        event.entry("kind").or_insert_with(|| json!(asked.kind));
        event.entry("status").or_insert_with(|| json!("pending"));
        Value::Object(event)
    });
    stated.collect()
}

fn written(projection: &Value, has_state: bool, asked: Vec<Value>, run: &Run, session: &str, folded: &Session) -> Vec<String> {
    let live: Vec<&Value> = asked.iter().filter_map(|event| event.get("requestId")).collect();
    let list = |key: &str| projection.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut interrupts = list("pendingInterrupts");
    interrupts.retain(|interrupt| interrupt.get("id").is_none_or(|id| !live.contains(&id)));
    let mut messages = list("messages");
    let odd = odd_activities(&mut messages);
    let outlines = Outlines { run, session, folded };
    let started = outlines.started();
    let ended = outlines.ended(&interrupts);
    let takes = ended.as_ref().is_some_and(|ended| ended.get("outcome").is_some_and(|outcome| outcome.get("interrupts").is_some()));
    let mut out = Vec::new();
    if !interrupts.is_empty() && !takes {
        let mut before = started.clone();
        let id = outlines.asking();
        before.insert("runId".to_owned(), json!(id));
        before.remove("input");
        let thread = before.get("threadId").cloned().unwrap_or_default();
        out.push(Value::Object(before));
        let outcome = json!({ "type": "interrupt", "interrupts": interrupts });
        out.push(json!({ "type": Name::RunFinished.as_str(), "threadId": thread, "runId": id, "outcome": outcome }));
    }
    out.push(Value::Object(started));
    out.extend(run.agents.iter().cloned());
    // What is open without being there was left out by its source since: the snapshot leaves it out again.
    let (there, gone): (Vec<_>, Vec<_>) = run.open.iter().partition(|(opening, _)| is_there(opening, &messages));
    out.extend(gone.iter().map(|(_, event)| event.clone()));
    if !messages.is_empty() || !gone.is_empty() {
        out.push(json!({ "type": Name::MessagesSnapshot.as_str(), "messages": messages }));
    }
    out.extend(odd);
    if has_state {
        out.push(json!({ "type": Name::StateSnapshot.as_str(), "snapshot": projection.get("state") }));
    }
    out.extend(there.iter().map(|(_, event)| event.clone()));
    out.extend(asked);
    out.extend(run.lanes.iter().map(chunk));
    let halves = run.halves.iter().map(|(span, id, unit)| half(*span, id, *unit, run.lanes.iter().any(|lane| lane.id == *id)));
    let end = ended.map(Value::Object).as_ref().map(Value::to_string);
    out.iter().map(Value::to_string).chain(halves).chain(end).collect()
}

/// Activities whose content a patch made no object: a message states an object, and a patch makes it what it is.
fn odd_activities(messages: &mut [Value]) -> Vec<Value> {
    let mut patches = Vec::new();
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        if message.get("role").and_then(Value::as_str) != Some("activity") || message.get("content").is_some_and(Value::is_object) {
            continue;
        }
        let content = message.insert("content".to_owned(), json!({})).unwrap_or_default();
        patches.push(json!({
            "type": Name::ActivityDelta.as_str(), "messageId": message.get("id"), "activityType": message.get("activityType"),
            "patch": [{ "op": "replace", "path": "", "value": content }],
        }));
    }
    patches
}

/// A delta of half a character, whose other half is in the next one.
fn half(span: Span, id: &str, unit: u16, in_lane: bool) -> String {
    let (name, key) = match (span, in_lane) {
        (Span::Tool, false) => (Name::ToolArgs, "toolCallId"),
        (Span::Tool, true) => (Name::ToolChunk, "toolCallId"),
        (Span::Text, false) => (Name::TextContent, "messageId"),
        (Span::Text, true) => (Name::TextChunk, "messageId"),
        (Span::Reasoning | Span::Thought, false) => (Name::ReasoningMessageContent, "messageId"),
        (Span::Reasoning | Span::Thought, true) => (Name::ReasoningMessageChunk, "messageId"),
    };
    format!("{{\"type\":\"{}\",\"{key}\":{},\"delta\":\"\\u{unit:04x}\"}}", name.as_str(), json!(id))
}

/// Whether what is open is a message or a call among these, or neither.
fn is_there((what, id, _): &Opening, messages: &[Value]) -> bool {
    let has_id = |value: &Value| value.get("id").and_then(Value::as_str) == id.as_deref();
    match *what {
        "text" | "reasoning" => messages.iter().any(has_id),
        "tool" => messages.iter().filter_map(|message| message.get("toolCalls")?.as_array()).flatten().any(has_id),
        _ => true,
    }
}

/// The beginning and the end of the run to show.
struct Outlines<'r> {
    run: &'r Run,
    session: &'r str,
    folded: &'r Session,
}

impl Outlines<'_> {
    fn started(&self) -> Map<String, Value> {
        let mut started = Map::new();
        started.insert("type".to_owned(), json!(Name::RunStarted.as_str()));
        let Some(Value::Object(stated)) = &self.run.started else {
            started.insert("threadId".to_owned(), json!(self.session));
            started.insert("runId".to_owned(), json!(self.turn().unwrap_or(self.session)));
            return started;
        };
        for key in ["threadId", "runId", "turnId", "parentRunId", "protocolVersion", "input"] {
            started.extend(stated.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        // Its messages are among those that follow, in their places; its answers are taken still.
        if let Some(Value::Object(input)) = started.get_mut("input") {
            input.insert("messages".to_owned(), json!([]));
        }
        started
    }

    /// The turn that was current last.
    fn turn(&self) -> Option<&str> {
        let current = self.folded.state.header().current?;
        match &self.folded.state.entry(Sequence::Timeline, current)?.body {
            crate::state::Body::Turn(turn) => Some(&turn.id),
            _ => None,
        }
    }

    /// The run before this one whose end asked what waits.
    fn asking(&self) -> String {
        let state = &self.folded.state;
        let turns = state.header().pending.iter().filter_map(|ordinal| match &state.entry(Sequence::Timeline, *ordinal)?.body {
            crate::state::Body::Interaction(asked) if asked.interrupt.is_some() => asked.turn.clone(),
            _ => None,
        });
        let started = self.started();
        let run = started.get("runId").and_then(Value::as_str).unwrap_or_default();
        turns.rev().find(|turn| turn != run).unwrap_or_else(|| format!("{run} before"))
    }

    /// `None` while the run goes on.
    fn ended(&self, interrupts: &[Value]) -> Option<Map<String, Value>> {
        let mut ended = match &self.run.ended {
            Some(Value::Object(ended)) => ended.clone(),
            _ if self.run.started.is_some() || self.folded.state.header().running => return None,
            _ => {
                let started = self.started();
                let keys = ["threadId", "runId"].into_iter();
                let mut ended: Map<_, _> = keys.filter_map(|key| Some((key.to_owned(), started.get(key)?.clone()))).collect();
                ended.insert("type".to_owned(), json!(Name::RunFinished.as_str()));
                ended
            }
        };
        let name = ended.get("type").and_then(Value::as_str).and_then(Name::of);
        if name == Some(Name::RunFinished) {
            let asked = ended.get("outcome").is_some_and(|outcome| outcome.get("type") == Some(&json!("interrupt")));
            if !interrupts.is_empty() {
                ended.insert("outcome".to_owned(), json!({ "type": "interrupt", "interrupts": interrupts }));
            } else if asked {
                ended.remove("outcome");
            }
        }
        Some(ended)
    }
}

/// The chunk that an open lane goes on from.
fn chunk(lane: &Lane) -> Value {
    let (name, keys) = match lane.span {
        Span::Tool => (Name::ToolChunk, ["toolCallId", "toolCallName", "parentMessageId"]),
        Span::Text => (Name::TextChunk, ["messageId", "role", "name"]),
        Span::Reasoning | Span::Thought => (Name::ReasoningMessageChunk, ["messageId", "", ""]),
    };
    let [id, first, second] = keys;
    let mut event = json!({ "type": name.as_str(), id: lane.id, "delta": "" });
    let said = lane.said.iter().zip([first, second]).filter(|(said, key)| said.is_some() && !key.is_empty());
    for (key, value) in said.map(|(said, key)| (key, said)).chain([("subagentRunId", &lane.agent)]) {
        if let (Some(value), Some(event)) = (value, event.as_object_mut()) {
            event.insert(key.to_owned(), json!(value));
        }
    }
    event
}
