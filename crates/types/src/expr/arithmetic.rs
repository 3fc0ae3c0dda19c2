//! Arithmetic and bit operators on two values.
//!
//! The kinds decide the arithmetic: doubles if either is one (or text), else exact decimals if either is one, else
//! integers in 128 bits, checked against BIGINT or, if either operand is unsigned, BIGINT UNSIGNED.

use super::{BinaryOp, EvalError};
use crate::convert::{ConvertContext, to_decimal, to_f64, to_integer, to_text};
use crate::decimal::{DIV_PRECISION_INCREMENT, PRECISION_MAX};
use crate::{Decimal, Value, ValueRef};

/// An operand as the arithmetic sees it.
#[derive(Clone, Copy)]
enum Number {
    Integer { value: i128, unsigned: bool },
    Decimal(Decimal),
    Double(f64),
}

impl Number {
    fn to_f64(self) -> f64 {
        match self {
            Number::Integer { value, .. } => value as f64,
            Number::Decimal(value) => value.to_f64(),
            Number::Double(value) => value,
        }
    }
    /// Not for doubles.
    fn to_exact(self) -> Option<Decimal> {
        match self {
            Number::Integer { value, .. } => Some(Decimal::from_i128(value)),
            Number::Decimal(value) => Some(value),
            Number::Double(_) => None,
        }
    }
    fn is_unsigned(self) -> bool {
        matches!(self, Number::Integer { unsigned: true, .. })
    }
}

fn number(value: ValueRef<'_>, cx: &mut ConvertContext) -> Number {
    match value {
        ValueRef::Null => unreachable!("NULL operands are answered before"),
        ValueRef::Int(v) => Number::Integer { value: i128::from(v), unsigned: false },
        ValueRef::UInt(v) => Number::Integer { value: i128::from(v), unsigned: true },
        ValueRef::Decimal(v) => Number::Decimal(v),
        ValueRef::Float(_)
        | ValueRef::Double(_)
        | ValueRef::Text(..)
        | ValueRef::Bytes(_)
        | ValueRef::Json(_)
        | ValueRef::Label(..) => Number::Double(to_f64(value, cx)),
        ValueRef::Date(v) => Number::Integer { value: i128::from(v.to_number()), unsigned: false },
        ValueRef::Time(_) | ValueRef::DateTime(_) => {
            let number = to_decimal(value, cx);
            match number.to_i64_round() {
                Some(whole) if number.shown_scale() == 0 => {
                    Number::Integer { value: i128::from(whole), unsigned: false }
                }
                _ => Number::Decimal(number),
            }
        }
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::IntegerDivide => "DIV",
        BinaryOp::Modulo => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::Xor
        | BinaryOp::Equal
        | BinaryOp::NullSafeEqual
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessOrEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterOrEqual => unreachable!("{op:?} is an operator of logic"),
    }
}

fn out_of_range(kind: &str, op: BinaryOp, a: ValueRef<'_>, b: ValueRef<'_>) -> EvalError {
    let expression = format!("({} {} {})", quoted(a), symbol(op), quoted(b));
    EvalError::OutOfRange { kind: kind.into(), expression }
}

fn quoted(value: ValueRef<'_>) -> String {
    let text = to_text(value);
    let number = !matches!(value, ValueRef::Bytes(_)) && value.collation().is_none();
    if number { text.into() } else { format!("'{}'", crate::convert::shown(text.as_bytes())) }
}

/// 1365, if the SQL mode says so. The result is NULL.
fn division_by_zero(cx: &mut ConvertContext) -> Value {
    if !cx.ignore_division_by_zero {
        cx.warn(1365, "Division by 0".into());
    }
    Value::Null
}

/// `a op b` for the operators that make numbers.
pub(super) fn binary(
    op: BinaryOp,
    a: ValueRef<'_>,
    b: ValueRef<'_>,
    cx: &mut ConvertContext,
) -> Result<Value, EvalError> {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    match op {
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => Ok(bits(op, a, b, cx)),
        _ => {
            let (x, y) = (number(a, cx), number(b, cx));
            calculate(op, x, y, DIV_PRECISION_INCREMENT, cx)
                .map(|value| value.unwrap_or(Value::Null))
                .map_err(|kind| out_of_range(kind, op, a, b))
        }
    }
}

/// `a / b`, showing the digits that the dividend shows plus `increment`.
pub(super) fn divide(
    a: ValueRef<'_>,
    b: ValueRef<'_>,
    increment: u8,
    cx: &mut ConvertContext,
) -> Result<Value, EvalError> {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    let (x, y) = (number(a, cx), number(b, cx));
    calculate(BinaryOp::Divide, x, y, increment, cx)
        .map(|value| value.unwrap_or(Value::Null))
        .map_err(|kind| out_of_range(kind, BinaryOp::Divide, a, b))
}

/// None: division by zero, warned about. Err: the kind that overflowed.
fn calculate(
    op: BinaryOp,
    a: Number,
    b: Number,
    increment: u8,
    cx: &mut ConvertContext,
) -> Result<Option<Value>, &'static str> {
    use BinaryOp::*;
    if matches!(op, Divide | IntegerDivide | Modulo) && b.to_f64() == 0.0 {
        division_by_zero(cx);
        return Ok(None);
    }
    if op == IntegerDivide {
        return integer_divide(a, b).map(Some);
    }
    if let (Number::Integer { value: x, .. }, Number::Integer { value: y, .. }) = (a, b)
        && op != Divide
    {
        let (result, unsigned) = match op {
            Add => (x + y, a.is_unsigned() || b.is_unsigned()),
            Subtract => (x - y, a.is_unsigned() || b.is_unsigned()),
            // The product of two u64 fits u128, not i128: saturated is out of range all the same.
            Multiply => (x.saturating_mul(y), a.is_unsigned() || b.is_unsigned()),
            Modulo => (x % y, a.is_unsigned()),
            _ => unreachable!("{op:?} is no integer arithmetic"),
        };
        return integer(result, unsigned).map(Some);
    }
    match (a.to_exact(), b.to_exact()) {
        (Some(x), Some(y)) => {
            let result = match op {
                Add => x.add(y),
                Subtract => x.sub(y),
                Multiply => x.mul(y),
                Divide => x.div(y, increment),
                Modulo => x.rem(y),
                _ => unreachable!("{op:?} is no decimal arithmetic"),
            };
            result.map(|value| Some(Value::Decimal(value))).ok_or("DECIMAL")
        }
        _ => {
            let (x, y) = (a.to_f64(), b.to_f64());
            let result = match op {
                Add => x + y,
                Subtract => x - y,
                Multiply => x * y,
                Divide => x / y,
                Modulo => x % y,
                _ => unreachable!("{op:?} is no floating-point arithmetic"),
            };
            if result.is_finite() { Ok(Some(Value::Double(result))) } else { Err("DOUBLE") }
        }
    }
}

fn integer(result: i128, unsigned: bool) -> Result<Value, &'static str> {
    if unsigned {
        u64::try_from(result).map(Value::UInt).map_err(|_| "BIGINT UNSIGNED")
    } else {
        i64::try_from(result).map(Value::Int).map_err(|_| "BIGINT")
    }
}

/// DIV: the quotient cut to an integer, exactly even for doubles.
fn integer_divide(a: Number, b: Number) -> Result<Value, &'static str> {
    let unsigned = a.is_unsigned() || b.is_unsigned();
    let kind = if unsigned { "BIGINT UNSIGNED" } else { "BIGINT" };
    if let (Number::Integer { value: x, .. }, Number::Integer { value: y, .. }) = (a, b) {
        return integer(x / y, unsigned);
    }
    // A double beyond all decimals is the largest decimal, as in MySQL.
    let exact = |value: Number| match value {
        Number::Double(value) => Decimal::from_f64(value).unwrap_or_else(|| {
            let largest = Decimal::max_value(PRECISION_MAX, 0);
            if value < 0.0 { largest.neg() } else { largest }
        }),
        Number::Decimal(value) => value,
        Number::Integer { value, .. } => Decimal::from_i128(value),
    };
    // None: the divisor is 0 with 71 digits behind the point, or the quotient has more digits than a decimal.
    let quotient = exact(a).int_div(exact(b)).and_then(Decimal::to_i128_round);
    integer(quotient.ok_or(kind)?, unsigned)
}

/// The 64 bits of a value.
pub(super) fn to_bits(value: ValueRef<'_>, cx: &mut ConvertContext) -> u64 {
    to_integer(value, cx) as u64
}

fn bits(op: BinaryOp, a: ValueRef<'_>, b: ValueRef<'_>, cx: &mut ConvertContext) -> Value {
    let (x, y) = (to_bits(a, cx), to_bits(b, cx));
    let shift = u32::try_from(y).unwrap_or(u32::MAX);
    Value::UInt(match op {
        BinaryOp::BitAnd => x & y,
        BinaryOp::BitOr => x | y,
        BinaryOp::BitXor => x ^ y,
        BinaryOp::ShiftLeft => x.checked_shl(shift).unwrap_or(0),
        BinaryOp::ShiftRight => x.checked_shr(shift).unwrap_or(0),
        _ => unreachable!("{op:?} is no bit operator"),
    })
}

pub(super) fn bit_not(value: ValueRef<'_>, cx: &mut ConvertContext) -> Value {
    if value.is_null() { Value::Null } else { Value::UInt(!to_bits(value, cx)) }
}

pub(super) fn negate(value: ValueRef<'_>, cx: &mut ConvertContext) -> Result<Value, EvalError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    match number(value, cx) {
        Number::Integer { value: x, .. } => integer(-x, false).map_err(|kind| {
            let expression = format!("-({})", quoted(value));
            EvalError::OutOfRange { kind: kind.into(), expression }
        }),
        Number::Decimal(x) => Ok(Value::Decimal(x.neg())),
        Number::Double(x) => Ok(Value::Double(-x)),
    }
}
