//! ALTER TABLE.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::definition::TableElement;
use super::lexer::TokenKind;

impl Parser<'_> {
    /// At TABLE, behind ALTER.
    pub fn alter_table(&mut self) -> Parse<Statement> {
        self.accept_any(&["ONLINE", "OFFLINE", "IGNORE"]);
        self.expect("TABLE")?;
        let mut alter = AlterTable {
            table: self.object_name()?,
            operations: Vec::new(),
            algorithm: None,
            lock: None,
        };
        if !self.at_end() {
            self.list(|parser| parser.alter_item(&mut alter))?;
        }
        // Partitioning stands behind the operations without a comma.
        if self.accept_two("PARTITION", "BY") {
            alter.operations.push(AlterOperation::Partition(self.partitioning()?));
        }
        Ok(Statement::AlterTable(Box::new(alter)))
    }

    /// One item of the list: an operation, or ALGORITHM, LOCK, VALIDATION.
    fn alter_item(&mut self, alter: &mut AlterTable) -> Parse<()> {
        match self.word() {
            "ALGORITHM" => alter.algorithm = Some(self.online_option()?),
            "LOCK" => alter.lock = Some(self.online_option()?),
            "WITH" | "WITHOUT" => {
                self.advance();
                self.expect("VALIDATION")?;
            }
            "ADD" => self.alter_add(&mut alter.operations)?,
            "PARTITION" if self.next_is("BY") => {}
            _ => {
                let operation = self.alter_operation()?;
                alter.operations.push(operation);
            }
        }
        Ok(())
    }

    fn alter_add(&mut self, operations: &mut Vec<AlterOperation>) -> Parse<()> {
        self.expect("ADD")?;
        if self.at("PARTITION") && self.peek().kind != TokenKind::Word {
            operations.push(self.alter_unsupported("ADD PARTITION")?);
            return Ok(());
        }
        let element = if self.at("COLUMN") { None } else { self.table_element()? };
        let operation = match element {
            Some(TableElement::Index(index)) => AlterOperation::AddIndex(Box::new(index)),
            Some(TableElement::ForeignKey(key)) => AlterOperation::AddForeignKey(Box::new(key)),
            Some(TableElement::Check(check)) => AlterOperation::AddCheck(Box::new(check)),
            None => {
                self.accept("COLUMN");
                if self.at_kind(TokenKind::LeftParen) {
                    let columns = self.paren_list(|parser| {
                        let name = parser.name()?;
                        parser.column_definition(name)
                    })?;
                    operations.extend(columns.into_iter().map(|column| {
                        AlterOperation::AddColumn {
                            column: Box::new(column),
                            position: ColumnPosition::Last,
                        }
                    }));
                    return Ok(());
                }
                let name = self.name()?;
                let column = Box::new(self.column_definition(name)?);
                AlterOperation::AddColumn { column, position: self.column_position()? }
            }
        };
        operations.push(operation);
        Ok(())
    }

    /// FIRST or AFTER column, if it is there.
    fn column_position(&mut self) -> Parse<ColumnPosition> {
        if self.accept("FIRST") {
            return Ok(ColumnPosition::First);
        }
        if self.accept("AFTER") {
            return Ok(ColumnPosition::After(self.name()?));
        }
        Ok(ColumnPosition::Last)
    }

    fn alter_operation(&mut self) -> Parse<AlterOperation> {
        match self.word() {
            "DROP" => self.alter_drop(),
            "MODIFY" => {
                self.advance();
                self.accept("COLUMN");
                let name = self.name()?;
                let column = Box::new(self.column_definition(name)?);
                Ok(AlterOperation::ModifyColumn { column, position: self.column_position()? })
            }
            "CHANGE" => {
                self.advance();
                self.accept("COLUMN");
                let old_name = self.name()?;
                let name = self.name()?;
                let column = Box::new(self.column_definition(name)?);
                let position = self.column_position()?;
                Ok(AlterOperation::ChangeColumn { old_name, column, position })
            }
            "ALTER" => self.alter_column(),
            "RENAME" => self.alter_rename(),
            "CONVERT" => {
                self.advance();
                self.expect("TO")?;
                if !self.accept("CHARSET") {
                    self.expect("CHARACTER")?;
                    self.expect("SET")?;
                }
                let charset =
                    if self.accept("DEFAULT") { None } else { Some(self.charset_name()?) };
                let mut collation = None;
                if self.accept("COLLATE") {
                    self.accept_kind(TokenKind::Equal);
                    collation = Some(self.charset_name()?);
                }
                Ok(AlterOperation::ConvertCharset { charset, collation })
            }
            "DISABLE" => {
                self.advance();
                self.expect("KEYS")?;
                Ok(AlterOperation::DisableKeys)
            }
            "ENABLE" => {
                self.advance();
                self.expect("KEYS")?;
                Ok(AlterOperation::EnableKeys)
            }
            "FORCE" => {
                self.advance();
                Ok(AlterOperation::Force)
            }
            "ORDER" => Ok(AlterOperation::OrderBy(self.order_by()?)),
            "REORGANIZE" | "REBUILD" | "COALESCE" | "TRUNCATE" | "EXCHANGE" | "ANALYZE"
            | "CHECK" | "OPTIMIZE" | "REPAIR" | "REMOVE"
                if self.next_is("PARTITION") || self.next_is("PARTITIONING") =>
            {
                let feature = format!("{} PARTITION", self.word());
                self.alter_unsupported(&feature)
            }
            "DISCARD" | "IMPORT" => {
                let feature = format!("{} TABLESPACE", self.word());
                self.alter_unsupported(&feature)
            }
            "SECONDARY_LOAD" | "SECONDARY_UNLOAD" => self.alter_unsupported("SECONDARY_LOAD"),
            _ => {
                let start = self.token_start();
                let mut options = TableOptions::default();
                self.table_options(&mut options)?;
                if self.token_start() == start {
                    return self.syntax_error();
                }
                Ok(AlterOperation::Options(Box::new(options)))
            }
        }
    }

    /// Recognised; reads over the rest of the statement.
    fn alter_unsupported(&mut self, feature: &str) -> Parse<AlterOperation> {
        self.skip_statement()?;
        Ok(AlterOperation::Unsupported { feature: format!("ALTER TABLE ... {feature}") })
    }

    fn alter_drop(&mut self) -> Parse<AlterOperation> {
        self.expect("DROP")?;
        let operation = match self.word() {
            "PRIMARY" => {
                self.advance();
                self.expect("KEY")?;
                AlterOperation::DropPrimaryKey
            }
            "INDEX" | "KEY" => {
                self.advance();
                let is_primary = self.accept("PRIMARY");
                let name = if is_primary { "PRIMARY".to_string() } else { self.name()? };
                AlterOperation::DropIndex(name)
            }
            "FOREIGN" => {
                self.advance();
                self.expect("KEY")?;
                AlterOperation::DropForeignKey(self.name()?)
            }
            "CHECK" => {
                self.advance();
                AlterOperation::DropCheck(self.name()?)
            }
            "CONSTRAINT" => {
                self.advance();
                AlterOperation::DropConstraint(self.name()?)
            }
            "PARTITION" => return self.alter_unsupported("DROP PARTITION"),
            _ => {
                self.accept("COLUMN");
                let name = self.name()?;
                self.accept_any(&["RESTRICT", "CASCADE"]);
                AlterOperation::DropColumn(name)
            }
        };
        Ok(operation)
    }

    /// ALTER COLUMN, ALTER INDEX, ALTER CHECK.
    fn alter_column(&mut self) -> Parse<AlterOperation> {
        self.expect("ALTER")?;
        if self.at("CHECK") || self.at("CONSTRAINT") {
            return self.alter_check();
        }
        if self.accept("INDEX") {
            self.name()?;
            if !self.accept_any(&["VISIBLE", "INVISIBLE"]) {
                return self.syntax_error();
            }
            let feature = "ALTER TABLE ... ALTER INDEX".to_string();
            return Ok(AlterOperation::Unsupported { feature });
        }
        self.accept("COLUMN");
        let column = self.name()?;
        if self.accept("DROP") {
            self.expect("DEFAULT")?;
            return Ok(AlterOperation::SetDefault { column, default: None });
        }
        self.expect("SET")?;
        if self.accept_any(&["VISIBLE", "INVISIBLE"]) {
            let feature = "ALTER TABLE ... ALTER COLUMN SET VISIBLE".to_string();
            return Ok(AlterOperation::Unsupported { feature });
        }
        self.expect("DEFAULT")?;
        let default = Some(self.default_value()?);
        Ok(AlterOperation::SetDefault { column, default })
    }

    /// At CHECK or CONSTRAINT: `name [NOT] ENFORCED`.
    fn alter_check(&mut self) -> Parse<AlterOperation> {
        let is_any = self.at("CONSTRAINT");
        self.advance();
        let name = self.name()?;
        let enforced = !self.accept("NOT");
        self.expect("ENFORCED")?;
        Ok(AlterOperation::EnforceCheck { name, enforced, is_any })
    }

    fn alter_rename(&mut self) -> Parse<AlterOperation> {
        self.expect("RENAME")?;
        let is_column = self.at("COLUMN");
        if is_column || self.at("INDEX") || self.at("KEY") {
            self.advance();
            let old_name = self.name()?;
            self.expect("TO")?;
            let new_name = self.name()?;
            return Ok(if is_column {
                AlterOperation::RenameColumn { old_name, new_name }
            } else {
                AlterOperation::RenameIndex { old_name, new_name }
            });
        }
        if !self.accept_any(&["TO", "AS"]) {
            self.accept_kind(TokenKind::Equal);
        }
        Ok(AlterOperation::RenameTable(self.object_name()?))
    }
}
