//! Frames of a tail file, changed at will; their checksums mended, or not.

use std::path::Path;
use std::sync::LazyLock;

use turnstore_storage::{BatchDigest, BatchKey, Durability, Position, Seq, Storage, Stream, Which};

use crate::memory::Files;

const SLOT_BYTES: usize = 4096;
const HEAD_BYTES: usize = 32;
const PLACE: &str = "in memory";

/// A store that a writer left, with three frames in its tail.
static LEFT: LazyLock<Files> = LazyLock::new(|| {
    let files = Files::default();
    let storage = Storage::open(Path::new(PLACE), &files.options()).expect("a new store opens").storage;
    for round in 0..3_u64 {
        let mut frame = storage.begin_frame();
        if round < 2 {
            let stream = storage.next_stream();
            frame.declare(stream, &format!("session {round}")).expect("a new stream");
            frame.push(stream, Seq::FIRST, b"the first event").expect("it joins");
        }
        for n in 0..3 {
            let seq = Seq::new(2 + round * 3 + n).expect("above zero");
            frame.push(Stream::FIRST, seq, format!("event {seq} of the first").as_bytes()).expect("it joins");
        }
        frame.end_batch(Some((BatchKey([round as u8; 16]), BatchDigest([7; 16]))));
        storage.append(frame, Durability::Durable).expect("memory takes it");
    }
    drop(storage);
    files
});

/// Where the records of a tail are.
fn records(tail: &[u8]) -> Vec<(usize, usize)> {
    let mut records = Vec::new();
    let mut at = 2 * SLOT_BYTES;
    while let Some(head) = tail.get(at..at + HEAD_BYTES).filter(|head| head.starts_with(b"tsRC")) {
        let bytes = u32::from_le_bytes(head[4..8].try_into().expect("four bytes")) as usize;
        records.push((at, bytes));
        at += (HEAD_BYTES + bytes).next_multiple_of(8);
    }
    records
}

/// Makes the checksums of a record those of its bytes.
fn mend(tail: &mut [u8], (at, bytes): (usize, usize)) {
    let seed = crc32c::crc32c(&tail[24..40]);
    let frame = at + HEAD_BYTES;
    let of_frame = crc32c::crc32c(&tail[frame..frame + bytes - 4]).to_le_bytes();
    tail[frame + bytes - 4..frame + bytes].copy_from_slice(&of_frame);
    tail[at + 24..at + 28].copy_from_slice(&of_frame);
    let of_head = crc32c::crc32c_append(seed, &tail[at..at + 28]).to_le_bytes();
    tail[at + 28..at + 32].copy_from_slice(&of_head);
}

/// `bytes` = mode 1 | changes of three bytes: where 2, what 1.
pub fn frame_decode(bytes: &[u8]) {
    let Some((mode, changes)) = bytes.split_first() else { return };
    let files = LEFT.copied();
    files.change(Which::Tail, |tail| {
        let records = records(tail);
        let from = if mode & 1 == 0 { 2 * SLOT_BYTES } else { 0 };
        for change in changes.chunks_exact(3).take(64) {
            let place = from + usize::from(u16::from_le_bytes([change[0], change[1]])) % 1024;
            if let Some(byte) = tail.get_mut(place) {
                *byte = change[2];
            }
        }
        if mode & 2 == 0 {
            records.into_iter().for_each(|record| mend(tail, record));
        }
        if mode & 4 != 0 {
            tail.truncate(from + changes.len());
        }
    });
    let Ok(opened) = Storage::open(Path::new(PLACE), &files.options()) else { return };
    let mut count = 0;
    for frame in &opened.tail {
        count += frame.entries().filter(Result::is_ok).count() + frame.declared().count();
    }
    let storage = opened.storage;
    let Ok(reader) = storage.reader() else { return };
    if let Ok(frames) = reader.frames(Position::FIRST) {
        count += frames.filter_map(Result::ok).count();
    }
    let _ = (count, reader.verify(), reader.key(Stream::FIRST, &BatchKey([1; 16])));
    // What opened takes more, and can be checkpointed and closed.
    let head = storage.head();
    if let Some(head) = head {
        let checkpoint = storage.begin_checkpoint(head).and_then(|checkpoint| checkpoint.commit());
        let _ = checkpoint.and_then(|()| storage.close());
    }
}
