//! The executor: runs plans over a [`client::Session`].
//!
//! Straight-line code that awaits the client. Rows come in batches, encoded; they are decoded as they are pushed into the
//! sink or into a sort. What can be computed where the rows are was put into the scan by the binder.
//!
//! One statement is one [`Run`]: its parameters with the session's slots behind them. A failure says whether the engine
//! has undone the statement already, so that exactly one of the two layers undoes it.

mod batch;
pub mod budget;
mod change;
mod context;
mod delete;
pub mod delimited;
pub mod evaluate;
mod grace;
mod groups;
mod insert;
mod join;
mod joined_change;
pub mod keys;
mod load;
mod operator;
pub mod profile;
mod refusal;
mod rows;
mod runs;
mod select;
mod sort;
mod stored;
mod subquery;
mod update;
mod window;
pub mod write;

use std::cell::Cell;

use client::WaitPolicy;
use types::convert::{EvalSettings, SqlWarning};
use types::expr::EvalContext;
use types::temporal::DateModes;
use types::{DateTime, Value};

use crate::plan::{Bound, Plan, PlanKind};
use crate::{ResultSink, SqlError};
pub use context::Context;
pub use refusal::{Failure, error_of};

/// Rows between two yields to the other tasks of the worker.
pub const ROWS_BETWEEN_YIELDS: u64 = 1_000;

/// Bytes that are as much work as a row. A long value alone is enough for a yield: copied into memory that is not there yet
/// one of dozens of megabytes may take a quarter of a second, and heartbeats go out in between.
const BYTES_LIKE_A_ROW: usize = 1 << 10;

/// A running statement's values.
pub struct Run<'p> {
    pub plan: &'p Plan,
    /// The statement's parameters, then the slots.
    pub params: Vec<Value>,
    pub now: DateTime,
    pub time_zone_offset_seconds: i32,
    /// A data change in strict mode: what would be a warning of an expression is an error.
    pub strict: bool,
    pub date_modes: DateModes,
    pub ignore_division_by_zero: bool,
    /// NOWAIT or SKIP LOCKED, for what is being read now: a subquery waits, whatever the statement around it says.
    pub wait: WaitPolicy,
    /// Slots of subqueries that failed: an error for the expression that asks for one.
    pub faulty: Vec<(u16, SqlWarning)>,
    /// Bytes that functions have read and made since the statement let others run.
    work: Cell<usize>,
}

impl Run<'_> {
    pub fn first_slot(&self) -> usize {
        usize::from(self.plan.param_count)
    }
    pub fn settings(&self) -> EvalSettings {
        EvalSettings {
            strict: self.strict,
            now: self.now,
            time_zone_offset_seconds: self.time_zone_offset_seconds,
            date_modes: self.date_modes,
            ignore_division_by_zero: self.ignore_division_by_zero,
        }
    }
    pub fn context(&self) -> EvalContext<'_> {
        let mut context = EvalContext::with(&self.params, self.settings());
        context.faulty = &self.faulty;
        context
    }
    /// Counts what an evaluation has done.
    pub fn count_work(&self, context: &mut EvalContext<'_>) {
        self.work.set(self.work.get() + context.take_work());
    }
    /// Lets others run when evaluations have done as much as many rows are.
    pub async fn pause_after_work(&self) {
        if ROWS_BETWEEN_YIELDS as usize * BYTES_LIKE_A_ROW <= self.work.get() {
            self.work.set(0);
            client::task::yield_now().await;
        }
    }
}

/// Counts work and says when to let others run.
#[derive(Default)]
pub struct Pace {
    rows: u64,
}

impl Pace {
    /// One more row; yields now and then.
    pub async fn row(&mut self) {
        self.rows(1).await;
    }
    /// So many bytes were copied.
    pub async fn bytes(&mut self, count: usize) {
        self.rows(count / BYTES_LIKE_A_ROW).await;
    }
    pub async fn rows(&mut self, count: usize) {
        self.rows += count as u64;
        if ROWS_BETWEEN_YIELDS <= self.rows {
            self.rows = 0;
            client::task::yield_now().await;
        }
    }
}

/// Rough memory of a value.
pub fn value_size(value: &Value) -> usize {
    size_of::<Value>() + value.held_bytes()
}
/// Rough memory of a row.
pub fn row_size(row: &[Value]) -> usize {
    size_of::<Vec<Value>>() + row.iter().map(value_size).sum::<usize>()
}

impl Context<'_> {
    /// Runs a plan of rows: a result goes into the sink.
    pub async fn run_kind(
        &mut self,
        kind: &PlanKind,
        sink: &mut dyn ResultSink,
    ) -> Result<Changed, Failure> {
        if !self.run.plan.once.is_empty() {
            Box::pin(self.run_subqueries()).await?;
        }
        match kind {
            PlanKind::Select(select) => self
                .run_select(select, sink)
                .await
                .map(|sent| Changed { affected: sent, ..Changed::default() }),
            PlanKind::Insert(insert) => self.run_insert(insert, sink).await,
            PlanKind::Update(update) => self.run_update(update).await,
            PlanKind::Delete(delete) => self.run_delete(delete).await,
            PlanKind::JoinedUpdate(change) | PlanKind::JoinedDelete(change) => {
                Box::pin(self.run_joined_change(change)).await
            }
            PlanKind::Values(_) => unreachable!("SET and DO answer without rows"),
        }
    }

    /// The values of expressions without columns.
    pub async fn run_values(&mut self, bounds: &[Bound]) -> Result<Vec<Value>, Failure> {
        self.run_subqueries().await?;
        let mut values = Vec::with_capacity(bounds.len());
        for bound in bounds {
            values.push(self.scalar_value(bound).await?);
        }
        Ok(values)
    }
}

/// What a data change did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changed {
    pub affected: u64,
    pub matched: u64,
    /// New rows of INSERT that are in the table now.
    pub copied: u64,
    /// Duplicates met by INSERT.
    pub duplicates: u64,
    pub records: u64,
    /// Generated, or given for the AUTO_INCREMENT column: for the OK packet.
    pub insert_id: u64,
}

/// Takes what an evaluation warned about.
pub fn take_warnings(context: &mut EvalContext<'_>, warnings: &mut Vec<SqlWarning>) {
    context.convert.warnings.move_to(warnings);
}

pub fn eval_error(error: &types::expr::EvalError) -> SqlError {
    SqlError::new(error.code(), error.message())
}
