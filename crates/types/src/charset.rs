//! Character sets that a client may write and read in.
//!
//! Inside the engine text is UTF-8, and the character set of columns and expressions is utf8mb4 or binary. A client may
//! use another one on its connection: its text is decoded, its results are encoded, and a character that the other
//! side does not have becomes `?`, as in MySQL. Character sets in which a byte below 0x80 may be part of a longer
//! character (sjis, ucs2, ...) could not be lexed and are not served; MySQL refuses some of them as well.

pub mod names;

use std::borrow::Cow;

use crate::Collation;

/// A character set of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Charset {
    #[default]
    Utf8mb4,
    Utf8mb3,
    Latin1,
    Ascii,
    /// Nothing is converted.
    Binary,
}

/// MySQL's latin1 has at 0x80 to 0x9f the characters of Windows' code page 1252, and controls in its gaps.
const LATIN1_HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

const UNMAPPABLE: u8 = b'?';

impl Charset {
    /// A character set that the engine serves on connections, by its name in any case.
    pub fn by_name(name: &str) -> Option<Charset> {
        Some(match names::charset_named(name)? {
            "utf8mb4" => Charset::Utf8mb4,
            "utf8mb3" => Charset::Utf8mb3,
            "latin1" => Charset::Latin1,
            "ascii" => Charset::Ascii,
            "binary" => Charset::Binary,
            _ => return None,
        })
    }
    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Latin1 => "latin1",
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
        }
    }
    /// The number of its default collation, which column definitions on the wire carry.
    pub fn default_collation_id(self) -> u16 {
        match self {
            Charset::Utf8mb4 => 255,
            Charset::Utf8mb3 => 33,
            Charset::Latin1 => 8,
            Charset::Ascii => 11,
            Charset::Binary => 63,
        }
    }
    /// The collation that string literals have on a connection in this character set. They are utf8mb4 in all but the
    /// binary one.
    pub fn literal_collation(self) -> Collation {
        match self {
            Charset::Binary => Collation::Binary,
            Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Latin1 | Charset::Ascii => {
                Collation::DEFAULT
            }
        }
    }
    /// Bytes of its longest character.
    pub fn character_size_max(self) -> u32 {
        match self {
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
            Charset::Latin1 | Charset::Ascii | Charset::Binary => 1,
        }
    }
    /// Whether UTF-8 text leaves and enters as it is.
    pub fn is_verbatim(self) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Binary)
    }

    /// What a client wrote, as UTF-8. Of utf8mb4 and binary bytes that are not UTF-8 stay as they are.
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        if self.is_verbatim() || bytes.is_ascii() {
            return Cow::Borrowed(bytes);
        }
        Cow::Owned(match self {
            Charset::Latin1 => {
                let characters = bytes.iter().map(|&byte| latin1_character(byte));
                characters.collect::<String>().into_bytes()
            }
            Charset::Ascii => {
                bytes.iter().map(|byte| if byte.is_ascii() { *byte } else { UNMAPPABLE }).collect()
            }
            Charset::Utf8mb3 => decode_utf8mb3(bytes),
            Charset::Utf8mb4 | Charset::Binary => unreachable!("verbatim"),
        })
    }
    /// UTF-8 text as the client reads it.
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        if self.is_verbatim() || text.is_ascii() {
            return Cow::Borrowed(text.as_bytes());
        }
        Cow::Owned(match self {
            Charset::Latin1 => text.chars().map(latin1_byte).collect(),
            Charset::Ascii => {
                let byte = |character: char| u8::try_from(character).unwrap_or(UNMAPPABLE);
                text.chars()
                    .map(byte)
                    .map(|byte| if byte.is_ascii() { byte } else { UNMAPPABLE })
                    .collect()
            }
            Charset::Utf8mb3 => {
                let basic =
                    |c: char| if u32::from(c) <= 0xFFFF { c } else { char::from(UNMAPPABLE) };
                text.chars().map(basic).collect::<String>().into_bytes()
            }
            Charset::Utf8mb4 | Charset::Binary => unreachable!("verbatim"),
        })
    }
}

fn latin1_character(byte: u8) -> char {
    match byte {
        0x80..=0x9f => LATIN1_HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

fn latin1_byte(character: char) -> u8 {
    match u32::from(character) {
        code @ (0..=0x7f | 0xa0..=0xff) => code as u8,
        _ => match LATIN1_HIGH.iter().position(|&high| high == character) {
            Some(index) => 0x80 + index as u8,
            None => UNMAPPABLE,
        },
    }
}

/// Every byte that is no part of a character of at most three bytes becomes `?`.
fn decode_utf8mb3(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    while !bytes.is_empty() {
        let valid = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("valid so far"),
        };
        for character in valid.chars() {
            let size = character.len_utf8();
            if size <= 3 {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                out.resize(out.len() + size, UNMAPPABLE);
            }
        }
        bytes = &bytes[valid.len()..];
        if !bytes.is_empty() {
            out.push(UNMAPPABLE);
            bytes = &bytes[1..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways, for every character set: a character without a counterpart becomes question marks.
    #[test]
    fn conversions() {
        use Charset::*;
        for (charset, bytes, text) in [
            (Utf8mb4, "aé€😀".as_bytes(), "aé€😀"),
            (Utf8mb3, "aé€".as_bytes(), "aé€"),
            (Utf8mb3, "a😀b".as_bytes(), "a????b"),
            (Utf8mb3, &b"a\xffb\xc3"[..], "a?b?"),
            (Latin1, &b"a\xe9\x80\x81\xff"[..], "aé€\u{81}ÿ"),
            (Ascii, &b"a\xe9b"[..], "a?b"),
            (Binary, "é".as_bytes(), "é"),
        ] {
            assert_eq!(charset.decode(bytes), text.as_bytes(), "{charset:?} {text}");
        }
        for (charset, text, bytes) in [
            (Utf8mb4, "aé😀", "aé😀".as_bytes()),
            (Utf8mb3, "aé😀", "aé?".as_bytes()),
            (Latin1, "aé€Ωÿ", &b"a\xe9\x80?\xff"[..]),
            (Ascii, "aé€", &b"a??"[..]),
            (Binary, "é", "é".as_bytes()),
        ] {
            assert_eq!(charset.encode(text), bytes, "{charset:?} {text}");
        }
        for byte in 0..=255 {
            assert_eq!(latin1_byte(latin1_character(byte)), byte);
        }
        assert_eq!(Latin1.decode(&[0xe9, 0x80]), "é€".as_bytes());
    }

    /// Names and numbers agree with the table of names.
    #[test]
    fn names_and_numbers() {
        use Charset::*;
        for charset in [Utf8mb4, Utf8mb3, Latin1, Ascii, Binary] {
            assert_eq!(Charset::by_name(charset.name()), Some(charset));
            let id = charset.default_collation_id();
            assert_eq!(names::charset_of_number(id), Some(charset.name()));
        }
        assert_eq!(Charset::by_name("UTF8"), Some(Utf8mb3));
        assert_eq!(Charset::by_name("latin2"), None);
    }
}
