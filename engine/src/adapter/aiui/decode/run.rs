//! Runs and their steps.

use serde_json::value::RawValue;

use super::super::code;
use super::super::name::Name;
use super::super::order::Note;
use super::{Decoder, Incoming, Own};
use crate::adapter::fields::{Bad, Fields, list_of, text_of, write_object};
use crate::event::Owner;
use crate::fact::{
    Fact, HistoryImported, HistoryMode, InteractionRequested, InteractionResolved, Json, Resolution, Text, TurnEnded, TurnStarted,
    TurnStatus,
};

impl Decoder {
    pub(super) fn run_event<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        match event.name {
            Name::RunStarted => self.run_starts(event, own),
            Name::RunFinished => self.run_finishes(event, own),
            Name::RunError => self.run_fails(event, own),
            _ => self.step(event, own),
        }
    }

    fn run_starts<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let run = event.fields.text("runId")?;
        let thread = event.fields.text("threadId")?;
        let parent = event.text_or_none("parentRunId", own);
        let turn = event.text_or_none("turnId", own);
        self.close_all_lanes(own);
        own.note(self.order.gate(event.name));
        self.run = Some(run.to_string());
        let (turn, run) = match turn {
            Some(turn) => (turn, Some(run)),
            None => (run, None),
        };
        let started = TurnStarted { turn, run, thread: Some(thread), parent, resumes: None };
        own.fact(Fact::TurnStarted(started), Owner::RUNTIME);
        if event.fields.some("input").is_some_and(|input| self.input(input, own).is_err()) {
            own.note(Some(event.bad_field("input", "a run's input")));
        }
        Ok(())
    }

    /// The input that a run was started with: messages that may be new, answers to interrupts.
    fn input<'a>(&mut self, raw: &'a RawValue, own: &mut Own<'a>) -> Result<(), Bad> {
        let input = Fields::of("input", raw)?;
        let messages = match input.some("messages") {
            Some(raw) => super::history::messages("messages", raw, own)?,
            None => Vec::new(),
        };
        for message in &messages {
            self.learn(message, false);
        }
        if !messages.is_empty() {
            own.fact(Fact::HistoryImported(imported(HistoryMode::Append, messages)), Owner::SESSION);
        }
        for raw in input.some("resume").and_then(list_of).unwrap_or_default() {
            match resumed(raw) {
                Some(resolved) => own.fact(Fact::InteractionResolved(resolved), Owner::ACTION),
                None => own.note(Some(Note::new(code::MALFORMED_FIELD, "input.resume: expected interruptId and status"))),
            }
        }
        Ok(())
    }

    fn run_finishes<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let run = event.text_or_none("runId", own);
        for key in ["threadId", "runId"] {
            if event.fields.get(key).is_none() {
                own.note(Some(event.bad_field(key, "a string")));
            }
        }
        self.close_all_lanes(own);
        own.note(self.order.gate(event.name));
        own.note(self.order.run_finishes());
        let turn = self.ending_run(run, own);
        let mut ended = TurnEnded { turn: turn.clone(), status: Text::Borrowed("completed"), ..TurnEnded::default() };
        ended.result = event.fields.some("result").map(Json::raw);
        ended.usage = usage(event, own);
        if let Some(outcome) = event.fields.some("outcome") {
            self.outcome(event, outcome, &mut ended, own);
        }
        own.fact(Fact::TurnEnded(ended), Owner::RUNTIME);
        Ok(())
    }

    /// The run that ends: the one that is named, unless another is running.
    fn ending_run<'a>(&mut self, named: Option<Text<'a>>, own: &mut Own<'a>) -> Option<Text<'a>> {
        match (self.run.take(), named) {
            (Some(running), Some(named)) if running != named => {
                own.note(Some(Note::new(code::RUN_MISMATCH, format!("run {running} ends as {named}"))));
                Some(Text::Owned(running))
            }
            (Some(running), None) => Some(Text::Owned(running)),
            (_, named) => named,
        }
    }

    fn outcome<'a>(&self, event: &Incoming<'_, 'a>, raw: &'a RawValue, ended: &mut TurnEnded<'a>, own: &mut Own<'a>) {
        let fields = Fields::of("outcome", raw).unwrap_or_default();
        match fields.get("type").and_then(text_of).as_deref() {
            Some("success") => {
                let pending = fields.some("pendingToolCallIds").and_then(list_of).unwrap_or_default();
                ended.pending_tools = pending.into_iter().filter_map(text_of).collect();
            }
            Some("cancelled") => ended.status = Text::Borrowed("cancelled"),
            Some("interrupt") => {
                ended.status = Text::Borrowed("interrupt");
                let list = fields.some("interrupts").and_then(list_of).unwrap_or_default();
                let asked: Vec<_> = list.iter().filter_map(|raw| interrupt(raw, ended.turn.as_ref())).collect();
                if asked.is_empty() || asked.len() != list.len() {
                    own.note(Some(event.bad_field("outcome.interrupts", "interrupts with id and reason")));
                }
                asked.into_iter().for_each(|asked| own.fact(Fact::InteractionRequested(asked), Owner::RUNTIME));
            }
            _ => own.note(Some(event.bad_field("outcome", "success, interrupt or cancelled"))),
        }
    }

    fn run_fails<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let message = event.fields.required("message")?;
        event.fields.text("message")?;
        let code = event.text_or_none("code", own).and_then(|_| event.fields.get("code"));
        self.close_all_lanes(own);
        own.note(self.order.gate(event.name));
        self.order.run_fails();
        let error = write_object([("message", Some(message)), ("code", code)].into_iter().filter_map(|(key, raw)| Some((key, raw?.get()))));
        let ended = TurnEnded {
            turn: self.run.take().map(Text::Owned),
            status: Text::Borrowed("failed"),
            error: Some(Json::built(error)),
            usage: usage(event, own),
            ..TurnEnded::default()
        };
        own.fact(Fact::TurnEnded(ended), Owner::RUNTIME);
        Ok(())
    }

    fn step<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let stage = event.fields.text("stepName")?;
        let starts = event.name == Name::StepStarted;
        let agent = self.before(event, own);
        own.note(self.order.step(&stage, agent.as_deref(), starts));
        let phase = Some(Text::Borrowed(if starts { "started" } else { "finished" }));
        own.fact(Fact::TurnStatus(TurnStatus { turn: None, stage, phase, detail: None }), Owner::RUNTIME);
        Ok(())
    }

    pub(super) fn subagent<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Bad> {
        let agent = event.fields.text("subagentRunId")?;
        match event.name {
            Name::SubagentStarted => {
                event.fields.text("name")?;
                own.note(self.order.gate(event.name));
                let parent = event.text_or_none("parentSubagentRunId", own);
                own.note(self.order.agent_starts(&agent, parent.as_deref()));
            }
            _ => {
                if event.name == Name::SubagentError {
                    event.fields.text("message")?;
                }
                self.close_lane(Some(&agent), own);
                own.note(self.order.gate(event.name));
                own.note(self.order.agent_ends(&agent));
            }
        }
        Ok(())
    }
}

pub(super) fn imported(mode: HistoryMode, messages: Vec<crate::fact::HistoryMessage<'_>>) -> HistoryImported<'_> {
    HistoryImported { mode, messages, turns: Vec::new(), older: None, requested_at: None, authoritative_activities: None }
}

/// Usage records, as they are; records that no client accepts are noted.
fn usage<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Option<Json<'a>> {
    let raw = event.fields.some("usage")?;
    let counts = |key: &str, value: &RawValue| !key.ends_with("Tokens") || value.get().parse::<u64>().is_ok();
    let sound = list_of(raw).is_some_and(|list| {
        list.iter().all(|record| Fields::of("usage", record).is_ok_and(|record| record.iter().all(|(key, value)| counts(key, value))))
    });
    if !sound {
        own.note(Some(event.bad_field("usage", "a list of token counts")));
    }
    Some(Json::raw(raw))
}

/// An interrupt that ends a run.
pub(in crate::adapter::aiui) fn interrupt<'a>(raw: &'a RawValue, turn: Option<&Text<'a>>) -> Option<InteractionRequested<'a>> {
    let fields = Fields::of("interrupt", raw).ok()?;
    Some(InteractionRequested {
        interaction: fields.get("id").and_then(text_of)?,
        kind: fields.get("reason").and_then(text_of)?,
        request: None,
        interrupt: Some(Json::raw(raw)),
        turn: turn.cloned(),
        tool: fields.get("toolCallId").and_then(text_of),
        expires_at: super::human::expiry(&fields),
    })
}

/// An answer to an interrupt.
pub(in crate::adapter::aiui) fn resumed(raw: &RawValue) -> Option<InteractionResolved<'_>> {
    let fields = Fields::of("resume", raw).ok()?;
    let resolution = match fields.get("status").and_then(text_of)?.as_ref() {
        "resolved" => Resolution::Resolved,
        "cancelled" => Resolution::Cancelled,
        _ => return None,
    };
    let interaction = fields.get("interruptId").and_then(text_of)?;
    Some(InteractionResolved { interaction, decision: None, resolution, payload: Some(Json::raw(raw)), receipt: None })
}
