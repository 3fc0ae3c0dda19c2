//! Looking at the locks of a shard, piece by piece: for reports.

use types::{IndexId, LockName, TableId, TransactionId};

use super::{LockMode, LockTable};
use crate::partition::KeyRange;

/// A lock that is held or waited for.
#[derive(Clone, Copy, Debug)]
pub struct LockView<'a> {
    pub owner: TransactionId,
    pub name: LockName,
    pub table: TableId,
    pub locked: Locked<'a>,
    /// The wait's, if it is not granted yet.
    pub token: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub enum Locked<'a> {
    /// A row, by its primary key.
    Row(LockMode, &'a [u8]),
    Range(IndexId, &'a KeyRange),
    /// The right to put a row into a range.
    Entry(IndexId, &'a [u8]),
}

impl Locked<'_> {
    pub fn index(&self) -> IndexId {
        match self {
            Locked::Row(..) => IndexId(0),
            Locked::Range(index, _) | Locked::Entry(index, _) => *index,
        }
    }
}

/// A lock that a wait waits for, in the wait's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rival {
    pub owner: TransactionId,
    pub index: IndexId,
    pub name: LockName,
}

/// Where the locks of ranges begin: row locks are numbered below.
const RANGES_BEGIN: u64 = 1 << 32;

impl LockTable {
    /// Shows the locks from a position on (0 at first) until `visit` returns that it has enough, or
    /// a number of places were examined, of which most may be empty. Returns the position to
    /// continue from, or none at the end. A row's locks are shown all together. Locks that come or
    /// end between two calls may be missed; others are shown once.
    pub fn visit(
        &self,
        from: u64,
        places_max: usize,
        visit: &mut dyn FnMut(LockView<'_>) -> bool,
    ) -> Option<u64> {
        let mut wants_more = true;
        if from < RANGES_BEGIN {
            let end = (from as usize).saturating_add(places_max);
            for place in from as usize..self.locks.len().min(end) {
                if !wants_more {
                    return Some(place as u64);
                }
                for view in self.row_views(place as u32) {
                    wants_more &= visit(view);
                }
            }
            if end < self.locks.len() {
                return Some(end as u64);
            }
        }
        let begin = from.saturating_sub(RANGES_BEGIN);
        for (number, view) in (begin..).zip(self.ranges.views().skip(begin as usize)) {
            if !wants_more {
                return Some(RANGES_BEGIN + number);
            }
            wants_more = visit(view);
        }
        None
    }

    fn row_views(&self, id: u32) -> impl Iterator<Item = LockView<'_>> {
        let lock = &self.locks[id as usize];
        let view = |owner, mode, name, token| LockView {
            owner,
            name,
            table: lock.table,
            locked: Locked::Row(mode, &lock.key),
            token,
        };
        let held = lock
            .holders
            .iter()
            .map(move |(owner, mode)| view(owner, mode, LockName::Row(id), None));
        held.chain(lock.queue.iter().map(move |waiter| {
            let name = LockName::Wait(waiter.token);
            view(waiter.owner, waiter.mode, name, Some(waiter.token))
        }))
    }

    /// The wait with this token.
    pub fn view_of(&self, token: u64) -> Option<LockView<'_>> {
        match self.waits.get(&token) {
            Some(&(id, _)) => self.row_views(id).find(|view| view.token == Some(token)),
            None => self.ranges.view_of(token),
        }
    }

    /// The blockers of a wait, the first `count_max`: locks held, then requests ahead of it.
    pub fn rivals(&self, token: u64, count_max: usize) -> Vec<Rival> {
        let Some(&(id, owner)) = self.waits.get(&token) else {
            return self.ranges.rivals(token, count_max);
        };
        let lock = &self.locks[id as usize];
        let place = lock.queue.iter().position(|waiter| waiter.token == token);
        let place = place.expect("a wait is in its lock's queue");
        let mode = lock.queue[place].mode;
        let rival = |owner, name| Rival { owner, index: IndexId(0), name };
        let holders = lock.holders.iter().map(|(owner, mode)| (owner, mode, LockName::Row(id)));
        let ahead = lock.queue.iter().take(place);
        let ahead = ahead.map(|ahead| (ahead.owner, ahead.mode, LockName::Wait(ahead.token)));
        holders
            .chain(ahead)
            .filter(|&(other, held, _)| other != owner && mode.excludes(held))
            .map(|(other, _, name)| rival(other, name))
            .take(count_max)
            .collect()
    }

    /// Locks held and waited for, of rows and of ranges.
    pub fn view_count(&self) -> usize {
        self.held_count + self.waits.len() + self.ranges.count()
    }
}
