//! Column types and values.
//!
//! A value travels encoded in rows ([`crate::row`]) and keys ([`crate::key`]); it is decoded into a [`ValueRef`] only for
//! expressions and result sets, and into an owned [`Value`] where it must outlive its row.
//!
//! A column has one kind of value: signed integers are `Int` and unsigned ones `UInt` whatever their width, TIMESTAMP is a
//! `DateTime` in UTC, and so on ([`ColumnType::accepts`]). Rows and keys take values of the column's own kind only;
//! [`crate::convert`] makes them.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::wire::{Bytes, Reader, Wire, WireError, encode_bytes};
use crate::{
    Charset, Collation, Date, DateTime, Decimal, LabelKind, Labels, Time, json, wire_enum,
};

/// Bytes an integer column takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntWidth {
    W1,
    W2,
    W3,
    W4,
    W8,
}
wire_enum!(IntWidth { 1 => W1, 2 => W2, 3 => W3, 4 => W4, 8 => W8 });

impl IntWidth {
    /// Bytes.
    pub fn bytes(self) -> usize {
        match self {
            IntWidth::W1 => 1,
            IntWidth::W2 => 2,
            IntWidth::W3 => 3,
            IntWidth::W4 => 4,
            IntWidth::W8 => 8,
        }
    }
    pub fn signed_min(self) -> i64 {
        i64::MIN >> (64 - 8 * self.bytes())
    }
    pub fn signed_max(self) -> i64 {
        i64::MAX >> (64 - 8 * self.bytes())
    }
    pub fn unsigned_max(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes())
    }
}

/// The least and greatest value of an integer column.
pub fn int_range(width: IntWidth, unsigned: bool) -> (i128, i128) {
    if unsigned {
        (0, i128::from(width.unsigned_max()))
    } else {
        (i128::from(width.signed_min()), i128::from(width.signed_max()))
    }
}

/// The type of a column. Lengths of strings are in characters, of binary columns in bytes; `fsp` is the number of
/// digits of fractional seconds (0 to 6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnType {
    Int {
        width: IntWidth,
        unsigned: bool,
    },
    Float,
    Double,
    /// `precision` digits (1 to 65), `scale` of them (0 to 30, <= precision) behind the point.
    Decimal {
        precision: u8,
        scale: u8,
        unsigned: bool,
    },
    Char {
        length: u32,
        collation: Collation,
    },
    Varchar {
        length: u32,
        collation: Collation,
    },
    /// TINYTEXT, TEXT, MEDIUMTEXT, LONGTEXT by the most bytes they hold.
    Text {
        bytes_max: u32,
        collation: Collation,
    },
    Binary {
        length: u32,
    },
    Varbinary {
        length: u32,
    },
    /// TINYBLOB, BLOB, MEDIUMBLOB, LONGBLOB by the most bytes they hold.
    Blob {
        bytes_max: u32,
    },
    Date,
    Time {
        fsp: u8,
    },
    DateTime {
        fsp: u8,
    },
    /// Kept in UTC; converted at the session's edge.
    Timestamp {
        fsp: u8,
    },
    Json,
    /// ENUM and SET.
    Labelled(Arc<Labels>),
    /// 0, or 1901 to 2155: an unsigned integer whose text has four digits.
    Year,
    /// `length` bits (1 to 64): an unsigned integer whose text is its bytes, the highest first.
    Bit {
        length: u8,
    },
}

/// The first and the last year of a YEAR, which may also be 0.
pub const YEAR_RANGE: std::ops::RangeInclusive<u64> = 1901..=2155;
/// The most bits of a BIT.
pub const BIT_LENGTH_MAX: u8 = 64;

/// The bytes that `length` bits take.
pub fn bit_bytes(length: u8) -> usize {
    usize::from(length).div_ceil(8)
}

/// The largest number of `length` bits.
pub fn bit_max(length: u8) -> u64 {
    u64::MAX >> (BIT_LENGTH_MAX - length)
}

/// The most bytes of TINYTEXT, TEXT and MEDIUMTEXT, and of the blobs; anything above is LONGTEXT.
const TINY_MAX: u32 = u8::MAX as u32;
const PLAIN_MAX: u32 = u16::MAX as u32;
const MEDIUM_MAX: u32 = (1 << 24) - 1;
/// The most bytes of a BINARY(n).
pub const BINARY_LENGTH_MAX: u32 = 255;
/// The most characters of a CHAR(n).
pub const CHAR_LENGTH_MAX: u32 = 255;

impl Wire for ColumnType {
    fn encode(&self, out: &mut Vec<u8>) {
        wire_form::encode(self, out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let decoded = wire_form::decode(input)?;
        if decoded.is_sound() { Ok(decoded) } else { Err(WireError::Invalid("column type")) }
    }
}

impl ColumnType {
    /// Whether precision, scale, digits and fixed lengths are in their ranges.
    pub fn is_sound(&self) -> bool {
        match *self {
            ColumnType::Decimal { precision, scale, .. } => {
                (1..=crate::decimal::PRECISION_MAX).contains(&precision)
                    && scale <= crate::decimal::SCALE_MAX.min(precision)
            }
            ColumnType::Time { fsp }
            | ColumnType::DateTime { fsp }
            | ColumnType::Timestamp { fsp } => fsp <= crate::temporal::FSP_MAX,
            ColumnType::Binary { length } => length <= BINARY_LENGTH_MAX,
            ColumnType::Char { length, .. } => length <= CHAR_LENGTH_MAX,
            ColumnType::Bit { length } => (1..=BIT_LENGTH_MAX).contains(&length),
            ColumnType::Labelled(_) | ColumnType::Year => true,
            ColumnType::Int { .. }
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::Varchar { .. }
            | ColumnType::Text { .. }
            | ColumnType::Varbinary { .. }
            | ColumnType::Blob { .. }
            | ColumnType::Json
            | ColumnType::Date => true,
        }
    }
    /// As SHOW CREATE TABLE and DESCRIBE print it: `bigint unsigned`, `varchar(20)`, `decimal(10,2)`, `datetime(6)`.
    pub fn sql_name(&self) -> String {
        let sign = |unsigned: bool| if unsigned { " unsigned" } else { "" };
        let digits = |name: &str, fsp: u8| {
            if fsp == 0 { name.to_owned() } else { format!("{name}({fsp})") }
        };
        let size = |bytes_max: u32| match bytes_max {
            bytes if bytes <= TINY_MAX => "tiny",
            bytes if bytes <= PLAIN_MAX => "",
            bytes if bytes <= MEDIUM_MAX => "medium",
            _ => "long",
        };
        match *self {
            ColumnType::Int { width, unsigned } => {
                let name = match width {
                    IntWidth::W1 => "tinyint",
                    IntWidth::W2 => "smallint",
                    IntWidth::W3 => "mediumint",
                    IntWidth::W4 => "int",
                    IntWidth::W8 => "bigint",
                };
                format!("{name}{}", sign(unsigned))
            }
            ColumnType::Float => "float".to_owned(),
            ColumnType::Double => "double".to_owned(),
            ColumnType::Decimal { precision, scale, unsigned } => {
                format!("decimal({precision},{scale}){}", sign(unsigned))
            }
            ColumnType::Char { length, .. } => format!("char({length})"),
            ColumnType::Varchar { length, .. } => format!("varchar({length})"),
            ColumnType::Text { bytes_max, .. } => format!("{}text", size(bytes_max)),
            ColumnType::Binary { length } => format!("binary({length})"),
            ColumnType::Varbinary { length } => format!("varbinary({length})"),
            ColumnType::Blob { bytes_max } => format!("{}blob", size(bytes_max)),
            ColumnType::Date => "date".to_owned(),
            ColumnType::Time { fsp } => digits("time", fsp),
            ColumnType::DateTime { fsp } => digits("datetime", fsp),
            ColumnType::Timestamp { fsp } => digits("timestamp", fsp),
            ColumnType::Labelled(ref labels) => labels.sql_name(),
            ColumnType::Year => "year".to_owned(),
            ColumnType::Bit { length } => format!("bit({length})"),
            ColumnType::Json => "json".to_owned(),
        }
    }
    /// Characters, not bytes.
    pub fn is_string(&self) -> bool {
        self.collation().is_some()
    }
    /// Bytes.
    pub fn is_binary(&self) -> bool {
        matches!(
            self,
            ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob { .. }
        )
    }
    /// The type of values of this kind, however long.
    pub fn of_any_length(&self) -> ColumnType {
        let length = u32::MAX;
        match self {
            ColumnType::Varbinary { .. } | ColumnType::Blob { .. } => {
                ColumnType::Varbinary { length }
            }
            other => match other.collation() {
                Some(collation) => ColumnType::Varchar { length, collation },
                None => other.clone(),
            },
        }
    }
    /// The value is an integer: also of YEAR and BIT, which are unsigned ones with texts of their own.
    pub fn is_integer(&self) -> bool {
        matches!(self, ColumnType::Int { .. } | ColumnType::Year | ColumnType::Bit { .. })
    }
    /// The type of values that operators make of this one: a label becomes a text, a year and bits become integers.
    pub fn of_operator(&self) -> ColumnType {
        match self {
            ColumnType::Labelled(labels) => {
                ColumnType::Varchar { length: labels.length_max(), collation: labels.collation() }
            }
            ColumnType::Year => ColumnType::Int { width: IntWidth::W2, unsigned: true },
            ColumnType::Bit { .. } => ColumnType::Int { width: IntWidth::W8, unsigned: true },
            other => other.clone(),
        }
    }
    /// The labels of an ENUM or a SET.
    pub fn labels(&self) -> Option<&Labels> {
        match self {
            ColumnType::Labelled(labels) => Some(labels),
            _ => None,
        }
    }
    pub fn is_numeric(&self) -> bool {
        matches!(
            self,
            ColumnType::Int { .. }
                | ColumnType::Float
                | ColumnType::Double
                | ColumnType::Decimal { .. }
                | ColumnType::Year
                | ColumnType::Bit { .. }
        )
    }
    pub fn is_temporal(&self) -> bool {
        matches!(
            self,
            ColumnType::Date
                | ColumnType::Time { .. }
                | ColumnType::DateTime { .. }
                | ColumnType::Timestamp { .. }
        )
    }
    pub fn is_unsigned(&self) -> bool {
        matches!(
            self,
            ColumnType::Int { unsigned: true, .. }
                | ColumnType::Decimal { unsigned: true, .. }
                | ColumnType::Year
                | ColumnType::Bit { .. }
        )
    }
    /// The collation of a character type.
    pub fn collation(&self) -> Option<Collation> {
        match *self {
            ColumnType::Char { collation, .. }
            | ColumnType::Varchar { collation, .. }
            | ColumnType::Text { collation, .. } => Some(collation),
            ColumnType::Labelled(ref labels) => Some(labels.collation()),
            _ => None,
        }
    }
    /// The same character type in another collation, in which a label is a text; other types have none.
    pub fn with_collation(&self, collation: Collation) -> ColumnType {
        match *self {
            ColumnType::Char { length, .. } => ColumnType::Char { length, collation },
            ColumnType::Varchar { length, .. } => ColumnType::Varchar { length, collation },
            ColumnType::Text { bytes_max, .. } => ColumnType::Text { bytes_max, collation },
            ColumnType::Labelled(ref labels) => {
                ColumnType::Varchar { length: labels.length_max(), collation }
            }
            ref other => other.clone(),
        }
    }
    /// Digits of fractional seconds; 0 for what is no time.
    pub fn fsp(&self) -> u8 {
        match *self {
            ColumnType::Time { fsp }
            | ColumnType::DateTime { fsp }
            | ColumnType::Timestamp { fsp } => fsp,
            _ => 0,
        }
    }
    /// The `decimals` a column definition packet carries: digits behind the point, 31 for floating point.
    pub fn decimals(&self) -> u8 {
        match *self {
            ColumnType::Decimal { scale, .. } => scale,
            ColumnType::Float | ColumnType::Double => 31,
            _ => self.fsp(),
        }
    }
    /// The length a column definition packet carries: bytes of the longest text of a value, in its
    /// character set.
    pub fn display_length(&self) -> u32 {
        let fraction = match self.fsp() {
            0 => 0,
            fsp => u32::from(fsp) + 1,
        };
        match *self {
            ColumnType::Int { width, unsigned } => match (width, unsigned) {
                (IntWidth::W1, false) => 4,
                (IntWidth::W1, true) => 3,
                (IntWidth::W2, false) => 6,
                (IntWidth::W2, true) => 5,
                (IntWidth::W3, false) => 9,
                (IntWidth::W3, true) => 8,
                (IntWidth::W4, false) => 11,
                (IntWidth::W4, true) => 10,
                (IntWidth::W8, _) => 20,
            },
            ColumnType::Float => 12,
            ColumnType::Double => 22,
            ColumnType::Decimal { precision, scale, unsigned } => {
                u32::from(precision) + u32::from(scale > 0) + u32::from(!unsigned)
            }
            ColumnType::Char { length, collation } | ColumnType::Varchar { length, collation } => {
                length.saturating_mul(collation.charset().character_size_max())
            }
            ColumnType::Text { bytes_max, .. } | ColumnType::Blob { bytes_max } => bytes_max,
            ColumnType::Binary { length } | ColumnType::Varbinary { length } => length,
            ColumnType::Date => 10,
            ColumnType::Time { .. } => 10 + fraction,
            ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => 19 + fraction,
            ColumnType::Labelled(ref labels) => {
                let size = labels.collation().charset().character_size_max();
                labels.length_max().saturating_mul(size)
            }
            ColumnType::Year => 4,
            ColumnType::Bit { length } => u32::from(length),
            ColumnType::Json => u32::MAX,
        }
    }
    /// The type of a column that keeps values of this one: TEXT and BLOB have four sizes, however long a value may be.
    pub fn of_column(&self) -> ColumnType {
        let size = |bytes: u32| match bytes {
            bytes if bytes <= TINY_MAX => TINY_MAX,
            bytes if bytes <= PLAIN_MAX => PLAIN_MAX,
            bytes if bytes <= MEDIUM_MAX => MEDIUM_MAX,
            _ => u32::MAX,
        };
        match *self {
            ColumnType::Text { bytes_max, collation } => {
                ColumnType::Text { bytes_max: size(bytes_max), collation }
            }
            ColumnType::Blob { bytes_max } => ColumnType::Blob { bytes_max: size(bytes_max) },
            ref other => other.clone(),
        }
    }
    /// Bytes of data a value has in a row at most, where text is UTF-8.
    pub fn bytes_max(&self) -> u64 {
        match *self {
            ColumnType::Char { length, collation } | ColumnType::Varchar { length, collation } => {
                u64::from(length) * u64::from(collation.charset().utf8_size_max())
            }
            ColumnType::Text { bytes_max, collation } => match collation.charset() {
                // A character of one byte.
                Charset::Latin1 => {
                    u64::from(bytes_max) * u64::from(Charset::Latin1.utf8_size_max())
                }
                Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Ascii | Charset::Binary => {
                    u64::from(bytes_max)
                }
            },
            ColumnType::Blob { bytes_max } => u64::from(bytes_max),
            ColumnType::Varbinary { length } => u64::from(length),
            ColumnType::Json => u64::from(u32::MAX),
            _ => self.fixed_size().expect("the others are fixed") as u64,
        }
    }
    /// Bytes a value takes in a row if all take the same; None if it varies.
    pub fn fixed_size(&self) -> Option<usize> {
        match *self {
            ColumnType::Int { width, .. } => Some(width.bytes()),
            ColumnType::Float => Some(4),
            ColumnType::Double => Some(8),
            ColumnType::Decimal { precision, .. } => Some(Decimal::fixed_size(precision)),
            ColumnType::Binary { length } => Some(length as usize),
            ColumnType::Date => Some(3),
            ColumnType::Time { .. } => Some(Time::PACKED_SIZE),
            ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => Some(8),
            ColumnType::Labelled(ref labels) => Some(labels.bytes()),
            ColumnType::Year => Some(1),
            ColumnType::Bit { length } => Some(bit_bytes(length)),
            ColumnType::Char { .. }
            | ColumnType::Varchar { .. }
            | ColumnType::Text { .. }
            | ColumnType::Varbinary { .. }
            | ColumnType::Json
            | ColumnType::Blob { .. } => None,
        }
    }
    /// What MySQL stores in a NOT NULL column without a default when it must store something: 0, '', 0000-00-00.
    pub fn implicit_default(&self) -> ValueRef<'_> {
        static ZEROS: [u8; BINARY_LENGTH_MAX as usize] = [0; BINARY_LENGTH_MAX as usize];
        match *self {
            ColumnType::Int { unsigned: false, .. } => ValueRef::Int(0),
            ColumnType::Int { unsigned: true, .. } => ValueRef::UInt(0),
            ColumnType::Float => ValueRef::Float(0.0),
            ColumnType::Double => ValueRef::Double(0.0),
            ColumnType::Decimal { scale, .. } => ValueRef::Decimal(Decimal::from_parts(0, scale)),
            ColumnType::Char { collation, .. }
            | ColumnType::Varchar { collation, .. }
            | ColumnType::Text { collation, .. } => ValueRef::Text("", collation),
            ColumnType::Binary { length } => ValueRef::Bytes(&ZEROS[..length as usize]),
            ColumnType::Varbinary { .. } | ColumnType::Blob { .. } => ValueRef::Bytes(b""),
            ColumnType::Json => ValueRef::Json(crate::json::binary::NULL_DOCUMENT),
            ColumnType::Date => ValueRef::Date(Date::ZERO),
            ColumnType::Time { .. } => ValueRef::Time(Time::ZERO),
            ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => {
                ValueRef::DateTime(DateTime::ZERO)
            }
            // The first label, or none of them.
            ColumnType::Labelled(ref labels) => {
                ValueRef::Label(u64::from(labels.kind() == LabelKind::Enum), labels)
            }
            ColumnType::Year | ColumnType::Bit { .. } => ValueRef::UInt(0),
        }
    }
    /// Whether a value is of this type's kind and range, so that a row and a key take it. NULL always is.
    pub fn accepts(&self, value: ValueRef<'_>) -> bool {
        match (self, value) {
            (_, ValueRef::Null) => true,
            (&ColumnType::Int { width, unsigned: false }, ValueRef::Int(value)) => {
                (width.signed_min()..=width.signed_max()).contains(&value)
            }
            (&ColumnType::Int { width, unsigned: true }, ValueRef::UInt(value)) => {
                value <= width.unsigned_max()
            }
            (ColumnType::Float, ValueRef::Float(value)) => value.is_finite(),
            (ColumnType::Double, ValueRef::Double(value)) => value.is_finite(),
            (&ColumnType::Decimal { precision, scale, unsigned }, ValueRef::Decimal(value)) => {
                value.fits(precision, scale) && !(unsigned && value.is_negative())
            }
            (
                &(ColumnType::Char { length, .. } | ColumnType::Varchar { length, .. }),
                ValueRef::Text(text, _),
            ) => {
                // A string of so few bytes has no more characters; only longer ones have to be counted.
                text.len() <= length as usize || {
                    let text = match self {
                        ColumnType::Char { .. } => text.trim_end_matches(' '),
                        _ => text,
                    };
                    text.chars().count() <= length as usize
                }
            }
            (&ColumnType::Text { bytes_max, collation }, ValueRef::Text(text, _)) => {
                text.len() <= bytes_max as usize
                    || collation.charset().size_of(text) <= bytes_max as usize
            }
            (
                &(ColumnType::Binary { length }
                | ColumnType::Varbinary { length }
                | ColumnType::Blob { bytes_max: length }),
                ValueRef::Bytes(bytes),
            ) => bytes.len() <= length as usize,
            (ColumnType::Date, ValueRef::Date(_)) => true,
            (ColumnType::Json, ValueRef::Json(_)) => true,
            (ColumnType::Time { .. }, ValueRef::Time(_)) => true,
            (ColumnType::DateTime { .. } | ColumnType::Timestamp { .. }, ValueRef::DateTime(_)) => {
                true
            }
            (ColumnType::Labelled(labels), ValueRef::Label(number, own)) => {
                number <= labels.number_max() && (Arc::ptr_eq(labels, own) || labels == own)
            }
            (ColumnType::Year, ValueRef::UInt(year)) => year == 0 || YEAR_RANGE.contains(&year),
            (&ColumnType::Bit { length }, ValueRef::UInt(bits)) => bits <= bit_max(length),
            (_, _) => false,
        }
    }
}

/// The tags of [`ColumnType`], before its numbers are checked.
mod wire_form {
    use super::ColumnType;
    use crate::wire::{Reader, Wire, WireError};

    pub(super) fn encode(column_type: &ColumnType, out: &mut Vec<u8>) {
        match column_type {
            ColumnType::Int { width, unsigned } => (0u8, (*width, *unsigned)).encode(out),
            ColumnType::Float => 1u8.encode(out),
            ColumnType::Double => 2u8.encode(out),
            ColumnType::Decimal { precision, scale, unsigned } => {
                (3u8, (*precision, *scale, *unsigned)).encode(out);
            }
            ColumnType::Char { length, collation } => (4u8, (*length, *collation)).encode(out),
            ColumnType::Varchar { length, collation } => (5u8, (*length, *collation)).encode(out),
            ColumnType::Text { bytes_max, collation } => {
                (6u8, (*bytes_max, *collation)).encode(out);
            }
            ColumnType::Binary { length } => (7u8, *length).encode(out),
            ColumnType::Varbinary { length } => (8u8, *length).encode(out),
            ColumnType::Blob { bytes_max } => (9u8, *bytes_max).encode(out),
            ColumnType::Date => 10u8.encode(out),
            ColumnType::Time { fsp } => (11u8, *fsp).encode(out),
            ColumnType::DateTime { fsp } => (12u8, *fsp).encode(out),
            ColumnType::Timestamp { fsp } => (13u8, *fsp).encode(out),
            ColumnType::Labelled(labels) => {
                14u8.encode(out);
                labels.encode(out);
            }
            ColumnType::Year => 15u8.encode(out),
            ColumnType::Bit { length } => (16u8, *length).encode(out),
            ColumnType::Json => 20u8.encode(out),
        }
    }

    pub(super) fn decode(input: &mut Reader<'_>) -> Result<ColumnType, WireError> {
        Ok(match u8::decode(input)? {
            0 => ColumnType::Int { width: Wire::decode(input)?, unsigned: Wire::decode(input)? },
            1 => ColumnType::Float,
            2 => ColumnType::Double,
            3 => ColumnType::Decimal {
                precision: Wire::decode(input)?,
                scale: Wire::decode(input)?,
                unsigned: Wire::decode(input)?,
            },
            4 => ColumnType::Char { length: Wire::decode(input)?, collation: Wire::decode(input)? },
            5 => ColumnType::Varchar {
                length: Wire::decode(input)?,
                collation: Wire::decode(input)?,
            },
            6 => ColumnType::Text {
                bytes_max: Wire::decode(input)?,
                collation: Wire::decode(input)?,
            },
            7 => ColumnType::Binary { length: Wire::decode(input)? },
            8 => ColumnType::Varbinary { length: Wire::decode(input)? },
            9 => ColumnType::Blob { bytes_max: Wire::decode(input)? },
            10 => ColumnType::Date,
            11 => ColumnType::Time { fsp: Wire::decode(input)? },
            12 => ColumnType::DateTime { fsp: Wire::decode(input)? },
            13 => ColumnType::Timestamp { fsp: Wire::decode(input)? },
            14 => ColumnType::Labelled(Wire::decode(input)?),
            15 => ColumnType::Year,
            16 => ColumnType::Bit { length: Wire::decode(input)? },
            20 => ColumnType::Json,
            _ => return Err(WireError::BadTag("ColumnType")),
        })
    }
}

/// An owned value. `==` is structural: kinds must be the same, text byte for byte (see
/// [`ValueRef::compare_same_kind`] for SQL's order).
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    /// FLOAT columns keep their own kind: they print with fewer digits.
    Float(f32),
    Double(f64),
    Decimal(Decimal),
    /// Characters, always UTF-8 in memory whatever the session's character set.
    Text(Box<str>, Collation),
    Bytes(Box<[u8]>),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// Of an ENUM or a SET: its number, and the labels that give it a text.
    Label(u64, Arc<Labels>),
    /// A document in its binary form ([`crate::json::binary`]).
    Json(Box<[u8]>),
}

/// A value that borrows from its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Decimal(Decimal),
    Text(&'a str, Collation),
    Bytes(&'a [u8]),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    Label(u64, &'a Arc<Labels>),
    Json(&'a [u8]),
}

impl Value {
    /// Bytes that it holds beside itself: of a text, or of binary data.
    pub fn held_bytes(&self) -> usize {
        match self {
            Value::Text(text, _) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Json(document) => document.len(),
            _ => 0,
        }
    }
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Int(v) => ValueRef::Int(*v),
            Value::UInt(v) => ValueRef::UInt(*v),
            Value::Float(v) => ValueRef::Float(*v),
            Value::Double(v) => ValueRef::Double(*v),
            Value::Decimal(v) => ValueRef::Decimal(*v),
            Value::Text(v, collation) => ValueRef::Text(v, *collation),
            Value::Bytes(v) => ValueRef::Bytes(v),
            Value::Date(v) => ValueRef::Date(*v),
            Value::Time(v) => ValueRef::Time(*v),
            Value::DateTime(v) => ValueRef::DateTime(*v),
            Value::Label(number, labels) => ValueRef::Label(*number, labels),
            Value::Json(v) => ValueRef::Json(v),
        }
    }
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
    pub fn text(text: &str, collation: Collation) -> Value {
        Value::Text(text.into(), collation)
    }
    pub fn bytes(bytes: &[u8]) -> Value {
        Value::Bytes(bytes.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}
impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::UInt(value)
    }
}
impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Double(value)
    }
}
impl From<Decimal> for Value {
    fn from(value: Decimal) -> Value {
        Value::Decimal(value)
    }
}
impl From<Date> for Value {
    fn from(value: Date) -> Value {
        Value::Date(value)
    }
}
impl From<Time> for Value {
    fn from(value: Time) -> Value {
        Value::Time(value)
    }
}
impl From<DateTime> for Value {
    fn from(value: DateTime) -> Value {
        Value::DateTime(value)
    }
}

impl Wire for Value {
    fn encode(&self, out: &mut Vec<u8>) {
        self.as_ref().encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(match u8::decode(input)? {
            0 => Value::Null,
            1 => Value::Int(Wire::decode(input)?),
            2 => Value::UInt(Wire::decode(input)?),
            3 => Value::Float(Wire::decode(input)?),
            4 => Value::Double(Wire::decode(input)?),
            5 => Value::Decimal(Wire::decode(input)?),
            6 => {
                let collation = Wire::decode(input)?;
                Value::Text(String::decode(input)?.into(), collation)
            }
            7 => Value::Bytes(Bytes::decode(input)?.0.into()),
            8 => Value::Date(Wire::decode(input)?),
            9 => Value::Time(Wire::decode(input)?),
            10 => Value::DateTime(Wire::decode(input)?),
            11 => {
                let (number, labels) = (u64::decode(input)?, Arc::<Labels>::decode(input)?);
                match number <= labels.number_max() {
                    true => Value::Label(number, labels),
                    false => return Err(WireError::Invalid("label")),
                }
            }
            20 => {
                let document = Bytes::decode(input)?.0;
                crate::json::check(&document).map_err(WireError::Invalid)?;
                Value::Json(document.into())
            }
            _ => return Err(WireError::BadTag("Value")),
        })
    }
}

impl ValueRef<'_> {
    /// As the [`Value`] is encoded.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            ValueRef::Null => out.push(0),
            ValueRef::Int(value) => (1u8, *value).encode(out),
            ValueRef::UInt(value) => (2u8, *value).encode(out),
            ValueRef::Float(value) => (3u8, *value).encode(out),
            ValueRef::Double(value) => (4u8, *value).encode(out),
            ValueRef::Decimal(value) => (5u8, *value).encode(out),
            ValueRef::Text(text, collation) => {
                (6u8, *collation).encode(out);
                encode_bytes(text.as_bytes(), out);
            }
            ValueRef::Bytes(bytes) => {
                out.push(7);
                encode_bytes(bytes, out);
            }
            ValueRef::Date(value) => (8u8, *value).encode(out),
            ValueRef::Time(value) => (9u8, *value).encode(out),
            ValueRef::DateTime(value) => (10u8, *value).encode(out),
            ValueRef::Label(number, labels) => {
                (11u8, *number).encode(out);
                labels.encode(out);
            }
            ValueRef::Json(document) => {
                out.push(20);
                encode_bytes(document, out);
            }
        }
    }
    /// As [`Value::held_bytes`].
    pub fn held_bytes(&self) -> usize {
        match self {
            ValueRef::Text(text, _) => text.len(),
            ValueRef::Bytes(bytes) => bytes.len(),
            ValueRef::Json(document) => document.len(),
            _ => 0,
        }
    }
    pub fn to_value(&self) -> Value {
        match *self {
            ValueRef::Null => Value::Null,
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::UInt(v) => Value::UInt(v),
            ValueRef::Float(v) => Value::Float(v),
            ValueRef::Double(v) => Value::Double(v),
            ValueRef::Decimal(v) => Value::Decimal(v),
            ValueRef::Text(v, collation) => Value::Text(v.into(), collation),
            ValueRef::Bytes(v) => Value::Bytes(v.into()),
            ValueRef::Date(v) => Value::Date(v),
            ValueRef::Time(v) => Value::Time(v),
            ValueRef::DateTime(v) => Value::DateTime(v),
            ValueRef::Label(number, labels) => Value::Label(number, labels.clone()),
            ValueRef::Json(v) => Value::Json(v.into()),
        }
    }
    pub fn is_null(&self) -> bool {
        matches!(self, ValueRef::Null)
    }
    /// The collation of a text, or of the text that a label is.
    pub fn collation(&self) -> Option<Collation> {
        match *self {
            ValueRef::Text(_, collation) => Some(collation),
            ValueRef::Label(_, labels) => Some(labels.collation()),
            _ => None,
        }
    }
    /// For messages about a wrong kind.
    pub fn kind_name(&self) -> &'static str {
        match self {
            ValueRef::Null => "NULL",
            ValueRef::Int(_) => "integer",
            ValueRef::UInt(_) => "unsigned integer",
            ValueRef::Float(_) => "float",
            ValueRef::Double(_) => "double",
            ValueRef::Decimal(_) => "decimal",
            ValueRef::Text(..) => "text",
            ValueRef::Bytes(_) => "bytes",
            ValueRef::Date(_) => "date",
            ValueRef::Time(_) => "time",
            ValueRef::DateTime(_) => "datetime",
            ValueRef::Label(..) => "label",
            ValueRef::Json(_) => "JSON",
        }
    }
    /// Orders two values of one column: NULL first, text by the left one's collation. This is the order of keys. Values of
    /// different kinds (but for the two integer kinds) are a bug.
    pub fn compare_same_kind(&self, other: &ValueRef<'_>) -> Ordering {
        match (*self, *other) {
            (ValueRef::Null, ValueRef::Null) => Ordering::Equal,
            (ValueRef::Null, _) => Ordering::Less,
            (_, ValueRef::Null) => Ordering::Greater,
            (ValueRef::Int(left), ValueRef::Int(right)) => left.cmp(&right),
            (ValueRef::UInt(left), ValueRef::UInt(right)) => left.cmp(&right),
            (ValueRef::Int(left), ValueRef::UInt(right)) => {
                u64::try_from(left).map_or(Ordering::Less, |left| left.cmp(&right))
            }
            (ValueRef::UInt(left), ValueRef::Int(right)) => {
                u64::try_from(right).map_or(Ordering::Greater, |right| left.cmp(&right))
            }
            // Adding zero makes -0 and 0 one.
            (ValueRef::Float(left), ValueRef::Float(right)) => {
                (left + 0.0).total_cmp(&(right + 0.0))
            }
            (ValueRef::Double(left), ValueRef::Double(right)) => {
                (left + 0.0).total_cmp(&(right + 0.0))
            }
            (ValueRef::Decimal(left), ValueRef::Decimal(right)) => left.cmp(&right),
            (ValueRef::Text(left, collation), ValueRef::Text(right, _)) => {
                collation.compare(left, right)
            }
            (ValueRef::Bytes(left), ValueRef::Bytes(right)) => left.cmp(right),
            (ValueRef::Date(left), ValueRef::Date(right)) => left.cmp(&right),
            (ValueRef::Time(left), ValueRef::Time(right)) => left.cmp(&right),
            (ValueRef::DateTime(left), ValueRef::DateTime(right)) => left.cmp(&right),
            (ValueRef::Label(left, _), ValueRef::Label(right, _)) => left.cmp(&right),
            (ValueRef::Json(left), ValueRef::Json(right)) => {
                json::compare::compare(json::JsonRef::new(left), json::JsonRef::new(right))
            }
            (left, right) => panic!("{} compared with {}", left.kind_name(), right.kind_name()),
        }
    }
}

#[cfg(test)]
mod tests;
