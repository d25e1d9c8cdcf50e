//! `stats`: numbers of the store.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use crate::args;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::render::number;
use crate::render::table::{Align, Table};

use super::open_reading;

pub(crate) fn run(store: &Path, args: &args::Stats, out: &mut Out) -> Result<Outcome, Failure> {
    let reading = open_reading(store)?;
    let stats = reading.store.stats()?;
    let place = |position: Option<turnstore::Position>| position.map_or(0, turnstore::Position::get);
    let (head, checkpoint) = (place(stats.head), place(stats.checkpoint));
    // A session is named once, when its first event comes.
    let sessions = stats.tables.iter().find(|table| table.name == "names").map_or(0, |table| table.entries);
    if args.json {
        let tables: Vec<_> = stats
            .tables
            .iter()
            .map(|table| json!({ "name": table.name, "entries": table.entries, "bytes": table.stored_bytes, "treeBytes": table.tree_bytes, "unusedBytes": table.unused_bytes }))
            .collect();
        out.json_pretty(&json!({
            "head": head,
            "checkpoint": checkpoint,
            "checkpointLag": head.saturating_sub(checkpoint),
            "sessions": sessions,
            "stale": reading.stale,
            "openEpoch": stats.open_epoch.get(),
            "generation": stats.generation,
            "mainFileBytes": stats.main_file_bytes,
            "tailFileBytes": stats.tail_file_bytes,
            "tables": tables,
        }))?;
        return Ok(Outcome::Done);
    }
    let mut figures = Table::new(&[("", Align::Left), ("", Align::Right)]);
    for (name, figure) in [
        ("head", number::count(head)),
        ("checkpoint", number::count(checkpoint)),
        ("checkpoint lag", number::of(head.saturating_sub(checkpoint), "event")),
        ("sessions", number::count(sessions)),
        ("saved state", if reading.stale { "of another version".to_owned() } else { "current".to_owned() }),
        ("opened", number::of(stats.open_epoch.get(), "time")),
        ("main file", number::bytes(stats.main_file_bytes)),
        ("tail file", number::bytes(stats.tail_file_bytes)),
    ] {
        figures.row([name.to_owned(), figure]);
    }
    let paint = out.paint;
    figures.write(out, paint)?;
    writeln!(out)?;
    let mut tables = Table::new(&[
        ("table", Align::Left),
        ("entries", Align::Right),
        ("stored", Align::Right),
        ("tree", Align::Right),
        ("unused", Align::Right),
    ]);
    for table in &stats.tables {
        let sizes = [table.stored_bytes, table.tree_bytes, table.unused_bytes].map(number::bytes);
        tables.row([table.name.clone(), number::count(table.entries)].into_iter().chain(sizes));
    }
    tables.write(out, paint)?;
    Ok(Outcome::Done)
}
