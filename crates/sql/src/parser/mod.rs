//! MySQL's SQL, from bytes to a syntax tree.
//!
//! The problem: clients and ORMs send MySQL's dialect with all its corners, some of them hostile, and no parser for it
//! exists that reads `2*3^1`, `a XOR b AND c` and `SET GLOBAL TRANSACTION` as MySQL does and survives a chain of
//! 100,000 ORs. The idea: a lexer that is a position in the text, a recursive-descent parser over it that follows
//! MySQL's own grammar (the layers expr, boolean primary, predicate, bit expression, simple expression are its binding
//! powers), and a plain owned tree. More is recognised than the engine can do; what it cannot do has a name in the tree
//! (`Unsupported`), so that the refusal is error 1235 and not 1064.
//!
//! In front of it stands the digest: one pass of the same lexer that hashes a statement with its literals cut out. A
//! statement whose digest is known needs no parser. For one whose digest is not, `parse_parametrised` gives the tree
//! with the literals replaced by parameters, or None when a literal stands where its value decides what the statement
//! means.
//!
//! Bounds: text length, nesting, tree height, expression count (`limits`). Nothing here looks up a name or knows a type.
//!
//! | module | part |
//! |---|---|
//! | `ast`, `ast_debug` | the tree, its compact Debug |
//! | `lexer`, `keywords` | tokens, reserved words |
//! | `cursor` | the cursor all rules share |
//! | `expression`, `function` | expressions |
//! | `query` | SELECT and its tables |
//! | `window` | OVER, WINDOW |
//! | `change` | INSERT, UPDATE, DELETE |
//! | `definition`, `column`, `alter`, `view` | CREATE, DROP, ALTER |
//! | `account` | users, roles, GRANT, REVOKE |
//! | `statement` | which statement it is |
//! | `session`, `show` | SET, transactions, administration, SHOW |
//! | `print` | a query as text again |
//! | `digest`, `sip` | the digest, its hash |
//! | `limits`, `error` | the bounds, the refusals |

mod account;
mod alter;
pub mod ast;
mod ast_debug;
mod change;
mod column;
mod cursor;
mod definition;
pub mod digest;
mod error;
mod expression;
mod function;
mod json;
mod keywords;
mod lexer;
pub mod limits;
mod load;
pub mod print;
mod query;
mod session;
mod show;
mod sip;
mod statement;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_account;
#[cfg(test)]
mod tests_definition;
#[cfg(test)]
mod tests_digest;
#[cfg(test)]
mod tests_hostile;
#[cfg(test)]
mod tests_modes;
#[cfg(test)]
mod tests_print;
mod view;
mod window;

pub use digest::{Digest, Digester, digest};
pub use error::{ParseError, ParseErrorKind};
#[cfg(test)]
pub use keywords::{is_reserved, reserved_word_count};

use types::{Charset, SqlMode};

use ast::{Insert, Literal, Statement};
use cursor::Parser;

/// How a session's statements are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    pub mode: SqlMode,
    /// Of names and string literals; everything else is ASCII in every character set that clients may write.
    pub charset: Charset,
}

impl From<SqlMode> for Dialect {
    /// In utf8mb4.
    fn from(mode: SqlMode) -> Dialect {
        Dialect { mode, charset: Charset::Utf8mb4 }
    }
}

/// Parses the first statement of `sql`. Returns it and where the next one begins: past its semicolon and the blanks
/// after it, or the end of the text. Errors are MySQL's (`ParseError`).
pub fn parse_one(
    sql: &[u8],
    dialect: impl Into<Dialect>,
) -> Result<(Statement, usize), ParseError> {
    let mut parser = Parser::new(sql, dialect.into())?;
    let statement = parser.statement()?;
    let consumed = parser.finish_statement()?;
    Ok((statement, consumed))
}

/// Parses an expression of the catalogue, in the default sql_mode. None: the text is no expression, or nests too deeply.
pub fn parse_expression(text: &str) -> Option<ast::Expr> {
    let query = format!("select {text}");
    let (statement, consumed) = parse_one(query.as_bytes(), SqlMode::default()).ok()?;
    let Statement::Query(query_tree) = statement else { return None };
    let ast::QueryBody::Select(select) = query_tree.body else { return None };
    match <[ast::SelectItem; 1]>::try_from(select.items) {
        Ok([ast::SelectItem::Expr { expr, .. }]) if consumed == query.len() => Some(expr),
        _ => None,
    }
}

/// `parse_one` in turns, because the rows of one INSERT may be megabytes of text.
pub struct Turns<'a> {
    parser: Parser<'a>,
    /// The INSERT whose rows are being parsed.
    insert: Option<Insert>,
}

impl<'a> Turns<'a> {
    pub fn new(sql: &'a [u8], dialect: impl Into<Dialect>) -> Result<Turns<'a>, ParseError> {
        Ok(Turns { parser: Parser::new(sql, dialect.into())?, insert: None })
    }

    /// Parses on: up to about `byte_count` of an INSERT's rows, any other statement whole. What `parse_one` returns, when
    /// that was all.
    pub fn turn(&mut self, byte_count: usize) -> Result<Option<(Statement, usize)>, ParseError> {
        let statement = match self.insert.take() {
            None if matches!(self.parser.word(), "INSERT" | "REPLACE") => {
                self.insert = Some(self.parser.insert_head()?);
                return Ok(None);
            }
            None => self.parser.statement()?,
            Some(mut insert) => {
                if self.parser.insert_rows(&mut insert, byte_count)? {
                    self.insert = Some(insert);
                    return Ok(None);
                }
                self.parser.insert_tail(insert)?
            }
        };
        Ok(Some((statement, self.parser.finish_statement()?)))
    }
}

/// A statement with its literals replaced by `Expr::Param`.
#[derive(Clone, PartialEq, Debug)]
pub struct Parametrised {
    pub statement: Statement,
    /// The literals in textual order: `Param(i)` stands for `literals[i]`. Equal to those of the statement's digest.
    pub literals: Vec<Literal>,
    /// Where the next statement begins, as in `parse_one`.
    pub consumed: usize,
}

/// Parses the first statement with every literal as a parameter. None when the statement must not be shared between
/// literals: another kind than SELECT, INSERT, REPLACE, UPDATE, DELETE; a literal outside of WHERE, ON, SET, VALUES and
/// LIMIT, or as an argument that decides a type; a variable or `?`. Whether it is None depends on the digest alone.
pub fn parse_parametrised(
    sql: &[u8],
    dialect: impl Into<Dialect>,
) -> Result<Option<Parametrised>, ParseError> {
    let mut parser = Parser::new(sql, dialect.into())?;
    if !digest::is_cacheable_verb(parser.word()) {
        return Ok(None);
    }
    parser.set_parametrised();
    let statement = parser.statement()?;
    let consumed = parser.finish_statement()?;
    Ok(parser.take_literals().map(|literals| Parametrised { statement, literals, consumed }))
}

/// How many `?` the first statement has, for COM_STMT_PREPARE. Params are numbered from 0 in textual order.
pub fn parse_prepared(
    sql: &[u8],
    dialect: impl Into<Dialect>,
) -> Result<(Statement, u32), ParseError> {
    let mut parser = Parser::new(sql, dialect.into())?;
    let statement = parser.statement()?;
    parser.finish_statement()?;
    Ok((statement, parser.param_count()))
}
