//! The rows of one table that a path finds: key reads, entries of a unique key and then key reads, or a scan.

use std::collections::VecDeque;
use std::sync::Arc;

use client::{
    Batch, Columns, KeyRange, Lock, LockingCursor, Op, OpKind, OpResult, RowBatch, Scan, ScanBatch,
    ScanCursor, ScanOptions, ScanOutput,
};
use types::expr::Aggregate;
use types::wire::Bytes;
use types::{Expr, IndexKind, RowView, Table, Value, ValueRef};

use super::keys::{self, Keys};
use super::write::BATCH_SIZE_MAX;
use super::{Context, Failure, Run, take_warnings};
use crate::SqlError;
use crate::bind::rewrite::{for_each_child, for_each_param};
use crate::plan::{AccessPlan, PathKind};
use crate::session::variables::Isolation;

/// Keys of one batch of key reads or of shipped changes, and of rows that may be long: what they are read for, and where they are, is
/// one piece of work that others wait behind. Of those that may be long and turn out not to be, some more: where a filter or the columns
/// asked for leave little of them, what comes back does not say how long they are.
const KEYS_PER_BATCH: usize = 1_000;
const KEYS_OF_LONG_ROWS: usize = 16;
const KEYS_OF_LONG_ROWS_MAX: usize = 64;
/// Rows that may have more bytes than this are long.
const SHORT_ROW_SIZE_MAX: u64 = 16 << 10;

/// Keys that are read first where the reader is likely to stop early.
const KEYS_OF_FIRST_PULL: usize = 16;

/// Rows that a statement which sleeps over each asks a shard for at a time, under locks: as in InnoDB, rows it has not come
/// to are free for others.
const ROWS_PER_PIECE: usize = 1;

/// What a statement wants of the rows.
pub struct Wanted<'a> {
    pub table: &'a Arc<Table>,
    pub access: &'a AccessPlan,
    pub columns: Columns,
    pub lock: Lock,
    /// As in [`Scan::semi_consistent`].
    pub semi_consistent: bool,
    /// Rows in the order of the path's index.
    pub ordered: bool,
    /// At most so many, if every row found counts.
    pub limit: Option<u64>,
    /// The reader stops when it has enough, which not every row found is part of: [`Rows::expect`].
    pub pulled: bool,
    /// The statement ends with these reads, and so may its transaction.
    pub commit: bool,
}

impl Wanted<'_> {
    /// Are only some of the rows to be locked that a path finds: the first ones?
    fn locks_some(&self) -> bool {
        self.lock != Lock::None && (self.limit.is_some() || self.pulled)
    }
    /// Are fewer rows of a unique key to be locked than it has these keys, which are prefixes of its index's entries?
    fn is_cut_below(&self, keys: &[Vec<u8>]) -> bool {
        let parts = &self.table.indexes[self.access.path.index].parts;
        let is_ascending = parts.iter().all(|part| !part.descending);
        let count = keys.len() as u64;
        let is_cut = match self.limit {
            Some(limit) => limit < count,
            None => self.pulled && 1 < count,
        };
        self.locks_some() && is_cut && is_ascending
    }
}

pub enum Rows {
    /// Nothing more will come.
    None,
    Keys(KeyReads),
    Scan(Box<ScanCursor>),
    /// Under locks and LIMIT.
    Locking(Box<LockingCursor>),
}

impl Rows {
    /// Are there rows that need no request?
    pub fn are_at_hand(&self) -> bool {
        match self {
            Rows::None | Rows::Locking(_) => false,
            Rows::Keys(reads) => matches!(reads.slots.front(), Some(Slot::Row(_))),
            Rows::Scan(cursor) => cursor.has_rows_at_hand(),
        }
    }

    /// The reader expects to use `count` rows. Rows that are pulled and locked are locked at most that many at once.
    pub fn expect(&mut self, count: u64) {
        match self {
            Rows::None => {}
            Rows::Keys(reads) => reads.expect(count),
            Rows::Scan(cursor) => cursor.expect(count),
            Rows::Locking(cursor) => cursor.expect(count),
        }
    }

    /// Is it known that nothing more will come?
    pub fn are_over(&self) -> bool {
        match self {
            Rows::None => true,
            Rows::Keys(reads) => reads.slots.is_empty(),
            Rows::Scan(_) | Rows::Locking(_) => false,
        }
    }
}

/// Rows that are read by their keys, a batch at a time, and come in the order of these.
pub struct KeyReads {
    slots: VecDeque<Slot>,
    filter: Option<Expr>,
    /// So many keys the next time, and at most.
    count: usize,
    count_max: usize,
    /// They may be, so that some of a batch are read later.
    are_long: bool,
    /// Under locks and LIMIT: rows still to be returned. No more keys are read at once, because each is locked.
    remaining: Option<u64>,
    /// Rows are pulled: `count_max` is what the reader can use if they are locked, else `count` begins with that.
    pulled: Option<Pulled>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pulled {
    /// Locked, at most this many at once, whatever the reader can use.
    Locked(usize),
    Unlocked,
}

enum Slot {
    Key(Vec<u8>),
    /// Read: its row, if there is one that passes.
    Row(Option<Bytes>),
}

impl KeyReads {
    fn expect(&mut self, count: u64) {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        match self.pulled {
            None => {}
            Some(Pulled::Locked(at_once)) => {
                self.count_max = count.clamp(1, at_once);
                self.count = self.count_max;
            }
            Some(Pulled::Unlocked) => {
                self.count = self.count.max(count).min(self.count_max);
            }
        }
    }

    /// The rows before the next key, or the first of them if they are many bytes: one that is long comes alone, as it is.
    fn take_read(&mut self) -> RowBatch {
        let mut rows = RowBatch::default();
        while let Some(Slot::Row(row)) = self.slots.front_mut() {
            let size = row.as_ref().map_or(0, |row| row.len());
            if !rows.is_empty() && BATCH_SIZE_MAX < rows.rows.len() + size {
                break;
            }
            match row.take() {
                Some(row) if rows.is_empty() => {
                    rows.rows = row;
                    rows.end_row(None);
                }
                Some(row) => rows.push(&row, None),
                None => {}
            }
            self.slots.pop_front();
        }
        rows
    }
}

/// How many rows one message may ask for, or change, by their keys.
pub fn keys_at_once(table: &Table) -> usize {
    let row_size_max: u64 = table.columns.iter().map(|column| column.column_type.bytes_max()).sum();
    if row_size_max <= SHORT_ROW_SIZE_MAX { KEYS_PER_BATCH } else { KEYS_OF_LONG_ROWS }
}

/// How many operations go in one message that have constants of so many bytes each.
pub fn ops_that_fit(constant_bytes: usize) -> usize {
    (BATCH_SIZE_MAX / constant_bytes.max(1)).max(1)
}

/// Bytes of the longer constants of an expression.
pub fn constant_bytes(expr: &Expr) -> usize {
    let mut bytes = match expr {
        Expr::Const(value) => value.held_bytes(),
        _ => 0,
    };
    for_each_child(expr, &mut |child| bytes += constant_bytes(child));
    bytes
}

/// The statement's parameters as far as these expressions need them: others may be long, and stay here.
/// One that could not be computed is an error.
pub fn sent_params<'a>(
    run: &Run<'_>,
    exprs: impl Iterator<Item = &'a Expr>,
) -> Result<Vec<Value>, SqlError> {
    let mut sent = Vec::new();
    let mut fault = None;
    if run.params.is_empty() {
        return Ok(sent);
    }
    for expr in exprs {
        for_each_param(expr, &mut |number| {
            fault = fault.or(run.faulty.iter().find(|(own, _)| *own == number));
            let number = usize::from(number);
            if sent.len() <= number {
                sent.resize(number + 1, Value::Null);
            }
            sent[number].clone_from(&run.params[number]);
        });
    }
    match fault {
        Some((_, fault)) => Err(SqlError::new(fault.code, fault.message.clone())),
        None => Ok(sent),
    }
}

/// How the rows are found after looking at the values.
pub enum Found {
    Nothing,
    Keys(Vec<Vec<u8>>, Option<Expr>),
    Entries(Vec<Vec<u8>>),
    Scan(Box<Scan>),
}

impl Context<'_> {
    /// Decides, with the values at hand, how the rows are found. The second part: the bounds did not hold, so that the
    /// order the path was chosen for is not delivered.
    pub fn find(&mut self, wanted: &Wanted<'_>) -> Result<(Found, bool), Failure> {
        let path = &wanted.access.path;
        let catalogue = self.catalogue();
        let entries = match (path.kind, &wanted.table.indexes[path.index].kind) {
            (PathKind::UniqueKey, IndexKind::Unique { entries }) => {
                Some(catalogue.table_by_id(*entries).cloned().ok_or_else(|| stale(&catalogue))?)
            }
            _ => None,
        };
        let keyed = entries.as_ref().unwrap_or(wanted.table);
        let mut context = self.run.context();
        let resolved = keys::resolve(wanted.table, keyed, path, &mut context)?;
        take_warnings(&mut context, &mut self.warnings);
        let unusable = resolved == Keys::Unusable;
        let (index, ranges, filter, reverse) = match resolved {
            Keys::Nothing => return Ok((Found::Nothing, false)),
            Keys::Keys(keys) if path.kind == PathKind::UniqueKey && wanted.is_cut_below(&keys) => {
                // To lock only some, they are found one after the other: in the table's own index.
                let ranges = keys.into_iter().map(KeyRange::prefix).collect();
                (path.index, ranges, wanted.access.filter.clone(), path.reverse)
            }
            Keys::Keys(keys) if path.kind == PathKind::UniqueKey => {
                return Ok((Found::Entries(keys), false));
            }
            Keys::Keys(keys) => {
                return Ok((Found::Keys(keys, wanted.access.residual.clone()), false));
            }
            Keys::Ranges(ranges) => {
                (path.index, ranges, wanted.access.residual.clone(), path.reverse)
            }
            Keys::Unusable => (0, vec![KeyRange::all()], wanted.access.filter.clone(), false),
        };
        Ok((self.scan(wanted, index, ranges, filter, reverse), unusable))
    }

    /// A scan of these ranges of an index, with the terms that its path does not cover.
    pub fn scan_of(&self, wanted: &Wanted<'_>, index: usize, ranges: Vec<KeyRange>) -> Found {
        self.scan(wanted, index, ranges, wanted.access.residual.clone(), false)
    }

    fn scan(
        &self,
        wanted: &Wanted<'_>,
        index: usize,
        ranges: Vec<KeyRange>,
        filter: Option<Expr>,
        reverse: bool,
    ) -> Found {
        Found::Scan(Box::new(Scan {
            index: wanted.table.indexes[index].id,
            ranges,
            reverse,
            filter,
            output: ScanOutput::Rows {
                columns: wanted.columns.clone(),
                with_keys: wanted.ordered || wanted.locks_some() || locks_slowly(&self.run, wanted),
            },
            limit: wanted.limit,
            lock: wanted.lock,
            semi_consistent: wanted.semi_consistent,
            peek: false,
            resume: None,
            shard: None,
        }))
    }

    /// Starts reading. The second part as in `find`.
    pub async fn open_rows(&mut self, wanted: &Wanted<'_>) -> Result<(Rows, bool), Failure> {
        let (found, unusable) = self.find(wanted)?;
        Ok((self.open_found(wanted, found).await?, unusable))
    }

    /// Starts reading.
    pub async fn open_found(&mut self, wanted: &Wanted<'_>, found: Found) -> Result<Rows, Failure> {
        let slow = locks_slowly(&self.run, wanted);
        let count = if slow { ROWS_PER_PIECE } else { keys_at_once(wanted.table) };
        let count_max = if slow { count } else { count.max(KEYS_OF_LONG_ROWS_MAX) };
        let are_long = keys_at_once(wanted.table) == KEYS_OF_LONG_ROWS;
        let pulled = wanted.pulled.then_some(match wanted.lock {
            Lock::None => Pulled::Unlocked,
            Lock::Shared | Lock::Exclusive => Pulled::Locked(count),
        });
        let (count, count_max) = match pulled {
            Some(Pulled::Locked(_)) => (1, 1),
            Some(Pulled::Unlocked) => (count.min(KEYS_OF_FIRST_PULL), count_max),
            None => (count, count_max),
        };
        let remaining = wanted.limit.filter(|_| wanted.locks_some());
        let at_once = remaining.map_or(usize::MAX, |remaining| {
            usize::try_from(remaining).unwrap_or(usize::MAX).max(1)
        });
        let (count, count_max) = (count.min(at_once), count_max.min(at_once));
        let key_reads = |keys: Vec<Vec<u8>>, filter| KeyReads {
            slots: keys.into_iter().map(Slot::Key).collect(),
            filter,
            count,
            count_max,
            are_long,
            remaining,
            pulled,
        };
        Ok(match found {
            Found::Nothing => Rows::None,
            Found::Keys(mut keys, filter) => {
                if wanted.access.path.reverse {
                    keys.reverse();
                }
                // Several long rows may be too many for one answer.
                let is_one = keys.len() <= count && (!are_long || keys.len() == 1);
                let mut reads = key_reads(keys, filter);
                if is_one {
                    self.read_keys(wanted, &mut reads, wanted.commit).await?;
                }
                Rows::Keys(reads)
            }
            Found::Entries(entries) => {
                let keys = self.read_entries(wanted, entries).await?;
                // The row may have changed since its entry was read: all of the filter is asked again.
                Rows::Keys(key_reads(keys, wanted.access.filter.clone()))
            }
            Found::Scan(scan) => {
                let mut options = self.scan_options(&scan, wanted.ordered)?;
                options.piece = slow.then_some(ROWS_PER_PIECE as u64);
                if wanted.pulled && wanted.ordered && !wanted.locks_some() && !slow {
                    (options.piece, options.grows) = (Some(ROWS_PER_PIECE as u64), true);
                }
                match wanted.locks_some() {
                    true => {
                        let cursor = self.client().scan_locking(wanted.table, *scan, options);
                        Rows::Locking(Box::new(cursor))
                    }
                    false => {
                        let cursor = self.client().scan(wanted.table, *scan, options);
                        Rows::Scan(Box::new(cursor))
                    }
                }
            }
        })
    }

    pub fn scan_options(&self, scan: &Scan, ordered: bool) -> Result<ScanOptions, SqlError> {
        let batch = self.batch();
        let mut exprs: Vec<&Expr> = scan.filter.iter().collect();
        if let ScanOutput::Groups { group_by, aggregates } = &scan.output {
            exprs.extend(group_by);
            exprs.extend(aggregates.iter().flat_map(Aggregate::exprs));
        }
        Ok(ScanOptions {
            ordered,
            params: sent_params(&self.run, exprs.into_iter())?,
            read_at: batch.read_at,
            settings: batch.settings,
            lock_wait_timeout_ms: batch.lock_wait_timeout_ms,
            wait: batch.wait,
            lock_ranges: batch.lock_ranges,
            refuse_changed: batch.refuse_changed,
            snapshot_age_max_ms: batch.snapshot_age_max_ms,
            piece: None,
            grows: false,
        })
    }

    /// The next rows; never an empty batch.
    pub async fn next_rows(
        &mut self,
        wanted: &Wanted<'_>,
        rows: &mut Rows,
    ) -> Result<Option<RowBatch>, Failure> {
        loop {
            self.check_killed()?;
            match rows {
                Rows::None => return Ok(None),
                Rows::Keys(reads) => {
                    let rows = reads.take_read();
                    if !rows.is_empty() {
                        // Work with a long one is work enough.
                        if BATCH_SIZE_MAX < rows.rows.len() {
                            client::task::yield_now().await;
                        }
                        return Ok(Some(rows));
                    }
                    if reads.slots.is_empty() {
                        return Ok(None);
                    }
                    if reads.remaining == Some(0) {
                        return Ok(None);
                    }
                    self.read_keys(wanted, reads, false).await?;
                }
                Rows::Locking(cursor) => {
                    let next = cursor.next(self.client()).await;
                    self.warnings.extend(cursor.warnings());
                    return next.map_err(|refusal| self.refused(refusal));
                }
                Rows::Scan(cursor) => {
                    let next = cursor.next(self.client()).await;
                    self.warnings.extend(cursor.warnings());
                    match next.map_err(|refusal| self.refused(refusal))? {
                        Some(ScanBatch::Rows(batch)) => return Ok(Some(batch)),
                        Some(ScanBatch::Groups(_)) => unreachable!("rows were asked for"),
                        None => return Ok(None),
                    }
                }
            }
        }
    }

    /// Reads the next keys. Those whose rows are too many for one answer are left for the next time.
    async fn read_keys(
        &mut self,
        wanted: &Wanted<'_>,
        reads: &mut KeyReads,
        commit: bool,
    ) -> Result<(), Failure> {
        let filter_bytes = reads.filter.as_ref().map_or(0, constant_bytes);
        let some = reads.count.min(ops_that_fit(filter_bytes));
        let params = sent_params(&self.run, reads.filter.iter())?;
        let mut batch = Batch { params, commit, ..self.batch() };
        let mut positions = Vec::new();
        for (position, slot) in reads.slots.iter_mut().enumerate() {
            let Slot::Key(key) = slot else { continue };
            if positions.len() == some {
                batch.reads_on = true;
                break;
            }
            positions.push(position);
            batch.ops.push(Op {
                table: wanted.table.id,
                version: wanted.table.version,
                kind: OpKind::Read {
                    key: Bytes(key.clone()),
                    lock: wanted.lock,
                    filter: reads.filter.clone(),
                    columns: wanted.columns.clone(),
                },
            });
        }
        batch.reads_on |= self.run.plan.reads_on || reads.are_long && positions.len() > 1;
        // Not all fit into one message: the statement ends its transaction behind the last.
        batch.commit &= !batch.reads_on;
        let result =
            self.client().execute_some(batch).await.map_err(|refusal| self.refused(refusal))?;
        self.warnings.extend(result.warnings);
        let (mut done, mut found, mut bytes) = (0, 0, 0);
        for (position, result) in positions.into_iter().zip(result.results.into_iter().flatten()) {
            match result {
                OpResult::Row(row) => {
                    done += 1;
                    found += u64::from(row.is_some());
                    bytes += row.as_ref().map_or(0, |row| row.len());
                    reads.slots[position] = Slot::Row(row);
                }
                OpResult::Later => {}
                other => unreachable!("{other:?} to a read"),
            }
        }
        // As many as have been no more than a batch's bytes.
        let fit = BATCH_SIZE_MAX * done / bytes.max(1);
        reads.count = fit.min(2 * done).clamp(1, reads.count_max);
        if let Some(remaining) = &mut reads.remaining {
            *remaining -= found.min(*remaining);
            let at_once = usize::try_from(*remaining).unwrap_or(usize::MAX);
            reads.count = reads.count.min(at_once).max(1);
        }
        Ok(())
    }

    /// The primary keys that entries of a unique key name.
    pub async fn read_entries(
        &mut self,
        wanted: &Wanted<'_>,
        keys: Vec<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let catalogue = self.catalogue();
        let index = &wanted.table.indexes[wanted.access.path.index];
        let IndexKind::Unique { entries } = index.kind else {
            unreachable!("the path is one of a unique key")
        };
        let entries = catalogue.table_by_id(entries).cloned().ok_or_else(|| stale(&catalogue))?;
        let layout = entries.row_layout();
        let mut found = Vec::new();
        let mut keys = keys.into_iter();
        loop {
            let some: Vec<Vec<u8>> = keys.by_ref().take(KEYS_PER_BATCH).collect();
            if some.is_empty() {
                break;
            }
            let mut batch = self.batch();
            batch.reads_on = self.run.plan.reads_on;
            for key in some {
                batch.ops.push(Op {
                    table: entries.id,
                    version: entries.version,
                    kind: OpKind::Read {
                        key: Bytes(key),
                        // Who locks the row must have found it by its latest entry, and keep that.
                        lock: wanted.lock,
                        filter: None,
                        columns: Columns::All,
                    },
                });
            }
            for result in self.execute_batch(batch).await?.into_iter().flatten() {
                if let OpResult::Row(Some(row)) = result {
                    found.push(primary_key_in_entry(
                        wanted.table,
                        index,
                        &RowView::new(&layout, &row),
                    )?);
                }
            }
        }
        // Several entries may name one row only by a race; it is found once.
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// An empty batch with the session's settings.
    pub fn batch(&self) -> Batch {
        Batch {
            ops: Vec::new(),
            params: Vec::new(),
            statement: 0,
            commit: false,
            read_at: self.read_at(),
            reads_on: false,
            settings: self.run.settings(),
            lock_wait_timeout_ms: self.settings().lock_wait_timeout_seconds.saturating_mul(1000),
            wait: self.run.wait,
            lock_ranges: self.isolation() == Isolation::Serializable,
            refuse_changed: self.settings().strict_snapshot
                && self.isolation() == Isolation::RepeatableRead,
            is_waited_for: false,
            snapshot_age_max_ms: self.settings().snapshot_age_max_seconds.saturating_mul(1000),
            durability: None,
        }
    }

    /// Runs a batch; a refusal becomes a failure, warnings are kept.
    pub async fn execute_batch(&mut self, batch: Batch) -> Result<Vec<Vec<OpResult>>, Failure> {
        match self.client().execute(batch).await {
            Ok(result) => {
                self.warnings.extend(result.warnings);
                Ok(result.results)
            }
            Err(refusal) => Err(self.refused(refusal)),
        }
    }
}

/// Is a row's lock long before the next one's, because SLEEP() is called in between?
fn locks_slowly(run: &Run<'_>, wanted: &Wanted<'_>) -> bool {
    wanted.lock != Lock::None && run.plan.sleeps()
}

/// The encoded primary key that an entry's row ends in.
pub fn primary_key_in_entry(
    table: &Table,
    index: &types::Index,
    entry: &RowView<'_>,
) -> Result<Vec<u8>, SqlError> {
    let first = index.parts.len();
    let values: Vec<ValueRef<'_>> =
        (0..table.primary_key().parts.len()).map(|part| entry.get(first + part)).collect();
    types::key::primary_key_of_values(table, &values).map_err(|_| super::write::key_too_long())
}

/// The plan names a hidden table that is gone: it was made for an older catalogue.
pub fn stale(catalogue: &types::Catalogue) -> Failure {
    let refusal = client::Refusal::SchemaChanged { table: types::TableId(0) };
    Failure::refused(refusal, catalogue)
}

/// The values of a row as owned ones, TIMESTAMPs left in UTC.
pub fn owned_row(table: &Table, view: &RowView<'_>) -> Vec<Value> {
    (0..table.columns.len()).map(|column| view.get(column).to_value()).collect()
}
