//! The log of one voter in memory: entries above a base, and the marks that move along it.
//!
//! ```text
//!   base        stable       offered        last
//!    |------------|-------------|-------------|
//!    | on disk    | in the ready| not handed  |
//!    |            | under way   | out yet     |
//!    base <= commit <= last           (commit may lie anywhere on that line)
//! ```
//!
//! Everything at or below the base is covered by the snapshot. A truncation moves `offered` and `stable` back and is
//! remembered until the next ready carries it to disk. Sizes come from running totals stored beside each entry, so the
//! size of any stretch is one subtraction and there is no counter that could drift.

use std::collections::VecDeque;

use super::RaftEntry;
use super::limits::ENTRY_OVERHEAD;

/// An entry and the running total of entry sizes up to and including it.
struct Slot {
    entry: RaftEntry,
    size_total: u64,
}

pub(super) struct RaftLog {
    slots: VecDeque<Slot>,
    /// Index and term of the entry just before the first slot; (0, 0) for a log that was never compacted.
    base_index: u64,
    base_term: u64,
    /// Running total at the base.
    base_size_total: u64,
    /// Highest index known committed. Moved by commit_to. Invariant: base_index <= commit <= last_index.
    commit: u64,
    /// Highest index handed out for persisting. Moved by offer, truncate, reset. Invariant: stable <= offered <= last.
    offered: u64,
    /// Highest index known persisted here. Moved by offered_is_stable, truncate, reset.
    stable: u64,
    /// Lowest index cut from the entries handed out since the last ready.
    truncate_from: Option<u64>,
}

impl RaftLog {
    /// A log with nothing above the base, and everything up to the base persisted and committed.
    pub fn new(base_index: u64, base_term: u64) -> RaftLog {
        RaftLog {
            slots: VecDeque::new(),
            base_index,
            base_term,
            base_size_total: 0,
            commit: base_index,
            offered: base_index,
            stable: base_index,
            truncate_from: None,
        }
    }

    /// A log as it was on disk. Entries the snapshot covers may still be there; they are skipped.
    pub fn restore(base_index: u64, base_term: u64, entries: Vec<RaftEntry>) -> RaftLog {
        let mut log = RaftLog::new(base_index, base_term);
        for entry in entries.into_iter().filter(|entry| base_index < entry.index) {
            log.append(entry);
        }
        log.offered = log.last_index();
        log.stable = log.offered;
        log
    }

    pub fn base_index(&self) -> u64 {
        self.base_index
    }

    pub fn last_index(&self) -> u64 {
        self.base_index + self.slots.len() as u64
    }

    pub fn last_term(&self) -> u64 {
        self.slots.back().map_or(self.base_term, |slot| slot.entry.term)
    }

    pub fn commit(&self) -> u64 {
        self.commit
    }

    pub fn stable(&self) -> u64 {
        self.stable
    }

    /// Term of the entry at `index`, if the log still knows it.
    pub fn term_at(&self, index: u64) -> Option<u64> {
        if index == self.base_index {
            return Some(self.base_term);
        }
        self.entry(index).map(|entry| entry.term)
    }

    fn entry(&self, index: u64) -> Option<&RaftEntry> {
        self.slot(index).map(|slot| &slot.entry)
    }

    fn slot(&self, index: u64) -> Option<&Slot> {
        let position = index.checked_sub(self.base_index)?.checked_sub(1)?;
        self.slots.get(usize::try_from(position).ok()?)
    }

    /// Bytes of the entries in (low, high].
    pub fn size_between(&self, low: u64, high: u64) -> u64 {
        assert!(self.base_index <= low);
        assert!(high <= self.last_index());
        if high <= low { 0 } else { self.size_total_at(high) - self.size_total_at(low) }
    }

    fn size_total_at(&self, index: u64) -> u64 {
        self.slot(index).map_or(self.base_size_total, |slot| slot.size_total)
    }

    pub fn append(&mut self, entry: RaftEntry) {
        assert_eq!(entry.index, self.last_index() + 1);
        assert!(self.last_term() <= entry.term);
        let size_total =
            self.size_total_at(self.last_index()) + entry.data.len() as u64 + ENTRY_OVERHEAD;
        self.slots.push_back(Slot { entry, size_total });
    }

    /// Drops the entries from `from` on. Committed entries are never dropped.
    pub fn truncate(&mut self, from: u64) {
        assert!(self.commit < from);
        assert!(from <= self.last_index());
        self.slots.truncate((from - self.base_index - 1) as usize);
        if from <= self.offered {
            self.truncate_from = Some(self.truncate_from.map_or(from, |before| before.min(from)));
            self.offered = from - 1;
        }
        self.stable = self.stable.min(from - 1);
    }

    /// Forgets everything and starts over just above a snapshot that came from the leader.
    pub fn reset(&mut self, base_index: u64, base_term: u64) {
        assert!(self.commit < base_index);
        let truncate_from = self.truncate_from.map_or(base_index + 1, |b| b.min(base_index + 1));
        *self = RaftLog::new(base_index, base_term);
        self.truncate_from = Some(truncate_from);
    }

    /// Drops the entries at or below `index` from memory; the snapshot covers them.
    pub fn compact(&mut self, index: u64) {
        assert!(self.base_index <= index);
        assert!(index <= self.commit);
        let base_term = self.term_at(index).expect("index lies between base and commit");
        let base_size_total = self.size_total_at(index);
        self.slots.drain(..(index - self.base_index) as usize);
        self.base_index = index;
        self.base_term = base_term;
        self.base_size_total = base_size_total;
        // What is applied was persisted before, even if the ready that carried it is still unacknowledged.
        self.offered = self.offered.max(index);
        self.stable = self.stable.max(index);
    }

    pub fn commit_to(&mut self, index: u64) -> bool {
        assert!(index <= self.last_index());
        let moved = self.commit < index;
        self.commit = self.commit.max(index);
        moved
    }

    /// The entries in (low, high], as many as fit in `size_max` bytes and `count_max`, but at least one if any.
    pub fn entries(&self, low: u64, high: u64, size_max: u64, count_max: usize) -> Vec<RaftEntry> {
        assert!(self.base_index <= low);
        assert!(high <= self.last_index());
        let mut entries = Vec::new();
        for index in low + 1..=high {
            let fits = self.size_between(low, index) <= size_max && entries.len() < count_max;
            if !entries.is_empty() && !fits {
                break;
            }
            entries.push(self.entry(index).expect("index lies between base and last").clone());
        }
        entries
    }

    /// What must go to disk next: the index to truncate from, and the entries after that.
    pub fn offer(&mut self) -> (Option<u64>, Vec<RaftEntry>) {
        let last = self.last_index();
        let entries = self.entries(self.offered, last, u64::MAX, usize::MAX);
        self.offered = last;
        (self.truncate_from.take(), entries)
    }

    /// What of the entries above `index` was handed out for persisting.
    pub fn offered_above(&self, index: u64) -> Vec<RaftEntry> {
        let from = index.max(self.base_index);
        self.entries(from, self.offered.max(from), u64::MAX, usize::MAX)
    }

    /// The last offer is on disk. What was truncated meanwhile has already moved `offered` back.
    pub fn offered_is_stable(&mut self) {
        self.stable = self.offered;
    }

    /// Highest index at or below `index` whose term is at most `term`: where two logs may still agree, found without
    /// walking term by term over the network (Raft, section 5.3, last paragraphs).
    pub fn agreement_hint(&self, index: u64, term: u64) -> (u64, u64) {
        let mut hint = index.min(self.last_index());
        loop {
            match self.term_at(hint) {
                Some(hint_term) if hint_term <= term => return (hint, hint_term),
                Some(_) if self.base_index < hint => hint -= 1,
                // At or below the base nothing more is known; the caller probes from there.
                Some(hint_term) => return (hint, hint_term),
                None => return (hint, 0),
            }
        }
    }
}
