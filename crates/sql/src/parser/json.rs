//! JSON_VALUE and its clauses.

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
            false => CastType::Char { length: Some(VALUE_LENGTH), charset: None, binary: false },
        };
        let (mut on_empty, mut on_error) = (None, None);
        while !self.at_kind(TokenKind::RightParen) && on_error.is_none() {
            let response = self.json_response()?;
            self.expect("ON")?;
            if on_empty.is_none() && self.accept("EMPTY") {
                on_empty = Some(response);
            } else {
                self.expect("ERROR")?;
                on_error = Some(response);
            }
        }
        self.expect_kind(TokenKind::RightParen)?;
        let call = JsonValueCall { document, path, returning, on_empty, on_error };
        Ok(Expr::JsonValue(Box::new(call)))
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
}
