//! Subscriptions: the log from a position on, and then what comes.
//!
//! **Invariant:** only durable events are delivered, each once, in order. A subscription that nobody reads holds one burst and reads the
//! log again when somebody does: it never slows the writer and never fills memory.

use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use turnstore_storage::{Direction, Position, Seq, Stream};

use crate::engine::Engine;
use crate::error::Error;
use crate::index;
use crate::shared::Shared;
use crate::view::{OwnedEvent, View, Walk};

/// Where a subscription begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The first event of the log.
    Start,
    /// This position; the one after the head is allowed.
    Position(Position),
    /// What is appended from now on.
    Now,
}

/// What waiting for an event gave.
#[derive(Clone, Debug)]
pub enum Next {
    /// An event.
    Event(OwnedEvent),
    /// Nothing came in time.
    Idle,
    /// The store was closed; nothing more comes. What was not delivered is read again from its position.
    Closed,
}

/// Events as they become durable. As an iterator it blocks until the next one, and ends when the store is closed.
#[derive(Debug)]
pub struct Subscription {
    shared: Arc<Shared>,
    session: Option<String>,
    walk: Option<Walk>,
    /// The position it begins at, as long as its session is not known yet.
    from: Position,
    ended: bool,
}

impl Subscription {
    pub(crate) fn new(shared: Arc<Shared>, from: From, session: Option<&str>) -> Result<Self, Error> {
        let head = shared.head().position;
        let from = match from {
            From::Start => Position::FIRST,
            From::Now => Position::after(head),
            From::Position(position) if position <= Position::after(head) => position,
            From::Position(position) => return Err(Error::Position { asked: position.get(), head: head.map_or(0, Position::get) }),
        };
        let walk = session.is_none().then(|| Walk::of_log(from));
        Ok(Self { shared, session: session.map(str::to_owned), walk, from, ended: false })
    }

    /// The position after the last event delivered: where a later subscription goes on.
    pub fn position(&self) -> Position {
        self.from
    }

    /// The next event, at most `timeout` from now.
    ///
    /// Errors are the log's: [`Error::Storage`]. A subscription that failed is over.
    pub fn next_within(&mut self, timeout: Duration) -> Result<Next, Error> {
        self.advance(Instant::now().checked_add(timeout))
    }

    fn advance(&mut self, deadline: Option<Instant>) -> Result<Next, Error> {
        loop {
            if self.ended {
                return Ok(Next::Closed);
            }
            let (durable, closed) = self.shared.durable.now();
            match self.poll(durable) {
                Ok(Some(event)) => {
                    self.from = event.position().next();
                    return Ok(Next::Event(event));
                }
                Ok(None) if closed => self.ended = true,
                Err(Error::Closed) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
                Ok(None) => {
                    let (now, closed) = self.shared.durable.wait(durable, deadline);
                    let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    if (now <= durable || late) && !closed {
                        return Ok(Next::Idle);
                    }
                }
            }
        }
    }

    /// The next event at or below `durable`.
    fn poll(&mut self, durable: Option<Position>) -> Result<Option<OwnedEvent>, Error> {
        let Some(durable) = durable.filter(|durable| *durable >= self.from) else { return Ok(None) };
        if let (None, Some(session)) = (&self.walk, &self.session) {
            let view = View::new(self.shared.clone());
            let Some(stream) = view.stream(session)? else { return Ok(None) };
            self.walk = Some(Walk::of_session(stream, first_seq(&self.shared, stream, self.from)?, self.from));
        }
        match &mut self.walk {
            Some(walk) => walk.next(&self.shared, durable),
            None => Ok(None),
        }
    }
}

/// A seq of the session at or below its first one from `position` on: that after its last checkpoint before.
fn first_seq(shared: &Shared, stream: Stream, position: Position) -> Result<Seq, Error> {
    let Some(before) = position.previous() else { return Ok(Seq::FIRST) };
    let (low, high) = index::checkpoint_bounds(stream, Some(before));
    let bounds = (low.as_ref().map(Vec::as_slice), Bound::as_ref(&high).map(Vec::as_slice));
    let last = shared.reader()?.index(bounds, Direction::Backward)?.next().transpose()?;
    let seq = last.as_ref().and_then(index::checkpoint_of).map_or(0, |(_, seq)| seq);
    Ok(Seq::new(seq + 1).unwrap_or(Seq::FIRST))
}

impl Iterator for Subscription {
    type Item = Result<OwnedEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance(None) {
            Ok(Next::Event(event)) => Some(Ok(event)),
            Ok(Next::Idle | Next::Closed) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl Engine {
    /// Durable events of all sessions, from a place in the log on and then as they come. Errors: [`Error::Position`].
    pub fn subscribe(&self, from: From) -> Result<Subscription, Error> {
        Subscription::new(self.shared().clone(), from, None)
    }

    /// The same of one session, which need not exist yet.
    pub fn subscribe_session(&self, session: &str, from: From) -> Result<Subscription, Error> {
        Subscription::new(self.shared().clone(), from, Some(session))
    }
}
