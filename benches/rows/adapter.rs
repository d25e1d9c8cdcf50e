//! Row: recordings of AG-UI events as they come, against the official client's fold and against facts that are typed already.

use std::fs;
use std::time::Duration;

use crate::bar::{Bar, Report, thousands};
use crate::client::Client;
use crate::failure::{Failure, Outcome};
use crate::fixture::{SHORT_EVENTS, long, short_steps, steps};
use crate::sample::{Samples, median_ratio};
use crate::setting::Setting;
use crate::step::lines;
use crate::subject::Subject;

/// Runs the row.
pub fn run(setting: &Setting<'_>) -> Outcome<Report> {
    let columns = vec!["what", "events/s (median)", "slowest", "fastest", "events"];
    let mut report = Report { name: "AG-UI JSON lines", columns, ..Report::default() };
    let Some(subject) = setting.subject else { return Ok(report) };
    let short = lines(&short_steps());
    let projected = projects(setting, subject, &short)?;
    let (imported, typed) = imports(setting, subject)?;
    line(&mut report, "turnstore project", &projected.rates, SHORT_EVENTS);
    line(&mut report, "turnstore import, durable", &imported, setting.scale.imported_events);
    line(&mut report, "turnstore append of the typed facts", &typed, setting.scale.imported_events);
    match Client::find(setting.client, setting.dir)? {
        Ok(client) => {
            let file = setting.dir.join("short.jsonl");
            fs::write(&file, &short)?;
            let folded = client.fold(&file, setting.scale.folds)?;
            if folded.messages != projected.messages {
                let what = format!("messages of {SHORT_EVENTS} events, turnstore against the official client");
                return Err(Failure::Unlike { what, left: projected.messages, right: folded.messages });
            }
            // The first fold is the client's warm-up.
            let rates: Vec<f64> = folded.seconds.iter().skip(1).map(|seconds| folded.events as f64 / seconds).collect();
            line(&mut report, "official client's fold", &rates, SHORT_EVENTS);
            let peer = median(&rates).max(1e-9);
            let name = "of AG-UI JSON lines / the official client's fold of 1,000 events";
            report.bars.push(Bar::at_least(format!("project {name}"), median(&projected.rates) / peer, 100.0));
            report.bars.push(Bar::at_least(format!("durable import {name}"), median(&imported) / peer, 30.0));
            report.notes.push(format!("the official client, version {}, folds parsed events; turnstore parses them too", folded.version));
        }
        Err(reason) => report.notes.push(format!("the official client took no part: {reason}")),
    }
    report.bars.push(Bar::at_least("durable import of AG-UI JSON lines / append of its typed facts", median_ratio(&imported, &typed), 0.4));
    report.notes.push("lines and facts are made before the clock starts; it stops when the last append is durable".to_owned());
    Ok(report)
}

struct Projected {
    rates: Vec<f64>,
    messages: u64,
}

fn projects(setting: &Setting<'_>, subject: &dyn Subject, lines: &[u8]) -> Outcome<Projected> {
    let mut projected = Projected { rates: Vec::new(), messages: 0 };
    for _ in 0..setting.scale.projects {
        let started = std::time::Instant::now();
        projected.messages = subject.project(lines)?;
        projected.rates.push(rate(SHORT_EVENTS, started.elapsed()));
    }
    Ok(projected)
}

/// Rates of importing lines and of appending the same facts typed, in turns, each into a store of its own.
fn imports(setting: &Setting<'_>, subject: &dyn Subject) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let events = setting.scale.imported_events;
    let session = long();
    let batches = steps(events);
    let text: Vec<Vec<u8>> = batches.iter().map(|batch| lines(batch)).collect();
    let (mut imported, mut typed) = (Vec::new(), Vec::new());
    for round in 0..setting.scale.rounds {
        let dir = setting.place(&format!("import-{round}"), "lines")?;
        imported.push(rate(events, subject.import_lines(&dir, &session, &text)?));
        fs::remove_dir_all(&dir)?;
        let dir = setting.place(&format!("import-{round}"), "facts")?;
        typed.push(rate(events, subject.append_facts(&dir, &session, &batches)?));
        fs::remove_dir_all(&dir)?;
    }
    Ok((imported, typed))
}

fn rate(events: usize, elapsed: Duration) -> f64 {
    events as f64 / elapsed.as_secs_f64().max(1e-9)
}

fn samples(rates: &[f64]) -> Samples {
    let mut samples = Samples::default();
    rates.iter().for_each(|rate| samples.push_number(*rate));
    samples
}

fn median(rates: &[f64]) -> f64 {
    samples(rates).median()
}

fn line(report: &mut Report, what: &str, rates: &[f64], events: usize) {
    let samples = samples(rates);
    let cells = [samples.median(), samples.percentile(0.0), samples.worst(), events as f64];
    report.lines.push([what.to_owned()].into_iter().chain(cells.map(thousands)).collect());
}
