//! A part's history, cut off behind every one of its operations: the rest is opened, and must have every durable record.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::{MemoryFiles, crash_states};
use super::{day, of_tier, prove_section, write_durably};
use crate::checkpoints::{Checkpoints, KIND};
use crate::files::{Files, is_no_room};
use crate::format::numbered;
use crate::manifest;
use crate::pieces::Pieces;
use crate::redo::{self, Mutation, Redo, RedoOptions, Written};
use crate::segment::pack;
use crate::{DiskError, Room};

const FILE_BYTES: u64 = 4_096;
const ROUNDS: usize = 160;
/// The short tier cuts the history behind STRIDE_SHORT-th operation, beginning with another one each day.
const STRIDE_SHORT: usize = 6;
/// Each start draws another seed.
static START: AtomicU64 = AtomicU64::new(1_000);

/// What was known to be durable at some moment.
#[derive(Clone, Debug, Default)]
struct Promised {
    /// Operations by then.
    operations: usize,
    records: usize,
    /// The newest checkpoint, and the records that are before it.
    checkpoint: Option<(u64, usize)>,
}

struct Part {
    redo: Redo,
    checkpoints: Checkpoints,
}

fn open(files: &MemoryFiles, seed: u64, mutation: Mutation) -> Result<Part, DiskError> {
    let files: Arc<dyn Files> = Arc::new(files.clone());
    let mut checkpoints = Checkpoints::open(Arc::clone(&files), 77, true)?;
    let options = RedoOptions {
        store: checkpoints.manifest.store,
        file_bytes: FILE_BYTES,
        spares_max: 1,
        reserve: 1,
        seed,
        needed: checkpoints.log_needed(),
        accepted: checkpoints.log_accepted(),
        kept_from: None,
        mutation,
    };
    let redo = Redo::open(files, options)?;
    checkpoints.on_log_end(redo.end).expect("nothing fails");
    Ok(Part { redo, checkpoints })
}

/// The bytes of the record of this number: some short, some longer than a file of the log.
fn record(number: usize) -> Vec<u8> {
    let length = match number % 7 {
        0 => 0,
        3 => 1_500,
        5 => 700,
        _ => 20 + number % 50,
    };
    let length = if number == 25 { 2 * FILE_BYTES as usize } else { length };
    (0..length).map(|at| (number * 31 + at) as u8).collect()
}

/// Writes records, some at a time, with checkpoints in between; returns the durable ones at each step.
fn history(files: &MemoryFiles, mutation: Mutation, hasty: Hasty) -> Vec<Promised> {
    let mut part = open(files, 1, mutation).expect("an empty directory");
    let mut promised = vec![Promised::default()];
    let (mut count, mut places) = (0, vec![part.redo.end]);
    let mut note = |files: &MemoryFiles, records: usize, checkpoint: Option<(u64, usize)>| {
        promised.push(Promised { operations: files.operations().len(), records, checkpoint });
    };
    let (mut checkpoint, mut quiet, mut reserves_used) = (None, None, 0);
    for round in 0..ROUNDS {
        let mut pieces = Pieces::default();
        for _ in 0..1 + round % 3 {
            pieces.begin_piece();
            for _ in 0..1 + round % 2 {
                pieces.add(|out| out.extend(record(count)));
                count += 1;
            }
            places.push(0);
        }
        // Now and then there is no room for another file: the one that is kept for that is used.
        let has_reserve = part.redo.room() == Room::Ample;
        files.refuse_room(u32::from(20 < round && has_reserve));
        assert_eq!(write_durably(&mut part.redo, &mut pieces).unwrap(), Written::All);
        files.refuse_room(0);
        reserves_used += usize::from(part.redo.room() == Room::Reserve);
        if round % 7 == 1 {
            part.redo.keep_reserve().unwrap();
        }
        note(files, count, checkpoint);
        if round % 4 == 3 {
            let log_from = part.redo.end;
            part.checkpoints.begin().unwrap();
            match quiet.filter(|_| round % 3 != 0) {
                Some(section) => part.checkpoints.keep_section(section),
                None => {
                    let section = 2 * round as u64;
                    part.checkpoints.begin_section(section).unwrap();
                    part.checkpoints.add_block(pack(b"quiet").unwrap()).unwrap();
                    prove_section(&mut part.checkpoints).unwrap();
                    quiet = Some(section);
                }
            }
            part.checkpoints.begin_section(2 * round as u64 + 1).unwrap();
            part.checkpoints.add_block(pack(&vec![round as u8; 3_000]).unwrap()).unwrap();
            part.checkpoints.add_block(pack(&(count as u64).to_le_bytes()).unwrap()).unwrap();
            prove_section(&mut part.checkpoints).unwrap();
            if hasty == Hasty::ReleasesBefore {
                part.redo.release(log_from).unwrap();
            }
            let contents = (count as u64).to_le_bytes().to_vec();
            part.checkpoints.end(log_from..log_from, contents).unwrap();
            let number = part.checkpoints.newest().unwrap();
            // The first one counts when it is accepted; until then the log has everything.
            let is_first = checkpoint.is_none();
            checkpoint = Some((number, count));
            note(files, count, checkpoint.filter(|_| !is_first));
            part.checkpoints.accept(number, None).unwrap();
            note(files, count, checkpoint);
            if hasty == Hasty::RemovesKept && round + 1 == ROUNDS {
                files.remove(&numbered(KIND, quiet.expect("just written or kept"))).unwrap();
            }
            part.redo.release(part.checkpoints.log_needed()).unwrap();
        }
        if round % 20 == 4 {
            // Killed before the sync of its writes.
            let mut pieces = Pieces::default();
            pieces.add(|out| out.extend(record(count)));
            if mutation != Mutation::SyncSkipped {
                files.fail_sync_of(redo::KIND, ErrorKind::Other);
            }
            let end = part.redo.end;
            let written = write_durably(&mut part.redo, &mut pieces);
            assert_eq!(written.is_err(), mutation != Mutation::SyncSkipped);
            // Unless it was the sync of the file before, which had no room for it.
            count += usize::from(end < part.redo.end);
        }
        if round % 20 == 14 {
            part.checkpoints.begin().unwrap();
            part.checkpoints.keep_section(quiet.expect("in the first one"));
            part.checkpoints.begin_section(2 * round as u64 + 1).unwrap();
            part.checkpoints.add_block(pack(&[7; 50]).unwrap()).unwrap();
            part.checkpoints.add_block(pack(&(count as u64).to_le_bytes()).unwrap()).unwrap();
            prove_section(&mut part.checkpoints).unwrap();
            let (log_from, contents) = (part.redo.end, (count as u64).to_le_bytes().to_vec());
            if round % 40 == 14 {
                part.checkpoints.end(log_from..log_from, contents).unwrap();
                files.fail_sync_of(manifest::KIND, ErrorKind::StorageFull);
                let number = part.checkpoints.newest().unwrap();
                part.checkpoints.accept(number, None).unwrap_err();
            } else {
                files.fail_sync_of(manifest::KIND, ErrorKind::StorageFull);
                let error = part.checkpoints.end(log_from..log_from, contents).unwrap_err();
                assert!(!is_no_room(&error), "nobody knows which manifest is there");
            }
        }
        if matches!(round % 20, 4 | 9 | 14) {
            // A start in between: nothing was lost of what the system had, and now that is durable.
            part = open(files, round as u64, mutation).expect("nothing was lost");
            let number = part.checkpoints.newest().map(|number| (number, count));
            checkpoint = number.filter(|_| round % 20 == 14).or(checkpoint);
            note(files, count, checkpoint);
        }
    }
    assert!(1 < reserves_used, "{reserves_used}");
    promised
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hasty {
    No,
    /// Uses files again before the manifest is durable that no longer needs them.
    ReleasesBefore,
    /// Removes a section that belongs to the newest checkpoint, too, with the one that it was written for.
    RemovesKept,
}

/// Opens what a crash has left: every record that was promised is there, and none that was not written.
fn check(state: &MemoryFiles, promised: &Promised, mutation: Mutation) -> Result<usize, String> {
    let part = open(state, START.fetch_add(1, Ordering::Relaxed), mutation)
        .map_err(|error| error.to_string())?;
    let (mut first, mut log_from) = (0, 0);
    let found = part.checkpoints.found();
    if let Some(newest) = found.first() {
        let mut blocks = Vec::new();
        let read = part.checkpoints.reader(newest.number).and_then(|reader| {
            reader.read(&mut |block| {
                blocks.push(block.to_vec());
                Ok(())
            })
        });
        read.map_err(|error| error.to_string())?;
        if blocks.len() != 3 || blocks[0] != b"quiet" || blocks[2] != newest.contents {
            return Err(format!("checkpoint {} has other blocks", newest.number));
        }
        let count = u64::from_le_bytes(newest.contents.clone().try_into().expect("eight bytes"));
        (first, log_from) = (count as usize, newest.log_from);
    }
    if let Some((number, _)) = promised.checkpoint
        && found.first().is_none_or(|newest| newest.number < number)
    {
        return Err(format!("checkpoint {number} was durable, and is not there"));
    }
    let mut next = first;
    let visited = part.redo.visit(log_from, &mut |_, bytes| {
        if bytes != record(next) {
            return Err(format!("record {next} is another one"));
        }
        next += 1;
        Ok(())
    });
    visited.map_err(|error| error.to_string())?;
    match next < promised.records {
        true => Err(format!("{} records were durable, {next} are there", promised.records)),
        false => Ok(next),
    }
}

/// Continues with the files after a crash, and crashes again: records that were cut off do not come back.
fn go_on(state: &MemoryFiles, left: usize, mutation: Mutation) -> Result<(), String> {
    let mut part = open(state, START.fetch_add(1, Ordering::Relaxed), mutation)
        .map_err(|error| error.to_string())?;
    let mut pieces = Pieces::default();
    pieces.add(|out| out.extend(record(left)));
    let written = write_durably(&mut part.redo, &mut pieces);
    written.map_err(|error| error.to_string())?;
    let promised = Promised { records: left + 1, ..Promised::default() };
    let again = MemoryFiles::of(&state.contents());
    match check(&again, &promised, mutation)? {
        found if found == left + 1 => Ok(()),
        found => Err(format!("{} records were left, {found} are there", left + 1)),
    }
}

/// Cuts the history behind every `stride`-th operation from `first` on. Returns the first error, and the number of states.
fn enumerate(
    mutation: Mutation,
    hasty: Hasty,
    first: usize,
    stride: usize,
) -> (Option<String>, usize) {
    let files = MemoryFiles::default();
    let promised = history(&files, mutation, hasty);
    let operations = files.operations();
    let mut states = 0;
    for end in (first..=operations.len()).step_by(stride) {
        let known = promised.iter().rev().find(|known| known.operations <= end).expect("the first");
        for contents in crash_states(&operations[..end]) {
            states += 1;
            let state = MemoryFiles::of(&contents);
            let result = check(&state, known, mutation)
                .and_then(|left| go_on(&MemoryFiles::of(&contents), left, mutation));
            if let Err(error) = result {
                return (Some(format!("behind operation {end}: {error}")), states);
            }
        }
    }
    (None, states)
}

#[test]
fn every_crash_leaves_what_was_durable() {
    let stride = of_tier(STRIDE_SHORT, 1);
    let (wrong, states) = enumerate(Mutation::None, Hasty::No, day() % stride, stride);
    assert_eq!(wrong, None, "after {states} states");
    println!("{states} crash states");
    assert!(10_000 / stride < states, "{states}");
}

#[test]
fn broken_rules_are_noticed() {
    use Mutation::{DirectoryNotSynced, NotWrittenAgain, SaltNotNew, SyncSkipped};
    for mutation in [SyncSkipped, DirectoryNotSynced, SaltNotNew, NotWrittenAgain] {
        let (wrong, states) = enumerate(mutation, Hasty::No, 0, 1);
        assert!(wrong.is_some(), "{mutation:?} is not noticed in {states} states");
    }
    for hasty in [Hasty::ReleasesBefore, Hasty::RemovesKept] {
        let (wrong, states) = enumerate(Mutation::None, hasty, 0, 1);
        assert!(wrong.is_some(), "{hasty:?} is not noticed in {states} states");
    }
}

/// A checkpoint may be durable before the log behind which it begins. When that is lost it is of no use: what others write at those places
/// would not be read behind it.
#[test]
fn a_checkpoint_goes_with_the_log_behind_which_it_begins() {
    let files = MemoryFiles::default();
    let mut part = open(&files, 1, Mutation::None).unwrap();
    let mut pieces = Pieces::default();
    pieces.add(|out| out.extend(record(1)));
    assert_eq!(write_durably(&mut part.redo, &mut pieces).unwrap(), Written::All);
    let end = part.redo.end;
    let mut add = |section: u64, log_end: u64| {
        part.checkpoints.begin().unwrap();
        part.checkpoints.begin_section(section).unwrap();
        part.checkpoints.add_block(pack(b"rows").unwrap()).unwrap();
        prove_section(&mut part.checkpoints).unwrap();
        part.checkpoints.end(end..log_end, Vec::new()).unwrap();
        let number = part.checkpoints.newest().unwrap();
        // The first one has to be accepted to be there at all.
        if section == 1 {
            part.checkpoints.accept(number, None).unwrap();
        }
        number
    };
    let kept = [add(1, end), add(2, end)];
    add(3, end + 1);
    for seed in [2, 3] {
        let found = open(&files, seed, Mutation::None).unwrap().checkpoints.found();
        let numbers: Vec<u64> = found.iter().rev().map(|found| found.number).collect();
        assert_eq!(numbers, kept);
        let sections = crate::format::list(&files, KIND).unwrap();
        assert_eq!(sections, [1, 2]);
    }
}

/// One that was accepted is not removed because its log has gone: there may be nothing else that has those rows.
#[test]
fn an_accepted_checkpoint_is_not_removed_with_its_log() {
    let files = MemoryFiles::default();
    let mut part = open(&files, 1, Mutation::None).unwrap();
    let mut next = 0;
    let mut write = |part: &mut Part, files: usize| {
        while part.redo.list().len() < files {
            let mut pieces = Pieces::default();
            pieces.add(|out| out.extend(record(next)));
            next += 1;
            assert_eq!(write_durably(&mut part.redo, &mut pieces).unwrap(), Written::All);
        }
    };
    write(&mut part, 2);
    let from = part.redo.end;
    write(&mut part, 3);
    part.checkpoints.begin().unwrap();
    part.checkpoints.begin_section(1).unwrap();
    part.checkpoints.add_block(pack(b"rows").unwrap()).unwrap();
    prove_section(&mut part.checkpoints).unwrap();
    part.checkpoints.end(from..part.redo.end, Vec::new()).unwrap();
    part.checkpoints.accept(part.checkpoints.newest().unwrap(), None).unwrap();
    let (newest, _) = *part.redo.list().last().unwrap();
    drop(part);
    let newest = numbered(redo::KIND, newest);
    let mut gone = files.contents();
    gone.remove(&newest).unwrap();
    let mut unknown = files.contents();
    unknown.get_mut(&newest).unwrap()[..redo::PIECES_AT].fill(0);
    for contents in [gone, unknown] {
        let left = MemoryFiles::of(&contents);
        for seed in [2, 3] {
            let Err(DiskError::Damaged { what, .. }) = open(&left, seed, Mutation::None) else {
                panic!("a log that has gone is damage")
            };
            assert!(what.contains("a checkpoint was accepted behind"), "{what}");
            let of_log = |name: &&String| name.starts_with(redo::KIND);
            let names = |contents: &std::collections::BTreeMap<String, Vec<u8>>| {
                contents.keys().filter(of_log).cloned().collect::<Vec<String>>()
            };
            assert_eq!(names(&left.contents()), names(&contents), "there is something to rescue");
            assert_eq!(crate::format::list(&left, KIND).unwrap(), [1]);
        }
    }
    assert_eq!(open(&files, 2, Mutation::None).unwrap().checkpoints.found().len(), 1);
}

/// Each start continues in another file. The unfilled rest of the one before is freed, so that many starts take little room.
#[test]
fn starts_take_little_of_the_device() {
    const STARTS: usize = 20;
    let files = MemoryFiles::default();
    for number in 0..STARTS {
        let mut part = open(&files, number as u64, Mutation::None).unwrap();
        let mut pieces = Pieces::default();
        pieces.add(|out| out.extend(record(7 * number + 1)));
        assert_eq!(write_durably(&mut part.redo, &mut pieces).unwrap(), Written::All);
    }
    let contents = files.contents();
    let of_log = contents.iter().filter(|(name, _)| name.starts_with(redo::KIND));
    let lengths: Vec<usize> = of_log.map(|(_, bytes)| bytes.len()).collect();
    assert_eq!(lengths.len(), STARTS);
    assert!(lengths[..STARTS - 1].iter().all(|length| *length < FILE_BYTES as usize / 2));
    let mut next = 0;
    let log = open(&files, STARTS as u64, Mutation::None).unwrap().redo;
    let visited = log.visit(0, &mut |_, bytes| {
        assert_eq!(bytes, record(7 * next + 1));
        next += 1;
        Ok(())
    });
    visited.unwrap();
    assert_eq!(next, STARTS);
}
