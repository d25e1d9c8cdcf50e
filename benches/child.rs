//! Work done in a process of its own: where peak memory is measured, where an open is really a first open, and what kill -9 meets.
//!
//! **Invariant:** a child prints one JSON line when its work is done; the parent reads that line and nothing else.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::contender::{Contender, Steps};
use crate::failure::{Failure, Outcome};
use crate::fixture;
use crate::subject::Subject;
use crate::trace::Trace;

/// The argument that turns `compare` into a child.
pub const ARGUMENT: &str = "child";

/// Threads that append while the child waits to be killed.
const CRASH_PRODUCERS: u64 = 8;

/// Acknowledged events after which the child asks to be killed.
const CRASH_EVENTS: u64 = 20_000;

/// The child asks to be killed after this time with however many events it has.
const CRASH_AFTER_MAX: Duration = Duration::from_millis(1_500);

/// What an import came to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Imported {
    /// Wall time in seconds, close included.
    pub seconds: f64,
    /// VmHWM of the process, bytes.
    pub peak_bytes: u64,
}

/// What an open came to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Opened {
    /// Wall time in milliseconds.
    pub millis: f64,
}

/// What reading windows came to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Looked {
    /// Windows and pages read.
    pub pages: u64,
    /// VmHWM of the process, bytes.
    pub peak_bytes: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Appending {
    acknowledged: u64,
}

/// Imports the fixture into `dir` in a child.
pub fn import(contender: &str, dir: &Path, events: usize) -> Outcome<Imported> {
    finished(spawn("import", contender, dir, events)?)
}

/// Opens the store in `dir` in a child and closes it again.
pub fn open(contender: &str, dir: &Path) -> Outcome<Opened> {
    finished(spawn("open", contender, dir, 0)?)
}

/// Reads `pages` windows and pages of the long session in a child.
pub fn look(contender: &str, dir: &Path, pages: usize) -> Outcome<Looked> {
    finished(spawn("look", contender, dir, pages)?)
}

/// Has a child append to the store in `dir` and kills it with SIGKILL in the middle; the events acknowledged by then.
pub fn crash(contender: &str, dir: &Path) -> Outcome<u64> {
    let (mut child, mut lines) = spawn("crash", contender, dir, 0)?;
    let appending: Outcome<Appending> = line(&mut lines);
    child.kill()?;
    child.wait()?;
    Ok(appending?.acknowledged)
}

type Running = (Child, BufReader<ChildStdout>);

fn spawn(role: &str, contender: &str, dir: &Path, count: usize) -> Outcome<Running> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(ARGUMENT).arg(role).arg(contender).arg(dir).arg(count.to_string());
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
    let out = child.stdout.take().ok_or_else(|| failed(role, "it has no output"))?;
    Ok((child, BufReader::new(out)))
}

fn finished<T: DeserializeOwned>((mut child, mut lines): Running) -> Outcome<T> {
    let answer = line(&mut lines);
    let status = child.wait()?;
    if status.success() { answer } else { Err(failed("of this run", &status.to_string())) }
}

fn line<T: DeserializeOwned>(lines: &mut BufReader<ChildStdout>) -> Outcome<T> {
    let mut text = String::new();
    lines.read_line(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

fn failed(role: &str, reason: &str) -> Failure {
    Failure::Child { role: role.to_owned(), reason: reason.to_owned() }
}

/// Runs a child's role; `arguments` are those after [`ARGUMENT`].
pub fn work(arguments: &[String], contenders: &[&dyn Contender], subject: Option<&dyn Subject>) -> Outcome<()> {
    let [role, name, dir, count] = arguments else {
        return Err(failed("unknown", "it wants a role, a contender, a directory and a count"));
    };
    let dir = Path::new(dir);
    let count = count.parse().unwrap_or(0);
    let contender = contenders.iter().find(|contender| contender.name() == name).ok_or_else(|| failed(role, "no such contender"))?;
    match (role.as_str(), subject) {
        ("import", _) => imported(*contender, dir, count),
        ("open", _) => opened(*contender, dir),
        ("crash", _) => crashing(*contender, dir),
        ("look", Some(subject)) => looked(subject, dir, count),
        _ => Err(failed(role, "no such role")),
    }
}

fn imported(contender: &dyn Contender, dir: &Path, events: usize) -> Outcome<()> {
    let started = Instant::now();
    contender.import(dir, &mut fixture::batches(events))?;
    say(&Imported { seconds: started.elapsed().as_secs_f64(), peak_bytes: peak_bytes()? })
}

fn opened(contender: &dyn Contender, dir: &Path) -> Outcome<()> {
    let started = Instant::now();
    let store = contender.open(dir)?;
    let millis = started.elapsed().as_secs_f64() * 1e3;
    store.close()?;
    say(&Opened { millis })
}

fn looked(subject: &dyn Subject, dir: &Path, pages: usize) -> Outcome<()> {
    let mut reader = subject.reader(dir)?;
    let session = fixture::long();
    let mut slice = reader.window(&session, 50)?;
    for _ in 0..pages {
        slice = match slice.older {
            Some(cursor) => reader.older(&session, &cursor, 50)?,
            None => reader.window(&session, 50)?,
        };
    }
    say(&Looked { pages: pages as u64 + 1, peak_bytes: peak_bytes()? })
}

/// Appends until killed.
fn crashing(contender: &dyn Contender, dir: &Path) -> Outcome<()> {
    let store = contender.open(dir)?;
    let acknowledged = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for producer in 0..CRASH_PRODUCERS {
            let (store, acknowledged) = (&store, &acknowledged);
            scope.spawn(move || -> Outcome<()> {
                let mut trace = Trace::seeded(1_000 + producer + u64::from(std::process::id()) * 100);
                let mut hand = store.producer(trace.session())?;
                loop {
                    let steps: Steps = trace.by_ref().take(4).collect();
                    hand.append(&steps)?;
                    acknowledged.fetch_add(steps.len() as u64, std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
        let started = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(10));
            let events = acknowledged.load(std::sync::atomic::Ordering::Relaxed);
            let late = started.elapsed() >= CRASH_AFTER_MAX;
            if events >= CRASH_EVENTS || (late && events > 0) {
                return say(&Appending { acknowledged: events });
            }
        }
    })
}

fn say<T: Serialize>(answer: &T) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(answer)?)?;
    out.flush()?;
    Ok(())
}

/// The most memory this process has held (VmHWM).
pub fn peak_bytes() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let found = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = found.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kibibytes.map(|count| count * 1024).ok_or_else(|| failed("of this run", "/proc/self/status names no VmHWM"))
}
