//! What the definition of a table makes of a row: DEFAULT (expression), generated columns, CHECK.

use types::convert::SqlWarning;
use types::{Column, Value};

use super::values::{refuse_null, store_value};
use super::{RowChange, TableWriter};
use crate::error::{SqlError, code};
use crate::execute::{Context, Failure};

impl TableWriter<'_> {
    /// Gives the columns values that are computed of others, in the order of the columns: those with DEFAULT (expression)
    /// that the statement gave none, and generated ones.
    pub(super) async fn compute_columns(
        &self,
        context: &mut Context<'_>,
        change: &mut RowChange,
    ) -> Result<(), Failure> {
        let number = change.number;
        let Some(new) = &mut change.new else { return Ok(()) };
        for rule in &self.rules.columns {
            if rule.is_default && !new.unset.contains(&rule.column) {
                continue;
            }
            let column = &self.table.columns[usize::from(rule.column)];
            let value = context.value_of(&rule.value, &new.values).await?;
            let (run, warnings) = (&context.run, &mut context.warnings);
            let value = match value {
                Value::Null => Value::Null,
                value => {
                    let position = usize::from(rule.column);
                    store_value(value, self.table, position, self.storing, run, number, warnings)?
                }
            };
            new.values[usize::from(rule.column)] = match value {
                Value::Null if !column.nullable => refuse_null(column, self.storing, warnings)?,
                value => value,
            };
        }
        Ok(())
    }

    /// May the row be written? 1369 for a row that the view would not show, 3819 for one that a CHECK refuses; with IGNORE a
    /// warning, and the change is left out. As in MySQL, the sequence has not given a new row its value yet.
    pub(super) async fn passes_checks(
        &mut self,
        context: &mut Context<'_>,
        change: &RowChange,
    ) -> Result<bool, Failure> {
        let Some(new) = &change.new else { return Ok(true) };
        if let Some(check) = self.check
            && !context.all_hold(&check.terms, &new.values).await?
        {
            let message = format!("CHECK OPTION failed '{}'", check.view);
            self.left_out += 1;
            return self.leave_out(context, SqlError::new(code::ER_VIEW_CHECK_FAILED, message));
        }
        for (name, violation) in &self.rules.violations {
            if context.holds(violation, &new.values).await? {
                return self.leave_out(context, SqlError::check_violated(name));
            }
        }
        Ok(true)
    }

    /// The error, or with IGNORE false: the change is left out.
    pub(super) fn leave_out(
        &self,
        context: &mut Context<'_>,
        error: SqlError,
    ) -> Result<bool, Failure> {
        if !self.ignore {
            return Err(error.into());
        }
        context.warnings.push(SqlWarning::warning(error.code, error.message));
        Ok(false)
    }
}

/// The value of a column until its expression is evaluated.
pub fn value_before(column: &Column) -> Value {
    match column.nullable {
        true => Value::Null,
        false => column.column_type.implicit_default().to_value(),
    }
}
