//! TIME: a time of day or a signed duration, up to 838:59:59.

use std::fmt;

use super::{DateModes, MICROS_PER_SECOND, fsp_unit, write_fraction};
use crate::wire::{Reader, Wire, WireError};

/// Hours of the longest time. Numbers and texts may spell more: those are refused before any arithmetic.
const HOUR_MAX: u32 = 838;

const MICROS_MAX: i64 = (HOUR_MAX as i64 * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND;

/// Microseconds, from -838:59:59 to 838:59:59.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

impl Time {
    pub const ZERO: Time = Time(0);
    pub const MAX: Time = Time(MICROS_MAX);
    pub const MIN: Time = Time(-MICROS_MAX);
    /// Bytes of [`pack`](Self::pack)ed times that matter.
    pub const PACKED_SIZE: usize = 6;
    const BIAS: i64 = 1 << 47;

    /// None if it is out of range.
    pub fn from_micros(micros: i64) -> Option<Time> {
        (-MICROS_MAX..=MICROS_MAX).contains(&micros).then_some(Time(micros))
    }
    /// The nearest time in range.
    pub fn from_micros_clamped(micros: i64) -> Time {
        Time(micros.clamp(-MICROS_MAX, MICROS_MAX))
    }
    /// Microseconds, negative for a negative time.
    pub fn micros(self) -> i64 {
        self.0
    }
    /// None if minutes or seconds exceed 59, microseconds 999,999, or the whole is out of range.
    pub fn new(negative: bool, hour: u32, minute: u32, second: u32, micros: u32) -> Option<Time> {
        if hour > HOUR_MAX || minute > 59 || second > 59 || i64::from(micros) >= MICROS_PER_SECOND {
            return None;
        }
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let total = seconds * MICROS_PER_SECOND + i64::from(micros);
        Time::from_micros(if negative { -total } else { total })
    }
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
    pub fn is_negative(self) -> bool {
        self.0 < 0
    }
    /// Whole hours of the magnitude, up to 838.
    pub fn hour(self) -> u32 {
        (self.seconds() / 3600) as u32
    }
    pub fn minute(self) -> u32 {
        (self.seconds() / 60 % 60) as u32
    }
    pub fn second(self) -> u32 {
        (self.seconds() % 60) as u32
    }
    pub fn microsecond(self) -> u32 {
        (self.0.abs() % MICROS_PER_SECOND) as u32
    }
    fn seconds(self) -> i64 {
        self.0.abs() / MICROS_PER_SECOND
    }
    /// From HHMMSS; None if minutes or seconds exceed 59 or it is out of range.
    pub fn from_number(number: i64) -> Option<Time> {
        let size = number.unsigned_abs();
        let hour = u32::try_from(size / 10_000).ok()?;
        Time::new(number < 0, hour, (size / 100 % 100) as u32, (size % 100) as u32, 0)
    }
    /// HHMMSS, without the fraction.
    pub fn to_number(self) -> i64 {
        let number =
            i64::from(self.hour()) * 10_000 + i64::from(self.minute() * 100 + self.second());
        if self.is_negative() { -number } else { number }
    }
    /// Rounds half away from zero to `fsp` digits of fractional seconds; at the ends of the range it stays there.
    pub fn round(self, fsp: u8) -> Time {
        let unit = fsp_unit(fsp);
        let rounded = (self.0.abs() + unit / 2) / unit * unit;
        Time::from_micros_clamped(rounded * self.0.signum())
    }
    /// Rounded or, with TIME_TRUNCATE_FRACTIONAL, cut to `fsp` digits.
    pub fn adjust(self, fsp: u8, modes: DateModes) -> Time {
        if modes.truncate_fractions { self.truncate(fsp) } else { self.round(fsp) }
    }
    pub fn truncate(self, fsp: u8) -> Time {
        Time(self.0 / fsp_unit(fsp) * fsp_unit(fsp))
    }
    /// A 48-bit number that orders as times.
    pub fn pack(self) -> u64 {
        (self.0 + Time::BIAS) as u64
    }
    pub fn unpack(packed: u64) -> Option<Time> {
        Time::from_micros(i64::try_from(packed).ok()?.checked_sub(Time::BIAS)?)
    }
    /// [-]HH:MM:SS and `fsp` digits of fractional seconds (truncated, not rounded).
    pub fn write(self, fsp: u8, out: &mut impl fmt::Write) -> fmt::Result {
        let sign = if self.is_negative() { "-" } else { "" };
        write!(out, "{sign}{:02}:{:02}:{:02}", self.hour(), self.minute(), self.second())?;
        write_fraction(self.microsecond(), fsp, out)
    }
    pub fn format(self, fsp: u8) -> String {
        let mut out = String::new();
        self.write(fsp, &mut out).expect("a string takes everything");
        out
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(if self.microsecond() == 0 { 0 } else { 6 }, f)
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl Wire for Time {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Time::from_micros(i64::decode(input)?).ok_or(WireError::Invalid("time"))
    }
}
