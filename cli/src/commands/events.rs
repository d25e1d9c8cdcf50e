//! `events`: the stored events of a session.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use turnstore::Seq;
use turnstore::adapter::source_events;
use turnstore::event::{Body, Event};

use crate::args;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::render::{fact, text};

use super::{at_session, open_reading};

/// Columns of a summary.
const COLUMNS: usize = 100;

pub(crate) fn run(store: &Path, args: &args::Events, out: &mut Out) -> Result<Outcome, Failure> {
    let reading = open_reading(store)?;
    let from = Seq::new(args.from).unwrap_or(Seq::FIRST);
    let events = reading.view.events(&args.session, from).map_err(|error| at_session(error.into(), &args.session))?;
    if args.raw {
        for source in source_events(events) {
            // Line ends outside strings only, where they are space.
            writeln!(out, "{}", source?.text.replace(['\n', '\r'], " "))?;
        }
        return Ok(Outcome::Done);
    }
    for owned in events {
        let owned = owned?;
        let event = owned.event()?;
        if args.json {
            out.json(&value(&event))?;
        } else {
            line(&event, out)?;
        }
    }
    Ok(Outcome::Done)
}

fn line(event: &Event<'_>, out: &mut Out) -> Result<(), Failure> {
    let (kind, said) = match &event.body {
        Body::Fact(said) => (said.kind(), fact::summary(said)),
        Body::Unknown { kind, version, bytes } => (*kind, format!("version {version}, {} bytes", bytes.len())),
    };
    let kind = kind.name().map_or_else(|| format!("kind {}", kind.0), str::to_owned);
    writeln!(out, "{:>8}  {kind:<20}  {}", event.seq.get(), text::clip(&said, COLUMNS))?;
    Ok(())
}

fn value(event: &Event<'_>) -> Value {
    let (kind, said) = match &event.body {
        Body::Fact(said) => (said.kind(), Some(fact::summary(said))),
        Body::Unknown { kind, .. } => (*kind, None),
    };
    json!({
        "seq": event.seq.get(),
        "position": event.position.get(),
        "recordedAt": event.recorded_at,
        "kind": kind.0,
        "name": kind.name(),
        "protocol": event.source.protocol.0,
        "sourceName": event.source.name,
        "eventId": event.source.event_id,
        "stream": event.source.stream.as_ref().map(|(name, number)| json!([name, number])),
        "part": event.source.part.map(|(part, of)| json!([part, of])),
        "owner": event.owner.0,
        "summary": said,
    })
}
