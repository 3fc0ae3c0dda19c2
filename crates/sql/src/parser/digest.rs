//! The digest of a statement: its hash with the literals cut out, and the literals.
//!
//! A client that does not prepare sends `SELECT c FROM t WHERE id=5` and then `... id=6`. Both have one plan. One pass of
//! the lexer writes a normal form into a reused buffer and hashes it: blanks and comments go, reserved words are
//! upper-cased, every literal becomes a mark of its kind. Names keep their case (tables are case-sensitive), and a sign
//! before a number stays an operator.
//!
//! Two things are kept that look like noise:
//!
//! * The kind of each literal (integer, decimal, float, string, hex, bits), because `c = 5` and `c = '5'` compare
//!   differently and deserve their own plans.
//! * The text of a select list as it was written, blanks and case included, because MySQL names columns after it:
//!   `SELECT count(*)` and `SELECT COUNT( * )` answer with different column names.
//!
//! The normal form is injective: a mark, then for names their bytes and a terminator. Two statements share a digest only
//! if the parser sees the same tokens, so whether `parse_parametrised` takes a statement depends on its digest alone. The
//! form begins with the dialect, which decides what the tokens are. The digest knows nothing else of sessions: the plan
//! cache adds the current database and the catalogue's version to the key.

use super::Dialect;
use super::ast::Literal;
use super::cursor::skip_spaces;
use super::keywords::{RESERVED_LENGTH_MAX, is_reserved};
use super::lexer::{Lexer, Token, TokenKind, decode_literal};
use super::limits::{DIGEST_LITERAL_COUNT_MAX, STATEMENT_SIZE_MAX};
use super::sip::sip128;

/// What `digest` finds.
#[derive(Clone, PartialEq, Debug)]
pub struct Digest {
    /// SipHash-1-3-128 of the normal form, low word first.
    pub hash: (u64, u64),
    /// The literals in textual order.
    pub literals: Vec<Literal>,
    /// Where the next statement begins: past the semicolon and the blanks after it, or the end of the text.
    pub consumed: usize,
}

/// Computes digests under one key, reusing its buffer.
pub struct Digester {
    key: (u64, u64),
    buffer: Vec<u8>,
}

/// Marks a piece of a select list; above every token kind.
const VERBATIM: u8 = 0xFE;
/// Stands before a word that is a function because a parenthesis follows; above every token kind.
const CALL: u8 = 0xFD;
/// Ends a name; no token can hold it.
const TERMINATOR: u8 = 0;
/// A buffer grown beyond this by a long statement is given back.
const BUFFER_SIZE_KEPT: usize = 64 << 10;

/// The digest under a fixed key. A server uses a `Digester` with a key of its own, see there.
pub fn digest(sql: &[u8], dialect: impl Into<Dialect>) -> Option<Digest> {
    Digester::new((0x5EED_5EED, 0x5EED_5EED)).digest(sql, dialect)
}

/// Whether a statement that begins with this word, upper-cased, can have a digest.
pub(super) fn is_cacheable_verb(word: &str) -> bool {
    matches!(word, "SELECT" | "INSERT" | "REPLACE" | "UPDATE" | "DELETE")
}

impl Digester {
    /// The key should be secret and random on a server: a client that knows it can make two statements collide.
    pub fn new(key: (u64, u64)) -> Digester {
        Digester { key, buffer: Vec::new() }
    }

    /// The digest of the first statement of `sql`. None for what cannot be shared by its digest: another kind than
    /// SELECT, INSERT, REPLACE, UPDATE, DELETE; variables or `?` in it; too many literals; no tokens of SQL.
    pub fn digest(&mut self, sql: &[u8], dialect: impl Into<Dialect>) -> Option<Digest> {
        let mut literals = Vec::new();
        let (hash, consumed) = self.digest_into(sql, dialect.into(), &mut literals)?;
        Some(Digest { hash, literals, consumed })
    }

    /// Like `digest`, the literals into a vector that the caller reuses (cleared first). Returns hash and `consumed`.
    pub fn digest_into(
        &mut self,
        sql: &[u8],
        dialect: Dialect,
        literals: &mut Vec<Literal>,
    ) -> Option<((u64, u64), usize)> {
        literals.clear();
        if STATEMENT_SIZE_MAX < sql.len() {
            return None;
        }
        self.buffer.clear();
        if BUFFER_SIZE_KEPT < self.buffer.capacity() {
            self.buffer = Vec::with_capacity(BUFFER_SIZE_KEPT);
        }
        self.buffer.extend_from_slice(&dialect.mode.bits().to_le_bytes());
        self.buffer.push(dialect.charset as u8);
        let consumed = normalise(sql, dialect, &mut self.buffer, literals)?;
        Some((sip128::<1, 3>(self.key, &self.buffer), consumed))
    }
}

/// Upper-cases a reserved word in place; names stay.
fn fold_reserved(word: &mut [u8]) {
    if RESERVED_LENGTH_MAX < word.len() {
        return;
    }
    let mut upper = [0; RESERVED_LENGTH_MAX];
    let upper = &mut upper[..word.len()];
    upper.copy_from_slice(word);
    upper.make_ascii_uppercase();
    if is_reserved(upper) {
        word.copy_from_slice(upper);
    }
}

/// Writes the normal form of the first statement; returns where the next one begins.
fn normalise(
    sql: &[u8],
    dialect: Dialect,
    form: &mut Vec<u8>,
    literals: &mut Vec<Literal>,
) -> Option<usize> {
    // Marks and terminators make the form a little longer than the text at most; a select list's gaps may add more.
    form.reserve((sql.len() + sql.len() / 2).min(BUFFER_SIZE_KEPT));
    let mut lexer = Lexer::new(sql, dialect.mode);
    let mut token = lexer.next();
    if token.kind != TokenKind::Word || !begins_cacheable(&sql[token.start..token.end]) {
        return None;
    }
    let mut paren_depth = 0u32;
    // Parenthesis depth of the SELECT whose list is being passed.
    let mut select_depth = None;
    let mut previous = TokenKind::Semicolon;
    let mut previous_end = token.start;
    loop {
        match token.kind {
            TokenKind::End => return Some(sql.len()),
            TokenKind::Semicolon => return Some(skip_spaces(sql, token.end)),
            TokenKind::Invalid
            | TokenKind::UserVariable
            | TokenKind::AtAt
            | TokenKind::Question => return None,
            _ => {}
        }
        let text = &sql[token.start..token.end];
        match token.kind {
            TokenKind::LeftParen => paren_depth += 1,
            TokenKind::RightParen => {
                paren_depth = paren_depth.saturating_sub(1);
                if select_depth.is_some_and(|depth| paren_depth < depth) {
                    select_depth = None;
                }
            }
            TokenKind::Word
                if previous != TokenKind::Dot
                    && select_depth == Some(paren_depth)
                    && text.eq_ignore_ascii_case(b"FROM") =>
            {
                select_depth = None;
            }
            _ => {}
        }
        // Before an item of the list blanks belong to no name.
        let begins_item = select_depth == Some(paren_depth)
            && matches!(previous, TokenKind::Comma | TokenKind::Semicolon);
        if select_depth.is_some() && !begins_item {
            // Length first, so that no gap can be taken for tokens.
            form.push(VERBATIM);
            let gap = &sql[previous_end..token.start];
            form.extend_from_slice(&(gap.len() as u32).to_le_bytes());
            form.extend_from_slice(gap);
        }
        let was_in_list = select_depth.is_some();
        if token.kind == TokenKind::Word && lexer.is_call_of(token) {
            form.push(CALL);
        }
        if token.kind.is_literal() {
            if literals.len() == DIGEST_LITERAL_COUNT_MAX {
                return None;
            }
            let literal = decode_literal(sql, token, dialect)?;
            form.push(kind_mark(&literal));
            literals.push(literal);
        } else {
            push_token(form, sql, token, previous, was_in_list)?;
        }
        if token.kind == TokenKind::Word
            && select_depth.is_none()
            && previous != TokenKind::Dot
            && text.eq_ignore_ascii_case(b"SELECT")
        {
            select_depth = Some(paren_depth);
        }
        // The word SELECT itself counts as a separator: what follows it begins an item.
        let is_list_begin = select_depth.is_some() && !was_in_list;
        previous = if is_list_begin { TokenKind::Semicolon } else { token.kind };
        previous_end = token.end;
        token = lexer.next();
    }
}

/// Whether a first word is one of `is_cacheable_verb`'s, in any case.
fn begins_cacheable(word: &[u8]) -> bool {
    let mut upper = [0; 7];
    if upper.len() < word.len() {
        return false;
    }
    let upper = &mut upper[..word.len()];
    upper.copy_from_slice(word);
    upper.make_ascii_uppercase();
    std::str::from_utf8(upper).is_ok_and(is_cacheable_verb)
}

#[inline]
fn push_token(
    form: &mut Vec<u8>,
    sql: &[u8],
    token: Token,
    previous: TokenKind,
    is_verbatim: bool,
) -> Option<()> {
    let text = &sql[token.start..token.end];
    match token.kind {
        TokenKind::Word => {
            form.push(TokenKind::Word as u8);
            let start = form.len();
            form.extend_from_slice(text);
            if !is_verbatim && previous != TokenKind::Dot {
                fold_reserved(&mut form[start..]);
            }
            form.push(TERMINATOR);
        }
        TokenKind::QuotedName => {
            if text.contains(&TERMINATOR) {
                return None;
            }
            form.push(TokenKind::QuotedName as u8);
            form.extend_from_slice(text);
            form.push(TERMINATOR);
        }
        kind => form.push(kind as u8),
    }
    Some(())
}

/// The mark of a literal: 0x80 and its kind. An integer above u64 is a decimal, as it is to the parser.
fn kind_mark(literal: &Literal) -> u8 {
    match literal {
        Literal::Integer(_) => 0x80,
        Literal::Decimal(_) => 0x81,
        Literal::Float(_) => 0x82,
        Literal::String(_) => 0x83,
        Literal::CharsetString { .. } => 0x84,
        Literal::Hex(_) => 0x85,
        Literal::Bits(_) => 0x86,
        Literal::Null
        | Literal::Bool(_)
        | Literal::Date(_)
        | Literal::Time(_)
        | Literal::Timestamp(_) => unreachable!("no token decodes to it"),
    }
}
