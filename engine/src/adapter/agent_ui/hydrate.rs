//! A session as a client hydrates it: shell, newest messages, what is open, summaries of the turns in the window.
//!
//! **Invariant:** a level comes after those before it and costs what it shows; full outputs and bodies are left to requests.

use serde_json::{Map, Value, json};

use crate::adapter::wire::Hydration;
use crate::error::Error;
use crate::state::{Artifact, Content, Evidence, Queue};
use crate::{Item, ItemKind, LongText, Page, PayloadRef, Seq, TurnRef, View, Window};

/// The events of the first four levels. Cost: the newest window, and what is open.
pub(super) fn hydrate(view: &View, session: &str) -> Result<Hydration, Error> {
    let page = view.window(session, Window::default())?;
    let mut events = vec![shell(view, session)?, messages(view, &page)?];
    open(view, session, &mut events)?;
    summaries(view, &page, &mut events)?;
    Ok(Box::new(events.into_iter().map(|event| Ok(event.to_string()))))
}

/// Level 0: what a list shows of it.
fn shell(view: &View, session: &str) -> Result<Value, Error> {
    let head = view.session(session)?.ok_or_else(|| Error::NoSession { session: session.to_owned() })?;
    let header = &head.header;
    let mut event = json!({
        "type": "session.hydrated", "sessionId": session, "stale": head.unobserved, "asOfSeq": head.last_seq.map(Seq::get),
        "counts": { "turns": header.turns, "items": header.items, "pending": header.pending.len(), "queued": header.queued },
    });
    put(&mut event, "title", header.title.as_deref());
    put(&mut event, "status", header.status.as_deref());
    Ok(event)
}

/// Level 1: the newest messages, with their calls in their places.
fn messages(view: &View, page: &Page) -> Result<Value, Error> {
    let mut list: Vec<Value> = Vec::new();
    for item in page.items() {
        let Some((message, role, part)) = said(view, &item)? else { continue };
        let goes_on = list.last_mut().filter(|last| last.get("id").is_some_and(|id| id == message));
        if let Some(parts) = goes_on.and_then(|last| last.get_mut("parts")?.as_array_mut()) {
            parts.push(part);
            continue;
        }
        let mut written = json!({ "id": message, "role": role, "parts": [part] });
        put(&mut written, "turnId", item.turn().map(|turn| turn.id()));
        list.push(written);
    }
    let turns = page.turns().filter_map(|turn| turn.turn()).map(|turn| summary(view, &turn)).collect::<Result<Vec<_>, _>>()?;
    let older = page.cursor().map(|cursor| cursor.to_string());
    Ok(json!({ "type": "messages.snapshot", "sessionId": page.session(), "messages": list, "turns": turns, "cursor": older }))
}

fn summary(view: &View, turn: &TurnRef<'_>) -> Result<Value, Error> {
    let mut summary = json!({ "turnId": turn.id(), "status": turn.status() });
    if let Some(error) = turn.error() {
        set(&mut summary, "error", value(view, &error)?);
    }
    Ok(summary)
}

/// The message of an item, its role, and the item as a part of it.
fn said<'p>(view: &View, item: &Item<'p>) -> Result<Option<(&'p str, &'p str, Value)>, Error> {
    Ok(Some(match item.kind() {
        ItemKind::Text(part) => {
            let kind = if part.role() == "user" { "user_text" } else { "assistant_text" };
            let text = part.text().map(|text| value(view, &text)).transpose()?.unwrap_or_default();
            match text {
                Value::String(text) => (part.message(), part.role(), json!({ "type": kind, "id": part.id(), "text": text })),
                // Parts of kinds that are not text, as they came.
                parts => (part.message(), part.role(), json!({ "type": kind, "id": part.id(), "content": parts })),
            }
        }
        ItemKind::Reasoning(part) => {
            let text = part.text().map(|text| value(view, &text)).transpose()?.unwrap_or_default();
            (part.message(), part.role(), json!({ "type": "reasoning_detail", "id": part.id(), "text": text }))
        }
        ItemKind::Tool(tool) => {
            let mut part = json!({ "type": "tool_call", "toolCallId": tool.id(), "name": tool.name() });
            let args = tool.args();
            if args.bytes() > 0 && !args.truncated() {
                set(&mut part, "args", json!(args.joined()));
            }
            (tool.message(), "assistant", part)
        }
        _ => return Ok(None),
    }))
}

/// Level 2: the turn that runs, what waits for an answer, the queue and what steers.
fn open(view: &View, session: &str, events: &mut Vec<Value>) -> Result<(), Error> {
    let current = view.current_turn(session, |turn| {
        let runs = !turn.ended() && turn.stated_status() == "running" && !turn.unobserved();
        runs.then(|| (turn.id().to_owned(), turn.stage().map(str::to_owned)))
    })?;
    if let Some((turn, stage)) = current.flatten() {
        events.push(json!({ "type": "run.started", "sessionId": session, "runId": turn }));
        if let Some(stage) = stage {
            events.push(json!({ "type": "run.status", "runId": turn, "stage": stage }));
        }
    }
    for asked in view.pending(session)?.interactions() {
        let mut event = json!({ "type": "action.required", "sessionId": session, "actionId": asked.id() });
        put(&mut event, "runId", asked.turn());
        put(&mut event, "expiresAt", asked.expires_at());
        if let Some(request) = asked.request().or(asked.interrupt()) {
            add(&mut event, value(view, &request)?);
        }
        events.push(event);
    }
    let queue = queued(view, session, &view.queue(session)?)?;
    let mut steers = view.steers(session)?.peekable();
    if steers.peek().is_none() && !queue.is_empty() {
        events.push(json!({ "type": "queue.changed", "sessionId": session, "queued": queue }));
    }
    for steer in steers {
        let steer = steer?;
        let mut stated = json!({ "id": steer.id, "state": steer.state });
        put(&mut stated, "target", steer.target.as_deref());
        for (key, content) in [("text", &steer.text), ("reason", &steer.reason)] {
            if let Some(content) = content {
                set(&mut stated, key, held(view, session, content)?);
            }
        }
        events.push(json!({ "type": "queue.changed", "sessionId": session, "queued": queue, "steer": stated }));
    }
    Ok(())
}

fn queued(view: &View, session: &str, queue: &Queue) -> Result<Vec<Value>, Error> {
    queue.items.iter().map(|item| held(view, session, &item.fields)).collect()
}

/// Level 3: how the calls of the window went, and the artifacts and evidence that stand in it.
fn summaries(view: &View, page: &Page, events: &mut Vec<Value>) -> Result<(), Error> {
    let session = page.session();
    for item in page.items() {
        let turn = item.turn().map(|turn| turn.id());
        let first = events.len();
        match item.kind() {
            ItemKind::Tool(tool) => {
                let status = match tool.status() {
                    "running" => continue,
                    "succeeded" => "ok",
                    other => other,
                };
                let mut event = json!({ "type": "tool.result", "toolCallId": tool.id(), "status": status });
                put(&mut event, "outputRef", tool.results().filter_map(|result| result.reference()).last());
                events.push(event);
            }
            ItemKind::ArtifactRef(id) => events.extend(view.artifact(session, id)?.map(|of| artifact(view, session, &of)).transpose()?),
            ItemKind::EvidenceRef(id) => events.extend(view.evidence(session, id)?.map(|of| evidence(view, session, &of)).transpose()?),
            _ => {}
        }
        for event in events.iter_mut().skip(first) {
            put(event, "runId", turn);
        }
    }
    Ok(())
}

fn artifact(view: &View, session: &str, artifact: &Artifact) -> Result<Value, Error> {
    let mut event = json!({
        "type": "artifact.changed", "artifactId": artifact.id, "artifactKind": artifact.kind, "artifactStatus": artifact.status,
    });
    put(&mut event, "artifactVersionId", artifact.version.as_deref());
    put(&mut event, "artifactReadRef", artifact.read_ref.as_deref());
    put(&mut event, "artifactDiffRef", artifact.diff_ref.as_deref());
    if let Some(preview) = &artifact.preview {
        set(&mut event, "artifactPreview", held(view, session, preview)?);
    }
    add(&mut event, fields(artifact.fields.as_deref()));
    Ok(event)
}

fn evidence(view: &View, session: &str, evidence: &Evidence) -> Result<Value, Error> {
    let mut event = json!({ "type": "evidence.changed", "evidenceId": evidence.id });
    put(&mut event, "status", evidence.status.as_deref());
    if let Some(verdict) = &evidence.verdict {
        set(&mut event, "verdict", held(view, session, verdict)?);
    }
    add(&mut event, fields(evidence.fields.as_deref()));
    Ok(event)
}

fn fields(stated: Option<&str>) -> Value {
    stated.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Adds the fields of an object that are not there.
fn add(event: &mut Value, more: Value) {
    let Value::Object(more) = more else { return };
    let own = event.as_object_mut().map(std::mem::take).unwrap_or_default();
    let mut all: Map<String, Value> = own;
    for (key, value) in more {
        all.entry(key).or_insert(value);
    }
    *event = Value::Object(all);
}

fn put(event: &mut Value, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        set(event, key, json!(text));
    }
}

fn set(event: &mut Value, key: &str, value: Value) {
    if let Some(event) = event.as_object_mut() {
        event.insert(key.to_owned(), value);
    }
}

/// A value whole: JSON as such, text as a string.
fn value(view: &View, text: &LongText<'_>) -> Result<Value, Error> {
    let whole = view.whole(text)?;
    Ok(stated(&whole, text.is_json()))
}

fn held(view: &View, session: &str, content: &Content) -> Result<Value, Error> {
    match PayloadRef::of(session, content) {
        Some(reference) => {
            let json = reference.is_json();
            Ok(stated(view.payload(&reference)?.as_str(), json))
        }
        None => Ok(stated(content.here(), matches!(content, Content::Json(_)))),
    }
}

fn stated(text: &str, json: bool) -> Value {
    if json { serde_json::from_str(text).unwrap_or_default() } else { json!(text) }
}
