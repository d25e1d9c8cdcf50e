//! What an agent asks of the workspace, against what the host can do.
//!
//! **Invariant:** the judgement is of what was stated: a list of capabilities that was not stated restricts nothing, an empty one allows
//! nothing. The host may still refuse what is accepted here; its policy is its own.

use serde_json::{Value, json};

use super::{Refused, content};
use crate::fact::{Fact, Json, Text, WorkspaceChanged, WorkspaceOp};
use crate::state::{Content, Intent};
use crate::view::View;

/// What is to become of an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Judgement {
    /// The host can do it.
    Accept {
        /// The open surface that it uses again, when its reuse key names one that says its id.
        reuses: Option<String>,
    },
    /// The host cannot do it.
    Reject(Unfit),
    /// It has a result already, which stands: accepted, rejected, completed or failed.
    Answered {
        /// Its status.
        status: String,
    },
}

/// Why the host cannot do what an intent asks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// The host has not stated its capabilities.
    #[error("the host has not stated its capabilities")]
    CapabilitiesUnknown,
    /// The intent is no object, or a field of it has the wrong type.
    #[error("the intent's {field} does not read")]
    Malformed {
        /// The field.
        field: &'static str,
    },
    /// Not a version that the host speaks.
    #[error("protocol version {asked:?} is not supported")]
    ProtocolVersion {
        /// What was asked for.
        asked: String,
    },
    /// Not something that can be asked of a workspace.
    #[error("intent type {asked:?} is not supported")]
    Type {
        /// What was asked for.
        asked: String,
    },
    /// Not a kind of view that the host has.
    #[error("view kind {asked:?} is not supported")]
    ViewKind {
        /// What was asked for.
        asked: String,
    },
    /// Not a region that the host has.
    #[error("region {asked:?} is not supported")]
    Region {
        /// What was asked for.
        asked: String,
    },
    /// Not a mode that the host has.
    #[error("mode {asked:?} is not supported")]
    Mode {
        /// What was asked for.
        asked: String,
    },
    /// As many surfaces are open as the host allows.
    #[error("{open} surfaces are open, of at most {open_max}")]
    TooManySurfaces {
        /// How many are open.
        open: u64,
        /// How many may be.
        open_max: u64,
    },
}

impl Unfit {
    /// A stable word for the reason.
    pub fn code(&self) -> &'static str {
        match self {
            Self::CapabilitiesUnknown => "capabilities_unknown",
            Self::Malformed { .. } => "intent_malformed",
            Self::ProtocolVersion { .. } => "protocol_version_unsupported",
            Self::Type { .. } => "intent_type_unsupported",
            Self::ViewKind { .. } => "view_kind_unsupported",
            Self::Region { .. } => "region_unsupported",
            Self::Mode { .. } => "mode_unsupported",
            Self::TooManySurfaces { .. } => "too_many_surfaces",
        }
    }
}

impl Judgement {
    /// The result to append and to send; `None` when the intent has one.
    pub fn result(&self, intent: &str) -> Option<Fact<'static>> {
        let body = match self {
            Self::Accept { reuses: None } => json!({"intentId": intent, "status": "accepted"}),
            Self::Accept { reuses: Some(surface) } => json!({"intentId": intent, "status": "accepted", "surfaceId": surface}),
            Self::Reject(unfit) => {
                json!({"intentId": intent, "status": "rejected", "reason": unfit.code(), "message": unfit.to_string()})
            }
            Self::Answered { .. } => return None,
        };
        let op = WorkspaceOp::IntentResult;
        Some(Fact::WorkspaceChanged(WorkspaceChanged { op, intent: Some(Text::Owned(intent.to_owned())), body: Json::of(&body) }))
    }
}

/// What is to become of an intent, by the capabilities that the host stated. Source: `protocols.md`, section 3.7.
///
/// Surfaces are counted from the newest stated state of the workspace, with what was accepted and is on its way; without such a state, from
/// the intents that opened and dismissed them. A surface of the same reuse key is used again and takes no new place.
///
/// Cost: three rows; for an intent that opens something, the intents of the session, page by page.
///
/// # Errors
/// [`Refused::Unknown`] for an intent that the session does not have; [`Refused::Read`].
pub fn judge_intent(view: &View, session: &str, intent: &str) -> Result<Judgement, Refused> {
    let asked = view.intent(session, intent)?.ok_or_else(|| Refused::Unknown { what: "intent", id: intent.to_owned() })?;
    if asked.status != "requested" {
        return Ok(Judgement::Answered { status: asked.status });
    }
    let workspace = view.workspace(session)?.unwrap_or_default();
    let read = |value: Option<&Content>| -> Result<Value, Refused> {
        let text = value.map(|value| content(view, session, value)).transpose()?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    };
    let body = read(asked.body.as_deref())?;
    let capabilities = read(workspace.capabilities.as_deref())?;
    if let Err(unfit) = fits(&body, &capabilities) {
        return Ok(Judgement::Reject(unfit));
    }
    let (key, open_max) = (word(&body, "reuseKey"), capabilities.get("maxOpenSurfaces").and_then(Value::as_u64));
    if verb(&body) != Some(Verb::Open) || (key.is_none() && open_max.is_none()) {
        return Ok(Judgement::Accept { reuses: None });
    }
    let state = read(workspace.state.as_deref())?;
    let mut open = Open::of_state(&state);
    for earlier in view.intents(session)? {
        let earlier = earlier?;
        if earlier.id != intent {
            open.take(&earlier);
        }
    }
    Ok(open.place(key, open_max))
}

/// What an intent does to surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Open,
    Dismiss,
    Other,
}

/// The verb that ends an intent's type; one without a type opens, as the plainest request does.
fn verb(intent: &Value) -> Option<Verb> {
    let Some(stated) = word(intent, "type") else { return Some(Verb::Open) };
    match stated.rsplit('.').next()? {
        "present" | "open" | "attach" => Some(Verb::Open),
        "dismiss" => Some(Verb::Dismiss),
        "focus" | "resize" => Some(Verb::Other),
        _ => None,
    }
}

fn word<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// A text that may be absent.
fn stated<'v>(value: &'v Value, key: &'static str) -> Result<Option<&'v str>, Unfit> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Unfit::Malformed { field: key }),
    }
}

/// Whether the capabilities list it, if they list such things at all.
fn listed(capabilities: &Value, key: &str, asked: &str) -> bool {
    match capabilities.get(key) {
        None | Some(Value::Null) => true,
        Some(list) => list.as_array().is_some_and(|list| list.iter().any(|one| one.as_str() == Some(asked))),
    }
}

/// Whether what the intent names is among what the host has.
fn fits(intent: &Value, capabilities: &Value) -> Result<(), Unfit> {
    if !capabilities.is_object() {
        return Err(Unfit::CapabilitiesUnknown);
    }
    if !intent.is_object() {
        return Err(Unfit::Malformed { field: "body" });
    }
    let asked = stated(intent, "type")?.unwrap_or_default();
    verb(intent).ok_or_else(|| Unfit::Type { asked: asked.to_owned() })?;
    let presentation = match intent.get("presentation") {
        None | Some(Value::Null) => &Value::Null,
        Some(object) if object.is_object() => object,
        Some(_) => return Err(Unfit::Malformed { field: "presentation" }),
    };
    stated(intent, "reuseKey")?;
    type Told = fn(String) -> Unfit;
    let asks: [(&Value, &'static str, &str, Told); 4] = [
        (intent, "protocolVersion", "protocolVersions", |asked| Unfit::ProtocolVersion { asked }),
        (intent, "viewKind", "viewKinds", |asked| Unfit::ViewKind { asked }),
        (presentation, "region", "regions", |asked| Unfit::Region { asked }),
        (presentation, "mode", "modes", |asked| Unfit::Mode { asked }),
    ];
    for (of, key, list, unfit) in asks {
        if let Some(asked) = stated(of, key)?.filter(|asked| !listed(capabilities, list, asked)) {
            return Err(unfit(asked.to_owned()));
        }
    }
    Ok(())
}

/// The surfaces that are open: their ids and reuse keys, as far as they are said.
#[derive(Debug, Default)]
struct Open {
    surfaces: Vec<(Option<String>, Option<String>)>,
    /// A state was stated: what is completed is in it.
    of_state: bool,
}

impl Open {
    /// Of a workspace's state: a list of surfaces, or surfaces by their id.
    fn of_state(state: &Value) -> Self {
        let inner = state.get("snapshot").filter(|inner| inner.is_object()).unwrap_or(state);
        let Some(stated) = ["openSurfaces", "surfaces"].iter().find_map(|key| inner.get(*key)) else { return Self::default() };
        let owned = |value: &Value, key: &str| word(value, key).map(str::to_owned);
        let is_open = |surface: &&Value| !["status", "state"].iter().any(|key| matches!(word(surface, key), Some("closed" | "dismissed")));
        let of = |surface: &Value| {
            let id = surface.as_str().map(str::to_owned).or_else(|| owned(surface, "surfaceId")).or_else(|| owned(surface, "id"));
            (id, owned(surface, "reuseKey"))
        };
        let surfaces = match stated {
            Value::Array(list) => list.iter().filter(is_open).map(of).collect(),
            Value::Object(by_id) => by_id
                .iter()
                .filter(|(_, surface)| is_open(surface))
                .map(|(id, surface)| (Some(id.clone()), owned(surface, "reuseKey")))
                .collect(),
            _ => return Self::default(),
        };
        Self { surfaces, of_state: true }
    }

    /// Takes in an intent that was asked before, or beside.
    fn take(&mut self, intent: &Intent) {
        let parsed = |value: &Option<Box<Content>>| -> Value {
            value.as_ref().and_then(|value| serde_json::from_str(value.shown()).ok()).unwrap_or_default()
        };
        let (body, result) = (parsed(&intent.body), parsed(&intent.result));
        let counts = intent.status == "accepted" || (intent.status == "completed" && !self.of_state);
        match verb(&body).filter(|_| counts) {
            Some(Verb::Open) => {
                let surface = [&result, &body].iter().find_map(|value| word(value, "surfaceId")).map(str::to_owned);
                let key = word(&body, "reuseKey").map(str::to_owned);
                let same = |(id, known): &(Option<String>, Option<String>)| {
                    (surface.is_some() && *id == surface) || (key.is_some() && *known == key)
                };
                match self.surfaces.iter_mut().find(|known| same(known)) {
                    Some(known) => known.0 = surface.or(known.0.take()),
                    None => self.surfaces.push((surface, key)),
                }
            }
            Some(Verb::Dismiss) if intent.status == "completed" => {
                let gone = word(&body, "surfaceId");
                self.surfaces.retain(|(id, _)| gone.is_none() || id.as_deref() != gone);
            }
            _ => {}
        }
    }

    /// A place for one more, or for one of the same key.
    fn place(self, key: Option<&str>, open_max: Option<u64>) -> Judgement {
        if let Some((id, _)) = self.surfaces.iter().find(|(_, known)| key.is_some() && known.as_deref() == key) {
            return Judgement::Accept { reuses: id.clone() };
        }
        let open = self.surfaces.len() as u64;
        match open_max.filter(|open_max| open >= *open_max) {
            Some(open_max) => Judgement::Reject(Unfit::TooManySurfaces { open, open_max }),
            None => Judgement::Accept { reuses: None },
        }
    }
}
