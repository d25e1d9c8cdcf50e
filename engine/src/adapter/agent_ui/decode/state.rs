//! Documents: shared state, and tasks as documents of their own.

use serde_json::value::RawValue;

use super::super::class::Class;
use super::part::quoted;
use super::{Incoming, Own, Refused};
use crate::fact::{DocumentPatched, DocumentSet, Fact, Json, Text};

/// Name of the document of an event that names none.
pub(in super::super) const STATE: &str = "state";
/// Prefix of the names of documents that hold a task.
pub(in super::super) const TASK: &str = "task:";

pub(super) fn state<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    if event.class == Class::TaskChanged {
        return task(event, own);
    }
    let document = event.text_of_first(&["document", "documentName"], own).unwrap_or(Text::Borrowed(STATE));
    let stated = |keys: &[&str]| keys.iter().find_map(|key| event.placed.get(key));
    let fact = if event.class == Class::StateSnapshot {
        // A null is a value.
        let value = stated(&["value", "snapshot", "state"]).ok_or_else(|| Refused::missing("value"))?;
        Fact::DocumentSet(DocumentSet { document, value: Json::raw(value), replace: true })
    } else {
        let patch = stated(&["patch", "delta"]).ok_or_else(|| Refused::missing("patch"))?;
        if !patch.get().starts_with('[') {
            return Err(Refused::malformed("patch: expected an array"));
        }
        Fact::DocumentPatched(DocumentPatched { document, patch: Json::raw(patch) })
    };
    own.fact(fact);
    Ok(())
}

/// A task that changed: what the event says is put into the task's document, what it does not say stays.
fn task<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    let task = event.id("taskId")?;
    let rest = event.placed.rest(&["taskId"]);
    let operations: Vec<String> = rest.iter().filter(|(key, _)| !is_refused(key)).map(|(key, raw)| operation(key, raw)).collect();
    let patch = Json::built(format!("[{}]", operations.join(",")));
    own.fact(Fact::DocumentPatched(DocumentPatched { document: Text::Owned(format!("{TASK}{task}")), patch }));
    Ok(())
}

/// Keys that no patch may write.
fn is_refused(key: &str) -> bool {
    matches!(key, "__proto__" | "prototype" | "constructor")
}

fn operation(key: &str, raw: &RawValue) -> String {
    let path = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
    format!("{{\"op\":\"add\",\"path\":{},\"value\":{}}}", quoted(&path), raw.get())
}
