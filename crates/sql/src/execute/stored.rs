//! Rows that a statement keeps, in their order: results of queries inside of it, and what is read several times. Those that
//! do not fit into memory are in a temporary file, and are read from there in blocks.

use std::pin::Pin;
use std::rc::Rc;

use types::convert::{EvalSettings, SqlWarning};
use types::{ColumnType, Value, ValueRef};

use super::batch::RowStore;
use super::budget::{Budget, FileUse, Held, SpillFile};
use super::runs::{Block, Run, read_block, write_run};
use super::select::of_type;
use super::{Pace, row_size};
use crate::SqlError;
use crate::result::{ColumnInfo, OkInfo, ResultSink};

/// Rows that are being stored.
pub struct RowBuffer {
    rows: Vec<Vec<Value>>,
    held: Held,
    spilled: Option<Spilled>,
}

struct Spilled {
    file: Rc<SpillFile>,
    run: Run,
}

impl RowBuffer {
    pub fn new(budget: &Rc<Budget>) -> RowBuffer {
        RowBuffer { rows: Vec::new(), held: budget.account(), spilled: None }
    }
    /// True if [`RowBuffer::make_room`] is due.
    pub fn push(&mut self, row: Vec<Value>) -> bool {
        self.held.take(row_size(&row));
        self.rows.push(row);
        self.held.is_over()
    }
    fn is_over(&self) -> bool {
        self.held.is_over()
    }
    /// Writes the rows to a file.
    pub async fn make_room(&mut self) -> Result<(), SqlError> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => {
                let file = self.held.budget().file(FileUse::Table).await?;
                self.spilled.insert(Spilled { file, run: Run::default() })
            }
        };
        let rows = std::mem::take(&mut self.rows);
        let run = write_run(&spilled.file, || rows.into_iter()).await?;
        spilled.run.blocks.extend(run.blocks);
        spilled.run.row_count += run.row_count;
        self.held.set(0);
        Ok(())
    }
    /// Adds a row, and makes room if that is due.
    pub async fn store(&mut self, row: Vec<Value>) -> Result<(), SqlError> {
        match self.push(row) {
            true => self.make_room().await,
            false => Ok(()),
        }
    }
    pub fn finish(self) -> StoredRows {
        let RowBuffer { rows, held, spilled } = self;
        let (file, run) = match spilled {
            Some(Spilled { file, run }) => (Some(file), run),
            None => (None, Run::default()),
        };
        StoredRows {
            len: run.row_count + rows.len(),
            file,
            blocks: run.blocks,
            tail: Rc::new(RowStore::Values(rows)),
            held,
        }
    }
}

/// Rows that were stored. They can be read often, and by several at a time.
pub struct StoredRows {
    file: Option<Rc<SpillFile>>,
    blocks: Vec<Block>,
    /// The rows behind those of the blocks.
    tail: Rc<RowStore>,
    held: Held,
    len: usize,
}

impl StoredRows {
    /// Rows that are in memory, whatever they take.
    pub fn of(budget: &Rc<Budget>, rows: Vec<Vec<Value>>) -> StoredRows {
        let mut held = budget.account();
        held.set(rows.iter().map(|row| row_size(row)).sum());
        RowBuffer { rows, held, spilled: None }.finish()
    }
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The rows of a part, from 0 on; None behind the last one.
    pub async fn part(&self, number: usize) -> Result<Option<Rc<RowStore>>, SqlError> {
        match (self.blocks.get(number), &self.file) {
            (Some(block), Some(file)) => {
                Ok(Some(Rc::new(RowStore::Values(read_block(file, *block).await?))))
            }
            _ if number == self.blocks.len() => Ok(Some(Rc::clone(&self.tail))),
            _ => Ok(None),
        }
    }
    /// Takes all rows, in their order.
    pub fn into_reader(self) -> StoredReader {
        let rows = Vec::new().into_iter();
        StoredReader { stored: self, part: 0, rows, pace: Pace::default() }
    }
}

/// Takes rows out of where they are stored.
pub struct StoredReader {
    stored: StoredRows,
    part: usize,
    rows: std::vec::IntoIter<Vec<Value>>,
    pace: Pace,
}

impl StoredReader {
    /// Rows that are left.
    pub fn len(&self) -> usize {
        self.stored.len
    }
    /// Are the rows at hand those behind the blocks?
    fn is_of_tail(&self) -> bool {
        self.stored.blocks.len() < self.part
    }
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, SqlError> {
        loop {
            if let Some(row) = self.rows.next() {
                self.pace.row().await;
                self.stored.len -= 1;
                if self.is_of_tail() {
                    self.stored.held.give(row_size(&row));
                }
                return Ok(Some(row));
            }
            let stored = &mut self.stored;
            let empty = || Rc::new(RowStore::Values(Vec::new()));
            let store = match self.part == stored.blocks.len() {
                true => std::mem::replace(&mut stored.tail, empty()),
                false => match stored.part(self.part).await? {
                    Some(store) => store,
                    None => return Ok(None),
                },
            };
            self.part += 1;
            self.rows = match Rc::try_unwrap(store) {
                Ok(RowStore::Values(rows)) => rows.into_iter(),
                Ok(RowStore::Stored(_)) => unreachable!("rows are stored as values"),
                Err(_) => unreachable!("the reader has the rows alone"),
            };
        }
    }
}

/// Keeps the rows of a query inside of a statement.
pub struct Collector<'p> {
    rows: RowBuffer,
    /// Values become those of these columns.
    columns: Option<(&'p [ColumnInfo], EvalSettings)>,
    pub warnings: Vec<SqlWarning>,
    error: Option<SqlError>,
}

impl<'p> Collector<'p> {
    pub fn new(
        budget: &Rc<Budget>,
        columns: Option<(&'p [ColumnInfo], EvalSettings)>,
    ) -> Collector<'p> {
        Collector { rows: RowBuffer::new(budget), columns, warnings: Vec::new(), error: None }
    }
    pub fn finish(self) -> Result<StoredRows, SqlError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.rows.finish()),
        }
    }
}

impl ResultSink for Collector<'_> {
    fn columns(&mut self, _columns: &[ColumnInfo]) {}
    fn row(&mut self, values: &[ValueRef<'_>]) {
        if self.error.is_some() {
            return;
        }
        let mut row: Vec<Value> = values.iter().map(ValueRef::to_value).collect();
        if let Some((columns, settings)) = self.columns {
            for (value, info) in row.iter_mut().zip(columns) {
                let own = std::mem::replace(value, Value::Null);
                *value = typed(own, info, settings, &mut self.warnings);
            }
        }
        self.rows.push(row);
    }
    fn end_of_rows(&mut self, _info: &OkInfo) {}
    fn ok(&mut self, _info: &OkInfo) {}
    fn error(&mut self, _error: &SqlError) {}
    fn is_full(&self) -> bool {
        self.error.is_some() || self.rows.is_over()
    }
    fn drained(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async {
            if self.error.is_none() {
                self.error = self.rows.make_room().await.err();
            }
        })
    }
    fn failure(&mut self) -> Option<SqlError> {
        self.error.clone()
    }
}

/// A value of the kind of its column.
fn typed(
    value: Value,
    info: &ColumnInfo,
    settings: EvalSettings,
    warnings: &mut Vec<SqlWarning>,
) -> Value {
    match (of_type(value, info, settings, warnings), &info.column_type) {
        // Compared and sorted as the whole column is.
        (Value::Text(text, _), column_type) => {
            let collation = column_type.collation().unwrap_or_default();
            match collation.charset().holds(&text) {
                true => Value::Text(text, collation),
                false => Value::text(&collation.charset().replace_missing(&text), collation),
            }
        }
        (Value::Decimal(own), ColumnType::Decimal { scale, .. }) if *scale < own.shown_scale() => {
            own.round(i32::from(*scale)).map_or(Value::Null, Value::Decimal)
        }
        (value, _) => value,
    }
}
