//! Types and collations, settled once: the pass that makes the values inside an expression those
//! its static types say.
//!
//! Where one of several operands is the value (IF, COALESCE, CASE, GREATEST, ...), each operand
//! that is of another type than all of them together is converted to that type, so that whatever is
//! around it always meets the same kind of value. Where texts are compared or put together, the
//! operands' collations are made one. What evaluation does then depends on no row: the collation of
//! a sort key is the same in all of them.

use super::coercibility::{self, CollationMix, Derivation, TextSource, Typing, text_source};
use super::eval::is_constant;
use super::{
    BinaryOp, EvalContext, Expr, Function, NoColumns, ResultType, UnaryOp, eval, merge_types,
    result_type,
};
use crate::convert::{self, ConvertContext};
use crate::value::bit_bytes;
use crate::{Charset, Collation, ColumnType, Value};

/// Settles the expression and all its operands.
pub fn settle(expr: &mut Expr, typing: &Typing<'_>) -> Result<(), CollationMix> {
    for child in expr.children_mut() {
        settle(child, typing)?;
    }
    settle_node(expr, typing)
}

/// Settles the expression, whose operands are settled.
pub fn settle_node(expr: &mut Expr, typing: &Typing<'_>) -> Result<(), CollationMix> {
    match expr {
        Expr::Binary(op, left, right) => match comparison_symbol(*op) {
            Some(symbol) => {
                constants_as_years(&mut [left, right], typing);
                agree(&mut [left, right], symbol, true, typing)
            }
            None => {
                if is_arithmetic(*op) {
                    fractions_as_numbers([&mut **left, &mut **right], typing);
                }
                Ok(())
            }
        },
        Expr::Unary(UnaryOp::Negate, operand) => {
            fractions_as_numbers([&mut **operand], typing);
            Ok(())
        }
        Expr::Between { operand, low, high, .. } => {
            constants_as_years(&mut [operand, low, high], typing);
            agree(&mut [operand, low, high], "between", true, typing)
        }
        Expr::In { operand, list, .. } => {
            let mut operands: Vec<&mut Expr> = vec![operand];
            operands.extend(list.iter_mut());
            constants_as_years(&mut operands, typing);
            agree(&mut operands, " IN ", true, typing)
        }
        Expr::Like { operand, pattern, .. } => agree(&mut [operand, pattern], "like", true, typing),
        Expr::Case { operand, branches, otherwise } => {
            if let Some(operand) = operand {
                let mut operands: Vec<&mut Expr> = vec![operand];
                operands.extend(branches.iter_mut().map(|(when, _)| when));
                agree(&mut operands, "case", true, typing)?;
            }
            let mut results: Vec<&mut Expr> = branches.iter_mut().map(|(_, then)| then).collect();
            results.extend(otherwise.as_deref_mut());
            merge(&mut results, "case", typing)
        }
        Expr::Interval { operand, .. } => {
            let own = typing.value_collation(operand);
            if own.is_some_and(|own| own != typing.connection && !own.is_binary()) {
                wrap(expr, typing.connection);
            }
            Ok(())
        }
        Expr::Function(..) => settle_call(expr, typing),
        Expr::Const(_)
        | Expr::Column(_)
        | Expr::Param(_)
        | Expr::Unary(UnaryOp::Not | UnaryOp::BitNot, _)
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::IsNull(..)
        | Expr::IsTruth(..)
        | Expr::Cast(..)
        | Expr::Collate(..)
        | Expr::Convert(..)
        | Expr::InCollation(..) => Ok(()),
    }
}

/// Constants that are compared with a YEAR: the years that it would keep for them.
fn constants_as_years(operands: &mut [&mut Expr], typing: &Typing<'_>) {
    let is_year = |own: &ResultType| own.column_type == Some(ColumnType::Year);
    let of = |operand: &Expr| result_type(operand, typing.columns, typing.params);
    if !operands.iter().any(|operand| is_year(&of(operand))) {
        return;
    }
    for operand in operands {
        let own = of(operand).column_type;
        if is_constant(operand) && !own.is_some_and(|own| own.is_temporal()) {
            let constant = take(operand);
            **operand = Expr::Function(Function::FullYear, vec![*constant]);
        }
    }
}

fn comparison_symbol(op: BinaryOp) -> Option<&'static str> {
    use BinaryOp::*;
    Some(match op {
        Equal => "=",
        NullSafeEqual => "<=>",
        NotEqual => "<>",
        Less => "<",
        LessOrEqual => "<=",
        Greater => ">",
        GreaterOrEqual => ">=",
        Add | Subtract | Multiply | Divide | IntegerDivide | Modulo | Xor | BitAnd | BitOr
        | BitXor | ShiftLeft | ShiftRight => return None,
    })
}

fn is_arithmetic(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Add | Subtract | Multiply | Divide | IntegerDivide | Modulo)
}

/// Times with fractions of seconds that are calculated with: numbers with as many digits behind the point as they are
/// declared with.
fn fractions_as_numbers<'e>(operands: impl IntoIterator<Item = &'e mut Expr>, typing: &Typing<'_>) {
    for operand in operands {
        let own = result_type(operand, typing.columns, typing.params);
        let whole_digits = match &own.column_type {
            Some(ColumnType::Time { fsp: 1.. }) => 7,
            Some(ColumnType::DateTime { fsp: 1.. } | ColumnType::Timestamp { fsp: 1.. }) => 14,
            _ => continue,
        };
        let scale = own.column_type.as_ref().map_or(0, ColumnType::fsp);
        let target =
            ColumnType::Decimal { precision: whole_digits + scale, scale, unsigned: false };
        let inner = take(operand);
        *operand = Expr::Cast(inner, target);
    }
}

fn settle_call(expr: &mut Expr, typing: &Typing<'_>) -> Result<(), CollationMix> {
    let Expr::Function(function, arguments) = expr else { return Ok(()) };
    let function = *function;
    let name = function.name().to_lowercase();
    match function {
        Function::Mod => {
            fractions_as_numbers(arguments.iter_mut(), typing);
            Ok(())
        }
        Function::If => merge(&mut arguments[1..].iter_mut().collect::<Vec<_>>(), &name, typing),
        Function::IfNull | Function::Coalesce => {
            merge(&mut arguments.iter_mut().collect::<Vec<_>>(), &name, typing)
        }
        Function::Greatest | Function::Least => {
            // A date and a text meet as dates.
            let types = types_of(arguments.iter(), typing);
            let has = |test: fn(&ColumnType) -> bool| {
                types.iter().filter_map(|own| own.column_type.as_ref()).any(test)
            };
            if has(ColumnType::is_temporal)
                && !types
                    .iter()
                    .all(|own| own.column_type.as_ref().is_none_or(ColumnType::is_temporal))
            {
                return Ok(());
            }
            merge(&mut arguments.iter_mut().collect::<Vec<_>>(), &name, typing)
        }
        Function::Elt => {
            let own = result_type_of_call(expr, typing);
            let Expr::Function(_, arguments) = expr else { return Ok(()) };
            let mut texts: Vec<&mut Expr> = arguments[1..].iter_mut().collect();
            merge_into(&mut texts, &own, &name, typing)
        }
        Function::NullIf => {
            if let Some(labels) = types_of(arguments[..1].iter(), typing)[0].labels() {
                // The value that is returned is a text.
                wrap(&mut arguments[0], labels.collation());
            }
            let own: Vec<Derivation> =
                arguments.iter().map(|argument| typing.derivation(argument)).collect();
            if own.iter().any(|own| own.collation.is_none()) {
                return Ok(());
            }
            let all = coercibility::aggregate(&own, true, typing.connection, &name)?;
            let Some(compared) = all.collation.filter(|compared| !compared.is_binary()) else {
                return Ok(());
            };
            check_conversions(arguments.iter(), &own, compared, true, &name, typing)?;
            put_collation(&mut arguments[1], compared, false, typing);
            let first = typing.value_collation(&arguments[0]);
            if let Some(first) = first
                && first != compared
                && !first.is_binary()
            {
                // Compared in the collation of both, returned in its own.
                wrap(&mut arguments[0], compared);
                wrap(expr, first);
            }
            Ok(())
        }
        Function::Strcmp
        | Function::Locate
        | Function::Instr
        | Function::FindInSet
        | Function::RegexpLike
        | Function::RegexpInstr
        | Function::RegexpSubstr => {
            let (first, rest) = arguments.split_at_mut(1);
            agree(&mut [&mut first[0], &mut rest[0]], &name, false, typing)
        }
        Function::RegexpReplace => {
            let mut texts: Vec<&mut Expr> = arguments[..3].iter_mut().collect();
            agree(&mut texts, &name, false, typing)
        }
        Function::Field => {
            let types = types_of(arguments.iter(), typing);
            let has = |test: fn(&ColumnType) -> bool| {
                types.iter().filter_map(|own| own.column_type.as_ref()).any(test)
            };
            if has(ColumnType::is_numeric) && has(ColumnType::is_string) {
                // The types say so, not the values: a NULL may be among the numbers.
                for (argument, own) in arguments.iter_mut().zip(&types) {
                    convert_to(argument, own, &ColumnType::Double, typing);
                }
                return Ok(());
            }
            agree(&mut arguments.iter_mut().collect::<Vec<_>>(), &name, false, typing)
        }
        _ => match text_source(function, arguments.len()) {
            TextSource::NoText
            | TextSource::Bytes
            | TextSource::Document
            | TextSource::DocumentText
            | TextSource::Branches(_) => Ok(()),
            TextSource::Connection => {
                if typing.connection != Collation::DEFAULT {
                    wrap(expr, typing.connection);
                }
                Ok(())
            }
            TextSource::FirstIfText => {
                let own = typing.value_collation(&arguments[0]);
                if own.is_some_and(|own| own != typing.connection && !own.is_binary()) {
                    wrap(expr, typing.connection);
                }
                Ok(())
            }
            TextSource::Arguments(positions) => {
                let own: Vec<Derivation> =
                    positions.iter().map(|&at| typing.derivation(&arguments[at])).collect();
                // These look for one text in another.
                let compares = 1 < own.len()
                    && matches!(
                        function,
                        Function::Replace
                            | Function::SubstringIndex
                            | Function::Trim
                            | Function::Ltrim
                            | Function::Rtrim
                    );
                let all = coercibility::aggregate(&own, compares, typing.connection, &name)?;
                let collation = all.collation.unwrap_or(typing.connection);
                let texts = positions.iter().map(|&at| &arguments[at]);
                check_conversions(texts, &own, collation, false, &name, typing)?;
                let mut has_text = false;
                for &at in &positions {
                    let argument = &mut arguments[at];
                    match argument {
                        // What it brings along, as an operand of the text, stays known.
                        Expr::Const(Value::Text(_, own)) if *own != collation => {
                            if !collation.is_binary() {
                                wrap(argument, collation);
                            }
                        }
                        argument => put_collation(argument, collation, false, typing),
                    }
                    has_text |= typing.value_collation(&arguments[at]).is_some();
                }
                // Those that skip NULLs may meet no text in a row.
                let skips_nulls = matches!(function, Function::MakeSet | Function::ConcatWs)
                    && !collation.is_binary();
                if (!has_text || skips_nulls) && collation != Collation::DEFAULT {
                    wrap(expr, collation);
                }
                Ok(())
            }
        },
    }
}

fn result_type_of_call(expr: &Expr, typing: &Typing<'_>) -> ResultType {
    result_type(expr, typing.columns, typing.params)
}

fn types_of<'e>(exprs: impl Iterator<Item = &'e Expr>, typing: &Typing<'_>) -> Vec<ResultType> {
    exprs.map(|expr| result_type(expr, typing.columns, typing.params)).collect()
}

fn take(expr: &mut Expr) -> Box<Expr> {
    Box::new(std::mem::replace(expr, Expr::Const(Value::Null)))
}

fn wrap(expr: &mut Expr, collation: Collation) {
    let inner = take(expr);
    *expr = Expr::InCollation(inner, collation);
}

/// Operands that are compared as texts, the first with each of the others: in one collation. A
/// parameter that is a literal may stay as it is where its counterpart is of the collation, because
/// evaluation lets the other one decide: access paths look for bare parameters.
fn agree(
    operands: &mut [&mut Expr],
    operation: &str,
    params_yield: bool,
    typing: &Typing<'_>,
) -> Result<(), CollationMix> {
    let own: Vec<Derivation> = operands.iter().map(|operand| typing.derivation(operand)).collect();
    if own.iter().filter(|own| own.collation.is_some()).count() < 2 {
        return Ok(());
    }
    let all = coercibility::aggregate(&own, true, typing.connection, operation)?;
    let Some(collation) = all.collation.filter(|collation| !collation.is_binary()) else {
        return Ok(());
    };
    let texts = operands.iter().map(|own| &**own);
    check_conversions(texts, &own, collation, true, operation, typing)?;
    let is_param = |expr: &Expr| matches!(expr, Expr::Param(_));
    let first_is_param = is_param(operands[0]);
    let others_are_params = operands[1..].iter().any(|operand| is_param(operand));
    for (position, operand) in operands.iter_mut().enumerate() {
        let meets_param = if position == 0 { others_are_params } else { first_is_param };
        put_collation(operand, collation, params_yield && !meets_param, typing);
    }
    Ok(())
}

/// Refuses an operand that would lose characters in the character set of `collation`: a constant
/// that has other ones, and, where a text is put together, an operand that varies and may have
/// them. Any text may become Unicode, and ASCII any text.
fn check_conversions<'e>(
    operands: impl Iterator<Item = &'e Expr>,
    own: &[Derivation],
    collation: Collation,
    is_comparison: bool,
    operation: &str,
    typing: &Typing<'_>,
) -> Result<(), CollationMix> {
    let target = collation.charset();
    for (operand, derivation) in operands.zip(own) {
        let source = derivation.collation.map_or(target, Collation::charset);
        let is_safe = source == target
            || source == Charset::Binary
            || matches!(target, Charset::Utf8mb4 | Charset::Binary)
            || derivation.is_ascii;
        if is_safe {
            continue;
        }
        let is_lost = match constant_value(operand, typing) {
            Constant::Value(Value::Text(text, _)) => !target.holds(&text),
            Constant::Value(_) | Constant::Unknown => false,
            Constant::Not => !is_comparison && !target.is_unicode(),
        };
        if is_lost {
            return Err(coercibility::mix(own, operation));
        }
    }
    Ok(())
}

enum Constant {
    Value(Value),
    /// Supplied by the session while the statement runs.
    Unknown,
    /// It differs from row to row.
    Not,
}

fn constant_value(expr: &Expr, typing: &Typing<'_>) -> Constant {
    fn has_columns(expr: &Expr) -> bool {
        matches!(expr, Expr::Column(_)) || expr.children().into_iter().any(has_columns)
    }
    fn is_known(expr: &Expr, count: usize) -> bool {
        !matches!(expr, Expr::Param(number) if count <= usize::from(*number))
            && expr.children().into_iter().all(|child| is_known(child, count))
    }
    if has_columns(expr) {
        return Constant::Not;
    }
    if !is_known(expr, typing.param_values.len()) {
        return Constant::Unknown;
    }
    match eval(expr, &NoColumns, &mut EvalContext::new(typing.param_values)) {
        Ok(value) => Constant::Value(value),
        Err(_) => Constant::Unknown,
    }
}

/// Gives the text that `expr` is, if it is one, the collation.
fn put_collation(expr: &mut Expr, collation: Collation, may_yield: bool, typing: &Typing<'_>) {
    if collation.is_binary() {
        return;
    }
    match expr {
        Expr::Const(Value::Text(text, own)) if collation.charset().holds(text) => *own = collation,
        Expr::Const(Value::Bytes(bytes)) => {
            if let Ok(text) = collation.charset().decode_exactly(bytes) {
                *expr = Expr::Const(Value::text(&text, collation));
            }
        }
        Expr::Param(number)
            if may_yield
                && typing.param_derivations[usize::from(*number)].coercibility
                    == coercibility::Coercibility::Coercible => {}
        _ => {
            let own = typing.value_collation(expr);
            if own.is_some_and(|own| own != collation && !own.is_binary()) {
                wrap(expr, collation);
            }
        }
    }
}

/// Operands of which one is the value: all of the type they have together.
fn merge(
    results: &mut [&mut Expr],
    operation: &str,
    typing: &Typing<'_>,
) -> Result<(), CollationMix> {
    let types = types_of(results.iter().map(|result| &**result), typing);
    let merged = types.iter().cloned().reduce(|a, b| merge_types(&a, &b));
    match merged {
        Some(merged) => merge_into(results, &merged, operation, typing),
        None => Ok(()),
    }
}

/// The scale of a parameter's decimal, which is unknown yet: the largest.
const UNKNOWN_SCALE: u8 = 30;

fn merge_into(
    results: &mut [&mut Expr],
    merged: &ResultType,
    operation: &str,
    typing: &Typing<'_>,
) -> Result<(), CollationMix> {
    let types = types_of(results.iter().map(|result| &**result), typing);
    let own: Vec<Derivation> = results.iter().map(|result| typing.derivation(result)).collect();
    let target = match &merged.column_type {
        None => return Ok(()),
        Some(target) if target.is_string() => {
            let all = coercibility::aggregate(&own, false, typing.connection, operation)?;
            let collation = all.collation.unwrap_or(typing.connection);
            let texts = results.iter().map(|own| &**own);
            check_conversions(texts, &own, collation, false, operation, typing)?;
            target.with_collation(collation)
        }
        Some(ColumnType::Decimal { precision, scale: UNKNOWN_SCALE, unsigned }) => {
            let known = types.iter().filter_map(ResultType::exact_digits);
            let scale = known.map(|(_, scale)| scale).filter(|scale| *scale < UNKNOWN_SCALE).max();
            ColumnType::Decimal {
                precision: *precision,
                scale: scale.unwrap_or(0),
                unsigned: *unsigned,
            }
        }
        Some(target) => target.clone(),
    };
    for (result, own) in results.iter_mut().zip(&types) {
        convert_to(result, own, &target, typing);
    }
    Ok(())
}

/// Makes the value of `expr`, which is of type `own`, one of `target`, if it is of another kind.
fn convert_to(expr: &mut Expr, own: &ResultType, target: &ColumnType, typing: &Typing<'_>) {
    let whole = own;
    let Some(own) = &own.column_type else { return };
    if is_same_kind(own, target) {
        return;
    }
    if let (ColumnType::Labelled(_), Some(collation)) = (own, target.collation()) {
        wrap(expr, collation);
        return;
    }
    if own.is_string() && target.is_string() {
        let collation = target.collation().expect("a character type has one");
        put_collation(expr, collation, false, typing);
        return;
    }
    if target.is_string() || target.is_binary() {
        as_text(expr, whole);
    }
    match expr {
        Expr::Const(value) => {
            let mut silent = ConvertContext::default();
            // A time becomes a datetime on the statement's day, which is not known here.
            if !matches!(value, Value::Time(_)) || !matches!(target, ColumnType::DateTime { .. }) {
                *value = convert::to_type(value.as_ref(), target, &mut silent);
                return;
            }
        }
        Expr::Function(Function::DeclaredText, _)
            if target.collation() == Some(Collation::DEFAULT) =>
        {
            return;
        }
        _ => {}
    }
    let inner = take(expr);
    *expr = Expr::Convert(inner, target.clone());
}

/// Makes an expression of type `own` one that is read as a text: times show the digits of
/// fractional seconds that they are declared with, years have four digits, BITs are bytes, numbers
/// have the zeros of ZEROFILL and the digits of FLOAT(M,D), and PI() shows six digits.
pub fn as_text(expr: &mut Expr, own: &ResultType) {
    let ResultType { column_type: Some(own), display, .. } = own else { return };
    if let Expr::Function(Function::Pi, _) = expr {
        *expr = Expr::Const(Value::Double(super::PI_SHOWN));
        return;
    }
    if *own == ColumnType::Json {
        let document = take(expr);
        *expr = Expr::Convert(document, DOCUMENT_TEXT);
        return;
    }
    let (function, digits) = match own {
        ColumnType::Year => (Function::DeclaredText, 4),
        ColumnType::Bit { length } => (Function::BitBytes, bit_bytes(*length) as i64),
        own if own.fsp() > 0 => (Function::DeclaredText, i64::from(own.fsp())),
        own if display.has_text(own) => {
            // The digits behind the point, and one, stand before the characters that zeros fill up.
            let decimals = display.decimals.map_or(0, |decimals| i64::from(decimals) + 1);
            (Function::DeclaredText, decimals << 8 | i64::from(display.fill(own)))
        }
        _ => return,
    };
    let value = take(expr);
    *expr = Expr::Function(function, vec![*value, Expr::Const(Value::Int(digits))]);
}

/// The type of a document's text.
const DOCUMENT_TEXT: ColumnType =
    ColumnType::Text { bytes_max: u32::MAX, collation: Collation::Utf8mb4Bin };

fn is_same_kind(own: &ColumnType, target: &ColumnType) -> bool {
    match (own, target) {
        (ColumnType::Labelled(a), ColumnType::Labelled(b)) => a == b,
        (ColumnType::Labelled(_), _) | (_, ColumnType::Labelled(_)) => false,
        _ if own.is_integer() && target.is_integer() => own.is_unsigned() == target.is_unsigned(),
        (ColumnType::Decimal { scale: a, .. }, ColumnType::Decimal { scale: b, .. }) => a == b,
        (ColumnType::Float, ColumnType::Float)
        | (ColumnType::Double, ColumnType::Double)
        | (ColumnType::Date, ColumnType::Date)
        | (ColumnType::Json, ColumnType::Json)
        | (ColumnType::Time { .. }, ColumnType::Time { .. }) => true,
        (
            ColumnType::DateTime { .. } | ColumnType::Timestamp { .. },
            ColumnType::DateTime { .. } | ColumnType::Timestamp { .. },
        ) => true,
        _ => {
            (own.is_binary() && target.is_binary())
                || (own.is_string() && own.collation() == target.collation())
        }
    }
}
