//! Functions of dates and times.

use std::borrow::Cow;

use super::super::interval::{is_date_unit, is_time_unit};
use super::super::{EvalError, Function, IntervalUnit};
use super::Call;
use super::format::{DAY_NAMES, MONTH_NAMES, format_datetime};
use crate::convert::{time_of, to_time};
use crate::temporal::two_digit_year;
use crate::{Collation, Date, DateTime, Decimal, Time, Value, ValueRef};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// FROM_UNIXTIME's last second: 3001-01-18 23:59:59 UTC.
const UNIX_TIME_MAX: i64 = 32_536_771_199;

fn int(number: impl Into<i64>) -> Value {
    Value::Int(number.into())
}

fn datetime_value(value: Option<DateTime>) -> Value {
    value.map_or(Value::Null, Value::DateTime)
}

fn time_value(micros: i64) -> Value {
    Value::Time(Time::from_micros_clamped(micros))
}

impl Call<'_, '_, '_> {
    pub(super) fn temporal(&mut self) -> Result<Value, EvalError> {
        use Function::*;
        Ok(match self.function {
            Date => self.fuzzy(0).map_or(Value::Null, |value| Value::Date(value.date())),
            Time => match self.time_part() {
                Some(time) => Value::Time(time),
                None => Value::Null,
            },
            Timestamp => self.timestamp(),
            Year | Quarter | Month | DayOfMonth | MonthName | LastDay => self.of_fuzzy_date(),
            Week | WeekOfYear | YearWeek | DayOfWeek | DayOfYear | Weekday | DayName | ToDays
            | ToSeconds => self.of_date(),
            Hour | Minute | Second | Microsecond | TimeToSec => {
                let Some(time) = self.time_part() else { return Ok(Value::Null) };
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
            TemporalText => {
                let digits = self.int(1).clamp(0, i64::from(crate::temporal::FSP_MAX)) as u8;
                match self.values[0] {
                    ValueRef::Time(value) => self.plain(value.format(digits)),
                    ValueRef::DateTime(value) => self.plain(value.format(digits)),
                    _ => self.plain(self.text(0)),
                }
            }
            TimeDiff => self.time_diff(),
            FromDays => {
                let date = crate::Date::from_day_number(self.int(0));
                date.map_or(Value::Date(crate::Date::ZERO), Value::Date)
            }
            MakeDate => self.make_date(),
            MakeTime => self.make_time(),
            UnixTimestamp => self.unix_timestamp(),
            FromUnixtime => self.unixtime_to_datetime(),
            SecToTime => {
                let seconds = self.decimal(0);
                let micros = seconds.mul(Decimal::from_i64(SECOND)).and_then(Decimal::to_i64_round);
                let beyond = if seconds.is_negative() { i64::MIN } else { i64::MAX };
                time_value(micros.unwrap_or(beyond))
            }
            AddTime | SubTime => self.add_time(),
            TimestampDiff => self.timestamp_diff(),
            Extract => self.extract(),
            PeriodAdd | PeriodDiff => self.period()?,
            ConvertTz => self.convert_tz(),
            UtcToLocal | LocalToUtc => {
                let offset = i64::from(self.ctx.convert.time_zone_offset_seconds) * SECOND;
                let offset = if self.function == UtcToLocal { offset } else { -offset };
                match self.fuzzy(0) {
                    // The zero date is the same everywhere.
                    Some(value) if !value.is_real() => Value::DateTime(value),
                    value => datetime_value(value.and_then(|value| value.add_micros(offset))),
                }
            }
            function => unreachable!("{function:?} is no function of dates"),
        })
    }

    /// The time of day of a datetime or a date, or the time itself.
    fn time_part(&mut self) -> Option<crate::Time> {
        match self.values[0] {
            ValueRef::Text(text, _) => match time_of(text, &mut self.ctx.convert) {
                Some(Ok(datetime)) => Some(datetime.time()),
                _ => self.time(0),
            },
            _ => self.time(0),
        }
    }

    fn timestamp(&mut self) -> Value {
        let Some(start) = self.datetime(0) else { return Value::Null };
        if !self.has(1) {
            return Value::DateTime(start);
        }
        let Some(time) = self.time(1) else { return Value::Null };
        datetime_value(start.add_micros(time.micros()))
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
            Function::MonthName => match month.checked_sub(1) {
                Some(index) => self.plain(MONTH_NAMES[usize::from(index)]),
                None => Value::Null,
            },
            _ => date.last_day().map_or(Value::Null, Value::Date),
        }
    }

    fn of_date(&mut self) -> Value {
        let Some(value) = self.datetime(0) else { return Value::Null };
        let date = value.date();
        match self.function {
            Function::Week => {
                let mode = if self.has(1) { self.int(1) & 7 } else { 0 };
                int(date.week(mode as u8))
            }
            Function::WeekOfYear => int(date.week(3)),
            Function::YearWeek => {
                let mode = if self.has(1) { self.int(1) & 7 } else { 0 };
                // YEARWEEK always counts weeks from 1: week 0 is the last one of the year before.
                let (year, week) = date.year_week(mode as u8 | 2);
                int(year * 100 + week)
            }
            Function::DayOfWeek => int((date.weekday() + 1) % 7 + 1),
            Function::DayOfYear => int(date.day_of_year()),
            Function::Weekday => int(date.weekday()),
            Function::DayName => self.plain(DAY_NAMES[usize::from(date.weekday())]),
            Function::ToDays => int(date.day_number()),
            _ => int(date.day_number() * 86_400 + value.time().micros() / SECOND),
        }
    }

    /// A date with time, or a time, as TIMEDIFF and ADDTIME take either.
    fn either(&mut self, position: usize) -> Option<Result<DateTime, Time>> {
        match self.values[position] {
            ValueRef::Date(date) => Some(Ok(date.at_midnight())),
            ValueRef::DateTime(datetime) => Some(Ok(datetime)),
            ValueRef::Time(time) => Some(Err(time)),
            ValueRef::Text(text, _) => {
                let read = time_of(text, &mut self.ctx.convert);
                if read.is_none() {
                    self.time(position);
                }
                read
            }
            _ => self.time(position).map(Err),
        }
    }

    fn time_diff(&mut self) -> Value {
        match (self.either(0), self.either(1)) {
            (Some(Ok(a)), Some(Ok(b))) => match (a.micros(), b.micros()) {
                (Some(a), Some(b)) => time_value(a - b),
                _ => Value::Null,
            },
            (Some(Err(a)), Some(Err(b))) => time_value(a.micros() - b.micros()),
            _ => Value::Null,
        }
    }

    /// ADDTIME and SUBTIME. The result of a string is a string.
    fn add_time(&mut self) -> Value {
        let Some(start) = self.either(0) else { return Value::Null };
        if matches!(self.values[1], ValueRef::Date(_) | ValueRef::DateTime(_)) {
            return Value::Null;
        }
        let Some(span) = self.time(1) else { return Value::Null };
        let span = if self.function == Function::SubTime { -span.micros() } else { span.micros() };
        let result = match start {
            Ok(datetime) => datetime_value(datetime.add_micros(span)),
            Err(time) => time_value(time.micros() + span),
        };
        match (self.values[0], result) {
            (ValueRef::Text(_, collation), Value::DateTime(value)) => {
                Value::text(&value.to_string(), collation)
            }
            (ValueRef::Text(_, collation), Value::Time(value)) => {
                Value::text(&value.to_string(), collation)
            }
            (_, result) => result,
        }
    }

    fn make_date(&mut self) -> Value {
        let (year, day) = (self.int(0), self.int(1));
        if !(0..=9999).contains(&year) || day <= 0 {
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
        let micros = seconds.mul(Decimal::from_i64(SECOND)).and_then(Decimal::to_i64_round);
        let micros = micros.expect("below 60 million") + minute * 60 * SECOND;
        // 838 is the most hours; more are clamped.
        let hours = hour.clamp(-1000, 1000) * 3600 * SECOND;
        time_value(if hour < 0 { hours - micros } else { hours + micros })
    }

    fn zone(&self) -> i64 {
        i64::from(self.ctx.convert.time_zone_offset_seconds)
    }

    fn unix_timestamp(&mut self) -> Value {
        let Some(local) = self.datetime(0) else {
            return if self.values[0].is_null() { Value::Null } else { int(0) };
        };
        let Some(micros) = local.micros().map(|micros| micros - self.zone() * SECOND) else {
            return int(0);
        };
        if !(0..=UNIX_TIME_MAX).contains(&(micros / SECOND)) || micros < 0 {
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
        let micros = seconds.mul(Decimal::from_i64(SECOND)).and_then(Decimal::to_i64_round);
        let Some(micros) = micros.filter(|micros| (0..=UNIX_TIME_MAX).contains(&(micros / SECOND)))
        else {
            return Value::Null;
        };
        let local = DateTime::from_micros(micros + self.zone() * SECOND);
        match local {
            Some(local) if self.has(1) => match format_datetime(local, &self.text(1)) {
                Some(text) => self.plain(text),
                None => Value::Null,
            },
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
        let (Some(start), Some(end)) = (from.micros(), to.micros()) else { return Value::Null };
        let micros = end - start;
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
        let value = self.values[1];
        // Units without dates read a time; days and hours of a datetime are those of its date.
        let of_time = |call: &mut Self| match value {
            ValueRef::Text(text, _) => match time_of(text, &mut call.ctx.convert) {
                Some(Ok(datetime)) => Some((datetime.date().day(), datetime.time())),
                _ => to_time(value, &mut call.ctx.convert).map(|time| (0, time)),
            },
            ValueRef::DateTime(datetime) => Some((datetime.date().day(), datetime.time())),
            _ => to_time(value, &mut call.ctx.convert).map(|time| (0, time)),
        };
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
                Week if datetime.is_real() => i64::from(date.week(0)),
                Week => return Value::Null,
                YearMonth => year * 100 + month,
                _ => day,
            });
        }
        let Some((day, time)) = of_time(self) else { return Value::Null };
        let (hour, minute, second, micros) = (
            i64::from(time.hour()),
            i64::from(time.minute()),
            i64::from(time.second()),
            i64::from(time.microsecond()),
        );
        let day = if is_time_unit(unit) { 0 } else { i64::from(day) };
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

    /// PERIOD_ADD(yyyymm, months) and PERIOD_DIFF(yyyymm, yyyymm).
    fn period(&mut self) -> Result<Value, EvalError> {
        let (a, b) = (self.int(0), self.int(1));
        let name = self.function.name().to_lowercase();
        let months = |period: i64| {
            let (year, month) = (period / 100, period % 100);
            if !(0..=999_999).contains(&period) || !(1..=12).contains(&month) {
                let message = format!("Incorrect arguments to {name}");
                return Err(EvalError::raised(1210, message));
            }
            let year = if year < 100 { i64::from(two_digit_year(year as u16)) } else { year };
            Ok(year * 12 + month - 1)
        };
        if self.function == Function::PeriodDiff {
            return Ok(int(months(a)? - months(b)?));
        }
        // Beyond any calendar; small enough for the arithmetic.
        let total = months(a)? + b.clamp(-1_000_000_000, 1_000_000_000);
        Ok(int(if total < 0 { 0 } else { total / 12 * 100 + total % 12 + 1 }))
    }

    fn convert_tz(&mut self) -> Value {
        let offset = |zone: Cow<'_, str>| zone_offset(&zone);
        let (Some(from), Some(to)) = (offset(self.text(1)), offset(self.text(2))) else {
            return Value::Null;
        };
        let Some(value) = self.datetime(0) else { return Value::Null };
        datetime_value(value.add_micros((to - from) * SECOND))
    }
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
