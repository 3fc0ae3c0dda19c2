//! Operators that give batches of joined rows, pulled from the root.

use std::pin::Pin;
use std::rc::Rc;

use types::expr::NoColumns;
use types::{ColumnType, Value};

use super::batch::{Batch, JoinedRow, RowStore};
use super::collect::Collector;
use super::join::JoinStream;
use super::rows::{Rows, Wanted};
use super::select::{columns_of, of_type};
use super::sort::{Seen, row_key};
use super::{Context, Failure, Pace};
use crate::SqlError;
use crate::error::code;
use crate::parser::ast::SetOperator;
use crate::plan::{Bound, JoinedSource, Operator, SelectPlan, SetMember, TableSource};
use crate::result::ColumnInfo;

/// Rows of a batch, unless they come in other numbers from the shards.
pub const BATCH_ROWS: usize = 1_024;

/// An operator at work.
pub enum Stream<'p> {
    Table(Box<TableStream<'p>>),
    /// Rows that are here already, from the next one on.
    Rows {
        relation: u16,
        rows: Rc<RowStore>,
        next: usize,
        count: usize,
    },
    Filter {
        input: Box<Stream<'p>>,
        terms: &'p [Bound],
    },
    Join(Box<JoinStream<'p>>),
    /// An operator that EXPLAIN ANALYZE counts.
    Counted {
        operator: &'p Operator,
        stream: Box<Stream<'p>>,
    },
}

impl Stream<'_> {
    /// Are there rows, as far as is known without a request?
    pub fn has_rows_at_hand(&self) -> bool {
        match self {
            Stream::Table(table) => table.rows.are_at_hand(),
            Stream::Rows { next, count, .. } => next < count,
            Stream::Filter { input, .. } => input.has_rows_at_hand(),
            Stream::Join(_) => false,
            Stream::Counted { stream, .. } => stream.has_rows_at_hand(),
        }
    }

    /// The reader can use so many rows now, at most: rows behind them are neither locked nor looked up, where that is known.
    pub fn expect(&mut self, count: u64) {
        match self {
            Stream::Table(table) => table.rows.expect(count),
            Stream::Rows { .. } => {}
            Stream::Filter { input, .. } => input.expect(count),
            Stream::Join(join) => join.expect(count),
            Stream::Counted { stream, .. } => stream.expect(count),
        }
    }

    /// Do the rows come in no order, where the plan promises one?
    pub fn has_lost_order(&self) -> bool {
        match self {
            Stream::Table(table) => table.has_lost_order,
            Stream::Rows { .. } => false,
            Stream::Filter { input, .. } => input.has_lost_order(),
            Stream::Join(join) => join.left().has_lost_order(),
            Stream::Counted { stream, .. } => stream.has_lost_order(),
        }
    }
}

pub struct TableStream<'p> {
    pub relation: u16,
    pub wanted: Wanted<'p>,
    pub rows: Rows,
    /// The values at hand are no keys, so that the rows do not come in the order that the path was chosen for.
    pub has_lost_order: bool,
}

type Next<'f> = Pin<Box<dyn Future<Output = Result<Option<Batch>, Failure>> + 'f>>;
type Opened<'f, 'p> = Pin<Box<dyn Future<Output = Result<Stream<'p>, Failure>> + 'f>>;

impl Context<'_> {
    /// Starts an operator.
    pub fn open<'f, 'p: 'f>(&'f mut self, operator: &'p Operator) -> Opened<'f, 'p> {
        if !self.is_profiled() {
            return self.open_uncounted(operator);
        }
        Box::pin(async move {
            let since = self.profile_clock();
            self.begin_operator(operator);
            let stream = Box::new(self.open_uncounted(operator).await?);
            self.count_pulled(operator, 0, since);
            Ok(Stream::Counted { operator, stream })
        })
    }

    fn open_uncounted<'f, 'p: 'f>(&'f mut self, operator: &'p Operator) -> Opened<'f, 'p> {
        Box::pin(async move {
            let values = |relation: u16, rows: Vec<Vec<Value>>| {
                let count = rows.len();
                Stream::Rows { relation, rows: Rc::new(RowStore::Values(rows)), next: 0, count }
            };
            Ok(match operator {
                Operator::Table { relation, source, ordered, pulled, .. } => {
                    let mut wanted = Wanted { pulled: *pulled, ..self.wanted_of(source, *ordered) };
                    let (mut found, is_unusable) = self.find(&wanted)?;
                    let has_lost_order = is_unusable && source.access.delivers_order;
                    if has_lost_order {
                        // All rows are read, and sorted.
                        (wanted.pulled, wanted.ordered) = (false, false);
                        found = self.find(&wanted)?.0;
                    }
                    let rows = self.open_found(&wanted, found).await?;
                    let relation = *relation;
                    Stream::Table(Box::new(TableStream { relation, wanted, rows, has_lost_order }))
                }
                Operator::Virtual { relation, table } => {
                    values(*relation, self.system_rows(*table).await?)
                }
                Operator::Query { relation, plan, keep: None } => {
                    values(*relation, self.rows_of_query(plan).await?)
                }
                Operator::Query { relation, plan, keep: Some(keep) } => {
                    let rows = match self.kept.get(keep) {
                        Some(rows) => Rc::clone(rows),
                        None => {
                            let rows = self.rows_of_query(plan).await?;
                            self.charge_to_end(rows.iter().flatten().map(super::value_size).sum())?;
                            let rows = Rc::new(RowStore::Values(rows));
                            self.kept.insert(*keep, Rc::clone(&rows));
                            rows
                        }
                    };
                    let count = rows.len();
                    Stream::Rows { relation: *relation, rows, next: 0, count }
                }
                Operator::Values { relation, rows, columns } => {
                    let mut made = Vec::with_capacity(rows.len());
                    for row in rows {
                        let mut values = Vec::with_capacity(row.len());
                        for (bound, info) in row.iter().zip(columns) {
                            let value = self.value_of(bound, &NoColumns).await?;
                            values.push(of_type(value, info, &self.run, &mut self.warnings));
                        }
                        made.push(values);
                    }
                    values(*relation, made)
                }
                Operator::Set { relation, members, columns } => {
                    values(*relation, self.set_rows(members, columns).await?)
                }
                Operator::Recursive { relation, seed, steps, distinct, number, columns } => {
                    let rows =
                        self.recursive_rows(seed, steps, *distinct, *number, columns).await?;
                    values(*relation, rows)
                }
                Operator::Working { relation, number } => {
                    let rows = Rc::clone(&self.working[number]);
                    let count = rows.len();
                    Stream::Rows { relation: *relation, rows, next: 0, count }
                }
                Operator::Filter { input, terms, .. } => {
                    let input = Box::new(self.open(input).await?);
                    Stream::Filter { input, terms }
                }
                Operator::Join(join) => {
                    let left = self.open(&join.left).await?;
                    Stream::Join(Box::new(JoinStream::new(join, left)))
                }
            })
        })
    }

    /// The next rows; never an empty batch.
    pub fn next<'f, 'p: 'f>(
        &'f mut self,
        source: &'p JoinedSource,
        stream: &'f mut Stream<'p>,
    ) -> Next<'f> {
        Box::pin(async move {
            let relations = source.relations.len();
            match stream {
                Stream::Table(table) => {
                    let batch = self.next_rows(&table.wanted, &mut table.rows).await?;
                    Ok(batch.map(|rows| {
                        Batch::of(table.relation, relations, Rc::new(RowStore::Stored(rows)))
                    }))
                }
                Stream::Rows { relation, rows, next, count } => {
                    self.check_killed()?;
                    let some = *next..(*next + BATCH_ROWS).min(*count);
                    if some.is_empty() {
                        return Ok(None);
                    }
                    *next = some.end;
                    Ok(Some(Batch::of_some(*relation, relations, Rc::clone(rows), some)))
                }
                Stream::Filter { input, terms } => loop {
                    let Some(batch) = self.next(source, input).await? else { return Ok(None) };
                    let kept = self.filtered(source, batch, terms).await?;
                    if !kept.is_empty() {
                        return Ok(Some(kept));
                    }
                },
                Stream::Join(join) => self.next_joined(source, join).await,
                Stream::Counted { operator, stream } => {
                    let since = self.profile_clock();
                    let batch = self.next(source, stream).await?;
                    self.count_pulled(operator, batch.as_ref().map_or(0, Batch::len), since);
                    Ok(batch)
                }
            }
        })
    }

    /// The rows of a batch that pass.
    pub async fn filtered(
        &mut self,
        source: &JoinedSource,
        batch: Batch,
        terms: &[Bound],
    ) -> Result<Batch, Failure> {
        if terms.is_empty() {
            return Ok(batch);
        }
        let mut kept = Vec::with_capacity(batch.len());
        let mut pace = Pace::default();
        for row in 0..batch.len() {
            pace.row().await;
            if self.all_hold(terms, &JoinedRow::new(source, &batch, row)).await? {
                kept.push(u32::try_from(row).expect("batches are short"));
            }
        }
        Ok(if kept.len() == batch.len() { batch } else { batch.pick(&kept) })
    }

    /// What a statement wants of a table that it joins.
    pub fn wanted_of<'p>(&self, source: &'p TableSource, ordered: bool) -> Wanted<'p> {
        Wanted {
            table: &source.table,
            access: &source.access,
            columns: columns_of(source),
            lock: self.read_lock(source.lock),
            semi_consistent: false,
            ordered,
            limit: None,
            pulled: false,
            commit: false,
        }
    }

    /// All rows of a query inside of another one.
    pub async fn rows_of_query(&mut self, plan: &SelectPlan) -> Result<Vec<Vec<Value>>, Failure> {
        let mut collector = Collector::default();
        self.run_inside(plan, &mut collector).await?;
        collector.rows().map_err(Failure::from)
    }

    /// The rows of a query, each value of the kind of its column.
    async fn typed_rows(
        &mut self,
        plan: &SelectPlan,
        columns: &[ColumnInfo],
    ) -> Result<Vec<Vec<Value>>, Failure> {
        let mut rows = self.rows_of_query(plan).await?;
        for row in &mut rows {
            for (value, info) in row.iter_mut().zip(columns) {
                let own = std::mem::replace(value, Value::Null);
                *value =
                    match (of_type(own, info, &self.run, &mut self.warnings), &info.column_type) {
                        // Compared and sorted as the whole column is.
                        (Value::Text(text, _), column_type) => {
                            Value::Text(text, column_type.collation().unwrap_or_default())
                        }
                        (Value::Decimal(own), ColumnType::Decimal { scale, .. })
                            if *scale < own.shown_scale() =>
                        {
                            own.round(i32::from(*scale)).map_or(Value::Null, Value::Decimal)
                        }
                        (value, _) => value,
                    };
            }
        }
        Ok(rows)
    }

    async fn set_rows(
        &mut self,
        members: &[SetMember],
        columns: &[ColumnInfo],
    ) -> Result<Vec<Vec<Value>>, Failure> {
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let mut pace = Pace::default();
        for member in members {
            let own = self.typed_rows(&member.plan, columns).await?;
            if member.operator == SetOperator::Union {
                rows.extend(own);
            } else {
                // How often each row of this member is left to be matched.
                let mut counts: std::collections::BTreeMap<Vec<u8>, usize> = Default::default();
                for row in &own {
                    pace.row().await;
                    *counts.entry(row_key(row)).or_default() += 1;
                }
                let keeps_found = member.operator == SetOperator::Intersect;
                let mut kept = Vec::new();
                for row in std::mem::take(&mut rows) {
                    pace.row().await;
                    let count = counts.get_mut(&row_key(&row)).filter(|count| 0 < **count);
                    let found = count.is_some();
                    if let Some(count) = count
                        && member.all
                    {
                        *count -= 1;
                    }
                    if found == keeps_found {
                        kept.push(row);
                    }
                }
                rows = kept;
            }
            if !member.all {
                let mut seen = Seen::default();
                let mut kept = Vec::new();
                for row in std::mem::take(&mut rows) {
                    pace.row().await;
                    if seen.insert(&row)? {
                        kept.push(row);
                    }
                }
                rows = kept;
            }
        }
        Ok(rows)
    }

    /// The rows of a recursive table: those of the seed, then what the steps make of each round's, until a round has none.
    async fn recursive_rows(
        &mut self,
        seed: &SelectPlan,
        steps: &[SelectPlan],
        distinct: bool,
        number: u16,
        columns: &[ColumnInfo],
    ) -> Result<Vec<Vec<Value>>, Failure> {
        let mut seen = Seen::default();
        let mut all = Vec::new();
        let mut round = self.typed_rows(seed, columns).await?;
        let mut rounds = 0;
        let mut size = 0;
        loop {
            if distinct {
                let mut kept = Vec::with_capacity(round.len());
                for row in round {
                    if seen.insert(&row)? {
                        kept.push(row);
                    }
                }
                round = kept;
            }
            if round.is_empty() {
                break;
            }
            // The seed is none of the iterations.
            let iterations = rounds;
            rounds += 1;
            let depth_max = self.kept_number("cte_max_recursion_depth");
            if depth_max < iterations {
                return Err(SqlError::new(
                    code::ER_CTE_MAX_RECURSION_DEPTH,
                    format!(
                        "Recursive query aborted after {iterations} iterations. Try increasing \
                         @@cte_max_recursion_depth to a larger value."
                    ),
                )
                .into());
            }
            self.check_killed()?;
            client::task::yield_now().await;
            size += round.iter().flatten().map(super::value_size).sum::<usize>();
            if super::STATEMENT_MEMORY_MAX < size {
                return Err(SqlError::out_of_sort_memory().into());
            }
            let working = Rc::new(RowStore::Values(round));
            let before = self.working.insert(number, Rc::clone(&working));
            let mut next = Vec::new();
            for step in steps {
                next.extend(self.typed_rows(step, columns).await?);
            }
            match before {
                Some(before) => self.working.insert(number, before),
                None => self.working.remove(&number),
            };
            let done = Rc::try_unwrap(working).expect("the step has read it");
            let RowStore::Values(done) = done else { unreachable!("made of values") };
            all.extend(done);
            round = next;
        }
        Ok(all)
    }
}
