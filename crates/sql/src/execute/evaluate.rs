//! Expressions in the session: slots are supplied first, then the expression is evaluated.

use std::cell::Cell;

use types::convert::{SqlWarning, to_bytes, to_f64, to_integer};
use types::expr::{Columns, EvalContext, EvalError, NoColumns, eval, eval_predicate};
use types::{Collation, DateTime, Expr, SqlMode, Value};

use super::{Run, eval_error, take_warnings};
use crate::plan::{Bound, Plan, Slot};
use crate::session::Session;
use crate::{SqlError, StatusFlags};

/// Work of one expression of one row that a session does on its worker; what takes more runs on another thread.
pub const WORKER_WORK_MAX: usize = 40_000_000;
/// Work of one expression of one row, at most: some ten seconds.
const COMPUTED_WORK_MAX: usize = 10_000_000_000;

/// User variables a session may have, and the bytes one may hold.
const USER_VARIABLE_COUNT_MAX: usize = 10_000;
const USER_VARIABLE_SIZE_MAX: usize = 1 << 20;

impl Session {
    /// Starts a statement: its parameters, the slots behind them, and what holds still while it runs.
    pub fn start_run<'p>(
        &mut self,
        plan: &'p Plan,
        mut params: Vec<Value>,
        strict: bool,
    ) -> Run<'p> {
        assert_eq!(params.len(), usize::from(plan.param_count));
        let offset = self.settings.time_zone_offset_seconds;
        let utc = self.statement_clock();
        let now = shifted(utc, offset);
        for slot in &plan.slots {
            params.push(self.statement_slot(slot, utc, now));
        }
        let wait = plan.wait_policy();
        Run {
            plan,
            params,
            now,
            time_zone_offset_seconds: offset,
            strict,
            date_modes: self.settings.sql_mode.date_modes(),
            ignore_division_by_zero: self.settings.sql_mode.ignores_division_by_zero(),
            wait,
            work: Cell::new(0),
        }
    }

    /// The statement's moment in UTC: the worker's clock, or what SET timestamp says.
    pub fn statement_clock(&self) -> DateTime {
        let micros = match self.settings.timestamp_micros {
            Some(micros) => micros,
            None => self.client.client().wall_clock_micros(),
        };
        DateTime::from_micros(micros).unwrap_or(DateTime::ZERO)
    }

    /// A slot that is supplied once a statement; those of each row start as NULL.
    pub fn statement_slot(&self, slot: &Slot, utc: DateTime, local: DateTime) -> Value {
        match slot {
            Slot::Now { fsp } => Value::DateTime(local.truncate(*fsp)),
            Slot::CurrentDate => Value::Date(local.date()),
            Slot::CurrentTime { fsp } => Value::Time(local.time().truncate(*fsp)),
            Slot::UtcTimestamp { fsp } => Value::DateTime(utc.truncate(*fsp)),
            Slot::UtcDate => Value::Date(utc.date()),
            Slot::UtcTime { fsp } => Value::Time(utc.time().truncate(*fsp)),
            Slot::LastInsertId => Value::UInt(self.last_insert_id),
            Slot::RowCount => Value::Int(self.row_count),
            Slot::FoundRows => Value::UInt(self.found_rows),
            Slot::UserVariable(name) => {
                self.user_variables.get(name).cloned().unwrap_or(Value::Null)
            }
            Slot::Random { .. }
            | Slot::Uuid
            | Slot::UuidShort
            | Slot::Sleep(_)
            | Slot::SystemDate { .. }
            | Slot::TransactionOutcome(_)
            | Slot::Assign { .. }
            | Slot::LastInsertIdOf(_)
            | Slot::NewValue { .. }
            | Slot::SourceValue { .. }
            // Put into the parameters by run_subqueries.
            | Slot::Subquery(_)
            | Slot::SubqueryColumn => Value::Null,
        }
    }

    /// Supplies the slots an expression needs for this row.
    pub async fn supply<R: Columns + ?Sized>(
        &mut self,
        run: &mut Run<'_>,
        slots: &[u16],
        row: &R,
        warnings: &mut Vec<SqlWarning>,
    ) -> Result<(), SqlError> {
        let plan_slots = &run.plan.slots;
        for &slot in slots {
            let own = &plan_slots[usize::from(slot)];
            let value = self.row_slot(run, slot, own, row, warnings).await?;
            let first = run.first_slot();
            run.params[first + usize::from(slot)] = value;
        }
        Ok(())
    }

    async fn row_slot<R: Columns + ?Sized>(
        &mut self,
        run: &Run<'_>,
        number: u16,
        slot: &Slot,
        row: &R,
        warnings: &mut Vec<SqlWarning>,
    ) -> Result<Value, SqlError> {
        match slot {
            Slot::Random { seed: None } => Ok(Value::Double(self.random_double())),
            Slot::Random { seed: Some(seed) } => {
                let seed = self.evaluated(run, seed, row, (eval, eval), warnings).await?;
                let mut context = run.context();
                let seed = to_integer(seed.as_ref(), &mut context.convert);
                Ok(Value::Double(self.seeded_double(number, seed)))
            }
            Slot::Uuid => Ok(Value::text(&self.uuid(), Collation::default())),
            Slot::UuidShort => {
                let node = u64::from(self.server.config().node.0 & 0xff) << 56;
                let micros = u64::try_from(self.client.client().wall_clock_micros()).unwrap_or(0);
                let mark =
                    (micros / 1_000_000) << 24 | (self.client.client().random_u64() & 0xff_ffff);
                Ok(Value::UInt(node | (mark & 0x00ff_ffff_ffff_ffff)))
            }
            Slot::SystemDate { fsp } => {
                let micros = self.client.client().wall_clock_micros();
                let utc = DateTime::from_micros(micros).unwrap_or(DateTime::ZERO);
                let local = shifted(utc, run.time_zone_offset_seconds);
                Ok(Value::DateTime(local.truncate(*fsp)))
            }
            Slot::Sleep(seconds) => {
                let seconds = self.evaluated(run, seconds, row, (eval, eval), warnings).await?;
                if seconds.is_null() {
                    return Err(SqlError::wrong_arguments("sleep"));
                }
                let seconds = to_f64(seconds.as_ref(), &mut run.context().convert);
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
                let id = self.evaluated(run, id, row, (eval, eval), warnings).await?;
                if id.is_null() {
                    return Ok(Value::Null);
                }
                let outcome = self.transaction_outcome(&to_bytes(id.as_ref())).await?;
                Ok(Value::text(outcome, Collation::default()))
            }
            Slot::Assign { name, value } => {
                let value = self.evaluated(run, value, row, (eval, eval), warnings).await?;
                self.set_user_variable(name, value.clone())?;
                Ok(value)
            }
            Slot::LastInsertIdOf(value) => {
                let value = self.evaluated(run, value, row, (eval, eval), warnings).await?;
                if value.is_null() {
                    self.statement_insert_id = Some(0);
                    return Ok(Value::Null);
                }
                let number = to_integer(value.as_ref(), &mut run.context().convert);
                let number = number as u64;
                self.statement_insert_id = Some(number);
                Ok(Value::UInt(number))
            }
            // Put into the parameters by INSERT itself.
            Slot::NewValue { .. } | Slot::SourceValue { .. } => {
                Ok(run.params[run.first_slot() + usize::from(number)].clone())
            }
            Slot::UserVariable(name) => {
                Ok(self.user_variables.get(name).cloned().unwrap_or(Value::Null))
            }
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
            | Slot::SubqueryColumn => unreachable!("supplied once a statement"),
        }
    }

    /// The value of an expression on a row, its slots supplied first.
    pub async fn value_of<R: Columns + ?Sized>(
        &mut self,
        run: &mut Run<'_>,
        bound: &Bound,
        row: &R,
        warnings: &mut Vec<SqlWarning>,
    ) -> Result<Value, SqlError> {
        if bound.is_local() {
            self.supply(run, &bound.slots, row, warnings).await?;
        }
        let value = self.evaluated(run, &bound.expr, row, (eval, eval), warnings).await;
        run.pause_after_work().await;
        value
    }

    /// An expression on a row whose slots are supplied: evaluated at once, or on another thread where that would hold up the
    /// worker. The two evaluations are the same one, of the row and of its copy.
    async fn evaluated<R: Columns + ?Sized, T: Send + 'static>(
        &self,
        run: &Run<'_>,
        expr: &Expr,
        row: &R,
        (of_row, of_copy): (Evaluation<R, T>, Evaluation<Vec<Value>, T>),
        warnings: &mut Vec<SqlWarning>,
    ) -> Result<T, SqlError> {
        let mut context = run.context();
        context.work_max = WORKER_WORK_MAX;
        let output = of_row(expr, row, &mut context);
        run.count_work(&mut context);
        if output.as_ref().is_err_and(|error| *error == EvalError::TooMuchWork) {
            drop(context);
            let copy = copied(expr, row);
            return Box::pin(self.computed(run, expr, copy, of_copy, warnings)).await;
        }
        take_warnings(&mut context, warnings);
        output.map_err(|error| eval_error(&error))
    }

    async fn computed<T: Send + 'static>(
        &self,
        run: &Run<'_>,
        expr: &Expr,
        row: Vec<Value>,
        evaluation: Evaluation<Vec<Value>, T>,
        warnings: &mut Vec<SqlWarning>,
    ) -> Result<T, SqlError> {
        let (expr, params, settings) = (expr.clone(), run.params.clone(), run.settings());
        let (output, own) = self
            .compute(move || {
                let mut context = EvalContext::with(&params, settings);
                context.work_max = COMPUTED_WORK_MAX;
                let output = evaluation(&expr, &row, &mut context);
                let mut own = Vec::new();
                take_warnings(&mut context, &mut own);
                (output, own)
            })
            .await?;
        warnings.extend(own);
        output.map_err(|error| eval_error(&error))
    }

    pub async fn holds<R: Columns + ?Sized>(
        &mut self,
        run: &mut Run<'_>,
        bound: &Bound,
        row: &R,
        warnings: &mut Vec<SqlWarning>,
    ) -> Result<bool, SqlError> {
        if bound.is_local() {
            self.supply(run, &bound.slots, row, warnings).await?;
        }
        let holds =
            self.evaluated(run, &bound.expr, row, (eval_predicate, eval_predicate), warnings).await;
        run.pause_after_work().await;
        holds
    }

    pub fn set_user_variable(&mut self, name: &str, value: Value) -> Result<(), SqlError> {
        if !self.user_variables.contains_key(name)
            && USER_VARIABLE_COUNT_MAX <= self.user_variables.len()
        {
            return Err(SqlError::new(
                crate::error::code::ER_OUT_OF_RESOURCES,
                "Too many user variables",
            ));
        }
        if USER_VARIABLE_SIZE_MAX < super::value_size(&value) {
            return Err(SqlError::new(
                crate::error::code::ER_OUT_OF_RESOURCES,
                format!("The value for '@{name}' is longer than {USER_VARIABLE_SIZE_MAX} bytes"),
            ));
        }
        self.user_variables.insert(name.to_string(), value);
        Ok(())
    }

    fn random_double(&mut self) -> f64 {
        if let Some((first, second)) = self.settings.random_state {
            let (first, second) = next_random(first, second);
            self.settings.random_state = Some((first, second));
            return first as f64 / RANDOM_MAX as f64;
        }
        // 53 bits: every double in [0, 1) of that spacing.
        (self.client.client().random_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// MySQL's generator for RAND(seed): the first value of the sequence that the seed begins, the following ones for the
    /// following rows of the statement.
    fn seeded_double(&mut self, slot: u16, seed: i128) -> f64 {
        let (first, second) = match self.random_sequences.get(&slot) {
            Some((own, first, second)) if *own == seed => (*first, *second),
            _ => {
                let seed = seed as u32;
                let first =
                    u64::from(seed.wrapping_mul(0x10001).wrapping_add(55_555_555)) % RANDOM_MAX;
                let second = u64::from(seed.wrapping_mul(0x1000_0001)) % RANDOM_MAX;
                (first, second)
            }
        };
        let (first, second) = next_random(first, second);
        self.random_sequences.insert(slot, (seed, first, second));
        first as f64 / RANDOM_MAX as f64
    }

    /// Version 4: random.
    fn uuid(&self) -> String {
        let client = self.client.client();
        let high = (client.random_u64() & !0xf000) | 0x4000;
        let low = (client.random_u64() & !(0b11 << 62)) | (0b10 << 62);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }

    /// The value of an expression without columns.
    pub async fn scalar_value(
        &mut self,
        run: &mut Run<'_>,
        bound: &Bound,
        warnings: &mut Vec<SqlWarning>,
    ) -> Result<Value, SqlError> {
        self.value_of(run, bound, &NoColumns, warnings).await
    }

    pub fn status_flags(&self) -> StatusFlags {
        StatusFlags {
            in_transaction: self.is_in_transaction(),
            in_read_only_transaction: self.transaction.explicit && self.transaction.read_only,
            autocommit: self.settings.autocommit,
            no_backslash_escapes: self.settings.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
            schema_changed: self.schema_changed,
            results: self.settings.character_set_results,
        }
    }
}

const RANDOM_MAX: u64 = 0x3fff_ffff;

/// A step of MySQL's random generator.
fn next_random(first: u64, second: u64) -> (u64, u64) {
    let first = (first % RANDOM_MAX * 3 + second % RANDOM_MAX) % RANDOM_MAX;
    (first, (first + second % RANDOM_MAX + 33) % RANDOM_MAX)
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
