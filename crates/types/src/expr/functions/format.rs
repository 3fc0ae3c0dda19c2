//! DATE_FORMAT, TIME_FORMAT and STR_TO_DATE: the % patterns of dates.

use std::fmt::Write;

use super::super::Function;
use super::Call;
use super::temporal::default_text;
use crate::temporal::two_digit_year;
use crate::{Date, DateTime, Time, Value};

pub(super) const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From Monday.
pub(super) const DAY_NAMES: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Patterns are cut off here: each character makes nine at most.
const PATTERN_LENGTH_MAX: usize = 4096;

impl Call<'_, '_, '_> {
    pub(super) fn format(&mut self) -> Value {
        let pattern = self.text(1);
        let pattern = &pattern[..pattern.floor_char_boundary(PATTERN_LENGTH_MAX)];
        if pattern.is_empty() && self.function != Function::StrToDate {
            return Value::Null;
        }
        match self.function {
            Function::DateFormat => match self.fuzzy(0) {
                Some(value) => {
                    format_datetime(value, pattern).map_or(Value::Null, |t| default_text(&t))
                }
                None => Value::Null,
            },
            Function::TimeFormat => match self.time(0) {
                Some(time) => format_parts(Date::ZERO, time, pattern)
                    .map_or(Value::Null, |t| default_text(&t)),
                None => Value::Null,
            },
            _ => self.str_to_date(pattern),
        }
    }

    fn str_to_date(&mut self, pattern: &str) -> Value {
        let text = self.text(0);
        let result = parse_pattern(&text, pattern).and_then(|found| found.finish(pattern));
        match result {
            Some((value, complete)) => {
                if !complete {
                    let what = match value {
                        Value::Date(_) => "date",
                        Value::Time(_) => "time",
                        _ => "datetime",
                    };
                    let shown = crate::convert::shown(text.as_bytes());
                    let message = format!("Truncated incorrect {what} value: '{shown}'");
                    self.ctx.convert.warn(1292, message);
                }
                value
            }
            None => {
                let shown = crate::convert::shown(text.as_bytes());
                let message =
                    format!("Incorrect datetime value: '{shown}' for function str_to_date");
                self.ctx.convert.warn(1411, message);
                Value::Null
            }
        }
    }
}

pub(super) fn format_datetime(value: DateTime, pattern: &str) -> Option<String> {
    format_parts(value.date(), value.time(), pattern)
}

/// None where the date has no such part: the name of month 0, the week of a zero date.
fn format_parts(date: Date, time: Time, pattern: &str) -> Option<String> {
    let mut out = String::new();
    if time.is_negative() {
        out.push('-');
    }
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match characters.next() {
            None => out.push('%'),
            Some(code) => format_part(date, time, code, &mut out)?,
        }
    }
    Some(out)
}

fn format_part(date: Date, time: Time, code: char, out: &mut String) -> Option<()> {
    let (year, month, day) = (date.year(), date.month(), date.day());
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    let hour_of_day = hour % 24;
    let hour12 = (hour_of_day + 11) % 12 + 1;
    let half = if hour_of_day < 12 { "AM" } else { "PM" };
    let month_name = || month.checked_sub(1).map(|index| MONTH_NAMES[usize::from(index)]);
    let weekday = || if date.is_real() { Some(usize::from(date.weekday())) } else { None };
    let week = |mode: u8| if date.is_real() { Some(date.week(mode)) } else { None };
    let year_of_week = |mode: u8| if date.is_real() { Some(date.year_week(mode).0) } else { None };
    let written = match code {
        'a' => write!(out, "{}", &DAY_NAMES[weekday()?][..3]),
        'b' => write!(out, "{}", &month_name()?[..3]),
        'c' => write!(out, "{month}"),
        'D' => {
            let suffix = match (day % 10, day / 10) {
                (_, 1) => "th",
                (1, _) => "st",
                (2, _) => "nd",
                (3, _) => "rd",
                _ => "th",
            };
            write!(out, "{day}{suffix}")
        }
        'd' => write!(out, "{day:02}"),
        'e' => write!(out, "{day}"),
        'f' => write!(out, "{:06}", time.microsecond()),
        'H' => write!(out, "{hour:02}"),
        'h' | 'I' => write!(out, "{hour12:02}"),
        'i' => write!(out, "{minute:02}"),
        'j' => {
            if !date.is_real() {
                return None;
            }
            write!(out, "{:03}", date.day_of_year())
        }
        'k' => write!(out, "{hour}"),
        'l' => write!(out, "{hour12}"),
        'M' => write!(out, "{}", month_name()?),
        'm' => write!(out, "{month:02}"),
        'p' => write!(out, "{half}"),
        'r' => write!(out, "{hour12:02}:{minute:02}:{second:02} {half}"),
        'S' | 's' => write!(out, "{second:02}"),
        'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
        'U' => write!(out, "{:02}", week(0)?),
        'u' => write!(out, "{:02}", week(1)?),
        'V' => write!(out, "{:02}", week(2)?),
        'v' => write!(out, "{:02}", week(3)?),
        'W' => write!(out, "{}", DAY_NAMES[weekday()?]),
        'w' => write!(out, "{}", (weekday()? + 1) % 7),
        'X' => write!(out, "{:04}", year_of_week(2)?),
        'x' => write!(out, "{:04}", year_of_week(3)?),
        'Y' => write!(out, "{year:04}"),
        'y' => write!(out, "{:02}", year % 100),
        other => write!(out, "{other}"),
    };
    written.expect("strings take everything");
    Some(())
}

/// What STR_TO_DATE has read.
#[derive(Default)]
struct Found {
    year: u16,
    month: u8,
    day: u8,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    day_of_year: Option<u16>,
    afternoon: Option<bool>,
    twelve_hours: bool,
    /// Text is left after the pattern.
    complete: bool,
}

/// Up to `width` digits at the start.
fn digits<'t>(text: &mut &'t str, width: usize) -> Option<&'t str> {
    let count = text.bytes().take(width).take_while(u8::is_ascii_digit).count();
    if count == 0 {
        return None;
    }
    let (number, rest) = text.split_at(count);
    *text = rest;
    Some(number)
}

fn number(text: &mut &str, width: usize) -> Option<u32> {
    digits(text, width)?.parse().ok()
}

/// One of `names`, or its first three letters, in any case: its index.
fn name(text: &mut &str, names: &[&str], short: bool) -> Option<usize> {
    for (index, name) in names.iter().enumerate() {
        let wanted = if short { &name[..3] } else { name };
        if let Some(start) = text.get(..wanted.len())
            && start.eq_ignore_ascii_case(wanted)
        {
            *text = &text[wanted.len()..];
            return Some(index);
        }
    }
    None
}

fn parse_pattern(text: &str, pattern: &str) -> Option<Found> {
    let mut found = Found::default();
    let mut rest = text;
    // The composite codes as what they stand for.
    let pattern = pattern.replace("%T", "%H:%i:%S").replace("%r", "%I:%i:%S %p");
    let mut codes = pattern.chars();
    while let Some(c) = codes.next() {
        if c.is_whitespace() {
            continue;
        }
        rest = rest.trim_start();
        if rest.is_empty() {
            // Text may end before the pattern does: the missing parts are zero.
            break;
        }
        if c != '%' {
            rest = rest.strip_prefix(c)?;
            continue;
        }
        let code = codes.next()?;
        parse_part(&mut rest, code, &mut found)?;
    }
    found.complete = rest.trim_start().is_empty();
    Some(found)
}

fn parse_part(rest: &mut &str, code: char, found: &mut Found) -> Option<()> {
    match code {
        'Y' => {
            let digits = digits(rest, 4)?;
            let year: u16 = digits.parse().ok()?;
            found.year = if digits.len() <= 2 { two_digit_year(year) } else { year };
        }
        'y' => found.year = two_digit_year(number(rest, 2)? as u16),
        'm' | 'c' => found.month = number(rest, 2)? as u8,
        'd' | 'e' => found.day = number(rest, 2)? as u8,
        'D' => {
            found.day = number(rest, 2)? as u8;
            // The suffix is two letters, whichever.
            *rest = rest.get(2..)?;
        }
        'M' => found.month = name(rest, &MONTH_NAMES, false)? as u8 + 1,
        'b' => found.month = name(rest, &MONTH_NAMES, true)? as u8 + 1,
        'H' | 'k' => found.hour = number(rest, 2)?,
        'h' | 'I' | 'l' => {
            found.hour = number(rest, 2)?;
            found.twelve_hours = true;
            if !(1..=12).contains(&found.hour) {
                return None;
            }
        }
        'i' => found.minute = number(rest, 2)?,
        's' | 'S' => found.second = number(rest, 2)?,
        'f' => {
            let fraction = digits(rest, 6)?;
            let value: u32 = fraction.parse().ok()?;
            found.micros = value * 10u32.pow(6 - fraction.len() as u32);
        }
        'j' => found.day_of_year = Some(number(rest, 3)? as u16),
        'p' => found.afternoon = Some(name(rest, &["AM ", "PM "].map(|n| &n[..2]), false)? == 1),
        'W' => {
            name(rest, &DAY_NAMES, false)?;
        }
        'a' => {
            name(rest, &DAY_NAMES, true)?;
        }
        'w' => {
            number(rest, 1)?;
        }
        '#' => *rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        '.' => *rest = rest.trim_start_matches(|c: char| c.is_ascii_punctuation()),
        '@' => *rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
        '%' => *rest = rest.strip_prefix('%')?,
        _ => return None,
    }
    Some(())
}

impl Found {
    /// The value, of the kind the pattern asks for, and whether all the text was used.
    fn finish(mut self, pattern: &str) -> Option<(Value, bool)> {
        match (self.afternoon, self.twelve_hours) {
            (Some(afternoon), true) => self.hour = self.hour % 12 + if afternoon { 12 } else { 0 },
            (Some(_), false) => return None,
            (None, true) => self.hour %= 12,
            (None, false) => {}
        }
        let any_of = |codes: &[u8]| {
            let bytes = pattern.as_bytes();
            bytes.windows(2).any(|pair| pair[0] == b'%' && codes.contains(&pair[1]))
        };
        let dated = any_of(b"YymcdeDMbjUuVvXx");
        let timed = any_of(b"HhIiklSsfpTr");
        if self.minute > 59 || self.second > 59 {
            return None;
        }
        if !dated && timed {
            let time = Time::new(false, self.hour, self.minute, self.second, self.micros)?;
            return Some((Value::Time(time), self.complete));
        }
        if self.hour > 23 {
            return None;
        }
        let date = match self.day_of_year {
            Some(0) => return None,
            Some(day) => Date::new(self.year, 1, 1)?.add_days(i64::from(day) - 1)?,
            None => Date::new(self.year, self.month, self.day)?,
        };
        // The default sql_mode takes no zero in a date.
        if !date.is_real() {
            return None;
        }
        let value = if timed {
            let (hour, minute, second) = (self.hour, self.minute, self.second);
            Value::DateTime(datetime(date, hour, minute, second, self.micros)?)
        } else {
            Value::Date(date)
        };
        Some((value, self.complete))
    }
}

fn datetime(date: Date, hour: u32, minute: u32, second: u32, micros: u32) -> Option<DateTime> {
    let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    date.at_midnight().add_micros(seconds * 1_000_000 + i64::from(micros))
}
