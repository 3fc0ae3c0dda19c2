//! A part of a store whose files are what they are made of.
//!
//! ```text
//!   for each file: name u8, an index of NAMES | length u16 | bytes
//! ```

use std::path::Path;

use disk::{Disk, Options};

pub const NAMES: [&str; 8] = [
    "redo-0000000001",
    "redo-0000000002",
    "redo-0000000003",
    "spare-0000000001",
    "manifest-0",
    "manifest-1",
    "rows-0000000001",
    "rows-0000000002",
];

/// Of a store of one part, with short files.
pub fn options(dir: &Path) -> Options {
    Options {
        dir: dir.to_path_buf(),
        parts: 1,
        file_bytes: 4_096,
        spares_max: 1,
        reserve: 0,
        checkpoint_bytes_per_second: u64::MAX,
        seed: 7,
        kept_from: Box::new(|_, _| None),
    }
}

/// Opens it, and reads everything in it. Returns how many blocks of checkpoints and records of the log there are, if it can be opened.
pub fn read(bytes: &[u8]) -> Option<(usize, usize)> {
    let dir = tempfile::tempdir_in("/dev/shm").expect("a file system in memory");
    let part = dir.path().join("part-0");
    std::fs::create_dir(&part).unwrap();
    let mut rest = bytes;
    while let [name, low, high, behind @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let (file, next) = behind.split_at(length);
        std::fs::write(part.join(NAMES[usize::from(*name) % NAMES.len()]), file).unwrap();
        rest = next;
    }
    std::fs::write(dir.path().join("made"), "1\n").unwrap();
    let disk = Disk::open(&options(dir.path())).ok()?;
    let mut blocks = 0;
    for found in disk.checkpoints(0) {
        let _ = disk.read_checkpoint(0, found.number, &mut |_| {
            blocks += 1;
            Ok(())
        });
    }
    let (mut last, mut records) = (disk.begin(0), 0);
    let read = disk.read_log(0, 0, &mut |place, _| {
        assert!(last < place, "places only grow");
        (last, records) = (place, records + 1);
        Ok(())
    });
    let end = disk.durable(0).max(disk.begin(0));
    assert!(read.is_err() || last == end, "all of it is visited, or it is said why not");
    Some((blocks, records))
}
