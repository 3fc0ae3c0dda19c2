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
//! - the `_bin` ones: code points.
//!
//! A PAD SPACE collation compares as if the shorter string went on with spaces. A tab sorts before a space, so "a\t" is
//! less than "a": trimming alone would not order keys so. A key therefore has three codes for a space: the end of the
//! string (an endless run of spaces) lies between a space followed by something smaller and one followed by something
//! larger.
//!
//! An ICU collator was rejected: its sort keys change with its data, and its order of levels costs more than the whole
//! comparison of two ASCII strings.

mod matching;
mod tables;
mod weights;

use std::borrow::Cow;
use std::cmp::Ordering;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::wire::{Reader, Wire, WireError};
pub use matching::like_bytes;
use weights::{
    compare_first_ascii, general_weight, primary_weights, put_accents_and_case, put_code_point,
    put_primary,
};

/// The collations that there are.
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
}

impl Collation {
    /// Every collation, as SHOW COLLATION lists them.
    pub const ALL: [Collation; 7] = [
        Collation::Binary,
        Collation::Utf8mb40900AiCi,
        Collation::Utf8mb40900AsCs,
        Collation::Utf8mb40900Bin,
        Collation::Utf8mb4Bin,
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4UnicodeCi,
    ];
    /// The server's default.
    pub const DEFAULT: Collation = Collation::Utf8mb40900AiCi;

    /// By MySQL's name, in any case.
    pub fn by_name(name: &str) -> Option<Collation> {
        Collation::ALL.into_iter().find(|c| c.name().eq_ignore_ascii_case(name))
    }
    /// By MySQL's number.
    pub fn by_id(id: u16) -> Option<Collation> {
        Collation::ALL.into_iter().find(|collation| collation.id() == id)
    }
    /// The default collation of a character set that text may have, by its name in any case.
    pub fn default_of_charset(charset: &str) -> Option<Collation> {
        let is = |name: &str| charset.eq_ignore_ascii_case(name);
        if is("utf8mb4") {
            Some(Collation::Utf8mb40900AiCi)
        } else if is("binary") {
            Some(Collation::Binary)
        } else {
            None
        }
    }
    pub fn name(self) -> &'static str {
        match self {
            Collation::Binary => "binary",
            Collation::Utf8mb4GeneralCi => "utf8mb4_general_ci",
            Collation::Utf8mb4Bin => "utf8mb4_bin",
            Collation::Utf8mb4UnicodeCi => "utf8mb4_unicode_ci",
            Collation::Utf8mb40900AiCi => "utf8mb4_0900_ai_ci",
            Collation::Utf8mb40900AsCs => "utf8mb4_0900_as_cs",
            Collation::Utf8mb40900Bin => "utf8mb4_0900_bin",
        }
    }
    /// MySQL's number.
    pub fn id(self) -> u16 {
        match self {
            Collation::Binary => 63,
            Collation::Utf8mb4GeneralCi => 45,
            Collation::Utf8mb4Bin => 46,
            Collation::Utf8mb4UnicodeCi => 224,
            Collation::Utf8mb40900AiCi => 255,
            Collation::Utf8mb40900AsCs => 278,
            Collation::Utf8mb40900Bin => 309,
        }
    }
    pub fn charset_name(self) -> &'static str {
        if self.is_binary() { "binary" } else { "utf8mb4" }
    }
    /// Whether trailing spaces do not count.
    pub fn is_pad_space(self) -> bool {
        match self {
            Collation::Utf8mb4GeneralCi | Collation::Utf8mb4Bin | Collation::Utf8mb4UnicodeCi => {
                true
            }
            Collation::Binary
            | Collation::Utf8mb40900AiCi
            | Collation::Utf8mb40900AsCs
            | Collation::Utf8mb40900Bin => false,
        }
    }
    /// Whether it is the default of its character set.
    pub fn is_default(self) -> bool {
        matches!(self, Collation::Binary | Collation::Utf8mb40900AiCi)
    }
    /// Whether it is the collation of byte strings.
    pub fn is_binary(self) -> bool {
        self == Collation::Binary
    }
    pub fn is_case_sensitive(self) -> bool {
        match self {
            Collation::Utf8mb4GeneralCi
            | Collation::Utf8mb4UnicodeCi
            | Collation::Utf8mb40900AiCi => false,
            Collation::Binary
            | Collation::Utf8mb4Bin
            | Collation::Utf8mb40900AsCs
            | Collation::Utf8mb40900Bin => true,
        }
    }

    /// Orders two strings.
    pub fn compare(self, left: &str, right: &str) -> Ordering {
        if left == right {
            return Ordering::Equal;
        }
        match self {
            Collation::Binary | Collation::Utf8mb40900Bin => left.cmp(right),
            Collation::Utf8mb4Bin => {
                let (left, right) = without_common_start(left, right);
                compare_padded(left.chars().map(u32::from), right.chars().map(u32::from), 0x20)
            }
            Collation::Utf8mb4GeneralCi => {
                let (left, right) = without_common_start(left, right);
                compare_padded(
                    left.chars().map(general_weight),
                    right.chars().map(general_weight),
                    0x20,
                )
            }
            Collation::Utf8mb4UnicodeCi => {
                let (left, right) = without_common_start(left, right);
                if let Some(order) = compare_first_ascii(left, right) {
                    return order;
                }
                let (left, right) = (composed(left), composed(right));
                compare_padded(primary_weights(&left), primary_weights(&right), weights::SPACE)
            }
            Collation::Utf8mb40900AiCi => {
                let (left, right) = without_common_start(left, right);
                if let Some(order) = compare_first_ascii(left, right) {
                    return order;
                }
                let (left, right) = (composed(left), composed(right));
                primary_weights(&left).cmp(primary_weights(&right))
            }
            Collation::Utf8mb40900AsCs => {
                let (left, right) = (composed(left), composed(right));
                primary_weights(&left).cmp(primary_weights(&right)).then_with(|| {
                    let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
                    put_accents_and_case(&left, &mut left_key);
                    put_accents_and_case(&right, &mut right_key);
                    left_key.cmp(&right_key)
                })
            }
        }
    }
    pub fn equal(self, left: &str, right: &str) -> bool {
        self.compare(left, right) == Ordering::Equal
    }
    /// Appends the bytes that stand for the string: their byte order is [`compare`](Self::compare)'s order.
    pub fn sort_key(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Collation::Binary | Collation::Utf8mb40900Bin => out.extend_from_slice(text.as_bytes()),
            Collation::Utf8mb4Bin => {
                put_padded(text.chars().map(u32::from), 0x20, put_code_point, out);
            }
            Collation::Utf8mb4GeneralCi => {
                put_padded(text.chars().map(general_weight), 0x20, put_code_point, out);
            }
            Collation::Utf8mb4UnicodeCi => {
                let text = composed(text);
                put_padded(primary_weights(&text), weights::SPACE, put_primary, out);
            }
            Collation::Utf8mb40900AiCi if text.is_ascii() => weights::put_ascii(text, out),
            Collation::Utf8mb40900AiCi => {
                let text = composed(text);
                primary_weights(&text).for_each(|weight| put_primary(Coded::Weight(weight), out));
            }
            Collation::Utf8mb40900AsCs => {
                let text = composed(text);
                primary_weights(&text).for_each(|weight| put_primary(Coded::Weight(weight), out));
                put_accents_and_case(&text, out);
            }
        }
    }

    /// Lower case, a character for a character; byte strings stay as they are.
    pub fn lower(self, text: &str) -> String {
        self.map_case(text, str::to_ascii_lowercase, |c| single(c.to_lowercase(), c))
    }
    /// Upper case, a character for a character (ß stays); byte strings stay as they are.
    pub fn upper(self, text: &str) -> String {
        self.map_case(text, str::to_ascii_uppercase, |c| single(c.to_uppercase(), c))
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
