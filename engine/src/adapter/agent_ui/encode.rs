//! The facts of a source event back into the event.

use super::body;
use super::placed::unite;
use crate::adapter::fields::Fields;
use crate::adapter::piece::{Piece, Unencodable};
use crate::event::Stated;
use crate::fact::Fact;

/// The source event that gave these facts, all of them and in their order: equal by value to what was decoded, each field in its place;
/// byte for byte when nothing else is known of it. Cost: proportional to the event.
///
/// # Errors
/// The facts are not those of one event of this protocol.
pub fn encode(facts: &[Piece<'_>]) -> Result<String, Unencodable> {
    let bad = || Unencodable(facts.len());
    let noted = |fact: &Fact<'_>| matches!(fact, Fact::DiagnosticNoted(noted) if noted.raw.is_none());
    let own: Vec<&Piece<'_>> = facts.iter().filter(|piece| !noted(piece.fact)).collect();
    let first = own.first().ok_or_else(bad)?;
    match first.fact {
        Fact::Opaque(opaque) => return Ok(opaque.payload.to_string()),
        Fact::DiagnosticNoted(noted) => return noted.raw.as_deref().map(str::to_owned).ok_or_else(bad),
        _ => {}
    }
    let residue = first.ext.map(Fields::parse).transpose().map_err(|_| bad())?.unwrap_or_default();
    unite(&residue, || {
        let bare: Vec<&Fact<'_>> = own.iter().map(|piece| piece.fact).collect();
        let name = first.name.or_else(|| body::canonical(&bare))?;
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
