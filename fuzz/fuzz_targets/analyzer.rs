//! `cargo +nightly fuzz run analyzer`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rollscope_fuzz::analyzer(data));
