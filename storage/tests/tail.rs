//! A tail file that was torn, damaged, haunted by what was lost, or used for long.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, its helpers too"
)]

use std::path::PathBuf;
use turnstore_storage::*;

/// Where records begin, and what they begin with.
const FRONT: usize = 8192;
const MAGIC: &[u8] = b"tsRC";

struct Place {
    _directory: tempfile::TempDir,
    main: PathBuf,
    options: Options,
}

/// Both files of a store that nobody has open.
#[derive(Clone)]
struct Files {
    main: Vec<u8>,
    tail: Vec<u8>,
}

impl Place {
    fn new(options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let main = directory.path().join("agent.turnstore");
        Self { _directory: directory, main, options }
    }

    fn open(&self) -> Result<Storage, Error> {
        Storage::open(&self.main, &self.options).map(|opened| opened.storage)
    }

    fn tail(&self) -> PathBuf {
        self.main.with_file_name("agent.turnstore-tail")
    }

    fn files(&self) -> Files {
        Files { main: std::fs::read(&self.main).unwrap(), tail: std::fs::read(self.tail()).unwrap() }
    }

    /// Opens these files, and makes sure that what opens is whole and takes an append.
    fn head_of(&self, files: &Files) -> Result<u64, Error> {
        std::fs::write(&self.main, &files.main).unwrap();
        std::fs::write(self.tail(), &files.tail).unwrap();
        let storage = self.open()?;
        let head = storage.head().map_or(0, Position::get);
        assert_eq!(storage.reader()?.verify()?, head);
        append(&storage, 8, Durability::Durable);
        drop(storage);
        let storage = self.open()?;
        assert_eq!(storage.head().map(Position::get), Some(head + 1));
        assert_eq!(storage.reader()?.verify()?, head + 1);
        Ok(head)
    }
}

/// Appends one event of so many bytes, the same ones at the same position.
fn append(storage: &Storage, bytes: usize, durability: Durability) {
    let mut frame = storage.begin_frame();
    if storage.next_stream() == Stream::FIRST {
        frame.declare(Stream::FIRST, "s").unwrap();
    }
    let number = storage.head().map_or(1, |head| head.get() + 1);
    frame.push(Stream::FIRST, Seq::new(number).unwrap(), &vec![number as u8; bytes]).unwrap();
    frame.end_batch(None);
    storage.append(frame, durability).unwrap();
}

fn checkpoint(storage: &Storage) {
    storage.begin_checkpoint(storage.head().unwrap()).unwrap().commit().unwrap();
}

/// Where each record is.
fn records(tail: &[u8]) -> Vec<usize> {
    (FRONT..tail.len()).step_by(8).filter(|at| tail[*at..].starts_with(MAGIC)).collect()
}

/// A store that was left with so many durable events of 100 bytes in its tail.
fn left_with(events: usize) -> (Place, Files) {
    let place = Place::new(Options::default());
    let storage = place.open().unwrap();
    for _ in 0..events {
        append(&storage, 100, Durability::Durable);
    }
    drop(storage);
    let files = place.files();
    assert_eq!(records(&files.tail).len(), events);
    (place, files)
}

#[test]
fn a_last_record_that_is_cut_at_any_byte_is_the_end() {
    let (place, whole) = left_with(4);
    let last = records(&whole.tail)[3];
    // What follows the cut: zeros, other bytes, or no file at all.
    for at in last..last + 260 {
        let mut files = whole.clone();
        let written = files.tail[at..].iter().any(|byte| *byte != 0);
        if !written {
            break;
        }
        files.tail[at..].fill(0);
        assert_eq!(place.head_of(&files).unwrap(), 3, "zeros from {at}");
        if at % 16 == 0 {
            files.tail[at..last + 300].fill(0xA5);
            assert_eq!(place.head_of(&files).unwrap(), 3, "garbage from {at}");
            files.tail.truncate(at);
            assert_eq!(place.head_of(&files).unwrap(), 3, "nothing from {at}");
        }
    }
    assert_eq!(place.head_of(&whole).unwrap(), 4);
}

#[test]
fn zeros_after_the_header_are_an_empty_log_until_something_was_acknowledged() {
    let (place, mut files) = left_with(1);
    files.tail[FRONT..].fill(0);
    assert_eq!(place.head_of(&files).unwrap(), 0);
    files.tail.truncate(FRONT);
    assert_eq!(place.head_of(&files).unwrap(), 0);
}

#[test]
fn a_damaged_record_that_was_acknowledged_is_named_and_never_a_shorter_log() {
    let (place, whole) = left_with(6);
    let records = records(&whole.tail);
    for (number, at) in records.iter().enumerate().take(4) {
        let end = records[number + 1];
        for byte in *at..end {
            let mut files = whole.clone();
            files.tail[byte] ^= 0x20;
            match place.head_of(&files) {
                Err(Error::TailBroken { at, .. }) => assert_eq!(at.get(), number as u64 + 1),
                // The zeros that fill a record up say nothing.
                Ok(head) => assert!(head == 6 && whole.tail[byte] == 0 && byte + 8 > end, "byte {byte} of {number}: {head}"),
                Err(other) => panic!("byte {byte} of {number}: {other:?}"),
            }
            assert_eq!(std::fs::read(place.tail()).unwrap().len(), files.tail.len());
        }
        let mut files = whole.clone();
        files.tail[*at..end].fill(0);
        assert!(matches!(place.head_of(&files), Err(Error::TailBroken { .. })), "zeros at {number}");
    }
    assert_eq!(place.head_of(&whole).unwrap(), 6);
}

/// A store that died with position 1 durable and 2 to 4 buffered, of which 2 did not survive.
fn haunted() -> (Place, Vec<usize>) {
    let place = Place::new(Options::default());
    let storage = place.open().unwrap();
    append(&storage, 100, Durability::Durable);
    for _ in 0..3 {
        append(&storage, 100, Durability::Buffered);
    }
    drop(storage);
    let at = records(&place.files().tail);
    wipe(&place, at[1]..at[2]);
    (place, at)
}

fn wipe(place: &Place, bytes: std::ops::Range<usize>) {
    let mut tail = place.files().tail;
    tail[bytes].fill(0);
    std::fs::write(place.tail(), &tail).unwrap();
}

#[test]
fn a_record_that_was_lost_before_it_was_synced_takes_the_later_ones_with_it_for_ever() {
    let (place, at) = haunted();
    // Written again with the same bytes, the lost record makes room to the byte for the next one.
    for head in 1..4 {
        let storage = place.open().unwrap();
        assert_eq!(storage.head(), Position::new(head));
        append(&storage, 100, Durability::Durable);
        drop(storage);
        assert_eq!(records(&place.files().tail), at[..=head as usize]);
    }
    assert_eq!(place.open().unwrap().head(), Position::new(4));
}

#[test]
fn what_followed_a_lost_record_does_not_come_back_when_main_takes_the_record_written_again() {
    let (place, at) = haunted();
    let storage = place.open().unwrap();
    append(&storage, 100, Durability::Buffered);
    checkpoint(&storage);
    drop(storage);
    // Again the tail loses it, which main now holds: the next position has never been appended since.
    wipe(&place, at[1]..at[2]);
    let storage = place.open().unwrap();
    assert_eq!(storage.head(), Position::new(2));
    append(&storage, 100, Durability::Durable);
    drop(storage);
    let storage = place.open().unwrap();
    assert_eq!(storage.head(), Position::new(3));
    assert_eq!(storage.reader().unwrap().verify().unwrap(), 3);
}

#[test]
fn what_main_holds_may_be_damaged_in_the_tail() {
    let place = Place::new(Options::default());
    let storage = place.open().unwrap();
    for _ in 0..3 {
        append(&storage, 100, Durability::Durable);
    }
    checkpoint(&storage);
    for _ in 0..3 {
        append(&storage, 100, Durability::Durable);
    }
    drop(storage);
    let whole = place.files();
    let records = records(&whole.tail);
    for number in 0..3 {
        let mut files = whole.clone();
        files.tail[records[number] + 60] ^= 1;
        assert_eq!(place.head_of(&files).unwrap(), 6, "record {number}");
        files.tail[records[3] + 60] ^= 1;
        let found = place.head_of(&files).unwrap_err();
        assert!(matches!(found, Error::TailBroken { at, .. } if at.get() == 4), "{found:?}");
    }
}

#[test]
fn the_log_goes_on_when_main_holds_what_the_tail_lost() {
    let place = Place::new(Options::default());
    let storage = place.open().unwrap();
    append(&storage, 100, Durability::Durable);
    for _ in 0..3 {
        append(&storage, 100, Durability::Buffered);
    }
    checkpoint(&storage);
    drop(storage);
    let whole = place.files();
    for (number, at) in records(&whole.tail).into_iter().enumerate() {
        let mut files = whole.clone();
        files.tail[at..].fill(0);
        assert_eq!(place.head_of(&files).unwrap(), 4, "from record {number}");
    }
}

/// A store whose tail began again at its front, with appends since.
fn rotated() -> (Place, Files) {
    let place = Place::new(Options { tail_rotate_bytes_max: 64 << 10, ..Options::default() });
    let storage = place.open().unwrap();
    while std::fs::read(place.tail()).unwrap()[4096..FRONT].iter().all(|byte| *byte == 0) {
        append(&storage, 2000, Durability::Durable);
        if storage.head().unwrap().get().is_multiple_of(10) {
            checkpoint(&storage);
        }
    }
    append(&storage, 2000, Durability::Durable);
    assert!(storage.head() > storage.checkpoint());
    drop(storage);
    let files = place.files();
    (place, files)
}

#[test]
fn an_older_header_does_not_bring_back_an_older_log() {
    let (place, whole) = rotated();
    let head = place.head_of(&whole).unwrap();
    // The newest header is in the second slot: the first one speaks of what was before.
    for byte in 4096..4096 + 52 {
        let mut files = whole.clone();
        files.tail[byte] ^= 0x10;
        let found = place.head_of(&files).unwrap_err();
        assert!(matches!(found, Error::TailBroken { .. }), "byte {byte}: {found:?}");
    }
    let mut files = whole.clone();
    files.tail[..4096].fill(0);
    assert_eq!(place.head_of(&files).unwrap(), head);
    files.tail[..FRONT].fill(0);
    assert!(matches!(place.head_of(&files), Err(Error::Corrupt(_))));
}

#[test]
fn a_tail_stays_small_for_ever_under_load() {
    let place = Place::new(Options { tail_rotate_bytes_max: 64 << 10, ..Options::default() });
    let storage = place.open().unwrap();
    let mut largest = 0;
    for round in 1..=4000_u64 {
        append(&storage, 200, if round % 7 == 0 { Durability::Durable } else { Durability::Buffered });
        if round % 100 == 0 {
            checkpoint(&storage);
        }
        largest = largest.max(std::fs::metadata(place.tail()).unwrap().len());
        if round % 500 == 0 {
            assert_eq!(storage.reader().unwrap().verify().unwrap(), round);
        }
    }
    assert!(largest <= 160 << 10, "{largest} bytes for {} appended", 4000 * 350);
    drop(storage);
    let storage = place.open().unwrap();
    assert_eq!(storage.reader().unwrap().verify().unwrap(), 4000);
}

#[test]
fn a_tail_gives_back_what_a_burst_took() {
    let place = Place::new(Options { tail_rotate_bytes_max: 64 << 10, ..Options::default() });
    let storage = place.open().unwrap();
    for _ in 0..40 {
        append(&storage, 50_000, Durability::Buffered);
    }
    let length = || std::fs::metadata(place.tail()).unwrap().len();
    assert!(length() > 40 * 50_000);
    checkpoint(&storage);
    append(&storage, 200, Durability::Durable);
    assert!(length() <= 128 << 10, "{}", length());
    drop(storage);
    assert_eq!(place.open().unwrap().head(), Position::new(41));
}

#[test]
fn a_reader_keeps_what_it_saw_while_the_tail_begins_again() {
    let place = Place::new(Options { tail_rotate_bytes_max: 64 << 10, ..Options::default() });
    let storage = place.open().unwrap();
    for _ in 0..100 {
        append(&storage, 200, Durability::Buffered);
    }
    let reader = storage.reader().unwrap();
    for _ in 0..6 {
        checkpoint(&storage);
        for _ in 0..100 {
            append(&storage, 200, Durability::Buffered);
        }
    }
    assert_eq!(reader.head().unwrap(), Position::new(100));
    assert_eq!(reader.verify().unwrap(), 100);
    assert_eq!(storage.reader().unwrap().verify().unwrap(), 700);
}
