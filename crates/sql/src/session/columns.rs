//! ALTER TABLE of columns and of the table's options, as far as every row stays as it is: names, defaults, comments, the
//! character set of columns to come, and texts that may be longer than before. The definition is all that changes, so the
//! statement takes one schema change, whatever the size of the table.
//!
//! Two definitions are in use while nodes adopt a change (rule R27). A row written by either must be one of both: for that
//! reason types, NOT NULL and labels do not change here.

use types::wire::Wire;
use types::{
    AutoIncrement, Collation, Column, ColumnDefault, ColumnType, Index, IndexKind, Table, Value,
};

use super::Session;
use crate::bind::alter::{check_default_changes, check_expressions, position_of};
use crate::bind::functional;
use crate::bind::table::{
    check_key_length, check_name, check_row_size, check_table_comment, collation_of,
};
use crate::bind::{self, Binder};
use crate::error::{SqlError, code};
use crate::parser::ast::{self, AlterOperation, ColumnPosition, DefaultClause};

/// What of a definition these operations change.
pub(super) struct Described {
    columns: Vec<Column>,
    collation: Collation,
    comment: String,
    engine: String,
    options: Vec<(String, String)>,
    auto_increment: Option<AutoIncrement>,
}

impl Described {
    pub(super) fn of(table: &Table) -> Described {
        Described {
            columns: table.columns.clone(),
            collation: table.collation,
            comment: table.comment.clone(),
            engine: table.engine.clone(),
            options: table.options.clone(),
            auto_increment: table.auto_increment.clone(),
        }
    }
    /// 1412 if the table has another description than `from` by now.
    pub(super) fn replace(&self, from: &Described, table: &mut Table) -> Result<(), SqlError> {
        if !Described::of(table).equals(from) {
            return Err(SqlError::definition_changed());
        }
        table.columns.clone_from(&self.columns);
        table.collation = self.collation;
        table.comment.clone_from(&self.comment);
        table.engine.clone_from(&self.engine);
        table.options.clone_from(&self.options);
        table.auto_increment.clone_from(&self.auto_increment);
        Ok(())
    }
    pub(super) fn equals(&self, other: &Described) -> bool {
        self.columns.to_bytes() == other.columns.to_bytes()
            && self.collation == other.collation
            && self.comment == other.comment
            && self.engine == other.engine
            && self.options == other.options
            && self.auto_increment.to_bytes() == other.auto_increment.to_bytes()
    }
}

impl Session {
    /// The table as the statement's columns and options make it. Names of columns are those from before the statement. None if rows change:
    /// then the statement rewrites the table.
    pub(super) fn described_table(
        &mut self,
        alter: &ast::AlterTable,
        table: &Table,
    ) -> Result<Option<Table>, SqlError> {
        let mut planned = table.clone();
        let catalogue = self.catalogue();
        let mut binder = Binder::new(&catalogue, &self.environment, &*self, &[]);
        for operation in &alter.operations {
            if let AlterOperation::Options(options) = operation {
                set_options(&mut binder, &mut planned, options)?;
            }
        }
        // Columns that the statement defines have the character set that it gives the table.
        let before = Table { collation: planned.collation, ..table.clone() };
        if changes_functional_keys(table, &alter.operations) {
            return Ok(None);
        }
        for operation in &alter.operations {
            match operation {
                AlterOperation::RenameColumn { old_name, new_name } => {
                    let position = position_of(table, old_name)?;
                    planned.columns[position].name.clone_from(new_name);
                }
                AlterOperation::AddColumn { .. }
                | AlterOperation::DropColumn(_)
                | AlterOperation::DropPrimaryKey
                | AlterOperation::ConvertCharset { .. }
                | AlterOperation::Partition(_)
                | AlterOperation::SetDefault {
                    default: Some(DefaultClause::Expression(_)), ..
                } => return Ok(None),
                AlterOperation::AddIndex(index) if index.kind == ast::IndexKind::Primary => {
                    return Ok(None);
                }
                AlterOperation::SetDefault { column, default } => {
                    let position = position_of(table, column)?;
                    planned.columns[position].default =
                        new_default(&mut binder, &table.columns[position], default.as_ref())?;
                }
                AlterOperation::ModifyColumn { column, position } => {
                    let place = position_of(table, &column.name)?;
                    if !stays(table, place, position) {
                        return Ok(None);
                    }
                    let Some(new) = modified(&mut binder, &before, place, column)? else {
                        return Ok(None);
                    };
                    planned.columns[place] = new;
                }
                AlterOperation::ChangeColumn { old_name, column, position } => {
                    let place = position_of(table, old_name)?;
                    if !stays(table, place, position) {
                        return Ok(None);
                    }
                    let Some(new) = modified(&mut binder, &before, place, column)? else {
                        return Ok(None);
                    };
                    planned.columns[place] = new;
                }
                _ => {}
            }
        }
        let warnings = binder.into_warnings();
        warnings.into_iter().for_each(|warning| self.push_condition(warning));
        check_expressions(table, &alter.operations)?;
        check_names(table, &planned)?;
        if planned.columns.to_bytes() != table.columns.to_bytes() {
            check_row_size(&planned)?;
            planned
                .indexes
                .iter()
                .try_for_each(|index| check_key_length(&planned, &index.parts))?;
        }
        Ok(Some(planned))
    }
}

/// Does a hidden column come, go, or get another type with the columns that its expression names?
fn changes_functional_keys(table: &Table, operations: &[AlterOperation]) -> bool {
    let is_functional = |name: &str| {
        table.index_named(name).is_some_and(|index| functional::is_functional(table, index))
    };
    operations.iter().any(|operation| match operation {
        AlterOperation::AddIndex(index) => functional::has_expressions(index),
        AlterOperation::DropIndex(name) | AlterOperation::DropConstraint(name) => {
            is_functional(name)
        }
        AlterOperation::ModifyColumn { .. } | AlterOperation::ChangeColumn { .. } => {
            table.columns.iter().any(Column::is_functional)
        }
        _ => false,
    })
}

/// Do FIRST and AFTER leave the column where it is?
fn stays(table: &Table, place: usize, position: &ColumnPosition) -> bool {
    match position {
        ColumnPosition::Last => true,
        ColumnPosition::First => place == 0,
        ColumnPosition::After(name) => {
            position_of(table, name).is_ok_and(|before| before + 1 == place)
        }
    }
}

fn is_counter(column: &Column) -> bool {
    matches!(column.default, ColumnDefault::AutoIncrement)
}

fn new_default(
    binder: &mut Binder<'_>,
    column: &Column,
    default: Option<&DefaultClause>,
) -> Result<ColumnDefault, SqlError> {
    let kind = (is_counter(column), column.generated.is_some());
    check_default_changes(&column.name, kind, default.is_some())?;
    if is_counter(column) {
        return Ok(ColumnDefault::AutoIncrement);
    }
    match default {
        None => Ok(ColumnDefault::None),
        Some(DefaultClause::Value(value)) => binder.column_default(column, value),
        Some(DefaultClause::Expression(_)) => {
            Err(SqlError::not_supported("ALTER TABLE with DEFAULT (expression)"))
        }
    }
}

/// A column by its new definition. None if rows cannot stay as they are.
fn modified(
    binder: &mut Binder<'_>,
    table: &Table,
    place: usize,
    definition: &ast::ColumnDefinition,
) -> Result<Option<Column>, SqlError> {
    let old = &table.columns[place];
    let has_expression = matches!(definition.default, Some(DefaultClause::Expression(_)))
        || matches!(old.default, ColumnDefault::Expression(_));
    if definition.generated.is_some()
        || old.generated.is_some()
        || has_expression
        || definition.primary_key
        || definition.unique
        || !definition.checks.is_empty()
    {
        return Ok(None);
    }
    let mut new = binder.column_definition(definition, table.collation)?;
    let is_primary = table.primary_key().parts.iter().any(|part| usize::from(part.column) == place);
    if is_primary && definition.nullable.is_none() {
        new.nullable = false;
        if matches!(new.default, ColumnDefault::Value(Value::Null)) {
            new.default = ColumnDefault::None;
        }
    }
    // A unique key keeps its values in a table of its own.
    let is_unique = |index: &Index| {
        matches!(index.kind, IndexKind::Unique { .. })
            && index.parts.iter().any(|part| usize::from(part.column) == place)
    };
    let changes_rows = new.nullable != old.nullable
        || is_counter(&new) != is_counter(old)
        || !holds(&new.column_type, &old.column_type)
        || !new.display.keeps_as(&old.display)
        || (new.column_type != old.column_type && table.indexes.iter().any(is_unique));
    new.missing.clone_from(&old.missing);
    Ok((!changes_rows).then_some(new))
}

/// Is every row with a column of the old type also one with a column of the new type, byte by byte, and has it the same keys?
pub(super) fn holds(new: &ColumnType, old: &ColumnType) -> bool {
    match (new, old) {
        (
            ColumnType::Varchar { length, collation },
            ColumnType::Varchar { length: own, collation: own_collation },
        ) => own <= length && collation == own_collation,
        (ColumnType::Varbinary { length }, ColumnType::Varbinary { length: own }) => own <= length,
        (
            ColumnType::Text { bytes_max, collation },
            ColumnType::Text { bytes_max: own, collation: own_collation },
        ) => own <= bytes_max && collation == own_collation,
        (ColumnType::Blob { bytes_max }, ColumnType::Blob { bytes_max: own }) => own <= bytes_max,
        (new, old) => new == old,
    }
}

fn set_options(
    binder: &mut Binder<'_>,
    table: &mut Table,
    options: &ast::TableOptions,
) -> Result<(), SqlError> {
    if let Some(engine) = &options.engine {
        table.engine = binder.engine(engine, &table.name)?.to_owned();
    }
    bind::table::set_options(&mut table.options, &options.other)?;
    if let (Some(start), Some(sequence)) = (options.auto_increment, &mut table.auto_increment) {
        sequence.start = start.max(1);
    }
    if let Some(comment) = &options.comment {
        check_table_comment(&table.name, comment)?;
        table.comment.clone_from(comment);
    }
    if let Some(collation) = collation_of(options.charset.as_deref(), options.collation.as_deref())?
    {
        table.collation = collation;
    }
    if let Some(charset) = &options.charset {
        binder.warn_of_charset(charset, false);
    }
    if let Some(collation) = &options.collation {
        binder.warn_of_collation(collation);
    }
    Ok(())
}

/// New names: of which there is one of each, and none of a column that others name.
fn check_names(table: &Table, planned: &Table) -> Result<(), SqlError> {
    for (position, (old, new)) in table.columns.iter().zip(&planned.columns).enumerate() {
        if old.name == new.name {
            continue;
        }
        check_name(&new.name, code::ER_WRONG_COLUMN_NAME, "column")?;
        let mut others = planned.columns.iter().enumerate();
        let is_taken = others
            .any(|(place, own)| place != position && own.name.eq_ignore_ascii_case(&new.name));
        if is_taken {
            return Err(SqlError::duplicate_column(&new.name));
        }
        check_unreferenced(table, &old.name)?;
    }
    Ok(())
}

/// A foreign key of a child names its parent's columns.
fn check_unreferenced(table: &Table, name: &str) -> Result<(), SqlError> {
    let mut referenced =
        table.constraints.referenced_by.iter().flat_map(|own| &own.key.parent_columns);
    match referenced.any(|own| own.eq_ignore_ascii_case(name)) {
        true => {
            Err(SqlError::not_supported("ALTER TABLE with another name of a referenced column"))
        }
        false => Ok(()),
    }
}
