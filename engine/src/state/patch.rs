//! JSON documents: setting, patching, merging.
//!
//! **Invariant:** a patch is applied whole or not at all; a token that could touch a prototype is refused, and arrays get no holes.

use serde_json::{Map, Value};

/// Why a patch was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchFailed {
    /// Index of the operation that failed; `None` when the patch is not a patch.
    pub op_index: Option<usize>,
    /// For people.
    pub reason: String,
}

const REFUSED_TOKENS: [&str; 3] = ["__proto__", "prototype", "constructor"];

/// Applies an RFC 6902 patch, given as JSON. Cost: proportional to the patch and what it touches.
pub fn apply(document: &mut Value, patch: &Value) -> Result<(), PatchFailed> {
    let operations = patch.as_array().ok_or_else(|| PatchFailed { op_index: None, reason: "not an array of operations".to_owned() })?;
    for (index, operation) in operations.iter().enumerate() {
        let failed = |reason: String| PatchFailed { op_index: Some(index), reason };
        for pointer in ["path", "from"].iter().filter_map(|field| operation.get(*field)?.as_str()) {
            if let Some(token) = pointer.split('/').find(|token| REFUSED_TOKENS.contains(token)) {
                return Err(failed(format!("token {token} is refused")));
            }
        }
    }
    let parsed: json_patch::Patch = serde_json::from_value(patch.clone()).map_err(|e| PatchFailed { op_index: None, reason: e.to_string() })?;
    json_patch::patch(document, &parsed).map_err(|e| PatchFailed { op_index: Some(e.operation), reason: e.kind.to_string() })
}

/// Merges the keys of one JSON object text into another, last write wins; what is no object changes nothing.
pub fn merge(into: &mut Option<String>, object: &str) {
    let Ok(Value::Object(new)) = serde_json::from_str(object) else { return };
    let mut merged: Map<String, Value> = into.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    merged.extend(new);
    *into = Some(Value::Object(merged).to_string());
}
