//! Values of rows that are made: stored into columns with MySQL's checks, NOT NULL, defaults, ON UPDATE CURRENT_TIMESTAMP.

use types::convert::{
    ConvertError, ConvertErrorKind, SqlWarning, StoreMode, WarningLevel, store_displayed,
};
use types::expr::Columns;
use types::{Column, ColumnDefault, ColumnType, LabelKind, Table, Value};

use super::rules::value_before;
use super::sequence::generated_value;
use super::{NewRow, TableWriter, Wish};
use crate::error::SqlError;
use crate::execute::evaluate::shifted;
use crate::execute::{Context, Failure, Run};
use crate::plan::{AssignedValue, AssignmentPlan};

/// How values are stored by this statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storing {
    pub mode: StoreMode,
    /// NULL for a NOT NULL column becomes its implicit default, with a warning.
    pub takes_null: bool,
}

impl Storing {
    /// `ignore`: IGNORE was written, so that errors of single values are warnings.
    pub fn new(strict: bool, ignore: bool) -> Storing {
        let lenient = ignore || !strict;
        let mode = if lenient { StoreMode::Lenient } else { StoreMode::Strict };
        Storing { mode, takes_null: lenient }
    }
}

/// A value as its column keeps it: the same, not copied, if it is one already. `row_number` counts from 1, for messages. NULL is the
/// caller's question.
pub fn store_value(
    value: Value,
    table: &Table,
    position: usize,
    storing: Storing,
    run: &Run<'_>,
    row_number: u64,
    warnings: &mut Vec<SqlWarning>,
) -> Result<Value, SqlError> {
    let column = &table.columns[position];
    // The kinds that need no look at the context: most values of most statements.
    let value = match (value, &column.column_type) {
        (Value::Int(number), ColumnType::Int { width, unsigned: false })
            if width.signed_min() <= number && number <= width.signed_max() =>
        {
            return Ok(Value::Int(number));
        }
        // As many bytes of UTF-8 are as many characters or bytes of another character set at most.
        (
            Value::Text(text, _),
            ColumnType::Varchar { length: max, collation }
            | ColumnType::Text { bytes_max: max, collation },
        ) if text.len() <= *max as usize && collation.charset().holds(&text) => {
            return Ok(Value::Text(text, *collation));
        }
        (
            Value::Bytes(bytes),
            ColumnType::Varbinary { length: max } | ColumnType::Blob { bytes_max: max },
        ) if bytes.len() <= *max as usize => return Ok(Value::Bytes(bytes)),
        (
            Value::Text(text, collation),
            ColumnType::Varbinary { length: max } | ColumnType::Blob { bytes_max: max },
        ) if text.len() <= *max as usize && collation.charset().is_unicode() => {
            return Ok(Value::Bytes(text.into_boxed_bytes()));
        }
        (value, _) => value,
    };
    let mut context = run.context();
    context.convert.strict = false;
    let convert = &mut context.convert;
    let (column_type, display) = (&column.column_type, column.display);
    let stored = store_displayed(value.as_ref(), column_type, display, storing.mode, convert);
    let (stored, problem) = match stored {
        Ok(stored) => stored,
        // Zero dates are refused by their own modes, not by strictness alone.
        Err(error) => {
            return Err(store_error(&error, &table.name, &column.name, row_number));
        }
    };
    if let Some(problem) = problem {
        let silent = matches!(problem.kind, ConvertErrorKind::Truncated)
            && problem.level == WarningLevel::Note
            && !matches!(
                column.column_type,
                ColumnType::Decimal { .. }
                    | ColumnType::Varchar { .. }
                    | ColumnType::Date
                    | ColumnType::Time { .. }
            );
        if !silent {
            warnings.push(problem.to_warning(&column.name, row_number));
        }
    }
    Ok(match (stored, &column.column_type) {
        (Value::DateTime(local), ColumnType::Timestamp { .. }) if !local.is_zero() => {
            Value::DateTime(shifted(local, -run.time_zone_offset_seconds))
        }
        (stored, _) => stored,
    })
}

/// The error of a value that does not fit its column. MySQL names the table where the value is no JSON text.
pub fn store_error(error: &ConvertError, table: &str, column: &str, row_number: u64) -> SqlError {
    let message = match error.kind {
        ConvertErrorKind::InvalidJson => error.message(&format!("{table}.{column}"), row_number),
        _ => error.message(column, row_number),
    };
    SqlError::new(error.code(), message)
}

/// The default of an ENUM that takes no NULL is its first label, in strict mode, too.
fn is_enum(column: &Column) -> bool {
    matches!(&column.column_type, ColumnType::Labelled(labels) if labels.kind() == LabelKind::Enum)
}

/// The value of a column without one; of one that is computed, the value before.
pub fn default_value(
    column: &Column,
    storing: Storing,
    run: &Run<'_>,
    warnings: &mut Vec<SqlWarning>,
) -> Result<Value, SqlError> {
    match &column.default {
        _ if column.generated.is_some() => Ok(value_before(column)),
        ColumnDefault::Expression(_) => Ok(value_before(column)),
        ColumnDefault::Value(value) => Ok(value.clone()),
        ColumnDefault::Now => Ok(now_value(column, run)),
        // The caller fills it in.
        ColumnDefault::AutoIncrement => Ok(Value::Null),
        ColumnDefault::None if column.nullable => Ok(Value::Null),
        ColumnDefault::None if is_enum(column) => {
            Ok(column.column_type.implicit_default().to_value())
        }
        ColumnDefault::None => {
            if storing.mode == StoreMode::Strict {
                return Err(SqlError::no_default(&column.name));
            }
            let error = SqlError::no_default(&column.name);
            warnings.push(SqlWarning::warning(error.code, error.message));
            Ok(column.column_type.implicit_default().to_value())
        }
    }
}

/// CURRENT_TIMESTAMP for a column: in its precision, and in UTC if it is a TIMESTAMP.
pub fn now_value(column: &Column, run: &Run<'_>) -> Value {
    let local = run.now.truncate(column.column_type.fsp());
    Value::DateTime(match column.column_type {
        ColumnType::Timestamp { .. } => shifted(local, -run.time_zone_offset_seconds),
        _ => local,
    })
}

/// NULL for a NOT NULL column: an error, or with IGNORE its implicit default and a warning.
pub fn refuse_null(
    column: &Column,
    storing: Storing,
    warnings: &mut Vec<SqlWarning>,
) -> Result<Value, SqlError> {
    let error = SqlError::column_cannot_be_null(&column.name);
    if !storing.takes_null {
        return Err(error);
    }
    warnings.push(SqlWarning::warning(error.code, error.message));
    Ok(column.column_type.implicit_default().to_value())
}

impl Context<'_> {
    /// Does the assignments to a row, each seeing those before it; or with values that are computed on another row. True if a
    /// column got another value: then those with ON UPDATE CURRENT_TIMESTAMP have theirs.
    pub async fn assign_columns<R: Columns + ?Sized>(
        &mut self,
        table: &Table,
        assignments: &[AssignmentPlan],
        other: Option<&R>,
        values: &mut Vec<Value>,
        storing: Storing,
        row_number: u64,
    ) -> Result<bool, Failure> {
        let mut differs = false;
        for assignment in assignments {
            let value = match (&assignment.value, other) {
                (AssignedValue::Default, _) => None,
                (AssignedValue::Expr(bound), None) => Some(self.value_of(bound, &*values).await?),
                (AssignedValue::Expr(bound), Some(row)) => Some(self.value_of(bound, row).await?),
            };
            differs |= self.assign(table, assignment.column, value, values, storing, row_number)?;
        }
        if differs {
            self.assign_now(table, assignments, values);
        }
        Ok(differs)
    }

    /// Gives a column a value, or its default. True if it is another one.
    fn assign(
        &mut self,
        table: &Table,
        column: u16,
        value: Option<Value>,
        values: &mut [Value],
        storing: Storing,
        row_number: u64,
    ) -> Result<bool, SqlError> {
        let position = usize::from(column);
        let column = &table.columns[position];
        let (run, warnings) = (&self.run, &mut self.warnings);
        let value = match value {
            None if matches!(column.default, ColumnDefault::AutoIncrement) => {
                generated_value(0, &column.column_type)
            }
            None => default_value(column, storing, run, warnings)?,
            Some(Value::Null) => Value::Null,
            Some(value) => store_value(value, table, position, storing, run, row_number, warnings)?,
        };
        let value = if value.is_null() && !column.nullable {
            refuse_null(column, storing, warnings)?
        } else {
            value
        };
        let differs = !is_same(&values[position], &value);
        values[position] = value;
        Ok(differs)
    }

    /// ON UPDATE CURRENT_TIMESTAMP of the columns that no assignment names.
    fn assign_now(&self, table: &Table, assignments: &[AssignmentPlan], values: &mut [Value]) {
        for (position, column) in table.columns.iter().enumerate() {
            let assigned = assignments.iter().any(|own| usize::from(own.column) == position);
            if column.on_update_now && !assigned {
                values[position] = now_value(column, &self.run);
            }
        }
    }
}

/// Byte for byte the same: 'a' to 'A' is a change whatever the collation.
fn is_same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Text(old, _), Value::Text(new, _)) => old == new,
        _ => old == new,
    }
}

/// A new row while its statement gives values to its columns.
pub struct RowDraft {
    /// As columns keep them. `None` for a column that is given no value; NULL for the AUTO_INCREMENT column asks for one.
    values: Vec<Option<Value>>,
}

impl RowDraft {
    pub fn new(table: &Table) -> RowDraft {
        RowDraft { values: vec![None; table.columns.len()] }
    }
    /// Gives a column a value that it can keep.
    pub fn put(&mut self, column: usize, value: Value) {
        self.values[column] = Some(value);
    }
    /// The column is given no value after all.
    pub fn take_back(&mut self, column: usize) {
        self.values[column] = None;
    }
    /// What expressions see of the row: the values that columns were given, and the defaults of the others.
    pub fn seen(&self, table: &Table, run: &Run<'_>) -> Result<Vec<Value>, SqlError> {
        let lenient = Storing::new(false, true);
        let columns = self.values.iter().zip(&table.columns);
        let seen = columns.map(|(value, column)| match value {
            Some(Value::Null) | None if is_sequence(column) => Ok(value_before(column)),
            Some(value) => Ok(value.clone()),
            None => default_value(column, lenient, run, &mut Vec::new()),
        });
        seen.collect()
    }
}

fn is_sequence(column: &Column) -> bool {
    matches!(column.default, ColumnDefault::AutoIncrement)
}

impl TableWriter<'_> {
    /// Stores a value into a column of a new row. `number` of the row counts from 1, for messages.
    pub fn give(
        &self,
        context: &mut Context<'_>,
        draft: &mut RowDraft,
        (column, value): (usize, Value),
        number: u64,
    ) -> Result<(), SqlError> {
        let (run, warnings) = (&context.run, &mut context.warnings);
        let (table, storing) = (self.table, self.storing);
        let definition = &table.columns[column];
        let takes_null = definition.nullable || self.sequence.column == Some(column);
        let value = match value {
            Value::Null if takes_null => Value::Null,
            Value::Null => refuse_null(definition, storing, warnings)?,
            value => store_value(value, table, column, storing, run, number, warnings)?,
        };
        draft.put(column, value);
        Ok(())
    }

    /// A whole row of the values given, and of defaults.
    pub fn complete(
        &mut self,
        context: &mut Context<'_>,
        draft: RowDraft,
    ) -> Result<NewRow, SqlError> {
        let takes_zero = context.settings().sql_mode.no_auto_value_on_zero();
        let (run, warnings) = (&context.run, &mut context.warnings);
        let mut new = NewRow::default();
        new.values.reserve(draft.values.len());
        for (column, value) in draft.values.into_iter().enumerate() {
            let definition = &self.table.columns[column];
            if value.is_none() && matches!(definition.default, ColumnDefault::Expression(_)) {
                new.unset.push(u16::try_from(column).expect("tables are narrow"));
            }
            if let Some(value) = &value
                && self.sequence.column == Some(column)
            {
                new.wishes.push(self.sequence.wish(column, value, takes_zero));
            }
            new.values.push(match value {
                Some(Value::Null) if self.sequence.column == Some(column) => {
                    generated_value(0, &definition.column_type)
                }
                Some(value) => value,
                None if is_sequence(definition) => {
                    new.wishes.push(Wish::Next(column));
                    generated_value(0, &definition.column_type)
                }
                None => default_value(definition, self.storing, run, warnings)?,
            });
        }
        Ok(new)
    }

    /// A whole row of the values given, by position of their columns, and of defaults. `number` counts from 1, for messages.
    pub fn new_row(
        &mut self,
        context: &mut Context<'_>,
        given: impl Iterator<Item = (usize, Value)>,
        number: u64,
    ) -> Result<NewRow, SqlError> {
        let mut draft = RowDraft::new(self.table);
        for value in given {
            self.give(context, &mut draft, value, number)?;
        }
        self.complete(context, draft)
    }
}
