//! Results that the statement keeps.

use std::pin::Pin;

use types::{Value, ValueRef};

use super::{STATEMENT_MEMORY_MAX, value_size};
use crate::SqlError;
use crate::result::{ColumnInfo, OkInfo, ResultSink};

/// Keeps the rows of a query inside of a statement.
#[derive(Default)]
pub struct Collector {
    rows: Vec<Vec<Value>>,
    size: usize,
    overflow: bool,
}

impl Collector {
    /// 1038 if they are more than a statement may hold.
    pub fn rows(self) -> Result<Vec<Vec<Value>>, SqlError> {
        if self.overflow { Err(SqlError::out_of_sort_memory()) } else { Ok(self.rows) }
    }
}

impl ResultSink for Collector {
    fn columns(&mut self, _columns: &[ColumnInfo]) {}
    fn row(&mut self, values: &[ValueRef<'_>]) {
        if STATEMENT_MEMORY_MAX < self.size {
            self.overflow = true;
            self.rows.clear();
            return;
        }
        let row: Vec<Value> = values.iter().map(ValueRef::to_value).collect();
        self.size += row.iter().map(value_size).sum::<usize>();
        self.rows.push(row);
    }
    fn end_of_rows(&mut self, _info: &OkInfo) {}
    fn ok(&mut self, _info: &OkInfo) {}
    fn error(&mut self, _error: &SqlError) {}
    fn is_full(&self) -> bool {
        false
    }
    fn drained(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}
