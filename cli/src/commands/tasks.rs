//! `tasks`: what goes on in all sessions.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use turnstore::{Task, TaskKind};

use crate::args;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::render::table::{Align, Table};
use crate::render::{number, text};

use super::{open_reading, sessions};

/// Sessions that are asked for at once.
const PAGE_SESSIONS: usize = 200;

pub(crate) fn run(store: &Path, args: &args::Tasks, out: &mut Out) -> Result<Outcome, Failure> {
    let reading = open_reading(store)?;
    let (mut tasks, mut cursor) = (Vec::new(), None);
    loop {
        let page = reading.view.tasks(PAGE_SESSIONS, cursor.as_ref())?;
        tasks.extend(page.tasks);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    if args.json {
        let list: Vec<_> = tasks.iter().map(value).collect();
        out.json_pretty(&json!({ "tasks": list }))?;
        return Ok(Outcome::Done);
    }
    if tasks.is_empty() {
        writeln!(out, "nothing goes on")?;
        return Ok(Outcome::Done);
    }
    let columns =
        [("state", Align::Left), ("what", Align::Left), ("session", Align::Left), ("pending", Align::Right), ("queued", Align::Right)];
    let mut table = Table::new(&columns);
    for task in &tasks {
        table.row([
            task.state.word().to_owned(),
            kind(task).to_owned(),
            text::clip(&text::one_line(&task.session.id), 60),
            number::count(task.session.pending),
            number::count(task.session.queued),
        ]);
    }
    let paint = out.paint;
    table.write(out, paint)?;
    Ok(Outcome::Done)
}

fn kind(task: &Task) -> &'static str {
    match task.kind {
        TaskKind::Turn => "turn",
        TaskKind::Queue => "queue",
        _ => "other",
    }
}

fn value(task: &Task) -> serde_json::Value {
    json!({ "state": task.state.word(), "kind": kind(task), "session": sessions::value(&task.session) })
}
