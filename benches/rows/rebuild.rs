//! Row: folding the whole log again, against salamander-db's refold.

use std::time::Instant;

use crate::bar::{Bar, Report, thousands};
use crate::contender::Contender as _;
use crate::failure::Outcome;
use crate::fixture::Fixtures;
use crate::salamander::{Opened, Salamander};
use crate::sample::{Samples, median_ratio};
use crate::setting::Setting;

/// Runs the row.
pub fn run(setting: &Setting<'_>, fixtures: &mut Fixtures) -> Outcome<Report> {
    let peer = Opened::open(&fixtures.of(setting, &Salamander)?.dir)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut messages = 0;
    for _ in 0..setting.scale.rebuilds {
        if let Some(subject) = setting.subject {
            let rebuilt = subject.rebuild(&fixtures.of(setting, subject)?.dir)?;
            ours.push(rebuilt.events as f64 / rebuilt.elapsed.as_secs_f64());
        }
        let started = Instant::now();
        let (events, folded) = peer.refold()?;
        theirs.push(events as f64 / started.elapsed().as_secs_f64());
        messages = folded;
    }
    let columns = vec!["contender", "events/s (median)", "slowest", "fastest"];
    let mut report = Report { name: "rebuild of all projections", columns, ..Report::default() };
    for (name, rates) in [("turnstore", &ours), (Salamander.name(), &theirs)] {
        let mut samples = Samples::default();
        rates.iter().for_each(|rate| samples.push_number(*rate));
        if !rates.is_empty() {
            let cell = |value: f64| thousands(value);
            report.lines.push(vec![name.to_owned(), cell(samples.median()), cell(samples.percentile(0.0)), cell(samples.worst())]);
        }
    }
    if !ours.is_empty() {
        let ratio = median_ratio(&ours, &theirs);
        report.bars.push(Bar::at_least("rebuild of all projections: turnstore / salamander-db refold", ratio, 3.0));
    }
    report.notes.push(format!(
        "turnstore: opening, rows written and synced, closing; salamander-db: typed events folded to {} messages in memory, nothing written",
        thousands(messages as f64)
    ));
    Ok(report)
}
