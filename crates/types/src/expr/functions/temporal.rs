//! Functions of dates and times.

use std::borrow::Cow;

use super::super::interval::{is_date_unit, is_time_unit};
use super::super::{EvalError, Function, IntervalUnit};
use super::Call;
use super::format::format_datetime;
use crate::convert::{
    ConvertContext, StoreMode, TimeOrMoment, cast_datetime, store, to_fuzzy_moment,
    to_time_or_moment,
};
use crate::display::{DECIMALS_MAX, number_text};
use crate::temporal::{FSP_MAX, Locale, two_digit_year};
use crate::{Collation, ColumnType, Date, DateTime, Decimal, Value, ValueRef};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// The last second of FROM_UNIXTIME and CONVERT_TZ: 3001-01-18 23:59:59 UTC.
const UNIX_TIME_MAX: i64 = 32_536_771_199;
/// The day number of 9999-12-31, and the largest one that FROM_DAYS does not take for 0.
const DAY_NUMBER_MAX: i64 = 3_652_424;
const FROM_DAYS_MAX: i64 = 3_652_499;

fn int(number: impl Into<i64>) -> Value {
    Value::Int(number.into())
}

fn datetime_value(value: Option<DateTime>) -> Value {
    value.map_or(Value::Null, Value::DateTime)
}

impl Call<'_, '_, '_> {
    pub(super) fn temporal(&mut self) -> Result<Value, EvalError> {
        use Function::*;
        Ok(match self.function {
            Date => cast_datetime(self.values[0], &mut self.ctx.convert)
                .map_or(Value::Null, |value| Value::Date(value.date())),
            Time => self.time(0).map_or(Value::Null, Value::Time),
            Timestamp => self.timestamp(),
            Year | Quarter | Month | DayOfMonth | MonthName | LastDay => self.of_fuzzy_date(),
            Week | WeekOfYear | YearWeek | DayOfWeek | DayOfYear | Weekday | DayName | ToDays
            | ToSeconds => self.of_date(),
            Hour | Minute | Second | Microsecond | TimeToSec => {
                let Some(time) = self.time(0) else { return Ok(Value::Null) };
                match self.function {
                    Hour => int(time.hour()),
                    Minute => int(time.minute()),
                    Second => int(time.second()),
                    Microsecond => int(time.microsecond()),
                    _ => int(time.micros() / SECOND),
                }
            }
            DateDiff => match (self.date(0), self.date(1)) {
                (Some(a), Some(b)) => int(a.day_number() - b.day_number()),
                _ => Value::Null,
            },
            DeclaredText => {
                // The digits behind the point of a floating point number, and one, stand before the others.
                let [.., decimals, digits] = self.int(1).to_be_bytes();
                let decimals = decimals.checked_sub(1).map(|own| own.min(DECIMALS_MAX));
                match self.values[0] {
                    ValueRef::Time(value) => self.plain(value.format(digits.min(FSP_MAX))),
                    ValueRef::DateTime(value) => self.plain(value.format(digits.min(FSP_MAX))),
                    value => match number_text(value, digits, decimals) {
                        Some(text) => self.plain(text),
                        None => self.plain(self.text(0)),
                    },
                }
            }
            TimeDiff => self.time_diff(),
            FromDays => self.date_of_days(),
            MakeDate => self.make_date(),
            MakeTime => self.make_time(),
            UnixTimestamp => self.unix_timestamp(),
            FromUnixtime => self.unixtime_to_datetime(),
            SecToTime => {
                let seconds = self.decimal(0);
                let micros = self.micros_of(seconds);
                let beyond = if seconds.is_negative() { i64::MIN } else { i64::MAX };
                self.time_value(micros.unwrap_or(beyond))
            }
            AddTime | SubTime => self.add_time(),
            TimestampDiff => self.timestamp_diff(),
            Extract => self.extract(),
            PeriodAdd | PeriodDiff => self.period()?,
            ConvertTz => self.convert_tz(),
            UtcToLocal | LocalToUtc => {
                let offset = self.zone() * SECOND;
                let offset = if self.function == UtcToLocal { offset } else { -offset };
                match self.fuzzy(0) {
                    // The zero date is the same everywhere.
                    Some(value) if value.date().is_partial() => Value::DateTime(value),
                    value => datetime_value(value.and_then(|value| value.add_micros(offset))),
                }
            }
            function => unreachable!("{function:?} is no function of dates"),
        })
    }

    /// Microseconds of a number of seconds, the seventh digit rounded or cut; None beyond 64 bits.
    fn micros_of(&self, seconds: Decimal) -> Option<i64> {
        let micros = seconds.mul(Decimal::from_i64(SECOND))?;
        let cuts = self.ctx.convert.date_modes.truncate_fractions;
        if cuts { micros.truncate(0) } else { micros }.to_i64_round()
    }

    /// A TIME; out of range it is the nearest one, with a warning.
    fn time_value(&mut self, micros: i64) -> Value {
        let time = crate::Time::from_micros_clamped(micros);
        if time.micros() != micros {
            let (sign, size) = (if micros < 0 { "-" } else { "" }, micros.unsigned_abs());
            let seconds = size / SECOND.unsigned_abs();
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            let message = format!(
                "Truncated incorrect time value: '{sign}{hours:02}:{minutes:02}:{:02}'",
                seconds % 60
            );
            self.ctx.convert.warn(1292, message);
        }
        Value::Time(time)
    }

    /// NULL and warning 1441 for a date beyond 9999-12-31.
    fn overflow(&mut self) -> Value {
        let name = self.function.name().to_lowercase();
        self.ctx.convert.warn(1441, format!("Datetime function: {name} field overflow"));
        Value::Null
    }

    fn timestamp(&mut self) -> Value {
        if !self.has(1) {
            return datetime_value(cast_datetime(self.values[0], &mut self.ctx.convert));
        }
        let Some(start) = self.fuzzy(0) else { return Value::Null };
        match to_time_or_moment(self.values[1], &mut self.ctx.convert) {
            Some(TimeOrMoment::Time(time)) => self.shifted(start, time.micros()),
            _ => Value::Null,
        }
    }

    /// So much later; NULL in year 0 and, with a warning, beyond year 9999. A zero month or day counts as the one before it.
    fn shifted(&mut self, start: DateTime, micros: i64) -> Value {
        let of_day = start.time().micros();
        let of_date = start.date().day_number() * DAY + of_day + micros;
        let (day, rest) = (of_date.div_euclid(DAY), of_date.rem_euclid(DAY));
        if DAY_NUMBER_MAX < day {
            return self.overflow();
        }
        match Date::from_day_number(day) {
            Some(date) if !date.is_zero() => datetime_value(date.at_midnight().add_micros(rest)),
            _ => Value::Null,
        }
    }

    /// The language of names, from a constant argument that the binder adds where it is not English.
    pub(super) fn locale(&mut self, position: usize) -> Locale {
        match self.has(position) {
            true => Locale::from_number(self.int(position)).unwrap_or_default(),
            false => Locale::ENGLISH,
        }
    }

    fn of_fuzzy_date(&mut self) -> Value {
        let Some(value) = self.fuzzy(0) else { return Value::Null };
        let date = value.date();
        let month = date.month();
        match self.function {
            Function::Year => int(date.year()),
            Function::Quarter => int(month.div_ceil(3)),
            Function::Month => int(month),
            Function::DayOfMonth => int(date.day()),
            Function::MonthName => match self.locale(1).month(month) {
                Some(name) => self.plain(name),
                None => Value::Null,
            },
            _ => match date.last_day() {
                Some(last) => Value::Date(last),
                None => {
                    let message = format!("Incorrect datetime value: '{date}'");
                    self.ctx.convert.warn(1292, message);
                    Value::Null
                }
            },
        }
    }

    /// The mode of WEEK and its kin: 0 where it is not given.
    fn week_mode(&mut self, position: usize) -> u8 {
        if self.has(position) { (self.int(position) & 7) as u8 } else { 0 }
    }

    fn of_date(&mut self) -> Value {
        let Some(value) = self.datetime(0) else { return Value::Null };
        let date = value.date();
        match self.function {
            Function::Week => int(date.week(self.week_mode(1))),
            Function::WeekOfYear => int(date.week(3)),
            Function::YearWeek => {
                // YEARWEEK always counts weeks from 1: week 0 is the last one of the year before.
                let (year, week) = date.year_week(self.week_mode(1) | 2);
                int(year * 100 + week)
            }
            Function::DayOfWeek => int((date.weekday() + 1) % 7 + 1),
            Function::DayOfYear => int(date.day_of_year()),
            Function::Weekday => int(date.weekday()),
            Function::DayName => {
                let name = self.locale(1).day(date.weekday());
                self.plain(name)
            }
            Function::ToDays => int(date.day_number()),
            _ => int(date.day_number() * 86_400 + value.time().micros() / SECOND),
        }
    }

    fn is_dated(&self, position: usize) -> bool {
        matches!(self.values[position], ValueRef::Date(_) | ValueRef::DateTime(_))
    }

    /// Where one argument is a date, both are read as dates; else both as times or the moments they spell. Of different
    /// kinds there is no difference.
    fn time_diff(&mut self) -> Value {
        let is_time = |value: ValueRef<'_>| matches!(value, ValueRef::Time(_));
        let (a, b) = (self.values[0], self.values[1]);
        let has_date = self.is_dated(0) || self.is_dated(1);
        let cx = &mut self.ctx.convert;
        let micros = if has_date {
            if is_time(a) || is_time(b) {
                return Value::Null;
            }
            let (Some(a), Some(b)) = (to_fuzzy_moment(a, cx), to_fuzzy_moment(b, cx)) else {
                return Value::Null;
            };
            if a.1 != b.1 {
                return Value::Null;
            }
            fuzzy_micros(a.0) - fuzzy_micros(b.0)
        } else {
            let (Some(a), Some(b)) = (to_time_or_moment(a, cx), to_time_or_moment(b, cx)) else {
                return Value::Null;
            };
            match (a, b) {
                (TimeOrMoment::Time(a), TimeOrMoment::Time(b)) => a.micros() - b.micros(),
                (TimeOrMoment::Moment(a, timed_a), TimeOrMoment::Moment(b, timed_b))
                    if timed_a == timed_b =>
                {
                    fuzzy_micros(a) - fuzzy_micros(b)
                }
                _ => return Value::Null,
            }
        };
        self.time_value(micros)
    }

    /// ADDTIME and SUBTIME. The result of a date is a datetime, of a time a time, of anything else a string.
    fn add_time(&mut self) -> Value {
        let start = match self.values[0] {
            ValueRef::Date(date) => TimeOrMoment::Moment(date.at_midnight(), true),
            ValueRef::DateTime(datetime) => TimeOrMoment::Moment(datetime, true),
            value => match to_time_or_moment(value, &mut self.ctx.convert) {
                Some(start) => start,
                None => return Value::Null,
            },
        };
        let span = match to_time_or_moment(self.values[1], &mut self.ctx.convert) {
            Some(TimeOrMoment::Time(span)) => span.micros(),
            _ => return Value::Null,
        };
        let span = if self.function == Function::SubTime { -span } else { span };
        let result = match start {
            TimeOrMoment::Moment(moment, _) => self.shifted(moment, span),
            TimeOrMoment::Time(time) => self.time_value(time.micros() + span),
        };
        let collation = match self.values[0] {
            ValueRef::Date(_) | ValueRef::DateTime(_) | ValueRef::Time(_) => return result,
            value => value.collation().unwrap_or(Collation::DEFAULT),
        };
        match result {
            Value::DateTime(value) => Value::text(&value.to_string(), collation),
            Value::Time(value) => Value::text(&value.to_string(), collation),
            other => other,
        }
    }

    /// What a YEAR keeps for the value, or the value if it is none.
    pub(super) fn full_year(&mut self) -> Value {
        let value = self.values[0];
        let mut quiet = ConvertContext::default();
        match store(value, &ColumnType::Year, StoreMode::Lenient, &mut quiet) {
            Ok((year, None)) => year,
            _ => value.to_value(),
        }
    }

    fn date_of_days(&mut self) -> Value {
        match self.int(0) {
            number @ 0..=DAY_NUMBER_MAX => {
                Value::Date(Date::from_day_number(number).expect("in the calendar"))
            }
            number if DAY_NUMBER_MAX < number && number <= FROM_DAYS_MAX => self.overflow(),
            _ => Value::Date(Date::ZERO),
        }
    }

    fn make_date(&mut self) -> Value {
        let (year, day) = (self.int(0), self.int(1));
        if !(0..=9999).contains(&year) || !(1..=DAY_NUMBER_MAX).contains(&day) {
            return Value::Null;
        }
        let year = year as u16;
        let year = if year < 100 { two_digit_year(year) } else { year };
        let first = Date::new(year, 1, 1).expect("the first of January is in every year");
        first.add_days(day - 1).map_or(Value::Null, Value::Date)
    }

    fn make_time(&mut self) -> Value {
        let (hour, minute) = (self.int(0), self.int(1));
        let seconds = self.decimal(2);
        if !(0..60).contains(&minute)
            || seconds.is_negative()
            || seconds.truncate(0) >= Decimal::from_i64(60)
        {
            return Value::Null;
        }
        let micros = self.micros_of(seconds).expect("below 60 million") + minute * 60 * SECOND;
        // 838 is the most hours; more are clamped, and all of them are shown in the warning that still fit its arithmetic.
        let hours = hour.clamp(-1_000_000_000, 1_000_000_000);
        let hours =
            hours.checked_mul(3600 * SECOND).unwrap_or(if hour < 0 { i64::MIN } else { i64::MAX });
        self.time_value(if hour < 0 {
            hours.saturating_sub(micros)
        } else {
            hours.saturating_add(micros)
        })
    }

    fn zone(&self) -> i64 {
        i64::from(self.ctx.convert.time_zone_offset_seconds)
    }

    fn unix_timestamp(&mut self) -> Value {
        let Some(local) = self.fuzzy(0).filter(|local| !local.date().is_partial()) else {
            return if self.values[0].is_null() { Value::Null } else { int(0) };
        };
        let Some(micros) = local.micros().map(|micros| micros - self.zone() * SECOND) else {
            return int(0);
        };
        if micros < 0 || UNIX_TIME_MAX < micros / SECOND {
            return int(0);
        }
        if micros % SECOND == 0 {
            return int(micros / SECOND);
        }
        let exact = Decimal::from_parts(i128::from(micros), 6);
        // A string shows how many digits it means.
        let digits = match self.values[0] {
            ValueRef::Text(text, _) => text.trim_end().rsplit_once('.').map_or(6, |(_, f)| f.len()),
            _ => 6,
        };
        Value::Decimal(exact.rescale(digits.min(6) as u8).unwrap_or(exact))
    }

    fn unixtime_to_datetime(&mut self) -> Value {
        let seconds = self.decimal(0);
        let micros = self.micros_of(seconds);
        let Some(micros) = micros.filter(|micros| {
            !seconds.is_negative() && (0..=UNIX_TIME_MAX).contains(&(micros / SECOND))
        }) else {
            return Value::Null;
        };
        let local = DateTime::from_micros(micros + self.zone() * SECOND);
        match local {
            Some(local) if self.has(1) => {
                let locale = self.locale(2);
                match format_datetime(local, &self.text(1), locale) {
                    Some(text) => self.plain(text),
                    None => Value::Null,
                }
            }
            local => datetime_value(local),
        }
    }

    fn unit(&mut self) -> IntervalUnit {
        let tag = u8::try_from(self.int(0)).ok().and_then(IntervalUnit::from_tag);
        // Anything else can only come from a binder that is out of step; days are as good as a refusal.
        tag.unwrap_or(IntervalUnit::Day)
    }

    /// TIMESTAMPDIFF(unit, from, to): whole units between.
    fn timestamp_diff(&mut self) -> Value {
        let unit = self.unit();
        let (Some(from), Some(to)) = (self.datetime(1), self.datetime(2)) else {
            return Value::Null;
        };
        let micros = fuzzy_micros(to) - fuzzy_micros(from);
        let months = |size: i64| int(whole_months(from, to) / size);
        use IntervalUnit::*;
        match unit {
            Microsecond => int(micros),
            Second => int(micros / SECOND),
            Minute => int(micros / (60 * SECOND)),
            Hour => int(micros / (3600 * SECOND)),
            Day => int(micros / DAY),
            Week => int(micros / (7 * DAY)),
            Month => months(1),
            Quarter => months(3),
            Year => months(12),
            SecondMicrosecond | MinuteMicrosecond | MinuteSecond | HourMicrosecond | HourSecond
            | HourMinute | DayMicrosecond | DaySecond | DayMinute | DayHour | YearMonth => {
                Value::Null
            }
        }
    }

    /// EXTRACT(unit FROM value): composite units run their parts together, DAY_HOUR of the 3rd at 14h is 314.
    fn extract(&mut self) -> Value {
        let unit = self.unit();
        use IntervalUnit::*;
        if is_date_unit(unit) {
            let Some(datetime) = self.fuzzy(1) else { return Value::Null };
            let date = datetime.date();
            let (year, month, day) =
                (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()));
            return int(match unit {
                Year => year,
                Quarter => (month + 2) / 3,
                Month => month,
                Week if !date.is_partial() => i64::from(date.week(self.week_mode(2))),
                Week => return Value::Null,
                YearMonth => year * 100 + month,
                _ => day,
            });
        }
        // Units without dates read a time; days and hours of a datetime are those of its date.
        let read = match self.values[1] {
            ValueRef::DateTime(moment) => Some(TimeOrMoment::Moment(moment, true)),
            value => to_time_or_moment(value, &mut self.ctx.convert),
        };
        let Some(read) = read else { return Value::Null };
        let time = read.time();
        let day = match read {
            TimeOrMoment::Moment(moment, _) if !is_time_unit(unit) => {
                i64::from(moment.date().day())
            }
            _ => 0,
        };
        let (hour, minute, second, micros) = (
            i64::from(time.hour()),
            i64::from(time.minute()),
            i64::from(time.second()),
            i64::from(time.microsecond()),
        );
        let hms = hour * 10_000 + minute * 100 + second;
        let number = match unit {
            Microsecond => micros,
            Second => second,
            Minute => minute,
            Hour => hour,
            SecondMicrosecond => second * SECOND + micros,
            MinuteMicrosecond => (minute * 100 + second) * SECOND + micros,
            MinuteSecond => minute * 100 + second,
            HourMicrosecond => hms * SECOND + micros,
            HourSecond => hms,
            HourMinute => hour * 100 + minute,
            DayMicrosecond => (day * SECOND + hms) * SECOND + micros,
            DaySecond => day * SECOND + hms,
            DayMinute => day * 10_000 + hour * 100 + minute,
            DayHour => day * 100 + hour,
            Day | Week | Month | Quarter | Year | YearMonth => {
                unreachable!("units of dates were answered")
            }
        };
        int(if time.is_negative() { -number } else { number })
    }

    /// PERIOD_ADD(yyyymm, months) and PERIOD_DIFF(yyyymm, yyyymm). Arithmetic of 64 bits, as MySQL's.
    fn period(&mut self) -> Result<Value, EvalError> {
        let (a, b) = (self.int(0), self.int(1));
        let name = self.function.name().to_lowercase();
        let full_year = |year: u64| match year {
            0..70 => year + 2000,
            70..100 => year + 1900,
            _ => year,
        };
        let months = |period: i64| {
            let month = period % 100;
            if period <= 0 || !(1..=12).contains(&month) {
                let message = format!("Incorrect arguments to {name}");
                return Err(EvalError::raised(1210, message));
            }
            let year = full_year(period.unsigned_abs() / 100);
            Ok(year * 12 + month.unsigned_abs() - 1)
        };
        if self.function == Function::PeriodDiff {
            return Ok(int(months(a)?.wrapping_sub(months(b)?) as i64));
        }
        let total = months(a)?.wrapping_add(b as u64);
        if total == 0 {
            return Ok(int(0));
        }
        let year = full_year(total / 12);
        Ok(int(year.wrapping_mul(100).wrapping_add(total % 12 + 1) as i64))
    }

    /// A moment outside of 1970 to 3000, in the zone it is given in, stays as it is.
    fn convert_tz(&mut self) -> Value {
        let offset = |zone: Cow<'_, str>| zone_offset(&zone);
        let (Some(from), Some(to)) = (offset(self.text(1)), offset(self.text(2))) else {
            return Value::Null;
        };
        let Some(value) = self.datetime(0) else { return Value::Null };
        let utc = value.unix_seconds().map(|seconds| seconds - from);
        if !utc.is_some_and(|seconds| (1..=UNIX_TIME_MAX).contains(&seconds)) {
            return Value::DateTime(value);
        }
        datetime_value(value.add_micros((to - from) * SECOND))
    }
}

/// Microseconds since the day before year 0, of partial dates too: 0 is the one before 1.
fn fuzzy_micros(value: DateTime) -> i64 {
    value.date().day_number() * DAY + value.time().micros()
}

/// The offset of "+02:00", "-11:30", "UTC", ... in seconds.
fn zone_offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("UTC") || zone.eq_ignore_ascii_case("SYSTEM") {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |part: &str| -> Option<i64> {
        let good = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        if good { part.parse().ok() } else { None }
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let total = sign * (hours * 60 + minutes);
    let good = minutes < 60 && (-13 * 60 - 59..=14 * 60).contains(&total);
    if good { Some(total * 60) } else { None }
}

/// Months from one to the other, cut towards zero.
fn whole_months(from: DateTime, to: DateTime) -> i64 {
    if to < from {
        return -whole_months(to, from);
    }
    let count = |date: Date| i64::from(date.year()) * 12 + i64::from(date.month());
    let within = |value: DateTime| (value.date().day(), value.time());
    let months = count(to.date()) - count(from.date());
    if within(to) < within(from) { months - 1 } else { months }
}

/// For results of plain text.
pub(super) fn default_text(text: &str) -> Value {
    Value::text(text, Collation::DEFAULT)
}
