//! How many rows a table gives where others are read before it, and the work of reading it.

use std::sync::Arc;

use types::expr::BinaryOp;
use types::{Expr, IndexKind, Table};

use super::Planner;
use super::terms::Group;
use crate::bind::access::{self, Wanted};
use crate::bind::estimate::{ROWS_PER_KEY, share_of};
use crate::bind::group::plain_column;
use crate::bind::names::Relations;
use crate::bind::{Binder, rewrite};
use crate::error::SqlError;
use crate::parser::ast;
use crate::plan::{AccessPlan, Bound, OuterValue, PartBound, PathKind, Slot};

/// The estimate for relations that are no tables.
pub(super) const QUERY_ROWS: f64 = 1_000.0;
pub(super) const SYSTEM_ROWS: f64 = 100.0;
/// The share of rows that EXISTS and NOT EXISTS leave.
pub(super) const UNPAIRED_SHARE: f64 = 0.5;

/// How a table would be read.
pub(super) struct Reading {
    pub(super) access: AccessPlan,
    /// Slots of the path that a left row fills in; empty where it needs none.
    pub(super) outer: Vec<OuterValue>,
    /// Rows found for one left row, and rows looked at for that.
    pub(super) rows: f64,
    pub(super) scanned: f64,
    /// By a key that relations before it bind.
    pub(super) looked_up: bool,
    /// The share of the rows that the terms about this table alone leave of those found by a key.
    pub(super) kept: f64,
    /// Rows that the table gives: a scan gives those of all left rows.
    pub(super) given: f64,
}

impl Binder<'_> {
    /// Columns that are compared with a key have no more values than the key's table has rows.
    pub(super) fn distinct_values(&self, group: &Group, relations: &Relations) -> Vec<Option<f64>> {
        let mut distinct = vec![None; relations.column_count()];
        let mut pairs = Vec::new();
        group.equal_columns(&mut pairs);
        for scope in &relations.tables {
            let Some(table) = &scope.table else { continue };
            let Some(known) = self.session.statistics(table.id) else { continue };
            let rows = known.rows;
            for index in table.indexes.iter().filter(|index| index.kind != IndexKind::Ordinary) {
                if let [part] = index.parts.as_slice() {
                    let rows = (rows as f64).max(1.0);
                    distinct[scope.first + usize::from(part.column)] = Some(rows);
                }
            }
        }
        loop {
            let before = distinct.clone();
            for &(left, right) in &pairs {
                let (left, right) = (usize::from(left), usize::from(right));
                let fewest = match (distinct[left], distinct[right]) {
                    (Some(left), Some(right)) => Some(f64::min(left, right)),
                    (left, right) => left.or(right),
                };
                // A key has as many values as rows, whatever it is compared with.
                for column in [left, right] {
                    let own = before[column].is_some() && is_key(relations, column);
                    distinct[column] = if own { before[column] } else { fewest };
                }
            }
            if distinct == before {
                return distinct;
            }
        }
    }
}

impl Planner<'_, '_> {
    /// How a table is read behind the relations before it. `takes_slots`: makes the slots that it needs.
    pub(super) fn reading(
        &mut self,
        relation: usize,
        table: &Arc<Table>,
        hints: &[ast::IndexHint],
        terms: &[&Bound],
        takes_slots: bool,
    ) -> Result<Reading, SqlError> {
        let table_rows = self.binder.table_rows(table);
        let scope = Arc::clone(table);
        let first = self.relations.tables[relation].first;
        let alias = &self.relations.tables[relation].alias;
        let allowed = access::allowed_indexes(table, hints, alias)?;
        let (mut own, mut bound_by_others) = (Vec::new(), Vec::new());
        let mut outer: Vec<(u16, u16)> = Vec::new();
        let first_param = self.binder.param_types.len();
        for term in terms.iter().filter(|term| !term.is_local()) {
            let mut expr = term.expr.clone();
            let mut has_outer = false;
            replace_outer(&mut expr, first, scope.columns.len(), &mut |column| {
                has_outer = true;
                let known = outer.iter().find(|(own, _)| *own == column).map(|(_, param)| *param);
                known.unwrap_or_else(|| {
                    let param = u16::try_from(first_param + outer.len()).unwrap_or(u16::MAX);
                    outer.push((column, param));
                    param
                })
            });
            match has_outer {
                true => bound_by_others.push(expr),
                false => own.push(expr),
            }
        }
        let all = own.iter().chain(&bound_by_others).cloned().collect();
        let wanted = Wanted::default();
        let mut access = self.binder.choose_path(table, all, &wanted, None, &allowed);
        let is_outer = |param: u16| outer.iter().any(|(_, own)| *own == param);
        let uses_outer = path_params(&access).into_iter().any(is_outer);
        let looked_up = uses_outer
            && access.path.equal.iter().any(|bound| {
                let mut uses = false;
                for_each_bound_expr(bound, &mut |expr| {
                    rewrite::for_each_param(expr, &mut |param| uses |= is_outer(param));
                });
                uses
            });
        let others: f64 = bound_by_others
            .iter()
            .map(|term| self.share_of_join(term, table, first, table_rows))
            .product();
        if looked_up {
            let rows = self.scanned(table, first, table_rows, &access);
            let own_share: f64 =
                own.iter().map(|term| self.binder.fanout_share(table, term)).product();
            access.filter = rewrite::and_of(own.clone());
            access.residual = rewrite::and_of(own);
            let mut values = Vec::new();
            if takes_slots {
                for (column, param) in outer {
                    values.push(self.outer_value(column, param)?);
                }
            }
            return Ok(Reading {
                access,
                outer: values,
                rows,
                scanned: rows,
                looked_up: true,
                kept: own_share,
                given: rows * own_share,
            });
        }
        let scanned = self.scanned(table, first, table_rows, &access);
        let bounds: Vec<Vec<u8>> = bound_by_others.iter().map(rewrite::encoded).collect();
        let residual = access.residual.iter().flat_map(rewrite::terms_of);
        let alone = residual.filter(|term| !bounds.contains(&rewrite::encoded(term)));
        let left: f64 = alone.map(|term| self.binder.fanout_share(table, term)).product();
        let given = (scanned * left).max(0.1);
        let rows = (scanned * left * others).max(0.1);
        if !bound_by_others.is_empty() {
            access = self.binder.choose_path(table, own, &wanted, None, &allowed);
        }
        Ok(Reading { access, outer: Vec::new(), rows, scanned, looked_up: false, kept: 1.0, given })
    }

    /// How a table is read first, in this order; none if no index has it. The terms are about the table alone.
    pub(super) fn ordered_reading(
        &mut self,
        relation: usize,
        table: &Arc<Table>,
        hints: &[ast::IndexHint],
        terms: &[&Bound],
        order: &[(u16, bool)],
    ) -> Result<Option<Reading>, SqlError> {
        let table_rows = self.binder.table_rows(table);
        let scope = &self.relations.tables[relation];
        let allowed = access::allowed_indexes(table, hints, &scope.alias)?;
        let own = terms.iter().filter(|term| !term.is_local()).map(|term| {
            let mut expr = term.expr.clone();
            replace_outer(&mut expr, scope.first, table.columns.len(), &mut |column| {
                unreachable!("column {column} of another relation")
            });
            expr
        });
        let without_extensions = !self.binder.environment.optimizer_switch.use_index_extensions;
        let own = own.collect();
        let access = access::choose_ordered(table, own, order, without_extensions, &allowed);
        let Some(access) = access else { return Ok(None) };
        let scanned = self.scanned(table, scope.first, table_rows, &access);
        let left = self.binder.residual_share(table, &access);
        let rows = (scanned * left).max(0.1);
        let reading = Reading {
            access,
            outer: Vec::new(),
            rows,
            scanned,
            looked_up: false,
            kept: 1.0,
            given: rows,
        };
        Ok(Some(reading))
    }

    /// Rows that a scan of the path passes.
    fn scanned(
        &mut self,
        table: &Table,
        first: usize,
        table_rows: f64,
        access: &AccessPlan,
    ) -> f64 {
        let path = &access.path;
        let parts = path.equal.len();
        let statistics = self.binder.statistics(table);
        let index = table.indexes[path.index].id;
        let is_known = statistics.is_some_and(|own| own.distinct(index, parts.max(1)).is_some());
        match path.kind == PathKind::Range && 0 < parts && !is_known {
            true => self.rows_of_path(table, first, table_rows, access),
            false => self.binder.path_rows(table, path),
        }
    }

    /// The share of a table's rows that a term with a value of a left row leaves. The table begins at `first`.
    fn share_of_join(&mut self, term: &Expr, table: &Table, first: usize, table_rows: f64) -> f64 {
        let Expr::Binary(BinaryOp::Equal, left, right) = term else { return share_of(term) };
        let Some(column) = plain_column(left).or_else(|| plain_column(right)) else {
            return share_of(term);
        };
        let known = self.binder.column_values(table, column);
        let values = known.or(self.distinct[first + usize::from(column)]);
        1.0 / values.unwrap_or(table_rows / ROWS_PER_KEY).max(1.0)
    }

    /// Rows that agree in the bound parts of an index.
    fn rows_of_path(
        &self,
        table: &Table,
        first: usize,
        table_rows: f64,
        access: &AccessPlan,
    ) -> f64 {
        let mut rows = table_rows;
        let parts = &table.indexes[access.path.index].parts;
        for (number, (part, bound)) in parts.iter().zip(&access.path.equal).enumerate() {
            let known = self.distinct[first + usize::from(part.column)];
            // A key that nothing is known about has some rows for each first part, and hardly more than one for two.
            let guess = if number == 0 { table_rows / ROWS_PER_KEY } else { ROWS_PER_KEY };
            let values = match bound {
                PartBound::In(list) => list.len() as f64,
                _ => 1.0,
            };
            rows *= values / known.unwrap_or(guess).max(1.0);
        }
        rows.clamp(1.0, table_rows)
    }

    /// The slot that a left row's column fills in; `param` is the number that it must have.
    fn outer_value(&mut self, column: u16, param: u16) -> Result<OuterValue, SqlError> {
        let own = self.relations.column(usize::from(column));
        let number = self.binder.slot(Slot::Outer, Some(own.column_type.clone()))?;
        assert_eq!(number, param, "slots are made in the order of their numbers");
        let first = u16::try_from(self.binder.param_kinds.len()).expect("counted");
        Ok(OuterValue { slot: number - first, value: Expr::Column(column) })
    }
}

/// Is the column the whole of a unique key?
fn is_key(relations: &Relations, column: usize) -> bool {
    let scope = relations.table_of(column);
    scope.table.as_ref().is_some_and(|table| {
        table.indexes.iter().any(|index| {
            let is_it = |part: &types::IndexPart| scope.first + usize::from(part.column) == column;
            index.kind != IndexKind::Ordinary
                && matches!(index.parts.as_slice(), [part] if is_it(part))
        })
    })
}

/// Columns of the table at `first` become positions in it; others what `param` says.
fn replace_outer(expr: &mut Expr, first: usize, count: usize, param: &mut dyn FnMut(u16) -> u16) {
    if let Expr::Column(column) = expr {
        match usize::from(*column).checked_sub(first).filter(|position| *position < count) {
            Some(position) => *column = u16::try_from(position).expect("tables are narrow"),
            None => *expr = Expr::Param(param(*column)),
        }
        return;
    }
    rewrite::for_each_child_mut(expr, &mut |child| replace_outer(child, first, count, param));
}

fn path_params(access: &AccessPlan) -> Vec<u16> {
    let mut params = Vec::new();
    access.path.for_each_expr(&mut |expr| {
        rewrite::for_each_param(expr, &mut |param| params.push(param));
    });
    params
}

fn for_each_bound_expr(bound: &PartBound, visit: &mut dyn FnMut(&Expr)) {
    match bound {
        PartBound::Equal(expr) | PartBound::NullSafeEqual(expr) => visit(expr),
        PartBound::IsNull => {}
        PartBound::In(list) => list.iter().for_each(visit),
    }
}
