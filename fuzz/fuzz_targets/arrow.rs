#![no_main]

#[expect(dead_code, reason = "each target runs one of the readers")]
#[path = "../../tests/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::binary(bytes));
