//! Character sets: of connections, of literals, and of the text in columns.
//!
//! Text is UTF-8 in memory, in rows and between nodes. The character set of a text is a property of
//! its collation ([`Collation::charset`]). It says which characters the text may have, and which
//! bytes it has wherever SQL sees bytes: LENGTH, HEX, digests, byte strings, the limits of columns,
//! and clients. A character that a character set lacks becomes `?` where MySQL converts silently;
//! the store of a column refuses it. Character sets in which a byte below 0x80 may be part of a
//! longer character (sjis, ucs2, ...) could not be lexed and are not served; MySQL refuses some of
//! them as well.

pub mod names;

use std::borrow::Cow;

use crate::Collation;

/// A character set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Charset {
    #[default]
    Utf8mb4,
    Utf8mb3,
    Latin1,
    Ascii,
    /// Bytes: nothing is converted.
    Binary,
}

/// MySQL's latin1 has at 0x80 to 0x9f the characters of Windows' code page 1252, and controls in its gaps.
const LATIN1_HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

const UNMAPPABLE: u8 = b'?';

impl Charset {
    /// Every character set, as SHOW CHARACTER SET lists them.
    pub const ALL: [Charset; 5] =
        [Charset::Ascii, Charset::Binary, Charset::Latin1, Charset::Utf8mb3, Charset::Utf8mb4];

    /// A character set that the engine serves, by its name in any case.
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
    /// Its name and MySQL's description of it, as SHOW CHARACTER SET has them.
    pub fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Latin1 => "cp1252 West European",
            Charset::Ascii => "US ASCII",
            Charset::Binary => "Binary pseudo charset",
        }
    }
    pub fn default_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::Utf8mb40900AiCi,
            Charset::Utf8mb3 => Collation::Utf8mb3GeneralCi,
            Charset::Latin1 => Collation::Latin1SwedishCi,
            Charset::Ascii => Collation::AsciiGeneralCi,
            Charset::Binary => Collation::Binary,
        }
    }
    /// The collation that compares by codes: what the attribute BINARY means.
    pub fn bin_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::Utf8mb4Bin,
            Charset::Utf8mb3 => Collation::Utf8mb3Bin,
            Charset::Latin1 => Collation::Latin1Bin,
            Charset::Ascii => Collation::AsciiBin,
            Charset::Binary => Collation::Binary,
        }
    }
    /// Whether every character of the basic plane is in it.
    pub fn is_unicode(self) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Utf8mb3)
    }
    /// Bytes of its longest character.
    pub fn character_size_max(self) -> u32 {
        match self {
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
            Charset::Latin1 | Charset::Ascii | Charset::Binary => 1,
        }
    }
    /// Bytes of its longest character as UTF-8.
    pub fn utf8_size_max(self) -> u32 {
        match self {
            Charset::Utf8mb4 | Charset::Binary => 4,
            // The euro sign.
            Charset::Utf8mb3 | Charset::Latin1 => 3,
            Charset::Ascii => 1,
        }
    }
    /// Whether the character is in it.
    pub fn can_hold(self, character: char) -> bool {
        match self {
            Charset::Utf8mb4 | Charset::Binary => true,
            Charset::Utf8mb3 => u32::from(character) <= 0xFFFF,
            Charset::Latin1 => latin1_code(character).is_some(),
            Charset::Ascii => character.is_ascii(),
        }
    }
    /// The bytes of `text` before its first character that is not in the character set.
    pub fn held_prefix(self, text: &str) -> usize {
        if self.is_verbatim() || text.is_ascii() {
            return text.len();
        }
        text.find(|character| !self.can_hold(character)).unwrap_or(text.len())
    }
    /// Whether every character of `text` is in it.
    pub fn holds(self, text: &str) -> bool {
        self.held_prefix(text) == text.len()
    }
    /// Bytes that `text` has in it.
    pub fn size_of(self, text: &str) -> usize {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary => text.len(),
            Charset::Latin1 | Charset::Ascii if text.is_ascii() => text.len(),
            Charset::Latin1 | Charset::Ascii => text.chars().count(),
        }
    }
    /// The bytes of `text`, as UTF-8, that its first `count` bytes in the character set are, whole
    /// characters only.
    pub fn prefix_of_size(self, text: &str, count: usize) -> usize {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary => {
                text.floor_char_boundary(count)
            }
            Charset::Latin1 | Charset::Ascii => {
                text.char_indices().nth(count).map_or(text.len(), |(end, _)| end)
            }
        }
    }
    /// `text` with `?` for each character that is not in it.
    pub fn replace_missing(self, text: &str) -> Cow<'_, str> {
        if self.holds(text) {
            return Cow::Borrowed(text);
        }
        let held = |character| if self.can_hold(character) { character } else { '?' };
        Cow::Owned(text.chars().map(held).collect())
    }
    /// Bytes of this character set as text. The error is the length of the bytes that begin them
    /// and are well formed.
    pub fn decode_exactly(self, bytes: &[u8]) -> Result<Cow<'_, str>, usize> {
        let prefix = match self {
            Charset::Latin1 if !bytes.is_ascii() => {
                return Ok(Cow::Owned(bytes.iter().map(|&byte| latin1_character(byte)).collect()));
            }
            Charset::Ascii => bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(bytes.len()),
            _ => bytes.len(),
        };
        let text = match std::str::from_utf8(&bytes[..prefix]) {
            Ok(text) if self == Charset::Utf8mb3 => match self.held_prefix(text) {
                held if held == text.len() => text,
                held => return Err(held),
            },
            Ok(text) => text,
            Err(error) => {
                let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]);
                return Err(self.held_prefix(valid.expect("valid up to here")));
            }
        };
        if prefix < bytes.len() { Err(prefix) } else { Ok(Cow::Borrowed(text)) }
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

/// The character of a code of latin1: each has one.
pub(crate) fn latin1_character(byte: u8) -> char {
    match byte {
        0x80..=0x9f => LATIN1_HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// The code of a character in latin1, if it has one.
pub(crate) fn latin1_code(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ (0..=0x7f | 0xa0..=0xff) => Some(code as u8),
        _ => {
            let index = LATIN1_HIGH.iter().position(|&high| high == character)?;
            Some(0x80 + index as u8)
        }
    }
}

fn latin1_byte(character: char) -> u8 {
    latin1_code(character).unwrap_or(UNMAPPABLE)
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

    /// Which characters there are, and how many bytes they have.
    #[test]
    fn characters() {
        use Charset::*;
        for (charset, text, held, size) in [
            (Utf8mb4, "aé€😀", 10, 10),
            (Utf8mb3, "aé€😀", 6, 10),
            (Latin1, "aé€Ω", 6, 4),
            (Latin1, "\u{81}\u{80}", 2, 2),
            (Ascii, "aé", 1, 2),
            (Binary, "é😀", 6, 6),
        ] {
            assert_eq!(charset.held_prefix(text), held, "{charset:?} {text}");
            assert_eq!(charset.holds(text), held == text.len(), "{charset:?} {text}");
            assert_eq!(charset.size_of(text), size, "{charset:?} {text}");
            let replaced = charset.replace_missing(text);
            assert!(charset.holds(&replaced));
            assert_eq!(replaced.chars().count(), text.chars().count());
        }
        assert_eq!(Latin1.prefix_of_size("é€ab", 2), 5);
        assert_eq!(Utf8mb4.prefix_of_size("é€ab", 3), 2);
        assert_eq!(Ascii.prefix_of_size("ab", 3), 2);
    }

    /// Every byte of latin1 is one character and comes back; the others tell where they end being
    /// well formed.
    #[test]
    fn exact_bytes() {
        use Charset::*;
        for byte in 0..=255u8 {
            let text =
                Latin1.decode_exactly(&[byte]).expect("all bytes are characters").into_owned();
            assert_eq!(&*Latin1.encode(&text), &[byte], "{byte:02x}");
            assert!(Latin1.holds(&text));
            assert_eq!(Latin1.size_of(&text), 1);
            assert!(text.len() <= Latin1.utf8_size_max() as usize);
        }
        for (charset, bytes, expected) in [
            (Ascii, &b"ab"[..], Ok("ab")),
            (Ascii, &b"a\xe9b"[..], Err(1)),
            (Utf8mb4, "a😀".as_bytes(), Ok("a😀")),
            (Utf8mb4, &b"a\xe9b"[..], Err(1)),
            (Utf8mb3, "é😀".as_bytes(), Err(2)),
            (Utf8mb3, &b"\xf0\x9f\x98\x80\xff"[..], Err(0)),
            (Utf8mb3, &b"a\xff"[..], Err(1)),
            (Binary, "é".as_bytes(), Ok("é")),
        ] {
            let decoded = charset.decode_exactly(bytes);
            assert_eq!(
                decoded.as_deref().map_err(|valid| *valid),
                expected,
                "{charset:?} {bytes:?}"
            );
        }
    }

    /// Names and numbers agree with the table of names.
    #[test]
    fn names_and_numbers() {
        use Charset::*;
        for charset in [Utf8mb4, Utf8mb3, Latin1, Ascii, Binary] {
            assert_eq!(Charset::by_name(charset.name()), Some(charset));
            let id = charset.default_collation().id();
            assert_eq!(names::charset_of_number(id), Some(charset.name()));
            assert!(charset.default_collation().is_default());
            assert_eq!(charset.bin_collation().charset(), charset);
        }
        assert_eq!(Charset::by_name("UTF8"), Some(Utf8mb3));
        assert_eq!(Charset::by_name("latin2"), None);
    }
}
