//! `export`: a session as a client of a protocol joins it.

use std::io::Write;
use std::path::Path;

use turnstore::event::{Body, Stated};
use turnstore::fact::Json;
use turnstore::{Batch, OwnedEvent, Position, Seq, View};

use crate::args::Export;
use crate::failure::{Failure, Outcome};
use crate::out::Out;

use super::{Scratch, at_session, open_reading, scratch};

/// Events that are copied in one append.
const COPIED_AT_ONCE: usize = 1024;

pub(crate) fn run(store: &Path, args: &Export, out: &mut Out) -> Result<Outcome, Failure> {
    let reading = open_reading(store)?;
    let past = args.at.map(|at| before(&reading.view, &args.session, at)).transpose()?;
    let view = past.as_ref().map_or_else(|| reading.view.clone(), |past| past.engine.view());
    let named = |error: turnstore::Error| at_session(error.into(), &args.session);
    let events = args.protocol.hydrate(&view, &args.session).ok_or(Failure::NoExport { protocol: args.protocol.name })?;
    for event in events.map_err(named)? {
        writeln!(out, "{}", event?)?;
    }
    Ok(Outcome::Done)
}

/// The session as it was, in a store of its own: its events up to the position.
fn before(view: &View, session: &str, at: u64) -> Result<Scratch, Failure> {
    let events = view.events(session, Seq::FIRST).map_err(|error| at_session(error.into(), session))?;
    let head = view.position().map_or(0, Position::get);
    let scratch = scratch()?;
    let (mut first, mut copied) = (0, Vec::new());
    for event in events {
        let event = event?;
        if first == 0 {
            first = event.position().get();
        }
        if event.position().get() > at {
            break;
        }
        copied.push(event);
        if copied.len() == COPIED_AT_ONCE {
            copy(&scratch, session, &std::mem::take(&mut copied))?;
        }
    }
    if !(first..=head).contains(&at) {
        return Err(Failure::NoPosition { asked: at, first, head });
    }
    copy(&scratch, session, &copied)?;
    Ok(scratch)
}

fn copy(scratch: &Scratch, session: &str, events: &[OwnedEvent]) -> Result<(), Failure> {
    let mut facts = Vec::with_capacity(events.len());
    for event in events {
        let event = event.event()?;
        // Kinds of a newer build are not folded here either.
        if let Body::Fact(fact) = event.body {
            // Residue was JSON when it was taken in.
            let ext = event.ext.and_then(|ext| Json::new(ext.into_owned()).ok());
            facts.push(Stated { fact, source: event.source, owner: event.owner, ext });
        }
    }
    if !facts.is_empty() {
        scratch.engine.append(session, Batch::of(facts))?;
    }
    Ok(())
}
