//! The bytes of events are frozen: what any build wrote, every later build reads.
//!
//! `golden/facts.txt` holds one event a line: name, then its bytes with the stamp zeroed, in hex. A line is added, never changed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test fails by panicking, its helpers too"
)]

#[path = "golden/examples.rs"]
mod examples;
#[path = "golden/second.rs"]
mod second;

use std::collections::{BTreeMap, BTreeSet};

use turnstore::event::{Body, Event, Stated};
use turnstore::fact::Kind;
use turnstore::state::{LAYOUT_FINGERPRINT, SEMANTICS_FINGERPRINT};
use turnstore::{Durability, Engine, Error, Position, Seq, Store, Stream};
use turnstore_storage::Storage;

const FACTS: &str = include_str!("golden/facts.txt");
/// Bytes of the stamp, at the front.
const STAMP: usize = 8;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn golden() -> BTreeMap<String, Vec<u8>> {
    let lines = FACTS.lines().map(|line| line.split_once(' ').unwrap());
    let golden: BTreeMap<_, _> = lines.map(|(name, bytes)| (name.to_owned(), unhex(bytes))).collect();
    assert_eq!(golden.len(), FACTS.lines().count(), "a name comes twice");
    golden
}

/// What an engine writes for a fact.
fn written(examples: &[(String, Stated<'static>)]) -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store")).unwrap();
    for (_, stated) in examples {
        assert_eq!(engine.append("s", vec![stated.clone()]).unwrap().appended, 1);
    }
    let events = engine.view().events("s", Seq::FIRST).unwrap();
    let unstamped = |bytes: &[u8]| [&[0; STAMP], &bytes[STAMP..]].concat();
    events.map(|event| unstamped(event.unwrap().bytes())).collect()
}

/// Puts bytes into a log as they are, and reads them back as events.
fn read_back(events: &[Vec<u8>], mut read: impl FnMut(usize, Result<Event<'_>, Error>)) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let storage = Storage::open(&path, &turnstore_storage::Options::default()).unwrap().storage;
    let mut frame = storage.begin_frame();
    frame.declare(Stream::FIRST, "s").unwrap();
    for (index, bytes) in events.iter().enumerate() {
        frame.push(Stream::FIRST, Seq::new(index as u64 + 1).unwrap(), bytes).unwrap();
    }
    frame.end_batch(None);
    storage.append(frame, Durability::Durable).unwrap();
    let mut checkpoint = storage.begin_checkpoint(storage.head().unwrap()).unwrap();
    checkpoint.put_meta("layout", &LAYOUT_FINGERPRINT.to_le_bytes());
    checkpoint.put_meta("semantics", &SEMANTICS_FINGERPRINT.to_le_bytes());
    checkpoint.commit().unwrap();
    storage.close().unwrap();
    let mut count = 0;
    for (index, event) in Store::read(&path).unwrap().view().log(Position::FIRST).unwrap().enumerate() {
        let event = event.unwrap();
        assert_eq!(event.bytes(), events[index]);
        read(index, event.event());
        count += 1;
    }
    assert_eq!(count, events.len());
}

#[test]
fn every_kind_and_variant_is_written_as_it_always_was() {
    let examples = examples::examples();
    let kinds: BTreeSet<Kind> = examples.iter().map(|(_, stated)| stated.fact.kind()).collect();
    assert_eq!(kinds.iter().copied().collect::<Vec<_>>(), Kind::ALL);
    let names: BTreeSet<&String> = examples.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), examples.len(), "a name comes twice");
    let golden = golden();
    let mut missing = String::new();
    for ((name, _), bytes) in examples.iter().zip(written(&examples)) {
        match golden.get(name) {
            Some(frozen) => assert_eq!(hex(&bytes), hex(frozen), "{name} is written differently: it needs a new version of its body"),
            None => missing.push_str(&format!("{name} {}\n", hex(&bytes))),
        }
    }
    assert!(missing.is_empty(), "lines to add to golden/facts.txt:\n{missing}");
    assert_eq!(golden.len(), examples.len(), "a frozen line has lost its example");
}

#[test]
fn the_bytes_of_every_kind_and_variant_read_as_the_fact_they_were() {
    let golden = golden();
    let examples = examples::examples();
    let events: Vec<Vec<u8>> = examples.iter().map(|(name, _)| golden[name].clone()).collect();
    read_back(&events, |index, event| {
        let (name, stated) = &examples[index];
        let event = event.unwrap();
        assert_eq!(event.body, Body::Fact(stated.fact.clone()), "{name}");
        assert_eq!((&event.source, event.owner), (&stated.source, stated.owner), "{name}");
        assert_eq!(event.ext.as_deref(), stated.ext.as_ref().map(|ext| ext.as_str()), "{name}");
    });
}

#[test]
fn a_second_decoder_reads_the_same_bytes() {
    let golden = golden();
    let mut mirrored = 0;
    for (name, stated) in examples::examples() {
        let (meta, rest) = second::meta(&golden[&name]);
        assert_eq!((meta.kind, meta.version, meta.recorded_at), (stated.fact.kind().0, 1, 0), "{name}");
        assert_eq!((meta.protocol, meta.owner), (stated.source.protocol.0, stated.owner.0), "{name}");
        assert_eq!((meta.name, meta.event_id), (stated.source.name.as_deref(), stated.source.event_id.as_deref()), "{name}");
        assert_eq!(meta.stream, stated.source.stream.as_ref().map(|(name, seq)| (name.as_ref(), *seq)), "{name}");
        assert_eq!(meta.part, stated.source.part, "{name}");
        let (body, ext) = rest.split_at(meta.body_bytes as usize);
        assert_eq!(ext, stated.ext.as_ref().map_or("", |ext| ext.as_str()).as_bytes(), "{name}");
        mirrored += usize::from(second::body_matches(&stated.fact, body));
    }
    // Deltas, openings, calls, ends and histories.
    assert_eq!(mirrored, 3 + 3 + 10 + 2 + 4);
}

/// The golden bytes with their body changed, and its stated length with it.
fn with_body(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let (meta, rest) = second::meta(bytes);
    let (body, ext) = rest.split_at(meta.body_bytes as usize);
    let mut body = body.to_vec();
    change(&mut body);
    let meta_bytes = bytes.len() - rest.len();
    let mut changed = bytes[..meta_bytes - 4].to_vec();
    changed.extend_from_slice(&u32::try_from(body.len()).unwrap().to_le_bytes());
    changed.extend_from_slice(&body);
    changed.extend_from_slice(ext);
    changed
}

#[test]
fn bytes_behind_a_body_are_refused() {
    let longer: Vec<Vec<u8>> = golden().values().map(|bytes| with_body(bytes, |body| body.push(0))).collect();
    read_back(&longer, |index, event| {
        let error = event.map(|event| format!("{event:?}")).unwrap_err();
        let Error::Event { position, source } = error else { panic!("{error}") };
        assert_eq!(position.get(), index as u64 + 1);
        assert!(source.to_string().contains("bytes behind the body"), "{source}");
    });
}

#[test]
fn kinds_and_versions_of_a_newer_build_are_carried_whole() {
    let opaque = &golden()["meta.residue"];
    let (kind_at, version_at) = (STAMP, STAMP + 1);
    let changed = |at: usize, value: u8| {
        let mut bytes = opaque.clone();
        bytes[at] = value;
        bytes
    };
    let body = {
        let (meta, rest) = second::meta(opaque);
        rest[..meta.body_bytes as usize].to_vec()
    };
    let events = [changed(kind_at, 26), changed(kind_at, 255), changed(version_at, 2), changed(version_at, 0)];
    let expected = [(26, 1), (255, 1), (25, 2), (25, 0)];
    read_back(&events, |index, event| {
        let event = event.unwrap();
        let Body::Unknown { kind, version, bytes } = event.body else { panic!("{:?}", event.body) };
        assert_eq!((kind.0, version, bytes), (expected[index].0, expected[index].1, body.as_slice()));
        assert_eq!(event.ext.as_deref(), Some("{\"extra\":\"é\"}"));
    });
}

/// The most memory that this process has used, in bytes.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[test]
fn a_length_that_lies_is_an_error_and_asks_for_no_memory() {
    let golden = golden();
    let mut events = Vec::new();
    for bytes in golden.values() {
        let (meta, _) = second::meta(bytes);
        let body_bytes = meta.body_bytes as usize;
        // Whatever eight bytes of a body are a length, it lies.
        for at in 0..body_bytes.saturating_sub(7) {
            for lie in [u64::MAX, u64::MAX / 2, 1 << 40, (1 << 28) - 1, 1 << 22, 10_000] {
                events.push(with_body(bytes, |body| body[at..at + 8].copy_from_slice(&lie.to_le_bytes())));
            }
        }
    }
    let before = peak_bytes();
    let mut refused = 0_usize;
    read_back(&events, |_, event| refused += usize::from(event.is_err()));
    assert!(refused > events.len() / 2, "{refused} of {}", events.len());
    if let (Some(before), Some(after)) = (before, peak_bytes()) {
        assert!(after < before + (96 << 20), "{} MiB more", (after - before) >> 20);
    }
}

#[test]
fn cut_or_flipped_bytes_never_panic() {
    let golden = golden();
    let mut events = Vec::new();
    for bytes in golden.values() {
        events.extend((0..bytes.len()).map(|cut| bytes[..cut].to_vec()));
        for at in STAMP..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                events.push(flipped);
            }
        }
    }
    let (mut read, mut refused) = (0, 0);
    read_back(&events, |_, event| match event {
        Ok(_) => read += 1,
        Err(Error::Event { .. }) => refused += 1,
        Err(other) => panic!("{other}"),
    });
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}
