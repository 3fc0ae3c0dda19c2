//! JSON_VALUE and JSON_TABLE with their clauses.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::lexer::TokenKind;

/// Characters of a JSON_VALUE without RETURNING.
const VALUE_LENGTH: u64 = 512;

impl Parser<'_> {
    /// `(document, 'path' [RETURNING type] [response ON EMPTY] [response ON ERROR])`.
    #[inline(never)]
    pub fn json_value(&mut self) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let document = self.expression()?;
        self.expect_kind(TokenKind::Comma)?;
        let path = self.string_bytes()?;
        let returning = match self.accept("RETURNING") {
            true => self.cast_type()?,
            false => CastType::Char {
                length: Some(VALUE_LENGTH),
                charset: None,
                binary: false,
                is_national: IsNational(false),
            },
        };
        let (on_empty, on_error) = self.json_responses()?;
        self.expect_kind(TokenKind::RightParen)?;
        let call = JsonValueCall { document, path, returning, on_empty, on_error };
        Ok(Expr::JsonValue(Box::new(call)))
    }

    /// `[response ON EMPTY] [response ON ERROR]`.
    fn json_responses(&mut self) -> Parse<(Option<JsonResponse>, Option<JsonResponse>)> {
        let (mut on_empty, mut on_error) = (None, None);
        while on_error.is_none()
            && !self.at_kind(TokenKind::RightParen)
            && !self.at_kind(TokenKind::Comma)
        {
            let response = self.json_response()?;
            self.expect("ON")?;
            if on_empty.is_none() && self.accept("EMPTY") {
                on_empty = Some(response);
            } else {
                self.expect("ERROR")?;
                on_error = Some(response);
            }
        }
        Ok((on_empty, on_error))
    }

    fn json_response(&mut self) -> Parse<JsonResponse> {
        if self.accept("NULL") {
            return Ok(JsonResponse::Null);
        }
        if self.accept("ERROR") {
            return Ok(JsonResponse::Error);
        }
        self.expect("DEFAULT")?;
        if self.at("NULL") {
            return self.syntax_error();
        }
        let value = self.simple_expression()?;
        let is_literal = match &value {
            Expr::Literal(_) => true,
            Expr::Unary { operator, operand } => {
                matches!(operator, UnaryOperator::Negate | UnaryOperator::Plus)
                    && matches!(**operand, Expr::Literal(_))
            }
            _ => false,
        };
        if is_literal { Ok(JsonResponse::Default(value)) } else { self.syntax_error() }
    }

    /// `(document, 'path' COLUMNS (column, ...)) [AS] alias`.
    #[inline(never)]
    pub fn json_table(&mut self) -> Parse<TableFactor> {
        self.expect_kind(TokenKind::LeftParen)?;
        let document = self.expression()?;
        self.expect_kind(TokenKind::Comma)?;
        let path = self.string_bytes()?;
        let columns = self.json_table_columns()?;
        self.expect_kind(TokenKind::RightParen)?;
        let alias = self.table_alias()?;
        Ok(TableFactor::JsonTable(Box::new(JsonTable { document, path, columns, alias })))
    }

    fn json_table_columns(&mut self) -> Parse<Vec<JsonTableColumn>> {
        self.nested(|parser| {
            parser.expect("COLUMNS")?;
            parser.paren_list(Self::json_table_column)
        })
    }

    fn json_table_column(&mut self) -> Parse<JsonTableColumn> {
        if self.at("NESTED") && (self.next_is("PATH") || self.peek().kind == TokenKind::String) {
            self.advance();
            self.accept("PATH");
            let path = self.string_bytes()?;
            return Ok(JsonTableColumn::Nested { path, columns: self.json_table_columns()? });
        }
        let name = self.name()?;
        if self.accept("FOR") {
            self.expect("ORDINALITY")?;
            return Ok(JsonTableColumn::Ordinality { name });
        }
        let mut data_type = self.data_type()?;
        if self.accept("COLLATE") {
            data_type.collation = Some(self.charset_name()?);
        }
        let is_exists = self.accept("EXISTS");
        self.expect("PATH")?;
        let path = self.string_bytes()?;
        if is_exists {
            return Ok(JsonTableColumn::Exists { name, data_type, path });
        }
        let (on_empty, on_error) = self.json_responses()?;
        let value = JsonTableValue { name, data_type, path, on_empty, on_error };
        Ok(JsonTableColumn::Value(Box::new(value)))
    }
}
