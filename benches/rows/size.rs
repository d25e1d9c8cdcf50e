//! Row: the file after close, against the JSONL of the same events.

use crate::bar::{Bar, Report, mebibytes};
use crate::failure::Outcome;
use crate::fixture::Fixtures;
use crate::plain::Plain;
use crate::setting::{Setting, bytes_below};

/// Runs the row.
pub fn run(setting: &Setting<'_>, fixtures: &mut Fixtures) -> Outcome<Report> {
    let columns = vec!["contender", "size after close", "of the JSONL"];
    let mut report = Report { name: "file size of 1,000,000 events after close", columns, ..Report::default() };
    let lines = bytes_below(&fixtures.of(setting, &Plain)?.dir)?;
    for contender in setting.contenders() {
        let bytes = bytes_below(&fixtures.of(setting, contender)?.dir)?;
        let ratio = bytes as f64 / lines.max(1) as f64;
        report.lines.push(vec![contender.name().to_owned(), mebibytes(bytes), format!("{ratio:.2}x")]);
        if contender.name() == "turnstore" {
            report.bars.push(Bar::at_most("file size after close: turnstore / JSONL", ratio, 0.5));
        }
    }
    Ok(report)
}
