//! A part of a store whose files are what the fuzzer makes of them ([`reading`]): opened, and everything in it read, checkpoints
//! and the log. Checksums are all the same here (`cfg(fuzzing)`), so what is behind them is reached. Nothing panics, and nothing
//! takes more memory than a block may have. Run with `cargo +nightly fuzz run store` in crates/disk.

#![no_main]

use libfuzzer_sys::fuzz_target;

mod reading;

fuzz_target!(|bytes: &[u8]| {
    reading::read(bytes);
});
