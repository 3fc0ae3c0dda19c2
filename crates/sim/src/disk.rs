//! What a simulated node keeps while it is down.
//!
//! A disk takes its time: what was given to it is durable later, in order, and after a crash as much of the rest is there as chance has it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use kernel::Journal;
use types::Home;

use crate::random::Random;

/// The directory of a node.
pub struct Disk {
    pub home: Home,
    pub journal: Arc<DiskJournal>,
    /// The write that is under way.
    pub writes: Option<u64>,
}

impl Disk {
    pub fn new(home: Home) -> Disk {
        Disk { home, journal: Arc::default(), writes: None }
    }

    /// The process has ended: what it has not yet given to the system is lost.
    pub fn crash(&mut self, random: &mut Random) {
        self.writes = None;
        let mut state = self.journal.lock();
        for _ in 0..random.below(state.waiting.len() as u64 + 1) {
            state.write_next();
        }
        state.waiting.clear();
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
