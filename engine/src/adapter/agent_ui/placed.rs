//! Fields that stand in the event itself or in its `payload`.
//!
//! **Invariant:** of a field in both places the one in the event counts; [`difference`] and [`unite`] keep every field's place.
//!
//! The protocol's note in residue lists the fields of the body that stand in `payload`.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::adapter::fields::{Fields, text_of, write_object};
use crate::adapter::residue::{self, ABSENT, Body, NOTE, Value, WHOLE};
use crate::fact::{Json, Text};

const PAYLOAD: &str = "payload";

/// Fields of the envelope: about the event, not about what it states. Inside `payload` the same names are ordinary fields.
const ENVELOPE: [&str; 12] = [
    "type",
    "timestamp",
    "sequence",
    "eventId",
    "owner",
    "scope",
    "phase",
    "surface",
    "persistence",
    "control",
    "rawEventRef",
    "sessionId",
];

/// The fields of one event.
pub(super) struct Placed<'a> {
    pub(super) flat: Fields<'a>,
    inside: Option<Fields<'a>>,
}

impl<'a> Placed<'a> {
    /// Reads an event. Cost: one pass over the text, two over its payload.
    pub(super) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        let flat = Fields::parse(text)?;
        let inside = flat.get(PAYLOAD).and_then(|raw| Fields::parse(raw.get()).ok());
        Ok(Self { flat, inside })
    }

    /// The payload, when it is an object.
    pub(super) fn inside(&self) -> Option<&Fields<'a>> {
        self.inside.as_ref()
    }

    /// A field of the event itself; a payload that is an object is none.
    fn get_flat(&self, key: &str) -> Option<&'a RawValue> {
        self.flat.get(key).filter(|_| key != PAYLOAD || self.inside.is_none())
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.get_flat(key).or_else(|| self.inside.as_ref()?.get(key))
    }

    /// A field that is there and not null.
    pub(super) fn some(&self, key: &str) -> Option<&'a RawValue> {
        self.get(key).filter(|raw| raw.get() != "null")
    }

    /// A string, if the field is one.
    pub(super) fn text(&self, key: &str) -> Option<Text<'a>> {
        self.get(key).and_then(text_of)
    }

    /// What the event states beyond `but`: all fields but those of the envelope.
    pub(super) fn rest(&self, but: &[&str]) -> Vec<(&str, &'a RawValue)> {
        let flat = self.flat.iter().filter(|(key, _)| !ENVELOPE.contains(key) && *key != PAYLOAD);
        let inside = self.inside.iter().flat_map(Fields::iter).filter(|(key, _)| self.get_flat(key).is_none());
        flat.chain(inside).filter(|(key, _)| !but.contains(key)).collect()
    }

    /// As [`Placed::rest`], as an object; `None` when there is nothing.
    pub(super) fn rest_object(&self, but: &[&str]) -> Option<Json<'static>> {
        let rest = self.rest(but);
        (!rest.is_empty()).then(|| object(&rest))
    }
}

/// Fields as an object.
pub(super) fn object(fields: &[(&str, &RawValue)]) -> Json<'static> {
    Json::built(write_object(fields.iter().map(|(key, raw)| (*key, raw.get()))))
}

/// What `body` does not say of the event, with the places of what it does say. Cost: proportional to the event.
pub(super) fn difference<'a>(placed: &Placed<'a>, whole: &'a str, body: &Body<'_>) -> Option<Json<'a>> {
    let Some(inside) = &placed.inside else { return residue::difference(&placed.flat, whole, body) };
    let mut moved: Vec<&str> = Vec::new();
    let mut rest: Vec<(&str, &str)> = Vec::new();
    let says = |key: &str, raw: &RawValue| body.iter().find(|(known, _)| known == key).is_some_and(|(_, value)| value.says(raw));
    for (key, raw) in inside.iter() {
        if placed.get_flat(key).is_none() && key != PAYLOAD && says(key, raw) {
            moved.push(key);
        } else {
            rest.push((key, raw.get()));
        }
    }
    let payload = write_object(rest.iter().copied());
    let moved_list = serde_json::to_string(&moved).unwrap_or_default();
    let mut residue: Vec<(&str, &str)> = Vec::new();
    for (key, raw) in placed.flat.iter().filter(|(key, _)| *key != PAYLOAD) {
        if !says(key, raw) {
            residue.push((key, raw.get()));
        }
    }
    if placed.flat.iter().any(|(key, _)| [ABSENT, WHOLE, NOTE].contains(&key)) {
        return Some(Json::built(write_object([(WHOLE, whole)])));
    }
    if moved.is_empty() || !rest.is_empty() {
        residue.push((PAYLOAD, &payload));
    }
    if !moved.is_empty() {
        residue.push((NOTE, &moved_list));
    }
    let absent = |key: &str| key != PAYLOAD && placed.get_flat(key).is_none() && !moved.contains(&key);
    let absent: Vec<&str> = body.iter().map(|(key, _)| key.as_ref()).filter(|key| absent(key)).collect();
    let absent_list = serde_json::to_string(&absent).unwrap_or_default();
    if !absent.is_empty() {
        residue.push((ABSENT, &absent_list));
    }
    Some(Json::built(write_object(residue)))
}

/// The event that `residue` was left of.
pub(super) fn unite<'f>(residue: &Fields<'_>, body: impl FnOnce() -> Option<Body<'f>>) -> Option<String> {
    let Some(moved) = residue.get(NOTE) else { return residue::unite(residue, body) };
    let moved: Vec<Text<'_>> = crate::adapter::fields::list_of(moved)?.into_iter().filter_map(text_of).collect();
    let (inside, flat): (Body<'f>, Body<'f>) = body()?.into_iter().partition(|(key, _)| moved.contains(key));
    let rest = residue.get(PAYLOAD).map(|raw| Fields::parse(raw.get())).transpose().ok()?.unwrap_or_default();
    let mut payload = inside;
    payload.extend(rest.iter().map(|(key, raw)| (Cow::Owned(key.to_owned()), Value::Json(Cow::Owned(raw.get().to_owned())))));
    let payload = Value::Json(Cow::Owned(residue::write(&payload)));
    let own: Vec<(&str, &str)> =
        residue.iter().filter(|(key, _)| *key != NOTE && *key != PAYLOAD).map(|(key, raw)| (key, raw.get())).collect();
    let own = write_object(own);
    let own = Fields::parse(&own).ok()?;
    let mut flat = flat;
    flat.retain(|(key, _)| key != PAYLOAD);
    flat.push((Cow::Borrowed(PAYLOAD), payload));
    residue::unite(&own, || Some(flat))
}
