//! Reading dates and times the way MySQL does: with any punctuation between the parts, or none at all.
//!
//! A moment is either one run of digits whose length says what it holds (240102, 20240102, 240102030405, 20240102030405,
//! also 20240102T030405), or parts with a character between them (2024-1-2, 24/01/02, 2024-01-02T03:04:05). Both may end
//! in fractional seconds, of which the seventh digit rounds. Years of at most two digits mean 1970 to 2069.

use super::{Date, DateTime, MICROS_PER_SECOND, Time};

/// A moment read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedDateTime {
    pub value: DateTime,
    /// Hours were given, not only a date.
    pub has_time: bool,
    /// Nothing but blanks came after it; otherwise MySQL warns of truncation.
    pub complete: bool,
    /// The zone given (+05:30 is 330): the value is the local time there.
    pub offset_minutes: Option<i32>,
}

/// A time read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedTime {
    pub value: Time,
    /// Nothing but blanks came after it; otherwise MySQL warns of truncation.
    pub complete: bool,
    /// What the text said is out of range; the value is the nearest time in it.
    pub clamped: bool,
}

/// 0 to 69 is 2000 to 2069, 70 to 99 is 1970 to 1999; other years are themselves.
pub fn two_digit_year(year: u16) -> u16 {
    match year {
        0..70 => 2000 + year,
        70..100 => 1900 + year,
        _ => year,
    }
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }
    fn skip(&mut self, count: usize) {
        self.0 = &self.0[count..];
    }
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.skip(1);
        }
        found
    }
    fn skip_blanks(&mut self) {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.skip(count);
    }
    /// Digits from here on, without taking them.
    fn digit_count(&self) -> usize {
        self.0.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }
    /// Takes up to `most` digits: the number (cut at u32's largest) and how many; None if there is no digit.
    fn number(&mut self, most: usize) -> Option<(u32, usize)> {
        let count = self.digit_count().min(most);
        if count == 0 {
            return None;
        }
        let digits = &self.0[..count];
        self.skip(count);
        let fold = |number: u32, byte: &u8| {
            number.saturating_mul(10).saturating_add(u32::from(byte - b'0'))
        };
        Some((digits.iter().fold(0, fold), count))
    }
    /// Fractional seconds if a point stands here: microseconds, 1,000,000 if the seventh digit rounds up to a second.
    fn fraction(&mut self) -> u32 {
        if !self.eat(b'.') {
            return 0;
        }
        let count = self.digit_count();
        let digits = &self.0[..count];
        self.skip(count);
        let mut micros = 0;
        for index in 0..6 {
            micros = micros * 10 + digits.get(index).map_or(0, |byte| u32::from(byte - b'0'));
        }
        micros + u32::from(digits.get(6).is_some_and(|&byte| byte >= b'5'))
    }
}

impl DateTime {
    /// Reads a moment as MySQL does; None for what is no date or no time, with 2024-02-30 and 25:00:00. Zero and partial
    /// dates are read.
    pub fn parse(text: &str) -> Option<ParsedDateTime> {
        let mut cursor = Cursor(text.as_bytes());
        cursor.skip_blanks();
        let (parts, count) = match compact_size(cursor.0) {
            Some(size) => compact_parts(&mut cursor, size)?,
            None => delimited_parts(&mut cursor)?,
        };
        if count < 3 {
            return None;
        }
        let micros = if count == 6 { cursor.fraction() } else { 0 };
        let [year, month, day, hour, minute, second] = parts;
        let date =
            Date::new(u16::try_from(year).ok()?, month.try_into().ok()?, day.try_into().ok()?)?;
        if !date.is_valid() {
            return None;
        }
        let carry = i64::from(micros) == MICROS_PER_SECOND;
        let value =
            DateTime::new(date, hour, minute, second, if carry { 999_999 } else { micros })?;
        let value = if carry { value.add_micros(1)? } else { value };
        let offset_minutes = if count > 3 { zone(&mut cursor)? } else { None };
        cursor.skip_blanks();
        let complete = cursor.0.is_empty();
        Some(ParsedDateTime { value, has_time: count > 3, complete, offset_minutes })
    }
}

/// The length of the run of digits (with one T allowed in it) if the text is in the form without punctuation.
fn compact_size(text: &[u8]) -> Option<usize> {
    let digits = Cursor(text).digit_count();
    if digits == 8 && text.get(8) == Some(&b'T') {
        return Some(8);
    }
    let after = text.get(digits);
    let ends = match after {
        None => true,
        Some(b'.') => digits >= 12,
        Some(byte) => byte.is_ascii_whitespace() && digits >= 5,
    };
    (ends && digits >= 5).then_some(digits)
}

/// Two digits a part, the year four if there are 8 or at least 14 digits.
fn compact_parts(cursor: &mut Cursor<'_>, digits: usize) -> Option<([u32; 6], usize)> {
    let year_size = if digits == 8 || digits >= 14 { 4 } else { 2 };
    let mut parts = [0; 6];
    let mut count = 0;
    while count < 6 {
        if count == 3 {
            cursor.eat(b'T');
        }
        let most = if count == 0 { year_size } else { 2 };
        let Some((number, _)) = cursor.number(most) else { break };
        parts[count] = number;
        count += 1;
    }
    if year_size == 2 && parts != [0; 6] {
        parts[0] = u32::from(two_digit_year(parts[0] as u16));
    }
    Some((parts, count))
}

/// Numbers with punctuation, a T or blanks between them.
fn delimited_parts(cursor: &mut Cursor<'_>) -> Option<([u32; 6], usize)> {
    let mut parts = [0; 6];
    let mut count = 0;
    let mut year_size = 0;
    while count < 6 {
        if count > 0 {
            let rest = cursor.0;
            if count == 3 {
                // Between date and time: a T, blanks or punctuation.
                if !cursor.eat(b'T') {
                    let separators =
                        cursor.0.iter().take_while(|byte| is_separator(**byte) || **byte == b' ');
                    let size = separators.count();
                    if size == 0 {
                        break;
                    }
                    cursor.skip(size);
                }
            } else {
                // Only one point can start the fraction, which is read when all six parts are there.
                let size = cursor.0.iter().take_while(|byte| is_separator(**byte)).count();
                if size == 0 {
                    break;
                }
                cursor.skip(size);
            }
            if cursor.digit_count() == 0 {
                cursor.0 = rest;
                break;
            }
        }
        let Some((number, size)) = cursor.number(if count == 0 { 4 } else { 2 }) else { break };
        if count == 0 {
            year_size = size;
        }
        parts[count] = number;
        count += 1;
    }
    if year_size <= 2 && parts != [0; 6] {
        parts[0] = u32::from(two_digit_year(parts[0] as u16));
    }
    Some((parts, count))
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii_punctuation()
}

/// A zone like +05:30 or -08:00 (up to 14 hours): Some(None) if there is none, None if it is out of range.
fn zone(cursor: &mut Cursor<'_>) -> Option<Option<i32>> {
    let negative = match cursor.peek() {
        Some(b'-') => true,
        Some(b'+') => false,
        _ => return Some(None),
    };
    let &[_, h1, h2, b':', m1, m2, ..] = cursor.0 else { return Some(None) };
    if ![h1, h2, m1, m2].iter().all(u8::is_ascii_digit) {
        return Some(None);
    }
    let two = |high: u8, low: u8| i32::from(high - b'0') * 10 + i32::from(low - b'0');
    let (hours, minutes) = (two(h1, h2), two(m1, m2));
    let total = hours * 60 + minutes;
    if minutes > 59 || total > 14 * 60 {
        return None;
    }
    cursor.skip(6);
    Some(Some(if negative { -total } else { total }))
}

impl Time {
    /// Reads a time as MySQL does: [-][days ]hh:mm:ss[.fraction], hh:mm, hhmmss, ss; or the time of day of a whole moment.
    /// None for what is no time, with 10:60:00. Out of range it is cut to the nearest time, which is marked.
    pub fn parse(text: &str) -> Option<ParsedTime> {
        let trimmed = text.trim_ascii();
        // A moment has a T or a blank in it, or is twelve digits at least; without either, 487:03:16.5 is a time. A blank
        // behind a number of days does not look like a date.
        let is_moment = trimmed.bytes().any(|byte| byte == b'T' || byte.is_ascii_whitespace())
            || compact_size(trimmed.as_bytes()).is_some();
        if trimmed.len() >= 12
            && is_moment
            && let Some(parsed) = DateTime::parse(trimmed)
            && parsed.has_time
        {
            let complete = parsed.complete;
            return Some(ParsedTime { value: parsed.value.time(), complete, clamped: false });
        }
        let mut cursor = Cursor(trimmed.as_bytes());
        let negative = cursor.eat(b'-');
        if !negative {
            cursor.eat(b'+');
        }
        let (mut hours, mut minutes, mut seconds) = (0u64, 0u32, 0u32);
        let mut days = 0u64;
        let (first, _) = cursor.number(usize::MAX)?;
        let blanks = cursor.0.iter().take_while(|byte| **byte == b' ').count();
        let days_given = blanks > 0 && cursor.0.get(blanks).is_some_and(u8::is_ascii_digit);
        if days_given {
            days = u64::from(first);
            cursor.skip(blanks);
            hours = u64::from(cursor.number(usize::MAX)?.0);
        }
        let colon_digit = |cursor: &Cursor<'_>| {
            cursor.peek() == Some(b':') && cursor.0.get(1).is_some_and(u8::is_ascii_digit)
        };
        if days_given || colon_digit(&cursor) {
            if !days_given {
                hours = u64::from(first);
            }
            for part in [&mut minutes, &mut seconds] {
                if !colon_digit(&cursor) {
                    break;
                }
                cursor.skip(1);
                *part = cursor.number(usize::MAX)?.0;
            }
        } else {
            hours = u64::from(first / 10_000);
            minutes = first / 100 % 100;
            seconds = first % 100;
        }
        if minutes > 59 || seconds > 59 {
            return None;
        }
        let micros = cursor.fraction();
        cursor.skip_blanks();
        let complete = cursor.0.is_empty();
        // Far out of range is as good as far further out, and stays far from overflow.
        let hours = (days * 24 + hours).min(1_000_000) as i64;
        let total_seconds = hours * 3600 + i64::from(minutes) * 60 + i64::from(seconds);
        let total = total_seconds * MICROS_PER_SECOND + i64::from(micros);
        let total = if negative { -total } else { total };
        let value = Time::from_micros_clamped(total);
        Some(ParsedTime { value, complete, clamped: value.micros() != total })
    }
}
