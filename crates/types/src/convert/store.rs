//! Assignment of a value to a column.
//!
//! Every rule has two sides: strict mode refuses, lenient mode clamps and reports the same thing as a warning. So the
//! rules compute the clamped value together with what is wrong with it, and one place ([`store`]) decides.

use std::borrow::Cow;
use std::sync::Arc;

use super::number::f64_to_integer;
use super::time::read_moment;
use super::width::format_double_within;
use super::{
    ConvertContext, SqlWarning, WarningLevel, json, number_prefix, shown, to_bytes, to_text,
};
use crate::json::{JsonError, encode, parse};
use crate::temporal::{DateModes, SpelledTime};
use crate::value::{YEAR_RANGE, bit_max, int_range};
use crate::{
    Charset, Collation, ColumnType, DateTime, Decimal, LabelKind, Labels, NumberDisplay, Time,
    Value, ValueRef, wire_enum, wire_struct,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMode {
    /// What does not fit is an error.
    Strict,
    /// INSERT IGNORE, UPDATE IGNORE, sql_mode without STRICT: what does not fit is clamped and warned about.
    Lenient,
}

/// What is wrong with a stored value. The names in messages are MySQL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvertErrorKind {
    /// 1264.
    OutOfRange,
    /// 1406.
    TooLong,
    /// 1265.
    Truncated,
    /// 1366: not a number at all.
    IncorrectInteger,
    IncorrectDecimal,
    /// 1366: bytes or characters that are none of the column's character set.
    IncorrectString,
    /// 1292.
    IncorrectDate,
    IncorrectTime,
    IncorrectDateTime,
    /// 3140: a text that is no JSON document; the value is MySQL's words and the position.
    InvalidJson,
    /// 3144.
    JsonOfBytes,
    /// 3157, 3151, 3150.
    JsonTooDeep,
    JsonNameTooLong,
    JsonTooLarge,
    /// 3156: a JSON value that is nothing of the column's type; the value is the type.
    JsonCast,
}
wire_enum!(ConvertErrorKind {
    0 => OutOfRange, 1 => TooLong, 2 => Truncated, 3 => IncorrectInteger, 4 => IncorrectDecimal,
    5 => IncorrectString, 6 => IncorrectDate, 7 => IncorrectTime, 8 => IncorrectDateTime,
    20 => InvalidJson, 21 => JsonOfBytes, 22 => JsonTooDeep, 23 => JsonNameTooLong,
    24 => JsonTooLarge, 25 => JsonCast,
});

/// Why a value does not fit its column, or fits only in part. The caller knows the column's name and the row's number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertError {
    pub kind: ConvertErrorKind,
    /// The value's text, as the message shows it.
    pub value: String,
    pub level: WarningLevel,
}
wire_struct!(ConvertError { kind, value, level });

impl ConvertError {
    /// Of bytes that are none of a character set.
    pub fn incorrect_string(bytes: &[u8]) -> ConvertError {
        let first = bytes.iter().take(6);
        let mut shown: String = first.map(|&byte| escaped(byte)).collect::<Vec<_>>().concat();
        if bytes.len() > 6 {
            shown.push_str("...");
        }
        ConvertError::new(ConvertErrorKind::IncorrectString, shown)
    }
    fn new(kind: ConvertErrorKind, value: impl AsRef<[u8]>) -> ConvertError {
        ConvertError { kind, value: shown(value.as_ref()), level: WarningLevel::Warning }
    }
    fn note(kind: ConvertErrorKind) -> ConvertError {
        ConvertError { kind, value: String::new(), level: WarningLevel::Note }
    }
    /// MySQL's error number.
    pub fn code(&self) -> u16 {
        match self.kind {
            ConvertErrorKind::OutOfRange => 1264,
            ConvertErrorKind::TooLong => 1406,
            ConvertErrorKind::Truncated => 1265,
            ConvertErrorKind::IncorrectInteger
            | ConvertErrorKind::IncorrectDecimal
            | ConvertErrorKind::IncorrectString => 1366,
            ConvertErrorKind::IncorrectDate
            | ConvertErrorKind::IncorrectTime
            | ConvertErrorKind::IncorrectDateTime => 1292,
            ConvertErrorKind::InvalidJson => 3140,
            ConvertErrorKind::JsonOfBytes => 3144,
            ConvertErrorKind::JsonTooDeep => JsonError::TooDeep.code(),
            ConvertErrorKind::JsonNameTooLong => JsonError::NameTooLong.code(),
            ConvertErrorKind::JsonTooLarge => JsonError::TooLarge.code(),
            ConvertErrorKind::JsonCast => 3156,
        }
    }
    /// MySQL's message; `row` counts from 1.
    pub fn message(&self, column: &str, row: u64) -> String {
        let what = match self.kind {
            ConvertErrorKind::OutOfRange => {
                return format!("Out of range value for column '{column}' at row {row}");
            }
            ConvertErrorKind::TooLong => {
                return format!("Data too long for column '{column}' at row {row}");
            }
            ConvertErrorKind::Truncated => {
                return format!("Data truncated for column '{column}' at row {row}");
            }
            ConvertErrorKind::IncorrectInteger => "integer",
            ConvertErrorKind::IncorrectDecimal => "decimal",
            ConvertErrorKind::IncorrectString => "string",
            ConvertErrorKind::IncorrectDate => "date",
            ConvertErrorKind::IncorrectTime => "time",
            ConvertErrorKind::IncorrectDateTime => "datetime",
            ConvertErrorKind::InvalidJson => {
                let value = &self.value;
                return format!("Invalid JSON text: {value} in value for column '{column}'.");
            }
            ConvertErrorKind::JsonOfBytes => {
                return "Cannot create a JSON value from a string with CHARACTER SET 'binary'."
                    .into();
            }
            ConvertErrorKind::JsonTooDeep => return JsonError::TooDeep.message().into(),
            ConvertErrorKind::JsonNameTooLong => return JsonError::NameTooLong.message().into(),
            ConvertErrorKind::JsonTooLarge => return JsonError::TooLarge.message().into(),
            ConvertErrorKind::JsonCast => {
                let kind = &self.value;
                return format!(
                    "Invalid JSON value for CAST to {kind} from column {column} at row {row}"
                );
            }
        };
        format!("Incorrect {what} value: '{}' for column '{column}' at row {row}", self.value)
    }
    pub fn to_warning(&self, column: &str, row: u64) -> SqlWarning {
        SqlWarning { level: self.level, code: self.code(), message: self.message(column, row) }
    }
}

/// The value a lenient store keeps, what a strict one says of it, and what a lenient one says where MySQL words it
/// differently.
struct Outcome {
    value: Value,
    problem: Option<ConvertError>,
    lenient_kind: Option<ConvertErrorKind>,
}

fn fine(value: Value) -> Outcome {
    Outcome { value, problem: None, lenient_kind: None }
}

fn wrong(value: Value, kind: ConvertErrorKind, shown: impl AsRef<[u8]>) -> Outcome {
    Outcome { value, problem: Some(ConvertError::new(kind, shown)), lenient_kind: None }
}

fn noted(value: Value) -> Outcome {
    let note = ConvertError::note(ConvertErrorKind::Truncated);
    Outcome { value, problem: Some(note), lenient_kind: None }
}

/// Makes `value` one of `column_type`, of exactly the kind, width, scale and precision the row encoding expects. NULL
/// stays NULL: whether the column takes it is the caller's question. The second part is a warning or a note to report.
pub fn store(
    value: ValueRef<'_>,
    column_type: &ColumnType,
    mode: StoreMode,
    cx: &mut ConvertContext,
) -> Result<(Value, Option<ConvertError>), ConvertError> {
    store_displayed(value, column_type, NumberDisplay::default(), mode, cx)
}

/// [`store`] for a column with a display, which limits and rounds floating point numbers.
pub fn store_displayed(
    value: ValueRef<'_>,
    column_type: &ColumnType,
    display: NumberDisplay,
    mode: StoreMode,
    cx: &mut ConvertContext,
) -> Result<(Value, Option<ConvertError>), ConvertError> {
    let outcome = match column_type {
        _ if value.is_null() => fine(Value::Null),
        ColumnType::Json => store_document(value),
        _ if matches!(value, ValueRef::Json(_)) && !is_text(column_type) => {
            match json_scalar(value, column_type) {
                Ok(scalar) => return store_displayed(scalar, column_type, display, mode, cx),
                Err(outcome) => outcome,
            }
        }
        ColumnType::Int { width, unsigned } => {
            store_integer(value, int_range(*width, *unsigned), *unsigned)
        }
        ColumnType::Float => match store_double(value, f64::from(f32::MAX), display) {
            Outcome { value: Value::Double(number), problem, lenient_kind } => {
                Outcome { value: Value::Float(number as f32), problem, lenient_kind }
            }
            other => other,
        },
        ColumnType::Double => store_double(value, f64::MAX, display),
        ColumnType::Decimal { precision, scale, unsigned } => {
            store_decimal(value, *precision, *scale, *unsigned)
        }
        ColumnType::Char { length, collation } => {
            store_text(value, Limit::Characters(*length), *collation, true)
        }
        ColumnType::Varchar { length, collation } => {
            store_text(value, Limit::Characters(*length), *collation, false)
        }
        ColumnType::Text { bytes_max, collation } => {
            store_text(value, Limit::Bytes(*bytes_max), *collation, false)
        }
        ColumnType::Binary { length } => store_bytes(value, *length, true),
        ColumnType::Varbinary { length } => store_bytes(value, *length, false),
        ColumnType::Blob { bytes_max } => store_bytes(value, *bytes_max, false),
        ColumnType::Date => store_date(value, cx),
        ColumnType::Time { fsp } => store_time(value, *fsp, cx),
        ColumnType::DateTime { fsp } => store_datetime(value, *fsp, false, cx),
        ColumnType::Timestamp { fsp } => store_datetime(value, *fsp, true, cx),
        ColumnType::Labelled(labels) => store_label(value, labels),
        ColumnType::Year => store_year(value),
        ColumnType::Bit { length } => store_bits(value, *length),
    };
    match (outcome.problem, mode) {
        (None, _) => Ok((outcome.value, None)),
        (Some(problem), StoreMode::Strict) if problem.level != WarningLevel::Note => Err(problem),
        // Refused in every mode.
        (Some(problem), _) if problem.level == WarningLevel::Error => Err(problem),
        (Some(problem), _) => {
            let kind = outcome.lenient_kind.unwrap_or(problem.kind);
            Ok((outcome.value, Some(ConvertError { kind, ..problem })))
        }
    }
}

fn is_text(column_type: &ColumnType) -> bool {
    column_type.is_string() || column_type.is_binary()
}

/// A document, or a text that spells one. Other values need a CAST, as in MySQL, and there is no document in their place.
fn store_document(value: ValueRef<'_>) -> Outcome {
    let refused = |kind: ConvertErrorKind, shown: String| Outcome {
        value: Value::Null,
        problem: Some(ConvertError { kind, value: shown, level: WarningLevel::Error }),
        lenient_kind: None,
    };
    let bound = |error: JsonError| {
        let kind = match error {
            JsonError::TooDeep => ConvertErrorKind::JsonTooDeep,
            JsonError::NameTooLong => ConvertErrorKind::JsonNameTooLong,
            JsonError::TooLarge => ConvertErrorKind::JsonTooLarge,
        };
        refused(kind, String::new())
    };
    let invalid = |message: &str, position: usize| {
        let shown = format!("\"{message}\" at position {position}");
        refused(ConvertErrorKind::InvalidJson, shown)
    };
    match value {
        ValueRef::Null => fine(Value::Null),
        ValueRef::Json(document) => fine(Value::Json(document.into())),
        ValueRef::Text(text, _) => match parse(text) {
            Ok(document) => match encode(&document) {
                Ok(document) => fine(Value::Json(document)),
                Err(error) => bound(error),
            },
            Err(error) => match error.syntax() {
                Ok((message, position)) => invalid(message, position),
                Err(error) => bound(error),
            },
        },
        ValueRef::Bytes(_) => refused(ConvertErrorKind::JsonOfBytes, String::new()),
        _ => invalid("not a JSON text, may need CAST", 0),
    }
}

/// The scalar of a document that a column of numbers, dates or times takes, or the error of one that has none.
fn json_scalar<'v>(value: ValueRef<'v>, column_type: &ColumnType) -> Result<ValueRef<'v>, Outcome> {
    let ValueRef::Json(document) = value else { return Ok(value) };
    let scalar = match column_type.is_temporal() {
        true => json::moment_of(document),
        false => json::number_of(document),
    };
    let kind = match column_type {
        ColumnType::Int { .. } => "INTEGER",
        ColumnType::Decimal { .. } => "DECIMAL",
        ColumnType::Date => "DATE",
        ColumnType::Time { .. } => "TIME",
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => "DATETIME",
        _ => "DOUBLE",
    };
    match scalar {
        Some(ValueRef::Text(text, _)) if column_type.is_numeric() && !json::spells_number(text) => {
        }
        Some(scalar) => return Ok(scalar),
        None => {}
    }
    Err(wrong(column_type.implicit_default().to_value(), ConvertErrorKind::JsonCast, kind))
}

fn store_integer(value: ValueRef<'_>, (low, high): (i128, i128), unsigned: bool) -> Outcome {
    let kept = |number: i128| {
        if unsigned {
            Value::UInt(u64::try_from(number).expect("clamped to an unsigned range"))
        } else {
            Value::Int(i64::try_from(number).expect("clamped to a signed range"))
        }
    };
    let ranged = |number: i128| {
        let clamped = number.clamp(low, high);
        if clamped == number {
            fine(kept(number))
        } else {
            wrong(kept(clamped), ConvertErrorKind::OutOfRange, "")
        }
    };
    match value {
        ValueRef::Null => fine(Value::Null),
        ValueRef::Int(v) => ranged(i128::from(v)),
        ValueRef::UInt(v) | ValueRef::Label(v, _) => ranged(i128::from(v)),
        ValueRef::Float(v) => ranged(double_to_wide(f64::from(v))),
        ValueRef::Double(v) => ranged(double_to_wide(v)),
        ValueRef::Decimal(v) => ranged(decimal_to_wide(v)),
        ValueRef::Text(..) | ValueRef::Bytes(_) => {
            let bytes = to_bytes(value);
            let (number, used) = Decimal::parse_prefix(&bytes);
            if used == 0 {
                return wrong(kept(low.max(0)), ConvertErrorKind::IncorrectInteger, &bytes);
            }
            let outcome = ranged(decimal_to_wide(number));
            if outcome.problem.is_none() && !bytes[used..].iter().all(|&b| super::is_space(b)) {
                return wrong(outcome.value, ConvertErrorKind::Truncated, &bytes);
            }
            outcome
        }
        ValueRef::Date(v) => ranged(i128::from(v.to_number())),
        ValueRef::Time(v) => ranged(i128::from(v.round(0).to_number())),
        ValueRef::DateTime(v) => ranged(i128::from(v.round(0).unwrap_or(v).to_number())),
        ValueRef::Json(_) => unreachable!("its scalar is stored"),
    }
}

/// Beyond any integer column stays beyond.
fn double_to_wide(value: f64) -> i128 {
    if value.abs() < 1.9e19 { f64_to_wide_exact(value) } else { value as i128 }
}

fn f64_to_wide_exact(value: f64) -> i128 {
    let rounded = value.round_ties_even();
    let inside = f64_to_integer(value);
    if inside as f64 == rounded { inside } else { rounded as i128 }
}

fn decimal_to_wide(value: Decimal) -> i128 {
    let beyond = if value.is_negative() { i128::MIN } else { i128::MAX };
    value.to_i128_round().unwrap_or(beyond)
}

fn store_double(value: ValueRef<'_>, type_limit: f64, display: NumberDisplay) -> Outcome {
    let high = display.limit().unwrap_or(type_limit).min(type_limit);
    let low = if display.is_unsigned { 0.0 } else { -high };
    let (number, junk) = match value {
        ValueRef::Null => return fine(Value::Null),
        ValueRef::Float(v) => (f64::from(v), false),
        ValueRef::Text(..) | ValueRef::Bytes(_) => {
            let (number, junk, digits) = number_prefix(&to_bytes(value));
            // A number beyond all doubles, which is read as the largest of them.
            if junk && number.abs() == f64::MAX {
                let clamped = Value::Double(number.clamp(low, high));
                return wrong(clamped, ConvertErrorKind::OutOfRange, "");
            }
            (number, junk || !digits)
        }
        _ => (super::to_f64(value, &mut ConvertContext::default()), false),
    };
    // The sign before the digits are rounded, which may leave nothing of a number below zero.
    let number = if number < low { number } else { display.rounded(number) };
    let clamped = number.clamp(low, high);
    if junk {
        return wrong(Value::Double(clamped), ConvertErrorKind::Truncated, to_bytes(value));
    }
    if clamped != number {
        return wrong(Value::Double(clamped), ConvertErrorKind::OutOfRange, "");
    }
    fine(Value::Double(number))
}

fn store_decimal(value: ValueRef<'_>, precision: u8, scale: u8, unsigned: bool) -> Outcome {
    let mut junk = false;
    let number = match value {
        ValueRef::Null => return fine(Value::Null),
        ValueRef::Float(v) => Decimal::from_f64(f64::from(v)),
        ValueRef::Double(v) => Decimal::from_f64(v),
        ValueRef::Text(..) | ValueRef::Bytes(_) => {
            let bytes = to_bytes(value);
            let (number, used) = Decimal::parse_prefix(&bytes);
            if used == 0 {
                let zero = Decimal::from_parts(0, scale);
                return wrong(Value::Decimal(zero), ConvertErrorKind::IncorrectDecimal, &bytes);
            }
            junk = !bytes[used..].iter().all(|&b| super::is_space(b));
            Some(number)
        }
        _ => Some(super::to_decimal(value, &mut ConvertContext::default())),
    };
    // The sign before the digits are rounded, which may leave nothing of a number below zero.
    let negative = match (number, value) {
        (Some(number), _) => number.is_negative(),
        (None, ValueRef::Double(v)) => v < 0.0,
        (None, _) => false,
    };
    let rounded = number.and_then(|number| number.rescale(scale));
    match rounded {
        Some(rounded) if rounded.fits(precision, scale) && !(unsigned && negative) => {
            let kept = Value::Decimal(rounded);
            // A double says nothing of how many digits it meant: no note for those.
            let exact = !matches!(value, ValueRef::Double(_) | ValueRef::Float(_));
            if junk {
                wrong(kept, ConvertErrorKind::IncorrectDecimal, to_bytes(value))
            } else if exact && number != Some(rounded) {
                noted(kept)
            } else {
                fine(kept)
            }
        }
        _ => {
            let largest = Decimal::max_value(precision, scale);
            let clamped = match (negative, unsigned) {
                (false, _) => largest,
                (true, false) => largest.neg(),
                (true, true) => Decimal::from_parts(0, scale),
            };
            wrong(Value::Decimal(clamped), ConvertErrorKind::OutOfRange, "")
        }
    }
}

#[derive(Clone, Copy)]
enum Limit {
    Characters(u32),
    Bytes(u32),
}

/// The bytes of `text`, as UTF-8, within the limit, at a character's border.
fn limit_end(text: &str, limit: Limit, charset: Charset) -> usize {
    match limit {
        // As many bytes are as many characters at most: no need to count.
        Limit::Characters(count) | Limit::Bytes(count) if text.len() <= count as usize => {
            text.len()
        }
        Limit::Characters(count) => {
            text.char_indices().nth(count as usize).map_or(text.len(), |(end, _)| end)
        }
        Limit::Bytes(count) => charset.prefix_of_size(text, count as usize),
    }
}

/// What is wrong with a string some of whose bytes are no characters of the column's character set:
/// `rest` begins there.
fn incorrect_string(kept: Value, rest: &[u8]) -> Outcome {
    let problem = Some(ConvertError::incorrect_string(rest));
    Outcome { value: kept, problem, lenient_kind: None }
}

fn store_text(
    value: ValueRef<'_>,
    limit: Limit,
    collation: Collation,
    fixed_length: bool,
) -> Outcome {
    let charset = collation.charset();
    let text = match value {
        ValueRef::Null => return fine(Value::Null),
        ValueRef::Bytes(bytes) => match charset.decode_exactly(bytes) {
            Ok(text) => text,
            Err(valid) => {
                let (valid, rest) = bytes.split_at(valid);
                let valid = std::str::from_utf8(valid).expect("well formed up to here");
                let end = limit_end(valid, limit, charset);
                let kept = Value::Text(valid[..end].into(), collation);
                return incorrect_string(kept, rest);
            }
        },
        // A character that the column's character set lacks is shown by its bytes in its own one.
        ValueRef::Text(text, own) if !charset.holds(text) => {
            let replaced = charset.replace_missing(text);
            let end = limit_end(&replaced, limit, charset);
            let kept = &replaced[..end];
            let kept = if fixed_length { kept.trim_end_matches(' ') } else { kept };
            let rest = &text[charset.held_prefix(text)..];
            let kept = Value::Text(kept.into(), collation);
            return incorrect_string(kept, &own.charset().encode(rest));
        }
        ValueRef::Float(_) | ValueRef::Double(_) => match double_text(value, limit) {
            Ok(text) => Cow::Owned(text),
            Err(text) => {
                let kept = Value::Text(text.into(), collation);
                let outcome = wrong(kept, ConvertErrorKind::TooLong, "");
                let lenient_kind = Some(ConvertErrorKind::Truncated);
                return Outcome { lenient_kind, ..outcome };
            }
        },
        _ => to_text(value),
    };
    let end = limit_end(&text, limit, charset);
    let mut kept = &text[..end];
    let lost = &text[end..];
    if fixed_length {
        // CHAR is kept without its padding.
        kept = kept.trim_end_matches(' ');
    }
    let kept = Value::Text(kept.into(), collation);
    if lost.is_empty() {
        return fine(kept);
    }
    if !lost.bytes().all(|b| b == b' ') {
        let outcome = wrong(kept, ConvertErrorKind::TooLong, "");
        return Outcome { lenient_kind: Some(ConvertErrorKind::Truncated), ..outcome };
    }
    if fixed_length { fine(kept) } else { noted(kept) }
}

/// A floating point number as a text of bounded length, shortened where it may be; an error has the text that is left
/// of a number that has no room. TEXT and BLOB keep its whole text.
fn double_text(value: ValueRef<'_>, limit: Limit) -> Result<String, String> {
    let number = super::to_f64(value, &mut ConvertContext::default());
    let width = match limit {
        Limit::Characters(width) => width as usize,
        Limit::Bytes(_) => return Ok(to_text(value).into_owned()),
    };
    format_double_within(number, width).ok_or_else(|| {
        // One digit and the exponent, cut off.
        let mut text = format!("{number:.0e}");
        text.truncate(width);
        text
    })
}

/// A label by its text, or by its number if the value is one.
fn store_label(value: ValueRef<'_>, labels: &Arc<Labels>) -> Outcome {
    let kept = |number: u64| Value::Label(number, labels.clone());
    let number = match value {
        ValueRef::Null => return fine(Value::Null),
        ValueRef::Label(number, own) if own == labels => return fine(kept(number)),
        // The label of a value that was none stays that.
        ValueRef::Label(0, own) if own.kind() == LabelKind::Enum && labels.kind() == own.kind() => {
            return fine(kept(0));
        }
        ValueRef::Int(number) => i128::from(number),
        ValueRef::UInt(number) => i128::from(number),
        // Numbers of labels are cut off at the point.
        ValueRef::Float(number) => number.trunc() as i128,
        ValueRef::Double(number) => number.trunc() as i128,
        ValueRef::Decimal(number) => number.floor().map_or(-1, decimal_to_wide),
        _ => {
            return match labels.number(&to_text(value)) {
                (number, true) => fine(kept(number)),
                (number, false) => wrong(kept(number), ConvertErrorKind::Truncated, ""),
            };
        }
    };
    // An ENUM has no label 0; of a SET's number the bits that have labels are kept.
    let own = match labels.kind() {
        LabelKind::Enum => u64::try_from(number).ok().filter(|own| *own <= labels.number_max()),
        LabelKind::Set => Some(number as u64 & labels.number_max()),
    };
    match own {
        Some(own) if i128::from(own) == number && (own != 0 || labels.kind() == LabelKind::Set) => {
            fine(kept(own))
        }
        own => wrong(kept(own.unwrap_or(0)), ConvertErrorKind::Truncated, ""),
    }
}

/// A year of four digits, or of two: those below 70 are of this century. The number 0 is the year 0, the text '0' is 2000.
fn store_year(value: ValueRef<'_>) -> Outcome {
    let kept = |year: i128| Value::UInt(u64::try_from(year).unwrap_or(0));
    let (number, is_text, is_complete) = match value {
        ValueRef::Null => return fine(Value::Null),
        ValueRef::Date(date) => (i128::from(date.year()), false, true),
        ValueRef::DateTime(moment) => (i128::from(moment.date().year()), false, true),
        ValueRef::Label(number, _) => (i128::from(number), false, true),
        ValueRef::Text(..) | ValueRef::Bytes(_) => {
            let bytes = to_bytes(value);
            let (number, used) = Decimal::parse_prefix(&bytes);
            if used == 0 {
                return wrong(kept(0), ConvertErrorKind::IncorrectInteger, &bytes);
            }
            let is_complete = bytes[used..].iter().all(|&byte| super::is_space(byte));
            // '0000' is a year of four digits.
            (decimal_to_wide(number), bytes.len() != 4, is_complete)
        }
        _ => (super::to_integer(value, &mut ConvertContext::default()), false, true),
    };
    let year = match number {
        0 if is_text => 2000,
        0 => 0,
        1..=69 => 2000 + number,
        70..=99 => 1900 + number,
        _ if u64::try_from(number).is_ok_and(|year| YEAR_RANGE.contains(&year)) => number,
        _ => return wrong(kept(0), ConvertErrorKind::OutOfRange, ""),
    };
    match is_complete {
        true => fine(kept(year)),
        false => wrong(kept(year), ConvertErrorKind::Truncated, ""),
    }
}

/// Bits of a number, or those of the bytes of a text. Lenient mode keeps ones where there are too many.
fn store_bits(value: ValueRef<'_>, length: u8) -> Outcome {
    let bits = match value {
        ValueRef::Null => return fine(Value::Null),
        ValueRef::Label(number, _) => Some(number),
        ValueRef::Text(..) | ValueRef::Bytes(_) => {
            let bytes = to_bytes(value);
            let start = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
            match &bytes[start..] {
                significant if significant.len() <= 8 => {
                    Some(significant.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
                }
                _ => None,
            }
        }
        _ => {
            let number = super::to_integer(value, &mut ConvertContext::default());
            // A negative number is its 64 bits.
            i64::try_from(number).map(i64::cast_unsigned).or(u64::try_from(number)).ok()
        }
    };
    match bits {
        Some(bits) if bits <= bit_max(length) => fine(Value::UInt(bits)),
        _ => {
            let outcome = wrong(Value::UInt(bit_max(length)), ConvertErrorKind::TooLong, "");
            Outcome { lenient_kind: Some(ConvertErrorKind::OutOfRange), ..outcome }
        }
    }
}

fn escaped(byte: u8) -> String {
    match byte {
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    }
}

/// Longer binary columns have room for every number.
const BINARY_SHORTENED_MAX: u32 = 255;

fn store_bytes(value: ValueRef<'_>, length: u32, fixed_length: bool) -> Outcome {
    if value.is_null() {
        return fine(Value::Null);
    }
    let mut bytes = match (value, fixed_length) {
        (ValueRef::Float(_) | ValueRef::Double(_), _) if length <= BINARY_SHORTENED_MAX => {
            // The text that does not fit is too long below.
            let fitting = double_text(value, Limit::Characters(length));
            fitting.unwrap_or_else(|_| to_text(value).into_owned()).into_bytes()
        }
        _ => to_bytes(value).into_owned(),
    };
    let length = length as usize;
    if bytes.len() > length {
        bytes.truncate(length);
        let outcome = wrong(Value::Bytes(bytes.into()), ConvertErrorKind::TooLong, "");
        return Outcome { lenient_kind: Some(ConvertErrorKind::Truncated), ..outcome };
    }
    if fixed_length {
        bytes.resize(length, 0);
    }
    fine(Value::Bytes(bytes.into()))
}

/// Why a value is no date of a column.
enum Unfit {
    /// It spells no date.
    Unreadable,
    /// It spells one that no calendar has and the SQL mode does not admit.
    OutOfRange,
}

/// The date a column gets, and whether all of the value was read. A TIMESTAMP holds no date outside of the calendar but
/// the zero date.
fn moment_to_store(
    value: ValueRef<'_>,
    timestamp: bool,
    cx: &ConvertContext,
) -> Result<(DateTime, bool), Unfit> {
    let modes = DateModes {
        no_zero_in_date: cx.date_modes.no_zero_in_date || timestamp,
        allow_invalid_dates: cx.date_modes.allow_invalid_dates && !timestamp,
        ..cx.date_modes
    };
    let any_day = DateModes { allow_invalid_dates: true, ..modes };
    let mut quiet = cx.quiet();
    let moment = read_moment(value, any_day, &mut quiet).ok_or(Unfit::Unreadable)?;
    let date = moment.value.date();
    let is_refused = if moment.value.is_zero() {
        modes.no_zero_date
    } else if date.is_partial() {
        modes.no_zero_in_date
    } else {
        !modes.allow_invalid_dates && !date.is_real()
    };
    if is_refused {
        return Err(Unfit::OutOfRange);
    }
    Ok((moment.value, moment.complete && quiet.warnings.total() == 0))
}

fn store_date(value: ValueRef<'_>, cx: &ConvertContext) -> Outcome {
    use ConvertErrorKind::IncorrectDate;
    let zero = Value::Date(crate::Date::ZERO);
    let (datetime, complete) = match moment_to_store(value, false, cx) {
        Ok(read) => read,
        Err(Unfit::Unreadable) => return unreadable(zero, IncorrectDate, value),
        Err(Unfit::OutOfRange) => return out_of_range(zero, IncorrectDate, value),
    };
    let date = datetime.date();
    if !complete {
        return unreadable(Value::Date(date), IncorrectDate, value);
    }
    let time_lost = datetime != date.at_midnight() && !matches!(value, ValueRef::Time(_));
    if time_lost { noted(Value::Date(date)) } else { fine(Value::Date(date)) }
}

/// The first and the last second a TIMESTAMP holds: 1970-01-01 00:00:01 and 2038-01-19 03:14:07, UTC.
const TIMESTAMP_RANGE: std::ops::RangeInclusive<i64> = 1..=0x7fff_ffff;

fn store_datetime(value: ValueRef<'_>, fsp: u8, timestamp: bool, cx: &ConvertContext) -> Outcome {
    use ConvertErrorKind::IncorrectDateTime;
    let zero = || Value::DateTime(DateTime::ZERO);
    let (datetime, complete) = match moment_to_store(value, timestamp, cx) {
        Ok(read) => read,
        Err(Unfit::Unreadable) => return unreadable(zero(), IncorrectDateTime, value),
        Err(Unfit::OutOfRange) => return out_of_range(zero(), IncorrectDateTime, value),
    };
    let Some(adjusted) = datetime.adjust(fsp, cx.date_modes) else {
        return out_of_range(zero(), IncorrectDateTime, value);
    };
    if timestamp && !adjusted.is_zero() {
        // The value is in session time.
        let offset = i64::from(cx.time_zone_offset_seconds);
        let utc_seconds = adjusted.unix_seconds().map(|seconds| seconds - offset);
        if !utc_seconds.is_some_and(|seconds| TIMESTAMP_RANGE.contains(&seconds)) {
            return out_of_range(zero(), IncorrectDateTime, value);
        }
    }
    if !complete {
        return unreadable(Value::DateTime(adjusted), IncorrectDateTime, value);
    }
    fine(Value::DateTime(adjusted))
}

fn store_time(value: ValueRef<'_>, fsp: u8, cx: &ConvertContext) -> Outcome {
    use ConvertErrorKind::IncorrectTime;
    let modes = cx.date_modes;
    let (time, complete, clamped) = match value {
        ValueRef::Null => return fine(Value::Null),
        ValueRef::Time(v) => (Some(v), true, false),
        ValueRef::DateTime(v) => return noted(Value::Time(v.time().adjust(fsp, modes))),
        ValueRef::Date(_) => return noted(Value::Time(Time::ZERO)),
        ValueRef::Json(_) => unreachable!("its scalar is stored"),
        ValueRef::Text(..) | ValueRef::Bytes(_) | ValueRef::Label(..) => {
            match Time::spell(&to_text(value), modes) {
                Some(SpelledTime::Time(parsed)) => {
                    (Some(parsed.value), parsed.complete, parsed.clamped)
                }
                Some(SpelledTime::Moment(parsed)) => {
                    (Some(parsed.value.time()), parsed.complete, false)
                }
                None => (None, false, false),
            }
        }
        ValueRef::Int(_)
        | ValueRef::UInt(_)
        | ValueRef::Float(_)
        | ValueRef::Double(_)
        | ValueRef::Decimal(_) => {
            let mut quiet = cx.quiet();
            let number = super::to_f64(value, &mut quiet);
            let time = super::to_time(value, &mut quiet);
            let limit = if number < 0.0 { Time::MIN } else { Time::MAX };
            match time {
                None if number.abs() > 8_385_959.0 => (Some(limit), true, true),
                time => (time, time.is_some(), quiet.warnings.total() > 0),
            }
        }
    };
    let Some(time) = time else {
        return unreadable(Value::Time(Time::ZERO), IncorrectTime, value);
    };
    let kept = Value::Time(time.adjust(fsp, modes));
    if clamped {
        return out_of_range(kept, IncorrectTime, value);
    }
    if !complete {
        return unreadable(kept, IncorrectTime, value);
    }
    fine(kept)
}

/// Strict: "Incorrect date value: ..."; lenient: "Data truncated".
fn unreadable(kept: Value, kind: ConvertErrorKind, value: ValueRef<'_>) -> Outcome {
    if value.is_null() {
        return fine(Value::Null);
    }
    let outcome = wrong(kept, kind, to_bytes(value));
    Outcome { lenient_kind: Some(ConvertErrorKind::Truncated), ..outcome }
}

/// Strict: "Incorrect date value: ..."; lenient: "Out of range".
fn out_of_range(kept: Value, kind: ConvertErrorKind, value: ValueRef<'_>) -> Outcome {
    let outcome = wrong(kept, kind, to_bytes(value));
    Outcome { lenient_kind: Some(ConvertErrorKind::OutOfRange), ..outcome }
}
