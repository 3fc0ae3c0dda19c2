//! Definitions: databases, tables, indexes. Each commits what is open, then changes the control plane's catalogue; when
//! the statement ends, every node uses the new definition.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::{Refusal, SchemaChange};
use types::convert::WarningLevel;
use types::{Collation, Column, ColumnDefault, IndexKind, Table};

use super::Session;
use super::columns::Described;
use super::constraints::{CheckSteps, Constraint, constraint_named};
use super::foreign_keys::drop_key;
use crate::bind::alter::{check_changed_once, check_one_charset};
use crate::bind::functional::{has_expressions, is_functional};
use crate::bind::table::{check_name, check_written_name, collation_of, index_definition};
use crate::bind::view::{find_base_view, find_view};
use crate::bind::{Binder, find_base_table, find_table};
use crate::error::{SqlError, code};
use crate::execute::Failure;
use crate::execute::write::{joined_entry, replaces_generated};
use crate::information_schema;
use crate::parser::ast::{self, Statement};
use crate::show::quoted;

/// How long DROP INDEX waits for a unique key to end: 10 seconds, in steps.
const DROP_WAIT_MS: u64 = 5;
const DROP_WAIT_COUNT_MAX: u32 = 2_000;

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
                let source = self.own_table(source)?;
                let mut table = (*source).clone();
                // As in MySQL, foreign keys are not copied.
                table.constraints.foreign_keys.clear();
                table.constraints.referenced_by.clear();
                table.database = database;
                table.name.clone_from(&create.name.name);
                self.name_copied_checks(&mut table)?;
                if let Some(sequence) = &mut table.auto_increment {
                    sequence.start = 1;
                }
                table
            }
            None => {
                let environment = self.environment.clone();
                let (mut table, warnings) = {
                    let mut binder = Binder::new(&catalogue, &environment, &*self, &[]);
                    let table = binder.table_definition(create, &database, collation)?;
                    (table, binder.into_warnings())
                };
                warnings.into_iter().for_each(|warning| self.push_condition(warning));
                self.key_context(&catalogue).add_all(&mut table, &create.foreign_keys)?;
                for (position, index) in table.indexes.iter().enumerate() {
                    self.warn_of_twin(&table, &table.indexes[..position], index);
                }
                table
            }
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

    async fn add_index(
        &mut self,
        table: &Arc<Table>,
        definition: &ast::IndexDefinition,
    ) -> Result<(), Failure> {
        let mut steps = AlterSteps::default();
        let mut planned = (**table).clone();
        let index = plan_index(&mut planned, definition, &mut steps)?;
        self.warn_of_twin(&planned, &planned.indexes, &index);
        steps.added.push(index);
        self.add_indexes(table, &steps).await?;
        match steps.drops_first(table) {
            true => Ok(()),
            false => self.drop_indexes(table, &steps).await,
        }
    }

    /// Adds an index that a foreign key needs. Those that were generated for others and that it replaces are dropped by the
    /// caller.
    pub(super) async fn add_generated_index(
        &mut self,
        table: &Arc<Table>,
        index: types::Index,
    ) -> Result<Vec<types::Index>, Failure> {
        let mut steps = AlterSteps::default();
        let mut planned = (**table).clone();
        replace_generated(&mut planned, &index.parts, &index.name, &mut steps);
        steps.added.push(index);
        self.add_indexes(table, &steps).await?;
        Ok(steps.dropped)
    }

    /// Warns of an index that has the columns of another one.
    pub(super) fn warn_of_twin(
        &mut self,
        table: &Table,
        others: &[types::Index],
        index: &types::Index,
    ) {
        let is_twin = |other: &types::Index| {
            let is_unique = |own: &types::Index| matches!(own.kind, IndexKind::Unique { .. });
            other.kind != IndexKind::Primary
                && is_unique(other) == is_unique(index)
                && other.parts == index.parts
        };
        if index.kind != IndexKind::Primary && others.iter().any(is_twin) {
            let error = SqlError::new(
                code::ER_DUP_INDEX,
                format!(
                    "Duplicate index '{}' defined on the table '{}.{}'. This is deprecated and will be disallowed in a \
                     future release.",
                    index.name, table.database, table.name
                ),
            );
            self.note(WarningLevel::Warning, error);
        }
    }

    pub(super) async fn add_index_of(
        &mut self,
        table: &Arc<Table>,
        index: types::Index,
    ) -> Result<(), Failure> {
        let unique = matches!(index.kind, IndexKind::Unique { .. });
        let (name, parts) = (index.name.clone(), index.parts.clone());
        match self.client.create_index(table, index).await {
            Ok(_) => Ok(()),
            Err(refusal) => {
                let duplicate = unique && matches!(refusal, client::Refusal::DuplicateKey { .. });
                let mut failure = self.refused(refusal);
                if duplicate {
                    let entry = self.duplicate_key(table, &parts).await.unwrap_or_default();
                    let key = format!("{}.{name}", table.name);
                    failure.error = SqlError::duplicate_entry(&entry, &key);
                }
                Err(failure)
            }
        }
    }

    /// The first key that several rows have, as 1062 shows it. None if it is not found.
    async fn duplicate_key(&mut self, table: &Table, parts: &[types::IndexPart]) -> Option<String> {
        let columns: Vec<&Column> =
            parts.iter().map(|part| &table.columns[usize::from(part.column)]).collect();
        let keys = parts.iter().zip(&columns).map(|(part, column)| match part.prefix {
            Some(length) => format!("left({}, {length})", quoted(&column.name)),
            None => quoted(&column.name),
        });
        let keys = keys.collect::<Vec<String>>().join(", ");
        let known: Vec<String> =
            columns.iter().map(|own| format!("{} is not null", quoted(&own.name))).collect();
        let text = format!(
            "select {keys} from {}.{} where {} group by {keys} having count(*) > 1 order by {keys} limit 1",
            quoted(&table.database),
            quoted(&table.name),
            known.join(" and "),
        );
        let rows = self.committed_rows(&text, self.environment.collation).await.ok()?;
        let values = rows.first()?.iter().map(types::Value::as_ref).zip(columns.iter().copied());
        Some(joined_entry(values))
    }

    async fn drop_index(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Failure> {
        let mut without = (**table).clone();
        let index = remove_index(&mut without, name)?;
        check_sequence(table, &without)?;
        self.check_dropped_index(table, &without)?;
        self.drop_index_of(table, &index).await
    }

    pub(super) async fn drop_index_of(
        &mut self,
        table: &Arc<Table>,
        index: &types::Index,
    ) -> Result<(), Failure> {
        let (index, name) = (index.id, index.name.clone());
        self.change(SchemaChange::DropIndex { table: table.id, index, name }).await?;
        // A unique key goes in steps (see `IndexState`); for the user it is gone when no writer makes entries any more.
        for _ in 0..DROP_WAIT_COUNT_MAX {
            let catalogue = self.catalogue();
            let left = catalogue.table_by_id(table.id).and_then(|table| table.index(index));
            if left.is_none_or(|left| !left.state.has_entries_made()) {
                break;
            }
            if self.check_killed().is_err() {
                // It is dropped all the same.
                break;
            }
            self.client.client().sleep_ms(DROP_WAIT_MS).await;
        }
        Ok(())
    }

    async fn alter_table(&mut self, alter: &ast::AlterTable) -> Result<u64, Failure> {
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

    /// Foreign keys go before indexes change, and come behind those that come. If one does not come, what was done before is taken back.
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

    /// Adds and renames indexes that have been checked. An index that is added may be refused by the rows: then those that were
    /// added before are dropped again, names are as they were, and no index is gone that had to make no room.
    async fn add_indexes(&mut self, table: &Arc<Table>, steps: &AlterSteps) -> Result<(), Failure> {
        // Each change gives the table a new version.
        if steps.drops_first(table) {
            self.drop_indexes(table, steps).await?;
        }
        for rename in &steps.renames {
            self.change(rename.change(table, false)).await?;
        }
        for (number, index) in steps.added.iter().enumerate() {
            let current = self.newest(table);
            if let Err(failure) = self.add_index_of(&current, index.clone()).await {
                for added in &steps.added[..number] {
                    let current = self.newest(table);
                    if let Some(added) = current.index_named(&added.name) {
                        self.drop_index_of(&current, added).await?;
                    }
                }
                for rename in steps.renames.iter().rev() {
                    self.change(rename.change(table, true)).await?;
                }
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Drops indexes that have been checked.
    async fn drop_indexes(
        &mut self,
        table: &Arc<Table>,
        steps: &AlterSteps,
    ) -> Result<(), Failure> {
        for index in &steps.dropped {
            let table = self.newest(table);
            self.drop_index_of(&table, index).await?;
        }
        Ok(())
    }

    fn newest(&self, table: &Arc<Table>) -> Arc<Table> {
        self.catalogue().table_by_id(table.id).cloned().unwrap_or_else(|| table.clone())
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

/// What an ALTER TABLE does, checked.
#[derive(Default)]
struct AlterSteps {
    dropped: Vec<types::Index>,
    /// In an order in which each new name is free.
    renames: Vec<IndexRename>,
    added: Vec<types::Index>,
    renamed: Option<ast::ObjectName>,
}

impl AlterSteps {
    /// Does an index take the place of another one, which must go before?
    fn drops_first(&self, table: &Table) -> bool {
        let is_dropped =
            |name: &str| self.dropped.iter().any(|own| own.name.eq_ignore_ascii_case(name));
        self.added.iter().any(|added| is_dropped(&added.name))
            || self.renames.iter().any(|rename| {
                let mut others = self.dropped.iter().filter(|own| own.id != rename.index);
                others.any(|own| own.name.eq_ignore_ascii_case(&rename.to))
            })
            || crate::bind::table::INDEX_COUNT_MAX < table.indexes.len() + self.added.len()
    }
}

/// The index of a definition. The indexes that were generated for foreign keys and that it replaces are dropped.
fn plan_index(
    planned: &mut Table,
    definition: &ast::IndexDefinition,
    steps: &mut AlterSteps,
) -> Result<types::Index, SqlError> {
    if planned.indexes.iter().any(|index| index.is_generated) {
        let mut bare = planned.clone();
        bare.indexes.retain(|index| !index.is_generated);
        let index = index_definition(&bare, definition)?;
        replace_generated(planned, &index.parts, &index.name, steps);
    }
    index_definition(planned, definition)
}

/// Takes the indexes out that an index of these parts replaces. One of the same name gets another one until it goes: foreign keys
/// need an index at any time.
fn replace_generated(
    planned: &mut Table,
    parts: &[types::IndexPart],
    name: &str,
    steps: &mut AlterSteps,
) {
    let all = std::mem::take(&mut planned.indexes);
    let (replaced, kept) = all.into_iter().partition(|own| replaces_generated(parts, own));
    planned.indexes = kept;
    for mut index in replaced {
        if index.name.eq_ignore_ascii_case(name) {
            let is_free = |new: &String| planned.index_named(new).is_none();
            let mut names = (1..).map(|number| format!("{name}_{number}"));
            let to = names.find(is_free).expect("some number is free");
            let from = std::mem::replace(&mut index.name, to.clone());
            steps.renames.push(IndexRename { index: index.id, from, to });
        }
        steps.dropped.push(index);
    }
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

struct IndexRename {
    index: types::IndexId,
    from: String,
    to: String,
}

impl IndexRename {
    fn change(&self, table: &Table, back: bool) -> SchemaChange {
        let (from, to) = if back { (&self.to, &self.from) } else { (&self.from, &self.to) };
        SchemaChange::RenameIndex {
            table: table.id,
            index: self.index,
            from: from.clone(),
            to: to.clone(),
        }
    }
}

/// The name with its database.
fn in_database(name: &ast::ObjectName, database: &str) -> ast::ObjectName {
    ast::ObjectName::new(Some(database.to_owned()), name.name.clone())
}

fn rename_step(table: &Table, from: &str, to: &str) -> Result<IndexRename, SqlError> {
    let wrong_name = |name: &str| {
        SqlError::new(code::ER_WRONG_NAME_FOR_INDEX, format!("Incorrect index name '{name}'"))
    };
    for name in [from, to] {
        if name.eq_ignore_ascii_case("PRIMARY") {
            return Err(wrong_name(name));
        }
    }
    check_name(to, code::ER_WRONG_NAME_FOR_INDEX, "index")?;
    let index = table.index_named(from).ok_or_else(|| {
        SqlError::new(
            code::ER_KEY_DOES_NOT_EXITS,
            format!("Key '{from}' doesn't exist in table '{}'", table.name),
        )
    })?;
    Ok(IndexRename { index: index.id, from: index.name.clone(), to: to.to_string() })
}

/// Renames the indexes of a definition, and puts the renames into an order in which each new name is free. 1061 for a name
/// that two indexes would have.
fn order_renames(table: &mut Table, renames: &mut Vec<IndexRename>) -> Result<(), SqlError> {
    let mut left = std::mem::take(renames);
    while !left.is_empty() {
        let is_free = |rename: &IndexRename| {
            table.index_named(&rename.to).is_none_or(|other| other.id == rename.index)
        };
        let Some(position) = left.iter().position(is_free) else {
            let circle = |rename: &IndexRename| {
                left.iter().any(|other| other.from.eq_ignore_ascii_case(&rename.to))
            };
            return Err(match left.iter().find(|rename| !circle(rename)) {
                Some(rename) => SqlError::duplicate_key_name(&rename.to),
                None => SqlError::not_supported("RENAME INDEX of indexes that exchange names"),
            });
        };
        let rename = left.remove(position);
        let mut indexes = table.indexes.iter_mut();
        let index = indexes.find(|index| index.id == rename.index).expect("it was found by name");
        index.name.clone_from(&rename.to);
        index.is_generated = false;
        renames.push(rename);
    }
    Ok(())
}

/// Takes an index out of a definition; 1091 if it is not there.
fn remove_index(table: &mut Table, name: &str) -> Result<types::Index, SqlError> {
    if name.eq_ignore_ascii_case("PRIMARY") {
        return Err(SqlError::not_supported("DROP PRIMARY KEY"));
    }
    let found = table.indexes.iter().position(|index| index.name.eq_ignore_ascii_case(name));
    let position = found.ok_or_else(|| {
        SqlError::new(
            code::ER_CANT_DROP_FIELD_OR_KEY,
            format!("Can't DROP '{name}'; check that column/key exists"),
        )
    })?;
    Ok(table.indexes.remove(position))
}

/// The sequence's column stays the first of some key: 1075.
fn check_sequence(before: &Table, after: &Table) -> Result<(), SqlError> {
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
