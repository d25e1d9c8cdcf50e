//! Interactions that wait for an answer: of one session, and of all.
//!
//! **Invariant:** what waits is listed as it was at the view's position. What a session's header lists as pending is found, or the session is folded again: nothing that waits is left out.

use std::collections::BTreeMap;
use std::sync::Arc;

use turnstore_storage::{Direction, Seq, Stream};

use super::View;
use super::found::{Found, Look, Trouble, read_found};
use super::item::{Expiry, InteractionItem, Item, ItemKind};
use super::leaves::{Leaves, weight};
use crate::cursor::{PendingCursor, store_digest};
use crate::error::Error;
use crate::index::{self, Waiting};
use crate::state::ArchivedBody;
use crate::time::UnixMillis;

/// The pending interactions of a session.
#[derive(Clone, Debug)]
pub struct Pending {
    leaves: Leaves,
    ordinals: Vec<i64>,
}

impl Pending {
    /// The session's id.
    pub fn session(&self) -> &str {
        &self.leaves.session
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.ordinals.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.ordinals.is_empty()
    }

    /// The items that wait, in the order of asking.
    pub fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let leaves = &self.leaves;
        self.ordinals.iter().filter_map(move |ordinal| Some(Item { leaves, ordinal: *ordinal, entry: leaves.entry(*ordinal)? }))
    }

    /// What they ask, in the order of asking.
    pub fn interactions(&self) -> impl Iterator<Item = InteractionItem<'_>> {
        self.items().filter_map(|item| match item.kind() {
            ItemKind::Interaction(asked) => Some(asked),
            _ => None,
        })
    }
}

/// An interaction that waits, in the list over all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingInteraction {
    /// The session's id.
    pub session: String,
    /// The interaction's id.
    pub id: String,
    /// approval, interrupt, elicitation.. verbatim.
    pub kind: String,
    /// Seq at which it was asked first.
    pub asked_at: Option<Seq>,
    /// When it expires, verbatim.
    pub expires_at: Option<String>,
}

impl PendingInteraction {
    /// When it expires, read. Never judged here: an expired one is pending until its owner says otherwise.
    pub fn expiry(&self) -> Expiry {
        Expiry::of(self.expires_at.as_deref())
    }

    /// Whether it expired at `now` or before. One that never expires, or whose expiry cannot be read, did not.
    pub fn is_expired(&self, now: UnixMillis) -> bool {
        self.expiry().is_past(now)
    }
}

/// A part of the list of everything pending.
#[derive(Clone, Debug)]
pub struct PendingPage {
    /// What waits: by session in the order of their creation, then by place in the session.
    pub pending: Vec<PendingInteraction>,
    /// The cursor to the rest; `None` at the end.
    pub cursor: Option<PendingCursor>,
}

fn pending_of(found: &Found<'_>) -> Result<Pending, Trouble> {
    let mut leaves = Leaves::new(found);
    let ordinals = found.pending();
    let mut bytes = found.look.view.shared.limits.window_bytes_max as u64;
    for ordinal in &ordinals {
        let turn = leaves.need(found, *ordinal)?.turn.as_ref().map(|turn| turn.to_native());
        if let Some(turn) = turn {
            leaves.need(found, turn)?;
        }
        leaves.load_text(found, *ordinal, bytes)?;
        bytes = bytes.saturating_sub(leaves.entry(*ordinal).map_or(0, weight));
    }
    leaves.observe(found)?;
    Ok(Pending { leaves, ordinals })
}

fn waiting(leaves: &mut Leaves, found: &Found<'_>, ordinal: i64) -> Result<PendingInteraction, Trouble> {
    let session = found.name.to_string();
    let entry = leaves.need(found, ordinal)?;
    let asked_at = Seq::new(entry.first_seq.to_native());
    Ok(match &entry.body {
        ArchivedBody::Interaction(asked) => {
            let expires_at = asked.expires_at.as_ref().map(ToString::to_string);
            PendingInteraction { session, id: asked.id.to_string(), kind: asked.kind.to_string(), asked_at, expires_at }
        }
        _ => PendingInteraction { session, id: String::new(), kind: String::new(), asked_at, expires_at: None },
    })
}

type Place = (Stream, i64);

impl View {
    /// Everything that waits for an answer in a session. Cost: proportional to what waits.
    ///
    /// Errors: [`Error::NoSession`].
    pub fn pending(&self, session: &str) -> Result<Pending, Error> {
        self.read(session, pending_of)
    }

    /// What waits for an answer in any session, up to `pending_max` (at most `window_items_max`), after `cursor` when there is one.
    ///
    /// Cost: proportional to what is listed, to the sessions in memory and to those that changed since the view was taken; ten thousand
    /// idle sessions cost nothing.
    /// Errors: [`Error::Window`], [`Error::Cursor`].
    pub fn pending_everywhere(&self, pending_max: usize, cursor: Option<&PendingCursor>) -> Result<PendingPage, Error> {
        let limit = self.list_limit(pending_max)?;
        cursor.map_or(Ok(()), |cursor| cursor.check(self.shared.id))?;
        let after = cursor.map(|cursor| cursor.after);
        let listed = self.told(|look| {
            let mut listed = BTreeMap::<Place, PendingInteraction>::new();
            let moved = look.moved()?;
            self.pending_apart(look, &moved, after, limit + 1, &mut listed)?;
            self.pending_in_index(look, &moved, after, limit + 1, &mut listed)?;
            Ok(listed)
        })?;
        let more = listed.len() > limit;
        let kept: Vec<(Place, PendingInteraction)> = listed.into_iter().take(limit).collect();
        let last = kept.last().filter(|_| more).map(|(place, _)| *place);
        let cursor = last.map(|after| PendingCursor { store: store_digest(self.shared.id), after });
        Ok(PendingPage { pending: kept.into_iter().map(|(_, pending)| pending).collect(), cursor })
    }

    /// What waits in sessions of which the index does not say what they were at the view's position.
    fn pending_apart(
        &self,
        look: &Look<'_>,
        moved: &BTreeMap<Stream, Arc<str>>,
        after: Option<Place>,
        limit: usize,
        listed: &mut BTreeMap<Place, PendingInteraction>,
    ) -> Result<(), Error> {
        let shown = self.head.sessions.iter().filter(|(_, shown)| !shown.state.header().pending.is_empty());
        let mut apart: BTreeMap<Stream, &Arc<str>> = shown.map(|(stream, shown)| (*stream, &shown.name)).collect();
        apart.extend(moved.iter().map(|(stream, name)| (*stream, name)));
        for (stream, name) in apart.into_iter().filter(|(stream, _)| after.is_none_or(|(last, _)| *stream >= last)) {
            let found = match moved.contains_key(&stream) {
                true => look.find_in_rows(stream, name.clone())?,
                false => look.find(name)?,
            };
            let Some(found) = found else { continue };
            let of_session = read_found(&found, |found| {
                let mut leaves = Leaves::new(found);
                let mut ordinals = found.pending();
                ordinals.sort_unstable();
                ordinals.retain(|ordinal| after.is_none_or(|after| (stream, *ordinal) > after));
                ordinals.truncate(limit);
                ordinals
                    .into_iter()
                    .map(|ordinal| Ok((ordinal, waiting(&mut leaves, found, ordinal)?)))
                    .collect::<Result<Vec<_>, Trouble>>()
            })?;
            listed.extend(of_session.into_iter().map(|(ordinal, pending)| ((stream, ordinal), pending)));
            if listed.len() >= limit {
                break;
            }
        }
        Ok(())
    }

    fn pending_in_index(
        &self,
        look: &Look<'_>,
        moved: &BTreeMap<Stream, Arc<str>>,
        after: Option<Place>,
        limit: usize,
        listed: &mut BTreeMap<Place, PendingInteraction>,
    ) -> Result<(), Error> {
        if look.checkpoint()?.is_none() {
            return Ok(());
        }
        let mut found = 0;
        let mut name: Option<(Stream, Arc<str>)> = None;
        for entry in look.reader()?.index(index::borrowed(&index::pending_bounds(after)), Direction::Forward)? {
            let (key, value) = entry?;
            let Some((stream, ordinal)) = index::pending_place(&key) else { continue };
            if self.head.sessions.contains_key(&stream) || moved.contains_key(&stream) || look.is_later(stream) {
                continue;
            }
            if name.as_ref().is_none_or(|(known, _)| *known != stream) {
                name = look.reader()?.stream_name(stream)?.map(|name| (stream, Arc::from(name)));
            }
            let Some((_, session)) = &name else { continue };
            let pending = match Waiting::from_bytes(&value) {
                Ok(Waiting { id, kind, seq, expires_at }) => {
                    PendingInteraction { session: session.to_string(), id, kind, asked_at: Seq::new(seq), expires_at }
                }
                Err(_) => match look.find_in_rows(stream, session.clone())? {
                    Some(found) => read_found(&found, |found| waiting(&mut Leaves::new(found), found, ordinal))?,
                    None => continue,
                },
            };
            listed.insert((stream, ordinal), pending);
            found += 1;
            if found == limit {
                break;
            }
        }
        Ok(())
    }
}
