//! Calls: plain ones, aggregates, and those whose arguments have keywords of their own (CAST, EXTRACT, TRIM, ...).
//!
//! Synonyms become one name here, so that the binder has one entry each. In parametrised mode literals stay constants
//! in the arguments of every function except those (`takes_parameters`) whose result type does not depend on an
//! argument's value: ROUND(x, 2) has two decimals because of the 2.

use types::{SqlMode, contain};

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::expression::{function, interval_unit, unsupported};
use super::keywords::is_window_function;
use super::lexer::TokenKind;

/// Functions whose arguments may be parameters of a shared plan.
fn takes_parameters(name: &str) -> bool {
    matches!(
        name,
        "ABS"
            | "ASCII"
            | "BIT_LENGTH"
            | "CHAR_LENGTH"
            | "COALESCE"
            | "CONCAT"
            | "CRC32"
            | "GREATEST"
            | "HEX"
            | "IF"
            | "IFNULL"
            | "INSTR"
            | "ISNULL"
            | "LAST_INSERT_ID"
            | "LEAST"
            | "LENGTH"
            | "LOCATE"
            | "LOWER"
            | "LTRIM"
            | "MD5"
            | "NULLIF"
            | "REPLACE"
            | "REVERSE"
            | "RTRIM"
            | "SHA1"
            | "SHA2"
            | "SIGN"
            | "SKARV_TRANSACTION_OUTCOME"
            | "UNHEX"
            | "UPPER"
    )
}

fn is_aggregate(name: &str) -> bool {
    matches!(
        name,
        "COUNT"
            | "SUM"
            | "AVG"
            | "MIN"
            | "MAX"
            | "GROUP_CONCAT"
            | "BIT_AND"
            | "BIT_OR"
            | "BIT_XOR"
            | "STD"
            | "STDDEV"
            | "STDDEV_POP"
            | "STDDEV_SAMP"
            | "VARIANCE"
            | "VAR_POP"
            | "VAR_SAMP"
            | "JSON_ARRAYAGG"
            | "JSON_OBJECTAGG"
    )
}

/// The one name of a function that has several. `word` is upper-cased.
pub(super) fn canonical_name(word: &str) -> String {
    match word {
        "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" => "NOW",
        "CURRENT_DATE" => "CURDATE",
        "CURRENT_TIME" => "CURTIME",
        "SUBSTR" | "MID" => "SUBSTRING",
        "LCASE" => "LOWER",
        "UCASE" => "UPPER",
        "CHARACTER_LENGTH" => "CHAR_LENGTH",
        "OCTET_LENGTH" => "LENGTH",
        "POWER" => "POW",
        "CEILING" => "CEIL",
        "SCHEMA" => "DATABASE",
        "SESSION_USER" | "SYSTEM_USER" => "USER",
        "SHA" => "SHA1",
        "DAYOFMONTH" => "DAY",
        word => word,
    }
    .to_string()
}

impl Parser<'_> {
    /// At the `(` behind a function's name. `name` is upper-cased unless it was quoted.
    #[inline(never)]
    pub fn call(&mut self, schema: Option<String>, name: String) -> Parse<Expr> {
        if name == "SKARV_PANIC_PARSER" && contain::may_tests_panic() {
            panic!("SKARV_PANIC_PARSER was parsed");
        }
        if schema.is_some() {
            let arguments = self.with_slot(false, Self::arguments)?;
            return Ok(Expr::Function { schema, name, arguments });
        }
        if is_aggregate(&name) {
            let aggregate = self.with_slot(false, |parser| parser.aggregate(name))?;
            self.optional_over(aggregate)
        } else if is_window_function(&name) {
            self.window_function(name)
        } else {
            self.scalar(name)
        }
    }

    /// `(a, b, ...)`, perhaps empty.
    #[inline(never)]
    pub fn arguments(&mut self) -> Parse<Vec<Expr>> {
        self.expect_kind(TokenKind::LeftParen)?;
        if self.accept_kind(TokenKind::RightParen) {
            return Ok(Vec::new());
        }
        let arguments = self.list(Self::expression)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(arguments)
    }

    #[inline(never)]
    fn aggregate(&mut self, name: String) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let is_count_all = name == "COUNT" && self.accept_kind(TokenKind::Star);
        let distinct = !is_count_all && self.accept("DISTINCT");
        if !distinct && !is_count_all {
            self.accept("ALL");
        }
        let arguments = if is_count_all { Vec::new() } else { self.list(Self::expression)? };
        let mut order_by = Vec::new();
        let mut separator = None;
        if name == "GROUP_CONCAT" {
            if self.accept_two("ORDER", "BY") {
                order_by = self.list(Self::order_item)?;
            }
            if self.accept("SEPARATOR") {
                separator = Some(self.string_bytes()?);
            }
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Aggregate { name, distinct, arguments, order_by, separator })
    }

    fn scalar(&mut self, name: String) -> Parse<Expr> {
        let name = canonical_name(&name);
        let slot = self.slot() && takes_parameters(&name);
        self.with_slot(slot, |parser| parser.scalar_call(name))
    }

    #[inline(never)]
    fn scalar_call(&mut self, name: String) -> Parse<Expr> {
        match name.as_str() {
            "CAST" => self.cast(),
            "CONVERT" => self.convert(),
            "EXTRACT" => self.extract(),
            "TIMESTAMPADD" | "TIMESTAMPDIFF" => self.unit_first(&name),
            "TRIM" => self.trim(),
            "SUBSTRING" => self.substring(),
            "POSITION" => self.position(),
            "CHAR" => self.char_function(),
            "GET_FORMAT" => {
                self.skip_parens()?;
                Ok(unsupported("GET_FORMAT"))
            }
            "WEIGHT_STRING" => {
                self.skip_parens()?;
                Ok(unsupported("WEIGHT_STRING"))
            }
            "JSON_VALUE" => self.json_value(),
            _ => {
                let arguments = self.arguments()?;
                Ok(function(&name, arguments))
            }
        }
    }

    /// EXTRACT(unit FROM x).
    #[inline(never)]
    fn extract(&mut self) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let unit = self.unit()?;
        self.expect("FROM")?;
        let operand = self.expression()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(function("EXTRACT", vec![Expr::Unit(unit), operand]))
    }

    /// TIMESTAMPADD(unit, n, x), TIMESTAMPDIFF(unit, x, y).
    #[inline(never)]
    fn unit_first(&mut self, name: &str) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let mut arguments = vec![Expr::Unit(self.unit()?)];
        while self.accept_kind(TokenKind::Comma) {
            arguments.push(self.expression()?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(function(name, arguments))
    }

    /// POSITION(x IN y).
    #[inline(never)]
    fn position(&mut self) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        // A bit expression in MySQL; IN would else be taken as the predicate.
        let needle = self.bit_expression()?;
        self.expect("IN")?;
        let haystack = self.expression()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(function("LOCATE", vec![needle, haystack]))
    }

    fn unit(&mut self) -> Parse<IntervalUnit> {
        match interval_unit(self.word()) {
            Some(unit) => {
                self.advance();
                Ok(unit)
            }
            None => self.syntax_error(),
        }
    }

    #[inline(never)]
    fn cast(&mut self) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let operand = Box::new(self.expression()?);
        self.expect("AS")?;
        let target = Box::new(self.cast_type()?);
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Cast { operand, target })
    }

    #[inline(never)]
    fn convert(&mut self) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let operand = Box::new(self.expression()?);
        let expr = if self.accept("USING") {
            Expr::ConvertUsing { operand, charset: self.charset_name()? }
        } else {
            self.expect_kind(TokenKind::Comma)?;
            Expr::Cast { operand, target: Box::new(self.cast_type()?) }
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(expr)
    }

    #[inline(never)]
    pub fn cast_type(&mut self) -> Parse<CastType> {
        let at = self.token();
        let word = self.word().to_string();
        if word.is_empty() {
            return self.syntax_error();
        }
        self.advance();
        let target = match word.as_str() {
            "SIGNED" | "UNSIGNED" => {
                self.accept_any(&["INTEGER", "INT"]);
                if word == "SIGNED" { CastType::Signed } else { CastType::Unsigned }
            }
            "CHAR" | "CHARACTER" | "NCHAR" => {
                let length = self.optional_width()?;
                let binary = self.accept("BINARY");
                let mut is_national = false;
                let charset = if self.accept("CHARSET") || self.accept_two("CHARACTER", "SET") {
                    Some(self.charset_name()?)
                } else if self.accept("ASCII") {
                    Some("latin1".to_string())
                } else if self.accept("UNICODE") {
                    Some("ucs2".to_string())
                } else {
                    is_national = word == "NCHAR";
                    is_national.then(|| "utf8mb3".to_string())
                };
                let binary = binary || self.accept("BINARY");
                let is_national = IsNational(is_national);
                CastType::Char { length, charset, binary, is_national }
            }
            "NATIONAL" => {
                self.expect_any(&["CHAR", "CHARACTER"])?;
                let length = self.optional_width()?;
                let charset = Some("utf8mb3".to_string());
                let is_national = IsNational(true);
                CastType::Char { length, charset, binary: false, is_national }
            }
            "BINARY" => CastType::Binary { length: self.optional_width()? },
            "DECIMAL" | "DEC" => {
                let (precision, scale) = self.optional_widths()?;
                CastType::Decimal { precision, scale }
            }
            "FLOAT" => CastType::Float { precision: self.optional_width()? },
            "DOUBLE" => {
                self.accept("PRECISION");
                CastType::Double
            }
            "REAL" if self.has_mode(SqlMode::REAL_AS_FLOAT) => CastType::Float { precision: None },
            "REAL" => CastType::Double,
            "DATE" => CastType::Date,
            "TIME" => CastType::Time { fsp: self.optional_width()? },
            "DATETIME" => CastType::DateTime { fsp: self.optional_width()? },
            "YEAR" => CastType::Year,
            "JSON" => CastType::Json,
            "POINT" | "LINESTRING" | "POLYGON" | "MULTIPOINT" | "MULTILINESTRING"
            | "MULTIPOLYGON" | "GEOMETRYCOLLECTION" => {
                CastType::Unsupported { feature: format!("CAST AS {word}") }
            }
            _ => return Err(self.error_at(at)),
        };
        if self.accept("ARRAY") {
            return Ok(CastType::Unsupported { feature: "CAST AS ARRAY".to_string() });
        }
        Ok(target)
    }

    #[inline(never)]
    fn trim(&mut self) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let side = match self.word() {
            "BOTH" => Some(TrimSide::Both),
            "LEADING" => Some(TrimSide::Leading),
            "TRAILING" => Some(TrimSide::Trailing),
            _ => None,
        };
        if side.is_some() {
            self.advance();
        }
        let mut remove = None;
        let operand;
        if side.is_some() && self.accept("FROM") {
            operand = self.expression()?;
        } else {
            let first = self.expression()?;
            if self.accept("FROM") {
                remove = Some(Box::new(first));
                operand = self.expression()?;
            } else if side.is_some() {
                return self.syntax_error();
            } else {
                operand = first;
            }
        }
        self.expect_kind(TokenKind::RightParen)?;
        let side = side.unwrap_or(TrimSide::Both);
        Ok(Expr::Trim { side, remove, operand: Box::new(operand) })
    }

    #[inline(never)]
    fn substring(&mut self) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let mut arguments = vec![self.expression()?];
        if self.accept("FROM") {
            arguments.push(self.expression()?);
            if self.accept("FOR") {
                arguments.push(self.expression()?);
            }
        } else {
            while self.accept_kind(TokenKind::Comma) {
                arguments.push(self.expression()?);
            }
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(function("SUBSTRING", arguments))
    }

    /// CHAR(65, 66 USING utf8mb4).
    #[inline(never)]
    fn char_function(&mut self) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let arguments = self.list(Self::expression)?;
        let charset = if self.accept("USING") { Some(self.charset_name()?) } else { None };
        self.expect_kind(TokenKind::RightParen)?;
        let call = function("CHAR", arguments);
        Ok(match charset {
            Some(charset) => Expr::ConvertUsing { operand: Box::new(call), charset },
            None => call,
        })
    }
}
