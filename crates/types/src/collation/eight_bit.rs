//! The collations of latin1 and ascii: a weight for each of the 256 codes, as MySQL has them.
//!
//! The tables are part of every index on disk and on every replica: never edit them. Most follow
//! the order of the codes with letters in upper case, and list weights for C0 to DF only, which E0
//! to FF share (but for the signs × and ÷, and ß and ÿ, which are no pair). The `general` ones and
//! the Spanish one have a list of letters in their order.

use crate::charset::{latin1_character, latin1_code};

pub(super) type Weights = [u8; 256];

const DIVISION: usize = 0xf7;
const Y_DIAERESIS: usize = 0xff;

/// The order of the codes.
pub(super) static CODES: Weights = {
    let mut weights = [0; 256];
    let mut code = 0;
    while code < 256 {
        weights[code] = code as u8;
        code += 1;
    }
    weights
};

/// The order of the codes, in upper case.
pub(super) static UPPER_ASCII: Weights = upper_ascii();

const fn upper_ascii() -> Weights {
    let mut weights = [0; 256];
    let mut code = 0;
    while code < 256 {
        weights[code] = (code as u8).to_ascii_uppercase();
        code += 1;
    }
    weights
}

/// [`UPPER_ASCII`] with weights for the codes from C0 to DF.
const fn with_letters(letters: &[u8; 32]) -> Weights {
    let mut weights = upper_ascii();
    let mut index = 0;
    while index < 32 {
        weights[0xc0 + index] = letters[index];
        weights[0xe0 + index] = letters[index];
        index += 1;
    }
    weights[DIVISION] = 0xf7;
    weights[Y_DIAERESIS] = 0xff;
    weights
}

/// Å Ä Ö come after Z, with Æ as Ä; Ü is Y; Ø, Þ, ß and ÿ come last.
pub(super) static SWEDISH: Weights =
    with_letters(b"AAAA\\[\\CEEEEIIIIDNOOOO]\xd7\xd8UUUYY\xde\xdf");
/// Æ Ø Å come after Z, with Ä as Æ and Ö as Ø.
pub(super) static DANISH: Weights = with_letters(b"AAAA[][CEEEEIIIIDNOOOO\\\xd7\\UUUYY\xde\xdf");
/// No letter with an accent is one of its own, and ß is S.
pub(super) static GERMAN1: Weights = with_letters(b"AAAAAAACEEEEIIII\xd0NOOOOO\xd7OUUUUY\xdeS");

/// The letters of `latin1_general_cs` in their order, an upper-case one before its lower-case one;
/// their weights begin at that of A.
const LETTERS: &[u8; 114] =
    b"Aa\xc0\xe0\xc1\xe1\xc2\xe2\xc3\xe3\xc4\xe4\xc5\xe5\xc6\xe6BbCc\xc7\xe7Dd\xd0\xf0\
    Ee\xc8\xe8\xc9\xe9\xca\xea\xcb\xebFfGgHhIi\xcc\xec\xcd\xed\xce\xee\xcf\xefJjKkLlMmNn\xd1\xf1\
    Oo\xd2\xf2\xd3\xf3\xd4\xf4\xd5\xf5\xd6\xf6\xd8\xf8PpQqRrSs\xdfTt\
    Uu\xd9\xf9\xda\xfa\xdb\xfb\xdc\xfcVvWwXxYy\xdd\xfd\xffZz\xde\xfe";

pub(super) static GENERAL_CS: Weights = general_cs();

const fn general_cs() -> Weights {
    let mut weights = [0; 256];
    // Signs keep the order of their codes, and follow the letters where they have a greater one
    // than A.
    let mut code = 0;
    while code < b'A' as usize {
        weights[code] = code as u8;
        code += 1;
    }
    let mut next = b'A';
    let mut index = 0;
    while index < LETTERS.len() {
        weights[LETTERS[index] as usize] = next;
        next += 1;
        index += 1;
    }
    while code < 256 {
        // The two signs among the letters, and the control code, are after those of ASCII.
        let is_last = code == 0x7f || code == 0xd7 || code == DIVISION;
        if weights[code] == 0 && !is_last && code < 0x80 {
            weights[code] = next;
            next += 1;
        }
        code += 1;
    }
    weights[0xd7] = next;
    weights[DIVISION] = next + 1;
    weights[0x7f] = next + 2;
    next += 3;
    code = 0x80;
    while code < 0xc0 {
        weights[code] = next;
        next = next.wrapping_add(1);
        code += 1;
    }
    weights
}

/// The same, a lower-case letter with the weight of its upper-case one.
pub(super) static GENERAL_CI: Weights = general_ci();

const fn general_ci() -> Weights {
    let cased = general_cs();
    let mut weights = cased;
    let mut code = 0;
    while code < 256 {
        weights[code] = cased[upper_code(code as u8) as usize];
        code += 1;
    }
    weights
}

/// As `latin1_general_ci`, letters with accents as those without; Ñ is one of its own.
pub(super) static SPANISH: Weights = {
    let plain = general_ci();
    let mut weights = plain;
    let letters = b"AAAAAAACEEEEIIIID\xd1OOOOO\xd7OUUUUY\xde\xdf";
    let mut index = 0;
    while index < 32 {
        weights[0xc0 + index] = plain[letters[index] as usize];
        weights[0xe0 + index] = plain[letters[index] as usize];
        index += 1;
    }
    weights[DIVISION] = plain[DIVISION];
    weights[Y_DIAERESIS] = plain[b'Y' as usize];
    weights
};

/// Of `latin1_german2_ci`: Ä, Ö and Ü are AE, OE and UE, and ß is SS; a 0 where there is one
/// letter. Å comes after Z.
const fn german2(code: u8) -> (u8, u8) {
    let code = upper_code(code);
    match code {
        0xc4 => (b'A', b'E'),
        0xd6 => (b'O', b'E'),
        0xdc => (b'U', b'E'),
        0xdf => (b'S', b'S'),
        0xc0..=0xc3 | 0xc5 => (b'A', 0),
        0xc6 => (b'\\', 0),
        0xc7 => (b'C', 0),
        0xc8..=0xcb => (b'E', 0),
        0xcc..=0xcf => (b'I', 0),
        0xd0 => (b'D', 0),
        0xd1 => (b'N', 0),
        0xd2..=0xd5 => (b'O', 0),
        0xd9..=0xdb => (b'U', 0),
        0xdd | 0xff => (b'Y', 0),
        _ => (code, 0),
    }
}

/// What compares in `latin1_german2_ci`.
pub(super) fn german2_weights(text: &str) -> impl Iterator<Item = u32> {
    text.chars().flat_map(|character| {
        let (first, second) = match latin1_code(character) {
            Some(code) => {
                let (first, second) = german2(code);
                (u32::from(first), u32::from(second))
            }
            None => (missing(character), 0),
        };
        std::iter::once(first).chain((second != 0).then_some(second))
    })
}

/// The letter a character is to LIKE and LOCATE in `latin1_german2_ci`, which go by characters: Ä
/// is no A.
pub(super) fn german2_letter(character: char) -> u32 {
    match latin1_code(character) {
        Some(code) => match german2(code) {
            (first, 0) => u32::from(first),
            _ => u32::from(upper_code(code)),
        },
        None => missing(character),
    }
}

/// The weight of a character that latin1 lacks, which no text of it has: after all that it has, by
/// its code point.
fn missing(character: char) -> u32 {
    0x100 + u32::from(character)
}

/// The weight of a character.
pub(super) fn weight(weights: &Weights, character: char) -> u32 {
    match latin1_code(character) {
        Some(code) => u32::from(weights[usize::from(code)]),
        None => missing(character),
    }
}

/// The cases of latin1 are those of ASCII and of C0 to DE, × apart: Š, Œ, Ž, Ÿ and ß have none.
const fn upper_code(code: u8) -> u8 {
    match code {
        b'a'..=b'z' | 0xe0..=0xf6 | 0xf8..=0xfe => code - 0x20,
        _ => code,
    }
}

const fn lower_code(code: u8) -> u8 {
    match code {
        b'A'..=b'Z' | 0xc0..=0xd6 | 0xd8..=0xde => code + 0x20,
        _ => code,
    }
}

pub(super) fn upper(character: char) -> char {
    latin1_code(character).map_or(character, |code| latin1_character(upper_code(code)))
}

pub(super) fn lower(character: char) -> char {
    latin1_code(character).map_or(character, |code| latin1_character(lower_code(code)))
}

#[cfg(test)]
mod tests;
