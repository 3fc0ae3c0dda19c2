//! Keys back into values, for views of locks: a lock may be on a key that no row has, and then there is
//! nothing else to read the values from.

use super::{MARK_NULL, MARK_VALUE};
use crate::row::unpacked_year;
use crate::value::bit_bytes;
use crate::{
    Collation, ColumnType, Date, DateTime, Decimal, Index, IndexId, IndexPart, Table, Time, Value,
};

/// The values that begin an index key, as many as it has: a bound of a range may have fewer than the index has parts. None
/// if one cannot be told: most collations' sort keys do not tell the string, and the bound of a prefix is no key.
pub fn decode_key(table: &Table, index: &Index, key: &[u8]) -> Option<Vec<Value>> {
    let primary: &[IndexPart] = match index.id {
        IndexId(0) => &[],
        _ => &table.primary_key().parts,
    };
    let mut rest = key;
    let mut values = Vec::new();
    for part in index.parts.iter().chain(primary) {
        if rest.is_empty() {
            break;
        }
        let column_type = &table.columns[usize::from(part.column)].column_type;
        let (value, length) = match part.descending {
            false => decode_part(column_type, rest)?,
            true => {
                let inverted: Vec<u8> = rest.iter().map(|byte| !byte).collect();
                decode_part(column_type, &inverted)?
            }
        };
        values.push(value);
        rest = &rest[length..];
    }
    rest.is_empty().then_some(values)
}

/// Where each part of an index ends in the key of one of its entries; fewer than the index has parts if the bytes are no whole key.
pub fn part_ends(table: &Table, index: &Index, key: &[u8]) -> Vec<usize> {
    let mut ends = Vec::with_capacity(index.parts.len());
    let mut end = 0;
    for part in &index.parts {
        let column_type = &table.columns[usize::from(part.column)].column_type;
        let Some(length) = part_length(column_type, &key[end..], part.descending) else { break };
        end += length;
        ends.push(end);
    }
    ends
}

/// The length of the part that the bytes begin with.
fn part_length(column_type: &ColumnType, bytes: &[u8], descending: bool) -> Option<usize> {
    let flip = if descending { 0xff } else { 0 };
    if bytes.first()? ^ flip == MARK_NULL {
        return Some(1);
    }
    let fixed = match column_type {
        ColumnType::Int { width, .. } => width.bytes(),
        ColumnType::Float => 4,
        ColumnType::Double => 8,
        ColumnType::Decimal { precision, .. } => Decimal::fixed_size(*precision),
        ColumnType::Date => 3,
        ColumnType::Time { .. } => Time::PACKED_SIZE,
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => 8,
        ColumnType::Labelled(labels) => labels.bytes(),
        ColumnType::Year => 1,
        ColumnType::Bit { length } => bit_bytes(*length),
        ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text { .. }
        | ColumnType::Binary { .. }
        | ColumnType::Varbinary { .. }
        | ColumnType::Blob { .. } => {
            // A zero is never followed by a one but at the end.
            let ends_here = |pair: &[u8]| pair[0] ^ flip == 0x00 && pair[1] ^ flip == 0x01;
            let mut place = 1;
            while !ends_here(bytes.get(place..place + 2)?) {
                place += if bytes[place] ^ flip == 0x00 { 2 } else { 1 };
            }
            return Some(place + 2);
        }
        // No index has such a column.
        ColumnType::Json => return None,
    };
    (fixed < bytes.len()).then_some(1 + fixed)
}

/// The value of the part that the bytes begin with, and the part's length.
fn decode_part(column_type: &ColumnType, bytes: &[u8]) -> Option<(Value, usize)> {
    let (&mark, bytes) = bytes.split_first()?;
    match mark {
        MARK_NULL => Some((Value::Null, 1)),
        MARK_VALUE => {
            let (value, length) = decode_value(column_type, bytes)?;
            Some((value, 1 + length))
        }
        _ => None,
    }
}

fn decode_value(column_type: &ColumnType, bytes: &[u8]) -> Option<(Value, usize)> {
    let big_endian = |size: usize| -> Option<u64> {
        Some(bytes.get(..size)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    match column_type {
        ColumnType::Int { width, unsigned } => {
            let number = big_endian(width.bytes())?;
            let value = match unsigned {
                true => Value::UInt(number),
                // The sign bit is flipped: the number counts from the least one.
                false => Value::Int(width.signed_min().wrapping_add_unsigned(number)),
            };
            Some((value, width.bytes()))
        }
        ColumnType::Decimal { precision, scale, .. } => {
            let size = Decimal::fixed_size(*precision);
            let value = Decimal::decode_fixed(*precision, *scale, bytes.get(..size)?)?;
            Some((Value::Decimal(value), size))
        }
        ColumnType::Date => {
            let packed = u32::try_from(big_endian(3)?).ok()?;
            Some((Value::Date(Date::unpack(packed)?), 3))
        }
        ColumnType::Time { .. } => {
            let packed = big_endian(Time::PACKED_SIZE)?;
            Some((Value::Time(Time::unpack(packed)?), Time::PACKED_SIZE))
        }
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => {
            Some((Value::DateTime(DateTime::unpack(big_endian(8)?)?), 8))
        }
        ColumnType::Labelled(labels) => {
            let number =
                big_endian(labels.bytes()).filter(|number| *number <= labels.number_max())?;
            Some((Value::Label(number, labels.clone()), labels.bytes()))
        }
        ColumnType::Year => Some((Value::UInt(unpacked_year(*bytes.first()?)), 1)),
        ColumnType::Bit { length } => {
            Some((Value::UInt(big_endian(bit_bytes(*length))?), bit_bytes(*length)))
        }
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob { .. } => {
            let (bytes, length) = unescape(bytes)?;
            Some((Value::Bytes(bytes.into()), length))
        }
        // The collations whose sort key is the text itself.
        &(ColumnType::Char { collation, .. }
        | ColumnType::Varchar { collation, .. }
        | ColumnType::Text { collation, .. })
            if matches!(collation, Collation::Binary | Collation::Utf8mb40900Bin) =>
        {
            let (bytes, length) = unescape(bytes)?;
            Some((Value::text(&String::from_utf8(bytes).ok()?, collation), length))
        }
        ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text { .. }
        | ColumnType::Float
        | ColumnType::Json
        | ColumnType::Double => None,
    }
}

/// The bytes before the end mark, and the length with it.
fn unescape(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut plain = Vec::new();
    let mut place = 0;
    loop {
        match (*bytes.get(place)?, bytes.get(place + 1)) {
            (0, Some(0xff)) => {
                plain.push(0);
                place += 2;
            }
            (0, Some(0x01)) => return Some((plain, place + 2)),
            (0, _) => return None,
            (byte, _) => {
                plain.push(byte);
                place += 1;
            }
        }
    }
}
