//! LOAD DATA.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::lexer::TokenKind;

impl Parser<'_> {
    /// At LOAD, with DATA behind it.
    pub fn load_data(&mut self) -> Parse<Statement> {
        self.expect("LOAD")?;
        self.expect("DATA")?;
        self.accept_any(&["LOW_PRIORITY", "CONCURRENT"]);
        let is_local = self.accept("LOCAL");
        self.expect("INFILE")?;
        let file = self.string_text()?;
        let on_duplicate = match () {
            _ if self.accept("REPLACE") => OnDuplicate::Replace,
            _ if self.accept("IGNORE") => OnDuplicate::Ignore,
            _ => OnDuplicate::Fail,
        };
        self.expect("INTO")?;
        self.expect("TABLE")?;
        let table = self.object_name()?;
        let partitions = self.partitions()?;
        let charset = self.load_charset()?;
        let mut load = LoadData {
            is_local,
            file,
            on_duplicate,
            table,
            partitions,
            charset,
            format: LoadFormat::default(),
            ignored_lines: 0,
            targets: Vec::new(),
            assignments: Vec::new(),
        };
        self.load_fields(&mut load.format)?;
        self.load_lines(&mut load.format)?;
        if self.accept("IGNORE") {
            load.ignored_lines = self.unsigned()?;
            self.expect_any(&["LINES", "ROWS"])?;
        }
        if self.accept_kind(TokenKind::LeftParen) {
            if !self.at_kind(TokenKind::RightParen) {
                load.targets = self.list(Self::load_target)?;
            }
            self.expect_kind(TokenKind::RightParen)?;
        }
        if self.accept("SET") {
            load.assignments = self.assignments()?;
        }
        Ok(Statement::LoadData(Box::new(load)))
    }

    fn load_charset(&mut self) -> Parse<Option<String>> {
        if !self.accept("CHARSET") {
            if !self.accept("CHARACTER") && !self.accept("CHAR") {
                return Ok(None);
            }
            self.expect("SET")?;
        }
        self.charset_name().map(Some)
    }

    /// FIELDS with at least one clause; the last of several of a kind stands.
    fn load_fields(&mut self, format: &mut LoadFormat) -> Parse<()> {
        if !self.accept_any(&["FIELDS", "COLUMNS"]) {
            return Ok(());
        }
        let mut is_first = true;
        loop {
            match self.word() {
                "TERMINATED" => format.field_end = Some(self.load_text(1)?),
                "OPTIONALLY" => format.enclosed = Some(self.load_text(2)?),
                "ENCLOSED" => format.enclosed = Some(self.load_text(1)?),
                "ESCAPED" => format.escaped = Some(self.load_text(1)?),
                _ if is_first => return self.syntax_error(),
                _ => return Ok(()),
            }
            is_first = false;
        }
    }

    fn load_lines(&mut self, format: &mut LoadFormat) -> Parse<()> {
        if !self.accept("LINES") {
            return Ok(());
        }
        let mut is_first = true;
        loop {
            match self.word() {
                "STARTING" => format.line_start = Some(self.load_text(1)?),
                "TERMINATED" => format.line_end = Some(self.load_text(1)?),
                _ if is_first => return self.syntax_error(),
                _ => return Ok(()),
            }
            is_first = false;
        }
    }

    /// The text behind so many words and BY: a string, or bytes as 0x2c, x'2c' or b'101100'.
    fn load_text(&mut self, words: usize) -> Parse<LoadText> {
        if words == 2 {
            self.expect("OPTIONALLY")?;
            self.expect("ENCLOSED")?;
        } else {
            self.advance();
        }
        self.expect("BY")?;
        if self.at_kind(TokenKind::String) {
            return self.string_bytes().map(LoadText::Characters);
        }
        if !matches!(
            self.kind(),
            TokenKind::HexNumber
                | TokenKind::HexString
                | TokenKind::BitNumber
                | TokenKind::BitString
        ) {
            return self.syntax_error();
        }
        match self.literal()? {
            Expr::Literal(Literal::Hex(bytes) | Literal::Bits(bytes)) => Ok(LoadText::Bytes(bytes)),
            _ => self.syntax_error(),
        }
    }

    fn load_target(&mut self) -> Parse<LoadTarget> {
        if self.at_kind(TokenKind::UserVariable) {
            return self.user_variable().map(LoadTarget::Variable);
        }
        self.column_name().map(LoadTarget::Column)
    }
}
