//! What a store promises on a real file system.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, its helpers too"
)]

use std::path::PathBuf;
use turnstore_storage::*;

struct Place {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.turnstore");
    Place { _directory: directory, path }
}

fn options() -> Options {
    Options::default()
}

fn open(place: &Place) -> Opened {
    Storage::open(&place.path, &options()).unwrap()
}

fn stream(number: u64) -> Stream {
    Stream::new(number).unwrap()
}

fn seq(number: u64) -> Seq {
    Seq::new(number).unwrap()
}

fn position(number: u64) -> Position {
    Position::new(number).unwrap()
}

/// Appends `count` events to stream 1 as one batch, the stream declared when it is new.
fn append(storage: &Storage, from: u64, count: u64, durability: Durability) {
    let mut frame = storage.begin_frame();
    if storage.next_stream() == Stream::FIRST {
        frame.declare(Stream::FIRST, "s1").unwrap();
    }
    for number in from..from + count {
        let bytes = format!("{{\"type\":\"text\",\"delta\":\"event {number}\"}}");
        frame.push(Stream::FIRST, seq(number), bytes.as_bytes()).unwrap();
    }
    frame.end_batch(Some((BatchKey([from as u8; 16]), BatchDigest([count as u8; 16]))));
    storage.append(frame, durability).unwrap();
}

fn checkpoint(storage: &Storage, fill: impl FnOnce(&mut Checkpoint<'_>)) {
    let mut checkpoint = storage.begin_checkpoint(storage.head().unwrap()).unwrap();
    fill(&mut checkpoint);
    checkpoint.commit().unwrap();
}

fn log(reader: &Reader, from: u64) -> Vec<(u64, u64, u64, bool)> {
    let mut log = Vec::new();
    for frame in reader.frames(position(from)).unwrap() {
        for entry in frame.unwrap().entries() {
            let entry = entry.unwrap();
            if entry.position.get() >= from {
                log.push((entry.position.get(), entry.stream.get(), entry.seq.get(), entry.batch_end.is_some()));
            }
        }
    }
    log
}

fn expected(from: u64, to: u64, ends: &[u64]) -> Vec<(u64, u64, u64, bool)> {
    (from..=to).map(|number| (number, 1, number, ends.contains(&number))).collect()
}

#[test]
fn a_closed_store_is_one_file_and_reads_without_a_writer() {
    let place = place();
    let Opened { storage, tail } = open(&place);
    assert!(tail.is_empty());
    assert_eq!(storage.head(), None);
    append(&storage, 1, 3, Durability::Durable);
    append(&storage, 4, 2, Durability::Buffered);
    assert_eq!(storage.durable(), Position::new(3));
    assert_eq!(log(&storage.reader().unwrap(), 1), expected(1, 5, &[3, 5]));
    storage.sync().unwrap();
    assert_eq!(storage.durable(), Position::new(5));
    checkpoint(&storage, |_| {});
    assert_eq!(storage.tail_bytes(), 0);
    append(&storage, 6, 1, Durability::Durable);
    assert_eq!(log(&storage.reader().unwrap(), 5), expected(5, 6, &[5, 6]));
    checkpoint(&storage, |_| {});
    storage.close().unwrap();
    let files: Vec<_> = std::fs::read_dir(place.path.parent().unwrap()).unwrap().collect();
    assert_eq!(files.len(), 1);

    let read = ReadStorage::open(&place.path, &options()).unwrap();
    let reader = read.reader().unwrap();
    assert_eq!(reader.head().unwrap(), Position::new(6));
    assert_eq!(log(&reader, 1), expected(1, 6, &[3, 5, 6]));
    assert_eq!(reader.stream("s1").unwrap(), Some((Stream::FIRST, Seq::new(6))));
    assert_eq!(reader.stream_name(Stream::FIRST).unwrap().as_deref(), Some("s1"));
    let record = reader.key(Stream::FIRST, &BatchKey([4; 16])).unwrap().unwrap();
    let wanted = KeyRecord { first: position(4), last: position(5), digest: BatchDigest([2; 16]) };
    assert_eq!(record, wanted);
}

#[test]
fn a_dropped_store_gives_back_its_tail_and_goes_on() {
    let place = place();
    let storage = open(&place).storage;
    let epoch = storage.open_epoch();
    append(&storage, 1, 3, Durability::Durable);
    checkpoint(&storage, |_| {});
    append(&storage, 4, 2, Durability::Durable);
    append(&storage, 6, 1, Durability::Durable);
    drop(storage);
    assert!(matches!(ReadStorage::open(&place.path, &options()), Err(Error::NeedsRecovery)));
    let Opened { storage, tail } = open(&place);
    assert_eq!(storage.open_epoch(), epoch.next());
    assert_eq!(tail.iter().map(|frame| frame.first().get()).collect::<Vec<_>>(), [4, 6]);
    append(&storage, 7, 1, Durability::Durable);
    assert_eq!(log(&storage.reader().unwrap(), 1), expected(1, 7, &[3, 5, 6, 7]));
    assert!(matches!(storage.close(), Err(Error::OutOfOrder(_))));
}

#[test]
fn a_second_writer_is_refused_and_a_follower_sees_checkpoints() {
    let place = place();
    let storage = open(&place).storage;
    assert!(matches!(Storage::open(&place.path, &options()), Err(Error::Locked)));
    append(&storage, 1, 3, Durability::Durable);
    checkpoint(&storage, |checkpoint| checkpoint.put_meta("reducer", b"r1"));
    append(&storage, 4, 1, Durability::Durable);
    let follower = ReadStorage::open(&place.path, &options()).unwrap();
    assert_eq!(log(&follower.reader().unwrap(), 1), expected(1, 3, &[3]));
    assert_eq!(follower.meta("reducer").unwrap().as_deref(), Some(&b"r1"[..]));
    checkpoint(&storage, |_| {});
    assert_eq!(log(&follower.reader().unwrap(), 1), expected(1, 4, &[3, 4]));
    storage.close().unwrap();
}

#[test]
fn a_missing_tail_is_named_and_never_a_shorter_history() {
    let place = place();
    let storage = open(&place).storage;
    append(&storage, 1, 3, Durability::Durable);
    checkpoint(&storage, |_| {});
    append(&storage, 4, 1, Durability::Durable);
    drop(storage);
    let tail = place.path.with_file_name("agent.turnstore-tail");
    let away = place.path.with_file_name("away");
    std::fs::rename(&tail, &away).unwrap();
    let found = Storage::open(&place.path, &options()).unwrap_err();
    assert!(matches!(found, Error::TailMissing { checkpoint } if checkpoint == Position::new(3)));
    assert!(matches!(ReadStorage::open(&place.path, &options()), Err(Error::TailMissing { .. } | Error::NeedsRecovery)));
    std::fs::rename(&away, &tail).unwrap();
    assert_eq!(open(&place).storage.head(), Position::new(4));
}

#[test]
fn the_tail_of_another_store_is_refused() {
    let (one, other) = (place(), place());
    for place in [&one, &other] {
        append(&open(place).storage, 1, 3, Durability::Durable);
    }
    let tail_of = |place: &Place| place.path.with_file_name("agent.turnstore-tail");
    std::fs::copy(tail_of(&other), tail_of(&one)).unwrap();
    let found = Storage::open(&one.path, &options()).unwrap_err();
    assert!(matches!(found, Error::TailForeign { .. }), "{found:?}");
}

#[test]
fn an_older_copy_of_main_does_not_take_a_newer_tail() {
    let place = place();
    let storage = open(&place).storage;
    append(&storage, 1, 3, Durability::Durable);
    checkpoint(&storage, |_| {});
    storage.close().unwrap();
    let copy = place.path.with_file_name("copy");
    std::fs::copy(&place.path, &copy).unwrap();
    let storage = open(&place).storage;
    append(&storage, 4, 2, Durability::Durable);
    drop(storage);
    std::fs::copy(&copy, &place.path).unwrap();
    let found = Storage::open(&place.path, &options()).unwrap_err();
    assert!(matches!(found, Error::TailBroken { .. }), "{found:?}");
    assert!(place.path.with_file_name("agent.turnstore-tail").exists());
}

#[test]
fn what_is_not_a_store_is_refused_and_left_alone() {
    let place = place();
    let refused = |bytes: &[u8]| {
        std::fs::write(&place.path, bytes).unwrap();
        let written = Storage::open(&place.path, &options()).unwrap_err();
        let read = ReadStorage::open(&place.path, &options()).unwrap_err();
        assert!(matches!(written, Error::NotAStore { .. }), "{written:?}");
        assert!(matches!(read, Error::NotAStore { .. }), "{read:?}");
        assert_eq!(std::fs::read(&place.path).unwrap(), bytes);
    };
    refused(b"");
    refused(b"{}");
    refused(&[b'x'; 10_000]);
    std::fs::remove_file(&place.path).unwrap();
    assert!(matches!(ReadStorage::open(&place.path, &options()), Err(Error::Absent)));
    redb::Database::create(&place.path).unwrap();
    let found = Storage::open(&place.path, &options()).unwrap_err();
    assert!(matches!(found, Error::NotAStore { .. }), "{found:?}");
    std::fs::remove_file(&place.path).unwrap();
    std::fs::create_dir(&place.path).unwrap();
    let found = Storage::open(&place.path, &options()).unwrap_err();
    assert!(matches!(found, Error::NotAStore { .. }), "{found:?}");
}

#[test]
fn damage_to_any_page_is_neither_a_panic_nor_a_shorter_log() {
    let place = place();
    let storage = open(&place).storage;
    append(&storage, 1, 200, Durability::Durable);
    let key = RowKey { stream: Stream::FIRST, epoch: 0, kind: 1, ordinal: 5 };
    checkpoint(&storage, |checkpoint| {
        checkpoint.put_row(&key, b"a row of some bytes").unwrap();
    });
    storage.close().unwrap();
    let whole = std::fs::read(&place.path).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).step_by(509) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&place.path, &damaged).unwrap();
        let Ok(read) = ReadStorage::open(&place.path, &options()) else {
            refused += 1;
            continue;
        };
        let frames = read.reader().and_then(|reader| {
            reader.row(&key, None)?;
            reader.frames(Position::FIRST)?.collect::<Result<Vec<_>, _>>()
        });
        match frames {
            Ok(frames) => {
                let count: u32 = frames.iter().map(Frame::count).sum();
                assert_eq!(count, 200, "damage at {at} shortened the log");
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 0);
}

#[test]
fn misuse_is_refused_and_writes_nothing() {
    let place = place();
    let storage = open(&place).storage;
    append(&storage, 1, 1, Durability::Durable);
    let mut frame = storage.begin_frame();
    assert!(matches!(frame.push(stream(9), seq(1), b"x"), Err(Error::UnknownStream(_))));
    assert!(matches!(frame.push(stream(1), seq(3), b"x"), Err(Error::SeqGap { .. })));
    assert!(matches!(frame.declare(stream(1), "again"), Err(Error::StreamTaken(_))));
    let long = "n".repeat(2000);
    assert!(matches!(frame.declare(stream(2), &long), Err(Error::TooLarge { .. })));
    frame.push(stream(1), seq(2), b"x").unwrap();
    assert!(matches!(storage.append(frame, Durability::Durable), Err(Error::OutOfOrder(_))));
    let mut late = storage.begin_frame();
    late.push(stream(1), seq(2), b"late").unwrap();
    late.end_batch(None);
    append(&storage, 2, 1, Durability::Durable);
    assert!(matches!(storage.append(late, Durability::Durable), Err(Error::OutOfOrder(_))));
    append(&storage, 3, 4, Durability::Durable);
    assert!(matches!(storage.begin_checkpoint(position(4)), Err(Error::OutOfOrder(_))));
    assert!(matches!(storage.begin_checkpoint(position(99)), Err(Error::OutOfOrder(_))));
    assert_eq!(log(&storage.reader().unwrap(), 1), expected(1, 6, &[1, 2, 6]));
}

#[test]
fn rows_answer_at_every_past_checkpoint_in_both_directions() {
    let place = place();
    let storage = open(&place).storage;
    let key = |ordinal| RowKey { stream: Stream::FIRST, epoch: 0, kind: 7, ordinal };
    // Ordinal o has versions at every checkpoint c where c % (|o| + 1) == 0.
    for round in 1..=24_u64 {
        append(&storage, round, 1, Durability::Durable);
        checkpoint(&storage, |checkpoint| {
            for ordinal in -5..=5_i64 {
                if round % (ordinal.unsigned_abs() + 1) == 0 {
                    checkpoint.put_row(&key(ordinal), &round.to_le_bytes()).unwrap();
                }
            }
        });
    }
    let reader = storage.reader().unwrap();
    for at in 1..=24_u64 {
        let newest = |ordinal: i64| {
            let step = ordinal.unsigned_abs() + 1;
            (at / step > 0).then_some((ordinal, at / step * step))
        };
        for (low, high) in [(-5, 5), (0, 0), (-3, 2), (2, 1), (i64::MIN, i64::MAX)] {
            let mut wanted: Vec<_> = (low.max(-5)..=high.min(5)).filter_map(newest).collect();
            for direction in [Direction::Forward, Direction::Backward] {
                let found: Vec<_> = reader
                    .rows(Stream::FIRST, 0, 7, low..=high, Some(position(at)), direction)
                    .unwrap()
                    .map(|row| {
                        let (ordinal, row) = row.unwrap();
                        assert_eq!(row.bytes.as_slice(), row.version.get().to_le_bytes());
                        (ordinal, row.version.get())
                    })
                    .collect();
                assert_eq!(found, wanted, "at {at}, {low}..={high}");
                wanted.reverse();
            }
        }
        for ordinal in -5..=5 {
            let row = reader.row(&key(ordinal), Some(position(at))).unwrap();
            let found = row.map(|row| (ordinal, row.version.get()));
            assert_eq!(found, newest(ordinal));
        }
    }
}

#[test]
fn the_frames_of_a_stream_are_found_without_the_others() {
    let place = place();
    let options = Options { frame_bytes_max: 4096, ..Options::default() };
    let storage = Storage::open(&place.path, &options).unwrap().storage;
    let mut next = [1_u64; 21];
    for round in 0..300_u64 {
        let mut frame = storage.begin_frame();
        if round == 0 {
            for number in 1..=20 {
                frame.declare(stream(number), &format!("s{number}")).unwrap();
            }
        }
        // Stream 20 is used in every hundredth round only.
        let number = if round % 100 == 99 { 20 } else { round % 19 + 1 };
        for _ in 0..3 {
            let place = &mut next[number as usize];
            frame.push(stream(number), seq(*place), &[round as u8; 200]).unwrap();
            *place += 1;
        }
        frame.end_batch(None);
        storage.append(frame, Durability::Buffered).unwrap();
        if round % 40 == 17 {
            checkpoint(&storage, |_| {});
        }
    }
    let reader = storage.reader().unwrap();
    for number in 1..=20 {
        for from in [1, 2, 5, next[number as usize] - 1] {
            let mut seqs = Vec::new();
            for frame in reader.frames_of(stream(number), seq(from)).unwrap() {
                seqs.extend(
                    frame
                        .unwrap()
                        .entries()
                        .map(Result::unwrap)
                        .filter_map(|entry| (entry.stream == stream(number) && entry.seq >= seq(from)).then_some(entry.seq.get())),
                );
            }
            assert_eq!(seqs, (from..next[number as usize]).collect::<Vec<_>>());
        }
    }
    let fresh = storage.reader().unwrap();
    let found = fresh.frames_of(stream(20), seq(1)).unwrap().count();
    assert!(found <= 3, "{found}");
    let main = fresh.frames(Position::FIRST).unwrap().count();
    assert!(main > 20, "{main} frames cannot show that others are passed over");
}

#[test]
fn a_rebuild_replaces_rows_and_index_and_one_that_died_leaves_no_trace() {
    let place = place();
    let storage = open(&place).storage;
    let key = |ordinal| RowKey { stream: Stream::FIRST, epoch: 0, kind: 1, ordinal };
    append(&storage, 1, 3, Durability::Durable);
    checkpoint(&storage, |checkpoint| {
        checkpoint.put_row(&key(1), b"old").unwrap();
        checkpoint.put_index(b"old", b"1").unwrap();
    });
    {
        let mut died = storage.begin_rebuild().unwrap();
        died.put_row(&key(9), position(3), b"never").unwrap();
        died.put_index(b"never", b"1").unwrap();
        died.flush().unwrap();
    }
    let mut rebuild = storage.begin_rebuild().unwrap();
    assert!(matches!(storage.begin_rebuild(), Err(Error::OutOfOrder(_))));
    rebuild.put_row(&key(1), position(3), b"new").unwrap();
    rebuild.put_index(b"new", b"2").unwrap();
    rebuild.flush().unwrap();
    rebuild.put_row(&key(2), position(3), b"new two").unwrap();
    assert_eq!(rebuild.row(&key(1), None).unwrap().unwrap().bytes.as_slice(), b"new");
    let rows = rebuild.rows(Stream::FIRST, 0, 1, 0..=9, None, Direction::Backward).unwrap();
    assert_eq!(rows.iter().map(|(ordinal, _)| *ordinal).collect::<Vec<_>>(), [2, 1]);
    let reader = storage.reader().unwrap();
    assert_eq!(reader.row(&key(1), None).unwrap().unwrap().bytes.as_slice(), b"old");

    append(&storage, 4, 1, Durability::Durable);
    checkpoint(&storage, |_| {});
    let behind = rebuild.finish(Position::new(3)).unwrap_err();
    assert!(matches!(behind, Error::RebuildBehind { .. }));
    rebuild.put_meta("reducer", b"r2");
    rebuild.finish(Position::new(4)).unwrap();
    drop(rebuild);
    let reader = storage.reader().unwrap();
    assert_eq!(reader.row(&key(2), None).unwrap().unwrap().bytes.as_slice(), b"new two");
    assert!(reader.row(&key(9), None).unwrap().is_none());
    assert_eq!(reader.index_get(b"new").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(reader.index_get(b"old").unwrap(), None);
    assert_eq!(reader.meta("reducer").unwrap().as_deref(), Some(&b"r2"[..]));
    let tables: Vec<_> = storage.stats().unwrap().tables.into_iter().map(|t| t.name).collect();
    assert!(tables.iter().all(|name| !name.ends_with(".1")), "{tables:?}");
}

#[test]
fn every_limit_is_enforced_where_it_is_met() {
    let place = place();
    let options =
        Options { tail_bytes_hard_max: 500, append_bytes_max: 4_000, row_bytes_max: 100, index_key_bytes_max: 10, ..Options::default() };
    let storage = Storage::open(&place.path, &options).unwrap().storage;
    append(&storage, 1, 20, Durability::Durable);
    let mut frame = storage.begin_frame();
    frame.push(stream(1), seq(21), b"x").unwrap();
    let large = frame.push(stream(1), seq(22), &[0; 5_000]).unwrap_err();
    assert!(matches!(large, Error::TooLarge { limit: "append_bytes_max", .. }), "{large:?}");
    frame.end_batch(None);
    let full = storage.append(frame, Durability::Durable).unwrap_err();
    assert!(matches!(full, Error::TailFull { bytes_max: 500, .. }), "{full:?}");
    checkpoint(&storage, |checkpoint| {
        let key = RowKey { stream: stream(1), epoch: 0, kind: 0, ordinal: 0 };
        let large = checkpoint.put_row(&key, &[0; 101]).unwrap_err();
        assert!(matches!(large, Error::TooLarge { limit: "row_bytes_max", .. }), "{large:?}");
        let large = checkpoint.put_index(&[0; 11], b"").unwrap_err();
        assert!(matches!(large, Error::TooLarge { limit: "index_key_bytes_max", .. }));
    });
    append(&storage, 21, 1, Durability::Durable);
    assert_eq!(storage.head(), Position::new(21));
}
