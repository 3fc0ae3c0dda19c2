//! Making rows: values stored into columns with MySQL's checks, defaults, keys that fit, and the errors for taken ones.

use std::sync::Arc;

use client::{Columns, Lock, Op, OpKind, OpResult, Refusal};
use types::convert::{ConvertErrorKind, SqlWarning, StoreMode, WarningLevel, store, to_text};
use types::row::RowError;
use types::wire::Bytes;
use types::{
    Catalogue, Column, ColumnDefault, ColumnType, Index, IndexId, IndexKind, RowLayout, RowView,
    Table, TableId, Value, ValueRef, key,
};

use super::{Context, Failure, Run};
use crate::error::{SqlError, code};
use crate::plan::RowCheck;

/// Rows and bytes of one batch of writes: a tenth of a millisecond here and where the rows are, which others wait behind.
pub const ROWS_PER_BATCH: usize = 64;
pub const BATCH_SIZE_MAX: usize = 1 << 20;

pub fn key_too_long() -> SqlError {
    SqlError::new(code::ER_TOO_LONG_KEY, "Specified key was too long; max key length is 3072 bytes")
}

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
    column: &Column,
    storing: Storing,
    run: &Run<'_>,
    row_number: u64,
    warnings: &mut Vec<SqlWarning>,
) -> Result<Value, SqlError> {
    // The kinds that need no look at the context: most values of most statements.
    let value = match (value, &column.column_type) {
        (Value::Int(number), ColumnType::Int { width, unsigned: false })
            if width.signed_min() <= number && number <= width.signed_max() =>
        {
            return Ok(Value::Int(number));
        }
        // As many bytes are as many characters at most.
        (
            Value::Text(text, _),
            ColumnType::Varchar { length: max, collation }
            | ColumnType::Text { bytes_max: max, collation },
        ) if text.len() <= *max as usize => return Ok(Value::Text(text, *collation)),
        (
            Value::Bytes(bytes),
            ColumnType::Varbinary { length: max } | ColumnType::Blob { bytes_max: max },
        ) if bytes.len() <= *max as usize => return Ok(Value::Bytes(bytes)),
        (
            Value::Text(text, _),
            ColumnType::Varbinary { length: max } | ColumnType::Blob { bytes_max: max },
        ) if text.len() <= *max as usize => return Ok(Value::Bytes(text.into_boxed_bytes())),
        (value, _) => value,
    };
    let mut context = run.context();
    context.convert.strict = false;
    let stored = store(value.as_ref(), &column.column_type, storing.mode, &mut context.convert);
    let (stored, problem) = match stored {
        Ok(stored) => stored,
        // Zero dates are refused by their own modes, not by strictness alone.
        Err(error) => {
            return Err(SqlError::new(error.code(), error.message(&column.name, row_number)));
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
            Value::DateTime(super::evaluate::shifted(local, -run.time_zone_offset_seconds))
        }
        (stored, _) => stored,
    })
}

/// The value of a column without one.
pub fn default_value(
    column: &Column,
    storing: Storing,
    run: &Run<'_>,
    warnings: &mut Vec<SqlWarning>,
) -> Result<Value, SqlError> {
    match &column.default {
        ColumnDefault::Value(value) => Ok(value.clone()),
        ColumnDefault::Now => Ok(now_value(column, run)),
        // The caller fills it in.
        ColumnDefault::AutoIncrement => Ok(Value::Null),
        ColumnDefault::None if column.nullable => Ok(Value::Null),
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
        ColumnType::Timestamp { .. } => {
            super::evaluate::shifted(local, -run.time_zone_offset_seconds)
        }
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

/// Encodes a row and checks that its keys can be encoded too.
pub fn encode(table: &Table, layout: &RowLayout, values: &[Value]) -> Result<Vec<u8>, SqlError> {
    let refs: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
    let row = types::row::encode_row(layout, &refs).map_err(|error| match error {
        RowError::TooLarge => SqlError::new(
            code::ER_TOO_BIG_ROWSIZE,
            format!(
                "Row size too large. The maximum row size for the used table type is {} bytes",
                types::row::ROW_SIZE_MAX
            ),
        ),
        RowError::Damaged(what) => unreachable!("a new row is not damaged: {what}"),
    })?;
    // A sort key takes a few bytes a character at most: rows this small have no long key.
    if key::KEY_SIZE_MAX / 8 < row.len() {
        let view = RowView::new(layout, &row);
        let mut out = Vec::new();
        for index in &table.indexes {
            out.clear();
            key::index_entry_key(table, index, &view, &mut out).map_err(|_| key_too_long())?;
        }
    }
    Ok(row)
}

/// The text of a key in "Duplicate entry '...'": its values joined by '-', NULL as NULL, at most 64 characters or so.
pub fn entry_text(table: &Table, index: &Index, view: &RowView<'_>) -> String {
    let values: Vec<String> = index
        .parts
        .iter()
        .map(|part| {
            let value = table.column_value(view, usize::from(part.column));
            let column_type = &table.columns[usize::from(part.column)].column_type;
            match (value, column_type) {
                (ValueRef::Null, _) => "NULL".to_string(),
                (ValueRef::DateTime(value), _) => value.format(column_type.fsp()),
                (ValueRef::Time(value), _) => value.format(column_type.fsp()),
                (ValueRef::Bytes(bytes), _) => String::from_utf8_lossy(bytes).into_owned(),
                (value, _) => to_text(value).into_owned(),
            }
        })
        .collect();
    values.join("-").chars().take(64).collect()
}

/// An index's name; those on their way out carry a mark before it.
pub fn shown_name(index: &Index) -> &str {
    index.name.trim_start_matches('#')
}

/// Error 1062 for a row that met a taken key.
pub fn duplicate_error(table: &Table, index: IndexId, view: &RowView<'_>) -> SqlError {
    let index = table.index(index).unwrap_or(table.primary_key());
    SqlError::duplicate_entry(
        &entry_text(table, index, view),
        &format!("{}.{}", table.name, shown_name(index)),
    )
}

impl Context<'_> {
    /// WITH CHECK OPTION: 1369 for a row that the view would not show.
    pub async fn check_row(
        &mut self,
        check: Option<&RowCheck>,
        values: &Vec<Value>,
    ) -> Result<(), Failure> {
        let Some(check) = check else { return Ok(()) };
        if self.all_hold(&check.terms, values).await? {
            return Ok(());
        }
        let message = format!("CHECK OPTION failed '{}'", check.view);
        Err(SqlError::new(code::ER_VIEW_CHECK_FAILED, message).into())
    }

    /// The same; with IGNORE a warning. False if the row is left as it is.
    pub async fn passes_check(
        &mut self,
        check: Option<&RowCheck>,
        values: &Vec<Value>,
        ignore: bool,
    ) -> Result<bool, Failure> {
        match self.check_row(check, values).await {
            Ok(()) => Ok(true),
            Err(Failure { error, .. }) if ignore && error.code == code::ER_VIEW_CHECK_FAILED => {
                self.warnings.push(SqlWarning::warning(error.code, error.message));
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    }

    /// The failure for a refused batch of new rows: finds out which row's key was taken.
    pub async fn write_failure(
        &mut self,
        refusal: Refusal,
        table: &Arc<Table>,
        layout: &RowLayout,
        rows: &[Vec<u8>],
        first_row_number: u64,
    ) -> Failure {
        let catalogue = self.catalogue();
        let taken = match &refusal {
            Refusal::DuplicateKey { table, index } => Some((*table, *index)),
            _ => None,
        };
        let column = match &refusal {
            Refusal::Store { column, error } => Some((*column, error.clone())),
            _ => None,
        };
        let null = match &refusal {
            Refusal::NotNull { column } => table.columns.get(usize::from(*column)),
            _ => None,
        };
        let mut failure = Failure::refused(refusal, &catalogue);
        if let Some(column) = null {
            failure.error = SqlError::column_cannot_be_null(&column.name);
        }
        if let Some((column, error)) = column
            && let Some(column) = table.columns.get(usize::from(column))
        {
            failure.error =
                SqlError::new(error.code(), error.message(&column.name, first_row_number));
        }
        if let Some((physical, index)) = taken {
            match self.taken_key(&catalogue, physical, index, table, layout, rows).await {
                Ok(Some(error)) => failure.error = error,
                Ok(None) => {}
                // That the transaction is gone is worth more than which key was taken.
                Err(refusal) if refusal.ends_transaction() => failure = self.refused(refusal),
                Err(_) => {}
            }
        }
        failure
    }

    async fn taken_key(
        &mut self,
        catalogue: &Catalogue,
        physical: TableId,
        index: IndexId,
        table: &Arc<Table>,
        layout: &RowLayout,
        rows: &[Vec<u8>],
    ) -> Result<Option<SqlError>, Refusal> {
        let known = client::duplicate_of(catalogue, physical, index)
            .and_then(|(_, index)| Some((index, table.index(index)?)));
        let Some((index, definition)) = known else { return Ok(None) };
        let keys: Vec<Option<Vec<u8>>> = rows
            .iter()
            .map(|row| unique_key(table, definition, &RowView::new(layout, row)))
            .collect();
        let position = if rows.len() == 1 {
            Some(0)
        } else {
            // Twice in the statement itself?
            let mut seen = std::collections::BTreeSet::new();
            let own = keys.iter().position(|key| key.as_ref().is_some_and(|key| !seen.insert(key)));
            match own {
                Some(position) => Some(position),
                None => self.first_present(catalogue, physical, &keys).await?,
            }
        };
        let view = position.map(|position| RowView::new(layout, &rows[position]));
        Ok(view.map(|view| duplicate_error(table, index, &view)))
    }

    /// The first of the keys that is in the table.
    async fn first_present(
        &mut self,
        catalogue: &Catalogue,
        physical: TableId,
        keys: &[Option<Vec<u8>>],
    ) -> Result<Option<usize>, Refusal> {
        let Some(physical) = catalogue.table_by_id(physical) else { return Ok(None) };
        let mut batch = client::Batch { commit: self.ends_with_statement(), ..Default::default() };
        let mut positions = Vec::new();
        for (position, key) in keys.iter().enumerate() {
            let Some(key) = key else { continue };
            positions.push(position);
            batch.ops.push(Op {
                table: physical.id,
                version: physical.version,
                kind: OpKind::Read {
                    key: Bytes(key.clone()),
                    lock: Lock::None,
                    filter: None,
                    columns: Columns::Only(Vec::new()),
                },
            });
        }
        let result = self.client().execute(batch).await?;
        let found = result
            .results
            .iter()
            .position(|results| matches!(results.as_slice(), [OpResult::Row(Some(_))]));
        Ok(found.and_then(|found| positions.get(found).copied()))
    }
}

/// The key by which a row is unique in an index: its primary key, or its entry's key; None if it has none (a NULL).
pub fn unique_key(table: &Table, index: &Index, view: &RowView<'_>) -> Option<Vec<u8>> {
    match index.kind {
        IndexKind::Primary => key::primary_key_of_row(table, view).ok(),
        IndexKind::Unique { .. } => client::unique_entry_key(table, index, view),
        IndexKind::Ordinary => None,
    }
}
