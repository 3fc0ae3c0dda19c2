//! The values of literals, in their character sets.

use types::convert;
use types::temporal::SpelledTime;
use types::{Charset, Collation, DateTime, Decimal, Time, Value};

use super::{Binder, Environment};
use crate::error::{SqlError, code};
use crate::parser::ast;

/// The value of a literal; strings get the connection's collation, and dates are those that the SQL
/// mode admits.
pub fn literal_value(literal: &ast::Literal, environment: &Environment) -> Result<Value, SqlError> {
    let modes = environment.sql_mode.date_modes();
    let admits = |value: DateTime| {
        if value.is_zero() {
            !modes.no_zero_date
        } else {
            !(modes.no_zero_in_date && value.date().is_partial())
        }
    };
    let temporal = |kind: &str, text: &[u8]| {
        SqlError::new(1525, format!("Incorrect {kind} value: '{}'", String::from_utf8_lossy(text)))
    };
    Ok(match literal {
        ast::Literal::Null => Value::Null,
        ast::Literal::Bool(truth) => Value::Int(i64::from(*truth)),
        ast::Literal::Integer(number) => match i64::try_from(*number) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::UInt(*number),
        },
        ast::Literal::Decimal(text) => {
            Value::Decimal(Decimal::parse(text).ok_or_else(|| too_large_number(text))?)
        }
        ast::Literal::Float(number) => Value::Double(*number),
        ast::Literal::String(bytes) => text_value(bytes.clone(), environment),
        ast::Literal::CharsetString { charset, value, .. } => introduced_value(charset, value)?,
        ast::Literal::Hex(bytes) | ast::Literal::Bits(bytes) => {
            Value::Bytes(bytes.as_slice().into())
        }
        ast::Literal::Date(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| temporal("DATE", bytes))?;
            let parsed = DateTime::parse_with(text, modes)
                .filter(|parsed| parsed.complete && !parsed.has_time && admits(parsed.value));
            Value::Date(parsed.ok_or_else(|| temporal("DATE", bytes))?.value.date())
        }
        ast::Literal::Time(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| temporal("TIME", bytes))?;
            match Time::spell(text, modes) {
                Some(SpelledTime::Time(parsed)) if parsed.complete && !parsed.clamped => {
                    Value::Time(parsed.value)
                }
                _ => return Err(temporal("TIME", bytes)),
            }
        }
        ast::Literal::Timestamp(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| temporal("DATETIME", bytes))?;
            let parsed = DateTime::parse_with(text, modes)
                .filter(|parsed| parsed.complete && parsed.has_time && admits(parsed.value));
            let parsed = parsed.ok_or_else(|| temporal("DATETIME", bytes))?;
            if parsed.offset_minutes.is_some() {
                return Err(SqlError::not_supported("a time zone offset in TIMESTAMP'...'"));
            }
            Value::DateTime(parsed.value)
        }
    })
}

pub fn too_large_number(text: &str) -> SqlError {
    SqlError::new(
        code::ER_DATA_OUT_OF_RANGE,
        format!("DECIMAL value is out of range in '{}'", text.chars().take(80).collect::<String>()),
    )
}

/// The value of `_charset'...'`: its bytes are those of the character set; 1300 if they are none.
fn introduced_value(charset: &str, bytes: &[u8]) -> Result<Value, SqlError> {
    let charset =
        Charset::by_name(charset).ok_or_else(|| SqlError::unknown_character_set(charset))?;
    if charset == Charset::Binary {
        return Ok(Value::Bytes(bytes.into()));
    }
    match charset.decode_exactly(bytes) {
        Ok(text) => Ok(Value::text(&text, charset.default_collation())),
        Err(valid) => {
            let message = convert::invalid_string(charset, &bytes[valid..]);
            Err(SqlError::new(code::ER_INVALID_CHARACTER_STRING, message))
        }
    }
}

/// Text if it is UTF-8, else bytes: clients put binary values into string literals. A character
/// that the connection's character set lacks is `?`, unless the client says that it writes in it:
/// then its bytes are none of its characters.
pub fn text_value(bytes: Vec<u8>, environment: &Environment) -> Value {
    let collation = environment.collation;
    let charset = collation.charset();
    if collation.is_binary() {
        return Value::Bytes(bytes.into());
    }
    match String::from_utf8(bytes) {
        Ok(text) if charset.holds(&text) => Value::Text(text.into(), collation),
        Ok(text) if environment.client == charset => Value::Bytes(text.into_bytes().into()),
        Ok(text) => Value::text(&charset.replace_missing(&text), collation),
        Err(error) => Value::Bytes(error.into_bytes().into()),
    }
}

/// A warning about the name of a character set: 3719 for its old name, 1287 for utf8mb3.
pub fn charset_warning(charset: &str) -> Option<SqlError> {
    if charset.eq_ignore_ascii_case("utf8") {
        return Some(SqlError::new(
            code::ER_DEPRECATED_UTF8_ALIAS,
            "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a \
             future release. Please consider using UTF8MB4 in order to be unambiguous.",
        ));
    }
    charset.eq_ignore_ascii_case("utf8mb3").then(|| {
        SqlError::new(
            code::ER_WARN_DEPRECATED_SYNTAX,
            "'utf8mb3' is deprecated and will be removed in a future release. Please use utf8mb4 instead",
        )
    })
}

/// Warning 3778 about a collation of utf8mb3.
pub fn collation_warning(collation: &str) -> Option<SqlError> {
    let own = Collation::by_name(collation).filter(|own| own.charset() == Charset::Utf8mb3)?;
    let message = format!(
        "'{}' is a collation of the deprecated character set UTF8MB3. Please consider using UTF8MB4 with an \
         appropriate collation instead.",
        own.name()
    );
    Some(SqlError::new(code::ER_WARN_DEPRECATED_UTF8MB3_COLLATION, message))
}

impl Binder<'_> {
    /// Warns of a character set that the statement names. The text of a view warned when it was
    /// written.
    pub fn warn_of_charset(&mut self, charset: &str, is_national: bool) {
        let national = || {
            SqlError::new(
                code::ER_DEPRECATED_NATIONAL,
                "NATIONAL/NCHAR/NVARCHAR implies the character set UTF8MB3, which will be replaced by UTF8MB4 in a \
                 future release. Please consider using CHAR(x) CHARACTER SET UTF8MB4 in order to be unambiguous.",
            )
        };
        let warning = if is_national { Some(national()) } else { charset_warning(charset) };
        if let Some(warning) = warning.filter(|_| self.views.is_empty()) {
            self.warn(warning);
        }
    }
    pub fn warn_of_collation(&mut self, collation: &str) {
        if let Some(warning) = collation_warning(collation).filter(|_| self.views.is_empty()) {
            self.warn(warning);
        }
    }
    /// The default collation of a character set that the statement names.
    pub fn default_collation(
        &mut self,
        charset: &str,
        is_national: bool,
    ) -> Result<Collation, SqlError> {
        self.warn_of_charset(charset, is_national);
        Collation::default_of_charset(charset)
            .ok_or_else(|| SqlError::unknown_character_set(charset))
    }
}
