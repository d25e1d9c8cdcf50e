//! Strings whose escapes hold half of a surrogate pair: a producer cut a character in two.
//!
//! **Invariant:** two halves in neighbouring deltas become the character again; a half that stays alone becomes U+FFFD.

use std::collections::BTreeMap;

/// A JSON string with unpaired halves at its ends.
#[derive(Debug, PartialEq)]
pub(super) struct Halves {
    low: Option<u16>,
    text: String,
    high: Option<u16>,
}

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

impl Halves {
    /// Reads a JSON string that strict reading refuses; `None` when it is not a string.
    pub(super) fn of(json: &str) -> Option<Self> {
        let body = json.strip_prefix('"')?.strip_suffix('"')?;
        let mut units = Vec::with_capacity(body.len());
        let mut chars = body.chars();
        while let Some(c) = chars.next() {
            if c != '\\' {
                units.extend(c.encode_utf16(&mut [0; 2]).iter());
                continue;
            }
            let unit = match chars.next()? {
                'u' => {
                    let hex: String = chars.by_ref().take(4).collect();
                    u16::from_str_radix(&hex, 16).ok()?
                }
                'n' => 0x0A,
                't' => 0x09,
                'r' => 0x0D,
                'b' => 0x08,
                'f' => 0x0C,
                other => u16::try_from(u32::from(other)).ok()?,
            };
            units.push(unit);
        }
        Some(Self::of_units(&units))
    }

    fn of_units(units: &[u16]) -> Self {
        let low = units.first().copied().filter(|unit| (0xDC00..0xE000).contains(unit));
        let rest = if low.is_some() { units.get(1..).unwrap_or_default() } else { units };
        let high = rest.last().copied().filter(|unit| (0xD800..0xDC00).contains(unit));
        let rest = if high.is_some() { rest.get(..rest.len().saturating_sub(1)).unwrap_or_default() } else { rest };
        Self { low, text: String::from_utf16_lossy(rest), high }
    }

    /// The text with each half replaced.
    pub(super) fn lossy(&self) -> String {
        let mut out = String::with_capacity(self.text.len() + 6);
        out.extend(self.low.map(|_| REPLACEMENT));
        out.push_str(&self.text);
        out.extend(self.high.map(|_| REPLACEMENT));
        out
    }
}

/// High halves that wait for the next delta, by what they belong to.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    high: BTreeMap<(u8, String), u16>,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.high.is_empty()
    }

    /// What waits, with what it belongs to.
    pub(super) fn all(&self) -> impl Iterator<Item = (u8, &str, u16)> {
        self.high.iter().map(|((space, id), unit)| (*space, id.as_str(), *unit))
    }

    /// The text of the next delta of `(space, id)`; `json` is the delta as JSON.
    pub(super) fn join(&mut self, space: u8, id: &str, json: &str) -> Option<String> {
        let waiting = self.high.remove(&(space, id.to_owned()));
        let halves = match serde_json::from_str::<String>(json) {
            Ok(text) => Halves { low: None, text, high: None },
            Err(_) => Halves::of(json)?,
        };
        let mut out = String::with_capacity(halves.text.len() + 6);
        match (waiting, halves.low) {
            (Some(high), Some(low)) => out.push_str(&String::from_utf16_lossy(&[high, low])),
            (None, None) => {}
            _ => out.push(REPLACEMENT),
        }
        out.push_str(&halves.text);
        if let Some(high) = halves.high {
            self.high.insert((space, id.to_owned()), high);
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_in_neighbouring_deltas_become_the_character_again() {
        let mut waiting = Waiting::default();
        assert_eq!(waiting.join(0, "m", r#""a\ud83d""#).as_deref(), Some("a"));
        assert!(!waiting.is_empty());
        assert_eq!(waiting.join(0, "m", r#""\ude00b""#).as_deref(), Some("😀b"));
        assert!(waiting.is_empty());
    }

    #[test]
    fn a_half_that_stays_alone_is_replaced() {
        let mut waiting = Waiting::default();
        assert_eq!(waiting.join(0, "m", r#""\ud83d""#).as_deref(), Some(""));
        assert_eq!(waiting.join(0, "m", r#""x""#).as_deref(), Some("\u{FFFD}x"));
        assert_eq!(Halves::of(r#""\ude00\n\ud83d""#).map(|h| h.lossy()).as_deref(), Some("\u{FFFD}\n\u{FFFD}"));
    }
}
