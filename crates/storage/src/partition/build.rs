//! Indexes that come and go with the table's definition, and the check of all of them.
//!
//! A new index is maintained by every write from the moment it is there; the rows of before are added in steps, in the
//! order of the primary key, all versions of a row at once. A row that changes between steps is right either way: entries
//! are added where they are missing, and removing one that is not there yet does nothing.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use types::{IndexId, Table};

use super::version::{self, PENDING, QUEUED, TOMBSTONE};
use super::{Build, BuildProgress, OrderedIndex, Partition, RowHandle, Scratch};
use crate::arena::NIL;
use crate::pool::{Admission, MemoryFull};

impl Partition {
    /// Takes a new definition of the same table: its new indexes start empty and are to be built, those it has no more
    /// give back their pages. Whoever has not heard of every definition in between may meet another index by the number of one
    /// that was dropped.
    pub fn alter(&mut self, table: Arc<Table>) {
        assert!(table.id == self.table.id);
        let mut old = std::mem::take(&mut self.indexes);
        let is_empty = self.hash.entry_count() == 0;
        for definition in &table.indexes {
            let is_same = |index: &OrderedIndex| {
                index.definition.id == definition.id && index.definition.parts == definition.parts
            };
            let place = old.iter().position(is_same);
            let index = match place {
                Some(place) => {
                    let index = old.remove(place);
                    OrderedIndex { definition: definition.clone(), ..index }
                }
                None if is_empty => OrderedIndex::empty(definition),
                None => OrderedIndex {
                    build: Build::Behind(Vec::new()),
                    ..OrderedIndex::empty(definition)
                },
            };
            self.indexes.push(index);
        }
        assert!(matches!(self.indexes[0].build, Build::Done), "the primary key stays");
        for mut index in old {
            index.tree.clear(&mut self.heap);
        }
        self.scratch = Scratch::for_indexes(self.indexes.len());
        self.layout = table.row_layout();
        self.table = table;
        self.saved = None;
    }

    /// Whether all rows are in an index.
    pub fn is_built(&self, index: IndexId) -> bool {
        matches!(self.build(index), Build::Done)
    }
    /// Whether it was said of an index that it will never have all rows.
    pub fn is_given_up(&self, index: IndexId) -> bool {
        matches!(self.build(index), Build::GivenUp)
    }
    fn build(&self, index: IndexId) -> &Build {
        &self.indexes[self.index_position(index)].build
    }

    /// Builds an index no further, and frees its memory so far. It stays until the definition is without it.
    pub fn give_up_build(&mut self, index: IndexId) {
        let position = self.index_position(index);
        let index = &mut self.indexes[position];
        assert!(!matches!(index.build, Build::Done), "there is nothing to give up");
        index.build = Build::GivenUp;
        index.tree.clear(&mut self.heap);
    }

    /// Adds up to `rows_max` more rows to an index. Refused for memory, the rows added so far stay, and a later step
    /// goes on behind them.
    pub fn build_step(
        &mut self,
        index: IndexId,
        rows_max: usize,
    ) -> Result<BuildProgress, MemoryFull> {
        let position = self.index_position(index);
        let mut rows = 0;
        while let Build::Behind(after) = &self.indexes[position].build {
            if rows == rows_max {
                return Ok(BuildProgress { done: false, rows });
            }
            let primary = &self.indexes[0].tree;
            let lower =
                if after.is_empty() { Bound::Unbounded } else { Bound::Excluded(&after[..]) };
            let Some(cursor) = primary.seek_forward(&self.heap, lower) else {
                self.indexes[position].build = Build::Done;
                break;
            };
            let row = RowHandle(primary.value_at(&self.heap, cursor));
            self.build_row(position, row)?;
            let key = self.key_of(row).into_owned();
            self.indexes[position].build = Build::Behind(key);
            rows += 1;
        }
        Ok(BuildProgress { done: self.is_built(index), rows })
    }

    fn build_row(&mut self, position: usize, row: RowHandle) -> Result<(), MemoryFull> {
        let mut key = Vec::new();
        let mut version = row.0;
        while version != NIL {
            let (header, bytes) = version::header_and_row(&self.heap, version);
            if !header.is(TOMBSTONE) {
                self.entry_key(position, &bytes, &mut key);
                let blocks = self.indexes[position].tree.blocks_per_insert(key.len());
                self.heap.arena.admit(blocks, Admission::Ordinary)?;
                self.indexes[position].tree.insert(&mut self.heap, &key, row.0);
                self.heap.arena.settle();
            }
            version = header.older;
        }
        // The index was not there when these versions compared their keys.
        version = row.0;
        while version != NIL {
            self.refresh_keys_differ(version);
            version = version::header(&self.heap, version).older;
        }
        Ok(())
    }

    /// Recomputes from the rows what every index, count and queue should hold, and compares.
    pub fn check_indexes(&self) -> Result<(), String> {
        let mut heads = Vec::new();
        self.hash.for_each(&self.heap.arena, |head| heads.push(head));
        let mut expected: Vec<BTreeMap<Vec<u8>, u32>> = vec![BTreeMap::new(); self.indexes.len()];
        let (mut live, mut pending) = (0, 0);
        let mut prunable = std::collections::BTreeSet::new();
        let mut key = Vec::new();
        for head in heads {
            let row = RowHandle(head);
            let primary_key = self.key_of(row).into_owned();
            if self.find(&primary_key) != Some(row) {
                return Err(format!("{row:?} is not found by its key"));
            }
            expected[0].insert(primary_key.clone(), head);
            let state = self.state(row);
            live += u64::from(state.newest.is_some() && !state.newest_deleted);
            pending += usize::from(state.pending.is_some());
            let queued = version::header(&self.heap, head).is(QUEUED);
            let from = self.prunable_from(row);
            if queued != from.is_some() {
                return Err(format!("{row:?}: queued {queued}, prunable from {from:?}"));
            }
            prunable.extend(from.map(|from| (from, row)));
            let mut newer = u64::MAX;
            let mut version = head;
            while version != NIL {
                let (header, bytes) = version::header_and_row(&self.heap, version);
                if !header.is(PENDING) {
                    if newer <= header.stamp {
                        return Err(format!("{row:?}: timestamps do not increase"));
                    }
                    newer = header.stamp;
                } else if version != head {
                    return Err(format!("{row:?}: pending below the head"));
                }
                if !header.is(TOMBSTONE) {
                    self.entry_key(0, &bytes, &mut key);
                    if key != primary_key {
                        return Err(format!("{row:?}: a version has another primary key"));
                    }
                    for (position, expected) in expected.iter_mut().enumerate().skip(1) {
                        self.entry_key(position, &bytes, &mut key);
                        expected.insert(key.clone(), head);
                    }
                }
                version = header.older;
            }
        }
        if live != self.live_count || pending != self.pending.row_count() {
            return Err(format!(
                "{live} live and {pending} pending rows, {} and {} counted",
                self.live_count,
                self.pending.row_count()
            ));
        }
        if prunable != self.prunable {
            return Err(format!("to be pruned {prunable:?}, queued {:?}", self.prunable));
        }
        for (index, expected) in self.indexes.iter().zip(&expected) {
            self.check_index(index, expected)?;
        }
        Ok(())
    }

    fn check_index(
        &self,
        index: &OrderedIndex,
        expected: &BTreeMap<Vec<u8>, u32>,
    ) -> Result<(), String> {
        let name = &index.definition.name;
        index.tree.check(&self.heap).map_err(|error| format!("index {name}: {error}"))?;
        let mut found = 0;
        let mut key = Vec::new();
        let mut cursor = index.tree.seek_forward(&self.heap, Bound::Unbounded);
        while let Some(at) = cursor {
            index.tree.key_at(&self.heap, at, &mut key);
            let row = index.tree.value_at(&self.heap, at);
            if expected.get(&key) != Some(&row) {
                return Err(format!(
                    "index {name}: entry {key:x?} of {:?} has no version",
                    RowHandle(row)
                ));
            }
            found += 1;
            cursor = index.tree.next(&self.heap, at);
        }
        // While it is being built entries may be missing, but none may be wrong.
        if matches!(index.build, Build::Done) && found != expected.len() {
            return Err(format!("index {name}: {found} entries, {} expected", expected.len()));
        }
        Ok(())
    }
}
