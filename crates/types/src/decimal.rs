//! Exact decimal numbers, as MySQL's DECIMAL: up to 65 digits, up to 30 of them behind the point.
//!
//! A number is an integer (the mantissa) and a scale: 12.50 is 1250 at scale 2. The scale is kept, not minimised, because
//! it is what a result set prints. 65 digits need 217 bits with the sign, so mantissa and scale share 256 bits and a
//! `Decimal` is 32 bytes, `Copy`, and never allocates. Equality, order and hash are numeric: 1.5 equals 1.50.
//!
//! Results follow MySQL's scales (add: the larger, multiply: the sum, divide: the dividend's plus 4, at most 30) and
//! round half away from zero. A result of more than 65 digits first loses digits behind the point; only when its integer
//! part has more than 65 digits it is an overflow, which is `None`. MySQL keeps a few more digits than it shows inside
//! one expression (`1/3*3` prints 1.0000 there, 0.9999 here); that is deliberately not imitated.
//!
//! Text is in [`text`], arithmetic wider than 256 bits in [`wide`].

mod text;
mod wide;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use ethnum::{I256, U256};

use crate::wire::{Reader, Wire, WireError};
use wide::Wide;

/// Digits of the widest decimal.
pub const PRECISION_MAX: u8 = 65;
/// Digits behind the point of the widest decimal.
pub const SCALE_MAX: u8 = 30;
/// What a division adds to the dividend's scale (MySQL's div_precision_increment).
const DIVISION_SCALE: u8 = 4;

/// The low 8 bits hold the scale, the high 248 the mantissa in two's complement; words from low to high.
/// Invariant: |mantissa| < 10^65, scale <= 30.
#[derive(Clone, Copy)]
pub struct Decimal([u64; 4]);

/// 10^0 to 10^76, the powers of ten that 256 bits hold: (high, low) halves.
static POWERS: [(u128, u128); 77] = powers();

const fn powers() -> [(u128, u128); 77] {
    let mut table = [(0u128, 1u128); 77];
    let mut exponent = 1;
    while exponent < 77 {
        let (high, low) = table[exponent - 1];
        let part_low = (low & 0xffff_ffff_ffff_ffff) * 10;
        let part_high = (low >> 64) * 10 + (part_low >> 64);
        table[exponent] =
            (high * 10 + (part_high >> 64), (part_high << 64) | (part_low & 0xffff_ffff_ffff_ffff));
        exponent += 1;
    }
    table
}

/// 10^exponent, for an exponent up to 76.
fn power(exponent: u32) -> I256 {
    let (high, low) = POWERS[exponent as usize];
    I256::from_words(high as i128, low as i128)
}

fn small(value: I256) -> Option<i128> {
    i128::try_from(value).ok()
}

/// Quotient and remainder, truncating; numbers of 128 bits take the short way.
fn divide(dividend: I256, divisor: I256) -> (I256, I256) {
    if let (Some(dividend), Some(divisor)) = (small(dividend), small(divisor))
        && dividend != i128::MIN
    {
        return (I256::new(dividend / divisor), I256::new(dividend % divisor));
    }
    (dividend / divisor, dividend % divisor)
}

/// `mantissa / 10^drop`, rounded half away from zero.
fn drop_digits(mantissa: I256, drop: u32) -> I256 {
    if drop == 0 {
        return mantissa;
    }
    if drop > u32::from(PRECISION_MAX) + 1 {
        return I256::ZERO;
    }
    let unit = power(drop);
    let (quotient, remainder) = divide(mantissa, unit);
    if remainder.abs() * I256::new(2) >= unit { quotient + mantissa.signum() } else { quotient }
}

fn digits_of(magnitude: U256) -> u32 {
    // The tables are small and the number is usually short: a binary search over the powers.
    POWERS.partition_point(|&(high, low)| U256::from_words(high, low) <= magnitude) as u32
}

impl Decimal {
    pub const ZERO: Decimal = Decimal([0; 4]);

    fn pack(mantissa: I256, scale: u8) -> Decimal {
        assert!(scale <= SCALE_MAX);
        assert!(mantissa.abs() < power(u32::from(PRECISION_MAX)));
        let (high, low) = ((mantissa << 8u32) | I256::new(i128::from(scale))).into_words();
        let (high, low) = (high as u128, low as u128);
        Decimal([low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64])
    }
    /// Makes the number if its integer part has at most 65 digits; drops digits behind the point that do not fit.
    fn fit(mantissa: I256, scale: u8) -> Option<Decimal> {
        if scale <= SCALE_MAX && mantissa.abs() < power(u32::from(PRECISION_MAX)) {
            return Some(Decimal::pack(mantissa, scale));
        }
        let magnitude = mantissa.unsigned_abs();
        Wide::from(magnitude).fit(mantissa.is_negative(), u32::from(scale))
    }
    fn mantissa(self) -> I256 {
        let [w0, w1, w2, w3] = self.0.map(u128::from);
        I256::from_words((w3 << 64 | w2) as i128, (w1 << 64 | w0) as i128) >> 8u32
    }

    /// Digits behind the point.
    pub fn scale(self) -> u8 {
        self.0[0] as u8
    }
    /// `mantissa / 10^scale`; a scale above 30 is a bug.
    pub fn from_parts(mantissa: i128, scale: u8) -> Decimal {
        Decimal::pack(I256::new(mantissa), scale)
    }
    pub fn from_i64(value: i64) -> Decimal {
        Decimal::pack(I256::new(i128::from(value)), 0)
    }
    pub fn from_u64(value: u64) -> Decimal {
        Decimal::pack(I256::new(i128::from(value)), 0)
    }
    pub fn from_i128(value: i128) -> Decimal {
        Decimal::pack(I256::new(value), 0)
    }
    /// The integer nearest, halves away from zero; None if it is outside of i128.
    pub fn to_i128_round(self) -> Option<i128> {
        small(drop_digits(self.mantissa(), u32::from(self.scale())))
    }
    /// The integer nearest, halves away from zero; None if it is outside of i64.
    pub fn to_i64_round(self) -> Option<i64> {
        i64::try_from(self.to_i128_round()?).ok()
    }
    /// The integer nearest, halves away from zero; None if it is outside of u64.
    pub fn to_u64_round(self) -> Option<u64> {
        u64::try_from(self.to_i128_round()?).ok()
    }

    pub fn is_zero(self) -> bool {
        self.0[0] >> 8 == 0 && self.0[1..] == [0; 3]
    }
    pub fn is_negative(self) -> bool {
        self.0[3] >> 63 == 1
    }
    /// -1, 0 or 1.
    pub fn signum(self) -> i32 {
        if self.is_negative() { -1 } else { i32::from(!self.is_zero()) }
    }
    #[allow(clippy::should_implement_trait)]
    pub fn neg(self) -> Decimal {
        Decimal::pack(-self.mantissa(), self.scale())
    }
    pub fn abs(self) -> Decimal {
        if self.is_negative() { self.neg() } else { self }
    }
    /// Digits before the point without leading zeros: 0 for 0.5.
    pub fn integer_digits(self) -> u32 {
        self.magnitude_digits().saturating_sub(u32::from(self.scale()))
    }
    /// The precision this number needs: digits before the point plus scale, at least 1.
    pub fn digit_count(self) -> u32 {
        (self.integer_digits() + u32::from(self.scale())).max(1)
    }
    fn magnitude_digits(self) -> u32 {
        digits_of(self.mantissa().unsigned_abs())
    }
    /// The largest number of a DECIMAL(precision, scale): 99.9 for (3, 1).
    pub fn max_value(precision: u8, scale: u8) -> Decimal {
        assert!(precision <= PRECISION_MAX);
        assert!(scale <= precision);
        Decimal::pack(power(u32::from(precision)) - I256::ONE, scale)
    }
    /// Whether a DECIMAL(precision, scale) holds the number, once rounded to its scale.
    pub fn fits(self, precision: u8, scale: u8) -> bool {
        self.rescale(scale).is_some_and(|value| value.magnitude_digits() <= u32::from(precision))
    }

    /// Rounds half away from zero to `digits` behind the point, or before it when negative: 155 to -1 digits is 160.
    /// The scale of the result is at most what it was. None on overflow (999..9 rounded up).
    pub fn round(self, digits: i32) -> Option<Decimal> {
        self.cut(digits, drop_digits)
    }
    /// Like [`round`](Self::round), towards zero.
    pub fn truncate(self, digits: i32) -> Decimal {
        self.cut(digits, |mantissa, drop| {
            if drop > u32::from(PRECISION_MAX) {
                I256::ZERO
            } else {
                divide(mantissa, power(drop)).0
            }
        })
        .expect("truncation does not grow a number")
    }
    fn cut(self, digits: i32, drop: impl Fn(I256, u32) -> I256) -> Option<Decimal> {
        let scale = i32::from(self.scale());
        if digits >= scale {
            return Some(self);
        }
        let digits = digits.max(-i32::from(PRECISION_MAX) - 2);
        let cut = drop(self.mantissa(), (scale - digits) as u32);
        if digits >= 0 {
            return Decimal::fit(cut, digits as u8);
        }
        if cut == I256::ZERO {
            return Some(Decimal::ZERO);
        }
        // A cut mantissa that is not zero has at most 66 + digits digits, so the product stays far below 2^255.
        Decimal::fit(cut.checked_mul(power(digits.unsigned_abs()))?, 0)
    }
    /// The least integer not below; None on overflow.
    pub fn ceil(self) -> Option<Decimal> {
        let (quotient, remainder) = divide(self.mantissa(), power(u32::from(self.scale())));
        Decimal::fit(if remainder > I256::ZERO { quotient + I256::ONE } else { quotient }, 0)
    }
    /// The greatest integer not above; None on overflow.
    pub fn floor(self) -> Option<Decimal> {
        let (quotient, remainder) = divide(self.mantissa(), power(u32::from(self.scale())));
        Decimal::fit(if remainder < I256::ZERO { quotient - I256::ONE } else { quotient }, 0)
    }
    /// The number with exactly `scale` digits behind the point: rounded or padded with zeros. None if that has more
    /// than 65 digits.
    pub fn rescale(self, scale: u8) -> Option<Decimal> {
        assert!(scale <= SCALE_MAX);
        if scale == self.scale() {
            return Some(self);
        }
        let mantissa = if scale < self.scale() {
            drop_digits(self.mantissa(), u32::from(self.scale() - scale))
        } else {
            self.mantissa().checked_mul(power(u32::from(scale - self.scale())))?
        };
        let fits = mantissa.abs() < power(u32::from(PRECISION_MAX));
        fits.then(|| Decimal::pack(mantissa, scale))
    }
    /// The same number without zeros at the end of its fraction.
    pub fn normalized(self) -> Decimal {
        let (mut mantissa, mut scale) = (self.mantissa(), self.scale());
        while scale > 0 {
            let (quotient, remainder) = divide(mantissa, power(1));
            if remainder != I256::ZERO {
                break;
            }
            mantissa = quotient;
            scale -= 1;
        }
        Decimal::pack(mantissa, scale)
    }

    /// Sum, at the larger scale; None on overflow.
    #[allow(clippy::should_implement_trait)]
    pub fn add(self, other: Decimal) -> Option<Decimal> {
        let scale = self.scale().max(other.scale());
        let left = self.mantissa().checked_mul(power(u32::from(scale - self.scale())));
        let right = other.mantissa().checked_mul(power(u32::from(scale - other.scale())));
        if let (Some(left), Some(right)) = (left, right)
            && let Some(sum) = left.checked_add(right)
        {
            return Decimal::fit(sum, scale);
        }
        let wide = |number: Decimal| {
            let unit = power(u32::from(scale - number.scale())).unsigned_abs();
            Wide::product(number.mantissa().unsigned_abs(), unit)
        };
        let (left, right) = (wide(self), wide(other));
        if self.is_negative() == other.is_negative() {
            return left.plus(&right).fit(self.is_negative(), u32::from(scale));
        }
        match left.compare(&right) {
            Ordering::Less => right.minus(&left).fit(other.is_negative(), u32::from(scale)),
            _ => left.minus(&right).fit(self.is_negative(), u32::from(scale)),
        }
    }
    /// Difference, at the larger scale; None on overflow.
    #[allow(clippy::should_implement_trait)]
    pub fn sub(self, other: Decimal) -> Option<Decimal> {
        self.add(other.neg())
    }
    /// Product, at the sum of the scales (at most 30); None on overflow.
    #[allow(clippy::should_implement_trait)]
    pub fn mul(self, other: Decimal) -> Option<Decimal> {
        let scale = self.scale() + other.scale();
        if let Some(product) = self.mantissa().checked_mul(other.mantissa()) {
            return Decimal::fit(product, scale);
        }
        let product =
            Wide::product(self.mantissa().unsigned_abs(), other.mantissa().unsigned_abs());
        product.fit(self.is_negative() != other.is_negative(), u32::from(scale))
    }
    /// Quotient, at the scale of `self` plus 4 (at most 30); None on overflow and for a zero divisor.
    #[allow(clippy::should_implement_trait)]
    pub fn div(self, other: Decimal) -> Option<Decimal> {
        self.div_scale(other, (self.scale() + DIVISION_SCALE).min(SCALE_MAX))
    }
    /// Quotient rounded to `scale` digits; None on overflow and for a zero divisor.
    pub fn div_scale(self, other: Decimal, scale: u8) -> Option<Decimal> {
        assert!(scale <= SCALE_MAX);
        if other.is_zero() {
            return None;
        }
        // One digit more than asked for decides the rounding: half away from zero needs no more.
        let extra = u32::from(scale) + 1 + u32::from(other.scale());
        let quotient = if extra >= u32::from(self.scale()) {
            long_division(self.mantissa(), other.mantissa(), extra - u32::from(self.scale()))
        } else {
            // A divisor that leaves 256 bits when it is scaled up exceeds every dividend.
            let unit = power(u32::from(self.scale()) - extra);
            let divisor = other.mantissa().checked_mul(unit);
            Some(divisor.map_or(I256::ZERO, |divisor| divide(self.mantissa(), divisor).0))
        };
        // More than 76 digits may still be at most 65 before the point: ask for fewer behind it.
        let Some(quotient) = quotient else {
            return if scale == 0 {
                None
            } else {
                self.div_scale(other, scale.saturating_sub(DIVISION_SCALE))
            };
        };
        Decimal::fit(drop_digits(quotient, 1), scale)
    }
    /// DIV: the quotient's integer part; None on overflow and for a zero divisor.
    pub fn int_div(self, other: Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let quotient = if other.scale() >= self.scale() {
            let shift = u32::from(other.scale() - self.scale());
            long_division(self.mantissa(), other.mantissa(), shift)?
        } else {
            match other.mantissa().checked_mul(power(u32::from(self.scale() - other.scale()))) {
                Some(divisor) => divide(self.mantissa(), divisor).0,
                None => I256::ZERO,
            }
        };
        Decimal::fit(quotient, 0)
    }
    /// The remainder of DIV, with the dividend's sign, at the larger scale; None for a zero divisor.
    #[allow(clippy::should_implement_trait)]
    pub fn rem(self, other: Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale().max(other.scale());
        let unit = power(u32::from(scale - other.scale()));
        let Some(divisor) = other.mantissa().checked_mul(unit) else {
            // The divisor at the common scale is beyond 10^76, the dividend (unscaled here) below 10^65.
            return Some(self);
        };
        // (a * 10^k) mod b, a digit at a time. Either the divisor was scaled up or the dividend still has to be, never
        // both: here a remainder is below 10^65, so that one more digit cannot leave 256 bits.
        let mut remainder = divide(self.mantissa(), divisor).1;
        for _ in 0..scale - self.scale() {
            remainder = divide(remainder * power(1), divisor).1;
        }
        Decimal::fit(remainder, scale)
    }

    /// Bytes of a DECIMAL(precision, _) in rows and keys: 1 to 28.
    pub fn fixed_size(precision: u8) -> usize {
        assert!((1..=PRECISION_MAX).contains(&precision));
        // Bits of 10^precision - 1 (log2(10) = 3.3219281 is exact enough up to 65 digits, which a test shows) and a sign.
        let bits = u64::from(precision) * 33_219_281 / 10_000_000 + 1;
        (bits + 1).div_ceil(8) as usize
    }
    /// Appends the number as a DECIMAL(precision, scale): big-endian, sign bit flipped, so that bytes order as numbers.
    /// A number that does not fit is a bug of the caller, who converts first.
    pub fn encode_fixed(self, precision: u8, scale: u8, out: &mut Vec<u8>) {
        let number = self.rescale(scale).expect("converted to the column's type before");
        assert!(number.magnitude_digits() <= u32::from(precision));
        let size = Decimal::fixed_size(precision);
        let bytes = number.mantissa().to_be_bytes();
        let start = out.len();
        out.extend_from_slice(&bytes[32 - size..]);
        out[start] ^= 0x80;
    }
    /// Reads what [`encode_fixed`](Self::encode_fixed) wrote; None if the bytes are no number of that type.
    pub fn decode_fixed(precision: u8, scale: u8, bytes: &[u8]) -> Option<Decimal> {
        if scale > SCALE_MAX || bytes.len() != Decimal::fixed_size(precision) {
            return None;
        }
        let fill = if bytes[0] & 0x80 != 0 { 0 } else { 0xff };
        let mut wide = [fill; 32];
        wide[32 - bytes.len()..].copy_from_slice(bytes);
        wide[32 - bytes.len()] ^= 0x80;
        let mantissa = I256::from_be_bytes(wide);
        let fits = mantissa.unsigned_abs() < power(u32::from(precision)).unsigned_abs();
        fits.then(|| Decimal::pack(mantissa, scale))
    }
}

/// `dividend * 10^shift / divisor`, truncated; None if that leaves 256 bits. A few digits at a time: a remainder is
/// below 10^65, so eleven more digits stay below 2^255.
fn long_division(dividend: I256, divisor: I256, shift: u32) -> Option<I256> {
    const STEP: u32 = 11;
    let (mut quotient, mut remainder) = divide(dividend, divisor);
    let mut left = shift;
    while left > 0 {
        let step = left.min(STEP);
        let (digits, rest) = divide(remainder * power(step), divisor);
        quotient = quotient.checked_mul(power(step))?.checked_add(digits)?;
        remainder = rest;
        left -= step;
    }
    Some(quotient)
}

impl Default for Decimal {
    fn default() -> Decimal {
        Decimal::ZERO
    }
}
impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Decimal {}
impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let (left, right) = (self.mantissa(), other.mantissa());
        if self.scale() == other.scale() {
            return left.cmp(&right);
        }
        if left.signum() != right.signum() {
            return left.signum().cmp(&right.signum());
        }
        // Only the one with the smaller scale grows; if it leaves 256 bits, it is the larger in magnitude.
        let away = if left.is_negative() { Ordering::Less } else { Ordering::Greater };
        if self.scale() < other.scale() {
            let unit = power(u32::from(other.scale() - self.scale()));
            left.checked_mul(unit).map_or(away, |left| left.cmp(&right))
        } else {
            let unit = power(u32::from(self.scale() - other.scale()));
            right.checked_mul(unit).map_or(away.reverse(), |right| left.cmp(&right))
        }
    }
}
impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.normalized().0.hash(state);
    }
}

impl Wire for Decimal {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|word| word.encode(out));
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut words = [0u64; 4];
        for word in &mut words {
            *word = u64::decode(input)?;
        }
        let value = Decimal(words);
        let limit = power(u32::from(PRECISION_MAX));
        if value.scale() > SCALE_MAX || value.mantissa().abs() >= limit {
            return Err(WireError::Invalid("decimal"));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
