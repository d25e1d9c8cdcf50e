//! Bytes that claim to be events, in a log that is whole.

use std::path::Path;

use turnstore::state::{LAYOUT_FINGERPRINT, SEMANTICS_FINGERPRINT, Session};
use turnstore::{Engine, Position, Seq, Store, Stream};
use turnstore_storage::{Durability, Storage};

use crate::memory::Files;

const PLACE: &str = "in memory";

/// The bytes are cut into events where `\xff\xff` stands; what decodes is folded.
pub fn event_decode(bytes: &[u8]) {
    let files = Files::default();
    let Ok(opened) = Storage::open(Path::new(PLACE), &files.options()) else { return };
    let storage = opened.storage;
    let mut frame = storage.begin_frame();
    frame.declare(Stream::FIRST, "s").expect("a new stream");
    for (n, event) in cut(bytes).into_iter().enumerate() {
        frame.push(Stream::FIRST, Seq::new(n as u64 + 1).expect("above zero"), event).expect("it joins");
    }
    frame.end_batch(None);
    storage.append(frame, Durability::Durable).expect("memory takes it");
    let mut checkpoint = storage.begin_checkpoint(storage.head().expect("there is an event")).expect("at the head");
    checkpoint.put_meta("layout", &LAYOUT_FINGERPRINT.to_le_bytes());
    checkpoint.put_meta("semantics", &SEMANTICS_FINGERPRINT.to_le_bytes());
    checkpoint.commit().expect("memory takes it");
    storage.close().expect("all of it is in main");

    let options = Engine::options().medium(std::sync::Arc::new(files));
    let store = Store::read_with(PLACE, &options).expect("it was closed");
    let mut session = Session::empty();
    for owned in store.view().log(Position::FIRST).expect("the log is whole") {
        let owned = owned.expect("the log is whole");
        let Ok(event) = owned.event() else { continue };
        if let turnstore::event::Body::Fact(fact) = &event.body {
            while let Some(need) = session.missing(fact) {
                session.supply(&need, None).expect("nothing was ever written");
            }
        }
        session.reduce(&event);
    }
    session.state.changed_rows().expect("what was folded can be written");
    drop(store);
}

fn cut(bytes: &[u8]) -> Vec<&[u8]> {
    let mut events = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(2).position(|pair| pair == [0xff, 0xff]).filter(|_| events.len() < 64) {
        events.push(&rest[..at]);
        rest = &rest[at + 2..];
    }
    events.push(rest);
    events
}
