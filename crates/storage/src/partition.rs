//! One table's rows in one shard: versions, the hash index of the primary key, and an ordered index for every key.
//!
//! **Versions.** A row is a chain of versions, newest first ([`version`]). At most one is pending: its owner holds the
//! row's exclusive lock, so writers never meet here, and readers at any timestamp never wait but for a version whose commit is under
//! way (rule R11). Committed timestamps of a row strictly increase.
//!
//! **Indexes.** An ordered index has an entry for the key of every version in the chain, so a scan
//! at an old timestamp finds the keys of that time. Entries lead to the row, not to a version: the
//! reader takes the version it may see and checks that this version has the entry's key. Versions
//! remember whether the next older one has other keys ([`version::KEYS_DIFFER`]); where none do,
//! garbage is removed without reading any index.
//!
//! **Garbage.** The caller knows the horizon: no reader is below it. Of each row the newest version at or below the
//! horizon stays, older ones go, and a deletion with nothing older goes with its row. What a commit leaves behind for a lower horizon is
//! queued by the timestamp at which it can go.
//!
//! **Memory.** A write asks for the most blocks it can take before it changes anything, so it is refused whole or done.
//! What undoes, commits or cleans up takes from the pool's reserve and is never refused.
//!
//! What it does not do: no locks, no log, no idea of buckets; keys and rows come encoded and are taken to be valid.

mod build;
mod garbage;
mod load;
mod scan;
mod statistics;
mod version;
mod write;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use types::hash::hash64;
use types::key::{index_entry_key, index_key_of_row};
use types::{Index, IndexId, RowLayout, RowView, Space, Table, Timestamp, TransactionId};

use crate::arena::NIL;
use crate::hash::HashIndex;
use crate::heap::Heap;
use crate::pending::{Pending, PendingStates, Phase};
use crate::pool::PagePool;
use crate::tree::Tree;

pub use load::{LoadError, Sorting};
pub use scan::{Candidate, Scan, ScanItem};
pub use statistics::{IndexEstimate, PrefixEstimate};
use version::{PENDING, TOMBSTONE};

/// A row of a partition. Good as long as the row exists, whatever versions come and go: keep it over a handler only
/// while the row has a pending version whose lock is yours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowHandle(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowState {
    pub pending: Option<Pending>,
    /// The pending version deletes the row.
    pub pending_deletes: bool,
    /// Timestamp of the newest committed version, be it a deletion. `None`: there is none.
    pub newest: Option<Timestamp>,
    pub newest_deleted: bool,
}

/// What a reader sees of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visible<'a> {
    /// The encoded row; owned only when it is too long for one piece of a page.
    Row(Cow<'a, [u8]>),
    /// No row then, or a deleted one.
    Absent,
    /// This transaction's commit is under way and may be at or below the reader's timestamp: wait for it.
    Undecided(TransactionId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read<'a> {
    pub visible: Visible<'a>,
    /// The transaction whose active version was passed over: it must commit above the reader's timestamp (rule R11).
    pub passed: Option<TransactionId>,
}

/// A committed version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed<'a> {
    pub ts: Timestamp,
    /// `None`: it deletes the row.
    pub row: Option<Cow<'a, [u8]>>,
}

/// What a write makes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChange<'a> {
    /// The encoded row, whose primary key is that of the write.
    Put(&'a [u8]),
    Delete,
}

impl RowChange<'_> {
    /// Bytes of the row.
    pub fn size(&self) -> usize {
        match self {
            RowChange::Put(row) => row.len(),
            RowChange::Delete => 0,
        }
    }
}

/// A pending version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingRow<'a> {
    Put(Cow<'a, [u8]>),
    Delete,
}

#[derive(Debug)]
pub struct WriteOutcome {
    pub row: RowHandle,
    /// The write made the row's pending version; false when it replaced the one its owner had made before.
    pub first: bool,
    pub undo: Undo,
}

/// Takes one write back. The undos of a row are used in the reverse order of its writes, or not at all when the row is
/// committed or aborted.
#[derive(Debug)]
pub struct Undo {
    row: RowHandle,
    before: Before,
}

impl Undo {
    /// Bytes of a row that it has.
    pub fn kept_bytes(&self) -> usize {
        match &self.before {
            Before::Pending { row: Some(row), .. } => row.len(),
            Before::Pending { row: None, .. } | Before::NotPending => 0,
        }
    }
}

#[derive(Debug)]
enum Before {
    /// The write made the pending version.
    NotPending,
    /// It replaced this one.
    Pending { row: Option<Vec<u8>>, statement: u32 },
}

/// Entry keys between two bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    pub fn all() -> KeyRange {
        KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }
    /// The keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        let upper = match prefix.iter().rposition(|&byte| byte != 0xff) {
            None => Bound::Unbounded,
            Some(last) => {
                let mut upper = prefix[..=last].to_vec();
                upper[last] += 1;
                Bound::Excluded(upper)
            }
        };
        KeyRange { lower: Bound::Included(prefix.to_vec()), upper }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// What a step of building an index did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildProgress {
    /// Every row is in the index.
    pub done: bool,
    /// Rows added in this step.
    pub rows: usize,
}

pub struct Partition {
    table: Arc<Table>,
    layout: RowLayout,
    heap: Heap,
    hash: HashIndex,
    /// One for each index of the table, in its order; the first is the primary key's.
    indexes: Vec<OrderedIndex>,
    pending: PendingStates,
    /// Rows with versions to be pruned, each with the horizon from which its oldest can go. Their heads are QUEUED.
    prunable: BTreeSet<(Timestamp, RowHandle)>,
    /// Rows whose newest committed version is not a deletion.
    live_count: u64,
    /// While rows come of which the indexes know nothing.
    loading: Option<load::Loading>,
    /// A number of the caller's for the rows as they are: none after any change.
    saved: Option<u64>,
    scratch: Scratch,
}

struct OrderedIndex {
    definition: Index,
    tree: Tree,
    build: Build,
    /// The last estimate.
    statistics: Option<Box<statistics::Kept>>,
}

/// How far an index is that came with a change of the table's definition.
enum Build {
    /// All rows are in.
    Done,
    /// Old rows are being added; the last one has this primary key.
    Behind(Vec<u8>),
    /// It has only the rows written since.
    GivenUp,
}

/// Buffers that writes use again.
#[derive(Default)]
struct Scratch {
    bytes: Vec<u8>,
    /// For each index the key of the version written, and of the one it replaces. The primary's are not used.
    keys_new: Vec<Vec<u8>>,
    keys_old: Vec<Vec<u8>>,
}

/// Rows too long for a page leave buffers behind that are not kept.
const SCRATCH_SIZE_MAX: usize = 16 * 1024;

impl Partition {
    /// An empty partition; takes no page until a row comes.
    pub fn new(table: Arc<Table>, pool: Arc<PagePool>) -> Partition {
        let indexes: Vec<OrderedIndex> = table.indexes.iter().map(OrderedIndex::empty).collect();
        assert!(!indexes.is_empty(), "every table has a primary key");
        let scratch = Scratch::for_indexes(indexes.len());
        Partition {
            layout: table.row_layout(),
            table,
            heap: Heap::new(pool),
            hash: HashIndex::default(),
            indexes,
            pending: PendingStates::default(),
            prunable: BTreeSet::new(),
            live_count: 0,
            loading: None,
            saved: None,
            scratch,
        }
    }
    /// The rows as they are now have this number, until one of them changes; a pending change is one, and so is its end. With `None`
    /// they have none.
    pub fn set_saved(&mut self, number: Option<u64>) {
        self.saved = number;
    }
    /// The number that the rows were given, if they still are what they were.
    pub fn saved(&self) -> Option<u64> {
        self.saved
    }
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The row with this primary key, in whatever state.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<RowHandle> {
        self.find_hashed(hash64(key), key)
    }
    #[inline]
    fn find_hashed(&self, hash: u64, key: &[u8]) -> Option<RowHandle> {
        let is_it = |head| version::key(&self.heap, head)[..] == *key;
        self.hash.find(&self.heap.arena, hash, is_it).map(RowHandle)
    }
    /// The row's encoded primary key.
    pub fn key_of(&self, row: RowHandle) -> Cow<'_, [u8]> {
        version::key(&self.heap, row.0)
    }

    pub fn state(&self, row: RowHandle) -> RowState {
        let head = version::header(&self.heap, row.0);
        let pending = head.is(PENDING).then(|| *self.pending.get(head.stamp));
        let newest = match (pending, head.older) {
            (None, _) => Some(head),
            (Some(_), NIL) => None,
            (Some(_), older) => Some(version::header(&self.heap, older)),
        };
        RowState {
            pending,
            pending_deletes: pending.is_some() && head.is(TOMBSTONE),
            newest: newest.map(|newest| Timestamp(newest.stamp)),
            newest_deleted: newest.is_some_and(|newest| newest.is(TOMBSTONE)),
        }
    }

    /// What a reader at `at` (`Timestamp::MAX`: the latest committed) sees of the row. A transaction sees its own
    /// pending version.
    #[inline]
    pub fn read(&self, row: RowHandle, at: Timestamp, reader: Option<TransactionId>) -> Read<'_> {
        let (mut header, mut bytes) = version::header_and_row(&self.heap, row.0);
        let mut passed = None;
        if header.is(PENDING) {
            let pending = self.pending.get(header.stamp);
            if reader == Some(pending.owner) {
                return Read { visible: seen(header.flags, bytes), passed };
            }
            match pending.phase {
                Phase::Active => passed = Some(pending.owner),
                Phase::Committing { lower_bound } if at < lower_bound => {}
                Phase::Committing { .. } => {
                    return Read { visible: Visible::Undecided(pending.owner), passed };
                }
            }
        } else if header.stamp <= at.0 {
            return Read { visible: seen(header.flags, bytes), passed };
        }
        loop {
            if header.older == NIL {
                return Read { visible: Visible::Absent, passed };
            }
            (header, bytes) = version::header_and_row(&self.heap, header.older);
            if header.stamp <= at.0 {
                return Read { visible: seen(header.flags, bytes), passed };
            }
        }
    }
    /// [`Partition::read`] for callers that need not know the versions they passed.
    #[inline]
    pub fn visible(
        &self,
        row: RowHandle,
        at: Timestamp,
        reader: Option<TransactionId>,
    ) -> Visible<'_> {
        self.read(row, at, reader).visible
    }
    /// What a reader sees under a primary key.
    pub fn get(&self, key: &[u8], at: Timestamp, reader: Option<TransactionId>) -> Visible<'_> {
        self.find(key).map_or(Visible::Absent, |row| self.visible(row, at, reader))
    }

    /// The newest committed version at or below `at`, a pending one ignored: for copies and checkpoints.
    pub fn committed_at(&self, row: RowHandle, at: Timestamp) -> Option<Committed<'_>> {
        let mut version = row.0;
        while version != NIL {
            let (header, bytes) = version::header_and_row(&self.heap, version);
            if !header.is(PENDING) && header.stamp <= at.0 {
                let row = (!header.is(TOMBSTONE)).then_some(bytes);
                return Some(Committed { ts: Timestamp(header.stamp), row });
            }
            version = header.older;
        }
        None
    }
    /// The row's pending version, if it has one.
    pub fn pending_row(&self, row: RowHandle) -> Option<PendingRow<'_>> {
        let (header, bytes) = version::header_and_row(&self.heap, row.0);
        header.is(PENDING).then(|| match header.is(TOMBSTONE) {
            true => PendingRow::Delete,
            false => PendingRow::Put(bytes),
        })
    }

    /// Bytes of the key and of the pending row, if it has one.
    pub fn pending_size(&self, row: RowHandle) -> usize {
        let header = version::header(&self.heap, row.0);
        let puts = header.is(PENDING) && !header.is(TOMBSTONE);
        let size = if puts { version::row_length(&self.heap, row.0) } else { 0 };
        self.key_of(row).len() + size
    }

    /// Drops every row, pending versions too.
    pub fn clear(&mut self) {
        if self.loading.is_some() {
            self.hash_loaded(1);
            self.loading = None;
        }
        let mut versions = Vec::new();
        self.hash.for_each(&self.heap.arena, |head| versions.push(head));
        while let Some(version) = versions.pop() {
            let older = version::header(&self.heap, version).older;
            if older != NIL {
                versions.push(older);
            }
            version::free(&mut self.heap, version);
        }
        self.hash.clear(&mut self.heap.arena);
        for index in &mut self.indexes {
            index.tree.clear(&mut self.heap);
            index.build = Build::Done;
            index.statistics = None;
        }
        self.pending = PendingStates::default();
        self.prunable.clear();
        self.live_count = 0;
        self.saved = None;
        assert!(self.heap.arena.taken() == Space::NONE);
    }

    /// Committed rows that are not deleted.
    pub fn row_count(&self) -> u64 {
        self.live_count
    }
    /// Entries of an index, those of old and pending versions too.
    pub fn entry_count(&self, index: IndexId) -> u64 {
        self.indexes[self.index_position(index)].tree.entry_count()
    }
    /// Rows with a pending version.
    pub fn pending_count(&self) -> usize {
        self.pending.row_count()
    }
    /// Rows with versions that can go when the horizon moves.
    pub fn prunable(&self) -> usize {
        self.prunable.len()
    }
    /// Bytes of all pages of the partition, and of the tables beside them that grow with its rows.
    pub fn memory_bytes(&self) -> u64 {
        const QUEUE_ENTRY: usize = 2 * size_of::<(Timestamp, RowHandle)>();
        self.heap.arena.memory_bytes()
            + self.hash.directory_bytes()
            + (self.prunable.len() * QUEUE_ENTRY) as u64
    }

    /// What its rows and indexes take.
    pub fn taken(&self) -> Space {
        self.heap.arena.taken()
    }

    /// A sum over the newest committed versions of all live rows, the same for the same rows in any order and with any
    /// history.
    pub fn checksum(&self) -> u128 {
        self.checksum_behind(None, usize::MAX, usize::MAX).0
    }

    /// The part of it of the rows behind this primary key, about so many, or about so many bytes; and the key of the last, if there are
    /// more. The parts add up to the sum, wrapping.
    pub fn checksum_behind(
        &self,
        after: Option<&[u8]>,
        rows_max: usize,
        bytes_max: usize,
    ) -> (u128, Option<Vec<u8>>) {
        let mut sum = 0u128;
        let (mut bytes, mut summed) = (Vec::new(), 0);
        let mut scan = self.scan(IndexId(0), &KeyRange::all(), Direction::Forward, after);
        let mut visited = 0;
        while let Some(Candidate { key, row }) = scan.next_candidate() {
            visited += 1;
            if let Some(Committed { ts, row: Some(row) }) = self.committed_at(row, Timestamp::MAX) {
                write_row(ts, key, &row, &mut bytes);
                summed += bytes.len();
                let low = hash64(&bytes);
                // A second hash of the same bytes: eight more make it another function.
                bytes.extend_from_slice(&low.to_le_bytes());
                sum = sum.wrapping_add(u128::from(hash64(&bytes)) << 64 | u128::from(low));
            }
            if visited >= rows_max || summed >= bytes_max {
                return (sum, Some(key.to_vec()));
            }
        }
        (sum, None)
    }

    fn index_position(&self, index: IndexId) -> usize {
        let place = self.indexes.iter().position(|other| other.definition.id == index);
        place.expect("an operation names an index of the table's definition")
    }
    /// Some index lacks old rows: what versions know of each other's keys leaves that index out.
    fn is_building(&self) -> bool {
        !self.indexes.iter().all(|index| matches!(index.build, Build::Done))
    }
    /// The entry key of a row in an index.
    fn entry_key(&self, index: usize, row: &[u8], key: &mut Vec<u8>) {
        entry_key(&self.table, &self.layout, &self.indexes[index].definition, row, key);
    }
}

/// A hash of a committed version and its key.
pub fn hash_row(ts: Timestamp, key: &[u8], row: &[u8]) -> u64 {
    let mut bytes = Vec::with_capacity(16 + key.len() + row.len());
    write_row(ts, key, row, &mut bytes);
    hash64(&bytes)
}

/// What a version is hashed by, over what `bytes` holds.
fn write_row(ts: Timestamp, key: &[u8], row: &[u8], bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend_from_slice(&ts.0.to_le_bytes());
    bytes.extend_from_slice(&(key.len() as u64).to_le_bytes());
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(row);
}

#[inline]
fn seen(flags: u16, bytes: Cow<'_, [u8]>) -> Visible<'_> {
    if flags & TOMBSTONE == 0 { Visible::Row(bytes) } else { Visible::Absent }
}

/// Writes the entry key of `row` in an index over what `key` holds.
fn entry_key(table: &Table, layout: &RowLayout, index: &Index, row: &[u8], key: &mut Vec<u8>) {
    key.clear();
    let row = RowView::new(layout, row);
    if index_entry_key(table, index, &row, key).is_err() {
        // Longer than any statement can name; what is here already must be indexed all the same. The parts are
        // appended before their length is judged.
        key.clear();
        let _ = index_key_of_row(table, index, &row, key);
        if index.id != table.primary_key().id {
            let _ = index_key_of_row(table, table.primary_key(), &row, key);
        }
    }
}

impl OrderedIndex {
    fn empty(definition: &Index) -> OrderedIndex {
        OrderedIndex {
            definition: definition.clone(),
            tree: Tree::new(),
            build: Build::Done,
            statistics: None,
        }
    }
}

impl Scratch {
    fn for_indexes(count: usize) -> Scratch {
        Scratch {
            bytes: Vec::new(),
            keys_new: vec![Vec::new(); count],
            keys_old: vec![Vec::new(); count],
        }
    }
    /// Gives back what a long row left.
    fn trim(&mut self) {
        if SCRATCH_SIZE_MAX < self.bytes.capacity() {
            self.bytes = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests;
