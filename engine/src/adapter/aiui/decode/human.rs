//! Questions to people, workspace and surface events, and everything that passes through.

use super::super::code;
use super::super::name::Name;
use super::super::order::Note;
use super::{Decoder, Incoming, Own};
use crate::adapter::fields::{Bad, Fields, text_of, write_object};
use crate::event::Owner;
use crate::fact::{
    Fact, InteractionRequested, InteractionResolved, Json, Resolution, SurfaceChanged, SurfaceOp, Text, WorkspaceChanged, WorkspaceOp,
};

pub(super) fn human_input<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
    match event.name {
        Name::HumanInputRequested => requested(event, own),
        Name::HumanInputResolved => resolved(event, own),
        _ => {
            interruption(event, own);
            Ok(())
        }
    }
}

fn requested<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
    let inner = event.fields.some("request").map(|raw| Ok::<_, Bad>((Fields::of("request", raw)?, Json::raw(raw)))).transpose()?;
    let (fields, request) = match inner {
        Some((fields, request)) => (fields, request),
        None => {
            (event.fields.clone(), rest(event.fields, &["type", "timestamp", "rawEvent"]).unwrap_or_else(|| Json::built("{}".to_owned())))
        }
    };
    let text = |key: &str| fields.some(key).and_then(text_of);
    let asked = InteractionRequested {
        interaction: fields.text("requestId")?,
        kind: text("kind").unwrap_or(Text::Borrowed("input")),
        request: Some(request),
        interrupt: None,
        turn: asking_turn(&fields),
        tool: text("toolCallId"),
        expires_at: expiry(&fields),
    };
    own.fact(Fact::InteractionRequested(asked), Owner::RUNTIME);
    Ok(())
}

/// The turn that asks. Its run names it in this protocol, whose runs need no turn id; so the end of the run is the end of the asking.
fn asking_turn<'a>(fields: &Fields<'a>) -> Option<Text<'a>> {
    ["runId", "turnId"].iter().find_map(|key| fields.some(key).and_then(text_of))
}

/// When a question expires, verbatim: a text or a number.
pub(super) fn expiry<'a>(fields: &Fields<'a>) -> Option<Text<'a>> {
    let raw = fields.some("expiresAt")?;
    text_of(raw).or_else(|| raw.get().starts_with(|first: char| first.is_ascii_digit()).then(|| Text::Borrowed(raw.get())))
}

/// A question under an older name. One without an id is kept as it came: nothing could ever answer it.
fn interruption<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) {
    let fields = event.fields;
    let text = |key: &str| fields.some(key).and_then(text_of);
    let Some(interaction) = INTERRUPTION_IDS.iter().find_map(|key| text(key)) else { return };
    let asked = InteractionRequested {
        interaction,
        kind: text("kind").or_else(|| text("reason")).unwrap_or(Text::Borrowed("interrupt")),
        request: rest(fields, OF_EVENTS),
        interrupt: None,
        turn: asking_turn(fields),
        tool: text("toolCallId"),
        expires_at: expiry(fields),
    };
    own.fact(Fact::InteractionRequested(asked), Owner::RUNTIME);
}

/// Where an interruption may have its id.
const INTERRUPTION_IDS: [&str; 4] = ["interruptId", "interruptionId", "requestId", "id"];
/// Fields of any event, which are not what it asks.
const OF_EVENTS: &[&str] = &["type", "timestamp", "rawEvent", "metadata"];

fn resolved<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
    let fields = event.fields;
    let resolution = match event.text_or_none("status", own).as_deref() {
        Some("cancelled") => Resolution::Cancelled,
        Some("expired") => Resolution::Expired,
        _ => Resolution::Resolved,
    };
    let resolved = InteractionResolved {
        interaction: fields.text("requestId")?,
        decision: event.text_or_none("decisionId", own),
        resolution,
        payload: rest(fields, &["type", "requestId", "decisionId", "receipt", "timestamp", "rawEvent", "metadata"]),
        receipt: fields.some("receipt").map(Json::raw),
    };
    own.fact(Fact::InteractionResolved(resolved), Owner::ACTION);
    Ok(())
}

/// The fields but these, as an object; `None` when there are none.
fn rest(fields: &Fields<'_>, but: &[&str]) -> Option<Json<'static>> {
    let rest: Vec<_> = fields.iter().filter(|(key, _)| !but.contains(key)).map(|(key, raw)| (key, raw.get())).collect();
    (!rest.is_empty()).then(|| Json::built(write_object(rest)))
}

/// A workspace or surface event by its dotted name.
fn of_name<'a>(name: &str, fields: &Fields<'a>, body: Json<'a>) -> Option<Fact<'a>> {
    let op = match name {
        "aiui.workspace.capabilities" => WorkspaceOp::Capabilities,
        "aiui.workspace.intent" => WorkspaceOp::Intent,
        "aiui.workspace.intent.result" => WorkspaceOp::IntentResult,
        "aiui.workspace.state" => WorkspaceOp::State,
        _ => return surface(name, fields, body),
    };
    let intent = fields.some("intentId").and_then(text_of);
    if intent.is_none() && matches!(op, WorkspaceOp::Intent | WorkspaceOp::IntentResult) {
        return None;
    }
    Some(Fact::WorkspaceChanged(WorkspaceChanged { op, intent, body }))
}

fn surface<'a>(name: &str, fields: &Fields<'a>, body: Json<'a>) -> Option<Fact<'a>> {
    let op = match name {
        "surface.create" => SurfaceOp::Create,
        "surface.patch" => SurfaceOp::Patch,
        "surface.close" => SurfaceOp::Close,
        _ => return None,
    };
    let sequence = fields.some("sequence").and_then(|raw| raw.get().parse().ok());
    Some(Fact::SurfaceChanged(SurfaceChanged { surface: fields.some("surfaceId").and_then(text_of)?, op, sequence, body }))
}

/// An event whose type is a dotted name itself.
pub(super) fn dotted<'a>(name: &str, fields: &Fields<'a>) -> Option<Fact<'a>> {
    if !is_dotted(name) {
        return None;
    }
    of_name(name, fields, rest(fields, OF_EVENTS)?)
}

/// Who states it: an agent asks of the workspace and draws surfaces, the host says what became of that.
pub(super) fn owner_of(fact: &Fact<'_>) -> Owner {
    match fact {
        Fact::WorkspaceChanged(changed) if changed.op != WorkspaceOp::Intent => Owner::HOST,
        _ => Owner::RUNTIME,
    }
}

/// Whether a name speaks of the workspace or of surfaces.
pub(in crate::adapter::aiui) fn is_dotted(name: &str) -> bool {
    name.starts_with("aiui.workspace.") || name.starts_with("surface.")
}

impl Decoder {
    pub(super) fn custom<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        if event.name == Name::Raw {
            event.fields.required("event")?;
            event.agent(own);
            own.note(self.order.gate(event.name));
            return Ok(());
        }
        let name = event.fields.text("name")?;
        let value = event.fields.required("value")?;
        if !is_dotted(&name) {
            self.before(event, own);
            return Ok(());
        }
        let fact = Fields::parse(value.get()).ok().and_then(|fields| of_name(&name, &fields, Json::raw(value)));
        match fact {
            Some(fact) => {
                let owner = owner_of(&fact);
                own.fact(fact, owner);
            }
            None => own.note(Some(Note::new(code::UNKNOWN_EVENT, name))),
        }
        Ok(())
    }
}
