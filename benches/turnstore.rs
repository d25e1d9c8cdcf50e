//! turnstore as a host uses it: typed facts appended by many threads, recordings imported through the adapter, windows read in place.
//!
//! **Invariant:** the facts of a step are those that the adapter makes of its line, and a turn's artifacts beside them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use ::turnstore::adapter::aiui::{Decoder, Folder, Start};
use ::turnstore::adapter::source::{Item as Read, Reader as Recording};
use ::turnstore::event::{Owner, Protocol, Source, Stated};
use ::turnstore::fact::{
    ArtifactReference, Content, Fact, InteractionRequested, InteractionResolved, Json, PartChange, PartDelta, PartFinal, PartKind,
    PartOpened, PartTarget, Resolution, ToolChanged, ToolOp, TurnArtifactsSet, TurnEnded, TurnStarted,
};
use ::turnstore::{Batch, Cursor, Engine, Item, ItemKind, LongText, Page, Store as AtRest, Ticket, View, Window};

use crate::contender::{Contender, Producer, Steps, Store};
use crate::failure::Outcome;
use crate::step::{Step, lines};
use crate::subject::{Reader, Rebuilt, Slice, Subject};

/// Name of the main file in the contender's directory.
pub const FILE: &str = "agent.turnstore";

/// Appends of an import that wait for their answers at once.
const TICKETS_MAX: usize = 8;

/// The source stream of imported events, as the command line names a file.
const STREAM: &str = "trace.jsonl";

/// The store that the bars are about.
#[derive(Clone, Copy, Debug)]
pub struct Turnstore;

impl Contender for Turnstore {
    fn name(&self) -> &'static str {
        "turnstore"
    }

    fn open(&self, dir: &Path) -> Outcome<Box<dyn Store>> {
        Ok(Box::new(Running { engine: Engine::open(dir.join(FILE))? }))
    }

    fn import(&self, dir: &Path, batches: &mut dyn Iterator<Item = (String, Steps)>) -> Outcome<()> {
        let engine = Engine::open(dir.join(FILE))?;
        let mut lane = Lane::of("");
        let mut waiting = Waiting::default();
        for (session, steps) in batches {
            if lane.session != session {
                lane = Lane::of(&session);
            }
            waiting.push(lane.submit(&engine, &lines(&steps))?)?;
        }
        waiting.all()?;
        engine.close()?;
        Ok(())
    }
}

/// One session that is imported.
struct Lane {
    session: String,
    decoder: Decoder,
    line: u64,
}

impl Lane {
    fn of(session: &str) -> Self {
        Self { session: session.to_owned(), decoder: Decoder::new(), line: 0 }
    }

    fn submit(&mut self, engine: &Engine, lines: &[u8]) -> Outcome<Ticket> {
        let text = String::from_utf8_lossy(lines);
        let mut facts = Vec::new();
        for line in text.lines() {
            self.line += 1;
            let from = facts.len();
            self.decoder.decode(line, &mut facts);
            for stated in facts.get_mut(from..).unwrap_or_default() {
                stated.source.stream = Some((Cow::Borrowed(STREAM), self.line));
            }
        }
        Ok(engine.submit(&self.session, Batch::of(facts))?)
    }
}

/// Appends that are not answered yet, a few at once.
#[derive(Default)]
struct Waiting {
    tickets: VecDeque<Ticket>,
}

impl Waiting {
    fn push(&mut self, ticket: Ticket) -> Outcome<()> {
        if self.tickets.len() >= TICKETS_MAX {
            self.tickets.pop_front().map(Ticket::wait).transpose()?;
        }
        self.tickets.push_back(ticket);
        Ok(())
    }

    fn all(self) -> Outcome<()> {
        for ticket in self.tickets {
            ticket.wait()?;
        }
        Ok(())
    }
}

struct Running {
    engine: Engine,
}

impl Store for Running {
    fn producer(&self, session: &str) -> Outcome<Box<dyn Producer>> {
        Ok(Box::new(Hand { engine: self.engine.clone(), session: session.to_owned() }))
    }

    fn commits(&self) -> Option<u64> {
        Some(self.engine.commits())
    }

    /// The checkpoint that the appends left to do is done before another contender's turn.
    fn settle(&self) -> Outcome<()> {
        self.engine.checkpoint()?;
        Ok(())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        self.engine.close()?;
        Ok(())
    }
}

struct Hand {
    engine: Engine,
    session: String,
}

impl Producer for Hand {
    fn append(&mut self, steps: &Steps) -> Outcome<()> {
        self.engine.append(&self.session, facts(steps)?)?;
        Ok(())
    }
}

/// The facts of steps, as a host that makes them itself states them.
pub fn facts(steps: &[Step]) -> Outcome<Vec<Stated<'_>>> {
    steps.iter().map(stated).collect()
}

fn stated(step: &Step) -> Outcome<Stated<'_>> {
    let (fact, owner) = match step {
        Step::RunStarted { thread, run } => {
            let started = TurnStarted { turn: text(run), thread: Some(text(thread)), ..TurnStarted::default() };
            (Fact::TurnStarted(started), Owner::RUNTIME)
        }
        Step::RunFinished { run, .. } => {
            let ended = TurnEnded { turn: Some(text(run)), status: text("completed"), ..TurnEnded::default() };
            (Fact::TurnEnded(ended), Owner::RUNTIME)
        }
        Step::TextStart { message, role } => (opened(PartKind::Text, message, role.name()), Owner::MODEL),
        Step::TextDelta { message, delta } => (grown(PartKind::Text, message, delta), Owner::MODEL),
        Step::TextEnd { message } => (closed(PartKind::Text, message), Owner::MODEL),
        Step::ReasoningStart { message } => (opened(PartKind::Reasoning, message, "reasoning"), Owner::MODEL),
        Step::ReasoningDelta { message, delta } => (grown(PartKind::Reasoning, message, delta), Owner::MODEL),
        Step::ReasoningEnd { message } => (closed(PartKind::Reasoning, message), Owner::MODEL),
        Step::ToolStart { .. } | Step::ToolArgs { .. } | Step::ToolEnd { .. } | Step::ToolResult { .. } => return Ok(tool(step)),
        Step::Asked { request, run, .. } => {
            let mut line = Vec::new();
            step.write_line(&mut line);
            let asked = Json::new(String::from_utf8_lossy(&line).into_owned())?;
            let kind = text("approval");
            let fact = InteractionRequested {
                interaction: text(request),
                kind,
                request: Some(asked),
                turn: Some(text(run)),
                ..Default::default()
            };
            (Fact::InteractionRequested(fact), Owner::ACTION)
        }
        Step::Answered { request, decision, action } => {
            let payload = Json::of(&serde_json::json!({ "actionId": action }));
            let (interaction, decision) = (text(request), Some(text(decision)));
            let fact =
                InteractionResolved { interaction, decision, resolution: Resolution::Resolved, payload: Some(payload), receipt: None };
            (Fact::InteractionResolved(fact), Owner::ACTION)
        }
        Step::Artifacts { run, made } => {
            let reference = |made: &'_ crate::step::Made| ArtifactReference { path: owned(&made.path), artifact_type: owned(&made.kind) };
            let set = TurnArtifactsSet { turn: text(run), references: made.iter().map(reference).collect() };
            (Fact::TurnArtifactsSet(set), Owner::ARTIFACT)
        }
    };
    Ok(from_source(fact, owner))
}

fn tool(step: &Step) -> Stated<'_> {
    let (call, op, owner) = match step {
        Step::ToolStart { call, name, parent } => {
            let message = (!parent.is_empty()).then(|| text(parent));
            (call, ToolOp::Started { name: text(name), message, turn: None, agent: None, detail: None }, Owner::MODEL)
        }
        Step::ToolArgs { call, delta } => (call, ToolOp::ArgsDelta { text: text(delta) }, Owner::MODEL),
        Step::ToolResult { message, call, content } => {
            let (message, content) = (Some(text(message)), Some(Content::Text(text(content))));
            let result = ToolOp::Result { message, content, status: None, reference: None, error: None, agent: None, detail: None };
            (call, result, Owner::TOOL)
        }
        Step::ToolEnd { call } => (call, ToolOp::ArgsEnd, Owner::MODEL),
        _ => return from_source(Fact::TurnStarted(TurnStarted::default()), Owner::UNKNOWN),
    };
    from_source(Fact::ToolChanged(ToolChanged { tool: text(call), op, metadata: None }), owner)
}

fn from_source(fact: Fact<'_>, owner: Owner) -> Stated<'_> {
    let source = Source { protocol: Protocol::AIUI, ..Source::default() };
    Stated { source, owner, ..Stated::from(fact) }
}

fn text(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

fn owned(text: &str) -> Cow<'static, str> {
    Cow::Owned(text.to_owned())
}

fn opened<'a>(kind: PartKind, message: &'a str, role: &'a str) -> Fact<'a> {
    Fact::PartOpened(PartOpened {
        part: text(message),
        message: text(message),
        kind,
        role: text(role),
        name: None,
        turn: None,
        agent: None,
        subtype: None,
        content: None,
        metadata: None,
    })
}

fn grown<'a>(kind: PartKind, message: &'a str, delta: &'a str) -> Fact<'a> {
    Fact::PartDelta(PartDelta { part: text(message), kind, text: text(delta), metadata: None })
}

fn closed(kind: PartKind, message: &str) -> Fact<'_> {
    Fact::PartFinal(PartFinal { target: PartTarget::Part(kind, text(message)), change: PartChange::Closed, metadata: None })
}

impl Subject for Turnstore {
    fn reader(&self, dir: &Path) -> Outcome<Box<dyn Reader>> {
        let view = AtRest::read(dir.join(FILE))?.view();
        Ok(Box::new(Looking { view, engine: None }))
    }

    fn host(&self, dir: &Path) -> Outcome<Box<dyn Reader>> {
        let engine = Engine::open(dir.join(FILE))?;
        Ok(Box::new(Looking { view: engine.view(), engine: Some(engine) }))
    }

    fn rebuild(&self, dir: &Path) -> Outcome<Rebuilt> {
        let started = Instant::now();
        let rebuilt = ::turnstore::rebuild(&dir.join(FILE), Engine::options(), &mut |_| {})?;
        Ok(Rebuilt { events: rebuilt.events, elapsed: started.elapsed() })
    }

    fn project(&self, lines: &[u8]) -> Outcome<u64> {
        let mut folder = Folder::new(&Start::default(), SystemTime::now());
        let mut reader = Recording::new(lines)?;
        while let Some(item) = reader.read()? {
            match item {
                Read::Event(raw) => folder.event(raw),
                Read::Problem(problem) => folder.problem(problem),
            }
        }
        let projected = black_box(folder.finish());
        Ok(projected.get("messages").and_then(|messages| messages.as_array()).map_or(0, |messages| messages.len() as u64))
    }

    fn import_lines(&self, dir: &Path, session: &str, batches: &[Vec<u8>]) -> Outcome<Duration> {
        let engine = Engine::open(dir.join(FILE))?;
        let started = Instant::now();
        let (mut lane, mut waiting) = (Lane::of(session), Waiting::default());
        for batch in batches {
            waiting.push(lane.submit(&engine, batch)?)?;
        }
        waiting.all()?;
        let elapsed = started.elapsed();
        engine.close()?;
        Ok(elapsed)
    }

    fn append_facts(&self, dir: &Path, session: &str, batches: &[Steps]) -> Outcome<Duration> {
        let engine = Engine::open(dir.join(FILE))?;
        let started = Instant::now();
        let mut waiting = Waiting::default();
        for batch in batches {
            waiting.push(engine.submit(session, Batch::of(facts(batch)?))?)?;
        }
        waiting.all()?;
        let elapsed = started.elapsed();
        engine.close()?;
        Ok(elapsed)
    }
}

struct Looking {
    view: View,
    engine: Option<Engine>,
}

impl Reader for Looking {
    fn finish(self: Box<Self>) -> Outcome<()> {
        if let Some(engine) = self.engine {
            engine.close()?;
        }
        Ok(())
    }

    fn window(&mut self, session: &str, items: usize) -> Outcome<Slice> {
        Ok(slice(&self.view.window(session, Window::items(items))?))
    }

    fn older(&mut self, session: &str, cursor: &str, items: usize) -> Outcome<Slice> {
        let cursor: Cursor = cursor.parse()?;
        Ok(slice(&self.view.page(session, &cursor, Window::items(items))?))
    }
}

/// Takes every item and the whole of its text.
fn slice(page: &Page) -> Slice {
    let mut slice = Slice { older: page.cursor().map(|cursor| cursor.to_string()), ..Slice::default() };
    for item in page.items() {
        slice.items += 1;
        slice.text_bytes += bytes(&item);
    }
    slice
}

fn bytes(item: &Item<'_>) -> u64 {
    match item.kind() {
        ItemKind::Text(part) | ItemKind::Reasoning(part) | ItemKind::Activity(part) => part.text().map_or(0, |text| whole(&text)),
        ItemKind::Tool(tool) => {
            let results: u64 = tool.results().filter_map(|result| result.content()).map(|content| whole(&content)).sum();
            whole(&tool.args()) + whole(&tool.output()) + results
        }
        ItemKind::Result(result) => result.content().map_or(0, |content| whole(&content)),
        ItemKind::Interaction(asked) => asked.request().map_or(0, |request| whole(&request)),
        _ => 0,
    }
}

fn whole(text: &LongText<'_>) -> u64 {
    text.pieces().map(|piece| black_box(piece).len() as u64).sum()
}
