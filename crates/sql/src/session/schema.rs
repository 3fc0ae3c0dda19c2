//! Definitions: databases, tables, indexes. Each commits what is open, then changes the control plane's catalogue; when
//! the statement ends, every node uses the new definition.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::{Refusal, SchemaChange};
use types::convert::WarningLevel;
use types::{Catalogue, Collation, Column, ColumnDefault, Table};

use super::Session;
use super::columns::Described;
use super::constraints::{CheckSteps, Constraint, constraint_named};
use super::foreign_keys::drop_key;
use super::indexes::{
    AlterSteps, IndexRename, order_renames, plan_index, remove_index, rename_step,
};
use crate::bind::alter::{check_changed_once, check_one_charset};
use crate::bind::functional::{has_expressions, is_functional};
use crate::bind::table::{check_name, check_written_name, collation_of};
use crate::bind::view::{find_base_view, find_view};
use crate::bind::{Binder, find_base_table, find_table};
use crate::error::{SqlError, code};
use crate::execute::Failure;
use crate::execute::write::replaces_generated;
use crate::information_schema;
use crate::parser::ast::{self, Statement};

impl Session {
    /// What every definition does first: it ends the transaction that is open.
    pub(super) async fn begin_definition(&mut self) -> Result<(), Failure> {
        // Also in a READ ONLY transaction, which MySQL refuses before it commits.
        if self.transaction.explicit && self.transaction.read_only {
            return Err(SqlError::read_only_transaction().into());
        }
        self.commit_transaction().await
    }

    /// Runs a definition; the affected rows.
    pub(super) async fn define(&mut self, statement: &Statement) -> Result<u64, Failure> {
        if let Some(result) = self.define_temporary(statement).await {
            return result;
        }
        self.begin_definition().await?;
        let removes_rows = matches!(
            statement,
            Statement::DropDatabase { .. }
                | Statement::DropTable { .. }
                | Statement::Truncate { .. }
        );
        if removes_rows {
            self.await_disks().await?;
        }
        let altered: Vec<&ast::ObjectName> = match statement {
            Statement::DropTable { tables, .. } => tables.iter().collect(),
            Statement::RenameTable(pairs) => pairs.iter().map(|(source, _)| source).collect(),
            Statement::Truncate { table }
            | Statement::CreateIndex { table, .. }
            | Statement::DropIndex { table, .. } => vec![table],
            Statement::AlterTable(alter) => vec![&alter.table],
            _ => Vec::new(),
        };
        self.await_rewriting(&altered).await?;
        match statement {
            Statement::CreateDatabase { name, if_not_exists, charset, collation } => {
                self.create_database(name, *if_not_exists, charset.as_deref(), collation.as_deref())
                    .await
            }
            Statement::AlterDatabase { .. } => {
                Err(SqlError::not_supported("ALTER DATABASE").into())
            }
            Statement::DropDatabase { name, if_exists } => {
                self.drop_database(name, *if_exists).await
            }
            Statement::CreateTable(create) => self.create_table(create).await,
            Statement::CreateView(create) => self.create_view(create).await,
            Statement::DropView { if_exists, views } => self.drop_views(*if_exists, views).await,
            Statement::DropTable { temporary: _, if_exists, tables } => {
                self.drop_tables(*if_exists, tables).await
            }
            Statement::Truncate { table } => {
                let current = self.environment.database.as_deref();
                if let Some(view) = find_view(&self.catalogue(), current, table) {
                    return Err(SqlError::no_such_table(&view.database, &view.name).into());
                }
                let table = self.own_table(table)?;
                self.check_truncated(&table)?;
                self.change(SchemaChange::TruncateTable { id: table.id }).await?;
                Ok(0)
            }
            Statement::RenameTable(pairs) => {
                self.check_renames(pairs)?;
                for (source, target) in pairs {
                    self.rename_table(source, target).await?;
                }
                Ok(0)
            }
            Statement::CreateIndex { table, index } => {
                if has_expressions(index) {
                    let operations = vec![ast::AlterOperation::AddIndex(index.clone())];
                    return self.alter_table(&altering(table, operations)).await.map(|_| 0);
                }
                let table = self.own_table(table)?;
                self.add_index(&table, index).await?;
                Ok(0)
            }
            Statement::DropIndex { name, table } => {
                let own = self.own_table(table)?;
                if own.index_named(name).is_some_and(|index| is_functional(&own, index)) {
                    let operations = vec![ast::AlterOperation::DropIndex(name.clone())];
                    return self.alter_table(&altering(table, operations)).await.map(|_| 0);
                }
                self.drop_index(&own, name).await?;
                Ok(0)
            }
            Statement::AlterTable(alter) => {
                check_online_options(alter)?;
                self.alter_table(alter).await
            }
            _ => unreachable!("only definitions come here"),
        }
    }

    /// Somebody may have copied rows that are to go, and heard that this is committed: after a failure of the power they would be nowhere.
    /// Before tables are looked for by their names, as it may take long.
    async fn await_disks(&self) -> Result<(), Failure> {
        let outcome = self.client.await_disks(&|| self.check_killed().is_err()).await;
        self.check_killed()?;
        outcome.map_err(|refusal| self.refused(refusal))
    }

    pub(super) async fn change(&mut self, change: SchemaChange) -> Result<(), Failure> {
        // A change waits for the transactions that use an older definition. It is withdrawn after lock_wait_timeout, unless it
        // is done by then.
        let limit = self.time_limit(self.kept_number("lock_wait_timeout").saturating_mul(1000));
        match limit.run(self.client.change_schema(change)).await {
            (Ok(_), _) => Ok(()),
            (Err(Refusal::Cancelled), true) => Err(self.refused(Refusal::LockWaitTimeout)),
            (Err(refusal), _) => Err(self.refused(refusal)),
        }
    }

    fn refuse_information_schema(&self, name: &str) -> Result<(), SqlError> {
        let Some(schema) = information_schema::schema_named(name) else { return Ok(()) };
        Err(SqlError::new(
            code::ER_DBACCESS_DENIED_ERROR,
            format!(
                "Access denied for user '{}'@'localhost' to database '{schema}'",
                self.info.user
            ),
        ))
    }

    pub(super) fn own_table(&self, name: &ast::ObjectName) -> Result<Arc<Table>, SqlError> {
        let schema = name.schema.as_deref().or(self.environment.database.as_deref());
        if let Some(schema) = schema {
            self.refuse_information_schema(schema)?;
        }
        if let Some(view) =
            schema.and_then(|schema| self.catalogue().view(schema, &name.name).cloned())
        {
            return Err(SqlError::wrong_object(&view.database, &view.name, "BASE TABLE"));
        }
        find_table(&self.catalogue(), self.environment.database.as_deref(), name)
    }

    /// A table that RENAME TABLE may name: ALTER TABLE renames temporary ones, as in MySQL.
    fn renamed_table(&self, name: &ast::ObjectName) -> Result<Arc<Table>, SqlError> {
        if let Some(schema) = name.schema.as_deref().or(self.environment.database.as_deref()) {
            self.refuse_information_schema(schema)?;
        }
        find_base_table(&self.catalogue(), self.environment.database.as_deref(), name)
    }

    /// The database a new table goes to, as it is spelled.
    pub(super) fn target_database(
        &self,
        name: &ast::ObjectName,
    ) -> Result<(String, Collation), SqlError> {
        let written = match &name.schema {
            Some(schema) => schema.clone(),
            None => self.environment.database.clone().ok_or_else(SqlError::no_database)?,
        };
        self.refuse_information_schema(&written)?;
        let catalogue = self.catalogue();
        let database =
            catalogue.database(&written).ok_or_else(|| SqlError::unknown_database(&written))?;
        Ok((database.name.clone(), database.collation))
    }

    async fn create_database(
        &mut self,
        name: &str,
        if_not_exists: bool,
        charset: Option<&str>,
        collation: Option<&str>,
    ) -> Result<u64, Failure> {
        check_name(name, code::ER_WRONG_DB_NAME, "database")?;
        let collation_name = collation;
        let collation = collation_of(charset, collation)?.unwrap_or_default();
        self.warn_of_names(charset, collation_name);
        let exists = SqlError::new(
            code::ER_DB_CREATE_EXISTS,
            format!("Can't create database '{name}'; database exists"),
        );
        let is_there =
            information_schema::is_schema(name) || self.catalogue().database(name).is_some();
        if is_there {
            if if_not_exists {
                self.note(WarningLevel::Note, exists);
                return Ok(1);
            }
            return Err(exists.into());
        }
        let change = SchemaChange::CreateDatabase { name: name.to_string(), collation };
        match self.change(change).await {
            // Somebody else was faster.
            Err(failure) if if_not_exists && failure.error.code == code::ER_DB_CREATE_EXISTS => {
                self.note(WarningLevel::Note, failure.error);
                Ok(1)
            }
            result => result.map(|()| 1),
        }
    }

    async fn drop_database(&mut self, name: &str, if_exists: bool) -> Result<u64, Failure> {
        self.refuse_information_schema(name)?;
        let missing = SqlError::new(
            code::ER_DB_DROP_EXISTS,
            format!("Can't drop database '{name}'; database doesn't exist"),
        );
        let catalogue = self.catalogue();
        let Some(database) = catalogue.database(name) else {
            if if_exists {
                self.note(WarningLevel::Note, missing);
                return Ok(0);
            }
            return Err(missing.into());
        };
        let tables = database.tables.values().filter_map(|id| catalogue.table_by_id(*id));
        self.check_dropped(&tables.map(|table| &**table).collect::<Vec<&Table>>())?;
        let (own_name, table_count) = (database.name.clone(), database.tables.len() as u64);
        let dropped = self.change(SchemaChange::DropDatabase { name: own_name.clone() }).await;
        match dropped {
            Err(failure) if failure.error.code == code::ER_BAD_DB_ERROR => {
                if !if_exists {
                    return Err(missing.into());
                }
                self.note(WarningLevel::Note, missing);
                return Ok(0);
            }
            result => result?,
        }
        if self.environment.database.as_deref() == Some(own_name.as_str()) {
            self.set_environment(None);
            self.update_process(|process| process.database = None);
        }
        Ok(table_count)
    }

    async fn create_table(&mut self, create: &ast::CreateTable) -> Result<u64, Failure> {
        check_written_name(&create.name)?;
        let (database, collation) = self.target_database(&create.name)?;
        let catalogue = self.catalogue();
        if let Some(source) = &create.like {
            let current = self.environment.database.as_deref();
            let own = source.schema.as_deref().or(current);
            if source.name == create.name.name
                && own.is_some_and(|own| own.eq_ignore_ascii_case(&database))
            {
                return Err(SqlError::not_unique_table(&source.name).into());
            }
        }
        let exists = SqlError::table_exists(&create.name.name);
        if catalogue.is_taken(&database, &create.name.name) {
            if create.if_not_exists {
                self.note(WarningLevel::Note, exists);
                return Ok(0);
            }
            return Err(exists.into());
        }
        let table = match &create.like {
            Some(source) => {
                let mut table = self.table_like(source, create, database)?;
                self.name_copied_checks(&mut table)?;
                table
            }
            None => self.new_table(&catalogue, create, (&database, collation))?,
        };
        match self.create_with_parents(table).await {
            Err(failure)
                if create.if_not_exists && failure.error.code == code::ER_TABLE_EXISTS_ERROR =>
            {
                self.note(WarningLevel::Note, failure.error);
                Ok(0)
            }
            result => result.map(|()| 0),
        }
    }

    /// A table of the definition of another one, without its foreign keys, as in MySQL.
    pub(super) fn table_like(
        &self,
        source: &ast::ObjectName,
        create: &ast::CreateTable,
        database: String,
    ) -> Result<Table, SqlError> {
        let mut table = (*self.own_table(source)?).clone();
        table.constraints.foreign_keys.clear();
        table.constraints.referenced_by.clear();
        table.database = database;
        table.name.clone_from(&create.name.name);
        if let Some(sequence) = &mut table.auto_increment {
            sequence.start = 1;
        }
        Ok(table)
    }

    /// The definition of CREATE TABLE with columns, in this database and its collation.
    pub(super) fn new_table(
        &mut self,
        catalogue: &Arc<Catalogue>,
        create: &ast::CreateTable,
        (database, collation): (&str, Collation),
    ) -> Result<Table, SqlError> {
        let environment = self.environment.clone();
        let mut binder = Binder::new(catalogue, &environment, &*self, &[]);
        let mut table = binder.table_definition(create, database, collation)?;
        let warnings = binder.into_warnings();
        warnings.into_iter().for_each(|warning| self.push_condition(warning));
        self.note_algorithms(&table.engine, &create.indexes);
        self.key_context(catalogue).add_all(&mut table, &create.foreign_keys)?;
        for (position, index) in table.indexes.iter().enumerate() {
            self.warn_of_twin(&table, &table.indexes[..position], index);
        }
        Ok(table)
    }

    async fn drop_tables(
        &mut self,
        if_exists: bool,
        names: &[ast::ObjectName],
    ) -> Result<u64, Failure> {
        let current = self.environment.database.as_deref();
        let full = |name: &ast::ObjectName| {
            let schema = name.schema.as_deref().or(current).map(str::to_lowercase);
            (schema, name.name.clone())
        };
        for (position, name) in names.iter().enumerate() {
            if names[..position].iter().any(|before| full(before) == full(name)) {
                return Err(SqlError::not_unique_table(&name.name).into());
            }
        }
        let mut tables = Vec::new();
        let mut missing = Vec::new();
        for name in names {
            match self.own_table(name) {
                Ok(table) => tables.push(table),
                Err(error) if error.code == code::ER_NO_DB_ERROR => return Err(error.into()),
                Err(error)
                    if matches!(
                        error.code,
                        code::ER_DBACCESS_DENIED_ERROR
                            | code::ER_WRONG_DB_NAME
                            | code::ER_WRONG_TABLE_NAME
                            | code::ER_TOO_LONG_IDENT
                    ) =>
                {
                    return Err(error.into());
                }
                Err(error) if error.code == code::ER_BAD_DB_ERROR && !if_exists => {
                    return Err(error.into());
                }
                Err(_) => {
                    let schema = name.schema.clone().or_else(|| self.environment.database.clone());
                    missing.push(format!("{}.{}", schema.unwrap_or_default(), name.name));
                }
            }
        }
        if !missing.is_empty() {
            if !if_exists {
                return Err(SqlError::bad_table(&missing.join(",")).into());
            }
            for name in &missing {
                self.note(WarningLevel::Note, SqlError::bad_table(name));
            }
        }
        self.check_dropped(&tables.iter().map(|table| &**table).collect::<Vec<&Table>>())?;
        for table in tables {
            if table.id.is_temporary() {
                self.drop_temporary(&table);
                continue;
            }
            match self.change(SchemaChange::DropTable { id: table.id }).await {
                Err(failure) if failure.error.code == code::ER_BAD_TABLE_ERROR => {
                    // Dropped by another session in between.
                    let error = SqlError::bad_table(&format!("{}.{}", table.database, table.name));
                    if !if_exists {
                        return Err(error.into());
                    }
                    self.note(WarningLevel::Note, error);
                }
                result => result?,
            }
        }
        Ok(0)
    }

    /// Checks all renames of a statement before the first is done: each finds the names as those before it leave them.
    fn check_renames(&self, pairs: &[(ast::ObjectName, ast::ObjectName)]) -> Result<(), SqlError> {
        // Names that are taken (true) or free by what was done so far; others are as the catalogue has them.
        let mut changed: BTreeMap<(String, String), bool> = BTreeMap::new();
        let catalogue = self.catalogue();
        for (source, target) in pairs {
            let (source_database, _) = self.target_database(source)?;
            let own = (source_database, source.name.clone());
            match changed.get(&own) {
                Some(true) => {}
                Some(false) => return Err(SqlError::no_such_table(&own.0, &own.1)),
                None if find_base_view(&catalogue, None, &in_database(source, &own.0))
                    .is_some() => {}
                None => drop(self.renamed_table(source)?),
            }
            check_written_name(target)?;
            let (database, _) = self.target_database(target)?;
            let new = (database, target.name.clone());
            let is_taken = match changed.get(&new) {
                Some(is_taken) => *is_taken,
                None => catalogue.is_taken(&new.0, &new.1),
            };
            if is_taken {
                return Err(SqlError::table_exists(&target.name));
            }
            changed.insert(own, false);
            changed.insert(new, true);
        }
        Ok(())
    }

    pub(super) async fn rename_table(
        &mut self,
        source: &ast::ObjectName,
        target: &ast::ObjectName,
    ) -> Result<(), Failure> {
        check_written_name(target)?;
        if self.rename_view(source, target).await? {
            return Ok(());
        }
        let table = self.renamed_table(source)?;
        let (database, _) = self.target_database(target)?;
        if self.catalogue().is_taken(&database, &target.name) {
            return Err(SqlError::table_exists(&target.name).into());
        }
        self.check_renamed_checks(&table, &table.constraints.checks, &database, &target.name)?;
        let name = target.name.clone();
        self.change(SchemaChange::RenameTable { id: table.id, database, name }).await
    }

    /// One ALTER TABLE of a table at a time: each plans by the definition that the one before has left.
    async fn alter_table(&mut self, alter: &ast::AlterTable) -> Result<u64, Failure> {
        let table = self.own_table(&alter.table)?;
        let Some(name) = self.lock_definition(&table).await? else {
            return self.alter_own_table(alter).await;
        };
        let altered = self.alter_own_table(alter).await;
        // An answer that is lost with a node leaves the lock to the end of the session.
        let _ = self.user_locks.release(&name).await;
        altered
    }

    async fn alter_own_table(&mut self, alter: &ast::AlterTable) -> Result<u64, Failure> {
        let table = self.own_table(&alter.table)?;
        check_changed_once(&table, &alter.operations)?;
        check_one_charset(&alter.operations)?;
        check_dropped_keys(&table, &alter.operations)?;
        let described = match self.lowers_sequence(alter, &table).await? {
            true => None,
            false => self.described_table(alter, &table)?,
        };
        match described {
            Some(described) => self.alter_in_place(alter, &table, described).await,
            None => self.rewrite_table(alter, &table).await,
        }
    }

    /// Is AUTO_INCREMENT = n below the next value? What workers have reserved is theirs, so such a sequence begins anew, with the table.
    async fn lowers_sequence(
        &self,
        alter: &ast::AlterTable,
        table: &Arc<Table>,
    ) -> Result<bool, Failure> {
        let Some(value) = written_sequence(alter, table) else { return Ok(false) };
        let next = self.client.auto_increment_next(table).await;
        Ok(value < next.map_err(|refusal| self.refused(refusal))?)
    }

    /// The alterations that do not touch rows: definitions of columns, options, indexes, constraints and names.
    async fn alter_in_place(
        &mut self,
        alter: &ast::AlterTable,
        table: &Arc<Table>,
        described: Table,
    ) -> Result<u64, Failure> {
        use ast::AlterOperation as A;
        let mut steps = AlterSteps::default();
        // All are checked before the first is done: half an ALTER is worse than none. As in MySQL, indexes go before others
        // come, whatever the order they are written in.
        let described = Arc::new(described);
        let (from, to) = (Described::of(table), Described::of(&described));
        let mut planned = (*described).clone();
        let checks = self.check_steps(alter, &described)?;
        for operation in &alter.operations {
            let name = match operation {
                A::DropIndex(name) => name,
                A::DropConstraint(name) => match constraint_named(table, name)? {
                    Constraint::Key => name,
                    Constraint::Check | Constraint::ForeignKey => continue,
                },
                _ => continue,
            };
            steps.dropped.push(remove_index(&mut planned, name)?);
        }
        for operation in &alter.operations {
            if let A::RenameIndex { old_name, new_name } = operation {
                steps.renames.push(rename_step(&planned, old_name, new_name)?);
            }
        }
        order_renames(&mut planned, &mut steps.renames)?;
        steps.renamed = self.rename_target(alter, table)?;
        if let Some(target) = &steps.renamed {
            let (database, _) = self.target_database(target)?;
            self.check_renamed_checks(table, checks.after(), &database, &target.name)?;
        }
        // Indexes are named before those that foreign keys need.
        let is_key = |operation: &&A| matches!(operation, A::AddForeignKey(_));
        let (keys, others): (Vec<&A>, Vec<&A>) = alter.operations.iter().partition(is_key);
        for operation in others.into_iter().chain(keys) {
            let refused = match operation {
                A::AddIndex(definition) => {
                    let index = plan_index(&mut planned, definition, &mut steps)?;
                    self.note_algorithms(&planned.engine, [&**definition]);
                    self.warn_of_twin(&planned, &planned.indexes, &index);
                    planned.indexes.push(index.clone());
                    steps.added.push(index);
                    continue;
                }
                A::AddForeignKey(key) => {
                    // Looked at before the first step is done, and again in its turn.
                    let catalogue = self.catalogue();
                    let (key, index) = self.key_context(&catalogue).definition(&planned, key)?;
                    if let Some(index) = index {
                        planned.indexes.retain(|own| !replaces_generated(&index.parts, own));
                        planned.indexes.push(index);
                    }
                    planned.constraints.foreign_keys.push(key);
                    continue;
                }
                A::DropForeignKey(name) => {
                    drop_key(&mut planned, name)?;
                    continue;
                }
                A::DropConstraint(name) if has_key(&planned, name) => {
                    drop_key(&mut planned, name)?;
                    continue;
                }
                A::DropIndex(_)
                | A::AddCheck(_)
                | A::DropCheck(_)
                | A::DropConstraint(_)
                | A::EnforceCheck { .. }
                | A::RenameTable(_)
                | A::RenameIndex { .. }
                | A::ModifyColumn { .. }
                | A::ChangeColumn { .. }
                | A::SetDefault { .. }
                | A::RenameColumn { .. }
                | A::Options(_)
                | A::DisableKeys
                | A::EnableKeys
                | A::Force => continue,
                A::AddColumn { .. }
                | A::DropColumn(_)
                | A::DropPrimaryKey
                | A::ConvertCharset { .. }
                | A::Partition(_) => unreachable!("these rewrite the table"),
                A::OrderBy(_) => "ALTER TABLE ORDER BY".into(),
                A::Unsupported { feature } => feature.clone(),
            };
            return Err(SqlError::not_supported(refused).into());
        }
        let is_instant = alter.algorithm.as_deref() == Some("INSTANT");
        if is_instant && (!steps.added.is_empty() || planned_keys(alter)) {
            return Err(super::rewrite::no_instant().into());
        }
        check_sequence(table, &planned)?;
        self.check_dropped_index(&without_dropped_keys(table, &planned), &planned)?;
        let is_described = !to.equals(&from);
        if is_described {
            self.alter_definition(table.id, &mut |table| to.replace(&from, table)).await?;
        }
        let row_count = match self.alter_constraints(table, alter, &steps, &checks).await {
            Ok(row_count) => row_count,
            Err(failure) => {
                if is_described {
                    self.revert_definition(table.id, &mut |table| from.replace(&to, table)).await;
                }
                return Err(failure);
            }
        };
        if let Some(value) = written_sequence(alter, table) {
            let raised = self.client.raise_auto_increment(table, value).await;
            raised.map_err(|refusal| self.refused(refusal))?;
        }
        if let Some(target) = &steps.renamed {
            let source = ast::ObjectName::new(Some(table.database.clone()), table.name.clone());
            self.rename_table(&source, target).await?;
        }
        Ok(row_count)
    }

    /// CHECKs, foreign keys and indexes; the number of rows that new CHECKs have read.
    async fn alter_constraints(
        &mut self,
        table: &Arc<Table>,
        alter: &ast::AlterTable,
        steps: &AlterSteps,
        checks: &CheckSteps,
    ) -> Result<u64, Failure> {
        let row_count = self.begin_checks(table.id, checks).await?;
        let mut result = self.alter_keys(&self.newest(table), alter, steps).await;
        if result.is_ok() {
            result = self.end_checks(table.id, checks).await;
        }
        if let Err(failure) = result {
            self.take_back_checks(table.id, checks).await;
            return Err(failure);
        }
        Ok(row_count)
    }

    /// Drops foreign keys, changes indexes, and adds foreign keys, in this order. A failure takes the earlier steps back.
    async fn alter_keys(
        &mut self,
        table: &Arc<Table>,
        alter: &ast::AlterTable,
        steps: &AlterSteps,
    ) -> Result<(), Failure> {
        match self.add_keys(table, alter, steps).await {
            Ok(()) if steps.drops_first(table) => Ok(()),
            Ok(()) => self.drop_indexes(table, steps).await,
            Err(failure) => {
                self.take_back_keys(table, steps).await?;
                Err(failure)
            }
        }
    }

    /// Gives the table the foreign keys that it had, and drops the indexes that it had not.
    async fn take_back_keys(
        &mut self,
        table: &Arc<Table>,
        steps: &AlterSteps,
    ) -> Result<(), Failure> {
        let keys = &table.constraints.foreign_keys;
        self.revert_definition(table.id, &mut |own| {
            own.constraints.foreign_keys.clone_from(keys);
            Ok(())
        })
        .await;
        let is_new = |index: &types::Index| table.index(index.id).is_none();
        let current = self.newest(table);
        for index in current.indexes.iter().filter(|index| is_new(index)) {
            self.drop_index_of(&self.newest(table), index).await?;
        }
        let renamed = |rename: &&IndexRename| {
            current.index(rename.index).is_some_and(|index| index.name == rename.to)
        };
        for rename in steps.renames.iter().rev().filter(renamed) {
            self.change(rename.change(table, true)).await?;
        }
        Ok(())
    }

    async fn add_keys(
        &mut self,
        table: &Arc<Table>,
        alter: &ast::AlterTable,
        steps: &AlterSteps,
    ) -> Result<(), Failure> {
        use ast::AlterOperation as A;
        for operation in &alter.operations {
            match operation {
                A::DropForeignKey(name) => self.drop_foreign_key(table, name).await?,
                A::DropConstraint(name) if has_key(table, name) => {
                    self.drop_foreign_key(table, name).await?;
                }
                _ => {}
            }
        }
        self.add_indexes(table, steps).await?;
        for operation in &alter.operations {
            if let A::AddForeignKey(key) = operation {
                self.add_foreign_key(table, key).await?;
            }
        }
        Ok(())
    }
}

/// The table stays open to readers and writers: a LOCK that keeps them out is refused by its name.
pub(super) fn check_online_options(alter: &ast::AlterTable) -> Result<(), SqlError> {
    match alter.lock.as_deref() {
        Some(lock @ ("SHARED" | "EXCLUSIVE")) => {
            Err(SqlError::not_supported(format!("LOCK={lock}")))
        }
        _ => Ok(()),
    }
}

/// An ALTER TABLE of these operations.
fn altering(table: &ast::ObjectName, operations: Vec<ast::AlterOperation>) -> ast::AlterTable {
    ast::AlterTable { table: table.clone(), operations, algorithm: None, lock: None }
}

/// AUTO_INCREMENT = n of a table that has such a column.
pub(super) fn written_sequence(alter: &ast::AlterTable, table: &Table) -> Option<u64> {
    let value = written_value(&alter.operations)?.max(1);
    table.columns.iter().any(is_generated).then_some(value)
}

/// The last AUTO_INCREMENT = n.
pub(super) fn written_value(operations: &[ast::AlterOperation]) -> Option<u64> {
    let mut values = operations.iter().filter_map(|operation| match operation {
        ast::AlterOperation::Options(options) => options.auto_increment,
        _ => None,
    });
    values.next_back()
}

/// Does the statement read the rows for new foreign keys or CHECKs?
fn planned_keys(alter: &ast::AlterTable) -> bool {
    use ast::AlterOperation as A;
    alter.operations.iter().any(|own| matches!(own, A::AddForeignKey(_) | A::AddCheck(_)))
}

fn has_key(table: &Table, name: &str) -> bool {
    table.constraints.foreign_keys.iter().any(|key| key.name.eq_ignore_ascii_case(name))
}

/// The table with those of its foreign keys that the planned one has, too: others need no index any more.
fn without_dropped_keys(table: &Table, planned: &Table) -> Table {
    let mut kept = table.clone();
    kept.constraints.foreign_keys.retain(|key| has_key(planned, &key.name));
    kept
}

/// 1091 for a foreign key that is not there, or that the statement drops twice.
fn check_dropped_keys(table: &Table, operations: &[ast::AlterOperation]) -> Result<(), SqlError> {
    let mut left = table.clone();
    for operation in operations {
        if let ast::AlterOperation::DropForeignKey(name) = operation {
            drop_key(&mut left, name)?;
        }
    }
    Ok(())
}

/// The name with its database.
fn in_database(name: &ast::ObjectName, database: &str) -> ast::ObjectName {
    ast::ObjectName::new(Some(database.to_owned()), name.name.clone())
}

/// The sequence's column stays the first of some key: 1075.
pub(super) fn check_sequence(before: &Table, after: &Table) -> Result<(), SqlError> {
    let Some(own) = before.columns.iter().position(is_generated) else { return Ok(()) };
    let leads = |index: &types::Index| usize::from(index.parts[0].column) == own;
    if before.indexes.iter().any(leads) && !after.indexes.iter().any(leads) {
        return Err(SqlError::new(
            code::ER_WRONG_AUTO_KEY,
            "Incorrect table definition; there can be only one auto column and it must be defined as a key",
        ));
    }
    Ok(())
}

fn is_generated(column: &Column) -> bool {
    !column.hidden && matches!(column.default, ColumnDefault::AutoIncrement)
}
