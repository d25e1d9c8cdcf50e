//! What goes on in all sessions: what runs, is queued, blocked, failed, or needs input.
//!
//! **Invariant:** a task is derived from the list of sessions alone; nothing is guessed from text.

use super::View;
use super::sessions::SessionSummary;
use crate::cursor::SessionsCursor;
use crate::error::Error;

/// How a task stands. Of several that hold the first is told: failed, needs input, blocked, stale; else what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TaskState {
    /// Its owner said that it failed.
    Failed,
    /// Something of it waits for an answer.
    NeedsInput,
    /// Inputs wait behind a turn that runs.
    Blocked,
    /// It is stated to run, by a process that is gone.
    Stale,
    /// It runs.
    Running,
    /// Inputs wait, and no turn runs.
    Queued,
}

impl TaskState {
    /// The word for it: failed, needs_input, blocked, stale, running or queued.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::NeedsInput => "needs_input",
            Self::Blocked => "blocked",
            Self::Stale => "stale",
            Self::Running => "running",
            Self::Queued => "queued",
        }
    }
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskKind {
    /// The last turn of the session.
    Turn,
    /// The inputs in its queue.
    Queue,
}

/// Something that goes on in a session, or waits there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Task {
    /// The session, which may be that of a subagent.
    pub session: SessionSummary,
    /// What is done.
    pub kind: TaskKind,
    /// How it stands.
    pub state: TaskState,
}

/// A part of the list of tasks.
#[derive(Clone, Debug)]
pub struct TasksPage {
    /// The tasks, by session, most recently changed first; a session's turn before its queue.
    pub tasks: Vec<Task>,
    /// The cursor to the rest; `None` at the end.
    pub cursor: Option<SessionsCursor>,
}

fn of_turn(session: &SessionSummary) -> Option<TaskState> {
    let states = [
        (session.failed, TaskState::Failed),
        (session.pending > 0, TaskState::NeedsInput),
        (session.unobserved, TaskState::Stale),
        (session.running, TaskState::Running),
    ];
    states.into_iter().find_map(|(holds, state)| holds.then_some(state))
}

fn of_queue(session: &SessionSummary) -> Option<TaskState> {
    (session.queued > 0).then_some(if session.running { TaskState::Blocked } else { TaskState::Queued })
}

impl View {
    /// What goes on in every session, subagents' sessions among them, of up to `sessions_max` sessions (at most `window_items_max`), after
    /// `cursor` when there is one. Sessions in which nothing goes on are not listed.
    ///
    /// Cost and errors: those of [`View::sessions_where`].
    pub fn tasks(&self, sessions_max: usize, cursor: Option<&SessionsCursor>) -> Result<TasksPage, Error> {
        let goes_on = |session: &SessionSummary| of_turn(session).or(of_queue(session)).is_some();
        let page = self.picked(sessions_max, cursor, goes_on)?;
        let tasks = page.sessions.into_iter().flat_map(|session| {
            let turn = of_turn(&session).map(|state| (TaskKind::Turn, state));
            let queue = of_queue(&session).map(|state| (TaskKind::Queue, state));
            [turn, queue].into_iter().flatten().map(move |(kind, state)| Task { session: session.clone(), kind, state })
        });
        Ok(TasksPage { tasks: tasks.collect(), cursor: page.cursor })
    }
}
