//! Range scans over an ordered index, forward and backward.
//!
//! A scan borrows its partition, walks from leaf to leaf, and allocates nothing per row. To pause, keep the last key and
//! open another with it: entries that came or went in between do not matter.

use std::cmp::Ordering;
use std::ops::Bound;

use types::{IndexId, Timestamp, TransactionId};

use super::{Direction, KeyRange, OrderedIndex, Partition, Read, RowHandle, Visible, version};
use crate::arena::NIL;
use crate::tree::Cursor;

/// Entries that a scan passes over, because its reader sees nothing there, before it says where it is.
const PASSED_OVER_MAX: usize = 32;

/// An entry of an index. Some version of the row has, or had, this key; the reader's version may have another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<'s> {
    pub key: &'s [u8],
    pub row: RowHandle,
}

/// A row of a scan, as its reader sees it.
#[derive(Debug)]
pub struct ScanItem<'s, 'a> {
    /// The entry's key: where to resume behind.
    pub key: &'s [u8],
    pub row: RowHandle,
    pub read: Read<'a>,
}

pub struct Scan<'a> {
    partition: &'a Partition,
    position: usize,
    direction: Direction,
    /// The bound the scan runs towards.
    end: Bound<Vec<u8>>,
    cursor: Option<Cursor>,
    key: Vec<u8>,
    /// The key of the visible version, to compare.
    key_visible: Vec<u8>,
}

impl Partition {
    /// The entries of an index within `range`, those behind `after` (in the scan's direction) only. The index must exist.
    pub fn scan<'a>(
        &'a self,
        index: IndexId,
        range: &KeyRange,
        direction: Direction,
        after: Option<&[u8]>,
    ) -> Scan<'a> {
        let position = self.index_position(index);
        let tree = &self.indexes[position].tree;
        let lower = range.lower.as_ref().map(Vec::as_slice);
        let upper = range.upper.as_ref().map(Vec::as_slice);
        let (cursor, end) = match direction {
            Direction::Forward => {
                let start = match (after, lower) {
                    (Some(after), Bound::Included(key) | Bound::Excluded(key)) if after < key => {
                        lower
                    }
                    (Some(after), _) => Bound::Excluded(after),
                    (None, _) => lower,
                };
                (tree.seek_forward(&self.heap, start), range.upper.clone())
            }
            Direction::Backward => {
                let start = match (after, upper) {
                    (Some(after), Bound::Included(key) | Bound::Excluded(key)) if key < after => {
                        upper
                    }
                    (Some(after), _) => Bound::Excluded(after),
                    (None, _) => upper,
                };
                (tree.seek_backward(&self.heap, start), range.lower.clone())
            }
        };
        Scan {
            partition: self,
            position,
            direction,
            end,
            cursor,
            key: Vec::new(),
            key_visible: Vec::new(),
        }
    }

    /// Whether a row has the key of the entry that led to it: false for entries of its other versions.
    pub fn entry_is_current(&self, index: IndexId, entry_key: &[u8], row: &[u8]) -> bool {
        let mut key = Vec::new();
        self.entry_key(self.index_position(index), row, &mut key);
        key == entry_key
    }
}

impl<'a> Scan<'a> {
    /// The next entry, whatever became of its row.
    pub fn next_candidate(&mut self) -> Option<Candidate<'_>> {
        let row = self.advance()?;
        Some(Candidate { key: &self.key, row })
    }

    /// The next entry whose row the reader sees under this key. Rows that are not there, or not there under this key,
    /// come as `Absent` when an active version was passed over to find that out; undecided ones always come. So does one in many
    /// of those that are not there: who scans can count them, and rest.
    pub fn next_visible(
        &mut self,
        at: Timestamp,
        reader: Option<TransactionId>,
    ) -> Option<ScanItem<'_, 'a>> {
        let partition = self.partition;
        let mut passed_over = 0;
        let (row, read) = loop {
            let row = self.advance()?;
            let mut read = partition.read(row, at, reader);
            if let Visible::Row(bytes) = &read.visible {
                // A single version's entries are its own; the primary key is that of all versions.
                let is_current =
                    self.position == 0 || version::header(&partition.heap, row.0).older == NIL || {
                        partition.entry_key(self.position, bytes, &mut self.key_visible);
                        self.key_visible == self.key
                    };
                if !is_current {
                    read.visible = Visible::Absent;
                }
            }
            passed_over += 1;
            if read.visible != Visible::Absent
                || read.passed.is_some()
                || passed_over == PASSED_OVER_MAX
            {
                break (row, read);
            }
        };
        Some(ScanItem { key: &self.key, row, read })
    }

    /// Has the processor fetch the rows of the next `count` entries.
    pub fn prefetch_next(&self, count: usize) {
        let heap = &self.partition.heap;
        let tree = &self.partition.indexes[self.position].tree;
        let cursors = std::iter::successors(self.cursor, |cursor| self.following(*cursor));
        cursors.take(count).for_each(|cursor| heap.prefetch(tree.value_at(heap, cursor)));
    }

    /// The entry behind another, in the scan's direction.
    fn following(&self, cursor: Cursor) -> Option<Cursor> {
        let heap = &self.partition.heap;
        let tree = &self.partition.indexes[self.position].tree;
        match self.direction {
            Direction::Forward => tree.next(heap, cursor),
            Direction::Backward => tree.previous(heap, cursor),
        }
    }

    /// Moves to the next entry: its key into `key`.
    fn advance(&mut self) -> Option<RowHandle> {
        let cursor = self.cursor.take()?;
        let heap = &self.partition.heap;
        let OrderedIndex { tree, .. } = &self.partition.indexes[self.position];
        tree.key_at(heap, cursor, &mut self.key);
        let within = match (&self.end, self.direction) {
            (Bound::Unbounded, _) => true,
            (Bound::Included(end) | Bound::Excluded(end), direction) => {
                let ordering = match direction {
                    Direction::Forward => self.key.cmp(end),
                    Direction::Backward => end.cmp(&self.key),
                };
                ordering == Ordering::Less
                    || (ordering == Ordering::Equal && matches!(self.end, Bound::Included(_)))
            }
        };
        if !within {
            return None;
        }
        self.cursor = self.following(cursor);
        Some(RowHandle(tree.value_at(heap, cursor)))
    }
}
