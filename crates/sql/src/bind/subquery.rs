//! SELECT as an operand: `(SELECT ...)` where a value is expected.
//!
//! The subquery becomes a [`Slot`] of the statement, or one per column where a row is compared with
//! it: it runs once, before the first row, and its value takes its place, so that it can choose an
//! index and travel to the shards like any parameter. That is right for a subquery that names
//! nothing of the statement around it and gives the same value at each run; others are refused. It
//! reads by scans, all at the statement's snapshot.

use std::sync::Arc;

use types::{ColumnType, Expr, Table, Value};

use super::names::{Alias, OuterScope, Scope};
use super::{Binder, literal_value, rewrite};
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{LimitPlan, Slot};

/// Rows after which it is clear that there is more than one.
const ROWS_WANTED: u64 = 2;

impl Binder<'_> {
    pub fn subquery(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        let columns = self.subquery_columns(query, 1, scope)?;
        Ok(Expr::Param(columns[0]))
    }

    /// The columns of a row, or of a subquery of several columns.
    pub fn row_of(
        &mut self,
        expr: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Vec<ast::Expr>, SqlError> {
        match expr {
            ast::Expr::Row(columns) => Ok(columns.clone()),
            ast::Expr::Subquery(query) => {
                let count = width(query).expect("the caller knows it for a row");
                let columns = self.subquery_columns(query, count, scope)?;
                Ok(columns.into_iter().map(ast::Expr::BoundColumn).collect())
            }
            other => unreachable!("{other:?} is no row"),
        }
    }

    /// The parameters that stand for the columns of a subquery, with their expected number.
    fn subquery_columns(
        &mut self,
        query: &ast::Query,
        count: usize,
        scope: &Scope<'_>,
    ) -> Result<Vec<u16>, SqlError> {
        check_clauses(query)?;
        let first = self.slots.len();
        let owned = |alias: &Alias<'_>| (alias.name.to_string(), alias.expr.clone());
        self.outer.push(OuterScope {
            table: scope.table.cloned(),
            aliases: scope.aliases.iter().chain(scope.earlier_aliases).map(owned).collect(),
            later_aliases: scope.later_aliases.iter().map(|own| own.name.to_string()).collect(),
            has_aggregates: scope.groups.is_some(),
        });
        let bound = self.query(query);
        self.outer.pop();
        let mut select = bound?;
        if select.columns.len() != count {
            return Err(SqlError::operand_columns(count));
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
        let types: Vec<Option<ColumnType>> = select
            .columns
            .iter()
            .map(|info| {
                (!info.null_type).then(|| match &info.column_type {
                    // Shown in the session's time zone.
                    ColumnType::Timestamp { fsp } => ColumnType::DateTime { fsp: *fsp },
                    other => other.clone(),
                })
            })
            .collect();
        let mut slot = Slot::Subquery(Box::new(select));
        let mut columns = Vec::with_capacity(count);
        for column_type in types {
            columns.push(self.slot(slot, column_type)?);
            slot = Slot::SubqueryColumn;
        }
        Ok(columns)
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

    /// A name that the query does not have, which gives `error` unless a statement around the query has it: an alias of a
    /// literal stands for the literal, other names make the subquery a correlated one.
    pub fn outer_name(
        &mut self,
        name: &ast::ColumnName,
        error: SqlError,
    ) -> Result<Expr, SqlError> {
        for outer in self.outer.iter().rev() {
            let table = outer.table.as_ref();
            if table.is_some_and(|table| Scope::of(table, "field list").column(name).is_ok()) {
                return Err(SqlError::not_supported("correlated subquery"));
            }
            if name.table.is_some() {
                continue;
            }
            let is_it = |alias: &str| alias.eq_ignore_ascii_case(&name.column);
            if let Some((_, expr)) = outer.aliases.iter().find(|(alias, _)| is_it(alias)) {
                return match expr {
                    ast::Expr::Literal(literal) => {
                        Ok(Expr::Const(literal_value(literal, self.environment)?))
                    }
                    _ => Err(SqlError::not_supported("correlated subquery")),
                };
            }
            if outer.later_aliases.iter().any(|alias| is_it(alias)) {
                return Err(SqlError::new(
                    code::ER_ILLEGAL_REFERENCE,
                    format!(
                        "Reference '{}' not supported (forward reference in item list)",
                        name.column
                    ),
                ));
            }
        }
        Err(error)
    }

    /// An aggregate where the query allows none: if its arguments name nothing of the query, and a statement around it
    /// allows aggregates, it is that statement's.
    pub fn misplaced_aggregate(
        &mut self,
        arguments: &[ast::Expr],
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        if self.outer.iter().any(|outer| outer.has_aggregates) {
            let arguments = self.exprs(arguments, scope)?;
            if !arguments.iter().any(rewrite::has_columns) {
                return Err(SqlError::not_supported("aggregate of the outer query in a subquery"));
            }
        }
        Err(SqlError::invalid_group_function())
    }
}

/// Is it an operand of several columns: (a, b), or a subquery that selects several?
pub fn is_row(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Row(_) => true,
        ast::Expr::Subquery(query) => width(query).is_some_and(|count| 1 < count),
        _ => false,
    }
}

/// The columns a query selects, where its text tells.
fn width(query: &ast::Query) -> Option<usize> {
    match &query.body {
        ast::QueryBody::Select(select) => {
            let is_one = |item: &ast::SelectItem| matches!(item, ast::SelectItem::Expr { .. });
            select.items.iter().all(is_one).then_some(select.items.len())
        }
        ast::QueryBody::SetOperation { first, rest } if rest.is_empty() => width(first),
        ast::QueryBody::SetOperation { .. }
        | ast::QueryBody::Values(_)
        | ast::QueryBody::Table(_) => None,
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
