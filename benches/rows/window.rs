//! Row: the newest window of 50 items, warm: of a long session against a short one, and against SQLite.

use std::hint::black_box;
use std::time::Instant;

use crate::bar::{Bar, Report, thousands};
use crate::failure::{Failure, Outcome};
use crate::fixture::{self, Fixtures};
use crate::sample::Samples;
use crate::setting::Setting;
use crate::sqlite::{Message, Reader, Sqlite};

/// Items of a window.
pub const ITEMS: usize = 50;

/// Windows of each kind before the first that counts.
const WARM_UP: usize = 50;

/// Runs the row.
pub fn run(setting: &Setting<'_>, fixtures: &mut Fixtures) -> Outcome<Report> {
    let (long, short) = (fixture::long(), fixture::short());
    let peer = Reader::open(&fixtures.of(setting, &Sqlite)?.dir)?;
    let mut ours = match setting.subject {
        Some(subject) => Some(subject.host(&fixtures.of(setting, subject)?.dir)?),
        None => None,
    };
    let (mut of_long, mut of_short, mut of_peer) = (Samples::default(), Samples::default(), Samples::default());
    let (mut slice, mut messages) = (None, Vec::new());
    for index in 0..setting.scale.windows + WARM_UP {
        let count = |samples: &mut Samples, started: Instant| {
            if index >= WARM_UP {
                samples.push(started.elapsed());
            }
        };
        if let Some(reader) = &mut ours {
            let started = Instant::now();
            slice = Some(black_box(reader.window(&long, ITEMS)?));
            count(&mut of_long, started);
            let started = Instant::now();
            black_box(reader.window(&short, ITEMS)?);
            count(&mut of_short, started);
        }
        let started = Instant::now();
        messages = black_box(peer.window(&long, ITEMS)?);
        count(&mut of_peer, started);
    }
    if let Some(reader) = ours {
        reader.finish()?;
    }
    let columns = vec!["contender", "p50 us", "p99 us", "items", "text bytes"];
    let mut report = Report { name: "newest window of 50 items, warm", columns, ..Report::default() };
    let theirs = text_bytes(&messages);
    if let Some(slice) = slice {
        alike(slice.text_bytes, theirs)?;
        report.lines.push(line("turnstore, 1,000,000 events", &of_long, slice.items, slice.text_bytes));
        report.lines.push(line("turnstore, 1,000 events", &of_short, slice.items, 0));
        let length = of_long.median() / of_short.median();
        report.bars.push(Bar::at_most("newest window of 50, warm: session of 1,000,000 events / of 1,000", length, 1.3));
        let faster = of_peer.median() / of_long.median();
        report.bars.push(Bar::at_least("newest window of 50, warm: SQLite query + JSON parse / turnstore", faster, 10.0));
    }
    report.lines.push(line("SQLite, 1,000,000 events", &of_peer, messages.len() as u64, theirs));
    report.notes.push("whole texts on both sides, no previews, read where the store is open for writing; SQLite: prepared query, each row's JSON parsed to a struct".to_owned());
    Ok(report)
}

fn line(name: &str, samples: &Samples, items: u64, bytes: u64) -> Vec<String> {
    let at = |percent: f64| format!("{:.1}", samples.percentile(percent));
    let bytes = if bytes == 0 { "-".to_owned() } else { thousands(bytes as f64) };
    vec![name.to_owned(), at(50.0), at(99.0), items.to_string(), bytes]
}

fn text_bytes(messages: &[Message]) -> u64 {
    messages.iter().map(|message| (message.text.len() + message.result.len()) as u64).sum()
}

/// Both windows must hold about the same text: the one may count an artifact list as an item that the other does not.
fn alike(ours: u64, theirs: u64) -> Outcome<()> {
    if ours * 5 < theirs * 4 || theirs * 5 < ours * 4 {
        return Err(Failure::Unlike { what: "text bytes of the newest window".to_owned(), left: ours, right: theirs });
    }
    Ok(())
}
