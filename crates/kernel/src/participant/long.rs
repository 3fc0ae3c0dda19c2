//! Long transactions: their ends in steps.
//!
//! A handler should take about a millisecond, however many rows a transaction has written, and a record must fit a frame.
//! So what a commit, a prepare or a rollback does row by row is done some rows at a time, with a message of the worker to
//! itself in between, behind which other work has its turn:
//!
//! ```text
//!   primary   Active --Commit, Prepare--> Sending --Part, Part, ...--> the rest goes as if it were all
//!             decided or rolled back --> ending: its rows some at a time, then its locks
//!             Undo, a statement refused --> undoing: its rows some at a time, then UndoOk to its coordinator
//!   backup    Part --> pending rows, like those of a PREPARE
//!             decided --> ending, likewise
//! ```
//! The markers are set with the parts. A marker's bound is above every snapshot read until then, so older snapshots pass
//! it, and the timestamp that comes at last is above it (rule R11). Readers of rows whose markers are set wait until the
//! transaction has ended here; its locks last as long.

use protocol::Refusal;
use protocol::message::{Prepare, Record, RecordKind};
use storage::{Charge, Pieces, RowHandle};
use types::{Space, TableId, Timestamp, TransactionId};

use super::shard::{
    CommitAsked, Shard, ShardTransaction, TransactionState, WriteEntry, needs_memory,
};
use crate::limits::{PARTS_IN_FLIGHT_MAX, RECORD_BYTES_MAX};
use crate::outbox::ProcessEnd;
use crate::worker::Context;

/// The request for the end of a transaction, to continue when its parts are sent, or its timestamp is here.
pub(super) enum End {
    Commit(CommitAsked),
    Prepare(Prepare),
}

/// A statement, and those behind it, of which not all is undone yet.
pub(super) struct Undoing {
    pub statement: u32,
    /// Who waits for it, and why it is undone if the transaction's coordinator does not know.
    pub request: u64,
    pub refusal: Option<Refusal>,
}

/// A transaction that is decided, with the rows that do not show it yet. When there are none left its locks go.
pub(super) struct Ending {
    pub rows: EndingRows,
    pub outcome: Outcome,
}

pub(super) enum EndingRows {
    /// On the primary, with what they take.
    Written(Pieces<WriteEntry>, Charge),
    /// On a backup.
    Applied(Pieces<(TableId, RowHandle)>),
}

#[derive(Clone, Copy)]
pub(super) enum Outcome {
    Committed(Timestamp),
    /// Rolled back after its markers were set.
    Aborted,
    /// Rolled back before.
    Undone,
}

impl EndingRows {
    pub(super) fn len(&self) -> usize {
        match self {
            EndingRows::Written(writes, _) => writes.len(),
            EndingRows::Applied(rows) => rows.len(),
        }
    }
}

impl ShardTransaction {
    pub(super) fn into_rows(self) -> EndingRows {
        match self.applied.is_empty() {
            true => EndingRows::Written(self.writes, self.kept),
            false => EndingRows::Applied(self.applied),
        }
    }
}

impl Shard {
    /// Must the transaction's end be done in steps?
    pub(super) fn is_long(&self, transaction: TransactionId, context: &Context<'_>) -> bool {
        let entry = &self.transactions[&transaction];
        let rows = entry.writes.len() - entry.sent;
        let is_long = rows > context.node.record_rows_max() || entry.bytes > RECORD_BYTES_MAX;
        is_long && self.is_logged(context)
    }

    /// Begins the end of a long transaction.
    pub(super) fn send_ahead(
        &mut self,
        transaction: TransactionId,
        end: End,
        context: &mut Context<'_>,
    ) {
        let entry = self.transactions.get_mut(&transaction).expect("the caller looked");
        assert_eq!(entry.state, TransactionState::Active, "it ends once");
        entry.state = TransactionState::Sending;
        entry.end = Some(end);
        self.sending.push(transaction);
        self.go_on_later(context);
    }

    /// The same for a transaction that waits for its timestamp; when its parts are sent it requests
    /// another. The markers of unsent rows are removed until they are sent: a row with a marker is
    /// in the log.
    pub(super) fn send_rest_ahead(
        &mut self,
        transaction: TransactionId,
        context: &mut Context<'_>,
    ) {
        let entry = self.transactions.get_mut(&transaction).expect("the caller looked");
        assert!(entry.end.is_some(), "it is set while it waits");
        entry.state = TransactionState::Sending;
        for write in entry.writes.range(entry.sent..entry.writes.len()).filter(|write| write.first)
        {
            if let Some(replica) = self.tables.get_mut(&write.table) {
                replica.partition.set_active(write.row);
            }
        }
        self.sending.push(transaction);
        self.go_on_later(context);
    }

    /// Sets some markers and sends their rows; with the last the transaction ends like a short one. Returns the lock waits
    /// granted.
    fn send_part(&mut self, transaction: TransactionId, context: &mut Context<'_>) -> Vec<u64> {
        let lower_bound = Timestamp(self.marker_floor().0 + 1);
        let entry = self.transactions.get_mut(&transaction).expect("sending until it ends");
        let (mut end, mut bytes, mut taken) = (entry.sent, 0, Space::NONE);
        let last =
            entry.writes.len().min(entry.sent.saturating_add(context.node.record_rows_max()));
        while end < last && bytes < RECORD_BYTES_MAX {
            let write = &entry.writes[end];
            entry.bytes -= write.bytes;
            taken += write.taken;
            // What is sent is the row as it is now, which later writes may have made longer.
            if write.first
                && let Some(replica) = self.tables.get(&write.table)
            {
                bytes += replica.partition.pending_size(write.row);
            }
            end += 1;
        }
        let range = entry.sent..end;
        self.mark(transaction, range.clone(), lower_bound);
        let writes = self.writes_of(transaction, range);
        let entry = self.transactions.get_mut(&transaction).expect("as above");
        entry.sent = end;
        let owed = entry.owed.take(taken);
        let record = Record { transaction, kind: RecordKind::Part { lower_bound }, writes };
        let granted = self.append_record(record, owed, Vec::new(), context);
        if !self.is_long(transaction, context) {
            self.sending.retain(|other| *other != transaction);
            let entry = self.transactions.get_mut(&transaction).expect("as above");
            match entry.end.take().expect("set when it began") {
                End::Commit(asked) => {
                    return [granted, self.commit_rest(transaction, asked, context)].concat();
                }
                End::Prepare(message) => self.prepare_rest(&message, context),
            }
        }
        granted
    }

    /// Shows a decided transaction in its rows, or takes it out of them, and gives up its locks: at once if they are few.
    /// Returns the lock waits granted.
    pub(super) fn end_rows(
        &mut self,
        transaction: TransactionId,
        rows: EndingRows,
        outcome: Outcome,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        let (granted, ended) = self.end_some(transaction, Ending { rows, outcome }, context);
        if !ended {
            self.go_on_later(context);
        }
        granted
    }

    /// A step of the end: some rows, or when there are none left some locks. Returns the lock waits granted, and whether
    /// that was all; if not the rest is kept.
    fn end_some(
        &mut self,
        transaction: TransactionId,
        mut ending: Ending,
        context: &mut Context<'_>,
    ) -> (Vec<u64>, bool) {
        let had_rows = ending.rows.len() > 0;
        let mut granted = Vec::new();
        if self.end_rows_some(&mut ending, context) {
            if had_rows {
                self.resume_readers(transaction, context);
            }
            let ended;
            (granted, ended) = self.locks.release_some(transaction, context.node.record_rows_max());
            if ended {
                return (granted, true);
            }
        }
        let before = self.endings.insert(transaction, ending);
        assert!(before.is_none(), "a transaction ends once");
        (granted, false)
    }

    /// The last written first, as undoing asks for. True if that was all.
    pub(super) fn end_rows_some(&mut self, ending: &mut Ending, context: &Context<'_>) -> bool {
        let horizon = context.node.horizon();
        for _ in 0..context.node.record_rows_max() {
            let (table, row, undo) = match &mut ending.rows {
                EndingRows::Written(writes, kept) => match writes.pop() {
                    Some(write) => {
                        kept.remove(write.kept);
                        let WriteEntry { table, row, undo, first, .. } = write;
                        let undone = matches!(ending.outcome, Outcome::Undone);
                        if !first && !undone {
                            continue;
                        }
                        (table, row, Some(undo))
                    }
                    None => return true,
                },
                EndingRows::Applied(rows) => match rows.pop() {
                    Some((table, row)) => (table, row, None),
                    None => return true,
                },
            };
            // A table dropped meanwhile takes its rows with it.
            let Some(replica) = self.tables.get_mut(&table) else { continue };
            match (ending.outcome, undo) {
                (Outcome::Committed(ts), _) => {
                    replica.partition.commit(row, ts, horizon);
                    self.rows_committed += 1;
                }
                (Outcome::Undone, Some(undo)) => replica.partition.undo(undo),
                (Outcome::Undone | Outcome::Aborted, _) => replica.partition.abort(row),
            }
        }
        ending.rows.len() == 0
    }

    /// On a backup: a record that is about to be applied finds no row still pending for a transaction that has ended.
    pub(super) fn end_before(&mut self, record: &Record, context: &mut Context<'_>) {
        if self.endings.is_empty() {
            return;
        }
        let copied = match &record.kind {
            RecordKind::Copy { table, rows, .. } => {
                rows.iter().map(|row| (*table, &row.key)).collect()
            }
            _ => Vec::new(),
        };
        let written = record.writes.iter().map(|write| (write.table, &write.key));
        let owners = written.chain(copied).filter_map(|(table, key)| {
            let partition = &self.tables.get(&table)?.partition;
            Some(partition.state(partition.find(key)?).pending?.owner)
        });
        let mut ended: Vec<TransactionId> = owners.collect();
        ended.dedup();
        for transaction in ended {
            let Some(mut ending) = self.endings.remove(&transaction) else { continue };
            while !self.end_rows_some(&mut ending, context) {}
            self.resume_readers(transaction, context);
        }
    }

    /// Is there a part to be sent, and not too much on its way? What arrives takes it up again.
    fn may_send_part(&self) -> bool {
        !self.sending.is_empty() && self.parts_in_flight < PARTS_IN_FLIGHT_MAX
    }

    fn has_rows_to_end(&self) -> bool {
        !self.endings.is_empty() || !self.undoing.is_empty()
    }

    /// Asks to be taken up again, behind what waits for this worker now.
    pub(super) fn go_on_later(&mut self, context: &mut Context<'_>) {
        let has_more = self.may_send_part()
            || self.has_rows_to_end()
            || self.has_upkeep
            || self.may_fill()
            || !self.turns.is_empty();
        if has_more && !self.goes_on {
            self.goes_on = true;
            context.go_on_later(self.id);
        }
    }

    /// The next step of each transaction that ends in steps, and of the housekeeping; and the turn of operations on long rows.
    pub(super) fn go_on(&mut self, context: &mut Context<'_>) {
        self.goes_on = false;
        self.turn_bytes.set(0);
        for transaction in self.sending.clone() {
            // Another's step may have ended it.
            if self.may_send_part() && self.sending.contains(&transaction) {
                let granted = self.send_part(transaction, context);
                self.resume(granted, context);
            }
        }
        let endings: Vec<TransactionId> = self.endings.keys().copied().collect();
        for transaction in endings {
            if let Some(ending) = self.endings.remove(&transaction) {
                let (granted, _) = self.end_some(transaction, ending, context);
                self.resume(granted, context);
            }
        }
        for (transaction, undoing) in std::mem::take(&mut self.undoing) {
            let granted = self.undo(transaction, undoing, context);
            self.resume(granted, context);
        }
        while self.turn_bytes.get() <= context.node.turn_bytes_max()
            && let Some(token) = self.turns.pop_front()
        {
            self.resume(vec![token], context);
        }
        if std::mem::take(&mut self.has_upkeep) {
            self.keep_house_or_end(context);
        }
        self.fill_some(context);
        self.go_on_later(context);
    }

    /// Some housekeeping, and behind what waits for this worker the rest.
    pub(super) fn upkeep(&mut self, context: &mut Context<'_>) {
        self.share_builds(context.node.is_used(context.now));
        self.keep_house_or_end(context);
        self.go_on_later(context);
    }

    fn keep_house_or_end(&mut self, context: &mut Context<'_>) {
        self.has_upkeep |= self.keep_house(context.node.horizon());
        self.end_unless_it_fits(context);
    }

    /// A learner receives all rows of its group, and refuses none. But a node with less memory than that need not become a member.
    pub(super) fn end_unless_it_fits(&self, context: &mut Context<'_>) {
        let pool = &context.node.pool;
        if self.is_learner && (self.lacks_memory || pool.limit() < pool.used()) {
            let (node, why) = (context.address.node, needs_memory(pool));
            let why = format!("node {node} cannot come back: {why}");
            context.outbox.ends = Some(ProcessEnd::LacksMemory(why));
        }
    }
}
