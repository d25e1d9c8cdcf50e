//! Text that claims to be a cursor.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| turnstore_fuzz::cursor_decode(bytes));
