//! ALTER TABLE that changes rows, while others read and write them (decision 31).
//!
//! The table in its new definition is a table of its own, under a hidden name, and every writer of the old one keeps it as a
//! copy ([`crate::execute::write`]). The session copies the rows that were there before, some at a time, each under its lock.
//! When all are copied the table is closed for a moment: transactions that have used it end, others wait. Then the copy has its
//! place and its name. Whatever fails before that leaves the table as it was, and the copy is dropped.

use std::sync::Arc;

use client::{
    Batch, Columns, Durability, Lock, Op, OpKind, OpResult, Refusal, ScanBatch, SchemaChange,
};
use types::wire::Bytes;
use types::{
    Catalogue, ColumnSource, ColumnType, CopyState, IndexState, RowView, SqlMode, Table, TableCopy,
    TableId, Value,
};

use super::Session;
use super::definition::Alteration;
use super::foreign_keys::{check_referenced_index, needed, orphans_text};
use super::instant::instant_definition;
use super::schema::written_sequence;
use crate::bind::Binder;
use crate::bind::alter::Altered;
use crate::error::{SqlError, code};
use crate::execute::evaluate::shifted;
use crate::execute::write::{RowCopier, leading_index};
use crate::execute::{Context, Failure};
use crate::parser::ast::{self, AlterOperation};
use crate::parser::parse_one;
use crate::plan::Plan;
use crate::server::BrokenRule;
use crate::show::quoted;

/// Rows and bytes that one transaction copies.
const ROWS_PER_TRANSACTION: usize = 100;
const BYTES_PER_TRANSACTION: usize = 1 << 20;
/// Attempts of a transaction that lost a deadlock or waited too long for a lock, before the statement fails.
const ATTEMPTS_MAX: u32 = 20;
const LOCK_WAIT_TIMEOUT_MS: u32 = 50_000;
/// How long a closed table waits for the transactions that have used it before it is opened again, and for how long then.
const CLOSED_MS: u64 = 1_000;
const OPEN_AGAIN_MS: u64 = 500;

impl Session {
    /// Rewrites the table, or changes its definition where its rows can stay as they are, and executes the rest of the statement;
    /// the number of rows.
    pub(super) async fn rewrite_table(
        &mut self,
        alter: &ast::AlterTable,
        table: &Arc<Table>,
    ) -> Result<u64, Failure> {
        let renamed = self.rename_target(alter, table)?;
        let altered = self.rewritten(alter, table)?;
        let instant = instant_definition(alter, table, &altered);
        if instant.is_none() && alter.algorithm.as_deref() == Some("INSTANT") {
            return Err(no_instant().into());
        }
        if let Some(column) = &altered.zero_date {
            self.refuse_zero_date(table, column).await?;
        }
        if let Some(definition) = instant {
            return self.alter_instantly(table, &definition.columns).await;
        }
        let copy = self.create_copy(table, &altered).await?;
        let rewritten = self.fill_and_replace(alter, table, &altered, copy).await;
        self.show_progress(None);
        let row_count = match rewritten {
            Ok(row_count) => row_count,
            Err(failure) => {
                self.drop_copy(table.id, copy).await;
                return Err(failure);
            }
        };
        let catalogue = self.catalogue();
        let new = catalogue.table_by_id(copy).cloned().ok_or_else(SqlError::definition_changed)?;
        for operation in &alter.operations {
            if let AlterOperation::AddForeignKey(key) = operation {
                self.add_foreign_key(&new, key).await?;
            }
        }
        if let Some(target) = renamed {
            let source = ast::ObjectName::new(Some(table.database.clone()), table.name.clone());
            self.rename_table(&source, &target).await?;
        }
        Ok(row_count)
    }

    /// The definition that the table is to have.
    fn rewritten(
        &mut self,
        alter: &ast::AlterTable,
        table: &Arc<Table>,
    ) -> Result<Altered, SqlError> {
        // The names of its own CHECKs are free.
        let mut others = (*self.catalogue()).clone();
        others.tables.remove(&table.id);
        let altered = self.altered_table(&Arc::new(others), table, &alter.operations)?;
        check_keys_of_others(table, &altered.table)?;
        Ok(altered)
    }

    /// The definition that the operations make of a table, with the warnings of it. The names of CHECKs are free unless a table of this
    /// catalogue has them.
    pub(super) fn altered_table(
        &mut self,
        catalogue: &Arc<Catalogue>,
        table: &Arc<Table>,
        operations: &[AlterOperation],
    ) -> Result<Altered, SqlError> {
        let utc = self.statement_clock();
        let offset = self.settings.time_zone_offset_seconds;
        let now = |column: &types::Column| {
            let is_moment = matches!(column.column_type, ColumnType::Timestamp { .. });
            let moment = if is_moment { utc } else { shifted(utc, offset) };
            Value::DateTime(moment.truncate(column.column_type.fsp()))
        };
        let mut binder = Binder::new(catalogue, &self.environment, &*self, &[]);
        let altered = binder.altered_table(table, operations, &now)?;
        let warnings = binder.into_warnings();
        warnings.into_iter().for_each(|warning| self.push_condition(warning));
        let added = operations.iter().filter_map(|operation| match operation {
            AlterOperation::AddIndex(index) => Some(&**index),
            _ => None,
        });
        self.note_algorithms(&altered.table.engine, added);
        for (position, index) in altered.table.indexes.iter().enumerate() {
            if table.index_named(&index.name).is_none() {
                self.warn_of_twin(&altered.table, &altered.table.indexes[..position], index);
            }
        }
        Ok(altered)
    }

    /// 1292 for a column of zero dates, if it would have any.
    async fn refuse_zero_date(&mut self, table: &Table, column: &str) -> Result<(), Failure> {
        let text =
            format!("select 1 from {}.{} limit 1", quoted(&table.database), quoted(&table.name));
        let collation = self.environment.collation;
        if self.committed_rows(&text, collation).await?.is_empty() {
            return Ok(());
        }
        Err(zero_date(column).into())
    }

    /// Makes the empty copy.
    async fn create_copy(&mut self, table: &Table, altered: &Altered) -> Result<TableId, Failure> {
        let mut copy = altered.table.clone();
        copy.name = self.unfinished_name();
        let name = copy.name.clone();
        self.change(SchemaChange::CreateTable(Box::new(copy))).await?;
        let created = self.catalogue().table(&table.database, &name).map(|table| table.id);
        Ok(created.ok_or_else(|| SqlError::unknown_database(&table.database))?)
    }

    /// Drops a copy, together with its entry in the definition of its table. KILL does not reach this.
    async fn drop_copy(&mut self, table: TableId, copy: TableId) {
        self.revert_definition(table, &mut |table| match &table.rewriting.copy {
            Some(own) if own.table == copy => {
                table.rewriting.copy = None;
                Ok(())
            }
            _ => Err(SqlError::definition_changed()),
        })
        .await;
        if self.catalogue().table_by_id(copy).is_some_and(|copy| copy.is_open()) {
            let mut definitions = self.client.client().session();
            // Refused only when it is gone already.
            let _ = definitions.change_schema(SchemaChange::DropTable { id: copy }).await;
        }
    }

    async fn fill_and_replace(
        &mut self,
        alter: &ast::AlterTable,
        table: &Table,
        altered: &Altered,
        copy: TableId,
    ) -> Result<u64, Failure> {
        let state = Some(TableCopy {
            table: copy,
            state: CopyState::DeleteOnly,
            sources: altered.sources.clone(),
            lenient: !self.settings.sql_mode.is_strict(),
            filler: self.boot(),
        });
        let definition = definition_of(table);
        self.alter_definition(table.id, &mut |table| {
            // What the statement was planned for.
            if definition_of(table) != definition {
                return Err(SqlError::definition_changed());
            }
            table.rewriting.copy = state.clone();
            Ok(())
        })
        .await?;
        self.set_copy_state(table.id, copy, CopyState::Building).await?;
        let row_count = self.fill_copy(table.id).await?;
        if !altered.keeps_keys {
            self.check_all_copied(table.id, copy).await?;
        }
        self.check_new_keys(alter, copy).await?;
        self.client
            .await_disks(&|| self.check_killed().is_err())
            .await
            .map_err(|refusal| self.refused(refusal))?;
        self.check_killed()?;
        self.show_progress(Some("waiting for table metadata lock".into()));
        let close = &mut |table: &mut Table| into_state(table, copy, CopyState::Closed);
        let open = &mut |table: &mut Table| into_state(table, copy, CopyState::Building);
        let replace = async |session: &mut Session| {
            session.carry_sequence(alter, table, altered, copy).await?;
            let version = session.newest_version(table.id)?;
            session.change(SchemaChange::ReplaceTable { table: table.id, version }).await
        };
        let is_replaced = |session: &Session| {
            let catalogue = session.catalogue();
            let copy = catalogue.table_by_id(copy);
            copy.is_some_and(|copy| copy.rewriting.copy_of.is_none())
        };
        self.change_closed(table.id, (close, open), replace, &is_replaced).await?;
        Ok(row_count)
    }

    fn newest_version(&self, table: TableId) -> Result<types::SchemaVersion, SqlError> {
        let catalogue = self.catalogue();
        let table = catalogue.table_by_id(table).ok_or_else(SqlError::definition_changed)?;
        Ok(table.version)
    }

    async fn set_copy_state(
        &mut self,
        table: TableId,
        copy: TableId,
        state: CopyState,
    ) -> Result<(), Failure> {
        self.alter_definition(table, &mut |table| into_state(table, copy, state)).await
    }

    /// Closes the table, and makes a change of it when no transaction uses it. It is open in between, while old transactions or other
    /// changes last: a transaction that waits for this table may be one that they wait for.
    pub(super) async fn change_closed(
        &mut self,
        table: TableId,
        (close, open): (Alteration<'_>, Alteration<'_>),
        mut change: impl AsyncFnMut(&mut Session) -> Result<(), Failure>,
        is_changed: &dyn Fn(&Session) -> bool,
    ) -> Result<(), Failure> {
        let limit_ms = self.kept_number("lock_wait_timeout").saturating_mul(1_000);
        let mut waited_ms = 0;
        loop {
            let limit = self.time_limit(CLOSED_MS);
            let changing = async {
                self.alter_definition(table, close).await?;
                change(self).await
            };
            let failure = match limit.run(changing).await {
                (Ok(()), _) => return Ok(()),
                (Err(failure), false) => Err(failure),
                (Err(_), true) => Ok(self.refused(Refusal::LockWaitTimeout)),
            };
            self.revert_definition(table, &mut |table| match table.is_open() {
                true => Err(SqlError::definition_changed()),
                false => open(table),
            })
            .await;
            // It may be done, though its adoption lasts.
            if is_changed(self) {
                return Ok(());
            }
            let failure = failure?;
            self.check_killed()?;
            waited_ms += CLOSED_MS;
            if limit_ms <= waited_ms {
                return Err(failure);
            }
            self.client.client().sleep_ms(OPEN_AGAIN_MS).await;
            self.check_killed()?;
            waited_ms += OPEN_AGAIN_MS;
        }
    }

    /// A plan without rows: the context in which rows are copied needs one.
    pub(super) fn copying_plan(&self, catalogue: &Arc<Catalogue>) -> Result<Plan, SqlError> {
        let (statement, _) = parse_one(b"select 1", SqlMode::default()).map_err(SqlError::from)?;
        let environment = Arc::clone(&self.environment);
        Binder::new(catalogue, &environment, self, &[]).plan(&statement)
    }

    /// Copies the rows that were there when every writer began to keep the copy; their number.
    async fn fill_copy(&mut self, table: TableId) -> Result<u64, Failure> {
        let catalogue = self.catalogue();
        let table = catalogue.table_by_id(table).ok_or_else(SqlError::definition_changed)?.clone();
        let plan = self.copying_plan(&catalogue)?;
        let is_strict = self.settings.sql_mode.is_strict();
        let mut context = Context::new(self, &plan, Vec::new(), is_strict);
        let copy = table.rewriting.copy.as_ref().ok_or_else(SqlError::definition_changed)?;
        let copier = context.new_copier(&table, copy)?;
        let mut filler = Filler {
            layout: table.row_layout(),
            writer: context.node().session(),
            table,
            copier,
            catalogue,
            row_count: 0,
        };
        // The definition that uses the rows outlives a failure of the power, so they must.
        filler.writer.set_durability(Some(Durability::Always));
        filler.writer.set_background(true);
        // The rows are read at one snapshot by a session of their own; each is looked at again under its lock.
        let mut reader = context.node().session();
        reader.set_background(true);
        let mut cursor = reader.whole_rows(&filler.table);
        loop {
            let batch = cursor.next(&mut reader).await.map_err(|own| context.refused(own))?;
            let Some(batch) = batch else { break };
            let ScanBatch::Rows(batch) = batch else { unreachable!("rows were asked for") };
            let mut rows: Vec<&[u8]> = Vec::new();
            let mut bytes = 0;
            for position in 0..batch.len() {
                let row = batch.row(position);
                if ROWS_PER_TRANSACTION <= rows.len() || BYTES_PER_TRANSACTION < bytes + row.len() {
                    filler.copy(&mut context, &rows).await?;
                    (rows, bytes) = (Vec::new(), 0);
                }
                bytes += row.len();
                rows.push(row);
            }
            filler.copy(&mut context, &rows).await?;
        }
        reader.commit().await.map_err(|own| context.refused(own))?;
        let row_count = filler.row_count;
        let (_, warnings) = context.into_parts();
        warnings.into_iter().for_each(|warning| self.push_condition(warning));
        Ok(row_count)
    }

    /// 1062 if two rows have become one. Where keys stay as they are none can.
    async fn check_all_copied(&mut self, table: TableId, copy: TableId) -> Result<(), Failure> {
        let catalogue = self.with_copy_named(copy)?;
        let named = |id: TableId| {
            let table = &catalogue.tables[&id];
            format!("{}.{}", quoted(&table.database), quoted(&table.name))
        };
        let text = format!(
            "select (select count(*) from {}) - (select count(*) from {}) from dual limit 1",
            named(table),
            named(copy)
        );
        let name = self.catalogue().tables[&table].name.clone();
        let collation = self.environment.collation;
        let rows = self.committed_rows_of(&catalogue, &text, collation).await?;
        match &rows[0][0] {
            Value::Int(0) => Ok(()),
            _ => Err(SqlError::duplicate_entry("", &format!("{name}.PRIMARY")).into()),
        }
    }

    /// The rows have parents for the foreign keys that come: looked at before the statement cannot go back any more.
    async fn check_new_keys(
        &mut self,
        alter: &ast::AlterTable,
        copy: TableId,
    ) -> Result<(), Failure> {
        for operation in &alter.operations {
            let AlterOperation::AddForeignKey(key) = operation else { continue };
            let catalogue = self.with_copy_in_place(copy)?;
            let table = Arc::clone(&catalogue.tables[&copy]);
            let (key, _) = self.key_context(&catalogue).definition(&table, key)?;
            let collation = self.environment.collation;
            let text = orphans_text(&table, &key);
            if self.settings.foreign_key_checks
                && !self.committed_rows_of(&catalogue, &text, collation).await?.is_empty()
            {
                return Err(SqlError::no_parent(&table, &key).into());
            }
        }
        Ok(())
    }

    /// The catalogue in which statements can name the copy.
    fn with_copy_named(&self, copy: TableId) -> Result<Arc<Catalogue>, SqlError> {
        self.with_copy(copy, |name, _| name.trim_end().to_owned())
    }

    /// The catalogue in which the copy has the place and the name of its table.
    fn with_copy_in_place(&self, copy: TableId) -> Result<Arc<Catalogue>, SqlError> {
        self.with_copy(copy, |_, old| old.name.clone())
    }

    fn with_copy(
        &self,
        copy: TableId,
        name: impl FnOnce(&str, &Table) -> String,
    ) -> Result<Arc<Catalogue>, SqlError> {
        let mut catalogue = (*self.client.client().catalogue()).clone();
        let found = catalogue.tables.get(&copy).ok_or_else(SqlError::definition_changed)?;
        let mut table = (**found).clone();
        let old = table.rewriting.copy_of.and_then(|id| catalogue.tables.get(&id));
        let old = Arc::clone(old.ok_or_else(SqlError::definition_changed)?);
        table.name = name(&table.name, &old);
        if table.name == old.name {
            catalogue.tables.remove(&old.id);
        }
        let database = catalogue.databases.get_mut(&table.database.to_lowercase());
        let database = database.ok_or_else(|| SqlError::unknown_database(&table.database))?;
        database.tables.insert(table.name.clone(), copy);
        catalogue.tables.insert(copy, Arc::new(table));
        Ok(Arc::new(catalogue))
    }

    /// AUTO_INCREMENT continues the old table's values. A new or written start continues behind the greatest value.
    async fn carry_sequence(
        &mut self,
        alter: &ast::AlterTable,
        table: &Table,
        altered: &Altered,
        copy: TableId,
    ) -> Result<(), Failure> {
        let Some(sequence) = &altered.table.auto_increment else { return Ok(()) };
        let column = &altered.table.columns[usize::from(sequence.column)];
        let source = &altered.sources[usize::from(sequence.column)];
        let is_own = |own: &types::AutoIncrement| *source == ColumnSource::Column(own.column);
        let is_same = table.auto_increment.as_ref().is_some_and(is_own);
        let is_written = written_sequence(alter, &altered.table).is_some();
        let catalogue = self.catalogue();
        let [old, new] = [table.id, copy].map(|id| catalogue.table_by_id(id).cloned());
        let (Some(old), Some(new)) = (old, new) else {
            return Err(SqlError::definition_changed().into());
        };
        let next = match is_same && !is_written {
            true => {
                let next = self.client.auto_increment_next(&old).await;
                next.map_err(|refusal| self.refused(refusal))?
            }
            false => self.greatest_value(copy, &column.name).await?.saturating_add(1),
        };
        let raised = self.client.raise_auto_increment(&new, next).await;
        raised.map_err(|refusal| self.refused(refusal))
    }

    async fn greatest_value(&mut self, copy: TableId, column: &str) -> Result<u64, Failure> {
        let catalogue = self.with_copy_named(copy)?;
        let table = &catalogue.tables[&copy];
        let text = format!(
            "select max({}) from {}.{} limit 1",
            quoted(column),
            quoted(&table.database),
            quoted(&table.name)
        );
        let collation = self.environment.collation;
        let rows = self.committed_rows_of(&catalogue, &text, collation).await?;
        Ok(match rows[0][0] {
            Value::Int(value) => u64::try_from(value).unwrap_or(0),
            Value::UInt(value) => value,
            _ => 0,
        })
    }

    /// Waits until no other session rewrites a table of this name or closes it, at most lock_wait_timeout.
    pub(super) async fn await_rewriting(
        &mut self,
        names: &[&ast::ObjectName],
    ) -> Result<(), Failure> {
        let limit_ms = self.kept_number("lock_wait_timeout").saturating_mul(1_000);
        let mut waited_ms = 0;
        loop {
            let catalogue = self.catalogue();
            let is_busy = names.iter().any(|name| {
                let schema = name.schema.as_deref().or(self.environment.database.as_deref());
                let table = schema.and_then(|schema| catalogue.base_table(schema, &name.name));
                table.is_some_and(|table| {
                    table.rewriting.copy.is_some() || table.closed_by.is_some()
                })
            });
            if !is_busy {
                return Ok(());
            }
            if limit_ms <= waited_ms {
                return Err(self.refused(Refusal::LockWaitTimeout));
            }
            self.client.client().sleep_ms(OPEN_AGAIN_MS / 50).await;
            self.check_killed()?;
            waited_ms += OPEN_AGAIN_MS / 50;
        }
    }

    /// Where the statement moves the table to; None if it stays.
    pub(super) fn rename_target(
        &self,
        alter: &ast::AlterTable,
        table: &Table,
    ) -> Result<Option<ast::ObjectName>, SqlError> {
        let mut renamed = None;
        for operation in &alter.operations {
            let AlterOperation::RenameTable(target) = operation else { continue };
            crate::bind::table::check_written_name(target)?;
            let (database, _) = self.target_database(target)?;
            let is_own = database == table.database && target.name == table.name;
            if !is_own && self.catalogue().is_taken(&database, &target.name) {
                return Err(SqlError::table_exists(&target.name));
            }
            // MySQL does the last of several.
            renamed = (!is_own).then(|| target.clone());
        }
        Ok(renamed)
    }
}

/// Copies rows, one transaction after the other.
struct Filler {
    table: Arc<Table>,
    layout: types::RowLayout,
    copier: RowCopier,
    catalogue: Arc<Catalogue>,
    writer: client::Session,
    row_count: u64,
}

impl Filler {
    async fn copy(&mut self, context: &mut Context<'_>, rows: &[&[u8]]) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut attempt = 1;
        loop {
            context.check_killed()?;
            let copied = match self.copy_once(context, rows).await {
                Ok(()) => {
                    self.writer.commit().await.map_err(|own| context.refused(own.of_own_work()))
                }
                Err(failure) => Err(failure),
            };
            match copied {
                Ok(()) => {
                    self.row_count += rows.len() as u64;
                    context.show_progress(format!("copy to tmp table: {} rows", self.row_count));
                    return Ok(());
                }
                Err(failure) => {
                    self.writer.rollback().await;
                    let is_unlucky =
                        failure.rerun || failure.error.code == code::ER_LOCK_WAIT_TIMEOUT;
                    if !is_unlucky || ATTEMPTS_MAX <= attempt {
                        return Err(failure);
                    }
                    attempt += 1;
                }
            }
        }
    }

    async fn copy_once(
        &mut self,
        context: &mut Context<'_>,
        rows: &[&[u8]],
    ) -> Result<(), Failure> {
        self.writer.next_statement();
        let keys = rows.iter().map(|row| {
            let key = types::key::primary_key_of_row(&self.table, &RowView::new(&self.layout, row));
            key.expect("the key of a stored row")
        });
        let table = Arc::clone(&self.table);
        let current = match context.breaks(BrokenRule::CopiedUnlocked) {
            true => rows.iter().map(|row| Some(row.to_vec())).collect(),
            false => self.read(context, &table, keys.collect(), Lock::Shared).await?,
        };
        let mut wanted = Vec::new();
        for (number, row) in (self.row_count + 1..).zip(current) {
            let Some(row) = row else { continue };
            let of = (&*self.table, &self.layout);
            let mut warnings = Vec::new();
            wanted.push(self.copier.copied(context, of, &row, number, &mut warnings).await?);
            context.warnings.append(&mut warnings);
        }
        let keys = wanted.iter().map(|row| self.copier.key_of(row)).collect();
        let copy = Arc::clone(&self.copier.table);
        let found = self.read(context, &copy, keys, Lock::Exclusive).await?;
        let mut changes = Vec::new();
        let mut ops = Vec::new();
        for (row, there) in wanted.into_iter().zip(found) {
            if there.as_ref().is_some_and(|there| *there != row) {
                return Err(self.copier.duplicate(&row).into());
            }
            // One that a writer made may lack entries, and need not be on the disks.
            let change = self.copier.replacement(there, row);
            ops.extend(self.copier.ops(&self.catalogue, &change));
            changes.push(change);
        }
        if ops.is_empty() {
            return Ok(());
        }
        match self.writer.execute(batch(ops)).await {
            Ok(_) => Ok(()),
            Err(refusal) => Err(context.copy_refused(refusal, &self.copier, &changes).await),
        }
    }

    /// The rows of these keys, under locks.
    async fn read(
        &mut self,
        context: &Context<'_>,
        table: &Table,
        keys: Vec<Vec<u8>>,
        lock: Lock,
    ) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let ops = keys.into_iter().map(|key| Op {
            table: table.id,
            version: table.version,
            kind: OpKind::Read { key: Bytes(key), lock, filter: None, columns: Columns::All },
        });
        let result = self.writer.execute(batch(ops.collect())).await;
        let result = result.map_err(|refusal| context.refused(refusal))?;
        let rows = result.results.into_iter().flatten().map(|result| match result {
            OpResult::Row(row) => row.map(|row| row.to_vec()),
            other => unreachable!("{other:?} to a read"),
        });
        Ok(rows.collect())
    }
}

/// 1845.
pub(super) fn no_instant() -> SqlError {
    SqlError::new(
        1845,
        "ALGORITHM=INSTANT is not supported for this operation. Try ALGORITHM=COPY/INPLACE.",
    )
}

/// 1292 for rows that get a new column of zero dates.
pub(super) fn zero_date(column: &str) -> SqlError {
    let message = format!("Incorrect datetime value: '0000-00-00' for column '{column}' at row 1");
    SqlError::new(code::ER_TRUNCATED_WRONG_VALUE, message)
}

fn batch(ops: Vec<Op>) -> Batch {
    Batch { ops, lock_wait_timeout_ms: LOCK_WAIT_TIMEOUT_MS, ..Batch::default() }
}

fn into_state(table: &mut Table, copy: TableId, state: CopyState) -> Result<(), SqlError> {
    match &mut table.rewriting.copy {
        Some(own) if own.table == copy => {
            own.state = state;
            Ok(())
        }
        _ => Err(SqlError::definition_changed()),
    }
}

/// What of a definition an ALTER TABLE was planned for: all but what others may do to it meanwhile.
pub(super) fn definition_of(table: &Table) -> Vec<u8> {
    use types::wire::Wire;
    let mut table = table.clone();
    table.version = types::SchemaVersion(0);
    table.constraints.referenced_by.clear();
    table.closed_by = None;
    // They go by themselves: also a unique key that its rows have refused.
    let goes =
        |index: &types::Index| matches!(index.state, IndexState::Dropping | IndexState::Ending);
    table.indexes.retain(|index| !goes(index));
    table.to_bytes()
}

/// 1553 for an index that a foreign key needs, of the table or of its children.
fn check_keys_of_others(before: &Table, after: &Table) -> Result<(), SqlError> {
    for key in &after.constraints.foreign_keys {
        let mut own = before.constraints.foreign_keys.iter();
        let Some(own) = own.find(|own| own.name == key.name) else { continue };
        if let Some(index) = leading_index(before, &own.columns)
            && leading_index(after, &key.columns).is_none()
        {
            return Err(needed(&before.indexes[index].name));
        }
    }
    check_referenced_index(before, after)
}
