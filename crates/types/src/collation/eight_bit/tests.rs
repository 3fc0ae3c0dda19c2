//! The tables of latin1: the 256 weights of each are MySQL's, and what follows from them.

use std::cmp::Ordering;

use super::*;
use crate::Collation;

/// Checksums (CRC-32) of MySQL's own tables of 256 bytes, as its source publishes them.
#[test]
fn tables_are_mysqls() {
    for (name, table, expected) in [
        ("latin1_swedish_ci", &SWEDISH, 0xb052_9efb),
        ("latin1_german1_ci", &GERMAN1, 0x2dad_649c),
        ("latin1_danish_ci", &DANISH, 0xc962_fb23),
        ("latin1_general_ci", &GENERAL_CI, 0xeb41_6685),
        ("latin1_general_cs", &GENERAL_CS, 0xa850_a29f),
        ("latin1_spanish_ci", &SPANISH, 0x2c71_4302),
    ] {
        assert_eq!(crc32fast::hash(table), expected, "{name}");
    }
    let table = |of: &dyn Fn(u8) -> u8| -> Vec<u8> { (0..=255).map(of).collect() };
    let letter = |code| german2_letter(latin1_character(code)) as u8;
    for (name, table, expected) in [
        ("first weights of latin1_german2_ci", table(&|code| german2(code).0), 0x1b0a_2947),
        ("second weights of latin1_german2_ci", table(&|code| german2(code).1), 0x4162_d677),
        ("letters of latin1_german2_ci", table(&letter), 0x8ae2_f10d),
        ("lower case", table(&lower_code), 0xa88b_37e2),
        ("upper case", table(&upper_code), 0xfa25_04fc),
    ] {
        assert_eq!(crc32fast::hash(&table), expected, "{name}");
    }
}

/// Each line is `collation: strings in ascending order`; `=` joins those that are equal.
#[test]
fn orders() {
    for line in "
        latin1_swedish_ci: a=A=à=á=â=ã ab b c=ç d=ð e=é z=Z å=Å ä=Ä=æ ö=Ö ø ÿ
        latin1_swedish_ci: u=ù v w x y=Y=ü=ý z å
        latin1_german1_ci: a=ä=å=æ b o=ö=ø s=S t u=ü v y=ý ÿ
        latin1_german1_ci: r ß=s=S ss t ð
        latin1_german2_ci: ad ä=ae=Ä=AE=áE af o oe=ö p s ß=ss=SS st u ue=ü v y=ÿ=ý z æ ø þ
        latin1_german2_ci: a=à=å ä b
        latin1_danish_ci: a=à b y=ü=ý z æ=ä=Æ ø=ö=Ø å=Å ÿ
        latin1_spanish_ci: a=á=ä=å=æ b c=ç d=ð e=é n=N ñ=Ñ o=ó=ø=ö p u=ü y=ý=ÿ z þ
        latin1_general_ci: @ a=A à=À á=Á b c ç d ð e s ß t y ý ÿ z þ [ ` { × ÷ €
        latin1_general_cs: @ A a À à Á á B b S s ß T Y y Ý ý ÿ Z z Þ þ [ ` {
        latin1_bin: A a z € Š À à ÿ
        ascii_general_ci: 0 a=A b=B [ _ {
        ascii_bin: 0 A B a b
        utf8mb3_general_ci: a=A=á b s=ß t z æ
        utf8mb3_bin: A a á
        utf8mb3_unicode_ci: a=á ae=æ b ss=ß t
        utf8mb3_unicode_520_ci: a=á ae=æ b l=ł o=ø
        utf8mb4_unicode_520_ci: a=á ae=æ b l=ł o=ø z а г=ґ е=ё и й ї
        utf8mb4_unicode_ci: i=î ı z е=ё и=ѝ й і=ї
        utf8mb4_0900_as_ci: a=A á=Á ab b d=D đ=Đ l=L ł o=O ö ø ss=SS=sS ß sz か=カ が
        "
    .lines()
    .map(str::trim)
    .filter(|line| !line.is_empty())
    {
        let (name, strings) = line.split_once(": ").expect("collation: strings");
        let collation = Collation::by_name(name).expect(name);
        let classes: Vec<Vec<&str>> =
            strings.split(' ').map(|class| class.split('=').collect()).collect();
        for (left_class, left) in classes.iter().enumerate() {
            for (right_class, right) in classes.iter().enumerate() {
                for (a, b) in left.iter().flat_map(|a| right.iter().map(move |b| (a, b))) {
                    let expected = left_class.cmp(&right_class);
                    assert_eq!(collation.compare(a, b), expected, "{name} {a} {b}");
                    let key = |text: &str| {
                        let mut out = Vec::new();
                        collation.sort_key(text, &mut out);
                        out
                    };
                    assert_eq!(key(a).cmp(&key(b)), expected, "keys of {name} {a} {b}");
                }
            }
        }
    }
}

/// Each line is `collation text pattern result`.
#[test]
fn like() {
    for line in "
        latin1_swedish_ci Äpple æ% 1
        latin1_swedish_ci Äpple a% 0
        latin1_swedish_ci ü y 1
        latin1_german1_ci ß s 1
        latin1_german1_ci ß ss 0
        latin1_german2_ci ä ae 0
        latin1_german2_ci ä Ä 1
        latin1_german2_ci ä a 0
        latin1_german2_ci ÿ Y 1
        latin1_german2_ci å A 1
        latin1_danish_ci ö Ø 1
        latin1_spanish_ci ñ n 0
        latin1_spanish_ci é E 1
        latin1_general_ci é E 0
        latin1_general_ci é É 1
        latin1_general_cs é É 0
        latin1_bin a A 0
        latin1_bin €x €_ 1
        ascii_general_ci abc A_C 1
        ascii_bin abc A_C 0
        utf8mb3_general_ci é e 1
        utf8mb3_bin é e 0
        utf8mb4_0900_as_ci é É 1
        utf8mb4_0900_as_ci é e 0
        utf8mb4_0900_as_ci ß ẞ 1
        utf8mb4_unicode_520_ci ø o 1
        "
    .lines()
    .map(str::trim)
    .filter(|line| !line.is_empty())
    {
        let parts: Vec<&str> = line.split(' ').collect();
        let [name, text, pattern, expected] = parts[..] else { panic!("{line}") };
        let collation = Collation::by_name(name).expect(name);
        assert_eq!(collation.like(text, pattern, Some('\\')), expected == "1", "{line}");
    }
}

/// Places are found by characters: é is as long as e in latin1, and longer in UTF-8.
#[test]
fn find_and_case() {
    assert_eq!(Collation::Latin1SwedishCi.find("xéy", "E"), Some(1));
    assert_eq!(Collation::Latin1SwedishCi.find("éxe", "xE"), Some(2));
    assert_eq!(Collation::Utf8mb3GeneralCi.find("xéye", "E"), Some(4));
    assert_eq!(Collation::Latin1German2Ci.find("ä", "ae"), None);
    assert_eq!(Collation::Latin1Bin.find("aA", "A"), Some(1));
    assert_eq!(Collation::Utf8mb40900AsCi.find("eÉ", "é"), Some(1));
    let latin1 = Collation::Latin1SwedishCi;
    assert_eq!(latin1.upper("aéÿßµšœž÷"), "AÉÿßµšœž÷");
    assert_eq!(latin1.lower("AÉßŠŒŸ×Þ"), "aéßŠŒŸ×þ");
    assert_eq!(Collation::AsciiGeneralCi.upper("az09"), "AZ09");
    assert_eq!(Collation::Utf8mb3Bin.upper("ÿ"), "Ÿ");
}

/// Spaces at the end do not count, and a character below a space comes before the end.
#[test]
fn padding() {
    for collation in Collation::ALL {
        let expected = if collation.is_pad_space() { Ordering::Equal } else { Ordering::Less };
        assert_eq!(collation.compare("a", "a  "), expected, "{collation:?}");
        let expected = if collation.is_pad_space() { Ordering::Greater } else { Ordering::Less };
        assert_eq!(collation.compare("a", "a\t"), expected, "{collation:?}");
    }
}

/// A character that no text of latin1 has is after all others, and harms nothing.
#[test]
fn foreign_characters() {
    for collation in Collation::ALL {
        let _ = collation.like("a😀\u{80}", "%Ω_", Some('😀'));
        let _ = collation.find("a😀", "Ω");
        let _ = (collation.upper("Ω😀"), collation.lower("Ω😀"));
        assert_eq!(collation.compare("Ω😀", "Ω😀"), Ordering::Equal);
    }
    assert_eq!(Collation::Latin1SwedishCi.compare("\u{80}", "ÿ"), Ordering::Greater);
}
