//! The one format of a row, from client to log to checkpoint.
//!
//! ```text
//! column count n (u16) | NULL bits, ceil(n/8) bytes | fixed-size columns | end offsets (u32 each) | variable bytes
//! ```
//!
//! Every fixed-size column has its place even when it is NULL, so a column is found by one addition, without reading the
//! others. Variable columns are found by the end offset before theirs and their own; offsets count from the start of the
//! variable bytes. Integers and floats are little-endian; decimals, dates and times are in the form that also orders
//! keys.
//!
//! Columns are only ever added at the end, and a row says how many it has: a row from before an ADD COLUMN is read with
//! the new layout, which has the values that ADD COLUMN gave the rows there were.
//!
//! Bytes from a peer or a file go through [`RowView::check`] once. Reading a row that was never checked and is damaged may
//! panic; it never reads outside of the row. CHAR is kept without trailing spaces, BINARY padded with zero bytes.

use crate::value::{YEAR_RANGE, bit_max};
use crate::{Collation, Column, ColumnType, Date, DateTime, Decimal, Time, Value, ValueRef};

/// Bytes of a row at most: 64 MiB of data, as much as a packet may bring, and 1 MiB for the bookkeeping and the fixed
/// part of 4,096 columns of 255 bytes.
pub const ROW_SIZE_MAX: usize = (64 << 20) + (1 << 20);
/// Columns of a table at most, as in MySQL.
pub const COLUMN_COUNT_MAX: usize = 4096;

const COUNT_SIZE: usize = 2;
const END_SIZE: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowError {
    /// Larger than [`ROW_SIZE_MAX`]: tell the user.
    TooLarge,
    /// These bytes are no row of this layout, with the reason.
    Damaged(&'static str),
}

impl std::fmt::Display for RowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RowError::TooLarge => write!(f, "row size too large (more than {ROW_SIZE_MAX} bytes)"),
            RowError::Damaged(what) => write!(f, "damaged row: {what}"),
        }
    }
}
impl std::error::Error for RowError {}

/// Where the columns of a table's rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLayout {
    columns: Vec<ColumnLayout>,
    /// Bytes of all fixed-size columns together.
    fixed_size: usize,
    variable_count: usize,
    /// A row with the values of columns that a row is too old to have; None if all of them are NULL.
    missing: Option<Box<[u8]>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ColumnLayout {
    column_type: ColumnType,
    /// Bytes of the fixed-size columns before this one: where it begins if it is one itself.
    fixed_offset: usize,
    /// None for a variable column.
    size: Option<usize>,
    /// Variable columns before this one.
    variable_index: usize,
}

impl RowLayout {
    pub fn new<'a>(columns: impl IntoIterator<Item = &'a ColumnType>) -> RowLayout {
        let mut layout =
            RowLayout { columns: Vec::new(), fixed_size: 0, variable_count: 0, missing: None };
        for column_type in columns {
            let size = column_type.fixed_size();
            layout.columns.push(ColumnLayout {
                column_type: column_type.clone(),
                fixed_offset: layout.fixed_size,
                size,
                variable_index: layout.variable_count,
            });
            layout.fixed_size += size.unwrap_or(0);
            layout.variable_count += usize::from(size.is_none());
        }
        assert!(layout.columns.len() <= COLUMN_COUNT_MAX);
        layout
    }
    /// The layout of a table's rows, some of which may be older than columns of it.
    pub fn of_columns(columns: &[Column]) -> RowLayout {
        let mut layout = RowLayout::new(columns.iter().map(|column| &column.column_type));
        let is_missing =
            |column: &Column| column.missing.as_ref().is_some_and(|own| !own.is_null());
        if columns.iter().any(is_missing) {
            let values: Vec<ValueRef<'_>> = columns
                .iter()
                .map(|column| column.missing.as_ref().map_or(ValueRef::Null, Value::as_ref))
                .collect();
            let row = encode_row(&layout, &values).expect("defaults are far shorter than a row");
            layout.missing = Some(row.into());
        }
        layout
    }
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }
    pub fn column_type(&self, column: usize) -> &ColumnType {
        &self.columns[column].column_type
    }
    /// Bytes of the fixed-size columns, and the number of variable ones, among the first `count` columns.
    fn prefix(&self, count: usize) -> (usize, usize) {
        match self.columns.get(count) {
            Some(column) => (column.fixed_offset, column.variable_index),
            None => (self.fixed_size, self.variable_count),
        }
    }
}

/// Encodes one value for each column of the layout. The values must be of their columns' types ([`crate::convert`] makes
/// them so); the error is only ever [`RowError::TooLarge`].
pub fn encode_row(layout: &RowLayout, values: &[ValueRef<'_>]) -> Result<Vec<u8>, RowError> {
    let mut out = Vec::new();
    encode_row_into(layout, values, &mut out)?;
    Ok(out)
}

/// Like [`encode_row`], appending to `out`; on an error `out` is as it was.
pub fn encode_row_into(
    layout: &RowLayout,
    values: &[ValueRef<'_>],
    out: &mut Vec<u8>,
) -> Result<(), RowError> {
    assert_eq!(values.len(), layout.column_count());
    let head = COUNT_SIZE + values.len().div_ceil(8);
    let variable_start = head + layout.fixed_size + END_SIZE * layout.variable_count;
    let mut size = variable_start;
    for (column, value) in layout.columns.iter().zip(values) {
        if column.size.is_none() {
            size += variable_bytes(&column.column_type, value).len();
        }
    }
    if size > ROW_SIZE_MAX {
        return Err(RowError::TooLarge);
    }
    let start = out.len();
    out.reserve(size);
    out.extend_from_slice(&(values.len() as u16).to_le_bytes());
    out.resize(start + head, 0);
    for (index, (column, value)) in layout.columns.iter().zip(values).enumerate() {
        if value.is_null() {
            out[start + COUNT_SIZE + index / 8] |= 1 << (index % 8);
        }
        if let Some(size) = column.size {
            let place = out.len();
            encode_fixed(&column.column_type, value, out);
            assert_eq!(out.len(), place + size);
        }
    }
    let mut end = 0u32;
    for (column, value) in layout.columns.iter().zip(values) {
        if column.size.is_none() {
            end += variable_bytes(&column.column_type, value).len() as u32;
            out.extend_from_slice(&end.to_le_bytes());
        }
    }
    for (column, value) in layout.columns.iter().zip(values) {
        if column.size.is_none() {
            out.extend_from_slice(variable_bytes(&column.column_type, value));
        }
    }
    assert_eq!(out.len(), start + size);
    Ok(())
}

fn wrong_kind(column_type: &ColumnType, value: &ValueRef<'_>) -> ! {
    panic!(
        "a column of type {} was given a value of kind {}",
        column_type.sql_name(),
        value.kind_name()
    )
}

fn encode_fixed(column_type: &ColumnType, value: &ValueRef<'_>, out: &mut Vec<u8>) {
    let size = column_type.fixed_size().expect("fixed-size column");
    match (column_type, value) {
        (_, ValueRef::Null) => out.resize(out.len() + size, 0),
        (&ColumnType::Int { width, unsigned: false }, &ValueRef::Int(number)) => {
            assert!((width.signed_min()..=width.signed_max()).contains(&number));
            out.extend_from_slice(&number.to_le_bytes()[..size]);
        }
        (&ColumnType::Int { width, unsigned: true }, &ValueRef::UInt(number)) => {
            assert!(number <= width.unsigned_max());
            out.extend_from_slice(&number.to_le_bytes()[..size]);
        }
        (ColumnType::Float, ValueRef::Float(number)) => {
            assert!(number.is_finite());
            out.extend_from_slice(&number.to_le_bytes());
        }
        (ColumnType::Double, ValueRef::Double(number)) => {
            assert!(number.is_finite());
            out.extend_from_slice(&number.to_le_bytes());
        }
        (&ColumnType::Decimal { precision, scale, unsigned }, ValueRef::Decimal(number)) => {
            assert!(!unsigned || !number.is_negative());
            number.encode_fixed(precision, scale, out);
        }
        (ColumnType::Binary { .. }, ValueRef::Bytes(bytes)) => {
            assert!(bytes.len() <= size);
            let start = out.len();
            out.extend_from_slice(bytes);
            out.resize(start + size, 0);
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
        (ColumnType::Labelled(labels), &ValueRef::Label(number, _)) => {
            assert!(number <= labels.number_max());
            out.extend_from_slice(&number.to_le_bytes()[..size]);
        }
        (ColumnType::Year, &ValueRef::UInt(year)) => out.push(packed_year(year)),
        (&ColumnType::Bit { length }, &ValueRef::UInt(bits)) => {
            assert!(bits <= bit_max(length));
            out.extend_from_slice(&bits.to_le_bytes()[..size]);
        }
        (_, value) => wrong_kind(column_type, value),
    }
}

/// A year in one byte: 0 is 0, the others count from 1900.
pub(crate) fn packed_year(year: u64) -> u8 {
    assert!(year == 0 || YEAR_RANGE.contains(&year));
    year.saturating_sub(1900) as u8
}

pub(crate) fn unpacked_year(byte: u8) -> u64 {
    if byte == 0 { 0 } else { 1900 + u64::from(byte) }
}

/// The bytes of a variable column's value as the row keeps them.
fn variable_bytes<'a>(column_type: &ColumnType, value: &ValueRef<'a>) -> &'a [u8] {
    match (column_type, *value) {
        (_, ValueRef::Null) => b"",
        (ColumnType::Char { .. }, ValueRef::Text(text, _)) => text.trim_end_matches(' ').as_bytes(),
        (ColumnType::Varchar { .. } | ColumnType::Text { .. }, ValueRef::Text(text, _)) => {
            text.as_bytes()
        }
        (ColumnType::Varbinary { .. } | ColumnType::Blob { .. }, ValueRef::Bytes(bytes)) => bytes,
        (ColumnType::Json, ValueRef::Json(document)) => document,
        (_, value) => wrong_kind(column_type, &value),
    }
}

/// Little-endian bytes as a number. The widths that tables mostly use are one load each; the others are put together.
#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        u64::from(u32::from_le_bytes(bytes))
    } else if let Ok(bytes) = <[u8; 8]>::try_from(bytes) {
        u64::from_le_bytes(bytes)
    } else {
        bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

/// A number of `size` bytes in two's complement.
#[inline]
fn sign_extended(number: u64, size: usize) -> i64 {
    // Shifting up and down again extends the sign.
    let unused = 64 - 8 * size as u32;
    (number << unused).cast_signed() >> unused
}

/// Big-endian bytes as a number.
fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Reads a fixed-size column; an error if the bytes are no value of it.
fn decode_fixed<'a>(
    column_type: &'a ColumnType,
    bytes: &'a [u8],
) -> Result<ValueRef<'a>, &'static str> {
    Ok(match *column_type {
        ColumnType::Int { unsigned, .. } => {
            let number = little_endian(bytes);
            match unsigned {
                true => ValueRef::UInt(number),
                false => ValueRef::Int(sign_extended(number, bytes.len())),
            }
        }
        ColumnType::Float => {
            let number = f32::from_le_bytes(bytes.try_into().map_err(|_| "float")?);
            if number.is_nan() {
                return Err("float");
            }
            ValueRef::Float(number)
        }
        ColumnType::Double => {
            let number = f64::from_le_bytes(bytes.try_into().map_err(|_| "double")?);
            if number.is_nan() {
                return Err("double");
            }
            ValueRef::Double(number)
        }
        ColumnType::Decimal { precision, scale, unsigned } => {
            let number = Decimal::decode_fixed(precision, scale, bytes).ok_or("decimal")?;
            if unsigned && number.is_negative() {
                return Err("unsigned decimal");
            }
            ValueRef::Decimal(number)
        }
        ColumnType::Binary { .. } => ValueRef::Bytes(bytes),
        ColumnType::Date => ValueRef::Date(Date::unpack(big_endian(bytes) as u32).ok_or("date")?),
        ColumnType::Time { .. } => ValueRef::Time(Time::unpack(big_endian(bytes)).ok_or("time")?),
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => {
            ValueRef::DateTime(DateTime::unpack(big_endian(bytes)).ok_or("datetime")?)
        }
        ColumnType::Labelled(ref labels) => {
            let number = little_endian(bytes);
            if labels.number_max() < number {
                return Err("label");
            }
            ValueRef::Label(number, labels)
        }
        ColumnType::Year => ValueRef::UInt(unpacked_year(bytes[0])),
        ColumnType::Bit { length } => {
            let bits = little_endian(bytes);
            if bit_max(length) < bits {
                return Err("bits");
            }
            ValueRef::UInt(bits)
        }
        ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text { .. }
        | ColumnType::Varbinary { .. }
        | ColumnType::Json
        | ColumnType::Blob { .. } => unreachable!("variable columns are not decoded here"),
    })
}

fn decode_variable<'a>(
    column_type: &ColumnType,
    bytes: &'a [u8],
) -> Result<ValueRef<'a>, &'static str> {
    let text = |collation: Collation| {
        std::str::from_utf8(bytes).map(|text| ValueRef::Text(text, collation)).map_err(|_| "UTF-8")
    };
    match *column_type {
        ColumnType::Char { collation, .. }
        | ColumnType::Varchar { collation, .. }
        | ColumnType::Text { collation, .. } => text(collation),
        ColumnType::Json => Ok(ValueRef::Json(bytes)),
        _ => Ok(ValueRef::Bytes(bytes)),
    }
}

/// A row's bytes, read with a layout.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    layout: &'a RowLayout,
    bytes: &'a [u8],
    /// Columns that the row has of the layout's.
    column_count: usize,
    /// Where the fixed-size columns begin, then the end offsets, then the variable bytes.
    fixed_start: usize,
    ends_start: usize,
    variable_start: usize,
}

impl<'a> RowView<'a> {
    /// Reads a row that this code encoded or [`check`](Self::check) has passed. Bytes that are too short for a row panic.
    #[inline]
    pub fn new(layout: &'a RowLayout, bytes: &'a [u8]) -> RowView<'a> {
        RowView::open(layout, bytes).unwrap_or_else(|error| panic!("{error}"))
    }
    #[inline]
    fn open(layout: &'a RowLayout, bytes: &'a [u8]) -> Result<RowView<'a>, RowError> {
        let Some((count, _)) = bytes.split_first_chunk::<COUNT_SIZE>() else {
            return Err(RowError::Damaged("no column count"));
        };
        let column_count = usize::from(u16::from_le_bytes(*count));
        if column_count > layout.column_count() {
            return Err(RowError::Damaged("more columns than the table has"));
        }
        let (fixed_size, variable_count) = layout.prefix(column_count);
        let fixed_start = COUNT_SIZE + column_count.div_ceil(8);
        let ends_start = fixed_start + fixed_size;
        let variable_start = ends_start + END_SIZE * variable_count;
        if variable_start > bytes.len() {
            return Err(RowError::Damaged("too short"));
        }
        Ok(RowView { layout, bytes, column_count, fixed_start, ends_start, variable_start })
    }
    /// Whether the bytes are a row of this layout in every part, so that reading it cannot panic.
    pub fn check(layout: &RowLayout, bytes: &[u8]) -> Result<(), RowError> {
        if bytes.len() > ROW_SIZE_MAX {
            return Err(RowError::TooLarge);
        }
        let row = RowView::open(layout, bytes)?;
        let mut end_last = 0;
        for (index, column) in layout.columns[..row.column_count].iter().enumerate() {
            if matches!(column.column_type, ColumnType::Int { .. }) && !row.is_null(index) {
                // Whatever its bytes are, they are a number of its width.
                continue;
            }
            let value = if column.size.is_some() {
                decode_fixed(&column.column_type, row.fixed_bytes(column))
            } else {
                let end = row.end(column.variable_index);
                if end < end_last || end > bytes.len() - row.variable_start {
                    return Err(RowError::Damaged("end offset"));
                }
                let start = row.variable_start + end_last;
                end_last = end;
                decode_variable(&column.column_type, &bytes[start..row.variable_start + end])
            };
            if row.is_null(index) {
                // A NULL has no bytes: zeros where they are fixed, none where they vary. Two rows are equal exactly
                // if their bytes are.
                let empty = match column.size {
                    Some(_) => row.fixed_bytes(column).iter().all(|&byte| byte == 0),
                    None => matches!(
                        value,
                        Ok(ValueRef::Text("", _) | ValueRef::Bytes([]) | ValueRef::Json([]))
                    ),
                };
                if !empty {
                    return Err(RowError::Damaged("bytes under NULL"));
                }
                continue;
            }
            let value = value.map_err(RowError::Damaged)?;
            if !column.column_type.accepts(value) {
                return Err(RowError::Damaged("value out of its column's range"));
            }
            if let (ColumnType::Char { .. }, ValueRef::Text(text, _)) = (&column.column_type, value)
                && text.ends_with(' ')
            {
                return Err(RowError::Damaged("trailing spaces of a CHAR"));
            }
            if let ValueRef::Json(document) = value {
                crate::json::check(document).map_err(RowError::Damaged)?;
            }
        }
        if row.variable_start + end_last != bytes.len() {
            return Err(RowError::Damaged("bytes after the last column"));
        }
        let spare = row.column_count % 8;
        if spare != 0 && bytes[row.fixed_start - 1] >> spare != 0 {
            return Err(RowError::Damaged("NULL bits of no column"));
        }
        Ok(())
    }
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
    pub fn layout(&self) -> &'a RowLayout {
        self.layout
    }
    /// Columns that the row itself has: fewer than the layout if it is older.
    pub fn column_count(&self) -> usize {
        self.column_count
    }
    /// False if the row is older than the column.
    pub fn has(&self, column: usize) -> bool {
        assert!(column < self.layout.column_count());
        column < self.column_count
    }
    /// The row of the layout that has what this row is too old to have. None: NULL.
    #[cold]
    fn missing(&self) -> Option<RowView<'a>> {
        self.layout.missing.as_ref().map(|row| RowView::new(self.layout, row))
    }
    #[inline]
    pub fn is_null(&self, column: usize) -> bool {
        match self.has(column) {
            true => self.has_null(column),
            false => self.missing().is_none_or(|row| row.has_null(column)),
        }
    }
    fn has_null(&self, column: usize) -> bool {
        self.bytes[COUNT_SIZE + column / 8] >> (column % 8) & 1 == 1
    }
    /// The value of a column; what the layout says if the row is older than the column.
    #[inline]
    pub fn get(&self, column: usize) -> ValueRef<'a> {
        if !self.has(column) {
            return self.missing().map_or(ValueRef::Null, |row| row.get(column));
        }
        if self.has_null(column) {
            return ValueRef::Null;
        }
        let place = &self.layout.columns[column];
        let value = if place.size.is_some() {
            decode_fixed(&place.column_type, self.fixed_bytes(place))
        } else {
            let start = match place.variable_index {
                0 => 0,
                index => self.end(index - 1),
            };
            let bytes = &self.bytes[self.variable_start..][start..self.end(place.variable_index)];
            decode_variable(&place.column_type, bytes)
        };
        value.unwrap_or_else(|what| panic!("damaged row: {what}"))
    }
    /// The number, date or time in a column of at most 16 bytes, of a type that is kept exactly: an integer, the mantissa of a
    /// decimal, the packed form of a date or a time. NULL is None.
    #[inline]
    pub fn exact(&self, column: usize) -> Option<i128> {
        if !self.has(column) {
            return self.missing()?.exact(column);
        }
        if self.has_null(column) {
            return None;
        }
        let place = &self.layout.columns[column];
        let bytes = self.fixed_bytes(place);
        Some(match place.column_type {
            ColumnType::Int { unsigned, .. } => {
                let number = little_endian(bytes);
                match unsigned {
                    true => i128::from(number),
                    false => i128::from(sign_extended(number, bytes.len())),
                }
            }
            ColumnType::Decimal { .. } => Decimal::fixed_mantissa(bytes),
            _ => i128::from(big_endian(bytes)),
        })
    }
    fn fixed_bytes(&self, column: &ColumnLayout) -> &'a [u8] {
        let size = column.size.expect("a fixed-size column");
        &self.bytes[self.fixed_start + column.fixed_offset..][..size]
    }
    fn end(&self, variable_index: usize) -> usize {
        let place = &self.bytes[self.ends_start + END_SIZE * variable_index..][..END_SIZE];
        u32::from_le_bytes(place.try_into().expect("four bytes")) as usize
    }
    /// The values of all columns of the layout.
    pub fn values(&self) -> impl Iterator<Item = ValueRef<'a>> + use<'a> {
        let row = *self;
        (0..row.layout.column_count()).map(move |column| row.get(column))
    }
    pub fn to_values(&self) -> Vec<Value> {
        self.values().map(|value| value.to_value()).collect()
    }
}

/// A new row from an old one and the columns that change: (column, value).
pub fn replace_columns<'a>(
    old: &RowView<'a>,
    changes: &[(usize, ValueRef<'a>)],
) -> Result<Vec<u8>, RowError> {
    let mut values: Vec<ValueRef<'a>> = old.values().collect();
    for &(column, value) in changes {
        values[column] = value;
    }
    encode_row(old.layout, &values)
}

#[cfg(test)]
pub(crate) mod tests;
