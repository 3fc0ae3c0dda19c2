//! A data node that comes back is filled again (rules.md#rejoin; rules R5, R6, R7).
//!
//! It is a learner of its group: it gets every record of each log and counts for nothing. What came before, it gets from the
//! primary as records of the same log, some rows in each, as they are at that place: so whatever else a record says of a row
//! comes either before its copy, and is in it, or after it. Nothing is compared, nothing can come too late.
//!
//! ```text
//!   primary   JoinMarker | Decisions ... | Copy ... Copy | Verify ... Verify | every record is held by the learner, or not decided
//!             with the records of transactions in between, as they come          | LearnerReady, until it is promoted
//! ```
//! When the rows have been copied the learner compares sums over all of them, range by range, each at one place in the log. A
//! learner that differs would lose what others rely on, so it ends itself. One that has loaded rows from its disk is not copied all:
//! [`offer`](super::offer).
//!
//! The state of a row *in the log* is the result of the records so far: its newest committed
//! version, and, when its transaction is prepared or parts of it were sent, the pending one. A
//! transaction that is decided and whose rows do not all show it yet (`endings`) counts as its
//! result.
//!
//! The learner has no versions from before its time, and refuses a snapshot from then. It receives
//! the outcomes of transactions over several shards that this shard has decided, because their
//! participants may ask it, and those of coordinators that are over, whose clients may ask. It does
//! not know the outcomes of other transactions from before its time, and answers so.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use protocol::Message;
use protocol::control::Group;
use protocol::message::{
    CopiedPending, CopiedRow, CopiedVersion, Forgotten, JoinMarker, LearnerReady, Record,
    RecordKind, RowsSum,
};
use protocol::report::FillReport;
use storage::{Direction, KeyRange, Partition, PendingRow, Phase, RowChange, RowHandle, hash_row};
use types::wire::Bytes;
use types::{
    Address, Incarnation, IndexId, LogPosition, NodeId, RowView, TableId, Timestamp, TransactionId,
    WorkerId,
};

use super::long::Outcome;
use super::offer::Offering;
use super::shard::{Prepared, Shard, TransactionState};
use crate::limits::{
    FILL_ASKED_FEW, FILL_BYTES_MAX, FILL_DECISIONS_MAX, FILL_RECORDS_IN_FLIGHT_MAX,
    FILL_RECORDS_WHEN_BUSY, RESEND_INTERVAL_US,
};
use crate::memory::Owed;
use crate::node::Mutation;
use crate::worker::{Context, Time};

/// On the primary: the learner of the group.
pub(super) struct Filling {
    pub node: NodeId,
    incarnation: Incarnation,
    pub(super) stage: Stage,
    /// Where its log begins.
    marker: LogPosition,
    /// The last decision told.
    told: Option<TransactionId>,
    /// Where the other stages stand: behind this key of this table; before the first table when there is none.
    pub(super) table: Option<TableId>,
    pub(super) after: Option<Vec<u8>>,
    /// Records of the copy that the learner has not acknowledged.
    under_way: VecDeque<LogPosition>,
    /// Records that may be sent until the next tick; not counted while other sessions ask for little.
    pub(super) left: Option<u32>,
    asked_before: u64,
    acknowledged: LogPosition,
    /// Everything was sent up to here; from then on nothing is decided that the learner does not hold.
    sent_to: LogPosition,
    pub counts: bool,
    /// The first timestamp that the log is to be closed at behind everything that the learner is filled with; and the one that it is.
    closing: Option<Timestamp>,
    closed: Option<Timestamp>,
    /// What was copied may be as new as this: the learner's disk can be begun with at this or later.
    complete_from: Timestamp,
    ready_told_next: Time,
    began: Time,
    /// Of the copy, so far.
    pub(super) rows: u64,
    bytes: u64,
    /// It has loaded rows from its disk: what they differ in is copied.
    has_rows: bool,
    pub(super) offering: Offering,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Deciding,
    /// Instead of copying everything.
    Offering,
    Copying,
    Verifying,
    /// All is sent; the last of it is not acknowledged.
    Verified,
    /// It counts.
    Sent,
}

/// Some rows of a table, in the order of their keys.
pub(super) struct Chunk {
    rows: Vec<CopiedRow>,
    /// What is pending of them: in a record of their own, as one row of each may be as large as a record can be.
    pub pending: Vec<CopiedRow>,
    pub sum: RowsSum,
    pub bytes: usize,
    /// Timestamp of their newest version, deletions and rows that are left out among them.
    pub newest: Timestamp,
    /// The key of the last, unless these were the last.
    pub up_to: Option<Vec<u8>>,
}

impl Shard {
    /// What a new view says of a learner.
    pub(super) fn adopt_learner(&mut self, group: &Group, context: &mut Context<'_>) {
        let Some(node) = group.learner().filter(|_| self.is_primary) else {
            self.filling = None;
            return;
        };
        let incarnation = context.state.incarnations[&node];
        if self.filling.as_ref().is_some_and(|filling| filling.incarnation == incarnation) {
            return;
        }
        self.filling = Some(Filling {
            node,
            incarnation,
            stage: Stage::Deciding,
            marker: self.position,
            told: None,
            table: None,
            after: None,
            under_way: VecDeque::new(),
            left: None,
            asked_before: self.asked,
            acknowledged: self.position,
            sent_to: self.position,
            counts: false,
            closing: None,
            closed: None,
            complete_from: Timestamp::ZERO,
            ready_told_next: 0,
            began: context.now,
            rows: 0,
            bytes: 0,
            has_rows: group.is_learner_with_rows(node),
            offering: Offering::default(),
        });
        let marker =
            JoinMarker { shard: self.id, position: self.position, epoch_max: self.epoch_max };
        let owner = context.state.owner(self.id, node);
        context.send_for(self.id, owner, Message::JoinMarker(marker));
        self.go_on_later(context);
    }

    /// Has this primary's log any reader?
    pub(super) fn has_receivers(&self) -> bool {
        !self.backups.is_empty() || self.filling.is_some()
    }

    /// Is there more to be sent to the learner, and not too much on its way? What arrives takes it up again.
    pub(super) fn may_fill(&self) -> bool {
        self.filling.as_ref().is_some_and(|filling| {
            let in_flight_max = match filling.left {
                None => FILL_RECORDS_IN_FLIGHT_MAX,
                Some(0) => 0,
                Some(_) => 1,
            };
            // Records on their way to other members at the marker must be decided before the learner gets their outcomes.
            let may_go_on = match filling.stage {
                Stage::Deciding => self.commit_index >= filling.marker,
                Stage::Offering => !filling.offering.awaits_answers(),
                Stage::Copying | Stage::Verifying => true,
                // It acknowledges the last of it when its disk has nearly all, and its indexes are filled.
                Stage::Verified => filling.under_way.is_empty(),
                Stage::Sent => false,
            };
            may_go_on && filling.under_way.len() < in_flight_max
        })
    }

    /// Sends the next piece of the copy, or of the check behind it.
    pub(super) fn fill_some(&mut self, context: &mut Context<'_>) {
        let Some(filling) = self.filling.as_ref().filter(|_| self.may_fill()) else { return };
        let stage = filling.stage;
        if stage == Stage::Deciding {
            let count = match context.node.mutation {
                Mutation::DecisionsNotTold => 0,
                _ => FILL_DECISIONS_MAX,
            };
            let decided = self.commits.told_after(filling.told, count);
            // At first, and at the end again: something may have been forgotten between being listed and being told.
            let forgotten = match filling.told.is_none() || decided.is_empty() {
                true => self.commits.unknown_to_learner(),
                false => Forgotten::default(),
            };
            let filling = self.filling.as_mut().expect("just looked");
            filling.told = decided.last().map(|(transaction, _)| *transaction);
            if filling.told.is_none() {
                filling.stage = if filling.has_rows { Stage::Offering } else { Stage::Copying };
            }
            self.send_filling(RecordKind::Decisions { decided, forgotten }, context);
            return;
        }
        if stage == Stage::Offering {
            self.offer_some(context);
            return;
        }
        let place = self.place_to_fill().filter(|_| stage != Stage::Verified);
        let Some((table, after)) = place else {
            let node = filling.node;
            let position = self.position;
            let filling = self.filling.as_mut().expect("just looked");
            (filling.table, filling.after) = (None, None);
            if stage == Stage::Verified {
                // Rule R7: from here on nothing is decided without it.
                filling.stage = Stage::Sent;
                filling.sent_to = position;
                if filling.has_rows {
                    let (rows, kept) = (filling.rows, filling.offering.kept);
                    let said = format!(
                        "node {node} is filled with shard {}: it had {kept} rows, and {rows} were copied",
                        self.id
                    );
                    context.outbox.log.push(said);
                }
                if context.node.mutation != Mutation::LearnerNotAwaited {
                    filling.counts = true;
                    self.backups.push(node);
                }
            } else {
                filling.stage = match stage {
                    Stage::Verifying => Stage::Verified,
                    _ => Stage::Verifying,
                };
                self.go_on_later(context);
            }
            return;
        };
        let chunk = self.chunk_to_fill(table, after.as_deref(), None, context);
        let filling = self.filling.as_mut().expect("as above");
        (filling.table, filling.after) = (Some(table), chunk.up_to.clone());
        let kind = match stage {
            Stage::Copying => {
                self.send_copy(table, chunk, context);
                return;
            }
            Stage::Verifying => RecordKind::Verify {
                table,
                after: after.map(Bytes),
                up_to: chunk.up_to.map(Bytes),
                sum: chunk.sum,
            },
            Stage::Deciding | Stage::Offering | Stage::Verified | Stage::Sent => {
                unreachable!("dealt with above")
            }
        };
        self.send_filling(kind, context);
    }

    /// The next rows of a table, for the learner.
    pub(super) fn chunk_to_fill(
        &self,
        table: TableId,
        after: Option<&[u8]>,
        last: Option<&[u8]>,
        context: &Context<'_>,
    ) -> Chunk {
        let copies_pending = context.node.mutation != Mutation::PreparedNotCopied;
        let rows_max = context.node.fill_rows_max();
        self.chunk(table, after, last, rows_max, copies_pending, context.now)
    }

    pub(super) fn send_copy(&mut self, table: TableId, chunk: Chunk, context: &mut Context<'_>) {
        let filling = self.filling.as_mut().expect("the caller looked");
        filling.rows += chunk.rows.len() as u64;
        filling.bytes += chunk.bytes as u64;
        let complete_from = chunk.newest.max(context.node.horizon());
        self.send_filling(RecordKind::Copy { table, rows: chunk.rows, complete_from }, context);
        self.send_pending(table, chunk.pending, chunk.newest, context);
    }

    pub(super) fn send_pending(
        &mut self,
        table: TableId,
        rows: Vec<CopiedRow>,
        complete_from: Timestamp,
        context: &mut Context<'_>,
    ) {
        if !rows.is_empty() {
            self.send_filling(RecordKind::Copy { table, rows, complete_from }, context);
        }
    }

    pub(super) fn send_filling(&mut self, kind: RecordKind, context: &mut Context<'_>) {
        let filling = self.filling.as_mut().expect("the caller looked");
        if let RecordKind::Copy { complete_from, .. } | RecordKind::Offer { complete_from, .. } =
            &kind
        {
            filling.complete_from = filling.complete_from.max(*complete_from);
        }
        filling.left = filling.left.map(|left| left.saturating_sub(1));
        filling.under_way.push_back(LogPosition(self.position.0 + 1));
        let record = Record { transaction: TransactionId::default(), kind, writes: Vec::new() };
        let granted = self.append_record(record, Owed::default(), Vec::new(), context);
        assert!(granted.is_empty(), "a copy releases nothing");
    }

    /// The table that the stage stands in, and behind which key; or the next one, from its beginning, when that is done or was dropped.
    pub(super) fn place_to_fill(&self) -> Option<(TableId, Option<Vec<u8>>)> {
        let filling = self.filling.as_ref()?;
        let Some(table) = filling.table else {
            return self.tables.keys().next().map(|first| (*first, None));
        };
        match &filling.after {
            Some(after) if self.tables.contains_key(&table) => Some((table, Some(after.clone()))),
            _ => {
                let mut behind = self.tables.range(table..).map(|(id, _)| *id);
                behind.find(|id| *id > table).map(|next| (next, None))
            }
        }
    }

    /// The next rows of a table, as they are in the log, up to the key `last`.
    fn chunk(
        &self,
        table: TableId,
        after: Option<&[u8]>,
        last: Option<&[u8]>,
        rows_max: usize,
        copies_pending: bool,
        now: Time,
    ) -> Chunk {
        let unsent = self.unsent_rows();
        let commits = self.commits_in_log();
        let partition = &self.tables[&table].partition;
        let mut chunk = Chunk {
            rows: Vec::new(),
            sum: RowsSum::default(),
            bytes: 0,
            newest: self.complete_from,
            pending: Vec::new(),
            up_to: None,
        };
        let all = KeyRange::all();
        let mut scan = partition.scan(IndexId(0), &all, Direction::Forward, after);
        let mut visited = 0;
        while let Some(candidate) = scan.next_candidate() {
            let (key, row) = (candidate.key, candidate.row);
            if last.is_some_and(|last| last < key) {
                break;
            }
            let committed = committed_in_log(&commits, partition, row);
            let pending = self.pending_in_log(&commits, partition, row, now);
            let pending = pending.filter(|_| copies_pending && !unsent.contains(&(table, row)));
            chunk.sum.add(key, &committed);
            chunk.newest = chunk.newest.max(newest_in_log(&commits, partition, row));
            let key = Bytes(key.to_vec());
            if let Some((ts, row)) = committed {
                chunk.bytes += key.0.len() + row.len();
                let version = CopiedVersion::Committed(ts, Bytes(row.into_owned()));
                chunk.rows.push(CopiedRow { key: key.clone(), version });
            }
            if let Some(change) = pending {
                chunk.bytes += key.0.len() + change.row.as_ref().map_or(0, |row| row.0.len());
                chunk.pending.push(CopiedRow { key, version: CopiedVersion::Pending(change) });
            }
            visited += 1;
            if visited == rows_max || chunk.bytes >= FILL_BYTES_MAX {
                chunk.up_to = Some(partition.key_of(row).into_owned());
                break;
            }
        }
        chunk
    }

    /// Rows whose transactions have set their markers and wait for a timestamp: no record has them yet.
    fn unsent_rows(&self) -> BTreeSet<(TableId, RowHandle)> {
        let waiting = self.transactions.values();
        waiting
            .filter(|entry| entry.state == TransactionState::AwaitsTimestamp)
            .flat_map(|entry| entry.writes.range(entry.sent..entry.writes.len()))
            .filter(|write| write.first)
            .map(|write| (write.table, write.row))
            .collect()
    }

    /// Transactions whose commit is in the log, and whose rows do not all show it: because some members may not hold it yet, or
    /// because they are many.
    pub(super) fn commits_in_log(&self) -> CommitsInLog {
        let in_flight = self.in_flight.iter().filter_map(|record| match record.kind {
            RecordKind::Commit { ts: Some(ts), .. } => Some((record.transaction, ts)),
            _ => None,
        });
        let undecided = self.undecided.iter().map(|record| (record.transaction, record.ts));
        let endings =
            self.endings.iter().filter_map(|(transaction, ending)| match ending.outcome {
                Outcome::Committed(ts) => Some((*transaction, ts)),
                Outcome::Aborted | Outcome::Undone => None,
            });
        in_flight.chain(undecided).chain(endings).collect()
    }

    /// The row's pending version, if it is in the log and its end is not.
    fn pending_in_log(
        &self,
        commits: &CommitsInLog,
        partition: &Partition,
        row: RowHandle,
        now: Time,
    ) -> Option<CopiedPending> {
        let pending = partition.state(row).pending?;
        let entry = self.transactions.get(&pending.owner)?;
        let is_marked = matches!(pending.phase, Phase::Committing { .. });
        let is_decided =
            commits.contains_key(&pending.owner) || self.endings.contains_key(&pending.owner);
        if !is_marked || is_decided {
            return None;
        }
        let home = entry.home.filter(|_| entry.state == TransactionState::Prepared);
        let row = match partition.pending_row(row)? {
            PendingRow::Put(row) => Some(Bytes(row.into_owned())),
            PendingRow::Delete => None,
        };
        let age_us = entry.prepared.age(now);
        Some(CopiedPending { transaction: pending.owner, home, age_us, row })
    }

    /// The log is about to be closed at `at`.
    pub(super) fn on_closing_while_filling(&mut self, at: Timestamp) {
        let may_be = |filling: &&mut Filling| filling.counts && filling.complete_from <= at;
        if let Some(filling) = self.filling.as_mut().filter(may_be) {
            filling.closing.get_or_insert(at);
        }
    }

    /// The log is closed at `at`, as all members hold that decide.
    pub(super) fn on_closed_while_filling(&mut self, at: Timestamp) {
        if let Some(filling) = &mut self.filling
            && filling.closing.is_some_and(|closing| closing <= at)
            && filling.complete_from <= at
        {
            filling.closed.get_or_insert(at);
        }
    }

    /// The learner holds every record up to `position`.
    pub(super) fn on_learner_holds(&mut self, node: NodeId, position: LogPosition) {
        let Some(filling) = self.filling.as_mut().filter(|filling| filling.node == node) else {
            return;
        };
        filling.acknowledged = filling.acknowledged.max(position);
        while filling.under_way.front().is_some_and(|sent| *sent <= position) {
            filling.under_way.pop_front();
        }
    }

    /// Sees whether others want the shard, and leaves them most of it; and tells the voters that the learner holds the shard, again
    /// and again until it is promoted.
    pub(super) fn on_join_tick(&mut self, context: &mut Context<'_>) {
        let (shard, asked) = (self.id, self.asked);
        let Some(filling) = &mut self.filling else { return };
        let is_busy = asked - filling.asked_before > FILL_ASKED_FEW;
        filling.left = is_busy.then_some(FILL_RECORDS_WHEN_BUSY);
        filling.asked_before = asked;
        self.go_on_later(context);
        let Some(filling) = &mut self.filling else { return };
        // With other backups: what the copy shows is decided, too.
        let held = filling.acknowledged.min(self.commit_index);
        // And its disk holds a global checkpoint: from then on it may be the only one that a cluster restart begins with (rule R9).
        let is_on_disk = context.node.store.is_none()
            || filling.closed.is_some_and(|at| at <= context.node.checkpointed());
        let is_ready = filling.stage == Stage::Sent && held >= filling.sent_to && is_on_disk;
        if !is_ready || context.now < filling.ready_told_next {
            return;
        }
        filling.ready_told_next = context.now + RESEND_INTERVAL_US;
        let Filling { node, incarnation, .. } = *filling;
        for voter in context.node.config.voters() {
            let ready = LearnerReady { shard, node, incarnation };
            let to = Address { node: voter, worker: WorkerId(0) };
            context.send(to, Message::LearnerReady(ready));
        }
    }

    /// How far the learner is filled, on its primary.
    pub(crate) fn fill_report(&self, now: Time) -> Option<FillReport> {
        let Filling { node, rows, bytes, began, offering, .. } = self.filling.as_ref()?;
        let (node, bytes) = (*node, *bytes);
        let tables = self.tables.values();
        let rows_expected = tables.map(|replica| replica.partition.row_count()).sum();
        // Another worker may have begun it a moment after this one looked at its clock.
        let microseconds = now.saturating_sub(*began);
        let rows = rows + offering.kept;
        Some(FillReport { node, rows, rows_expected, bytes, microseconds })
    }

    // The learner's side.

    pub(super) fn on_join_marker(&mut self, message: &JoinMarker, context: &mut Context<'_>) {
        assert!(self.is_learner && self.commits.since.is_none(), "a marker begins a learner's log");
        self.give_begin(message.position, context);
        self.received = self.received.max(message.position);
        self.commit_index = self.commit_index.max(message.position);
        self.epoch_max = self.epoch_max.max(message.epoch_max);
        self.commits.since = Some(context.now);
        self.take_early(context);
    }

    /// Are these rows of the table that it says?
    pub(super) fn check_copied(&self, table: TableId, rows: &[CopiedRow]) -> bool {
        let Some(replica) = self.tables.get(&table) else { return true };
        let is_sound = |row: &Bytes| RowView::check(&replica.layout, row).is_ok();
        rows.iter().all(|row| match &row.version {
            CopiedVersion::Committed(_, row) => is_sound(row),
            CopiedVersion::Pending(pending) => pending.row.as_ref().is_none_or(is_sound),
        })
    }

    pub(super) fn apply_copy(
        &mut self,
        table: TableId,
        rows: Vec<CopiedRow>,
        complete_from: Timestamp,
        context: &mut Context<'_>,
    ) {
        let horizon = context.node.horizon();
        let commits = self.commits_in_log();
        self.complete_from = self.complete_from.max(complete_from);
        for CopiedRow { key, version } in rows {
            let Some(replica) = self.tables.get_mut(&table) else { return };
            let partition = &mut replica.partition;
            let CopiedPending { transaction, home, age_us, row } = match version {
                CopiedVersion::Committed(..) if is_committing(&commits, partition, &key) => {
                    // Its own record came before, and will be shown.
                    continue;
                }
                CopiedVersion::Committed(ts, row) => {
                    self.epoch_max = self.epoch_max.max(ts.epoch());
                    // Not done where the version came with its own record.
                    partition.apply_committed(&key, RowChange::Put(&row), ts, horizon);
                    continue;
                }
                CopiedVersion::Pending(pending) => pending,
            };
            let known = partition.find(&key).and_then(|row| partition.state(row).pending);
            if known.is_some_and(|pending| pending.owner == transaction) {
                continue;
            }
            let change = row.as_ref().map_or(RowChange::Delete, |row| RowChange::Put(row));
            let handle = partition.apply_prepared(&key, change, transaction, None);
            let prepared = self.prepared.entry(transaction).or_default();
            prepared.rows.extend([(table, handle)]);
            if home.is_some() {
                prepared.home = home;
                prepared.since = Prepared { at: context.now, before_us: age_us };
            }
        }
    }

    /// Rule R7: a learner that differs must not be promoted.
    pub(super) fn verify(
        &self,
        table: TableId,
        after: Option<&[u8]>,
        up_to: Option<&[u8]>,
        expected: RowsSum,
    ) {
        let Some(replica) = self.tables.get(&table) else { return };
        let partition = &replica.partition;
        let commits = self.commits_in_log();
        let mut sum = RowsSum::default();
        let all = KeyRange::all();
        let mut scan = partition.scan(IndexId(0), &all, Direction::Forward, after);
        while let Some(candidate) = scan.next_candidate() {
            if up_to.is_some_and(|last| last < candidate.key) {
                break;
            }
            sum.add(candidate.key, &committed_in_log(&commits, partition, candidate.row));
        }
        assert!(
            sum == expected,
            "shard {}, table {table}: the rows that were copied here are not those of the primary ({sum:?}, {expected:?}); \
             this node ends itself, and begins anew when it is started again",
            self.id
        );
    }
}

pub(super) type CommitsInLog = BTreeMap<TransactionId, Timestamp>;

/// The timestamp of the row's pending version, if its commit is in the log.
fn committing(commits: &CommitsInLog, partition: &Partition, row: RowHandle) -> Option<Timestamp> {
    commits.get(&partition.state(row).pending?.owner).copied()
}

fn is_committing(commits: &CommitsInLog, partition: &Partition, key: &[u8]) -> bool {
    partition.find(key).is_some_and(|row| committing(commits, partition, row).is_some())
}

/// Timestamp of the row's newest version that is decided in the log, be it a deletion.
pub(super) fn newest_in_log(
    commits: &CommitsInLog,
    partition: &Partition,
    row: RowHandle,
) -> Timestamp {
    let committing = committing(commits, partition, row);
    committing.or(partition.state(row).newest).unwrap_or_default()
}

/// The row's newest version that is decided in the log; none if it is deleted.
pub(super) fn committed_in_log<'a>(
    commits: &CommitsInLog,
    partition: &'a Partition,
    row: RowHandle,
) -> Option<(Timestamp, Cow<'a, [u8]>)> {
    if let Some(ts) = committing(commits, partition, row) {
        return match partition.pending_row(row)? {
            PendingRow::Put(row) => Some((ts, row)),
            PendingRow::Delete => None,
        };
    }
    let committed = partition.committed_at(row, Timestamp::MAX)?;
    committed.row.map(|row| (committed.ts, row))
}

pub(super) trait AddRow {
    fn add(&mut self, key: &[u8], committed: &Option<(Timestamp, Cow<'_, [u8]>)>);
}

impl AddRow for RowsSum {
    fn add(&mut self, key: &[u8], committed: &Option<(Timestamp, Cow<'_, [u8]>)>) {
        if let Some((ts, row)) = committed {
            self.rows += 1;
            self.hash = self.hash.wrapping_add(hash_row(*ts, key, row));
        }
    }
}
