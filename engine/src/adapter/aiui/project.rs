//! A folded session in the protocol's own shape: messages, state, pending interrupts, diagnostics.
//!
//! **Invariant:** a message stands at the place of its first entry; a tool message stands behind the message of its call and the
//! tool messages that are there already, in the order of arrival. Reasoning and answer never share a message, even under one id.
//! **Absent:** reading rows; everything that is projected is in memory.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::state::{
    Body, Chunked, Content, Entry, Field, Interaction, InteractionStatus, Logged, Mark, Part, PartRole, RowKind, Sequence, State, Tool,
    ToolResult, piece_ordinal,
};

/// Where content that is too large for the state is found.
pub trait Payloads {
    /// The value that the log holds.
    fn payload(&self, logged: &Logged) -> Option<String>;
}

impl Payloads for () {
    fn payload(&self, _: &Logged) -> Option<String> {
        None
    }
}

/// Ids that were made up for messages without one begin so; they are not shown.
pub(super) const UNNAMED: &str = "\u{1}unnamed ";

/// The session as `{"messages", "state", "pendingInterrupts", "diagnostics"}`. Cost: the session.
pub fn project(state: &State, payloads: &dyn Payloads) -> Value {
    let timeline = entries(state, Sequence::Timeline);
    let reader = Reader { state, payloads };
    json!({
        "messages": reader.messages(&timeline),
        "state": state.document("state").map_or_else(|| json!({}), |value| (**value).clone()),
        "pendingInterrupts": reader.pending(&timeline),
        "diagnostics": diagnostics(state),
    })
}

fn entries(state: &State, sequence: Sequence) -> Vec<(i64, &Entry)> {
    let (first, next) = state.extent(sequence);
    (first..next).filter_map(|ordinal| Some((ordinal, state.entry(sequence, ordinal)?))).collect()
}

fn diagnostics(state: &State) -> Vec<Value> {
    let all = entries(state, Sequence::Diagnostics).into_iter();
    all.filter_map(|(_, entry)| match &entry.body {
        Body::Diagnostic(noted) => Some(json!({ "code": noted.code, "detail": noted.detail, "seq": noted.seq })),
        _ => None,
    })
    .collect()
}

/// What shows under one message id.
#[derive(Default)]
struct Message<'s> {
    id: &'s str,
    parts: Vec<(i64, &'s Part)>,
    tools: Vec<(i64, &'s Tool)>,
    result: Option<(&'s str, &'s ToolResult)>,
    /// Whether a call made the message.
    made_by_call: bool,
    /// Seq of the event that made it.
    first_seq: u64,
}

impl Message<'_> {
    /// When a result arrived.
    fn seq(&self) -> Option<u64> {
        self.result.map(|(_, result)| result.seq)
    }
}

struct Reader<'s> {
    state: &'s State,
    payloads: &'s dyn Payloads,
}

impl<'s> Reader<'s> {
    fn messages(&self, timeline: &[(i64, &'s Entry)]) -> Vec<Value> {
        let mut messages = Vec::<Message<'s>>::new();
        let mut places = BTreeMap::<(bool, &str), usize>::new();
        for (ordinal, entry) in timeline {
            let (reasoning, id) = match &entry.body {
                Body::Part(part) => (part.kind == PartRole::Reasoning, part.message.as_str()),
                Body::Tool(tool) => (false, tool.message.as_str()),
                Body::Result(lone) => {
                    messages.push(Message { result: Some((&lone.tool, &lone.result)), ..Message::default() });
                    continue;
                }
                _ => continue,
            };
            let known = places.get(&(reasoning, id)).copied();
            let own_message = known.is_some_and(|place| stands_apart(entry, messages.get(place)));
            let place = if own_message { messages.len() } else { *places.entry((reasoning, id)).or_insert(messages.len()) };
            if place == messages.len() {
                messages.push(Message {
                    id,
                    made_by_call: matches!(entry.body, Body::Tool(_)),
                    first_seq: entry.first_seq,
                    ..Message::default()
                });
            }
            match (&entry.body, messages.get_mut(place)) {
                (Body::Part(part), Some(message)) => message.parts.push((*ordinal, part)),
                (Body::Tool(tool), Some(message)) => message.tools.push((*ordinal, tool)),
                _ => {}
            }
        }
        let messages = with_results(messages, timeline);
        messages.iter().filter_map(|message| self.message(message)).collect()
    }

    fn message(&self, message: &Message<'s>) -> Option<Value> {
        if let Some((tool, result)) = message.result {
            return Some(self.tool_message(tool, result));
        }
        let mut out = Map::new();
        if !message.id.starts_with(UNNAMED) {
            put(&mut out, "id", message.id);
        }
        if let Some((_, activity)) = message.parts.iter().find(|(_, part)| part.kind == PartRole::Activity) {
            self.activity(activity, &mut out);
            return Some(Value::Object(out));
        }
        match message.parts.first() {
            Some((_, part)) => self.parts(part, message, &mut out),
            None => {
                let (_, first) = message.tools.first()?;
                put(&mut out, "role", "assistant");
                put_if(&mut out, "subagentRunId", first.agent.as_deref());
                self.put_value(&mut out, "encryptedValue", &first.message_sealed);
                put_json(&mut out, "metadata", first.message_metadata.as_deref());
            }
        }
        if !message.tools.is_empty() {
            out.insert("toolCalls".to_owned(), message.tools.iter().map(|(ordinal, tool)| self.call(*ordinal, tool)).collect());
        }
        Some(Value::Object(out))
    }

    fn activity(&self, part: &Part, out: &mut Map<String, Value>) {
        put(out, "role", "activity");
        put(out, "activityType", part.subtype.as_deref().unwrap_or_default());
        let content = self.state.document(&format!("activity:{}", part.message)).map_or_else(|| json!({}), |value| (**value).clone());
        out.insert("content".to_owned(), content);
        put_if(out, "subagentRunId", part.agent.as_deref());
        put_json(out, "metadata", part.metadata.as_deref());
    }

    fn parts(&self, first: &Part, message: &Message<'s>, out: &mut Map<String, Value>) {
        put(out, "role", if message.made_by_call { "assistant" } else { &first.role });
        let made_by = message.tools.first().filter(|_| message.made_by_call).map(|(_, tool)| *tool);
        put_if(out, "name", first.name.as_deref().filter(|_| made_by.is_none()));
        let stands = message.parts.iter().filter(|(_, part)| part.mark != Mark::Superseded);
        let contents: Vec<Value> =
            stands.filter_map(|(ordinal, part)| self.content(*ordinal, Field::TEXT, part.content.as_ref()?)).collect();
        let texts: Option<String> = contents.iter().map(Value::as_str).collect();
        let content = match (texts, contents.into_iter().next()) {
            (Some(texts), Some(_)) => Some(Value::String(texts)),
            (_, first) => first,
        };
        out.extend(content.map(|content| ("content".to_owned(), content)));
        self.put_value(out, "error", &first.error);
        let agent = made_by.map_or(first.agent.as_deref(), |tool| tool.agent.as_deref());
        let sealed = Some(&first.sealed).filter(|sealed| sealed.is_some()).or(made_by.map(|tool| &tool.message_sealed));
        sealed.into_iter().for_each(|sealed| self.put_value(out, "encryptedValue", sealed));
        put_if(out, "subagentRunId", agent);
        let of_call = made_by.and_then(|tool| tool.message_metadata.clone());
        put_json(out, "metadata", merged(of_call, first.metadata.as_deref()).as_deref());
    }

    fn call(&self, ordinal: i64, tool: &Tool) -> Value {
        let mut out = Map::new();
        put(&mut out, "id", &tool.id);
        put(&mut out, "type", "function");
        let arguments = self.text(ordinal, Field::ARGS, &tool.args);
        out.insert("function".to_owned(), json!({ "name": tool.name, "arguments": arguments }));
        self.put_value(&mut out, "encryptedValue", &tool.sealed);
        put_json(&mut out, "metadata", tool.metadata.as_deref());
        Value::Object(out)
    }

    fn tool_message(&self, tool: &str, result: &ToolResult) -> Value {
        let mut out = Map::new();
        put_if(&mut out, "id", result.message.as_deref().filter(|id| !id.starts_with(UNNAMED)));
        put(&mut out, "role", "tool");
        put(&mut out, "toolCallId", tool);
        let content = result.content.as_ref().and_then(|content| self.value(content));
        out.insert("content".to_owned(), content.unwrap_or_else(|| json!("")));
        self.put_value(&mut out, "error", &result.error);
        self.put_value(&mut out, "encryptedValue", &result.sealed);
        put_if(&mut out, "subagentRunId", result.agent.as_deref());
        self.put_value(&mut out, "metadata", &result.metadata);
        Value::Object(out)
    }

    fn put_value(&self, out: &mut Map<String, Value>, key: &str, value: &Option<Box<Content>>) {
        if let Some(value) = value.as_ref().and_then(|value| self.value(value)) {
            out.insert(key.to_owned(), value);
        }
    }

    /// A content that does not grow.
    fn value(&self, content: &Content) -> Option<Value> {
        self.content(0, Field::TEXT, content)
    }

    fn content(&self, ordinal: i64, field: Field, content: &Content) -> Option<Value> {
        match content {
            Content::Text(text) => Some(Value::String(self.text(ordinal, field, text))),
            Content::Json(text) => serde_json::from_str(&self.text(ordinal, field, text)).ok(),
            Content::Payload(logged) if logged.json => serde_json::from_str(&self.payload(logged)).ok(),
            Content::Payload(logged) => Some(Value::String(self.payload(logged))),
        }
    }

    fn payload(&self, logged: &Logged) -> String {
        self.payloads.payload(logged).unwrap_or_else(|| logged.preview.clone())
    }

    fn text(&self, ordinal: i64, field: Field, text: &Chunked) -> String {
        let mut out = String::new();
        for index in 0..text.sealed {
            out.push_str(self.state.piece(RowKind::Text, piece_ordinal(ordinal, field, index)).unwrap_or_default());
        }
        out.push_str(&text.tail);
        out
    }

    /// Interrupts that wait for an answer, and those whose answer a run has taken that has not ended.
    fn pending(&self, timeline: &[(i64, &Entry)]) -> Vec<Value> {
        let header = self.state.header();
        let run = header.current.filter(|_| header.running).and_then(|ordinal| self.state.entry(Sequence::Timeline, ordinal));
        let shown = |interaction: &Interaction, entry: &Entry| match interaction.status {
            InteractionStatus::Pending => true,
            InteractionStatus::Resolved => run.is_some_and(|run| run.first_seq < entry.last_seq) && self.resumes(interaction),
            InteractionStatus::Withdrawn => false,
        };
        let all = timeline
            .iter()
            .filter_map(|(_, entry)| if let Body::Interaction(interaction) = &entry.body { Some((*entry, interaction)) } else { None });
        all.filter(|(entry, interaction)| shown(interaction, entry)).filter_map(|(_, interaction)| self.interrupt(interaction)).collect()
    }

    /// Whether the decision came as the input of a run.
    fn resumes(&self, interaction: &Interaction) -> bool {
        let payload = interaction.decision.as_ref().and_then(|decision| self.value(decision.payload.as_ref()?));
        interaction.interrupt.is_some() && payload.is_some_and(|payload| payload.get("interruptId").is_some())
    }

    fn interrupt(&self, interaction: &Interaction) -> Option<Value> {
        if let Some(stated) = &interaction.interrupt {
            let Value::Object(stated) = self.value(stated)? else { return None };
            let known = stated.into_iter().filter(|(key, value)| INTERRUPT_FIELDS.contains(&key.as_str()) && !value.is_null());
            return Some(Value::Object(known.collect()));
        }
        let request = interaction.request.as_ref().and_then(|request| self.value(request));
        let request = request.as_ref().and_then(Value::as_object);
        let stated = |key: &str| request.and_then(|request| request.get(key));
        let mut out = Map::new();
        put(&mut out, "id", &interaction.id);
        put(&mut out, "reason", &interaction.kind);
        put_if(&mut out, "message", stated("title").and_then(Value::as_str));
        put_if(&mut out, "toolCallId", interaction.tool.as_deref());
        put_if(&mut out, "expiresAt", interaction.expires_at.as_deref());
        out.extend(stated("responseSchema").map(|schema| ("responseSchema".to_owned(), schema.clone())));
        Some(Value::Object(out))
    }
}

const INTERRUPT_FIELDS: [&str; 8] = ["id", "reason", "message", "toolCallId", "responseSchema", "expiresAt", "metadata", "subagentRunId"];

/// Whether a call makes a message of its own though there is one with its id: it named no message, and the id is the call's.
fn stands_apart(entry: &Entry, there: Option<&Message<'_>>) -> bool {
    let Body::Tool(tool) = &entry.body else { return false };
    tool.message == tool.id && there.is_some_and(|message| !message.made_by_call && message.first_seq != entry.first_seq)
}

/// Puts the results of calls behind the messages of their calls.
fn with_results<'s>(mut messages: Vec<Message<'s>>, timeline: &[(i64, &'s Entry)]) -> Vec<Message<'s>> {
    let tools =
        timeline.iter().filter_map(|(ordinal, entry)| if let Body::Tool(tool) = &entry.body { Some((*ordinal, tool)) } else { None });
    let mut results: Vec<_> = tools
        .flat_map(|(ordinal, tool)| tool.results.iter().enumerate().map(move |(index, result)| (result.seq, ordinal, index, tool, result)))
        .collect();
    results.sort_by_key(|(seq, ordinal, index, ..)| (*seq, *ordinal, *index));
    let mut behind = BTreeMap::<&str, Vec<Message<'s>>>::new();
    for (.., tool, result) in results {
        behind.entry(&tool.message).or_default().push(Message { result: Some((&tool.id, result)), ..Message::default() });
    }
    let mut out = Vec::with_capacity(messages.len());
    let mut waiting = Vec::<Message<'s>>::new();
    for message in messages.drain(..) {
        match message.seq() {
            Some(seq) => {
                let before = waiting.iter().take_while(|result| result.seq() <= Some(seq)).count();
                out.extend(waiting.drain(..before));
            }
            None => {
                out.append(&mut waiting);
                if !message.tools.is_empty() {
                    waiting = behind.remove(message.id).unwrap_or_default();
                }
            }
        }
        out.push(message);
    }
    out.append(&mut waiting);
    out
}

/// The metadata of a message that a call made, with what its text added.
fn merged(of_call: Option<String>, of_part: Option<&str>) -> Option<String> {
    let (Some(one), Some(two)) = (of_call.as_deref(), of_part) else { return of_call.or(of_part.map(str::to_owned)) };
    let [mut one, two] = [one, two].map(|text| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default());
    one.extend(two);
    Some(Value::Object(one).to_string())
}

fn put(out: &mut Map<String, Value>, key: &str, text: &str) {
    out.insert(key.to_owned(), Value::String(text.to_owned()));
}

fn put_if(out: &mut Map<String, Value>, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        put(out, key, text);
    }
}

fn put_json(out: &mut Map<String, Value>, key: &str, text: Option<&str>) {
    if let Some(value) = text.and_then(|text| serde_json::from_str(text).ok()) {
        out.insert(key.to_owned(), value);
    }
}
