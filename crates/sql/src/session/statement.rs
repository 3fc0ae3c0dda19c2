//! Statements without a plan: transactions, SET, SHOW, administration, definitions.

use types::Value;
use types::convert::{WarningLevel, to_integer};

use super::Session;
use super::query::has_plan;
use crate::bind::view::find_view;
use crate::error::{SqlError, code};
use crate::parser::ast::{self, Statement};
use crate::plan::{Plan, PlanKind};
use crate::result::Discard;
use crate::server::Counters;
use crate::show::Table as ShowTable;
use crate::show::explain::ExplainFormat;
use crate::statement::life::PlanSource;
use crate::{KillKind, OkInfo, ResultSink};

impl Session {
    /// Runs any statement from its syntax tree.
    pub(super) async fn statement(
        &mut self,
        statement: &Statement,
        params: Vec<Value>,
        sink: &mut dyn ResultSink,
        more: bool,
    ) -> Result<(), SqlError> {
        if let Statement::LoadData(load) = statement {
            self.check_load(load, sink)?;
        }
        if has_plan(statement) {
            let source = PlanSource::Text { statement, digest: None };
            return self.run_statement(&source, params, 0, sink, more).await.map(drop);
        }
        // Diagnostic statements tell about the one before.
        let keeps_diagnostics = match statement {
            Statement::Show(show) => matches!(
                **show,
                ast::Show::Warnings { .. }
                    | ast::Show::Errors { .. }
                    | ast::Show::CountWarnings
                    | ast::Show::CountErrors
            ),
            _ => false,
        };
        if !keeps_diagnostics {
            self.frame.diagnostics.begin();
        }
        self.frame.insert_id = None;
        self.check_primary_key(statement)?;
        match statement {
            Statement::Empty => Err(SqlError::new(code::ER_EMPTY_QUERY, "Query was empty")),
            Statement::Begin { read_only, consistent_snapshot } => {
                if let Err(failure) = self.begin(*read_only, *consistent_snapshot).await {
                    return Err(self.fail(failure).await);
                }
                self.done(sink, more)
            }
            Statement::Commit(completion) => {
                Counters::add(&self.counters().com_commit, 1);
                let completion = &self.completed(completion)?;
                let last = self.transaction;
                if let Err(failure) = self.commit_transaction().await {
                    return Err(self.fail(failure).await);
                }
                self.chain(completion, last);
                self.done(sink, more)
            }
            Statement::Rollback(completion) => {
                Counters::add(&self.counters().com_rollback, 1);
                let completion = &self.completed(completion)?;
                let last = self.transaction;
                self.rollback_transaction().await;
                self.chain(completion, last);
                self.done(sink, more)
            }
            Statement::Savepoint(name) => {
                self.savepoint(name);
                self.done(sink, more)
            }
            Statement::RollbackTo(name) => {
                self.roll_back_to(name).await?;
                self.done(sink, more)
            }
            Statement::ReleaseSavepoint(name) => {
                self.release_savepoint(name)?;
                self.done(sink, more)
            }
            Statement::Set(items) => {
                self.set(items).await?;
                self.done(sink, more)
            }
            Statement::Use(name) => {
                self.change_database(name)?;
                self.done(sink, more)
            }
            Statement::Show(show) => {
                let table = self.show(show).await?;
                self.send(table, sink, more).await
            }
            Statement::Describe { table, column } => {
                let table = self.describe(table, column.as_deref())?;
                self.send(table, sink, more).await
            }
            Statement::Explain { analyze, format, statement } => {
                let written = format.as_deref().map(ExplainFormat::by_name).transpose()?;
                let table = match (analyze, written) {
                    (true, None | Some(ExplainFormat::Tree)) => {
                        Box::pin(self.explain_analyze(statement, params)).await?
                    }
                    (true, Some(_)) => {
                        let name = format.as_deref().unwrap_or_default();
                        let feature = format!("EXPLAIN ANALYZE with {name} format");
                        return Err(SqlError::not_supported(feature));
                    }
                    (false, written) => {
                        let format = written.unwrap_or_else(|| self.explain_format());
                        self.explain(format, statement, &params).await?
                    }
                };
                self.send(table, sink, more).await
            }
            Statement::Kill { query, id } => {
                self.kill_connection(*query, id).await?;
                self.done(sink, more)
            }
            Statement::Do(exprs) => {
                self.values(&exprs.iter().collect::<Vec<_>>()).await?;
                if let Some(id) = self.frame.insert_id {
                    self.last_insert_id = id;
                }
                self.done(sink, more)
            }
            Statement::Prepare { name, source } => {
                self.prepare_named(name, source).await?;
                self.done(sink, more)
            }
            Statement::Execute { name, using } => {
                Box::pin(self.execute_named(name, using, sink, more)).await
            }
            Statement::Deallocate { name } => {
                self.deallocate_named(name)?;
                self.done(sink, more)
            }
            Statement::LockTables(tables) => {
                if let Err(failure) = self.lock_tables(tables).await {
                    return Err(self.fail(failure).await);
                }
                self.done(sink, more)
            }
            Statement::UnlockTables => {
                if let Err(failure) = self.unlock_tables().await {
                    return Err(self.fail(failure).await);
                }
                self.done(sink, more)
            }
            Statement::Flush { what: _, tables: _, with_read_lock } => {
                if *with_read_lock {
                    return Err(SqlError::not_supported("FLUSH TABLES WITH READ LOCK"));
                }
                self.done(sink, more)
            }
            Statement::TableMaintenance { kind, tables } => {
                if let Err(failure) = self.begin_definition().await {
                    return Err(self.fail(failure).await);
                }
                let table = self.maintain(*kind, tables).await?;
                self.send(table, sink, more).await
            }
            Statement::Unsupported { feature } => Err(SqlError::not_supported(feature)),
            Statement::Account(account) => Err(SqlError::not_supported(account.feature())),
            Statement::CreateTable(create) if create.as_query.is_some() => {
                let (changed, info) = match self.create_table_select(create).await {
                    Ok(created) => created,
                    Err(failure) => return Err(self.fail(failure).await),
                };
                self.row_count = i64::try_from(changed.affected).unwrap_or(i64::MAX);
                let ok = OkInfo {
                    affected_rows: changed.affected,
                    last_insert_id: changed.insert_id,
                    info,
                    ..self.ok_info(more)
                };
                sink.ok(&ok);
                Ok(())
            }
            Statement::Truncate { .. }
            | Statement::CreateDatabase { .. }
            | Statement::AlterDatabase { .. }
            | Statement::DropDatabase { .. }
            | Statement::CreateTable(_)
            | Statement::CreateView(_)
            | Statement::DropView { .. }
            | Statement::DropTable { .. }
            | Statement::AlterTable(_)
            | Statement::RenameTable(_)
            | Statement::CreateIndex { .. }
            | Statement::DropIndex { .. } => {
                let affected = match self.define(statement).await {
                    Ok(affected) => affected,
                    Err(failure) => return Err(self.fail(failure).await),
                };
                self.row_count = i64::try_from(affected).unwrap_or(i64::MAX);
                let ok = OkInfo { affected_rows: affected, ..self.ok_info(more) };
                sink.ok(&ok);
                Ok(())
            }
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::LoadData(_) => unreachable!("statements with a plan were taken above"),
        }
    }

    /// The form of EXPLAIN without FORMAT: explain_format.
    fn explain_format(&self) -> ExplainFormat {
        let kept = self.settings.kept.get("explain_format").cloned();
        let name = kept.or_else(|| self.server.global("explain_format"));
        name.and_then(|name| ExplainFormat::by_name(&name).ok())
            .unwrap_or(ExplainFormat::Traditional)
    }

    /// EXPLAIN ANALYZE: runs a SELECT as if the client had sent it, drops its rows, and shows what each step has done.
    async fn explain_analyze(
        &mut self,
        statement: &Statement,
        params: Vec<Value>,
    ) -> Result<ShowTable, SqlError> {
        if !matches!(statement, Statement::Query(_)) {
            return Err(SqlError::not_supported("EXPLAIN ANALYZE of this statement"));
        }
        self.frame.profile = Some(Box::default());
        let source = PlanSource::Explained(statement);
        let ran = self.run_statement(&source, params.clone(), 0, &mut Discard, false).await;
        let profile = self.frame.profile.take();
        self.explain_as_text(ExplainFormat::Tree, &*ran?, &params, profile.as_deref()).await
    }

    /// The plan of a SELECT for EXPLAIN ANALYZE. INTO assigns nothing, and the short way of a row by its primary key is not taken: it
    /// counts nothing.
    pub(crate) async fn analyzed_plan(
        &self,
        statement: &Statement,
        params: &[Value],
    ) -> Result<Plan, SqlError> {
        let mut plan = self.explained_plan(statement, params).await?;
        if let PlanKind::Select(select) = &mut plan.kind {
            select.into_variables.clear();
            select.lookup = None;
        }
        Ok(plan)
    }

    /// COMMIT or ROLLBACK with what completion_type adds to it.
    fn completed(&self, written: &ast::Completion) -> Result<ast::Completion, SqlError> {
        if written.release == Some(true) {
            return Err(SqlError::not_supported("RELEASE"));
        }
        let mut completion = *written;
        if completion.chain.is_none() && self.kept_is("completion_type", "CHAIN") {
            completion.chain = Some(true);
        }
        Ok(completion)
    }

    /// COMMIT AND CHAIN: a new transaction with the same characteristics.
    fn chain(&mut self, completion: &ast::Completion, last: super::transaction::Transaction) {
        if completion.chain == Some(true) {
            self.transaction = super::transaction::Transaction { explicit: true, ..last };
        }
    }

    pub(super) fn done(&mut self, sink: &mut dyn ResultSink, more: bool) -> Result<(), SqlError> {
        self.row_count = 0;
        sink.ok(&self.ok_info(more));
        Ok(())
    }

    /// Sends a small result set.
    async fn send(
        &mut self,
        table: ShowTable,
        sink: &mut dyn ResultSink,
        more: bool,
    ) -> Result<(), SqlError> {
        self.row_count = -1;
        sink.columns(&table.columns);
        for row in &table.rows {
            let values: Vec<types::ValueRef<'_>> = row.iter().map(Value::as_ref).collect();
            sink.row(&values);
            if sink.is_full() {
                sink.drained().await;
            }
        }
        self.found_rows = table.rows.len() as u64;
        sink.end_of_rows(&self.ok_info(more));
        Ok(())
    }

    async fn kill_connection(&mut self, query: bool, id: &ast::Expr) -> Result<(), SqlError> {
        let id = self.scalar(id).await?;
        let mut convert = types::convert::ConvertContext::default();
        let number = to_integer(id.as_ref(), &mut convert);
        let unknown = || SqlError::no_such_thread(u64::try_from(number).unwrap_or(0));
        let target = u32::try_from(number).map_err(|_| unknown())?;
        let kind = if query { KillKind::Query } else { KillKind::Connection };
        if target == self.info.id {
            // One's own statement is this one; MySQL ends it with 1317.
            self.kill_handle().kill(kind);
            return self.check_killed();
        }
        if self.server.kill(target, kind) { Ok(()) } else { Err(unknown()) }
    }

    /// ANALYZE TABLE makes statistics anew. OPTIMIZE, CHECK, REPAIR: there is nothing to do, and MySQL's tools want an answer.
    async fn maintain(
        &mut self,
        kind: ast::TableMaintenance,
        tables: &[ast::ObjectName],
    ) -> Result<ShowTable, SqlError> {
        let operation = match kind {
            ast::TableMaintenance::Analyze => "analyze",
            ast::TableMaintenance::Optimize => "optimize",
            ast::TableMaintenance::Check => "check",
            ast::TableMaintenance::Repair => "repair",
            ast::TableMaintenance::Checksum => {
                return Err(SqlError::not_supported("CHECKSUM TABLE"));
            }
        };
        let mut answer = ShowTable::of_texts(&["Table", "Op", "Msg_type", "Msg_text"]);
        let catalogue = self.catalogue();
        let mut analyzed = Vec::new();
        for name in tables {
            let database = name
                .schema
                .clone()
                .or_else(|| self.environment.database.clone())
                .ok_or_else(SqlError::no_database)?;
            let full = format!("{database}.{}", name.name);
            let current = self.environment.database.as_deref();
            let found = match find_view(&catalogue, current, name) {
                Some(_) => Err(SqlError::wrong_object(&database, &name.name, "BASE TABLE")),
                None => crate::bind::find_table(&catalogue, current, name),
            };
            match found {
                Ok(table) => {
                    analyzed.push(table.id);
                    answer.push_texts(&[&full, operation, "status", "OK"]);
                }
                Err(error) => {
                    answer.push_texts(&[&full, operation, "Error", &error.message]);
                    answer.push_texts(&[&full, operation, "status", "Operation failed"]);
                    self.note(WarningLevel::Error, error);
                }
            }
        }
        if kind == ast::TableMaintenance::Analyze {
            self.analyze(&analyzed).await;
        }
        Ok(answer)
    }
}
