//! Queries that are made of others: UNION, INTERSECT, EXCEPT, VALUES ROW(...), WITH.

use std::cell::RefCell;
use std::rc::Rc;

use client::WaitPolicy;
use types::Expr;
use types::expr::{Function, ResultType};

use super::Binder;
use super::from::{RelationSource, derived_scope, derived_scope_unnamed, relation_of};
use super::names::{Alias, GroupCollector, Relations, Scope, ScopeTable};
use super::select::{Item, expression_info, limit_plan};
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{
    Bound, ColumnPlace, JoinedSource, Operator, RelationRows, SelectPlan, SetMember, Source,
};
use crate::result::{ColumnInfo, PlanColumns};

/// Queries of one statement, each common table expression counted wherever it is named.
const QUERY_COUNT_MAX: usize = 2_000;

/// A table of WITH.
pub struct CommonTable {
    name: String,
    columns: Vec<String>,
    query: Rc<ast::Query>,
    /// Of the tables of WITH, how many it can name.
    visible: usize,
    /// Of the queries around, how many it can name columns of.
    depth: usize,
    /// WITH RECURSIVE, and it names itself.
    recursive: bool,
    /// While the recursive part is bound: the number and columns of the table there, and the number of queries around.
    working: Option<(u16, Vec<ColumnInfo>, usize)>,
}

impl Binder<'_> {
    /// Bounds what common table expressions that name each other several times become.
    pub fn count_query(&mut self) -> Result<(), SqlError> {
        self.query_count += 1;
        if QUERY_COUNT_MAX < self.query_count {
            return Err(SqlError::new(
                code::ER_STACK_OVERRUN_NEED_MORE,
                format!("The statement has more than {QUERY_COUNT_MAX} queries"),
            ));
        }
        Ok(())
    }

    /// Makes the tables of WITH known; how many were known before.
    pub fn begin_with(&mut self, with: Option<&ast::With>) -> Result<usize, SqlError> {
        let before = self.common.len();
        let Some(with) = with else { return Ok(before) };
        for table in &with.tables {
            if self.common[before..].iter().any(|other| other.name == table.name) {
                return Err(SqlError::not_unique_table(&table.name));
            }
            self.common.push(CommonTable {
                name: table.name.clone(),
                columns: table.columns.clone(),
                query: Rc::new(table.query.clone()),
                visible: self.common.len(),
                depth: self.outer.len(),
                recursive: with.recursive && names_in_from(&table.query, &table.name),
                working: None,
            });
        }
        Ok(before)
    }

    /// The relation that a name of WITH is; None for a name that WITH does not have.
    pub fn common_table(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&str>,
    ) -> Result<Option<(RelationSource, ScopeTable)>, SqlError> {
        if name.schema.is_some() {
            return Ok(None);
        }
        let Some(position) = self.common.iter().rposition(|table| table.name == name.name) else {
            return Ok(None);
        };
        let alias = alias.unwrap_or(&name.name);
        let table = &self.common[position];
        if let Some((number, columns, depth)) = &table.working {
            if *depth < self.outer.len() {
                return Err(SqlError::new(
                    code::ER_CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE,
                    format!(
                        "In recursive query block of Recursive Common Table Expression '{}', the \
                         recursive table must be referenced only once, and not in any subquery",
                        name.name
                    ),
                ));
            }
            let scope = derived_scope(alias, &table.columns, columns)?;
            return Ok(Some((RelationSource::Working { number: *number }, scope)));
        }
        let (query, names, recursive) =
            (Rc::clone(&table.query), table.columns.clone(), table.recursive);
        // It names the tables and queries that are there at its definition.
        let (visible, depth) = (table.visible, table.depth);
        let later = self.common.split_off(visible + usize::from(recursive));
        self.hidden.push(depth..self.outer.len());
        let bound = match recursive {
            true => self.recursive_table(position, &query),
            false => {
                let merges =
                    self.changes.is_empty() && self.environment.optimizer_switch.derived_merge;
                self.query_or_merged(&query, merges).map(relation_of)
            }
        };
        self.hidden.pop();
        self.common.extend(later);
        let source = bound?;
        let scope = derived_scope(alias, &names, source.columns())?;
        Ok(Some((source, scope)))
    }

    /// `seed UNION [ALL] step ...`: the steps name the table, and see the rows that the last round has made.
    fn recursive_table(
        &mut self,
        position: usize,
        query: &ast::Query,
    ) -> Result<RelationSource, SqlError> {
        let name = self.common[position].name.clone();
        let needs = |what: &str| {
            let message = format!("Recursive Common Table Expression '{name}' should {what}");
            SqlError::new(code::ER_CTE_RECURSIVE_REQUIRES_UNION, message)
        };
        let ast::QueryBody::SetOperation { first, rest } = &query.body else {
            return Err(needs("contain a UNION"));
        };
        if !query.order_by.is_empty() {
            return Err(SqlError::not_supported("ORDER BY over UNION in a recursive WITH"));
        }
        if query.limit.is_some() {
            return Err(SqlError::not_supported("LIMIT over UNION in a recursive WITH"));
        }
        let before = self.begin_with(query.with.as_ref())?;
        let names_it = |operand: &ast::SetOperand| names_in_from(&operand.query, &name);
        let seeds = rest.iter().take_while(|operand| !names_it(operand)).count();
        if names_in_from(first, &name) {
            return Err(SqlError::new(
                code::ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST,
                format!(
                    "Recursive Common Table Expression '{name}' should have one or more \
                     non-recursive query blocks followed by one or more recursive ones"
                ),
            ));
        }
        if rest.iter().any(|operand| operand.operator != ast::SetOperator::Union) {
            return Err(SqlError::not_supported("INTERSECT and EXCEPT in a recursive WITH"));
        }
        let seed = match seeds {
            0 => self.query(first)?,
            _ => {
                let bare = ast::Query {
                    with: None,
                    body: ast::QueryBody::SetOperation {
                        first: first.clone(),
                        rest: rest[..seeds].to_vec(),
                    },
                    order_by: Vec::new(),
                    limit: None,
                    locking: Vec::new(),
                    into_variables: Vec::new(),
                    into_file: false,
                };
                self.query(&bare)?
            }
        };
        let mut columns = seed.columns.to_vec();
        columns.iter_mut().for_each(|info| info.nullable = true);
        let working = self.working_count;
        self.working_count += 1;
        self.common[position].working = Some((working, columns.clone(), self.outer.len()));
        let mut steps = Vec::new();
        let mut bound = Ok(());
        for operand in &rest[seeds..] {
            match self.query(&operand.query) {
                Ok(step) if step.grouping.is_some() || step.windows.is_some() => {
                    let name = &self.common[position].name;
                    bound = Err(SqlError::new(
                        code::ER_CTE_RECURSIVE_FORBIDS_AGGREGATION,
                        format!(
                            "Recursive Common Table Expression '{name}' can contain neither aggregation nor window \
                             functions in recursive query block"
                        ),
                    ));
                }
                Ok(step) if step.columns.len() == columns.len() => steps.push(step),
                Ok(_) => bound = Err(SqlError::set_column_counts()),
                Err(error) => bound = Err(error),
            }
            if bound.is_err() {
                break;
            }
        }
        self.common[position].working = None;
        self.common.truncate(before);
        bound?;
        let distinct = rest.iter().any(|operand| !operand.all);
        Ok(RelationSource::Recursive {
            seed: Box::new(seed),
            steps,
            distinct,
            number: working,
            columns,
        })
    }

    pub fn set_operation(
        &mut self,
        first: &ast::Query,
        rest: &[ast::SetOperand],
        query: &ast::Query,
    ) -> Result<SelectPlan, SqlError> {
        let first = self.query(first)?;
        let mut columns = first.columns.to_vec();
        let mut members =
            vec![SetMember { operator: ast::SetOperator::Union, all: true, plan: first }];
        for operand in rest {
            let plan = self.query(&operand.query)?;
            if plan.columns.len() != columns.len() {
                return Err(SqlError::set_column_counts());
            }
            for (own, other) in columns.iter_mut().zip(plan.columns.iter()) {
                *own = self.common_column(own, other)?;
            }
            members.push(SetMember { operator: operand.operator, all: operand.all, plan });
        }
        if let Some(SetMember { plan, .. }) = members.iter().find(|own| own.plan.calc_found_rows)
            && !std::ptr::eq(plan, &members[0].plan)
        {
            return Err(SqlError::new(
                code::ER_CANT_USE_OPTION_HERE,
                "Incorrect usage/placement of 'SQL_CALC_FOUND_ROWS'",
            ));
        }
        let operator = Operator::Set { relation: 0, members, columns: columns.clone() };
        self.over_rows(operator, columns, query)
    }

    /// The column of a set operation: of the first one's name, and of a type that holds the values of both.
    fn common_column(
        &mut self,
        own: &ColumnInfo,
        other: &ColumnInfo,
    ) -> Result<ColumnInfo, SqlError> {
        let type_of = |info: &ColumnInfo| ResultType {
            display: info.display,
            column_type: (!info.null_type).then(|| match &info.column_type {
                types::ColumnType::Timestamp { fsp } => types::ColumnType::DateTime { fsp: *fsp },
                other => other.clone(),
            }),
            nullable: info.nullable,
        };
        let columns = [type_of(own), type_of(other)];
        let nullable = own.nullable || other.nullable;
        let either = Expr::Function(Function::Coalesce, vec![Expr::Column(0), Expr::Column(1)]);
        let relations = Relations::of(derived_scope_unnamed(&[own.clone(), other.clone()]));
        let either = match own.null_type || other.null_type {
            true => either,
            false => self.settle(either, &Scope::of(&relations, "field list"))?,
        };
        let mut common = self.type_of(&either, &columns);
        common.nullable = nullable;
        let coercibility =
            self.derivation(&either, &Scope::of(&relations, "field list")).coercibility;
        let info = expression_info(&own.name, &common);
        Ok(ColumnInfo { coercibility, ..info })
    }

    /// VALUES ROW(1, 2), ROW(3, 4).
    pub fn values_rows(
        &mut self,
        rows: &[Vec<ast::Expr>],
        query: &ast::Query,
    ) -> Result<SelectPlan, SqlError> {
        let scope = Scope::empty("field list");
        let width = rows.first().map_or(0, Vec::len);
        let mut columns: Vec<ColumnInfo> = Vec::new();
        let mut bound_rows = Vec::with_capacity(rows.len());
        for (number, row) in rows.iter().enumerate() {
            if row.len() != width || width == 0 {
                return Err(SqlError::value_count(number + 1));
            }
            let mut bound_row = Vec::with_capacity(width);
            for (position, value) in row.iter().enumerate() {
                let bound = self.bound(value, &scope)?;
                let own = self.type_of(&bound.expr, &[]);
                let name = format!("column_{position}");
                let info = expression_info(&name, &own);
                match columns.get_mut(position) {
                    None => columns.push(info),
                    Some(known) => *known = self.common_column(known, &info)?,
                }
                bound_row.push(bound);
            }
            bound_rows.push(bound_row);
        }
        let operator = Operator::Values { relation: 0, rows: bound_rows, columns: columns.clone() };
        self.over_rows(operator, columns, query)
    }

    /// All rows of an operator, sorted and limited as the query says.
    fn over_rows(
        &mut self,
        operator: Operator,
        columns: Vec<ColumnInfo>,
        query: &ast::Query,
    ) -> Result<SelectPlan, SqlError> {
        self.several = true;
        let mut scope = derived_scope_unnamed(&columns);
        for (column, info) in scope.columns.iter_mut().zip(&columns) {
            column.name.clone_from(&info.name);
        }
        let relations = Relations::of(scope);
        let items: Vec<Item> = columns
            .iter()
            .map(|info| Item {
                expr: ast::Expr::Column(ast::ColumnName {
                    schema: None,
                    table: None,
                    column: info.name.clone(),
                    at: ast::Place::default(),
                }),
                name: info.name.clone(),
                has_alias: true,
            })
            .collect();
        let aliases: Vec<Alias<'_>> = items
            .iter()
            .enumerate()
            .map(|(number, item)| Alias { name: &item.name, expr: &item.expr, item: number })
            .collect();
        let number = |position: usize| u16::try_from(position).expect("select lists are bounded");
        let mut bound_items: Vec<Bound> = (0..columns.len())
            .map(|position| Bound::pure(Expr::Column(number(position))))
            .collect();
        let mut sort = Vec::new();
        let groups = GroupCollector { base: columns.len(), ..GroupCollector::default() };
        let groups = Rc::new(RefCell::new(groups));
        let scope = Scope {
            relations: &relations,
            aliases: &aliases,
            groups: Some(&groups),
            ..Scope::empty("order clause")
        };
        for order in &query.order_by {
            if let ast::Expr::Column(ast::ColumnName { table: Some(table), .. }) = &order.expr {
                return Err(SqlError::new(
                    code::ER_TABLENAME_NOT_ALLOWED_HERE,
                    format!(
                        "Table '{table}' from one of the SELECTs cannot be used in global ORDER clause"
                    ),
                ));
            }
            self.order_item(order, items.len(), &scope, &mut bound_items, &mut sort)?;
        }
        if !groups.take().aggregates.is_empty() {
            return Err(SqlError::new(
                code::ER_AGGREGATE_ORDER_FOR_UNION,
                "Expression #1 of ORDER BY contains aggregate function and applies to a UNION, EXCEPT \
                 or INTERSECT",
            ));
        }
        if !query.into_variables.is_empty() && query.into_variables.len() != columns.len() {
            return Err(SqlError::set_column_counts());
        }
        let places = (0..columns.len())
            .map(|position| ColumnPlace { relation: 0, position: number(position) });
        let source = JoinedSource {
            columns: places.collect(),
            relations: vec![RelationRows::Values],
            aliases: vec![String::new()],
            titles: vec![Vec::new()],
            root: operator,
            is_pulled: false,
            delivers_order: false,
        };
        let hidden_count = bound_items.len() - columns.len();
        let source = Source::Joined(Box::new(source));
        Ok(SelectPlan {
            hidden_count,
            sort,
            limit: limit_plan(self, query.limit.as_ref())?,
            wait: WaitPolicy::Wait,
            into_variables: query.into_variables.iter().map(|name| name.to_lowercase()).collect(),
            ..SelectPlan::new(PlanColumns::new(columns), source, bound_items)
        })
    }
}

/// Does the FROM clause of the query, or of a member of it, name the table?
fn names_in_from(query: &ast::Query, name: &str) -> bool {
    fn in_factor(factor: &ast::TableFactor, name: &str) -> bool {
        match factor {
            ast::TableFactor::Table { name: own, .. } => own.schema.is_none() && own.name == name,
            ast::TableFactor::Nested(inner) => {
                inner.iter().any(|reference| in_reference(reference, name))
            }
            ast::TableFactor::Derived { query, .. } => names_in_from(query, name),
            ast::TableFactor::JsonTable(_) => false,
        }
    }
    fn in_reference(reference: &ast::TableReference, name: &str) -> bool {
        in_factor(&reference.first, name)
            || reference.joins.iter().any(|join| in_factor(&join.factor, name))
    }
    match &query.body {
        ast::QueryBody::Select(select) => {
            select.from.iter().any(|reference| in_reference(reference, name))
        }
        ast::QueryBody::SetOperation { first, rest } => {
            names_in_from(first, name)
                || rest.iter().any(|operand| names_in_from(&operand.query, name))
        }
        ast::QueryBody::Values(_) => false,
        ast::QueryBody::Table(own) => own.schema.is_none() && own.name == name,
    }
}
