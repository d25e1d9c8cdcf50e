//! Facts that are on their way back into the source event that gave them.

use crate::event::{self, Event, Stated};
use crate::fact::{Fact, Json};

/// One of the facts that a source event gave.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'e> {
    /// The fact.
    pub fact: &'e Fact<'e>,
    /// The name under which it came, when that is not the usual one.
    pub name: Option<&'e str>,
    /// Residue, a JSON object.
    pub ext: Option<&'e str>,
}

impl<'e> Piece<'e> {
    /// Of a stated fact.
    pub fn of(stated: &'e Stated<'e>) -> Self {
        Self { fact: &stated.fact, name: stated.source.name.as_deref(), ext: stated.ext.as_ref().map(Json::as_str) }
    }

    /// Of a stored event; `None` when it is of a kind that this build does not know.
    pub fn of_event(event: &'e Event<'e>) -> Option<Self> {
        match &event.body {
            event::Body::Fact(fact) => Some(Self { fact, name: event.source.name.as_deref(), ext: event.ext.as_deref() }),
            event::Body::Unknown { .. } => None,
        }
    }
}

/// The facts are not those of one event of the protocol. The caller shows them as facts.
#[derive(Debug, thiserror::Error)]
#[error("{0} facts do not make an event of this protocol")]
pub struct Unencodable(pub(super) usize);
