//! The memory of one partition: 4 KiB blocks cut from pages of the node's pool.
//!
//! Records, hash buckets and tree nodes all live in blocks, so that a small table of a hundred rows takes one page and
//! not one for each structure. A page whose last block is freed goes back to the pool at once.
//!
//! A write must fail before it changes anything or not at all. So it first asks [`Arena::admit`] for the most blocks it
//! can need; what the arena does not hold already is promised by the pool, and allocation itself cannot fail.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::sync::Arc;

use types::Space;

use crate::pool::{Admission, MemoryFull, PAGE_SIZE, PageBytes, PagePool};

/// Bytes of a block.
pub const BLOCK_SIZE: usize = 4096;
pub(crate) type Block = [u8; BLOCK_SIZE];
pub(crate) const BLOCKS_PER_PAGE: usize = PAGE_SIZE / BLOCK_SIZE;
const ALL_FREE: u8 = 0xff;
const _: () = assert!(BLOCKS_PER_PAGE == ALL_FREE.count_ones() as usize);

/// Block ids fit in 23 bits (record references need the other 9): 32 GiB a partition.
pub(crate) const BLOCK_COUNT_MAX: usize = (1 << 23) - 1;
const PAGE_COUNT_MAX: usize = BLOCK_COUNT_MAX / BLOCKS_PER_PAGE;

/// Pages of a partition. What must not fail has some that nothing else gets: a replica may need others than its primary for the same rows.
fn page_count_max(admission: Admission) -> usize {
    match admission {
        Admission::Ordinary | Admission::Reusing => PAGE_COUNT_MAX / 16 * 15,
        Admission::Freeing => PAGE_COUNT_MAX / 32 * 31,
        Admission::Loading | Admission::Reserved => PAGE_COUNT_MAX,
    }
}

/// Items by which data is fetched into the cache before its turn: the fetch takes about as long as their work.
pub const PREFETCHED_AHEAD: usize = 16;

/// No block, no record.
pub(crate) const NIL: u32 = u32::MAX;

pub(crate) struct Arena {
    pool: Arc<PagePool>,
    pages: Vec<Option<Box<PageBytes>>>,
    /// A bit per free block of each page; 0 for a page that is not there.
    free: Vec<u8>,
    /// Pages that may have a free block, the one to be used next last. May name pages that are full or gone: they are
    /// skipped when met. `listed` says whether a page is in it.
    open: Vec<u32>,
    listed: Vec<bool>,
    /// Places in `pages` without a page.
    vacant: Vec<u32>,
    free_count: usize,
    page_count: usize,
    /// Pages promised by the pool to the operation under way.
    promised: usize,
}

impl Arena {
    pub fn new(pool: Arc<PagePool>) -> Arena {
        Arena {
            pool,
            pages: Vec::new(),
            free: Vec::new(),
            open: Vec::new(),
            listed: Vec::new(),
            vacant: Vec::new(),
            free_count: 0,
            page_count: 0,
            promised: 0,
        }
    }

    /// Makes sure that `block_count` blocks can be allocated before [`Arena::settle`].
    pub fn admit(&mut self, block_count: usize, admission: Admission) -> Result<(), MemoryFull> {
        assert!(self.promised == 0);
        if block_count <= self.free_count {
            return Ok(());
        }
        let pages = (block_count - self.free_count).div_ceil(BLOCKS_PER_PAGE);
        if page_count_max(admission) < self.page_count + pages {
            return Err(MemoryFull);
        }
        self.pool.promise(pages as u64, admission)?;
        self.promised = pages;
        Ok(())
    }
    /// Ends what [`Arena::admit`] began: promises not used go back.
    pub fn settle(&mut self) {
        if self.promised != 0 {
            self.pool.release_promised(self.promised as u64);
            self.promised = 0;
        }
    }

    /// A block with unspecified bytes. Never refused: beyond the admitted blocks it takes from the pool's reserve.
    pub fn allocate(&mut self) -> u32 {
        loop {
            let Some(&page) = self.open.last() else {
                self.add_page();
                continue;
            };
            let mask = self.free[page as usize];
            if mask == 0 {
                self.open.pop();
                self.listed[page as usize] = false;
                continue;
            }
            let slot = mask.trailing_zeros();
            self.free[page as usize] = mask & (mask - 1);
            self.free_count -= 1;
            self.pool.remove_free_blocks(1);
            return page * BLOCKS_PER_PAGE as u32 + slot;
        }
    }
    pub fn free(&mut self, block: u32) {
        let page = block as usize / BLOCKS_PER_PAGE;
        let bit = 1u8 << (block as usize % BLOCKS_PER_PAGE);
        assert!(self.free[page] & bit == 0);
        self.free[page] |= bit;
        self.free_count += 1;
        self.pool.add_free_blocks(1);
        if self.free[page] == ALL_FREE {
            self.remove_page(page);
        } else if !self.listed[page] {
            self.listed[page] = true;
            self.open.push(page as u32);
        }
    }

    #[inline]
    pub fn block(&self, block: u32) -> &Block {
        let page = self.pages[block as usize / BLOCKS_PER_PAGE].as_ref();
        let start = block as usize % BLOCKS_PER_PAGE * BLOCK_SIZE;
        let bytes = &page.expect("a block in use has its page")[start..start + BLOCK_SIZE];
        bytes.try_into().expect("BLOCK_SIZE bytes")
    }
    #[inline]
    pub fn block_mut(&mut self, block: u32) -> &mut Block {
        let page = self.pages[block as usize / BLOCKS_PER_PAGE].as_mut();
        let start = block as usize % BLOCKS_PER_PAGE * BLOCK_SIZE;
        let bytes = &mut page.expect("a block in use has its page")[start..start + BLOCK_SIZE];
        bytes.try_into().expect("BLOCK_SIZE bytes")
    }

    /// Has the processor fetch the bytes about this one of a block, and does not wait for them.
    #[inline]
    pub fn prefetch(&self, block: u32, at: usize) {
        let byte = &self.block(block)[at];
        // SAFETY: nothing is read or written for it, and the address is that of a byte.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast());
        }
        // Other processors cannot be asked yet in stable Rust. To read it does as well, but that it is waited for then.
        #[cfg(not(target_arch = "x86_64"))]
        std::hint::black_box(*byte);
    }

    /// What is in use of it.
    pub fn taken(&self) -> Space {
        let blocks = self.page_count * BLOCKS_PER_PAGE - self.free_count;
        Space { pages: self.page_count as u64, blocks: blocks as u64 }
    }
    /// Bytes of the pages and of the table that finds them.
    pub fn memory_bytes(&self) -> u64 {
        let table_entry = size_of::<Option<Box<PageBytes>>>() + 2;
        (self.page_count * PAGE_SIZE + self.pages.len() * table_entry) as u64
    }

    fn add_page(&mut self) {
        if self.promised == 0 {
            self.pool.promise(1, Admission::Reserved).expect("a reserved promise is never refused");
        } else {
            self.promised -= 1;
        }
        let bytes = self.pool.take_promised();
        let page = match self.vacant.pop() {
            Some(page) => page as usize,
            None => {
                assert!(self.pages.len() < PAGE_COUNT_MAX);
                self.pages.push(None);
                self.free.push(0);
                self.listed.push(false);
                self.pages.len() - 1
            }
        };
        assert!(self.pages[page].is_none());
        self.pages[page] = Some(bytes);
        self.free[page] = ALL_FREE;
        self.free_count += BLOCKS_PER_PAGE;
        self.pool.add_free_blocks(BLOCKS_PER_PAGE);
        self.page_count += 1;
        if !self.listed[page] {
            self.listed[page] = true;
            self.open.push(page as u32);
        }
    }
    fn remove_page(&mut self, page: usize) {
        let bytes = self.pages[page].take().expect("a page with free blocks is there");
        self.pool.give_back(bytes);
        self.free[page] = 0;
        self.free_count -= BLOCKS_PER_PAGE;
        self.pool.remove_free_blocks(BLOCKS_PER_PAGE);
        self.page_count -= 1;
        self.vacant.push(page as u32);
        if self.page_count == 0 {
            self.pages = Vec::new();
            self.free = Vec::new();
            self.open = Vec::new();
            self.listed = Vec::new();
            self.vacant = Vec::new();
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.settle();
        self.pool.remove_free_blocks(self.free_count);
        for bytes in self.pages.drain(..).flatten() {
            self.pool.give_back(bytes);
        }
    }
}

#[inline]
pub(crate) fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}
#[inline]
pub(crate) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
#[inline]
pub(crate) fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
#[inline]
pub(crate) fn write_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}
#[inline]
pub(crate) fn write_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}
#[inline]
pub(crate) fn write_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Random allocation and freeing: no block is given out twice, contents stay, and the pool sees every page come back.
    #[test]
    fn blocks_against_a_model() {
        let pool = PagePool::new(1 << 30);
        let mut arena = Arena::new(Arc::clone(&pool));
        let empty = pool.left_for_writes();
        let mut model: Vec<(u32, u8)> = Vec::new();
        let mut random = Random(7);
        for step in 0..20_000u32 {
            let grow = if step / 4000 % 2 == 0 { 6 } else { 4 };
            if model.is_empty() || random.below(10) < grow {
                let block = arena.allocate();
                assert!(model.iter().all(|&(other, _)| other != block));
                arena.block_mut(block).fill(step as u8);
                model.push((block, step as u8));
            } else {
                let (block, fill) = model.swap_remove(random.below(model.len() as u64) as usize);
                assert!(arena.block(block).iter().all(|&byte| byte == fill));
                arena.free(block);
            }
            let taken = Space { pages: pool.used() / PAGE_SIZE as u64, blocks: model.len() as u64 };
            assert_eq!(arena.taken(), taken);
            let left = pool.left_for_writes().blocks;
            assert_eq!(left, empty.blocks - taken.blocks);
        }
        for (block, _) in model {
            arena.free(block);
        }
        assert_eq!((pool.used(), pool.left_for_writes()), (0, empty));
        assert_eq!(arena.memory_bytes(), 0);
    }

    /// What was admitted is there whatever others take meanwhile, and what was not used goes back.
    #[test]
    fn admitted_blocks_are_promised() {
        let pool = PagePool::new(10 * PAGE_SIZE as u64);
        let mut arena = Arena::new(Arc::clone(&pool));
        assert_eq!(arena.admit(73, Admission::Ordinary), Err(MemoryFull));
        assert_eq!(pool.used(), 0);
        assert_eq!(arena.admit(72, Admission::Ordinary), Ok(()));
        assert!(pool.try_allocate().is_err());
        for _ in 0..9 {
            arena.allocate();
        }
        arena.settle();
        assert_eq!(pool.used(), 2 * PAGE_SIZE as u64);
        // Seven blocks are free in its two pages: half of the page that is kept back counts of these.
        assert_eq!(pool.left_for_writes(), Space { pages: 7, blocks: 7 * 8 + 4 });
        drop(arena);
        assert_eq!(pool.used(), 0);
        assert_eq!(pool.left_for_writes(), Space { pages: 9, blocks: 9 * 8 });
    }

    /// Near the most that a partition may have, writes are refused first, then deletions; what must not fail has the rest.
    #[test]
    fn the_last_pages_are_for_what_must_not_fail() {
        let pool = PagePool::new(2 * (PAGE_COUNT_MAX * PAGE_SIZE) as u64);
        let mut arena = Arena::new(Arc::clone(&pool));
        let mut most = |admission: Admission| {
            let mut fits = |pages: &usize| {
                let admitted = arena.admit(pages * BLOCKS_PER_PAGE, admission);
                arena.settle();
                admitted.is_ok()
            };
            (1..=16).map(|part| PAGE_COUNT_MAX / 32 * (16 + part)).filter(|pages| fits(pages)).max()
        };
        let part = |count: usize| Some(PAGE_COUNT_MAX / 32 * count);
        assert_eq!((most(Admission::Ordinary), most(Admission::Reusing)), (part(30), part(30)));
        assert_eq!(most(Admission::Freeing), part(31));
        assert_eq!((most(Admission::Loading), most(Admission::Reserved)), (part(32), part(32)));
        assert_eq!(pool.used(), 0);
    }
}
