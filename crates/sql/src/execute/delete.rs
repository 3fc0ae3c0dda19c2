//! DELETE of one table. By primary key, without a unique secondary key, the row is deleted unseen; else rows are locked and
//! read, for their entries in unique keys go with them.

use super::write::{ROWS_PER_BATCH, RowChange, TableWriter};
use super::{Changed, Context, Failure};
use crate::plan::DeletePlan;

impl Context<'_> {
    pub async fn run_delete(&mut self, plan: &DeletePlan) -> Result<Changed, Failure> {
        if plan.shipped
            && let Some(changed) = self.ship_delete(plan).await?
        {
            return Ok(changed);
        }
        let target = &plan.target;
        let mut writer = TableWriter::of_delete(&target.table, &target.layout);
        let mut open = self.open_target(target, false, target.table.references_itself()).await?;
        while let Some(rows) = self.next_target_rows(&mut open, ROWS_PER_BATCH).await? {
            for old in rows {
                writer.push(self, RowChange::delete(old)).await?;
            }
            writer.flush(self, open.is_at_end()).await?;
        }
        Ok(writer.changed(0))
    }
}
