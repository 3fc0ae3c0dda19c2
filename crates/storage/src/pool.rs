//! The node's memory for rows and indexes: one pool of pages that all partitions of all threads take from.
//!
//! A page is counted when it is taken and uncounted when it is dropped, and then serves the next
//! taker, of any table. A filled pool has all its pages and keeps them, but for the memory that
//! transactions keep beside them ([`Charge`]); another takes pages from the allocator on demand,
//! and returns all but a few. A tenth of the limit is withheld from ordinary writes (but for a
//! quarter of it, if they fit into room that others have left). Deletions, the way out of a full
//! memory, and work that must not fail any more (commit, rollback, a replica's apply, clean-up)
//! take from it, and pass the limit when even that is used up: refusing there would lose an
//! admitted transaction. A deletion takes 24 bytes until no reader can see the row any more. The
//! pool counts such pages, so that admission stops until they are back.
//!
//! A server fills its pool from its start on: memory that is taken from the system in the middle of
//! a large change costs other sessions milliseconds, because the system finds and clears it 2 MiB at
//! a time while the worker waits; and a machine that lacks the memory that the node was promised
//! shows it soon, not when it is full of rows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use types::Space;

use crate::arena::BLOCKS_PER_PAGE;

/// Bytes of a page.
pub const PAGE_SIZE: usize = 32 * 1024;
pub(crate) type PageBytes = [u8; PAGE_SIZE];

/// Pages that a pool which is not filled keeps for the next taker: 2 MiB, small beside any pool worth having.
const SPARE_COUNT_MAX: usize = 64;

/// The least page of memory that a system hands out, in bytes.
const SYSTEM_PAGE_SIZE: usize = 4_096;

/// The pool has no page for an ordinary write. The write changed nothing; deletes and commits still work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFull;

impl std::fmt::Display for MemoryFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the node's data memory is full")
    }
}
impl std::error::Error for MemoryFull {}

/// The system has no memory for the pages that a pool was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemMemoryFull;

/// Who asks for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// A write that may still be refused.
    Ordinary,
    /// The same, of a row that fits into what others have left: it takes a page only if an index grows. Without a part of the reserve
    /// for it, nothing could be written into a table that was full, and of which every block has some row left.
    Reusing,
    /// A deletion: refused only where a partition ends, a little before what must not fail.
    Freeing,
    /// What the disk has: refused at the limit itself. When it was written it was within the limit, but with what must not fail, and
    /// deletions, it may have come into the reserve.
    Loading,
    /// What must not fail.
    Reserved,
}

/// The pages of a node, shared by its threads.
pub struct PagePool {
    page_count_max: u64,
    /// What ordinary writes may bring `page_count` to: nine tenths of the above.
    ordinary_count_max: u64,
    /// What writes into the room of others may bring it to.
    reusing_count_max: u64,
    /// Pages taken or promised. May pass `page_count_max` by what the reserve could not cover.
    page_count: AtomicU64,
    /// Blocks that partitions have free in their pages.
    free_block_count: AtomicU64,
    spare: Mutex<Spare>,
}

/// Free pages.
struct Spare {
    pages: Vec<Box<PageBytes>>,
    /// More than these go back to the allocator.
    count_max: usize,
    /// The pool has had all its pages.
    is_filled: bool,
    /// Pages in use. With the free ones there are no more than the limit.
    taken: usize,
}

impl PagePool {
    /// A pool of `limit_bytes`, rounded down to pages.
    pub fn new(limit_bytes: u64) -> Arc<PagePool> {
        let page_count_max = limit_bytes / PAGE_SIZE as u64;
        let reserve = page_count_max.div_ceil(10);
        Arc::new(PagePool {
            page_count_max,
            ordinary_count_max: page_count_max - reserve,
            reusing_count_max: page_count_max - reserve + reserve / 4,
            page_count: AtomicU64::new(0),
            free_block_count: AtomicU64::new(0),
            spare: Mutex::new(Spare {
                pages: Vec::new(),
                count_max: SPARE_COUNT_MAX,
                is_filled: false,
                taken: 0,
            }),
        })
    }
    /// Takes up to `page_count` pages of the pool's memory from the system, for good; false once
    /// all of it has been taken. Threads call it repeatedly, while pages are taken and come back: a
    /// taker that finds no free page makes one itself. The system clears the memory in the calling
    /// thread: a gigabyte took 75 to 130 ms where it was measured (a virtual machine with huge
    /// pages), and 2.4 s when the machine itself had to be given the memory first.
    pub fn fill(&self, page_count: usize) -> Result<bool, SystemMemoryFull> {
        let limit = usize::try_from(self.page_count_max).expect("less than the address space");
        // Pages in use by now count as filled.
        let missing = |spare: &Spare| limit.saturating_sub(spare.taken + spare.pages.len());
        let count = {
            let mut spare = self.spare_pages();
            spare.count_max = limit;
            missing(&spare).min(page_count)
        };
        let pages: Option<Vec<_>> = (0..count).map(|_| try_filled_page()).collect();
        let mut pages = pages.ok_or(SystemMemoryFull)?;
        let mut spare = self.spare_pages();
        // Others may have filled it meanwhile.
        let kept = missing(&spare).min(count);
        spare.pages.extend(pages.drain(..kept));
        spare.is_filled |= missing(&spare) == 0;
        Ok(!spare.is_filled)
    }
    /// Bytes that the next takers need not wait for.
    pub fn spare(&self) -> u64 {
        (self.spare_pages().pages.len() * PAGE_SIZE) as u64
    }

    /// Bytes of the pages taken.
    pub fn used(&self) -> u64 {
        self.page_count.load(Ordering::Relaxed) * PAGE_SIZE as u64
    }
    /// Bytes the pool may take, reserve included.
    pub fn limit(&self) -> u64 {
        self.page_count_max * PAGE_SIZE as u64
    }
    /// Bytes that are left of it, reserve included.
    pub fn left(&self) -> u64 {
        self.limit().saturating_sub(self.used())
    }
    /// Room for further writes, including those into the room of other rows: pages, and the blocks
    /// of these and of those that partitions have, whichever these are. Of the latter no more than
    /// half of the reserve counts: the next rows may be for other partitions, and then take pages.
    pub fn left_for_writes(&self) -> Space {
        let taken = self.page_count.load(Ordering::Relaxed);
        let in_pages = BLOCKS_PER_PAGE as u64;
        let free_max = (self.page_count_max - self.reusing_count_max) * in_pages / 2;
        let free = self.free_block_count.load(Ordering::Relaxed).min(free_max);
        let blocks = self.reusing_count_max * in_pages + free;
        Space {
            pages: self.reusing_count_max.saturating_sub(taken),
            blocks: blocks.saturating_sub(taken * in_pages),
        }
    }
    pub(crate) fn add_free_blocks(&self, count: usize) {
        self.free_block_count.fetch_add(count as u64, Ordering::Relaxed);
    }
    pub(crate) fn remove_free_blocks(&self, count: usize) {
        self.free_block_count.fetch_sub(count as u64, Ordering::Relaxed);
    }
    /// A page for an ordinary write. Its bytes are zero or what its last owner left.
    pub fn try_allocate(self: &Arc<Self>) -> Result<Page, MemoryFull> {
        self.promise(1, Admission::Ordinary)?;
        Ok(Page { bytes: Some(self.take_promised()), pool: Arc::clone(self) })
    }
    /// A page for what must not fail; goes into the reserve, and past the limit if it must.
    pub fn allocate_reserved(self: &Arc<Self>) -> Page {
        self.promise(1, Admission::Reserved).expect("a reserved promise is never refused");
        Page { bytes: Some(self.take_promised()), pool: Arc::clone(self) }
    }

    /// Counts `count` pages as taken; each is then fetched by `take_promised` or given up by `release_promised`.
    pub(crate) fn promise(&self, count: u64, admission: Admission) -> Result<(), MemoryFull> {
        let count_max = match admission {
            Admission::Ordinary => self.ordinary_count_max,
            Admission::Reusing => self.reusing_count_max,
            Admission::Loading => self.page_count_max,
            Admission::Freeing | Admission::Reserved => u64::MAX,
        };
        self.page_count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                (taken + count <= count_max).then_some(taken + count)
            })
            .map(|_| ())
            .map_err(|_| MemoryFull)
    }
    pub(crate) fn release_promised(&self, count: u64) {
        let before = self.page_count.fetch_sub(count, Ordering::Relaxed);
        assert!(count <= before);
    }
    pub(crate) fn take_promised(&self) -> Box<PageBytes> {
        let spare = {
            let mut spare = self.spare_pages();
            spare.taken += 1;
            spare.pages.pop()
        };
        spare.unwrap_or_else(new_page)
    }
    pub(crate) fn give_back(&self, bytes: Box<PageBytes>) {
        self.release_promised(1);
        let mut spare = self.spare_pages();
        spare.taken -= 1;
        let limit = usize::try_from(self.page_count_max).expect("less than the address space");
        if spare.pages.len() < spare.count_max && spare.pages.len() + spare.taken < limit {
            spare.pages.push(bytes);
        }
    }
    /// Gives up the memory of promised pages: a transaction has as much elsewhere.
    fn trade_promised(&self, count: u64) {
        let given_up = {
            let mut spare = self.spare_pages();
            spare.taken += count as usize;
            let kept = spare.pages.len().saturating_sub(count as usize);
            spare.pages.split_off(kept)
        };
        drop(given_up);
    }
    /// They may be taken again. A pool that was filled has their memory again, too.
    fn trade_back(&self, count: u64) {
        self.release_promised(count);
        let limit = usize::try_from(self.page_count_max).expect("less than the address space");
        let missing = {
            let mut spare = self.spare_pages();
            spare.taken -= count as usize;
            // Otherwise the threads that fill it bring the missing pages.
            let missing = limit.saturating_sub(spare.pages.len() + spare.taken);
            if spare.is_filled { missing.min(count as usize) } else { 0 }
        };
        for _ in 0..missing {
            let page = filled_page();
            let mut spare = self.spare_pages();
            if spare.pages.len() + spare.taken < limit {
                spare.pages.push(page);
            }
        }
    }
    fn spare_pages(&self) -> std::sync::MutexGuard<'_, Spare> {
        // A thread that panicked between push and pop leaves a usable list: it holds whole pages only.
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A page of memory that is there: something was written to it.
fn filled_page() -> Box<PageBytes> {
    filled(new_page())
}

/// The same; `None` if the system refuses it.
fn try_filled_page() -> Option<Box<PageBytes>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(PAGE_SIZE).ok()?;
    bytes.resize(PAGE_SIZE, 0u8);
    Some(filled(bytes.into_boxed_slice().try_into().expect("PAGE_SIZE bytes were asked for")))
}

fn filled(mut bytes: Box<PageBytes>) -> Box<PageBytes> {
    for at in (0..PAGE_SIZE).step_by(SYSTEM_PAGE_SIZE) {
        // A zero that the compiler knows is left out.
        bytes[at] = std::hint::black_box(0);
    }
    bytes
}

fn new_page() -> Box<PageBytes> {
    // Through a vector: a 32 KiB array would be built on the stack first.
    let bytes = vec![0u8; PAGE_SIZE].into_boxed_slice();
    bytes.try_into().expect("PAGE_SIZE bytes were asked for")
}

impl std::fmt::Debug for PagePool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PagePool({} of {} bytes)", self.used(), self.limit())
    }
}

/// Memory of the allocator that counts as the pool's: for each whole page of it the pool has one less. Less than a page is not
/// counted, so that short transactions, the common case, need not ask.
#[derive(Default)]
pub struct Charge {
    bytes: u64,
    pages: u64,
    /// There is one when there are pages.
    pool: Option<Arc<PagePool>>,
}

impl Charge {
    /// Adds bytes. Refused, nothing has changed; a request that is not `refusable` passes the limit.
    pub fn add(
        &mut self,
        pool: &Arc<PagePool>,
        bytes: usize,
        refusable: bool,
    ) -> Result<(), MemoryFull> {
        let more = ((self.bytes + bytes as u64) / PAGE_SIZE as u64).saturating_sub(self.pages);
        if 0 < more {
            // Rows may be written into room that others have left while no more pages are to be had.
            let admission = if refusable { Admission::Reusing } else { Admission::Freeing };
            pool.promise(more, admission)?;
            pool.trade_promised(more);
            self.pages += more;
            self.pool.get_or_insert_with(|| Arc::clone(pool));
        }
        self.bytes += bytes as u64;
        Ok(())
    }
    /// Removes bytes. Pages are returned when enough more is free that they are not requested again at once.
    pub fn remove(&mut self, bytes: usize) {
        self.bytes -= bytes as u64;
        let needed = self.bytes / PAGE_SIZE as u64 + 1;
        if needed < self.pages {
            self.give_back(self.pages - needed);
        }
    }
    fn give_back(&mut self, pages: u64) {
        self.pages -= pages;
        self.pool.as_ref().expect("pages are some pool's").trade_back(pages);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if 0 < self.pages {
            self.give_back(self.pages);
        }
    }
}

/// A page; goes back to its pool when dropped.
pub struct Page {
    /// `None` only while dropping.
    bytes: Option<Box<PageBytes>>,
    pool: Arc<PagePool>,
}

impl std::ops::Deref for Page {
    type Target = [u8; PAGE_SIZE];
    fn deref(&self) -> &Self::Target {
        self.bytes.as_ref().expect("a live page has its bytes")
    }
}
impl std::ops::DerefMut for Page {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.bytes.as_mut().expect("a live page has its bytes")
    }
}
impl Drop for Page {
    fn drop(&mut self) {
        self.pool.give_back(self.bytes.take().expect("a page is dropped once"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ordinary pages stop at nine tenths, reserved ones do not stop, and every page dropped is uncounted at once.
    #[test]
    fn reserve_is_kept_back() {
        let pool = PagePool::new(20 * PAGE_SIZE as u64 + 5);
        assert_eq!(pool.limit(), 20 * PAGE_SIZE as u64);
        let mut pages = Vec::new();
        while let Ok(page) = pool.try_allocate() {
            pages.push(page);
        }
        assert_eq!(pages.len(), 18);
        assert_eq!(pool.left(), 2 * PAGE_SIZE as u64);
        for _ in 0..4 {
            pages.push(pool.allocate_reserved());
        }
        assert_eq!((pool.used(), pool.left()), (22 * PAGE_SIZE as u64, 0));
        assert_eq!(pool.promise(1, Admission::Loading), Err(MemoryFull));
        pages.truncate(17);
        assert!(pool.try_allocate().is_ok());
        assert_eq!(pool.promise(3, Admission::Loading), Ok(()), "what the disk has may fill it");
        pool.release_promised(3);
        drop(pages);
        assert_eq!(pool.used(), 0);
    }

    /// A filled pool has every page it may give, keeps returned ones, and drops pages beyond its limit.
    #[test]
    fn filled_pool_keeps_its_pages() {
        let pool = PagePool::new(20 * PAGE_SIZE as u64);
        let early = pool.try_allocate().expect("there is room");
        let spare_count = || pool.spare_pages().pages.len();
        for (filled, has_more) in [(6, true), (12, true), (18, true), (19, false), (19, false)] {
            assert_eq!(pool.fill(6), Ok(has_more));
            assert_eq!(spare_count(), filled);
        }
        let mut pages: Vec<_> = (0..22).map(|_| pool.allocate_reserved()).collect();
        assert_eq!(spare_count(), 0);
        pages.truncate(12);
        assert_eq!(spare_count(), 7, "with the thirteen that are out it is the limit");
        drop((early, pages));
        assert_eq!((pool.used(), spare_count()), (0, 20));
    }

    /// Threads fill a pool of which pages are taken, come back, and are taken elsewhere: it has no page more than its limit, and in the end
    /// all of them.
    #[test]
    fn pool_is_used_while_it_is_filled() {
        let pool = PagePool::new(400 * PAGE_SIZE as u64);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| while pool.fill(6) == Ok(true) {});
            }
            for count in 1..60 {
                let pages: Vec<_> = (0..count).map(|_| pool.try_allocate()).collect();
                let mut charge = Charge::default();
                let charged = charge.add(&pool, count * PAGE_SIZE, true);
                assert!(charged.is_ok() && pages.iter().all(Result::is_ok), "there is room");
                drop(charge);
                let spare = pool.spare_pages();
                assert!(spare.pages.len() + spare.taken <= 400);
            }
        });
        assert_eq!((pool.used(), pool.spare_pages().pages.len()), (0, 400));
    }

    /// What is charged takes room and memory from the pool, and both are there again afterwards.
    #[test]
    fn what_is_charged_is_the_pools() {
        let pool = PagePool::new(20 * PAGE_SIZE as u64);
        while pool.fill(6) == Ok(true) {}
        let state = || (pool.used() / PAGE_SIZE as u64, pool.spare_pages().pages.len());
        let (mut one, mut other) = (Charge::default(), Charge::default());
        assert_eq!(one.add(&pool, PAGE_SIZE - 1, true), Ok(()));
        assert_eq!(state(), (0, 20), "less than a page");
        assert_eq!(one.add(&pool, 1, true), Ok(()));
        assert_eq!(one.add(&pool, 15 * PAGE_SIZE, true), Ok(()));
        assert_eq!(state(), (16, 4));
        assert_eq!(other.add(&pool, 3 * PAGE_SIZE, true), Err(MemoryFull));
        assert_eq!(other.add(&pool, 2 * PAGE_SIZE, true), Ok(()));
        assert_eq!(one.add(&pool, PAGE_SIZE, true), Err(MemoryFull));
        assert_eq!(one.add(&pool, 5 * PAGE_SIZE, false), Ok(()), "a deletion");
        assert_eq!(state(), (23, 0));
        one.remove(19 * PAGE_SIZE);
        assert_eq!(state(), (5, 15), "one page more than it needs, which is asked for again soon");
        drop((one, other));
        assert_eq!(state(), (0, 20));
        let pool = PagePool::new(20 * PAGE_SIZE as u64);
        let mut one = Charge::default();
        assert_eq!(one.add(&pool, 3 * PAGE_SIZE, true), Ok(()));
        drop(one);
        assert_eq!(
            (pool.used(), pool.spare_pages().pages.len()),
            (0, 0),
            "it was not filled before"
        );
    }

    /// Threads that race for the last pages never pass the limit, and all of them come back.
    #[test]
    fn threads_share_one_limit() {
        let pool = PagePool::new(50 * PAGE_SIZE as u64);
        let counts: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut most = 0;
                        for _ in 0..200 {
                            let pages: Vec<_> =
                                (0..20).map_while(|_| pool.try_allocate().ok()).collect();
                            assert!(pool.used() <= 45 * PAGE_SIZE as u64);
                            most = most.max(pages.len());
                        }
                        most
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
        });
        assert!(counts.iter().all(|&count| 0 < count));
        assert_eq!(pool.used(), 0);
    }
}
