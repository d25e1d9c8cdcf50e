//! What stands open at the end of a session.
//!
//! **Invariant:** the timeline is walked once, a page at a time.

use turnstore_storage::Seq;

use super::table::{
    AFTER_END, LOST_REQUEST, OPEN_PART, OPEN_TURN, REOPENED_TURN, STALE_DOCUMENT, UNANSWERED_CALL, UNANSWERED_REQUEST, UNFINISHED_CALL,
    WAITING_REQUEST,
};
use crate::error::Error;
use crate::event::Body;
use crate::fact::Fact;
use crate::{InteractionItem, InteractionStatus, Item, ItemKind, Mark, PartItem, ToolItem, TurnRef, View, Window};

/// Items of one step of the walk.
const STEP_ITEMS: usize = 200;

type Tell<'t> = &'t mut dyn FnMut(&str, Seq, String);

pub(super) fn findings(view: &View, session: &str, tell: Tell<'_>) -> Result<(), Error> {
    let mut page = view.oldest(session, Window::items(STEP_ITEMS))?;
    let mut last: Option<String> = None;
    loop {
        for slice in page.turns() {
            if let Some(turn) = slice.turn() {
                // A turn that a page cuts comes again in the next one.
                if last.as_deref() != Some(turn.id()) {
                    turn_at_end(turn, tell);
                    last = Some(turn.id().to_owned());
                }
            }
            for item in slice.items() {
                item_at_end(view, session, &item, tell)?;
            }
        }
        if !page.has_newer() {
            break;
        }
        page = view.page(session, &page.newer_cursor(), Window::items(STEP_ITEMS))?;
    }
    let head = view.session(session)?.and_then(|head| head.last_seq).unwrap_or(Seq::FIRST);
    for document in view.documents(session)? {
        let document = document?;
        if document.stale {
            tell(STALE_DOCUMENT, head, document.name);
        }
    }
    Ok(())
}

fn turn_at_end(turn: TurnRef<'_>, tell: Tell<'_>) {
    if turn.reopened() > 0 {
        tell(REOPENED_TURN, turn.first_seq().unwrap_or(Seq::FIRST), format!("turn {}, {} times", turn.id(), turn.reopened()));
    }
    // One of which nobody said that it runs was only named.
    if !turn.ended() && turn.stated_status() != "unknown" {
        tell(OPEN_TURN, turn.first_seq().unwrap_or(Seq::FIRST), format!("turn {} is {}", turn.id(), turn.stated_status()));
    }
}

fn item_at_end(view: &View, session: &str, item: &Item<'_>, tell: Tell<'_>) -> Result<(), Error> {
    let seq = item.first_seq().unwrap_or(Seq::FIRST);
    late(item, seq, tell);
    match item.kind() {
        ItemKind::Interaction(asked) => asked_at_end(view, session, item, asked, tell)?,
        // Who fails or is stopped leaves things as they are.
        _ if item.turn().is_some_and(was_cut) => {}
        ItemKind::Text(part) => part_at_end("text", part, seq, tell),
        ItemKind::Reasoning(part) => part_at_end("reasoning", part, seq, tell),
        ItemKind::Tool(tool) => tool_at_end(item, tool, seq, tell),
        _ => {}
    }
    Ok(())
}

/// What is opened behind the last that was said of its turn, when that was its end.
fn late(item: &Item<'_>, seq: Seq, tell: Tell<'_>) {
    let Some(turn) = item.turn().filter(|turn| turn.ended() && turn.last_seq().is_some_and(|last| last < seq)) else { return };
    let id = match item.kind() {
        ItemKind::Text(part) | ItemKind::Reasoning(part) => part.id(),
        ItemKind::Tool(tool) => tool.id(),
        _ => return,
    };
    tell(AFTER_END, seq, format!("{id} after the end of turn {}", turn.id()));
}

/// Whether a turn ended before it was done.
fn was_cut(turn: TurnRef<'_>) -> bool {
    turn.ended() && matches!(turn.stated_status(), "failed" | "cancelled" | "stopped" | "interrupted")
}

fn part_at_end(what: &str, part: PartItem<'_>, seq: Seq, tell: Tell<'_>) {
    if part.mark() == Mark::Open {
        tell(OPEN_PART, seq, format!("{what} {} of message {}", part.id(), part.message()));
    }
}

fn tool_at_end(item: &Item<'_>, tool: ToolItem<'_>, seq: Seq, tell: Tell<'_>) {
    let left_to_client = item.turn().is_some_and(|turn| turn.pending_tools().any(|id| id == tool.id()));
    if tool.status() != "running" || tool.results().next().is_some() || left_to_client {
        return;
    }
    let code = if tool.args_ended() { UNANSWERED_CALL } else { UNFINISHED_CALL };
    tell(code, seq, format!("call {} of {}", tool.id(), tool.name()));
}

fn asked_at_end(view: &View, session: &str, item: &Item<'_>, asked: InteractionItem<'_>, tell: Tell<'_>) -> Result<(), Error> {
    let seq = item.first_seq().unwrap_or(Seq::FIRST);
    let said = format!("{} {}", if asked.kind().is_empty() { "request" } else { asked.kind() }, asked.id());
    match asked.status() {
        InteractionStatus::Pending => {
            let lost = item.turn().is_some_and(|turn| turn.ended() && turn.stated_status() != "interrupt");
            tell(if lost { LOST_REQUEST } else { WAITING_REQUEST }, seq, said);
        }
        // What its owner no longer lists was withdrawn by the owner; an interrupt that a later run passes over was answered there.
        InteractionStatus::Withdrawn if asked.interrupt().is_none() && !item.turn().is_some_and(was_cut) => {
            let by = item.last_seq().map(|seq| view.events(session, seq)).transpose()?.and_then(|mut events| events.next()).transpose()?;
            let ended = by.as_ref().map(|by| by.event()).transpose()?;
            if ended.is_some_and(|event| matches!(event.body, Body::Fact(Fact::TurnEnded(_)))) {
                tell(UNANSWERED_REQUEST, seq, said);
            }
        }
        InteractionStatus::Withdrawn | InteractionStatus::Resolved => {}
    }
    Ok(())
}
