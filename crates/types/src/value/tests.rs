use super::*;

fn labelled(kind: LabelKind) -> ColumnType {
    let labels = vec!["a".to_owned(), "bc".to_owned()];
    ColumnType::Labelled(Labels::new(kind, labels, Collation::DEFAULT).expect("two").into())
}

fn int(width: IntWidth, unsigned: bool) -> ColumnType {
    ColumnType::Int { width, unsigned }
}
fn every_type() -> Vec<ColumnType> {
    let collation = Collation::DEFAULT;
    let mut types = vec![
        ColumnType::Float,
        ColumnType::Double,
        ColumnType::Decimal { precision: 10, scale: 2, unsigned: false },
        ColumnType::Decimal { precision: 65, scale: 30, unsigned: true },
        ColumnType::Char { length: 10, collation },
        ColumnType::Varchar { length: 20, collation },
        ColumnType::Text { bytes_max: 65_535, collation },
        ColumnType::Binary { length: 16 },
        ColumnType::Varbinary { length: 16 },
        ColumnType::Blob { bytes_max: 255 },
        ColumnType::Date,
        ColumnType::Time { fsp: 3 },
        ColumnType::DateTime { fsp: 6 },
        ColumnType::Timestamp { fsp: 0 },
        labelled(LabelKind::Enum),
        labelled(LabelKind::Set),
        ColumnType::Year,
        ColumnType::Bit { length: 10 },
        ColumnType::Json,
    ];
    for width in [IntWidth::W1, IntWidth::W2, IntWidth::W3, IntWidth::W4, IntWidth::W8] {
        types.extend([int(width, false), int(width, true)]);
    }
    types
}

#[test]
fn integer_ranges() {
    for (width, signed, unsigned) in [
        (IntWidth::W1, (-128, 127), 255),
        (IntWidth::W2, (-32_768, 32_767), 65_535),
        (IntWidth::W3, (-8_388_608, 8_388_607), 16_777_215),
        (IntWidth::W4, (-2_147_483_648, 2_147_483_647), 4_294_967_295),
        (IntWidth::W8, (i128::from(i64::MIN), i128::from(i64::MAX)), i128::from(u64::MAX)),
    ] {
        assert_eq!(int_range(width, false), signed);
        assert_eq!(int_range(width, true), (0, unsigned));
    }
}

/// Names as SHOW prints them, with the most characters a value takes on the wire.
#[test]
fn names_and_lengths() {
    let collation = Collation::DEFAULT;
    let table = [
        (int(IntWidth::W8, true), "bigint unsigned", 20),
        (int(IntWidth::W4, false), "int", 11),
        (int(IntWidth::W3, true), "mediumint unsigned", 8),
        (int(IntWidth::W1, false), "tinyint", 4),
        (ColumnType::Double, "double", 22),
        (ColumnType::Decimal { precision: 10, scale: 2, unsigned: false }, "decimal(10,2)", 12),
        (
            ColumnType::Decimal { precision: 5, scale: 0, unsigned: true },
            "decimal(5,0) unsigned",
            5,
        ),
        (ColumnType::Char { length: 3, collation }, "char(3)", 12),
        (ColumnType::Varchar { length: 20, collation }, "varchar(20)", 80),
        (ColumnType::Varchar { length: 20, collation: Collation::Utf8mb3Bin }, "varchar(20)", 60),
        (ColumnType::Char { length: 20, collation: Collation::Latin1Bin }, "char(20)", 20),
        (ColumnType::Text { bytes_max: 255, collation }, "tinytext", 255),
        (ColumnType::Text { bytes_max: 65_535, collation }, "text", 65_535),
        (ColumnType::Text { bytes_max: 16_777_215, collation }, "mediumtext", 16_777_215),
        (ColumnType::Blob { bytes_max: u32::MAX }, "longblob", u32::MAX),
        (ColumnType::Varbinary { length: 7 }, "varbinary(7)", 7),
        (ColumnType::Date, "date", 10),
        (ColumnType::Time { fsp: 0 }, "time", 10),
        (ColumnType::DateTime { fsp: 6 }, "datetime(6)", 26),
        (ColumnType::Timestamp { fsp: 0 }, "timestamp", 19),
        (labelled(LabelKind::Enum), "enum('a','bc')", 8),
        (labelled(LabelKind::Set), "set('a','bc')", 16),
        (ColumnType::Year, "year", 4),
        (ColumnType::Bit { length: 10 }, "bit(10)", 10),
        (ColumnType::Json, "json", u32::MAX),
    ];
    for (column_type, name, length) in table {
        assert_eq!(column_type.sql_name(), name);
        assert_eq!(column_type.display_length(), length, "{name}");
    }
}

/// Types come back from their bytes, their implicit default is theirs, and types that cannot be are refused.
#[test]
fn types_on_the_wire() {
    for column_type in every_type() {
        assert_eq!(ColumnType::from_bytes(&column_type.to_bytes()), Ok(column_type.clone()));
        assert!(column_type.accepts(column_type.implicit_default()), "{column_type:?}");
        assert!(column_type.accepts(ValueRef::Null));
        let classes = [
            column_type.is_string(),
            column_type.is_binary(),
            column_type.is_numeric(),
            column_type.is_temporal(),
            column_type == ColumnType::Json,
        ];
        assert_eq!(classes.iter().filter(|&&class| class).count(), 1, "{column_type:?}");
    }
    for column_type in [
        ColumnType::Decimal { precision: 66, scale: 0, unsigned: false },
        ColumnType::Decimal { precision: 0, scale: 0, unsigned: false },
        ColumnType::Decimal { precision: 5, scale: 6, unsigned: false },
        ColumnType::Time { fsp: 7 },
        ColumnType::Binary { length: 256 },
        ColumnType::Bit { length: 0 },
        ColumnType::Bit { length: 65 },
    ] {
        let bytes = column_type.to_bytes();
        assert_eq!(ColumnType::from_bytes(&bytes), Err(WireError::Invalid("column type")));
    }
}

#[test]
fn accepts_only_its_own() {
    let collation = Collation::DEFAULT;
    let varchar = ColumnType::Varchar { length: 3, collation };
    let char3 = ColumnType::Char { length: 3, collation };
    assert!(varchar.accepts(ValueRef::Text("中国人", collation)));
    assert!(!varchar.accepts(ValueRef::Text("abc ", collation)));
    assert!(char3.accepts(ValueRef::Text("abc ", collation)));
    assert!(!char3.accepts(ValueRef::Text("abcd", collation)));
    assert!(!varchar.accepts(ValueRef::Bytes(b"a")));
    let collation = Collation::Latin1Bin;
    let latin1 = ColumnType::Text { bytes_max: 2, collation };
    assert!(latin1.accepts(ValueRef::Text("é€", collation)));
    assert!(!latin1.accepts(ValueRef::Text("abc", collation)));
    assert!(!int(IntWidth::W1, false).accepts(ValueRef::Int(128)));
    assert!(!int(IntWidth::W1, true).accepts(ValueRef::Int(1)));
    assert!(!ColumnType::Double.accepts(ValueRef::Double(f64::NAN)));
    let unsigned = ColumnType::Decimal { precision: 3, scale: 1, unsigned: true };
    assert!(!unsigned.accepts(ValueRef::Decimal(Decimal::from_i64(-1))));
    assert!(!unsigned.accepts(ValueRef::Decimal(Decimal::from_i64(100))));
}

#[test]
fn values_on_the_wire() {
    let values = [
        Value::Null,
        Value::Int(-5),
        Value::UInt(u64::MAX),
        Value::Float(1.5),
        Value::Double(-0.25),
        Value::Decimal(Decimal::parse("-12.50").unwrap()),
        Value::text("é", Collation::Utf8mb4Bin),
        Value::bytes(b"\0\xff"),
        Value::Date(Date::parse("2024-01-02").unwrap()),
        Value::Time(Time::MIN),
        Value::DateTime(DateTime::parse("2024-01-02 03:04:05.6").unwrap().value),
    ];
    for value in values {
        let bytes = value.to_bytes();
        assert_eq!(Value::from_bytes(&bytes), Ok(value.clone()));
        assert_eq!(value.as_ref().to_value(), value);
        for cut in 0..bytes.len() {
            assert!(Value::from_bytes(&bytes[..cut]).is_err());
        }
    }
    let mut not_utf8 = Value::text("a", Collation::Binary).to_bytes();
    *not_utf8.last_mut().unwrap() = 0xff;
    assert!(Value::from_bytes(&not_utf8).is_err());
}

#[test]
fn mixed_integers_compare() {
    assert_eq!(ValueRef::Int(-1).compare_same_kind(&ValueRef::UInt(0)), Ordering::Less);
    assert_eq!(ValueRef::UInt(u64::MAX).compare_same_kind(&ValueRef::Int(-1)), Ordering::Greater);
    assert_eq!(ValueRef::Int(7).compare_same_kind(&ValueRef::UInt(7)), Ordering::Equal);
    assert_eq!(ValueRef::Double(-0.0).compare_same_kind(&ValueRef::Double(0.0)), Ordering::Equal);
}

/// Values are moved and copied all the time: they stay small.
#[test]
fn sizes() {
    assert!(size_of::<Decimal>() == 32);
    assert!(size_of::<ValueRef<'_>>() <= 40);
    assert!(size_of::<Value>() <= 40);
}
