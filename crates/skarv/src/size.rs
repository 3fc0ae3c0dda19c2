//! Sizes of memory as people write them: 256M, 4G, 1073741824.

use std::fmt;
use std::str::FromStr;

/// Bytes. Written with the largest binary unit that divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let wrong =
            || format!("'{text}' is no size: write a whole number and K, M, G or T, such as 256M");
        let upper = text.trim().to_ascii_uppercase();
        let short = upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper);
        let unit =
            UNITS.iter().find_map(|(letter, shift)| Some((short.strip_suffix(*letter)?, *shift)));
        let (digits, shift) = unit.unwrap_or((short, 0));
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        number.checked_mul(1 << shift).map(Size).ok_or_else(wrong)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (letter, shift) in UNITS {
            if self.0 != 0 && self.0.is_multiple_of(1 << shift) {
                return write!(f, "{}{letter}", self.0 >> shift);
            }
        }
        write!(f, "{}", self.0)
    }
}

/// For people: three digits or so and a unit, never exact.
pub fn human(bytes: u64) -> String {
    let Some((letter, shift)) = UNITS.iter().find(|(_, shift)| bytes >= 1 << shift) else {
        return format!("{bytes} B");
    };
    format!("{:.1} {letter}iB", bytes as f64 / (1u64 << shift) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes, written) in [
            ("256M", 256 << 20, "256M"),
            ("1024m", 1 << 30, "1G"),
            ("4GiB", 4 << 30, "4G"),
            ("64kb", 65_536, "64K"),
            ("1000", 1000, "1000"),
            ("2T", 2 << 40, "2T"),
            ("0", 0, "0"),
        ] {
            let size: Size = text.parse().expect(text);
            assert_eq!(size, Size(bytes), "{text}");
            assert_eq!(size.to_string(), written, "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "1X", "+5", "99999999999T", "18446744073709551616"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn people_read_rounded_sizes() {
        assert_eq!(human(0), "0 B");
        assert_eq!(human(1023), "1023 B");
        assert_eq!(human(1536), "1.5 KiB");
        assert_eq!(human(256 << 20), "256.0 MiB");
    }
}
