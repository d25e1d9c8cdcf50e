//! Artifacts by id. Source: the table of `protocols.md`, section 6.3.
//!
//! **Invariant:** no status, kind or version is made up: what was not stated is `unknown` or stays as it was.

use super::super::entry::{Body, Sequence};
use super::super::lookup::Space;
use super::super::shelf::{Artifact, Export};
use super::Fold;
use super::value::{Members, id_bytes, push_newest};
use crate::fact::{ArtifactChanged, ArtifactOp};

const UNKNOWN: &str = "unknown";
const DELETED: &str = "deleted";

impl Fold<'_> {
    fn id_artifact(&mut self, ordinal: i64) -> Option<&mut Artifact> {
        match self.body_mut(Sequence::Shelf, ordinal)? {
            Body::Artifact(artifact) => Some(artifact),
            _ => None,
        }
    }

    pub(super) fn artifact_changed(&mut self, changed: &ArtifactChanged<'_>) {
        let id = changed.artifact.as_ref();
        let known = self.find(Space::Artifact, id);
        let deleted = known.is_some_and(
            |ordinal| matches!(self.body(Sequence::Shelf, ordinal), Some(Body::Artifact(artifact)) if artifact.status == DELETED),
        );
        if deleted && changed.op != ArtifactOp::Created {
            return self.diagnose("artifact_event_after_delete", Some(id.to_owned()));
        }
        let mut members = Members::of(&changed.fields);
        if members.is_none() {
            self.diagnose("artifact_not_an_object", Some(id.to_owned()));
        }
        let members = members.get_or_insert_default();
        let ordinal = known.unwrap_or_else(|| {
            let (kind, status) = (UNKNOWN.to_owned(), UNKNOWN.to_owned());
            let ordinal = self.shelve(Body::Artifact(Artifact { id: Some(id.to_owned()), kind, status, ..Artifact::default() }));
            self.name(Space::Artifact, id, ordinal);
            ordinal
        });
        if let Some(artifact) = self.id_artifact(ordinal).filter(|_| deleted) {
            *artifact = again(artifact);
        }
        let before_create = known.is_none() && !matches!(changed.op, ArtifactOp::Created | ArtifactOp::Changed);
        self.apply(ordinal, changed.op, members);
        if before_create {
            // The table makes it a stub: whatever this event says of the status, nobody saw what it is the status of.
            if let Some(artifact) = self.id_artifact(ordinal) {
                UNKNOWN.clone_into(&mut artifact.status);
            }
            self.diagnose("artifact_event_before_create", Some(id.to_owned()));
        }
        self.refer(ordinal, changed);
    }

    fn apply(&mut self, ordinal: i64, op: ArtifactOp, members: &mut Members<'_>) {
        let export = members.word("artifactExportId");
        match op {
            ArtifactOp::ExportStarted => self.export(ordinal, export, "started", members),
            ArtifactOp::ExportCompleted => self.export(ordinal, export, "completed", members),
            ArtifactOp::Failed if export.is_some() => self.export(ordinal, export, "failed", members),
            ArtifactOp::Failed => {
                let error = ["error", "errorSummary", "message"].iter().find_map(|key| members.take(key));
                let error = error.and_then(|error| self.json(&error));
                if let Some(artifact) = self.id_artifact(ordinal) {
                    "failed".clone_into(&mut artifact.status);
                    artifact.error = error;
                }
            }
            ArtifactOp::Deleted => {
                if let Some(artifact) = self.id_artifact(ordinal) {
                    DELETED.clone_into(&mut artifact.status);
                }
            }
            ArtifactOp::Created
            | ArtifactOp::Updated
            | ArtifactOp::Changed
            | ArtifactOp::VersionCreated
            | ArtifactOp::PreviewReady
            | ArtifactOp::DiffReady => self.state_fields(ordinal, op, members),
        }
    }

    /// What an event says of the artifact itself. A preview and a difference are of a version and say nothing of the status.
    fn state_fields(&mut self, ordinal: i64, op: ArtifactOp, members: &mut Members<'_>) {
        let beside = matches!(op, ArtifactOp::PreviewReady | ArtifactOp::DiffReady);
        let (status, version) = (members.word("artifactStatus"), members.word("artifactVersionId"));
        let kind = members.word("artifactKind");
        let (read_ref, diff_ref) = (members.word("artifactReadRef"), members.word("artifactDiffRef"));
        let cleared = members.is_null("artifactPreview");
        let preview = members.take("artifactPreview").and_then(|preview| self.json(&preview));
        let Some(artifact) = self.id_artifact(ordinal) else { return };
        if let Some(status) = status.filter(|_| !beside) {
            artifact.status = status;
            artifact.error = None;
        }
        if let Some(version) = version.filter(|_| !beside) {
            if !artifact.versions.contains(&version) {
                push_newest(&mut artifact.versions, version.clone(), |version| id_bytes(version));
                artifact.versions_count += 1;
            }
            artifact.version = Some(version);
        }
        if let Some(kind) = kind {
            artifact.kind = kind;
        }
        if preview.is_some() || cleared {
            artifact.preview = preview;
        }
        artifact.read_ref = read_ref.or(artifact.read_ref.take());
        artifact.diff_ref = diff_ref.or(artifact.diff_ref.take());
        let dropped = members.merge_stated(&mut artifact.fields);
        self.note(dropped);
    }

    fn export(&mut self, ordinal: i64, export: Option<String>, state: &str, members: &mut Members<'_>) {
        let reference = ["artifactExportRef", "exportRef", "artifactReadRef"].iter().find_map(|key| members.word(key));
        let Some(id) = export else { return };
        let Some(artifact) = self.id_artifact(ordinal) else { return };
        if let Some(job) = artifact.exports.iter_mut().find(|job| job.id == id) {
            state.clone_into(&mut job.state);
            job.reference = reference.or(job.reference.take());
            return;
        }
        let job = Export { id, state: state.to_owned(), reference };
        push_newest(&mut artifact.exports, job, |job| id_bytes(&job.id) + id_bytes(job.reference.as_deref().unwrap_or_default()));
        artifact.exports_count += 1;
    }

    /// Puts a reference into the timeline of the turn, once. An export goes on beside whatever turn is current.
    fn refer(&mut self, ordinal: i64, changed: &ArtifactChanged<'_>) {
        let exports = matches!(changed.op, ArtifactOp::ExportStarted | ArtifactOp::ExportCompleted);
        if changed.turn.is_none() && exports {
            return;
        }
        let Some(turn) = self.turn_of(changed.turn.as_deref()) else { return };
        let Some(name) = self.turn_name(turn) else { return };
        let known = matches!(self.body(Sequence::Shelf, ordinal), Some(Body::Artifact(artifact)) if artifact.turns.contains(&name));
        if known {
            return;
        }
        if let Some(artifact) = self.id_artifact(ordinal) {
            push_newest(&mut artifact.turns, name, |turn| id_bytes(turn));
            artifact.turns_count += 1;
        }
        self.append(Some(turn), Body::ArtifactRef(changed.artifact.to_string()));
    }
}

/// A deleted artifact that is created again: a new one in all but its id and the turns that reference it.
fn again(gone: &Artifact) -> Artifact {
    Artifact {
        id: gone.id.clone(),
        kind: UNKNOWN.to_owned(),
        status: UNKNOWN.to_owned(),
        turns: gone.turns.clone(),
        turns_count: gone.turns_count,
        incarnation: gone.incarnation.saturating_add(1),
        ..Artifact::default()
    }
}
