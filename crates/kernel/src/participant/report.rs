//! What a shard tells of its locks and transactions. Each call looks at a bounded piece, under the shard's lock.

use std::ops::Bound;

use protocol::Message;
use protocol::message::DeadlockFound;
use protocol::report::{
    BlockingLock, DeadlockMember, Holding, LockReport, LockWait, LockedKey, LockedMode,
    LockedThing, ShardHoldings, ShardLocks,
};
use storage::{Direction, KeyRange, LockMode, LockView, Locked, Partition, PendingRow, RowHandle};
use types::{IndexId, RowView, Table, TableId, Timestamp, TransactionId, Value};

use super::parked::{Circle, Parked};
use super::sequencer_address;
use super::shard::Shard;
use crate::limits::{
    BLOCKING_PER_REPORT, BLOCKING_TOLD_MAX, DEADLOCK_MEMBERS_MAX, HOLDINGS_TOLD_MAX,
    LOCK_PLACES_PER_REPORT, WAITS_TOLD_IN_FULL_MAX,
};
use crate::worker::{Context, Time};

impl Shard {
    /// A piece of the shard's locks; `budget` says how many may be told and is lowered by them.
    pub(crate) fn locks_from(&self, from: u64, budget: &mut usize, now: Time) -> ShardLocks {
        let mut locks = Vec::new();
        let next = match *budget {
            0 => Some(from),
            _ => self.locks.visit(from, LOCK_PLACES_PER_REPORT, &mut |view| {
                // The blockers of a wait are listed with the holdings.
                locks.push(self.lock_report(&view, now, 0));
                *budget = budget.saturating_sub(1);
                0 < *budget
            }),
        };
        ShardLocks { shard: self.id, locks, next, total: self.locks.view_count() as u64 }
    }

    /// What each transaction has here.
    pub(crate) fn holdings(&self, now: Time) -> ShardHoldings {
        let mut waits: Vec<(TransactionId, u64)> = self
            .parked
            .iter()
            .filter(|(_, parked)| parked.waits_for_lock())
            .map(|(token, parked)| (parked.execute.transaction, *token))
            .collect();
        waits.sort_unstable();
        let mut blocking_left = BLOCKING_PER_REPORT;
        let mut wait_of = |transaction: TransactionId| {
            let place = waits.partition_point(|(waiter, _)| *waiter < transaction);
            let (waiter, token) = waits.get(place)?;
            let view = (*waiter == transaction).then(|| self.locks.view_of(*token))?;
            let count_max = blocking_left.clamp(1, BLOCKING_TOLD_MAX);
            let report = self.lock_report(&view?, now, count_max);
            let told = report.wait.as_ref().map_or(0, |wait| wait.blocked_by.len());
            blocking_left = blocking_left.saturating_sub(told);
            Some(report)
        };
        let told = self.transactions.iter().take(HOLDINGS_TOLD_MAX);
        let holdings = told.map(|(transaction, entry)| Holding {
            transaction: *transaction,
            locks: self.locks.held_by(*transaction) as u64,
            writes: entry.row_count() as u64,
            wait: wait_of(*transaction),
        });
        ShardHoldings {
            shard: self.id,
            holdings: holdings.collect(),
            left_out: self.transactions.len().saturating_sub(HOLDINGS_TOLD_MAX) as u64,
        }
    }

    /// What those wait for whose waits began before `before`, of the first ones if there are many: each is looked up.
    pub(crate) fn waited_locks(&self, before: Time, locks: &mut Vec<(TransactionId, LockedThing)>) {
        let old = |parked: &Parked| parked.since <= before && parked.waits_for_lock();
        let waits = self.parked.iter().filter(|(_, parked)| old(parked));
        for (token, parked) in waits.take(WAITS_TOLD_IN_FULL_MAX) {
            if let Some(view) = self.locks.view_of(*token) {
                locks.push((parked.execute.transaction, self.locked_thing(&view)));
            }
        }
    }

    /// Has the detector remember a circle that is about to be broken here.
    pub(super) fn tell_deadlock(&self, circle: &Circle, context: &mut Context<'_>) {
        let Some(detector) = sequencer_address(context) else { return };
        let transaction = |token: u64| self.parked[&token].execute.transaction;
        let members = circle.waits.iter().take(DEADLOCK_MEMBERS_MAX).map(|token| DeadlockMember {
            transaction: transaction(*token),
            lock: self.locks.view_of(*token).map(|view| self.locked_thing(&view)),
            connection: None,
        });
        let found =
            DeadlockFound { victim: transaction(circle.victim), members: members.collect() };
        context.send(detector, Message::DeadlockFound(found));
    }

    fn lock_report(&self, view: &LockView<'_>, now: Time, blocking_max: usize) -> LockReport {
        LockReport {
            transaction: view.owner,
            name: view.name,
            lock: self.locked_thing(view),
            wait: view.token.map(|token| self.lock_wait(token, now, blocking_max)),
        }
    }

    fn lock_wait(&self, token: u64, now: Time, blocking_max: usize) -> LockWait {
        let since = self.parked.get(&token).map_or(now, |parked| parked.since);
        let rivals = match blocking_max {
            0 => Vec::new(),
            count_max => self.locks.rivals(token, count_max),
        };
        let blocked_by = rivals.into_iter().map(|rival| BlockingLock {
            transaction: rival.owner,
            index: rival.index,
            name: rival.name,
        });
        LockWait { age_us: now.saturating_sub(since), blocked_by: blocked_by.collect() }
    }

    fn locked_thing(&self, view: &LockView<'_>) -> LockedThing {
        let key = |index: IndexId, key: &[u8]| match self.key_values(view.table, index, key) {
            Some(values) => LockedKey::Values(values),
            None => LockedKey::Unknown,
        };
        let (mode, key) = match view.locked {
            Locked::Row(LockMode::Shared, row) => (LockedMode::SharedRow, key(IndexId(0), row)),
            Locked::Row(LockMode::Exclusive, row) => {
                (LockedMode::ExclusiveRow, key(IndexId(0), row))
            }
            Locked::Range(index, range) => match &range.upper {
                Bound::Unbounded => (LockedMode::SharedRange, LockedKey::OpenEnd),
                Bound::Included(upper) => (LockedMode::SharedRange, key(index, upper)),
                Bound::Excluded(upper) => (LockedMode::SharedGap, key(index, upper)),
            },
            Locked::Entry(index, entry) => (LockedMode::InsertIntention, key(index, entry)),
        };
        let index = view.locked.index();
        LockedThing { shard: self.id, table: view.table, index, mode, key }
    }

    /// The values of a key: read from the row that has it, or from the key itself.
    fn key_values(&self, table: TableId, index: IndexId, key: &[u8]) -> Option<Vec<Value>> {
        let replica = self.tables.get(&table)?;
        let partition = &replica.partition;
        let row = match index {
            IndexId(0) => partition.find(key),
            _ => find_entry(partition, index, key),
        };
        let bytes = row.and_then(|row| newest(partition, row));
        let bytes = bytes.filter(|row| partition.entry_is_current(index, key, row));
        match bytes {
            Some(bytes) => {
                let view = RowView::new(&replica.layout, &bytes);
                Some(values_of_row(partition.table(), index, &view))
            }
            None => {
                let table = partition.table();
                types::key::decode_key(table, table.index(index)?, key)
            }
        }
    }
}

fn find_entry(partition: &Partition, index: IndexId, key: &[u8]) -> Option<RowHandle> {
    if !partition.is_built(index) {
        return None;
    }
    let key = key.to_vec();
    let range = KeyRange { lower: Bound::Included(key.clone()), upper: Bound::Included(key) };
    let mut scan = partition.scan(index, &range, Direction::Forward, None);
    scan.next_candidate().map(|candidate| candidate.row)
}

/// The row as its owner has it, or as it was before that deleted it.
fn newest(partition: &Partition, row: RowHandle) -> Option<std::borrow::Cow<'_, [u8]>> {
    match partition.pending_row(row) {
        Some(PendingRow::Put(bytes)) => Some(bytes),
        Some(PendingRow::Delete) | None => partition.committed_at(row, Timestamp::MAX)?.row,
    }
}

/// The values of an index's columns and, behind those, of the primary key's; an entry of a unique key is wholly told.
fn values_of_row(table: &Table, index: IndexId, row: &RowView<'_>) -> Vec<Value> {
    let position = |part: &types::IndexPart| usize::from(part.column);
    let own = table.index(index).expect("the caller looked").parts.iter().map(position);
    let columns: Vec<usize> = match (index, table.unique_of) {
        (IndexId(0), None) => own.collect(),
        (IndexId(0), Some(_)) => (0..table.columns.len()).collect(),
        _ => own.chain(table.primary_key().parts.iter().map(position)).collect(),
    };
    columns.into_iter().map(|column| row.get(column).to_value()).collect()
}
