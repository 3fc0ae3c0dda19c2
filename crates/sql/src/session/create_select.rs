//! CREATE TABLE ... SELECT: a table and its rows, both or neither.
//!
//! The table is created first, under a name of the server's that nothing shows; then one transaction reads the rows, under
//! shared locks where INSERT ... SELECT has them, writes them and commits; then the table gets its name. So others never
//! see it without its rows, and whatever fails before leaves nothing: the transaction is rolled back and the table dropped.
//! (InnoDB's table has its name from the start, but nobody gets past its metadata lock before the statement ends.)
//!
//! It is not read first and created afterwards: a definition waits until every older one has been adopted, another
//! session's ALTER of the table that is read waits for its readers, and the two would wait for each other.
//!
//! The three definitions go through a session of their own, which KILL does not reach: each is a matter of milliseconds,
//! and whether it was done must be known.

use std::sync::Arc;

use client::{Durability, Refusal, SchemaChange};
use types::Table;
use types::convert::WarningLevel;

use super::Session;
use crate::bind::Binder;
use crate::bind::table::check_written_name;
use crate::error::{SqlError, code};
use crate::execute::{Changed, Failure};
use crate::parser::ast;
use crate::plan::{InsertPlan, ParamKind, Plan, PlanKind};
use crate::result::Discard;
use crate::statement::run::records_info;

impl Session {
    /// Runs the statement: what it inserted, and the text of its OK.
    pub(super) async fn create_table_select(
        &mut self,
        create: &ast::CreateTable,
    ) -> Result<(Changed, String), Failure> {
        if create.temporary {
            let query = create.as_query.as_ref().expect("the caller looked");
            return self.create_temporary_select(create, query).await;
        }
        self.begin_definition().await?;
        let mut tries = 0;
        loop {
            let version = self.catalogue().version;
            match self.create_and_fill(create).await {
                Err(failure) if failure.replan => {
                    tries = self.after_replan(tries, version, &failure.error).await?;
                }
                result => return result,
            }
        }
    }

    async fn create_and_fill(
        &mut self,
        create: &ast::CreateTable,
    ) -> Result<(Changed, String), Failure> {
        self.frame.diagnostics.begin();
        check_written_name(&create.name)?;
        let (database, collation) = self.target_database(&create.name)?;
        let catalogue = self.catalogue();
        if catalogue.is_taken(&database, &create.name.name) {
            return self.table_exists(create);
        }
        let kinds: Vec<ParamKind> = self.frame.params.iter().map(ParamKind::of).collect();
        let environment = self.environment.clone();
        let query = create.as_query.as_ref().expect("the caller looked");
        let mut plan = Binder::new(&catalogue, &environment, &*self, &kinds)
            .create_select(create, query, &database, collation)?;
        let PlanKind::Insert(insert) = &mut plan.kind else { unreachable!("made to insert") };

        let mut definitions = self.client.client().session();
        let created = self.create_unfinished(&mut definitions, insert).await?;
        let id = created.id;
        // A token is for what changes rows of a table that is there.
        let token = self.settings.commit_token.take();
        // The table gets its name when its rows are on the disks: a name outlives a failure of the power, whatever the level.
        let level = self.client.set_durability(Some(Durability::Always));
        let filled = self.fill(&plan).await;
        self.settings.commit_token = token;
        self.client.set_durability(level);
        let filled = match filled {
            Ok(changed) => {
                let name = create.name.name.clone();
                let named = SchemaChange::RenameTable { id, database, name };
                match definitions.change_schema(named).await {
                    Ok(_) => Ok(changed),
                    Err(refusal) => Err(self.refused(refusal)),
                }
            }
            Err(failure) => Err(failure),
        };
        let failure = match filled {
            Ok(changed) => {
                let warnings = usize::from(self.warning_count());
                let info = records_info(changed.records, changed.duplicates, warnings);
                return Ok((changed, info));
            }
            Err(failure) => failure,
        };
        self.rollback_transaction().await;
        // Refused only when it is gone already, with its database.
        let _: Result<_, Refusal> = definitions.change_schema(SchemaChange::DropTable { id }).await;
        match failure.error.code {
            // Somebody else's table got the name meanwhile.
            code::ER_TABLE_EXISTS_ERROR => self.table_exists(create),
            // Whether its rows were committed does not matter any more.
            code::ER_TRANSACTION_OUTCOME_UNKNOWN => {
                let message = "The table was not made: a node died or is out of reach; try again";
                Err(SqlError::new(code::ER_LOCK_DEADLOCK, message).into())
            }
            _ => Err(failure),
        }
    }

    /// Creates the table under a hidden name; the plan then fills it, and calls it by its own name in errors.
    async fn create_unfinished(
        &mut self,
        definitions: &mut client::Session,
        insert: &mut InsertPlan,
    ) -> Result<Arc<Table>, Failure> {
        let mut table = (*insert.table).clone();
        table.name = self.unfinished_name();
        let (database, name) = (table.database.clone(), table.name.clone());
        let change = SchemaChange::CreateTable(Box::new(table));
        let changed = definitions.change_schema(change).await;
        let catalogue = changed.map_err(|refusal| self.refused(refusal))?;
        let created = catalogue.table(&database, &name).cloned();
        // Gone already: its database was dropped.
        let created = created.ok_or_else(|| SqlError::unknown_database(&database))?;
        let mut named = (*created).clone();
        named.name.clone_from(&insert.table.name);
        insert.layout = named.row_layout();
        insert.table = Arc::new(named);
        Ok(created)
    }

    /// Reads and writes the rows, by an INSERT inside the statement, and commits.
    async fn fill(&mut self, plan: &Plan) -> Result<Changed, Failure> {
        self.client.next_statement();
        let params = self.frame.params.clone();
        let (result, inner) = self.run_inside(plan, params, true, &mut Discard).await;
        self.push_conditions(inner.diagnostics);
        self.frame.insert_id = inner.insert_id;
        let changed = result?;
        self.commit_transaction().await?;
        if let Some(id) = self.frame.insert_id {
            self.last_insert_id = id;
        }
        Ok(changed)
    }

    /// Nothing is done: an error, or with IF NOT EXISTS a note.
    fn table_exists(&mut self, create: &ast::CreateTable) -> Result<(Changed, String), Failure> {
        let exists = SqlError::table_exists(&create.name.name);
        if !create.if_not_exists {
            return Err(exists.into());
        }
        self.note(WarningLevel::Note, exists);
        Ok((Changed::default(), String::new()))
    }
}
