//! Documents: the parser's errors and positions as tables; text, binary form and order on random documents.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::compare::{compare, sort_key};
use super::*;
use crate::{Date, DateTime, Decimal, Time};

/// The syntax error of a text, as `message at position`.
fn error_of(text: &str) -> String {
    match parse(text) {
        Ok(_) => "none".into(),
        Err(ParseError::Syntax { message, position }) => format!("{message} at {position}"),
        Err(ParseError::Document(error)) => error.message().into(),
    }
}

#[test]
fn errors_and_their_positions() {
    let cases = [
        ("", "The document is empty. at 0"),
        ("  ", "The document is empty. at 2"),
        ("abc", "Invalid value. at 0"),
        ("nul", "Invalid value. at 3"),
        ("not", "Invalid value. at 1"),
        ("trux", "Invalid value. at 3"),
        ("{\"a\": tru}", "Invalid value. at 9"),
        ("-", "Invalid value. at 1"),
        ("1.", "Miss fraction part in number. at 2"),
        ("1.5e", "Miss exponent in number. at 4"),
        ("1e+", "Miss exponent in number. at 3"),
        (" 2e308", "Number too big to be stored in double. at 1"),
        ("01", "The document root must not be followed by other values. at 1"),
        ("12 3", "The document root must not be followed by other values. at 3"),
        ("[", "Invalid value. at 1"),
        ("[1,]", "Invalid value. at 3"),
        ("[1", "Missing a comma or ']' after an array element. at 2"),
        ("[1 2]", "Missing a comma or ']' after an array element. at 3"),
        ("{", "Missing a name for object member. at 1"),
        ("{a:1}", "Missing a name for object member. at 1"),
        ("{\"a\":1,}", "Missing a name for object member. at 7"),
        ("{\"a\" 1}", "Missing a colon after a name of object member. at 5"),
        ("{\"a\":}", "Invalid value. at 5"),
        ("{\"a\":1", "Missing a comma or '}' after an object member. at 6"),
        ("\"abc", "Missing a closing quotation mark in string. at 4"),
        ("\"a\\qb\"", "Invalid escape character in string. at 2"),
        ("\"a\\u12g4\"", "Incorrect hex digit after \\u escape in string. at 2"),
        ("\"\\ud800\"", "The surrogate pair in string is invalid. at 1"),
        ("\"\\ud800\\u0041\"", "The surrogate pair in string is invalid. at 1"),
        ("\"\\udc00\"", "The surrogate pair in string is invalid. at 1"),
        ("\"a\nb\"", "Invalid encoding in string. at 2"),
        ("\"\\ud83d\\ude00\"", "none"),
        (" [ ] ", "none"),
        ("{\"a\" : [ 1 , 2 ] }\n", "none"),
    ];
    for (text, expected) in cases {
        assert_eq!(error_of(text), expected, "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(error_of(&nested(DEPTH_MAX)), "none");
    assert_eq!(error_of(&nested(DEPTH_MAX + 1)), JsonError::TooDeep.message());
    let deepest = parse(&nested(DEPTH_MAX)).expect("within the bound");
    encode(&deepest).expect("within the bound");
    let deeper = Json::Array(vec![deepest]);
    assert_eq!(encode(&deeper), Err(JsonError::TooDeep));
}

/// The character position of the error in a path, or "good".
#[test]
fn errors_of_paths() {
    let cases = [
        ("$", "good"),
        (" $ . a [ 1 ] ", "good"),
        ("$.a.*[*][last][last-1][0 to last]**.b", "good"),
        ("$.\"a b\"", "good"),
        ("$.$a_1", "good"),
        ("$.\\u0061", "good"),
        ("", "0"),
        ("a", "1"),
        ("1010", "1"),
        ("$.", "2"),
        ("$[", "2"),
        ("$a.***[3]", "1"),
        ("$.foo[bar]", "6"),
        ("$.b[ 1 ].", "9"),
        ("$[2 to 1]", "8"),
        ("$[last to last-1]", "16"),
        ("$**", "3"),
        ("$***.a", "3"),
        ("$*", "2"),
        ("$.1a", "4"),
        ("$.\"a", "4"),
        ("$[1", "3"),
        ("$[1x]", "4"),
        ("$[4294967296]", "2"),
        ("$[-1]", "2"),
    ];
    for (text, expected) in cases {
        let found = match Path::parse(text) {
            Ok(_) => "good".into(),
            Err(PathError(position)) => position.to_string(),
        };
        assert_eq!(found, expected, "{text}");
    }
}

fn arbitrary_scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::Int),
        (-40000i64..40000).prop_map(Json::Int),
        any::<u64>().prop_map(Json::UInt),
        (0u64..80000).prop_map(Json::UInt),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Json::Double),
        (-30i32..30).prop_map(|number| Json::Double(f64::from(number) / 4.0)),
        (any::<i64>(), 0u8..20)
            .prop_map(|(number, scale)| Json::decimal(Decimal::from_parts(number.into(), scale))),
        (-90i128..90).prop_map(|number| Json::decimal(Decimal::from_parts(number, 1))),
        "[a-c\"\\\\\u{0}\u{1f}é😀]{0,6}".prop_map(|text| Json::string(&text)),
        (0i64..800_000)
            .prop_map(|days| { Json::Date(Date::from_day_number(days).unwrap_or(Date::ZERO)) }),
        (-1_000_000_000i64..1_000_000_000)
            .prop_map(|micros| Json::Time(Time::from_micros_clamped(micros))),
        (0i64..4_000_000_000)
            .prop_map(|seconds| Json::DateTime(DateTime::from_unix(seconds, 5).expect("a moment"))),
        (proptest::sample::select(vec![15u8, 16, 252, 254, 255]), any::<Vec<u8>>())
            .prop_map(|(code, bytes)| Json::Opaque(code, bytes.into())),
    ]
}

fn arbitrary() -> impl Strategy<Value = Json> {
    arbitrary_scalar().prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            proptest::collection::vec(("[a-b]{0,3}", inner), 0..6).prop_map(|members| {
                let members = members.into_iter().map(|(name, value)| (name.into(), value));
                Json::Object(Object::of_members(members.collect()))
            }),
        ]
    })
}

/// The document as its text spells it: numbers without a kind of their own, dates and bytes as strings.
fn spelled(document: &Json) -> Json {
    match document {
        Json::UInt(number) if u32::try_from(*number).is_ok() => Json::Int(*number as i64),
        Json::Int(number) if i64::from(u32::MAX) < *number => Json::UInt(*number as u64),
        Json::Array(elements) => Json::Array(elements.iter().map(spelled).collect()),
        Json::Object(object) => Json::Object(Object::of_members(
            object.members().iter().map(|(name, own)| (name.clone(), spelled(own))).collect(),
        )),
        other => other.clone(),
    }
}

fn has_only_text_kinds(document: &Json) -> bool {
    match document {
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::UInt(_) | Json::String(_) => true,
        // Printed and read with all digits.
        Json::Double(_) => true,
        Json::Array(elements) => elements.iter().all(has_only_text_kinds),
        Json::Object(object) => object.members().iter().all(|(_, own)| has_only_text_kinds(own)),
        Json::Decimal(_) | Json::Date(_) | Json::Time(_) | Json::DateTime(_) | Json::Opaque(..) => {
            false
        }
    }
}

fn key_of(document: JsonRef<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    sort_key(document, &mut key);
    key
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn binary_form_keeps_the_document(document in arbitrary()) {
        let bytes = encode(&document).expect("small");
        prop_assert_eq!(check(&bytes), Ok(()));
        let root = JsonRef::new(&bytes);
        prop_assert_eq!(&root.to_json(), &document);
        prop_assert_eq!(root.to_document(), bytes.clone());
        prop_assert_eq!(root.stored_size() + 1, bytes.len());
    }

    #[test]
    fn text_keeps_the_document(document in arbitrary()) {
        let bytes = encode(&document).expect("small");
        let text = print::to_text(JsonRef::new(&bytes));
        let read = parse(&text).expect("printed");
        if has_only_text_kinds(&document) {
            prop_assert_eq!(&read, &spelled(&document));
        }
        let pretty = print::to_pretty(JsonRef::new(&bytes), 1 << 20).expect("short");
        prop_assert_eq!(parse(&pretty).expect("printed"), read);
    }

    #[test]
    fn order_is_total_and_that_of_keys(a in arbitrary(), b in arbitrary(), c in arbitrary()) {
        let encoded = [a, b, c].map(|document| encode(&document).expect("small"));
        let [a, b, c] = [&encoded[0], &encoded[1], &encoded[2]].map(|bytes| JsonRef::new(bytes));
        prop_assert_eq!(compare(a, a), Ordering::Equal);
        prop_assert_eq!(compare(a, b), compare(b, a).reverse());
        prop_assert_eq!(compare(a, b), key_of(a).cmp(&key_of(b)));
        if compare(a, b).is_le() && compare(b, c).is_le() {
            prop_assert!(compare(a, c).is_le());
        }
    }

    #[test]
    fn damaged_bytes_are_found(
        document in arbitrary(),
        place in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = encode(&document).expect("small").into_vec();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if check(&bytes).is_ok() {
            // Another document: all of it can be read.
            let root = JsonRef::new(&bytes);
            let text = print::to_text(root);
            let _ = (root.to_json(), key_of(root), text.len(), root.depth());
        }
        prop_assert!(check(&bytes[..place]).is_err() || place == bytes.len());
    }
}

#[test]
fn random_bytes_are_no_documents() {
    proptest!(|(bytes in proptest::collection::vec(any::<u8>(), 0..60), kind in 0u8..16)| {
        let mut document = vec![1, kind];
        document.extend(bytes);
        if check(&document).is_ok() {
            let root = JsonRef::new(&document);
            let _ = (root.to_json(), key_of(root), print::to_text(root));
        }
    });
}

/// Numbers of all kinds, in their order: those of one line are equal.
#[test]
fn numbers_compare_by_their_digits() {
    let decimal = |text: &str| Json::decimal(Decimal::parse(text).expect("a decimal"));
    let lines = [
        vec![Json::Double(-1e300)],
        vec![Json::Int(i64::MIN), decimal("-9223372036854775808")],
        vec![Json::Int(-3), decimal("-3.0"), Json::Double(-3.0)],
        vec![decimal("-2.5"), Json::Double(-2.5)],
        vec![Json::Double(-1e-300)],
        vec![Json::Int(0), Json::UInt(0), Json::Double(0.0), Json::Double(-0.0), decimal("0.00")],
        vec![Json::Double(1e-300)],
        vec![decimal("0.0000000001"), Json::Double(1e-10)],
        vec![decimal("0.1"), Json::Double(0.1), decimal("0.100")],
        vec![Json::Int(9), Json::Double(9.0)],
        vec![Json::Int(10), Json::UInt(10), decimal("10")],
        vec![decimal("10.1"), Json::Double(10.1)],
        vec![Json::Int(i64::MAX), Json::UInt(i64::MAX as u64)],
        vec![Json::UInt(i64::MAX as u64 + 1)],
        vec![Json::Double(9.223372036854776e18), Json::UInt(9223372036854776000)],
        vec![Json::UInt(u64::MAX), decimal("18446744073709551615")],
        vec![Json::Double(1e300)],
    ];
    let encoded: Vec<(usize, Box<[u8]>)> = lines
        .iter()
        .enumerate()
        .flat_map(|(line, values)| values.iter().map(move |value| (line, value)))
        .map(|(line, value)| (line, encode(value).expect("a scalar")))
        .collect();
    for (line_a, a) in &encoded {
        for (line_b, b) in &encoded {
            let (a, b) = (JsonRef::new(a), JsonRef::new(b));
            assert_eq!(compare(a, b), line_a.cmp(line_b), "{:?} {:?}", a.to_json(), b.to_json());
            assert_eq!(key_of(a).cmp(&key_of(b)), line_a.cmp(line_b));
        }
    }
}

/// A container of 64 KiB and more has the large form; its elements are found in the same way.
#[test]
fn large_documents() {
    let texts = (0..3000).map(|number| Json::string(&format!("{number:040}")));
    let members = (0..3000).map(|number| (format!("{number}").into(), Json::Int(number * 100)));
    let inner = Json::Object(Object::of_members(members.collect()));
    let document = Json::Array(vec![Json::Array(texts.collect()), inner, Json::Int(100_000)]);
    let bytes = encode(&document).expect("large, but not too large");
    assert_eq!(check(&bytes), Ok(()));
    let root = JsonRef::new(&bytes);
    assert_eq!(root.to_json(), document);
    let mut steps = 100;
    let path = Path::parse("$[1].\"2999\"").expect("a path");
    let found = path.seek(root, &mut steps).expect("few steps");
    assert_eq!(found[0].to_json(), Json::Int(299_900));
    assert_eq!(encode(&found[0].to_json()).expect("a scalar"), found[0].to_document());
}

/// A path of many ellipses takes steps for each value and leg, not for each way to lead there.
#[test]
fn ellipses_do_not_multiply() {
    let deep = format!("{}1{}", "[".repeat(90), "]".repeat(90));
    let bytes = encode(&parse(&deep).expect("a document")).expect("a document");
    let path = Path::parse(&format!("${}.a", "**[0]".repeat(30))).expect("a path");
    let mut steps = 100_000;
    assert!(path.seek(JsonRef::new(&bytes), &mut steps).is_some());
    let mut steps = 10;
    assert!(path.seek(JsonRef::new(&bytes), &mut steps).is_none());
}
