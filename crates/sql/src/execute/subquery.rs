//! The values of subqueries.

use std::collections::BTreeMap;
use std::rc::Rc;

use types::convert::{SqlWarning, WarningLevel, group_key};
use types::expr::{Columns, NoColumns};
use types::wire::Wire;
use types::{Value, ValueRef};

use super::batch::KeyTable;
use super::budget::Held;
use super::{Context, Failure, Pace, value_size};
use crate::SqlError;
use crate::plan::{SetLookup, Slot, SubqueryKind, SubqueryPlan};
use crate::result::{ColumnInfo, OkInfo, ResultSink};

impl Context<'_> {
    /// Runs the subqueries that have one value for the whole statement, inner ones first.
    pub async fn run_subqueries(&mut self) -> Result<(), Failure> {
        self.run_once(&self.run.plan.once).await
    }

    /// Runs the subqueries of these slots, and supplies their values.
    pub async fn run_once(&mut self, slots: &[u16]) -> Result<(), Failure> {
        for &slot in slots {
            let Slot::Subquery(subquery) = &self.run.plan.slots[usize::from(slot)] else {
                unreachable!("only subqueries run once")
            };
            self.fill_in(&subquery.outer, &NoColumns)?;
            self.run_subquery(slot, subquery).await?;
        }
        Ok(())
    }

    /// The values of a subquery for a row of the query around it.
    pub async fn subquery_of_row<R: Columns + ?Sized>(
        &mut self,
        slot: u16,
        subquery: &SubqueryPlan,
        row: &R,
    ) -> Result<(), Failure> {
        self.fill_in(&subquery.outer, row)?;
        if !subquery.is_kept {
            return self.run_subquery(slot, subquery).await;
        }
        let first = self.run.first_slot();
        let mut key = Vec::new();
        for outer in &subquery.outer {
            self.run.params[first + usize::from(outer.slot)].encode(&mut key);
        }
        let width = match subquery.kind {
            SubqueryKind::Scalar => subquery.plan.columns.len(),
            SubqueryKind::Exists | SubqueryKind::Any | SubqueryKind::All => 1,
        };
        let own = first + usize::from(slot)..first + usize::from(slot) + width;
        if let Some(values) = self.results.get(&slot).and_then(|kept| kept.by_outer.get(&key)) {
            self.run.params[own].clone_from_slice(values);
            self.run.faulty.retain(|(param, _)| usize::from(*param) != first + usize::from(slot));
            return Ok(());
        }
        self.run_subquery(slot, subquery).await?;
        let has_failed =
            self.run.faulty.iter().any(|(param, _)| own.contains(&usize::from(*param)));
        if !has_failed {
            let values = self.run.params[own].to_vec();
            self.results.entry(slot).or_default().keep(key, values);
        }
        Ok(())
    }

    /// Runs a subquery whose outer values are filled in. An error of its own is one only for an expression that asks for its
    /// value; others end the statement.
    async fn run_subquery(&mut self, slot: u16, subquery: &SubqueryPlan) -> Result<(), Failure> {
        let first = u16::try_from(self.run.first_slot()).expect("parameters are counted");
        self.run.faulty.retain(|(param, _)| *param != first + slot);
        let result = match &subquery.set {
            Some(set) => self.is_in_set(slot, set).await,
            None => self.run_query(slot, subquery).await,
        };
        match result {
            Err(failure) if subquery.is_lazy && failure.is_of_expression() => {
                let SqlError { code, message, .. } = failure.error;
                let fault = SqlWarning { level: WarningLevel::Error, code, message };
                for column in 0..subquery.plan.columns.len() {
                    let column = u16::try_from(column).expect("select lists are bounded");
                    self.run.faulty.push((first + slot + column, fault.clone()));
                }
                Ok(())
            }
            result => result,
        }
    }

    /// Whether the operand is among the values that the statement keeps.
    async fn is_in_set(&mut self, slot: u16, lookup: &SetLookup) -> Result<(), Failure> {
        let set = match self.sets.get(&lookup.keep) {
            Some(set) => Rc::clone(set),
            None => {
                let mut set = ValueSet::new(self.account());
                let mut pace = Pace::default();
                let mut rows = self.rows_of_query(&lookup.plan).await?.into_reader();
                while let Some(row) = rows.next().await? {
                    pace.row().await;
                    let value = self.evaluated_here(&lookup.column, &row)?;
                    match value.is_null() {
                        true => set.has_null = true,
                        false => set.insert(&value)?,
                    }
                }
                let set = Rc::new(set);
                self.sets.insert(lookup.keep, Rc::clone(&set));
                set
            }
        };
        let operand = self.evaluated_here(&lookup.operand, &NoColumns)?;
        let is_in = match operand.is_null() {
            _ if set.is_empty() => Some(false),
            true => None,
            false if set.contains(&operand) => Some(true),
            false if set.has_null => None,
            false => Some(false),
        };
        let position = self.run.first_slot() + usize::from(slot);
        self.run.params[position] = is_in.map_or(Value::Null, |own| Value::Int(own.into()));
        Ok(())
    }

    async fn run_query(&mut self, slot: u16, subquery: &SubqueryPlan) -> Result<(), Failure> {
        let plan = &subquery.plan;
        let mut sink = Sink { kind: subquery.kind, ..Sink::default() };
        let sent = self.run_inside(plan, &mut sink).await?;
        let position = self.run.first_slot() + usize::from(slot);
        let truth = |truth: Option<bool>| truth.map_or(Value::Null, |own| Value::Int(own.into()));
        let values = match subquery.kind {
            SubqueryKind::Scalar if 1 < sent => return Err(SqlError::subquery_rows().into()),
            SubqueryKind::Scalar => {
                sink.first.unwrap_or_else(|| vec![Value::Null; plan.columns.len()])
            }
            SubqueryKind::Exists => vec![truth(Some(0 < sent))],
            // TRUE of any row, FALSE of all: what an unknown row cannot change.
            SubqueryKind::Any => vec![truth(sink.truth(true))],
            SubqueryKind::All => vec![truth(sink.truth(false))],
        };
        for (param, value) in self.run.params[position..].iter_mut().zip(values) {
            *param = value;
        }
        Ok(())
    }
}

/// Results of a subquery by the values of the columns around it. Rows of a join that have the same left row follow each other,
/// so even few results serve most rows.
#[derive(Default)]
pub struct KeptResults {
    by_outer: BTreeMap<Vec<u8>, Vec<Value>>,
    size: usize,
}

/// Bytes of the results that a statement keeps of a subquery; more drop those before.
const KEPT_RESULTS_SIZE: usize = 256 << 10;

impl KeptResults {
    fn keep(&mut self, key: Vec<u8>, values: Vec<Value>) {
        let held: usize = values.iter().map(value_size).sum();
        self.size += size_of::<(Vec<u8>, Vec<Value>)>() + key.len() + held;
        if KEPT_RESULTS_SIZE < self.size {
            *self = KeptResults::default();
            return;
        }
        self.by_outer.insert(key, values);
    }
}

/// Values of one kind, without NULL. They are in memory.
pub struct ValueSet {
    keys: KeyTable,
    has_null: bool,
    held: Held,
}

impl ValueSet {
    fn new(held: Held) -> ValueSet {
        ValueSet { keys: KeyTable::default(), has_null: false, held }
    }
    fn insert(&mut self, value: &Value) -> Result<(), SqlError> {
        let mut key = Vec::new();
        group_key(value.as_ref(), &mut key);
        if self.keys.find(&key).is_none() {
            self.keys.insert(&key);
            self.held.set(self.keys.size());
        }
        self.held.check()
    }
    fn contains(&self, value: &Value) -> bool {
        let mut key = Vec::new();
        group_key(value.as_ref(), &mut key);
        self.keys.find(&key).is_some()
    }
    /// Has it no value, and no NULL?
    fn is_empty(&self) -> bool {
        self.keys.len() == 0 && !self.has_null
    }
}

/// What a subquery's value is made of.
#[derive(Default)]
struct Sink {
    kind: SubqueryKind,
    first: Option<Vec<Value>>,
    has_true: bool,
    has_false: bool,
    has_null: bool,
}

impl Sink {
    /// Whether a row is `decisive`, or else whether all are the opposite; None if that is unknown.
    fn truth(&self, decisive: bool) -> Option<bool> {
        let is_decided = if decisive { self.has_true } else { self.has_false };
        match is_decided {
            true => Some(decisive),
            false if self.has_null => None,
            false => Some(!decisive),
        }
    }
}

impl ResultSink for Sink {
    fn columns(&mut self, _columns: &[ColumnInfo]) {}
    fn row(&mut self, values: &[ValueRef<'_>]) {
        match self.kind {
            SubqueryKind::Scalar => {
                self.first.get_or_insert_with(|| values.iter().map(ValueRef::to_value).collect());
            }
            SubqueryKind::Exists => {}
            SubqueryKind::Any | SubqueryKind::All => match values[0] {
                ValueRef::Null => self.has_null = true,
                ValueRef::Int(0) => self.has_false = true,
                _ => self.has_true = true,
            },
        }
    }
    fn end_of_rows(&mut self, _info: &OkInfo) {}
    fn ok(&mut self, _info: &OkInfo) {}
    fn error(&mut self, _error: &SqlError) {}
}
