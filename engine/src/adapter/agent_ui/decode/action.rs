//! Questions to people, and their answers.

use super::super::class::Class;
use super::super::placed::object;
use super::{Incoming, Own, Refused};
use crate::adapter::fields::text_of;
use crate::fact::{Fact, InteractionRequested, InteractionResolved, Json, Resolution, Text};

pub(super) fn action<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    let interaction = event.id("actionId")?;
    let fact = if event.class == Class::ActionRequired {
        required(event, interaction, own)
    } else {
        Fact::InteractionResolved(resolved(event, interaction, own))
    };
    own.fact(fact);
    Ok(())
}

fn required<'a>(event: &Incoming<'_, 'a>, interaction: Text<'a>, own: &mut Own<'a>) -> Fact<'a> {
    // Beside the class of the event, a payload may have a type of its own: the request's.
    let typed = event.placed.inside().and_then(|inside| inside.get("type")).filter(|_| event.placed.flat.get("type").is_some());
    let stated = event.text_of_first(&["actionType", "kind", "requestType"], own);
    let kind = stated.or_else(|| typed.and_then(text_of)).unwrap_or(Text::Borrowed("unknown"));
    let mut fields = event.placed.rest(&["actionId", event.turn_key()]);
    let scope = event.placed.flat.get("scope");
    fields.extend(scope.map(|scope| ("scope", scope)));
    fields.extend(typed.map(|typed| ("type", typed)));
    Fact::InteractionRequested(InteractionRequested {
        interaction,
        kind,
        request: Some(object(&fields)),
        interrupt: None,
        turn: event.turn(own),
        tool: event.text_if("toolCallId", own),
        expires_at: event.first(&["expiresAt", "expiry"]).and_then(text_of),
    })
}

fn resolved<'a>(event: &Incoming<'_, 'a>, interaction: Text<'a>, own: &mut Own<'a>) -> InteractionResolved<'a> {
    let resolution = match event.text_of_first(&["status", "resolution"], own).as_deref() {
        Some("cancelled" | "canceled") => Resolution::Cancelled,
        Some("expired") => Resolution::Expired,
        _ => Resolution::Resolved,
    };
    let decision = event.text_if("decisionId", own).unwrap_or_else(|| Text::Owned(unnamed(&interaction)));
    InteractionResolved {
        decision: Some(decision),
        resolution,
        payload: event.rest(&["actionId", "decisionId", "receipt"]),
        receipt: event.placed.some("receipt").map(Json::raw),
        interaction,
    }
}

/// The id of a decision that has none: one for each request, so that stating it again is a repeat.
pub(in super::super) fn unnamed(interaction: &str) -> String {
    format!("fact:{interaction}")
}
