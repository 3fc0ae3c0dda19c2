//! GROUP BY and aggregates.
//!
//! While the clauses of a grouped SELECT are bound, group values and aggregates get positions behind the table's columns
//! ([`GroupCollector`]). At the end every subtree that equals a GROUP BY expression becomes that group's value; what then
//! still names a column of the table is either determined by the group (its primary key is grouped by), or an error
//! under ONLY_FULL_GROUP_BY, or any value of the group.

use std::cell::RefCell;
use std::rc::Rc;

use types::expr::{Aggregate, AggregateFunction, BinaryOp, Function, OrderKey, ResultType};
use types::{ColumnType, Expr, IndexKind, IntWidth, Value};

use super::Binder;
use super::names::{GroupCollector, Relations, Scope};
use super::rewrite;
use super::select::position_of;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{Bound, Slot};

impl Binder<'_> {
    pub fn aggregate(
        &mut self,
        name: &str,
        distinct: bool,
        arguments: &[ast::Expr],
        order_by: &[ast::OrderItem],
        separator: Option<&[u8]>,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        if let Some(level) = self.level_of_aggregate(arguments, scope) {
            return self.at_level(level, &mut |binder, scope| {
                binder.aggregate(name, distinct, arguments, order_by, separator, scope)
            });
        }
        let Some(groups) = scope.groups else { return Err(SqlError::invalid_group_function()) };
        // Inside an aggregate no other is allowed.
        let inner = scope.without_groups();
        let aggregate =
            self.bound_aggregate(name, distinct, arguments, order_by, separator, &inner)?;
        self.collect(aggregate, groups, scope)
    }

    /// An aggregate over what `inner` names.
    pub fn bound_aggregate(
        &mut self,
        name: &str,
        distinct: bool,
        arguments: &[ast::Expr],
        order_by: &[ast::OrderItem],
        separator: Option<&[u8]>,
        inner: &Scope<'_>,
    ) -> Result<Aggregate, SqlError> {
        if name.starts_with("JSON_") {
            if distinct {
                return Err(SqlError::not_supported(format!("{name}(DISTINCT)")));
            }
            let document = self.row_document(name, arguments, inner)?;
            let function =
                AggregateFunction::by_name(name).ok_or_else(|| SqlError::not_supported(name))?;
            return Ok(Aggregate::new(function, Some(document)));
        }
        let function = match name {
            "GROUP_CONCAT" => {
                let separator = separator.unwrap_or(b",");
                AggregateFunction::GroupConcat {
                    separator: String::from_utf8_lossy(separator).into_owned(),
                    length_max: self.environment.group_concat_length_max,
                }
            }
            "AVG" => AggregateFunction::Avg { increment: self.environment.div_precision_increment },
            _ => AggregateFunction::by_name(name).ok_or_else(|| SqlError::not_supported(name))?,
        };
        let mut bound = self.exprs(arguments, inner)?;
        if let (AggregateFunction::Min | AggregateFunction::Max, [argument]) =
            (&function, &mut bound[..])
            && let Some(labels) = self.type_of(argument, &inner.result_types()).labels()
        {
            // As texts, in their order.
            let label = std::mem::replace(argument, Expr::Const(Value::Null));
            *argument = Expr::InCollation(Box::new(label), labels.collation());
        }
        let mut keys = Vec::new();
        for item in order_by {
            let expr = match position_of(&item.expr, bound.len(), "order clause")? {
                Some(position) => bound[position].clone(),
                None => self.expr(&item.expr, inner)?,
            };
            keys.push(OrderKey { expr, descending: item.descending });
        }
        if name == "GROUP_CONCAT" {
            let columns = inner.result_types();
            for argument in &bound {
                if self.is_binary(argument, &columns) {
                    return Err(SqlError::not_supported("GROUP_CONCAT of binary values"));
                }
            }
            self.as_texts(&mut bound, inner);
        }
        if let (
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor,
            [argument],
        ) = (&function, &bound[..])
        {
            self.check_bits(name, &[argument], inner)?;
        }
        let argument = match bound.len() {
            0 => None,
            1 if name != "GROUP_CONCAT"
                || self.derivation(&bound[0], inner).collation.is_some() =>
            {
                bound.pop()
            }
            // Settled like any other text that is put together: in one collation, also where all of it is numbers.
            _ if name == "GROUP_CONCAT" => {
                Some(self.settle(Expr::Function(Function::Concat, bound), inner)?)
            }
            _ if name == "COUNT" && distinct => Some(Expr::Function(Function::RowKey, bound)),
            _ => return Err(SqlError::wrong_param_count(name)),
        };
        Ok(Aggregate { function, argument, distinct, order_by: keys })
    }

    /// GROUPING(a, b, ...): a bit for each argument, 1 in rows over all values of it.
    pub fn grouping(
        &mut self,
        arguments: &[ast::Expr],
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        let collected = scope.groups.map(|groups| groups.borrow());
        let rollup = collected.and_then(|own| Some((own.base, own.rollup.clone()?)));
        let Some((base, keys)) = rollup else {
            return Err(SqlError::invalid_group_function());
        };
        let level = u16::try_from(base + keys.len()).map_err(|_| too_many())?;
        let number = |number: usize| Expr::Const(Value::Int(number as i64));
        let mut bits: Option<Expr> = None;
        for (position, argument) in arguments.iter().enumerate() {
            let own = rewrite::encoded(&self.expr(argument, scope)?);
            let Some(key) = keys.iter().position(|key| *key == own) else {
                return Err(SqlError::new(
                    code::ER_FIELD_IN_GROUPING_NOT_GROUP_BY,
                    format!("Argument #{} of GROUPING function is not in GROUP BY", position + 1),
                ));
            };
            // So many keys have one value in the row, from the first on.
            let levels = Box::new(Expr::Column(level));
            let bit = Expr::Binary(BinaryOp::LessOrEqual, levels, Box::new(number(key)));
            bits = Some(match bits {
                None => bit,
                Some(bits) => {
                    let double =
                        Expr::Binary(BinaryOp::Multiply, Box::new(bits), Box::new(number(2)));
                    Expr::Binary(BinaryOp::Add, Box::new(double), Box::new(bit))
                }
            });
        }
        let bits = bits.ok_or_else(|| SqlError::wrong_param_count("GROUPING"))?;
        let bigint = ColumnType::Int { width: IntWidth::W8, unsigned: false };
        Ok(Expr::Cast(Box::new(bits), bigint))
    }

    /// ANY_VALUE(x).
    pub fn any_value(&mut self, argument: &ast::Expr, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        let groups = scope.groups.expect("the caller asked");
        let inner = scope.without_groups();
        let argument = self.expr(argument, &inner)?;
        if !rewrite::has_columns(&argument) {
            return Ok(argument);
        }
        let any = Aggregate::new(AggregateFunction::AnyValue, Some(argument));
        self.collect(any, groups, scope)
    }

    fn collect(
        &mut self,
        aggregate: Aggregate,
        groups: &Rc<RefCell<GroupCollector>>,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        for expr in aggregate.exprs() {
            for slot in self.row_slots(expr, self.slots.len()) {
                if !matches!(self.slots[usize::from(slot)], Slot::Subquery(_)) {
                    return Err(SqlError::not_supported(
                        "RAND, UUID, SLEEP or assignment in an aggregate",
                    ));
                }
                groups.borrow_mut().slots.push(slot);
            }
        }
        let columns = scope.relations.result_types();
        self.kinds_matter |= aggregate.exprs().any(|expr| uses_statement_params(expr, self));
        let result = aggregate.result_type(&columns, &self.param_types);
        let mut groups = groups.borrow_mut();
        let position = groups.base + groups.types.len();
        groups.aggregates.push(aggregate);
        groups.types.push(result);
        Ok(Expr::Column(u16::try_from(position).map_err(|_| too_many())?))
    }
}

impl GroupCollector {
    /// WITH ROLLUP: puts the level behind the keys. It is the number of keys that have one value in a row of groups, from the
    /// first on: all of them in the groups that rows are added to.
    pub fn add_rollup_level(&mut self, group_by: &mut Vec<Expr>) {
        let level = i64::try_from(group_by.len()).expect("select lists are bounded");
        self.rollup = Some(group_by.iter().map(rewrite::encoded).collect());
        group_by.push(Expr::Const(Value::Int(level)));
        let bigint = ColumnType::Int { width: IntWidth::W8, unsigned: false };
        self.types.push(ResultType::of(Some(bigint), false));
        self.group_count = group_by.len();
    }
}

fn uses_statement_params(expr: &Expr, binder: &Binder<'_>) -> bool {
    let mut uses = false;
    rewrite::for_each_param(expr, &mut |number| {
        uses |= usize::from(number) < binder.param_kinds.len();
    });
    uses
}

fn too_many() -> SqlError {
    SqlError::new(code::ER_TOO_MANY_FIELDS, "Too many columns")
}

/// The columns that have one value in all rows of a group, by number: those that are grouped by, those of which WHERE tells
/// the value, those that an equality makes the same as such a one, and all of a relation of which a key is among them.
pub fn determined_columns(
    relations: &Relations,
    group_by: &[Expr],
    terms: &[&Expr],
    outer_terms: &[(&Expr, Vec<usize>)],
) -> Vec<bool> {
    let mut known = vec![false; relations.column_count()];
    let mut constants = Vec::new();
    for expr in group_by {
        if let Some(column) = plain_column(expr) {
            known[usize::from(column)] = true;
        }
    }
    // (from, to)
    let mut same: Vec<(u16, u16)> = Vec::new();
    for term in terms {
        match equality(term) {
            Some(Equality::Constant(column)) => constants.push(column),
            Some(Equality::Columns(left, right)) => same.extend([(left, right), (right, left)]),
            None => {}
        }
    }
    // ON of a left join tells of its inner side alone.
    for (term, inner) in outer_terms {
        let is_inner = |column: u16| inner.contains(&relations.position_of(usize::from(column)));
        match equality(term) {
            Some(Equality::Columns(left, right)) => {
                same.extend(
                    [(left, right), (right, left)]
                        .iter()
                        .filter(|(from, to)| !is_inner(*from) && is_inner(*to)),
                );
            }
            Some(Equality::Constant(_)) | None => {}
        }
    }
    constants.iter().for_each(|column| known[usize::from(*column)] = true);
    loop {
        let before = known.iter().filter(|known| **known).count();
        for (from, to) in &same {
            known[usize::from(*to)] |= known[usize::from(*from)];
        }
        for scope in &relations.tables {
            let Some(table) = &scope.table else { continue };
            let is_known = |part: &types::IndexPart| {
                let column = usize::from(part.column);
                part.prefix.is_none()
                    && known[scope.first + column]
                    && !table.columns[column].nullable
            };
            let has_key = table
                .indexes
                .iter()
                .any(|index| index.kind != IndexKind::Ordinary && index.parts.iter().all(is_known));
            if has_key {
                known[scope.first..scope.first + scope.columns.len()].fill(true);
            }
        }
        if known.iter().filter(|known| **known).count() == before {
            return known;
        }
    }
}

enum Equality {
    /// With an expression that names no column.
    Constant(u16),
    Columns(u16, u16),
}

fn equality(term: &Expr) -> Option<Equality> {
    let Expr::Binary(BinaryOp::Equal, left, right) = term else { return None };
    match (plain_column(left), plain_column(right)) {
        (Some(left), Some(right)) => Some(Equality::Columns(left, right)),
        (Some(column), None) if !rewrite::has_columns(right) => Some(Equality::Constant(column)),
        (None, Some(column)) if !rewrite::has_columns(left) => Some(Equality::Constant(column)),
        _ => None,
    }
}

/// `column` or the local time of a TIMESTAMP column.
pub fn plain_column(expr: &Expr) -> Option<u16> {
    match expr {
        Expr::Column(column) => Some(*column),
        Expr::Function(Function::UtcToLocal, operands) => match operands.as_slice() {
            [Expr::Column(column)] => Some(*column),
            _ => None,
        },
        _ => None,
    }
}

/// Replaces group expressions in everything computed from groups, settles what to do with other columns, and moves the
/// positions down to a row of (group values, aggregates).
pub struct GroupRewrite<'a> {
    pub relations: &'a Relations,
    pub patterns: Vec<Vec<u8>>,
    /// Columns that have one value in all rows of a group.
    pub determined: Vec<bool>,
    pub collector: GroupCollector,
    pub only_full_group_by: bool,
    /// The number of the first parameter that is a slot.
    pub first_slot: usize,
    /// Slots whose expressions are rewritten already.
    pub rewritten: Vec<u16>,
}

impl GroupRewrite<'_> {
    /// `number` and `clause` ("SELECT list", "ORDER BY clause", "HAVING clause") name the expression in errors.
    pub fn apply(&mut self, expr: &mut Expr, number: usize, clause: &str) -> Result<(), SqlError> {
        rewrite::replace_subtrees(expr, &self.patterns, self.collector.base);
        let base = self.collector.base;
        let mut columns = Vec::new();
        rewrite::for_each_column(expr, &mut |column| {
            if usize::from(column) < base && !columns.contains(&column) {
                columns.push(column);
            }
        });
        for column in columns {
            if self.only_full_group_by && !self.determined[usize::from(column)] {
                return Err(self.not_grouped(column, number, clause));
            }
            let position =
                u16::try_from(base + self.collector.types.len()).map_err(|_| too_many())?;
            let scope_column = self.relations.column(usize::from(column));
            let any = Aggregate::new(AggregateFunction::AnyValue, Some(Expr::Column(column)));
            self.collector.aggregates.push(any);
            let own = ResultType { nullable: true, ..scope_column.result_type() };
            self.collector.types.push(own);
            rewrite::map_columns(expr, &mut |own| if own == column { position } else { own });
        }
        rewrite::map_columns(expr, &mut |own| {
            own - u16::try_from(base).expect("tables are narrow")
        });
        Ok(())
    }

    pub fn apply_bound(
        &mut self,
        bound: &mut Bound,
        slots: &mut [Slot],
        number: usize,
        clause: &str,
    ) -> Result<(), SqlError> {
        rewrite::replace_subtrees(&mut bound.expr, &self.patterns, self.collector.base);
        // A subquery that is grouped by has its value already, of the rows that are grouped.
        let mut asked = Vec::new();
        rewrite::for_each_param(&bound.expr, &mut |number| asked.push(usize::from(number)));
        bound.slots.retain(|slot| match &slots[usize::from(*slot)] {
            Slot::Subquery(_) => asked.contains(&(self.first_slot + usize::from(*slot))),
            _ => true,
        });
        let mut result = Ok(());
        for &slot in &bound.slots {
            if self.rewritten.contains(&slot) {
                continue;
            }
            self.rewritten.push(slot);
            slots[usize::from(slot)].for_each_expr_mut(&mut |inner| {
                if result.is_ok() {
                    result = self.apply(inner, number, clause);
                }
            });
        }
        result?;
        self.apply(&mut bound.expr, number, clause)
    }

    fn not_grouped(&self, column: u16, number: usize, clause: &str) -> SqlError {
        let name = self.relations.full_name(usize::from(column));
        if self.patterns.is_empty() {
            return SqlError::new(
                code::ER_MIX_OF_GROUP_FUNC_AND_FIELDS,
                format!(
                    "In aggregated query without GROUP BY, expression #{number} of {clause} contains \
                     nonaggregated column '{name}'; this is incompatible with sql_mode=only_full_group_by"
                ),
            );
        }
        if clause == "HAVING clause" {
            return SqlError::unknown_column(
                &self.relations.column(usize::from(column)).name,
                "having clause",
            );
        }
        SqlError::new(
            code::ER_WRONG_FIELD_WITH_GROUP,
            format!(
                "Expression #{number} of {clause} is not in GROUP BY clause and contains nonaggregated \
                 column '{name}' which is not functionally dependent on columns in GROUP BY clause; this is \
                 incompatible with sql_mode=only_full_group_by"
            ),
        )
    }
}
