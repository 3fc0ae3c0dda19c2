//! Operators that give batches of joined rows, pulled from the root.

use std::pin::Pin;
use std::rc::Rc;

use types::Value;
use types::expr::NoColumns;

use super::batch::{Batch, JoinedRow, RowStore};
use super::budget::Budget;
use super::join::JoinStream;
use super::rows::{Rows, Wanted};
use super::runs::RowOrder;
use super::select::{columns_of, of_type};
use super::sort::{Seen, SeenRow, Sorter, row_key};
use super::stored::{Collector, RowBuffer, StoredRows};
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
    Stored(StoredStream),
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
            Stream::Stored(stored) => {
                stored.at_hand.as_ref().is_some_and(|store| stored.next < store.len())
            }
            Stream::Filter { input, .. } => input.has_rows_at_hand(),
            Stream::Join(_) => false,
            Stream::Counted { stream, .. } => stream.has_rows_at_hand(),
        }
    }

    /// The reader uses at most `count` rows now: operators that know it neither lock nor look up rows behind them.
    pub fn expect(&mut self, count: u64) {
        match self {
            Stream::Table(table) => table.rows.expect(count),
            Stream::Stored(_) => {}
            Stream::Filter { input, .. } => input.expect(count),
            Stream::Join(join) => join.expect(count),
            Stream::Counted { stream, .. } => stream.expect(count),
        }
    }

    /// Do the rows come in no order, where the plan promises one?
    pub fn has_lost_order(&self) -> bool {
        match self {
            Stream::Table(table) => table.has_lost_order,
            Stream::Stored(_) => false,
            Stream::Filter { input, .. } => input.has_lost_order(),
            Stream::Join(join) => join.left().has_lost_order(),
            Stream::Counted { stream, .. } => stream.has_lost_order(),
        }
    }
}

/// Rows that are here already, or in a file.
pub struct StoredStream {
    relation: u16,
    rows: Rc<StoredRows>,
    /// The part that is read next, and the rows of the one before, from the next one on.
    part: usize,
    at_hand: Option<Rc<RowStore>>,
    next: usize,
}

impl StoredStream {
    fn open<'p>(relation: u16, rows: Rc<StoredRows>) -> Stream<'p> {
        Stream::Stored(StoredStream { relation, rows, part: 0, at_hand: None, next: 0 })
    }

    async fn next(&mut self, relations: usize) -> Result<Option<Batch>, SqlError> {
        loop {
            if let Some(store) = &self.at_hand {
                let some = self.next..(self.next + BATCH_ROWS).min(store.len());
                self.next = some.end;
                if !some.is_empty() {
                    return Ok(Some(Batch::of_some(
                        self.relation,
                        relations,
                        Rc::clone(store),
                        some,
                    )));
                }
            }
            self.at_hand = self.rows.part(self.part).await?;
            if self.at_hand.is_none() {
                return Ok(None);
            }
            (self.part, self.next) = (self.part + 1, 0);
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
            let budget = self.budget();
            let values = |relation: u16, rows: Vec<Vec<Value>>| {
                StoredStream::open(relation, Rc::new(StoredRows::of(&budget, rows)))
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
                    values(*relation, Box::pin(self.system_rows(*table)).await?)
                }
                Operator::Query { relation, plan, keep: None } => {
                    StoredStream::open(*relation, Rc::new(self.rows_of_query(plan).await?))
                }
                Operator::Query { relation, plan, keep: Some(keep) } => {
                    let rows = match self.kept.get(keep) {
                        Some(rows) => Rc::clone(rows),
                        None => {
                            let rows = Rc::new(self.rows_of_query(plan).await?);
                            self.kept.insert(*keep, Rc::clone(&rows));
                            rows
                        }
                    };
                    StoredStream::open(*relation, rows)
                }
                Operator::Values { relation, rows, columns } => {
                    let mut made = Vec::with_capacity(rows.len());
                    for row in rows {
                        let mut values = Vec::with_capacity(row.len());
                        for (bound, info) in row.iter().zip(columns) {
                            let value = self.value_of(bound, &NoColumns).await?;
                            let settings = self.run.settings();
                            values.push(of_type(value, info, settings, &mut self.warnings));
                        }
                        made.push(values);
                    }
                    values(*relation, made)
                }
                Operator::Set { relation, members, columns } => {
                    let rows = self.set_rows(members, columns).await?;
                    StoredStream::open(*relation, Rc::new(rows))
                }
                Operator::Recursive { relation, seed, steps, distinct, number, columns } => {
                    let rows =
                        self.recursive_rows(seed, steps, *distinct, *number, columns).await?;
                    StoredStream::open(*relation, Rc::new(rows))
                }
                Operator::Working { relation, number } => {
                    StoredStream::open(*relation, Rc::clone(&self.working[number]))
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
                Stream::Stored(stored) => {
                    self.check_killed()?;
                    Ok(stored.next(relations).await?)
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
    pub async fn rows_of_query(&mut self, plan: &SelectPlan) -> Result<StoredRows, Failure> {
        let mut collector = Collector::new(&self.budget(), None);
        self.run_inside(plan, &mut collector).await?;
        Ok(collector.finish()?)
    }

    /// The rows of a query, each value of the kind of its column.
    async fn typed_rows(
        &mut self,
        plan: &SelectPlan,
        columns: &[ColumnInfo],
    ) -> Result<StoredRows, Failure> {
        let mut collector = Collector::new(&self.budget(), Some((columns, self.run.settings())));
        self.run_inside(plan, &mut collector).await?;
        self.warnings.append(&mut collector.warnings);
        Ok(collector.finish()?)
    }

    async fn set_rows(
        &mut self,
        members: &[SetMember],
        columns: &[ColumnInfo],
    ) -> Result<StoredRows, Failure> {
        let budget = self.budget();
        let mut rows = RowBuffer::new(&budget);
        for member in members {
            let own = self.typed_rows(&member.plan, columns).await?;
            if member.operator == SetOperator::Union {
                let mut own = own.into_reader();
                while let Some(row) = own.next().await? {
                    rows.store(row).await?;
                }
            } else {
                let keeps_found = member.operator == SetOperator::Intersect;
                let matching = Matching { keeps_found, all: member.all };
                rows = matching.rows(&budget, rows.finish(), own).await?;
            }
            if !member.all {
                rows = distinct(&budget, rows.finish()).await?;
            }
        }
        Ok(rows.finish())
    }

    /// The rows of a recursive table: those of the seed, then what the steps make of each round's, until a round has none.
    /// With DISTINCT the keys of all rows are in memory.
    async fn recursive_rows(
        &mut self,
        seed: &SelectPlan,
        steps: &[SelectPlan],
        is_distinct: bool,
        number: u16,
        columns: &[ColumnInfo],
    ) -> Result<StoredRows, Failure> {
        let budget = self.budget();
        let mut seen = Seen::new(&budget);
        let mut all = RowBuffer::new(&budget);
        let mut round = self.typed_rows(seed, columns).await?;
        let mut rounds = 0;
        loop {
            if is_distinct {
                let mut kept = RowBuffer::new(&budget);
                let mut rows = round.into_reader();
                while let Some(row) = rows.next().await? {
                    if seen.insert(&row)? {
                        kept.store(row).await?;
                    }
                }
                round = kept.finish();
            }
            if round.is_empty() {
                break;
            }
            // The seed is none of the iterations.
            let iterations = rounds;
            rounds += 1;
            self.check_recursion(iterations)?;
            self.check_killed()?;
            client::task::yield_now().await;
            let working = Rc::new(round);
            let before = self.working.insert(number, Rc::clone(&working));
            let mut next = RowBuffer::new(&budget);
            for step in steps {
                let mut rows = self.typed_rows(step, columns).await?.into_reader();
                while let Some(row) = rows.next().await? {
                    next.store(row).await?;
                }
            }
            match before {
                Some(before) => self.working.insert(number, before),
                None => self.working.remove(&number),
            };
            let Some(done) = Rc::into_inner(working) else {
                unreachable!("the steps have read it")
            };
            let mut done = done.into_reader();
            while let Some(row) = done.next().await? {
                all.store(row).await?;
            }
            round = next.finish();
        }
        Ok(all.finish())
    }

    fn check_recursion(&self, iterations: u64) -> Result<(), SqlError> {
        match self.kept_number("cte_max_recursion_depth") < iterations {
            false => Ok(()),
            true => Err(SqlError::new(
                code::ER_CTE_MAX_RECURSION_DEPTH,
                format!(
                    "Recursive query aborted after {iterations} iterations. Try increasing \
                     @@cte_max_recursion_depth to a larger value."
                ),
            )),
        }
    }
}

/// The rows without those that are equal to one before.
async fn distinct(budget: &Rc<Budget>, rows: StoredRows) -> Result<RowBuffer, SqlError> {
    let mut seen = Seen::new(budget);
    let mut kept = RowBuffer::new(budget);
    let mut rows = rows.into_reader();
    let mut pace = Pace::default();
    while let Some(row) = rows.next().await? {
        pace.row().await;
        let visible = row.len();
        match seen.look_at(row, visible) {
            SeenRow::New(row) => kept.store(row).await?,
            SeenRow::Aside(true) => seen.make_room().await?,
            SeenRow::Known | SeenRow::Aside(false) => {}
        }
    }
    if let Some(mut rows) = seen.finish().await? {
        while let Some(row) = rows.next().await? {
            kept.store(row).await?;
        }
    }
    Ok(kept)
}

/// INTERSECT and EXCEPT: which rows of the left side stay.
struct Matching {
    /// Those that equal a row of the right side, or those that equal none.
    keeps_found: bool,
    /// Each row of the right side is matched once only.
    all: bool,
}

impl Matching {
    /// The rows in the order of the left side. Both sides are sorted by their keys: of equal rows those of the right side
    /// come first.
    async fn rows(
        &self,
        budget: &Rc<Budget>,
        left: StoredRows,
        right: StoredRows,
    ) -> Result<RowBuffer, SqlError> {
        let mut both = Sorter::new(budget, RowOrder::first(2), None);
        let mut pace = Pace::default();
        for (side, rows) in [(0, right), (1, left)] {
            let mut rows = rows.into_reader();
            // Numbers of right rows are all 0; those of left rows count from 1.
            let mut number = 0;
            while let Some(row) = rows.next().await? {
                pace.row().await;
                number += side;
                let mut marked = vec![Value::Bytes(row_key(&row).into()), Value::UInt(number)];
                if side == 1 {
                    marked.extend(row);
                }
                if both.push(marked) {
                    both.make_room().await?;
                }
            }
        }
        let mut kept = Sorter::new(budget, RowOrder::first(1), None);
        let mut both = both.finish().await?;
        let (mut key, mut unmatched) = (Value::Null, 0u64);
        while let Some(mut row) = both.next().await? {
            pace.row().await;
            let own = row.remove(0);
            if own != key {
                (key, unmatched) = (own, 0);
            }
            if row[0] == Value::UInt(0) {
                unmatched += 1;
                continue;
            }
            let is_found = 0 < unmatched;
            if is_found && self.all {
                unmatched -= 1;
            }
            if is_found == self.keeps_found && kept.push(row) {
                kept.make_room().await?;
            }
        }
        let mut rows = RowBuffer::new(budget);
        let mut kept = kept.finish().await?;
        while let Some(mut row) = kept.next().await? {
            row.remove(0);
            rows.store(row).await?;
        }
        Ok(rows)
    }
}
