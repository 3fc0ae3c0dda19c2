//! Records of any length in 4 KiB blocks, and chains of segments for those that are longer.
//!
//! ```text
//!   block:      first free u16 | used u16 | largest u16 | class u16 | next u32 | previous u32 | records and free runs ...
//!   record:     length u16 | bytes, padded to 8         free run: size u16 | offset of the next one u16
//!   reference:  block (23 bits) | offset / 8 (9 bits)
//! ```
//!
//! A reference is an address: a look-up touches the record's cache line and no directory of slots, which at a million rows is one
//! miss of three. The price is that records never move, so a block's free bytes are runs, kept in order and joined with their
//! neighbours. Blocks with room hang in lists by their largest run, so that finding a place costs a list head and no
//! search. The tightest list that surely fits is taken first: blocks fill up, and sparse ones get the chance to empty.
//!
//! A record is at most [`RECORD_MAX`] bytes, a third of a block, so that no block is left half empty by its neighbours'
//! size; longer strings are cut into segments, each a record of its own with the reference of the next in front.

use std::borrow::Cow;
use std::sync::Arc;

use crate::arena::{Arena, BLOCK_SIZE, Block, NIL, read_u16, read_u32, write_u16, write_u32};
use crate::pool::PagePool;

/// Longest record.
pub(crate) const RECORD_MAX: usize = (BLOCK_SIZE - HEADER) / 3 / UNIT * UNIT - LENGTH;
/// Most bytes of a string in one segment.
const SEGMENT_MAX: usize = RECORD_MAX - 4;

const FIRST_FREE: usize = 0;
const USED: usize = 2;
const LARGEST: usize = 4;
const CLASS: usize = 6;
const NEXT: usize = 8;
const PREVIOUS: usize = 12;
const HEADER: usize = 16;
const LENGTH: usize = 2;
/// Bytes that a processor fetches at a time, on most of them.
const LINE: usize = 64;
const UNIT: usize = 8;
/// Bits of a reference that say where in its block the record is.
const OFFSET_BITS: u32 = 9;
const _: () = assert!(BLOCK_SIZE == UNIT << OFFSET_BITS);
const _: () = assert!(crate::arena::BLOCK_COUNT_MAX < 1 << (u32::BITS - OFFSET_BITS));

/// A block of class c has a free run of at least CLASS_RUN_MIN[c] bytes; blocks with less are in no list.
const CLASS_RUN_MIN: [usize; 12] = [2048, 1448, 1024, 720, 512, 360, 256, 176, 128, 88, 64, 40];
const CLASS_NONE: usize = CLASS_RUN_MIN.len();

pub(crate) struct Heap {
    pub arena: Arena,
    /// First block of each class, or NIL.
    heads: [u32; CLASS_NONE],
}

/// Bytes a record of this length takes.
fn size_of_record(length: usize) -> usize {
    (length + LENGTH).next_multiple_of(UNIT)
}

impl Heap {
    pub fn new(pool: Arc<PagePool>) -> Heap {
        Heap { arena: Arena::new(pool), heads: [NIL; CLASS_NONE] }
    }

    /// The most blocks that storing a string of `length` bytes can take, as a record or as segments.
    pub fn blocks_needed(length: usize) -> usize {
        1 + length / SEGMENT_MAX
    }

    /// Can a record of this length be stored where others have left room, in a block that there is?
    pub fn has_room(&self, length: usize) -> bool {
        length <= RECORD_MAX && self.block_with_room(size_of_record(length)).is_some()
    }

    /// A record of `length` unspecified bytes.
    pub fn allocate(&mut self, length: usize) -> u32 {
        assert!(length <= RECORD_MAX);
        let size = size_of_record(length);
        let block_id = self.find_block(size);
        let block = self.arena.block_mut(block_id);
        let offset = take_run(block, size);
        write_u16(block, offset, length as u16);
        let used = read_u16(block, USED);
        write_u16(block, USED, used + 1);
        self.classify(block_id);
        (block_id << OFFSET_BITS) | (offset / UNIT) as u32
    }

    #[inline]
    pub fn get(&self, reference: u32) -> &[u8] {
        let (block_id, offset) = locate(reference);
        let block = self.arena.block(block_id);
        let length = usize::from(read_u16(block, offset));
        &block[offset + LENGTH..offset + LENGTH + length]
    }
    /// Has the processor fetch where a record begins, which is looked at soon.
    #[inline]
    pub fn prefetch(&self, reference: u32) {
        let (block_id, offset) = locate(reference);
        self.arena.prefetch(block_id, offset);
        self.arena.prefetch(block_id, (offset + LINE).min(BLOCK_SIZE - 1));
    }
    #[inline]
    pub fn get_mut(&mut self, reference: u32) -> &mut [u8] {
        let (block_id, offset) = locate(reference);
        let block = self.arena.block_mut(block_id);
        let length = usize::from(read_u16(block, offset));
        &mut block[offset + LENGTH..offset + LENGTH + length]
    }

    pub fn free(&mut self, reference: u32) {
        let (block_id, offset) = locate(reference);
        let block = self.arena.block_mut(block_id);
        let size = size_of_record(usize::from(read_u16(block, offset)));
        let used = read_u16(block, USED) - 1;
        write_u16(block, USED, used);
        free_run(block, offset, size);
        if used == 0 {
            assert!(usize::from(read_u16(block, LARGEST)) == BLOCK_SIZE - HEADER);
            self.unlink(block_id);
            self.arena.free(block_id);
        } else {
            self.classify(block_id);
        }
    }

    /// Gives a record another length, where there is room behind it; the bytes up to the shorter length stay. False:
    /// nothing happened. Shrinking always works.
    pub fn resize(&mut self, reference: u32, length: usize) -> bool {
        assert!(length <= RECORD_MAX);
        let (block_id, offset) = locate(reference);
        let block = self.arena.block_mut(block_id);
        let size_old = size_of_record(usize::from(read_u16(block, offset)));
        let size = size_of_record(length);
        if size < size_old {
            free_run(block, offset + size, size_old - size);
        } else if size_old < size && !extend_into_run(block, offset + size_old, size - size_old) {
            return false;
        }
        write_u16(block, offset, length as u16);
        if size != size_old {
            self.classify(block_id);
        }
        true
    }

    /// Stores the concatenation of `parts` in segments; the reference is that of the first. At least one byte.
    pub fn allocate_chain(&mut self, parts: &[&[u8]]) -> u32 {
        let mut left: usize = parts.iter().map(|part| part.len()).sum();
        assert!(0 < left);
        let mut parts = parts.iter().copied();
        let mut part: &[u8] = &[];
        let (mut first, mut last) = (NIL, NIL);
        while 0 < left {
            let length = left.min(SEGMENT_MAX);
            let segment = self.allocate(4 + length);
            let record = self.get_mut(segment);
            write_u32(record, 0, NIL);
            let mut target = &mut record[4..];
            while !target.is_empty() {
                if part.is_empty() {
                    part = parts.next().expect("the parts have as many bytes as were counted");
                    continue;
                }
                let count = part.len().min(target.len());
                let (now, later) = part.split_at(count);
                let (here, behind) = target.split_at_mut(count);
                here.copy_from_slice(now);
                (part, target) = (later, behind);
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
    /// The string of a chain without its first `skip` bytes; borrowed when it is one segment.
    #[inline]
    pub fn chain(&self, first: u32, skip: usize) -> Cow<'_, [u8]> {
        let record = self.get(first);
        if read_u32(record, 0) == NIL {
            return Cow::Borrowed(&record[4 + skip..]);
        }
        let mut bytes = Vec::with_capacity(self.chain_length(first) - skip);
        let mut skip = skip;
        for segment in self.segments(first) {
            let left_out = skip.min(segment.len());
            bytes.extend_from_slice(&segment[left_out..]);
            skip -= left_out;
        }
        Cow::Owned(bytes)
    }
    pub fn chain_length(&self, first: u32) -> usize {
        self.segments(first).map(<[u8]>::len).sum()
    }
    fn segments(&self, first: u32) -> impl Iterator<Item = &[u8]> {
        let mut next = first;
        std::iter::from_fn(move || {
            let record = (next != NIL).then(|| self.get(next))?;
            next = read_u32(record, 0);
            Some(&record[4..])
        })
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

    /// A block that there is with a free run of `size` bytes, if one is found without a search.
    fn block_with_room(&self, size: usize) -> Option<u32> {
        // The classes that surely fit, tightest first; before them the head of the one that may.
        let sure = (0..CLASS_NONE).rev().find(|&class| size <= CLASS_RUN_MIN[class]);
        let perhaps = sure.map_or(0, |class| class + 1);
        if perhaps < CLASS_NONE && self.heads[perhaps] != NIL {
            let block = self.arena.block(self.heads[perhaps]);
            if size <= usize::from(read_u16(block, LARGEST)) {
                return Some(self.heads[perhaps]);
            }
        }
        let class = (0..=sure?).rev().find(|&class| self.heads[class] != NIL)?;
        Some(self.heads[class])
    }

    /// A block with a free run of `size` bytes.
    fn find_block(&mut self, size: usize) -> u32 {
        if let Some(block_id) = self.block_with_room(size) {
            return block_id;
        }
        let block_id = self.arena.allocate();
        let block = self.arena.block_mut(block_id);
        write_u16(block, FIRST_FREE, 0);
        write_u16(block, USED, 0);
        write_u16(block, LARGEST, 0);
        write_u16(block, CLASS, CLASS_NONE as u16);
        free_run(block, HEADER, BLOCK_SIZE - HEADER);
        block_id
    }

    /// Moves the block to the list of its largest run, if that changed.
    fn classify(&mut self, block_id: u32) {
        let block = self.arena.block(block_id);
        let largest = usize::from(read_u16(block, LARGEST));
        let class_old = usize::from(read_u16(block, CLASS));
        let class =
            CLASS_RUN_MIN.iter().position(|&run_min| run_min <= largest).unwrap_or(CLASS_NONE);
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

/// The block of a record, and where in it the record is.
#[inline]
fn locate(reference: u32) -> (u32, usize) {
    let offset = (reference & ((1 << OFFSET_BITS) - 1)) as usize * UNIT;
    (reference >> OFFSET_BITS, offset)
}

fn run_size(block: &Block, run: usize) -> usize {
    usize::from(read_u16(block, run))
}
fn run_next(block: &Block, run: usize) -> usize {
    usize::from(read_u16(block, run + 2))
}
/// Makes `next` follow the run `previous`, or be the first when that is 0.
fn link_run(block: &mut Block, previous: usize, next: usize) {
    let at = if previous == 0 { FIRST_FREE } else { previous + 2 };
    write_u16(block, at, next as u16);
}

/// Takes `size` bytes out of the tightest run that has them, and there is one. Their offset.
fn take_run(block: &mut Block, size: usize) -> usize {
    let mut best: Option<(usize, usize)> = None;
    let mut largest_other = 0;
    let (mut previous, mut run) = (0, usize::from(read_u16(block, FIRST_FREE)));
    while run != 0 {
        let run_bytes = run_size(block, run);
        match best {
            _ if run_bytes < size => largest_other = largest_other.max(run_bytes),
            Some((_, best_run)) if run_size(block, best_run) <= run_bytes => {
                largest_other = largest_other.max(run_bytes);
            }
            Some((_, best_run)) => {
                largest_other = largest_other.max(run_size(block, best_run));
                best = Some((previous, run));
            }
            None => best = Some((previous, run)),
        }
        (previous, run) = (run, run_next(block, run));
    }
    let (previous, run) = best.expect("the block was chosen for its largest run");
    let rest = run_size(block, run) - size;
    let next = run_next(block, run);
    if rest == 0 {
        link_run(block, previous, next);
    } else {
        write_u16(block, run + size, rest as u16);
        write_u16(block, run + size + 2, next as u16);
        link_run(block, previous, run + size);
    }
    write_u16(block, LARGEST, largest_other.max(rest) as u16);
    run
}

/// Makes a free run of `size` bytes at `offset`, joined with the ones it touches.
fn free_run(block: &mut Block, offset: usize, size: usize) {
    let (mut previous, mut next) = (0, usize::from(read_u16(block, FIRST_FREE)));
    while next != 0 && next < offset {
        (previous, next) = (next, run_next(block, next));
    }
    let (mut run, mut run_bytes) = (offset, size);
    let mut after = next;
    if next != 0 {
        assert!(offset + size <= next);
        if offset + size == next {
            run_bytes += run_size(block, next);
            after = run_next(block, next);
        }
    }
    if previous != 0 {
        let previous_end = previous + run_size(block, previous);
        assert!(previous_end <= offset);
        if previous_end == offset {
            run_bytes += offset - previous;
            run = previous;
        }
    }
    if run == offset {
        link_run(block, previous, run);
    }
    write_u16(block, run, run_bytes as u16);
    write_u16(block, run + 2, after as u16);
    if usize::from(read_u16(block, LARGEST)) < run_bytes {
        write_u16(block, LARGEST, run_bytes as u16);
    }
}

/// Takes `size` bytes off the front of the run at `offset`, if there is one with as many.
fn extend_into_run(block: &mut Block, offset: usize, size: usize) -> bool {
    let (mut previous, mut run) = (0, usize::from(read_u16(block, FIRST_FREE)));
    while run != 0 && run < offset {
        (previous, run) = (run, run_next(block, run));
    }
    if run != offset || run_size(block, run) < size {
        return false;
    }
    let rest = run_size(block, run) - size;
    let next = run_next(block, run);
    if rest == 0 {
        link_run(block, previous, next);
    } else {
        write_u16(block, run + size, rest as u16);
        write_u16(block, run + size + 2, next as u16);
        link_run(block, previous, run + size);
    }
    let mut largest = 0;
    run = usize::from(read_u16(block, FIRST_FREE));
    while run != 0 {
        largest = largest.max(run_size(block, run));
        run = run_next(block, run);
    }
    write_u16(block, LARGEST, largest as u16);
    true
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
                            grown += usize::from(records[at].1.len() + 8 < length);
                            let kept = length.min(records[at].1.len());
                            assert_eq!(heap.get(records[at].0)[..kept], records[at].1[..kept]);
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
                let skip = random.below(bytes.len() as u64 + 1) as usize;
                assert_eq!(heap.chain(first, 0), bytes);
                assert_eq!(*heap.chain(first, skip), bytes[skip..]);
                assert_eq!(heap.chain_length(first), bytes.len());
                heap.free_chain(first);
            }
            assert_eq!(heap.heads, [NIL; CLASS_NONE]);
            assert_eq!(pool.used(), 0);
        }
    }

    /// Records of one size fill their blocks: less than 6 % of the pages is not records and their padding.
    #[test]
    fn blocks_fill_up() {
        let pool = PagePool::new(1 << 30);
        let mut heap = Heap::new(Arc::clone(&pool));
        for _ in 0..50_000 {
            heap.allocate(213);
        }
        let payload = 50_000.0 * 216.0;
        assert!((pool.used() as f64) < payload * 1.06, "{}", pool.used());
    }
}
