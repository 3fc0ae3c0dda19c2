//! Ending transactions on a primary: commit, prepare, decision, rollback (rules.md#commit). No commit is acknowledged before
//! every member holds its record (rule R1).
//!
//! | transaction is | Commit                         | Prepare           | Decide(ts)            | Decide(none)       |
//! |----------------|--------------------------------|-------------------|-----------------------|--------------------|
//! | unknown        | unknown                        | unknown           | nothing               | nothing            |
//! | Active         | markers, timestamp, log        | markers, log      | release locks (no writes) | undo, release  |
//! | Sending        | (never)                        | (never)           | (never)               | log, undo, release |
//! | Prepared       | (never)                        | (never)           | log, commit, release  | log, undo, release |
//! | Committing     | (never)                        | (never)           | (never: it decides here)  | ignored        |
//!
//! The primary requests the timestamp when all locks are held and all markers set. A reader that passed the transaction
//! before that has a smaller snapshot; a later reader meets the marker (rule R11).

use std::ops::Range;

use protocol::Message;
use protocol::message::{
    Commit, CommitOk, Committed, Decide, ExecuteOk, Forgotten, Holds, Prepare, PrepareOk, Record,
    RecordKind, TransactionUnknown, Write,
};
use storage::{Charge, PendingRow, Pieces};
use types::wire::Bytes;
use types::{LogPosition, ShardId, Timestamp, TransactionId};

use super::long::{End, EndingRows, Outcome};
use super::shard::{Answer, CommitAsked, InFlight, Prepared, Shard, TransactionState};
use crate::memory::Owed;
use crate::node::{Mutation, NodeStatistics};
use crate::worker::Context;

/// Where a commit timestamp comes from.
enum Stamp {
    /// This node is the sequencer.
    Here(Timestamp),
    /// The only backup is the sequencer, and stamps the record when it arrives.
    AtBackup,
    /// Another node: ask first.
    Ask,
}

impl Shard {
    pub(super) fn on_commit(&mut self, message: &Commit, context: &mut Context<'_>) {
        if !self.transactions.contains_key(&message.transaction) {
            self.send_unknown(message.transaction, message.request, context);
            return;
        }
        // What the participants' readers have passed binds the timestamp as what ours have does.
        self.read_floor = self.read_floor.max(message.min_commit);
        self.epoch_max = self.epoch_max.max(message.epoch_max);
        let answer = Answer::Commit { request: message.request };
        let participants = message.participants.clone();
        let granted = self.commit_here(message.transaction, participants, answer, context);
        self.resume(granted, context);
    }

    /// Commits the transaction's writes in this shard's log, which holds the decision for all of its participants.
    /// Returns the lock waits granted, when it is decided at once (no backups, or nothing written).
    pub(super) fn commit_here(
        &mut self,
        transaction: TransactionId,
        participants: Vec<ShardId>,
        answer: Answer,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        let entry = &self.transactions[&transaction];
        assert_eq!(entry.state, TransactionState::Active, "commit is asked for once");
        if entry.writes.is_empty() && participants.is_empty() {
            self.transactions.remove(&transaction);
            self.send_answer(transaction, answer, Committed::No, context);
            let rows = EndingRows::Written(Pieces::new(), Charge::default());
            return self.end_rows(transaction, rows, Outcome::Undone, context);
        }
        let mut asked = CommitAsked { participants, answers: vec![(transaction, answer)] };
        if self.is_long(transaction, context) {
            self.send_ahead(transaction, End::Commit(asked), context);
            return Vec::new();
        }
        if asked.participants.is_empty() {
            asked.answers.extend(self.join_waiting(transaction, context));
        }
        self.commit_rest(transaction, asked, context)
    }

    /// The same, with the rows that were not sent ahead.
    pub(super) fn commit_rest(
        &mut self,
        transaction: TransactionId,
        asked: CommitAsked,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        let granted = if context.node.mutation == Mutation::EarlyLockRelease {
            self.locks.release_all(transaction)
        } else {
            Vec::new()
        };
        match self.stamp(context) {
            Stamp::Ask => {
                if context.node.mutation != Mutation::MarkersAfterTimestamp {
                    self.set_markers(transaction, None, TransactionState::AwaitsTimestamp);
                }
                let entry = self.transactions.get_mut(&transaction).expect("the caller looked");
                entry.state = TransactionState::AwaitsTimestamp;
                entry.end = Some(End::Commit(asked));
                context.wanted.timestamps.push((self.id, transaction));
                granted
            }
            Stamp::Here(ts) => {
                let mut now = self.log_commit(transaction, Some(ts), asked, context);
                now.extend(granted);
                now
            }
            Stamp::AtBackup => {
                let mut now = self.log_commit(transaction, None, asked, context);
                now.extend(granted);
                now
            }
        }
    }

    fn stamp(&self, context: &Context<'_>) -> Stamp {
        let sequencer = context.state.sequencer.expect("views are formed");
        if sequencer.node == context.address.node {
            Stamp::Here(context.node.next_timestamps(1))
        } else if self.only_backup() == Some(sequencer.node) {
            Stamp::AtBackup
        } else {
            Stamp::Ask
        }
    }

    /// The timestamp that was asked for is here.
    pub(super) fn on_timestamp(
        &mut self,
        transaction: TransactionId,
        ts: Timestamp,
        context: &mut Context<'_>,
    ) {
        let entry = self.transactions.get_mut(&transaction).expect("kept until it is decided");
        assert_eq!(entry.state, TransactionState::AwaitsTimestamp);
        if ts <= entry.min_commit {
            // Of a sequencer before the one whose snapshots were read here: the worker that asked has not heard of that (rule R10).
            context.wanted.timestamps.push((self.id, transaction));
            return;
        }
        if self.is_long(transaction, context) {
            // A learner has come meanwhile: a record that has all of it would be too large. The timestamp goes unused.
            self.send_rest_ahead(transaction, context);
            return;
        }
        let entry = self.transactions.get_mut(&transaction).expect("as above");
        let Some(End::Commit(asked)) = entry.end.take() else { unreachable!("set with the state") };
        let granted = self.log_commit(transaction, Some(ts), asked, context);
        self.resume(granted, context);
        self.go_on_closing(context);
    }

    fn log_commit(
        &mut self,
        transaction: TransactionId,
        ts: Option<Timestamp>,
        asked: CommitAsked,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        self.set_markers(transaction, ts, TransactionState::Committing);
        if let Some(ts) = ts {
            self.check_timestamp(transaction, ts);
        }
        let CommitAsked { participants, mut answers } = asked;
        let whole = participants.is_empty();
        let joined = answers.iter().skip(1).map(|(joined, _)| *joined).collect();
        let kind = RecordKind::Commit { ts, participants, joined };
        if context.node.mutation == Mutation::AckBeforeReplication && whole {
            let committed = Committed::Decided(ts.unwrap_or_default());
            self.send_answers(answers, committed, context);
            return self.append(transaction, kind, Vec::new(), context);
        }
        // Told early: the coordinator's node is the only backup, so when it holds the record all members do.
        let teller = self.only_backup().filter(|_| whole);
        let is_told = |to: &TransactionId| Some(to.coordinator.node) == teller;
        let told: Vec<_> = answers.extract_if(.., |(to, _)| is_told(to)).collect();
        let granted = self.append(transaction, kind, answers, context);
        self.send_answers(told, Committed::WhenHeld(self.position), context);
        granted
    }

    /// Rules R10, R11: no snapshot up to this timestamp was read without the transaction, and its epoch is not over.
    pub(super) fn check_timestamp(&mut self, transaction: TransactionId, ts: Timestamp) {
        let min_commit = self.transactions[&transaction].min_commit;
        assert!(
            ts > min_commit,
            "{ts:?} is not above {min_commit:?}, read without {transaction:?}"
        );
        self.epoch_max = self.epoch_max.max(ts.epoch());
    }

    /// Sets the markers. From here on readers wait, so earlier reads bound the timestamp from below.
    fn set_markers(
        &mut self,
        transaction: TransactionId,
        ts: Option<Timestamp>,
        state: TransactionState,
    ) {
        let floor = self.marker_floor();
        let entry = self.transactions.get_mut(&transaction).expect("the caller looked");
        if matches!(entry.state, TransactionState::Active | TransactionState::Sending) {
            entry.min_commit = floor;
        }
        entry.state = state;
        // Without a timestamp yet: it will be above every earlier read, so older snapshots need not wait.
        let lower_bound = ts.unwrap_or(Timestamp(entry.min_commit.0 + 1));
        let rest = entry.sent..entry.writes.len();
        self.mark(transaction, rest, lower_bound);
    }

    /// What was read here may be without a transaction whose marker is set now: its timestamp must be above this.
    pub(super) fn marker_floor(&self) -> Timestamp {
        self.read_floor.max(Timestamp::new(self.epoch_max, 0))
    }

    /// Sets the markers of some of the transaction's writes, or tells them more about the timestamp.
    pub(super) fn mark(
        &mut self,
        transaction: TransactionId,
        range: Range<usize>,
        lower_bound: Timestamp,
    ) {
        let entry = &self.transactions[&transaction];
        for write in entry.writes.range(range).filter(|write| write.first) {
            if let Some(replica) = self.tables.get_mut(&write.table) {
                replica.partition.set_committing(write.row, Some(lower_bound));
            }
        }
    }

    /// Appends a record with the transaction's writes to the log and sends it to the backups.
    fn append(
        &mut self,
        transaction: TransactionId,
        kind: RecordKind,
        answers: Vec<(TransactionId, Answer)>,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        let writes = match kind {
            RecordKind::Decision { .. } => Vec::new(),
            _ if !self.is_logged(context) => Vec::new(),
            _ => {
                let entry = &self.transactions[&transaction];
                self.writes_of(transaction, entry.sent..entry.writes.len())
            }
        };
        // What of it is not sent is now, but for a decision, which has nothing.
        let entry = self.transactions.get_mut(&transaction);
        let owed = entry.map(|entry| std::mem::take(&mut entry.owed)).unwrap_or_default();
        self.append_record(Record { transaction, kind, writes }, owed, answers, context)
    }

    pub(super) fn append_record(
        &mut self,
        record: Record,
        owed: Owed,
        answers: Vec<(TransactionId, Answer)>,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        self.position = LogPosition(self.position.0 + 1);
        let transaction = record.transaction;
        // What is needed of it when it is decided: not the rows of a copy.
        let kind = match &record.kind {
            RecordKind::Copy { table, complete_from, .. } => {
                RecordKind::Copy { table: *table, rows: Vec::new(), complete_from: *complete_from }
            }
            RecordKind::Decisions { .. } => {
                RecordKind::Decisions { decided: Vec::new(), forgotten: Forgotten::default() }
            }
            kind => kind.clone(),
        };
        self.parts_in_flight += usize::from(matches!(kind, RecordKind::Part { .. }));
        self.give_to_disk(self.position, &record, context);
        if self.has_receivers() {
            self.send_record(record, context);
        }
        self.in_flight.push_back(InFlight {
            position: self.position,
            transaction,
            kind,
            missing: self.backups.clone(),
            answers,
            owed,
        });
        self.decide_held(context)
    }

    /// The rows of some of the transaction's writes as they are now.
    pub(super) fn writes_of(&self, transaction: TransactionId, range: Range<usize>) -> Vec<Write> {
        let entry = &self.transactions[&transaction];
        let rows = entry.writes.range(range).filter(|write| write.first);
        rows.filter_map(|write| {
            // A table dropped meanwhile takes its rows with it.
            let partition = &self.tables.get(&write.table)?.partition;
            let change = partition.pending_row(write.row).expect("written and not undone");
            let row = match change {
                PendingRow::Put(row) => Some(Bytes(row.into_owned())),
                PendingRow::Delete => None,
            };
            let key = Bytes(partition.key_of(write.row).into_owned());
            Some(Write { table: write.table, key, row })
        })
        .collect()
    }

    /// Decides the records at the log's head that every member holds, in order.
    pub(super) fn decide_held(&mut self, context: &mut Context<'_>) -> Vec<u64> {
        let mut granted = Vec::new();
        while self.in_flight.front().is_some_and(InFlight::is_held) {
            let record = self.in_flight.pop_front().expect("front exists");
            assert!(record.position > self.commit_index);
            self.commit_index = record.position;
            // They have taken it.
            drop(record.owed);
            match record.kind {
                RecordKind::Commit { ts, ref joined, .. } => {
                    let ts = ts.expect("stamped by now");
                    let joined_count = joined.len() as u64;
                    self.remember(record.transaction, &record.kind, ts, context);
                    granted.extend(self.commit_rows(record.transaction, ts, context));
                    NodeStatistics::add(&context.node.statistics.commits, joined_count);
                    self.send_answers(record.answers, Committed::Decided(ts), context);
                }
                RecordKind::Prepare { .. } => {
                    // Unless it was rolled back meanwhile, because it was lost elsewhere.
                    if let [(_, Answer::Prepare { request })] = record.answers[..]
                        && self.transactions.contains_key(&record.transaction)
                    {
                        self.send_prepare_ok(record.transaction, request, None, context);
                    }
                }
                RecordKind::Decision { .. }
                | RecordKind::Copy { .. }
                | RecordKind::Decisions { .. }
                | RecordKind::Offer { .. }
                | RecordKind::Verify { .. } => {}
                RecordKind::Closed { at } => self.on_closed(at, context),
                RecordKind::Part { .. } => self.parts_in_flight -= 1,
            }
        }
        granted
    }

    /// The transaction is committed: its pending versions become the newest, its locks are released, waiting readers continue.
    fn commit_rows(
        &mut self,
        transaction: TransactionId,
        ts: Timestamp,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        let entry = self.transactions.remove(&transaction).expect("kept until it is decided");
        NodeStatistics::add(&context.node.statistics.commits, 1);
        let rows = entry.into_rows();
        self.end_rows(transaction, rows, Outcome::Committed(ts), context)
    }

    pub(super) fn on_prepare(&mut self, message: &Prepare, context: &mut Context<'_>) {
        let Some(entry) = self.transactions.get(&message.transaction) else {
            self.send_unknown(message.transaction, message.request, context);
            return;
        };
        assert_eq!(entry.state, TransactionState::Active, "prepare is asked for once");
        if self.is_long(message.transaction, context) {
            self.send_ahead(message.transaction, End::Prepare(message.clone()), context);
        } else {
            self.prepare_rest(message, context);
        }
    }

    /// Prepares with the rows that were not sent ahead.
    pub(super) fn prepare_rest(&mut self, message: &Prepare, context: &mut Context<'_>) {
        self.set_markers(message.transaction, None, TransactionState::Prepared);
        let entry = self.transactions.get_mut(&message.transaction).expect("the caller looked");
        entry.home = Some(message.home);
        entry.prepared = Prepared::at(context.now);
        let coordinator = message.transaction.coordinator;
        let kind = RecordKind::Prepare { home: message.home };
        let told = self.only_backup() == Some(coordinator.node);
        let early = context.node.mutation == Mutation::VoteBeforeHeld;
        let answer = (message.transaction, Answer::Prepare { request: message.request });
        let answers = if told || early { Vec::new() } else { vec![answer] };
        let granted = self.append(message.transaction, kind, answers, context);
        assert!(granted.is_empty(), "a prepare releases nothing");
        if early {
            self.send_prepare_ok(message.transaction, message.request, None, context);
        } else if told {
            let held_at = Some(self.position);
            self.send_prepare_ok(message.transaction, message.request, held_at, context);
        }
    }

    pub(super) fn on_decide(&mut self, message: &Decide, context: &mut Context<'_>) {
        let transaction = message.transaction;
        self.drop_parked(transaction);
        let Some(entry) = self.transactions.get(&transaction) else { return };
        let granted = match (entry.state, message.commit) {
            (TransactionState::Committing | TransactionState::AwaitsTimestamp, _) => return,
            (TransactionState::Active, commit) => {
                assert!(
                    commit.is_none() || entry.writes.is_empty(),
                    "{transaction:?} is decided but was not prepared here"
                );
                self.roll_back(transaction, Outcome::Undone, context)
            }
            (TransactionState::Sending, Some(_)) => {
                panic!("{transaction:?} is decided but has not answered its prepare here")
            }
            (TransactionState::Prepared, Some(ts)) => {
                self.check_timestamp(transaction, ts);
                // First in the log: waiting readers continue with its rows, and may commit on top of them.
                let mut granted = self.append_decision(transaction, Some(ts), context);
                granted.extend(self.commit_rows(transaction, ts, context));
                granted
            }
            (TransactionState::Sending | TransactionState::Prepared, None) => {
                self.sending.retain(|other| *other != transaction);
                let mut granted = self.append_decision(transaction, None, context);
                granted.extend(self.roll_back(transaction, Outcome::Aborted, context));
                granted
            }
        };
        self.resume(granted, context);
        self.go_on_closing(context);
    }

    fn append_decision(
        &mut self,
        transaction: TransactionId,
        commit: Option<Timestamp>,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        self.append(transaction, RecordKind::Decision { commit }, Vec::new(), context)
    }

    fn roll_back(
        &mut self,
        transaction: TransactionId,
        outcome: Outcome,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        let mut entry = self.transactions.remove(&transaction).expect("the caller looked");
        // Nobody waits any more to hear that its statement is undone.
        self.undoing.remove(&transaction);
        if let Some(End::Commit(asked)) = entry.end.take() {
            // Those that have joined it have coordinators of their own.
            for (joined, answer) in asked.answers {
                if let Answer::Execute { request, .. } = answer
                    && joined != transaction
                {
                    self.send_unknown(joined, request, context);
                }
            }
        }
        let rows = entry.into_rows();
        if rows.len() > 0 {
            NodeStatistics::add(&context.node.statistics.aborts, 1);
        }
        self.end_rows(transaction, rows, outcome, context)
    }

    /// The transaction ends while an operation of it waits: no session wants its answer any more.
    fn drop_parked(&mut self, transaction: TransactionId) {
        self.parked.retain(|_, parked| parked.execute.transaction != transaction);
    }

    fn send_answers(
        &self,
        answers: Vec<(TransactionId, Answer)>,
        committed: Committed,
        context: &mut Context<'_>,
    ) {
        for (transaction, answer) in answers {
            self.send_answer(transaction, answer, committed, context);
        }
    }

    fn send_answer(
        &self,
        transaction: TransactionId,
        answer: Answer,
        committed: Committed,
        context: &mut Context<'_>,
    ) {
        let shard = self.id;
        let message = match answer {
            Answer::Execute { request, result } => Message::ExecuteOk(ExecuteOk {
                transaction,
                request,
                shard,
                result,
                holds: Holds::Nothing,
                committed,
            }),
            Answer::Commit { request } => {
                Message::CommitOk(CommitOk { transaction, request, shard, committed })
            }
            Answer::Prepare { .. } => unreachable!("answered by send_prepare_ok"),
        };
        context.send_for(shard, transaction.coordinator, message);
    }

    fn send_prepare_ok(
        &self,
        transaction: TransactionId,
        request: u64,
        held_at: Option<LogPosition>,
        context: &mut Context<'_>,
    ) {
        let message = Message::PrepareOk(PrepareOk {
            transaction,
            request,
            shard: self.id,
            held_at,
            min_commit: self.transactions[&transaction].min_commit,
            epoch_max: self.epoch_max,
        });
        context.send_for(self.id, transaction.coordinator, message);
    }

    pub(super) fn send_unknown(
        &self,
        transaction: TransactionId,
        request: u64,
        context: &mut Context<'_>,
    ) {
        let unknown = TransactionUnknown { transaction, request, shard: self.id };
        let message = Message::TransactionUnknown(unknown);
        context.send_for(self.id, transaction.coordinator, message);
    }
}
