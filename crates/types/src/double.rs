//! The shortest decimal digits of a double.
//!
//! Many decimal numbers read back as the same double. Of those with the fewest digits the nearest one is its text; where two
//! are equally near, MySQL takes the one whose last digit is even, and the standard library the greater one.

/// Digits that show whether a number lies exactly between two texts: it ends within eighteen digits then.
const DIGITS_CHECKED: usize = 30;
/// Binary digits behind the point of such a number, at most: as many decimal digits of it are behind the point, and powers of
/// five alone make more than eighteen digits of more.
const FRACTION_BITS_MAX: i32 = 26;

/// The fewest digits that read back as the same finite number, as `d.ddde-x`.
pub fn shortest(value: f64) -> String {
    let text = format!("{value:e}");
    match may_be_halfway(value) {
        true => even(value, &text).unwrap_or(text),
        false => text,
    }
}

fn may_be_halfway(value: f64) -> bool {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let mantissa = bits & ((1 << 52) - 1);
    // Subnormal numbers have far more digits.
    exponent != 0
        && 1075 - exponent - (mantissa | 1 << 52).trailing_zeros() as i32 <= FRACTION_BITS_MAX
}

/// The text with an even last digit that is as near as `text`. None if there is none.
fn even(value: f64, text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_once('e')?;
    let last = mantissa.bytes().last().filter(|digit| digit % 2 == 1)?;
    let head = &mantissa[..mantissa.len() - 1];
    let precision = DIGITS_CHECKED - 1;
    let exact = format!("{value:.precision$e}");
    let (exact, exact_exponent) = exact.split_once('e')?;
    // A text of one digit has no point, which the digits of the number have.
    let rest = exact.strip_prefix(head).filter(|_| exact_exponent == exponent)?;
    let (digit, tail) = (rest.bytes().next()?, &rest[1..]);
    let is_halfway = tail.trim_start_matches('.').trim_end_matches('0') == "5";
    let other = match digit == last {
        true => last + 1,
        false => last - 1,
    };
    let candidate = format!("{head}{}e{exponent}", char::from(other));
    (is_halfway && other.is_ascii_digit() && candidate.parse() == Ok(value)).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are halfway between two texts take the even one; others stay as they are.
    #[expect(
        clippy::excessive_precision,
        reason = "digits of doubles that lie in the middle of shorter ones"
    )]
    #[test]
    fn halfway_is_even() {
        for (value, expected) in [
            (98782984116914.125, "9.878298411691412e13"),
            (98782984116914.375, "9.878298411691438e13"),
            (-549755813889.03125, "-5.497558138890312e11"),
            (1125899906842624.25, "1.1258999068426242e15"),
            (8589973504.0625, "8.5899735040625e9"),
            (0.5, "5e-1"),
            (1e23, "1e23"),
            (9007199254740993.0, "9.007199254740992e15"),
            (5e-324, "5e-324"),
            (0.0, "0e0"),
            (-0.0, "-0e0"),
            (f64::MAX, "1.7976931348623157e308"),
        ] {
            assert_eq!(shortest(value), expected);
        }
    }

    #[test]
    fn every_text_reads_back() {
        let mut seed = 7u64;
        for _ in 0..100_000 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Few binary digits behind the point, and any number.
            let near = (seed >> 11) as f64 / f64::from(1u32 << (seed % 26));
            for value in [near, f64::from_bits(seed)] {
                if value.is_finite() {
                    let text = shortest(value);
                    assert_eq!(text.parse::<f64>(), Ok(value));
                    assert!(text.len() <= format!("{value:e}").len());
                }
            }
        }
    }
}
