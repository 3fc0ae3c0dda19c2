//! Rows sorted, made distinct, cut. What does not fit into the memory of the statement goes to temporary files ([`runs`]),
//! and comes from there as it would have come from memory. A sort that would hold up the worker runs on another thread.
//!
//! [`runs`]: super::runs

use std::rc::Rc;

use types::Value;
use types::convert::group_key;

use super::batch::KeyTable;
use super::budget::{Budget, FileUse, Held};
use super::evaluate::WORKER_WORK_MAX;
use super::row_size;
use super::runs::{Merge, RowOrder, Runs, write_run};
use super::stored::StoredReader;
use crate::SqlError;

/// Work of a comparison of short rows, in the units of [`types::expr::ROW_WORK_MAX`].
const WORK_PER_COMPARISON: usize = 50;

/// Sorts rows by some of their values; keeps only what a LIMIT can still want.
pub struct Sorter {
    order: RowOrder,
    /// The number of first rows that are wanted.
    wanted: usize,
    rows: Vec<Vec<Value>>,
    held: Held,
    spilled: Option<Runs>,
}

impl Sorter {
    pub fn new(budget: &Rc<Budget>, order: RowOrder, wanted: Option<u64>) -> Sorter {
        let wanted = wanted.and_then(|wanted| usize::try_from(wanted).ok()).unwrap_or(usize::MAX);
        Sorter { order, wanted, rows: Vec::new(), held: budget.account(), spilled: None }
    }
    /// True if [`Sorter::make_room`] is due.
    pub fn push(&mut self, row: Vec<Value>) -> bool {
        self.held.take(row_size(&row));
        self.rows.push(row);
        self.has_many() || self.held.is_over()
    }
    /// Are many rows not wanted? To sort twice what is wanted, now and then, costs the same as a heap and is simpler.
    fn has_many(&self) -> bool {
        self.wanted.saturating_mul(2).saturating_add(1_000) < self.rows.len()
    }
    /// Drops the rows that are not wanted, or puts all rows aside.
    pub async fn make_room(&mut self) -> Result<(), SqlError> {
        if self.wanted < self.rows.len() {
            self.sort().await?;
            self.rows.truncate(self.wanted);
            self.held.set(self.rows.iter().map(|row| row_size(row)).sum());
        }
        match self.held.is_over() {
            true => self.spill().await,
            false => Ok(()),
        }
    }
    async fn sort(&mut self) -> Result<(), SqlError> {
        let (rows, order) = (std::mem::take(&mut self.rows), self.order.clone());
        self.rows = sorted(rows, &self.held, order).await?;
        Ok(())
    }
    async fn spill(&mut self) -> Result<(), SqlError> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => self.spilled.insert(Runs::new(&self.held, FileUse::Sort).await?),
        };
        let rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() {
            let (order, wanted) = (self.order.clone(), self.wanted);
            let sort = move || {
                let mut rows = rows;
                rows.sort_by(|a, b| order.compare(a, b));
                rows.into_iter().take(wanted)
            };
            spilled.runs.push(write_run(&spilled.file, sort).await?);
        }
        self.held.set(0);
        Ok(())
    }
    pub async fn finish(mut self) -> Result<SortedRows, SqlError> {
        if self.spilled.is_none() {
            self.sort().await?;
            let Sorter { rows, held, .. } = self;
            return Ok(SortedRows::Memory { rows: rows.into_iter(), held });
        }
        self.spill().await?;
        let spilled = self.spilled.expect("it has spilled");
        let row_count = spilled.runs.iter().map(|run| run.row_count).sum::<usize>();
        let merge = spilled.merged(self.order, self.wanted).await?;
        Ok(SortedRows::Merged { merge: Box::new(merge), left: row_count.min(self.wanted) })
    }
}

/// Rows in their order.
pub enum SortedRows {
    Memory { rows: std::vec::IntoIter<Vec<Value>>, held: Held },
    Merged { merge: Box<Merge>, left: usize },
    Stored(Box<StoredReader>),
}

impl SortedRows {
    /// Rows that are left.
    pub fn len(&self) -> usize {
        match self {
            SortedRows::Memory { rows, .. } => rows.len(),
            SortedRows::Merged { left, .. } => *left,
            SortedRows::Stored(rows) => rows.len(),
        }
    }
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, SqlError> {
        match self {
            SortedRows::Memory { rows, held } => {
                let row = rows.next();
                held.give(row.as_deref().map_or(0, row_size));
                Ok(row)
            }
            SortedRows::Stored(rows) => rows.next().await,
            SortedRows::Merged { merge, left } => {
                *left = left.saturating_sub(1);
                merge.next().await
            }
        }
    }
}

/// Sorts rows of an account; a long sort runs on another thread.
async fn sorted(
    mut rows: Vec<Vec<Value>>,
    held: &Held,
    order: RowOrder,
) -> Result<Vec<Vec<Value>>, SqlError> {
    // A comparison may look at whole rows.
    let comparisons_per_row = rows.len().max(2).ilog2() as usize;
    let work = comparisons_per_row * (rows.len() * WORK_PER_COMPARISON + held.bytes());
    if work < WORKER_WORK_MAX {
        rows.sort_by(|a, b| order.compare(a, b));
        return Ok(rows);
    }
    let sort = move || {
        rows.sort_by(|a, b| order.compare(a, b));
        rows
    };
    held.budget().compute(sort).await
}

/// The rows seen by a DISTINCT. When their keys do not fit into memory, further rows with other keys are put aside, and
/// come at the end, each once and in the order in which they were given. Rows in the order of all their values need a key
/// only where that order does not tell a row from the one before.
pub struct Seen {
    /// The order in which the rows come, if that is by all their values.
    order: Option<RowOrder>,
    /// With an order: the last row that passed.
    last: Option<Vec<Value>>,
    /// With an order: of the rows that it does not tell from `last`, if there are others.
    keys: KeyTable,
    key: Vec<u8>,
    held: Held,
    aside: Option<Sorter>,
    aside_count: u64,
}

/// What a DISTINCT makes of a row.
pub enum SeenRow {
    /// It is the first one of its key.
    New(Vec<Value>),
    Known,
    /// It was put aside. True if [`Seen::make_room`] is due.
    Aside(bool),
}

impl Seen {
    pub fn new(budget: &Rc<Budget>) -> Seen {
        Seen {
            order: None,
            last: None,
            keys: KeyTable::default(),
            key: Vec::new(),
            held: budget.account(),
            aside: None,
            aside_count: 0,
        }
    }
    /// For rows in this order, whose first `visible` values are looked at.
    pub fn in_order(budget: &Rc<Budget>, sort: &[(usize, bool)], visible: usize) -> Seen {
        let is_sorted_by = |item: usize| sort.iter().any(|(position, _)| *position == item);
        let is_by_visible = sort.iter().all(|(position, _)| *position < visible);
        let is_by_all = is_by_visible && (0..visible).all(is_sorted_by);
        Seen { order: is_by_all.then(|| RowOrder::Keys(sort.into())), ..Seen::new(budget) }
    }
    /// Looks at the first `visible` values of a row.
    pub fn look_at(&mut self, row: Vec<Value>, visible: usize) -> SeenRow {
        if self.is_behind_others(&row, visible) {
            return SeenRow::New(row);
        }
        self.put_key(&row[..visible]);
        if self.keys.find(&self.key).is_some() {
            return SeenRow::Known;
        }
        if self.aside.is_none() && self.held.is_over() {
            self.aside = Some(Sorter::new(self.held.budget(), RowOrder::first(2), None));
        }
        let Some(aside) = &mut self.aside else {
            self.keep_key();
            return SeenRow::New(row);
        };
        let mut kept = Vec::with_capacity(row.len() + 2);
        kept.push(Value::Bytes(self.key.as_slice().into()));
        kept.push(Value::UInt(self.aside_count));
        kept.extend(row);
        self.aside_count += 1;
        SeenRow::Aside(aside.push(kept))
    }
    /// Does the order alone tell the row from all before? Otherwise the keys are those of the rows that it may equal.
    fn is_behind_others(&mut self, row: &[Value], visible: usize) -> bool {
        let Some(order) = self.order.as_ref().filter(|_| self.aside.is_none()) else {
            return false;
        };
        let last = self.last.take();
        let is_behind = last.as_ref().is_none_or(|last| order.compare(last, row).is_ne());
        match &last {
            Some(last) if !is_behind && self.keys.len() == 0 => {
                self.put_key(&last[..visible]);
                self.keep_key();
            }
            _ if is_behind && self.keys.len() != 0 => {
                self.keys = KeyTable::default();
                self.held.set(0);
            }
            _ => {}
        }
        self.last = last;
        is_behind
    }
    /// Takes a new row back when it was sent.
    pub fn passed(&mut self, row: Vec<Value>) {
        if self.order.is_some() {
            self.last = Some(row);
        }
    }
    /// Is the row new? 1038 if its key does not fit into memory.
    pub fn insert(&mut self, row: &[Value]) -> Result<bool, SqlError> {
        self.put_key(row);
        let is_new = self.keys.find(&self.key).is_none();
        if is_new {
            self.keep_key();
            self.held.check()?;
        }
        Ok(is_new)
    }
    fn put_key(&mut self, row: &[Value]) {
        self.key.clear();
        put_row_key(row, &mut self.key);
    }
    fn keep_key(&mut self) {
        self.keys.insert(&self.key);
        self.held.set(self.keys.size());
    }
    pub async fn make_room(&mut self) -> Result<(), SqlError> {
        match &mut self.aside {
            Some(aside) => aside.make_room().await,
            None => Ok(()),
        }
    }
    /// The rows that were put aside, each once; None if there are none.
    pub async fn finish(self) -> Result<Option<DistinctRows>, SqlError> {
        let Seen { keys, held, aside, .. } = self;
        // The rows that were put aside have other keys.
        drop(keys);
        let budget = Rc::clone(held.budget());
        drop(held);
        let Some(aside) = aside else { return Ok(None) };
        let mut firsts = Sorter::new(&budget, RowOrder::first(1), None);
        let mut rows = aside.finish().await?;
        let mut last: Option<Value> = None;
        while let Some(mut row) = rows.next().await? {
            let key = row.remove(0);
            if last.as_ref() != Some(&key) {
                last = Some(key);
                if firsts.push(row) {
                    firsts.make_room().await?;
                }
            }
        }
        Ok(Some(DistinctRows { rows: firsts.finish().await? }))
    }
}

/// Rows that a DISTINCT had put aside.
pub struct DistinctRows {
    rows: SortedRows,
}

impl DistinctRows {
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, SqlError> {
        let row = self.rows.next().await?;
        // The number by which it is in order.
        Ok(row.map(|mut row| {
            row.remove(0);
            row
        }))
    }
}

/// Appends bytes that are equal for equal rows, and for no others.
pub fn put_row_key(row: &[Value], key: &mut Vec<u8>) {
    for value in row {
        group_key(value.as_ref(), key);
    }
}

/// Equal rows have equal keys.
pub fn row_key(row: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    put_row_key(row, &mut key);
    key
}
