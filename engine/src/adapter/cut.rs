//! A source event with what its facts hold cut out of it.
//!
//! **Invariant:** `event = residue with the values put back`, equal by value; what no fact holds stands in the residue as it was written.
//!
//! A value that fact `n` of the event holds leaves `{"=":n}` in its place when it is held as text, `{"=":"n"}` when as JSON. An event
//! that has a key `=` of its own is residue whole: `{"=":{..}}`.
//! **Absent:** what an event means.

use std::ops::Range;

use serde_json::value::RawValue;

use super::fields::{Str, write_str};
use super::piece::{Piece, Unencodable};
use crate::fact::{Content, Fact, Json, PartChange, ToolOp};

/// Shorter values are not worth a cut.
const CUT_BYTES_MIN: usize = 16;
/// How the place of a cut value begins.
const PLACE: &str = "{\"=\":";

/// An event whose values are being cut out.
pub(super) struct Cut<'a> {
    text: &'a str,
    holes: Vec<(Range<usize>, String)>,
}

impl<'a> Cut<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, holes: Vec::new() }
    }

    /// Cuts a string of the event that fact `index` holds as text. One that holds half a character stays: its fact holds another text.
    pub(super) fn text(&mut self, raw: &RawValue, index: usize) {
        if serde_json::from_str::<Str<'_>>(raw.get()).is_ok() {
            self.cut(raw, format!("{PLACE}{index}}}"));
        }
    }

    /// Cuts a value of the event that fact `index` holds as JSON.
    pub(super) fn json(&mut self, raw: &RawValue, index: usize) {
        self.cut(raw, format!("{PLACE}\"{index}\"}}"));
    }

    fn cut(&mut self, raw: &RawValue, place: String) {
        let Some(start) = raw.get().as_ptr().addr().checked_sub(self.text.as_ptr().addr()) else { return };
        let range = start..start.saturating_add(raw.get().len());
        if raw.get().len() >= CUT_BYTES_MIN && self.text.get(range.clone()) == Some(raw.get()) {
            self.holes.push((range, place));
        }
    }

    /// The event without what was cut.
    pub(super) fn residue(mut self) -> Json<'static> {
        if ["\"=\"", "\\u003d", "\\u003D"].iter().any(|key| self.text.contains(key)) {
            return Json::built(format!("{PLACE}{}}}", self.text));
        }
        self.holes.sort_by_key(|(range, _)| range.start);
        let mut out = String::new();
        let mut from = 0;
        for (range, place) in &self.holes {
            // A value inside one that is cut already went with it.
            if let Some(between) = self.text.get(from..range.start) {
                out.push_str(between);
                out.push_str(place);
                from = range.end;
            }
        }
        out.push_str(self.text.get(from..).unwrap_or_default());
        Json::built(out)
    }
}

/// The line that gave these facts, all of them and in their order: equal by value to what was decoded, and as it came when nothing is
/// known of it. Cost: proportional to the line.
///
/// # Errors
/// The facts are not those of one line of a transcript.
pub(super) fn encode(facts: &[Piece<'_>]) -> Result<String, Unencodable> {
    let bad = || Unencodable(facts.len());
    for piece in facts {
        match piece.fact {
            Fact::Opaque(opaque) => return Ok(opaque.payload.to_string()),
            Fact::DiagnosticNoted(noted) if noted.raw.is_some() => return noted.raw.as_deref().map(str::to_owned).ok_or_else(bad),
            _ => {}
        }
    }
    let residue = facts.iter().find_map(|piece| piece.ext).ok_or_else(bad)?;
    put_back(residue, facts).ok_or_else(bad)
}

fn put_back(residue: &str, facts: &[Piece<'_>]) -> Option<String> {
    if residue.strip_prefix(PLACE).is_some_and(|rest| rest.trim_start().starts_with('{')) {
        return residue.get(PLACE.len()..residue.len().checked_sub(1)?).map(str::to_owned);
    }
    let held = |index: &str| held(facts.get(index.parse::<usize>().ok()?)?.fact);
    let mut out = String::with_capacity(residue.len());
    let mut rest = residue;
    while let Some((before, after)) = rest.split_once(PLACE) {
        out.push_str(before);
        let (index, behind) = after.split_once('}')?;
        match index.strip_prefix('"').and_then(|index| index.strip_suffix('"')) {
            Some(index) => out.push_str(held(index)?),
            None => write_str(&mut out, held(index)?),
        }
        rest = behind;
    }
    out.push_str(rest);
    Some(out)
}

/// The one value of a fact that can be cut.
fn held<'f>(fact: &'f Fact<'_>) -> Option<&'f str> {
    let content = match fact {
        Fact::PartOpened(opened) => opened.content.as_ref()?,
        Fact::PartFinal(last) => match &last.change {
            PartChange::Text(text) | PartChange::Sealed(text) => return Some(text),
            PartChange::Closed => return None,
        },
        Fact::ToolChanged(changed) => match &changed.op {
            ToolOp::ArgsSet { text } => return Some(text),
            ToolOp::Result { content, .. } => content.as_ref()?,
            _ => return None,
        },
        _ => return None,
    };
    Some(match content {
        Content::Text(text) => text,
        Content::Json(json) => json.as_str(),
    })
}
