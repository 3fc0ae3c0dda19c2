//! Rows on their way from the files, which threads read, to the tables, which tasks of a worker write.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use types::{Table, TableId};

/// Batches that wait in a lane.
const LANE_BATCHES: usize = 4;

/// A table of the backup and the one that takes its rows.
#[derive(Clone)]
pub struct Target {
    pub from: Arc<Table>,
    pub to: Arc<Table>,
}

/// A change for a table of this cluster.
pub struct Change {
    pub table: TableId,
    pub key: Vec<u8>,
    /// None: the row goes.
    pub row: Option<Vec<u8>>,
    /// It is a row, not an entry of a unique key.
    pub is_of_visible: bool,
}

impl Change {
    pub fn bytes(&self) -> usize {
        self.key.len() + self.row.as_ref().map_or(0, Vec::len)
    }
}

/// Rows on their way from the files to the tables, and how far that is.
pub struct Pipeline {
    lanes: Vec<Mutex<VecDeque<Vec<Change>>>>,
    taken: Condvar,
    taken_lock: Mutex<()>,
    pub rows_read: AtomicU64,
    pub rows_written: AtomicU64,
    pub bytes_written: AtomicU64,
    /// Nothing more comes.
    is_read: AtomicBool,
    failed: Mutex<Option<String>>,
    /// The next AUTO_INCREMENT value of tables of the backup.
    pub sequences: Mutex<BTreeMap<TableId, u64>>,
}

impl Pipeline {
    pub fn new(lanes: usize) -> Pipeline {
        Pipeline {
            lanes: (0..lanes).map(|_| Mutex::default()).collect(),
            taken: Condvar::new(),
            taken_lock: Mutex::new(()),
            rows_read: AtomicU64::new(0),
            rows_written: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            is_read: AtomicBool::new(false),
            failed: Mutex::new(None),
            sequences: Mutex::default(),
        }
    }

    /// A thread failed: all stop.
    pub fn fail(&self, why: String) {
        lock(&self.failed).get_or_insert(why);
        self.taken.notify_all();
    }
    pub fn failure(&self) -> Option<String> {
        lock(&self.failed).clone()
    }

    /// Err: a thread failed.
    pub fn go_on(&self) -> Result<(), String> {
        self.failure().map_or(Ok(()), Err)
    }

    pub(super) fn lane_count(&self) -> usize {
        self.lanes.len()
    }
    /// Nothing more comes.
    pub(super) fn end(&self) {
        self.is_read.store(true, Ordering::Release);
    }

    /// The next batch of a lane. Ok(None): there is none yet; Err: none will come.
    pub fn take(&self, lane: usize) -> Result<Option<Vec<Change>>, ()> {
        // Looked at first: what came before is in the lane.
        let is_read = self.is_read.load(Ordering::Acquire);
        if self.failure().is_some() {
            return Err(());
        }
        let batch = lock(&self.lanes[lane]).pop_front();
        if batch.is_some() {
            self.taken.notify_all();
        }
        match batch {
            None if is_read => Err(()),
            batch => Ok(batch),
        }
    }

    /// Waits while the lane is full.
    pub(super) fn give(&self, lane: usize, batch: Vec<Change>) -> Result<(), String> {
        loop {
            self.go_on()?;
            let mut waiting = lock(&self.lanes[lane]);
            if waiting.len() < LANE_BATCHES {
                waiting.push_back(batch);
                return Ok(());
            }
            drop(waiting);
            let guard = lock(&self.taken_lock);
            // The taker does not hold this lock: a notification in between is noticed a moment later.
            let waited = self.taken.wait_timeout(guard, std::time::Duration::from_millis(5));
            drop(waited.expect("nobody panics while holding this lock"));
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding this lock")
}
