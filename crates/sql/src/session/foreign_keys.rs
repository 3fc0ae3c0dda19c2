//! Definitions of foreign keys: with their tables, and of tables that are there.
//!
//! A transaction that changes a parent must know its children before there are any. So a table with parents is created under a
//! hidden name, which returns when every node knows the parents' new children, and gets its own name then. A foreign key of a table
//! that is there holds for all changes first. Then a query reads the rows that no change has checked; a row without a parent takes
//! the key back.

use std::sync::Arc;

use client::SchemaChange;
use types::{Catalogue, ForeignKey, Table};

use super::Session;
use crate::bind::foreign_key::KeyContext;
use crate::error::{SqlError, code};
use crate::execute::Failure;
use crate::execute::write::{leading_index, referenced_index};
use crate::parser::ast;
use crate::server::BrokenRule;
use crate::show::create::quoted;

impl Session {
    pub(super) fn key_context<'c>(&self, catalogue: &'c Catalogue) -> KeyContext<'c> {
        KeyContext { catalogue, checks: self.settings.foreign_key_checks }
    }

    /// Creates a table.
    pub(super) async fn create_with_parents(&mut self, mut table: Table) -> Result<(), Failure> {
        let is_other = |key: &ForeignKey| {
            key.parent_table != table.name
                || !key.parent_database.eq_ignore_ascii_case(&table.database)
        };
        if !table.constraints.foreign_keys.iter().any(is_other) {
            return self.change(SchemaChange::CreateTable(Box::new(table))).await;
        }
        let name = table.name.clone();
        let database = table.database.clone();
        table.name = self.unfinished_name();
        let hidden = table.name.clone();
        self.change(SchemaChange::CreateTable(Box::new(table))).await?;
        let created = self.catalogue().table(&database, &hidden).map(|table| table.id);
        // Gone already: its database was dropped.
        let id = created.ok_or_else(|| SqlError::unknown_database(&database))?;
        let named = self.change(SchemaChange::RenameTable { id, database, name }).await;
        if named.is_err() {
            let mut definitions = self.client.client().session();
            // Refused only when it is gone already, with its database.
            let _ = definitions.change_schema(SchemaChange::DropTable { id }).await;
        }
        named
    }

    /// ALTER TABLE ... ADD FOREIGN KEY.
    pub(super) async fn add_foreign_key(
        &mut self,
        table: &Table,
        written: &ast::ForeignKey,
    ) -> Result<(), Failure> {
        let current = self.newest_of(table)?;
        let catalogue = self.catalogue();
        let (key, index) = self.key_context(&catalogue).definition(&current, written)?;
        let index_name = index.as_ref().map(|index| index.name.clone());
        let replaced = match index {
            Some(index) => self.add_generated_index(&current, index).await?,
            None => Vec::new(),
        };
        let added = key.clone();
        self.alter_definition(table.id, &mut |table| {
            table.constraints.foreign_keys.push(added.clone());
            Ok(())
        })
        .await?;
        let is_unchecked = self.server.config().broken_rule == Some(BrokenRule::RowsUnchecked);
        let checked = match self.settings.foreign_key_checks && !is_unchecked {
            true => self.check_rows(table, &key).await,
            false => Ok(()),
        };
        if checked.is_ok() {
            for index in &replaced {
                let current = self.newest_of(table)?;
                self.drop_index_of(&current, index).await?;
            }
        } else {
            self.revert_definition(table.id, &mut |table| {
                table.constraints.foreign_keys.retain(|own| own.name != key.name);
                Ok(())
            })
            .await;
            let current = self.newest_of(table)?;
            if let Some(index) = index_name.and_then(|name| current.index_named(&name)) {
                self.drop_index_of(&current, index).await?;
            }
        }
        checked
    }

    /// ALTER TABLE ... DROP FOREIGN KEY.
    pub(super) async fn drop_foreign_key(
        &mut self,
        table: &Table,
        name: &str,
    ) -> Result<(), Failure> {
        self.alter_definition(table.id, &mut |table| drop_key(table, name)).await
    }

    fn newest_of(&self, table: &Table) -> Result<Arc<Table>, SqlError> {
        let catalogue = self.catalogue();
        let newest = catalogue.table_by_id(table.id).cloned();
        newest.ok_or_else(|| SqlError::no_such_table(&table.database, &table.name))
    }

    /// 1452 if a row has no parent.
    async fn check_rows(&mut self, table: &Table, key: &ForeignKey) -> Result<(), Failure> {
        let collation = self.environment.collation;
        if !self.committed_rows(&orphans_text(table, key), collation).await?.is_empty() {
            return Err(SqlError::no_parent(table, key).into());
        }
        Ok(())
    }

    /// 1553 for an index that a foreign key needs, of the table or of its children.
    pub(super) fn check_dropped_index(
        &self,
        before: &Table,
        after: &Table,
    ) -> Result<(), SqlError> {
        for key in &before.constraints.foreign_keys {
            if let Some(index) = leading_index(before, &key.columns)
                && leading_index(after, &key.columns).is_none()
            {
                return Err(needed(&before.indexes[index].name));
            }
        }
        check_referenced_index(before, after)
    }

    /// 1701 for a table that others reference.
    pub(super) fn check_truncated(&self, table: &Table) -> Result<(), SqlError> {
        let references = &table.constraints.referenced_by;
        let other = references.iter().find(|reference| reference.child != table.id);
        let Some(other) = other.filter(|_| self.settings.foreign_key_checks) else {
            return Ok(());
        };
        let catalogue = self.catalogue();
        let Some(child) = catalogue.table_by_id(other.child) else { return Ok(()) };
        Err(SqlError::new(
            code::ER_TRUNCATE_ILLEGAL_FK,
            format!(
                "Cannot truncate a table referenced in a foreign key constraint (`{}`.`{}`, CONSTRAINT `{}`)",
                child.database, child.name, other.key.name
            ),
        ))
    }

    /// 3730 for tables that others reference, which are not dropped with them.
    pub(super) fn check_dropped(&self, tables: &[&Table]) -> Result<(), SqlError> {
        if !self.settings.foreign_key_checks {
            return Ok(());
        }
        let catalogue = self.catalogue();
        for table in tables {
            let is_left = |id| tables.iter().all(|dropped| dropped.id != id);
            let references = &table.constraints.referenced_by;
            let Some(other) = references.iter().find(|reference| is_left(reference.child)) else {
                continue;
            };
            let child = catalogue.table_by_id(other.child).map_or("", |child| &child.name);
            return Err(SqlError::new(
                code::ER_FK_CANNOT_DROP_PARENT,
                format!(
                    "Cannot drop table '{}' referenced by a foreign key constraint '{}' on table '{child}'.",
                    table.name, other.key.name
                ),
            ));
        }
        Ok(())
    }
}

/// Takes a foreign key out of a definition; 1091 if it is not there.
pub(super) fn drop_key(table: &mut Table, name: &str) -> Result<(), SqlError> {
    let keys = &mut table.constraints.foreign_keys;
    let count = keys.len();
    keys.retain(|key| !key.name.eq_ignore_ascii_case(name));
    match keys.len() < count {
        true => Ok(()),
        false => Err(SqlError::new(
            code::ER_CANT_DROP_FIELD_OR_KEY,
            format!("Can't DROP '{name}'; check that column/key exists"),
        )),
    }
}

/// 1553 for an index that the keys of children need.
pub(super) fn check_referenced_index(before: &Table, after: &Table) -> Result<(), SqlError> {
    for reference in &before.constraints.referenced_by {
        let columns = &reference.key.parent_columns;
        if let Some(index) = referenced_index(before, columns)
            && referenced_index(after, columns).is_none()
        {
            return Err(needed(&index.name));
        }
    }
    Ok(())
}

/// The query that finds a row without a parent.
pub(super) fn orphans_text(table: &Table, key: &ForeignKey) -> String {
    let column = |position: &u16| quoted(&table.columns[usize::from(*position)].name);
    let pairs = key.columns.iter().map(column).zip(key.parent_columns.iter().map(|c| quoted(c)));
    let equal: Vec<String> =
        pairs.map(|(own, referenced)| format!("c.{own} = p.{referenced}")).collect();
    let known: Vec<String> =
        key.columns.iter().map(|own| format!("c.{} IS NOT NULL", column(own))).collect();
    format!(
        "SELECT 1 FROM {}.{} c LEFT JOIN {}.{} p ON {} WHERE {} AND p.{} IS NULL LIMIT 1",
        quoted(&table.database),
        quoted(&table.name),
        quoted(&key.parent_database),
        quoted(&key.parent_table),
        equal.join(" AND "),
        known.join(" AND "),
        quoted(&key.parent_columns[0]),
    )
}

pub(super) fn needed(index: &str) -> SqlError {
    SqlError::new(
        code::ER_DROP_INDEX_FK,
        format!("Cannot drop index '{index}': needed in a foreign key constraint"),
    )
}
