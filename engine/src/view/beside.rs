//! Artifacts, queue, steers, evidence, surfaces, workspace, intents and writes of a session.
//!
//! **Invariant:** one of them by its id costs two rows, whatever the session holds; a list is read page by page. A value that is only begun
//! here is read whole by [`PayloadRef::of`].
//!
//! [`PayloadRef::of`]: crate::PayloadRef::of

use rkyv::rancor;
use serde_json::Value;

use super::View;
use super::found::{Found, Trouble};
use super::shelf::{Listed, on_shelf, shelf_ordinal, value_at};
use crate::error::Error;
use crate::state::{
    ArchivedBody, ArchivedSurface, Artifact, BadRow, Content, Evidence, Intent, QUEUE, Queue, RowKind, RowRef, Sequence, Space, Steer,
    WORKSPACE, Workspace, Write,
};

/// A surface, without its state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SurfaceSummary {
    /// Surface id.
    pub id: String,
    /// Sequence of the last step that was taken; `None` when none said its place.
    pub sequence: Option<u64>,
    /// Its state may not be what its owner has: a patch failed, one is missing, or its creation was not seen.
    pub stale: bool,
    /// Sequences of the patches that wait for one before them, in order.
    pub buffered: Vec<u64>,
    /// The buffer overflowed: nothing but a new creation mends it.
    pub lost: bool,
    /// Closed.
    pub closed: bool,
}

/// A surface with its definition and its state.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SurfaceValue {
    /// Where it stands.
    pub summary: SurfaceSummary,
    /// What created it, JSON; `None` before its creation was seen.
    pub definition: Option<Content>,
    /// Its state, as the patches so far leave it.
    pub state: Value,
}

fn summary(surface: &ArchivedSurface) -> SurfaceSummary {
    let buffered: Vec<u64> = surface.buffered.iter().map(|waiting| waiting.0.to_native()).collect();
    SurfaceSummary {
        id: surface.id.to_string(),
        sequence: surface.sequence.as_ref().map(|sequence| sequence.to_native()),
        stale: surface.state.stale || surface.lost || !buffered.is_empty() || surface.definition.is_none(),
        buffered,
        lost: surface.lost,
        closed: surface.closed,
    }
}

fn bad(what: rancor::Error) -> Trouble {
    BadRow::new(RowRef { kind: RowKind::Shelf, epoch: 0, ordinal: 0 }, what).into()
}

/// The entry that an id means, as `take` reads it.
fn one<T>(
    found: &Found<'_>,
    space: Space,
    id: &str,
    take: impl FnOnce(&ArchivedBody) -> Option<Result<T, rancor::Error>>,
) -> Result<Option<T>, Trouble> {
    let Some(ordinal) = shelf_ordinal(found, space, id)? else { return Ok(None) };
    on_shelf(found, ordinal, take)?.map(Some).map_err(bad)
}

/// One of a family by its id, and the list of the family.
macro_rules! families {
    ($($variant:ident $space:ident: $(#[$doc_one:meta])* $one:ident, $(#[$doc_list:meta])* $list:ident;)*) => {
        impl View {
            $(
                $(#[$doc_one])*
                pub fn $one(&self, session: &str, id: &str) -> Result<Option<$variant>, Error> {
                    self.read(session, |found| {
                        one(found, Space::$space, id, |body| match body {
                            ArchivedBody::$variant(of) => Some(rkyv::deserialize(of)),
                            _ => None,
                        })
                    })
                }

                $(#[$doc_list])*
                pub fn $list(&self, session: &str) -> Result<Listed<$variant>, Error> {
                    self.listed(session, Sequence::Shelf, |entry| match &entry.body {
                        ArchivedBody::$variant(of) => rkyv::deserialize(of).map(Some),
                        _ => Ok(None),
                    })
                }
            )*
        }
    };
}

families! {
    Artifact Artifact:
        /// An artifact by its id; `None` when the session has none of that id. Errors: [`Error::NoSession`].
        artifact,
        /// The artifacts of a session, by path and by id, in the order in which they were first stated. Errors: [`Error::NoSession`].
        artifacts;
    Evidence Evidence:
        /// An evidence record; `None` when the session has none of that id. Errors: [`Error::NoSession`].
        evidence,
        /// The evidence records of a session, in the order in which they were first stated. Errors: [`Error::NoSession`].
        evidence_records;
    Steer Steer:
        /// A steering input; `None` when the session has none of that id. Errors: [`Error::NoSession`].
        steer,
        /// The steering inputs of a session, in the order in which they were first stated. Errors: [`Error::NoSession`].
        steers;
    Intent Intent:
        /// An intent for the workspace; `None` when the session has none of that id. Errors: [`Error::NoSession`].
        intent,
        /// The intents of a session, in the order in which they were asked. Errors: [`Error::NoSession`].
        intents;
    Write Write:
        /// A controlled write; `None` when the session has none of that id. Errors: [`Error::NoSession`].
        write,
        /// The controlled writes of a session, in the order in which they were first stated. Errors: [`Error::NoSession`].
        writes;
}

impl View {
    /// The artifacts of a session that have an id, in the order in which they were first stated. Errors: [`Error::NoSession`].
    pub fn artifacts_by_id(&self, session: &str) -> Result<Listed<Artifact>, Error> {
        self.listed(session, Sequence::Shelf, |entry| match &entry.body {
            ArchivedBody::Artifact(of) if of.id.is_some() => rkyv::deserialize(of).map(Some),
            _ => Ok(None),
        })
    }

    /// The inputs that wait, as they were stated last; empty when none were. Errors: [`Error::NoSession`].
    pub fn queue(&self, session: &str) -> Result<Queue, Error> {
        let queue = self.read(session, |found| {
            one(found, Space::Single, QUEUE, |body| match body {
                ArchivedBody::Queue(queue) => Some(rkyv::deserialize(queue)),
                _ => None,
            })
        })?;
        Ok(queue.unwrap_or_default())
    }

    /// The workspace of a session: capabilities and state; `None` when neither was stated. What was asked of it: [`View::intents`].
    ///
    /// Errors: [`Error::NoSession`].
    pub fn workspace(&self, session: &str) -> Result<Option<Workspace>, Error> {
        self.read(session, |found| {
            one(found, Space::Single, WORKSPACE, |body| match body {
                ArchivedBody::Workspace(workspace) => Some(rkyv::deserialize(workspace)),
                _ => None,
            })
        })
    }

    /// A surface with its state; `None` when the session has none of that id.
    ///
    /// Cost: its state and the patches since it was last written whole. Errors: [`Error::NoSession`].
    pub fn surface(&self, session: &str, id: &str) -> Result<Option<SurfaceValue>, Error> {
        self.read(session, |found| {
            let Some(ordinal) = shelf_ordinal(found, Space::Surface, id)? else { return Ok(None) };
            let value = on_shelf(found, ordinal, |body| match body {
                ArchivedBody::Surface(surface) => Some(surface_value(found, ordinal, surface)),
                _ => None,
            })?;
            value.map(Some)
        })
    }

    /// The surfaces of a session without their states, in the order in which they were first stated. Errors: [`Error::NoSession`].
    pub fn surfaces(&self, session: &str) -> Result<Listed<SurfaceSummary>, Error> {
        self.listed(session, Sequence::Shelf, |entry| match &entry.body {
            ArchivedBody::Surface(surface) => Ok(Some(summary(surface))),
            _ => Ok(None),
        })
    }
}

fn surface_value(found: &Found<'_>, ordinal: i64, surface: &ArchivedSurface) -> Result<SurfaceValue, Trouble> {
    let definition = surface.definition.as_ref().map(|definition| rkyv::deserialize::<Content, rancor::Error>(&**definition));
    let definition = definition.transpose().map_err(bad)?;
    let state = value_at(found, ordinal, &surface.state)?.value;
    Ok(SurfaceValue { summary: summary(surface), definition, state })
}
