//! Rows that come all at once, out of a checkpoint and the log behind it: the indexes are made when all are there.
//!
//! A row that loads has one version, and no index leads to it. The rows of a checkpoint are only listed, for each comes once. When a
//! row must be found by its key, for the log may have another version of it, the hash index is made, in its final size. The ordered
//! indexes come last, each out of its sorted keys: they go into the tree one behind the other, and leave full nodes.

use types::Timestamp;
use types::hash::{first_word, hash64};

use super::version::{self, Header};
use super::{Partition, RowChange, entry_key};
use crate::arena::NIL;
use crate::pool::Admission;

/// Bytes of keys that are sorted at a time. Those of a larger partition come in several times, in order each time.
const SORTED_BYTES_MAX: usize = 128 << 20;

/// Rows that are sorted by their places in the hash index at a time.
const HASHED_AT_ONCE: usize = 1 << 20;

/// What the hash index is made for while the log adds rows: to grow it looks at rows again, and to become smaller it does not.
const GROWTH: usize = 2;

#[derive(Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The pool has no room for the indexes.
    MemoryFull,
    /// Two rows have this entry key.
    Twice(Vec<u8>),
}

/// What has been loaded so far.
pub(super) struct Loading {
    /// The rows in the order in which they came; as it was before one was removed.
    rows: Vec<u32>,
    has_removed: bool,
    is_hashed: bool,
}

impl Partition {
    /// A row that is not there yet, and that only [`Partition::load`] names again. The partition is empty, or loads.
    pub fn load_new(&mut self, key: &[u8], row: &[u8], ts: Timestamp) {
        let head = self.load_head(key, row, ts);
        if self.loading().is_hashed {
            self.hash_row(hash64(key), head);
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

    /// These keys will be named to [`Partition::load`] next.
    pub fn will_load<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        self.hash.touch(&self.heap.arena, keys.map(hash64));
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
                        self.loading().has_removed = true;
                    }
                }
            }
        }
    }

    /// All are there: makes the indexes. Refused, the partition is good for nothing but to be dropped.
    pub fn end_loading(&mut self) -> Result<(), LoadError> {
        self.end_loading_by(SORTED_BYTES_MAX)
    }

    pub(super) fn end_loading_by(&mut self, sorted_bytes_max: usize) -> Result<(), LoadError> {
        if self.loading.is_none() {
            return Ok(());
        }
        self.hash_loaded(1);
        self.hash.fit(&mut self.heap.arena);
        let mut loading = self.loading.take().expect("just seen");
        if loading.has_removed {
            loading.rows.clear();
            self.hash.for_each(&self.heap.arena, |head| loading.rows.push(head));
            // As they lie in memory, so about as they came: most tables came in the order of some index.
            loading.rows.sort_unstable();
        }
        let mut sorted = SortedKeys::default();
        let count_max = sorted_bytes_max / size_of::<SortedKey>() + 1;
        sorted.entries.reserve_exact(loading.rows.len().min(count_max));
        for position in 0..self.indexes.len() {
            self.index_loaded(position, &loading.rows, &mut sorted, sorted_bytes_max)?;
        }
        Ok(())
    }

    fn loading(&mut self) -> &mut Loading {
        let is_empty = self.hash.entry_count() == 0;
        self.loading.get_or_insert_with(|| {
            assert!(is_empty, "rows are loaded into an empty partition");
            Loading { rows: Vec::new(), has_removed: false, is_hashed: false }
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
            let hashed = some.iter().map(|head| (hash64(&version::key(&self.heap, *head)), *head));
            entries.clear();
            entries.extend(hashed);
            self.hash.insert_reserved(&mut self.heap.arena, &mut entries);
        }
        self.loading().rows = rows;
    }
    fn hash_row(&mut self, hash: u64, head: u32) {
        self.hash
            .insert(&mut self.heap, hash, head, |heap, head| hash64(&version::key(heap, head)));
    }

    /// Puts the rows into an ordered index.
    fn index_loaded(
        &mut self,
        position: usize,
        rows: &[u32],
        sorted: &mut SortedKeys,
        sorted_bytes_max: usize,
    ) -> Result<(), LoadError> {
        let (mut key, mut last) = (Vec::new(), Vec::new());
        let mut left = rows;
        while !left.is_empty() {
            sorted.clear();
            while let Some((&head, behind)) = left.split_first()
                && (sorted.entries.is_empty() || sorted.size() < sorted_bytes_max)
            {
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
            let mut appending = None;
            for entry in &sorted.entries {
                entry.write(&sorted.bytes, &mut key);
                let is_behind = tree.entry_count() == 0 || last < key;
                if !is_behind {
                    if let Some(appending) = appending.take() {
                        tree.end_appending(heap, &appending);
                    }
                    if tree.get(heap, &key).is_some() {
                        return Err(LoadError::Twice(key));
                    }
                }
                let blocks = tree.blocks_per_insert(key.len());
                let admitted = heap.arena.admit(blocks, Admission::Loading);
                admitted.map_err(|_| LoadError::MemoryFull)?;
                if is_behind {
                    let appending = appending.get_or_insert_with(|| tree.begin_appending(heap));
                    tree.append(heap, appending, &key, entry.head);
                    std::mem::swap(&mut last, &mut key);
                } else {
                    tree.insert(heap, &key, entry.head);
                }
                heap.arena.settle();
            }
            if let Some(appending) = appending {
                tree.end_appending(heap, &appending);
            }
        }
        Ok(())
    }
}

/// Keys, each with the row it leads to.
#[derive(Default)]
struct SortedKeys {
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

impl SortedKeys {
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
        let SortedKeys { entries, bytes } = self;
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
