//! The log between a primary and its backups.
//!
//! Positions number a shard's records without a gap. A backup takes them in order (another worker of the primary may have
//! sent the one before, on another channel, so one that is early waits) and acknowledges the highest. With two members a
//! record that has arrived is held by all, so the backup shows it at once; with more it waits for the commit index.

use protocol::Message;
use protocol::message::{
    CommitIndex, CommitOk, Committed, Record, RecordKind, Replicate, ReplicateOk,
};
use storage::{Pieces, RowChange, RowHandle};
use types::{Address, LogPosition, TableId, Timestamp, TransactionId};

use super::long::{EndingRows, Outcome};
use super::parked::WaitsFor;
use super::shard::{Prepared, Shard, Undecided};
use crate::node::Mutation;
use crate::worker::Context;

impl Shard {
    pub(super) fn send_record(&mut self, record: Record, context: &mut Context<'_>) {
        let replicate = Replicate {
            shard: self.id,
            position: self.position,
            commit_index: self.commit_index,
            schema: self.schema_version,
            record,
        };
        let filled = self.filling.as_ref().filter(|filling| !filling.counts);
        let mut receivers = self.backups.iter().copied().chain(filled.map(|filling| filling.node));
        let first = receivers.next().expect("the caller looked");
        for receiver in receivers {
            let owner = context.state.owner(self.id, receiver);
            context.send_for(self.id, owner, Message::Replicate(replicate.clone()));
        }
        let owner = context.state.owner(self.id, first);
        context.send_for(self.id, owner, Message::Replicate(replicate));
    }

    pub(super) fn on_replicate(
        &mut self,
        from: Address,
        message: Replicate,
        context: &mut Context<'_>,
    ) {
        if self.is_primary {
            // Promoted meanwhile: the sender is dead, and this member never acknowledged the record. (A primary that has handed
            // over had no record on its way.)
            return;
        }
        if self.is_reconciling() && message.position <= self.received {
            // Another member had it, too.
            return;
        }
        assert!(message.position > self.received, "channels deliver once");
        self.early.insert(message.position, (from, message));
        self.take_early(context);
        self.go_on_reconciling(context);
    }

    /// Can all of its rows be read?
    fn is_sound(&self, record: &Record) -> bool {
        let copied = match &record.kind {
            RecordKind::Copy { table, rows, .. } => self.check_copied(*table, rows),
            _ => true,
        };
        copied && self.check_writes(&record.writes)
    }

    /// Applies the records that came and whose turn it is.
    pub(super) fn take_early(&mut self, context: &mut Context<'_>) {
        if self.is_learner && self.commits.since.is_none() {
            // The marker says where the log begins (rule R6).
            return;
        }
        let mut answers: Vec<(Address, ReplicateOk)> = Vec::new();
        while let Some(entry) = self.early.first_entry() {
            if entry.key().0 != self.received.0 + 1 {
                break;
            }
            let (from, mut next) = entry.remove();
            let mutant = context.node.mutation == Mutation::NewTablesSkipped;
            // The primary, and whoever writes to it, may have adopted definitions before this replica.
            let is_known = next.schema <= self.schema_version || mutant;
            if !is_known || self.must_catch_up(&next.record, context) {
                self.early.insert(next.position, (from, next));
                break;
            }
            // A record that cannot be applied cannot be skipped either: this replica would differ from the primary's.
            assert!(self.is_sound(&next.record), "{from:?} sent rows that are none");
            self.advance_commit_index(next.commit_index, context);
            self.end_before(&next.record, context);
            let position = next.position;
            if !self.is_pair {
                self.keep(position, next.record.clone());
            }
            let stamp = stamp_here(&mut next.record, context).map(|ts| (position, ts));
            self.give_to_disk(position, &next.record, context);
            self.apply(position, next.record, context);
            self.received = position;
            match answers.last_mut() {
                Some((address, answer)) if *address == from => {
                    answer.position = position;
                    answer.stamps.extend(stamp);
                }
                _ => {
                    let stamps = stamp.into_iter().collect();
                    answers.push((from, ReplicateOk { shard: self.id, position, stamps }));
                }
            }
        }
        self.end_unless_it_fits(context);
        for (from, answer) in answers {
            context.send_for(self.id, from, Message::ReplicateOk(answer));
        }
        // The index of one may have come before it, from another worker.
        self.advance_commit_index(self.commit_index, context);
        self.tell_held_waiters(context);
        if self.early.is_empty() && !self.parked.is_empty() {
            self.begin_parked(WaitsFor::Records, context);
        }
    }

    /// Makes a record's changes on this backup.
    fn apply(&mut self, position: LogPosition, record: Record, context: &mut Context<'_>) {
        let transaction = record.transaction;
        self.discard_unconfirmed(&record.writes, context);
        match record.kind {
            RecordKind::Commit { ts, .. } => {
                let ts = ts.expect("stamped before it is applied");
                self.epoch_max = self.epoch_max.max(ts.epoch());
                self.remember(transaction, &record.kind, ts, context);
                let mutant = context.node.mutation == Mutation::ShowBeforeHeld;
                if self.is_pair || mutant {
                    let horizon = context.node.horizon();
                    for write in &record.writes {
                        if let Some(replica) = self.tables.get_mut(&write.table) {
                            let change = change_of(write.row.as_deref());
                            replica.partition.apply_committed(&write.key, change, ts, horizon);
                            self.rows_committed += 1;
                        }
                    }
                    // Last: it wakes readers, which must find the rows above, too.
                    if let Some(prepared) = self.prepared.remove(&transaction) {
                        self.end_applied(transaction, prepared.rows, Some(ts), context);
                    }
                } else {
                    let mut rows = self.prepared.remove(&transaction).unwrap_or_default().rows;
                    rows.extend(self.apply_pending(&record, Some(ts)));
                    self.undecided.push_back(Undecided { position, transaction, ts, rows });
                }
            }
            RecordKind::Part { lower_bound } => {
                let rows = self.apply_pending(&record, Some(lower_bound));
                self.prepared.entry(transaction).or_default().rows.extend(rows);
            }
            RecordKind::Prepare { home } => {
                let rows = self.apply_pending(&record, None);
                let prepared = self.prepared.entry(transaction).or_default();
                prepared.rows.extend(rows);
                prepared.home = Some(home);
                prepared.since = Prepared::at(context.now);
            }
            RecordKind::Decision { commit } => {
                let prepared = self.prepared.remove(&transaction);
                // It may be rolled back before its first part was sent. Or it was prepared before this member's log begins, and the
                // copy, that is to bring its rows, has reached none, or there are none.
                let may_be_new = commit.is_none() || self.commits.since.is_some();
                assert!(prepared.is_some() || may_be_new, "prepared before decided");
                self.end_applied(transaction, prepared.unwrap_or_default().rows, commit, context);
            }
            // Of other members than the learner they ask nothing.
            RecordKind::Decisions { .. }
            | RecordKind::Copy { .. }
            | RecordKind::Offer { .. }
            | RecordKind::Verify { .. }
                if !self.is_learner => {}
            RecordKind::Decisions { decided, forgotten } => {
                self.commits.learn(decided, forgotten, context.now);
            }
            RecordKind::Copy { table, rows, complete_from } => {
                self.apply_copy(table, rows, complete_from, context);
            }
            RecordKind::Offer { table, after, pieces, complete_from } => {
                self.apply_offer(position, table, after, pieces, complete_from, context);
            }
            RecordKind::Verify { table, after, up_to, sum } => {
                self.end_comparing(context);
                self.verify(table, after.as_deref(), up_to.as_deref(), sum);
            }
            RecordKind::Closed { at } => self.on_closed(at, context),
        }
    }

    fn apply_pending(
        &mut self,
        record: &Record,
        ts: Option<Timestamp>,
    ) -> Vec<(TableId, RowHandle)> {
        let mut rows = Vec::with_capacity(record.writes.len());
        for write in &record.writes {
            if let Some(replica) = self.tables.get_mut(&write.table) {
                let change = change_of(write.row.as_deref());
                let partition = &mut replica.partition;
                let row = partition.apply_prepared(&write.key, change, record.transaction, ts);
                rows.push((write.table, row));
            }
        }
        rows
    }

    pub(super) fn end_applied(
        &mut self,
        transaction: TransactionId,
        rows: Pieces<(TableId, RowHandle)>,
        commit: Option<Timestamp>,
        context: &mut Context<'_>,
    ) {
        let outcome = commit.map_or(Outcome::Aborted, Outcome::Committed);
        let granted = self.end_rows(transaction, EndingRows::Applied(rows), outcome, context);
        assert!(granted.is_empty(), "a backup has no locks");
    }

    pub(super) fn on_commit_index(&mut self, message: &CommitIndex, context: &mut Context<'_>) {
        self.advance_commit_index(message.position, context);
    }

    pub(super) fn advance_commit_index(
        &mut self,
        commit_index: LogPosition,
        context: &mut Context<'_>,
    ) {
        self.commit_index = self.commit_index.max(commit_index);
        while self.undecided.front().is_some_and(|record| record.position <= self.commit_index) {
            let record = self.undecided.pop_front().expect("front exists");
            self.end_applied(record.transaction, record.rows, Some(record.ts), context);
        }
        self.drop_kept();
    }

    fn tell_held_waiters(&mut self, context: &mut Context<'_>) {
        while let Some(waiting) = self.held_waiters.first_entry() {
            if *waiting.key() > self.received {
                break;
            }
            for waiter in waiting.remove() {
                let message = Message::CommitOk(CommitOk {
                    transaction: waiter.transaction,
                    request: waiter.request,
                    shard: self.id,
                    committed: Committed::WhenHeld(self.received),
                });
                context.send_for(self.id, waiter.coordinator, message);
            }
        }
    }

    pub(super) fn on_replicate_ok(
        &mut self,
        from: Address,
        message: &ReplicateOk,
        context: &mut Context<'_>,
    ) {
        if !self.is_primary {
            // It is to lead; or it has handed over: another acknowledgement, over another channel, has said as much before.
            self.on_member_holds(from.node, message.position, context);
            return;
        }
        self.on_learner_holds(from.node, message.position);
        if !self.backups.contains(&from.node) {
            // A learner that does not count yet, or excluded meanwhile: it is not waited for.
            self.go_on_later(context);
            return;
        }
        assert!(message.position <= self.position, "nobody holds what was not written");
        for (position, ts) in &message.stamps {
            self.stamp_record(*position, *ts, context);
        }
        for record in &mut self.in_flight {
            if record.position > message.position {
                break;
            }
            record.missing.retain(|member| *member != from.node);
        }
        let before = self.commit_index;
        let granted = self.decide_held(context);
        if self.commit_index > before {
            self.tell_commit_index(context);
        }
        self.resume(granted, context);
        self.go_on_later(context);
    }

    /// Tells the backups what all members hold, where that does not follow from its having come to one.
    pub(super) fn tell_commit_index(&self, context: &mut Context<'_>) {
        if self.is_pair {
            return;
        }
        let index = CommitIndex { shard: self.id, position: self.commit_index };
        for backup in &self.backups {
            let owner = context.state.owner(self.id, *backup);
            context.send_for(self.id, owner, Message::CommitIndex(index.clone()));
        }
    }

    /// The backup gave a record its timestamp.
    pub(super) fn stamp_record(
        &mut self,
        position: LogPosition,
        stamped: Timestamp,
        context: &Context<'_>,
    ) {
        let record = self.in_flight.iter_mut().find(|record| record.position == position);
        let record = record.expect("not decided before it is stamped");
        match &mut record.kind {
            RecordKind::Commit { ts: ts @ None, .. } => *ts = Some(stamped),
            kind => panic!("{kind:?} needs no timestamp"),
        }
        let transaction = record.transaction;
        self.check_timestamp(transaction, stamped);
        self.give_stamp(position, transaction, stamped, context);
        let entry = &self.transactions[&transaction];
        self.mark(transaction, entry.sent..entry.writes.len(), stamped);
    }
}

/// Gives a record a timestamp that came without, and returns it.
fn stamp_here(record: &mut Record, context: &Context<'_>) -> Option<Timestamp> {
    let RecordKind::Commit { ts: ts @ None, .. } = &mut record.kind else { return None };
    let here = context.state.sequencer.map(|sequencer| sequencer.node);
    assert_eq!(here, Some(context.address.node), "only the sequencer stamps");
    *ts = Some(context.node.next_timestamps(1));
    *ts
}

fn change_of(row: Option<&[u8]>) -> RowChange<'_> {
    match row {
        Some(row) => RowChange::Put(row),
        None => RowChange::Delete,
    }
}
