//! Artifacts by id. Source: `protocols.md`, section 6.3.
//!
//! The fields of the fact are those of the event under the names of the standard (`artifactKind`, `artifactStatus`,
//! `artifactVersionId`, `artifactExportId`, `artifactReadRef`, `artifactDiffRef`, `artifactPreview`, `sourceRefs`, `evidenceRefs`);
//! others stay as they are. A null says that the field is cleared.

use super::super::class::Class;
use super::super::placed::object;
use super::{Incoming, Own, Refused};
use crate::adapter::fields::text_of;
use crate::fact::{ArtifactChanged, ArtifactOp, Fact};

/// Short names that hosts use, and what they stand for.
const SHORT: [(&str, &str); 8] = [
    ("kind", "artifactKind"),
    ("status", "artifactStatus"),
    ("version", "artifactVersionId"),
    ("versionId", "artifactVersionId"),
    ("exportId", "artifactExportId"),
    ("readRef", "artifactReadRef"),
    ("diffRef", "artifactDiffRef"),
    ("preview", "artifactPreview"),
];

/// Fields that are texts.
const TEXTS: [&str; 6] = ["artifactKind", "artifactStatus", "artifactVersionId", "artifactExportId", "artifactReadRef", "artifactDiffRef"];

pub(super) fn artifact<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    let artifact = event.id("artifactId")?;
    let turn = event.turn(own);
    let mut fields = Vec::new();
    for (key, raw) in event.placed.rest(&["artifactId", event.turn_key()]) {
        let long = SHORT.iter().find(|(short, _)| *short == key).map_or(key, |(_, long)| *long);
        if long != key && (event.placed.get(long).is_some() || fields.iter().any(|(known, _)| *known == long)) {
            continue;
        }
        if TEXTS.contains(&long) && text_of(raw).is_none() {
            if raw.get() != "null" {
                own.malformed(event, key, "a string");
            }
            continue;
        }
        fields.push((long, raw));
    }
    let has = |keys: &[&str]| keys.iter().any(|key| fields.iter().any(|(known, _)| known == key));
    let (op, needs): (ArtifactOp, &[&str]) = match event.class {
        Class::ArtifactCreated => (ArtifactOp::Created, &["artifactStatus"]),
        Class::ArtifactUpdated => (ArtifactOp::Updated, &["artifactStatus", "artifactVersionId"]),
        Class::ArtifactPreviewReady => {
            (ArtifactOp::PreviewReady, &["artifactPreview", "artifactPreviewRef", "previewRef", "artifactReadRef"])
        }
        Class::ArtifactVersionCreated => (ArtifactOp::VersionCreated, &["artifactVersionId"]),
        Class::ArtifactDiffReady => (ArtifactOp::DiffReady, &["artifactDiffRef"]),
        Class::ArtifactExportStarted => (ArtifactOp::ExportStarted, &["artifactExportId"]),
        Class::ArtifactExportCompleted => {
            (ArtifactOp::ExportCompleted, &["artifactExportId", "artifactExportRef", "exportRef", "artifactReadRef"])
        }
        Class::ArtifactFailed => (ArtifactOp::Failed, &["error", "errorSummary", "message"]),
        Class::ArtifactDeleted => (ArtifactOp::Deleted, &[]),
        _ => (ArtifactOp::Changed, &[]),
    };
    if let (Some(first), false) = (needs.first(), has(needs)) {
        own.missing(event, first);
    }
    let fields = object(&fields);
    own.fact(Fact::ArtifactChanged(ArtifactChanged { artifact, op, turn, fields }));
    Ok(())
}
