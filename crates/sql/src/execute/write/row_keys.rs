//! Encoded rows and their keys: keys that fit, keys by which rows are unique, and the error for a taken one.

use types::convert::to_text;
use types::row::RowError;
use types::{Column, Index, IndexId, IndexKind, RowLayout, RowView, Table, Value, ValueRef, key};

use crate::error::{SqlError, code};
use crate::plan::AssignmentPlan;

pub fn key_too_long() -> SqlError {
    SqlError::new(code::ER_TOO_LONG_KEY, "Specified key was too long; max key length is 3072 bytes")
}

pub fn row_too_large() -> SqlError {
    let most = types::row::ROW_SIZE_MAX;
    let message =
        format!("Row size too large. The maximum row size for the used table type is {most} bytes");
    SqlError::new(code::ER_TOO_BIG_ROWSIZE, message)
}

/// Encodes a row and checks that its keys can be encoded too.
pub fn encode(table: &Table, layout: &RowLayout, values: &[Value]) -> Result<Vec<u8>, SqlError> {
    let refs: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
    let row = types::row::encode_row(layout, &refs).map_err(|error| match error {
        RowError::TooLarge => row_too_large(),
        RowError::Damaged(what) => unreachable!("a new row is not damaged: {what}"),
    })?;
    key::check_keys(table, &RowView::new(layout, &row)).map_err(|_| key_too_long())?;
    Ok(row)
}

/// The text of a key in "Duplicate entry '...'": its values joined by '-', NULL as NULL, at most 64 characters or so.
pub fn entry_text(table: &Table, index: &Index, view: &RowView<'_>) -> String {
    joined_entry(index.parts.iter().map(|part| {
        let column = usize::from(part.column);
        (view.get(column), &table.columns[column])
    }))
}

/// The same for the values of a key and their columns.
pub fn joined_entry<'v>(values: impl Iterator<Item = (ValueRef<'v>, &'v Column)>) -> String {
    let values: Vec<String> = values
        .map(|(value, column)| {
            let column_type = &column.column_type;
            if let Some(text) = column.display.text(value, column_type) {
                return text;
            }
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

/// The key by which a row is unique in an index: its primary key, or its entry's key; None if it has none (a NULL).
pub fn unique_key(table: &Table, index: &Index, view: &RowView<'_>) -> Option<Vec<u8>> {
    match index.kind {
        IndexKind::Primary => key::primary_key_of_row(table, view).ok(),
        IndexKind::Unique { .. } => client::unique_entry_key(table, index, view),
        IndexKind::Ordinary => None,
    }
}

/// The indexes by which rows of the table are unique, with their positions; the primary key first.
pub fn unique_indexes(table: &Table) -> impl Iterator<Item = (usize, &Index)> {
    table.indexes.iter().enumerate().filter(|(_, index)| match index.kind {
        IndexKind::Primary => true,
        IndexKind::Unique { .. } => index.state.has_entries_made(),
        IndexKind::Ordinary => false,
    })
}

/// May a row that gets these values have another key by which rows are unique?
pub fn changes_unique_key<'a>(
    table: &Table,
    assignments: impl IntoIterator<Item = &'a AssignmentPlan, IntoIter: Clone>,
) -> bool {
    let assignments = assignments.into_iter();
    let is_written = |column: u16| {
        let definition = &table.columns[usize::from(column)];
        definition.on_update_now
            || definition.generated.is_some()
            || assignments.clone().any(|assignment| assignment.column == column)
    };
    let mut unique = table.indexes.iter().filter(|index| index.kind != IndexKind::Ordinary);
    unique.any(|index| index.parts.iter().any(|part| is_written(part.column)))
}
