//! Keys: the columns of an index as bytes whose order is the order of the values.
//!
//! A key is its parts one after the other, so that a key of the first parts is a prefix of all keys that begin with these
//! values. Each part is a marker (00 for NULL, which comes first; 01 for a value) and the value:
//!
//! - integers big-endian in their width, the sign bit flipped; floats likewise, with all bits flipped if negative and
//!   with -0 made 0; decimals, dates and times in their row form, which is in order already; labels, years and bits as
//!   unsigned integers in their width;
//! - strings as their collation's sort key, byte strings as they are, both escaped so that none begins another: 00 becomes
//!   00 ff, and 00 01 ends the part. Only so many characters (or bytes) as the index's prefix length says.
//!
//! A descending part is the same with all bits inverted, which also puts NULL last, as MySQL does.
//!
//! Index entries (other than the primary key's) end in the row's primary key, so that each is there once. A sort
//! key does not tell the string, so values are read from the row; [`decode_key`] is for keys that have none.

mod decode;

pub use decode::{decode_key, part_ends};

use crate::row::packed_year;
use crate::value::{bit_bytes, bit_max};
use crate::{Column, ColumnType, Index, IndexPart, Table, Time, ValueRef};
use crate::{IndexId, RowView};

/// Bytes of the columns of an index, by their declared lengths, at most: a definition beyond it is MySQL's error 1071.
pub const KEY_LENGTH_MAX: usize = 3072;
/// Parts of an index at most, as in MySQL.
pub const KEY_PART_COUNT_MAX: usize = 16;
/// Bytes of an encoded key at most, the primary key in an index entry apart: the declared bytes doubled by escapes, a
/// marker and an end a part. Only strings of characters that decompose into many reach it otherwise.
pub const KEY_SIZE_MAX: usize = 2 * KEY_LENGTH_MAX + 3 * KEY_PART_COUNT_MAX;

const MARK_NULL: u8 = 0x00;
const MARK_VALUE: u8 = 0x01;

/// The values make a key of more than [`KEY_SIZE_MAX`] bytes (the user sees error 1071).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTooLong;

impl std::fmt::Display for KeyTooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the key of the row is too long")
    }
}
impl std::error::Error for KeyTooLong {}

/// Appends one part of a key. The value must be of the column's type ([`ColumnType::accepts`]); `prefix` is in characters
/// for strings, bytes for byte strings.
pub fn encode_key_value(
    out: &mut Vec<u8>,
    value: ValueRef<'_>,
    column_type: &ColumnType,
    prefix: Option<u32>,
    descending: bool,
) {
    let start = out.len();
    if value.is_null() {
        out.push(MARK_NULL);
    } else {
        out.push(MARK_VALUE);
        encode_value(out, value, column_type, prefix);
    }
    if descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn encode_value(
    out: &mut Vec<u8>,
    value: ValueRef<'_>,
    column_type: &ColumnType,
    prefix: Option<u32>,
) {
    match (column_type, value) {
        (&ColumnType::Int { width, unsigned: false }, ValueRef::Int(number)) => {
            assert!((width.signed_min()..=width.signed_max()).contains(&number));
            let start = out.len();
            out.extend_from_slice(&number.to_be_bytes()[8 - width.bytes()..]);
            out[start] ^= 0x80;
        }
        (&ColumnType::Int { width, unsigned: true }, ValueRef::UInt(number)) => {
            assert!(number <= width.unsigned_max());
            out.extend_from_slice(&number.to_be_bytes()[8 - width.bytes()..]);
        }
        (ColumnType::Float, ValueRef::Float(number)) => {
            // Adding zero makes -0 and 0 one.
            let bits = (number + 0.0).to_bits();
            let flip = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
            out.extend_from_slice(&(bits ^ flip).to_be_bytes());
        }
        (ColumnType::Double, ValueRef::Double(number)) => {
            let bits = (number + 0.0).to_bits();
            let flip = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
            out.extend_from_slice(&(bits ^ flip).to_be_bytes());
        }
        (&ColumnType::Decimal { precision, scale, .. }, ValueRef::Decimal(number)) => {
            number.encode_fixed(precision, scale, out);
        }
        (ColumnType::Date, ValueRef::Date(date)) => {
            out.extend_from_slice(&date.pack().to_be_bytes()[1..]);
        }
        (ColumnType::Time { .. }, ValueRef::Time(time)) => {
            out.extend_from_slice(&time.pack().to_be_bytes()[8 - Time::PACKED_SIZE..]);
        }
        (
            ColumnType::DateTime { .. } | ColumnType::Timestamp { .. },
            ValueRef::DateTime(moment),
        ) => {
            out.extend_from_slice(&moment.pack().to_be_bytes());
        }
        (ColumnType::Labelled(labels), ValueRef::Label(number, _)) => {
            assert!(number <= labels.number_max());
            out.extend_from_slice(&number.to_be_bytes()[8 - labels.bytes()..]);
        }
        (ColumnType::Year, ValueRef::UInt(year)) => out.push(packed_year(year)),
        (&ColumnType::Bit { length }, ValueRef::UInt(bits)) => {
            assert!(bits <= bit_max(length));
            out.extend_from_slice(&bits.to_be_bytes()[8 - bit_bytes(length)..]);
        }
        (
            &(ColumnType::Char { collation, .. }
            | ColumnType::Varchar { collation, .. }
            | ColumnType::Text { collation, .. }),
            ValueRef::Text(text, _),
        ) => {
            let text = match column_type {
                ColumnType::Char { .. } => text.trim_end_matches(' '),
                _ => text,
            };
            let text = match prefix {
                Some(count) => first_characters(text, count as usize),
                None => text,
            };
            let start = out.len();
            collation.sort_key(text, out);
            escape(out, start);
        }
        (
            ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob { .. },
            ValueRef::Bytes(bytes),
        ) => {
            let start = out.len();
            let count = prefix.map_or(usize::MAX, |count| count as usize);
            out.extend_from_slice(&bytes[..bytes.len().min(count)]);
            if let ColumnType::Binary { length } = *column_type {
                // The row pads it with zeros, so a shorter value is the padded one here too.
                out.resize(start + count.min(length as usize), 0);
            }
            escape(out, start);
        }
        (column_type, value) => panic!(
            "a key part of type {} was given a value of kind {}",
            column_type.sql_name(),
            value.kind_name()
        ),
    }
}

fn first_characters(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Escapes the bytes from `start` on and ends them.
fn escape(out: &mut Vec<u8>, start: usize) {
    if out[start..].contains(&0) {
        let plain = out.split_off(start);
        for byte in plain {
            out.push(byte);
            if byte == 0 {
                out.push(0xff);
            }
        }
    }
    out.extend_from_slice(&[0x00, 0x01]);
}

/// The value whose bytes end a key part's range from above: nothing that begins with `key` is as large. None if there is
/// no such key (all bytes ff).
pub fn prefix_successor(key: &[u8]) -> Option<Vec<u8>> {
    let last = key.iter().rposition(|&byte| byte != 0xff)?;
    let mut successor = key[..=last].to_vec();
    successor[last] += 1;
    Some(successor)
}

fn part_column<'a>(table: &'a Table, part: &IndexPart) -> &'a Column {
    &table.columns[usize::from(part.column)]
}

fn capped(out: &[u8], start: usize) -> Result<(), KeyTooLong> {
    if out.len() - start <= KEY_SIZE_MAX { Ok(()) } else { Err(KeyTooLong) }
}

/// Appends the key of one part of an index. The value must be of the column's type.
pub fn encode_part(table: &Table, part: &IndexPart, value: ValueRef<'_>, out: &mut Vec<u8>) {
    let column = part_column(table, part);
    encode_key_value(out, value, &column.column_type, part.prefix, part.descending);
}

/// The key of a row's primary index: where the row lives.
pub fn primary_key_of_row(table: &Table, row: &RowView<'_>) -> Result<Vec<u8>, KeyTooLong> {
    let mut key = Vec::new();
    index_key_of_row(table, table.primary_key(), row, &mut key)?;
    Ok(key)
}

/// The primary key from its values, one for each of its parts.
pub fn primary_key_of_values(
    table: &Table,
    values: &[ValueRef<'_>],
) -> Result<Vec<u8>, KeyTooLong> {
    assert_eq!(values.len(), table.primary_key().parts.len());
    index_key_prefix(table, table.primary_key(), values)
}

/// Appends the parts of an index for a row, without the primary key.
pub fn index_key_of_row(
    table: &Table,
    index: &Index,
    row: &RowView<'_>,
    out: &mut Vec<u8>,
) -> Result<(), KeyTooLong> {
    let start = out.len();
    for part in &index.parts {
        encode_part(table, part, row.get(usize::from(part.column)), out);
    }
    capped(out, start)
}

/// Appends a row's entry in an index: the parts, then the primary key unless the index is the primary key's.
pub fn index_entry_key(
    table: &Table,
    index: &Index,
    row: &RowView<'_>,
    out: &mut Vec<u8>,
) -> Result<(), KeyTooLong> {
    index_key_of_row(table, index, row, out)?;
    if index.id != IndexId(0) {
        index_key_of_row(table, table.primary_key(), row, out)?;
    }
    Ok(())
}

/// Is a key of the row too long? It is where a text has characters that decompose into many.
pub fn check_keys(table: &Table, row: &RowView<'_>) -> Result<(), KeyTooLong> {
    let mut key = Vec::new();
    for index in &table.indexes {
        let bytes: usize = index.parts.iter().map(|part| part_bytes_max(table, part, row)).sum();
        if KEY_SIZE_MAX < bytes {
            key.clear();
            index_key_of_row(table, index, row, &mut key)?;
        }
    }
    Ok(())
}

/// Bytes that a part of an index has for a row, at most.
fn part_bytes_max(table: &Table, part: &IndexPart, row: &RowView<'_>) -> usize {
    const MARKER_AND_END: usize = 3;
    let column_type = &part_column(table, part).column_type;
    let column = usize::from(part.column);
    let bytes = match column_type.collation().filter(|_| column_type.fixed_size().is_none()) {
        Some(collation) => match row.get(column) {
            ValueRef::Text(text, _) => text.len() * collation.key_bytes_per_text_byte(),
            _ => 0,
        },
        // Escapes double some of them.
        None => {
            let prefix = part.prefix.map_or(u64::MAX, u64::from);
            2 * usize::try_from(column_type.bytes_max().min(prefix)).unwrap_or(KEY_SIZE_MAX)
        }
    };
    bytes + MARKER_AND_END
}

/// Whether a part of the index is NULL in the row: a unique index then allows others like it.
pub fn index_key_has_null(index: &Index, row: &RowView<'_>) -> bool {
    index.parts.iter().any(|part| row.is_null(usize::from(part.column)))
}

/// The key of values for the first parts of an index: what all its entries with these values begin with.
pub fn index_key_prefix(
    table: &Table,
    index: &Index,
    values: &[ValueRef<'_>],
) -> Result<Vec<u8>, KeyTooLong> {
    assert!(values.len() <= index.parts.len());
    let mut key = Vec::new();
    for (part, &value) in index.parts.iter().zip(values) {
        encode_part(table, part, value, &mut key);
    }
    capped(&key, 0)?;
    Ok(key)
}

#[cfg(test)]
mod tests;
