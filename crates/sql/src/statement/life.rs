//! From a plan to the next one: a statement is bound, run, and bound again when the definition of a table has moved meanwhile.

use std::sync::Arc;

use types::Value;

use super::run::Outcome;
use crate::ResultSink;
use crate::bind::Binder;
use crate::error::SqlError;
use crate::execute::write::ROWS_PER_BATCH;
use crate::parser::ast::{self, Statement};
use crate::plan::{ParamKind, Plan};
use crate::session::Session;

/// How often a statement is bound again because its table's definition moved; the last tries wait for the new
/// definition to arrive.
const REPLAN_COUNT_MAX: u32 = 100;
/// Between two looks at a closed table.
const CLOSED_STEP_MS: u64 = 2;

/// Where the plan of a statement comes from.
pub enum PlanSource<'s> {
    /// A text. Its digest finds the plan the next time, if the literals were cut out of it.
    Text { statement: &'s Statement, digest: Option<(u64, u64)> },
    /// A prepared statement, which keeps its plan.
    Prepared { id: u32, statement: &'s Statement },
    /// The SELECT that EXPLAIN ANALYZE runs.
    Explained(&'s Statement),
}

impl Session {
    /// Runs a statement with a plan to its end; errors are handed back. `replans`: how often it was bound before. Returns the plan
    /// that was run last.
    pub(crate) async fn run_statement(
        &mut self,
        source: &PlanSource<'_>,
        mut params: Vec<Value>,
        mut replans: u32,
        sink: &mut dyn ResultSink,
        more_results: bool,
    ) -> Result<Arc<Plan>, SqlError> {
        loop {
            let plan = self.plan_from(source, &params).await?;
            match self.run_plan(&plan, params, sink, more_results).await? {
                Outcome::Done => return Ok(plan),
                Outcome::Replan(own, error) => {
                    params = own;
                    replans = self.after_replan(replans, plan.catalogue_version, &error).await?;
                }
            }
        }
    }

    async fn plan_from(
        &mut self,
        source: &PlanSource<'_>,
        params: &[Value],
    ) -> Result<Arc<Plan>, SqlError> {
        match source {
            PlanSource::Prepared { id, statement } => self.plan_of(*id, statement, params).await,
            PlanSource::Explained(statement) => {
                Ok(Arc::new(self.analyzed_plan(statement, params).await?))
            }
            PlanSource::Text { statement, digest } => {
                let plan = match statement {
                    Statement::Insert(insert) => {
                        let kinds: Vec<ParamKind> = params.iter().map(ParamKind::of).collect();
                        self.bind_long_insert(insert, &kinds).await?
                    }
                    _ => None,
                };
                let plan = match plan {
                    Some(plan) => plan,
                    None => {
                        let environment = Arc::clone(&self.environment);
                        Box::pin(self.bind_by_statistics(&environment, statement, params)).await?
                    }
                };
                let plan = Arc::new(plan);
                if let Some(digest) = digest
                    && plan.reusable
                {
                    let mut cache = self.server.plan_cache(self.info.worker);
                    cache.insert(*digest, self.environment.clone(), plan.clone());
                }
                Ok(plan)
            }
        }
    }

    /// Counts a replan; waits a little if the catalogue here is still the one that was refused.
    pub(crate) async fn after_replan(
        &mut self,
        replans: u32,
        version: types::SchemaVersion,
        error: &SqlError,
    ) -> Result<u32, SqlError> {
        if REPLAN_COUNT_MAX <= replans {
            return Err(error.clone());
        }
        if self.catalogue().version == version {
            self.client.client().sleep_ms(5).await;
        }
        self.check_killed()?;
        self.await_open_tables().await?;
        Ok(replans + 1)
    }

    /// Waits while a table is closed, at most lock_wait_timeout.
    async fn await_open_tables(&self) -> Result<(), SqlError> {
        let limit_ms = self.kept_number("lock_wait_timeout").saturating_mul(1_000);
        let mut waited_ms = 0;
        let is_closed = |table: &Arc<types::Table>| {
            table.state == types::TableState::Public && !table.is_open()
        };
        while self.catalogue().tables.values().any(is_closed) {
            if limit_ms <= waited_ms {
                return Err(self.refused(client::Refusal::LockWaitTimeout).error);
            }
            self.client.client().sleep_ms(CLOSED_STEP_MS).await;
            self.check_killed()?;
            waited_ms += CLOSED_STEP_MS;
        }
        Ok(())
    }

    /// Binds an INSERT of many rows, with turns of others in between. None for the others, and where it cannot be.
    async fn bind_long_insert(
        &self,
        insert: &ast::Insert,
        kinds: &[ParamKind],
    ) -> Result<Option<Plan>, SqlError> {
        let is_long = match &insert.source {
            ast::InsertSource::Values(rows) => ROWS_PER_BATCH < rows.len(),
            ast::InsertSource::Query(_) => false,
        };
        // Parameters of a statement prepared are few enough, or refused by `bind`.
        if !is_long || !kinds.is_empty() {
            return Ok(None);
        }
        let catalogue = self.catalogue();
        let mut binder = Binder::new(&catalogue, &self.environment, self, kinds);
        let mut plan = binder.insert_head(insert)?;
        while binder.insert_rows(insert, &mut plan, ROWS_PER_BATCH)? {
            client::task::yield_now().await;
        }
        let plan = binder.insert_tail(insert, plan)?;
        Ok(binder.insert_plan(plan))
    }
}
