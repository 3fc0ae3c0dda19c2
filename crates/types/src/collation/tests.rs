use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;

const PADDING: [Collation; 3] =
    [Collation::Utf8mb4GeneralCi, Collation::Utf8mb4UnicodeCi, Collation::Utf8mb4Bin];

fn bytes_like(text: &[u8], pattern: &[u8], escape: Option<u8>) -> bool {
    let mut steps = usize::MAX;
    like_bytes(text, pattern, escape, &mut steps).expect("enough steps")
}

fn key(collation: Collation, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    collation.sort_key(text, &mut out);
    out
}

/// The strings are in ascending order, each less than the next.
fn ascending(collation: Collation, texts: &[&str]) {
    for pair in texts.windows(2) {
        assert_eq!(collation.compare(pair[0], pair[1]), Ordering::Less, "{collation:?} {pair:?}");
        assert!(key(collation, pair[0]) < key(collation, pair[1]), "{collation:?} {pair:?}");
    }
}
fn equal(collation: Collation, pairs: &[(&str, &str)]) {
    for (left, right) in pairs {
        assert!(collation.equal(left, right), "{collation:?} {left:?} {right:?}");
        assert_eq!(key(collation, left), key(collation, right), "{collation:?} {left:?} {right:?}");
    }
}
fn unequal(collation: Collation, pairs: &[(&str, &str)]) {
    for (left, right) in pairs {
        assert!(!collation.equal(left, right), "{collation:?} {left:?} {right:?}");
    }
}

#[test]
fn names_and_numbers() {
    for collation in Collation::ALL {
        assert_eq!(Collation::by_name(collation.name()), Some(collation));
        assert_eq!(Collation::by_name(&collation.name().to_uppercase()), Some(collation));
        assert_eq!(Collation::by_id(collation.id()), Some(collation));
        assert_eq!(Collation::from_bytes(&collation.to_bytes()), Ok(collation));
    }
    assert_eq!(Collation::by_id(9), None);
    assert_eq!(Collation::by_id(0), None);
    assert!(Collation::ALL.is_sorted_by_key(|collation| collation.name()));
    assert_eq!(Collation::by_name("utf8_bin"), Some(Collation::Utf8mb3Bin));
    assert_eq!(Collation::by_name("klingon_ci"), None);
    // An alias is no byte form: it would not come back as it went.
    assert_eq!(Collation::from_bytes(&9u16.to_bytes()), Err(WireError::BadTag("Collation")));
    assert_eq!(Collation::default(), Collation::DEFAULT);
    assert_eq!(Collation::default_of_charset("UTF8MB4"), Some(Collation::DEFAULT));
}

/// Marks, case and forms do not count; what the algorithm calls other letters are other letters.
#[test]
fn ai_ci_equality() {
    equal(
        Collation::Utf8mb40900AiCi,
        &[
            ("a", "A"),
            ("a", "á"),
            ("resume", "RÉSUMÉ"),
            ("e\u{301}", "é"),
            ("ß", "SS"),
            ("Æther", "aether"),
            ("Łódź", "lodz"),
            ("ﬁne", "fine"),
            ("Ａ１", "a1"),
            ("か", "ガ"),
            ("σ", "ς"),
            ("е", "Ё"),
            ("٣", "3"),
            ("a\u{0}b", "ab"),
            ("И\u{306}", "й"),
            ("가", "\u{1100}\u{1161}"),
        ],
    );
    unequal(
        Collation::Utf8mb40900AiCi,
        &[
            ("a", "b"),
            ("a", "a "),
            ("и", "й"),
            ("ı", "i"),
            ("😀", "😁"),
            ("中", "国"),
            ("¨", " "),
            ("ا", "أ"),
            ("þ", "th"),
        ],
    );
}

#[test]
fn ai_ci_order() {
    ascending(
        Collation::Utf8mb40900AiCi,
        &[
            "", "\t", "\n", " ", " a", "_", "-", ",", ";", ":", "!", "?", ".", "'", "\"", "(", ")",
            "[", "]", "{", "}", "@", "*", "/", "\\", "&", "#", "%", "`", "^", "+", "<", "=", ">",
            "|", "~", "$", "€", "😀", "0", "00", "1", "9", "a", "á a", "Aa", "ab", "ae", "æf", "b",
            "ƀ", "c", "z", "þ", "α", "β", "а", "б", "א", "中", "𠀀",
        ],
    );
    // sysbench's pad columns.
    ascending(
        Collation::Utf8mb40900AiCi,
        &["08566691963-88624", "085666919630-8862", "68487932199-9"],
    );
}

#[test]
fn accents_then_case() {
    ascending(
        Collation::Utf8mb40900AsCs,
        &[
            "a",
            "A",
            "á",
            "Á",
            "ab",
            "aB",
            "Ab",
            "AB",
            "áb",
            "b",
            "fi x",
            "ﬁ x",
            "résumé",
            "résumés",
            "ss",
            "ß",
        ],
    );
    equal(
        Collation::Utf8mb40900AsCs,
        &[("é", "e\u{301}"), ("ệ", "e\u{302}\u{323}"), ("e\u{323}\u{302}", "e\u{302}\u{323}")],
    );
    unequal(
        Collation::Utf8mb40900AsCs,
        &[("²", "₂"), ("か", "カ"), ("Ａ", "A"), ("a", "a "), ("x", "𝐱")],
    );
}

#[test]
fn general_ci() {
    equal(
        Collation::Utf8mb4GeneralCi,
        &[("a", "Á"), ("ß", "S"), ("ÿ", "Y"), ("😀", "😁"), ("a", "a   "), ("", "  ")],
    );
    unequal(
        Collation::Utf8mb4GeneralCi,
        &[("ß", "ss"), ("æ", "ae"), ("ø", "o"), ("a", " a"), ("中", "国")],
    );
    ascending(
        Collation::Utf8mb4GeneralCi,
        &["a\t", "a", "a!", "A0", "aa", "Z", "_", "{", "æ", "я", "中", "😀"],
    );
}

/// Padding means an endless run of spaces, not trimming: what is below a space goes before the end of the string.
#[test]
fn padding() {
    for collation in PADDING {
        equal(collation, &[("a", "a "), ("", "   "), ("a b", "a b  ")]);
        ascending(collation, &["a\t", "a  \t", "a", "a  !", "a !", "a!"]);
        ascending(collation, &["a \t!", "a \tz", "a", "a b"]);
    }
    for collation in [Collation::Utf8mb40900AiCi, Collation::Utf8mb40900Bin, Collation::Binary] {
        ascending(collation, &["a", "a ", "a  "]);
    }
    ascending(Collation::Utf8mb4Bin, &["A", "B", "a", "é", "中", "\u{ffff}", "😀"]);
    ascending(Collation::Utf8mb40900Bin, &["A", "B", "a", "é", "中", "\u{ffff}", "😀"]);
}

/// Sort keys are on disk: these bytes never change.
#[test]
fn keys_are_fixed() {
    let table: [(Collation, &str, &[u8]); 13] = [
        (Collation::Utf8mb40900AiCi, "Ab-1 é", &[0x70, 0x72, 0x0c, 0x61, 0x09, 0x78]),
        (
            Collation::Utf8mb40900AiCi,
            "я中€",
            &[0xb0, 0x04, 0x4f, 0xb0, 0x4e, 0x2d, 0x40, 0x20, 0xac],
        ),
        (Collation::Utf8mb40900AsCs, "aÉ", &[0x70, 0x78, 1, 2, 2, 0x20, 0, 3, 1, 1, 2, 3]),
        (Collation::Utf8mb4UnicodeCi, "a b ", &[0x70, 0x0a, 0x72, 0x09]),
        (Collation::Utf8mb4GeneralCi, "aé中", &[0x44, 0x48, 0xd0, 0x4e, 0x2d, 0x22]),
        (Collation::Utf8mb4Bin, "aé\t", &[0x64, 0x90, 0xe9, 0x0a, 0x22]),
        (Collation::Binary, "aé", &[0x61, 0xc3, 0xa9]),
        (
            Collation::Utf8mb40900AsCi,
            "aÉß",
            &[0x70, 0x78, 0x94, 0x94, 1, 2, 2, 0x20, 0, 3, 1, 0x20, 0, 0, 0xdf],
        ),
        (Collation::Utf8mb4Unicode520Ci, "a b ", &[0x70, 0x0a, 0x72, 0x09]),
        (Collation::Utf8mb3GeneralCi, "aé中", &[0x44, 0x48, 0xd0, 0x4e, 0x2d, 0x22]),
        (Collation::Latin1SwedishCi, "aé €\t", &[0x44, 0x48, 0x23, 0x90, 0x80, 0x0a, 0x22]),
        (Collation::Latin1German2Ci, "ä", &[0x44, 0x48, 0x22]),
        (Collation::AsciiBin, "aA", &[0x64, 0x44, 0x22]),
    ];
    for (collation, text, expected) in table {
        assert_eq!(key(collation, text), expected, "{collation:?} {text}");
    }
}

#[test]
fn like() {
    let ci = Collation::Utf8mb40900AiCi;
    let table = [
        ("abc", "abc", true),
        ("abc", "ABC", true),
        ("abc", "%", true),
        ("", "%", true),
        ("", "", true),
        ("", "_", false),
        ("abc", "a%", true),
        ("abc", "%c", true),
        ("abc", "%b%", true),
        ("abc", "_b_", true),
        ("abc", "_b", false),
        ("abc", "a%d", false),
        ("aXbXc", "a%b%c", true),
        ("mississippi", "m%iss%ip%i", true),
        ("a%b", "a\\%b", true),
        ("axb", "a\\%b", false),
        ("a\\", "a\\", true),
        ("a\\b", "a\\\\b", true),
        ("é", "_", true),
        ("école", "E%", true),
        ("a ", "a", false),
        ("\u{1}", "\u{2}", false),
        ("aab", "%ab", true),
        ("abab", "%ab", true),
        ("ab", "ab%%_", false),
    ];
    for (text, pattern, expected) in table {
        assert_eq!(ci.like(text, pattern, Some('\\')), expected, "{text} LIKE {pattern}");
    }
    assert!(ci.like("a%b", "a!%b", Some('!')));
    assert!(ci.like("a\\xb", "a\\%b", None));
    assert!(!Collation::Utf8mb4Bin.like("abc", "ABC", Some('\\')));
    assert!(Collation::Utf8mb4GeneralCi.like("É", "e", Some('\\')));
    assert!(bytes_like(b"a\xffb", b"a_b", Some(b'\\')));
    assert!(bytes_like(b"a%", b"a\\%", Some(b'\\')));
    assert!(!bytes_like(b"A", b"a", Some(b'\\')));
}

/// The pattern that makes naive matchers exponential is answered at once.
#[test]
fn like_is_bounded() {
    let text = "a".repeat(2000);
    let pattern = format!("{}b", "%a".repeat(500));
    assert!(!Collation::Utf8mb40900AiCi.like(&text, &pattern, Some('\\')));
    assert!(!bytes_like(text.as_bytes(), pattern.as_bytes(), Some(b'\\')));
}

#[test]
fn find_and_case() {
    let ci = Collation::Utf8mb40900AiCi;
    assert_eq!(ci.find("xxAB", "ab"), Some(2));
    assert_eq!(ci.find("xxÀB", "áb"), Some(2));
    assert_eq!(ci.find("xÀBxABx", "ab"), Some(5), "of as many bytes");
    assert_eq!(ci.find("xxÀB", "ab"), None);
    assert_eq!(ci.find("ab", ""), Some(0));
    assert_eq!(ci.find("ab", "abc"), None);
    assert_eq!(ci.find("aabaabaaa", "AABAAA"), Some(3));
    assert_eq!(Collation::Utf8mb4Bin.find("xAb", "ab"), None);
    assert_eq!(ci.upper("straße é"), "STRAßE É");
    assert_eq!(ci.lower("ÀÉİ"), "àéİ");
    assert_eq!(Collation::Binary.upper("abc"), "abc");
}

/// Strings in which everything that can go wrong is likely: blanks, marks, case, scripts, controls.
pub(crate) fn tricky() -> impl Strategy<Value = String> {
    let alphabet = prop::sample::select(
        "aAbzZ09 _-!\t\u{0}\u{1}\u{7f}áÁéßæøþıŁƀ\u{301}\u{302}\u{323}\u{306}йИиЁαΣςכあかがガ가\u{1100}\u{1161}中ﬁ²₂½¨￥Ａ😀😁𠀀\u{200b}\u{ffff}\u{10ffff}"
            .chars()
            .collect::<Vec<_>>(),
    );
    prop_oneof![
        prop::collection::vec(alphabet, 0..8).prop_map(|chars| chars.into_iter().collect()),
        "[aA \t!]{0,6}",
        "[0-9-]{0,12}",
        any::<String>(),
    ]
}

fn any_collation() -> impl Strategy<Value = Collation> {
    prop::sample::select(Collation::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    /// Comparing strings is comparing their keys.
    #[test]
    fn keys_agree(collation in any_collation(), left in tricky(), right in tricky()) {
        let order = collation.compare(&left, &right);
        prop_assert_eq!(order, key(collation, &left).cmp(&key(collation, &right)));
        prop_assert_eq!(order.reverse(), collation.compare(&right, &left));
        prop_assert!(collation.equal(&left, &left));
    }
    /// What differs only in case is equal in the case-insensitive collations, and finds itself.
    #[test]
    fn case_does_not_count(text in tricky(), around in tricky()) {
        let ci = Collation::Utf8mb40900AiCi;
        prop_assert!(ci.equal(&text, &ci.lower(&text)));
        let longer = format!("{around}{text}{around}");
        prop_assert!(ci.find(&longer, &text).is_some());
        let literal = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let pattern = format!("%{literal}%");
        prop_assert!(ci.like(&longer, &pattern, Some('\\')));
    }
    /// LIKE against a matcher that tries everything.
    #[test]
    fn like_agrees_with_recursion(text in "[ab%_]{0,10}", pattern in "[ab%_\\\\]{0,8}") {
        let expected = like_recursive(text.as_bytes(), pattern.as_bytes());
        prop_assert_eq!(Collation::Utf8mb4Bin.like(&text, &pattern, Some('\\')), expected);
        prop_assert_eq!(bytes_like(text.as_bytes(), pattern.as_bytes(), Some(b'\\')), expected);
    }
}

fn like_recursive(text: &[u8], pattern: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'%', rest @ ..] => (0..=text.len()).any(|skip| like_recursive(&text[skip..], rest)),
        [b'_', rest @ ..] => !text.is_empty() && like_recursive(&text[1..], rest),
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => {
            text.first() == Some(literal) && like_recursive(&text[1..], rest)
        }
    }
}
