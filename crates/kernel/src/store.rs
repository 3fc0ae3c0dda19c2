//! Where a data node keeps its rows, beside its memory: the door to its disk.
//!
//! Each worker has a *part* of it, for the shards that it owns: a log of entries ([`protocol::disk`]), which become durable in their
//! order, behind the kernel's back. No worker waits for a disk.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use types::WorkerId;

pub trait Store: Send + Sync {
    /// Takes an entry behind all others of the part. Returns the place behind it, which only grows.
    fn append(&self, part: WorkerId, entry: &[u8]) -> u64;
    /// The part is durable up to this place. When it is further the host tells the worker, by [`Input::Durable`](crate::Input).
    fn durable(&self, part: WorkerId) -> u64;
    /// How many parts there are, those of a former boot that had more workers among them.
    fn parts(&self) -> u16;
    /// The entries that were durable when the process started, in order, from the first that ends behind this place, each with the place
    /// behind it. Errors are those of the visitor, and what is wrong with the disk.
    fn read_log(&self, part: WorkerId, from: u64, visit: &mut Visit<'_>) -> Result<(), String>;
}

pub type Visit<'a> = dyn FnMut(u64, &[u8]) -> Result<(), String> + 'a;

/// One that lasts as long as the process, and whose entries are durable at once, or when the test says so.
#[derive(Default)]
pub struct MemoryStore(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    parts: BTreeMap<WorkerId, Part>,
    is_slow: bool,
}

#[derive(Default)]
struct Part {
    entries: Vec<Vec<u8>>,
    durable: u64,
    /// When the process started.
    found: u64,
}

impl MemoryStore {
    /// Nothing more is durable until that is over; then the host is to say so.
    pub fn set_slow(&self, is_slow: bool) {
        let mut memory = self.lock();
        memory.is_slow = is_slow;
        for part in memory.parts.values_mut() {
            part.durable = part.entries.len() as u64;
        }
    }

    /// The process has ended; what it gave stays.
    pub fn close(&self) {
        let mut memory = self.lock();
        memory.is_slow = false;
        for part in memory.parts.values_mut() {
            part.durable = part.entries.len() as u64;
            part.found = part.durable;
        }
    }

    /// The power fails: what is not durable is lost.
    pub fn lose_power(&self) {
        let mut memory = self.lock();
        memory.is_slow = false;
        for part in memory.parts.values_mut() {
            part.entries.truncate(usize::try_from(part.durable).expect("a count of entries"));
            part.found = part.durable;
        }
    }

    /// What a part was given, in order.
    pub fn entries(&self, part: WorkerId) -> Vec<Vec<u8>> {
        self.lock().parts.get(&part).map(|part| part.entries.clone()).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().expect("nobody panics while holding this lock")
    }
}

impl Store for MemoryStore {
    fn append(&self, part: WorkerId, entry: &[u8]) -> u64 {
        let mut memory = self.lock();
        let is_slow = memory.is_slow;
        let part = memory.parts.entry(part).or_default();
        part.entries.push(entry.to_vec());
        let place = part.entries.len() as u64;
        if !is_slow {
            part.durable = place;
        }
        place
    }
    fn durable(&self, part: WorkerId) -> u64 {
        self.lock().parts.get(&part).map_or(0, |part| part.durable)
    }
    fn parts(&self) -> u16 {
        self.lock().parts.keys().last().map_or(0, |last| last.0 + 1)
    }
    fn read_log(&self, part: WorkerId, from: u64, visit: &mut Visit<'_>) -> Result<(), String> {
        let memory = self.lock();
        let Some(part) = memory.parts.get(&part) else { return Ok(()) };
        let found = (1..=part.found).zip(&part.entries).skip_while(|(place, _)| *place <= from);
        found.map(|(place, entry)| visit(place, entry)).collect()
    }
}
