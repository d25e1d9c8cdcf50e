//! A source of events: read, decoded, encoded back, folded.

use std::time::UNIX_EPOCH;

use serde_json::Value;
use turnstore::adapter::aiui::{Decoder, Folder, Start, encode_stated};
use turnstore::adapter::source::{Item, Reader};

const LINE_BYTES_MAX: usize = 64 * 1024;

/// Every event gives facts, and the facts give an event back; the fold ends with a projection.
pub fn adapter_aiui(bytes: &[u8]) {
    let mut decoder = Decoder::new();
    let mut folder = Folder::new(&Start::default(), UNIX_EPOCH);
    let Ok(mut reader) = Reader::with_limit(bytes, LINE_BYTES_MAX) else { return };
    while let Ok(Some(item)) = reader.read() {
        match item {
            Item::Problem(problem) => folder.problem(problem),
            Item::Event(raw) => {
                let mut facts = Vec::new();
                decoder.decode_raw(raw, &mut facts);
                assert!(!facts.is_empty(), "no facts of {:?}", raw.text);
                let back = encode_stated(&facts).unwrap_or_else(|error| panic!("{error}: {facts:?}"));
                if let Ok(value) = serde_json::from_str::<Value>(raw.text) {
                    // A name that only the transport gave is written into the event.
                    let named = raw.name.is_some() || raw.id.is_some();
                    assert!(named || serde_json::from_str::<Value>(&back).ok() == Some(value), "{} came back as {back}", raw.text);
                }
                folder.event(raw);
            }
        }
    }
    let projection = folder.finish();
    assert!(projection.get("messages").is_some_and(|messages| messages.is_array()), "{projection}");
}
