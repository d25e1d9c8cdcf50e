//! Frames written, merged, cut and damaged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use crate::body::Body;
use crate::builder::seal;
use crate::error::Error;
use crate::frame::{CODEC_PLAIN, Declared, Entry, Frame, Header};
use crate::ids::*;
use crate::link::{Chain, DigestKey, Link};
use crate::merge::Merger;
use proptest::prelude::*;

const STORE: StoreId = StoreId::from_bytes([9; 16]);
const KEY: DigestKey = DigestKey([5; 32]);

/// An event: its stream (1 to 40), its bytes, and whether a batch ends with it, with a key or not.
type Spec = (u64, Vec<u8>, Option<Option<u8>>);

fn spec() -> impl Strategy<Value = Spec> {
    let end = proptest::option::of(proptest::option::of(any::<u8>()));
    (1_u64..40, proptest::collection::vec(any::<u8>(), 0..200), end)
}

fn key(byte: u8) -> (BatchKey, BatchDigest) {
    (BatchKey([byte; 16]), BatchDigest([byte ^ 0xff; 16]))
}

/// Frames of these events, one after the other, each frame's last event ending a batch.
fn frames_of(specs: &[Vec<Spec>]) -> Vec<Frame> {
    let mut seqs = std::collections::HashMap::new();
    let (mut first, mut chain) = (Position::FIRST, Chain::from(Link::default()));
    let mut frames = Vec::new();
    for events in specs {
        let (mut body, before) = (Body::default(), chain.link());
        for (stream, bytes, end) in events {
            let stream = Stream::new(*stream).unwrap();
            let last = seqs.insert(stream, Seq::FIRST);
            let seq = Seq::after(last);
            seqs.insert(stream, seq);
            if last.is_none() {
                body.declare(&Declared { stream, name: &format!("s{stream}"), key: KEY });
            }
            chain.event(&KEY, bytes);
            body.push(stream, seq, bytes);
            if let Some(keyed) = end {
                body.end(keyed.map(key));
                chain.end();
            }
        }
        if body.is_open() {
            body.end(None);
            chain.end();
        }
        let stored = body.finish();
        let header = Header {
            codec: CODEC_PLAIN,
            flags: 0,
            store: STORE,
            first,
            count: body.count(),
            body_bytes: stored.len() as u32,
            stored_bytes: stored.len() as u32,
            before,
            after: chain.link(),
        };
        frames.push(Frame::decode(STORE, first, &seal(&header, &stored)).unwrap());
        first = header.last().next();
    }
    frames
}

fn entries(frames: &[Frame]) -> Vec<Entry<'_>> {
    frames.iter().flat_map(Frame::entries).map(Result::unwrap).collect()
}

fn specs() -> impl Strategy<Value = Vec<Vec<Spec>>> {
    proptest::collection::vec(proptest::collection::vec(spec(), 1..30), 1..8)
}

proptest! {
    #[test]
    fn frames_give_back_what_was_pushed(specs in specs()) {
        let frames = frames_of(&specs);
        let found = entries(&frames);
        let flat: Vec<_> = specs.iter().flat_map(|events| {
            let last = events.len() - 1;
            events.iter().enumerate().map(move |(at, event)| (event, at == last))
        }).collect();
        prop_assert_eq!(found.len(), flat.len());
        for (place, (entry, ((stream, bytes, end), last))) in found.iter().zip(flat).enumerate() {
            prop_assert_eq!(entry.position.get(), place as u64 + 1);
            prop_assert_eq!(entry.stream.get(), *stream);
            prop_assert_eq!(entry.bytes, bytes.as_slice());
            let wanted = end.map(|keyed| BatchEnd { key: keyed.map(key) });
            prop_assert_eq!(entry.batch_end, wanted.or(last.then_some(BatchEnd { key: None })));
        }
    }

    #[test]
    fn merging_keeps_every_event_and_every_link_it_states(
        specs in specs(), body_bytes_max in 64_usize..5000,
    ) {
        let frames = frames_of(&specs);
        let mut merger = Merger::new(STORE, 1, body_bytes_max).unwrap();
        for frame in &frames {
            merger.push(frame).unwrap();
        }
        let merged: Vec<_> = merger.finish().unwrap().iter()
            .map(|merged| Frame::decode(STORE, merged.first, &merged.sealed).unwrap())
            .collect();
        prop_assert_eq!(entries(&merged), entries(&frames));
        // Merged again, as later checkpoints do, all is still there.
        let mut again = Merger::new(STORE, 3, 1 << 20).unwrap();
        for frame in &merged {
            again.push(frame).unwrap();
        }
        let one: Vec<_> = again.finish().unwrap().iter()
            .map(|merged| Frame::decode(STORE, merged.first, &merged.sealed).unwrap())
            .collect();
        prop_assert_eq!(one.len(), 1);
        prop_assert_eq!(entries(&one), entries(&frames));
        prop_assert_eq!(one[0].header().before, Link::default());
        prop_assert_eq!(one[0].header().after, frames.last().unwrap().header().after);
        let names = |frames: &[Frame]| frames.iter()
            .flat_map(|frame| frame.declared().map(|(s, name)| (s, name.to_owned())).collect::<Vec<_>>())
            .collect::<Vec<_>>();
        prop_assert_eq!(names(&one), names(&frames));
    }

    #[test]
    fn a_flipped_bit_is_damage(specs in specs(), bit: proptest::sample::Index) {
        let frames = frames_of(&specs[..1]);
        let mut merger = Merger::new(STORE, 1, 1 << 20).unwrap();
        merger.push(&frames[0]).unwrap();
        let mut sealed = merger.finish().unwrap().remove(0).sealed;
        let bit = bit.index(sealed.len() * 8);
        sealed[bit / 8] ^= 1 << (bit % 8);
        let found = Frame::decode(STORE, Position::FIRST, &sealed);
        let refused = matches!(found, Err(Error::Corrupt(_) | Error::Format { .. }));
        prop_assert!(refused, "bit {}", bit);
    }

    #[test]
    fn any_bytes_with_a_good_checksum_decode_or_are_damage_without_a_panic(
        mut body in proptest::collection::vec(any::<u8>(), 0..300),
        count in 1_u32..9, body_bytes in 0_u32..400, codec in 0_u8..3, tame: bool,
    ) {
        if tame && body.len() > 3 {
            body[..2].copy_from_slice(&[0, 1]);
        }
        let header = Header {
            codec, flags: 0, store: STORE, first: Position::FIRST, count,
            body_bytes: if tame { body.len() as u32 } else { body_bytes },
            stored_bytes: body.len() as u32, before: Link::default(), after: Link::default(),
        };
        if let Ok(frame) = Frame::decode(STORE, Position::FIRST, &seal(&header, &body)) {
            prop_assert!(frame.entries().count() <= count as usize);
            prop_assert!(frame.declared().count() <= body.len());
        }
    }
}

#[test]
fn the_bytes_of_a_frame_are_these() {
    let specs = vec![vec![(1, b"hello".to_vec(), None), (2, b"!".to_vec(), Some(Some(7)))]];
    let frames = frames_of(&specs);
    let header = frames[0].header();
    let mut sealed = Vec::new();
    header.put(&mut sealed);
    assert_eq!(sealed.len(), crate::frame::HEADER_BYTES);
    assert_eq!(&sealed[..8], b"tsFR\x01\x00\x00\x00");
    assert_eq!(&sealed[8..24], &[9; 16]);
    assert_eq!(&sealed[24..44], &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 122, 0, 0, 0, 122, 0, 0, 0]);
    let digest = |bytes: &[u8]| *blake3::keyed_hash(&[5; 32], bytes).as_bytes();
    let root = blake3::hash(&[digest(b"hello"), digest(b"!")].concat());
    let link = blake3::hash(&[[0; 32], *root.as_bytes()].concat());
    assert_eq!(&sealed[44..76], &[0; 32]);
    assert_eq!(&sealed[76..], link.as_bytes());
}
