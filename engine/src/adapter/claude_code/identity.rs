//! Whose transcript a file is, by what it says itself.

use super::super::fields::{Fields, text_of};
use super::super::line::fit;

/// The session of a transcript, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Session id. That of a subagent is its parent's with `/agent-ID` behind it: the host gives it none of its own.
    pub session: String,
    /// The session that started it.
    pub parent: Option<String>,
    /// The subagent's id within its parent, as results of its parent name it.
    pub agent: Option<String>,
}

/// What one line says of whose transcript it stands in; the first line that says something decides. `None`: this one does not.
/// The name of a file says nothing: files are copied and renamed.
pub fn identity(line: &str) -> Option<Identity> {
    let fields = Fields::parse(line).ok()?;
    let text = |key: &str| fit(fields.get(key).and_then(text_of)).map(|text| text.into_owned());
    let session = text("sessionId")?;
    match text("agentId").filter(|_| fields.get("isSidechain").is_some_and(|raw| raw.get() == "true")) {
        Some(agent) => Some(Identity { session: format!("{session}/agent-{agent}"), parent: Some(session), agent: Some(agent) }),
        None => Some(Identity { session, parent: None, agent: None }),
    }
}
