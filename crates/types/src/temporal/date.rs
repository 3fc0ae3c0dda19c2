//! Calendar dates, and the arithmetic between them and day numbers.

use std::fmt;

use super::{DateTime, ParsedDateTime, YEAR_MAX};
use crate::wire::{Reader, Wire, WireError};

/// The day number of 1970-01-01, counted as TO_DAYS does.
pub(super) const UNIX_EPOCH_DAY: i64 = 719_528;
/// The day number of 9999-12-31.
const DAY_NUMBER_MAX: i64 = 3_652_424;

/// A date from 0000-00-00 to 9999-12-31, month or day possibly 0. Year, month and day from high to low bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date(u32);

/// Whether a year has a 29 February. Year 0 has none, as in MySQL.
pub fn is_leap_year(year: u16) -> bool {
    year != 0 && year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days of a month (1 to 12) of a year.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u8::from(is_leap_year(year)),
        _ => panic!("month {month} does not exist"),
    }
}

fn days_in_year(year: u16) -> i64 {
    365 + i64::from(is_leap_year(year))
}

/// The first day of a year, as TO_DAYS counts.
fn year_start(year: u16) -> i64 {
    Date::new(year, 1, 1).expect("years are at most 9999").day_number()
}

impl Date {
    pub const ZERO: Date = Date(0);
    /// 9999-12-31.
    pub const MAX: Date = Date((YEAR_MAX as u32) << 9 | 12 << 5 | 31);

    /// None if a part is out of its range (year to 9999, month 0 to 12, day 0 to 31). The calendar is not asked: see
    /// [`is_real`](Self::is_real).
    pub fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        if year > YEAR_MAX || month > 12 || day > 31 {
            return None;
        }
        Some(Date(u32::from(year) << 9 | u32::from(month) << 5 | u32::from(day)))
    }
    pub fn year(self) -> u16 {
        (self.0 >> 9) as u16
    }
    pub fn month(self) -> u8 {
        (self.0 >> 5 & 15) as u8
    }
    pub fn day(self) -> u8 {
        (self.0 & 31) as u8
    }
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Month or day is 0.
    pub fn is_partial(self) -> bool {
        self.month() == 0 || self.day() == 0
    }
    /// Whether it is a day of the calendar: neither partial nor 30 February.
    pub fn is_real(self) -> bool {
        !self.is_partial() && self.day() <= days_in_month(self.year(), self.month())
    }
    /// Real or partial. 2024-02-30 is neither: a column holds it with ALLOW_INVALID_DATES only.
    pub fn is_valid(self) -> bool {
        self.is_partial() || self.is_real()
    }
    /// 23 bits that order as dates.
    pub fn pack(self) -> u32 {
        self.0
    }
    /// None if a part is out of its range, as for [`new`](Self::new).
    pub fn unpack(packed: u32) -> Option<Date> {
        let date = Date(packed);
        Date::new(u16::try_from(packed >> 9).ok()?, date.month(), date.day())
    }

    /// Reads a date as MySQL does; a time behind it is read and dropped. None for what is no date, with 2024-02-30;
    /// zero and partial dates are read.
    pub fn parse(text: &str) -> Option<Date> {
        Some(DateTime::parse(text)?.value.date())
    }
    /// The date with what else the text says.
    pub fn parse_full(text: &str) -> Option<ParsedDateTime> {
        DateTime::parse(text)
    }
    /// From YYYYMMDD, YYMMDD or the same with a time behind it (20240102030405), which is dropped.
    pub fn from_number(number: i64) -> Option<Date> {
        Some(DateTime::from_number(number)?.date())
    }
    /// YYYYMMDD.
    pub fn to_number(self) -> i64 {
        i64::from(self.year()) * 10_000 + i64::from(self.month()) * 100 + i64::from(self.day())
    }

    /// Days since the day before 0000-01-01, as TO_DAYS counts; a partial date counts as MySQL counts it (month 0 as the
    /// month before January).
    pub fn day_number(self) -> i64 {
        let (mut year, month, day) =
            (i64::from(self.year()), i64::from(self.month()), i64::from(self.day()));
        if year == 0 && month == 0 {
            return 0;
        }
        let mut days = 365 * year + 31 * (month - 1) + day;
        if month <= 2 {
            year -= 1;
        } else {
            days -= (month * 4 + 23) / 10;
        }
        days + year / 4 - (year / 100 + 1) * 3 / 4
    }
    /// None outside of 0000-00-00 to 9999-12-31. The days of year 0 are the zero date, as MySQL has it.
    pub fn from_day_number(number: i64) -> Option<Date> {
        if !(0..=DAY_NUMBER_MAX).contains(&number) {
            return None;
        }
        if number <= days_in_year(0) {
            return Some(Date::ZERO);
        }
        // Years that begin in March have their leap day last, and months follow one formula (Howard Hinnant's
        // civil_from_days). Day 0 of it is 0000-03-01.
        let days = number - UNIX_EPOCH_DAY + 719_468;
        let era = days / 146_097;
        let day_of_era = days % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Date::new(year as u16, month as u8, day as u8)
    }
    /// None for a partial date or a result outside of the calendar.
    pub fn add_days(self, days: i64) -> Option<Date> {
        if self.is_partial() {
            return None;
        }
        Date::from_day_number(self.day_number().checked_add(days)?)
    }
    /// The same day so many months later, or the month's last if it has no such day. None for a partial date or a result
    /// outside of the calendar.
    pub fn add_months(self, months: i64) -> Option<Date> {
        if self.is_partial() {
            return None;
        }
        let start = i64::from(self.year()) * 12 + i64::from(self.month()) - 1;
        let month = start.checked_add(months)?;
        if !(0..(i64::from(YEAR_MAX) + 1) * 12).contains(&month) {
            return None;
        }
        let (year, month) = ((month / 12) as u16, (month % 12) as u8 + 1);
        Date::new(year, month, self.day().min(days_in_month(year, month)))
    }
    /// The last day of its month; None if the month is 0.
    pub fn last_day(self) -> Option<Date> {
        if self.month() == 0 {
            return None;
        }
        Date::new(self.year(), self.month(), days_in_month(self.year(), self.month()))
    }
    /// 0 is Monday, 6 is Sunday.
    pub fn weekday(self) -> u8 {
        ((self.day_number() + 5) % 7) as u8
    }
    /// 1 to 366, for a real date.
    pub fn day_of_year(self) -> u16 {
        (self.day_number() - year_start(self.year()) + 1).max(0) as u16
    }
    /// WEEK(date, mode): mode 0 to 7 says on which day weeks begin, which week of the year is its first, and whether the
    /// days before that are week 0 or belong to the year before.
    pub fn week(self, mode: u8) -> u32 {
        self.week_of(mode, mode & 2 != 0).1
    }
    /// YEARWEEK(date, mode): the year the week belongs to, and the week from 1.
    pub fn year_week(self, mode: u8) -> (u32, u32) {
        self.week_of(mode, true)
    }
    fn week_of(self, mode: u8, mut counts_in_year: bool) -> (u32, u32) {
        let monday_first = mode & 1 != 0;
        // Week 1 is the first with its first weekday in the year, or else the first with four days in it.
        let needs_first_day = (mode & 4 != 0) == monday_first;
        let weekday_of = |day: i64| (day + 5 + i64::from(!monday_first)).rem_euclid(7);
        let starts_late = |weekday: i64| if needs_first_day { weekday != 0 } else { weekday >= 4 };

        let day = self.day_number();
        let mut year = i64::from(self.year());
        let mut first_day = year_start(self.year());
        let mut weekday = weekday_of(first_day);
        if self.month() <= 1 && i64::from(self.day()) <= 7 - weekday && year > 0 {
            if !counts_in_year && starts_late(weekday) {
                return (year as u32, 0);
            }
            counts_in_year = true;
            year -= 1;
            let days = days_in_year(year as u16);
            first_day -= days;
            weekday = (weekday - days).rem_euclid(7);
        }
        let days = if starts_late(weekday) {
            day - (first_day + 7 - weekday)
        } else {
            day - (first_day - weekday)
        };
        if counts_in_year && days >= 52 * 7 {
            let next = (weekday + days_in_year(year as u16)) % 7;
            if !starts_late(next) {
                return (year as u32 + 1, 1);
            }
        }
        (year as u32, (days.max(0) / 7 + 1) as u32)
    }
    pub fn at_midnight(self) -> DateTime {
        DateTime::new(self, 0, 0, 0, 0).expect("midnight is in range")
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year(), self.month(), self.day())
    }
}
impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl Wire for Date {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Date::unpack(u32::decode(input)?).ok_or(WireError::Invalid("date"))
    }
}
