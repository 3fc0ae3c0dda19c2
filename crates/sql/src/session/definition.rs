//! Changes of a table's definition, which another change may overtake, and the queries that check rows for them.

use std::sync::Arc;

use client::SchemaChange;
use types::{Catalogue, Collation, Incarnation, SqlMode, Table, TableId, Value, ValueRef};

use super::Session;
use super::guard::run_until;
use crate::bind::table::unfinished_name;
use crate::bind::{Binder, Environment};
use crate::error::{SqlError, code};
use crate::execute::Failure;
use crate::parser::parse_one;
use crate::result::{ColumnInfo, OkInfo, ResultSink};

/// How often a change is tried when another one comes between, and the milliseconds between two tries.
const CHANGE_COUNT_MAX: u32 = 100;
const CHANGE_WAIT_MS: u64 = 5;
/// How long a change that is taken back waits for its adoption.
const ADOPTION_WAIT_MS: u64 = 500;

/// Changes the definition that a table has now; an error if that one does not admit the change.
pub(super) type Alteration<'f> = &'f mut dyn FnMut(&mut Table) -> Result<(), SqlError>;

impl Session {
    /// The boot of the session's node, with which unfinished definitions of the session end.
    pub(super) fn boot(&self) -> Incarnation {
        let client = self.client.client();
        client.state().incarnations.get(&client.node()).copied().unwrap_or_default()
    }

    /// The name of a table that the session fills.
    pub(super) fn unfinished_name(&self) -> String {
        // A session runs one statement at a time.
        let id = self.info.id.to_string();
        unfinished_name(self.client.client().node(), self.boot(), &id)
    }

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

    /// The same to take a change back after a later part of the statement has failed: KILL does not reach it. It does not wait for
    /// transactions that use an older definition. A table whose definition does not admit it stays as it is.
    pub(super) async fn revert_definition(&mut self, table: TableId, alter: Alteration<'_>) {
        let mut definitions = self.client.client().session();
        for _ in 0..CHANGE_COUNT_MAX {
            let Ok(change) = self.altered(table, alter) else { return };
            if self.change_soon(&mut definitions, change).await.is_ok() {
                return;
            }
            self.client.client().sleep_ms(CHANGE_WAIT_MS).await;
        }
    }

    /// Makes a change; done when it is in the control plane's log, or some time later when every node has adopted it.
    async fn change_soon(
        &self,
        definitions: &mut client::Session,
        change: SchemaChange,
    ) -> Result<(), client::Refusal> {
        let canceller = definitions.canceller();
        let change = definitions.change_schema(change);
        let client = self.client.client();
        let (changed, _) = run_until(client, ADOPTION_WAIT_MS, change, || canceller.cancel()).await;
        changed.map(|_| ())
    }

    fn altered(&self, table: TableId, alter: Alteration<'_>) -> Result<SchemaChange, SqlError> {
        let catalogue = self.catalogue();
        let current = catalogue.table_by_id(table).ok_or_else(SqlError::definition_changed)?;
        let mut definition = (**current).clone();
        alter(&mut definition)?;
        Ok(SchemaChange::AlterTable { table: Box::new(definition), version: current.version })
    }

    /// The rows of a query, as they are committed now, in the default sql_mode. Write LIMIT: sql_select_limit holds where there is
    /// none.
    pub(super) async fn committed_rows(
        &mut self,
        text: &str,
        collation: Collation,
    ) -> Result<Vec<Vec<Value>>, Failure> {
        let mut tries = 0;
        loop {
            // Its names are those of tables that all sessions see.
            let catalogue = self.client.client().catalogue();
            match self.committed_rows_of(&catalogue, text, collation).await {
                Err(failure) if failure.replan => {
                    tries = self.after_replan(tries, catalogue.version, &failure.error).await?;
                }
                result => return result,
            }
        }
    }

    /// The same by this catalogue.
    pub(super) async fn committed_rows_of(
        &mut self,
        catalogue: &Arc<Catalogue>,
        text: &str,
        collation: Collation,
    ) -> Result<Vec<Vec<Value>>, Failure> {
        let (statement, _) =
            parse_one(text.as_bytes(), SqlMode::default()).map_err(SqlError::from)?;
        let sql_mode = SqlMode::default();
        let environment = Environment { sql_mode, collation, ..(*self.environment).clone() };
        let plan = Binder::new(catalogue, &environment, &*self, &[]).plan(&statement)?;
        self.client.next_statement();
        let mut collected = Collected::default();
        let makes_room = self.client.set_background(true);
        let (result, _) = self.run_inside(&plan, Vec::new(), true, &mut collected).await;
        self.client.set_background(makes_room);
        match result {
            Ok(_) => {
                self.commit_transaction().await?;
                Ok(collected.rows)
            }
            Err(failure) => {
                self.rollback_transaction().await;
                Err(failure)
            }
        }
    }
}

#[derive(Default)]
struct Collected {
    rows: Vec<Vec<Value>>,
}

impl ResultSink for Collected {
    fn columns(&mut self, _columns: &[ColumnInfo]) {}
    fn row(&mut self, values: &[ValueRef<'_>]) {
        self.rows.push(values.iter().map(ValueRef::to_value).collect());
    }
    fn end_of_rows(&mut self, _info: &OkInfo) {}
    fn ok(&mut self, _info: &OkInfo) {}
    fn error(&mut self, _error: &SqlError) {}
}
