//! `import`: recordings into the store.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::json;
use turnstore::{Engine, Window};

use crate::args::Import;
use crate::failure::{Failure, Outcome, chain};
use crate::import::bring;
use crate::import::lane::Acknowledged;
use crate::import::tally::{Remarks, Tally};
use crate::out::Out;
use crate::render::{number, page, text};

use super::{open_writing, progress, rate};

pub(crate) fn run(store: &Path, args: &Import, out: &mut Out) -> Result<Outcome, Failure> {
    let mut refused = 0_usize;
    let mut files = Vec::new();
    for path in &args.files {
        match expand(path) {
            Ok(found) => files.extend(found),
            Err(source) => {
                refused += 1;
                complain(&ProgressBar::hidden(), &Failure::Read { path: path.clone(), source });
            }
        }
    }
    if files.is_empty() {
        return Ok(Outcome::Refused);
    }
    let bar = progress(files.iter().map(|file| fs::metadata(file).map_or(0, |meta| meta.len())).sum());
    let engine = open_writing(store)?;
    let begun = Instant::now();
    let mut tallies = Vec::new();
    for file in &files {
        match one(&engine, file, args, &bar, out) {
            Ok(tally) => {
                warn(&bar, &tally);
                refused += usize::from(tally.refused.count > 0);
                tallies.push(tally);
            }
            Err(failure) if failure.is_closed_pipe() || failure.is_of_store() => return Err(failure),
            Err(failure) => {
                refused += 1;
                complain(&bar, &failure);
            }
        }
    }
    let took = begun.elapsed();
    bar.finish_and_clear();
    report(&engine, args, &tallies, took, out)?;
    engine.close()?;
    Ok(if refused > 0 { Outcome::Refused } else { Outcome::Done })
}

/// The files that a path stands for: itself, or what is in the directory, by name.
fn expand(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        fs::File::open(path)?;
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !hidden && fs::metadata(entry.path())?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    if files.is_empty() { Err(io::Error::new(io::ErrorKind::NotFound, "there is no file in it")) } else { Ok(files) }
}

fn complain(bar: &ProgressBar, failure: &Failure) {
    say(bar, &chain(failure));
}

fn say(bar: &ProgressBar, line: &str) {
    // A message that nobody can read stops nothing.
    bar.suspend(|| drop(writeln!(io::stderr(), "turnstore: {line}")));
}

/// Names what was not taken in.
fn warn(bar: &ProgressBar, tally: &Tally) {
    let file = text::one_line(&tally.file.display().to_string());
    for remark in &tally.refused.named {
        let place = format!("line {}: ", remark.line);
        let reason = text::clip(&text::one_line(remark.reason.strip_prefix(&place).unwrap_or(&remark.reason)), 200);
        say(bar, &format!("{file}: {place}{}: {reason}", remark.code));
    }
    if tally.refused.unnamed() > 0 {
        say(bar, &format!("{file}: and {} more that could not be taken in", number::count(tally.refused.unnamed())));
    }
}

/// Brings one recording in.
fn one(engine: &Engine, file: &Path, args: &Import, bar: &ProgressBar, out: &mut Out) -> Result<Tally, Failure> {
    bar.set_message(text::one_line(&file.display().to_string()));
    let mut told = |tally: &Tally, append: Acknowledged| tell(args, tally, append, out);
    let brought = bring(engine, file, args.protocol, args.session.as_deref(), bar, &mut told);
    brought.map_err(|source| Failure::Import { path: file.to_owned(), source })
}

/// Tells a program of an acknowledged append at once, so that what it has read of is durable.
fn tell(args: &Import, tally: &Tally, append: Acknowledged, out: &mut Out) -> io::Result<()> {
    if !args.json {
        return Ok(());
    }
    let line = json!({
        "acknowledged": append.number,
        "session": tally.session,
        "seq": append.receipt.seq,
        "position": append.receipt.last.map(turnstore::Position::get),
    });
    writeln!(out, "{line}")?;
    out.flush()
}

fn report(engine: &Engine, args: &Import, tallies: &[Tally], took: Duration, out: &mut Out) -> Result<(), Failure> {
    for tally in tallies {
        if args.json {
            out.json(&tally)?;
        } else {
            told(engine, args, tally, out)?;
        }
    }
    let events: u64 = tallies.iter().map(Tally::fresh).sum();
    let known: u64 = tallies.iter().map(|tally| tally.known).sum();
    let rate = rate(events + known, took);
    if args.json {
        return out.json(
            &json!({ "events": events, "known": known, "files": tallies.len(), "seconds": took.as_secs_f64(), "eventsPerSecond": rate }),
        );
    }
    let known = if known > 0 { format!(", {} were there before", number::count(known)) } else { String::new() };
    writeln!(
        out,
        "{} from {} in {:.2} s, {} events/s, durable{known}",
        number::of(events, "new event"),
        number::of(number::wide(tallies.len()), "file"),
        took.as_secs_f64(),
        number::count(rate),
    )?;
    Ok(())
}

fn told(engine: &Engine, args: &Import, tally: &Tally, out: &mut Out) -> Result<(), Failure> {
    let paint = out.paint;
    let file = text::one_line(&tally.file.display().to_string());
    let session = text::one_line(&tally.session);
    if tally.events == 0 {
        writeln!(out, "{}  no events", paint.bold(&file))?;
        return Ok(());
    }
    let parent = tally.parent.as_deref().map(|parent| format!("  of session {}", text::one_line(parent))).unwrap_or_default();
    writeln!(out, "{}  session {}{parent}", paint.bold(&file), paint.bold(&session))?;
    let known = if tally.known > 0 { format!(", {} there before", number::count(tally.known)) } else { String::new() };
    let rate = number::count(rate(tally.events, tally.took));
    writeln!(out, "  {}{known}, {}, {rate} events/s", number::of(tally.fresh(), "new event"), number::of(tally.facts, "fact"))?;
    listed(&tally.diagnostics, out)?;
    if args.last > 0 {
        let window = engine.view().window(&tally.session, Window::items(args.last))?;
        page::write(&window, page::Length::Short, out)?;
    }
    writeln!(out)?;
    Ok(())
}

fn listed(remarks: &Remarks, out: &mut Out) -> io::Result<()> {
    let paint = out.paint;
    for remark in &remarks.named {
        let reason = text::clip(&text::one_line(&remark.reason), 80);
        writeln!(out, "  {}", paint.alarm(&format!("line {}: {}: {reason}", remark.line, remark.code)))?;
    }
    if remarks.unnamed() > 0 {
        writeln!(out, "  {}", paint.alarm(&format!("and {} more diagnostics", number::count(remarks.unnamed()))))?;
    }
    Ok(())
}
