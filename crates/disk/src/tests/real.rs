//! Threads and real files.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::prove_section;
use crate::checkpoints::Checkpoints;
use crate::files::{Directory, Files};
use crate::format::DEVICE_BLOCK;
use crate::manifest::Manifest;
use crate::segment::pack;
use crate::{Disk, Options, Room};

pub fn options(dir: &std::path::Path, parts: u16) -> Options {
    Options {
        dir: dir.to_path_buf(),
        parts,
        file_bytes: 64 << 10,
        spares_max: 1,
        reserve: 1,
        checkpoint_bytes_per_second: 1 << 30,
        seed: 11,
        kept_from: Box::new(|_, _| None),
    }
}

fn start(disk: &Disk) -> Arc<AtomicU64> {
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let on_progress = move |_part: u16| {
        count.fetch_add(1, Ordering::SeqCst);
    };
    disk.start(
        Arc::new(on_progress),
        Arc::new(|error: String| panic!("{error}")),
        Arc::new(|| ()),
        || (),
    )
    .unwrap();
    told
}

/// Whoever starts it hears of each thread that writes, in that thread, and can see to it that none of them ends alone.
#[test]
fn each_thread_that_writes_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::open(&options(&dir.path().join("rows"), 2)).unwrap();
    let names = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&names);
    let on_thread = move || {
        let name = std::thread::current().name().unwrap_or_default().to_string();
        noted.lock().unwrap().push(name);
    };
    disk.start(Arc::new(|_| {}), Arc::new(|_| {}), Arc::new(on_thread), || ()).unwrap();
    drop(disk);
    let mut names = names.lock().unwrap().clone();
    names.sort();
    assert_eq!(names, ["checkpoint", "checkpoint", "redo", "redo"]);
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A checkpoint cannot be written: from then on nothing is. What was given to the log and had not been written goes, and nothing that came
/// behind it is there without it.
#[test]
fn a_failed_store_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("rows");
    let disk = Disk::open(&options(&dir, 1)).unwrap();
    let failure = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&failure);
    let on_failure = move |error: String| *noted.lock().unwrap() = Some(error);
    disk.start(Arc::new(|_| {}), Arc::new(on_failure), Arc::new(|| ()), || ()).unwrap();
    let append = |number: u64| disk.append(0, |out| out.extend(&number.to_le_bytes())).end;
    (0..100).for_each(|number| _ = append(number));
    disk.flush(0);
    wait_until("it is durable", || disk.durable(0) == disk.end(0));
    let end = disk.end(0);
    // Not flushed, so it waits.
    append(100);
    let in_the_way = dir.join("part-0").join(crate::format::numbered("rows", 1));
    std::fs::create_dir(&in_the_way).unwrap();
    disk.begin_checkpoint(0);
    disk.begin_section(0, 1);
    disk.add_block(0, vec![7; 1_000]);
    wait_until("it has failed", || failure.lock().unwrap().is_some());
    assert_eq!(disk.room(), Room::Failed);
    for number in 101..200 {
        append(number);
        disk.flush(0);
    }
    disk.close();
    assert_eq!(disk.durable(0), end);
    drop(disk);
    std::fs::remove_dir(&in_the_way).unwrap();
    let disk = Disk::open(&options(&dir, 1)).unwrap();
    let mut found = Vec::new();
    disk.read_log(0, 0, &mut |_, bytes| {
        found.push(u64::from_le_bytes(bytes.try_into().unwrap()));
        Ok(())
    })
    .unwrap();
    assert_eq!(found, (0..100).collect::<Vec<u64>>());
}

/// What several threads give is durable in the order in which each gave it, and there again, with what a checkpoint took the place of.
#[test]
fn a_store_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("rows");
    let disk = Disk::open(&options(&dir, 2)).unwrap();
    let told = start(&disk);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let disk = &disk;
            scope.spawn(move || {
                for number in 0..500u64 {
                    let record = [thread.to_le_bytes(), number.to_le_bytes()].concat();
                    disk.append((thread % 2) as u16, |out| out.extend(&record.repeat(10)));
                    disk.flush((thread % 2) as u16);
                }
            });
        }
    });
    wait_until("all is durable", || (0..2).all(|part| disk.durable(part) == disk.end(part)));
    for _ in 0..5 {
        // What is given at once is one piece, and a piece does not cross files.
        disk.append(0, |out| out.extend(&[8; 40_000]));
        disk.flush(0);
        wait_until("it is durable", || disk.durable(0) == disk.end(0));
    }
    assert!(told.load(Ordering::SeqCst) > 1);
    let log_from = disk.end(0);
    let bytes_before = disk.log_bytes();
    disk.begin_checkpoint(0);
    disk.begin_section(0, 4);
    for block in 0..20u8 {
        wait_until("there is room", || disk.has_room(0));
        disk.add_block(0, vec![block; 100_000]);
    }
    disk.end_checkpoint(0, log_from..log_from, b"contents".to_vec());
    wait_until("the checkpoint is durable", || disk.checkpoint_written(0).is_some());
    assert!(!disk.is_writing_checkpoint(0) && disk.room() == Room::Ample);
    let number = disk.checkpoint_written(0).unwrap();
    disk.accept_checkpoint(0, number);
    disk.append(0, |out| out.extend(b"the last one"));
    wait_until("the log before it has gone", || disk.log_bytes() < bytes_before);
    drop(disk);

    let disk = Disk::open(&options(&dir, 2)).unwrap();
    let mut seen = [0u64; 4];
    disk.read_log(1, 0, &mut |_, bytes| {
        let thread = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let number = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
        assert_eq!(number, seen[thread]);
        seen[thread] += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(seen, [0, 500, 0, 500]);
    let found = disk.checkpoints(0);
    assert_eq!((found.len(), found[0].log_from), (1, log_from));
    assert_eq!(found[0].contents, b"contents");
    assert!(0 < disk.begin(0) && disk.begin(0) <= log_from);
    let mut blocks = 0u8;
    disk.read_checkpoint(0, number, &mut |block| {
        assert_eq!(block, vec![blocks; 100_000]);
        blocks += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(blocks, 20);
    let mut behind = Vec::new();
    disk.read_log(0, log_from, &mut |_, bytes| {
        behind.push(bytes.to_vec());
        Ok(())
    })
    .unwrap();
    assert_eq!(behind, [b"the last one".to_vec()]);
    drop(disk);
    let error = Disk::open(&options(&dir, 3)).err().expect("made for two").to_string();
    assert!(error.contains("made for 2 workers, and there are 3 now"), "{error}");
}

/// Who adds blocks is given the buffers of those that are done.
#[test]
fn buffers_of_blocks_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::open(&options(dir.path(), 1)).unwrap();
    start(&disk);
    disk.begin_checkpoint(0);
    disk.begin_section(0, 1);
    wait_until("one comes back", || {
        disk.has_room(0) && disk.add_block(0, vec![1; 100_000]).capacity() >= 100_000
    });
}

/// Files that are missing are damage, and not taken for a store that has just been made; another number of workers is a mistake.
#[test]
fn what_is_missing_is_damage() {
    let make = || {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::open(&options(dir.path(), 2)).unwrap();
        start(&disk);
        disk.append(1, |out| out.extend(b"a record"));
        disk.begin_checkpoint(1);
        disk.begin_section(1, 2);
        disk.add_block(1, vec![1; 10_000]);
        disk.end_checkpoint(1, disk.end(1)..disk.end(1), b"contents".to_vec());
        wait_until("the checkpoint is durable", || disk.checkpoint_written(1).is_some());
        disk.accept_checkpoint(1, disk.checkpoint_written(1).unwrap());
        let part = Directory::new(&dir.path().join("part-1"));
        // The disk's thread may be rewriting the manifest: a read beside it can fail.
        wait_until("it is accepted", || {
            let manifest = Manifest::read(&part).ok().flatten();
            manifest.is_some_and(|manifest| !manifest.is_first_not_accepted())
        });
        drop(disk);
        dir
    };
    let remove_file = |name: &'static str| {
        move |dir: &std::path::Path| std::fs::remove_file(dir.join(name)).unwrap()
    };
    let remove_part = |dir: &std::path::Path| std::fs::remove_dir_all(dir.join("part-1")).unwrap();
    let empty_part = |dir: &std::path::Path| {
        remove_part(dir);
        std::fs::create_dir(dir.join("part-1")).unwrap();
    };
    let cut = |dir: &std::path::Path| {
        let path = dir.join("part-1/rows-0000000002");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..30]).unwrap();
    };
    type Damage<'a> = (&'a str, &'a dyn Fn(&std::path::Path));
    let damages: [Damage<'_>; 5] = [
        ("of 2 parts 1 are there", &remove_part),
        ("part-1/manifest is damaged: there is none", &empty_part),
        ("rows-0000000002 is damaged", &cut),
        ("rows-0000000002 is damaged: it cannot be read", &remove_file("part-1/rows-0000000002")),
        ("redo is damaged: no file begins at place", &remove_file("part-1/redo-0000000001")),
    ];
    for (expected, damage) in damages {
        let dir = make();
        damage(dir.path());
        let error = Disk::open(&options(dir.path(), 2)).err().expect(expected);
        assert!(matches!(error, crate::DiskError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let error = Disk::open(&options(make().path(), 1)).err().expect("made for two");
    assert!(matches!(error, crate::DiskError::Io { .. }), "{error}");
}

/// Can files of this directory be read and written past the system's cache?
fn can_pass_the_cache(dir: &std::path::Path) -> bool {
    let path = dir.join("probe");
    std::fs::write(&path, [0; DEVICE_BLOCK]).unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::DIRECT;
    let buffer = vec![0; 2 * DEVICE_BLOCK];
    let aligned = &buffer[buffer.as_ptr().align_offset(DEVICE_BLOCK)..][..DEVICE_BLOCK];
    rustix::fs::open(path, flags, rustix::fs::Mode::empty())
        .is_ok_and(|direct| rustix::io::pwrite(direct, aligned, 0).is_ok())
}

/// A file that cannot be opened a second time is written and read all the same, and others go past the cache as before.
#[test]
fn what_cannot_be_opened_goes_without() {
    let dir = tempfile::tempdir().unwrap();
    let files = Directory::new(dir.path());
    let buffer = vec![7; 2 * DEVICE_BLOCK];
    let aligned = &buffer[buffer.as_ptr().align_offset(DEVICE_BLOCK)..][..DEVICE_BLOCK];
    for name in ["gone", "there"] {
        files.create(name, DEVICE_BLOCK as u64).unwrap();
        files.sync(name).unwrap();
    }
    std::fs::remove_file(dir.path().join("gone")).unwrap();
    files.write_at("gone", 0, aligned).unwrap();
    assert_eq!(files.read_from_device("gone", 0, DEVICE_BLOCK).unwrap(), aligned);
    files.write_at("there", 0, aligned).unwrap();
    assert!(!files.has_passed_the_cache("gone"));
    assert_eq!(files.has_passed_the_cache("there"), can_pass_the_cache(dir.path()));
}

/// What is written past the system's cache, and beside it, is what is read: whole blocks, blocks of a size that the device may not have,
/// and bytes of blocks that were written before or come to be written then.
#[test]
fn cached_and_direct_writes_agree() {
    let dir = tempfile::tempdir().unwrap();
    let files = Directory::new(dir.path());
    files.create("a", 64 << 10).unwrap();
    let mut expected = vec![0; 64 << 10];
    let buffer = vec![0u8; 16 << 10];
    let aligned = buffer.as_ptr().align_offset(DEVICE_BLOCK);
    let mut write = |at: usize, begin: usize, length: usize, byte: u8| {
        let mut buffer = buffer.clone();
        // The copy is somewhere else.
        let begin = begin - aligned + buffer.as_ptr().align_offset(DEVICE_BLOCK);
        buffer[begin..begin + length].fill(byte);
        files.write_at("a", at as u64, &buffer[begin..begin + length]).unwrap();
        expected[at..at + length].fill(byte);
        assert_eq!(files.read_at("a", 0, usize::MAX).unwrap(), expected, "{at} {length}");
    };
    for (byte, at) in (1u8..).zip([0, 8_192, 4_096, 40_960]) {
        write(at, aligned, 8_192, byte);
        write(at + 5_000, aligned + 1, 4_000, byte + 100);
        write(at + 4_096, aligned, 4_096, byte + 50);
        files.sync("a").unwrap();
    }
    assert_eq!(files.has_passed_the_cache("a"), can_pass_the_cache(dir.path()));
    write(64, aligned + 64, 128, 200);
    write(8_192, aligned, 8_192, 201);
}

/// What is read from the device is what is in the file, whatever part of it that is: of blocks that are there in part, and behind the end.
#[test]
fn reading_past_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let files = Directory::new(dir.path());
    let length = 3 * DEVICE_BLOCK + 100;
    let expected: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
    files.create("a", 0).unwrap();
    files.write_at("a", 0, &expected).unwrap();
    files.sync("a").unwrap();
    let edges = [0, 1, 4_095, 4_096, 4_097, 8_192, length - 1, length, length + 1, 40_000];
    for from in edges {
        for to in edges.into_iter().chain([usize::MAX]).filter(|to| from <= *to) {
            let read = files.read_from_device("a", from as u64, to - from).unwrap();
            assert_eq!(read, expected[from.min(length)..to.min(length)], "{from}..{to}");
        }
    }
    assert_eq!(files.has_passed_the_cache("a"), can_pass_the_cache(dir.path()));
}

/// There may be more sections than a process may have open files.
#[test]
fn sections_are_closed() {
    let dir = tempfile::tempdir().unwrap();
    let files: Arc<dyn Files> = Arc::new(Directory::new(dir.path()));
    let open_files = || {
        let all = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let paths = all.filter_map(|file| std::fs::read_link(file.path()).ok());
        paths.filter(|path| path.starts_with(dir.path())).count()
    };
    let mut part = Checkpoints::open(Arc::clone(&files), 77, true).unwrap();
    part.begin().unwrap();
    for number in 0..100 {
        part.begin_section(number).unwrap();
        part.add_block(pack(b"rows").unwrap()).unwrap();
        prove_section(&mut part).unwrap();
    }
    part.end(0..0, Vec::new()).unwrap();
    part.accept(part.newest().unwrap(), None).unwrap();
    assert!(open_files() < 10, "{}", open_files());
    let part = Checkpoints::open(files, 77, false).unwrap();
    let mut blocks = 0;
    let reader = part.reader(part.newest().unwrap()).unwrap();
    reader
        .read(&mut |_| {
            blocks += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!((blocks, open_files() < 10), (100, true));
}
