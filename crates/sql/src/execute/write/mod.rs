//! Every change of a row.
//!
//! A statement finds rows and computes values. Each change that comes of it, an old row and a new row of which one may be missing,
//! goes through the [`TableWriter`] of its table, so that what a row must pass stands in one place:
//!
//! | step | module |
//! |---|---|
//! | values as columns keep them, defaults, NOT NULL, ON UPDATE CURRENT_TIMESTAMP | [`values`] |
//! | DEFAULT (expression), generated columns, WITH CHECK OPTION, CHECK | [`rules`] |
//! | AUTO_INCREMENT | [`sequence`] |
//! | encoding, the length of keys | [`row_keys`] |
//! | taken keys: IGNORE, REPLACE, ON DUPLICATE KEY UPDATE | [`duplicate`] |
//! | the copy that ALTER TABLE makes of the table | [`copy`] |
//! | FOREIGN KEY: parents that must be there, children that follow | [`foreign_key`] |
//! | operations on the row and its entries in unique keys, in batches | here |
//! | the error of a refused batch | [`refused`] |
//!
//! The first step is on the row that the statement has found, the others run when some changes have come together. Changes keep
//! their order. The error of a change is returned when the changes before it are written: they may fail themselves, and a client
//! sees the first error.
//!
//! A change whose row needs nothing of this ([`types::Table::needs_writer`]) is sent to the shards unseen ([`shipped`]).

mod copy;
mod duplicate;
mod foreign_key;
mod refused;
mod row_keys;
mod rules;
pub mod sequence;
mod shipped;
mod values;

use std::sync::Arc;

use client::{Op, Refusal};
use types::{Catalogue, RowLayout, Table, TableId, Value};

use super::{Changed, Context, Failure, Pace, value_size};
use crate::error::SqlError;
use crate::plan::{AssignmentPlan, InsertMode, InsertPlan, NO_RULES, RowCheck, RowRules};
pub use copy::RowCopier;
use foreign_key::{Cascade, ForeignKeys};
pub use foreign_key::{
    leading_index, leading_index_in_order, referenced_index, replaces_generated,
};
pub use row_keys::{changes_unique_key, joined_entry, key_too_long};
pub use sequence::generated_value;
use sequence::{Sequence, Wish};
pub use values::{RowDraft, Storing, default_value, now_value, store_error, store_value};

/// Rows and bytes of one batch of writes: a tenth of a millisecond here and where the rows are, which others wait behind.
pub const ROWS_PER_BATCH: usize = 64;
pub const BATCH_SIZE_MAX: usize = 1 << 20;
/// Changes of rows that are locked already: the rows of one read.
const CHANGES_PER_BATCH: usize = 1_000;

/// What becomes of a new row with a key that another row has.
#[derive(Clone, Copy)]
enum Duplicates<'p> {
    /// The engine refuses the batch, and the statement fails.
    Refuse,
    /// IGNORE: the change is left out with a warning.
    Ignore,
    /// REPLACE: the rows in the way go.
    Replace,
    /// ON DUPLICATE KEY UPDATE: the first row in the way is changed.
    Update(&'p [AssignmentPlan]),
}

/// A row that is written.
#[derive(Default)]
pub struct NewRow {
    /// 0 where the sequence will supply a value.
    pub values: Vec<Value>,
    /// What INSERT ... SELECT has read besides, for ON DUPLICATE KEY UPDATE.
    pub source: Vec<Value>,
    /// Columns with DEFAULT (expression) that were given no value.
    unset: Vec<u16>,
    wishes: Vec<Wish>,
    /// Its value of the sequence.
    generated: Option<u64>,
}

/// A change of one row. It has an old row, a new one or both.
pub struct RowChange {
    /// As it is stored; locked.
    old: Option<Vec<u8>>,
    new: Option<NewRow>,
    /// The new row as it will be stored, once it has passed its checks.
    encoded: Vec<u8>,
    /// What the change adds to the affected rows.
    affected: u64,
    /// Of the row in its statement, from 1, for messages.
    number: u64,
}

impl RowChange {
    fn new(old: Option<Vec<u8>>, new: Option<NewRow>) -> RowChange {
        RowChange { old, new, encoded: Vec::new(), affected: 1, number: 1 }
    }
    pub fn insert(new: NewRow, number: u64) -> RowChange {
        RowChange { number, ..RowChange::new(None, Some(new)) }
    }
    pub fn update(old: Vec<u8>, values: Vec<Value>) -> RowChange {
        RowChange::new(Some(old), Some(NewRow { values, ..NewRow::default() }))
    }
    pub fn delete(old: Vec<u8>) -> RowChange {
        RowChange::new(Some(old), None)
    }
    /// The same with another count of affected rows.
    pub fn counted(self, affected: u64) -> RowChange {
        RowChange { affected, ..self }
    }
    /// The same as the row of this number of its statement.
    pub fn numbered(self, number: u64) -> RowChange {
        RowChange { number, ..self }
    }
    fn value_bytes(&self) -> usize {
        self.new.iter().flat_map(|new| &new.values).map(value_size).sum()
    }
}

/// Operations that are decided and not sent.
#[derive(Default)]
struct Pending {
    ops: Vec<Op>,
    /// What they do, for the error of a refusal.
    changes: Vec<RowChange>,
    bytes: usize,
    /// The greatest value that a changed row has for the AUTO_INCREMENT column.
    sequence_value: u64,
    /// What they do to children.
    cascades: Vec<Cascade>,
    /// What the same batch does to the rows' copies.
    copies: Vec<RowChange>,
}

/// Writes the changes that a statement makes in one table.
pub struct TableWriter<'p> {
    table: &'p Arc<Table>,
    layout: &'p RowLayout,
    check: Option<&'p RowCheck>,
    rules: &'p RowRules,
    storing: Storing,
    /// IGNORE was written.
    ignore: bool,
    duplicates: Duplicates<'p>,
    sequence: Sequence,
    /// Assignments give the AUTO_INCREMENT column a value.
    moves_sequence: bool,
    /// Changes that have not passed their checks, and their number and bytes at most.
    queue: Vec<RowChange>,
    queue_bytes: usize,
    queue_rows_max: usize,
    pending: Pending,
    /// None before the first change.
    foreign_keys: Option<ForeignKeys>,
    copier: Option<RowCopier>,
    /// The tables of the writers around this one, whose changes its own follow.
    above: Vec<TableId>,
    /// Rows may have changed since the statement found them, by what followed its other changes.
    rereads: bool,
    pace: Pace,
    changed: Changed,
    /// Rows that WITH CHECK OPTION has left out.
    left_out: u64,
    /// New rows of the statement that are in the table now, themselves or as a row that ON DUPLICATE KEY UPDATE has changed.
    copied: u64,
}

impl<'p> TableWriter<'p> {
    fn new(table: &'p Arc<Table>, layout: &'p RowLayout, storing: Storing) -> TableWriter<'p> {
        TableWriter {
            table,
            layout,
            check: None,
            rules: NO_RULES,
            storing,
            ignore: false,
            duplicates: Duplicates::Refuse,
            sequence: Sequence::default(),
            moves_sequence: false,
            queue: Vec::new(),
            queue_bytes: 0,
            queue_rows_max: CHANGES_PER_BATCH,
            pending: Pending::default(),
            foreign_keys: None,
            copier: None,
            above: Vec::new(),
            rereads: false,
            pace: Pace::default(),
            changed: Changed::default(),
            left_out: 0,
            copied: 0,
        }
    }

    /// For the rows of an INSERT, of this number.
    pub fn of_insert(
        context: &Context<'_>,
        plan: &'p InsertPlan,
        storing: Storing,
    ) -> Result<TableWriter<'p>, SqlError> {
        let duplicates = match &plan.mode {
            InsertMode::Insert if plan.ignore => Duplicates::Ignore,
            InsertMode::Insert => Duplicates::Refuse,
            InsertMode::Replace => Duplicates::Replace,
            InsertMode::Update(assignments) => Duplicates::Update(assignments),
        };
        let mut writer = TableWriter::new(&plan.table, &plan.layout, storing);
        writer.check = plan.check.as_ref();
        writer.rules = &plan.rules;
        writer.ignore = plan.ignore;
        writer.duplicates = duplicates;
        writer.sequence = Sequence::of(&plan.table, context.settings())?;
        if let Duplicates::Update(assignments) = duplicates {
            writer.moves_sequence = sequence::is_assigned(&plan.table, assignments);
        }
        writer.queue_rows_max = ROWS_PER_BATCH;
        Ok(writer)
    }

    /// For rows that UPDATE gives values by these assignments.
    pub fn of_update<'a>(
        table: &'p Arc<Table>,
        layout: &'p RowLayout,
        (check, rules): (Option<&'p RowCheck>, &'p RowRules),
        assignments: impl IntoIterator<Item = &'a AssignmentPlan, IntoIter: Clone>,
        storing: Storing,
        ignore: bool,
    ) -> TableWriter<'p> {
        let assignments = assignments.into_iter();
        let mut writer = TableWriter::new(table, layout, storing);
        writer.check = check;
        writer.rules = rules;
        writer.ignore = ignore;
        if ignore && changes_unique_key(table, assignments.clone()) {
            writer.duplicates = Duplicates::Ignore;
        }
        writer.moves_sequence = sequence::is_assigned(table, assignments);
        writer
    }

    /// Another writer of the statement may change rows that this one deletes.
    pub fn reread(&mut self) {
        self.rereads = true;
    }

    /// For rows that go.
    pub fn of_delete(table: &'p Arc<Table>, layout: &'p RowLayout) -> TableWriter<'p> {
        TableWriter::new(table, layout, Storing::new(true, false))
    }

    /// Takes a change; writes those before it when they are enough for a batch.
    pub async fn push(
        &mut self,
        context: &mut Context<'_>,
        change: RowChange,
    ) -> Result<(), Failure> {
        if self.foreign_keys.is_none() {
            let keys = ForeignKeys::of(context, self.table);
            let is_plain = change.old.is_none() && matches!(self.duplicates, Duplicates::Refuse);
            self.rereads |= keys.come_back();
            if (keys.have_own() || self.rereads) && !is_plain {
                // Each change is written before the next one looks for its parents and children.
                self.queue_rows_max = 1;
            }
            self.foreign_keys = Some(keys);
            self.copier = context.row_copier(self.table)?;
        }
        if self.queue_rows_max <= self.queue.len() || BATCH_SIZE_MAX <= self.queue_bytes {
            self.flush(context, false).await?;
        }
        let bytes = change.value_bytes();
        self.queue_bytes += bytes;
        self.queue.push(change);
        self.pace.bytes(bytes).await;
        Ok(())
    }

    /// Writes all changes. `is_last`: the statement makes no others, so that its transaction may end with them.
    pub async fn flush(&mut self, context: &mut Context<'_>, is_last: bool) -> Result<(), Failure> {
        if self.queue.is_empty() {
            return Ok(());
        }
        context.check_killed()?;
        self.queue_bytes = 0;
        let mut ready = Vec::with_capacity(self.queue.len());
        let mut failed = None;
        for mut change in std::mem::take(&mut self.queue) {
            match self.passes(context, &mut change).await {
                Ok(true) => ready.push(change),
                Ok(false) => {}
                Err(failure) if failure.leaves_statement() => {
                    failed = Some(failure);
                    break;
                }
                Err(failure) => return Err(failure),
            }
        }
        self.changed.records += ready.len() as u64;
        self.fill_sequence(context, &mut ready).await?;
        for position in 0..ready.len() {
            if let Err(error) = self.encode(&mut ready[position]).await {
                ready.truncate(position);
                failed = Some(error.into());
                break;
            }
        }
        let orphan = match self.duplicates {
            Duplicates::Refuse if !self.parents().is_empty() => {
                Box::pin(self.keep_those_with_parents(context, &mut ready)).await?
            }
            _ => None,
        };
        let is_last = is_last && failed.is_none() && orphan.is_none();
        self.write(context, ready, is_last).await?;
        if let Some(orphan) = orphan {
            return Err(Box::pin(self.orphan_failure(context, orphan)).await?);
        }
        failed.map_or(Ok(()), Err)
    }

    /// The failure of a change that the statement could not make, or that of a change before it.
    pub async fn fail(&mut self, context: &mut Context<'_>, failure: Failure) -> Failure {
        if !failure.leaves_statement() {
            return failure;
        }
        self.flush(context, false).await.err().unwrap_or(failure)
    }

    /// The counts of an UPDATE that has found so many rows, or of a DELETE.
    pub fn changed(&self, found: u64) -> Changed {
        Changed { matched: found - self.left_out, ..self.changed }
    }

    /// Computes what the definition computes of the new row, and checks the row. False: it is left out.
    async fn passes(
        &mut self,
        context: &mut Context<'_>,
        change: &mut RowChange,
    ) -> Result<bool, Failure> {
        self.compute_columns(context, change).await?;
        self.passes_checks(context, change).await
    }

    async fn encode(&mut self, change: &mut RowChange) -> Result<(), SqlError> {
        if let Some(new) = &change.new {
            change.encoded = row_keys::encode(self.table, self.layout, &new.values)?;
            self.pace.bytes(change.encoded.len()).await;
        }
        Ok(())
    }

    async fn write(
        &mut self,
        context: &mut Context<'_>,
        changes: Vec<RowChange>,
        is_last: bool,
    ) -> Result<(), Failure> {
        let catalogue = context.catalogue();
        if !matches!(self.duplicates, Duplicates::Refuse) {
            return Box::pin(self.write_decided(context, &catalogue, changes, is_last)).await;
        }
        for change in changes {
            let change = match self.rereads {
                true => match Box::pin(self.up_to_date(context, change)).await? {
                    Some(change) => change,
                    None => continue,
                },
                false => change,
            };
            let is_free = match self.children().is_empty() {
                true => Ok(true),
                false => Box::pin(self.is_free_of_children(context, &change)).await,
            };
            match is_free {
                Ok(true) => self.add(context, &catalogue, change).await?,
                Ok(false) => {}
                Err(failure) if failure.leaves_statement() => {
                    // What is decided may fail itself.
                    self.send(context, false).await?;
                    return Err(failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        self.send(context, is_last).await
    }

    /// Adds a change to those that will be sent together.
    async fn add(
        &mut self,
        context: &mut Context<'_>,
        catalogue: &Catalogue,
        change: RowChange,
    ) -> Result<(), Failure> {
        let bytes = change.encoded.len();
        if !self.pending.ops.is_empty() && BATCH_SIZE_MAX < self.pending.bytes + bytes {
            self.send(context, false).await?;
        }
        let copied = match &self.copier {
            Some(copier) => {
                let copied = copier.change(context, (self.table, self.layout), &change);
                let copied = Box::pin(copied).await?;
                Some((copier.ops(catalogue, &copied), copied))
            }
            None => None,
        };
        let cascades = self.cascades_of(&change);
        self.pending.cascades.extend(cascades);
        let ops = match (&change.old, &change.new) {
            (Some(old), Some(_)) => {
                client::replace_ops(catalogue, self.table, old, &change.encoded)
            }
            (None, Some(_)) => client::insert_ops(catalogue, self.table, &change.encoded),
            (Some(old), None) => client::delete_ops(catalogue, self.table, old),
            (None, None) => unreachable!("a change has a row"),
        };
        self.pending.ops.extend(ops);
        self.pending.bytes += bytes;
        if let Some((ops, copied)) = copied {
            self.pending.ops.extend(ops);
            self.pending.bytes += copied.encoded.len();
            self.pending.copies.push(copied);
        }
        self.changed.affected += change.affected;
        if let Some(new) = &change.new {
            match change.old {
                None => {
                    self.copied += 1;
                    self.sequence.inserted(new);
                }
                Some(_) if self.moves_sequence => {
                    let value = sequence::value_in(self.table, &new.values);
                    self.pending.sequence_value = self.pending.sequence_value.max(value);
                }
                Some(_) => {}
            }
        }
        self.pending.changes.push(change);
        self.pace.bytes(bytes).await;
        Ok(())
    }

    async fn send(&mut self, context: &mut Context<'_>, is_last: bool) -> Result<(), Failure> {
        let pending = std::mem::take(&mut self.pending);
        if pending.ops.is_empty() {
            return Ok(());
        }
        sequence::raise(context, self.table, pending.sequence_value).await?;
        let is_last = is_last && pending.cascades.is_empty();
        let commit = is_last && context.commits_with_last_request();
        let batch = client::Batch { ops: pending.ops, commit, ..context.batch() };
        match context.client().execute(batch).await {
            Ok(result) => {
                context.warnings.extend(result.warnings);
                match pending.cascades.is_empty() {
                    true => Ok(()),
                    false => self.cascade(context, pending.cascades).await,
                }
            }
            Err(refusal) => {
                let (table, layout, changes) = match &self.copier {
                    Some(copier) if refuses_copy(context, &refusal, copier) => {
                        (&copier.table, &copier.layout, &pending.copies)
                    }
                    _ => (self.table, self.layout, &pending.changes),
                };
                Err(Box::pin(context.write_failure(refusal, table, layout, changes)).await)
            }
        }
    }
}

/// Was it a key of the copy that was taken?
fn refuses_copy(context: &Context<'_>, refusal: &Refusal, copier: &RowCopier) -> bool {
    let Refusal::DuplicateKey { table, index } = refusal else { return false };
    let of = client::duplicate_of(&context.catalogue(), *table, *index);
    of.is_some_and(|(table, _)| table.id == copier.table.id)
}
