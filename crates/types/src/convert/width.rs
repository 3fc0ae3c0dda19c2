//! Doubles in texts of a bounded width.

use super::format_double;

/// The largest place of the point at which a number without a fraction is written without an exponent.
const PLAIN_POINT_MAX: i32 = 15;

/// A double in a bounded number of characters, with as many of its digits as have room, as MySQL stores it in a CHAR or
/// VARCHAR: with or without an exponent, whichever shows more. None where digits before the point, or the only digit
/// before an exponent, have no room.
pub fn format_double_within(value: f64, width: usize) -> Option<String> {
    let mut whole = String::new();
    format_double(value, &mut whole);
    if whole.len() <= width {
        return Some(whole);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let number = value.abs();
    let width = i32::try_from(width.checked_sub(sign.len())?).ok().filter(|width| 0 < *width)?;
    // Rounded to as many digits as there are characters.
    let (digits, point) = significant(number, width);
    let count = digits.len() as i32;
    let plain_length = match point {
        ..=0 => count - point + 2,
        _ if point < count => count + 1,
        _ => point,
    };
    let has_room = plain_length <= width;
    let exponent_length = (point - 1).unsigned_abs().to_string().len() as i32;
    // Without an exponent there would be nothing but zeros.
    let is_tiny = point <= 0 && width <= 2 - point && 3 + exponent_length <= width;
    let is_plain = match has_room {
        true => -PLAIN_POINT_MAX < point && (point <= PLAIN_POINT_MAX || point < count),
        false => -2 <= point && point <= width && !is_tiny,
    };
    let text = match is_plain {
        true => plain(number, (count, point), width)?,
        false => with_exponent(number, (count, point), width - exponent_length)?,
    };
    Some(format!("{sign}{text}"))
}

/// The digits of a positive number, without zeros at their end, and the place of the point if they are read as 0.ddd.
fn significant(number: f64, count: i32) -> (String, i32) {
    let text = format!("{number:.precision$e}", precision = (count - 1).max(0) as usize);
    let (mantissa, exponent) = text.split_once('e').expect("formatted with an exponent");
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let kept = digits.trim_end_matches('0');
    let exponent: i32 = exponent.parse().expect("formatted with an exponent");
    (if kept.is_empty() { "0" } else { kept }.to_owned(), exponent + 1)
}

fn plain(number: f64, (count, point): (i32, i32), width: i32) -> Option<String> {
    let around = i32::from(point < count) + if point <= 0 { 1 - point } else { 0 };
    let room = width - around;
    if room < count && room < point {
        return None;
    }
    let decimals = (room.min(count) - point).max(0) as usize;
    let text = format!("{number:.decimals$}");
    Some(match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    })
}

fn with_exponent(number: f64, (count, point): (i32, i32), width: i32) -> Option<String> {
    // The e, the sign of the exponent, and the point.
    let room = width - 1 - i32::from(point < 1) - i32::from(1 < count);
    if room <= 0 {
        return None;
    }
    let (digits, point) = significant(number, room.min(count));
    let (first, rest) = digits.split_at(1);
    let point_text = if rest.is_empty() { "" } else { "." };
    Some(format!("{first}{point_text}{rest}e{}", point - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_shortened_to_the_width() {
        for (value, width, expected) in [
            (1e10, 11, Some("10000000000")),
            (1e10, 10, Some("1e10")),
            (1e10, 5, Some("1e10")),
            (1e10, 4, Some("1e10")),
            (1e10, 3, None),
            (-1e10, 5, Some("-1e10")),
            (-1e10, 4, None),
            (1.5, 1, Some("2")),
            (1.25, 3, Some("1.2")),
            (0.25, 3, Some("0.2")),
            (2.0 / 3.0, 5, Some("0.667")),
            (std::f64::consts::PI, 4, Some("3.14")),
            (1234567.8, 6, Some("1.23e6")),
            (0.000123456, 6, Some("1.2e-4")),
            (0.0123456, 5, Some("0.012")),
            (123456.0, 4, Some("1e5")),
            (55.5, 2, Some("56")),
            (100.0, 3, Some("100")),
            (100.0, 2, None),
            (0.0, 1, Some("0")),
            (1e300, 5, Some("1e300")),
            (1.5e300, 5, None),
            (1.5, 0, None),
        ] {
            assert_eq!(format_double_within(value, width).as_deref(), expected, "{value} {width}");
        }
    }

    /// No text is wider than it may be, and one that has room is the same number.
    #[test]
    fn texts_fit() {
        let mut seed = 1u64;
        for _ in 0..20_000 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(seed);
            if !value.is_finite() {
                continue;
            }
            for width in 0..26 {
                let Some(text) = format_double_within(value, width) else { continue };
                assert!(text.len() <= width + 1, "{value:e} {width} {text}");
                text.parse::<f64>().expect("it is a number");
            }
            let text = format_double_within(value, 25).expect("every double has room");
            assert_eq!(text.parse::<f64>(), Ok(value));
        }
    }
}
