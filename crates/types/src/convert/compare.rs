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
//!   JSON            the other value becomes a JSON scalar, and documents compare
//!
//!   (1) exactly, if the text is nothing but an integer: as MySQL does once it has turned a constant into the column's type
//!   (2) with a warning if the text spells no temporal value: then dates are compared with '0000-00-00', as in MySQL, and a
//!       time with the text
//! ```

use std::cmp::Ordering;

use super::{ConvertContext, json, time, to_bytes, to_decimal, to_f64, to_fuzzy_datetime, to_text};
use crate::json::{JsonRef, compare as documents};
use crate::temporal::DateModes;
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
        (Label(number, labels), _) => {
            if is_number(right) {
                return compare(UInt(number), right, cx);
            }
            return compare(Text(&labels.text(number), labels.collation()), right, cx);
        }
        (_, Label(number, labels)) => {
            if is_number(left) {
                return compare(left, UInt(number), cx);
            }
            return compare(left, Text(&labels.text(number), labels.collation()), cx);
        }
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
        (Text(..), Bytes(b)) => (*to_bytes(left)).cmp(b),
        (Bytes(a), Text(..)) => a.cmp(&to_bytes(right)),
        (Bytes(a), Bytes(b)) => a.cmp(b),
        (Date(a), Date(b)) => a.cmp(&b),
        (Time(a), Time(b)) => a.cmp(&b),
        (DateTime(a), DateTime(b)) => a.cmp(&b),
        (Json(a), Json(b)) => documents::compare(JsonRef::new(a), JsonRef::new(b)),
        (Json(a), _) => json::compare_with(a, right),
        (_, Json(b)) => json::compare_with(b, left).reverse(),
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

/// Is it a number? With one, a label is compared by its number, else by its text.
pub(crate) fn is_number(value: ValueRef<'_>) -> bool {
    sort_class(value) == SortClass::Number && !matches!(value, ValueRef::Label(..))
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
        ValueRef::Text(..) | ValueRef::Bytes(_) | ValueRef::Label(..) => {
            let text = to_text(other);
            if let ValueRef::Time(time) = temporal {
                if let Some(parsed) = Time::parse(&text) {
                    return time.cmp(&parsed.value);
                }
            } else if let Some(value) = time::any_datetime(&text, cx)
                && let Some(own) = to_fuzzy_datetime(temporal, cx)
            {
                return own.cmp(&value);
            }
            match temporal {
                ValueRef::Time(_) => {
                    cx.warn_incorrect("time", text.as_bytes());
                    to_text(temporal).as_bytes().cmp(text.as_bytes())
                }
                _ => {
                    cx.warn_incorrect("datetime", text.as_bytes());
                    match to_fuzzy_datetime(temporal, cx).is_none_or(|own| own.is_zero()) {
                        true => Ordering::Equal,
                        false => Ordering::Greater,
                    }
                }
            }
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
                && let Some(value) = DateTime::from_number_with(
                    whole,
                    DateModes { allow_invalid_dates: true, ..cx.date_modes },
                )
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
        ValueRef::Json(_) => unreachable!("compare makes a scalar of the other value"),
        ValueRef::Null => unreachable!("compare answers NULL before"),
    }
}

/// The kinds of values that are compared with each other by ORDER BY, GROUP BY and sets, in their order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum SortClass {
    Null,
    Number,
    /// DATE and DATETIME.
    Moment,
    Time,
    Bytes,
    Text,
    Json,
}

fn sort_class(value: ValueRef<'_>) -> SortClass {
    match value {
        ValueRef::Null => SortClass::Null,
        ValueRef::Int(_)
        | ValueRef::UInt(_)
        | ValueRef::Float(_)
        | ValueRef::Double(_)
        | ValueRef::Decimal(_)
        | ValueRef::Label(..) => SortClass::Number,
        ValueRef::Date(_) | ValueRef::DateTime(_) => SortClass::Moment,
        ValueRef::Time(_) => SortClass::Time,
        ValueRef::Bytes(_) => SortClass::Bytes,
        ValueRef::Text(..) => SortClass::Text,
        ValueRef::Json(_) => SortClass::Json,
    }
}

/// A total order over all values, for ORDER BY, GROUP BY and sets. The values of one expression have one type and one
/// collation, and for those it is MySQL's order: NULL first, decimals by the digits that show. It stays an order whatever
/// the values are, because no pair decides how it is compared: values of different classes order by their class, numbers
/// by their exact value, texts of different collations by the collation's number. A comparison that is no order would
/// make the sort panic.
pub fn sort_compare(left: ValueRef<'_>, right: ValueRef<'_>) -> Ordering {
    use ValueRef::*;
    match (left, right) {
        (Int(a), Int(b)) => a.cmp(&b),
        (UInt(a), UInt(b)) | (Label(a, _), Label(b, _)) => a.cmp(&b),
        (Decimal(a), Decimal(b)) => a.as_shown().cmp(&b.as_shown()),
        (Double(a), Double(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
        (Text(a, collation_a), Text(b, collation_b)) => {
            let by_collation = collation_a.id().cmp(&collation_b.id());
            by_collation.then_with(|| collation_a.compare(a, b))
        }
        (Bytes(a), Bytes(b)) => a.cmp(b),
        (Date(a), Date(b)) => a.cmp(&b),
        (Time(a), Time(b)) => a.cmp(&b),
        (DateTime(a), DateTime(b)) => a.cmp(&b),
        (Date(a), DateTime(b)) => a.at_midnight().cmp(&b),
        (DateTime(a), Date(b)) => a.cmp(&b.at_midnight()),
        (Json(a), Json(b)) => documents::compare(JsonRef::new(a), JsonRef::new(b)),
        _ => sort_class(left).cmp(&sort_class(right)).then_with(|| {
            match (SortNumber::of(left), SortNumber::of(right)) {
                (Some(a), Some(b)) => a.compare(b),
                _ => Ordering::Equal,
            }
        }),
    }
}

/// A number as it is sorted.
#[derive(Clone, Copy)]
enum SortNumber {
    Exact(crate::Decimal),
    Double(f64),
}

impl SortNumber {
    fn of(value: ValueRef<'_>) -> Option<SortNumber> {
        Some(match value {
            ValueRef::Int(value) => SortNumber::Exact(crate::Decimal::from_i64(value)),
            ValueRef::UInt(value) | ValueRef::Label(value, _) => {
                SortNumber::Exact(crate::Decimal::from_u64(value))
            }
            ValueRef::Decimal(value) => SortNumber::Exact(value.as_shown()),
            // Adding zero makes -0 and 0 one.
            ValueRef::Float(value) => SortNumber::Double(f64::from(value) + 0.0),
            ValueRef::Double(value) => SortNumber::Double(value + 0.0),
            _ => return None,
        })
    }
    fn compare(self, other: SortNumber) -> Ordering {
        match (self, other) {
            (SortNumber::Exact(a), SortNumber::Exact(b)) => a.cmp(&b),
            (SortNumber::Double(a), SortNumber::Double(b)) => a.total_cmp(&b),
            (SortNumber::Exact(a), SortNumber::Double(b)) => a.compare_f64(b),
            (SortNumber::Double(a), SortNumber::Exact(b)) => b.compare_f64(a).reverse(),
        }
    }
    /// Equal numbers have equal bytes: of the double if there is one of that value, else of the digits.
    fn put_key(self, out: &mut Vec<u8>) {
        let double = match self {
            SortNumber::Double(value) => Some(value),
            SortNumber::Exact(value) => value.to_f64_exact(),
        };
        match (double, self) {
            (Some(double), _) => {
                out.push(1);
                out.extend_from_slice(&double.to_le_bytes());
            }
            (None, SortNumber::Exact(value)) => {
                out.push(2);
                push_delimited(value.normalized().to_string().as_bytes(), out);
            }
            (None, SortNumber::Double(_)) => unreachable!("a double is one"),
        }
    }
}

/// Appends bytes that are equal for the values that [`sort_compare`] holds for equal, and for no others: what GROUP BY,
/// DISTINCT and hash joins look up by. NULL equals NULL here. Several values may follow each other.
pub fn group_key(value: ValueRef<'_>, out: &mut Vec<u8>) {
    let mut tagged = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    /// Integers below it are doubles, too: 2^53.
    const DOUBLE_INTEGER_MAX: u64 = 1 << f64::MANTISSA_DIGITS;
    match value {
        ValueRef::Null => tagged(0, &[]),
        ValueRef::Int(v) if v.unsigned_abs() < DOUBLE_INTEGER_MAX => {
            tagged(1, &(v as f64).to_le_bytes());
        }
        ValueRef::UInt(v) | ValueRef::Label(v, _) if v < DOUBLE_INTEGER_MAX => {
            tagged(1, &(v as f64).to_le_bytes());
        }
        ValueRef::Int(_)
        | ValueRef::UInt(_)
        | ValueRef::Label(..)
        | ValueRef::Decimal(_)
        | ValueRef::Float(_)
        | ValueRef::Double(_) => {
            SortNumber::of(value).expect("these are the numbers").put_key(out);
        }
        ValueRef::Text(text, collation) => {
            let mut key = Vec::new();
            collation.sort_key(text, &mut key);
            tagged(4, &collation.id().to_le_bytes());
            push_delimited(&key, out);
        }
        ValueRef::Bytes(bytes) => {
            out.push(5);
            push_delimited(bytes, out);
        }
        ValueRef::Date(v) => tagged(6, &v.at_midnight().pack().to_le_bytes()),
        ValueRef::DateTime(v) => tagged(6, &v.pack().to_le_bytes()),
        ValueRef::Time(v) => tagged(7, &v.micros().to_le_bytes()),
        ValueRef::Json(v) => {
            out.push(8);
            documents::sort_key(JsonRef::new(v), out);
        }
    }
}

fn push_delimited(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}
