//! Grouping.
//!
//! The groups so far are in a table, compact: their keys, the values that they are grouped by (encoded), and the states of
//! their aggregates. A table that does not fit into memory goes to a file as a run in the order of its keys, and a new one
//! begins. At the end the runs are merged, and with them the states of the groups that several runs have. So a group is
//! merged from its rows in their order, as in one table.

use types::Value;
use types::convert::SqlWarning;
use types::expr::{AggregateState, Columns, EvalContext, EvalError};
use types::wire::{Reader, Wire, WireError};

use super::batch::KeyTable;
use super::budget::{FileUse, Held};
use super::evaluate::{WORKER_WORK_MAX, evaluate};
use super::profile::Stage;
use super::runs::{Merge, RowOrder, Runs, write_run};
use super::sort::{SortedRows, Sorter, put_row_key};
use super::{Context, Failure, Pace, eval_error, take_warnings};
use crate::SqlError;
use crate::error::code;
use crate::plan::{Grouping, SelectPlan};

/// Work of the end of a group, and of a byte of its aggregates' states.
const WORK_PER_GROUP: usize = 300;
const WORK_PER_STATE_BYTE: usize = 20;
/// Groups that are finished together: fewer where their states are long.
const GROUPS_AT_ONCE: usize = 1_000;

/// The key of the only group of a query without GROUP BY: a key is never empty.
const ONLY_GROUP: u8 = 0xff;

/// The groups so far, by their values.
pub struct Groups<'p> {
    pub grouping: &'p Grouping,
    table: Table,
    /// Bytes of the states of the table beyond the states themselves.
    state_bytes: u64,
    held: Held,
    spilled: Option<Runs>,
    /// Of the row at hand.
    values: Vec<Value>,
    key: Vec<u8>,
}

/// A group, taken from its table.
struct Group {
    values: Vec<Value>,
    states: Vec<AggregateState>,
}

#[derive(Default)]
struct Table {
    keys: KeyTable,
    /// The values of the groups, encoded, and by group where those end.
    values: Vec<u8>,
    ends: Vec<usize>,
    /// By group: the states of its aggregates.
    states: Vec<AggregateState>,
}

impl Table {
    fn size(&self) -> usize {
        let states = self.states.len() * size_of::<AggregateState>();
        self.keys.size() + self.values.len() + self.ends.len() * size_of::<usize>() + states
    }
    fn insert(&mut self, key: &[u8], values: &Vec<Value>) -> usize {
        values.encode(&mut self.values);
        self.ends.push(self.values.len());
        self.keys.insert(key)
    }
    fn encoded_values(&self, group: usize) -> &[u8] {
        let start = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.values[start..self.ends[group]]
    }
    /// A row of (key, values and states) for each group, in the order of their keys.
    fn into_rows(self, state_count: usize) -> impl Iterator<Item = Vec<Value>> {
        let mut order: Vec<usize> = (0..self.ends.len()).collect();
        order.sort_unstable_by(|a, b| self.keys.key(*a).cmp(self.keys.key(*b)));
        order.into_iter().map(move |group| {
            let mut content = self.encoded_values(group).to_vec();
            for state in &self.states[group * state_count..][..state_count] {
                state.encode(&mut content);
            }
            vec![Value::Bytes(self.keys.key(group).into()), Value::Bytes(content.into())]
        })
    }
    /// The groups in the order in which they were met.
    fn into_groups(self, state_count: usize) -> impl Iterator<Item = Group> {
        let Table { values, ends, states, .. } = self;
        let (mut start, mut states) = (0, states.into_iter());
        ends.into_iter().map(move |end| {
            let own = Vec::<Value>::from_bytes(&values[start..end]).expect("encoded here");
            start = end;
            Group { values: own, states: states.by_ref().take(state_count).collect() }
        })
    }
}

/// The memory that states of a group take beyond themselves.
fn sizes(states: &[AggregateState]) -> u64 {
    states.iter().map(AggregateState::size).sum()
}

impl<'p> Groups<'p> {
    pub fn new(grouping: &'p Grouping, held: Held) -> Groups<'p> {
        Groups {
            grouping,
            table: Table::default(),
            state_bytes: 0,
            held,
            spilled: None,
            values: Vec::new(),
            key: Vec::new(),
        }
    }

    fn state_count(&self) -> usize {
        self.grouping.aggregates.len()
    }

    fn put_key(&mut self) {
        self.key.clear();
        put_row_key(&self.values, &mut self.key);
        if self.key.is_empty() {
            self.key.push(ONLY_GROUP);
        }
    }

    fn insert_new(&mut self) {
        self.table.insert(&self.key, &self.values);
        let states = self.grouping.aggregates.iter().map(AggregateState::new);
        self.table.states.extend(states);
    }

    /// True if [`Groups::make_room`] is due.
    fn account(&mut self) -> bool {
        let states = usize::try_from(self.state_bytes).unwrap_or(usize::MAX);
        self.held.set(self.table.size().saturating_add(states));
        self.held.is_over()
    }

    /// Adds one row. True if [`Groups::make_room`] is due.
    pub fn add<R: Columns + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        row: &R,
    ) -> Result<bool, SqlError> {
        self.values.clear();
        for expr in &self.grouping.group_by {
            self.values.push(evaluate(&context.run, expr, row, &mut context.warnings)?);
        }
        self.put_key();
        let found = self.table.keys.find(&self.key);
        let group = found.unwrap_or_else(|| {
            self.insert_new();
            self.table.ends.len() - 1
        });
        let state_count = self.state_count();
        let states = &mut self.table.states[group * state_count..][..state_count];
        let mut evaluation = context.run.context();
        let before = sizes(states);
        for (state, aggregate) in states.iter_mut().zip(&self.grouping.aggregates) {
            let added = aggregate.add_row(row, state, &mut evaluation);
            added.map_err(|error| eval_error(&error))?;
        }
        let grown = sizes(states).saturating_sub(before);
        context.run.count_work(&mut evaluation);
        take_warnings(&mut evaluation, &mut context.warnings);
        self.state_bytes += grown;
        Ok((found.is_none() || 0 < grown) && self.account())
    }

    /// Adds a group that a shard has made of some rows. True if [`Groups::make_room`] is due.
    pub fn merge(
        &mut self,
        context: &mut Context<'_>,
        values: Vec<Value>,
        states: Vec<AggregateState>,
    ) -> Result<bool, SqlError> {
        let state_count = self.state_count();
        if states.len() != state_count || values.len() != self.grouping.group_by.len() {
            return Err(SqlError::new(code::ER_UNKNOWN_ERROR, "a node sent damaged groups"));
        }
        self.values = values;
        self.put_key();
        match self.table.keys.find(&self.key) {
            None => {
                self.state_bytes += sizes(&states);
                self.table.insert(&self.key, &self.values);
                self.table.states.extend(states);
            }
            Some(group) => {
                let own = &mut self.table.states[group * state_count..][..state_count];
                let before = sizes(own);
                merge_states(context, own, states)?;
                self.state_bytes += sizes(own).saturating_sub(before);
            }
        }
        Ok(self.account())
    }

    /// Puts the groups aside.
    pub async fn make_room(&mut self) -> Result<(), SqlError> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => self.spilled.insert(Runs::new(&self.held, FileUse::Table).await?),
        };
        let state_count = self.grouping.aggregates.len();
        let table = std::mem::take(&mut self.table);
        if 0 < table.keys.len() {
            let rows = move || table.into_rows(state_count);
            spilled.runs.push(write_run(&spilled.file, rows).await?);
        }
        self.state_bytes = 0;
        self.held.set(0);
        Ok(())
    }

    /// All groups, each once.
    async fn finish(mut self) -> Result<FinishedGroups, SqlError> {
        if self.spilled.is_none() {
            if self.grouping.implicit && self.table.ends.is_empty() {
                self.put_key();
                self.insert_new();
            }
            let state_count = self.state_count();
            let groups = Box::new(self.table.into_groups(state_count));
            return Ok(FinishedGroups::Memory { groups, _held: self.held });
        }
        self.make_room().await?;
        let runs = self.spilled.expect("it has spilled");
        let merge = runs.merged(RowOrder::first(1), usize::MAX).await?;
        let value_count = self.grouping.group_by.len();
        Ok(FinishedGroups::Merged { merge: Box::new(merge), next: None, value_count })
    }
}

fn merge_states(
    context: &mut Context<'_>,
    own: &mut [AggregateState],
    others: Vec<AggregateState>,
) -> Result<(), SqlError> {
    let mut evaluation = context.run.context();
    for (own, other) in own.iter_mut().zip(others) {
        own.merge(other, &mut evaluation.convert).map_err(|error| eval_error(&error))?;
    }
    take_warnings(&mut evaluation, &mut context.warnings);
    Ok(())
}

enum FinishedGroups {
    Memory {
        groups: Box<dyn Iterator<Item = Group>>,
        _held: Held,
    },
    Merged {
        merge: Box<Merge>,
        /// The row behind the group at hand.
        next: Option<Vec<Value>>,
        value_count: usize,
    },
}

impl FinishedGroups {
    async fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Group>, SqlError> {
        match self {
            FinishedGroups::Memory { groups, .. } => Ok(groups.next()),
            FinishedGroups::Merged { merge, next, value_count } => {
                let first = match next.take() {
                    Some(row) => Some(row),
                    None => merge.next().await?,
                };
                let Some(first) = first else { return Ok(None) };
                let mut group = decoded_group(&first[1], *value_count)?;
                while let Some(row) = merge.next().await? {
                    if row[0] != first[0] {
                        *next = Some(row);
                        break;
                    }
                    let other = decoded_group(&row[1], *value_count)?;
                    merge_states(context, &mut group.states, other.states)?;
                }
                Ok(Some(group))
            }
        }
    }
}

fn decoded_group(content: &Value, value_count: usize) -> Result<Group, SqlError> {
    let Value::Bytes(bytes) = content else { unreachable!("groups are written as bytes") };
    let decoded = || -> Result<Group, WireError> {
        let mut input = Reader::new(bytes);
        let values = Vec::<Value>::decode(&mut input)?;
        let mut states = Vec::new();
        while 0 < input.remaining() {
            states.push(AggregateState::decode(&mut input)?);
        }
        Ok(Group { values, states })
    };
    let group = decoded().ok().filter(|group| group.values.len() == value_count);
    group.ok_or_else(|| SqlError::new(code::ER_ERROR_ON_READ, "A temporary file is damaged"))
}

impl Context<'_> {
    /// A row of (group values, aggregates) for each group that passes HAVING, in the groups' order.
    pub async fn finished_groups(
        &mut self,
        plan: &SelectPlan,
        groups: Groups<'_>,
    ) -> Result<SortedRows, Failure> {
        let grouping = groups.grouping;
        let group_count = grouping.group_by.len();
        let budget = self.budget();
        let order = match grouping.rollup {
            true => RowOrder::Levels { key_count: group_count - 1 },
            false => RowOrder::first(group_count),
        };
        let mut sorter = Sorter::new(&budget, order, None);
        // Groups over all values of the last keys.
        let mut coarser = grouping.rollup.then(|| Groups::new(grouping, budget.account()));
        let finer = groups.finish().await?;
        self.finish_groups(plan, grouping, finer, coarser.as_mut(), &mut sorter).await?;
        if let Some(coarser) = coarser {
            let coarser = coarser.finish().await?;
            self.finish_groups(plan, grouping, coarser, None, &mut sorter).await?;
        }
        Ok(sorter.finish().await?)
    }

    async fn finish_groups(
        &mut self,
        plan: &SelectPlan,
        grouping: &Grouping,
        mut groups: FinishedGroups,
        mut coarser: Option<&mut Groups<'_>>,
        sorter: &mut Sorter,
    ) -> Result<(), Failure> {
        let mut pace = Pace::default();
        let (mut some, mut work) = (Vec::new(), 0);
        loop {
            let group = groups.next(self).await?;
            let is_last = group.is_none();
            if let Some(group) = group {
                pace.row().await;
                if let Some(coarser) = &mut coarser {
                    self.roll_up(&group, coarser, &mut pace).await?;
                }
                // GROUP_CONCAT sorts its values at the end.
                let bytes = sizes(&group.states) as usize;
                work += WORK_PER_GROUP + bytes.saturating_mul(WORK_PER_STATE_BYTE);
                some.push(group);
            }
            if is_last || GROUPS_AT_ONCE <= some.len() || WORKER_WORK_MAX <= work {
                self.check_killed()?;
                let rows = self.finished_rows(std::mem::take(&mut some), work).await?;
                work = 0;
                self.count_pushed(plan, Stage::Groups, rows.len());
                for row in rows {
                    pace.row().await;
                    if let Some(having) = &grouping.having {
                        if !self.holds(having, &row).await? {
                            continue;
                        }
                        self.count_pushed(plan, Stage::Having, 1);
                    }
                    if sorter.push(row) {
                        sorter.make_room().await?;
                    }
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Adds a group to those over all values of its last keys.
    async fn roll_up(
        &mut self,
        group: &Group,
        coarser: &mut Groups<'_>,
        pace: &mut Pace,
    ) -> Result<(), SqlError> {
        let key_count = group.values.len() - 1;
        for level in (0..key_count).rev() {
            let mut values = group.values[..level].to_vec();
            values.resize(key_count, Value::Null);
            values.push(Value::Int(level as i64));
            let is_full = coarser.merge(self, values, group.states.clone())?;
            if is_full {
                coarser.make_room().await?;
            }
            pace.row().await;
            pace.bytes(sizes(&group.states) as usize).await;
        }
        Ok(())
    }

    /// The values of groups with those of their aggregates.
    async fn finished_rows(
        &mut self,
        groups: Vec<Group>,
        work: usize,
    ) -> Result<Vec<Vec<Value>>, SqlError> {
        let settings = self.run.settings();
        let finish = move || -> Result<(Vec<Vec<Value>>, Vec<SqlWarning>), EvalError> {
            let mut context = EvalContext::with(&[], settings);
            let mut rows = Vec::with_capacity(groups.len());
            for Group { mut values, states } in groups {
                for state in &states {
                    values.push(state.finish(&mut context.convert)?);
                }
                rows.push(values);
            }
            let mut warnings = Vec::new();
            take_warnings(&mut context, &mut warnings);
            Ok((rows, warnings))
        };
        let finished = match work < WORKER_WORK_MAX {
            true => finish(),
            false => self.compute(finish).await?,
        };
        let (rows, own) = finished.map_err(|error| eval_error(&error))?;
        self.warnings.extend(own);
        Ok(rows)
    }
}
