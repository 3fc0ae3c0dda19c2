//! LOCK TABLES and UNLOCK TABLES.
//!
//! As in NDB, they bind the session that executes them: it may name no other tables until it unlocks them, and write those that it
//! locked to write. Dumps lock each table that they fill; nothing else of a dump depends on it. Other sessions are not kept
//! out, and a warning reports that: a lock of a whole table over all nodes would block transactions that row locks let run
//! side by side.

use types::convert::WarningLevel;

use super::Session;
use crate::bind::find_table;
use crate::bind::view::find_view;
use crate::error::{SqlError, code};
use crate::execute::Failure;
use crate::information_schema::is_schema;
use crate::parser::ast;

/// A table as statements may name it.
pub struct LockedTable {
    database: String,
    /// Its alias, if it has one.
    name: String,
    writes: bool,
}

impl Session {
    pub(super) async fn lock_tables(&mut self, tables: &[ast::LockTable]) -> Result<(), Failure> {
        self.commit_transaction().await?;
        self.locked_tables.clear();
        let catalogue = self.catalogue();
        let current = self.environment.database.clone();
        let mut locked: Vec<LockedTable> = Vec::new();
        for ast::LockTable { table, alias, write } in tables {
            let database = match find_view(&catalogue, current.as_deref(), table) {
                Some(view) => view.database.clone(),
                None => find_table(&catalogue, current.as_deref(), table)?.database.clone(),
            };
            let name = alias.as_ref().unwrap_or(&table.name).clone();
            if locked.iter().any(|own| own.database == database && own.name == name) {
                return Err(SqlError::not_unique_table(&name).into());
            }
            locked.push(LockedTable { database, name, writes: *write });
        }
        self.locked_tables = locked;
        let message = "LOCK TABLES holds this session to the tables that it names; it does not keep other sessions \
                       from them: use a transaction, or SELECT ... FOR UPDATE";
        self.note(WarningLevel::Note, SqlError::new(code::ER_UNKNOWN_ERROR, message));
        Ok(())
    }

    pub(super) async fn unlock_tables(&mut self) -> Result<(), Failure> {
        if !self.locked_tables.is_empty() {
            self.commit_transaction().await?;
            self.locked_tables.clear();
        }
        Ok(())
    }

    /// 1100 for a table that LOCK TABLES does not name, 1099 for a change of one that it locks to read.
    pub(super) fn check_locked(
        &self,
        database: &str,
        name: &str,
        writes: bool,
    ) -> Result<(), SqlError> {
        if self.locked_tables.is_empty() || is_schema(database) {
            return Ok(());
        }
        let mut tables = self.locked_tables.iter();
        let is_it =
            |own: &&LockedTable| own.name == name && own.database.eq_ignore_ascii_case(database);
        match tables.find(is_it) {
            None => Err(SqlError::new(
                code::ER_TABLE_NOT_LOCKED,
                format!("Table '{name}' was not locked with LOCK TABLES"),
            )),
            Some(own) if writes && !own.writes => Err(SqlError::new(
                code::ER_TABLE_NOT_LOCKED_FOR_WRITE,
                format!("Table '{name}' was locked with a READ lock and can't be updated"),
            )),
            Some(_) => Ok(()),
        }
    }
}
