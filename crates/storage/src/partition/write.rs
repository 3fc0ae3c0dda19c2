//! Pending versions: how they are made, taken back, and become committed ones.

use types::hash::hash64;
use types::{Timestamp, TransactionId};

use super::version::{self, Header, KEYS_DIFFER, PENDING, QUEUED, TOMBSTONE};
use super::{Before, Partition, RowChange, RowHandle, Undo, WriteOutcome, entry_key};
use crate::arena::NIL;
use crate::hash::BLOCKS_PER_INSERT;
use crate::pending::{Pending, Phase};
use crate::pool::{Admission, MemoryFull};

impl Partition {
    /// Makes the row's pending version, or replaces the one its owner made before. The caller holds the row's exclusive
    /// lock for `owner`. Refused, nothing has changed; deletions are only where the partition ends.
    pub fn write(
        &mut self,
        key: &[u8],
        change: RowChange<'_>,
        owner: TransactionId,
        statement: u32,
    ) -> Result<WriteOutcome, MemoryFull> {
        let admission = match change {
            RowChange::Put(_) => Admission::Ordinary,
            RowChange::Delete => Admission::Freeing,
        };
        let state = Pending { owner, statement, phase: Phase::Active };
        self.write_as(key, change, state, admission)
    }

    /// A replica's write of a transaction that is preparing: the row's pending version, committing. Never refused.
    pub fn apply_prepared(
        &mut self,
        key: &[u8],
        change: RowChange<'_>,
        owner: TransactionId,
        lower_bound: Option<Timestamp>,
    ) -> RowHandle {
        let phase = Phase::Committing { lower_bound: lower_bound.unwrap_or(Timestamp::ZERO) };
        let state = Pending { owner, statement: 0, phase };
        let outcome = self.write_as(key, change, state, Admission::Reserved);
        outcome.expect("reserved admission is never refused").row
    }

    /// A committed version out of a log or a copy. Never refused. False, and nothing done, when the row has a version at
    /// or above `ts`. A pending version stays pending above it.
    pub fn apply_committed(
        &mut self,
        key: &[u8],
        change: RowChange<'_>,
        ts: Timestamp,
        horizon: Timestamp,
    ) -> bool {
        if let Some(row) = self.find(key) {
            let state = self.state(row);
            if state.newest.is_some_and(|newest| ts <= newest) {
                return false;
            }
            if state.pending.is_some() {
                self.insert_below_pending(row, change, ts, horizon);
                return true;
            }
        }
        // No transaction has the default id: coordinators number from one, and incarnations are random.
        let owner = TransactionId::default();
        let state = Pending { owner, statement: 0, phase: Phase::Active };
        let outcome = self.write_as(key, change, state, Admission::Reserved);
        self.commit(outcome.expect("reserved admission is never refused").row, ts, horizon);
        true
    }

    /// Moves the pending version to committing, or tells it more about its timestamp.
    pub fn set_committing(&mut self, row: RowHandle, lower_bound: Option<Timestamp>) {
        let lower_bound = lower_bound.unwrap_or(Timestamp::ZERO);
        self.set_phase(row, Phase::Committing { lower_bound });
    }
    /// Moves the pending version back from committing.
    pub fn set_active(&mut self, row: RowHandle) {
        self.set_phase(row, Phase::Active);
    }
    fn set_phase(&mut self, row: RowHandle, phase: Phase) {
        let header = version::header(&self.heap, row.0);
        assert!(header.is(PENDING));
        let state = Pending { phase, ..*self.pending.get(header.stamp) };
        let stamp = self.pending.enter(state);
        self.pending.leave(header.stamp);
        version::set_header(&mut self.heap, row.0, Header { stamp, ..header });
    }

    /// Makes the pending version the newest committed one and drops what `horizon` allows at once; the row goes with it
    /// when that is its deletion.
    pub fn commit(&mut self, row: RowHandle, ts: Timestamp, horizon: Timestamp) {
        let head = version::header(&self.heap, row.0);
        assert!(head.is(PENDING));
        let mut was_live = false;
        if head.older != NIL {
            let older = version::header(&self.heap, head.older);
            assert!(older.stamp < ts.0, "versions of a row strictly increase");
            was_live = !older.is(TOMBSTONE);
        }
        self.saved = None;
        self.pending.leave(head.stamp);
        let flags = head.flags & !PENDING;
        version::set_header(&mut self.heap, row.0, Header { flags, stamp: ts.0, ..head });
        self.live_count += u64::from(!head.is(TOMBSTONE));
        self.live_count -= u64::from(was_live);
        self.tidy(row, horizon);
    }

    /// Drops the pending version, however many writes made it; the row goes with it when it was its only one.
    pub fn abort(&mut self, row: RowHandle) {
        self.pop_pending(row);
    }

    /// Takes the row out as if it had never been: all its versions, their index entries, its place among those to be pruned. Nothing of
    /// it is pending.
    pub fn discard(&mut self, row: RowHandle) {
        let head = version::header(&self.heap, row.0);
        assert!(!head.is(PENDING), "what is pending has an owner");
        self.saved = None;
        if head.is(QUEUED) {
            let from = self.prunable_from(row).expect("a queued row has something to prune");
            let removed = self.prunable.remove(&(from, row));
            assert!(removed, "a queued row is in the queue");
        }
        self.live_count -= u64::from(!head.is(TOMBSTONE));
        self.cut_behind(row, row.0);
        if !head.is(TOMBSTONE) {
            self.remove_keys(row.0, |_, _, _| false);
        }
        self.remove_row(row);
    }

    /// Takes a write back. Never refused.
    pub fn undo(&mut self, undo: Undo) {
        match undo.before {
            Before::NotPending => self.pop_pending(undo.row),
            Before::Pending { row, statement } => {
                let key = self.key_of(undo.row).into_owned();
                let change = row.as_deref().map_or(RowChange::Delete, RowChange::Put);
                let head = version::header(&self.heap, undo.row.0);
                let state = Pending { statement, ..*self.pending.get(head.stamp) };
                let outcome = self.write_as(&key, change, state, Admission::Reserved);
                outcome.expect("reserved admission is never refused");
            }
        }
    }

    fn write_as(
        &mut self,
        key: &[u8],
        change: RowChange<'_>,
        state: Pending,
        admission: Admission,
    ) -> Result<WriteOutcome, MemoryFull> {
        let hash = hash64(key);
        let found = self.find_hashed(hash, key);
        self.write_admit(key, change, found, admission)?;
        self.saved = None;
        let outcome = match found {
            None => self.write_insert(hash, key, change, state),
            Some(row) if version::header(&self.heap, row.0).is(PENDING) => {
                self.write_replace(row, key, change, state)
            }
            Some(row) => self.write_push(row, key, change, state),
        };
        self.heap.arena.settle();
        self.scratch.trim();
        Ok(outcome)
    }

    /// Computes the new version's index keys and asks for the memory.
    fn write_admit(
        &mut self,
        key: &[u8],
        change: RowChange<'_>,
        found: Option<RowHandle>,
        admission: Admission,
    ) -> Result<(), MemoryFull> {
        let row_length = match change {
            RowChange::Put(row) => row.len(),
            RowChange::Delete => 0,
        };
        let mut blocks = version::blocks_needed(key.len(), row_length);
        blocks += match found {
            None => BLOCKS_PER_INSERT + self.indexes[0].tree.blocks_per_insert(key.len()),
            Some(row) => version::blocks_to_take_out(&self.heap, row.0, key.len()),
        };
        if let RowChange::Put(row) = change {
            for (index, new) in self.indexes.iter().zip(&mut self.scratch.keys_new).skip(1) {
                entry_key(&self.table, &self.layout, &index.definition, row, new);
                blocks += index.tree.blocks_per_insert(new.len());
            }
        }
        let admitted = self.heap.arena.admit(blocks, admission);
        let may_reuse = admitted.is_err() && admission == Admission::Ordinary;
        match may_reuse && version::fits_a_hole(&self.heap, key.len(), row_length) {
            true => self.heap.arena.admit(blocks, Admission::Reusing),
            false => admitted,
        }
    }

    fn write_insert(
        &mut self,
        hash: u64,
        key: &[u8],
        change: RowChange<'_>,
        state: Pending,
    ) -> WriteOutcome {
        let (row, flags) = parts(change);
        let stamp = self.pending.enter(state);
        let header = Header { flags, older: NIL, stamp };
        let head = version::create_head(&mut self.heap, header, key, row);
        self.hash
            .insert(&mut self.heap, hash, head, |heap, head| hash64(&version::key(heap, head)));
        self.indexes[0].tree.insert(&mut self.heap, key, head);
        if matches!(change, RowChange::Put(_)) {
            self.insert_keys_new(head);
        }
        let row = RowHandle(head);
        WriteOutcome { row, first: true, undo: Undo { row, before: Before::NotPending } }
    }

    fn write_push(
        &mut self,
        row: RowHandle,
        key: &[u8],
        change: RowChange<'_>,
        state: Pending,
    ) -> WriteOutcome {
        let (new_row, mut flags) = parts(change);
        let old = version::header(&self.heap, row.0);
        let mut inserts = false;
        match (change, old.is(TOMBSTONE)) {
            (RowChange::Put(_), true) => inserts = true,
            (RowChange::Put(_), false) => {
                self.compute_keys_old(row.0);
                if self.scratch.keys_differ() {
                    flags |= KEYS_DIFFER;
                    inserts = true;
                }
            }
            (RowChange::Delete, true) => {}
            (RowChange::Delete, false) => flags |= self.deletion_differs(),
        }
        let stamp = self.pending.enter(state);
        let new = Header { flags: flags | old.flags & QUEUED, older: NIL, stamp };
        if new.is(TOMBSTONE) && !old.is(TOMBSTONE) {
            version::push_deletion(&mut self.heap, row.0, new);
        } else {
            version::take_out(&mut self.heap, row.0);
            version::push(&mut self.heap, row.0, new, key, new_row, &mut self.scratch.bytes);
        }
        if inserts {
            self.insert_keys_new(row.0);
        }
        WriteOutcome { row, first: true, undo: Undo { row, before: Before::NotPending } }
    }

    fn write_replace(
        &mut self,
        row: RowHandle,
        key: &[u8],
        change: RowChange<'_>,
        state: Pending,
    ) -> WriteOutcome {
        let (new_row, flags) = parts(change);
        version::take_out(&mut self.heap, row.0);
        let (old, old_row) = version::header_and_row(&self.heap, row.0);
        let pending = *self.pending.get(old.stamp);
        assert!(pending.owner == state.owner, "a row has one writer at a time");
        let had_row = !old.is(TOMBSTONE);
        let before_row = had_row.then(|| old_row.into_owned());
        if had_row {
            self.compute_keys_old(row.0);
        }
        let stamp = self.pending.enter(state);
        self.pending.leave(old.stamp);
        let new = Header { flags: flags | old.flags & QUEUED, older: old.older, stamp };
        version::replace(&mut self.heap, row.0, new, key, new_row);
        // In before out: what comes in was admitted, what goes out cannot fail.
        let has_row = matches!(change, RowChange::Put(_));
        if has_row {
            self.insert_keys_new(row.0);
        }
        if had_row {
            let keys_old = std::mem::take(&mut self.scratch.keys_old);
            for (index, key) in keys_old.iter().enumerate().skip(1) {
                let stays = has_row && *key == self.scratch.keys_new[index];
                if !stays && !self.chain_has_key(old.older, index, key) {
                    self.indexes[index].tree.remove(&mut self.heap, key);
                }
            }
            self.scratch.keys_old = keys_old;
        }
        self.refresh_keys_differ(row.0);
        let before = Before::Pending { row: before_row, statement: pending.statement };
        WriteOutcome { row, first: false, undo: Undo { row, before } }
    }

    /// Puts a committed version between a pending one and what is older.
    fn insert_below_pending(
        &mut self,
        row: RowHandle,
        change: RowChange<'_>,
        ts: Timestamp,
        horizon: Timestamp,
    ) {
        self.saved = None;
        let key_length = self.key_of(row).len();
        let (new_row, flags) = parts(change);
        let head = version::header(&self.heap, row.0);
        let was_live = head.older != NIL && !version::header(&self.heap, head.older).is(TOMBSTONE);
        let is_live = matches!(change, RowChange::Put(_));
        let mut blocks = version::blocks_needed(key_length, new_row.len());
        blocks += version::blocks_to_take_out(&self.heap, row.0, key_length);
        if is_live {
            for (index, new) in self.indexes.iter().zip(&mut self.scratch.keys_new).skip(1) {
                entry_key(&self.table, &self.layout, &index.definition, new_row, new);
                blocks += index.tree.blocks_per_insert(new.len());
            }
        }
        let admitted = self.heap.arena.admit(blocks, Admission::Reserved);
        admitted.expect("reserved admission is never refused");
        version::take_out(&mut self.heap, row.0);
        let head = version::header(&self.heap, row.0);
        let flags = flags & !PENDING;
        let new = Header { flags, older: head.older, stamp: ts.0 };
        let below = version::create_old(&mut self.heap, new, new_row);
        version::set_header(&mut self.heap, row.0, Header { older: below, ..head });
        if is_live {
            self.insert_keys_new(row.0);
        }
        self.refresh_keys_differ(below);
        self.refresh_keys_differ(row.0);
        self.heap.arena.settle();
        self.live_count += u64::from(is_live);
        self.live_count -= u64::from(was_live);
        self.tidy(row, horizon);
    }

    /// Drops the pending version, its index entries, and the row when nothing else is left of it.
    fn pop_pending(&mut self, row: RowHandle) {
        let head = version::header(&self.heap, row.0);
        assert!(head.is(PENDING));
        self.saved = None;
        self.pending.leave(head.stamp);
        let older_deleted =
            head.older != NIL && version::header(&self.heap, head.older).is(TOMBSTONE);
        let has_own_keys =
            head.older == NIL || older_deleted || head.is(KEYS_DIFFER) || self.is_building();
        if !head.is(TOMBSTONE) && has_own_keys {
            self.remove_keys(row.0, |partition, index, key| {
                partition.chain_has_key(head.older, index, key)
            });
        }
        if head.older == NIL {
            assert!(!head.is(QUEUED));
            self.remove_row(row);
        } else {
            let blocks = version::blocks_needed(0, 0);
            let admitted = self.heap.arena.admit(blocks, Admission::Reserved);
            admitted.expect("reserved admission is never refused");
            version::pop(&mut self.heap, row.0, &mut self.scratch.bytes);
            self.heap.arena.settle();
            self.scratch.trim();
        }
    }

    /// Removes a row of one version whose secondary entries are gone.
    pub(super) fn remove_row(&mut self, row: RowHandle) {
        let key = self.key_of(row).into_owned();
        self.hash.remove(&mut self.heap.arena, hash64(&key), row.0);
        let removed = self.indexes[0].tree.remove(&mut self.heap, &key);
        assert!(removed, "every row is in the primary index");
        version::free(&mut self.heap, row.0);
    }

    /// Removes the secondary entries of a version's row, but those that stay, by index and key.
    pub(super) fn remove_keys(
        &mut self,
        version: u32,
        stays: impl Fn(&Partition, usize, &[u8]) -> bool,
    ) {
        if self.indexes.len() == 1 {
            return;
        }
        let row = version::row(&self.heap, version).into_owned();
        let mut key = Vec::new();
        for index in 1..self.indexes.len() {
            self.entry_key(index, &row, &mut key);
            if !stays(self, index, &key) {
                self.indexes[index].tree.remove(&mut self.heap, &key);
            }
        }
    }
    /// Whether some version, from this one on, has the key in an index.
    pub(super) fn chain_has_key(&self, mut version: u32, index: usize, key: &[u8]) -> bool {
        let mut other = Vec::new();
        while version != NIL {
            let (header, row) = version::header_and_row(&self.heap, version);
            if !header.is(TOMBSTONE) {
                self.entry_key(index, &row, &mut other);
                if other == key {
                    return true;
                }
            }
            version = header.older;
        }
        false
    }

    fn insert_keys_new(&mut self, head: u32) {
        for (index, key) in self.indexes.iter_mut().zip(&self.scratch.keys_new).skip(1) {
            index.tree.insert(&mut self.heap, key, head);
        }
    }
    fn compute_keys_old(&mut self, version: u32) {
        if self.indexes.len() == 1 {
            return;
        }
        let row = version::row(&self.heap, version);
        for (index, old) in self.indexes.iter().zip(&mut self.scratch.keys_old).skip(1) {
            entry_key(&self.table, &self.layout, &index.definition, &row, old);
        }
    }
    /// The flag of a deletion above a row: it has none of the row's keys.
    fn deletion_differs(&self) -> u16 {
        if self.indexes.len() == 1 { 0 } else { KEYS_DIFFER }
    }
    /// Computes a version's KEYS_DIFFER from its row and the next older one.
    pub(super) fn refresh_keys_differ(&mut self, version: u32) {
        let header = version::header(&self.heap, version);
        let mut flag = 0;
        if header.older != NIL && self.indexes.len() > 1 {
            let (older, older_row) = version::header_and_row(&self.heap, header.older);
            if !older.is(TOMBSTONE) && header.is(TOMBSTONE) {
                flag = self.deletion_differs();
            } else if !older.is(TOMBSTONE) {
                let row = version::row(&self.heap, version);
                let (mut key, mut key_older) = (Vec::new(), Vec::new());
                for index in 1..self.indexes.len() {
                    self.entry_key(index, &row, &mut key);
                    self.entry_key(index, &older_row, &mut key_older);
                    if key != key_older {
                        flag = KEYS_DIFFER;
                    }
                }
            }
        }
        let flags = header.flags & !KEYS_DIFFER | flag;
        version::set_header(&mut self.heap, version, Header { flags, ..header });
    }
}

impl super::Scratch {
    fn keys_differ(&self) -> bool {
        self.keys_new.iter().zip(&self.keys_old).skip(1).any(|(new, old)| new != old)
    }
}

/// The row bytes and flags of a pending version.
fn parts<'a>(change: RowChange<'a>) -> (&'a [u8], u16) {
    match change {
        RowChange::Put(row) => (row, PENDING),
        RowChange::Delete => (&[], PENDING | TOMBSTONE),
    }
}
