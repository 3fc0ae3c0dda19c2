//! Comparison of any two values.
//!
//! Where the kinds differ, the pair decides what they meet as:
//!
//! ```text
//!                 integer   decimal   double    text        temporal
//!   integer       exact     exact     double    double (1)  temporal, else number
//!   decimal                 exact     double    double      temporal, else number
//!   double                            double    double      temporal, else number
//!   text / bytes                                collation   temporal (2)
//!   temporal                                                datetime, or time if both are times
//!
//!   (1) exactly, if the text is nothing but an integer: as MySQL does once it has turned a constant into the column's type
//!   (2) as text if the string spells no temporal value, with a warning
//! ```

use std::cmp::Ordering;

use super::{
    ConvertContext, to_bytes, to_datetime, to_decimal, to_f64, to_fuzzy_datetime, to_text,
};
use crate::{Collation, DateTime, Time, ValueRef};

/// MySQL's comparison; None if a NULL is involved. Two texts of different collations compare by the binary one if
/// there is one, else by the left one's: who knows which of them is explicit changes that before.
pub fn compare(
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    cx: &mut ConvertContext,
) -> Option<Ordering> {
    use ValueRef::*;
    Some(match (left, right) {
        (Null, _) | (_, Null) => return None,
        (Int(a), Int(b)) => a.cmp(&b),
        (UInt(a), UInt(b)) => a.cmp(&b),
        (Int(a), UInt(b)) => i128::from(a).cmp(&i128::from(b)),
        (UInt(a), Int(b)) => i128::from(a).cmp(&i128::from(b)),
        (Decimal(a), Decimal(b)) => a.cmp(&b),
        (Int(_) | UInt(_), Decimal(b)) => to_decimal(left, cx).cmp(&b),
        (Decimal(a), Int(_) | UInt(_)) => a.cmp(&to_decimal(right, cx)),
        (Text(a, collation_a), Text(b, collation_b)) => {
            text_collation(collation_a, collation_b).compare(a, b)
        }
        (Text(a, _), Bytes(b)) => a.as_bytes().cmp(b),
        (Bytes(a), Text(b, _)) => a.cmp(b.as_bytes()),
        (Bytes(a), Bytes(b)) => a.cmp(b),
        (Date(a), Date(b)) => a.cmp(&b),
        (Time(a), Time(b)) => a.cmp(&b),
        (DateTime(a), DateTime(b)) => a.cmp(&b),
        (Date(_) | Time(_) | DateTime(_), _) => compare_temporal(left, right, cx),
        (_, Date(_) | Time(_) | DateTime(_)) => compare_temporal(right, left, cx).reverse(),
        (Int(_) | UInt(_), Text(..) | Bytes(_)) => compare_integer_text(left, right, cx),
        (Text(..) | Bytes(_), Int(_) | UInt(_)) => compare_integer_text(right, left, cx).reverse(),
        (Float(_) | Double(_), _)
        | (_, Float(_) | Double(_))
        | (Decimal(_), Text(..) | Bytes(_))
        | (Text(..) | Bytes(_), Decimal(_)) => {
            to_f64(left, cx).partial_cmp(&to_f64(right, cx)).unwrap_or(Ordering::Equal)
        }
    })
}

fn text_collation(left: Collation, right: Collation) -> Collation {
    if right.is_binary() { right } else { left }
}

fn compare_integer_text(
    integer: ValueRef<'_>,
    text: ValueRef<'_>,
    cx: &mut ConvertContext,
) -> Ordering {
    if let Some(number) = plain_integer(&to_bytes(text)) {
        return super::to_integer(integer, cx).cmp(&number);
    }
    to_f64(integer, cx).partial_cmp(&to_f64(text, cx)).unwrap_or(Ordering::Equal)
}

/// Text that is nothing but an integer, of up to 38 digits. As doubles, ids of nineteen would equal their neighbours.
pub fn plain_integer(text: &[u8]) -> Option<i128> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if !(1..=38).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |number, &digit| 10 * number + i128::from(digit - b'0'));
    Some(if digits.len() < text.len() { -number } else { number })
}

fn compare_temporal(
    temporal: ValueRef<'_>,
    other: ValueRef<'_>,
    cx: &mut ConvertContext,
) -> Ordering {
    match other {
        ValueRef::Text(..) | ValueRef::Bytes(_) => {
            let text = to_text(other);
            if let ValueRef::Time(time) = temporal {
                if let Some(parsed) = Time::parse(&text) {
                    return time.cmp(&parsed.value);
                }
            } else if let Some(parsed) = DateTime::parse(&text) {
                let value = match parsed.offset_minutes {
                    None => Some(parsed.value),
                    Some(_) => to_datetime(other, cx),
                };
                if let (Some(value), Some(own)) = (value, to_fuzzy_datetime(temporal, cx)) {
                    return own.cmp(&value);
                }
            }
            let what = if matches!(temporal, ValueRef::Time(_)) { "time" } else { "datetime" };
            cx.warn_incorrect(what, text.as_bytes());
            to_text(temporal).as_bytes().cmp(text.as_bytes())
        }
        ValueRef::Int(_)
        | ValueRef::UInt(_)
        | ValueRef::Decimal(_)
        | ValueRef::Float(_)
        | ValueRef::Double(_) => {
            let number = to_decimal(other, cx);
            if !matches!(temporal, ValueRef::Time(_))
                && let Some(whole) = number.to_i64_round()
                && number == crate::Decimal::from_i64(whole)
                && let Some(value) = DateTime::from_number(whole)
                && let Some(own) = to_fuzzy_datetime(temporal, cx)
            {
                return own.cmp(&value);
            }
            to_decimal(temporal, cx).cmp(&number)
        }
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) => {
            match (to_fuzzy_datetime(temporal, cx), to_fuzzy_datetime(other, cx)) {
                (Some(a), Some(b)) => a.cmp(&b),
                // A TIME so large that today plus it is past the last year.
                _ => to_f64(temporal, cx).total_cmp(&to_f64(other, cx)),
            }
        }
        ValueRef::Null => unreachable!("compare answers NULL before"),
    }
}

/// A total order for ORDER BY, GROUP BY and sets: NULL first, then as [`compare`] says, silently. Values of one column
/// are of one kind, where this is the order of the column's keys.
pub fn sort_compare(left: ValueRef<'_>, right: ValueRef<'_>) -> Ordering {
    match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => {
            let mut silent = ConvertContext::default();
            compare(left, right, &mut silent).expect("neither is NULL")
        }
    }
}

/// Appends bytes that are equal for values that compare equal: what GROUP BY, DISTINCT and hash joins look up by. NULL
/// equals NULL here. Several values may follow each other.
pub fn group_key(value: ValueRef<'_>, out: &mut Vec<u8>) {
    let mut tagged = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    match value {
        ValueRef::Null => tagged(0, &[]),
        ValueRef::Int(v) => tagged(1, &i128::from(v).to_le_bytes()),
        ValueRef::UInt(v) => tagged(1, &i128::from(v).to_le_bytes()),
        ValueRef::Decimal(v) => {
            let v = v.normalized();
            match v.to_i128_round() {
                Some(whole) if v.scale() == 0 => tagged(1, &whole.to_le_bytes()),
                _ => {
                    let text = v.to_string();
                    out.push(2);
                    push_delimited(text.as_bytes(), out);
                }
            }
        }
        // + 0.0 makes -0.0 the other zero.
        ValueRef::Float(v) => tagged(3, &(f64::from(v) + 0.0).to_le_bytes()),
        ValueRef::Double(v) => tagged(3, &(v + 0.0).to_le_bytes()),
        ValueRef::Text(text, collation) => {
            let mut key = Vec::new();
            collation.sort_key(text, &mut key);
            out.push(4);
            push_delimited(&key, out);
        }
        ValueRef::Bytes(bytes) => {
            out.push(5);
            push_delimited(bytes, out);
        }
        ValueRef::Date(v) => tagged(6, &v.at_midnight().pack().to_le_bytes()),
        ValueRef::DateTime(v) => tagged(6, &v.pack().to_le_bytes()),
        ValueRef::Time(v) => tagged(7, &v.micros().to_le_bytes()),
    }
}

fn push_delimited(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}
