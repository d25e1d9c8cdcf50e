//! Controlled writes: what must hold before a host records that it is about to write. Source: `protocols.md`, sections 3.6 and 9.
//!
//! **Invariant:** nothing here appends, and nothing here reads a clock. A check reads one [`View`] and says which facts to append, or why
//! not; what the write is about moves only when the facts of its owner arrive.
//!
//! ```text
//! check (answer, ..) -> Permit -> append permit.batch() -> send to the owner -> append permit.settled(..) -> the owner's facts arrive
//! ```
//!
//! Between the check and the append others may append. The owner decides such a race: of two decisions the first stands, and a host learns
//! from the facts which one that was. A host that wants to notice earlier appends with [`Batch::expect`].
//!
//! | check | of |
//! |---|---|
//! | [`answer`] | a decision on an interaction |
//! | [`permit`] | every other write: send, queue, steer, interrupt, edit, export, older history, actions with effects |
//! | [`settle`] | the outcome of a write that was recorded |
//! | [`judge_intent`] | what an agent asks of the workspace |

mod answer;
pub(crate) mod approval;
mod intent;
pub(crate) mod schema;
mod work;
mod writes;

use crate::batch::Batch;
use crate::error::Error;
use crate::fact::{Fact, Json, Text, WriteChanged, WriteOp};
use crate::state::{Content, short};
use crate::time::UnixMillis;
use crate::view::{PayloadRef, View};

pub use answer::{Decision, answer};
pub use intent::{Judgement, Unfit, judge_intent};
pub use writes::{Action, Approval, Effect, Policy, Reversibility, permit, settle};

/// Why a write may not be made. Nothing was recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Reading failed. Each variant of the inner error says what to do.
    #[error(transparent)]
    Read(#[from] Error),
    /// The session has nothing of that id. Read what it has.
    #[error("the session has no {what} {id:?}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// An id that the write must name is empty. Name it.
    #[error("the write names no {what}")]
    Unnamed {
        /// What it must name.
        what: &'static str,
    },
    /// It is decided. Show the decision that stands.
    #[error("interaction {interaction:?} is {resolution} by decision {by:?}")]
    AlreadyResolved {
        /// Interaction id.
        interaction: String,
        /// Id of the decision that stands; `None` when it has none.
        by: Option<String>,
        /// resolved, cancelled, expired.
        resolution: String,
    },
    /// The same decision id or key was used for something else. Use a new one.
    #[error("{key:?} was used for something else")]
    KeyReused {
        /// Decision id, or key.
        key: String,
    },
    /// It expired. It can still be cancelled; else wait for its owner to ask again.
    #[error("interaction {interaction:?} expired at {at}")]
    Expired {
        /// Interaction id.
        interaction: String,
        /// When.
        at: UnixMillis,
    },
    /// Its owner asks no more. Nothing is to be done, unless it asks again.
    #[error("interaction {interaction:?} was withdrawn")]
    Withdrawn {
        /// Interaction id.
        interaction: String,
    },
    /// The request offers other actions. Choose one of them.
    #[error("the request does not offer the action {action:?}")]
    ActionUnknown {
        /// The action that was chosen.
        action: String,
        /// Ids of those that it offers.
        offered: Vec<String>,
    },
    /// The request asks for a response and the decision has none. Ask the person.
    #[error("the request needs an explicit response")]
    ResponseMissing,
    /// The response does not fit the request's schema. Mend what is named.
    #[error("the response does not fit the schema of its request: {}", errors.join("; "))]
    ResponseInvalid {
        /// Where and what, without values: the first of them, up to [`crate::limits::RESPONSE_ERRORS_MAX`].
        errors: Vec<String>,
    },
    /// Nothing runs that it could be about. Send instead.
    #[error("{} does not run: it is {status}", turn.as_deref().unwrap_or("the session"))]
    NotRunning {
        /// The turn that was looked at; `None` when the session had none.
        turn: Option<String>,
        /// Its status.
        status: String,
    },
    /// The artifact was deleted. Create it again first.
    #[error("artifact {artifact:?} was deleted")]
    Deleted {
        /// Artifact id.
        artifact: String,
    },
    /// The artifact has another version than the one that was edited. Read it and edit again.
    #[error("artifact {artifact:?} is at version {current:?}, not at {named:?}")]
    StaleVersion {
        /// Artifact id.
        artifact: String,
        /// The version that was named.
        named: Option<String>,
        /// The version that it has.
        current: Option<String>,
    },
    /// The history service gave another cursor since, or says that there is nothing older. Use the newest.
    #[error("the cursor is not the one that the history service gave last: {newest:?}")]
    StaleCursor {
        /// The newest; `None` when there is nothing older.
        newest: Option<String>,
    },
    /// An action that nobody can take back was not approved. Ask first.
    #[error("the action has no approval by {approval:?}: {reason}")]
    NotApproved {
        /// The interaction that was named.
        approval: Option<String>,
        /// Why it does not count.
        reason: &'static str,
    },
    /// No response can be checked against the request's schema: it is no schema, reaches out, or would take too much. Decide without a
    /// response, cancel, or let the owner ask anew.
    #[error("the schema of the request is of no use: {reason}")]
    SchemaUnusable {
        /// Why.
        reason: String,
    },
}

/// Where a write stands, as far as it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// Nothing is recorded of it: append the permit's batch, then write.
    New,
    /// It was attempted and nobody said how it came back, as after a crash: send it again under the same key.
    Attempted,
    /// It came back failed or unknown: append the permit's batch, then send it again under the same key.
    Again {
        /// How often it was attempted.
        attempts: u32,
    },
    /// Its owner has taken it: nothing is to be done.
    Done,
}

impl Standing {
    fn is_new(self) -> bool {
        self == Self::New
    }
}

/// Leave to make a write, and how to record it.
#[derive(Clone, Debug)]
pub struct Permit {
    write: String,
    key: String,
    standing: Standing,
    attempt: Option<Fact<'static>>,
    detail: Json<'static>,
}

impl Permit {
    /// The write that an action, its target and its key identify: the same three always give the same write.
    fn new(action: &'static str, target: &str, key: &str, detail: Json<'static>) -> Self {
        let write = write_id(&[action, target, key]);
        let op = WriteOp::Attempted {
            action: Text::Borrowed(action),
            target: Some(Text::Owned(target.to_owned())),
            key: Some(Text::Owned(key.to_owned())),
            detail: Some(detail.clone()),
        };
        let attempt = Fact::WriteChanged(WriteChanged { write: Text::Owned(write.clone()), op });
        Self { write, key: key.to_owned(), standing: Standing::New, attempt: Some(attempt), detail }
    }

    fn done(self) -> Self {
        Self { standing: Standing::Done, attempt: None, ..self }
    }

    /// With the standing that the session records.
    fn standing_in(self, view: &View, session: &str) -> Result<Self, Refused> {
        let Some(known) = view.write(session, &self.write)? else { return Ok(self) };
        let attempt = known.attempt.as_deref().map(|attempt| content(view, session, attempt)).transpose()?;
        if attempt.is_some_and(|attempt| !same(&attempt, self.detail.as_str())) {
            return Err(Refused::KeyReused { key: self.key });
        }
        Ok(match known.status.as_str() {
            "confirmed" => self.done(),
            "attempted" => Self { standing: Standing::Attempted, attempt: None, ..self },
            _ => Self { standing: Standing::Again { attempts: known.attempts }, ..self },
        })
    }

    /// The write's id, for [`WriteChanged::write`]. Made of what identifies the write, so that asking again gives it again.
    pub fn write(&self) -> &str {
        &self.write
    }

    /// The idempotency key to send along to the owner.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Where the write stands.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// What to append before the write goes out; nothing when that is recorded already.
    pub fn facts(&self) -> &[Fact<'static>] {
        self.attempt.as_slice()
    }

    /// [`Permit::facts`] under a key of this attempt: appended twice, they are recorded once. `None` when there is nothing to append.
    pub fn batch(&self) -> Option<Batch> {
        let attempt = self.attempt.clone()?;
        let key = match self.standing {
            Standing::Again { attempts } => format!("{}#{attempts}", self.write),
            _ => self.write.clone(),
        };
        Some(Batch::of([attempt]).key(key))
    }

    /// What to append when the write came back: its outcome, and anything that its owner said with it.
    pub fn settled(&self, outcome: Outcome, detail: Option<Json<'static>>) -> Fact<'static> {
        settled(&self.write, outcome, detail)
    }
}

fn settled(write: &str, outcome: Outcome, detail: Option<Json<'static>>) -> Fact<'static> {
    let op = WriteOp::Settled { outcome: Text::Borrowed(outcome.as_str()), detail };
    Fact::WriteChanged(WriteChanged { write: Text::Owned(write.to_owned()), op })
}

/// Whether two JSON texts say the same.
fn same(one: &str, other: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    one == other || value(one).is_some_and(|one| Some(one) == value(other))
}

/// How a write came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its owner took it.
    Confirmed,
    /// Its owner refused it, or it surely did not arrive: everything is as it was.
    Failed,
    /// Nobody knows: send it again under the same key, or wait for the owner's facts.
    Unknown,
}

impl Outcome {
    /// The word that is recorded.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// A short id of what these texts say together; others give another one.
fn write_id(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let digits: String = short(&hasher.finalize()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}:{digits}", parts.first().copied().unwrap_or_default())
}

/// A value as a page has it: here, or to be fetched.
enum Said {
    Here(String),
    There(PayloadRef),
}

impl Said {
    fn of(text: crate::view::LongText<'_>) -> Self {
        match text.payload().filter(|_| text.truncated()) {
            Some(reference) => Self::There(reference),
            None => Self::Here(text.joined().into_owned()),
        }
    }

    fn whole(self, view: &View) -> Result<String, Error> {
        match self {
            Self::Here(text) => Ok(text),
            Self::There(reference) => Ok(view.payload(&reference)?.into_string()),
        }
    }
}

/// A value of the shelf, whole.
fn content(view: &View, session: &str, value: &Content) -> Result<String, Error> {
    match PayloadRef::of(session, value) {
        Some(reference) => Ok(view.payload(&reference)?.into_string()),
        None => Ok(value.shown().to_owned()),
    }
}

#[cfg(test)]
mod tests;
