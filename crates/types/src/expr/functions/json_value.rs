//! JSON_VALUE: the value at a path, in a type of the statement's choice.
//!
//! The binder makes the call's clauses constant arguments:
//!
//! ```text
//! document | path | type | response to no value | its default | response to an error | its default
//! ```
//!
//! The type is a [`ColumnType`] in its wire form, a response one of [`JsonResponse`]'s numbers, and a default a value of
//! the type ([`default_value`]). An error is a document that cannot be parsed, several values at the path, or one that the
//! type does not hold.

use super::Call;
use super::json::document_error;
use crate::convert::{
    ConvertContext, ConvertErrorKind, StoreMode, document_of_text, number_prefix, store, to_decimal,
};
use crate::expr::{EvalError, Expr};
use crate::json::{JsonRef, View, parse, print};
use crate::temporal::DateModes;
use crate::wire::Wire;
use crate::{Collation, ColumnType, Decimal, Value, ValueRef};

/// What JSON_VALUE returns where there is no value, or an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonResponse {
    Null = 0,
    Error = 1,
    Default = 2,
}

impl JsonResponse {
    /// The number that stands for it among the arguments.
    pub fn number(self) -> i64 {
        self as i64
    }
    fn of(value: ValueRef<'_>) -> JsonResponse {
        match value {
            ValueRef::Int(1) => JsonResponse::Error,
            ValueRef::Int(2) => JsonResponse::Default,
            _ => JsonResponse::Null,
        }
    }
}

const TYPE: usize = 2;
const ON_EMPTY: usize = 3;
const ON_ERROR: usize = 5;
/// 2^63: the least double beyond integers with a sign.
const DOUBLE_BOUND: f64 = 9_223_372_036_854_775_808.0;

/// The type that a call of JSON_VALUE returns.
pub(in crate::expr) fn returned_type(arguments: &[Expr]) -> Option<ColumnType> {
    match arguments.get(TYPE) {
        Some(Expr::Const(Value::Bytes(bytes))) => ColumnType::from_bytes(bytes).ok(),
        _ => None,
    }
}

impl Call<'_, '_, '_> {
    pub(super) fn json_value(&mut self) -> Result<Value, EvalError> {
        if self.values[0].is_null() || self.values[1].is_null() {
            return Ok(Value::Null);
        }
        let ValueRef::Bytes(bytes) = self.values[TYPE] else { return Ok(Value::Null) };
        let Ok(target) = ColumnType::from_bytes(bytes) else { return Ok(Value::Null) };
        if let Some(error) = self.syntax_error()? {
            return match JsonResponse::of(self.values[ON_ERROR]) {
                JsonResponse::Error => Err(error),
                response => {
                    self.ctx.convert.warn(error.code(), error.message());
                    self.respond(response, ON_ERROR, error)
                }
            };
        }
        let document = self.document(0)?;
        let path = self.path(1)?;
        let found = self.seek(&document, &path)?;
        let response = |call: &Self, position: usize| JsonResponse::of(call.values[position]);
        match found.as_slice() {
            [] => {
                let message = "No value was found by 'json_value' on the specified path.";
                let error = EvalError::raised(3966, message);
                self.respond(response(self, ON_EMPTY), ON_EMPTY, error)
            }
            [value] if matches!(value.view(), View::Null) => Ok(Value::Null),
            [value] => match value_as(*value, &target) {
                Some(value) => Ok(value),
                None => {
                    let kind = kind_name(&target);
                    let expression = "json_value".to_string();
                    let error = EvalError::OutOfRange { kind: kind.into(), expression };
                    self.respond(response(self, ON_ERROR), ON_ERROR, error)
                }
            },
            _ => {
                let message =
                    "More than one value was found by 'json_value' on the specified path.";
                let error = EvalError::raised(3967, message);
                self.respond(response(self, ON_ERROR), ON_ERROR, error)
            }
        }
    }

    /// The error of a document that is a text and spells none. Bounds that it exceeds are errors in any case.
    fn syntax_error(&mut self) -> Result<Option<EvalError>, EvalError> {
        let ValueRef::Text(text, _) = self.values[0] else { return Ok(None) };
        self.ctx.spend(text.len() * super::json::WORK_PER_PARSED_BYTE)?;
        let Err(error) = parse(text) else { return Ok(None) };
        error.syntax().map_err(document_error)?;
        let (code, message) = crate::convert::text_error(error, 1, "json_value");
        Ok(Some(EvalError::raised(code, message)))
    }

    fn respond(
        &self,
        response: JsonResponse,
        position: usize,
        error: EvalError,
    ) -> Result<Value, EvalError> {
        match response {
            JsonResponse::Null => Ok(Value::Null),
            JsonResponse::Error => Err(error),
            JsonResponse::Default => Ok(self.values[position + 1].to_value()),
        }
    }
}

/// What an error about a value that the type does not hold names the type.
fn kind_name(target: &ColumnType) -> &'static str {
    match target {
        ColumnType::Int { unsigned: false, .. } => "SIGNED",
        ColumnType::Int { unsigned: true, .. } => "UNSIGNED",
        ColumnType::Float => "FLOAT",
        ColumnType::Double => "DOUBLE",
        ColumnType::Decimal { .. } => "DECIMAL",
        ColumnType::Date => "DATE",
        ColumnType::Time { .. } => "TIME",
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => "DATETIME",
        ColumnType::Json => "JSON",
        _ => "STRING",
    }
}

/// The value of a document in a type; None if the type does not hold it.
fn value_as(value: JsonRef<'_>, target: &ColumnType) -> Option<Value> {
    match *target {
        ColumnType::Json => Some(Value::Json(value.to_document())),
        ColumnType::Int { unsigned, .. } => {
            let number = integer_of(value)?;
            match unsigned {
                true => u64::try_from(number).ok().map(Value::UInt),
                false => i64::try_from(number).ok().map(Value::Int),
            }
        }
        // RETURNING has none of these.
        ColumnType::Labelled(_) | ColumnType::Year | ColumnType::Bit { .. } => None,
        ColumnType::Double => double_of(value).map(Value::Double),
        ColumnType::Float => double_of(value)
            .filter(|number| number.abs() <= f64::from(f32::MAX))
            .map(|number| Value::Float(number as f32)),
        ColumnType::Decimal { precision, scale, .. } => {
            let rounded = decimal_of(value)?.rescale(scale)?;
            rounded.fits(precision, scale).then_some(Value::Decimal(rounded))
        }
        ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::DateTime { .. }
        | ColumnType::Timestamp { .. } => moment_as(value, target),
        ColumnType::Char { length, collation } | ColumnType::Varchar { length, collation } => {
            let text = print::to_unquoted(value);
            let is_short = text.chars().count() <= length as usize;
            is_short.then(|| Value::text(&text, collation))
        }
        ColumnType::Text { collation, .. } => {
            Some(Value::text(&print::to_unquoted(value), collation))
        }
        ColumnType::Binary { length } | ColumnType::Varbinary { length } => {
            let text = print::to_unquoted(value);
            (text.len() <= length as usize).then(|| Value::bytes(text.as_bytes()))
        }
        ColumnType::Blob { .. } => Some(Value::bytes(print::to_unquoted(value).as_bytes())),
    }
}

/// The digits of an integer, with a sign or without one, behind blanks.
fn integer_of_text(text: &str) -> Option<i128> {
    text.trim_start_matches([' ', '\t']).parse().ok()
}

/// The integer that a number rounds to, or that a string spells. A double must be inside of the range of integers with a
/// sign, of which even the least is too small.
fn integer_of(value: JsonRef<'_>) -> Option<i128> {
    match value.view() {
        View::Bool(truth) => Some(i128::from(truth)),
        View::Int(number) => Some(number.into()),
        View::UInt(number) => Some(number.into()),
        View::Double(number) if number.abs() < DOUBLE_BOUND => {
            Some(number.round_ties_even() as i128)
        }
        View::Decimal(number) => number.to_i128_round(),
        View::String(text) => integer_of_text(text),
        _ => None,
    }
}

fn double_of(value: JsonRef<'_>) -> Option<f64> {
    match value.view() {
        View::Bool(truth) => Some(f64::from(u8::from(truth))),
        View::Int(number) => Some(number as f64),
        View::UInt(number) => Some(number as f64),
        View::Double(number) => Some(number),
        View::Decimal(number) => Some(number.to_f64()),
        View::String(text) => {
            let (number, has_junk, has_digits) = number_prefix(text.as_bytes());
            (has_digits && !has_junk).then_some(number)
        }
        _ => None,
    }
}

fn decimal_of(value: JsonRef<'_>) -> Option<Decimal> {
    match value.view() {
        View::Bool(truth) => Some(Decimal::from_i64(truth.into())),
        View::Int(number) => Some(Decimal::from_i64(number)),
        View::UInt(number) => Some(Decimal::from_u64(number)),
        View::Double(number) => Decimal::from_f64(number),
        View::Decimal(number) => Some(number),
        View::String(text) => {
            let (number, used) = Decimal::parse_prefix(text.as_bytes());
            (0 < used && used == text.len()).then_some(number)
        }
        _ => None,
    }
}

/// A date or a time: of its own kind in the document, or a string that spells one.
fn moment_as(value: JsonRef<'_>, target: &ColumnType) -> Option<Value> {
    let own = match value.view() {
        View::String(text) => ValueRef::Text(text, Collation::Utf8mb4Bin),
        View::Date(date) if !matches!(target, ColumnType::Time { .. }) => ValueRef::Date(date),
        View::Time(time) if matches!(target, ColumnType::Time { .. }) => ValueRef::Time(time),
        View::DateTime(moment) => ValueRef::DateTime(moment),
        _ => return None,
    };
    let stored = store(own, target, StoreMode::Strict, &mut ConvertContext::default());
    stored.ok().map(|(value, _)| value)
}

/// The value of a DEFAULT clause in the type that JSON_VALUE returns. The default must be one of the type exactly: 1690 and
/// 1292 otherwise, 3141 for a text that is no document.
pub fn json_value_default(value: &Value, target: &ColumnType) -> Result<Value, EvalError> {
    let out_of_range = || {
        let kind = match target {
            ColumnType::DateTime { .. } => "TIME",
            _ if target.is_string() || target.is_binary() => "CHAR",
            other => kind_name(other),
        };
        let (kind, expression) = (format!("{kind} DEFAULT"), "json_value".to_string());
        EvalError::OutOfRange { kind, expression }
    };
    if let (ColumnType::Json, Value::Text(text, _)) = (target, value) {
        let document = document_of_text(text, 1, "json_value");
        let document = document.map_err(|(code, message)| EvalError::raised(code, message))?;
        return Ok(Value::Json(document));
    }
    let modes = DateModes { allow_invalid_dates: false, ..DateModes::default() };
    let mut cx = ConvertContext::default();
    cx.date_modes = modes;
    let stored = store(value.as_ref(), target, StoreMode::Strict, &mut cx);
    let (stored, problem) = stored.map_err(|error| match error.kind {
        ConvertErrorKind::OutOfRange | ConvertErrorKind::TooLong => out_of_range(),
        _ => unreadable(&error.value, target),
    })?;
    // Digits that the type does not keep.
    let cuts = match (&stored, target) {
        (
            Value::Time(_) | Value::DateTime(_),
            ColumnType::Time { fsp } | ColumnType::DateTime { fsp },
        ) => {
            let finest = match target {
                ColumnType::Time { .. } => ColumnType::Time { fsp: 6 },
                _ => ColumnType::DateTime { fsp: 6 },
            };
            let whole = store(value.as_ref(), &finest, StoreMode::Strict, &mut cx);
            *fsp < 6 && whole.is_ok_and(|(whole, _)| whole != stored)
        }
        (Value::Decimal(kept), _) => to_decimal(value.as_ref(), &mut cx) != *kept,
        _ => problem.is_some(),
    };
    if cuts { Err(out_of_range()) } else { Ok(stored) }
}

/// 1292.
fn unreadable(shown: &str, target: &ColumnType) -> EvalError {
    let message = match target {
        ColumnType::Int { unsigned: false, .. } => "Truncated incorrect INTEGER SIGNED",
        ColumnType::Int { unsigned: true, .. } => "Truncated incorrect INTEGER UNSIGNED",
        ColumnType::Decimal { .. } => "Truncated incorrect DECIMAL",
        ColumnType::Float | ColumnType::Double => "Truncated incorrect DOUBLE",
        ColumnType::Time { .. } => "Truncated incorrect time",
        _ => "Incorrect datetime",
    };
    EvalError::raised(1292, format!("{message} value: '{shown}'"))
}

/// What JSON_TABLE stores into a column of numbers, with the name that errors give the kind of number; None for a value that
/// spells no number.
pub(in crate::expr) fn json_number(
    value: JsonRef<'_>,
    column_type: &ColumnType,
) -> (Option<Value>, &'static str) {
    match column_type {
        ColumnType::Decimal { .. } => (decimal_of(value).map(Value::Decimal), "DECIMAL"),
        ColumnType::Float | ColumnType::Double => (double_of(value).map(Value::Double), "DOUBLE"),
        _ => {
            let number = integer_of(value).and_then(|number| match i64::try_from(number) {
                Ok(number) => Some(Value::Int(number)),
                Err(_) => u64::try_from(number).ok().map(Value::UInt),
            });
            (number, "INTEGER")
        }
    }
}
