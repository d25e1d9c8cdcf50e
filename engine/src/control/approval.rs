//! Whether an action that nobody can take back was approved by somebody.
//!
//! **Invariant:** what is not plainly an approval is none: a decision that does not say so, one of another action, one that is disputed.

use serde_json::Value;

use super::{Refused, Said};
use crate::event::{Protocol, Stated};
use crate::fact::{Fact, WriteChanged, WriteOp};
use crate::state::InteractionStatus;
use crate::view::View;

/// Words that approve, as actions, intents and decisions spell them.
const APPROVING: [&str; 8] = ["approve", "approved", "accept", "accepted", "allow", "allowed", "confirm", "confirmed"];

fn approves(word: &str) -> bool {
    APPROVING.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether a host is about to record an action that nobody can take back, and names no approval. What other protocols say is data.
pub(crate) fn is_missing(stated: &Stated<'_>) -> bool {
    let Fact::WriteChanged(WriteChanged { op: WriteOp::Attempted { detail: Some(detail), .. }, .. }) = &stated.fact else { return false };
    let own = stated.source.protocol == Protocol::HOST && ["irreversible", "always"].iter().any(|word| detail.as_str().contains(word));
    own && detail.value().is_ok_and(|attempt| is_needed(&attempt) && attempt.get("approval").and_then(Value::as_str).is_none())
}

/// Whether what was recorded of an attempt says that it must be approved.
pub(crate) fn is_needed(attempt: &Value) -> bool {
    let policy = attempt.get("policy").unwrap_or(&Value::Null);
    let is = |key: &str, word: &str| policy.get(key).and_then(Value::as_str) == Some(word);
    is("approval", "always") || is("effect", "external") && is("reversibility", "irreversible")
}

/// An interaction as it is read for an approval.
struct Asked {
    decided: bool,
    disputed: bool,
    tool: Option<String>,
    request: Option<Said>,
    payload: Option<Said>,
}

/// Whether an interaction approved to act on `target`.
pub(super) fn approved(view: &View, session: &str, approval: Option<&str>, target: &str) -> Result<(), Refused> {
    let no = |reason: &'static str| Refused::NotApproved { approval: approval.map(str::to_owned), reason };
    let id = approval.ok_or_else(|| no("it names no approval"))?;
    let asked = view.interaction(session, id, |asked| Asked {
        decided: asked.status() == InteractionStatus::Resolved && asked.decision().is_some_and(|of| of.resolution() == "resolved"),
        disputed: asked.conflicts_count() > 0,
        tool: asked.tool().map(str::to_owned),
        request: asked.request().or_else(|| asked.interrupt()).map(Said::of),
        payload: asked.decision().and_then(|decision| decision.payload()).map(Said::of),
    })?;
    let asked = asked.ok_or_else(|| no("the session has no such interaction"))?;
    if !asked.decided {
        return Err(no("it is not answered"));
    }
    if asked.disputed {
        return Err(no("its decision is disputed"));
    }
    let read = |said: Option<Said>| -> Result<Value, Refused> {
        let text = said.map(|said| said.whole(view)).transpose()?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    };
    let (request, payload) = (read(asked.request)?, read(asked.payload)?);
    let subject = request.pointer("/subject/referenceId").and_then(Value::as_str);
    let about: Vec<&str> = asked.tool.as_deref().into_iter().chain(subject).collect();
    if !about.is_empty() && !about.contains(&target) {
        return Err(no("it is about something else"));
    }
    if says_yes(&request, &payload) { Ok(()) } else { Err(no("the decision does not approve")) }
}

/// Whether a decision approves: by the intent of the action that it chose, by the action's own word, or by saying so.
fn says_yes(request: &Value, payload: &Value) -> bool {
    if let Some(chosen) = payload.get("actionId").and_then(Value::as_str) {
        let offered = request.get("actions").and_then(Value::as_array).into_iter().flatten();
        let action = offered.into_iter().find(|action| action.get("id").and_then(Value::as_str) == Some(chosen));
        return approves(action.and_then(|action| action.get("intent")?.as_str()).unwrap_or(chosen));
    }
    let said = [Some(payload), payload.get("response"), payload.get("payload")];
    said.into_iter()
        .flatten()
        .any(|said| said.get("approved") == Some(&Value::Bool(true)) || said.get("decision").and_then(Value::as_str).is_some_and(approves))
}
