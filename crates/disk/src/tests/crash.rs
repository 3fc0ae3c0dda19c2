//! A part's history, cut off behind every one of its operations: what is left is opened, and must be what was durable.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::{MemoryFiles, crash_states};
use crate::checkpoints::Checkpoints;
use crate::files::Files;
use crate::redo::{Mutation, Redo, RedoOptions, Written, add_record};
use crate::{DiskError, Room};

const FILE_BYTES: u64 = 4_096;
const ROUNDS: usize = 160;
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
    let checkpoints = Checkpoints::open(Arc::clone(&files), 77, true)?;
    let options = RedoOptions {
        store: checkpoints.manifest.store,
        file_bytes: FILE_BYTES,
        spares_max: 1,
        keeps_reserve: true,
        seed,
        needed: checkpoints.log_needed(),
        kept_from: None,
        mutation,
    };
    Ok(Part { redo: Redo::open(files, options)?, checkpoints })
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

/// Writes records, some at a time, with checkpoints in between; what was durable when.
fn history(files: &MemoryFiles, mutation: Mutation, hasty: Hasty) -> Vec<Promised> {
    let mut part = open(files, 1, mutation).expect("an empty directory");
    let mut promised = vec![Promised::default()];
    let (mut count, mut places) = (0, vec![part.redo.end]);
    let mut note = |files: &MemoryFiles, records: usize, checkpoint: Option<(u64, usize)>| {
        promised.push(Promised { operations: files.operations().len(), records, checkpoint });
    };
    let (mut checkpoint, mut reserves_used) = (None, 0);
    for round in 0..ROUNDS {
        let mut pieces: VecDeque<Vec<u8>> = VecDeque::new();
        for _ in 0..1 + round % 3 {
            let mut piece = Vec::new();
            for _ in 0..1 + round % 2 {
                add_record(&mut piece, &record(count));
                count += 1;
            }
            pieces.push_back(piece);
            places.push(0);
        }
        // Now and then there is no room for another file: the one that is kept for that is used.
        let has_reserve = part.redo.room() == Room::Ample;
        files.refuse_room(u32::from(20 < round && has_reserve));
        assert_eq!(part.redo.write(&mut pieces).unwrap(), Written::Durable);
        files.refuse_room(0);
        reserves_used += usize::from(part.redo.room() == Room::Reserve);
        if round % 7 == 1 {
            part.redo.keep_reserve().unwrap();
        }
        note(files, count, checkpoint);
        if round % 4 == 3 {
            let log_from = part.redo.end;
            part.checkpoints.begin().unwrap();
            part.checkpoints.add_block(&vec![round as u8; 3_000]).unwrap();
            part.checkpoints.add_block(&(count as u64).to_le_bytes()).unwrap();
            if hasty == Hasty::ReleasesBefore {
                part.redo.release(log_from).unwrap();
            }
            part.checkpoints.end(log_from, (count as u64).to_le_bytes().to_vec()).unwrap();
            let number = part.checkpoints.newest().unwrap();
            checkpoint = Some((number, count));
            note(files, count, checkpoint);
            part.checkpoints.accept(number).unwrap();
            part.redo.release(part.checkpoints.log_needed()).unwrap();
        }
        if round % 20 == 9 {
            // A start in between.
            part = open(files, round as u64, mutation).expect("nothing was lost");
        }
    }
    assert!(1 < reserves_used, "{reserves_used}");
    promised
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hasty {
    No,
    /// Uses files again before the manifest is durable that no longer needs them.
    ReleasesBefore,
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
        if blocks.len() != 2 || blocks[1] != newest.contents {
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

/// Goes on with what a crash has left, and crashes again: what was cut off does not come back.
fn go_on(state: &MemoryFiles, left: usize, mutation: Mutation) -> Result<(), String> {
    let mut part = open(state, START.fetch_add(1, Ordering::Relaxed), mutation)
        .map_err(|error| error.to_string())?;
    let mut piece = Vec::new();
    add_record(&mut piece, &record(left));
    let written = part.redo.write(&mut VecDeque::from([piece]));
    written.map_err(|error| error.to_string())?;
    let promised = Promised { records: left + 1, ..Promised::default() };
    let again = MemoryFiles::of(&state.contents());
    match check(&again, &promised, mutation)? {
        found if found == left + 1 => Ok(()),
        found => Err(format!("{} records were left, {found} are there", left + 1)),
    }
}

/// The first thing that is wrong, and how many states were looked at.
fn enumerate(mutation: Mutation, hasty: Hasty) -> (Option<String>, usize) {
    let files = MemoryFiles::default();
    let promised = history(&files, mutation, hasty);
    let operations = files.operations();
    let mut states = 0;
    for end in 0..=operations.len() {
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
    let (wrong, states) = enumerate(Mutation::None, Hasty::No);
    assert_eq!(wrong, None, "after {states} states");
    println!("{states} crash states");
    assert!(10_000 < states, "{states}");
}

#[test]
fn broken_rules_are_noticed() {
    for mutation in [Mutation::SyncSkipped, Mutation::DirectoryNotSynced, Mutation::SaltNotNew] {
        let (wrong, states) = enumerate(mutation, Hasty::No);
        assert!(wrong.is_some(), "{mutation:?} is not noticed in {states} states");
    }
    let (wrong, states) = enumerate(Mutation::None, Hasty::ReleasesBefore);
    assert!(
        wrong.is_some(),
        "files that are used again too early are not noticed in {states} states"
    );
}
