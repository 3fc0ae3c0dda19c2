//! Records of a log, blocks of a checkpoint, a backup and an archive, of whatever bytes ([`reading`]). Nothing panics. Run with
//! `cargo +nightly fuzz run entries` in crates/disk.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../../kernel/tests/entries/reading.rs"]
mod reading;

fuzz_target!(|bytes: &[u8]| {
    reading::read(bytes);
});
