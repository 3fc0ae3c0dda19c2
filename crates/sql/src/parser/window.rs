//! OVER and WINDOW.
//!
//! A function that needs OVER has its own rules for arguments: the offset of LAG and the number of
//! buckets of NTILE are integers, parameters or user variables, nothing else.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::lexer::TokenKind;

/// (fewest arguments, most)
fn argument_counts(name: &str) -> (usize, usize) {
    match name {
        "NTILE" | "FIRST_VALUE" | "LAST_VALUE" => (1, 1),
        "LAG" | "LEAD" => (1, 3),
        "NTH_VALUE" => (2, 2),
        _ => (0, 0),
    }
}

impl Parser<'_> {
    /// At the `(` behind the name of a function that needs OVER.
    #[inline(never)]
    pub fn window_function(&mut self, name: String) -> Parse<Expr> {
        let (fewest, most) = argument_counts(&name);
        let arguments = self.with_slot(false, |parser| parser.window_arguments(&name, most))?;
        if arguments.len() < fewest || !self.at_window() {
            return self.syntax_error();
        }
        self.over(Expr::Function { schema: None, name, arguments })
    }

    fn window_arguments(&mut self, name: &str, most: usize) -> Parse<Vec<Expr>> {
        self.expect_kind(TokenKind::LeftParen)?;
        let mut arguments = Vec::new();
        if 0 < most && !self.at_kind(TokenKind::RightParen) {
            loop {
                let is_integer = match name {
                    "NTILE" => true,
                    "LAG" | "LEAD" => arguments.len() == 1,
                    _ => false,
                };
                arguments.push(match is_integer {
                    true => self.stable_integer()?,
                    false => self.expression()?,
                });
                if arguments.len() == most || !self.accept_kind(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(arguments)
    }

    fn stable_integer(&mut self) -> Parse<Expr> {
        match self.kind() {
            TokenKind::Integer => self.literal(),
            TokenKind::Question => self.param(),
            TokenKind::UserVariable => Ok(Expr::UserVariable(self.user_variable()?)),
            _ => self.syntax_error(),
        }
    }

    /// At OVER, or at what may stand between a call and OVER.
    fn at_window(&self) -> bool {
        matches!(self.word(), "OVER" | "FROM" | "RESPECT" | "IGNORE")
    }

    /// OVER behind a call of an aggregate, if it is there.
    pub fn optional_over(&mut self, function: Expr) -> Parse<Expr> {
        if self.at("OVER") { self.over(function) } else { Ok(function) }
    }

    #[inline(never)]
    fn over(&mut self, function: Expr) -> Parse<Expr> {
        let name = match &function {
            Expr::Function { name, .. } => name.as_str(),
            _ => "",
        };
        let mut from_last = false;
        if name == "NTH_VALUE" && self.accept("FROM") {
            from_last = self.at("LAST");
            self.expect_any(&["FIRST", "LAST"])?;
        }
        let takes_nulls =
            matches!(name, "LAG" | "LEAD" | "FIRST_VALUE" | "LAST_VALUE" | "NTH_VALUE");
        let mut ignore_nulls = false;
        if takes_nulls && matches!(self.word(), "RESPECT" | "IGNORE") {
            ignore_nulls = self.at("IGNORE");
            self.advance();
            self.expect("NULLS")?;
        }
        self.expect("OVER")?;
        let window = if self.at_kind(TokenKind::LeftParen) {
            Window::Written(Box::new(self.with_slot(false, Self::window_spec)?))
        } else {
            Window::Named(self.name()?)
        };
        // The call is one level more than its function.
        let height = self.take_height() + 1;
        self.check_height(height)?;
        self.set_height(height);
        Ok(Expr::Window(Box::new(WindowCall { function, from_last, ignore_nulls, window })))
    }

    /// WINDOW, if it is there.
    pub fn window_clause(&mut self) -> Parse<Vec<NamedWindow>> {
        if !self.accept("WINDOW") {
            return Ok(Vec::new());
        }
        self.with_slot(false, |parser| {
            parser.list(|parser| {
                let name = parser.name()?;
                parser.expect("AS")?;
                Ok(NamedWindow { name, spec: parser.window_spec()? })
            })
        })
    }

    /// `([name] [PARTITION BY ...] [ORDER BY ...] [frame])`.
    fn window_spec(&mut self) -> Parse<WindowSpec> {
        self.expect_kind(TokenKind::LeftParen)?;
        let mut spec = WindowSpec::default();
        if self.at_name() {
            spec.base = Some(self.name()?);
        }
        if self.accept("PARTITION") {
            self.expect("BY")?;
            spec.partition_by = self.list(Self::expression)?;
        }
        spec.order_by = self.order_by()?;
        spec.frame = self.frame()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(spec)
    }

    fn frame(&mut self) -> Parse<Option<Frame>> {
        let unit = match self.word() {
            "ROWS" => FrameUnit::Rows,
            "RANGE" => FrameUnit::Range,
            "GROUPS" => FrameUnit::Groups,
            _ => return Ok(None),
        };
        self.advance();
        let (start, end) = if self.accept("BETWEEN") {
            let start = self.frame_bound()?;
            self.expect("AND")?;
            (start, self.frame_bound()?)
        } else {
            let start = self.frame_bound()?;
            if matches!(start, FrameBound::Following(_) | FrameBound::UnboundedFollowing) {
                return self.syntax_error();
            }
            (start, FrameBound::CurrentRow)
        };
        let has_exclusion = self.accept("EXCLUDE");
        if has_exclusion {
            match self.word() {
                "CURRENT" => {
                    self.advance();
                    self.expect("ROW")?;
                }
                "NO" => {
                    self.advance();
                    self.expect("OTHERS")?;
                }
                _ => self.expect_any(&["GROUP", "TIES"])?,
            }
        }
        Ok(Some(Frame { unit, start, end, has_exclusion }))
    }

    fn frame_bound(&mut self) -> Parse<FrameBound> {
        if self.accept("CURRENT") {
            self.expect("ROW")?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.accept("UNBOUNDED") {
            let is_preceding = self.at("PRECEDING");
            self.expect_any(&["PRECEDING", "FOLLOWING"])?;
            return Ok(match is_preceding {
                true => FrameBound::UnboundedPreceding,
                false => FrameBound::UnboundedFollowing,
            });
        }
        let amount = match self.kind() {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => self.literal()?,
            TokenKind::Question => self.param()?,
            _ if self.at("INTERVAL") => self.interval()?,
            _ => return self.syntax_error(),
        };
        let is_preceding = self.at("PRECEDING");
        self.expect_any(&["PRECEDING", "FOLLOWING"])?;
        Ok(if is_preceding { FrameBound::Preceding(amount) } else { FrameBound::Following(amount) })
    }
}
