//! Expressions: syntax to bound form.

use types::decimal::{DIV_PRECISION_INCREMENT, SCALE_MAX};
use types::expr::{BinaryOp, Function, IntervalUnit, ResultType, UnaryOp};
use types::{Collation, ColumnType, DateTime, Decimal, Expr, IntWidth, SqlMode, Value};

use super::column_expression::default_of;
use super::literal::too_large_number;
use super::names::{Named, Relations, Scope};
use super::subquery::{row_columns, row_width};
use super::{Binder, literal_value, rewrite};
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{Bound, ParamKind, Slot};

/// MySQL's group_concat_max_len and the like bound values at run time; this bounds rows of ROW(...) comparisons.
const ROW_COLUMNS_MAX: usize = 64;

impl Binder<'_> {
    /// Binds an expression and notes which slots it needs for each row.
    pub fn bound(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Bound, SqlError> {
        let first = self.slots.len();
        self.is_split = matches!(expr, ast::Expr::And(_)) && scope.place == "where clause";
        let mut expr = self.expr(expr, scope)?;
        if scope.place == "where clause" {
            rewrite::find_zero_dates(&mut expr, scope.relations);
        }
        if !expr.check(usize::MAX, usize::MAX) {
            return Err(SqlError::new(
                code::ER_STACK_OVERRUN_NEED_MORE,
                "Expression is nested too deeply",
            ));
        }
        let slots = self.row_slots(&expr, first);
        Ok(Bound { expr, slots })
    }

    /// The slots that an expression needs for each row, in the order of the text: those that it asks for, and those from
    /// `first` on that act.
    pub fn row_slots(&self, expr: &Expr, first: usize) -> Vec<u16> {
        let mut needed: Vec<usize> = (first..self.slots.len())
            .filter(|&slot| self.is_per_row(slot) && !self.is_inner(slot))
            .collect();
        let mut pending: Vec<u16> = Vec::new();
        rewrite::for_each_param(expr, &mut |number| pending.push(number));
        while let Some(number) = pending.pop() {
            let Some(slot) = usize::from(number).checked_sub(self.param_kinds.len()) else {
                continue;
            };
            let slot = self.slot_owner(slot);
            if !self.is_per_row(slot) || needed.contains(&slot) {
                continue;
            }
            needed.push(slot);
            self.slots[slot].for_each_expr(&mut |inner| {
                rewrite::for_each_param(inner, &mut |number| pending.push(number));
            });
        }
        needed.sort_unstable();
        needed
            .into_iter()
            .map(|slot| u16::try_from(slot).expect("parameters are bounded"))
            .collect()
    }

    pub fn is_per_row(&self, slot: usize) -> bool {
        let slot = &self.slots[slot];
        slot.is_per_row() || (self.reads_per_row && matches!(slot, Slot::UserVariable(_)))
    }

    pub fn expr(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        let bound = self.node(expr, scope)?;
        match expr {
            // Settled where they are made, because rows are compared in parts.
            ast::Expr::Binary { .. } => Ok(bound),
            _ => self.settle(bound, scope),
        }
    }

    fn node(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        match expr {
            ast::Expr::Literal(literal) => {
                if let ast::Literal::CharsetString { charset, is_national, .. } = literal {
                    self.warn_of_charset(charset, is_national.0);
                }
                Ok(Expr::Const(literal_value(literal, &self.environment)?))
            }
            ast::Expr::Param(number) => {
                if self.param_kinds.len() <= *number as usize {
                    return Err(SqlError::new(
                        code::ER_PARSE_ERROR,
                        "Parameter outside of a prepared statement",
                    ));
                }
                Ok(Expr::Param(u16::try_from(*number).expect("checked against the count")))
            }
            ast::Expr::BoundColumn(number) => Ok(Expr::Param(*number)),
            ast::Expr::Column(name) => self.column(name, scope),
            ast::Expr::UserVariable(name) => self.user_variable(name),
            ast::Expr::SystemVariable { scope, name } => {
                self.has_variables = true;
                self.reusable = false;
                let value = self.session.system_variable(*scope, name)?;
                Ok(super::function::system_constant(value, self.environment.collation))
            }
            ast::Expr::Assign { variable, value } => self.assign(variable, value, scope),
            ast::Expr::And(terms) => {
                let is_split = std::mem::take(&mut self.is_split);
                Ok(Expr::And(self.branches(terms, is_split, scope)?))
            }
            ast::Expr::Or(terms) => Ok(Expr::Or(self.branches(terms, false, scope)?)),
            ast::Expr::Unary { operator, operand } => self.unary(*operator, operand, scope),
            ast::Expr::Binary { operator, left, right } => {
                self.binary(*operator, left, right, scope)
            }
            ast::Expr::Is { operand, test, negated } => {
                let operand = Box::new(self.expr(operand, scope)?);
                Ok(match test {
                    ast::IsTest::Null | ast::IsTest::Unknown => Expr::IsNull(operand, *negated),
                    ast::IsTest::True => Expr::IsTruth(operand, true, *negated),
                    ast::IsTest::False => Expr::IsTruth(operand, false, *negated),
                })
            }
            ast::Expr::Between { operand, low, high, negated } => {
                let mut operand = self.expr(operand, scope)?;
                let mut low = self.expr(low, scope)?;
                let mut high = self.expr(high, scope)?;
                self.compare_as_number(&mut low, &operand, scope);
                self.compare_as_number(&mut high, &operand, scope);
                self.agree_on_numbers([&mut operand, &mut low, &mut high], scope);
                self.agree_on_dates(&mut operand, &mut [&mut low, &mut high], scope);
                Ok(Expr::Between {
                    operand: Box::new(operand),
                    low: Box::new(low),
                    high: Box::new(high),
                    negated: *negated,
                })
            }
            ast::Expr::InList { operand, list, negated } => {
                self.in_list(operand, list, *negated, scope)
            }
            ast::Expr::Like { operand, pattern, escape, negated } => Ok(Expr::Like {
                operand: Box::new(self.text_expr(operand, scope)?),
                pattern: Box::new(self.text_expr(pattern, scope)?),
                escape: match escape {
                    Some(escape) => Some(Box::new(self.escape(escape, scope)?)),
                    None if self.environment.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => {
                        Some(Box::new(Expr::Const(Value::text("", self.environment.collation))))
                    }
                    None => None,
                },
                negated: *negated,
            }),
            ast::Expr::Regexp { operand, pattern, negated } => {
                let mut arguments = vec![self.expr(operand, scope)?, self.expr(pattern, scope)?];
                self.documents_as_texts(&mut arguments, scope);
                let call = Expr::Function(Function::RegexpLike, arguments);
                Ok(if *negated { Expr::Unary(UnaryOp::Not, Box::new(call)) } else { call })
            }
            ast::Expr::Case { operand, branches, otherwise } => {
                let operand = match operand {
                    Some(operand) => Some(Box::new(self.expr(operand, scope)?)),
                    None => None,
                };
                let mut bound = Vec::with_capacity(branches.len());
                for (when, then) in branches {
                    bound.push((self.pure(when, scope)?, self.pure(then, scope)?));
                }
                let otherwise = match otherwise {
                    Some(otherwise) => Some(Box::new(self.pure(otherwise, scope)?)),
                    None => None,
                };
                Ok(Expr::Case { operand, branches: bound, otherwise })
            }
            ast::Expr::Cast { operand, target } => {
                let target = self.cast_type(target)?;
                let operand = if target.is_string() || target.is_binary() {
                    self.text_expr(operand, scope)?
                } else if target == ColumnType::Json {
                    let bound = self.expr(operand, scope)?;
                    self.document_value(operand, bound, scope)
                } else {
                    let mut operand = self.expr(operand, scope)?;
                    if target.is_numeric() {
                        as_number(&mut operand);
                    }
                    operand
                };
                Ok(Expr::Cast(Box::new(operand), target))
            }
            ast::Expr::JsonValue(call) => self.json_value(call, scope),
            ast::Expr::ConvertUsing { operand, charset } => {
                let operand = self.text_expr(operand, scope)?;
                let target = match self.default_collation(charset, false)? {
                    Collation::Binary => ColumnType::Varbinary { length: 65_535 },
                    collation => ColumnType::Text { bytes_max: u32::MAX, collation },
                };
                Ok(Expr::Cast(Box::new(operand), target))
            }
            ast::Expr::Collate { operand, collation } => {
                let bound = self.text_expr(operand, scope)?;
                self.collate(bound, collation, scope)
            }
            ast::Expr::Function { schema, name, arguments } => {
                if let Some(schema) = schema {
                    return Err(SqlError::new(
                        code::ER_SP_DOES_NOT_EXIST,
                        format!("FUNCTION {schema}.{name} does not exist"),
                    ));
                }
                self.function(name, arguments, scope)
            }
            ast::Expr::Aggregate { name, distinct, arguments, order_by, separator } => {
                self.aggregate(name, *distinct, arguments, order_by, separator.as_deref(), scope)
            }
            ast::Expr::Window(call) => self.window_call(call, scope),
            ast::Expr::Trim { side, remove, operand } => {
                let function = match side {
                    ast::TrimSide::Both => Function::Trim,
                    ast::TrimSide::Leading => Function::Ltrim,
                    ast::TrimSide::Trailing => Function::Rtrim,
                };
                let mut arguments = vec![self.text_expr(operand, scope)?];
                if let Some(remove) = remove {
                    arguments.push(self.expr(remove, scope)?);
                }
                Ok(Expr::Function(function, arguments))
            }
            ast::Expr::Interval { .. } | ast::Expr::Unit(_) => {
                Err(SqlError::new(code::ER_PARSE_ERROR, "INTERVAL outside of date arithmetic"))
            }
            ast::Expr::Row(columns) => {
                Err(SqlError::operand_columns(if columns.len() == 1 { 2 } else { 1 }))
            }
            ast::Expr::Values(name) => {
                if !scope.new_values {
                    return Ok(Expr::Const(Value::Null));
                }
                let column = scope.column(name)?;
                self.new_value(column, scope)
            }
            ast::Expr::Default(Some(name)) => Err(default_of(scope.column(name)?, scope.relations)),
            ast::Expr::Default(None) => {
                Err(SqlError::new(code::ER_PARSE_ERROR, "DEFAULT is not allowed here"))
            }
            ast::Expr::Subquery(_)
            | ast::Expr::Exists(_)
            | ast::Expr::InSubquery { .. }
            | ast::Expr::Quantified { .. } => self.subquery_once(expr, scope),
            ast::Expr::Unsupported { feature } => Err(SqlError::not_supported(feature)),
            ast::Expr::SpacedCall { name } => match &self.environment.database {
                Some(database) => Err(SqlError::new(
                    code::ER_FUNC_INEXISTENT_NAME_COLLISION,
                    format!(
                        "FUNCTION {database}.{name} does not exist. Check the 'Function Name Parsing and \
                         Resolution' section in the Reference Manual"
                    ),
                )),
                None => Err(SqlError::no_database()),
            },
        }
    }

    fn text_expr(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        let mut bound = self.expr(expr, scope)?;
        self.as_text(&mut bound, scope);
        Ok(bound)
    }

    /// The ESCAPE of a LIKE: one character or none, the same for all rows.
    fn escape(&mut self, escape: &ast::Expr, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        let first = self.slots.len();
        let bound = self.expr(escape, scope)?;
        let is_constant = !super::rewrite::has_columns(&bound)
            && !(first..self.slots.len()).any(|slot| self.is_per_row(slot));
        let is_long =
            matches!(&bound, Expr::Const(Value::Text(text, _)) if text.chars().nth(1).is_some());
        if is_constant && !is_long { Ok(bound) } else { Err(SqlError::wrong_arguments("ESCAPE")) }
    }

    /// What BETWEEN compares, of which the first is compared with the others: a text meets another one as a number where the third one is.
    fn agree_on_numbers(&mut self, operands: [&mut Expr; 3], scope: &Scope<'_>) {
        let columns = scope.result_types();
        let types = operands.each_ref().map(|operand| self.type_of(operand, &columns).column_type);
        let is_text = types.each_ref().map(|own| own.as_ref().is_some_and(ColumnType::is_string));
        let has_number = types.iter().flatten().any(ColumnType::is_numeric);
        if is_text[0] && (is_text[1] || is_text[2]) && has_number {
            for (operand, _) in operands.into_iter().zip(is_text).filter(|(_, is_text)| *is_text) {
                let text = std::mem::replace(operand, Expr::Const(Value::Null));
                *operand = Expr::Cast(Box::new(text), ColumnType::Double);
            }
        }
    }

    /// What BETWEEN and IN compare a text with, where dates are among it and nothing but texts beside them: all are dates. A
    /// date is compared with a text as a date anyway. A text that spells none is '0000-00-00', as there.
    fn agree_on_dates(&mut self, operand: &mut Expr, others: &mut [&mut Expr], scope: &Scope<'_>) {
        let columns = scope.result_types();
        let is_text = |own: &Option<ColumnType>| own.as_ref().is_some_and(ColumnType::is_string);
        let is_date = |own: &Option<ColumnType>| {
            matches!(
                own,
                Some(ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. })
            )
        };
        if !is_text(&self.type_of(operand, &columns).column_type) {
            return;
        }
        let types: Vec<Option<ColumnType>> =
            others.iter().map(|other| self.type_of(other, &columns).column_type).collect();
        let has_others = types.iter().any(|own| own.is_some() && !is_text(own) && !is_date(own));
        if has_others || !types.iter().any(is_date) {
            return;
        }
        let texts = others.iter_mut().zip(&types).filter(|(_, own)| is_text(own));
        let texts = texts.map(|(other, _)| &mut **other).chain([operand]);
        for text in texts {
            let value = std::mem::replace(text, Expr::Const(Value::Null));
            let is_null = Expr::IsNull(Box::new(value.clone()), false);
            let date = Expr::Cast(Box::new(value), ColumnType::DateTime { fsp: 6 });
            let zero = Expr::Const(Value::DateTime(DateTime::ZERO));
            let date = Expr::Function(Function::IfNull, vec![date, zero]);
            *text = Expr::Function(Function::If, vec![is_null, Expr::Const(Value::Null), date]);
        }
    }

    pub fn exprs(&mut self, list: &[ast::Expr], scope: &Scope<'_>) -> Result<Vec<Expr>, SqlError> {
        list.iter().map(|expr| self.expr(expr, scope)).collect()
    }

    /// An operand that may not be evaluated at all (a branch of CASE or IF): what acts when it is evaluated is refused
    /// there, because slots are supplied whatever the branch.
    pub fn pure(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        let first = self.slots.len();
        let bound = self.branch(expr, scope)?;
        self.check_lock_calls(first)?;
        let acts = self.slots[first..].iter().any(|slot| {
            matches!(
                slot,
                Slot::Assign { .. }
                    | Slot::Sleep(_)
                    | Slot::TransactionOutcome(_)
                    | Slot::LastInsertIdOf(_)
            )
        });
        if acts {
            return Err(SqlError::not_supported("assignment or SLEEP in a branch of IF or CASE"));
        }
        Ok(bound)
    }

    /// An operand that may not be evaluated at all.
    fn branch(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        self.branches += 1;
        let bound = self.expr(expr, scope);
        self.branches -= 1;
        bound
    }

    /// Operands of which the first is evaluated in any case. `is_split`: the others only behind one that holds.
    fn branches(
        &mut self,
        exprs: &[ast::Expr],
        is_split: bool,
        scope: &Scope<'_>,
    ) -> Result<Vec<Expr>, SqlError> {
        let mut bound = Vec::with_capacity(exprs.len());
        for (number, expr) in exprs.iter().enumerate() {
            let first = self.slots.len();
            bound.push(match number {
                0 => self.expr(expr, scope)?,
                _ => self.branch(expr, scope)?,
            });
            if 0 < number && !is_split {
                self.check_lock_calls(first)?;
            }
        }
        Ok(bound)
    }

    /// Operands of which the first one that is not NULL is the value.
    pub fn alternatives(
        &mut self,
        exprs: &[ast::Expr],
        scope: &Scope<'_>,
    ) -> Result<Vec<Expr>, SqlError> {
        let mut bound = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let first = self.slots.len();
            bound.push(self.expr(expr, scope)?);
            if 1 < bound.len() {
                self.check_lock_calls(first)?;
            }
        }
        Ok(bound)
    }

    /// A lock is not to be taken or released by an operand that MySQL does not evaluate: slots are supplied in any case.
    pub fn check_lock_calls(&self, first: usize) -> Result<(), SqlError> {
        match self.slots[first..].iter().any(|slot| matches!(slot, Slot::UserLock(_))) {
            true => Err(SqlError::not_supported(
                "GET_LOCK, RELEASE_LOCK or another function of locks in an operand that may not be evaluated",
            )),
            false => Ok(()),
        }
    }

    fn column(&mut self, name: &ast::ColumnName, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        let position = match self.named(name, scope)? {
            Named::Column(position) => position,
            Named::Item(expr) => return self.alias(expr, name, scope),
            Named::Value(value) => return Ok(value),
        };
        Ok(self.column_value(position, scope.relations))
    }

    /// The value of a column as expressions see it.
    pub fn column_value(&self, number: usize, relations: &Relations) -> Expr {
        let column = Expr::Column(u16::try_from(number).expect("columns are counted"));
        let pads = self.environment.sql_mode.has(SqlMode::PAD_CHAR_TO_FULL_LENGTH);
        match relations.column(number).column_type {
            // Rows hold UTC; expressions see the session's time.
            ColumnType::Timestamp { .. } => Expr::Function(Function::UtcToLocal, vec![column]),
            // Rows hold CHAR without its last spaces.
            ColumnType::Char { length, collation } if pads => {
                let length = Expr::Const(Value::UInt(u64::from(length)));
                let space = Expr::Const(Value::text(" ", collation));
                Expr::Function(Function::Rpad, vec![column, length, space])
            }
            _ => column,
        }
    }

    /// The select item behind an alias, bound in its place. It does not see aliases itself.
    fn alias(
        &mut self,
        expr: &ast::Expr,
        name: &ast::ColumnName,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        if scope.place == "group statement" && matches!(expr, ast::Expr::Aggregate { .. }) {
            return Err(SqlError::new(
                code::ER_WRONG_GROUP_FIELD,
                format!("Can't group on '{}'", name.column),
            ));
        }
        let plain = Scope {
            relations: scope.relations,
            groups: scope.groups,
            windows: scope.windows,
            // The item may name what it likes.
            new_values: scope.new_values,
            row_alias: scope.row_alias,
            source: scope.source,
            ..Scope::empty(scope.place)
        };
        self.expr(expr, &plain).map_err(|error| match error.code {
            code::ER_WINDOW_INVALID_WINDOW_FUNC_USE => {
                SqlError::window_alias_misplaced(&name.column)
            }
            _ => error,
        })
    }

    pub fn new_value(&mut self, column: usize, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        let table = &scope.relations.tables[0];
        let column_type = table.columns[column].column_type.clone();
        let is_timestamp = matches!(column_type, ColumnType::Timestamp { .. });
        let column = u16::try_from(column).expect("tables have few columns");
        let value = Expr::Param(self.slot(Slot::NewValue { column }, Some(column_type))?);
        // It is as the row will hold it, in UTC.
        Ok(match is_timestamp {
            true => Expr::Function(Function::UtcToLocal, vec![value]),
            false => value,
        })
    }

    fn user_variable(&mut self, name: &str) -> Result<Expr, SqlError> {
        let name = name.to_lowercase();
        self.has_variables = true;
        // The result's type is the value's of now.
        self.reusable = false;
        let value = self.session.user_variable(&name);
        let kind = match value.map_or(ParamKind::Unknown, ParamKind::of) {
            _ if self.text_variables.contains(&name) => ParamKind::Text,
            // As wide as any decimal, as in MySQL.
            ParamKind::Decimal { .. } => ParamKind::Decimal { scale: SCALE_MAX },
            kind => kind,
        };
        let collation = match value {
            Some(Value::Text(_, collation)) => *collation,
            _ => self.environment.collation,
        };
        let column_type = super::kind_type(kind, collation);
        Ok(Expr::Param(self.slot(Slot::UserVariable(name), column_type.column_type)?))
    }

    fn assign(
        &mut self,
        variable: &str,
        value: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        self.assigns = true;
        self.has_variables = true;
        self.reusable = false;
        let value = self.expr(value, scope)?;
        let column_type = self.type_of(&value, &scope.result_types()).column_type;
        let name = variable.to_lowercase();
        Ok(Expr::Param(self.slot(Slot::Assign { name, value }, column_type)?))
    }

    fn unary(
        &mut self,
        operator: ast::UnaryOperator,
        operand: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        match (operator, operand) {
            (ast::UnaryOperator::Negate, ast::Expr::Literal(ast::Literal::Integer(number))) => {
                return Ok(Expr::Const(negated_integer(*number)));
            }
            (ast::UnaryOperator::Negate, ast::Expr::Literal(ast::Literal::Decimal(text))) => {
                let value = Decimal::parse(text).ok_or_else(|| too_large_number(text))?;
                return Ok(Expr::Const(Value::Decimal(value.neg())));
            }
            (ast::UnaryOperator::Negate, ast::Expr::Literal(ast::Literal::Float(number))) => {
                return Ok(Expr::Const(Value::Double(-number)));
            }
            _ => {}
        }
        let mut operand = match operator {
            ast::UnaryOperator::Binary => self.text_expr(operand, scope)?,
            _ => self.expr(operand, scope)?,
        };
        match operator {
            ast::UnaryOperator::Plus => Ok(operand),
            ast::UnaryOperator::Negate => {
                as_number(&mut operand);
                Ok(Expr::Unary(UnaryOp::Negate, Box::new(operand)))
            }
            ast::UnaryOperator::BitNot => {
                self.check_bits("~", &[&operand], scope)?;
                as_number(&mut operand);
                Ok(Expr::Unary(UnaryOp::BitNot, Box::new(operand)))
            }
            ast::UnaryOperator::Not => Ok(Expr::Unary(UnaryOp::Not, Box::new(operand))),
            ast::UnaryOperator::Binary => {
                Ok(Expr::Cast(Box::new(operand), ColumnType::Varbinary { length: 65_535 }))
            }
        }
    }

    fn binary(
        &mut self,
        operator: ast::BinaryOperator,
        left: &ast::Expr,
        right: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        use ast::BinaryOperator as A;
        if let Some(count) = row_width(left, right) {
            let left = self.row_of(left, count, scope)?;
            let right = self.row_of(right, count, scope)?;
            return self.compare_rows(operator, &left, &right, scope);
        }
        if let (A::Add, ast::Expr::Interval { value, unit }) = (operator, left) {
            return self.interval(right, value, *unit, false, scope);
        }
        if let (A::Add | A::Subtract, ast::Expr::Interval { value, unit }) = (operator, right) {
            return self.interval(left, value, *unit, operator == A::Subtract, scope);
        }
        let written = [left, right];
        let mut left = self.expr(left, scope)?;
        let mut right = self.expr(right, scope)?;
        if super::json::compares(operator) {
            [left, right] = self.truths_as_documents(written, [left, right], scope);
        }
        match operator {
            A::BitOr | A::BitAnd | A::BitXor => {
                self.check_bits(symbol(operator), &[&left, &right], scope)?;
            }
            A::ShiftLeft | A::ShiftRight => self.check_bits(symbol(operator), &[&left], scope)?,
            _ => {}
        }
        let op = match operator {
            A::Equal
            | A::NullSafeEqual
            | A::NotEqual
            | A::Less
            | A::LessOrEqual
            | A::Greater
            | A::GreaterOrEqual => comparison_of(operator).expect("it is one"),
            A::Xor => BinaryOp::Xor,
            A::BitOr => BinaryOp::BitOr,
            A::BitAnd => BinaryOp::BitAnd,
            A::BitXor => BinaryOp::BitXor,
            A::ShiftLeft => BinaryOp::ShiftLeft,
            A::ShiftRight => BinaryOp::ShiftRight,
            A::Add => BinaryOp::Add,
            A::Subtract => BinaryOp::Subtract,
            A::Multiply => BinaryOp::Multiply,
            A::Divide => BinaryOp::Divide,
            A::IntegerDivide => BinaryOp::IntegerDivide,
            A::Modulo => BinaryOp::Modulo,
            A::SoundsLike => {
                let mut sound = |operand| {
                    let call = Expr::Function(Function::Soundex, vec![operand]);
                    self.settle(call, scope).map(Box::new)
                };
                let sounds = Expr::Binary(BinaryOp::Equal, sound(left)?, sound(right)?);
                return self.settle(sounds, scope);
            }
        };
        match operator {
            A::Add
            | A::Subtract
            | A::Multiply
            | A::Divide
            | A::IntegerDivide
            | A::Modulo
            | A::BitOr
            | A::BitAnd
            | A::BitXor
            | A::ShiftLeft
            | A::ShiftRight => {
                as_number(&mut left);
                as_number(&mut right);
            }
            A::Equal
            | A::NullSafeEqual
            | A::NotEqual
            | A::Less
            | A::LessOrEqual
            | A::Greater
            | A::GreaterOrEqual => return self.compared(op, left, right, scope),
            A::Xor | A::SoundsLike => {}
        }
        if op == BinaryOp::Subtract && self.subtracts_unsigned(&left, &right, scope) {
            // Exact as decimals; DIV makes a signed integer of the difference, or an error where it is out of range.
            let wide = |operand| {
                let column_type = ColumnType::Decimal { precision: 20, scale: 0, unsigned: false };
                Box::new(Expr::Cast(Box::new(operand), column_type))
            };
            let difference = Expr::Binary(op, wide(left), wide(right));
            let one = Expr::Const(Value::Int(1));
            return Ok(Expr::Binary(BinaryOp::IntegerDivide, Box::new(difference), Box::new(one)));
        }
        let increment = self.environment.div_precision_increment;
        if op == BinaryOp::Divide && increment != DIV_PRECISION_INCREMENT {
            let increment = Expr::Const(Value::Int(i64::from(increment)));
            return Ok(Expr::Function(Function::Divide, vec![left, right, increment]));
        }
        Ok(Expr::Binary(op, Box::new(left), Box::new(right)))
    }

    /// The comparison of two bound operands.
    pub fn compared(
        &mut self,
        op: BinaryOp,
        mut left: Expr,
        mut right: Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        self.compare_as_number(&mut left, &right, scope);
        self.compare_as_number(&mut right, &left, scope);
        self.settle(Expr::Binary(op, Box::new(left), Box::new(right)), scope)
    }

    /// NO_UNSIGNED_SUBTRACTION: a difference of integers of which one is unsigned is signed.
    fn subtracts_unsigned(&mut self, left: &Expr, right: &Expr, scope: &Scope<'_>) -> bool {
        if !self.environment.sql_mode.has(SqlMode::NO_UNSIGNED_SUBTRACTION) {
            return false;
        }
        let columns = scope.result_types();
        let types = [left, right].map(|operand| self.type_of(operand, &columns).column_type);
        let is_integer =
            |own: &Option<ColumnType>| own.as_ref().is_some_and(ColumnType::is_integer);
        types.iter().all(is_integer) && types.iter().flatten().any(ColumnType::is_unsigned)
    }

    /// Bits of binary strings are computed byte by byte in MySQL, unless all of them are literals.
    pub fn check_bits(
        &mut self,
        operator: &str,
        operands: &[&Expr],
        scope: &Scope<'_>,
    ) -> Result<(), SqlError> {
        let columns = scope.result_types();
        let is_literal = |operand: &&Expr| matches!(operand, Expr::Const(_));
        if !operands.iter().all(is_literal)
            && operands.iter().all(|operand| self.is_binary(operand, &columns))
        {
            return Err(SqlError::not_supported(format!("{operator} of binary values")));
        }
        Ok(())
    }

    pub fn is_binary(&mut self, expr: &Expr, columns: &[ResultType]) -> bool {
        self.type_of(expr, columns).column_type.is_some_and(|own| own.is_binary())
    }

    /// A hexadecimal or bit literal is a number where it is compared with one.
    fn compare_as_number(&mut self, literal: &mut Expr, other: &Expr, scope: &Scope<'_>) {
        if !matches!(literal, Expr::Const(Value::Bytes(_))) {
            return;
        }
        let other = self.type_of(other, &scope.result_types()).column_type;
        if other.is_some_and(|other| other.is_numeric()) {
            as_number(literal);
        }
    }

    /// (a, b) op (c, d): column by column, the first difference decides.
    fn compare_rows(
        &mut self,
        operator: ast::BinaryOperator,
        left: &[ast::Expr],
        right: &[ast::Expr],
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        use ast::BinaryOperator as A;
        if left.len() != right.len() || ROW_COLUMNS_MAX < left.len() {
            return Err(SqlError::operand_columns(left.len()));
        }
        let mut equal = Vec::new();
        for (left, right) in left.iter().zip(right) {
            let op = if operator == A::NullSafeEqual { A::NullSafeEqual } else { A::Equal };
            equal.push(self.binary(op, left, right, scope)?);
        }
        let strict = match operator {
            A::Equal | A::NullSafeEqual => return Ok(Expr::And(equal)),
            A::NotEqual => {
                return Ok(Expr::Unary(UnaryOp::Not, Box::new(Expr::And(equal))));
            }
            A::Less | A::LessOrEqual => A::Less,
            A::Greater | A::GreaterOrEqual => A::Greater,
            _ => return Err(SqlError::operand_columns(1)),
        };
        let mut ways = Vec::new();
        for position in 0..left.len() {
            let last = position + 1 == left.len();
            let op = if last { operator } else { strict };
            let mut terms = equal[..position].to_vec();
            terms.push(self.binary(op, &left[position], &right[position], scope)?);
            ways.push(Expr::And(terms));
        }
        Ok(Expr::Or(ways))
    }

    fn in_list(
        &mut self,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        if let Some(count) = row_columns(operand) {
            let columns = self.row_of(operand, count, scope)?;
            let mut ways = Vec::with_capacity(list.len());
            for row in list {
                if row_columns(row).is_none() {
                    return Err(SqlError::operand_columns(count));
                }
                let values = self.row_of(row, count, scope)?;
                ways.push(self.compare_rows(
                    ast::BinaryOperator::Equal,
                    &columns,
                    &values,
                    scope,
                )?);
            }
            let any = Expr::Or(ways);
            return Ok(if negated { Expr::Unary(UnaryOp::Not, Box::new(any)) } else { any });
        }
        let written = (operand, list);
        let mut operand = Box::new(self.expr(operand, scope)?);
        let mut list = self.exprs(list, scope)?;
        if self.is_document(&operand, scope) {
            for (item, written_item) in list.iter_mut().zip(written.1) {
                let bound = std::mem::replace(item, Expr::Const(Value::Null));
                let pair = [(*operand).clone(), bound];
                let [_, bound] = self.truths_as_documents([written.0, written_item], pair, scope);
                *item = bound;
            }
        }
        for item in &mut list {
            self.compare_as_number(item, &operand, scope);
        }
        self.agree_on_dates(&mut operand, &mut list.iter_mut().collect::<Vec<_>>(), scope);
        Ok(Expr::In { operand, list, negated })
    }

    pub fn interval(
        &mut self,
        operand: &ast::Expr,
        amount: &ast::Expr,
        unit: ast::IntervalUnit,
        subtract: bool,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        Ok(Expr::Interval {
            operand: Box::new(self.expr(operand, scope)?),
            amount: Box::new(self.expr(amount, scope)?),
            unit: interval_unit(unit),
            subtract,
        })
    }

    pub fn cast_type(&mut self, target: &ast::CastType) -> Result<ColumnType, SqlError> {
        let length = |length: &Option<u64>| {
            length.map_or(u32::MAX, |length| u32::try_from(length).unwrap_or(u32::MAX))
        };
        Ok(match target {
            ast::CastType::Signed => ColumnType::Int { width: IntWidth::W8, unsigned: false },
            ast::CastType::Unsigned => ColumnType::Int { width: IntWidth::W8, unsigned: true },
            ast::CastType::Char { length: written, charset, binary, is_national } => {
                let own = match charset {
                    None => self.environment.collation,
                    Some(name) => self.default_collation(name, is_national.0)?,
                };
                let collation = if *binary { own.charset().bin_collation() } else { own };
                match written {
                    None => ColumnType::Text { bytes_max: u32::MAX, collation },
                    Some(_) => ColumnType::Varchar { length: length(written), collation },
                }
            }
            ast::CastType::Binary { length: None } => ColumnType::Blob { bytes_max: u32::MAX },
            // CAST(x AS BINARY(n)) pads to n.
            ast::CastType::Binary { length: written } => {
                let length = length(written);
                if 65_535 < length {
                    return Err(SqlError::not_supported("CAST AS BINARY of more than 65535 bytes"));
                }
                ColumnType::Binary { length }
            }
            ast::CastType::Decimal { precision, scale } => {
                let (precision, scale) = decimal_size("expression", *precision, *scale)?;
                ColumnType::Decimal { precision, scale, unsigned: false }
            }
            ast::CastType::Float { precision } => match precision {
                Some(25..=53) => ColumnType::Double,
                Some(54..) => {
                    return Err(SqlError::new(
                        code::ER_TOO_BIG_PRECISION,
                        "Too-big precision specified for 'CAST'. Maximum is 53.",
                    ));
                }
                _ => ColumnType::Float,
            },
            ast::CastType::Double => ColumnType::Double,
            ast::CastType::Date => ColumnType::Date,
            ast::CastType::Time { fsp } => ColumnType::Time { fsp: checked_fsp("CAST", *fsp)? },
            ast::CastType::DateTime { fsp } => {
                ColumnType::DateTime { fsp: checked_fsp("CAST", *fsp)? }
            }
            ast::CastType::Year => return Err(SqlError::not_supported("YEAR")),
            ast::CastType::Json => ColumnType::Json,
            ast::CastType::Unsupported { feature } => return Err(SqlError::not_supported(feature)),
        })
    }
}

/// DECIMAL(p, s) of a column or a CAST, checked; `what` names it in the message.
pub fn decimal_size(
    what: &str,
    precision: Option<u64>,
    scale: Option<u64>,
) -> Result<(u8, u8), SqlError> {
    let scale = scale.unwrap_or(0);
    if 30 < scale {
        return Err(SqlError::new(
            code::ER_TOO_BIG_SCALE,
            format!("Too big scale {scale} specified for column '{what}'. Maximum is 30."),
        ));
    }
    let precision = match precision {
        None => 10,
        Some(0) if scale == 0 => 10,
        Some(precision) => precision,
    };
    if 65 < precision {
        return Err(SqlError::new(
            code::ER_TOO_BIG_PRECISION,
            format!("Too-big precision {precision} specified for '{what}'. Maximum is 65."),
        ));
    }
    if precision < scale {
        return Err(SqlError::new(
            code::ER_M_BIGGER_THAN_D,
            format!(
                "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{what}')."
            ),
        ));
    }
    Ok((precision as u8, scale as u8))
}

pub fn checked_fsp(what: &str, fsp: Option<u64>) -> Result<u8, SqlError> {
    match fsp {
        None => Ok(0),
        Some(fsp @ 0..=6) => Ok(fsp as u8),
        Some(fsp) => Err(SqlError::new(
            code::ER_TOO_BIG_PRECISION,
            format!("Too-big precision {fsp} specified for '{what}'. Maximum is 6."),
        )),
    }
}

/// As errors about bits of binary strings name them.
fn symbol(operator: ast::BinaryOperator) -> &'static str {
    use ast::BinaryOperator as A;
    match operator {
        A::BitOr => "|",
        A::BitAnd => "&",
        A::BitXor => "^",
        A::ShiftLeft => "<<",
        A::ShiftRight => ">>",
        _ => unreachable!("{operator:?} is no operator of bits"),
    }
}

pub fn interval_unit(unit: ast::IntervalUnit) -> IntervalUnit {
    use ast::IntervalUnit as A;
    match unit {
        A::Microsecond => IntervalUnit::Microsecond,
        A::Second => IntervalUnit::Second,
        A::Minute => IntervalUnit::Minute,
        A::Hour => IntervalUnit::Hour,
        A::Day => IntervalUnit::Day,
        A::Week => IntervalUnit::Week,
        A::Month => IntervalUnit::Month,
        A::Quarter => IntervalUnit::Quarter,
        A::Year => IntervalUnit::Year,
        A::SecondMicrosecond => IntervalUnit::SecondMicrosecond,
        A::MinuteMicrosecond => IntervalUnit::MinuteMicrosecond,
        A::MinuteSecond => IntervalUnit::MinuteSecond,
        A::HourMicrosecond => IntervalUnit::HourMicrosecond,
        A::HourSecond => IntervalUnit::HourSecond,
        A::HourMinute => IntervalUnit::HourMinute,
        A::DayMicrosecond => IntervalUnit::DayMicrosecond,
        A::DaySecond => IntervalUnit::DaySecond,
        A::DayMinute => IntervalUnit::DayMinute,
        A::DayHour => IntervalUnit::DayHour,
        A::YearMonth => IntervalUnit::YearMonth,
    }
}

/// A hexadecimal or bit literal is a number where a number is wanted.
fn as_number(expr: &mut Expr) {
    if let Expr::Const(Value::Bytes(bytes)) = expr
        && let Some(number) = bytes_as_number(bytes)
    {
        *expr = Expr::Const(Value::UInt(number));
    }
}

/// Big-endian bytes as a number; None beyond 8 bytes.
pub fn bytes_as_number(bytes: &[u8]) -> Option<u64> {
    let start = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
    let digits = &bytes[start..];
    if 8 < digits.len() {
        return None;
    }
    Some(digits.iter().fold(0, |number, &byte| (number << 8) | u64::from(byte)))
}

fn negated_integer(number: u64) -> Value {
    match 0i64.checked_sub_unsigned(number) {
        Some(number) => Value::Int(number),
        None => Value::Decimal(Decimal::from_u64(number).neg()),
    }
}

/// None for an operator that does not compare.
pub fn comparison_of(operator: ast::BinaryOperator) -> Option<BinaryOp> {
    use ast::BinaryOperator as A;
    Some(match operator {
        A::Equal => BinaryOp::Equal,
        A::NullSafeEqual => BinaryOp::NullSafeEqual,
        A::NotEqual => BinaryOp::NotEqual,
        A::Less => BinaryOp::Less,
        A::LessOrEqual => BinaryOp::LessOrEqual,
        A::Greater => BinaryOp::Greater,
        A::GreaterOrEqual => BinaryOp::GreaterOrEqual,
        _ => return None,
    })
}
