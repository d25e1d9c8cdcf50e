//! Row: opening a store of a million events, closed in order and after kill -9; each open in a new process.

use crate::bar::{Bar, Report, thousands};
use crate::child;
use crate::contender::Contender;
use crate::failure::Outcome;
use crate::fixture::{self, Fixtures};
use crate::sample::Samples;
use crate::setting::Setting;

const CLEAN_MILLIS_MAX: f64 = 10.0;
const CRASHED_MILLIS_MAX: f64 = 30.0;

/// Runs the row.
pub fn run(setting: &Setting<'_>, fixtures: &mut Fixtures) -> Outcome<Report> {
    let columns = vec!["contender", "clean ms (median)", "worst", "after kill -9 ms (median)", "worst", "acknowledged before the kill"];
    let mut report = Report { name: "open of a 1,000,000-event store", columns, ..Report::default() };
    for contender in setting.contenders() {
        if contender.name() == "plain file" {
            continue;
        }
        let opens = opens(setting, fixtures, contender)?;
        let number = |value: f64| format!("{value:.1}");
        report.lines.push(vec![
            contender.name().to_owned(),
            number(opens.clean.median()),
            number(opens.clean.worst()),
            number(opens.crashed.median()),
            number(opens.crashed.worst()),
            thousands(opens.acknowledged as f64),
        ]);
        if contender.name() == "turnstore" {
            report.bars.push(Bar::within("open of a 1,000,000-event store, clean", opens.clean.median(), CLEAN_MILLIS_MAX, "ms"));
            let crashed = Bar::within("open of a 1,000,000-event store, after kill -9", opens.crashed.median(), CRASHED_MILLIS_MAX, "ms");
            report.bars.push(crashed);
        }
    }
    report.notes.push("a new process for each open, page cache warm; the kill meets a child with 8 producers appending; salamander-db's lock file is deleted by hand first, as its error asks".to_owned());
    Ok(report)
}

struct Opens {
    clean: Samples,
    crashed: Samples,
    acknowledged: u64,
}

fn opens(setting: &Setting<'_>, fixtures: &mut Fixtures, contender: &dyn Contender) -> Outcome<Opens> {
    let fixture = fixtures.of(setting, contender)?;
    let dir = setting.place("crash", contender.name())?;
    fixture::copy(&fixture.dir, &dir)?;
    let mut opens = Opens { clean: Samples::default(), crashed: Samples::default(), acknowledged: 0 };
    let scale = setting.scale;
    let (clean, crashed) = match contender.name() {
        "turnstore" => (scale.opens, scale.crashes),
        _ => (scale.peer_opens, scale.peer_opens),
    };
    for _ in 0..clean {
        opens.clean.push_number(child::open(contender.name(), &dir)?.millis);
    }
    for _ in 0..crashed {
        opens.acknowledged += child::crash(contender.name(), &dir)?;
        contender.after_kill(&dir)?;
        opens.crashed.push_number(child::open(contender.name(), &dir)?.millis);
    }
    std::fs::remove_dir_all(&dir)?;
    Ok(opens)
}
