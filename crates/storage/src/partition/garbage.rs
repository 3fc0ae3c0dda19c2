//! Versions that no reader can see any more (rule R14).
//!
//! A row is queued under the horizon at which its oldest version can go: the timestamp of the version that took its
//! place, or its own when it is a deletion. One entry a row, so the queue never outgrows the rows; a partition without
//! old versions has an empty one.

use std::collections::BTreeSet;

use types::Timestamp;

use super::version::{self, Header, KEYS_DIFFER, PENDING, QUEUED, TOMBSTONE};
use super::{Partition, RowHandle};
use crate::arena::NIL;

impl Partition {
    /// Drops versions that no reader at or above `horizon` can see, rows in the order in which they became so, until about
    /// `budget` versions are gone. How many went; 0 means that nothing is left to do.
    pub fn prune(&mut self, horizon: Timestamp, budget: usize) -> usize {
        let mut pruned = 0;
        while pruned < budget
            && let Some(&(from, row)) = self.prunable.first()
            && from <= horizon
        {
            self.prunable.pop_first();
            let gone = self.prune_row(row, horizon);
            assert!(0 < gone, "a row is queued for when something of it can go");
            pruned += gone;
        }
        pruned
    }

    /// After a commit: prunes the row, or queues it for later.
    pub(super) fn tidy(&mut self, row: RowHandle, horizon: Timestamp) {
        let head = version::header(&self.heap, row.0);
        if head.is(QUEUED) {
            // What was queued stays so, at the same place: its turn comes. Only when all that is old can go now it is
            // worth finding that place.
            let newest = self.state(row).newest.expect("something was committed");
            if newest <= horizon {
                let from = self.prunable_from(row).expect("a queued row has something to prune");
                let removed = self.prunable.remove(&(from, row));
                assert!(removed, "a queued row is in the queue");
                self.prune_row(row, horizon);
            }
            return;
        }
        match self.prunable_from(row) {
            None => {}
            Some(from) if from <= horizon => {
                self.prune_row(row, horizon);
            }
            Some(from) => self.enqueue(row, from),
        }
    }

    fn enqueue(&mut self, row: RowHandle, from: Timestamp) {
        self.prunable.insert((from, row));
        let head = version::header(&self.heap, row.0);
        let flags = head.flags | QUEUED;
        version::set_header(&mut self.heap, row.0, Header { flags, ..head });
    }

    /// The horizon from which the oldest committed version can go.
    pub(super) fn prunable_from(&self, row: RowHandle) -> Option<Timestamp> {
        let mut header = version::header(&self.heap, row.0);
        let mut newer = None;
        loop {
            let committed = !header.is(PENDING);
            if header.older == NIL {
                let own = (committed && header.is(TOMBSTONE)).then_some(Timestamp(header.stamp));
                return own.or(if committed { newer } else { None });
            }
            newer = committed.then_some(Timestamp(header.stamp));
            header = version::header(&self.heap, header.older);
        }
    }

    /// Drops what `horizon` allows of a row that is not in the queue (whatever its head says), and queues it for the
    /// rest. The number of versions that went; the row may be gone with them.
    fn prune_row(&mut self, row: RowHandle, horizon: Timestamp) -> usize {
        let mut head = version::header(&self.heap, row.0);
        head.flags &= !QUEUED;
        version::set_header(&mut self.heap, row.0, head);

        // The newest version at or below the horizon is what a reader there sees; a deletion need not be kept for it.
        let mut above = NIL;
        let mut kept = row.0;
        let mut header = head;
        while header.is(PENDING) || horizon.0 < header.stamp {
            above = kept;
            kept = header.older;
            if kept == NIL {
                break;
            }
            header = version::header(&self.heap, kept);
        }
        let mut gone = 0;
        if kept != NIL {
            let last = if header.is(TOMBSTONE) { above } else { kept };
            if last == NIL {
                gone = self.cut_behind(row, row.0) + 1;
                self.remove_row(row);
                return gone;
            }
            gone = self.cut_behind(row, last);
        }
        if let Some(from) = self.prunable_from(row) {
            self.enqueue(row, from);
        }
        gone
    }

    /// Drops all versions older than `last`, and the index entries that only they have. Their number.
    pub(super) fn cut_behind(&mut self, row: RowHandle, last: u32) -> usize {
        let last_header = version::header(&self.heap, last);
        let first = last_header.older;
        if first == NIL {
            return 0;
        }
        let flags = last_header.flags & !KEYS_DIFFER;
        version::set_header(&mut self.heap, last, Header { flags, older: NIL, ..last_header });

        // Where no version differs from its neighbour, the one that stays has all the entries. While an index is being
        // built that is not known of it.
        let mut differ = last_header.is(KEYS_DIFFER) || self.is_building();
        let mut version = first;
        while version != NIL && !differ {
            let header = version::header(&self.heap, version);
            differ = header.is(KEYS_DIFFER);
            version = header.older;
        }
        let mut gone = 0;
        version = first;
        // Looked up for each version that goes, where they are several: chains can be long on both sides.
        let is_one = version::header(&self.heap, first).older == NIL;
        let kept = (differ && !is_one).then(|| self.keys_of_chain(row.0));
        while version != NIL {
            let header = version::header(&self.heap, version);
            if differ && !header.is(TOMBSTONE) {
                self.remove_keys(version, |partition, index, key| match &kept {
                    Some(kept) => kept[index].contains(key),
                    None => partition.chain_has_key(row.0, index, key),
                });
            }
            version::free(&mut self.heap, version);
            gone += 1;
            version = header.older;
        }
        gone
    }

    /// The keys that the versions from this one on have in each index; none of the primary one.
    fn keys_of_chain(&self, mut version: u32) -> Vec<BTreeSet<Vec<u8>>> {
        let mut keys = vec![BTreeSet::new(); self.indexes.len()];
        let mut key = Vec::new();
        while version != NIL {
            let (header, row) = version::header_and_row(&self.heap, version);
            if !header.is(TOMBSTONE) {
                for (index, keys) in keys.iter_mut().enumerate().skip(1) {
                    self.entry_key(index, &row, &mut key);
                    if !keys.contains(&key) {
                        keys.insert(key.clone());
                    }
                }
            }
            version = header.older;
        }
        keys
    }
}
