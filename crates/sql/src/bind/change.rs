//! INSERT, REPLACE, UPDATE, DELETE.

use std::cell::RefCell;
use std::sync::Arc;

use client::Assignment;
use types::{ColumnType, Expr, IndexPart, RowChangeKind, Table, Value};

use super::access;
use super::expr::bytes_as_number;
use super::names::{Scope, ScopeTable, SourceScope};
use super::target::Target;
use super::{Binder, rewrite};
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{
    AssignedValue, AssignmentPlan, ChangeTarget, DeletePlan, InsertMode, InsertPlan, InsertSource,
    InsertValue, LimitPlan, PathKind, SelectPlan, UpdatePlan,
};

/// An INSERT while it is bound.
pub struct NewInsert {
    pub plan: InsertPlan,
    target: Target,
}

impl Binder<'_> {
    pub fn insert(&mut self, insert: &ast::Insert) -> Result<InsertPlan, SqlError> {
        let mut new = self.insert_head(insert)?;
        while self.insert_rows(insert, &mut new, usize::MAX)? {}
        self.insert_tail(insert, new)
    }

    /// The plan of an INSERT without its rows and what comes behind them.
    pub fn insert_head(&mut self, insert: &ast::Insert) -> Result<NewInsert, SqlError> {
        if !insert.partitions.is_empty() {
            return Err(SqlError::not_supported("PARTITION"));
        }
        let mut target = self.target(&insert.table, None, &[], "INSERT")?;
        target.check_insertable()?;
        let table = Arc::clone(&target.table);
        let scope = Scope::of(&target.relations, "field list");
        let mut columns: Vec<u16> = Vec::new();
        for name in &insert.columns {
            let column = target.column(scope.column(name)?)?;
            if columns.contains(&column) {
                return Err(SqlError::column_specified_twice(&name.column));
            }
            columns.push(column);
        }
        if insert.columns.is_empty() {
            columns = target.inserted_columns()?;
        }
        if matches!(insert.source, ast::InsertSource::Query(_)) {
            columns.iter().try_for_each(|column| check_not_generated(&table, *column))?;
        }
        target.check_defaults(&columns)?;
        let mut mode = InsertMode::Insert;
        let mut source = match &insert.source {
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
                    self.select_or_update(query, columns.len(), &insert.on_duplicate, &mut target)?;
                mode = InsertMode::Update(assignments);
                InsertSource::Select(Box::new(select))
            }
        };
        if let InsertSource::Select(select) = &mut source {
            read_hex_as_numbers(select, &columns, &table);
        }
        self.changes = vec![table.clone()];
        let plan = InsertPlan {
            layout: table.row_layout(),
            rules: self.row_rules(&table, true)?,
            table,
            columns,
            source,
            mode,
            ignore: insert.ignore,
            check: target.check(),
        };
        Ok(NewInsert { plan, target })
    }

    /// The SELECT and the ON DUPLICATE KEY UPDATE of one INSERT. The assignments may name the table that is read: columns
    /// they name are selected behind those that are inserted.
    fn select_or_update(
        &mut self,
        query: &ast::Query,
        column_count: usize,
        assignments: &[ast::Assignment],
        target: &mut Target,
    ) -> Result<(SelectPlan, Vec<AssignmentPlan>), SqlError> {
        let source = self.relations_of_query(query)?;
        let source = source.map(|relations| SourceScope { relations, columns: RefCell::default() });
        let relations = target.relations.clone();
        let scope = Scope {
            new_values: true,
            source: source.as_ref(),
            ..Scope::of(&relations, "field list")
        };
        self.changes = vec![Arc::clone(&target.table)];
        let assignments = self.assignments(assignments, target, &scope)?;
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
        new: &mut NewInsert,
        row_count: usize,
    ) -> Result<bool, SqlError> {
        let NewInsert { plan, target } = new;
        let InsertPlan { columns, source, .. } = plan;
        let (ast::InsertSource::Values(rows), InsertSource::Values(bound_rows)) =
            (&insert.source, source)
        else {
            return Ok(false);
        };
        let relations = target.relations.clone();
        let scope = Scope::of(&relations, "field list");
        for row in rows[bound_rows.len()..].iter().take(row_count) {
            // `VALUES ()` gives every column its default.
            let all_default = row.is_empty() && insert.columns.is_empty();
            if row.len() != columns.len() && !all_default {
                return Err(SqlError::value_count(bound_rows.len() + 1));
            }
            let mut bound_row = Vec::with_capacity(row.len());
            for (value, column) in row.iter().zip(&*columns) {
                bound_row.push(self.insert_value(value, *column, target, &scope)?);
            }
            bound_rows.push(bound_row);
        }
        Ok(bound_rows.len() < rows.len())
    }

    /// Completes the plan.
    pub fn insert_tail(
        &mut self,
        insert: &ast::Insert,
        new: NewInsert,
    ) -> Result<InsertPlan, SqlError> {
        let NewInsert { mut plan, mut target } = new;
        if let InsertSource::Values(rows) = &plan.source {
            if rows.iter().all(Vec::is_empty) && insert.columns.is_empty() {
                plan.columns.clear();
            } else if rows.iter().any(Vec::is_empty) && !plan.columns.is_empty() {
                let number = rows.iter().position(Vec::is_empty).unwrap_or(0);
                return Err(SqlError::value_count(number + 1));
            }
        }
        let InsertPlan { columns, .. } = &plan;
        let relations = target.relations.clone();
        let own_name = &relations.tables[0].alias;
        let is_bound = matches!(plan.mode, InsertMode::Update(_));
        if insert.replace {
            plan.mode = InsertMode::Replace;
        } else if !insert.on_duplicate.is_empty() && !is_bound {
            let row_alias = insert.row_alias.as_ref();
            if row_alias.is_some_and(|alias| alias.name == *own_name) {
                return Err(SqlError::not_unique_table(own_name));
            }
            let names: Vec<String> = match row_alias {
                Some(alias) if alias.columns.is_empty() => Vec::new(),
                Some(alias) => {
                    if alias.columns.len() != columns.len() {
                        return Err(SqlError::value_count(1));
                    }
                    // By number of the column, so that a name finds its column.
                    let mut names = vec![String::new(); relations.column_count()];
                    for (name, column) in alias.columns.iter().zip(columns) {
                        let number = target.number_of(*column).expect("the target named it");
                        names[number].clone_from(name);
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
                InsertMode::Update(self.assignments(&insert.on_duplicate, &mut target, &scope)?);
        }
        Ok(plan)
    }

    fn insert_value(
        &mut self,
        value: &ast::Expr,
        column: u16,
        target: &mut Target,
        scope: &Scope<'_>,
    ) -> Result<InsertValue, SqlError> {
        if matches!(value, ast::Expr::Default(None)) {
            return Ok(InsertValue::Default);
        }
        if let Err(refusal) = check_not_generated(&target.table, column) {
            // MariaDB's dumps have values of generated columns, and load below the strict modes.
            if self.environment.sql_mode.is_strict() {
                return Err(refusal);
            }
            self.warn(refusal);
            return Ok(InsertValue::Default);
        }
        let mut bound = self.bound(value, scope)?;
        self.assigned(&mut bound.expr, column, &target.table, scope);
        self.put_target(&mut bound, target)?;
        Ok(InsertValue::Expr(bound))
    }

    pub fn assignments(
        &mut self,
        assignments: &[ast::Assignment],
        target: &mut Target,
        scope: &Scope<'_>,
    ) -> Result<Vec<AssignmentPlan>, SqlError> {
        let mut bound = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let column = target.column(scope.column(&assignment.column)?)?;
            let table = Arc::clone(&target.table);
            let value = match &assignment.value {
                ast::Expr::Default(None) if is_generated(&table, column) => continue,
                ast::Expr::Default(None) => match self.default_expression(&table, column)? {
                    Some(value) => AssignedValue::Expr(value),
                    None => AssignedValue::Default,
                },
                value => {
                    check_not_generated(&table, column)?;
                    let mut value = self.bound(value, scope)?;
                    self.assigned(&mut value.expr, column, &table, scope);
                    self.put_target(&mut value, target)?;
                    AssignedValue::Expr(value)
                }
            };
            bound.push(AssignmentPlan { column, value });
        }
        Ok(bound)
    }

    pub fn update(&mut self, update: &ast::Update) -> Result<UpdatePlan, SqlError> {
        let common = self.begin_with(update.with.as_ref())?;
        let mut named = self.single_table(&update.tables, "UPDATE")?;
        self.changes = vec![Arc::clone(&named.table)];
        let relations = named.relations.clone();
        let scope = Scope::of(&relations, "field list");
        let assignments = self.assignments(&update.assignments, &mut named, &scope)?;
        let check = named.check();
        let target = self.change_target(
            named,
            update.filter.as_ref(),
            &update.order_by,
            update.limit.as_ref(),
        )?;
        let rules = self.row_rules(&target.table, false)?;
        let table = &target.table;
        let is_written = |part: &IndexPart| {
            table.columns[usize::from(part.column)].on_update_now
                || is_generated(table, part.column)
                || assignments.iter().any(|own| own.column == part.column)
        };
        // Keys that a list names are read some at a time, too, and what cannot use its index walks the primary one.
        let index = &table.indexes[target.access.path.index];
        let moves_in_index = index.parts.iter().chain(&table.primary_key().parts).any(is_written);
        let is_shippable = is_key_change(&target) && check.is_none();
        let shipped = if is_shippable { shipped_assignments(table, &assignments) } else { None };
        self.common.truncate(common);
        let ignore = update.ignore;
        Ok(UpdatePlan { target, assignments, shipped, ignore, check, rules, moves_in_index })
    }

    pub fn delete(&mut self, delete: &ast::Delete) -> Result<DeletePlan, SqlError> {
        let common = self.begin_with(delete.with.as_ref())?;
        let named = self.single_table(&delete.tables, "DELETE")?;
        self.check_targets(
            &delete.targets,
            &named.relations.tables[0],
            only_factor(&delete.tables),
        )?;
        self.changes = vec![Arc::clone(&named.table)];
        let target = self.change_target(
            named,
            delete.filter.as_ref(),
            &delete.order_by,
            delete.limit.as_ref(),
        )?;
        let shipped = is_key_change(&target) && !target.table.needs_writer(RowChangeKind::Delete);
        self.common.truncate(common);
        Ok(DeletePlan { target, shipped })
    }

    fn change_target(
        &mut self,
        mut named: Target,
        filter: Option<&ast::Expr>,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Expr>,
    ) -> Result<ChangeTarget, SqlError> {
        let relations = &named.relations.clone();
        let filter = match filter {
            Some(filter) => Some(self.bound(filter, &Scope::of(relations, "where clause"))?),
            None => None,
        };
        let filter = self.put_target_filter(filter, &mut named)?;
        let mut sort = Vec::new();
        for item in order_by {
            let mut bound = self.bound(&item.expr, &Scope::of(relations, "order clause"))?;
            self.put_target(&mut bound, &mut named)?;
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
        let Target { table, hints, .. } = named;
        let allowed = access::allowed_indexes(&table, &hints, &relations.tables[0].alias)?;
        let (shippable, local) = self.split_filter(filter);
        let wanted = self.wanted(order.as_deref(), limit.is_some());
        let limit_rows = limit
            .as_ref()
            .map(|limit| self.limit_rows(&LimitPlan { count: limit.clone(), offset: None }));
        let mut access = self.choose_path(&table, shippable, &wanted, limit_rows, &allowed);
        access.local_filter = local;
        let alias = relations.tables[0].alias.clone();
        Ok(ChangeTarget { layout: table.row_layout(), table, alias, access, sort, limit })
    }

    fn single_table(
        &mut self,
        tables: &[ast::TableReference],
        verb: &str,
    ) -> Result<Target, SqlError> {
        let [reference] = tables else { unreachable!("the caller looked") };
        match &reference.first {
            ast::TableFactor::Nested(inner) => self.single_table(inner, verb),
            ast::TableFactor::Table { name, alias, partitions, hints } => {
                if !partitions.is_empty() {
                    return Err(SqlError::not_supported("PARTITION"));
                }
                self.target(name, alias.as_deref(), hints, verb)
            }
            ast::TableFactor::Derived { .. } | ast::TableFactor::JsonTable(_) => {
                unreachable!("the caller looked")
            }
        }
    }

    /// `DELETE x FROM t x`: the tables to delete from are the one of FROM, by its alias if it has one, named once.
    fn check_targets(
        &self,
        targets: &[ast::ObjectName],
        scope: &ScopeTable,
        written: &ast::TableFactor,
    ) -> Result<(), SqlError> {
        let current = self.environment.database.as_deref();
        let has_alias = matches!(written, ast::TableFactor::Table { alias: Some(_), .. });
        for (number, target) in targets.iter().enumerate() {
            let is_it = target.name == scope.alias
                && match (&target.schema, has_alias) {
                    (None, true) => true,
                    // A name without an alias is one of the current database.
                    (None, false) => {
                        current.is_some_and(|own| own.eq_ignore_ascii_case(&scope.database))
                    }
                    (Some(_), true) => false,
                    (Some(schema), false) => schema.eq_ignore_ascii_case(&scope.database),
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

    /// What a column is given: a hexadecimal literal for a number is one, and a column's value for a text is its text.
    pub fn assigned(&mut self, expr: &mut Expr, column: u16, table: &Table, scope: &Scope<'_>) {
        let column_type = &table.columns[usize::from(column)].column_type;
        if column_type.is_numeric() {
            read_hex_as_number(expr);
        } else if !column_type.is_temporal() && rewrite::has_columns(expr) {
            let own = self.type_of(expr, &scope.result_types()).column_type;
            let is_column = matches!(expr, Expr::Column(_));
            if own.is_some_and(|own| is_stored_as_text(&own, is_column, column_type)) {
                self.as_text(expr, scope);
            }
        }
    }

    pub fn changeable_table(&self, name: &ast::ObjectName) -> Result<Arc<Table>, SqlError> {
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

/// A hexadecimal literal in the place of a number is one.
fn read_hex_as_number(expr: &mut Expr) {
    if let Expr::Const(Value::Bytes(bytes)) = expr
        && let Some(number) = bytes_as_number(bytes)
    {
        *expr = Expr::Const(Value::UInt(number));
    }
}

/// The same for the items of a SELECT whose rows are inserted as they are found; one that keeps rows keeps bytes.
fn read_hex_as_numbers(select: &mut SelectPlan, columns: &[u16], table: &Table) {
    if select.distinct || select.grouping.is_some() {
        return;
    }
    for (item, column) in select.items.iter_mut().zip(columns) {
        // A BIT takes the bytes as they are.
        let column_type = &table.columns[usize::from(*column)].column_type;
        if column_type.is_numeric() && !matches!(column_type, ColumnType::Bit { .. }) {
            read_hex_as_number(&mut item.expr);
        }
    }
}

/// Is a value of the type stored as its declared text into a column of texts, bytes or labels? As in MySQL, CHAR, VARCHAR,
/// ENUM and SET take the numbers of columns, and TEXT and BLOB their texts: the year 0 is '0' and '0000'.
pub fn is_stored_as_text(own: &ColumnType, is_column: bool, target: &ColumnType) -> bool {
    let is_large = matches!(target, ColumnType::Text { .. } | ColumnType::Blob { .. });
    !own.is_numeric() || (is_column && is_large)
}

fn is_generated(table: &Table, column: u16) -> bool {
    table.columns[usize::from(column)].generated.is_some()
}

/// 3105 for a generated column: it takes no value but DEFAULT.
pub fn check_not_generated(table: &Table, column: u16) -> Result<(), SqlError> {
    match is_generated(table, column) {
        true => Err(value_for_generated(&table.columns[usize::from(column)].name, &table.name)),
        false => Ok(()),
    }
}

/// 3105.
pub fn value_for_generated(column: &str, table: &str) -> SqlError {
    SqlError::new(
        3105,
        format!(
            "The value specified for generated column '{column}' in table '{table}' is not allowed."
        ),
    )
}

/// The table of a statement on one.
fn only_factor(tables: &[ast::TableReference]) -> &ast::TableFactor {
    match &tables[0].first {
        ast::TableFactor::Nested(inner) => only_factor(inner),
        other => other,
    }
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
    let columns: Vec<u16> = assignments.iter().map(|assignment| assignment.column).collect();
    if table.needs_writer(RowChangeKind::Update(&columns)) {
        return None;
    }
    let mut shipped = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let AssignedValue::Expr(value) = &assignment.value else { return None };
        let column = &table.columns[usize::from(assignment.column)];
        let is_timestamp = matches!(column.column_type, types::ColumnType::Timestamp { .. });
        let computed = rewrite::has_columns(&value.expr);
        if value.is_local() || (is_timestamp && computed) {
            return None;
        }
        shipped.push(Assignment { column: assignment.column, value: value.expr.clone() });
    }
    Some(shipped)
}
