//! The in-memory structures of one partition: the rows of one table in one shard, with their versions, hash index and
//! ordered indexes, and the row locks of a shard.
//!
//! ```text
//!   LockTable             Partition   rows, versions, index maintenance, garbage
//!                        /    |    \
//!                 HashIndex  Tree   Heap        primary key, ordered indexes, records of any length
//!                        \    |    /
//!                          Arena                4 KiB blocks
//!                            |
//!                         PagePool              32 KiB pages of the whole node
//! ```
//!
//! Single-threaded on purpose: the owner of a partition holds its shard's lock for the length of a handler, so nothing
//! here synchronises but the page pool. Sends no message, knows no node, has no clock; the order of what callers see
//! never depends on a hash.

mod arena;
mod hash;
mod heap;
mod lock;
mod partition;
mod pending;
mod pieces;
mod pool;
#[cfg(test)]
mod random;
mod tree;

pub use arena::BLOCK_SIZE;
pub use arena::PREFETCHED_AHEAD;
pub use lock::{
    Acquired, Entries, KEPT_TO_THE_END, LockMode, LockTable, LockView, Locked, Rival, TakenLock,
    Wait,
};
pub use partition::{
    BuildProgress, Candidate, Committed, Direction, IndexEstimate, KeyRange, LoadError, Partition,
    PendingRow, PrefixEstimate, Read, RowChange, RowHandle, RowState, Scan, ScanItem, Sorting,
    Undo, Visible, WriteOutcome, hash_row,
};
pub use pending::{Pending, Phase};
pub use pieces::Pieces;
pub use pool::{Charge, MemoryFull, PAGE_SIZE, Page, PagePool, SystemMemoryFull};
