//! Collations: how strings compare, match and hash.
//!
//! A collation gives every character a sequence of weights, and strings compare by their weights. [`Collation::sort_key`]
//! writes the weights as bytes whose byte order is the collation's order, equal exactly when the strings are equal, so
//! that indexes, sorts, groups and hashes only ever see bytes. Sort keys decide where rows live and how indexes are
//! ordered, on every replica and on disk, for ever. Hence the weights are our own: tables in `tables` that never change,
//! and character decompositions and case pairs, which Unicode promises not to change for characters that exist. A
//! character that some later Unicode version adds sorts by code point until the libraries know it; moving the pinned
//! `unicode-normalization` or the compiler past that version would move only such characters.
//!
//! - `utf8mb4_0900_ai_ci` (and `_unicode_ci`, which pads): primary weights of the Unicode Collation Algorithm.
//!   Characters decompose, marks and case do not count, æ is ae, kana are one. Order is the algorithm's for white space,
//!   ASCII punctuation, digits and the Latin letters of European languages; other symbols come before digits, other
//!   scripts after Latin, both by code point, which is near the algorithm's order but not in it for every script. There
//!   are no contractions beyond canonical equivalence (strings are taken in NFC).
//! - `utf8mb4_0900_as_cs`: the same, then marks, then case.
//! - `utf8mb4_general_ci`: one weight a character, its upper-case letter without marks; ß is s; all characters beyond
//!   the basic plane are equal, as in MySQL.
//! - `utf8mb4_0900_as_ci`: primary weights, then marks, and letters that are another one with a
//!   stroke or a ligature.
//! - `utf8mb4_unicode_520_ci`: as `utf8mb4_unicode_ci`, but most Cyrillic letters with accents are
//!   letters of their own. The collations of utf8mb3 are as those of utf8mb4.
//! - the ones of latin1 and ascii: MySQL's weights of the 256 codes (`eight_bit`).
//! - the `_bin` ones: code points, or codes of latin1.
//!
//! A PAD SPACE collation compares as if the shorter string went on with spaces. A tab sorts before a space, so "a\t" is
//! less than "a": trimming alone would not order keys so. A key therefore has three codes for a space: the end of the
//! string (an endless run of spaces) lies between a space followed by something smaller and one followed by something
//! larger.
//!
//! An ICU collator was rejected: its sort keys change with its data, and its order of levels costs more than the whole
//! comparison of two ASCII strings.

mod eight_bit;
mod matching;
mod tables;
mod weights;

use std::borrow::Cow;
use std::cmp::Ordering;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::charset::{Charset, names};
use crate::wire::{Reader, Wire, WireError};
pub use matching::like_bytes;
use weights::{
    Version, compare_first_ascii, general_weight, primary_weights, put_accents,
    put_accents_and_case, put_code_point, put_primary,
};

/// The collations that there are. New ones are added at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Collation {
    Binary,
    Utf8mb4GeneralCi,
    Utf8mb4Bin,
    Utf8mb4UnicodeCi,
    #[default]
    Utf8mb40900AiCi,
    Utf8mb40900AsCs,
    Utf8mb40900Bin,
    Utf8mb40900AsCi,
    Utf8mb4Unicode520Ci,
    Utf8mb3GeneralCi,
    Utf8mb3Bin,
    Utf8mb3UnicodeCi,
    Utf8mb3Unicode520Ci,
    Latin1SwedishCi,
    Latin1GeneralCi,
    Latin1GeneralCs,
    Latin1Bin,
    Latin1German1Ci,
    Latin1German2Ci,
    Latin1DanishCi,
    Latin1SpanishCi,
    AsciiGeneralCi,
    AsciiBin,
}

/// What decides the order of a collation.
#[derive(Clone, Copy)]
enum Order {
    /// The bytes of UTF-8.
    Bytes,
    /// Code points, with padding.
    CodePoints,
    /// One weight a character, with padding.
    General,
    /// Primary weights, with or without padding.
    Primary { pads: bool, version: Version },
    /// Primary weights, then accents.
    Accents,
    /// Primary weights, then accents, then case.
    Case,
    /// A table of the codes of latin1, with padding.
    EightBit(&'static eight_bit::Weights),
    /// The same, where some codes are two weights.
    German2,
}

/// What MySQL says of a collation: its number, name, character set, PAD SPACE, case-sensitivity and
/// "sortlen".
struct Properties {
    id: u16,
    name: &'static str,
    charset: Charset,
    is_pad_space: bool,
    is_case_sensitive: bool,
    sort_length: u8,
}

/// By the place in [`Collation`].
#[rustfmt::skip]
static PROPERTIES: [Properties; 23] = {
    use Charset::*;
    const fn own(
        id: u16, name: &'static str, charset: Charset, is_pad_space: bool, is_case_sensitive: bool, sort_length: u8,
    ) -> Properties {
        Properties { id, name, charset, is_pad_space, is_case_sensitive, sort_length }
    }
    [
        own(63, "binary", Binary, false, true, 1),
        own(45, "utf8mb4_general_ci", Utf8mb4, true, false, 1),
        own(46, "utf8mb4_bin", Utf8mb4, true, true, 1),
        own(224, "utf8mb4_unicode_ci", Utf8mb4, true, false, 8),
        own(255, "utf8mb4_0900_ai_ci", Utf8mb4, false, false, 0),
        own(278, "utf8mb4_0900_as_cs", Utf8mb4, false, true, 0),
        own(309, "utf8mb4_0900_bin", Utf8mb4, false, true, 1),
        own(305, "utf8mb4_0900_as_ci", Utf8mb4, false, false, 0),
        own(246, "utf8mb4_unicode_520_ci", Utf8mb4, true, false, 8),
        own(33, "utf8mb3_general_ci", Utf8mb3, true, false, 1),
        own(83, "utf8mb3_bin", Utf8mb3, true, true, 1),
        own(192, "utf8mb3_unicode_ci", Utf8mb3, true, false, 8),
        own(214, "utf8mb3_unicode_520_ci", Utf8mb3, true, false, 8),
        own(8, "latin1_swedish_ci", Latin1, true, false, 1),
        own(48, "latin1_general_ci", Latin1, true, false, 1),
        own(49, "latin1_general_cs", Latin1, true, true, 1),
        own(47, "latin1_bin", Latin1, true, true, 1),
        own(5, "latin1_german1_ci", Latin1, true, false, 1),
        own(31, "latin1_german2_ci", Latin1, true, false, 2),
        own(15, "latin1_danish_ci", Latin1, true, false, 1),
        own(94, "latin1_spanish_ci", Latin1, true, false, 1),
        own(11, "ascii_general_ci", Ascii, true, false, 1),
        own(65, "ascii_bin", Ascii, true, true, 1),
    ]
};

static BY_ID: [Option<Collation>; 310] = {
    let mut table = [None; 310];
    let mut index = 0;
    while index < Collation::ALL.len() {
        let own = Collation::ALL[index];
        table[PROPERTIES[own as usize].id as usize] = Some(own);
        index += 1;
    }
    table
};

impl Collation {
    /// Every collation, as SHOW COLLATION lists them: by name.
    pub const ALL: [Collation; 23] = [
        Collation::AsciiBin,
        Collation::AsciiGeneralCi,
        Collation::Binary,
        Collation::Latin1Bin,
        Collation::Latin1DanishCi,
        Collation::Latin1GeneralCi,
        Collation::Latin1GeneralCs,
        Collation::Latin1German1Ci,
        Collation::Latin1German2Ci,
        Collation::Latin1SpanishCi,
        Collation::Latin1SwedishCi,
        Collation::Utf8mb3Bin,
        Collation::Utf8mb3GeneralCi,
        Collation::Utf8mb3Unicode520Ci,
        Collation::Utf8mb3UnicodeCi,
        Collation::Utf8mb40900AiCi,
        Collation::Utf8mb40900AsCi,
        Collation::Utf8mb40900AsCs,
        Collation::Utf8mb40900Bin,
        Collation::Utf8mb4Bin,
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4Unicode520Ci,
        Collation::Utf8mb4UnicodeCi,
    ];
    /// The server's default.
    pub const DEFAULT: Collation = Collation::Utf8mb40900AiCi;

    fn properties(self) -> &'static Properties {
        &PROPERTIES[self as usize]
    }
    /// By MySQL's name, in any case; `utf8_bin` is an old name of `utf8mb3_bin`.
    pub fn by_name(name: &str) -> Option<Collation> {
        let name = names::without_old_name(name);
        Collation::ALL.into_iter().find(|collation| collation.name() == name)
    }
    /// By MySQL's number. Every text in a message has one, so it is looked up in a table.
    pub fn by_id(id: u16) -> Option<Collation> {
        *BY_ID.get(usize::from(id))?
    }
    /// The default collation of a character set, by its name in any case.
    pub fn default_of_charset(charset: &str) -> Option<Collation> {
        Charset::by_name(charset).map(Charset::default_collation)
    }
    pub fn name(self) -> &'static str {
        self.properties().name
    }
    /// MySQL's number.
    pub fn id(self) -> u16 {
        self.properties().id
    }
    /// The characters that its texts may have, and their bytes.
    pub fn charset(self) -> Charset {
        self.properties().charset
    }
    pub fn charset_name(self) -> &'static str {
        self.charset().name()
    }
    /// Whether trailing spaces do not count.
    pub fn is_pad_space(self) -> bool {
        self.properties().is_pad_space
    }
    /// Whether it is the default of its character set.
    pub fn is_default(self) -> bool {
        self == self.charset().default_collation()
    }
    /// Whether it is the collation of byte strings.
    pub fn is_binary(self) -> bool {
        self == Collation::Binary
    }
    /// Whether it compares by codes: one of the `_bin` ones, or that of byte strings.
    pub fn is_bin(self) -> bool {
        self.name().ends_with("bin") || self.is_binary()
    }
    pub fn is_case_sensitive(self) -> bool {
        self.properties().is_case_sensitive
    }
    /// The "sortlen" of SHOW COLLATION.
    pub fn sort_length(self) -> u8 {
        self.properties().sort_length
    }

    fn order(self) -> Order {
        match self {
            Collation::Binary | Collation::Utf8mb40900Bin => Order::Bytes,
            Collation::Utf8mb4Bin | Collation::Utf8mb3Bin | Collation::AsciiBin => {
                Order::CodePoints
            }
            Collation::Utf8mb4GeneralCi | Collation::Utf8mb3GeneralCi => Order::General,
            Collation::Utf8mb40900AiCi => Order::Primary { pads: false, version: Version::Latest },
            Collation::Utf8mb4UnicodeCi | Collation::Utf8mb3UnicodeCi => {
                Order::Primary { pads: true, version: Version::Latest }
            }
            Collation::Utf8mb4Unicode520Ci | Collation::Utf8mb3Unicode520Ci => {
                Order::Primary { pads: true, version: Version::V520 }
            }
            Collation::Utf8mb40900AsCi => Order::Accents,
            Collation::Utf8mb40900AsCs => Order::Case,
            Collation::Latin1SwedishCi => Order::EightBit(&eight_bit::SWEDISH),
            Collation::Latin1GeneralCi => Order::EightBit(&eight_bit::GENERAL_CI),
            Collation::Latin1GeneralCs => Order::EightBit(&eight_bit::GENERAL_CS),
            Collation::Latin1Bin => Order::EightBit(&eight_bit::CODES),
            Collation::Latin1German1Ci => Order::EightBit(&eight_bit::GERMAN1),
            Collation::Latin1German2Ci => Order::German2,
            Collation::Latin1DanishCi => Order::EightBit(&eight_bit::DANISH),
            Collation::Latin1SpanishCi => Order::EightBit(&eight_bit::SPANISH),
            Collation::AsciiGeneralCi => Order::EightBit(&eight_bit::UPPER_ASCII),
        }
    }
    /// Whether an index on the first characters of a text may bound a search for it. Ä is AE in
    /// `latin1_german2_ci`, so the first character of 'ä' and that of its equal 'ae' have different
    /// keys. The same is true of ß and æ in the Unicode collations, whose indexes are used all the
    /// same: such a search misses those letters at the end of the prefix.
    pub fn has_prefix_keys(self) -> bool {
        !matches!(self.order(), Order::German2)
    }
    /// Bytes of a sort key for each byte of a text as UTF-8, at most, where escapes may double
    /// each: U+FDFA has 18 weights for its three bytes, and where accents and case count they are
    /// three lists.
    pub(crate) fn key_bytes_per_text_byte(self) -> usize {
        match self.order() {
            Order::Bytes
            | Order::CodePoints
            | Order::General
            | Order::EightBit(_)
            | Order::German2 => 4,
            Order::Primary { .. } => 20,
            Order::Accents | Order::Case => 80,
        }
    }

    /// Orders two strings.
    pub fn compare(self, left: &str, right: &str) -> Ordering {
        if left == right {
            return Ordering::Equal;
        }
        match self.order() {
            Order::Bytes => left.cmp(right),
            Order::CodePoints => {
                let (left, right) = without_common_start(left, right);
                compare_padded(left.chars().map(u32::from), right.chars().map(u32::from), 0x20)
            }
            Order::General => {
                let (left, right) = without_common_start(left, right);
                compare_padded(
                    left.chars().map(general_weight),
                    right.chars().map(general_weight),
                    0x20,
                )
            }
            Order::Primary { pads, version } => {
                let (left, right) = without_common_start(left, right);
                if let Some(order) = compare_first_ascii(left, right) {
                    return order;
                }
                let (left, right) = (composed(left), composed(right));
                let left = primary_weights(&left, version);
                let right = primary_weights(&right, version);
                match pads {
                    true => compare_padded(left, right, weights::SPACE),
                    false => left.cmp(right),
                }
            }
            Order::Accents | Order::Case => {
                let (left, right) = (composed(left), composed(right));
                let weights = |text| primary_weights(text, Version::Latest);
                weights(&left).cmp(weights(&right)).then_with(|| {
                    let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
                    let put = match self.order() {
                        Order::Case => put_accents_and_case,
                        _ => put_accents,
                    };
                    put(&left, &mut left_key);
                    put(&right, &mut right_key);
                    left_key.cmp(&right_key)
                })
            }
            Order::EightBit(weights) => {
                let (left, right) = without_common_start(left, right);
                let weight = |character| eight_bit::weight(weights, character);
                compare_padded(left.chars().map(weight), right.chars().map(weight), 0x20)
            }
            Order::German2 => {
                let (left, right) = without_common_start(left, right);
                let weights = |text| eight_bit::german2_weights(text);
                compare_padded(weights(left), weights(right), 0x20)
            }
        }
    }
    pub fn equal(self, left: &str, right: &str) -> bool {
        self.compare(left, right) == Ordering::Equal
    }
    /// Appends the bytes that stand for the string: their byte order is [`compare`](Self::compare)'s order.
    pub fn sort_key(self, text: &str, out: &mut Vec<u8>) {
        match self.order() {
            Order::Bytes => out.extend_from_slice(text.as_bytes()),
            Order::CodePoints => {
                put_padded(text.chars().map(u32::from), 0x20, put_code_point, out);
            }
            Order::General => {
                put_padded(text.chars().map(general_weight), 0x20, put_code_point, out);
            }
            Order::Primary { pads: true, version } => {
                let text = composed(text);
                put_padded(primary_weights(&text, version), weights::SPACE, put_primary, out);
            }
            Order::Primary { pads: false, .. } if text.is_ascii() => weights::put_ascii(text, out),
            Order::Primary { pads: false, .. } | Order::Accents | Order::Case => {
                let text = composed(text);
                primary_weights(&text, Version::Latest)
                    .for_each(|weight| put_primary(Coded::Weight(weight), out));
                match self.order() {
                    Order::Case => put_accents_and_case(&text, out),
                    Order::Accents => put_accents(&text, out),
                    _ => {}
                }
            }
            Order::EightBit(weights) => {
                let weight = |character| eight_bit::weight(weights, character);
                put_padded(text.chars().map(weight), 0x20, put_code_point, out);
            }
            Order::German2 => {
                put_padded(eight_bit::german2_weights(text), 0x20, put_code_point, out);
            }
        }
    }

    /// Lower case, a character for a character; byte strings stay as they are.
    pub fn lower(self, text: &str) -> String {
        match self.charset() {
            Charset::Latin1 => self.map_case(text, str::to_ascii_lowercase, eight_bit::lower),
            _ => self.map_case(text, str::to_ascii_lowercase, |c| single(c.to_lowercase(), c)),
        }
    }
    /// Upper case, a character for a character (ß stays); byte strings stay as they are.
    pub fn upper(self, text: &str) -> String {
        match self.charset() {
            Charset::Latin1 => self.map_case(text, str::to_ascii_uppercase, eight_bit::upper),
            _ => self.map_case(text, str::to_ascii_uppercase, |c| single(c.to_uppercase(), c)),
        }
    }
    fn map_case(
        self,
        text: &str,
        ascii: impl Fn(&str) -> String,
        map: impl Fn(char) -> char,
    ) -> String {
        if self.is_binary() {
            text.to_owned()
        } else if text.is_ascii() {
            ascii(text)
        } else {
            text.chars().map(map).collect()
        }
    }
}

/// The one character a case mapping gives, or the character itself if it gives several.
fn single(mut mapped: impl Iterator<Item = char>, otherwise: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => otherwise,
    }
}

/// Cuts the ASCII both strings begin with. Weights of ASCII characters do not depend on what follows, and a mark that
/// follows weighs nothing with or without its letter.
fn without_common_start<'a>(left: &'a str, right: &'a str) -> (&'a str, &'a str) {
    let same = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b && a.is_ascii()).count();
    (&left[same..], &right[same..])
}

/// The string in normal form C, so that canonically equivalent strings are one.
fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// Compares as if the shorter sequence went on with `space` for ever.
fn compare_padded(
    mut left: impl Iterator<Item = u32>,
    mut right: impl Iterator<Item = u32>,
    space: u32,
) -> Ordering {
    loop {
        let (a, b) = (left.next(), right.next());
        if a.is_none() && b.is_none() {
            return Ordering::Equal;
        }
        match a.unwrap_or(space).cmp(&b.unwrap_or(space)) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
}

/// A weight as a key writes it: a space needs to say what comes after its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coded {
    Weight(u32),
    SpaceBeforeLess,
    /// Spaces up to the end: at the end of every padded key, and a plain space of keys that do not pad.
    SpacesToEnd,
    SpaceBeforeGreater,
}

fn put_padded(
    weights: impl Iterator<Item = u32>,
    space: u32,
    put: impl Fn(Coded, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    let mut spaces = 0usize;
    for weight in weights {
        if weight == space {
            spaces += 1;
            continue;
        }
        let coded = if weight < space { Coded::SpaceBeforeLess } else { Coded::SpaceBeforeGreater };
        (0..spaces).for_each(|_| put(coded, out));
        spaces = 0;
        put(Coded::Weight(weight), out);
    }
    put(Coded::SpacesToEnd, out);
}

impl Wire for Collation {
    fn encode(&self, out: &mut Vec<u8>) {
        self.id().encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let id = u16::decode(input)?;
        Collation::by_id(id).ok_or(WireError::BadTag("Collation"))
    }
}

#[cfg(test)]
pub(crate) mod tests;
