//! Chunks: events that open, continue and close without saying which.

use super::super::lanes::{Goes, Lane};
use super::super::name::Name;
use super::super::order::{Note, Span};
use super::hot::delta_fact;
use super::text::{is_text_role, opened, unbound};
use super::tool::started;
use super::{Decoder, Incoming, Own};
use crate::adapter::fields::Bad;
use crate::event::Owner;
use crate::fact::{Fact, PartOpened, Text};

/// What a chunk says of what it opens: role and name of a message, name and parent of a call.
struct Says<'a> {
    id: Option<Text<'a>>,
    agent: Option<Text<'a>>,
    first: Option<Text<'a>>,
    second: Option<Text<'a>>,
}

fn span_of(name: Name) -> Span {
    match name {
        Name::ToolChunk => Span::Tool,
        Name::ReasoningMessageChunk => Span::Reasoning,
        _ => Span::Text,
    }
}

fn says<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<Says<'a>, Bad> {
    let keys = match event.name {
        Name::ToolChunk => ["toolCallId", "toolCallName", "parentMessageId"],
        _ => ["messageId", "role", "name"],
    };
    let [id, first, second] = keys.map(|key| event.text_if_some(key, own));
    let second = second.filter(|parent| event.name != Name::ToolChunk || !parent.is_empty());
    let mut says = Says { id, agent: event.agent(own), first, second };
    if event.name == Name::ReasoningMessageChunk {
        (says.first, says.second) = (None, None);
    }
    if event.name == Name::TextChunk && says.first.as_deref().is_some_and(|role| !is_text_role(role)) {
        return Err(Bad::new("role", "developer, system, assistant or user"));
    }
    Ok(says)
}

impl Decoder {
    pub(super) fn chunk<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let span = span_of(event.name);
        let says = says(event, own)?;
        let goes = self.lanes.find(span, says.id.as_deref(), says.agent.as_deref());
        let (owner, is_new) = match goes {
            Goes::On(owner) => (owner, false),
            Goes::New(owner) => (owner, true),
            Goes::Astray(owner) => {
                own.note(Some(Note::new(super::code::OWNER_MISMATCH, format!("{} names another subagent than its lane", event.spelled))));
                (owner, false)
            }
            Goes::Ambiguous => {
                own.note(Some(unbound("neither an id nor a subagent, and several lanes are open")));
                return Ok(());
            }
        };
        let lane = match self.lanes.get(&owner).filter(|_| !is_new).cloned() {
            Some(lane) => {
                agrees(&lane, &says, own);
                lane
            }
            None => {
                self.close_lane(owner.as_deref(), own);
                match new_lane(span, &says) {
                    Ok(lane) => lane,
                    Err(missing) => {
                        own.note(Some(unbound(format!("the first chunk has no {missing}"))));
                        return Ok(());
                    }
                }
            }
        };
        self.go_on(event, lane, owner, is_new, says, own)
    }

    fn go_on<'a>(
        &mut self,
        event: &Incoming<'_, 'a>,
        lane: Lane,
        owner: Option<String>,
        is_new: bool,
        says: Says<'a>,
        own: &mut Own<'a>,
    ) -> Result<(), Bad> {
        let span = lane.span;
        let id = says.id.unwrap_or_else(|| Text::Owned(lane.id.clone()));
        let delta = event.fields.some("delta").map(|_| self.delta(event, span, &id)).transpose()?;
        let mut metadata = event.metadata(own);
        own.note(self.order.gate(event.name));
        if self.activities.contains_key(id.as_ref()) && span != Span::Tool {
            self.is_activity(&id, own);
            return Ok(());
        }
        if is_new {
            let opening = if delta.is_some() { None } else { metadata.take() };
            if span == Span::Tool {
                own.note(self.order.opens_tool(&id, says.second.as_deref(), says.agent.as_deref()));
                self.know_message(says.second.as_deref().unwrap_or(&id));
                own.fact(started(id.clone(), says.first.unwrap_or_default(), says.second, says.agent, opening), Owner::MODEL);
            } else {
                own.note(self.order.opens(span, &id, says.agent.as_deref()));
                self.know_message(&id);
                let role = says.first.unwrap_or(Text::Borrowed(if span == Span::Text { "assistant" } else { "reasoning" }));
                let opened = PartOpened { name: says.second, agent: says.agent, metadata: opening, ..opened(span, &id, role) };
                own.fact(Fact::PartOpened(opened), Owner::MODEL);
            }
            self.lanes.put(owner, lane);
        }
        if delta.is_some() || !is_new {
            let (fact, owner) = delta_fact(span, id, delta.unwrap_or_default(), metadata);
            own.fact(fact, owner);
        }
        Ok(())
    }
}

fn new_lane(span: Span, says: &Says<'_>) -> Result<Lane, &'static str> {
    let id = says.id.as_deref().ok_or(if span == Span::Tool { "toolCallId" } else { "messageId" })?;
    if span == Span::Tool && says.first.is_none() {
        return Err("toolCallName");
    }
    let default = if span == Span::Text { Some("assistant") } else { None };
    let first = says.first.as_deref().or(default).map(str::to_owned);
    let said = [first, says.second.as_deref().map(str::to_owned)];
    Ok(Lane { span, id: id.to_owned(), agent: says.agent.as_deref().map(str::to_owned), said })
}

/// Notes what a chunk says otherwise than the chunk that opened its lane; the opening stands.
fn agrees(lane: &Lane, says: &Says<'_>, own: &mut Own<'_>) {
    let [first, second] = &lane.said;
    for (said, says) in [(first, &says.first), (second, &says.second)] {
        if says.is_some() && says.as_deref() != said.as_deref() {
            own.note(Some(unbound(format!("{} contradicts the opening of {}", says.as_deref().unwrap_or_default(), lane.id))));
        }
    }
}
