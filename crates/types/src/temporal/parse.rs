//! Reading dates and times the way MySQL does: with any punctuation between the parts, or none at all.
//!
//! A moment is either one run of digits whose length gives its form (240102, 20240102, 240102030405, 20240102030405,
//! also 20240102T030405), or parts with punctuation between them (2024-1-2, 24/01/02, 2024-01-02 03:04:05). Blanks stand
//! only between date and time and at the ends. Both forms may end in fractional seconds, of which the seventh digit
//! rounds, and in an offset from UTC. A year of two digits means 1970 to 2069.
//!
//! A time is [-][days ]hh:mm:ss[.fraction], hh:mm, or the run of digits hhmmss; a text of twelve characters or more that
//! is a moment is read as one.

use super::{Date, DateModes, DateTime, MICROS_PER_SECOND, Time};

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
    /// The text is out of range; the value is the nearest time in it.
    pub clamped: bool,
}

/// What a text is where a time is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpelledTime {
    Time(ParsedTime),
    Moment(ParsedDateTime),
}

/// 0 to 69 is 2000 to 2069, 70 to 99 is 1970 to 1999; other years are themselves.
pub fn two_digit_year(year: u16) -> u16 {
    match year {
        0..70 => 2000 + year,
        70..100 => 1900 + year,
        _ => year,
    }
}

/// A part of a date with more than six digits makes the text no date.
const PART_MAX: u64 = 999_999;
/// Bytes of a text that is tried as a moment where a time is expected; a shorter one is a time: '2024-02-29' is 00:20:24.
const MOMENT_SIZE_MIN: usize = 12;
/// The furthest offset from UTC.
const OFFSET_MINUTES_MAX: i32 = 14 * 60;

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }
    fn is_at_digit(&self) -> bool {
        self.peek().is_some_and(|byte| byte.is_ascii_digit())
    }
    /// The byte here is `byte` and a digit follows it.
    fn is_before_digit(&self, byte: u8) -> bool {
        matches!(self.0, [first, second, ..] if *first == byte && second.is_ascii_digit())
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
    /// Skips blanks; how many there were.
    fn skip_blanks(&mut self) -> usize {
        let count = self.0.iter().take_while(|byte| is_blank(**byte)).count();
        self.skip(count);
        count
    }
    fn is_blank_to_the_end(&self) -> bool {
        self.0.iter().all(|byte| is_blank(*byte))
    }
    /// Takes up to `most` digits: the number (cut at u64's largest) and the count of digits, both 0 if none stands here.
    fn number(&mut self, most: usize) -> (u64, usize) {
        let digits = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit());
        let (mut number, mut count) = (0u64, 0);
        for byte in digits {
            number = number.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
            count += 1;
        }
        self.skip(count);
        (number, count)
    }
}

/// The parts of a moment as they stand in the text.
struct Scan<'a> {
    /// Year, month, day, hour, minute, second, fraction.
    parts: [u64; 7],
    fraction_digits: usize,
    /// Parts that were given.
    count: usize,
    year_size: usize,
    offset_minutes: Option<i32>,
    is_delimited: bool,
    has_blank: bool,
    rest: Cursor<'a>,
}

/// Why a text is no moment.
enum NoMoment {
    /// It does not look like one: where a time is expected it may be a time.
    OtherForm,
    /// It looks like one, with a part out of range.
    WrongValue,
}

/// None: not the form of a moment.
fn scan(text: &[u8]) -> Option<Scan<'_>> {
    let mut cursor = Cursor(text);
    cursor.skip_blanks();
    if !cursor.is_at_digit() {
        return None;
    }
    let run = cursor.0.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
    let is_compact = matches!(cursor.0.get(run), None | Some(b'.'));
    let compact_year_size = if matches!(run, 4 | 8) || run >= 14 { 4 } else { 2 };
    let mut scan = Scan {
        parts: [0; 7],
        fraction_digits: 0,
        count: 0,
        year_size: compact_year_size,
        offset_minutes: None,
        is_delimited: false,
        has_blank: false,
        rest: Cursor(cursor.0),
    };
    let mut width = compact_year_size;
    while scan.count < 7 && cursor.is_at_digit() {
        let position = scan.count;
        let most = if is_compact || position == 6 { width } else { usize::MAX };
        let (number, digits) = cursor.number(most);
        if PART_MAX < number {
            return None;
        }
        scan.parts[position] = number;
        scan.count += 1;
        match position {
            0 if !is_compact => scan.year_size = digits,
            6 => scan.fraction_digits = digits,
            _ => {}
        }
        width = 2;
        scan.rest = Cursor(cursor.0);
        match (position, cursor.peek()) {
            (_, None) => break,
            (2, Some(b'T')) => {
                cursor.skip(1);
                continue;
            }
            (5, Some(b'.')) => {
                cursor.skip(1);
                scan.rest = Cursor(cursor.0);
                width = 6;
                continue;
            }
            (5, Some(byte)) if byte.is_ascii_digit() => break,
            (5 | 6, Some(b'+' | b'-')) => {
                scan.offset_minutes = Some(zone(cursor.0)?);
                scan.rest = Cursor(&[]);
                break;
            }
            (5, Some(_)) => break,
            _ => {}
        }
        while let Some(byte) = cursor.peek() {
            if is_blank(byte) {
                if !matches!(position, 2 | 6) {
                    return None;
                }
                scan.has_blank = true;
            } else if !byte.is_ascii_punctuation() {
                break;
            }
            cursor.skip(1);
            scan.is_delimited = true;
        }
        scan.rest = Cursor(cursor.0);
    }
    Some(scan)
}

impl Scan<'_> {
    fn moment(mut self, modes: DateModes) -> Result<ParsedDateTime, NoMoment> {
        let is_zero = self.parts == [0; 7];
        let mut micros = u32::try_from(self.parts[6]).map_err(|_| NoMoment::WrongValue)?;
        micros *= 10u32.pow(6 - self.fraction_digits as u32);
        let [year, month, day, hour, minute, second, _] = self.parts;
        let part = |number: u64| u32::try_from(number).map_err(|_| NoMoment::WrongValue);
        let mut year = u16::try_from(year).map_err(|_| NoMoment::WrongValue)?;
        if self.year_size == 2 && !is_zero {
            year = two_digit_year(year);
        }
        let (month, day) = (
            u8::try_from(month).map_err(|_| NoMoment::WrongValue)?,
            u8::try_from(day).map_err(|_| NoMoment::WrongValue)?,
        );
        let date = Date::new(year, month, day)
            .filter(|date| self.count >= 3 && (modes.allow_invalid_dates || date.is_valid()))
            .ok_or(NoMoment::WrongValue)?;
        let mut value = DateTime::new(date, part(hour)?, part(minute)?, part(second)?, micros)
            .ok_or(NoMoment::WrongValue)?;
        if self.fraction_digits == 6 && self.rest.is_at_digit() {
            let rounds_up = self.rest.peek().is_some_and(|digit| digit >= b'5');
            self.rest.number(usize::MAX);
            if rounds_up && !modes.truncate_fractions {
                value = value.next_micro().ok_or(NoMoment::WrongValue)?;
            }
        }
        if matches!(self.rest.peek(), Some(b'+' | b'-')) {
            self.offset_minutes = Some(zone(self.rest.0).ok_or(NoMoment::OtherForm)?);
            self.rest = Cursor(&[]);
        }
        Ok(ParsedDateTime {
            value,
            has_time: self.count > 3,
            complete: self.rest.is_blank_to_the_end(),
            offset_minutes: self.offset_minutes,
        })
    }
}

/// An offset like +05:30 or -08:00 with nothing but blanks behind it, in minutes; -00:00 is none.
fn zone(text: &[u8]) -> Option<i32> {
    let &[sign, h1, h2, b':', m1, m2, ref rest @ ..] = text else { return None };
    if ![h1, h2, m1, m2].iter().all(u8::is_ascii_digit) || !rest.iter().all(|b| is_blank(*b)) {
        return None;
    }
    let two = |high: u8, low: u8| i32::from(high - b'0') * 10 + i32::from(low - b'0');
    let (hours, minutes) = (two(h1, h2), two(m1, m2));
    let total = hours * 60 + minutes;
    if minutes > 59 || total > OFFSET_MINUTES_MAX || (sign == b'-' && total == 0) {
        return None;
    }
    Some(if sign == b'-' { -total } else { total })
}

impl DateTime {
    /// Reads a moment as MySQL does; None for what is no date or no time, with 2024-02-30 and 25:00:00. Zero and partial
    /// dates are read.
    pub fn parse(text: &str) -> Option<ParsedDateTime> {
        DateTime::parse_with(text, DateModes::default())
    }
    /// As [`parse`](Self::parse); reads 2024-02-30 with ALLOW_INVALID_DATES and cuts the fraction with
    /// TIME_TRUNCATE_FRACTIONAL. Whether zero dates are admitted is the caller's question.
    pub fn parse_with(text: &str, modes: DateModes) -> Option<ParsedDateTime> {
        scan(text.as_bytes())?.moment(modes).ok()
    }
}

impl Time {
    /// Reads a time as MySQL does, or the time of day of a whole moment. None for what is no time, with 10:60:00. Out of
    /// range it is cut to the nearest time, which is marked.
    pub fn parse(text: &str) -> Option<ParsedTime> {
        Some(match Time::spell(text, DateModes::default())? {
            SpelledTime::Time(parsed) => parsed,
            SpelledTime::Moment(parsed) => {
                ParsedTime { value: parsed.value.time(), complete: parsed.complete, clamped: false }
            }
        })
    }

    /// As [`parse`](Self::parse), with the date of a whole moment.
    pub fn spell(text: &str, modes: DateModes) -> Option<SpelledTime> {
        let mut cursor = Cursor(text.as_bytes());
        cursor.skip_blanks();
        let negative = cursor.eat(b'-');
        if MOMENT_SIZE_MIN <= cursor.0.len()
            && let Some(scan) = scan(cursor.0)
            && (scan.has_blank || !scan.is_delimited)
        {
            let modes = DateModes { allow_invalid_dates: false, ..modes };
            match scan.moment(modes) {
                Ok(parsed) => return Some(SpelledTime::Moment(parsed)),
                Err(NoMoment::WrongValue) => return None,
                Err(NoMoment::OtherForm) => {}
            }
        }
        let parsed = time_of_parts(cursor, negative, modes)?;
        Some(SpelledTime::Time(parsed))
    }
}

/// [days ]hh:mm:ss[.fraction] or hhmmss[.fraction], behind the sign.
fn time_of_parts(mut cursor: Cursor<'_>, negative: bool, modes: DateModes) -> Option<ParsedTime> {
    let size = cursor.0.len();
    let (first, _) = cursor.number(usize::MAX);
    if size == 0 || u64::from(u32::MAX) < first {
        return None;
    }
    let has_days = cursor.skip_blanks() > 0 && cursor.is_at_digit() && cursor.0.len() > 1;
    let (hours, mut minutes, mut seconds);
    if has_days || cursor.is_before_digit(b':') {
        hours = if has_days { cursor.number(usize::MAX).0 } else { first };
        (minutes, seconds) = (0, 0);
        for part in [&mut minutes, &mut seconds] {
            if !cursor.is_before_digit(b':') {
                break;
            }
            cursor.skip(1);
            *part = cursor.number(usize::MAX).0;
        }
    } else {
        (hours, minutes, seconds) = (first / 10_000, first / 100 % 100, first % 100);
    }
    let (mut micros, mut rounds_up) = (0, false);
    if cursor.is_before_digit(b'.') {
        cursor.skip(1);
        let (fraction, digits) = cursor.number(6);
        micros = fraction * 10u64.pow(6 - digits as u32);
        rounds_up = cursor.peek().is_some_and(|digit| (b'5'..=b'9').contains(&digit));
        cursor.number(usize::MAX);
    } else if cursor.0 == b"." {
        cursor.skip(1);
    }
    if is_exponent(cursor.0) || minutes > 59 || seconds > 59 || cursor.0.len() == size {
        return None;
    }
    // Far out of range is as good as further out, and stays far from overflow.
    let days = if has_days { first } else { 0 };
    let hours = days.saturating_mul(24).saturating_add(hours).min(1_000_000) as i64;
    let total_seconds = hours * 3600 + (minutes * 60 + seconds) as i64;
    let mut total = total_seconds * MICROS_PER_SECOND + micros as i64;
    if rounds_up && !modes.truncate_fractions {
        total += 1;
    }
    let total = if negative { -total } else { total };
    let value = Time::from_micros_clamped(total);
    Some(ParsedTime {
        value,
        complete: cursor.is_blank_to_the_end(),
        clamped: value.micros() != total,
    })
}

/// A number with an exponent is no time.
fn is_exponent(text: &[u8]) -> bool {
    match text {
        [b'e' | b'E', b'+' | b'-', digit, ..] | [b'e' | b'E', digit, ..] => digit.is_ascii_digit(),
        _ => false,
    }
}
