//! LIKE and substring search, character by character.
//!
//! LIKE goes back only to the last `%`: what stood before it has matched as early as it can, so nothing earlier needs to
//! be tried again. That bounds the work by the length of the string times that of the pattern, without recursion; a caller
//! that cannot wait for that gives a number of steps.
//! Searching uses Knuth, Morris and Pratt's table, so it is linear.

use super::weights::{general_weight, same_but_case, same_primary};
use super::{Collation, Order, eight_bit};

/// One step of a pattern.
enum Step {
    /// `%`
    AnyRun,
    /// `_`
    AnyOne,
    Literal(char),
}

/// The step at the start of `pattern` and its size in bytes.
fn next_step(pattern: &str, escape: Option<char>) -> Option<(Step, usize)> {
    let mut characters = pattern.chars();
    let first = characters.next()?;
    if Some(first) == escape {
        // An escape character at the very end stands for itself.
        let literal = characters.next();
        let size = first.len_utf8() + literal.map_or(0, char::len_utf8);
        return Some((Step::Literal(literal.unwrap_or(first)), size));
    }
    let step = match first {
        '%' => Step::AnyRun,
        '_' => Step::AnyOne,
        literal => Step::Literal(literal),
    };
    Some((step, first.len_utf8()))
}

impl Collation {
    /// Whether two characters are the same letter to this collation.
    fn same_character(self, left: char, right: char) -> bool {
        if left == right {
            return true;
        }
        match self.order() {
            Order::Bytes | Order::CodePoints | Order::Case => false,
            Order::General => general_weight(left) == general_weight(right),
            Order::Primary { version, .. } => same_primary(left, right, version),
            Order::Accents => same_but_case(left, right),
            Order::EightBit(weights) => {
                eight_bit::weight(weights, left) == eight_bit::weight(weights, right)
            }
            Order::German2 => eight_bit::german2_letter(left) == eight_bit::german2_letter(right),
        }
    }

    /// `text LIKE pattern ESCAPE escape`. Without an escape character `\` is a character like others; SQL's default is
    /// `Some('\\')`. Trailing spaces count, whatever the collation.
    pub fn like(self, text: &str, pattern: &str, escape: Option<char>) -> bool {
        let mut steps = usize::MAX;
        self.like_within(text, pattern, escape, &mut steps).expect("enough steps")
    }

    /// The same in `steps` steps, less those that were taken; None if they do not suffice.
    pub fn like_within(
        self,
        text: &str,
        pattern: &str,
        escape: Option<char>,
        steps: &mut usize,
    ) -> Option<bool> {
        let (mut text_at, mut pattern_at) = (0, 0);
        // Where to go on after a mismatch: behind the last `%`, with one more character given to it.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            *steps = steps.checked_sub(1)?;
            let step = next_step(&pattern[pattern_at..], escape);
            let character = text[text_at..].chars().next();
            let matches = match (&step, character) {
                (Some((Step::AnyRun, size)), _) => {
                    pattern_at += size;
                    retry = Some((text_at, pattern_at));
                    continue;
                }
                (None, None) => return Some(true),
                // Whatever is left of the pattern needs a character, and there will be none.
                (Some(_), None) => return Some(false),
                (Some((Step::AnyOne, _)), Some(_)) => true,
                (Some((Step::Literal(literal), _)), Some(character)) => {
                    self.same_character(*literal, character)
                }
                (None, Some(_)) => false,
            };
            if let (true, Some((_, size)), Some(character)) = (matches, &step, character) {
                pattern_at += size;
                text_at += character.len_utf8();
                continue;
            }
            let Some((given, behind)) = retry else { return Some(false) };
            let given_away = text[given..].chars().next().expect("text_at is not before given");
            retry = Some((given + given_away.len_utf8(), behind));
            (text_at, pattern_at) = (given + given_away.len_utf8(), behind);
        }
    }

    /// Byte offset of the first place where `needle` stands in `text`, character by character; 0 for an empty needle. As
    /// in MySQL (`my_instr_mb`) the place has as many bytes as the needle: 'é' is not found in 'e', although they are equal.
    pub fn find(self, text: &str, needle: &str) -> Option<usize> {
        if self.is_case_sensitive() {
            return text.find(needle);
        }
        let size_of = |text: &str| self.charset().size_of(text);
        let needle_size = size_of(needle);
        if size_of(text) < needle_size {
            return None;
        }
        let needle: Vec<char> = needle.chars().collect();
        if needle.is_empty() {
            return Some(0);
        }
        // borders[i]: length of the longest proper start of needle[..=i] that also ends it.
        let mut borders = vec![0usize; needle.len()];
        for index in 1..needle.len() {
            let mut border = borders[index - 1];
            while border > 0 && !self.same_character(needle[index], needle[border]) {
                border = borders[border - 1];
            }
            border += usize::from(self.same_character(needle[index], needle[border]));
            borders[index] = border;
        }
        let mut matched = 0;
        for (offset, character) in text.char_indices() {
            while matched > 0 && !self.same_character(needle[matched], character) {
                matched = borders[matched - 1];
            }
            matched += usize::from(self.same_character(needle[matched], character));
            if matched == needle.len() {
                let end = offset + character.len_utf8();
                let start = text[..end].char_indices().rev().nth(needle.len() - 1);
                let (start, _) = start.expect("as many characters were matched");
                if size_of(&text[start..end]) == needle_size {
                    return Some(start);
                }
                matched = borders[matched - 1];
            }
        }
        None
    }
}

/// LIKE for byte strings, in `steps` steps, less those that were taken; None if they do not suffice.
pub fn like_bytes(
    text: &[u8],
    pattern: &[u8],
    escape: Option<u8>,
    steps: &mut usize,
) -> Option<bool> {
    let (mut text_at, mut pattern_at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        *steps = steps.checked_sub(1)?;
        let byte = text.get(text_at);
        let matched = match pattern.get(pattern_at) {
            Some(&first) if Some(first) == escape => {
                let literal = pattern.get(pattern_at + 1).unwrap_or(&first);
                (byte == Some(literal)).then_some(2)
            }
            Some(b'%') => {
                pattern_at += 1;
                retry = Some((text_at, pattern_at));
                continue;
            }
            Some(b'_') => byte.map(|_| 1),
            Some(literal) => (byte == Some(literal)).then_some(1),
            None if byte.is_none() => return Some(true),
            None => None,
        };
        if let Some(size) = matched {
            pattern_at = (pattern_at + size).min(pattern.len());
            text_at += 1;
            continue;
        }
        if byte.is_none() {
            return Some(false);
        }
        let Some((given, behind)) = retry else { return Some(false) };
        retry = Some((given + 1, behind));
        (text_at, pattern_at) = (given + 1, behind);
    }
}
