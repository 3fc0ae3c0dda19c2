//! Records of any length in slotted 4 KiB blocks, and chains of segments for those that are longer.
//!
//! ```text
//!   block:  slot_count u16 | low u16 | free u16 | used u16 | class u16 | next u32 | previous u32 | slots u16 ... -> free <- ... records
//!   record: length u16 | bytes            slot: where its record begins, 0 when it is free
//!   reference: block (24 bits) | slot (8 bits)
//! ```
//!
//! A reference stays good while its record lives: records move only inside their block, behind their slot. Blocks with
//! room hang in lists by how much room they have at least, so that finding a place costs a list head and no search. The
//! tightest list that surely fits is taken first: blocks fill up, and sparse ones get the chance to empty.
//!
//! A record is at most [`RECORD_MAX`] bytes, a third of a block, so that no block is left half empty by its neighbours'
//! size; longer strings are cut into segments, each a record of its own with the reference of the next in front.

use std::borrow::Cow;
use std::sync::Arc;

use crate::arena::{Arena, BLOCK_SIZE, Block, NIL, read_u16, read_u32, write_u16, write_u32};
use crate::pool::PagePool;

/// Longest record.
pub(crate) const RECORD_MAX: usize = (BLOCK_SIZE - HEADER) / 3 - SLOT - LENGTH;
/// Most bytes of a string in one segment.
const SEGMENT_MAX: usize = RECORD_MAX - 4;

const SLOT_COUNT: usize = 0;
const LOW: usize = 2;
const FREE: usize = 4;
const USED: usize = 6;
const CLASS: usize = 8;
const NEXT: usize = 10;
const PREVIOUS: usize = 14;
const HEADER: usize = 18;
const SLOT: usize = 2;
const LENGTH: usize = 2;
const SLOT_COUNT_MAX: usize = 256;

/// A block of class c has at least CLASS_FREE_MIN[c] bytes free; the last class is of blocks in no list.
const CLASS_FREE_MIN: [usize; 12] = [2048, 1448, 1024, 724, 512, 362, 256, 181, 128, 90, 64, 45];
const CLASS_NONE: usize = CLASS_FREE_MIN.len();

pub(crate) struct Heap {
    pub arena: Arena,
    /// First block of each class, or NIL.
    heads: [u32; CLASS_NONE],
}

impl Heap {
    pub fn new(pool: Arc<PagePool>) -> Heap {
        Heap { arena: Arena::new(pool), heads: [NIL; CLASS_NONE] }
    }

    /// The most blocks that storing a string of `length` bytes can take, as a record or as segments.
    pub fn blocks_needed(length: usize) -> usize {
        1 + length / SEGMENT_MAX
    }

    /// A record of `length` unspecified bytes.
    pub fn allocate(&mut self, length: usize) -> u32 {
        assert!(length <= RECORD_MAX);
        let block_id = self.find_block(length + LENGTH + SLOT);
        let block = self.arena.block_mut(block_id);
        let slot_count = usize::from(read_u16(block, SLOT_COUNT));
        let used = read_u16(block, USED);
        let slot = if usize::from(used) < slot_count {
            (0..slot_count)
                .find(|&slot| read_u16(block, HEADER + slot * SLOT) == 0)
                .expect("fewer records than slots")
        } else {
            let directory_end = HEADER + (slot_count + 1) * SLOT;
            if usize::from(read_u16(block, LOW)) < directory_end {
                compact(block);
            }
            write_u16(block, SLOT_COUNT, slot_count as u16 + 1);
            write_u16(block, HEADER + slot_count * SLOT, 0);
            let free = read_u16(block, FREE);
            write_u16(block, FREE, free - SLOT as u16);
            slot_count
        };
        write_u16(block, USED, used + 1);
        place(block, slot, length);
        self.classify(block_id);
        (block_id << 8) | slot as u32
    }

    #[inline]
    pub fn get(&self, reference: u32) -> &[u8] {
        let block = self.arena.block(reference >> 8);
        let start = offset_of(block, reference);
        let length = usize::from(read_u16(block, start));
        &block[start + LENGTH..start + LENGTH + length]
    }
    #[inline]
    pub fn get_mut(&mut self, reference: u32) -> &mut [u8] {
        let block = self.arena.block_mut(reference >> 8);
        let start = offset_of(block, reference);
        let length = usize::from(read_u16(block, start));
        &mut block[start + LENGTH..start + LENGTH + length]
    }

    pub fn free(&mut self, reference: u32) {
        let block_id = reference >> 8;
        let slot = (reference & 0xff) as usize;
        let block = self.arena.block_mut(block_id);
        let start = offset_of(block, reference);
        let length = usize::from(read_u16(block, start)) + LENGTH;
        let mut freed = length;
        write_u16(block, HEADER + slot * SLOT, 0);
        if usize::from(read_u16(block, LOW)) == start {
            write_u16(block, LOW, (start + length) as u16);
        }
        let mut slot_count = usize::from(read_u16(block, SLOT_COUNT));
        while 0 < slot_count && read_u16(block, HEADER + (slot_count - 1) * SLOT) == 0 {
            slot_count -= 1;
            freed += SLOT;
        }
        write_u16(block, SLOT_COUNT, slot_count as u16);
        let free = read_u16(block, FREE);
        write_u16(block, FREE, free + freed as u16);
        let used = read_u16(block, USED) - 1;
        write_u16(block, USED, used);
        if used == 0 {
            assert!(slot_count == 0);
            self.unlink(block_id);
            self.arena.free(block_id);
        } else {
            self.classify(block_id);
        }
    }

    /// Gives a record another length, where its block has the room; its bytes are unspecified afterwards. False: nothing
    /// happened. Shrinking always works.
    pub fn resize(&mut self, reference: u32, length: usize) -> bool {
        assert!(length <= RECORD_MAX);
        let block_id = reference >> 8;
        let slot = (reference & 0xff) as usize;
        let block = self.arena.block_mut(block_id);
        let start = offset_of(block, reference);
        let length_old = usize::from(read_u16(block, start));
        let free = usize::from(read_u16(block, FREE));
        if length == length_old {
            return true;
        }
        if free + length_old < length {
            return false;
        }
        if length < length_old {
            write_u16(block, start, length as u16);
            write_u16(block, FREE, (free + length_old - length) as u16);
        } else {
            write_u16(block, HEADER + slot * SLOT, 0);
            write_u16(block, FREE, (free + length_old + LENGTH) as u16);
            place(block, slot, length);
        }
        self.classify(block_id);
        true
    }

    /// Stores the concatenation of `parts` in segments; the reference is that of the first. At least one byte.
    pub fn allocate_chain(&mut self, parts: &[&[u8]]) -> u32 {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        assert!(0 < total);
        let mut bytes = parts.iter().flat_map(|part| part.iter().copied());
        let mut first = NIL;
        let mut last = NIL;
        let mut left = total;
        while 0 < left {
            let length = left.min(SEGMENT_MAX);
            let segment = self.allocate(4 + length);
            let record = self.get_mut(segment);
            write_u32(record, 0, NIL);
            for (target, byte) in record[4..].iter_mut().zip(&mut bytes) {
                *target = byte;
            }
            if last == NIL {
                first = segment;
            } else {
                write_u32(self.get_mut(last), 0, segment);
            }
            last = segment;
            left -= length;
        }
        first
    }
    /// The string of a chain; borrowed when it is one segment.
    #[inline]
    pub fn chain(&self, first: u32) -> Cow<'_, [u8]> {
        let record = self.get(first);
        let mut next = read_u32(record, 0);
        if next == NIL {
            return Cow::Borrowed(&record[4..]);
        }
        let mut bytes = record[4..].to_vec();
        while next != NIL {
            let record = self.get(next);
            bytes.extend_from_slice(&record[4..]);
            next = read_u32(record, 0);
        }
        Cow::Owned(bytes)
    }
    /// The bytes of a chain's first segment: all of a short string, the beginning of a long one.
    pub fn chain_head(&self, first: u32) -> &[u8] {
        &self.get(first)[4..]
    }
    pub fn free_chain(&mut self, first: u32) {
        let mut segment = first;
        while segment != NIL {
            let next = read_u32(self.get(segment), 0);
            self.free(segment);
            segment = next;
        }
    }

    /// A block with `need` bytes free, out of the lists.
    fn find_block(&mut self, need: usize) -> u32 {
        // The classes that surely fit, tightest first; before them the head of the one that may.
        let sure = (0..CLASS_NONE).rev().find(|&class| need <= CLASS_FREE_MIN[class]);
        let perhaps = sure.map_or(0, |class| class + 1);
        if perhaps < CLASS_NONE && self.heads[perhaps] != NIL {
            let block = self.arena.block(self.heads[perhaps]);
            if need <= usize::from(read_u16(block, FREE)) && has_slot(block) {
                return self.heads[perhaps];
            }
        }
        if let Some(sure) = sure {
            for class in (0..=sure).rev() {
                if self.heads[class] != NIL {
                    return self.heads[class];
                }
            }
        }
        let block_id = self.arena.allocate();
        let block = self.arena.block_mut(block_id);
        write_u16(block, SLOT_COUNT, 0);
        write_u16(block, LOW, BLOCK_SIZE as u16);
        write_u16(block, FREE, (BLOCK_SIZE - HEADER) as u16);
        write_u16(block, USED, 0);
        write_u16(block, CLASS, CLASS_NONE as u16);
        block_id
    }

    /// Moves the block to the list of its free bytes, if that changed.
    fn classify(&mut self, block_id: u32) {
        let block = self.arena.block(block_id);
        let free = usize::from(read_u16(block, FREE));
        let class_old = usize::from(read_u16(block, CLASS));
        let class = if has_slot(block) {
            CLASS_FREE_MIN.iter().position(|&free_min| free_min <= free).unwrap_or(CLASS_NONE)
        } else {
            CLASS_NONE
        };
        if class == class_old {
            return;
        }
        self.unlink(block_id);
        let head = if class == CLASS_NONE { NIL } else { self.heads[class] };
        let block = self.arena.block_mut(block_id);
        write_u16(block, CLASS, class as u16);
        write_u32(block, NEXT, head);
        write_u32(block, PREVIOUS, NIL);
        if head != NIL {
            write_u32(self.arena.block_mut(head), PREVIOUS, block_id);
        }
        if class != CLASS_NONE {
            self.heads[class] = block_id;
        }
    }
    fn unlink(&mut self, block_id: u32) {
        let block = self.arena.block(block_id);
        let class = usize::from(read_u16(block, CLASS));
        if class == CLASS_NONE {
            return;
        }
        let (next, previous) = (read_u32(block, NEXT), read_u32(block, PREVIOUS));
        if next != NIL {
            write_u32(self.arena.block_mut(next), PREVIOUS, previous);
        }
        if previous == NIL {
            assert!(self.heads[class] == block_id);
            self.heads[class] = next;
        } else {
            write_u32(self.arena.block_mut(previous), NEXT, next);
        }
    }
}

fn has_slot(block: &Block) -> bool {
    let slot_count = usize::from(read_u16(block, SLOT_COUNT));
    slot_count < SLOT_COUNT_MAX || usize::from(read_u16(block, USED)) < slot_count
}

#[inline]
fn offset_of(block: &Block, reference: u32) -> usize {
    let slot = (reference & 0xff) as usize;
    let start = usize::from(read_u16(block, HEADER + slot * SLOT));
    assert!(start != 0);
    start
}

/// Puts a record of `length` into a slot that is in the directory and has none. The block has the room.
fn place(block: &mut Block, slot: usize, length: usize) {
    let need = length + LENGTH;
    let directory_end = HEADER + usize::from(read_u16(block, SLOT_COUNT)) * SLOT;
    if usize::from(read_u16(block, LOW)) < directory_end + need {
        compact(block);
    }
    let low = usize::from(read_u16(block, LOW)) - need;
    assert!(directory_end <= low);
    write_u16(block, LOW, low as u16);
    write_u16(block, low, length as u16);
    write_u16(block, HEADER + slot * SLOT, low as u16);
    let free = usize::from(read_u16(block, FREE));
    write_u16(block, FREE, (free - need) as u16);
}

/// Moves the records together at the block's end.
fn compact(block: &mut Block) {
    let old = *block;
    let mut low = BLOCK_SIZE;
    for slot in 0..usize::from(read_u16(&old, SLOT_COUNT)) {
        let start = usize::from(read_u16(&old, HEADER + slot * SLOT));
        if start == 0 {
            continue;
        }
        let length = usize::from(read_u16(&old, start)) + LENGTH;
        low -= length;
        block[low..low + length].copy_from_slice(&old[start..start + length]);
        write_u16(block, HEADER + slot * SLOT, low as u16);
    }
    write_u16(block, LOW, low as u16);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Random records, resizes and chains against a list of what they should hold; at the end every page is back.
    #[test]
    fn records_against_a_model() {
        for seed in 0..4 {
            let pool = PagePool::new(1 << 30);
            let mut heap = Heap::new(Arc::clone(&pool));
            let mut random = Random(seed);
            let mut records: Vec<(u32, Vec<u8>)> = Vec::new();
            let mut chains: Vec<(u32, Vec<u8>)> = Vec::new();
            let length_max = [40, 300, 1300, 200][seed as usize];
            let (mut grown, mut refused) = (0, 0);
            for step in 0..30_000u64 {
                let filling = step / 6000 % 2 == 0;
                match random.below(10) {
                    0..=3 if filling || step % 3 == 0 => {
                        let length = random.below(length_max) as usize;
                        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
                        let reference = heap.allocate(length);
                        heap.get_mut(reference).copy_from_slice(&bytes);
                        records.push((reference, bytes));
                    }
                    4 | 5 if !records.is_empty() => {
                        let at = random.below(records.len() as u64) as usize;
                        let length = random.below(length_max) as usize;
                        if heap.resize(records[at].0, length) {
                            grown += usize::from(records[at].1.len() < length);
                            let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
                            heap.get_mut(records[at].0).copy_from_slice(&bytes);
                            records[at].1 = bytes;
                        } else {
                            assert!(records[at].1.len() < length);
                            refused += 1;
                        }
                    }
                    6 if step % 8 == 0 => {
                        let length = 1 + random.below(9000) as usize;
                        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
                        let cut = random.below(length as u64) as usize;
                        chains.push((heap.allocate_chain(&[&bytes[..cut], &bytes[cut..]]), bytes));
                    }
                    7 if !chains.is_empty() && step % 8 == 0 => {
                        let at = random.below(chains.len() as u64) as usize;
                        heap.free_chain(chains.swap_remove(at).0);
                    }
                    _ if !records.is_empty() => {
                        let at = random.below(records.len() as u64) as usize;
                        let (reference, bytes) = records.swap_remove(at);
                        assert_eq!(heap.get(reference), bytes);
                        heap.free(reference);
                    }
                    _ => {}
                }
            }
            assert!(0 < grown);
            assert!(0 < refused);
            for (reference, bytes) in records {
                assert_eq!(heap.get(reference), bytes);
                heap.free(reference);
            }
            for (first, bytes) in chains {
                assert_eq!(heap.chain(first), bytes);
                heap.free_chain(first);
            }
            assert_eq!(heap.heads, [NIL; CLASS_NONE]);
            assert_eq!(pool.used(), 0);
        }
    }

    /// Records of one size fill their blocks: less than 5 % of the pages is not payload and its four bytes of record.
    #[test]
    fn blocks_fill_up() {
        let pool = PagePool::new(1 << 30);
        let mut heap = Heap::new(Arc::clone(&pool));
        for _ in 0..50_000 {
            heap.allocate(215);
        }
        let payload = 50_000.0 * 219.0;
        assert!((pool.used() as f64) < payload * 1.05, "{}", pool.used());
    }
}
