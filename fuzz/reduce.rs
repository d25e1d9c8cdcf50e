//! Facts, folded in two ways.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| turnstore_fuzz::reduce(bytes));
