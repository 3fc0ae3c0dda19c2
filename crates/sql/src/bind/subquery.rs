//! Queries inside of others: as operands, and LATERAL in FROM.
//!
//! A query inside names columns of the one around it by a [`Slot::Outer`] each: to itself that is a parameter like any other,
//! which can choose an index and travel to the shards. The caller of the inner query fills the slots in first.
//!
//! | the inner query names columns of | it runs |
//! |---|---|
//! | the query around it | before each row that asks for its value ([`SubqueryPlan::is_per_row`]) |
//! | a query further out only | once, when the query inside of that one begins (`once` of its plan) |
//! | no query around it | once, when the statement begins ([`crate::plan::Plan::once`]) |
//!
//! All of a statement's queries read at one snapshot.

use std::sync::Arc;

use types::expr::{BinaryOp, Coercibility, ResultType, UnaryOp};
use types::{ColumnType, Expr, IntWidth, Table, Value};

use super::expr::comparison_of;
use super::names::{Alias, OuterScope, Relations, Scope};
use super::{Binder, rewrite};
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{
    Bound, ColumnPlace, JoinedSource, LimitPlan, Operator, OuterValue, RelationRows, SelectPlan,
    SetLookup, Slot, Source, SubqueryKind, SubqueryPlan,
};
use crate::result::PlanColumns;

/// Rows after which it is clear that there is more than one.
const ROWS_WANTED: u64 = 2;

/// A query that was bound inside of another one.
pub struct Inner {
    pub plan: SelectPlan,
    pub outer: Vec<OuterValue>,
    /// The innermost query further out that it names columns of.
    pub beyond: Option<usize>,
    /// Its slots.
    pub slots: std::ops::Range<usize>,
    set: Option<SetLookup>,
}

/// How far a binding was.
pub struct Mark {
    slots: usize,
    values: Vec<usize>,
    known: usize,
    queries: usize,
    warnings: usize,
    reusable: bool,
    lowest: usize,
}

/// A subquery that is bound. Where an alias of it is named, it is the same one.
pub struct Known {
    /// Of the query that it stands in.
    block: usize,
    rows: Rows,
    expr: ast::Expr,
    bound: Expr,
}

/// Which rows of a query an expression is computed on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Those of FROM.
    Source,
    /// Those of FROM, for an aggregate.
    Aggregated,
    /// Groups, or what they are made by.
    Groups,
    /// Those that HAVING is a filter of, where nothing is grouped by.
    Filtered,
}

impl Rows {
    fn of(scope: &Scope<'_>) -> Rows {
        match scope.place {
            "where clause" | "on clause" => Rows::Source,
            "having clause"
                if scope.groups.is_some_and(|groups| groups.borrow().group_count == 0) =>
            {
                Rows::Filtered
            }
            place if place != "group statement" && scope.groups.is_none() => Rows::Aggregated,
            _ => Rows::Groups,
        }
    }
}

impl Binder<'_> {
    /// Binds an operand that is a query, or is compared with one; the second time it is the same.
    pub fn subquery_once(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        let rows = Rows::of(scope);
        let is_it =
            |known: &&Known| known.block == self.block && known.rows == rows && known.expr == *expr;
        if let Some(known) = self.subqueries.iter().find(is_it) {
            return Ok(known.bound.clone());
        }
        let bound = match expr {
            ast::Expr::Subquery(query) => Expr::Param(self.subquery_columns(query, 1, scope)?[0]),
            ast::Expr::Exists(query) => self.exists(query, scope)?,
            ast::Expr::InSubquery { operand, query, negated } => {
                let kind = SubqueryKind::Any;
                let any = self.quantified(operand, BinaryOp::Equal, kind, query, scope)?;
                if *negated { Expr::Unary(UnaryOp::Not, Box::new(any)) } else { any }
            }
            ast::Expr::Quantified { operator, all, left, query } => {
                let kind = if *all { SubqueryKind::All } else { SubqueryKind::Any };
                let operator = comparison_of(*operator).expect("the parser takes no other");
                self.quantified(left, operator, kind, query, scope)?
            }
            other => unreachable!("{other:?} has no query"),
        };
        self.subqueries.push(Known {
            block: self.block,
            rows,
            expr: expr.clone(),
            bound: bound.clone(),
        });
        Ok(bound)
    }

    /// A place for rows that the statement keeps.
    pub fn new_kept(&mut self) -> u16 {
        self.kept_count += 1;
        self.kept_count - 1
    }

    /// The columns of a row, or of a subquery of this number of columns.
    pub fn row_of(
        &mut self,
        expr: &ast::Expr,
        count: usize,
        scope: &Scope<'_>,
    ) -> Result<Vec<ast::Expr>, SqlError> {
        match expr {
            ast::Expr::Row(columns) => Ok(columns.clone()),
            ast::Expr::Subquery(query) => {
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
        let mut inner = self.inner_query(query, scope)?;
        if inner.plan.columns.len() != count {
            return Err(SqlError::operand_columns(count));
        }
        // Also without a LIMIT, and whatever sql_select_limit says.
        let rows_wanted =
            || LimitPlan { count: Expr::Const(Value::UInt(ROWS_WANTED)), offset: None };
        inner.plan.limit.get_or_insert_with(rows_wanted);
        let types = column_types(&inner.plan);
        self.subquery_slot(inner, SubqueryKind::Scalar, types)
    }

    /// EXISTS (query).
    fn exists(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        let mut inner = self.inner_query(query, scope)?;
        let one = || LimitPlan { count: Expr::Const(Value::UInt(1)), offset: None };
        inner.plan.limit.get_or_insert_with(one);
        let slots = self.subquery_slot(inner, SubqueryKind::Exists, vec![Some(truth_type())])?;
        Ok(Expr::Param(slots[0]))
    }

    /// `operand IN (query)`, and `operand < ANY (query)` and the like: whether the comparison holds for any row, or for all.
    fn quantified(
        &mut self,
        operand: &ast::Expr,
        operator: BinaryOp,
        kind: SubqueryKind,
        query: &ast::Query,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        let operands = match operand {
            ast::Expr::Row(columns) => columns.clone(),
            other => vec![other.clone()],
        };
        // Once, whatever the number of rows.
        let operands = self.exprs(&operands, scope)?;
        let inner = self.inner_query(query, scope)?;
        self.quantified_over(operands, operator, kind, inner, scope)
    }

    /// The same of operands and a query that are bound.
    pub fn quantified_over(
        &mut self,
        operands: Vec<Expr>,
        operator: BinaryOp,
        kind: SubqueryKind,
        mut inner: Inner,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        let columns = scope.result_types();
        let mut outer = Vec::new();
        let mut values = Vec::new();
        for operand in operands {
            let own = self.type_of(&operand, &columns);
            let derivation = self.derivation(&operand, scope);
            let number = self.outer_slot(own)?;
            self.param_derivations[usize::from(number)] = derivation;
            values.push(Expr::Param(number));
            let slot = number - u16::try_from(self.param_kinds.len()).expect("counted");
            outer.push(OuterValue { slot, value: operand });
        }
        if inner.plan.columns.len() != values.len() {
            return Err(SqlError::operand_columns(values.len()));
        }
        if inner.plan.limit.is_some() {
            return Err(SqlError::not_supported("LIMIT & IN/ALL/ANY/SOME subquery"));
        }
        // SELECT operand = column FROM (query): the rows of that are the truth values.
        let relations = Relations::of(super::from::derived_scope_unnamed(&inner.plan.columns));
        let inside = Scope::of(&relations, "field list");
        let mut terms = Vec::new();
        for (number, value) in values.into_iter().enumerate() {
            let column = self.column_value(number, &relations);
            terms.push(self.compared(operator, value, column, &inside)?);
        }
        let width = terms.len();
        let comparison = match (width, operator, kind) {
            (1, ..) => terms.pop().expect("one"),
            (_, BinaryOp::Equal, SubqueryKind::Any) => Expr::And(terms),
            (_, BinaryOp::NotEqual, SubqueryKind::All) => Expr::Or(terms),
            // Rows are equal or not.
            _ => return Err(SqlError::operand_columns(1)),
        };
        let is_independent = inner.outer.is_empty() && inner.beyond.is_none();
        let keep = is_independent.then(|| self.new_kept());
        let mut set = None;
        if let (Some(keep), Expr::Binary(BinaryOp::Equal, operand, column), 1, SubqueryKind::Any) =
            (keep, &comparison, width, kind)
            && self.have_equal_keys(operand, column, &relations)
        {
            set = Some(SetLookup {
                keep,
                operand: (**operand).clone(),
                column: (**column).clone(),
                plan: inner.plan.clone(),
            });
        }
        inner.outer.extend(outer);
        inner.plan = over_query(inner.plan, keep, comparison);
        inner.set = set;
        let slots = self.subquery_slot(inner, kind, vec![Some(truth_type())])?;
        Ok(Expr::Param(slots[0]))
    }

    /// Binds a query whose names may be the scope's.
    pub fn inner_query(
        &mut self,
        query: &ast::Query,
        scope: &Scope<'_>,
    ) -> Result<Inner, SqlError> {
        check_clauses(query)?;
        let owned = |alias: &Alias<'_>| (alias.name.to_string(), alias.expr.clone());
        let aliases = scope.aliases.iter().chain(scope.earlier_aliases).map(owned).collect();
        let later_aliases = scope.later_aliases.iter().map(|own| own.name.to_string()).collect();
        let around = OuterScope {
            aliases,
            later_aliases,
            groups: scope.groups.cloned(),
            ..OuterScope::of(scope.relations)
        };
        let inner = self.inside(around, query)?;
        if inner.plan.calc_found_rows {
            return Err(SqlError::new(
                code::ER_CANT_USE_OPTION_HERE,
                "Incorrect usage/placement of 'SQL_CALC_FOUND_ROWS'",
            ));
        }
        if !scope.relations.is_empty() && inner.slots.clone().any(|slot| self.acts(slot)) {
            return Err(SqlError::not_supported("RAND, UUID, SLEEP or assignment in a subquery"));
        }
        Ok(inner)
    }

    /// LATERAL (query): its plan, and the columns of relations before it that it names.
    pub fn lateral(
        &mut self,
        query: &ast::Query,
        relations: &Relations,
    ) -> Result<(SelectPlan, Vec<OuterValue>), SqlError> {
        check_clauses(query)?;
        let inner = self.inside(OuterScope::of(relations), query)?;
        self.inner_slots.push(inner.slots);
        Ok((inner.plan, inner.outer))
    }

    pub fn inside(&mut self, around: OuterScope, query: &ast::Query) -> Result<Inner, SqlError> {
        self.inside_with(around, |binder| binder.query(query))
    }

    /// The same of a plan that a function binds.
    pub fn inside_with(
        &mut self,
        around: OuterScope,
        bind: impl FnOnce(&mut Self) -> Result<SelectPlan, SqlError>,
    ) -> Result<Inner, SqlError> {
        let first = self.slots.len();
        self.outer.push(around);
        self.once.push(Vec::new());
        let branches = std::mem::take(&mut self.branches);
        let bound = bind(self);
        self.branches = branches;
        let once = self.once.pop().expect("pushed");
        let around = self.outer.pop().expect("pushed");
        let mut plan = bound?;
        plan.once = once;
        self.several = true;
        Ok(Inner {
            plan,
            outer: around.values,
            beyond: around.beyond,
            slots: first..self.slots.len(),
            set: None,
        })
    }

    /// Makes the slots of a subquery's columns; notes when it runs.
    fn subquery_slot(
        &mut self,
        inner: Inner,
        kind: SubqueryKind,
        types: Vec<Option<ColumnType>>,
    ) -> Result<Vec<u16>, SqlError> {
        let inner_slots = inner.slots.clone();
        self.inner_slots.push(inner_slots.clone());
        let is_per_row = inner.outer.iter().any(|outer| rewrite::has_columns(&outer.value))
            || inner.outer.iter().any(|outer| self.names_row_slots(&outer.value));
        if !is_per_row {
            let mut level = inner.beyond.map_or(0, |level| level + 1);
            // A deeper query may supply the operands of its comparison than the columns that it names.
            for outer in &inner.outer {
                rewrite::for_each_param(&outer.value, &mut |number| {
                    if let Some(slot) = usize::from(number).checked_sub(self.param_kinds.len()) {
                        level = level.max(self.level_of(slot));
                    }
                });
            }
            self.once[level].push(u16::try_from(self.slots.len()).unwrap_or(u16::MAX));
        }
        let is_variable = |slot: usize| matches!(self.slots[slot], Slot::UserVariable(_));
        let is_kept = is_per_row
            && inner.beyond.is_none()
            && inner.set.is_none()
            && !inner_slots.clone().any(is_variable);
        let Inner { plan, outer, set, .. } = inner;
        let coercibilities: Vec<Coercibility> =
            plan.columns.iter().map(|info| info.coercibility).collect();
        let is_lazy = 0 < self.branches;
        let plan = SubqueryPlan { plan, kind, outer, is_per_row, is_kept, is_lazy, set };
        let mut slot = Slot::Subquery(Box::new(plan));
        let mut columns = Vec::with_capacity(types.len());
        for column_type in types {
            columns.push(self.slot(slot, column_type)?);
            slot = Slot::SubqueryColumn;
        }
        for (number, coercibility) in columns.iter().zip(coercibilities) {
            self.param_derivations[usize::from(*number)].coercibility = coercibility;
        }
        Ok(columns)
    }

    /// The query that supplies a slot when it begins, as a level of `once`.
    fn level_of(&self, slot: usize) -> usize {
        let owner = self.slot_owner(slot);
        let is_it = |other: u16| usize::from(other) == owner;
        let once = self.once.iter().rposition(|slots| slots.iter().any(|own| is_it(*own)));
        let outer = self
            .outer
            .iter()
            .rposition(|outer| outer.values.iter().any(|value| usize::from(value.slot) == slot));
        once.max(outer.map(|level| level + 1)).unwrap_or(0)
    }

    /// Do the operand, over slots, and the column, if they are equal, have equal keys?
    fn have_equal_keys(&self, operand: &Expr, column: &Expr, relations: &Relations) -> bool {
        let columns = relations.result_types();
        let types = [operand, column]
            .map(|own| types::expr::result_type(own, &columns, &self.param_types).column_type);
        match types {
            [Some(operand), Some(column)] => super::join::have_equal_keys(&operand, &column),
            _ => false,
        }
    }

    /// Does the expression need slots that each row supplies?
    fn names_row_slots(&self, expr: &Expr) -> bool {
        let mut found = false;
        rewrite::for_each_param(expr, &mut |number| {
            let slot = usize::from(number).checked_sub(self.param_kinds.len());
            found |= slot
                .is_some_and(|slot| self.is_per_row(self.slot_owner(slot)) && !self.is_inner(slot));
        });
        found
    }

    /// Does a slot do more than to name a value?
    pub fn acts(&self, slot: usize) -> bool {
        self.is_per_row(slot) && !matches!(self.slots[slot], Slot::Subquery(_) | Slot::Window)
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
        match self.changes.iter().find(|changed| changed.id == table.id) {
            Some(changed) => Err(SqlError::update_table_used(&changed.name)),
            None => Ok(()),
        }
    }

    /// A name that the query does not have, which gives `error` unless a query around it has the name: a column, or an item
    /// of its select list.
    pub fn outer_name(
        &mut self,
        name: &ast::ColumnName,
        error: SqlError,
    ) -> Result<Expr, SqlError> {
        for level in (0..self.outer.len()).rev() {
            if self.hidden.iter().any(|hidden| hidden.contains(&level)) {
                continue;
            }
            let outer = &self.outer[level];
            if let Some(column) = outer.relations.find(name, "field list")? {
                let relations = outer.relations.clone();
                self.note_column(name, column, &relations);
                return self.outer_column(level, column).map(Expr::Param);
            }
            if name.table.is_some() {
                continue;
            }
            let is_it = |alias: &str| alias.eq_ignore_ascii_case(&name.column);
            if let Some((_, expr)) = outer.aliases.iter().find(|(alias, _)| is_it(alias)) {
                let expr = expr.clone();
                return self.outer_item(level, &expr);
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

    /// The parameter that stands for a column of a query around.
    fn outer_column(&mut self, level: usize, column: usize) -> Result<u16, SqlError> {
        let relations = self.outer[level].relations.clone();
        let value = self.column_value(column, &relations);
        self.outer_value(level, value, &Scope::of(&relations, "field list"))
    }

    /// An item of the select list of a query around.
    fn outer_item(&mut self, level: usize, item: &ast::Expr) -> Result<Expr, SqlError> {
        if let ast::Expr::Literal(literal) = item {
            return Ok(Expr::Const(super::literal_value(literal, &self.environment)?));
        }
        let inner: Vec<OuterScope> = self.outer.drain(level..).collect();
        let relations = inner[0].relations.clone();
        let first = self.slots.len();
        let value = self.expr(item, &Scope::of(&relations, "field list"));
        let acts = (first..self.slots.len()).any(|slot| self.is_per_row(slot));
        self.outer.extend(inner);
        if acts {
            return Err(SqlError::not_supported("reference to a computed item in a subquery"));
        }
        let scope = Scope::of(&relations, "field list");
        self.outer_value(level, value?, &scope).map(Expr::Param)
    }

    /// The parameter that stands for a value over the rows of a query around, noted there once.
    fn outer_value(
        &mut self,
        level: usize,
        value: Expr,
        scope: &Scope<'_>,
    ) -> Result<u16, SqlError> {
        self.lowest_outer = self.lowest_outer.min(level);
        for inner in &mut self.outer[level + 1..] {
            inner.beyond = Some(inner.beyond.map_or(level, |own| own.max(level)));
        }
        let first = u16::try_from(self.param_kinds.len()).expect("counted");
        let key = rewrite::encoded(&value);
        if let Some(known) =
            self.outer[level].values.iter().find(|own| rewrite::encoded(&own.value) == key)
        {
            return Ok(first + known.slot);
        }
        let own = self.type_of(&value, &scope.result_types());
        let derivation = self.derivation(&value, scope);
        let number = self.outer_slot(own)?;
        self.param_derivations[usize::from(number)] = derivation;
        self.outer[level].values.push(OuterValue { slot: number - first, value });
        Ok(number)
    }

    /// The query around this one that an aggregate belongs to: where its arguments name columns of that, and none of this
    /// query.
    pub fn level_of_aggregate(
        &mut self,
        arguments: &[ast::Expr],
        scope: &Scope<'_>,
    ) -> Option<usize> {
        if self.outer.iter().all(|outer| outer.groups.is_none()) {
            return None;
        }
        let values: Vec<usize> = self.outer.iter().map(|outer| outer.values.len()).collect();
        let (is_outer, level) = self.forgotten(|binder| {
            let bound = binder.exprs(arguments, &scope.without_groups()).unwrap_or_default();
            let names_own = |expr: &Expr| {
                rewrite::has_columns(expr) || !binder.row_slots(expr, binder.slots.len()).is_empty()
            };
            let named = |(outer, before): (&OuterScope, &usize)| *before < outer.values.len();
            let level = binder.outer.iter().zip(&values).rposition(named);
            (!bound.iter().any(names_own), level)
        });
        if !is_outer {
            return None;
        }
        let allows = |outer: &OuterScope| outer.groups.is_some();
        match level {
            Some(level) => Some(level).filter(|level| allows(&self.outer[*level])),
            // COUNT(*) where this query has no aggregates is that of the next one around it which has.
            None if scope.groups.is_none() => self.outer.iter().rposition(allows),
            None => None,
        }
    }

    /// Binds something to find the names in it, and then removes everything that the binding has made.
    pub fn forgotten<T>(&mut self, bind: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.mark();
        let seen = bind(self);
        self.forget(before);
        seen
    }

    /// How far the binding is.
    pub fn mark(&self) -> Mark {
        Mark {
            slots: self.slots.len(),
            values: self.outer.iter().map(|outer| outer.values.len()).collect(),
            known: self.subqueries.len(),
            queries: self.query_count,
            warnings: self.warnings.len(),
            reusable: self.reusable,
            lowest: self.lowest_outer,
        }
    }

    /// Removes everything that was made since.
    pub fn forget(&mut self, before: Mark) {
        let Mark { slots, values, known, queries, warnings, reusable, lowest } = before;
        self.query_count = queries;
        self.slots.truncate(slots);
        self.param_types.truncate(self.param_kinds.len() + slots);
        self.param_derivations.truncate(self.param_kinds.len() + slots);
        for (outer, count) in self.outer.iter_mut().zip(values) {
            outer.values.truncate(count);
        }
        for once in &mut self.once {
            once.retain(|slot| usize::from(*slot) < slots);
        }
        self.inner_slots.retain(|inner| inner.start < slots);
        self.subqueries.truncate(known);
        self.warnings.truncate(warnings);
        self.reusable = reusable;
        self.lowest_outer = lowest;
    }

    /// Binds an expression of a query around this one, and gives the parameter that stands for it here.
    pub fn at_level(
        &mut self,
        level: usize,
        bind: &mut dyn FnMut(&mut Self, &Scope<'_>) -> Result<Expr, SqlError>,
    ) -> Result<Expr, SqlError> {
        let inner: Vec<OuterScope> = self.outer.drain(level..).collect();
        let (relations, groups) = (inner[0].relations.clone(), inner[0].groups.clone());
        let scope = Scope { groups: groups.as_ref(), ..Scope::of(&relations, "field list") };
        let value = bind(self, &scope);
        self.outer.extend(inner);
        self.outer_value(level, value?, &scope).map(Expr::Param)
    }
}

/// Of a truth value.
fn truth_type() -> ColumnType {
    ColumnType::Int { width: IntWidth::W4, unsigned: false }
}

/// The types of what a query selects, as its rows have them.
fn column_types(plan: &SelectPlan) -> Vec<Option<ColumnType>> {
    let columns = plan.columns.iter().map(|info| {
        (!info.null_type).then(|| match &info.column_type {
            // Shown in the session's time zone.
            ColumnType::Timestamp { fsp } => ColumnType::DateTime { fsp: *fsp },
            other => other.clone(),
        })
    });
    columns.collect()
}

/// SELECT item FROM (plan).
fn over_query(plan: SelectPlan, keep: Option<u16>, item: Expr) -> SelectPlan {
    let places = (0..plan.columns.len()).map(|position| ColumnPlace {
        relation: 0,
        position: u16::try_from(position).expect("select lists are bounded"),
    });
    let own = ResultType::of(Some(truth_type()), true);
    let info = super::select::expression_info("", &own);
    let source = JoinedSource {
        columns: places.collect(),
        relations: vec![RelationRows::Values],
        aliases: vec![String::new()],
        titles: vec![Vec::new()],
        root: Operator::Query { relation: 0, plan: Box::new(plan), keep },
        is_pulled: false,
        delivers_order: false,
    };
    let columns = PlanColumns::new(vec![info]);
    SelectPlan::new(columns, Source::Joined(Box::new(source)), vec![Bound::pure(item)])
}

/// The columns of two operands that are compared as rows: one of them is (a, b), or a subquery that its text says to select
/// several columns, and the other one may be such.
pub fn row_width(left: &ast::Expr, right: &ast::Expr) -> Option<usize> {
    let may_be = |expr: &ast::Expr| matches!(expr, ast::Expr::Row(_) | ast::Expr::Subquery(_));
    if !may_be(left) || !may_be(right) {
        return None;
    }
    row_columns(left).or_else(|| row_columns(right))
}

/// The columns of an operand that its text says to be a row.
pub fn row_columns(expr: &ast::Expr) -> Option<usize> {
    match expr {
        ast::Expr::Row(columns) => Some(columns.len()),
        ast::Expr::Subquery(query) => width(query).filter(|count| 1 < *count),
        _ => None,
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

pub fn check_clauses(query: &ast::Query) -> Result<(), SqlError> {
    if !query.into_variables.is_empty() || query.into_file {
        return Err(SqlError::not_supported("INTO in a subquery"));
    }
    if query.locking.iter().any(|locking| locking.wait != ast::LockWait::Wait) {
        return Err(SqlError::not_supported("NOWAIT or SKIP LOCKED in a subquery"));
    }
    Ok(())
}
