//! Rows kept by the context: sorted, made distinct, cut. In memory, with a bound. A sort that would hold up the worker runs
//! on another thread.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use types::Value;
use types::convert::{group_key, sort_compare};

use super::evaluate::WORKER_WORK_MAX;
use super::{Context, STATEMENT_MEMORY_MAX, value_size};
use crate::SqlError;

/// Work of a comparison of short rows, in the units of [`types::expr::ROW_WORK_MAX`].
const WORK_PER_COMPARISON: usize = 50;

/// Sorts rows by some of their values; keeps only what a LIMIT can still want.
pub struct Sorter<'p> {
    /// (position in the row, descending)
    order: &'p [(usize, bool)],
    /// The number of first rows that are wanted.
    wanted: Option<usize>,
    rows: Vec<Vec<Value>>,
    size: usize,
}

impl<'p> Sorter<'p> {
    pub fn new(order: &'p [(usize, bool)], wanted: Option<u64>) -> Sorter<'p> {
        let wanted = wanted.map(|wanted| usize::try_from(wanted).unwrap_or(usize::MAX));
        Sorter { order, wanted, rows: Vec::new(), size: 0 }
    }
    /// True if [`Sorter::cut`] is due.
    pub fn push(&mut self, row: Vec<Value>) -> Result<bool, SqlError> {
        self.size += row.iter().map(value_size).sum::<usize>() + size_of::<Vec<Value>>();
        self.rows.push(row);
        // Sorting twice what is wanted, now and then, costs the same as a heap and is simpler.
        let is_due = self
            .wanted
            .is_some_and(|wanted| wanted.saturating_mul(2).saturating_add(1_000) < self.rows.len());
        if STATEMENT_MEMORY_MAX < self.size && !is_due {
            return Err(SqlError::out_of_sort_memory());
        }
        Ok(is_due)
    }
    /// Drops the rows that are not wanted.
    pub async fn cut(&mut self, context: &Context<'_>) -> Result<(), SqlError> {
        self.sort(context).await?;
        self.keep_wanted();
        if STATEMENT_MEMORY_MAX < self.size {
            return Err(SqlError::out_of_sort_memory());
        }
        Ok(())
    }
    fn keep_wanted(&mut self) {
        self.rows.truncate(self.wanted.unwrap_or(usize::MAX));
        self.size = self.rows.iter().flatten().map(value_size).sum();
    }
    async fn sort(&mut self, context: &Context<'_>) -> Result<(), SqlError> {
        let rows = std::mem::take(&mut self.rows);
        let order = self.order.to_vec();
        self.rows =
            sorted(rows, self.size, context, move |a, b| compare_rows(&order, a, b)).await?;
        Ok(())
    }
    pub async fn finish(mut self, context: &Context<'_>) -> Result<Vec<Vec<Value>>, SqlError> {
        self.sort(context).await?;
        Ok(self.rows)
    }
}

/// Sorts rows of `size` bytes in all; a long sort runs on another thread.
pub async fn sorted(
    mut rows: Vec<Vec<Value>>,
    size: usize,
    context: &Context<'_>,
    compare: impl Fn(&[Value], &[Value]) -> Ordering + Send + 'static,
) -> Result<Vec<Vec<Value>>, SqlError> {
    // A comparison may look at whole rows.
    let comparisons_per_row = rows.len().max(2).ilog2() as usize;
    let work = comparisons_per_row * (rows.len() * WORK_PER_COMPARISON + size);
    if work < WORKER_WORK_MAX {
        rows.sort_by(|a, b| compare(a, b));
        return Ok(rows);
    }
    context
        .compute(move || {
            rows.sort_by(|a, b| compare(a, b));
            rows
        })
        .await
}

pub fn compare_rows(order: &[(usize, bool)], left: &[Value], right: &[Value]) -> Ordering {
    for &(position, descending) in order {
        let ordering = sort_compare(left[position].as_ref(), right[position].as_ref());
        if ordering != Ordering::Equal {
            return if descending { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}

/// The rows seen by a DISTINCT.
#[derive(Default)]
pub struct Seen {
    keys: BTreeSet<Vec<u8>>,
    size: usize,
}

impl Seen {
    /// Is the row new?
    pub fn insert(&mut self, row: &[Value]) -> Result<bool, SqlError> {
        let key = row_key(row);
        self.size += key.len() + 64;
        if STATEMENT_MEMORY_MAX < self.size {
            return Err(SqlError::out_of_sort_memory());
        }
        Ok(self.keys.insert(key))
    }
}

/// Equal rows have equal keys. Each value's key is preceded by its length, so that no two rows run together.
pub fn row_key(row: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    let mut one = Vec::new();
    for value in row {
        one.clear();
        group_key(value.as_ref(), &mut one);
        key.extend_from_slice(&(one.len() as u32).to_be_bytes());
        key.extend_from_slice(&one);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a limit only the first rows are kept, and they are the same as without.
    #[test]
    fn a_limited_sort_keeps_the_first_rows() {
        let order = [(0, true), (1, false)];
        let sort = |sorter: &mut Sorter<'_>| {
            sorter.rows.sort_by(|a, b| compare_rows(&order, a, b));
        };
        let mut all = Sorter::new(&order, None);
        let mut limited = Sorter::new(&order, Some(7));
        for number in 0..5_000i64 {
            let row = vec![Value::Int(number * 7919 % 50), Value::Int(number * 31 % 1000)];
            assert!(!all.push(row.clone()).unwrap());
            if limited.push(row).unwrap() {
                sort(&mut limited);
                limited.keep_wanted();
            }
        }
        sort(&mut all);
        sort(&mut limited);
        let (all, limited) = (all.rows, limited.rows);
        assert_eq!(all[..7], limited[..7]);
        assert!(limited.len() <= 1_014);
        assert!(all.windows(2).all(|pair| compare_rows(&order, &pair[0], &pair[1]).is_le()));
    }

    #[test]
    fn row_keys_do_not_run_together() {
        let text = |text: &str| Value::text(text, types::Collation::default());
        assert_ne!(row_key(&[text("a"), text("bc")]), row_key(&[text("ab"), text("c")]));
        assert_eq!(row_key(&[text("A")]), row_key(&[text("a")]));
        let mut seen = Seen::default();
        assert!(seen.insert(&[Value::Null]).unwrap());
        assert!(!seen.insert(&[Value::Null]).unwrap());
    }
}
