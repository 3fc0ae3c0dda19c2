//! How the numbers of a column are shown, beyond what their type says: ZEROFILL, FLOAT(M,D) and widths.
//!
//! A type has no such properties, because no two values differ by them. They belong to the column, and expressions hand
//! them on as far as MySQL does ([`crate::expr::ResultType::display`]).

use crate::convert::number_to_text;
use crate::value::int_range;
use crate::{ColumnType, ValueRef};

/// The most digits behind the point of FLOAT(M,D) and DOUBLE(M,D).
pub const DECIMALS_MAX: u8 = 30;
/// The `decimals` that clients receive for a floating point number without a fixed number of digits.
pub const DECIMALS_NOT_FIXED: u8 = 31;
/// Characters of the longest FLOAT and DOUBLE, which ZEROFILL fills.
const FLOAT_WIDTH: u8 = 12;
const DOUBLE_WIDTH: u8 = 22;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberDisplay {
    /// The width behind an integer type, of which clients are informed: they take TINYINT(1) for a boolean. M of
    /// FLOAT(M,D) and DOUBLE(M,D).
    pub width: Option<u8>,
    /// D of FLOAT(M,D) and DOUBLE(M,D): values are rounded to as many digits behind the point.
    pub decimals: Option<u8>,
    /// UNSIGNED of FLOAT and DOUBLE, whose types know no signs.
    pub is_unsigned: bool,
    /// ZEROFILL: zeros in front of the digits, up to the width.
    pub is_zerofill: bool,
}

impl NumberDisplay {
    /// The display of a computed floating point number.
    pub fn of_decimals(decimals: Option<u8>) -> NumberDisplay {
        NumberDisplay { decimals, ..NumberDisplay::default() }
    }

    /// Does it say which values a column of the type keeps?
    pub fn limits_values(&self) -> bool {
        self.is_unsigned || self.decimals.is_some()
    }

    /// Does a column of a floating point type keep the same values under both?
    pub fn keeps_as(&self, other: &NumberDisplay) -> bool {
        let width_of = |own: &NumberDisplay| own.decimals.and(own.width);
        self.is_unsigned == other.is_unsigned
            && self.decimals == other.decimals
            && width_of(self) == width_of(other)
    }

    /// The largest number of a FLOAT(M,D) or DOUBLE(M,D).
    pub fn limit(&self) -> Option<f64> {
        let (width, decimals) = (i32::from(self.width?), i32::from(self.decimals?));
        Some(10f64.powi(width - decimals) - 10f64.powi(-decimals))
    }

    /// Rounds to the digits behind the point.
    pub fn rounded(&self, number: f64) -> f64 {
        let Some(decimals) = self.decimals else { return number };
        let unit = 10f64.powi(i32::from(decimals));
        let whole = number.floor();
        whole + ((number - whole) * unit).round_ties_even() / unit
    }

    /// Characters that a value of the type is filled up to with zeros; 0 without ZEROFILL.
    pub fn fill(&self, column_type: &ColumnType) -> u8 {
        match *column_type {
            _ if !self.is_zerofill => 0,
            ColumnType::Int { .. } => self.width.unwrap_or_else(|| default_width(column_type)),
            ColumnType::Decimal { precision, scale: 0, .. } => precision,
            ColumnType::Decimal { precision, scale, .. } => (precision - scale).max(1) + 1 + scale,
            ColumnType::Float => self.width.unwrap_or(FLOAT_WIDTH),
            ColumnType::Double => self.width.unwrap_or(DOUBLE_WIDTH),
            _ => 0,
        }
    }

    /// Does the text of a number of the type need more than the number?
    pub fn has_text(&self, column_type: &ColumnType) -> bool {
        self.decimals.is_some() || self.fill(column_type) != 0
    }

    /// The text of a number of the type; None where it is that of the number alone.
    pub fn text(&self, value: ValueRef<'_>, column_type: &ColumnType) -> Option<String> {
        if !self.has_text(column_type) {
            return None;
        }
        number_text(value, self.fill(column_type), self.decimals)
    }
}

/// The text of a number: a floating point one with a number of digits behind the point, and with zeros in front up to a
/// number of characters. None for NULL, texts and bytes.
pub fn number_text(value: ValueRef<'_>, fill: u8, decimals: Option<u8>) -> Option<String> {
    let text = match (value, decimals) {
        (ValueRef::Float(number), Some(decimals)) => fixed(f64::from(number), decimals),
        (ValueRef::Double(number), Some(decimals)) => fixed(number, decimals),
        _ => number_to_text(value)?,
    };
    Some(format!("{text:0>fill$}", fill = usize::from(fill)))
}

fn fixed(number: f64, decimals: u8) -> String {
    format!("{number:.decimals$}", decimals = usize::from(decimals))
}

/// The width of an integer type that was written without one: characters of its longest value.
pub fn default_width(column_type: &ColumnType) -> u8 {
    let ColumnType::Int { width, unsigned } = *column_type else { return 0 };
    let (_, most) = int_range(width, true);
    let digits = most.to_string().len();
    // Of BIGINT the sign takes the place of a digit.
    let sign = usize::from(!unsigned && digits < 20);
    (digits + sign) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decimal, IntWidth};

    #[test]
    fn zeros_fill_numbers_up() {
        let int = |width| ColumnType::Int { width, unsigned: true };
        let decimal = |precision, scale| ColumnType::Decimal { precision, scale, unsigned: true };
        let number = |digits, scale| ValueRef::Decimal(Decimal::from_parts(digits, scale));
        for (value, column_type, width, text) in [
            (ValueRef::UInt(7), int(IntWidth::W1), None, "007"),
            (ValueRef::UInt(7), int(IntWidth::W2), None, "00007"),
            (ValueRef::UInt(7), int(IntWidth::W3), None, "00000007"),
            (ValueRef::UInt(7), int(IntWidth::W4), None, "0000000007"),
            (ValueRef::UInt(7), int(IntWidth::W8), None, "00000000000000000007"),
            (ValueRef::UInt(1234), int(IntWidth::W4), Some(3), "1234"),
            (number(1230, 2), decimal(10, 2), None, "00000012.30"),
            (number(50, 2), decimal(2, 2), None, "0.50"),
            (number(5, 0), decimal(5, 0), None, "00005"),
            (ValueRef::Float(1.5), ColumnType::Float, None, "0000000001.5"),
            (ValueRef::Double(1.5), ColumnType::Double, None, "00000000000000000001.5"),
        ] {
            let display = NumberDisplay { width, is_zerofill: true, ..NumberDisplay::default() };
            assert_eq!(display.text(value, &column_type).as_deref(), Some(text));
        }
        assert_eq!(default_width(&ColumnType::Int { width: IntWidth::W4, unsigned: false }), 11);
        assert_eq!(default_width(&ColumnType::Int { width: IntWidth::W8, unsigned: false }), 20);
    }

    #[test]
    fn numbers_with_fixed_digits() {
        let display =
            NumberDisplay { width: Some(7), decimals: Some(2), ..NumberDisplay::default() };
        assert_eq!(display.limit(), Some(99_999.99));
        for (number, rounded, text) in [
            (1.5, 1.5, "1.50"),
            (1.006, 1.01, "1.01"),
            (-1.006, -1.01, "-1.01"),
            (-0.001, 0.0, "0.00"),
            (0.125, 0.12, "0.12"),
        ] {
            assert_eq!(display.rounded(number), rounded, "{number}");
            let value = ValueRef::Double(rounded);
            assert_eq!(display.text(value, &ColumnType::Double).as_deref(), Some(text));
        }
        let filled = NumberDisplay { is_zerofill: true, ..display };
        let text = filled.text(ValueRef::Float(1.5), &ColumnType::Float);
        assert_eq!(text.as_deref(), Some("0001.50"));
    }
}
