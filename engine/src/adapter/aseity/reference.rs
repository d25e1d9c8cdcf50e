//! References to artifacts: what is taken, and what is rejected under which code.
//!
//! **Invariant:** one bad reference rejects the list that it stands in; a path is never changed.

use serde_json::value::RawValue;

use super::body::list;
use super::code;
use super::decode::Validation;
use crate::adapter::fields::{Fields, list_of, text_of};
use crate::adapter::residue::{text, write};
use crate::fact::ArtifactReference;

const TYPES: [&str; 5] = ["document", "webpage", "presentation", "spreadsheet", "image"];

/// Why a list of references is rejected.
#[derive(Debug)]
pub(super) struct Rejected {
    pub(super) code: &'static str,
    pub(super) detail: String,
}

/// The references of a list, as they came.
pub(super) fn references<'a>(raw: &'a RawValue, validation: Validation) -> Result<Vec<ArtifactReference<'a>>, Rejected> {
    let bad = || Rejected { code: code::INVALID_ARTIFACT_REFERENCE, detail: "artifacts: expected an array".to_owned() };
    let list = list_of(raw).ok_or_else(bad)?;
    let all = list.into_iter().enumerate();
    all.map(|(index, raw)| reference(raw, validation).map_err(|code| Rejected { code, detail: format!("artifacts[{index}]") })).collect()
}

fn reference(raw: &RawValue, validation: Validation) -> Result<ArtifactReference<'_>, &'static str> {
    let fields = Fields::parse(raw.get()).map_err(|_| code::INVALID_ARTIFACT_REFERENCE)?;
    let Some(path) = fields.some("entryPath") else {
        let legacy = fields.get("id").is_some();
        return Err(if legacy { code::LEGACY_ARTIFACT_REFERENCE } else { code::INVALID_ARTIFACT_REFERENCE });
    };
    let path = text_of(path).ok_or(code::INVALID_ARTIFACT_REFERENCE)?;
    let artifact_type = fields.get("artifactType").and_then(text_of).ok_or(code::INVALID_ARTIFACT_TYPE)?;
    if validation == Validation::Strict {
        if path.is_empty() {
            return Err(code::EMPTY_ENTRY_PATH);
        }
        if !TYPES.contains(&artifact_type.as_ref()) {
            return Err(code::INVALID_ARTIFACT_TYPE);
        }
    }
    Ok(ArtifactReference { path, artifact_type })
}

/// References as a JSON array.
pub(super) fn write_references<'r>(references: impl IntoIterator<Item = (&'r str, &'r str)>) -> String {
    list(references.into_iter().map(|(path, artifact_type)| write(&[text("entryPath", path), text("artifactType", artifact_type)])))
}

/// The paths that are absolute or lead out of the workspace.
pub(super) fn outside<'r>(references: &'r [ArtifactReference<'_>]) -> impl Iterator<Item = &'r str> {
    references.iter().map(|reference| reference.path.as_ref()).filter(|path| is_outside(path))
}

fn is_outside(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    let scheme = path.split_once("://").is_some_and(|(scheme, _)| scheme.bytes().all(|b| b.is_ascii_alphanumeric()));
    if path.starts_with(['/', '\\']) || drive || scheme {
        return true;
    }
    let mut depth = 0_usize;
    for segment in path.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// What a list means: of equal paths the last value. In no order.
pub(super) fn meaning<'r>(references: &'r [ArtifactReference<'_>]) -> std::collections::BTreeMap<&'r str, &'r str> {
    references.iter().map(|reference| (reference.path.as_ref(), reference.artifact_type.as_ref())).collect()
}

/// Path and type.
pub(super) fn pair<'r>(reference: &'r ArtifactReference<'_>) -> (&'r str, &'r str) {
    (&reference.path, &reference.artifact_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_of_the_workspace_are_seen() {
        for path in ["/etc/passwd", "../x", "a/../../x", "C:\\x", "c:/x", "\\\\host\\share", "a\\..\\..\\x", "file:///x", "./.."] {
            assert!(is_outside(path), "{path}");
        }
        for path in ["a", "a/b", "./a", "a/../b", "..a/b", "a..", "a:b", " /x", "a//b", "~x", "\u{FF0F}x"] {
            assert!(!is_outside(path), "{path}");
        }
    }
}
