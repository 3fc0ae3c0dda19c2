//! DELETE. By primary key, without a unique secondary key, the row is deleted unseen; else rows are locked and read, for
//! their entries in unique keys go with them.

use client::{Op, OpKind, OpResult};
use types::wire::Bytes;

use super::keys::{self, Keys};
use super::rows::{constant_bytes, keys_at_once, ops_that_fit, sent_params};
use super::write::ROWS_PER_BATCH;
use super::{Changed, Context, Failure, take_warnings};
use crate::plan::DeletePlan;

impl Context<'_> {
    pub async fn run_delete(&mut self, plan: &DeletePlan) -> Result<Changed, Failure> {
        if plan.shipped
            && let Some(changed) = self.ship_delete(plan).await?
        {
            return Ok(changed);
        }
        let table = &plan.target.table;
        let catalogue = self.catalogue();
        let mut changed = Changed::default();
        let mut open = self.open_target(&plan.target, false).await?;
        while let Some(rows) = self.next_target_rows(&mut open, ROWS_PER_BATCH).await? {
            let mut batch = self.batch();
            for old in &rows {
                batch.ops.extend(client::delete_ops(&catalogue, table, old));
            }
            changed.affected += rows.len() as u64;
            self.execute_batch(batch).await?;
        }
        Ok(changed)
    }

    async fn ship_delete(&mut self, plan: &DeletePlan) -> Result<Option<Changed>, Failure> {
        let table = &plan.target.table;
        let mut context = self.run.context();
        let resolved = keys::resolve(table, table, &plan.target.access.path, &mut context)?;
        take_warnings(&mut context, &mut self.warnings);
        let keys = match resolved {
            Keys::Nothing => return Ok(Some(Changed::default())),
            Keys::Keys(keys) if keys.len() <= keys_at_once(table) => keys,
            Keys::Keys(_) | Keys::Ranges(_) | Keys::Unusable => return Ok(None),
        };
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
