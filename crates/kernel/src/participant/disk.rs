//! What a replica gives its disk, and where its log is closed for a global checkpoint (protocol.md 3.7; R9).
//!
//! Every replica gives its disk each record when it has it, the primary as the others, in the order of the log. What the primary gives
//! before others hold it may never be decided; a checkpoint that comes behind it in the log is not done before it is.
//!
//! A log is closed at a timestamp when everything that has one up to it has ended before that place. Whoever sets its markers from
//! then on gets a later one (`read_floor`), whoever had set them before is waited for, and nobody waits for the checkpoint.

use std::collections::BTreeMap;

use protocol::disk::{CheckpointBlock, DiskEntry, encode_record};
use protocol::message::{Record, RecordKind};
use types::wire::Wire;
use types::{LogPosition, NodeId, TableId, Timestamp, TransactionId};

use super::shard::{Shard, TransactionState};
use crate::local_checkpoint::Piece;
use crate::node::Mutation;
use crate::worker::{Context, Time};

/// A replica's log, as far as the disk is concerned.
#[derive(Default)]
pub(super) struct DiskLog {
    /// The place on the disk behind what this replica has given it last.
    end: u64,
    /// Transactions that have not ended in the log, and COMMITs without a timestamp: a place on the disk before their first record.
    open: BTreeMap<TransactionId, u64>,
    /// The timestamp that the log is to be closed at, on the primary.
    closing: Option<Timestamp>,
    /// The timestamp that its primary has written last that it is closed at.
    written: Timestamp,
    /// The records that say so and are not known to be held by all, with the places on the disk behind them.
    written_at: BTreeMap<Timestamp, u64>,
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
            RecordKind::Decisions { .. } | RecordKind::Verify { .. } => false,
            _ => true,
        };
        if is_for_disk && context.node.store.is_some() {
            self.note_open(record, context);
            let mut bytes = Vec::with_capacity(record_size(record));
            encode_record(self.id, context.state.lineage, position, record, &mut bytes);
            self.give(&bytes, context);
            if let RecordKind::Closed { at } = record.kind {
                self.disk.written_at.insert(at, self.disk.end);
            }
        }
    }

    fn note_open(&mut self, record: &Record, context: &Context<'_>) {
        match record.kind {
            RecordKind::Part { .. }
            | RecordKind::Prepare { .. }
            | RecordKind::Commit { ts: None, .. } => {
                let place = self.disk_end(context);
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
        self.give_entry(&DiskEntry::Begun { shard, lineage, position }, context);
    }

    fn give_entry(&mut self, entry: &DiskEntry, context: &Context<'_>) {
        if context.node.store.is_some() {
            self.give(&entry.to_bytes(), context);
        }
    }

    /// Always to the part of its owner, whichever worker has the shard now: its entries stay in order.
    fn give(&mut self, entry: &[u8], context: &Context<'_>) {
        let owner = context.state.owner(self.id, context.address.node).worker;
        let store = context.node.store.as_ref().expect("the caller looked");
        self.disk.end = store.append(owner, entry);
    }

    /// A place on the disk such that what is not in the rows now, as the log has them, is behind it.
    pub(crate) fn log_from(&self, context: &Context<'_>) -> u64 {
        let open = self.disk.open.values().copied();
        open.min().unwrap_or(u64::MAX).min(self.disk_end(context))
    }

    /// The place behind all that its part of the disk was given, by other shards and boots, too.
    fn disk_end(&self, context: &Context<'_>) -> u64 {
        let owner = context.state.owner(self.id, context.address.node).worker;
        context.node.store.as_ref().expect("the caller looked").end(owner)
    }

    /// Some rows for a local checkpoint, from the first, or behind a key of a table.
    pub(crate) fn checkpoint_piece(
        &self,
        at: Option<(TableId, Option<&[u8]>)>,
        now: Time,
    ) -> Piece {
        let first = || self.tables.keys().next().copied();
        let (table, after) = match at {
            Some((table, after)) if self.tables.contains_key(&table) => (Some(table), after),
            // It was dropped meanwhile.
            Some((table, _)) => (self.next_table(table), None),
            None => (first(), None),
        };
        let Some(table) = table else {
            return Piece { block: None, newest: self.complete_from, next: None };
        };
        let (rows, newest, up_to) = self.committed_rows(table, after, now);
        let next = match up_to {
            Some(key) => Some((table, Some(key))),
            None => self.next_table(table).map(|table| (table, None)),
        };
        let block = CheckpointBlock { shard: self.id, table, rows };
        Piece { block: (!block.rows.is_empty()).then_some(block), newest, next }
    }

    fn next_table(&self, behind: TableId) -> Option<TableId> {
        self.tables.range(behind..).map(|(id, _)| *id).find(|id| *id > behind)
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
        // One that is being sent gets its bound when that is done; what is committing is in the log.
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
        let granted = self.append_record(record, Vec::new(), context);
        self.resume(granted, context);
    }

    /// All members hold the log to where it is closed, or on a backup: this one does.
    pub(super) fn on_closed(&mut self, at: Timestamp, context: &mut Context<'_>) {
        // Should it lead: nobody is to get a timestamp below that any more.
        self.read_floor = self.read_floor.max(at);
        self.disk.written = self.disk.written.max(at);
        // Of one that was written in another lineage nothing is known, and nothing is said.
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

    /// Without whom nothing is decided here, this node among them.
    pub(super) fn deciders(&self, context: &Context<'_>) -> impl Iterator<Item = NodeId> {
        self.backups.iter().copied().chain([context.address.node])
    }

    /// The primary gives its office up, or takes it over: who makes the checkpoint asks again.
    pub(super) fn give_up_closing(&mut self) {
        self.disk.closing = None;
    }
}

/// Bytes that it takes, about.
fn record_size(record: &Record) -> usize {
    let rows = record.writes.iter();
    64 + rows.map(|w| 16 + w.key.0.len() + w.row.as_ref().map_or(0, |r| r.0.len())).sum::<usize>()
}
