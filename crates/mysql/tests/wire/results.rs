//! Rows as another implementation reads them, in both protocols.

use std::sync::Arc;

use mysql::capabilities as cap;
use mysql_common::constants::{CapabilityFlags, ColumnType, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{Column, CommonOkPacket, ErrPacket, OkPacketDeserializer};
use mysql_common::proto::{Binary, Text};
use mysql_common::row::{Row, RowDeserializer};
use mysql_common::value::{ServerSide, Value};

use crate::support::*;

fn columns_of(packets: &[Vec<u8>]) -> Arc<[Column]> {
    let count = usize::from(packets[0][0]);
    let parse = |payload: &Vec<u8>| ParseBuf(payload).parse::<Column>(()).unwrap();
    packets[1..=count].iter().map(parse).collect()
}

/// The values of a text row are the texts that MySQL prints, and the columns have the types that drivers decode by.
#[test]
fn text_rows_of_every_type() {
    let mut peer = Peer::logged_in(cap::DEPRECATE_EOF);
    peer.command(b"\x03types");
    let packets = peer.read_all();
    let columns = columns_of(&packets);
    let row = &packets[columns.len() + 1];
    let row: RowDeserializer<ServerSide, Text> = ParseBuf(row).parse(columns.clone()).unwrap();
    let values = Row::from(row).unwrap();
    for ((_, _, expected), value) in all_types().iter().zip(&values) {
        let text = match value {
            Value::NULL => "NULL".to_string(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("a text row holds {other:?}"),
        };
        assert_eq!(&text, expected);
    }
    use ColumnType as T;
    let types: Vec<ColumnType> = columns.iter().map(Column::column_type).collect();
    #[rustfmt::skip]
    assert_eq!(types, [
        T::MYSQL_TYPE_TINY, T::MYSQL_TYPE_TINY, T::MYSQL_TYPE_SHORT, T::MYSQL_TYPE_SHORT,
        T::MYSQL_TYPE_INT24, T::MYSQL_TYPE_INT24, T::MYSQL_TYPE_LONG, T::MYSQL_TYPE_LONG,
        T::MYSQL_TYPE_LONGLONG, T::MYSQL_TYPE_LONGLONG, T::MYSQL_TYPE_FLOAT, T::MYSQL_TYPE_DOUBLE,
        T::MYSQL_TYPE_NEWDECIMAL, T::MYSQL_TYPE_STRING, T::MYSQL_TYPE_VAR_STRING, T::MYSQL_TYPE_BLOB,
        T::MYSQL_TYPE_STRING, T::MYSQL_TYPE_VAR_STRING, T::MYSQL_TYPE_BLOB, T::MYSQL_TYPE_DATE,
        T::MYSQL_TYPE_DATE, T::MYSQL_TYPE_TIME, T::MYSQL_TYPE_TIME, T::MYSQL_TYPE_TIME,
        T::MYSQL_TYPE_DATETIME, T::MYSQL_TYPE_DATETIME, T::MYSQL_TYPE_DATETIME,
        T::MYSQL_TYPE_TIMESTAMP, T::MYSQL_TYPE_LONGLONG,
    ]);
    let charsets: Vec<u16> = columns.iter().map(Column::character_set).collect();
    for (column, charset) in columns.iter().zip(charsets) {
        let is_text = [13, 14, 15].iter().any(|&index| std::ptr::eq(column, &columns[index]));
        assert_eq!(charset == 63, !is_text);
    }
    assert_eq!(columns[0].schema_str(), "shop");
    assert_eq!(columns[0].table_str(), "o");
    assert_eq!(columns[0].org_table_str(), "orders");
    assert_eq!(columns[0].name_str(), "c");
    assert_eq!(columns[0].org_name_str(), "C");
    assert_eq!(columns[12].decimals(), 3);
}

/// The binary rows of the codec decode to the same values.
#[test]
fn binary_rows_of_every_type() {
    use mysql::resultset::{Encoding, put_binary_row};
    let mut peer = Peer::logged_in(cap::DEPRECATE_EOF);
    peer.command(b"\x03types");
    let columns = columns_of(&peer.read_all());
    let all = all_types();
    let encodings: Vec<_> = all.iter().map(|(t, _, _)| Encoding::of(t)).collect();
    let values: Vec<_> = all.iter().map(|(_, value, _)| value.as_ref()).collect();
    let mut payload = Vec::new();
    put_binary_row(&mut payload, &values, &encodings, &mut String::new());
    let mut buffer = ParseBuf(&payload);
    let row: RowDeserializer<ServerSide, Binary> = buffer.parse(columns).unwrap();
    assert!(buffer.is_empty(), "everything is read");
    let shown: Vec<String> =
        Row::from(row).unwrap().iter().map(|value| value.as_sql(true)).collect();
    let expected = [
        "-128",
        "255",
        "-32768",
        "65535",
        "-8388608",
        "16777215",
        "-2147483648",
        "4294967295",
        "-9223372036854775808",
        "18446744073709551615",
        "1.5",
        "-0.25",
        "'-12.340'",
        "'å'",
        "'vår'",
        "''",
        "0x00FF",
        "'ab'",
        "''",
        "'2024-02-29'",
        "'0000-00-00'",
        "'-838:59:59'",
        "'001:02:03.450000'",
        "'000:00:00'",
        "'2024-02-29 13:05:09'",
        "'2024-02-29 13:05:09.000007'",
        "'2024-02-29'",
        "'0000-00-00'",
        "NULL",
    ];
    assert_eq!(shown, expected);
}

/// OK and ERR as another implementation reads them.
#[test]
fn ok_and_error() {
    let capabilities = CapabilityFlags::CLIENT_PROTOCOL_41;
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x03UPDATE");
    let payload = peer.read_payload();
    let ok: OkPacketDeserializer<'_, CommonOkPacket> =
        ParseBuf(&payload).parse(capabilities).unwrap();
    let ok = ok.into_inner();
    assert_eq!((ok.affected_rows(), ok.last_insert_id(), ok.warnings()), (300, Some(70_000), 3));
    assert_eq!(ok.info_str().as_deref(), Some("Rows matched: 1"));
    let expected = StatusFlags::SERVER_STATUS_IN_TRANS | StatusFlags::SERVER_STATUS_AUTOCOMMIT;
    assert_eq!(ok.status_flags(), expected);
    peer.command(b"\x03fail");
    let payload = peer.read_payload();
    let error: ErrPacket<'_> = ParseBuf(&payload).parse(capabilities).unwrap();
    let error = error.server_error();
    assert_eq!(error.error_code(), 1064);
    assert_eq!(error.sql_state_ref().unwrap().as_str(), "42000");
    assert_eq!(error.message_str(), "You have an error in your SQL syntax");
}

/// From the OK on that says so, everything a client gets is in its character set: names, their collation and length, values
/// and messages. What the set does not have is a question mark.
#[test]
fn results_in_latin1() {
    let mut peer = Peer::logged_in(cap::DEPRECATE_EOF);
    peer.command(b"\x03latin1");
    let packets = peer.read_all();
    let columns = columns_of(&packets[1..]);
    assert_eq!(columns[0].name_ref(), b"\xe9");
    assert_eq!((columns[0].character_set(), columns[0].column_length()), (8, 10));
    assert_eq!(columns[1].character_set(), 63);
    assert_eq!(packets[4], b"\x03\xe5\x80?\x011");
    assert!(packets[5].ends_with(b"near '\xe9?'"), "{:?}", packets[5]);
}

/// A value of another kind than its column is sent as what the column promised; latin1 columns as latin1.
#[test]
fn values_of_other_kinds() {
    use mysql::resultset::{Encoding, put_binary_row, put_text_row};
    use types::{Collation, Decimal, ValueRef};
    let binary = |value, encoding| {
        let mut out = Vec::new();
        put_binary_row(&mut out, &[value], &[encoding], &mut String::new());
        out[2..].to_vec()
    };
    let number = Decimal::parse("-2.5").unwrap();
    assert_eq!(binary(ValueRef::Int(3), Encoding::Double), 3f64.to_le_bytes());
    assert_eq!(binary(ValueRef::Decimal(number), Encoding::Int8), (-3i64).to_le_bytes());
    assert_eq!(binary(ValueRef::Double(2.6), Encoding::Int4), 3i32.to_le_bytes());
    assert_eq!(binary(ValueRef::Int(12), Encoding::Decimal), b"\x0212");
    assert_eq!(binary(ValueRef::UInt(12), Encoding::String), b"\x0212");
    let text = |text| ValueRef::Text(text, Collation::default());
    assert_eq!(binary(text("17"), Encoding::Int2), 17i16.to_le_bytes());
    assert_eq!(binary(text("2024-02-29"), Encoding::Date), [4, 0xe8, 7, 2, 29]);
    let mut out = Vec::new();
    let infinite = [ValueRef::Double(f64::INFINITY), ValueRef::Float(f32::NAN)];
    put_text_row(&mut out, &infinite, &[Encoding::Double, Encoding::Float], &mut String::new());
    assert_eq!(out, [0xfb, 0xfb]);
    out.clear();
    let words = text("å€✓");
    put_text_row(
        &mut out,
        &[words, words],
        &[Encoding::Converted(types::Charset::Latin1), Encoding::String],
        &mut String::new(),
    );
    assert_eq!(out, [&b"\x03\xe5\x80?\x08"[..], "å€✓".as_bytes()].concat());
    // To a client that wants nothing converted a text has the bytes that it has in its own
    // character set.
    out.clear();
    let latin1 = ValueRef::Text("å€", Collation::Latin1SwedishCi);
    let column = types::ColumnType::Varchar { length: 2, collation: Collation::Latin1SwedishCi };
    for results in [None, Some(Collation::Binary), Some(Collation::DEFAULT)] {
        let encoding = Encoding::for_client(&column, types::NumberDisplay::default(), results);
        put_text_row(&mut out, &[latin1], &[encoding], &mut String::new());
    }
    assert_eq!(out, [&b"\x02\xe5\x80\x02\xe5\x80\x05"[..], "å€".as_bytes()].concat());
}

/// ZEROFILL and FLOAT(M,D): texts have the zeros, binary numbers are numbers, and a DECIMAL is a text in both protocols.
#[test]
fn numbers_with_a_display() {
    use mysql::resultset::{Encoding, put_binary_row, put_text_row};
    use types::{ColumnType, Decimal, IntWidth, NumberDisplay, ValueRef};
    let int = ColumnType::Int { width: IntWidth::W4, unsigned: true };
    let decimal = ColumnType::Decimal { precision: 6, scale: 2, unsigned: true };
    let price = ValueRef::Decimal(Decimal::parse("1.5").unwrap().rescale(2).unwrap());
    let filled = NumberDisplay { width: Some(5), is_zerofill: true, ..NumberDisplay::default() };
    let fixed = NumberDisplay::of_decimals(Some(2));
    for (column_type, display, value, text, binary) in [
        (&int, filled, ValueRef::UInt(7), &b"\x0500007"[..], &b"\x07\0\0\0"[..]),
        (&decimal, filled, price, b"\x070001.50", b"\x070001.50"),
        (&ColumnType::Float, fixed, ValueRef::Float(1.5), b"\x041.50", b"\0\0\xc0\x3f"),
        (&int, filled, ValueRef::Null, b"\xfb", b""),
        (&ColumnType::Double, fixed, ValueRef::Double(f64::NAN), b"\xfb", b"\0\0\0\0\0\0\xf8\x7f"),
    ] {
        let encoding = Encoding::for_client(column_type, display, None);
        let mut out = Vec::new();
        put_text_row(&mut out, &[value], &[encoding], &mut String::new());
        assert_eq!(out, text);
        out.clear();
        put_binary_row(&mut out, &[value], &[encoding], &mut String::new());
        assert_eq!(&out[2..], binary);
    }
}
