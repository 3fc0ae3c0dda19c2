//! Text and its bytes in the character sets that columns and casts have, against tables.

use proptest::prelude::*;

use super::*;
use crate::{Charset, Collation, ColumnType, Value, ValueRef};

fn varchar(length: u32, collation: Collation) -> ColumnType {
    ColumnType::Varchar { length, collation }
}

/// "text=bytes in hexadecimal", with the code of a warning, or the error's message.
fn stored(value: &Value, column_type: &ColumnType, mode: StoreMode) -> String {
    let cx = &mut ConvertContext::default();
    match store(value.as_ref(), column_type, mode, cx) {
        Err(error) => error.message("c", 1),
        Ok((value, problem)) => {
            assert!(column_type.accepts(value.as_ref()), "{value:?} in {column_type:?}");
            let bytes = to_bytes(value.as_ref());
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            let note = problem.map_or(String::new(), |problem| format!(" [{}]", problem.code()));
            format!("{}={digits}{note}", to_text(value.as_ref()))
        }
    }
}

#[test]
fn stores() {
    let utf8mb4 = |text: &str| Value::text(text, Collation::DEFAULT);
    let latin1 = |text: &str| Value::text(text, Collation::Latin1Bin);
    let bytes = Value::bytes;
    let incorrect =
        |shown: &str| format!("Incorrect string value: '{shown}' for column 'c' at row 1");
    let too_long = "Data too long for column 'c' at row 1".to_owned();
    let own = varchar(4, Collation::Latin1SwedishCi);
    let ascii = varchar(4, Collation::AsciiGeneralCi);
    let utf8mb3 = varchar(4, Collation::Utf8mb3GeneralCi);
    let char3 = ColumnType::Char { length: 3, collation: Collation::Latin1Bin };
    let short = ColumnType::Text { bytes_max: 3, collation: Collation::Latin1SwedishCi };
    let short3 = ColumnType::Text { bytes_max: 3, collation: Collation::Utf8mb3Bin };
    let plain = varchar(4, Collation::DEFAULT);
    let raw = ColumnType::Varbinary { length: 4 };
    let table: Vec<(Value, &ColumnType, String, &str)> = vec![
        (utf8mb4("é€"), &own, "é€=E980".into(), "é€=E980"),
        (utf8mb4("aΩ"), &own, incorrect("\\xCE\\xA9"), "a?=613F [1366]"),
        (
            utf8mb4("aΩb😀"),
            &own,
            incorrect("\\xCE\\xA9b\\xF0\\x9F\\x98..."),
            "a?b?=613F623F [1366]",
        ),
        (
            utf8mb4("ΩΩΩΩΩ"),
            &own,
            incorrect("\\xCE\\xA9\\xCE\\xA9\\xCE\\xA9..."),
            "????=3F3F3F3F [1366]",
        ),
        (bytes(b"\xe9\x80"), &own, "é€=E980".into(), "é€=E980"),
        (bytes(b"\xe9\xe9\xe9\xe9\xe9"), &own, too_long.clone(), "éééé=E9E9E9E9 [1265]"),
        (Value::Int(12), &own, "12=3132".into(), "12=3132"),
        (utf8mb4("é"), &ascii, incorrect("\\xC3\\xA9"), "?=3F [1366]"),
        (latin1("aé"), &ascii, incorrect("\\xE9"), "a?=613F [1366]"),
        (bytes(b"a\xe9"), &ascii, incorrect("\\xE9"), "a=61 [1366]"),
        (utf8mb4("a😀b"), &utf8mb3, incorrect("\\xF0\\x9F\\x98\\x80b"), "a?b=613F62 [1366]"),
        (bytes("a😀".as_bytes()), &utf8mb3, incorrect("\\xF0\\x9F\\x98\\x80"), "a=61 [1366]"),
        (latin1("€"), &utf8mb3, "€=E282AC".into(), "€=E282AC"),
        (latin1("é€"), &plain, "é€=C3A9E282AC".into(), "é€=C3A9E282AC"),
        (utf8mb4("é€ü  "), &char3, "é€ü=E980FC".into(), "é€ü=E980FC"),
        (utf8mb4("Ω  "), &char3, incorrect("\\xCE\\xA9  "), "?=3F [1366]"),
        (utf8mb4("é€ü"), &short, "é€ü=E980FC".into(), "é€ü=E980FC"),
        (utf8mb4("é€üx"), &short, too_long.clone(), "é€ü=E980FC [1265]"),
        (utf8mb4("é€"), &short3, too_long, "é=C3A9 [1265]"),
        (latin1("é€"), &raw, "\u{fffd}=E980".into(), "\u{fffd}=E980"),
        (utf8mb4("é"), &raw, "é=C3A9".into(), "é=C3A9"),
    ];
    for (value, column_type, strict, lenient) in table {
        assert_eq!(stored(&value, column_type, StoreMode::Strict), strict, "{value:?}");
        assert_eq!(stored(&value, column_type, StoreMode::Lenient), lenient, "{value:?}");
    }
}

#[test]
fn casts() {
    let text = |text: &str| Value::text(text, Collation::DEFAULT);
    let cases = [
        (text("é€Ω"), Collation::Latin1SwedishCi, Some("é€?"), None),
        (text("a😀"), Collation::Utf8mb3Bin, Some("a?"), None),
        (text("é"), Collation::AsciiBin, Some("?"), None),
        (Value::bytes(b"\xe9\x80"), Collation::Latin1Bin, Some("é€"), None),
        (
            Value::bytes(b"a\xe9bcd"),
            Collation::DEFAULT,
            None,
            Some("Invalid utf8mb4 character string: 'E96263'"),
        ),
        (
            Value::bytes(b"\xe9"),
            Collation::AsciiBin,
            None,
            Some("Invalid ascii character string: 'E9'"),
        ),
    ];
    for (value, collation, expected, warning) in cases {
        let cx = &mut ConvertContext::default();
        let cast = cast(value.as_ref(), &varchar(u32::MAX, collation), cx);
        let expected = expected.map_or(Value::Null, |text| Value::text(text, collation));
        assert_eq!(cast, expected, "{value:?}");
        let shown = cx.warnings.list().first().map(|own| own.message.as_str());
        assert_eq!(shown, warning, "{value:?}");
    }
}

/// Bytes are compared with those of the text's character set.
#[test]
fn comparisons_with_bytes() {
    let cx = &mut ConvertContext::default();
    let latin1 = ValueRef::Text("é€", Collation::Latin1SwedishCi);
    let utf8 = ValueRef::Text("é€", Collation::DEFAULT);
    for (text, bytes) in [(latin1, &b"\xe9\x80"[..]), (utf8, "é€".as_bytes())] {
        assert_eq!(compare(text, ValueRef::Bytes(bytes), cx), Some(std::cmp::Ordering::Equal));
        assert_eq!(compare(ValueRef::Bytes(bytes), text, cx), Some(std::cmp::Ordering::Equal));
    }
    assert_ne!(
        compare(latin1, ValueRef::Bytes("é€".as_bytes()), cx),
        Some(std::cmp::Ordering::Equal)
    );
}

fn any_charset() -> impl Strategy<Value = Charset> {
    prop::sample::select(Charset::ALL.to_vec())
}

proptest! {
    /// What a column keeps is of its character set, whatever it is given, and nothing panics.
    #[test]
    fn columns_keep_their_characters(
        collation in prop::sample::select(Collation::ALL.to_vec()),
        text in any::<String>(),
        bytes in prop::collection::vec(any::<u8>(), 0..20),
        length in 0u32..8,
    ) {
        for column_type in [
            varchar(length, collation),
            ColumnType::Char { length, collation },
            ColumnType::Text { bytes_max: length, collation },
        ] {
            for value in [Value::text(&text, Collation::DEFAULT), Value::bytes(&bytes)] {
                let cx = &mut ConvertContext::default();
                let kept = store(value.as_ref(), &column_type, StoreMode::Lenient, cx);
                let (kept, _) = kept.expect("lenient");
                prop_assert!(column_type.accepts(kept.as_ref()));
                if let Value::Text(kept, own) = &kept {
                    prop_assert_eq!(*own, collation);
                    prop_assert!(collation.charset().holds(kept));
                    prop_assert!(kept.len() as u64 <= column_type.bytes_max());
                }
                let cx = &mut ConvertContext::default();
                let strict = store(value.as_ref(), &column_type, StoreMode::Strict, cx);
                if let Ok((strict, _)) = strict {
                    prop_assert_eq!(&strict, &kept);
                }
            }
        }
    }
    /// Text comes back from its bytes, and bytes from their text.
    #[test]
    fn bytes_come_back(
        charset in any_charset(),
        text in any::<String>(),
        bytes in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let held = charset.replace_missing(&text);
        prop_assert!(charset.holds(&held));
        let encoded = charset.encode(&held);
        prop_assert_eq!(encoded.len(), charset.size_of(&held));
        let decoded = charset.decode_exactly(&encoded);
        prop_assert_eq!(decoded.as_deref(), Ok(&*held));
        match charset.decode_exactly(&bytes) {
            Ok(text) => prop_assert_eq!(&*charset.encode(&text), &bytes[..]),
            Err(valid) => prop_assert!(charset.decode_exactly(&bytes[..valid]).is_ok()),
        }
        let _ = charset.decode(&bytes);
    }
}
