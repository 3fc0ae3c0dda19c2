//! How a node of the tree lies in its block.
//!
//! ```text
//!   node:   kind | count | low | free | next | previous | prefix length | prefix offset | slots u16 ... -> free <- ... entries
//!   entry:  length u16 | key without the node's prefix | value u32 | (long keys only) chain u32, total u32
//!   leaf:   next, previous are its neighbours           inner:  next is the leftmost child; entry = (separator, child right of it)
//! ```

use std::cmp::Ordering;

use crate::arena::{BLOCK_SIZE, Block, read_u16, read_u32, write_u16, write_u32};
use crate::heap::Heap;

pub(super) const LEAF: u8 = 0;
pub(super) const INNER: u8 = 1;

pub(super) const KIND: usize = 0;
const COUNT: usize = 2;
const LOW: usize = 4;
pub(super) const FREE: usize = 6;
pub(super) const NEXT: usize = 8;
pub(super) const PREVIOUS: usize = 12;
pub(super) const PREFIX_LENGTH: usize = 16;
const PREFIX_OFFSET: usize = 18;
pub(super) const HEADER: usize = 20;
const SLOT: usize = 2;
/// Bytes of an entry and its slot beside the key.
const ENTRY: usize = 2 + 4 + SLOT;
/// More of them for a long key.
const ENTRY_LONG: usize = 8;
const LONG: u16 = 0x8000;

/// Longest key that is wholly in its node.
pub(super) const INLINE_MAX: usize = 600;
/// Bytes in the node of a longer one.
pub(super) const LONG_HEAD: usize = 512;
const ENTRIES_MIN: usize = (BLOCK_SIZE - HEADER) / (INLINE_MAX + ENTRY + ENTRY_LONG);
const _: () = assert!(6 <= ENTRIES_MIN);

/// An entry in a node (then `inline` is without the node's prefix) or on its way into one (with it).
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) inline: &'a [u8],
    pub(super) value: u32,
    /// First segment and length of what follows `inline`.
    pub(super) chain: Option<(u32, u32)>,
}

impl Entry<'_> {
    /// Bytes it takes, its slot included.
    pub(super) fn size(&self) -> usize {
        self.inline.len() + ENTRY + if self.chain.is_some() { ENTRY_LONG } else { 0 }
    }
}

pub(super) fn store_chain(heap: &mut Heap, key: &[u8]) -> Option<(u32, u32)> {
    if key.len() <= INLINE_MAX {
        return None;
    }
    let rest = &key[LONG_HEAD..];
    Some((heap.allocate_chain(&[rest]), rest.len() as u32))
}

#[inline]
pub(super) fn count_of(node: &Block) -> usize {
    usize::from(read_u16(node, COUNT))
}
#[inline]
pub(super) fn prefix_of(node: &Block) -> &[u8] {
    let offset = usize::from(read_u16(node, PREFIX_OFFSET));
    &node[offset..offset + usize::from(read_u16(node, PREFIX_LENGTH))]
}
#[inline]
pub(super) fn entry_of(node: &Block, index: usize) -> Entry<'_> {
    let at = usize::from(read_u16(node, HEADER + index * SLOT));
    let length = read_u16(node, at);
    let end = at + 2 + usize::from(length & !LONG);
    Entry {
        inline: &node[at + 2..end],
        value: read_u32(node, end),
        chain: (length & LONG != 0).then(|| (read_u32(node, end + 4), read_u32(node, end + 8))),
    }
}
#[inline]
pub(super) fn value_of(node: &Block, index: usize) -> u32 {
    entry_of(node, index).value
}
/// A child of an inner node: 0 is left of all separators.
pub(super) fn child_of(node: &Block, child: usize) -> u32 {
    if child == 0 { read_u32(node, NEXT) } else { value_of(node, child - 1) }
}
/// The child that holds `key`: the one right of the last separator at or below it.
#[inline]
pub(super) fn child_for(heap: &Heap, node: &Block, key: &[u8]) -> usize {
    match search(heap, node, key) {
        Ok(index) => index + 1,
        Err(index) => index,
    }
}

/// Where `key` is among the node's entries, or where it would be.
#[inline]
pub(super) fn search(heap: &Heap, node: &Block, key: &[u8]) -> Result<usize, usize> {
    let count = count_of(node);
    let prefix = prefix_of(node);
    let shared = key.len().min(prefix.len());
    match key[..shared].cmp(&prefix[..shared]) {
        Ordering::Less => return Err(0),
        Ordering::Greater => return Err(count),
        Ordering::Equal if shared < prefix.len() => return Err(0),
        Ordering::Equal => {}
    }
    let rest = &key[prefix.len()..];
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        let entry = entry_of(node, middle);
        let ordering = if entry.chain.is_none() {
            entry.inline.cmp(rest)
        } else {
            compare_long(heap, &entry, rest)
        };
        match ordering {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return Ok(middle),
        }
    }
    Err(low)
}

#[cold]
fn compare_long(heap: &Heap, entry: &Entry<'_>, rest: &[u8]) -> Ordering {
    let (first, _) = entry.chain.expect("only long entries get here");
    let shared = entry.inline.len().min(rest.len());
    match entry.inline.cmp(&rest[..shared]) {
        Ordering::Equal => heap.chain(first, 0)[..].cmp(&rest[shared..]),
        decided => decided,
    }
}

pub(super) fn common_length(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Adds an entry, given without the node's prefix, to a node with room for it.
pub(super) fn insert_entry(node: &mut Block, index: usize, entry: Entry<'_>) {
    let count = count_of(node);
    let size = entry.size() - SLOT;
    let directory_end = HEADER + (count + 1) * SLOT;
    if usize::from(read_u16(node, LOW)) < directory_end + size {
        compact(node);
    }
    let low = usize::from(read_u16(node, LOW)) - size;
    assert!(directory_end <= low);
    let slot = HEADER + index * SLOT;
    node.copy_within(slot..HEADER + count * SLOT, slot + SLOT);
    write_u16(node, slot, low as u16);
    write_u16(node, LOW, low as u16);
    write_u16(node, COUNT, count as u16 + 1);
    let free = usize::from(read_u16(node, FREE)) - size - SLOT;
    write_u16(node, FREE, free as u16);
    let length = entry.inline.len();
    let end = low + 2 + length;
    write_u16(node, low, length as u16 | if entry.chain.is_some() { LONG } else { 0 });
    node[low + 2..end].copy_from_slice(entry.inline);
    write_u32(node, end, entry.value);
    if let Some((first, total)) = entry.chain {
        write_u32(node, end + 4, first);
        write_u32(node, end + 8, total);
    }
}

/// Takes an entry's slot and bytes out; its chain is the caller's.
pub(super) fn remove_entry(node: &mut Block, index: usize) {
    let count = count_of(node);
    let size = entry_of(node, index).size();
    let slot = HEADER + index * SLOT;
    let at = read_u16(node, slot);
    if at == read_u16(node, LOW) {
        write_u16(node, LOW, at + (size - SLOT) as u16);
    }
    node.copy_within(slot + SLOT..HEADER + count * SLOT, slot);
    write_u16(node, COUNT, count as u16 - 1);
    let free = usize::from(read_u16(node, FREE)) + size;
    write_u16(node, FREE, free as u16);
}

/// Moves the entries together at the node's end, behind nothing but the prefix.
fn compact(node: &mut Block) {
    let old = *node;
    let prefix = prefix_of(&old);
    let mut low = BLOCK_SIZE - prefix.len();
    node[low..].copy_from_slice(prefix);
    write_u16(node, PREFIX_OFFSET, low as u16);
    for index in 0..count_of(&old) {
        let size = entry_of(&old, index).size() - SLOT;
        let at = usize::from(read_u16(&old, HEADER + index * SLOT));
        low -= size;
        node[low..low + size].copy_from_slice(&old[at..at + size]);
        write_u16(node, HEADER + index * SLOT, low as u16);
    }
    write_u16(node, LOW, low as u16);
}

/// Writes a node of some of the items from scratch, with the longest prefix they allow.
pub(super) fn write_node(
    heap: &mut Heap,
    node_id: u32,
    kind: u8,
    (next, previous): (u32, u32),
    items: &Items,
    range: std::ops::Range<usize>,
) {
    let prefix = items.prefix(range.clone());
    let node = heap.arena.block_mut(node_id);
    node[..HEADER].fill(0);
    node[KIND] = kind;
    let low = BLOCK_SIZE - prefix.len();
    node[low..].copy_from_slice(prefix);
    write_u16(node, PREFIX_LENGTH, prefix.len() as u16);
    write_u16(node, PREFIX_OFFSET, low as u16);
    write_u16(node, LOW, low as u16);
    write_u16(node, FREE, (low - HEADER) as u16);
    write_u32(node, NEXT, next);
    write_u32(node, PREVIOUS, previous);
    for (index, item) in range.enumerate() {
        let entry = items.entry(item);
        insert_entry(node, index, Entry { inline: &entry.inline[prefix.len()..], ..entry });
    }
}

/// Entries out of their nodes, with whole keys (but for chains), in order.
#[derive(Default)]
pub(super) struct Items {
    pub(super) bytes: Vec<u8>,
    pub(super) list: Vec<Item>,
}

pub(super) struct Item {
    start: usize,
    length: usize,
    pub(super) value: u32,
    pub(super) chain: Option<(u32, u32)>,
}

impl Items {
    /// Appends the entries of a node.
    pub(super) fn take_node(&mut self, node: &Block) {
        let prefix = prefix_of(node);
        for index in 0..count_of(node) {
            let entry = entry_of(node, index);
            let start = self.bytes.len();
            self.bytes.extend_from_slice(prefix);
            self.bytes.extend_from_slice(entry.inline);
            let length = self.bytes.len() - start;
            self.list.push(Item { start, length, value: entry.value, chain: entry.chain });
        }
    }
    pub(super) fn insert(&mut self, index: usize, entry: Entry<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(entry.inline);
        let length = entry.inline.len();
        self.list.insert(index, Item { start, length, value: entry.value, chain: entry.chain });
    }
    pub(super) fn entry(&self, index: usize) -> Entry<'_> {
        let item = &self.list[index];
        let inline = &self.bytes[item.start..item.start + item.length];
        Entry { inline, value: item.value, chain: item.chain }
    }
    /// What the keys of the range have in common: in order, so what the first and the last have. A long key between them has only its
    /// head here.
    pub(super) fn prefix(&self, range: std::ops::Range<usize>) -> &[u8] {
        if range.is_empty() {
            return &[];
        }
        let (first, last) = (self.entry(range.start).inline, self.entry(range.end - 1).inline);
        &first[..common_length(first, last).min(LONG_HEAD)]
    }
    /// Bytes of a node of the range.
    pub(super) fn size(&self, range: std::ops::Range<usize>) -> usize {
        let prefix = self.prefix(range.clone()).len();
        let entries: usize = range.map(|index| self.entry(index).size() - prefix).sum();
        HEADER + prefix + entries
    }
    /// The first index with half of the bytes before it; neither 0 nor the end.
    pub(super) fn middle(&self) -> usize {
        let prefix = self.prefix(0..self.list.len()).len();
        let size = |index: usize| self.entry(index).size() - prefix;
        let total: usize = (0..self.list.len()).map(size).sum();
        let mut before = 0;
        for index in 0..self.list.len() {
            if total <= 2 * before {
                return index.max(1);
            }
            before += size(index);
        }
        self.list.len() - 1
    }
}
