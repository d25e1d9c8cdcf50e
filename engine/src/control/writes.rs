//! The writes that are no answer: to the runtime, the artifact service, the evidence service, the history service, and actions with effects.

use serde_json::{Value, json};

use super::approval::{approved, is_needed};
use super::{Outcome, Permit, Refused, content, settled};
use crate::error::Error;
use crate::fact::{Fact, Json};
use crate::view::{TurnRef, View};

/// A write that a host is about to make, with what it must name. Source: `protocols.md`, section 9.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Action<'a> {
    /// Sends a draft. Asks nothing of the session, which may be new.
    Send {
        /// The draft, its references and its mode, JSON.
        draft: Json<'a>,
    },
    /// Queues a draft behind what runs.
    Queue {
        /// The active run or turn; `None` means whatever runs.
        run: Option<&'a str>,
        /// The draft and its policy, JSON.
        draft: Json<'a>,
    },
    /// Steers an active run.
    Steer {
        /// Its run or turn.
        run: &'a str,
        /// Text or patch and policy, JSON.
        payload: Json<'a>,
    },
    /// Interrupts what runs.
    Interrupt {
        /// Its run or turn; `None` means the session.
        run: Option<&'a str>,
    },
    /// Edits an artifact that has an id.
    EditArtifact {
        /// Artifact id.
        artifact: &'a str,
        /// The version that was edited; `None` for one without versions.
        version: Option<&'a str>,
        /// Patch or content, JSON.
        change: Json<'a>,
    },
    /// Exports evidence.
    ExportEvidence {
        /// Run or turn; `None` means the session.
        run: Option<&'a str>,
    },
    /// Fetches history before what is here.
    OlderHistory {
        /// The cursor that the history service gave last.
        cursor: &'a str,
    },
    /// Acts on something outside.
    Act {
        /// What is done.
        name: &'a str,
        /// What it is done to.
        target: &'a str,
        /// What it entails.
        policy: Policy,
        /// The interaction that approved it.
        approval: Option<&'a str>,
    },
}

/// What an action entails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Where it has its effect.
    pub effect: Effect,
    /// Whether it can be undone.
    pub reversibility: Reversibility,
    /// When it needs approval.
    pub approval: Approval,
}

/// When an action needs approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// When it has an effect outside that cannot be undone: never less.
    WhenIrreversible,
    /// Always.
    Always,
}

/// Where an action has its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Within the host.
    Internal,
    /// Outside of it.
    External,
}

/// Whether an action can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reversibility {
    /// It can.
    Reversible,
    /// It cannot.
    Irreversible,
}

impl Policy {
    /// Whether it must not happen without approval.
    pub fn needs_approval(self) -> bool {
        self.approval == Approval::Always || self.effect == Effect::External && self.reversibility == Reversibility::Irreversible
    }

    fn json(self) -> Value {
        let effect = if self.effect == Effect::External { "external" } else { "internal" };
        let reversibility = if self.reversibility == Reversibility::Irreversible { "irreversible" } else { "reversible" };
        let mut policy = json!({"effect": effect, "reversibility": reversibility});
        if let Some(policy) = policy.as_object_mut().filter(|_| self.approval == Approval::Always) {
            policy.insert("approval".to_owned(), json!("always"));
        }
        policy
    }
}

impl Action<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Send { .. } => "send",
            Self::Queue { .. } => "queue",
            Self::Steer { .. } => "steer",
            Self::Interrupt { .. } => "interrupt",
            Self::EditArtifact { .. } => "edit_artifact",
            Self::ExportEvidence { .. } => "export_evidence",
            Self::OlderHistory { .. } => "older_history",
            Self::Act { .. } => "act",
        }
    }

    fn target<'t>(&'t self, session: &'t str) -> &'t str {
        match self {
            Self::Send { .. } => session,
            Self::Queue { run, .. } | Self::Interrupt { run } | Self::ExportEvidence { run } => run.unwrap_or(session),
            Self::Steer { run, .. } => run,
            Self::EditArtifact { artifact, .. } => artifact,
            Self::OlderHistory { cursor } => cursor,
            Self::Act { target, .. } => target,
        }
    }

    /// What is recorded beside the target. What does not read as JSON is recorded as the text that it is.
    fn detail(&self) -> Json<'static> {
        let value = |json: &Json<'_>| json.value().unwrap_or_else(|_| Value::String(json.as_str().to_owned()));
        Json::of(&match self {
            Self::Send { draft } | Self::Queue { draft, .. } => json!({"draft": value(draft)}),
            Self::Steer { payload, .. } => json!({"payload": value(payload)}),
            Self::EditArtifact { version, change, .. } => json!({"baseVersion": version, "change": value(change)}),
            Self::Interrupt { .. } | Self::ExportEvidence { .. } | Self::OlderHistory { .. } => json!({}),
            Self::Act { name, policy, approval, .. } => json!({"name": name, "policy": policy.json(), "approval": approval}),
        })
    }
}

/// Whether a write may be made, and how to record it. `key` is its idempotency key: the same key with the same action is the same write,
/// and gives the same permit.
///
/// Cost: a few rows; for an action that needs approval the request and the decision too.
///
/// # Errors
/// See [`Refused`]: what it names is unknown, does not run, is deleted or has another version; an action is not approved; the key was used
/// for something else.
pub fn permit(view: &View, session: &str, key: &str, action: &Action<'_>) -> Result<Permit, Refused> {
    let target = action.target(session);
    for (what, id) in [("key", key), ("target", target)] {
        if id.is_empty() {
            return Err(Refused::Unnamed { what });
        }
    }
    let known = view.session(session)?;
    if known.is_none() && !matches!(action, Action::Send { .. }) {
        return Err(Error::NoSession { session: session.to_owned() }.into());
    }
    let permit = Permit::new(action.name(), target, key, action.detail());
    // A write that was recorded was allowed when it was: it stands where it stands.
    let permit = if known.is_some() { permit.standing_in(view, session)? } else { permit };
    if permit.standing().is_new() {
        holds(view, session, action)?;
    }
    Ok(permit)
}

/// Whether what the action needs is so.
fn holds(view: &View, session: &str, action: &Action<'_>) -> Result<(), Refused> {
    match action {
        Action::Send { .. } => Ok(()),
        Action::Queue { run, .. } | Action::Interrupt { run } => runs(view, session, *run),
        Action::Steer { run, .. } => runs(view, session, Some(run)),
        Action::EditArtifact { artifact, version, .. } => editable(view, session, artifact, *version),
        Action::ExportEvidence { run } => match run {
            Some(run) => turn(view, session, run).map(|_| ()),
            None => Ok(()),
        },
        Action::OlderHistory { cursor } => {
            let older = view.session(session)?.and_then(|known| known.header.older);
            if older.as_deref() == Some(*cursor) { Ok(()) } else { Err(Refused::StaleCursor { newest: older }) }
        }
        Action::Act { policy, approval, target, .. } if policy.needs_approval() => approved(view, session, *approval, target),
        Action::Act { .. } => Ok(()),
    }
}

/// Id of a turn, whether it ended, and its status.
type Turn = (String, bool, String);

/// The turn that a run or turn id means.
fn turn(view: &View, session: &str, run: &str) -> Result<Turn, Refused> {
    let read = |turn: TurnRef<'_>| (turn.id().to_owned(), turn.ended(), turn.status().to_owned());
    if let Some(turn) = view.turn(session, run, read)? {
        return Ok(turn);
    }
    let current = view.current_turn(session, |turn| (turn.run() == Some(run)).then(|| read(turn)))?;
    current.flatten().ok_or_else(|| Refused::Unknown { what: "run", id: run.to_owned() })
}

/// Whether the run is active, or any is. One that a process left open which is gone may still run: its owner says so.
fn runs(view: &View, session: &str, run: Option<&str>) -> Result<(), Refused> {
    let turn = match run {
        Some(run) => Some(turn(view, session, run)?),
        None => view.current_turn(session, |turn| (turn.id().to_owned(), turn.ended(), turn.status().to_owned()))?,
    };
    match turn {
        Some((_, false, _)) => Ok(()),
        Some((turn, true, status)) => Err(Refused::NotRunning { turn: Some(turn), status }),
        None => Err(Refused::NotRunning { turn: None, status: "idle".to_owned() }),
    }
}

fn editable(view: &View, session: &str, artifact: &str, version: Option<&str>) -> Result<(), Refused> {
    let id = artifact.to_owned();
    let Some(known) = view.artifact(session, artifact)? else { return Err(Refused::Unknown { what: "artifact", id }) };
    if known.status == "deleted" {
        return Err(Refused::Deleted { artifact: id });
    }
    if known.version.as_deref() != version {
        return Err(Refused::StaleVersion { artifact: id, named: version.map(str::to_owned), current: known.version });
    }
    Ok(())
}

/// What to append when a write came back that was recorded, by its id. For writes whose permit is gone, after a restart for one.
///
/// # Errors
/// [`Refused::Unknown`] for a write that was never attempted; [`Refused::NotApproved`] for an action that needs approval, is said to be
/// done, and was not approved: then say [`Outcome::Unknown`] and tell a person.
pub fn settle(view: &View, session: &str, write: &str, outcome: Outcome, detail: Option<Json<'static>>) -> Result<Fact<'static>, Refused> {
    let known = view.write(session, write)?.filter(|known| known.action.is_some());
    let known = known.ok_or_else(|| Refused::Unknown { what: "write", id: write.to_owned() })?;
    let attempt = known.attempt.as_deref().map(|attempt| content(view, session, attempt)).transpose()?;
    let attempt: Value = attempt.and_then(|attempt| serde_json::from_str(&attempt).ok()).unwrap_or_default();
    if outcome == Outcome::Confirmed && is_needed(&attempt) {
        approved(view, session, attempt.get("approval").and_then(Value::as_str), known.target.as_deref().unwrap_or_default())?;
    }
    Ok(settled(write, outcome, detail))
}
