//! `artifacts`: what a session has made.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use turnstore::state::Content;

use crate::args::OfSession;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::render::json_page::embedded;
use crate::render::table::{Align, Table};
use crate::render::text;

use super::{at_session, open_reading};

pub(crate) fn run(store: &Path, args: &OfSession, out: &mut Out) -> Result<Outcome, Failure> {
    let reading = open_reading(store)?;
    let artifacts = reading.view.artifacts(&args.session).map_err(|error| at_session(error.into(), &args.session))?;
    let left = Align::Left;
    let mut table = Table::new(&[("artifact", left), ("kind", left), ("status", left), ("version", left), ("turns", left)]);
    let mut values = Vec::new();
    for artifact in artifacts {
        let artifact = artifact?;
        if args.json {
            let exports = artifact.exports.iter();
            let exports = exports.map(|job| json!({ "id": job.id, "state": job.state, "reference": job.reference }));
            // A value that is only begun here does not parse, and shows as the text that it begins with.
            let value = |value: &Option<Box<Content>>| value.as_ref().map(|value| embedded(value.shown()));
            values.push(json!({
                "path": artifact.path,
                "id": artifact.id,
                "kind": artifact.kind,
                "status": artifact.status,
                "turns": artifact.turns,
                "version": artifact.version,
                "versions": artifact.versions,
                "exports": exports.collect::<Vec<_>>(),
                "preview": value(&artifact.preview),
                "read_ref": artifact.read_ref,
                "diff_ref": artifact.diff_ref,
                "error": value(&artifact.error),
                "incarnation": artifact.incarnation,
                "fields": artifact.fields.as_deref().map(embedded),
            }));
            continue;
        }
        let clip = |text: &str, columns| text::clip(&text::one_line(text), columns);
        table.row([
            clip(artifact.path.as_deref().or(artifact.id.as_deref()).unwrap_or("-"), 60),
            clip(&artifact.kind, 16),
            clip(&artifact.status, 16),
            clip(artifact.version.as_deref().unwrap_or("-"), 24),
            clip(&artifact.turns.join(", "), 40),
        ]);
    }
    let paint = out.paint;
    if args.json {
        out.json_pretty(&json!({ "session": args.session, "artifacts": values }))?;
    } else if table.is_empty() {
        writeln!(out, "no artifacts")?;
    } else {
        table.write(out, paint)?;
    }
    Ok(Outcome::Done)
}
