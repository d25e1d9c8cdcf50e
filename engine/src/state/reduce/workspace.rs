//! The workspace and what agents ask of it. Source: `protocols.md`, section 3.7.
//!
//! **Invariant:** an intent changes nothing but its own record, and its terminal status is final.

use super::super::entry::{Body, Sequence};
use super::super::lookup::{Space, WORKSPACE};
use super::super::shelf::{Intent, Workspace};
use super::Fold;
use super::value::{Members, meaning};
use crate::fact::{Json, WorkspaceChanged, WorkspaceOp};

impl Fold<'_> {
    pub(super) fn workspace_changed(&mut self, changed: &WorkspaceChanged<'_>) {
        match (changed.op, changed.intent.as_deref()) {
            (WorkspaceOp::Capabilities, _) => {
                let capabilities = self.json(&changed.body);
                if let Some(workspace) = self.workspace() {
                    workspace.capabilities = capabilities;
                }
            }
            (WorkspaceOp::State, _) => self.workspace_state(&changed.body),
            (WorkspaceOp::Intent, Some(id)) => self.intent(id, &changed.body),
            (WorkspaceOp::IntentResult, Some(id)) => self.intent_result(id, &changed.body),
            (WorkspaceOp::Intent, None) => self.diagnose("intent_without_id", None),
            (WorkspaceOp::IntentResult, None) => self.diagnose("intent_result_uncorrelated", None),
        }
    }

    fn workspace(&mut self) -> Option<&mut Workspace> {
        let ordinal = self.find(Space::Single, WORKSPACE).unwrap_or_else(|| {
            let ordinal = self.shelve(Body::Workspace(Workspace::default()));
            self.name(Space::Single, WORKSPACE, ordinal);
            ordinal
        });
        match self.body_mut(Sequence::Shelf, ordinal)? {
            Body::Workspace(workspace) => Some(workspace),
            _ => None,
        }
    }

    /// A snapshot replaces the one before it, unless its revision says that it is older.
    fn workspace_state(&mut self, body: &Json<'_>) {
        let revision = Members::of(body).and_then(|members| members.number("revision"));
        let state = self.json(body);
        let Some(workspace) = self.workspace() else { return };
        if revision.is_some() && revision < workspace.revision {
            return;
        }
        workspace.state = state;
        workspace.revision = revision.or(workspace.revision);
    }

    fn intent(&mut self, id: &str, body: &Json<'_>) {
        let means = meaning(Some(body));
        let known = self.find(Space::Intent, id).and_then(|ordinal| self.body(Sequence::Shelf, ordinal));
        match known {
            Some(Body::Intent(intent)) if intent.meaning == means => {}
            Some(_) => self.diagnose("intent_id_reused", Some(id.to_owned())),
            None => {
                let body = self.json(body);
                let intent = Intent { id: id.to_owned(), status: "requested".to_owned(), body, meaning: means, result: None };
                let ordinal = self.shelve(Body::Intent(intent));
                self.name(Space::Intent, id, ordinal);
            }
        }
    }

    fn intent_result(&mut self, id: &str, body: &Json<'_>) {
        let Some(ordinal) = self.find(Space::Intent, id) else {
            return self.diagnose("intent_result_uncorrelated", Some(id.to_owned()));
        };
        let status = Members::of(body).and_then(|mut members| members.word("status")).unwrap_or_default();
        let Some(Body::Intent(intent)) = self.body(Sequence::Shelf, ordinal) else { return };
        let refused = match (intent.status.as_str(), status.as_str()) {
            ("completed" | "failed" | "rejected", _) => Some("intent_result_after_terminal"),
            (_, "completed" | "failed") | ("requested", "accepted" | "rejected") => None,
            ("accepted", "accepted") => return,
            ("accepted", "rejected") => Some("intent_result_out_of_order"),
            _ => Some("intent_result_unknown_status"),
        };
        if let Some(code) = refused {
            return self.diagnose(code, Some(format!("{id}: {status}")));
        }
        let result = self.json(body);
        if let Some(Body::Intent(intent)) = self.body_mut(Sequence::Shelf, ordinal) {
            intent.status = status;
            intent.result = result;
        }
    }
}
