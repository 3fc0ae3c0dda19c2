//! Changes that the shards of their rows make alone: by primary key, and sent unseen, as one operation each that commits with the same
//! request. The binder says which statements may be sent so ([`types::Table::needs_writer`]).

use client::{Op, OpKind, OpResult};
use types::Expr;
use types::wire::Bytes;

use super::values::{Storing, refuse_null, store_value};
use crate::execute::keys::{self, Keys};
use crate::execute::rows::{constant_bytes, keys_at_once, ops_that_fit, sent_params};
use crate::execute::{Changed, Context, Failure, Pace, take_warnings};
use crate::plan::{ChangeTarget, DeletePlan, UpdatePlan};

impl Context<'_> {
    /// The primary keys of the rows, if they follow from the values and one request has room for them.
    fn shipped_keys(&mut self, target: &ChangeTarget) -> Result<Option<Vec<Vec<u8>>>, Failure> {
        let table = &target.table;
        let mut context = self.run.context();
        let resolved = keys::resolve(table, table, &target.access.path, &mut context)?;
        take_warnings(&mut context, &mut self.warnings);
        Ok(match resolved {
            Keys::Nothing => Some(Vec::new()),
            Keys::Keys(keys) if keys.len() <= keys_at_once(table) => Some(keys),
            Keys::Keys(_) | Keys::Ranges(_) | Keys::Unusable => None,
        })
    }

    /// Sends the assignments to the rows. None if the keys cannot be told from the values, or the constants are too long to go with each:
    /// the general way then.
    pub async fn ship_update(
        &mut self,
        plan: &UpdatePlan,
        assignments: &[client::Assignment],
        storing: Storing,
    ) -> Result<Option<Changed>, Failure> {
        let table = &plan.target.table;
        let Some(keys) = self.shipped_keys(&plan.target)? else { return Ok(None) };
        if keys.is_empty() {
            return Ok(Some(Changed::default()));
        }
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
                        let position = usize::from(assignment.column);
                        let warnings = &mut stored_warnings;
                        store_value(value, table, position, storing, &self.run, 1, warnings)
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
                return Err(
                    Box::pin(self.write_failure(refusal, table, &plan.target.layout, &[])).await
                );
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

    /// Sends the deletions to the rows; `None` as above.
    pub async fn ship_delete(&mut self, plan: &DeletePlan) -> Result<Option<Changed>, Failure> {
        let table = &plan.target.table;
        let Some(keys) = self.shipped_keys(&plan.target)? else { return Ok(None) };
        if keys.is_empty() {
            return Ok(Some(Changed::default()));
        }
        let filter = plan.target.access.residual.as_ref();
        if ops_that_fit(filter.map_or(0, constant_bytes)) < keys.len() {
            return Ok(None);
        }
        let mut batch = self.batch();
        batch.commit = self.commits_with_last_request();
        batch.params = sent_params(&self.run, filter.into_iter())?;
        batch.ops = keys
            .into_iter()
            .map(|key| Op {
                table: table.id,
                version: table.version,
                kind: OpKind::Delete {
                    key: Bytes(key),
                    filter: plan.target.access.residual.clone(),
                },
            })
            .collect();
        let results = self.execute_batch(batch).await?;
        let mut done = Changed::default();
        for result in results.into_iter().flatten() {
            if let OpResult::Deleted(deleted) = result {
                done.affected += u64::from(deleted);
            }
        }
        Ok(Some(done))
    }
}
