//! Artifacts of turns, by path. Source: `protocols.md`, section 2.3.

use std::collections::BTreeSet;

use super::super::entry::{Body, PathArtifact, Sequence};
use super::super::lookup::Space;
use super::super::shelf::Artifact;
use super::Fold;
use super::value::{id_bytes, push_newest};
use crate::fact::{ArtifactReference, TurnArtifactsSet};

impl Fold<'_> {
    pub(super) fn turn_artifacts_set(&mut self, set: &TurnArtifactsSet<'_>) {
        self.set_artifacts(&set.turn, &set.references);
    }

    /// Replaces a turn's artifacts and keeps the index of paths in step.
    pub(super) fn set_artifacts(&mut self, turn: &str, references: &[ArtifactReference<'_>]) {
        let Some(ordinal) = self.turn_of(Some(turn)) else { return };
        let seq = self.seq;
        let new = distinct(references);
        let Some(turn) = self.turn_mut(ordinal) else { return };
        let id = turn.id.clone();
        turn.artifacts_seq = seq;
        let old = turn.artifacts.replace(new.clone()).unwrap_or_default();
        let [before, now] = [&old, &new].map(|list| list.iter().map(|reference| reference.path.as_str()).collect::<BTreeSet<_>>());
        for gone in before.difference(&now) {
            if let Some(artifact) = self.path_artifact(gone) {
                artifact.turns.retain(|turn| *turn != id);
                artifact.turns_count = artifact.turns_count.saturating_sub(1);
            }
        }
        for reference in &new {
            self.reference(&id, reference, before.contains(reference.path.as_str()));
        }
    }

    fn path_artifact(&mut self, path: &str) -> Option<&mut Artifact> {
        let shelf = self.find(Space::Path, path)?;
        match self.body_mut(Sequence::Shelf, shelf)? {
            Body::Artifact(artifact) => Some(artifact),
            _ => None,
        }
    }

    fn reference(&mut self, turn: &str, reference: &PathArtifact, again: bool) {
        if self.path_artifact(&reference.path).is_none() {
            let artifact = Artifact { path: Some(reference.path.clone()), status: "ready".to_owned(), ..Artifact::default() };
            let shelf = self.shelve(Body::Artifact(artifact));
            self.name(Space::Path, &reference.path, shelf);
        }
        if let Some(artifact) = self.path_artifact(&reference.path) {
            artifact.kind.clone_from(&reference.artifact_type);
            if !again {
                push_newest(&mut artifact.turns, turn.to_owned(), |turn| id_bytes(turn));
                artifact.turns_count += 1;
            }
        }
    }
}

/// Of equal paths, the place of the first and the value of the last.
fn distinct(references: &[ArtifactReference<'_>]) -> Vec<PathArtifact> {
    let mut places = std::collections::BTreeMap::<&str, usize>::new();
    let mut distinct = Vec::<PathArtifact>::new();
    for reference in references {
        let place = *places.entry(&reference.path).or_insert(distinct.len());
        let value = PathArtifact { path: reference.path.to_string(), artifact_type: reference.artifact_type.to_string() };
        match distinct.get_mut(place) {
            Some(slot) => *slot = value,
            None => distinct.push(value),
        }
    }
    distinct
}
