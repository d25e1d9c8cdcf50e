//! The program `compare`: every contender on the same generated agent trace, in one run.
#![expect(clippy::print_stdout, reason = "the table and the JSON object are its output")]
#![expect(clippy::print_stderr, reason = "progress and failures go to stderr, so that stdout stays parsable")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use serde::Serialize;

use turnstore_benches::bar::{Bar, Report};
use turnstore_benches::failure::Outcome;
use turnstore_benches::fixture::Fixtures;
use turnstore_benches::machine::Sizes;
use turnstore_benches::rows;
use turnstore_benches::setting::{Scale, Setting};
use turnstore_benches::subject::Subject;
use turnstore_benches::turnstore::Turnstore;
use turnstore_benches::{child, machine, table};

/// Events over which the sizes of the trace are taken.
const SIZED_EVENTS: usize = 100_000;

/// Compare turnstore with a plain file, SQLite and salamander-db on the same generated agent trace.
#[derive(Parser)]
#[command(after_help = "Examples:\n  compare --quick\n  compare --only window --only page\n  compare --json > bars.json")]
struct Arguments {
    /// Print one JSON object instead of tables; its `bars` holds every bar.
    #[arg(long)]
    json: bool,
    /// Fewer rounds: done within two minutes on two cores.
    #[arg(long)]
    quick: bool,
    /// Run the rows whose name holds this text; may be given again.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// A directory whose node_modules hold the official AG-UI client; without it npm fetches it into the directory of the run.
    #[arg(long, value_name = "DIR")]
    client: Option<PathBuf>,
    /// Where the stores of the run live and are removed from again; a real disk, or durability means nothing.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Whole {
    machine: String,
    trace: Sizes,
    quick: bool,
    seconds: f64,
    bars: Vec<Bar>,
    rows: Vec<Report>,
}

type Row = (&'static str, fn(&Setting<'_>, &mut Fixtures) -> Outcome<Report>);

/// The rows in the order they run; those that share the store of a million events follow one another.
const ROWS: &[Row] = &[
    ("append 1", |setting, _| rows::append::of_1(setting)),
    ("append 16", |setting, _| rows::append::of_16(setting)),
    ("alone", |setting, _| rows::alone::run(setting)),
    ("memory", rows::memory::run),
    ("size", rows::size::run),
    ("window", rows::window::run),
    ("page", rows::depth::run),
    ("rebuild", rows::rebuild::run),
    ("open", rows::open::run),
    ("lines", |setting, _| rows::adapter::run(setting)),
];

/// turnstore, when the build holds it.
fn subject() -> Option<&'static dyn Subject> {
    Some(&Turnstore)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((first, rest)) if first == child::ARGUMENT => work(rest),
        _ => compare(&Arguments::parse()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let mut reason: Option<&dyn std::error::Error> = Some(&failure);
            while let Some(error) = reason {
                eprintln!("compare: {error}");
                reason = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn work(arguments: &[String]) -> Outcome<()> {
    let here = PathBuf::from(".");
    let setting = Setting { scale: Scale::quick(), dir: &here, subject: subject(), client: None };
    child::work(arguments, &setting.contenders(), setting.subject)
}

fn compare(arguments: &Arguments) -> Outcome<()> {
    let started = Instant::now();
    let parent = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::Builder::new().prefix("turnstore-compare-").tempdir_in(&parent)?;
    let scale = if arguments.quick { Scale::quick() } else { Scale::full() };
    let setting = Setting { scale, dir: dir.path(), subject: subject(), client: arguments.client.as_deref() };
    let mut whole = Whole {
        machine: machine::line(dir.path()),
        trace: machine::sizes(SIZED_EVENTS),
        quick: arguments.quick,
        seconds: 0.0,
        bars: Vec::new(),
        rows: Vec::new(),
    };
    if !arguments.json {
        println!("{}", whole.machine);
        let Sizes { mean, p50, p99, largest } = whole.trace;
        println!("events of the trace: mean {mean:.0} bytes, p50 {p50}, p99 {p99}, largest {largest} (as JSON lines)\n");
    }
    let mut fixtures = Fixtures::default();
    for (name, row) in ROWS {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|text| name.contains(text.as_str())) {
            continue;
        }
        eprintln!("[{:>4.0} s] {name} ..", started.elapsed().as_secs_f64());
        let report = row(&setting, &mut fixtures)?;
        if !arguments.json {
            println!("{}", table::report(&report));
        }
        whole.bars.extend(report.bars.iter().cloned());
        whole.rows.push(report);
    }
    whole.seconds = started.elapsed().as_secs_f64();
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&whole)?);
    } else {
        println!("{}done in {:.0} s", table::bars(&whole.bars), whole.seconds);
    }
    Ok(())
}
