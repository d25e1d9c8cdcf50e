//! Every target on seeded bytes: what a fuzzer would begin with.

use super::*;

/// Bytes drawn from a seed.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, length_max: u64) -> Vec<u8> {
        let length = self.next() % length_max;
        (0..length).map(|_| self.next() as u8).collect()
    }
}

fn draw() -> Draw {
    let seed = std::env::var("CI_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x9E37_79B9_7F4A_7C15);
    println!("seed: CI_SEED={seed}");
    Draw(u64::max(seed, 1))
}

#[test]
fn changed_frames_never_panic() {
    let mut draw = draw();
    frame_decode(&[0]);
    for _ in 0..400 {
        let mode = draw.next() as u8;
        frame_decode(&[&[mode], draw.bytes(40).as_slice()].concat());
    }
}

#[test]
fn text_that_is_no_cursor_never_panics() {
    let mut draw = draw();
    for _ in 0..10_000 {
        let letters: Vec<u8> = draw.bytes(120).into_iter().map(|byte| b'A' + byte % 26).collect();
        cursor_decode(&letters);
        cursor_decode(&draw.bytes(300));
    }
}

#[test]
fn changed_recordings_never_panic() {
    let mut draw = draw();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/recordings");
    let mut recordings = 0;
    for entry in std::fs::read_dir(folder).expect("the recordings are there") {
        let whole = std::fs::read(entry.expect("it lists").path()).expect("it reads");
        adapter_aiui(&whole);
        for _ in 0..60 {
            let mut bytes = whole.clone();
            for _ in 0..1 + draw.next() % 20 {
                let place = draw.next() as usize % bytes.len();
                let value = if draw.next().is_multiple_of(2) { draw.next() as u8 } else { b"{}[]\",:\\\n0tn"[draw.next() as usize % 12] };
                bytes[place] = value;
            }
            bytes.truncate(1 + draw.next() as usize % bytes.len());
            adapter_aiui(&bytes);
        }
        recordings += 1;
    }
    assert!(recordings > 0);
    for _ in 0..500 {
        adapter_aiui(&draw.bytes(300));
    }
}

#[test]
fn facts_fold_the_same_however_often_they_are_forgotten() {
    let mut draw = draw();
    for _ in 0..400 {
        reduce(&draw.bytes(6_000));
    }
}

#[test]
fn bytes_that_are_no_events_never_panic() {
    let mut draw = draw();
    for _ in 0..60 {
        let mut bytes = draw.bytes(3_000);
        // Heads of events: a kind that is known, a version that is, and short lengths.
        for at in (0..bytes.len().saturating_sub(40)).step_by(97) {
            let kind = (draw.next() % 27) as u8;
            bytes[at..at + 16].copy_from_slice(&[0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, kind, 1, 0, 0, 0, 0]);
            bytes[at + 16..at + 22].copy_from_slice(&[0, 0, (draw.next() % 20) as u8, 0, 0, 0]);
        }
        event_decode(&bytes);
    }
}
