use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;

use super::{Decimal, PRECISION_MAX, power};
use crate::wire::{Wire, WireError};

fn d(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|| panic!("{text} is a decimal"))
}

/// `operation` on texts gives a text: every row of the table.
fn check(
    operation: impl Fn(Decimal, Decimal) -> Option<Decimal>,
    table: &[(&str, &str, Option<&str>)],
) {
    for (left, right, expected) in table {
        let got = operation(d(left), d(right)).map(|value| value.to_string());
        assert_eq!(got.as_deref(), *expected, "{left} and {right}");
    }
}

const NINES: &str = "99999999999999999999999999999999999999999999999999999999999999999";

/// Text comes back as it went, with the scale it had; what is no number is refused.
#[test]
fn text_round_trip() {
    for text in ["0", "0.00", "-1", "1.50", "-0.001", "123456789012345678901234567890.5", NINES] {
        assert_eq!(d(text).to_string(), text);
    }
    let table = [
        (" 12.5 ", "12.5"),
        ("+7", "7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-0.0", "0.0"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("12e-1", "1.2"),
        ("000123.4500", "123.4500"),
        ("0.0000000000000000000000000000005", "0.000000000000000000000000000001"),
        ("0.0000000000000000000000000000004", "0.000000000000000000000000000000"),
        ("1e-400", "0.000000000000000000000000000000"),
        ("0e99999999999999999999", "0"),
    ];
    for (text, expected) in table {
        assert_eq!(d(text).to_string(), expected, "{text}");
    }
    for text in
        ["", " ", "-", ".", "e5", "1x", "1e", "1 2", "--1", "0x10", "1e66", "1e999999999999"]
    {
        assert_eq!(Decimal::parse(text), None, "{text}");
    }
    assert_eq!(Decimal::parse(&format!("1{NINES}")), None);
}

/// A prefix is read as far as it is a number, and too large ones saturate.
#[test]
fn prefixes() {
    let table = [
        ("12abc", "12", 2),
        ("  -3.5.7", "-3.5", 6),
        ("1e5x", "100000", 3),
        ("1ex", "1", 1),
        ("1e+", "1", 1),
        ("abc", "0", 0),
        ("", "0", 0),
        ("  ", "0", 0),
        (".", "0", 0),
        ("-.", "0", 0),
    ];
    for (text, number, used) in table {
        let (got, got_used) = Decimal::parse_prefix(text.as_bytes());
        assert_eq!((got.to_string().as_str(), got_used), (number, used), "{text}");
    }
    assert_eq!(Decimal::parse_prefix(b"-1e70").0.to_string(), format!("-{NINES}"));
    // 65 nines and a fraction that rounds up have nowhere to go.
    assert_eq!(Decimal::parse_prefix(format!("{NINES}.9").as_bytes()).0.to_string(), NINES);
    // 64 nines and .99 keep 65 digits: the carry takes the last digit of the fraction.
    let carried = Decimal::parse_prefix(format!("{}.99", &NINES[1..]).as_bytes()).0;
    assert_eq!(carried.to_string(), format!("1{}", "0".repeat(64)));
}

/// MySQL's scales and rounding; overflow and zero divisors have no result.
#[test]
fn arithmetic() {
    check(
        Decimal::add,
        &[
            ("1.5", "2.25", Some("3.75")),
            ("-1.5", "1.50", Some("0.00")),
            (NINES, "1", None),
            (NINES, "-1", Some(&format!("{}8", &NINES[1..]))),
            // The fraction gives way to the 65 digits: 9..9 + 0.1 rounds back.
            (NINES, "0.1", Some(NINES)),
            (NINES, "0.5", None),
            (NINES, "0.000000000000000000000000000001", Some(NINES)),
            (NINES, "-0.000000000000000000000000000001", Some(NINES)),
            ("-0.000000000000000000000000000001", NINES, Some(NINES)),
        ],
    );
    check(Decimal::sub, &[("1", "0.01", Some("0.99")), ("0", "5", Some("-5"))]);
    check(
        Decimal::mul,
        &[
            ("1.5", "-1.5", Some("-2.25")),
            ("0.5", "0", Some("0.0")),
            (NINES, "2", None),
            // 10^-20 * 10^-20 at scale 40 rounds to scale 30.
            (
                "0.00000000000000000001",
                "0.00000000000000000001",
                Some("0.000000000000000000000000000000"),
            ),
            (
                "1.00000000000000000001",
                "1.00000000000000000001",
                Some("1.000000000000000000020000000000"),
            ),
            // Beyond 256 bits, but not beyond 65 digits once the fraction is cut.
            (
                "1234567890123456789012345.678901234567890123456789012345",
                "1000000000000000000.000000000000000000000000000001",
                Some("1234567890123456789012345678901234567890123.4567902469128901234568"),
            ),
        ],
    );
    check(
        Decimal::div,
        &[
            ("2", "3", Some("0.6667")),
            ("-2", "3", Some("-0.6667")),
            ("1.00", "3", Some("0.333333")),
            ("1", "0.0000", None),
            ("0", "3", Some("0.0000")),
            (
                "10",
                "0.000000000000000000000000000001",
                Some("10000000000000000000000000000000.0000"),
            ),
            (NINES, "0.1", None),
            (NINES, "1", Some(NINES)),
            (NINES, NINES, Some("1.0000")),
        ],
    );
    check(
        Decimal::rem,
        &[
            ("7", "3", Some("1")),
            ("-7", "3", Some("-1")),
            ("7.5", "-2", Some("1.5")),
            ("7", "0.30", Some("0.10")),
            ("1", "0", None),
            (NINES, "0.000000000000000000000000000007", Some("0.000000000000000000000000000004")),
            ("0.000000000000000000000000000005", NINES, Some("0.000000000000000000000000000005")),
        ],
    );
    check(
        Decimal::int_div,
        &[
            ("7", "2", Some("3")),
            ("-7.9", "2", Some("-3")),
            ("1.05", "0.1", Some("10")),
            ("0.05", NINES, Some("0")),
            ("1", "0", None),
            (NINES, "0.1", None),
        ],
    );
}

/// 999..9 modulo 7 * 10^-30 really is what the table above says: 10^95 is 10^(95 mod 6) = 10^5 = 5 modulo 7, less
/// 10^30 = 1, which is 4.
#[test]
fn remainder_by_hand() {
    let cycle: Vec<u32> = (0..6).map(|exponent| 10u32.pow(exponent) % 7).collect();
    assert_eq!((cycle[95 % 6] + 7 - cycle[30 % 6]) % 7, 4);
}

#[test]
fn rounding() {
    let table = [
        ("1.55", 1, "1.6", "1.5"),
        ("-1.55", 1, "-1.6", "-1.5"),
        ("1.45", 0, "1", "1"),
        ("1.5", 0, "2", "1"),
        ("-0.5", 0, "-1", "0"),
        ("155", -1, "160", "150"),
        ("155", -2, "200", "100"),
        ("155", -3, "0", "0"),
        ("555", -3, "1000", "0"),
        ("155", -90, "0", "0"),
        ("1.5", 5, "1.5", "1.5"),
    ];
    for (text, digits, rounded, truncated) in table {
        assert_eq!(d(text).round(digits).unwrap().to_string(), rounded, "round {text} {digits}");
        assert_eq!(d(text).truncate(digits).to_string(), truncated, "truncate {text} {digits}");
    }
    assert_eq!(d(NINES).round(-1), None);
    assert_eq!(d("1.2").ceil(), Some(d("2")));
    assert_eq!(d("-1.2").ceil(), Some(d("-1")));
    assert_eq!(d("1.2").floor(), Some(d("1")));
    assert_eq!(d("-1.2").floor(), Some(d("-2")));
    assert_eq!(d("2.00").floor().unwrap().to_string(), "2");
    assert_eq!(d("0.5").to_i64_round(), Some(1));
    assert_eq!(d("-9223372036854775808.4").to_i64_round(), Some(i64::MIN));
    assert_eq!(d("9223372036854775807.5").to_i64_round(), None);
    assert_eq!(d("-1").to_u64_round(), None);
    assert_eq!(d("18446744073709551615").to_u64_round(), Some(u64::MAX));
}

#[test]
fn digits_and_fit() {
    let table = [("0", 0, 1), ("0.05", 0, 2), ("12.5", 2, 3), ("-999", 3, 3), (NINES, 65, 65)];
    for (text, integer, all) in table {
        assert_eq!((d(text).integer_digits(), d(text).digit_count()), (integer, all), "{text}");
    }
    assert!(d("99.94").fits(3, 1));
    assert!(!d("99.95").fits(3, 1));
    assert!(d("-99.9").fits(3, 1));
    assert!(!d("100").fits(3, 1));
    assert_eq!(Decimal::max_value(5, 2).to_string(), "999.99");
    assert_eq!(Decimal::max_value(30, 30).to_string(), format!("0.{}", "9".repeat(30)));
}

/// The double nearest to the text, and the shortest text of a double.
#[test]
fn doubles() {
    for (value, text) in [
        (0.1, "0.1"),
        (1e22, "10000000000000000000000"),
        (-2.5e-7, "-0.00000025"),
        (0.0, "0"),
        (-0.0, "0"),
        (123456789.125, "123456789.125"),
    ] {
        assert_eq!(Decimal::from_f64(value).unwrap().to_string(), text);
        assert_eq!(d(text).to_f64(), value);
    }
    for value in [f64::NAN, f64::INFINITY, 1e65, -1e300] {
        assert_eq!(Decimal::from_f64(value), None);
    }
    assert_eq!(d(NINES).to_f64(), 1e65);
    assert_eq!(Decimal::from_f64(1e-40), Some(Decimal::ZERO));
}

/// Fixed sizes hold the largest number of their precision and are the least that do.
#[test]
fn fixed_sizes() {
    for precision in 1..=PRECISION_MAX {
        let size = Decimal::fixed_size(precision);
        let largest = power(u32::from(precision)) - ethnum::I256::ONE;
        let bits = 256 - largest.leading_zeros() + 1;
        assert_eq!(size, bits.div_ceil(8) as usize, "precision {precision}");
    }
    assert_eq!(Decimal::fixed_size(65), 28);
    assert_eq!(Decimal::decode_fixed(3, 1, &[0xff, 0xff]), None);
    assert_eq!(Decimal::decode_fixed(3, 1, &[0x80]), None);
}

#[test]
fn wire_refuses_what_is_no_decimal() {
    let mut bytes = d("12.5").to_bytes();
    assert_eq!(Decimal::from_bytes(&bytes).unwrap().to_string(), "12.5");
    bytes[0] = 31;
    assert_eq!(Decimal::from_bytes(&bytes), Err(WireError::Invalid("decimal")));
    let mut bytes = d("1").to_bytes();
    bytes[31] = 0x7f;
    assert_eq!(Decimal::from_bytes(&bytes), Err(WireError::Invalid("decimal")));
}

fn hash(value: Decimal) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Decimals of all sizes: a text of up to 35 digits before and 30 behind the point.
fn any_decimal() -> impl Strategy<Value = Decimal> {
    "-?(0|[1-9][0-9]{0,34})(\\.[0-9]{1,30})?".prop_map(|text| d(&text))
}
/// Decimals whose sums and products fit in i128 as plain integers.
fn small_decimal() -> impl Strategy<Value = (i128, u8)> {
    (-1_000_000_000_000i128..1_000_000_000_000, 0u8..=8)
}

proptest! {
    /// Sum, product and order of small numbers are those of integers at a common scale.
    #[test]
    fn agrees_with_integers((a, a_scale) in small_decimal(), (b, b_scale) in small_decimal()) {
        let (left, right) = (Decimal::from_parts(a, a_scale), Decimal::from_parts(b, b_scale));
        let scale = a_scale.max(b_scale);
        let (a_up, b_up) =
            (a * 10i128.pow(u32::from(scale - a_scale)), b * 10i128.pow(u32::from(scale - b_scale)));
        let sum = left.add(right).unwrap();
        prop_assert_eq!(sum.to_string(), Decimal::from_parts(a_up + b_up, scale).to_string());
        let product = left.mul(right).unwrap();
        prop_assert_eq!(product.to_string(), Decimal::from_parts(a * b, a_scale + b_scale).to_string());
        prop_assert_eq!(left.cmp(&right), a_up.cmp(&b_up));
        if b != 0 {
            let remainder = left.rem(right).unwrap();
            prop_assert_eq!(remainder.to_string(), Decimal::from_parts(a_up % b_up, scale).to_string());
            let quotient = left.int_div(right).unwrap();
            prop_assert_eq!(quotient.to_string(), (a_up / b_up).to_string());
        }
    }
    /// A number is its text, its bytes, its fixed bytes and its normal form; equal numbers hash alike.
    #[test]
    fn forms_agree(value in any_decimal()) {
        prop_assert_eq!(d(&value.to_string()).to_string(), value.to_string());
        prop_assert_eq!(Decimal::from_bytes(&value.to_bytes()).unwrap().to_string(), value.to_string());
        prop_assert_eq!(value.normalized(), value);
        prop_assert_eq!(hash(value.normalized()), hash(value));
        let mut fixed = Vec::new();
        value.encode_fixed(65, value.scale(), &mut fixed);
        let back = Decimal::decode_fixed(65, value.scale(), &fixed).unwrap();
        prop_assert_eq!(back.to_string(), value.to_string());
        prop_assert_eq!(value.to_f64(), value.to_string().parse::<f64>().unwrap());
    }
    /// Fixed bytes order as the numbers do.
    #[test]
    fn fixed_order(a in any_decimal(), b in any_decimal()) {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        a.encode_fixed(65, 30, &mut left);
        b.encode_fixed(65, 30, &mut right);
        prop_assert_eq!(left.cmp(&right), a.cmp(&b));
        prop_assert_eq!(a.cmp(&b).reverse(), b.cmp(&a));
        prop_assert_eq!(a.neg().cmp(&b.neg()), b.cmp(&a));
    }
    /// A quotient is within half a digit of the truth: |quotient * b - a| <= |b| / 2 * 10^-scale.
    #[test]
    fn division_rounds(a in small_decimal(), b in small_decimal()) {
        let (a, b) = (Decimal::from_parts(a.0, a.1), Decimal::from_parts(b.0, b.1));
        prop_assume!(!b.is_zero());
        let quotient = a.div(b).unwrap();
        let error = quotient.mul(b).unwrap().sub(a).unwrap().abs();
        let bound = b.abs().mul(Decimal::from_parts(5, quotient.scale() + 1)).unwrap();
        prop_assert!(error.cmp(&bound) != Ordering::Greater, "{a:?} / {b:?} = {quotient:?}");
    }
    /// Wide products and sums come back: (a + b) - b = a, and a product divided by its factor.
    #[test]
    fn wide_inverse(a in any_decimal(), b in any_decimal()) {
        let sum = a.add(b).unwrap();
        prop_assert_eq!(sum.sub(b).unwrap(), a);
        if let Some(product) = a.mul(b) && !b.is_zero() && product.scale() == a.scale() + b.scale() {
            let back = product.div_scale(b, a.scale()).unwrap();
            prop_assert_eq!(back, a);
        }
    }
    /// No bytes make the readers panic, and what they accept they can write.
    #[test]
    fn hostile_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..40), text in "[-+0-9.eE ]{0,90}") {
        if let Ok(value) = Decimal::from_bytes(&bytes) {
            prop_assert_eq!(value.to_bytes(), bytes.clone());
        }
        let (_, used) = Decimal::parse_prefix(&bytes);
        prop_assert!(used <= bytes.len());
        let (value, used) = Decimal::parse_prefix(text.as_bytes());
        prop_assert!(used <= text.len());
        prop_assert_eq!(d(&value.to_string()), value);
    }
}
