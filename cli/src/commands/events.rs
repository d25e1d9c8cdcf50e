//! `events`: the stored events of a session.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use turnstore::adapter::{Piece, Wire};
use turnstore::event::{Body, Event};
use turnstore::fact::Fact;
use turnstore::{OwnedEvent, Seq};

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
        let mut source = Source::default();
        for owned in events {
            source.take(owned?, out)?;
        }
        source.write(out)?;
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

/// The facts of one source event, until the last of them has come.
#[derive(Default)]
struct Source {
    facts: Vec<OwnedEvent>,
}

impl Source {
    fn take(&mut self, owned: OwnedEvent, out: &mut Out) -> Result<(), Failure> {
        let part = owned.event()?.source.part;
        if part.is_none_or(|(part, _)| part == 0) {
            self.write(out)?;
        }
        // Facts behind `--from` whose event began before it do not make the event.
        if !self.facts.is_empty() || part.is_none_or(|(part, _)| part == 0) {
            self.facts.push(owned);
        }
        Ok(())
    }

    /// Writes the source event, unless it is none of a protocol, or was no event when it came.
    fn write(&mut self, out: &mut Out) -> Result<(), Failure> {
        let facts = std::mem::take(&mut self.facts);
        let events: Vec<Event<'_>> = facts.iter().map(OwnedEvent::event).collect::<Result<_, _>>()?;
        let wire = events.first().and_then(|event| Wire::of(event.source.protocol));
        let Some(wire) = wire.filter(|_| !is_no_event(&events)) else { return Ok(()) };
        let pieces: Option<Vec<Piece<'_>>> = events.iter().map(Piece::of_event).collect();
        if let Some(Ok(source)) = pieces.map(|pieces| wire.encode(&pieces)) {
            // Line ends outside strings only, where they are space.
            writeln!(out, "{}", source.replace(['\n', '\r'], " "))?;
        }
        Ok(())
    }
}

/// Text that was no JSON object with a type: kept, but not accepted as an event.
fn is_no_event(events: &[Event<'_>]) -> bool {
    events.iter().any(|event| matches!(&event.body, Body::Fact(Fact::Opaque(opaque)) if opaque.name.is_empty()))
}
