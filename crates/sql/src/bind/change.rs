//! INSERT, REPLACE, UPDATE, DELETE.

use std::cell::RefCell;
use std::sync::Arc;

use client::Assignment;
use types::{Expr, Index, IndexKind, IndexPart, Table};

use super::access::{self, Wanted};
use super::expr::bytes_as_number;
use super::names::{Relations, Scope, SourceScope};
use super::{Binder, rewrite};
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{
    AssignedValue, AssignmentPlan, ChangeTarget, DeletePlan, InsertMode, InsertPlan, InsertSource,
    InsertValue, PathKind, SelectPlan, UpdatePlan,
};

/// The table of an UPDATE or DELETE, its alias and hints.
type SingleTable = (Arc<Table>, Option<String>, Vec<ast::IndexHint>);

impl Binder<'_> {
    pub fn insert(&mut self, insert: &ast::Insert) -> Result<InsertPlan, SqlError> {
        let mut plan = self.insert_head(insert)?;
        while self.insert_rows(insert, &mut plan, usize::MAX)? {}
        self.insert_tail(insert, plan)
    }

    /// The plan of an INSERT without its rows and what comes behind them.
    pub fn insert_head(&mut self, insert: &ast::Insert) -> Result<InsertPlan, SqlError> {
        if !insert.partitions.is_empty() {
            return Err(SqlError::not_supported("PARTITION"));
        }
        let table = self.changeable_table(&insert.table)?;
        let relations = Relations::of_table(&table, None);
        let scope = Scope::of(&relations, "field list");
        let mut columns: Vec<u16> = Vec::new();
        for name in &insert.columns {
            let column = position_u16(scope.column(name)?);
            if columns.contains(&column) {
                return Err(SqlError::column_specified_twice(&name.column));
            }
            columns.push(column);
        }
        if insert.columns.is_empty() {
            columns = visible_columns(&table);
        }
        let mut mode = InsertMode::Insert;
        let source = match &insert.source {
            ast::InsertSource::Values(rows) => InsertSource::Values(Vec::with_capacity(rows.len())),
            ast::InsertSource::Query(query) if insert.on_duplicate.is_empty() => {
                let select = self.query(query)?;
                if select.columns.len() != columns.len() {
                    return Err(SqlError::value_count(1));
                }
                InsertSource::Select(Box::new(select))
            }
            ast::InsertSource::Query(query) => {
                let (select, assignments) =
                    self.select_or_update(query, columns.len(), &insert.on_duplicate, &table)?;
                mode = InsertMode::Update(assignments);
                InsertSource::Select(Box::new(select))
            }
        };
        self.changes = vec![table.clone()];
        Ok(InsertPlan {
            layout: table.row_layout(),
            table,
            columns,
            source,
            mode,
            ignore: insert.ignore,
        })
    }

    /// The SELECT and the ON DUPLICATE KEY UPDATE of one INSERT. The assignments may name the table that is read: columns
    /// they name are selected behind those that are inserted.
    fn select_or_update(
        &mut self,
        query: &ast::Query,
        column_count: usize,
        assignments: &[ast::Assignment],
        table: &Arc<Table>,
    ) -> Result<(SelectPlan, Vec<AssignmentPlan>), SqlError> {
        let source = self.relations_of_query(query)?;
        let source = source.map(|relations| SourceScope { relations, columns: RefCell::default() });
        let relations = Relations::of_table(table, None);
        let scope = Scope {
            new_values: true,
            source: source.as_ref(),
            ..Scope::of(&relations, "field list")
        };
        self.changes = vec![table.clone()];
        let assignments = self.assignments(assignments, table, &scope)?;
        self.changes = Vec::new();
        let named = source.map(|source| (source.columns.into_inner(), source.relations));
        let mut query = query.clone();
        let mut count = column_count;
        if let (Some((columns, source)), ast::QueryBody::Select(select)) = (named, &mut query.body)
        {
            if select.distinct && !columns.is_empty() {
                return Err(SqlError::not_supported(
                    "columns of SELECT DISTINCT in ON DUPLICATE KEY UPDATE",
                ));
            }
            count += columns.len();
            select.items.extend(columns.into_iter().map(|column| ast::SelectItem::Expr {
                expr: ast::Expr::Column(source.name_of(column)),
                alias: None,
                text: String::new(),
            }));
        }
        let select = self.query(&query)?;
        if select.columns.len() != count {
            return Err(SqlError::value_count(1));
        }
        Ok((select, assignments))
    }

    /// Binds up to `row_count` more rows of VALUES; false when there are none left.
    pub fn insert_rows(
        &mut self,
        insert: &ast::Insert,
        plan: &mut InsertPlan,
        row_count: usize,
    ) -> Result<bool, SqlError> {
        let InsertPlan { table, columns, source, .. } = plan;
        let (ast::InsertSource::Values(rows), InsertSource::Values(bound_rows)) =
            (&insert.source, source)
        else {
            return Ok(false);
        };
        let relations = Relations::of_table(table, None);
        let scope = Scope::of(&relations, "field list");
        for row in rows[bound_rows.len()..].iter().take(row_count) {
            // `VALUES ()` gives every column its default.
            let all_default = row.is_empty() && insert.columns.is_empty();
            if row.len() != columns.len() && !all_default {
                return Err(SqlError::value_count(bound_rows.len() + 1));
            }
            let mut bound_row = Vec::with_capacity(row.len());
            for (value, column) in row.iter().zip(&*columns) {
                bound_row.push(self.insert_value(value, *column, table, &scope)?);
            }
            bound_rows.push(bound_row);
        }
        Ok(bound_rows.len() < rows.len())
    }

    /// Completes the plan.
    pub fn insert_tail(
        &mut self,
        insert: &ast::Insert,
        mut plan: InsertPlan,
    ) -> Result<InsertPlan, SqlError> {
        if let InsertSource::Values(rows) = &plan.source {
            if rows.iter().all(Vec::is_empty) && insert.columns.is_empty() {
                plan.columns.clear();
            } else if rows.iter().any(Vec::is_empty) && !plan.columns.is_empty() {
                let number = rows.iter().position(Vec::is_empty).unwrap_or(0);
                return Err(SqlError::value_count(number + 1));
            }
        }
        let InsertPlan { table, columns, .. } = &plan;
        let relations = Relations::of_table(table, None);
        let is_bound = matches!(plan.mode, InsertMode::Update(_));
        if insert.replace {
            plan.mode = InsertMode::Replace;
        } else if !insert.on_duplicate.is_empty() && !is_bound {
            let row_alias = insert.row_alias.as_ref();
            if row_alias.is_some_and(|alias| alias.name == table.name) {
                return Err(SqlError::not_unique_table(&table.name));
            }
            let names: Vec<String> = match row_alias {
                Some(alias) if alias.columns.is_empty() => Vec::new(),
                Some(alias) => {
                    if alias.columns.len() != columns.len() {
                        return Err(SqlError::value_count(1));
                    }
                    // By position in the table, so that a name finds its column.
                    let mut names = vec![String::new(); table.columns.len()];
                    for (name, column) in alias.columns.iter().zip(columns) {
                        names[usize::from(*column)].clone_from(name);
                    }
                    names
                }
                None => Vec::new(),
            };
            let scope = Scope {
                new_values: true,
                row_alias: row_alias.map(|alias| (alias.name.as_str(), names.as_slice())),
                ..Scope::of(&relations, "field list")
            };
            plan.mode =
                InsertMode::Update(self.assignments(&insert.on_duplicate, table, &scope)?);
        }
        Ok(plan)
    }

    fn insert_value(
        &mut self,
        value: &ast::Expr,
        column: u16,
        table: &Arc<Table>,
        scope: &Scope<'_>,
    ) -> Result<InsertValue, SqlError> {
        if matches!(value, ast::Expr::Default(None)) {
            return Ok(InsertValue::Default);
        }
        let mut bound = self.bound(value, scope)?;
        number_for(&mut bound.expr, column, table);
        Ok(InsertValue::Expr(bound))
    }

    fn assignments(
        &mut self,
        assignments: &[ast::Assignment],
        table: &Arc<Table>,
        scope: &Scope<'_>,
    ) -> Result<Vec<AssignmentPlan>, SqlError> {
        let mut bound = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let column = position_u16(scope.column(&assignment.column)?);
            let value = match &assignment.value {
                ast::Expr::Default(None) => AssignedValue::Default,
                value => {
                    let mut value = self.bound(value, scope)?;
                    number_for(&mut value.expr, column, table);
                    AssignedValue::Expr(value)
                }
            };
            bound.push(AssignmentPlan { column, value });
        }
        Ok(bound)
    }

    pub fn update(&mut self, update: &ast::Update) -> Result<UpdatePlan, SqlError> {
        let common = self.begin_with(update.with.as_ref())?;
        let (table, alias, hints) = self.single_table(&update.tables, "multi-table UPDATE")?;
        self.changes = vec![table.clone()];
        let relations = Relations::of_table(&table, alias.as_deref());
        let assignments = {
            let scope = Scope::of(&relations, "field list");
            self.assignments(&update.assignments, &table, &scope)?
        };
        let target = self.change_target(
            table,
            &relations,
            &hints,
            update.filter.as_ref(),
            &update.order_by,
            update.limit.as_ref(),
        )?;
        let table = &target.table;
        let is_written = |part: &IndexPart| {
            table.columns[usize::from(part.column)].on_update_now
                || assignments.iter().any(|own| own.column == part.column)
        };
        // Keys that a list names are read some at a time, too, and what cannot use its index walks the primary one.
        let index = &table.indexes[target.access.path.index];
        let moves_in_index = index.parts.iter().chain(&table.primary_key().parts).any(is_written);
        let shipped =
            if is_key_change(&target) { shipped_assignments(table, &assignments) } else { None };
        self.common.truncate(common);
        Ok(UpdatePlan { target, assignments, shipped, ignore: update.ignore, moves_in_index })
    }

    pub fn delete(&mut self, delete: &ast::Delete) -> Result<DeletePlan, SqlError> {
        let common = self.begin_with(delete.with.as_ref())?;
        let (table, alias, hints) = self.single_table(&delete.tables, "multi-table DELETE")?;
        self.check_targets(&delete.targets, &table, alias.as_deref())?;
        self.changes = vec![table.clone()];
        let relations = Relations::of_table(&table, alias.as_deref());
        let target = self.change_target(
            table,
            &relations,
            &hints,
            delete.filter.as_ref(),
            &delete.order_by,
            delete.limit.as_ref(),
        )?;
        let shipped = is_key_change(&target) && !has_unique_keys(&target.table);
        self.common.truncate(common);
        Ok(DeletePlan { target, shipped })
    }

    fn change_target(
        &mut self,
        table: Arc<Table>,
        relations: &Relations,
        hints: &[ast::IndexHint],
        filter: Option<&ast::Expr>,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Expr>,
    ) -> Result<ChangeTarget, SqlError> {
        let filter = match filter {
            Some(filter) => Some(self.bound(filter, &Scope::of(relations, "where clause"))?),
            None => None,
        };
        let mut sort = Vec::new();
        for item in order_by {
            let bound = self.bound(&item.expr, &Scope::of(relations, "order clause"))?;
            if bound.is_local() || rewrite::has_columns(&bound.expr) {
                sort.push((bound, item.descending));
            }
        }
        let limit = match limit {
            Some(limit) => Some(self.limit_value(limit)?),
            None => None,
        };
        let order: Option<Vec<(u16, bool)>> = sort
            .iter()
            .map(|(bound, descending)| match &bound.expr {
                Expr::Column(column) => Some((*column, *descending)),
                _ => None,
            })
            .collect();
        let order = order.filter(|order| !order.is_empty());
        let allowed = access::allowed_indexes(&table, hints, &relations.tables[0].alias)?;
        let (shippable, local) = self.split_filter(filter);
        let wanted = Wanted { order: order.as_deref(), limited: limit.is_some() };
        let mut access = access::choose(&table, shippable, &wanted, &allowed);
        access.local_filter = local;
        Ok(ChangeTarget { layout: table.row_layout(), table, access, sort, limit })
    }

    fn single_table(
        &mut self,
        tables: &[ast::TableReference],
        several: &str,
    ) -> Result<SingleTable, SqlError> {
        let [reference] = tables else { return Err(SqlError::not_supported(several)) };
        if !reference.joins.is_empty() {
            return Err(SqlError::not_supported(several));
        }
        match &reference.first {
            ast::TableFactor::Nested(inner) => self.single_table(inner, several),
            ast::TableFactor::Table { name, alias, partitions, hints } => {
                if !partitions.is_empty() {
                    return Err(SqlError::not_supported("PARTITION"));
                }
                Ok((self.changeable_table(name)?, alias.clone(), hints.clone()))
            }
            ast::TableFactor::Derived { .. } | ast::TableFactor::Unsupported { .. } => {
                Err(SqlError::not_supported(several))
            }
        }
    }

    /// `DELETE x FROM t x`: the tables to delete from are the one of FROM, by its alias if it has one, named once.
    fn check_targets(
        &self,
        targets: &[ast::ObjectName],
        table: &Table,
        alias: Option<&str>,
    ) -> Result<(), SqlError> {
        let current = self.environment.database.as_deref();
        for (number, target) in targets.iter().enumerate() {
            let is_it = match (&target.schema, alias) {
                (None, Some(alias)) => target.name == alias,
                // A name without an alias is one of the current database.
                (None, None) => {
                    target.name == table.name
                        && current.is_some_and(|own| own.eq_ignore_ascii_case(&table.database))
                }
                (Some(_), Some(_)) => false,
                (Some(schema), None) => {
                    target.name == table.name && schema.eq_ignore_ascii_case(&table.database)
                }
            };
            if !is_it {
                return Err(SqlError::new(
                    code::ER_UNKNOWN_TABLE,
                    format!("Unknown table '{}' in MULTI DELETE", target.name),
                ));
            }
            if 0 < number {
                return Err(SqlError::not_unique_table(&target.name));
            }
        }
        Ok(())
    }

    fn changeable_table(&self, name: &ast::ObjectName) -> Result<Arc<Table>, SqlError> {
        let schema = name.schema.as_deref().or(self.environment.database.as_deref());
        if let Some(schema) = schema.and_then(crate::information_schema::schema_named) {
            return Err(SqlError::new(
                crate::error::code::ER_DBACCESS_DENIED_ERROR,
                format!(
                    "Access denied for user '{}' to database '{schema}'",
                    self.session.current_user().replace('@', "'@'")
                ),
            ));
        }
        self.table(name)
    }
}

fn position_u16(position: usize) -> u16 {
    u16::try_from(position).expect("tables are narrow")
}

fn visible_columns(table: &Table) -> Vec<u16> {
    (0..table.columns.len())
        .filter(|&column| !table.columns[column].hidden)
        .map(position_u16)
        .collect()
}

/// A hexadecimal literal assigned to a number is one.
pub fn number_for(expr: &mut Expr, column: u16, table: &Table) {
    if table.columns[usize::from(column)].column_type.is_numeric()
        && let Expr::Const(types::Value::Bytes(bytes)) = expr
        && let Some(number) = bytes_as_number(bytes)
    {
        *expr = Expr::Const(types::Value::UInt(number));
    }
}

pub fn has_unique_keys(table: &Table) -> bool {
    table.indexes.iter().any(|index| matches!(index.kind, IndexKind::Unique { .. }))
}

/// Are the rows found by their primary keys alone, so that the change can be sent there without reading first?
fn is_key_change(target: &ChangeTarget) -> bool {
    target.access.path.kind == PathKind::PrimaryKey
        && target.access.local_filter.is_none()
        && target.limit.is_none()
        && target.sort.is_empty()
}

/// The assignments as the row's shard can do them, or None.
fn shipped_assignments(table: &Table, assignments: &[AssignmentPlan]) -> Option<Vec<Assignment>> {
    // ON UPDATE CURRENT_TIMESTAMP only if another column changes: known after the row was read.
    if table.columns.iter().any(|column| column.on_update_now) {
        return None;
    }
    // A value that is written moves the sequence; it is known here only.
    let is_generated = |column: u16| {
        table.auto_increment.as_ref().is_some_and(|sequence| sequence.column == column)
    };
    let is_key = |column: u16| {
        let in_key = |index: &Index| {
            index.kind != IndexKind::Ordinary
                && index.parts.iter().any(|part| part.column == column)
        };
        is_generated(column) || table.indexes.iter().any(in_key)
    };
    let mut shipped = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let AssignedValue::Expr(value) = &assignment.value else { return None };
        let column = &table.columns[usize::from(assignment.column)];
        let is_timestamp = matches!(column.column_type, types::ColumnType::Timestamp { .. });
        let computed = rewrite::has_columns(&value.expr);
        if value.is_local() || is_key(assignment.column) || (is_timestamp && computed) {
            return None;
        }
        shipped.push(Assignment { column: assignment.column, value: value.expr.clone() });
    }
    Some(shipped)
}
