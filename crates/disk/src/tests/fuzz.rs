//! Files that chance has changed: real ones of each format, with bytes changed, swapped, cut, doubled, and numbers that are all ones.
//! Reading them never panics, and never gives out what was not written; a log that is cut says so where something of it was durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::memory::MemoryFiles;
use super::{of_tier, prove_section, write_durably};
use crate::checkpoints::Checkpoints;
use crate::files::Files;
use crate::manifest::Manifest;
use crate::pieces::Pieces;
use crate::redo::{Mutation, Redo, RedoOptions};
use crate::segment::pack;

/// Changes that a test tries.
const ROUNDS_SHORT: usize = 10_000;
const ROUNDS_LONG: usize = 100_000;
const RECORDS: usize = 90;
/// What a change of a few bytes may take off a log: the last piece is called durable by nothing behind it, and one before may be changed, too.
const RECORDS_CUT_MAX: usize = 2;

struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
    /// One change of a file. Returns whether it is of a few bytes in one place.
    fn change(&mut self, bytes: &mut Vec<u8>) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let (at, other) = (self.below(bytes.len()), self.below(bytes.len()));
        match self.below(6) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.below(256) as u8,
            2 => {
                bytes.swap(at, other);
                return false;
            }
            3 => {
                bytes.truncate(at);
                return false;
            }
            4 => {
                let end = bytes.len().min(at + 1 + self.below(64));
                let piece = bytes[at..end].to_vec();
                let to = other.min(bytes.len() - piece.len());
                bytes[to..to + piece.len()].copy_from_slice(&piece);
            }
            _ => {
                let end = bytes.len().min(at / 4 * 4 + 4);
                bytes[at / 4 * 4..end].fill(0xff);
            }
        }
        true
    }
}

fn record(number: usize) -> Vec<u8> {
    (0..10 + number * 7 % 90).map(|at| (number * 13 + at) as u8).collect()
}

fn open(files: &Arc<dyn Files>, seed: u64) -> Result<(Checkpoints, Redo), crate::DiskError> {
    let checkpoints = Checkpoints::open(Arc::clone(files), 77, true)?;
    let options = RedoOptions {
        store: checkpoints.manifest.store,
        file_bytes: 4_096,
        spares_max: 1,
        reserve: 0,
        seed,
        needed: checkpoints.log_needed(),
        accepted: checkpoints.log_accepted(),
        kept_from: None,
        mutation: Mutation::None,
    };
    let redo = Redo::open(Arc::clone(files), options)?;
    Ok((checkpoints, redo))
}

/// A part with a log of several files and a checkpoint that all of the log belongs with.
fn written() -> BTreeMap<String, Vec<u8>> {
    let memory = MemoryFiles::default();
    let files: Arc<dyn Files> = Arc::new(memory.clone());
    let (mut checkpoints, mut redo) = open(&files, 1).unwrap();
    for number in 0..RECORDS {
        let mut pieces = Pieces::default();
        pieces.add(|out| out.extend(record(number)));
        write_durably(&mut redo, &mut pieces).unwrap();
    }
    checkpoints.begin().unwrap();
    checkpoints.begin_section(1).unwrap();
    checkpoints.add_block(pack(&[1; 2_000]).unwrap()).unwrap();
    checkpoints.add_block(pack(b"two").unwrap()).unwrap();
    prove_section(&mut checkpoints).unwrap();
    checkpoints.end(0..0, b"contents".to_vec()).unwrap();
    memory.contents()
}

/// What is read back, or that it is refused.
fn read(contents: &BTreeMap<String, Vec<u8>>) -> Result<usize, crate::DiskError> {
    let files: Arc<dyn Files> = Arc::new(MemoryFiles::of(contents));
    let (checkpoints, redo) = open(&files, 2)?;
    if let Some(found) = checkpoints.found().first() {
        assert_eq!(found.contents, b"contents");
        let mut blocks = Vec::new();
        let visited = checkpoints.reader(found.number)?.read(&mut |block| {
            blocks.push(block.to_vec());
            Ok(())
        });
        let is_prefix = [vec![1; 2_000], b"two".to_vec()].starts_with(&blocks);
        assert!(is_prefix, "a block that was not written");
        visited?;
        assert_eq!(blocks.len(), 2, "a block is missing, and nobody says so");
    }
    let mut next = 0;
    redo.visit(0, &mut |_, bytes| {
        assert_eq!(bytes, record(next), "a record that was not written");
        next += 1;
        Ok(())
    })?;
    Ok(next)
}

/// Of the log, the checkpoint and the manifest, all files of a part together, one to three changes each time.
#[test]
fn changed_files_are_refused_or_read_right() {
    let rounds = of_tier(ROUNDS_SHORT, ROUNDS_LONG);
    let whole = written();
    assert_eq!(read(&whole).unwrap(), RECORDS);
    let names: Vec<&String> = whole.keys().collect();
    let mut chance = Chance(2_026);
    let (mut refused, mut right) = (0, 0);
    for round in 0..rounds {
        let mut contents = whole.clone();
        let mut cut_max = 0;
        for _ in 0..1 + chance.below(3) {
            let name = names[chance.below(names.len())];
            let is_small = chance.change(contents.get_mut(name).unwrap());
            if name.starts_with("redo") {
                // Several changes may take everything behind a place, and with it what says that it was durable.
                cut_max = if is_small && cut_max == 0 { RECORDS_CUT_MAX } else { RECORDS };
            }
        }
        match read(&contents) {
            Err(_) => refused += 1,
            Ok(found) => {
                right += 1;
                assert!(RECORDS <= found + cut_max, "round {round}: {found} records");
            }
        }
    }
    assert!(rounds / 10 < refused && rounds / 20 < right, "{refused} refused, {right} right");
}

/// The same for what says which checkpoints there are: no change of it is taken for another one.
#[test]
fn a_changed_manifest_is_none() {
    let whole = written();
    let mut chance = Chance(7);
    let slots: Vec<&Vec<u8>> =
        whole.iter().filter(|(name, _)| name.starts_with("manifest")).map(|(_, b)| b).collect();
    for _ in 0..of_tier(ROUNDS_SHORT, ROUNDS_LONG) {
        let bytes = slots[chance.below(slots.len())];
        let mut changed = bytes.clone();
        for _ in 0..1 + chance.below(3) {
            chance.change(&mut changed);
        }
        if let Some(found) = Manifest::decode(&changed) {
            assert_eq!(Some(found), Manifest::decode(bytes), "{changed:?}");
        }
    }
}
