//! A page of history.
//!
//! **Invariant:** a page is taken whole or not at all. What a summary says of its turn's artifacts stands before what a message says.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::super::code;
use super::super::reference::{meaning, references};
use super::super::spelling::{self as slot, Spelling};
use super::turn::{note_outside, running};
use super::{Incoming, Own, Refused, Validation, rest};
use crate::adapter::fields::{Bad, Fields, list_of, text_of};
use crate::event::Owner;
use crate::fact::{ArtifactReference, Content, Fact, HistoryImported, HistoryMessage, HistoryMode, HistoryTurn, Json, Text};

pub(super) fn page<'a>(event: &mut Incoming<'_, 'a>, own: &mut Own<'a>, validation: Validation) -> Result<(), Refused> {
    if let Some(version) = old_form(event.fields) {
        return Err(Refused { code: code::OLD_FORMAT_SNAPSHOT, detail: format!("protocolVersion: {version}") });
    }
    let list =
        |raw: Option<&'a RawValue>, key: &str| raw.map_or(Ok(Vec::new()), |raw| list_of(raw).ok_or_else(|| Bad::new(key, "an array")));
    let summaries = event.spelling.some(event.fields, &slot::TURNS);
    let messages = list(event.fields.some("messages"), "messages")?;
    if event.fields.some("messages").is_none() && summaries.is_none() {
        return Err(Bad::new("messages", "an array").into());
    }
    let messages = each("messages", messages, |raw| message(raw, &mut event.spelling, validation))?;
    let mut turns = each("turns", list(summaries, "turns")?, |raw| turn(raw, &mut event.spelling, validation))?;
    for turn in &mut turns {
        if let Some(running) = turn.status.as_deref().and_then(running) {
            own.note(code::HOST_STATUS_ON_WIRE, format!("{} of {}", turn.status.as_deref().unwrap_or_default(), turn.turn));
            turn.status = Some(running);
        }
    }
    let lists =
        messages.iter().filter_map(|message| message.artifacts.as_deref()).chain(turns.iter().filter_map(|turn| turn.artifacts.as_deref()));
    note_outside(lists, own);
    unite(&messages, &mut turns, own);
    let stated = stated_seq(event, own);
    let history = HistoryImported {
        mode: HistoryMode::Page,
        messages,
        turns,
        older: event.text(&slot::OLDER),
        requested_at: stated.or(event.requested_at),
        authoritative_activities: None,
    };
    own.fact(Fact::HistoryImported(history), Owner::SESSION);
    Ok(())
}

fn stated_seq<'a>(event: &mut Incoming<'_, 'a>, own: &mut Own<'a>) -> Option<u64> {
    let raw = event.spelling.some(event.fields, &slot::REQUESTED)?;
    let seq = raw.get().parse().ok();
    if seq.is_none() {
        own.note(code::MALFORMED_FIELD, format!("{}.{}: expected a whole number", event.spelled, slot::REQUESTED.usual()));
    }
    seq
}

/// The version of a page that says it was kept in a form before 0.7.
fn old_form<'a>(fields: &Fields<'a>) -> Option<Text<'a>> {
    let version = ["protocolVersion", "protocol_version"].iter().find_map(|key| fields.some(key).and_then(text_of))?;
    let mut numbers = version.split('.').map(|number| number.parse::<u64>().ok());
    let old = matches!((numbers.next(), numbers.next()), (Some(Some(0)), Some(Some(minor))) if minor < 7);
    old.then_some(version)
}

fn each<'a, T>(path: &str, list: Vec<&'a RawValue>, mut read: impl FnMut(&'a RawValue) -> Result<T, Refused>) -> Result<Vec<T>, Refused> {
    let all = list.into_iter().enumerate();
    all.map(|(index, raw)| read(raw).map_err(|refused| Refused { detail: format!("{path}[{index}].{}", refused.detail), ..refused }))
        .collect()
}

fn artifacts<'a>(fields: &Fields<'a>, validation: Validation) -> Result<Option<Vec<ArtifactReference<'a>>>, Refused> {
    Ok(fields.some("artifacts").map(|raw| references(raw, validation)).transpose()?)
}

/// Text as text; parts as they are. What the model of a message has no place for goes along as its metadata.
fn message<'a>(raw: &'a RawValue, spelling: &mut Spelling, validation: Validation) -> Result<HistoryMessage<'a>, Refused> {
    let fields = Fields::parse(raw.get()).map_err(|_| Bad("expected an object".to_owned()))?;
    let mut taken = Vec::with_capacity(8);
    let mut take = |found: Option<(&'static str, Text<'a>)>| {
        found.map(|(key, text)| {
            taken.push(key);
            text
        })
    };
    let id = take(spelling.find(&fields, &slot::OF_MESSAGE, text_of)).ok_or_else(|| Bad::new("id", "a string"))?;
    let role = take(fields.some("role").and_then(text_of).map(|text| ("role", text))).unwrap_or_default();
    let turn = take(spelling.find(&fields, &slot::MESSAGE_TURN, text_of));
    let name = take(fields.some("name").and_then(text_of).map(|text| ("name", text)));
    let text = take(spelling.find(&fields, &slot::MESSAGE_TEXT, text_of)).map(Content::Text);
    let tool_call = if role == "tool" { take(spelling.find(&fields, &slot::MESSAGE_CALL, text_of)) } else { None };
    let content = text.or_else(|| {
        let structured = |raw: &'a RawValue| raw.get().starts_with(['[', '{']).then(|| Json::raw(raw));
        let (key, parts) = spelling.find(&fields, &slot::MESSAGE_PARTS, structured)?;
        taken.push(key);
        Some(Content::Json(parts))
    });
    let artifacts = artifacts(&fields, validation)?;
    let error = fields.some("error").map(Json::raw);
    let is_taken = |key: &str| match key {
        "artifacts" => artifacts.is_some(),
        "error" => error.is_some(),
        key => taken.contains(&key),
    };
    let metadata = rest(&fields, is_taken);
    Ok(HistoryMessage { id, role, turn, name, content, tool_call, artifacts, error, metadata, ..HistoryMessage::default() })
}

fn turn<'a>(raw: &'a RawValue, spelling: &mut Spelling, validation: Validation) -> Result<HistoryTurn<'a>, Refused> {
    let fields = Fields::parse(raw.get()).map_err(|_| Bad("expected an object".to_owned()))?;
    let turn = spelling.text(&fields, &slot::OF_TURN).ok_or_else(|| Bad::new("turnId", "a string"))?;
    // An unknown status says nothing.
    let status = fields.some("status").and_then(text_of).filter(|status| status != "unknown");
    let error = fields.some("error").map(Json::raw);
    Ok(HistoryTurn { turn, status, error, artifacts: artifacts(&fields, validation)? })
}

/// Gives the artifacts of messages to their turns. A summary that differs stands.
fn unite<'a>(messages: &[HistoryMessage<'a>], turns: &mut Vec<HistoryTurn<'a>>, own: &mut Own<'a>) {
    let mut of_messages = BTreeMap::<&str, &[ArtifactReference<'a>]>::new();
    for message in messages {
        if let (Some(turn), Some(artifacts)) = (&message.turn, &message.artifacts) {
            of_messages.insert(turn, artifacts);
        }
    }
    let mut places: BTreeMap<Text<'a>, usize> = turns.iter().enumerate().map(|(place, turn)| (turn.turn.clone(), place)).collect();
    let mut added = Vec::<(usize, HistoryTurn<'a>)>::new();
    // Where a turn without a summary goes: behind the turn of the message before.
    let mut behind = 0;
    for message in messages {
        let Some(turn) = &message.turn else { continue };
        let Some(place) = places.get(turn).copied() else {
            if let Some(artifacts) = of_messages.get(turn.as_ref()) {
                places.insert(turn.clone(), behind);
                let artifacts = Some(artifacts.to_vec());
                added.push((behind, HistoryTurn { turn: turn.clone(), artifacts, ..HistoryTurn::default() }));
            }
            continue;
        };
        let summary = turns.get_mut(place).filter(|summary| summary.turn == *turn);
        if summary.is_some() {
            behind = place + 1;
        }
        if let (Some(summary), Some(said)) = (summary, of_messages.remove(turn.as_ref())) {
            match &summary.artifacts {
                Some(summed) if meaning(summed) != meaning(said) => own.note(code::ARTIFACT_SOURCE_CONFLICT, turn.to_string()),
                Some(_) => {}
                None => summary.artifacts = Some(said.to_vec()),
            }
        }
    }
    for (place, turn) in added.into_iter().rev() {
        turns.insert(place.min(turns.len()), turn);
    }
}
