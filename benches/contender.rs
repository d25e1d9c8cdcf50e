//! What every contender must be able to do, so that one row can run them all alike.
//!
//! **Invariant:** an append that returned is durable (written and synced), for every contender.

use std::path::Path;
use std::sync::Arc;

use crate::failure::Outcome;
use crate::step::Step;

/// The facts of one append, all of one session.
pub type Steps = Arc<[Step]>;

/// A store under comparison.
pub trait Contender: Sync {
    /// The name in the table.
    fn name(&self) -> &'static str;

    /// Opens the store in `dir`, which exists; creates it when it is not there.
    fn open(&self, dir: &Path) -> Outcome<Box<dyn Store>>;

    /// What somebody must do before a killed store opens again. Not timed.
    fn after_kill(&self, _dir: &Path) -> Outcome<()> {
        Ok(())
    }

    /// Appends every batch as fast as this contender can, durable when it returns and the store is closed.
    fn import(&self, dir: &Path, batches: &mut dyn Iterator<Item = (String, Steps)>) -> Outcome<()>;
}

/// An open store of a contender.
pub trait Store: Send + Sync {
    /// A hand for one producer thread that appends to one session.
    fn producer(&self, session: &str) -> Outcome<Box<dyn Producer>>;

    /// Commits (synced writes) so far.
    fn commits(&self) -> u64;

    /// Waits until no work that an append left behind is still running. Not timed.
    fn settle(&self) -> Outcome<()> {
        Ok(())
    }

    /// Ends the store in good order.
    fn close(self: Box<Self>) -> Outcome<()>;
}

/// What one producer thread appends with.
pub trait Producer: Send {
    /// Appends the steps, all or nothing; durable when it returns.
    fn append(&mut self, steps: &Steps) -> Outcome<()>;
}
