//! CHECK constraints of a definition, DEFAULT (expression) and generated columns of CREATE TABLE.

use std::sync::Arc;

use types::{Check, ColumnDefault, Generated, IndexKind, Table};

use super::Binder;
use super::column_expression::{Owner, is_condition, named_columns, written_expression};
use super::table::NewColumn;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::show::quoted;

/// Characters of a constraint's name.
const NAME_LENGTH_MAX: usize = 64;

/// A CHECK as it was written: with its column, if it stands at one.
pub struct NewCheck<'a> {
    pub written: &'a ast::Check,
    pub column: Option<&'a str>,
}

/// The CHECKs of CREATE TABLE, as they were written.
fn written_checks(create: &ast::CreateTable) -> Vec<NewCheck<'_>> {
    // Twice the number of columns before a check, and one more for those of the column that follows.
    let mut checks: Vec<(usize, NewCheck<'_>)> = Vec::new();
    for written in &create.checks {
        checks.push((2 * written.columns_before, NewCheck { written, column: None }));
    }
    for (position, column) in create.columns.iter().enumerate() {
        for written in &column.checks {
            checks.push((2 * position + 1, NewCheck { written, column: Some(&column.name) }));
        }
    }
    checks.sort_by_key(|(order, _)| *order);
    checks.into_iter().map(|(_, check)| check).collect()
}

/// 3822.
pub fn duplicate_check(name: &str) -> SqlError {
    SqlError::new(3822, format!("Duplicate check constraint name '{name}'."))
}

/// 1059.
pub fn check_name_length(name: &str) -> Result<(), SqlError> {
    if name.chars().count() <= NAME_LENGTH_MAX {
        return Ok(());
    }
    Err(SqlError::new(code::ER_TOO_LONG_IDENT, format!("Identifier name '{name}' is too long")))
}

/// 1221: attributes that a generated column cannot have.
pub fn check_generated(definition: &ast::ColumnDefinition) -> Result<(), SqlError> {
    if definition.generated.is_none() {
        return Ok(());
    }
    let attributes = [
        ("DEFAULT", definition.default.is_some()),
        ("AUTO_INCREMENT", definition.auto_increment),
        ("ON UPDATE", definition.on_update_now.is_some()),
    ];
    match attributes.iter().find(|(_, is_written)| *is_written) {
        None => Ok(()),
        Some((attribute, _)) => Err(SqlError::new(
            code::ER_WRONG_USAGE,
            format!("Incorrect usage of {attribute} and generated column"),
        )),
    }
}

impl Binder<'_> {
    /// Gives a new table the expressions of its columns and its CHECKs. It has all columns and keys.
    pub fn define_expressions(
        &mut self,
        create: &ast::CreateTable,
        columns: &[NewColumn<'_>],
        table: &mut Table,
    ) -> Result<(), SqlError> {
        mark_expressions(columns, table);
        let marked = Arc::new(table.clone());
        for (position, column) in columns.iter().enumerate() {
            if let NewColumn::Written(definition) = column
                && let Some((owner, expr)) = written_expression(definition)
            {
                let kept = self.column_expression(owner, expr, &marked, Some(position))?;
                let own = &mut table.columns[position];
                match &mut own.generated {
                    Some(generated) => generated.expression = kept,
                    None => own.default = ColumnDefault::Expression(kept),
                }
            } else if let ColumnDefault::Expression(kept) = &table.columns[position].default {
                // Taken over from the table of a SELECT: its columns must be here, too.
                let name = &table.columns[position].name;
                let expr = crate::parser::parse_expression(&kept.text);
                let expr = expr.expect("the catalogue has read it");
                self.column_expression(Owner::Default(name), &expr, &marked, Some(position))?;
            }
        }
        check_primary_key(table)?;
        let mut number = 0;
        for check in written_checks(create) {
            let name = match &check.written.name {
                Some(name) if !name.is_empty() => name.clone(),
                _ => {
                    number += 1;
                    Check::generated_name(&table.name, number)
                }
            };
            let check = self.check_definition(&check, name, &marked)?;
            self.check_free_name(&table.database, &table.constraints.checks, &check.name)?;
            table.constraints.checks.push(check);
        }
        table.constraints.sort_checks();
        Ok(())
    }

    /// One CHECK of a table that has its columns.
    pub fn check_definition(
        &mut self,
        new: &NewCheck<'_>,
        name: String,
        table: &Arc<Table>,
    ) -> Result<Check, SqlError> {
        check_name_length(&name)?;
        let expr = &new.written.expr;
        if let Some(column) = new.column {
            let columns = named_columns(expr);
            let is_own = |own: &ast::ColumnName| own.column.eq_ignore_ascii_case(column);
            if columns.is_empty() || !columns.iter().all(is_own) {
                return Err(SqlError::new(
                    3813,
                    format!("Column check constraint '{name}' references other column."),
                ));
            }
        }
        if is_condition(expr) {
            let expression = self.column_expression(Owner::Check(&name), expr, table, None)?;
            return Ok(Check { name, expression, enforced: new.written.enforced });
        }
        Err(SqlError::new(
            3812,
            format!("An expression of non-boolean type specified to a check constraint '{name}'."),
        ))
    }

    /// 3822 for a name that another CHECK of the database has, or one of `own`.
    pub fn check_free_name(
        &self,
        database: &str,
        own: &[Check],
        name: &str,
    ) -> Result<(), SqlError> {
        let lower = name.to_lowercase();
        let is_it = |check: &Check| check.name.to_lowercase() == lower;
        let mut tables = self.catalogue.tables.values().filter(|table| {
            table.state == types::TableState::Public
                && !table.id.is_temporary()
                && table.rewriting.copy_of.is_none()
                && table.database.eq_ignore_ascii_case(database)
        });
        let is_taken =
            own.iter().any(is_it) || tables.any(|table| table.constraints.checks.iter().any(is_it));
        if is_taken { Err(duplicate_check(name)) } else { Ok(()) }
    }
}

/// Marks the columns that have expressions, which are still empty: what an expression may name depends on it.
fn mark_expressions(columns: &[NewColumn<'_>], table: &mut Table) {
    let empty =
        || types::ColumnExpression { text: String::new(), collation: types::Collation::default() };
    for (column, own) in columns.iter().zip(&mut table.columns) {
        let NewColumn::Written(definition) = column else { continue };
        match written_expression(definition) {
            Some((Owner::Generated(_), _)) => {
                let stored = definition.generated.as_ref().is_some_and(|own| own.stored);
                own.generated = Some(Generated { expression: empty(), stored });
            }
            Some(_) => own.default = ColumnDefault::Expression(empty()),
            None => {}
        }
    }
}

/// 3106 for a primary key of a VIRTUAL column.
fn check_primary_key(table: &Table) -> Result<(), SqlError> {
    let primary = table.indexes.iter().filter(|index| index.kind == IndexKind::Primary);
    let mut parts = primary.flat_map(|index| &index.parts);
    let is_virtual = parts.any(|part| {
        let generated = &table.columns[usize::from(part.column)].generated;
        generated.as_ref().is_some_and(|generated| !generated.stored)
    });
    if !is_virtual {
        return Ok(());
    }
    Err(SqlError::new(
        3106,
        "'Defining a virtual generated column as primary key' is not supported for generated columns.",
    ))
}

/// 3823 for a CHECK of columns that follow a parent, which are changed without it.
pub fn check_follows_no_parent(table: &Table, check: &Check) -> Result<(), SqlError> {
    let keys = table.constraints.foreign_keys.iter().filter(|key| key.changes_children());
    for key in keys {
        for column in &key.columns {
            let name = &table.columns[usize::from(*column)].name;
            if check.expression.text.contains(&quoted(name)) {
                return Err(SqlError::new(
                    3823,
                    format!(
                        "Column '{name}' cannot be used in a check constraint '{}': needed in a foreign key constraint '{}' \
                         referential action.",
                        check.name, key.name
                    ),
                ));
            }
        }
    }
    Ok(())
}
