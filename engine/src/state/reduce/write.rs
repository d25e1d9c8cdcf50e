//! Controlled writes: what the host attempted and what its owner said. They move nothing else. Source: `protocols.md`, section 9.

use super::super::entry::{Body, Sequence};
use super::super::lookup::Space;
use super::super::shelf::Write;
use super::Fold;
use crate::fact::{WriteChanged, WriteOp};

/// The status of a write that was attempted and of which nothing more is known.
const ATTEMPTED: &str = "attempted";

impl Fold<'_> {
    pub(super) fn write_changed(&mut self, changed: &WriteChanged<'_>) {
        let known = self.find(Space::Write, &changed.write);
        let ordinal = known.unwrap_or_else(|| {
            let ordinal = self.shelve(Body::Write(Write { id: changed.write.to_string(), ..Write::default() }));
            self.name(Space::Write, &changed.write, ordinal);
            ordinal
        });
        match &changed.op {
            WriteOp::Attempted { action, target, key, detail } => {
                let detail = self.json_if(detail);
                let Some(Body::Write(write)) = self.body_mut(Sequence::Shelf, ordinal) else { return };
                write.action = Some(action.to_string());
                write.target = target.as_deref().map(str::to_owned).or(write.target.take());
                write.key = key.as_deref().map(str::to_owned).or(write.key.take());
                write.attempt = detail.or(write.attempt.take());
                write.attempts = write.attempts.saturating_add(1);
                ATTEMPTED.clone_into(&mut write.status);
                write.outcome = None;
            }
            WriteOp::Settled { outcome, detail } => {
                let detail = self.json_if(detail);
                let Some(Body::Write(write)) = self.body_mut(Sequence::Shelf, ordinal) else { return };
                // What an owner confirmed or refused stands until the next attempt.
                let open = matches!(write.status.as_str(), "" | ATTEMPTED | "unknown");
                if open {
                    write.status = outcome.to_string();
                    write.outcome = detail;
                } else if write.status != *outcome {
                    return self.diagnose("write_outcome_conflict", Some(changed.write.to_string()));
                }
                if known.is_none() {
                    self.diagnose("write_settled_before_attempt", Some(changed.write.to_string()));
                }
            }
        }
    }
}
