//! Reading values as numbers.

use super::{ConvertContext, is_space, json};
use crate::{Decimal, Time, ValueRef};

/// Digits before the point that are more than any double has.
const INFINITE_DIGITS: usize = 310;

/// The longest prefix of `bytes` that reads as a floating-point number, after white space: the number (saturated at the
/// largest double), whether anything but white space follows it, and whether there was a digit at all.
pub fn number_prefix(bytes: &[u8]) -> (f64, bool, bool) {
    let start = bytes.iter().position(|&b| !is_space(b)).unwrap_or(bytes.len());
    let mut end = start;
    let digits = |mut at: usize| {
        while at < bytes.len() && bytes[at].is_ascii_digit() {
            at += 1;
        }
        at
    };
    if end < bytes.len() && matches!(bytes[end], b'+' | b'-') {
        end += 1;
    }
    let integer_end = digits(end);
    let mut digit_count = integer_end - end;
    end = integer_end;
    if end < bytes.len() && bytes[end] == b'.' {
        let fraction_end = digits(end + 1);
        digit_count += fraction_end - end - 1;
        if digit_count > 0 {
            end = fraction_end;
        }
    }
    if digit_count == 0 {
        return (0.0, bytes[start..].iter().any(|&b| !is_space(b)), false);
    }
    if end < bytes.len() && matches!(bytes[end], b'e' | b'E') {
        let mut exponent = end + 1;
        if exponent < bytes.len() && matches!(bytes[exponent], b'+' | b'-') {
            exponent += 1;
        }
        let exponent_end = digits(exponent);
        if exponent_end > exponent {
            end = exponent_end;
        }
    }
    if INFINITE_DIGITS < integer_end - start {
        // Megabytes of digits, which take the parser a fraction of a second. With an exponent the number may be small.
        let sign = usize::from(!bytes[start].is_ascii_digit());
        let leading = bytes[start + sign..integer_end].iter().take_while(|&&b| b == b'0').count();
        if INFINITE_DIGITS < integer_end - start - sign - leading
            && !bytes[integer_end..end].iter().any(|b| matches!(b, b'e' | b'E'))
        {
            let number = if bytes[start] == b'-' { -f64::MAX } else { f64::MAX };
            return (number, true, true);
        }
    }
    let text = std::str::from_utf8(&bytes[start..end]).expect("digits, signs and points");
    let number: f64 = text.parse().expect("the shape of a floating-point number was checked");
    let junk = bytes[end..].iter().any(|&b| !is_space(b)) || number.is_infinite();
    (number.clamp(-f64::MAX, f64::MAX), junk, true)
}

fn text_to_f64(bytes: &[u8], cx: &mut ConvertContext) -> f64 {
    let (number, junk, _) = number_prefix(bytes);
    if junk {
        cx.warn_truncated("DOUBLE", bytes);
    }
    number
}

/// The value as a double. NULL gives 0: ask before.
pub fn to_f64(value: ValueRef<'_>, cx: &mut ConvertContext) -> f64 {
    match value {
        ValueRef::Null => 0.0,
        ValueRef::Int(v) => v as f64,
        ValueRef::UInt(v) | ValueRef::Label(v, _) => v as f64,
        ValueRef::Float(v) => f64::from(v),
        ValueRef::Double(v) => v,
        ValueRef::Decimal(v) => v.to_f64(),
        ValueRef::Text(v, _) => text_to_f64(v.as_bytes(), cx),
        ValueRef::Bytes(v) => text_to_f64(v, cx),
        ValueRef::Date(v) => v.to_number() as f64,
        ValueRef::Time(v) => time_number(v) as f64 / 1e6,
        ValueRef::DateTime(v) => v.to_number() as f64 + f64::from(v.microsecond()) / 1e6,
        ValueRef::Json(v) => json::to_f64(v, cx),
    }
}

/// HHMMSS.uuuuuu times a million, signed.
fn time_number(time: Time) -> i128 {
    let whole = i128::from(time.hour()) * 10_000
        + i128::from(time.minute()) * 100
        + i128::from(time.second());
    let number = whole * 1_000_000 + i128::from(time.microsecond());
    if time.is_negative() { -number } else { number }
}

/// The digits at the start of `bytes` as an integer: MySQL's strtoll10. Saturates at -2^63 below and 2^64-1 above.
fn integer_prefix(bytes: &[u8]) -> (i128, bool) {
    let start = bytes.iter().position(|&b| !is_space(b)).unwrap_or(bytes.len());
    let mut at = start;
    let negative = at < bytes.len() && bytes[at] == b'-';
    if at < bytes.len() && matches!(bytes[at], b'+' | b'-') {
        at += 1;
    }
    let digits_start = at;
    let mut number: i128 = 0;
    let mut complete = true;
    while at < bytes.len() && bytes[at].is_ascii_digit() {
        number = number * 10 + i128::from(bytes[at] - b'0');
        if number > i128::from(u64::MAX) {
            number = i128::from(u64::MAX);
            complete = false;
        }
        at += 1;
    }
    if negative {
        number = -number;
        if number < i128::from(i64::MIN) {
            number = i128::from(i64::MIN);
            complete = false;
        }
    }
    complete &= at > digits_start && bytes[at..].iter().all(|&b| is_space(b));
    (number, complete)
}

fn text_to_integer(bytes: &[u8], cx: &mut ConvertContext) -> i128 {
    let (number, complete) = integer_prefix(bytes);
    if !complete {
        cx.warn_truncated("INTEGER", bytes);
    }
    number
}

/// A double as the nearest integer (ties to even, as C's rint), saturated at i64's lowest and u64's highest.
pub(crate) fn f64_to_integer(value: f64) -> i128 {
    let rounded = value.round_ties_even();
    (rounded as i128).clamp(i128::from(i64::MIN), i128::from(u64::MAX))
}

/// The value as an integer between i64's lowest and u64's highest. Strings give the integer they begin with; fractions
/// are rounded. NULL gives 0: ask before.
pub fn to_integer(value: ValueRef<'_>, cx: &mut ConvertContext) -> i128 {
    match value {
        ValueRef::Null => 0,
        ValueRef::Int(v) => i128::from(v),
        ValueRef::UInt(v) | ValueRef::Label(v, _) => i128::from(v),
        ValueRef::Float(v) => f64_to_integer(f64::from(v)),
        ValueRef::Double(v) => f64_to_integer(v),
        ValueRef::Decimal(v) => {
            let (low, high) = (i128::from(i64::MIN), i128::from(u64::MAX));
            match v.to_i128_round() {
                Some(number) if (low..=high).contains(&number) => number,
                _ => {
                    cx.warn_truncated("DECIMAL", v.to_string().as_bytes());
                    if v.is_negative() { low } else { high }
                }
            }
        }
        ValueRef::Text(v, _) => text_to_integer(v.as_bytes(), cx),
        ValueRef::Bytes(v) => text_to_integer(v, cx),
        ValueRef::Date(v) => i128::from(v.to_number()),
        ValueRef::Time(v) => i128::from(v.round(0).to_number()),
        ValueRef::DateTime(v) => i128::from(v.round(0).unwrap_or(v).to_number()),
        ValueRef::Json(v) => json::to_integer(v, cx),
    }
}

fn text_to_decimal(bytes: &[u8], cx: &mut ConvertContext) -> Decimal {
    let (number, used) = Decimal::parse_prefix(bytes);
    if used == 0 || bytes[used..].iter().any(|&b| !is_space(b)) {
        cx.warn_truncated("DECIMAL", bytes);
    }
    number
}

/// The value as an exact decimal; doubles by their shortest decimal form, a FLOAT as the double of
/// the same value. NULL gives 0: check before.
pub fn to_decimal(value: ValueRef<'_>, cx: &mut ConvertContext) -> Decimal {
    match value {
        ValueRef::Null => Decimal::ZERO,
        ValueRef::Int(v) => Decimal::from_i64(v),
        ValueRef::UInt(v) | ValueRef::Label(v, _) => Decimal::from_u64(v),
        ValueRef::Float(v) => f64_to_decimal(f64::from(v), cx),
        ValueRef::Double(v) => f64_to_decimal(v, cx),
        ValueRef::Decimal(v) => v,
        ValueRef::Text(v, _) => text_to_decimal(v.as_bytes(), cx),
        ValueRef::Bytes(v) => text_to_decimal(v, cx),
        ValueRef::Date(v) => Decimal::from_i64(v.to_number()),
        ValueRef::Time(v) => scaled(time_number(v), v.microsecond()),
        ValueRef::DateTime(v) => scaled(
            i128::from(v.to_number()) * 1_000_000 + i128::from(v.microsecond()),
            v.microsecond(),
        ),
        ValueRef::Json(v) => json::to_decimal(v, cx),
    }
}

fn scaled(millionths: i128, micros: u32) -> Decimal {
    if micros == 0 {
        Decimal::from_parts(millionths / 1_000_000, 0)
    } else {
        Decimal::from_parts(millionths, 6)
    }
}

fn f64_to_decimal(value: f64, cx: &mut ConvertContext) -> Decimal {
    match Decimal::from_f64(value) {
        Some(number) => number,
        None => {
            cx.warn(1292, format!("Truncated incorrect DECIMAL value: '{value:e}'"));
            let largest = Decimal::max_value(65, 0);
            if value < 0.0 { largest.neg() } else { largest }
        }
    }
}

/// Truth: NULL is unknown, else whether the number is not 0.
pub fn is_true(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<bool> {
    match value {
        ValueRef::Null => None,
        ValueRef::Int(v) => Some(v != 0),
        ValueRef::UInt(v) | ValueRef::Label(v, _) => Some(v != 0),
        ValueRef::Decimal(v) => Some(!v.is_zero()),
        ValueRef::Time(v) => Some(v.micros() != 0),
        ValueRef::Date(v) => Some(!v.is_zero()),
        ValueRef::DateTime(v) => Some(!v.is_zero()),
        ValueRef::Json(v) => Some(json::is_true(v)),
        ValueRef::Float(_) | ValueRef::Double(_) | ValueRef::Text(..) | ValueRef::Bytes(_) => {
            Some(to_f64(value, cx) != 0.0)
        }
    }
}
