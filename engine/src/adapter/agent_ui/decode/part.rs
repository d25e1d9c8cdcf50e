//! Text of the answer, reasoning, and plans.

use super::super::class::Class;
use super::super::code;
use super::{Decoder, Incoming, Note, Own, Refused};
use crate::adapter::fields::{text_of, write_object, write_str};
use crate::fact::{DocumentSet, Fact, Json, PartChange, PartDelta, PartFinal, PartKind, PartOpened, PartTarget, Text};

/// Role of what is no answer.
pub(in super::super) const PROCESS: &str = "process";
/// Kind of a part that holds a plan.
pub(in super::super) const PLAN: &str = "plan";

impl Decoder {
    pub(super) fn text<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
        let message = event.id("messageId")?;
        let part = event.text_if("partId", own);
        if event.class == Class::TextFinal {
            return self.text_final(event, &message, part, own);
        }
        // What waits for the rest of a character belongs to the part as the event names it.
        let text = self.delta(event, PartKind::Text as u8, &format!("{message}#{}", part.as_deref().unwrap_or_default()))?;
        let part = self.opened(event, PartKind::Text, &message, part.as_ref(), own);
        own.fact(Fact::PartDelta(PartDelta { part, kind: PartKind::Text, text, metadata: None }));
        Ok(())
    }

    fn text_final<'a>(
        &mut self,
        event: &Incoming<'_, 'a>,
        message: &Text<'a>,
        part: Option<Text<'a>>,
        own: &mut Own<'a>,
    ) -> Result<(), Refused> {
        let change = change(event, own)?;
        let target = match (&part, self.parts.finals(message)) {
            (None, Some(target)) => target,
            _ => PartTarget::Part(PartKind::Text, self.opened(event, PartKind::Text, message, part.as_ref(), own)),
        };
        own.fact(Fact::PartFinal(PartFinal { target, change, metadata: None }));
        Ok(())
    }

    /// The part of an event; stated as opened when it was not seen before.
    fn opened<'a>(
        &mut self,
        event: &Incoming<'_, 'a>,
        kind: PartKind,
        message: &Text<'a>,
        part: Option<&Text<'a>>,
        own: &mut Own<'a>,
    ) -> Text<'a> {
        let named = self.parts.open(kind, message, part);
        if !named.new {
            return named.part;
        }
        if named.reused {
            let detail = format!("{}: part {} is of another message, called {}", event.spelled, part.map_or("", AsRef::as_ref), named.part);
            own.notes.push(Note { code: code::PART_ID_REUSED, detail });
        }
        let plan = matches!(event.class, Class::PlanDelta | Class::PlanFinal);
        let role = match event.placed.some("messageId") {
            None => Text::Borrowed(PROCESS),
            Some(_) => event.text_if("role", own).unwrap_or(Text::Borrowed("assistant")),
        };
        let (turn, agent) = (event.turn(own), event.agent(own));
        own.fact(Fact::PartOpened(PartOpened {
            part: named.part.clone(),
            message: message.clone(),
            kind,
            role,
            name: None,
            turn,
            agent,
            subtype: plan.then_some(Text::Borrowed(PLAN)),
            content: None,
            metadata: None,
        }));
        named.part
    }

    /// Reasoning and plans: parts of what led to the answer, never of the answer.
    pub(super) fn process<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
        let kind = PartKind::Reasoning;
        let part = self.process_part(event, own)?;
        let message = match event.text_if("messageId", own) {
            Some(message) => message,
            None => match event.turn(own).as_deref().or(self.run.as_deref()) {
                Some(run) => Text::Owned(format!("{run}/{PROCESS}")),
                None => part.clone(),
            },
        };
        match event.class {
            Class::ReasoningDelta | Class::PlanDelta => {
                let text = self.delta(event, kind as u8, &format!("{message}#{part}"))?;
                let part = self.opened(event, kind, &message, Some(&part), own);
                own.fact(Fact::PartDelta(PartDelta { part, kind, text, metadata: None }));
            }
            Class::ReasoningSummary => {
                let text = text_of(event.value("text")?).ok_or_else(|| Refused::malformed("text: expected a string"))?;
                let part = self.opened(event, kind, &message, Some(&part), own);
                // The summary stands beside the detail, and the next one in its place.
                let metadata = Some(Json::built(write_object([("summary", quoted(&text).as_str())])));
                own.fact(Fact::PartFinal(PartFinal { target: PartTarget::Part(kind, part), change: PartChange::Closed, metadata }));
            }
            _ => match event.placed.some("plan").filter(|_| event.placed.some("text").is_none()) {
                Some(plan) => {
                    let document = Text::Owned(format!("{PLAN}:{part}"));
                    own.fact(Fact::DocumentSet(DocumentSet { document, value: Json::raw(plan), replace: true }));
                }
                None => {
                    let change = change(event, own)?;
                    let part = self.opened(event, kind, &message, Some(&part), own);
                    own.fact(Fact::PartFinal(PartFinal { target: PartTarget::Part(kind, part), change, metadata: None }));
                }
            },
        }
        Ok(())
    }

    fn process_part<'a>(&self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<Text<'a>, Refused> {
        if matches!(event.class, Class::ReasoningDelta | Class::ReasoningSummary) {
            return event.id("partId");
        }
        let stated = event.text_of_first(&["partId", "planId"], own);
        let named = stated.or_else(|| Some(Text::Owned(format!("{}#{PLAN}", event.turn(own)?))));
        named.ok_or_else(|| Refused::missing("partId"))
    }
}

/// The owner's full text; without one the part is closed and what was streamed stands.
fn change<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<PartChange<'a>, Refused> {
    match event.placed.some("text") {
        Some(raw) => text_of(raw).map(PartChange::Text).ok_or_else(|| Refused::malformed("text: expected a string")),
        None => {
            own.missing(event, "text");
            Ok(PartChange::Closed)
        }
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_str(&mut out, text);
    out
}
