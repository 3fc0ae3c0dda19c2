//! Rows on their way from tables to a result.
//!
//! A [`Batch`] has rows of one or more relations. It holds no values: for each relation it refers to rows that were read
//! ([`RowStore`]), by number. So a join makes numbers, and a value is decoded where an expression asks for it.

use std::rc::Rc;

use client::RowBatch;
use types::expr::Columns;
use types::hash::hash64;
use types::{RowView, Value, ValueRef};

use super::row_size;
use crate::plan::{JoinedSource, RelationRows};

/// The row of a relation that has none: all its columns are NULL.
pub const NO_ROW: u32 = u32::MAX;

/// Rows of one relation.
#[derive(Debug)]
pub enum RowStore {
    /// Encoded, as the table's shards send them.
    Stored(RowBatch),
    Values(Vec<Vec<Value>>),
}

impl RowStore {
    pub fn len(&self) -> usize {
        match self {
            RowStore::Stored(rows) => rows.len(),
            RowStore::Values(rows) => rows.len(),
        }
    }
    /// The bytes of a row.
    fn row_size(&self, row: usize) -> usize {
        match self {
            RowStore::Stored(rows) => rows.row(row).len(),
            RowStore::Values(rows) => row_size(&rows[row]),
        }
    }
}

/// The rows of one relation in a batch.
#[derive(Clone, Debug)]
struct Part {
    rows: Rc<RowStore>,
    /// By row of the batch: the row of the store, or [`NO_ROW`].
    numbers: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
pub struct Batch {
    len: usize,
    /// By relation.
    parts: Vec<Option<Part>>,
}

impl Batch {
    /// All rows of a relation.
    pub fn of(relation: u16, relation_count: usize, rows: Rc<RowStore>) -> Batch {
        let len = rows.len();
        Batch::of_some(relation, relation_count, rows, 0..len)
    }
    pub fn of_some(
        relation: u16,
        relation_count: usize,
        rows: Rc<RowStore>,
        some: std::ops::Range<usize>,
    ) -> Batch {
        let number = |row: usize| u32::try_from(row).expect("rows are bounded by memory");
        let mut parts = vec![None; relation_count];
        let len = some.len();
        parts[usize::from(relation)] = Some(Part { rows, numbers: some.map(number).collect() });
        Batch { len, parts }
    }
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    fn has(&self, relation: u16) -> bool {
        self.parts.get(usize::from(relation)).is_some_and(Option::is_some)
    }
    /// The bytes of a table's row; None where the relation has no row.
    pub fn stored_row(&self, relation: u16, row: usize) -> Option<&[u8]> {
        let part = self.parts.get(usize::from(relation))?.as_ref()?;
        let number = part.numbers[row];
        match &*part.rows {
            RowStore::Stored(rows) if number != NO_ROW => Some(rows.row(number as usize)),
            _ => None,
        }
    }
    /// The rows of these numbers, in this order.
    pub fn pick(&self, rows: &[u32]) -> Batch {
        let pick = |part: &Part| Part {
            rows: Rc::clone(&part.rows),
            numbers: rows
                .iter()
                .map(|row| if *row == NO_ROW { NO_ROW } else { part.numbers[*row as usize] })
                .collect(),
        };
        let parts = self.parts.iter().map(|part| part.as_ref().map(pick)).collect();
        Batch { len: rows.len(), parts }
    }
    /// Rows of two batches side by side: pairs of row numbers, the second of which may be [`NO_ROW`].
    pub fn paired(left: &Batch, right: &Batch, pairs: &[(u32, u32)]) -> Batch {
        let lefts: Vec<u32> = pairs.iter().map(|(left, _)| *left).collect();
        let rights: Vec<u32> = pairs.iter().map(|(_, right)| *right).collect();
        let mut batch = left.pick(&lefts);
        let own = right.pick(&rights);
        for (part, own) in batch.parts.iter_mut().zip(own.parts) {
            if own.is_some() {
                *part = own;
            }
        }
        batch
    }
    /// Copies the rows of another batch behind those of this one; the bytes that they take here.
    pub fn append(&mut self, other: &Batch, source: &JoinedSource) -> usize {
        if self.parts.is_empty() {
            self.parts = vec![None; other.parts.len()];
        }
        let mut bytes = 0;
        for (relation, theirs) in other.parts.iter().enumerate() {
            // A relation that had no rows before, or has none now, has NULLs there.
            if theirs.is_none() && self.parts[relation].is_none() {
                continue;
            }
            let own = self.parts[relation].get_or_insert_with(|| Part {
                rows: Rc::new(empty_store(&source.relations[relation])),
                numbers: vec![NO_ROW; self.len],
            });
            let Some(theirs) = theirs else {
                own.numbers.resize(self.len + other.len, NO_ROW);
                continue;
            };
            let store = Rc::get_mut(&mut own.rows).expect("nobody refers to what still grows");
            for &row in &theirs.numbers {
                bytes += size_of::<u32>();
                if row == NO_ROW {
                    own.numbers.push(NO_ROW);
                    continue;
                }
                let number = u32::try_from(store.len()).expect("rows are bounded by memory");
                own.numbers.push(number);
                bytes += theirs.rows.row_size(row as usize) + size_of::<u32>();
                match (&mut *store, &*theirs.rows) {
                    (RowStore::Stored(own), RowStore::Stored(rows)) => {
                        own.push(rows.row(row as usize), None);
                    }
                    (RowStore::Values(own), RowStore::Values(rows)) => {
                        own.push(rows[row as usize].clone());
                    }
                    _ => unreachable!("a relation's rows have one form"),
                }
            }
        }
        self.len += other.len;
        bytes
    }

    /// A row by itself: for each relation that has a row, a mark and the row. [`Batch::push_packed`] makes it again.
    pub fn packed(&self, row: usize) -> Vec<Value> {
        let mut packed = Vec::new();
        for (relation, part) in self.parts.iter().enumerate() {
            let Some(part) = part else { continue };
            let number = part.numbers[row];
            if number == NO_ROW {
                continue;
            }
            match &*part.rows {
                RowStore::Stored(rows) => {
                    packed.push(Value::UInt(relation as u64));
                    packed.push(Value::Bytes(rows.row(number as usize).into()));
                }
                RowStore::Values(rows) => {
                    let values = &rows[number as usize];
                    packed.push(Value::UInt(relation as u64));
                    packed.push(Value::UInt(values.len() as u64));
                    packed.extend_from_slice(values);
                }
            }
        }
        packed
    }
    /// Adds a row that was packed; the bytes that it takes here.
    pub fn push_packed(&mut self, packed: Vec<Value>, source: &JoinedSource) -> usize {
        self.parts.resize(source.relations.len(), None);
        let mut bytes = source.relations.len() * size_of::<u32>();
        let mut values = packed.into_iter();
        while let Some(mark) = values.next() {
            let relation = as_count(&mark);
            let own = self.parts[relation].get_or_insert_with(|| Part {
                rows: Rc::new(empty_store(&source.relations[relation])),
                numbers: Vec::new(),
            });
            own.numbers.resize(self.len, NO_ROW);
            let store = Rc::get_mut(&mut own.rows).expect("nobody refers to what still grows");
            own.numbers.push(u32::try_from(store.len()).expect("rows are bounded by memory"));
            match (store, values.next()) {
                (RowStore::Stored(rows), Some(Value::Bytes(row))) => {
                    rows.push(&row, None);
                    bytes += row.len() + size_of::<u32>();
                }
                (RowStore::Values(rows), Some(count)) => {
                    let row: Vec<Value> = values.by_ref().take(as_count(&count)).collect();
                    bytes += row_size(&row);
                    rows.push(row);
                }
                _ => unreachable!("a relation's rows have one form"),
            }
        }
        self.len += 1;
        // Relations that have no row of their own here.
        for part in self.parts.iter_mut().flatten() {
            part.numbers.resize(self.len, NO_ROW);
        }
        bytes
    }
}

fn as_count(value: &Value) -> usize {
    match value {
        Value::UInt(count) => *count as usize,
        _ => unreachable!("a packed row has numbers there"),
    }
}

fn empty_store(form: &RelationRows) -> RowStore {
    match form {
        RelationRows::Stored { .. } => RowStore::Stored(RowBatch::default()),
        RelationRows::Values => RowStore::Values(Vec::new()),
    }
}

/// A row of a batch, or of two side by side. Columns are those of the query, by their numbers.
#[derive(Clone, Copy)]
pub struct JoinedRow<'a> {
    source: &'a JoinedSource,
    left: (&'a Batch, usize),
    right: Option<(&'a Batch, usize)>,
}

impl<'a> JoinedRow<'a> {
    pub fn new(source: &'a JoinedSource, batch: &'a Batch, row: usize) -> JoinedRow<'a> {
        JoinedRow { source, left: (batch, row), right: None }
    }
    pub fn pair(self, right: &'a Batch, row: usize) -> JoinedRow<'a> {
        JoinedRow { right: Some((right, row)), ..self }
    }
}

impl Columns for JoinedRow<'_> {
    fn column(&self, index: usize) -> ValueRef<'_> {
        let place = self.source.columns[index];
        let relation = usize::from(place.relation);
        let (batch, row) = match self.right {
            Some(right) if right.0.has(place.relation) => right,
            _ => self.left,
        };
        // A side that has no rows has no form either.
        let Some(part) = batch.parts.get(relation).and_then(Option::as_ref) else {
            return ValueRef::Null;
        };
        let number = part.numbers[row];
        if number == NO_ROW {
            return ValueRef::Null;
        }
        match (&*part.rows, &self.source.relations[relation]) {
            (RowStore::Values(rows), _) => {
                rows[number as usize][usize::from(place.position)].as_ref()
            }
            (RowStore::Stored(rows), RelationRows::Stored { layout }) => {
                RowView::new(layout, rows.row(number as usize)).get(usize::from(place.position))
            }
            (RowStore::Stored(_), RelationRows::Values) => {
                unreachable!("a relation's rows have one form")
            }
        }
    }
}

/// Numbers of rows by their keys. Rows of equal keys come in the order of their numbers.
#[derive(Default)]
pub struct KeyTable {
    keys: Vec<u8>,
    /// By row: where its key ends, and its hash. A row without a key has an empty one.
    ends: Vec<usize>,
    hashes: Vec<u64>,
    /// By low bits of the hash: the first row.
    heads: Vec<u32>,
    /// By row: the next one with these bits.
    next: Vec<u32>,
}

impl KeyTable {
    /// The next row has this key; None: no key equals it.
    pub fn push(&mut self, key: Option<&[u8]>) {
        self.keys.extend_from_slice(key.unwrap_or_default());
        self.ends.push(self.keys.len());
        self.hashes.push(key.map_or(0, hash64));
    }
    /// Adds a key that is not there, and is not empty; its number.
    pub fn insert(&mut self, key: &[u8]) -> usize {
        let row = self.ends.len();
        self.push(Some(key));
        if self.heads.len() <= self.ends.len() {
            self.finish();
            return row;
        }
        let head = self.hashes[row] as usize & (self.heads.len() - 1);
        self.next.push(self.heads[head]);
        self.heads[head] = u32::try_from(row).expect("rows are bounded by memory");
        row
    }
    /// The number of a key.
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        let row = self.first(key);
        (row != NO_ROW).then_some(row as usize)
    }
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Makes the table ready for [`KeyTable::first`].
    pub fn finish(&mut self) {
        let count = self.ends.len();
        self.heads = vec![NO_ROW; (count + count / 2).next_power_of_two().max(2)];
        self.next.clear();
        self.next.resize(count, NO_ROW);
        for row in (0..count).rev() {
            if !self.key(row).is_empty() {
                let head = self.hashes[row] as usize & (self.heads.len() - 1);
                self.next[row] = self.heads[head];
                self.heads[head] = u32::try_from(row).expect("rows are bounded by memory");
            }
        }
    }
    pub fn key(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start..self.ends[row]]
    }
    /// The first row of a key, or [`NO_ROW`].
    pub fn first(&self, key: &[u8]) -> u32 {
        if self.heads.is_empty() {
            return NO_ROW;
        }
        let hash = hash64(key);
        self.matching(self.heads[hash as usize & (self.heads.len() - 1)], key, hash)
    }
    /// The row of the same key behind this one, or [`NO_ROW`].
    pub fn next(&self, row: u32) -> u32 {
        self.matching(self.next[row as usize], self.key(row as usize), self.hashes[row as usize])
    }
    fn matching(&self, mut row: u32, key: &[u8], hash: u64) -> u32 {
        while row != NO_ROW {
            if self.hashes[row as usize] == hash && self.key(row as usize) == key {
                break;
            }
            row = self.next[row as usize];
        }
        row
    }
    pub fn size(&self) -> usize {
        let numbers = self.heads.len() + self.next.len();
        self.keys.len() + self.ends.len() * 2 * size_of::<u64>() + numbers * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_key_come_in_order() {
        let mut table = KeyTable::default();
        let keys: Vec<String> = (0..1_000).map(|row| format!("key {}", row % 37)).collect();
        for (row, key) in keys.iter().enumerate() {
            table.push((row % 5 != 0).then_some(key.as_bytes()));
        }
        table.finish();
        for (number, key) in keys[..37].iter().enumerate() {
            let mut found = Vec::new();
            let mut row = table.first(key.as_bytes());
            while row != NO_ROW {
                found.push(row as usize);
                row = table.next(row);
            }
            let expected: Vec<usize> =
                (0..1_000).filter(|row| row % 37 == number && row % 5 != 0).collect();
            assert_eq!(found, expected);
        }
        assert_eq!(table.first(b"other"), NO_ROW);
        // The same as a set, which grows.
        let mut set = KeyTable::default();
        for (row, key) in keys.iter().enumerate() {
            assert_eq!(set.find(key.as_bytes()), (37 <= row).then_some(row % 37));
            if row < 37 {
                assert_eq!(set.insert(key.as_bytes()), row);
            }
        }
        assert_eq!(set.len(), 37);
        let mut empty = KeyTable::default();
        empty.finish();
        assert_eq!(empty.first(b"key"), NO_ROW);
    }
}
