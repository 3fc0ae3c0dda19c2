//! Estimates of ranks: where in the order of the entries a key is, and which entry is at a rank.
//!
//! Nodes know how many entries they have, not how many are below them. An [`Outline`] is the inner nodes of one level, as many
//! as are counted in a moment, each with the number of its children: so the shares of subtrees of very different sizes, as the
//! last ones of an index that grows at its end, are known. Below that level the children of a node count alike. Most nodes are
//! between half full and full, so that a rank is wrong by a small part of what one node of the level has below it.

use std::ops::Bound;

use super::node::*;
use super::{Cursor, Tree};
use crate::arena::NIL;
use crate::heap::Heap;

/// Nodes of an outline at most.
const OUTLINE_NODES_MAX: usize = 512;

/// Good until the tree changes.
pub(crate) struct Outline {
    /// Levels from the root down to the nodes.
    depth: usize,
    /// Nodes of one level, in order: each with the sum of the children, or entries, of those before it.
    nodes: Vec<(u32, u64)>,
    total: u64,
}

/// A position in the order of the entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rank {
    cursor: Option<Cursor>,
    /// Of all entries, those before it.
    share: f64,
}

impl Tree {
    /// None for an empty tree.
    pub fn outline(&self, heap: &Heap) -> Option<Outline> {
        if self.root == NIL {
            return None;
        }
        let mut depth = 0;
        let mut level = vec![self.root];
        loop {
            let counts = |id: &u32| children_of(heap, *id);
            let below: usize = level.iter().map(counts).sum();
            let is_leaf = heap.arena.block(level[0])[KIND] == LEAF;
            if is_leaf || OUTLINE_NODES_MAX < below {
                break;
            }
            let children = |id: &u32| {
                let node = heap.arena.block(*id);
                (0..=count_of(node)).map(|child| child_of(node, child)).collect::<Vec<u32>>()
            };
            level = level.iter().flat_map(children).collect();
            depth += 1;
        }
        let mut total = 0;
        let mut nodes = Vec::with_capacity(level.len());
        for id in level {
            nodes.push((id, total));
            total += children_of(heap, id) as u64;
        }
        Some(Outline { depth, nodes, total })
    }

    /// The entry that has about this share of the entries before it.
    pub fn entry_at(&self, heap: &Heap, outline: &Outline, share: f64) -> Cursor {
        let before = share.clamp(0.0, 1.0) * outline.total as f64;
        let place = outline.nodes.partition_point(|(_, sum)| *sum as f64 <= before).max(1) - 1;
        let (mut id, sum) = outline.nodes[place];
        let mut rest = (before - sum as f64) / children_of(heap, id) as f64;
        loop {
            let node = heap.arena.block(id);
            let count = children_of(heap, id);
            let scaled = rest * count as f64;
            let child = (scaled as usize).min(count - 1);
            if node[KIND] == LEAF {
                return Cursor { leaf: id, index: child };
            }
            rest = (scaled - child as f64).clamp(0.0, 1.0);
            id = child_of(node, child);
        }
    }

    /// Behind all entries.
    pub fn end_rank(&self) -> Rank {
        Rank { cursor: None, share: 1.0 }
    }

    /// Where the first entry at or above the bound is.
    pub fn rank(&self, heap: &Heap, outline: &Outline, lower: Bound<&[u8]>) -> Rank {
        let cursor = self.seek_forward(heap, lower);
        let (Bound::Included(key) | Bound::Excluded(key)) = lower else {
            return Rank { cursor, share: 0.0 };
        };
        let mut id = self.root;
        let (mut before, mut width) = (0.0, 1.0);
        for depth in 0.. {
            if depth == outline.depth {
                let place = outline.nodes.iter().position(|(own, _)| *own == id);
                let (_, sum) = outline.nodes[place.expect("the tree has not changed")];
                before = sum as f64 / outline.total as f64;
                width = children_of(heap, id) as f64 / outline.total as f64;
            }
            let node = heap.arena.block(id);
            let is_leaf = node[KIND] == LEAF;
            let child = match is_leaf {
                true => match search(heap, node, key) {
                    Ok(index) if matches!(lower, Bound::Excluded(_)) => index + 1,
                    Ok(index) | Err(index) => index,
                },
                false => child_for(heap, node, key),
            };
            if outline.depth <= depth {
                width /= children_of(heap, id) as f64;
                before += child as f64 * width;
            }
            if is_leaf {
                break;
            }
            id = child_of(node, child);
        }
        Rank { cursor, share: before.min(1.0) }
    }

    /// The entries between two positions, about; those of neighbouring leaves are counted.
    pub fn entries_between(&self, heap: &Heap, from: Rank, to: Rank) -> f64 {
        let Some(first) = from.cursor else { return 0.0 };
        let all = self.entry_count as f64;
        let estimate = ((to.share - from.share) * all).max(0.0);
        let in_leaf = count_of(heap.arena.block(first.leaf)) as f64;
        let next = crate::arena::read_u32(heap.arena.block(first.leaf), NEXT);
        match to.cursor {
            Some(last) if last.leaf == first.leaf => last.index as f64 - first.index as f64,
            Some(last) if last.leaf == next => in_leaf - first.index as f64 + last.index as f64,
            None if next == NIL => in_leaf - first.index as f64,
            // All of the first leaf's rest, and more.
            Some(_) | None => estimate.max(in_leaf - first.index as f64),
        }
    }
}

/// Entries of a leaf, children of an inner node. No node is empty, but for the only leaf of an empty tree.
fn children_of(heap: &Heap, id: u32) -> usize {
    let node = heap.arena.block(id);
    match node[KIND] {
        LEAF => count_of(node).max(1),
        _ => count_of(node) + 1,
    }
}
