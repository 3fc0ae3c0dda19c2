//! Which statement it is, by its first words.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::lexer::TokenKind;

/// First words of statements that are recognised and not parsed. With each goes how many words name the feature.
#[rustfmt::skip]
const UNSUPPORTED: &[(&str, usize)] = &[
    ("ALTER", 2), ("BINLOG", 1), ("CACHE", 2), ("CALL", 1), ("CHANGE", 3), ("CLONE", 1), ("CREATE", 2), ("DROP", 2),
    ("GET", 2), ("HANDLER", 1), ("HELP", 1), ("IMPORT", 2), ("INSTALL", 2), ("LOAD", 2), ("PURGE", 2),
    ("RENAME", 2), ("RESET", 2), ("RESIGNAL", 1), ("RESTART", 1), ("SHUTDOWN", 1), ("SIGNAL", 1),
    ("START", 2), ("STOP", 2), ("UNINSTALL", 2), ("XA", 2),
];

impl Parser<'_> {
    /// One statement, up to its semicolon or the end.
    pub fn statement(&mut self) -> Parse<Statement> {
        if self.at_end() {
            return Ok(Statement::Empty);
        }
        if self.at_kind(TokenKind::LeftParen) {
            return Ok(Statement::Query(Box::new(self.query()?)));
        }
        match self.word() {
            "SELECT" | "TABLE" | "VALUES" => Ok(Statement::Query(Box::new(self.query()?))),
            "WITH" => self.with_statement(),
            "INSERT" | "REPLACE" => self.insert(),
            "UPDATE" => self.update(None),
            "DELETE" => self.delete(None),
            "TRUNCATE" => self.truncate(),
            "BEGIN" => self.begin(),
            "START" if self.next_is("TRANSACTION") => {
                self.advance();
                self.start_transaction()
            }
            "COMMIT" => self.commit(),
            "ROLLBACK" => self.rollback(),
            "SAVEPOINT" => {
                self.advance();
                Ok(Statement::Savepoint(self.name()?))
            }
            "RELEASE" => {
                self.advance();
                self.expect("SAVEPOINT")?;
                Ok(Statement::ReleaseSavepoint(self.name()?))
            }
            "SET" => self.set(),
            "USE" => {
                self.advance();
                Ok(Statement::Use(self.name()?))
            }
            "SHOW" => self.show(),
            "DESCRIBE" | "DESC" | "EXPLAIN" => self.explain(),
            "CREATE" => self.create(),
            "DROP" => self.drop_statement(),
            "ALTER" => self.alter(),
            "RENAME" if self.next_is("TABLE") || self.next_is("TABLES") => self.rename_table(),
            "RENAME" if self.next_is("USER") => self.rename_user(),
            "GRANT" => self.grant(),
            "REVOKE" => self.revoke(),
            "KILL" => self.kill(),
            "LOCK" => self.lock(),
            "UNLOCK" => self.unlock(),
            "FLUSH" => self.flush(),
            "LOAD" if self.next_is("DATA") => self.load_data(),
            "DO" => {
                self.advance();
                Ok(Statement::Do(self.list(Self::expression)?))
            }
            "PREPARE" => self.prepare(),
            "EXECUTE" => self.execute(),
            "DEALLOCATE" => {
                self.advance();
                self.expect("PREPARE")?;
                Ok(Statement::Deallocate { name: self.name()? })
            }
            "ANALYZE" => self.table_maintenance(TableMaintenance::Analyze),
            "OPTIMIZE" => self.table_maintenance(TableMaintenance::Optimize),
            "CHECK" => self.table_maintenance(TableMaintenance::Check),
            "REPAIR" => self.table_maintenance(TableMaintenance::Repair),
            "CHECKSUM" => self.table_maintenance(TableMaintenance::Checksum),
            _ => self.unsupported_statement(),
        }
    }

    /// At WITH: a query, an UPDATE or a DELETE follows the common tables.
    fn with_statement(&mut self) -> Parse<Statement> {
        let with = self.with_clause()?;
        match self.word() {
            "UPDATE" => self.update(with),
            "DELETE" => self.delete(with),
            _ => {
                let mut query = self.query()?;
                if query.with.is_some() {
                    return self.syntax_error();
                }
                query.with = with;
                Ok(Statement::Query(Box::new(query)))
            }
        }
    }

    fn create(&mut self) -> Parse<Statement> {
        let second = self.peek();
        let is = |parser: &Self, word: &str| parser.token_is(second, word);
        if is(self, "TABLE") || is(self, "TEMPORARY") {
            self.advance();
            return self.create_table();
        }
        if is(self, "DATABASE") || is(self, "SCHEMA") {
            self.advance();
            return self.create_database();
        }
        if ["INDEX", "UNIQUE", "FULLTEXT", "SPATIAL"].iter().any(|word| is(self, word)) {
            if is(self, "SPATIAL") && self.second_is("REFERENCE") {
                return self.unsupported_statement();
            }
            self.advance();
            return self.create_index();
        }
        if is(self, "USER") {
            self.advance();
            return self.create_user();
        }
        if is(self, "ROLE") {
            self.advance();
            return self.create_role();
        }
        if self.is_view_definition() {
            self.advance();
            return self.create_view(false);
        }
        self.unsupported_statement()
    }

    fn drop_statement(&mut self) -> Parse<Statement> {
        let second = self.peek();
        let is = |parser: &Self, word: &str| parser.token_is(second, word);
        if is(self, "TABLE") || is(self, "TABLES") || is(self, "TEMPORARY") {
            self.advance();
            return self.drop_table();
        }
        if is(self, "DATABASE") || is(self, "SCHEMA") {
            self.advance();
            return self.drop_database();
        }
        if is(self, "INDEX") {
            self.advance();
            return self.drop_index();
        }
        if is(self, "VIEW") {
            self.advance();
            return self.drop_view();
        }
        if is(self, "USER") {
            self.advance();
            return self.drop_user();
        }
        if is(self, "ROLE") {
            self.advance();
            return self.drop_role();
        }
        if is(self, "PREPARE") {
            self.advance();
            self.advance();
            return Ok(Statement::Deallocate { name: self.name()? });
        }
        self.unsupported_statement()
    }

    fn alter(&mut self) -> Parse<Statement> {
        if ["TABLE", "ONLINE", "OFFLINE", "IGNORE"].iter().any(|word| self.next_is(word)) {
            self.advance();
            return self.alter_table();
        }
        if self.next_is("DATABASE") || self.next_is("SCHEMA") {
            self.advance();
            return self.alter_database();
        }
        if self.next_is("USER") {
            self.advance();
            return self.alter_user();
        }
        if self.is_view_definition() {
            self.advance();
            return self.create_view(true);
        }
        self.unsupported_statement()
    }

    /// At CREATE or ALTER: does VIEW follow, behind the clauses that routines have in front of their kind, too?
    fn is_view_definition(&self) -> bool {
        self.is_ahead(
            &["VIEW"],
            &["AS", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "USER", "ROLE"],
        )
    }

    /// A statement known by its first words only, or error 1064.
    fn unsupported_statement(&mut self) -> Parse<Statement> {
        let known = UNSUPPORTED.iter().find(|(word, _)| self.at(word));
        let Some(&(first, word_count)) = known else {
            return self.syntax_error();
        };
        self.advance();
        let mut feature = first.to_string();
        if first == "CREATE" || first == "ALTER" || first == "DROP" {
            self.skip_definition_prefix()?;
            if !is_definable(self.word()) {
                return self.syntax_error();
            }
        }
        // Bodies of routines hold semicolons of their own.
        let has_body = first == "CREATE"
            && matches!(self.word(), "PROCEDURE" | "FUNCTION" | "TRIGGER" | "EVENT");
        for _ in 1..word_count {
            if self.word().is_empty() {
                break;
            }
            feature.push(' ');
            feature.push_str(self.word());
            self.advance();
        }
        if has_body {
            self.skip_text()?
        } else {
            self.skip_statement()?
        }
        Ok(Statement::Unsupported { feature })
    }

    /// OR REPLACE, DEFINER = x, ALGORITHM = x, SQL SECURITY x, AGGREGATE, UNDO: what stands before VIEW and the like.
    fn skip_definition_prefix(&mut self) -> Parse<()> {
        loop {
            match self.word() {
                "OR" | "REPLACE" | "AGGREGATE" | "UNDO" | "SQL" | "SECURITY" | "INVOKER" => {
                    self.advance();
                }
                "DEFINER" | "ALGORITHM" => {
                    self.advance();
                    if !self.accept_kind(TokenKind::Equal) {
                        continue;
                    }
                    // A user, with host or parentheses, or an algorithm.
                    self.advance();
                    if self.accept_kind(TokenKind::UserVariable) {
                        continue;
                    }
                    if self.accept_kind(TokenKind::LeftParen) {
                        self.expect_kind(TokenKind::RightParen)?;
                    }
                }
                _ => return Ok(()),
            }
        }
    }
}

/// What else can be created, altered or dropped.
fn is_definable(word: &str) -> bool {
    matches!(
        word,
        "PROCEDURE"
            | "FUNCTION"
            | "TRIGGER"
            | "EVENT"
            | "SERVER"
            | "TABLESPACE"
            | "LOGFILE"
            | "RESOURCE"
            | "SPATIAL"
            | "INSTANCE"
            | "LIBRARY"
            | "PREPARE"
    )
}
