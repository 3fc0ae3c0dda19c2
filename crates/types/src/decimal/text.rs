//! Decimals from and to text, and from and to doubles (whose shortest text decides, as in MySQL).

use std::cmp::Ordering;
use std::fmt;

use ethnum::I256;

use super::{DIGITS_MAX, Decimal, PRECISION_MAX, SCALE_MAX, divide, power, small};

/// Significant digits read from text; the first digit that does not fit decides the rounding, later
/// ones cannot matter.
const DIGITS_READ: usize = DIGITS_MAX as usize + 2;
/// Exponents are cut here: far outside what a decimal holds, and safe to add to any length of text.
const EXPONENT_MAX: i64 = 1_000_000_000_000;
/// A sign, 71 digits, a point and a zero before it.
const TEXT_MAX: usize = 80;

impl Decimal {
    /// Reads a whole string as a number: blanks around it, a sign, a point, an exponent are
    /// allowed. None for anything else and for numbers of more than 71 integer digits.
    pub fn parse(text: &str) -> Option<Decimal> {
        let text = text.trim_ascii();
        let (number, used, overflow) = parse_number(text.as_bytes());
        (used > 0 && used == text.len() && !overflow).then_some(number)
    }
    /// Reads the longest number at the start, after blanks. Returns the number and its length in
    /// bytes with those blanks, or (0, 0) if there is none. More than 71 integer digits give 65
    /// nines, the largest number of a column; digits behind the point that do not fit are rounded.
    pub fn parse_prefix(text: &[u8]) -> (Decimal, usize) {
        let blanks = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        match parse_number(&text[blanks..]) {
            (_, 0, _) => (Decimal::ZERO, 0),
            (number, used, _) => (number, blanks + used),
        }
    }
    /// The number the shortest text of the double stands for; None for NaN, infinities and 10^71 or
    /// more.
    pub fn from_f64(value: f64) -> Option<Decimal> {
        if !value.is_finite() {
            return None;
        }
        if value.abs() < 1e15 && value == value.trunc() {
            return Some(Decimal::from_i64(value as i64));
        }
        let text = crate::double::shortest(value);
        let (number, _, overflow) = parse_number(text.as_bytes());
        (!overflow).then_some(number)
    }
    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        // Both exact in a double, so one division rounds once.
        if let Ok(mantissa) = i64::try_from(self.mantissa())
            && mantissa.unsigned_abs() < 1 << 53
            && self.scale() <= 22
        {
            return mantissa as f64 / 10f64.powi(i32::from(self.scale()));
        }
        let mut buffer = [0; TEXT_MAX];
        self.text(&mut buffer).parse().expect("a decimal's text is a number")
    }

    /// The double of exactly this value, if there is one.
    pub fn to_f64_exact(self) -> Option<f64> {
        let number = self.normalized();
        let scale = u32::from(number.scale());
        if number.is_zero() {
            return Some(0.0);
        }
        // m / 10^s is (m / 5^s) / 2^s, and factors of two only move the exponent.
        let (quotient, rest) = divide(number.mantissa(), power(scale) >> scale);
        if rest != I256::ZERO {
            return None;
        }
        let twos = quotient.trailing_zeros();
        let odd = small(quotient >> twos)?;
        (odd.unsigned_abs() < 1 << 53).then(|| odd as f64 * 2f64.powi(twos as i32 - scale as i32))
    }
    /// Compares all digits with the exact value of a finite double.
    pub fn compare_f64(self, double: f64) -> Ordering {
        // Rounding to the nearest double keeps the order, so only a tie has to be looked at more
        // closely.
        let nearest = (self.to_f64() + 0.0).total_cmp(&(double + 0.0));
        if nearest != Ordering::Equal || self.to_f64_exact().is_some() {
            return nearest;
        }
        let mut buffer = [0; TEXT_MAX];
        let exact = self.abs().text(&mut buffer).to_string();
        // No double has more digits behind the point.
        let double_text = format!("{:.1074}", double.abs());
        let (whole, fraction) = exact.split_once('.').unwrap_or((&exact, ""));
        let (double_whole, double_fraction) = double_text.split_once('.').expect("with a fraction");
        let padded = format!("{fraction:0<1074}");
        let magnitude = (whole.len(), whole, padded.as_str()).cmp(&(
            double_whole.len(),
            double_whole,
            double_fraction,
        ));
        if self.is_negative() { magnitude.reverse() } else { magnitude }
    }

    /// The text of all digits, written to the end of `buffer`.
    fn text(self, buffer: &mut [u8; TEXT_MAX]) -> &str {
        let scale = usize::from(self.scale());
        let mut rest = self.mantissa().unsigned_abs();
        let mut position = TEXT_MAX;
        let mut written = 0;
        let mut push = |digit: u8, position: &mut usize| {
            if written == scale && scale > 0 {
                *position -= 1;
                buffer[*position] = b'.';
            }
            *position -= 1;
            buffer[*position] = b'0' + digit;
            written += 1;
        };
        // Long mantissas in pieces of 18 digits: one wide division each.
        let piece_unit = power(18).unsigned_abs();
        while rest >= piece_unit {
            let mut piece = (rest % piece_unit).as_u64();
            rest /= piece_unit;
            for _ in 0..18 {
                push((piece % 10) as u8, &mut position);
                piece /= 10;
            }
        }
        let mut rest = rest.as_u64();
        while rest > 0 {
            push((rest % 10) as u8, &mut position);
            rest /= 10;
        }
        while written <= scale {
            if written == scale && scale > 0 {
                position -= 1;
                buffer[position] = b'.';
            }
            position -= 1;
            buffer[position] = b'0';
            written += 1;
        }
        if self.is_negative() {
            position -= 1;
            buffer[position] = b'-';
        }
        std::str::from_utf8(&buffer[position..]).expect("digits, a point and a sign")
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0; TEXT_MAX];
        f.pad(self.as_shown().text(&mut buffer))
    }
}
impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number at the start of `text`, the bytes it takes (0: there is none), and whether it was too
/// large and is cut to the largest.
fn parse_number(text: &[u8]) -> (Decimal, usize, bool) {
    let mut position = 0;
    let negative = text.first() == Some(&b'-');
    if matches!(text.first(), Some(b'-' | b'+')) {
        position = 1;
    }
    let mut digits = [0u8; DIGITS_READ];
    let mut digit_count = 0; // kept in `digits`
    let mut point: i64 = 0; // the digits stand for 0.ddd * 10^point
    let mut fraction: i64 = 0; // digits given behind the point
    let (mut any, mut seen_point, mut significant) = (false, false, false);
    while let Some(&byte) = text.get(position) {
        if byte == b'.' && !seen_point {
            seen_point = true;
        } else if byte.is_ascii_digit() {
            any = true;
            significant |= byte != b'0';
            fraction += i64::from(seen_point);
            if significant {
                if digit_count < DIGITS_READ {
                    digits[digit_count] = byte - b'0';
                    digit_count += 1;
                }
                point += i64::from(!seen_point);
            } else {
                point -= i64::from(seen_point);
            }
        } else {
            break;
        }
        position += 1;
    }
    if !any {
        return (Decimal::ZERO, 0, false);
    }
    let (exponent, used) = parse_exponent(&text[position..]);
    position += used;
    if digit_count == 0 {
        let scale = (fraction - exponent).clamp(0, i64::from(SCALE_MAX));
        return (Decimal::pack(I256::ZERO, scale as u8), position, false);
    }
    let (number, overflow) =
        assemble(&digits[..digit_count], point + exponent, fraction - exponent, negative);
    (number, position, overflow)
}

/// `e`, a sign, digits: the exponent and the bytes it takes, or (0, 0).
fn parse_exponent(text: &[u8]) -> (i64, usize) {
    if !matches!(text.first(), Some(b'e' | b'E')) {
        return (0, 0);
    }
    let negative = text.get(1) == Some(&b'-');
    let start = if matches!(text.get(1), Some(b'-' | b'+')) { 2 } else { 1 };
    let count = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        return (0, 0);
    }
    let mut exponent: i64 = 0;
    for byte in &text[start..start + count] {
        exponent = (exponent * 10 + i64::from(byte - b'0')).min(EXPONENT_MAX);
    }
    (if negative { -exponent } else { exponent }, start + count)
}

/// 0.ddd * 10^point with `scale` digits behind the point wanted; cut to what a decimal holds.
fn assemble(digits: &[u8], point: i64, scale: i64, negative: bool) -> (Decimal, bool) {
    let integer_digits = point.max(0);
    let largest = |negative: bool| {
        let value = Decimal::max_value(PRECISION_MAX, 0);
        if negative { value.neg() } else { value }
    };
    if integer_digits > i64::from(DIGITS_MAX) {
        return (largest(negative), true);
    }
    let mut scale = scale.clamp(0, i64::from(DIGITS_MAX) - integer_digits);
    let kept = point + scale; // how many digits the mantissa takes, at most 71
    let mut mantissa = I256::ZERO;
    if kept >= 0 {
        let kept = kept as usize;
        let mut piece = 0u64;
        let mut piece_size = 0;
        for index in 0..kept {
            piece = piece * 10 + u64::from(digits.get(index).copied().unwrap_or(0));
            piece_size += 1;
            if piece_size == 18 || index + 1 == kept {
                mantissa = mantissa * power(piece_size) + I256::new(i128::from(piece));
                (piece, piece_size) = (0, 0);
            }
        }
        if digits.get(kept).is_some_and(|&digit| digit >= 5) {
            mantissa += I256::ONE;
        }
    }
    if mantissa == power(DIGITS_MAX) {
        if scale == 0 {
            return (largest(negative), true);
        }
        mantissa = power(DIGITS_MAX - 1);
        scale -= 1;
    }
    (Decimal::pack(if negative { -mantissa } else { mantissa }, scale as u8), false)
}
