//! What a host does with a store, shortened: facts by few words, a session's timeline as lines, and files that count what is done to
//! them or fail.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod harm;
pub mod medium;

use std::path::PathBuf;

use turnstore::fact::*;
use turnstore::{Engine, Item, ItemKind, Page, Store, View, Window};

/// A folder with a store in it.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("agent.turnstore")
    }

    pub fn open(&self) -> Engine {
        Engine::open(self.path()).unwrap()
    }

    pub fn read(&self) -> Store {
        Store::read(self.path()).unwrap()
    }

    /// Names of everything in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Dies as a process does: what was acknowledged is in the files, nothing is tidied up.
pub fn killed(engine: Engine, place: &Place) -> Engine {
    drop(engine);
    place.open()
}

/// Checks what is true live, after a kill, and after a close.
pub fn always(mut engine: Engine, place: &Place, check: impl Fn(&Engine)) {
    check(&engine);
    engine = killed(engine, place);
    check(&engine);
    engine.close().unwrap();
    check(&place.open());
}

pub fn json(text: &str) -> Json<'static> {
    Json::new(text.to_owned()).unwrap()
}

pub fn turn(id: &str) -> Fact<'static> {
    Fact::TurnStarted(TurnStarted { turn: id.to_owned().into(), ..TurnStarted::default() })
}

pub fn ended(status: &str) -> Fact<'static> {
    Fact::TurnEnded(TurnEnded { status: status.to_owned().into(), ..TurnEnded::default() })
}

fn part(id: &str, role: &str, content: Option<&str>) -> Fact<'static> {
    Fact::PartOpened(PartOpened {
        part: id.to_owned().into(),
        message: id.to_owned().into(),
        kind: PartKind::Text,
        role: role.to_owned().into(),
        name: None,
        turn: None,
        agent: None,
        subtype: None,
        content: content.map(|text| Content::Text(text.to_owned().into())),
        metadata: None,
    })
}

pub fn user(id: &str, text: &str) -> Fact<'static> {
    part(id, "user", Some(text))
}

pub fn assistant(id: &str) -> Fact<'static> {
    part(id, "assistant", None)
}

pub fn delta(id: &str, text: &str) -> Fact<'static> {
    Fact::PartDelta(PartDelta { part: id.to_owned().into(), kind: PartKind::Text, text: text.to_owned().into(), metadata: None })
}

pub fn finally(id: &str, text: &str) -> Fact<'static> {
    let target = PartTarget::Part(PartKind::Text, id.to_owned().into());
    Fact::PartFinal(PartFinal { target, change: PartChange::Text(text.to_owned().into()), metadata: None })
}

fn tool(id: &str, op: ToolOp<'static>) -> Fact<'static> {
    Fact::ToolChanged(ToolChanged { tool: id.to_owned().into(), op, metadata: None })
}

pub fn called(id: &str) -> Fact<'static> {
    tool(id, ToolOp::Started { name: "grep".into(), message: None, turn: None, agent: None, detail: None })
}

pub fn answered(id: &str, result: &str) -> Fact<'static> {
    let content = Some(Content::Text(result.to_owned().into()));
    tool(id, ToolOp::Result { message: None, content, status: None, reference: None, error: None, agent: None, detail: None })
}

pub fn asked(id: &str) -> Fact<'static> {
    let request = Some(json("{\"say\":\"yes?\"}"));
    Fact::InteractionRequested(InteractionRequested {
        interaction: id.to_owned().into(),
        kind: "approval".into(),
        request,
        ..InteractionRequested::default()
    })
}

pub fn decided(id: &str, decision: &str, payload: &str) -> Fact<'static> {
    Fact::InteractionResolved(InteractionResolved {
        interaction: id.to_owned().into(),
        decision: Some(decision.to_owned().into()),
        payload: Some(json(payload)),
        ..InteractionResolved::default()
    })
}

/// A turn: a user's line, a call with its result, and an answer in deltas.
pub fn conversation_turn(of: usize) -> Vec<Fact<'static>> {
    let (answer, call) = (format!("a{of}"), format!("c{of}"));
    vec![
        turn(&format!("t{of}")),
        user(&format!("u{of}"), &format!("question {of}")),
        called(&call),
        answered(&call, "found"),
        assistant(&answer),
        delta(&answer, "one "),
        delta(&answer, &format!("answer {of}")),
        finally(&answer, &format!("one answer {of}")),
        ended("completed"),
    ]
}

/// Facts of so many turns.
pub fn conversation(turns: usize) -> Vec<Fact<'static>> {
    (0..turns).flat_map(conversation_turn).collect()
}

/// One item as a line.
pub fn line(item: &Item<'_>) -> String {
    match item.kind() {
        ItemKind::Text(part) | ItemKind::Reasoning(part) | ItemKind::Activity(part) => {
            format!("{} {}: {}", part.role(), part.id(), part.text().map_or_else(String::new, |text| text.joined().into_owned()))
        }
        ItemKind::Tool(tool) => {
            let results: Vec<String> = tool.results().filter_map(|result| Some(result.content()?.joined().into_owned())).collect();
            format!("call {}: {}", tool.id(), results.join("|"))
        }
        ItemKind::Interaction(asked) => format!("ask {}: {:?}", asked.id(), asked.status()),
        ItemKind::Result(result) => format!("result {}", result.tool()),
        kind => format!("{kind:?}"),
    }
}

pub fn lines(page: &Page) -> Vec<String> {
    page.items().map(|item| line(&item)).collect()
}

/// The whole timeline, by pages of `size` from the newest back.
pub fn timeline_by(view: &View, session: &str, size: usize) -> Vec<String> {
    let mut page = view.window(session, Window::items(size)).unwrap();
    let mut all: Vec<String> = lines(&page).into_iter().rev().collect();
    while let Some(cursor) = page.cursor() {
        page = view.page(session, &cursor, Window::items(size)).unwrap();
        all.extend(lines(&page).into_iter().rev());
    }
    all.reverse();
    all
}

pub fn timeline(view: &View, session: &str) -> Vec<String> {
    timeline_by(view, session, 500)
}

/// The same by pages from the oldest on.
pub fn timeline_from_oldest(view: &View, session: &str, size: usize) -> Vec<String> {
    let mut page = view.oldest(session, Window::items(size)).unwrap();
    let mut all = lines(&page);
    while page.has_newer() {
        page = view.page(session, &page.newer_cursor(), Window::items(size)).unwrap();
        all.extend(lines(&page));
    }
    all
}

/// Ids of what waits in a session.
pub fn waiting(view: &View, session: &str) -> Vec<String> {
    view.pending(session).unwrap().interactions().map(|asked| asked.id().to_owned()).collect()
}

/// Codes of the diagnostics of a session.
pub fn diagnostics(view: &View, session: &str) -> Vec<String> {
    view.diagnostics(session).unwrap().map(|diagnostic| diagnostic.unwrap().code).collect()
}

/// The status that each turn shows.
pub fn statuses(view: &View, session: &str) -> Vec<(String, String)> {
    let page = view.window(session, Window::items(500)).unwrap();
    let mut statuses: Vec<(String, String)> =
        page.turns().filter_map(|turn| turn.turn()).map(|turn| (turn.id().to_owned(), turn.status().to_owned())).collect();
    statuses.dedup();
    statuses
}
