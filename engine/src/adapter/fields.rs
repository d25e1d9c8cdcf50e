//! A JSON object as its top-level fields, each still text.
//!
//! **Invariant:** of equal keys the last one counts, as in JavaScript; nothing below the top level is parsed before it is asked for.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::surrogate;
use crate::fact::{Json, Text};

/// A string that borrows from the JSON text when it has no escapes.
#[derive(Debug, PartialEq)]
pub(super) struct Str<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StrVisitor;
        impl<'de> Visitor<'de> for StrVisitor {
            type Value = Str<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Self::Value, E> {
                Ok(Str(Cow::Borrowed(v)))
            }
            fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
                Ok(Str(Cow::Owned(v.to_owned())))
            }
        }
        deserializer.deserialize_str(StrVisitor)
    }
}

/// What is wrong with a field.
#[derive(Debug)]
pub(super) struct Bad(pub(super) String);

impl Bad {
    pub(super) fn new(path: impl fmt::Display, expected: &str) -> Self {
        Self(format!("{path}: expected {expected}"))
    }

    /// Puts the path of the parent before the path of the child.
    pub(super) fn under(self, parent: impl fmt::Display) -> Self {
        Self(format!("{parent}.{}", self.0))
    }
}

/// Fields of an object in source order.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields<'a> {
    list: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::<(Cow<'de, str>, &'de RawValue)>::with_capacity(8);
                while let Some(key) = map.next_key::<Str<'de>>()? {
                    let value = map.next_value::<&'de RawValue>()?;
                    match list.iter_mut().find(|(known, _)| *known == key.0) {
                        Some(slot) => slot.1 = value,
                        None => list.push((key.0, value)),
                    }
                }
                Ok(Fields { list })
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

impl<'a> Fields<'a> {
    /// Reads an object. Cost: one pass over the text.
    pub(super) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The fields of a value that must be an object.
    pub(super) fn of(path: &str, raw: &'a RawValue) -> Result<Self, Bad> {
        Self::parse(raw.get()).map_err(|_| Bad::new(path, "an object"))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.list.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.list.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
    }

    /// A field that is there and not null.
    pub(super) fn some(&self, key: &str) -> Option<&'a RawValue> {
        self.get(key).filter(|raw| raw.get() != "null")
    }

    pub(super) fn required(&self, key: &str) -> Result<&'a RawValue, Bad> {
        self.get(key).ok_or_else(|| Bad::new(key, "a value"))
    }

    pub(super) fn text(&self, key: &str) -> Result<Text<'a>, Bad> {
        self.get(key).and_then(text_of).ok_or_else(|| Bad::new(key, "a string"))
    }

    /// A string, or nothing when the field is absent.
    pub(super) fn text_if(&self, key: &str) -> Result<Option<Text<'a>>, Bad> {
        self.get(key).map(|raw| text_of(raw).ok_or_else(|| Bad::new(key, "a string"))).transpose()
    }

    /// An object, or nothing when the field is absent.
    pub(super) fn object_if(&self, key: &str) -> Result<Option<Json<'a>>, Bad> {
        self.get(key).map(|raw| if raw.get().starts_with('{') { Ok(Json::raw(raw)) } else { Err(Bad::new(key, "an object")) }).transpose()
    }

    /// The elements of an array, or nothing when the field is absent.
    pub(super) fn list_if(&self, key: &str) -> Result<Option<Vec<&'a RawValue>>, Bad> {
        self.get(key).map(|raw| list_of(raw).ok_or_else(|| Bad::new(key, "an array"))).transpose()
    }
}

/// The text of a JSON string; halves of surrogate pairs become U+FFFD.
pub(super) fn text_of(raw: &RawValue) -> Option<Text<'_>> {
    if !raw.get().starts_with('"') {
        return None;
    }
    match serde_json::from_str::<Str<'_>>(raw.get()) {
        Ok(text) => Some(text.0),
        Err(_) => surrogate::Halves::of(raw.get()).map(|halves| Cow::Owned(halves.lossy())),
    }
}

/// The elements of a JSON array.
pub(super) fn list_of(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// Appends `text` as a JSON string.
pub(super) fn write_str(out: &mut String, text: &str) {
    // Writing a string to memory cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// Writes an object from keys and JSON texts.
pub(super) fn write_object<'k>(fields: impl IntoIterator<Item = (&'k str, &'k str)>) -> String {
    let mut out = String::with_capacity(64);
    out.push('{');
    for (key, value) in fields {
        if out.len() > 1 {
            out.push(',');
        }
        write_str(&mut out, key);
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    out
}
