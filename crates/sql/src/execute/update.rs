//! UPDATE of one table.
//!
//! The hot path first: an update by primary key whose assignments can be computed where the row is goes there as one
//! operation, with the rest of WHERE as its filter, and commits in the same batch. Everything else locks the rows, computes
//! here, and writes whole rows back.

use types::{RowView, Value};

use super::rows::owned_row;
use super::write::{ROWS_PER_BATCH, RowChange, Storing, TableWriter, changes_unique_key};
use super::{Changed, Context, Failure};
use crate::plan::UpdatePlan;

impl Context<'_> {
    pub async fn run_update(&mut self, plan: &UpdatePlan) -> Result<Changed, Failure> {
        let storing = Storing::new(self.run.strict, plan.ignore);
        if let Some(assignments) = &plan.shipped
            && let Some(changed) = self.ship_update(plan, assignments, storing).await?
        {
            return Ok(changed);
        }
        let (target, assignments) = (&plan.target, &plan.assignments);
        let (table, layout) = (&target.table, &target.layout);
        let rules = (plan.check.as_ref(), &plan.rules);
        let mut writer =
            TableWriter::of_update(table, layout, rules, assignments, storing, plan.ignore);
        let moves_keys = changes_unique_key(table, assignments);
        let mut matched = 0;
        let in_order = moves_keys || table.references_itself();
        let mut open = self.open_target(target, plan.moves_in_index, in_order).await?;
        while let Some(rows) = self.next_target_rows(&mut open, ROWS_PER_BATCH).await? {
            for old in rows {
                matched += 1;
                let mut values = owned_row(table, &RowView::new(layout, &old));
                let own = None::<&Vec<Value>>;
                let differs = self
                    .assign_columns(table, assignments, own, &mut values, storing, matched)
                    .await;
                match differs {
                    Ok(true) => {
                        let change = RowChange::update(old, values).numbered(matched);
                        writer.push(self, change).await?;
                    }
                    Ok(false) => {}
                    Err(failure) => return Err(Box::pin(writer.fail(self, failure)).await),
                }
            }
            writer.flush(self, open.is_at_end()).await?;
        }
        Ok(writer.changed(matched))
    }
}
