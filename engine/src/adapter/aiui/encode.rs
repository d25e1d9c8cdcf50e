//! The facts of a source event back into the event.

use super::body;
use super::name::Name;
use crate::adapter::fields::Fields;
use crate::adapter::residue;
use crate::event::{self, Event, Stated};
use crate::fact::{Fact, PartChange, ToolOp};

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
        Self { fact: &stated.fact, name: stated.source.name.as_deref(), ext: stated.ext.as_ref().map(crate::fact::Json::as_str) }
    }

    /// Of a stored event; `None` when it is of a kind that this build does not know.
    pub fn of_event(event: &'e Event<'e>) -> Option<Self> {
        match &event.body {
            event::Body::Fact(fact) => Some(Self { fact, name: event.source.name.as_deref(), ext: event.ext.as_deref() }),
            event::Body::Unknown { .. } => None,
        }
    }
}

/// The facts are not those of one AIUI event. The caller shows them as facts.
#[derive(Debug, thiserror::Error)]
#[error("{0} facts do not make an event of this protocol")]
pub struct Unencodable(usize);

/// The source event that gave these facts, all of them and in their order: equal by value to what was decoded, byte for byte when
/// nothing else is known of it. Cost: proportional to the event.
///
/// # Errors
/// The facts are not those of one event of this protocol.
pub fn encode(facts: &[Piece<'_>]) -> Result<String, Unencodable> {
    let own = own(facts);
    let bad = || Unencodable(facts.len());
    let first = own.first().ok_or_else(bad)?;
    match first.fact {
        Fact::Opaque(opaque) => return Ok(opaque.payload.to_string()),
        Fact::DiagnosticNoted(noted) => return noted.raw.as_deref().map(str::to_owned).ok_or_else(bad),
        _ => {}
    }
    let residue = first.ext.map(Fields::parse).transpose().map_err(|_| bad())?.unwrap_or_default();
    residue::unite(&residue, || {
        let bare: Vec<&Fact<'_>> = own.iter().map(|piece| piece.fact).collect();
        let name = first.name.or_else(|| body::canonical(&bare).map(Name::as_str))?;
        Some(body::body(name, &bare))
    })
    .ok_or_else(bad)
}

/// As [`encode`], of stated facts.
///
/// # Errors
/// The facts are not those of one event of this protocol.
pub fn encode_stated(facts: &[Stated<'_>]) -> Result<String, Unencodable> {
    encode(&facts.iter().map(Piece::of).collect::<Vec<_>>())
}

/// Without the lanes that the event closed and what was noted about it.
fn own<'p, 'e>(facts: &'p [Piece<'e>]) -> Vec<&'p Piece<'e>> {
    let noted = |fact: &Fact<'_>| matches!(fact, Fact::DiagnosticNoted(noted) if noted.raw.is_none());
    let mut own: Vec<_> = facts.iter().filter(|piece| !noted(piece.fact)).collect();
    let closings = own.iter().take_while(|piece| closes(piece.fact)).count().min(own.len().saturating_sub(1));
    own.drain(..closings);
    own
}

fn closes(fact: &Fact<'_>) -> bool {
    match fact {
        Fact::PartFinal(last) => matches!(last.change, PartChange::Closed),
        Fact::ToolChanged(changed) => matches!(changed.op, ToolOp::ArgsEnd),
        _ => false,
    }
}
