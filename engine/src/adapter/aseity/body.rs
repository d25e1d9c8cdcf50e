//! What the facts of an event say of it, as the event's own fields. What they do not say is residue.

use std::borrow::Cow;

use super::name::Name;
use super::reference::{pair, write_references};
use super::spelling::{self as slot, Slot, Spelling, field, quoted};
use crate::adapter::fields::{Fields, write_object};
use crate::adapter::residue::{self, ABSENT, Body, NOTE, Value, WHOLE, json, maybe, spread, text, write};
use crate::fact::{
    Content, CurrentTurn, Fact, HistoryImported, HistoryMessage, HistoryTurn, Json, PartChange, PartKind, PartOpened, PartTarget, Text,
    ToolChanged, ToolOp,
};

/// The event name that needs no saying, given the facts of an event.
pub(super) fn canonical(facts: &[&Fact<'_>]) -> Option<Name> {
    Some(match facts.first()? {
        Fact::TurnStarted(_) => Name::TurnStart,
        Fact::TurnEnded(_) => Name::TurnEnd,
        Fact::TurnArtifactsSet(_) => Name::TurnArtifacts,
        Fact::SessionChanged(_) | Fact::CurrentTurnAsserted(_) => Name::SessionEvent,
        Fact::PartOpened(_) => Name::PartAdd,
        Fact::PartDelta(_) => Name::PartUpdate,
        Fact::PartFinal(_) => Name::PartComplete,
        Fact::ToolChanged(changed) => match changed.op {
            ToolOp::Started { .. } => Name::PartAdd,
            ToolOp::ArgsDelta { .. } => Name::ToolInputDelta,
            ToolOp::ArgsSet { .. } | ToolOp::ArgsEnd => Name::ToolInputComplete,
            ToolOp::Result { .. } => Name::ToolResult,
            _ => Name::PartUpdate,
        },
        Fact::DocumentSet(_) => Name::PartUpdate,
        Fact::InteractionRequested(_) => Name::InteractionRequest,
        Fact::CompactionMarked(marked) if marked.phase == "started" => Name::CompactStart,
        Fact::CompactionMarked(_) => Name::CompactEnd,
        Fact::HistoryImported(_) => Name::SessionMessages,
        _ => return None,
    })
}

/// What the facts do not say of the event. Cost: proportional to the event.
pub(super) fn residue<'a>(fields: &Fields<'a>, whole: &'a str, facts: &[&Fact<'a>], name: &str, spelling: &Spelling) -> Option<Json<'a>> {
    // What the body spreads may have a reserved name too.
    if fields.iter().any(|(key, _)| [ABSENT, WHOLE, NOTE].contains(&key)) {
        return Some(Json::built(write_object([(WHOLE, whole)])));
    }
    let residue = residue::difference(fields, whole, &body(name, facts, spelling));
    let Some(note) = spelling.json() else { return residue };
    let rest = residue.as_ref().and_then(|residue| Fields::parse(residue.as_str()).ok()).unwrap_or_default();
    let rest = rest.iter().map(|(key, raw)| (key, raw.get()));
    Some(Json::built(write_object(rest.chain([(NOTE, note.as_str())]))))
}

/// The fields of an event of this name, as far as its facts say them.
pub(super) fn body<'f>(spelled: &'f str, facts: &[&'f Fact<'_>], spelling: &Spelling) -> Body<'f> {
    let mut body: Body<'f> = vec![text("type", spelled)];
    let name = Name::of(spelled);
    for fact in facts {
        say(fact, name, facts, spelling, &mut body);
    }
    residue::once(body)
}

fn named<'f>(slot: &Slot, value: &'f str, spelling: &Spelling) -> (Cow<'f, str>, Value<'f>) {
    text(spelling.name(slot), value)
}

fn say<'f>(fact: &'f Fact<'_>, name: Option<Name>, facts: &[&'f Fact<'_>], spelling: &Spelling, body: &mut Body<'f>) {
    match fact {
        Fact::TurnStarted(started) => body.push(named(&slot::TURN, &started.turn, spelling)),
        Fact::TurnEnded(ended) => {
            body.extend(ended.turn.as_deref().map(|turn| named(&slot::TURN, turn, spelling)));
            body.push(named(&slot::STATUS, &ended.status, spelling));
            body.extend(ended.error.as_ref().map(|error| json("error", error)));
        }
        Fact::TurnArtifactsSet(set) => {
            body.push(named(&slot::TURN, &set.turn, spelling));
            body.push(field("artifacts", write_references(set.references.iter().map(pair))));
        }
        Fact::SessionChanged(changed) => {
            body.extend(maybe("title", &changed.title));
            body.extend(maybe("status", &changed.status));
            body.extend(changed.fields.as_ref().map(spread).unwrap_or_default());
        }
        Fact::CurrentTurnAsserted(asserted) => {
            let current = asserted.current.as_ref().map_or_else(|| "null".to_owned(), |current| write_current(current, spelling));
            body.push(field(spelling.name(&slot::CURRENT), current));
        }
        Fact::InteractionRequested(asked) => {
            body.push(named(&slot::INTERACTION, &asked.interaction, spelling));
            body.extend(asked.turn.as_deref().map(|turn| named(&slot::TURN, turn, spelling)));
            body.extend(asked.request.as_ref().map(|request| json(spelling.name(&slot::DATA), request)));
        }
        Fact::CompactionMarked(marked) => body.extend(marked.detail.as_ref().map(spread).unwrap_or_default()),
        Fact::HistoryImported(history) => say_history(history, spelling, body),
        Fact::ToolChanged(changed) => say_tool(changed, name, spelling, body),
        fact => say_part(fact, name, facts, spelling, body),
    }
}

fn say_part<'f>(fact: &'f Fact<'_>, name: Option<Name>, facts: &[&'f Fact<'_>], spelling: &Spelling, body: &mut Body<'f>) {
    match fact {
        Fact::PartOpened(opened) => {
            body.extend(opened.turn.as_deref().map(|turn| named(&slot::TURN, turn, spelling)));
            if opened.kind == PartKind::Activity {
                return;
            }
            let of = opened.turn.as_ref().unwrap_or(&opened.part);
            body.extend((opened.message != *of).then(|| named(&slot::MESSAGE, &opened.message, spelling)));
            body.push(field("part", write_part(opened)));
        }
        // An activity, as it is.
        Fact::DocumentSet(set) => body.push(json("part", &set.value)),
        Fact::PartDelta(delta) => {
            body.push(named(&slot::PART, &delta.part, spelling));
            body.push(named(&slot::TEXT, &delta.text, spelling));
        }
        Fact::PartFinal(last) => {
            let PartTarget::Part(kind, id) = &last.target else { return };
            let whole = facts.iter().any(|fact| matches!(fact, Fact::DocumentSet(_)));
            if name == Some(Name::PartComplete) && !whole {
                body.push(named(&slot::PART, id, spelling));
            }
            if let PartChange::Text(said) = &last.change {
                let beside = spelling.name(&slot::FINAL);
                body.push(match beside {
                    "part" => field("part", write(&[text("id", id), text("type", type_of(*kind)), text("text", said)])),
                    beside => text(beside, said),
                });
            }
        }
        _ => {}
    }
}

fn type_of(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Text => "text",
        PartKind::Reasoning => "reasoning",
        PartKind::Activity => "activity",
    }
}

fn write_part(opened: &PartOpened<'_>) -> String {
    let mut fields = vec![text("id", &opened.part), text("type", type_of(opened.kind))];
    if let Some(Content::Text(said)) = &opened.content {
        fields.push(text("text", said));
    }
    write(&fields)
}

fn say_tool<'f>(changed: &'f ToolChanged<'_>, name: Option<Name>, spelling: &Spelling, body: &mut Body<'f>) {
    let of_part = matches!(name, Some(Name::PartAdd | Name::PartUpdate | Name::PartComplete));
    let id = if of_part { &slot::PART } else { &slot::TOOL };
    match &changed.op {
        ToolOp::Started { name: tool, turn, message, detail, .. } => {
            body.extend(turn.as_deref().map(|turn| named(&slot::TURN, turn, spelling)));
            if let Some(message) = message.as_ref().filter(|message| *message != turn.as_ref().unwrap_or(&changed.tool)) {
                body.push(named(&slot::MESSAGE, message, spelling));
            }
            match detail {
                Some(part) if of_part => body.push(json("part", part)),
                _ => body.push(named(&slot::TOOL_NAME, tool, spelling)),
            }
        }
        // Of a whole part, which says all of it.
        ToolOp::ArgsSet { .. } | ToolOp::Result { .. } if of_part => {}
        ToolOp::ArgsEnd if name == Some(Name::PartAdd) => {}
        ToolOp::Progress { value } => body.push(json("part", value)),
        op => {
            body.push(named(id, &changed.tool, spelling));
            match op {
                ToolOp::ArgsDelta { text } | ToolOp::OutputDelta { text } => body.push(named(&slot::TEXT, text, spelling)),
                ToolOp::ArgsSet { text } => body.push(field(spelling.name(&slot::INPUT), input(text))),
                ToolOp::Result { content, status, .. } => say_result(content.as_ref(), status.as_deref(), spelling, body),
                _ => {}
            }
        }
    }
}

/// Input that is no JSON object or array is text.
fn input(said: &str) -> Cow<'_, str> {
    let structured = said.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(said).is_ok();
    if structured { Cow::Borrowed(said) } else { Cow::Owned(quoted(said)) }
}

fn say_result<'f>(content: Option<&'f Content<'_>>, status: Option<&'f str>, spelling: &Spelling, body: &mut Body<'f>) {
    body.extend(content.map(|content| (Cow::Borrowed(spelling.name(&slot::OUTPUT)), residue::content(content))));
    match status {
        Some("error") => body.push(field(spelling.name(&slot::IS_ERROR), "true")),
        status => body.extend(status.map(|status| text("status", status))),
    }
}

fn write_current(current: &CurrentTurn<'_>, spelling: &Spelling) -> String {
    let one = |(id, request): &(Text<'_>, Json<'_>)| write(&[named(&slot::ASKED, id, spelling), json("data", request)]);
    write(&[
        named(&slot::OF_CURRENT, &current.turn, spelling),
        text("status", &current.status),
        field(spelling.name(&slot::PENDING), list(current.pending.iter().map(one))),
    ])
}

/// Texts of JSON values as an array.
pub(super) fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(","))
}

fn say_history<'f>(history: &'f HistoryImported<'_>, spelling: &Spelling, body: &mut Body<'f>) {
    body.push(field("messages", list(history.messages.iter().map(|message| write_message(message, spelling)))));
    let turns: Vec<String> =
        history.turns.iter().filter(|turn| !is_of_message(turn, history)).map(|turn| write_turn(turn, spelling)).collect();
    if !turns.is_empty() {
        body.push(field(spelling.name(&slot::TURNS), list(turns.into_iter())));
    }
    body.extend(history.older.as_deref().map(|older| named(&slot::OLDER, older, spelling)));
    body.extend(history.requested_at.map(|seq| field(spelling.name(&slot::REQUESTED), seq.to_string())));
}

/// Whether a summary says only what a message of its turn says.
fn is_of_message(turn: &HistoryTurn<'_>, history: &HistoryImported<'_>) -> bool {
    let states = |message: &HistoryMessage<'_>| message.turn.as_ref() == Some(&turn.turn) && message.artifacts == turn.artifacts;
    turn.status.is_none() && turn.error.is_none() && turn.artifacts.is_some() && history.messages.iter().any(states)
}

fn write_message(message: &HistoryMessage<'_>, spelling: &Spelling) -> String {
    let mut fields = vec![named(&slot::OF_MESSAGE, &message.id, spelling)];
    if !message.role.is_empty() {
        fields.push(text("role", &message.role));
    }
    fields.extend(message.turn.as_deref().map(|turn| named(&slot::MESSAGE_TURN, turn, spelling)));
    fields.extend(maybe("name", &message.name));
    fields.extend(message.content.as_ref().map(|content| {
        let slot = if matches!(content, Content::Text(_)) { &slot::MESSAGE_TEXT } else { &slot::MESSAGE_PARTS };
        (Cow::Borrowed(spelling.name(slot)), residue::content(content))
    }));
    fields.extend(message.tool_call.as_deref().map(|call| named(&slot::MESSAGE_CALL, call, spelling)));
    fields.extend(message.artifacts.as_ref().map(|list| field("artifacts", write_references(list.iter().map(pair)))));
    fields.extend(message.error.as_ref().map(|error| json("error", error)));
    fields.extend(message.metadata.as_ref().map(spread).unwrap_or_default());
    write(&fields)
}

fn write_turn(turn: &HistoryTurn<'_>, spelling: &Spelling) -> String {
    let mut fields = vec![named(&slot::OF_TURN, &turn.turn, spelling)];
    fields.extend(maybe("status", &turn.status));
    fields.extend(turn.artifacts.as_ref().map(|list| field("artifacts", write_references(list.iter().map(pair)))));
    fields.extend(turn.error.as_ref().map(|error| json("error", error)));
    write(&fields)
}
