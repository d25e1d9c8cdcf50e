//! The turn that a rollout is in.
//!
//! **Invariant:** a turn is completed, failed or interrupted only because a line says so; one that the next turn cuts off has ended,
//! nobody saw how.

use super::super::line::Line;
use crate::event::Owner;
use crate::fact::{Fact, Json, Text, TurnEnded, TurnStarted};

const UNKNOWN: &str = "unknown";

#[derive(Clone, Debug, Default)]
struct Turn {
    id: String,
    /// A message of the person began it and nobody has answered yet: the line that tells of its turn may still come.
    young: bool,
    ended: bool,
    error: Option<String>,
    usage: Option<String>,
}

/// The open turn, or the last.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    turn: Option<Turn>,
    /// The rollout tells of its turns.
    told: bool,
}

impl Turns {
    pub(super) fn is_open(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| !turn.ended)
    }

    /// A line tells that a turn began. One that a message began just before is the same turn.
    pub(super) fn told(&mut self, id: Option<Text<'_>>, line: &mut Line<'_>) {
        self.told = true;
        match (&mut self.turn, id) {
            (Some(turn), Some(run)) if turn.young && !turn.ended => {
                turn.young = false;
                let started =
                    TurnStarted { turn: Text::Owned(turn.id.clone()), run: Some(Text::Owned(run.into_owned())), ..TurnStarted::default() };
                line.fact(Fact::TurnStarted(started), Owner::RUNTIME);
            }
            (Some(turn), None) if turn.young && !turn.ended => turn.young = false,
            // The same line again: the turn is known.
            (Some(turn), Some(id)) if turn.id == id && !turn.ended => {}
            (_, id) => self.begin(id.map_or_else(|| line.id.clone(), Text::into_owned), false, line),
        }
    }

    /// A message of the person begins a turn, where no line tells of turns.
    pub(super) fn asked(&mut self, line: &mut Line<'_>) {
        let young = self.turn.as_ref().is_some_and(|turn| turn.young && !turn.ended);
        if !self.told && !young {
            self.begin(line.id.clone(), true, line);
        }
    }

    /// The model or a tool has answered.
    pub(super) fn answered(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.young = false;
        }
    }

    fn begin(&mut self, id: String, young: bool, line: &mut Line<'_>) {
        if let Some(turn) = self.turn.take().filter(|turn| !turn.ended) {
            end(&turn, UNKNOWN.to_owned(), line);
        }
        line.fact(Fact::TurnStarted(TurnStarted { turn: Text::Owned(id.clone()), ..TurnStarted::default() }), Owner::RUNTIME);
        self.turn = Some(Turn { id, young, ..Turn::default() });
    }

    /// A line tells that a turn ended; without an id it is the open one. A turn that failed has not completed.
    pub(super) fn ended(&mut self, id: Option<Text<'_>>, status: &str, line: &mut Line<'_>) {
        let Some(turn) = &mut self.turn else { return };
        turn.ended = true;
        let status = if turn.error.is_some() && status == "completed" { "failed" } else { status };
        let turn = Turn { id: id.map_or_else(|| turn.id.clone(), Text::into_owned), ..turn.clone() };
        end(&turn, status.to_owned(), line);
    }

    pub(super) fn failed(&mut self, error: &str, line: &mut Line<'_>) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| !turn.ended) {
            turn.error = Some(error.to_owned());
            end(turn, "failed".to_owned(), line);
        }
    }

    pub(super) fn used(&mut self, usage: &str) {
        if let Some(turn) = &mut self.turn {
            turn.usage = Some(usage.to_owned());
        }
    }
}

fn end(turn: &Turn, status: String, line: &mut Line<'_>) {
    let json = |text: &Option<String>| text.clone().map(Json::built);
    let ended = TurnEnded {
        turn: Some(Text::Owned(turn.id.clone())),
        status: Text::Owned(status),
        error: json(&turn.error),
        usage: json(&turn.usage),
        ..TurnEnded::default()
    };
    line.fact(Fact::TurnEnded(ended), Owner::RUNTIME);
}
