//! `pending`: open interactions.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use turnstore::{InteractionItem, Item, ItemKind, PendingCursor, View};

use crate::args;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::render::table::{Align, Table};
use crate::render::{json_page, page, text};

use super::{at_session, open_reading};

/// Interactions that are asked for at once.
const PAGE_PENDING: usize = 200;

pub(crate) fn run(store: &Path, args: &args::Pending, out: &mut Out) -> Result<Outcome, Failure> {
    let reading = open_reading(store)?;
    let mut listed = Listed { json: args.json, values: Vec::new(), table: Table::new(&COLUMNS) };
    match &args.session {
        Some(session) => listed.session(&reading.view, session)?,
        None => everywhere(&reading.view, &mut listed)?,
    }
    let paint = out.paint;
    if args.json {
        out.json_pretty(&json!({ "pending": listed.values }))?;
    } else if listed.table.is_empty() {
        writeln!(out, "nothing is pending")?;
    } else {
        listed.table.write(out, paint)?;
    }
    Ok(Outcome::Done)
}

const COLUMNS: [(&str, Align); 6] = [
    ("session", Align::Left),
    ("interaction", Align::Left),
    ("kind", Align::Left),
    ("seq", Align::Right),
    ("expires", Align::Left),
    ("asks", Align::Left),
];

/// What was found, in the form that was asked for.
struct Listed {
    json: bool,
    values: Vec<Value>,
    table: Table,
}

impl Listed {
    fn session(&mut self, view: &View, session: &str) -> Result<(), Failure> {
        let pending = view.pending(session).map_err(|error| at_session(error.into(), session))?;
        for item in pending.items() {
            if let ItemKind::Interaction(asked) = item.kind() {
                self.add(session, &item, &asked);
            }
        }
        Ok(())
    }

    fn add(&mut self, session: &str, item: &Item<'_>, asked: &InteractionItem<'_>) {
        let seq = json_page::seq(item.first_seq());
        if self.json {
            let mut value = json_page::interaction(asked);
            if let Some(object) = value.as_object_mut() {
                object.insert("session".to_owned(), session.into());
                object.insert("seq".to_owned(), seq.into());
            }
            self.values.push(value);
            return;
        }
        let clip = |text: &str, columns| text::clip(&text::one_line(text), columns);
        self.table.row([
            clip(session, 32),
            clip(asked.id(), 32),
            clip(asked.kind(), 16),
            seq.to_string(),
            clip(asked.expires_at().unwrap_or("-"), 24),
            clip(&page::question(asked), 70),
        ]);
    }
}

/// Everything that waits, session by session.
fn everywhere(view: &View, listed: &mut Listed) -> Result<(), Failure> {
    let mut cursor: Option<PendingCursor> = None;
    let mut last = None;
    loop {
        let page = view.pending_everywhere(PAGE_PENDING, cursor.as_ref())?;
        for waiting in page.pending {
            if last.as_ref() != Some(&waiting.session) {
                listed.session(view, &waiting.session)?;
                last = Some(waiting.session);
            }
        }
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(());
        }
    }
}
