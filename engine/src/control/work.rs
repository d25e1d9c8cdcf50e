//! What checking a value against a schema costs, before it is done.
//!
//! **Invariant:** every schema that the check would apply to a part of the value is counted, as often as it would be applied; what cannot be
//! counted is refused. So a schema that refers to itself without end, or branches without bound, is refused before it runs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::limits::{SCHEMA_NESTING_MAX, SCHEMA_PATTERNS_MAX, SCHEMA_REFERENCES_MAX, SCHEMA_STEPS_MAX};

/// Schemas that apply within each other, for one value.
const DEPTH_MAX: usize = 128;
/// Steps for each byte that a pattern runs over: in the worst case it looks at every state of its own there.
const PATTERN_STEPS: u64 = 4;

/// Refuses a schema whose check of `value` is not bounded by the limits. Cost: at most [`SCHEMA_STEPS_MAX`] steps.
pub(super) fn bounded(schema: &Value, value: &Value) -> Result<(), String> {
    let mut written = Written::default();
    written.count(schema, 0)?;
    let mut work = Work { root: schema, known: BTreeMap::new(), visits: 0 };
    work.cost(schema, value, 0).map(|_| ())
}

/// What a schema is made of, whatever it is applied to.
#[derive(Default)]
struct Written {
    references: usize,
    patterns: usize,
}

impl Written {
    fn count(&mut self, schema: &Value, depth: usize) -> Result<(), String> {
        if depth > SCHEMA_NESTING_MAX {
            return Err(format!("it nests deeper than {SCHEMA_NESTING_MAX}"));
        }
        match schema {
            Value::Array(list) => list.iter().try_for_each(|inner| self.count(inner, depth + 1)),
            Value::Object(object) => object.iter().try_for_each(|(key, inner)| {
                self.references += usize::from(key == "$ref");
                self.patterns += usize::from(key == "pattern");
                self.patterns += inner.as_object().filter(|_| key == "patternProperties").map_or(0, serde_json::Map::len);
                if self.references > SCHEMA_REFERENCES_MAX {
                    return Err(format!("it has more than {SCHEMA_REFERENCES_MAX} references"));
                }
                if self.patterns > SCHEMA_PATTERNS_MAX {
                    return Err(format!("it has more than {SCHEMA_PATTERNS_MAX} patterns"));
                }
                self.count(inner, depth + 1)
            }),
            _ => Ok(()),
        }
    }
}

struct Work<'s> {
    root: &'s Value,
    /// Cost of a schema for a part of the value, both by where they are in memory.
    known: BTreeMap<(usize, usize), u64>,
    visits: u64,
}

fn place(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

impl<'s> Work<'s> {
    fn cost(&mut self, schema: &'s Value, value: &Value, depth: usize) -> Result<u64, String> {
        if depth > DEPTH_MAX {
            return Err("its schemas apply within each other without end, or too deep".to_owned());
        }
        let Value::Object(keywords) = schema else { return Ok(1) };
        let pair = (place(schema), place(value));
        if let Some(cost) = self.known.get(&pair) {
            return Ok(*cost);
        }
        self.visits += 1;
        let mut cost = 1 + own(value);
        for (keyword, inner) in keywords {
            cost = cost.saturating_add(self.keyword(keyword, inner, value, depth + 1)?);
            if cost > SCHEMA_STEPS_MAX || self.visits > SCHEMA_STEPS_MAX {
                return Err(format!("to check this value takes more than {SCHEMA_STEPS_MAX} steps"));
            }
        }
        if depth > 0 && ["$id", "id"].iter().any(|key| keywords.get(*key).is_some_and(Value::is_string)) {
            return Err("a schema inside it has an id of its own".to_owned());
        }
        // To know what was evaluated, all that applies is applied again.
        let again = keywords.keys().any(|keyword| keyword.starts_with("unevaluated"));
        let cost = if again { cost.saturating_mul(2) } else { cost };
        self.known.insert(pair, cost);
        Ok(cost)
    }

    /// What one keyword adds.
    fn keyword(&mut self, keyword: &str, inner: &'s Value, value: &Value, depth: usize) -> Result<u64, String> {
        let members = || value.as_object().into_iter().flatten();
        let elements = || value.as_array().into_iter().flatten();
        let names = || members().map(|(key, _)| key.len() as u64).sum::<u64>().saturating_mul(PATTERN_STEPS);
        match keyword {
            "$ref" => {
                let target = self.target(inner)?;
                self.cost(target, value, depth)
            }
            "$dynamicRef" | "$recursiveRef" => Err(format!("it uses {keyword}")),
            "not" | "if" | "then" | "else" => self.cost(inner, value, depth),
            "allOf" | "anyOf" | "oneOf" => self.all(inner.as_array().into_iter().flatten().map(|schema| (schema, value)), depth),
            "dependentSchemas" | "dependencies" => {
                self.all(inner.as_object().into_iter().flatten().map(|(_, schema)| (schema, value)), depth)
            }
            "properties" => {
                let schemas = inner.as_object();
                self.all(members().filter_map(|(key, member)| Some((schemas?.get(key)?, member))), depth)
            }
            "patternProperties" => {
                let schemas = || inner.as_object().into_iter().flatten();
                let pairs = members().flat_map(|(_, member)| schemas().map(move |(_, schema)| (schema, member)));
                Ok(self.all(pairs, depth)?.saturating_add(names().saturating_mul(schemas().count() as u64)))
            }
            "additionalProperties" | "unevaluatedProperties" => self.all(members().map(|(_, member)| (inner, member)), depth),
            "propertyNames" => {
                // The names are no values here, so each is counted as if every pattern ran over it.
                let patterns = names().saturating_mul(SCHEMA_PATTERNS_MAX as u64);
                Ok(self.all(members().map(|_| (inner, &Value::Null)), depth)?.saturating_add(patterns))
            }
            "pattern" => Ok(value.as_str().map_or(1, |text| (text.len() as u64).saturating_mul(PATTERN_STEPS))),
            "items" | "prefixItems" if inner.is_array() => self.all(inner.as_array().into_iter().flatten().zip(elements()), depth),
            "items" | "additionalItems" | "unevaluatedItems" | "contains" => self.all(elements().map(|element| (inner, element)), depth),
            "enum" => Ok(inner.as_array().map_or(0, |list| list.len() as u64).saturating_mul(own(value))),
            _ => Ok(1),
        }
    }

    fn all<'v>(&mut self, pairs: impl Iterator<Item = (&'s Value, &'v Value)>, depth: usize) -> Result<u64, String> {
        let mut cost = 0_u64;
        for (schema, value) in pairs {
            cost = cost.saturating_add(self.cost(schema, value, depth)?);
            if cost > SCHEMA_STEPS_MAX {
                break;
            }
        }
        Ok(cost)
    }

    /// The schema that a reference means: one inside this schema, by its path.
    fn target(&self, reference: &Value) -> Result<&'s Value, String> {
        let text = reference.as_str().ok_or("a reference is no text")?;
        let pointer = text.strip_prefix('#').filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
        let pointer = pointer.ok_or_else(|| format!("the reference {:?} leads out of it", front(text)))?;
        let mut parents = pointer.match_indices('/').skip(1).filter_map(|(end, _)| self.root.pointer(pointer.get(..end)?));
        if parents.any(|parent| ["$id", "id"].iter().any(|key| parent.get(*key).is_some_and(Value::is_string))) {
            return Err("a schema inside it has an id of its own".to_owned());
        }
        self.root.pointer(pointer).ok_or_else(|| format!("the reference {:?} leads nowhere", front(text)))
    }
}

/// The beginning of a text, for people.
fn front(text: &str) -> &str {
    text.get(..text.floor_char_boundary(128)).unwrap_or_default()
}

/// What looking at the value itself costs, without its parts.
fn own(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + text.len() as u64 / 64,
        Value::Array(list) => 1 + list.len() as u64,
        Value::Object(object) => 1 + object.len() as u64,
        _ => 1,
    }
}
