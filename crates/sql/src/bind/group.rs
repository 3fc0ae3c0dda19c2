//! GROUP BY and aggregates.
//!
//! While the clauses of a grouped SELECT are bound, group values and aggregates get positions behind the table's columns
//! ([`GroupCollector`]). At the end every subtree that equals a GROUP BY expression becomes that group's value; what then
//! still names a column of the table is either determined by the group (its primary key is grouped by), or an error
//! under ONLY_FULL_GROUP_BY, or any value of the group.

use std::cell::RefCell;

use types::expr::{Aggregate, AggregateFunction, Function, OrderKey, ResultType};
use types::{Expr, IndexKind, Table};

use super::Binder;
use super::names::{GroupCollector, Scope, ScopeTable};
use super::rewrite;
use super::select::position_of;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::Bound;

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
        let Some(groups) = scope.groups else {
            return self.misplaced_aggregate(arguments, scope);
        };
        if name.starts_with("JSON_") {
            return Err(SqlError::not_supported(name));
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
        // Inside an aggregate no other is allowed.
        let inner = scope.without_groups();
        let mut bound = self.exprs(arguments, &inner)?;
        let mut keys = Vec::new();
        for item in order_by {
            let expr = match position_of(&item.expr, bound.len(), "order clause")? {
                Some(position) => bound[position].clone(),
                None => self.expr(&item.expr, &inner)?,
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
            self.as_texts(&mut bound, &inner);
        }
        if let (
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor,
            [argument],
        ) = (&function, &bound[..])
        {
            self.check_bits(name, &[argument], &inner)?;
        }
        let argument = match bound.len() {
            0 => None,
            1 if name != "GROUP_CONCAT"
                || self.derivation(&bound[0], &inner).collation.is_some() =>
            {
                bound.pop()
            }
            // Settled like any other text that is put together: in one collation, also where all of it is numbers.
            _ if name == "GROUP_CONCAT" => {
                Some(self.settle(Expr::Function(Function::Concat, bound), &inner)?)
            }
            _ if name == "COUNT" && distinct => Some(Expr::Function(Function::RowKey, bound)),
            _ => return Err(SqlError::wrong_param_count(name)),
        };
        self.collect(Aggregate { function, argument, distinct, order_by: keys }, groups, scope)
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
        groups: &RefCell<GroupCollector>,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        for expr in aggregate.exprs() {
            let mut local = false;
            rewrite::for_each_param(expr, &mut |number| {
                let slot = usize::from(number).checked_sub(self.param_kinds.len());
                local |= slot.is_some_and(|slot| self.slots[slot].is_per_row());
            });
            if local {
                return Err(SqlError::not_supported(
                    "RAND, UUID, SLEEP or assignment in an aggregate",
                ));
            }
        }
        let columns = scope.table.map(ScopeTable::result_types).unwrap_or_default();
        self.kinds_matter |= aggregate.exprs().any(|expr| uses_statement_params(expr, self));
        let result = aggregate.result_type(&columns, &self.param_types);
        let mut groups = groups.borrow_mut();
        let position = groups.base + groups.types.len();
        groups.aggregates.push(aggregate);
        groups.types.push(result);
        Ok(Expr::Column(u16::try_from(position).map_err(|_| too_many())?))
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

/// Replaces group expressions in everything computed from groups, settles what to do with other columns, and moves the
/// positions down to a row of (group values, aggregates).
pub struct GroupRewrite<'a> {
    pub table: Option<&'a Table>,
    pub scope_table: Option<&'a ScopeTable>,
    pub patterns: Vec<Vec<u8>>,
    /// Columns that WHERE binds to one value.
    pub constant_columns: Vec<u16>,
    pub collector: GroupCollector,
    pub only_full_group_by: bool,
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
            if self.only_full_group_by && !self.is_determined(column) {
                return Err(self.not_grouped(column, number, clause));
            }
            let position =
                u16::try_from(base + self.collector.types.len()).map_err(|_| too_many())?;
            let scope_column =
                &self.scope_table.expect("it has columns").columns[usize::from(column)];
            let any = Aggregate::new(AggregateFunction::AnyValue, Some(Expr::Column(column)));
            self.collector.aggregates.push(any);
            self.collector.types.push(ResultType {
                column_type: Some(scope_column.column_type.clone()),
                nullable: true,
            });
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
        slots: &mut [crate::plan::Slot],
        number: usize,
        clause: &str,
    ) -> Result<(), SqlError> {
        for &slot in &bound.slots {
            if let Some(inner) = slot_expr_mut(&mut slots[usize::from(slot)]) {
                self.apply(inner, number, clause)?;
            }
        }
        self.apply(&mut bound.expr, number, clause)
    }

    /// Is the column's value the same in all rows of a group?
    fn is_determined(&self, column: u16) -> bool {
        if self.constant_columns.contains(&column) {
            return true;
        }
        let grouped = |column: u16| {
            self.constant_columns.contains(&column)
                || self.patterns.contains(&rewrite::encoded(&Expr::Column(column)))
        };
        self.table.is_some_and(|table| {
            table.indexes.iter().any(|index| {
                index.kind != IndexKind::Ordinary
                    && index.parts.iter().all(|part| {
                        part.prefix.is_none()
                            && grouped(part.column)
                            && !table.columns[usize::from(part.column)].nullable
                    })
            })
        })
    }

    fn not_grouped(&self, column: u16, number: usize, clause: &str) -> SqlError {
        let table = self.scope_table.expect("it has columns");
        let name = format!(
            "{}.{}.{}",
            table.database,
            table.alias,
            table.columns[usize::from(column)].name
        );
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
                &table.columns[usize::from(column)].name,
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

/// The expression inside a slot, if it has one.
pub fn slot_expr_mut(slot: &mut crate::plan::Slot) -> Option<&mut Expr> {
    use crate::plan::Slot;
    match slot {
        Slot::Random { seed } => seed.as_mut(),
        Slot::Sleep(expr) | Slot::TransactionOutcome(expr) | Slot::LastInsertIdOf(expr) => {
            Some(expr)
        }
        Slot::Assign { value, .. } => Some(value),
        _ => None,
    }
}
