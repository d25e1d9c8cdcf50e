//! History stated by its owner: older pages, replacements, edit merges, missing messages.
//!
//! **Invariant:** a statement of the whole history begins a new epoch of the timeline, unless it states what is already there. Turns,
//! interactions and everything else that is no message stay. Cost: the history, which the statement itself carries.

use std::collections::{BTreeMap, BTreeSet};

use super::super::chunked::{Chunked, Sealed};
use super::super::entry::{Body, Content, Entry, LoneResult, Mark, PAGE_ENTRIES, Part, PartRole, Sequence, Tool, ToolResult, Turn};
use super::super::lookup::Space;
use super::super::rows::{Field, RowKind, piece_ordinal};
use super::super::session::State;
use super::tool::new_tool;
use super::{Fold, owned};
use crate::fact::{self, HistoryImported, HistoryMessage, HistoryMode, HistoryTurn};
use crate::limits::{INLINE_BYTES_MAX, TOOL_RESULTS_MAX};

/// An entry on its way to a new place, with its text.
struct Draft {
    turn: Option<String>,
    first_seq: u64,
    last_seq: u64,
    body: Body,
    pieces: Vec<(Field, Vec<Sealed>)>,
    /// Where it stood before.
    from: Option<i64>,
}

impl Fold<'_> {
    pub(super) fn history_imported(&mut self, history: &HistoryImported<'_>) {
        let reaches_back = self.reaches_back(history);
        match history.mode {
            HistoryMode::Append => self.append_unknown(history),
            HistoryMode::Page => self.prepend_unknown(history),
            HistoryMode::Merge | HistoryMode::Replace => self.restate_history(history),
        }
        for turn in &history.turns {
            self.summarize(turn, history.requested_at);
        }
        if history.mode == HistoryMode::Page && reaches_back {
            self.state.header.older = owned(&history.older);
            self.state.header.history_complete = Some(history.older.is_none());
        }
    }

    /// Whether a page may begin before what is known. One whose oldest message is known was asked again: what is older was told already.
    fn reaches_back(&self, history: &HistoryImported<'_>) -> bool {
        let message = history.messages.first().map(|message| self.knows(message) || self.came_live(message, history.requested_at));
        let turn = history.turns.first().map(|turn| self.find(Space::Turn, &turn.turn).is_some());
        let again = (message.is_some() || turn.is_some()) && message.unwrap_or(true) && turn.unwrap_or(true);
        match self.state.header.history_complete {
            Some(complete) => !complete && (!again || history.older.is_none()),
            None => true,
        }
    }

    /// Whether what an assistant said in the message's turn came live, under whatever message, before the page was asked for.
    fn came_live(&self, message: &HistoryMessage<'_>, requested_at: Option<u64>) -> bool {
        let turn = message.turn.as_deref().filter(|_| message.role == "assistant").and_then(|turn| self.find(Space::Turn, turn));
        let said = turn.and_then(|ordinal| match self.body(Sequence::Timeline, ordinal)? {
            Body::Turn(turn) => turn.said_seq,
            _ => None,
        });
        said.is_some_and(|said| said <= requested_at.unwrap_or(0))
    }

    /// What a page says of a turn, where nothing was said of it after the page was asked for.
    fn summarize(&mut self, summary: &HistoryTurn<'_>, requested_at: Option<u64>) {
        let asked = requested_at.unwrap_or(0);
        let Some(ordinal) = self.turn_of(Some(&summary.turn)) else { return };
        let Some(Body::Turn(turn)) = self.body(Sequence::Timeline, ordinal) else { return };
        let unknown = turn.status == "unknown";
        let earlier = turn.told_seq <= asked;
        let artifacts = summary.artifacts.as_deref().filter(|_| turn.artifacts.is_none() || turn.artifacts_seq <= asked);
        let stated = summary.status.as_deref().filter(|status| *status != "unknown");
        // That a turn ended is known from any page; that it runs, only from one that was asked for after what was said of it.
        let status = stated.filter(|status| match (unknown, earlier) {
            (true, false) => is_end(status),
            (unknown, _) => unknown || (earlier && !turn.ended && *status != turn.status),
        });
        let error = summary.error.as_ref().filter(|_| turn.error.is_none() && (status.is_some() || unknown || earlier));
        if let Some(status) = status {
            self.summarized_status(ordinal, status, asked);
        }
        if let Some(error) = error.and_then(|error| self.json(error))
            && let Some(turn) = self.turn_mut(ordinal)
        {
            turn.error = Some(error);
        }
        if let Some(references) = artifacts {
            self.set_artifacts(&summary.turn, references);
        }
    }

    /// A turn has the status that its owner's page states. What had been asked in one that ended is asked no longer.
    fn summarized_status(&mut self, ordinal: i64, status: &str, asked: u64) {
        let ended = is_end(status);
        let Some(turn) = self.turn_mut(ordinal) else { return };
        status.clone_into(&mut turn.status);
        turn.ended = ended;
        turn.stage = turn.stage.take().filter(|_| !ended);
        if self.state.header.current == Some(ordinal) {
            self.state.header.running = !ended;
        }
        if ended && status != "interrupt" {
            self.withdraw_of(|entry, _| entry.turn == Some(ordinal) && entry.last_seq <= asked);
        }
    }

    fn knows(&self, message: &HistoryMessage<'_>) -> bool {
        self.message(&message.id).is_some()
            || self.find(Space::Reasoning, &message.id).is_some()
            || self.find(Space::Activity, &message.id).is_some()
    }

    fn append_unknown(&mut self, history: &HistoryImported<'_>) {
        for message in &history.messages {
            if !self.knows(message) {
                self.append_message(message);
            }
        }
    }

    fn append_message(&mut self, message: &HistoryMessage<'_>) {
        if let Some((tool, result)) = self.result_for_known(message) {
            return self.attach(tool, result);
        }
        for draft in self.drafts(message) {
            let ordinal = self.state.header.next;
            self.state.header.next += 1;
            self.place(ordinal, draft);
            self.name_entry(ordinal);
        }
    }

    /// A tool message whose call is known and whose place is right behind it.
    fn result_for_known(&mut self, message: &HistoryMessage<'_>) -> Option<(i64, ToolResult)> {
        let tool = self.find(Space::Tool, message.tool_call.as_deref().filter(|_| message.role == "tool")?)?;
        if !self.is_last_message_of(tool) {
            return None;
        }
        Some((tool, self.result(message)))
    }

    /// Whether nothing stands behind the message of a call but calls of that message without newer results. Looks at the last page
    /// alone, which is always in memory.
    fn is_last_message_of(&self, tool: i64) -> bool {
        let Some(Body::Tool(call)) = self.body(Sequence::Timeline, tool) else { return false };
        let next = self.state.header.next;
        let page = (next - 1).div_euclid(PAGE_ENTRIES) * PAGE_ENTRIES;
        (page.max(tool + 1)..next).all(|ordinal| match self.body(Sequence::Timeline, ordinal) {
            Some(Body::Tool(other)) => other.message == call.message && !other.results.iter().any(|result| result.seq == self.seq),
            Some(Body::Part(_) | Body::Result(_)) | None => false,
            Some(_) => true,
        }) && tool >= page
    }

    fn attach(&mut self, ordinal: i64, result: ToolResult) {
        let message = result.message.clone();
        let Some(Body::Tool(tool)) = self.body_mut(Sequence::Timeline, ordinal) else { return };
        give(tool, result);
        if let Some(message) = message {
            self.name_message(&message, ordinal);
        }
    }

    fn prepend_unknown(&mut self, history: &HistoryImported<'_>) {
        let mut drafts = Vec::new();
        let mut drafted = BTreeSet::new();
        let mut summaries = history.turns.iter();
        for message in &history.messages {
            if self.knows(message) || self.came_live(message, history.requested_at) {
                continue;
            }
            if let Some(turn) = &message.turn {
                if history.turns.iter().any(|summary| summary.turn == *turn) && !drafted.contains(turn.as_ref()) {
                    for summary in summaries.by_ref() {
                        self.draft_turn(&summary.turn, &mut drafted, &mut drafts);
                        if summary.turn == *turn {
                            break;
                        }
                    }
                }
                self.draft_turn(turn, &mut drafted, &mut drafts);
            }
            let stated = message.turn.is_some();
            drafts.extend(self.drafts(message).into_iter().map(|draft| Draft { turn: draft.turn.filter(|_| stated), ..draft }));
        }
        for summary in summaries {
            self.draft_turn(&summary.turn, &mut drafted, &mut drafts);
        }
        let first = self.state.header.first - i64::try_from(drafts.len()).unwrap_or(0);
        self.state.header.first = first;
        for (ordinal, draft) in (first..).zip(drafts) {
            self.place(ordinal, draft);
            self.name_entry(ordinal);
        }
    }

    fn draft_turn(&self, id: &str, drafted: &mut BTreeSet<String>, drafts: &mut Vec<Draft>) {
        if self.find(Space::Turn, id).is_none() && drafted.insert(id.to_owned()) {
            let turn = Turn { id: id.to_owned(), status: "unknown".to_owned(), ..Turn::default() };
            drafts.push(self.draft(None, Body::Turn(turn)));
        }
    }

    fn draft(&self, turn: Option<String>, body: Body) -> Draft {
        Draft { turn, first_seq: self.seq, last_seq: self.seq, body, pieces: Vec::new(), from: None }
    }

    fn current_turn_id(&self) -> Option<String> {
        self.turn_id(self.state.header.current?)
    }

    fn turn_id(&self, ordinal: i64) -> Option<String> {
        match self.body(Sequence::Timeline, ordinal)? {
            Body::Turn(turn) => Some(turn.id.clone()),
            _ => None,
        }
    }

    /// The entries of a message. An activity's content becomes its document at once.
    fn drafts(&mut self, message: &HistoryMessage<'_>) -> Vec<Draft> {
        let turn = message.turn.as_deref().map(str::to_owned).or_else(|| self.current_turn_id());
        if message.role == "tool" {
            let tool = message.tool_call.as_deref().unwrap_or_default().to_owned();
            return vec![self.draft(turn, Body::Result(LoneResult { tool, result: self.result(message) }))];
        }
        let mut drafts = Vec::new();
        let bare = message.content.is_none() && message.sealed.is_none() && message.name.is_none() && message.error.is_none();
        if message.tools.is_empty() || !bare {
            drafts.push(self.part_draft(turn.clone(), message));
        }
        for (index, call) in message.tools.iter().enumerate() {
            let mut tool = new_tool(&call.id, &call.name, &message.id);
            let mut sealed = Vec::new();
            tool.args = Chunked::of(&call.args, &mut sealed);
            tool.args_ended = true;
            tool.sealed = self.text_if(&call.sealed);
            tool.agent = owned(&message.agent);
            tool.metadata = self.object(&call.metadata);
            if index == 0 && drafts.is_empty() {
                tool.message_metadata = self.object(&message.metadata);
                tool.message_sealed = self.text_if(&message.sealed);
            }
            let mut draft = self.draft(turn.clone(), Body::Tool(tool));
            draft.pieces.push((Field::ARGS, sealed));
            drafts.push(draft);
        }
        drafts
    }

    fn part_draft(&mut self, turn: Option<String>, message: &HistoryMessage<'_>) -> Draft {
        let kind = match message.role.as_ref() {
            "reasoning" => PartRole::Reasoning,
            "activity" => PartRole::Activity,
            _ => PartRole::Text,
        };
        let mut sealed = Vec::new();
        let content = match (&message.content, kind) {
            (Some(fact::Content::Json(value)), PartRole::Activity) => {
                if let Ok(value) = value.value() {
                    self.set_document(&format!("activity:{}", message.id), value, true);
                }
                None
            }
            (Some(fact::Content::Text(text)), _) => Some(Content::Text(Chunked::of(text, &mut sealed))),
            (Some(content), _) => Some(self.content(content)),
            (None, _) => None,
        };
        let part = Part {
            id: message.id.to_string(),
            message: message.id.to_string(),
            kind,
            role: message.role.to_string(),
            name: owned(&message.name),
            agent: owned(&message.agent),
            subtype: owned(&message.subtype),
            content,
            mark: Mark::Closed,
            sealed: self.text_if(&message.sealed),
            error: self.json_if(&message.error),
            metadata: self.object(&message.metadata),
        };
        let mut draft = self.draft(turn, Body::Part(part));
        draft.pieces.push((Field::TEXT, sealed));
        draft
    }

    fn result(&self, message: &HistoryMessage<'_>) -> ToolResult {
        // An error that is too long for the row is found in the log as it is written there, which is JSON.
        let error = message.error.as_ref().and_then(|error| match serde_json::from_str::<String>(error.as_str()).ok()? {
            text if text.len() > INLINE_BYTES_MAX => self.json(error),
            text => self.text(&text),
        });
        ToolResult {
            seq: self.seq,
            message: Some(message.id.to_string()),
            content: message.content.as_ref().map(|content| self.content(content)),
            reference: None,
            error,
            agent: owned(&message.agent),
            detail: None,
            sealed: self.text_if(&message.sealed),
            metadata: self.json_if(&message.metadata),
        }
    }

    fn place(&mut self, ordinal: i64, draft: Draft) {
        let turn = draft.turn.as_deref().and_then(|id| self.find(Space::Turn, id));
        match draft.body {
            Body::Turn(_) => self.state.header.turns += 1,
            _ => self.state.header.items += 1,
        }
        self.state.header.touch(ordinal, turn, draft.last_seq);
        let entry = Entry { turn, first_seq: draft.first_seq, last_seq: draft.last_seq, body: draft.body };
        self.state.put_entry(Sequence::Timeline, ordinal, entry, self.seq);
        for (field, sealed) in draft.pieces {
            self.keep(RowKind::Text, ordinal, field, sealed);
        }
    }

    /// Names an entry by what its body says.
    fn name_entry(&mut self, ordinal: i64) {
        let mut messages = Vec::new();
        let mut names = Vec::new();
        match self.body(Sequence::Timeline, ordinal) {
            Some(Body::Turn(turn)) => {
                names.push((Space::Turn, turn.id.clone()));
                names.extend(turn.run.clone().map(|run| (Space::Turn, run)));
            }
            Some(Body::Part(part)) => {
                names.push((Space::of(part.kind), part.id.clone()));
                messages.push(part.message.clone());
            }
            Some(Body::Tool(tool)) => {
                names.push((Space::Tool, tool.id.clone()));
                messages.push(tool.message.clone());
                messages.extend(tool.results.iter().filter_map(|result| result.message.clone()));
            }
            Some(Body::Result(lone)) => messages.extend(lone.result.message.clone()),
            Some(Body::Interaction(interaction)) => names.push((Space::Interaction, interaction.id.clone())),
            _ => {}
        }
        for (space, id) in names {
            // Of calls with one id the first is meant.
            if space != Space::Tool || self.find(space, &id).is_none() {
                self.name(space, &id, ordinal);
            }
        }
        for message in messages {
            self.name_message(&message, ordinal);
        }
    }

    fn restate_history(&mut self, history: &HistoryImported<'_>) {
        let before = self.state.timeline();
        let stated = Stated::new(history);
        let mut merge = Merge { fold: self, stated, drafts: Vec::new(), done: BTreeSet::new() };
        for (ordinal, entry) in &before {
            merge.old(*ordinal, entry, &before);
        }
        merge.new_messages(history);
        let drafts = merge.drafts;
        if !same(&before, &drafts) {
            self.begin_epoch(drafts);
        }
    }

    /// Lays the timeline anew from `drafts`.
    fn begin_epoch(&mut self, mut drafts: Vec<Draft>) {
        for draft in &mut drafts {
            if let Some(from) = draft.from.filter(|_| draft.pieces.is_empty()) {
                draft.pieces = self.state.taken_pieces(from);
            }
        }
        let places: BTreeMap<i64, i64> = (0..).zip(&drafts).filter_map(|(place, draft)| Some((draft.from?, place))).collect();
        self.state.pages.retain(|(sequence, _), _| *sequence != Sequence::Timeline);
        self.state.pieces.retain(|(kind, _), _| *kind != RowKind::Text);
        self.lookup.end_epoch();
        let header = &mut self.state.header;
        header.epoch += 1;
        (header.first, header.next) = (0, i64::try_from(drafts.len()).unwrap_or(i64::MAX));
        (header.turns, header.items) = (0, 0);
        header.current = header.current.and_then(|current| places.get(&current).copied());
        header.running &= header.current.is_some();
        header.pending = header.pending.iter().filter_map(|pending| places.get(pending).copied()).collect();
        let turns: Vec<(i64, String)> = (0..)
            .zip(&drafts)
            .filter_map(|(place, draft)| if let Body::Turn(turn) = &draft.body { Some((place, turn.id.clone())) } else { None })
            .collect();
        for (place, id) in turns {
            self.name(Space::Turn, &id, place);
        }
        for (place, draft) in (0..).zip(drafts) {
            self.place(place, draft);
            self.name_entry(place);
        }
    }
}

/// Whether a status of a summary says that the turn is over.
fn is_end(status: &str) -> bool {
    !matches!(status, "running" | "waiting" | "stopping" | "unknown")
}

/// The status of a call that its owner said has failed: no statement of messages, which cannot say so, takes that back.
const FAILED: &str = "failed";

/// A call has a result that a statement gives.
fn give(tool: &mut Tool, result: ToolResult) {
    if tool.status != FAILED {
        "succeeded".clone_into(&mut tool.status);
    }
    tool.results.push(result);
}

/// What a statement says, by message id.
struct Stated<'h, 'a> {
    by_id: BTreeMap<&'h str, &'h HistoryMessage<'a>>,
    roles: BTreeSet<&'h str>,
    replaces: bool,
    authoritative: Option<BTreeSet<&'h str>>,
}

impl<'h, 'a> Stated<'h, 'a> {
    fn new(history: &'h HistoryImported<'a>) -> Self {
        Self {
            by_id: history.messages.iter().map(|message| (message.id.as_ref(), message)).collect(),
            roles: history.messages.iter().map(|message| message.role.as_ref()).collect(),
            replaces: history.mode == HistoryMode::Replace,
            authoritative: history.authoritative_activities.as_ref().map(|types| types.iter().map(AsRef::as_ref).collect()),
        }
    }

    /// Whether an entry of a message that the statement omits stays.
    fn keeps(&self, body: &Body) -> bool {
        let part = match body {
            Body::Part(part) => part,
            // What went wrong is not undone by a statement that is silent about it.
            Body::Tool(tool) => return !self.replaces && tool.status == FAILED,
            _ => return false,
        };
        let exempt = match part.kind {
            PartRole::Text => false,
            PartRole::Reasoning => !self.roles.contains("reasoning"),
            PartRole::Activity => match &self.authoritative {
                Some(types) => !types.contains(part.subtype.as_deref().unwrap_or_default()),
                None => !self.roles.contains("activity"),
            },
        };
        exempt && !self.replaces
    }
}

/// A merge of what is there with what is stated.
struct Merge<'f, 's, 'h, 'a> {
    fold: &'f mut Fold<'s>,
    stated: Stated<'h, 'a>,
    drafts: Vec<Draft>,
    done: BTreeSet<String>,
}

impl Merge<'_, '_, '_, '_> {
    fn old(&mut self, ordinal: i64, entry: &Entry, before: &[(i64, Entry)]) {
        match &entry.body {
            Body::Part(Part { message, .. }) => self.old_message(message, before),
            Body::Tool(tool) => self.old_message(&tool.message, before),
            Body::Result(lone) => {
                let message = lone.result.message.clone().unwrap_or_default();
                self.old_message(&message, before);
            }
            _ => self.keep(ordinal, entry),
        }
    }

    fn keep(&mut self, ordinal: i64, entry: &Entry) {
        let turn = entry.turn.and_then(|turn| self.fold.turn_id(turn));
        self.drafts.push(Draft {
            turn,
            first_seq: entry.first_seq,
            last_seq: entry.last_seq,
            body: entry.body.clone(),
            pieces: Vec::new(),
            from: Some(ordinal),
        });
    }

    /// Results that are messages are the statement's to say again; of the call that was drafted last.
    fn drop_messages(&mut self) {
        if let Some(Draft { body: Body::Tool(tool), .. }) = self.drafts.last_mut() {
            tool.results.retain(|result| result.message.is_none());
        }
    }

    /// A message that is there, at the place of its first entry, with the results behind it.
    fn old_message(&mut self, id: &str, before: &[(i64, Entry)]) {
        if !self.done.insert(id.to_owned()) {
            return;
        }
        let own =
            |body: &Body| matches!(body, Body::Part(part) if part.message == id) || matches!(body, Body::Tool(tool) if tool.message == id);
        let entries: Vec<_> = before.iter().filter(|(_, entry)| own(&entry.body)).collect();
        match self.stated.by_id.get(id).copied() {
            Some(message) => self.state_message(message, &entries),
            None => {
                for (ordinal, entry) in &entries {
                    if self.stated.keeps(&entry.body) {
                        self.keep(*ordinal, entry);
                        self.drop_messages();
                    }
                }
            }
        }
        let mut results: Vec<(u64, String)> = entries
            .iter()
            .filter_map(|(_, entry)| if let Body::Tool(tool) = &entry.body { Some(tool) } else { None })
            .flat_map(|tool| tool.results.iter().filter_map(|result| Some((result.seq, result.message.clone()?))))
            .collect();
        results.sort();
        for (_, result) in results {
            if let Some(message) = self.stated.by_id.get(result.as_str()).copied().filter(|_| self.done.insert(result.clone())) {
                self.state_message(message, &[]);
            }
        }
    }

    fn new_messages(&mut self, history: &HistoryImported<'_>) {
        for message in &history.messages {
            let new = self.done.insert(message.id.to_string());
            if let Some(message) = self.stated.by_id.get(message.id.as_ref()).copied().filter(|_| new) {
                self.state_message(message, &[]);
            }
        }
    }

    fn state_message(&mut self, message: &HistoryMessage<'_>, entries: &[&(i64, Entry)]) {
        if message.role == "tool" && self.attach(message) {
            return;
        }
        for mut draft in self.fold.drafts(message) {
            self.inherit(&mut draft, entries);
            self.drafts.push(draft);
        }
    }

    /// A result right behind its call's message is part of the call; elsewhere it keeps its own place.
    fn attach(&mut self, message: &HistoryMessage<'_>) -> bool {
        let Some(call) = message.tool_call.as_deref() else { return false };
        let last = self.drafts.iter().rev().find_map(|draft| match &draft.body {
            Body::Tool(tool) => Some(Some(tool.message.clone())),
            Body::Part(_) | Body::Result(_) => Some(None),
            _ => None,
        });
        let Some(Some(owner)) = last else { return false };
        let result = self.fold.result(message);
        for draft in self.drafts.iter_mut().rev() {
            if let Body::Tool(tool) = &mut draft.body {
                // A later call of the message was answered before this one: the order shows only if this answer stands apart.
                if tool.message == owner && tool.id != call && tool.results.iter().any(|known| known.seq == result.seq) {
                    return false;
                }
                if tool.message == owner && tool.id == call && tool.results.len() < TOOL_RESULTS_MAX {
                    give(tool, result);
                    return true;
                }
            }
        }
        false
    }

    /// What the statement does not say of an entry that was there: its turn, its place in time, how its text came to stand.
    fn inherit(&self, draft: &mut Draft, entries: &[&(i64, Entry)]) {
        let same = entries.iter().find(|(_, old)| match (&old.body, &draft.body) {
            (Body::Part(old), Body::Part(new)) => old.id == new.id && old.kind == new.kind,
            (Body::Tool(old), Body::Tool(new)) => old.id == new.id,
            _ => false,
        });
        let Some((ordinal, old)) = same else { return };
        draft.from = Some(*ordinal);
        draft.first_seq = old.first_seq;
        draft.turn = old.turn.and_then(|turn| self.fold.turn_id(turn)).or(draft.turn.take());
        match (&old.body, &mut draft.body) {
            (Body::Part(old), Body::Part(new)) if old.content == new.content => new.mark = old.mark,
            (Body::Tool(old), Body::Tool(new)) => {
                new.output.clone_from(&old.output);
                new.progress.clone_from(&old.progress);
                new.detail.clone_from(&old.detail);
                if old.status == FAILED {
                    FAILED.clone_into(&mut new.status);
                    new.error.clone_from(&old.error);
                    new.results = old.results.iter().filter(|result| result.message.is_none()).cloned().collect();
                }
            }
            _ => {}
        }
        if old.body == draft.body {
            draft.last_seq = old.last_seq;
        }
        // No statement carries streamed output: its text moves along.
        let output = self.fold.state.taken_pieces(*ordinal).into_iter().filter(|(field, _)| *field == Field::OUTPUT);
        draft.pieces.extend(output);
    }
}

fn same(before: &[(i64, Entry)], drafts: &[Draft]) -> bool {
    before.len() == drafts.len() && before.iter().zip(drafts).all(|((_, entry), draft)| equal(&entry.body, &draft.body))
}

/// Equal but for the seq at which results and large contents arrived.
fn equal(one: &Body, two: &Body) -> bool {
    let plain = |body: &Body| {
        let mut body = body.clone();
        body.contents_mut(&mut |content| {
            if let Content::Payload(logged) = content {
                logged.seq = 0;
            }
        });
        if let Body::Tool(tool) = &mut body {
            tool.results.iter_mut().for_each(|result| result.seq = 0);
            tool.args_ended = true;
        }
        if let Body::Result(lone) = &mut body {
            lone.result.seq = 0;
        }
        body
    };
    plain(one) == plain(two)
}

impl State {
    /// The whole timeline, in order. Everything is in memory.
    fn timeline(&self) -> Vec<(i64, Entry)> {
        let (first, next) = self.extent(Sequence::Timeline);
        let pages = first.div_euclid(PAGE_ENTRIES)..=(next - 1).div_euclid(PAGE_ENTRIES);
        let slots = pages.filter_map(|page| Some((page, self.pages.get(&(Sequence::Timeline, page))?)));
        slots
            .flat_map(|(page, slot)| (page * PAGE_ENTRIES..).zip(&slot.page.entries))
            .filter_map(|(ordinal, entry)| Some((ordinal, entry.clone()?)))
            .collect()
    }

    /// The sealed pieces of an entry.
    fn taken_pieces(&self, ordinal: i64) -> Vec<(Field, Vec<Sealed>)> {
        let texts = self.texts(ordinal).into_iter();
        texts
            .map(|(field, sealed)| {
                (
                    field,
                    (0..sealed)
                        .filter_map(|index| Some((index, self.piece(RowKind::Text, piece_ordinal(ordinal, field, index))?.to_owned())))
                        .collect(),
                )
            })
            .collect()
    }
}
