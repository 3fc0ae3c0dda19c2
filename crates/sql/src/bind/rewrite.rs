//! Walks over bound expressions.
//!
//! The trees are bounded in height by the parser, so plain recursion is safe.

use types::expr::BinaryOp;
use types::wire::Wire;
use types::{ColumnType, Date, DateTime, Expr, Value};

use super::names::Relations;

/// Calls `visit` for `expr`'s direct operands.
pub fn for_each_child<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match expr {
        Expr::Const(_) | Expr::Column(_) | Expr::Param(_) => {}
        Expr::Unary(_, operand)
        | Expr::IsNull(operand, _)
        | Expr::IsTruth(operand, _, _)
        | Expr::Cast(operand, _)
        | Expr::Collate(operand, _)
        | Expr::Convert(operand, _)
        | Expr::InCollation(operand, _) => visit(operand),
        Expr::Binary(_, left, right) => {
            visit(left);
            visit(right);
        }
        Expr::And(terms) | Expr::Or(terms) | Expr::Function(_, terms) => {
            terms.iter().for_each(visit)
        }
        Expr::Between { operand, low, high, .. } => {
            visit(operand);
            visit(low);
            visit(high);
        }
        Expr::In { operand, list, .. } => {
            visit(operand);
            list.iter().for_each(visit);
        }
        Expr::Like { operand, pattern, escape, .. } => {
            visit(operand);
            visit(pattern);
            if let Some(escape) = escape {
                visit(escape);
            }
        }
        Expr::Case { operand, branches, otherwise } => {
            if let Some(operand) = operand {
                visit(operand);
            }
            for (when, then) in branches {
                visit(when);
                visit(then);
            }
            if let Some(otherwise) = otherwise {
                visit(otherwise);
            }
        }
        Expr::Interval { operand, amount, .. } => {
            visit(operand);
            visit(amount);
        }
    }
}

/// The same for changing them.
pub fn for_each_child_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    match expr {
        Expr::Const(_) | Expr::Column(_) | Expr::Param(_) => {}
        Expr::Unary(_, operand)
        | Expr::IsNull(operand, _)
        | Expr::IsTruth(operand, _, _)
        | Expr::Cast(operand, _)
        | Expr::Collate(operand, _)
        | Expr::Convert(operand, _)
        | Expr::InCollation(operand, _) => visit(operand),
        Expr::Binary(_, left, right) => {
            visit(left);
            visit(right);
        }
        Expr::And(terms) | Expr::Or(terms) | Expr::Function(_, terms) => {
            terms.iter_mut().for_each(visit);
        }
        Expr::Between { operand, low, high, .. } => {
            visit(operand);
            visit(low);
            visit(high);
        }
        Expr::In { operand, list, .. } => {
            visit(operand);
            list.iter_mut().for_each(visit);
        }
        Expr::Like { operand, pattern, escape, .. } => {
            visit(operand);
            visit(pattern);
            if let Some(escape) = escape {
                visit(escape);
            }
        }
        Expr::Case { operand, branches, otherwise } => {
            if let Some(operand) = operand {
                visit(operand);
            }
            for (when, then) in branches {
                visit(when);
                visit(then);
            }
            if let Some(otherwise) = otherwise {
                visit(otherwise);
            }
        }
        Expr::Interval { operand, amount, .. } => {
            visit(operand);
            visit(amount);
        }
    }
}

/// Calls `visit` for every column position in `expr`.
pub fn for_each_column(expr: &Expr, visit: &mut dyn FnMut(u16)) {
    if let Expr::Column(position) = expr {
        visit(*position);
    }
    for_each_child(expr, &mut |child| for_each_column(child, visit));
}

/// Calls `visit` for every parameter number in `expr`.
pub fn for_each_param(expr: &Expr, visit: &mut dyn FnMut(u16)) {
    if let Expr::Param(number) = expr {
        visit(*number);
    }
    for_each_child(expr, &mut |child| for_each_param(child, visit));
}

pub fn has_columns(expr: &Expr) -> bool {
    let mut found = false;
    for_each_column(expr, &mut |_| found = true);
    found
}

/// Moves every column to the position `map` gives it.
pub fn map_columns(expr: &mut Expr, map: &mut dyn FnMut(u16) -> u16) {
    if let Expr::Column(position) = expr {
        *position = map(*position);
    }
    for_each_child_mut(expr, &mut |child| map_columns(child, map));
}

/// Replaces every subtree that equals one of `patterns` by the column at `base` plus its number.
pub fn replace_subtrees(expr: &mut Expr, patterns: &[Vec<u8>], base: usize) {
    let own = encoded(expr);
    if let Some(number) = patterns.iter().position(|pattern| *pattern == own) {
        *expr = Expr::Column(u16::try_from(base + number).expect("select lists are bounded"));
        return;
    }
    for_each_child_mut(expr, &mut |child| replace_subtrees(child, patterns, base));
}

/// The bytes of an expression: equal expressions have equal bytes.
pub fn encoded(expr: &Expr) -> Vec<u8> {
    let mut out = Vec::new();
    expr.encode(&mut out);
    out
}

/// The terms of an AND, or the expression itself.
pub fn and_terms(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::And(terms) => terms.into_iter().flat_map(and_terms).collect(),
        other => vec![other],
    }
}

/// The terms of an AND, or the expression itself.
pub fn terms_of(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::And(terms) => terms.iter().flat_map(terms_of).collect(),
        other => vec![other],
    }
}

/// The AND of terms; None of none.
pub fn and_of(mut terms: Vec<Expr>) -> Option<Expr> {
    match terms.len() {
        0 => None,
        1 => terms.pop(),
        _ => Some(Expr::And(terms)),
    }
}

/// IS NULL of a DATE or DATETIME that is NOT NULL finds the zero date, as in MySQL, where a condition has it as one of its terms.
pub fn find_zero_dates(expr: &mut Expr, relations: &Relations) {
    let number = match expr {
        Expr::And(terms) | Expr::Or(terms) => {
            terms.iter_mut().for_each(|term| find_zero_dates(term, relations));
            return;
        }
        Expr::IsNull(operand, false) => match **operand {
            Expr::Column(number) if usize::from(number) < relations.column_count() => number,
            _ => return,
        },
        _ => return,
    };
    let column = relations.column(usize::from(number));
    let zero = match column.column_type {
        ColumnType::Date if !column.nullable => Value::Date(Date::ZERO),
        ColumnType::DateTime { .. } if !column.nullable => Value::DateTime(DateTime::ZERO),
        _ => return,
    };
    let (column, zero) = (Box::new(Expr::Column(number)), Box::new(Expr::Const(zero)));
    *expr = Expr::Binary(BinaryOp::Equal, column, zero);
}
