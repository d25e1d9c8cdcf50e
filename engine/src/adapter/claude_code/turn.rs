//! The turn that a transcript is in.
//!
//! **Invariant:** a turn is completed, failed or interrupted only because a line says so; one that the next prompt cuts off has ended,
//! nobody saw how.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::fields::Fields;
use super::super::line::Line;
use crate::event::Owner;
use crate::fact::{Fact, Json, Text, TurnEnded, TurnStarted};

const UNKNOWN: &str = "unknown";
pub(super) const COMPLETED: &str = "completed";
pub(super) const FAILED: &str = "failed";
pub(super) const INTERRUPTED: &str = "interrupted";
/// What is counted of the usage of a turn's messages.
const COUNTED: [&str; 4] = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

#[derive(Clone, Debug, Default)]
struct Turn {
    id: String,
    /// How it ended, and with which message.
    ended: Option<(&'static str, String)>,
    /// The last reason for which the model stopped that is no end.
    stopped: Option<String>,
    usage: BTreeMap<String, [u64; COUNTED.len()]>,
}

/// The open turn, or the last.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns(Option<Turn>);

impl Turns {
    /// A prompt begins the turn of its line.
    pub(super) fn begin(&mut self, line: &mut Line<'_>) {
        if let Some(turn) = self.0.take().filter(|turn| turn.ended.is_none()) {
            let status = turn.stopped.clone().unwrap_or_else(|| UNKNOWN.to_owned());
            end(&turn, status, None, line);
        }
        let id = line.id.clone();
        line.fact(Fact::TurnStarted(TurnStarted { turn: Text::Owned(id.clone()), ..TurnStarted::default() }), Owner::RUNTIME);
        self.0 = Some(Turn { id, ..Turn::default() });
    }

    /// Another message of the model after the end: the turn goes on. After an interruption nothing does.
    pub(super) fn go_on(&mut self, message: &str, line: &mut Line<'_>) {
        let Some(turn) = &mut self.0 else { return };
        if turn.ended.as_ref().is_some_and(|(status, last)| *status != INTERRUPTED && last != message) {
            turn.ended = None;
            let started = TurnStarted { turn: Text::Owned(turn.id.clone()), ..TurnStarted::default() };
            line.fact(Fact::TurnStarted(started), Owner::RUNTIME);
        }
    }

    /// The line says that the turn has ended.
    pub(super) fn end<'a>(&mut self, status: &'static str, error: Option<Json<'a>>, line: &mut Line<'a>) {
        let Some(turn) = &mut self.0 else { return };
        let stands = turn.ended.as_ref().is_some_and(|(known, _)| *known == status || status == COMPLETED);
        if !stands {
            turn.ended = Some((status, line.author.message.to_string()));
            end(turn, status.to_owned(), error, line);
        }
    }

    pub(super) fn stopped(&mut self, reason: &str) {
        if let Some(turn) = &mut self.0 {
            turn.stopped = Some(reason.chars().take(64).collect());
        }
    }

    /// Usage of a message; what its later lines say counts.
    pub(super) fn used(&mut self, message: &str, usage: &Fields<'_>) {
        if let Some(turn) = &mut self.0 {
            let count = |key: &str| usage.get(key).and_then(|raw| raw.get().parse::<u64>().ok()).unwrap_or(0);
            turn.usage.insert(message.to_owned(), COUNTED.map(count));
        }
    }
}

fn end<'a>(turn: &Turn, status: String, error: Option<Json<'a>>, line: &mut Line<'a>) {
    let usage = (!turn.usage.is_empty()).then(|| {
        let sum = |index: usize| turn.usage.values().filter_map(|counts| counts.get(index)).fold(0_u64, |sum, n| sum.saturating_add(*n));
        let fields = COUNTED.iter().enumerate().map(|(index, key)| ((*key).to_owned(), Value::from(sum(index))));
        Json::of(&Value::Object(fields.collect()))
    });
    let turn = Some(Text::Owned(turn.id.clone()));
    line.fact(Fact::TurnEnded(TurnEnded { turn, status: Text::Owned(status), error, usage, ..TurnEnded::default() }), Owner::RUNTIME);
}
