//! Prepared statements: COM_STMT_* and PREPARE, EXECUTE, DEALLOCATE.
//!
//! The syntax tree is kept, and the plan with it. The plan is made at PREPARE to check the statement and describe its
//! columns; as no parameter has a value then, one whose plan depends on their kinds is bound again at the first EXECUTE.

use std::pin::pin;
use std::sync::Arc;

use types::contain::contained;
use types::expr::ResultType;
use types::{ColumnType, Value};

use super::query::{LONG_TEXT, fits, has_plan, shown_text};
use super::{PreparedInfo, Session, unknown_handler};
use crate::bind::Environment;
use crate::error::{SqlError, code};
use crate::parser::{self, Dialect, ast};
use crate::plan::{ParamKind, Plan};
use crate::server::{CountedPrepared, Counters};
use crate::statement::life::PlanSource;
use crate::{ColumnInfo, ResultSink};

/// The default of `max_prepared_stmt_count`.
const PREPARED_COUNT_MAX: u64 = 16_382;

pub struct Prepared {
    statement: Arc<ast::Statement>,
    /// For the process list.
    text: Box<str>,
    param_count: u16,
    /// The current database of PREPARE: names without one mean it for ever.
    database: Option<String>,
    plan: Option<(Arc<Plan>, Arc<Environment>)>,
    /// Among those of all sessions of this node, as long as it is there.
    _counted: CountedPrepared,
}

/// The statement of COM_STMT_PREPARE, which is one only, and the number of its parameters.
fn parse_single(text: &[u8], dialect: Dialect) -> Result<(ast::Statement, u32), SqlError> {
    if text.contains(&b';') {
        // One statement only, perhaps with a semicolon behind it.
        let (_, consumed) = parser::parse_one(text, dialect)?;
        if consumed < text.len() {
            return Err(parser::parse_one(&text[consumed..], dialect).err().map_or_else(
                || {
                    let rest = String::from_utf8_lossy(&text[consumed..]).into_owned();
                    let near: String = rest.chars().take(80).collect();
                    SqlError::new(
                        code::ER_PARSE_ERROR,
                        format!(
                            "You have an error in your SQL syntax; check the manual that corresponds to \
                             your MySQL server version for the right syntax to use near '{near}' at line 1"
                        ),
                    )
                },
                SqlError::from,
            ));
        }
    }
    Ok(parser::parse_prepared(text, dialect)?)
}

impl Session {
    pub async fn prepare(&mut self, text: &[u8]) -> Result<PreparedInfo, SqlError> {
        let result = contained(pin!(Some(self.prepare_contained(text)))).await;
        match result {
            Ok(result) => result,
            Err(panicked) => Err(self.end_panicked(&panicked).await),
        }
    }

    async fn prepare_contained(&mut self, text: &[u8]) -> Result<PreparedInfo, SqlError> {
        self.begin_command();
        self.frame.diagnostics.begin();
        let result = self.prepare_text(text, self.settings.dialect()).await;
        if let Err(error) = &result {
            self.note_error(error);
        }
        self.end_command();
        result
    }

    async fn prepare_text(
        &mut self,
        text: &[u8],
        dialect: Dialect,
    ) -> Result<PreparedInfo, SqlError> {
        let parse = move |text: &[u8]| parse_single(text, dialect);
        let (statement, param_count) = match text.len() {
            0..LONG_TEXT => parse(text)?,
            _ => {
                let text: Box<[u8]> = text.into();
                self.compute(move || parse(&text)).await??
            }
        };
        match &statement {
            ast::Statement::Empty => {
                return Err(SqlError::new(code::ER_EMPTY_QUERY, "Query was empty"));
            }
            ast::Statement::Prepare { .. }
            | ast::Statement::Execute { .. }
            | ast::Statement::Deallocate { .. }
            | ast::Statement::LoadData(_) => {
                return Err(SqlError::new(
                    code::ER_UNSUPPORTED_PS,
                    "This command is not supported in the prepared statement protocol yet",
                ));
            }
            _ => {}
        }
        let param_count = u16::try_from(param_count).map_err(|_| {
            SqlError::new(1390, "Prepared statement contains too many placeholders")
        })?;
        let count_max = self.prepared_count_max();
        let counted = self.server.count_prepared(count_max).ok_or_else(|| {
            SqlError::new(
                code::ER_MAX_PREPARED_STMT_COUNT_REACHED,
                format!(
                    "Can't create more than max_prepared_stmt_count statements (current value: \
                     {count_max})"
                ),
            )
        })?;
        let database = self.environment.database.clone();
        let mut prepared = Prepared {
            statement: Arc::new(statement),
            text: shown_text(text, dialect.charset).into(),
            param_count,
            database,
            plan: None,
            _counted: counted,
        };
        let mut columns = Vec::new();
        if has_plan(&prepared.statement) {
            let kinds = vec![ParamKind::Unknown; usize::from(param_count)];
            let plan = self.bind(&prepared.statement, &kinds, &[])?;
            columns = plan.columns().to_vec();
            if plan.reusable {
                prepared.plan = Some((Arc::new(plan), self.environment.clone()));
            }
        }
        let params = (0..param_count).map(|_| param_info(&self.environment)).collect();
        let id = self.next_prepared_id();
        self.prepared.insert(id, prepared);
        Ok(PreparedInfo { id, params, columns, warnings: self.warning_count() })
    }

    /// As `max_prepared_stmt_count` says: statements of all sessions of the node.
    fn prepared_count_max(&self) -> u64 {
        let set = self.server.global("max_prepared_stmt_count");
        set.and_then(|value| value.parse().ok()).unwrap_or(PREPARED_COUNT_MAX)
    }

    fn next_prepared_id(&mut self) -> u32 {
        loop {
            self.prepared_id_last = self.prepared_id_last.checked_add(1).unwrap_or(1);
            if !self.prepared.contains_key(&self.prepared_id_last) {
                return self.prepared_id_last;
            }
        }
    }

    /// `params` already include long data; one a `?`.
    pub async fn execute(
        &mut self,
        statement_id: u32,
        params: Vec<Value>,
        sink: &mut dyn ResultSink,
    ) {
        let result = contained(pin!(Some(self.run_prepared(statement_id, params, sink)))).await;
        if let Err(panicked) = result {
            sink.error(&self.end_panicked(&panicked).await);
        }
    }

    async fn run_prepared(
        &mut self,
        statement_id: u32,
        params: Vec<Value>,
        sink: &mut dyn ResultSink,
    ) {
        self.begin_command();
        Counters::add(&self.counters().questions, 1);
        self.frame.diagnostics.expect_statement();
        if let Some(prepared) = self.prepared.get(&statement_id) {
            self.show_statement("Execute", &prepared.text);
        }
        if let Err(error) = self.execute_prepared(statement_id, params, sink, false).await {
            self.note_error(&error);
            sink.error(&error);
        }
        self.show_rest();
        self.end_command();
    }

    pub(super) async fn execute_prepared(
        &mut self,
        id: u32,
        params: Vec<Value>,
        sink: &mut dyn ResultSink,
        more_results: bool,
    ) -> Result<(), SqlError> {
        self.check_killed()?;
        let Some(prepared) = self.prepared.get(&id) else {
            return Err(unknown_handler(id, "mysqld_stmt_execute"));
        };
        if params.len() != usize::from(prepared.param_count) {
            return Err(SqlError::wrong_arguments("mysqld_stmt_execute"));
        }
        let statement = prepared.statement.clone();
        if !has_plan(&statement) {
            self.frame.params.clone_from(&params);
            return Box::pin(self.statement(&statement, params, sink, more_results)).await;
        }
        let source = PlanSource::Prepared { id, statement: &statement };
        self.run_statement(&source, params, 0, sink, more_results).await.map(drop)
    }

    /// The statement's plan if it still holds, else a new one.
    pub(crate) async fn plan_of(
        &mut self,
        id: u32,
        statement: &ast::Statement,
        params: &[Value],
    ) -> Result<Arc<Plan>, SqlError> {
        let version = self.catalogue().version;
        let Some(prepared) = self.prepared.get(&id) else {
            return Err(unknown_handler(id, "mysqld_stmt_execute"));
        };
        let environment = if prepared.database == self.environment.database {
            self.environment.clone()
        } else {
            let database = prepared.database.clone();
            Arc::new(Environment { database, ..(*self.environment).clone() })
        };
        if let Some((plan, own)) = &prepared.plan
            && plan.catalogue_version == version
            && (Arc::ptr_eq(own, &environment) || *own == environment)
            && fits(plan, params)
            && self.is_fresh(plan)
        {
            return Ok(plan.clone());
        }
        let plan = self.bind_by_statistics(&environment, statement, params);
        let plan = Arc::new(Box::pin(plan).await?);
        if let Some(prepared) = self.prepared.get_mut(&id) {
            prepared.plan = plan.reusable.then(|| (plan.clone(), environment));
        }
        Ok(plan)
    }

    pub fn param_count(&self, statement_id: u32) -> Option<u16> {
        self.prepared.get(&statement_id).map(|prepared| prepared.param_count)
    }

    pub fn close_statement(&mut self, statement_id: u32) {
        self.prepared.remove(&statement_id);
        self.prepared_names.retain(|_, id| *id != statement_id);
    }

    /// COM_STMT_RESET: 1243 when there is no such statement. (Long data and cursors are the wire protocol's.)
    pub fn reset_statement(&mut self, statement_id: u32) -> Result<(), SqlError> {
        match self.prepared.contains_key(&statement_id) {
            true => Ok(()),
            false => Err(unknown_handler(statement_id, "mysqld_stmt_reset")),
        }
    }

    /// PREPARE name FROM 'text' or @variable. An older statement of that name goes, also when the new one is wrong.
    pub(super) async fn prepare_named(
        &mut self,
        name: &str,
        source: &ast::PrepareSource,
    ) -> Result<(), SqlError> {
        let text = match source {
            ast::PrepareSource::Text(text) => text.clone(),
            ast::PrepareSource::Variable(variable) => {
                let value = self.user_variables.get(&variable.to_lowercase());
                let text = value.and_then(super::value_text);
                text.unwrap_or_else(|| "NULL".into()).into_bytes()
            }
        };
        let name = name.to_lowercase();
        if let Some(old) = self.prepared_names.remove(&name) {
            self.prepared.remove(&old);
        }
        // The text is a value already: UTF-8 whatever the client writes in.
        let info = self.prepare_text(&text, self.settings.sql_mode.into()).await?;
        self.prepared_names.insert(name, info.id);
        Ok(())
    }

    /// EXECUTE name USING @a, @b.
    pub(super) async fn execute_named(
        &mut self,
        name: &str,
        using: &[String],
        sink: &mut dyn ResultSink,
        more_results: bool,
    ) -> Result<(), SqlError> {
        let Some(&id) = self.prepared_names.get(&name.to_lowercase()) else {
            return Err(SqlError::unknown_statement(name, "EXECUTE"));
        };
        if self.param_count(id) != u16::try_from(using.len()).ok() {
            return Err(SqlError::wrong_arguments("EXECUTE"));
        }
        let params = using
            .iter()
            .map(|name| {
                self.user_variables.get(&name.to_lowercase()).cloned().unwrap_or(Value::Null)
            })
            .collect();
        self.execute_prepared(id, params, sink, more_results).await
    }

    pub(super) fn deallocate_named(&mut self, name: &str) -> Result<(), SqlError> {
        match self.prepared_names.remove(&name.to_lowercase()) {
            Some(id) => {
                self.prepared.remove(&id);
                Ok(())
            }
            None => Err(SqlError::unknown_statement(name, "DEALLOCATE PREPARE")),
        }
    }
}

/// A `?` as clients see it.
fn param_info(environment: &Environment) -> ColumnInfo {
    let column_type = ColumnType::Varchar { length: 255, collation: environment.collation };
    let own = ResultType::of(Some(column_type), true);
    crate::bind::expression_info("?", &own)
}
