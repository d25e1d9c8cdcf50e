//! An appender, a checkpointer and readers at once; and a process killed at work.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, its helpers too"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use turnstore_storage::*;

fn append(storage: &Storage, count: u64, durability: Durability) {
    let mut frame = storage.begin_frame();
    if storage.next_stream() == Stream::FIRST {
        frame.declare(Stream::FIRST, "s").unwrap();
    }
    let first = storage.head().map_or(1, |head| head.get() + 1);
    for number in first..first + count {
        frame.push(Stream::FIRST, Seq::new(number).unwrap(), &number.to_le_bytes()).unwrap();
    }
    frame.end_batch(None);
    storage.append(frame, durability).unwrap();
}

/// How many events the reader sees; panics when they have a gap or the rows are of another moment.
fn seen(reader: &Reader) -> u64 {
    let mut next = 1;
    for frame in reader.frames(Position::FIRST).unwrap() {
        for entry in frame.unwrap().entries() {
            let entry = entry.unwrap();
            assert_eq!(entry.position.get(), next);
            assert_eq!(entry.bytes, next.to_le_bytes());
            next += 1;
        }
    }
    assert_eq!(reader.head().unwrap().map_or(0, Position::get), next - 1);
    let key = RowKey { stream: Stream::FIRST, epoch: 0, kind: 0, ordinal: 0 };
    let row = reader.row(&key, None).unwrap();
    assert_eq!(row.map(|row| row.version), reader.checkpoint());
    next - 1
}

#[test]
fn readers_never_see_a_gap_while_frames_move_from_tail_to_main() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.turnstore");
    let storage = Storage::open(&path, &Options { tail_rotate_bytes_max: 16 << 10, ..Options::default() }).unwrap().storage;
    let done = AtomicBool::new(false);
    let looked = std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..400 {
                let durable = round % 50 == 0;
                let durability = if durable { Durability::Durable } else { Durability::Buffered };
                append(&storage, 1 + round % 5, durability);
            }
            done.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let Some(head) = storage.head() else { continue };
                let mut checkpoint = storage.begin_checkpoint(head).unwrap();
                let key = RowKey { stream: Stream::FIRST, epoch: 0, kind: 0, ordinal: 0 };
                checkpoint.put_row(&key, b"row").unwrap();
                checkpoint.commit().unwrap();
            }
        });
        let reader = scope.spawn(|| {
            let (mut last, mut looked) = (0, 0);
            while !done.load(Ordering::Acquire) {
                let now = seen(&storage.reader().unwrap());
                assert!(now >= last, "the log shrank from {last} to {now}");
                last = now;
                looked += 1;
            }
            looked
        });
        reader.join().unwrap()
    });
    assert!(looked > 0);
    assert_eq!(storage.reader().unwrap().verify().unwrap(), storage.head().unwrap().get());
}

const CHILD: &str = "TURNSTORE_TEST_CHILD";

/// The child's part: appends and checkpoints, and says each acknowledged position.
fn work_until_killed(path: &Path) {
    let storage = Storage::open(path, &Options::default()).unwrap().storage;
    for round in 1.. {
        append(&storage, 3, Durability::Durable);
        println!("\nacknowledged {}", storage.durable().unwrap());
        if round % 20 == 0 {
            storage.begin_checkpoint(storage.head().unwrap()).unwrap().commit().unwrap();
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_that_it_acknowledged() {
    if let Some(path) = std::env::var_os(CHILD) {
        return work_until_killed(&PathBuf::from(path));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.turnstore");
    for lines in [1, 30, 65] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_killed_process_loses_nothing_that_it_acknowledged", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let acknowledged = output
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok())
            .nth(lines)
            .unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(ReadStorage::open(&path, &Options::default()), Err(Error::NeedsRecovery)));
        let opened = Storage::open(&path, &Options::default()).unwrap();
        let head = opened.storage.head().unwrap().get();
        assert!(head >= acknowledged, "{head} of {acknowledged}");
        assert_eq!(opened.storage.reader().unwrap().verify().unwrap(), head);
    }
}
