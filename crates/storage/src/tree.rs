//! The ordered index: a B+tree of byte strings, each with a `u32`, in 4 KiB blocks ([`node`]).
//!
//! What the keys of a node have in common is kept once: index keys that end in a primary key share most of their bytes
//! with their neighbours. The prefix is chosen whenever a node is rewritten. A key that does not share it can only belong at one end
//! of the node; then the node is rewritten with a shorter prefix, or split at that end.
//!
//! Separators are cut to the bytes that tell two leaves apart. Keys over [`INLINE_MAX`] bytes keep [`LONG_HEAD`] bytes in
//! the node and the rest in a heap chain, so that six entries always fit in a node.
//!
//! Cursors are positions and live only as long as the tree is not changed; a scan that pauses remembers its last key.

mod node;
mod sample;

use std::ops::Bound;

use crate::arena::{BLOCK_SIZE, Block, NIL, read_u16, read_u32, write_u32};
use crate::heap::Heap;
use node::*;

/// Two neighbours are merged when one is below the first and both together are below the second.
const SPARSE: usize = BLOCK_SIZE / 4;
const MERGED_MAX: usize = BLOCK_SIZE * 7 / 8;

/// Levels: every inner node but those at the edges splits off with two children or more, and 2^32 nodes cannot exist.
const DEPTH_MAX: usize = 32;

pub(crate) struct Tree {
    root: u32,
    height: usize,
    entry_count: u64,
    /// Insertions and removals since it was made.
    changes: u64,
}

/// Where an entry is. Good until the tree changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    leaf: u32,
    index: usize,
}

/// The inner nodes from the root down, each with the child that was taken (0 is the leftmost).
struct Path {
    nodes: [(u32, u16); DEPTH_MAX],
    depth: usize,
}

impl Path {
    fn new() -> Path {
        Path { nodes: [(NIL, 0); DEPTH_MAX], depth: 0 }
    }
    fn push(&mut self, node: u32, child: usize) {
        self.nodes[self.depth] = (node, child as u16);
        self.depth += 1;
    }
    fn pop(&mut self) -> Option<(u32, usize)> {
        self.depth = self.depth.checked_sub(1)?;
        let (node, child) = self.nodes[self.depth];
        Some((node, usize::from(child)))
    }
}

impl Tree {
    pub fn new() -> Tree {
        Tree { root: NIL, height: 0, entry_count: 0, changes: 0 }
    }
    /// Insertions and removals so far.
    pub fn changes(&self) -> u64 {
        self.changes
    }
    pub fn entry_count(&self) -> u64 {
        self.entry_count
    }
    /// The most blocks an insertion of a key of this length can take: a split on every level, a root, and the key's
    /// chain twice (its own, and as a separator).
    pub fn blocks_per_insert(&self, key_length: usize) -> usize {
        let chains = if key_length <= INLINE_MAX { 0 } else { 2 * Heap::blocks_needed(key_length) };
        self.height + 2 + chains
    }

    #[cfg(test)]
    pub fn get(&self, heap: &Heap, key: &[u8]) -> Option<u32> {
        let leaf = self.leaf_of(heap, key)?;
        let node = heap.arena.block(leaf);
        let index = search(heap, node, key).ok()?;
        Some(value_of(node, index))
    }

    /// Adds a key; false when it is there, with that value, already.
    pub fn insert(&mut self, heap: &mut Heap, key: &[u8], value: u32) -> bool {
        match self.insert_new(heap, key, value) {
            Ok(()) => true,
            Err(found) => {
                assert!(found == value, "one key, two rows");
                false
            }
        }
    }
    /// Adds a key, or returns the value that it has.
    pub fn insert_new(&mut self, heap: &mut Heap, key: &[u8], value: u32) -> Result<(), u32> {
        self.plant(heap);
        let mut path = Path::new();
        let leaf = self.descend(heap, key, &mut path);
        let node = heap.arena.block(leaf);
        let index = match search(heap, node, key) {
            Ok(index) => return Err(value_of(node, index)),
            Err(index) => index,
        };
        let chain = store_chain(heap, key);
        let inline = if chain.is_some() { &key[..LONG_HEAD] } else { key };
        self.insert_at(heap, &mut path, leaf, index, Entry { inline, value, chain });
        self.entry_count += 1;
        self.changes += 1;
        Ok(())
    }

    /// Begins to add keys behind all others. Until [`Tree::end_appending`] nothing else is done with the tree.
    pub fn begin_appending(&mut self, heap: &mut Heap) -> Appending {
        self.plant(heap);
        let mut appending = Appending::default();
        appending.take_leaf(heap, self.last_leaf(heap, &mut Path::new()));
        appending
    }
    /// Adds a key behind all others. A leaf is written when it is full, so that takes less than to insert them one by one.
    pub fn append(&mut self, heap: &mut Heap, appending: &mut Appending, key: &[u8], value: u32) {
        let chain = store_chain(heap, key);
        let inline = if chain.is_some() { &key[..LONG_HEAD] } else { key };
        appending.push(Entry { inline, value, chain });
        self.entry_count += 1;
        self.changes += 1;
        if appending.size() <= BLOCK_SIZE {
            return;
        }
        let mut path = Path::new();
        let leaf = self.last_leaf(heap, &mut path);
        let links = (NIL, read_u32(heap.arena.block(leaf), PREVIOUS));
        let last = appending.items.list.len() - 1;
        self.split_leaf(heap, &mut path, leaf, links, last, &appending.items);
        appending.take_leaf(heap, read_u32(heap.arena.block(leaf), NEXT));
    }
    pub fn end_appending(&mut self, heap: &mut Heap, appending: &Appending) {
        let Appending { leaf, items, .. } = appending;
        let links = (NIL, read_u32(heap.arena.block(*leaf), PREVIOUS));
        write_node(heap, *leaf, LEAF, links, items, 0..items.list.len());
    }
    fn last_leaf(&self, heap: &Heap, path: &mut Path) -> u32 {
        let mut node_id = self.root;
        loop {
            let node = heap.arena.block(node_id);
            if node[KIND] == LEAF {
                return node_id;
            }
            let count = count_of(node);
            path.push(node_id, count);
            node_id = child_of(node, count);
        }
    }
    /// Makes the root, if there is none.
    fn plant(&mut self, heap: &mut Heap) {
        if self.root == NIL {
            self.root = heap.arena.allocate();
            self.height = 1;
            write_node(heap, self.root, LEAF, (NIL, NIL), &Items::default(), 0..0);
        }
    }

    /// Removes a key; false when it is not there.
    pub fn remove(&mut self, heap: &mut Heap, key: &[u8]) -> bool {
        if self.root == NIL {
            return false;
        }
        let mut path = Path::new();
        let leaf = self.descend(heap, key, &mut path);
        let Ok(index) = search(heap, heap.arena.block(leaf), key) else { return false };
        if let Some((first, _)) = entry_of(heap.arena.block(leaf), index).chain {
            heap.free_chain(first);
        }
        remove_entry(heap.arena.block_mut(leaf), index);
        self.entry_count -= 1;
        self.changes += 1;
        self.fix_sparse(heap, &mut path, leaf);
        true
    }

    /// Drops everything; every block is free afterwards.
    pub fn clear(&mut self, heap: &mut Heap) {
        let mut nodes = Vec::new();
        if self.root != NIL {
            nodes.push(self.root);
        }
        while let Some(node_id) = nodes.pop() {
            let node = heap.arena.block(node_id);
            let count = count_of(node);
            if node[KIND] == INNER {
                nodes.extend((0..=count).map(|child| child_of(node, child)));
            }
            let chains: Vec<u32> = (0..count)
                .filter_map(|index| entry_of(node, index).chain.map(|(first, _)| first))
                .collect();
            for first in chains {
                heap.free_chain(first);
            }
            heap.arena.free(node_id);
        }
        *self = Tree { changes: self.changes + 1, ..Tree::new() };
    }

    /// The first entry at or above the bound.
    pub fn seek_forward(&self, heap: &Heap, lower: Bound<&[u8]>) -> Option<Cursor> {
        let cursor = match lower {
            Bound::Unbounded => Cursor { leaf: self.edge_leaf(heap, false)?, index: 0 },
            Bound::Included(key) | Bound::Excluded(key) => {
                let leaf = self.leaf_of(heap, key)?;
                let index = match search(heap, heap.arena.block(leaf), key) {
                    Ok(index) if matches!(lower, Bound::Excluded(_)) => index + 1,
                    Ok(index) | Err(index) => index,
                };
                Cursor { leaf, index }
            }
        };
        self.settle_forward(heap, cursor)
    }
    /// The last entry at or below the bound.
    pub fn seek_backward(&self, heap: &Heap, upper: Bound<&[u8]>) -> Option<Cursor> {
        let (leaf, above) = match upper {
            Bound::Unbounded => {
                let leaf = self.edge_leaf(heap, true)?;
                (leaf, count_of(heap.arena.block(leaf)))
            }
            Bound::Included(key) | Bound::Excluded(key) => {
                let leaf = self.leaf_of(heap, key)?;
                let above = match search(heap, heap.arena.block(leaf), key) {
                    Ok(index) if matches!(upper, Bound::Included(_)) => index + 1,
                    Ok(index) | Err(index) => index,
                };
                (leaf, above)
            }
        };
        self.settle_backward(heap, leaf, above)
    }
    pub fn next(&self, heap: &Heap, cursor: Cursor) -> Option<Cursor> {
        self.settle_forward(heap, Cursor { leaf: cursor.leaf, index: cursor.index + 1 })
    }
    pub fn previous(&self, heap: &Heap, cursor: Cursor) -> Option<Cursor> {
        self.settle_backward(heap, cursor.leaf, cursor.index)
    }
    pub fn value_at(&self, heap: &Heap, cursor: Cursor) -> u32 {
        value_of(heap.arena.block(cursor.leaf), cursor.index)
    }
    /// The entry's key, in place of what `key` holds.
    pub fn key_at(&self, heap: &Heap, cursor: Cursor, key: &mut Vec<u8>) {
        let node = heap.arena.block(cursor.leaf);
        let entry = entry_of(node, cursor.index);
        key.clear();
        key.extend_from_slice(prefix_of(node));
        key.extend_from_slice(entry.inline);
        if let Some((first, _)) = entry.chain {
            key.extend_from_slice(&heap.chain(first, 0));
        }
    }

    fn settle_forward(&self, heap: &Heap, cursor: Cursor) -> Option<Cursor> {
        let node = heap.arena.block(cursor.leaf);
        if cursor.index < count_of(node) {
            return Some(cursor);
        }
        // No leaf is empty.
        let next = read_u32(node, NEXT);
        (next != NIL).then_some(Cursor { leaf: next, index: 0 })
    }
    /// The entry before position `above` of a leaf.
    fn settle_backward(&self, heap: &Heap, leaf: u32, above: usize) -> Option<Cursor> {
        if 0 < above {
            return Some(Cursor { leaf, index: above - 1 });
        }
        let previous = read_u32(heap.arena.block(leaf), PREVIOUS);
        (previous != NIL)
            .then(|| Cursor { leaf: previous, index: count_of(heap.arena.block(previous)) - 1 })
    }
    fn edge_leaf(&self, heap: &Heap, last: bool) -> Option<u32> {
        if self.root == NIL {
            return None;
        }
        let mut node_id = self.root;
        loop {
            let node = heap.arena.block(node_id);
            if node[KIND] == LEAF {
                return Some(node_id);
            }
            node_id = child_of(node, if last { count_of(node) } else { 0 });
        }
    }
    #[inline]
    fn leaf_of(&self, heap: &Heap, key: &[u8]) -> Option<u32> {
        if self.root == NIL {
            return None;
        }
        let mut node_id = self.root;
        loop {
            let node = heap.arena.block(node_id);
            if node[KIND] == LEAF {
                return Some(node_id);
            }
            node_id = child_of(node, child_for(heap, node, key));
        }
    }
    fn descend(&self, heap: &Heap, key: &[u8], path: &mut Path) -> u32 {
        let mut node_id = self.root;
        loop {
            let node = heap.arena.block(node_id);
            if node[KIND] == LEAF {
                return node_id;
            }
            let child = child_for(heap, node, key);
            path.push(node_id, child);
            node_id = child_of(node, child);
        }
    }

    fn insert_at(
        &mut self,
        heap: &mut Heap,
        path: &mut Path,
        node_id: u32,
        index: usize,
        entry: Entry<'_>,
    ) {
        let node = heap.arena.block_mut(node_id);
        let prefix_length = usize::from(read_u16(node, PREFIX_LENGTH));
        if count_of(node) != 0 && entry.inline.starts_with(prefix_of(node)) {
            let suffix = Entry { inline: &entry.inline[prefix_length..], ..entry };
            if suffix.size() <= usize::from(read_u16(node, FREE)) {
                insert_entry(node, index, suffix);
                return;
            }
        }
        let mut items = Items::default();
        items.take_node(node);
        items.insert(index, entry);
        let count = items.list.len();
        let kind = node[KIND];
        let links = (read_u32(node, NEXT), read_u32(node, PREVIOUS));
        if items.size(0..count) <= BLOCK_SIZE {
            write_node(heap, node_id, kind, links, &items, 0..count);
        } else if kind == LEAF {
            self.split_leaf(heap, path, node_id, links, index, &items);
        } else {
            self.split_inner(heap, path, node_id, links, index, &items);
        }
    }

    fn split_leaf(
        &mut self,
        heap: &mut Heap,
        path: &mut Path,
        left: u32,
        (next, previous): (u32, u32),
        inserted: usize,
        items: &Items,
    ) {
        let count = items.list.len();
        // Keys that come in order leave full nodes behind.
        let mut cut = if inserted == count - 1 && next == NIL {
            count - 1
        } else if inserted == 0 && previous == NIL {
            1
        } else {
            items.middle()
        };
        if BLOCK_SIZE < items.size(0..cut) || BLOCK_SIZE < items.size(cut..count) {
            // The new key shares no prefix with the others, so it is at one end; alone it fits.
            cut = if inserted == 0 { 1 } else { count - 1 };
        }
        let right = heap.arena.allocate();
        write_node(heap, left, LEAF, (right, previous), items, 0..cut);
        write_node(heap, right, LEAF, (next, left), items, cut..count);
        if next != NIL {
            write_u32(heap.arena.block_mut(next), PREVIOUS, right);
        }
        let (before, after) = (items.entry(cut - 1), items.entry(cut));
        let common = common_length(before.inline, after.inline);
        let cut_by_chain = before.chain.is_some() && common == before.inline.len();
        if common < after.inline.len() && !cut_by_chain {
            let inline = &after.inline[..common + 1];
            let separator = Entry { inline, value: right, chain: None };
            return self.insert_child(heap, path, left, separator);
        }
        // They differ behind what the node holds of them: the separator is the whole key.
        let mut key = after.inline.to_vec();
        if let Some((first, _)) = after.chain {
            key.extend_from_slice(&heap.chain(first, 0));
        }
        let chain = store_chain(heap, &key);
        let inline = if chain.is_some() { &key[..LONG_HEAD] } else { &key[..] };
        self.insert_child(heap, path, left, Entry { inline, value: right, chain });
    }

    fn split_inner(
        &mut self,
        heap: &mut Heap,
        path: &mut Path,
        left: u32,
        (leftmost, _): (u32, u32),
        inserted: usize,
        items: &Items,
    ) {
        let count = items.list.len();
        assert!(4 <= count);
        let fits = |middle: usize| {
            items.size(0..middle) <= BLOCK_SIZE && items.size(middle + 1..count) <= BLOCK_SIZE
        };
        let mut middle = if inserted == count - 1 { count - 2 } else { items.middle() };
        middle = middle.clamp(1, count - 2);
        if !fits(middle) {
            middle = if inserted == 0 { 1 } else { count - 2 };
        }
        assert!(fits(middle));
        let right = heap.arena.allocate();
        let up = items.entry(middle);
        write_node(heap, left, INNER, (leftmost, NIL), items, 0..middle);
        write_node(heap, right, INNER, (up.value, NIL), items, middle + 1..count);
        self.insert_child(heap, path, left, Entry { value: right, ..up });
    }

    /// Puts a new node's separator into the parent of `left`, its left neighbour.
    fn insert_child(&mut self, heap: &mut Heap, path: &mut Path, left: u32, separator: Entry<'_>) {
        match path.pop() {
            Some((parent, child)) => self.insert_at(heap, path, parent, child, separator),
            None => {
                assert!(self.root == left);
                self.root = heap.arena.allocate();
                self.height += 1;
                let mut items = Items::default();
                items.insert(0, separator);
                write_node(heap, self.root, INNER, (left, NIL), &items, 0..1);
            }
        }
    }

    /// After a removal from `node_id`: drops it when it is empty, merges it when it is sparse, and so on upwards.
    fn fix_sparse(&mut self, heap: &mut Heap, path: &mut Path, node_id: u32) {
        let node = heap.arena.block(node_id);
        let count = count_of(node);
        let parent = path.pop();
        if node[KIND] == LEAF && count == 0 {
            let (next, previous) = (read_u32(node, NEXT), read_u32(node, PREVIOUS));
            if next != NIL {
                write_u32(heap.arena.block_mut(next), PREVIOUS, previous);
            }
            if previous != NIL {
                write_u32(heap.arena.block_mut(previous), NEXT, next);
            }
            heap.arena.free(node_id);
            match parent {
                Some((parent, child)) => self.remove_child(heap, path, parent, child),
                None => *self = Tree { changes: self.changes, ..Tree::new() },
            }
            return;
        }
        let Some((parent, child)) = parent else {
            if node[KIND] == INNER && count == 0 {
                self.root = read_u32(node, NEXT);
                self.height -= 1;
                heap.arena.free(node_id);
            }
            return;
        };
        let used = BLOCK_SIZE - usize::from(read_u16(node, FREE));
        if SPARSE <= used && (node[KIND] == LEAF || count != 0) {
            return;
        }
        let parent_count = count_of(heap.arena.block(parent));
        let merged = (child < parent_count && self.merge(heap, parent, child))
            || (0 < child && self.merge(heap, parent, child - 1));
        if merged {
            self.fix_sparse(heap, path, parent);
        }
    }

    /// Removes a child that is gone from its parent.
    fn remove_child(&mut self, heap: &mut Heap, path: &mut Path, parent: u32, child: usize) {
        let node = heap.arena.block_mut(parent);
        if count_of(node) == 0 {
            // It was the only child.
            heap.arena.free(parent);
            return match path.pop() {
                Some((grandparent, child)) => self.remove_child(heap, path, grandparent, child),
                None => *self = Tree { changes: self.changes, ..Tree::new() },
            };
        }
        if child == 0 {
            let leftmost = value_of(node, 0);
            write_u32(node, NEXT, leftmost);
        }
        let separator = child.saturating_sub(1);
        if let Some((first, _)) = entry_of(node, separator).chain {
            heap.free_chain(first);
        }
        remove_entry(heap.arena.block_mut(parent), separator);
        self.fix_sparse(heap, path, parent);
    }

    /// Merges the children left and right of a separator, if they fit into one node.
    fn merge(&mut self, heap: &mut Heap, parent: u32, separator: usize) -> bool {
        let node = heap.arena.block(parent);
        let (left, right) = (child_of(node, separator), child_of(node, separator + 1));
        let (left_node, right_node) = (heap.arena.block(left), heap.arena.block(right));
        let used = |node: &Block| BLOCK_SIZE - usize::from(read_u16(node, FREE));
        if MERGED_MAX < used(left_node) + used(right_node) {
            return false;
        }
        let kind = left_node[KIND];
        assert!(right_node[KIND] == kind);
        let mut items = Items::default();
        items.take_node(left_node);
        let entry = entry_of(node, separator);
        if kind == INNER {
            let inline = [prefix_of(node), entry.inline].concat();
            let value = read_u32(right_node, NEXT);
            items.insert(items.list.len(), Entry { inline: &inline, value, chain: entry.chain });
        }
        items.take_node(right_node);
        let count = items.list.len();
        if MERGED_MAX < items.size(0..count) {
            return false;
        }
        let links = if kind == INNER {
            (read_u32(left_node, NEXT), NIL)
        } else {
            let next = read_u32(right_node, NEXT);
            let previous = read_u32(left_node, PREVIOUS);
            if let Some((first, _)) = entry.chain {
                heap.free_chain(first);
            }
            if next != NIL {
                write_u32(heap.arena.block_mut(next), PREVIOUS, left);
            }
            (next, previous)
        };
        write_node(heap, left, kind, links, &items, 0..count);
        heap.arena.free(right);
        remove_entry(heap.arena.block_mut(parent), separator);
        true
    }

    /// Checks order, fences, links and counts of the whole tree; for tests and the simulator.
    pub fn check(&self, heap: &Heap) -> Result<(), String> {
        if self.root == NIL {
            return if self.entry_count == 0 {
                Ok(())
            } else {
                Err("entries without a root".into())
            };
        }
        let mut leaves = Vec::new();
        let mut nodes = vec![(self.root, 1usize)];
        while let Some((node_id, depth)) = nodes.pop() {
            let node = heap.arena.block(node_id);
            if node[KIND] == INNER {
                nodes.extend((0..=count_of(node)).rev().map(|i| (child_of(node, i), depth + 1)));
            } else if depth != self.height {
                return Err(format!("leaf {node_id} at depth {depth} of {}", self.height));
            } else {
                leaves.push(node_id);
            }
        }
        let mut count = 0;
        let (mut key_last, mut key) = (None::<Vec<u8>>, Vec::new());
        let mut previous = NIL;
        for (at, &leaf) in leaves.iter().enumerate() {
            let node = heap.arena.block(leaf);
            let next = leaves.get(at + 1).copied().unwrap_or(NIL);
            if (read_u32(node, NEXT), read_u32(node, PREVIOUS)) != (next, previous) {
                return Err(format!("leaf {leaf} is linked wrongly"));
            }
            if count_of(node) == 0 {
                return Err(format!("leaf {leaf} is empty"));
            }
            for index in 0..count_of(node) {
                self.key_at(heap, Cursor { leaf, index }, &mut key);
                if key_last.as_ref().is_some_and(|last| *last >= key) {
                    return Err(format!("leaf {leaf}: entry {index} out of order"));
                }
                if self.leaf_of(heap, &key) != Some(leaf) {
                    return Err(format!("leaf {leaf}: entry {index} is not found from the root"));
                }
                key_last = Some(key.clone());
                count += 1;
            }
            previous = leaf;
        }
        if count == self.entry_count {
            Ok(())
        } else {
            Err(format!("{count} entries, {} counted", self.entry_count))
        }
    }
}

/// The last leaf of a tree to which keys are added, as it will be written.
#[derive(Default)]
pub(crate) struct Appending {
    leaf: u32,
    items: Items,
    /// Bytes of the items, were no prefix taken off.
    bytes: usize,
}

impl Appending {
    fn take_leaf(&mut self, heap: &Heap, leaf: u32) {
        self.leaf = leaf;
        self.items.bytes.clear();
        self.items.list.clear();
        self.items.take_node(heap.arena.block(leaf));
        self.bytes = (0..self.items.list.len()).map(|index| self.items.entry(index).size()).sum();
    }
    fn push(&mut self, entry: Entry<'_>) {
        self.bytes += entry.size();
        self.items.insert(self.items.list.len(), entry);
    }
    /// Bytes of the node.
    fn size(&self) -> usize {
        let count = self.items.list.len();
        let prefix = self.items.prefix(0..count).len();
        HEADER + prefix + self.bytes - count * prefix
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::PagePool;
    use crate::random::Random;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    /// Makes keys of one kind: short numbers, shared prefixes of all lengths, long keys that differ late, long ones between short ones that
    /// share more than a long one's head.
    fn make_key(random: &mut Random, kind: u64) -> Vec<u8> {
        match kind {
            0 => (random.below(5000) as u32).to_be_bytes().to_vec(),
            1 => {
                let mut key = vec![b'a' + random.below(3) as u8; random.below(700) as usize];
                key.extend_from_slice(&(random.below(50) as u16).to_be_bytes());
                key
            }
            2 => {
                let mut key =
                    vec![7; [500, 511, 512, 513, 590, 700, 3000][random.below(7) as usize]];
                key.extend_from_slice(&(random.below(60) as u16).to_be_bytes());
                key
            }
            3 => (0..random.below(4)).map(|_| random.below(4) as u8 * 85).collect(),
            4 => {
                let mut key =
                    vec![7; [505, 511, 512, 513, 560, 590, 597][random.below(7) as usize]];
                let tail = 6 + random.below(3) as u8;
                let lengths = [random.below(10) as usize, 30, 87, 88, 89, 200, 2000];
                key.resize(key.len() + lengths[random.below(7) as usize], tail);
                key.push(random.below(10) as u8);
                key
            }
            _ => {
                let mut key = format!("customer/{:04}/", random.below(40)).into_bytes();
                key.extend_from_slice(&(random.below(100) as u16).to_be_bytes());
                key
            }
        }
    }

    /// Random insertions, removals, look-ups and range scans both ways against a BTreeMap; structure checked as it goes;
    /// every block is free when the last key is gone, and after `clear`.
    #[test]
    fn keys_against_a_model() {
        for kind in 0..7 {
            let pool = PagePool::new(1 << 30);
            let mut heap = Heap::new(Arc::clone(&pool));
            let mut tree = Tree::new();
            let mut model: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
            let mut random = Random(kind);
            for step in 0..12_000u32 {
                // Kind 6 mixes all the others in one tree.
                let key_kind = if kind == 6 { random.below(6) } else { kind };
                let key = make_key(&mut random, key_kind);
                let filling = step / 2000 % 2 == 0;
                assert_eq!(tree.get(&heap, &key), model.get(&key).copied());
                if random.below(10) < if filling { 7 } else { 3 } {
                    let value = types::hash::hash64(&key) as u32 | 1;
                    assert_eq!(tree.insert(&mut heap, &key, value), !model.contains_key(&key));
                    model.insert(key, value);
                } else {
                    assert_eq!(tree.remove(&mut heap, &key), model.remove(&key).is_some());
                }
                assert_eq!(tree.entry_count(), model.len() as u64);
                if step % 500 == 0 {
                    tree.check(&heap).expect("a sound tree");
                    check_scans(&tree, &heap, &model, &mut random, key_kind);
                }
            }
            if kind % 2 == 0 {
                for key in model.keys() {
                    assert!(tree.remove(&mut heap, key));
                }
            } else {
                tree.clear(&mut heap);
            }
            tree.check(&heap).expect("an empty tree");
            assert_eq!(pool.used(), 0);
        }
    }

    fn check_scans(
        tree: &Tree,
        heap: &Heap,
        model: &BTreeMap<Vec<u8>, u32>,
        random: &mut Random,
        kind: u64,
    ) {
        let bound = make_key(random, kind);
        for bound in [Bound::Unbounded, Bound::Included(&bound[..]), Bound::Excluded(&bound[..])] {
            let owned = bound.map(|key| key.to_vec());
            let mut cursor = tree.seek_forward(heap, bound);
            let mut key = Vec::new();
            for (expected, &value) in model.range((owned.clone(), Bound::Unbounded)) {
                let at = cursor.expect("an entry more");
                tree.key_at(heap, at, &mut key);
                assert_eq!((&key, tree.value_at(heap, at)), (expected, value));
                cursor = tree.next(heap, at);
            }
            assert_eq!(cursor, None);
            let mut cursor = tree.seek_backward(heap, bound);
            for (expected, &value) in model.range((Bound::Unbounded, owned)).rev() {
                let at = cursor.expect("an entry more");
                tree.key_at(heap, at, &mut key);
                assert_eq!((&key, tree.value_at(heap, at)), (expected, value));
                cursor = tree.previous(heap, at);
            }
            assert_eq!(cursor, None);
        }
    }

    /// A long key is between short ones that have more bytes in common than a node keeps of it, in whatever order they come.
    #[test]
    fn a_long_key_between_short_ones() {
        let head = [b'a'; 590];
        let keys = [&head[..], b"b", &head[..], &[b'c'; 50], &head[..], b"d"];
        let keys: Vec<Vec<u8>> = keys.chunks(2).map(|parts| parts.concat()).collect();
        let pool = PagePool::new(1 << 30);
        let mut heap = Heap::new(Arc::clone(&pool));
        let check = |tree: &Tree, heap: &Heap| {
            tree.check(heap).expect("a sound tree");
            let found: Vec<_> = keys.iter().map(|key| tree.get(heap, key)).collect();
            assert_eq!(found, [Some(1), Some(2), Some(3)]);
        };
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut tree = Tree::new();
            for index in order {
                tree.insert(&mut heap, &keys[index], index as u32 + 1);
            }
            check(&tree, &heap);
            tree.clear(&mut heap);
        }
        let mut tree = Tree::new();
        let mut appending = tree.begin_appending(&mut heap);
        for (key, value) in keys.iter().zip(1..) {
            tree.append(&mut heap, &mut appending, key, value);
        }
        tree.end_appending(&mut heap, &appending);
        check(&tree, &heap);
    }

    /// Keys that come in order leave full leaves, in either direction: below 12 bytes for a 5-byte key and its value.
    #[test]
    fn keys_in_order_fill_their_leaves() {
        for backward in [false, true] {
            let pool = PagePool::new(1 << 30);
            let mut heap = Heap::new(Arc::clone(&pool));
            let mut tree = Tree::new();
            for step in 0..100_000u32 {
                let number = if backward { 100_000 - step } else { step };
                let key = [&[1u8][..], &number.to_be_bytes()].concat();
                tree.insert(&mut heap, &key, number);
            }
            tree.check(&heap).expect("a sound tree");
            assert!(pool.used() < 12 * 100_000, "{}", pool.used());
        }
    }
}
