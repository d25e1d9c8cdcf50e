//! Reads whose work must not grow with what is stored beside what they return.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, its helpers too"
)]

use turnstore_storage::*;

fn store_with(fill: impl Fn(&Storage)) -> (tempfile::TempDir, Storage) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.turnstore");
    let storage = Storage::open(&path, &Options::default()).unwrap().storage;
    fill(&storage);
    (directory, storage)
}

fn append(storage: &Storage, count: u64) {
    let mut frame = storage.begin_frame();
    if storage.next_stream() == Stream::FIRST {
        frame.declare(Stream::FIRST, "s").unwrap();
    }
    let first = storage.head().map_or(1, |head| head.get() + 1);
    for number in first..first + count {
        frame.push(Stream::FIRST, Seq::new(number).unwrap(), b"an event").unwrap();
    }
    frame.end_batch(None);
    storage.append(frame, Durability::Buffered).unwrap();
}

fn key(ordinal: i64) -> RowKey {
    RowKey { stream: Stream::FIRST, epoch: 0, kind: 1, ordinal }
}

/// A store whose ordinals 0 and 1 have this many versions each.
fn many_versions(versions: u64) -> (tempfile::TempDir, Storage) {
    store_with(|storage| {
        append(storage, versions);
        // A rebuild writes rows at any version, as many checkpoints would have.
        let mut checkpoint = storage.begin_checkpoint(storage.head().unwrap()).unwrap();
        checkpoint.put_meta("rows", b"are made below");
        checkpoint.commit().unwrap();
        let mut rebuild = storage.begin_rebuild().unwrap();
        for version in 1..=versions {
            for ordinal in 0..2 {
                let version = Position::new(version).unwrap();
                rebuild.put_row(&key(ordinal), version, &version.get().to_le_bytes()).unwrap();
            }
        }
        rebuild.finish(storage.checkpoint()).unwrap();
    })
}

#[test]
fn reading_one_ordinal_costs_the_same_however_many_versions_it_has() {
    let mut work = Vec::new();
    for versions in [100, 1_000, 10_000, 100_000] {
        let (_directory, storage) = many_versions(versions);
        for at in [1, versions / 2, versions - 1, versions] {
            let reader = storage.reader().unwrap();
            let position = Position::new(at);
            let row = reader.row(&key(1), position).unwrap().unwrap();
            assert_eq!(row.version.get(), at);
            assert_eq!(reader.read_count().rows, 1);
            for direction in [Direction::Forward, Direction::Backward] {
                let reader = storage.reader().unwrap();
                let rows: Vec<_> =
                    reader.rows(Stream::FIRST, 0, 1, 0..=9, position, direction).unwrap().map(|row| row.unwrap().1.version.get()).collect();
                assert_eq!(rows, [at, at]);
                work.push(reader.read_count());
            }
        }
    }
    assert!(work.iter().all(|work| work.rows <= 12 && work.seeks <= 5), "{work:?}");
}

#[test]
fn reading_a_window_of_rows_costs_the_window_however_many_ordinals_there_are() {
    let mut work = Vec::new();
    for ordinals in [100, 1_000, 10_000, 100_000_i64] {
        let (_directory, storage) = store_with(|storage| {
            append(storage, 1);
            let mut checkpoint = storage.begin_checkpoint(Position::FIRST).unwrap();
            for ordinal in 0..ordinals {
                checkpoint.put_row(&key(ordinal), &ordinal.to_le_bytes()).unwrap();
            }
            checkpoint.commit().unwrap();
        });
        let reader = storage.reader().unwrap();
        let newest = reader.rows(Stream::FIRST, 0, 1, 0..=i64::MAX, None, Direction::Backward).unwrap().take(50).map(|row| row.unwrap().0);
        assert!(newest.eq((ordinals - 50..ordinals).rev()));
        work.push(reader.read_count());
    }
    assert!(work.iter().all(|work| work.rows <= 52 && work.seeks == 1), "{work:?}");
}

#[test]
fn reading_frames_from_the_middle_decodes_only_what_follows() {
    let mut work = Vec::new();
    for events in [1_000, 10_000, 100_000] {
        let (_directory, storage) = store_with(|storage| {
            for _ in 0..events / 1_000 {
                append(storage, 1_000);
            }
            let mut checkpoint = storage.begin_checkpoint(storage.head().unwrap()).unwrap();
            checkpoint.put_meta("nothing", b"else");
            checkpoint.commit().unwrap();
        });
        let reader = storage.reader().unwrap();
        let from = Position::new(events - 10).unwrap();
        let last = reader.frames(from).unwrap().last().unwrap().unwrap();
        assert_eq!(last.last().get(), events);
        let seq = Seq::new(events - 10).unwrap();
        assert!(reader.frames_of(Stream::FIRST, seq).unwrap().count() >= 1);
        work.push(reader.read_count().frames);
    }
    assert!(work.iter().all(|frames| *frames <= 4), "{work:?}");
}
