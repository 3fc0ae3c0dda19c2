//! Rows kept by the session: sorted, made distinct, cut. In memory, with a bound.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use types::Value;
use types::convert::{group_key, sort_compare};

use super::{STATEMENT_MEMORY_MAX, value_size};
use crate::SqlError;

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
    pub fn push(&mut self, row: Vec<Value>) -> Result<(), SqlError> {
        self.size += row.iter().map(value_size).sum::<usize>() + size_of::<Vec<Value>>();
        self.rows.push(row);
        // Sorting twice what is wanted, now and then, costs the same as a heap and is simpler.
        if let Some(wanted) = self.wanted
            && wanted.saturating_mul(2).saturating_add(1_000) < self.rows.len()
        {
            self.sort();
            self.rows.truncate(wanted);
            self.size = self.rows.iter().flatten().map(value_size).sum();
        }
        if STATEMENT_MEMORY_MAX < self.size {
            return Err(SqlError::out_of_sort_memory());
        }
        Ok(())
    }
    fn sort(&mut self) {
        let order = self.order;
        self.rows.sort_by(|a, b| compare_rows(order, a, b));
    }
    pub fn finish(mut self) -> Vec<Vec<Value>> {
        self.sort();
        self.rows
    }
}

fn compare_rows(order: &[(usize, bool)], left: &[Value], right: &[Value]) -> Ordering {
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
        let mut all = Sorter::new(&order, None);
        let mut limited = Sorter::new(&order, Some(7));
        for number in 0..5_000i64 {
            let row = vec![Value::Int(number * 7919 % 50), Value::Int(number * 31 % 1000)];
            all.push(row.clone()).unwrap();
            limited.push(row).unwrap();
        }
        let (all, limited) = (all.finish(), limited.finish());
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
