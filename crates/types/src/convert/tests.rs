//! Storing into columns, and the orders of values, against tables.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::{Collation, ColumnType, Date, DateTime, Decimal, IntWidth, Time, Value, ValueRef};

fn integer(width: IntWidth, unsigned: bool) -> ColumnType {
    ColumnType::Int { width, unsigned }
}

fn decimal(precision: u8, scale: u8) -> ColumnType {
    ColumnType::Decimal { precision, scale, unsigned: false }
}

fn text(value: &str) -> Value {
    Value::text(value, Collation::DEFAULT)
}

fn number(value: &str) -> Value {
    Value::Decimal(Decimal::parse(value).expect("a decimal"))
}

fn shown(value: &Value) -> String {
    if value.is_null() { "NULL".into() } else { to_text(value.as_ref()).into_owned() }
}

/// "value", "value [code note]" or "ERROR code message".
fn stored(value: &Value, column_type: &ColumnType, mode: StoreMode) -> String {
    let cx = &mut ConvertContext::default();
    match store(value.as_ref(), column_type, mode, cx) {
        Err(error) => format!("ERROR {} {}", error.code(), error.message("c", 1)),
        Ok((value, problem)) => {
            assert!(column_type.accepts(value.as_ref()), "{value:?} in {column_type:?}");
            let mut out = shown(&value);
            if let Some(problem) = problem {
                let level = if problem.level == WarningLevel::Note { " note" } else { "" };
                out.push_str(&format!(" [{}{level}]", problem.code()));
                assert_eq!(problem.to_warning("c", 1).level, problem.level);
            }
            out
        }
    }
}

/// One value into one column, strictly and leniently.
#[test]
fn stores() {
    let tiny = integer(IntWidth::W1, false);
    let unsigned_tiny = integer(IntWidth::W1, true);
    let int = integer(IntWidth::W4, false);
    let big = integer(IntWidth::W8, false);
    let unsigned_big = integer(IntWidth::W8, true);
    let char3 = ColumnType::Char { length: 3, collation: Collation::DEFAULT };
    let varchar3 = ColumnType::Varchar { length: 3, collation: Collation::DEFAULT };
    let tinytext = ColumnType::Text { bytes_max: 5, collation: Collation::DEFAULT };
    let binary3 = ColumnType::Binary { length: 3 };
    let varbinary3 = ColumnType::Varbinary { length: 3 };
    let decimal4 = decimal(4, 2);
    let unsigned_decimal = ColumnType::Decimal { precision: 4, scale: 2, unsigned: true };
    let datetime = ColumnType::DateTime { fsp: 0 };
    let datetime3 = ColumnType::DateTime { fsp: 3 };
    let timestamp = ColumnType::Timestamp { fsp: 0 };
    let time = ColumnType::Time { fsp: 0 };
    let out_of_range = "ERROR 1264 Out of range value for column 'c' at row 1";
    let truncated = "ERROR 1265 Data truncated for column 'c' at row 1";
    let too_long = "ERROR 1406 Data too long for column 'c' at row 1";
    let incorrect = |kind: &str, value: &str| {
        let code = if matches!(kind, "date" | "time" | "datetime") { 1292 } else { 1366 };
        format!("ERROR {code} Incorrect {kind} value: '{value}' for column 'c' at row 1")
    };
    let leap = Value::Date(Date::new(2024, 2, 29).expect("real"));
    let moment = DateTime::parse("2024-02-29 12:34:56.7").expect("real").value;
    let table: Vec<(Value, &ColumnType, String, &str)> = vec![
        (Value::Null, &int, "NULL".into(), "NULL"),
        (Value::Int(127), &tiny, "127".into(), "127"),
        (Value::Int(128), &tiny, out_of_range.into(), "127 [1264]"),
        (Value::Int(-129), &tiny, out_of_range.into(), "-128 [1264]"),
        (Value::Int(-1), &unsigned_tiny, out_of_range.into(), "0 [1264]"),
        (Value::UInt(255), &unsigned_tiny, "255".into(), "255"),
        (Value::UInt(u64::MAX), &big, out_of_range.into(), "9223372036854775807 [1264]"),
        (Value::UInt(u64::MAX), &unsigned_big, u64::MAX.to_string(), "18446744073709551615"),
        (Value::Double(1.5), &int, "2".into(), "2"),
        (Value::Double(2.5), &int, "2".into(), "2"),
        (Value::Double(-1e30), &big, out_of_range.into(), "-9223372036854775808 [1264]"),
        (Value::Double(9.3e18), &big, out_of_range.into(), "9223372036854775807 [1264]"),
        (number("2.5"), &int, "3".into(), "3"),
        (number("-2.5"), &int, "-3".into(), "-3"),
        (text("12"), &int, "12".into(), "12"),
        (text(" 12 "), &int, "12".into(), "12"),
        (text("1.6"), &int, "2".into(), "2"),
        (text("1e2"), &int, "100".into(), "100"),
        (text("abc"), &int, incorrect("integer", "abc"), "0 [1366]"),
        (text(""), &int, incorrect("integer", ""), "0 [1366]"),
        (text("12abc"), &int, truncated.into(), "12 [1265]"),
        (text("99999999999"), &int, out_of_range.into(), "2147483647 [1264]"),
        (leap.clone(), &int, "20240229".into(), "20240229"),
        (text("1.5"), &ColumnType::Double, "1.5".into(), "1.5"),
        (text("abc"), &ColumnType::Double, truncated.into(), "0 [1265]"),
        (text("1.5x"), &ColumnType::Double, truncated.into(), "1.5 [1265]"),
        (Value::Double(1e39), &ColumnType::Float, out_of_range.into(), "3.40282e38 [1264]"),
        (Value::Double(0.1), &ColumnType::Float, "0.1".into(), "0.1"),
        (number("1.239"), &decimal4, "1.24 [1265 note]".into(), "1.24 [1265 note]"),
        (number("1.2"), &decimal4, "1.20".into(), "1.20"),
        (number("123.4"), &decimal4, out_of_range.into(), "99.99 [1264]"),
        (number("-123.4"), &decimal4, out_of_range.into(), "-99.99 [1264]"),
        (number("99.999"), &decimal4, out_of_range.into(), "99.99 [1264]"),
        (number("-1"), &unsigned_decimal, out_of_range.into(), "0.00 [1264]"),
        (text("abc"), &decimal4, incorrect("decimal", "abc"), "0.00 [1366]"),
        (text("1.5x"), &decimal4, incorrect("decimal", "1.5x"), "1.50 [1366]"),
        (text("1.5"), &decimal4, "1.50".into(), "1.50"),
        (Value::Double(1.5), &decimal4, "1.50".into(), "1.50"),
        (Value::Double(1e300), &decimal4, out_of_range.into(), "99.99 [1264]"),
        (Value::Int(7), &decimal4, "7.00".into(), "7.00"),
        (text("abc"), &varchar3, "abc".into(), "abc"),
        (text("äöü"), &varchar3, "äöü".into(), "äöü"),
        (text("abcd"), &varchar3, too_long.into(), "abc [1265]"),
        (text("abc  "), &varchar3, "abc [1265 note]".into(), "abc [1265 note]"),
        (text("a  "), &varchar3, "a  ".into(), "a  "),
        (text("abc  "), &char3, "abc".into(), "abc"),
        (text("a  "), &char3, "a".into(), "a"),
        (text("abcd"), &char3, too_long.into(), "abc [1265]"),
        (text("äöü"), &tinytext, too_long.into(), "äö [1265]"),
        (Value::Int(123), &varchar3, "123".into(), "123"),
        (Value::Int(1234), &varchar3, too_long.into(), "123 [1265]"),
        (Value::bytes(b"ab\xff"), &varchar3, incorrect("string", "\\xFF"), "ab [1366]"),
        (Value::bytes(b"abc"), &varchar3, "abc".into(), "abc"),
        (text("a"), &binary3, "a\0\0".into(), "a\0\0"),
        (text("a"), &varbinary3, "a".into(), "a"),
        (text("abcd"), &varbinary3, too_long.into(), "abc [1265]"),
        (text("2024-02-29"), &ColumnType::Date, "2024-02-29".into(), "2024-02-29"),
        (
            text("2024-02-30"),
            &ColumnType::Date,
            incorrect("date", "2024-02-30"),
            "0000-00-00 [1264]",
        ),
        (text("abc"), &ColumnType::Date, incorrect("date", "abc"), "0000-00-00 [1265]"),
        (
            text("0000-00-00"),
            &ColumnType::Date,
            incorrect("date", "0000-00-00"),
            "0000-00-00 [1264]",
        ),
        (
            text("2024-02-00"),
            &ColumnType::Date,
            incorrect("date", "2024-02-00"),
            "0000-00-00 [1264]",
        ),
        (
            Value::DateTime(moment),
            &ColumnType::Date,
            "2024-02-29 [1265 note]".into(),
            "2024-02-29 [1265 note]",
        ),
        (Value::Int(20240229), &ColumnType::Date, "2024-02-29".into(), "2024-02-29"),
        (Value::Int(123), &ColumnType::Date, "2000-01-23".into(), "2000-01-23"),
        (Value::DateTime(moment), &datetime, "2024-02-29 12:34:57".into(), "2024-02-29 12:34:57"),
        (
            Value::DateTime(moment),
            &datetime3,
            "2024-02-29 12:34:56.700000".into(),
            "2024-02-29 12:34:56.700000",
        ),
        (leap, &datetime, "2024-02-29 00:00:00".into(), "2024-02-29 00:00:00"),
        (
            text("2024-02-29 25:00:00"),
            &datetime,
            incorrect("datetime", "2024-02-29 25:00:00"),
            "0000-00-00 00:00:00 [1265]",
        ),
        (
            text("1960-01-01 00:00:00"),
            &timestamp,
            incorrect("datetime", "1960-01-01 00:00:00"),
            "0000-00-00 00:00:00 [1264]",
        ),
        (
            text("2038-01-19 03:14:08"),
            &timestamp,
            incorrect("datetime", "2038-01-19 03:14:08"),
            "0000-00-00 00:00:00 [1264]",
        ),
        (
            text("2038-01-19 03:14:07"),
            &timestamp,
            "2038-01-19 03:14:07".into(),
            "2038-01-19 03:14:07",
        ),
        (text("12:34:56"), &time, "12:34:56".into(), "12:34:56"),
        (text("12:34:56.5"), &time, "12:34:57".into(), "12:34:57"),
        (text("900:00:00"), &time, incorrect("time", "900:00:00"), "838:59:59 [1264]"),
        (text("abc"), &time, incorrect("time", "abc"), "00:00:00 [1265]"),
        (Value::Int(123456), &time, "12:34:56".into(), "12:34:56"),
        (Value::Int(99999999), &time, incorrect("time", "99999999"), "838:59:59 [1264]"),
        (Value::DateTime(moment), &time, "12:34:57 [1265 note]".into(), "12:34:57 [1265 note]"),
        (Value::Time(Time::MAX), &time, "838:59:59".into(), "838:59:59"),
    ];
    for (value, column_type, strict, lenient) in &table {
        let name = column_type.sql_name();
        assert_eq!(&stored(value, column_type, StoreMode::Strict), strict, "{value:?} in {name}");
        assert_eq!(&stored(value, column_type, StoreMode::Lenient), lenient, "{value:?} in {name}");
    }
}

fn all_kinds() -> Vec<Value> {
    vec![
        Value::Null,
        Value::Int(i64::MIN),
        Value::Int(-1),
        Value::Int(0),
        Value::UInt(u64::MAX),
        Value::Float(1.5),
        Value::Double(f64::MAX),
        Value::Double(-0.0),
        number("0.00"),
        number("-12345678901234567890123456789012345.5"),
        text(""),
        text("abc"),
        text("ä"),
        text("2024-02-29"),
        Value::bytes(b""),
        Value::bytes(b"\xff\0"),
        Value::Date(Date::ZERO),
        Value::Date(Date::new(2024, 2, 29).expect("real")),
        Value::Time(Time::MIN),
        Value::Time(Time::MAX),
        Value::DateTime(DateTime::ZERO),
        Value::DateTime(DateTime::parse("9999-12-31 23:59:59.999999").expect("real").value),
    ]
}

/// Any value into any column, and any cast: a value of the column's kind or a refusal, no panic.
#[test]
fn any_value_into_any_column() {
    let text_of = |length| ColumnType::Varchar { length, collation: Collation::Utf8mb4Bin };
    let mut columns = vec![
        ColumnType::Float,
        ColumnType::Double,
        decimal(1, 0),
        decimal(65, 30),
        text_of(0),
        text_of(20),
        ColumnType::Char { length: 1, collation: Collation::DEFAULT },
        ColumnType::Text { bytes_max: 1, collation: Collation::DEFAULT },
        ColumnType::Binary { length: 2 },
        ColumnType::Varbinary { length: 2 },
        ColumnType::Blob { bytes_max: 255 },
        ColumnType::Date,
    ];
    for width in [IntWidth::W1, IntWidth::W2, IntWidth::W3, IntWidth::W4, IntWidth::W8] {
        columns.extend([integer(width, false), integer(width, true)]);
    }
    for fsp in [0, 3, 6] {
        columns.extend([
            ColumnType::Time { fsp },
            ColumnType::DateTime { fsp },
            ColumnType::Timestamp { fsp },
        ]);
    }
    for value in all_kinds() {
        for column_type in &columns {
            let cx = &mut ConvertContext::default();
            let (kept, _) = store(value.as_ref(), column_type, StoreMode::Lenient, cx)
                .expect("lenient mode takes everything");
            assert!(column_type.accepts(kept.as_ref()), "{value:?} as {kept:?} in {column_type:?}");
            if let Ok((strict, _)) = store(value.as_ref(), column_type, StoreMode::Strict, cx) {
                assert_eq!(strict, kept);
                // What is stored is stored again unchanged.
                let again = store(strict.as_ref(), column_type, StoreMode::Strict, cx);
                assert_eq!(again, Ok((strict, None)));
            }
            let cast = cast(value.as_ref(), column_type, cx);
            assert!(
                !cast.is_null()
                    || value.is_null()
                    || column_type.is_temporal()
                    || matches!(value, Value::Bytes(_)),
                "{value:?} to {column_type:?}"
            );
        }
    }
}

/// Comparison is symmetric for every pair of kinds; values that group together compare equal.
#[test]
fn comparison_of_all_kinds() {
    let values = all_kinds();
    for a in &values {
        for b in &values {
            let cx = &mut ConvertContext::default();
            let forth = compare(a.as_ref(), b.as_ref(), cx);
            let back = compare(b.as_ref(), a.as_ref(), cx);
            assert_eq!(forth, back.map(Ordering::reverse), "{a:?} and {b:?}");
            assert_eq!(forth.is_none(), a.is_null() || b.is_null());
            let sorted = sort_compare(a.as_ref(), b.as_ref());
            assert_eq!(sorted, sort_compare(b.as_ref(), a.as_ref()).reverse());
            let key = |value: &Value| {
                let mut key = Vec::new();
                group_key(value.as_ref(), &mut key);
                key
            };
            assert_eq!(key(a) == key(b), sorted.is_eq(), "{a:?} and {b:?}");
        }
    }
}

/// Values of every kind, near each other on purpose: numbers that differ in the last place or in kind only, texts that are
/// equal in one collation and not in another.
fn any_value() -> impl Strategy<Value = Value> {
    let base = prop_oneof![
        Just(0i64),
        Just(1),
        Just(1 << 53),
        Just(-(1 << 53)),
        Just(i64::MAX),
        Just(i64::MIN),
        -3i64..3,
    ];
    let integer = (base, -2i64..=2).prop_map(|(base, more)| base.saturating_add(more));
    let collation = proptest::sample::select(&Collation::ALL[1..]);
    let letters =
        proptest::sample::select(vec!["", " ", "a", "A", "á", "a ", "a\t", "b", "10", "9"]);
    prop_oneof![
        Just(Value::Null),
        integer.clone().prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        integer.clone().prop_map(|own| Value::UInt(own.unsigned_abs())),
        integer.clone().prop_map(|own| Value::Double(own as f64)),
        (-30i32..30).prop_map(|own| Value::Double(f64::from(own) / 10.0)),
        (-30i8..30).prop_map(|own| Value::Float(f32::from(own) / 10.0)),
        proptest::sample::select(vec![f64::MAX, f64::MIN, 1e-300, -0.0]).prop_map(Value::Double),
        (integer.clone(), 0u8..3).prop_map(|(own, scale)| {
            Value::Decimal(Decimal::from_parts(i128::from(own), scale))
        }),
        // A quotient, which has more digits than it shows.
        (integer, 1i64..9).prop_map(|(own, by)| {
            let quotient = Decimal::from_i64(own).div(Decimal::from_i64(by), 1);
            Value::Decimal(quotient.expect("not by zero"))
        }),
        (letters.clone(), collation).prop_map(|(text, own)| Value::text(text, own)),
        letters.prop_map(|text| Value::bytes(text.as_bytes())),
        (1u32..3).prop_map(|day| Value::Date(Date::parse(&format!("2024-01-0{day}")).unwrap())),
        (1u32..3, 0u32..2).prop_map(|(day, hour)| {
            let text = format!("2024-01-0{day} 0{hour}:00:00");
            Value::DateTime(DateTime::parse(&text).unwrap().value)
        }),
        (0u32..3).prop_map(|hour| {
            Value::Time(Time::parse(&format!("0{hour}:00:00")).unwrap().value)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    /// The comparison of sorts and groups is a total order over all values, whatever their kinds and collations: a sort by
    /// anything else may panic. And equal means equal for groups, too.
    #[test]
    fn sorting_is_a_total_order(a in any_value(), b in any_value(), c in any_value()) {
        let order = |a: &Value, b: &Value| sort_compare(a.as_ref(), b.as_ref());
        let key = |value: &Value| {
            let mut key = Vec::new();
            group_key(value.as_ref(), &mut key);
            key
        };
        prop_assert_eq!(order(&a, &a), Ordering::Equal);
        prop_assert_eq!(order(&a, &b), order(&b, &a).reverse());
        if order(&a, &b).is_le() && order(&b, &c).is_le() {
            prop_assert!(order(&a, &c).is_le(), "{:?} {:?} {:?}", a, b, c);
            let is_equal = order(&a, &b).is_eq() && order(&b, &c).is_eq();
            prop_assert_eq!(order(&a, &c).is_eq(), is_equal);
        }
        prop_assert_eq!(order(&a, &b).is_eq(), key(&a) == key(&b), "{:?} {:?}", a, b);
        let mut all = [a, b, c];
        all.sort_by(order);
        prop_assert!(all.is_sorted_by(|a, b| order(a, b).is_le()));
    }
}

/// Numbers of different kinds that are equal have one group key; so do texts their collation holds equal.
#[test]
fn group_keys() {
    let key = |value: Value| {
        let mut key = Vec::new();
        group_key(value.as_ref(), &mut key);
        key
    };
    assert_eq!(key(Value::Int(5)), key(Value::UInt(5)));
    assert_eq!(key(Value::Int(5)), key(number("5.00")));
    assert_eq!(key(number("1.10")), key(number("1.1")));
    assert_eq!(key(Value::Double(0.0)), key(Value::Double(-0.0)));
    assert_eq!(key(text("Ab")), key(text("aB")));
    assert_ne!(key(text("a")), key(text("b")));
    assert_ne!(key(Value::Null), key(text("")));
    // Two texts one after the other are not one longer text.
    assert_ne!(
        [key(text("a")), key(text("b"))].concat(),
        [key(text("ab")), key(text(""))].concat()
    );
}

/// A value that reads as another kind is the one MySQL reads.
#[test]
fn readings() {
    let cx = &mut ConvertContext::default();
    assert_eq!(to_f64(text("  -1.5e3xyz").as_ref(), cx), -1500.0);
    assert_eq!(to_f64(text("1e999").as_ref(), cx), f64::MAX);
    assert_eq!(to_integer(text("99999999999999999999").as_ref(), cx), i128::from(u64::MAX));
    assert_eq!(to_integer(text("-99999999999999999999").as_ref(), cx), i128::from(i64::MIN));
    assert_eq!(cx.warnings.total(), 4);
    assert_eq!(cx.warnings.list()[0].message, "Truncated incorrect DOUBLE value: '  -1.5e3xyz'");
    // A FLOAT is the double of the same value.
    assert_eq!(to_decimal(Value::Float(0.1).as_ref(), cx).to_string(), "0.10000000149011612");
    assert_eq!(to_decimal(Value::Float(3.4e10).as_ref(), cx).to_string(), "33999998976");
    assert_eq!(is_true(ValueRef::Null, cx), None);
    assert_eq!(is_true(text("0.4").as_ref(), cx), Some(true));
    assert_eq!(is_true(text("0").as_ref(), cx), Some(false));
    let error = ConvertError {
        kind: ConvertErrorKind::IncorrectInteger,
        value: "x".into(),
        level: WarningLevel::Warning,
    };
    use crate::wire::Wire;
    assert_eq!(ConvertError::from_bytes(&error.to_bytes()), Ok(error));
}

/// Texts and other values into a JSON column, and documents into columns of other types.
#[test]
fn stores_documents() {
    let document = |text: &str| Value::Json(document_of_text(text, 1, "f").expect("a document"));
    let int = integer(IntWidth::W4, false);
    let varchar3 = ColumnType::Varchar { length: 3, collation: Collation::DEFAULT };
    let binary8 = ColumnType::Varbinary { length: 8 };
    let invalid = |message: &str, position: usize| {
        format!(
            "ERROR 3140 Invalid JSON text: \"{message}\" at position {position} in value for column 'c'."
        )
    };
    let no_text = invalid("not a JSON text, may need CAST", 0);
    let cast = |kind: &str| {
        format!("ERROR 3156 Invalid JSON value for CAST to {kind} from column c at row 1")
    };
    let bytes = "ERROR 3144 Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
    let deep = "ERROR 3157 The JSON document exceeds the maximum depth.";
    let long_name = format!("{{\"{}\": 1}}", "x".repeat(70_000));
    let too_long = "ERROR 3151 The JSON object contains a key name that is too long.";
    let table: Vec<(Value, ColumnType, String, String)> = [
        (text(" {\"b\" : 1, \"a\":[ ]}"), ColumnType::Json, "{\"a\": [], \"b\": 1}", ""),
        (document("[1]"), ColumnType::Json, "[1]", ""),
        (Value::Null, ColumnType::Json, "NULL", ""),
        (text(""), ColumnType::Json, &*invalid("The document is empty.", 0), ""),
        (text("{"), ColumnType::Json, &*invalid("Missing a name for object member.", 1), ""),
        (Value::Int(1), ColumnType::Json, &*no_text, ""),
        (Value::Double(1.5), ColumnType::Json, &*no_text, ""),
        (Value::Date(Date::ZERO), ColumnType::Json, &*no_text, ""),
        (Value::bytes(b"[]"), ColumnType::Json, bytes, ""),
        (text(&"[".repeat(101)), ColumnType::Json, deep, ""),
        (text(&long_name), ColumnType::Json, too_long, ""),
        (document("12"), int.clone(), "12", ""),
        (document("12.5"), int.clone(), "12", ""),
        (document("true"), int.clone(), "1", ""),
        (document("\"7\""), int.clone(), "7", ""),
        (document("\"7x\""), int.clone(), &*cast("INTEGER"), "0 [3156]"),
        (document("null"), int.clone(), &*cast("INTEGER"), "0 [3156]"),
        (document("{}"), ColumnType::Double, &*cast("DOUBLE"), "0 [3156]"),
        (document("[1]"), decimal(5, 2), &*cast("DECIMAL"), "0.00 [3156]"),
        (document("3.14159"), decimal(5, 2), "3.14", ""),
        (document("\"2020-01-02\""), ColumnType::Date, "2020-01-02", ""),
        (document("20200102"), ColumnType::Date, &*cast("DATE"), "0000-00-00 [3156]"),
        (document("[1]"), varchar3.clone(), "[1]", ""),
        (document("[1]"), binary8.clone(), "[1]", ""),
        (
            document("[1, 2]"),
            varchar3,
            "ERROR 1406 Data too long for column 'c' at row 1",
            "[1, [1265]",
        ),
    ]
    .into_iter()
    .map(|(value, column_type, strict, lenient)| {
        let lenient = if lenient.is_empty() { strict } else { lenient };
        (value, column_type, strict.to_string(), lenient.to_string())
    })
    .collect();
    for (value, column_type, strict, lenient) in &table {
        let found = stored(value, column_type, StoreMode::Strict);
        assert_eq!(found, *strict, "{value:?} in {column_type:?}");
        let found = stored(value, column_type, StoreMode::Lenient);
        assert_eq!(found, *lenient, "{value:?} in {column_type:?}");
    }
}
