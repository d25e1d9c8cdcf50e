//! `sessions`: what is there, most recently changed first.

use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use turnstore::{SessionFilter, SessionSummary, SessionsCursor, View};

use crate::args;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::render::table::{Align, Table};
use crate::render::{number, text};

use super::open_reading;

/// Sessions that are asked for at once.
const PAGE_SESSIONS: usize = 200;

pub(crate) fn run(store: &Path, args: &args::Sessions, out: &mut Out) -> Result<Outcome, Failure> {
    let reading = open_reading(store)?;
    let cursor = args.cursor.as_deref().map(str::parse::<SessionsCursor>).transpose().map_err(turnstore::Error::Cursor)?;
    let (sessions, cursor) = list(&reading.view, args, cursor)?;
    let cursor = cursor.map(|cursor| cursor.to_string());
    if args.json {
        let sessions: Vec<_> = sessions.iter().map(value).collect();
        out.json_pretty(&json!({ "sessions": sessions, "cursor": cursor }))?;
        return Ok(Outcome::Done);
    }
    if sessions.is_empty() {
        writeln!(out, "no sessions")?;
        return Ok(Outcome::Done);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    let right = Align::Right;
    let columns = [
        ("session", Align::Left),
        ("title", Align::Left),
        ("turns", right),
        ("items", right),
        ("events", right),
        ("pending", right),
        ("state", Align::Left),
        ("changed", right),
    ];
    let mut table = Table::new(&columns);
    for session in &sessions {
        table.row([
            text::clip(&text::one_line(&session.id), 40),
            text::clip(&text::one_line(session.title.as_deref().unwrap_or("-")), 40),
            number::count(session.turns),
            number::count(session.items),
            number::count(session.last_seq),
            number::count(session.pending),
            text::clip(&text::one_line(state(session)), 20),
            number::ago(now, session.recorded_at),
        ]);
    }
    let paint = out.paint;
    table.write(out, paint)?;
    if let Some(cursor) = cursor {
        writeln!(out, "{}", paint.dim(&format!("more: --cursor {cursor}")))?;
    }
    Ok(Outcome::Done)
}

fn list(
    view: &View,
    args: &args::Sessions,
    mut cursor: Option<SessionsCursor>,
) -> Result<(Vec<SessionSummary>, Option<SessionsCursor>), Failure> {
    let filter =
        SessionFilter { running: args.running, needs_input: args.needs_input, unread: args.unread, pinned: args.pinned, stale: args.stale };
    let limit = args.limit;
    let mut sessions = Vec::new();
    loop {
        let page = view.sessions_where(filter, (limit - sessions.len()).min(PAGE_SESSIONS), cursor.as_ref())?;
        sessions.extend(page.sessions);
        cursor = page.cursor;
        if cursor.is_none() || sessions.len() >= limit {
            return Ok((sessions, cursor));
        }
    }
}

fn state(session: &SessionSummary) -> &str {
    match (&session.status, session.running, session.unobserved) {
        (_, _, true) => "unobserved",
        (_, true, _) => "running",
        (Some(status), ..) => status,
        (None, ..) => "idle",
    }
}

pub(super) fn value(session: &SessionSummary) -> Value {
    json!({
        "id": session.id,
        "title": session.title,
        "status": session.status,
        "seq": session.last_seq,
        "position": session.last_position.get(),
        "recordedAt": session.recorded_at,
        "turns": session.turns,
        "items": session.items,
        "diagnostics": session.diagnostics,
        "pending": session.pending,
        "queued": session.queued,
        "running": session.running,
        "unobserved": session.unobserved,
        "failed": session.failed,
        "unread": session.unread,
        "pinned": session.pinned,
    })
}
