//! Parameters of the wire as values.

use types::{Charset, Collation, Date, DateTime, Decimal, Time, Value};

use crate::command::{DateTimeParts, Parameter};

/// The parameter's text where it is not a value of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IllegalValue {
    pub kind: &'static str,
    pub text: String,
}

/// The value of a parameter that a client wrote in `charset`. `collation` is the connection's; long data is the caller's to
/// have replaced.
pub fn value_of(
    parameter: Parameter<'_>,
    charset: Charset,
    collation: Collation,
) -> Result<Value, IllegalValue> {
    let illegal = |kind, text: String| IllegalValue { kind, text };
    match parameter {
        Parameter::Null => Ok(Value::Null),
        Parameter::Long { text } => Ok(bytes_value(&[], text, charset, collation)),
        Parameter::Int(value) => Ok(Value::Int(value)),
        Parameter::UInt(value) => Ok(Value::UInt(value)),
        Parameter::Float(value) if !value.is_finite() => Err(illegal("float", value.to_string())),
        Parameter::Float(value) => Ok(Value::Float(value)),
        Parameter::Double(value) if !value.is_finite() => Err(illegal("double", value.to_string())),
        Parameter::Double(value) => Ok(Value::Double(value)),
        Parameter::Decimal(digits) => std::str::from_utf8(digits)
            .ok()
            .and_then(Decimal::parse)
            .map(Value::Decimal)
            .ok_or_else(|| {
                let shown = &digits[..digits.len().min(100)];
                illegal("decimal", String::from_utf8_lossy(shown).into_owned())
            }),
        Parameter::Text(bytes) => Ok(bytes_value(bytes, true, charset, collation)),
        Parameter::Bytes(bytes) => Ok(bytes_value(bytes, false, charset, collation)),
        Parameter::Date { year, month, day } => Date::new(year, month, day)
            .map(Value::Date)
            .ok_or_else(|| illegal("date", format!("{year}-{month}-{day}"))),
        Parameter::DateTime(parts) => datetime_of(parts)
            .map(Value::DateTime)
            .ok_or_else(|| illegal("datetime", format!("{parts:?}"))),
        Parameter::Time { negative, days, hour, minute, second, microsecond } => {
            if minute > 59 || second > 59 || microsecond > 999_999 {
                return Err(illegal("time", format!("{days} {hour}:{minute}:{second}")));
            }
            // u32 days are at most 3.7e14 seconds: no overflow. Beyond 838:59:59 the limit is taken, as MySQL does.
            let hours = i64::from(days) * 24 + i64::from(hour);
            let seconds = (hours * 60 + i64::from(minute)) * 60 + i64::from(second);
            let micros = seconds.saturating_mul(1_000_000).saturating_add(microsecond.into());
            Ok(Value::Time(Time::from_micros_clamped(if negative { -micros } else { micros })))
        }
    }
}

fn datetime_of(parts: DateTimeParts) -> Option<DateTime> {
    let date = Date::new(parts.year, parts.month, parts.day)?;
    DateTime::new(
        date,
        parts.hour.into(),
        parts.minute.into(),
        parts.second.into(),
        parts.microsecond,
    )
}

/// Characters where the type says so and the bytes are UTF-8. Drivers bind byte strings as characters too (Go's does), so
/// anything else stays bytes.
pub fn bytes_value(bytes: &[u8], text: bool, charset: Charset, collation: Collation) -> Value {
    if !text || collation.is_binary() {
        return Value::Bytes(bytes.into());
    }
    if charset == collation.charset() {
        return match charset.decode_exactly(bytes) {
            Ok(text) => Value::text(&text, collation),
            Err(_) => Value::Bytes(bytes.into()),
        };
    }
    let characters = charset.decode(bytes);
    match std::str::from_utf8(&characters) {
        // A character that the connection's character set lacks is `?`.
        Ok(characters) => Value::text(&collation.charset().replace_missing(characters), collation),
        Err(_) => Value::Bytes(bytes.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client binds, by its character set and the connection's collation.
    #[test]
    fn texts_and_bytes() {
        let text = |text, collation| Value::text(text, collation);
        for (bytes, is_text, charset, collation, expected) in [
            (
                &b"\xe9\x80"[..],
                true,
                Charset::Latin1,
                Collation::Latin1SwedishCi,
                text("é€", Collation::Latin1SwedishCi),
            ),
            (b"\xe9", true, Charset::Latin1, Collation::DEFAULT, text("é", Collation::DEFAULT)),
            (
                "éΩ".as_bytes(),
                true,
                Charset::Utf8mb4,
                Collation::Latin1Bin,
                text("é?", Collation::Latin1Bin),
            ),
            (b"\xe9", true, Charset::Utf8mb4, Collation::DEFAULT, Value::bytes(b"\xe9")),
            (b"\xe9", true, Charset::Ascii, Collation::DEFAULT, text("?", Collation::DEFAULT)),
            (b"\xe9", true, Charset::Ascii, Collation::AsciiBin, Value::bytes(b"\xe9")),
            (
                "é😀".as_bytes(),
                true,
                Charset::Utf8mb3,
                Collation::Utf8mb3Bin,
                Value::bytes("é😀".as_bytes()),
            ),
            (b"\xe9", false, Charset::Latin1, Collation::Latin1Bin, Value::bytes(b"\xe9")),
            (b"a", true, Charset::Binary, Collation::Binary, Value::bytes(b"a")),
        ] {
            let value = bytes_value(bytes, is_text, charset, collation);
            assert_eq!(value, expected, "{bytes:?} {charset:?} {collation:?}");
        }
    }
}
