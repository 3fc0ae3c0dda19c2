//! INSERT and REPLACE: the values of new rows. What they must pass, and what becomes of taken keys, is the [`TableWriter`]'s.

use types::convert::{declared_text, has_declared_text};
use types::{ColumnDefault, Expr, Value};

use super::stored::Collector;
use super::write::{
    NewRow, RowChange, Storing, TableWriter, default_value, generated_value, store_value,
};
use super::{Changed, Context, Failure, Pace};
use crate::ColumnInfo;
use crate::ResultSink;
use crate::bind::change::is_stored_as_text;
use crate::bind::rewrite;
use crate::plan::{Bound, InsertPlan, InsertSource, InsertValue, Plan, SelectPlan};

impl Context<'_> {
    pub async fn run_insert(
        &mut self,
        plan: &InsertPlan,
        sink: &mut dyn ResultSink,
    ) -> Result<Changed, Failure> {
        let mut storing = Storing::new(self.run.strict, plan.ignore);
        // One row alone is refused its NULL in any mode; of several the others are worth it.
        if matches!(&plan.source, InsertSource::Values(rows) if rows.len() == 1) {
            storing.takes_null = plan.ignore;
        }
        let mut writer = TableWriter::of_insert(self, plan, storing)?;
        // A column that gets no value at all and has none fails the statement before its first row.
        for (position, column) in plan.table.columns.iter().enumerate() {
            let is_given = plan.columns.iter().any(|given| usize::from(*given) == position);
            if !is_given {
                default_value(column, storing, &self.run, &mut Vec::new())?;
            }
        }
        match &plan.source {
            InsertSource::Values(rows) => self.insert_values(plan, rows, &mut writer).await?,
            InsertSource::Select(select) => {
                Box::pin(self.insert_select(plan, select, &mut writer)).await?
            }
            InsertSource::Load(load) => {
                Box::pin(self.load(plan, load, &mut writer, sink)).await?;
            }
        }
        Ok(writer.finish_insert(self))
    }

    async fn insert_values(
        &mut self,
        plan: &InsertPlan,
        rows: &[Vec<InsertValue>],
        writer: &mut TableWriter<'_>,
    ) -> Result<(), Failure> {
        writer.expect_rows(rows.len());
        for (number, values) in (1..).zip(rows) {
            match self.values_row(plan, values, number, writer).await {
                Ok(row) => writer.push(self, RowChange::insert(row, number)).await?,
                Err(failure) => return Err(Box::pin(writer.fail(self, failure)).await),
            }
        }
        writer.flush(self, true).await
    }

    async fn insert_select(
        &mut self,
        plan: &InsertPlan,
        select: &SelectPlan,
        writer: &mut TableWriter<'_>,
    ) -> Result<(), Failure> {
        // All are read before the first is written, so that a table can feed itself.
        let mut collector = Collector::new(&self.budget(), None);
        self.run_select(select, &mut collector).await?;
        let rows = collector.finish()?;
        let declared = texts_of_declared(plan, select);
        let mut pace = Pace::default();
        writer.expect_rows(rows.len());
        let mut rows = rows.into_reader();
        let mut number = 0;
        while let Some(mut values) = rows.next().await? {
            number += 1;
            pace.row().await;
            let source = values.split_off(plan.columns.len());
            for (position, info) in &declared {
                let (column_type, display) = (&info.column_type, info.display);
                values[*position] = declared_text(values[*position].as_ref(), column_type, display);
            }
            let given = plan.columns.iter().map(|&column| usize::from(column)).zip(values);
            match writer.new_row(self, given, number) {
                Ok(mut row) => {
                    row.source = source;
                    writer.push(self, RowChange::insert(row, number)).await?;
                }
                Err(error) => return Err(Box::pin(writer.fail(self, error.into())).await),
            }
        }
        writer.flush(self, true).await
    }

    /// A row of VALUES.
    async fn values_row(
        &mut self,
        plan: &InsertPlan,
        values: &[InsertValue],
        number: u64,
        writer: &mut TableWriter<'_>,
    ) -> Result<NewRow, Failure> {
        let table = &plan.table;
        let mut given: Vec<(usize, Value)> = Vec::with_capacity(values.len());
        for (value, &column) in values.iter().zip(&plan.columns) {
            let column = usize::from(column);
            match value {
                InsertValue::Default => {
                    let definition = &table.columns[column];
                    // Left to new_row, except that DEFAULT of an AUTO_INCREMENT column is a written zero: it asks for a
                    // value where zeros do.
                    if matches!(definition.default, ColumnDefault::AutoIncrement) {
                        given.push((column, generated_value(0, &definition.column_type)));
                    }
                }
                InsertValue::Expr(bound) => {
                    let value = match &bound.expr {
                        Expr::Const(value) => value.clone(),
                        Expr::Param(number) if !bound.is_local() => {
                            self.run.params[usize::from(*number)].clone()
                        }
                        _ if names_columns(self.run.plan, bound) => {
                            // Columns named in VALUES are those given before, as they are stored, else their defaults.
                            let mut row = Vec::with_capacity(table.columns.len());
                            let lenient = Storing::new(false, true);
                            for (other, definition) in table.columns.iter().enumerate() {
                                let own = given.iter().find(|(column, _)| *column == other);
                                let unsaid = &mut Vec::new();
                                row.push(match own {
                                    Some((_, Value::Null)) => Value::Null,
                                    Some((_, value)) => {
                                        let value = value.clone();
                                        store_value(
                                            value, table, other, lenient, &self.run, number, unsaid,
                                        )?
                                    }
                                    None => default_value(definition, lenient, &self.run, unsaid)?,
                                });
                            }
                            self.value_of(bound, &row).await?
                        }
                        _ => self.scalar_value(bound).await?,
                    };
                    given.push((column, value));
                }
            }
        }
        Ok(writer.new_row(self, given.into_iter(), number)?)
    }
}

/// The values of a SELECT that columns of texts get, where the text of a value depends on its declared type: their positions.
fn texts_of_declared<'s>(
    plan: &InsertPlan,
    select: &'s SelectPlan,
) -> Vec<(usize, &'s ColumnInfo)> {
    let pairs = plan.columns.iter().zip(select.columns.iter()).enumerate();
    pairs
        .filter(|(_, (column, info))| {
            let target = &plan.table.columns[usize::from(**column)].column_type;
            // Computed items have no name of a table's.
            let is_column = !info.org_name.is_empty();
            !target.is_numeric()
                && !target.is_temporal()
                && has_declared_text(&info.column_type, info.display)
                && is_stored_as_text(&info.column_type, is_column, target)
        })
        .map(|(position, (_, info))| (position, info))
        .collect()
}

/// Does the expression name columns of the row being made, itself or in what its slots are made of?
pub fn names_columns(plan: &Plan, bound: &Bound) -> bool {
    let mut found = rewrite::has_columns(&bound.expr);
    for slot in &bound.slots {
        plan.slots[usize::from(*slot)]
            .for_each_expr(&mut |expr| found |= rewrite::has_columns(expr));
    }
    found
}
