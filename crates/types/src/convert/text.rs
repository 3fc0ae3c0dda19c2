//! Values as text, and CAST.

use std::borrow::Cow;
use std::fmt::Write;

use super::{ConvertContext, cast_datetime, json, to_decimal, to_f64, to_integer, to_time};
use crate::value::bit_bytes;
use crate::{Charset, Collation, ColumnType, Decimal, NumberDisplay, Value, ValueRef};

/// A double as MySQL prints it: the shortest digits that read back as the same number; plain from 1e-15 to below 1e15, and
/// above where digits are behind the point, with an exponent ("1e15", "1.5e-16") otherwise.
pub fn format_double(value: f64, out: &mut String) {
    format_digits(&crate::double::shortest(value), out);
}

/// A FLOAT as MySQL prints it: six significant digits.
pub fn format_float(value: f32, out: &mut String) {
    format_digits(&format!("{:.5e}", f64::from(value)), out);
}

/// Lays out "-d.ddde-x" as MySQL does.
fn format_digits(scientific: &str, out: &mut String) {
    let (mantissa, exponent) = scientific.split_once('e').expect("formatted with an exponent");
    let exponent: i32 = exponent.parse().expect("formatted with an exponent");
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let mut digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    while digits.len() > 1 && digits.ends_with('0') {
        digits.pop();
    }
    out.push_str(sign);
    if digits == "0" {
        out.push('0');
        return;
    }
    // The place of the point if the digits are read as 0.ddd.
    let point = exponent + 1;
    let has_fraction = point < digits.len() as i32;
    if point < -14 || (15 < point && !has_fraction) {
        out.push_str(&digits[..1]);
        if digits.len() > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        write!(out, "e{exponent}").expect("strings take everything");
    } else if point <= 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', point.unsigned_abs() as usize));
        out.push_str(&digits);
    } else {
        let point = point as usize;
        if digits.len() <= point {
            out.push_str(&digits);
            out.extend(std::iter::repeat_n('0', point - digits.len()));
        } else {
            out.push_str(&digits[..point]);
            out.push('.');
            out.push_str(&digits[point..]);
        }
    }
}

/// A number, a temporal value, a label or a document as text; nothing for NULL, text and bytes.
pub fn number_to_text(value: ValueRef<'_>) -> Option<String> {
    let mut out = String::new();
    match value {
        ValueRef::Null | ValueRef::Text(..) | ValueRef::Bytes(_) => return None,
        ValueRef::Int(v) => write!(out, "{v}").expect("strings take everything"),
        ValueRef::UInt(v) => write!(out, "{v}").expect("strings take everything"),
        ValueRef::Float(v) => format_float(v, &mut out),
        ValueRef::Double(v) => format_double(v, &mut out),
        ValueRef::Decimal(v) => write!(out, "{v}").expect("strings take everything"),
        ValueRef::Date(v) => write!(out, "{v}").expect("strings take everything"),
        ValueRef::Time(v) => write!(out, "{v}").expect("strings take everything"),
        ValueRef::DateTime(v) => write!(out, "{v}").expect("strings take everything"),
        ValueRef::Label(number, labels) => out.push_str(&labels.text(number)),
        ValueRef::Json(v) => out = crate::json::print::to_text(crate::json::JsonRef::new(v)),
    }
    Some(out)
}

/// The value as text; bytes that are not UTF-8 are replaced. NULL gives the empty string: ask before.
pub fn to_text(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Null => Cow::Borrowed(""),
        ValueRef::Text(v, _) => Cow::Borrowed(v),
        ValueRef::Bytes(v) => String::from_utf8_lossy(v),
        ValueRef::Label(number, labels) => labels.text(number),
        _ => Cow::Owned(number_to_text(value).expect("the other kinds have a number's text")),
    }
}

/// The bytes of the value's text in its character set. NULL gives none: ask before.
pub fn to_bytes(value: ValueRef<'_>) -> Cow<'_, [u8]> {
    match value {
        ValueRef::Null => Cow::Borrowed(&[]),
        ValueRef::Text(v, collation) => collation.charset().encode(v),
        ValueRef::Label(number, labels) => {
            let text = labels.text(number);
            Cow::Owned(labels.collation().charset().encode(&text).into_owned())
        }
        ValueRef::Bytes(v) => Cow::Borrowed(v),
        _ => Cow::Owned(
            number_to_text(value).expect("the other kinds have a number's text").into_bytes(),
        ),
    }
}

/// Does the text of a value depend on what its column was declared with, which the value does not carry?
pub fn has_declared_text(column_type: &ColumnType, display: NumberDisplay) -> bool {
    matches!(column_type, ColumnType::Year | ColumnType::Bit { .. })
        || column_type.fsp() > 0
        || display.has_text(column_type)
}

/// The value of a column as a text, or as the bytes of a BIT; one that is of another kind as it is.
pub fn declared_text(
    value: ValueRef<'_>,
    column_type: &ColumnType,
    display: NumberDisplay,
) -> Value {
    let text = |text: String| Value::text(&text, Collation::DEFAULT);
    if let Some(shown) = display.text(value, column_type) {
        return text(shown);
    }
    match (value, column_type) {
        (ValueRef::UInt(bits), ColumnType::Bit { length }) => {
            let bytes = bits.to_be_bytes();
            Value::bytes(&bytes[bytes.len() - bit_bytes(*length)..])
        }
        (ValueRef::UInt(year), ColumnType::Year) => text(format!("{year:04}")),
        (ValueRef::Time(time), own) => text(time.format(own.fsp())),
        (ValueRef::DateTime(moment), own) => text(moment.format(own.fsp())),
        (value, _) => value.to_value(),
    }
}

/// CAST(value AS target). CHAR without a length is `Varchar` with length `u32::MAX`, BINARY without one `Varbinary`
/// likewise; SIGNED and UNSIGNED are `Int` of 8 bytes. What cannot be cast to a date or a time is NULL, with a warning.
pub fn cast(value: ValueRef<'_>, target: &ColumnType, cx: &mut ConvertContext) -> Value {
    if value.is_null() {
        return Value::Null;
    }
    match target {
        ColumnType::Int { unsigned, .. } => cast_integer(value, *unsigned, cx),
        ColumnType::Float => {
            let number = to_f64(value, cx);
            let limit = f64::from(f32::MAX);
            if number.abs() > limit {
                cx.warn(1264, "Out of range value for column 'CAST' at row 1".into());
            }
            Value::Float(number.clamp(-limit, limit) as f32)
        }
        ColumnType::Double => Value::Double(to_f64(value, cx)),
        ColumnType::Decimal { precision, scale, .. } => {
            Value::Decimal(cast_decimal(to_decimal(value, cx), *precision, *scale, cx))
        }
        ColumnType::Char { length, collation } | ColumnType::Varchar { length, collation } => {
            cast_text(value, *length, *collation, cx)
        }
        ColumnType::Text { bytes_max, collation } => cast_text(value, *bytes_max, *collation, cx),
        ColumnType::Binary { length } => {
            let mut bytes = cast_bytes(value, *length, cx);
            // BINARY(n) pads; n comes from the statement, so it is bounded by what a value may be.
            if *length <= CAST_BINARY_PAD_MAX {
                bytes.resize(*length as usize, 0);
            }
            Value::Bytes(bytes.into())
        }
        ColumnType::Varbinary { length } => Value::Bytes(cast_bytes(value, *length, cx).into()),
        ColumnType::Blob { bytes_max } => Value::Bytes(cast_bytes(value, *bytes_max, cx).into()),
        ColumnType::Date => {
            cast_datetime(value, cx).map_or(Value::Null, |datetime| Value::Date(datetime.date()))
        }
        ColumnType::Time { fsp } => {
            let modes = cx.date_modes;
            to_time(value, cx).map_or(Value::Null, |time| Value::Time(time.adjust(*fsp, modes)))
        }
        ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => {
            let Some(datetime) = cast_datetime(value, cx) else { return Value::Null };
            match datetime.adjust(*fsp, cx.date_modes) {
                Some(datetime) => Value::DateTime(datetime),
                None => {
                    cx.warn_incorrect("datetime", to_text(value).as_bytes());
                    Value::Null
                }
            }
        }
        ColumnType::Year => cast_year(value, cx),
        // SQL has no CAST to these.
        ColumnType::Labelled(_) | ColumnType::Bit { .. } => super::to_type(value, target, cx),
        ColumnType::Json => json::cast(value, cx),
    }
}

/// Most bytes CAST(x AS BINARY(n)) pads to.
const CAST_BINARY_PAD_MAX: u32 = 16 << 20;

fn cast_integer(value: ValueRef<'_>, unsigned: bool, cx: &mut ConvertContext) -> Value {
    let number = to_integer(value, cx);
    if unsigned {
        if let ValueRef::Decimal(decimal) = value
            && decimal.is_negative()
            && number < 0
        {
            cx.warn_truncated("DECIMAL", decimal.to_string().as_bytes());
            return Value::UInt(0);
        }
        let text = matches!(value, ValueRef::Text(..) | ValueRef::Bytes(_));
        if number < 0 && text {
            let complement =
                "Cast to unsigned converted negative integer to its positive complement";
            cx.warn(1105, complement.into());
        }
        // Two's complement: -1 is 2^64 - 1.
        return Value::UInt(number as u64);
    }
    match (i64::try_from(number), value) {
        (Ok(number), _) => Value::Int(number),
        (Err(_), ValueRef::Decimal(_) | ValueRef::Double(_) | ValueRef::Float(_)) => {
            Value::Int(i64::MAX)
        }
        (Err(_), _) => Value::Int(number as i64),
    }
}

/// What a YEAR does not hold is NULL.
fn cast_year(value: ValueRef<'_>, cx: &mut ConvertContext) -> Value {
    match super::store(value, &ColumnType::Year, super::StoreMode::Lenient, cx) {
        Ok((year, None)) => year,
        Ok((year, Some(problem))) if problem.kind == super::ConvertErrorKind::Truncated => {
            cx.warn_truncated("YEAR", &to_bytes(value));
            year
        }
        _ => {
            cx.warn_truncated("YEAR", &to_bytes(value));
            Value::Null
        }
    }
}

/// Rounds to the scale and clamps to the precision, with a warning.
fn cast_decimal(number: Decimal, precision: u8, scale: u8, cx: &mut ConvertContext) -> Decimal {
    match number.rescale(scale) {
        Some(rounded) if rounded.fits(precision, scale) => rounded,
        _ => {
            cx.warn(1264, "Out of range value for column 'CAST' at row 1".into());
            let largest = Decimal::max_value(precision, scale);
            if number.is_negative() { largest.neg() } else { largest }
        }
    }
}

/// Bytes as a text of the character set. Bytes that are none of its characters give NULL and
/// warning 1300.
fn decode_bytes<'v>(
    bytes: &'v [u8],
    charset: Charset,
    cx: &mut ConvertContext,
) -> Option<Cow<'v, str>> {
    match charset.decode_exactly(bytes) {
        Ok(text) => Some(text),
        Err(valid) => {
            cx.warn(1300, invalid_string(charset, &bytes[valid..]));
            None
        }
    }
}

/// MySQL's message of error 1300 about bytes that are no characters: it shows the first three of
/// them.
pub fn invalid_string(charset: Charset, rest: &[u8]) -> String {
    let digits: String = rest.iter().take(3).map(|byte| format!("{byte:02X}")).collect();
    format!("Invalid {} character string: '{digits}'", charset.name())
}

fn cast_text(
    value: ValueRef<'_>,
    length: u32,
    collation: Collation,
    cx: &mut ConvertContext,
) -> Value {
    let charset = collation.charset();
    let text = match value {
        ValueRef::Bytes(bytes) => match decode_bytes(bytes, charset, cx) {
            Some(text) => text,
            None => return Value::Null,
        },
        ValueRef::Text(text, own) if own.charset() != charset => charset.replace_missing(text),
        _ => to_text(value),
    };
    match text.char_indices().nth(length as usize) {
        None => Value::Text(text.into(), collation),
        Some((end, _)) => {
            cx.warn_truncated(&format!("CHAR({length})"), text.as_bytes());
            Value::Text(text[..end].into(), collation)
        }
    }
}

fn cast_bytes(value: ValueRef<'_>, length: u32, cx: &mut ConvertContext) -> Vec<u8> {
    let mut bytes = to_bytes(value).into_owned();
    if bytes.len() > length as usize {
        cx.warn_truncated(&format!("BINARY({length})"), &bytes);
        bytes.truncate(length as usize);
    }
    bytes
}
