//! What the store holds of a recording, compared with what the recording says.

use turnstore::adapter::check::SOURCE_UNREADABLE;
use turnstore::adapter::{Piece, Wire};
use turnstore::event::{Body, Event, Stated};
use turnstore::fact::Fact;
use turnstore::{Error, Events, OwnedEvent, Seq, View};

/// The recording and the store disagree about a source event.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "line {line}: event {number} is not the one that was imported before; nothing of this file was appended \
     (import a different recording under another --session)"
)]
pub(crate) struct Differs {
    pub(crate) line: u64,
    pub(crate) number: u64,
}

/// How a source event of the recording relates to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// It is there.
    Known,
    /// Another one is there under its number.
    Other,
    /// The store does not reach so far.
    New,
}

/// The events that a session holds of a recording, walked beside the recording.
pub(crate) struct Prefix {
    wire: &'static Wire,
    events: Option<Events>,
    stream: String,
    /// Read from the log and not yet compared.
    ahead: Option<(u64, OwnedEvent)>,
}

impl Prefix {
    pub(crate) fn of(view: &View, wire: &'static Wire, session: &str, stream: &str) -> Result<Self, Error> {
        let events = match view.events(session, Seq::FIRST) {
            Ok(events) => Some(events),
            Err(Error::NoSession { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { wire, events, stream: stream.to_owned(), ahead: None })
    }

    /// The next stored event of the recording, with its number.
    fn next(&mut self) -> Result<Option<(u64, OwnedEvent)>, Error> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        while let Some(owned) = self.events.as_mut().and_then(Iterator::next) {
            let owned = owned?;
            let number = owned.event()?.source.stream.as_ref().filter(|(name, _)| *name == self.stream).map(|(_, number)| *number);
            if let Some(number) = number {
                return Ok(Some((number, owned)));
            }
        }
        self.events = None;
        Ok(None)
    }

    /// Compares the facts of a source event with what the store holds under its number. Numbers must rise from call to call.
    pub(crate) fn compare(&mut self, number: u64, stated: &[Stated<'_>]) -> Result<Relation, Error> {
        let mut stored = Vec::new();
        while let Some((found, owned)) = self.next()? {
            if found > number {
                self.ahead = Some((found, owned));
                break;
            }
            stored.push(owned);
        }
        if stored.is_empty() {
            return Ok(if self.ahead.is_some() { Relation::Other } else { Relation::New });
        }
        let events: Vec<Event<'_>> = stored.iter().map(OwnedEvent::event).collect::<Result<_, _>>()?;
        Ok(if is_same(self.wire, &events, stated) { Relation::Known } else { Relation::Other })
    }
}

/// Whether stored and stated facts are of the same source event.
fn is_same(wire: &Wire, stored: &[Event<'_>], stated: &[Stated<'_>]) -> bool {
    let same_facts = stored.len() == stated.len()
        && stored.iter().zip(stated).all(|(old, new)| {
            matches!(&old.body, Body::Fact(fact) if *fact == new.fact)
                && old.source.name == new.source.name
                && old.ext.as_deref() == new.ext.as_ref().map(turnstore::fact::Json::as_str)
        });
    same_facts || was_refused(stored) || same_source(wire, stored, stated)
}

/// What stands in the log for an event that could not be taken in.
fn was_refused(stored: &[Event<'_>]) -> bool {
    matches!(stored, [Event { body: Body::Fact(Fact::DiagnosticNoted(noted)), .. }] if noted.code == SOURCE_UNREADABLE)
}

/// Equal by value as the protocol writes them, though another version of the adapter may have read them differently.
fn same_source(wire: &Wire, stored: &[Event<'_>], stated: &[Stated<'_>]) -> bool {
    let pieces: Option<Vec<Piece<'_>>> = stored.iter().map(Piece::of_event).collect();
    let (Some(Ok(old)), Ok(new)) = (pieces.map(|pieces| wire.encode(&pieces)), wire.encode_stated(stated)) else { return false };
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    value(&old).is_some_and(|old| Some(old) == value(&new))
}
