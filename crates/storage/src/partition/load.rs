//! Rows that come all at once, out of a checkpoint and the log behind it: the indexes are made when all are there.
//!
//! A row that loads has one version, and no index leads to it. The rows of a checkpoint are only listed, for each comes once. When a
//! row must be found by its key, for the log may have another version of it, the hash index is made, in its final size. The ordered
//! indexes come last, each out of its sorted keys: they go into the tree one behind the other, and leave full nodes. The rows of a
//! checkpoint come in the order of the primary index, so for that only the others are sorted.
//!
//! Loading mostly waits for memory. So rows are visited in the order in which they lie, the
//! processor fetches each some rows before its turn, and sorting uses the same memory again.

use types::Timestamp;
use types::hash::{first_word, hash64};

use super::version::{self, Header};
use super::{Partition, RowChange, entry_key};
use crate::arena::{NIL, PREFETCHED_AHEAD};
use crate::heap::Heap;
use crate::pool::Admission;
use crate::tree::{Appending, Tree};

/// Bytes of keys that are sorted at a time. Those of a larger partition come in several times, in order each time.
const SORTED_BYTES_MAX: usize = 128 << 20;

/// Rows that are sorted by their places in the hash index at a time.
const HASHED_AT_ONCE: usize = 1 << 18;

/// What the hash index is made for while the log adds rows: to grow it looks at rows again, and to become smaller it does not.
const GROWTH: usize = 2;

/// So many rows are removed before the others are looked through, at least. Tests have few.
const REMOVED_MIN: usize = if cfg!(test) { 8 } else { 1024 };

#[derive(Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The pool has no room for the indexes.
    MemoryFull,
    /// Two rows have this entry key.
    Twice(Vec<u8>),
}

/// What has been loaded so far.
#[derive(Default)]
pub(super) struct Loading {
    /// The rows in the order in which they came, and some that are removed.
    rows: Vec<u32>,
    /// Each row that was removed, and how many rows had come by then: it may be another one's place since.
    removed: Vec<(u32, usize)>,
    /// The number of first rows that came in the order of their keys; the key of the last of them.
    ordered: usize,
    last: Vec<u8>,
    is_hashed: bool,
}

impl Loading {
    /// Looks through all rows, so there are many removed ones, or no more to come.
    fn forget_removed(&mut self) {
        let mut removed = std::mem::take(&mut self.removed);
        if removed.is_empty() {
            return;
        }
        removed.sort_unstable();
        let (mut place, ordered) = (0, self.ordered);
        self.rows.retain(|&head| {
            let behind = (head, place + 1);
            let at = removed.partition_point(|one| *one < behind);
            let stays = removed.get(at).is_none_or(|(removed, _)| *removed != head);
            self.ordered -= usize::from(!stays && place < ordered);
            place += 1;
            stays
        });
    }
}

impl Partition {
    /// A row that is not there yet, and that only [`Partition::load`] names again. The partition is empty, or loads.
    pub fn load_new(&mut self, key: &[u8], row: &[u8], ts: Timestamp) {
        let head = self.load_head(key, row, ts);
        let loading = self.loading();
        if loading.is_hashed {
            return self.hash_row(hash64(key), head);
        }
        if loading.ordered + 1 == loading.rows.len()
            && (loading.ordered == 0 || *loading.last < *key)
        {
            loading.ordered += 1;
            loading.last.clear();
            loading.last.extend_from_slice(key);
        }
    }

    fn load_head(&mut self, key: &[u8], row: &[u8], ts: Timestamp) -> u32 {
        self.saved = None;
        let header = Header { flags: 0, older: NIL, stamp: ts.0 };
        let head = version::create_head(&mut self.heap, header, key, row);
        self.live_count += 1;
        self.loading().rows.push(head);
        head
    }

    /// This key will soon be named to [`Partition::load`].
    pub fn will_load(&self, key: &[u8]) {
        self.hash.prefetch(&self.heap.arena, hash64(key));
    }

    /// What became of a row at `ts`. Nothing is done when it is there as of then or later. The partition is empty, or loads.
    pub fn load(&mut self, key: &[u8], change: RowChange<'_>, ts: Timestamp) {
        self.hash_loaded(GROWTH);
        let hash = hash64(key);
        match (self.find_hashed(hash, key), change) {
            (None, RowChange::Put(row)) => {
                let head = self.load_head(key, row, ts);
                self.hash_row(hash, head);
            }
            (None, RowChange::Delete) => {}
            (Some(row), change) => {
                if ts.0 <= version::header(&self.heap, row.0).stamp {
                    return;
                }
                self.saved = None;
                match change {
                    RowChange::Put(new) => {
                        let header = Header { flags: 0, older: NIL, stamp: ts.0 };
                        version::replace(&mut self.heap, row.0, header, key, new);
                    }
                    RowChange::Delete => {
                        self.hash.remove(&mut self.heap.arena, hash, row.0);
                        version::free(&mut self.heap, row.0);
                        self.live_count -= 1;
                        let loading = self.loading();
                        loading.removed.push((row.0, loading.rows.len()));
                        if REMOVED_MIN.max(loading.rows.len() / 2) <= loading.removed.len() {
                            loading.forget_removed();
                        }
                    }
                }
            }
        }
    }

    /// All are there: makes the indexes. Refused, the partition is good for nothing but to be dropped.
    pub fn end_loading(&mut self, sorting: &mut Sorting) -> Result<(), LoadError> {
        self.end_loading_by(sorting, SORTED_BYTES_MAX)
    }

    pub(super) fn end_loading_by(
        &mut self,
        sorting: &mut Sorting,
        sorted_bytes_max: usize,
    ) -> Result<(), LoadError> {
        if self.loading.is_none() {
            return Ok(());
        }
        self.hash_loaded(1);
        self.hash.fit(&mut self.heap.arena);
        let mut loading = self.loading.take().expect("just seen");
        loading.forget_removed();
        for position in 0..self.indexes.len() {
            let ordered = if position == 0 { loading.ordered } else { 0 };
            let (ordered, others) = loading.rows.split_at(ordered);
            self.index_loaded(position, ordered, others, sorting, sorted_bytes_max)?;
        }
        Ok(())
    }

    fn loading(&mut self) -> &mut Loading {
        let is_empty = self.hash.entry_count() == 0;
        self.loading.get_or_insert_with(|| {
            assert!(is_empty, "rows are loaded into an empty partition");
            Loading::default()
        })
    }

    /// From now on the rows are found by their keys. There will be up to so many times as many.
    pub(super) fn hash_loaded(&mut self, growth: usize) {
        if std::mem::replace(&mut self.loading().is_hashed, true) {
            return;
        }
        let rows = std::mem::take(&mut self.loading().rows);
        self.hash.reserve(&mut self.heap.arena, rows.len() * growth);
        let mut entries = Vec::with_capacity(rows.len().min(HASHED_AT_ONCE));
        for some in rows.chunks(HASHED_AT_ONCE) {
            entries.clear();
            for (index, &head) in some.iter().enumerate() {
                prefetch_ahead(&self.heap, &some[index..]);
                entries.push((hash64(&version::key(&self.heap, head)), head));
            }
            self.hash.insert_reserved(&mut self.heap.arena, &mut entries);
        }
        self.loading().rows = rows;
    }
    fn hash_row(&mut self, hash: u64, head: u32) {
        let hash_of = |heap: &Heap, head| hash64(&version::key(heap, head));
        if self.hash.insert(&mut self.heap, hash, head, hash_of) {
            self.hash.for_each_to_move(&self.heap.arena, |head| self.heap.prefetch(head));
        }
    }

    /// Puts the rows into an ordered index: those that are in the order of their primary keys, if it is that, and the others.
    fn index_loaded(
        &mut self,
        position: usize,
        ordered: &[u32],
        others: &[u32],
        sorted: &mut Sorting,
        sorted_bytes_max: usize,
    ) -> Result<(), LoadError> {
        let mut key = Vec::new();
        let mut ordered = Ordered::new(ordered, &self.heap);
        let mut filling = Filling::default();
        let mut left = others;
        loop {
            sorted.clear();
            let count_max = sorted_bytes_max / size_of::<SortedKey>() + 1;
            sorted.entries.reserve_exact(left.len().min(count_max));
            while let Some((&head, behind)) = left.split_first()
                && (sorted.entries.is_empty() || sorted.size() < sorted_bytes_max)
            {
                prefetch_ahead(&self.heap, left);
                left = behind;
                if position == 0 {
                    sorted.add(&version::key(&self.heap, head), head);
                    continue;
                }
                let row = version::row(&self.heap, head);
                let definition = &self.indexes[position].definition;
                entry_key(&self.table, &self.layout, definition, &row, &mut key);
                sorted.add(&key, head);
            }
            sorted.sort();
            let (tree, heap) = (&mut self.indexes[position].tree, &mut self.heap);
            for entry in &sorted.entries {
                entry.write(&sorted.bytes, &mut key);
                while let Some(head) = ordered.next_before(Some(&key)) {
                    filling.put(tree, heap, &ordered.key, head)?;
                    ordered.pass(heap);
                }
                filling.put(tree, heap, &key, entry.head)?;
            }
            while let Some(head) = ordered.next_before(None) {
                filling.put(tree, heap, &ordered.key, head)?;
                ordered.pass(heap);
            }
            filling.end(tree, heap);
            if left.is_empty() {
                return Ok(());
            }
        }
    }
}

/// The first of these rows has its turn.
fn prefetch_ahead(heap: &Heap, rows: &[u32]) {
    if let Some(later) = rows.get(PREFETCHED_AHEAD) {
        heap.prefetch(*later);
    }
}

/// Rows in the order of their keys, with the key of the first of them.
struct Ordered<'a> {
    rows: &'a [u32],
    key: Vec<u8>,
}

impl Ordered<'_> {
    fn new<'a>(rows: &'a [u32], heap: &Heap) -> Ordered<'a> {
        let mut ordered = Ordered { rows, key: Vec::new() };
        ordered.read(heap);
        ordered
    }
    /// The first of the rows, if it is before this key.
    fn next_before(&self, key: Option<&[u8]>) -> Option<u32> {
        let head = *self.rows.first()?;
        key.is_none_or(|key| *self.key < *key).then_some(head)
    }
    fn pass(&mut self, heap: &Heap) {
        self.rows = &self.rows[1..];
        self.read(heap);
    }
    fn read(&mut self, heap: &Heap) {
        prefetch_ahead(heap, self.rows);
        if let Some(&head) = self.rows.first() {
            self.key.clear();
            self.key.extend_from_slice(&version::key(heap, head));
        }
    }
}

/// How an index is filled: its entries are appended while each is behind all others, and inserted otherwise.
#[derive(Default)]
struct Filling {
    appending: Option<Appending>,
    /// The greatest entry.
    last: Vec<u8>,
}

impl Filling {
    fn put(
        &mut self,
        tree: &mut Tree,
        heap: &mut Heap,
        key: &[u8],
        head: u32,
    ) -> Result<(), LoadError> {
        let is_behind = tree.entry_count() == 0 || *self.last < *key;
        if !is_behind {
            self.end(tree, heap);
        }
        let blocks = tree.blocks_per_insert(key.len());
        heap.arena.admit(blocks, Admission::Loading).map_err(|_| LoadError::MemoryFull)?;
        let mut put = Ok(());
        if is_behind {
            let appending = self.appending.get_or_insert_with(|| tree.begin_appending(heap));
            tree.append(heap, appending, key, head);
            self.last.clear();
            self.last.extend_from_slice(key);
        } else {
            put = tree.insert_new(heap, key, head).map_err(|_| LoadError::Twice(key.to_vec()));
        }
        heap.arena.settle();
        put
    }
    /// The index has all that was put into it.
    fn end(&mut self, tree: &mut Tree, heap: &mut Heap) {
        if let Some(appending) = self.appending.take() {
            tree.end_appending(heap, &appending);
        }
    }
}

/// The keys of an index, each with the row it leads to. One is used for all indexes that a thread makes: the system
/// clears memory that is new, and that can take longer than sorting in it.
#[derive(Default)]
pub struct Sorting {
    entries: Vec<SortedKey>,
    /// The keys that are longer than what the entries have of them, each behind its length.
    bytes: Vec<u8>,
}

struct SortedKey {
    /// The first bytes of the key, as numbers, with zeros behind them. Most keys are no longer, and of those that are most differ here.
    first: [u64; 2],
    head: u32,
    /// The length of a key of up to [`FIRST`] bytes; of a longer one that, and where it is in the bytes.
    length_or_place: u32,
}
const _: () = assert!(size_of::<SortedKey>() == 24);

const FIRST: usize = 16;

impl Sorting {
    fn add(&mut self, key: &[u8], head: u32) {
        let behind = key.get(8..).unwrap_or(&[]);
        let first = [first_word(key).swap_bytes(), first_word(behind).swap_bytes()];
        let length_or_place = match key.len() <= FIRST {
            true => key.len(),
            false => {
                let place = self.bytes.len();
                let length = u32::try_from(key.len()).expect("a key is bounded by KEY_SIZE_MAX");
                self.bytes.extend_from_slice(&length.to_ne_bytes());
                self.bytes.extend_from_slice(key);
                FIRST + 1 + place
            }
        };
        let length_or_place =
            u32::try_from(length_or_place).expect("no more than SORTED_BYTES_MAX and a key");
        self.entries.push(SortedKey { first, head, length_or_place });
    }
    fn size(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<SortedKey>()
    }
    fn sort(&mut self) {
        let Sorting { entries, bytes } = self;
        // By numbers alone: that the processor does without guessing.
        entries.sort_unstable_by_key(SortedKey::first);
        // Where the first bytes are the same, a key that is no longer than they are is not behind one that is.
        for same in entries.chunk_by_mut(|a, b| a.first == b.first).filter(|same| 1 < same.len()) {
            same.sort_unstable_by(|a, b| {
                (a.whole(bytes), a.length_or_place).cmp(&(b.whole(bytes), b.length_or_place))
            });
        }
    }
    fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
    }
}

impl SortedKey {
    fn first(&self) -> u128 {
        u128::from(self.first[0]) << 64 | u128::from(self.first[1])
    }
    /// A long key; of a short one nothing.
    fn whole<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(place) = (self.length_or_place as usize).checked_sub(FIRST + 1) else {
            return &[];
        };
        let (length, rest) = bytes[place..].split_first_chunk().expect("put there with the key");
        &rest[..u32::from_ne_bytes(*length) as usize]
    }
    fn write(&self, bytes: &[u8], key: &mut Vec<u8>) {
        key.clear();
        match self.length_or_place as usize {
            length @ 0..=FIRST => {
                key.extend_from_slice(&self.first().to_be_bytes()[..length]);
            }
            _ => key.extend_from_slice(self.whole(bytes)),
        }
    }
}
