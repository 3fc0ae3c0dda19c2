//! The types of columns as they are written in definitions, with MySQL's checks.

use types::{Collation, ColumnType, IntWidth};

use super::expr::{checked_fsp, decimal_size};
use super::table::collation_of;
use crate::error::{SqlError, code};
use crate::parser::ast;

/// Digits that may be written behind an integer type.
const DISPLAY_WIDTH_MAX: u8 = 255;

/// The width behind an integer type, for clients; (0) is none.
pub fn display_width(written: &ast::DataType) -> Option<u8> {
    use ast::TypeKind as K;
    match written.kind {
        K::Bool => Some(1),
        K::TinyInt | K::SmallInt | K::MediumInt | K::Int | K::BigInt => {
            written.length.and_then(|length| u8::try_from(length).ok()).filter(|width| *width != 0)
        }
        _ => None,
    }
}

/// A column's type, checked and with its collation.
pub fn column_type(
    name: &str,
    written: &ast::DataType,
    table_collation: Collation,
) -> Result<ColumnType, SqlError> {
    use ast::TypeKind as K;
    if written.zerofill {
        return Err(SqlError::not_supported("ZEROFILL"));
    }
    if matches!(written.kind, K::Float | K::Double) && written.scale.is_some() {
        return Err(SqlError::not_supported("FLOAT(M,D)"));
    }
    let int = |width| ColumnType::Int { width, unsigned: written.unsigned };
    let collation = || -> Result<Collation, SqlError> {
        let own = collation_of(written.charset.as_deref(), written.collation.as_deref())?;
        let own = own.unwrap_or(table_collation);
        Ok(match written.binary_collation {
            true => Collation::by_name(&format!("{}_bin", own.charset_name())).unwrap_or(own),
            false => own,
        })
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
                ColumnType::Varchar { length: length(0, 16_383)?, collation }
            }
        }
        K::Binary => ColumnType::Binary { length: length(1, 255)? },
        K::VarBinary => ColumnType::Varbinary { length: length(0, 65_535)? },
        K::TinyText => text(255)?,
        K::Text => text(sized(4))?,
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
        K::Bit => return Err(SqlError::not_supported("BIT")),
        K::Year => return Err(SqlError::not_supported("YEAR")),
        K::Enum => return Err(SqlError::not_supported("ENUM")),
        K::Set => return Err(SqlError::not_supported("SET")),
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
