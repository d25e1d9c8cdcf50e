//! SQLite as hosts build it: WAL, synchronous=FULL, an events table and a messages table with each message's current JSON.
//!
//! **Invariant:** the messages of a commit are those of its events: one transaction holds both.
//!
//! One writer thread groups what waits into one transaction. It keeps the messages that are still open in memory and
//! writes each changed one once a transaction, however many deltas arrived. Statements are prepared once.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use crate::contender::{Contender, Steps, Store};
use crate::failure::Outcome;
use crate::group::{Append, Grouped, Lines, Sink};
use crate::step::Step;

/// Name of the database in the contender's directory.
pub const FILE: &str = "sessions.sqlite";

/// Events that one transaction of an import holds.
const IMPORT_EVENTS_MAX: usize = 50_000;

/// Rowid tables with an index beside them: with rows up to 20 KB they are a third faster here than WITHOUT ROWID.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS sessions (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS events (
        position INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL, UNIQUE (session, seq));
    CREATE TABLE IF NOT EXISTS messages (
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, ordinal INTEGER NOT NULL, body TEXT NOT NULL, UNIQUE (session, ordinal));
    CREATE TABLE IF NOT EXISTS artifacts (
        session INTEGER NOT NULL, turn TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session, turn)) WITHOUT ROWID;";

const INSERT_EVENT: &str = "INSERT INTO events (session, seq, body) VALUES (?1, ?2, ?3)";
const INSERT_MESSAGE: &str = "INSERT INTO messages (session, ordinal, body) VALUES (?1, ?2, ?3)";
const UPDATE_MESSAGE: &str = "UPDATE messages SET body = ?2 WHERE id = ?1";
const UPSERT_ARTIFACTS: &str = "INSERT INTO artifacts (session, turn, body) VALUES (?1, ?2, ?3)
    ON CONFLICT (session, turn) DO UPDATE SET body = excluded.body";
const NEWEST: &str = "SELECT body FROM messages WHERE session = (SELECT id FROM sessions WHERE name = ?1)
    ORDER BY ordinal DESC LIMIT ?2";

/// SQLite, bundled.
#[derive(Clone, Copy, Debug)]
pub struct Sqlite;

impl Contender for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn open(&self, dir: &Path) -> Outcome<Box<dyn Store>> {
        let path = dir.join(FILE);
        Ok(Box::new(Grouped::start(move || Tables::open(&path))?))
    }

    fn import(&self, dir: &Path, batches: &mut dyn Iterator<Item = (String, Steps)>) -> Outcome<()> {
        let mut tables = Tables::open(&dir.join(FILE))?;
        let mut batches = batches.peekable();
        while batches.peek().is_some() {
            let mut left = IMPORT_EVENTS_MAX;
            tables.transact(|rows, sessions| {
                while left > 0 {
                    let Some((session, steps)) = batches.next() else {
                        break;
                    };
                    left = left.saturating_sub(steps.len());
                    let lines = crate::step::lines(&steps);
                    sessions.append(rows, &session, &steps, &lines)?;
                }
                Ok(())
            })?;
        }
        tables.close()
    }
}

/// A message, tool call or interaction as the messages table holds it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// `user`, `assistant`, `reasoning`, `tool` or `interaction`.
    pub kind: String,
    /// Text, arguments or title.
    pub text: String,
    /// Name of the tool.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Result of the tool, or the decision.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
}

struct Tables {
    connection: Connection,
    sessions: Sessions,
}

impl Tables {
    fn open(path: &Path) -> Outcome<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "cache_size", -65_536)?;
        // The default of 1,000 pages would write the database back every few commits.
        connection.pragma_update(None, "wal_autocheckpoint", 10_000)?;
        connection.execute_batch(SCHEMA)?;
        connection.set_prepared_statement_cache_capacity(16);
        Ok(Self { connection, sessions: Sessions::default() })
    }

    /// Runs `write` in one transaction, then writes each message it changed once.
    fn transact(&mut self, write: impl FnOnce(&mut Rows<'_>, &mut Sessions) -> Outcome<()>) -> Outcome<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut rows = Rows::prepare(&transaction)?;
        write(&mut rows, &mut self.sessions)?;
        self.sessions.flush(&mut rows)?;
        drop(rows);
        transaction.commit()?;
        Ok(())
    }
}

impl Sink for Tables {
    const LINES: Lines = Lines::Encoded;

    fn commit(&mut self, group: &[Append]) -> Outcome<()> {
        self.transact(|rows, sessions| {
            for append in group {
                sessions.append(rows, &append.session, &append.steps, &append.lines)?;
            }
            Ok(())
        })
    }

    fn close(self) -> Outcome<()> {
        self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA optimize;")?;
        self.connection.close().map_err(|(_, error)| error)?;
        Ok(())
    }
}

struct Rows<'t> {
    transaction: &'t Transaction<'t>,
    event: CachedStatement<'t>,
    insert: CachedStatement<'t>,
    update: CachedStatement<'t>,
    artifacts: CachedStatement<'t>,
}

impl<'t> Rows<'t> {
    fn prepare(transaction: &'t Transaction<'t>) -> Outcome<Self> {
        Ok(Self {
            transaction,
            event: transaction.prepare_cached(INSERT_EVENT)?,
            insert: transaction.prepare_cached(INSERT_MESSAGE)?,
            update: transaction.prepare_cached(UPDATE_MESSAGE)?,
            artifacts: transaction.prepare_cached(UPSERT_ARTIFACTS)?,
        })
    }
}

#[derive(Default)]
struct Sessions {
    known: HashMap<String, Session>,
    changed: Vec<String>,
}

struct Session {
    id: i64,
    seq: i64,
    ordinal: i64,
    open: HashMap<String, Open>,
    changed: Vec<String>,
}

struct Open {
    ordinal: i64,
    row: Option<i64>,
    message: Message,
    state: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Written,
    Changed,
    Complete,
}

impl Sessions {
    fn append(&mut self, rows: &mut Rows<'_>, name: &str, steps: &[Step], lines: &[u8]) -> Outcome<()> {
        if !self.known.contains_key(name) {
            self.known.insert(name.to_owned(), Session::load(rows, name)?);
        }
        let Some(session) = self.known.get_mut(name) else {
            return Ok(());
        };
        if session.changed.is_empty() {
            self.changed.push(name.to_owned());
        }
        for (step, line) in steps.iter().zip(lines.split(|byte| *byte == b'\n')) {
            session.seq += 1;
            let body = std::str::from_utf8(line).unwrap_or_default();
            rows.event.execute(params![session.id, session.seq, body])?;
            session.fold(rows, step)?;
        }
        Ok(())
    }

    fn flush(&mut self, rows: &mut Rows<'_>) -> Outcome<()> {
        for name in self.changed.drain(..) {
            if let Some(session) = self.known.get_mut(&name) {
                session.flush(rows)?;
            }
        }
        Ok(())
    }
}

impl Session {
    fn load(rows: &Rows<'_>, name: &str) -> Outcome<Self> {
        let found = "SELECT id FROM sessions WHERE name = ?1";
        let known: Option<i64> = rows.transaction.query_row(found, [name], |row| row.get(0)).optional()?;
        let id = match known {
            Some(id) => id,
            None => {
                rows.transaction.execute("INSERT INTO sessions (name) VALUES (?1)", [name])?;
                rows.transaction.last_insert_rowid()
            }
        };
        let newest = |sql: &str| rows.transaction.query_row(sql, [id], |row| row.get(0));
        let seq = newest("SELECT coalesce(max(seq), 0) FROM events WHERE session = ?1")?;
        let ordinal = newest("SELECT coalesce(max(ordinal), 0) FROM messages WHERE session = ?1")?;
        Ok(Self { id, seq, ordinal, open: HashMap::new(), changed: Vec::new() })
    }

    fn fold(&mut self, rows: &mut Rows<'_>, step: &Step) -> Outcome<()> {
        match step {
            Step::TextStart { message, role } => self.start(message, role.name(), "", ""),
            Step::ReasoningStart { message } => self.start(message, "reasoning", "", ""),
            Step::ToolStart { call, name, .. } => self.start(call, "tool", "", name),
            Step::Asked { request, title, .. } => self.start(request, "interaction", title, ""),
            Step::TextDelta { message, delta } | Step::ReasoningDelta { message, delta } => {
                self.change(message, Progress::Changed, |open| open.text.push_str(delta));
            }
            Step::ToolArgs { call, delta } => self.change(call, Progress::Changed, |open| open.text.push_str(delta)),
            Step::TextEnd { message } | Step::ReasoningEnd { message } => self.change(message, Progress::Complete, |_| {}),
            Step::ToolResult { call, content, .. } => self.change(call, Progress::Complete, |open| open.result.clone_from(content)),
            Step::Answered { request, action, .. } => self.change(request, Progress::Complete, |open| open.result.clone_from(action)),
            Step::Artifacts { run, made } => {
                rows.artifacts.execute(params![self.id, run, serde_json::to_string(made)?])?;
            }
            Step::RunStarted { .. } | Step::RunFinished { .. } | Step::ToolEnd { .. } => {}
        }
        Ok(())
    }

    fn start(&mut self, id: &str, kind: &str, text: &str, name: &str) {
        self.ordinal += 1;
        let message =
            Message { id: id.to_owned(), kind: kind.to_owned(), text: text.to_owned(), name: name.to_owned(), result: String::new() };
        self.open.insert(id.to_owned(), Open { ordinal: self.ordinal, row: None, message, state: Progress::Changed });
        self.changed.push(id.to_owned());
    }

    fn change(&mut self, id: &str, state: Progress, change: impl FnOnce(&mut Message)) {
        let Some(open) = self.open.get_mut(id) else {
            return;
        };
        change(&mut open.message);
        if open.state == Progress::Written {
            self.changed.push(id.to_owned());
        }
        open.state = state;
    }

    fn flush(&mut self, rows: &mut Rows<'_>) -> Outcome<()> {
        for id in self.changed.drain(..) {
            let Some(open) = self.open.get_mut(&id) else {
                continue;
            };
            let body = serde_json::to_string(&open.message)?;
            match open.row {
                Some(row) => {
                    rows.update.execute(params![row, body])?;
                }
                None => open.row = Some(rows.insert.insert(params![self.id, open.ordinal, body])?),
            }
            if open.state == Progress::Complete {
                self.open.remove(&id);
            } else {
                open.state = Progress::Written;
            }
        }
        Ok(())
    }
}

/// Reads windows from the messages table.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
}

impl Reader {
    /// Opens the database in `dir` for reading.
    pub fn open(dir: &Path) -> Outcome<Self> {
        let connection = Connection::open(dir.join(FILE))?;
        connection.pragma_update(None, "cache_size", -65_536)?;
        Ok(Self { connection })
    }

    /// The newest `items` messages of a session, parsed from their JSON.
    pub fn window(&self, session: &str, items: usize) -> Outcome<Vec<Message>> {
        let mut statement = self.connection.prepare_cached(NEWEST)?;
        let mut rows = statement.query(params![session, i64::try_from(items).unwrap_or(i64::MAX)])?;
        let mut messages = Vec::with_capacity(items);
        while let Some(row) = rows.next()? {
            let body = row.get_ref(0)?.as_str().unwrap_or_default();
            messages.push(serde_json::from_str(body)?);
        }
        Ok(messages)
    }
}
