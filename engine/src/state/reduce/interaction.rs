//! Questions and decisions. Source: the table of `protocols.md`, section 3.6.

use super::super::entry::{Body, Decision, Interaction, InteractionStatus, Sequence};
use super::super::lookup::Space;
use super::value::meaning;
use super::{Fold, owned};
use crate::fact::{InteractionRequested, InteractionResolved, Resolution};
use crate::limits::CONFLICTS_MAX;

impl Fold<'_> {
    /// A request that is stated again: the richer or newer statement stands.
    fn restate(&mut self, asked: &InteractionRequested<'_>) {
        let (request, interrupt) = (self.json_if(&asked.request), self.json_if(&asked.interrupt));
        let Some((_, interaction)) = self.interaction_mut(&asked.interaction) else { return };
        if !asked.kind.is_empty() && (request.is_some() || interaction.kind.is_empty()) {
            interaction.kind = asked.kind.to_string();
        }
        if let Some(request) = request {
            let other = interaction.request.as_ref().is_some_and(|known| !known.says(&request));
            interaction.revision += u32::from(other);
            interaction.request = Some(request);
        }
        interaction.interrupt = interrupt.or(interaction.interrupt.take());
        interaction.tool = owned(&asked.tool).or(interaction.tool.take());
        interaction.expires_at = owned(&asked.expires_at).or(interaction.expires_at.take());
    }

    fn decision(&self, resolved: &InteractionResolved<'_>) -> Decision {
        Decision {
            id: owned(&resolved.decision),
            resolution: match resolved.resolution {
                Resolution::Resolved => "resolved",
                Resolution::Cancelled => "cancelled",
                Resolution::Expired => "expired",
            }
            .to_owned(),
            payload: self.json_if(&resolved.payload),
            payload_meaning: meaning(resolved.payload.as_ref()),
            receipt: self.json_if(&resolved.receipt),
            receipt_meaning: meaning(resolved.receipt.as_ref()),
        }
    }

    fn interaction_mut(&mut self, id: &str) -> Option<(i64, &mut Interaction)> {
        let ordinal = self.find(Space::Interaction, id)?;
        match self.body_mut(Sequence::Timeline, ordinal)? {
            Body::Interaction(interaction) => Some((ordinal, interaction)),
            _ => None,
        }
    }

    fn new_interaction(&mut self, asked: &InteractionRequested<'_>, status: InteractionStatus) -> i64 {
        let turn = self.turn_of(asked.turn.as_deref());
        let turn_id = turn.and_then(|ordinal| self.turn_name(ordinal));
        let interaction = Interaction {
            id: asked.interaction.to_string(),
            kind: asked.kind.to_string(),
            status,
            request: self.json_if(&asked.request),
            revision: 0,
            interrupt: self.json_if(&asked.interrupt),
            turn: turn_id,
            tool: owned(&asked.tool),
            expires_at: owned(&asked.expires_at),
            decision: None,
            conflicts: Vec::new(),
            conflicts_count: 0,
        };
        let ordinal = self.append(turn, Body::Interaction(interaction));
        self.name(Space::Interaction, &asked.interaction, ordinal);
        ordinal
    }

    pub(super) fn interaction_requested(&mut self, asked: &InteractionRequested<'_>) {
        let Some((ordinal, interaction)) = self.interaction_mut(&asked.interaction) else {
            let ordinal = self.new_interaction(asked, InteractionStatus::Pending);
            self.state.header.pending.push(ordinal);
            return;
        };
        if interaction.status == InteractionStatus::Resolved && interaction.request.is_some() {
            return self.diagnose("request_after_resolution", Some(asked.interaction.to_string()));
        }
        let reopens = interaction.status == InteractionStatus::Withdrawn;
        self.restate(asked);
        if reopens {
            if let Some((_, interaction)) = self.interaction_mut(&asked.interaction) {
                interaction.status = InteractionStatus::Pending;
            }
            self.state.header.pending.push(ordinal);
        }
        let turn = asked.turn.as_deref().map(str::to_owned).or_else(|| self.turn_name(self.state.header.current?));
        if let Some((_, interaction)) = self.interaction_mut(&asked.interaction).filter(|_| asked.interrupt.is_some()) {
            interaction.turn = turn;
        }
    }

    /// An owner's list names it: pending unless it was resolved.
    pub(super) fn interaction_asserted(&mut self, asked: &InteractionRequested<'_>) {
        match self.interaction_mut(&asked.interaction) {
            Some((_, interaction)) if interaction.status == InteractionStatus::Resolved => {
                self.diagnose("request_after_resolution", Some(asked.interaction.to_string()));
            }
            _ => self.interaction_requested(asked),
        }
    }

    pub(super) fn interaction_resolved(&mut self, resolved: &InteractionResolved<'_>) {
        let decision = self.decision(resolved);
        let Some((ordinal, interaction)) = self.interaction_mut(&resolved.interaction) else {
            let stub = InteractionRequested { interaction: resolved.interaction.clone(), ..InteractionRequested::default() };
            self.new_interaction(&stub, InteractionStatus::Resolved);
            if let Some((_, interaction)) = self.interaction_mut(&resolved.interaction) {
                interaction.decision = Some(decision);
            }
            return self.diagnose("resolution_for_unknown_request", Some(resolved.interaction.to_string()));
        };
        if interaction.status != InteractionStatus::Resolved {
            interaction.status = InteractionStatus::Resolved;
            interaction.decision = Some(decision);
            self.state.header.pending.retain(|pending| *pending != ordinal);
            return;
        }
        let code = repeat(interaction, decision);
        if let Some(code) = code {
            self.diagnose(code, Some(resolved.interaction.to_string()));
        }
    }
}

/// A decision on what is decided: a repeat, a late receipt, or a conflict; the first stands.
fn repeat(interaction: &mut Interaction, new: Decision) -> Option<&'static str> {
    let Some(first) = &mut interaction.decision else {
        interaction.decision = Some(new);
        return None;
    };
    if first.id != new.id || first.resolution != new.resolution || first.payload_meaning != new.payload_meaning {
        interaction.conflicts_count += 1;
        if interaction.conflicts.len() < CONFLICTS_MAX {
            interaction.conflicts.push(new);
        }
        return Some("decision_conflict");
    }
    if first.receipt.is_none() {
        (first.receipt, first.receipt_meaning) = (new.receipt, new.receipt_meaning);
    } else if new.receipt.is_some() && first.receipt_meaning != new.receipt_meaning {
        return Some("receipt_conflict");
    }
    None
}
