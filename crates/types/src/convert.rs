//! Values from one kind to another, as MySQL does it.
//!
//! Four different jobs go by the name of conversion, and they disagree on purpose:
//!
//! - **Reading as** ([`to_f64`], [`to_decimal`], [`to_datetime`], ...): an operator wants another kind. Takes what it
//!   can, warns about the rest ("Truncated incorrect DOUBLE value"), never fails.
//! - **Casting** ([`cast`]): CAST(x AS type). Like reading, with the length and the precision of the target.
//! - **Merging** ([`to_type`]): a branch of IF becomes what all of its branches are. Loses nothing.
//! - **Storing** ([`store`]): assignment to a column. In strict mode what does not fit is an error that names the
//!   column; in lenient mode (INSERT IGNORE, sql_mode without STRICT) it is clamped and warned about.
//!
//! [`compare`] decides by the two kinds which of them two values meet in. A column name or a row number is not known
//! here: the caller of `store` adds them to the message.

#[cfg(test)]
mod charset_tests;
mod compare;
mod json;
mod merge;
mod number;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod time;
mod width;

pub(crate) use compare::is_number;
pub use compare::{compare, group_key, plain_integer, sort_compare};
pub use json::{document_of_text, text_error};
pub use merge::to_type;
pub use number::{is_true, number_prefix, to_decimal, to_f64, to_integer};
pub use store::{ConvertError, ConvertErrorKind, StoreMode, store, store_displayed};
pub use text::{
    cast, declared_text, format_double, format_float, has_declared_text, invalid_string,
    number_to_text, to_bytes, to_text,
};
pub use time::{
    TimeOrMoment, cast_datetime, constant_datetime, to_date, to_datetime, to_fuzzy_datetime,
    to_fuzzy_moment, to_moment, to_time, to_time_or_moment,
};

use crate::temporal::DateModes;
use crate::{DateTime, wire_enum, wire_struct};

/// Most warnings kept of one statement (MySQL's largest useful max_error_count); the rest are only counted.
pub const WARNING_COUNT_MAX: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningLevel {
    Note,
    Warning,
    Error,
}
wire_enum!(WarningLevel { 0 => Note, 1 => Warning, 2 => Error });

/// A row of SHOW WARNINGS. `code` is MySQL's error number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlWarning {
    pub level: WarningLevel,
    pub code: u16,
    pub message: String,
}
wire_struct!(SqlWarning { level, code, message });

impl SqlWarning {
    pub fn warning(code: u16, message: String) -> SqlWarning {
        SqlWarning { level: WarningLevel::Warning, code, message }
    }
}

/// The warnings of a statement: the first [`WARNING_COUNT_MAX`] are kept, all are counted.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    list: Vec<SqlWarning>,
    total: u64,
}

impl Warnings {
    pub fn push(&mut self, warning: SqlWarning) {
        self.total += 1;
        if self.list.len() < WARNING_COUNT_MAX {
            self.list.push(warning);
        }
    }
    /// How many there were, kept or not.
    pub fn total(&self) -> u64 {
        self.total
    }
    pub fn list(&self) -> &[SqlWarning] {
        &self.list
    }
    /// Hands out the kept ones and begins again at none.
    pub fn take(&mut self) -> Vec<SqlWarning> {
        self.total = 0;
        std::mem::take(&mut self.list)
    }
    /// Puts the kept ones behind others of the statement, as far as these are not too many, and begins again at none.
    pub fn move_to(&mut self, others: &mut Vec<SqlWarning>) {
        if 0 < self.total {
            let room = WARNING_COUNT_MAX.saturating_sub(others.len());
            others.extend(self.take().into_iter().take(room));
        }
    }
}

/// What a statement's session says about the evaluation of its expressions. Travels with every request that carries
/// expressions: they have the same values at every shard as in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EvalSettings {
    /// A data change of a session in strict mode: see [`ConvertContext::strict`].
    pub strict: bool,
    /// The statement's NOW() in session time.
    pub now: DateTime,
    /// The session's time zone, east positive.
    pub time_zone_offset_seconds: i32,
    pub date_modes: DateModes,
    /// Without ERROR_FOR_DIVISION_BY_ZERO: a division by zero is NULL, and nothing warns of it.
    pub ignore_division_by_zero: bool,
}
wire_struct!(EvalSettings {
    strict,
    now,
    time_zone_offset_seconds,
    date_modes,
    ignore_division_by_zero
});

/// What conversions need to know of the session, and where their warnings go.
#[derive(Clone, Debug)]
pub struct ConvertContext {
    pub warnings: Warnings,
    /// A data change of a session in strict mode is running: a warning is an error instead. The conversion still gives
    /// a value; whoever runs it looks at [`ConvertContext::take_raised`] before using that value.
    pub strict: bool,
    /// The statement's NOW() in session time: a TIME becomes a DATETIME on this day.
    pub now: DateTime,
    /// The session's time zone, east positive.
    pub time_zone_offset_seconds: i32,
    /// Which dates outside of the calendar the SQL mode admits.
    pub date_modes: DateModes,
    /// See [`EvalSettings::ignore_division_by_zero`].
    pub ignore_division_by_zero: bool,
    raised: Option<SqlWarning>,
}

impl Default for ConvertContext {
    /// UTC, not strict, at the zero date, in MySQL's default SQL mode.
    fn default() -> ConvertContext {
        ConvertContext::new(EvalSettings::default())
    }
}

/// Warnings that strict mode turns into errors: values that are wrong, not remarks about them.
const STRICT_ERRORS: [u16; 17] = [
    1048, 1260, 1261, 1263, 1264, 1265, 1292, 1301, 1364, 1365, 1366, 1406, 1411, 1441, 3020, 3155,
    3156,
];

impl ConvertContext {
    pub fn new(settings: EvalSettings) -> ConvertContext {
        ConvertContext {
            warnings: Warnings::default(),
            strict: settings.strict,
            now: settings.now,
            time_zone_offset_seconds: settings.time_zone_offset_seconds,
            date_modes: settings.date_modes,
            ignore_division_by_zero: settings.ignore_division_by_zero,
            raised: None,
        }
    }
    /// Those that it was made with.
    pub fn settings(&self) -> EvalSettings {
        EvalSettings {
            strict: self.strict,
            now: self.now,
            time_zone_offset_seconds: self.time_zone_offset_seconds,
            date_modes: self.date_modes,
            ignore_division_by_zero: self.ignore_division_by_zero,
        }
    }
    /// The same session, for conversions whose warnings are nobody's.
    fn quiet(&self) -> ConvertContext {
        ConvertContext::new(EvalSettings {
            strict: false,
            now: self.now,
            time_zone_offset_seconds: self.time_zone_offset_seconds,
            date_modes: self.date_modes,
            ignore_division_by_zero: self.ignore_division_by_zero,
        })
    }
    /// Reports a warning, or raises it as an error in strict mode if that makes one of it.
    pub fn warn(&mut self, code: u16, message: String) {
        if self.strict && STRICT_ERRORS.contains(&code) {
            self.raise(code, message);
        } else {
            self.warnings.push(SqlWarning::warning(code, message));
        }
    }
    /// Records an error whatever the mode. The first one stays.
    pub fn raise(&mut self, code: u16, message: String) {
        self.raised.get_or_insert(SqlWarning { level: WarningLevel::Error, code, message });
    }
    pub fn has_raised(&self) -> bool {
        self.raised.is_some()
    }
    pub fn take_raised(&mut self) -> Option<SqlWarning> {
        self.raised.take()
    }
    /// 1292 "Truncated incorrect {what} value: '{value}'".
    fn warn_truncated(&mut self, what: &str, value: &[u8]) {
        self.warn(1292, format!("Truncated incorrect {what} value: '{}'", shown(value)));
    }
    /// 1292 "Incorrect {what} value: '{value}'".
    fn warn_incorrect(&mut self, what: &str, value: &[u8]) {
        self.warn(1292, format!("Incorrect {what} value: '{}'", shown(value)));
    }
}

/// A value as messages show it: at most 128 characters; bytes that are not UTF-8 as \xNN.
pub(crate) fn shown(value: &[u8]) -> String {
    // A megabyte behind it is not shown, and not read. A character may be cut at the end of the head.
    let head = &value[..value.len().min(4 * 128 + 4)];
    let valid = match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_none() && head.len() < value.len() => {
            std::str::from_utf8(&head[..error.valid_up_to()])
        }
        own => own,
    };
    match valid {
        Ok(text) => text.chars().take(128).collect(),
        Err(_) => {
            let mut out = String::new();
            for &byte in value.iter().take(128) {
                match byte {
                    b' '..=b'~' => out.push(byte as char),
                    _ => out.push_str(&format!("\\x{byte:02X}")),
                }
            }
            out
        }
    }
}

/// MySQL's isspace.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}
