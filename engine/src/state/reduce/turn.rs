//! Turns: begin, stage, end, and the owner's statement about the open one.

use std::collections::BTreeSet;

use super::super::entry::{Body, Entry, Interaction, InteractionStatus, Sequence, Turn};
use super::super::lookup::Space;
use super::value::first_ids;
use super::{Fold, owned};
use crate::fact::{CurrentTurnAsserted, InteractionRequested, TurnEnded, TurnStarted, TurnStatus};

impl Fold<'_> {
    /// The turn that a fact names; an unknown one becomes a stub of status unknown. No name means the current turn.
    pub(super) fn turn_of(&mut self, id: Option<&str>) -> Option<i64> {
        match id {
            None => self.state.header.current,
            Some(id) => Some(self.find(Space::Turn, id).unwrap_or_else(|| self.new_turn(id, "unknown"))),
        }
    }

    pub(super) fn new_turn(&mut self, id: &str, status: &str) -> i64 {
        let ordinal = self.append(None, Body::Turn(Turn { id: id.to_owned(), status: status.to_owned(), ..Turn::default() }));
        self.name(Space::Turn, id, ordinal);
        ordinal
    }

    pub(super) fn turn_mut(&mut self, ordinal: i64) -> Option<&mut Turn> {
        match self.body_mut(Sequence::Timeline, ordinal)? {
            Body::Turn(turn) => Some(turn),
            _ => None,
        }
    }

    /// A turn of whose status this event speaks.
    fn told(&mut self, ordinal: i64) -> Option<&mut Turn> {
        let seq = self.seq;
        let turn = self.turn_mut(ordinal)?;
        turn.told_seq = seq;
        Some(turn)
    }

    /// Notes that this event brings what an assistant says in a turn.
    pub(super) fn said(&mut self, turn: Option<i64>) {
        let seq = self.seq;
        let Some(ordinal) = turn else { return };
        if !matches!(self.body(Sequence::Timeline, ordinal), Some(Body::Turn(turn)) if turn.said_seq.is_none()) {
            return;
        }
        // Not a change that a reader of the turn would look for: its own seq stays.
        if let Some(Body::Turn(turn)) = self.state.entry_mut(Sequence::Timeline, ordinal, seq).map(|entry| &mut entry.body) {
            turn.said_seq = Some(seq);
        }
    }

    pub(super) fn turn_started(&mut self, started: &TurnStarted<'_>) {
        let known = self.find(Space::Turn, &started.turn);
        let ordinal = known.unwrap_or_else(|| self.new_turn(&started.turn, "running"));
        if let Some(turn) = self.told(ordinal) {
            turn.reopened += u32::from(turn.ended);
            turn.ended = false;
            "running".clone_into(&mut turn.status);
            turn.run = owned(&started.run).or(turn.run.take());
            turn.thread = owned(&started.thread).or(turn.thread.take());
            turn.parent = owned(&started.parent).or(turn.parent.take());
            turn.resumes = owned(&started.resumes).or(turn.resumes.take());
        }
        if let Some(run) = started.run.as_deref().filter(|run| *run != started.turn) {
            self.name(Space::Turn, run, ordinal);
        }
        self.state.header.current = Some(ordinal);
        (self.state.header.running, self.state.header.failed) = (true, false);
        self.state.header.touched = self.seq;
    }

    pub(super) fn turn_status(&mut self, status: &TurnStatus<'_>) {
        let Some(ordinal) = self.turn_of(status.turn.as_deref()) else {
            return self.diagnose("status_without_turn", None);
        };
        let seq = self.seq;
        let Some(turn) = self.turn_mut(ordinal) else { return };
        if turn.ended {
            let detail = format!("{} after the end of turn {}", status.stage, turn.id);
            return self.diagnose("status_after_end", Some(detail));
        }
        turn.told_seq = seq;
        let finished = status.phase.as_deref() == Some("finished");
        turn.stage = if finished { turn.stage.take().filter(|stage| *stage != status.stage) } else { Some(status.stage.to_string()) };
    }

    pub(super) fn turn_ended(&mut self, ended: &TurnEnded<'_>) {
        let Some(ordinal) = self.turn_of(ended.turn.as_deref()) else {
            return self.diagnose("turn_end_without_turn", None);
        };
        let [error, result, usage] = [&ended.error, &ended.result, &ended.usage].map(|value| self.json_if(value));
        let Some(turn) = self.told(ordinal) else { return };
        turn.status = ended.status.to_string();
        turn.ended = true;
        turn.stage = None;
        (turn.error, turn.result, turn.usage) = (error, result, usage);
        turn.retryable = ended.retryable;
        turn.pending_tools = first_ids(&ended.pending_tools);
        turn.pending_tools_count = ended.pending_tools.len() as u64;
        let (id, parent) = (turn.id.clone(), turn.parent.clone());
        if self.state.header.current == Some(ordinal) {
            (self.state.header.running, self.state.header.failed) = (false, ended.status == "failed");
        }
        if ended.status == "interrupt" {
            // Its list of interrupts is whole: what an earlier turn asked and this one does not, is no longer asked.
            self.withdraw(|_, asked| asked.interrupt.is_some() && asked.turn.as_ref() != Some(&id));
        } else {
            let goes_on = |asked: &Interaction| ended.status == "completed" && asked.interrupt.is_some() && asked.turn == parent;
            self.withdraw(|entry_turn, asked| entry_turn == Some(ordinal) || (parent.is_some() && goes_on(asked)));
        }
    }

    /// The id of the turn at an ordinal.
    pub(super) fn turn_name(&self, ordinal: i64) -> Option<String> {
        match self.body(Sequence::Timeline, ordinal)? {
            Body::Turn(turn) => Some(turn.id.clone()),
            _ => None,
        }
    }

    /// A result shows that whoever was asked about the call has answered, wherever the answer went.
    pub(super) fn result_settles(&mut self, tool: &str) {
        if !self.state.header.pending.is_empty() {
            self.withdraw(|_, asked| asked.interrupt.is_some() && asked.tool.as_deref() == Some(tool));
        }
    }

    /// Withdraws the pending interactions that `which` picks; a withdrawal is never a decision.
    fn withdraw(&mut self, which: impl Fn(Option<i64>, &Interaction) -> bool) {
        self.withdraw_of(|entry, asked| which(entry.turn, asked));
    }

    pub(super) fn withdraw_of(&mut self, which: impl Fn(&Entry, &Interaction) -> bool) {
        let mut pending = std::mem::take(&mut self.state.header.pending);
        pending.retain(|ordinal| {
            let Some(entry) = self.state.entry(Sequence::Timeline, *ordinal) else { return true };
            let Body::Interaction(interaction) = &entry.body else { return true };
            if !which(entry, interaction) {
                return true;
            }
            if let Some(Body::Interaction(interaction)) = self.body_mut(Sequence::Timeline, *ordinal) {
                interaction.status = InteractionStatus::Withdrawn;
            }
            false
        });
        self.state.header.pending = pending;
    }

    pub(super) fn current_turn_asserted(&mut self, asserted: &CurrentTurnAsserted<'_>) {
        let Some(current) = &asserted.current else {
            self.withdraw(|_, _| true);
            self.end_unobserved(None);
            return;
        };
        let ordinal = self.find(Space::Turn, &current.turn).unwrap_or_else(|| self.new_turn(&current.turn, "unknown"));
        self.end_unobserved(Some(ordinal));
        let running = current.status == "running";
        if let Some(turn) = self.told(ordinal) {
            turn.reopened += u32::from(running && turn.ended);
            turn.status = current.status.to_string();
            turn.ended = !running;
        }
        self.state.header.current = Some(ordinal);
        (self.state.header.running, self.state.header.failed) = (running, current.status == "failed");
        self.state.header.touched = self.seq;
        let named: BTreeSet<&str> = current.pending.iter().map(|(id, _)| id.as_ref()).collect();
        self.withdraw(|_, asked| !named.contains(asked.id.as_str()));
        for (id, request) in &current.pending {
            let request = Some(request.clone());
            let turn = Some(current.turn.clone());
            self.interaction_asserted(&InteractionRequested { interaction: id.clone(), request, turn, ..InteractionRequested::default() });
        }
    }

    /// A turn that was running and of which its owner no longer speaks has ended, nobody saw how.
    fn end_unobserved(&mut self, but: Option<i64>) {
        let Some(ordinal) = self.state.header.current.filter(|current| self.state.header.running && Some(*current) != but) else { return };
        if let Some(turn) = self.told(ordinal) {
            "unknown".clone_into(&mut turn.status);
            turn.stage = None;
        }
        self.state.header.running = false;
        self.diagnose("turn_ended_unobserved", None);
    }
}
