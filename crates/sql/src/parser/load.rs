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

    /// The text behind the words of a clause and BY: a string, or bytes as 0x2c, x'2c' or b'101100'.
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

#[cfg(test)]
mod tests {
    use types::SqlMode;

    use super::*;
    use crate::parser::parse_one;

    fn parsed(sql: &str) -> Option<LoadData> {
        match parse_one(sql.as_bytes(), SqlMode::default()).ok()?.0 {
            Statement::LoadData(load) => Some(*load),
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn every_clause() {
        let load = parsed(
            "LOAD DATA LOW_PRIORITY LOCAL INFILE 'a.csv' REPLACE INTO TABLE s.t PARTITION (p, q) \
             CHARACTER SET latin1 COLUMNS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' \
             LINES STARTING BY x'3e3e' TERMINATED BY 0x0d0a IGNORE 2 ROWS (a, @b, t.c) \
             SET d = @b + 1, e = DEFAULT",
        )
        .expect("it is one");
        assert!(load.is_local);
        assert_eq!((load.file.as_str(), load.on_duplicate), ("a.csv", OnDuplicate::Replace));
        assert_eq!(load.table, ObjectName::new(Some("s".into()), "t".into()));
        assert_eq!((load.partitions.len(), load.charset.as_deref()), (2, Some("latin1")));
        let characters = |text: &str| Some(LoadText::Characters(text.into()));
        let bytes = |text: &str| Some(LoadText::Bytes(text.into()));
        let expected = LoadFormat {
            field_end: characters(","),
            enclosed: characters("\""),
            escaped: characters(""),
            line_start: bytes(">>"),
            line_end: bytes("\r\n"),
        };
        assert_eq!(load.format, expected);
        assert_eq!(load.ignored_lines, 2);
        assert_eq!(load.targets.len(), 3);
        assert_eq!(load.targets[1], LoadTarget::Variable("b".into()));
        assert_eq!(load.assignments.len(), 2);
    }

    #[test]
    fn few_clauses_and_wrong_ones() {
        for (sql, is_right) in [
            ("LOAD DATA INFILE 'a' INTO TABLE t", true),
            ("LOAD DATA CONCURRENT INFILE 'a' IGNORE INTO TABLE t ()", true),
            ("LOAD DATA INFILE 'a' INTO TABLE t CHARSET utf8mb4 SET a = 1", true),
            ("LOAD DATA INFILE 'a' INTO TABLE t FIELDS ENCLOSED BY '' ENCLOSED BY 'x'", true),
            ("LOAD DATA INFILE 'a' INTO TABLE t LINES TERMINATED BY b'1010' IGNORE 0 LINES", true),
            ("LOAD DATA INFILE 'a' INTO t", false),
            ("LOAD DATA INFILE a INTO TABLE t", false),
            ("LOAD DATA LOCAL 'a' INTO TABLE t", false),
            ("LOAD DATA INFILE 'a' REPLACE IGNORE INTO TABLE t", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t FIELDS", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t FIELDS STARTING BY 'a'", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t FIELDS OPTIONALLY ESCAPED BY 'a'", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t FIELDS TERMINATED ','", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t FIELDS TERMINATED BY 1", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t LINES", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t IGNORE LINES", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t IGNORE 1", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t IGNORE -1 LINES", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t (a,)", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t (1)", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t (a) (b)", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t SET", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t SET @a = 1", false),
            ("LOAD DATA INFILE 'a' INTO TABLE t LINES TERMINATED BY 'a' CHARSET latin1", false),
        ] {
            assert_eq!(parsed(sql).is_some(), is_right, "{sql}");
        }
    }
}
