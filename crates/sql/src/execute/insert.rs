//! INSERT, REPLACE, INSERT ... ON DUPLICATE KEY UPDATE.
//!
//! A plain INSERT sends its rows and lets the engine refuse a taken key. The other forms must know what is there before
//! they decide, so they lock every key of a row first (absent keys too), some rows at a time; rows of one statement that
//! share a key are never in the same round, so that the second one sees what the first one did.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use client::{Batch, Columns, Lock, Op, OpKind, OpResult, Refusal};
use types::convert::SqlWarning;
use types::wire::Bytes;
use types::{
    Catalogue, ColumnDefault, ColumnType, Expr, Index, IndexKind, RowView, Table, Value, ValueRef,
};

use super::rows::{keys_at_once, owned_row, primary_key_in_entry};
use super::stored::Collector;
use super::write::{
    BATCH_SIZE_MAX, ROWS_PER_BATCH, Storing, default_value, duplicate_error, encode, key_too_long,
    refuse_null, store_value, unique_key,
};
use super::{Changed, Context, Failure, Pace, value_size};
use crate::SqlError;
use crate::bind::rewrite;
use crate::error::code;
use crate::plan::{
    AssignmentPlan, Bound, InsertMode, InsertPlan, InsertSource, InsertValue, Plan, Slot,
};

/// A row that is being made.
struct NewRow {
    /// NULL where the sequence will say.
    values: Vec<Value>,
    /// What INSERT ... SELECT has read besides, for ON DUPLICATE KEY UPDATE.
    source: Vec<Value>,
}

/// An old row that a new one meets: its primary key, the position of the index they meet in, the row.
type Conflict = (Vec<u8>, usize, Vec<u8>);

/// What a row says about AUTO_INCREMENT.
enum Wish {
    /// It brings this value.
    Explicit(u64),
    /// Its column of this position waits for the next one.
    Next(usize),
}

/// What the statement found out about AUTO_INCREMENT.
#[derive(Default)]
struct Sequence {
    /// The visible AUTO_INCREMENT column.
    column: Option<usize>,
    /// What the rows at hand say, in their order: (row, wish).
    wishes: Vec<(usize, Wish)>,
    /// The value of the first row that was inserted with a generated one: LAST_INSERT_ID().
    first_generated: Option<u64>,
    /// Values generated for the rows at hand, by position.
    generated: BTreeMap<usize, u64>,
    last_explicit: Option<u64>,
    /// Rows of the statement.
    row_count: usize,
    /// Values that are reserved and not given out, so that those of a statement follow each other.
    reserved: Range<u64>,
    reservation_count: u32,
    /// auto_increment_increment and auto_increment_offset: values are the offset and multiples of the step above it. Hidden
    /// row ids, which no user sees, have a step of 1.
    step: u64,
    offset: u64,
}

/// The first of `offset`, `offset + step`, `offset + 2 * step`, ... that is not below `value`.
fn aligned(value: u64, step: u64, offset: u64) -> Option<u64> {
    if step == 1 {
        return Some(value);
    }
    let steps = value.saturating_sub(offset).div_ceil(step);
    steps.checked_mul(step)?.checked_add(offset)
}

/// The column whose values the table's sequence makes, if users see it.
fn sequence_column(table: &Table) -> Option<usize> {
    table
        .columns
        .iter()
        .position(|column| !column.hidden && matches!(column.default, ColumnDefault::AutoIncrement))
}

/// A value of that column; 0 for those that are no positive integers.
fn sequence_value(value: &Value) -> u64 {
    match *value {
        Value::Int(number) => u64::try_from(number).unwrap_or(0),
        Value::UInt(number) => number,
        _ => 0,
    }
}

impl Sequence {
    /// By the session's auto_increment_increment and auto_increment_offset.
    fn of(table: &Table, increment: u64, offset: u64) -> Result<Sequence, SqlError> {
        let column = sequence_column(table);
        // An increment of 1 has no other offset than 1, and ignores it.
        let (step, offset) = match column {
            Some(_) if 1 < increment => (increment, offset),
            _ => (1, 1),
        };
        if step < offset {
            // MySQL means to ignore the offset then; InnoDB's values are neither.
            return Err(SqlError::not_supported(
                "auto_increment_offset above auto_increment_increment",
            ));
        }
        Ok(Sequence { column, step, offset, ..Sequence::default() })
    }

    /// The next of the reserved values.
    fn take_reserved(&mut self) -> Option<u64> {
        let value = aligned(self.reserved.start, self.step, self.offset)?;
        if self.reserved.end <= value {
            return None;
        }
        self.reserved.start = value + 1;
        Some(value)
    }

    /// The row at this position was inserted.
    fn inserted(&mut self, position: usize) {
        if let Some(value) = self.generated.get(&position) {
            self.first_generated.get_or_insert(*value);
        }
    }
    /// All of them were.
    fn all_inserted(&mut self) {
        if let Some(value) = self.generated.values().next() {
            self.first_generated.get_or_insert(*value);
        }
    }
}

impl Context<'_> {
    pub async fn run_insert(&mut self, plan: &InsertPlan) -> Result<Changed, Failure> {
        let mut storing = Storing::new(self.run.strict, plan.ignore);
        // One row alone is refused its NULL in any mode; of several the others are worth it.
        if matches!(&plan.source, InsertSource::Values(rows) if rows.len() == 1) {
            storing.takes_null = plan.ignore;
        }
        let mut changed = Changed::default();
        let settings = self.settings();
        let mut sequence = Sequence::of(
            &plan.table,
            settings.auto_increment_increment,
            settings.auto_increment_offset,
        )?;
        // Columns that are given no value at all and have none are found before the first row is looked at.
        for (position, column) in plan.table.columns.iter().enumerate() {
            let is_given = plan.columns.iter().any(|given| usize::from(*given) == position);
            if !is_given {
                default_value(column, storing, &self.run, &mut Vec::new())?;
            }
        }
        match &plan.source {
            InsertSource::Values(rows) => {
                sequence.row_count = rows.len();
                let mut first = 0;
                let mut pace = Pace::default();
                while first < rows.len() {
                    let most = rows.len().min(first + ROWS_PER_BATCH);
                    let mut new_rows = Vec::with_capacity(most - first);
                    let mut size = 0;
                    let mut failure = None;
                    for (position, values) in rows[first..most].iter().enumerate() {
                        if BATCH_SIZE_MAX <= size {
                            break;
                        }
                        let number = (first + position + 1) as u64;
                        let row = self
                            .values_row(
                                plan,
                                values,
                                storing,
                                number,
                                &mut sequence,
                                new_rows.len(),
                            )
                            .await;
                        let row = match row {
                            Ok(row) => row,
                            Err(own) => {
                                failure = Some(own);
                                break;
                            }
                        };
                        let own_size = row.iter().map(value_size).sum::<usize>();
                        size += own_size;
                        new_rows.push(NewRow { values: row, source: Vec::new() });
                        pace.bytes(own_size).await;
                    }
                    let last = first + new_rows.len();
                    let is_last = last == rows.len();
                    // The rows before one that fails may fail themselves.
                    sequence.wishes.retain(|(row, _)| *row < new_rows.len());
                    self.insert_rows(
                        plan,
                        new_rows,
                        first as u64 + 1,
                        is_last,
                        storing,
                        &mut sequence,
                        &mut changed,
                    )
                    .await?;
                    if let Some(failure) = failure {
                        return Err(failure);
                    }
                    first = last;
                }
            }
            InsertSource::Select(select) => {
                // All are read before the first is written, so that a table can feed itself.
                let mut collector = Collector::new(&self.budget(), None);
                self.run_select(select, &mut collector).await?;
                let rows = collector.finish()?;
                let mut pace = Pace::default();
                let total = rows.len();
                sequence.row_count = total;
                let mut done = 0;
                let mut source = rows.into_reader();
                while done < total {
                    let mut new_rows = Vec::new();
                    let mut size = 0;
                    let mut failure = None;
                    while new_rows.len() < ROWS_PER_BATCH
                        && size < BATCH_SIZE_MAX
                        && let Some(mut values) = source.next().await?
                    {
                        pace.row().await;
                        size += values.iter().map(value_size).sum::<usize>();
                        let source = values.split_off(plan.columns.len());
                        let number = (done + new_rows.len() + 1) as u64;
                        let given =
                            plan.columns.iter().map(|&column| usize::from(column)).zip(values);
                        let row = self.new_row(
                            &plan.table,
                            given,
                            storing,
                            number,
                            &mut sequence,
                            new_rows.len(),
                        );
                        match row {
                            Ok(row) => new_rows.push(NewRow { values: row, source }),
                            Err(error) => {
                                failure = Some(error);
                                break;
                            }
                        }
                    }
                    sequence.wishes.retain(|(row, _)| *row < new_rows.len());
                    let first_number = done as u64 + 1;
                    done += new_rows.len();
                    self.insert_rows(
                        plan,
                        new_rows,
                        first_number,
                        done == total,
                        storing,
                        &mut sequence,
                        &mut changed,
                    )
                    .await?;
                    if let Some(error) = failure {
                        return Err(error.into());
                    }
                }
            }
        }
        if let Some(first) = sequence.first_generated {
            // A generated value comes before one that LAST_INSERT_ID(value) was given.
            self.set_insert_id(first);
            changed.insert_id = first;
        } else if let Some(given) = self.insert_id() {
            changed.insert_id = given;
        } else if let Some(explicit) = sequence.last_explicit {
            changed.insert_id = explicit;
        }
        Ok(changed)
    }

    /// A row of VALUES.
    async fn values_row(
        &mut self,
        plan: &InsertPlan,
        values: &[InsertValue],
        storing: Storing,
        number: u64,
        sequence: &mut Sequence,
        position: usize,
    ) -> Result<Vec<Value>, Failure> {
        let table = &plan.table;
        let mut given: Vec<(usize, Value)> = Vec::with_capacity(values.len());
        for (value, &column) in values.iter().zip(&plan.columns) {
            let column = usize::from(column);
            match value {
                InsertValue::Default => {
                    let definition = &table.columns[column];
                    // Left to new_row, except that DEFAULT of an AUTO_INCREMENT column asks for a value.
                    if matches!(definition.default, ColumnDefault::AutoIncrement) {
                        given.push((column, Value::Null));
                    }
                }
                InsertValue::Expr(bound) => {
                    let value = match &bound.expr {
                        Expr::Const(value) => value.clone(),
                        Expr::Param(number) if !bound.is_local() => {
                            self.run.params[usize::from(*number)].clone()
                        }
                        _ if names_columns(self.run.plan, bound) => {
                            // Columns named in VALUES are those given before, as they are stored, else their defaults.
                            let mut row = Vec::with_capacity(table.columns.len());
                            let lenient = Storing::new(false, true);
                            for (other, definition) in table.columns.iter().enumerate() {
                                let own = given.iter().find(|(column, _)| *column == other);
                                let unsaid = &mut Vec::new();
                                row.push(match own {
                                    Some((_, Value::Null)) => Value::Null,
                                    Some((_, value)) => {
                                        let value = value.clone();
                                        store_value(
                                            value, definition, lenient, &self.run, number, unsaid,
                                        )?
                                    }
                                    None => default_value(definition, lenient, &self.run, unsaid)?,
                                });
                            }
                            self.value_of(bound, &row).await?
                        }
                        _ => self.scalar_value(bound).await?,
                    };
                    given.push((column, value));
                }
            }
        }
        Ok(self.new_row(table, given.into_iter(), storing, number, sequence, position)?)
    }

    /// A whole row of the values given and of defaults. What the sequence must fill in is noted in it.
    fn new_row(
        &mut self,
        table: &Table,
        given: impl Iterator<Item = (usize, Value)>,
        storing: Storing,
        number: u64,
        sequence: &mut Sequence,
        position: usize,
    ) -> Result<Vec<Value>, SqlError> {
        let mut row: Vec<Option<Value>> = vec![None; table.columns.len()];
        for (column, value) in given {
            let definition = &table.columns[column];
            let is_generated = sequence.column == Some(column);
            if value.is_null() {
                row[column] = Some(if is_generated {
                    sequence.wishes.push((position, Wish::Next(column)));
                    Value::Null
                } else if definition.nullable {
                    Value::Null
                } else {
                    refuse_null(definition, storing, &mut self.warnings)?
                });
                continue;
            }
            let stored =
                store_value(value, definition, storing, &self.run, number, &mut self.warnings)?;
            if is_generated {
                let explicit = sequence_value(&stored);
                let is_zero = matches!(stored, Value::Int(0) | Value::UInt(0));
                if is_zero && !self.settings().sql_mode.no_auto_value_on_zero() {
                    sequence.wishes.push((position, Wish::Next(column)));
                } else {
                    sequence.last_explicit = Some(explicit);
                    sequence.wishes.push((position, Wish::Explicit(explicit)));
                }
            }
            row[column] = Some(stored);
        }
        let mut complete = Vec::with_capacity(row.len());
        for (column, value) in row.into_iter().enumerate() {
            complete.push(match value {
                Some(value) => value,
                None => {
                    let definition = &table.columns[column];
                    if matches!(definition.default, ColumnDefault::AutoIncrement) {
                        sequence.wishes.push((position, Wish::Next(column)));
                    }
                    default_value(definition, storing, &self.run, &mut self.warnings)?
                }
            });
        }
        Ok(complete)
    }

    /// Gives the waiting rows their values, row by row, and moves the sequence above explicit ones as they come.
    async fn fill_sequence(
        &mut self,
        table: &Arc<Table>,
        rows: &mut [NewRow],
        sequence: &mut Sequence,
    ) -> Result<(), Failure> {
        let wishes = std::mem::take(&mut sequence.wishes);
        // A row that waits for two values (a hidden row id beside the AUTO_INCREMENT column) gets one for both.
        let mut waiting: BTreeSet<usize> = wishes
            .iter()
            .filter(|(_, wish)| matches!(wish, Wish::Next(_)))
            .map(|(row, _)| *row)
            .collect();
        let mut largest = 0;
        let mut given = None;
        for (row, wish) in wishes {
            let column = match wish {
                Wish::Explicit(value) => {
                    largest = largest.max(value);
                    sequence.reserved.start = sequence.reserved.start.max(value.saturating_add(1));
                    continue;
                }
                Wish::Next(column) => column,
            };
            let next = match given {
                Some((last_row, value)) if last_row == row => value,
                _ => {
                    let value = loop {
                        if let Some(value) = sequence.take_reserved() {
                            break value;
                        }
                        self.raise_sequence(table, std::mem::take(&mut largest)).await?;
                        self.reserve_values(table, waiting.len() as u64, sequence).await?;
                    };
                    waiting.remove(&row);
                    value
                }
            };
            given = Some((row, next));
            let value = generated_value(next, &table.columns[column].column_type);
            if sequence.column == Some(column) {
                sequence.generated.insert(row, sequence_value(&value));
            }
            rows[row].values[column] = value;
        }
        self.raise_sequence(table, largest).await
    }

    async fn raise_sequence(&mut self, table: &Arc<Table>, value: u64) -> Result<(), Failure> {
        if value == 0 {
            return Ok(());
        }
        let moved = self.client().auto_increment_at_least(table, value).await;
        moved.map_err(|refusal| self.refused_aside(refusal))
    }

    /// Reserves values: like InnoDB first as many as the statement has rows, which are taken to wait all; then, where rows
    /// with values of their own were above those, at least twice as many as the last time.
    async fn reserve_values(
        &mut self,
        table: &Arc<Table>,
        waiting: u64,
        sequence: &mut Sequence,
    ) -> Result<(), Failure> {
        // Of `step` values that follow each other one is the offset and a multiple of the step.
        let values = |count: u64| count.saturating_mul(sequence.step);
        let waiting = values(waiting);
        let mut count = match sequence.reservation_count {
            0 => values(sequence.row_count as u64),
            before => waiting.max(values(1 << before.min(16))),
        };
        let mut reserved = self.client().auto_increment(table, count).await;
        if waiting < count && matches!(reserved, Err(Refusal::Eval(_))) {
            // So many are not left.
            count = waiting;
            reserved = self.client().auto_increment(table, count).await;
        }
        let first = match reserved {
            Ok(first) => first,
            Err(Refusal::Eval(_)) => return Err(sequence_end().into()),
            Err(refusal) => return Err(self.refused_aside(refusal)),
        };
        sequence.reservation_count += 1;
        sequence.reserved = first..first.saturating_add(count);
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one INSERT, borrowed separately")]
    async fn insert_rows(
        &mut self,
        plan: &InsertPlan,
        mut rows: Vec<NewRow>,
        first_number: u64,
        is_last: bool,
        storing: Storing,
        sequence: &mut Sequence,
        changed: &mut Changed,
    ) -> Result<(), Failure> {
        self.check_killed()?;
        sequence.generated.clear();
        self.fill_sequence(&plan.table, &mut rows, sequence).await?;
        let mut encoded = Vec::with_capacity(rows.len());
        let mut left_out = BTreeSet::new();
        let mut pace = Pace::default();
        for (position, row) in rows.iter().enumerate() {
            if !self.passes_check(plan.check.as_ref(), &row.values, plan.ignore).await? {
                left_out.insert(position);
            }
            let row = encode(&plan.table, &plan.layout, &row.values)?;
            pace.bytes(row.len()).await;
            encoded.push(row);
        }
        changed.records += rows.len() as u64;
        let plain = matches!(plan.mode, InsertMode::Insert) && !plan.ignore;
        if plain {
            self.insert_plainly(plan, encoded, first_number, is_last, changed).await?;
            sequence.all_inserted();
            return Ok(());
        }
        // Rounds of rows that share no key, and few where what they meet may be long.
        let catalogue = self.catalogue();
        let mut round: Vec<usize> = Vec::new();
        let mut keys: BTreeSet<(usize, Vec<u8>)> = BTreeSet::new();
        for (position, row) in encoded.iter().enumerate() {
            if left_out.contains(&position) {
                continue;
            }
            let view = RowView::new(&plan.layout, row);
            let own: Vec<(usize, Vec<u8>)> = unique_indexes(&plan.table)
                .filter_map(|(number, index)| {
                    unique_key(&plan.table, index, &view).map(|key| (number, key))
                })
                .collect();
            let is_full = round.len() == keys_at_once(&plan.table);
            if is_full || own.iter().any(|key| keys.contains(key)) {
                self.insert_round(
                    plan, &catalogue, &round, &rows, &encoded, storing, sequence, changed,
                )
                .await?;
                round.clear();
                keys.clear();
            }
            round.push(position);
            keys.extend(own);
        }
        self.insert_round(plan, &catalogue, &round, &rows, &encoded, storing, sequence, changed)
            .await
    }

    async fn insert_plainly(
        &mut self,
        plan: &InsertPlan,
        rows: Vec<Vec<u8>>,
        first_number: u64,
        is_last: bool,
        changed: &mut Changed,
    ) -> Result<(), Failure> {
        let catalogue = self.catalogue();
        let mut pace = Pace::default();
        let mut first = 0;
        while first < rows.len() {
            let mut size = 0;
            let mut last = first;
            let mut batch = self.batch();
            while last < rows.len() && (last == first || size + rows[last].len() <= BATCH_SIZE_MAX)
            {
                size += rows[last].len();
                batch.ops.extend(client::insert_ops(&catalogue, &plan.table, &rows[last]));
                last += 1;
            }
            batch.commit = is_last && last == rows.len() && self.commits_with_last_request();
            pace.bytes(size).await;
            match self.client().execute(batch).await {
                Ok(result) => self.warnings.extend(result.warnings),
                Err(refusal) => {
                    let number = first_number + first as u64;
                    return Err(self
                        .write_failure(
                            refusal,
                            &plan.table,
                            &plan.layout,
                            &rows[first..last],
                            number,
                        )
                        .await);
                }
            }
            changed.affected += (last - first) as u64;
            first = last;
        }
        Ok(())
    }

    /// IGNORE, REPLACE and ON DUPLICATE KEY UPDATE for rows that share no key: locks all their keys, decides, writes.
    #[expect(clippy::too_many_arguments, reason = "the state of one INSERT, borrowed separately")]
    async fn insert_round(
        &mut self,
        plan: &InsertPlan,
        catalogue: &Arc<Catalogue>,
        round: &[usize],
        rows: &[NewRow],
        encoded: &[Vec<u8>],
        storing: Storing,
        sequence: &mut Sequence,
        changed: &mut Changed,
    ) -> Result<(), Failure> {
        if round.is_empty() {
            return Ok(());
        }
        let table = &plan.table;
        let conflicts = self.lock_keys(plan, catalogue, round, encoded).await?;
        let mut batch = self.batch();
        let mut written: Vec<Vec<u8>> = Vec::new();
        let mut size = 0;
        // An old row that one row of the round has changed is not what was read: the next one that meets it must read again.
        let mut touched: BTreeSet<Vec<u8>> = BTreeSet::new();
        for (&position, conflicts) in round.iter().zip(conflicts) {
            let new = &encoded[position];
            let is_touched = conflicts.iter().any(|(key, _, _)| touched.contains(key));
            if is_touched || BATCH_SIZE_MAX <= size {
                let batch = std::mem::replace(&mut batch, self.batch());
                self.flush(plan, batch, &written).await?;
                written.clear();
                size = 0;
            }
            if is_touched {
                touched.extend(conflicts.iter().map(|(key, _, _)| key.clone()));
                Box::pin(self.insert_round(
                    plan,
                    catalogue,
                    &[position],
                    rows,
                    encoded,
                    storing,
                    sequence,
                    changed,
                ))
                .await?;
                continue;
            }
            let Some((first_key, first_index, first_row)) = conflicts.first() else {
                batch.ops.extend(client::insert_ops(catalogue, table, new));
                size += new.len();
                written.push(new.clone());
                changed.affected += 1;
                sequence.inserted(position);
                continue;
            };
            changed.duplicates += 1;
            match &plan.mode {
                InsertMode::Insert => {
                    let view = RowView::new(&plan.layout, new);
                    let error = duplicate_error(table, table.indexes[*first_index].id, &view);
                    self.warnings.push(SqlWarning::warning(error.code, error.message));
                }
                InsertMode::Replace => {
                    // Like MySQL, which changes a row where its last unique key is taken, and deletes it where another one is:
                    // only the change finds out that the row is the same.
                    let is_last = unique_indexes(table).all(|(number, _)| number <= *first_index);
                    let old = RowView::new(&plan.layout, first_row);
                    let is_same = conflicts.len() == 1
                        && is_last
                        && is_same_row(table, &old, &rows[position].values);
                    if is_same {
                        changed.affected += 1;
                        continue;
                    }
                    let mut removed: BTreeSet<&Vec<u8>> = BTreeSet::new();
                    for (key, _, row) in &conflicts {
                        if removed.insert(key) {
                            batch.ops.extend(client::delete_ops(catalogue, table, row));
                            touched.insert(key.clone());
                            changed.affected += 1;
                        }
                    }
                    batch.ops.extend(client::insert_ops(catalogue, table, new));
                    size += new.len();
                    written.push(new.clone());
                    changed.affected += 1;
                    sequence.inserted(position);
                }
                InsertMode::Update(assignments) => {
                    // The client gets the id of the row that was there.
                    let old = RowView::new(&plan.layout, first_row);
                    sequence.last_explicit =
                        sequence.column.and_then(|column| match table.column_value(&old, column) {
                            ValueRef::Int(id) => u64::try_from(id).ok(),
                            ValueRef::UInt(id) => Some(id),
                            _ => None,
                        });
                    let replaced = self
                        .update_duplicate(plan, assignments, &rows[position], first_row, storing)
                        .await?;
                    if plan.ignore
                        && let Some(row) = &replaced
                    {
                        // What is to be written before may take a key of the row.
                        let earlier = std::mem::replace(&mut batch, self.batch());
                        self.flush(plan, earlier, &written).await?;
                        written.clear();
                        size = 0;
                        let taken = self.taken_by_another(plan, catalogue, row, first_key).await?;
                        if let Some(error) = taken {
                            self.warnings.push(SqlWarning::warning(error.code, error.message));
                            continue;
                        }
                    }
                    match replaced {
                        Some(row) => {
                            batch
                                .ops
                                .extend(client::replace_ops(catalogue, table, first_row, &row));
                            size += row.len();
                            written.push(row);
                            touched.insert(first_key.clone());
                            changed.affected += 2;
                        }
                        None => changed.affected += u64::from(self.counts_found_rows()),
                    }
                }
            }
        }
        self.flush(plan, batch, &written).await
    }

    async fn flush(
        &mut self,
        plan: &InsertPlan,
        batch: Batch,
        written: &[Vec<u8>],
    ) -> Result<(), Failure> {
        if batch.ops.is_empty() {
            return Ok(());
        }
        match self.client().execute(batch).await {
            Ok(result) => {
                self.warnings.extend(result.warnings);
                Ok(())
            }
            Err(refusal) => {
                Err(self.write_failure(refusal, &plan.table, &plan.layout, written, 1).await)
            }
        }
    }

    /// Locks every unique key of these rows. For each row, what it meets: the primary key's row first, each old row once.
    async fn lock_keys(
        &mut self,
        plan: &InsertPlan,
        catalogue: &Arc<Catalogue>,
        round: &[usize],
        encoded: &[Vec<u8>],
    ) -> Result<Vec<Vec<Conflict>>, Failure> {
        let table = &plan.table;
        let mut batch = self.batch();
        let mut asked: Vec<(usize, usize, Vec<u8>)> = Vec::new();
        for (slot, &position) in round.iter().enumerate() {
            let view = RowView::new(&plan.layout, &encoded[position]);
            for (number, index) in unique_indexes(table) {
                let Some(key) = unique_key(table, index, &view) else {
                    if number == 0 {
                        return Err(key_too_long().into());
                    }
                    continue;
                };
                let physical = match index.kind {
                    IndexKind::Unique { entries } => catalogue.table_by_id(entries),
                    _ => Some(table),
                };
                let Some(physical) = physical else { continue };
                batch.ops.push(read_exclusively(physical, key.clone()));
                asked.push((slot, number, key));
            }
        }
        let results = self.execute_batch(batch).await?;
        let mut conflicts: Vec<Vec<Conflict>> = vec![Vec::new(); round.len()];
        let mut by_entry: Vec<(usize, usize, Vec<u8>)> = Vec::new();
        for ((slot, number, key), results) in asked.into_iter().zip(results) {
            let Some(OpResult::Row(Some(found))) = results.into_iter().next() else { continue };
            if number == 0 {
                conflicts[slot].push((key, 0, found.0));
                continue;
            }
            let index = &table.indexes[number];
            let IndexKind::Unique { entries } = index.kind else {
                unreachable!("only unique ones")
            };
            let entries = catalogue.table_by_id(entries).expect("it was read just now");
            let layout = entries.row_layout();
            let key = primary_key_in_entry(table, index, &RowView::new(&layout, &found))?;
            if conflicts[slot].iter().all(|(own, _, _)| *own != key)
                && by_entry.iter().all(|(other, _, own)| *other != slot || *own != key)
            {
                by_entry.push((slot, number, key));
            }
        }
        if by_entry.is_empty() {
            return Ok(conflicts);
        }
        let mut batch = self.batch();
        batch.ops =
            by_entry.iter().map(|(_, _, key)| read_exclusively(table, key.clone())).collect();
        let results = self.execute_batch(batch).await?;
        for ((slot, number, key), results) in by_entry.into_iter().zip(results) {
            if let Some(OpResult::Row(Some(found))) = results.into_iter().next() {
                conflicts[slot].push((key, number, found.0));
            }
        }
        Ok(conflicts)
    }

    /// The old row with the assignments of ON DUPLICATE KEY UPDATE; None if nothing changes.
    async fn update_duplicate(
        &mut self,
        plan: &InsertPlan,
        assignments: &[AssignmentPlan],
        new: &NewRow,
        old: &[u8],
        storing: Storing,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let first = self.run.first_slot();
        for (position, slot) in self.run.plan.slots.iter().enumerate() {
            match slot {
                Slot::NewValue { column } => {
                    self.run.params[first + position] = new.values[usize::from(*column)].clone();
                }
                Slot::SourceValue { position: behind } => {
                    self.run.params[first + position] = new.source[usize::from(*behind)].clone();
                }
                _ => {}
            }
        }
        let view = RowView::new(&plan.layout, old);
        let mut values = owned_row(&plan.table, &view);
        let changed =
            self.assign_columns(&plan.table, assignments, &mut values, storing, 1).await?;
        let is_written =
            changed && self.passes_check(plan.check.as_ref(), &values, plan.ignore).await?;
        if !is_written {
            return Ok(None);
        }
        self.move_sequence(&plan.table, assignments, &values).await?;
        Ok(Some(encode(&plan.table, &plan.layout, &values)?))
    }
}

/// Are all columns that users see the same?
fn is_same_row(table: &Table, old: &RowView<'_>, new: &[Value]) -> bool {
    owned_row(table, old)
        .iter()
        .zip(new)
        .zip(&table.columns)
        .all(|((old, new), column)| column.hidden || old == new)
}

/// A value of the sequence as its column keeps it. Like InnoDB's counter it ends at the type's greatest value, which is then
/// given again and again: where it is taken that is error 1062.
fn generated_value(next: u64, column_type: &ColumnType) -> Value {
    match column_type {
        ColumnType::Int { width, unsigned: false } => {
            let max = width.signed_max();
            Value::Int(i64::try_from(next).map_or(max, |next| next.min(max)))
        }
        ColumnType::Int { width, unsigned: true } => Value::UInt(next.min(width.unsigned_max())),
        ColumnType::Double => Value::Double(next as f64),
        ColumnType::Float => Value::Float(next as f32),
        other => unreachable!("AUTO_INCREMENT on {other:?} is refused by CREATE TABLE"),
    }
}

/// 1467: the last value of BIGINT UNSIGNED is never given out, and nothing comes behind it.
fn sequence_end() -> SqlError {
    SqlError::new(
        code::ER_AUTOINC_READ_FAILED,
        "Failed to read auto-increment value from storage engine",
    )
}

impl Context<'_> {
    /// An UPDATE to a greater value moves the sequence.
    pub async fn move_sequence(
        &mut self,
        table: &Arc<Table>,
        assignments: &[AssignmentPlan],
        values: &[Value],
    ) -> Result<(), Failure> {
        let Some(column) = sequence_column(table) else { return Ok(()) };
        let value = sequence_value(&values[column]);
        if value == 0 || assignments.iter().all(|own| usize::from(own.column) != column) {
            return Ok(());
        }
        let moved = self.client().auto_increment_at_least(table, value).await;
        moved.map_err(|refusal| self.refused_aside(refusal))
    }

    /// IGNORE of an update: the error for a key of the changed row that another row has.
    async fn taken_by_another(
        &mut self,
        plan: &InsertPlan,
        catalogue: &Arc<Catalogue>,
        row: &[u8],
        own_key: &[u8],
    ) -> Result<Option<SqlError>, Failure> {
        let rows = [row.to_vec()];
        let conflicts = self.lock_keys(plan, catalogue, &[0], &rows).await?;
        let mut others = conflicts[0].iter().filter(|(key, _, _)| key != own_key);
        let view = RowView::new(&plan.layout, row);
        let table = &plan.table;
        Ok(others
            .next()
            .map(|(_, index, _)| duplicate_error(table, table.indexes[*index].id, &view)))
    }
}

fn unique_indexes(table: &Table) -> impl Iterator<Item = (usize, &Index)> {
    table.indexes.iter().enumerate().filter(|(_, index)| match index.kind {
        IndexKind::Primary => true,
        IndexKind::Unique { .. } => index.state.has_entries_made(),
        IndexKind::Ordinary => false,
    })
}

fn read_exclusively(table: &Table, key: Vec<u8>) -> Op {
    Op {
        table: table.id,
        version: table.version,
        kind: OpKind::Read {
            key: Bytes(key),
            lock: Lock::Exclusive,
            filter: None,
            columns: Columns::All,
        },
    }
}

/// Does the expression name columns of the row being made, itself or in what its slots are made of?
fn names_columns(plan: &Plan, bound: &Bound) -> bool {
    let mut found = rewrite::has_columns(&bound.expr);
    for slot in &bound.slots {
        plan.slots[usize::from(*slot)]
            .for_each_expr(&mut |expr| found |= rewrite::has_columns(expr));
    }
    found
}
