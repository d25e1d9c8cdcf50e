//! Row: durable appends from 64 producers.
//!
//! **Invariant:** in one round every contender gets the same appends; its store lives through all rounds.

use crate::bar::{Bar, Report, mebibytes, thousands};
use crate::contender::{Contender, Store};
use crate::failure::Outcome;
use crate::fixture;
use crate::round::{Load, PRODUCERS, Ran, run};
use crate::sample::{Samples, median_ratio};
use crate::setting::{Setting, bytes_below};

/// Events that each store holds before the first round: a store in use is not empty.
const HISTORY_EVENTS: usize = 100_000;

/// A contender with its open store and what its rounds came to.
struct Entrant<'s> {
    contender: &'s dyn Contender,
    dir: std::path::PathBuf,
    store: Box<dyn Store>,
    rounds: Vec<Ran>,
}

/// One event an append.
pub fn of_1(setting: &Setting<'_>) -> Outcome<Report> {
    let entrants = rounds(setting, "append-1", setting.scale.appends_of_1, 1)?;
    let mut bars = Vec::new();
    for (peer, bar) in [("SQLite", 3.0), ("salamander-db", 40.0), ("plain file", 0.5)] {
        bars.extend(against(&entrants, peer, "durable append, 64 producers, 1 event", bar));
    }
    report("durable append, 64 producers, 1 event an append", entrants, bars)
}

/// Sixteen events an append.
pub fn of_16(setting: &Setting<'_>) -> Outcome<Report> {
    let entrants = rounds(setting, "append-16", setting.scale.appends_of_16, 16)?;
    let bars = against(&entrants, "SQLite", "durable append, 64 producers, 16 events", 5.0).into_iter().collect();
    report("durable append, 64 producers, 16 events an append", entrants, bars)
}

fn rounds<'s>(setting: &'s Setting<'_>, row: &str, appends: usize, events: usize) -> Outcome<Vec<Entrant<'s>>> {
    let mut entrants = Vec::new();
    for contender in setting.contenders() {
        let dir = setting.place(row, contender.name())?;
        contender.import(&dir, &mut fixture::batches(HISTORY_EVENTS))?;
        let store = contender.open(&dir)?;
        entrants.push(Entrant { contender, dir, store, rounds: Vec::new() });
    }
    for round in 0..setting.scale.rounds {
        let load = Load::seeded(round as u64 + 1, appends, events);
        for entrant in &mut entrants {
            let ran = run(entrant.store.as_ref(), &load, setting.scale.round_max)?;
            entrant.store.settle()?;
            entrant.rounds.push(ran);
        }
    }
    Ok(entrants)
}

fn rates(entrants: &[Entrant<'_>], name: &str) -> Vec<f64> {
    let found = entrants.iter().find(|entrant| entrant.contender.name() == name);
    found.map(|entrant| entrant.rounds.iter().map(Ran::rate).collect()).unwrap_or_default()
}

fn against(entrants: &[Entrant<'_>], peer: &str, measure: &str, bar: f64) -> Option<Bar> {
    let ours = rates(entrants, "turnstore");
    let ratio = median_ratio(&ours, &rates(entrants, peer));
    (!ours.is_empty()).then(|| Bar::at_least(format!("{measure}: turnstore / {peer}"), ratio, bar))
}

fn report(name: &'static str, entrants: Vec<Entrant<'_>>, bars: Vec<Bar>) -> Outcome<Report> {
    let columns = vec!["contender", "events/s (median)", "slowest round", "fastest round", "events/commit", "events", "size after close"];
    let mut lines = Vec::new();
    for entrant in entrants {
        let mut rates = Samples::default();
        entrant.rounds.iter().for_each(|ran| rates.push_number(ran.rate()));
        let events: u64 = entrant.rounds.iter().map(|ran| ran.events).sum();
        let commits: Option<u64> = entrant.rounds.iter().map(|ran| ran.commits).sum();
        entrant.store.close()?;
        lines.push(vec![
            entrant.contender.name().to_owned(),
            thousands(rates.median()),
            thousands(rates.percentile(0.0)),
            thousands(rates.worst()),
            commits.map_or_else(|| "-".to_owned(), |commits| format!("{:.1}", events as f64 / commits.max(1) as f64)),
            thousands(events as f64),
            mebibytes(bytes_below(&entrant.dir)?),
        ]);
    }
    let notes = vec![format!(
        "{PRODUCERS} threads wait for each answer; every store begins with {} events; rounds interleaved, the ratio is the median of the rounds' ratios",
        thousands(HISTORY_EVENTS as f64)
    )];
    Ok(Report { name, columns, lines, notes, bars })
}
