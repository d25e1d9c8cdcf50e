//! Evidence records, beside the stream and linked to their turn.

use super::super::entry::{Body, Sequence};
use super::super::lookup::Space;
use super::super::shelf::Evidence;
use super::Fold;
use super::value::{Members, meaning};
use crate::fact::EvidenceChanged;

impl Fold<'_> {
    pub(super) fn evidence_changed(&mut self, changed: &EvidenceChanged<'_>) {
        let id = changed.evidence.as_ref();
        let mut members = Members::of(&changed.fields);
        if members.is_none() {
            self.diagnose("evidence_not_an_object", Some(id.to_owned()));
        }
        let members = members.get_or_insert_default();
        let ordinal = self.find(Space::Evidence, id).unwrap_or_else(|| {
            let ordinal = self.shelve(Body::Evidence(Evidence { id: id.to_owned(), ..Evidence::default() }));
            self.name(Space::Evidence, id, ordinal);
            ordinal
        });
        self.link_evidence(ordinal, changed);
        let status = members.word("status");
        let verdict = members.take("verdict");
        let (kept, means) = (verdict.as_ref().and_then(|verdict| self.json(verdict)), meaning(verdict.as_ref()));
        let Some(Body::Evidence(evidence)) = self.body_mut(Sequence::Shelf, ordinal) else { return };
        evidence.status = status.or(evidence.status.take());
        if kept.is_some() {
            evidence.verdict_changes += u32::from(evidence.verdict.is_some() && evidence.verdict_meaning != means);
            (evidence.verdict, evidence.verdict_meaning) = (kept, means);
        }
        let dropped = members.merge(&mut evidence.fields);
        self.note(dropped);
    }

    /// Links a record to the turn that is named, and to the current one when it has none: an export goes on beside later turns.
    fn link_evidence(&mut self, ordinal: i64, changed: &EvidenceChanged<'_>) {
        let linked = match self.body(Sequence::Shelf, ordinal) {
            Some(Body::Evidence(evidence)) => evidence.turn.clone(),
            _ => return,
        };
        if changed.turn.is_none() && linked.is_some() {
            return;
        }
        let Some(turn) = self.turn_of(changed.turn.as_deref()) else { return };
        let Some(name) = self.turn_name(turn).filter(|name| linked.as_ref() != Some(name)) else { return };
        if let Some(Body::Evidence(evidence)) = self.body_mut(Sequence::Shelf, ordinal) {
            evidence.turn = Some(name);
        }
        self.append(Some(turn), Body::EvidenceRef(changed.evidence.to_string()));
    }
}
