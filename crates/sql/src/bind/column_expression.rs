//! Expressions of a table's definition: CHECK, DEFAULT (expression) and generated columns.
//!
//! A definition checks the expression as MySQL does and keeps its text, in the default sql_mode, with plain names of
//! columns. A statement that writes rows parses the texts and binds them with its plan ([`Binder::row_rules`]). They are
//! bound in the default sql_mode, and evaluated with the settings of the session, as in MySQL.

use std::sync::Arc;

use types::{Charset, Collation, ColumnDefault, ColumnExpression, SqlMode, Table};

use super::names::{Relations, Scope};
use super::{Binder, Environment};
use crate::error::{SqlError, code};
use crate::parser::ast::{
    self, BinaryOperator, ColumnName, Expr, IsNational, Literal, UnaryOperator,
};
use crate::parser::{parse_expression, print};
use crate::plan::{Bound, ColumnRule, RowRules, Slot};

/// The clause that an expression stands in, with the name of the constraint or of the column.
#[derive(Clone, Copy)]
pub enum Owner<'n> {
    Check(&'n str),
    Default(&'n str),
    Generated(&'n str),
    /// A part of the key of this name.
    Index(&'n str),
}

/// Functions whose value depends on more than their arguments: only DEFAULT may call them.
const ONLY_IN_DEFAULT: &[&str] = &[
    "RAND",
    "NOW",
    "CURDATE",
    "CURTIME",
    "SYSDATE",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "CONNECTION_ID",
    "DATABASE",
    "UUID",
    "UUID_SHORT",
    "STATEMENT_DIGEST",
    "STATEMENT_DIGEST_TEXT",
];

/// Functions that no expression of a definition may call.
const NEVER: &[&str] = &[
    "BENCHMARK",
    "CURRENT_ROLE",
    "CURRENT_USER",
    "EXTRACTVALUE",
    "FOUND_ROWS",
    "GET_LOCK",
    "IS_FREE_LOCK",
    "IS_USED_LOCK",
    "LAST_INSERT_ID",
    "LOAD_FILE",
    "MASTER_POS_WAIT",
    "PS_CURRENT_THREAD_ID",
    "RELEASE_ALL_LOCKS",
    "RELEASE_LOCK",
    "ROW_COUNT",
    "SKARV_TRANSACTION_OUTCOME",
    "SLEEP",
    "SOURCE_POS_WAIT",
    "UPDATEXML",
    "USER",
    "VERSION",
    "WAIT_FOR_EXECUTED_GTID_SET",
];

/// Functions besides operators that give a truth value.
const CONDITIONS: &[&str] = &[
    "ISNULL",
    "IS_IPV4",
    "IS_IPV4_COMPAT",
    "IS_IPV4_MAPPED",
    "IS_IPV6",
    "IS_UUID",
    "JSON_CONTAINS",
    "JSON_CONTAINS_PATH",
    "JSON_OVERLAPS",
    "JSON_SCHEMA_VALID",
    "JSON_VALID",
    "REGEXP_LIKE",
    "STRCMP",
];

impl Owner<'_> {
    /// 3814, 3770, 3763: a call of a function that the clause may not have.
    fn names_function(self, function: &str) -> SqlError {
        match self {
            Owner::Check(name) => SqlError::new(
                3814,
                format!(
                    "An expression of a check constraint '{name}' contains disallowed function: {function}."
                ),
            ),
            Owner::Default(name) => SqlError::new(
                3770,
                format!(
                    "Default value expression of column '{name}' contains a disallowed function: {function}."
                ),
            ),
            Owner::Index(name) => SqlError::new(
                3758,
                format!("Expression of functional index '{name}' contains a disallowed function."),
            ),
            Owner::Generated(name) => SqlError::new(
                3763,
                format!(
                    "Expression of generated column '{name}' contains a disallowed function: {function}."
                ),
            ),
        }
    }

    /// 3815, 3769, 3102: a subquery, or a call without a name.
    fn has_function(self) -> SqlError {
        match self {
            Owner::Check(name) => SqlError::new(
                3815,
                format!(
                    "An expression of a check constraint '{name}' contains disallowed function."
                ),
            ),
            Owner::Default(name) => SqlError::new(
                3769,
                format!(
                    "Default value expression of column '{name}' contains a disallowed function."
                ),
            ),
            Owner::Index(name) => SqlError::new(
                3758,
                format!("Expression of functional index '{name}' contains a disallowed function."),
            ),
            Owner::Generated(name) => SqlError::new(
                3102,
                format!("Expression of generated column '{name}' contains a disallowed function."),
            ),
        }
    }

    /// 3816, 3772, 3765.
    fn has_variable(self) -> SqlError {
        match self {
            Owner::Check(name) => SqlError::new(
                3816,
                format!(
                    "An expression of a check constraint '{name}' cannot refer to a user or system variable."
                ),
            ),
            Owner::Default(name) => SqlError::new(
                3772,
                format!(
                    "Default value expression of column '{name}' cannot refer user or system variables."
                ),
            ),
            Owner::Index(name) => SqlError::new(
                3758,
                format!("Expression of functional index '{name}' contains a disallowed function."),
            ),
            Owner::Generated(name) => SqlError::new(
                3765,
                format!(
                    "Expression of generated column '{name}' cannot refer user or system variables."
                ),
            ),
        }
    }

    /// 3817, 3771, 3764.
    fn is_row(self) -> SqlError {
        match self {
            Owner::Check(name) => SqlError::new(
                3817,
                format!("Check constraint '{name}' cannot refer to a row value."),
            ),
            Owner::Default(name) => SqlError::new(
                3771,
                format!("Default value expression of column '{name}' cannot refer to a row value."),
            ),
            Owner::Index(name) => SqlError::new(
                3800,
                format!("Expression of functional index '{name}' cannot refer to a row value."),
            ),
            Owner::Generated(name) => SqlError::new(
                3764,
                format!("Expression of generated column '{name}' cannot refer to a row value."),
            ),
        }
    }

    /// 3818, 3768, 3109.
    fn has_sequence(self) -> SqlError {
        match self {
            Owner::Check(name) => SqlError::new(
                3818,
                format!("Check constraint '{name}' cannot refer to an auto-increment column."),
            ),
            Owner::Default(name) => SqlError::new(
                3768,
                format!(
                    "Default value expression of column '{name}' cannot refer to an auto-increment column."
                ),
            ),
            Owner::Index(name) => SqlError::new(
                3760,
                format!("Functional index '{name}' cannot refer to an auto-increment column."),
            ),
            Owner::Generated(name) => SqlError::new(
                3109,
                format!("Generated column '{name}' cannot refer to auto-increment column."),
            ),
        }
    }

    /// 3820, or 1054: a name that is no column's.
    fn unknown_column(self, column: &ColumnName) -> SqlError {
        match self {
            Owner::Check(name) => SqlError::new(
                3820,
                format!(
                    "Check constraint '{name}' refers to non-existing column '{}'.",
                    column.column
                ),
            ),
            Owner::Default(_) | Owner::Generated(_) | Owner::Index(_) => {
                SqlError::unknown_column(&super::names::written(column), self.place())
            }
        }
    }

    pub fn place(self) -> &'static str {
        match self {
            Owner::Check(_) => "check constraint",
            Owner::Default(_) => "default value expression",
            Owner::Generated(_) => "generated column function",
            Owner::Index(_) => "functional index",
        }
    }

    fn allows(self, function: &str) -> bool {
        let is_default = matches!(self, Owner::Default(_));
        !NEVER.contains(&function) && (is_default || !ONLY_IN_DEFAULT.contains(&function))
    }

    /// The error of one node of an expression, whatever its operands are.
    fn check_node(self, expr: &Expr) -> Result<(), SqlError> {
        match expr {
            Expr::UserVariable(_) | Expr::SystemVariable { .. } | Expr::Assign { .. } => {
                Err(self.has_variable())
            }
            Expr::Subquery(_)
            | Expr::Exists(_)
            | Expr::InSubquery { .. }
            | Expr::Quantified { .. }
            | Expr::Param(_)
            | Expr::BoundColumn(_) => Err(self.has_function()),
            Expr::Aggregate { .. } => Err(SqlError::invalid_group_function()),
            Expr::Values(_) => Err(self.names_function("values")),
            Expr::Function { schema: None, name, arguments } => match name.as_str() {
                "NAME_CONST" => Err(self.has_function()),
                "VERSION" => Err(self.names_function("version()")),
                "UNIX_TIMESTAMP" if !arguments.is_empty() => Ok(()),
                "UNIX_TIMESTAMP" if matches!(self, Owner::Default(_)) => Ok(()),
                "UNIX_TIMESTAMP" => Err(self.names_function("unix_timestamp")),
                name if self.allows(name) => Ok(()),
                name => Err(self.names_function(&name.to_lowercase())),
            },
            _ => Ok(()),
        }
    }
}

/// Checks every node, operands first, collects the names of columns, and gives the tree the form that the catalogue keeps.
fn check_and_shape(
    owner: Owner<'_>,
    expr: &mut Expr,
    columns: &mut Vec<ColumnName>,
) -> Result<(), SqlError> {
    let mut result = Ok(());
    expr.for_each_child_mut(&mut |child| {
        if result.is_ok() {
            result = check_and_shape(owner, child, columns);
        }
    });
    result?;
    owner.check_node(expr)?;
    if let Expr::Column(name) | Expr::Default(Some(name)) = expr {
        columns.push(name.clone());
        name.schema = None;
        name.table = None;
    }
    shape(expr);
    Ok(())
}

/// Gives a node the form that MySQL prints.
fn shape(expr: &mut Expr) {
    match expr {
        Expr::Literal(Literal::String(value)) if str::from_utf8(value).is_ok() => {
            let value = std::mem::take(value);
            let charset = INTRODUCED.to_string();
            let is_national = IsNational(false);
            *expr = Expr::Literal(Literal::CharsetString { charset, value, is_national });
        }
        Expr::Literal(Literal::Bits(value)) => {
            *expr = Expr::Literal(Literal::Hex(std::mem::take(value)));
        }
        // As MySQL's parser does.
        Expr::InList { operand, list, negated }
            if list.len() == 1 && !matches!(list[0], Expr::Row(_)) =>
        {
            let operator = match negated {
                true => BinaryOperator::NotEqual,
                false => BinaryOperator::Equal,
            };
            let (left, right) = (Box::new(taken(operand)), Box::new(taken(&mut list[0])));
            *expr = Expr::Binary { operator, left, right };
        }
        Expr::Regexp { operand, pattern, negated } => {
            let arguments = vec![taken(operand), taken(pattern)];
            let call = Expr::Function { schema: None, name: "REGEXP_LIKE".into(), arguments };
            *expr = match negated {
                true => Expr::Unary { operator: UnaryOperator::Not, operand: Box::new(call) },
                false => call,
            };
        }
        Expr::Function { schema: None, name, arguments } => {
            let operator = match name.as_str() {
                "DATE_ADD" | "ADDDATE" => BinaryOperator::Add,
                "DATE_SUB" | "SUBDATE" => BinaryOperator::Subtract,
                _ => return,
            };
            if let [date, interval @ Expr::Interval { .. }] = arguments.as_mut_slice() {
                let (left, right) = (Box::new(taken(date)), Box::new(taken(interval)));
                *expr = Expr::Binary { operator, left, right };
            }
        }
        _ => {}
    }
}

/// A LIKE of the sql_mode NO_BACKSLASH_ESCAPES has no escape in the default one either.
fn write_escapes(expr: &mut Expr) {
    expr.for_each_child_mut(&mut write_escapes);
    if let Expr::Like { escape: escape @ None, .. } = expr {
        *escape = Some(Box::new(Expr::Literal(Literal::String(Vec::new()))));
    }
}

fn taken(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::Literal(Literal::Null))
}

/// The character set of string literals in the texts of the catalogue.
const INTRODUCED: &str = "utf8mb4";

/// Takes the introducers of [`shape`] away: functions look at plain literals, and the plan has their collation.
fn without_introducers(expr: &mut Expr) {
    expr.for_each_child_mut(&mut without_introducers);
    if let Expr::Literal(Literal::CharsetString { charset, value, .. }) = expr
        && charset == INTRODUCED
    {
        *expr = Expr::Literal(Literal::String(std::mem::take(value)));
    }
}

/// Is it a condition, as CHECK needs one?
pub fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(Literal::Bool(_))
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Is { .. }
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Like { .. }
        | Expr::Regexp { .. }
        | Expr::Exists(_)
        | Expr::Quantified { .. }
        | Expr::Unary { operator: UnaryOperator::Not, .. } => true,
        Expr::Binary { operator, .. } => {
            operator.is_comparison()
                || matches!(operator, BinaryOperator::Xor | BinaryOperator::SoundsLike)
        }
        Expr::Function { schema: None, name, .. } => {
            CONDITIONS.contains(&name.as_str()) || name.starts_with("ST_")
        }
        _ => false,
    }
}

/// The names of columns in an expression, as they were written.
pub fn named_columns(expr: &Expr) -> Vec<ColumnName> {
    fn collect(expr: &mut Expr, columns: &mut Vec<ColumnName>) {
        if let Expr::Column(name) | Expr::Default(Some(name)) = expr {
            columns.push(name.clone());
        }
        expr.for_each_child_mut(&mut |child| collect(child, columns));
    }
    let mut columns = Vec::new();
    collect(&mut expr.clone(), &mut columns);
    columns
}

impl Binder<'_> {
    /// The expression as the catalogue keeps it. `table` has all its columns; `position` is that of the column that the
    /// expression belongs to.
    pub fn column_expression(
        &mut self,
        owner: Owner<'_>,
        expr: &Expr,
        table: &Arc<Table>,
        position: Option<usize>,
    ) -> Result<ColumnExpression, SqlError> {
        if matches!(expr, Expr::Row(_)) {
            return Err(owner.is_row());
        }
        let mut columns = Vec::new();
        let mut shaped = expr.clone();
        check_and_shape(owner, &mut shaped, &mut columns)?;
        if self.environment.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES) {
            write_escapes(&mut shaped);
        }
        for name in &columns {
            check_column(owner, name, table, position)?;
        }
        self.forgotten(|binder| binder.check_bound(owner, expr, table))?;
        let text = print::expression(&shaped);
        let expression = ColumnExpression { text, collation: Collation::default() };
        if parse_expression(&expression.text).is_none() {
            // Printed in full it nests deeper than it was written.
            return Err(SqlError::not_supported("so deep an expression in a definition"));
        }
        self.forgotten(|binder| binder.kept(&expression, owner.place(), table, |expr| expr))?;
        Ok(expression)
    }

    /// Binds an expression that is defined, and refuses functions that the list of names does not know.
    fn check_bound(
        &mut self,
        owner: Owner<'_>,
        expr: &Expr,
        table: &Arc<Table>,
    ) -> Result<(), SqlError> {
        let first = self.slots.len();
        let relations = Relations::of_table(table, None);
        let bound =
            self.outside(None, |binder| binder.bound(expr, &Scope::of(&relations, owner.place())));
        bound.map_err(|error| match unknown_function(&error) {
            Some(name) => owner.names_function(&format!("`{}`", name.to_lowercase())),
            None => error,
        })?;
        let is_allowed = |slot: &Slot| match slot {
            Slot::Now { .. }
            | Slot::CurrentDate
            | Slot::CurrentTime { .. }
            | Slot::UtcTimestamp { .. }
            | Slot::UtcDate
            | Slot::UtcTime { .. }
            | Slot::SystemDate { .. }
            | Slot::Random { .. }
            | Slot::Uuid
            | Slot::UuidShort => matches!(owner, Owner::Default(_)),
            _ => false,
        };
        match self.slots[first..].iter().all(is_allowed) {
            true => Ok(()),
            false => Err(owner.has_function()),
        }
    }

    /// An expression of the catalogue, perhaps as a part of another one, over the columns of its table.
    pub fn kept(
        &mut self,
        expression: &ColumnExpression,
        place: &'static str,
        table: &Arc<Table>,
        change: impl FnOnce(Expr) -> Expr,
    ) -> Result<Bound, SqlError> {
        let expr = parse_expression(&expression.text);
        let mut expr = change(expr.ok_or_else(|| unreadable(table))?);
        without_introducers(&mut expr);
        let environment = Environment {
            collation: expression.collation,
            client: Charset::Utf8mb4,
            sql_mode: SqlMode::default(),
            ..(*self.environment).clone()
        };
        let relations = Relations::of_table(table, None);
        self.outside(Some(environment), |binder| binder.bound(&expr, &Scope::of(&relations, place)))
    }

    /// An expression of the catalogue as the value of a column.
    fn kept_value(
        &mut self,
        expression: &ColumnExpression,
        place: &'static str,
        table: &Arc<Table>,
        column: u16,
    ) -> Result<Bound, SqlError> {
        let mut bound = self.kept(expression, place, table, |expr| expr)?;
        let relations = Relations::of_table(table, None);
        self.assigned(&mut bound.expr, column, table, &Scope::of(&relations, place));
        Ok(bound)
    }

    /// DEFAULT (expression) of a column, if it has one, over the columns of the table.
    pub fn default_expression(
        &mut self,
        table: &Arc<Table>,
        column: u16,
    ) -> Result<Option<Bound>, SqlError> {
        match &table.columns[usize::from(column)].default {
            ColumnDefault::Expression(expression) => {
                let place = Owner::Default("").place();
                self.kept_value(expression, place, table, column).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// What the definition of a table makes of its rows. `is_new`: rows are inserted, and get defaults.
    pub fn row_rules(&mut self, table: &Arc<Table>, is_new: bool) -> Result<RowRules, SqlError> {
        let mut rules = RowRules::default();
        for (position, column) in (0u16..).zip(&table.columns) {
            if let Some(generated) = &column.generated {
                let place = Owner::Generated("").place();
                let value = self.kept_value(&generated.expression, place, table, position)?;
                rules.columns.push(ColumnRule { column: position, value, is_default: false });
            } else if is_new && let Some(value) = self.default_expression(table, position)? {
                rules.columns.push(ColumnRule { column: position, value, is_default: true });
            }
        }
        for check in table.constraints.checks.iter().filter(|check| check.enforced) {
            let negated =
                |expr| Expr::Unary { operator: UnaryOperator::Not, operand: Box::new(expr) };
            let place = Owner::Check("").place();
            let violation = self.kept(&check.expression, place, table, negated)?;
            rules.violations.push((check.name.clone(), violation));
        }
        Ok(rules)
    }
}

/// The function that error 1305 names.
fn unknown_function(error: &SqlError) -> Option<&str> {
    if error.code != code::ER_SP_DOES_NOT_EXIST {
        return None;
    }
    let name = error.message.strip_prefix("FUNCTION ")?.strip_suffix(" does not exist")?;
    name.rsplit('.').next()
}

/// An expression of the catalogue was parsed before it was kept.
fn unreadable(table: &Table) -> SqlError {
    SqlError::new(
        code::ER_INTERNAL_ERROR,
        format!("Internal error: an expression of table '{}' is not readable", table.name),
    )
}

fn check_column(
    owner: Owner<'_>,
    name: &ColumnName,
    table: &Table,
    position: Option<usize>,
) -> Result<(), SqlError> {
    let found = table.column_named(&name.column).filter(|&own| !table.columns[own].hidden);
    let Some(found) = found else { return Err(owner.unknown_column(name)) };
    let column = &table.columns[found];
    let is_computed =
        column.generated.is_some() || matches!(column.default, ColumnDefault::Expression(_));
    if is_computed && position.is_some_and(|own| own <= found) {
        return Err(match owner {
            Owner::Generated(_) => SqlError::new(
                3107,
                "Generated column can refer only to generated columns defined prior to it.",
            ),
            Owner::Default(own) | Owner::Check(own) | Owner::Index(own) => SqlError::new(
                3767,
                format!(
                    "Default value expression of column '{own}' cannot refer to a column defined after it if that \
                     column is a generated column or has an expression as default value."
                ),
            ),
        });
    }
    match column.default {
        ColumnDefault::AutoIncrement => Err(owner.has_sequence()),
        _ => Ok(()),
    }
}

/// 3773, or 1235: DEFAULT(column) has no constant value here.
pub fn default_of(number: usize, relations: &Relations) -> SqlError {
    let own = relations.table_of(number);
    let column = own.table.as_ref().map(|table| &table.columns[number - own.first]);
    match column.map(|column| &column.default) {
        Some(ColumnDefault::Expression(_)) => {
            SqlError::new(3773, "DEFAULT function cannot be used with default value expressions")
        }
        _ => SqlError::not_supported("DEFAULT(column)"),
    }
}

/// The expression of a DEFAULT clause, or of a generated column.
pub fn written_expression(definition: &ast::ColumnDefinition) -> Option<(Owner<'_>, &Expr)> {
    match (&definition.generated, &definition.default) {
        (Some(generated), _) => Some((Owner::Generated(&definition.name), &generated.expr)),
        (None, Some(ast::DefaultClause::Expression(expr))) => {
            Some((Owner::Default(&definition.name), expr))
        }
        (None, _) => None,
    }
}
