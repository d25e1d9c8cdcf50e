//! A source of events: read, decoded, encoded back, folded.

use std::time::UNIX_EPOCH;

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
                if let Err(error) = encode_stated(&facts) {
                    panic!("{error}: {facts:?}");
                }
                folder.event(raw);
            }
        }
    }
    let projection = folder.finish();
    assert!(projection.get("messages").is_some_and(|messages| messages.is_array()), "{projection}");
}
