//! The source events behind stored ones, each as it came in.

use std::iter::Peekable;

use super::piece::Piece;
use super::wire::Wire;
use crate::error::Error;
use crate::event::{Body, Event, Protocol};
use crate::fact::Fact;
use crate::{Events, OwnedEvent};

/// An event as its source gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceEvent {
    /// The protocol it came in.
    pub protocol: Protocol,
    /// Its text, equal by value to what came in; what no protocol knows, byte for byte.
    pub text: String,
}

/// Source events in order. Stored events that came in no protocol, or whose source was no event, are passed over. An error is the last
/// thing it yields.
#[derive(Debug)]
pub struct SourceEvents {
    events: Peekable<Events>,
    failed: bool,
}

/// The source events that stored events came from; one whose first facts are not among them is passed over. Cost: one event in memory.
pub fn source_events(events: Events) -> SourceEvents {
    SourceEvents { events: events.peekable(), failed: false }
}

impl SourceEvents {
    /// The facts of the next source event.
    fn facts(&mut self) -> Result<Vec<OwnedEvent>, Error> {
        let mut facts: Vec<OwnedEvent> = Vec::new();
        while let Some(next) = self.events.peek() {
            let first = match next {
                Ok(next) => next.event()?.source.part.is_none_or(|(part, _)| part == 0),
                Err(_) => true,
            };
            if first && !facts.is_empty() {
                break;
            }
            let Some(next) = self.events.next().transpose()? else { break };
            // What belongs to an event that began before is no event.
            if first || !facts.is_empty() {
                facts.push(next);
            }
        }
        Ok(facts)
    }
}

impl Iterator for SourceEvents {
    type Item = Result<SourceEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            match self.facts().and_then(|facts| if facts.is_empty() { Ok(None) } else { Ok(Some(written(&facts)?)) }) {
                Ok(None) => return None,
                Ok(Some(None)) => {}
                Ok(Some(Some(event))) => return Some(Ok(event)),
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// The source event of these facts, unless it is none of a protocol, or was no event when it came.
fn written(facts: &[OwnedEvent]) -> Result<Option<SourceEvent>, Error> {
    let events: Vec<Event<'_>> = facts.iter().map(OwnedEvent::event).collect::<Result<_, _>>()?;
    let wire = events.first().and_then(|event| Wire::of(event.source.protocol));
    let Some(wire) = wire.filter(|_| !is_no_event(&events)) else { return Ok(None) };
    let pieces: Option<Vec<Piece<'_>>> = events.iter().map(Piece::of_event).collect();
    let text = pieces.and_then(|pieces| wire.encode(&pieces).ok());
    Ok(text.map(|text| SourceEvent { protocol: wire.protocol, text }))
}

/// Text that was no JSON object with a type: kept, but not accepted as an event.
fn is_no_event(events: &[Event<'_>]) -> bool {
    events.iter().any(|event| matches!(&event.body, Body::Fact(Fact::Opaque(opaque)) if opaque.name.is_empty()))
}
