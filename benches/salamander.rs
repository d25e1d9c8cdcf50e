//! salamander-db 0.2 at its best: typed events, one batch per session in a group, one commit for the group.
//!
//! **Absent:** `Durability::Sync` per batch, which would sync once for every session of the group.
//!
//! Every commit of 0.2 rewrites its whole catalog, which is why its rate falls with the length of the log.
//! Its handle cannot move between threads, so it is opened on the writer's.

use std::collections::HashMap;
use std::path::Path;

use salamander::{AppendRequest, BranchId, Durability, Event, EventType, ExpectedRevision, NewEvent, Projection, StreamName};

use crate::contender::{Contender, Steps, Store};
use crate::failure::Outcome;
use crate::group::{Append, Grouped, Lines, Sink};
use crate::step::Step;

/// Events in one of its batches; its own limit is 4096.
const BATCH_EVENTS_MAX: usize = 4_000;

/// The event type given to every event; its typed readers do not look at it.
const KIND: &str = "step";

/// salamander-db 0.2.
#[derive(Clone, Copy, Debug)]
pub struct Salamander;

type Database = salamander::Salamander<Step>;

impl Contender for Salamander {
    fn name(&self) -> &'static str {
        "salamander-db"
    }

    fn open(&self, dir: &Path) -> Outcome<Box<dyn Store>> {
        let dir = dir.to_owned();
        Ok(Box::new(Grouped::start(move || Ok(Log { database: Database::open(&dir)? }))?))
    }

    /// Its lock file stays behind and must be deleted by hand.
    fn after_kill(&self, dir: &Path) -> Outcome<()> {
        std::fs::remove_file(dir.join("LOCK"))?;
        Ok(())
    }

    fn import(&self, dir: &Path, batches: &mut dyn Iterator<Item = (String, Steps)>) -> Outcome<()> {
        let mut log = Log { database: Database::open(dir)? };
        for (session, steps) in batches {
            for part in steps.chunks(BATCH_EVENTS_MAX) {
                log.append(&session, part.iter().cloned())?;
            }
        }
        log.database.commit()?;
        Ok(())
    }
}

struct Log {
    database: Database,
}

impl Log {
    fn append(&mut self, session: &str, steps: impl Iterator<Item = Step>) -> Outcome<()> {
        let kind = EventType::new(KIND)?;
        self.database.append_batch(AppendRequest {
            branch: BranchId::ZERO,
            stream: StreamName::new(session)?,
            expected: ExpectedRevision::Any,
            idempotency_key: None,
            events: steps.map(|step| NewEvent::new(kind.clone(), step)).collect(),
            durability: Durability::Buffered,
        })?;
        Ok(())
    }
}

impl Sink for Log {
    const LINES: Lines = Lines::Absent;

    fn commit(&mut self, group: &[Append]) -> Outcome<()> {
        for append in group {
            self.append(&append.session, append.steps.iter().cloned())?;
        }
        self.database.commit()?;
        Ok(())
    }

    fn close(self) -> Outcome<()> {
        Ok(())
    }
}

/// The store opened for reading, and its refold.
pub struct Opened {
    database: Database,
}

impl Opened {
    /// Opens the store in `dir`.
    pub fn open(dir: &Path) -> Outcome<Self> {
        Ok(Self { database: Database::open(dir)? })
    }

    /// Folds the whole log to messages and answers how many events and messages that were.
    pub fn refold(&self) -> Outcome<(u64, u64)> {
        let folded: Transcripts = self.database.projection()?;
        let messages = folded.sessions.values().map(|session| session.messages.len() as u64).sum();
        Ok((self.database.head(), messages))
    }
}

/// The same projection that the other contenders keep: every message with its current text.
#[derive(Default)]
struct Transcripts {
    sessions: HashMap<String, Transcript>,
    cursor: u64,
}

#[derive(Default)]
struct Transcript {
    messages: Vec<Folded>,
    places: HashMap<String, usize>,
    artifacts: HashMap<String, usize>,
}

#[derive(Default)]
struct Folded {
    text: String,
    result: String,
}

impl Projection for Transcripts {
    type Body = Step;
    type State = HashMap<String, Transcript>;

    fn apply(&mut self, event: &Event<Step>) {
        self.cursor = event.offset + 1;
        if !self.sessions.contains_key(&event.namespace) {
            self.sessions.insert(event.namespace.clone(), Transcript::default());
        }
        if let Some(session) = self.sessions.get_mut(&event.namespace) {
            session.fold(&event.body);
        }
    }

    fn cursor(&self) -> u64 {
        self.cursor
    }

    fn state(&self) -> &Self::State {
        &self.sessions
    }
}

impl Transcript {
    fn fold(&mut self, step: &Step) {
        match step {
            Step::TextStart { message, .. } | Step::ReasoningStart { message } => self.start(message, ""),
            Step::ToolStart { call, .. } => self.start(call, ""),
            Step::Asked { request, title, .. } => self.start(request, title),
            Step::TextDelta { message, delta } | Step::ReasoningDelta { message, delta } => {
                self.change(message, |open| open.text.push_str(delta))
            }
            Step::ToolArgs { call, delta } => self.change(call, |open| open.text.push_str(delta)),
            Step::ToolResult { call, content, .. } => self.change(call, |open| open.result.clone_from(content)),
            Step::Answered { request, action, .. } => self.change(request, |open| open.result.clone_from(action)),
            Step::Artifacts { run, made } => {
                self.artifacts.insert(run.clone(), made.len());
            }
            Step::RunStarted { .. }
            | Step::RunFinished { .. }
            | Step::TextEnd { .. }
            | Step::ReasoningEnd { .. }
            | Step::ToolEnd { .. } => {}
        }
    }

    fn start(&mut self, id: &str, text: &str) {
        self.places.insert(id.to_owned(), self.messages.len());
        self.messages.push(Folded { text: text.to_owned(), result: String::new() });
    }

    fn change(&mut self, id: &str, change: impl FnOnce(&mut Folded)) {
        if let Some(open) = self.places.get(id).and_then(|place| self.messages.get_mut(*place)) {
            change(open);
        }
    }
}
