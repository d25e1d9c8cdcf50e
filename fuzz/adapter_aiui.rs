//! A source of events.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| turnstore_fuzz::adapter_aiui(bytes));
