//! SHOW, DESCRIBE and EXPLAIN.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::lexer::TokenKind;

impl Parser<'_> {
    /// At SHOW.
    pub fn show(&mut self) -> Parse<Statement> {
        self.expect("SHOW")?;
        let extended = self.accept("EXTENDED");
        let full = self.accept("FULL");
        let show = match self.word() {
            "TABLES" => {
                self.advance();
                let database = self.show_database()?;
                Show::Tables { full, extended, database, filter: self.show_filter()? }
            }
            "COLUMNS" | "FIELDS" => {
                self.advance();
                let table = self.show_table()?;
                Show::Columns { full, extended, table, filter: self.show_filter()? }
            }
            "PROCESSLIST" => {
                self.advance();
                Show::ProcessList { full }
            }
            _ if full => return self.syntax_error(),
            "INDEX" | "INDEXES" | "KEYS" => {
                self.advance();
                let table = self.show_table()?;
                Show::Index { table, filter: self.show_filter()? }
            }
            _ if extended => return self.syntax_error(),
            "DATABASES" | "SCHEMAS" => {
                self.advance();
                Show::Databases { filter: self.show_filter()? }
            }
            "TABLE" if self.next_is("STATUS") => {
                self.advance();
                self.advance();
                let database = self.show_database()?;
                Show::TableStatus { database, filter: self.show_filter()? }
            }
            "OPEN" if self.next_is("TABLES") => {
                self.advance();
                self.advance();
                let database = self.show_database()?;
                Show::OpenTables { database, filter: self.show_filter()? }
            }
            "TRIGGERS" => {
                self.advance();
                let database = self.show_database()?;
                Show::Triggers { database, filter: self.show_filter()? }
            }
            "EVENTS" => {
                self.advance();
                let database = self.show_database()?;
                Show::Events { database, filter: self.show_filter()? }
            }
            "PROCEDURE" | "FUNCTION" if self.next_is("STATUS") => {
                let is_procedure = self.at("PROCEDURE");
                self.advance();
                self.advance();
                let filter = self.show_filter()?;
                if is_procedure {
                    Show::ProcedureStatus { filter }
                } else {
                    Show::FunctionStatus { filter }
                }
            }
            "CREATE" => self.show_create()?,
            "GLOBAL" | "SESSION" | "LOCAL" | "VARIABLES" | "STATUS" => {
                let global = self.at("GLOBAL");
                if global || self.at("SESSION") || self.at("LOCAL") {
                    self.advance();
                }
                let is_status = self.at("STATUS");
                self.expect_any(&["VARIABLES", "STATUS"])?;
                let filter = self.show_filter()?;
                if is_status {
                    Show::Status { global, filter }
                } else {
                    Show::Variables { global, filter }
                }
            }
            "WARNINGS" => {
                self.advance();
                Show::Warnings { limit: self.limit()? }
            }
            "ERRORS" => {
                self.advance();
                Show::Errors { limit: self.limit()? }
            }
            "COUNT" => {
                self.advance();
                self.expect_kind(TokenKind::LeftParen)?;
                self.expect_kind(TokenKind::Star)?;
                self.expect_kind(TokenKind::RightParen)?;
                let is_warnings = self.at("WARNINGS");
                self.expect_any(&["WARNINGS", "ERRORS"])?;
                if is_warnings { Show::CountWarnings } else { Show::CountErrors }
            }
            "ENGINES" => {
                self.advance();
                Show::Engines
            }
            "STORAGE" if self.next_is("ENGINES") => {
                self.advance();
                self.advance();
                Show::Engines
            }
            "ENGINE" => {
                self.advance();
                let engine = self.name_or_string()?.to_ascii_uppercase();
                let what = self.word().to_string();
                self.expect_any(&["STATUS", "MUTEX", "LOGS"])?;
                Show::EngineStatus { engine, what }
            }
            "CHARSET" => {
                self.advance();
                Show::CharacterSet { filter: self.show_filter()? }
            }
            "CHARACTER" | "CHAR" => {
                self.advance();
                self.expect("SET")?;
                Show::CharacterSet { filter: self.show_filter()? }
            }
            "COLLATION" => {
                self.advance();
                Show::Collation { filter: self.show_filter()? }
            }
            "GRANTS" => {
                self.advance();
                let mut user = UserName::Current;
                let mut using = Vec::new();
                if self.accept("FOR") {
                    user = self.user_name()?;
                    if self.accept("USING") {
                        using = self.list(Self::user_name)?;
                    }
                }
                Show::Grants { user, using }
            }
            "PLUGINS" => {
                self.advance();
                Show::Plugins
            }
            "PRIVILEGES" => {
                self.advance();
                Show::Privileges
            }
            "MASTER" if self.next_is("STATUS") => {
                self.advance();
                self.advance();
                Show::MasterStatus
            }
            _ => Show::Unsupported { feature: self.leading_words("SHOW", 3)? },
        };
        Ok(Statement::Show(Box::new(show)))
    }

    fn show_create(&mut self) -> Parse<Show> {
        self.expect("CREATE")?;
        match self.word() {
            "TABLE" => {
                self.advance();
                Ok(Show::CreateTable(self.object_name()?))
            }
            "DATABASE" | "SCHEMA" => {
                self.advance();
                let if_not_exists = self.accept_if_not_exists()?;
                Ok(Show::CreateDatabase { name: self.name()?, if_not_exists })
            }
            "VIEW" => {
                self.advance();
                Ok(Show::CreateView(self.object_name()?))
            }
            "USER" => {
                self.advance();
                Ok(Show::CreateUser { user: self.user_name()? })
            }
            "PROCEDURE" | "FUNCTION" | "TRIGGER" | "EVENT" => {
                Ok(Show::Unsupported { feature: self.leading_words("SHOW CREATE", 1)? })
            }
            _ => self.syntax_error(),
        }
    }

    /// `FROM db` or `IN db`, if it is there.
    fn show_database(&mut self) -> Parse<Option<String>> {
        if self.accept_any(&["FROM", "IN"]) { Ok(Some(self.name()?)) } else { Ok(None) }
    }

    /// `FROM t [FROM db]`.
    fn show_table(&mut self) -> Parse<ObjectName> {
        self.expect_any(&["FROM", "IN"])?;
        let mut table = self.object_name()?;
        if let Some(database) = self.show_database()? {
            table.schema = Some(database);
        }
        Ok(table)
    }

    fn show_filter(&mut self) -> Parse<ShowFilter> {
        if self.accept("LIKE") {
            return Ok(ShowFilter::Like(self.string_bytes()?));
        }
        if self.accept("WHERE") {
            return Ok(ShowFilter::Where(self.expression()?));
        }
        Ok(ShowFilter::None)
    }

    /// The current and the next words up to `count`, behind `prefix`; reads over the rest of the statement.
    pub fn leading_words(&mut self, prefix: &str, count: usize) -> Parse<String> {
        let mut feature = prefix.to_string();
        if self.word().is_empty() {
            return self.syntax_error();
        }
        for _ in 0..count {
            if self.word().is_empty()
                || matches!(self.word(), "FROM" | "IN" | "LIKE" | "FOR" | "WHERE")
            {
                break;
            }
            feature.push(' ');
            feature.push_str(self.word());
            self.advance();
        }
        self.skip_statement()?;
        Ok(feature)
    }

    /// At DESCRIBE, DESC or EXPLAIN.
    pub fn explain(&mut self) -> Parse<Statement> {
        self.expect_any(&["DESCRIBE", "DESC", "EXPLAIN"])?;
        let mut analyze = false;
        let mut format = None;
        loop {
            match self.word() {
                "ANALYZE" if !analyze => {
                    self.advance();
                    analyze = true;
                }
                "FORMAT" if self.peek().kind == TokenKind::Equal => {
                    self.advance();
                    self.advance();
                    let written = self.name_or_string()?;
                    let name = written.to_ascii_uppercase();
                    let is_known = matches!(name.as_str(), "TRADITIONAL" | "TREE" | "JSON");
                    format = Some(if is_known { name } else { written });
                }
                "EXTENDED" | "PARTITIONS" if self.is_statement_next() => self.advance(),
                _ => break,
            }
        }
        if self.accept("FOR") {
            if self.accept("CONNECTION") {
                self.unsigned()?;
                return Ok(Statement::Unsupported {
                    feature: "EXPLAIN FOR CONNECTION".to_string(),
                });
            }
            self.expect_any(&["SCHEMA", "DATABASE"])?;
            self.name()?;
        }
        let is_statement = self.at_kind(TokenKind::LeftParen)
            || matches!(
                self.word(),
                "SELECT" | "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "WITH" | "TABLE" | "VALUES"
            );
        if is_statement {
            let statement = Box::new(self.statement()?);
            return Ok(Statement::Explain { analyze, format, statement });
        }
        if analyze || format.is_some() {
            return self.syntax_error();
        }
        let table = self.object_name()?;
        let column = if self.at_end() { None } else { Some(self.name_or_string()?) };
        Ok(Statement::Describe { table, column })
    }

    fn is_statement_next(&self) -> bool {
        ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "TABLE"]
            .iter()
            .any(|word| self.next_is(word))
    }
}
