//! What the store holds of a recording, compared with what the recording says.

use turnstore::adapter::aiui::{Piece, code, encode, encode_stated};
use turnstore::event::{Body, Event, Stated};
use turnstore::fact::Fact;

/// The recording and the store disagree about a source event.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "line {line}: event {number} is not the one that was imported before; nothing from this file on was appended \
     (import a different recording under another --session)"
)]
pub(crate) struct Differs {
    pub(crate) line: u64,
    pub(crate) number: u64,
}

/// Whether stored and stated facts are of the same source event.
pub(crate) fn is_same(stored: &[Event<'_>], stated: &[Stated<'_>]) -> bool {
    let same_facts = stored.len() == stated.len()
        && stored.iter().zip(stated).all(|(old, new)| {
            matches!(&old.body, Body::Fact(fact) if *fact == new.fact)
                && old.source.name == new.source.name
                && old.ext.as_deref() == new.ext.as_ref().map(turnstore::fact::Json::as_str)
        });
    same_facts || was_refused(stored) || same_source(stored, stated)
}

/// What stands in the log for an event that could not be taken in.
fn was_refused(stored: &[Event<'_>]) -> bool {
    matches!(stored, [Event { body: Body::Fact(Fact::DiagnosticNoted(noted)), .. }] if noted.code == code::SOURCE_UNREADABLE)
}

/// Equal by value as the protocol writes them, though another version of the adapter may have read them differently.
fn same_source(stored: &[Event<'_>], stated: &[Stated<'_>]) -> bool {
    let pieces: Option<Vec<Piece<'_>>> = stored.iter().map(Piece::of_event).collect();
    let (Some(Ok(old)), Ok(new)) = (pieces.map(|pieces| encode(&pieces)), encode_stated(stated)) else { return false };
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    value(&old).is_some_and(|old| Some(old) == value(&new))
}
