//! Unsigned 512-bit numbers: what the product of two mantissas, or a mantissa moved to a larger
//! scale, needs before it is cut back to 71 digits. Only the slow path comes here, so it is
//! schoolbook arithmetic on eight words.

use std::cmp::Ordering;

use ethnum::{I256, U256};

use super::{DIGITS_MAX, Decimal, SCALE_MAX, power};

/// Words from low to high.
pub(super) struct Wide([u64; 8]);

impl From<U256> for Wide {
    fn from(value: U256) -> Wide {
        let [w0, w1, w2, w3] = words(value);
        Wide([w0, w1, w2, w3, 0, 0, 0, 0])
    }
}

fn words(value: U256) -> [u64; 4] {
    let (high, low) = value.into_words();
    [low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64]
}

impl Wide {
    pub(super) fn product(left: U256, right: U256) -> Wide {
        let (left, right) = (words(left), words(right));
        let mut out = [0u64; 8];
        for (i, &a) in left.iter().enumerate() {
            let mut carry = 0u128;
            for (j, &b) in right.iter().enumerate() {
                let sum = u128::from(a) * u128::from(b) + u128::from(out[i + j]) + carry;
                out[i + j] = sum as u64;
                carry = sum >> 64;
            }
            out[i + 4] = carry as u64;
        }
        Wide(out)
    }
    pub(super) fn plus(&self, other: &Wide) -> Wide {
        let mut out = [0u64; 8];
        let mut carry = 0u128;
        for (index, word) in out.iter_mut().enumerate() {
            let sum = u128::from(self.0[index]) + u128::from(other.0[index]) + carry;
            *word = sum as u64;
            carry = sum >> 64;
        }
        assert!(carry == 0, "the operands have at most 142 digits");
        Wide(out)
    }
    /// `self - other`, which must not be negative.
    pub(super) fn minus(&self, other: &Wide) -> Wide {
        let mut out = [0u64; 8];
        let mut borrow = false;
        for (index, word) in out.iter_mut().enumerate() {
            let (part, first) = self.0[index].overflowing_sub(other.0[index]);
            let (part, second) = part.overflowing_sub(u64::from(borrow));
            *word = part;
            borrow = first || second;
        }
        assert!(!borrow);
        Wide(out)
    }
    pub(super) fn compare(&self, other: &Wide) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
    /// Divides in place and gives the remainder.
    fn divide_small(&mut self, divisor: u64) -> u64 {
        let mut remainder = 0u128;
        for word in self.0.iter_mut().rev() {
            let dividend = (remainder << 64) | u128::from(*word);
            *word = (dividend / u128::from(divisor)) as u64;
            remainder = dividend % u128::from(divisor);
        }
        remainder as u64
    }
    fn is_zero(&self) -> bool {
        self.0 == [0; 8]
    }
    fn digit_count(&self) -> u32 {
        let mut rest = Wide(self.0);
        let mut count = 0;
        while !rest.is_zero() {
            rest.divide_small(10);
            count += 1;
        }
        count
    }
    /// Drops digits from the end.
    pub(super) fn truncate(&mut self, digits: u32) {
        (0..digits).for_each(|_| _ = self.divide_small(10));
    }
    /// The number with at most 71 digits, digits behind the point dropped with rounding half away
    /// from zero; None if the integer part alone is too long.
    pub(super) fn fit(mut self, negative: bool, scale: u32, shown: u32) -> Option<Decimal> {
        let digits = self.digit_count();
        let drop = digits.saturating_sub(DIGITS_MAX).max(scale.saturating_sub(DIGITS_MAX));
        if drop > scale {
            return None;
        }
        let mut last = 0;
        for _ in 0..drop {
            last = self.divide_small(10);
        }
        assert!(self.0[4..] == [0; 4], "at most 71 digits are left");
        let [w0, w1, w2, w3, ..] = self.0.map(u128::from);
        let mut mantissa = I256::from_words((w3 << 64 | w2) as i128, (w1 << 64 | w0) as i128);
        if last >= 5 {
            mantissa += I256::ONE;
        }
        let mut scale = scale - drop;
        if mantissa == power(DIGITS_MAX) {
            // 999..9 rounded up to 10^71: one more digit of the fraction has to go, if there is
            // one.
            mantissa = power(DIGITS_MAX - 1);
            scale = scale.checked_sub(1)?;
        }
        let shown = shown.min(scale).min(u32::from(SCALE_MAX));
        let mantissa = if negative { -mantissa } else { mantissa };
        Some(Decimal::pack_shown(mantissa, scale as u8, shown as u8))
    }
}
