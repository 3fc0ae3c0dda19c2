//! Expressions, by binding power.
//!
//! MySQL's grammar has layers: expr (OR, XOR, AND, NOT, IS TRUE), boolean primary (comparisons, IS NULL), predicate
//! (IN, BETWEEN, LIKE, REGEXP), bit expression (| & << + * ^), simple expression. Each layer is a range of levels:
//!
//! ```text
//!  1 OR ||   2 XOR   3 AND &&   4 NOT   5 IS TRUE/FALSE/UNKNOWN   6 = <=> <> < <= > >= IS NULL
//!  7 [NOT] IN BETWEEN LIKE REGEXP SOUNDS LIKE   8 |   9 &   10 << >>   11 + -   12 * / % DIV MOD   13 ^
//!  14 || under PIPES_AS_CONCAT   15 unary - + ~ ! BINARY, NOT under HIGH_NOT_PRECEDENCE   16 COLLATE
//! ```
//!
//! `expr(min)` reads a prefix and then every infix of level `min` or above, by a loop; an operator's right operand is
//! `expr(level + 1)`. Within the loop the level may not rise again (`level_max`), which makes predicates and IS TRUE
//! non-associative, as in MySQL. AND and OR gather their operands into one node.
//!
//! The rules on the way from one nest to the next are kept out of line, so that none of them pays stack for the locals of
//! its siblings: what `limits::NESTING_MAX` levels cost is measured in `tests_hostile`.

use types::SqlMode;

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::keywords::{
    is_charset, is_reserved_function, is_spaceless_function, is_window_function,
};
use super::lexer::TokenKind;

const LEVEL_OR: u8 = 1;
const LEVEL_XOR: u8 = 2;
const LEVEL_AND: u8 = 3;
const LEVEL_NOT: u8 = 4;
const LEVEL_IS_TRUTH: u8 = 5;
const LEVEL_COMPARISON: u8 = 6;
const LEVEL_PREDICATE: u8 = 7;
const LEVEL_BIT: u8 = 8;
const LEVEL_CONCAT: u8 = 14;
const LEVEL_UNARY: u8 = 15;
const LEVEL_COLLATE: u8 = 16;
/// Above every infix: a prefix alone.
const LEVEL_PREFIX: u8 = 17;

/// What stands between two operands, or behind one.
#[derive(Clone, Copy, PartialEq)]
enum Infix {
    Or,
    And,
    /// `||` under PIPES_AS_CONCAT.
    Concat,
    Binary(BinaryOperator),
    Comparison(BinaryOperator),
    Is,
    /// NOT, IN, BETWEEN, LIKE, REGEXP, RLIKE, SOUNDS, MEMBER.
    Predicate,
    Collate,
}

impl Parser<'_> {
    /// Any expression.
    pub fn expression(&mut self) -> Parse<Expr> {
        self.expr(0)
    }

    /// An expression of operators no looser than `|`: no comparison, no predicate.
    pub fn bit_expression(&mut self) -> Parse<Expr> {
        self.expr(LEVEL_BIT)
    }

    /// A simple expression without COLLATE: what may follow DEFAULT in a column definition.
    pub fn simple_expression(&mut self) -> Parse<Expr> {
        self.expr(LEVEL_PREFIX)
    }

    fn expr(&mut self, min: u8) -> Parse<Expr> {
        let outer = self.enter()?;
        let (left, level_max) = self.prefix(min)?;
        self.infixes(left, level_max, min, outer)
    }

    /// The expression that begins with `operand`, which is read.
    fn expression_from(&mut self, operand: Expr) -> Parse<Expr> {
        let height = self.take_height();
        let outer = self.enter()?;
        self.set_height(height);
        self.infixes(operand, LEVEL_PREFIX, 0, outer)
    }

    /// Every infix of level `min` or above behind `left`; `outer` is what `enter` returned.
    #[inline(always)]
    fn infixes(&mut self, mut left: Expr, mut level_max: u8, min: u8, outer: u32) -> Parse<Expr> {
        let mut height = self.take_height() + 1;
        while let Some((infix, level)) = self.infix() {
            if level < min || level_max < level {
                break;
            }
            left = self.apply(left, infix, level)?;
            let is_associative = !matches!(level, LEVEL_PREDICATE | LEVEL_IS_TRUTH);
            level_max = if is_associative { level } else { level - 1 };
            height = height.max(self.take_height()) + 1;
            self.check_height(height)?;
        }
        self.leave(outer, height)?;
        Ok(left)
    }

    /// The infix here and its level.
    fn infix(&self) -> Option<(Infix, u8)> {
        use BinaryOperator::*;
        Some(match self.kind() {
            TokenKind::Word => return self.infix_word(),
            TokenKind::Equal => (Infix::Comparison(Equal), LEVEL_COMPARISON),
            TokenKind::NullSafeEqual => (Infix::Comparison(NullSafeEqual), LEVEL_COMPARISON),
            TokenKind::NotEqual => (Infix::Comparison(NotEqual), LEVEL_COMPARISON),
            TokenKind::Less => (Infix::Comparison(Less), LEVEL_COMPARISON),
            TokenKind::LessOrEqual => (Infix::Comparison(LessOrEqual), LEVEL_COMPARISON),
            TokenKind::Greater => (Infix::Comparison(Greater), LEVEL_COMPARISON),
            TokenKind::GreaterOrEqual => (Infix::Comparison(GreaterOrEqual), LEVEL_COMPARISON),
            TokenKind::PipePipe if self.has_mode(SqlMode::PIPES_AS_CONCAT) => {
                (Infix::Concat, LEVEL_CONCAT)
            }
            TokenKind::PipePipe => (Infix::Or, LEVEL_OR),
            TokenKind::AmpersandAmpersand => (Infix::And, LEVEL_AND),
            TokenKind::Pipe => (Infix::Binary(BitOr), 8),
            TokenKind::Ampersand => (Infix::Binary(BitAnd), 9),
            TokenKind::ShiftLeft => (Infix::Binary(ShiftLeft), 10),
            TokenKind::ShiftRight => (Infix::Binary(ShiftRight), 10),
            TokenKind::Plus => (Infix::Binary(Add), 11),
            TokenKind::Minus => (Infix::Binary(Subtract), 11),
            TokenKind::Star => (Infix::Binary(Multiply), 12),
            TokenKind::Slash => (Infix::Binary(Divide), 12),
            TokenKind::Percent => (Infix::Binary(Modulo), 12),
            TokenKind::Caret => (Infix::Binary(BitXor), 13),
            _ => return None,
        })
    }

    fn infix_word(&self) -> Option<(Infix, u8)> {
        Some(match self.word() {
            "OR" => (Infix::Or, LEVEL_OR),
            "XOR" => (Infix::Binary(BinaryOperator::Xor), LEVEL_XOR),
            "AND" => (Infix::And, LEVEL_AND),
            "DIV" => (Infix::Binary(BinaryOperator::IntegerDivide), 12),
            "MOD" => (Infix::Binary(BinaryOperator::Modulo), 12),
            "IS" => {
                let is_null = self.next_is("NULL") || self.next_is("NOT") && self.second_is("NULL");
                (Infix::Is, if is_null { LEVEL_COMPARISON } else { LEVEL_IS_TRUTH })
            }
            "IN" | "BETWEEN" | "LIKE" | "REGEXP" | "RLIKE" => (Infix::Predicate, LEVEL_PREDICATE),
            "NOT"
                if ["IN", "BETWEEN", "LIKE", "REGEXP", "RLIKE"]
                    .iter()
                    .any(|word| self.next_is(word)) =>
            {
                (Infix::Predicate, LEVEL_PREDICATE)
            }
            "SOUNDS" if self.next_is("LIKE") => (Infix::Predicate, LEVEL_PREDICATE),
            "MEMBER" if self.next_is("OF") || self.peek().kind == TokenKind::LeftParen => {
                (Infix::Predicate, LEVEL_PREDICATE)
            }
            "COLLATE" => (Infix::Collate, LEVEL_COLLATE),
            _ => return None,
        })
    }

    /// Reads the infix and what belongs to it.
    #[inline(never)]
    fn apply(&mut self, left: Expr, infix: Infix, level: u8) -> Parse<Expr> {
        match infix {
            Infix::Or => Ok(Expr::Or(self.chain(left, infix, level)?)),
            Infix::And => Ok(Expr::And(self.chain(left, infix, level)?)),
            Infix::Binary(operator) => {
                self.advance();
                let right = self.expr(level + 1)?;
                Ok(binary(operator, left, right))
            }
            Infix::Concat => {
                self.advance();
                let right = self.expr(level + 1)?;
                Ok(function("CONCAT", vec![left, right]))
            }
            Infix::Comparison(operator) => self.comparison(left, operator),
            Infix::Is => self.is_test(left),
            Infix::Predicate => self.predicate(left),
            Infix::Collate => {
                self.advance();
                if matches!(left, Expr::Param(_)) {
                    self.refuse_parametrised();
                }
                let collation = self.charset_name()?;
                Ok(Expr::Collate { operand: Box::new(left), collation })
            }
        }
    }

    /// `left AND b AND c ...`: all operands, those of operands of the same kind included.
    #[inline(never)]
    fn chain(&mut self, left: Expr, infix: Infix, level: u8) -> Parse<Vec<Expr>> {
        let mut operands = Vec::new();
        let mut push = |operand| match (operand, infix) {
            (Expr::And(inner), Infix::And) | (Expr::Or(inner), Infix::Or) => operands.extend(inner),
            (operand, _) => operands.push(operand),
        };
        push(left);
        while self.infix().is_some_and(|(next, _)| next == infix) {
            self.advance();
            push(self.expr(level + 1)?);
        }
        Ok(operands)
    }

    #[inline(never)]
    fn comparison(&mut self, left: Expr, operator: BinaryOperator) -> Parse<Expr> {
        self.advance();
        let is_quantified = matches!(self.word(), "ALL" | "ANY" | "SOME")
            && self.peek().kind == TokenKind::LeftParen;
        if !is_quantified {
            let right = self.expr(LEVEL_PREDICATE)?;
            return Ok(binary(operator, left, right));
        }
        if operator == BinaryOperator::NullSafeEqual {
            return self.syntax_error();
        }
        let all = self.at("ALL");
        self.advance();
        self.expect_kind(TokenKind::LeftParen)?;
        let query = Box::new(self.subquery()?);
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Quantified { operator, all, left: Box::new(left), query })
    }

    #[inline(never)]
    fn is_test(&mut self, operand: Expr) -> Parse<Expr> {
        self.expect("IS")?;
        let negated = self.accept("NOT");
        let test = match self.word() {
            "NULL" => IsTest::Null,
            "TRUE" => IsTest::True,
            "FALSE" => IsTest::False,
            "UNKNOWN" => IsTest::Unknown,
            _ => return self.syntax_error(),
        };
        self.advance();
        Ok(Expr::Is { operand: Box::new(operand), test, negated })
    }

    #[inline(never)]
    fn predicate(&mut self, operand: Expr) -> Parse<Expr> {
        let negated = self.accept("NOT");
        let operand = Box::new(operand);
        match self.word() {
            "IN" => {
                self.advance();
                if self.at_kind(TokenKind::LeftParen) && self.is_query_next() {
                    self.advance();
                    let query = Box::new(self.subquery()?);
                    self.expect_kind(TokenKind::RightParen)?;
                    return Ok(Expr::InSubquery { operand, query, negated });
                }
                self.expect_kind(TokenKind::LeftParen)?;
                let first = self.expression()?;
                // `IN ((SELECT 1) UNION (SELECT 2))`, `IN ((SELECT 1))`.
                if let Expr::Subquery(first) = first {
                    let query = match self.at_query_continuation() {
                        true => Box::new(self.continue_query(*first)?),
                        false => first,
                    };
                    if self.accept_kind(TokenKind::RightParen) {
                        return Ok(Expr::InSubquery { operand, query, negated });
                    }
                    return self.in_list(operand, Expr::Subquery(query), negated);
                }
                self.in_list(operand, first, negated)
            }
            "BETWEEN" => {
                self.advance();
                let low = Box::new(self.expr(LEVEL_BIT)?);
                self.expect("AND")?;
                let high = Box::new(self.expr(LEVEL_PREDICATE)?);
                Ok(Expr::Between { operand, low, high, negated })
            }
            "LIKE" => {
                self.advance();
                let pattern = Box::new(self.expr(LEVEL_CONCAT)?);
                let escape = if self.accept("ESCAPE") {
                    Some(Box::new(self.with_slot(false, |parser| parser.expr(LEVEL_CONCAT))?))
                } else {
                    None
                };
                Ok(Expr::Like { operand, pattern, escape, negated })
            }
            "REGEXP" | "RLIKE" => {
                self.advance();
                let pattern = Box::new(self.expr(LEVEL_BIT)?);
                Ok(Expr::Regexp { operand, pattern, negated })
            }
            "SOUNDS" => {
                self.advance();
                self.expect("LIKE")?;
                let right = self.expr(LEVEL_BIT)?;
                Ok(binary(BinaryOperator::SoundsLike, *operand, right))
            }
            "MEMBER" => {
                self.advance();
                self.accept("OF");
                self.expect_kind(TokenKind::LeftParen)?;
                let array = self.expr(LEVEL_UNARY)?;
                self.expect_kind(TokenKind::RightParen)?;
                Ok(function("MEMBER OF", vec![*operand, array]))
            }
            _ => self.syntax_error(),
        }
    }

    // -----------------------------------------------------------------------------------------------------------
    // Prefixes

    /// An operand with its prefix operators, and the highest level of infix that may follow it.
    fn prefix(&mut self, min: u8) -> Parse<(Expr, u8)> {
        if self.at("NOT") && !self.has_mode(SqlMode::HIGH_NOT_PRECEDENCE) {
            if LEVEL_NOT < min {
                return self.syntax_error();
            }
            self.advance();
            let operand = self.expr(LEVEL_NOT)?;
            return Ok((unary(UnaryOperator::Not, operand), LEVEL_NOT - 1));
        }
        Ok((self.operand()?, LEVEL_PREFIX))
    }

    #[inline(never)]
    fn operand(&mut self) -> Parse<Expr> {
        match self.kind() {
            TokenKind::Word => self.word_operand(),
            TokenKind::QuotedName => self.column_or_call(),
            TokenKind::String => self.string_literal(),
            TokenKind::NationalString => self.with_slot(false, Self::literal),
            kind if kind.is_literal() => self.literal(),
            TokenKind::Question => self.param(),
            TokenKind::LeftParen => self.parens(),
            TokenKind::Minus => self.unary_operand(UnaryOperator::Negate),
            TokenKind::Plus => self.unary_operand(UnaryOperator::Plus),
            TokenKind::Tilde => self.unary_operand(UnaryOperator::BitNot),
            TokenKind::Bang => self.unary_operand(UnaryOperator::Not),
            TokenKind::UserVariable => self.user_variable_operand(),
            TokenKind::AtAt => self.system_variable_operand(),
            TokenKind::LeftBrace => self.braces(),
            TokenKind::Dot => self.column_or_call(),
            _ => self.syntax_error(),
        }
    }

    #[inline(never)]
    fn unary_operand(&mut self, operator: UnaryOperator) -> Parse<Expr> {
        self.advance();
        let operand = self.expr(LEVEL_UNARY)?;
        Ok(unary(operator, operand))
    }

    #[inline(never)]
    fn word_operand(&mut self) -> Parse<Expr> {
        let next = self.peek().kind;
        let is_call = next == TokenKind::LeftParen;
        let is_before_string = next == TokenKind::String;
        match self.word() {
            "NOT" if self.has_mode(SqlMode::HIGH_NOT_PRECEDENCE) => {
                self.unary_operand(UnaryOperator::Not)
            }
            "NULL" => self.constant(Literal::Null),
            "TRUE" => self.constant(Literal::Bool(true)),
            "FALSE" => self.constant(Literal::Bool(false)),
            "CASE" => self.case(),
            "EXISTS" if is_call => {
                self.advance();
                self.advance();
                let query = Box::new(self.subquery()?);
                self.expect_kind(TokenKind::RightParen)?;
                Ok(Expr::Exists(query))
            }
            "INTERVAL" => self.interval(),
            "BINARY" => self.unary_operand(UnaryOperator::Binary),
            "ROW" if is_call => {
                self.advance();
                Ok(Expr::Row(self.paren_list(Self::expression)?))
            }
            "DEFAULT" => {
                self.advance();
                if !is_call {
                    return Ok(Expr::Default(None));
                }
                self.advance();
                let column = self.column_name()?;
                self.expect_kind(TokenKind::RightParen)?;
                Ok(Expr::Default(Some(column)))
            }
            "VALUES" if is_call => {
                self.advance();
                self.advance();
                let column = self.column_name()?;
                self.expect_kind(TokenKind::RightParen)?;
                Ok(Expr::Values(column))
            }
            "MATCH" => {
                self.advance();
                if is_call {
                    self.skip_parens()?;
                } else {
                    self.list(Self::column_name)?;
                }
                self.expect("AGAINST")?;
                if !self.at_kind(TokenKind::LeftParen) {
                    return self.syntax_error();
                }
                self.skip_parens()?;
                Ok(unsupported("MATCH AGAINST"))
            }
            "DATE" | "TIME" | "TIMESTAMP" if is_before_string => {
                let word = self.word().to_string();
                self.advance();
                self.temporal_literal(&word)
            }
            "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" | "CURRENT_DATE"
            | "CURRENT_TIME" | "CURRENT_USER" | "UTC_DATE" | "UTC_TIME" | "UTC_TIMESTAMP"
                if !is_call =>
            {
                let name = super::function::canonical_name(self.word());
                self.advance();
                Ok(Expr::Function { schema: None, name, arguments: Vec::new() })
            }
            word if is_call && (is_reserved_function(word) || is_window_function(word)) => {
                let name = word.to_string();
                self.advance();
                self.call(None, name)
            }
            "CONVERT" if is_call => {
                self.advance();
                self.call(None, "CONVERT".to_string())
            }
            word if word.starts_with('_') && (next.is_literal() && next != TokenKind::Integer) => {
                let charset = word[1..].to_ascii_lowercase();
                if !is_charset(&charset) {
                    return self.column_or_call();
                }
                self.advance();
                self.introduced_literal(charset)
            }
            word if self.at_call() => {
                let name = word.to_string();
                self.advance();
                self.call(None, name)
            }
            word if is_call && is_spaceless_function(word.as_bytes()) => {
                let name = self.name()?;
                self.with_slot(false, Self::arguments)?;
                Ok(Expr::SpacedCall { name })
            }
            _ => self.column_or_call(),
        }
    }

    fn constant(&mut self, literal: Literal) -> Parse<Expr> {
        self.advance();
        Ok(Expr::Literal(literal))
    }

    /// A string with those directly behind it, which MySQL joins.
    #[inline(never)]
    fn string_literal(&mut self) -> Parse<Expr> {
        let mut literal = self.literal()?;
        while self.at_kind(TokenKind::String) {
            let more = self.string_bytes()?;
            // In parametrised mode the first one became a parameter and this one makes the statement unshareable.
            if let Expr::Literal(Literal::String(value)) = &mut literal {
                value.extend_from_slice(&more);
            }
        }
        Ok(literal)
    }

    /// The string behind DATE, TIME or TIMESTAMP.
    #[inline(never)]
    fn temporal_literal(&mut self, word: &str) -> Parse<Expr> {
        let value = self.string_bytes()?;
        Ok(Expr::Literal(match word {
            "DATE" => Literal::Date(value),
            "TIME" => Literal::Time(value),
            _ => Literal::Timestamp(value),
        }))
    }

    /// The literal behind `_charset`.
    #[inline(never)]
    fn introduced_literal(&mut self, charset: String) -> Parse<Expr> {
        let literal = self.with_slot(false, |parser| {
            parser.with_raw_strings(|parser| {
                if parser.at_kind(TokenKind::String) {
                    parser.string_literal()
                } else {
                    parser.literal()
                }
            })
        })?;
        match literal {
            Expr::Literal(
                Literal::String(value)
                | Literal::Hex(value)
                | Literal::Bits(value)
                | Literal::CharsetString { value, .. },
            ) => Ok(Expr::Literal(Literal::CharsetString {
                charset,
                value,
                is_national: IsNational(false),
            })),
            _ => self.syntax_error(),
        }
    }

    /// Behind the first value of an IN list.
    fn in_list(&mut self, operand: Box<Expr>, first: Expr, negated: bool) -> Parse<Expr> {
        let mut list = vec![first];
        while self.accept_kind(TokenKind::Comma) {
            list.push(self.expression()?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::InList { operand, list, negated })
    }

    /// At `(`: a subquery, a row, or an expression in parentheses.
    #[inline(never)]
    fn parens(&mut self) -> Parse<Expr> {
        let is_query = self.is_query_next();
        self.expect_kind(TokenKind::LeftParen)?;
        if is_query {
            let query = self.subquery()?;
            self.expect_kind(TokenKind::RightParen)?;
            return Ok(Expr::Subquery(Box::new(query)));
        }
        let first = self.expression()?;
        // `((SELECT 1) UNION (SELECT 2))`: what was read as an operand is the first part of a query.
        if self.at_query_continuation() && matches!(first, Expr::Subquery(_)) {
            let Expr::Subquery(first) = first else { return self.syntax_error() };
            let query = self.continue_query(*first)?;
            self.expect_kind(TokenKind::RightParen)?;
            return Ok(Expr::Subquery(Box::new(query)));
        }
        if self.accept_kind(TokenKind::RightParen) {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.accept_kind(TokenKind::Comma) {
            items.push(self.expression()?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Row(items))
    }

    #[inline(never)]
    fn user_variable_operand(&mut self) -> Parse<Expr> {
        self.refuse_parametrised();
        let name = self.user_variable()?;
        if name.is_empty() {
            return self.syntax_error();
        }
        if !self.accept_kind(TokenKind::Assign) {
            return Ok(Expr::UserVariable(name));
        }
        let value = Box::new(self.expression()?);
        Ok(Expr::Assign { variable: name, value })
    }

    #[inline(never)]
    fn system_variable_operand(&mut self) -> Parse<Expr> {
        self.refuse_parametrised();
        let (scope, name) = self.system_variable()?;
        Ok(Expr::SystemVariable { scope, name })
    }

    /// At `@@`: scope and name, which may have dots.
    pub fn system_variable(&mut self) -> Parse<(VariableScope, String)> {
        self.expect_kind(TokenKind::AtAt)?;
        let scope = if self.peek().kind == TokenKind::Dot {
            match self.word() {
                "GLOBAL" => VariableScope::Global,
                "SESSION" | "LOCAL" => VariableScope::Session,
                "PERSIST" => VariableScope::Persist,
                "PERSIST_ONLY" => VariableScope::PersistOnly,
                _ => VariableScope::Unspecified,
            }
        } else {
            VariableScope::Unspecified
        };
        if scope != VariableScope::Unspecified {
            self.advance();
            self.advance();
        }
        Ok((scope, self.dotted_name()?))
    }

    /// `a` or `a.b`, as one string: the name of a system variable.
    pub fn dotted_name(&mut self) -> Parse<String> {
        let mut name = self.name_after_dot()?;
        while self.accept_kind(TokenKind::Dot) {
            name.push('.');
            name.push_str(&self.name_after_dot()?);
        }
        Ok(name)
    }

    /// ODBC's `{d '...'}`, `{t '...'}`, `{ts '...'}`, `{fn f(x)}`.
    #[inline(never)]
    fn braces(&mut self) -> Parse<Expr> {
        self.expect_kind(TokenKind::LeftBrace)?;
        let word = self.word().to_string();
        self.name()?;
        let expr = match word.as_str() {
            "D" if self.at_kind(TokenKind::String) => self.temporal_literal("DATE")?,
            "T" if self.at_kind(TokenKind::String) => self.temporal_literal("TIME")?,
            "TS" if self.at_kind(TokenKind::String) => self.temporal_literal("TIMESTAMP")?,
            _ => self.expression()?,
        };
        self.expect_kind(TokenKind::RightBrace)?;
        Ok(expr)
    }

    /// CASE. Its type comes from its branches, so their literals stay constants.
    #[inline(never)]
    fn case(&mut self) -> Parse<Expr> {
        self.with_slot(false, |parser| {
            parser.expect("CASE")?;
            let operand =
                if parser.at("WHEN") { None } else { Some(Box::new(parser.expression()?)) };
            let mut branches = Vec::new();
            while parser.accept("WHEN") {
                let condition = parser.expression()?;
                parser.expect("THEN")?;
                branches.push((condition, parser.expression()?));
            }
            if branches.is_empty() {
                return parser.syntax_error();
            }
            let otherwise =
                if parser.accept("ELSE") { Some(Box::new(parser.expression()?)) } else { None };
            parser.expect("END")?;
            Ok(Expr::Case { operand, branches, otherwise })
        })
    }

    /// INTERVAL value unit, or the function INTERVAL(n, a, b, ...).
    #[inline(never)]
    pub fn interval(&mut self) -> Parse<Expr> {
        self.with_slot(false, |parser| {
            parser.expect("INTERVAL")?;
            let value = if parser.at_kind(TokenKind::LeftParen) {
                match parser.parens()? {
                    // Operators behind it are not its own.
                    Expr::Row(arguments) => return Ok(function("INTERVAL", arguments)),
                    operand => parser.expression_from(operand)?,
                }
            } else {
                parser.expression()?
            };
            if let Some(unit) = interval_unit(parser.word()) {
                parser.advance();
                return Ok(Expr::Interval { value: Box::new(value), unit });
            }
            parser.syntax_error()
        })
    }

    // -----------------------------------------------------------------------------------------------------------
    // Names

    /// `c`, `t.c`, `s.t.c`.
    pub fn column_name(&mut self) -> Parse<ColumnName> {
        let at = self.place();
        // `.t.c` is ODBC for the current schema.
        let first = if self.at_kind(TokenKind::Dot) { String::new() } else { self.name()? };
        let mut parts = vec![first];
        while parts.len() < 3 && self.accept_kind(TokenKind::Dot) {
            parts.push(self.name_after_dot()?);
        }
        Ok(column_of(parts, at))
    }

    /// A column, a call of a function by name, or `json_column -> path`.
    #[inline(never)]
    fn column_or_call(&mut self) -> Parse<Expr> {
        let is_quoted = self.at_kind(TokenKind::QuotedName);
        let column = self.column_name()?;
        if self.at_kind(TokenKind::LeftParen) {
            return match column {
                ColumnName { schema: None, table, column, .. } => {
                    let name = if is_quoted { column } else { column.to_ascii_uppercase() };
                    self.call(table, name)
                }
                _ => self.syntax_error(),
            };
        }
        let is_unquoting = self.at_kind(TokenKind::LongArrow);
        let column = Expr::Column(column);
        if !is_unquoting && !self.at_kind(TokenKind::Arrow) {
            return Ok(column);
        }
        self.advance();
        let path = Expr::Literal(Literal::String(self.string_bytes()?));
        let extract = function("JSON_EXTRACT", vec![column, path]);
        Ok(if is_unquoting { function("JSON_UNQUOTE", vec![extract]) } else { extract })
    }

    /// A collation or character set: name, string, or BINARY.
    pub fn charset_name(&mut self) -> Parse<String> {
        if self.accept("BINARY") {
            return Ok("binary".to_string());
        }
        self.name_or_string()
    }
}

fn column_of(mut parts: Vec<String>, at: Place) -> ColumnName {
    let column = parts.pop().expect("column_name read one name");
    let table = parts.pop().filter(|name| !name.is_empty());
    let schema = parts.pop().filter(|name| !name.is_empty());
    ColumnName { schema, table, column, at }
}

fn unary(operator: UnaryOperator, operand: Expr) -> Expr {
    Expr::Unary { operator, operand: Box::new(operand) }
}

fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    Expr::Binary { operator, left: Box::new(left), right: Box::new(right) }
}

pub(super) fn function(name: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Function { schema: None, name: name.to_string(), arguments }
}

pub(super) fn unsupported(feature: &str) -> Expr {
    Expr::Unsupported { feature: feature.to_string() }
}

/// The unit a word names; SQL_TSI_ names included.
pub(super) fn interval_unit(word: &str) -> Option<IntervalUnit> {
    Some(match word.strip_prefix("SQL_TSI_").unwrap_or(word) {
        "MICROSECOND" => IntervalUnit::Microsecond,
        "SECOND" => IntervalUnit::Second,
        "MINUTE" => IntervalUnit::Minute,
        "HOUR" => IntervalUnit::Hour,
        "DAY" => IntervalUnit::Day,
        "WEEK" => IntervalUnit::Week,
        "MONTH" => IntervalUnit::Month,
        "QUARTER" => IntervalUnit::Quarter,
        "YEAR" => IntervalUnit::Year,
        "SECOND_MICROSECOND" => IntervalUnit::SecondMicrosecond,
        "MINUTE_MICROSECOND" => IntervalUnit::MinuteMicrosecond,
        "MINUTE_SECOND" => IntervalUnit::MinuteSecond,
        "HOUR_MICROSECOND" => IntervalUnit::HourMicrosecond,
        "HOUR_SECOND" => IntervalUnit::HourSecond,
        "HOUR_MINUTE" => IntervalUnit::HourMinute,
        "DAY_MICROSECOND" => IntervalUnit::DayMicrosecond,
        "DAY_SECOND" => IntervalUnit::DaySecond,
        "DAY_MINUTE" => IntervalUnit::DayMinute,
        "DAY_HOUR" => IntervalUnit::DayHour,
        "YEAR_MONTH" => IntervalUnit::YearMonth,
        _ => return None,
    })
}
