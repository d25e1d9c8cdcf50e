//! The command line as it is typed.
//!
//! **Absent:** what a command does.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use turnstore::Limits;
use turnstore::adapter::{WIRES, Wire};

const AFTER: &str = "\
Examples:
  turnstore import session.jsonl --protocol aiui     bring in what is new in a recording
  turnstore sessions                                 what is there, newest first
  turnstore show my-thread --last 20                 the newest 20 items of a session
  turnstore events my-thread --raw > copy.jsonl      the source events as they came in
  turnstore verify                                   refold everything aside and compare
  turnstore check session.jsonl --protocol aiui      does a recording keep to its protocol

Exit codes:
  0  done
  1  failed: nothing was changed by what the message names
  2  the command line is wrong
  3  done, but some of the input was refused; each refusal is named on stderr, the rest is in
  4  verify found a difference
  5  check found that a recording breaks its protocol";

/// An embedded, event-sourced session store for agent hosts: bring recordings in, look at sessions, verify.
#[derive(Debug, Parser)]
#[command(name = "turnstore", version, about, after_help = AFTER, max_term_width = 110)]
pub(crate) struct Line {
    /// The store: one file at rest, with a small `-tail` beside it while somebody writes.
    #[arg(long, global = true, value_name = "PATH", default_value = "./turnstore.db")]
    pub(crate) store: PathBuf,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Append recordings to the store; running it again adds only what is new.
    Import(Import),
    /// List sessions, most recently changed first.
    Sessions(Sessions),
    /// Numbers of the store: head, counts, bytes per table, how far the checkpoint lags.
    Stats(Stats),
    /// Show a window or page of a session: turns, items, cursor.
    Show(Show),
    /// List what runs, is queued, blocked, failed or needs input, in all sessions.
    Tasks(Tasks),
    /// Print or put UI-only state of a session, such as a pin or how far it was read.
    Ui(Ui),
    /// Print the stored events of a session.
    Events(Events),
    /// Print a session as the events by which a client of a protocol joins it, one JSON a line.
    Export(Export),
    /// List open interactions of a session, or of all.
    Pending(Pending),
    /// List the artifacts of a session.
    Artifacts(OfSession),
    /// Print the canonical hash of a session's state, alone on its line.
    Hash(OfSession),
    /// Drop every projection and fold it again from the log.
    Rebuild(Whole),
    /// Fold everything aside and compare it with what is stored; names the first difference.
    Verify(Whole),
    /// Fold a recording without a store and print one JSON object, in the protocol's own message shape where it has one.
    Project(Project),
    /// Report what a recording does that its protocol does not allow: which event, why, and what to do about it.
    Check(Check),
}

/// A number of items that one window can hold: told before anything is done.
fn items(text: &str) -> Result<usize, String> {
    let items: usize = text.parse().map_err(|error: std::num::ParseIntError| error.to_string())?;
    let items_max = Limits::default().window_items_max;
    if items > items_max { Err(format!("above window_items_max = {items_max}; `show --all` prints everything")) } else { Ok(items) }
}

/// A wire protocol by its name.
fn protocol() -> impl TypedValueParser<Value = &'static Wire> {
    let names = WIRES.iter().map(|wire| PossibleValue::new(wire.name).help(wire.about));
    PossibleValuesParser::new(names).try_map(|name| Wire::named(&name).ok_or("no such protocol"))
}

#[derive(Debug, Args)]
#[command(after_help = "\
A file is one session: --session, else the session or thread that its events name, else its file
name without the ending. A transcript of a subagent is a session of its own that names its parent.
A directory stands for the files in it.

Running the same import again, on the same or a longer file, or after the process was killed, doubles
nothing: the file is compared, event by event, with what its session holds, so that a recording whose
beginning was changed is refused. Cost: a read of the file and of the session's log up to there. An
event that the file holds twice, as after a reconnect, counts once.

Examples:
  turnstore import examples/recordings --protocol aiui
  turnstore import run-1.jsonl run-2.sse --protocol aiui --store agent.db
  turnstore import ~/.claude/projects/my-project --protocol claude-code")]
pub(crate) struct Import {
    /// Recordings, or directories of them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What the recordings are written in.
    #[arg(long, value_name = "NAME", value_parser = protocol())]
    pub(crate) protocol: &'static Wire,
    /// The session that the events go to, instead of the one that they name.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Items of the newest window to show for each session.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = items)]
    pub(crate) last: usize,
    /// Print one JSON object a line: one for each acknowledged append, then one for each file.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  turnstore sessions --limit 5")]
pub(crate) struct Sessions {
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Go on behind an earlier list.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
    /// Only those whose last turn runs.
    #[arg(long)]
    pub(crate) running: bool,
    /// Only those in which something waits for an answer.
    #[arg(long)]
    pub(crate) needs_input: bool,
    /// Only those with events that were not read.
    #[arg(long)]
    pub(crate) unread: bool,
    /// Only those that are pinned.
    #[arg(long)]
    pub(crate) pinned: bool,
    /// Only those that a process left running which is gone.
    #[arg(long)]
    pub(crate) stale: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  turnstore tasks")]
pub(crate) struct Tasks {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Small values by key that no event, hash or rebuild knows of, such as a draft. Two keys mean something to the list of sessions: `pinned`,
and `read`, the seq up to which the session was read.

Examples:
  turnstore ui my-thread
  turnstore ui my-thread pinned true
  turnstore ui my-thread pinned --remove")]
pub(crate) struct Ui {
    /// The session.
    pub(crate) session: String,
    /// The key; without it, all of them are printed.
    pub(crate) key: Option<String>,
    /// What to put; without it, the value is printed.
    #[arg(conflicts_with = "remove")]
    pub(crate) value: Option<String>,
    /// Remove the key.
    #[arg(long, requires = "key")]
    pub(crate) remove: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  turnstore show my-thread                     the newest window
  turnstore show my-thread --cursor TOKEN      the page that an earlier one pointed to
  turnstore show my-thread --all               everything, oldest first")]
pub(crate) struct Show {
    /// The session.
    pub(crate) session: String,
    /// How many of the newest items.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = items)]
    pub(crate) last: usize,
    /// A cursor that an earlier page printed.
    #[arg(long, value_name = "CURSOR", conflicts_with = "all")]
    pub(crate) cursor: Option<String>,
    /// Every item, oldest first.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  turnstore events my-thread --from 100
  turnstore events my-thread --raw > copy.jsonl")]
pub(crate) struct Events {
    /// The session.
    pub(crate) session: String,
    /// First seq to print.
    #[arg(long, value_name = "SEQ", default_value_t = 1)]
    pub(crate) from: u64,
    /// Print each accepted source event as it came in, one JSON a line.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print one JSON object a line.
    #[arg(long, conflicts_with = "raw")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A session of any protocol is shown in any that has a form for it:
  aiui      a stream that an AG-UI client joins in the middle: the run, all messages, the state, what is open and what is asked
  aseity    its pages as SessionMessages, from the newest to the oldest, then its session_event
  agent-ui  its levels of hydration in order: shell, newest messages, what is open, summaries
With --at, as it was when that position was the newest; cost: the session's log up to there, folded aside.

Examples:
  turnstore export my-thread --protocol aiui > join.jsonl
  turnstore export my-thread --protocol aiui --at 1200")]
pub(crate) struct Export {
    /// The session.
    pub(crate) session: String,
    /// What to write it in.
    #[arg(long, value_name = "NAME", value_parser = protocol())]
    pub(crate) protocol: &'static Wire,
    /// A position of the log, as `events --json` prints it.
    #[arg(long, value_name = "POSITION")]
    pub(crate) at: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Pending {
    /// The session; without it, every session.
    pub(crate) session: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OfSession {
    /// The session.
    pub(crate) session: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Whole {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
What is printed:
  aiui      {messages, state, pendingInterrupts, diagnostics}, whole
  aseity    SessionMessages, the newest page
  others    the newest window, as `show --json` has it

Examples:
  turnstore project session.jsonl --protocol aiui --input start.json
  turnstore project session.jsonl --protocol aseity")]
pub(crate) struct Project {
    /// The recording.
    pub(crate) file: PathBuf,
    /// What it is written in.
    #[arg(long, value_name = "NAME", value_parser = protocol())]
    pub(crate) protocol: &'static Wire,
    /// For aiui, starting messages and state: {\"messages\": [..], \"state\": ..}.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A finding names the event by its number in the recording (from 1), its line, and a stable code.
  error    breaks the protocol: something was refused or lost, or clients differ about it
  warning  says less or other than was likely meant
  note     worth knowing, nothing to mend, such as an event that is not known
The recording is folded in a temporary store: any length, memory as for an import.

Exit codes: 0 when there is no error (with --strict: nor a warning), 5 when there is.

Examples:
  turnstore check session.jsonl --protocol aiui
  turnstore check stream.sse --protocol agent-ui --strict --each 100
  turnstore check session.jsonl --protocol aseity --json")]
pub(crate) struct Check {
    /// The recording, one session from its beginning.
    pub(crate) file: PathBuf,
    /// What it is written in.
    #[arg(long, value_name = "NAME", value_parser = protocol())]
    pub(crate) protocol: &'static Wire,
    /// Findings to show of each code; all are counted.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) each: usize,
    /// Let warnings count as errors do.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
