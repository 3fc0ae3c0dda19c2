//! AUTO_INCREMENT: values that new rows get of the table's sequence, and the sequence moved above those that rows bring.

use std::ops::Range;
use std::sync::Arc;

use client::Refusal;
use types::{ColumnDefault, ColumnType, Table, Value};

use super::{NewRow, RowChange, TableWriter};
use crate::error::{SqlError, code};
use crate::execute::{Changed, Context, Failure};
use crate::plan::AssignmentPlan;
use crate::session::variables::Settings;

/// What a new row has for AUTO_INCREMENT.
pub enum Wish {
    /// It brings this value.
    Explicit(u64),
    /// Its column of this position waits for the next one.
    Next(usize),
}

/// What a statement knows of the sequence of its table.
pub struct Sequence {
    /// The visible AUTO_INCREMENT column.
    pub column: Option<usize>,
    /// The value of the first row that was inserted with a generated one: LAST_INSERT_ID().
    first_generated: Option<u64>,
    pub last_explicit: Option<u64>,
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

impl Default for Sequence {
    fn default() -> Sequence {
        Sequence {
            column: None,
            first_generated: None,
            last_explicit: None,
            row_count: 0,
            reserved: 0..0,
            reservation_count: 0,
            step: 1,
            offset: 1,
        }
    }
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
pub fn sequence_value(value: &Value) -> u64 {
    match *value {
        Value::Int(number) => u64::try_from(number).unwrap_or(0),
        Value::UInt(number) => number,
        _ => 0,
    }
}

/// The value that a row has for that column.
pub fn value_in(table: &Table, values: &[Value]) -> u64 {
    sequence_column(table).map_or(0, |column| sequence_value(&values[column]))
}

/// Do assignments give that column a value?
pub fn is_assigned<'a>(
    table: &Table,
    assignments: impl IntoIterator<Item = &'a AssignmentPlan>,
) -> bool {
    let column = sequence_column(table);
    let mut assignments = assignments.into_iter();
    assignments.any(|assignment| column == Some(usize::from(assignment.column)))
}

/// A row is written with this value: later ones are above it. 0 is no value.
pub async fn raise(
    context: &mut Context<'_>,
    table: &Arc<Table>,
    value: u64,
) -> Result<(), Failure> {
    if value == 0 {
        return Ok(());
    }
    let moved = context.client().auto_increment_at_least(table, value).await;
    moved.map_err(|refusal| context.refused_aside(refusal))
}

impl Sequence {
    /// By the session's auto_increment_increment and auto_increment_offset.
    pub fn of(table: &Table, settings: &Settings) -> Result<Sequence, SqlError> {
        let (increment, offset) =
            (settings.auto_increment_increment, settings.auto_increment_offset);
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

    /// Notes a value that a new row brings for the visible column; NULL, and as a rule 0, ask for the next one.
    pub fn wish(&mut self, column: usize, value: &Value, takes_zero: bool) -> Wish {
        let is_zero = matches!(value, Value::Int(0) | Value::UInt(0));
        if value.is_null() || is_zero && !takes_zero {
            return Wish::Next(column);
        }
        let explicit = sequence_value(value);
        self.last_explicit = Some(explicit);
        Wish::Explicit(explicit)
    }

    /// The row is written.
    pub fn inserted(&mut self, row: &NewRow) {
        if let Some(value) = row.generated {
            self.first_generated.get_or_insert(value);
        }
    }
}

impl TableWriter<'_> {
    /// The statement has so many rows, which are taken to wait all.
    pub fn expect_rows(&mut self, count: usize) {
        self.sequence.row_count = count;
    }

    /// Ends an INSERT: its counts, and its id for LAST_INSERT_ID().
    pub fn finish_insert(self, context: &mut Context<'_>) -> Changed {
        let mut changed = Changed { copied: self.copied, ..self.changed };
        if let Some(first) = self.sequence.first_generated {
            // A generated value comes before one that LAST_INSERT_ID(value) was given.
            context.set_insert_id(first);
            changed.insert_id = first;
        } else if let Some(given) = context.insert_id() {
            changed.insert_id = given;
        } else if let Some(explicit) = self.sequence.last_explicit
            && 0 < self.copied
        {
            changed.insert_id = explicit;
        }
        if self.ignore {
            changed.duplicates = changed.records - self.copied;
        }
        changed
    }

    /// Gives the waiting rows their values, row by row, and moves the sequence above explicit ones as they come.
    pub(super) async fn fill_sequence(
        &mut self,
        context: &mut Context<'_>,
        changes: &mut [RowChange],
    ) -> Result<(), Failure> {
        let waits = |row: &NewRow| row.wishes.iter().any(|wish| matches!(wish, Wish::Next(_)));
        let mut rows: Vec<&mut NewRow> = changes
            .iter_mut()
            .filter_map(|change| change.new.as_mut())
            .filter(|row| !row.wishes.is_empty())
            .collect();
        let mut waiting = rows.iter().filter(|row| waits(row)).count() as u64;
        let mut largest = 0;
        for row in &mut rows {
            // A row that waits for two values (a hidden row id beside the AUTO_INCREMENT column) gets one for both.
            let mut given = None;
            for wish in std::mem::take(&mut row.wishes) {
                let column = match wish {
                    Wish::Explicit(value) => {
                        largest = largest.max(value);
                        let reserved = &mut self.sequence.reserved;
                        reserved.start = reserved.start.max(value.saturating_add(1));
                        continue;
                    }
                    Wish::Next(column) => column,
                };
                let next = match given {
                    Some(value) => value,
                    None => {
                        let value = self.next_value(context, waiting, &mut largest).await?;
                        waiting -= 1;
                        value
                    }
                };
                given = Some(next);
                let value = generated_value(next, &self.table.columns[column].column_type);
                if self.sequence.column == Some(column) {
                    row.generated = Some(sequence_value(&value));
                }
                row.values[column] = value;
            }
        }
        raise(context, self.table, largest).await
    }

    /// The next value. `waiting` rows are without one; `largest` is the greatest explicit one that the sequence is not above.
    async fn next_value(
        &mut self,
        context: &mut Context<'_>,
        waiting: u64,
        largest: &mut u64,
    ) -> Result<u64, Failure> {
        loop {
            if let Some(value) = self.sequence.take_reserved() {
                return Ok(value);
            }
            raise(context, self.table, std::mem::take(largest)).await?;
            Box::pin(self.reserve_values(context, waiting)).await?;
        }
    }

    /// Reserves values: like InnoDB first as many as the statement has rows, which are taken to wait all; then, where rows
    /// with values of their own were above those, at least twice as many as the last time.
    async fn reserve_values(
        &mut self,
        context: &mut Context<'_>,
        waiting: u64,
    ) -> Result<(), Failure> {
        let sequence = &mut self.sequence;
        // Of `step` values that follow each other one is the offset and a multiple of the step.
        let values = |count: u64| count.saturating_mul(sequence.step);
        let waiting = values(waiting);
        let mut count = match sequence.reservation_count {
            0 => values(sequence.row_count as u64),
            before => waiting.max(values(1 << before.min(16))),
        };
        let mut reserved = context.client().auto_increment(self.table, count).await;
        if waiting < count && matches!(reserved, Err(Refusal::Eval(_))) {
            // So many are not left.
            count = waiting;
            reserved = context.client().auto_increment(self.table, count).await;
        }
        let first = match reserved {
            Ok(first) => first,
            Err(Refusal::Eval(_)) => return Err(sequence_end().into()),
            Err(refusal) => return Err(context.refused_aside(refusal)),
        };
        sequence.reservation_count += 1;
        sequence.reserved = first..first.saturating_add(count);
        Ok(())
    }
}

/// A value of the sequence as its column keeps it. Like InnoDB's counter it ends at the type's greatest value, which is then
/// given again and again: where it is taken that is error 1062.
pub fn generated_value(next: u64, column_type: &ColumnType) -> Value {
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
