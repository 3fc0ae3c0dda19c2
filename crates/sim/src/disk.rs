//! The content that a simulated node keeps while it is down.
//!
//! A disk takes its time: given records become durable later, in order, and after a crash a random
//! part of the others is there.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use kernel::{Journal, MemoryStore, Store};
use protocol::message::Room;
use types::{Home, WorkerId};

use crate::random::Random;

/// The directory of a node.
pub struct Disk {
    pub home: Home,
    pub journal: Arc<DiskJournal>,
    /// Where the world's nodes keep their rows on disks, too.
    pub store: Option<Arc<MemoryStore>>,
    /// The writes that are under way, one of a part at a time, and the places that they make durable.
    pub stores: BTreeMap<WorkerId, u64>,
    /// The write that is under way.
    pub writes: Option<u64>,
}

impl Disk {
    pub fn new(home: Home, has_rows: bool) -> Disk {
        let store = has_rows.then(Arc::<MemoryStore>::default);
        if let Some(store) = &store {
            store.set_slow(true);
        }
        let (journal, stores) = (Arc::default(), BTreeMap::new());
        Disk { home, journal, store, stores, writes: None }
    }

    /// The process has ended: records that it has not yet given to the system are lost.
    pub fn crash(&mut self, random: &mut Random) {
        self.writes = None;
        let mut state = self.journal.lock();
        for _ in 0..random.below(state.waiting.len() as u64 + 1) {
            state.write_next();
        }
        state.waiting.clear();
        if let Some(store) = &self.store {
            for (part, end) in store.unwritten() {
                let durable = store.durable(part);
                store.write(part, durable + random.below(end - durable + 1));
            }
            store.lose_power();
        }
        self.stores.clear();
    }

    /// The rows are found damaged when the node starts, and put aside.
    pub fn lose_rows(&mut self) {
        let store = Arc::new(MemoryStore::default());
        store.set_slow(true);
        store.set_room(self.store.as_ref().expect("it has rows").room());
        self.store = Some(store);
    }

    /// Begins to write what the parts were given that write nothing, if there is room for it.
    pub fn begin_stores(&mut self) -> Vec<WorkerId> {
        let Some(store) = self.store.as_ref().filter(|store| store.room() < Room::Nothing) else {
            return Vec::new();
        };
        let mut begun = store.unwritten();
        begun.retain(|(part, _)| !self.stores.contains_key(part));
        self.stores.extend(begun.iter().copied());
        begun.into_iter().map(|(part, _)| part).collect()
    }
    pub fn end_store(&mut self, part: WorkerId) {
        let place = self.stores.remove(&part).expect("it was begun");
        if let Some(store) = &self.store {
            store.write(part, place);
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
