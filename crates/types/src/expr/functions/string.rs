//! Functions of strings.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::super::Function;
use super::math::round_double;
use super::{Call, first_collation};
use crate::convert::{compare, to_bytes, to_text};
use crate::decimal::SCALE_MAX;
use crate::{Collation, Decimal, Value, ValueRef};

/// The byte offset of the character at `index`, or the end.
fn offset_of(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(offset, _)| offset)
}

fn character_count(text: &str) -> i64 {
    text.chars().count() as i64
}

impl Call<'_, '_, '_> {
    pub(super) fn string(&mut self) -> Value {
        use Function::*;
        match self.function {
            Concat => self.concat(0, None),
            ConcatWs => match self.values[0] {
                ValueRef::Null => Value::Null,
                separator => self.concat(1, Some(separator)),
            },
            Length => Value::from(self.bytes(0).len() as i64),
            BitLength => Value::from(self.bytes(0).len() as i64 * 8),
            CharLength => match self.values[0] {
                ValueRef::Bytes(bytes) => Value::from(bytes.len() as i64),
                value => Value::from(character_count(&to_text(value))),
            },
            Lower | Upper => match self.values[0] {
                ValueRef::Bytes(bytes) => Value::Bytes(bytes.into()),
                value => {
                    let collation = collation_of(value);
                    let text = to_text(value);
                    let folded = match self.function {
                        Lower => collation.lower(&text),
                        _ => collation.upper(&text),
                    };
                    Value::text(&folded, collation)
                }
            },
            Left | Right | Substring => self.part(),
            SubstringIndex => self.substring_index(),
            Locate | Instr => self.locate(),
            Replace => self.replace(),
            Repeat | Space => self.repeat(),
            Reverse => {
                let strings = self.strings([0]);
                let text = &*strings.items[0];
                let mut reversed = String::with_capacity(text.len());
                reversed.extend(text.chars().rev());
                strings.result(&reversed)
            }
            Lpad | Rpad => self.pad(),
            Ltrim | Rtrim | Trim => self.trim(),
            Ascii => Value::from(self.bytes(0).first().map_or(0, |&byte| i64::from(byte))),
            Ord => {
                let code = match self.values[0] {
                    ValueRef::Bytes(bytes) => bytes.first().map_or(0, |&byte| i64::from(byte)),
                    value => {
                        let text = to_text(value);
                        let first = text.chars().next().map_or(0, char::len_utf8);
                        let bytes = collation_of(value).charset().encode(&text[..first]);
                        bytes.iter().fold(0, |code, &byte| code << 8 | i64::from(byte))
                    }
                };
                Value::from(code)
            }
            Char => self.char(),
            Strcmp => {
                let strings = self.strings([0, 1]);
                let ordering = strings.collation.compare(&strings.items[0], &strings.items[1]);
                Value::from(ordering as i64)
            }
            Insert => self.insert(),
            Elt => match self.values[0] {
                ValueRef::Null => Value::Null,
                _ => match usize::try_from(self.int(0)) {
                    Ok(index) if index > 0 && index < self.values.len() => {
                        self.values[index].to_value()
                    }
                    _ => Value::Null,
                },
            },
            Field => self.field(),
            FindInSet => {
                let strings = self.strings([0, 1]);
                let [wanted, list] = &strings.items;
                // As in MySQL: a list of fewer bytes does not contain it, even if a shorter letter is equal.
                let size_of = |text: &str| strings.collation.charset().size_of(text);
                if wanted.contains(',') || list.is_empty() || size_of(list) < size_of(wanted) {
                    return Value::Int(0);
                }
                // A space at the end counts, whatever the collation: it is inside once a letter follows.
                let inside = |item: &str| format!("{item}x");
                let wanted = inside(wanted);
                let place = list
                    .split(',')
                    .position(|item| strings.collation.equal(&inside(item), &wanted));
                Value::from(place.map_or(0, |place| place as i64 + 1))
            }
            Format => self.format_number(),
            Quote => self.quote(),
            MakeSet => self.make_set(),
            ExportSet => self.export_set(),
            Soundex => {
                let text = soundex(&self.text(0));
                Value::text(&text, collation_of(self.values[0]))
            }
            function => unreachable!("{function:?} is no function of strings"),
        }
    }

    /// The bytes of a BIT, the highest first.
    pub(super) fn bit_bytes(&mut self) -> Value {
        let bytes = (self.wide(0) as u64).to_be_bytes();
        let count =
            usize::try_from(self.int(1)).map_or(bytes.len(), |count| count.min(bytes.len()));
        Value::bytes(&bytes[bytes.len() - count..])
    }

    /// CONCAT and CONCAT_WS, which skips NULLs.
    fn concat(&mut self, start: usize, separator: Option<ValueRef<'_>>) -> Value {
        let pieces: Vec<ValueRef<'_>> =
            self.values[start..].iter().copied().filter(|value| !value.is_null()).collect();
        let of_bytes = |value: &ValueRef<'_>| matches!(value, ValueRef::Bytes(_));
        let binary = pieces.iter().chain(&separator).any(of_bytes);
        let collation = pieces.iter().chain(&separator).find_map(ValueRef::collation);
        let max = self.ctx.max_allowed_packet;
        if binary {
            let separator = separator.map(to_bytes).unwrap_or_default();
            return match joined(pieces.iter().map(|piece| to_bytes(*piece)), &separator, max) {
                Some(bytes) => Value::Bytes(bytes.into()),
                None => self.too_long(),
            };
        }
        let separator = separator.map(to_text).unwrap_or_default();
        let texts = pieces.iter().map(|piece| match to_text(*piece) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        });
        match joined(texts, separator.as_bytes(), max) {
            Some(bytes) => {
                let text = String::from_utf8(bytes).expect("pieces of text make text");
                Value::Text(text.into(), collation.unwrap_or(Collation::DEFAULT))
            }
            None => self.too_long(),
        }
    }

    /// LEFT, RIGHT and SUBSTRING.
    fn part(&mut self) -> Value {
        let strings = self.strings([0]);
        let text = &*strings.items[0];
        let total = character_count(text);
        let second = self.int(1);
        let (start, length) = match self.function {
            Function::Left => (0, second),
            Function::Right => ((total - second.max(0)).max(0), second),
            _ => {
                let length = if self.has(2) { self.int(2) } else { i64::MAX };
                let start = match second {
                    0 => return strings.result(""),
                    forward if forward > 0 => forward - 1,
                    backward => total.saturating_add(backward),
                };
                if start < 0 {
                    return strings.result("");
                }
                (start, length)
            }
        };
        if length <= 0 || start >= total {
            return strings.result("");
        }
        let first = offset_of(text, start as usize);
        let rest = &text[first..];
        let length = usize::try_from(length).expect("positive");
        strings.result(&rest[..offset_of(rest, length)])
    }

    fn substring_index(&mut self) -> Value {
        let strings = self.strings([0, 1]);
        let [text, delimiter] = &strings.items;
        let count = self.int(2);
        if delimiter.is_empty() || count == 0 {
            return strings.result("");
        }
        let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        let found = if count > 0 {
            text.match_indices(&**delimiter).nth(wanted - 1).map(|(at, _)| &text[..at])
        } else {
            text.rmatch_indices(&**delimiter)
                .nth(wanted - 1)
                .map(|(at, _)| &text[at + delimiter.len()..])
        };
        strings.result(found.unwrap_or(text))
    }

    /// LOCATE(part, text[, start]) and INSTR(text, part): the place of the first character, from 1; 0 if there is none.
    fn locate(&mut self) -> Value {
        let order = if self.function == Function::Instr { [1, 0] } else { [0, 1] };
        let strings = self.strings(order);
        let [part, text] = &strings.items;
        let start = if self.has(2) { self.int(2) } else { 1 };
        if start < 1 || start > character_count(text) + 1 {
            return Value::Int(0);
        }
        let from = offset_of(text, start as usize - 1);
        if part.is_empty() {
            // As in MySQL: the place of an empty text is counted in bytes.
            let skipped = &text[..from];
            let bytes = match strings.binary {
                true => skipped.chars().count(),
                false => strings.collation.charset().size_of(skipped),
            };
            return Value::from(bytes as i64 + 1);
        }
        match strings.collation.find(&text[from..], part) {
            None => Value::Int(0),
            Some(at) => Value::from(character_count(&text[..from + at]) + 1),
        }
    }

    /// Exact, whatever the collation.
    fn replace(&mut self) -> Value {
        let strings = self.strings([0, 1, 2]);
        let [text, from, to] = &strings.items;
        if from.is_empty() {
            return strings.result(text);
        }
        let count = text.matches(&**from).count();
        let size = text.len() as u128 + count as u128 * to.len() as u128;
        if size > strings.max as u128 * 2 {
            return self.too_long();
        }
        strings.result(&text.replace(&**from, to))
    }

    /// REPEAT and SPACE.
    fn repeat(&mut self) -> Value {
        if self.function == Function::Space {
            let count = self.int(0).max(0) as u64;
            if count > self.ctx.max_allowed_packet as u64 {
                return self.too_long();
            }
            return self.plain(" ".repeat(count as usize));
        }
        let strings = self.strings([0]);
        let text = &strings.items[0];
        let count = self.int(1).max(0) as u128;
        if text.is_empty() || count == 0 {
            return strings.result("");
        }
        if count * text.len() as u128 > strings.max as u128 {
            return self.too_long();
        }
        strings.result(&text.repeat(count as usize))
    }

    fn pad(&mut self) -> Value {
        let strings = self.strings([0, 2]);
        let [text, padding] = &strings.items;
        let wanted = self.int(1);
        if wanted < 0 {
            return Value::Null;
        }
        let missing = wanted - character_count(text);
        if missing <= 0 {
            return strings.result(&text[..offset_of(text, wanted as usize)]);
        }
        if padding.is_empty() {
            return strings.result("");
        }
        // A character takes one byte at least.
        if wanted as u64 > strings.max as u64 {
            return self.too_long();
        }
        let (missing, count) = (missing as usize, padding.chars().count());
        let rest = &padding[..offset_of(padding, missing % count)];
        let padding = padding.repeat(missing / count) + rest;
        strings.result(&match self.function {
            Function::Lpad => padding + text,
            _ => text.to_string() + &padding,
        })
    }

    /// TRIM, LTRIM and RTRIM of a string (spaces if none is given).
    fn trim(&mut self) -> Value {
        let given = self.has(1);
        let strings = self.strings(if given { [0, 1] } else { [0, 0] });
        let remove = if given { &*strings.items[1] } else { " " };
        let mut text = &*strings.items[0];
        if let [byte] = remove.as_bytes() {
            // One character of ASCII is never part of another: megabytes of it are skipped as bytes.
            let other = |own: &u8| own != byte;
            let bytes = text.as_bytes();
            let start = match self.function {
                Function::Rtrim => 0,
                _ => bytes.iter().position(other).unwrap_or(bytes.len()),
            };
            let end = match self.function {
                Function::Ltrim => bytes.len(),
                _ => bytes.iter().rposition(other).map_or(0, |last| last + 1),
            };
            text = text.get(start..end).unwrap_or("");
        } else if !remove.is_empty() {
            if self.function != Function::Rtrim {
                while let Some(rest) = text.strip_prefix(remove) {
                    text = rest;
                }
            }
            if self.function != Function::Ltrim {
                while let Some(rest) = text.strip_suffix(remove) {
                    text = rest;
                }
            }
        }
        strings.result(text)
    }

    /// CHAR(n, ...): the bytes of the numbers, most significant first. Skips NULL.
    fn char(&mut self) -> Value {
        let mut out = Vec::new();
        for position in 0..self.values.len() {
            if self.values[position].is_null() {
                continue;
            }
            let bytes = (self.wide(position) as u32).to_be_bytes();
            let leading = bytes.iter().take(3).take_while(|&&byte| byte == 0).count();
            out.extend_from_slice(&bytes[leading..]);
        }
        Value::Bytes(out.into())
    }

    /// INSERT(text, place, length, new).
    fn insert(&mut self) -> Value {
        let strings = self.strings([0, 3]);
        let [text, new] = &strings.items;
        let (place, length) = (self.int(1), self.int(2));
        if place < 1 || place > character_count(text) {
            return strings.result(text);
        }
        let start = offset_of(text, place as usize - 1);
        let rest = &text[start..];
        let end = match usize::try_from(length) {
            Ok(length) => offset_of(rest, length),
            Err(_) => rest.len(),
        };
        strings.result(&[&text[..start], new, &rest[end..]].concat())
    }

    /// FIELD(x, a, b, ...): the place of x among a, b, ...: as strings if all are, else as numbers.
    fn field(&mut self) -> Value {
        let subject = self.values[0];
        if subject.is_null() {
            return Value::Int(0);
        }
        let of_text = |value: &ValueRef<'_>| {
            value.collation().is_some() || matches!(value, ValueRef::Bytes(_) | ValueRef::Null)
        };
        let exact = |value: &ValueRef<'_>| value.collation().is_none();
        let of_time = |value: &ValueRef<'_>| {
            matches!(value, ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_))
        };
        let by_kind = self.values.iter().all(of_text) || self.values.iter().all(exact);
        let as_text = self.values.iter().all(|value| of_text(value) || of_time(value));
        for position in 1..self.values.len() {
            let candidate = self.values[position];
            if candidate.is_null() {
                continue;
            }
            let same = if by_kind {
                compare(subject, candidate, &mut self.ctx.convert) == Some(Ordering::Equal)
            } else if as_text {
                let strings = self.strings([0, position]);
                strings.collation.equal(&strings.items[0], &strings.items[1])
            } else {
                self.f64(0) == self.f64(position)
            };
            if same {
                return Value::from(position as i64);
            }
        }
        Value::Int(0)
    }

    /// FORMAT(number, digits): thousands separated by commas. What is no exact number is rounded as a double.
    fn format_number(&mut self) -> Value {
        let digits = self.int(1).clamp(0, i64::from(SCALE_MAX)) as u8;
        let number = match self.values[0] {
            ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Decimal(_) => self.decimal(0),
            _ => {
                let rounded = round_double(self.f64(0), i32::from(digits), false);
                let Some(number) = Decimal::from_f64(rounded) else { return Value::Null };
                number
            }
        };
        let Some(rounded) = number.rescale(digits) else { return Value::Null };
        let shown = rounded.to_string();
        let (sign, unsigned) = match shown.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", &*shown),
        };
        let (whole, fraction) = unsigned.split_at(unsigned.find('.').unwrap_or(unsigned.len()));
        let mut out = String::from(sign);
        for (position, digit) in whole.chars().enumerate() {
            if position > 0 && (whole.len() - position).is_multiple_of(3) {
                out.push(',');
            }
            out.push(digit);
        }
        out.push_str(fraction);
        self.plain(out)
    }

    fn quote(&mut self) -> Value {
        if self.values[0].is_null() {
            return self.plain("NULL");
        }
        let strings = self.strings([0]);
        let mut out = String::from("'");
        for c in strings.items[0].chars() {
            match c {
                '\'' | '\\' => out.extend(['\\', c]),
                '\0' => out.push_str("\\0"),
                '\x1a' => out.push_str("\\Z"),
                _ => out.push(c),
            }
        }
        out.push('\'');
        strings.result(&out)
    }

    fn make_set(&mut self) -> Value {
        if self.values[0].is_null() {
            return Value::Null;
        }
        let bits = self.wide(0) as u64;
        let chosen: Vec<_> = self.values[1..]
            .iter()
            .take(64)
            .enumerate()
            .filter(|(bit, value)| bits >> bit & 1 == 1 && !value.is_null())
            .map(|(_, value)| to_text(*value))
            .collect();
        let collation = first_collation(self.values[1..].iter().copied());
        Value::text(&chosen.join(","), collation)
    }

    fn export_set(&mut self) -> Value {
        let bits = self.wide(0) as u64;
        let (on, off) = (self.text(1), self.text(2));
        let separator = if self.has(3) { self.text(3) } else { ",".into() };
        let count = if self.has(4) { self.int(4) } else { 64 };
        let count = if (0..=64).contains(&count) { count as u32 } else { 64 };
        let longest = on.len().max(off.len()) + separator.len();
        if longest as u128 * u128::from(count) > self.ctx.max_allowed_packet as u128 {
            return self.too_long();
        }
        let shown: Vec<&str> =
            (0..count).map(|bit| if bits >> bit & 1 == 1 { &*on } else { &*off }).collect();
        let collation = first_collation(self.values[1..].iter().copied());
        Value::text(&shown.join(&separator), collation)
    }
}

/// The pieces, with `separator` between them; None if they have more than `max` bytes.
fn joined<'v>(
    pieces: impl Iterator<Item = Cow<'v, [u8]>>,
    separator: &[u8],
    max: usize,
) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for (position, piece) in pieces.enumerate() {
        if position > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(&piece);
        if out.len() > max {
            return None;
        }
    }
    Some(out)
}

fn collation_of(value: ValueRef<'_>) -> Collation {
    value.collation().unwrap_or(Collation::DEFAULT)
}

/// MySQL's variant: vowels are dropped before doubles are, and the code may be longer than four characters.
fn soundex(text: &str) -> String {
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    let code = |c: char| match c.to_ascii_uppercase() {
        upper @ 'A'..='Z' => CODES[upper as usize - 'A' as usize],
        // Letters beyond ASCII count as vowels.
        _ => b'0',
    };
    let mut letters = text.chars().filter(|c| c.is_alphabetic());
    let Some(first) = letters.next() else { return String::new() };
    // MySQL leaves a letter beyond ASCII as it is.
    let mut out = first.to_ascii_uppercase().to_string();
    let mut last = code(first);
    for letter in letters {
        let next = code(letter);
        if next != b'0' && next != last {
            out.push(char::from(next));
            last = next;
        }
    }
    while out.chars().count() < 4 {
        out.push('0');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{narrow, widen};

    /// Bytes go through functions of characters and come back the same.
    #[test]
    fn widen_and_narrow_are_inverse() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(&*narrow(&widen(&all)), &all[..]);
    }
}
