//! The weights of characters, and their bytes in keys.
//!
//! A primary weight is one or three bytes, kept left-aligned in a u32 so that numbers order as the bytes do; the first
//! byte tells the size, so no weight's bytes begin another's:
//!
//! ```text
//! 02..06         tab to carriage return
//! 08 09 0a       a space (see `Coded`)
//! 0b..2a         ASCII punctuation in the algorithm's order
//! 40..50 xx xx   other symbols: 40 + the code point's high byte, the rest
//! 60..69         digits
//! 70 72 .. a2    a to z
//! 71 73 .. a1 xx xx   Latin letters that come after a, b, ..., y
//! b0..c0 xx xx   everything else by code point
//! ```
//!
//! Levels of `utf8mb4_0900_as_cs` follow each other, each begun by 01, which is below every byte that begins a weight.

use std::cmp::Ordering;

use unicode_normalization::char::{decompose_canonical, decompose_compatible};

use super::Coded;
use super::tables::{DIGIT_ZEROS, EXPANSIONS, IGNORABLE, LETTERS_AFTER};

/// The primary weight of a space.
pub(super) const SPACE: u32 = 0x09 << 24;
/// ASCII punctuation in the order of the Unicode Collation Algorithm.
const PUNCTUATION: &[u8; 32] = b"_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
const PUNCTUATION_FIRST: u8 = 0x0b;
/// The first byte of a weight of three bytes: see the table above.
const SYMBOL: u32 = 0x40;
const OTHER: u32 = 0xb0;
/// A character decomposes into 18 at most (U+FDFA).
const PIECES_MAX: usize = 18;

/// First bytes of ASCII characters' weights; 0 has no weight.
static ASCII: [u8; 128] = ascii();

const fn ascii() -> [u8; 128] {
    let mut table = [0; 128];
    let mut index = 0;
    while index < 5 {
        table[b'\t' as usize + index] = 0x02 + index as u8;
        index += 1;
    }
    table[b' ' as usize] = 0x09;
    index = 0;
    while index < PUNCTUATION.len() {
        table[PUNCTUATION[index] as usize] = PUNCTUATION_FIRST + index as u8;
        index += 1;
    }
    index = 0;
    while index < 10 {
        table[b'0' as usize + index] = 0x60 + index as u8;
        index += 1;
    }
    index = 0;
    while index < 26 {
        table[b'a' as usize + index] = 0x70 + 2 * index as u8;
        table[b'A' as usize + index] = 0x70 + 2 * index as u8;
        index += 1;
    }
    table
}

fn ascii_weight(byte: u8) -> u32 {
    u32::from(ASCII[usize::from(byte)]) << 24
}

/// The order of two strings if their first characters are ASCII and decide it.
pub(super) fn compare_first_ascii(left: &str, right: &str) -> Option<Ordering> {
    let weight = |text: &str| text.bytes().next().filter(u8::is_ascii).map_or(0, ascii_weight);
    let (left, right) = (weight(left), weight(right));
    (left != right && left != 0 && right != 0).then(|| left.cmp(&right))
}

/// Appends the primary weights of an ASCII string.
pub(super) fn put_ascii(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len());
    out.extend(text.bytes().map(|byte| ASCII[usize::from(byte)]).filter(|&weight| weight != 0));
}

/// One step of a character's weights on all levels.
#[derive(Clone, Copy, Default)]
struct Element {
    /// 0 for a mark or something without any weight.
    primary: u32,
    /// The mark, or 0.
    mark: u32,
    /// The letter, in lower case, that is another one with a stroke, a ligature or so: the
    /// algorithm tells them apart with the accents. Else 0.
    letter: u32,
    /// How the character differs from the plain lower-case one: [`PLAIN`], [`UPPER`], or its own code point.
    variant: u32,
}

const PLAIN: u32 = 0;
const UPPER: u32 = 1;

/// Which version of the algorithm decides about Cyrillic letters with accents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// Only й is a letter of its own.
    Latest,
    /// 5.2: all but those of Е, И, Ж and У with an accent of stress or length are letters of their
    /// own, and ґ is г.
    V520,
}

/// The primary weights of a string in normal form C.
pub(super) fn primary_weights(text: &str, version: Version) -> PrimaryWeights<'_> {
    let pending = [0; PIECES_MAX];
    PrimaryWeights { rest: text, version, pending, pending_count: 0, pending_next: 0 }
}

pub(super) struct PrimaryWeights<'a> {
    rest: &'a str,
    version: Version,
    /// Weights of the character taken last, in order.
    pending: [u32; PIECES_MAX],
    pending_count: u8,
    pending_next: u8,
}

impl Iterator for PrimaryWeights<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            if self.pending_next < self.pending_count {
                self.pending_next += 1;
                return Some(self.pending[usize::from(self.pending_next) - 1]);
            }
            let &byte = self.rest.as_bytes().first()?;
            if byte.is_ascii() {
                self.rest = &self.rest[1..];
                let weight = ascii_weight(byte);
                if weight != 0 {
                    return Some(weight);
                }
                continue;
            }
            let character = self.rest.chars().next().expect("not empty");
            self.rest = &self.rest[character.len_utf8()..];
            self.pending_count = 0;
            self.pending_next = 0;
            if self.version == Version::V520
                && let Some(weight) = cyrillic_520(character)
            {
                return Some(weight);
            }
            elements(character, &mut |element| {
                if element.primary != 0 {
                    self.pending[usize::from(self.pending_count)] = element.primary;
                    self.pending_count += 1;
                }
            });
        }
    }
}

/// The weight of a Cyrillic letter that version 5.2 does not decompose, or has another weight for.
fn cyrillic_520(character: char) -> Option<u32> {
    match character {
        'Ґ' | 'ґ' => Some(single_weight('г')),
        'Ѓ' | 'Ќ' | 'Ї' | 'Ў' | 'Ѷ' | 'Ӑ' | 'Ӓ' | 'Ӗ' | 'Ӛ' | 'Ӝ' | 'Ӟ' | 'Ӥ' | 'Ӧ' | 'Ӫ' | 'Ӭ'
        | 'Ӱ' | 'Ӳ' | 'Ӵ' | 'Ӹ' | 'ѓ' | 'ќ' | 'ї' | 'ў' | 'ѷ' | 'ӑ' | 'ӓ' | 'ӗ' | 'ӛ' | 'ӝ'
        | 'ӟ' | 'ӥ' | 'ӧ' | 'ӫ' | 'ӭ' | 'ӱ' | 'ӳ' | 'ӵ' | 'ӹ' => {
            Some(single_weight(super::single(character.to_lowercase(), character)))
        }
        _ => None,
    }
}

/// Gives the weights of one character, step by step.
fn elements(character: char, emit: &mut impl FnMut(Element)) {
    if character.is_ascii() {
        let variant = if character.is_ascii_uppercase() { UPPER } else { PLAIN };
        emit(Element { primary: ascii_weight(character as u8), variant, ..Element::default() });
        return;
    }
    if keeps_own_weight(character) {
        piece_elements(character, PLAIN, emit);
        return;
    }
    decompose_canonical(character, |canonical| {
        let mut own = true;
        decompose_compatible(canonical, |piece| own &= piece == canonical);
        // Letters that are only compatible (½, ﬁ, full-width letters) are distinguished by their code points, once.
        let mut variant = if own { PLAIN } else { u32::from(canonical) };
        decompose_compatible(canonical, |piece| {
            piece_elements(piece, variant, emit);
            if variant != PLAIN {
                variant = PLAIN;
            }
        });
    });
}

/// Characters whose parts would mislead: short i and the hamza letters are letters of their own, and a spacing accent is a
/// symbol, not a space with a mark.
fn keeps_own_weight(character: char) -> bool {
    if matches!(character, '\u{419}' | '\u{439}' | '\u{622}'..='\u{626}') {
        return true;
    }
    let (mut count, mut starts_with_space) = (0, false);
    decompose_compatible(character, |piece| {
        starts_with_space |= count == 0 && piece == ' ';
        count += 1;
    });
    starts_with_space && count > 1
}

/// The weights of a character that decomposes no further.
fn piece_elements(piece: char, variant: u32, emit: &mut impl FnMut(Element)) {
    let ignorable = IGNORABLE.partition_point(|&(_, last)| last < u32::from(piece));
    if IGNORABLE.get(ignorable).is_some_and(|&(first, _)| first <= u32::from(piece)) {
        // Marks count on the second level; controls and format characters nowhere.
        let counts = !piece.is_control() && !is_format(piece);
        let mark = if counts { u32::from(piece) } else { 0 };
        emit(Element { mark, ..Element::default() });
        return;
    }
    let lower = super::single(piece.to_lowercase(), piece);
    let folded = fold(lower);
    let variant = match variant {
        PLAIN if folded != lower => u32::from(piece),
        PLAIN if lower != piece => UPPER,
        variant => variant,
    };
    if let Ok(index) = EXPANSIONS.binary_search_by_key(&folded, |&(letter, _)| letter) {
        for (position, byte) in EXPANSIONS[index].1.bytes().enumerate() {
            let first = |code: u32| if position == 0 { code } else { PLAIN };
            emit(Element {
                primary: ascii_weight(byte),
                mark: 0,
                letter: first(u32::from(folded)),
                variant: first(u32::from(piece)),
            });
        }
        return;
    }
    // The long s differs from s on the level of accents.
    const LONG_S: u32 = 0x17f;
    let letter = if variant == LONG_S { LONG_S } else { 0 };
    emit(Element { primary: single_weight(folded), mark: 0, letter, variant });
}

/// Brings characters together that differ only below the primary level, beyond case.
fn fold(lower: char) -> char {
    let code = u32::from(lower);
    match lower {
        'ς' => 'σ',
        // Katakana as hiragana, then small kana as large ones.
        'ァ'..='ヶ' => fold(char::from_u32(code - 0x60).expect("hiragana")),
        'ぁ' | 'ぃ' | 'ぅ' | 'ぇ' | 'ぉ' | 'っ' | 'ゃ' | 'ゅ' | 'ょ' | 'ゎ' => {
            char::from_u32(code + 1).expect("the large one follows the small one")
        }
        'ゕ' => 'か',
        'ゖ' => 'け',
        _ => {
            let after = DIGIT_ZEROS.partition_point(|&zero| zero <= code);
            match after.checked_sub(1).map(|index| code - DIGIT_ZEROS[index]) {
                Some(digit @ 0..10) => char::from(b'0' + digit as u8),
                _ => lower,
            }
        }
    }
}

fn is_format(character: char) -> bool {
    matches!(u32::from(character),
        0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f
        | 0xfe00..=0xfe0f | 0xfeff | 0xfff9..=0xfffb | 0xe0001..=0xe01ef)
}

fn is_symbol(code: u32) -> bool {
    matches!(code,
        0x85 | 0xa0..=0xbf | 0xd7 | 0xf7 | 0x2c2..=0x2cf | 0x2d2..=0x2eb | 0x2ed | 0x2ef..=0x2ff | 0x2000..=0x2bff | 0x2e00..=0x2e7f
        | 0x3000..=0x3004 | 0x3008..=0x3020 | 0x3030 | 0x303d..=0x303f | 0x1f000..=0x1fbff)
}

fn single_weight(folded: char) -> u32 {
    if folded.is_ascii() {
        return ascii_weight(folded as u8);
    }
    let code = u32::from(folded);
    let three = |first: u32| (first + (code >> 16)) << 24 | (code & 0xffff) << 8;
    if is_symbol(code) {
        return three(SYMBOL);
    }
    if (0x100..0x2c80).contains(&code) {
        for (letter, followers) in &LETTERS_AFTER {
            if followers.binary_search(&(code as u16)).is_ok() {
                return three(u32::from(ASCII[usize::from(*letter)]) + 1);
            }
        }
    }
    three(OTHER)
}

/// Appends a primary weight.
pub(super) fn put_primary(coded: Coded, out: &mut Vec<u8>) {
    match coded {
        Coded::SpaceBeforeLess => out.push(0x08),
        Coded::SpacesToEnd => out.push(0x09),
        Coded::SpaceBeforeGreater => out.push(0x0a),
        Coded::Weight(weight) => {
            let bytes = weight.to_be_bytes();
            let long = match bytes[0] {
                0x40..=0x50 | 0xb0..=0xc0 => true,
                letter @ 0x70..=0xa2 => letter % 2 == 1,
                _ => false,
            };
            out.extend_from_slice(if long { &bytes[..3] } else { &bytes[..1] });
        }
    }
}

/// Appends the second and third level of a string in normal form C. Both leave out what the plain lower-case letters at
/// their end would give: equal primaries mean equally many steps, and the plain step is the least.
pub(super) fn put_accents_and_case(text: &str, out: &mut Vec<u8>) {
    for accents in [true, false] {
        out.push(LEVEL);
        let mut plain = 0usize;
        for character in text.chars() {
            elements(character, &mut |element| {
                let counts = if accents { element.mark } else { element.variant };
                if counts != 0 {
                    out.extend(std::iter::repeat_n(STEP, plain));
                    plain = 0;
                }
                match (accents, counts) {
                    (_, 0) if element.primary != 0 => plain += 1,
                    (_, 0) => {}
                    (false, UPPER) => out.push(STEP + 1),
                    (_, code) => put_own(code, out),
                }
            });
        }
    }
}

/// The byte that begins a level after the first, and a step of it that is plain.
const LEVEL: u8 = 0x01;
const STEP: u8 = 0x02;

/// A step of a level that is not plain.
fn put_own(code: u32, out: &mut Vec<u8>) {
    const OWN: u8 = 0x20;
    out.push(OWN);
    out.extend_from_slice(&code.to_be_bytes()[1..]);
}

/// Appends the second level where case does not count, and letters with a stroke are told apart as
/// accents are: again without the plain steps at the end.
pub(super) fn put_accents(text: &str, out: &mut Vec<u8>) {
    out.push(LEVEL);
    let mut plain = 0usize;
    for character in text.chars() {
        elements(character, &mut |element| {
            let counts = if element.mark != 0 { element.mark } else { element.letter };
            if counts != 0 {
                out.extend(std::iter::repeat_n(STEP, plain));
                plain = 0;
                put_own(counts, out);
            } else if element.primary != 0 {
                plain += 1;
            }
        });
    }
}

/// Whether two characters differ in case at most: to LIKE and LOCATE where accents count and case
/// does not.
pub(super) fn same_but_case(left: char, right: char) -> bool {
    if !same_primary(left, right, Version::Latest) {
        return false;
    }
    let accents = |character: char| {
        let mut out = Vec::new();
        put_accents(character.encode_utf8(&mut [0; 4]), &mut out);
        out
    };
    left.is_ascii() && right.is_ascii() || accents(left) == accents(right)
}

/// The weight of a character in `utf8mb4_general_ci`: its upper-case letter without marks.
pub(super) fn general_weight(character: char) -> u32 {
    if character.is_ascii() {
        return u32::from(character.to_ascii_uppercase());
    }
    if u32::from(character) > 0xffff {
        return 0xfffd;
    }
    let (mut base, mut only_marks) = (None, true);
    if !keeps_own_weight(character) {
        decompose_canonical(character, |piece| match base {
            None => base = Some(piece),
            Some(_) => only_marks &= ('\u{300}'..='\u{36f}').contains(&piece),
        });
    }
    let base = base.filter(|_| only_marks).unwrap_or(character);
    let upper = if base == 'ß' { 'S' } else { super::single(base.to_uppercase(), base) };
    // Upper case can bring back a letter with marks or one beyond the basic plane; both stay as they are.
    u32::from(upper).min(0xffff)
}

/// Appends a code point: fewer bytes for smaller ones, order kept. 21, 22 and 23 are spaces.
pub(super) fn put_code_point(coded: Coded, out: &mut Vec<u8>) {
    match coded {
        Coded::SpaceBeforeLess => out.push(0x21),
        Coded::SpacesToEnd => out.push(0x22),
        Coded::SpaceBeforeGreater => out.push(0x23),
        Coded::Weight(code) => match code {
            0..0x20 => out.push(code as u8 + 1),
            0x20..0x80 => out.push(code as u8 + 3),
            0x80..0x4000 => out.extend_from_slice(&[0x90 + (code >> 8) as u8, code as u8]),
            _ => out.extend_from_slice(&[0xd0 + (code >> 16) as u8, (code >> 8) as u8, code as u8]),
        },
    }
}

/// Whether two characters are one to LIKE and LOCATE, which go by characters.
pub(super) fn same_primary(left: char, right: char, version: Version) -> bool {
    if left.is_ascii() && right.is_ascii() {
        // Controls have no weight at all, but are not any control.
        return ASCII[left as usize] == ASCII[right as usize] && ASCII[left as usize] != 0;
    }
    let mut buffers = [[0; 4]; 2];
    let [left_buffer, right_buffer] = &mut buffers;
    let mut left = primary_weights(left.encode_utf8(left_buffer), version);
    let mut right = primary_weights(right.encode_utf8(right_buffer), version);
    let first = left.next();
    first.is_some() && first == right.next() && left.eq(right)
}
