//! One interaction or one turn by its id, and the current turn.

use super::View;
use super::found::{Found, Trouble};
use super::item::{InteractionItem, Item, ItemKind};
use super::leaves::Leaves;
use super::turn::TurnRef;
use super::window::find_id;
use crate::error::Error;
use crate::state::Space;

impl View {
    /// What `read` makes of the interaction of this id, pending or not; `None` when the session has none.
    ///
    /// Cost: two rows and its own values, whatever the session holds. Errors: [`Error::NoSession`].
    pub fn interaction<T>(&self, session: &str, id: &str, read: impl Fn(InteractionItem<'_>) -> T) -> Result<Option<T>, Error> {
        self.by_id(session, Space::Interaction, id, |leaves, ordinal| {
            match (Item { leaves, ordinal, entry: leaves.entry(ordinal)? }).kind() {
                ItemKind::Interaction(asked) => Some(read(asked)),
                _ => None,
            }
        })
    }

    /// What `read` makes of the turn of this id; `None` when the session has none.
    ///
    /// Cost: two rows and its own values, whatever the session holds. Errors: [`Error::NoSession`].
    pub fn turn<T>(&self, session: &str, id: &str, read: impl Fn(TurnRef<'_>) -> T) -> Result<Option<T>, Error> {
        self.by_id(session, Space::Turn, id, |leaves, ordinal| TurnRef::at(leaves, ordinal).map(&read))
    }

    /// What `read` makes of the open or last turn; `None` when the session had none. Cost and errors: as [`View::turn`].
    pub fn current_turn<T>(&self, session: &str, read: impl Fn(TurnRef<'_>) -> T) -> Result<Option<T>, Error> {
        self.read(session, |found| {
            let Some((ordinal, leaves)) = found.outline.current.map(|ordinal| (ordinal, one(found, ordinal))) else { return Ok(None) };
            Ok::<_, Trouble>(TurnRef::at(&leaves?, ordinal).map(&read))
        })
    }

    fn by_id<T>(&self, session: &str, space: Space, id: &str, read: impl Fn(&Leaves, i64) -> Option<T>) -> Result<Option<T>, Error> {
        self.read(session, |found| {
            let Some(ordinal) = find_id(found, space, id)? else { return Ok(None) };
            Ok::<_, Trouble>(read(&one(found, ordinal)?, ordinal))
        })
    }
}

/// An entry with its values.
fn one(found: &Found<'_>, ordinal: i64) -> Result<Leaves, Trouble> {
    let mut leaves = Leaves::new(found);
    leaves.need(found, ordinal)?;
    leaves.load_text(found, ordinal, found.look.view.shared.limits.window_bytes_max as u64)?;
    leaves.observe(found)?;
    Ok(leaves)
}
