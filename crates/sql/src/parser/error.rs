//! Why a text is no statement: MySQL's error 1064 with the offending text, or a bound that was exceeded.

use std::fmt;

use super::limits::{EXPRESSION_COUNT_MAX, EXPRESSION_COUNT_MAX_AT_ONCE, NEAR_LENGTH_MAX};

/// A refused statement. Display is MySQL's message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    pub kind: ParseErrorKind,
    /// Up to 80 characters from the offending token on; empty at the end of the text.
    pub near: String,
    /// Line of the offending token, from 1.
    pub line: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParseErrorKind {
    /// Not in the grammar.
    Syntax,
    /// Nested beyond `limits::NESTING_MAX` or `limits::HEIGHT_MAX`.
    TooDeep,
    /// Longer than `limits::STATEMENT_SIZE_MAX`.
    TooLong,
    /// More than `limits::EXPRESSION_COUNT_MAX_AT_ONCE`, or, with the rows of an INSERT, `limits::EXPRESSION_COUNT_MAX`.
    TooManyExpressions,
    /// A name that is not UTF-8.
    InvalidUtf8,
    /// A number with exponent outside the range of a double.
    IllegalDouble,
    /// ALGORITHM = and LOCK = of a word that is none; `near` is the word.
    UnknownAlgorithm,
    UnknownLock,
    /// Two words that exclude each other.
    WrongUsage(&'static str, &'static str),
    /// A name, which `near` holds, of the given kind with more than the given number of characters.
    NameTooLong(&'static str, usize),
    /// The host of an account has an `@`.
    IllegalHost,
    /// An option's number, which `near` holds, outside of its bounds.
    WrongValue(&'static str),
    /// An option that a statement has twice.
    UsedTwice(&'static str),
}

impl ParseError {
    /// The error for the token that starts at `offset`.
    pub(super) fn at(text: &[u8], offset: usize, kind: ParseErrorKind) -> ParseError {
        let offset = offset.min(text.len());
        let line = 1 + text[..offset].iter().filter(|&&byte| byte == b'\n').count() as u32;
        // Four bytes a character at most, so that a huge statement is not converted whole.
        let window = &text[offset..text.len().min(offset + 4 * NEAR_LENGTH_MAX)];
        let near = String::from_utf8_lossy(window).chars().take(NEAR_LENGTH_MAX).collect();
        ParseError { kind, near, line }
    }

    /// MySQL's error number for this refusal.
    pub fn mysql_code(&self) -> u16 {
        match self.kind {
            ParseErrorKind::Syntax => 1064,
            ParseErrorKind::TooDeep => 1436,
            ParseErrorKind::TooLong | ParseErrorKind::TooManyExpressions => 1153,
            ParseErrorKind::InvalidUtf8 => 1300,
            ParseErrorKind::IllegalDouble => 1367,
            ParseErrorKind::UnknownAlgorithm => 1800,
            ParseErrorKind::UnknownLock => 1801,
            ParseErrorKind::WrongUsage(..) => 1221,
            ParseErrorKind::NameTooLong(..) => 1470,
            ParseErrorKind::IllegalHost => 1105,
            ParseErrorKind::WrongValue(_) => 1525,
            ParseErrorKind::UsedTwice(_) => 1225,
        }
    }

    /// The SQLSTATE that goes with `mysql_code`.
    pub fn sqlstate(&self) -> &'static str {
        match self.kind {
            ParseErrorKind::Syntax => "42000",
            ParseErrorKind::TooDeep => "HY000",
            ParseErrorKind::TooLong | ParseErrorKind::TooManyExpressions => "08S01",
            ParseErrorKind::InvalidUtf8 => "HY000",
            ParseErrorKind::IllegalDouble => "22007",
            ParseErrorKind::UnknownAlgorithm | ParseErrorKind::UnknownLock => "HY000",
            ParseErrorKind::WrongUsage(..) => "HY000",
            ParseErrorKind::NameTooLong(..) | ParseErrorKind::IllegalHost => "HY000",
            ParseErrorKind::WrongValue(_) | ParseErrorKind::UsedTwice(_) => "HY000",
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ParseErrorKind::Syntax => write!(
                f,
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                 for the right syntax to use near '{}' at line {}",
                self.near, self.line
            ),
            ParseErrorKind::TooDeep => {
                write!(
                    f,
                    "Statement is nested too deeply near '{}' at line {}",
                    self.near, self.line
                )
            }
            ParseErrorKind::TooLong => write!(f, "Statement is too long"),
            ParseErrorKind::TooManyExpressions => write!(
                f,
                "Statement has more than {EXPRESSION_COUNT_MAX_AT_ONCE} expressions, or {EXPRESSION_COUNT_MAX} in the rows of an INSERT: \
                 divide it, or put the values into a table"
            ),
            ParseErrorKind::InvalidUtf8 => {
                write!(f, "Invalid utf8mb4 character string: '{}'", self.near)
            }
            ParseErrorKind::IllegalDouble => {
                write!(f, "Illegal double '{}' value found during parsing", self.near)
            }
            ParseErrorKind::UnknownAlgorithm => write!(f, "Unknown ALGORITHM '{}'", self.near),
            ParseErrorKind::UnknownLock => write!(f, "Unknown LOCK type '{}'", self.near),
            ParseErrorKind::WrongUsage(first, second) => {
                write!(f, "Incorrect usage of {first} and {second}")
            }
            ParseErrorKind::NameTooLong(what, length_max) => write!(
                f,
                "String '{}' is too long for {what} (should be no longer than {length_max})",
                self.near
            ),
            ParseErrorKind::IllegalHost => {
                write!(f, "Malformed hostname (illegal symbol: '@')")
            }
            ParseErrorKind::WrongValue(name) => {
                write!(f, "Incorrect {name} value: '{}'", self.near)
            }
            ParseErrorKind::UsedTwice(name) => {
                write!(f, "Option '{name}' used twice in statement")
            }
        }
    }
}

impl std::error::Error for ParseError {}
