//! The facts of a source event back into the event.

use super::body;
use super::name::Name;
use crate::adapter::fields::Fields;
use crate::adapter::piece::{Piece, Unencodable};
use crate::adapter::residue;
use crate::event::Stated;
use crate::fact::{Fact, PartChange, ToolOp};

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
