//! Reading, driven through the engine.

mod closed;
mod held;
mod lists;
mod log;
mod pages;
mod rows;

use crate::fact::{
    Content, DocumentPatched, DocumentSet, Fact, HistoryImported, HistoryMessage, HistoryMode, InteractionRequested, Json, PartDelta,
    PartKind, PartOpened, ToolChanged, ToolOp, TurnEnded, TurnStarted,
};
use crate::{Batch, Engine, ItemKind, Page};

pub(super) struct Fixture {
    pub(super) folder: tempfile::TempDir,
    pub(super) engine: Engine,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(folder.path().join("store")).unwrap();
        Self { folder, engine }
    }

    pub(super) fn reopened(self) -> Self {
        self.engine.close().unwrap();
        let engine = Engine::open(self.folder.path().join("store")).unwrap();
        Self { folder: self.folder, engine }
    }

    /// Dies as a process does: what was acknowledged is in the files, nothing is tidied up.
    pub(super) fn killed(self) -> Self {
        drop(self.engine);
        let engine = Engine::open(self.folder.path().join("store")).unwrap();
        Self { folder: self.folder, engine }
    }

    pub(super) fn append(&self, session: &str, facts: Vec<Fact<'_>>) {
        self.engine.append(session, Batch::of(facts)).unwrap();
    }
}

pub(super) fn turn(id: String) -> Fact<'static> {
    Fact::TurnStarted(TurnStarted { turn: id.into(), ..TurnStarted::default() })
}

pub(super) fn ended(status: &'static str) -> Fact<'static> {
    Fact::TurnEnded(TurnEnded { status: status.into(), ..TurnEnded::default() })
}

pub(super) fn opened(id: String) -> Fact<'static> {
    Fact::PartOpened(PartOpened {
        part: id.clone().into(),
        message: id.into(),
        kind: PartKind::Text,
        role: "assistant".into(),
        name: None,
        turn: None,
        agent: None,
        subtype: None,
        content: None,
        metadata: None,
    })
}

pub(super) fn delta(id: String, text: String) -> Fact<'static> {
    Fact::PartDelta(PartDelta { part: id.into(), kind: PartKind::Text, text: text.into(), metadata: None })
}

pub(super) fn text(id: &str, text: &str) -> Vec<Fact<'static>> {
    vec![opened(id.to_owned()), delta(id.to_owned(), text.to_owned())]
}

pub(super) fn asked(id: &str) -> Fact<'static> {
    let request = Json::new("{\"say\":\"yes?\"}").ok();
    Fact::InteractionRequested(InteractionRequested {
        interaction: id.to_owned().into(),
        kind: "approval".into(),
        request,
        ..InteractionRequested::default()
    })
}

pub(super) fn resolved(id: &str) -> Fact<'static> {
    Fact::InteractionResolved(crate::fact::InteractionResolved {
        interaction: id.to_owned().into(),
        ..crate::fact::InteractionResolved::default()
    })
}

pub(super) fn called(id: &str, result: String) -> Vec<Fact<'static>> {
    let op = ToolOp::Started { name: "grep".into(), message: None, turn: None, agent: None, detail: None };
    let started = Fact::ToolChanged(ToolChanged { tool: id.to_owned().into(), op, metadata: None });
    let content = Some(Content::Text(result.into()));
    let op = ToolOp::Result { message: None, content, status: None, reference: None, error: None, agent: None, detail: None };
    vec![started, Fact::ToolChanged(ToolChanged { tool: id.to_owned().into(), op, metadata: None })]
}

pub(super) fn history(mode: HistoryMode, ids: &[String]) -> Fact<'static> {
    let message = |id: &String| HistoryMessage {
        id: id.clone().into(),
        role: "assistant".into(),
        content: Some(Content::Text(format!("text of {id}").into())),
        ..HistoryMessage::default()
    };
    let messages = ids.iter().map(message).collect();
    Fact::HistoryImported(HistoryImported {
        mode,
        messages,
        turns: Vec::new(),
        older: None,
        requested_at: None,
        authoritative_activities: None,
    })
}

pub(super) fn document(name: &'static str, value: &serde_json::Value) -> Fact<'static> {
    Fact::DocumentSet(DocumentSet { document: name.into(), value: Json::of(value), replace: true })
}

pub(super) fn patched(name: &'static str, patch: &serde_json::Value) -> Fact<'static> {
    Fact::DocumentPatched(DocumentPatched { document: name.into(), patch: Json::of(patch) })
}

/// Ids of the text and tool items of a page.
pub(super) fn ids(page: &Page) -> Vec<String> {
    let id = |kind: ItemKind<'_>| match kind {
        ItemKind::Text(part) => Some(part.id().to_owned()),
        ItemKind::Tool(tool) => Some(tool.id().to_owned()),
        ItemKind::Interaction(asked) => Some(asked.id().to_owned()),
        _ => None,
    };
    page.items().filter_map(|item| id(item.kind())).collect()
}

/// `turns` turns of `items` short texts each.
pub(super) fn conversation(turns: usize, items: usize) -> Vec<Fact<'static>> {
    let one = |of: usize| {
        let texts = (0..items).flat_map(move |item| text(&format!("t{of}i{item}"), "hello"));
        std::iter::once(turn(format!("t{of}"))).chain(texts).chain([ended("completed")])
    };
    (0..turns).flat_map(one).collect()
}
