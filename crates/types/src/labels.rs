//! The labels of ENUM and SET: texts that a column keeps as numbers.
//!
//! An ENUM keeps the place of its label, counted from 1; 0 is the empty text that lenient mode stores for a value that is no
//! label. A SET keeps a bit for each of its labels. The numbers order keys, groups and sorts; comparisons with texts, and
//! all functions of texts, see the label.

use std::borrow::Cow;

use crate::wire::{Reader, Wire, WireError};
use crate::{Collation, wire_enum};

/// Labels of an ENUM at most, as in MySQL.
pub const ENUM_LABEL_COUNT_MAX: usize = 65_535;
/// Labels of a SET at most: the bits of its number.
pub const SET_LABEL_COUNT_MAX: usize = 64;
/// Characters of a label at most, as in MySQL.
pub const LABEL_LENGTH_MAX: usize = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelKind {
    /// One label.
    Enum,
    /// Any number of labels.
    Set,
}
wire_enum!(LabelKind { 0 => Enum, 1 => Set });

#[derive(Debug, PartialEq, Eq)]
pub struct Labels {
    kind: LabelKind,
    labels: Vec<String>,
    collation: Collation,
}

impl Wire for Labels {
    fn encode(&self, out: &mut Vec<u8>) {
        self.kind.encode(out);
        self.labels.encode(out);
        self.collation.encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Labels, WireError> {
        let (kind, labels) = (Wire::decode(input)?, Wire::decode(input)?);
        Labels::new(kind, labels, Wire::decode(input)?).ok_or(WireError::Invalid("labels"))
    }
}

impl Labels {
    /// None if there are none, or too many.
    pub fn new(kind: LabelKind, labels: Vec<String>, collation: Collation) -> Option<Labels> {
        let count_max = match kind {
            LabelKind::Enum => ENUM_LABEL_COUNT_MAX,
            LabelKind::Set => SET_LABEL_COUNT_MAX,
        };
        (1..=count_max).contains(&labels.len()).then_some(Labels { kind, labels, collation })
    }
    pub fn kind(&self) -> LabelKind {
        self.kind
    }
    pub fn collation(&self) -> Collation {
        self.collation
    }
    pub fn as_slice(&self) -> &[String] {
        &self.labels
    }
    /// Are these the labels of the other one, and perhaps others behind them? Then its numbers are numbers of these.
    pub fn extends(&self, other: &Labels) -> bool {
        (self.kind, self.collation) == (other.kind, other.collation)
            && self.labels.starts_with(&other.labels)
    }
    /// The largest number that stands for a value.
    pub fn number_max(&self) -> u64 {
        match self.kind {
            LabelKind::Enum => self.labels.len() as u64,
            LabelKind::Set => u64::MAX >> (SET_LABEL_COUNT_MAX - self.labels.len()),
        }
    }
    /// Bytes of a number, as in MySQL: 1 or 2 for an ENUM, 1, 2, 3, 4 or 8 for a SET.
    pub fn bytes(&self) -> usize {
        match (self.kind, self.labels.len()) {
            (LabelKind::Enum, 0..=255) => 1,
            (LabelKind::Enum, _) => 2,
            (LabelKind::Set, count) => match count.div_ceil(8) {
                bytes @ 0..=4 => bytes,
                _ => 8,
            },
        }
    }
    /// Characters of the longest value.
    pub fn length_max(&self) -> u32 {
        let lengths = self.labels.iter().map(|label| label.chars().count());
        let length = match self.kind {
            LabelKind::Enum => lengths.max().unwrap_or(0),
            LabelKind::Set => lengths.sum::<usize>() + self.labels.len() - 1,
        };
        u32::try_from(length).unwrap_or(u32::MAX)
    }
    /// The text that a number stands for. Numbers beyond the labels have none of their own.
    pub fn text(&self, number: u64) -> Cow<'_, str> {
        match self.kind {
            LabelKind::Enum => {
                let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                Cow::Borrowed(place.and_then(|place| self.labels.get(place)).map_or("", |l| l))
            }
            LabelKind::Set => match number.count_ones() {
                0 => Cow::Borrowed(""),
                1 => {
                    let label = self.labels.get(number.trailing_zeros() as usize);
                    Cow::Borrowed(label.map_or("", |label| label))
                }
                _ => {
                    let has = |place: usize| number >> place & 1 == 1;
                    let labels = self.labels.iter().enumerate();
                    let own = labels.filter(|(place, _)| has(*place)).map(|(_, label)| &**label);
                    Cow::Owned(own.collect::<Vec<&str>>().join(","))
                }
            },
        }
    }
    /// The place of a label, from 0, by the collation.
    fn place(&self, text: &str) -> Option<usize> {
        self.labels.iter().position(|label| self.collation.equal(label, text))
    }
    /// The number whose text is equal to this one by the collation. A SET's text has its labels in their order, each once.
    pub fn number_of_text(&self, text: &str) -> Option<u64> {
        if self.is_empty(text) {
            return Some(0);
        }
        match self.kind {
            LabelKind::Enum => self.place(text).map(|place| place as u64 + 1),
            LabelKind::Set => {
                let mut number = 0;
                for part in text.split(',') {
                    let bit = 1 << self.place(part)?;
                    if bit <= number {
                        return None;
                    }
                    number |= bit;
                }
                self.collation.equal(&self.text(number), text).then_some(number)
            }
        }
    }
    /// Is the text equal to the empty one by the collation? Control characters have no weight.
    pub fn is_empty(&self, text: &str) -> bool {
        self.collation.equal(text, "")
    }
    /// The number that stands for a text; false if the text, or a part of a SET's, is none of the labels, which the number then
    /// leaves out. A text of digits that is no label is the number itself, as in MySQL.
    pub fn number(&self, text: &str) -> (u64, bool) {
        /// MySQL reads no longer texts as numbers.
        const DIGITS_MAX: [usize; 2] = [5, 21];
        let (number, is_whole) = match self.kind {
            LabelKind::Enum => match self.place(text) {
                Some(place) => return (place as u64 + 1, true),
                None => (0, false),
            },
            LabelKind::Set if text.is_empty() => return (0, true),
            LabelKind::Set => {
                let (mut number, mut is_whole) = (0, true);
                for part in text.split(',') {
                    match self.place(part) {
                        Some(place) => number |= 1 << place,
                        None => is_whole = false,
                    }
                }
                (number, is_whole)
            }
        };
        let digits_max = DIGITS_MAX[usize::from(self.kind == LabelKind::Set)];
        if number == 0
            && !is_whole
            && text.len() <= digits_max
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(written) = text.parse::<u64>()
        {
            return match self.kind {
                _ if written <= self.number_max() => (written, true),
                LabelKind::Enum => (0, false),
                // The bits that have labels.
                LabelKind::Set => (written & self.number_max(), false),
            };
        }
        (number, is_whole)
    }
    /// Is the text one of labels, and not of a number of theirs?
    pub fn spells(&self, text: &str) -> bool {
        match self.kind {
            LabelKind::Enum => self.place(text.trim_end_matches(' ')).is_some(),
            LabelKind::Set => {
                text.is_empty() || text.split(',').all(|part| self.place(part).is_some())
            }
        }
    }
    /// Is the empty text a label, too, so that two numbers have one text?
    pub fn has_empty_label(&self) -> bool {
        self.labels.iter().any(|label| self.is_empty(label))
    }
    /// As definitions write it: `enum('a','b')`.
    pub fn sql_name(&self) -> String {
        let mut out = String::from(match self.kind {
            LabelKind::Enum => "enum(",
            LabelKind::Set => "set(",
        });
        for (place, label) in self.labels.iter().enumerate() {
            out.push_str(if place == 0 { "'" } else { ",'" });
            for character in label.chars() {
                match character {
                    '\0' => out.push_str("\\0"),
                    '\n' => out.push_str("\\n"),
                    '\r' => out.push_str("\\r"),
                    '\\' => out.push_str("\\\\"),
                    '\'' => out.push_str("''"),
                    other => out.push(other),
                }
            }
            out.push('\'');
        }
        out.push(')');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(kind: LabelKind, labels: &[&str]) -> Labels {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Labels::new(kind, labels, Collation::Utf8mb40900AiCi).expect("some labels")
    }

    #[test]
    fn an_enum_finds_labels_by_collation_then_digits() {
        let own = labels(LabelKind::Enum, &["red", "Grün", "2", "it's"]);
        for (text, expected) in [
            ("red", (1, true)),
            ("RED", (1, true)),
            ("grun", (2, true)),
            ("2", (3, true)),
            ("1", (1, true)),
            ("4", (4, true)),
            ("5", (0, false)),
            ("0", (0, true)),
            ("", (0, false)),
            ("red ", (0, false)),
            ("000001", (0, false)),
            ("blue", (0, false)),
        ] {
            assert_eq!(own.number(text), expected, "{text:?}");
        }
        assert_eq!(own.sql_name(), "enum('red','Grün','2','it''s')");
        assert_eq!((own.bytes(), own.number_max(), own.length_max()), (1, 4, 4));
        let texts: Vec<_> = (0..=5).map(|number| own.text(number).into_owned()).collect();
        assert_eq!(texts, ["", "red", "Grün", "2", "it's", ""]);
    }

    #[test]
    fn a_set_has_a_bit_for_each_label() {
        let own = labels(LabelKind::Set, &["a", "b", "c", "d"]);
        for (text, expected) in [
            ("", (0, true)),
            ("a", (1, true)),
            ("d,a", (9, true)),
            ("a,A,a", (1, true)),
            ("a,x", (1, false)),
            ("x", (0, false)),
            ("15", (15, true)),
            ("19", (3, false)),
            ("a,", (1, false)),
        ] {
            assert_eq!(own.number(text), expected, "{text:?}");
        }
        assert!(own.spells("d,a") && own.spells("") && !own.spells("15") && !own.spells("a,x"));
        assert_eq!(own.text(9), "a,d");
        assert_eq!((own.bytes(), own.number_max(), own.length_max()), (1, 15, 7));
        let all: Vec<String> = (0..64).map(|n| format!("l{n}")).collect();
        let own = Labels::new(LabelKind::Set, all, Collation::Utf8mb4Bin).expect("64 fit");
        assert_eq!((own.bytes(), own.number_max()), (8, u64::MAX));
        assert_eq!(own.text(1 << 63), "l63");
    }

    #[test]
    fn labels_travel_and_too_many_do_not() {
        let own = labels(LabelKind::Enum, &["x", "y"]);
        assert_eq!(Labels::from_bytes(&own.to_bytes()), Ok(own));
        let many = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        for (kind, count) in [(LabelKind::Set, 65), (LabelKind::Enum, 65_536), (LabelKind::Set, 0)]
        {
            assert!(Labels::new(kind, many(count), Collation::Binary).is_none());
        }
        let most = Labels::new(LabelKind::Enum, many(65_535), Collation::Binary).expect("they fit");
        assert_eq!((most.bytes(), most.number("65534")), (2, (65_535, true)));
    }
}
