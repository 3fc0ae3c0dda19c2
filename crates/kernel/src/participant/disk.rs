//! The records that a replica gives its disk, and the place at which its log is closed for a global
//! checkpoint (rules.md#checkpoints; rule R9).
//!
//! Every replica gives its disk each record when it has it, the primary as the others, in the order
//! of the log. Records that the primary gives before others hold them may never be decided; a
//! checkpoint behind them in the log is not done before they are.
//!
//! A log is closed at a timestamp when every transaction with a timestamp up to it has ended before
//! that place. A transaction that sets its markers from then on gets a later timestamp
//! (`read_floor`), the closing waits for those that had set them before, and no transaction waits
//! for the checkpoint.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};

use protocol::disk::{CheckpointBlockWriter, DiskEntry, encode_record, record_size};
use protocol::message::{CopiedVersion, Record, RecordKind};
use storage::{Candidate, Direction, KeyRange};
use types::wire::Wire;
use types::{IndexId, LogPosition, NodeId, TableId, Timestamp, TransactionId};

use super::learner::{CommitsInLog, committed_in_log, newest_in_log};
use super::shard::{Shard, TableReplica, TransactionState};
use crate::limits::CHECKPOINT_BYTES_MAX;
use crate::local_checkpoint::{RowsCopied, TableSaved};
use crate::memory::Owed;
use crate::node::Mutation;
use crate::worker::Context;

/// A replica's log, as far as the disk is concerned.
#[derive(Default)]
pub(super) struct DiskLog {
    /// The place on the disk behind what this replica has given it last.
    end: u64,
    /// Where it says that this replica has begun with nothing, if it has.
    begun: Option<Range<u64>>,
    /// Transactions that have not ended in the log, and COMMITs without a timestamp: a place on the disk before their first record.
    open: BTreeMap<TransactionId, u64>,
    /// The timestamp that the log is to be closed at, on the primary.
    closing: Option<Timestamp>,
    /// The timestamp that its primary has written last that it is closed at.
    written: Timestamp,
    /// The records that say so and are not known to be held by all, with the places on the disk behind them.
    written_at: BTreeMap<Timestamp, u64>,
    /// What was durable when that was looked at last, and whether it was more than the time before.
    durable_seen: u64,
    has_moved: bool,
    closed: Option<Closed>,
}

/// Where all members hold the log to be closed.
#[derive(Clone, Copy)]
struct Closed {
    at: Timestamp,
    /// The place on the disk behind the record that says so: a checkpoint that begins there or later has a log without it.
    record: u64,
    /// The place behind which there is nothing more that belongs to that, stamps among it.
    end: u64,
}

impl TableSaved {
    fn of(table: TableId, replica: &TableReplica) -> TableSaved {
        let (rows, saved) = (replica.partition.row_count(), replica.partition.saved());
        TableSaved { table, rows, saved }
    }
}

impl Shard {
    /// Must its records carry their rows: for another member, or for the disk?
    pub(super) fn is_logged(&self, context: &Context<'_>) -> bool {
        self.has_receivers() || context.node.store.is_some()
    }

    pub(super) fn give_to_disk(
        &mut self,
        position: LogPosition,
        record: &Record,
        context: &Context<'_>,
    ) {
        let is_for_disk = match record.kind {
            // They tell a learner what the others know.
            RecordKind::Copy { .. } => self.is_learner,
            RecordKind::Decisions { .. } | RecordKind::Offer { .. } | RecordKind::Verify { .. } => {
                false
            }
            _ => true,
        };
        if is_for_disk && context.node.store.is_some() {
            let (shard, lineage) = (self.id, context.state.lineage);
            let write = &mut |out: &mut _| encode_record(shard, lineage, position, record, out);
            let place = self.give(record_size(record), write, context);
            self.note_open(record, place.start);
            if let RecordKind::Closed { at } = record.kind {
                self.disk.written_at.insert(at, self.disk.end);
            }
        }
    }

    /// As a learner: whether its disk is far behind its filling, or the indexes of a table are to
    /// be verified. It acknowledges no more of the filling then. So it is filled no faster than its
    /// disk takes the rows, and counts when the disk is nearly up to date: from then on commits may
    /// wait for it.
    pub(super) fn must_catch_up(&mut self, record: &Record, context: &Context<'_>) -> bool {
        let table = match record.kind {
            RecordKind::Copy { table, .. }
            | RecordKind::Offer { table, .. }
            | RecordKind::Verify { table, .. } => table,
            _ => return false,
        };
        if !self.is_learner {
            return false;
        }
        let is_verified = matches!(record.kind, RecordKind::Verify { .. });
        if is_verified && !self.tables.get(&table).is_none_or(TableReplica::indexes_built) {
            return true;
        }
        let Some(store) = &context.node.store else { return false };
        let owner = context.state.owner(self.id, context.address.node).worker;
        let waiting = store.end(owner).saturating_sub(store.durable(owner));
        let waiting_max = context.node.fill_backlog_max();
        if waiting > waiting_max / 2 {
            // No checkpoint is closed that would ask for it.
            store.flush(owner);
        }
        // Beside a load that takes all of its disk it gets on all the same.
        waiting > waiting_max && !std::mem::take(&mut self.disk.has_moved)
    }

    /// Looks now and then whether the disk takes anything.
    pub(super) fn watch_disk(&mut self, context: &Context<'_>) {
        let Some(store) = context.node.store.as_ref().filter(|_| self.is_learner) else { return };
        let durable = store.durable(context.state.owner(self.id, context.address.node).worker);
        self.disk.has_moved = durable != std::mem::replace(&mut self.disk.durable_seen, durable);
    }

    fn note_open(&mut self, record: &Record, place: u64) {
        match &record.kind {
            // The copies of its rows are all that the log has of its earlier changes.
            RecordKind::Copy { rows, .. } => {
                for row in rows {
                    if let CopiedVersion::Pending(pending) = &row.version {
                        self.disk.open.entry(pending.transaction).or_insert(place);
                    }
                }
            }
            RecordKind::Part { .. }
            | RecordKind::Prepare { .. }
            | RecordKind::Commit { ts: None, .. } => {
                self.disk.open.entry(record.transaction).or_insert(place);
            }
            RecordKind::Commit { .. } | RecordKind::Decision { .. } => {
                self.disk.open.remove(&record.transaction);
            }
            _ => {}
        }
    }

    /// The timestamp of a record that was given without it.
    pub(super) fn give_stamp(
        &mut self,
        position: LogPosition,
        transaction: TransactionId,
        ts: Timestamp,
        context: &Context<'_>,
    ) {
        self.disk.open.remove(&transaction);
        let (shard, lineage) = (self.id, context.state.lineage);
        self.give_entry(&DiskEntry::Stamped { shard, lineage, position, ts }, context);
    }

    /// This replica begins with nothing.
    pub(super) fn give_begin(&mut self, position: LogPosition, context: &Context<'_>) {
        self.disk.open.clear();
        let (shard, lineage) = (self.id, context.state.lineage);
        self.disk.begun = self.give_entry(&DiskEntry::Begun { shard, lineage, position }, context);
    }

    /// As a learner: where the disk says so.
    pub(crate) fn begun_on_disk(&self) -> Option<Range<u64>> {
        self.disk.begun.clone().filter(|_| self.is_learner)
    }

    fn give_entry(&mut self, entry: &DiskEntry, context: &Context<'_>) -> Option<Range<u64>> {
        let has_disk = context.node.store.is_some();
        has_disk.then(|| self.give(0, &mut |out| entry.encode(out), context))
    }

    /// Always to the part of its owner, whichever worker has the shard now: its entries stay in order.
    fn give(
        &mut self,
        size: usize,
        write: &mut dyn FnMut(&mut Vec<u8>),
        context: &Context<'_>,
    ) -> Range<u64> {
        let owner = context.state.owner(self.id, context.address.node).worker;
        let store = context.node.store.as_ref().expect("the caller looked");
        let place = store.append(owner, size, write);
        self.disk.end = place.end;
        place
    }

    /// A place on the disk such that every change that the rows lack now, as the log has them, is behind it.
    pub(crate) fn log_from(&self, context: &Context<'_>) -> u64 {
        // What a backup has of a transaction is in the log, so a checkpoint without it must have that log.
        let is_open = |id: &TransactionId| self.is_primary || self.disk.open.contains_key(id);
        assert!(self.transactions.keys().all(is_open), "shard {}: undecided, not open", self.id);
        let open = self.disk.open.values().copied();
        open.min().unwrap_or(u64::MAX).min(self.disk_end(context))
    }

    /// The place behind all that its part of the disk was given, by other shards and boots, too.
    fn disk_end(&self, context: &Context<'_>) -> u64 {
        let owner = context.state.owner(self.id, context.address.node).worker;
        context.node.store.as_ref().expect("the caller looked").end(owner)
    }

    // For a local checkpoint.

    pub(crate) fn next_table(&self, behind: Option<TableId>) -> Option<TableId> {
        let from = behind.map_or(Bound::Unbounded, Bound::Excluded);
        self.tables.range((from, Bound::Unbounded)).next().map(|(id, _)| *id)
    }

    /// No decision up to this timestamp is in the log behind the rows copied now, unless with its rows.
    pub(crate) fn complete_from(&self) -> Timestamp {
        self.complete_from
    }

    pub(crate) fn tables_saved(&self) -> impl Iterator<Item = TableSaved> {
        self.tables.iter().map(|(table, replica)| TableSaved::of(*table, replica))
    }

    pub(crate) fn table_saved(&self, table: TableId) -> Option<TableSaved> {
        Some(TableSaved::of(table, self.tables.get(&table)?))
    }

    /// A section of the table's rows as they are from now on is begun, or was loaded.
    pub(crate) fn note_section(&mut self, table: TableId, number: u64) {
        if let Some(replica) = self.tables.get_mut(&table) {
            let first = replica.partition.saved().map_or(number, |first| first.min(number));
            replica.partition.set_saved(Some(first));
        }
    }

    /// None of them has its rows for certain.
    pub(crate) fn forget_sections(&mut self, table: TableId) {
        if let Some(replica) = self.tables.get_mut(&table) {
            replica.partition.set_saved(None);
        }
    }

    /// Copies some rows of a table, as they are in the log, from behind a key on and up to one, or all. None: the table has been dropped.
    pub(crate) fn copy_rows(
        &self,
        table: TableId,
        (after, up_to): (Option<&[u8]>, Option<&[u8]>),
        rows_max: usize,
        into: &mut CheckpointBlockWriter,
    ) -> Option<RowsCopied> {
        let partition = &self.tables.get(&table)?.partition;
        // Only a row with a pending version can have a commit in the log.
        let (commits, none) = (LazyCell::new(|| self.commits_in_log()), CommitsInLog::new());
        let size_before = into.size();
        let mut copied = RowsCopied::default();
        let all = KeyRange::all();
        let mut scan = partition.scan(IndexId(0), &all, Direction::Forward, after);
        scan.prefetch_next(rows_max);
        while let Some(Candidate { key, row }) = scan.next_candidate() {
            if up_to.is_some_and(|last| last < key) {
                break;
            }
            let is_pending = partition.state(row).pending.is_some();
            let commits = if is_pending { &*commits } else { &none };
            copied.newest = copied.newest.max(newest_in_log(commits, partition, row));
            copied.has_pending |= is_pending;
            if let Some((ts, value)) = committed_in_log(commits, partition, row) {
                into.add(key, ts, &value);
            }
            copied.rows += 1;
            copied.bytes = into.size() - size_before;
            if copied.rows == rows_max || copied.bytes >= CHECKPOINT_BYTES_MAX {
                copied.next_after = Some(partition.key_of(row).into_owned());
                break;
            }
        }
        Some(copied)
    }

    /// On the primary: writes into the log that it is closed, when it may.
    pub(super) fn close(&mut self, at: Timestamp, context: &mut Context<'_>) {
        if !self.is_primary || at <= self.disk.written {
            return;
        }
        // Before anybody is looked for whose markers were set below it.
        self.read_floor = self.read_floor.max(at);
        self.disk.closing = self.disk.closing.max(Some(at));
        self.go_on_closing(context);
    }

    pub(super) fn go_on_closing(&mut self, context: &mut Context<'_>) {
        let Some(at) = self.disk.closing else { return };
        if !self.is_primary || self.is_sealed(context) {
            return;
        }
        // A transaction being sent gets its bound when that is done; a committing one is in the log.
        let may_be_below = self.transactions.values().any(|entry| {
            let is_marked = matches!(
                entry.state,
                TransactionState::AwaitsTimestamp | TransactionState::Prepared
            );
            is_marked && entry.min_commit < at
        });
        if may_be_below && context.node.mutation != Mutation::PreparedNotClosed {
            return;
        }
        self.disk.closing = None;
        self.disk.written = at;
        self.on_closing_while_filling(at);
        let kind = RecordKind::Closed { at };
        let record = Record { transaction: TransactionId::default(), kind, writes: Vec::new() };
        let granted = self.append_record(record, Owed::default(), Vec::new(), context);
        self.resume(granted, context);
    }

    /// All members hold the log to where it is closed, or on a backup: this one does.
    pub(super) fn on_closed(&mut self, at: Timestamp, context: &mut Context<'_>) {
        // Should it lead: no transaction may get a timestamp below that any more.
        self.read_floor = self.read_floor.max(at);
        self.disk.written = self.disk.written.max(at);
        // A record of another lineage is unknown, and is not reported.
        let record = self.disk.written_at.remove(&at).unwrap_or(0);
        self.disk.written_at.retain(|written, _| at < *written);
        self.disk.closed = Some(Closed { at, record, end: self.disk.end });
        self.on_closed_while_filling(at);
        if let Some(store) = &context.node.store {
            store.flush(context.state.owner(self.id, context.address.node).worker);
        }
        context.go_on_later(self.id);
    }

    pub(super) fn is_closed_at(&self, at: Timestamp) -> bool {
        self.disk.closed.is_some_and(|closed| at <= closed.at)
    }

    /// The place on the disk that the log must be durable to, if it is closed there.
    pub(super) fn closed_place(&self, at: Timestamp) -> Option<u64> {
        self.disk.closed.filter(|closed| at <= closed.at).map(|closed| closed.end)
    }

    /// The timestamp that the log is closed at, if the record that says so is behind this place.
    pub(super) fn closed_behind(&self, place: u64) -> Option<Timestamp> {
        self.disk.closed.filter(|closed| place < closed.record).map(|closed| closed.at)
    }

    /// The nodes without which nothing is decided here, this node among them.
    pub(super) fn deciders(&self, context: &Context<'_>) -> impl Iterator<Item = NodeId> {
        self.backups.iter().copied().chain([context.address.node])
    }

    /// The primary gives its office up, or takes it over: the sequencer asks again for its checkpoint.
    pub(super) fn give_up_closing(&mut self) {
        self.disk.closing = None;
    }
}
