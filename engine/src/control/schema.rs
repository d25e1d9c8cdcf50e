//! A response against the schema of its request.
//!
//! **Invariant:** neither the schema nor the response can make the check unbounded, reach the network or read a file: both have a measure,
//! patterns run in linear time, and what a check would cost is counted before it runs.
//! **Absent:** `format`, which is an annotation and judges nothing here.

use jsonschema::PatternOptions;
use serde_json::Value;

use super::work::bounded;
use crate::limits::{RESPONSE_BYTES_MAX, RESPONSE_ERRORS_MAX, SCHEMA_BYTES_MAX, SCHEMA_PATTERN_BYTES_MAX};

/// Bytes of one error for people; a longer one is cut.
const ERROR_BYTES_MAX: usize = 512;

/// Why a response was not found valid.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The schema cannot be used.
    Schema(String),
    /// It does not fit the schema: path in the response and what is wrong there.
    Response(Vec<String>),
}

/// Checks a response, JSON, against a schema, JSON. Cost: bounded by [`crate::limits`], well below a second.
pub(super) fn check(schema: &str, response: &str) -> Result<(), Misfit> {
    if schema.len() > SCHEMA_BYTES_MAX {
        return Err(Misfit::Schema(format!("its {} bytes are above schema_bytes_max = {SCHEMA_BYTES_MAX}", schema.len())));
    }
    if response.len() > RESPONSE_BYTES_MAX {
        let what = format!("its {} bytes are above response_bytes_max = {RESPONSE_BYTES_MAX}", response.len());
        return Err(Misfit::Response(vec![what]));
    }
    let schema: Value = serde_json::from_str(schema).map_err(|error| Misfit::Schema(error.to_string()))?;
    let response: Value = serde_json::from_str(response).map_err(|error| Misfit::Response(vec![error.to_string()]))?;
    Checker::new(schema).map_err(Misfit::Schema)?.check(&response)
}

/// A schema that was made ready.
pub(crate) struct Checker {
    schema: Value,
    validator: jsonschema::Validator,
}

impl Checker {
    /// Makes a schema ready, or says why it cannot be used.
    pub(crate) fn new(schema: Value) -> Result<Self, String> {
        bounded(&schema, &Value::Null)?;
        let patterns = PatternOptions::regex().size_limit(SCHEMA_PATTERN_BYTES_MAX).dfa_size_limit(SCHEMA_PATTERN_BYTES_MAX);
        let options = jsonschema::options().offline().should_validate_formats(false).with_pattern_options(patterns);
        let validator = options.build(&schema).map_err(|error| cut(error.to_string()))?;
        Ok(Self { schema, validator })
    }

    /// Checks a value. Cost: counted before it runs.
    pub(crate) fn check(&self, value: &Value) -> Result<(), Misfit> {
        bounded(&self.schema, value).map_err(Misfit::Schema)?;
        let errors: Vec<String> = self.validator.iter_errors(value).take(RESPONSE_ERRORS_MAX).map(|error| told(&error)).collect();
        if errors.is_empty() { Ok(()) } else { Err(Misfit::Response(errors)) }
    }
}

/// Where and what, without the value: it may be large, and may be a secret.
fn told(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    cut(if path.is_empty() { error.masked().to_string() } else { format!("{path}: {}", error.masked()) })
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(ERROR_BYTES_MAX));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema_refused(schema: &str, response: &str) -> String {
        match check(schema, response) {
            Err(Misfit::Schema(reason)) => reason,
            other => panic!("{schema}: {other:?}"),
        }
    }

    fn errors(schema: &str, response: &str) -> Vec<String> {
        match check(schema, response) {
            Err(Misfit::Response(errors)) => errors,
            other => panic!("{schema}: {other:?}"),
        }
    }

    #[test]
    fn a_response_fits_or_says_where_it_does_not() {
        let schema =
            r#"{"type":"object","properties":{"count":{"type":"integer","minimum":1},"why":{"type":"string"}},"required":["why"]}"#;
        assert_eq!(check(schema, r#"{"count":2,"why":"x"}"#), Ok(()));
        let found = errors(schema, r#"{"count":0}"#);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|error| error.starts_with("/count: ")), "{found:?}");
    }

    #[test]
    fn every_draft_and_every_kind_of_schema_is_understood() {
        let node = r##"{"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}},"additionalProperties":false}},"$ref":"#/$defs/node"}"##;
        assert_eq!(check(node, r#"{"next":{"next":{}}}"#), Ok(()));
        assert_eq!(errors(node, r#"{"next":{"other":1}}"#).len(), 1);
        let old = r##"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"id":{"type":"string"}},"properties":{"id":{"$ref":"#/definitions/id"}}}"##;
        assert_eq!(check(old, r#"{"id":"x"}"#), Ok(()));
        assert_eq!(errors(old, r#"{"id":1}"#).len(), 1);
        assert_eq!(check("true", "1"), Ok(()));
        assert_eq!(errors("false", "1").len(), 1);
        assert_eq!(check(r#"{"enum":["yes","no"]}"#, r#""yes""#), Ok(()));
        assert_eq!(check(r#"{"type":"string","pattern":"^[a-z]+$","format":"email"}"#, r#""abc""#), Ok(()));
    }

    #[test]
    fn errors_do_not_repeat_the_value() {
        let found = errors(r#"{"type":"integer"}"#, r#""a secret""#);
        assert!(!found[0].contains("secret"), "{found:?}");
    }

    #[test]
    fn errors_have_a_bound() {
        let many = format!("[{}]", vec!["1"; 500].join(","));
        assert_eq!(errors(r#"{"items":{"type":"string"}}"#, &many).len(), RESPONSE_ERRORS_MAX);
    }

    #[test]
    fn a_schema_never_reaches_out() {
        for reference in ["https://example.invalid/s.json", "file:///etc/passwd", "other.json", "//host/x", "#name", "urn:x"] {
            schema_refused(&format!(r#"{{"$ref":"{reference}"}}"#), "1");
            schema_refused(&format!(r#"{{"properties":{{"a":{{"$ref":"{reference}"}}}}}}"#), r#"{"a":1}"#);
        }
        schema_refused(r#"{"$schema":"https://example.invalid/meta"}"#, "1");
        schema_refused(r#"{"properties":{"a":{"$ref":"https://example.invalid/s.json"}}}"#, "{}");
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for schema in
            ["", "{", r#"{"type":"strange"}"#, r#"{"type":1}"#, r#"{"pattern":"("}"#, r##"{"$ref":"#/nowhere"}"##, r#"{"$ref":7}"#]
        {
            schema_refused(schema, r#""x""#);
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_without_end_is_refused() {
        schema_refused(r##"{"$ref":"#"}"##, "1");
        schema_refused(r##"{"allOf":[{"$ref":"#"}]}"##, "1");
        schema_refused(r##"{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"not":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}"##, "1");
        schema_refused(r##"{"$dynamicRef":"#x"}"##, "1");
    }

    #[test]
    fn a_schema_that_doubles_at_every_reference_is_refused() {
        let doubles =
            |n: usize| format!(r##""d{n}":{{"allOf":[{{"$ref":"#/$defs/d{next}"}},{{"$ref":"#/$defs/d{next}"}}]}}"##, next = n + 1);
        let steps: Vec<String> = (0..40).map(doubles).collect();
        let schema = format!(r##"{{"$defs":{{{},"d40":{{"type":"string"}}}},"$ref":"#/$defs/d0"}}"##, steps.join(","));
        schema_refused(&schema, "1");
    }

    #[test]
    fn a_schema_that_doubles_at_every_level_of_the_response_is_refused() {
        let schema = r##"{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}"##;
        assert_eq!(check(schema, "[[[]]]"), Ok(()));
        schema_refused(schema, &format!("{}{}", "[".repeat(60), "]".repeat(60)));
        let unevaluated = r##"{"unevaluatedItems":{"$ref":"#"},"prefixItems":[{"$ref":"#"}]}"##;
        schema_refused(unevaluated, &format!("{}{}", "[".repeat(60), "]".repeat(60)));
    }

    #[test]
    fn a_pattern_can_neither_run_nor_grow_without_bound() {
        let slow = format!("\"{}!\"", "a".repeat(30_000));
        assert_eq!(errors(r#"{"pattern":"^(a+)+$"}"#, &slow).len(), 1);
        schema_refused(r#"{"pattern":"((a{1000}){1000}){1000}"}"#, r#""a""#);
        // What needs to look back or around is not understood, rather than run.
        schema_refused(r#"{"pattern":"(a)\\1(?=b)"}"#, r#""a""#);
        let many: Vec<String> = (0..=SCHEMA_PATTERNS).map(|n| format!(r#""p{n}":{{"pattern":"a"}}"#)).collect();
        schema_refused(&format!(r#"{{"properties":{{{}}}}}"#, many.join(",")), "1");
    }

    const SCHEMA_PATTERNS: usize = crate::limits::SCHEMA_PATTERNS_MAX;

    #[test]
    fn size_and_nesting_have_bounds() {
        schema_refused(&format!(r#"{{"title":"{}"}}"#, "x".repeat(SCHEMA_BYTES_MAX)), "1");
        assert_eq!(errors("true", &format!("\"{}\"", "x".repeat(RESPONSE_BYTES_MAX))).len(), 1);
        let deep = format!("{}true{}", r#"{"not":"#.repeat(100), "}".repeat(100));
        schema_refused(&deep, "1");
        assert_eq!(errors("true", &"[".repeat(10_000)).len(), 1);
        // As deep as both may be, and through references: the check does not need a large stack.
        let nested = |inner: &str| format!("{}{inner}{}", r#"{"allOf":["#.repeat(12), "]}".repeat(12));
        let chain: Vec<String> =
            (0..9).map(|n| format!(r##""c{n}":{}"##, nested(&format!(r##"{{"$ref":"#/$defs/c{}"}}"##, n + 1)))).collect();
        let schema = format!(r##"{{"$defs":{{{},"c9":true}},"$ref":"#/$defs/c0"}}"##, chain.join(","));
        assert_eq!(check(&schema, "1"), Ok(()));
        let list = r##"{"items":{"$ref":"#"}}"##;
        assert_eq!(check(list, &format!("{}{}", "[".repeat(50), "]".repeat(50))), Ok(()));
    }
}
