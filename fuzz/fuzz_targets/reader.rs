//! `cargo +nightly fuzz run reader`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rollscope_fuzz::reader(data));
