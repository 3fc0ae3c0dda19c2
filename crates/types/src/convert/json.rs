//! SQL values and JSON documents, one as the other.
//!
//! A document is read as a number or a date if it is a scalar of that kind, or a string that spells one. Other documents
//! are 0 or NULL, with a warning (3156) that strict mode makes an error in data changes. The names in the warnings are
//! those of types; the column that MySQL names is not known here.

use super::{ConvertContext, number_prefix};
use crate::json::{Json, JsonError, JsonRef, ParseError, View, compare, encode, parse};
use crate::{Collation, Decimal, Value, ValueRef};

/// The SQL value that a document's scalar is; None for null, arrays, objects and bytes.
pub(super) fn scalar_of(document: &[u8]) -> Option<ValueRef<'_>> {
    Some(match JsonRef::new(document).view() {
        View::Bool(truth) => ValueRef::Int(i64::from(truth)),
        View::Int(number) => ValueRef::Int(number),
        View::UInt(number) => ValueRef::UInt(number),
        View::Double(number) => ValueRef::Double(number),
        View::Decimal(number) => ValueRef::Decimal(number),
        View::String(text) => ValueRef::Text(text, Collation::Utf8mb4Bin),
        View::Date(date) => ValueRef::Date(date),
        View::Time(time) => ValueRef::Time(time),
        View::DateTime(moment) => ValueRef::DateTime(moment),
        View::Null | View::Array(_) | View::Object(_) | View::Opaque(..) => return None,
    })
}

/// The scalar that a document is read as a number by: a number or a string.
pub(super) fn number_of(document: &[u8]) -> Option<ValueRef<'_>> {
    scalar_of(document)
        .filter(|own| !matches!(own, ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_)))
}

/// The scalar that a document is read as a date or a time by.
pub(super) fn moment_of(document: &[u8]) -> Option<ValueRef<'_>> {
    scalar_of(document).filter(|own| {
        matches!(
            own,
            ValueRef::Text(..) | ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_)
        )
    })
}

/// 3156.
pub(super) fn warn_invalid(what: &str, cx: &mut ConvertContext) {
    cx.warn(3156, format!("Invalid JSON value for CAST to {what} from column ? at row 1"));
}

/// 3155.
fn warn_out_of_range(what: &str, cx: &mut ConvertContext) {
    cx.warn(3155, format!("Out of range JSON value for CAST to {what} from column ? at row 1"));
}

/// Whether all of a text spells one number.
pub(super) fn spells_number(text: &str) -> bool {
    let (_, has_junk, has_digits) = number_prefix(text.as_bytes());
    has_digits && !has_junk
}

/// The number that a document is read as. A string is read as far as it spells one, with a warning about the rest.
fn readable<'d>(document: &'d [u8], what: &str, cx: &mut ConvertContext) -> Option<ValueRef<'d>> {
    let scalar = number_of(document);
    let is_whole = match scalar {
        Some(ValueRef::Text(text, _)) => spells_number(text),
        scalar => scalar.is_some(),
    };
    if !is_whole {
        warn_invalid(what, cx);
    }
    scalar
}

pub(super) fn to_f64(document: &[u8], cx: &mut ConvertContext) -> f64 {
    let mut quiet = cx.quiet();
    readable(document, "DOUBLE", cx).map_or(0.0, |scalar| super::to_f64(scalar, &mut quiet))
}

pub(super) fn to_decimal(document: &[u8], cx: &mut ConvertContext) -> Decimal {
    let mut quiet = cx.quiet();
    let scalar = readable(document, "DECIMAL", cx);
    scalar.map_or(Decimal::ZERO, |scalar| super::to_decimal(scalar, &mut quiet))
}

pub(super) fn to_integer(document: &[u8], cx: &mut ConvertContext) -> i128 {
    let mut quiet = cx.quiet();
    let Some(scalar) = readable(document, "INTEGER", cx) else { return 0 };
    let number = super::to_integer(scalar, &mut quiet);
    let has_sign = matches!(scalar, ValueRef::Double(_) | ValueRef::Decimal(_));
    match i64::try_from(number) {
        Err(_) if has_sign => {
            warn_out_of_range("INTEGER", cx);
            i128::from(i64::MAX)
        }
        _ => number,
    }
}

/// A document is true unless it is the number 0.
pub(super) fn is_true(document: &[u8]) -> bool {
    compare_with(document, ValueRef::Int(0)).is_ne()
}

/// The order of a document and an SQL value that is not NULL, which is compared as the scalar that it becomes.
pub(super) fn compare_with(document: &[u8], value: ValueRef<'_>) -> std::cmp::Ordering {
    let scalar = encode(&Json::of_value(value)).expect("a scalar is within all bounds");
    compare::compare(JsonRef::new(document), JsonRef::new(&scalar))
}

/// The document that a text spells; the error's number and message otherwise, for an argument of a function.
pub fn document_of_text(
    text: &str,
    argument: usize,
    function: &str,
) -> Result<Box<[u8]>, (u16, String)> {
    let parsed = parse(text).map_err(|error| text_error(error, argument, function))?;
    encode(&parsed).map_err(bound_error)
}

fn bound_error(error: JsonError) -> (u16, String) {
    (error.code(), error.message().into())
}

/// The error of a text that is no document, for an argument of a function.
pub fn text_error(error: ParseError, argument: usize, function: &str) -> (u16, String) {
    match error.syntax() {
        Err(error) => bound_error(error),
        Ok((message, position)) => (
            3141,
            format!(
                "Invalid JSON text in argument {argument} to function {function}: \"{message}\" at \
                 position {position}."
            ),
        ),
    }
}

/// CAST(value AS JSON): a text is parsed, other values become scalars. Raises the error of a text that is no document.
pub(super) fn cast(value: ValueRef<'_>, cx: &mut ConvertContext) -> Value {
    let document = match value {
        ValueRef::Null => return Value::Null,
        ValueRef::Json(document) => Ok(document.into()),
        ValueRef::Text(text, _) => document_of_text(text, 1, "cast_as_json"),
        scalar => encode(&Json::of_value(scalar)).map_err(bound_error),
    };
    match document {
        Ok(document) => Value::Json(document),
        Err((code, message)) => {
            cx.raise(code, message);
            Value::Null
        }
    }
}

/// A branch of IF and the like as a document: a text is a string.
pub(super) fn to_document(value: ValueRef<'_>, cx: &mut ConvertContext) -> Value {
    match encode(&Json::of_value(value)) {
        Ok(document) => Value::Json(document),
        Err(error) => {
            cx.raise(error.code(), error.message().into());
            Value::Null
        }
    }
}
