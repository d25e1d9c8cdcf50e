//! Row: one durable append at a time with a large main file behind it, against a plain growing file.
//!
//! **Invariant:** samples alternate, and which of the two goes first alternates too.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bar::{Bar, Report, mebibytes};
use crate::contender::Steps;
use crate::failure::Outcome;
use crate::plain::growing;
use crate::random::Random;
use crate::sample::Samples;
use crate::setting::{Setting, bytes_below};
use crate::step::{Step, lines};
use crate::trace::Trace;
use crate::words::{noise, provider_id};

/// Bytes of one tool result that fills the main file.
const RESULT_BYTES: usize = 64 * 1024;

/// Text that is imported at a time until the main file is large enough.
const PART_BYTES: u64 = 200 << 20;

/// Samples before the first that counts.
const WARM_UP: usize = 100;

/// Runs the row.
pub fn run(setting: &Setting<'_>) -> Outcome<Report> {
    let columns = vec!["contender", "p50 us", "p90 us", "p99 us", "worst us"];
    let mut report = Report { name: "one durable append alone", columns, ..Report::default() };
    let plain_dir = setting.place("alone", "plain file")?;
    let mut file = growing(&plain_dir.join("growing.jsonl"))?;
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    let mut plain = |steps: &Steps| -> Outcome<Duration> {
        let bytes = lines(steps);
        let started = Instant::now();
        file.write_all(&bytes)?;
        file.sync_data()?;
        Ok(started.elapsed())
    };
    let appends = Trace::seeded(77).filter(|step| !matches!(step, Step::ToolResult { .. })).map(|step| -> Steps { Arc::from([step]) });
    let appends = appends.take(setting.scale.alone_samples + WARM_UP).enumerate();
    if let Some(subject) = setting.subject {
        let dir = setting.place("alone", subject.name())?;
        let mut part = 0;
        while bytes_below(&dir)? < setting.scale.alone_bytes {
            part += 1;
            subject.import(&dir, &mut filling(part, PART_BYTES))?;
        }
        report.notes.push(format!("main file: {}", mebibytes(bytes_below(&dir)?)));
        let store = subject.open(&dir)?;
        let mut hand = store.producer(Trace::seeded(77).session())?;
        for (index, steps) in appends {
            let before = if index % 2 == 0 { Some(plain(&steps)?) } else { None };
            let started = Instant::now();
            hand.append(&steps)?;
            let elapsed = started.elapsed();
            let plain = before.map_or_else(|| plain(&steps), Ok)?;
            if index >= WARM_UP {
                ours.push(elapsed);
                theirs.push(plain);
            }
        }
        drop(hand);
        store.close()?;
        report.lines.push(line(subject.name(), &ours));
        let name = "one durable append alone, 1 GB main behind it: turnstore / plain append + fdatasync";
        report.bars.push(Bar::at_most(format!("{name}, p50"), ours.median() / theirs.median(), 1.65));
        report.bars.push(Bar::at_most(format!("{name}, p99"), ours.percentile(99.0) / theirs.percentile(99.0), 2.5));
    } else {
        for (index, steps) in appends {
            let elapsed = plain(&steps)?;
            if index >= WARM_UP {
                theirs.push(elapsed);
            }
        }
    }
    report.lines.push(line("plain growing file", &theirs));
    report
        .notes
        .push("one thread, one event an append, sample by sample in turn; tool results left out, so that the sizes are alike".to_owned());
    Ok(report)
}

fn line(name: &str, samples: &Samples) -> Vec<String> {
    let at = |percent: f64| format!("{:.0}", samples.percentile(percent));
    vec![name.to_owned(), at(50.0), at(90.0), at(99.0), at(100.0)]
}

/// Tool calls whose results hold `bytes` of text that compresses to three quarters.
fn filling(part: u64, bytes: u64) -> impl Iterator<Item = (String, Steps)> {
    let mut random = Random::seeded(99 + part);
    let session = format!("filling-{part}");
    let mut left = bytes;
    std::iter::from_fn(move || {
        let mut steps = Vec::new();
        while left > 0 && steps.len() < 32 {
            left = left.saturating_sub(RESULT_BYTES as u64);
            let call = provider_id(&mut random, "toolu_01");
            steps.push(Step::ToolStart { call: call.clone(), name: "Read".to_owned(), parent: String::new() });
            steps.push(Step::ToolEnd { call: call.clone() });
            let message = provider_id(&mut random, "msg_01");
            steps.push(Step::ToolResult { message, call, content: noise(&mut random, RESULT_BYTES) });
        }
        (!steps.is_empty()).then(|| (session.clone(), Steps::from(steps)))
    })
}
