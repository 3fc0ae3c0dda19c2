//! The types of columns as they are written in definitions, with MySQL's checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::display::{DECIMALS_MAX, default_width};
use types::labels::LABEL_LENGTH_MAX;
use types::value::BIT_LENGTH_MAX;
use types::{Collation, ColumnType, IntWidth, LabelKind, Labels, NumberDisplay};

use super::expr::{checked_fsp, decimal_size};
use super::table::collation_of;
use crate::error::{SqlError, code};
use crate::parser::ast;

/// Digits that may be written behind an integer type.
const DISPLAY_WIDTH_MAX: u8 = 255;

/// Bytes of the longest VARCHAR in its character set.
const VARCHAR_SIZE_MAX: u32 = 65_535;

/// How the numbers of a column of a checked type are shown; a width of (0) is none.
pub fn number_display(written: &ast::DataType, column_type: &ColumnType) -> NumberDisplay {
    use ast::TypeKind as K;
    let number = |written: Option<u64>| written.and_then(|number| u8::try_from(number).ok());
    let width = number(written.length).filter(|width| *width != 0);
    let is_float = matches!(column_type, ColumnType::Float | ColumnType::Double);
    let decimals = number(written.scale).filter(|_| is_float);
    let width = match written.kind {
        K::Bool => Some(1),
        K::TinyInt | K::SmallInt | K::MediumInt | K::Int | K::BigInt => {
            let default = || written.zerofill.then(|| default_width(column_type));
            width.or_else(default)
        }
        K::Float | K::Double => width.filter(|_| decimals.is_some()),
        _ => None,
    };
    NumberDisplay {
        width,
        decimals,
        is_unsigned: written.unsigned && is_float,
        is_zerofill: written.zerofill && written.kind != K::Year,
    }
}

/// FLOAT(M,D) or DOUBLE(M,D): 1425, 1427 and 1439 for digits that no column has.
fn check_float_digits(name: &str, written: &ast::DataType) -> Result<(), SqlError> {
    let Some(decimals) = written.scale else { return Ok(()) };
    let width = written.length.unwrap_or(0);
    if u64::from(DECIMALS_MAX) < decimals {
        return Err(SqlError::new(
            code::ER_TOO_BIG_SCALE,
            format!(
                "Too big scale {decimals} specified for column '{name}'. Maximum is {DECIMALS_MAX}."
            ),
        ));
    }
    if width < decimals {
        return Err(SqlError::new(
            code::ER_M_BIGGER_THAN_D,
            format!(
                "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{name}')."
            ),
        ));
    }
    if width == 0 || u64::from(DISPLAY_WIDTH_MAX) < width {
        return Err(SqlError::new(
            code::ER_TOO_BIG_DISPLAYWIDTH,
            format!("Display width out of range for column '{name}' (max = {DISPLAY_WIDTH_MAX})"),
        ));
    }
    Ok(())
}

/// ENUM or SET. Labels lose the spaces at their end, and no two are equal.
fn labelled(
    name: &str,
    kind: LabelKind,
    written: &[Vec<u8>],
    collation: Collation,
) -> Result<ColumnType, SqlError> {
    let kind_name = match kind {
        LabelKind::Enum => "ENUM",
        LabelKind::Set => "SET",
    };
    if collation.is_binary() {
        return Err(SqlError::not_supported(format!("{kind_name} CHARACTER SET binary")));
    }
    let mut labels: Vec<String> = Vec::with_capacity(written.len());
    let mut places: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    for label in written {
        let label = std::str::from_utf8(label)
            .map_err(|_| SqlError::not_supported(format!("{kind_name} values that are not UTF-8")))?
            .trim_end_matches(' ');
        let charset = collation.charset();
        if !charset.holds(label) {
            let message = format!("Invalid {} character string: '{label}'", charset.name());
            return Err(SqlError::new(code::ER_INVALID_CHARACTER_STRING, message));
        }
        if LABEL_LENGTH_MAX < label.chars().count() {
            return Err(SqlError::new(
                code::ER_TOO_LONG_SET_ENUM_VALUE,
                format!("Too long enumeration/set value for column {name}."),
            ));
        }
        if kind == LabelKind::Set && label.contains(',') {
            return Err(SqlError::new(
                code::ER_ILLEGAL_VALUE_FOR_TYPE,
                format!("Illegal set '{label}' value found during parsing"),
            ));
        }
        let mut key = Vec::new();
        collation.sort_key(label, &mut key);
        places.entry(key).or_default().push(labels.len());
        labels.push(label.to_owned());
    }
    // The first label that another one equals.
    let twice = places.values().filter(|places| 1 < places.len()).map(|places| places[0]).min();
    if let Some(first) = twice {
        return Err(SqlError::new(
            code::ER_DUPLICATED_VALUE_IN_TYPE,
            format!("Column '{name}' has duplicated value '{}' in {kind_name}", labels[first]),
        ));
    }
    match Labels::new(kind, labels, collation) {
        Some(labels) => Ok(ColumnType::Labelled(Arc::new(labels))),
        None if kind == LabelKind::Set => Err(SqlError::new(
            code::ER_TOO_BIG_SET,
            format!("Too many strings for column {name} and SET"),
        )),
        None => Err(SqlError::new(
            code::ER_TOO_BIG_ENUM,
            format!("Too many enumeration values for column {name}."),
        )),
    }
}

/// A column's type, checked and with its collation.
pub fn column_type(
    name: &str,
    written: &ast::DataType,
    table_collation: Collation,
) -> Result<ColumnType, SqlError> {
    use ast::TypeKind as K;
    if matches!(written.kind, K::Float | K::Double) {
        check_float_digits(name, written)?;
    }
    let int = |width| ColumnType::Int { width, unsigned: written.unsigned };
    let collation = || -> Result<Collation, SqlError> {
        let own = collation_of(written.charset.as_deref(), written.collation.as_deref())?;
        let own = own.unwrap_or(table_collation);
        Ok(if written.binary_collation { own.charset().bin_collation() } else { own })
    };
    let too_wide = |max: u32| {
        SqlError::new(
            code::ER_TOO_BIG_DISPLAYWIDTH,
            format!("Display width out of range for column '{name}' (max = {max})"),
        )
    };
    if written.length.is_some_and(|length| u64::from(u32::MAX) < length) {
        return Err(too_wide(u32::MAX));
    }
    let is_int =
        matches!(written.kind, K::TinyInt | K::SmallInt | K::MediumInt | K::Int | K::BigInt);
    if is_int && written.length.is_some_and(|length| u64::from(DISPLAY_WIDTH_MAX) < length) {
        return Err(too_wide(u32::from(DISPLAY_WIDTH_MAX)));
    }
    let length = |default: u64, max: u64| -> Result<u32, SqlError> {
        let length = written.length.unwrap_or(default);
        if max < length {
            return Err(SqlError::new(
                code::ER_TOO_BIG_FIELDLENGTH,
                format!(
                    "Column length too big for column '{name}' (max = {max}); use BLOB or TEXT instead"
                ),
            ));
        }
        Ok(length as u32)
    };
    // CHARACTER SET binary makes characters bytes.
    let text = |bytes_max: u32| -> Result<ColumnType, SqlError> {
        let collation = collation()?;
        Ok(if collation.is_binary() {
            ColumnType::Blob { bytes_max }
        } else {
            ColumnType::Text { bytes_max, collation }
        })
    };
    let sized = |bytes_per_unit: u64| -> u32 {
        // BLOB(0) is BLOB.
        let written = written.length.filter(|length| *length != 0);
        match written.map_or(65_535, |length| length.saturating_mul(bytes_per_unit)) {
            0..=255 => 255,
            256..=65_535 => 65_535,
            65_536..=16_777_215 => 16_777_215,
            _ => u32::MAX,
        }
    };
    Ok(match written.kind {
        K::TinyInt => int(IntWidth::W1),
        K::Bool => ColumnType::Int { width: IntWidth::W1, unsigned: false },
        K::SmallInt => int(IntWidth::W2),
        K::MediumInt => int(IntWidth::W3),
        K::Int => int(IntWidth::W4),
        K::BigInt => int(IntWidth::W8),
        K::Decimal => {
            let (precision, scale) = decimal_size(name, written.length, written.scale)?;
            ColumnType::Decimal { precision, scale, unsigned: written.unsigned }
        }
        K::Float => match (written.length, written.scale) {
            (Some(25..=53), None) => ColumnType::Double,
            (Some(54..), None) => {
                return Err(SqlError::new(
                    code::ER_WRONG_FIELD_SPEC,
                    format!("Incorrect column specifier for column '{name}'"),
                ));
            }
            _ => ColumnType::Float,
        },
        K::Double => ColumnType::Double,
        K::Char => {
            let length = length(1, 255)?;
            let collation = collation()?;
            if collation.is_binary() {
                ColumnType::Binary { length }
            } else {
                ColumnType::Char { length, collation }
            }
        }
        K::VarChar => {
            let collation = collation()?;
            if collation.is_binary() {
                ColumnType::Varbinary { length: length(0, 65_535)? }
            } else {
                let max = VARCHAR_SIZE_MAX / collation.charset().character_size_max();
                ColumnType::Varchar { length: length(0, u64::from(max))?, collation }
            }
        }
        K::Binary => ColumnType::Binary { length: length(1, 255)? },
        K::VarBinary => ColumnType::Varbinary { length: length(0, 65_535)? },
        K::TinyText => text(255)?,
        K::Text => text(sized(u64::from(collation()?.charset().character_size_max())))?,
        K::MediumText => text(16_777_215)?,
        K::LongText => text(u32::MAX)?,
        K::TinyBlob => ColumnType::Blob { bytes_max: 255 },
        K::Blob => ColumnType::Blob { bytes_max: sized(1) },
        K::MediumBlob => ColumnType::Blob { bytes_max: 16_777_215 },
        K::LongBlob => ColumnType::Blob { bytes_max: u32::MAX },
        K::Date => ColumnType::Date,
        K::Time => ColumnType::Time { fsp: checked_fsp(name, written.length)? },
        K::DateTime => ColumnType::DateTime { fsp: checked_fsp(name, written.length)? },
        K::Timestamp => ColumnType::Timestamp { fsp: checked_fsp(name, written.length)? },
        K::Bit => match written.length.unwrap_or(1) {
            0 => {
                return Err(SqlError::new(
                    code::ER_INVALID_FIELD_SIZE,
                    format!("Invalid size for column '{name}'."),
                ));
            }
            length @ 1..=64 => ColumnType::Bit { length: length as u8 },
            _ => {
                return Err(SqlError::new(
                    code::ER_TOO_BIG_DISPLAYWIDTH,
                    format!(
                        "Display width out of range for column '{name}' (max = {BIT_LENGTH_MAX})"
                    ),
                ));
            }
        },
        K::Year => match written.length {
            None | Some(4) => ColumnType::Year,
            Some(_) => {
                return Err(SqlError::new(
                    code::ER_INVALID_YEAR_COLUMN_LENGTH,
                    "Supports only YEAR or YEAR(4) column.",
                ));
            }
        },
        K::Enum => labelled(name, LabelKind::Enum, &written.members, collation()?)?,
        K::Set => labelled(name, LabelKind::Set, &written.members, collation()?)?,
        K::Json => ColumnType::Json,
        K::Vector => return Err(SqlError::not_supported("VECTOR")),
        K::Geometry
        | K::Point
        | K::LineString
        | K::Polygon
        | K::MultiPoint
        | K::MultiLineString
        | K::MultiPolygon
        | K::GeometryCollection => return Err(SqlError::not_supported("GEOMETRY")),
    })
}
