//! The events behind a session, and the log as a whole, up to the view's position.

use std::sync::Arc;

use turnstore_storage::{Position, Seq, Stream};

use super::View;
use super::found::Look;
use super::log::{OwnedEvent, Walk};
use crate::error::Error;
use crate::shared::Shared;

/// Events in order, read in bursts. An error is the last thing it yields.
#[derive(Debug)]
pub struct Events {
    shared: Arc<Shared>,
    walk: Walk,
    up_to: Option<Position>,
}

impl Iterator for Events {
    type Item = Result<OwnedEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.walk.next(&self.shared, self.up_to?).map_err(|error| self.shared.told(error));
        if next.is_err() {
            self.up_to = None;
        }
        next.transpose()
    }
}

impl Look<'_> {
    /// The number of a session.
    pub(crate) fn stream_of(&self, session: &str) -> Result<Option<Stream>, Error> {
        match self.view.head.names.get(session) {
            Some(stream) => Ok(Some(*stream)),
            None => self.stream(session),
        }
    }
}

impl View {
    /// The events of a session from a seq on, up to the view's position.
    ///
    /// Cost: the frames that hold them; memory stays within a burst. Errors: [`Error::NoSession`].
    pub fn events(&self, session: &str, from: Seq) -> Result<Events, Error> {
        self.told(|look| {
            let stream = look.stream_of(session)?.ok_or_else(|| Error::NoSession { session: session.to_owned() })?;
            let walk = Walk::of_session(stream, from, Position::FIRST);
            Ok(Events { shared: self.shared.clone(), walk, up_to: look.position()? })
        })
    }

    /// The events of all sessions from a position on, up to the view's position.
    pub fn log(&self, from: Position) -> Result<Events, Error> {
        let up_to = self.told(|look| look.position())?;
        Ok(Events { shared: self.shared.clone(), walk: Walk::of_log(from), up_to })
    }

    /// The id of a session by its number.
    pub fn session_name(&self, stream: Stream) -> Result<Option<String>, Error> {
        match self.head.sessions.get(&stream) {
            Some(shown) => Ok(Some(shown.name.to_string())),
            None => self.told(|look| if look.is_later(stream) { Ok(None) } else { Ok(look.reader()?.stream_name(stream)?) }),
        }
    }
}
