//! Window functions.
//!
//! All rows of the query are kept ([`WindowRows`]). Then for each order of rows that functions ask
//! for: the rows are sorted by it, and each partition gets the values of those functions behind its
//! rows. At the end the items are evaluated on each row. Sorted rows and finished partitions spill;
//! the rows of one partition are in memory.
//!
//! | frame of an aggregate | computed |
//! |---|---|
//! | from the partition's first row on | one state that takes each row once |
//! | short | from its rows |
//! | long | from states of blocks of rows, and of blocks of blocks ([`Blocks`]) |

use std::cmp::Ordering;
use std::rc::Rc;

use types::Value;
use types::convert::sort_compare;
use types::expr::{Aggregate, AggregateState, Columns, NoColumns};

use super::budget::{Budget, Held};
use super::runs::RowOrder;
use super::sort::{SortedRows, Sorter};
use super::stored::RowBuffer;
use super::{Context, Failure, Pace, eval_error, row_size, take_warnings, value_size};
use crate::SqlError;
use crate::plan::{Frame, FrameBound, WindowFunction, WindowKind, WindowPlan, WindowSpec};

/// Rows of which one state is kept for long frames.
const BLOCK_ROWS: usize = 64;
/// Rows of a frame that an aggregate is computed from one by one.
const SHORT_FRAME_ROWS: usize = 4 * BLOCK_ROWS;
/// Bytes that a row of a partition takes beside the row: the numbers of its peers.
const ROW_OVERHEAD: usize = size_of::<(u32, u32)>();
/// Rows between two looks at KILL.
const ROWS_BETWEEN_CHECKS: usize = 1_000;

/// The rows that window functions are computed over.
pub struct WindowRows<'p> {
    plan: &'p WindowPlan,
    /// In the order of the first window.
    rows: Sorter,
}

impl<'p> WindowRows<'p> {
    pub fn new(budget: &Rc<Budget>, plan: &'p WindowPlan) -> WindowRows<'p> {
        let order = order_of(&plan.specs[0]);
        WindowRows { plan, rows: Sorter::new(budget, RowOrder::Keys(order.into()), None) }
    }
}

/// A function with its constant arguments evaluated.
struct Prepared<'p> {
    kind: &'p WindowKind,
    /// The offset of LAG and LEAD, the number of NTH_VALUE, the buckets of NTILE; None is NULL.
    number: Option<usize>,
    start: Edge,
    end: Edge,
    by_rows: bool,
}

/// A bound of a frame.
#[derive(Clone, Copy)]
enum Edge {
    Unbounded,
    CurrentRow,
    /// Rows behind the current one; negative before it.
    Rows(i64),
    /// By the key at `limit`.
    Range {
        limit: u16,
        following: bool,
    },
}

/// The rows of a partition, in order.
struct Partition<'r> {
    rows: &'r [Vec<Value>],
    order_by: &'r [(u16, bool)],
    /// By row: the first row that is equal to it in order, and the row behind the last one.
    peers: Vec<(u32, u32)>,
}

impl Context<'_> {
    /// Keeps a row for the window functions.
    pub async fn keep_row<R: Columns + ?Sized>(
        &mut self,
        windows: &mut WindowRows<'_>,
        row: &R,
    ) -> Result<(), Failure> {
        let plan = windows.plan;
        let functions = plan.specs.iter().map(|spec| spec.functions.len()).sum::<usize>();
        let mut kept = Vec::with_capacity(plan.columns.len() + plan.inputs.len() + functions);
        for &column in &plan.columns {
            kept.push(row.column(usize::from(column)).to_value());
        }
        for input in &plan.inputs {
            let value = self.value_of(input, &kept).await?;
            kept.push(value);
        }
        if windows.rows.push(kept) {
            windows.rows.make_room().await?;
        }
        Ok(())
    }

    /// Computes all functions; the kept rows with their values, in the order of the last window.
    pub async fn window_rows(&mut self, windows: WindowRows<'_>) -> Result<SortedRows, Failure> {
        let mut functions = Vec::new();
        for spec in &windows.plan.specs {
            let mut own = Vec::with_capacity(spec.functions.len());
            for function in &spec.functions {
                own.push(self.prepared_function(function)?);
            }
            functions.push(own);
        }
        let budget = self.budget();
        let mut order = order_of(&windows.plan.specs[0]);
        let mut rows = windows.rows.finish().await?;
        for (spec, functions) in windows.plan.specs.iter().zip(&functions) {
            let wanted = order_of(spec);
            // A sort by more keys is one by the first of them, too.
            if !order.starts_with(&wanted) {
                let keys = RowOrder::Keys(wanted.as_slice().into());
                let mut sorter = Sorter::new(&budget, keys, None);
                while let Some(row) = rows.next().await? {
                    if sorter.push(row) {
                        sorter.make_room().await?;
                    }
                }
                rows = sorter.finish().await?;
                order = wanted;
            }
            rows = self.window_spec(spec, functions, rows).await?;
        }
        Ok(rows)
    }

    /// Puts the values of a window function into its slots, for the items of a row.
    pub fn supply_windows(&mut self, windows: &WindowPlan, row: &mut Vec<Value>) {
        let first = windows.columns.len() + windows.inputs.len();
        let functions = windows.specs.iter().flat_map(|spec| &spec.functions);
        for (function, value) in functions.zip(row.drain(first..)) {
            let slot = self.run.first_slot() + usize::from(function.slot);
            self.run.params[slot] = value;
        }
    }

    /// Computes the functions over rows that are in their order.
    async fn window_spec(
        &mut self,
        spec: &WindowSpec,
        functions: &[Prepared<'_>],
        mut rows: SortedRows,
    ) -> Result<SortedRows, Failure> {
        let mut pace = Pace::default();
        let mut done = RowBuffer::new(&self.budget());
        let mut held = self.account();
        let mut partition: Vec<Vec<Value>> = Vec::new();
        loop {
            let row = rows.next().await?;
            let begins = match (&row, partition.last()) {
                (Some(row), Some(last)) => !is_same(&spec.partition_by, last, row),
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if begins {
                let own = std::mem::take(&mut partition);
                for row in self.window_partition(spec, functions, own, &mut held).await? {
                    done.store(row).await?;
                    pace.row().await;
                }
                held.set(0);
            }
            let Some(row) = row else { break };
            pace.row().await;
            held.take_checked(row_size(&row) + ROW_OVERHEAD)?;
            partition.push(row);
        }
        Ok(SortedRows::Stored(Box::new(done.finish().into_reader())))
    }

    /// The rows of a partition with the values of the functions behind them.
    async fn window_partition(
        &mut self,
        spec: &WindowSpec,
        functions: &[Prepared<'_>],
        mut rows: Vec<Vec<Value>>,
        held: &mut Held,
    ) -> Result<Vec<Vec<Value>>, Failure> {
        let mut pace = Pace::default();
        let partition = partition_of(&rows, &spec.order_by, &mut pace).await;
        let mut columns = Vec::with_capacity(functions.len());
        for function in functions {
            let values = self.window_values(function, &partition, &mut pace).await?;
            assert_eq!(values.len(), partition.rows.len());
            held.take_checked(values.iter().map(value_size).sum())?;
            columns.push(values);
        }
        for values in columns {
            for (row, value) in rows.iter_mut().zip(values) {
                row.push(value);
            }
        }
        Ok(rows)
    }

    /// The values of a function, by row of a partition.
    async fn window_values(
        &mut self,
        function: &Prepared<'_>,
        partition: &Partition<'_>,
        pace: &mut Pace,
    ) -> Result<Vec<Value>, Failure> {
        if let WindowKind::Aggregate(aggregate) = function.kind {
            return self.window_aggregate(aggregate, function, partition, pace).await;
        }
        let row_count = partition.rows.len();
        let mut values = Vec::with_capacity(row_count);
        let mut rank = 0;
        for row in 0..row_count {
            if row.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                self.check_killed()?;
            }
            let (first_peer, behind_peers) = partition.peers(row);
            rank += usize::from(first_peer == row);
            values.push(match function.kind {
                WindowKind::RowNumber => number_value(row + 1),
                WindowKind::Rank => number_value(first_peer + 1),
                WindowKind::DenseRank => number_value(rank),
                WindowKind::PercentRank => Value::Double(match row_count {
                    1 => 0.0,
                    _ => first_peer as f64 / (row_count - 1) as f64,
                }),
                WindowKind::CumeDist => Value::Double(behind_peers as f64 / row_count as f64),
                WindowKind::Ntile { .. } => {
                    let buckets = function.number.expect("checked before the first row");
                    number_value(bucket_of(row, row_count, buckets))
                }
                WindowKind::Lag { value, default, ahead, .. } => {
                    let offset = function.number.expect("checked before the first row");
                    let other = match ahead {
                        true => row.checked_add(offset).filter(|other| *other < row_count),
                        false => row.checked_sub(offset),
                    };
                    match (other, default) {
                        (Some(other), _) => partition.value(other, *value),
                        (None, Some(default)) => partition.value(row, *default),
                        (None, None) => Value::Null,
                    }
                }
                WindowKind::FirstValue { value } => {
                    let (start, end) = partition.frame(row, function);
                    partition.value_within(start, *value, end)
                }
                WindowKind::LastValue { value } => {
                    let (start, end) = partition.frame(row, function);
                    match start < end {
                        true => partition.value(end - 1, *value),
                        false => Value::Null,
                    }
                }
                WindowKind::NthValue { value, .. } => {
                    let (start, end) = partition.frame(row, function);
                    let number = function.number.expect("checked before the first row");
                    partition.value_within(start.saturating_add(number - 1), *value, end)
                }
                WindowKind::Aggregate(_) => unreachable!("computed elsewhere"),
            });
            pace.row().await;
        }
        Ok(values)
    }

    async fn window_aggregate(
        &mut self,
        aggregate: &Aggregate,
        function: &Prepared<'_>,
        partition: &Partition<'_>,
        pace: &mut Pace,
    ) -> Result<Vec<Value>, Failure> {
        let row_count = partition.rows.len();
        let mut values: Vec<Value> = Vec::with_capacity(row_count);
        let mut cx = self.run.context();
        let error = |error| Failure::from(eval_error(&error));
        // Of the frame of the row before.
        let mut last: Option<(usize, usize)> = None;
        let mut running = AggregateState::new(aggregate);
        let mut blocks: Option<Blocks> = None;
        for row in 0..row_count {
            if row.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                self.check_killed()?;
            }
            pace.row().await;
            let (start, end) = partition.frame(row, function);
            if last == Some((start, end)) {
                let value = values.last().expect("the row before has one").clone();
                values.push(value);
                continue;
            }
            let added = match (function.start, last) {
                (Edge::Unbounded, last) => last.map_or(0, |(_, end)| end),
                _ => {
                    running = AggregateState::new(aggregate);
                    start
                }
            };
            if end.saturating_sub(added) <= SHORT_FRAME_ROWS || function.start.is_unbounded() {
                for row in added..end {
                    aggregate
                        .add_row(&partition.rows[row], &mut running, &mut cx)
                        .map_err(error)?;
                    pace.row().await;
                }
            } else {
                let blocks = match &blocks {
                    Some(blocks) => blocks,
                    None => {
                        let mut own = Blocks::default();
                        for rows in partition.rows.chunks(BLOCK_ROWS) {
                            let mut state = AggregateState::new(aggregate);
                            for row in rows {
                                aggregate.add_row(row, &mut state, &mut cx).map_err(error)?;
                            }
                            pace.rows(rows.len()).await;
                            own.push(state, &mut cx).map_err(error)?;
                        }
                        blocks.insert(own)
                    }
                };
                let (first, behind) = (start.div_ceil(BLOCK_ROWS), end / BLOCK_ROWS);
                for row in start..first * BLOCK_ROWS {
                    aggregate
                        .add_row(&partition.rows[row], &mut running, &mut cx)
                        .map_err(error)?;
                }
                blocks.add(first, behind, &mut running, &mut cx).map_err(error)?;
                for row in behind * BLOCK_ROWS..end {
                    aggregate
                        .add_row(&partition.rows[row], &mut running, &mut cx)
                        .map_err(error)?;
                }
                pace.rows(2 * BLOCK_ROWS).await;
            }
            last = Some((start, end));
            values.push(running.finish(&mut cx.convert).map_err(error)?);
        }
        self.run.count_work(&mut cx);
        take_warnings(&mut cx, &mut self.warnings);
        Ok(values)
    }

    fn prepared_function<'p>(
        &mut self,
        function: &'p WindowFunction,
    ) -> Result<Prepared<'p>, SqlError> {
        let (number, least, name) = match &function.kind {
            WindowKind::Ntile { bucket_count } => (Some(bucket_count), 1, "ntile"),
            WindowKind::NthValue { number, .. } => (Some(number), 1, "nth_value"),
            WindowKind::Lag { offset, ahead: true, .. } => (Some(offset), 0, "lead"),
            WindowKind::Lag { offset, .. } => (Some(offset), 0, "lag"),
            WindowKind::RowNumber
            | WindowKind::Rank
            | WindowKind::DenseRank
            | WindowKind::PercentRank
            | WindowKind::CumeDist
            | WindowKind::FirstValue { .. }
            | WindowKind::LastValue { .. }
            | WindowKind::Aggregate(_) => (None, 0, ""),
        };
        let number = match number {
            Some(expr) => {
                let count = whole_number(&self.evaluated_here(expr, &NoColumns)?);
                let count = count.filter(|count| least <= *count);
                Some(count.ok_or_else(|| SqlError::wrong_arguments(name))?)
            }
            None => None,
        };
        let frame = &function.frame;
        Ok(Prepared {
            kind: &function.kind,
            number,
            start: self.edge(&frame.start, frame)?,
            end: self.edge(&frame.end, frame)?,
            by_rows: frame.by_rows,
        })
    }

    fn edge(&mut self, bound: &FrameBound, frame: &Frame) -> Result<Edge, SqlError> {
        let illegal = || crate::bind::frame_illegal(&frame.window);
        Ok(match bound {
            FrameBound::Unbounded => Edge::Unbounded,
            FrameBound::CurrentRow => Edge::CurrentRow,
            FrameBound::Rows { count, following } => {
                let count = whole_number(&self.evaluated_here(count, &NoColumns)?);
                let count = i64::try_from(count.ok_or_else(illegal)?).unwrap_or(i64::MAX);
                Edge::Rows(if *following { count } else { -count })
            }
            FrameBound::Range { amount, limit, following } => {
                let amount = self.evaluated_here(amount, &NoColumns)?;
                let zero = Value::Int(0);
                let is_negative = match &amount {
                    Value::Null => true,
                    Value::Text(text, _) => text.trim_start().starts_with('-'),
                    number => sort_compare(number.as_ref(), zero.as_ref()).is_lt(),
                };
                if is_negative {
                    return Err(illegal());
                }
                Edge::Range { limit: *limit, following: *following }
            }
        })
    }
}

impl Edge {
    fn is_unbounded(self) -> bool {
        matches!(self, Edge::Unbounded)
    }
}

/// A number of rows.
fn whole_number(value: &Value) -> Option<usize> {
    match value {
        Value::Int(number) => usize::try_from(*number).ok(),
        Value::UInt(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}

fn number_value(number: usize) -> Value {
    Value::UInt(number as u64)
}

/// NTILE: the first buckets are one row larger where the rows do not come out even.
fn bucket_of(row: usize, row_count: usize, bucket_count: usize) -> usize {
    let (size, larger) = (row_count / bucket_count, row_count % bucket_count);
    let in_larger = larger * (size + 1);
    match row < in_larger {
        true => row / (size + 1) + 1,
        // Without a row in the others there are none behind the larger ones.
        false => larger + (row - in_larger) / size.max(1) + 1,
    }
}

/// (position in the row, descending)
fn order_of(spec: &WindowSpec) -> Vec<(usize, bool)> {
    let partition = spec.partition_by.iter().map(|position| (usize::from(*position), false));
    let order = spec.order_by.iter();
    let order = order.map(|(position, descending)| (usize::from(*position), *descending));
    partition.chain(order).collect()
}

fn is_same(positions: &[u16], left: &[Value], right: &[Value]) -> bool {
    positions.iter().all(|position| {
        let position = usize::from(*position);
        sort_compare(left[position].as_ref(), right[position].as_ref()).is_eq()
    })
}

async fn partition_of<'r>(
    rows: &'r [Vec<Value>],
    order_by: &'r [(u16, bool)],
    pace: &mut Pace,
) -> Partition<'r> {
    let positions: Vec<u16> = order_by.iter().map(|(position, _)| *position).collect();
    let number = |row: usize| u32::try_from(row).expect("rows are bounded by memory");
    let mut peers = Vec::with_capacity(rows.len());
    let mut start = 0;
    for row in 0..rows.len() {
        let is_last = row + 1 == rows.len() || !is_same(&positions, &rows[row], &rows[row + 1]);
        if is_last {
            peers.resize(row + 1, (number(start), number(row + 1)));
            start = row + 1;
        }
        pace.row().await;
    }
    Partition { rows, order_by, peers }
}

impl Partition<'_> {
    fn peers(&self, row: usize) -> (usize, usize) {
        let (first, behind) = self.peers[row];
        (first as usize, behind as usize)
    }
    fn value(&self, row: usize, position: u16) -> Value {
        self.rows[row][usize::from(position)].clone()
    }
    /// NULL for a row that is not before `end`.
    fn value_within(&self, row: usize, position: u16, end: usize) -> Value {
        if row < end { self.value(row, position) } else { Value::Null }
    }

    /// The first row of a row's frame, and the row behind the last one.
    fn frame(&self, row: usize, function: &Prepared<'_>) -> (usize, usize) {
        let row_count = self.rows.len();
        let (first_peer, behind_peers) = self.peers(row);
        let moved = |from: usize, by: i64| {
            let moved = (from as i64).saturating_add(by).clamp(0, row_count as i64);
            moved as usize
        };
        let start = match function.start {
            Edge::Unbounded => 0,
            Edge::CurrentRow if function.by_rows => row,
            Edge::CurrentRow => first_peer,
            Edge::Rows(by) => moved(row, by),
            Edge::Range { limit, following } => {
                let is_before = |ordering: Ordering| ordering.is_lt();
                self.range_edge(row, limit, following, is_before).unwrap_or(first_peer)
            }
        };
        let end = match function.end {
            Edge::Unbounded => row_count,
            Edge::CurrentRow if function.by_rows => row + 1,
            Edge::CurrentRow => behind_peers,
            Edge::Rows(by) => moved(row + 1, by),
            Edge::Range { limit, following } => {
                let is_before = |ordering: Ordering| ordering.is_le();
                self.range_edge(row, limit, following, is_before).unwrap_or(behind_peers)
            }
        };
        (start, end.max(start))
    }

    /// The number of rows whose keys, compared with the row's limit, are before the edge. None if
    /// the row's key is NULL: its frame is the rows that are equal to it.
    fn range_edge(
        &self,
        row: usize,
        limit: u16,
        following: bool,
        is_before: impl Fn(Ordering) -> bool,
    ) -> Option<usize> {
        let &[(key, descending)] = self.order_by else {
            unreachable!("the binder takes RANGE n with one key only")
        };
        if self.rows[row][usize::from(key)].is_null() {
            return None;
        }
        let limit = &self.rows[row][usize::from(limit)];
        if limit.is_null() {
            // Beyond what its type can hold.
            return Some(if following { self.rows.len() } else { 0 });
        }
        Some(self.rows.partition_point(|other| {
            let ordering = sort_compare(other[usize::from(key)].as_ref(), limit.as_ref());
            is_before(if descending { ordering.reverse() } else { ordering })
        }))
    }
}

/// States of an aggregate over blocks of rows: those of single blocks, of pairs of them, of pairs
/// of pairs.
#[derive(Default)]
struct Blocks {
    levels: Vec<Vec<AggregateState>>,
}

impl Blocks {
    fn push(
        &mut self,
        state: AggregateState,
        cx: &mut types::expr::EvalContext<'_>,
    ) -> Result<(), types::expr::EvalError> {
        let mut state = state;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let states = &mut self.levels[level];
            states.push(state);
            if !states.len().is_multiple_of(2) {
                return Ok(());
            }
            let pair = &states[states.len() - 2..];
            let mut merged = pair[0].clone();
            merged.merge(pair[1].clone(), &mut cx.convert)?;
            state = merged;
        }
        unreachable!("each level has half of the states of the one before")
    }

    /// Adds the blocks from `first` to before `behind` to a state, in their order.
    fn add(
        &self,
        first: usize,
        behind: usize,
        state: &mut AggregateState,
        cx: &mut types::expr::EvalContext<'_>,
    ) -> Result<(), types::expr::EvalError> {
        let mut block = first;
        while block < behind {
            // The largest run of blocks that starts here and does not reach beyond the end.
            let mut level = 0;
            while block.is_multiple_of(2 << level) && block + (2 << level) <= behind {
                level += 1;
            }
            state.merge(self.levels[level][block >> level].clone(), &mut cx.convert)?;
            block += 1 << level;
        }
        Ok(())
    }
}
