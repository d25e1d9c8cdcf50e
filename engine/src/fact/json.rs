//! Raw JSON text inside facts.

use std::borrow::Cow;

use bincode::{BorrowDecode, Encode};

/// UTF-8 JSON text, kept as it was written so that numbers and key order survive.
///
/// **Invariant:** one built by [`Json::new`] parses; one read from disk is checked where it is used.
#[derive(Clone, Debug, PartialEq, Eq, Encode, BorrowDecode)]
pub struct Json<'a>(Cow<'a, str>);

/// The text is not one JSON value. The caller mends the text.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON value: {0}")]
pub struct NotJson(#[from] serde_json::Error);

impl<'a> Json<'a> {
    /// Takes JSON text after checking that it is one value. Cost: one pass over the text.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Result<Self, NotJson> {
        let text = text.into();
        serde_json::from_str::<serde::de::IgnoredAny>(&text)?;
        Ok(Self(text))
    }

    /// Text that was just parsed, as a raw value.
    pub fn raw(value: &'a serde_json::value::RawValue) -> Self {
        Self(Cow::Borrowed(value.get()))
    }

    /// The text of a value.
    pub fn of(value: &serde_json::Value) -> Json<'static> {
        Json(Cow::Owned(value.to_string()))
    }

    /// Text that was just written as JSON, or put together from JSON.
    pub(crate) fn built(text: String) -> Json<'static> {
        Json(Cow::Owned(text))
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the text.
    pub fn value(&self) -> Result<serde_json::Value, NotJson> {
        Ok(serde_json::from_str(&self.0)?)
    }
}
