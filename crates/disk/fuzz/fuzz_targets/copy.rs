//! A file of a backup or an archive, of whatever bytes, read to its end with no secret and with a key. Checksums are all the same
//! here (`cfg(fuzzing)`). Nothing panics, and nothing takes more memory than a block may have. Run with `cargo +nightly fuzz run copy` in
//! crates/disk.

#![no_main]

use std::io::Write;

use disk::copy::{CopyReader, Secret};
use libfuzzer_sys::fuzz_target;
use protocol::backup::CopyBlock;
use types::wire::Wire;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new_in("/dev/shm").expect("a file system in memory");
    file.write_all(bytes).unwrap();
    for secret in [None, Some(Secret::Key([7; 32]))] {
        let Ok(mut reader) = CopyReader::open(file.path(), secret.as_ref()) else { continue };
        while let Ok(Ok(block)) = reader.next_block() {
            let _ = CopyBlock::from_bytes(&block);
        }
    }
});
