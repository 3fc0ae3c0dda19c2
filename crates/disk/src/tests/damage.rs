//! Bytes that change on the disk, and files that are garbage.

use std::sync::Arc;

use super::memory::MemoryFiles;
use super::{prove_section, write_durably};
use crate::checkpoints::Checkpoints;
use crate::files::Files;
use crate::manifest::Manifest;
use crate::pieces::Pieces;
use crate::redo::{Mutation, PIECES_AT, Redo, RedoOptions, Written};
use crate::segment::pack;
use crate::{DiskError, Room};

fn redo(files: &MemoryFiles, mutation: Mutation) -> Result<Redo, DiskError> {
    open(files, mutation, 0)
}

fn open(files: &MemoryFiles, mutation: Mutation, reserve: usize) -> Result<Redo, DiskError> {
    Redo::open(Arc::new(files.clone()), options(mutation, reserve))
}

fn options(mutation: Mutation, reserve: usize) -> RedoOptions {
    RedoOptions {
        store: 5,
        file_bytes: 4_096,
        spares_max: 2,
        reserve,
        seed: 9,
        needed: 0,
        accepted: 0,
        kept_from: None,
        mutation,
    }
}

fn write(redo: &mut Redo, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let mut pieces = Pieces::default();
        pieces.add(|out| out.extend(number.to_le_bytes().repeat(20)));
        assert_eq!(write_durably(redo, &mut pieces).unwrap(), Written::All);
    }
}

/// The records that are read back, if they can be.
fn records(redo: &Redo) -> Result<Vec<u32>, DiskError> {
    let mut found = Vec::new();
    redo.visit(0, &mut |_, bytes| {
        let number = u32::from_le_bytes(bytes[..4].try_into().map_err(|_| "short")?);
        if bytes != number.to_le_bytes().repeat(20) {
            return Err("mixed".into());
        }
        found.push(number);
        Ok(())
    })?;
    Ok(found)
}

/// Whatever byte of a log changes, no record is given out that was not written, none in the middle is missing, and what is missing at
/// the end is only what nothing behind it has called durable: the last piece.
#[test]
fn a_changed_byte_is_found_out() {
    let files = MemoryFiles::default();
    write(&mut redo(&files, Mutation::None).unwrap(), 0..70);
    let contents = files.contents();
    assert!(contents.len() > 2, "several files");
    let (mut damaged, mut cut, mut unhurt) = (0, 0, 0);
    for (name, bytes) in &contents {
        for at in (0..bytes.len()).step_by(3) {
            let mut changed = contents.clone();
            changed.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            match redo(&MemoryFiles::of(&changed), Mutation::None).and_then(|redo| records(&redo)) {
                Err(DiskError::Damaged { file, .. }) => {
                    assert!(file.starts_with("redo"), "{file}");
                    damaged += 1;
                }
                Err(other) => panic!("{name}, byte {at}: {other}"),
                Ok(found) if found.len() == 70 => unhurt += 1,
                Ok(found) => {
                    assert_eq!(found, (0..69).collect::<Vec<u32>>(), "{name}, byte {at}");
                    cut += 1;
                }
            }
        }
    }
    assert!(damaged > 500 && cut > 10 && unhurt > 100, "{damaged} {cut} {unhurt}");
    // Without looking behind it the log would be cut in its middle.
    let newest = contents.keys().rfind(|name| name.starts_with("redo")).expect("there are several");
    let mut changed = contents.clone();
    changed.get_mut(newest).unwrap()[1_100] ^= 1;
    let cut = redo(&MemoryFiles::of(&changed), Mutation::DamageIsCut).unwrap();
    assert!(records(&cut).unwrap().len() < 69, "the mutation is none");
}

/// A start that could not read the last piece has cut it off, and gone on in another file. If it can be read again later, because the device
/// has it after all, it stays cut off: what was written since is there in its place.
#[test]
fn what_was_cut_off_does_not_come_back() {
    let files = MemoryFiles::default();
    write(&mut redo(&files, Mutation::None).unwrap(), 0..5);
    let before = files.contents();
    let (name, bytes) = before.iter().find(|(name, _)| name.starts_with("redo")).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).expect("there are records");
    let mut torn = before.clone();
    torn.get_mut(name).unwrap()[last - 1] ^= 1;
    let files = MemoryFiles::of(&torn);
    write(&mut redo(&files, Mutation::None).unwrap(), 10..13);
    let mut whole = files.contents();
    whole.insert(name.clone(), bytes.clone());
    let again = redo(&MemoryFiles::of(&whole), Mutation::None).unwrap();
    assert_eq!(records(&again).unwrap(), [0, 1, 2, 3, 10, 11, 12]);
}

/// Only the newest file is looked through to find the end of a log: what is before was durable, which its first piece says. If that piece
/// is not whole, the one before is, too, and so on: the log may end there.
#[test]
fn a_log_is_found_from_its_newest_file() {
    let files = MemoryFiles::default();
    write(&mut redo(&files, Mutation::None).unwrap(), 0..120);
    let contents = files.contents();
    let names: Vec<&String> = contents.keys().filter(|name| name.starts_with("redo")).collect();
    let count = names.len();
    assert!(count > 3, "{count}");
    let read = |changed: &[(&String, usize)]| {
        let mut contents = contents.clone();
        for (name, at) in changed {
            contents.get_mut(*name).unwrap()[*at] ^= 1;
        }
        let files = MemoryFiles::of(&contents);
        let opened = redo(&files, Mutation::None);
        (opened, files.bytes_read())
    };
    let (opened, bytes) = read(&[]);
    assert_eq!(records(&opened.unwrap()).unwrap(), (0..120).collect::<Vec<u32>>());
    let headers = count as u64 * PIECES_AT as u64;
    assert!(bytes < headers + 2 * 4_096, "{bytes} bytes were read, and {headers} are headers");
    // What was durable and is damaged is found when it is read.
    let (opened, _) = read(&[(names[0], PIECES_AT + 100)]);
    assert!(matches!(records(&opened.unwrap()), Err(DiskError::Damaged { .. })));
    // A first piece that is not whole says nothing, and those behind it say that it was durable.
    let (opened, bytes) = read(&[(names[count - 1], PIECES_AT + 30)]);
    assert!(matches!(opened, Err(DiskError::Damaged { .. })));
    assert!(headers + 2 * 4_096 < bytes, "{bytes}");
}

/// Rule R19: whatever byte of a section is another one on the device, the section is refused before a checkpoint has it, and the one before
/// that stays; a manifest that is not there as it was written is like a sync that has failed.
#[test]
fn a_checkpoint_is_proved_before_it_counts() {
    let files = MemoryFiles::default();
    let mut checkpoints = Checkpoints::open(Arc::new(files.clone()), 5, true).unwrap();
    let begin = |checkpoints: &mut Checkpoints, section: u64| {
        checkpoints.begin().unwrap();
        checkpoints.begin_section(section).unwrap();
        for block in 0..3u8 {
            checkpoints.add_block(pack(&[block; 500]).unwrap()).unwrap();
        }
        prove_section(checkpoints)
    };
    begin(&mut checkpoints, 1).unwrap();
    checkpoints.end(7..7, vec![1]).unwrap();
    checkpoints.accept(checkpoints.newest().unwrap(), None).unwrap();
    let found = checkpoints.found();
    let length = files.length("rows-0000000001").unwrap();
    for at in 0..length {
        files.spoil("rows", at);
        let error = begin(&mut checkpoints, 2).unwrap_err();
        assert!(matches!(error, DiskError::Damaged { .. }), "byte {at}: {error}");
        checkpoints.give_up().unwrap();
    }
    assert_eq!(files.list().unwrap(), ["manifest-0", "manifest-1", "rows-0000000001"]);
    assert_eq!(checkpoints.found(), found);
    files.spoil("rows", length);
    begin(&mut checkpoints, 2).unwrap();
    files.spoil("manifest", 40);
    let error = checkpoints.end(8..8, vec![2]).unwrap_err();
    assert_eq!(error.to_string(), "manifest-0 is not there as it was written");
    assert_eq!(checkpoints.found(), found);
    // The one of before is written again by the next start: a disk that does not have it then is damaged, and the node is filled anew.
    files.spoil("manifest", 40);
    let opened = Checkpoints::open(Arc::new(files.clone()), 5, false);
    let error = opened.err().expect("it is not there as it was written");
    assert!(matches!(error, DiskError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("-0 is not there as it was written"), "{error}");
    // In a store that is just made nothing was lost: there is nothing to be put aside.
    let files = MemoryFiles::default();
    files.spoil("manifest", 30);
    let error = Checkpoints::open(Arc::new(files), 5, true).err().expect("the same");
    assert!(matches!(error, DiskError::Io { .. }), "{error}");
}

/// The same for checkpoints and manifests.
#[test]
fn a_changed_checkpoint_is_found_out() {
    let files = MemoryFiles::default();
    let open = |files: &MemoryFiles| Checkpoints::open(Arc::new(files.clone()), 5, true);
    let mut checkpoints = open(&files).unwrap();
    for contents in [vec![1], vec![2, 2]] {
        checkpoints.begin().unwrap();
        // Both have the first section.
        match contents.len() {
            1 => checkpoints.begin_section(1).unwrap(),
            _ => checkpoints.keep_section(1),
        }
        for block in 0..3u8 {
            if block == 1 {
                prove_section(&mut checkpoints).unwrap();
                checkpoints.begin_section(contents.len() as u64 + 1).unwrap();
            }
            if block > 0 || contents.len() == 1 {
                checkpoints.add_block(pack(&[block; 500]).unwrap()).unwrap();
            }
        }
        let is_first = contents.len() == 1;
        prove_section(&mut checkpoints).unwrap();
        checkpoints.end(7..7, contents).unwrap();
        if is_first {
            checkpoints.accept(checkpoints.newest().unwrap(), None).unwrap();
        }
    }
    let contents = files.contents();
    let (mut damaged, mut older) = (0, 0);
    for (name, bytes) in &contents {
        for at in 0..bytes.len() {
            let mut changed = contents.clone();
            changed.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            let Ok(opened) = open(&MemoryFiles::of(&changed)) else {
                damaged += 1;
                continue;
            };
            let newest = opened.found()[0].clone();
            older += usize::from(newest.contents == [1]);
            let mut blocks = 0;
            let read = opened.reader(newest.number).and_then(|reader| {
                reader.read(&mut |block| {
                    assert_eq!(block, [blocks; 500], "{name}, byte {at}");
                    blocks += 1;
                    Ok(())
                })
            });
            match read {
                Ok(()) => assert_eq!(blocks, 3, "{name}, byte {at}"),
                Err(DiskError::Damaged { .. }) => damaged += 1,
                Err(other) => panic!("{name}, byte {at}: {other}"),
            }
        }
    }
    assert!(damaged > 50 && older > 20, "{damaged} {older}");
    // Shorter by a block, it is not whole.
    let name = "rows-0000000001";
    let mut changed = contents.clone();
    let length = changed[name].len();
    changed.get_mut(name).unwrap().truncate(length - 20);
    assert!(open(&MemoryFiles::of(&changed)).is_err());
}

/// Whatever the bytes are: an answer, and no panic.
#[test]
fn garbage_is_refused() {
    let mut state = 1u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for _ in 0..300 {
        let length = random() % 6_000;
        let bytes: Vec<u8> = (0..length).map(|_| random() as u8).collect();
        assert_eq!(Manifest::decode(&bytes), None);
        let mut header = b"skarv-mf".to_vec();
        header.extend(2u32.to_le_bytes());
        header.extend(&bytes);
        assert_eq!(Manifest::decode(&header), None);
        let files = MemoryFiles::default();
        files.create("redo-0000000001", 0).unwrap();
        files.write_at("redo-0000000001", 0, &bytes).unwrap();
        let opened = redo(&files, Mutation::None).expect("nothing in it was ever durable");
        assert_eq!(records(&opened).unwrap(), Vec::<u32>::new());
    }
}

/// A full disk is waited for: nothing is lost, and nothing is written twice.
#[test]
fn no_room_is_waited_for() {
    let files = MemoryFiles::default();
    let mut log = redo(&files, Mutation::None).unwrap();
    write(&mut log, 0..20);
    let mut pieces = Pieces::default();
    for number in 20..60u32 {
        pieces.begin_piece();
        pieces.add(|out| out.extend(number.to_le_bytes().repeat(20)));
    }
    files.refuse_room(1);
    assert_eq!(write_durably(&mut log, &mut pieces).unwrap(), Written::NoRoom);
    assert!(!pieces.is_empty() && log.durable < log.end + 1);
    assert_eq!(write_durably(&mut log, &mut pieces).unwrap(), Written::All);
    drop(log);
    let again = redo(&files, Mutation::None).unwrap();
    assert_eq!(records(&again).unwrap(), (0..60).collect::<Vec<u32>>());
}

/// A file system that never writes where something was has no room where a file has its places: in the header of a new file, and in the
/// middle of one. That is waited for as well.
#[test]
fn no_room_in_a_file_that_is_there_is_waited_for() {
    let files = MemoryFiles::default();
    let mut log = open(&files, Mutation::None, 1).unwrap();
    let mut number = 0;
    for refused in [1, 0, 0, 3, 0, 1].repeat(20) {
        let mut pieces = Pieces::default();
        pieces.add(|out| out.extend(u32::to_le_bytes(number).repeat(20)));
        number += 1;
        files.refuse_writes(refused);
        for _ in 0..refused {
            assert_eq!(write_durably(&mut log, &mut pieces).unwrap(), Written::NoRoom);
            assert_eq!((log.room(), pieces.is_empty()), (Room::Nothing, false));
        }
        assert_eq!(write_durably(&mut log, &mut pieces).unwrap(), Written::All);
        assert_ne!(log.room(), Room::Nothing);
    }
    assert!(log.list().len() > 2, "new files, too");
    drop(log);
    let again = open(&files, Mutation::None, 1).unwrap();
    assert_eq!(records(&again).unwrap(), (0..number).collect::<Vec<u32>>());
}

/// Of the files that are given back as many are kept as will be needed until the next time: as many as were given back last, or a quarter of
/// the log. After a peak the others go.
#[test]
fn spare_files_are_kept_for_the_next_time() {
    let files = MemoryFiles::default();
    let of_log = RedoOptions { spares_max: 12, ..options(Mutation::None, 0) };
    let mut log = Redo::open(Arc::new(files.clone()), of_log).unwrap();
    let kept = |kind: &str| files.contents().keys().filter(|name| name.starts_with(kind)).count();
    let (mut number, mut ends) = (0, Vec::new());
    let mut grow = |log: &mut Redo, count: usize| {
        let files = log.list().len() + count;
        while log.list().len() < files {
            write(log, number..number + 1);
            number += 1;
        }
        ends.push(log.end);
    };
    grow(&mut log, 20);
    log.release(log.end).unwrap();
    assert_eq!((kept("redo"), kept("spare")), (1, 12));
    // What was given back is used again.
    grow(&mut log, 8);
    assert_eq!((kept("redo"), kept("spare")), (9, 4));
    log.release(log.end).unwrap();
    assert_eq!((kept("redo"), kept("spare")), (1, 8));
    grow(&mut log, 9);
    // Of a log of ten files two are given back: four are enough for that.
    let third = log.list()[2].1;
    log.release(third).unwrap();
    assert_eq!((kept("redo"), kept("spare")), (8, 2));
    log.release(log.end).unwrap();
    grow(&mut log, 9);
    assert_eq!((kept("redo"), kept("spare")), (10, 0));
    let second = log.list()[1].1;
    log.release(second).unwrap();
    assert_eq!((kept("redo"), kept("spare")), (9, 1));
    // Nothing is given back: nothing goes.
    log.release(second).unwrap();
    assert_eq!((kept("redo"), kept("spare")), (9, 1));
    let needed = RedoOptions { needed: second, ..options(Mutation::None, 0) };
    let again = Redo::open(Arc::new(files.clone()), needed).unwrap();
    assert_eq!(again.end, log.end);
}

/// A record that is longer than a file, for which there is no room: the files that were kept to be used again give it theirs, and then the
/// reserve. It does not hold up everything behind it while there are any.
#[test]
fn a_long_record_takes_the_room_of_what_is_kept() {
    let files = MemoryFiles::default();
    let mut log = open(&files, Mutation::None, 2).unwrap();
    write(&mut log, 0..120);
    log.release(log.end).unwrap();
    let kept = |kind: &str| files.contents().keys().filter(|name| name.starts_with(kind)).count();
    assert_eq!((kept("spare"), kept("reserve")), (2, 2));
    let long = |log: &mut Redo, refused: u32| {
        let mut pieces = Pieces::default();
        pieces.add(|out| out.extend([7; 3 * 4_096]));
        files.refuse_room(refused);
        let written = write_durably(log, &mut pieces).unwrap();
        files.refuse_room(0);
        written
    };
    assert_eq!(long(&mut log, 3), Written::All);
    assert_eq!((kept("spare"), kept("reserve"), log.room()), (0, 1, Room::Reserve));
    assert_eq!(long(&mut log, u32::MAX), Written::NoRoom);
    assert_eq!((kept("reserve"), log.room()), (0, Room::Nothing));
    log.keep_reserve().unwrap();
    assert_eq!(long(&mut log, 0), Written::All);
    log.keep_reserve().unwrap();
    assert_eq!((kept("reserve"), log.room()), (2, Room::Ample));
}

/// A file of the log is begun when the one before it is durable, so that one ends where it begins, or is damaged, also if nothing was
/// written behind it.
#[test]
fn a_file_says_where_the_one_before_it_ends() {
    let files = MemoryFiles::default();
    let mut log = redo(&files, Mutation::None).unwrap();
    // As many as need another file: it is refused its first piece.
    let mut pieces = Pieces::default();
    while log.list().len() < 2 {
        pieces.add(|out| out.extend(5u32.to_le_bytes().repeat(20)));
        write_durably(&mut log, &mut pieces).unwrap();
    }
    let (second, first) = log.list()[1];
    let mut contents = files.contents();
    let name = |number: u64| crate::format::numbered(crate::redo::KIND, number);
    contents.get_mut(&name(second)).unwrap()[PIECES_AT..].fill(0);
    assert_eq!(redo(&MemoryFiles::of(&contents), Mutation::None).unwrap().end, first);
    let last = contents[&name(second - 1)].iter().rposition(|byte| *byte != 0).unwrap();
    contents.get_mut(&name(second - 1)).unwrap()[last] ^= 1;
    let Err(DiskError::Damaged { file, .. }) = redo(&MemoryFiles::of(&contents), Mutation::None)
    else {
        panic!("it was cut")
    };
    assert_eq!(file, name(second - 1));
}

/// Rule R21: the log says that there is no room for another file while it can still go on in those that are kept for that, and says when
/// they are full, too. Given room, it goes on and keeps others.
#[test]
fn no_room_is_told_before_there_is_none() {
    let files = MemoryFiles::default();
    let mut log = open(&files, Mutation::None, 2).unwrap();
    assert_eq!(log.room(), Room::Ample);
    files.refuse_room(u32::MAX);
    let mut number = 0;
    let mut rooms = Vec::new();
    let mut piece = |log: &mut Redo| {
        let mut pieces = Pieces::default();
        pieces.add(|out| out.extend(u32::to_le_bytes(number).repeat(20)));
        number += 1;
        let written = write_durably(log, &mut pieces).unwrap();
        (written, pieces)
    };
    let waiting = loop {
        let (written, pieces) = piece(&mut log);
        log.keep_reserve().unwrap();
        rooms.push(log.room());
        if written == Written::NoRoom {
            break pieces;
        }
    };
    assert!(rooms.is_sorted(), "{rooms:?}");
    // Two files of 27 such pieces.
    assert!(rooms.iter().filter(|room| **room == Room::Reserve).count() > 50, "{rooms:?}");
    assert_eq!(rooms.last(), Some(&Room::Nothing));
    files.refuse_room(0);
    let mut pieces = waiting;
    assert_eq!(write_durably(&mut log, &mut pieces).unwrap(), Written::All);
    assert_eq!(log.room(), Room::Reserve);
    log.keep_reserve().unwrap();
    assert_eq!(log.room(), Room::Ample);
    drop(log);
    let again = open(&files, Mutation::None, 2).unwrap();
    assert_eq!(again.room(), Room::Ample);
    assert_eq!(records(&again).unwrap(), (0..number).collect::<Vec<u32>>());
}

/// Files that are needed no more are kept for when there is no room, before others are.
#[test]
fn released_files_become_the_reserve() {
    let files = MemoryFiles::default();
    files.refuse_room(1);
    let mut log = open(&files, Mutation::None, 2).unwrap();
    assert_eq!(log.room(), Room::Reserve);
    write(&mut log, 0..70);
    files.refuse_room(u32::MAX);
    log.release(log.end).unwrap();
    assert_eq!(log.room(), Room::Ample);
    let names = files.contents().into_keys();
    assert_eq!(names.filter(|name| name.starts_with("reserve")).count(), 2);
}

/// A device that is gone: an error, and the records durable before are kept.
#[test]
fn a_failed_write_is_told() {
    let files = MemoryFiles::default();
    let mut log = redo(&files, Mutation::None).unwrap();
    write(&mut log, 0..5);
    files.fail();
    let durable = log.durable;
    let mut pieces = Pieces::default();
    pieces.add(|out| out.extend(b"lost"));
    assert!(write_durably(&mut log, &mut pieces).is_err());
    assert_eq!(log.durable, durable);
}

/// A crash has left a file of the log with no piece, and the next start another one that begins at the same place. Who reads the log while
/// it grows passes it.
#[test]
fn a_follower_passes_an_empty_file() {
    let files = MemoryFiles::default();
    let mut log = redo(&files, Mutation::None).unwrap();
    write(&mut log, 0..5);
    drop(log);
    let before = files.contents();
    write(&mut redo(&files, Mutation::None).unwrap(), 5..6);
    let mut torn = files.contents();
    let new = torn.iter_mut().find(|(name, _)| !before.contains_key(*name)).expect("a new file");
    *new.1.get_mut(1_024 + 30).expect("a piece") ^= 0xff;
    let files = MemoryFiles::of(&torn);
    let mut log = redo(&files, Mutation::None).unwrap();
    write(&mut log, 5..8);
    assert_eq!(log.list().len(), 3);
    let (mut reader, mut found) = (log.reader(0), Vec::new());
    let mut visit = |_, bytes: &[u8]| {
        found.push(u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")));
        Ok(())
    };
    while reader.read(&log.list(), log.durable, &mut visit).unwrap() {}
    assert_eq!(found, (0..8).collect::<Vec<u32>>());
}
