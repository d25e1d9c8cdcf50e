//! Runs: begin, stage, end.

use super::super::class::Class;
use super::{Decoder, Incoming, Own, Refused};
use crate::adapter::fields::{text_of, write_object};
use crate::fact::{Fact, Json, Text, TurnEnded, TurnStarted, TurnStatus};

impl Decoder {
    pub(super) fn run<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
        match event.class {
            Class::RunStarted => self.started(event, own),
            Class::RunStatus => status(event, own),
            Class::RunFinished => finished(event, own),
            _ => failed(event, own),
        }
    }

    fn started<'a>(&mut self, event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
        let turn = event.turn_required(own)?;
        let run = event.text_if("runId", own).filter(|run| *run != turn);
        self.run = Some(turn.to_string());
        let thread = event.text_if("threadId", own);
        let parent = event.text_of_first(&["parentRunId", "parentTurnId", "parent"], own);
        let resumes = event.text_if("resumes", own);
        own.fact(Fact::TurnStarted(TurnStarted { turn, run, thread, parent, resumes }));
        Ok(())
    }
}

fn status<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    let turn = Some(event.turn_required(own)?);
    let key = if event.placed.some("stage").is_some() { "stage" } else { "status" };
    if event.placed.some(key).is_none() {
        return Err(Refused::missing("stage"));
    }
    let stage = event.id(key)?;
    own.fact(Fact::TurnStatus(TurnStatus { turn, stage, phase: None, detail: event.rest(&[key]) }));
    Ok(())
}

fn finished<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    let turn = Some(event.turn_required(own)?);
    let outcome = event.text_if("outcome", own);
    if outcome.is_none() {
        own.missing(event, "outcome");
    }
    // No outcome is no success.
    let status = match outcome {
        Some(outcome) if outcome == "success" => Text::Borrowed("completed"),
        Some(outcome) => outcome,
        None => Text::Borrowed("unknown"),
    };
    let result = event.placed.some("result").map(Json::raw);
    let usage = event.placed.some("usage").map(Json::raw);
    own.fact(Fact::TurnEnded(TurnEnded { turn, status, error: error(event), result, usage, ..TurnEnded::default() }));
    Ok(())
}

fn failed<'a>(event: &Incoming<'_, 'a>, own: &mut Own<'a>) -> Result<(), Refused> {
    let turn = Some(event.turn_required(own)?);
    let error = error(event);
    if error.is_none() {
        own.missing(event, "error");
    }
    let retryable = match event.placed.some("retryable").map(|raw| raw.get()) {
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => {
            own.malformed(event, "retryable", "true or false");
            None
        }
        None => None,
    };
    let usage = event.placed.some("usage").map(Json::raw);
    own.fact(Fact::TurnEnded(TurnEnded { turn, status: Text::Borrowed("failed"), error, retryable, usage, ..TurnEnded::default() }));
    Ok(())
}

/// Fields that belong to an error that is given as a text.
pub(in super::super) const BESIDE_ERROR: [&str; 2] = ["code", "diagnosticRef"];

/// The error, verbatim when it is an object; a text becomes the message of one.
fn error<'a>(event: &Incoming<'_, 'a>) -> Option<Json<'a>> {
    let raw = event.placed.some("error")?;
    if text_of(raw).is_none() {
        return Some(Json::raw(raw));
    }
    let beside = BESIDE_ERROR.iter().filter_map(|key| Some((*key, event.placed.some(key)?.get())));
    Some(Json::built(write_object([("message", raw.get())].into_iter().chain(beside))))
}
