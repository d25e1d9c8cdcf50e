//! State and activity documents.

use serde_json::value::RawValue;

use super::super::name::Name;
use super::super::order::Owned;
use super::{Decoder, Incoming, Own};
use crate::adapter::fields::{Bad, Fields, list_of, text_of};
use crate::event::Owner;
use crate::fact::{DocumentPatched, DocumentSet, Fact, Json, PartKind, PartOpened, Text};
use crate::state::is_pointer;

/// Name of the state document.
pub(super) const STATE: &str = "state";
/// Prefix of the names of activity documents.
pub(super) const ACTIVITY: &str = "activity:";

impl Decoder {
    pub(super) fn document<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        match event.name {
            Name::StateSnapshot => {
                let value = Json::raw(event.fields.required("snapshot")?);
                self.before(event, own);
                let set = DocumentSet { document: Text::Borrowed(STATE), value, replace: true };
                own.fact(Fact::DocumentSet(set), Owner::RUNTIME);
                Ok(())
            }
            Name::StateDelta => {
                let patch = operations("delta", event.fields.required("delta")?)?;
                self.before(event, own);
                own.fact(Fact::DocumentPatched(DocumentPatched { document: Text::Borrowed(STATE), patch }), Owner::RUNTIME);
                Ok(())
            }
            Name::ActivitySnapshot => self.activity_snapshot(event, own),
            _ => self.activity_delta(event, own),
        }
    }

    fn activity_snapshot<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let id = event.fields.text("messageId")?;
        let subtype = event.fields.text("activityType")?;
        let content = event.fields.object_if("content")?.ok_or_else(|| Bad::new("content", "an object"))?;
        let replace = match event.fields.some("replace").map(RawValue::get) {
            None | Some("true") => true,
            Some("false") => false,
            Some(_) => return Err(Bad::new("replace", "true or false")),
        };
        let agent = event.agent(own);
        own.note(self.order.gate(event.name));
        self.order.activity(&id, replace, agent.as_deref());
        let known = self.activities.contains_key(id.as_ref());
        if !replace && !known && self.knows_message(&id) {
            return Ok(());
        }
        let states = replace || !known;
        if states {
            self.activities.insert(id.to_string(), subtype.to_string());
        }
        let metadata = event.metadata(own);
        let (subtype, agent) = if states { (Some(subtype), agent) } else { (None, None) };
        own.fact(opened(&id, subtype, agent, metadata), Owner::RUNTIME);
        let set = DocumentSet { document: Text::Owned(format!("{ACTIVITY}{id}")), value: content, replace };
        own.fact(Fact::DocumentSet(set), Owner::RUNTIME);
        Ok(())
    }

    fn activity_delta<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let id = event.fields.text("messageId")?;
        let subtype = event.fields.text("activityType")?;
        let patch = operations("patch", event.fields.required("patch")?)?;
        let agent = event.agent(own);
        own.note(self.order.gate(event.name));
        own.note(self.order.touches(Owned::Activity, &id, agent.as_deref()));
        let metadata = event.metadata(own);
        if let Some(known) = self.activities.get_mut(id.as_ref()) {
            let retyped = known.as_str() != subtype.as_ref();
            if retyped {
                subtype.as_ref().clone_into(known);
            }
            if retyped || metadata.is_some() {
                own.fact(opened(&id, retyped.then_some(subtype), None, metadata), Owner::RUNTIME);
            }
        }
        own.fact(Fact::DocumentPatched(DocumentPatched { document: Text::Owned(format!("{ACTIVITY}{id}")), patch }), Owner::RUNTIME);
        Ok(())
    }
}

fn opened<'a>(id: &Text<'a>, subtype: Option<Text<'a>>, agent: Option<Text<'a>>, metadata: Option<Json<'a>>) -> Fact<'a> {
    Fact::PartOpened(PartOpened {
        part: id.clone(),
        message: id.clone(),
        kind: PartKind::Activity,
        role: Text::Borrowed("activity"),
        name: None,
        turn: None,
        agent,
        subtype,
        content: None,
        metadata,
    })
}

/// A patch whose operations have the right form; operations of unknown kinds are left out.
fn operations<'a>(path: &str, raw: &'a RawValue) -> Result<Json<'a>, Bad> {
    let list = list_of(raw).ok_or_else(|| Bad::new(path, "an array"))?;
    let mut kept = Vec::with_capacity(list.len());
    for (index, raw) in list.iter().enumerate() {
        let at = format!("{path}[{index}]");
        if is_operation(&at, raw)? {
            kept.push(raw.get());
        }
    }
    if kept.len() == list.len() { Ok(Json::raw(raw)) } else { Ok(Json::built(format!("[{}]", kept.join(",")))) }
}

fn is_operation(at: &str, raw: &RawValue) -> Result<bool, Bad> {
    let operation = Fields::of(at, raw)?;
    let pointer = |key: &str| match operation.get(key).and_then(text_of) {
        Some(text) if is_pointer(&text) => Ok(()),
        _ => Err(Bad::new(key, "a JSON pointer").under(at)),
    };
    match operation.get("op").and_then(text_of).as_deref() {
        Some("add" | "replace" | "test") => {
            operation.required("value").map_err(|bad| bad.under(at))?;
        }
        Some("move" | "copy") => pointer("from")?,
        Some("remove") => {}
        _ => return Ok(false),
    }
    pointer("path").map(|()| true)
}
