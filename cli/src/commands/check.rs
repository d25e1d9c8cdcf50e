//! `check`: what a recording does that its protocol does not allow.

use std::collections::BTreeMap;
use std::io::Write;

use indicatif::ProgressBar;
use serde::{Serialize, Serializer};
use turnstore::adapter::Wire;
use turnstore::adapter::check::{self, Code, Finding, LEFT_OUT, Severity};
use turnstore::{Error, Seq, View};

use crate::args::Check;
use crate::failure::{Failure, Outcome};
use crate::import::lane::Stop;
use crate::import::recording::Recording;
use crate::import::tally::Tally;
use crate::import::{bring, noted};
use crate::out::Out;
use crate::render::number;
use crate::render::table::{Align, Table};
use crate::render::text;

use super::{progress, scratch};

/// What a recording is called in the store that is thrown away: what it names itself may be no session id.
const SESSION: &str = "checked";
/// Columns of a line of the report.
const COLUMNS: usize = 110;

/// A code that was found.
struct Found {
    about: &'static Code,
    count: u64,
    /// The first of its findings.
    first: Vec<Finding>,
}

/// A finding in its place; JSON shows it as it stands here.
#[derive(Serialize)]
struct Placed {
    /// Number of the event in the recording, from 1; `None` where there is no event.
    event: Option<u64>,
    line: u64,
    #[serde(serialize_with = "word")]
    severity: Severity,
    code: String,
    detail: Option<String>,
}

fn word<S: Serializer>(severity: &Severity, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(severity.as_str())
}

/// What is said once for each code.
#[derive(Serialize)]
struct Summed<'f> {
    code: &'f str,
    severity: &'static str,
    count: u64,
    shown: usize,
    meaning: &'static str,
    advice: &'static str,
}

#[derive(Serialize)]
struct Report<'f> {
    file: String,
    protocol: &'static str,
    session: Option<String>,
    events: u64,
    errors: u64,
    warnings: u64,
    notes: u64,
    codes: Vec<Summed<'f>>,
    findings: Vec<Placed>,
}

pub(crate) fn run(args: &Check, out: &mut Out) -> Result<Outcome, Failure> {
    let stopped = |source: Stop| Failure::Import { path: args.file.clone(), source };
    let wire = args.protocol;
    let bar = progress(std::fs::metadata(&args.file).map_or(0, |meta| meta.len()));
    let scratch = scratch()?;
    let tally = bring(&scratch.engine, &args.file, wire, Some(SESSION), &bar, &mut |_, _| Ok(())).map_err(stopped)?;
    let view = scratch.engine.view();
    let mut found = BTreeMap::new();
    if tally.events > 0 {
        check::findings(&view, SESSION, wire, &mut |finding| add(&mut found, finding, args.each))?;
    }
    let mut placed = place(&view, &found, args).map_err(stopped)?;
    bar.finish_and_clear();
    left_out(wire, &tally, args.each, &mut found, &mut placed);
    placed.sort_by(|a, b| (a.line, a.event, a.severity, &a.code).cmp(&(b.line, b.event, b.severity, &b.code)));
    let report = Report {
        file: args.file.display().to_string(),
        protocol: wire.name,
        session: named(args).map_err(stopped)?,
        events: tally.events,
        errors: count(&found, Severity::Error),
        warnings: count(&found, Severity::Warning),
        notes: count(&found, Severity::Note),
        codes: summed(&found),
        findings: placed,
    };
    if args.json {
        out.json_pretty(&report)?;
    } else {
        write(&report, out)?;
    }
    let broken = report.errors > 0 || (args.strict && report.warnings > 0);
    Ok(if broken { Outcome::Violates } else { Outcome::Done })
}

fn add(found: &mut BTreeMap<String, Found>, finding: Finding, each: usize) {
    let of_code = found.entry(finding.code.clone()).or_insert_with(|| Found { about: finding.about, count: 0, first: Vec::new() });
    of_code.count += 1;
    if of_code.first.len() < each {
        of_code.first.push(finding);
    }
}

/// Finds the events of the findings, and their lines.
fn place(view: &View, found: &BTreeMap<String, Found>, args: &Check) -> Result<Vec<Placed>, Stop> {
    let mut placed = Vec::new();
    for finding in found.values().flat_map(|found| &found.first) {
        placed.push(Placed {
            event: event_number(view, finding.seq)?,
            line: 0,
            severity: finding.about.severity,
            code: finding.code.clone(),
            detail: finding.detail.clone(),
        });
    }
    let lines = noted::lines(&args.file, placed.iter().filter_map(|finding| finding.event))?;
    for finding in &mut placed {
        finding.line = finding.event.and_then(|event| lines.get(&event)).copied().unwrap_or(0);
    }
    Ok(placed)
}

/// The number in the recording of the source event that gave an event of the session.
fn event_number(view: &View, seq: Seq) -> Result<Option<u64>, Error> {
    let Some(owned) = view.events(SESSION, seq)?.next() else { return Ok(None) };
    let owned = owned?;
    Ok(owned.event()?.source.stream.map(|(_, number)| number))
}

/// Parts of the file that gave no event.
fn left_out(wire: &Wire, tally: &Tally, each: usize, found: &mut BTreeMap<String, Found>, placed: &mut Vec<Placed>) {
    let about = check::about(wire, LEFT_OUT);
    for problem in &tally.left_out {
        let detail = Some(problem.reason.to_string());
        add(found, Finding { code: LEFT_OUT.to_owned(), about, detail: detail.clone(), seq: Seq::FIRST }, each);
        placed.push(Placed { event: None, line: problem.line, severity: about.severity, code: LEFT_OUT.to_owned(), detail });
    }
}

/// The session that the recording names.
fn named(args: &Check) -> Result<Option<String>, Stop> {
    let first = Recording::open(&args.file, &ProgressBar::hidden())?.chunk()?;
    Ok(first.and_then(|chunk| chunk.session(args.protocol)))
}

fn count(found: &BTreeMap<String, Found>, severity: Severity) -> u64 {
    found.values().filter(|found| found.about.severity == severity).map(|found| found.count).sum()
}

/// The codes, worst first.
fn summed(found: &BTreeMap<String, Found>) -> Vec<Summed<'_>> {
    let mut codes: Vec<(&String, &Found)> = found.iter().collect();
    codes.sort_by_key(|(code, found)| (found.about.severity, *code));
    codes
        .into_iter()
        .map(|(code, found)| Summed {
            code,
            severity: found.about.severity.as_str(),
            count: found.count,
            shown: found.first.len(),
            meaning: found.about.meaning,
            advice: found.about.advice,
        })
        .collect()
}

fn write(report: &Report<'_>, out: &mut Out) -> Result<(), Failure> {
    let paint = out.paint;
    let session = report.session.as_deref().map(|session| format!(", session {}", text::one_line(session))).unwrap_or_default();
    let events = number::of(report.events, "event");
    writeln!(out, "{}  {events} of {}{session}", paint.bold(&text::one_line(&report.file)), report.protocol)?;
    if !report.findings.is_empty() {
        writeln!(out)?;
        let columns =
            [("event", Align::Right), ("line", Align::Right), ("severity", Align::Left), ("code", Align::Left), ("what", Align::Left)];
        let mut table = Table::new(&columns);
        for finding in &report.findings {
            table.row([
                finding.event.map_or_else(|| "-".to_owned(), number::count),
                number::count(finding.line),
                finding.severity.as_str().to_owned(),
                text::one_line(&finding.code),
                text::clip(&text::one_line(finding.detail.as_deref().unwrap_or_default()), 80),
            ]);
        }
        table.write(out, paint)?;
    }
    for code in &report.codes {
        writeln!(out)?;
        let shown = number::wide(code.shown);
        let shown = if shown < code.count { format!(", {} shown", number::count(shown)) } else { String::new() };
        let heading = format!("{} {}  {}{shown}", code.severity, text::one_line(code.code), number::of(code.count, "time"));
        writeln!(out, "{}", if code.severity == Severity::Note.as_str() { paint.bold(&heading) } else { paint.alarm(&heading) })?;
        for (mark, said) in [("", code.meaning), ("-> ", code.advice)] {
            for line in text::wrap(&format!("{mark}{said}"), COLUMNS) {
                writeln!(out, "  {line}")?;
            }
        }
    }
    writeln!(out)?;
    let counts = [(report.errors, "error"), (report.warnings, "warning"), (report.notes, "note")];
    let counts = counts.map(|(count, noun)| number::of(count, noun)).join(", ");
    writeln!(out, "{}{counts}", if report.errors + report.warnings == 0 { "clean: " } else { "" })?;
    Ok(())
}
