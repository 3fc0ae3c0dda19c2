//! Range locks: they keep other transactions from putting rows into a range of an index, so that a
//! second read of it finds no phantom.
//!
//! Only transactions at SERIALIZABLE take them, and each for itself: a range is held by any number
//! of owners at once. It excludes *entries*: a row about to be written whose key in that index lies
//! in the range. A writer requests all entries of a row at once, after it has the row's lock; then
//! its pending row shows them.
//!
//! Requests wait in one queue and are granted in its order: an entry behind an earlier range, a
//! range behind an entry, unless its owner keeps that entry waiting already. So neither readers nor
//! writers starve.
//!
//! Looking through the ranges of an index is linear in their number, which is that of the SERIALIZABLE transactions
//! under way times the ranges each has read.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Bound, RangeBounds};

use types::{IndexId, LockName, TableId, TransactionId};

use super::view::{LockView, Locked, Rival};
use super::{Acquired, Wait};
use crate::partition::KeyRange;

/// A row's key in each index of its table.
pub type Entries = Vec<(IndexId, Vec<u8>)>;

#[derive(Default)]
pub(super) struct RangeLocks {
    held: BTreeMap<(TableId, IndexId), Vec<Held>>,
    queue: VecDeque<Waiting>,
    /// Entries that waited and were granted: until their owners' end, ranges behind them wait.
    admitted: Vec<Waiting>,
    /// The last number of a held range, for reports.
    number_last: u64,
}

struct Held {
    range: KeyRange,
    owner: TransactionId,
    number: u64,
}

struct Waiting {
    token: u64,
    owner: TransactionId,
    table: TableId,
    wants: Wants,
}

enum Wants {
    Range(IndexId, KeyRange),
    Entries(Entries),
}

impl Waiting {
    /// Would it have to wait for this one, if that came first?
    fn excludes(&self, earlier: &Waiting) -> bool {
        let (range, entries) = match (&self.wants, &earlier.wants) {
            (Wants::Range(index, range), Wants::Entries(entries))
            | (Wants::Entries(entries), Wants::Range(index, range)) => ((index, range), entries),
            (Wants::Range(..), Wants::Range(..)) | (Wants::Entries(_), Wants::Entries(_)) => {
                return false;
            }
        };
        self.owner != earlier.owner
            && self.table == earlier.table
            && entries.iter().any(|(index, key)| index == range.0 && contains(range.1, key))
    }
}

fn contains(range: &KeyRange, key: &[u8]) -> bool {
    let (lower, upper) = (range.lower.as_ref(), range.upper.as_ref());
    (lower.map(Vec::as_slice), upper.map(Vec::as_slice)).contains(key)
}

/// Does a range that ends so leave no key to one that begins so?
fn meet(upper: &Bound<Vec<u8>>, lower: &Bound<Vec<u8>>) -> bool {
    match (upper, lower) {
        (Bound::Included(upper), Bound::Excluded(lower))
        | (Bound::Excluded(upper), Bound::Included(lower)) => upper == lower,
        _ => false,
    }
}

/// Is every key of `inner` in `outer`? May say no where it is yes.
fn covers(outer: &KeyRange, inner: &KeyRange) -> bool {
    let low = match (&outer.lower, &inner.lower) {
        (Bound::Unbounded, _) => true,
        (_, Bound::Unbounded) => false,
        (Bound::Included(outer), Bound::Included(inner) | Bound::Excluded(inner))
        | (Bound::Excluded(outer), Bound::Excluded(inner)) => outer <= inner,
        (Bound::Excluded(outer), Bound::Included(inner)) => outer < inner,
    };
    low && match (&outer.upper, &inner.upper) {
        (Bound::Unbounded, _) => true,
        (_, Bound::Unbounded) => false,
        (Bound::Included(outer), Bound::Included(inner) | Bound::Excluded(inner))
        | (Bound::Excluded(outer), Bound::Excluded(inner)) => outer >= inner,
        (Bound::Excluded(outer), Bound::Included(inner)) => outer > inner,
    }
}

impl RangeLocks {
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.queue.is_empty() && self.admitted.is_empty()
    }
    /// Does anything here concern rows that are written to the table?
    pub fn concern(&self, table: TableId) -> bool {
        let indexes = (table, IndexId(0))..=(table, IndexId(u16::MAX));
        self.held.range(indexes).next().is_some()
            || self.queue.iter().any(|waiting| waiting.table == table)
    }

    pub fn acquire(
        &mut self,
        table: TableId,
        index: IndexId,
        range: &KeyRange,
        owner: TransactionId,
        token: u64,
    ) -> Acquired {
        let mut own = self.held.get(&(table, index)).into_iter().flatten();
        if own.any(|held| held.owner == owner && covers(&held.range, range)) {
            return Acquired::Granted;
        }
        let wants = Wants::Range(index, range.clone());
        self.grant_or_queue(Waiting { token, owner, table, wants }, self.queue.len())
    }

    /// May a row with these entries be written now?
    pub fn admit(
        &mut self,
        table: TableId,
        entries: Entries,
        owner: TransactionId,
        token: u64,
    ) -> Acquired {
        // Who has waited for these and asks again, now that the wait is over, does not stand in the queue again.
        let is_admitted = self.admitted.iter().any(|admitted| {
            let same = matches!(&admitted.wants, Wants::Entries(own) if *own == entries);
            same && admitted.owner == owner && admitted.table == table
        });
        let ahead = if is_admitted { 0 } else { self.queue.len() };
        self.grant_or_queue(Waiting { token, owner, table, wants: Wants::Entries(entries) }, ahead)
    }

    fn grant_or_queue(&mut self, request: Waiting, ahead: usize) -> Acquired {
        if self.blockers(&request, ahead).next().is_some() {
            self.queue.push_back(request);
            return Acquired::Waiting;
        }
        self.grant(request);
        Acquired::Granted
    }

    /// A range that begins where one of its owner's ends makes that longer: scans come piece by piece.
    fn grant(&mut self, request: Waiting) {
        let Wants::Range(index, range) = request.wants else { return };
        let all = self.held.entry((request.table, index)).or_default();
        for held in all.iter_mut().rev().filter(|held| held.owner == request.owner) {
            if meet(&held.range.upper, &range.lower) {
                held.range.upper = range.upper;
                return;
            }
            if meet(&range.upper, &held.range.lower) {
                held.range.lower = range.lower;
                return;
            }
        }
        self.number_last += 1;
        all.push(Held { range, owner: request.owner, number: self.number_last });
    }

    /// Does the owner hold a range that keeps this request waiting?
    fn is_kept_by(&self, request: &Waiting, owner: TransactionId) -> bool {
        let Wants::Entries(entries) = &request.wants else { return false };
        entries.iter().any(|(index, key)| {
            let mut held = self.held.get(&(request.table, *index)).into_iter().flatten();
            held.any(|held| held.owner == owner && contains(&held.range, key))
        })
    }

    /// Who stands in the way of a request with `ahead` others before it in the queue.
    fn blockers<'a>(
        &'a self,
        request: &'a Waiting,
        ahead: usize,
    ) -> impl Iterator<Item = TransactionId> + 'a {
        let entries: &[(IndexId, Vec<u8>)] = match &request.wants {
            Wants::Entries(entries) => entries,
            Wants::Range(..) => &[],
        };
        let holders = entries.iter().flat_map(move |(index, key)| {
            let held = self.held.get(&(request.table, *index)).into_iter().flatten();
            let others = held.filter(move |held| held.owner != request.owner);
            others.filter(move |held| contains(&held.range, key)).map(|held| held.owner)
        });
        let earlier = self.admitted.iter().chain(self.queue.iter().take(ahead));
        let earlier = earlier.filter(move |earlier| {
            request.excludes(earlier) && !self.is_kept_by(earlier, request.owner)
        });
        holders.chain(earlier.map(|earlier| earlier.owner))
    }

    /// Whom a wait waits for; None if it is not here.
    pub fn blocking(&self, token: u64) -> Option<Vec<TransactionId>> {
        let place = self.queue.iter().position(|waiting| waiting.token == token)?;
        let mut blocking: Vec<_> = self.blockers(&self.queue[place], place).collect();
        blocking.sort_unstable();
        blocking.dedup();
        Some(blocking)
    }

    /// Gives up a wait; false if it is not here.
    pub fn cancel(&mut self, token: u64, granted: &mut Vec<u64>) -> bool {
        let Some(place) = self.queue.iter().position(|waiting| waiting.token == token) else {
            return false;
        };
        self.queue.remove(place);
        self.grant_waiting(granted);
        true
    }

    /// Gives up what the owner holds and waits for.
    pub fn release_all(&mut self, owner: TransactionId, granted: &mut Vec<u64>) {
        if self.is_empty() {
            return;
        }
        self.held.retain(|_, held| {
            held.retain(|held| held.owner != owner);
            !held.is_empty()
        });
        self.queue.retain(|waiting| waiting.owner != owner);
        self.admitted.retain(|admitted| admitted.owner != owner);
        self.grant_waiting(granted);
    }

    /// Grants from the head of the queue what can be granted.
    fn grant_waiting(&mut self, granted: &mut Vec<u64>) {
        let mut place = 0;
        while place < self.queue.len() {
            if self.blockers(&self.queue[place], place).next().is_some() {
                place += 1;
                continue;
            }
            let request = self.queue.remove(place).expect("just looked at");
            granted.push(request.token);
            match request.wants {
                Wants::Range(..) => self.grant(request),
                Wants::Entries(_) => self.admitted.push(request),
            }
        }
    }

    /// Ranges held, requests that wait and entries admitted.
    pub fn count(&self) -> usize {
        self.held.values().map(Vec::len).sum::<usize>() + self.queue.len() + self.admitted.len()
    }

    /// All of them, in that order.
    pub fn views(&self) -> impl Iterator<Item = LockView<'_>> {
        let held = self.held.iter().flat_map(|((table, index), held)| {
            held.iter().map(|held| LockView {
                owner: held.owner,
                name: LockName::Range(held.number),
                table: *table,
                locked: Locked::Range(*index, &held.range),
                token: None,
            })
        });
        let waiting = self.queue.iter().map(|waiting| self.view(waiting, Some(waiting.token)));
        held.chain(waiting).chain(self.admitted.iter().map(|waiting| self.view(waiting, None)))
    }

    /// The wait with this token.
    pub fn view_of(&self, token: u64) -> Option<LockView<'_>> {
        let waiting = self.queue.iter().find(|waiting| waiting.token == token)?;
        Some(self.view(waiting, Some(token)))
    }

    fn view<'a>(&'a self, waiting: &'a Waiting, token: Option<u64>) -> LockView<'a> {
        let locked = match &waiting.wants {
            Wants::Range(index, range) => Locked::Range(*index, range),
            Wants::Entries(entries) => {
                // Of all the row's entries the one that meets a range.
                let meets = |(index, key): &&(IndexId, Vec<u8>)| {
                    let mut held = self.held.get(&(waiting.table, *index)).into_iter().flatten();
                    held.any(|held| held.owner != waiting.owner && contains(&held.range, key))
                };
                let (index, key) = entries.iter().find(meets).unwrap_or(&entries[0]);
                Locked::Entry(*index, key)
            }
        };
        let name = LockName::Wait(waiting.token);
        LockView { owner: waiting.owner, name, table: waiting.table, locked, token }
    }

    /// The blockers of a wait, the first `count_max`; none if it is not here.
    pub fn rivals(&self, token: u64, count_max: usize) -> Vec<Rival> {
        let Some(place) = self.queue.iter().position(|waiting| waiting.token == token) else {
            return Vec::new();
        };
        let request = &self.queue[place];
        let entries: &[(IndexId, Vec<u8>)] = match &request.wants {
            Wants::Entries(entries) => entries,
            Wants::Range(..) => &[],
        };
        let held = entries.iter().flat_map(|(index, key)| {
            let held = self.held.get(&(request.table, *index)).into_iter().flatten();
            let others = held.filter(|held| held.owner != request.owner);
            others.filter(|held| contains(&held.range, key)).map(|held| Rival {
                owner: held.owner,
                index: *index,
                name: LockName::Range(held.number),
            })
        });
        let earlier = self.admitted.iter().chain(self.queue.iter().take(place));
        let earlier = earlier.filter(|earlier| {
            request.excludes(earlier) && !self.is_kept_by(earlier, request.owner)
        });
        let earlier = earlier.map(|earlier| {
            let view = self.view(earlier, None);
            Rival { owner: view.owner, index: view.locked.index(), name: view.name }
        });
        held.chain(earlier).take(count_max).collect()
    }

    pub fn waits(&self) -> impl Iterator<Item = Wait> {
        self.queue.iter().map(|waiting| Wait {
            token: waiting.token,
            owner: waiting.owner,
            table: waiting.table,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Address, Incarnation};

    const TABLE: TableId = TableId(7);
    const INDEX: IndexId = IndexId(1);

    fn owner(sequence: u64) -> TransactionId {
        TransactionId { coordinator: Address::default(), incarnation: Incarnation(1), sequence }
    }
    fn range(low: u8, high: u8) -> KeyRange {
        KeyRange { lower: Bound::Included(vec![low]), upper: Bound::Excluded(vec![high]) }
    }
    fn entry(key: u8) -> Entries {
        vec![(IndexId(0), vec![200]), (INDEX, vec![key])]
    }
    fn release(locks: &mut RangeLocks, who: u64) -> Vec<u64> {
        let mut granted = Vec::new();
        locks.release_all(owner(who), &mut granted);
        granted
    }

    /// Ranges are shared; entries of others in them wait, one's own and those elsewhere do not.
    #[test]
    fn entries_wait_for_ranges() {
        let mut locks = RangeLocks::default();
        for (who, token) in [(1, 10), (2, 20)] {
            let got = locks.acquire(TABLE, INDEX, &range(10, 20), owner(who), token);
            assert_eq!(got, Acquired::Granted);
        }
        assert_eq!(locks.admit(TABLE, entry(20), owner(3), 30), Acquired::Granted);
        assert_eq!(locks.admit(TABLE, entry(9), owner(3), 31), Acquired::Granted);
        assert_eq!(locks.admit(TableId(8), entry(15), owner(3), 32), Acquired::Granted);
        assert_eq!(locks.admit(TABLE, entry(15), owner(3), 33), Acquired::Waiting);
        assert_eq!(locks.blocking(33), Some(vec![owner(1), owner(2)]));
        // The first owner's own entry waits for the second owner, not for itself nor for the entry before it.
        assert_eq!(locks.admit(TABLE, entry(15), owner(1), 11), Acquired::Waiting);
        assert_eq!(locks.blocking(11), Some(vec![owner(2)]));
        assert_eq!(release(&mut locks, 2), vec![11]);
        assert_eq!(release(&mut locks, 1), vec![33]);
        assert_eq!(release(&mut locks, 3), vec![]);
        assert!(locks.is_empty());
    }

    /// A range asked for while an entry waits comes after it, unless its owner is who the entry waits for.
    #[test]
    fn ranges_queue_behind_entries() {
        let mut locks = RangeLocks::default();
        let acquire = |locks: &mut RangeLocks, low, high, who, token| {
            locks.acquire(TABLE, INDEX, &range(low, high), owner(who), token)
        };
        assert_eq!(acquire(&mut locks, 10, 20, 1, 10), Acquired::Granted);
        assert_eq!(locks.admit(TABLE, entry(15), owner(2), 20), Acquired::Waiting);
        assert_eq!(acquire(&mut locks, 12, 18, 3, 30), Acquired::Waiting);
        assert_eq!(locks.blocking(30), Some(vec![owner(2)]));
        assert_eq!(acquire(&mut locks, 5, 18, 1, 11), Acquired::Granted, "keeps the entry waiting");
        assert_eq!(acquire(&mut locks, 30, 40, 3, 31), Acquired::Granted, "is elsewhere");
        // The entry is granted alone: until its owner's end the range waits, for it and visibly.
        assert_eq!(release(&mut locks, 1), vec![20]);
        assert_eq!(locks.blocking(30), Some(vec![owner(2)]));
        assert_eq!(locks.admit(TABLE, entry(15), owner(2), 21), Acquired::Granted, "asks again");
        assert_eq!(release(&mut locks, 2), vec![30]);
        assert_eq!(locks.admit(TABLE, entry(13), owner(4), 40), Acquired::Waiting);
        let mut granted = Vec::new();
        assert!(locks.cancel(40, &mut granted) && granted.is_empty());
        assert!(!locks.cancel(40, &mut granted));
        assert_eq!(release(&mut locks, 3), vec![]);
        assert!(locks.is_empty());
    }

    /// Pieces become one range, from either end.
    #[test]
    fn pieces_grow_together() {
        let mut locks = RangeLocks::default();
        let bytes = |key: u8| vec![key];
        let up = [
            (Bound::Included(bytes(1)), Bound::Included(bytes(3))),
            (Bound::Excluded(bytes(3)), Bound::Included(bytes(7))),
            (Bound::Excluded(bytes(7)), Bound::Excluded(bytes(9))),
        ];
        for (who, pieces) in [(1, up.clone().to_vec()), (2, up.into_iter().rev().collect())] {
            for (lower, upper) in pieces {
                let piece = KeyRange { lower, upper };
                let got = locks.acquire(TABLE, INDEX, &piece, owner(who), 1);
                assert_eq!(got, Acquired::Granted);
            }
            let held = &locks.held[&(TABLE, INDEX)];
            let own: Vec<_> = held.iter().filter(|held| held.owner == owner(who)).collect();
            assert_eq!(own.len(), 1);
            assert_eq!(own[0].range, range(1, 9));
        }
    }

    /// What is covered is not asked for again, and a range covers another only if it has all of its keys.
    #[test]
    fn covering() {
        let all = KeyRange::all();
        let closed = KeyRange { lower: Bound::Excluded(vec![1]), upper: Bound::Included(vec![9]) };
        for (outer, inner, wanted) in [
            (&all, &closed, true),
            (&closed, &all, false),
            (&closed, &closed, true),
            (&range(1, 10), &closed, true),
            (&closed, &range(1, 9), false),
            (&closed, &range(2, 9), true),
            (&range(2, 9), &closed, false),
        ] {
            assert_eq!(covers(outer, inner), wanted, "{outer:?} {inner:?}");
            for key in 0..12 {
                let both = contains(inner, &[key]) && !contains(outer, &[key]);
                assert!(!(wanted && both), "{outer:?} {inner:?} {key}");
            }
        }
    }
}
