//! Bytes that claim to be events.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| turnstore_fuzz::event_decode(bytes));
