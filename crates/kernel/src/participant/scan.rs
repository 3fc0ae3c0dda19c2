//! Scans: ranges of one index, filtered, projected or aggregated where the rows are.
//!
//! A scan answers with a bounded piece and says where it goes on, so it keeps nothing here between two messages. Under
//! locks it locks each row that passes before it looks again: a row that is changed by somebody else at that moment is
//! waited for and then judged by what became of it. A peek names the rows that such a scan would lock, for a client that
//! may lock only some of them (rules.md#locks).

use std::ops::Bound;

use protocol::Refusal;
use protocol::evaluation::{Evaluator, ScanAnswer, contained, passes, projection_of};
use protocol::message::{Execute, ReadView};
use protocol::op::{Lock, OpResult, Scan};
use storage::{Acquired, Direction, KeyRange as StorageRange, Visible};
use types::expr::EvalContext;
use types::wire::{Bytes, Wire};
use types::{RowLayout, RowView, TableId, Timestamp};

use super::execute::{Stop, mode_of, read_timestamp};
use super::shard::Shard;
use crate::limits::{
    SCAN_BYTES_LOOKED_AT_MAX, SCAN_BYTES_MAX, SCAN_GROUPS_MAX, SCAN_ROWS_LOCKED_MAX,
    SCAN_ROWS_VISITED_MAX,
};
use crate::node::Mutation;
use crate::worker::Context;

/// What a scan has found so far, and the entry it stands behind.
pub(super) struct ScanProgress {
    range: usize,
    after: Option<Vec<u8>>,
    visited: u32,
    /// Ranges that it is done with.
    ended: u32,
    /// Bytes of the rows that were looked at: a long one is copied for that, whatever is wanted of it.
    looked_at: usize,
    answer: ScanAnswer,
}

/// An index entry that a locking scan came by.
struct Found {
    entry: Vec<u8>,
    /// The row's primary key.
    key: Vec<u8>,
    /// Worth a lock and a second look.
    wanted: bool,
}

impl Shard {
    pub(super) fn scan(
        &mut self,
        execute: &Execute,
        table: TableId,
        scan: &Scan,
        saved: &mut Option<ScanProgress>,
        evaluation: &mut EvalContext<'_>,
        context: &Context<'_>,
    ) -> Result<OpResult, Stop> {
        let replica = &self.tables[&table];
        let known = replica.partition.table().index(scan.index).is_some();
        if !known || !replica.partition.is_built(scan.index) {
            return Err(Refusal::SchemaChanged { table }.into());
        }
        let mut progress = match saved.take() {
            Some(progress) => progress,
            None => ScanProgress::new(self, scan)?,
        };
        let projection = projection_of(scan, &replica.layout);
        let mut more = false;
        let mut evaluator = Evaluator::new(scan);
        while progress.range < scan.ranges.len() {
            let stopped = if scan.lock == Lock::None {
                let projection = projection.as_ref();
                self.scan_plain(
                    execute,
                    table,
                    scan,
                    projection,
                    &mut progress,
                    &mut evaluator,
                    evaluation,
                    context,
                )?
            } else if scan.peek {
                self.scan_peek(execute, table, scan, &mut progress, evaluation)?
            } else {
                match self.scan_locking(
                    execute,
                    table,
                    scan,
                    &projection,
                    &mut progress,
                    evaluation,
                ) {
                    Err(Stop::Lock(token)) => {
                        *saved = Some(progress);
                        return Err(Stop::Lock(token));
                    }
                    other => other?,
                }
            };
            if stopped {
                more = true;
                break;
            }
            progress.range += 1;
            progress.after = None;
            // One in which nothing is found is work, too, and a lock where ranges are locked.
            progress.ended += 1;
            let locks = scan.lock != Lock::None && !scan.peek;
            progress.visited += u32::from(execute.lock_ranges && locks);
            if progress.range < scan.ranges.len() && progress.is_full(scan) {
                more = true;
                break;
            }
        }
        if let Some(program) = &evaluator.program {
            progress.answer.flush(program)?;
        }
        Ok(progress.finish(more, scan))
    }

    /// Walks the rest of the current range; true when it stopped before its end because the answer is full.
    #[expect(clippy::too_many_arguments, reason = "the parts of one operation")]
    fn scan_plain(
        &self,
        execute: &Execute,
        table: TableId,
        scan: &Scan,
        projection: Option<&RowLayout>,
        progress: &mut ScanProgress,
        evaluator: &mut Evaluator<'_>,
        evaluation: &mut EvalContext<'_>,
        context: &Context<'_>,
    ) -> Result<bool, Stop> {
        let replica = &self.tables[&table];
        let range = storage_range(scan, progress.range);
        let at = read_timestamp(execute.read);
        let after = progress.after.clone();
        let mut rows =
            replica.partition.scan(scan.index, &range, direction(scan), after.as_deref());
        let reader = Some(execute.transaction);
        // Rows that are only copied need no boundary.
        let is_evaluated =
            scan.filter.is_some() || matches!(scan.output, protocol::op::ScanOutput::Groups { .. });
        while let Some(item) = rows.next_visible(at, reader) {
            match item.read.visible {
                Visible::Row(row) => {
                    let view = RowView::new(&replica.layout, &row);
                    progress.visited += 1;
                    progress.looked_at += row.len();
                    let mut take = || {
                        if evaluator.passes(&view, evaluation)? {
                            let program = evaluator.program.as_mut();
                            progress
                                .answer
                                .add(scan, &view, item.key, projection, program, evaluation)?;
                        }
                        Ok(())
                    };
                    match is_evaluated {
                        true => contained(take)?,
                        false => take()?,
                    }
                }
                Visible::Absent => progress.visited += 1,
                Visible::Undecided(_)
                    if context.node.mutation == Mutation::ReadThroughCommitting =>
                {
                    let seen = replica.partition.committed_at(item.row, at);
                    if let Some(row) = seen.and_then(|committed| committed.row) {
                        let view = RowView::new(&replica.layout, &row);
                        progress.answer.add(scan, &view, item.key, projection, None, evaluation)?;
                    }
                }
                Visible::Undecided(transaction) => return Err(Stop::Decision(transaction)),
            }
            progress.looked_at += evaluation.take_work();
            if progress.is_full(scan) {
                progress.after = Some(item.key.to_vec());
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Names the rows that the same scan without `peek` would lock, or wait for. Those that SKIP LOCKED would pass over are
    /// passed over here: a session that looks for one free row among many locked ones need not try each.
    fn scan_peek(
        &self,
        execute: &Execute,
        table: TableId,
        scan: &Scan,
        progress: &mut ScanProgress,
        evaluation: &mut EvalContext<'_>,
    ) -> Result<bool, Stop> {
        let range = storage_range(scan, progress.range);
        let owner = execute.transaction;
        loop {
            let candidates = self.candidates(table, scan, &range, progress, owner, evaluation)?;
            if candidates.is_empty() {
                return Ok(false);
            }
            for Found { entry, key, wanted } in candidates {
                if wanted && !self.is_passed_over(table, &key, mode_of(scan.lock), execute) {
                    progress.answer.name(&entry);
                }
                progress.visited += 1;
                progress.looked_at += evaluation.take_work();
                progress.after = Some(entry);
                if progress.is_full(scan) {
                    return Ok(true);
                }
            }
        }
    }

    fn scan_locking(
        &mut self,
        execute: &Execute,
        table: TableId,
        scan: &Scan,
        projection: &Option<RowLayout>,
        progress: &mut ScanProgress,
        evaluation: &mut EvalContext<'_>,
    ) -> Result<bool, Stop> {
        let range = storage_range(scan, progress.range);
        let owner = execute.transaction;
        // A handful of candidates at a time: the walk borrows the rows that locking and judging need too.
        loop {
            let candidates = self.candidates(table, scan, &range, progress, owner, evaluation)?;
            if let (ReadView::Snapshot(at), true) = (execute.read, execute.refuse_changed) {
                let end = candidates.last().map(|last| last.entry.as_slice());
                self.check_unchanged(at, table, scan, &range, progress, end, owner, evaluation)?;
            }
            if candidates.is_empty() {
                self.lock_piece(execute, table, scan, &range, progress, None)?;
                return Ok(false);
            }
            for Found { entry, key, wanted } in candidates {
                // The row first: who waits for it has not locked the range around it, which its writer may need.
                let has_row = wanted && self.lock(table, &key, mode_of(scan.lock), execute)?;
                self.lock_piece(execute, table, scan, &range, progress, Some(&entry))?;
                if has_row {
                    let replica = &self.tables[&table];
                    if let Some((_, row)) = self.latest(table, &key, owner) {
                        progress.looked_at += row.len();
                        let view = RowView::new(&replica.layout, &row);
                        let current = replica.partition.entry_is_current(scan.index, &entry, &row);
                        if current && passes(scan.filter.as_ref(), &view, evaluation)? {
                            let projection = projection.as_ref();
                            contained(|| {
                                progress
                                    .answer
                                    .add(scan, &view, &entry, projection, None, evaluation)
                            })?;
                        }
                    }
                }
                progress.visited += 1;
                progress.looked_at += evaluation.take_work();
                progress.after = Some(entry);
                if progress.is_full(scan) {
                    return Ok(true);
                }
            }
        }
    }

    /// SERIALIZABLE: locks the range from where the scan stands to this entry, or to the range's end, so that nobody puts a
    /// row there any more. What the scan has not come to is not locked: what happens there it will see.
    fn lock_piece(
        &mut self,
        execute: &Execute,
        table: TableId,
        scan: &Scan,
        range: &StorageRange,
        progress: &ScanProgress,
        to: Option<&[u8]>,
    ) -> Result<(), Stop> {
        if !execute.lock_ranges {
            return Ok(());
        }
        let from = progress.after.as_ref().map(|after| Bound::Excluded(after.clone()));
        let to = to.map(|entry| Bound::Included(entry.to_vec()));
        let (lower, upper) = if scan.reverse { (to, from) } else { (from, to) };
        let piece = StorageRange {
            lower: lower.unwrap_or_else(|| range.lower.clone()),
            upper: upper.unwrap_or_else(|| range.upper.clone()),
        };
        let token = self.next_token();
        let owner = execute.transaction;
        match self.locks.acquire_range(table, scan.index, &piece, owner, token) {
            Acquired::Granted => Ok(()),
            Acquired::Waiting => Err(Stop::Lock(token)),
        }
    }

    /// Strict REPEATABLE READ: refuses when a row that the snapshot has between here and `end` (or the range's end) was
    /// changed since, be it so that the scan does not find it any more.
    #[expect(clippy::too_many_arguments, reason = "the parts of one operation")]
    fn check_unchanged(
        &self,
        at: Timestamp,
        table: TableId,
        scan: &Scan,
        range: &StorageRange,
        progress: &ScanProgress,
        end: Option<&[u8]>,
        owner: types::TransactionId,
        evaluation: &mut EvalContext<'_>,
    ) -> Result<(), Stop> {
        let replica = &self.tables[&table];
        let after = progress.after.as_deref();
        let mut rows = replica.partition.scan(scan.index, range, direction(scan), after);
        while let Some(item) = rows.next_visible(at, Some(owner)) {
            let is_behind = end.is_some_and(|end| match scan.reverse {
                false => item.key > end,
                true => item.key < end,
            });
            if is_behind {
                break;
            }
            // What is being decided is locked: the scan waits for it and looks again.
            let Visible::Row(row) = &item.read.visible else { continue };
            let latest = replica.partition.committed_at(item.row, Timestamp::MAX);
            let view = RowView::new(&replica.layout, row);
            if latest.is_some_and(|latest| latest.ts > at)
                && passes(scan.filter.as_ref(), &view, evaluation)?
            {
                return Err(Refusal::SnapshotConflict.into());
            }
        }
        Ok(())
    }

    /// The next entries. A row is wanted when its last committed version passes, or when another transaction is changing it.
    /// A semi-consistent scan judges a row with a pending version by its last committed version, too (rules.md#locks).
    fn candidates(
        &self,
        table: TableId,
        scan: &Scan,
        range: &StorageRange,
        progress: &mut ScanProgress,
        owner: types::TransactionId,
        evaluation: &mut EvalContext<'_>,
    ) -> Result<Vec<Found>, Stop> {
        const CANDIDATES: usize = 32;
        let mut looked_at = 0;
        let replica = &self.tables[&table];
        let after = progress.after.clone();
        let mut rows = replica.partition.scan(scan.index, range, direction(scan), after.as_deref());
        let mut candidates = Vec::new();
        while candidates.len() < CANDIDATES && looked_at < SCAN_BYTES_MAX {
            let Some(item) = rows.next_visible(Timestamp::MAX, Some(owner)) else { break };
            let disputed = item.read.passed.is_some() && !scan.semi_consistent;
            let wanted = match &item.read.visible {
                Visible::Row(row) => {
                    let view = RowView::new(&replica.layout, row);
                    looked_at += row.len();
                    progress.looked_at += row.len();
                    disputed || passes(scan.filter.as_ref(), &view, evaluation)?
                }
                Visible::Absent => disputed,
                Visible::Undecided(_) => true,
            };
            let key = replica.partition.key_of(item.row).into_owned();
            candidates.push(Found { entry: item.key.to_vec(), key, wanted });
        }
        Ok(candidates)
    }
}

fn direction(scan: &Scan) -> Direction {
    if scan.reverse { Direction::Backward } else { Direction::Forward }
}

/// The range at a position of the walk: a reverse scan takes the ranges from the last.
fn storage_range(scan: &Scan, position: usize) -> StorageRange {
    let index = if scan.reverse { scan.ranges.len() - 1 - position } else { position };
    let range = &scan.ranges[index];
    StorageRange { lower: range.lower.clone(), upper: range.upper.clone() }
}

impl ScanProgress {
    fn new(shard: &Shard, scan: &Scan) -> Result<ScanProgress, Stop> {
        let (range, after) = match &scan.resume {
            None => (0, None),
            Some(resume) => {
                let decoded = <(u32, Option<Bytes>)>::from_bytes(resume);
                let (range, after) = decoded
                    .map_err(|error| Refusal::LimitReached(format!("scan position: {error}")))?;
                (range as usize, after.map(|key| key.0))
            }
        };
        Ok(ScanProgress {
            range,
            after,
            visited: 0,
            ended: 0,
            looked_at: 0,
            answer: ScanAnswer::new(scan, shard.id),
        })
    }

    fn is_full(&self, scan: &Scan) -> bool {
        let visited_max = match scan.lock {
            Lock::None => SCAN_ROWS_VISITED_MAX,
            Lock::Shared | Lock::Exclusive if scan.peek => SCAN_ROWS_VISITED_MAX,
            Lock::Shared | Lock::Exclusive => SCAN_ROWS_LOCKED_MAX,
        };
        self.visited >= visited_max
            || self.ended >= SCAN_ROWS_VISITED_MAX
            || self.answer.is_full(SCAN_BYTES_MAX, SCAN_GROUPS_MAX)
            || self.looked_at >= SCAN_BYTES_LOOKED_AT_MAX
            || self.answer.limit_reached(scan)
    }

    fn finish(self, more: bool, scan: &Scan) -> OpResult {
        let next = (more && !self.answer.limit_reached(scan)).then(|| {
            let range = u32::try_from(self.range).expect("ranges are bounded by the message");
            Bytes((range, self.after.map(Bytes)).to_bytes())
        });
        self.answer.finish(next)
    }
}
