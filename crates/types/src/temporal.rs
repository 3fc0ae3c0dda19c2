//! Dates, times of day (or durations) and moments, as MySQL's DATE, TIME, DATETIME and TIMESTAMP.
//!
//! All three are small packed integers that order as what they stand for, so that comparing, storing and encoding keys
//! needs no arithmetic. MySQL's zero date (0000-00-00), partial dates (2024-00-00) and, with ALLOW_INVALID_DATES, days
//! that their month has not (2024-02-31) are values like others: [`Date::is_real`] tells them apart, and calendar
//! arithmetic that cannot make sense of them gives `None`. Whether a session accepts them ([`DateModes`]) is decided where
//! values are converted, not here.
//!
//! A moment has no time zone here. TIMESTAMP columns hold UTC; the session's offset is added at its edge.
//!
//! Text is read as liberally as MySQL reads it, in [`parse`].

mod date;
mod datetime;
mod locale;
mod modes;
mod parse;
mod time;

pub use date::{Date, days_in_month, is_leap_year};
pub(crate) use datetime::DATE_SHIFT;
pub use datetime::DateTime;
pub use locale::Locale;
pub use modes::DateModes;
pub use parse::{ParsedDateTime, ParsedTime, SpelledTime, two_digit_year};
pub use time::Time;

pub const MICROS_PER_SECOND: i64 = 1_000_000;
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Digits of fractional seconds at most.
pub const FSP_MAX: u8 = 6;
pub const YEAR_MAX: u16 = 9999;

/// Microseconds in the last kept digit: 1,000,000 for no digits, 1 for six.
fn fsp_unit(fsp: u8) -> i64 {
    assert!(fsp <= FSP_MAX);
    10i64.pow(u32::from(FSP_MAX - fsp))
}

/// Writes a point and the first `fsp` digits of the microseconds.
fn write_fraction(micros: u32, fsp: u8, out: &mut impl std::fmt::Write) -> std::fmt::Result {
    if fsp == 0 {
        return Ok(());
    }
    let digits = i64::from(micros) / fsp_unit(fsp);
    write!(out, ".{digits:0width$}", width = usize::from(fsp))
}

#[cfg(test)]
mod tests;
