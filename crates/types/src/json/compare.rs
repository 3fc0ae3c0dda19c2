//! The order of JSON values.
//!
//! Values of different classes order by their class, the greatest first:
//!
//! ```text
//! BLOB | BIT | OPAQUE | DATETIME | TIME | DATE | BOOLEAN | ARRAY | OBJECT | STRING | numbers | NULL
//! ```
//!
//! Numbers compare by their decimal digits whatever their kinds are, where the digits of a double are the shortest that
//! read back as it: so the double 0.1 of a text equals the decimal 0.1 of a statement, and no two doubles are equal. Strings
//! and bytes compare byte by byte; arrays element by element, then by length; objects by their number of members, then
//! member by member, the name before the value. [`sort_key`] makes bytes of which the order is this one.

use std::cmp::Ordering;

use super::binary::{Container, JsonRef, View};
use super::document::{compare_names, opaque_type};
use crate::Decimal;

/// The classes from the least to the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Null = 1,
    Number,
    String,
    Object,
    Array,
    Boolean,
    Date,
    Time,
    DateTime,
    Opaque,
    Bit,
    Blob,
}

fn class_of(view: &View<'_>) -> Class {
    match view {
        View::Null => Class::Null,
        View::Int(_) | View::UInt(_) | View::Double(_) | View::Decimal(_) => Class::Number,
        View::String(_) => Class::String,
        View::Object(_) => Class::Object,
        View::Array(_) => Class::Array,
        View::Bool(_) => Class::Boolean,
        View::Date(_) => Class::Date,
        View::Time(_) => Class::Time,
        View::DateTime(_) => Class::DateTime,
        View::Opaque(code, _) => match *code {
            opaque_type::BIT => Class::Bit,
            opaque_type::VARCHAR | opaque_type::TINY_BLOB..=opaque_type::STRING => Class::Blob,
            _ => Class::Opaque,
        },
    }
}

pub fn compare(left: JsonRef<'_>, right: JsonRef<'_>) -> Ordering {
    let (a, b) = (left.view(), right.view());
    match (&a, &b) {
        (View::Int(a), View::Int(b)) => a.cmp(b),
        (View::UInt(a), View::UInt(b)) => a.cmp(b),
        (View::String(a), View::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (View::Object(a), View::Object(b)) => compare_objects(*a, *b),
        (View::Array(a), View::Array(b)) => {
            let pairs = a.values().zip(b.values());
            let mut elements = pairs.map(|(a, b)| compare(a, b));
            let first = elements.find(|ordering| ordering.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (View::Bool(a), View::Bool(b)) => a.cmp(b),
        (View::Date(a), View::Date(b)) => a.cmp(b),
        (View::Time(a), View::Time(b)) => a.cmp(b),
        (View::DateTime(a), View::DateTime(b)) => a.cmp(b),
        (View::Opaque(_, bytes_a), View::Opaque(_, bytes_b)) => {
            class_of(&a).cmp(&class_of(&b)).then_with(|| bytes_a.cmp(bytes_b))
        }
        _ => match (Number::of(&a), Number::of(&b)) {
            (Some(a), Some(b)) => a.compare(b),
            _ => class_of(&a).cmp(&class_of(&b)),
        },
    }
}

fn compare_objects(a: Container<'_>, b: Container<'_>) -> Ordering {
    let mut ordering = a.len().cmp(&b.len());
    for position in 0..a.len().min(b.len()) {
        if ordering.is_ne() {
            break;
        }
        let names = (a.name(position).as_bytes(), b.name(position).as_bytes());
        ordering = compare_names(names.0, names.1)
            .then_with(|| compare(a.value(position), b.value(position)));
    }
    ordering
}

/// A number as it is compared.
#[derive(Clone, Copy)]
enum Number {
    Exact(Decimal),
    Double(f64),
}

impl Number {
    fn of(view: &View<'_>) -> Option<Number> {
        Some(match *view {
            View::Int(number) => Number::Exact(Decimal::from_i64(number)),
            View::UInt(number) => Number::Exact(Decimal::from_u64(number)),
            View::Decimal(number) => Number::Exact(number),
            // Adding zero makes -0 and 0 one.
            View::Double(number) => Number::Double(number + 0.0),
            _ => return None,
        })
    }
    fn compare(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::Exact(a), Number::Exact(b)) => a.cmp(&b),
            (Number::Double(a), Number::Double(b)) => a.total_cmp(&b),
            (a, b) => a.digits().compare(&b.digits()),
        }
    }
    fn digits(self) -> Digits {
        match self {
            Number::Exact(number) => Digits::of_decimal(number),
            Number::Double(number) => Digits::of_double(number),
        }
    }
}

/// The decimal digits of a number: 0.ddd * 10^exponent.
struct Digits {
    sign: Ordering,
    exponent: i16,
    /// ASCII, without zeros at either end: none of 0.
    digits: Vec<u8>,
}

impl Digits {
    fn new(is_negative: bool, exponent: i16, digits: &[u8]) -> Digits {
        let is_zero = |digit: &&u8| **digit == b'0';
        let leading = digits.iter().take_while(is_zero).count();
        let trailing = digits[leading..].iter().rev().take_while(is_zero).count();
        let digits = digits[leading..digits.len() - trailing].to_vec();
        let sign = match (digits.is_empty(), is_negative) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        };
        let exponent = if digits.is_empty() { 0 } else { exponent - leading as i16 };
        Digits { sign, exponent, digits }
    }
    fn of_decimal(number: Decimal) -> Digits {
        let text = number.abs().to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits = [whole.as_bytes(), fraction.as_bytes()].concat();
        Digits::new(number.is_negative(), whole.len() as i16, &digits)
    }
    /// The shortest digits that read back as the same double.
    fn of_double(number: f64) -> Digits {
        let text = crate::double::shortest(number.abs());
        let (mantissa, exponent) = text.split_once('e').expect("formatted with an exponent");
        let exponent: i16 = exponent.parse().expect("formatted with an exponent");
        let digits: Vec<u8> = mantissa.bytes().filter(|byte| *byte != b'.').collect();
        Digits::new(number < 0.0, exponent + 1, &digits)
    }
    fn compare(&self, other: &Digits) -> Ordering {
        let size = self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
        self.sign.cmp(&other.sign).then(match self.sign {
            Ordering::Less => size.reverse(),
            _ => size,
        })
    }
    fn put_key(&self, out: &mut Vec<u8>) {
        out.push((self.sign as i8 + 1) as u8);
        let start = out.len();
        // Exponents of doubles and decimals are far from the bounds of 16 bits.
        out.extend_from_slice(&self.exponent.wrapping_add(i16::MIN).to_be_bytes());
        out.extend_from_slice(&self.digits);
        out.push(0);
        if self.sign == Ordering::Less {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

/// Appends bytes whose order is that of [`compare`]; equal bytes are equal values. Other bytes may follow.
pub fn sort_key(value: JsonRef<'_>, out: &mut Vec<u8>) {
    let view = value.view();
    out.push(class_of(&view) as u8);
    match view {
        View::Null => {}
        View::Int(_) | View::UInt(_) | View::Double(_) | View::Decimal(_) => {
            Number::of(&view).expect("these are the numbers").digits().put_key(out);
        }
        View::String(text) => put_escaped(text.as_bytes(), out),
        View::Opaque(_, bytes) => put_escaped(bytes, out),
        View::Bool(truth) => out.push(u8::from(truth)),
        View::Date(date) => out.extend_from_slice(&date.pack().to_be_bytes()),
        View::Time(time) => out.extend_from_slice(&time.pack().to_be_bytes()),
        View::DateTime(moment) => out.extend_from_slice(&moment.pack().to_be_bytes()),
        View::Array(array) => {
            array.values().for_each(|element| sort_key(element, out));
            // Below every class.
            out.push(0);
        }
        View::Object(object) => {
            out.extend_from_slice(&(object.len() as u32).to_be_bytes());
            for position in 0..object.len() {
                let name = object.name(position).as_bytes();
                out.extend_from_slice(&(name.len() as u16).to_be_bytes());
                out.extend_from_slice(name);
                sort_key(object.value(position), out);
            }
        }
    }
}

/// Bytes of which none begins another.
fn put_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}
