//! The hash index of a partition: from the hash of an encoded primary key to the row's record. Linear hashing.
//!
//! Buckets are one cache line: twelve tags of eight hash bits, twelve references, and the next overflow bucket. The
//! table grows and shrinks by one bucket at a time, as rows come and go, so no insertion ever pays for a rehash; the
//! entries of the bucket that is split find their hash again from their rows, which costs less than keeping it.
//!
//! ```text
//!   bucket of a hash, with N buckets and 2^(k-1) <= N < 2^k:   low k bits, or low k-1 bits when that is >= N
//! ```
//! The bucket of the database (`types::hash::bucket_of`) uses the high bits, the tag the middle ones.
//!
//! Keys are not here: the caller compares them by the reference.

use std::collections::BTreeSet;

use crate::arena::{
    Arena, BLOCK_SIZE, NIL, PREFETCHED_AHEAD, read_u32, read_u64, write_u32, write_u64,
};
use crate::heap::Heap;

const BUCKET_SIZE: usize = 64;
const BUCKETS_PER_BLOCK: usize = BLOCK_SIZE / BUCKET_SIZE;
const ENTRIES: usize = 12;
const TAGS: usize = 4;
const REFERENCES: usize = 16;
const _: () = assert!(REFERENCES + ENTRIES * 4 == BUCKET_SIZE);
const _: () = assert!(TAGS + ENTRIES == REFERENCES);

/// Mean entries a bucket above which the table grows: 8 of 12 leaves one bucket in sixteen overflowing.
const LOAD_MAX: usize = 8;
/// And below which it shrinks.
const LOAD_MIN: usize = 4;

/// The most blocks one insertion can take: an overflow bucket, and for the split a bucket and an overflow bucket each side.
pub(crate) const BLOCKS_PER_INSERT: usize = 4;

#[derive(Default)]
pub(crate) struct HashIndex {
    /// The blocks of the buckets, in order.
    directory: Vec<u32>,
    bucket_count: usize,
    entry_count: usize,
    /// Blocks of overflow buckets with a free one. Bucket 0 of such a block is its mask of used buckets.
    overflow_open: BTreeSet<u32>,
    overflow_block_count: usize,
}

fn tag_of(hash: u64) -> u8 {
    // 0 marks a free entry.
    ((hash >> 32) as u8).max(1)
}

/// Where a bucket lies: block and byte offset.
type Place = (u32, usize);

fn overflow_place(overflow: u32) -> Place {
    (overflow / BUCKETS_PER_BLOCK as u32, overflow as usize % BUCKETS_PER_BLOCK * BUCKET_SIZE)
}

impl HashIndex {
    pub fn entry_count(&self) -> usize {
        self.entry_count
    }
    /// Bytes outside the arena.
    pub fn directory_bytes(&self) -> u64 {
        (self.directory.len() * 4 + self.overflow_open.len() * 8) as u64
    }

    /// The entry with this hash that `is_it` recognises.
    #[inline]
    pub fn find(
        &self,
        arena: &Arena,
        hash: u64,
        mut is_it: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        if self.bucket_count == 0 {
            return None;
        }
        let tag = tag_of(hash);
        let mut place = self.place(self.bucket_of(hash));
        loop {
            let block = arena.block(place.0);
            let bucket: &[u8; BUCKET_SIZE] =
                block[place.1..place.1 + BUCKET_SIZE].try_into().expect("a bucket");
            for entry in 0..ENTRIES {
                if bucket[TAGS + entry] == tag {
                    let reference = read_u32(bucket, REFERENCES + entry * 4);
                    if is_it(reference) {
                        return Some(reference);
                    }
                }
            }
            match read_u32(bucket, 0) {
                NIL => return None,
                overflow => place = overflow_place(overflow),
            }
        }
    }

    /// Has the processor fetch what [`HashIndex::find`] and [`HashIndex::insert`] of this hash look at.
    #[inline]
    pub fn prefetch(&self, arena: &Arena, hash: u64) {
        if self.bucket_count != 0 {
            let (block, at) = self.place(self.bucket_of(hash));
            arena.prefetch(block, at);
        }
    }

    /// Adds an entry that is not there. `hash_of` tells the hash of any entry. Returns whether the table has grown.
    pub fn insert(
        &mut self,
        heap: &mut Heap,
        hash: u64,
        reference: u32,
        hash_of: impl Fn(&Heap, u32) -> u64,
    ) -> bool {
        if self.bucket_count == 0 {
            self.add_bucket(&mut heap.arena);
        }
        let bucket = self.bucket_of(hash);
        self.insert_into(&mut heap.arena, bucket, tag_of(hash), reference);
        self.entry_count += 1;
        let grows = self.bucket_count * LOAD_MAX < self.entry_count;
        if grows {
            self.grow(heap, hash_of);
        }
        grows
    }

    /// The entries whose hashes are asked for when the table grows for the time after the next. It has entries.
    pub fn for_each_to_move(&self, arena: &Arena, mut visit: impl FnMut(u32)) {
        self.for_each_in(arena, Self::buddy(self.bucket_count + 2), &mut visit);
    }

    /// Adds entries that are not there, hash and reference, of those that were reserved for: bucket after bucket, so that each is
    /// fetched once.
    pub fn insert_reserved(&mut self, arena: &mut Arena, entries: &mut [(u64, u32)]) {
        entries.sort_unstable_by_key(|(hash, _)| self.bucket_of(*hash));
        for (index, &(hash, reference)) in entries.iter().enumerate() {
            if let Some((later, _)) = entries.get(index + PREFETCHED_AHEAD) {
                self.prefetch(arena, *later);
            }
            self.insert_into(arena, self.bucket_of(hash), tag_of(hash), reference);
        }
        self.entry_count += entries.len();
        assert!(self.entry_count <= self.bucket_count * LOAD_MAX);
    }

    /// Becomes as small as it would be had it grown with its entries. That looks at no row.
    pub fn fit(&mut self, arena: &mut Arena) {
        while 1 < self.bucket_count && self.entry_count <= (self.bucket_count - 1) * LOAD_MAX {
            self.shrink(arena);
        }
        if self.entry_count == 0 {
            self.clear(arena);
        }
    }

    /// So many entries will come: none of them makes it grow.
    pub fn reserve(&mut self, arena: &mut Arena, entry_count: usize) {
        assert!(self.entry_count == 0, "nothing is moved");
        while self.bucket_count * LOAD_MAX < entry_count {
            self.add_bucket(arena);
        }
    }

    /// Removes an entry that is there.
    pub fn remove(&mut self, arena: &mut Arena, hash: u64, reference: u32) {
        let tag = tag_of(hash);
        let mut place = self.place(self.bucket_of(hash));
        let mut before: Option<Place> = None;
        loop {
            let bucket = &mut arena.block_mut(place.0)[place.1..place.1 + BUCKET_SIZE];
            let found = (0..ENTRIES).find(|entry| {
                bucket[TAGS + entry] == tag && read_u32(bucket, REFERENCES + entry * 4) == reference
            });
            let next = read_u32(bucket, 0);
            if let Some(entry) = found {
                bucket[TAGS + entry] = 0;
                let empty = bucket[TAGS..REFERENCES].iter().all(|&tag| tag == 0);
                if let (true, Some(before)) = (empty, before) {
                    write_u32(&mut arena.block_mut(before.0)[before.1..], 0, next);
                    self.free_overflow(arena, place);
                }
                break;
            }
            assert!(next != NIL);
            before = Some(place);
            place = overflow_place(next);
        }
        self.entry_count -= 1;
        if self.entry_count == 0 {
            self.clear(arena);
        } else if 1 < self.bucket_count && self.entry_count < self.bucket_count * LOAD_MIN {
            self.shrink(arena);
        }
    }

    pub fn clear(&mut self, arena: &mut Arena) {
        for bucket in 0..self.bucket_count {
            self.take_bucket(arena, bucket, &mut |_, _| {});
        }
        for block in self.directory.drain(..) {
            arena.free(block);
        }
        assert!(self.overflow_block_count == 0);
        *self = HashIndex::default();
    }

    /// Every entry, in the order of the table, which means nothing.
    pub fn for_each(&self, arena: &Arena, mut visit: impl FnMut(u32)) {
        for bucket in 0..self.bucket_count {
            self.for_each_in(arena, bucket, &mut visit);
        }
    }
    fn for_each_in(&self, arena: &Arena, bucket: usize, visit: &mut impl FnMut(u32)) {
        let mut place = self.place(bucket);
        loop {
            let bytes = &arena.block(place.0)[place.1..place.1 + BUCKET_SIZE];
            for entry in 0..ENTRIES {
                if bytes[TAGS + entry] != 0 {
                    visit(read_u32(bytes, REFERENCES + entry * 4));
                }
            }
            match read_u32(bytes, 0) {
                NIL => break,
                overflow => place = overflow_place(overflow),
            }
        }
    }

    #[inline]
    fn bucket_of(&self, hash: u64) -> usize {
        let mask = self.bucket_count.next_power_of_two() - 1;
        // With N a power of two the mask is N-1 and nothing is >= N.
        let bucket = hash as usize & mask;
        if bucket < self.bucket_count { bucket } else { bucket & (mask >> 1) }
    }
    #[inline]
    fn place(&self, bucket: usize) -> Place {
        (self.directory[bucket / BUCKETS_PER_BLOCK], bucket % BUCKETS_PER_BLOCK * BUCKET_SIZE)
    }
    /// The bucket that shares its entries with the last one of `bucket_count`.
    fn buddy(bucket_count: usize) -> usize {
        let last = bucket_count - 1;
        last - (1 << (usize::BITS - 1 - last.leading_zeros()))
    }

    fn add_bucket(&mut self, arena: &mut Arena) {
        if self.bucket_count.is_multiple_of(BUCKETS_PER_BLOCK) {
            self.directory.push(arena.allocate());
        }
        self.bucket_count += 1;
        let place = self.place(self.bucket_count - 1);
        reset_bucket(arena, place);
    }

    fn grow(&mut self, heap: &mut Heap, hash_of: impl Fn(&Heap, u32) -> u64) {
        self.add_bucket(&mut heap.arena);
        let buddy = Self::buddy(self.bucket_count);
        let mut entries = Entries::default();
        self.take_bucket(&mut heap.arena, buddy, &mut |tag, reference| {
            entries.push(tag, reference)
        });
        // All rows are looked at before anything is written, so that the memory they are in is fetched at once.
        for some in entries.as_slice().chunks(ENTRIES) {
            let mut buckets = [0; ENTRIES];
            for (bucket, &(_, reference)) in buckets.iter_mut().zip(some) {
                *bucket = self.bucket_of(hash_of(heap, reference));
            }
            for (&bucket, &(tag, reference)) in buckets.iter().zip(some) {
                assert!(bucket == buddy || bucket == self.bucket_count - 1);
                self.insert_into(&mut heap.arena, bucket, tag, reference);
            }
        }
    }
    fn shrink(&mut self, arena: &mut Arena) {
        let last = self.bucket_count - 1;
        let buddy = Self::buddy(self.bucket_count);
        let mut entries = Entries::default();
        self.take_bucket(arena, last, &mut |tag, reference| entries.push(tag, reference));
        self.bucket_count = last;
        if last.is_multiple_of(BUCKETS_PER_BLOCK) {
            arena.free(self.directory.pop().expect("a block for every 64 buckets"));
        }
        for &(tag, reference) in entries.as_slice() {
            self.insert_into(arena, buddy, tag, reference);
        }
    }

    fn insert_into(&mut self, arena: &mut Arena, bucket: usize, tag: u8, reference: u32) {
        let mut place = self.place(bucket);
        loop {
            let bytes = &mut arena.block_mut(place.0)[place.1..place.1 + BUCKET_SIZE];
            if let Some(entry) = (0..ENTRIES).find(|entry| bytes[TAGS + entry] == 0) {
                bytes[TAGS + entry] = tag;
                write_u32(bytes, REFERENCES + entry * 4, reference);
                return;
            }
            let next = read_u32(bytes, 0);
            if next != NIL {
                place = overflow_place(next);
                continue;
            }
            let overflow = self.allocate_overflow(arena);
            write_u32(&mut arena.block_mut(place.0)[place.1..], 0, overflow);
            place = overflow_place(overflow);
        }
    }

    /// Empties a bucket and its overflow.
    fn take_bucket(&mut self, arena: &mut Arena, bucket: usize, visit: &mut dyn FnMut(u8, u32)) {
        let mut place = self.place(bucket);
        let mut is_overflow = false;
        loop {
            let bytes = &mut arena.block_mut(place.0)[place.1..place.1 + BUCKET_SIZE];
            for entry in 0..ENTRIES {
                if bytes[TAGS + entry] != 0 {
                    visit(bytes[TAGS + entry], read_u32(bytes, REFERENCES + entry * 4));
                }
            }
            let next = read_u32(bytes, 0);
            if is_overflow {
                self.free_overflow(arena, place);
            } else {
                reset_bucket(arena, place);
            }
            if next == NIL {
                return;
            }
            is_overflow = true;
            place = overflow_place(next);
        }
    }

    fn allocate_overflow(&mut self, arena: &mut Arena) -> u32 {
        let block_id = match self.overflow_open.first() {
            Some(&block_id) => block_id,
            None => {
                let block_id = arena.allocate();
                write_u64(arena.block_mut(block_id), 0, 1);
                self.overflow_open.insert(block_id);
                self.overflow_block_count += 1;
                block_id
            }
        };
        let block = arena.block_mut(block_id);
        let used = read_u64(block, 0);
        let index = (!used).trailing_zeros();
        let used = used | 1 << index;
        write_u64(block, 0, used);
        if used == u64::MAX {
            self.overflow_open.remove(&block_id);
        }
        let overflow = block_id * BUCKETS_PER_BLOCK as u32 + index;
        reset_bucket(arena, overflow_place(overflow));
        overflow
    }
    fn free_overflow(&mut self, arena: &mut Arena, place: Place) {
        let block = arena.block_mut(place.0);
        let bit = 1u64 << (place.1 / BUCKET_SIZE);
        let used = read_u64(block, 0);
        assert!(used & bit != 0);
        let used = used & !bit;
        if used == 1 {
            self.overflow_open.remove(&place.0);
            self.overflow_block_count -= 1;
            arena.free(place.0);
        } else {
            write_u64(block, 0, used);
            self.overflow_open.insert(place.0);
        }
    }
}

fn reset_bucket(arena: &mut Arena, place: Place) {
    let bytes = &mut arena.block_mut(place.0)[place.1..place.1 + BUCKET_SIZE];
    bytes.fill(0);
    write_u32(bytes, 0, NIL);
}

/// The entries of one bucket on their way to others: on the stack as long as the bucket overflows little.
struct Entries {
    few: [(u8, u32); 3 * ENTRIES],
    count: usize,
    many: Vec<(u8, u32)>,
}

impl Default for Entries {
    fn default() -> Entries {
        Entries { few: [(0, 0); 3 * ENTRIES], count: 0, many: Vec::new() }
    }
}

impl Entries {
    fn push(&mut self, tag: u8, reference: u32) {
        if self.many.is_empty() && self.count < self.few.len() {
            self.few[self.count] = (tag, reference);
            self.count += 1;
            return;
        }
        if self.many.is_empty() {
            self.many.extend_from_slice(&self.few);
        }
        self.many.push((tag, reference));
    }
    fn as_slice(&self) -> &[(u8, u32)] {
        if self.many.is_empty() { &self.few[..self.count] } else { &self.many }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::PagePool;
    use crate::random::Random;
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    /// Random insertions and removals against a map, with hashes that are good, that share their low bits and that are all
    /// alike; the table gives every page back when it empties.
    #[test]
    fn entries_against_a_model() {
        for (name, hash_of) in [
            ("good", (|r: u32| types::hash::hash64(&r.to_le_bytes())) as fn(u32) -> u64),
            ("low bits alike", |r: u32| types::hash::hash64(&r.to_le_bytes()) & !0x3ff),
            ("all alike", |_| 42),
        ] {
            let pool = PagePool::new(1 << 30);
            let mut heap = Heap::new(Arc::clone(&pool));
            let mut index = HashIndex::default();
            let mut model: BTreeMap<u32, ()> = BTreeMap::new();
            let mut random = Random(3);
            let step_count = if name == "good" { 60_000 } else { 6_000 };
            for step in 0..step_count {
                let reference = random.below(step_count / 3) as u32;
                let hash = hash_of(reference);
                let found = index.find(&heap.arena, hash, |other| other == reference);
                assert_eq!(found.is_some(), model.contains_key(&reference));
                let filling = step / (step_count / 6) % 2 == 0;
                if found.is_none() && (filling || random.below(4) == 0) {
                    index.insert(&mut heap, hash, reference, |_, r| hash_of(r));
                    model.insert(reference, ());
                } else if found.is_some() && (!filling || random.below(4) == 0) {
                    index.remove(&mut heap.arena, hash, reference);
                    model.remove(&reference);
                }
                assert_eq!(index.entry_count(), model.len());
            }
            let mut seen = Vec::new();
            index.for_each(&heap.arena, |reference| seen.push(reference));
            seen.sort_unstable();
            assert_eq!(seen, model.keys().copied().collect::<Vec<_>>());
            for reference in seen {
                assert!(index.find(&heap.arena, hash_of(reference), |r| r == reference).is_some());
                index.remove(&mut heap.arena, hash_of(reference), reference);
            }
            assert_eq!(pool.used(), 0, "{name}");
            assert_eq!(index.directory_bytes(), 0);
        }
    }

    /// A table that was made larger than it had to be has its entries, goes on, and fitted is no larger than one that has grown.
    #[test]
    fn reserved_tables_are_fitted() {
        let hash_of = |r: u32| types::hash::hash64(&r.to_le_bytes());
        for count in [0u32, 1, 8, 9, 5_000, 50_000] {
            let pools = [PagePool::new(1 << 30), PagePool::new(1 << 30)];
            let [mut heap, mut grown_heap] = pools.clone().map(Heap::new);
            let (mut index, mut grown) = (HashIndex::default(), HashIndex::default());
            index.reserve(&mut heap.arena, 2 * count as usize);
            let mut entries: Vec<(u64, u32)> = (0..count).map(|r| (hash_of(r), r)).collect();
            index.insert_reserved(&mut heap.arena, &mut entries);
            for reference in 0..count {
                grown.insert(&mut grown_heap, hash_of(reference), reference, |_, r| hash_of(r));
            }
            let reserved = index.bucket_count;
            index.fit(&mut heap.arena);
            assert_eq!(
                (index.bucket_count, index.entry_count),
                (grown.bucket_count, grown.entry_count)
            );
            assert!(count < 9 || index.bucket_count < reserved);
            for reference in 0..2 * count {
                let is_there = reference < count;
                let found = index.find(&heap.arena, hash_of(reference), |r| r == reference);
                assert_eq!(found.is_some(), is_there, "{reference} of {count}");
                if !is_there {
                    index.insert(&mut heap, hash_of(reference), reference, |_, r| hash_of(r));
                }
            }
            for reference in 0..2 * count {
                index.remove(&mut heap.arena, hash_of(reference), reference);
            }
            assert_eq!(pools[0].used(), 0);
        }
    }

    /// What is told to be moved is what is asked for its hash when the table grows for the time after the next.
    #[test]
    fn what_moves_is_told_before() {
        let pool = PagePool::new(1 << 30);
        let mut heap = Heap::new(pool);
        let mut index = HashIndex::default();
        let hash_of = |r: u32| types::hash::hash64(&r.to_le_bytes());
        let mut told: Vec<Vec<u32>> = Vec::new();
        for reference in 0..5_000 {
            let asked = RefCell::new(Vec::new());
            let ask = |_: &Heap, r| {
                asked.borrow_mut().push(r);
                hash_of(r)
            };
            if index.insert(&mut heap, hash_of(reference), reference, ask) {
                let asked = asked.into_inner();
                if let Some(before) = told.len().checked_sub(2) {
                    assert!(told[before].iter().all(|r| asked.contains(r)), "{reference}");
                }
                told.push(Vec::new());
                let last = told.last_mut().expect("just pushed");
                index.for_each_to_move(&heap.arena, |r| last.push(r));
            }
        }
        let told: usize = told.iter().map(Vec::len).sum();
        assert!(4_000 < told, "{told}");
        index.clear(&mut heap.arena);
    }

    /// At full size an entry costs less than 10 bytes, half-way between two doublings included.
    #[test]
    fn entries_are_small() {
        for count in [65_536u32, 100_000] {
            let pool = PagePool::new(1 << 30);
            let mut heap = Heap::new(Arc::clone(&pool));
            let mut index = HashIndex::default();
            let hash_of = |r: u32| types::hash::hash64(&r.to_le_bytes());
            for reference in 0..count {
                index.insert(&mut heap, hash_of(reference), reference, |_, r| hash_of(r));
            }
            assert!(
                pool.used() < 10 * u64::from(count),
                "{}",
                pool.used() as f64 / f64::from(count)
            );
        }
    }
}
