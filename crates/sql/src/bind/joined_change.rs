//! UPDATE and DELETE of several tables, or of some that others are joined to.

use std::borrow::Cow;
use std::sync::Arc;

use client::Lock;
use types::Table;

use super::Binder;
use super::change::check_not_generated;
use super::from::{From, RelationSource};
use super::group::plain_column;
use super::merge::Flat;
use super::names::{Relations, Scope};
use super::semi_join::and_terms;
use super::target::not_updatable;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{
    AssignedValue, AssignmentPlan, Bound, ChangedTable, JoinedChangePlan, RowRules, SelectPlan,
    Source, TableChange,
};
use crate::result::PlanColumns;

/// Is it a statement on one table, by its name?
pub fn is_single(tables: &[ast::TableReference]) -> bool {
    let [reference] = tables else { return false };
    let is_table = match &reference.first {
        ast::TableFactor::Table { .. } => true,
        ast::TableFactor::Nested(inner) => is_single(inner),
        ast::TableFactor::Derived { .. } | ast::TableFactor::JsonTable(_) => false,
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
        let mut numbers = Vec::new();
        for assignment in &update.assignments {
            numbers.push(scope.column(&assignment.column)?);
        }
        // By relation that is written: which of its tables is changed.
        let mut changed: Vec<(usize, usize)> = Vec::new();
        let mut tables = Vec::new();
        for &number in &numbers {
            let relation = relations.position_of(number);
            let (inner, column) = assigned_column(&from, &relations, number)?;
            let scope = &relations.tables[relation];
            self.check_locked(&scope.database, &scope.alias, true)?;
            match changed.iter().find(|(own, _)| *own == relation) {
                Some((_, other)) if *other != inner => {
                    let table = &relations.tables[relation];
                    return Err(SqlError::new(
                        code::ER_VIEW_MULTIUPDATE,
                        format!(
                            "Can not modify more than one base table through a join view '{}.{}'",
                            table.database, table.alias
                        ),
                    ));
                }
                Some(_) => {}
                None => changed.push((relation, inner)),
            }
            tables.push((inner_table(&from.sources[relation], inner), column));
        }
        self.changes = tables.iter().map(|(table, _)| Arc::clone(table)).collect();
        let mut assigned = Vec::new();
        for ((assignment, number), (table, column)) in
            update.assignments.iter().zip(numbers).zip(&tables)
        {
            let own = &table.columns[usize::from(*column)];
            let value = match &assignment.value {
                ast::Expr::Default(None) if own.generated.is_some() => continue,
                ast::Expr::Default(None)
                    if matches!(own.default, types::ColumnDefault::Expression(_)) =>
                {
                    let what = "DEFAULT of a column with DEFAULT (expression) in a change of several tables";
                    return Err(SqlError::not_supported(what));
                }
                ast::Expr::Default(None) => AssignedValue::Default,
                value => {
                    check_not_generated(table, *column)?;
                    let mut value = self.bound(value, &scope)?;
                    self.assigned(&mut value.expr, *column, table, &scope);
                    AssignedValue::Expr(value)
                }
            };
            assigned.push((number, value));
        }
        let changes = Changes { assigned, deleted: Vec::new(), ignore: update.ignore };
        let plan = self.joined_change(from, update.filter.as_ref(), changes);
        self.common.truncate(common);
        plan
    }

    pub fn joined_delete(&mut self, delete: &ast::Delete) -> Result<JoinedChangePlan, SqlError> {
        check_ends("DELETE", &delete.order_by, delete.limit.as_ref())?;
        let common = self.begin_with(delete.with.as_ref())?;
        let from = self.from(&delete.tables)?;
        let relations = from.relations.clone();
        let mut deleted: Vec<usize> = Vec::new();
        if delete.targets.is_empty() {
            // The one table of FROM.
            deleted.push(0);
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
            if deleted.contains(&relation) {
                return Err(SqlError::not_unique_table(&target.name));
            }
            deleted.push(relation);
        }
        let mut tables = Vec::new();
        for &relation in &deleted {
            let scope = &relations.tables[relation];
            self.check_locked(&scope.database, &scope.alias, true)?;
            tables.push(deleted_table(&from, &relations, relation)?);
        }
        self.changes = tables;
        let changes = Changes { assigned: Vec::new(), deleted, ignore: delete.ignore };
        let plan = self.joined_change(from, delete.filter.as_ref(), changes);
        self.common.truncate(common);
        plan
    }

    fn joined_change(
        &mut self,
        mut from: From,
        filter: Option<&ast::Expr>,
        changes: Changes,
    ) -> Result<JoinedChangePlan, SqlError> {
        let mut terms = filter.map(and_terms).unwrap_or_default();
        self.semi_joins(&mut terms, &mut from)?;
        let relations = std::mem::take(&mut from.relations);
        let mut filter = self.bound_terms(&terms, &Scope::of(&relations, "where clause"))?;
        let values = changes.assigned.iter().filter_map(|(_, value)| match value {
            AssignedValue::Default => None,
            AssignedValue::Expr(value) => Some(value.clone()),
        });
        let columns = PlanColumns::new(Vec::new());
        let nothing = Source::Nothing { filter: None };
        let mut rows = SelectPlan::new(columns, nothing, values.collect());
        let mut flat = self.flatten(from, relations, true)?;
        if !flat.is_same {
            self.put_into_plan(&mut flat, &mut rows, &mut filter);
        }
        if !flat.checks.is_empty() {
            let what = "a view WITH CHECK OPTION in a change of several tables";
            return Err(SqlError::not_supported(what));
        }
        let mut tables = changed_tables(&flat, changes.assigned, &changes.deleted, &rows.items);
        for changed in &mut tables {
            if matches!(changed.change, TableChange::Update(_)) {
                changed.rules = self.row_rules(&changed.table, false)?;
            }
        }
        let Flat { from, relations, .. } = flat;
        let mut locks = vec![Lock::None; relations.tables.len()];
        // Changed rows are read whole.
        for table in &tables {
            locks[usize::from(table.relation)] = Lock::Exclusive;
            let first = relations.tables[usize::from(table.relation)].first;
            rows.items.extend(all_columns(&table.table, first));
        }
        self.join(&mut rows, from, &relations, filter, &locks)?;
        rows.items = Vec::new();
        Ok(JoinedChangePlan { rows, tables, ignore: changes.ignore })
    }
}

/// What a statement changes, by the numbers of columns and relations that it names.
struct Changes {
    assigned: Vec<(usize, AssignedValue)>,
    deleted: Vec<usize>,
    ignore: bool,
}

/// By relation of the join. `values` are those that are assigned, over its columns.
fn changed_tables(
    flat: &Flat,
    assigned: Vec<(usize, AssignedValue)>,
    deleted: &[usize],
    values: &[Bound],
) -> Vec<ChangedTable> {
    let mut tables: Vec<ChangedTable> = Vec::new();
    let table_of = |relation: usize, change: TableChange| {
        let RelationSource::Table { table, .. } = &flat.from.sources[relation] else {
            unreachable!("only tables were taken")
        };
        ChangedTable {
            relation: u16::try_from(relation).expect("relations are few"),
            layout: table.row_layout(),
            table: Arc::clone(table),
            change,
            rules: RowRules::default(),
        }
    };
    let mut values = values.iter();
    for (number, value) in assigned {
        let number = match flat.is_same {
            true => number,
            false => usize::from(plain_column(&flat.values[number]).expect("looked at before")),
        };
        let relation = flat.relations.position_of(number);
        let column = number - flat.relations.tables[relation].first;
        let value = match value {
            AssignedValue::Default => AssignedValue::Default,
            AssignedValue::Expr(_) => {
                AssignedValue::Expr(values.next().expect("one for each").clone())
            }
        };
        let column = u16::try_from(column).expect("tables are narrow");
        let assignment = AssignmentPlan { column, value };
        let mut known = tables.iter_mut();
        match known.find(|table| usize::from(table.relation) == relation).map(|own| &mut own.change)
        {
            Some(TableChange::Update(assignments)) => assignments.push(assignment),
            _ => tables.push(table_of(relation, TableChange::Update(vec![assignment]))),
        }
    }
    for &relation in deleted {
        let placed = match &flat.from.origins {
            None => relation,
            Some(origins) => {
                origins.iter().position(|origin| *origin == relation).expect("each has a place")
            }
        };
        tables.push(table_of(placed, TableChange::Delete));
    }
    tables
}

/// Items that name all columns of a table, hidden ones too.
fn all_columns(table: &Table, first: usize) -> impl Iterator<Item = Bound> {
    (0..table.columns.len()).map(move |position| {
        let column = u16::try_from(first + position).expect("columns are counted");
        Bound::pure(types::Expr::Column(column))
    })
}

/// Which relation of a view's own (0 for a table) and which column of it an assignment changes: 1288 where it is no table's, 1348
/// for a computed one.
fn assigned_column(
    from: &From,
    relations: &Relations,
    number: usize,
) -> Result<(usize, u16), SqlError> {
    let relation = relations.position_of(number);
    let scope = &relations.tables[relation];
    let position = number - scope.first;
    match &from.sources[relation] {
        RelationSource::Table { .. } => {
            Ok((0, u16::try_from(position).expect("tables are narrow")))
        }
        RelationSource::Merged(merged) if merged.view.is_some() => {
            let column = plain_column(&merged.values[position]).ok_or_else(|| {
                let name = &scope.columns[position].name;
                let message = format!("Column '{name}' is not updatable");
                SqlError::new(code::ER_NONUPDATEABLE_COLUMN, message)
            })?;
            let inner = merged.relations.position_of(usize::from(column));
            if !matches!(merged.from.sources[inner], RelationSource::Table { .. }) {
                return Err(not_updatable(&scope.alias, "UPDATE"));
            }
            let first = merged.relations.tables[inner].first;
            Ok((inner, column - u16::try_from(first).expect("columns are counted")))
        }
        _ => Err(not_updatable(&scope.alias, "UPDATE")),
    }
}

fn inner_table(source: &RelationSource, inner: usize) -> Arc<Table> {
    match source {
        RelationSource::Table { table, .. } => Arc::clone(table),
        RelationSource::Merged(merged) => inner_table(&merged.from.sources[inner], 0),
        _ => unreachable!("looked at before"),
    }
}

/// 1288 for a relation that is no table, 1395 for a view of several.
fn deleted_table(
    from: &From,
    relations: &Relations,
    relation: usize,
) -> Result<Arc<Table>, SqlError> {
    let scope = &relations.tables[relation];
    match &from.sources[relation] {
        RelationSource::Table { table, .. } => Ok(Arc::clone(table)),
        RelationSource::Merged(merged) if merged.view.is_some() => {
            match merged.from.sources.as_slice() {
                [RelationSource::Table { table, .. }] => Ok(Arc::clone(table)),
                [_] => Err(not_updatable(&scope.alias, "DELETE")),
                _ => Err(SqlError::new(
                    code::ER_VIEW_DELETE_MERGE_VIEW,
                    format!("Can not delete from join view '{}.{}'", scope.database, scope.alias),
                )),
            }
        }
        _ => Err(not_updatable(&scope.alias, "DELETE")),
    }
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
