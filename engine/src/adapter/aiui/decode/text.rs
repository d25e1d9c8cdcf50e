//! Text and reasoning messages, encrypted values, and the older THINKING_* events.

use super::super::code;
use super::super::name::Name;
use super::super::order::{Note, Owned, Span};
use super::hot::delta_fact;
use super::{Decoder, Incoming, Own};
use crate::adapter::fields::Bad;
use crate::event::Owner;
use crate::fact::{Fact, Json, PartChange, PartFinal, PartKind, PartOpened, PartTarget, Text, ToolChanged, ToolOp};

/// Ids for the events that have none, as long as they last.
#[derive(Clone, Debug, Default)]
pub(super) struct Thinking {
    span: Option<String>,
    message: Option<String>,
    minted: u64,
}

pub(super) fn kind_of(span: Span) -> PartKind {
    if span == Span::Text { PartKind::Text } else { PartKind::Reasoning }
}

/// An opened text or reasoning part whose id is its message's.
pub(super) fn opened<'a>(span: Span, id: &Text<'a>, role: Text<'a>) -> PartOpened<'a> {
    PartOpened {
        part: id.clone(),
        message: id.clone(),
        kind: kind_of(span),
        role,
        name: None,
        turn: None,
        agent: None,
        subtype: None,
        content: None,
        metadata: None,
    }
}

pub(super) fn closed<'a>(span: Span, id: Text<'a>, metadata: Option<Json<'a>>) -> Fact<'a> {
    Fact::PartFinal(PartFinal { target: PartTarget::Part(kind_of(span), id), change: PartChange::Closed, metadata })
}

pub(super) fn is_text_role(role: &str) -> bool {
    matches!(role, "developer" | "system" | "assistant" | "user")
}

impl Decoder {
    pub(super) fn text<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let id = event.fields.text("messageId")?;
        let role = event.text_or_none("role", own).unwrap_or(Text::Borrowed("assistant"));
        if event.name == Name::TextStart && !is_text_role(&role) {
            return Err(Bad::new("role", "developer, system, assistant or user"));
        }
        self.streamed(event, Span::Text, id, role, own)
    }

    pub(super) fn reasoning<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let id = event.fields.text("messageId")?;
        if event.name == Name::ReasoningMessageStart && event.text_or_none("role", own).as_deref() != Some("reasoning") {
            own.note(Some(event.bad_field("role", "reasoning")));
        }
        self.streamed(event, Span::Reasoning, id, Text::Borrowed("reasoning"), own)
    }

    fn streamed<'a>(&mut self, event: &Incoming<'_, 'a>, span: Span, id: Text<'a>, role: Text<'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let content = matches!(event.name, Name::TextContent | Name::ReasoningMessageContent | Name::ThinkingTextContent);
        let text = if content { Some(self.delta(event, span, &id)?) } else { None };
        let agent = event.agent(own);
        let metadata = event.metadata(own);
        self.close_lane(agent.as_deref(), own);
        own.note(self.order.gate(event.name));
        if matches!(event.name, Name::TextStart | Name::ReasoningMessageStart | Name::ThinkingTextStart) {
            own.note(self.order.opens(span, &id, agent.as_deref()));
            if !self.is_activity(&id, own) {
                self.know_message(&id);
                let name = if span == Span::Text { event.text_or_none("name", own) } else { None };
                let opened = PartOpened { name, agent, metadata, ..opened(span, &id, role) };
                own.fact(Fact::PartOpened(opened), Owner::MODEL);
            }
        } else if let Some(text) = text {
            own.note(self.order.continues(span, &id, agent.as_deref()));
            if !self.is_activity(&id, own) {
                let (fact, owner) = delta_fact(span, id, text, metadata);
                own.fact(fact, owner);
            }
        } else {
            own.note(self.order.closes(span, &id, agent.as_deref()));
            if !self.is_activity(&id, own) {
                own.fact(closed(span, id, metadata), Owner::MODEL);
            }
        }
        Ok(())
    }

    /// The text of a delta; a character that was cut in two between deltas is put together.
    pub(super) fn delta<'a>(&mut self, event: &Incoming<'_, 'a>, span: Span, id: &str) -> Result<Text<'a>, Bad> {
        let raw = event.fields.required("delta")?;
        let strict = serde_json::from_str::<crate::adapter::fields::Str<'a>>(raw.get());
        match strict {
            Ok(text) if self.waiting.is_empty() => Ok(text.0),
            _ if raw.get().starts_with('"') => {
                let joined = self.waiting.join(span as u8, id, raw.get());
                joined.map(Text::Owned).ok_or_else(|| Bad::new("delta", "a string"))
            }
            _ => Err(Bad::new("delta", "a string")),
        }
    }

    pub(super) fn reasoning_span<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let id = event.fields.text("messageId")?;
        let agent = event.agent(own);
        self.span(event.name, &id, agent.as_deref(), own);
        Ok(())
    }

    fn span(&mut self, name: Name, id: &str, agent: Option<&str>, own: &mut Own<'_>) {
        self.close_lane(agent, own);
        own.note(self.order.gate(name));
        let note = if matches!(name, Name::ReasoningStart | Name::ThinkingStart) {
            self.order.opens(Span::Thought, id, agent)
        } else {
            self.order.closes(Span::Thought, id, agent)
        };
        own.note(note);
    }

    pub(super) fn encrypted_value<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let id = event.fields.text("entityId")?;
        let value = event.fields.text("encryptedValue")?;
        let subtype = event.fields.text("subtype")?;
        let agent = event.agent(own);
        own.note(self.order.gate(event.name));
        match subtype.as_ref() {
            "tool-call" => {
                own.note(self.order.touches(Owned::Tool, &id, agent.as_deref()));
                own.fact(Fact::ToolChanged(ToolChanged { tool: id, op: ToolOp::Sealed { value }, metadata: None }), Owner::MODEL);
            }
            "message" => {
                own.note(self.order.touches(Owned::Message, &id, agent.as_deref()));
                if !self.is_activity(&id, own) {
                    let last = PartFinal { target: PartTarget::Message(id), change: PartChange::Sealed(value), metadata: None };
                    own.fact(Fact::PartFinal(last), Owner::MODEL);
                }
            }
            _ => return Err(Bad::new("subtype", "tool-call or message")),
        }
        Ok(())
    }

    pub(super) fn thinking<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        match event.name {
            Name::ThinkingStart => {
                let id = self.mint();
                self.thinking.span = Some(id.clone());
                self.span(event.name, &id, None, own);
            }
            Name::ThinkingEnd => {
                let id = self.thinking.span.take().unwrap_or_else(|| self.mint());
                self.span(event.name, &id, None, own);
            }
            Name::ThinkingTextStart => {
                let id = self.mint();
                self.thinking.message = Some(id.clone());
                self.streamed(event, Span::Reasoning, Text::Owned(id), Text::Borrowed("reasoning"), own)?;
            }
            _ => {
                let known = self.thinking.message.clone();
                if event.name == Name::ThinkingTextEnd {
                    self.thinking.message = None;
                }
                let id = known.unwrap_or_else(|| self.mint());
                self.streamed(event, Span::Reasoning, Text::Owned(id), Text::Borrowed("reasoning"), own)?;
            }
        }
        Ok(())
    }

    /// An id in the form of a UUID that depends on the run and on how many came before it.
    fn mint(&mut self) -> String {
        self.thinking.minted += 1;
        let seed = format!("thinking {} {}", self.thinking.minted, self.run.as_deref().unwrap_or_default());
        let hash = blake3::hash(seed.as_bytes()).to_hex();
        let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
        format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
    }
}

/// A note about a chunk.
pub(super) fn unbound(detail: impl Into<String>) -> Note {
    Note::new(code::CHUNK_UNBOUND, detail)
}
