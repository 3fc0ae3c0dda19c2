//! DATE_FORMAT, TIME_FORMAT and STR_TO_DATE: the % patterns of dates.

use std::fmt::Write;

use super::super::Function;
use super::Call;
use super::temporal::default_text;
use crate::temporal::{Locale, two_digit_year};
use crate::{Date, DateTime, Time, Value};

/// Patterns are cut off here: each character makes nine at most.
const PATTERN_LENGTH_MAX: usize = 4096;

impl Call<'_, '_, '_> {
    pub(super) fn format(&mut self) -> Value {
        let pattern = self.text(1);
        let pattern = &pattern[..pattern.floor_char_boundary(PATTERN_LENGTH_MAX)];
        if pattern.is_empty() && self.function != Function::StrToDate {
            return Value::Null;
        }
        let formatted = match self.function {
            Function::DateFormat => {
                let locale = self.locale(2);
                self.fuzzy(0).and_then(|value| format_datetime(value, pattern, locale))
            }
            Function::TimeFormat => {
                self.time(0).and_then(|time| Format::of_time(time).write(pattern))
            }
            _ => return self.str_to_date(pattern),
        };
        formatted.map_or(Value::Null, |text| default_text(&text))
    }

    fn str_to_date(&mut self, pattern: &str) -> Value {
        let text = self.text(0);
        let kind = PatternKind::of(pattern);
        match read_pattern(&text, pattern, kind) {
            // NO_ZERO_DATE is what refuses zero parts too.
            Ok((value, _)) if self.ctx.convert.date_modes.no_zero_date && has_zero(&value) => {
                self.warn_str_to_date(&text, "datetime");
                Value::Null
            }
            Ok((value, complete)) => {
                if !complete {
                    let what = match kind {
                        PatternKind::Date => "date",
                        PatternKind::Time => "time",
                        PatternKind::DateTime => "datetime",
                    };
                    let shown = crate::convert::shown(text.as_bytes());
                    let message = format!("Truncated incorrect {what} value: '{shown}'");
                    self.ctx.convert.warn(1292, message);
                }
                value
            }
            Err(Mismatch(what)) => {
                self.warn_str_to_date(&text, what);
                Value::Null
            }
        }
    }

    /// 1411.
    fn warn_str_to_date(&mut self, text: &str, what: &str) {
        let shown = crate::convert::shown(text.as_bytes());
        let message = format!("Incorrect {what} value: '{shown}' for function str_to_date");
        self.ctx.convert.warn(1411, message);
    }
}

fn has_zero(value: &Value) -> bool {
    let date = match value {
        Value::Date(date) => *date,
        Value::DateTime(datetime) => datetime.date(),
        _ => return false,
    };
    date.is_partial() || date.year() == 0
}

/// None where the date has no such part: the name of month 0.
pub(super) fn format_datetime(value: DateTime, pattern: &str, locale: Locale) -> Option<String> {
    Format { date: Some(value.date()), time: value.time(), locale }.write(pattern)
}

/// What a pattern is filled with.
struct Format {
    /// None for TIME_FORMAT: parts of dates that are numbers are 0 then, the others have no value.
    date: Option<Date>,
    time: Time,
    locale: Locale,
}

impl Format {
    fn of_time(time: Time) -> Format {
        Format { date: None, time, locale: Locale::ENGLISH }
    }

    fn write(&self, pattern: &str) -> Option<String> {
        let mut out = String::new();
        if self.time.is_negative() {
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
                Some(code) => self.write_part(code, &mut out)?,
            }
        }
        Some(out)
    }

    /// A day of which a weekday can be told: every one but the zero date.
    fn weekday(&self) -> Option<u8> {
        let date = self.date.filter(|date| date.year() > 0 || date.month() > 0)?;
        Some(date.weekday())
    }

    /// The week of a date with a month, and the year the week belongs to.
    fn week(&self, mode: u8) -> Option<(u32, u32)> {
        let date = self.date.filter(|date| date.month() > 0)?;
        Some((date.week(mode), date.year_week(mode).0))
    }

    fn write_part(&self, code: char, out: &mut String) -> Option<()> {
        let (date, time) = (self.date.unwrap_or(Date::ZERO), self.time);
        let (year, month, day) = (date.year(), date.month(), date.day());
        let (hour, minute, second) = (time.hour(), time.minute(), time.second());
        let hour_of_day = hour % 24;
        let hour12 = (hour_of_day + 11) % 12 + 1;
        let half = if hour_of_day < 12 { "AM" } else { "PM" };
        let written = match code {
            'a' => write!(out, "{}", self.locale.short_day(self.weekday()?)),
            'b' => write!(out, "{}", self.locale.short_month(month)?),
            'c' => write!(out, "{month}"),
            'D' => {
                self.date?;
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
                self.date?;
                write!(out, "{:03}", date.day_of_year())
            }
            'k' => write!(out, "{hour}"),
            'l' => write!(out, "{hour12}"),
            'M' => write!(out, "{}", self.locale.month(month)?),
            'm' => write!(out, "{month:02}"),
            'p' => write!(out, "{half}"),
            'r' => write!(out, "{hour12:02}:{minute:02}:{second:02} {half}"),
            'S' | 's' => write!(out, "{second:02}"),
            'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
            'U' => write!(out, "{:02}", self.week(0)?.0),
            'u' => write!(out, "{:02}", self.week(1)?.0),
            'V' => write!(out, "{:02}", self.week(2)?.0),
            'v' => write!(out, "{:02}", self.week(3)?.0),
            'W' => write!(out, "{}", self.locale.day(self.weekday()?)),
            'w' => write!(out, "{}", (self.weekday()? + 1) % 7),
            'X' => write!(out, "{:04}", self.week(2)?.1),
            'x' => write!(out, "{:04}", self.week(3)?.1),
            'Y' => write!(out, "{year:04}"),
            'y' => write!(out, "{:02}", year % 100),
            other => write!(out, "{other}"),
        };
        written.expect("strings take everything");
        Some(())
    }
}

/// What STR_TO_DATE makes by a pattern. Days are part of all three: those of a time are 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternKind {
    Date,
    Time,
    DateTime,
}

impl PatternKind {
    fn of(pattern: &str) -> PatternKind {
        let (mut dated, mut timed) = (false, false);
        let mut characters = pattern.chars();
        while let Some(c) = characters.next() {
            if c != '%' {
                continue;
            }
            let Some(code) = characters.next() else { break };
            timed |= "fHISThiklrs".contains(code);
            dated |= "MVUXYWabcjmvuxyw".contains(code);
        }
        match (dated, timed) {
            (_, false) => PatternKind::Date,
            (false, true) => PatternKind::Time,
            (true, true) => PatternKind::DateTime,
        }
    }
}

/// The text does not match the pattern; what the message calls it.
struct Mismatch(&'static str);

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
    /// 1 is Monday, 7 is Sunday.
    weekday: Option<u8>,
    week: Option<Week>,
    /// Of %X and %x: the year, and whether its weeks begin on Sunday.
    week_year: Option<(u16, bool)>,
}

/// A week of %U, %u, %V or %v.
#[derive(Clone, Copy)]
struct Week {
    number: u8,
    from_sunday: bool,
    /// %V and %v count in the year of %X and %x.
    in_week_year: bool,
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

/// The word at the start is one of the names, or begins one of them only, in any case: the index of that.
fn name<'n>(text: &mut &str, names: impl Iterator<Item = &'n str>) -> Option<u8> {
    let size = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (word, rest) = text.split_at(size);
    let mut candidates = Vec::new();
    for (index, name) in names.enumerate() {
        if name.eq_ignore_ascii_case(word) {
            candidates = vec![index];
            break;
        }
        if name.get(..size).is_some_and(|start| start.eq_ignore_ascii_case(word)) {
            candidates.push(index);
        }
    }
    let [index] = candidates[..] else { return None };
    *text = rest;
    u8::try_from(index).ok()
}

/// The value, of the kind the pattern makes, and whether all the text was used.
fn read_pattern(text: &str, pattern: &str, kind: PatternKind) -> Result<(Value, bool), Mismatch> {
    let mut found = Found::default();
    let mut rest = text;
    found.read(&mut rest, pattern, "datetime")?;
    let value = found.value(kind).ok_or(Mismatch("datetime"))?;
    Ok((value, rest.trim_ascii_start().is_empty()))
}

impl Found {
    fn read(&mut self, rest: &mut &str, pattern: &str, what: &'static str) -> Result<(), Mismatch> {
        let mut afternoon = None;
        let mut twelve_hours = false;
        let mut codes = pattern.chars();
        while let Some(c) = codes.next() {
            *rest = rest.trim_ascii_start();
            if rest.is_empty() {
                // Text may end before the pattern does: the missing parts are zero.
                break;
            }
            let code = if c == '%' { codes.next() } else { None };
            let read = match (c, code) {
                (_, Some('T')) => {
                    self.read(rest, "%H:%i:%S", "time")?;
                    Some(())
                }
                (_, Some('r')) => {
                    self.read(rest, "%I:%i:%S %p", "time")?;
                    Some(())
                }
                (_, Some('p')) if twelve_hours => {
                    let is_half = |half: &str| {
                        rest.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(half))
                    };
                    let read =
                        if is_half("PM") { Some(true) } else { is_half("AM").then_some(false) };
                    read.map(|half| {
                        afternoon = Some(half);
                        *rest = &rest[2..];
                    })
                }
                (_, Some(code)) => {
                    twelve_hours |= matches!(code, 'h' | 'I' | 'l');
                    self.read_part(rest, code)
                }
                (c, None) if c.is_ascii_whitespace() => Some(()),
                (c, None) => rest.strip_prefix(c).map(|after| *rest = after),
            };
            read.ok_or(Mismatch(what))?;
        }
        if twelve_hours {
            if !(1..=12).contains(&self.hour) {
                return Err(Mismatch(what));
            }
            self.hour = self.hour % 12 + if afternoon == Some(true) { 12 } else { 0 };
        }
        Ok(())
    }

    fn read_part(&mut self, rest: &mut &str, code: char) -> Option<()> {
        match code {
            'Y' => {
                let digits = digits(rest, 4)?;
                let year: u16 = digits.parse().ok()?;
                self.year = if digits.len() <= 2 { two_digit_year(year) } else { year };
            }
            'y' => self.year = two_digit_year(number(rest, 2)? as u16),
            'm' | 'c' => self.month = number(rest, 2)? as u8,
            'd' | 'e' => self.day = number(rest, 2)? as u8,
            'D' => {
                self.day = number(rest, 2)? as u8;
                // The suffix is two letters, whichever.
                let suffix = rest.char_indices().nth(2).map_or(rest.len(), |(end, _)| end);
                *rest = &rest[suffix..];
            }
            'M' => {
                let months = (1..=12).filter_map(|month| Locale::ENGLISH.month(month));
                self.month = name(rest, months)? + 1;
            }
            'b' => {
                let months = (1..=12).filter_map(|month| Locale::ENGLISH.short_month(month));
                self.month = name(rest, months)? + 1;
            }
            'H' | 'k' | 'h' | 'I' | 'l' => self.hour = number(rest, 2)?,
            'i' => self.minute = number(rest, 2)?,
            's' | 'S' => self.second = number(rest, 2)?,
            'f' => {
                let fraction = digits(rest, 6)?;
                let value: u32 = fraction.parse().ok()?;
                self.micros = value * 10u32.pow(6 - fraction.len() as u32);
            }
            'j' => self.day_of_year = Some(number(rest, 3)? as u16),
            'W' => self.weekday = Some(name(rest, (0..7).map(|day| Locale::ENGLISH.day(day)))? + 1),
            'a' => {
                let days = (0..7).map(|day| Locale::ENGLISH.short_day(day));
                self.weekday = Some(name(rest, days)? + 1);
            }
            'w' => {
                let day = number(rest, 1).filter(|day| *day < 7)? as u8;
                self.weekday = Some(if day == 0 { 7 } else { day });
            }
            'U' | 'u' | 'V' | 'v' => {
                let in_week_year = matches!(code, 'V' | 'v');
                let first = u32::from(in_week_year);
                let number = number(rest, 2).filter(|week| (first..=53).contains(week))? as u8;
                let from_sunday = matches!(code, 'U' | 'V');
                self.week = Some(Week { number, from_sunday, in_week_year });
            }
            'X' | 'x' => self.week_year = Some((number(rest, 4)? as u16, code == 'X')),
            '#' => *rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()),
            '.' => *rest = rest.trim_start_matches(|c: char| c.is_ascii_punctuation()),
            '@' => *rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
            _ => return None,
        }
        Some(())
    }

    /// The date that the parts name, zero parts included.
    fn date(&self) -> Option<Date> {
        let mut date = Date::new(self.year, self.month, self.day)?;
        let year_start = |year: u16| Some(Date::new(year, 1, 1)?.day_number());
        if let Some(day) = self.day_of_year.filter(|day| *day > 0) {
            date = Date::from_day_number(year_start(self.year)? + i64::from(day) - 1)?;
        }
        if let (Some(week), Some(weekday)) = (self.week, self.weekday) {
            let year = match (week.in_week_year, self.week_year) {
                (true, Some((year, from_sunday))) if from_sunday == week.from_sunday => year,
                (false, None) => self.year,
                _ => return None,
            };
            let first = year_start(year)?;
            let (weekday, weeks) = (i64::from(weekday), (i64::from(week.number) - 1) * 7);
            let day = if week.from_sunday {
                let of_first = (first + 6) % 7;
                first + if of_first == 0 { 0 } else { 7 } - of_first + weeks + weekday % 7
            } else {
                let of_first = (first + 5) % 7;
                first + if of_first <= 3 { 0 } else { 7 } - of_first + weeks + weekday - 1
            };
            date = Date::from_day_number(day).filter(|_| day > 0)?;
        }
        Some(date)
    }

    fn value(&self, kind: PatternKind) -> Option<Value> {
        let date = self.date()?;
        let (hour, minute, second) = (self.hour, self.minute, self.second);
        let datetime = DateTime::new(date, hour, minute, second, self.micros)?;
        Some(match kind {
            PatternKind::Date => Value::Date(date),
            PatternKind::DateTime => Value::DateTime(datetime),
            PatternKind::Time => {
                let hours = u32::from(date.day()) * 24 + hour;
                Value::Time(Time::new(false, hours, minute, second, self.micros)?)
            }
        })
    }
}
