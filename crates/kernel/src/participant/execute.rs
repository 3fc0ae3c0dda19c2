//! Executing operations: reads, writes and scans of one transaction on one shard.
//!
//! Operations run in order until one must wait; then the rest is parked with its [`Progress`]. Plain reads that must wait
//! begin again from the first operation, because together they show one state of the shard; reads under locks and
//! writes go on where they stopped, because what they did stands.

use std::borrow::Cow;

use protocol::Message;
use protocol::Refusal;
use protocol::evaluation::{assign, contained, passes, project};
use protocol::message::{
    Committed, Execute, ExecuteOk, ExecuteRefused, Holds, ReadView, Room, Undo as UndoMessage,
    UndoOk,
};
use protocol::op::{
    Assignment, Batch, BatchResult, Columns, Lock, Op, OpKind, OpResult, WaitPolicy,
};
use storage::{
    Acquired, BLOCK_SIZE, Entries, KEPT_TO_THE_END, LockMode, RowChange, RowHandle, TakenLock,
    Visible,
};
use types::expr::EvalContext;
use types::key::index_entry_key;
use types::wire::Bytes;
use types::{Expr, NodeId, RowView, Space, Table, TableId, Timestamp, TransactionId, Value};

use super::long::Undoing;
use super::parked::{Parked, WaitsFor, needs_transaction};
use super::shard::{Answer, Shard, ShardTransaction, TransactionState, WriteEntry};
use crate::limits::{KEPT_PER_WRITE, READ_BYTES_MAX, RECORD_BYTES_MAX};
use crate::node::Mutation;
use crate::worker::Context;

/// How far an `Execute` has got.
#[derive(Default)]
pub(super) struct Progress {
    pub op_next: usize,
    pub results: BatchResult,
    /// Of the rows that were read by their keys.
    pub read_bytes: usize,
    /// Inside a scan under locks: what it has found, and where it stands.
    pub scan: Option<super::scan::ScanProgress>,
    /// What it found refuses it; that may be old, and waits for a lease.
    pub refusal: Option<Refusal>,
}

/// Why operations stopped before their end.
pub(super) enum Stop {
    Refused(Refusal),
    /// The lock wait with this token.
    Lock(u64),
    Decision(TransactionId),
    /// The shard has worked on rows of many bytes: others have their turn.
    Turn,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

impl Shard {
    pub(super) fn on_execute(&mut self, mut execute: Execute, context: &mut Context<'_>) {
        self.asked += 1;
        context.node.note_use(context.now);
        execute.lock_ranges &= context.node.mutation != Mutation::RangesNotLocked;
        execute.refuse_changed &= context.node.mutation != Mutation::ChangedNotRefused;
        if execute.ops.iter().any(|(_, op)| op.version > self.schema_version) {
            // The sender knows a newer schema: this replica will in a moment.
            let token = self.next_token();
            self.park(token, execute, Progress::default(), WaitsFor::Schema, context);
            return;
        }
        if matches!(execute.read, ReadView::Snapshot(_)) && !self.early.is_empty() {
            // A record that came and could not be applied yet may be of a commit that the snapshot has.
            let token = self.next_token();
            self.park(token, execute, Progress::default(), WaitsFor::Records, context);
            return;
        }
        if execute.transaction.coordinator.node != context.address.node
            && let Err(refusal) = self.check_execute(&execute)
        {
            let granted = self.refuse(&execute, refusal, context);
            self.resume(granted, context);
            return;
        }
        if self.is_reconciling() {
            let token = self.next_token();
            self.park(token, execute, Progress::default(), WaitsFor::Heir, context);
            return;
        }
        let takes_part = execute.ops.iter().any(|(_, op)| needs_transaction(&op.kind));
        if takes_part && self.is_sealed(context) {
            // From a worker that has heard sooner that the handover is over; or its transaction is given up, and that follows.
            let token = self.next_token();
            self.park(token, execute, Progress::default(), WaitsFor::Handover, context);
            return;
        }
        if takes_part && self.has_stepped_down() {
            // Its coordinator has given it up before the handover.
            self.send_unknown(execute.transaction, execute.request, context);
            return;
        }
        if takes_part {
            assert!(self.is_primary, "locks and writes go to the primary of the sender's view");
            self.transactions.entry(execute.transaction).or_insert_with(ShardTransaction::new);
        }
        if let ReadView::Snapshot(at) = execute.read {
            self.read_floor = self.read_floor.max(at);
            self.epoch_max = self.epoch_max.max(at.epoch());
        }
        self.turn_bytes.set(execute.params.iter().map(Value::held_bytes).sum());
        let granted = self.run(execute, Progress::default(), context);
        self.resume(granted, context);
    }

    /// Runs operations from where they stand; returns the lock waits that were granted by the end of the transaction, or by
    /// the undo of its statement.
    pub(super) fn run(
        &mut self,
        execute: Execute,
        mut progress: Progress,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        let done = match progress.refusal.take() {
            Some(refusal) => Err(Stop::Refused(refusal)),
            None => self.run_ops(&execute, &mut progress, context),
        };
        match done {
            Ok(()) => self.executed(execute, progress.results, context),
            Err(Stop::Refused(refusal)) if !context.node.has_lease(context.now) => {
                // A row that is there, or a value that does not fit, was read as much as what is answered (rule R3).
                progress.refusal = Some(refusal);
                let token = self.next_token();
                self.park(token, execute, progress, WaitsFor::Lease, context);
                Vec::new()
            }
            Err(Stop::Refused(refusal)) => self.refuse(&execute, refusal, context),
            Err(Stop::Lock(token)) => {
                let waiter = execute.transaction;
                // What commits with this message has nothing elsewhere that others could wait for.
                let only_here = execute.commit;
                self.park(token, execute, progress, WaitsFor::Lock, context);
                while let Some(circle) = self.deadlock(token, waiter) {
                    self.tell_deadlock(&circle, context);
                    self.refuse_parked(circle.victim, Refusal::Deadlock, context);
                }
                if !only_here {
                    context.wanted.circles.push(waiter);
                }
                Vec::new()
            }
            Err(Stop::Decision(transaction)) => {
                let plain = !execute.ops.iter().any(|(_, op)| needs_transaction(&op.kind));
                let progress = if plain { Progress::default() } else { progress };
                let token = self.next_token();
                self.park(token, execute, progress, WaitsFor::Decision(transaction), context);
                Vec::new()
            }
            Err(Stop::Turn) => {
                let token = self.next_token();
                self.park(token, execute, progress, WaitsFor::Turn, context);
                self.turns.push_back(token);
                self.go_on_later(context);
                Vec::new()
            }
        }
    }

    fn park(
        &mut self,
        token: u64,
        execute: Execute,
        progress: Progress,
        waits_for: WaitsFor,
        context: &Context<'_>,
    ) {
        let parked = Parked { execute, progress, waits_for, since: context.now };
        assert!(self.parked.insert(token, parked).is_none(), "a token names one wait");
    }

    /// All operations are done: answer, or commit first if that was asked for.
    fn executed(
        &mut self,
        execute: Execute,
        result: BatchResult,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        let holds = self.holds(execute.transaction);
        let is_proved = execute.commit && holds == Holds::Writes;
        if !is_proved && !context.node.has_lease(context.now) {
            // What was read may be old by now (rule R3). Where all members must acknowledge what is written, that says that it is not.
            let token = self.next_token();
            let progress =
                Progress { op_next: execute.ops.len(), results: result, ..Progress::default() };
            self.park(token, execute, progress, WaitsFor::Lease, context);
            return Vec::new();
        }
        if execute.commit && holds != Holds::Nothing {
            let answer = Answer::Execute { request: execute.request, result };
            return self.commit_here(execute.transaction, Vec::new(), answer, context);
        }
        let message = Message::ExecuteOk(ExecuteOk {
            transaction: execute.transaction,
            request: execute.request,
            shard: self.id,
            result,
            holds,
            committed: Committed::No,
        });
        context.send_for(self.id, execute.transaction.coordinator, message);
        Vec::new()
    }

    /// What the transaction has on this shard now.
    pub(super) fn holds(&self, transaction: TransactionId) -> Holds {
        match self.transactions.get(&transaction) {
            None => Holds::Nothing,
            Some(entry) if entry.writes.is_empty() => Holds::Locks,
            Some(_) => Holds::Writes,
        }
    }

    pub(super) fn run_ops(
        &mut self,
        execute: &Execute,
        progress: &mut Progress,
        context: &Context<'_>,
    ) -> Result<(), Stop> {
        self.check_snapshot(execute, context)?;
        let mut evaluation = EvalContext::with(&execute.params, execute.settings);
        evaluation.keep_sets();
        while let Some((position, op)) = execute.ops.get(progress.op_next) {
            // Not in between plain reads: together they show one state of the shard.
            if context.node.turn_bytes_max() < self.turn_bytes.get() && needs_transaction(&op.kind)
            {
                return Err(Stop::Turn);
            }
            let is_read = matches!(op.kind, OpKind::Read { .. });
            let result = match is_read && READ_BYTES_MAX < progress.read_bytes && !execute.commit {
                true => OpResult::Later,
                false => self.run_op(execute, op, progress, &mut evaluation, context)?,
            };
            // Those of an operation that stops come again with it.
            evaluation.convert.warnings.move_to(&mut progress.results.warnings);
            let work = evaluation.take_work();
            self.worked_on(work);
            if is_read {
                progress.read_bytes += work;
            }
            if let OpResult::Row(Some(row)) = &result {
                progress.read_bytes += row.len();
            }
            progress.results.results.push(vec![result]);
            progress.results.positions.push(*position);
            progress.op_next += 1;
        }
        Ok(())
    }

    /// Rule R14: below the horizon versions may be gone, so nothing is read there at all rather than a part of it. The shard's
    /// lock is held until these operations are done or parked, so none goes meanwhile.
    fn check_snapshot(&self, execute: &Execute, context: &Context<'_>) -> Result<(), Stop> {
        let ReadView::Snapshot(at) = execute.read else { return Ok(()) };
        if self.restamped.is_some_and(|(low, high)| low < at && at < high) {
            return Err(Refusal::RolledBack.into());
        }
        let mutant = context.node.mutation == Mutation::ReadBelowHorizon;
        let is_below = at < context.node.horizon().max(self.complete_from) && !mutant;
        let reads = || execute.ops.iter().any(|(_, op)| !needs_transaction(&op.kind));
        if is_below && (execute.refuse_changed || reads()) {
            return Err(Refusal::SnapshotTooOld.into());
        }
        Ok(())
    }

    fn run_op(
        &mut self,
        execute: &Execute,
        op: &Op,
        progress: &mut Progress,
        evaluation: &mut EvalContext<'_>,
        context: &Context<'_>,
    ) -> Result<OpResult, Stop> {
        if !self.tables.contains_key(&op.table) {
            return Err(Refusal::SchemaChanged { table: op.table }.into());
        }
        match &op.kind {
            OpKind::Read { key, lock: Lock::None, filter, columns } => {
                let at = read_timestamp(execute.read);
                let reader = Some(execute.transaction);
                let filter = filter.as_ref();
                self.read(at, reader, op.table, key, filter, columns, evaluation, context)
            }
            OpKind::Read { key, lock, filter, columns } => {
                if !self.lock(op.table, key, mode_of(*lock), execute)? {
                    return Ok(OpResult::Row(None));
                }
                let read = self.latest(op.table, key, execute.transaction);
                let Some((_, row)) = read else { return Ok(OpResult::Row(None)) };
                let replica = &self.tables[&op.table];
                let view = RowView::new(&replica.layout, &row);
                if !passes(filter.as_ref(), &view, evaluation)? {
                    return Ok(OpResult::Row(None));
                }
                Ok(OpResult::Row(Some(project(&view, columns)?)))
            }
            OpKind::Insert { key, row } => {
                self.lock_to_write(op.table, key, execute)?;
                if self.latest(op.table, key, execute.transaction).is_some() {
                    let index = types::IndexId(0);
                    return Err(Refusal::DuplicateKey { table: op.table, index }.into());
                }
                self.write(op.table, key, RowChange::Put(row), execute, context)?;
                Ok(OpResult::Done)
            }
            OpKind::Put { key, row } => {
                self.lock_to_write(op.table, key, execute)?;
                self.write(op.table, key, RowChange::Put(row), execute, context)?;
                Ok(OpResult::Done)
            }
            OpKind::Update { key, filter, assignments, returning } => {
                self.lock_to_write(op.table, key, execute)?;
                self.update(
                    execute,
                    op.table,
                    key,
                    filter.as_ref(),
                    assignments,
                    *returning,
                    evaluation,
                    context,
                )
            }
            OpKind::Delete { key, filter } => {
                self.lock_to_write(op.table, key, execute)?;
                let Some((_, row)) = self.latest(op.table, key, execute.transaction) else {
                    return Ok(OpResult::Deleted(false));
                };
                let view = RowView::new(&self.tables[&op.table].layout, &row);
                if !passes(filter.as_ref(), &view, evaluation)? {
                    return Ok(OpResult::Deleted(false));
                }
                self.write(op.table, key, RowChange::Delete, execute, context)?;
                Ok(OpResult::Deleted(true))
            }
            OpKind::Scan(scan) => {
                self.scan(execute, op.table, scan, &mut progress.scan, evaluation, context)
            }
        }
    }

    /// Plain key reads of the latest versions, which need no transaction: all of the batch now, or none of it when a row's
    /// commit is being decided or its table is not here.
    pub(crate) fn read_latest(&self, batch: &Batch, context: &Context<'_>) -> Option<BatchResult> {
        let mut evaluation = EvalContext::with(&batch.params, batch.settings);
        let mut result = BatchResult::default();
        result.results.reserve_exact(batch.ops.len());
        for op in &batch.ops {
            let OpKind::Read { key, lock: Lock::None, filter, columns } = &op.kind else {
                return None;
            };
            self.tables.get(&op.table)?;
            let (at, filter) = (Timestamp::MAX, filter.as_ref());
            let read =
                self.read(at, None, op.table, key, filter, columns, &mut evaluation, context);
            result.results.push(vec![read.ok()?]);
        }
        result.warnings = evaluation.convert.warnings.take();
        Some(result)
    }

    /// Shows the latest committed version of a row; false if that is being decided or the table is another one here.
    pub(crate) fn show_latest(
        &mut self,
        table: &Table,
        key: &[u8],
        visit: &mut dyn FnMut(Option<&[u8]>),
    ) -> bool {
        self.asked += 1;
        let Some(replica) = self.tables.get(&table.id) else { return false };
        if replica.partition.table().version != table.version {
            return false;
        }
        match replica.partition.get(key, Timestamp::MAX, None) {
            Visible::Row(row) => visit(Some(&row)),
            Visible::Absent => visit(None),
            Visible::Undecided(_) => return false,
        }
        true
    }

    /// A plain read of one row by its key, as part of a batch.
    #[expect(clippy::too_many_arguments, reason = "the parts of one operation")]
    fn read(
        &self,
        at: Timestamp,
        reader: Option<TransactionId>,
        table: TableId,
        key: &[u8],
        filter: Option<&Expr>,
        columns: &Columns,
        evaluation: &mut EvalContext<'_>,
        context: &Context<'_>,
    ) -> Result<OpResult, Stop> {
        let replica = &self.tables[&table];
        match replica.partition.get(key, at, reader) {
            Visible::Row(row) => {
                let view = RowView::new(&replica.layout, &row);
                if !passes(filter, &view, evaluation)? {
                    return Ok(OpResult::Row(None));
                }
                Ok(OpResult::Row(Some(project(&view, columns)?)))
            }
            Visible::Absent => Ok(OpResult::Row(None)),
            Visible::Undecided(_) if context.node.mutation == Mutation::ReadThroughCommitting => {
                let row = replica.partition.find(key);
                let seen = row.and_then(|row| replica.partition.committed_at(row, at)?.row);
                Ok(OpResult::Row(seen.map(|row| Bytes(row.into_owned()))))
            }
            Visible::Undecided(transaction) => Err(Stop::Decision(transaction)),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one operation")]
    fn update(
        &mut self,
        execute: &Execute,
        table: TableId,
        key: &[u8],
        filter: Option<&Expr>,
        assignments: &[Assignment],
        returning: bool,
        evaluation: &mut EvalContext<'_>,
        context: &Context<'_>,
    ) -> Result<OpResult, Stop> {
        let none = OpResult::Updated { matched: false, changed: false, row: None };
        let Some((_, old)) = self.latest(table, key, execute.transaction) else { return Ok(none) };
        let replica = &self.tables[&table];
        let view = RowView::new(&replica.layout, &old);
        if !passes(filter, &view, evaluation)? {
            return Ok(none);
        }
        let new = contained(|| {
            let strict = execute.settings.strict;
            assign(replica.partition.table(), &view, assignments, strict, evaluation)
        })?;
        let Some(new) = new else {
            let row = returning.then(|| Bytes(old.to_vec()));
            return Ok(OpResult::Updated { matched: true, changed: false, row });
        };
        self.write(table, key, RowChange::Put(&new), execute, context)?;
        let row = returning.then_some(Bytes(new));
        Ok(OpResult::Updated { matched: true, changed: true, row })
    }

    /// Takes a row lock, or says which wait it became. False if the request passes over rows that are locked.
    pub(super) fn lock(
        &mut self,
        table: TableId,
        key: &[u8],
        mode: LockMode,
        execute: &Execute,
    ) -> Result<bool, Stop> {
        assert!(self.is_primary);
        let (owner, token) = (execute.transaction, self.next_token());
        // At SERIALIZABLE a key stays locked that was read in any way: that an insert found it free was a read.
        let statement = if execute.lock_ranges { KEPT_TO_THE_END } else { execute.statement };
        let acquired = self.locks.acquire_in(statement, table, key, mode, owner, token);
        match (acquired, execute.wait) {
            (Acquired::Granted, _) => match execute.read {
                ReadView::Snapshot(at)
                    if execute.refuse_changed && self.is_changed_since(at, table, key) =>
                {
                    Err(Refusal::SnapshotConflict.into())
                }
                ReadView::Snapshot(_) | ReadView::Latest => Ok(true),
            },
            (Acquired::Waiting, WaitPolicy::Wait) => Err(Stop::Lock(token)),
            // Whoever is told of the end of a transaction finds its locks free: they are in a moment.
            (Acquired::Waiting, _) if self.is_blocked_by_ended(token) => Err(Stop::Lock(token)),
            (Acquired::Waiting, policy) => {
                let granted = self.locks.cancel(token);
                assert!(granted.is_empty(), "nobody waited for a request that has just come");
                match policy {
                    WaitPolicy::SkipLocked => Ok(false),
                    WaitPolicy::Wait | WaitPolicy::NoWait => Err(Refusal::LockNotAvailable.into()),
                }
            }
        }
    }

    /// Would SKIP LOCKED leave out this row, if its lock were requested now?
    pub(super) fn is_passed_over(
        &self,
        table: TableId,
        key: &[u8],
        mode: LockMode,
        execute: &Execute,
    ) -> bool {
        if execute.wait != WaitPolicy::SkipLocked {
            return false;
        }
        let blocking = self.locks.blocking(table, key, mode, execute.transaction);
        // As in `lock`: a transaction that has ended releases its locks in a moment.
        blocking.iter().any(|by| !self.endings.contains_key(by))
    }

    /// Does a wait wait for nobody but transactions that have ended and give up their locks in steps?
    fn is_blocked_by_ended(&self, token: u64) -> bool {
        !self.endings.is_empty()
            && self.locks.holders_blocking(token).iter().all(|by| self.endings.contains_key(by))
    }

    /// Was a version of the row committed above `at`? A deletion is remembered as long as that snapshot is open.
    fn is_changed_since(&self, at: Timestamp, table: TableId, key: &[u8]) -> bool {
        let partition = &self.tables[&table].partition;
        let latest =
            partition.find(key).and_then(|row| partition.committed_at(row, Timestamp::MAX));
        latest.is_some_and(|latest| latest.ts > at)
    }

    /// The lock of a row that is to be written, which cannot be passed over.
    fn lock_to_write(&mut self, table: TableId, key: &[u8], execute: &Execute) -> Result<(), Stop> {
        match self.lock(table, key, LockMode::Exclusive, execute)? {
            true => Ok(()),
            false => Err(Refusal::LockNotAvailable.into()),
        }
    }

    /// A row may be written only where no other transaction has locked the range it would come into.
    fn admit_entries(&mut self, table: TableId, row: &[u8], execute: &Execute) -> Result<(), Stop> {
        let replica = &self.tables[&table];
        let view = RowView::new(&replica.layout, row);
        let mut entries = Entries::new();
        for index in &replica.partition.table().indexes {
            let mut entry = Vec::new();
            index_entry_key(replica.partition.table(), index, &view, &mut entry)
                .map_err(|error| Refusal::LimitReached(error.to_string()))?;
            entries.push((index.id, entry));
        }
        let token = self.next_token();
        match self.locks.admit_entries(table, entries, execute.transaction, token) {
            Acquired::Granted => Ok(()),
            Acquired::Waiting => Err(Stop::Lock(token)),
        }
    }

    /// The latest committed row or the transaction's own; its lock is held, so nothing about it is undecided.
    pub(super) fn latest(
        &self,
        table: TableId,
        key: &[u8],
        reader: TransactionId,
    ) -> Option<(RowHandle, Cow<'_, [u8]>)> {
        let partition = &self.tables[&table].partition;
        let row = partition.find(key)?;
        match partition.visible(row, Timestamp::MAX, Some(reader)) {
            Visible::Row(bytes) => {
                self.worked_on(bytes.len());
                Some((row, bytes))
            }
            Visible::Absent => None,
            Visible::Undecided(owner) => panic!("{reader:?} holds the lock of a row of {owner:?}"),
        }
    }

    /// Counts towards the turn of who works on rows under locks.
    fn worked_on(&self, bytes: usize) {
        self.turn_bytes.set(self.turn_bytes.get().saturating_add(bytes));
    }

    /// Rule R21: a change that the disk of a member has no room for is refused before any member has it. Deletions may use
    /// the reserve, because they make room.
    fn check_room(&self, change: RowChange<'_>, context: &Context<'_>) -> Result<(), Refusal> {
        let least = match change {
            RowChange::Put(_) => Room::Ample,
            RowChange::Delete => Room::Reserve,
        };
        match context.node.shorter_of_room(least, self.deciders(context)) {
            Some(node) => Err(context.node.refused_by_disk(node, false)),
            None => Ok(()),
        }
    }

    fn write(
        &mut self,
        table: TableId,
        key: &[u8],
        change: RowChange<'_>,
        execute: &Execute,
        context: &Context<'_>,
    ) -> Result<(), Stop> {
        self.check_room(change, context)?;
        if let RowChange::Put(row) = change
            && self.locks.has_ranges(table)
        {
            self.admit_entries(table, row, execute)?;
        }
        let (owner, here) = (execute.transaction, context.address.node);
        let bytes = key.len() + change.size();
        self.worked_on(bytes);
        let replica = self.tables.get_mut(&table).expect("checked before the operation began");
        let taken_before = replica.partition.taken();
        let outcome = replica
            .partition
            .write(key, change, owner, execute.statement)
            .map_err(|storage::MemoryFull| context.node.refused_by_memory(table, here))?;
        let transaction = self.transactions.get_mut(&owner).expect("made when it began here");
        assert_eq!(transaction.state, TransactionState::Active, "no write after the commit began");
        // Here it may have found room between other rows, and at another member take all that it is long.
        let whole_blocks = |bytes: usize| (bytes / BLOCK_SIZE) as u64;
        let least = whole_blocks(transaction.bytes + bytes) - whole_blocks(transaction.bytes);
        let taken = replica.partition.taken().more_than(taken_before);
        let taken = Space { blocks: taken.blocks.max(least), ..taken };
        let write = WriteEntry {
            bytes,
            table,
            row: outcome.row,
            statement: execute.statement,
            first: outcome.first,
            kept: KEPT_PER_WRITE + key.len() + outcome.undo.kept_bytes(),
            undo: outcome.undo,
            taken,
        };
        let refusable = matches!(change, RowChange::Put(_));
        if transaction.kept.add(&self.pool, write.kept, refusable).is_err() {
            replica.partition.undo(write.undo);
            return Err(context.node.refused_by_memory(table, here).into());
        }
        let takes_more = write.taken != Space::NONE;
        transaction.owed.add(write.taken, &context.node.memories);
        transaction.bytes += bytes;
        transaction.writes.push(write);
        let short = || self.short_of_memory_elsewhere(context);
        if let Some(node) = (refusable && takes_more).then(short).flatten() {
            // It goes with its statement, which is undone behind this refusal.
            return Err(context.node.refused_by_memory(table, node).into());
        }
        Ok(())
    }

    /// Rule R20: what a member, which cannot refuse it, has no room for is refused before anybody else has it.
    fn short_of_memory_elsewhere(&self, context: &Context<'_>) -> Option<NodeId> {
        let short = context.node.memories.first_short(self.deciders(context));
        short.filter(|_| context.node.mutation != Mutation::MemoryOfOthersIgnored)
    }

    /// Undoes the transaction's writes of statements from this one on, `count_max` at most, or about a record's bytes. The
    /// keys of rows that they had inserted are free again; locks of rows that were there before stay (rules.md#locks).
    /// Returns the lock waits granted, and whether that was all.
    pub(super) fn undo_some(
        &mut self,
        transaction: TransactionId,
        statement: u32,
        count_max: usize,
    ) -> (Vec<u64>, bool) {
        let Some(entry) = self.transactions.get_mut(&transaction) else {
            return (Vec::new(), true);
        };
        let mut freed = Vec::new();
        let (mut count, mut bytes, mut is_all) = (0, 0, true);
        while entry.writes.last().is_some_and(|write| write.statement >= statement) {
            if count == count_max || RECORD_BYTES_MAX < bytes {
                is_all = false;
                break;
            }
            let write = entry.writes.pop().expect("last exists");
            entry.bytes -= write.bytes;
            entry.kept.remove(write.kept);
            drop(entry.owed.take(write.taken));
            (count, bytes) = (count + 1, bytes + write.bytes);
            if let Some(replica) = self.tables.get_mut(&write.table) {
                let state = replica.partition.state(write.row);
                if write.first && (state.newest.is_none() || state.newest_deleted) {
                    let key = replica.partition.key_of(write.row).into_owned();
                    freed.push(TakenLock { table: write.table, key, statement: write.statement });
                }
                replica.partition.undo(write.undo);
            }
        }
        (self.locks.release_taken(transaction, &freed), is_all)
    }

    /// The same in steps; behind the last one its coordinator hears of it. Returns the lock waits granted.
    #[must_use]
    pub(super) fn undo(
        &mut self,
        transaction: TransactionId,
        undoing: Undoing,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        let rows_max = context.node.record_rows_max();
        let (granted, is_all) = self.undo_some(transaction, undoing.statement, rows_max);
        if !is_all {
            let before = self.undoing.insert(transaction, undoing);
            assert!(before.is_none(), "it is asked for nothing else meanwhile");
            self.go_on_later(context);
            return granted;
        }
        let (request, shard) = (undoing.request, self.id);
        let message = match undoing.refusal {
            None => Message::UndoOk(UndoOk { transaction, request, shard }),
            Some(refusal) => Message::ExecuteRefused(ExecuteRefused {
                transaction,
                request,
                shard,
                refusal,
                holds: self.holds(transaction),
            }),
        };
        context.send_for(self.id, transaction.coordinator, message);
        granted
    }

    pub(super) fn on_undo(&mut self, message: &UndoMessage, context: &mut Context<'_>) {
        let UndoMessage { transaction, request, statement, .. } = *message;
        let undoing = Undoing { statement, request, refusal: None };
        let granted = self.undo(transaction, undoing, context);
        self.resume(granted, context);
    }
}

pub(super) fn read_timestamp(read: ReadView) -> Timestamp {
    match read {
        ReadView::Latest => Timestamp::MAX,
        ReadView::Snapshot(at) => at,
    }
}

pub(super) fn mode_of(lock: Lock) -> LockMode {
    match lock {
        Lock::Shared => LockMode::Shared,
        Lock::Exclusive => LockMode::Exclusive,
        Lock::None => unreachable!("plain reads take no lock"),
    }
}
