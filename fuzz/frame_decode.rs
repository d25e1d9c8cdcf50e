//! Bytes of a tail file, changed.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| turnstore_fuzz::frame_decode(bytes));
