//! What the facts of an event do not say of it, kept beside them.
//!
//! **Invariant:** `fields of the event = body - absent + residue`, where the body is what a protocol writes of the facts alone.
//! [`difference`] makes the residue and [`unite`] undoes it, so a field that the facts do not model, or model otherwise than it was
//! written, is never lost.
//!
//! Residue is an object of fields that override the body, with reserved keys: `-` lists fields of the body that the event does not
//! have, `=` holds the whole event where the difference cannot be said, `~` is a note by which a protocol writes the body.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::fields::{Bad, Fields, Str, text_of, write_object, write_str};
use crate::fact::{Content, Json, Text};

/// Residue key for fields that the body has and the event has not.
pub(super) const ABSENT: &str = "-";
/// Residue key for the whole event.
pub(super) const WHOLE: &str = "=";
/// Residue key for what a protocol notes to itself about writing the body, such as how fields are spelled.
pub(super) const NOTE: &str = "~";

/// A field's value.
#[derive(Clone, Debug)]
pub(super) enum Value<'f> {
    Text(Cow<'f, str>),
    Json(Cow<'f, str>),
}

/// Fields that facts say, in the order of writing.
pub(super) type Body<'f> = Vec<(Cow<'f, str>, Value<'f>)>;

/// Of equal keys the first.
pub(super) fn once(body: Body<'_>) -> Body<'_> {
    let mut kept: Body<'_> = Vec::with_capacity(body.len());
    for (key, value) in body {
        if !kept.iter().any(|(known, _)| *known == key) {
            kept.push((key, value));
        }
    }
    kept
}

pub(super) fn text<'f>(key: &'f str, value: &'f str) -> (Cow<'f, str>, Value<'f>) {
    (Cow::Borrowed(key), Value::Text(Cow::Borrowed(value)))
}

pub(super) fn json<'f>(key: &'f str, value: &'f Json<'_>) -> (Cow<'f, str>, Value<'f>) {
    (Cow::Borrowed(key), Value::Json(Cow::Borrowed(value.as_str())))
}

pub(super) fn maybe<'f>(key: &'f str, value: &'f Option<Text<'_>>) -> Option<(Cow<'f, str>, Value<'f>)> {
    value.as_deref().map(|value| text(key, value))
}

pub(super) fn content<'f>(value: &'f Content<'_>) -> Value<'f> {
    match value {
        Content::Text(text) => Value::Text(Cow::Borrowed(text)),
        Content::Json(json) => Value::Json(Cow::Borrowed(json.as_str())),
    }
}

/// The fields of an object.
pub(super) fn spread<'f>(object: &'f Json<'_>) -> Body<'f> {
    let fields = Fields::parse(object.as_str()).unwrap_or_default();
    fields.iter().map(|(key, raw)| (Cow::Owned(key.to_owned()), Value::Json(Cow::Borrowed(raw.get())))).collect()
}

/// Writes fields as an object.
pub(super) fn write(fields: &[(Cow<'_, str>, Value<'_>)]) -> String {
    let texts: Vec<(&str, Cow<'_, str>)> = fields.iter().map(|(key, value)| (key.as_ref(), value.json())).collect();
    write_object(texts.iter().map(|(key, value)| (*key, value.as_ref())))
}

impl Value<'_> {
    pub(super) fn json(&self) -> Cow<'_, str> {
        match self {
            Self::Json(text) => Cow::Borrowed(text),
            Self::Text(text) => {
                let mut out = String::with_capacity(text.len() + 2);
                write_str(&mut out, text);
                Cow::Owned(out)
            }
        }
    }

    /// Whether a field of the source says exactly this.
    pub(super) fn says(&self, raw: &RawValue) -> bool {
        match self {
            Self::Text(text) => serde_json::from_str::<Str<'_>>(raw.get()).is_ok_and(|said| said.0 == *text),
            Self::Json(json) if json.as_ref() == raw.get() => true,
            Self::Json(json) => {
                let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
                value(json).is_some_and(|own| Some(own) == value(raw.get()))
            }
        }
    }
}

/// What `body` does not say of the event whose fields and text these are. Cost: proportional to the event.
pub(super) fn difference<'a>(fields: &Fields<'a>, whole: &'a str, body: &Body<'_>) -> Option<Json<'a>> {
    let mut rest: Vec<(&str, &str)> = Vec::new();
    for (key, raw) in fields.iter() {
        let said = body.iter().find(|(known, _)| known == key);
        if !said.is_some_and(|(_, value)| value.says(raw)) {
            rest.push((key, raw.get()));
        }
    }
    // Even when the body says them: read back, they would mean something else.
    if fields.iter().any(|(key, _)| [ABSENT, WHOLE, NOTE].contains(&key)) {
        return Some(Json::built(write_object([(WHOLE, whole)])));
    }
    let absent: Vec<&str> = body.iter().map(|(key, _)| key.as_ref()).filter(|key| fields.get(key).is_none()).collect();
    let list = serde_json::to_string(&absent).unwrap_or_default();
    if !absent.is_empty() {
        rest.push((ABSENT, &list));
    }
    (!rest.is_empty()).then(|| Json::built(write_object(rest)))
}

/// The event that `residue` was left of: the whole, when it holds it, else its fields written from the body.
pub(super) fn unite<'f>(residue: &Fields<'_>, body: impl FnOnce() -> Option<Body<'f>>) -> Option<String> {
    if let Some(whole) = residue.get(WHOLE) {
        return Some(whole.get().to_owned());
    }
    let mut fields = body()?;
    let absent = absent(residue).unwrap_or_default();
    fields.retain(|(key, _)| !absent.contains(key) && residue.get(key).is_none());
    let rest = residue.iter().filter(|(key, _)| ![ABSENT, NOTE].contains(key));
    fields.extend(rest.map(|(key, raw)| (Cow::Owned(key.to_owned()), Value::Json(Cow::Owned(raw.get().to_owned())))));
    Some(write(&fields))
}

fn absent<'a>(residue: &Fields<'a>) -> Result<Vec<Text<'a>>, Bad> {
    Ok(residue.list_if(ABSENT)?.unwrap_or_default().into_iter().filter_map(text_of).collect())
}
