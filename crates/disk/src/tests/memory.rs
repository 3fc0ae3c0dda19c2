//! Files in memory that remember every operation, and what a crash between two of them may leave.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex};

use crate::files::{Files, not_of_room};

/// A write may be torn at multiples of this.
pub const SECTOR: usize = 512;

#[derive(Clone, Debug)]
pub enum Operation {
    /// A new file with this number.
    Create {
        name: String,
        file: usize,
        zeros: u64,
    },
    Write {
        file: usize,
        at: u64,
        bytes: Vec<u8>,
    },
    Cut {
        file: usize,
        length: u64,
    },
    Sync {
        file: usize,
    },
    SyncDirectory,
    Rename {
        from: String,
        to: String,
    },
    Remove {
        name: String,
    },
}

#[derive(Clone, Default)]
struct State {
    names: BTreeMap<String, usize>,
    contents: BTreeMap<usize, Vec<u8>>,
}

#[derive(Default)]
struct Recorded {
    state: State,
    operations: Vec<Operation>,
    file_last: usize,
    /// So many operations that need room are refused.
    refused: u32,
    /// So many writes are refused, though the file has its places.
    refused_writes: u32,
    /// The next sync fails, and nothing works any more.
    fails: bool,
    /// The next sync of a file whose name begins so fails, with this error.
    failing_sync: Option<(&'static str, ErrorKind)>,
    /// On the device this byte of files whose name begins so is another.
    spoiled: Option<(String, u64)>,
    bytes_read: u64,
}

#[derive(Clone, Default)]
pub struct MemoryFiles(Arc<Mutex<Recorded>>);

impl State {
    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Create { name, file, zeros } => {
                self.names.insert(name.clone(), *file);
                self.contents.insert(*file, vec![0; *zeros as usize]);
            }
            Operation::Write { file, at, bytes } => {
                // A write to a file that a crash has taken has no effect.
                let Some(contents) = self.contents.get_mut(file) else { return };
                let end = *at as usize + bytes.len();
                if contents.len() < end {
                    contents.resize(end, 0);
                }
                contents[*at as usize..end].copy_from_slice(bytes);
            }
            Operation::Cut { file, length } => {
                if let Some(contents) = self.contents.get_mut(file) {
                    contents.truncate(*length as usize);
                }
            }
            Operation::Rename { from, to } => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
            }
            Operation::Remove { name } => {
                self.names.remove(name);
            }
            Operation::Sync { .. } | Operation::SyncDirectory => {}
        }
    }
}

impl MemoryFiles {
    pub fn operations(&self) -> Vec<Operation> {
        self.0.lock().unwrap().operations.clone()
    }
    pub fn refuse_room(&self, times: u32) {
        self.0.lock().unwrap().refused = times;
    }
    pub fn refuse_writes(&self, times: u32) {
        self.0.lock().unwrap().refused_writes = times;
    }
    pub fn fail_sync_of(&self, name: &'static str, kind: ErrorKind) {
        self.0.lock().unwrap().failing_sync = Some((name, kind));
    }
    pub fn bytes_read(&self) -> u64 {
        self.0.lock().unwrap().bytes_read
    }
    pub fn spoil(&self, name: &str, at: u64) {
        self.0.lock().unwrap().spoiled = Some((name.into(), at));
    }
    pub fn fail(&self) {
        self.0.lock().unwrap().fails = true;
    }
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let recorded = self.0.lock().unwrap();
        let names = recorded.state.names.iter();
        names.map(|(name, file)| (name.clone(), recorded.state.contents[file].clone())).collect()
    }
    /// Files that hold this.
    pub fn of(contents: &BTreeMap<String, Vec<u8>>) -> MemoryFiles {
        let files = MemoryFiles::default();
        for (name, bytes) in contents {
            files.create(name, 0).unwrap();
            files.write_at(name, 0, bytes).unwrap();
        }
        files.0.lock().unwrap().operations.clear();
        files
    }

    fn add(&self, operation: Operation) -> Result<()> {
        let mut recorded = self.0.lock().unwrap();
        if recorded.fails {
            return Err(Error::other("the device is gone"));
        }
        recorded.state.apply(&operation);
        recorded.operations.push(operation);
        Ok(())
    }
    fn file(&self, name: &str) -> Result<usize> {
        let found = self.0.lock().unwrap().state.names.get(name).copied();
        found.ok_or_else(|| Error::new(ErrorKind::NotFound, name.to_string()))
    }
    fn take_room(&self) -> Result<()> {
        let mut recorded = self.0.lock().unwrap();
        if recorded.refused > 0 {
            recorded.refused -= 1;
            return Err(Error::from(ErrorKind::StorageFull));
        }
        Ok(())
    }
}

impl Files for MemoryFiles {
    fn list(&self) -> Result<Vec<String>> {
        Ok(self.0.lock().unwrap().state.names.keys().cloned().collect())
    }
    fn create(&self, name: &str, zeros: u64) -> Result<()> {
        self.take_room()?;
        let file = {
            let mut recorded = self.0.lock().unwrap();
            recorded.file_last += 1;
            recorded.file_last
        };
        self.add(Operation::Create { name: name.into(), file, zeros })
    }
    fn keep_places(&self, name: &str, zeros: u64) -> Result<()> {
        self.create(name, zeros)
    }
    fn room(&self) -> Result<u64> {
        Ok(u64::MAX)
    }
    fn write_at(&self, name: &str, at: u64, bytes: &[u8]) -> Result<()> {
        let file = self.file(name)?;
        let mut recorded = self.0.lock().unwrap();
        if recorded.refused_writes > 0 {
            recorded.refused_writes -= 1;
            return Err(Error::from(ErrorKind::StorageFull));
        }
        drop(recorded);
        self.add(Operation::Write { file, at, bytes: bytes.to_vec() })
    }
    fn cut(&self, name: &str, length: u64) -> Result<()> {
        let file = self.file(name)?;
        self.add(Operation::Cut { file, length })
    }
    fn sync(&self, name: &str) -> Result<()> {
        let file = self.file(name)?;
        let is_its = |(failing, _): &mut (&str, ErrorKind)| name.starts_with(*failing);
        let failed = self.0.lock().unwrap().failing_sync.take_if(is_its);
        if let Some((_, kind)) = failed {
            return Err(not_of_room(kind.into()));
        }
        self.add(Operation::Sync { file })
    }
    fn close(&self, _name: &str) {}
    fn sync_directory(&self) -> Result<()> {
        self.add(Operation::SyncDirectory)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.file(from)?;
        self.add(Operation::Rename { from: from.into(), to: to.into() })
    }
    fn remove(&self, name: &str) -> Result<()> {
        self.file(name)?;
        self.add(Operation::Remove { name: name.into() })
    }
    fn length(&self, name: &str) -> Result<u64> {
        let file = self.file(name)?;
        Ok(self.0.lock().unwrap().state.contents[&file].len() as u64)
    }
    fn read_into(&self, name: &str, at: u64, length: usize, into: &mut Vec<u8>) -> Result<()> {
        let file = self.file(name)?;
        let mut recorded = self.0.lock().unwrap();
        let bytes = &recorded.state.contents[&file];
        let from = (at as usize).min(bytes.len());
        into.clear();
        into.extend(&bytes[from..from.saturating_add(length).min(bytes.len())]);
        recorded.bytes_read += into.len() as u64;
        Ok(())
    }
    fn read_from_device(&self, name: &str, at: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = self.read_at(name, at, length)?;
        let spoiled = self.0.lock().unwrap().spoiled.clone();
        if let Some((_, place)) = spoiled.filter(|(of, _)| name.starts_with(of))
            && let Some(byte) = place.checked_sub(at).and_then(|at| bytes.get_mut(at as usize))
        {
            *byte ^= 1;
        }
        Ok(bytes)
    }
}

/// Is this operation certain to have reached the disk before the crash?
fn is_settled(operations: &[Operation], index: usize) -> bool {
    let behind = &operations[index + 1..];
    match &operations[index] {
        Operation::Write { file, .. } | Operation::Cut { file, .. } => behind
            .iter()
            .any(|other| matches!(other, Operation::Sync { file: synced } if synced == file)),
        Operation::Create { .. } | Operation::Rename { .. } | Operation::Remove { .. } => {
            behind.iter().any(|other| matches!(other, Operation::SyncDirectory))
        }
        Operation::Sync { .. } | Operation::SyncDirectory => true,
    }
}

/// What a crash behind these operations may leave: without what was not synced, with all of it, without or with only one of it, and
/// with the last write torn.
pub fn crash_states(operations: &[Operation]) -> Vec<BTreeMap<String, Vec<u8>>> {
    let loose: Vec<usize> = (0..operations.len()).filter(|i| !is_settled(operations, *i)).collect();
    let mut lost: Vec<Vec<usize>> = vec![loose.clone(), Vec::new()];
    for one in &loose {
        lost.push(vec![*one]);
        lost.push(loose.iter().copied().filter(|other| other != one).collect());
    }
    // And some of them, as chance has it.
    let mut state = operations.len() as u64;
    for _ in 0..if loose.len() > 2 { 24 } else { 0 } {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let chosen = loose.iter().enumerate().filter(|(i, _)| state >> (20 + i % 40) & 1 == 1);
        lost.push(chosen.map(|(_, index)| *index).collect());
    }
    lost.sort();
    lost.dedup();
    let mut states: Vec<BTreeMap<String, Vec<u8>>> = Vec::new();
    let mut play = |lost: &[usize], torn: Option<(usize, usize)>| {
        let mut state = State::default();
        for (index, operation) in operations.iter().enumerate() {
            if lost.contains(&index) {
                continue;
            }
            match (torn, operation) {
                (Some((at, length)), Operation::Write { file, at: offset, bytes })
                    if at == index =>
                {
                    let bytes = bytes[..length].to_vec();
                    state.apply(&Operation::Write { file: *file, at: *offset, bytes });
                }
                _ => state.apply(operation),
            }
        }
        let names = state.names.iter();
        let contents = names
            .filter_map(|(name, file)| Some((name.clone(), state.contents.get(file)?.clone())));
        states.push(contents.collect());
    };
    for lost in &lost {
        play(lost, None);
    }
    for index in loose.iter().rev().take(2) {
        if let Operation::Write { bytes, .. } = &operations[*index] {
            for length in (SECTOR..bytes.len()).step_by(SECTOR) {
                play(&[], Some((*index, length)));
            }
        }
    }
    states
}
