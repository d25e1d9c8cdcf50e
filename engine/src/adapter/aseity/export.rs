//! What a session holds, as the protocol shows it: pages of history, and the statement of the open turn.
//!
//! **Invariant:** artifacts and errors go out as they came in; what is not known is said to be unknown or left out, never made up.
//! **Absent:** folding: everything is read through a [`View`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::body::list;
use super::decode::running;
use super::reference::write_references;
use super::spelling::field;
use crate::adapter::residue::{Body, Value, once, spread, text, write};
use crate::adapter::wire::Hydration;
use crate::error::Error;
use crate::fact::Json;
use crate::{Item, ItemKind, LongText, Page, PartItem, ResultItem, ToolItem, TurnRef, View, Window};

/// A page of a session as the protocol's `SessionMessages`: messages with their parts, a summary for every turn here (so that turns
/// without text are kept), and `olderCursor`, the text of [`Page::cursor`], when there is something older in the store.
///
/// `view` is the one that gave the page; large content is read through it. Cost: the page, whole.
/// Errors: those of [`View::payload`] and [`View::document`].
pub fn session_messages(view: &View, page: &Page) -> Result<Json<'static>, Error> {
    let mut turns = BTreeSet::new();
    let mut summaries = Vec::new();
    for turn in page.turns().filter_map(|turn| turn.turn()) {
        if turns.insert(turn.id()) {
            summaries.push(summary(view, turn)?);
        }
    }
    let whole: BTreeSet<&str> = page.turns().filter(|turn| !turn.truncated()).filter_map(|turn| Some(turn.turn()?.id())).collect();
    let messages = messages(page);
    let last: BTreeMap<&str, usize> = (0..).zip(&messages).filter_map(|(place, message)| Some((message.answers()?.id(), place))).collect();
    let mut written = Vec::with_capacity(messages.len());
    for (place, message) in messages.iter().enumerate() {
        let ends = message.answers().filter(|turn| last.get(turn.id()) == Some(&place));
        written.push(message.write(view, page.session(), ends, ends.is_some_and(|turn| whole.contains(turn.id())))?);
    }
    let mut fields = vec![text("type", "SessionMessages"), field("messages", list(written.into_iter()))];
    fields.push(field("turns", list(summaries.into_iter())));
    let older = page.cursor().map(|cursor| cursor.to_string());
    fields.extend(older.map(|older| (Cow::Borrowed("olderCursor"), Value::Text(Cow::Owned(older)))));
    Ok(Json::built(write(&fields)))
}

/// A session as the protocol's `session_event`: title, status and other fields as stated, and `current_turn`: the open turn with every
/// interaction that waits, or `null` when idle. `None` for a session that the store does not have.
///
/// A turn is shown to run while it runs or something of it waits; one that a process left open which is gone is not shown to run.
/// Cost: what waits, and the items since the open turn began. Errors: those of [`View::session`] and [`View::pending`].
pub fn session_event(view: &View, session: &str) -> Result<Option<Json<'static>>, Error> {
    let Some(head) = view.session(session)? else { return Ok(None) };
    let mut fields: Body<'_> = vec![text("type", "session_event")];
    let pending = view.pending(session)?;
    let open = if head.header.running && !head.unobserved { running_turn(view, session)? } else { None };
    let asking = pending.interactions().filter_map(|asked| asked.turn()).last().map(str::to_owned);
    let asked = pending.interactions().map(|asked| {
        let data = asked.request().or(asked.interrupt()).map_or(Ok(Cow::Borrowed("null")), |data| view.whole(&data))?;
        Ok(write(&[text("interactionId", asked.id()), field("data", data)]))
    });
    let asked = asked.collect::<Result<Vec<_>, Error>>()?.into_iter();
    let current =
        open.or(asking).map(|turn| write(&[text("turnId", &turn), text("status", "running"), field("pendingInteractions", list(asked))]));
    fields.push(field("current_turn", current.unwrap_or_else(|| "null".to_owned())));
    fields.extend(head.header.title.as_deref().map(|title| text("title", title)));
    fields.extend(head.header.status.as_deref().map(|status| text("status", status)));
    let stated = head.header.fields.map(Json::built);
    fields.extend(stated.as_ref().map(spread).unwrap_or_default());
    Ok(Some(Json::built(write(&once(fields)))))
}

/// A session as a client hydrates it: its pages from the newest to the oldest, then its `session_event`.
pub(super) fn hydrate(view: &View, session: &str) -> Result<Hydration, Error> {
    let mut next = Some(view.window(session, Window::default())?);
    let (view, session) = (view.clone(), session.to_owned());
    let mut told = false;
    Ok(Box::new(std::iter::from_fn(move || {
        let Some(page) = next.take() else {
            let last = !std::mem::replace(&mut told, true);
            return if last { session_event(&view, &session).transpose().map(|event| Ok(event?.as_str().to_owned())) } else { None };
        };
        let written = session_messages(&view, &page).and_then(|messages| {
            next = page.cursor().map(|cursor| view.older(&session, &cursor)).transpose()?;
            Ok(messages.as_str().to_owned())
        });
        told |= written.is_err();
        Some(written)
    })))
}

/// The newest turn that is stated to run.
fn running_turn(view: &View, session: &str) -> Result<Option<String>, Error> {
    let mut page = view.window(session, Window::default())?;
    loop {
        let runs = |turn: &TurnRef<'_>| !turn.ended() && !matches!(turn.stated_status(), "unknown");
        let found = page.turns().filter_map(|turn| turn.turn()).filter(runs).last().map(|turn| turn.id().to_owned());
        match (found, page.cursor()) {
            (None, Some(cursor)) => page = view.older(session, &cursor)?,
            (found, _) => return Ok(found),
        }
    }
}

fn summary(view: &View, turn: TurnRef<'_>) -> Result<String, Error> {
    let status = if turn.unobserved() { "unknown" } else { turn.stated_status() };
    let host = running(status);
    let mut fields = vec![text("turnId", turn.id()), text("status", host.as_deref().unwrap_or(status))];
    fields.extend(turn.artifacts().map(|list| field("artifacts", write_references(list))));
    fields.extend(turn.error().map(|error| Ok::<_, Error>(field("error", view.whole(&error)?))).transpose()?);
    Ok(write(&fields))
}

/// The items of one message, in order.
struct Message<'p> {
    id: &'p str,
    turn: Option<TurnRef<'p>>,
    items: Vec<Item<'p>>,
}

fn messages(page: &Page) -> Vec<Message<'_>> {
    let mut messages = Vec::<Message<'_>>::new();
    let mut places = BTreeMap::<(bool, &str), usize>::new();
    for item in page.items() {
        let key = match item.kind() {
            ItemKind::Text(part) | ItemKind::Reasoning(part) | ItemKind::Activity(part) => (false, part.message()),
            ItemKind::Tool(tool) => (false, tool.message()),
            ItemKind::Result(result) => (true, result.message().unwrap_or(result.tool())),
            _ => continue,
        };
        // An activity is a message of its own here, and a part on the wire: of the answer that it stands behind.
        let answer = messages.last().filter(|_| matches!(item.kind(), ItemKind::Activity(_))).and_then(Message::answers);
        let behind = answer.is_some_and(|turn| item.turn().is_some_and(|own| own.id() == turn.id()));
        let place = if behind { messages.len().saturating_sub(1) } else { *places.entry(key).or_insert(messages.len()) };
        match messages.get_mut(place) {
            Some(message) => message.items.push(item),
            None => messages.push(Message { id: key.1, turn: item.turn(), items: vec![item] }),
        }
    }
    messages
}

impl<'p> Message<'p> {
    /// The turn that it is an answer of.
    fn answers(&self) -> Option<TurnRef<'p>> {
        self.turn.filter(|_| self.role() == "assistant")
    }

    fn role(&self) -> &'p str {
        let stated = self.items.iter().find_map(|item| match item.kind() {
            ItemKind::Text(part) => Some(part.role()),
            ItemKind::Result(_) => Some("tool"),
            _ => None,
        });
        stated.unwrap_or("assistant")
    }

    /// The message; the last one of a turn carries the turn's artifacts, and its error when the turn is here to its end.
    fn write(&self, view: &View, session: &str, ends: Option<TurnRef<'p>>, whole: bool) -> Result<String, Error> {
        let mut fields = vec![text("id", self.id)];
        fields.extend((!self.role().is_empty()).then(|| text("role", self.role())));
        fields.extend(self.turn.map(|turn| text("turnId", turn.id())));
        let mut error = None;
        match self.items.as_slice() {
            [item] if self.is_plain(item) => error = plain(view, item, &mut fields)?,
            items => {
                let parts = items.iter().map(|item| part(view, session, item)).collect::<Result<Vec<_>, _>>()?;
                fields.push(field("parts", list(parts.into_iter())));
            }
        }
        fields.extend(ends.and_then(|turn| turn.artifacts()).map(|list| field("artifacts", write_references(list))));
        let of_turn = ends.filter(|_| whole).and_then(|turn| turn.error());
        fields.extend(error.or(of_turn).map(|error| Ok::<_, Error>(field("error", view.whole(&error)?))).transpose()?);
        let rest = self.items.iter().find_map(|item| match item.kind() {
            ItemKind::Text(part) => part.metadata(),
            _ => None,
        });
        let rest = rest.map(|rest| Json::built(rest.to_owned()));
        fields.extend(rest.as_ref().map(spread).unwrap_or_default());
        Ok(write(&once(fields)))
    }

    /// Whether an item is the message itself, not a part of one.
    fn is_plain(&self, item: &Item<'p>) -> bool {
        match item.kind() {
            ItemKind::Text(part) => part.id() == part.message(),
            ItemKind::Result(_) => true,
            _ => false,
        }
    }
}

/// A message of one text, or of parts that came as they are; its error.
fn plain<'p>(view: &View, item: &Item<'p>, fields: &mut Body<'p>) -> Result<Option<LongText<'p>>, Error> {
    match item.kind() {
        ItemKind::Text(part) => {
            if let Some(name) = part.name() {
                fields.push(text("name", name));
            }
            fields.extend(part.text().map(|content| said(view, &content, "text", "parts")).transpose()?);
            Ok(part.error())
        }
        ItemKind::Result(result) => {
            fields.push(text("toolCallId", result.tool()));
            fields.extend(result.content().map(|content| said(view, &content, "text", "parts")).transpose()?);
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Content whole, under the key for text or the one for JSON.
fn said<'p>(view: &View, content: &LongText<'p>, key: &'static str, json: &'static str) -> Result<(Cow<'p, str>, Value<'p>), Error> {
    let whole = view.whole(content)?;
    Ok(if content.is_json() { (Cow::Borrowed(json), Value::Json(whole)) } else { (Cow::Borrowed(key), Value::Text(whole)) })
}

fn part(view: &View, session: &str, item: &Item<'_>) -> Result<String, Error> {
    match item.kind() {
        ItemKind::Text(of) => spoken(view, "text", &of),
        ItemKind::Reasoning(of) => spoken(view, "reasoning", &of),
        ItemKind::Activity(of) => activity(view, session, &of),
        ItemKind::Tool(tool) => call(view, &tool),
        ItemKind::Result(result) => {
            let mut fields = vec![text("type", "tool_result"), text("toolCallId", result.tool())];
            outcome(view, &result, &mut fields)?;
            Ok(write(&fields))
        }
        _ => Ok("{}".to_owned()),
    }
}

fn spoken(view: &View, kind: &'static str, part: &PartItem<'_>) -> Result<String, Error> {
    let mut fields = vec![text("id", part.id()), text("type", kind)];
    fields.extend(part.text().map(|content| said(view, &content, "text", "content")).transpose()?);
    Ok(write(&fields))
}

/// An activity as it was stated, when its document is there.
fn activity(view: &View, session: &str, part: &PartItem<'_>) -> Result<String, Error> {
    let stated = view.document(session, &part.document())?.map(|document| document.value.to_string());
    Ok(stated.unwrap_or_else(|| write(&[text("id", part.id()), text("type", part.subtype().unwrap_or("activity"))])))
}

fn call(view: &View, tool: &ToolItem<'_>) -> Result<String, Error> {
    let mut fields = vec![text("id", tool.id()), text("type", "tool"), text("toolCallId", tool.id()), text("toolName", tool.name())];
    let args = tool.args().joined();
    let structured = args.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(&args).is_ok();
    if !args.is_empty() {
        fields.push((Cow::Borrowed("input"), if structured { Value::Json(args) } else { Value::Text(args) }));
    }
    fields.push(text("status", tool.status()));
    if let Some(result) = tool.results().last() {
        outcome(view, &result, &mut fields)?;
    }
    Ok(write(&fields))
}

fn outcome<'p>(view: &View, result: &ResultItem<'p>, fields: &mut Body<'p>) -> Result<(), Error> {
    fields.extend(result.content().map(|content| said(view, &content, "output", "output")).transpose()?);
    fields.extend(result.error().map(|error| said(view, &error, "error", "error")).transpose()?);
    Ok(())
}
