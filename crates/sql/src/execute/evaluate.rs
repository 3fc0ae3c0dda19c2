//! Expressions in the session: slots are supplied first, then the expression is evaluated.

use types::convert::{SqlWarning, to_bytes, to_f64, to_integer};
use types::expr::{Columns, EvalContext, EvalError, NoColumns, eval, eval_predicate};
use types::{Collation, DateTime, Expr, Value};

use super::{Context, Failure, Run, eval_error, take_warnings};
use crate::SqlError;
use crate::plan::{Bound, Slot};

/// Work of one expression of one row that a session does on its worker; what takes more runs on another thread.
pub const WORKER_WORK_MAX: usize = 40_000_000;
/// Work of one expression of one row, at most: some ten seconds.
const COMPUTED_WORK_MAX: usize = 10_000_000_000;

impl Context<'_> {
    /// Supplies the slots an expression needs for this row.
    pub async fn supply<R: Columns + ?Sized>(
        &mut self,
        slots: &[u16],
        row: &R,
    ) -> Result<(), Failure> {
        let plan_slots = &self.run.plan.slots;
        for &slot in slots {
            let own = &plan_slots[usize::from(slot)];
            if let Slot::Subquery(subquery) = own {
                Box::pin(self.subquery_of_row(slot, subquery, row)).await?;
                continue;
            }
            let value = self.row_slot(slot, own, row).await?;
            let first = self.run.first_slot();
            self.run.params[first + usize::from(slot)] = value;
        }
        Ok(())
    }

    async fn row_slot<R: Columns + ?Sized>(
        &mut self,
        number: u16,
        slot: &Slot,
        row: &R,
    ) -> Result<Value, SqlError> {
        match slot {
            Slot::Random { seed: None } => Ok(Value::Double(self.random_double())),
            Slot::Random { seed: Some(seed) } => {
                let seed = self.evaluated(seed, row, (eval, eval)).await?;
                let mut context = self.run.context();
                let seed = to_integer(seed.as_ref(), &mut context.convert);
                Ok(Value::Double(self.seeded_double(number, seed)))
            }
            Slot::Uuid => Ok(Value::text(&self.uuid(), Collation::default())),
            Slot::UuidShort => Ok(Value::UInt(self.uuid_short())),
            Slot::SystemDate { fsp } => {
                let micros = self.node().wall_clock_micros();
                let utc = DateTime::from_micros(micros).unwrap_or(DateTime::ZERO);
                let local = shifted(utc, self.run.time_zone_offset_seconds);
                Ok(Value::DateTime(local.truncate(*fsp)))
            }
            Slot::Sleep(seconds) => {
                let seconds = self.evaluated(seconds, row, (eval, eval)).await?;
                if seconds.is_null() {
                    return Err(SqlError::wrong_arguments("sleep"));
                }
                let seconds = to_f64(seconds.as_ref(), &mut self.run.context().convert);
                if seconds < 0.0 {
                    return Err(SqlError::wrong_arguments("sleep"));
                }
                // A year is for ever.
                let milliseconds = (seconds.min(31_536_000.0) * 1000.0) as u64;
                if 0 < milliseconds {
                    self.sleep_until_killed(milliseconds).await;
                }
                self.check_killed()?;
                Ok(Value::Int(0))
            }
            Slot::TransactionOutcome(id) => {
                let id = self.evaluated(id, row, (eval, eval)).await?;
                if id.is_null() {
                    return Ok(Value::Null);
                }
                let outcome = Box::pin(self.transaction_outcome(&to_bytes(id.as_ref()))).await?;
                Ok(Value::text(outcome, Collation::default()))
            }
            Slot::UserLock(call) => {
                let mut arguments = Vec::with_capacity(call.arguments.len());
                for argument in &call.arguments {
                    arguments.push(self.evaluated(argument, row, (eval, eval)).await?);
                }
                let seconds = match arguments.get(1) {
                    Some(seconds) => to_integer(seconds.as_ref(), &mut self.run.context().convert),
                    None => 0,
                };
                let name = arguments.first().unwrap_or(&Value::Null);
                Box::pin(self.user_lock(call.function, name, seconds)).await
            }
            Slot::Assign { name, value } => {
                let value = self.evaluated(value, row, (eval, eval)).await?;
                self.set_user_variable(name, value.clone())?;
                Ok(value)
            }
            Slot::LastInsertIdOf(value) => {
                let value = self.evaluated(value, row, (eval, eval)).await?;
                if value.is_null() {
                    self.set_insert_id(0);
                    return Ok(Value::Null);
                }
                let number = to_integer(value.as_ref(), &mut self.run.context().convert);
                let number = number as u64;
                self.set_insert_id(number);
                Ok(Value::UInt(number))
            }
            // Put into the parameters by INSERT itself, or by the operator of windows.
            Slot::NewValue { .. } | Slot::SourceValue { .. } | Slot::Window => {
                Ok(self.run.params[self.run.first_slot() + usize::from(number)].clone())
            }
            Slot::UserVariable(name) => Ok(self.user_variable(name)),
            Slot::Now { .. }
            | Slot::CurrentDate
            | Slot::CurrentTime { .. }
            | Slot::UtcTimestamp { .. }
            | Slot::UtcDate
            | Slot::UtcTime { .. }
            | Slot::LastInsertId
            | Slot::RowCount
            | Slot::FoundRows
            | Slot::Subquery(_)
            | Slot::SubqueryColumn
            | Slot::Outer => unreachable!("supplied once a statement"),
        }
    }

    /// The value of an expression on a row, its slots supplied first.
    pub async fn value_of<R: Columns + ?Sized>(
        &mut self,
        bound: &Bound,
        row: &R,
    ) -> Result<Value, Failure> {
        if bound.is_local() {
            self.supply(&bound.slots, row).await?;
        }
        let value = self.evaluated(&bound.expr, row, (eval, eval)).await;
        self.run.pause_after_work().await;
        Ok(value?)
    }

    /// An expression that is little work, on a row.
    pub fn evaluated_here<R: Columns + ?Sized>(
        &mut self,
        expr: &Expr,
        row: &R,
    ) -> Result<Value, SqlError> {
        evaluate(&self.run, expr, row, &mut self.warnings)
    }

    /// An expression on a row whose slots are supplied: evaluated at once, or on another thread where that would hold up the
    /// worker. The two evaluations are the same one, of the row and of its copy.
    async fn evaluated<R: Columns + ?Sized, T: Send + 'static>(
        &mut self,
        expr: &Expr,
        row: &R,
        (of_row, of_copy): (Evaluation<R, T>, Evaluation<Vec<Value>, T>),
    ) -> Result<T, SqlError> {
        let mut context = self.run.context();
        context.work_max = WORKER_WORK_MAX;
        let output = of_row(expr, row, &mut context);
        self.run.count_work(&mut context);
        if output.as_ref().is_err_and(|error| *error == EvalError::TooMuchWork) {
            drop(context);
            let copy = copied(expr, row);
            return Box::pin(self.computed(expr, copy, of_copy)).await;
        }
        take_warnings(&mut context, &mut self.warnings);
        output.map_err(|error| eval_error(&error))
    }

    async fn computed<T: Send + 'static>(
        &mut self,
        expr: &Expr,
        row: Vec<Value>,
        evaluation: Evaluation<Vec<Value>, T>,
    ) -> Result<T, SqlError> {
        let (expr, params, settings) = (expr.clone(), self.run.params.clone(), self.run.settings());
        let faulty = self.run.faulty.clone();
        let (output, own) = self
            .compute(move || {
                let mut context = EvalContext::with(&params, settings);
                context.faulty = &faulty;
                context.work_max = COMPUTED_WORK_MAX;
                let output = evaluation(&expr, &row, &mut context);
                let mut own = Vec::new();
                take_warnings(&mut context, &mut own);
                (output, own)
            })
            .await?;
        self.warnings.extend(own);
        output.map_err(|error| eval_error(&error))
    }

    /// Do all terms hold? One behind a term that does not is not evaluated.
    pub async fn all_hold<R: Columns + ?Sized>(
        &mut self,
        terms: &[Bound],
        row: &R,
    ) -> Result<bool, Failure> {
        for term in terms {
            if !self.holds(term, row).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub async fn holds<R: Columns + ?Sized>(
        &mut self,
        bound: &Bound,
        row: &R,
    ) -> Result<bool, Failure> {
        if bound.is_local() {
            self.supply(&bound.slots, row).await?;
        }
        let holds = self.evaluated(&bound.expr, row, (eval_predicate, eval_predicate)).await;
        self.run.pause_after_work().await;
        Ok(holds?)
    }

    /// The value of an expression without columns.
    pub async fn scalar_value(&mut self, bound: &Bound) -> Result<Value, Failure> {
        self.value_of(bound, &NoColumns).await
    }
}

/// [`eval`] or [`eval_predicate`] of an expression on a row.
type Evaluation<R, T> = fn(&Expr, &R, &mut EvalContext<'_>) -> Result<T, EvalError>;

/// The values of a row that an expression names, at their places.
fn copied<R: Columns + ?Sized>(expr: &Expr, row: &R) -> Vec<Value> {
    fn copy<R: Columns + ?Sized>(expr: &Expr, row: &R, values: &mut Vec<Value>) {
        if let Expr::Column(position) = expr {
            let position = usize::from(*position);
            if values.len() <= position {
                values.resize(position + 1, Value::Null);
            }
            values[position] = row.column(position).to_value();
        }
        for child in expr.children() {
            copy(child, row, values);
        }
    }
    let mut values = Vec::new();
    copy(expr, row, &mut values);
    values
}

pub fn evaluate<R: Columns + ?Sized>(
    run: &Run<'_>,
    expr: &types::Expr,
    row: &R,
    warnings: &mut Vec<SqlWarning>,
) -> Result<Value, SqlError> {
    let mut context = run.context();
    let value = eval(expr, row, &mut context).map_err(|error| eval_error(&error));
    take_warnings(&mut context, warnings);
    run.count_work(&mut context);
    value
}

/// Local time of a UTC time.
pub fn shifted(utc: DateTime, offset_seconds: i32) -> DateTime {
    if offset_seconds == 0 {
        return utc;
    }
    utc.add_micros(i64::from(offset_seconds) * 1_000_000).unwrap_or(utc)
}
