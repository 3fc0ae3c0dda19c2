//! Reading values as dates and times.
//!
//! MySQL has dates that no calendar has (zero, and with a zero month or day). Extractors such as MONTH() take them
//! ([`to_fuzzy_datetime`]); casts and arithmetic refuse them as the default sql_mode (NO_ZERO_DATE, NO_ZERO_IN_DATE) says.

use super::{ConvertContext, to_text};
use crate::temporal::ParsedDateTime;
use crate::{Date, DateTime, Decimal, Time, ValueRef};

/// Reads text as a datetime; a literal's own offset moves it into the session's time zone.
fn parse_datetime(text: &str, cx: &ConvertContext) -> Option<ParsedDateTime> {
    let parsed = DateTime::parse(text)?;
    match parsed.offset_minutes {
        None => Some(parsed),
        Some(offset) => {
            let shift = i64::from(cx.time_zone_offset_seconds) - i64::from(offset) * 60;
            let value = parsed.value.add_micros(shift * 1_000_000)?;
            Some(ParsedDateTime { value, ..parsed })
        }
    }
}

/// The whole part and the microseconds of a number that spells a date or a time.
fn split_number(number: Decimal) -> Option<(i64, u32)> {
    let whole = number.truncate(0);
    let fraction = number.sub(whole)?.abs().mul(Decimal::from_i64(1_000_000))?;
    Some((whole.to_i64_round()?, u32::try_from(fraction.to_i64_round()?).ok()?))
}

fn number_to_datetime(number: Decimal) -> Option<DateTime> {
    let (whole, micros) = split_number(number)?;
    let value = DateTime::from_number(whole)?;
    if micros == 0 || value.is_zero() { Some(value) } else { value.add_micros(i64::from(micros)) }
}

/// What was read, and whether that was all of it.
struct Read {
    value: DateTime,
    complete: bool,
}

fn read(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<Read> {
    let whole = |value| Some(Read { value, complete: true });
    match value {
        ValueRef::Null => None,
        ValueRef::Date(v) => whole(v.at_midnight()),
        ValueRef::DateTime(v) => whole(v),
        ValueRef::Time(v) => cx.now.date().at_midnight().add_micros(v.micros()).and_then(whole),
        ValueRef::Int(v) => DateTime::from_number(v).and_then(whole),
        ValueRef::UInt(v) => DateTime::from_number(i64::try_from(v).ok()?).and_then(whole),
        ValueRef::Float(_) | ValueRef::Double(_) | ValueRef::Decimal(_) => {
            number_to_datetime(super::to_decimal(value, cx)).and_then(whole)
        }
        ValueRef::Text(v, _) => {
            parse_datetime(v, cx).map(|p| Read { value: p.value, complete: p.complete })
        }
        ValueRef::Bytes(v) => {
            let parsed = parse_datetime(std::str::from_utf8(v).ok()?, cx)?;
            Some(Read { value: parsed.value, complete: parsed.complete })
        }
    }
}

/// The value as a datetime, zero and partial dates included. None and a warning (1292) if it is not one; None for NULL.
pub fn to_fuzzy_datetime(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<DateTime> {
    if value.is_null() {
        return None;
    }
    match read(value, cx) {
        Some(read) => {
            if !read.complete {
                cx.warn_truncated("datetime", to_text(value).as_bytes());
            }
            Some(read.value)
        }
        None => {
            cx.warn_incorrect("datetime", to_text(value).as_bytes());
            None
        }
    }
}

/// The value as a datetime that exists in the calendar; None and a warning otherwise.
pub fn to_datetime(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<DateTime> {
    let datetime = to_fuzzy_datetime(value, cx)?;
    if datetime.is_real() {
        return Some(datetime);
    }
    cx.warn_incorrect("datetime", to_text(value).as_bytes());
    None
}

/// The value as a date that exists in the calendar; None and a warning otherwise.
pub fn to_date(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<Date> {
    to_datetime(value, cx).map(|datetime| datetime.date())
}

/// The least number that is YYMMDDhhmmss and not HHMMSS.
const DATETIME_NUMBER_MIN: i64 = 10_000_000_000;

/// Seconds of HHMMSS numbers, with their fraction.
fn number_to_time(number: Decimal) -> Option<Time> {
    let (whole, micros) = split_number(number)?;
    let time = Time::from_number(whole)?;
    let micros = i64::from(micros);
    Time::from_micros(time.micros() + if number.is_negative() { -micros } else { micros })
}

/// The value as a time of day or a duration: the time part of dates. None and a warning if it is not one; None for NULL.
/// Out of range is clamped to 838:59:59, with a warning.
pub fn to_time(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<Time> {
    let text = match value {
        ValueRef::Null => return None,
        ValueRef::Time(v) => return Some(v),
        ValueRef::Date(_) => return Some(Time::ZERO),
        ValueRef::DateTime(v) => return Some(v.time()),
        ValueRef::Int(_)
        | ValueRef::UInt(_)
        | ValueRef::Float(_)
        | ValueRef::Double(_)
        | ValueRef::Decimal(_) => {
            let number = super::to_decimal(value, cx);
            let time = number_to_time(number).or_else(|| {
                // Too long for a time: a date with one.
                let is_long = DATETIME_NUMBER_MIN <= number.truncate(0).to_i64_round()?;
                number_to_datetime(number).filter(|_| is_long).map(|datetime| datetime.time())
            });
            if time.is_none() {
                cx.warn_truncated("time", to_text(value).as_bytes());
            }
            return time;
        }
        ValueRef::Text(_, _) | ValueRef::Bytes(_) => to_text(value),
    };
    match Time::parse(&text) {
        Some(parsed) => {
            if !parsed.complete || parsed.clamped {
                cx.warn_truncated("time", text.as_bytes());
            }
            Some(parsed.value)
        }
        None => {
            cx.warn_truncated("time", text.as_bytes());
            None
        }
    }
}

/// Bytes of a text that is read as a date with a time where a time is wanted; a shorter one is a time, '2024-02-29' as 00:20:24.
const DATETIME_TEXT_MIN: usize = 12;

/// What a string spells: a date with a time, or a time. For functions that take either.
pub fn time_of(text: &str, cx: &mut ConvertContext) -> Option<Result<DateTime, Time>> {
    let spelled = text.trim_start();
    if DATETIME_TEXT_MIN <= spelled.len()
        && spelled.contains('-')
        && !spelled.starts_with('-')
        && let Some(parsed) = parse_datetime(text, cx)
    {
        return Some(Ok(parsed.value));
    }
    Time::parse(text).map(|parsed| Err(parsed.value))
}
