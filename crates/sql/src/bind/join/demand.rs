//! LIMIT: the order of joins, and the path of the first table, where the query needs only its first rows.
//!
//! The rows of a join come in the order of the table that is read first, unless a hash join keeps its side. So where ORDER BY
//! names columns of one table, of which an index has them in this order, that table may be read first, along that index, and the
//! statement stops when it has enough rows. That is less work than a sort of all rows if they are many: of the rows that the
//! query would have without LIMIT, the demand lets a share be read. A filter that leaves few rows makes the share large, and
//! then a plan that begins with the filter is less work, and sorts.

use types::{Expr, Value};

use super::Planner;
use super::order::{Search, Way};
use super::terms::Member;
use crate::bind::Binder;
use crate::bind::estimate::{LOOKUP_WORK, ROW_WORK, SORT_WORK};
use crate::bind::group::plain_column;
use crate::bind::names::Relations;
use crate::error::SqlError;
use crate::plan::{LimitPlan, SelectPlan, magnitude};

/// The rows of a LIMIT whose value is not known.
const LIMIT_ROWS: f64 = 100.0;

/// The rows that a query takes.
pub(super) struct Demand {
    rows: f64,
    order: Option<Order>,
    /// Whether the rows are read in that order; none: not decided yet.
    is_ordered: Option<bool>,
    /// Work of the joins above the group at hand, for each of its rows.
    work_above: f64,
}

/// ORDER BY: columns of one table, by their positions in it, and whether each is descending.
struct Order {
    relation: usize,
    columns: Vec<(u16, bool)>,
}

impl Demand {
    /// The order in which the rows of the first table are read.
    pub(super) fn order(&self) -> Option<&Vec<(u16, bool)>> {
        self.order.as_ref().filter(|_| self.is_ordered()).map(|order| &order.columns)
    }
    pub(super) fn is_ordered(&self) -> bool {
        self.is_ordered == Some(true)
    }
}

impl Binder<'_> {
    /// The demand of LIMIT, if the rows need not all be seen first, and could come in the order of ORDER BY.
    pub(super) fn demand(&mut self, plan: &SelectPlan, relations: &Relations) -> Option<Demand> {
        let limit = plan.limit.as_ref()?;
        if plan.grouping.is_some() || plan.windows.is_some() || plan.calc_found_rows {
            return None;
        }
        let order = match plan.sort.is_empty() {
            true => None,
            false if !self.environment.optimizer_switch.prefer_ordering_index => return None,
            false => Some(order_of(plan, relations)?),
        };
        let rows = self.limit_rows(limit);
        Some(Demand { rows, order, is_ordered: None, work_above: 0.0 })
    }

    /// Rows up to the last one that a LIMIT lets through.
    pub fn limit_rows(&mut self, limit: &LimitPlan) -> f64 {
        let exprs = [Some(&limit.count), limit.offset.as_ref()];
        exprs.into_iter().flatten().map(|expr| self.limit_value_known(expr)).sum()
    }

    fn limit_value_known(&mut self, expr: &Expr) -> f64 {
        let value = match expr {
            Expr::Const(value) => Some(value),
            Expr::Param(number) => self.values.get(usize::from(*number)),
            _ => None,
        };
        if let Expr::Param(number) = expr {
            // A plan that was made without the value is made again with it.
            let size = (*number, value.map_or(u32::MAX, magnitude));
            if !self.limit_sizes.contains(&size) {
                self.limit_sizes.push(size);
            }
        }
        match value {
            Some(Value::UInt(count)) => *count as f64,
            Some(Value::Int(count)) => *count as f64,
            _ => LIMIT_ROWS,
        }
    }
}

fn order_of(plan: &SelectPlan, relations: &Relations) -> Option<Order> {
    let mut relation = None;
    let mut columns = Vec::with_capacity(plan.sort.len());
    for (item, descending) in &plan.sort {
        let column = usize::from(plain_column(&plan.items[*item].expr)?);
        let own = relations.position_of(column);
        if own != *relation.get_or_insert(own) {
            return None;
        }
        let scope = &relations.tables[own];
        scope.table.as_ref()?;
        let position = u16::try_from(column - scope.first).expect("tables are narrow");
        columns.push((position, *descending));
    }
    Some(Order { relation: relation?, columns })
}

impl Member {
    /// Do its rows come in the order in which this relation is read, if that is read first?
    fn drives(&self, relation: usize) -> bool {
        match self {
            Member::Relation(own) => *own == relation,
            Member::Outer(outer) => outer.left.members.iter().any(|own| own.drives(relation)),
        }
    }
}

impl Planner<'_, '_> {
    /// The order of the members of a group whose first rows are the first ones of the query, and whether they are read in the order
    /// that the query asks for. `plain` is the best one without a demand.
    pub(super) fn demanded_order(
        &mut self,
        search: &Search<'_>,
        plain: Way,
    ) -> Result<Way, SqlError> {
        let demand = self.demand.as_mut().expect("the caller has looked");
        let rows = plain.rows.max(1.0);
        let share = (demand.rows / rows).min(1.0);
        let Some(order) = &demand.order else {
            self.share = share;
            return Ok(self.best_way(search).unwrap_or(plain));
        };
        let relation = order.relation;
        let first = search.members.iter().position(|member| member.drives(relation));
        let Some(first) = first.filter(|_| demand.is_ordered != Some(false)) else {
            demand.is_ordered = Some(false);
            return Ok(plain);
        };
        if search.members.len() == 1 && matches!(search.members[0], Member::Outer(_)) {
            // Decided where the table itself is.
            demand.work_above += LOOKUP_WORK + ROW_WORK;
            return Ok(plain);
        }
        let sorted = plain.work + rows * (demand.work_above + SORT_WORK);
        let above = share * rows * demand.work_above;
        let is_decided = demand.is_ordered.replace(true).is_some();
        self.share = share;
        let way = self.best_way(&Search { first: Some(first), ..*search });
        match way {
            Some(way) if is_decided || way.work + above < sorted => Ok(way),
            _ => {
                self.demand.as_mut().expect("looked at above").is_ordered = Some(false);
                self.share = 1.0;
                Ok(plain)
            }
        }
    }

    /// The columns in whose order the first member of this search is to come.
    pub(super) fn order_of_first(&self, search: &Search<'_>) -> Option<Vec<(u16, bool)>> {
        search.first?;
        self.demand.as_ref()?.order().cloned()
    }
}
