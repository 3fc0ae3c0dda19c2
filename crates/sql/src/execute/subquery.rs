//! The values of subqueries, before the statement's first row.

use std::pin::Pin;

use types::{Value, ValueRef};

use super::{Context, Failure};
use crate::SqlError;
use crate::plan::Slot;
use crate::result::{ColumnInfo, OkInfo, ResultSink};

impl Context<'_> {
    /// Runs the statement's subqueries, inner ones first, and supplies their values. 1242 if one has several rows.
    pub async fn run_subqueries(&mut self) -> Result<(), Failure> {
        let plan = self.run.plan;
        // An inner subquery got its slot before the one around it.
        for (number, slot) in plan.slots.iter().enumerate() {
            let Slot::Subquery(select) = slot else { continue };
            let mut only = OnlyRow::default();
            let found_rows = self.found_rows();
            let around = std::mem::replace(&mut self.run.wait, select.wait);
            let sent = self.run_select(select, &mut only).await?;
            self.run.wait = around;
            self.set_found_rows(found_rows);
            if 1 < sent {
                return Err(SqlError::subquery_rows().into());
            }
            let position = self.run.first_slot() + number;
            let columns = self.run.params[position..].iter_mut().take(select.columns.len());
            let mut values = only.values.unwrap_or_default().into_iter();
            columns.for_each(|param| *param = values.next().unwrap_or(Value::Null));
        }
        Ok(())
    }
}

/// Keeps the first row.
#[derive(Default)]
struct OnlyRow {
    values: Option<Vec<Value>>,
}

impl ResultSink for OnlyRow {
    fn columns(&mut self, _columns: &[ColumnInfo]) {}
    fn row(&mut self, values: &[ValueRef<'_>]) {
        self.values.get_or_insert_with(|| values.iter().map(ValueRef::to_value).collect());
    }
    fn end_of_rows(&mut self, _info: &OkInfo) {}
    fn ok(&mut self, _info: &OkInfo) {}
    fn error(&mut self, _error: &SqlError) {}
    fn is_full(&self) -> bool {
        false
    }
    fn drained(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}
