//! CREATE VIEW, ALTER VIEW, DROP VIEW.

use types::{ViewAlgorithm, ViewCheck};

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::lexer::TokenKind;

impl Parser<'_> {
    /// Behind CREATE or ALTER.
    pub fn create_view(&mut self, alter: bool) -> Parse<Statement> {
        let or_replace = !alter && self.accept_two("OR", "REPLACE");
        let mut algorithm = None;
        if self.accept("ALGORITHM") {
            self.expect_kind(TokenKind::Equal)?;
            algorithm = Some(match self.word() {
                "UNDEFINED" => ViewAlgorithm::Undefined,
                "MERGE" => ViewAlgorithm::Merge,
                "TEMPTABLE" => ViewAlgorithm::TempTable,
                _ => return self.syntax_error(),
            });
            self.advance();
        }
        let mut definer = None;
        if self.accept("DEFINER") {
            self.expect_kind(TokenKind::Equal)?;
            definer = match self.user_name()? {
                UserName::Named { user, host } => Some((user, host)),
                UserName::Current => None,
            };
        }
        let mut as_invoker = false;
        if self.accept("SQL") {
            self.expect("SECURITY")?;
            as_invoker = self.accept("INVOKER");
            if !as_invoker {
                self.expect("DEFINER")?;
            }
        }
        self.expect("VIEW")?;
        let name = self.object_name()?;
        let mut columns = Vec::new();
        if self.at_kind(TokenKind::LeftParen) {
            columns = self.paren_list(Self::name)?;
        }
        self.expect("AS")?;
        let is_query = self.at_kind(TokenKind::LeftParen)
            || matches!(self.word(), "SELECT" | "WITH" | "TABLE" | "VALUES");
        if !is_query {
            return self.syntax_error();
        }
        let query = self.query()?;
        let mut check = ViewCheck::None;
        if self.accept("WITH") {
            check = ViewCheck::Cascaded;
            if self.accept("LOCAL") {
                check = ViewCheck::Local;
            } else {
                self.accept("CASCADED");
            }
            self.expect("CHECK")?;
            self.expect("OPTION")?;
        }
        Ok(Statement::CreateView(Box::new(CreateView {
            alter,
            or_replace,
            algorithm,
            definer,
            as_invoker,
            name,
            columns,
            query,
            check,
        })))
    }

    /// Behind DROP.
    pub fn drop_view(&mut self) -> Parse<Statement> {
        self.expect("VIEW")?;
        let if_exists = self.accept_if_exists()?;
        let views = self.list(Self::object_name)?;
        self.accept_any(&["RESTRICT", "CASCADE"]);
        Ok(Statement::DropView { if_exists, views })
    }
}
