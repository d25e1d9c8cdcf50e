//! The order in which the events of a run may come.
//!
//! **Invariant:** a violation is noted and changes nothing else: what it speaks of counts as opened or closed all the same.

use std::collections::{BTreeMap, BTreeSet};

use super::code;
use super::name::Name;

/// Something to note about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) code: &'static str,
    pub(super) detail: String,
}

impl Note {
    pub(super) fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }
}

/// What opens and closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Span {
    Text,
    Tool,
    Reasoning,
    Thought,
}

impl Span {
    fn what(self) -> &'static str {
        match self {
            Self::Text => "text message",
            Self::Tool => "tool call",
            Self::Reasoning => "reasoning message",
            Self::Thought => "reasoning span",
        }
    }

    /// Reasoning messages and spans share their owners.
    fn owner_space(self) -> Owned {
        match self {
            Self::Text => Owned::Message,
            Self::Tool => Owned::Tool,
            Self::Reasoning | Self::Thought => Owned::Reasoning,
        }
    }
}

/// What belongs to the parent agent or to a subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owned {
    Message,
    Tool,
    Reasoning,
    Activity,
}

type Agent = Option<String>;

/// The run so far, as far as order is concerned.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    unchecked: bool,
    seen: bool,
    started: bool,
    finished: bool,
    failed: bool,
    open: [BTreeSet<String>; 4],
    owners: [BTreeMap<String, Agent>; 4],
    steps: BTreeSet<(Agent, String)>,
    agents: BTreeSet<String>,
    closed_agents: BTreeSet<String>,
}

impl Order {
    /// Notes nothing.
    pub(super) fn unchecked() -> Self {
        Self { unchecked: true, ..Self::default() }
    }

    fn of(&self, span: Span) -> Option<&BTreeSet<String>> {
        self.open.get(span as usize)
    }

    fn of_mut(&mut self, span: Span) -> Option<&mut BTreeSet<String>> {
        self.open.get_mut(span as usize)
    }

    fn owner(&self, owned: Owned, id: &str) -> Option<&Agent> {
        self.owners.get(owned as usize)?.get(id)
    }

    /// Whether the run allows an event of this name now.
    pub(super) fn gate(&mut self, name: Name) -> Option<Note> {
        if self.unchecked {
            return None;
        }
        let starts = name == Name::RunStarted;
        if (self.failed && !starts) || (self.finished && !starts && name != Name::RunError) {
            return Some(Note::new(code::RUN_ENDED, format!("{} after the end of the run", name.as_str())));
        }
        if !std::mem::replace(&mut self.seen, true) {
            self.started = starts;
            let fits = starts || name == Name::RunError;
            return (!fits).then(|| Note::new(code::RUN_NOT_STARTED, format!("{} before RUN_STARTED", name.as_str())));
        }
        if starts {
            let active = self.started && !self.finished && !self.failed;
            *self = Self { seen: true, started: true, ..Self::default() };
            return active.then(|| Note::new(code::RUN_ACTIVE, "RUN_STARTED while a run is active"));
        }
        None
    }

    fn mismatch(&self, owned: Owned, id: &str, agent: Option<&str>) -> Option<Note> {
        let agent = agent?;
        let owner = self.owner(owned, id)?;
        (owner.as_deref() != Some(agent)).then(|| {
            let owner = owner.as_deref().unwrap_or("the parent agent");
            Note::new(code::OWNER_MISMATCH, format!("{id} belongs to {owner}, not to {agent}"))
        })
    }

    /// States whose something is; one that is known keeps its owner.
    fn own(&mut self, owned: Owned, id: &str, agent: Option<&str>) {
        if let Some(map) = self.owners.get_mut(owned as usize).filter(|map| !map.contains_key(id)) {
            map.insert(id.to_owned(), agent.map(str::to_owned));
        }
    }

    /// States whose something is, whoever had it.
    pub(super) fn own_anew(&mut self, owned: Owned, id: &str, agent: Option<&str>) {
        if let Some(map) = self.owners.get_mut(owned as usize).filter(|_| !self.unchecked) {
            map.insert(id.to_owned(), agent.map(str::to_owned));
        }
    }

    /// A message of a history, with its calls.
    pub(super) fn seed<'i>(&mut self, role: &str, id: &str, agent: Option<&str>, tools: impl Iterator<Item = &'i str>, anew: bool) {
        if self.unchecked {
            return;
        }
        let owned = match role {
            "reasoning" => Owned::Reasoning,
            "activity" => Owned::Activity,
            _ => Owned::Message,
        };
        if anew {
            self.own_anew(owned, id, agent);
            tools.for_each(|tool| self.own_anew(Owned::Tool, tool, agent));
        } else {
            self.own(owned, id, agent);
            tools.for_each(|tool| self.own(Owned::Tool, tool, agent));
        }
    }

    pub(super) fn opens(&mut self, span: Span, id: &str, agent: Option<&str>) -> Option<Note> {
        if self.unchecked {
            return None;
        }
        let note = if self.of(span).is_some_and(|open| open.contains(id)) {
            Some(Note::new(code::ALREADY_OPEN, format!("{} {id} is open already", span.what())))
        } else {
            self.mismatch(span.owner_space(), id, agent)
        };
        if let Some(open) = self.of_mut(span) {
            open.insert(id.to_owned());
        }
        self.own(span.owner_space(), id, agent);
        note
    }

    /// A tool call opens; it belongs to whom its parent message belongs.
    pub(super) fn opens_tool(&mut self, id: &str, parent: Option<&str>, agent: Option<&str>) -> Option<Note> {
        if self.unchecked {
            return None;
        }
        let inherited = parent.and_then(|parent| self.owner(Owned::Message, parent).cloned());
        let contradicts = match (&inherited, agent) {
            (Some(owner), Some(agent)) => owner.as_deref() != Some(agent),
            (Some(owner), None) => self.owner(Owned::Tool, id).is_some_and(|known| known != owner),
            (None, _) => false,
        };
        let note = contradicts
            .then(|| Note::new(code::OWNER_MISMATCH, format!("tool call {id} and its parent message belong to different agents")));
        let owner = agent.map(str::to_owned).or(inherited.flatten());
        let opened = self.opens(Span::Tool, id, owner.as_deref());
        opened.or(note)
    }

    pub(super) fn continues(&self, span: Span, id: &str, agent: Option<&str>) -> Option<Note> {
        if self.unchecked {
            return None;
        }
        if !self.of(span).is_some_and(|open| open.contains(id)) {
            return Some(Note::new(code::NOT_OPEN, format!("{} {id} is not open", span.what())));
        }
        self.mismatch(span.owner_space(), id, agent)
    }

    /// [`Order::gate`] and [`Order::continues`] for text that streams.
    pub(super) fn streams(&mut self, span: Span, id: &str) -> Option<Note> {
        let flows = self.seen && !self.finished && !self.failed;
        if flows || self.unchecked {
            return self.continues(span, id, None);
        }
        let name = if span == Span::Tool { Name::ToolArgs } else { Name::TextContent };
        self.gate(name).or_else(|| self.continues(span, id, None))
    }

    pub(super) fn closes(&mut self, span: Span, id: &str, agent: Option<&str>) -> Option<Note> {
        let note = self.continues(span, id, agent);
        if let Some(open) = self.of_mut(span) {
            open.remove(id);
        }
        note
    }

    pub(super) fn activity(&mut self, id: &str, replace: bool, agent: Option<&str>) {
        if replace {
            self.own_anew(Owned::Activity, id, agent);
        } else if !self.unchecked {
            self.own(Owned::Activity, id, agent);
        }
    }

    pub(super) fn touches(&self, owned: Owned, id: &str, agent: Option<&str>) -> Option<Note> {
        self.mismatch(owned, id, agent)
    }

    pub(super) fn step(&mut self, name: &str, agent: Option<&str>, starts: bool) -> Option<Note> {
        if self.unchecked {
            return None;
        }
        let key = (agent.map(str::to_owned), name.to_owned());
        if starts {
            let new = self.steps.insert(key);
            (!new).then(|| Note::new(code::ALREADY_OPEN, format!("step {name} is open already")))
        } else {
            let known = self.steps.remove(&key);
            (!known).then(|| Note::new(code::NOT_OPEN, format!("step {name} is not open")))
        }
    }

    pub(super) fn agent_starts(&mut self, agent: &str, parent: Option<&str>) -> Option<Note> {
        if self.unchecked {
            return None;
        }
        let knows = |id: &str| self.agents.contains(id) || self.closed_agents.contains(id);
        let note = if self.agents.contains(agent) {
            Some(Note::new(code::ALREADY_OPEN, format!("subagent {agent} is active already")))
        } else if knows(agent) {
            Some(Note::new(code::SUBAGENT_MISUSED, format!("subagent {agent} has finished in this run")))
        } else {
            parent
                .filter(|parent| !knows(parent))
                .map(|parent| Note::new(code::SUBAGENT_MISUSED, format!("parent subagent {parent} has not started")))
        };
        self.agents.insert(agent.to_owned());
        note
    }

    pub(super) fn agent_ends(&mut self, agent: &str) -> Option<Note> {
        if self.unchecked {
            return None;
        }
        let known = self.agents.remove(agent);
        self.closed_agents.insert(agent.to_owned());
        (!known).then(|| Note::new(code::NOT_OPEN, format!("subagent {agent} is not active")))
    }

    pub(super) fn run_finishes(&mut self) -> Option<Note> {
        if self.unchecked {
            return None;
        }
        let steps = self.steps.iter().map(|(_, name)| format!("step {name}"));
        let spans = [Span::Text, Span::Reasoning, Span::Thought, Span::Tool];
        let items = spans.into_iter().flat_map(|span| self.of(span).into_iter().flatten().map(move |id| format!("{} {id}", span.what())));
        let agents = self.agents.iter().map(|agent| format!("subagent {agent}"));
        let open: Vec<String> = steps.chain(items).chain(agents).collect();
        self.finished = true;
        self.open = Default::default();
        self.steps.clear();
        self.agents.clear();
        (!open.is_empty()).then(|| Note::new(code::OPEN_AT_FINISH, open.join(", ")))
    }

    pub(super) fn run_fails(&mut self) {
        self.failed = true;
    }
}
