//! The binder: from syntax tree and catalogue to a plan.
//!
//! Names become positions, functions become [`types::expr::Function`]s, what the session must supply becomes a
//! [`Slot`], and everything MySQL would refuse before it touches a row is refused here, with MySQL's number. What MySQL
//! has and this engine has not is refused with 1235 and its name.
//!
//! | module | part |
//! |---|---|
//! | `names` | which column a name means |
//! | `expr`, `function`, `literal` | expressions |
//! | `typing` | their types and collations |
//! | `rewrite` | walks over bound expressions |
//! | `select`, `group`, `window` | SELECT |
//! | `from`, `join`, `merge`, `view` | what FROM names, and how it is read |
//! | `subquery` | SELECT as an operand |
//! | `change`, `joined_change`, `target` | INSERT, REPLACE, UPDATE, DELETE |
//! | `load` | LOAD DATA |
//! | `access` | which index finds the rows |
//! | `table`, `column_type` | CREATE TABLE, CREATE INDEX: definitions |
//! | `column_expression`, `constraint` | CHECK, DEFAULT (expression), generated columns |
//! | `create_select` | CREATE TABLE ... SELECT: the columns a SELECT makes |

pub mod access;
pub mod alter;
mod bounds;
pub mod change;
mod column_expression;
mod column_type;
pub mod constraint;
pub mod create_select;
mod estimate;
mod expr;
pub mod foreign_key;
mod from;
mod function;
pub mod functional;
mod group;
mod join;
mod joined_change;
mod json;
mod json_table;
mod literal;
mod load;
mod merge;
pub mod names;
pub mod rewrite;
mod select;
mod semi_join;
mod set_operation;
mod subquery;
pub mod switch;
pub mod table;
mod target;
#[cfg(test)]
mod tests;
mod typing;
pub mod view;
mod window;

use std::borrow::Cow;
use std::sync::Arc;

use types::convert::SqlWarning;
use types::decimal::PRECISION_MAX;
use types::expr::{Coercibility, Derivation, Function, PI_SHOWN, ResultType};
use types::temporal::Locale;
use types::{
    Catalogue, Charset, Collation, ColumnType, Expr, IntWidth, SqlMode, Table, TableId, Value,
};

use crate::error::SqlError;
use crate::parser::ast;
use crate::plan::{InsertPlan, ParamKind, Plan, PlanKind, SelectPlan, Slot, is_ascii};
use crate::statistics::TableStatistics;

use joined_change::is_single;
pub use literal::{charset_warning, collation_warning, literal_value, text_value};
pub use select::{column_info, expression_info};
use switch::OptimizerSwitch;
pub use window::frame_illegal;

/// What a plan depends on besides the catalogue; sessions with equal environments share plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The current database.
    pub database: Option<String>,
    pub sql_mode: SqlMode,
    /// What the client writes string literals in.
    pub client: Charset,
    /// Of string literals.
    pub collation: Collation,
    /// Bytes that GROUP_CONCAT makes at most.
    pub group_concat_length_max: u32,
    /// Digits behind the point that a quotient shows more than its dividend.
    pub div_precision_increment: u8,
    /// The language of the names of days and months.
    pub time_names: Locale,
    /// The mode of WEEK() without one.
    pub default_week_format: u8,
    pub optimizer_switch: OptimizerSwitch,
    /// Names the set of temporary tables that the session has; 0 if it has none.
    pub temporary_tables: u64,
}

/// What the binder asks of the session: values that are built into a plan, which is then not reusable.
pub trait SessionValues {
    /// The current value of `@name` (lower-cased).
    fn user_variable(&self, name: &str) -> Option<&Value>;
    fn system_variable(&self, scope: ast::VariableScope, name: &str) -> Result<Value, SqlError>;
    fn user(&self) -> String;
    fn current_user(&self) -> String;
    fn version(&self) -> String;
    fn connection_id(&self) -> u32;
    /// Of the session's time zone, east positive.
    fn time_zone_offset_seconds(&self) -> i32;
    /// Statistics of a table that a session of this node has gathered lately.
    fn statistics(&self, table: TableId) -> Option<Arc<TableStatistics>>;
    /// The clock: when the plan is made.
    fn now_micros(&self) -> i64;
    /// 1099 and 1100 for a table that LOCK TABLES keeps the session from. `name` is its alias, if it has one.
    fn check_locked(&self, _database: &str, _name: &str, _writes: bool) -> Result<(), SqlError> {
        Ok(())
    }
}

pub struct Binder<'a> {
    pub catalogue: &'a Arc<Catalogue>,
    pub environment: Cow<'a, Environment>,
    pub session: &'a dyn SessionValues,
    param_kinds: &'a [ParamKind],
    /// Of the parameters, then of the slots.
    param_types: Vec<ResultType>,
    /// The same of their collations. That of a literal does not depend on its value: plans hold for all kinds.
    param_derivations: Vec<Derivation>,
    slots: Vec<Slot>,
    /// The plan holds for these kinds of parameters only.
    kinds_matter: bool,
    reusable: bool,
    /// The statement assigns to user variables.
    assigns: bool,
    /// Reads of user variables are supplied before each row.
    reads_per_row: bool,
    /// Inside of subqueries: the statements around, from the outermost.
    outer: Vec<names::OuterScope>,
    /// By level: the slots of subqueries that run when the query of that level begins, the statement first.
    once: Vec<Vec<u16>>,
    /// More than one relation is read: all at one snapshot.
    several: bool,
    /// Tables of which the statistics have decided something.
    weighed: Vec<TableId>,
    /// The tables of WITH that can be named.
    common: Vec<set_operation::CommonTable>,
    /// Queries around that cannot be named: those between a table of WITH and where it is used.
    hidden: Vec<std::ops::Range<usize>>,
    query_count: usize,
    /// Subqueries around that are bound to see whether they can be joined, and may be bound once more.
    trials: usize,
    /// Recursive tables of WITH.
    working_count: u16,
    /// The number of branches around the expression that is bound now: it may not be evaluated.
    branches: usize,
    /// The expression that is bound now is a condition, whose AND terms are evaluated one after the other.
    is_split: bool,
    /// Rows and sets that the statement keeps.
    kept_count: u16,
    /// The outermost query of which a name that was bound lately is a column.
    lowest_outer: usize,
    /// Subqueries that are bound, each with the query that it stands in.
    subqueries: Vec<subquery::Known>,
    /// The number of the query that is bound now, and of the last one.
    block: usize,
    block_last: usize,
    /// The slots of subqueries that are bound: supplied when those run, not with the statement's rows.
    inner_slots: Vec<std::ops::Range<usize>>,
    /// The tables that the statement changes; a subquery must not read them.
    changes: Vec<Arc<Table>>,
    /// What each run of the statement warns of.
    warnings: Vec<SqlWarning>,
    /// The views that are bound, each in the one before.
    views: Vec<(String, String)>,
    /// What names mean, where a view is defined.
    resolved: Option<view::Resolved>,
    /// The statement reads or assigns a variable.
    has_variables: bool,
    /// The values of the parameters, where they are known: how large a LIMIT is decides how rows are found.
    values: &'a [Value],
    /// Parameters that did so, each with its magnitude.
    limit_sizes: Vec<(u16, u32)>,
    /// Parameters whose values the plan depends on.
    fixed_params: Vec<u16>,
    /// Parameters whose texts meet another character set: the plan holds where they have ASCII
    /// characters only.
    ascii_params: Vec<u16>,
    /// Variables, by lower-case name, that the statement gives texts before it reads them.
    text_variables: Vec<String>,
}

impl<'a> Binder<'a> {
    pub fn new(
        catalogue: &'a Arc<Catalogue>,
        environment: &'a Environment,
        session: &'a dyn SessionValues,
        param_kinds: &'a [ParamKind],
    ) -> Binder<'a> {
        Binder {
            catalogue,
            environment: Cow::Borrowed(environment),
            session,
            param_kinds,
            param_types: param_kinds
                .iter()
                .map(|kind| kind_type(*kind, environment.collation))
                .collect(),
            param_derivations: vec![
                // Of values that are not known yet.
                Derivation::ascii(environment.collation, Coercibility::Coercible);
                param_kinds.len()
            ],
            slots: Vec::new(),
            kinds_matter: false,
            reusable: true,
            assigns: false,
            reads_per_row: false,
            outer: Vec::new(),
            once: vec![Vec::new()],
            several: false,
            weighed: Vec::new(),
            common: Vec::new(),
            hidden: Vec::new(),
            query_count: 0,
            trials: 0,
            working_count: 0,
            branches: 0,
            is_split: false,
            kept_count: 0,
            lowest_outer: usize::MAX,
            subqueries: Vec::new(),
            block: 0,
            block_last: 0,
            inner_slots: Vec::new(),
            changes: Vec::new(),
            warnings: Vec::new(),
            views: Vec::new(),
            resolved: None,
            has_variables: false,
            values: &[],
            limit_sizes: Vec::new(),
            fixed_params: Vec::new(),
            ascii_params: Vec::new(),
            text_variables: Vec::new(),
        }
    }

    /// With the values of the parameters in the first run of the plan.
    pub fn with_values(mut self, values: &'a [Value]) -> Binder<'a> {
        for (derivation, value) in self.param_derivations.iter_mut().zip(values) {
            derivation.is_ascii = is_ascii(value);
        }
        Binder { values, ..self }
    }

    /// A binder that has bound nothing.
    fn again(&self) -> Binder<'a> {
        let Cow::Borrowed(environment) = self.environment else {
            unreachable!("only a view has an environment of its own, and it is bound")
        };
        Binder::new(self.catalogue, environment, self.session, self.param_kinds)
            .with_values(self.values)
    }

    /// A warning that the statement gives whenever it runs.
    fn warn(&mut self, error: SqlError) {
        self.warnings.push(SqlWarning::warning(error.code, error.message));
    }

    /// Binds again, and drops the warnings, which the first binding gave.
    fn quietly<T>(&mut self, bind: impl FnOnce(&mut Self) -> T) -> T {
        let count = self.warnings.len();
        let bound = bind(self);
        self.warnings.truncate(count);
        bound
    }

    /// What it has warned of.
    pub fn into_warnings(self) -> Vec<SqlWarning> {
        self.warnings
    }

    /// Binds a statement that has a plan: SELECT, INSERT, REPLACE, UPDATE, DELETE.
    pub fn plan(mut self, statement: &ast::Statement) -> Result<Plan, SqlError> {
        if self.param_kinds.len() > usize::from(u16::MAX) {
            return Err(SqlError::new(1390, "Prepared statement contains too many placeholders"));
        }
        let kind = match self.statement(statement) {
            Err(_) | Ok(_) if self.assigns && !self.reads_per_row => {
                // `SELECT @a := @a + 1, @a`: reads see the assignments before them. Bound again, with reads of variables
                // supplied row by row.
                let mut again = self.again();
                again.reads_per_row = true;
                self = again;
                self.statement(statement)?
            }
            result => result?,
        };
        Ok(self.into_plan(kind))
    }

    /// A plan for the INSERT that was bound in parts. None if it must be bound again as a whole: see `plan`.
    pub fn insert_plan(self, insert: InsertPlan) -> Option<Plan> {
        (!self.assigns).then(|| self.into_plan(PlanKind::Insert(Box::new(insert))))
    }

    fn into_plan(self, kind: PlanKind) -> Plan {
        let known = self.weighed.iter().map(|table| self.session.statistics(*table));
        let age_max_micros =
            known.map(|known| TableStatistics::age_max_micros(known.as_deref())).min().unwrap_or(0);
        let fixed_params = self.fixed_values();
        Plan {
            kind,
            param_count: u16::try_from(self.param_kinds.len()).expect("parameters are counted"),
            slots: self.slots,
            once: self.once.into_iter().next().unwrap_or_default(),
            reads_on: self.several,
            made_micros: (!self.weighed.is_empty()).then(|| self.session.now_micros()),
            age_max_micros,
            weighed: self.weighed,
            param_kinds: self.kinds_matter.then(|| self.param_kinds.to_vec()),
            fixed_params,
            limit_sizes: self.limit_sizes,
            ascii_params: self.ascii_params,
            reusable: self.reusable,
            warnings: self.warnings,
            catalogue_version: self.catalogue.version,
        }
    }

    fn statement(&mut self, statement: &ast::Statement) -> Result<PlanKind, SqlError> {
        Ok(match statement {
            ast::Statement::Query(query) => {
                let mut select = self.query(query)?;
                if select.into_variables.is_empty() {
                    show_pi(&mut select);
                }
                PlanKind::Select(Box::new(select))
            }
            ast::Statement::Insert(insert) => PlanKind::Insert(Box::new(self.insert(insert)?)),
            ast::Statement::LoadData(load) => PlanKind::Insert(Box::new(self.load_data(load)?)),
            ast::Statement::Update(update)
                if is_single(&update.tables)
                    && !self.is_join_view(&update.tables)
                    && (!update.order_by.is_empty()
                        || update.limit.is_some()
                        || update.ignore
                        || !self.is_better_joined(&update.tables, update.filter.as_ref())) =>
            {
                PlanKind::Update(Box::new(self.update(update)?))
            }
            ast::Statement::Update(update) => {
                PlanKind::JoinedUpdate(Box::new(self.joined_update(update)?))
            }
            ast::Statement::Delete(delete)
                if is_single(&delete.tables)
                    && !self.is_join_view(&delete.tables)
                    && (!delete.order_by.is_empty()
                        || delete.limit.is_some()
                        || !self.is_better_joined(&delete.tables, delete.filter.as_ref())) =>
            {
                PlanKind::Delete(Box::new(self.delete(delete)?))
            }
            ast::Statement::Delete(delete) => {
                PlanKind::JoinedDelete(Box::new(self.joined_delete(delete)?))
            }
            _ => unreachable!("only statements on rows have plans"),
        })
    }

    /// A plan for expressions without columns: SET, DO, LIMIT of SHOW, KILL.
    pub fn values(mut self, exprs: &[&ast::Expr]) -> Result<Plan, SqlError> {
        self.reads_per_row = true;
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            values.push(self.bound(expr, &names::Scope::empty("field list"))?);
        }
        Ok(self.into_plan(PlanKind::Values(values)))
    }

    /// A new slot; the parameter number that stands for it.
    fn slot(&mut self, slot: Slot, column_type: Option<ColumnType>) -> Result<u16, SqlError> {
        let number = u16::try_from(self.param_types.len()).map_err(|_| {
            SqlError::new(1390, "Prepared statement contains too many placeholders")
        })?;
        self.param_derivations.push(typing::slot_derivation(&slot, column_type.as_ref()));
        self.param_types.push(ResultType::of(column_type, true));
        self.slots.push(slot);
        Ok(number)
    }

    /// The slot of a column of a query around.
    fn outer_slot(&mut self, own: ResultType) -> Result<u16, SqlError> {
        let number = self.slot(Slot::Outer, own.column_type)?;
        self.param_types[usize::from(number)].display = own.display;
        Ok(number)
    }

    /// The table a statement works on; 1046 without a database, 1146 when there is none.
    pub fn table(&self, name: &ast::ObjectName) -> Result<Arc<Table>, SqlError> {
        let current = self.environment.database.as_deref();
        match self.views.is_empty() {
            true => find_table(self.catalogue, current, name),
            // A view means the tables that all sessions see.
            false => find_base_table(self.catalogue, current, name),
        }
    }
}

/// PI() has six digits where a client sees it. Who stores it has all of them.
fn show_pi(select: &mut SelectPlan) {
    let visible = select.items.len() - select.hidden_count;
    for item in &mut select.items[..visible] {
        if matches!(&item.expr, Expr::Function(Function::Pi, _)) {
            item.expr = Expr::Const(Value::Double(PI_SHOWN));
        }
    }
}

/// A table by its written name. Database names are looked up in any case; their own spelling is in the table.
pub fn find_table(
    catalogue: &Catalogue,
    current: Option<&str>,
    name: &ast::ObjectName,
) -> Result<Arc<Table>, SqlError> {
    find_table_by(catalogue, current, name, Catalogue::table)
}

/// The same without temporary tables.
pub fn find_base_table(
    catalogue: &Catalogue,
    current: Option<&str>,
    name: &ast::ObjectName,
) -> Result<Arc<Table>, SqlError> {
    find_table_by(catalogue, current, name, Catalogue::base_table)
}

fn find_table_by(
    catalogue: &Catalogue,
    current: Option<&str>,
    name: &ast::ObjectName,
    look_up: for<'c> fn(&'c Catalogue, &str, &str) -> Option<&'c Arc<Table>>,
) -> Result<Arc<Table>, SqlError> {
    table::check_written_name(name)?;
    let database = match &name.schema {
        Some(schema) => schema.as_str(),
        None => current.ok_or_else(SqlError::no_database)?,
    };
    if catalogue.database(database).is_none() {
        return Err(match &name.schema {
            Some(_) => SqlError::unknown_database(database),
            None => SqlError::no_such_table(database, &name.name),
        });
    }
    match look_up(catalogue, database, &name.name) {
        Some(table) if !table::is_unfinished(&table.name) => Ok(table.clone()),
        Some(_) | None => Err(SqlError::no_such_table(database, &name.name)),
    }
}

/// The column type that parameters of a kind are typed as.
pub fn kind_type(kind: ParamKind, collation: Collation) -> ResultType {
    let column_type = match kind {
        ParamKind::Null => None,
        ParamKind::Unknown | ParamKind::Text => {
            Some(ColumnType::Varchar { length: 255, collation })
        }
        ParamKind::Int => Some(ColumnType::Int { width: IntWidth::W8, unsigned: false }),
        ParamKind::UInt => Some(ColumnType::Int { width: IntWidth::W8, unsigned: true }),
        ParamKind::Decimal { scale } => {
            Some(ColumnType::Decimal { precision: PRECISION_MAX, scale, unsigned: false })
        }
        ParamKind::Double => Some(ColumnType::Double),
        ParamKind::Bytes => Some(ColumnType::Varbinary { length: 255 }),
        ParamKind::Date => Some(ColumnType::Date),
        ParamKind::Time => Some(ColumnType::Time { fsp: 6 }),
        ParamKind::DateTime => Some(ColumnType::DateTime { fsp: 6 }),
    };
    ResultType::of(column_type, true)
}
