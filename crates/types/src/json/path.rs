//! The path language: which values of a document an expression such as `$.a[0].**.b` names.
//!
//! A path is a scope `$` and legs behind it. A leg takes each value so far to some of the values below it; the ellipsis `**`
//! takes a value to itself and to all below it. A value that is no array counts as an array of itself for `[0]`, `[last]`
//! and ranges that hold them.
//!
//! Legs are applied one after the other, each to all values that the one before has found, and no value is found twice: so
//! a path of many ellipses takes no more than a walk through the document for each of its legs.

use std::collections::BTreeSet;
use std::fmt;

use super::binary::{Container, JsonRef};
use super::parse::parse_string;
use super::print::quote;

/// A text that is no path, with the character position near which it is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError(pub usize);

/// An index of an array: from its start, or from its end, where 0 is the last element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    pub number: u32,
    pub is_from_end: bool,
}

impl Index {
    /// The place in an array of `length` elements, and whether it is inside of it; one before the first is the first.
    pub fn place(self, length: usize) -> (usize, bool) {
        let number = self.number as usize;
        match (self.is_from_end, number < length) {
            (false, true) => (number, true),
            (false, false) => (length, false),
            (true, true) => (length - 1 - number, true),
            (true, false) => (0, false),
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_from_end, self.number) {
            (false, number) => write!(f, "{number}"),
            (true, 0) => f.write_str("last"),
            (true, number) => write!(f, "last-{number}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leg {
    /// `.name`
    Member(Box<str>),
    /// `.*`
    AnyMember,
    /// `[n]`
    Cell(Index),
    /// `[*]`
    AnyCell,
    /// `[n to m]`
    Range(Index, Index),
    /// `**`
    Ellipsis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    legs: Vec<Leg>,
}

impl Path {
    pub fn parse(text: &str) -> Result<Path, PathError> {
        let mut parser = Parser { text, at: 0 };
        parser.path().ok_or(PathError(parser.at))
    }
    /// `$`
    pub fn root() -> Path {
        Path { legs: Vec::new() }
    }
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }
    /// Whether it may name several values.
    pub fn is_multiple(&self) -> bool {
        self.legs.iter().any(|leg| match leg {
            Leg::AnyMember | Leg::AnyCell | Leg::Range(..) | Leg::Ellipsis => true,
            Leg::Member(_) | Leg::Cell(_) => false,
        })
    }

    /// The values that the path names in a document, in the order in which its legs find them. Each step lowers `steps`;
    /// None if there are too few of them.
    pub fn seek<'a>(&self, root: JsonRef<'a>, steps: &mut usize) -> Option<Vec<JsonRef<'a>>> {
        self.seek_with(root, true, steps)
    }
    /// The same, where a value that is no array has no cells.
    pub fn seek_in_arrays<'a>(
        &self,
        root: JsonRef<'a>,
        steps: &mut usize,
    ) -> Option<Vec<JsonRef<'a>>> {
        self.seek_with(root, false, steps)
    }
    fn seek_with<'a>(
        &self,
        root: JsonRef<'a>,
        wraps: bool,
        steps: &mut usize,
    ) -> Option<Vec<JsonRef<'a>>> {
        let mut found = vec![root];
        for leg in &self.legs {
            let mut next = Found { values: Vec::new(), places: BTreeSet::new(), wraps, steps };
            for value in found {
                next.apply(leg, value)?;
            }
            found = next.values;
        }
        Some(found)
    }
}

/// The path with a quoted name where a name needs it.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for leg in &self.legs {
            match leg {
                Leg::Member(name) => {
                    let mut own = String::new();
                    push_member(name, &mut own);
                    f.write_str(&own)?;
                }
                Leg::AnyMember => f.write_str(".*")?,
                Leg::Cell(index) => write!(f, "[{index}]")?,
                Leg::AnyCell => f.write_str("[*]")?,
                Leg::Range(first, last) => write!(f, "[{first} to {last}]")?,
                Leg::Ellipsis => f.write_str("**")?,
            }
        }
        Ok(())
    }
}

/// The values that a leg has found.
struct Found<'a, 's> {
    values: Vec<JsonRef<'a>>,
    places: BTreeSet<usize>,
    /// Whether a value that is no array counts as an array of itself.
    wraps: bool,
    steps: &'s mut usize,
}

impl<'a> Found<'a, '_> {
    fn add(&mut self, value: JsonRef<'a>) -> Option<()> {
        *self.steps = self.steps.checked_sub(1)?;
        if self.places.insert(value.place()) {
            self.values.push(value);
        }
        Some(())
    }

    fn apply(&mut self, leg: &Leg, value: JsonRef<'a>) -> Option<()> {
        match leg {
            Leg::Member(name) => {
                if let Some(own) = value.object().and_then(|object| object.member(name)) {
                    self.add(own)?;
                }
            }
            Leg::AnyMember => {
                for own in value.object().into_iter().flat_map(Container::values) {
                    self.add(own)?;
                }
            }
            Leg::AnyCell => {
                for own in value.array().into_iter().flat_map(Container::values) {
                    self.add(own)?;
                }
            }
            Leg::Cell(index) => match value.array() {
                Some(array) => {
                    if let (place, true) = index.place(array.len()) {
                        self.add(array.value(place))?;
                    }
                }
                None if self.wraps && index.place(1).1 => self.add(value)?,
                None => {}
            },
            Leg::Range(first, last) => {
                let length = value.array().map_or(usize::from(self.wraps), Container::len);
                for place in range(*first, *last, length) {
                    self.add(value.array().map_or(value, |array| array.value(place)))?;
                }
            }
            Leg::Ellipsis => self.add_all(value)?,
        }
        Some(())
    }

    /// The value and all below it.
    fn add_all(&mut self, value: JsonRef<'a>) -> Option<()> {
        if self.places.contains(&value.place()) {
            // All below it was found with it.
            return Some(());
        }
        self.add(value)?;
        for own in value.container().into_iter().flat_map(Container::values) {
            self.add_all(own)?;
        }
        Some(())
    }
}

/// The places of a range in an array of `length` elements.
pub fn range(first: Index, last: Index, length: usize) -> std::ops::Range<usize> {
    let start = first.place(length).0;
    let end = match last.place(length) {
        (place, true) => place + 1,
        // Behind the last element, or before the first.
        (place, false) => place,
    };
    start..end.max(start)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

/// MySQL's isspace.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }
    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// None for an error at `at`.
    fn path(&mut self) -> Option<Path> {
        self.skip_space();
        if self.next()? != b'$' {
            return None;
        }
        let mut legs = Vec::new();
        self.skip_space();
        while let Some(byte) = self.peek() {
            legs.push(match byte {
                b'[' => self.cell()?,
                b'.' => self.member()?,
                b'*' => self.ellipsis()?,
                _ => return None,
            });
            self.skip_space();
        }
        (legs.last() != Some(&Leg::Ellipsis)).then_some(Path { legs })
    }

    fn ellipsis(&mut self) -> Option<Leg> {
        self.at += 1;
        if self.next()? != b'*' || self.peek()? == b'*' {
            return None;
        }
        Some(Leg::Ellipsis)
    }

    fn cell(&mut self) -> Option<Leg> {
        self.at += 1;
        self.skip_space();
        let leg = match self.peek()? {
            b'*' => {
                self.at += 1;
                Leg::AnyCell
            }
            _ => self.indexes()?,
        };
        self.skip_space();
        (self.next()? == b']').then_some(leg)
    }

    /// `n` or `n to m`.
    fn indexes(&mut self) -> Option<Leg> {
        let first = self.index()?;
        self.skip_space();
        self.peek()?;
        let (before, rest) = self.text.as_bytes().split_at(self.at);
        let has_space = |byte: Option<&u8>| byte.copied().is_some_and(is_space);
        let is_range =
            has_space(before.last()) && rest.starts_with(b"to") && has_space(rest.get(2));
        if !is_range {
            return Some(Leg::Cell(first));
        }
        self.at += 3;
        self.skip_space();
        let last = self.index()?;
        // Such a range is empty in every array.
        let is_empty = first.is_from_end == last.is_from_end
            && match first.is_from_end {
                true => first.number < last.number,
                false => last.number < first.number,
            };
        (!is_empty).then_some(Leg::Range(first, last))
    }

    /// `n`, `last` or `last-n`.
    fn index(&mut self) -> Option<Index> {
        let is_from_end = self.text.as_bytes()[self.at..].starts_with(b"last");
        if is_from_end {
            self.at += 4;
            self.skip_space();
            if self.peek() != Some(b'-') {
                return Some(Index { number: 0, is_from_end });
            }
            self.at += 1;
            self.skip_space();
        }
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest[..length].parse().ok()?;
        self.at += length;
        Some(Index { number, is_from_end })
    }

    fn member(&mut self) -> Option<Leg> {
        self.at += 1;
        self.skip_space();
        match self.peek()? {
            b'*' => {
                self.at += 1;
                Some(Leg::AnyMember)
            }
            b'"' => {
                let rest = &self.text[self.at..];
                let length = quoted_length(rest);
                self.at += length;
                Some(Leg::Member(parse_string(&rest[..length]).ok()?))
            }
            _ => {
                let rest = &self.text[self.at..];
                let ends = |byte: u8| is_space(byte) || matches!(byte, b'[' | b'.' | b'*');
                let length = rest.bytes().position(ends).unwrap_or(rest.len());
                self.at += length;
                let name = parse_string(&format!("\"{}\"", &rest[..length])).ok()?;
                is_identifier(&name).then_some(Leg::Member(name))
            }
        }
    }
}

/// Bytes of a quoted name with its quotation marks; all of the text if it does not end.
fn quoted_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether a name needs no quotation marks: an identifier of ECMAScript.
fn is_identifier(name: &str) -> bool {
    let is_start = |c: char| c.is_alphabetic() || matches!(c, '$' | '_');
    let is_part = |c: char| {
        is_start(c)
            || c.is_numeric()
            || matches!(
                c,
                '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' | '\u{203f}' | '\u{2040}'
            )
            || matches!(
                c,
                '\u{2054}' | '\u{fe33}' | '\u{fe34}' | '\u{fe4d}'..='\u{fe4f}' | '\u{ff3f}'
            )
    };
    name.chars().next().is_some_and(is_start) && name.chars().all(is_part)
}

/// Appends the leg that names a cell.
pub fn push_index(index: usize, out: &mut String) {
    out.push('[');
    out.push_str(&index.to_string());
    out.push(']');
}

/// Appends the leg that names a member.
pub fn push_member(name: &str, out: &mut String) {
    out.push('.');
    match is_identifier(name) {
        true => out.push_str(name),
        false => quote(name, out),
    }
}
