//! What the SQL mode says about dates that no calendar has, and about fractions of seconds.

use crate::wire_struct;

/// The parts of sql_mode that dates and times depend on. The default is MySQL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateModes {
    /// NO_ZERO_DATE: 0000-00-00 is no date.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE: a date whose month or day is 0 is none.
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES: every month of a DATE or a DATETIME has 31 days.
    pub allow_invalid_dates: bool,
    /// TIME_TRUNCATE_FRACTIONAL: digits of a fraction that do not fit are cut off, not rounded.
    pub truncate_fractions: bool,
}
wire_struct!(DateModes { no_zero_date, no_zero_in_date, allow_invalid_dates, truncate_fractions });

impl DateModes {
    /// Of an empty sql_mode.
    pub const NONE: DateModes = DateModes {
        no_zero_date: false,
        no_zero_in_date: false,
        allow_invalid_dates: false,
        truncate_fractions: false,
    };
}

impl Default for DateModes {
    fn default() -> DateModes {
        DateModes { no_zero_date: true, no_zero_in_date: true, ..DateModes::NONE }
    }
}
