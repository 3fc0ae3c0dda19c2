//! CREATE and DROP of databases, tables and indexes; keys, foreign keys, table options, partitioning.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::error::ParseErrorKind;
use super::lexer::TokenKind;

/// What stands between the parentheses of CREATE TABLE, beside columns.
pub(super) enum TableElement {
    Index(IndexDefinition),
    ForeignKey(ForeignKey),
    Check(Check),
}

impl Parser<'_> {
    // -----------------------------------------------------------------------------------------------------------
    // Databases

    /// Behind CREATE.
    pub fn create_database(&mut self) -> Parse<Statement> {
        self.expect_any(&["DATABASE", "SCHEMA"])?;
        let if_not_exists = self.accept_if_not_exists()?;
        let name = self.name()?;
        let (charset, collation) = self.database_options()?;
        Ok(Statement::CreateDatabase { name, if_not_exists, charset, collation })
    }

    /// Behind ALTER.
    pub fn alter_database(&mut self) -> Parse<Statement> {
        self.expect_any(&["DATABASE", "SCHEMA"])?;
        let is_option = matches!(
            self.word(),
            "CHARACTER" | "CHARSET" | "COLLATE" | "DEFAULT" | "ENCRYPTION" | "READ"
        );
        let name = if is_option { None } else { Some(self.name()?) };
        let (charset, collation) = self.database_options()?;
        Ok(Statement::AlterDatabase { name, charset, collation })
    }

    fn database_options(&mut self) -> Parse<(Option<String>, Option<String>)> {
        let mut charset = None;
        let mut collation = None;
        loop {
            self.accept("DEFAULT");
            match self.word() {
                "CHARACTER" | "CHAR" | "CHARSET" => {
                    charset = Some(self.charset_option()?);
                }
                "COLLATE" => {
                    self.advance();
                    self.accept_kind(TokenKind::Equal);
                    collation = Some(self.charset_name()?);
                }
                "ENCRYPTION" => {
                    self.advance();
                    self.accept_kind(TokenKind::Equal);
                    self.string_bytes()?;
                }
                "READ" => {
                    self.advance();
                    self.expect("ONLY")?;
                    self.accept_kind(TokenKind::Equal);
                    if !self.accept("DEFAULT") {
                        self.unsigned()?;
                    }
                }
                _ => return Ok((charset, collation)),
            }
        }
    }

    /// `CHARACTER SET [=] x`, `CHARSET [=] x`.
    fn charset_option(&mut self) -> Parse<String> {
        if !self.accept("CHARSET") {
            self.expect_any(&["CHARACTER", "CHAR"])?;
            self.expect("SET")?;
        }
        self.accept_kind(TokenKind::Equal);
        if self.accept("DEFAULT") {
            return Ok("DEFAULT".to_string());
        }
        self.charset_name()
    }

    /// Behind DROP.
    pub fn drop_database(&mut self) -> Parse<Statement> {
        self.expect_any(&["DATABASE", "SCHEMA"])?;
        let if_exists = self.accept_if_exists()?;
        Ok(Statement::DropDatabase { name: self.name()?, if_exists })
    }

    // -----------------------------------------------------------------------------------------------------------
    // Tables

    /// Behind CREATE.
    pub fn create_table(&mut self) -> Parse<Statement> {
        let temporary = self.accept("TEMPORARY");
        self.expect("TABLE")?;
        let if_not_exists = self.accept_if_not_exists()?;
        let mut table = CreateTable {
            temporary,
            if_not_exists,
            name: self.object_name()?,
            columns: Vec::new(),
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            options: TableOptions::default(),
            partitioning: None,
            like: None,
            as_query: None,
            on_duplicate: OnDuplicate::Fail,
        };
        let has_parens = self.at_kind(TokenKind::LeftParen);
        if self.accept("LIKE") || has_parens && self.next_is("LIKE") {
            if has_parens {
                self.advance();
                self.advance();
            }
            table.like = Some(self.object_name()?);
            if has_parens {
                self.expect_kind(TokenKind::RightParen)?;
            }
            return Ok(Statement::CreateTable(Box::new(table)));
        }
        if has_parens && !self.is_query_in_parens() {
            self.advance();
            self.list(|parser| parser.create_table_element(&mut table))?;
            self.expect_kind(TokenKind::RightParen)?;
        }
        self.table_options(&mut table.options)?;
        if self.accept_two("PARTITION", "BY") {
            table.partitioning = Some(self.partitioning()?);
        }
        if self.accept("IGNORE") {
            table.on_duplicate = OnDuplicate::Ignore;
        } else if self.accept("REPLACE") {
            table.on_duplicate = OnDuplicate::Replace;
        }
        self.accept("AS");
        if !self.at_end() {
            table.as_query = Some(Box::new(self.query()?));
        }
        Ok(Statement::CreateTable(Box::new(table)))
    }

    fn create_table_element(&mut self, table: &mut CreateTable) -> Parse<()> {
        match self.table_element()? {
            Some(TableElement::Index(mut index)) => {
                index.columns_before = table.columns.len();
                table.indexes.push(index);
            }
            Some(TableElement::ForeignKey(key)) => table.foreign_keys.push(key),
            Some(TableElement::Check(mut check)) => {
                check.columns_before = table.columns.len();
                table.checks.push(check);
            }
            None => {
                let name = self.name()?;
                table.columns.push(self.column_definition(name)?);
            }
        }
        Ok(())
    }

    /// A key or constraint; None when a column begins here.
    pub fn table_element(&mut self) -> Parse<Option<TableElement>> {
        let mut constraint = None;
        let is_constraint = self.accept("CONSTRAINT");
        if is_constraint && self.at_name() {
            constraint = Some(self.name()?);
        }
        let kind = match self.word() {
            "PRIMARY" => {
                self.advance();
                self.expect("KEY")?;
                IndexKind::Primary
            }
            "UNIQUE" => {
                self.advance();
                self.accept_any(&["KEY", "INDEX"]);
                IndexKind::Unique
            }
            "KEY" | "INDEX" if !is_constraint => {
                self.advance();
                IndexKind::Plain
            }
            "FULLTEXT" if !is_constraint => {
                self.advance();
                self.accept_any(&["KEY", "INDEX"]);
                IndexKind::Fulltext
            }
            "SPATIAL" if !is_constraint => {
                self.advance();
                self.accept_any(&["KEY", "INDEX"]);
                IndexKind::Spatial
            }
            "FOREIGN" => {
                self.advance();
                self.expect("KEY")?;
                let index_name = if self.at_name() { Some(self.name()?) } else { None };
                let columns = self.paren_list(Self::key_part)?;
                let references = self.references()?;
                let name = constraint.or(index_name);
                return Ok(Some(TableElement::ForeignKey(ForeignKey {
                    name,
                    columns,
                    references,
                })));
            }
            "CHECK" => return Ok(Some(TableElement::Check(self.check(constraint)?))),
            _ if is_constraint => return self.syntax_error(),
            _ => return Ok(None),
        };
        Ok(Some(TableElement::Index(self.index_definition(kind, constraint)?)))
    }

    /// Behind KEY or INDEX: `[name] [USING x] (parts) options`.
    fn index_definition(
        &mut self,
        kind: IndexKind,
        constraint: Option<String>,
    ) -> Parse<IndexDefinition> {
        let mut name = None;
        let is_using = self.at("USING") || self.at("TYPE") && !self.at_kind(TokenKind::LeftParen);
        if self.at_name() && !(is_using && self.peek().kind == TokenKind::Word) {
            name = Some(self.name()?);
        }
        let mut algorithm = None;
        if self.at("USING") || self.at("TYPE") {
            self.advance();
            algorithm = Some(self.index_algorithm()?);
        }
        self.index_rest(kind, name.or(constraint), algorithm)
    }

    /// `(parts) options`.
    fn index_rest(
        &mut self,
        kind: IndexKind,
        name: Option<String>,
        algorithm: Option<IndexAlgorithm>,
    ) -> Parse<IndexDefinition> {
        let parts = self.paren_list(Self::key_part)?;
        let mut index = IndexDefinition {
            kind,
            name,
            parts,
            algorithm,
            comment: None,
            invisible: false,
            columns_before: 0,
        };
        while self.index_option(&mut index)? {}
        Ok(index)
    }

    fn index_algorithm(&mut self) -> Parse<IndexAlgorithm> {
        let algorithm = match self.word() {
            "BTREE" => IndexAlgorithm::BTree,
            "HASH" => IndexAlgorithm::Hash,
            "RTREE" => IndexAlgorithm::RTree,
            _ => return self.syntax_error(),
        };
        self.advance();
        Ok(algorithm)
    }

    fn index_option(&mut self, index: &mut IndexDefinition) -> Parse<bool> {
        match self.word() {
            "USING" | "TYPE" => {
                self.advance();
                index.algorithm = Some(self.index_algorithm()?);
            }
            "COMMENT" => {
                self.advance();
                index.comment = Some(self.string_text()?);
            }
            "VISIBLE" => self.advance(),
            "INVISIBLE" => {
                self.advance();
                index.invisible = true;
            }
            "KEY_BLOCK_SIZE" => {
                self.advance();
                self.accept_kind(TokenKind::Equal);
                self.unsigned()?;
            }
            "WITH" => {
                self.advance();
                self.expect("PARSER")?;
                self.name()?;
            }
            "ENGINE_ATTRIBUTE" | "SECONDARY_ENGINE_ATTRIBUTE" => {
                self.advance();
                self.accept_kind(TokenKind::Equal);
                self.string_bytes()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `column[(prefix)] [ASC|DESC]` or `(expression) [ASC|DESC]`.
    pub fn key_part(&mut self) -> Parse<KeyPart> {
        let target = if self.accept_kind(TokenKind::LeftParen) {
            let expr = self.expression()?;
            self.expect_kind(TokenKind::RightParen)?;
            KeyPartTarget::Expr(expr)
        } else {
            let name = self.name()?;
            KeyPartTarget::Column { name, prefix_length: self.optional_width()? }
        };
        Ok(KeyPart { target, descending: self.accept_direction() })
    }

    /// At REFERENCES.
    pub fn references(&mut self) -> Parse<References> {
        self.expect("REFERENCES")?;
        let table = self.object_name()?;
        let columns = if self.at_kind(TokenKind::LeftParen) {
            self.paren_list(Self::key_part)?
        } else {
            Vec::new()
        };
        let mut references = References { table, columns, on_delete: None, on_update: None };
        loop {
            if self.accept("MATCH") {
                if !self.accept_any(&["FULL", "PARTIAL", "SIMPLE"]) {
                    return self.syntax_error();
                }
            } else if self.accept_two("ON", "DELETE") {
                references.on_delete = Some(self.reference_action()?);
            } else if self.at("ON") && self.next_is("UPDATE") && !self.second_is_now() {
                self.advance();
                self.advance();
                references.on_update = Some(self.reference_action()?);
            } else {
                return Ok(references);
            }
        }
    }

    /// Whether ON UPDATE goes on as the column attribute, not as the reference's action.
    fn second_is_now(&self) -> bool {
        ["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"]
            .iter()
            .any(|word| self.second_is(word))
    }

    fn reference_action(&mut self) -> Parse<ReferenceAction> {
        if self.accept("RESTRICT") {
            return Ok(ReferenceAction::Restrict);
        }
        if self.accept("CASCADE") {
            return Ok(ReferenceAction::Cascade);
        }
        if self.accept_two("SET", "NULL") {
            return Ok(ReferenceAction::SetNull);
        }
        if self.accept_two("NO", "ACTION") {
            return Ok(ReferenceAction::NoAction);
        }
        if self.accept_two("SET", "DEFAULT") {
            return Ok(ReferenceAction::SetDefault);
        }
        self.syntax_error()
    }

    /// Table options, with or without commas between them.
    pub fn table_options(&mut self, options: &mut TableOptions) -> Parse<()> {
        while self.table_option(options)? {
            if self.at_kind(TokenKind::Comma) && self.is_table_option_after_comma() {
                self.advance();
            }
        }
        Ok(())
    }

    /// In ALTER TABLE a comma may also lead to the next operation.
    fn is_table_option_after_comma(&self) -> bool {
        let next = self.peek();
        next.kind == TokenKind::Word
            && (self.next_is("DEFAULT") || self.token_names_table_option(next))
    }

    /// One table option; false when there is none.
    fn table_option(&mut self, options: &mut TableOptions) -> Parse<bool> {
        if self.at("DEFAULT") {
            let is_option =
                ["CHARACTER", "CHARSET", "CHAR", "COLLATE"].iter().any(|word| self.next_is(word));
            if !is_option {
                return Ok(false);
            }
            self.advance();
        }
        match self.word() {
            "ENGINE" => {
                self.advance();
                self.accept_kind(TokenKind::Equal);
                options.engine = Some(self.name_or_string()?);
            }
            "CHARACTER" | "CHAR" | "CHARSET" => options.charset = Some(self.charset_option()?),
            "COLLATE" => {
                self.advance();
                self.accept_kind(TokenKind::Equal);
                options.collation = Some(self.charset_name()?);
            }
            "COMMENT" => {
                self.advance();
                self.accept_kind(TokenKind::Equal);
                options.comment = Some(self.string_text()?);
            }
            "AUTO_INCREMENT" => {
                self.advance();
                self.accept_kind(TokenKind::Equal);
                options.auto_increment = Some(self.unsigned()?);
            }
            "DATA" | "INDEX" if self.next_is("DIRECTORY") => {
                let name = format!("{} DIRECTORY", self.word());
                self.advance();
                self.advance();
                self.other_option(options, name)?;
            }
            "START" if self.next_is("TRANSACTION") => {
                self.advance();
                self.advance();
                options.other.push(("START TRANSACTION".to_string(), String::new()));
            }
            _ if self.token_names_table_option(self.token())
                || self.kind() == TokenKind::Word && self.peek().kind == TokenKind::Equal =>
            {
                let name = self.word().to_string();
                if name.is_empty() {
                    return self.syntax_error();
                }
                self.advance();
                self.other_option(options, name)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn other_option(&mut self, options: &mut TableOptions, name: String) -> Parse<()> {
        self.accept_kind(TokenKind::Equal);
        let value = match self.kind() {
            TokenKind::Integer => self.unsigned()?.to_string(),
            TokenKind::Decimal | TokenKind::Float => {
                let text = String::from_utf8_lossy(self.token_text()).into_owned();
                self.advance();
                text
            }
            TokenKind::String => String::from_utf8_lossy(&self.string_bytes()?).into_owned(),
            TokenKind::Word if self.at("DEFAULT") => {
                self.advance();
                "DEFAULT".to_string()
            }
            TokenKind::LeftParen => {
                let start = self.token_start();
                self.skip_parens()?;
                self.text_since(start)
            }
            _ => self.name()?,
        };
        options.other.push((name, value));
        Ok(())
    }

    /// Behind PARTITION BY. Definitions of partitions are read over.
    pub fn partitioning(&mut self) -> Parse<Partitioning> {
        let linear = self.accept("LINEAR");
        if !self.at("KEY") {
            let method = match self.word() {
                word @ ("HASH" | "RANGE" | "LIST") => word.to_string(),
                _ => return self.syntax_error(),
            };
            self.skip_partitioning()?;
            return Ok(Partitioning::Unsupported { feature: format!("PARTITION BY {method}") });
        }
        self.advance();
        if self.accept("ALGORITHM") {
            self.expect_kind(TokenKind::Equal)?;
            self.unsigned()?;
        }
        self.expect_kind(TokenKind::LeftParen)?;
        let mut columns = Vec::new();
        if !self.at_kind(TokenKind::RightParen) {
            columns = self.list(Self::name)?;
        }
        self.expect_kind(TokenKind::RightParen)?;
        let partitions = if self.accept("PARTITIONS") { Some(self.unsigned()?) } else { None };
        if self.at("SUBPARTITION") || self.at_kind(TokenKind::LeftParen) {
            self.skip_partitioning()?;
            return Ok(Partitioning::Unsupported { feature: "PARTITION definitions".to_string() });
        }
        Ok(Partitioning::Key { linear, columns, partitions })
    }

    /// Reads over words, numbers and parentheses up to the end or AS SELECT.
    fn skip_partitioning(&mut self) -> Parse<()> {
        while !self.at_end() && !matches!(self.word(), "AS" | "SELECT" | "IGNORE" | "REPLACE") {
            match self.kind() {
                TokenKind::LeftParen => self.skip_parens()?,
                TokenKind::Word | TokenKind::Integer | TokenKind::Equal => self.advance(),
                _ => return self.syntax_error(),
            }
        }
        Ok(())
    }

    /// Behind DROP.
    pub fn drop_table(&mut self) -> Parse<Statement> {
        let temporary = self.accept("TEMPORARY");
        self.expect_any(&["TABLE", "TABLES"])?;
        let if_exists = self.accept_if_exists()?;
        let tables = self.list(Self::object_name)?;
        self.accept_any(&["RESTRICT", "CASCADE"]);
        Ok(Statement::DropTable { temporary, if_exists, tables })
    }

    /// At RENAME.
    pub fn rename_table(&mut self) -> Parse<Statement> {
        self.expect("RENAME")?;
        self.expect_any(&["TABLE", "TABLES"])?;
        let pairs = self.list(|parser| {
            let source = parser.object_name()?;
            parser.expect("TO")?;
            Ok((source, parser.object_name()?))
        })?;
        Ok(Statement::RenameTable(pairs))
    }

    // -----------------------------------------------------------------------------------------------------------
    // Indexes

    /// Behind CREATE.
    pub fn create_index(&mut self) -> Parse<Statement> {
        let kind = match self.word() {
            "UNIQUE" => IndexKind::Unique,
            "FULLTEXT" => IndexKind::Fulltext,
            "SPATIAL" => IndexKind::Spatial,
            _ => IndexKind::Plain,
        };
        if kind != IndexKind::Plain {
            self.advance();
        }
        self.expect("INDEX")?;
        let name = self.name()?;
        let mut algorithm = None;
        if self.accept_any(&["USING", "TYPE"]) {
            algorithm = Some(self.index_algorithm()?);
        }
        self.expect("ON")?;
        let table = self.object_name()?;
        let index = Box::new(self.index_rest(kind, Some(name), algorithm)?);
        self.online_options()?;
        Ok(Statement::CreateIndex { table, index })
    }

    /// Behind DROP.
    pub fn drop_index(&mut self) -> Parse<Statement> {
        self.expect("INDEX")?;
        let name = if self.accept("PRIMARY") { "PRIMARY".to_string() } else { self.name()? };
        self.expect("ON")?;
        let table = self.object_name()?;
        self.online_options()?;
        Ok(Statement::DropIndex { name, table })
    }

    /// ALGORITHM = x and LOCK = x: hints, read over.
    fn online_options(&mut self) -> Parse<()> {
        while self.at("ALGORITHM") || self.at("LOCK") {
            self.online_option()?;
            self.accept_kind(TokenKind::Comma);
        }
        Ok(())
    }

    /// At ALGORITHM or LOCK: `ALGORITHM [=] word`. 1800 and 1801 for words that are none.
    pub fn online_option(&mut self) -> Parse<String> {
        let (known, kind): (&[&str], _) = if self.at("ALGORITHM") {
            (&["DEFAULT", "COPY", "INPLACE", "INSTANT"], ParseErrorKind::UnknownAlgorithm)
        } else {
            (&["DEFAULT", "EXCLUSIVE", "NONE", "SHARED"], ParseErrorKind::UnknownLock)
        };
        self.advance();
        self.accept_kind(TokenKind::Equal);
        let word = self.word().to_string();
        if word != "DEFAULT" && !self.at_name() {
            return self.syntax_error();
        }
        if known.contains(&word.as_str()) {
            self.advance();
            return Ok(word);
        }
        let mut error = self.error(kind);
        error.near = self.name()?;
        Err(error)
    }
}

impl Parser<'_> {
    /// Whether a word is an option that needs no equals sign to be known.
    fn token_names_table_option(&self, token: super::lexer::Token) -> bool {
        const NAMES: &[&str] = &[
            "AUTOEXTEND_SIZE",
            "AUTO_INCREMENT",
            "AVG_ROW_LENGTH",
            "CHARSET",
            "CHECKSUM",
            "COLLATE",
            "COMMENT",
            "COMPRESSION",
            "CONNECTION",
            "DELAY_KEY_WRITE",
            "ENCRYPTION",
            "ENGINE",
            "ENGINE_ATTRIBUTE",
            "INSERT_METHOD",
            "KEY_BLOCK_SIZE",
            "MAX_ROWS",
            "MIN_ROWS",
            "NODEGROUP",
            "PACK_KEYS",
            "PASSWORD",
            "ROW_FORMAT",
            "SECONDARY_ENGINE",
            "SECONDARY_ENGINE_ATTRIBUTE",
            "STATS_AUTO_RECALC",
            "STATS_PERSISTENT",
            "STATS_SAMPLE_PAGES",
            "STORAGE",
            "TABLESPACE",
            "TYPE",
            "UNION",
        ];
        NAMES.iter().any(|name| self.token_is(token, name))
    }
}
