//! A page of a session, for programs.

use serde_json::{Map, Value, json};
use turnstore::{InteractionItem, Item, ItemKind, LongText, Page, PartItem, ResultItem, Seq, ToolItem, TurnRef};

use super::page::status_word;

/// A window or page, whole.
pub(crate) fn window(page: &Page) -> Value {
    json!({
        "session": page.session(),
        "seq": seq(page.as_of_seq()),
        "turns": turns(page),
        "changed": page.changed().map(|turn| turn.id()).collect::<Vec<_>>(),
        "older": page.cursor().map(|cursor| cursor.to_string()),
        "newer": page.newer_cursor().to_string(),
    })
}

/// The turns of a page with their items. A turn that the page cuts says `truncated`.
pub(crate) fn turns(page: &Page) -> Vec<Value> {
    page.turns()
        .map(|slice| {
            let mut value = slice.turn().map(turn).unwrap_or_else(|| json!({ "id": null }));
            set(&mut value, "truncated", slice.truncated().then_some(true));
            set(&mut value, "items", Some(slice.items().map(|one| item(&one)).collect::<Vec<_>>()));
            value
        })
        .collect()
}

/// Adds a field to an object, when there is one.
pub(crate) fn set(value: &mut Value, key: &str, field: Option<impl Into<Value>>) {
    if let (Some(object), Some(field)) = (value.as_object_mut(), field) {
        object.insert(key.to_owned(), field.into());
    }
}

/// JSON that a session holds as text, or the text when it is none.
pub(crate) fn embedded(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// A seq as a number, 0 for none.
pub(crate) fn seq(seq: Option<Seq>) -> u64 {
    seq.map_or(0, Seq::get)
}

fn turn(turn: TurnRef<'_>) -> Value {
    let mut value = json!({
        "id": turn.id(),
        "status": turn.status(),
        "ended": turn.ended(),
        "firstSeq": seq(turn.first_seq()),
        "lastSeq": seq(turn.last_seq()),
    });
    for (key, text) in [("run", turn.run()), ("parent", turn.parent()), ("resumes", turn.resumes()), ("stage", turn.stage())] {
        set(&mut value, key, text);
    }
    for (key, said) in [("error", turn.error()), ("result", turn.result()), ("usage", turn.usage())] {
        set(&mut value, key, said.map(stated));
    }
    if let Some(artifacts) = turn.artifacts() {
        let artifacts: Vec<_> = artifacts.map(|(path, kind)| json!({ "path": path, "type": kind })).collect();
        set(&mut value, "artifacts", Some(artifacts));
    }
    value
}

fn item(item: &Item<'_>) -> Value {
    let mut value = match item.kind() {
        ItemKind::Text(one) => part("text", &one),
        ItemKind::Reasoning(one) => part("reasoning", &one),
        ItemKind::Activity(one) => part("activity", &one),
        ItemKind::Tool(one) => tool(&one),
        ItemKind::Result(one) => {
            let mut value = result(&one);
            set(&mut value, "kind", Some("result"));
            set(&mut value, "id", Some(one.message().unwrap_or(one.tool())));
            set(&mut value, "tool", Some(one.tool()));
            value
        }
        ItemKind::Interaction(one) => interaction(&one),
        ItemKind::ArtifactRef(id) => json!({ "kind": "artifact", "id": id }),
        ItemKind::EvidenceRef(id) => json!({ "kind": "evidence", "id": id }),
        ItemKind::Compaction { phase, detail } => json!({ "kind": "compaction", "id": phase, "detail": detail.map(stated) }),
        _ => json!({ "kind": "other", "id": null }),
    };
    set(&mut value, "firstSeq", Some(seq(item.first_seq())));
    set(&mut value, "lastSeq", Some(seq(item.last_seq())));
    set(&mut value, "truncated", item.truncated().then_some(true));
    value
}

/// A value that was stated: JSON as it is, else text. One that stays in the log is its beginning and its length.
pub(crate) fn stated(said: LongText<'_>) -> Value {
    let joined = said.joined();
    match (said.truncated(), said.is_json()) {
        (true, _) => json!({ "preview": joined, "bytes": said.bytes() }),
        (false, true) => embedded(&joined),
        (false, false) => Value::from(joined.into_owned()),
    }
}

fn text(value: &mut Value, key: &str, text: &LongText<'_>) {
    let joined = text.joined();
    let whole = !text.truncated();
    set(value, key, Some(if text.is_json() && whole { embedded(&joined) } else { Value::from(joined.into_owned()) }));
    if !whole {
        set(value, "bytes", Some(text.bytes()));
    }
}

fn part(kind: &str, part: &PartItem<'_>) -> Value {
    let mut value = json!({ "kind": kind, "id": part.id(), "message": part.message(), "role": part.role() });
    for (key, said) in [("name", part.name()), ("agent", part.agent()), ("type", part.subtype())] {
        set(&mut value, key, said);
    }
    set(&mut value, "sealed", part.sealed().map(stated));
    set(&mut value, "metadata", part.metadata().map(embedded));
    if let Some(said) = part.text() {
        text(&mut value, "text", &said);
    }
    value
}

fn tool(tool: &ToolItem<'_>) -> Value {
    let mut value = json!({ "kind": "tool", "id": tool.id(), "name": tool.name(), "message": tool.message(), "status": tool.status() });
    text(&mut value, "args", &tool.args());
    if tool.output().bytes() > 0 {
        text(&mut value, "output", &tool.output());
    }
    set(&mut value, "agent", tool.agent());
    for (key, said) in [("progress", tool.progress()), ("error", tool.error())] {
        set(&mut value, key, said.map(stated));
    }
    set(&mut value, "metadata", tool.metadata().map(embedded));
    set(&mut value, "results", Some(tool.results().map(|one| result(&one)).collect::<Vec<_>>()));
    value
}

fn result(result: &ResultItem<'_>) -> Value {
    let mut value = Value::Object(Map::new());
    for (key, said) in [("message", result.message()), ("reference", result.reference()), ("agent", result.agent())] {
        set(&mut value, key, said);
    }
    set(&mut value, "error", result.error().map(stated));
    if let Some(content) = result.content() {
        text(&mut value, "content", &content);
    }
    value
}

/// A question and what became of it.
pub(crate) fn interaction(asked: &InteractionItem<'_>) -> Value {
    let mut value = json!({ "kind": "interaction", "id": asked.id(), "asks": asked.kind(), "status": status_word(asked.status()) });
    for (key, said) in [("turn", asked.turn()), ("tool", asked.tool()), ("expiresAt", asked.expires_at())] {
        set(&mut value, key, said);
    }
    for (key, said) in [("request", asked.request()), ("interrupt", asked.interrupt())] {
        set(&mut value, key, said.map(stated));
    }
    if let Some(decision) = asked.decision() {
        let said = json!({ "id": decision.id(), "resolution": decision.resolution(), "payload": decision.payload().map(stated) });
        set(&mut value, "decision", Some(said));
    }
    value
}
