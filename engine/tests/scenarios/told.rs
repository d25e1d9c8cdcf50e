//! A session as one JSON tree, told by the reading API alone: what the paths of a scenario's expectations lead into.
//!
//! What is missing in it was not stated. The names of the fields are the tree's own.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use turnstore::adapter::aseity::session_event;
use turnstore::state::{Artifact, Content};
use turnstore::{
    DecisionItem, InteractionItem, InteractionStatus, Item, ItemKind, LongText, Mark, Page, PartItem, ToolItem, TurnRef, View, Window,
};

pub(crate) fn told(view: &View, session: &str) -> Value {
    let Some(head) = view.session(session).unwrap() else { return Value::Null };
    let page = view.window(session, Window::items(500)).unwrap();
    assert!(!page.has_older(), "a scenario fits one window");
    let mut tree = timeline(view, &page);
    let header = &head.header;
    let mut about = Map::new();
    let fields = header.fields.as_deref().map(parsed);
    about.extend(fields.iter().filter_map(Value::as_object).flatten().map(|(key, value)| (key.clone(), value.clone())));
    about.extend(header.title.as_ref().map(|title| ("title".to_owned(), json!(title))));
    about.extend(header.status.as_ref().map(|status| ("status".to_owned(), json!(status))));
    let turn = view.current_turn(session, |turn| turn.id().to_owned()).unwrap();
    let state = match (header.running, &turn) {
        (true, _) => "active",
        (false, Some(_)) => "idle",
        (false, None) => "unknown",
    };
    let pending: Vec<String> = view.pending(session).unwrap().interactions().map(|asked| asked.id().to_owned()).collect();
    let queued = view.queue(session).unwrap().items.into_iter().map(|item| value(&item.fields)).collect::<Vec<_>>();
    let mut put = |key: &str, value: Value| assert!(tree.insert(key.to_owned(), value).is_none());
    put("session", Value::Object(about));
    put("current", json!({ "state": state, "turn": turn }));
    put("history", json!({ "complete": header.history_complete, "older": header.older }));
    put("opaque", json!(header.opaque));
    put("pending", json!(pending));
    put("queue", json!(queued));
    put("documents", documents(view, session));
    put("state", document(view, session, "state"));
    beside(view, session, &mut put);
    let event = session_event(view, session).unwrap().map_or(Value::Null, |event| parsed(event.as_str()));
    put("export", event);
    Value::Object(tree)
}

/// Codes of the diagnostics, in order.
pub(crate) fn codes(view: &View, session: &str) -> Vec<String> {
    view.diagnostics(session).unwrap().map(|noted| noted.unwrap().code).collect()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A value that is here whole.
fn value(content: &Content) -> Value {
    match content {
        Content::Text(_) => json!(content.here()),
        Content::Json(_) => parsed(content.here()),
        Content::Payload(_) => panic!("a scenario has small values"),
    }
}

fn maybe(content: &Option<Box<Content>>) -> Value {
    content.as_deref().map_or(Value::Null, value)
}

fn long(text: Option<LongText<'_>>) -> Value {
    text.map_or(Value::Null, |text| {
        assert!(!text.truncated(), "a scenario has small values");
        if text.is_json() { parsed(&text.joined()) } else { json!(text.joined()) }
    })
}

fn timeline(view: &View, page: &Page) -> Map<String, Value> {
    let (mut turns, mut parts, mut messages) = (Map::new(), Map::new(), BTreeMap::<String, Message>::new());
    let (mut tools, mut interactions, mut order) = (Map::new(), Map::new(), Vec::new());
    let mut of_turn = BTreeMap::<String, Vec<String>>::new();
    for item in page.items() {
        order.push(named(&item));
        let turn = item.turn().map(|turn| turn.id().to_owned());
        match item.kind() {
            ItemKind::Text(item) | ItemKind::Reasoning(item) | ItemKind::Activity(item) => {
                parts.insert(item.id().to_owned(), part(view, page, &item));
                let message = messages.entry(item.message().to_owned()).or_default();
                message.role.get_or_insert_with(|| item.role().to_owned());
                message.parts.push(item.id().to_owned());
                let spoken = item.text().map(|text| text.joined().into_owned()).unwrap_or_default();
                let is_text = matches!(item_kind(page, item.id()), Some(ItemKind::Text(_)));
                message.text += if is_text { &spoken } else { "" };
                message.error = if item.error().is_some() { long(item.error()) } else { std::mem::take(&mut message.error) };
                if is_text && turn.is_some() {
                    let list = of_turn.entry(turn.unwrap_or_default()).or_default();
                    if !list.contains(&item.message().to_owned()) {
                        list.push(item.message().to_owned());
                    }
                }
            }
            ItemKind::Tool(item) => drop(tools.insert(item.id().to_owned(), tool(&item))),
            ItemKind::Interaction(item) => drop(interactions.insert(item.id().to_owned(), interaction(&item))),
            _ => {}
        }
    }
    for turn in page.turns().filter_map(|turn| turn.turn()) {
        turns.insert(turn.id().to_owned(), told_turn(&turn, of_turn.remove(turn.id()).unwrap_or_default()));
    }
    let messages: Map<_, _> = messages.into_iter().map(|(id, message)| (id, message.told())).collect();
    let whole = json!({
        "turns": turns, "parts": parts, "messages": messages, "tools": tools, "interactions": interactions, "order": order,
    });
    let Value::Object(whole) = whole else { panic!("an object was made") };
    whole
}

fn item_kind<'p>(page: &'p Page, part: &str) -> Option<ItemKind<'p>> {
    page.items().map(|item| item.kind()).find(|kind| match kind {
        ItemKind::Text(item) | ItemKind::Reasoning(item) | ItemKind::Activity(item) => item.id() == part,
        _ => false,
    })
}

#[derive(Default)]
struct Message {
    role: Option<String>,
    parts: Vec<String>,
    text: String,
    error: Value,
}

impl Message {
    fn told(self) -> Value {
        json!({ "role": self.role, "parts": self.parts, "text": self.text, "error": self.error })
    }
}

/// An item in the order of the timeline, by what it is and its id.
fn named(item: &Item<'_>) -> String {
    match item.kind() {
        ItemKind::Text(item) => format!("text {}", item.id()),
        ItemKind::Reasoning(item) => format!("reasoning {}", item.id()),
        ItemKind::Activity(item) => format!("activity {}", item.id()),
        ItemKind::Tool(item) => format!("tool {}", item.id()),
        ItemKind::Result(item) => format!("result {}", item.tool()),
        ItemKind::Interaction(item) => format!("interaction {}", item.id()),
        ItemKind::ArtifactRef(id) => format!("artifact {id}"),
        ItemKind::EvidenceRef(id) => format!("evidence {id}"),
        ItemKind::Compaction { phase, .. } => format!("compaction {phase}"),
        _ => "other".to_owned(),
    }
}

fn told_turn(turn: &TurnRef<'_>, messages: Vec<String>) -> Value {
    let reference = |(path, kind): (&str, &str)| json!({ "entryPath": path, "artifactType": kind });
    let artifacts = turn.artifacts().map(|list| list.map(reference).collect::<Vec<_>>());
    json!({
        "status": turn.stated_status(), "stage": turn.stage(), "run": turn.run(), "parent": turn.parent(), "resumes": turn.resumes(),
        "error": long(turn.error()), "result": long(turn.result()), "usage": long(turn.usage()), "retryable": turn.retryable(),
        "reopened": turn.reopened(), "ended": turn.ended(), "artifacts": artifacts, "messages": messages,
        "pending_tools": turn.pending_tools().collect::<Vec<_>>(),
    })
}

fn part(view: &View, page: &Page, part: &PartItem<'_>) -> Value {
    let reconcile = match part.mark() {
        Mark::Match => json!("match"),
        Mark::FinalOnly => json!("final_only"),
        Mark::Extended => json!("extended"),
        Mark::Replaced => json!("replaced"),
        Mark::Superseded => json!("superseded"),
        _ => Value::Null,
    };
    let content = match part.text() {
        Some(text) => long(Some(text)),
        None => document(view, page.session(), &part.document()),
    };
    json!({
        "text": content, "role": part.role(), "agent": part.agent(), "subtype": part.subtype(), "sealed": long(part.sealed()),
        "metadata": part.metadata().map(parsed), "final": !matches!(part.mark(), Mark::Open | Mark::Closed), "reconcile": reconcile,
        "closed": part.mark() != Mark::Open,
    })
}

fn tool(tool: &ToolItem<'_>) -> Value {
    let results: Vec<Value> = tool.results().map(|result| long(result.content())).collect();
    let reference = tool.results().filter_map(|result| result.reference()).last();
    json!({
        "name": tool.name(), "message": tool.message(), "status": tool.status(), "progress": long(tool.progress()),
        "error": long(tool.error()), "detail": long(tool.detail()), "args": tool.args().joined(), "args_ended": tool.args_ended(),
        "output": tool.output().joined(), "output_ref": reference, "results": results, "sealed": long(tool.sealed()),
    })
}

fn interaction(asked: &InteractionItem<'_>) -> Value {
    let decision = |decision: DecisionItem<'_>| {
        json!({
            "id": decision.id(), "resolution": decision.resolution(), "payload": long(decision.payload()),
            "receipt": long(decision.receipt()),
        })
    };
    let status = match asked.status() {
        InteractionStatus::Pending => "pending",
        InteractionStatus::Resolved => "resolved",
        InteractionStatus::Withdrawn => "withdrawn",
    };
    json!({
        "kind": asked.kind(), "status": status, "turn": asked.turn(), "tool": asked.tool(), "request": long(asked.request()),
        "revision": asked.revision(), "expires_at": asked.expires_at(), "decision": asked.decision().map(decision),
        "conflicts": asked.conflicts().map(decision).collect::<Vec<_>>(),
    })
}

fn document(view: &View, session: &str, name: &str) -> Value {
    let found = view.document(session, name).unwrap();
    found.map_or(Value::Null, |found| json!({ "value": found.value, "stale": found.stale }))
}

fn documents(view: &View, session: &str) -> Value {
    let names: Vec<String> = view.documents(session).unwrap().map(|found| found.unwrap().name).collect();
    names.into_iter().map(|name| (name.clone(), document(view, session, &name))).collect::<Map<_, _>>().into()
}

fn beside(view: &View, session: &str, put: &mut impl FnMut(&str, Value)) {
    let artifacts: Vec<Artifact> = view.artifacts(session).unwrap().map(Result::unwrap).collect();
    let index = artifacts.iter().filter(|artifact| !artifact.turns.is_empty());
    put("artifact_index", index.filter_map(|of| Some((of.path.clone()?, json!(of.turns)))).collect::<Map<_, _>>().into());
    put("artifacts", artifacts.iter().filter_map(|of| Some((of.id.clone()?, artifact(of)))).collect::<Map<_, _>>().into());
    let steers = view.steers(session).unwrap().map(|steer| {
        let steer = steer.unwrap();
        let about = json!({
            "state": steer.state, "target": steer.target, "text": maybe(&steer.text), "reason": maybe(&steer.reason),
        });
        (steer.id, about)
    });
    put("steer", steers.collect::<Map<_, _>>().into());
    let evidence = view.evidence_records(session).unwrap().map(|evidence| {
        let evidence = evidence.unwrap();
        let mut about = json!({
            "status": evidence.status, "turn": evidence.turn, "refs": evidence.fields.as_deref().map(parsed),
            "verdict_changes": evidence.verdict_changes,
        });
        if evidence.verdict.is_some() {
            about["verdict"] = maybe(&evidence.verdict);
        }
        (evidence.id, about)
    });
    put("evidence", evidence.collect::<Map<_, _>>().into());
    let writes = view.writes(session).unwrap().map(|write| {
        let write = write.unwrap();
        let about = json!({
            "status": write.status, "action": write.action, "target": write.target, "key": write.key, "attempts": write.attempts,
        });
        (write.id, about)
    });
    put("writes", writes.collect::<Map<_, _>>().into());
    let surfaces: Vec<String> = view.surfaces(session).unwrap().map(|found| found.unwrap().id).collect();
    let surfaces = surfaces.into_iter().map(|id| {
        let found = view.surface(session, &id).unwrap().unwrap();
        let buffered: Vec<_> = found.summary.buffered.iter().map(|sequence| json!([sequence])).collect();
        let about = json!({
            "state": found.state, "seq": found.summary.sequence, "stale": found.summary.stale, "lost": found.summary.lost,
            "closed": found.summary.closed, "buffered": buffered, "definition": found.definition.as_ref().map(value),
        });
        (id, about)
    });
    put("surfaces", surfaces.collect::<Map<_, _>>().into());
    let intents = view.intents(session).unwrap().map(|intent| {
        let intent = intent.unwrap();
        (intent.id, json!({ "status": intent.status, "body": maybe(&intent.body), "result": maybe(&intent.result) }))
    });
    let intents: Map<_, _> = intents.collect();
    let workspace = view.workspace(session).unwrap().unwrap_or_default();
    put("workspace", json!({ "intents": intents, "capabilities": maybe(&workspace.capabilities), "state": maybe(&workspace.state) }));
}

fn artifact(artifact: &Artifact) -> Value {
    let exports: Map<_, _> = artifact.exports.iter().map(|export| (export.id.clone(), json!(export.state))).collect();
    json!({
        "kind": artifact.kind, "status": artifact.status, "turns": artifact.turns, "versions": artifact.versions,
        "version": artifact.version, "exports": exports, "preview": maybe(&artifact.preview), "read_ref": artifact.read_ref,
        "diff_ref": artifact.diff_ref, "error": maybe(&artifact.error), "incarnation": artifact.incarnation,
        "fields": artifact.fields.as_deref().map(parsed),
    })
}
