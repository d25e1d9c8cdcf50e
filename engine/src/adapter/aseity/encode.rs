//! The facts of a source event back into the event.

use super::body;
use super::name::Name;
use super::spelling::Spelling;
use crate::adapter::fields::Fields;
use crate::adapter::piece::{Piece, Unencodable};
use crate::adapter::residue::{self, NOTE};
use crate::event::Stated;
use crate::fact::Fact;

/// The source event that gave these facts, all of them and in their order: equal by value to what was decoded, byte for byte when it was
/// rejected or is not known. Cost: proportional to the event.
///
/// # Errors
/// The facts are not those of one event of this protocol.
pub fn encode(facts: &[Piece<'_>]) -> Result<String, Unencodable> {
    let bad = || Unencodable(facts.len());
    let is_note = |fact: &Fact<'_>| matches!(fact, Fact::DiagnosticNoted(noted) if noted.raw.is_none());
    let own: Vec<&Piece<'_>> = facts.iter().filter(|piece| !is_note(piece.fact)).collect();
    let first = own.first().ok_or_else(bad)?;
    match first.fact {
        Fact::Opaque(opaque) => return Ok(opaque.payload.to_string()),
        Fact::DiagnosticNoted(noted) => return noted.raw.as_deref().map(str::to_owned).ok_or_else(bad),
        _ => {}
    }
    let rest = first.ext.map(Fields::parse).transpose().map_err(|_| bad())?.unwrap_or_default();
    residue::unite(&rest, || {
        let bare: Vec<&Fact<'_>> = own.iter().map(|piece| piece.fact).collect();
        let name = first.name.or_else(|| body::canonical(&bare).map(Name::as_str))?;
        Some(body::body(name, &bare, &Spelling::parse(rest.get(NOTE))))
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
