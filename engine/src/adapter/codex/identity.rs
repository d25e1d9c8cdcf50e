//! Whose rollout a file is, by what it says itself.

use super::super::fields::{Fields, text_of};
use super::super::line::fit;

/// The session of a rollout, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Session id.
    pub session: String,
    /// The session that started it, or that it was forked from.
    pub parent: Option<String>,
}

/// What one line says of whose rollout it stands in; the first line that says something decides: a forked rollout holds the line of its
/// parent too. `None`: this one does not. The name of a file says nothing: files are copied and renamed.
pub fn identity(line: &str) -> Option<Identity> {
    let fields = Fields::parse(line).ok()?;
    let meta = match fields.get("type").and_then(text_of).as_deref() {
        Some("session_meta") => Fields::parse(fields.get("payload")?.get()).ok()?,
        None => fields,
        Some(_) => return None,
    };
    let session = fit(meta.get("id").and_then(text_of))?.into_owned();
    Some(Identity { session, parent: parent(&meta).map(|parent| parent.into_owned()) })
}

/// The parent that a session names.
pub(super) fn parent<'a>(meta: &Fields<'a>) -> Option<crate::fact::Text<'a>> {
    let inner = |fields: &Fields<'a>, key: &str| Fields::parse(fields.get(key)?.get()).ok();
    let spawned = inner(meta, "source").and_then(|source| inner(&source, "subagent")).and_then(|agent| inner(&agent, "thread_spawn"));
    let spawned = spawned.and_then(|spawn| spawn.get("parent_thread_id").and_then(text_of));
    fit(spawned.or_else(|| ["parent_thread_id", "forked_from_id"].iter().find_map(|key| meta.get(key).and_then(text_of))))
}
