//! The compact Debug of expressions: prefix notation, for tests and for people.
//!
//! `a + 2 * 3` prints as `(+ a (* 2 3))`, `a IS NOT NULL` as `(is-not-null a)`, a parameter as `?0`.

use std::fmt::{self, Debug, Formatter, Write};

use super::ast::*;

/// Bytes as quoted text; what is not UTF-8 is replaced.
fn write_text(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    write!(f, "'{}'", String::from_utf8_lossy(bytes).escape_debug())
}

fn write_hex(f: &mut Formatter<'_>, prefix: char, bytes: &[u8]) -> fmt::Result {
    write!(f, "{prefix}'")?;
    for byte in bytes {
        write!(f, "{byte:02x}")?;
    }
    f.write_char('\'')
}

/// `(head operand operand ...)`.
fn write_list<'e>(
    f: &mut Formatter<'_>,
    head: &str,
    operands: impl IntoIterator<Item = &'e Expr>,
) -> fmt::Result {
    write!(f, "({head}")?;
    for operand in operands {
        write!(f, " {operand:?}")?;
    }
    f.write_char(')')
}

fn negated(negated: bool, name: &str) -> String {
    format!("{}{name}", if negated { "not-" } else { "" })
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        if let Some(table) = &self.table {
            write!(f, "{table}.")?;
        }
        write!(f, "{}", self.column)
    }
}

fn write_literal(f: &mut Formatter<'_>, literal: &Literal) -> fmt::Result {
    match literal {
        Literal::Null => f.write_str("NULL"),
        Literal::Bool(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
        Literal::Integer(value) => write!(f, "{value}"),
        Literal::Decimal(text) => write!(f, "{text}d"),
        Literal::Float(value) => write!(f, "{value:e}"),
        Literal::String(value) => write_text(f, value),
        Literal::CharsetString { charset, value, .. } => {
            write!(f, "_{charset}")?;
            write_text(f, value)
        }
        Literal::Hex(value) => write_hex(f, 'x', value),
        Literal::Bits(value) => write_hex(f, 'b', value),
        Literal::Date(value) => {
            f.write_str("DATE")?;
            write_text(f, value)
        }
        Literal::Time(value) => {
            f.write_str("TIME")?;
            write_text(f, value)
        }
        Literal::Timestamp(value) => {
            f.write_str("TIMESTAMP")?;
            write_text(f, value)
        }
    }
}

impl UnaryOperator {
    /// As it is printed; NEG for the sign, to tell it from subtraction.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOperator::Negate => "neg",
            UnaryOperator::Plus => "plus",
            UnaryOperator::BitNot => "~",
            UnaryOperator::Not => "not",
            UnaryOperator::Binary => "binary",
        }
    }
}

impl BinaryOperator {
    /// As it is written in SQL.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOperator::Xor => "XOR",
            BinaryOperator::Equal => "=",
            BinaryOperator::NullSafeEqual => "<=>",
            BinaryOperator::NotEqual => "<>",
            BinaryOperator::Less => "<",
            BinaryOperator::LessOrEqual => "<=",
            BinaryOperator::Greater => ">",
            BinaryOperator::GreaterOrEqual => ">=",
            BinaryOperator::BitOr => "|",
            BinaryOperator::BitAnd => "&",
            BinaryOperator::ShiftLeft => "<<",
            BinaryOperator::ShiftRight => ">>",
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::IntegerDivide => "DIV",
            BinaryOperator::Modulo => "%",
            BinaryOperator::BitXor => "^",
            BinaryOperator::SoundsLike => "SOUNDS LIKE",
        }
    }

    /// Whether it is one of = <=> <> < <= > >=.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOperator::Equal
                | BinaryOperator::NullSafeEqual
                | BinaryOperator::NotEqual
                | BinaryOperator::Less
                | BinaryOperator::LessOrEqual
                | BinaryOperator::Greater
                | BinaryOperator::GreaterOrEqual
        )
    }
}

impl Debug for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Literal(literal) => write_literal(f, literal),
            Expr::BoundColumn(number) => write!(f, "!{number}"),
            Expr::Param(index) => write!(f, "?{index}"),
            Expr::Column(name) => write!(f, "{name}"),
            Expr::UserVariable(name) => write!(f, "@{name}"),
            Expr::SystemVariable { scope, name } => match scope {
                VariableScope::Unspecified => write!(f, "@@{name}"),
                scope => write!(f, "@@{scope:?}.{name}"),
            },
            Expr::Assign { variable, value } => write!(f, "(:= @{variable} {value:?})"),
            Expr::And(operands) => write_list(f, "and", operands),
            Expr::Or(operands) => write_list(f, "or", operands),
            Expr::Unary { operator, operand } => write_list(f, operator.symbol(), [&**operand]),
            Expr::Binary { operator, left, right } => {
                write_list(f, operator.symbol(), [&**left, &**right])
            }
            Expr::Is { operand, test, negated } => {
                let not = if *negated { "not-" } else { "" };
                let test = format!("{test:?}").to_lowercase();
                write!(f, "(is-{not}{test} {operand:?})")
            }
            Expr::Between { operand, low, high, negated: is_negated } => {
                write_list(f, &negated(*is_negated, "between"), [&**operand, &**low, &**high])
            }
            Expr::InList { operand, list, negated: is_negated } => {
                let operands = std::iter::once(&**operand).chain(list);
                write_list(f, &negated(*is_negated, "in"), operands)
            }
            Expr::InSubquery { operand, query, negated: is_negated } => {
                write!(f, "({} {operand:?} {query:?})", negated(*is_negated, "in-query"))
            }
            Expr::Like { operand, pattern, escape, negated: is_negated } => {
                let operands = [&**operand, &**pattern].into_iter().chain(escape.as_deref());
                write_list(f, &negated(*is_negated, "like"), operands)
            }
            Expr::Regexp { operand, pattern, negated: is_negated } => {
                write_list(f, &negated(*is_negated, "regexp"), [&**operand, &**pattern])
            }
            Expr::Case { operand, branches, otherwise } => {
                f.write_str("(case")?;
                if let Some(operand) = operand {
                    write!(f, " {operand:?}")?;
                }
                for (condition, value) in branches {
                    write!(f, " [{condition:?} {value:?}]")?;
                }
                if let Some(otherwise) = otherwise {
                    write!(f, " else {otherwise:?}")?;
                }
                f.write_char(')')
            }
            Expr::Cast { operand, target } => write!(f, "(cast {operand:?} {target:?})"),
            Expr::JsonValue(call) => write!(f, "(json_value {call:?})"),
            Expr::ConvertUsing { operand, charset } => write!(f, "(using {operand:?} {charset})"),
            Expr::Collate { operand, collation } => write!(f, "(collate {operand:?} {collation})"),
            Expr::Function { schema, name, arguments } => match schema {
                Some(schema) => write_list(f, &format!("{schema}.{name}"), arguments),
                None => write_list(f, name, arguments),
            },
            Expr::Aggregate { name, distinct, arguments, order_by, separator } => {
                write!(f, "({name}{}", if *distinct { " distinct" } else { "" })?;
                for argument in arguments {
                    write!(f, " {argument:?}")?;
                }
                for item in order_by {
                    let direction = if item.descending { "desc" } else { "asc" };
                    write!(f, " {direction}:{:?}", item.expr)?;
                }
                if let Some(separator) = separator {
                    f.write_str(" separator ")?;
                    write_text(f, separator)?;
                }
                f.write_char(')')
            }
            Expr::Window(call) => {
                write!(f, "(over {:?}", call.function)?;
                match &call.window {
                    Window::Named(name) => write!(f, " {name})"),
                    Window::Written(spec) => {
                        if let Some(base) = &spec.base {
                            write!(f, " {base}")?;
                        }
                        for expr in &spec.partition_by {
                            write!(f, " by:{expr:?}")?;
                        }
                        for item in &spec.order_by {
                            let direction = if item.descending { "desc" } else { "asc" };
                            write!(f, " {direction}:{:?}", item.expr)?;
                        }
                        if let Some(frame) = &spec.frame {
                            write!(f, " {:?} {:?} {:?}", frame.unit, frame.start, frame.end)?;
                        }
                        f.write_char(')')
                    }
                }
            }
            Expr::Trim { side, remove, operand } => {
                write!(f, "(trim-{}", format!("{side:?}").to_lowercase())?;
                if let Some(remove) = remove {
                    write!(f, " {remove:?}")?;
                }
                write!(f, " {operand:?})")
            }
            Expr::Interval { value, unit } => write!(f, "(interval {value:?} {unit:?})"),
            Expr::Unit(unit) => write!(f, "{unit:?}"),
            Expr::Row(items) => write_list(f, "row", items),
            Expr::Exists(query) => write!(f, "(exists {query:?})"),
            Expr::Subquery(query) => write!(f, "(query {query:?})"),
            Expr::Quantified { operator, all, left, query } => {
                let quantifier = if *all { "all" } else { "any" };
                write!(f, "({} {quantifier} {left:?} {query:?})", operator.symbol())
            }
            Expr::Values(column) => write!(f, "(values {column})"),
            Expr::Default(None) => f.write_str("default"),
            Expr::Default(Some(column)) => write!(f, "(default {column})"),
            Expr::Unsupported { feature } => write!(f, "(unsupported {feature})"),
            Expr::SpacedCall { name } => write!(f, "(spaced {name})"),
        }
    }
}
