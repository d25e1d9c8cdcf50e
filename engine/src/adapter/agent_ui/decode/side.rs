//! What stands beside the timeline: queue and steers, evidence, the host's writes, the session itself, compactions.

use serde_json::value::RawValue;

use super::super::class::Class;
use super::super::placed::object;
use super::{Incoming, Own, Refused};
use crate::adapter::fields::{Fields, list_of, text_of};
use crate::fact::{
    CompactionMarked, EvidenceChanged, Fact, QueueItem, QueueSet, SessionChanged, SteerChanged, Text, WriteChanged, WriteOp,
};

/// The whole queue, and the steers that the event speaks of. A list that does not read as a whole replaces nothing.
pub(super) fn queue<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    event.id("sessionId")?;
    let steers = event.placed.some("steer");
    match event.placed.some("queued") {
        Some(raw) => {
            let list = list_of(raw).ok_or_else(|| Refused::malformed("queued: expected an array"))?;
            let items = list.into_iter().enumerate().map(|(index, raw)| item(event, index, raw, own)).collect::<Result<_, _>>()?;
            own.fact(Fact::QueueSet(QueueSet { items }));
        }
        None if steers.is_some() => own.missing(event, "queued"),
        None => return Err(Refused::missing("queued")),
    }
    let Some(raw) = steers else { return Ok(()) };
    for raw in list_of(raw).unwrap_or_else(|| vec![raw]) {
        match steer(event, raw, own) {
            Some(steer) => own.fact(Fact::SteerChanged(steer)),
            None => own.malformed(event, "steer", "objects with an id"),
        }
    }
    if own.facts.is_empty() { Err(Refused::missing("queued")) } else { Ok(()) }
}

fn item<'a>(event: &Incoming<'_, 'a>, index: usize, raw: &'a RawValue, own: &mut Own<'a>) -> Result<QueueItem<'a>, Refused> {
    let fields = crate::fact::Json::raw(raw);
    if let Some(id) = text_of(raw).filter(|id| !id.is_empty()) {
        return Ok(QueueItem { id, position: None, fields });
    }
    let bad = || Refused::malformed(format!("queued[{index}]: expected an object with an id"));
    let object = Fields::parse(raw.get()).map_err(|_| bad())?;
    let id = ["id", "queuedId", "queueId"].iter().find_map(|key| object.get(key).and_then(text_of)).filter(|id| !id.is_empty());
    let position = object.some("position");
    let place = position.and_then(|raw| raw.get().parse().ok());
    if position.is_some() && place.is_none() {
        own.malformed(event, &format!("queued[{index}].position"), "a whole number from 0");
    }
    Ok(QueueItem { id: id.ok_or_else(bad)?, position: place, fields })
}

fn steer<'a>(event: &Incoming<'_, 'a>, raw: &'a RawValue, own: &mut Own<'a>) -> Option<SteerChanged<'a>> {
    let fields = Fields::parse(raw.get()).ok()?;
    let text = |keys: &[&str]| keys.iter().find_map(|key| fields.some(key).and_then(text_of));
    let state = text(&["state", "status"]);
    if state.is_none() {
        own.missing(event, "steer.state");
    }
    // A patch is kept as its JSON.
    let patch = || fields.some("patch").map(|raw| Text::Borrowed(raw.get()));
    Some(SteerChanged {
        steer: text(&["id", "steerId"]).filter(|id| !id.is_empty())?,
        target: text(&["target", "targetTurnId", "turnId", "runId"]),
        state: state.unwrap_or(Text::Borrowed("unknown")),
        text: text(&["text"]).or_else(patch),
        reason: text(&["reason"]),
    })
}

pub(super) fn evidence<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    let evidence = event.id("evidenceId")?;
    let fields = object(&event.placed.rest(&["evidenceId", event.turn_key()]));
    let turn = event.turn(own);
    own.fact(Fact::EvidenceChanged(EvidenceChanged { evidence, turn, fields }));
    Ok(())
}

/// A write of the host: what it is about to do, and what came of it. Domain facts move only when their owners say so.
pub(super) fn write<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    let write = event.id("writeId")?;
    let unknown = Text::Borrowed("unknown");
    let op = if event.class == Class::HostWrite {
        let action = event.text_if("action", own);
        if action.is_none() {
            own.missing(event, "action");
        }
        WriteOp::Attempted {
            action: action.unwrap_or(unknown),
            target: event.text_if("target", own),
            key: event.text_of_first(&["idempotencyKey", "key"], own),
            detail: event.placed.rest_object(&["writeId", "action", "target", "idempotencyKey", "key"]),
        }
    } else {
        let outcome = event.text_of_first(&["status", "outcome"], own);
        if outcome.is_none() {
            own.missing(event, "status");
        }
        WriteOp::Settled { outcome: outcome.unwrap_or(unknown), detail: event.placed.rest_object(&["writeId", "status", "outcome"]) }
    };
    own.fact(Fact::WriteChanged(WriteChanged { write, op }));
    Ok(())
}

/// Key under which a session keeps how it was stated last: opened, hydrated or closed.
const LIFECYCLE: &str = "lifecycle";

pub(super) fn session<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    let title = event.text_if("title", own);
    let status = event.text_if("status", own);
    let lifecycle = match event.class {
        Class::SessionOpened => Some("\"opened\""),
        Class::SessionHydrated => Some("\"hydrated\""),
        Class::SessionClosed => Some("\"closed\""),
        _ => None,
    };
    let rest = event.placed.rest(&["title", "status"]);
    let mut fields: Vec<(&str, &str)> = rest.iter().map(|(key, raw)| (*key, raw.get())).collect();
    if event.placed.get(LIFECYCLE).is_none() {
        fields.extend(lifecycle.map(|lifecycle| (LIFECYCLE, lifecycle)));
    }
    let fields = (!fields.is_empty()).then(|| crate::fact::Json::built(crate::adapter::fields::write_object(fields)));
    own.fact(Fact::SessionChanged(SessionChanged { title, status, fields }));
    Ok(())
}

pub(super) fn compaction<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    let phase = Text::Borrowed(if event.class == Class::CompactionStarted { "started" } else { "completed" });
    own.fact(Fact::CompactionMarked(CompactionMarked { phase, detail: event.placed.rest_object(&[]) }));
    Ok(())
}
