//! The copy of a table that ALTER TABLE rewrites: each change of a row is a change of its copy, too, in the same transaction
//! (decision 31).
//!
//! A row that the new definition does not take is refused by the rules of the mode that the statement has, as it will be when the
//! statement has ended. What it finds may be a row that has no copy, because it was not copied yet or cannot be.

use std::sync::Arc;

use client::{Op, Refusal};
use types::convert::{ConvertContext, SqlWarning, declared_text, number_to_text, to_integer};
use types::{
    Catalogue, Collation, Column, ColumnSource, ColumnType, CopyState, RowLayout, RowView, Table,
    TableCopy, Value, ValueRef,
};

use super::{NewRow, RowChange, Storing, row_keys, store_value};
use crate::bind::Binder;
use crate::error::{SqlError, code};
use crate::execute::rows::owned_row;
use crate::execute::{Context, Failure};
use crate::plan::RowRules;
use crate::server::BrokenRule;

/// Makes the copies of a table's rows.
pub struct RowCopier {
    /// The copy, under the name of the table.
    pub table: Arc<Table>,
    pub layout: RowLayout,
    state: CopyState,
    sources: Vec<ColumnSource>,
    storing: Storing,
    rules: RowRules,
}

impl Context<'_> {
    /// None for a table that nothing rewrites.
    pub fn row_copier(&mut self, table: &Table) -> Result<Option<RowCopier>, SqlError> {
        let Some(copy) = &table.rewriting.copy else { return Ok(None) };
        if self.breaks(BrokenRule::CopyNotKept)
            || (self.breaks(BrokenRule::CopyLeftBehind) && copy.state == CopyState::DeleteOnly)
        {
            return Ok(None);
        }
        self.new_copier(table, copy).map(Some)
    }

    /// The same whatever rule is broken.
    pub fn new_copier(&self, table: &Table, copy: &TableCopy) -> Result<RowCopier, SqlError> {
        let catalogue = self.catalogue();
        let own = catalogue.table_by_id(copy.table).ok_or_else(SqlError::definition_changed)?;
        let mut own = (**own).clone();
        own.name.clone_from(&table.name);
        let own = Arc::new(own);
        let rules = self.with_binder(|binder: &mut Binder<'_>| binder.row_rules(&own, true))?;
        Ok(RowCopier {
            layout: own.row_layout(),
            table: own,
            state: copy.state,
            sources: copy.sources.clone(),
            storing: Storing::new(!copy.lenient, false),
            rules,
        })
    }
}

impl Context<'_> {
    /// The failure for a refused batch of changes of copies.
    pub async fn copy_refused(
        &mut self,
        refusal: Refusal,
        copier: &RowCopier,
        changes: &[RowChange],
    ) -> Failure {
        self.write_failure(refusal, &copier.table, &copier.layout, changes).await
    }
}

/// A value of a column as the copy's column takes it: texts, bytes and labels are made of the text that the old column shows,
/// and a BIT is a number on both sides, except in a TEXT or BLOB.
fn copied_value(value: Value, old: &Column, new: &Column) -> Value {
    let is_bit = |column_type: &ColumnType| matches!(column_type, ColumnType::Bit { .. });
    let (from, to) = (&old.column_type, &new.column_type);
    let is_large =
        matches!(to, ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json);
    let takes_text = to.is_string() || to.is_binary() || is_large;
    if value.is_null() || (is_bit(from) && !is_large) {
        return value;
    }
    if is_bit(to) {
        let number = to_integer(value.as_ref(), &mut ConvertContext::default());
        return i64::try_from(number).map_or(value, Value::Int);
    }
    if !takes_text || !(from.is_numeric() || from.is_temporal()) {
        return value;
    }
    match declared_text(value.as_ref(), from, old.display) {
        text @ (Value::Text(..) | Value::Bytes(_)) => text,
        plain => {
            let text = number_to_text(plain.as_ref());
            text.map_or(plain, |text| Value::text(&text, Collation::DEFAULT))
        }
    }
}

/// As in MySQL, what a text or bytes lose in a shorter column of the same kind is truncated data (1265), and not too long.
fn shortened_error(error: SqlError, old: &Column, new: &Column, number: u64) -> SqlError {
    use ColumnType as T;
    let has_short_length = |column_type: &ColumnType| column_type.display_length() <= 255;
    let is_same_kind = match (&old.column_type, &new.column_type) {
        (T::Char { collation: a, .. }, T::Char { collation: b, .. }) => a == b,
        (T::Binary { .. }, T::Binary { .. }) => true,
        (a @ T::Varchar { collation, .. }, b @ T::Varchar { collation: other, .. }) => {
            collation == other && has_short_length(a) == has_short_length(b)
        }
        (a @ T::Varbinary { .. }, b @ T::Varbinary { .. }) => {
            has_short_length(a) == has_short_length(b)
        }
        _ => false,
    };
    if !is_same_kind || error.code != code::ER_DATA_TOO_LONG {
        return error;
    }
    let message = format!("Data truncated for column '{}' at row {number}", new.name);
    SqlError::new(code::WARN_DATA_TRUNCATED, message)
}

impl RowCopier {
    /// What becomes of the copy where a row of the table changes.
    pub async fn change(
        &self,
        context: &mut Context<'_>,
        (table, layout): (&Table, &RowLayout),
        change: &RowChange,
    ) -> Result<RowChange, Failure> {
        // Who writes the old definition is not warned of the new one.
        let unseen = &mut Vec::new();
        let of = (table, layout);
        let old = match &change.old {
            Some(row) => match self.copied(context, of, row, change.number, unseen).await {
                Ok(row) => Some(row),
                // A row that has no copy.
                Err(failure) if failure.leaves_statement() => None,
                Err(failure) => return Err(failure),
            },
            None => None,
        };
        let makes = self.state != CopyState::DeleteOnly && change.new.is_some();
        let mut copied = RowChange::new(old, makes.then(NewRow::default));
        copied.number = change.number;
        if makes {
            let row = &change.encoded;
            copied.encoded = self.copied(context, of, row, change.number, unseen).await?;
        }
        Ok(copied)
    }

    /// The operations of such a change. The row that goes may not be there; a row that comes has all of its entries, whatever was there
    /// before.
    pub fn ops(&self, catalogue: &Catalogue, change: &RowChange) -> Vec<Op> {
        let mut ops = match &change.old {
            Some(old) => client::delete_ops(catalogue, &self.table, old),
            None => Vec::new(),
        };
        if change.new.is_some() {
            ops.extend(client::insert_ops(catalogue, &self.table, &change.encoded));
        }
        ops
    }

    /// The copy of a row of the table. `number` counts from 1, for messages.
    pub async fn copied(
        &self,
        context: &mut Context<'_>,
        (table, layout): (&Table, &RowLayout),
        row: &[u8],
        number: u64,
        warnings: &mut Vec<SqlWarning>,
    ) -> Result<Vec<u8>, Failure> {
        let values = owned_row(table, &RowView::new(layout, row));
        let mut copied = Vec::with_capacity(self.sources.len());
        for (position, source) in self.sources.iter().enumerate() {
            let column = &self.table.columns[position];
            let value = match source {
                ColumnSource::Column(own) => {
                    let own = usize::from(*own);
                    let value = values[own].clone();
                    let before = &table.columns[own];
                    let is_same = before.column_type == column.column_type
                        && before.display.keeps_as(&column.display);
                    match is_same {
                        true => value,
                        false => {
                            let value = copied_value(value, before, column);
                            let stored = self.converted(context, position, value, number, warnings);
                            stored
                                .map_err(|error| shortened_error(error, before, column, number))?
                        }
                    }
                }
                ColumnSource::Value(value) => value.clone(),
                ColumnSource::Computed => super::rules::value_before(column),
            };
            copied.push(self.not_null(position, value, number, warnings)?);
        }
        for rule in &self.rules.columns {
            let position = usize::from(rule.column);
            if self.sources[position] != ColumnSource::Computed {
                continue;
            }
            let value = match context.value_of(&rule.value, &copied).await {
                // It is computed again for whoever reads it.
                Err(failure) if failure.leaves_statement() && !self.keeps(position) => continue,
                value => value?,
            };
            let value = self.converted(context, position, value, number, warnings)?;
            copied[position] = self.not_null(position, value, number, warnings)?;
        }
        for (name, violation) in &self.rules.violations {
            if context.holds(violation, &copied).await? {
                return Err(SqlError::check_violated(name).into());
            }
        }
        Ok(row_keys::encode(&self.table, &self.layout, &copied)?)
    }

    /// Is the value of a computed column kept, in rows or keys?
    fn keeps(&self, position: usize) -> bool {
        let is_virtual =
            self.table.columns[position].generated.as_ref().is_some_and(|own| !own.stored);
        let mut parts = self.table.indexes.iter().flat_map(|index| &index.parts);
        !is_virtual || parts.any(|part| usize::from(part.column) == position)
    }

    /// A value as the copy's column keeps it.
    fn converted(
        &self,
        context: &mut Context<'_>,
        position: usize,
        value: Value,
        number: u64,
        warnings: &mut Vec<SqlWarning>,
    ) -> Result<Value, SqlError> {
        match value.is_null() {
            true => Ok(value),
            false => {
                let (table, storing) = (&self.table, self.storing);
                store_value(value, table, position, storing, &context.run, number, warnings)
            }
        }
    }

    /// 1138 for NULL in a column that does not take it; in lenient mode the column's implicit default, and a warning.
    fn not_null(
        &self,
        position: usize,
        value: Value,
        number: u64,
        warnings: &mut Vec<SqlWarning>,
    ) -> Result<Value, SqlError> {
        let column = &self.table.columns[position];
        if !value.is_null() || column.nullable {
            return Ok(value);
        }
        if !self.storing.takes_null {
            return Err(SqlError::new(code::ER_INVALID_USE_OF_NULL, "Invalid use of NULL value"));
        }
        let message = format!("Data truncated for column '{}' at row {number}", column.name);
        warnings.push(SqlWarning::warning(code::WARN_DATA_TRUNCATED, message));
        Ok(column.column_type.implicit_default().to_value())
    }

    /// 1062 for a row whose key another one has.
    pub fn duplicate(&self, row: &[u8]) -> SqlError {
        let primary = self.table.primary_key().id;
        row_keys::duplicate_error(&self.table, primary, &RowView::new(&self.layout, row))
    }

    /// A row of the copy that is written, over the same row if it is there.
    pub fn replacement(&self, there: Option<Vec<u8>>, row: Vec<u8>) -> RowChange {
        RowChange { encoded: row, ..RowChange::new(there, Some(NewRow::default())) }
    }

    /// The integer that a copied row has in a column, rounded; 0 for anything but a number.
    pub fn value(&self, row: &[u8], column: usize) -> i128 {
        match RowView::new(&self.layout, row).get(column) {
            ValueRef::Int(value) => value.into(),
            ValueRef::UInt(value) => value.into(),
            ValueRef::Double(value) => value as i128,
            ValueRef::Float(value) => value as i128,
            _ => 0,
        }
    }

    /// The primary key of a copied row.
    pub fn key_of(&self, row: &[u8]) -> Vec<u8> {
        let view = RowView::new(&self.layout, row);
        types::key::primary_key_of_row(&self.table, &view).expect("checked when it was encoded")
    }
}
