//! Row: peak memory while a million events are imported, and while windows are read from them; each in a process of its own.

use crate::bar::{Bar, Report, mebibytes, thousands};
use crate::child;
use crate::failure::Outcome;
use crate::fixture::Fixtures;
use crate::setting::Setting;

const MEBIBYTE: f64 = 1_048_576.0;
const IMPORT_MEBIBYTES_MAX: f64 = 128.0;
const LOOK_MEBIBYTES_MAX: f64 = 64.0;

/// Pages read after the newest window.
const PAGES: usize = 400;

/// Runs the row.
pub fn run(setting: &Setting<'_>, fixtures: &mut Fixtures) -> Outcome<Report> {
    let columns = vec!["contender", "peak while importing", "peak while reading", "import events/s"];
    let mut report = Report { name: "peak memory, 1,000,000 events", columns, ..Report::default() };
    for contender in setting.contenders() {
        let fixture = fixtures.of(setting, contender)?;
        let rate = setting.scale.events as f64 / fixture.imported.seconds;
        let mut reading = "-".to_owned();
        if contender.name() == "turnstore" {
            let looked = child::look(contender.name(), &fixture.dir, PAGES)?;
            reading = mebibytes(looked.peak_bytes);
            let importing = fixture.imported.peak_bytes as f64 / MEBIBYTE;
            report.bars.push(Bar::within("peak memory while importing 1,000,000 events", importing, IMPORT_MEBIBYTES_MAX, "MiB"));
            let looking = looked.peak_bytes as f64 / MEBIBYTE;
            report.bars.push(Bar::within("peak memory while reading windows", looking, LOOK_MEBIBYTES_MAX, "MiB"));
        }
        report.lines.push(vec![contender.name().to_owned(), mebibytes(fixture.imported.peak_bytes), reading, thousands(rate)]);
    }
    report.notes.push(format!("VmHWM of a child process; reading: the newest window of 50, then {PAGES} pages down"));
    Ok(report)
}
