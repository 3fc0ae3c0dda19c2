//! A date and a time of day to the microsecond, without a time zone.

use std::fmt;

use super::date::UNIX_EPOCH_DAY;
use super::{Date, DateModes, MICROS_PER_DAY, MICROS_PER_SECOND, Time, fsp_unit, two_digit_year};
use crate::temporal::write_fraction;
use crate::wire::{Reader, Wire, WireError};

/// From high to low bits: the packed date, hour (5), minute (6), second (6), microsecond (20).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DateTime(u64);

/// Bits below the date.
pub(crate) const DATE_SHIFT: u32 = 37;

impl DateTime {
    /// 0000-00-00 00:00:00.
    pub const ZERO: DateTime = DateTime(0);

    /// None if a part is out of its range.
    pub fn new(
        date: Date,
        hour: u32,
        minute: u32,
        second: u32,
        microsecond: u32,
    ) -> Option<DateTime> {
        if hour > 23 || minute > 59 || second > 59 || i64::from(microsecond) >= MICROS_PER_SECOND {
            return None;
        }
        let time = u64::from(hour) << 32 | u64::from(minute) << 26 | u64::from(second) << 20;
        Some(DateTime(u64::from(date.pack()) << DATE_SHIFT | time | u64::from(microsecond)))
    }
    pub fn date(self) -> Date {
        Date::unpack((self.0 >> DATE_SHIFT) as u32).expect("the date was checked when it was made")
    }
    /// The time of day.
    pub fn time(self) -> Time {
        Time::from_micros(self.micros_of_day()).expect("a day is shorter than 838 hours")
    }
    pub fn hour(self) -> u32 {
        (self.0 >> 32 & 31) as u32
    }
    pub fn minute(self) -> u32 {
        (self.0 >> 26 & 63) as u32
    }
    pub fn second(self) -> u32 {
        (self.0 >> 20 & 63) as u32
    }
    pub fn microsecond(self) -> u32 {
        (self.0 & 0xf_ffff) as u32
    }
    fn micros_of_day(self) -> i64 {
        let seconds = i64::from(self.hour()) * 3600
            + i64::from(self.minute()) * 60
            + i64::from(self.second());
        seconds * MICROS_PER_SECOND + i64::from(self.microsecond())
    }
    /// 0000-00-00 00:00:00.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Whether its date is a day of the calendar.
    pub fn is_real(self) -> bool {
        self.date().is_real()
    }
    /// 60 bits that order as moments.
    pub fn pack(self) -> u64 {
        self.0
    }
    /// None if the bits are no moment.
    pub fn unpack(packed: u64) -> Option<DateTime> {
        let date = Date::unpack(u32::try_from(packed >> DATE_SHIFT).ok()?)?;
        let parts = DateTime(packed);
        DateTime::new(date, parts.hour(), parts.minute(), parts.second(), parts.microsecond())
    }

    /// From YYYYMMDDhhmmss, YYMMDDhhmmss, YYYYMMDD or YYMMDD; None for what is no date or time.
    pub fn from_number(number: i64) -> Option<DateTime> {
        DateTime::from_number_with(number, DateModes::default())
    }
    /// As [`from_number`](Self::from_number); 20240230 is a date with ALLOW_INVALID_DATES. Whether zero dates are admitted is
    /// the caller's question.
    pub fn from_number_with(number: i64, modes: DateModes) -> Option<DateTime> {
        // Where each form begins and ends, as MySQL tells them apart by size alone. Between the last number of a form with
        // two digits for the year 69 and the first for the year 70 there is no date.
        let (date, time, two_digits) = match number {
            0 => return Some(DateTime::ZERO),
            101..=691_231 | 700_101..=991_231 => (number, 0, true),
            991_232..=99_991_231 => (number, 0, false),
            101_000_000..=691_231_235_959 | 700_101_000_000..=991_231_235_959 => {
                (number / 1_000_000, number % 1_000_000, true)
            }
            991_231_235_960..=99_991_231_235_959 => (number / 1_000_000, number % 1_000_000, false),
            _ => return None,
        };
        let year = u16::try_from(date / 10_000).ok()?;
        let year = if two_digits { two_digit_year(year) } else { year };
        let date = Date::new(year, (date / 100 % 100) as u8, (date % 100) as u8)?;
        if !modes.allow_invalid_dates && !date.is_valid() {
            return None;
        }
        let (hour, minute, second) = (time / 10_000, time / 100 % 100, time % 100);
        DateTime::new(date, hour as u32, minute as u32, second as u32, 0)
    }
    /// YYYYMMDDhhmmss, without the fraction.
    pub fn to_number(self) -> i64 {
        let time = i64::from(self.hour()) * 10_000 + i64::from(self.minute() * 100 + self.second());
        self.date().to_number() * 1_000_000 + time
    }

    /// Microseconds since 1970-01-01 00:00:00; None for a zero or partial date.
    pub fn micros(self) -> Option<i64> {
        let date = self.date();
        if date.is_partial() {
            return None;
        }
        Some((date.day_number() - UNIX_EPOCH_DAY) * MICROS_PER_DAY + self.micros_of_day())
    }
    /// None outside of the calendar.
    pub fn from_micros(micros: i64) -> Option<DateTime> {
        let day = micros.div_euclid(MICROS_PER_DAY) + UNIX_EPOCH_DAY;
        let rest = micros.rem_euclid(MICROS_PER_DAY);
        let seconds = (rest / MICROS_PER_SECOND) as u32;
        let date = Date::from_day_number(day)?;
        let micros = (rest % MICROS_PER_SECOND) as u32;
        DateTime::new(date, seconds / 3600, seconds / 60 % 60, seconds % 60, micros)
    }
    /// None for a zero or partial date and for a result outside of the calendar; so for the two below. A result in year 0 is
    /// the zero date, as MySQL has it.
    pub fn add_micros(self, micros: i64) -> Option<DateTime> {
        DateTime::from_micros(self.micros()?.checked_add(micros)?)
    }
    pub fn add_days(self, days: i64) -> Option<DateTime> {
        Some(self.with_date(self.date().add_days(days)?))
    }
    pub fn add_months(self, months: i64) -> Option<DateTime> {
        Some(self.with_date(self.date().add_months(months)?))
    }
    fn with_date(self, date: Date) -> DateTime {
        DateTime(u64::from(date.pack()) << DATE_SHIFT | self.0 & ((1 << DATE_SHIFT) - 1))
    }
    /// The moment with these microseconds; one second later for 1,000,000, if its date is in the calendar.
    pub fn with_micros(self, micros: u32) -> Option<DateTime> {
        let whole = self.truncate(0);
        if i64::from(micros) < MICROS_PER_SECOND {
            return Some(DateTime(whole.0 | u64::from(micros)));
        }
        whole.add_micros(i64::from(micros))
    }
    /// One microsecond later; None past the last one and where a partial date would have to change.
    pub fn next_micro(self) -> Option<DateTime> {
        self.with_micros(self.microsecond() + 1)
    }
    /// The same moment in a zone `minutes` further east.
    pub fn shift_offset(self, minutes: i32) -> Option<DateTime> {
        self.add_micros(i64::from(minutes) * 60 * MICROS_PER_SECOND)
    }
    /// UTC, from seconds since 1970-01-01 and microseconds.
    pub fn from_unix(seconds: i64, micros: u32) -> Option<DateTime> {
        DateTime::from_micros(
            seconds.checked_mul(MICROS_PER_SECOND)?.checked_add(i64::from(micros))?,
        )
    }
    /// Whole seconds since 1970-01-01, taking the moment as UTC; None for a zero or partial date.
    pub fn unix_seconds(self) -> Option<i64> {
        Some(self.micros()?.div_euclid(MICROS_PER_SECOND))
    }

    /// Rounds half up to `fsp` digits of fractional seconds; None past 9999-12-31 or if a partial date would have to
    /// move to the next day.
    pub fn round(self, fsp: u8) -> Option<DateTime> {
        let unit = fsp_unit(fsp);
        let rounded = (self.micros_of_day() + unit / 2) / unit * unit;
        let (date, of_day) = if rounded < MICROS_PER_DAY {
            (self.date(), rounded)
        } else {
            (self.date().add_days(1)?, 0)
        };
        let seconds = (of_day / MICROS_PER_SECOND) as u32;
        let micros = (of_day % MICROS_PER_SECOND) as u32;
        DateTime::new(date, seconds / 3600, seconds / 60 % 60, seconds % 60, micros)
    }
    /// Rounded or, with TIME_TRUNCATE_FRACTIONAL, cut to `fsp` digits.
    pub fn adjust(self, fsp: u8, modes: DateModes) -> Option<DateTime> {
        if modes.truncate_fractions { Some(self.truncate(fsp)) } else { self.round(fsp) }
    }
    pub fn truncate(self, fsp: u8) -> DateTime {
        let micros = u64::from(self.microsecond());
        DateTime(self.0 - micros % fsp_unit(fsp) as u64)
    }
    /// YYYY-MM-DD hh:mm:ss and `fsp` digits of fractional seconds (truncated, not rounded).
    pub fn write(self, fsp: u8, out: &mut impl fmt::Write) -> fmt::Result {
        write!(
            out,
            "{} {:02}:{:02}:{:02}",
            self.date(),
            self.hour(),
            self.minute(),
            self.second()
        )?;
        write_fraction(self.microsecond(), fsp, out)
    }
    pub fn format(self, fsp: u8) -> String {
        let mut out = String::new();
        self.write(fsp, &mut out).expect("a string takes everything");
        out
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(if self.microsecond() == 0 { 0 } else { 6 }, f)
    }
}
impl fmt::Debug for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl Wire for DateTime {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        DateTime::unpack(u64::decode(input)?).ok_or(WireError::Invalid("datetime"))
    }
}
