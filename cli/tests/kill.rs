//! A child that imports is killed at random moments: nothing that it acknowledged is lost, and the next import continues.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::{Place, long};
use serde_json::Value;

const KILLS: usize = 50;

/// Numbers drawn from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

struct Killed {
    /// Last seq that the child told of.
    acknowledged: u64,
    /// Whether it ended before it was killed.
    ended: bool,
}

/// Imports until the time is up, then kills the child where it stands.
fn import_and_kill(place: &Place, file: &std::path::Path, after: Duration) -> Killed {
    let begun = Instant::now();
    let mut child = place
        .command()
        .arg("import")
        .arg(file)
        .args(["--protocol", "aiui", "--json", "--last", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (lines, told) = mpsc::channel();
    let stdout = child.stdout.take().unwrap();
    let reading = std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            lines.send(line).unwrap();
        }
    });
    let mut acknowledged = 0;
    let mut take = |line: String| {
        // The last line may be cut where the child died; only whole ones were told.
        if let Ok(told) = serde_json::from_str::<Value>(&line) {
            acknowledged = acknowledged.max(told["seq"].as_u64().unwrap_or(0));
        }
    };
    let mut ended = false;
    while let Some(left) = after.checked_sub(begun.elapsed()) {
        match told.recv_timeout(left) {
            Ok(line) => take(line),
            Err(mpsc::RecvTimeoutError::Timeout) => break,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                ended = true;
                break;
            }
        }
    }
    if !ended {
        child.kill().unwrap();
    }
    child.wait().unwrap();
    reading.join().unwrap();
    told.into_iter().for_each(take);
    Killed { acknowledged, ended }
}

fn seq_of(place: &Place) -> u64 {
    if !place.store().exists() {
        return 0;
    }
    let listed = place.run(&["sessions", "--json"]).done().json();
    listed["sessions"].as_array().unwrap().first().map_or(0, |entry| entry["seq"].as_u64().unwrap())
}

#[test]
fn a_killed_import_loses_nothing_acknowledged_and_continues() {
    let seed = std::env::var("CI_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x9E37_79B9_7F4A_7C15_u64);
    println!("seed: CI_SEED={seed}");
    let mut draw = Draw(seed.max(1));
    let reference = Place::new();
    let text = long("t", 1500);
    let begun = Instant::now();
    reference.import(&reference.file("a.jsonl", &text), &[]).done();
    let whole = begun.elapsed();
    let expected = reference.run(&["hash", "t"]).done().out;

    let mut place = Place::new();
    let mut file = place.file("a.jsonl", &text);
    let (mut kills, mut finished, mut before) = (0, 0, 0);
    while kills < KILLS {
        let after = Duration::from_micros(draw.below(u64::try_from(whole.as_micros()).unwrap()));
        let killed = import_and_kill(&place, &file, after);
        kills += usize::from(!killed.ended);
        let seq = seq_of(&place);
        assert!(
            seq >= killed.acknowledged.max(before),
            "kill {kills}: {seq} is there, {} was acknowledged, {before} was there",
            killed.acknowledged
        );
        before = seq;
        if place.store().exists() {
            place.run(&["verify"]).done();
        }
        if killed.ended || kills % 5 == 0 {
            place.import(&file, &["--last", "0"]).done();
            assert_eq!(place.run(&["hash", "t"]).done().out, expected, "after kill {kills}");
            finished += 1;
            place = Place::new();
            file = place.file("a.jsonl", &text);
            before = 0;
        }
    }
    assert!(finished >= KILLS / 5);
}
