//! Who owns the pending versions of a partition, and how far their commits are.
//!
//! A pending row keeps the number of its state here in place of a timestamp. Rows in the same state share a number, so
//! that a transaction that changes a million rows costs one entry and no byte a row.

use hashbrown::HashTable;
use types::hash::hash64;
use types::{Timestamp, TransactionId};

/// The state of a row's pending version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The transaction that holds the row's exclusive lock.
    pub owner: TransactionId,
    /// The owner's statement that wrote the row last.
    pub statement: u32,
    pub phase: Phase,
}

/// Where the commit of a pending version stands (rule R11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not asked to commit: whatever timestamp it gets is above every snapshot that reads the row before.
    Active,
    /// Asked to commit. Its timestamp is, or will be, at least `lower_bound`: readers below need not wait.
    Committing { lower_bound: Timestamp },
}

#[derive(Default)]
pub(crate) struct PendingStates {
    states: Vec<(Pending, usize)>,
    free: Vec<u32>,
    by_state: HashTable<u32>,
    /// The state asked for last: a statement writes many rows in the same one.
    recent: u32,
    row_count: usize,
}

fn hash_of(state: &Pending) -> u64 {
    let (kind, bound) = match state.phase {
        Phase::Active => (0u8, 0),
        Phase::Committing { lower_bound } => (1, lower_bound.0),
    };
    let mut bytes = [0u8; 33];
    bytes[..8].copy_from_slice(&state.owner.sequence.to_le_bytes());
    bytes[8..16].copy_from_slice(&state.owner.incarnation.0.to_le_bytes());
    bytes[16..18].copy_from_slice(&state.owner.coordinator.node.0.to_le_bytes());
    bytes[18..20].copy_from_slice(&state.owner.coordinator.worker.0.to_le_bytes());
    bytes[20..24].copy_from_slice(&state.statement.to_le_bytes());
    bytes[24] = kind;
    bytes[25..33].copy_from_slice(&bound.to_le_bytes());
    hash64(&bytes)
}

impl PendingStates {
    /// Rows with a pending version.
    pub fn row_count(&self) -> usize {
        self.row_count
    }
    #[inline]
    pub fn get(&self, number: u64) -> &Pending {
        &self.states[number as usize].0
    }
    /// Counts one more row in `state`; its number.
    pub fn enter(&mut self, state: Pending) -> u64 {
        self.row_count += 1;
        if let Some((recent, rows)) = self.states.get_mut(self.recent as usize)
            && 0 < *rows
            && *recent == state
        {
            *rows += 1;
            return u64::from(self.recent);
        }
        let hash = hash_of(&state);
        let states = &self.states;
        let number = match self.by_state.find(hash, |&number| states[number as usize].0 == state) {
            Some(&number) => number,
            None => {
                let number = self.free.pop().unwrap_or(self.states.len() as u32);
                if number as usize == self.states.len() {
                    self.states.push((state, 0));
                } else {
                    self.states[number as usize] = (state, 0);
                }
                let states = &self.states;
                self.by_state
                    .insert_unique(hash, number, |&number| hash_of(&states[number as usize].0));
                number
            }
        };
        self.states[number as usize].1 += 1;
        self.recent = number;
        u64::from(number)
    }
    /// Counts one row less in the state of that number.
    pub fn leave(&mut self, number: u64) {
        let number = number as u32;
        let (state, rows) = &mut self.states[number as usize];
        assert!(0 < *rows);
        *rows -= 1;
        self.row_count -= 1;
        if *rows == 0 {
            let entry = self.by_state.find_entry(hash_of(state), |&other| other == number);
            let Ok(entry) = entry else { panic!("a state with rows is in the table") };
            entry.remove();
            self.free.push(number);
        }
        if self.row_count == 0 && 1024 < self.states.len() {
            *self = PendingStates::default();
        }
    }
}
