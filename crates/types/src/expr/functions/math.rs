//! Functions of numbers.

use std::cmp::Ordering;

use super::super::{BinaryOp, EvalError, Function, arithmetic};
use super::Call;
use crate::convert::{compare, to_f64, to_text, to_type};
use crate::decimal::SCALE_MAX;
use crate::{ColumnType, Decimal, Value, ValueRef};

/// More digits than any number has: ROUND and TRUNCATE see no difference beyond.
const DIGITS_MAX: i64 = 400;

impl Call<'_, '_, '_> {
    pub(super) fn math(&mut self) -> Result<Value, EvalError> {
        use Function::*;
        match self.function {
            Abs => self.abs(),
            Ceiling => Ok(self.whole(f64::ceil, crate::Decimal::ceil)),
            Floor => Ok(self.whole(f64::floor, crate::Decimal::floor)),
            Round => self.round(false),
            Truncate => self.round(true),
            Sign => Ok(self.sign()),
            Mod => {
                let (a, b) = (self.values[0], self.values[1]);
                arithmetic::binary(BinaryOp::Modulo, a, b, &mut self.ctx.convert)
            }
            Divide => {
                let (a, b) = (self.values[0], self.values[1]);
                let increment = self.int(2).clamp(0, i64::from(SCALE_MAX)) as u8;
                arithmetic::divide(a, b, increment, &mut self.ctx.convert)
            }
            Pi => Ok(Value::Double(std::f64::consts::PI)),
            Conv | Bin | Oct => Ok(self.conv()),
            Greatest => Ok(self.extreme(Ordering::Greater)),
            Least => Ok(self.extreme(Ordering::Less)),
            Interval => Ok(self.interval()),
            BitCount => {
                let bits = match self.values[0] {
                    ValueRef::Bytes(bytes) => bytes.iter().map(|byte| byte.count_ones()).sum(),
                    value => arithmetic::to_bits(value, &mut self.ctx.convert).count_ones(),
                };
                Ok(Value::from(i64::from(bits)))
            }
            _ => self.analysis(),
        }
    }

    fn out_of_range(&self, kind: &str) -> EvalError {
        let arguments: Vec<_> = self.values.iter().map(|value| to_text(*value)).collect();
        let name = self.function.name().to_lowercase();
        EvalError::OutOfRange {
            kind: kind.into(),
            expression: format!("{name}({})", arguments.join(",")),
        }
    }

    /// Functions from doubles to doubles.
    fn analysis(&mut self) -> Result<Value, EvalError> {
        use Function::*;
        let x = self.f64(0);
        let y = if self.has(1) { Some(self.f64(1)) } else { None };
        let result = match self.function {
            Sqrt if x < 0.0 => return Ok(Value::Null),
            Sqrt => x.sqrt(),
            Exp => x.exp(),
            Power => x.powf(y.expect("POW has two arguments")),
            Ln | Log2 | Log10 | Log => return Ok(self.logarithm(x, y)),
            Sin => x.sin(),
            Cos => x.cos(),
            Tan => x.tan(),
            Asin | Acos if !(-1.0..=1.0).contains(&x) => return Ok(Value::Null),
            Asin => x.asin(),
            Acos => x.acos(),
            Atan | Atan2 => match y {
                None => x.atan(),
                Some(y) => x.atan2(y),
            },
            Cot => 1.0 / x.tan(),
            Degrees => x.to_degrees(),
            Radians => x.to_radians(),
            function => unreachable!("{function:?} is no function of doubles"),
        };
        if result.is_finite() {
            Ok(Value::Double(result))
        } else {
            Err(self.out_of_range("DOUBLE"))
        }
    }

    fn logarithm(&mut self, x: f64, y: Option<f64>) -> Value {
        // LOG(base, number).
        let (number, base) = match y {
            Some(number) => (number, Some(x)),
            None => (x, None),
        };
        let invalid = number <= 0.0 || base.is_some_and(|base| base <= 0.0 || base == 1.0);
        if invalid {
            self.ctx.convert.warn(3020, "Invalid argument for logarithm".into());
            return Value::Null;
        }
        Value::Double(match (self.function, base) {
            (Function::Log2, _) => number.log2(),
            (Function::Log10, _) => number.log10(),
            (_, None) => number.ln(),
            (_, Some(base)) => number.ln() / base.ln(),
        })
    }

    fn abs(&mut self) -> Result<Value, EvalError> {
        match self.values[0] {
            ValueRef::Int(v) => match v.checked_abs() {
                Some(v) => Ok(Value::Int(v)),
                None => Err(self.out_of_range("BIGINT")),
            },
            ValueRef::UInt(v) => Ok(Value::UInt(v)),
            ValueRef::Decimal(v) => Ok(Value::Decimal(v.abs())),
            _ => Ok(Value::Double(self.f64(0).abs())),
        }
    }

    fn sign(&mut self) -> Value {
        let sign = match self.values[0] {
            ValueRef::Int(v) => v.signum(),
            ValueRef::UInt(v) => i64::from(v != 0),
            ValueRef::Decimal(v) => i64::from(v.signum()),
            _ => {
                let v = self.f64(0);
                i64::from(v > 0.0) - i64::from(v < 0.0)
            }
        };
        Value::Int(sign)
    }

    /// CEILING and FLOOR: decimals become integers where they fit.
    fn whole(
        &mut self,
        of_double: fn(f64) -> f64,
        of_decimal: fn(Decimal) -> Option<Decimal>,
    ) -> Value {
        match self.values[0] {
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::UInt(v) => Value::UInt(v),
            ValueRef::Decimal(v) => {
                let whole = of_decimal(v).unwrap_or(v);
                match whole.to_i64_round() {
                    Some(number) => Value::Int(number),
                    None => Value::Decimal(whole),
                }
            }
            _ => Value::Double(of_double(self.f64(0))),
        }
    }

    /// ROUND(x, digits) and TRUNCATE(x, digits).
    fn round(&mut self, cut: bool) -> Result<Value, EvalError> {
        if self.values.iter().any(ValueRef::is_null) {
            return Ok(Value::Null);
        }
        let digits = if self.has(1) { self.int(1).clamp(-DIGITS_MAX, DIGITS_MAX) } else { 0 };
        match self.values[0] {
            ValueRef::Int(v) => {
                let rounded = round_integer(i128::from(v), digits, cut);
                i64::try_from(rounded).map(Value::Int).map_err(|_| self.out_of_range("BIGINT"))
            }
            ValueRef::UInt(v) => {
                let rounded = round_integer(i128::from(v), digits, cut);
                u64::try_from(rounded)
                    .map(Value::UInt)
                    .map_err(|_| self.out_of_range("BIGINT UNSIGNED"))
            }
            ValueRef::Decimal(v) => {
                let digits = digits.min(i64::from(SCALE_MAX)) as i32;
                let rounded = if cut { Some(v.truncate(digits)) } else { v.round(digits) };
                rounded.map(Value::Decimal).ok_or_else(|| self.out_of_range("DECIMAL"))
            }
            _ => Ok(Value::Double(round_double(self.f64(0), digits as i32, cut))),
        }
    }

    /// CONV(number, from base, to base), BIN and OCT.
    fn conv(&mut self) -> Value {
        let (from, to) = match self.function {
            Function::Bin => (10, 2),
            Function::Oct => (10, 8),
            _ => (self.int(1), self.int(2)),
        };
        let good = |base: i64| (2..=36).contains(&base.unsigned_abs());
        if !good(from) || !good(to) {
            return Value::Null;
        }
        let text = self.text(0);
        if text.is_empty() {
            return Value::Null;
        }
        let bits = parse_base(&text, from);
        let base = to.unsigned_abs();
        let (negative, mut rest) = if to < 0 && (bits as i64) < 0 {
            (true, (bits as i64).unsigned_abs())
        } else {
            (false, bits)
        };
        let mut digits = Vec::new();
        loop {
            let digit = char::from_digit((rest % base) as u32, 36).expect("below the base");
            digits.push(digit.to_ascii_uppercase());
            rest /= base;
            if rest == 0 {
                break;
            }
        }
        if negative {
            digits.push('-');
        }
        self.plain(digits.iter().rev().collect::<String>())
    }

    /// GREATEST and LEAST: as strings if one is a string, else as numbers or dates.
    fn extreme(&mut self, wanted: Ordering) -> Value {
        let values = self.values;
        let collation = values.iter().find_map(ValueRef::collation);
        if collation.is_some()
            && let Some(best) = self.extreme_moment(wanted)
        {
            return best;
        }
        let is_number = |value: &ValueRef<'_>| {
            matches!(value, ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Decimal(_))
        };
        let is_double =
            |value: &ValueRef<'_>| matches!(value, ValueRef::Float(_) | ValueRef::Double(_));
        let temporal = values.iter().any(|value| {
            matches!(value, ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_))
        });
        let texts: Vec<_>;
        let mut candidates = values;
        if let Some(collation) = collation
            && !temporal
        {
            texts = values.iter().map(|value| to_text(*value)).collect::<Vec<_>>();
            let mut best = &texts[0];
            for text in &texts[1..] {
                if collation.compare(text, best) == wanted {
                    best = text;
                }
            }
            return Value::text(best, collation);
        }
        let mut best = candidates[0];
        candidates = &candidates[1..];
        for candidate in candidates {
            if compare(*candidate, best, &mut self.ctx.convert) == Some(wanted) {
                best = *candidate;
            }
        }
        // The result's kind is the one all of them fit.
        if values.iter().any(is_double) && values.iter().all(|v| is_double(v) || is_number(v)) {
            return Value::Double(to_f64(best, &mut self.ctx.convert));
        }
        if values.iter().all(is_number)
            && values.iter().any(|value| matches!(value, ValueRef::Decimal(_)))
        {
            return Value::Decimal(crate::convert::to_decimal(best, &mut self.ctx.convert));
        }
        best.to_value()
    }

    /// Where texts meet dates: the extreme as a date, or a datetime or time, as the others are. None if nothing here is one.
    ///
    /// A text that spells no date is below all dates. Where it would be the least, texts are compared, as in MySQL; if it is
    /// the least of them, too, the result is NULL, where MySQL returns the text.
    fn extreme_moment(&mut self, wanted: Ordering) -> Option<Value> {
        let values = self.values;
        let of_kind = |is: fn(&ValueRef<'_>) -> bool| values.iter().any(is);
        let target = if of_kind(|value| matches!(value, ValueRef::DateTime(_))) {
            ColumnType::DateTime { fsp: 6 }
        } else if of_kind(|value| matches!(value, ValueRef::Date(_))) {
            match of_kind(|value| matches!(value, ValueRef::Time(_))) {
                true => ColumnType::DateTime { fsp: 6 },
                false => ColumnType::Date,
            }
        } else if of_kind(|value| matches!(value, ValueRef::Time(_))) {
            ColumnType::Time { fsp: 6 }
        } else {
            return None;
        };
        let mut best: Option<Value> = None;
        let mut has_other_text = false;
        for value in values {
            let own = to_type(*value, &target, &mut self.ctx.convert);
            if own.is_null() {
                has_other_text = true;
                continue;
            }
            let is_better = best.as_ref().is_none_or(|best| {
                compare(own.as_ref(), best.as_ref(), &mut self.ctx.convert) == Some(wanted)
            });
            if is_better {
                best = Some(own);
            }
        }
        if has_other_text && wanted == Ordering::Less {
            let texts: Vec<_> = values.iter().map(|value| (to_text(*value), *value)).collect();
            let collation = super::first_collation(values.iter().copied());
            let least = texts.iter().min_by(|a, b| collation.compare(&a.0, &b.0));
            let (_, least) = least.expect("arity is two or more");
            best = Some(to_type(*least, &target, &mut self.ctx.convert));
        }
        best
    }

    /// INTERVAL(n, a, b, ...): how many of the ascending a, b, ... are not above n; -1 for NULL.
    fn interval(&mut self) -> Value {
        let (subject, steps) = self.values.split_first().expect("arity is two or more");
        if subject.is_null() {
            return Value::Int(-1);
        }
        let mut count = 0;
        for step in steps {
            if compare(*step, *subject, &mut self.ctx.convert) == Some(Ordering::Greater) {
                break;
            }
            count += 1;
        }
        Value::Int(count)
    }
}

fn round_integer(value: i128, digits: i64, cut: bool) -> i128 {
    if digits >= 0 {
        return value;
    }
    if digits < -20 {
        return 0;
    }
    let unit = 10i128.pow(digits.unsigned_abs() as u32);
    let base = value - value % unit;
    let rest = (value % unit).abs();
    if cut || rest * 2 < unit { base } else { base + unit * value.signum() }
}

pub(super) fn round_double(value: f64, digits: i32, cut: bool) -> f64 {
    let to_whole = |x: f64| if cut { x.trunc() } else { x.round_ties_even() };
    let power = 10f64.powi(digits.abs());
    if digits < 0 {
        if power.is_infinite() { 0.0 } else { to_whole(value / power) * power }
    } else {
        let scaled = value * power;
        if scaled.is_finite() { to_whole(scaled) / power } else { value }
    }
}

/// The number `text` begins with in a base of 2 to 36, as 64 bits. A negative base reads it as signed: saturated there.
fn parse_base(text: &str, base: i64) -> u64 {
    let trimmed = text.trim_start();
    let (negative, digits) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let radix = base.unsigned_abs() as u32;
    let mut number: u128 = 0;
    for digit in digits.chars().map_while(|c| c.to_digit(radix)) {
        number = (number * u128::from(radix) + u128::from(digit)).min(1 << 64);
    }
    if number > u128::from(u64::MAX) && base > 0 {
        // All bits, whatever the sign.
        return u64::MAX;
    }
    let magnitude = number.min(u128::from(u64::MAX)) as u64;
    match (base < 0, negative) {
        (false, false) => magnitude,
        (false, true) => magnitude.wrapping_neg(),
        (true, false) => magnitude.min(i64::MAX as u64),
        (true, true) => magnitude.min(1 << 63).wrapping_neg(),
    }
}
