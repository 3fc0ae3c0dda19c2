//! What a simulated node keeps while it is down.
//!
//! A disk takes its time: what was given to it is durable later, in order, and after a crash as much of the rest is there as chance has it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use kernel::{Journal, Store, Visit};
use types::{Home, WorkerId};

use crate::random::Random;

/// The directory of a node.
pub struct Disk {
    pub home: Home,
    pub journal: Arc<DiskJournal>,
    /// Where the world's nodes keep their rows on disks, too.
    pub store: Option<Arc<DiskStore>>,
    /// The write that is under way.
    pub writes: Option<u64>,
}

impl Disk {
    pub fn new(home: Home, has_rows: bool) -> Disk {
        let store = has_rows.then(Arc::default);
        Disk { home, journal: Arc::default(), store, writes: None }
    }

    /// The process has ended: what it has not yet given to the system is lost.
    pub fn crash(&mut self, random: &mut Random) {
        self.writes = None;
        let mut state = self.journal.lock();
        for _ in 0..random.below(state.waiting.len() as u64 + 1) {
            state.write_next();
        }
        state.waiting.clear();
        if let Some(store) = &self.store {
            store.crash(random);
        }
    }
}

#[derive(Default)]
pub struct DiskJournal(Mutex<State>);

#[derive(Default)]
struct State {
    records: Vec<Vec<u8>>,
    waiting: VecDeque<Given>,
    /// Of all that it was ever given.
    durable: u64,
}

enum Given {
    Append(Vec<u8>),
    Replace(Vec<u8>),
}

impl State {
    fn give(&mut self, given: Given) -> u64 {
        self.waiting.push_back(given);
        self.durable + self.waiting.len() as u64
    }

    fn write_next(&mut self) {
        match self.waiting.pop_front() {
            None => return,
            Some(Given::Append(record)) => self.records.push(record),
            Some(Given::Replace(record)) => self.records = vec![record],
        }
        self.durable += 1;
    }
}

impl DiskJournal {
    pub fn is_behind(&self) -> bool {
        !self.lock().waiting.is_empty()
    }
    pub fn write_next(&self) {
        self.lock().write_next();
    }
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("one thread has it")
    }
}

impl Journal for DiskJournal {
    fn append(&self, record: &[u8]) -> u64 {
        self.lock().give(Given::Append(record.to_vec()))
    }
    fn replace(&self, record: &[u8]) -> u64 {
        self.lock().give(Given::Replace(record.to_vec()))
    }
    fn durable(&self) -> u64 {
        self.lock().durable
    }
    fn read(&self) -> Vec<Vec<u8>> {
        self.lock().records.clone()
    }
}

/// What a data node keeps of its rows. Each part has a write under way at a time, with all that it was given until that began.
#[derive(Default)]
pub struct DiskStore(Mutex<BTreeMap<WorkerId, Part>>);

#[derive(Default)]
struct Part {
    entries: Vec<Vec<u8>>,
    durable: u64,
    /// When the process started.
    found: u64,
    /// What is durable when the write that is under way has ended.
    writing: Option<u64>,
}

impl DiskStore {
    /// The parts that have something to write and do not.
    pub fn begin_writes(&self) -> Vec<WorkerId> {
        let mut parts = self.lock();
        let idle = parts
            .iter_mut()
            .filter(|(_, part)| part.writing.is_none() && part.durable < part.entries.len() as u64);
        idle.map(|(id, part)| {
            part.writing = Some(part.entries.len() as u64);
            *id
        })
        .collect()
    }
    pub fn end_write(&self, part: WorkerId) {
        let mut parts = self.lock();
        let part = parts.get_mut(&part).expect("it was begun");
        part.durable = part.writing.take().expect("it was begun");
    }
    /// The process has ended: of what is not durable as much is there as chance has it.
    fn crash(&self, random: &mut Random) {
        for part in self.lock().values_mut() {
            let rest = part.entries.len() as u64 - part.durable;
            part.durable += random.below(rest + 1);
            part.entries.truncate(usize::try_from(part.durable).expect("a count of entries"));
            (part.found, part.writing) = (part.durable, None);
        }
    }
    fn lock(&self) -> MutexGuard<'_, BTreeMap<WorkerId, Part>> {
        self.0.lock().expect("one thread has it")
    }
}

impl Store for DiskStore {
    fn append(&self, part: WorkerId, entry: &[u8]) -> u64 {
        let mut parts = self.lock();
        let part = parts.entry(part).or_default();
        part.entries.push(entry.to_vec());
        part.entries.len() as u64
    }
    fn durable(&self, part: WorkerId) -> u64 {
        self.lock().get(&part).map_or(0, |part| part.durable)
    }
    fn parts(&self) -> u16 {
        self.lock().keys().last().map_or(0, |last| last.0 + 1)
    }
    fn read_log(&self, part: WorkerId, from: u64, visit: &mut Visit<'_>) -> Result<(), String> {
        let parts = self.lock();
        let Some(part) = parts.get(&part) else { return Ok(()) };
        let found = (1..=part.found).zip(&part.entries).skip_while(|(place, _)| *place <= from);
        found.map(|(place, entry)| visit(place, entry)).collect()
    }
}
