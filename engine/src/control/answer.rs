//! A person's decision on what an agent asked.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::schema::{Misfit, check};
use super::{Permit, Refused, Said};
use crate::fact::{Json, Text};
use crate::state::InteractionStatus;
use crate::time::UnixMillis;
use crate::view::{Expiry, InteractionItem, View};

/// What somebody decided. The same id with the same content is the same decision, however often it is made.
#[derive(Clone, Debug)]
pub struct Decision<'a> {
    id: Text<'a>,
    cancels: bool,
    action: Option<Text<'a>>,
    response: Option<Json<'a>>,
}

impl<'a> Decision<'a> {
    /// Chooses one of the request's actions.
    pub fn action(id: impl Into<Text<'a>>, action: impl Into<Text<'a>>) -> Self {
        Self { id: id.into(), cancels: false, action: Some(action.into()), response: None }
    }

    /// Responds without choosing an action.
    pub fn response(id: impl Into<Text<'a>>, response: Json<'a>) -> Self {
        Self { id: id.into(), cancels: false, action: None, response: Some(response) }
    }

    /// Declines to answer.
    pub fn cancel(id: impl Into<Text<'a>>) -> Self {
        Self { id: id.into(), cancels: true, action: None, response: None }
    }

    /// Adds a response to a chosen action.
    #[must_use]
    pub fn with_response(mut self, response: Json<'a>) -> Self {
        self.response = Some(response);
        self
    }

    fn resolution(&self) -> &'static str {
        if self.cancels { "cancelled" } else { "resolved" }
    }

    /// Everything it says, as the owner is to be told.
    fn detail(&self) -> Result<Json<'static>, Refused> {
        #[derive(Serialize)]
        struct Detail<'d> {
            #[serde(rename = "decisionId")]
            decision: &'d str,
            status: &'static str,
            #[serde(rename = "actionId", skip_serializing_if = "Option::is_none")]
            action: Option<&'d str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            response: Option<&'d RawValue>,
        }
        let bad = |error: serde_json::Error| Refused::ResponseInvalid { errors: vec![error.to_string()] };
        let response = self.response.as_ref().map(|response| serde_json::from_str(response.as_str())).transpose().map_err(bad)?;
        let detail = Detail { decision: &self.id, status: self.resolution(), action: self.action.as_deref(), response };
        Ok(Json::built(serde_json::to_string(&detail).map_err(bad)?))
    }

    /// Whether a decision that stands under the same id may be this one: what it says is what this one says.
    fn is(&self, standing: &Standing) -> bool {
        let said: BTreeMap<String, Value> =
            standing.payload.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let action = said.get("actionId").is_none_or(|action| action.as_str() == self.action.as_deref());
        let response = said.get("response").is_none_or(|said| {
            let own = self.response.as_ref().and_then(|response| response.value().ok());
            own.as_ref().map_or(said.is_null(), |own| own == said)
        });
        action && response && standing.resolution == self.resolution()
    }
}

/// An interaction as it is read for a decision.
struct Asked {
    status: InteractionStatus,
    expiry: Expiry,
    request: Option<Said>,
    interrupt: Option<Said>,
    decision: Option<(Standing, Option<Said>)>,
}

/// The decision that stands.
struct Standing {
    id: Option<String>,
    resolution: String,
    payload: Option<String>,
}

impl Asked {
    fn of(asked: InteractionItem<'_>) -> Self {
        let decision = asked.decision().map(|decision| {
            let standing = Standing { id: decision.id().map(str::to_owned), resolution: decision.resolution().to_owned(), payload: None };
            (standing, decision.payload().map(Said::of))
        });
        Self {
            status: asked.status(),
            expiry: asked.expiry(),
            request: asked.request().map(Said::of),
            interrupt: asked.interrupt().map(Said::of),
            decision,
        }
    }
}

/// What a request says about its answers. What does not read says nothing.
#[derive(Default)]
struct Terms {
    schema: Option<String>,
    actions: Option<Vec<String>>,
    explicit: bool,
}

impl Terms {
    /// Of the request and the interrupt: what the request leaves open the interrupt may say.
    fn of(statements: &[String]) -> Self {
        let mut terms = Self::default();
        for statement in statements {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(statement).unwrap_or_default();
            let stated = |key: &str| fields.get(key).map(|raw| raw.get()).filter(|raw| *raw != "null");
            let value = |key: &str| stated(key).and_then(|raw| serde_json::from_str::<Value>(raw).ok());
            terms.schema = terms.schema.or_else(|| stated("responseSchema").map(str::to_owned));
            terms.actions = terms.actions.or_else(|| {
                let actions = value("actions")?;
                Some(actions.as_array()?.iter().filter_map(|action| Some(action.get("id")?.as_str()?.to_owned())).collect())
            });
            terms.explicit |= value("policy").is_some_and(|policy| policy.get("requiresExplicitResponse") == Some(&Value::Bool(true)));
        }
        terms
    }

    fn check(&self, decision: &Decision<'_>) -> Result<(), Refused> {
        if let (Some(action), Some(offered)) = (&decision.action, self.actions.as_ref().filter(|offered| !offered.is_empty()))
            && !offered.iter().any(|id| id == action)
        {
            return Err(Refused::ActionUnknown { action: action.to_string(), offered: offered.clone() });
        }
        match (&decision.response, &self.schema) {
            (Some(response), Some(schema)) => check(schema, response.as_str()).map_err(|misfit| match misfit {
                Misfit::Schema(reason) => Refused::SchemaUnusable { reason },
                Misfit::Response(errors) => Refused::ResponseInvalid { errors },
            }),
            (None, schema) if decision.action.is_none() && (schema.is_some() || self.explicit) => Err(Refused::ResponseMissing),
            _ => Ok(()),
        }
    }
}

/// Whether a decision may be sent to the owner of an interaction, and how to record that. Source: `protocols.md`, section 3.6.
///
/// `now` is the caller's time, by which expiry is judged; one whose expiry cannot be read does not expire here. A cancellation needs no
/// response and comes in time always. The same decision asked about again gives the same permit, and [`super::Standing::Done`] once its
/// owner has taken it. The interaction itself is resolved by its owner's fact alone; a host whose protocol has none states
/// [`crate::fact::InteractionResolved`] itself when the write is confirmed.
///
/// Cost: three rows, the request, and the check of the response, which is bounded by [`crate::limits`].
///
/// # Errors
/// See [`Refused`]: unknown, decided otherwise, withdrawn, expired, an action that is not offered, a response that is missing or does not
/// fit, a schema that is of no use.
pub fn answer(view: &View, session: &str, interaction: &str, decision: &Decision<'_>, now: UnixMillis) -> Result<Permit, Refused> {
    if decision.id.is_empty() {
        return Err(Refused::Unnamed { what: "decision" });
    }
    let asked = view.interaction(session, interaction, Asked::of)?;
    let asked = asked.ok_or_else(|| Refused::Unknown { what: "interaction", id: interaction.to_owned() })?;
    let permit = Permit::new("respond", interaction, &decision.id, decision.detail()?);
    match asked.status {
        InteractionStatus::Resolved => decided(view, interaction, decision, asked).map(|()| permit.done()),
        InteractionStatus::Withdrawn => Err(Refused::Withdrawn { interaction: interaction.to_owned() }),
        InteractionStatus::Pending if decision.cancels => permit.standing_in(view, session),
        InteractionStatus::Pending => {
            // What was recorded as attempted in time is sent again, however late it is.
            let permit = permit.standing_in(view, session)?;
            if !permit.standing().is_new() {
                return Ok(permit);
            }
            if let Expiry::At(at) = asked.expiry
                && asked.expiry.is_past(now)
            {
                return Err(Refused::Expired { interaction: interaction.to_owned(), at });
            }
            let statements = [asked.request, asked.interrupt].into_iter().flatten().map(|said| said.whole(view));
            Terms::of(&statements.collect::<Result<Vec<_>, _>>()?).check(decision)?;
            Ok(permit)
        }
    }
}

/// Whether the decision that stands is this one.
fn decided(view: &View, interaction: &str, decision: &Decision<'_>, asked: Asked) -> Result<(), Refused> {
    let (mut standing, payload) = asked.decision.unwrap_or((Standing { id: None, resolution: "resolved".to_owned(), payload: None }, None));
    if standing.id.as_deref() != Some(&*decision.id) {
        let (by, resolution) = (standing.id, standing.resolution);
        return Err(Refused::AlreadyResolved { interaction: interaction.to_owned(), by, resolution });
    }
    standing.payload = payload.map(|said| said.whole(view)).transpose()?;
    if decision.is(&standing) { Ok(()) } else { Err(Refused::KeyReused { key: decision.id.to_string() }) }
}
