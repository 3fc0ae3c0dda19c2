//! SELECT.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use client::{Lock, WaitPolicy};
use types::expr::{Aggregate, AggregateFunction, Coercibility, ResultType};
use types::{Collation, ColumnType, Expr, IndexKind, Table, Value};

use super::access::{self, Wanted};
use super::from::{From, RelationSource, bound_of};
use super::group::{GroupRewrite, determined_columns, plain_column};
use super::merge::{Flat, Merged};
use super::names::{
    Alias, GroupCollector, Relations, Scope, check_locked_names, identifying_key, item_named,
};
use super::semi_join::and_terms;
use super::window::WindowScope;
use super::{Binder, rewrite};
use crate::error::{SqlError, code};
use crate::information_schema::{is_schema, shown_indexes};
use crate::parser::ast;
use crate::plan::{
    AccessPlan, Bound, Grouping, LimitPlan, Lookup, PartBound, PathKind, SelectPlan, Slot, Source,
    TableSource,
};
use crate::result::{ColumnFlags, ColumnInfo, PlanColumns};

/// An item of the select list, wildcards expanded.
pub struct Item {
    pub expr: ast::Expr,
    pub name: String,
    pub has_alias: bool,
}

/// A query that is bound.
pub enum Selected {
    Plan(Box<SelectPlan>),
    Merged(Box<Merged>),
}

impl Binder<'_> {
    pub fn query(&mut self, query: &ast::Query) -> Result<SelectPlan, SqlError> {
        match self.query_or_merged(query, false)? {
            Selected::Plan(plan) => Ok(*plan),
            Selected::Merged(_) => unreachable!("it was not asked for"),
        }
    }

    /// A query in FROM: with `merges`, its relations and conditions, if it needs no rows of its own.
    pub fn query_or_merged(
        &mut self,
        query: &ast::Query,
        merges: bool,
    ) -> Result<Selected, SqlError> {
        if query.into_file {
            return Err(SqlError::not_supported("SELECT INTO OUTFILE"));
        }
        self.count_query()?;
        let common = self.begin_with(query.with.as_ref())?;
        let plan = self.query_body(query, merges);
        self.common.truncate(common);
        plan
    }

    fn query_body(&mut self, query: &ast::Query, merges: bool) -> Result<Selected, SqlError> {
        self.block_last += 1;
        let around = std::mem::replace(&mut self.block, self.block_last);
        let plan = self.query_block(query, merges);
        self.block = around;
        plan
    }

    fn query_block(&mut self, query: &ast::Query, merges: bool) -> Result<Selected, SqlError> {
        let plan = match &query.body {
            ast::QueryBody::Select(select) => return self.select(select, query, merges),
            ast::QueryBody::SetOperation { first, rest } => {
                // A query in parentheses with nothing to it.
                let bare = rest.is_empty() && query.order_by.is_empty() && query.limit.is_none();
                if bare {
                    return self.query_or_merged(first, merges);
                }
                self.set_operation(first, rest, query)
            }
            ast::QueryBody::Values(rows) => self.values_rows(rows, query),
            ast::QueryBody::Table(name) => {
                let factor = ast::TableFactor::Table {
                    name: name.clone(),
                    alias: None,
                    partitions: Vec::new(),
                    hints: Vec::new(),
                };
                let select = ast::Select {
                    distinct: false,
                    calc_found_rows: false,
                    straight: false,
                    items: vec![ast::SelectItem::Wildcard(ast::Place::default())],
                    from: vec![ast::TableReference { first: factor, joins: Vec::new() }],
                    filter: None,
                    group_by: Vec::new(),
                    with_rollup: false,
                    having: None,
                    windows: Vec::new(),
                };
                return self.select(&select, query, merges);
            }
        };
        plan.map(|plan| Selected::Plan(Box::new(plan)))
    }

    /// The relations that an ungrouped query reads, as its names refer to them.
    pub fn relations_of_query(
        &mut self,
        query: &ast::Query,
    ) -> Result<Option<Relations>, SqlError> {
        let ast::QueryBody::Select(select) = &query.body else { return Ok(None) };
        if !select.group_by.is_empty() || select.from.is_empty() {
            return Ok(None);
        }
        let common = self.begin_with(query.with.as_ref())?;
        let from = self.forgotten(|binder| binder.from(&select.from));
        self.common.truncate(common);
        Ok(Some(from?.relations))
    }

    fn select(
        &mut self,
        select: &ast::Select,
        query: &ast::Query,
        merges: bool,
    ) -> Result<Selected, SqlError> {
        check_locked_names(query, &select.from, self.environment.database.as_deref())?;
        let mut from = self.from(&select.from)?;
        from.straight = select.straight;
        let mut where_terms = select.filter.iter().flat_map(and_terms).collect();
        let switch = self.environment.optimizer_switch;
        if switch.semijoin && (query.limit.is_none() || !select.group_by.is_empty()) {
            self.semi_joins(&mut where_terms, &mut from)?;
        }
        let relations = std::mem::take(&mut from.relations);
        let (locks, wait) = locks_of(query, &relations);
        let items = self.expand_items(&select.items, &relations)?;
        let aliases: Vec<Alias<'_>> = items
            .iter()
            .enumerate()
            .map(|(number, item)| Alias { name: &item.name, expr: &item.expr, item: number })
            .collect();
        let base = relations.column_count();
        let groups = Rc::new(RefCell::new(GroupCollector { base, ..GroupCollector::default() }));
        let windows = WindowScope::new(&select.windows);

        // WHERE sees columns only.
        let plain = Scope::of(&relations, "where clause");
        let mut filter = self.bound_terms(&where_terms, &plain)?;

        let group_by = self.group_by(select, &items, &relations, &aliases, &groups)?;

        let mut bound_items = Vec::new();
        let mut coercibilities = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let earlier = aliases.partition_point(|alias| alias.item < number);
            let later = aliases.partition_point(|alias| alias.item <= number);
            windows.begin(number + 1, "SELECT list");
            let scope = Scope {
                relations: &relations,
                groups: Some(&groups),
                windows: Some(&windows),
                earlier_aliases: &aliases[..earlier],
                later_aliases: &aliases[later..],
                ..Scope::empty("field list")
            };
            let bound = self.bound(&item.expr, &scope)?;
            coercibilities.push(match &bound.expr {
                Expr::Column(number) if usize::from(*number) < base => {
                    relations.column(usize::from(*number)).coercibility
                }
                other => self.derivation(other, &scope).coercibility,
            });
            bound_items.push(bound);
        }
        let mut having = match &select.having {
            Some(having) => {
                // HAVING names what is selected or grouped by, and anything inside of aggregates.
                let plain =
                    |expr: &Expr| simple_column(&Bound::pure(expr.clone())).map(usize::from);
                let grouped: Vec<usize> = group_by.iter().filter_map(plain).collect();
                let mut named = grouped.clone();
                named.extend(bound_items.iter().filter_map(|item| plain(&item.expr)));
                let scope = Scope {
                    relations: &relations,
                    aliases: &aliases,
                    aliases_first: true,
                    grouped: &grouped,
                    groups: Some(&groups),
                    only_columns: Some(&named),
                    ..Scope::empty("having clause")
                };
                Some(self.bound(having, &scope)?)
            }
            None => None,
        };
        let mut sort = Vec::new();
        let visible_count = bound_items.len();
        // Of each item behind the visible ones, which expression of ORDER BY it is, from 1.
        let mut order_numbers = Vec::new();
        let order_scope = Scope {
            relations: &relations,
            aliases: &aliases,
            groups: Some(&groups),
            windows: Some(&windows),
            ..Scope::empty("order clause")
        };
        for (number, order) in query.order_by.iter().enumerate() {
            windows.begin(number + 1, "ORDER BY clause");
            self.order_item(order, items.len(), &order_scope, &mut bound_items, &mut sort)?;
            order_numbers.resize(bound_items.len() - visible_count, number + 1);
        }
        self.check_named_windows(&windows, &Scope { aliases: &[], ..order_scope })?;
        let mut windows = windows.collector.into_inner();
        self.take_window_slots(&windows, &mut bound_items);

        let mut collector = groups.take();
        if select.distinct && self.environment.sql_mode.only_full_group_by() {
            let (visible, hidden) = bound_items.split_at(visible_count);
            check_distinct(visible, hidden, &order_numbers, base, &relations)?;
        }
        let grouped = !group_by.is_empty() || !collector.aggregates.is_empty();
        if !grouped && let Some(having) = having.take() {
            filter = Some(and_bounds(filter, having));
        }
        let limit = limit_plan(self, query.limit.as_ref())?;

        let mut grouping = None;
        let window_plan;
        let mut item_types: Vec<ResultType> = Vec::new();
        if grouped {
            let filter_terms = filter.iter().flat_map(|filter| rewrite::terms_of(&filter.expr));
            let inner_terms: Vec<&Expr> = filter_terms.chain(from.inner_terms()).collect();
            // Behind the keys of ROLLUP is the level.
            let key_count = group_by.len() - usize::from(select.with_rollup);
            let determined =
                determined_columns(&relations, &group_by, &inner_terms, &from.outer_terms());
            let mut rewrite = GroupRewrite {
                relations: &relations,
                patterns: group_by[..key_count].iter().map(rewrite::encoded).collect(),
                determined,
                collector: std::mem::take(&mut collector),
                only_full_group_by: self.environment.sql_mode.only_full_group_by(),
                first_slot: self.param_kinds.len(),
                rewritten: Vec::new(),
            };
            for (number, item) in bound_items.iter_mut().enumerate() {
                let clause = if number < visible_count { "SELECT list" } else { "ORDER BY clause" };
                let number = match number.checked_sub(visible_count) {
                    None => number + 1,
                    Some(hidden) => order_numbers[hidden],
                };
                rewrite.apply_bound(item, &mut self.slots, number, clause)?;
            }
            windows.rewrite(&mut rewrite, &mut self.slots)?;
            if let Some(having) = &mut having {
                rewrite.apply_bound(having, &mut self.slots, 1, "HAVING clause")?;
            }
            let types = rewrite.collector.types.clone();
            window_plan = self.window_plan_of_groups(windows, types.len())?;
            for item in &bound_items[..visible_count] {
                item_types.push(self.type_of(&item.expr, &types));
            }
            let mut slots = rewrite.collector.slots;
            slots.sort_unstable();
            slots.dedup();
            grouping = Some(Grouping {
                implicit: group_by.is_empty(),
                rollup: select.with_rollup,
                group_by,
                aggregates: rewrite.collector.aggregates,
                having,
                shipped: false,
                of_first_row: false,
                slots,
            });
        } else {
            let types = relations.result_types();
            for item in &bound_items[..visible_count] {
                item_types.push(self.type_of(&item.expr, &types));
            }
            window_plan = self.window_plan(windows, &mut bound_items)?;
        }

        // Titles and types.
        let mut columns = Vec::with_capacity(visible_count);
        for ((item, own), coercibility) in items.iter().zip(&item_types).zip(coercibilities) {
            let mut info = self.item_info(item, own, &relations);
            info.coercibility = coercibility;
            if select.with_rollup && own.nullable {
                info.make_nullable();
            }
            columns.push(info);
        }

        if !query.into_variables.is_empty() && query.into_variables.len() != visible_count {
            return Err(SqlError::set_column_counts());
        }

        let is_plain = !grouped && window_plan.is_none() && !select.distinct && !select.straight;
        if merges
            && is_plain
            && is_mergeable(select, query)
            && from.is_mergeable()
            && let Some(values) = all_pure(&bound_items)
        {
            let merged = Merged { columns, ..self.merged_query(from, relations, values, filter)? };
            return Ok(Selected::Merged(Box::new(merged)));
        }

        let mut plan = SelectPlan {
            hidden_count: bound_items.len() - visible_count,
            grouping,
            windows: window_plan,
            distinct: select.distinct,
            sort,
            limit,
            calc_found_rows: select.calc_found_rows,
            wait,
            into_variables: query.into_variables.iter().map(|name| name.to_lowercase()).collect(),
            ..SelectPlan::new(
                PlanColumns::new(columns),
                Source::Nothing { filter: None },
                bound_items,
            )
        };
        self.read_from(&mut plan, from, relations, filter, &locks)?;
        Ok(Selected::Plan(Box::new(plan)))
    }

    /// Decides how the rows of FROM are read.
    pub fn read_from(
        &mut self,
        plan: &mut SelectPlan,
        from: From,
        relations: Relations,
        mut filter: Option<Bound>,
        locks: &[Lock],
    ) -> Result<(), SqlError> {
        let may_compute = plan.windows.is_none() || plan.grouping.is_some();
        let mut flat = self.flatten(from, relations, may_compute)?;
        if !flat.is_same {
            self.put_into_plan(&mut flat, plan, &mut filter);
        }
        let Flat { from, relations, .. } = flat;
        let locks = from.locks(locks);
        match from.sources.as_slice() {
            [] => plan.source = Source::Nothing { filter },
            [RelationSource::Virtual(table)] => {
                plan.source = Source::Virtual { table: *table, filter };
            }
            [RelationSource::Table { table, hints }] => {
                let table = Arc::clone(table);
                let alias = &relations.tables[0].alias;
                if let Some(grouping) = &mut plan.grouping {
                    let is_local = filter.as_ref().is_some_and(Bound::is_local);
                    grouping.shipped = !is_local && grouping.slots.is_empty();
                }
                self.table_source(plan, table, alias, hints, filter, locks[0])?;
            }
            _ => self.join(plan, from, &relations, filter, &locks)?,
        }
        Ok(())
    }

    fn group_by(
        &mut self,
        select: &ast::Select,
        items: &[Item],
        relations: &Relations,
        aliases: &[Alias<'_>],
        groups: &Rc<RefCell<GroupCollector>>,
    ) -> Result<Vec<Expr>, SqlError> {
        let mut group_by = Vec::new();
        for item in &select.group_by {
            let scope = Scope { relations, aliases, ..Scope::empty("group statement") };
            let expr = match position_of(&item.expr, items.len(), "group statement")? {
                Some(position) => &items[position].expr,
                None => &item.expr,
            };
            let by_position = !std::ptr::eq(expr, &item.expr);
            if by_position && matches!(expr, ast::Expr::Aggregate { .. }) {
                let name =
                    items.iter().find(|item| item.expr == *expr).map(|item| item.name.clone());
                return Err(SqlError::new(
                    code::ER_WRONG_GROUP_FIELD,
                    format!("Can't group on '{}'", name.unwrap_or_default()),
                ));
            }
            // A column of the table comes before an item of the select list that has its name.
            if let ast::Expr::Column(name) = expr
                && !by_position
                && let Some(other) = scope.alias(name)?
                && let Ok(position) = scope.column(name)
                && !scope.is_column(other, position)
            {
                self.warn(SqlError::ambiguous_column(&name.column, "group statement"));
            }
            let bound = self.bound(expr, &scope)?;
            for slot in &bound.slots {
                if !matches!(self.slots[usize::from(*slot)], Slot::Subquery(_)) {
                    let what = "RAND, UUID, SLEEP or assignment in GROUP BY";
                    return Err(SqlError::not_supported(what));
                }
            }
            groups.borrow_mut().slots.extend(&bound.slots);
            group_by.push(bound.expr);
        }
        let types = relations.result_types();
        let mut collector = groups.borrow_mut();
        collector.group_count = group_by.len();
        for expr in &group_by {
            let own = self.type_of(expr, &types);
            collector
                .types
                .push(ResultType { nullable: own.nullable || select.with_rollup, ..own });
        }
        drop(collector);
        if select.with_rollup {
            groups.borrow_mut().add_rollup_level(&mut group_by);
        }
        Ok(group_by)
    }

    pub fn order_item(
        &mut self,
        order: &ast::OrderItem,
        item_count: usize,
        scope: &Scope<'_>,
        bound_items: &mut Vec<Bound>,
        sort: &mut Vec<(usize, bool)>,
    ) -> Result<(), SqlError> {
        if let Some(position) = position_of(&order.expr, item_count, scope.place)? {
            sort.push((position, order.descending));
            return Ok(());
        }
        // A bare name of the select list is that item, whatever it computes.
        if let ast::Expr::Column(name) = &order.expr
            && let Some(alias) = item_named(scope.aliases, name, scope.place, scope.relations)?
        {
            sort.push((alias.item, order.descending));
            return Ok(());
        }
        let bound = self.bound(&order.expr, scope)?;
        if !bound.is_local() {
            if !rewrite::has_columns(&bound.expr) {
                // A constant orders nothing.
                return Ok(());
            }
            let own = rewrite::encoded(&bound.expr);
            if let Some(position) =
                bound_items.iter().position(|item| rewrite::encoded(&item.expr) == own)
            {
                sort.push((position, order.descending));
                return Ok(());
            }
        }
        sort.push((bound_items.len(), order.descending));
        bound_items.push(bound);
        Ok(())
    }

    /// Decides how the rows of a table are found and which columns of them are read.
    fn table_source(
        &mut self,
        plan: &mut SelectPlan,
        table: Arc<Table>,
        alias: &str,
        hints: &[ast::IndexHint],
        filter: Option<Bound>,
        lock: Lock,
    ) -> Result<(), SqlError> {
        let allowed = access::allowed_indexes(&table, hints, alias)?;
        let order = match (&plan.grouping, plan.sort.is_empty()) {
            (None, false) if plan.windows.is_none() => order_columns(plan),
            _ => None,
        };
        let limited = plan.limit.is_some() && plan.windows.is_none();
        let wanted = self.wanted(order.as_deref(), limited);
        let limited = wanted.limited;
        let (shippable, local) = self.split_filter(filter);
        let first =
            local.is_none().then(|| first_row(plan, &table, &shippable, &allowed)).flatten();
        let mut access = match first {
            Some(access) => {
                let grouping = plan.grouping.as_mut().expect("it has an aggregate");
                (grouping.of_first_row, grouping.shipped) = (true, false);
                access
            }
            None => {
                let limit = match &plan.limit {
                    Some(limit) if plan.grouping.is_none() && limited && !plan.calc_found_rows => {
                        Some(self.limit_rows(limit))
                    }
                    _ => None,
                };
                self.choose_path(&table, shippable, &wanted, limit, &allowed)
            }
        };
        access.local_filter = local;
        plan.distinct &= !has_key(plan, &table);
        if self.is_subquery() {
            self.check_not_changed(&table)?;
        }

        let mut needed: Vec<u16> = Vec::new();
        let mut need = |expr: &Expr| {
            rewrite::for_each_column(expr, &mut |column| {
                if !needed.contains(&column) {
                    needed.push(column);
                }
            });
        };
        let source_bounds = plan.source_bounds();
        let mut bounds: Vec<&Bound> = Vec::new();
        if let Some(local) = &access.local_filter {
            bounds.push(local);
        }
        match &plan.grouping {
            Some(grouping) if !grouping.shipped => {
                grouping.group_by.iter().for_each(&mut need);
                grouping.aggregates.iter().flat_map(Aggregate::exprs).for_each(&mut need);
                for &slot in &grouping.slots {
                    self.slots[usize::from(slot)].for_each_expr(&mut need);
                }
            }
            Some(_) => {}
            None => bounds.extend(&*source_bounds),
        }
        for bound in &bounds {
            need(&bound.expr);
            for &slot in &bound.slots {
                self.slots[usize::from(slot)].for_each_expr(&mut need);
            }
        }
        if needed.is_empty() {
            needed.push(table.primary_key().parts[0].column);
        }
        needed.sort_unstable();
        let whole_rows = needed.len() == table.columns.len();
        let position = |column: u16| {
            let found = needed.iter().position(|own| *own == column);
            u16::try_from(found.expect("every column used is read")).expect("tables are narrow")
        };

        // A slot that several expressions ask for is moved once.
        let mut moved: Vec<u16> = Vec::new();
        if let Some(local) = &mut access.local_filter {
            self.map_bound(local, &position, &mut moved);
        }
        match &mut plan.grouping {
            Some(grouping) if !grouping.shipped => {
                for expr in &mut grouping.group_by {
                    rewrite::map_columns(expr, &mut |column| position(column));
                }
                for expr in grouping.aggregates.iter_mut().flat_map(Aggregate::exprs_mut) {
                    rewrite::map_columns(expr, &mut |column| position(column));
                }
                for &slot in &grouping.slots {
                    self.slots[usize::from(slot)].for_each_expr_mut(&mut |inner| {
                        rewrite::map_columns(inner, &mut |column| position(column));
                    });
                }
            }
            Some(_) => {}
            None if plan.windows.is_some() => {
                let windows = plan.windows.iter_mut();
                let columns = windows.flat_map(|windows| &mut windows.columns);
                columns.for_each(|column| *column = position(*column));
            }
            None => {
                let mut items = std::mem::take(&mut plan.items);
                for item in &mut items {
                    self.map_bound(item, &position, &mut moved);
                }
                plan.items = items;
                let visible = &plan.items[..plan.items.len() - plan.hidden_count];
                let simple: Option<Vec<u16>> = visible.iter().map(simple_column).collect();
                plan.has_timestamps = simple.is_some()
                    && visible.iter().any(|item| matches!(item.expr, Expr::Function(..)));
                plan.simple_columns = simple;
            }
        }
        let layout = match whole_rows {
            true => table.row_layout(),
            false => table.layout_of(&needed),
        };
        plan.source = Source::Table(Box::new(TableSource {
            table,
            alias: alias.to_string(),
            columns: needed,
            whole_rows,
            layout,
            access,
            lock,
        }));
        plan.lookup = self.lookup(plan);
        Ok(())
    }

    /// Is the statement one row by its primary key, shown as it is stored?
    fn lookup(&self, plan: &SelectPlan) -> Option<Lookup> {
        let Source::Table(source) = &plan.source else { return None };
        let TableSource { table, columns, access, lock, .. } = &**source;
        let path = &access.path;
        let is_one_row = path.kind == PathKind::PrimaryKey
            && path.equal.iter().all(|bound| matches!(bound, PartBound::Equal(_)))
            && access.residual.is_none()
            && access.local_filter.is_none();
        let is_shown_as_stored = plan.grouping.is_none()
            && plan.limit.is_none()
            && plan.into_variables.is_empty()
            && !plan.calc_found_rows
            && !plan.has_timestamps;
        if !is_one_row || !is_shown_as_stored || *lock != Lock::None || !self.slots.is_empty() {
            return None;
        }
        let shown = plan.simple_columns.as_ref()?;
        let is_plain = |(bound, part): (&PartBound, &types::IndexPart)| {
            let column_type = &table.columns[usize::from(part.column)].column_type;
            matches!(bound, PartBound::Equal(Expr::Param(_) | Expr::Const(_)))
                && !column_type.is_temporal()
        };
        let parts = &table.indexes[path.index].parts;
        Some(Lookup {
            is_key_plain: path.equal.iter().zip(parts).all(is_plain),
            columns: shown.iter().map(|&column| columns[usize::from(column)]).collect(),
            layout: table.row_layout(),
        })
    }

    /// Moves the columns of an expression and of the slots that it asks for, but for those that are `moved`.
    fn map_bound(
        &mut self,
        bound: &mut Bound,
        position: &dyn Fn(u16) -> u16,
        moved: &mut Vec<u16>,
    ) {
        rewrite::map_columns(&mut bound.expr, &mut |column| position(column));
        for &slot in &bound.slots {
            if moved.contains(&slot) {
                continue;
            }
            moved.push(slot);
            self.slots[usize::from(slot)].for_each_expr_mut(&mut |inner| {
                rewrite::map_columns(inner, &mut |column| position(column));
            });
        }
    }

    /// The terms that can be evaluated where the rows are, and the rest.
    pub fn split_filter(&mut self, filter: Option<Bound>) -> (Vec<Expr>, Option<Bound>) {
        let Some(filter) = filter else { return (Vec::new(), None) };
        let (local, shippable): (Vec<Bound>, Vec<Bound>) =
            self.terms(filter).into_iter().partition(Bound::is_local);
        (shippable.into_iter().map(|term| term.expr).collect(), bound_of(local))
    }

    fn item_info(&mut self, item: &Item, own: &ResultType, relations: &Relations) -> ColumnInfo {
        // Only what is written as a plain column carries a table's names: in groups the positions moved, the syntax tells.
        if let ast::Expr::Column(name) = &item.expr
            && let Ok(Some(number)) = relations.find(name, "field list")
        {
            let scope = relations.table_of(number);
            let column = &scope.columns[number - scope.first];
            let mut info = match &scope.table {
                Some(table) => column_info(table, number - scope.first, &scope.alias),
                None => {
                    let mut info = expression_info(&column.name, &column.result_type());
                    info.schema = scope.database.clone();
                    info.table.clone_from(&scope.alias);
                    info.table_alias.clone_from(&scope.alias);
                    info.org_name.clone_from(&column.name);
                    info
                }
            };
            if column.nullable && !info.nullable {
                // On the inner side of an outer join.
                info.make_nullable();
            }
            // MySQL 8 titles columns of information_schema by their own names, whatever the case they were asked in.
            let is_virtual = is_schema(&scope.database);
            if item.has_alias || !is_virtual {
                info.name.clone_from(&item.name);
            }
            return info;
        }
        expression_info(&item.name, own)
    }
}

/// Can the relations of an ungrouped query be read as those of the query around it?
fn is_mergeable(select: &ast::Select, query: &ast::Query) -> bool {
    select.having.is_none()
        && !select.calc_found_rows
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.locking.is_empty()
        && query.into_variables.is_empty()
}

/// The expressions, if none of them needs a slot for each row.
fn all_pure(items: &[Bound]) -> Option<Vec<Expr>> {
    items.iter().map(|item| (!item.is_local()).then(|| item.expr.clone())).collect()
}

fn simple_column(item: &Bound) -> Option<u16> {
    plain_column(&item.expr)
}

/// The path whose first row has the only aggregate's value: MIN or MAX of a column that an index has in order.
fn first_row(
    plan: &SelectPlan,
    table: &Table,
    terms: &[Expr],
    allowed: &[bool],
) -> Option<AccessPlan> {
    let grouping = plan.grouping.as_ref().filter(|own| own.implicit && own.slots.is_empty())?;
    let [Aggregate { function, argument: Some(Expr::Column(column)), .. }] =
        grouping.aggregates.as_slice()
    else {
        return None;
    };
    let descending = match function {
        AggregateFunction::Min => false,
        AggregateFunction::Max => true,
        _ => return None,
    };
    let mut terms = terms.to_vec();
    let is_there = Expr::IsNull(Box::new(Expr::Column(*column)), true);
    if table.columns[usize::from(*column)].nullable {
        terms.push(is_there.clone());
    }
    let order = [(*column, descending)];
    let wanted = Wanted { order: Some(&order), limited: true, ..Wanted::default() };
    let access = access::choose(table, terms, &wanted, allowed);
    // Rows that a filter passes over may be all of them.
    let known = rewrite::encoded(&is_there);
    let is_first =
        access.residual.as_ref().is_none_or(|residual| rewrite::encoded(residual) == known);
    (is_first && access.delivers_order && access.path.kind == PathKind::Range).then_some(access)
}

/// Do the items of an ungrouped query tell all rows of the table apart?
fn has_key(plan: &SelectPlan, table: &Table) -> bool {
    if plan.grouping.is_some() || plan.windows.is_some() {
        return false;
    }
    let visible = &plan.items[..plan.items.len() - plan.hidden_count];
    let shown: Vec<u16> = visible.iter().filter_map(simple_column).collect();
    table.indexes.iter().any(|index| {
        index.kind != IndexKind::Ordinary
            && index.state == types::IndexState::Public
            && index.parts.iter().all(|part| {
                let is_null = table.columns[usize::from(part.column)].nullable;
                !is_null && part.prefix.is_none() && shown.contains(&part.column)
            })
    })
}

/// ORDER BY as columns of the table, if it is nothing else.
fn order_columns(plan: &SelectPlan) -> Option<Vec<(u16, bool)>> {
    plan.sort
        .iter()
        .map(|(item, descending)| Some((simple_column(&plan.items[*item])?, *descending)))
        .collect()
}

/// ONLY_FULL_GROUP_BY: SELECT DISTINCT is sorted by values computed from its select list; others have many values a row. 3065
/// for columns that are not selected, 3066 for aggregates.
fn check_distinct(
    visible: &[Bound],
    hidden: &[Bound],
    order_numbers: &[usize],
    base: usize,
    relations: &Relations,
) -> Result<(), SqlError> {
    fn unselected(expr: &Expr, selected: &[Vec<u8>]) -> Option<u16> {
        if selected.contains(&rewrite::encoded(expr)) {
            return None;
        }
        if let Expr::Column(position) = expr {
            return Some(*position);
        }
        let mut found = None;
        rewrite::for_each_child(expr, &mut |child| {
            found = found.or_else(|| unselected(child, selected));
        });
        found
    }
    let selected: Vec<Vec<u8>> = visible.iter().map(|item| rewrite::encoded(&item.expr)).collect();
    for (item, number) in hidden.iter().zip(order_numbers) {
        let Some(position) = unselected(&item.expr, &selected).map(usize::from) else { continue };
        let (code, what) = match Some(position).filter(|position| *position < base) {
            Some(position) => {
                let name = relations.full_name(position);
                (3065, format!("references column '{name}' which is not in SELECT list"))
            }
            None => (3066, "contains aggregate function".to_string()),
        };
        return Err(SqlError::new(
            code,
            format!(
                "Expression #{number} of ORDER BY clause is not in SELECT list, {what}; this is incompatible with \
                 DISTINCT"
            ),
        ));
    }
    Ok(())
}

fn and_bounds(first: Option<Bound>, second: Bound) -> Bound {
    match first {
        None => second,
        Some(first) => {
            let mut slots = first.slots;
            slots.extend(second.slots);
            Bound { expr: Expr::And(vec![first.expr, second.expr]), slots }
        }
    }
}

/// FOR UPDATE and FOR SHARE: for each relation the strongest that names it, and the policy for rows that others have
/// locked.
fn locks_of(query: &ast::Query, relations: &Relations) -> (Vec<Lock>, WaitPolicy) {
    let mut locks = vec![Lock::None; relations.tables.len()];
    let mut wait = WaitPolicy::Wait;
    for locking in &query.locking {
        // Not the relations that subqueries have become.
        let named = relations.tables.iter().zip(&mut locks).take(relations.named.end);
        for (table, lock) in named {
            let is_named = |name: &ast::ObjectName| name.name == table.alias;
            if !locking.of.is_empty() && !locking.of.iter().any(is_named) {
                continue;
            }
            *lock = match locking.strength {
                ast::LockStrength::Update => Lock::Exclusive,
                ast::LockStrength::Share if *lock == Lock::None => Lock::Shared,
                ast::LockStrength::Share => *lock,
            };
        }
        wait = match locking.wait {
            ast::LockWait::Wait => wait,
            ast::LockWait::NoWait => WaitPolicy::NoWait,
            ast::LockWait::SkipLocked => WaitPolicy::SkipLocked,
        };
    }
    (locks, wait)
}

/// ORDER BY 2, GROUP BY 1: the item, from 0.
pub(super) fn position_of(
    expr: &ast::Expr,
    item_count: usize,
    place: &str,
) -> Result<Option<usize>, SqlError> {
    let ast::Expr::Literal(ast::Literal::Integer(number)) = expr else { return Ok(None) };
    match usize::try_from(*number) {
        Ok(number) if 1 <= number && number <= item_count => Ok(Some(number - 1)),
        _ => Err(SqlError::unknown_column(&number.to_string(), place)),
    }
}

impl Binder<'_> {
    fn expand_items(
        &mut self,
        items: &[ast::SelectItem],
        relations: &Relations,
    ) -> Result<Vec<Item>, SqlError> {
        let mut expanded = Vec::new();
        let is_one = relations.tables.len() == 1;
        let wildcard = |expanded: &mut Vec<Item>, columns: &mut dyn Iterator<Item = usize>| {
            for number in columns {
                let column = &relations.column(number).name;
                let name = match is_one {
                    true => ast::ColumnName {
                        schema: None,
                        table: None,
                        column: column.clone(),
                        at: ast::Place::default(),
                    },
                    false => relations.name_of(number),
                };
                expanded.push(Item {
                    expr: ast::Expr::Column(name),
                    name: column.clone(),
                    has_alias: false,
                });
            }
        };
        for item in items {
            match item {
                ast::SelectItem::Wildcard(_) if relations.is_empty() => {
                    return Err(SqlError::new(code::ER_NO_TABLES_USED, "No tables used"));
                }
                ast::SelectItem::Wildcard(at) => {
                    let first = expanded.len();
                    wildcard(&mut expanded, &mut relations.listed.iter().copied());
                    self.note_wildcard(*at, &relations.listed, &expanded[first..], relations);
                }
                ast::SelectItem::TableWildcard(name) => match relations.named(name) {
                    Some(table) => {
                        let first = expanded.len();
                        wildcard(&mut expanded, &mut table.visible());
                        let columns: Vec<usize> = table.visible().collect();
                        self.note_wildcard(name.at, &columns, &expanded[first..], relations);
                    }
                    None => return Err(SqlError::bad_table(&name.name)),
                },
                ast::SelectItem::Expr { expr, alias, text } => {
                    let name = ast::item_title(expr, alias.as_deref(), text);
                    expanded.push(Item { expr: expr.clone(), name, has_alias: alias.is_some() });
                }
            }
        }
        Ok(expanded)
    }
}

/// LIMIT: integer literals and parameters.
pub fn limit_plan(
    binder: &mut Binder<'_>,
    limit: Option<&ast::Limit>,
) -> Result<Option<LimitPlan>, SqlError> {
    let Some(limit) = limit else { return Ok(None) };
    let count = binder.limit_value(&limit.count)?;
    let offset = match &limit.offset {
        Some(offset) => Some(binder.limit_value(offset)?),
        None => None,
    };
    Ok(Some(LimitPlan { count, offset }))
}

impl Binder<'_> {
    pub fn limit_value(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        match expr {
            ast::Expr::Literal(ast::Literal::Integer(number)) => {
                Ok(Expr::Const(Value::UInt(*number)))
            }
            ast::Expr::Param(_) => self.expr(expr, &Scope::empty("limit clause")),
            _ => Err(SqlError::not_supported("LIMIT of an expression")),
        }
    }
}

/// How a table's column is described to clients.
pub fn column_info(table: &Table, position: usize, alias: &str) -> ColumnInfo {
    let column = &table.columns[position];
    let leads = |index: &types::Index| usize::from(index.parts[0].column) == position;
    let identifying = identifying_key(table);
    let primary_key = identifying
        .is_some_and(|index| index.parts.iter().any(|part| usize::from(part.column) == position));
    let is_unique =
        |index: &types::Index| index.kind != IndexKind::Ordinary && index.parts.len() == 1;
    let led = || {
        shown_indexes(table)
            .into_iter()
            .filter(|index| leads(index) && identifying.is_none_or(|own| own.id != index.id))
    };
    let unique_key = led().any(is_unique);
    let multiple_key = led().any(|index| !is_unique(index));
    let auto_increment =
        table.auto_increment.as_ref().is_some_and(|own| usize::from(own.column) == position);
    let mut info = expression_info(
        &column.name,
        &ResultType {
            column_type: Some(column.column_type.clone()),
            nullable: column.nullable,
            display: column.display,
        },
    );
    info.schema.clone_from(&table.database);
    info.table.clone_from(&table.name);
    info.table_alias = alias.to_string();
    info.org_name.clone_from(&column.name);
    if column.column_type.is_numeric() {
        info.flags.binary = false;
    }
    info.flags.primary_key = primary_key;
    info.flags.unique_key = unique_key;
    info.flags.multiple_key = multiple_key;
    info.flags.auto_increment = auto_increment;
    info.flags.on_update_now = column.on_update_now;
    info.flags.no_default =
        !column.nullable && !auto_increment && matches!(column.default, types::ColumnDefault::None);
    info.flags.timestamp = column.on_update_now;
    info
}

/// How a computed value is described to clients.
pub fn expression_info(name: &str, own: &ResultType) -> ColumnInfo {
    let null_type = own.column_type.is_none();
    let column_type = own.column_type.clone().unwrap_or(ColumnType::Binary { length: 0 });
    let is_text = column_type.is_string();
    let is_blob =
        matches!(column_type, ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json);
    ColumnInfo {
        coercibility: Coercibility::Implicit,
        schema: String::new(),
        table: String::new(),
        table_alias: String::new(),
        name: name.to_string(),
        org_name: String::new(),
        nullable: own.nullable || null_type,
        flags: ColumnFlags {
            not_null: !own.nullable && !null_type,
            blob: is_blob,
            unsigned: column_type.is_unsigned() || own.display.is_unsigned,
            zerofill: own.display.is_zerofill,
            binary: !is_text,
            // Clients send and dump the values of BIT as bytes.
            numeric: column_type.is_numeric() && !matches!(column_type, ColumnType::Bit { .. }),
            ..ColumnFlags::default()
        },
        decimals: own.display.decimals.unwrap_or_else(|| column_type.decimals()),
        collation_id: column_type.collation().unwrap_or(Collation::Binary).id(),
        length: match own.display.width {
            Some(width) => u32::from(width),
            None => column_type.display_length(),
        },
        display: own.display,
        column_type,
        null_type,
    }
}
