//! SELECT: rows from their source through grouping, sort and limit into the sink.

use std::ops::Bound as KeyBound;
use std::pin::Pin;

use client::{Columns as OpColumns, KeyRange, Lock, RowBatch, Scan, ScanBatch, ScanOutput};
use types::convert::{EvalSettings, SqlWarning};
use types::expr::{
    Columns, EvalContext, EvalError, JsonTable, JsonTableRows, NoColumns, json_table_document,
};
use types::json::JsonRef;
use types::{ColumnType, RowView, Value, ValueRef};

use super::batch::JoinedRow;
use super::evaluate::shifted;
use super::groups::Groups;
use super::keys::RANGE_BYTES_MAX;
use super::profile::Stage;
use super::rows::{Found, Wanted};
use super::runs::RowOrder;
use super::sort::{Seen, SeenRow, Sorter};
use super::window::WindowRows;
use super::{Context, Failure, Pace, Run, eval_error, take_warnings, value_size};
use crate::SqlError;
use crate::error::code;
use crate::plan::{Bound, Grouping, JoinedSource, PlanKind, SelectPlan, Source, TableSource};
use crate::result::{ColumnInfo, ResultSink};

/// What follows the items of a row: DISTINCT, sort, offset, limit, and the way out.
struct Output<'p> {
    plan: &'p SelectPlan,
    visible: usize,
    sorter: Option<Sorter>,
    seen: Option<Seen>,
    offset: u64,
    count: u64,
    /// Rows that would have been sent without LIMIT, as far as they were looked at.
    found: u64,
    sent: u64,
    /// SELECT ... INTO: the one row.
    into: Option<Vec<Value>>,
    /// The rows so far, where window functions are computed over all of them.
    windows: Option<WindowRows<'p>>,
}

impl<'p> Output<'p> {
    fn new(context: &Context<'_>, plan: &'p SelectPlan, limit: (u64, u64)) -> Output<'p> {
        let (offset, count) = limit;
        let wanted = (!plan.distinct && !plan.calc_found_rows && count < u64::MAX)
            .then(|| offset.saturating_add(count));
        let visible = plan.items.len() - plan.hidden_count;
        Output {
            plan,
            visible,
            sorter: (!plan.sort.is_empty()).then(|| {
                let order = RowOrder::Keys(plan.sort.as_slice().into());
                Sorter::new(&context.budget(), order, wanted)
            }),
            seen: plan.distinct.then(|| Seen::in_order(&context.budget(), &plan.sort, visible)),
            offset,
            count,
            found: 0,
            sent: 0,
            into: None,
            windows: plan.windows.as_ref().map(|plan| WindowRows::new(&context.budget(), plan)),
        }
    }
    /// Rows of the source that can be of use, at most.
    fn missing(&self) -> u64 {
        self.offset.saturating_add(self.count).saturating_sub(self.found)
    }
    /// Is more of the source of no use?
    fn is_done(&self) -> bool {
        self.sorter.is_none()
            && !self.plan.calc_found_rows
            && self.offset.saturating_add(self.count) <= self.found
    }
    /// Is the row just counted between offset and limit?
    fn in_window(&self) -> bool {
        self.offset < self.found && self.found - self.offset <= self.count
    }
    fn send(&mut self, row: &[Value], sink: &mut dyn ResultSink) -> Result<(), SqlError> {
        self.sent += 1;
        if !self.plan.into_variables.is_empty() {
            if self.into.is_some() {
                return Err(SqlError::new(
                    code::ER_TOO_MANY_ROWS,
                    "Result consisted of more than one row",
                ));
            }
            self.into = Some(row.to_vec());
            return Ok(());
        }
        let values: Vec<ValueRef<'_>> = row[..self.visible].iter().map(Value::as_ref).collect();
        sink.row(&values);
        Ok(())
    }
}

impl Context<'_> {
    /// Runs a SELECT: columns and rows into the sink (the caller ends the result set). Returns the rows sent.
    pub async fn run_select(
        &mut self,
        plan: &SelectPlan,
        sink: &mut dyn ResultSink,
    ) -> Result<u64, Failure> {
        self.begin_query(plan);
        if !plan.once.is_empty() {
            Box::pin(self.run_once(&plan.once)).await?;
        }
        let limit = self.limit_of(plan)?;
        let mut columns_sent = !plan.into_variables.is_empty();
        let mut output = Output::new(self, plan, limit);
        match &plan.source {
            Source::Nothing { filter } => {
                let holds = match filter {
                    Some(filter) => self.holds(filter, &NoColumns).await?,
                    None => true,
                };
                let rows: Vec<Vec<Value>> = if holds { vec![Vec::new()] } else { Vec::new() };
                self.count_pushed(plan, Stage::LocalFilter, rows.len());
                let local = self.local_rows(plan, rows, &mut output, &mut columns_sent, sink);
                Box::pin(local).await?;
            }
            Source::Virtual { table, filter } => {
                let all = Box::pin(self.system_rows(*table)).await?;
                self.count_pushed(plan, Stage::Source, all.len());
                let mut rows = Vec::with_capacity(all.len());
                let mut pace = Pace::default();
                for row in all {
                    pace.row().await;
                    let holds = match filter {
                        Some(filter) => self.holds(filter, &row).await?,
                        None => true,
                    };
                    if holds {
                        rows.push(row);
                    }
                }
                self.count_pushed(plan, Stage::LocalFilter, rows.len());
                let local = self.local_rows(plan, rows, &mut output, &mut columns_sent, sink);
                Box::pin(local).await?;
            }
            Source::Documents { document, table, .. } => {
                let rows = Box::pin(self.document_rows(document, table, plan.items.len())).await?;
                self.count_pushed(plan, Stage::Source, rows.len());
                let local = self.local_rows(plan, rows, &mut output, &mut columns_sent, sink);
                Box::pin(local).await?;
            }
            Source::Joined(source) => {
                let joined = self.joined_rows(plan, source, &mut output, &mut columns_sent, sink);
                // Apart, so that the future of the common ways stays short: it is moved.
                Box::pin(joined).await?;
            }
            Source::Table(source) => match &plan.grouping {
                Some(grouping) => {
                    let groups = if grouping.shipped {
                        Box::pin(self.shipped_groups(plan, source, grouping)).await?
                    } else {
                        Box::pin(self.gathered_groups(plan, source, grouping)).await?
                    };
                    begin(plan, &mut columns_sent, sink);
                    Box::pin(self.group_rows(plan, groups, &mut output, sink)).await?;
                }
                None => {
                    self.table_rows(plan, source, &mut output, &mut columns_sent, sink).await?;
                }
            },
        }
        begin(plan, &mut columns_sent, sink);
        if let Some(windows) = output.windows.take() {
            Box::pin(self.windowed_rows(plan, windows, &mut output, sink)).await?;
        }
        if let Some(sorter) = output.sorter.take() {
            let mut rows = Box::pin(sorter.finish()).await?;
            self.count_pushed(plan, Stage::Sort, rows.len());
            while !output.is_done()
                && let Some(row) = rows.next().await?
            {
                self.take(row, &mut output, sink).await?;
            }
        }
        if let Some(seen) = output.seen.take() {
            let mut rows = Box::pin(seen.finish()).await?;
            while let Some(rows) = &mut rows
                && !output.is_done()
                && let Some(row) = rows.next().await?
            {
                self.send(&row, &mut output, sink).await?;
            }
        }
        self.end_query(plan);
        if !plan.into_variables.is_empty() {
            match output.into.take() {
                Some(row) => {
                    for (name, value) in plan.into_variables.iter().zip(row) {
                        self.set_user_variable(name, value)?;
                    }
                }
                None => self.warnings.push(SqlWarning::warning(
                    1329,
                    "No data - zero rows fetched, selected, or processed".into(),
                )),
            }
        }
        self.set_found_rows(if plan.calc_found_rows { output.found } else { output.sent });
        Ok(output.sent)
    }

    /// (offset, count) of LIMIT, or of sql_select_limit, which is for rows that a client gets.
    pub fn limit_of(&self, plan: &SelectPlan) -> Result<(u64, u64), SqlError> {
        let Some(limit) = &plan.limit else {
            let is_sent = matches!(self.run.plan.kind, PlanKind::Select(_));
            return Ok((0, if is_sent { self.settings().select_limit } else { u64::MAX }));
        };
        let count = limit_value(&self.run, &limit.count)?;
        let offset = match &limit.offset {
            Some(offset) => limit_value(&self.run, offset)?,
            None => 0,
        };
        Ok((offset, count))
    }

    /// Rows that are here already: no table, or a table of information_schema.
    async fn local_rows(
        &mut self,
        plan: &SelectPlan,
        rows: Vec<Vec<Value>>,
        output: &mut Output<'_>,
        columns_sent: &mut bool,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        if let Some(grouping) = &plan.grouping {
            let mut groups = Groups::new(grouping, self.account());
            for row in &rows {
                self.supply(&grouping.slots, row).await?;
                if groups.add(self, row)? {
                    groups.make_room().await?;
                }
            }
            begin(plan, columns_sent, sink);
            return self.group_rows(plan, groups, output, sink).await;
        }
        for row in &rows {
            if output.windows.is_some() {
                self.put(plan, row, output, sink).await?;
                continue;
            }
            let items = self.items(plan, row).await?;
            begin(plan, columns_sent, sink);
            self.pass(items, output, sink).await?;
            if output.is_done() {
                break;
            }
        }
        Ok(())
    }

    /// The rows that JSON_TABLE makes of a document.
    async fn document_rows(
        &mut self,
        document: &Bound,
        table: &JsonTable,
        width: usize,
    ) -> Result<Vec<Vec<Value>>, Failure> {
        let value = self.scalar_value(document).await?;
        let failed = |error: EvalError| Failure::from(eval_error(&error));
        let mut rows = JsonTableRows::new(width);
        let Some(document) = json_table_document(value).map_err(failed)? else {
            return Ok(rows.rows);
        };
        let mut context = self.run.context();
        let values = table.values(JsonRef::new(&document), &mut context).map_err(failed)?;
        self.run.count_work(&mut context);
        for (position, value) in values.into_iter().enumerate() {
            let mut context = self.run.context();
            table.expand(value, position as u64 + 1, &mut rows, &mut context).map_err(failed)?;
            self.run.count_work(&mut context);
            self.run.pause_after_work().await;
        }
        Ok(rows.rows)
    }

    /// A SELECT inside of another statement, which may be inside of one itself.
    pub fn run_select_inside<'f>(
        &'f mut self,
        plan: &'f SelectPlan,
        sink: &'f mut dyn ResultSink,
    ) -> Pin<Box<dyn Future<Output = Result<u64, Failure>> + 'f>> {
        Box::pin(self.run_select(plan, sink))
    }

    /// The rows of several relations.
    async fn joined_rows(
        &mut self,
        plan: &SelectPlan,
        source: &JoinedSource,
        output: &mut Output<'_>,
        columns_sent: &mut bool,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        if output.count == 0 && !plan.calc_found_rows {
            return Ok(());
        }
        let mut pace = Pace::default();
        let mut groups =
            plan.grouping.as_ref().map(|grouping| Groups::new(grouping, self.account()));
        let mut stream = self.open(&source.root).await?;
        if source.delivers_order && !stream.has_lost_order() {
            output.sorter = None;
        }
        let is_pulled = source.is_pulled && output.sorter.is_none();
        loop {
            if is_pulled {
                stream.expect(output.missing());
            }
            let Some(batch) = self.next(source, &mut stream).await? else { break };
            if groups.is_none() {
                begin(plan, columns_sent, sink);
            }
            for row in 0..batch.len() {
                pace.row().await;
                let row = JoinedRow::new(source, &batch, row);
                if let Some(groups) = &mut groups {
                    self.supply(&groups.grouping.slots, &row).await?;
                    if groups.add(self, &row)? {
                        groups.make_room().await?;
                    }
                    self.run.pause_after_work().await;
                    continue;
                }
                self.put(plan, &row, output, sink).await?;
                if output.is_done() {
                    return Ok(());
                }
            }
        }
        if let Some(groups) = groups {
            begin(plan, columns_sent, sink);
            self.group_rows(plan, groups, output, sink).await?;
        }
        Ok(())
    }

    /// The rows of a table, ungrouped.
    async fn table_rows(
        &mut self,
        plan: &SelectPlan,
        source: &TableSource,
        output: &mut Output<'_>,
        columns_sent: &mut bool,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        if output.count == 0 && !plan.calc_found_rows {
            return Ok(());
        }
        let sorts_unless_delivered = !plan.sort.is_empty();
        let plain = source.access.local_filter.is_none()
            && plan.windows.is_none()
            && !plan.distinct
            && !plan.calc_found_rows;
        let sorted_by_path = !sorts_unless_delivered || source.access.delivers_order;
        let wanted = Wanted {
            table: &source.table,
            access: &source.access,
            columns: columns_of(source),
            lock: self.read_lock(source.lock),
            semi_consistent: false,
            // Without ORDER BY no order is promised, but people expect that of the primary key. Window
            // functions number rows that are equal in their order by it.
            ordered: sorted_by_path || plan.windows.is_some(),
            limit: (plain && sorted_by_path && output.count < u64::MAX)
                .then(|| output.offset.saturating_add(output.count)),
            pulled: !plain
                && sorted_by_path
                && output.count < u64::MAX
                && plan.windows.is_none()
                && !plan.calc_found_rows,
            commit: self.run.plan.is_read()
                && self.ends_with_statement()
                && self.read_lock(source.lock) == Lock::None,
        };
        let (mut rows, unusable) = self.open_rows(&wanted).await?;
        if sorts_unless_delivered && source.access.delivers_order && !unusable {
            output.sorter = None;
        }
        if unusable && (wanted.limit.is_some() || wanted.pulled) && sorts_unless_delivered {
            // The scan was to deliver the order and stop early; it does neither: read all of it and sort.
            let all = Wanted { limit: None, pulled: false, ordered: false, ..wanted };
            let (rows, _) = self.open_rows(&all).await?;
            return self.drain(plan, source, &all, rows, output, columns_sent, sink).await;
        }
        self.drain(
            plan,
            source,
            &wanted,
            std::mem::replace(&mut rows, super::rows::Rows::None),
            output,
            columns_sent,
            sink,
        )
        .await
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one SELECT, borrowed separately")]
    async fn drain(
        &mut self,
        plan: &SelectPlan,
        source: &TableSource,
        wanted: &Wanted<'_>,
        mut rows: super::rows::Rows,
        output: &mut Output<'_>,
        columns_sent: &mut bool,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        let direct = plan.simple_columns.as_ref().filter(|_| {
            source.access.local_filter.is_none()
                && output.sorter.is_none()
                && !plan.distinct
                && plan.into_variables.is_empty()
        });
        let mut pace = Pace::default();
        loop {
            if wanted.pulled {
                rows.expect(output.missing());
            }
            let Some(batch) = self.next_rows(wanted, &mut rows).await? else { break };
            begin(plan, columns_sent, sink);
            self.count_pushed(plan, Stage::Source, batch.len());
            match direct {
                Some(columns) => {
                    let offset =
                        if plan.has_timestamps { self.run.time_zone_offset_seconds } else { 0 };
                    let sent = output.sent;
                    send_directly(source, columns, &batch, offset, output, sink);
                    self.count_pushed(plan, Stage::Limit, (output.sent - sent) as usize);
                    wait_for_room(sink).await?;
                    pace.rows(batch.len()).await;
                    pace.bytes(batch.rows.len()).await;
                }
                None => {
                    for position in 0..batch.len() {
                        let view = RowView::new(&source.layout, batch.row(position));
                        let row = SourceRow { view };
                        if let Some(filter) = &source.access.local_filter {
                            if !self.holds(filter, &row).await? {
                                continue;
                            }
                            self.count_pushed(plan, Stage::LocalFilter, 1);
                        }
                        self.put(plan, &row, output, sink).await?;
                        if output.is_done() {
                            return Ok(());
                        }
                        pace.row().await;
                        pace.bytes(batch.row(position).len()).await;
                    }
                }
            }
            if output.is_done() {
                break;
            }
        }
        self.count_pushed(plan, Stage::Source, 0);
        Ok(())
    }

    /// Takes a row of the source or of a group: its items go on, or it is kept for window functions.
    async fn put<R: Columns + ?Sized>(
        &mut self,
        plan: &SelectPlan,
        row: &R,
        output: &mut Output<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        if let Some(windows) = &mut output.windows {
            return Box::pin(self.keep_row(windows, row)).await;
        }
        let items = self.items(plan, row).await?;
        self.pass(items, output, sink).await
    }

    /// Computes the window functions over the rows that were kept, and passes on the items of each.
    async fn windowed_rows(
        &mut self,
        plan: &SelectPlan,
        windows: WindowRows<'_>,
        output: &mut Output<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        let window_plan = plan.windows.as_ref().expect("its rows were kept");
        let mut pace = Pace::default();
        let mut rows = self.window_rows(windows).await?;
        self.count_pushed(plan, Stage::Windows, rows.len());
        while let Some(mut row) = rows.next().await? {
            self.supply_windows(window_plan, &mut row);
            let items = self.items(plan, &row).await?;
            self.pass(items, output, sink).await?;
            if output.is_done() {
                break;
            }
            pace.row().await;
        }
        Ok(())
    }

    /// The values of all items on a row.
    async fn items<R: Columns + ?Sized>(
        &mut self,
        plan: &SelectPlan,
        row: &R,
    ) -> Result<Vec<Value>, Failure> {
        let mut values = Vec::with_capacity(plan.items.len());
        for (position, item) in plan.items.iter().enumerate() {
            let value = self.value_of(item, row).await?;
            values.push(match plan.columns.get(position) {
                Some(column) => of_type(value, column, self.run.settings(), &mut self.warnings),
                None => value,
            });
        }
        Ok(values)
    }

    /// Hands a row of items on: into the sort, or out.
    async fn pass(
        &mut self,
        items: Vec<Value>,
        output: &mut Output<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        if let Some(sorter) = &mut output.sorter {
            if sorter.push(items) {
                Box::pin(sorter.make_room()).await?;
            }
            return Ok(());
        }
        self.take(items, output, sink).await
    }

    /// Takes a row in its place in the order: the one that DISTINCT lets pass is sent.
    async fn take(
        &mut self,
        items: Vec<Value>,
        output: &mut Output<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        let Some(seen) = &mut output.seen else { return self.send(&items, output, sink).await };
        match seen.look_at(items, output.visible) {
            SeenRow::New(items) => {
                self.send(&items, output, sink).await?;
                if let Some(seen) = &mut output.seen {
                    seen.passed(items);
                }
                Ok(())
            }
            SeenRow::Aside(true) => Ok(Box::pin(seen.make_room()).await?),
            SeenRow::Known | SeenRow::Aside(false) => Ok(()),
        }
    }

    /// Sends a row that is between offset and limit.
    async fn send(
        &mut self,
        items: &[Value],
        output: &mut Output<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        output.found += 1;
        let is_sent = output.in_window();
        if self.is_profiled() {
            self.count_pushed(output.plan, Stage::Distinct, 1);
            self.count_pushed(output.plan, Stage::Limit, usize::from(is_sent));
        }
        if is_sent {
            output.send(items, sink)?;
            wait_for_room(sink).await?;
        }
        Ok(())
    }

    /// Partial aggregates of all shards, merged.
    async fn shipped_groups<'p>(
        &mut self,
        plan: &SelectPlan,
        source: &TableSource,
        grouping: &'p Grouping,
    ) -> Result<Groups<'p>, Failure> {
        let mut groups = Groups::new(grouping, self.account());
        let wanted = Wanted {
            table: &source.table,
            access: &source.access,
            columns: OpColumns::All,
            lock: self.read_lock(source.lock),
            semi_consistent: false,
            ordered: false,
            limit: None,
            pulled: false,
            commit: false,
        };
        let output = ScanOutput::Groups {
            group_by: grouping.group_by.clone(),
            aggregates: grouping.aggregates.clone(),
        };
        let (found, _) = self.find(&wanted)?;
        let scans = match found {
            Found::Nothing => return Ok(groups),
            Found::Scan(scan) => vec![Scan { output, ..*scan }],
            Found::Keys(keys, filter) => scans_of_keys(&wanted, keys, &filter, &output),
            Found::Entries(entries) => {
                let keys = self.read_entries(&wanted, entries).await?;
                scans_of_keys(&wanted, keys, &source.access.filter, &output)
            }
        };
        let mut pace = Pace::default();
        for scan in scans {
            let options = self.scan_options(&scan, false)?;
            let mut cursor = self.client().scan(&source.table, scan, options);
            loop {
                self.check_killed()?;
                let next = cursor.next(self.client()).await;
                self.warnings.extend(cursor.warnings());
                match next.map_err(|refusal| self.refused(refusal))? {
                    Some(ScanBatch::Groups(batch)) => {
                        self.count_pushed(plan, Stage::Source, batch.groups.len());
                        for (values, states) in batch.groups {
                            pace.bytes(values.iter().map(value_size).sum()).await;
                            if groups.merge(self, values, states)? {
                                groups.make_room().await?;
                            }
                        }
                    }
                    Some(ScanBatch::Rows(_)) => unreachable!("groups were asked for"),
                    None => break,
                }
            }
        }
        Ok(groups)
    }

    /// Groups made here of rows that were fetched.
    async fn gathered_groups<'p>(
        &mut self,
        plan: &SelectPlan,
        source: &TableSource,
        grouping: &'p Grouping,
    ) -> Result<Groups<'p>, Failure> {
        let mut groups = Groups::new(grouping, self.account());
        let wanted = Wanted {
            table: &source.table,
            access: &source.access,
            columns: columns_of(source),
            lock: self.read_lock(source.lock),
            semi_consistent: false,
            ordered: grouping.of_first_row,
            limit: grouping.of_first_row.then_some(1),
            pulled: false,
            commit: false,
        };
        let (mut rows, unusable) = self.open_rows(&wanted).await?;
        let mut wanted = wanted;
        if unusable && grouping.of_first_row {
            // The path does not have the order after all.
            wanted = Wanted { ordered: false, limit: None, ..wanted };
            rows = self.open_rows(&wanted).await?.0;
        }
        let mut pace = Pace::default();
        while let Some(batch) = self.next_rows(&wanted, &mut rows).await? {
            self.count_pushed(plan, Stage::Source, batch.len());
            for position in 0..batch.len() {
                let view = RowView::new(&source.layout, batch.row(position));
                let row = SourceRow { view };
                if let Some(filter) = &source.access.local_filter {
                    if !self.holds(filter, &row).await? {
                        continue;
                    }
                    self.count_pushed(plan, Stage::LocalFilter, 1);
                }
                self.supply(&grouping.slots, &row).await?;
                if groups.add(self, &row)? {
                    groups.make_room().await?;
                }
                self.run.pause_after_work().await;
                pace.row().await;
                pace.bytes(batch.row(position).len()).await;
            }
        }
        Ok(groups)
    }

    /// The items of every group that passes HAVING.
    async fn group_rows(
        &mut self,
        plan: &SelectPlan,
        groups: Groups<'_>,
        output: &mut Output<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        let mut pace = Pace::default();
        let mut rows = self.finished_groups(plan, groups).await?;
        while let Some(row) = rows.next().await? {
            pace.row().await;
            self.put(plan, &row, output, sink).await?;
            if output.is_done() {
                break;
            }
        }
        Ok(())
    }
}

fn begin(plan: &SelectPlan, columns_sent: &mut bool, sink: &mut dyn ResultSink) {
    if !*columns_sent {
        *columns_sent = true;
        sink.plan_columns(&plan.columns);
    }
}

async fn wait_for_room(sink: &mut dyn ResultSink) -> Result<(), SqlError> {
    if !sink.is_full() {
        return Ok(());
    }
    sink.drained().await;
    sink.failure().map_or(Ok(()), Err)
}

pub fn columns_of(source: &TableSource) -> OpColumns {
    if source.whole_rows { OpColumns::All } else { OpColumns::Only(source.columns.clone()) }
}

/// A row as it was read.
struct SourceRow<'a> {
    view: RowView<'a>,
}

impl Columns for SourceRow<'_> {
    fn column(&self, index: usize) -> ValueRef<'_> {
        self.view.get(index)
    }
}

/// Rows whose items are their columns go from the stored row straight into the sink.
fn send_directly(
    source: &TableSource,
    columns: &[u16],
    batch: &RowBatch,
    offset_seconds: i32,
    output: &mut Output<'_>,
    sink: &mut dyn ResultSink,
) {
    let mut values: Vec<ValueRef<'_>> = Vec::with_capacity(columns.len());
    for position in 0..batch.len() {
        output.found += 1;
        if !output.in_window() {
            if output.is_done() {
                return;
            }
            continue;
        }
        let view = RowView::new(&source.layout, batch.row(position));
        values.clear();
        for &column in columns {
            let column = usize::from(column);
            let value = view.get(column);
            values.push(match value {
                ValueRef::DateTime(utc)
                    if offset_seconds != 0
                        && matches!(
                            source.layout.column_type(column),
                            ColumnType::Timestamp { .. }
                        ) =>
                {
                    ValueRef::DateTime(shifted(utc, offset_seconds))
                }
                value => value,
            });
        }
        sink.row(&values);
        output.sent += 1;
    }
}

/// Some keys of the primary key's index as ranges of one key each, in as many scans as messages take.
fn scans_of_keys(
    wanted: &Wanted<'_>,
    keys: Vec<Vec<u8>>,
    filter: &Option<types::Expr>,
    output: &ScanOutput,
) -> Vec<Scan> {
    let mut scans: Vec<Scan> = Vec::new();
    let mut bytes = 0;
    for key in keys {
        if scans.is_empty() || RANGE_BYTES_MAX < bytes {
            bytes = 0;
            scans.push(Scan {
                index: wanted.table.primary_key().id,
                ranges: Vec::new(),
                reverse: false,
                filter: filter.clone(),
                output: output.clone(),
                limit: None,
                lock: wanted.lock,
                semi_consistent: wanted.semi_consistent,
                peek: false,
                resume: None,
                shard: None,
            });
        }
        bytes += 2 * key.len();
        let (lower, upper) = (KeyBound::Included(key.clone()), KeyBound::Included(key));
        scans.last_mut().expect("just made").ranges.push(KeyRange { lower, upper });
    }
    scans
}

/// LIMIT's numbers: not negative, not NULL.
pub fn limit_value(run: &Run<'_>, expr: &types::Expr) -> Result<u64, SqlError> {
    let mut context = run.context();
    match super::keys::constant(expr, &mut context)? {
        Value::UInt(number) => Ok(number),
        Value::Int(number) => u64::try_from(number).map_err(|_| SqlError::wrong_arguments("LIMIT")),
        Value::Text(text, _) => text.trim().parse().map_err(|_| SqlError::wrong_arguments("LIMIT")),
        _ => Err(SqlError::wrong_arguments("LIMIT")),
    }
}

/// The scale of a decimal whose type is not known (a parameter's): the largest there is.
const UNKNOWN_SCALE: u8 = 30;

/// A value of the kind its column was announced with.
pub fn of_type(
    value: Value,
    column: &ColumnInfo,
    settings: EvalSettings,
    warnings: &mut Vec<SqlWarning>,
) -> Value {
    if let (Value::Decimal(number), ColumnType::Decimal { scale, .. }) =
        (&value, &column.column_type)
    {
        // A branch of IF, a larger of two: shown with the digits of all.
        let is_short = number.shown_scale() < *scale && *scale < UNKNOWN_SCALE;
        return if is_short { Value::Decimal(number.show(*scale)) } else { value };
    }
    if value.is_null() || column.null_type || column.column_type.accepts(value.as_ref()) {
        return value;
    }
    let mut context = EvalContext::with(&[], settings);
    context.convert.strict = false;
    let kind = column.column_type.of_any_length();
    let cast = types::convert::cast(value.as_ref(), &kind, &mut context.convert);
    take_warnings(&mut context, warnings);
    cast
}
