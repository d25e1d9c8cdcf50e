//! Row: a page at any depth against the first page, both cold: a new engine, and the files evicted from the page cache.

use std::path::Path;
use std::time::Instant;

use rustix::fs::{Advice, fadvise};

use crate::bar::{Bar, Report, thousands};
use crate::failure::Outcome;
use crate::fixture::{self, Fixtures};
use crate::rows::window::ITEMS;
use crate::sample::Samples;
use crate::setting::Setting;
use crate::subject::Subject;

/// Depths measured, in hundredths of the session; each by its neighbouring pages too.
const DEPTHS: [usize; 5] = [1, 25, 50, 75, 99];

/// Neighbouring pages read at each depth, so that one page of long results does not decide.
const NEIGHBOURS: usize = 5;

/// Runs the row.
pub fn run(setting: &Setting<'_>, fixtures: &mut Fixtures) -> Outcome<Report> {
    let columns = vec!["page", "p50 us", "worst us", "text bytes", "of the first"];
    let mut report = Report { name: "page at any depth against the first page, cold", columns, ..Report::default() };
    let Some(subject) = setting.subject else {
        report.notes.push("turnstore takes no part in this build".to_owned());
        return Ok(report);
    };
    let dir = fixtures.of(setting, subject)?.dir;
    let cursors = cursors(subject, &dir)?;
    let first = pages(setting, subject, &dir, &cursors, 0)?;
    report.lines.push(line("newest", &first, &first));
    let mut largest = 0.0_f64;
    for depth in DEPTHS {
        let place = (cursors.len() * depth / 100).min(cursors.len().saturating_sub(NEIGHBOURS)).max(NEIGHBOURS);
        let page = pages(setting, subject, &dir, &cursors, place)?;
        largest = largest.max(page.times.median() / first.times.median());
        report.lines.push(line(&format!("at {depth} % of {} pages", thousands(cursors.len() as f64)), &page, &first));
    }
    report.bars.push(Bar::at_most("page at any depth, cold: slowest depth / first page", largest, 1.3));
    report.notes.push(format!(
        "cold: engine opened anew and its files evicted with posix_fadvise before each page; {NEIGHBOURS} neighbouring pages, each read {} times",
        setting.scale.cold_reads
    ));
    Ok(report)
}

/// The pages around one depth.
struct Pages {
    times: Samples,
    text_bytes: u64,
}

fn line(name: &str, page: &Pages, first: &Pages) -> Vec<String> {
    let ratio = page.times.median() / first.times.median();
    let number = |value: f64| format!("{value:.0}");
    vec![
        name.to_owned(),
        number(page.times.median()),
        number(page.times.worst()),
        thousands(page.text_bytes as f64),
        format!("{ratio:.2}x"),
    ]
}

/// The cursor to each page after the newest window, to the beginning of the session.
fn cursors(subject: &dyn Subject, dir: &Path) -> Outcome<Vec<String>> {
    let mut reader = subject.reader(dir)?;
    let mut cursors = Vec::new();
    let session = fixture::long();
    let mut slice = reader.window(&session, ITEMS)?;
    while let Some(cursor) = slice.older {
        slice = reader.older(&session, &cursor, ITEMS)?;
        cursors.push(cursor);
    }
    Ok(cursors)
}

/// Reads the newest window and the pages after it (`place` 0), or the pages from `place` on.
fn pages(setting: &Setting<'_>, subject: &dyn Subject, dir: &Path, cursors: &[String], place: usize) -> Outcome<Pages> {
    let mut pages = Pages { times: Samples::default(), text_bytes: 0 };
    let session = fixture::long();
    for _ in 0..setting.scale.cold_reads {
        pages.text_bytes = 0;
        for neighbour in 0..NEIGHBOURS {
            let mut reader = subject.reader(dir)?;
            evict(dir)?;
            let started = Instant::now();
            let slice = match (place + neighbour).checked_sub(1).and_then(|before| cursors.get(before)) {
                Some(cursor) => reader.older(&session, cursor, ITEMS)?,
                None => reader.window(&session, ITEMS)?,
            };
            pages.times.push(started.elapsed());
            pages.text_bytes += slice.text_bytes / NEIGHBOURS as u64;
        }
    }
    Ok(pages)
}

/// Evicts every file of a closed or idle store from the page cache.
fn evict(dir: &Path) -> Outcome<()> {
    for entry in std::fs::read_dir(dir)? {
        let file = std::fs::File::open(entry?.path())?;
        file.sync_all()?;
        fadvise(&file, 0, None, Advice::DontNeed).map_err(std::io::Error::from)?;
    }
    Ok(())
}
