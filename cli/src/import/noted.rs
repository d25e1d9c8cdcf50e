//! What folding noted about the events of a recording: diagnostics that are not of the adapter.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use indicatif::ProgressBar;
use turnstore::event::Body;
use turnstore::fact::Fact;
use turnstore::{Error, Seq, View};

use super::lane::Stop;
use super::recording::Recording;
use super::tally::Tally;

/// Events that are looked up to tell the reducer's diagnostics from the adapter's.
const LOOKUPS_MAX: usize = 200;
/// Diagnostics that are named.
const NAMED_MAX: usize = 10;

/// Where a session stood before an import.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    seq: u64,
    diagnostics: i64,
}

impl Before {
    pub(crate) fn of(view: &View, session: &str) -> Result<Self, Error> {
        let head = view.session(session)?;
        Ok(head.map(|head| Self { seq: head.last_seq.map_or(0, Seq::get), diagnostics: head.header.diagnostics }).unwrap_or_default())
    }
}

/// A diagnostic and the number of the source event that it is about.
struct Noted {
    number: u64,
    code: String,
    detail: String,
}

/// Adds the reducer's diagnostics on new events to the tally. `stated` is how many diagnostics the adapter stated among them.
pub(crate) fn add(view: &View, before: Before, stated: u64, file: &Path, tally: &mut Tally) -> Result<(), Stop> {
    let now = view.session(&tally.session)?.map_or(0, |head| head.header.diagnostics);
    let folded = u64::try_from(now.saturating_sub(before.diagnostics)).unwrap_or(0).saturating_sub(stated);
    if folded == 0 {
        return Ok(());
    }
    let noted = find(view, &tally.session, before.seq)?;
    let lines = lines(file, noted.iter().map(|noted| noted.number))?;
    for noted in &noted {
        let line = lines.get(&noted.number).copied().unwrap_or(0);
        tally.diagnostics.add(line, &noted.code, noted.detail.as_str());
    }
    tally.diagnostics.count += folded.saturating_sub(u64::try_from(noted.len()).unwrap_or(u64::MAX));
    Ok(())
}

fn find(view: &View, session: &str, after: u64) -> Result<Vec<Noted>, Error> {
    let mut noted = Vec::new();
    let mut lookups = 0;
    for diagnostic in view.diagnostics(session)? {
        let diagnostic = diagnostic?;
        let Some(seq) = Seq::new(diagnostic.seq).filter(|seq| seq.get() > after) else { continue };
        if lookups == LOOKUPS_MAX || noted.len() == NAMED_MAX {
            break;
        }
        lookups += 1;
        let Some(owned) = view.events(session, seq)?.next() else { continue };
        let owned = owned?;
        let event = owned.event()?;
        let number = event.source.stream.as_ref().map_or(0, |(_, number)| *number);
        if number > 0 && !matches!(event.body, Body::Fact(Fact::DiagnosticNoted(_))) {
            noted.push(Noted { number, code: diagnostic.code, detail: diagnostic.detail.unwrap_or_default() });
        }
    }
    Ok(noted)
}

/// The lines on which numbered source events begin, found by reading the recording once more. Line 0: there is no such event any more.
pub(crate) fn lines(file: &Path, numbers: impl Iterator<Item = u64>) -> io::Result<BTreeMap<u64, u64>> {
    let mut lines: BTreeMap<u64, u64> = numbers.map(|number| (number, 0)).collect();
    let Some((&last, _)) = lines.last_key_value() else { return Ok(lines) };
    let mut recording = Recording::open(file, &ProgressBar::hidden())?;
    while let Some(chunk) = recording.chunk()? {
        for place in chunk.places() {
            if let Some(line) = lines.get_mut(&place.number) {
                *line = place.line;
            }
            if place.number >= last {
                return Ok(lines);
            }
        }
    }
    Ok(lines)
}
