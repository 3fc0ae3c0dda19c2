//! Files that stand by themselves, and a log that is read while it grows.

use std::sync::Arc;

use crate::copy::{CopyEnd, CopyReader, CopyWriter, Lock, Secret, key_of_password};
use crate::{Disk, DiskError, Options};

fn blocks() -> Vec<Vec<u8>> {
    (0..6u8).map(|block| vec![block; 40 * usize::from(block)]).collect()
}

fn write(path: &std::path::Path, lock: Option<&Lock>) {
    let _ = std::fs::remove_file(path);
    let mut writer = CopyWriter::create(path, lock, [7; 24]).unwrap();
    for block in blocks() {
        writer.add(&block).unwrap();
    }
    assert!(!path.exists(), "it has its name only when it is whole");
    writer.end().unwrap();
}

/// The blocks that are read back, and how the file ends.
fn read(
    path: &std::path::Path,
    secret: Option<&Secret>,
) -> Result<(Vec<Vec<u8>>, CopyEnd), DiskError> {
    let mut reader = CopyReader::open(path, secret)?;
    let mut found = Vec::new();
    loop {
        match reader.next_block()? {
            Ok(block) => found.push(block),
            Err(end) => return Ok((found, end)),
        }
    }
}

/// Two writers of a file of the same name do not disturb each other: one gets the name, the other an error, and removes nothing.
#[test]
fn nobody_replaces_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("node-2.part-0.backup");
    let mut writers = [7, 8].map(|seed| CopyWriter::create(&path, None, [seed; 24]).unwrap());
    for block in blocks() {
        writers.iter_mut().for_each(|writer| writer.add(&block).unwrap());
    }
    let [first, second] = writers;
    first.end().unwrap();
    let left = second.temporary().to_path_buf();
    assert!(second.end().is_err());
    assert!(left.exists(), "whoever made it removes it");
    assert_eq!(read(&path, None).unwrap(), (blocks(), CopyEnd::Clean));
    let again = CopyWriter::create(&path, None, [8; 24]).map(|_| ()).unwrap_err().to_string();
    assert!(again.contains("exists"), "a file that is there is not written: {again}");
}

#[test]
fn copies_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy");
    write(&path, None);
    assert_eq!(read(&path, None).unwrap(), (blocks(), CopyEnd::Clean));
    let error =
        read(&path, Some(&Secret::Password("any".into()))).expect_err("no secret").to_string();
    assert!(error.contains("is not encrypted"), "{error}");

    let (salt, password) = ([3; 16], "correct horse");
    let key = key_of_password(password, &salt, 10);
    write(&path, Some(&Lock { key, password: Some((salt, 10)) }));
    let bytes = std::fs::read(&path).unwrap();
    let plain = blocks().concat();
    let last = &plain[plain.len() - 100..];
    assert!(!bytes.windows(30).any(|window| window == &last[..30]), "nothing is to be read in it");
    let right = Secret::Password(password.into());
    assert_eq!(read(&path, Some(&right)).unwrap(), (blocks(), CopyEnd::Clean));
    for secret in [None, Some(Secret::Password("wrong".into())), Some(Secret::Key(key))] {
        let error = read(&path, secret.as_ref()).expect_err("another secret").to_string();
        assert!(error.contains("password"), "{error}");
    }
    write(&path, Some(&Lock { key, password: None }));
    assert_eq!(read(&path, Some(&Secret::Key(key))).unwrap(), (blocks(), CopyEnd::Clean));
    let error = read(&path, Some(&Secret::Key([9; 32]))).expect_err("another key").to_string();
    assert!(error.contains("another password or key"), "{error}");
}

/// Whatever byte changes, and wherever the file is cut: no block is given out that was not written, and none is missing in the middle.
#[test]
fn a_damaged_copy_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy");
    let key = [5; 32];
    for lock in [None, Some(Lock { key, password: None })] {
        write(&path, lock.as_ref());
        let secret = lock.as_ref().map(|lock| Secret::Key(lock.key));
        let whole = std::fs::read(&path).unwrap();
        let (mut refused, mut torn) = (0, 0);
        let mut look = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            match read(&path, secret.as_ref()) {
                Ok((found, end)) => {
                    assert_eq!(found, blocks()[..found.len()]);
                    assert!(
                        end == CopyEnd::Torn || bytes.len() < whole.len(),
                        "changed, and not noticed"
                    );
                    torn += 1;
                }
                Err(_) => refused += 1,
            }
        };
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            look(&changed);
            look(&whole[..at]);
        }
        assert!(refused > 200 && torn > 100, "{refused} {torn}");
    }
}

/// Somebody may read a checkpoint for long, and others are made and accepted meanwhile: of these there is the last one only, and what the
/// first had is there until nobody reads it.
#[test]
fn a_checkpoint_is_read_while_others_are_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows");
    let disk = Disk::open(&super::real::options(&path, 1)).unwrap();
    let failed = |error: String| panic!("{error}");
    disk.start(Arc::new(|_| {}), Arc::new(failed), Arc::new(|| ()), || ()).unwrap();
    let make = |kept: Option<u64>, new: u64| {
        let before = disk.checkpoint_written(0);
        disk.begin_checkpoint(0);
        kept.into_iter().for_each(|section| disk.keep_section(0, section));
        disk.begin_section(0, new);
        disk.add_block(0, vec![new as u8; 1_000]);
        disk.end_checkpoint(0, 0..0, vec![new as u8]);
        super::real::wait_until("it is durable", || before < disk.checkpoint_written(0));
        disk.accept_checkpoint(0, disk.checkpoint_written(0).unwrap());
    };
    let contents = || -> Vec<u8> {
        disk.checkpoints(0).into_iter().flat_map(|found| found.contents).collect()
    };
    let sections = || {
        let files = std::fs::read_dir(path.join("part-0")).unwrap().flatten();
        let mut names: Vec<String> =
            files.map(|file| file.file_name().into_string().unwrap()).collect();
        names.retain(|name| name.starts_with("rows-"));
        names.sort();
        names.iter().map(|name| name[name.len() - 1..].parse().unwrap()).collect::<Vec<u64>>()
    };
    make(None, 1);
    super::real::wait_until("it is the only one", || contents() == [1]);
    let first = disk.checkpoint_written(0).unwrap();
    let held = disk.hold_checkpoints(0);
    make(Some(1), 2);
    make(Some(2), 3);
    make(None, 4);
    super::real::wait_until("those between have gone", || contents() == [4, 1]);
    assert_eq!(sections(), [1, 4]);
    let mut read = Vec::new();
    disk.read_checkpoint(0, first, &mut |block| {
        read.push(block.to_vec());
        Ok(())
    })
    .unwrap();
    assert_eq!(read, [vec![1; 1_000]]);
    drop(held);
    super::real::wait_until("nobody reads the first", || contents() == [4]);
    super::real::wait_until("its files have gone", || sections() == [4]);
}

/// A log is read from some place on while it grows, whatever is released meanwhile; what was read is there once, and in order.
#[test]
fn a_growing_log_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let options = || Options {
        dir: dir.path().join("rows"),
        parts: 1,
        file_bytes: 16 << 10,
        spares_max: 0,
        reserve: 1,
        checkpoint_bytes_per_second: 1 << 30,
        seed: 11,
        kept_from: Box::new(|_, _| None),
    };
    let disk = Disk::open(&options()).unwrap();
    disk.start(
        Arc::new(|_| {}),
        Arc::new(|error: String| panic!("{error}")),
        Arc::new(|| ()),
        || (),
    )
    .unwrap();
    let write = |from: u64, to: u64| {
        for number in from..to {
            disk.append(0, |out| out.extend(&number.to_le_bytes().repeat(25)));
            disk.flush(0);
        }
        super::real::wait_until("all is durable", || disk.durable(0) == disk.end(0));
    };
    write(0, 500);
    let middle = disk.end(0);
    let mut all = disk.follow(0, 0);
    let mut rest = disk.follow(0, middle);
    let held = disk.hold_checkpoints(0);
    let (mut of_held, mut next_of_held) = (disk.follow_held(0, 0), 0);
    let mut late = disk.follow_held(0, 0);
    // What the part itself needs no more.
    disk.begin_checkpoint(0);
    disk.begin_section(0, 1);
    disk.end_checkpoint(0, middle..middle, Vec::new());
    super::real::wait_until("the checkpoint is durable", || disk.checkpoint_written(0).is_some());
    disk.accept_checkpoint(0, disk.checkpoint_written(0).unwrap());
    write(500, 1_000);
    let read = |follower: &mut crate::Follower, next: &mut u64| {
        while follower
            .read(4_000, &mut |_, bytes| {
                assert_eq!(bytes, next.to_le_bytes().repeat(25));
                *next += 1;
                Ok(())
            })
            .unwrap()
        {}
    };
    let (mut next_all, mut next_rest) = (0, 500);
    read(&mut all, &mut next_all);
    read(&mut rest, &mut next_rest);
    read(&mut of_held, &mut next_of_held);
    assert_eq!((next_all, next_rest, next_of_held), (1_000, 1_000, 1_000));
    write(1_000, 1_300);
    read(&mut rest, &mut next_rest);
    assert_eq!((next_rest, rest.place()), (1_300, disk.end(0)));
    let before = disk.log_bytes();
    drop(held);
    rest.forget();
    drop(all);
    super::real::wait_until("what nobody reads has gone", || disk.log_bytes() < before);
    let error = late.read(1, &mut |_, _| Ok(())).expect_err("it is kept no more").to_string();
    assert!(error.contains("has gone"), "{error}");
    // Who has still to copy the log from its beginning, and was not there for a while, finds what there is.
    drop((rest, of_held, late, disk));
    let disk = Disk::open(&Options { kept_from: Box::new(|_, _| Some(0)), ..options() }).unwrap();
    assert!(0 < disk.begin(0) && disk.begin(0) <= middle);
    let error = disk.follow(0, 0).read(1, &mut |_, _| Ok(())).expect_err("gone").to_string();
    assert!(error.contains("has gone"), "{error}");
    // What is kept for somebody who has not come yet stays, whatever the part needs, until that one has read it.
    drop(disk);
    let disk = Disk::open(&Options { kept_from: Box::new(|_, _| Some(0)), ..options() }).unwrap();
    let failed = |error: String| panic!("{error}");
    disk.start(Arc::new(|_| {}), Arc::new(failed), Arc::new(|| ()), || ()).unwrap();
    let (begin, end) = (disk.log_begin(0), disk.end(0));
    // The list of checkpoints has the second one before it is the newest: accepting the first would keep both.
    let before = disk.checkpoint_written(0);
    disk.begin_checkpoint(0);
    disk.end_checkpoint(0, end..end, vec![2]);
    let is_second = || before < disk.checkpoint_written(0);
    super::real::wait_until("the second is durable", is_second);
    assert_eq!(disk.checkpoints(0).first().map(|found| found.contents.clone()), Some(vec![2]));
    disk.accept_checkpoint(0, disk.checkpoint_written(0).unwrap());
    super::real::wait_until("it is the only one", || disk.checkpoints(0).len() == 1);
    disk.flush(0);
    let mut follower = disk.follow(0, begin);
    let mut count = 0;
    while follower
        .read(4_000, &mut |_, _| {
            count += 1;
            Ok(())
        })
        .unwrap()
    {}
    assert_eq!((follower.place(), 300 < count), (end, true));
    follower.forget();
    super::real::wait_until("it has read that", || begin < disk.log_begin(0));
}

/// The sections of a checkpoint are read in the order in which they were given, whether they are kept or new.
#[test]
fn sections_stay_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::open(&super::real::options(&dir.path().join("rows"), 1)).unwrap();
    let failed = |error: String| panic!("{error}");
    disk.start(Arc::new(|_| {}), Arc::new(failed), Arc::new(|| ()), || ()).unwrap();
    let mut is_there = [false; 10];
    let mut make = |sections: &[u8]| {
        let before = disk.checkpoint_written(0);
        disk.begin_checkpoint(0);
        for section in sections {
            if std::mem::replace(&mut is_there[usize::from(*section)], true) {
                disk.keep_section(0, u64::from(*section));
            } else {
                disk.begin_section(0, u64::from(*section));
                disk.add_block(0, vec![*section]);
            }
        }
        disk.end_checkpoint(0, 0..0, Vec::new());
        super::real::wait_until("it is durable", || before < disk.checkpoint_written(0));
        let number = disk.checkpoint_written(0).unwrap();
        disk.accept_checkpoint(0, number);
        let mut read = Vec::new();
        let visit = &mut |block: &[u8]| {
            read.extend_from_slice(block);
            Ok(())
        };
        disk.read_checkpoint(0, number, visit).unwrap();
        assert_eq!(read, sections);
    };
    make(&[1, 2, 3]);
    make(&[4, 5, 2, 3, 6]);
    make(&[7, 5, 8, 9, 3, 6]);
}
