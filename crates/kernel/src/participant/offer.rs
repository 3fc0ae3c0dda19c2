//! A learner that has loaded rows from its disk gets those that differ (rules.md#rejoin; rule R6).
//!
//! What it has loaded are rows of another time: some were changed since, some deleted, and it does not know which. So none of them counts
//! until it has been compared with the primary's, both as they are at one place in the log, and to every record that comes before that
//! the learner is empty there: a row that is written to goes first, with all that the disk had of it.
//!
//! ```text
//!   primary   JoinMarker | Decisions ... | Offer  Copy (pending) ... Offer ... | Copy of what differs ... | Verify ...
//!   learner                                | compares, piece by piece: OfferAnswer
//!                    a piece is equal      its rows are kept, and go to the learner's disk as a copy
//!                    it is not             those without a later write are dropped; the primary copies these keys
//! ```
//!
//! A row is *unconfirmed* when its key is behind the offered keys and its newest version is no
//! newer than the timestamp up to which the rows were loaded. That needs no mark in the row:
//! transactions committed by then had ended in the log before this learner's part of it. An heir of
//! a primary that had closed its log without reporting it may decide a transaction below that
//! timestamp. Then a row that the log has brought is taken for one of the disk, and is compared
//! like those: that costs a copy, no more.
//!
//! Where the learner differs it is as empty as one that has loaded nothing, so the copies that follow are ordinary ones, and may come at
//! any place. At the end sums over everything are compared, as for every learner.

use std::collections::{BTreeSet, VecDeque};

use protocol::Message;
use protocol::message::{
    CopiedRow, CopiedVersion, KeySpan, OfferAnswer, OfferedPiece, Record, RecordKind, RowsSum,
    Write,
};
use storage::{Direction, KeyRange, Partition, RowHandle};
use types::wire::Bytes;
use types::{IndexId, LogPosition, NodeId, TableId, Timestamp, TransactionId};

use super::learner::{AddRow, Stage, committed_in_log};
use super::shard::Shard;
use crate::limits::{FILL_BYTES_MAX, OFFER_PIECES_MAX};
use crate::node::{Mutation, NodeStatistics};
use crate::worker::Context;

/// On the primary: what the learner has been offered.
#[derive(Default)]
pub(super) struct Offering {
    /// Every table.
    is_all_offered: bool,
    /// Records that the learner has not answered.
    unanswered: BTreeSet<LogPosition>,
    /// What it has answered that is not copied yet: few, for nothing more is offered before.
    differing: VecDeque<KeySpan>,
    /// Rows that it keeps.
    pub kept: u64,
}

impl Offering {
    /// Is there nothing to do until it answers?
    pub fn awaits_answers(&self) -> bool {
        self.is_all_offered && self.differing.is_empty() && !self.unanswered.is_empty()
    }
}

/// On the learner: rows from its disk that have not been compared.
pub(super) struct Unconfirmed {
    /// They were loaded as they were committed up to this.
    at: Timestamp,
    /// All keys of the tables up to this one were compared, and of one more those up to that key.
    done: Option<TableId>,
    within: Option<(TableId, Vec<u8>)>,
    kept: u64,
    discarded: u64,
}

impl Unconfirmed {
    pub fn new(at: Timestamp) -> Unconfirmed {
        Unconfirmed { at, done: None, within: None, kept: 0, discarded: 0 }
    }

    fn is_compared(&self, table: TableId, key: &[u8]) -> bool {
        let within = self.within.as_ref();
        self.done.is_some_and(|done| table <= done)
            || within.is_some_and(|(own, last)| *own == table && key <= &last[..])
    }

    fn advance(&mut self, table: TableId, up_to: Option<Bytes>) {
        match up_to {
            Some(key) => self.within = Some((table, key.0)),
            None => (self.done, self.within) = (Some(table), None),
        }
    }
}

/// May the row be as the disk had it? What is pending is of a record.
fn is_loaded(partition: &Partition, row: RowHandle, at: Timestamp) -> bool {
    let state = partition.state(row);
    state.pending.is_none() && state.newest.is_some_and(|newest| newest <= at)
}

impl Shard {
    /// On the primary: copies something that differs, or else offers what comes next.
    pub(super) fn offer_some(&mut self, context: &mut Context<'_>) {
        let filling = self.filling.as_mut().expect("the caller looked");
        if let Some(span) = filling.offering.differing.pop_front() {
            return self.copy_span(span, context);
        }
        if let Some((table, after)) = self.place_to_fill() {
            return self.offer(table, after, context);
        }
        let filling = self.filling.as_mut().expect("just looked");
        filling.offering.is_all_offered = true;
        if filling.offering.unanswered.is_empty() {
            (filling.table, filling.after) = (None, None);
            filling.stage = Stage::Verifying;
        }
        self.go_on_later(context);
    }

    fn offer(&mut self, table: TableId, after: Option<Vec<u8>>, context: &mut Context<'_>) {
        let filling = self.filling.as_ref().expect("the caller looked");
        // While others want the shard no more rows are read at a time than for a copy.
        let count = if filling.left.is_some() { 1 } else { OFFER_PIECES_MAX };
        let mut complete_from = context.node.horizon();
        let (mut pieces, mut pending) = (Vec::new(), Vec::new());
        let mut behind = after.clone();
        let mut bytes = 0;
        for _ in 0..count {
            // Rows that are long are hashed one or a few at a time.
            if OFFER_PIECES_MAX * FILL_BYTES_MAX < bytes {
                break;
            }
            let chunk = self.chunk_to_fill(table, behind.as_deref(), None, context);
            complete_from = complete_from.max(chunk.newest);
            behind = chunk.up_to;
            bytes += chunk.bytes;
            pieces.push(OfferedPiece { up_to: behind.clone().map(Bytes), sum: chunk.sum });
            pending.push((chunk.pending, chunk.newest));
            if behind.is_none() {
                break;
            }
        }
        let filling = self.filling.as_mut().expect("just looked");
        (filling.table, filling.after) = (Some(table), behind);
        filling.offering.unanswered.insert(LogPosition(self.position.0 + 1));
        let after = after.map(Bytes);
        self.send_filling(RecordKind::Offer { table, after, pieces, complete_from }, context);
        for (rows, newest) in pending {
            self.send_pending(table, rows, newest, context);
        }
    }

    /// Copies some of it; the rest comes next.
    fn copy_span(&mut self, span: KeySpan, context: &mut Context<'_>) {
        let KeySpan { table, after, up_to } = span;
        if !self.tables.contains_key(&table) {
            return self.go_on_later(context);
        }
        let after = after.as_deref();
        let chunk = self.chunk_to_fill(table, after, up_to.as_deref(), context);
        if let Some(last) = &chunk.up_to {
            let rest = KeySpan { table, after: Some(Bytes(last.clone())), up_to };
            let filling = self.filling.as_mut().expect("the caller looked");
            filling.offering.differing.push_front(rest);
        }
        self.send_copy(table, chunk, context);
    }

    pub(super) fn on_offer_answer(
        &mut self,
        from: NodeId,
        message: OfferAnswer,
        context: &mut Context<'_>,
    ) {
        let filling = self.filling.as_mut().filter(|filling| filling.node == from);
        let Some(Offering { unanswered, differing, kept, .. }) =
            filling.map(|filling| &mut filling.offering)
        else {
            return;
        };
        if unanswered.remove(&message.position) {
            differing.extend(message.differing);
            *kept += message.kept;
            self.go_on_later(context);
        }
    }

    // The learner's side.

    /// Before a record is applied: of the rows that it writes the disk had nothing.
    pub(super) fn discard_unconfirmed(&mut self, writes: &[Write], context: &Context<'_>) {
        let Some(unconfirmed) = &mut self.unconfirmed else { return };
        if context.node.mutation == Mutation::LoadedWrittenOver {
            return;
        }
        for Write { table, key, .. } in writes {
            let Some(replica) = self.tables.get_mut(table) else { continue };
            if !unconfirmed.is_compared(*table, key)
                && let Some(row) = replica.partition.find(key)
                && is_loaded(&replica.partition, row, unconfirmed.at)
            {
                replica.partition.discard(row);
                unconfirmed.discarded += 1;
            }
        }
    }

    pub(super) fn apply_offer(
        &mut self,
        position: LogPosition,
        table: TableId,
        mut after: Option<Bytes>,
        pieces: Vec<OfferedPiece>,
        complete_from: Timestamp,
        context: &mut Context<'_>,
    ) {
        self.complete_from = self.complete_from.max(complete_from);
        let (mut differing, mut kept) = (Vec::new(), 0);
        for OfferedPiece { up_to, sum } in pieces {
            let span = KeySpan { table, after, up_to: up_to.clone() };
            let (rows, own) = self.rows_in_log(&span);
            if own == sum || context.node.mutation == Mutation::LoadedNotCompared {
                kept += own.rows;
                // To this replica's disk they are as new as if they had been copied.
                let kind = RecordKind::Copy { table, rows, complete_from };
                let transaction = TransactionId::default();
                let record = Record { transaction, kind, writes: Vec::new() };
                self.give_to_disk(position, &record, context);
            } else {
                self.discard_loaded(&span);
                differing.push(span);
            }
            if let Some(unconfirmed) = &mut self.unconfirmed {
                unconfirmed.advance(table, up_to.clone());
            }
            after = up_to;
        }
        if let Some(unconfirmed) = &mut self.unconfirmed {
            unconfirmed.kept += kept;
        }
        let answer = OfferAnswer { shard: self.id, position, differing, kept };
        let owner = context.state.owner(self.id, self.primary);
        context.send_for(self.id, owner, Message::OfferAnswer(answer));
    }

    /// The rows of these keys as they are in the log, if it is right about those of the disk.
    fn rows_in_log(&self, span: &KeySpan) -> (Vec<CopiedRow>, RowsSum) {
        let (mut rows, mut sum) = (Vec::new(), RowsSum::default());
        let commits = self.commits_in_log();
        self.for_span(span, |partition, key, row| {
            let committed = committed_in_log(&commits, partition, row);
            sum.add(key, &committed);
            rows.extend(committed.map(|(ts, row)| CopiedRow {
                key: Bytes(key.to_vec()),
                version: CopiedVersion::Committed(ts, Bytes(row.into_owned())),
            }));
        });
        (rows, sum)
    }

    fn for_span(&self, span: &KeySpan, mut each: impl FnMut(&Partition, &[u8], RowHandle)) {
        let Some(replica) = self.tables.get(&span.table) else { return };
        let (partition, after) = (&replica.partition, span.after.as_deref());
        let mut scan = partition.scan(IndexId(0), &KeyRange::all(), Direction::Forward, after);
        while let Some(candidate) = scan.next_candidate() {
            if span.up_to.as_ref().is_some_and(|last| &last[..] < candidate.key) {
                break;
            }
            each(partition, candidate.key, candidate.row);
        }
    }

    /// Of these keys, which are not compared yet, the disk had nothing.
    fn discard_loaded(&mut self, span: &KeySpan) {
        let Some(at) = self.unconfirmed.as_ref().map(|unconfirmed| unconfirmed.at) else { return };
        let mut loaded = Vec::new();
        self.for_span(span, |partition, _, row| {
            loaded.extend(is_loaded(partition, row, at).then_some(row));
        });
        let Some(replica) = self.tables.get_mut(&span.table) else { return };
        let count = loaded.len() as u64;
        for row in loaded {
            replica.partition.discard(row);
        }
        if let Some(unconfirmed) = &mut self.unconfirmed {
            unconfirmed.discarded += count;
        }
    }

    /// The first sum over all rows has come: everything has been compared, but tables that the primary has dropped.
    pub(super) fn end_comparing(&mut self, context: &mut Context<'_>) {
        let Some(done) = self.unconfirmed.as_ref().map(|unconfirmed| unconfirmed.done) else {
            return;
        };
        let dropped = self.tables.keys().copied().filter(|id| done.is_none_or(|done| done < *id));
        for table in dropped.collect::<Vec<TableId>>() {
            self.discard_loaded(&KeySpan { table, after: None, up_to: None });
        }
        let Unconfirmed { kept, discarded, .. } = self.unconfirmed.take().expect("just seen");
        NodeStatistics::add(&context.node.statistics.rows_kept, kept);
        context.outbox.log.push(format!(
            "shard {}: {kept} rows are as this node's disk had them, {discarded} were not any more",
            self.id
        ));
    }
}
