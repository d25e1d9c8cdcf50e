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

    /// Commits (synced writes) so far, when the contender tells.
    fn commits(&self) -> Option<u64>;

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::plain::{self, Plain};
    use crate::round::{Load, PRODUCERS, run};
    use crate::salamander::{self, Salamander};
    use crate::sqlite::{self, Sqlite};
    use crate::trace::Trace;

    /// Runs a small round and closes; the directory and the events that were acknowledged.
    fn filled(contender: &dyn Contender) -> (tempfile::TempDir, u64) {
        let dir = tempfile::tempdir().unwrap();
        let store = contender.open(dir.path()).unwrap();
        let ran = run(store.as_ref(), &Load::seeded(5, 4, 8), Duration::from_secs(60)).unwrap();
        assert_eq!(ran.events, PRODUCERS as u64 * 32, "{}", contender.name());
        assert!(ran.commits.is_some_and(|commits| commits > 0 && commits <= PRODUCERS as u64 * 4));
        store.close().unwrap();
        (dir, ran.events)
    }

    #[test]
    fn every_acknowledged_event_is_a_line_of_the_plain_file() {
        let (dir, events) = filled(&Plain);
        let text = std::fs::read_to_string(dir.path().join(plain::FILE)).unwrap();
        assert_eq!(text.lines().count() as u64, events);
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    }

    #[test]
    fn sqlite_holds_every_event_and_the_whole_text_of_every_message() {
        let (dir, events) = filled(&Sqlite);
        let connection = rusqlite::Connection::open(dir.path().join(sqlite::FILE)).unwrap();
        let stored: i64 = connection.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
        assert_eq!(stored as u64, events);

        let mut trace = Trace::seeded(5_000);
        let session = trace.session().to_owned();
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for step in trace.by_ref().take(32) {
            match step {
                Step::TextStart { message, .. } | Step::ReasoningStart { message } => drop(texts.insert(message, String::new())),
                Step::TextDelta { message, delta } | Step::ReasoningDelta { message, delta } => {
                    texts.get_mut(&message).unwrap().push_str(&delta)
                }
                _ => {}
            }
        }
        let window = sqlite::Reader::open(dir.path()).unwrap().window(&session, 50).unwrap();
        let held = window.into_iter().filter(|message| texts.contains_key(&message.id)).map(|message| (message.id, message.text));
        assert!(!texts.is_empty());
        assert_eq!(held.collect::<BTreeMap<_, _>>(), texts);
    }

    #[test]
    fn salamander_refolds_every_acknowledged_event() {
        let (dir, events) = filled(&Salamander);
        let (folded, messages) = salamander::Opened::open(dir.path()).unwrap().refold().unwrap();
        assert_eq!(folded, events);
        assert!(messages >= PRODUCERS as u64);
    }
}
