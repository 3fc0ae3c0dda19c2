//! SELECT as an operand: `(SELECT ...)` where a value is expected.
//!
//! The subquery becomes a [`Slot`] of the statement: it is run once, before the first row, and its value stands where it
//! was written, so that it can choose an index and travel to the shards like any parameter. That is right for a subquery
//! that names nothing of the statement around it and gives the same value whenever it is run; others are refused. It reads
//! by scans, all at the statement's snapshot.

use std::sync::Arc;

use types::{ColumnType, Expr, Table, Value};

use super::Binder;
use super::names::Scope;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{LimitPlan, Slot};

/// Rows after which it is clear that there is more than one.
const ROWS_WANTED: u64 = 2;

impl Binder<'_> {
    pub fn subquery(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        check_clauses(query)?;
        let first = self.slots.len();
        self.outer.push(scope.table.cloned());
        let bound = self.query(query);
        self.outer.pop();
        let mut select = bound?;
        if select.columns.len() != 1 {
            return Err(SqlError::operand_columns(1));
        }
        if select.calc_found_rows {
            return Err(SqlError::new(
                code::ER_CANT_USE_OPTION_HERE,
                "Incorrect usage/placement of 'SQL_CALC_FOUND_ROWS'",
            ));
        }
        let last = self.slots.len();
        if scope.table.is_some() && (first..last).any(|slot| self.is_per_row(slot)) {
            return Err(SqlError::not_supported("RAND, UUID, SLEEP or assignment in a subquery"));
        }
        self.inner_slots.push(first..last);
        // Also without a LIMIT, and whatever sql_select_limit says.
        let rows_wanted =
            || LimitPlan { count: Expr::Const(Value::UInt(ROWS_WANTED)), offset: None };
        select.limit.get_or_insert_with(rows_wanted);
        let info = &select.columns[0];
        let column_type = (!info.null_type).then(|| match &info.column_type {
            // Shown in the session's time zone.
            ColumnType::Timestamp { fsp } => ColumnType::DateTime { fsp: *fsp },
            other => other.clone(),
        });
        Ok(Expr::Param(self.slot(Slot::Subquery(Box::new(select)), column_type)?))
    }

    /// Is what is bound now part of a subquery?
    pub fn is_subquery(&self) -> bool {
        !self.outer.is_empty()
    }

    pub fn is_inner(&self, slot: usize) -> bool {
        self.inner_slots.iter().any(|inner| inner.contains(&slot))
    }

    /// 1093 for a subquery on the table that the statement changes.
    pub fn check_not_changed(&self, table: &Arc<Table>) -> Result<(), SqlError> {
        match &self.changes {
            Some(changed) if changed.id == table.id => {
                Err(SqlError::update_table_used(&changed.name))
            }
            _ => Ok(()),
        }
    }

    /// What is wrong with a name that the query has not: a statement around it may have it.
    pub fn unknown(&self, name: &ast::ColumnName, error: SqlError) -> SqlError {
        let mut tables = self.outer.iter().flatten();
        let is_outer = tables.any(|table| Scope::of(table, "field list").column(name).is_ok());
        if is_outer { SqlError::not_supported("correlated subquery") } else { error }
    }
}

fn check_clauses(query: &ast::Query) -> Result<(), SqlError> {
    if !query.into_variables.is_empty() || query.into_file {
        return Err(SqlError::not_supported("INTO in a subquery"));
    }
    if query.locking.iter().any(|locking| locking.wait != ast::LockWait::Wait) {
        return Err(SqlError::not_supported("NOWAIT or SKIP LOCKED in a subquery"));
    }
    Ok(())
}
