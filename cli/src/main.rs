//! The `turnstore` command: bring recordings in, look at sessions, verify.
//!
//! **Invariant:** a command ends with one of the exit codes in [`failure`], and says why on one line; whatever it reads, it does not
//! panic.
//!
//! | part | does |
//! |---|---|
//! | `args` | the command line |
//! | `commands` | one module for each command |
//! | `import` | recordings into sessions |
//! | `render` | how things look |

mod args;
mod commands;
mod failure;
mod import;
mod out;
mod render;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Command, Line};
use failure::{Failure, Outcome, chain};
use out::Out;

fn main() -> ExitCode {
    let line = match Line::try_parse() {
        Ok(line) => line,
        Err(error) => {
            // Help goes to stdout and ends well, everything else to stderr; a closed pipe is nobody's error.
            let code = if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
            let _ = error.print();
            return code;
        }
    };
    let mut out = Out::new();
    let ended = run(&line, &mut out).and_then(|outcome| Ok(out.flush().map(|()| outcome)?));
    match ended {
        Ok(outcome) => outcome.into(),
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = out.flush();
            let _ = writeln!(std::io::stderr(), "turnstore: {}", chain(&failure));
            ExitCode::FAILURE
        }
    }
}

fn run(line: &Line, out: &mut Out) -> Result<Outcome, Failure> {
    let store = line.store.as_path();
    match &line.command {
        Command::Import(args) => commands::import::run(store, args, out),
        Command::Sessions(args) => commands::sessions::run(store, args, out),
        Command::Stats(args) => commands::stats::run(store, args, out),
        Command::Show(args) => commands::show::run(store, args, out),
        Command::Events(args) => commands::events::run(store, args, out),
        Command::Tasks(args) => commands::tasks::run(store, args, out),
        Command::Ui(args) => commands::ui::run(store, args, out),
        Command::Export(args) => commands::export::run(store, args, out),
        Command::Pending(args) => commands::pending::run(store, args, out),
        Command::Artifacts(args) => commands::artifacts::run(store, args, out),
        Command::Hash(args) => commands::hash::run(store, args, out),
        Command::Rebuild(args) => commands::rebuild::run(store, args, out),
        Command::Verify(args) => commands::verify::run(store, args, out),
        Command::Project(args) => commands::project::run(args, out),
        Command::Check(args) => commands::check::run(args, out),
    }
}
