//! The table that INSERT, UPDATE or DELETE changes: named itself, or by a view of it.
//!
//! A statement on a view binds the view's columns; then the view's expression replaces each of them, and the view's condition
//! joins the statement's. Only a column of the table can be assigned to.

use std::sync::Arc;

use types::{ColumnType, Expr, Table, ViewDefinition};

use super::Binder;
use super::from::RelationSource;
use super::group::plain_column;
use super::names::{Relations, ScopeTable};
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{Bound, RowCheck, Slot};

pub struct Target {
    pub table: Arc<Table>,
    /// As the statement names its columns.
    pub relations: Relations,
    pub hints: Vec<ast::IndexHint>,
    view: Option<TargetView>,
}

struct TargetView {
    view: Arc<ViewDefinition>,
    /// Of each of its columns, over the table's.
    values: Vec<Expr>,
    terms: Vec<Bound>,
    checks: Vec<Bound>,
    /// Slots whose expressions are over the table's columns.
    put: Vec<u16>,
}

impl Target {
    pub fn of_table(table: Arc<Table>, alias: Option<&str>, hints: Vec<ast::IndexHint>) -> Target {
        Target { relations: Relations::of_table(&table, alias), table, hints, view: None }
    }

    /// The table's column that the column of this number is; 1348 for one that is computed.
    pub fn column(&self, number: usize) -> Result<u16, SqlError> {
        let Some(view) = &self.view else {
            return Ok(u16::try_from(number).expect("tables are narrow"));
        };
        plain_column(&view.values[number]).ok_or_else(|| {
            let name = &self.relations.column(number).name;
            SqlError::new(
                code::ER_NONUPDATEABLE_COLUMN,
                format!("Column '{name}' is not updatable"),
            )
        })
    }

    /// The number that names the table's column; None if the view leaves it out.
    pub fn number_of(&self, column: u16) -> Option<usize> {
        match &self.view {
            None => Some(usize::from(column)),
            Some(view) => view.values.iter().position(|value| plain_column(value) == Some(column)),
        }
    }

    /// The columns that an INSERT without a list gives values to.
    pub fn inserted_columns(&self) -> Result<Vec<u16>, SqlError> {
        self.relations.tables[0].visible().map(|number| self.column(number)).collect()
    }

    /// Can rows be inserted by it? Every column of a view must be one of the table.
    pub fn check_insertable(&self) -> Result<(), SqlError> {
        match &self.view {
            Some(own) if !own.values.iter().all(|value| plain_column(value).is_some()) => {
                Err(not_insertable(&own.view.name))
            }
            _ => Ok(()),
        }
    }

    /// A column without a default must be among those that get values: 1423 where the view leaves it out.
    pub fn check_defaults(&self, given: &[u16]) -> Result<(), SqlError> {
        let Some(own) = &self.view else { return Ok(()) };
        for (number, column) in (0u16..).zip(&self.table.columns) {
            let is_needed = !column.nullable
                && !column.hidden
                && column.generated.is_none()
                && matches!(column.default, types::ColumnDefault::None);
            if is_needed && !given.contains(&number) && self.number_of(number).is_none() {
                return Err(SqlError::new(
                    code::ER_NO_DEFAULT_FOR_VIEW_FIELD,
                    format!(
                        "Field of view '{}.{}' underlying table doesn't have a default value",
                        own.view.database, own.view.name
                    ),
                ));
            }
        }
        Ok(())
    }

    /// What a row must hold when it is written.
    pub fn check(&self) -> Option<RowCheck> {
        let own = self.view.as_ref().filter(|own| !own.checks.is_empty())?;
        let view = format!("{}.{}", own.view.database, own.view.name);
        Some(RowCheck { terms: own.checks.clone(), view })
    }
}

/// 1471.
pub fn not_insertable(name: &str) -> SqlError {
    SqlError::new(
        code::ER_NON_INSERTABLE_TABLE,
        format!("The target table {name} of the INSERT is not insertable-into"),
    )
}

/// 1288.
pub fn not_updatable(name: &str, verb: &str) -> SqlError {
    SqlError::new(
        code::ER_NON_UPDATABLE_TABLE,
        format!("The target table {name} of the {verb} is not updatable"),
    )
}

impl Binder<'_> {
    /// The table of a statement that changes one, by its own name or a view's.
    pub fn target(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&str>,
        hints: &[ast::IndexHint],
        verb: &str,
    ) -> Result<Target, SqlError> {
        let schema = name.schema.as_deref().or(self.environment.database.as_deref());
        let Some(view) = schema.and_then(|schema| self.catalogue.view(schema, &name.name)) else {
            let table = self.changeable_table(name)?;
            if !table.id.is_temporary() {
                self.check_locked(&table.database, alias.unwrap_or(&table.name), true)?;
            }
            return Ok(Target::of_table(table, alias, hints.to_vec()));
        };
        let view = Arc::clone(view);
        self.check_locked(&view.database, alias.unwrap_or(&view.name), true)?;
        let (source, scope) = self.view(&view, alias)?;
        let shown = alias.unwrap_or(&view.name);
        let refused = || match verb {
            "INSERT" => not_insertable(shown),
            verb => not_updatable(shown, verb),
        };
        let RelationSource::Merged(merged) = source else { return Err(refused()) };
        let [RelationSource::Table { table, hints }] = merged.from.sources.as_slice() else {
            return Err(match verb {
                "INSERT" => SqlError::not_supported("INSERT into a join view"),
                _ => refused(),
            });
        };
        Ok(Target {
            table: Arc::clone(table),
            relations: Relations::of(ScopeTable { table: None, ..scope }),
            hints: hints.clone(),
            view: Some(TargetView {
                view,
                values: merged.values.clone(),
                terms: merged.terms.clone(),
                checks: merged.checks.clone(),
                put: Vec::new(),
            }),
        })
    }

    /// Is the name that of a view over several relations?
    pub fn is_join_view(&mut self, tables: &[ast::TableReference]) -> bool {
        let [reference] = tables else { return false };
        let name = match &reference.first {
            ast::TableFactor::Nested(inner) => return self.is_join_view(inner),
            ast::TableFactor::Table { name, .. } => name,
            ast::TableFactor::Derived { .. } | ast::TableFactor::JsonTable(_) => {
                return false;
            }
        };
        let schema = name.schema.as_deref().or(self.environment.database.as_deref());
        let view = schema.and_then(|schema| self.catalogue.view(schema, &name.name)).cloned();
        let Some(view) = view else { return false };
        self.forgotten(|binder| match binder.view(&view, None) {
            Ok((RelationSource::Merged(merged), _)) => 1 < merged.from.sources.len(),
            _ => false,
        })
    }

    /// Puts the table's columns into an expression that names the target's.
    pub fn put_target(&mut self, bound: &mut Bound, target: &mut Target) -> Result<(), SqlError> {
        let Some(view) = &mut target.view else { return Ok(()) };
        for &slot in &bound.slots {
            if view.put.contains(&slot) {
                continue;
            }
            let Slot::NewValue { column } = &mut self.slots[usize::from(slot)] else { continue };
            let own = plain_column(&view.values[usize::from(*column)]);
            let own = own.expect("the view is insertable");
            let column_type = &target.table.columns[usize::from(own)].column_type;
            if matches!(column_type, ColumnType::Timestamp { .. }) {
                return Err(SqlError::not_supported("VALUES() of a TIMESTAMP of a view"));
            }
            *column = own;
        }
        let (values, put) = (&view.values, &mut view.put);
        self.put_into_bound(bound, values, put);
        Ok(())
    }

    /// The statement's condition, and that of the view.
    pub fn put_target_filter(
        &mut self,
        filter: Option<Bound>,
        target: &mut Target,
    ) -> Result<Option<Bound>, SqlError> {
        let mut terms: Vec<Bound> = filter.into_iter().collect();
        for term in &mut terms {
            self.put_target(term, target)?;
        }
        if let Some(view) = &target.view {
            terms.extend(view.terms.iter().cloned());
        }
        Ok(super::from::bound_of(terms))
    }
}
