//! INSERT, REPLACE, UPDATE, DELETE, TRUNCATE.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::lexer::TokenKind;

impl Parser<'_> {
    /// INSERT or REPLACE.
    pub fn insert(&mut self) -> Parse<Statement> {
        let mut insert = self.insert_head()?;
        while self.insert_rows(&mut insert, usize::MAX)? {}
        self.insert_tail(insert)
    }

    /// INSERT up to what it inserts: to before the first row, or behind the query.
    pub fn insert_head(&mut self) -> Parse<Insert> {
        let replace = self.accept("REPLACE");
        if !replace {
            self.expect("INSERT")?;
        }
        self.accept_any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"]);
        let ignore = !replace && self.accept("IGNORE");
        self.accept("INTO");
        let table = self.object_name()?;
        let partitions = self.partitions()?;
        let mut columns = Vec::new();
        if self.at_kind(TokenKind::LeftParen) && !self.is_query_in_parens() {
            self.advance();
            if !self.at_kind(TokenKind::RightParen) {
                columns = self.list(Self::column_name)?;
            }
            self.expect_kind(TokenKind::RightParen)?;
        }
        let source = self.insert_source(&mut columns)?;
        Ok(Insert {
            replace,
            ignore,
            table,
            partitions,
            columns,
            source,
            row_alias: None,
            on_duplicate: Vec::new(),
        })
    }

    /// Rows of VALUES, until so many bytes of text are behind. False when there are no more.
    pub fn insert_rows(&mut self, insert: &mut Insert, byte_count: usize) -> Parse<bool> {
        let InsertSource::Values(rows) = &mut insert.source else { return Ok(false) };
        self.allow_many_expressions();
        let end = self.token_start().saturating_add(byte_count);
        loop {
            // SET has given the only row.
            let is_next = match rows.is_empty() {
                true => true,
                false => self.accept_kind(TokenKind::Comma),
            };
            if !is_next {
                return Ok(false);
            }
            rows.push(self.insert_row()?);
            if end <= self.token_start() {
                return Ok(true);
            }
        }
    }

    /// What follows the rows or the query of INSERT.
    pub fn insert_tail(&mut self, mut insert: Insert) -> Parse<Statement> {
        let may_have_alias = !insert.replace && matches!(insert.source, InsertSource::Values(_));
        if may_have_alias && self.accept("AS") {
            let name = self.name()?;
            insert.row_alias = Some(RowAlias { name, columns: self.optional_names()? });
        }
        if !insert.replace && self.accept("ON") {
            self.expect("DUPLICATE")?;
            self.expect("KEY")?;
            self.expect("UPDATE")?;
            insert.on_duplicate = self.assignments()?;
        }
        Ok(Statement::Insert(Box::new(insert)))
    }

    fn insert_source(&mut self, columns: &mut Vec<ColumnName>) -> Parse<InsertSource> {
        if columns.is_empty() && self.accept("SET") {
            let mut values = Vec::new();
            for assignment in self.assignments()? {
                columns.push(assignment.column);
                values.push(assignment.value);
            }
            return Ok(InsertSource::Values(vec![values]));
        }
        let is_values = self.at("VALUE") || self.at("VALUES") && !self.next_is("ROW");
        if is_values {
            self.advance();
            return Ok(InsertSource::Values(Vec::new()));
        }
        Ok(InsertSource::Query(Box::new(self.query()?)))
    }

    fn insert_row(&mut self) -> Parse<Vec<Expr>> {
        self.expect_kind(TokenKind::LeftParen)?;
        if self.accept_kind(TokenKind::RightParen) {
            return Ok(Vec::new());
        }
        let row = self.with_slot(true, |parser| parser.list(Self::expression))?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(row)
    }

    /// `column = value, ...`.
    pub fn assignments(&mut self) -> Parse<Vec<Assignment>> {
        self.list(|parser| {
            let column = parser.column_name()?;
            if !parser.accept_kind(TokenKind::Assign) {
                parser.expect_kind(TokenKind::Equal)?;
            }
            let value = parser.with_slot(true, Self::expression)?;
            Ok(Assignment { column, value })
        })
    }

    pub fn update(&mut self, with: Option<With>) -> Parse<Statement> {
        self.expect("UPDATE")?;
        self.accept("LOW_PRIORITY");
        let ignore = self.accept("IGNORE");
        let tables = self.table_references()?;
        self.expect("SET")?;
        let assignments = self.assignments()?;
        let filter = self.filter()?;
        let order_by = self.order_by()?;
        let limit = self.row_limit()?;
        Ok(Statement::Update(Box::new(Update {
            ignore,
            tables,
            assignments,
            filter,
            order_by,
            limit,
            with,
        })))
    }

    pub fn delete(&mut self, with: Option<With>) -> Parse<Statement> {
        self.expect("DELETE")?;
        let mut ignore = false;
        loop {
            match self.word() {
                "LOW_PRIORITY" | "QUICK" if self.next_is_delete_word() => {}
                "IGNORE" => ignore = true,
                _ => break,
            }
            self.advance();
        }
        let mut targets = Vec::new();
        let tables;
        if self.accept("FROM") {
            let first = self.delete_target()?;
            if self.at("USING") || self.at_kind(TokenKind::Comma) {
                targets.push(first);
                while self.accept_kind(TokenKind::Comma) {
                    targets.push(self.delete_target()?);
                }
                self.expect("USING")?;
                tables = self.table_references()?;
            } else {
                let alias = self.table_alias()?;
                let partitions = self.partitions()?;
                let factor =
                    TableFactor::Table { name: first, alias, partitions, hints: Vec::new() };
                tables = vec![TableReference { first: factor, joins: Vec::new() }];
            }
        } else {
            targets = self.list(Self::delete_target)?;
            self.expect("FROM")?;
            tables = self.table_references()?;
        }
        let filter = self.filter()?;
        // The multi-table forms have no order and no limit.
        let is_single = targets.is_empty();
        let order_by = if is_single { self.order_by()? } else { Vec::new() };
        let limit = if is_single { self.row_limit()? } else { None };
        Ok(Statement::Delete(Box::new(Delete {
            ignore,
            targets,
            tables,
            filter,
            order_by,
            limit,
            with,
        })))
    }

    /// QUICK is no reserved word: `DELETE quick FROM ...` could name a table.
    fn next_is_delete_word(&self) -> bool {
        ["FROM", "QUICK", "IGNORE", "LOW_PRIORITY"].iter().any(|word| self.next_is(word))
            || matches!(self.peek().kind, TokenKind::Word | TokenKind::QuotedName)
    }

    /// `t`, `s.t`, `t.*`, `s.t.*`.
    fn delete_target(&mut self) -> Parse<ObjectName> {
        let first = self.name()?;
        if !self.accept_kind(TokenKind::Dot) {
            return Ok(ObjectName::new(None, first));
        }
        if self.accept_kind(TokenKind::Star) {
            return Ok(ObjectName::new(None, first));
        }
        let name = self.name_after_dot()?;
        if self.accept_kind(TokenKind::Dot) {
            self.expect_kind(TokenKind::Star)?;
        }
        Ok(ObjectName::new(Some(first), name))
    }

    pub fn truncate(&mut self) -> Parse<Statement> {
        self.expect("TRUNCATE")?;
        self.accept("TABLE");
        Ok(Statement::Truncate { table: self.object_name()? })
    }
}
