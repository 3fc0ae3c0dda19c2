//! The cursor that all grammar rules share: the current token, look-ahead, names, and the bounds.
//!
//! A rule asks with `at` and `accept`, insists with `expect`, and reports the current token as the offending one with
//! `syntax_error`. Keywords are compared as upper-cased text, which costs little because the parser runs on cache
//! misses only and saves a list of a thousand token kinds.
//!
//! Nesting is counted by `enter` and `leave` around every rule that can reach itself. The height of the tree under
//! construction is kept in `height`: a rule that builds a node resets it, parses the children (each raises it to its
//! own height), and adds its own one. See `nested`.

use types::{Charset, SqlMode};

use super::Dialect;
use super::ast::{Expr, Literal, ObjectName, Place};
use super::error::{ParseError, ParseErrorKind};
use super::keywords::is_reserved;
use super::lexer::{self, Lexer, Token, TokenKind};
use super::limits::{
    DIGEST_LITERAL_COUNT_MAX, EXPRESSION_COUNT_MAX, EXPRESSION_COUNT_MAX_AT_ONCE, HEIGHT_MAX,
    NESTING_MAX, STATEMENT_SIZE_MAX,
};

pub(super) type Parse<T> = Result<T, ParseError>;

/// Keywords are shorter; a longer word is a name.
const WORD_LENGTH_MAX: usize = 32;

pub(super) struct Parser<'a> {
    text: &'a [u8],
    dialect: Dialect,
    /// String literals are bytes of their own character set: behind `_binary`.
    is_raw: bool,
    lexer: Lexer<'a>,
    token: Token,
    /// The current token upper-cased when it is an unquoted word of keyword length; else empty.
    upper: [u8; WORD_LENGTH_MAX],
    upper_length: usize,
    /// Where the token before the current one ended.
    previous_end: usize,
    nesting: u32,
    /// Height of the tallest subtree finished since the innermost enclosing node began.
    height: u32,
    expression_count: u32,
    expression_count_max: u32,
    param_count: u32,
    /// Parametrised mode: literals become parameters.
    is_parametrised: bool,
    /// In parametrised mode: literals may become parameters in the part being parsed.
    slot: bool,
    /// In a part whose text names a column.
    is_titled: bool,
    /// Conditions of joins that came behind another one's.
    pub late_condition_count: u32,
    /// In parametrised mode: the literals that became parameters.
    literals: Vec<Literal>,
    /// Literal tokens passed. A statement is shareable only if each became a parameter.
    literal_token_count: usize,
}

impl<'a> Parser<'a> {
    /// A parser at the first token of `text`.
    pub fn new(text: &'a [u8], dialect: Dialect) -> Parse<Parser<'a>> {
        if STATEMENT_SIZE_MAX < text.len() {
            return Err(ParseError::at(text, 0, ParseErrorKind::TooLong));
        }
        let mut parser = Parser {
            text,
            dialect,
            is_raw: false,
            lexer: Lexer::new(text, dialect.mode),
            token: Token { kind: TokenKind::End, start: 0, end: 0 },
            upper: [0; WORD_LENGTH_MAX],
            upper_length: 0,
            previous_end: 0,
            nesting: 0,
            height: 0,
            expression_count: 0,
            expression_count_max: EXPRESSION_COUNT_MAX_AT_ONCE,
            param_count: 0,
            is_parametrised: false,
            slot: false,
            is_titled: false,
            late_condition_count: 0,
            literals: Vec::new(),
            literal_token_count: 0,
        };
        parser.token = parser.lexer.next();
        parser.load_word();
        Ok(parser)
    }

    pub fn has_mode(&self, mode: SqlMode) -> bool {
        self.dialect.mode.has(mode)
    }

    /// Parses a part whose string literals are not in the client's character set.
    pub fn with_raw_strings<T>(&mut self, part: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = std::mem::replace(&mut self.is_raw, true);
        let result = part(self);
        self.is_raw = outer;
        result
    }

    /// The dialect of literals here.
    fn literal_dialect(&self) -> Dialect {
        let charset = if self.is_raw { Charset::Binary } else { self.dialect.charset };
        Dialect { charset, ..self.dialect }
    }

    /// The rows of an INSERT follow.
    pub fn allow_many_expressions(&mut self) {
        self.expression_count_max = EXPRESSION_COUNT_MAX;
    }

    pub fn set_parametrised(&mut self) {
        self.is_parametrised = true;
    }

    pub fn param_count(&self) -> u32 {
        self.param_count
    }

    /// The literals of a parametrised statement; None when one of them did not become a parameter.
    pub fn take_literals(self) -> Option<Vec<Literal>> {
        let is_complete = self.is_parametrised
            && self.literals.len() == self.literal_token_count
            && self.literals.len() == self.param_count as usize
            && self.literals.len() <= DIGEST_LITERAL_COUNT_MAX;
        is_complete.then_some(self.literals)
    }

    /// Insists on the end of the statement; returns where the next one begins.
    pub fn finish_statement(&mut self) -> Parse<usize> {
        match self.token.kind {
            TokenKind::End => Ok(self.text.len()),
            TokenKind::Semicolon => Ok(skip_spaces(self.text, self.token.end)),
            _ => self.syntax_error(),
        }
    }

    // -----------------------------------------------------------------------------------------------------------
    // Tokens

    fn load_word(&mut self) {
        self.upper_length = 0;
        if self.token.kind != TokenKind::Word {
            return;
        }
        let bytes = &self.text[self.token.start..self.token.end];
        if bytes.len() <= WORD_LENGTH_MAX && bytes.is_ascii() {
            self.upper_length = bytes.len();
            let upper = &mut self.upper[..bytes.len()];
            upper.copy_from_slice(bytes);
            upper.make_ascii_uppercase();
        }
    }

    pub fn kind(&self) -> TokenKind {
        self.token.kind
    }

    pub fn token(&self) -> Token {
        self.token
    }

    /// The current unquoted word upper-cased; empty for any other token (and for words no keyword can be).
    pub fn word(&self) -> &str {
        std::str::from_utf8(&self.upper[..self.upper_length]).expect("load_word took ASCII only")
    }

    /// The bytes of the current token.
    pub fn token_text(&self) -> &'a [u8] {
        &self.text[self.token.start..self.token.end]
    }

    pub fn token_start(&self) -> usize {
        self.token.start
    }

    pub fn advance(&mut self) {
        if self.token.kind.is_literal() {
            self.literal_token_count += 1;
        }
        self.previous_end = self.token.end;
        self.token = self.lexer.next();
        self.load_word();
    }

    /// The source from `start` to the end of the token before the current one.
    pub fn text_since(&self, start: usize) -> String {
        let end = self.previous_end.max(start);
        let text = self.dialect.charset.decode(&self.text[start..end]);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The kinds of the next `N` tokens after the current one.
    pub fn peek_kinds<const N: usize>(&self) -> [TokenKind; N] {
        let mut lexer = self.lexer;
        std::array::from_fn(|_| lexer.next().kind)
    }

    /// The token after the current one.
    pub fn peek(&self) -> Token {
        let mut lexer = self.lexer;
        lexer.next()
    }

    /// Whether the token after the current one is the unquoted word `word`.
    pub fn next_is(&self, word: &str) -> bool {
        self.token_is(self.peek(), word)
    }

    /// Whether the second token after the current one is the unquoted word `word`.
    pub fn second_is(&self, word: &str) -> bool {
        let mut lexer = self.lexer;
        lexer.next();
        self.token_is(lexer.next(), word)
    }

    pub fn token_is(&self, token: Token, word: &str) -> bool {
        token.kind == TokenKind::Word
            && self.text[token.start..token.end].eq_ignore_ascii_case(word.as_bytes())
    }

    /// Where the current token begins.
    pub fn place(&self) -> Place {
        Place(u32::try_from(self.token.start).expect("texts are bounded"))
    }

    /// Whether one of `words` follows before one of `ends`, among the next few tokens.
    pub fn is_ahead(&self, words: &[&str], ends: &[&str]) -> bool {
        const TOKENS_MAX: usize = 32;
        let mut lexer = self.lexer;
        for _ in 0..TOKENS_MAX {
            let token = lexer.next();
            if words.iter().any(|word| self.token_is(token, word)) {
                return true;
            }
            if token.kind == TokenKind::End || ends.iter().any(|word| self.token_is(token, word)) {
                return false;
            }
        }
        false
    }

    /// Whether a query begins after the opening parentheses that the current token is the first of.
    pub fn is_query_in_parens(&self) -> bool {
        let mut lexer = self.lexer;
        let mut token = self.token;
        while token.kind == TokenKind::LeftParen {
            token = lexer.next();
        }
        if self.token_is(token, "VALUES") {
            return self.token_is(lexer.next(), "ROW");
        }
        self.is_query_word(token)
    }

    /// Whether the token after the current `(` begins a query.
    pub fn is_query_next(&self) -> bool {
        let mut lexer = self.lexer;
        let token = lexer.next();
        if self.token_is(token, "VALUES") {
            return self.token_is(lexer.next(), "ROW");
        }
        self.is_query_word(token)
    }

    fn is_query_word(&self, token: Token) -> bool {
        ["SELECT", "WITH", "TABLE"].iter().any(|word| self.token_is(token, word))
    }

    pub fn at(&self, word: &str) -> bool {
        self.upper_length == word.len() && &self.upper[..self.upper_length] == word.as_bytes()
    }

    pub fn at_kind(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    pub fn at_end(&self) -> bool {
        matches!(self.token.kind, TokenKind::End | TokenKind::Semicolon)
    }

    /// Takes the word if it is the current one.
    pub fn accept(&mut self, word: &str) -> bool {
        let is_there = self.at(word);
        if is_there {
            self.advance();
        }
        is_there
    }

    /// Takes two words if both are there.
    pub fn accept_two(&mut self, first: &str, second: &str) -> bool {
        let is_there = self.at(first) && self.next_is(second);
        if is_there {
            self.advance();
            self.advance();
        }
        is_there
    }

    /// Takes the first of `words` that is there.
    pub fn accept_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.accept(word))
    }

    pub fn accept_kind(&mut self, kind: TokenKind) -> bool {
        let is_there = self.token.kind == kind;
        if is_there {
            self.advance();
        }
        is_there
    }

    pub fn expect(&mut self, word: &str) -> Parse<()> {
        if self.accept(word) { Ok(()) } else { self.syntax_error() }
    }

    pub fn expect_any(&mut self, words: &[&str]) -> Parse<()> {
        if self.accept_any(words) { Ok(()) } else { self.syntax_error() }
    }

    pub fn expect_kind(&mut self, kind: TokenKind) -> Parse<()> {
        if self.accept_kind(kind) { Ok(()) } else { self.syntax_error() }
    }

    /// Error 1064 at the current token.
    pub fn syntax_error<T>(&self) -> Parse<T> {
        Err(self.error(ParseErrorKind::Syntax))
    }

    /// Error 1064 at a token already passed.
    pub fn error_at(&self, token: Token) -> ParseError {
        ParseError::at(self.text, token.start, ParseErrorKind::Syntax)
    }

    pub fn error(&self, kind: ParseErrorKind) -> ParseError {
        let mut error = ParseError::at(self.text, self.token.start, kind);
        if !self.dialect.charset.is_verbatim() {
            // Characters of all character sets but utf8mb4 are longer in UTF-8 only.
            let rest = &self.text[self.token.start..];
            let near = self.dialect.charset.decode(&rest[..rest.len().min(320)]);
            error.near = String::from_utf8_lossy(&near).chars().take(80).collect();
        }
        error
    }

    /// Passes everything to the end of the statement.
    pub fn skip_statement(&mut self) -> Parse<()> {
        while !self.at_end() {
            if self.token.kind == TokenKind::Invalid {
                return self.syntax_error();
            }
            self.advance();
        }
        Ok(())
    }

    /// Passes everything to the end of the text: bodies of routines have semicolons of their own.
    pub fn skip_text(&mut self) -> Parse<()> {
        while self.token.kind != TokenKind::End {
            if self.token.kind == TokenKind::Invalid {
                return self.syntax_error();
            }
            self.advance();
        }
        Ok(())
    }

    /// At `(`: passes to after its `)`.
    pub fn skip_parens(&mut self) -> Parse<()> {
        let mut open = 0u32;
        loop {
            match self.token.kind {
                TokenKind::LeftParen => open += 1,
                TokenKind::RightParen => open = open.saturating_sub(1),
                TokenKind::End | TokenKind::Invalid => return self.syntax_error(),
                _ => {}
            }
            self.advance();
            if open == 0 {
                return Ok(());
            }
        }
    }

    /// One or more `item`, separated by commas.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.accept_kind(TokenKind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `(item, ...)`, at least one.
    pub fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        self.expect_kind(TokenKind::LeftParen)?;
        let items = self.list(item)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(items)
    }

    // -----------------------------------------------------------------------------------------------------------
    // Names and plain values

    /// Whether the current token can be a name: quoted, or an unreserved word.
    pub fn at_name(&self) -> bool {
        match self.token.kind {
            TokenKind::QuotedName => true,
            TokenKind::Word => {
                (self.upper_length == 0 || !is_reserved(&self.upper[..self.upper_length]))
                    && !self.at_call()
            }
            _ => false,
        }
    }

    /// Whether the current word is a function because a parenthesis follows: see [`Lexer::is_call_of`].
    pub fn at_call(&self) -> bool {
        self.token.kind == TokenKind::Word && self.lexer.is_call_of(self.token)
    }

    pub fn name(&mut self) -> Parse<String> {
        if !self.at_name() {
            return self.syntax_error();
        }
        self.take_name()
    }

    /// A name after a dot: reserved words are names there.
    pub fn name_after_dot(&mut self) -> Parse<String> {
        match self.token.kind {
            TokenKind::Word | TokenKind::QuotedName | TokenKind::Integer => self.take_name(),
            _ => self.syntax_error(),
        }
    }

    /// The current word, quoted name or integer as a name.
    fn take_name(&mut self) -> Parse<String> {
        let bytes = self.token_text();
        let bytes = match self.token.kind {
            TokenKind::QuotedName => lexer::decode_name(bytes),
            _ => bytes.to_vec(),
        };
        // An empty name is one that nothing has; where it would be given, the binder refuses it.
        if bytes.contains(&0) {
            return self.syntax_error();
        }
        let name = String::from_utf8(self.dialect.charset.decode(&bytes).into_owned())
            .map_err(|_| self.error(ParseErrorKind::InvalidUtf8))?;
        self.advance();
        Ok(name)
    }

    /// A name or a quoted string: character sets, collations, engines, aliases after AS.
    pub fn name_or_string(&mut self) -> Parse<String> {
        if self.token.kind == TokenKind::String { self.string_text() } else { self.name() }
    }

    /// `name` or `schema.name`.
    pub fn object_name(&mut self) -> Parse<ObjectName> {
        let at = self.place();
        // `.t` is the current schema's t, for ODBC.
        if self.accept_kind(TokenKind::Dot) {
            return Ok(ObjectName { schema: None, name: self.name_after_dot()?, at });
        }
        let name = self.name()?;
        if self.accept_kind(TokenKind::Dot) {
            let object = self.name_after_dot()?;
            return Ok(ObjectName { schema: Some(name), name: object, at });
        }
        Ok(ObjectName { schema: None, name, at })
    }

    /// A quoted string's bytes. Not a literal of the statement's values: never a parameter.
    pub fn string_bytes(&mut self) -> Parse<Vec<u8>> {
        if self.token.kind != TokenKind::String {
            return self.syntax_error();
        }
        let value = lexer::decode_string(self.token_text(), self.literal_dialect());
        self.advance();
        Ok(value)
    }

    /// A quoted string that must be UTF-8.
    pub fn string_text(&mut self) -> Parse<String> {
        let error = self.error(ParseErrorKind::InvalidUtf8);
        String::from_utf8(self.string_bytes()?).map_err(|_| error)
    }

    /// An unsigned integer that is part of the syntax: a width, a count. Never a parameter.
    pub fn unsigned(&mut self) -> Parse<u64> {
        if self.token.kind == TokenKind::Integer
            && let Some(Literal::Integer(value)) =
                lexer::decode_literal(self.text, self.token, self.dialect)
        {
            self.advance();
            return Ok(value);
        }
        self.syntax_error()
    }

    /// A width or length behind a type; a number too large for any becomes the largest.
    pub fn width(&mut self) -> Parse<u64> {
        if self.token.kind == TokenKind::Integer
            && let Some(Literal::Decimal(_)) =
                lexer::decode_literal(self.text, self.token, self.dialect)
        {
            self.advance();
            return Ok(u64::MAX);
        }
        self.unsigned()
    }

    /// The name of the current user variable token, without @.
    pub fn user_variable(&mut self) -> Parse<String> {
        if self.token.kind != TokenKind::UserVariable {
            return self.syntax_error();
        }
        let bytes = &self.token_text()[1..];
        let bytes = match bytes.first() {
            Some(b'`') => lexer::decode_name(bytes),
            Some(b'"') if self.has_mode(SqlMode::ANSI_QUOTES) => lexer::decode_name(bytes),
            Some(b'\'' | b'"') => lexer::decode_string(bytes, self.dialect.mode.into()),
            _ => bytes.to_vec(),
        };
        let name = String::from_utf8(self.dialect.charset.decode(&bytes).into_owned())
            .map_err(|_| self.error(ParseErrorKind::InvalidUtf8))?;
        self.advance();
        Ok(name)
    }

    /// IF EXISTS.
    pub fn accept_if_exists(&mut self) -> Parse<bool> {
        if !self.accept("IF") {
            return Ok(false);
        }
        self.expect("EXISTS")?;
        Ok(true)
    }

    /// IF NOT EXISTS.
    pub fn accept_if_not_exists(&mut self) -> Parse<bool> {
        if !self.accept("IF") {
            return Ok(false);
        }
        self.expect("NOT")?;
        self.expect("EXISTS")?;
        Ok(true)
    }

    // -----------------------------------------------------------------------------------------------------------
    // Literals and parameters

    /// The literal token here, as a constant or as a parameter.
    pub fn literal(&mut self) -> Parse<Expr> {
        let literal = lexer::decode_literal(self.text, self.token, self.literal_dialect());
        let Some(literal) = literal else {
            return Err(self.error(ParseErrorKind::IllegalDouble));
        };
        self.advance();
        if self.is_parametrised && self.slot {
            self.literals.push(literal);
            return Ok(self.next_param());
        }
        Ok(Expr::Literal(literal))
    }

    /// A `?`.
    pub fn param(&mut self) -> Parse<Expr> {
        self.expect_kind(TokenKind::Question)?;
        Ok(self.next_param())
    }

    fn next_param(&mut self) -> Expr {
        let index = self.param_count;
        self.param_count += 1;
        Expr::Param(index)
    }

    /// Declares the statement not shareable between literals: a variable, say.
    pub fn refuse_parametrised(&mut self) {
        // A literal token that can never become a parameter.
        self.literal_token_count += usize::from(self.is_parametrised);
    }

    /// Whether literals become parameters here.
    pub fn slot(&self) -> bool {
        self.slot
    }

    /// Parses a part with literals as parameters (`slot`) or as constants.
    pub fn with_slot<T>(
        &mut self,
        slot: bool,
        part: impl FnOnce(&mut Self) -> Parse<T>,
    ) -> Parse<T> {
        let outer = std::mem::replace(&mut self.slot, slot && !self.is_titled);
        let result = part(self);
        self.slot = outer;
        result
    }
    /// Parses a part whose text names a column: literals in it are constants.
    pub fn titled<T>(&mut self, part: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = std::mem::replace(&mut self.is_titled, true);
        let result = self.with_slot(false, part);
        self.is_titled = outer;
        result
    }

    // -----------------------------------------------------------------------------------------------------------
    // Bounds

    /// Enters a rule that may reach itself. Returns what `leave` wants back.
    pub fn enter(&mut self) -> Parse<u32> {
        self.nesting += 1;
        self.expression_count += 1;
        if NESTING_MAX < self.nesting {
            return Err(self.error(ParseErrorKind::TooDeep));
        }
        if self.expression_count_max < self.expression_count {
            return Err(self.error(ParseErrorKind::TooManyExpressions));
        }
        Ok(std::mem::replace(&mut self.height, 0))
    }

    /// The height of the children parsed since `enter` or since the last call; forgets it.
    pub fn take_height(&mut self) -> u32 {
        std::mem::replace(&mut self.height, 0)
    }

    /// Says how high the children are that were parsed before `enter`.
    pub fn set_height(&mut self, height: u32) {
        self.height = height;
    }

    /// Refuses a tree of this height.
    pub fn check_height(&self, height: u32) -> Parse<()> {
        if HEIGHT_MAX < height { Err(self.error(ParseErrorKind::TooDeep)) } else { Ok(()) }
    }

    /// Leaves the rule, which built a tree of `height`; `outer` is what `enter` returned.
    pub fn leave(&mut self, outer: u32, height: u32) -> Parse<()> {
        self.check_height(height)?;
        self.nesting -= 1;
        self.height = outer.max(height);
        Ok(())
    }

    /// A query within what it is part of: counts as two levels, since its rules and its node are that much larger.
    pub fn nested_query<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.nesting += 1;
        let result = self.nested(rule)?;
        self.nesting -= 1;
        Ok(result)
    }

    /// A rule that may reach itself and builds one node over what it parses.
    pub fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = self.enter()?;
        let result = rule(self)?;
        let height = self.height + 1;
        self.leave(outer, height)?;
        Ok(result)
    }
}

/// The first position from `position` on that is no blank.
pub(super) fn skip_spaces(text: &[u8], mut position: usize) -> usize {
    while position < text.len() && lexer::is_space(text[position]) {
        position += 1;
    }
    position
}
