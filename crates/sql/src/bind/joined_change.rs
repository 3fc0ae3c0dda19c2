//! UPDATE and DELETE of several tables, or of some that others are joined to.

use std::borrow::Cow;
use std::sync::Arc;

use client::Lock;
use types::Table;

use super::Binder;
use super::change::number_for;
use super::from::{From, RelationSource};
use super::names::{Relations, Scope};
use super::semi_join::and_terms;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{
    AssignedValue, AssignmentPlan, ChangedTable, JoinedChangePlan, SelectPlan, Source, TableChange,
};
use crate::result::PlanColumns;

/// Is it a statement on one table, by its name?
pub fn is_single(tables: &[ast::TableReference]) -> bool {
    let [reference] = tables else { return false };
    let is_table = match &reference.first {
        ast::TableFactor::Table { .. } => true,
        ast::TableFactor::Nested(inner) => is_single(inner),
        ast::TableFactor::Derived { .. } | ast::TableFactor::Unsupported { .. } => false,
    };
    is_table && reference.joins.is_empty()
}

impl Binder<'_> {
    /// Is a change of one table better done over a join: has its WHERE a subquery that can find the rows?
    pub fn is_better_joined(
        &mut self,
        tables: &[ast::TableReference],
        filter: Option<&ast::Expr>,
    ) -> bool {
        let is_in = |term: &Cow<'_, ast::Expr>| {
            matches!(**term, ast::Expr::InSubquery { negated: false, .. })
        };
        let terms = filter.map(and_terms).unwrap_or_default();
        if !terms.iter().any(is_in) {
            return false;
        }
        self.forgotten(|binder| {
            let mut terms = terms.clone();
            let count = terms.len();
            let Ok(mut from) = binder.from(tables) else { return false };
            let taken = binder.semi_joins(&mut terms, &mut from);
            taken.is_ok() && terms.len() < count
        })
    }

    pub fn joined_update(&mut self, update: &ast::Update) -> Result<JoinedChangePlan, SqlError> {
        check_ends("UPDATE", &update.order_by, update.limit.as_ref())?;
        let common = self.begin_with(update.with.as_ref())?;
        let from = self.from(&update.tables)?;
        let relations = from.relations.clone();
        let scope = Scope::of(&relations, "field list");
        // By relation: the assignments to its columns.
        let mut assigned: Vec<(usize, Vec<&ast::Assignment>)> = Vec::new();
        for assignment in &update.assignments {
            let relation = relations.position_of(scope.column(&assignment.column)?);
            match assigned.iter_mut().find(|(own, _)| *own == relation) {
                Some((_, list)) => list.push(assignment),
                None => assigned.push((relation, vec![assignment])),
            }
        }
        let mut tables = Vec::new();
        for (relation, _) in &assigned {
            tables.push(changed_table(&from, &relations, *relation, "UPDATE")?);
        }
        self.changes = tables.iter().map(|table| Arc::clone(&table.table)).collect();
        for (table, (_, assignments)) in tables.iter_mut().zip(assigned) {
            let mut bound = Vec::new();
            for assignment in assignments {
                let number = scope.column(&assignment.column)?;
                let first = relations.tables[usize::from(table.relation)].first;
                let column = u16::try_from(number - first).expect("tables are narrow");
                let value = match &assignment.value {
                    ast::Expr::Default(None) => AssignedValue::Default,
                    value => {
                        let mut value = self.bound(value, &scope)?;
                        number_for(&mut value.expr, column, &table.table);
                        AssignedValue::Expr(value)
                    }
                };
                bound.push(AssignmentPlan { column, value });
            }
            table.change = TableChange::Update(bound);
        }
        let plan = self.joined_change(from, update.filter.as_ref(), tables, update.ignore);
        self.common.truncate(common);
        plan
    }

    pub fn joined_delete(&mut self, delete: &ast::Delete) -> Result<JoinedChangePlan, SqlError> {
        check_ends("DELETE", &delete.order_by, delete.limit.as_ref())?;
        let common = self.begin_with(delete.with.as_ref())?;
        let from = self.from(&delete.tables)?;
        let relations = from.relations.clone();
        let mut tables: Vec<ChangedTable> = Vec::new();
        if delete.targets.is_empty() {
            // The one table of FROM.
            tables.push(changed_table(&from, &relations, 0, "DELETE")?);
        }
        for target in &delete.targets {
            let named = relations.tables.iter().position(|table| {
                table.alias == target.name
                    && target
                        .schema
                        .as_ref()
                        .is_none_or(|own| own.eq_ignore_ascii_case(&table.database))
            });
            let relation = named.ok_or_else(|| {
                let message = format!("Unknown table '{}' in MULTI DELETE", target.name);
                SqlError::new(code::ER_UNKNOWN_TABLE, message)
            })?;
            if tables.iter().any(|table| usize::from(table.relation) == relation) {
                return Err(SqlError::not_unique_table(&target.name));
            }
            tables.push(changed_table(&from, &relations, relation, "DELETE")?);
        }
        self.changes = tables.iter().map(|table| Arc::clone(&table.table)).collect();
        let plan = self.joined_change(from, delete.filter.as_ref(), tables, delete.ignore);
        self.common.truncate(common);
        plan
    }

    fn joined_change(
        &mut self,
        mut from: From,
        filter: Option<&ast::Expr>,
        tables: Vec<ChangedTable>,
        ignore: bool,
    ) -> Result<JoinedChangePlan, SqlError> {
        let mut terms = filter.map(and_terms).unwrap_or_default();
        self.semi_joins(&mut terms, &mut from)?;
        let relations = &from.relations.clone();
        let filter = self.bound_terms(&terms, &Scope::of(relations, "where clause"))?;
        let mut locks = vec![Lock::None; relations.tables.len()];
        // Changed rows are read whole.
        let mut items = Vec::new();
        for table in &tables {
            locks[usize::from(table.relation)] = Lock::Exclusive;
            let first = relations.tables[usize::from(table.relation)].first;
            items.extend(all_columns(&table.table, first));
            if let TableChange::Update(assignments) = &table.change {
                items.extend(assignments.iter().filter_map(|own| match &own.value {
                    AssignedValue::Default => None,
                    AssignedValue::Expr(value) => Some(value.clone()),
                }));
            }
        }
        let columns = PlanColumns::new(Vec::new());
        let mut rows = SelectPlan::new(columns, Source::Nothing { filter: None }, items);
        self.join(&mut rows, from, relations, filter, &locks)?;
        rows.items = Vec::new();
        Ok(JoinedChangePlan { rows, tables, ignore })
    }
}

/// Items that name all columns of a table, hidden ones too.
fn all_columns(table: &Table, first: usize) -> impl Iterator<Item = crate::plan::Bound> {
    (0..table.columns.len()).map(move |position| {
        let column = u16::try_from(first + position).expect("columns are counted");
        crate::plan::Bound::pure(types::Expr::Column(column))
    })
}

/// 1288 for a relation that is no table.
fn changed_table(
    from: &From,
    relations: &Relations,
    relation: usize,
    verb: &str,
) -> Result<ChangedTable, SqlError> {
    let RelationSource::Table { table, .. } = &from.sources[relation] else {
        return Err(SqlError::new(
            code::ER_NON_UPDATABLE_TABLE,
            format!(
                "The target table {} of the {verb} is not updatable",
                relations.tables[relation].alias
            ),
        ));
    };
    Ok(ChangedTable {
        relation: u16::try_from(relation).expect("relations are few"),
        layout: table.row_layout(),
        table: Arc::clone(table),
        change: TableChange::Delete,
    })
}

/// ORDER BY and LIMIT are for a change of one table.
fn check_ends(
    verb: &str,
    order_by: &[ast::OrderItem],
    limit: Option<&ast::Expr>,
) -> Result<(), SqlError> {
    let clause = match (order_by.is_empty(), limit) {
        (false, _) => "ORDER BY",
        (true, Some(_)) => "LIMIT",
        (true, None) => return Ok(()),
    };
    Err(SqlError::new(code::ER_WRONG_USAGE, format!("Incorrect usage of {verb} and {clause}")))
}
