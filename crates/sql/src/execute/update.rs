//! UPDATE.
//!
//! The hot path first: an update by primary key whose assignments can be computed where the row is goes there as one
//! operation, with the rest of WHERE as its filter, and commits in the same batch. Everything else locks the rows, computes
//! here, and writes whole rows back.

use client::{Op, OpKind, OpResult};
use types::expr::Columns;
use types::wire::Bytes;
use types::{Expr, RowView, Table, Value};

use super::keys::{self, Keys};
use super::rows::{constant_bytes, keys_at_once, ops_that_fit, owned_row, sent_params};
use super::write::{
    BATCH_SIZE_MAX, ROWS_PER_BATCH, Storing, default_value, encode, now_value, refuse_null,
    store_value,
};
use super::{Changed, Context, Failure, Pace, take_warnings, value_size};
use crate::SqlError;
use crate::plan::{AssignedValue, AssignmentPlan, UpdatePlan};

impl Context<'_> {
    pub async fn run_update(&mut self, plan: &UpdatePlan) -> Result<Changed, Failure> {
        let storing = Storing::new(self.run.strict, plan.ignore);
        if let Some(assignments) = &plan.shipped
            && let Some(changed) = self.ship_update(plan, assignments, storing).await?
        {
            return Ok(changed);
        }
        let table = &plan.target.table;
        if plan.ignore && changes_unique_key(table, &plan.assignments) {
            return Err(SqlError::not_supported("UPDATE IGNORE of key columns").into());
        }
        let catalogue = self.catalogue();
        let mut changed = Changed::default();
        let mut pace = Pace::default();
        let mut open = self.open_target(&plan.target, plan.moves_in_index).await?;
        while let Some(rows) = self.next_target_rows(&mut open, ROWS_PER_BATCH).await? {
            let mut ops = Vec::new();
            let mut written = Vec::new();
            let mut size = 0;
            for old in rows {
                changed.matched += 1;
                let view = RowView::new(&plan.target.layout, &old);
                let mut values = owned_row(table, &view);
                let differs = self
                    .assign_columns(table, &plan.assignments, &mut values, storing, changed.matched)
                    .await?;
                let is_written =
                    differs && self.passes_check(plan.check.as_ref(), &values, plan.ignore).await?;
                if !is_written {
                    continue;
                }
                changed.affected += 1;
                self.move_sequence(table, &plan.assignments, &values).await?;
                pace.bytes(values.iter().map(value_size).sum()).await;
                let new = encode(table, &plan.target.layout, &values)?;
                pace.bytes(new.len()).await;
                ops.extend(client::replace_ops(&catalogue, table, &old, &new));
                pace.bytes(new.len()).await;
                size += new.len();
                written.push(new);
                if BATCH_SIZE_MAX <= size {
                    let (ops, written) = (std::mem::take(&mut ops), std::mem::take(&mut written));
                    self.write_back(plan, ops, &written, changed.matched).await?;
                    size = 0;
                }
            }
            if !ops.is_empty() {
                self.write_back(plan, ops, &written, changed.matched).await?;
            }
        }
        Ok(changed)
    }

    /// Writes changed rows, the last of which is of this number.
    async fn write_back(
        &mut self,
        plan: &UpdatePlan,
        ops: Vec<Op>,
        written: &[Vec<u8>],
        row_number: u64,
    ) -> Result<(), Failure> {
        let batch = client::Batch { ops, ..self.batch() };
        match self.client().execute(batch).await {
            Ok(result) => {
                self.warnings.extend(result.warnings);
                Ok(())
            }
            Err(refusal) => {
                let (table, layout) = (&plan.target.table, &plan.target.layout);
                Err(self.write_failure(refusal, table, layout, written, row_number).await)
            }
        }
    }

    /// Sends the assignments to the rows. None if the keys cannot be told from the values, or the constants are too long to go with each:
    /// the general way then.
    async fn ship_update(
        &mut self,
        plan: &UpdatePlan,
        assignments: &[client::Assignment],
        storing: Storing,
    ) -> Result<Option<Changed>, Failure> {
        let table = &plan.target.table;
        let mut context = self.run.context();
        let resolved = keys::resolve(table, table, &plan.target.access.path, &mut context)?;
        take_warnings(&mut context, &mut self.warnings);
        let keys = match resolved {
            Keys::Nothing => return Ok(Some(Changed::default())),
            Keys::Keys(keys) if keys.len() <= keys_at_once(table) => keys,
            Keys::Keys(_) | Keys::Ranges(_) | Keys::Unusable => return Ok(None),
        };
        // Before they are copied; what is computed is known to be long later.
        let values = assignments.iter().map(|assignment| &assignment.value);
        let bytes = values.map(|value| match value {
            Expr::Param(number) => self.run.params[usize::from(*number)].held_bytes(),
            other => constant_bytes(other),
        });
        if ops_that_fit(bytes.sum()) < keys.len() {
            return Ok(None);
        }
        // Values that are the same for all rows are stored here, once, where their errors have names.
        let mut stored_warnings = Vec::new();
        let mut shipped = Vec::with_capacity(assignments.len());
        let mut pace = Pace::default();
        for assignment in assignments {
            let column = &table.columns[usize::from(assignment.column)];
            let value = match &assignment.value {
                expr if crate::bind::rewrite::has_columns(expr) => expr.clone(),
                expr => {
                    let mut context = self.run.context();
                    let value = keys::constant(expr, &mut context)?;
                    take_warnings(&mut context, &mut self.warnings);
                    let stored = if !value.is_null() {
                        store_value(value, column, storing, &self.run, 1, &mut stored_warnings)
                    } else if column.nullable {
                        Ok(value)
                    } else {
                        refuse_null(column, storing, &mut stored_warnings)
                    };
                    // What does not fit is an error only if there is a row to change: that is found out the general way.
                    let Ok(stored) = stored else { return Ok(None) };
                    pace.bytes(stored.held_bytes()).await;
                    Expr::Const(stored)
                }
            };
            shipped.push(client::Assignment { column: assignment.column, value });
        }
        // Each row that is changed gives its own warnings.
        if !stored_warnings.is_empty() && 1 < keys.len() {
            return Ok(None);
        }
        let exprs = || {
            let values = shipped.iter().map(|assignment| &assignment.value);
            values.chain(plan.target.access.residual.as_ref())
        };
        if ops_that_fit(exprs().map(constant_bytes).sum()) < keys.len() {
            return Ok(None);
        }
        let mut batch = self.batch();
        batch.settings.strict = storing.mode == types::convert::StoreMode::Strict;
        batch.commit = self.commits_with_last_request();
        batch.params = sent_params(&self.run, exprs())?;
        batch.ops = keys
            .into_iter()
            .map(|key| Op {
                table: table.id,
                version: table.version,
                kind: OpKind::Update {
                    key: Bytes(key),
                    filter: plan.target.access.residual.clone(),
                    assignments: shipped.clone(),
                    returning: false,
                },
            })
            .collect();
        let result = match self.client().execute(batch).await {
            Ok(result) => result,
            Err(refusal) => {
                return Err(self.write_failure(refusal, table, &plan.target.layout, &[], 1).await);
            }
        };
        self.warnings.extend(result.warnings);
        let mut done = Changed::default();
        for result in result.results.into_iter().flatten() {
            if let OpResult::Updated { matched, changed, .. } = result {
                done.matched += u64::from(matched);
                done.affected += u64::from(changed);
            }
        }
        if 0 < done.matched {
            self.warnings.append(&mut stored_warnings);
        }
        Ok(Some(done))
    }

    /// Does the assignments to a row, each seeing those before it. True if a column got another value.
    pub async fn assign_columns(
        &mut self,
        table: &Table,
        assignments: &[AssignmentPlan],
        values: &mut Vec<Value>,
        storing: Storing,
        row_number: u64,
    ) -> Result<bool, Failure> {
        let mut differs = false;
        for assignment in assignments {
            let value = match &assignment.value {
                AssignedValue::Default => None,
                AssignedValue::Expr(bound) => Some(self.value_of(bound, &*values).await?),
            };
            differs |= self.assign(table, assignment.column, value, values, storing, row_number)?;
        }
        if differs {
            self.assign_now(table, assignments, values);
        }
        Ok(differs)
    }

    /// The same with values that are computed on another row.
    pub async fn assign_from<R: Columns + ?Sized>(
        &mut self,
        table: &Table,
        assignments: &[AssignmentPlan],
        row: &R,
        values: &mut [Value],
        storing: Storing,
        row_number: u64,
    ) -> Result<bool, Failure> {
        let mut differs = false;
        for assignment in assignments {
            let value = match &assignment.value {
                AssignedValue::Default => None,
                AssignedValue::Expr(bound) => Some(self.value_of(bound, row).await?),
            };
            differs |= self.assign(table, assignment.column, value, values, storing, row_number)?;
        }
        if differs {
            self.assign_now(table, assignments, values);
        }
        Ok(differs)
    }

    /// Gives a column a value, or its default. True if it is another one.
    fn assign(
        &mut self,
        table: &Table,
        column: u16,
        value: Option<Value>,
        values: &mut [Value],
        storing: Storing,
        row_number: u64,
    ) -> Result<bool, SqlError> {
        let position = usize::from(column);
        let column = &table.columns[position];
        let (run, warnings) = (&self.run, &mut self.warnings);
        let value = match value {
            None => default_value(column, storing, run, warnings)?,
            Some(Value::Null) => Value::Null,
            Some(value) => store_value(value, column, storing, run, row_number, warnings)?,
        };
        let value = if value.is_null() && !column.nullable {
            refuse_null(column, storing, warnings)?
        } else {
            value
        };
        let differs = !is_same(&values[position], &value);
        values[position] = value;
        Ok(differs)
    }

    /// ON UPDATE CURRENT_TIMESTAMP of the columns that no assignment names.
    fn assign_now(&self, table: &Table, assignments: &[AssignmentPlan], values: &mut [Value]) {
        for (position, column) in table.columns.iter().enumerate() {
            let assigned = assignments.iter().any(|own| usize::from(own.column) == position);
            if column.on_update_now && !assigned {
                values[position] = now_value(column, &self.run);
            }
        }
    }
}

/// Byte for byte the same: 'a' to 'A' is a change whatever the collation.
fn is_same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Text(old, _), Value::Text(new, _)) => old == new,
        _ => old == new,
    }
}

pub fn changes_unique_key(table: &Table, assignments: &[AssignmentPlan]) -> bool {
    table.indexes.iter().any(|index| {
        index.kind != types::IndexKind::Ordinary
            && index
                .parts
                .iter()
                .any(|part| assignments.iter().any(|own| own.column == part.column))
    })
}
