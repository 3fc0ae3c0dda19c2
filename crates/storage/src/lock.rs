//! The row locks of a shard.
//!
//! A lock exists while a transaction holds it or waits for it; a row without one costs nothing.
//! Every write takes one, so the uncontended path is a probe of a hash table, a copy of the key
//! into a buffer used before, and an entry in the owner's list.
//!
//! Waiters are served first come first served: a request that is compatible with the holders still
//! queues behind one that is not, or a stream of readers would starve a writer. One exception: an
//! owner of a shared lock that requests the exclusive one goes to the head of the queue, because no
//! request behind it can be granted before it releases its lock.
//!
//! Two owners that upgrade the same row wait for each other; so do cycles over several rows. The
//! table finds no deadlocks: [`LockTable::holders_blocking`] returns the owners that a wait waits
//! for, and the caller looks for the cycle.
//!
//! Each lock knows the statement of its owner that took it: the key of a row that an undone statement
//! had inserted is free again, and a lock that the transaction had before is not (rules.md#locks).
//!
//! Ranges of an index have locks of their own kind ([`ranges`]).
//!
//! The hash table is never iterated, and owners and waits are ordered, so the order of grants
//! depends on the order of the calls only.

mod ranges;
mod view;

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashTable;
use types::hash::hash64;
use types::{IndexId, TableId, TransactionId};

pub use self::ranges::Entries;
use self::ranges::RangeLocks;
pub use self::view::{LockView, Locked, Rival};
use crate::Pieces;
use crate::partition::KeyRange;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    Shared,
    Exclusive,
}

impl LockMode {
    fn excludes(self, other: LockMode) -> bool {
        self == LockMode::Exclusive || other == LockMode::Exclusive
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    Granted,
    /// Queued; its token comes back from the call that grants it.
    Waiting,
}

/// A request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub token: u64,
    pub owner: TransactionId,
    pub table: TableId,
}

/// The statement of locks that no undone statement gives up: statements count from one.
pub const KEPT_TO_THE_END: u32 = 0;

/// A row lock that a statement of its owner took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenLock {
    pub table: TableId,
    pub key: Vec<u8>,
    pub statement: u32,
}

/// Locks kept after use for the next ones, with their buffers.
const SPARE_COUNT_MAX: usize = 1024;
/// A key buffer above this goes back to the allocator with its lock.
const SPARE_KEY_SIZE_MAX: usize = 256;

#[derive(Default)]
pub struct LockTable {
    locks: Pieces<Lock>,
    free: Vec<u32>,
    by_key: ByKey,
    owners: Vec<Owner>,
    owners_free: Vec<u32>,
    by_owner: HashTable<u32>,
    /// Waiting requests by token: the lock and the owner.
    waits: BTreeMap<u64, (u32, TransactionId)>,
    held_count: usize,
    ranges: RangeLocks,
}

/// The lock of a row.
#[derive(Default)]
struct Lock {
    /// In the hash table: has a holder or a waiter. False for one kept for later.
    in_use: bool,
    hash: u64,
    table: TableId,
    key: Vec<u8>,
    holders: Holders,
    queue: VecDeque<Waiter>,
}

/// The owners of a lock, in the order of their grants: nearly always one, which is kept here.
#[derive(Default)]
struct Holders {
    first: Option<Holder>,
    others: Vec<Holder>,
}

#[derive(Clone, Copy)]
struct Holder {
    owner: TransactionId,
    mode: LockMode,
    /// The owner's statement that took the lock first.
    statement: u32,
}

/// The locks in use by their hash: many small tables, because one that grows moves all it has.
struct ByKey {
    tables: Vec<HashTable<u32>>,
}

#[derive(Clone, Copy)]
struct Waiter {
    token: u64,
    owner: TransactionId,
    mode: LockMode,
    statement: u32,
}

/// A transaction that holds or waits here.
#[derive(Default)]
struct Owner {
    id: TransactionId,
    /// Locks held, in the order they were granted.
    held: Vec<u32>,
    waits: Vec<u64>,
}

fn lock_hash(table: TableId, key: &[u8]) -> u64 {
    hash64(key) ^ u64::from(table.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
fn owner_hash(owner: TransactionId) -> u64 {
    let mut bytes = [0u8; 20];
    bytes[..8].copy_from_slice(&owner.sequence.to_le_bytes());
    bytes[8..16].copy_from_slice(&owner.incarnation.0.to_le_bytes());
    bytes[16..18].copy_from_slice(&owner.coordinator.node.0.to_le_bytes());
    bytes[18..20].copy_from_slice(&owner.coordinator.worker.0.to_le_bytes());
    hash64(&bytes)
}

impl Holders {
    fn all(&self) -> impl Iterator<Item = &Holder> {
        self.first.iter().chain(&self.others)
    }
    fn iter(&self) -> impl Iterator<Item = (TransactionId, LockMode)> {
        self.all().map(|holder| (holder.owner, holder.mode))
    }
    fn is_empty(&self) -> bool {
        self.first.is_none()
    }
    fn mode_mut(&mut self, owner: TransactionId) -> Option<&mut LockMode> {
        let all = self.first.iter_mut().chain(&mut self.others);
        all.filter(|holder| holder.owner == owner).map(|holder| &mut holder.mode).next()
    }
    fn push(&mut self, holder: Holder) {
        match self.first {
            None => self.first = Some(holder),
            Some(_) => self.others.push(holder),
        }
    }
    /// Removes a present owner.
    fn remove(&mut self, owner: TransactionId) {
        let place = self.iter().position(|(holder, _)| holder == owner);
        match place.expect("a listed lock is held") {
            0 => self.first = (!self.others.is_empty()).then(|| self.others.remove(0)),
            place => _ = self.others.remove(place - 1),
        }
    }
}

impl ByKey {
    /// A million locks are four thousand in each.
    const TABLE_COUNT: usize = 256;

    /// The bits that say which are not those that a table looks at.
    fn table(&self, hash: u64) -> &HashTable<u32> {
        &self.tables[(hash >> 40) as usize % ByKey::TABLE_COUNT]
    }
    #[cfg(test)]
    fn len(&self) -> usize {
        self.tables.iter().map(HashTable::len).sum()
    }
    fn table_mut(&mut self, hash: u64) -> &mut HashTable<u32> {
        &mut self.tables[(hash >> 40) as usize % ByKey::TABLE_COUNT]
    }
}
impl Default for ByKey {
    fn default() -> ByKey {
        ByKey { tables: std::iter::repeat_with(HashTable::new).take(ByKey::TABLE_COUNT).collect() }
    }
}

impl Lock {
    fn mode_of(&self, owner: TransactionId) -> Option<LockMode> {
        self.holders.iter().find(|(holder, _)| *holder == owner).map(|(_, mode)| mode)
    }
    /// Whether no other holder stands in the way.
    fn is_compatible(&self, owner: TransactionId, mode: LockMode) -> bool {
        self.holders.iter().all(|(holder, held)| holder == owner || !mode.excludes(held))
    }
    /// Where an upgrade queues: behind those that came before, ahead of everybody else.
    fn upgrade_place(&self) -> usize {
        self.queue.iter().take_while(|waiter| self.mode_of(waiter.owner).is_some()).count()
    }
}

impl LockTable {
    pub fn new() -> LockTable {
        LockTable::default()
    }

    /// [`LockTable::acquire_in`] for a lock that its owner keeps to its end.
    pub fn acquire(
        &mut self,
        table: TableId,
        key: &[u8],
        mode: LockMode,
        owner: TransactionId,
        token: u64,
    ) -> Acquired {
        self.acquire_in(KEPT_TO_THE_END, table, key, mode, owner, token)
    }

    /// Asks for the lock of a row in a statement of its owner. Granted at once when the owner has it in this mode or a
    /// stronger one; `token` names the wait otherwise and must not name another.
    pub fn acquire_in(
        &mut self,
        statement: u32,
        table: TableId,
        key: &[u8],
        mode: LockMode,
        owner: TransactionId,
        token: u64,
    ) -> Acquired {
        let hash = lock_hash(table, key);
        let Some(id) = self.find(hash, table, key) else {
            let id = self.add_lock(hash, table, key);
            self.grant(id, Holder { owner, mode, statement });
            return Acquired::Granted;
        };
        let lock = &self.locks[id as usize];
        let held = lock.mode_of(owner);
        if held.is_some_and(|held| mode <= held) {
            return Acquired::Granted;
        }
        let upgrades = held.is_some();
        if lock.is_compatible(owner, mode) && (upgrades || lock.queue.is_empty()) {
            self.grant(id, Holder { owner, mode, statement });
            return Acquired::Granted;
        }
        let waiter = Waiter { token, owner, mode, statement };
        let place = if upgrades { lock.upgrade_place() } else { lock.queue.len() };
        self.locks[id as usize].queue.insert(place, waiter);
        let before = self.waits.insert(token, (id, owner));
        assert!(before.is_none(), "a token names one wait");
        let owner = self.owner_entry(owner);
        self.owners[owner as usize].waits.push(token);
        Acquired::Waiting
    }

    /// Requests a range of an index: until its owner's end no other transaction puts a row into it.
    pub fn acquire_range(
        &mut self,
        table: TableId,
        index: IndexId,
        range: &KeyRange,
        owner: TransactionId,
        token: u64,
    ) -> Acquired {
        self.ranges.acquire(table, index, range, owner, token)
    }
    /// Are there ranges of the table that a writer of a row must ask for its entries?
    pub fn has_ranges(&self, table: TableId) -> bool {
        !self.ranges.is_empty() && self.ranges.concern(table)
    }
    /// Asks whether a row with these entries may be written, its lock being held. To be asked again when the wait is over.
    pub fn admit_entries(
        &mut self,
        table: TableId,
        entries: Entries,
        owner: TransactionId,
        token: u64,
    ) -> Acquired {
        self.ranges.admit(table, entries, owner, token)
    }

    /// The mode in which `owner` holds the row's lock.
    pub fn holds(&self, table: TableId, key: &[u8], owner: TransactionId) -> Option<LockMode> {
        let id = self.find(lock_hash(table, key), table, key)?;
        self.locks[id as usize].mode_of(owner)
    }

    /// Gives up those of these row locks that the owner holds and took in that very statement. Returns the tokens granted
    /// by it: lock by lock in this order, each lock's in theirs.
    pub fn release_taken(&mut self, owner: TransactionId, taken: &[TakenLock]) -> Vec<u64> {
        let is_held = |&id: &u32, statement: u32| {
            let mut holders = self.locks[id as usize].holders.all();
            holders.any(|holder| holder.owner == owner && holder.statement == statement)
        };
        let found = taken.iter().filter_map(|TakenLock { table, key, statement }| {
            self.find(lock_hash(*table, key), *table, key).filter(|id| is_held(id, *statement))
        });
        let released: Vec<u32> = found.collect();
        let mut granted = Vec::new();
        if released.is_empty() {
            return granted;
        }
        let mut sorted = released.clone();
        sorted.sort_unstable();
        let is_released = |id: &u32| sorted.binary_search(id).is_ok();
        let entry = self.find_owner(owner).expect("a holder is an owner");
        let held = &mut self.owners[entry as usize].held;
        // What is undone was locked last as a rule: from the end, and only as far as they reach.
        let mut left = released.len();
        let first = held.iter().rposition(|id| {
            left -= usize::from(is_released(id));
            left == 0
        });
        let mut tail = held.split_off(first.expect("held locks are listed, each once"));
        tail.retain(|id| !is_released(id));
        held.append(&mut tail);
        self.drop_owner_if_idle(entry);
        for &id in &released {
            self.drop_holder(id, owner);
        }
        for &id in &released {
            self.grant_waiters(id, &mut granted);
        }
        granted
    }

    /// Gives up all locks and waits of an owner. The tokens granted by it: in the order in which the owner got the
    /// locks, and each lock's in their order.
    pub fn release_all(&mut self, owner: TransactionId) -> Vec<u64> {
        let mut granted = Vec::new();
        self.ranges.release_all(owner, &mut granted);
        let Some(entry) = self.find_owner(owner) else { return granted };
        let waited = self.drop_waits(entry);
        let mut held = std::mem::take(&mut self.owners[entry as usize].held);
        for &id in &held {
            self.drop_holder(id, owner);
        }
        // Only when all of the owner's is gone: a grant must not meet what is about to go.
        for &id in held.iter().chain(&waited) {
            self.grant_waiters(id, &mut granted);
        }
        held.clear();
        self.owners[entry as usize].held = held;
        self.drop_owner_if_idle(entry);
        granted
    }

    /// Gives up all waits and ranges of an owner, and `count` of its row locks, the last first.
    /// Returns the tokens granted by it, and whether that was all: if not, it must be called again,
    /// and the owner requests nothing any more.
    pub fn release_some(&mut self, owner: TransactionId, count: usize) -> (Vec<u64>, bool) {
        if self.held_by(owner) <= count {
            return (self.release_all(owner), true);
        }
        let mut granted = Vec::new();
        self.ranges.release_all(owner, &mut granted);
        let entry = self.find_owner(owner).expect("it holds locks");
        let mut concerned = self.drop_waits(entry);
        let held = &mut self.owners[entry as usize].held;
        concerned.extend(held.drain(held.len() - count..).rev());
        for &id in &concerned[concerned.len() - count..] {
            self.drop_holder(id, owner);
        }
        for &id in &concerned {
            self.grant_waiters(id, &mut granted);
        }
        (granted, false)
    }

    /// Takes all waits of an owner out of their queues; the locks they were for.
    fn drop_waits(&mut self, entry: u32) -> Vec<u32> {
        let waits = std::mem::take(&mut self.owners[entry as usize].waits);
        let drop_wait = |token: &u64| {
            let (id, _) = self.waits.remove(token).expect("an owner's wait is listed");
            self.locks[id as usize].queue.retain(|waiter| waiter.token != *token);
            id
        };
        waits.iter().map(drop_wait).collect()
    }

    /// Gives up a wait; unknown tokens are ignored. The tokens granted because it left the queue.
    pub fn cancel(&mut self, token: u64) -> Vec<u64> {
        let mut granted = Vec::new();
        if self.ranges.cancel(token, &mut granted) {
            return granted;
        }
        let Some((id, owner)) = self.waits.remove(&token) else { return granted };
        self.locks[id as usize].queue.retain(|waiter| waiter.token != token);
        let entry = self.find_owner(owner).expect("a waiter is an owner");
        self.owners[entry as usize].waits.retain(|&other| other != token);
        self.drop_owner_if_idle(entry);
        self.grant_waiters(id, &mut granted);
        granted
    }

    /// Whom a wait waits for: holders and those ahead in the queue that exclude it, each once, in order. Behind an earlier
    /// wait of its own owner it waits for those that one waits for, too.
    pub fn holders_blocking(&self, token: u64) -> Vec<TransactionId> {
        let Some(&(id, owner)) = self.waits.get(&token) else {
            return self.ranges.blocking(token).unwrap_or_default();
        };
        let lock = &self.locks[id as usize];
        let place = lock.queue.iter().position(|waiter| waiter.token == token);
        let place = place.expect("a wait is in its lock's queue");
        let own = lock.queue.iter().take(place + 1).filter(|waiter| waiter.owner == owner);
        let mode = own.map(|waiter| waiter.mode).max().expect("the wait itself is among them");
        let ahead = lock.queue.iter().take(place).map(|waiter| (waiter.owner, waiter.mode));
        let mut blocking: Vec<TransactionId> = lock
            .holders
            .iter()
            .chain(ahead)
            .filter(|&(other, held)| other != owner && mode.excludes(held))
            .map(|(other, _)| other)
            .collect();
        blocking.sort_unstable();
        blocking.dedup();
        blocking
    }

    /// The owners that a request for a row's lock would wait for: none if it would be granted at once.
    pub fn blocking(
        &self,
        table: TableId,
        key: &[u8],
        mode: LockMode,
        owner: TransactionId,
    ) -> Vec<TransactionId> {
        let Some(id) = self.find(lock_hash(table, key), table, key) else { return Vec::new() };
        let lock = &self.locks[id as usize];
        let held = lock.mode_of(owner);
        let is_held = held.is_some_and(|held| mode <= held);
        let passes_queue = held.is_some() || lock.queue.is_empty();
        if is_held || lock.is_compatible(owner, mode) && passes_queue {
            return Vec::new();
        }
        let place = if held.is_some() { lock.upgrade_place() } else { lock.queue.len() };
        let ahead = || lock.queue.iter().take(place).map(|waiter| (waiter.owner, waiter.mode));
        // Behind an earlier wait of its own owner it waits for those that one waits for, too.
        let own = ahead().filter(|(other, _)| *other == owner).map(|(_, mode)| mode);
        let mode = own.fold(mode, LockMode::max);
        let all = lock.holders.iter().chain(ahead());
        let others = all.filter(|&(other, held)| other != owner && mode.excludes(held));
        others.map(|(other, _)| other).collect()
    }

    /// Whom a wait waits for, as far as the others do not say it: those that [`LockTable::holders_blocking`] names can all be
    /// reached from these. A row that n wait for has n of these edges and n * n / 2 of those.
    pub fn next_blocking(&self, token: u64) -> Vec<TransactionId> {
        let Some(&(id, owner)) = self.waits.get(&token) else {
            return self.ranges.blocking(token).unwrap_or_default();
        };
        let lock = &self.locks[id as usize];
        let place = lock.queue.iter().position(|waiter| waiter.token == token);
        let place = place.expect("a wait is in its lock's queue");
        if lock.queue.iter().take(place).any(|waiter| waiter.owner == owner) {
            return self.holders_blocking(token);
        }
        let mode = lock.queue[place].mode;
        let mut blocking = Vec::new();
        for waiter in lock.queue.iter().take(place).rev() {
            if mode.excludes(waiter.mode) {
                blocking.push(waiter.owner);
            }
            if waiter.mode == LockMode::Exclusive {
                // It waits for all that are ahead of it.
                return blocking;
            }
        }
        let holders = lock.holders.iter();
        let others = holders.filter(|&(other, held)| other != owner && mode.excludes(held));
        blocking.extend(others.map(|(other, _)| other));
        blocking
    }

    /// The first waits, `count_max` at most, of each row that `owner` has locked exclusively: in
    /// the order of its locks, each row's in their order. None while there are ranges, which a
    /// writer of such a row may have to wait for, too, and none behind an owner of more locks than
    /// that: to examine all of them would take too long.
    pub fn waiting_behind(&self, owner: TransactionId, count_max: usize) -> Vec<Vec<u64>> {
        if self.waits.is_empty() || !self.ranges.is_empty() {
            return Vec::new();
        }
        let Some(entry) = self.find_owner(owner) else { return Vec::new() };
        let held = &self.owners[entry as usize].held;
        if held.len() > count_max {
            return Vec::new();
        }
        let held = held.iter().map(|id| &self.locks[*id as usize]);
        let own = held.filter(|lock| lock.mode_of(owner) == Some(LockMode::Exclusive));
        let queues = own.filter(|lock| !lock.queue.is_empty());
        queues
            .map(|lock| lock.queue.iter().take(count_max).map(|waiter| waiter.token).collect())
            .collect()
    }

    /// All waits: for rows by token, then for ranges in the order of their queue.
    pub fn waits(&self) -> impl Iterator<Item = Wait> {
        let of_rows = self.waits.iter().map(|(&token, &(id, owner))| Wait {
            token,
            owner,
            table: self.locks[id as usize].table,
        });
        of_rows.chain(self.ranges.waits())
    }

    /// Locks held, counted once for each holder.
    pub fn lock_count(&self) -> usize {
        self.held_count
    }
    pub fn waiter_count(&self) -> usize {
        self.waits.len() + self.ranges.waits().count()
    }
    /// Locks held by an owner.
    pub fn held_by(&self, owner: TransactionId) -> usize {
        self.find_owner(owner).map_or(0, |entry| self.owners[entry as usize].held.len())
    }

    /// Can others wait for an owner that waits itself? Not if that wait is all it has.
    pub fn may_be_waited_for(&self, owner: TransactionId) -> bool {
        let has_more = |entry: u32| {
            let Owner { held, waits, .. } = &self.owners[entry as usize];
            !held.is_empty() || waits.len() > 1
        };
        !self.ranges.is_empty() || self.find_owner(owner).is_some_and(has_more)
    }

    fn find(&self, hash: u64, table: TableId, key: &[u8]) -> Option<u32> {
        let is_it = |&id: &u32| {
            let lock = &self.locks[id as usize];
            lock.hash == hash && lock.table == table && lock.key == key
        };
        self.by_key.table(hash).find(hash, is_it).copied()
    }
    fn add_lock(&mut self, hash: u64, table: TableId, key: &[u8]) -> u32 {
        let id = self.free.pop().unwrap_or(self.locks.len() as u32);
        if id as usize == self.locks.len() {
            self.locks.push(Lock::default());
        }
        let lock = &mut self.locks[id as usize];
        assert!(lock.holders.is_empty());
        assert!(lock.queue.is_empty());
        lock.in_use = true;
        lock.hash = hash;
        lock.table = table;
        lock.key.clear();
        lock.key.extend_from_slice(key);
        let locks = &self.locks;
        self.by_key.table_mut(hash).insert_unique(hash, id, |&other| locks[other as usize].hash);
        id
    }
    fn drop_lock_if_idle(&mut self, id: u32) {
        // `release_all` comes twice to a lock that its owner held and wanted stronger.
        let Some(lock) = self.locks.get_mut(id as usize).filter(|lock| lock.in_use) else { return };
        if !lock.holders.is_empty() || !lock.queue.is_empty() {
            return;
        }
        lock.in_use = false;
        let entry = self.by_key.table_mut(lock.hash).find_entry(lock.hash, |&other| other == id);
        let Ok(entry) = entry else { panic!("a lock in use is in the table") };
        entry.remove();
        if SPARE_KEY_SIZE_MAX < lock.key.capacity() || SPARE_COUNT_MAX < self.free.len() {
            *lock = Lock::default();
        }
        self.free.push(id);
        if self.free.len() == self.locks.len() && SPARE_COUNT_MAX < self.locks.len() {
            self.locks = Pieces::new();
            self.free = Vec::new();
            self.by_key = ByKey::default();
        }
    }

    fn find_owner(&self, owner: TransactionId) -> Option<u32> {
        let is_it = |&entry: &u32| self.owners[entry as usize].id == owner;
        self.by_owner.find(owner_hash(owner), is_it).copied()
    }
    fn owner_entry(&mut self, owner: TransactionId) -> u32 {
        if let Some(entry) = self.find_owner(owner) {
            return entry;
        }
        let entry = self.owners_free.pop().unwrap_or(self.owners.len() as u32);
        if entry as usize == self.owners.len() {
            self.owners.push(Owner::default());
        }
        self.owners[entry as usize].id = owner;
        let owners = &self.owners;
        self.by_owner.insert_unique(owner_hash(owner), entry, |&other| {
            owner_hash(owners[other as usize].id)
        });
        entry
    }
    fn drop_owner_if_idle(&mut self, entry: u32) {
        let owner = &mut self.owners[entry as usize];
        if !owner.held.is_empty() || !owner.waits.is_empty() {
            return;
        }
        let found = self.by_owner.find_entry(owner_hash(owner.id), |&other| other == entry);
        let Ok(found) = found else { panic!("an owner in use is in the table") };
        found.remove();
        if SPARE_COUNT_MAX < owner.held.capacity() || SPARE_COUNT_MAX < self.owners_free.len() {
            *owner = Owner::default();
        }
        self.owners_free.push(entry);
    }

    /// Makes an owner a holder, or a holder of a stronger mode.
    fn grant(&mut self, id: u32, holder: Holder) {
        let Holder { owner, mode, .. } = holder;
        let lock = &mut self.locks[id as usize];
        assert!(lock.is_compatible(owner, mode));
        if let Some(held) = lock.holders.mode_mut(owner) {
            *held = mode.max(*held);
            return;
        }
        lock.holders.push(holder);
        let entry = self.owner_entry(owner);
        self.owners[entry as usize].held.push(id);
        self.held_count += 1;
    }
    fn drop_holder(&mut self, id: u32, owner: TransactionId) {
        self.locks[id as usize].holders.remove(owner);
        self.held_count -= 1;
    }
    /// Grants waits from the head of the queue as far as possible; drops the lock when no owner is left.
    fn grant_waiters(&mut self, id: u32, granted: &mut Vec<u64>) {
        while let Some(lock) = self.locks.get(id as usize)
            && let Some(&waiter) = lock.queue.front()
            && lock.is_compatible(waiter.owner, waiter.mode)
        {
            self.locks[id as usize].queue.pop_front();
            let Waiter { owner, mode, statement, .. } = waiter;
            self.grant(id, Holder { owner, mode, statement });
            self.end_wait(waiter);
            granted.push(waiter.token);
            self.grant_waiters_of_owner(id, waiter, granted);
        }
        self.drop_lock_if_idle(id);
    }
    /// An owner that waits several times for a row has become its holder: waits that its lock
    /// covers are granted with it, and the others are upgrades now, or they would wait for those
    /// that wait for their owner.
    fn grant_waiters_of_owner(&mut self, id: u32, holder: Waiter, granted: &mut Vec<u64>) {
        let queue = &mut self.locks[id as usize].queue;
        if queue.iter().all(|waiter| waiter.owner != holder.owner) {
            return;
        }
        let own: Vec<Waiter> =
            queue.iter().filter(|waiter| waiter.owner == holder.owner).copied().collect();
        queue.retain(|waiter| waiter.owner != holder.owner);
        for waiter in own {
            if waiter.mode <= holder.mode {
                self.end_wait(waiter);
                granted.push(waiter.token);
            } else {
                let place = self.locks[id as usize].upgrade_place();
                self.locks[id as usize].queue.insert(place, waiter);
            }
        }
    }
    /// Forgets a wait that was granted.
    fn end_wait(&mut self, waiter: Waiter) {
        self.waits.remove(&waiter.token);
        let entry = self.find_owner(waiter.owner).expect("a holder is an owner");
        self.owners[entry as usize].waits.retain(|&token| token != waiter.token);
    }
}

#[cfg(test)]
mod tests;
