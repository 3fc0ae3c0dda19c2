//! Dates plus and minus intervals.
//!
//! The result is a DATE for a date and a unit of days or more, a TIME for a time and a unit of hours or less, else a
//! DATETIME; for a string it is a string of the same shape. Months and years clip the day to the month's last. What
//! leaves the calendar is NULL, with warning 1441.

use super::IntervalUnit;
use crate::convert::{ConvertContext, to_decimal, to_integer, to_moment, to_text};
use crate::{Collation, DateTime, Time, Value, ValueRef};

/// An interval in the two measures that do not convert into each other.
#[derive(Clone, Copy, Default)]
struct Span {
    months: i64,
    micros: i64,
}

impl Span {
    fn negated(self) -> Option<Span> {
        Some(Span { months: self.months.checked_neg()?, micros: self.micros.checked_neg()? })
    }
}

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Whether the unit counts whole days or more.
pub(super) fn is_date_unit(unit: IntervalUnit) -> bool {
    use IntervalUnit::*;
    matches!(unit, Day | Week | Month | Quarter | Year | YearMonth)
}

/// Whether the unit counts nothing above hours.
pub(super) fn is_time_unit(unit: IntervalUnit) -> bool {
    use IntervalUnit::*;
    matches!(
        unit,
        Microsecond
            | Second
            | Minute
            | Hour
            | SecondMicrosecond
            | MinuteMicrosecond
            | MinuteSecond
            | HourMicrosecond
            | HourSecond
            | HourMinute
    )
}

/// Whether a TIME plus this unit is a TIME: units of hours and less, and (as MySQL has it) DAY_MICROSECOND.
pub(super) fn keeps_time(unit: IntervalUnit) -> bool {
    is_time_unit(unit) || unit == IntervalUnit::DayMicrosecond
}

/// The parts of a composite unit, most significant first, as (months, microseconds) of one each.
fn parts(unit: IntervalUnit) -> &'static [Span] {
    const fn of(micros: i64) -> Span {
        Span { months: 0, micros }
    }
    const ALL: [Span; 5] = [of(DAY), of(HOUR), of(MINUTE), of(SECOND), of(1)];
    const YEAR_MONTH: [Span; 2] = [Span { months: 12, micros: 0 }, Span { months: 1, micros: 0 }];
    use IntervalUnit::*;
    match unit {
        DayMicrosecond => &ALL,
        DaySecond => ALL.split_at(4).0,
        DayMinute => ALL.split_at(3).0,
        DayHour => ALL.split_at(2).0,
        HourMicrosecond => ALL.split_at(1).1,
        HourSecond => ALL.split_at(4).0.split_at(1).1,
        HourMinute => ALL.split_at(3).0.split_at(1).1,
        MinuteMicrosecond => ALL.split_at(2).1,
        MinuteSecond => ALL.split_at(4).0.split_at(2).1,
        SecondMicrosecond => ALL.split_at(3).1,
        YearMonth => &YEAR_MONTH,
        Microsecond | Second | Minute | Hour | Day | Week | Month | Quarter | Year => &[],
    }
}

/// None: too large for any date.
fn span(amount: ValueRef<'_>, unit: IntervalUnit, cx: &mut ConvertContext) -> Option<Span> {
    use IntervalUnit::*;
    let composite = parts(unit);
    if !composite.is_empty() {
        return composite_span(&to_text(amount), unit, composite);
    }
    if unit == Second {
        let micros = to_decimal(amount, cx).mul(crate::Decimal::from_i64(SECOND))?;
        return Some(Span { months: 0, micros: micros.truncate(0).to_i64_round()? });
    }
    let count = i64::try_from(to_integer(amount, cx)).ok()?;
    let of_micros = |size: i64| Some(Span { months: 0, micros: count.checked_mul(size)? });
    let of_months = |size: i64| Some(Span { months: count.checked_mul(size)?, micros: 0 });
    match unit {
        Microsecond => of_micros(1),
        Minute => of_micros(MINUTE),
        Hour => of_micros(HOUR),
        Day => of_micros(DAY),
        Week => of_micros(7 * DAY),
        Month => of_months(1),
        Quarter => of_months(3),
        Year => of_months(12),
        _ => unreachable!("composite units and seconds were handled"),
    }
}

/// "1 2:3:4": numbers between anything else; fewer than the unit has parts are its last ones. None for more.
fn composite_span(text: &str, unit: IntervalUnit, sizes: &[Span]) -> Option<Span> {
    let trimmed = text.trim_ascii_start();
    let negative = trimmed.starts_with('-');
    let numbers: Vec<&str> =
        trimmed.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).collect();
    let missing = sizes.len().checked_sub(numbers.len())?;
    let with_micros = sizes.last().is_some_and(|part| part.micros == 1);
    let mut total = Span::default();
    for (position, (digits, size)) in numbers.iter().zip(&sizes[missing..]).enumerate() {
        let mut count: i64 = digits.parse().ok()?;
        if with_micros && position + 1 == numbers.len() && digits.len() < 6 {
            // The fraction ".5" is half a second.
            count = count.checked_mul(10i64.pow(6 - digits.len() as u32))?;
        }
        total.months = total.months.checked_add(count.checked_mul(size.months)?)?;
        total.micros = total.micros.checked_add(count.checked_mul(size.micros)?)?;
    }
    assert!(!is_date_unit(unit) || total.micros == 0);
    if negative { total.negated() } else { Some(total) }
}

fn shift(start: DateTime, span: Span) -> Option<DateTime> {
    let moved = if span.months == 0 { start } else { start.add_months(span.months)? };
    if span.micros == 0 { Some(moved) } else { moved.add_micros(span.micros) }
}

/// `date + INTERVAL amount unit`, or minus it.
pub(super) fn add(
    date: ValueRef<'_>,
    amount: ValueRef<'_>,
    unit: IntervalUnit,
    subtract: bool,
    cx: &mut ConvertContext,
) -> Value {
    if date.is_null() || amount.is_null() {
        return Value::Null;
    }
    let time = match date {
        ValueRef::Time(time) if keeps_time(unit) => Some(time),
        _ => None,
    };
    // A date that is none is NULL whatever the interval.
    let start = match time {
        Some(_) => None,
        None => match to_moment(date, cx) {
            Some(start) => Some(start),
            None => return Value::Null,
        },
    };
    let span =
        span(amount, unit, cx).and_then(|span| if subtract { span.negated() } else { Some(span) });
    let Some(span) = span else { return overflow("date_add_interval", cx) };
    if let Some(time) = time {
        let micros = time.micros().checked_add(span.micros);
        return match micros.and_then(Time::from_micros) {
            Some(time) => Value::Time(time),
            None => overflow("time", cx),
        };
    }
    let (start, has_time) = start.expect("what is no time was read as a date");
    let Some(end) = shift(start, span) else { return overflow("datetime", cx) };
    let is_date = is_date_unit(unit) && !has_time;
    let text = |collation| {
        let text = if is_date { end.date().to_string() } else { end.to_string() };
        Value::text(&text, collation)
    };
    match date {
        ValueRef::Date(_) if is_date => Value::Date(end.date()),
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) => Value::DateTime(end),
        ValueRef::Text(_, collation) => text(collation),
        ValueRef::Bytes(_)
        | ValueRef::Int(_)
        | ValueRef::UInt(_)
        | ValueRef::Decimal(_)
        | ValueRef::Float(_)
        | ValueRef::Json(_)
        | ValueRef::Double(_) => text(Collation::DEFAULT),
        ValueRef::Label(_, labels) => text(labels.collation()),
        ValueRef::Null => unreachable!("NULL was answered before"),
    }
}

fn overflow(kind: &str, cx: &mut ConvertContext) -> Value {
    cx.warn(1441, format!("Datetime function: {kind} field overflow"));
    Value::Null
}
