//! What the server answers: OK, ERR, EOF, column definitions, and rows as text or binary.
//!
//! Everything here appends a payload to the output buffer; framing is [`crate::packet`]'s. A row is formatted straight into
//! that buffer: numbers and times by loops of our own, strings by one copy. Nothing is allocated for a row.
//!
//! A value should be of its column's kind. Where it is not (an integer in a DECIMAL column of an expression, say), it is
//! converted to what the column's definition promised, because a client would misread a binary row otherwise.

use std::borrow::Cow;
use std::fmt::Write;

use types::convert::{ConvertContext, format_double, format_float, to_f64, to_text};
use types::display::number_text;
use types::value::bit_bytes;
use types::{
    Charset, Collation, ColumnType, Date, DateTime, Decimal, IntWidth, NumberDisplay, Time,
    ValueRef,
};

use crate::command::code;
use crate::packet::{put_lenenc, put_lenenc_bytes};

/// The collation id of bytes, and of everything that is not characters.
pub const BINARY_COLLATION_ID: u16 = 63;

/// Appends the payload of an OK packet, or of the one that ends rows for clients that do without EOF packets
/// (`header` 0xfe). What an OK packet says: affected rows, last insert id, status, warnings, info.
pub fn put_ok(
    out: &mut Vec<u8>,
    header: u8,
    affected_rows: u64,
    last_insert_id: u64,
    status: u16,
    warnings: u16,
    info: &[u8],
) {
    assert!(header == 0x00 || header == 0xfe);
    out.push(header);
    put_lenenc(out, affected_rows);
    put_lenenc(out, last_insert_id);
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&warnings.to_le_bytes());
    // As MySQL does it: with its length also where the documentation says "rest of packet", and not at all when empty.
    if !info.is_empty() {
        put_lenenc_bytes(out, info);
    }
}

pub fn put_eof(out: &mut Vec<u8>, status: u16, warnings: u16) {
    out.push(0xfe);
    out.extend_from_slice(&warnings.to_le_bytes());
    out.extend_from_slice(&status.to_le_bytes());
}

/// MySQL's clients keep 512 bytes of a message.
const MESSAGE_SIZE_MAX: usize = 511;

/// Appends the payload of an ERR packet. Before the client has said which protocol it speaks, the SQLSTATE stays out.
pub fn put_error(out: &mut Vec<u8>, code: u16, sqlstate: Option<&str>, message: &str) {
    put_error_in(out, code, sqlstate, message, Charset::Utf8mb4);
}

/// The same for a client that reads `charset`.
pub fn put_error_in(
    out: &mut Vec<u8>,
    code: u16,
    sqlstate: Option<&str>,
    message: &str,
    charset: Charset,
) {
    out.push(0xff);
    out.extend_from_slice(&code.to_le_bytes());
    if let Some(sqlstate) = sqlstate {
        assert_eq!(sqlstate.len(), 5);
        out.push(b'#');
        out.extend_from_slice(sqlstate.as_bytes());
    }
    let size = message.floor_char_boundary(MESSAGE_SIZE_MAX);
    out.extend_from_slice(&charset.encode(&message[..size]));
}

/// Flags of a column definition.
pub mod column_flag {
    pub const NOT_NULL: u16 = 1;
    pub const PRIMARY_KEY: u16 = 1 << 1;
    pub const UNIQUE_KEY: u16 = 1 << 2;
    pub const MULTIPLE_KEY: u16 = 1 << 3;
    pub const BLOB: u16 = 1 << 4;
    pub const UNSIGNED: u16 = 1 << 5;
    pub const ZEROFILL: u16 = 1 << 6;
    pub const BINARY: u16 = 1 << 7;
    pub const ENUM: u16 = 1 << 8;
    pub const AUTO_INCREMENT: u16 = 1 << 9;
    pub const TIMESTAMP: u16 = 1 << 10;
    pub const SET: u16 = 1 << 11;
    pub const NO_DEFAULT: u16 = 1 << 12;
    pub const ON_UPDATE_NOW: u16 = 1 << 13;
    pub const NUMERIC: u16 = 1 << 15;
}

/// A column as the wire describes it.
#[derive(Clone, Debug)]
pub struct ColumnDefinition<'a> {
    pub schema: Cow<'a, [u8]>,
    /// The name the statement gave the table.
    pub table: Cow<'a, [u8]>,
    pub org_table: Cow<'a, [u8]>,
    pub name: Cow<'a, [u8]>,
    pub org_name: Cow<'a, [u8]>,
    pub collation_id: u16,
    pub length: u32,
    pub type_code: u8,
    pub flags: u16,
    pub decimals: u8,
}

/// Appends the payload of a column definition; `with_default` adds the empty default of COM_FIELD_LIST.
pub fn put_column(out: &mut Vec<u8>, column: &ColumnDefinition<'_>, with_default: bool) {
    put_lenenc_bytes(out, b"def");
    let names = [&column.schema, &column.table, &column.org_table, &column.name, &column.org_name];
    for name in names {
        put_lenenc_bytes(out, name);
    }
    out.push(0x0c);
    out.extend_from_slice(&column.collation_id.to_le_bytes());
    out.extend_from_slice(&column.length.to_le_bytes());
    out.push(column.type_code);
    out.extend_from_slice(&column.flags.to_le_bytes());
    out.push(column.decimals);
    out.extend_from_slice(&[0, 0]);
    if with_default {
        out.push(NULL_TEXT);
    }
}

/// The wire's type code of a column type. All TEXTs and BLOBs are BLOB: clients tell them apart by collation and length.
pub fn type_code(column_type: &ColumnType) -> u8 {
    match column_type {
        ColumnType::Int { width: IntWidth::W1, .. } => code::TINY,
        ColumnType::Int { width: IntWidth::W2, .. } => code::SHORT,
        ColumnType::Int { width: IntWidth::W3, .. } => code::INT24,
        ColumnType::Int { width: IntWidth::W4, .. } => code::LONG,
        ColumnType::Int { width: IntWidth::W8, .. } => code::LONGLONG,
        ColumnType::Float => code::FLOAT,
        ColumnType::Double => code::DOUBLE,
        ColumnType::Decimal { .. } => code::NEWDECIMAL,
        ColumnType::Char { .. } | ColumnType::Binary { .. } => code::STRING,
        ColumnType::Varchar { .. } | ColumnType::Varbinary { .. } => code::VAR_STRING,
        ColumnType::Text { .. } | ColumnType::Blob { .. } => code::BLOB,
        ColumnType::Date => code::DATE,
        ColumnType::Time { .. } => code::TIME,
        ColumnType::DateTime { .. } => code::DATETIME,
        ColumnType::Timestamp { .. } => code::TIMESTAMP,
        // Clients tell labels from texts by flags.
        ColumnType::Labelled(_) => code::STRING,
        ColumnType::Year => code::YEAR,
        ColumnType::Bit { .. } => code::BIT,
        ColumnType::Json => code::JSON,
    }
}

/// How the values of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Int1,
    Int2,
    Int4,
    Int8,
    Float,
    Double,
    Decimal,
    String,
    /// Characters for a client that reads another character set than utf8mb4.
    Converted(Charset),
    /// Characters as they are in their own character set.
    Own,
    Date,
    Time {
        fsp: u8,
    },
    DateTime {
        fsp: u8,
    },
    /// Four digits.
    Year,
    /// So many bytes of an integer, the highest first.
    Bits(u8),
    /// Numbers whose text has zeros in front, up to a number of characters, or of digits behind the point.
    Displayed {
        plain: &'static Encoding,
        fill: u8,
        decimals: Option<u8>,
    },
}

impl Encoding {
    /// For a client that reads `results`.
    pub fn for_client(
        column_type: &ColumnType,
        display: NumberDisplay,
        results: Option<Collation>,
    ) -> Encoding {
        if display.has_text(column_type) {
            return Encoding::displayed(column_type, display);
        }
        match (Encoding::of(column_type), results.map(Collation::charset)) {
            (Encoding::String, None | Some(Charset::Binary)) => Encoding::Own,
            (Encoding::String, Some(charset)) if !charset.is_verbatim() => {
                Encoding::Converted(charset)
            }
            (encoding, _) => encoding,
        }
    }
    pub fn of(column_type: &ColumnType) -> Encoding {
        match *column_type {
            ColumnType::Int { width, .. } => match width {
                IntWidth::W1 => Encoding::Int1,
                IntWidth::W2 => Encoding::Int2,
                IntWidth::W3 | IntWidth::W4 => Encoding::Int4,
                IntWidth::W8 => Encoding::Int8,
            },
            ColumnType::Float => Encoding::Float,
            ColumnType::Double => Encoding::Double,
            ColumnType::Decimal { .. } => Encoding::Decimal,
            ColumnType::Char { .. }
            | ColumnType::Varchar { .. }
            | ColumnType::Text { .. }
            | ColumnType::Binary { .. }
            | ColumnType::Varbinary { .. }
            | ColumnType::Blob { .. }
            | ColumnType::Json
            | ColumnType::Labelled(_) => Encoding::String,
            ColumnType::Year => Encoding::Year,
            ColumnType::Bit { length } => Encoding::Bits(bit_bytes(length) as u8),
            ColumnType::Date => Encoding::Date,
            ColumnType::Time { fsp } => Encoding::Time { fsp },
            ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => {
                Encoding::DateTime { fsp }
            }
        }
    }
    fn displayed(column_type: &ColumnType, display: NumberDisplay) -> Encoding {
        let plain = match Encoding::of(column_type) {
            Encoding::Int1 => &Encoding::Int1,
            Encoding::Int2 => &Encoding::Int2,
            Encoding::Int4 => &Encoding::Int4,
            Encoding::Int8 => &Encoding::Int8,
            Encoding::Float => &Encoding::Float,
            Encoding::Double => &Encoding::Double,
            Encoding::Decimal => &Encoding::Decimal,
            other => return other,
        };
        Encoding::Displayed { plain, fill: display.fill(column_type), decimals: display.decimals }
    }
    /// Digits of fractional seconds a temporal value is printed with; None prints as many as it has.
    fn fsp(self) -> Option<u8> {
        match self {
            Encoding::Time { fsp } | Encoding::DateTime { fsp } => Some(fsp),
            Encoding::Int1
            | Encoding::Int2
            | Encoding::Int4
            | Encoding::Int8
            | Encoding::Float
            | Encoding::Double
            | Encoding::Decimal
            | Encoding::String
            | Encoding::Converted(_)
            | Encoding::Year
            | Encoding::Bits(_)
            | Encoding::Own
            | Encoding::Displayed { .. }
            | Encoding::Date => None,
        }
    }
}

const NULL_TEXT: u8 = 0xfb;

/// Appends the payload of a row of the text protocol. `scratch` is any string; it is kept by the caller so that floating
/// point numbers do not allocate.
pub fn put_text_row(
    out: &mut Vec<u8>,
    values: &[ValueRef<'_>],
    encodings: &[Encoding],
    scratch: &mut String,
) {
    assert_eq!(values.len(), encodings.len());
    for (value, encoding) in values.iter().zip(encodings) {
        put_text_value(out, *value, *encoding, scratch);
    }
}

fn put_text_value(
    out: &mut Vec<u8>,
    value: ValueRef<'_>,
    encoding: Encoding,
    scratch: &mut String,
) {
    let is_finite = match value {
        ValueRef::Float(value) => value.is_finite(),
        ValueRef::Double(value) => value.is_finite(),
        _ => true,
    };
    if let Encoding::Displayed { fill, decimals, .. } = encoding
        && is_finite
        && let Some(text) = number_text(value, fill, decimals)
    {
        return put_lenenc_bytes(out, text.as_bytes());
    }
    match value {
        ValueRef::Null => out.push(NULL_TEXT),
        // SQL has no infinity and no NaN; MySQL shows NULL where one slipped through.
        ValueRef::Float(value) if !value.is_finite() => out.push(NULL_TEXT),
        ValueRef::Double(value) if !value.is_finite() => out.push(NULL_TEXT),
        ValueRef::Int(value) => put_int_text(out, value < 0, value.unsigned_abs()),
        ValueRef::UInt(value) => match encoding {
            Encoding::Year => put_short(out, |out| {
                write!(Text(out), "{value:04}").expect("writing to memory does not fail");
            }),
            Encoding::Bits(count) => put_bits(out, value, count),
            _ => put_int_text(out, false, value),
        },
        ValueRef::Label(number, labels) => {
            let text = labels.text(number);
            match encoding {
                Encoding::Converted(charset) => put_lenenc_bytes(out, &charset.encode(&text)),
                _ => put_lenenc_bytes(out, text.as_bytes()),
            }
        }
        ValueRef::Float(value) => {
            scratch.clear();
            format_float(value, scratch);
            put_lenenc_bytes(out, scratch.as_bytes());
        }
        ValueRef::Double(value) => {
            scratch.clear();
            format_double(value, scratch);
            put_lenenc_bytes(out, scratch.as_bytes());
        }
        ValueRef::Decimal(value) => put_decimal_text(out, value),
        ValueRef::Text(text, collation) => match encoding {
            Encoding::Converted(charset) => put_lenenc_bytes(out, &charset.encode(text)),
            Encoding::Own => put_lenenc_bytes(out, &collation.charset().encode(text)),
            _ => put_lenenc_bytes(out, text.as_bytes()),
        },
        ValueRef::Bytes(bytes) => put_lenenc_bytes(out, bytes),
        ValueRef::Json(_) => {
            let text = to_text(value);
            put_text_value(out, ValueRef::Text(&text, Collation::Utf8mb4Bin), encoding, scratch);
        }
        ValueRef::Date(date) => put_short(out, |out| put_date_text(out, date)),
        ValueRef::Time(time) => {
            let fsp = encoding.fsp().unwrap_or(fsp_needed(time.microsecond()));
            put_short(out, |out| put_time_text(out, time, fsp));
        }
        ValueRef::DateTime(value) if encoding == Encoding::Date => {
            put_short(out, |out| put_date_text(out, value.date()));
        }
        ValueRef::DateTime(value) => {
            let microsecond = value.microsecond();
            let fsp = encoding.fsp().unwrap_or(fsp_needed(microsecond));
            put_short(out, |out| {
                put_date_text(out, value.date());
                out.push(b' ');
                put_two(out, value.hour());
                out.push(b':');
                put_two(out, value.minute());
                out.push(b':');
                put_two(out, value.second());
                put_fraction(out, microsecond, fsp);
            });
        }
    }
}

/// Appends the lowest `count` bytes of a number behind their length, the highest first.
fn put_bits(out: &mut Vec<u8>, bits: u64, count: u8) {
    let bytes = bits.to_be_bytes();
    put_lenenc_bytes(out, &bytes[bytes.len() - usize::from(count)..]);
}

/// Appends what `write` writes behind its length; it must stay below 251 bytes.
fn put_short(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(0);
    write(out);
    let length = out.len() - start - 1;
    assert!(length <= 250);
    out[start] = length as u8;
}

fn put_int_text(out: &mut Vec<u8>, negative: bool, magnitude: u64) {
    // 20 digits and a sign.
    let mut text = [0u8; 21];
    let mut start = text.len();
    let mut rest = magnitude;
    loop {
        start -= 1;
        text[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if negative {
        start -= 1;
        text[start] = b'-';
    }
    let text = &text[start..];
    out.push(text.len() as u8);
    out.extend_from_slice(text);
}

/// Lets `Display` write into bytes.
struct Text<'a>(&'a mut Vec<u8>);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

fn put_decimal_text(out: &mut Vec<u8>, value: Decimal) {
    put_short(out, |out| write!(Text(out), "{value}").expect("writing to memory does not fail"));
}

fn put_two(out: &mut Vec<u8>, value: u32) {
    out.push(b'0' + (value / 10 % 10) as u8);
    out.push(b'0' + (value % 10) as u8);
}

fn put_date_text(out: &mut Vec<u8>, date: Date) {
    let year = u32::from(date.year());
    put_two(out, year / 100);
    put_two(out, year % 100);
    out.push(b'-');
    put_two(out, u32::from(date.month()));
    out.push(b'-');
    put_two(out, u32::from(date.day()));
}

fn put_time_text(out: &mut Vec<u8>, time: Time, fsp: u8) {
    if time.is_negative() {
        out.push(b'-');
    }
    let hour = time.hour();
    if hour >= 100 {
        out.push(b'0' + (hour / 100) as u8);
    }
    put_two(out, hour % 100);
    out.push(b':');
    put_two(out, time.minute());
    out.push(b':');
    put_two(out, time.second());
    put_fraction(out, time.microsecond(), fsp);
}

fn put_fraction(out: &mut Vec<u8>, microsecond: u32, fsp: u8) {
    if fsp == 0 {
        return;
    }
    out.push(b'.');
    let mut unit = 100_000;
    for _ in 0..fsp.min(6) {
        out.push(b'0' + (microsecond / unit % 10) as u8);
        unit /= 10;
    }
}

fn fsp_needed(microsecond: u32) -> u8 {
    if microsecond == 0 { 0 } else { 6 }
}

/// Appends the payload of a row of the binary protocol.
pub fn put_binary_row(
    out: &mut Vec<u8>,
    values: &[ValueRef<'_>],
    encodings: &[Encoding],
    scratch: &mut String,
) {
    assert_eq!(values.len(), encodings.len());
    out.push(0);
    // The bitmap's first two bits are reserved.
    let nulls = out.len();
    out.resize(nulls + (values.len() + 2).div_ceil(8), 0);
    for (index, (value, encoding)) in values.iter().zip(encodings).enumerate() {
        if value.is_null() {
            out[nulls + (index + 2) / 8] |= 1 << ((index + 2) % 8);
        } else {
            put_binary_value(out, *value, *encoding, scratch);
        }
    }
}

fn put_binary_value(
    out: &mut Vec<u8>,
    value: ValueRef<'_>,
    encoding: Encoding,
    scratch: &mut String,
) {
    match encoding {
        Encoding::Int1 => out.push(integer_bits(value) as u8),
        Encoding::Bits(count) => put_bits(out, integer_bits(value), count),
        Encoding::Int2 | Encoding::Year => {
            out.extend_from_slice(&(integer_bits(value) as u16).to_le_bytes())
        }
        Encoding::Int4 => out.extend_from_slice(&(integer_bits(value) as u32).to_le_bytes()),
        Encoding::Int8 => out.extend_from_slice(&integer_bits(value).to_le_bytes()),
        Encoding::Float => out.extend_from_slice(&(number(value) as f32).to_le_bytes()),
        Encoding::Double => out.extend_from_slice(&number(value).to_le_bytes()),
        Encoding::Decimal | Encoding::String | Encoding::Converted(_) | Encoding::Own => {
            put_text_value(out, value, encoding, scratch)
        }
        Encoding::Displayed { plain: Encoding::Decimal, .. } => {
            put_text_value(out, value, encoding, scratch)
        }
        Encoding::Displayed { plain, .. } => put_binary_value(out, value, *plain, scratch),
        Encoding::Date => put_binary_datetime(out, date_of(value).at_midnight()),
        Encoding::DateTime { .. } => put_binary_datetime(out, datetime_of(value)),
        Encoding::Time { .. } => put_binary_time(out, time_of(value)),
    }
}

/// The 64 bits of an integer, signed or not: the client knows from the column which.
fn integer_bits(value: ValueRef<'_>) -> u64 {
    let of_double = |value: f64| {
        let rounded = value.round();
        if rounded < 0.0 { rounded as i64 as u64 } else { rounded as u64 }
    };
    match value {
        ValueRef::Int(value) => value as u64,
        ValueRef::UInt(value) | ValueRef::Label(value, _) => value,
        ValueRef::Float(value) => of_double(f64::from(value)),
        ValueRef::Double(value) => of_double(value),
        ValueRef::Decimal(value) => match (value.to_u64_round(), value.to_i64_round()) {
            (Some(value), _) => value,
            (None, Some(value)) => value as u64,
            (None, None) => 0,
        },
        ValueRef::Text(text, _) => integer_bits(ValueRef::Decimal(decimal_of(text.as_bytes()))),
        ValueRef::Bytes(bytes) => integer_bits(ValueRef::Decimal(decimal_of(bytes))),
        ValueRef::Date(value) => value.to_number() as u64,
        ValueRef::Time(value) => value.to_number() as u64,
        ValueRef::DateTime(value) => value.to_number() as u64,
        ValueRef::Json(_) => integer_bits(ValueRef::Double(number(value))),
        ValueRef::Null => 0,
    }
}

fn decimal_of(text: &[u8]) -> Decimal {
    Decimal::parse_prefix(text).0
}

fn number(value: ValueRef<'_>) -> f64 {
    match value {
        ValueRef::Int(value) => value as f64,
        ValueRef::UInt(value) | ValueRef::Label(value, _) => value as f64,
        ValueRef::Float(value) => f64::from(value),
        ValueRef::Double(value) => value,
        ValueRef::Decimal(value) => value.to_f64(),
        ValueRef::Text(text, _) => text.trim().parse().unwrap_or(0.0),
        ValueRef::Bytes(bytes) => decimal_of(bytes).to_f64(),
        ValueRef::Date(value) => value.to_number() as f64,
        ValueRef::Time(value) => value.to_number() as f64,
        ValueRef::DateTime(value) => value.to_number() as f64,
        ValueRef::Json(_) => to_f64(value, &mut ConvertContext::default()),
        ValueRef::Null => 0.0,
    }
}

fn date_of(value: ValueRef<'_>) -> Date {
    match value {
        ValueRef::Date(date) => date,
        _ => datetime_of(value).date(),
    }
}

fn datetime_of(value: ValueRef<'_>) -> DateTime {
    match value {
        ValueRef::DateTime(value) => value,
        ValueRef::Date(date) => date.at_midnight(),
        ValueRef::Text(text, _) => {
            DateTime::parse(text).map_or(DateTime::ZERO, |parsed| parsed.value)
        }
        ValueRef::Int(number) => DateTime::from_number(number).unwrap_or(DateTime::ZERO),
        ValueRef::Null
        | ValueRef::UInt(_)
        | ValueRef::Float(_)
        | ValueRef::Double(_)
        | ValueRef::Decimal(_)
        | ValueRef::Bytes(_)
        | ValueRef::Label(..)
        | ValueRef::Json(_)
        | ValueRef::Time(_) => DateTime::ZERO,
    }
}

fn time_of(value: ValueRef<'_>) -> Time {
    match value {
        ValueRef::Time(time) => time,
        ValueRef::DateTime(value) => value.time(),
        ValueRef::Text(text, _) => Time::parse(text).map_or(Time::ZERO, |parsed| parsed.value),
        ValueRef::Int(number) => Time::from_number(number).unwrap_or(Time::ZERO),
        ValueRef::Null
        | ValueRef::UInt(_)
        | ValueRef::Float(_)
        | ValueRef::Double(_)
        | ValueRef::Decimal(_)
        | ValueRef::Bytes(_)
        | ValueRef::Label(..)
        | ValueRef::Json(_)
        | ValueRef::Date(_) => Time::ZERO,
    }
}

/// As short as it goes: 0, 4, 7 or 11 bytes behind the length.
fn put_binary_datetime(out: &mut Vec<u8>, value: DateTime) {
    let date = value.date();
    let microsecond = value.microsecond();
    let has_time = (value.hour(), value.minute(), value.second()) != (0, 0, 0);
    let length = match (microsecond != 0, has_time, !date.is_zero()) {
        (true, _, _) => 11,
        (false, true, _) => 7,
        (false, false, true) => 4,
        (false, false, false) => 0,
    };
    out.push(length);
    if length >= 4 {
        out.extend_from_slice(&date.year().to_le_bytes());
        out.extend_from_slice(&[date.month(), date.day()]);
    }
    if length >= 7 {
        out.extend_from_slice(&[value.hour() as u8, value.minute() as u8, value.second() as u8]);
    }
    if length >= 11 {
        out.extend_from_slice(&microsecond.to_le_bytes());
    }
}

/// As short as it goes: 0, 8 or 12 bytes behind the length. Hours above a day are sent as days.
fn put_binary_time(out: &mut Vec<u8>, time: Time) {
    if time.micros() == 0 {
        out.push(0);
        return;
    }
    let microsecond = time.microsecond();
    out.push(if microsecond == 0 { 8 } else { 12 });
    out.push(u8::from(time.is_negative()));
    out.extend_from_slice(&(time.hour() / 24).to_le_bytes());
    out.extend_from_slice(&[(time.hour() % 24) as u8, time.minute() as u8, time.second() as u8]);
    if microsecond != 0 {
        out.extend_from_slice(&microsecond.to_le_bytes());
    }
}
