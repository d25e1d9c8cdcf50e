//! Turns, their artifacts, the session's own statements, and questions.

use serde_json::value::RawValue;

use super::super::code;
use super::super::name::Name;
use super::super::reference::{outside, references};
use super::super::spelling::{self as slot, Spelling};

use super::{Incoming, Own, Refused, Validation, rest};
use crate::adapter::fields::{Bad, Fields, list_of, text_of};
use crate::event::Owner;
use crate::fact::{
    ArtifactReference, CompactionMarked, CurrentTurn, CurrentTurnAsserted, DiagnosticNoted, Fact, InteractionRequested, Json,
    SessionChanged, Text, TurnArtifactsSet, TurnEnded, TurnStarted,
};

pub(super) fn started<'a>(event: &mut Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
    let turn = event.required(&slot::TURN)?;
    own.fact(Fact::TurnStarted(TurnStarted { turn, ..TurnStarted::default() }), Owner::RUNTIME);
    Ok(())
}

/// A turn whose end has no status has ended, nobody says how.
pub(super) fn ended<'a>(event: &mut Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
    let turn = Some(event.required(&slot::TURN)?);
    let status = event.text(&slot::STATUS).unwrap_or(Text::Borrowed("unknown"));
    let error = event.fields.some("error").map(Json::raw);
    own.fact(Fact::TurnEnded(TurnEnded { turn, status, error, ..TurnEnded::default() }), Owner::RUNTIME);
    Ok(())
}

pub(super) fn artifacts<'a>(event: &mut Incoming<'_, 'a>, own: &mut Own<'a>, validation: Validation) -> Result<(), Refused> {
    let turn = event.required(&slot::TURN)?;
    let references = references(event.fields.required("artifacts")?, validation)?;
    note_outside(std::iter::once(references.as_slice()), own);
    own.fact(Fact::TurnArtifactsSet(TurnArtifactsSet { turn, references }), Owner::ARTIFACT);
    Ok(())
}

/// One note for an event, however many of its paths lead out.
pub(super) fn note_outside<'r>(lists: impl Iterator<Item = &'r [ArtifactReference<'r>]>, own: &mut Own<'_>) {
    let mut paths = lists.flat_map(outside);
    if let Some(first) = paths.next() {
        let detail = match paths.count() {
            0 => first.to_owned(),
            more => format!("{first}, and {more} more"),
        };
        own.note(code::PATH_OUTSIDE_WORKSPACE, detail);
    }
}

pub(super) fn session<'a>(event: &mut Incoming<'_, 'a>, own: &mut Own<'a>) {
    let fields = event.fields;
    let current = ["current_turn", "currentTurn"].into_iter().find_map(|key| Some((key, fields.get(key)?)));
    let (title, status) = (fields.get("title").and_then(text_of), fields.get("status").and_then(text_of));
    let taken = |key: &str| match key {
        "type" => true,
        "title" => title.is_some(),
        "status" => status.is_some(),
        key => current.is_some_and(|(taken, _)| taken == key),
    };
    let fields = rest(fields, taken);
    if current.is_none() || title.is_some() || status.is_some() || fields.is_some() {
        own.fact(Fact::SessionChanged(SessionChanged { title, status, fields }), Owner::SESSION);
    }
    let Some((key, raw)) = current else { return };
    event.spelling.note(&slot::CURRENT, key);
    if raw.get() == "null" {
        return own.fact(Fact::CurrentTurnAsserted(CurrentTurnAsserted { current: None }), Owner::SESSION);
    }
    match current_turn(raw, &mut event.spelling) {
        Ok(mut current) => {
            if let Some(running) = running(&current.status) {
                own.note(code::HOST_STATUS_ON_WIRE, current.status.to_string());
                current.status = running;
            }
            own.fact(Fact::CurrentTurnAsserted(CurrentTurnAsserted { current: Some(current) }), Owner::SESSION);
        }
        // Half of it would withdraw questions that wait.
        Err(bad) => own.note(code::MALFORMED_FIELD, bad.under(key).0),
    }
}

/// What a status that hosts keep to themselves is on the wire.
pub(in crate::adapter::aseity) fn running(status: &str) -> Option<Text<'static>> {
    matches!(status, "waiting" | "stopping").then_some(Text::Borrowed("running"))
}

fn current_turn<'a>(raw: &'a RawValue, spelling: &mut Spelling) -> Result<CurrentTurn<'a>, Bad> {
    let fields = Fields::parse(raw.get()).map_err(|_| Bad("expected an object or null".to_owned()))?;
    let turn = spelling.text(&fields, &slot::OF_CURRENT).ok_or_else(|| Bad::new("turnId", "a string"))?;
    let status = fields.text("status")?;
    let list = spelling.find(&fields, &slot::PENDING, list_of).ok_or_else(|| Bad::new("pendingInteractions", "an array"))?.1;
    let mut pending = Vec::with_capacity(list.len());
    for (index, raw) in list.into_iter().enumerate() {
        let at = format!("pendingInteractions[{index}]");
        let asked = Fields::of(&at, raw)?;
        let id = spelling.text(&asked, &slot::ASKED).ok_or_else(|| Bad::new("interactionId", "a string").under(&at))?;
        let data = asked.get("data").map_or_else(|| Json::built("null".to_owned()), Json::raw);
        pending.push((id, data));
    }
    Ok(CurrentTurn { turn, status, pending })
}

/// The error of a session, for people; the event stays as it came.
pub(super) fn session_error<'a>(event: &Incoming<'_, 'a>, whole: &'a str) -> Fact<'a> {
    let error = event.fields.some("error").and_then(|raw| Fields::parse(raw.get()).ok());
    let fields = error.as_ref().unwrap_or(event.fields);
    let text = |key: &str| fields.some(key).and_then(text_of).unwrap_or_default();
    let detail = match (text("code"), text("message")) {
        (code, message) if message.is_empty() => code.into_owned(),
        (code, message) if code.is_empty() => message.into_owned(),
        (code, message) => format!("{code}: {message}"),
    };
    let detail = (!detail.is_empty()).then_some(Text::Owned(detail));
    Fact::DiagnosticNoted(DiagnosticNoted { code: Text::Borrowed(code::SESSION_ERROR), detail, raw: Some(Text::Borrowed(whole)) })
}

pub(super) fn compaction<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) {
    let phase = Text::Borrowed(if event.name == Name::CompactStart { "started" } else { "completed" });
    let detail = rest(event.fields, |key| key == "type");
    own.fact(Fact::CompactionMarked(CompactionMarked { phase, detail }), Owner::RUNTIME);
}

pub(super) fn interaction<'a>(event: &mut Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
    let inner = event.object("interaction").map(|(fields, _)| fields);
    let inner = inner.as_ref().unwrap_or(event.fields);
    let id = event.text(&slot::INTERACTION).or_else(|| Spelling::default().text(inner, &slot::INTERACTION));
    let interaction = id.ok_or_else(|| Bad::new("interaction_id", "a string"))?;
    let request = event.spelling.some(event.fields, &slot::DATA).or_else(|| inner.some("data"));
    let data = request.and_then(|raw| Fields::parse(raw.get()).ok()).unwrap_or_default();
    let said = |keys: &[&str]| keys.iter().find_map(|key| data.some(key).and_then(text_of));
    let asked = InteractionRequested {
        interaction,
        kind: said(&["kind", "type"]).unwrap_or_default(),
        request: request.map(Json::raw),
        interrupt: None,
        turn: event.text(&slot::TURN),
        tool: said(&["toolCallId", "tool_call_id"]),
        expires_at: said(&["expiresAt", "expires_at"]),
    };
    own.fact(Fact::InteractionRequested(asked), Owner::RUNTIME);
    Ok(())
}
