//! Every event of the recorded AG-UI streams decodes and encodes back to itself.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::panic,
    reason = "helpers of tests fail as tests do, and say why they skip"
)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use turnstore::adapter::aiui::{Decoder, encode_stated};
use turnstore::adapter::source::{Item, Reader};

fn shared(part: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(part);
    if !path.is_dir() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn round_trips(file: &Path) -> usize {
    let bytes = fs::read(file).unwrap();
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    let mut decoder = Decoder::new();
    let mut events = 0;
    while let Some(item) = reader.read().unwrap() {
        let Item::Event(raw) = item else { continue };
        events += 1;
        let mut facts = Vec::new();
        decoder.decode_raw(raw, &mut facts);
        assert!(!facts.is_empty());
        let back = encode_stated(&facts).unwrap();
        match serde_json::from_str::<Value>(raw.text) {
            Ok(value) => assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), value, "{}: {facts:?}", file.display()),
            Err(_) if raw.text.contains("\\ud8") => {
                let fields = |text: &str| {
                    serde_json::from_str::<std::collections::BTreeMap<String, Box<serde_json::value::RawValue>>>(text).unwrap()
                };
                assert_eq!(format!("{:?}", fields(&back)), format!("{:?}", fields(raw.text)));
            }
            Err(_) => assert_eq!(back, raw.text),
        }
    }
    events
}

#[test]
fn every_recorded_event_encodes_back_to_itself() {
    let mut events = 0;
    for folder in ["agui/vectors", "corpus/ag_ui"] {
        let Some(folder) = shared(folder) else { return };
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.ends_with(".input.json") && !name.ends_with(".expected.json") {
                events += round_trips(&path);
            }
        }
    }
    assert!(events > 4000, "{events}");
}
