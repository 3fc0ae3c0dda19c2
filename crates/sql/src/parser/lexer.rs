//! Bytes to tokens, by MySQL's rules.
//!
//! The lexer is a position in a buffer and one bit (inside an executed `/*! */`), so it is `Copy`: looking ahead is
//! lexing with a copy. It never fails and never allocates; what is no token is `TokenKind::Invalid`, which no rule of
//! the grammar accepts. Tokens are ranges; their values are decoded by whoever wants them. The parser and the digest
//! share it, which is why they agree on what a literal is.
//!
//! The text is taken as utf8mb4 or any other character set in which no byte below 0x80 is part of a longer
//! character. Of the SQL mode ANSI_QUOTES and NO_BACKSLASH_ESCAPES change the ends and the kinds of tokens, and
//! IGNORE_SPACE which words are calls ([`Lexer::is_call_of`]).

use std::borrow::Cow;

use types::SqlMode;

use super::Dialect;
use super::ast::{IsNational, Literal};
use super::keywords::is_spaceless_function;
use super::limits::VERSION_NUMBER;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TokenKind {
    /// End of the text.
    End = 1,
    /// No token: a stray byte, an unterminated string, quoted name or comment.
    Invalid,
    /// Unquoted name or keyword.
    Word,
    /// `...` with its backticks, or "..." under ANSI_QUOTES.
    QuotedName,
    /// @name, @'name', @`name`, or a lone @.
    UserVariable,
    /// @@
    AtAt,
    Integer,
    Decimal,
    Float,
    /// '...' with its quotes, or "..." without ANSI_QUOTES.
    String,
    /// N'...'
    NationalString,
    /// 0x41
    HexNumber,
    /// x'41'
    HexString,
    /// 0b01
    BitNumber,
    /// b'01'
    BitString,
    Question,
    Comma,
    Semicolon,
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    Dot,
    Star,
    Plus,
    Minus,
    Slash,
    Percent,
    Caret,
    Tilde,
    Bang,
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    Pipe,
    PipePipe,
    Ampersand,
    AmpersandAmpersand,
    Assign,
    Colon,
    /// ->
    Arrow,
    /// ->>
    LongArrow,
}

impl TokenKind {
    /// Number, string, hex or bits: what the digest replaces.
    pub fn is_literal(self) -> bool {
        matches!(
            self,
            TokenKind::Integer
                | TokenKind::Decimal
                | TokenKind::Float
                | TokenKind::String
                | TokenKind::NationalString
                | TokenKind::HexNumber
                | TokenKind::HexString
                | TokenKind::BitNumber
                | TokenKind::BitString
        )
    }
}

/// A token: kind and byte range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Copy)]
pub struct Lexer<'a> {
    text: &'a [u8],
    position: usize,
    in_version_comment: bool,
    mode: SqlMode,
}

const NAME: u8 = 1;
const DIGIT: u8 = 2;
const SPACE: u8 = 4;
/// May begin a comment, or end an executed one.
const COMMENT: u8 = 8;

static CLASSES: [u8; 256] = build_classes();

const fn build_classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => NAME | DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80..=0xFF => NAME,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => SPACE,
            b'#' | b'-' | b'/' | b'*' => COMMENT,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

fn is_name(byte: u8) -> bool {
    CLASSES[byte as usize] & NAME != 0
}

fn is_digit(byte: u8) -> bool {
    CLASSES[byte as usize] & DIGIT != 0
}

pub(super) fn is_space(byte: u8) -> bool {
    CLASSES[byte as usize] & SPACE != 0
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a [u8], mode: SqlMode) -> Lexer<'a> {
        Lexer { text, position: 0, in_version_comment: false, mode }
    }

    fn is_ansi(&self) -> bool {
        self.mode.has(SqlMode::ANSI_QUOTES)
    }
    /// Whether `\` escapes in strings.
    fn has_escapes(&self) -> bool {
        has_escapes(self.mode)
    }

    /// Whether the word is one of the functions that are keywords before a parenthesis, and stands before one: directly,
    /// or under IGNORE_SPACE with blanks in between.
    pub fn is_call_of(&self, word: Token) -> bool {
        let mut next = word.end;
        if self.mode.has(SqlMode::IGNORE_SPACE) {
            while is_space(self.byte(next)) {
                next += 1;
            }
        }
        self.byte(next) == b'(' && is_spaceless_function(&self.text[word.start..word.end])
    }

    fn byte(&self, position: usize) -> u8 {
        self.text.get(position).copied().unwrap_or(0)
    }

    /// The next token. Past the end it is End for ever.
    #[inline]
    pub fn next(&mut self) -> Token {
        if !self.skip_blank() {
            return self.token(TokenKind::Invalid, self.text.len());
        }
        let start = self.position;
        let Some(&first) = self.text.get(start) else {
            let kind = if self.in_version_comment { TokenKind::Invalid } else { TokenKind::End };
            return self.token(kind, start);
        };
        if CLASSES[first as usize] & (NAME | DIGIT) == NAME {
            return self.word(first);
        }
        if is_digit(first) {
            return self.number();
        }
        let second = self.byte(start + 1);
        let (kind, length) = match first {
            b'"' if self.is_ansi() => return self.quoted_name(),
            b'\'' | b'"' => return self.string(TokenKind::String, start),
            b'`' => return self.quoted_name(),
            b'@' => return self.variable(second),
            b'.' => {
                // `t.5` is a name after a dot, `.5` alone a number.
                let after_name = start > 0 && self.ends_name(self.text[start - 1]);
                if is_digit(second) && !after_name {
                    return self.number();
                }
                (TokenKind::Dot, 1)
            }
            b',' => (TokenKind::Comma, 1),
            b';' => (TokenKind::Semicolon, 1),
            b'(' => (TokenKind::LeftParen, 1),
            b')' => (TokenKind::RightParen, 1),
            b'{' => (TokenKind::LeftBrace, 1),
            b'}' => (TokenKind::RightBrace, 1),
            b'?' => (TokenKind::Question, 1),
            b'*' => (TokenKind::Star, 1),
            b'+' => (TokenKind::Plus, 1),
            b'-' if second == b'>' && self.byte(start + 2) == b'>' => (TokenKind::LongArrow, 3),
            b'-' if second == b'>' => (TokenKind::Arrow, 2),
            b'-' => (TokenKind::Minus, 1),
            b'/' => (TokenKind::Slash, 1),
            b'%' => (TokenKind::Percent, 1),
            b'^' => (TokenKind::Caret, 1),
            b'~' => (TokenKind::Tilde, 1),
            b'!' if second == b'=' => (TokenKind::NotEqual, 2),
            b'!' => (TokenKind::Bang, 1),
            b'=' => (TokenKind::Equal, 1),
            b'<' if second == b'=' && self.byte(start + 2) == b'>' => (TokenKind::NullSafeEqual, 3),
            b'<' if second == b'=' => (TokenKind::LessOrEqual, 2),
            b'<' if second == b'>' => (TokenKind::NotEqual, 2),
            b'<' if second == b'<' => (TokenKind::ShiftLeft, 2),
            b'<' => (TokenKind::Less, 1),
            b'>' if second == b'=' => (TokenKind::GreaterOrEqual, 2),
            b'>' if second == b'>' => (TokenKind::ShiftRight, 2),
            b'>' => (TokenKind::Greater, 1),
            b'|' if second == b'|' => (TokenKind::PipePipe, 2),
            b'|' => (TokenKind::Pipe, 1),
            b'&' if second == b'&' => (TokenKind::AmpersandAmpersand, 2),
            b'&' => (TokenKind::Ampersand, 1),
            b':' if second == b'=' => (TokenKind::Assign, 2),
            b':' => (TokenKind::Colon, 1),
            _ => (TokenKind::Invalid, 1),
        };
        self.token(kind, start + length)
    }

    /// Whether a name may end with this byte.
    fn ends_name(&self, byte: u8) -> bool {
        is_name(byte) || byte == b'`' || byte == b'"' && self.is_ansi()
    }

    /// A token from the position to `end`; moves there.
    fn token(&mut self, kind: TokenKind, end: usize) -> Token {
        let start = self.position;
        self.position = end;
        Token { kind, start, end }
    }

    /// Skips blanks and comments; false when a comment does not end.
    #[inline]
    fn skip_blank(&mut self) -> bool {
        loop {
            let class = CLASSES[self.byte(self.position) as usize];
            if class & SPACE != 0 {
                self.position += 1;
            } else if class & COMMENT == 0 {
                return true;
            } else {
                let start = self.position;
                if !self.skip_if_comment() {
                    return false;
                }
                if self.position == start {
                    return true;
                }
            }
        }
    }

    /// Skips a comment, or the end of an executed one, if the position is at one; false when it does not end.
    fn skip_if_comment(&mut self) -> bool {
        let rest = &self.text[self.position..];
        match rest[0] {
            b'#' => self.skip_line(),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(|&byte| byte <= b' ') => {
                self.skip_line();
            }
            b'/' if rest.starts_with(b"/*") => return self.skip_comment(),
            b'*' if self.in_version_comment && rest.starts_with(b"*/") => {
                self.in_version_comment = false;
                self.position += 2;
            }
            _ => {}
        }
        true
    }

    fn skip_line(&mut self) {
        while self.position < self.text.len() && self.text[self.position] != b'\n' {
            self.position += 1;
        }
    }

    /// At `/*`. An executed version comment only loses its opening; any other is skipped whole.
    fn skip_comment(&mut self) -> bool {
        let body = self.position + 2;
        let is_version = self.byte(body) == b'!' && !self.in_version_comment;
        if is_version {
            let mut position = body + 1;
            let mut version = 0;
            while position < body + 7 && is_digit(self.byte(position)) {
                version = version * 10 + u32::from(self.byte(position) - b'0');
                position += 1;
            }
            let digit_count = position - body - 1;
            // Fewer than five digits are no version but the beginning of the text.
            if digit_count < 5 {
                self.position = body + 1;
                self.in_version_comment = true;
                return true;
            }
            if version <= VERSION_NUMBER {
                self.position = position;
                self.in_version_comment = true;
                return true;
            }
        }
        // A skipped version comment may hold plain comments, one level deep.
        let mut position = body;
        let mut is_nested = false;
        while position + 1 < self.text.len() {
            match (self.text[position], self.text[position + 1]) {
                (b'*', b'/') => {
                    position += 2;
                    if is_nested {
                        is_nested = false;
                    } else {
                        self.position = position;
                        return true;
                    }
                }
                (b'/', b'*') if is_version && !is_nested => {
                    is_nested = true;
                    position += 2;
                }
                _ => position += 1,
            }
        }
        false
    }

    fn name_end(&self, mut position: usize) -> usize {
        while position < self.text.len() && is_name(self.text[position]) {
            position += 1;
        }
        position
    }

    #[inline]
    fn word(&mut self, first: u8) -> Token {
        if self.byte(self.position + 1) == b'\'' {
            match first {
                b'x' | b'X' => return self.digit_string(TokenKind::HexString),
                b'b' | b'B' => return self.digit_string(TokenKind::BitString),
                b'n' | b'N' => return self.string(TokenKind::NationalString, self.position + 1),
                _ => {}
            }
        }
        let end = self.name_end(self.position + 1);
        self.token(TokenKind::Word, end)
    }

    /// At a digit, or at a dot before a digit.
    fn number(&mut self) -> Token {
        let start = self.position;
        if self.text[start] == b'0' {
            let marker = self.byte(start + 1);
            let is_digit_of = match marker {
                b'x' => Some(u8::is_ascii_hexdigit as fn(&u8) -> bool),
                b'b' => Some((|byte: &u8| matches!(byte, b'0' | b'1')) as fn(&u8) -> bool),
                _ => None,
            };
            if let Some(is_digit_of) = is_digit_of {
                let end = self.name_end(start + 2);
                if start + 2 < end && self.text[start + 2..end].iter().all(is_digit_of) {
                    let kind =
                        if marker == b'x' { TokenKind::HexNumber } else { TokenKind::BitNumber };
                    return self.token(kind, end);
                }
                return self.token(TokenKind::Word, end);
            }
        }
        let mut position = start;
        let digits_end = |mut position: usize| {
            while is_digit(self.byte(position)) {
                position += 1;
            }
            position
        };
        position = digits_end(position);
        let mut kind = TokenKind::Integer;
        if self.byte(position) == b'.' {
            kind = TokenKind::Decimal;
            position = digits_end(position + 1);
        }
        if matches!(self.byte(position), b'e' | b'E') {
            let sign_length = usize::from(matches!(self.byte(position + 1), b'+' | b'-'));
            if is_digit(self.byte(position + 1 + sign_length)) {
                let end = digits_end(position + 1 + sign_length);
                return self.token(TokenKind::Float, end);
            }
        }
        // `1st` is a name; `1.5st` is a number and a name.
        if kind == TokenKind::Integer && is_name(self.byte(position)) {
            let end = self.name_end(position);
            return self.token(TokenKind::Word, end);
        }
        self.token(kind, position)
    }

    /// x'..' and b'..': the quotes must hold digits only, and an even number for x.
    fn digit_string(&mut self, kind: TokenKind) -> Token {
        let mut position = self.position + 2;
        let is_hex = kind == TokenKind::HexString;
        while match self.byte(position) {
            b'0' | b'1' => true,
            byte => is_hex && byte.is_ascii_hexdigit(),
        } {
            position += 1;
        }
        let digit_count = position - self.position - 2;
        if self.byte(position) != b'\'' || (is_hex && digit_count % 2 == 1) {
            return self.token(TokenKind::Invalid, position.min(self.text.len()));
        }
        self.token(kind, position + 1)
    }

    /// The quote is at `quote_position`.
    fn string(&mut self, kind: TokenKind, quote_position: usize) -> Token {
        match quoted_end(self.text, quote_position, self.has_escapes()) {
            Some(end) => self.token(kind, end),
            None => self.token(TokenKind::Invalid, self.text.len()),
        }
    }

    fn quoted_name(&mut self) -> Token {
        match quoted_end(self.text, self.position, false) {
            Some(end) => self.token(TokenKind::QuotedName, end),
            None => self.token(TokenKind::Invalid, self.text.len()),
        }
    }

    fn is_string_quote(&self, quote: u8) -> bool {
        quote == b'\'' || quote == b'"' && !self.is_ansi()
    }

    /// At `@`.
    fn variable(&mut self, second: u8) -> Token {
        let start = self.position;
        match second {
            b'@' => self.token(TokenKind::AtAt, start + 2),
            b'\'' | b'"' | b'`' => match quoted_end(
                self.text,
                start + 1,
                self.has_escapes() && self.is_string_quote(second),
            ) {
                Some(end) => self.token(TokenKind::UserVariable, end),
                None => self.token(TokenKind::Invalid, self.text.len()),
            },
            _ => {
                let mut position = start + 1;
                while is_name(self.byte(position)) || self.byte(position) == b'.' {
                    position += 1;
                }
                self.token(TokenKind::UserVariable, position)
            }
        }
    }
}

fn has_escapes(mode: SqlMode) -> bool {
    !mode.has(SqlMode::NO_BACKSLASH_ESCAPES)
}

/// Past the closing quote of the text quoted at `start`; None when it does not end. A doubled quote is part of it.
fn quoted_end(text: &[u8], start: usize, has_escapes: bool) -> Option<usize> {
    let quote = text[start];
    let escape = if has_escapes { b'\\' } else { quote };
    let mut position = start + 1;
    while position < text.len() {
        position += length_before(&text[position..], [quote, escape]);
        if text.get(position) == Some(&quote) && text.get(position + 1) != Some(&quote) {
            return Some(position + 1);
        }
        // Doubled or escaped: both bytes are part of it.
        position += 2;
    }
    None
}

/// How many bytes stand before the first that is one of these.
fn length_before(text: &[u8], ends: [u8; 2]) -> usize {
    // Whole blocks without a branch inside become vector compares: long strings are most of a bulk INSERT.
    const BLOCK: usize = 32;
    let is_end = |byte: &u8| ends.contains(byte);
    let is_free = |block: &&[u8]| !block.iter().fold(false, |found, byte| found | is_end(byte));
    let free = BLOCK * text.chunks_exact(BLOCK).take_while(is_free).count();
    let rest = &text[free..];
    free + rest.iter().position(is_end).unwrap_or(rest.len())
}

/// The content of a quoted string token (with its quotes) in UTF-8: escapes and doubled quotes resolved.
pub fn decode_string(quoted: &[u8], dialect: Dialect) -> Vec<u8> {
    let mut value = Vec::with_capacity(quoted.len() - 2);
    append_string(quoted, dialect.mode, &mut value);
    match dialect.charset.decode(&value) {
        Cow::Borrowed(_) => value,
        Cow::Owned(decoded) => decoded,
    }
}

/// The same in the client's character set, appended to `value`.
fn append_string(quoted: &[u8], mode: SqlMode, value: &mut Vec<u8>) {
    assert!(2 <= quoted.len());
    let quote = quoted[0];
    let escape = if has_escapes(mode) { b'\\' } else { quote };
    let body = &quoted[1..quoted.len() - 1];
    let mut position = 0;
    while position < body.len() {
        let run = length_before(&body[position..], [quote, escape]);
        value.extend_from_slice(&body[position..position + run]);
        position += run;
        if position == body.len() {
            return;
        }
        if body[position] == quote {
            value.push(quote);
            position += 2;
            continue;
        }
        let escaped = body[position + 1];
        position += 2;
        match escaped {
            b'0' => value.push(0),
            b'b' => value.push(8),
            b'n' => value.push(b'\n'),
            b'r' => value.push(b'\r'),
            b't' => value.push(b'\t'),
            b'Z' => value.push(26),
            // Kept for LIKE, which gives them their meaning.
            b'%' | b'_' => value.extend_from_slice(&[b'\\', escaped]),
            _ => value.push(escaped),
        }
    }
}

/// The content of a quoted name.
pub fn decode_name(quoted: &[u8]) -> Vec<u8> {
    let quote = quoted[0];
    let body = &quoted[1..quoted.len() - 1];
    let mut value = Vec::with_capacity(body.len());
    let mut position = 0;
    while position < body.len() {
        value.push(body[position]);
        position += if body[position] == quote { 2 } else { 1 };
    }
    value
}

/// The value of a literal token; None for a number beyond the range of a double. Must be of a literal kind.
pub fn decode_literal(text: &[u8], token: Token, dialect: Dialect) -> Option<Literal> {
    let bytes = &text[token.start..token.end];
    Some(match token.kind {
        TokenKind::Integer => decode_integer(bytes),
        TokenKind::Decimal => Literal::Decimal(ascii(bytes)),
        TokenKind::Float => {
            let value: f64 = ascii(bytes).parse().expect("digits with an exponent are a double");
            if !value.is_finite() {
                return None;
            }
            Literal::Float(value)
        }
        TokenKind::String => Literal::String(decode_string(bytes, dialect)),
        TokenKind::NationalString => Literal::CharsetString {
            charset: "utf8mb3".to_string(),
            value: decode_string(&bytes[1..], dialect),
            is_national: IsNational(true),
        },
        TokenKind::HexNumber => Literal::Hex(decode_hex(&bytes[2..])),
        TokenKind::HexString => Literal::Hex(decode_hex(&bytes[2..bytes.len() - 1])),
        TokenKind::BitNumber => Literal::Bits(decode_bits(&bytes[2..])),
        TokenKind::BitString => Literal::Bits(decode_bits(&bytes[2..bytes.len() - 1])),
        kind => unreachable!("no literal: {kind:?}"),
    })
}

fn ascii(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("a number is ASCII")
}

fn decode_integer(digits: &[u8]) -> Literal {
    let mut value: u64 = 0;
    for digit in digits {
        let next =
            value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')));
        match next {
            Some(next) => value = next,
            None => return Literal::Decimal(ascii(digits)),
        }
    }
    Literal::Integer(value)
}

/// An odd number of digits (0xABC) gets a leading zero.
fn decode_hex(digits: &[u8]) -> Vec<u8> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).expect("a hex digit") as u8;
    let (head, rest) = digits.split_at(digits.len() % 2);
    let mut value = Vec::with_capacity(digits.len().div_ceil(2));
    value.extend(head.iter().map(|&digit| nibble(digit)));
    value.extend(rest.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])));
    value
}

fn decode_bits(digits: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(digits.len().div_ceil(8));
    for group in digits.rchunks(8).rev() {
        value.push(group.iter().fold(0, |byte, digit| byte << 1 | (digit - b'0')));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Token kinds of a text, as their Debug names.
    fn kinds(text: &str, mode: SqlMode) -> String {
        let mut lexer = Lexer::new(text.as_bytes(), mode);
        let mut names = Vec::new();
        loop {
            let token = lexer.next();
            if token.kind == TokenKind::End {
                return names.join(" ");
            }
            names.push(format!("{:?}", token.kind));
            if token.kind == TokenKind::Invalid {
                return names.join(" ");
            }
        }
    }

    fn literal(text: &str) -> Literal {
        literal_in(text, SqlMode::NONE)
    }

    fn literal_in(text: &str, mode: SqlMode) -> Literal {
        let token = Lexer::new(text.as_bytes(), mode).next();
        assert_eq!(token.end, text.len(), "{text}");
        decode_literal(text.as_bytes(), token, mode.into()).expect("in range")
    }

    /// What each text lexes to.
    #[test]
    fn tokens() {
        for (text, expected) in [
            ("", ""),
            (" \t\r\n ", ""),
            ("a b1 _c $d é", "Word Word Word Word Word"),
            (
                "1 1. .5 1.5 1e5 1.5E-3 1e 1st",
                "Integer Decimal Decimal Decimal Float Float Word Word",
            ),
            ("t.5", "Word Dot Integer"),
            ("`a`` b`.c", "QuotedName Dot Word"),
            (
                "'it''s' \"q\"\"\" 'a\\'b' N'x' n'y'",
                "String String String NationalString NationalString",
            ),
            ("0x1F 0xG x'1F' x'1' ", "HexNumber Word HexString Invalid"),
            ("0b01 0b2 b'01' b'2'", "BitNumber Word BitString Invalid"),
            (
                "@a @`b c` @'d' @@x @",
                "UserVariable UserVariable UserVariable AtAt Word UserVariable",
            ),
            (
                "<=> <= <> != < << >> >= >",
                "NullSafeEqual LessOrEqual NotEqual NotEqual Less ShiftLeft ShiftRight GreaterOrEqual Greater",
            ),
            (
                "a->b->>c := || | && & :",
                "Word Arrow Word LongArrow Word Assign PipePipe Pipe AmpersandAmpersand Ampersand Colon",
            ),
            ("a -- b\nc --d", "Word Word Minus Minus Word"),
            ("a --", "Word"),
            ("a # b\nc", "Word Word"),
            ("a /* b */ c /*+ hint */", "Word Word"),
            ("/*! a */ b", "Word Word"),
            ("/*!50000 a */ b", "Word Word"),
            ("/*!080040 a */ b", "Word Word"),
            ("/*!080041 a */ b", "Word"),
            ("/*M!100100 a */ b", "Word"),
            ("/*!99999 a */ b", "Word"),
            ("/*!99999 a /* b */ c */ d", "Word"),
            ("/*!50000 a /* b */ c */ d", "Word Word Word"),
            ("/*!123 a */", "Integer Word"),
            ("/* a", "Invalid"),
            ("/*! a", "Word Invalid"),
            ("'a", "Invalid"),
            ("'a\\", "Invalid"),
            ("`a", "Invalid"),
            ("@'a", "Invalid"),
            ("\u{1}", "Invalid"),
            ("a*/b", "Word Star Slash Word"),
        ] {
            assert_eq!(kinds(text, SqlMode::NONE), expected, "{text}");
        }
    }

    /// Values of literals.
    #[test]
    fn literals() {
        for (text, expected) in [
            ("18446744073709551615", Literal::Integer(u64::MAX)),
            ("18446744073709551616", Literal::Decimal("18446744073709551616".to_string())),
            ("007", Literal::Integer(7)),
            ("1.50", Literal::Decimal("1.50".to_string())),
            ("1e2", Literal::Float(100.0)),
            (".5e1", Literal::Float(5.0)),
            ("1.e1", Literal::Float(10.0)),
            (
                "'a\\n\\t\\0\\Z\\\\\\%\\_\\q\\'''\"'",
                Literal::String(b"a\n\t\0\x1a\\\\%\\_q''\"".to_vec()),
            ),
            ("\"a\"\"'b\"", Literal::String(b"a\"'b".to_vec())),
            ("''", Literal::String(Vec::new())),
            ("0x41f", Literal::Hex(vec![0x04, 0x1F])),
            ("x''", Literal::Hex(Vec::new())),
            ("X'4aB0'", Literal::Hex(vec![0x4A, 0xB0])),
            ("b'100000001'", Literal::Bits(vec![1, 1])),
            ("0b11", Literal::Bits(vec![3])),
        ] {
            assert_eq!(literal(text), expected, "{text}");
        }
        let huge = b"1e999";
        let none = SqlMode::NONE;
        assert_eq!(decode_literal(huge, Lexer::new(huge, none).next(), none.into()), None);
    }

    /// What ANSI_QUOTES and NO_BACKSLASH_ESCAPES make of quotes.
    #[test]
    fn modes() {
        let ansi = SqlMode::ANSI_QUOTES;
        let plain = SqlMode::NO_BACKSLASH_ESCAPES;
        for (mode, text, expected) in [
            (ansi, "\"a\"\"b\".5 'x\"'", "QuotedName Dot Integer String"),
            (ansi, "\"a\\\" b", "QuotedName Word"),
            (ansi, "@\"a\\\" b", "UserVariable Word"),
            (ansi, "'a\\' b'", "String"),
            (plain, "'a\\' b", "String Word"),
            (plain, "\"a\\\" 'a''b\\' c", "String String Word"),
            (plain, "@'a\\' b", "UserVariable Word"),
            (plain, "'a\\'' b", "Invalid"),
            (ansi.with(plain), "\"a\" N'\\'", "QuotedName NationalString"),
        ] {
            assert_eq!(kinds(text, mode), expected, "{text}");
        }
        assert_eq!(decode_name(b"\"a\"\"`b\""), b"a\"`b");
        let expected = Literal::String(b"a\\n\\'\\".to_vec());
        assert_eq!(literal_in("'a\\n\\''\\'", plain), expected);
    }

    /// Words that are calls: directly before a parenthesis, and with IGNORE_SPACE also with blanks in between.
    #[test]
    fn calls() {
        for (text, without, with) in [
            ("count(", true, true),
            ("COUNT (", false, true),
            ("Now\n\t(", false, true),
            ("count /**/(", false, false),
            ("count", false, false),
            ("counter(", false, false),
            ("abs(", false, false),
        ] {
            for (mode, expected) in [(SqlMode::NONE, without), (SqlMode::IGNORE_SPACE, with)] {
                let mut lexer = Lexer::new(text.as_bytes(), mode);
                let word = lexer.next();
                assert_eq!(lexer.is_call_of(word), expected, "{text}");
            }
        }
    }
}
