//! Temporary tables: their names, and the definitions of them (decision 32).
//!
//! The rows are in the session's [`client::Session`]. The session's own catalogue has the definitions beside those of the
//! cluster, each under a name that hides a table or view of that name: so the binder, the executor and SHOW find temporary
//! tables as they find others. A definition of a temporary table is done at once and is no part of a transaction. CREATE and
//! DROP TEMPORARY TABLE leave the transaction open, other definitions commit it, as in MySQL.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use client::ScanBatch;
use types::convert::WarningLevel;
use types::{Catalogue, Check, CopyState, Table, TableCopy, TableId};

use super::Session;
use crate::bind::alter::{check_changed_once, check_one_charset};
use crate::bind::table::check_written_name;
use crate::bind::{Binder, Environment};
use crate::error::{SqlError, code};
use crate::execute::{Changed, Context, Failure};
use crate::parser::ast::{self, AlterOperation, Statement};
use crate::plan::{InsertSource, ParamKind, Plan, PlanKind};
use crate::result::Discard;
use crate::statement::run::records_info;

/// The names of a session's temporary tables.
#[derive(Default)]
pub(super) struct TemporaryNames {
    /// By lower-case name of the database and own name.
    names: BTreeMap<(String, String), TableId>,
    /// Of this set of tables; 0 without any. Plans of different sets are not shared.
    version: u64,
    /// The catalogue of the cluster, and the session's that was made of it.
    made: RefCell<Option<(Arc<Catalogue>, Arc<Catalogue>)>>,
}

impl Session {
    /// The catalogue as this session sees it.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        let base = self.client.client().catalogue();
        if self.temporary.names.is_empty() {
            return base;
        }
        let mut made = self.temporary.made.borrow_mut();
        match &*made {
            Some((of, own)) if Arc::ptr_eq(of, &base) => Arc::clone(own),
            Some(_) | None => {
                let own = Arc::new(self.with_temporary(&base));
                *made = Some((base, Arc::clone(&own)));
                own
            }
        }
    }

    fn with_temporary(&self, base: &Catalogue) -> Catalogue {
        let mut own = base.clone();
        own.temporary.clone_from(&self.temporary.names);
        let tables = self.client.temporary_tables();
        own.tables.extend(tables.map(|table| (table.id, Arc::clone(table))));
        own
    }

    /// A temporary table by its written name.
    fn temporary_named(&self, name: &ast::ObjectName) -> Option<Arc<Table>> {
        let schema = name.schema.as_deref().or(self.environment.database.as_deref())?;
        self.catalogue().temporary_table(schema, &name.name).cloned()
    }

    /// Binds `environment` to the set of tables that the session has now.
    pub(super) fn with_temporary_version(&self, environment: Environment) -> Environment {
        Environment { temporary_tables: self.temporary.version, ..environment }
    }

    /// The set of tables has changed: plans and the catalogue made of the last one are not used any more.
    fn renew_temporary(&mut self) {
        self.temporary.made.take();
        self.temporary.version = match self.temporary.names.is_empty() {
            true => 0,
            false => self.client.client().random_u64().max(1),
        };
        let environment = self.with_temporary_version((*self.environment).clone());
        self.environment = Arc::new(environment);
    }

    fn name_temporary(&mut self, table: &Table) {
        let key = (table.database.to_lowercase(), table.name.clone());
        self.temporary.names.insert(key, table.id);
        self.renew_temporary();
    }

    pub(super) fn drop_temporary(&mut self, table: &Table) {
        self.temporary.names.retain(|_, id| *id != table.id);
        self.client.drop_temporary(table.id);
        self.renew_temporary();
    }

    /// Drops all: the session ends, or begins anew.
    pub(super) fn drop_all_temporary(&mut self) {
        for id in std::mem::take(&mut self.temporary.names).into_values() {
            self.client.drop_temporary(id);
        }
        self.renew_temporary();
    }

    /// Runs a definition that is of a temporary table only; None if it is not.
    pub(super) async fn define_temporary(
        &mut self,
        statement: &Statement,
    ) -> Option<Result<u64, Failure>> {
        match statement {
            Statement::CreateTable(create) if create.temporary => {
                // One that fails undoes nothing of the transaction.
                self.client.next_statement();
                Some(self.create_temporary(create))
            }
            Statement::DropTable { temporary: true, if_exists, tables } => {
                self.client.next_statement();
                Some(self.drop_temporary_tables(*if_exists, tables))
            }
            Statement::Truncate { table } => {
                let table = self.temporary_named(table)?;
                Some(self.truncate_temporary(&table).await)
            }
            Statement::AlterTable(alter) => {
                let table = self.temporary_named(&alter.table)?;
                if let Err(error) = super::schema::check_online_options(alter) {
                    return Some(Err(error.into()));
                }
                if alter.algorithm.as_deref() == Some("INSTANT") {
                    return Some(Err(super::rewrite::no_instant().into()));
                }
                Some(self.alter_temporary(&table, &alter.operations).await)
            }
            Statement::CreateIndex { table, index } => {
                let table = self.temporary_named(table)?;
                let operation = AlterOperation::AddIndex(index.clone());
                Some(self.alter_temporary(&table, &[operation]).await.map(|_| 0))
            }
            Statement::DropIndex { name, table } => {
                let table = self.temporary_named(table)?;
                let operation = AlterOperation::DropIndex(name.clone());
                Some(self.alter_temporary(&table, &[operation]).await.map(|_| 0))
            }
            _ => None,
        }
    }

    fn refuse_read_only(&self) -> Result<(), SqlError> {
        match self.transaction.explicit && self.transaction.read_only {
            true => Err(SqlError::read_only_transaction()),
            false => Ok(()),
        }
    }

    /// The database of a temporary table that comes; None, with a note, if it is there and IF NOT EXISTS is written.
    fn new_temporary_place(
        &mut self,
        create: &ast::CreateTable,
    ) -> Result<Option<(String, types::Collation)>, SqlError> {
        self.refuse_read_only()?;
        check_written_name(&create.name)?;
        if !create.foreign_keys.is_empty() {
            return Err(cannot_add_foreign());
        }
        let place = self.target_database(&create.name)?;
        if self.temporary_named(&create.name).is_none() {
            return Ok(Some(place));
        }
        let exists = SqlError::table_exists(&create.name.name);
        match create.if_not_exists {
            false => Err(exists),
            true => {
                self.note(WarningLevel::Note, exists);
                Ok(None)
            }
        }
    }

    /// The names of its CHECKs need not be free among those of other tables.
    fn catalogue_without_tables(&self) -> Arc<Catalogue> {
        let mut catalogue = (*self.catalogue()).clone();
        catalogue.tables.clear();
        Arc::new(catalogue)
    }

    fn create_temporary(&mut self, create: &ast::CreateTable) -> Result<u64, Failure> {
        let Some((database, collation)) = self.new_temporary_place(create)? else { return Ok(0) };
        let table = match &create.like {
            Some(source) => {
                let mut table = self.table_like(source, create, database)?;
                for (number, check) in (1..).zip(&mut table.constraints.checks) {
                    check.name = Check::generated_name(&table.name, number);
                }
                table
            }
            None => {
                let catalogue = self.catalogue_without_tables();
                self.new_table(&catalogue, create, (&database, collation))?
            }
        };
        self.make_temporary(table);
        Ok(0)
    }

    fn make_temporary(&mut self, table: Table) -> Arc<Table> {
        let bytes_max = self.kept_number("tmp_table_size");
        self.client.set_temporary_bytes_max(usize::try_from(bytes_max).unwrap_or(usize::MAX));
        let table = self.client.create_temporary(table);
        self.name_temporary(&table);
        table
    }

    /// CREATE TEMPORARY TABLE ... SELECT: its counts of rows, and the text of its OK. The rows are part of the transaction, the table is
    /// not; a failure leaves neither.
    pub(super) async fn create_temporary_select(
        &mut self,
        create: &ast::CreateTable,
        query: &ast::Query,
    ) -> Result<(Changed, String), Failure> {
        let Some((database, collation)) = self.new_temporary_place(create)? else {
            return Ok((Changed::default(), String::new()));
        };
        let mut tries = 0;
        loop {
            let catalogue = self.catalogue();
            self.frame.diagnostics.begin();
            let kinds: Vec<ParamKind> = self.frame.params.iter().map(ParamKind::of).collect();
            let environment = self.environment();
            let binder = Binder::new(&catalogue, &environment, &*self, &kinds);
            let plan = binder.create_select(create, query, &database, collation)?;
            match self.make_and_fill(plan).await {
                Err(failure) if failure.replan => {
                    tries = self.after_replan(tries, catalogue.version, &failure.error).await?;
                }
                result => return result,
            }
        }
    }

    async fn make_and_fill(&mut self, mut plan: Plan) -> Result<(Changed, String), Failure> {
        let PlanKind::Insert(insert) = &mut plan.kind else { unreachable!("made to insert") };
        // The query was bound before the table got its name.
        let table = self.make_temporary((*insert.table).clone());
        insert.layout = table.row_layout();
        insert.table = Arc::clone(&table);
        assert!(matches!(insert.source, InsertSource::Select(_)));
        self.client.next_statement();
        let params = self.frame.params.clone();
        let (result, inner) = self.run_inside(&plan, params, true, &mut Discard).await;
        self.push_conditions(inner.diagnostics);
        self.frame.insert_id = inner.insert_id;
        let finished = match result {
            Ok(changed) => self.finish_statement(true).await.map(|()| changed),
            Err(failure) => Err(failure),
        };
        match finished {
            Ok(changed) => {
                if let Some(id) = self.frame.insert_id {
                    self.last_insert_id = id;
                }
                let warnings = usize::from(self.warning_count());
                let info = records_info(changed.records, changed.duplicates, warnings);
                Ok((changed, info))
            }
            Err(failure) => {
                self.drop_temporary(&table);
                Err(failure)
            }
        }
    }

    /// DROP TEMPORARY TABLE: of other tables it sees nothing. All of them, or none.
    fn drop_temporary_tables(
        &mut self,
        if_exists: bool,
        names: &[ast::ObjectName],
    ) -> Result<u64, Failure> {
        self.refuse_read_only()?;
        let (mut tables, mut missing) = (Vec::new(), Vec::new());
        for name in names {
            check_written_name(name)?;
            let schema = name.schema.as_deref().or(self.environment.database.as_deref());
            let schema = schema.ok_or_else(SqlError::no_database)?;
            match self.temporary_named(name) {
                Some(table) if tables.iter().any(|own: &Arc<Table>| own.id == table.id) => {
                    return Err(SqlError::not_unique_table(&name.name).into());
                }
                Some(table) => tables.push(table),
                None => missing.push(format!("{schema}.{}", name.name)),
            }
        }
        if !missing.is_empty() && !if_exists {
            return Err(SqlError::bad_table(&missing.join(",")).into());
        }
        for name in &missing {
            self.note(WarningLevel::Note, SqlError::bad_table(name));
        }
        tables.iter().for_each(|table| self.drop_temporary(table));
        Ok(0)
    }

    async fn truncate_temporary(&mut self, table: &Table) -> Result<u64, Failure> {
        self.begin_definition().await?;
        self.client.truncate_temporary(table.id);
        Ok(0)
    }

    /// ALTER TABLE: a new table of the new definition, filled with the rows, takes the place of the old one. Returns the number of rows.
    async fn alter_temporary(
        &mut self,
        table: &Arc<Table>,
        operations: &[AlterOperation],
    ) -> Result<u64, Failure> {
        self.begin_definition().await?;
        check_changed_once(table, operations)?;
        check_one_charset(operations)?;
        if operations.iter().any(|own| matches!(own, AlterOperation::AddForeignKey(_))) {
            return Err(cannot_add_foreign().into());
        }
        let catalogue = self.catalogue_without_tables();
        let mut altered = self.altered_table(&catalogue, table, operations)?;
        if let Some(column) = &altered.zero_date
            && 0 < self.client.temporary_row_count(table.id)
        {
            return Err(super::rewrite::zero_date(column).into());
        }
        if let Some((database, name)) = self.new_temporary_name(table, operations)? {
            (altered.table.database, altered.table.name) = (database, name);
        }
        let next = self.client.auto_increment_next(table).await;
        let next = next.map_err(|refusal| self.refused(refusal))?;
        if let Some(sequence) = &mut altered.table.auto_increment {
            sequence.start = super::schema::written_value(operations).unwrap_or(next).max(1);
        }
        let new = self.client.create_temporary(altered.table);
        // The catalogue has it from now on, though without a name.
        self.renew_temporary();
        let copy = TableCopy {
            table: new.id,
            state: CopyState::Building,
            sources: altered.sources,
            lenient: !self.settings.sql_mode.is_strict(),
            filler: types::Incarnation::default(),
        };
        match self.fill_temporary(table, &copy).await {
            Ok(row_count) => {
                self.drop_temporary(table);
                self.name_temporary(&new);
                Ok(row_count)
            }
            Err(failure) => {
                self.rollback_transaction().await;
                self.client.drop_temporary(new.id);
                self.renew_temporary();
                Err(failure)
            }
        }
    }

    /// The database and name that RENAME gives a temporary table, which no other one of the session may have.
    fn new_temporary_name(
        &self,
        table: &Table,
        operations: &[AlterOperation],
    ) -> Result<Option<(String, String)>, SqlError> {
        let mut renamed = None;
        for operation in operations {
            let AlterOperation::RenameTable(target) = operation else { continue };
            check_written_name(target)?;
            let (database, _) = self.target_database(target)?;
            if self.temporary_named(target).is_some_and(|other| other.id != table.id) {
                return Err(SqlError::table_exists(&target.name));
            }
            renamed = Some((database, target.name.clone()));
        }
        Ok(renamed)
    }

    /// Copies the rows of a temporary table into another one, in a transaction of its own; their number.
    async fn fill_temporary(
        &mut self,
        table: &Arc<Table>,
        copy: &TableCopy,
    ) -> Result<u64, Failure> {
        let catalogue = self.catalogue();
        let plan = self.copying_plan(&catalogue)?;
        self.client.next_statement();
        let is_strict = self.settings.sql_mode.is_strict();
        let mut context = Context::new(self, &plan, Vec::new(), is_strict);
        let copier = context.new_copier(table, copy)?;
        let layout = table.row_layout();
        let mut cursor = context.client().whole_rows(table);
        let (mut row_count, mut sequence_next) = (0, 0);
        let sequence = copier.table.auto_increment.as_ref().map(|own| usize::from(own.column));
        loop {
            let batch = cursor.next(context.client()).await.map_err(|own| context.refused(own))?;
            let Some(batch) = batch else { break };
            let ScanBatch::Rows(batch) = batch else { unreachable!("rows were asked for") };
            for position in 0..batch.len() {
                row_count += 1;
                let mut warnings = Vec::new();
                let row = batch.row(position);
                let copied =
                    copier.copied(&mut context, (table, &layout), row, row_count, &mut warnings);
                let copied = copied.await?;
                context.warnings.append(&mut warnings);
                let value = sequence.map(|column| copier.value(&copied, column));
                if let Some(value) = value.and_then(|value| u64::try_from(value).ok()) {
                    sequence_next = value.saturating_add(1).max(sequence_next);
                }
                let change = copier.replacement(None, copied);
                let ops = copier.ops(&catalogue, &change);
                let batch = client::Batch { ops, ..client::Batch::default() };
                if let Err(refusal) = context.client().execute(batch).await {
                    return Err(context.copy_refused(refusal, &copier, &[change]).await);
                }
            }
            context.check_killed()?;
        }
        let client = context.client();
        let raised = client.raise_auto_increment(&copier.table, sequence_next).await;
        raised.map_err(|own| context.refused(own))?;
        context.client().commit().await.map_err(|own| context.refused(own))?;
        let (_, warnings) = context.into_parts();
        warnings.into_iter().for_each(|warning| self.push_condition(warning));
        Ok(row_count)
    }
}

fn cannot_add_foreign() -> SqlError {
    SqlError::new(code::ER_CANNOT_ADD_FOREIGN, "Cannot add foreign key constraint")
}

/// Does a statement change rows of temporary tables only? A READ ONLY transaction admits these.
pub(crate) fn changes_only_temporary(plan: &PlanKind) -> bool {
    match plan {
        PlanKind::Insert(insert) => insert.table.id.is_temporary(),
        PlanKind::Update(update) => update.target.table.id.is_temporary(),
        PlanKind::Delete(delete) => delete.target.table.id.is_temporary(),
        PlanKind::JoinedUpdate(change) | PlanKind::JoinedDelete(change) => {
            change.tables.iter().all(|own| own.table.id.is_temporary())
        }
        PlanKind::Select(_) | PlanKind::Values(_) => false,
    }
}
