//! The shortest way of a statement: one row by its primary key, from this node's own replica.

use types::convert::EvalSettings;
use types::expr::EvalContext;
use types::{RowView, Value, ValueRef};

use super::Session;
use crate::ResultSink;
use crate::execute::evaluate::shifted;
use crate::execute::keys::{SingleKey, put_single_key};
use crate::plan::{Plan, SelectPlan, Source};

impl Session {
    /// The settings of the session for expressions of a statement that only reads.
    fn read_settings(&self) -> EvalSettings {
        let offset = self.settings.time_zone_offset_seconds;
        EvalSettings {
            strict: false,
            now: shifted(self.statement_clock(), offset),
            time_zone_offset_seconds: offset,
            date_modes: self.settings.sql_mode.date_modes(),
            ignore_division_by_zero: self.settings.sql_mode.ignores_division_by_zero(),
        }
    }

    /// Answers a statement that is one row by its primary key from this node's own replica, at once. False, and nothing
    /// sent, if the statement must go the general way: inside a transaction, or the row cannot be told at once.
    pub fn look_up(
        &mut self,
        plan: &Plan,
        select: &SelectPlan,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> bool {
        let (Some(lookup), Source::Table(source)) = (&select.lookup, &select.source) else {
            return false;
        };
        let is_plain = self.ends_with_statement()
            && !source.table.id.is_temporary()
            && plan.slots.is_empty()
            && self.settings.select_limit == u64::MAX
            && !sink.is_full();
        if !is_plain {
            return false;
        }
        let settings = match lookup.is_key_plain {
            true => EvalSettings::default(),
            false => self.read_settings(),
        };
        let mut context = EvalContext::with(params, settings);
        self.key_buffer.clear();
        let (table, path) = (&source.table, &source.access.path);
        let put = put_single_key(table, table, path, &mut context, &mut self.key_buffer);
        // What goes wrong or warns goes wrong the same way again.
        if !matches!(put, Ok(SingleKey::Put)) || context.convert.warnings.total() > 0 {
            return false;
        }
        let mut found = 0;
        let answered = self.client.client().read_latest(table, &self.key_buffer, &mut |row| {
            sink.plan_columns(&select.columns);
            let Some(row) = row else { return };
            found = 1;
            let view = RowView::new(&lookup.layout, row);
            let value = |column: &u16| view.get(usize::from(*column));
            let values: Vec<ValueRef<'_>> = lookup.columns.iter().map(value).collect();
            sink.row(&values);
        });
        if answered {
            self.found_rows = found;
        }
        answered
    }
}
