//! Exact decimal numbers, as MySQL's DECIMAL: up to 65 digits, up to 30 of them behind the point.
//!
//! A number is an integer (the mantissa) and a scale: 12.50 is 1250 at scale 2. The scale is kept,
//! not minimised. Inside an expression a number has more digits than a column holds, as in MySQL:
//! up to 71 of them, and a quotient is computed to whole words of nine digits behind the point. A
//! second scale says how many of those digits the number *shows*: its text is rounded to them. So
//! `1/3` shows 0.3333, `1/3*3` shows 1.0000 and `1/3 > 0.3333` is true. Arithmetic, comparison and
//! storing use all digits; text, sorting and grouping use those that show. 71 digits need 237 bits
//! with the sign, so mantissa and both scales share 256 bits and a `Decimal` is 32 bytes, `Copy`,
//! and never allocates. Equality, order and hash are numeric: 1.5 equals 1.50.
//!
//! Results show MySQL's scales (add: the larger, multiply: the sum, divide: the dividend's plus
//! div_precision_increment, at most 30). A result of more than 71 digits first loses digits behind
//! the point; only when its integer part has more than 71 digits it is an overflow, which is `None`
//! (MySQL's limit is 81 digits in words of nine).
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
/// What a division adds to the scale that the dividend shows, unless the session says otherwise:
/// the default of div_precision_increment.
pub const DIV_PRECISION_INCREMENT: u8 = 4;
/// Digits of a number inside an expression.
const DIGITS_MAX: u32 = 71;
/// Digits of a word: MySQL computes quotients in words,
const WORD_DIGITS: u32 = 9;
/// and the words of the longest number there.
const WORD_COUNT_MAX: u32 = 9;
/// A product keeps four words behind the point: MySQL cuts its scale to 31, which is that many
/// words.
const PRODUCT_SCALE_MAX: u32 = 36;

/// The lowest 8 bits hold the scale, the next 8 the scale that shows, the high 240 the mantissa in
/// two's complement; words from low to high. Invariant: |mantissa| < 10^71, shown scale <= scale <=
/// 71, shown scale <= 30.
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
    if drop > DIGITS_MAX + 1 {
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

    /// All digits show that may.
    fn pack(mantissa: I256, scale: u8) -> Decimal {
        Decimal::pack_shown(mantissa, scale, scale.min(SCALE_MAX))
    }
    fn pack_shown(mantissa: I256, scale: u8, shown: u8) -> Decimal {
        assert!(u32::from(scale) <= DIGITS_MAX);
        assert!(shown <= scale.min(SCALE_MAX));
        assert!(mantissa.abs() < power(DIGITS_MAX));
        let scales = I256::new(i128::from(scale) | i128::from(shown) << 8);
        let (high, low) = ((mantissa << 16u32) | scales).into_words();
        let (high, low) = (high as u128, low as u128);
        Decimal([low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64])
    }
    /// Makes the number if its integer part has at most 71 digits; drops digits behind the point
    /// that do not fit.
    fn fit(mantissa: I256, scale: u32, shown: u32) -> Option<Decimal> {
        if scale <= DIGITS_MAX && mantissa.abs() < power(DIGITS_MAX) {
            let shown = shown.min(scale).min(u32::from(SCALE_MAX));
            return Some(Decimal::pack_shown(mantissa, scale as u8, shown as u8));
        }
        let magnitude = mantissa.unsigned_abs();
        Wide::from(magnitude).fit(mantissa.is_negative(), scale, shown)
    }
    fn mantissa(self) -> I256 {
        let [w0, w1, w2, w3] = self.0.map(u128::from);
        I256::from_words((w3 << 64 | w2) as i128, (w1 << 64 | w0) as i128) >> 16u32
    }

    /// Digits behind the point, those included that do not show.
    fn scale(self) -> u8 {
        self.0[0] as u8
    }
    /// Digits behind the point that text and result sets show.
    pub fn shown_scale(self) -> u8 {
        (self.0[0] >> 8) as u8
    }
    /// The number with `scale` digits behind the point showing (30 at most): padded with zeros
    /// where it has fewer; all digits are kept. Unchanged if the zeros do not fit.
    pub fn show(self, scale: u8) -> Decimal {
        let scale = scale.min(SCALE_MAX);
        if scale <= self.scale() {
            return Decimal::pack_shown(self.mantissa(), self.scale(), scale);
        }
        self.rescale(scale).unwrap_or(self)
    }
    /// The number as it shows: without the digits that do not.
    pub fn as_shown(self) -> Decimal {
        if self.scale() == self.shown_scale() {
            return self;
        }
        self.rescale(self.shown_scale()).expect("a number gets shorter by it")
    }
    /// `mantissa / 10^scale`; a scale above 30 is a bug.
    pub fn from_parts(mantissa: i128, scale: u8) -> Decimal {
        Decimal::pack(I256::new(mantissa), scale)
    }
    /// The mantissa and the scale, if the mantissa has 128 bits at most and all digits show.
    pub fn to_parts(self) -> Option<(i128, u8)> {
        let is_shown = self.scale() == self.shown_scale();
        Some((small(self.mantissa())?, self.scale())).filter(|_| is_shown)
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
        self.0[0] >> 16 == 0 && self.0[1..] == [0; 3]
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
        Decimal::pack_shown(-self.mantissa(), self.scale(), self.shown_scale())
    }
    pub fn abs(self) -> Decimal {
        if self.is_negative() { self.neg() } else { self }
    }
    /// Digits before the point without leading zeros: 0 for 0.5.
    pub fn integer_digits(self) -> u32 {
        self.magnitude_digits().saturating_sub(u32::from(self.scale()))
    }
    /// The precision this number needs: digits before the point plus those that show behind it, at
    /// least 1.
    pub fn digit_count(self) -> u32 {
        (self.integer_digits() + u32::from(self.shown_scale())).max(1)
    }
    fn magnitude_digits(self) -> u32 {
        digits_of(self.mantissa().unsigned_abs())
    }
    /// The largest number of a DECIMAL(precision, scale): 99.9 for (3, 1).
    pub fn max_value(precision: u8, scale: u8) -> Decimal {
        assert!(precision <= PRECISION_MAX && scale <= SCALE_MAX);
        assert!(scale <= precision);
        Decimal::pack(power(u32::from(precision)) - I256::ONE, scale)
    }
    /// Whether a DECIMAL(precision, scale) holds the number, once rounded to its scale.
    pub fn fits(self, precision: u8, scale: u8) -> bool {
        self.rescale(scale).is_some_and(|value| value.magnitude_digits() <= u32::from(precision))
    }

    /// Rounds half away from zero to `digits` behind the point, or before it when negative: 155 to
    /// -1 digits is 160. The scale of the result is at most what it was. None on overflow (999..9
    /// rounded up).
    pub fn round(self, digits: i32) -> Option<Decimal> {
        self.cut(digits, drop_digits)
    }
    /// Like [`round`](Self::round), towards zero.
    pub fn truncate(self, digits: i32) -> Decimal {
        self.cut(digits, |mantissa, drop| {
            if drop > DIGITS_MAX { I256::ZERO } else { divide(mantissa, power(drop)).0 }
        })
        .expect("truncation does not grow a number")
    }
    fn cut(self, digits: i32, drop: impl Fn(I256, u32) -> I256) -> Option<Decimal> {
        let scale = i32::from(self.scale());
        if digits >= scale {
            return Some(self);
        }
        let digits = digits.max(-(DIGITS_MAX as i32) - 2);
        let cut = drop(self.mantissa(), (scale - digits) as u32);
        if digits >= 0 {
            return Decimal::fit(cut, digits as u32, digits as u32);
        }
        if cut == I256::ZERO {
            return Some(Decimal::ZERO);
        }
        // A cut mantissa that is not zero has at most 72 + digits digits, so the product stays far
        // below 2^255.
        Decimal::fit(cut.checked_mul(power(digits.unsigned_abs()))?, 0, 0)
    }
    /// The least integer not below; None on overflow.
    pub fn ceil(self) -> Option<Decimal> {
        let (quotient, remainder) = divide(self.mantissa(), power(u32::from(self.scale())));
        Decimal::fit(if remainder > I256::ZERO { quotient + I256::ONE } else { quotient }, 0, 0)
    }
    /// The greatest integer not above; None on overflow.
    pub fn floor(self) -> Option<Decimal> {
        let (quotient, remainder) = divide(self.mantissa(), power(u32::from(self.scale())));
        Decimal::fit(if remainder < I256::ZERO { quotient - I256::ONE } else { quotient }, 0, 0)
    }
    /// The number with exactly `scale` digits behind the point: rounded or padded with zeros. None
    /// if that has more than 71 digits.
    pub fn rescale(self, scale: u8) -> Option<Decimal> {
        assert!(scale <= SCALE_MAX);
        if scale == self.scale() {
            return Some(Decimal::pack(self.mantissa(), scale));
        }
        let mantissa = if scale < self.scale() {
            drop_digits(self.mantissa(), u32::from(self.scale() - scale))
        } else {
            self.mantissa().checked_mul(power(u32::from(scale - self.scale())))?
        };
        let fits = mantissa.abs() < power(DIGITS_MAX);
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
        let shown = u32::from(self.shown_scale().max(other.shown_scale()));
        // 71 digits at scale 0 need not fit at scale 71.
        let scaled = |number: Decimal| {
            let zeros = u32::from(scale - number.scale());
            number.mantissa().checked_mul(power(zeros))
        };
        if let (Some(left), Some(right)) = (scaled(self), scaled(other))
            && let Some(sum) = left.checked_add(right)
        {
            return Decimal::fit(sum, u32::from(scale), shown);
        }
        let wide = |number: Decimal| {
            let unit = power(u32::from(scale - number.scale())).unsigned_abs();
            Wide::product(number.mantissa().unsigned_abs(), unit)
        };
        let (left, right) = (wide(self), wide(other));
        let scale = u32::from(scale);
        if self.is_negative() == other.is_negative() {
            return left.plus(&right).fit(self.is_negative(), scale, shown);
        }
        match left.compare(&right) {
            Ordering::Less => right.minus(&left).fit(other.is_negative(), scale, shown),
            _ => left.minus(&right).fit(self.is_negative(), scale, shown),
        }
    }
    /// Difference, at the larger scale; None on overflow.
    #[allow(clippy::should_implement_trait)]
    pub fn sub(self, other: Decimal) -> Option<Decimal> {
        self.add(other.neg())
    }
    /// Product, showing the sum of the scales (at most 30); None on overflow.
    #[allow(clippy::should_implement_trait)]
    pub fn mul(self, other: Decimal) -> Option<Decimal> {
        let scale = u32::from(self.scale()) + u32::from(other.scale());
        let shown = u32::from(self.shown_scale()) + u32::from(other.shown_scale());
        let surplus = scale.saturating_sub(PRODUCT_SCALE_MAX);
        if let Some(product) = self.mantissa().checked_mul(other.mantissa()) {
            let cut = match surplus {
                0 => product,
                1..77 => divide(product, power(surplus)).0,
                // All that 256 bits hold is below 10^77.
                _ => I256::ZERO,
            };
            return Decimal::fit(cut, scale - surplus, shown);
        }
        let mut product =
            Wide::product(self.mantissa().unsigned_abs(), other.mantissa().unsigned_abs());
        product.truncate(surplus);
        product.fit(self.is_negative() != other.is_negative(), scale - surplus, shown)
    }
    /// Quotient, showing the scale that `self` shows plus `increment` (at most 30); None on
    /// overflow and for a zero divisor. As in MySQL the scales of both are rounded up to whole
    /// words, the quotient has at least this many digits behind the point and is cut there, not
    /// rounded.
    pub fn div(self, other: Decimal, increment: u8) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let shown = u32::from(self.shown_scale()) + u32::from(increment);
        let shown = shown.min(u32::from(SCALE_MAX));
        if self.is_zero() {
            return Decimal::fit(I256::ZERO, shown, shown);
        }
        let words = |digits: u32| digits.div_ceil(WORD_DIGITS);
        let (scale, scale_other) = (u32::from(self.scale()), u32::from(other.scale()));
        let (padded, padded_other) = (words(scale) * WORD_DIGITS, words(scale_other) * WORD_DIGITS);
        let added = (padded - scale) + (padded_other - scale_other);
        let missing = u32::from(increment).saturating_sub(added);
        let mut fraction_words = words(padded + padded_other + missing);
        // The quotient has one digit more than the difference of the digits before the points, at
        // most.
        let whole_max = (self.magnitude_digits() + scale_other + 1)
            .saturating_sub(scale + other.magnitude_digits() - 1);
        let mut wanted = fraction_words * WORD_DIGITS;
        if words(whole_max) + fraction_words > WORD_COUNT_MAX || whole_max + wanted > DIGITS_MAX {
            let whole_digits = digits_of(divide_scaled(self, other, 0)?.unsigned_abs());
            fraction_words = fraction_words.min(WORD_COUNT_MAX.saturating_sub(words(whole_digits)));
            wanted = (fraction_words * WORD_DIGITS).min(DIGITS_MAX.saturating_sub(whole_digits));
        }
        Decimal::fit(divide_scaled(self, other, wanted)?, wanted, shown)
    }
    /// DIV: the quotient's integer part; None on overflow and for a zero divisor.
    pub fn int_div(self, other: Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        Decimal::fit(divide_scaled(self, other, 0)?, 0, 0)
    }
    /// The remainder of DIV, with the dividend's sign, at the larger scale; None for a zero
    /// divisor.
    #[allow(clippy::should_implement_trait)]
    pub fn rem(self, other: Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale().max(other.scale());
        let shown = self.shown_scale().max(other.shown_scale());
        let unit = power(u32::from(scale - other.scale()));
        let Some(divisor) = other.mantissa().checked_mul(unit) else {
            // The divisor at the common scale is beyond 10^76, the dividend (unscaled here) below
            // 10^71.
            return Some(self.show(shown));
        };
        // (a * 10^k) mod b, a digit at a time. Either the divisor was scaled up or the dividend
        // still has to be, never both: here a remainder is below 10^71, so that one more digit
        // cannot leave 256 bits.
        let mut remainder = divide(self.mantissa(), divisor).1;
        for _ in 0..scale - self.scale() {
            remainder = divide(remainder * power(1), divisor).1;
        }
        Decimal::fit(remainder, u32::from(scale), u32::from(shown))
    }

    /// Bytes of a DECIMAL(precision, _) in rows and keys: 1 to 28.
    pub fn fixed_size(precision: u8) -> usize {
        assert!((1..=PRECISION_MAX).contains(&precision));
        // Bits of 10^precision - 1 (log2(10) = 3.3219281 is exact enough up to 65 digits, which a
        // test shows) and a sign.
        let bits = u64::from(precision) * 33_219_281 / 10_000_000 + 1;
        (bits + 1).div_ceil(8) as usize
    }
    /// Appends the number as a DECIMAL(precision, scale): big-endian, sign bit flipped, so that
    /// bytes order as numbers. A number that does not fit is a bug of the caller, who converts
    /// first.
    pub fn encode_fixed(self, precision: u8, scale: u8, out: &mut Vec<u8>) {
        let number = self.rescale(scale).expect("converted to the column's type before");
        assert!(number.magnitude_digits() <= u32::from(precision));
        let size = Decimal::fixed_size(precision);
        let bytes = number.mantissa().to_be_bytes();
        let start = out.len();
        out.extend_from_slice(&bytes[32 - size..]);
        out[start] ^= 0x80;
    }
    /// The mantissa of what [`encode_fixed`](Self::encode_fixed) wrote, in at most 16 bytes.
    #[inline]
    pub fn fixed_mantissa(bytes: &[u8]) -> i128 {
        let number = bytes.iter().fold(0u128, |number, &byte| number << 8 | u128::from(byte));
        // The sign bit is flipped: the number lies that far above the lowest one.
        number.wrapping_sub(1 << (8 * bytes.len() - 1)).cast_signed()
    }
    /// Reads what [`encode_fixed`](Self::encode_fixed) wrote; None if the bytes are no number of
    /// that type.
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

/// `dividend / divisor` with `scale` digits behind the point, truncated; None if that leaves 256
/// bits.
fn divide_scaled(dividend: Decimal, divisor: Decimal, scale: u32) -> Option<I256> {
    let raised = scale + u32::from(divisor.scale());
    let lowered = u32::from(dividend.scale());
    if raised >= lowered {
        return long_division(dividend.mantissa(), divisor.mantissa(), raised - lowered);
    }
    // A divisor that leaves 256 bits when it is scaled up exceeds every dividend.
    let divisor = divisor.mantissa().checked_mul(power(lowered - raised));
    Some(divisor.map_or(I256::ZERO, |divisor| divide(dividend.mantissa(), divisor).0))
}

/// `dividend * 10^shift / divisor`, truncated; None if that leaves 256 bits. A few digits at a
/// time: a remainder is below 10^71, so five more digits stay below 2^255.
fn long_division(dividend: I256, divisor: I256, shift: u32) -> Option<I256> {
    const STEP: u32 = 5;
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
        // Only the one with the smaller scale grows; if it leaves 256 bits, it is the larger in
        // magnitude.
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
        let good = u32::from(value.scale()) <= DIGITS_MAX
            && value.shown_scale() <= value.scale().min(SCALE_MAX)
            && value.mantissa().abs() < power(DIGITS_MAX);
        if good { Ok(value) } else { Err(WireError::Invalid("decimal")) }
    }
}

#[cfg(test)]
mod tests;
