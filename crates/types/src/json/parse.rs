//! JSON text into a document, with the errors and positions of MySQL's parser.
//!
//! The grammar is that of RFC 8259. An integer that fits 32 bits without a sign, or 64 with one, is an `Int`; a larger one
//! that fits 64 bits a `UInt`; other numbers are doubles. Of members of one name the last one counts.

use super::document::{Json, JsonError, Object};
use super::{DEPTH_MAX, VALUE_COUNT_MAX};

/// Why a text is no document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// MySQL's words, and the byte where reading stopped.
    Syntax { message: &'static str, position: usize },
    /// It is one, but exceeds a bound.
    Document(JsonError),
}

impl ParseError {
    /// The syntax error, or the bound that the document exceeds.
    pub fn syntax(self) -> Result<(&'static str, usize), JsonError> {
        match self {
            ParseError::Syntax { message, position } => Ok((message, position)),
            ParseError::Document(error) => Err(error),
        }
    }
}

pub fn parse(text: &str) -> Result<Json, ParseError> {
    let mut parser = Parser { bytes: text.as_bytes(), at: 0, depth: 0, value_count: 0 };
    parser.skip_space();
    if parser.peek() == 0 {
        return parser.error("The document is empty.");
    }
    let document = parser.value()?;
    parser.skip_space();
    if parser.at < parser.bytes.len() {
        return parser.error("The document root must not be followed by other values.");
    }
    Ok(document)
}

/// The text inside a quoted JSON string, which is all of `text`.
pub fn parse_string(text: &str) -> Result<Box<str>, ParseError> {
    match parse(text)? {
        Json::String(string) => Ok(string),
        _ => Err(ParseError::Syntax { message: "Invalid value.", position: 0 }),
    }
}

struct Parser<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Arrays and objects around the next value.
    depth: usize,
    value_count: usize,
}

type Parse<T> = Result<T, ParseError>;

impl Parser<'_> {
    /// The next byte; 0 at the end, which begins nothing.
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }
    fn accept(&mut self, byte: u8) -> bool {
        let is_next = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }
    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }
    fn error<T>(&self, message: &'static str) -> Parse<T> {
        Err(ParseError::Syntax { message, position: self.at })
    }
    fn error_at<T>(&self, message: &'static str, position: usize) -> Parse<T> {
        Err(ParseError::Syntax { message, position })
    }

    fn value(&mut self) -> Parse<Json> {
        self.value_count += 1;
        if VALUE_COUNT_MAX < self.value_count {
            return Err(ParseError::Document(JsonError::TooLarge));
        }
        match self.peek() {
            b'n' => self.word(b"null", Json::Null),
            b't' => self.word(b"true", Json::Bool(true)),
            b'f' => self.word(b"false", Json::Bool(false)),
            b'"' => Ok(Json::String(self.string()?.into())),
            b'[' => self.nested(Self::array),
            b'{' => self.nested(Self::object),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8], value: Json) -> Parse<Json> {
        for byte in word {
            if !self.accept(*byte) {
                return self.error("Invalid value.");
            }
        }
        Ok(value)
    }

    fn nested(&mut self, read: fn(&mut Self) -> Parse<Json>) -> Parse<Json> {
        self.depth += 1;
        if DEPTH_MAX < self.depth {
            return Err(ParseError::Document(JsonError::TooDeep));
        }
        self.at += 1;
        self.skip_space();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Parse<Json> {
        let mut elements = Vec::new();
        if self.accept(b']') {
            return Ok(Json::Array(elements));
        }
        loop {
            elements.push(self.value()?);
            self.skip_space();
            if self.accept(b',') {
                self.skip_space();
            } else if self.accept(b']') {
                elements.shrink_to_fit();
                return Ok(Json::Array(elements));
            } else {
                return self.error("Missing a comma or ']' after an array element.");
            }
        }
    }

    fn object(&mut self) -> Parse<Json> {
        let mut members = Vec::new();
        if self.accept(b'}') {
            return Ok(Json::Object(Object::default()));
        }
        loop {
            if self.peek() != b'"' {
                return self.error("Missing a name for object member.");
            }
            let name = self.string()?;
            if super::NAME_LENGTH_MAX < name.len() {
                return Err(ParseError::Document(JsonError::NameTooLong));
            }
            self.skip_space();
            if !self.accept(b':') {
                return self.error("Missing a colon after a name of object member.");
            }
            self.skip_space();
            members.push((name.into(), self.value()?));
            self.skip_space();
            if self.accept(b',') {
                self.skip_space();
            } else if self.accept(b'}') {
                return Ok(Json::Object(Object::of_members(members)));
            } else {
                return self.error("Missing a comma or '}' after an object member.");
            }
        }
    }

    /// At the opening quotation mark.
    fn string(&mut self) -> Parse<String> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            let rest = &self.bytes[self.at..];
            let plain = rest.iter().position(|&byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let plain = plain.unwrap_or(rest.len());
            text.extend_from_slice(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    // Cut only at ASCII characters, and added to by whole characters.
                    return String::from_utf8(text)
                        .or_else(|_| self.error("Invalid encoding in string."));
                }
                b'\\' => {
                    let character = self.escape()?;
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                0 => return self.error("Missing a closing quotation mark in string."),
                _ => return self.error("Invalid encoding in string."),
            }
        }
    }

    /// The character that an escape sequence stands for. Errors are at its backslash.
    fn escape(&mut self) -> Parse<char> {
        let start = self.at;
        self.at += 1;
        let kind = self.peek();
        self.at += 1;
        Ok(match kind {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(start),
            _ => return self.error_at("Invalid escape character in string.", start),
        })
    }

    fn unicode_escape(&mut self, start: usize) -> Parse<char> {
        let invalid = "The surrogate pair in string is invalid.";
        let first = self.hex_digits(start)?;
        let code = match first {
            0xd800..=0xdbff => {
                if !self.accept(b'\\') || !self.accept(b'u') {
                    return self.error_at(invalid, start);
                }
                let second = self.hex_digits(start)?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return self.error_at(invalid, start);
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            other => other,
        };
        match char::from_u32(code) {
            Some(character) => Ok(character),
            None => self.error_at(invalid, start),
        }
    }

    fn hex_digits(&mut self, start: usize) -> Parse<u32> {
        let mut number = 0;
        for _ in 0..4 {
            let Some(digit) = char::from(self.peek()).to_digit(16) else {
                return self.error_at("Incorrect hex digit after \\u escape in string.", start);
            };
            number = number << 4 | digit;
            self.at += 1;
        }
        Ok(number)
    }

    fn skip_digits(&mut self) {
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Parse<Json> {
        let start = self.at;
        let is_negative = self.accept(b'-');
        let digits_start = self.at;
        match self.peek() {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.skip_digits(),
            _ => return self.error("Invalid value."),
        }
        let digits = digits_start..self.at;
        let mut is_integer = true;
        if self.accept(b'.') {
            is_integer = false;
            if !self.peek().is_ascii_digit() {
                return self.error("Miss fraction part in number.");
            }
            self.skip_digits();
        }
        if matches!(self.peek(), b'e' | b'E') {
            is_integer = false;
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            if !self.peek().is_ascii_digit() {
                return self.error("Miss exponent in number.");
            }
            self.skip_digits();
        }
        if is_integer && let Some(value) = integer(is_negative, &self.bytes[digits]) {
            return Ok(value);
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Json::Double(number)),
            _ => self.error_at("Number too big to be stored in double.", start),
        }
    }
}

/// None if it fits neither 64 bits with a sign nor without one.
fn integer(is_negative: bool, digits: &[u8]) -> Option<Json> {
    let number = digits.iter().try_fold(0u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })?;
    if is_negative {
        return 0i64.checked_sub_unsigned(number).map(Json::Int);
    }
    Some(match u32::try_from(number) {
        Ok(number) => Json::Int(i64::from(number)),
        Err(_) => Json::UInt(number),
    })
}
