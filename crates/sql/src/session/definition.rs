//! Changes of a table's definition, which another change may overtake.

use client::SchemaChange;
use types::{Table, TableId};

use super::Session;
use crate::error::{SqlError, code};
use crate::execute::Failure;

/// How often a change is tried when another one comes between, and the milliseconds between two tries.
const CHANGE_COUNT_MAX: u32 = 100;
const CHANGE_WAIT_MS: u64 = 5;

/// Changes the definition that a table has now; an error if that one does not admit the change.
pub(super) type Alteration<'f> = &'f mut dyn FnMut(&mut Table) -> Result<(), SqlError>;

impl Session {
    /// Gives the table another definition, on every node.
    pub(super) async fn alter_definition(
        &mut self,
        table: TableId,
        alter: Alteration<'_>,
    ) -> Result<(), Failure> {
        let mut tries = 0;
        loop {
            let change = self.altered(table, alter)?;
            match self.change(change).await {
                Err(failure)
                    if failure.error.code == code::ER_TABLE_DEF_CHANGED
                        && tries < CHANGE_COUNT_MAX =>
                {
                    tries += 1;
                    self.client.client().sleep_ms(CHANGE_WAIT_MS).await;
                }
                result => return result,
            }
        }
    }

    /// The same to take a change back after a later part of the statement has failed: KILL does not reach it. A table whose
    /// definition does not admit it stays as it is.
    pub(super) async fn revert_definition(&mut self, table: TableId, alter: Alteration<'_>) {
        let mut definitions = self.client.client().session();
        for _ in 0..CHANGE_COUNT_MAX {
            let Ok(change) = self.altered(table, alter) else { return };
            if definitions.change_schema(change).await.is_ok() {
                return;
            }
            self.client.client().sleep_ms(CHANGE_WAIT_MS).await;
        }
    }

    fn altered(&self, table: TableId, alter: Alteration<'_>) -> Result<SchemaChange, SqlError> {
        let catalogue = self.catalogue();
        let current = catalogue.table_by_id(table).ok_or_else(SqlError::definition_changed)?;
        let mut definition = (**current).clone();
        alter(&mut definition)?;
        Ok(SchemaChange::AlterTable { table: Box::new(definition), version: current.version })
    }
}
