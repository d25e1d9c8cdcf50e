//! Records and headers of the tail, written, read and damaged; frames in memory.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking, its helpers too")]

use crate::body::Body;
use crate::error::Error;
use crate::frame::{CODEC_PLAIN, Declared, Frame, Header};
use crate::ids::*;
use crate::link::{DigestKey, Link};
use crate::live::Live;
use crate::state::TailId;
use crate::tail_record::*;
use proptest::prelude::*;

const STORE: StoreId = StoreId::from_bytes([9; 16]);

fn frame(first: u64, events: &[Vec<u8>]) -> Frame {
    let mut body = Body::default();
    body.declare(&Declared { stream: Stream::FIRST, name: "s", key: DigestKey([3; 32]) });
    for (number, bytes) in events.iter().enumerate() {
        body.push(Stream::FIRST, Seq::new(number as u64 + 1).unwrap(), bytes);
    }
    body.end(None);
    let stored = body.finish();
    let bytes = stored.len() as u32;
    let header = Header {
        codec: CODEC_PLAIN,
        flags: 0,
        store: STORE,
        first: Position::new(first).unwrap(),
        count: body.count(),
        body_bytes: bytes,
        stored_bytes: bytes,
        before: Link([1; 32]),
        after: Link([2; 32]),
    };
    Frame::of_body(header, stored).unwrap()
}

fn read(record: &[u8], seed: Seed) -> Option<(Head, Header)> {
    let head = Head::parse(record, seed)?;
    Some((head, head.frame_header(record)?))
}

proptest! {
    #[test]
    fn a_record_gives_back_its_frame_and_its_stamp(
        events in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..20),
        first in 1..u64::MAX / 2, generation: u64, synced: u64, before in 0_usize..4,
    ) {
        let (frame, seed) = (frame(first, &events), Seed::of(TailId([7; 16])));
        let stamp = Stamp { generation, synced: Position::new(synced) };
        let mut out = vec![0; before * ALIGNMENT];
        put_record(&mut out, seed, stamp, &frame);
        let record = &out[before * ALIGNMENT..];
        let (head, header) = read(record, seed).unwrap();
        prop_assert_eq!(head.stamp, stamp);
        prop_assert_eq!(&header, frame.header());
        prop_assert_eq!(head.record_bytes(), record.len() as u64);
        prop_assert_eq!(record_bytes(&frame), record.len() as u64);
        let sealed = &record[HEAD_BYTES..HEAD_BYTES + head.frame_bytes as usize];
        let found = Frame::decode(STORE, frame.first(), sealed).unwrap();
        let bytes: Vec<_> = found.entries().map(|entry| entry.unwrap().bytes.to_vec()).collect();
        prop_assert_eq!(bytes, events);
        prop_assert!(read(record, Seed::of(TailId([8; 16]))).is_none(), "the record of another file");
    }

    #[test]
    fn a_record_with_a_changed_byte_or_a_cut_is_none(
        event in proptest::collection::vec(any::<u8>(), 0..80), flip in 1..=255_u8, place: prop::sample::Index,
    ) {
        let (frame, seed) = (frame(5, &[event]), Seed::of(TailId([7; 16])));
        let mut record = Vec::new();
        put_record(&mut record, seed, Stamp { generation: 3, synced: Position::new(4) }, &frame);
        let whole = HEAD_BYTES + frame.sealed_len();
        let at = place.index(whole);
        prop_assert!(read(&record[..at], seed).is_none());
        record[at] ^= flip;
        prop_assert!(read(&record, seed).is_none());
    }

    #[test]
    fn frames_in_memory_are_found_from_any_position_and_snapshots_stay(
        sizes in proptest::collection::vec(1_usize..4, 1..300), cut: prop::sample::Index, look: prop::sample::Index,
    ) {
        let mut live = Live::default();
        let mut first = 1;
        let cut = cut.index(sizes.len());
        let mut snapshot = live.clone();
        let mut frames = Vec::new();
        for (place, size) in sizes.iter().enumerate() {
            if place == cut {
                snapshot = live.clone();
            }
            let frame = frame(first, &vec![Vec::new(); *size]);
            first += *size as u64;
            live.push(frame.clone());
            frames.push(frame);
        }
        let firsts = |live: &Live, from: u64| live.from(Position::new(from).unwrap()).map(Frame::first).collect::<Vec<_>>();
        let wanted = |frames: &[Frame], from: u64| {
            frames.iter().filter(|frame| frame.last().get() >= from).map(Frame::first).collect::<Vec<_>>()
        };
        let from = look.index(first as usize) as u64 + 1;
        prop_assert_eq!(firsts(&live, from), wanted(&frames, from));
        prop_assert_eq!(firsts(&snapshot, from), wanted(&frames[..cut], from));
        live.forget(Position::new(from));
        prop_assert_eq!(firsts(&live, from + 1), wanted(&frames, from + 1));
        prop_assert_eq!(firsts(&snapshot, 1), wanted(&frames[..cut], 1));
    }
}

#[test]
fn a_header_round_trips_and_damage_makes_it_none() {
    let header = TailHeader { store: STORE, id: TailId([4; 16]), generation: 11 };
    let mut stored = header.stored();
    assert_eq!(TailHeader::parse(&stored).unwrap(), Some(header));
    for at in 0..stored.len() {
        stored[at] ^= 1;
        assert_eq!(TailHeader::parse(&stored).unwrap(), None, "byte {at}");
        stored[at] ^= 1;
        assert_eq!(TailHeader::parse(&stored[..at]).unwrap(), None, "cut at {at}");
    }
    assert_eq!(TailHeader::parse(&[0; 64]).unwrap(), None);
}

#[test]
fn a_header_of_another_format_is_named() {
    let mut stored = TailHeader { store: STORE, id: TailId([4; 16]), generation: 1 }.stored();
    stored[4] = 77;
    let end = stored.len() - 4;
    let checksum = crc32c::crc32c(&stored[..end]).to_le_bytes();
    stored[end..].copy_from_slice(&checksum);
    assert!(matches!(TailHeader::parse(&stored), Err(Error::Format { found: 77, .. })));
}
